//! Tables of an analysis, as CSV (RFC 4180).

use std::io::{self, Write};

use serde::Serialize;

use super::class::Class;
use super::result::AnalysisReport;

impl AnalysisReport {
    /// Writes the times of the ranks by class, in seconds: a row per rank.
    pub fn write_ranks(&self, out: impl Write) -> io::Result<()> {
        let mut table = csv::Writer::from_writer(out);
        let mut row = vec!["rank".to_owned(), "host".to_owned()];
        row.extend(Class::ALL.map(|class| format!("{}_s", class.name().replace([' ', ','], "_"))));
        table.write_record(&row)?;
        for rank in self.times.rank_numbers() {
            let mut row = vec![rank.to_string(), self.hosts.host_name(rank).to_owned()];
            row.extend(
                self.times
                    .rank_split(rank)
                    .0
                    .map(|seconds| seconds.to_string()),
            );
            table.write_record(&row)?;
        }
        table.flush()
    }

    /// Writes the sums of waits: a row per class, call and cause.
    pub fn write_waits(&self, out: impl Write) -> io::Result<()> {
        rows(out, &self.waits)
    }

    /// Writes the slack of calls, messages and ranks, if the log was read backwards.
    pub fn write_slack(&self, out: impl Write) -> io::Result<()> {
        let backward = self.backward.iter();
        rows(
            out,
            backward.flat_map(|it| it.slack.iter().chain(&it.rank_slack)),
        )
    }

    /// Writes the delay costs, the greatest first, if the log was read backwards.
    pub fn write_delays(&self, out: impl Write) -> io::Result<()> {
        rows(out, self.backward.iter().flat_map(|it| &it.delay_costs))
    }

    /// Writes the derivatives of the time of the run, if the log was read backwards.
    pub fn write_derivatives(&self, out: impl Write) -> io::Result<()> {
        rows(out, self.backward.iter().flat_map(|it| &it.derivatives))
    }

    /// Writes the heaviest places of the critical path.
    pub fn write_critical(&self, out: impl Write) -> io::Result<()> {
        rows(out, &self.critical_places)
    }
}

/// Writes the names of the fields and a row for each value.
pub(crate) fn rows<'a, T: Serialize + Default + 'a>(
    mut out: impl Write,
    values: impl IntoIterator<Item = &'a T>,
) -> io::Result<()> {
    // Any value has the names, which a table without rows has, too.
    let mut names = csv::Writer::from_writer(Vec::new());
    names.serialize(T::default())?;
    let names = names.into_inner().map_err(|error| error.into_error())?;
    let line = names.split_inclusive(|byte| *byte == b'\n').next();
    out.write_all(line.unwrap_or_default())?;
    let mut table = csv::WriterBuilder::new()
        .has_headers(false)
        .from_writer(out);
    for value in values {
        table.serialize(value)?;
    }
    table.flush()
}
