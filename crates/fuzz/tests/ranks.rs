//! Promise: random rank programs give the same receives on all devices, as the model checker says;
//! a seeded defect of the protocols is found and shrunk; a written text is read back unchanged.

use crate::{check_failure, check_texts, run_layer};
use fuzz::ranks::MpiLayer;
use mpi::{ProtocolDefect, with_protocol_defect};

#[test]
fn devices_give_the_same_receives() {
    let layer = MpiLayer::new(200).expect("platforms");
    let report = run_layer(&layer, 200, 2_000);
    assert_eq!(report.failures, []);
    let counts = (report.tries, report.too_large, report.operations);
    assert_eq!(counts, (200, 0, 4_189));
}

/// The digest of a campaign is the same each time, and has the dates: on another platform the same
/// messages give another one.
#[test]
fn digests_have_results_and_dates() {
    let mut layer = MpiLayer::new(0).expect("platforms");
    layer.devices.truncate(2);
    let first = run_layer(&layer, 20, 2_000).digest;
    assert_eq!(run_layer(&layer, 20, 2_000).digest, first);
    assert_ne!(run_layer(&layer, 19, 2_000).digest, first);
    layer.devices.reverse();
    assert_ne!(run_layer(&layer, 20, 2_000).digest, first);
    layer.devices.truncate(1);
    let one = run_layer(&layer, 20, 2_000).digest;
    layer.devices = MpiLayer::new(0).expect("platforms").devices;
    layer.devices.truncate(1);
    assert_ne!(run_layer(&layer, 20, 2_000).digest, one);
}

#[test]
fn a_text_is_read_as_it_was_written() {
    check_texts(&MpiLayer::new(1).expect("platforms"), 200);
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
        with_protocol_defect(defect, || {
            let report = run_layer(&layer, 500, 2_000);
            check_failure(&layer, report.failures.first(), (&defect, most), 2_000);
        });
    }
}
