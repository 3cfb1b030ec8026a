//! Promise: random work requests give the completions and the memory of the sequential model, with
//! and without faults of the network; a seeded defect of queue pairs is found and shrunk; a written
//! text is read back unchanged.

use crate::{check_failure, check_texts, run_layer};
use fuzz::verbs::{VerbsLayer, VerbsProgram, c_source};
use fuzz::{Comparison, FuzzProgram, compare};
use rdma::Defect;

#[test]
fn adapters_do_what_the_model_does() {
    let report = run_layer(&VerbsLayer::default(), 300, 5_000);
    assert_eq!(report.failures, []);
    let counts = (report.tries, report.too_large, report.operations);
    assert_eq!(counts, (300, 0, 6_261));
}

#[test]
fn a_text_is_read_as_it_was_written() {
    check_texts(&VerbsLayer::default(), 200);
}

/// Each shrunk program shrinks no further, and still fails in the same property. Not seen in
/// completions and memory: numbers of messages (`MsnOffByOne`), the time of retries
/// (`RetryOnceMore`, `RnrTimerIgnored`).
#[test]
fn seeded_defects_are_found_and_shrunk() {
    use Defect as D;
    for (defect, most) in [
        (D::DuplicateAtomicExecuted, 1),
        (D::DuplicateSendExecuted, 2),
        (D::AckPassesRead, 2),
        (D::RnrConsumesRetry, 1),
        (D::PsnWithoutWrap, 3),
        (D::GapAccepted, 2),
        (D::DuplicateDropped, 1),
        (D::DuplicateReadFromStart, 1),
        (D::NakRepeated, 2),
        (D::RnrAdvances, 2),
        (D::ResponsesOutOfOrder, 2),
        (D::AtomicReturnsNew, 1),
        (D::NoAckRequest, 1),
        (D::ReadTakesOnePsn, 3),
        (D::ResponseCompletesNext, 2),
        (D::NakWithoutError, 1),
        (D::ReadRestartsFromStart, 1),
        (D::AtomicResponseOvertaken, 3),
    ] {
        let mut layer = VerbsLayer::default();
        layer.settings.defect = Some(defect);
        let report = run_layer(&layer, 300, 5_000);
        let failure = report.failures.first();
        let shrunk = check_failure(&layer, failure, (&defect, most), 5_000);
        assert!(shrunk.faults.len() <= 2, "{defect:?}: {}", shrunk.to_toml());
    }
}

/// A read with a partly lost response is executed again, after the write behind the read.
pub(crate) const OVERTAKEN: &str = r#"version = 1
mtu = 256
connections = [{ psn = 0, max_rd_atomic = 2, retry_cnt = 6, rnr_retry = 7, access = { write = true, read = true, atomic = true } }]
faults = [{ connection = 0, side = 1, packet = 0, kind = "loss" }]

[[rounds]]
requests = [
  { connection = 0, side = 0, kind = "read", length = 8, offset = 64 },
  { connection = 0, side = 0, kind = "write", length = 8, offset = 64, fence = true },
]
"#;

#[test]
fn only_a_fence_decides_what_a_read_returns() {
    let layer = VerbsLayer::default();
    let read = |text: &str| VerbsProgram::from_toml(text).expect("a program");
    assert_eq!(compare(&layer, &read(OVERTAKEN)), Comparison::Same);
    let without_fence = OVERTAKEN.replace(", fence = true", "");
    assert_eq!(compare(&layer, &read(&without_fence)), Comparison::Same);
}

/// The files that `crates/real/softroce/apps.sh` runs in C.
#[test]
fn written_programs_agree_and_are_written_in_c() {
    for name in ["all-kinds", "wrong-rkey"] {
        let file = format!("{}/requests/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(file).expect("a text");
        let program = VerbsProgram::from_toml(&text).expect("a program");
        assert_eq!(
            compare(&VerbsLayer::default(), &program),
            Comparison::Same,
            "{name}"
        );
        let source = c_source(&program).expect("a program in C");
        assert!(source.contains("post_request(&c[0], 0, 1, IBV_WR_RDMA_WRITE"));
        assert!(source.contains("expect_state(&c[0].side[1], IBV_QPS_"));
    }
}
