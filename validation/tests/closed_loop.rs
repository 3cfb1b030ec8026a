//! Promise: a simulated network, measured, fitted and written as a file, gives its own times back,
//! for each model: plain, `smpi` with envelope and acknowledgements, `loggops`; eager and by
//! rendezvous; with the handshake in the tables or simulated.

use std::rc::Rc;
use std::sync::Arc;

use platform::Platform;
use validation::{
    BreakKind, CalibrateOptions, Calibration, Code, Effort, Kernel, MeasureOptions, Preset,
    RendezvousCost, calibrate, measure_simulated, read, samples_as_csv, simulated_times,
};

/// A network with overheads, a switch of protocol at 4072 B, and rendezvous from 16384 B on.
const OVERHEADS: &str = r#"
version = 1
[network]
model = "flow"
latency_factor = [{ above = "0B", factor = 1 }, { above = "4071B", factor = 0.9 }, { above = "16383B", factor = 3 }]
bandwidth_factor = [{ above = "0B", factor = 1 }, { above = "4071B", factor = 0.5 }, { above = "16383B", factor = 0.8 }]
os = [{ above = "0B", time = "3us", per_byte = "100ps" }]
ois = [{ above = "0B", time = "1us", per_byte = "50ps" }]
or = [{ above = "0B", time = "2us", per_byte = "0ps" }, { above = "600B", time = "4us", per_byte = "300ps" }]
[protocol]
eager_threshold = "16KiB"
[clusters.nodes]
hosts = "node-[0-3]"
speed = "1Gf"
bandwidth = "1GBps"
latency = "10us"
"#;

const LOGGOPS: &str = r#"
version = 1
[network]
model = "loggops"
latency = "5us"
overhead = "2us"
gap = "3us"
gap_per_byte = "2ns"
overhead_per_byte = "1ns"
[protocol]
eager_threshold = "32KiB"
[clusters.nodes]
hosts = "node-[0-3]"
speed = "1Gf"
bandwidth = "1GBps"
latency = "1us"
"#;

fn parsed(text: &str) -> Arc<Platform> {
    Arc::new(Platform::parse("known.toml", text).expect("a platform"))
}

fn measured(platform: &str, ranks: u32) -> String {
    let options = MeasureOptions {
        repetitions: Some(4),
        blocks_max: 5,
        time_limit_s: 1e3,
        size_max: 256 << 10,
        sizes: 60,
        held_out: 16,
        ..MeasureOptions::from_effort(Effort::Standard)
    };
    let session = measure_simulated(&parsed(platform), ranks, &options, Rc::new(|_, _, _| {}));
    samples_as_csv("# backend: simulated\n", &[session.expect("a session")])
}

fn calibrated(text: &str, options: &CalibrateOptions) -> Calibration {
    let measurements = read("m.csv", text).expect("samples");
    calibrate("m.csv", text, &measurements, options).expect("a calibration")
}

/// The largest difference between two platforms, for a kernel at sizes of all kinds up to a limit.
fn difference(one: &str, other: &str, kernel: Kernel, limit: u64) -> f64 {
    let sizes = (0..60).map(|at| libm::exp(0.2 * f64::from(at)) as u64);
    let wanted: Vec<(Kernel, u64)> = sizes
        .filter(|size| *size < limit)
        .map(|size| (kernel, size))
        .collect();
    let times = |platform: &str| {
        simulated_times(&parsed(platform), 2, &wanted, None).expect("a simulation")
    };
    let pairs = times(one).into_iter().zip(times(other));
    let errors = pairs.map(|(one, other)| (one / other - 1.0).abs());
    errors.fold(0.0, f64::max)
}

#[test]
fn overheads_breaks_and_threshold_come_back() {
    let text = measured(OVERHEADS, 2);
    let found = calibrated(&text, &CalibrateOptions::default());
    assert_eq!(found.eager_threshold, Some(16_384));
    let forced = found
        .fit
        .breaks()
        .iter()
        .find(|place| place.above == 16_383);
    assert_eq!(forced.expect("the threshold").kind, BreakKind::Forced);
    // Refined down to 2 %.
    let switch = found
        .fit
        .breaks()
        .iter()
        .find(|place| place.gap.0 < 4072 && 4072 <= place.gap.1);
    assert!(
        switch.expect("the switch").width() <= 1.03,
        "{:?}",
        found.fit.breaks()
    );
    for size in [1.0, 400.0] {
        let piece = found.split.segment_at(size as u64);
        assert!((piece.os.time_at(size) / (3e-6 + 1e-10 * size) - 1.0).abs() < 0.01);
        assert!((piece.or.time_at(size) / 2e-6 - 1.0).abs() < 0.01);
        assert!((piece.ois.time_at(size) / (1e-6 + 5e-11 * size) - 1.0).abs() < 0.01);
    }
    for (kernel, limit) in [
        (Kernel::PingPong, 4000),
        (Kernel::PingPong, 1 << 18),
        (Kernel::Send, 16_384),
        (Kernel::Stream(16), 4000),
        (Kernel::Receive, 500),
    ] {
        let difference = difference(&found.platform, OVERHEADS, kernel, limit);
        println!("| {kernel} below {limit} | {difference:.1e} |");
        // Up to the gaps of breaks, which are 2 % wide.
        assert!(difference <= 0.01, "{kernel}: {difference}");
    }
    assert!(found.self_check <= 0.01);
    let errors = found.errors().expect("predictions");
    assert!(errors.median < 1e-3, "{errors:?}");
    assert_eq!(found.validation.len(), 16);
}

#[test]
fn every_preset_and_handshake_gives_the_fit_back() {
    for ranks in [2, 4] {
        let text = measured(OVERHEADS, ranks);
        for preset in [Preset::Flow, Preset::Smpi, Preset::LogGops] {
            for handshake in [RendezvousCost::InTable, RendezvousCost::Simulated] {
                let options = CalibrateOptions {
                    preset,
                    handshake,
                    ..CalibrateOptions::default()
                };
                // `calibrate` refuses what differs by more than 1 %.
                let found = calibrated(&text, &options);
                println!(
                    "| {ranks} | {preset:?} | {handshake:?} | {:.1e} |",
                    found.self_check
                );
                let codes: Vec<Code> = found.warnings.iter().map(|one| one.code).collect();
                assert!(
                    !codes.contains(&Code::RendezvousCost),
                    "{:?}",
                    found.warnings
                );
                let expected = if preset == Preset::LogGops {
                    RendezvousCost::Simulated
                } else {
                    handshake
                };
                assert_eq!(found.handshake, expected);
                assert!(found.platform.contains(expected.name()));
            }
        }
    }
}

#[test]
fn loggops_parameters_come_back() {
    let text = measured(LOGGOPS, 2);
    let options = CalibrateOptions {
        preset: Preset::LogGops,
        ..CalibrateOptions::default()
    };
    let found = calibrated(&text, &options);
    let model = found.loggp.expect("the model");
    for (name, value, truth) in [
        ("L", model.latency_s, 5e-6),
        ("o", model.overhead_s, 2e-6),
        ("g", model.gap_s, 3e-6),
        ("G", model.gap_per_byte_s, 2e-9),
        ("O", model.overhead_per_byte_s, 1e-9),
    ] {
        assert!((value / truth - 1.0).abs() < 0.01, "{name}: {value}");
    }
    assert_eq!(model.threshold, 32_768);
    for kernel in [
        Kernel::PingPong,
        Kernel::Stream(4),
        Kernel::Send,
        Kernel::Receive,
    ] {
        let limit = if kernel == Kernel::PingPong {
            1 << 20
        } else {
            32_768
        };
        let difference = difference(&found.platform, LOGGOPS, kernel, limit);
        assert!(difference <= 0.01, "{kernel}: {difference}");
    }
}

/// A model that cannot follow a curve with breaks says so, and one that can does not.
#[test]
fn a_model_of_one_line_is_warned_of_where_the_curve_has_several() {
    for (platform, expected) in [(OVERHEADS, true), (LOGGOPS, false)] {
        let options = CalibrateOptions {
            preset: Preset::LogGops,
            ..CalibrateOptions::default()
        };
        let found = calibrated(&measured(platform, 2), &options);
        let about = |one: &&validation::Warning| one.code == Code::Model;
        let warning = found.warnings.iter().find(about);
        let told = warning.is_some_and(|one| one.text.starts_with("loggops has one gap per byte"));
        assert_eq!(told, expected, "{:?}", found.warnings);
    }
}

#[test]
fn what_shares_one_link_is_told_from_what_does_not() {
    let shared = OVERHEADS.replace(
        "latency = \"10us\"",
        "latency = \"10us\"\nsharing = \"shared\"",
    );
    for (platform, expected) in [(OVERHEADS, false), (&shared, true)] {
        let text = measured(platform, 4);
        for preset in [Preset::Flow, Preset::Smpi] {
            let options = CalibrateOptions {
                preset,
                ..CalibrateOptions::default()
            };
            let found = calibrated(&text, &options);
            assert_eq!(found.platform.contains("sharing = \"shared\""), expected);
            let of = |kernel: Kernel| {
                let ours = found.sharing.iter().filter(|one| one.kernel == kernel);
                ours.max_by_key(|one| one.size)
                    .expect("it was measured")
                    .factor
            };
            // Three senders share the receiver's cable.
            assert!(
                (of(Kernel::Incast(3)) / 3.0 - 1.0).abs() < 0.15,
                "{:?}",
                found.sharing
            );
            let both = if expected { 2.0 } else { 1.0 };
            assert!(
                (of(Kernel::Exchange) / both - 1.0).abs() < 0.15,
                "{:?}",
                found.sharing
            );
        }
    }
}

/// Rings of as many ranks as were measured, also if the file is for fewer hosts.
#[test]
fn a_ring_is_predicted_from_what_is_between_two_ranks() {
    for (platform, preset, ranks) in [
        (OVERHEADS, Preset::Flow, 2),
        (OVERHEADS, Preset::Flow, 4),
        (OVERHEADS, Preset::Smpi, 4),
        (LOGGOPS, Preset::LogGops, 4),
    ] {
        let options = CalibrateOptions {
            preset,
            ..CalibrateOptions::default()
        };
        let text = measured(platform, ranks);
        let found = calibrated(&text, &options);
        let [program] = &found.programs[..] else {
            panic!("one ring: {:?}", found.programs);
        };
        assert_eq!(program.kernel, Kernel::Ring(ranks));
        let sizes = |predictions: &[validation::Prediction]| -> Vec<u64> {
            predictions.iter().map(|one| one.size).collect()
        };
        assert_eq!(sizes(&program.predictions), sizes(&found.validation));
        let errors = program.errors().expect("16 sizes");
        assert!(
            errors.worst < 0.02,
            "{preset:?}, {ranks}: {}",
            program.verdict()
        );

        // A ring that takes twice as long changes what is said of it, and nothing that is fitted.
        let double = |line: &str| -> String {
            let (rest, time) = line.rsplit_once(',').unwrap_or((line, ""));
            match time.parse::<f64>() {
                Ok(time) if line.contains("ring") => format!("{rest},{}\n", 2.0 * time),
                _ => format!("{line}\n"),
            }
        };
        let slower: String = text.lines().map(double).collect();
        let again = calibrated(&slower, &options);
        assert_eq!(again.fit, found.fit);
        let bias = again.programs[0].errors().expect("16 sizes").bias;
        assert!((bias + 0.5).abs() < 0.01, "{bias}");
    }
}

#[test]
fn loggops_without_streams_is_refused() {
    let text = "kernel,size_bytes,time_us\npp,1,1\npp,8,2\npp,100,3\n";
    let measurements = read("m.csv", text).expect("samples");
    let options = CalibrateOptions {
        preset: Preset::LogGops,
        ..CalibrateOptions::default()
    };
    let refused = calibrate("m.csv", text, &measurements, &options).unwrap_err();
    assert!(refused.to_string().contains("prtt16"), "{refused}");
}
