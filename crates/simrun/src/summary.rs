//! Results of a run as text.

use std::fmt::Write as _;

use platform::{NetworkModel, Platform};
use real::RealRecord;
use run::{ConnectionTotals, MessageProtocol, Options, Run, RunRecord, Stall};
use sim_core::{Limit, Outcome, Time};

use crate::Size;
use crate::args::RunArgs;

/// The lines about a run for people, without a final line break.
pub(crate) fn summary_text(run: &Run, record: &RunRecord) -> String {
    let report = &run.report;
    let mut text = format!(
        "{} {} at {} simulated, {} real\n",
        record.program,
        outcome_word(&report.outcome),
        seconds(record.simulated_s),
        rounded(record.wall_s),
    );
    let _ = writeln!(
        text,
        "  {}, {}, {}; {} ({} per second)",
        count(u64::from(record.ranks), "rank"),
        count(record.messages, "message"),
        bytes(record.bytes),
        count(record.events, "event"),
        format_short(record.events_per_s),
    );
    let digest = record.digest.as_ref();
    let digest = digest.map_or_else(String::new, |digest| format!("digest {digest}, "));
    let _ = write!(
        text,
        "  {digest}seed {}, revision {}",
        record.seed, record.revision
    );
    if record.network_model != NetworkModel::DEFAULT.name() {
        let _ = write!(text, "\n  network model {}", record.network_model);
    }
    let _ = match record.compute {
        None => Ok(()),
        Some("none") => write!(text, "\n  no time passes between calls (--compute none)"),
        Some("host") => write!(
            text,
            "\n  times between calls measured on this machine: not repeatable"
        ),
        Some(source) => write!(text, "\n  time between calls: {source}"),
    };
    if let Some(connections) = &record.connections {
        let _ = write!(text, "\n  {}", connection_counts(connections));
    }
    for wait in record.stalls.iter().take(WAITS_MAX) {
        let _ = write!(text, "\n  {}", waited(wait, record.simulated_s));
    }
    let rest = record.stalls.len().saturating_sub(WAITS_MAX);
    if rest > 0 {
        let _ = write!(text, "\n  and {rest} more");
    }
    text
}

/// Returns lines about a real run for people; `how` says how the ranks waited.
pub(crate) fn real(record: &RealRecord, how: &str) -> String {
    let ended = match record.outcome {
        "limit" => "was stopped by a limit",
        "interrupted" => "was interrupted",
        "startup_timeout" => "did not start",
        other => other,
    };
    let mut text = format!(
        "{} {ended} at {} measured, {} real\n",
        record.program,
        rounded(record.measured_s),
        rounded(record.wall_s),
    );
    let ranks = count(u64::from(record.ranks), "rank");
    let _ = write!(
        text,
        "  {ranks}, {}; {}, {how}; revision {}",
        counted(record),
        record.backend,
        record.revision,
    );
    if let Some(connections) = &record.connections {
        let _ = write!(text, "\n  {}", connection_counts(connections));
    }
    text
}

/// Returns the counts of messages, and the ranks that have reported them if others have not.
fn counted(record: &RealRecord) -> String {
    let (Some(messages), Some(size)) = (record.messages, record.bytes) else {
        return "messages unknown: no rank has reported its counts".to_owned();
    };
    let known = format!("{}, {}", count(messages, "message"), bytes(size));
    match record.ranks_counted {
        all if all == record.ranks => known,
        some => {
            let ranks = count(u64::from(some), "rank");
            format!("{known} of the {ranks} that reported counts")
        }
    }
}

/// Returns the counts of connections; counts of 0 are left out, except the first two.
fn connection_counts(totals: &ConnectionTotals) -> String {
    let mut text = format!(
        "connection endpoints: {} opened, {} closed",
        totals.opened, totals.closed
    );
    for (number, what) in [
        (totals.reopened, "reopened"),
        (totals.refused, "refused"),
        (totals.simultaneous_open_lost, "lost to a simultaneous open"),
        (totals.evicted, "evicted (descriptor limit)"),
        (totals.idle_closed, "closed after the idle timeout"),
        (totals.broken, "broken"),
    ] {
        if number > 0 {
            let _ = write!(text, ", {number} {what}");
        }
    }
    text
}

/// Maximum number of stalls that are listed.
const WAITS_MAX: usize = 3;

/// Returns the waiting times of ranks, with the share of the whole time.
fn waited(wait: &Stall, simulated_s: f64) -> String {
    let Stall {
        rank,
        peer,
        resource,
        seconds,
    } = wait;
    let share = 100.0 * seconds / simulated_s;
    match *resource {
        "connection" => {
            format!("rank {rank} waited {share:.0} % for the connection to rank {peer}")
        }
        "credits" => format!("rank {rank} waited {share:.0} % for credits from rank {peer}"),
        what => {
            format!("rank {rank} waited {share:.0} % for packet {what}, to send to rank {peer}")
        }
    }
}

const fn outcome_word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Finished => "finished",
        Outcome::Deadlock(_) => "deadlocked",
        Outcome::Failed(_) | Outcome::ForeignFuture(_) => "failed",
        Outcome::Limit(_) => "was stopped by a limit",
        Outcome::Interrupted | Outcome::Stopped => "was interrupted",
        Outcome::BadInput(_) => "was rejected (invalid input)",
    }
}

/// Returns the problem of a run, for standard error; `None` if there is no problem.
pub(crate) fn problem(run: &Run) -> Option<String> {
    let report = &run.report;
    Some(match &report.outcome {
        Outcome::Finished => return None,
        Outcome::Deadlock(graph) => {
            let blocked = count(graph.blocked.len() as u64, "rank or actor");
            let graph = graph.to_string();
            let mut text = format!("error: deadlock: {blocked} blocked\n{}", graph.trim_end());
            for line in &run.network_deadlock {
                text.push_str("\n  ");
                text.push_str(line);
            }
            text
        }
        Outcome::Failed(failure) | Outcome::ForeignFuture(failure) => format!("error: {failure}"),
        Outcome::Limit(Limit::Time(time)) => {
            let time = seconds(time.as_secs());
            format!("stopped at the limit --until {time}")
        }
        Outcome::Limit(Limit::Events(events)) => {
            let events = count(*events, "event");
            format!("stopped at the limit --max-events after {events}")
        }
        Outcome::Limit(Limit::Overflow(date)) => format!(
            "stopped by a time overflow at {:e} s: the next event lies there, and simulated time ends at {:e} s; \
             expected shorter latencies, faster links and hosts, or less work",
            date.as_secs(),
            Time::HORIZON.as_secs()
        ),
        Outcome::Limit(Limit::RealTime(allowed)) => format!(
            "stopped at the limit --max-time after {} at {} simulated",
            rounded(*allowed),
            seconds(report.time.as_secs())
        ),
        Outcome::Limit(Limit::Busy(allowed)) => format!(
            "stopped at the limit --max-busy after {} at {} simulated",
            rounded(*allowed),
            seconds(report.time.as_secs())
        ),
        Outcome::Limit(Limit::Standstill(polls)) => format!(
            "stopped by --until at {}: simulated time does not advance, {} at this timestamp",
            seconds(report.time.as_secs()),
            count(*polls, "step")
        ),
        Outcome::Limit(Limit::Unreceived {
            actor,
            bytes,
            location,
        }) => format!(
            "stopped at {}: rank {} has sent more than {} that no receive has met, at {location}; with \
             --set protocol.unexpected_memory=SIZE senders wait, and there is no other limit",
            seconds(report.time.as_secs()),
            actor.number() - 1,
            Size(*bytes)
        ),
        Outcome::Limit(Limit::Memory(more)) => {
            format!("out of memory: cannot allocate {} more", Size(*more))
        }
        Outcome::Interrupted | Outcome::Stopped => format!(
            "interrupted at {} simulated, after {}: the results are those computed so far",
            seconds(report.time.as_secs()),
            count(report.events, "event")
        ),
        Outcome::BadInput(message) => format!("error: {message}"),
    })
}

/// The parameters of a run, for `--verbose`.
pub(crate) fn parameters(platform: &Platform, options: &Options, args: &RunArgs) -> String {
    let ranks = options
        .ranks
        .unwrap_or_else(|| options.mapping.default_ranks(platform.host_count()));
    let sends = match options.protocol {
        None => "platform default".to_owned(),
        Some(MessageProtocol::Eager) => "all eager".to_owned(),
        Some(MessageProtocol::Rendezvous) => "all by rendezvous".to_owned(),
        Some(MessageProtocol::Threshold(bytes)) => {
            format!("eager below {}, then rendezvous", Size(bytes))
        }
    };
    let payload = if options.phantom {
        "only a length"
    } else {
        "bytes"
    };
    format!(
        "{}\nranks     {ranks}, map {}\nsends     {sends}; messages carry {payload}\nseed      {}",
        platform.summary(),
        args.program.simulation.map.display(),
        options.seed
    )
}

pub(crate) fn count(number: u64, what: &str) -> String {
    match (number, what) {
        (1, _) => format!("1 {what}"),
        (_, "rank or actor") => format!("{number} ranks or actors"),
        _ => format!("{number} {what}s"),
    }
}

/// Seconds with the unit that people would choose, to 6 digits.
pub(crate) fn seconds(value: f64) -> String {
    let (scaled, unit) = match value {
        value if value == 0.0 || value >= 1.0 => (value, "s"),
        value if value >= 1e-3 => (value * 1e3, "ms"),
        value if value >= 1e-6 => (value * 1e6, "us"),
        value => (value * 1e9, "ns"),
    };
    let digits = if scaled >= 100.0 { 3 } else { 6 };
    let text = format!("{scaled:.digits$}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text} {unit}")
}

/// Seconds of real time, to 3 digits: more would only be noise.
pub(crate) fn rounded(value: f64) -> String {
    match value {
        value if value >= 1.0 => format!("{value:.2} s"),
        value if value >= 1e-3 => format!("{:.1} ms", value * 1e3),
        value => format!("{:.0} us", value * 1e6),
    }
}

/// Bytes with the unit that people would choose, to 2 digits.
pub(crate) fn bytes(value: f64) -> String {
    let units = [
        ("GiB", 1_073_741_824.0),
        ("MiB", 1_048_576.0),
        ("KiB", 1024.0),
    ];
    for (unit, size) in units {
        if value >= size {
            let text = format!("{:.2}", value / size);
            return format!(
                "{} {unit}",
                text.trim_end_matches('0').trim_end_matches('.')
            );
        }
    }
    format!("{value} B")
}

pub(crate) fn format_short(value: f64) -> String {
    match value {
        value if value >= 1e6 => format!("{:.1} M", value / 1e6),
        value if value >= 1e3 => format!("{:.1} k", value / 1e3),
        value => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_read_well() {
        let wait = |what| Stall {
            rank: 3,
            peer: 0,
            resource: what,
            seconds: 0.41,
        };
        assert_eq!(
            waited(&wait("credits"), 1.0),
            "rank 3 waited 41 % for credits from rank 0"
        );
        let text = "rank 3 waited 41 % for packet buffers, to send to rank 0";
        assert_eq!(waited(&wait("buffers"), 1.0), text);
    }

    #[test]
    fn connections_read_well() {
        let wait = Stall {
            rank: 3,
            peer: 0,
            resource: "connection",
            seconds: 0.12,
        };
        let text = "rank 3 waited 12 % for the connection to rank 0";
        assert_eq!(waited(&wait, 1.0), text);
        let totals = ConnectionTotals {
            opened: 8,
            closed: 8,
            reopened: 2,
            simultaneous_open_lost: 1,
            ..ConnectionTotals::default()
        };
        let text =
            "connection endpoints: 8 opened, 8 closed, 2 reopened, 1 lost to a simultaneous open";
        assert_eq!(connection_counts(&totals), text);
    }

    #[test]
    fn quantities_read_well() {
        assert_eq!(seconds(0.0), "0 s");
        assert_eq!(seconds(1.25e-6), "1.25 us");
        assert_eq!(seconds(0.5), "500 ms");
        assert_eq!(bytes(65536.0), "64 KiB");
        assert_eq!(bytes(100.0), "100 B");
        assert_eq!(format_short(12_345.0), "12.3 k");
    }
}
