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
        examples: u64::MAX,
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
