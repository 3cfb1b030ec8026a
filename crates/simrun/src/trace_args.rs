//! Options of timelines, of `simrun trace convert` and of runs that write one.
//!
//! Values are texts here: the tools read them, which make timelines, and a run hands them on.

use std::ffi::OsString;

use clap::Args;

/// Options of a timeline.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Timeline")]
pub struct TraceArgs {
    /// Largest size of the file, before it is compressed; the rest of the run is left out
    /// [default: 500MB]
    #[arg(long, value_name = "SIZE")]
    pub trace_limit: Option<String>,

    /// Only these ranks, for example 0-63,4096
    #[arg(long, value_name = "RANKS")]
    pub trace_ranks: Option<String>,

    /// Only ranks on hosts whose names match, for example 'rack-3-*'
    #[arg(long, value_name = "PATTERN")]
    pub trace_hosts: Option<String>,

    /// Counters of the links whose names match, instead of the first 64 that are used
    #[arg(long, value_name = "PATTERN")]
    pub trace_links: Option<String>,

    /// Only from this simulated time, for example 10ms
    #[arg(long, value_name = "TIME")]
    pub trace_from: Option<String>,

    /// Only until this simulated time
    #[arg(long, value_name = "TIME")]
    pub trace_until: Option<String>,

    /// Only these contents: a list of calls, flows (arrows), counters, flight (messages in flight)
    #[arg(long, value_name = "LIST")]
    pub trace_only: Option<String>,

    /// Neighbouring calls that are shorter become one slice, for example 1us=merge
    #[arg(long, value_name = "TIME=merge")]
    pub trace_shorter_than: Option<String>,

    /// Sums of hosts over time instead of ranks
    /// [default: true above 4096 ranks, if none are selected]
    #[arg(
        long,
        value_name = "true|false",
        hide_possible_values = true,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    pub trace_aggregate: Option<bool>,

    /// The unit of times in the file: ns, or ps for runs that are shorter than a microsecond
    #[arg(long, value_name = "UNIT")]
    pub trace_unit: Option<String>,

    /// Whole times in each packet: larger files, for readers without incremental clocks
    #[arg(long)]
    pub trace_absolute: bool,
}

impl TraceArgs {
    /// Returns the options as arguments of another command.
    #[must_use]
    pub fn arguments(&self) -> Vec<OsString> {
        let aggregate = self.trace_aggregate.map(|value| value.to_string());
        let options = [
            ("limit", &self.trace_limit),
            ("ranks", &self.trace_ranks),
            ("hosts", &self.trace_hosts),
            ("links", &self.trace_links),
            ("from", &self.trace_from),
            ("until", &self.trace_until),
            ("only", &self.trace_only),
            ("shorter-than", &self.trace_shorter_than),
            ("aggregate", &aggregate),
            ("unit", &self.trace_unit),
        ];
        let named = options.into_iter().filter_map(|(name, value)| {
            let value = value.as_ref()?;
            Some(OsString::from(format!("--trace-{name}={value}")))
        });
        let absolute = self.trace_absolute.then(|| "--trace-absolute".into());
        named.chain(absolute).collect()
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        trace: TraceArgs,
    }

    #[test]
    fn options_are_handed_on_as_they_were_given() {
        let given = [
            "--trace-limit=1MB",
            "--trace-ranks=0-3",
            "--trace-hosts=a*",
            "--trace-links=up-*",
            "--trace-from=1s",
            "--trace-until=2s",
            "--trace-only=calls",
            "--trace-shorter-than=1us=merge",
            "--trace-aggregate=true",
            "--trace-unit=ps",
            "--trace-absolute",
        ];
        let line = Line::parse_from(std::iter::once("x").chain(given));
        assert_eq!(line.trace.arguments(), given);
        assert!(Line::parse_from(["x"]).trace.arguments().is_empty());
    }
}
