//! Promise: random rank programs give the same receives on all devices, as the model checker says;
//! a seeded defect of the protocols is found and shrunk; a text is read as it was written.

use std::ops::ControlFlow;

use fuzz::ranks::{MpiLayer, RankProgram};
use fuzz::{
    Choices, FuzzProgram, Layer, LayerLimits, LayerReport, compare, layer_campaign, minimise,
};
use mpi::{ProtocolDefect, with_protocol_defect};
use sim_core::Stream;

fn campaign(layer: &MpiLayer, tries: u64) -> LayerReport<RankProgram> {
    let limits = LayerLimits {
        seed: 1,
        tries,
        errors: 1,
        shrink_budget: 2_000,
    };
    layer_campaign(layer, &limits, &mut |_| ControlFlow::Continue(()))
}

#[test]
fn devices_give_the_same_receives() {
    let layer = MpiLayer::new(200).expect("platforms");
    let report = campaign(&layer, 200);
    if let Some(failure) = report.failures.first() {
        panic!(
            "{}\n{}\n{}",
            failure.property,
            failure.description,
            failure.shrunk.program.to_toml()
        );
    }
    let counts = (report.tries, report.too_large, report.operations);
    assert_eq!(counts, (200, 0, 4_189));
}

/// The digest of a campaign is the same each time, and has the dates: on another platform the same
/// messages give another one.
#[test]
fn digests_have_results_and_dates() {
    let mut layer = MpiLayer::new(0).expect("platforms");
    layer.devices.truncate(2);
    let first = campaign(&layer, 20).digest;
    assert_eq!(campaign(&layer, 20).digest, first);
    assert_ne!(campaign(&layer, 19).digest, first);
    layer.devices.reverse();
    assert_ne!(campaign(&layer, 20).digest, first);
    layer.devices.truncate(1);
    let one = campaign(&layer, 20).digest;
    layer.devices = MpiLayer::new(0).expect("platforms").devices;
    layer.devices.truncate(1);
    assert_ne!(campaign(&layer, 20).digest, one);
}

#[test]
fn a_text_is_read_as_it_was_written() {
    let layer = MpiLayer::new(1).expect("platforms");
    let mut stream = Stream::new(5, "texts");
    for _ in 0..200 {
        let program = layer.generate(&mut Choices::drawn(&mut stream));
        let text = program.to_toml();
        assert_eq!(RankProgram::from_toml(&text), Ok(program), "{text}");
    }
}

/// Each shrunk program shrinks no further, and still fails in the same property.
#[test]
fn seeded_defects_are_found_and_shrunk() {
    let mut layer = MpiLayer::new(0).expect("platforms");
    // Buffers and credits are limited on one device alone.
    layer.devices.retain(|device| device.name() == "limited");
    for (defect, most) in [
        (ProtocolDefect::NoWakeOnBuffers, 6),
        (ProtocolDefect::NoWakeOnCredits, 2),
        (ProtocolDefect::BufferLost, 4),
        (ProtocolDefect::CreditNotTaken, 2),
        (ProtocolDefect::CreditTwice, 2),
        (ProtocolDefect::NoUpdates, 2),
    ] {
        let report = with_protocol_defect(defect, || campaign(&layer, 500));
        let [failure] = &report.failures[..] else {
            panic!("{defect:?} is not found");
        };
        let operations = failure.shrunk.program.operations();
        assert!(operations <= most, "{defect:?}: {:?}", failure.shrunk);
        assert!(operations < failure.original.operations());
        let property = Some(failure.property);
        let fails = |candidate: &RankProgram| compare(&layer, candidate).property() == property;
        let (again, _) = with_protocol_defect(defect, || {
            assert!(fails(&failure.shrunk.program), "{defect:?}");
            minimise(&layer, &failure.shrunk, 2_000, fails)
        });
        assert_eq!(again, failure.shrunk);
    }
}

#[test]
fn mistakes_are_refused() {
    let text = r#"version = 1
eager_threshold = 64
ranks = [[{ isend = 0 }, { wait = 0 }, "barrier"], [{ recv = 0 }, "barrier"]]
messages = [{ from = 0, to = 1, tag = 0, bytes = 9, any_source = false, any_tag = false }]
"#;
    assert!(RankProgram::from_toml(text).is_ok());
    for (from, to, expected) in [
        ("version = 1", "version = 2", "version = 2: expected 1"),
        (
            "isend = 0",
            "isend = 1",
            "ranks[0][0]: Isend(1): expected a message below 1",
        ),
        (
            "isend = 0",
            "irecv = 0",
            "ranks[0][0]: Irecv(0): expected the receive on rank 1",
        ),
        (
            "{ wait = 0 }, ",
            "",
            "ranks[0]: expected wait = 0 at the end",
        ),
        (
            "isend = 0",
            "send = 0",
            "Wait(0): expected isend, issend or irecv of this message",
        ),
        (
            "{ recv = 0 }, ",
            "",
            "messages[0]: 1 sends and 0 receives: expected one of each",
        ),
        (
            "bytes = 9",
            "bytes = 9999999",
            "messages[0].bytes = 9999999: expected at most 1048576",
        ),
        ("from = 0", "from = 1", "expected the send on rank 1"),
        ("to = 1", "to = 2", "expected the receive on rank 2"),
        (
            "}, \"barrier\"]]",
            "}]]",
            "ranks[1]: 0 barriers: expected 1, as on rank 0",
        ),
        (
            "{ recv = 0 }, \"barrier\"",
            "\"barrier\", { recv = 0 }",
            "ranks [0, 1] are blocked if each send is synchronous: expected no deadlock",
        ),
    ] {
        let changed = text.replace(from, to);
        assert_ne!(changed, text);
        let error = RankProgram::from_toml(&changed).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}
