//! Duplicate requests at the responder: none is executed again, and each has its response again.
//! IBA 9.7.5.1.2 to 9.7.5.1.4.

use crate::dialogue::{
    ATOMIC, CaseFamily, CaseOrigin, DeviceRole, Dialogue, DialogueCase, DialogueParameters,
    PacketForm, PatternData, READ, WRITE, WordValue,
};
use crate::wire::Opcode;

pub(super) const FAMILY: CaseFamily = CaseFamily {
    name: "duplicates",
    cases: &[
        case("01", "a Send-Only twice", RULE_ACK, send),
        case("02", "a Write-Only again after another", RULE_ACK, write),
        case("03", "a read twice", RULE_READ, |p| read(p, 0)),
        case("04", "a read from its middle", RULE_READ, |p| read(p, 2)),
        DialogueCase {
            needs_atomics: true,
            notes: MSN,
            ..case("05", "a FetchAdd twice", RULE_ATOMIC, |p| {
                atomic(p, PacketForm::fetch_add(p.psn(1), ADD))
            })
        },
        DialogueCase {
            needs_atomics: true,
            notes: MSN,
            ..case("06", "a CompareSwap twice", RULE_ATOMIC, |p| {
                let (base, swap) = (WordValue::BasePlus(0), WordValue::BasePlus(ADD));
                atomic(p, PacketForm::compare_swap(p.psn(1), base, swap))
            })
        },
    ],
};

const RULE_ACK: &str =
    "a duplicate send or write is not executed, and the last packet in order is acknowledged again";
const RULE_READ: &str =
    "a duplicate read, or its rest, is answered again with its sequence numbers";
const RULE_ATOMIC: &str =
    "a duplicate atomic operation is answered with the original value of its first execution";
const MSN: &str = "The repeated response may have any message sequence number.";
const ADD: u64 = 0x1111_1111_1111_1111;

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

/// Four sends, so that the duplicate is before a wrap of the sequence numbers.
fn send(p: &DialogueParameters) -> Dialogue {
    let length = p.packets(1);
    let packet = |number: u32| {
        let data = PatternData::new(1, number * length, length);
        PacketForm::send(Opcode::RcSendOnly, p.psn(number), data).asking()
    };
    let step = |dialogue: Dialogue, number: u32| {
        dialogue
            .send(packet(number))
            .expect(PacketForm::ack(p.psn(number), number + 1))
            .receives(number, length)
    };
    (0..4)
        .fold(Dialogue::new(p).with_receives(4), step)
        .send(packet(0))
        .expect(PacketForm::ack(p.psn(3), 4))
}

fn write(p: &DialogueParameters) -> Dialogue {
    let length = p.packets(1);
    let data = |number: u8| PatternData::new(number, 0, length);
    let packet = |number: u8| PacketForm::write_only(p.psn(number.into()), WRITE, data(number));
    let step = |dialogue: Dialogue, number: u8| {
        let number_on_wire = u32::from(number);
        dialogue
            .send(packet(number))
            .expect(PacketForm::ack(p.psn(number_on_wire), number_on_wire + 1))
    };
    (0..4)
        .fold(Dialogue::new(p), step)
        .send(packet(0))
        .expect(PacketForm::ack(p.psn(3), 4))
        .memory(WRITE, data(3))
}

/// A read of four packets, and again from the packet `skipped` on.
fn read(p: &DialogueParameters, skipped: u32) -> Dialogue {
    let (length, begin) = (p.packets(4), p.packets(skipped));
    let rest = PatternData::new(0, begin, length - begin);
    let again = PacketForm::read(p.psn(skipped), READ + u64::from(begin), length - begin);
    let next = p.psn(4);
    let data = PatternData::new(5, 0, p.packets(1));
    Dialogue::new(p)
        .send(PacketForm::read(p.psn(0), READ, length))
        .expect_all(PacketForm::read_response(
            p,
            p.psn(0),
            1,
            PatternData::new(0, 0, length),
        ))
        .send(again)
        .expect_all(PacketForm::read_response(p, p.psn(skipped), 1, rest))
        .send(PacketForm::write_only(next, WRITE, data))
        .expect(PacketForm::ack(next, 2))
}

/// An operation on the base, and again after another one.
fn atomic(p: &DialogueParameters, request: PacketForm) -> Dialogue {
    let fetch = |count: u32| PacketForm::fetch_add(p.psn(count), 0);
    let response = |count: u32, original| PacketForm::atomic_ack(p.psn(count), count + 1, original);
    let changed = WordValue::BasePlus(ADD);
    Dialogue::new(p)
        .send(fetch(0))
        .expect(response(0, WordValue::NewBase))
        .send(request)
        .expect(response(1, WordValue::BasePlus(0)))
        .send(fetch(2))
        .expect(response(2, changed))
        .send(fetch(3))
        .expect(response(3, changed))
        .send(request)
        .expect(PacketForm::atomic_ack_again(
            p.psn(1),
            WordValue::BasePlus(0),
        ))
        .word(ATOMIC, changed)
}
