//! Sequence errors at the responder: packets ahead of the expected one. IBA 9.7.5.2.1.

use crate::dialogue::{
    CaseFamily, CaseOrigin, DeviceRole, Dialogue, DialogueCase, DialogueParameters, PacketForm,
    PatternData, SyndromeForm, WRITE,
};
use crate::wire::Nak;

const RULE: &str = "a packet ahead of the expected one is not executed and is answered by one NAK (PSN sequence error) with the expected PSN, until that one comes";

pub(super) const FAMILY: CaseFamily = CaseFamily {
    name: "sequence",
    cases: &[
        case("01", "writes behind a gap", |p| gap(p, 4)),
        case("02", "a write farthest ahead", |p| gap(p, (1 << 23) - 2)),
    ],
};

const fn case(
    number: &'static str,
    title: &'static str,
    dialogue: fn(&DialogueParameters) -> Dialogue,
) -> DialogueCase {
    DialogueCase {
        number,
        title,
        rule: RULE,
        origin: CaseOrigin::Rule,
        notes: "",
        role: DeviceRole::Responder,
        needs_atomics: false,
        dialogue,
    }
}

/// Writes `ahead` packets too early, twice, and then what was missing.
fn gap(p: &DialogueParameters, ahead: u32) -> Dialogue {
    let length = p.packets(1);
    let write = |count: u32, seed: u8| {
        let data = PatternData::new(seed, 0, length);
        PacketForm::write_only(p.psn(count), WRITE, data)
    };
    let nak = SyndromeForm::Nak(Nak::SequenceError);
    Dialogue::new(p)
        .send(write(ahead, 1))
        .send(write(ahead + 1, 2))
        .expect(PacketForm::acknowledge(p.psn(0), nak, 0))
        .silence(20_000)
        .send(write(0, 3))
        .expect(PacketForm::ack(p.psn(0), 1))
        .memory(WRITE, PatternData::new(3, 0, length))
        .send(write(1, 4))
        .expect(PacketForm::ack(p.psn(1), 2))
}
