//! The tables `[replicate]` and `[limits]`.

use super::RunLimits;
use super::section::{DiagnosticList, Section};
use crate::replication::Replication;
use crate::statistics::StoppingRule;
use crate::value::QuantityKind;

/// Confidence of intervals, if none is stated.
const CONFIDENCE: f64 = 0.95;

/// Number of values before a mean is first examined, if none is stated: a stopped interval of
/// nominal 95 % then contains the mean of normal values in 94 % of the cases.
const MIN: u64 = 10;

/// Number of values that end a point, if none is stated.
const MAX: u64 = 200;

/// Reads `[replicate]`; without this section, one seed.
pub(super) fn replication(file: &Section<'_>, mistakes: &mut DiagnosticList) -> Replication {
    let single = Replication::Seeds {
        count: 1,
        confidence: CONFIDENCE,
    };
    let Some(section) = file.section("replicate", mistakes) else {
        return single;
    };
    section.check_keys(
        &["seeds", "precision", "confidence", "min", "max"],
        mistakes,
    );
    let confidence = section
        .fraction("confidence", mistakes)
        .unwrap_or(CONFIDENCE);
    let seeds = section.whole_number("seeds", 1, mistakes);
    let precision = section.fraction("precision", mistakes);
    let min = section.whole_number("min", 3, mistakes).unwrap_or(MIN);
    let max = section
        .whole_number("max", 3, mistakes)
        .unwrap_or(MAX.max(min));
    if max < min {
        let problem = format!("max = {max} is below min = {min}");
        mistakes.add(section.place.clone(), problem, "a max from min on");
    }
    let has = |key| section.get(key).is_some();
    if has("seeds") == has("precision") {
        let expected = "seeds = N or precision = P, one of them";
        mistakes.add(
            section.place.clone(),
            "[replicate] has no rule".to_owned(),
            expected,
        );
    } else if has("seeds") && (has("min") || has("max")) {
        let problem = "min and max belong to precision".to_owned();
        mistakes.add(section.place.clone(), problem, "precision instead of seeds");
    }
    let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    match (seeds, precision) {
        (Some(seeds), _) => Replication::Seeds {
            count: number(seeds),
            confidence,
        },
        (None, Some(precision)) => Replication::Precision(StoppingRule {
            precision,
            confidence,
            min: number(min),
            max: number(max),
        }),
        (None, None) => single,
    }
}

/// Reads `[limits]`; without this section, no limits.
pub(super) fn limits(file: &Section<'_>, mistakes: &mut DiagnosticList) -> RunLimits {
    let Some(section) = file.section("limits", mistakes) else {
        return RunLimits::default();
    };
    section.check_keys(&["time", "memory", "events"], mistakes);
    let memory = section.quantity("memory", QuantityKind::Size, "2GiB", mistakes);
    RunLimits {
        time_s: section.quantity("time", QuantityKind::Duration, "10s", mistakes),
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a size is a whole number below 2^63"
        )]
        memory: memory.map(|bytes| bytes as u64),
        events: section.whole_number("events", 1, mistakes),
    }
}
