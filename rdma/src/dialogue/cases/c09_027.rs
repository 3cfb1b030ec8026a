//! C09-027: strongly ordered acknowledges. The responses of earlier reads and atomic operations
//! leave before the response of any later request. IBA 9.7.5.1, C9-027 to C9-030.
//!
//! The first part is two reads, four FetchAdd or four CompareSwap, all requested before the device
//! can answer; the second part is one request of each kind. The numbers 13 to 15 are ours: the test
//! specification does not repeat the first part's atomic in the second.

use crate::dialogue::{
    ATOMIC, CaseFamily, CaseOrigin, DeviceRole, Dialogue, DialogueCase, DialogueParameters,
    PacketForm, PatternData, READ, RECEIVE, WRITE, WordValue,
};
use crate::wire::Opcode;

const RULE: &str = "C9-027: all responses of earlier reads and atomic operations enter the fabric before the response of a later request";

/// The addend of the FetchAdd, and the step of the CompareSwap.
const STEP: u64 = 0x1111_1111_1111_1111;
/// Number of atomic operations of the first part.
const ATOMICS: u32 = 4;

const NOTES_READS: &str =
    "Reads of 5 and of 1 PMTU: the first one takes 5 sequence numbers, so the second has start+5.";
const NOTES_ATOMICS: &str = "\
The value that the first operation returns is the base that all later ones are compared with (the text has two names for it); the counter ends \
at 5; the type of a syndrome is compared after its other bits are masked; expected and requested sequence numbers are separate; both they and \
the 64-bit sums wrap, so a start of 2^24-3 is part of the case.";

pub(super) const FAMILY: CaseFamily = CaseFamily {
    name: "C09-027",
    cases: &[
        case("01", "Send-Only after reads", |p| reads(p, send)),
        published("02", "Write-Only after reads", |p| reads(p, write)),
        case("03", "read after reads", |p| reads(p, read)),
        atomic(case("04", "FetchAdd after reads", |p| reads(p, fetch_add))),
        atomic(published("05", "CompareSwap after reads", |p| {
            reads(p, compare_swap)
        })),
        atomic(case("06", "Send-Only after CompareSwap", |p| {
            swaps(p, send)
        })),
        atomic(case("07", "Write-Only after CompareSwap", |p| {
            swaps(p, write)
        })),
        atomic(case("08", "read after CompareSwap", |p| swaps(p, read))),
        atomic(case("09", "FetchAdd after CompareSwap", |p| {
            swaps(p, fetch_add)
        })),
        atomic(case("10", "Write-Only after FetchAdd", |p| adds(p, write))),
        atomic(case("11", "read after FetchAdd", |p| adds(p, read))),
        atomic(published("12", "Send-Only after FetchAdd", |p| {
            adds(p, send)
        })),
        atomic(rule("13", "CompareSwap after FetchAdd", |p| {
            adds(p, compare_swap)
        })),
        atomic(rule("14", "CompareSwap after CompareSwap", |p| {
            swaps(p, compare_swap)
        })),
        atomic(rule("15", "FetchAdd after FetchAdd", |p| {
            adds(p, fetch_add)
        })),
    ],
};

/// Returns a case whose number follows from the summary of the family.
const fn case(
    number: &'static str,
    title: &'static str,
    dialogue: fn(&DialogueParameters) -> Dialogue,
) -> DialogueCase {
    DialogueCase {
        number,
        title,
        rule: RULE,
        origin: CaseOrigin::Summary,
        notes: NOTES_READS,
        role: DeviceRole::Responder,
        needs_atomics: false,
        dialogue,
    }
}

const fn published(
    number: &'static str,
    title: &'static str,
    dialogue: fn(&DialogueParameters) -> Dialogue,
) -> DialogueCase {
    DialogueCase {
        origin: CaseOrigin::Published,
        ..case(number, title, dialogue)
    }
}

const fn rule(
    number: &'static str,
    title: &'static str,
    dialogue: fn(&DialogueParameters) -> Dialogue,
) -> DialogueCase {
    DialogueCase {
        origin: CaseOrigin::Rule,
        ..case(number, title, dialogue)
    }
}

const fn atomic(case: DialogueCase) -> DialogueCase {
    DialogueCase {
        needs_atomics: true,
        notes: NOTES_ATOMICS,
        ..case
    }
}

/// The state after the first part.
struct Position {
    /// Packets so far.
    packets: u32,
    /// Messages so far.
    messages: u32,
    /// The value of the word for atomic operations.
    word: WordValue,
}

/// The second part: adds its request and, after the responses of the first part, its response.
type Last = fn(&DialogueParameters, &Position) -> LastRequest;

/// A request with its response.
struct LastRequest {
    request: PacketForm,
    responses: Vec<PacketForm>,
    /// Adds what is checked after the responses.
    check: fn(Dialogue, &DialogueParameters) -> Dialogue,
}

fn nothing(dialogue: Dialogue, _: &DialogueParameters) -> Dialogue {
    dialogue
}

fn send(p: &DialogueParameters, at: &Position) -> LastRequest {
    let (psn, data) = (p.psn(at.packets), PatternData::new(1, 0, p.packets(1)));
    LastRequest {
        request: PacketForm::send(Opcode::RcSendOnly, psn, data).asking(),
        responses: vec![PacketForm::ack(psn, at.messages + 1)],
        check: |dialogue, p| {
            let data = PatternData::new(1, 0, p.packets(1));
            dialogue.receives(0, p.packets(1)).memory(RECEIVE, data)
        },
    }
}

fn write(p: &DialogueParameters, at: &Position) -> LastRequest {
    let (psn, data) = (p.psn(at.packets), PatternData::new(2, 0, p.packets(1)));
    LastRequest {
        request: PacketForm::write_only(psn, WRITE, data),
        responses: vec![PacketForm::ack(psn, at.messages + 1)],
        check: |dialogue, p| dialogue.memory(WRITE, PatternData::new(2, 0, p.packets(1))),
    }
}

fn read(p: &DialogueParameters, at: &Position) -> LastRequest {
    let (psn, length) = (p.psn(at.packets), p.packets(2));
    let data = PatternData::new(0, p.packets(3), length);
    LastRequest {
        request: PacketForm::read(psn, READ + u64::from(p.packets(3)), length),
        responses: PacketForm::read_response(p, psn, at.messages + 1, data),
        check: nothing,
    }
}

fn fetch_add(p: &DialogueParameters, at: &Position) -> LastRequest {
    let psn = p.psn(at.packets);
    LastRequest {
        request: PacketForm::fetch_add(psn, STEP),
        responses: vec![PacketForm::atomic_ack(psn, at.messages + 1, at.word)],
        check: match at.word {
            WordValue::NewBase => |dialogue, _| dialogue.word(ATOMIC, WordValue::BasePlus(STEP)),
            _ => |dialogue, _| {
                let sum = STEP.wrapping_mul(u64::from(ATOMICS + 1));
                dialogue.word(ATOMIC, WordValue::BasePlus(sum))
            },
        },
    }
}

/// Swaps if the value is as the first part left it, which is not known after reads: there it
/// compares with 0 and the value shows that nothing was swapped.
fn compare_swap(p: &DialogueParameters, at: &Position) -> LastRequest {
    let psn = p.psn(at.packets);
    let compare = match at.word {
        WordValue::NewBase => WordValue::Is(0),
        known => known,
    };
    LastRequest {
        request: PacketForm::compare_swap(psn, compare, WordValue::Is(7)),
        responses: vec![PacketForm::atomic_ack(psn, at.messages + 1, at.word)],
        check: match at.word {
            WordValue::NewBase => |dialogue, _| dialogue.word(ATOMIC, WordValue::BasePlus(0)),
            _ => |dialogue, _| dialogue.word(ATOMIC, WordValue::Is(7)),
        },
    }
}

/// Joins both parts: all requests, then all responses in the order of the requests.
fn join(
    p: &DialogueParameters,
    first: Dialogue,
    requests: Vec<PacketForm>,
    responses: Vec<PacketForm>,
    last: &LastRequest,
) -> Dialogue {
    let dialogue = first
        .send_all(requests)
        .send(last.request)
        .expect_all(responses)
        .expect_all(last.responses.iter().copied());
    (last.check)(dialogue, p)
}

/// Returns a dialogue with the receives that the second part consumes.
fn opened(p: &DialogueParameters, last: &LastRequest) -> Dialogue {
    let receives = u32::from(last.request.opcode == Opcode::RcSendOnly);
    Dialogue::new(p).with_receives(receives)
}

fn reads(p: &DialogueParameters, last: Last) -> Dialogue {
    let (long, short) = (p.packets(5), p.packets(1));
    let data = |offset, length| PatternData::new(0, offset, length);
    let requests = vec![
        PacketForm::read(p.psn(0), READ, long),
        PacketForm::read(p.psn(5), READ + u64::from(long), short),
    ];
    let mut responses = PacketForm::read_response(p, p.psn(0), 1, data(0, long));
    responses.extend(PacketForm::read_response(p, p.psn(5), 2, data(long, short)));
    let at = Position {
        packets: 6,
        messages: 2,
        word: WordValue::NewBase,
    };
    let last = last(p, &at);
    join(p, opened(p, &last), requests, responses, &last)
}

/// Returns the dialogue in which four atomic operations follow one that fetches the base.
fn atomics(
    p: &DialogueParameters,
    last: Last,
    fetch: PacketForm,
    request: fn(&DialogueParameters, u32) -> PacketForm,
) -> Dialogue {
    let original = |number: u32| WordValue::BasePlus(STEP.wrapping_mul(u64::from(number - 1)));
    let response =
        |number: u32| PacketForm::atomic_ack(p.psn(number), number + 1, original(number));
    let at = Position {
        packets: ATOMICS + 1,
        messages: ATOMICS + 1,
        word: WordValue::BasePlus(STEP * u64::from(ATOMICS)),
    };
    let last = last(p, &at);
    let first = opened(p, &last)
        .send(fetch.asking())
        .expect(PacketForm::atomic_ack(p.psn(0), 1, WordValue::NewBase));
    let requests = (1..=ATOMICS).map(|number| request(p, number).asking());
    let responses = (1..=ATOMICS).map(response);
    join(p, first, requests.collect(), responses.collect(), &last)
}

fn adds(p: &DialogueParameters, last: Last) -> Dialogue {
    let fetch = PacketForm::fetch_add(p.psn(0), 0);
    atomics(p, last, fetch, |p, number| {
        PacketForm::fetch_add(p.psn(number), STEP)
    })
}

fn swaps(p: &DialogueParameters, last: Last) -> Dialogue {
    let fetch = PacketForm::compare_swap(p.psn(0), WordValue::Is(0), WordValue::Is(0));
    atomics(p, last, fetch, |p, number| {
        let value = |number: u32| WordValue::BasePlus(STEP.wrapping_mul(u64::from(number)));
        PacketForm::compare_swap(p.psn(number), value(number - 1), value(number))
    })
}
