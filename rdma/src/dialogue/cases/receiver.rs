//! RNR NAK at the responder: a send without a receive. IBA 9.7.5.2.8.

use crate::dialogue::{
    CaseFamily, CaseOrigin, DeviceRole, Dialogue, DialogueCase, DialogueParameters, DialogueStep,
    PacketForm, PatternData, RECEIVE, SyndromeForm,
};
use crate::wire::Opcode;

/// The timer code of the device: 0.01 ms.
const TIMER: u8 = 1;

pub(super) const FAMILY: CaseFamily = CaseFamily {
    name: "receiver",
    cases: &[DialogueCase {
        number: "01",
        title: "a send before its receive",
        rule: "a send without a receive is answered by RNR NAK with its PSN and the timer code of the queue pair, and the expected PSN stays",
        origin: CaseOrigin::Rule,
        notes: "",
        role: DeviceRole::Responder,
        needs_atomics: false,
        dialogue,
    }],
};

fn dialogue(p: &DialogueParameters) -> Dialogue {
    let length = p.packets(1);
    let data = PatternData::new(1, 0, length);
    let send = PacketForm::send(Opcode::RcSendOnly, p.psn(0), data).asking();
    let not_ready = PacketForm::acknowledge(p.psn(0), SyndromeForm::Rnr(TIMER), 0);
    let mut dialogue = Dialogue::new(p);
    dialogue.setup.min_rnr_timer = TIMER;
    dialogue
        .send(send)
        .expect(not_ready)
        .send(send)
        .expect(not_ready)
        .then(DialogueStep::PostReceive)
        .send(send)
        .expect(PacketForm::ack(p.psn(0), 1))
        .receives(0, length)
        .memory(RECEIVE, data)
}
