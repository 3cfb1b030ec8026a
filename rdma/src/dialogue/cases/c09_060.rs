//! C09-060: message sequence numbers, and which response completes which request. IBA 9.7.7.1 and
//! 9.7.5.1.

use crate::dialogue::{
    CaseFamily, CaseOrigin, DeviceRole, Dialogue, DialogueCase, DialogueParameters, PacketForm,
    PatternData, TesterEnd, WordValue, local,
};
use crate::wire::Opcode;
use crate::{Operation, WcStatus};

const RULE_MSN: &str = "an acknowledgement carries the number of messages completed so far (MSN)";
const RULE_ONE: &str = "a response completes exactly the request whose sequence numbers it has";
const NOTES: &str = "The acknowledgement timeout is 0, never, so that nothing is sent again.";

pub(super) const FAMILY: CaseFamily = CaseFamily {
    name: "C09-060",
    cases: &[
        DialogueCase {
            role: DeviceRole::Responder,
            rule: RULE_MSN,
            notes: "\
Inverted: the text lets the device send two messages of three packets and the tester acknowledge them; here the device acknowledges.",
            ..case("01", "two sends of three packets", two_sends)
        },
        case("05", "two reads of three packets, one answered", two_reads),
        DialogueCase {
            needs_atomics: true,
            ..case("07", "two FetchAdd, one answered", |p| {
                let operation = Operation::AtomicFetchAndAdd {
                    remote_addr: TesterEnd::ADDRESS,
                    rkey: TesterEnd::KEY,
                    add: ADD,
                };
                two_atomics(p, operation, PacketForm::fetch_add(p.psn(0), ADD))
            })
        },
        DialogueCase {
            needs_atomics: true,
            ..case("09", "two CompareSwap, one answered", |p| {
                let operation = Operation::AtomicCmpAndSwp {
                    remote_addr: TesterEnd::ADDRESS,
                    rkey: TesterEnd::KEY,
                    compare: COMPARE,
                    swap: ADD,
                };
                let (compare, swap) = (WordValue::Is(COMPARE), WordValue::Is(ADD));
                let request = PacketForm::compare_swap(p.psn(0), compare, swap);
                two_atomics(p, operation, request)
            })
        },
    ],
};

const ADD: u64 = 0x0123_4567_89AB_CDEF;
const COMPARE: u64 = 0xFEDC_BA98_7654_3210;
/// The value that the tester returns for an atomic operation.
const ORIGINAL: u64 = 0x5A5A_0000_FFFF_1234;

const fn case(
    number: &'static str,
    title: &'static str,
    dialogue: fn(&DialogueParameters) -> Dialogue,
) -> DialogueCase {
    DialogueCase {
        number,
        title,
        rule: RULE_ONE,
        origin: CaseOrigin::Published,
        notes: NOTES,
        role: DeviceRole::Requester,
        needs_atomics: false,
        dialogue,
    }
}

fn two_sends(p: &DialogueParameters) -> Dialogue {
    let mtu = p.packets(1);
    let message = |first: u32, seed: u8| {
        let packet = move |number: u32, opcode| {
            let data = PatternData::new(seed, number * mtu, mtu);
            PacketForm::send(opcode, p.psn(first + number), data)
        };
        [
            packet(0, Opcode::RcSendFirst),
            packet(1, Opcode::RcSendMiddle),
            packet(2, Opcode::RcSendLast).asking(),
        ]
    };
    Dialogue::new(p)
        .with_receives(2)
        .send_all(message(0, 1))
        .expect(PacketForm::ack(p.psn(2), 1))
        .receives(0, p.packets(3))
        .send_all(message(3, 2))
        .expect(PacketForm::ack(p.psn(5), 2))
        .receives(1, p.packets(3))
}

fn two_reads(p: &DialogueParameters) -> Dialogue {
    let length = p.packets(3);
    let read = |number: u64| Operation::RdmaRead {
        remote_addr: TesterEnd::ADDRESS + number * u64::from(length),
        rkey: TesterEnd::KEY,
    };
    let data = PatternData::new(3, 0, length);
    Dialogue::new(p)
        .post(0, read(0), length)
        .post(1, read(1), length)
        .expect(PacketForm::read(p.psn(0), 0, length))
        .expect(PacketForm::read(p.psn(3), u64::from(length), length))
        .send_all(PacketForm::read_response(p, p.psn(0), 1, data))
        .completes(0, WcStatus::Success)
        .silence(20_000)
        .memory(local(0), data)
}

fn two_atomics(p: &DialogueParameters, operation: Operation, request: PacketForm) -> Dialogue {
    let second = PacketForm {
        psn: p.psn(1),
        ..request
    };
    Dialogue::new(p)
        .post(0, operation, 8)
        .post(1, operation, 8)
        .expect(request)
        .expect(second)
        .send(PacketForm::atomic_ack(p.psn(0), 1, WordValue::Is(ORIGINAL)))
        .completes(0, WcStatus::Success)
        .silence(20_000)
        .word(local(0), WordValue::Is(ORIGINAL))
}
