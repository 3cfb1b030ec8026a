//! Acknowledgements at the requester: which requests they complete, and what is sent again. IBA
//! 9.7.5.1, 9.7.5.2 and 9.9.2.

use crate::dialogue::{
    CaseFamily, CaseOrigin, DeviceRole, Dialogue, DialogueCase, DialogueParameters, PacketForm,
    PatternData, SyndromeForm, TesterEnd, local,
};
use crate::wire::{Nak, Opcode};
use crate::{Operation, WcStatus};

pub(super) const FAMILY: CaseFamily = CaseFamily {
    name: "requester",
    cases: &[
        case(
            "01",
            "one acknowledgement for three sends",
            COALESCED,
            coalesced,
        ),
        case(
            "02",
            "an acknowledgement that passes a read",
            IMPLIED,
            passed,
        ),
        case(
            "03",
            "a sequence error at the second of three sends",
            GO_BACK,
            sequence_error,
        ),
        case("04", "a remote access error", FATAL, |p| {
            fatal(p, Nak::RemoteAccess, WcStatus::RemAccessErr)
        }),
        case("05", "an invalid request", FATAL, |p| {
            fatal(p, Nak::InvalidRequest, WcStatus::RemInvReqErr)
        }),
        case("06", "a remote operational error", FATAL, |p| {
            fatal(p, Nak::RemoteOperational, WcStatus::RemOpErr)
        }),
        DialogueCase {
            notes: "The device may send again at once or after its acknowledgement timeout.",
            ..case("07", "a read whose second packet is lost", PARTIAL, partial)
        },
    ],
};

const COALESCED: &str = "an acknowledgement completes all sends and writes up to its PSN";
const IMPLIED: &str = "a read that an acknowledgement passes has lost its response, and is sent again with all after it";
const GO_BACK: &str = "NAK (PSN sequence error) acknowledges what is before its PSN, and all from there on is sent again";
/// The code of a timeout of 0.5 s: longer than a tester needs to answer.
const TIMEOUT: u8 = 17;
const FATAL: &str = "another NAK ends its request with the error, and those behind it are flushed";
const PARTIAL: &str =
    "a read whose response was lost in part is requested again from the first missing packet on";

const fn case(
    number: &'static str,
    title: &'static str,
    rule: &'static str,
    dialogue: fn(&DialogueParameters) -> Dialogue,
) -> DialogueCase {
    DialogueCase {
        number,
        title,
        rule,
        origin: CaseOrigin::Rule,
        notes: "",
        role: DeviceRole::Requester,
        needs_atomics: false,
        dialogue,
    }
}

/// Returns the packet of a request that sends one packet.
fn send(p: &DialogueParameters, request: u64, psn: u32) -> PacketForm {
    let position = u32::try_from(local(request) - local(0)).unwrap_or(0);
    let data = PatternData::new(0, position, p.packets(1));
    PacketForm::send(Opcode::RcSendOnly, p.psn(psn), data).asking()
}

/// Returns a dialogue in which three sends of one packet have left the device.
fn three_sends(p: &DialogueParameters) -> Dialogue {
    let post = |dialogue: Dialogue, request| dialogue.post(request, Operation::Send, p.packets(1));
    (0..3)
        .fold(Dialogue::new(p), post)
        .expect(send(p, 0, 0))
        .expect(send(p, 1, 1))
        .expect(send(p, 2, 2))
}

fn coalesced(p: &DialogueParameters) -> Dialogue {
    three_sends(p)
        .send(PacketForm::ack(p.psn(2), 3))
        .completes(0, WcStatus::Success)
        .completes(1, WcStatus::Success)
        .completes(2, WcStatus::Success)
}

const fn tester_read(offset: u64) -> Operation {
    Operation::RdmaRead {
        remote_addr: TesterEnd::ADDRESS + offset,
        rkey: TesterEnd::KEY,
    }
}

fn passed(p: &DialogueParameters) -> Dialogue {
    let length = p.packets(1);
    let data = PatternData::new(6, 0, length);
    let read = PacketForm::read(p.psn(0), 0, length);
    Dialogue::new(p)
        .post(0, tester_read(0), length)
        .post(1, Operation::Send, length)
        .expect(read)
        .expect(send(p, 1, 1))
        .send(PacketForm::ack(p.psn(1), 2))
        .expect(read)
        .expect(send(p, 1, 1))
        .send_all(PacketForm::read_response(p, p.psn(0), 1, data))
        .send(PacketForm::ack(p.psn(1), 2))
        .completes(0, WcStatus::Success)
        .completes(1, WcStatus::Success)
        .memory(local(0), data)
}

fn sequence_error(p: &DialogueParameters) -> Dialogue {
    let nak = SyndromeForm::Nak(Nak::SequenceError);
    three_sends(p)
        .send(PacketForm::acknowledge(p.psn(1), nak, 1))
        .completes(0, WcStatus::Success)
        .expect(send(p, 1, 1))
        .expect(send(p, 2, 2))
        .send(PacketForm::ack(p.psn(2), 3))
        .completes(1, WcStatus::Success)
        .completes(2, WcStatus::Success)
}

fn fatal(p: &DialogueParameters, nak: Nak, status: WcStatus) -> Dialogue {
    let nak = SyndromeForm::Nak(nak);
    three_sends(p)
        .send(PacketForm::acknowledge(p.psn(1), nak, 1))
        .completes(0, WcStatus::Success)
        .completes(1, status)
        .completes(2, WcStatus::WrFlushErr)
}

/// The response's second packet is lost, the third one shows it.
fn partial(p: &DialogueParameters) -> Dialogue {
    let (length, mtu) = (p.packets(3), p.packets(1));
    let data = PatternData::new(7, 0, length);
    let rest = PatternData::new(7, mtu, length - mtu);
    let response = PacketForm::read_response(p, p.psn(0), 1, data);
    let mut dialogue = Dialogue::new(p);
    dialogue.setup.timeout = TIMEOUT;
    dialogue
        .post(0, tester_read(0), length)
        .expect(PacketForm::read(p.psn(0), 0, length))
        .send(response[0])
        .send(response[2])
        .expect(PacketForm::read(p.psn(1), u64::from(mtu), length - mtu))
        .send_all(PacketForm::read_response(p, p.psn(1), 1, rest))
        .completes(0, WcStatus::Success)
        .memory(local(0), data)
}
