//! Requests that a responder refuses, after which the connection is in the error state. IBA
//! 9.7.4.1 and 9.9.3.

use crate::dialogue::{
    CaseFamily, CaseOrigin, DeviceRole, Dialogue, DialogueCase, DialogueParameters, FormHeaders,
    PacketForm, PatternData, READ, SyndromeForm, WRITE, WordValue,
};
use crate::wire::{Nak, Opcode};
use crate::{Access, WcStatus};

pub(super) const FAMILY: CaseFamily = CaseFamily {
    name: "refusals",
    cases: &[
        case(
            "01",
            "a Send-Middle without a first packet",
            SEQUENCE,
            |p| {
                let data = PatternData::new(1, 0, p.packets(1));
                let send = PacketForm::send(Opcode::RcSendMiddle, p.psn(0), data).asking();
                refused(p, Dialogue::new(p), send, Nak::InvalidRequest)
            },
        ),
        case(
            "02",
            "a read without the right of the queue pair",
            RIGHTS,
            |p| {
                let mut dialogue = Dialogue::new(p);
                dialogue.setup.access = Access::LOCAL_WRITE | Access::REMOTE_WRITE;
                let read = PacketForm::read(p.psn(0), READ, p.packets(1));
                refused(p, dialogue, read, Nak::InvalidRequest)
            },
        ),
        case("03", "a write with a wrong key", KEYS, |p| {
            let write = with_key_error(write(p, p.packets(1)));
            refused(p, Dialogue::new(p), write, Nak::RemoteAccess)
        }),
        case("04", "a read behind the end of the memory", KEYS, |p| {
            let read = PacketForm::read(p.psn(0), 1 << 40, p.packets(1));
            refused(p, Dialogue::new(p), read, Nak::RemoteAccess)
        }),
        DialogueCase {
            needs_atomics: true,
            ..case(
                "05",
                "an atomic operation at an odd address",
                LENGTHS,
                |p| {
                    let atomic = PacketForm {
                        headers: FormHeaders::Atomic {
                            offset: 1,
                            swap_or_add: WordValue::Is(1),
                            compare: WordValue::Is(0),
                        },
                        ..PacketForm::fetch_add(p.psn(0), 1)
                    };
                    refused(p, Dialogue::new(p), atomic, Nak::InvalidRequest)
                },
            )
        },
        case("06", "an empty write with a wrong key", EMPTY, |p| {
            Dialogue::new(p)
                .send(with_key_error(write(p, 0)))
                .expect(PacketForm::ack(p.psn(0), 1))
        }),
        case("07", "a write shorter than its length", LENGTHS, |p| {
            let short = PacketForm {
                payload: PatternData::new(1, 0, p.packets(1) / 2),
                ..write(p, p.packets(1))
            };
            refused(p, Dialogue::new(p), short, Nak::InvalidRequest)
        }),
        case("08", "a send longer than its receive", LENGTHS, |p| {
            let mut dialogue = Dialogue::new(p).with_receives(2);
            dialogue.setup.receive_length = p.packets(1) / 2;
            let data = PatternData::new(1, 0, p.packets(1));
            let send = PacketForm::send(Opcode::RcSendOnly, p.psn(0), data).asking();
            refused(p, dialogue, send, Nak::InvalidRequest)
                .receive_fails(0, WcStatus::LocLenErr)
                .receive_fails(1, WcStatus::WrFlushErr)
        }),
    ],
};

const SEQUENCE: &str = "a packet that continues no message is answered by NAK (invalid request) and ends the connection";
const RIGHTS: &str = "a request that the queue pair does not allow is answered by NAK (invalid request) and ends the connection";
const KEYS: &str = "a request outside the memory of its key is answered by NAK (remote access error) and ends the connection";
const LENGTHS: &str = "a request of a wrong length or alignment is answered by NAK (invalid request) and ends the connection";
const EMPTY: &str = "a write without bytes needs no valid key";

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
        role: DeviceRole::Responder,
        needs_atomics: false,
        dialogue,
    }
}

const fn write(p: &DialogueParameters, length: u32) -> PacketForm {
    PacketForm::write_only(p.psn(0), WRITE, PatternData::new(1, 0, length))
}

const fn with_key_error(packet: PacketForm) -> PacketForm {
    match packet.headers {
        FormHeaders::Reth { offset, length, .. } => PacketForm {
            headers: FormHeaders::Reth {
                offset,
                length,
                key_error: 0x0101_0101,
            },
            ..packet
        },
        _ => packet,
    }
}

/// Returns the dialogue in which a request is refused and, since the connection has ended, the next
/// one is dropped.
fn refused(p: &DialogueParameters, dialogue: Dialogue, request: PacketForm, nak: Nak) -> Dialogue {
    let syndrome = SyndromeForm::Nak(nak);
    let next = PacketForm {
        psn: p.psn(1),
        ..write(p, p.packets(1))
    };
    dialogue
        .send(request)
        .expect(PacketForm::acknowledge(p.psn(0), syndrome, 0))
        .send(next)
}
