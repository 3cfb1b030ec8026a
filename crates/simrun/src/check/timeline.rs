//! From the steps of a finding to a happened-before diagram.

use std::path::Path;
use std::process::ExitCode;

use explore::{
    Critical, Finding, FindingKind, FindingStep, Timeline, TimelineEnd, TimelineFault, TimelineStep,
};
use sim_core::{ActorId, WaitGraph};

use super::words;
use crate::{drawing, status};

/// Writes the diagram into a file: `.svg`, `.png`, `.dot` or `.json`. The last two have all steps.
pub(super) fn write_timeline(path: &Path, timeline: &Timeline) -> Result<(), ExitCode> {
    let text = match path.extension().and_then(|ending| ending.to_str()) {
        Some("dot") => explore::dot_of_timeline(timeline),
        Some("json") => format!("{}\n", figure(timeline)),
        _ => return drawing::draw_figure(&figure(timeline), path),
    };
    files::write(path, text).map_err(status::refuse)
}

/// Returns the diagram as a figure that `simrun draw` reads.
fn figure(timeline: &Timeline) -> serde_json::Value {
    serde_json::json!({ "timeline": timeline })
}

/// Returns the diagram of steps, and of the actors that have not ended.
pub(super) fn build_timeline(
    title: String,
    steps: &[FindingStep],
    states: &WaitGraph,
    (critical, finding): (Option<Critical>, Option<&Finding>),
) -> Timeline {
    let mut actors: Vec<(ActorId, &str)> = Vec::new();
    let named = steps.iter().map(|step| (step.actor, step.name.as_str()));
    let waiting = states.blocked.iter();
    let waiting = waiting.map(|blocked| (blocked.actor, blocked.name.as_str()));
    let failure = finding.and_then(|finding| match &finding.kind {
        FindingKind::Failure(failure) => Some(failure),
        _ => None,
    });
    let failed = failure.map(|failure| (failure.actor, failure.name.as_str()));
    for (actor, name) in named.chain(waiting).chain(failed) {
        if !actors.iter().any(|&(other, _)| other == actor) {
            actors.push((actor, name));
        }
    }
    actors.sort_unstable();
    let lane = |actor: ActorId| actors.iter().position(|&(other, _)| other == actor);
    let rows = steps.iter().enumerate().map(|(position, step)| {
        let words = [
            step.kind.as_str().to_owned(),
            words::object(step),
            words::result_text(step),
        ];
        let words: Vec<String> = words.into_iter().filter(|word| !word.is_empty()).collect();
        TimelineStep {
            lane: lane(step.actor).unwrap_or_default(),
            text: words.join(" "),
            place: short_location(&step.line),
            after: step.after.clone(),
            is_critical: critical == Some(Critical::Step(position)),
            is_concurrent: is_concurrent(steps, position),
        }
    });
    let ends = states.blocked.iter().map(|blocked| TimelineEnd {
        lane: lane(blocked.actor).unwrap_or_default(),
        text: blocked.waits_in.clone(),
        place: short_location(&blocked.location),
        waits_for: blocked
            .waits_for
            .iter()
            .filter_map(|&other| lane(other))
            .collect(),
    });
    Timeline {
        title,
        steps: rows.collect(),
        ends: ends.collect(),
        fault: finding
            .filter(|finding| failure.is_some() || is_leftover(finding))
            .map(|finding| TimelineFault {
                lane: failure.and_then(|failure| lane(failure.actor)),
                text: finding
                    .message
                    .lines()
                    .next()
                    .unwrap_or_default()
                    .to_owned(),
            }),
        lanes: actors.iter().map(|&(_, name)| name.to_owned()).collect(),
    }
}

/// Returns true if the finding is operations that have not ended.
const fn is_leftover(finding: &Finding) -> bool {
    matches!(finding.kind, FindingKind::Leftovers(_))
}

/// Returns a source line without the folder.
fn short_location(line: &str) -> String {
    line.rsplit('/').next().unwrap_or_default().to_owned()
}

/// Returns true if no step of another actor necessarily comes before or after.
fn is_concurrent(steps: &[FindingStep], position: usize) -> bool {
    let rank = |step: &FindingStep| clock(step, step.actor);
    let own = &steps[position];
    steps.iter().all(|other| {
        let is_before = clock(own, other.actor) >= rank(other);
        let is_after = clock(other, own.actor) >= rank(own);
        other.actor == own.actor || !(is_before || is_after)
    })
}

/// Returns the number of steps of an actor that happen before or with a step.
fn clock(step: &FindingStep, actor: ActorId) -> u32 {
    let index = actor.number() as usize - 1;
    step.clock.get(index).copied().unwrap_or(0)
}
