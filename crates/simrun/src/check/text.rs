//! Results of a search or a replay as text.

use std::fmt::Write as _;
use std::ops::Range;

use explore::{Bound, Critical, End, FindingKind, FindingStep, ReplayResult, Statistics, Verdict};
use sim_core::{ActorId, Schedule};

use super::search::SearchResult;
use super::{CRITICAL_BUDGET, Found, ScheduleKind, words};
use crate::summary;

/// Returns a search as text: the findings, the verdict, and the counts.
pub(super) fn of_search(name: &str, searched: &SearchResult) -> String {
    let mut text = format!(
        "{}{}{name}: {}\n{}{}{}",
        findings(&searched.found, searched.is_cut),
        warnings(searched),
        verdict(searched),
        bounds(searched),
        counts_text(&searched.report.statistics),
        repetition_help(&searched.report.statistics)
    );
    if let Some(file) = &searched.kept_in {
        let _ = write!(
            text,
            "\n  saved to {file}; run the same command to continue"
        );
    }
    text
}

/// The number of runs with findings.
const fn wrong(statistics: &Statistics) -> u64 {
    statistics.deadlocks + statistics.failed + statistics.leftovers
}

/// The answer in words.
pub(super) fn verdict(searched: &SearchResult) -> String {
    let statistics = &searched.report.statistics;
    let rest = if !statistics.bounds.is_empty() {
        format!(
            "search incomplete: {}",
            join_bounds(statistics.bounds.iter())
        )
    } else if searched.bounds.is_empty() {
        "search complete".to_owned()
    } else {
        "searched within the bounds below".to_owned()
    };
    match &searched.report.verdict {
        Verdict::Ok if searched.bounds.is_empty() => format!("no errors found; {rest}"),
        Verdict::Ok => "no errors found within the bounds below".to_owned(),
        Verdict::Bounded => format!("no errors found, but {rest}"),
        Verdict::Broken(text) => text.clone(),
        Verdict::InternalError(text) => format!(
            "internal error: {text}, although the program repeats its steps; this is a bug in \
             simrun"
        ),
        Verdict::Found => {
            let executions = summary::count(statistics.executions, "execution");
            format!("errors in {} of {executions}; {rest}", wrong(statistics))
        }
    }
}

/// The bounds of the exploration that some run has met, a line each.
fn bounds(searched: &SearchResult) -> String {
    let lines = searched.bounds.iter();
    lines.map(|bound| format!("  bound: {bound}\n")).collect()
}

/// Bounds in words.
fn join_bounds(bounds: impl IntoIterator<Item = Bound>) -> String {
    let bounds = bounds.into_iter().map(|bound| bound.to_string());
    bounds.collect::<Vec<String>>().join(", ")
}

/// The counts of a search.
fn counts_text(statistics: &Statistics) -> String {
    let mut text = format!("  {}", summary::count(statistics.executions, "execution"));
    for (number, what) in [
        (statistics.finished, "finished"),
        (statistics.deadlocks, "deadlocked"),
        (statistics.failed, "failed"),
        (statistics.leftovers, "with unfinished operations"),
        (statistics.cut, "truncated"),
    ] {
        if number > 0 && number < statistics.executions {
            let _ = write!(text, ", {number} {what}");
        }
    }
    let _ = write!(
        text,
        "; at most {}\n  {}, {} in {} real ({} per second)",
        summary::count(statistics.depth_max, "step"),
        summary::count(statistics.tree_nodes(), "node"),
        summary::count(statistics.transitions, "transition"),
        summary::rounded(statistics.seconds),
        summary::format_short(statistics.rate()),
    );
    text
}

/// The number of steps of an execution from which on a program probably repeats calls in a loop.
/// \[choice\]
const LONG_EXECUTION: u64 = 1000;

/// Returns a help where a search was not finished and executions are long: each number of
/// repetitions of a loop, such as a spin lock, is another execution.
fn repetition_help(statistics: &Statistics) -> String {
    if statistics.bounds.is_empty() || statistics.depth_max < LONG_EXECUTION {
        return String::new();
    }
    "\n  help: if a loop waits for another actor, --max-depth 100 explores fewer repetitions"
        .to_owned()
}

/// All findings, one after the other. `is_cut`: there are others.
pub(super) fn findings(found: &[Found], is_cut: bool) -> String {
    let mut text = String::new();
    for (position, one) in found.iter().enumerate() {
        if found.len() > 1 {
            let _ = writeln!(text, "finding {} of {}", position + 1, found.len());
        }
        text.push_str(&finding(one, ShownSteps::Ends));
        text.push('\n');
    }
    if is_cut {
        let _ = writeln!(text, "further findings are not shown\n");
    }
    text
}

/// The calls that read the time, which stands still.
pub(crate) fn clock_warning(places: &[String]) -> String {
    let (places, reads) = match places {
        [place] => (place.clone(), "reads it"),
        [most @ .., last] => (format!("{} and {last}", most.join(", ")), "read it"),
        [] => return String::new(),
    };
    format!(
        "time does not pass during the search, but {places} {reads}: behaviour that depends on time is not checked"
    )
}

/// Returns the warnings: no mistakes by themselves.
fn warnings(searched: &SearchResult) -> String {
    let mut text = String::new();
    for warning in &searched.warnings {
        let _ = writeln!(text, "warning: {}", warning.problem_text());
        for (taken, (_, command)) in warning.order.orders.iter().zip(&warning.commands) {
            let mut names: Vec<&str> = taken.names.iter().map(String::as_str).collect();
            // Enough to see the difference.
            let shown = (warning.order.position + 3).min(names.len());
            if shown < names.len() {
                names.truncate(shown);
                names.push("...");
            }
            let _ = writeln!(text, "  from {}:\n    {command}", names.join(", "));
        }
        text.push('\n');
    }
    if !searched.clock_reads.is_empty() {
        let warning = clock_warning(&searched.clock_reads);
        let _ = writeln!(text, "warning: {warning}\n");
    }
    for note in &searched.notes {
        let _ = writeln!(text, "note: {note}\n");
    }
    text
}

/// Returns a finding as text: the error, the steps to the error, the state of every actor, and the
/// command that repeats the finding.
fn finding(found: &Found, shown: ShownSteps) -> String {
    let kind = found.finding.kind.name();
    let message = found.problem_text();
    // A deadlock tells where everybody is.
    let (mut text, tells_states) = match (&found.finding.kind, message.strip_prefix(kind)) {
        (FindingKind::Failure(failure), _) if failure.invariant.is_some() => {
            let text = format!(
                "{kind}: {message} after the last step, of {}\n",
                failure.name
            );
            (text, false)
        }
        (FindingKind::Failure(failure), _) => {
            (format!("{kind} of {}: {message}\n", failure.name), false)
        }
        (_, Some(rest)) => (format!("{kind}{rest}\n"), rest.starts_with('\n')),
        _ => (format!("{kind}: {message}\n"), false),
    };
    text.push('\n');
    text.push_str(&steps_table(&found.finding.steps, shown));
    if !tells_states && !found.states.blocked.is_empty() {
        let _ = write!(text, "\nstate of the other actors:\n{}", found.states);
    }
    if !found.clock_reads.is_empty() {
        let warning = clock_warning(&found.clock_reads);
        let _ = write!(text, "\nthis may be a false alarm: {warning}");
    }
    // What comes after a bound is not known.
    let critical = match (&found.finding.kind, found.critical) {
        (FindingKind::Spinning(_), _) | (_, None) => String::new(),
        (_, Some(step)) => critical(step) + "\n",
    };
    let _ = writeln!(
        text,
        "
{}{critical}replay with
  {}",
        schedule_kind(found.schedule_kind),
        found.command
    );
    text
}

/// Says whether shorter counterexamples exist, in words.
const fn schedule_kind(schedule_kind: ScheduleKind) -> &'static str {
    match schedule_kind {
        ScheduleKind::Given => "",
        ScheduleKind::ShortestFound => {
            "no shorter counterexample was found; a shorter one may exist\n"
        }
        ScheduleKind::Shortest => "this counterexample is minimal\n",
    }
}

/// From where on no run was correct, in words.
fn critical(critical: Critical) -> String {
    match critical {
        Critical::Step(step) => format!(
            "critical transition: step {}; a correct execution exists before it and none after it",
            step + 1
        ),
        Critical::Everything => "no execution of the program is correct".to_owned(),
        Critical::Unknown(step) => format!(
            "no correct execution exists after step {}; search before that step stopped at {CRITICAL_BUDGET} transitions or --explain-time",
            step + 1
        ),
    }
}

/// Number of equal steps in a row from which on a table shows them as one line.
const EQUAL_MIN: usize = 8;

/// Number of lines at the beginning and at the end of a shortened table. \[choice\]
const END_LINES: usize = 50;

/// The steps that a table shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ShownSteps {
    /// All steps: of a schedule that is replayed.
    All,
    /// The first and the last [`END_LINES`] lines.
    Ends,
}

/// The steps as a table.
fn steps_table(steps: &[FindingStep], shown: ShownSteps) -> String {
    let header = ["step", "actor", "", "operation", "object", "result", "line"].map(str::to_owned);
    let mut rows = vec![header];
    let lines = step_lines(steps);
    let is_long = shown == ShownSteps::Ends && lines.len() > 2 * END_LINES;
    let (first, last) = match is_long {
        true => (&lines[..END_LINES], &lines[lines.len() - END_LINES..]),
        false => (&lines[..], &[][..]),
    };
    for line in first.iter().chain(last) {
        rows.push(step_row(line, &steps[line.start]));
    }
    let omitted = match (first, last) {
        ([.., before], [after, ..]) => before.end..after.start,
        _ => 0..0,
    };
    let mut widths = [0; 7];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for (position, row) in rows.iter().enumerate() {
        if !omitted.is_empty() && position == 1 + END_LINES {
            let _ = writeln!(
                text,
                " ... {} of {} steps are not shown; --replay shows all",
                omitted.len(),
                steps.len()
            );
        }
        let mut line = format!(" {:>1$}", row[0], widths[0]);
        for (cell, &width) in row[1..].iter().zip(&widths[1..]) {
            if width > 0 {
                let _ = write!(line, "  {cell:width$}");
            }
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// The positions of the steps of each line of a table: the repeated steps of a loop are one line.
fn step_lines(steps: &[FindingStep]) -> Vec<Range<usize>> {
    let same = |one: &FindingStep, other: &FindingStep| {
        let of =
            |step: &FindingStep| (step.actor, step.kind, step.object, step.branch, step.answer);
        of(one) == of(other) && (&one.line, &one.call) == (&other.line, &other.call)
    };
    let mut lines = Vec::new();
    let mut position = 0;
    for equal in steps.chunk_by(same) {
        let at_once = match equal.len() {
            ..EQUAL_MIN => 1,
            length => length,
        };
        let starts = (position..position + equal.len()).step_by(at_once);
        lines.extend(starts.map(|start| start..start + at_once));
        position += equal.len();
    }
    lines
}

/// A row of the table.
fn step_row(line: &Range<usize>, step: &FindingStep) -> [String; 7] {
    let number = match line.len() {
        1 => line.end.to_string(),
        _ => format!("{}-{}", line.start + 1, line.end),
    };
    [
        number,
        step.actor.to_string(),
        step.name.clone(),
        step.kind.as_str().to_owned(),
        words::object(step),
        words::result_text(step),
        step.line.clone(),
    ]
}

/// Returns a replay as text: the steps and the end.
pub(super) fn of_replay(name: &str, followed: &ReplayResult, found: Option<&Found>) -> String {
    if let Some(found) = found {
        return finding(found, ShownSteps::All);
    }
    let steps = summary::count(followed.steps.len() as u64, "step");
    let end = match followed.end {
        Some(End::Finished) => format!("{name}: finished after {steps}"),
        _ => format!(
            "{name}: the schedule ends after {steps}; enabled next: {}",
            choices(&followed.possible)
        ),
    };
    format!("{}\n{end}", steps_table(&followed.steps, ShownSteps::All))
}

/// Why a replay is refused.
pub(super) fn impossible(schedule: &Schedule, position: usize, followed: &ReplayResult) -> String {
    let step = Schedule(vec![schedule.0[position]]);
    let possible = if followed.possible.is_empty() {
        "none: the program has ended".to_owned()
    } else {
        choices(&followed.possible)
    };
    format!(
        "--replay: step {} ({step}) is not enabled; enabled: {possible}",
        position + 1
    )
}

/// Returns the actors that could take a step, as steps of a schedule.
fn choices(possible: &[(ActorId, u32)]) -> String {
    let texts: Vec<String> = possible
        .iter()
        .map(|&(actor, branches)| match branches {
            0 | 1 => actor.to_string(),
            _ => format!("{actor}/0 to {actor}/{}", branches - 1),
        })
        .collect();
    texts.join(", ")
}

#[cfg(test)]
mod tests {
    use sim_core::StepKind;

    use super::*;

    /// Two actors that take turns.
    fn turns(count: u32) -> Vec<FindingStep> {
        let step = |number: u32| FindingStep {
            actor: ActorId::from_number(1 + number % 2),
            name: format!("rank {}", number % 2),
            line: "ring.c:7".to_owned(),
            call: String::new(),
            kind: StepKind::Yield,
            object: None,
            branch: 0,
            answer: 0,
            clock: Vec::new(),
            after: Vec::new(),
        };
        (0..count).map(step).collect()
    }

    #[test]
    fn a_long_table_of_a_search_shows_both_ends() {
        let table = steps_table(&turns(8_000), ShownSteps::Ends);
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines.len(), 1 + 2 * END_LINES + 1);
        assert_eq!(
            lines[1 + END_LINES],
            " ... 7900 of 8000 steps are not shown; --replay shows all"
        );
        let number = |line: &str| line.split_whitespace().next().map(str::to_owned);
        let numbers = [1, 50, 52, 101].map(|place: usize| number(lines[place]));
        let expected = ["1", "50", "7951", "8000"].map(|text| Some(text.to_owned()));
        assert_eq!(numbers, expected);
    }

    #[test]
    fn a_table_of_a_replay_or_of_few_steps_is_whole() {
        let (few, many) = (turns(100), turns(101));
        let whole = |steps: &[FindingStep], shown| {
            steps_table(steps, shown).lines().count() == 1 + steps.len()
        };
        assert!(whole(&few, ShownSteps::Ends) && whole(&many, ShownSteps::All));
        assert!(!steps_table(&many, ShownSteps::All).contains("..."));
    }

    #[test]
    fn repeated_steps_are_one_line() {
        let mut steps = turns(2);
        let last = steps[1].clone();
        steps.extend(std::iter::repeat_n(last, 6));
        assert_eq!(
            step_lines(&steps),
            (0..8).map(|at| at..at + 1).collect::<Vec<_>>()
        );
        steps.push(steps[1].clone());
        assert_eq!(step_lines(&steps), [0..1, 1..9]);
    }
}
