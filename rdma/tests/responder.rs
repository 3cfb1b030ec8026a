//! Promise: a responder keeps the limits of its connection and the bounds of a message, and
//! compares a duplicate read with the whole request that it has saved. IBA 9.7.4.1 and 9.7.5.1.
//!
//! These are dialogues like the cases of `rdma::dialogue`, for our own adapter alone: adapters that
//! deviate here are legal (the standard lets a responder drop what it refuses), or known to.

use rdma::dialogue::{
    CaseOrigin, CaseVerdict, DeviceCommand, DeviceCompletion, DeviceReply, DeviceRole,
    DeviceUnderTest, Dialogue, DialogueCase, DialogueParameters, FormHeaders, PacketForm,
    PatternData, READ, SimulatedDevice, SyndromeForm, WRITE, WordValue, run_case,
};
use rdma::wire::{Bth, Extension, Nak, Opcode, Packet};
use rdma::{Mtu, SoftAdapterSettings, WcStatus};

/// Reads and atomic operations that the connection of a dialogue may have outstanding.
const MAX_DEST_RD_ATOMIC: u32 = 16;

/// Runs a dialogue, once without a wrap of the sequence numbers and once with it.
#[track_caller]
fn passes(dialogue: fn(&DialogueParameters) -> Dialogue) {
    passes_with(SoftAdapterSettings::default(), dialogue);
}

#[track_caller]
fn passes_with(settings: SoftAdapterSettings, dialogue: fn(&DialogueParameters) -> Dialogue) {
    let case = DialogueCase {
        number: "01",
        title: "",
        rule: "",
        origin: CaseOrigin::Rule,
        notes: "",
        role: DeviceRole::Responder,
        needs_atomics: false,
        dialogue,
    };
    for start in [DialogueParameters::PLAIN, DialogueParameters::WRAPPING] {
        let parameters = DialogueParameters {
            mtu: Mtu::Mtu256,
            start,
        };
        let mut device = SimulatedDevice::new(settings);
        let verdict = run_case(&case, &parameters, &mut device);
        assert_eq!(verdict, Ok(CaseVerdict::Pass), "from {start}");
    }
}

/// Returns a dialogue in which a read of four packets was answered.
fn answered_read(p: &DialogueParameters) -> Dialogue {
    let length = p.packets(4);
    let response = PacketForm::read_response(p, p.psn(0), 1, PatternData::new(0, 0, length));
    Dialogue::new(p)
        .send(PacketForm::read(p.psn(0), READ, length))
        .expect_all(response)
}

/// Adds a packet that the device drops: the next request is executed as if the packet had not come.
fn dropped(p: &DialogueParameters, packet: PacketForm) -> Dialogue {
    let data = PatternData::new(5, 0, p.packets(1));
    answered_read(p)
        .send(packet)
        .send(PacketForm::write_only(p.psn(4), WRITE, data))
        .expect(PacketForm::ack(p.psn(4), 2))
}

#[test]
fn a_duplicate_read_with_another_key_is_dropped() {
    passes(|p| {
        let length = p.packets(4);
        let headers = FormHeaders::Reth {
            offset: READ,
            length,
            key_error: 1,
        };
        let read = PacketForm {
            headers,
            ..PacketForm::read(p.psn(0), READ, length)
        };
        dropped(p, read)
    });
}

#[test]
fn a_duplicate_read_of_another_address_is_dropped() {
    passes(|p| dropped(p, PacketForm::read(p.psn(0), READ + 8, p.packets(4))));
    // The address of the first packet with the number of the second one.
    passes(|p| dropped(p, PacketForm::read(p.psn(1), READ, p.packets(3))));
}

#[test]
fn a_duplicate_read_of_another_length_is_dropped() {
    passes(|p| dropped(p, PacketForm::read(p.psn(0), READ, p.packets(4) - 1)));
    passes(|p| dropped(p, PacketForm::read(p.psn(0), READ, p.packets(4) + 1)));
}

/// An empty read behind the last byte has the right address and length, and no number of the read.
#[test]
fn a_duplicate_read_behind_the_last_packet_is_dropped() {
    passes(|p| {
        let length = p.packets(2);
        let data = PatternData::new(0, 0, length);
        let write = PacketForm::write_only(p.psn(2), WRITE, PatternData::new(5, 0, 8));
        Dialogue::new(p)
            .send(PacketForm::read(p.psn(0), READ, length))
            .expect_all(PacketForm::read_response(p, p.psn(0), 1, data))
            .send(write)
            .expect(PacketForm::ack(p.psn(2), 2))
            .send(PacketForm::read(p.psn(2), READ + u64::from(length), 0))
            .send(PacketForm::read(p.psn(3), READ, 0))
            .expect_all(PacketForm::read_response(
                p,
                p.psn(3),
                3,
                PatternData::EMPTY,
            ))
    });
}

/// A duplicate is acknowledged only if the requester asks. (The standard lets a responder
/// acknowledge it anyway.)
#[test]
fn a_duplicate_send_is_acknowledged_on_request() {
    passes(|p| {
        let send = |number| {
            let data = PatternData::new(1, 0, 8);
            PacketForm::send(Opcode::RcSendOnly, p.psn(number), data)
        };
        Dialogue::new(p)
            .with_receives(2)
            .send(send(0))
            .receives(0, 8)
            .send(send(0))
            .send(send(1).asking())
            .expect(PacketForm::ack(p.psn(1), 2))
            .receives(1, 8)
            .send(send(0))
            .silence(1)
            .send(send(0).asking())
            .expect(PacketForm::ack(p.psn(1), 2))
    });
}

/// Each atomic operation is answered again with its own value; a number that was none is dropped.
#[test]
fn a_duplicate_atomic_operation_has_its_own_value() {
    passes(|p| {
        let add = |number| PacketForm::fetch_add(p.psn(number), 1);
        let value = |number: u32| match number {
            0 => WordValue::NewBase,
            number => WordValue::BasePlus(number.into()),
        };
        let first = (0..3).fold(Dialogue::new(p), |dialogue, number| {
            let answer = PacketForm::atomic_ack(p.psn(number), number + 1, value(number));
            dialogue.send(add(number)).expect(answer)
        });
        let data = PatternData::new(5, 0, 8);
        let first = first
            .send(PacketForm::write_only(p.psn(3), WRITE, data))
            .expect(PacketForm::ack(p.psn(3), 4))
            .send(add(3))
            .silence(1);
        (0..3).rev().fold(first, |dialogue, number| {
            let original = WordValue::BasePlus(number.into());
            dialogue
                .send(add(number))
                .expect(PacketForm::atomic_ack_again(p.psn(number), original))
        })
    });
}

/// Returns a dialogue with `count` reads before the device can answer the first one.
fn outstanding_reads(p: &DialogueParameters, count: u32) -> Dialogue {
    let reads = (0..count).map(|number| PacketForm::read(p.psn(number), READ, 8));
    let answered = 0..count.min(MAX_DEST_RD_ATOMIC);
    let data = PatternData::new(0, 0, 8);
    let responses =
        answered.flat_map(|number| PacketForm::read_response(p, p.psn(number), number + 1, data));
    Dialogue::new(p).send_all(reads).expect_all(responses)
}

#[test]
fn as_many_reads_as_agreed_may_be_outstanding() {
    passes(|p| {
        let more = PacketForm::read(p.psn(MAX_DEST_RD_ATOMIC), READ, 8);
        let number = MAX_DEST_RD_ATOMIC + 1;
        let data = PatternData::new(0, 0, 8);
        outstanding_reads(p, MAX_DEST_RD_ATOMIC)
            // Those that were answered are outstanding no more.
            .send(more)
            .expect_all(PacketForm::read_response(p, more.psn, number, data))
    });
}

#[test]
fn one_read_more_than_agreed_ends_the_connection() {
    passes(|p| {
        let (psn, nak) = (
            p.psn(MAX_DEST_RD_ATOMIC),
            SyndromeForm::Nak(Nak::InvalidRequest),
        );
        outstanding_reads(p, MAX_DEST_RD_ATOMIC + 1).expect(PacketForm::acknowledge(
            psn,
            nak,
            MAX_DEST_RD_ATOMIC,
        ))
    });
}

/// Atomic operations count as reads do.
#[test]
fn one_atomic_operation_more_than_agreed_ends_the_connection() {
    passes(|p| {
        let (psn, nak) = (
            p.psn(MAX_DEST_RD_ATOMIC),
            SyndromeForm::Nak(Nak::InvalidRequest),
        );
        let reads = (0..MAX_DEST_RD_ATOMIC).map(|number| PacketForm::read(p.psn(number), READ, 8));
        let data = PatternData::new(0, 0, 8);
        let responses = (0..MAX_DEST_RD_ATOMIC)
            .flat_map(|number| PacketForm::read_response(p, p.psn(number), number + 1, data));
        Dialogue::new(p)
            .send_all(reads)
            .send(PacketForm::fetch_add(psn, 1))
            .expect_all(responses)
            .expect(PacketForm::acknowledge(psn, nak, MAX_DEST_RD_ATOMIC))
    });
}

/// Returns a dialogue with a send of one full packet and a last packet of `length` bytes.
fn send_of_two(p: &DialogueParameters, length: u32) -> Dialogue {
    let full = p.packets(1);
    let first = PatternData::new(1, 0, full);
    let last = PatternData::new(1, full, length);
    Dialogue::new(p)
        .with_receives(1)
        .send(PacketForm::send(Opcode::RcSendFirst, p.psn(0), first))
        .send(PacketForm::send(Opcode::RcSendLast, p.psn(1), last).asking())
}

#[test]
fn a_last_packet_has_one_byte_to_a_full_packet() {
    passes(|p| {
        send_of_two(p, 1)
            .expect(PacketForm::ack(p.psn(1), 1))
            .receives(0, p.packets(1) + 1)
    });
    passes(|p| {
        send_of_two(p, p.packets(1))
            .expect(PacketForm::ack(p.psn(1), 1))
            .receives(0, p.packets(2))
    });
}

#[test]
fn an_empty_last_packet_ends_the_connection() {
    passes(|p| {
        let nak = SyndromeForm::Nak(Nak::InvalidRequest);
        send_of_two(p, 0)
            .expect(PacketForm::acknowledge(p.psn(1), nak, 0))
            .receive_fails(0, WcStatus::RemInvReqErr)
    });
}

/// A send has at most the bytes of its receive, and at most those of the longest message.
#[test]
fn a_send_fills_its_receive() {
    let fits: fn(&DialogueParameters) -> Dialogue = |p| {
        let mut dialogue = send_of_two(p, p.packets(1));
        dialogue.setup.receive_length = p.packets(2);
        dialogue
            .expect(PacketForm::ack(p.psn(1), 1))
            .receives(0, p.packets(2))
    };
    let is_too_long: fn(&DialogueParameters) -> Dialogue = |p| {
        let nak = SyndromeForm::Nak(Nak::InvalidRequest);
        let mut dialogue = send_of_two(p, p.packets(1));
        dialogue.setup.receive_length = p.packets(2) - 1;
        dialogue
            .expect(PacketForm::acknowledge(p.psn(1), nak, 0))
            .receive_fails(0, WcStatus::LocLenErr)
    };
    passes(fits);
    passes(is_too_long);
    let settings = |max_message| SoftAdapterSettings {
        max_message,
        ..SoftAdapterSettings::default()
    };
    passes_with(settings(2 * Mtu::Mtu256.bytes()), fits);
    passes_with(settings(2 * Mtu::Mtu256.bytes() - 1), |p| {
        let nak = SyndromeForm::Nak(Nak::InvalidRequest);
        send_of_two(p, p.packets(1))
            .expect(PacketForm::acknowledge(p.psn(1), nak, 0))
            .receive_fails(0, WcStatus::LocLenErr)
    });
}

/// Returns the first packet of a write of `length` bytes.
fn write_first(p: &DialogueParameters, length: u32) -> PacketForm {
    let headers = FormHeaders::Reth {
        offset: WRITE,
        length,
        key_error: 0,
    };
    PacketForm {
        headers,
        ..PacketForm::send(
            Opcode::RcWriteFirst,
            p.psn(0),
            PatternData::new(1, 0, p.packets(1)),
        )
    }
}

/// Returns a dialogue in which the packet with number 1 is refused and the receive ends with a
/// status; later packets are dropped.
fn refused_second(
    p: &DialogueParameters,
    [first, second]: [PacketForm; 2],
    status: WcStatus,
) -> Dialogue {
    let nak = SyndromeForm::Nak(Nak::InvalidRequest);
    Dialogue::new(p)
        .with_receives(1)
        .send(first)
        .send(second.asking())
        .expect(PacketForm::acknowledge(p.psn(1), nak, 0))
        .receive_fails(0, status)
        .send(PacketForm::write_only(p.psn(2), WRITE, PatternData::EMPTY))
}

#[test]
fn a_write_of_several_packets() {
    passes(|p| {
        let full = p.packets(1);
        let length = 2 * full + 7;
        let middle = PatternData::new(1, full, full);
        let last = PatternData::new(1, 2 * full, 7);
        Dialogue::new(p)
            .send(write_first(p, length))
            .send(PacketForm::send(Opcode::RcWriteMiddle, p.psn(1), middle))
            .send(PacketForm::send(Opcode::RcWriteLast, p.psn(2), last).asking())
            .expect(PacketForm::ack(p.psn(2), 1))
            .memory(WRITE, PatternData::new(1, 0, length))
    });
}

#[test]
fn a_packet_continues_a_message_of_its_own_kind() {
    passes(|p| {
        let last = PatternData::new(1, 0, 1);
        let last = PacketForm::send(Opcode::RcSendLast, p.psn(1), last);
        refused_second(
            p,
            [write_first(p, p.packets(1) + 1), last],
            WcStatus::WrFlushErr,
        )
    });
    passes(|p| {
        let full = PatternData::new(1, 0, p.packets(1));
        let first = PacketForm::send(Opcode::RcSendFirst, p.psn(0), full);
        let last = PatternData::new(1, 0, 1);
        let last = PacketForm::send(Opcode::RcWriteLast, p.psn(1), last);
        refused_second(p, [first, last], WcStatus::RemInvReqErr)
    });
    passes(|p| {
        let only = PatternData::new(1, 0, 1);
        let only = PacketForm::write_only(p.psn(1), WRITE, only);
        refused_second(
            p,
            [write_first(p, p.packets(1) + 1), only],
            WcStatus::WrFlushErr,
        )
    });
}

/// The packets of a write have together the length that the first one names.
#[test]
fn a_write_has_the_length_of_its_header() {
    passes(|p| shorter_or_longer_write(p, 6));
    passes(|p| shorter_or_longer_write(p, 8));
    // A middle packet with the rest of the message leaves nothing for a last one.
    passes(|p| {
        let full = PatternData::new(1, 0, p.packets(1));
        let middle = PacketForm::send(Opcode::RcWriteMiddle, p.psn(1), full);
        refused_second(
            p,
            [write_first(p, p.packets(2)), middle],
            WcStatus::WrFlushErr,
        )
    });
}

/// Returns a dialogue with a write whose last packet has `length` bytes instead of 7.
fn shorter_or_longer_write(p: &DialogueParameters, length: u32) -> Dialogue {
    let last = PatternData::new(1, 0, length);
    let last = PacketForm::send(Opcode::RcWriteLast, p.psn(1), last);
    refused_second(
        p,
        [write_first(p, p.packets(1) + 7), last],
        WcStatus::WrFlushErr,
    )
}

/// The last packet of a send with immediate data takes no second receive.
#[test]
fn a_send_with_immediate_data_takes_one_receive() {
    let p = DialogueParameters {
        mtu: Mtu::Mtu256,
        start: DialogueParameters::WRAPPING,
    };
    let mut device = SimulatedDevice::new(SoftAdapterSettings::default());
    let setup = Dialogue::new(&p).with_receives(1).setup;
    let Ok(DeviceReply::Opened(opened)) = device.command(&DeviceCommand::Open(setup)) else {
        panic!("it is not open");
    };
    for (number, opcode, extension, length) in [
        (0, Opcode::RcSendFirst, Extension::None, 256),
        (1, Opcode::RcSendLastImmediate, Extension::Immediate(7), 1),
    ] {
        let bth = Bth::new(opcode, opened.qp_num, p.psn(number));
        let payload = vec![0; length];
        let sent = device.transmit(&Packet::new(bth, extension, &payload));
        assert_eq!(sent, Ok(()));
    }
    let received = DeviceCompletion {
        id: 1000,
        status: WcStatus::Success,
        length: 257,
    };
    let polled = device.command(&DeviceCommand::Poll);
    assert_eq!(polled, Ok(DeviceReply::Completions(vec![received])));
}
