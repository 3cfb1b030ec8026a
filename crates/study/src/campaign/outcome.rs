//! Turns the end of a run into the result.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt as _;

use serde_json::Value as Json;
use signal_hook::consts::{SIGKILL, SIGTERM};

use super::worker::RunEnd;
use crate::{FINISHED, MeasuredValue, PlannedPoint, ResultLine, RunOutput, Study};

/// Returns true if a process was killed from outside of the run: by a user, a batch system or the
/// system for lack of memory. The run can be tried again.
///
/// A process that has just started does not ignore SIGTERM yet.
pub(super) fn was_killed(end: &RunEnd) -> bool {
    let signal = end.ended.and_then(|ended| ended.signal());
    matches!(signal, Some(SIGKILL | SIGTERM)) && !end.timed_out
}

/// Returns the result of a run. `analysis`: the analyses of the run, if requested.
pub(super) fn run_result(
    study: &Study,
    planned: &PlannedPoint,
    seed: u64,
    end: &RunEnd,
    analysis: Option<&Json>,
    wall_s: f64,
) -> ResultLine {
    let record = trailing_record(&end.stdout);
    let text = |key: &str| record.as_ref()?.get(key)?.as_str().map(str::to_owned);
    let outcome = text("outcome").unwrap_or_else(|| "failed".to_owned());
    let mut line = ResultLine {
        key: planned.content.key(seed),
        parameters: planned.parameters.clone(),
        seed,
        measures: BTreeMap::new(),
        batches: BTreeMap::new(),
        draws: record
            .as_ref()
            .and_then(|record| record.get("draws")?.as_u64()),
        // A run that real time has ended has another one each time.
        digest: text("digest").filter(|_| outcome != "limit" && outcome != "interrupted"),
        revision: planned.content.revision.clone(),
        wall_s,
        message: None,
        outcome,
    };
    let Some(record) = record.as_ref().filter(|_| line.outcome == FINISHED) else {
        line.message = Some(reason(record.as_ref(), end));
        return line;
    };
    let output = RunOutput {
        record,
        analysis,
        text: &end.stderr,
    };
    for measure in &study.measures {
        match measure.extract_value(output) {
            Ok(MeasuredValue { value, batches }) => {
                let column = measure.column();
                if measure.batches.is_some() {
                    line.batches.insert(column.clone(), batches);
                }
                line.measures.insert(column, value);
            }
            Err(error) => {
                line.message.get_or_insert_with(|| error.to_string());
            }
        }
    }
    line
}

/// Returns the record at the end of standard output, after the output of the program.
fn trailing_record(stdout: &str) -> Option<Json> {
    let begin = if stdout.starts_with("{\n") {
        Some(0)
    } else {
        stdout.rfind("\n{\n").map(|at| at + 1)
    };
    serde_json::from_str(&stdout[begin?..]).ok()
}

/// Returns why a run has not finished: from the record, else from standard error, else from the end
/// of the process.
fn reason(record: Option<&Json>, end: &RunEnd) -> String {
    if end.timed_out {
        return "it did not end at its limit of real time and was killed".to_owned();
    }
    let of_record = record.and_then(|record| {
        let failure = record.pointer("/failure/message").and_then(Json::as_str);
        let limit = record.get("limit").and_then(Json::as_str);
        let blocked = record.get("deadlock").and_then(Json::as_array);
        let blocked = blocked.map(|blocked| format!("blocked ranks or actors: {}", blocked.len()));
        failure.or(limit).map(str::to_owned).or(blocked)
    });
    let said = || {
        let line = end.stderr.lines().find(|line| line.starts_with("error: "));
        line.map(str::to_owned)
    };
    let ended = || match end.ended {
        Some(ended) => format!("the process ended with {ended}"),
        None => "it printed no record".to_owned(),
    };
    of_record.or_else(said).unwrap_or_else(ended)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_found_behind_other_output() {
        let outcome = |text: &str| trailing_record(text).map(|record| record["a"].clone());
        assert_eq!(outcome("{\n  \"a\": 1\n}\n"), Some(1.into()));
        assert_eq!(outcome("hello\n{\n{\n  \"a\": 2\n}\n"), Some(2.into()));
        assert_eq!(outcome("hello\n"), None);
        assert_eq!(outcome(""), None);
    }

    #[test]
    fn the_reason_is_that_of_the_record_or_what_was_said() {
        let mut end = RunEnd {
            stdout: String::new(),
            stderr: "rank 0 begins\nerror: no\nmore\n".to_owned(),
            ended: None,
            timed_out: false,
        };
        let limit = serde_json::json!({ "limit": "--max-events 3" });
        assert_eq!(reason(Some(&limit), &end), "--max-events 3");
        let failure = serde_json::json!({ "failure": { "message": "lost" } });
        assert_eq!(reason(Some(&failure), &end), "lost");
        let deadlock = serde_json::json!({ "deadlock": [{}, {}] });
        assert_eq!(reason(Some(&deadlock), &end), "blocked ranks or actors: 2");
        assert_eq!(reason(None, &end), "error: no");
        end.stderr.clear();
        end.ended = Some(std::process::ExitStatus::from_raw(6));
        assert!(reason(None, &end).contains("signal: 6"));
        assert!(!was_killed(&end));
        end.ended = Some(std::process::ExitStatus::from_raw(9));
        assert!(was_killed(&end));
        end.timed_out = true;
        assert!(!was_killed(&end));
    }
}
