//! Tables of an analysis, as CSV (RFC 4180).

use std::io::{self, Write};

use super::class::Class;
use super::result::AnalysisReport;

impl AnalysisReport {
    /// Writes the times of the ranks by class, in seconds: a row per rank.
    ///
    /// # Errors
    /// Errors of writing.
    pub fn write_ranks(&self, out: impl Write) -> io::Result<()> {
        let mut table = csv::Writer::from_writer(out);
        let mut row = vec!["rank".to_owned(), "host".to_owned()];
        row.extend(Class::ALL.map(|class| format!("{}_s", class.name().replace([' ', ','], "_"))));
        table.write_record(&row)?;
        for rank in &self.splits {
            let mut row = vec![rank.rank.to_string(), rank.host.clone()];
            row.extend(rank.split.0.map(|seconds| seconds.to_string()));
            table.write_record(&row)?;
        }
        table.flush()
    }

    /// Writes the sums of waits: a row per class, call and cause.
    ///
    /// # Errors
    /// Errors of writing.
    pub fn write_waits(&self, out: impl Write) -> io::Result<()> {
        let mut table = csv::Writer::from_writer(out);
        for wait in &self.waits {
            table.serialize(wait)?;
        }
        table.flush()
    }

    /// Writes the heaviest places of the critical path.
    ///
    /// # Errors
    /// Errors of writing.
    pub fn write_critical(&self, out: impl Write) -> io::Result<()> {
        let mut table = csv::Writer::from_writer(out);
        for place in &self.critical_places {
            table.serialize(place)?;
        }
        table.flush()
    }
}
