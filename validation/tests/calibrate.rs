//! Promise: the platform file that a calibration writes runs without changes, and the simulated
//! ping-pong gives the fit back; every suspicious measurement causes a warning.

use std::fmt::Write as _;

use run::MessageProtocol;
use validation::{
    CalibrateError, CalibrateOptions, Calibration, Code, Measurements, calibrate, read,
    simulated_ping_pong,
};

const TABLES: &str = include_str!("data/osu-ib-published.csv");

/// The tables in microseconds, by name, as the benchmark printed them.
fn tables() -> Vec<(String, String)> {
    let mut tables: Vec<(String, String)> = Vec::new();
    for line in TABLES.lines().filter(|line| line.contains(",us,")) {
        let (before, _) = line.split_once(",us,").expect("a unit");
        let mut fields = before.rsplit(',');
        let (value, size) = (
            fields.next().expect("a value"),
            fields.next().expect("a size"),
        );
        let name = line.split(',').next().expect("a name").to_owned();
        if tables.last().is_none_or(|last| last.0 != name) {
            let head = "# OSU MPI Latency Test v5.6.3\n# Size          Latency (us)\n";
            tables.push((name, head.to_owned()));
        }
        let text = &mut tables.last_mut().expect("a table").1;
        writeln!(text, "{size} {value}").expect("a text");
    }
    assert_eq!(tables.len(), 6);
    tables
}

fn calibrated(text: &str, options: &CalibrateOptions) -> Calibration {
    let measurements = read("m.txt", text).expect("measurements");
    calibrate("m.txt", text, &measurements, options).expect("a calibration")
}

/// The largest difference between simulated ping-pongs and the fit, at sizes between and beside the
/// measured ones too.
fn difference(calibration: &Calibration, mode: Option<MessageProtocol>) -> f64 {
    let mut sizes: Vec<u64> = (0..150)
        .map(|at| libm::exp(0.1 * f64::from(at)) as u64)
        .collect();
    for place in calibration.fit.breaks() {
        sizes.extend([place.above, place.above + 1]);
    }
    sizes.retain(|size| *size <= calibration.fit.range().1);
    let times = simulated_ping_pong(&calibration.platform, &sizes, mode).expect("a simulation");
    let errors = sizes.iter().zip(times).map(|(size, time)| {
        let fitted = calibration.fit.predict(*size);
        (time / fitted - 1.0).abs()
    });
    errors.fold(0.0, f64::max)
}

#[test]
fn simulated_ping_pongs_give_the_fit_back() {
    for (name, text) in tables() {
        let calibration = calibrated(&text, &CalibrateOptions::default());
        assert!(
            calibration.self_check <= 0.01,
            "{name}: {}",
            calibration.self_check
        );
        for mode in [
            None,
            Some(MessageProtocol::Eager),
            Some(MessageProtocol::Rendezvous),
        ] {
            let difference = difference(&calibration, mode);
            println!("| {name} | {mode:?} | {difference:.1e} |");
            assert!(difference <= 0.01, "{name} {mode:?}: {difference}");
        }
    }
}

#[test]
fn the_file_names_its_measurements_and_has_what_was_asked_for() {
    let (_, text) = &tables()[0];
    let options = CalibrateOptions {
        eager_threshold: Some(16_384),
        hosts: 64,
        ..CalibrateOptions::default()
    };
    let calibration = calibrated(text, &options);
    let file = &calibration.platform;
    assert!(file.starts_with("# A network calibrated from measurements"));
    assert!(file.contains("# Measurements: m.txt, digest "), "{file}");
    assert!(
        file.contains("OSU MPI Latency Test v5.6.3: 24 sizes"),
        "{file}"
    );
    let platform = platform::Platform::parse("mine.toml", file).expect("a platform");
    assert_eq!(platform.host_count(), 64);
    assert_eq!(platform.protocol().eager_threshold.bytes(), 16_384);
    let forced = calibration
        .fit
        .breaks()
        .iter()
        .find(|place| place.above == 16_383);
    assert_eq!(forced.expect("a break").kind, validation::BreakKind::Forced);
    assert!(difference(&calibration, None) <= 0.01);
}

fn codes(calibration: &Calibration) -> Vec<Code> {
    let mut codes: Vec<Code> = calibration
        .warnings
        .iter()
        .map(|warning| warning.code)
        .collect();
    codes.dedup();
    codes
}

#[test]
fn a_fall_of_the_time_is_reported() {
    let tables = tables();
    let (_, text) = tables
        .iter()
        .find(|(name, _)| name == "sjtu-edr")
        .expect("the set");
    let calibration = calibrated(text, &CalibrateOptions::default());
    assert!(
        codes(&calibration).contains(&Code::NonMonotone),
        "{:?}",
        calibration.warnings
    );
    let down = calibration
        .fit
        .breaks()
        .iter()
        .find(|place| place.jump < 1.0);
    assert_eq!(down.expect("a jump downwards").above, 131_072);
}

/// Samples of 1 + s/1000 µs at powers of two, in blocks of 12.
fn samples(sessions: &[f64], blocks: u32, spread: f64) -> String {
    let mut text = String::from("session,block,size_bytes,time_us,set\n");
    for (session, factor) in (1..).zip(sessions) {
        for at in 0..16 {
            let size = 1_u32 << at;
            for block in 0..blocks {
                for sample in 0..12 {
                    let noise = 1.0 + spread * f64::from((sample * 7 + block * 5) % 12);
                    let time = factor * noise * (1.0 + f64::from(size) / 1000.0);
                    writeln!(text, "{session},{block},{size},{time},train").expect("a text");
                }
            }
        }
    }
    text
}

#[test]
fn good_samples_give_no_warning_and_sure_parameters() {
    let calibration = calibrated(&samples(&[1.0], 6, 0.001), &CalibrateOptions::default());
    assert_eq!(calibration.warnings, []);
    let [segment] = calibration.fit.segments() else {
        panic!("one segment");
    };
    let confidence = calibration.confidence.as_ref().expect("samples");
    let [(a, b)] = confidence.segments[..] else {
        panic!("one segment");
    };
    assert!(a.0 <= segment.line.intercept_s && segment.line.intercept_s <= a.1);
    assert!(b.0 <= segment.line.slope_s && segment.line.slope_s <= b.1);
    assert!((a.1 / a.0 - 1.0) < 0.01, "{a:?}");
    assert!((segment.line.intercept_s / 1e-6 - 1.0).abs() < 0.01);
}

#[test]
fn sums_in_memory_become_a_bandwidth() {
    const BYTES_PER_US: f64 = 20_000.0;
    let messages = samples(&[1.0], 6, 0.001);
    let head = "session,block,size_bytes,time_us,set";
    let mut text = messages.replace(",train", ",train,pp");
    text = text.replace(head, &format!("{head},kernel"));
    for size in (6..16).map(|at| 1_u32 << at) {
        for (block, sample) in (0..6).flat_map(|block| (0..12).map(move |at| (block, at))) {
            let noise = 1.0 + 0.001 * f64::from((sample * 7 + block * 5) % 12);
            let time = noise * (0.01 + f64::from(size) / BYTES_PER_US);
            writeln!(text, "1,{block},{size},{time},train,reduce").expect("a text");
        }
    }
    let calibration = calibrated(&text, &CalibrateOptions::default());
    let found = calibration.memory.reduce.expect("a bandwidth");
    assert!((found / (1e6 * BYTES_PER_US) - 1.0).abs() < 0.01, "{found}");
    let line = format!("\n[collectives]\nreduce_bandwidth = \"{found}Bps\"\n");
    assert!(calibration.platform.contains(&line));
    let without = calibrated(&messages, &CalibrateOptions::default());
    assert!(!without.platform.contains("reduce_bandwidth"));
}

#[test]
fn few_noisy_and_changing_measurements_are_reported() {
    let few = calibrated(&samples(&[1.0], 2, 0.001), &CalibrateOptions::default());
    assert_eq!(codes(&few), [Code::Few]);
    let noisy = calibrated(&samples(&[1.0], 6, 0.2), &CalibrateOptions::default());
    assert!(codes(&noisy).contains(&Code::Noise), "{:?}", noisy.warnings);
    let changing = calibrated(
        &samples(&[1.0, 1.3], 6, 0.001),
        &CalibrateOptions::default(),
    );
    assert_eq!(codes(&changing), [Code::Session], "{:?}", changing.warnings);
    // At the speed of the first session.
    assert!((changing.fit.predict(1) / 1.001e-6 - 1.0).abs() < 0.01);
    // Three times the largest size is predicted, with a wider band; beyond four times nothing is.
    for (size, predictions) in [(98_304, 1), (1_000_000, 0)] {
        let line = format!("1,9,{size},{},validate\n", 1.0 + f64::from(size) / 1000.0);
        let outside = samples(&[1.0], 6, 0.001) + &line;
        let outside = calibrated(&outside, &CalibrateOptions::default());
        assert_eq!(codes(&outside), [Code::Extrapolated]);
        assert_eq!(outside.validation.len(), predictions);
        let wider = outside.bands.error_at(98_304, 0.9) / outside.bands.error_at(32_768, 0.9);
        assert!((wider - 3.0_f64.sqrt()).abs() < 1e-9);
        assert_eq!(outside.predict(1_000_000), None);
    }
}

#[test]
fn polling_processes_are_counted_on_each_host() {
    for (metadata, expected) in [
        (
            "# ranks: 4\n# cores: 2\n# wait: spin\n",
            &[Code::Oversubscribed][..],
        ),
        ("# ranks: 4\n# cores: 2\n# wait: block\n", &[]),
        (
            "# ranks: 4\n# ranks_per_host: 2\n# cores: 2\n# wait: spin\n",
            &[],
        ),
        (
            "# ranks: 4\n# ranks_per_host: 2\n# cores: 1\n# wait: spin\n",
            &[Code::Oversubscribed],
        ),
    ] {
        let text = metadata.to_owned() + &samples(&[1.0], 6, 0.001);
        let calibration = calibrated(&text, &CalibrateOptions::default());
        assert_eq!(codes(&calibration), expected, "{metadata}");
    }
}

#[test]
fn sockets_that_pace_are_told_of() {
    for (value, paces) in [
        ("bbr", Some("bbr")),
        ("cubic bbr2", Some("bbr2")),
        ("cubic", None),
        ("reno", None),
        // Other names that have these letters in them.
        ("dctcp nobbr", None),
    ] {
        let fact = format!("# congestion_control: {value}\n");
        let calibration = calibrated(
            &(fact + &samples(&[1.0], 6, 0.001)),
            &CalibrateOptions::default(),
        );
        let expected: Vec<Code> = paces.iter().map(|_| Code::Paced).collect();
        assert_eq!(codes(&calibration), expected, "{value}");
        for (warning, name) in calibration.warnings.iter().zip(paces) {
            let text = warning.to_string();
            let begins = format!("W-PACING: the congestion control of the sockets, {name}, paces ");
            assert!(text.starts_with(&begins), "{text}");
            assert!(text.contains("--tcp-congestion cubic"), "{text}");
        }
        let note = format!("# congestion_control: {value}\n");
        assert!(
            calibration.platform.contains(&note),
            "{}",
            calibration.platform
        );
    }
}

#[test]
fn what_cannot_be_fitted_is_refused() {
    let options = CalibrateOptions::default();
    let text = "kernel,size_bytes,time_us\nos,8,1.0\n";
    let Ok(measurements @ Measurements::Samples(_)) = read("m.csv", text) else {
        panic!("samples");
    };
    let refused = calibrate("m.csv", text, &measurements, &options).unwrap_err();
    assert_eq!(refused, CalibrateError::NoPingPong("os".to_owned()));
    let text = "size_bytes,time_us\n8,1.0\n";
    let measurements = read("m.csv", text).unwrap();
    let refused = calibrate("m.csv", text, &measurements, &options).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "too few sizes, 1: expected at least 2, for one line"
    );
}
