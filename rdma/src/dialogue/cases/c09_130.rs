//! C09-130: RNR NAK at the requester. IBA 9.7.5.2.8.

use crate::dialogue::{
    CaseFamily, CaseOrigin, DeviceRole, Dialogue, DialogueCase, DialogueParameters, PacketForm,
    PatternData, SyndromeForm,
};
use crate::wire::Opcode;
use crate::{Operation, RNR_TIMER_US, WcStatus};

/// The timer code of the longest time that is not the first of the table.
const TIMER: u8 = 31;

pub(super) const FAMILY: CaseFamily = CaseFamily {
    name: "C09-130",
    cases: &[DialogueCase {
        number: "01",
        title: "RNR NAK to a Send-Only",
        rule: "after RNR NAK a requester waits at least the time of the timer code, and ends with an error after its RNR retries",
        origin: CaseOrigin::Published,
        notes: "\
The page prints 492.52 ms for timer code 31; the table of the standard has 491.52 ms. The other retry counter is 0, so that a device that consumes it ends \
with another error.",
        role: DeviceRole::Requester,
        needs_atomics: false,
        dialogue,
    }],
};

fn dialogue(p: &DialogueParameters) -> Dialogue {
    let length = p.packets(1);
    let data = PatternData::new(0, 0, length);
    let request = PacketForm::send(Opcode::RcSendOnly, p.psn(0), data).asking();
    let not_ready = PacketForm::acknowledge(p.psn(0), SyndromeForm::Rnr(TIMER), 0);
    let mut dialogue = Dialogue::new(p);
    dialogue.setup.rnr_retry = 1;
    dialogue.setup.retry_cnt = 0;
    dialogue
        .post(0, Operation::Send, length)
        .expect(request)
        .send(not_ready)
        .silence(RNR_TIMER_US[usize::from(TIMER)].into())
        .expect(request)
        .send(not_ready)
        .completes(0, WcStatus::RnrRetryExcErr)
}
