//! C09-142 and C09-143: retries after the acknowledgement timeout. IBA 9.7.6.1.3 and 9.9.2.1.1.

use crate::dialogue::{
    CaseFamily, CaseOrigin, DeviceRole, Dialogue, DialogueCase, DialogueParameters, PacketForm,
    TesterEnd,
};
use crate::{Operation, WcStatus};

/// The code of the timeout: 4.096 µs × 2^18.
const TIMEOUT: u8 = 18;
/// The shortest time until the device sends again, in microseconds.
const TIMEOUT_US: u64 = (4_096 << TIMEOUT) / 1000;

pub(super) const FAMILY: CaseFamily = CaseFamily {
    name: "C09-142",
    cases: &[DialogueCase {
        number: "01",
        title: "a read without an answer",
        rule: "a request without an answer is sent again exactly as often as the retry count says, each time after the timeout, and ends with an error (also C09-143)",
        origin: CaseOrigin::Published,
        notes: "\
The page rounds the timeout to 1.07 s; it is 4.096 us * 2^18 = 1.073741 s, and a device may take up to four times as long.",
        role: DeviceRole::Requester,
        needs_atomics: false,
        dialogue,
    }],
};

fn dialogue(p: &DialogueParameters) -> Dialogue {
    let length = p.packets(1);
    let read = Operation::RdmaRead {
        remote_addr: TesterEnd::ADDRESS,
        rkey: TesterEnd::KEY,
    };
    let request = PacketForm::read(p.psn(0), 0, length);
    let mut dialogue = Dialogue::new(p);
    dialogue.setup.timeout = TIMEOUT;
    dialogue.setup.retry_cnt = 2;
    dialogue
        .post(0, read, length)
        .expect(request)
        .silence(TIMEOUT_US)
        .expect(request)
        .silence(TIMEOUT_US)
        .expect(request)
        .silence(TIMEOUT_US)
        .completes(0, WcStatus::RetryExcErr)
}
