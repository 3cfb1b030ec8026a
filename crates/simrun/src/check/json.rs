//! Results of a search or a replay as one JSON object.

use explore::{Bound, Critical, End, FindingStep, ReplayResult, Verdict};
use serde_json::{Value, json};

use super::search::SearchResult;
use super::{CRITICAL_BUDGET, Found, ScheduleKind, Warning, text, words};

/// A search.
pub(super) fn of_search(name: &str, searched: &SearchResult) -> String {
    let SearchResult {
        report,
        found,
        warnings,
        clock_reads,
        notes,
        bounds,
        is_cut,
        kept_in,
    } = searched;
    let statistics = &report.statistics;
    let verdict = match report.verdict {
        Verdict::Ok => "ok",
        Verdict::Found => "found",
        Verdict::Bounded => "incomplete",
        Verdict::Broken(_) => "nondeterministic",
        Verdict::InternalError(_) => "internal_error",
    };
    pretty(&json!({
        "program": name,
        "verdict": verdict,
        "message": text::verdict(searched),
        "exhaustive": report.is_exhaustive() && bounds.is_empty(),
        "bounds": bound_names(statistics.bounds.iter()),
        "model_bounds": bounds,
        "executions": statistics.executions,
        "finished": statistics.finished,
        "deadlocks": statistics.deadlocks,
        "failed": statistics.failed,
        "unfinished_operations": statistics.leftovers,
        "truncated": statistics.cut,
        "covered": statistics.covered,
        "sleep_set_blocked": statistics.sleep_set_blocked,
        "transitions": statistics.transitions,
        "transitions_per_s": statistics.rate(),
        "events": statistics.events,
        "tree_nodes": statistics.tree_nodes(),
        "depth": statistics.depth_max,
        "restarts": statistics.restarts,
        "wall_s": statistics.seconds,
        "findings": found.iter().map(finding).collect::<Vec<Value>>(),
        "findings_truncated": is_cut,
        "warnings": warnings
            .iter()
            .map(warning)
            .chain(clock_reads.iter().map(clock))
            .chain(notes.iter().map(note_json))
            .collect::<Vec<Value>>(),
        "checkpoint": kept_in,
    }))
}

/// The names of bounds that were hit.
fn bound_names(bounds: impl IntoIterator<Item = Bound>) -> Vec<String> {
    let name = |bound: Bound| format!("{bound:?}").to_lowercase();
    bounds.into_iter().map(name).collect()
}

/// A replay.
pub(super) fn of_replay(name: &str, followed: &ReplayResult, found: Option<&Found>) -> String {
    let verdict = match followed.end {
        Some(End::Finished) => "finished",
        Some(_) => "found",
        None => "unfinished",
    };
    pretty(&json!({
        "program": name,
        "verdict": verdict,
        "steps": steps(&followed.steps),
        "findings": found.into_iter().map(finding).collect::<Vec<Value>>(),
    }))
}

fn pretty(value: &Value) -> String {
    format!("{value:#}")
}

fn finding(found: &Found) -> Value {
    let actors = found.states.blocked.iter().map(|blocked| {
        let waits_for = blocked.waits_for.iter().map(|other| other.number());
        json!({
            "actor": blocked.actor.number(),
            "name": blocked.name,
            "operation": blocked.waits_in,
            "line": blocked.location,
            "waits_for": waits_for.collect::<Vec<u32>>(),
        })
    });
    let cycle = found.states.cycle().unwrap_or_default();
    json!({
        "kind": found.finding.kind.name(),
        "severity": "error",
        "message": found.problem_text(),
        "clock_reads": found.clock_reads,
        "replay": found.finding.replay.to_string(),
        "command": found.command,
        "steps": steps(&found.finding.steps),
        "counterexample": match found.schedule_kind {
            ScheduleKind::Given => "given",
            ScheduleKind::ShortestFound => "not_proven_minimal",
            ScheduleKind::Shortest => "minimal",
        },
        "critical": found.critical.map(critical),
        "actors": actors.collect::<Vec<Value>>(),
        "cycle": cycle.iter().map(|actor| actor.number()).collect::<Vec<u32>>(),
    })
}

/// A warning. Warnings are not in the findings: scripts that count findings count errors.
fn warning(warning: &Warning) -> Value {
    let order = &warning.order;
    let pairs = order.orders.iter().zip(&warning.commands);
    let orders = pairs.map(|(taken, (replay, command))| {
        json!({
            "sources": taken.names,
            "replay": replay,
            "command": command,
        })
    });
    json!({
        "kind": "receive-order",
        "severity": "warning",
        "message": warning.problem_text(),
        "actor": order.actor.number(),
        "name": order.name,
        "line": order.line,
        "position": order.position + 1,
        "orders": orders.collect::<Vec<Value>>(),
    })
}

/// A call that reads the time.
fn note_json(text: &String) -> Value {
    json!({ "kind": "note", "severity": "note", "message": text })
}

fn clock(place: &String) -> Value {
    json!({
        "kind": "clock",
        "severity": "warning",
        "message": text::clock_warning(std::slice::from_ref(place)),
        "line": place,
    })
}

fn critical(critical: Critical) -> Value {
    match critical {
        Critical::Step(step) => json!({ "kind": "step", "step": step + 1 }),
        Critical::Everything => json!({ "kind": "all_executions" }),
        Critical::Unknown(step) => {
            json!({ "kind": "unknown", "step": step + 1, "budget": CRITICAL_BUDGET })
        }
    }
}

fn steps(steps: &[FindingStep]) -> Vec<Value> {
    let row = |step: &FindingStep| {
        json!({
            "actor": step.actor.number(),
            "name": step.name,
            "operation": step.kind.as_str(),
            "object": words::object(step),
            "result": words::result_text(step),
            "branch": step.branch,
            "line": step.line,
            "clock": step.clock,
            // Steps are counted from 1, as in the text.
            "predecessors": step.after.iter().map(|other| other + 1).collect::<Vec<usize>>(),
        })
    };
    steps.iter().map(row).collect()
}
