//! Tables of an analysis of the network, as CSV (RFC 4180).

use std::io::{self, Write};

use super::NetworkReport;
use crate::analysis::rows;

impl NetworkReport {
    /// Writes the load of each link that was used: a row per link and direction.
    pub fn write_links(&self, out: impl Write) -> io::Result<()> {
        let mut table = csv::Writer::from_writer(out);
        table.write_record([
            "link",
            "bandwidth_bytes_per_s",
            "bytes",
            "utilisation",
            "busy_s",
            "congested_s",
            "delay_s",
            "flows_mean",
            "flows_max",
        ])?;
        for link in &self.links {
            let numbers = [
                link.bandwidth,
                link.bytes,
                link.utilisation,
                link.busy_s,
                link.congested_s,
                link.delay_s,
                link.flows_mean,
                f64::from(link.flows_max),
            ];
            let mut row = vec![link.name.clone()];
            row.extend(numbers.map(|number| number.to_string()));
            table.write_record(&row)?;
        }
        table.flush()
    }

    /// Writes the communication matrix: a row per pair of ranks, or of blocks of neighbouring
    /// ranks, of which each row tells the first.
    pub fn write_pairs(&self, out: impl Write) -> io::Result<()> {
        let mut table = csv::Writer::from_writer(out);
        table.write_record([
            "source",
            "destination",
            "ranks_per_block",
            "messages",
            "bytes",
        ])?;
        let block = self.matrix.ranks_per_block;
        for entry in &self.matrix.entries {
            let (source, destination) = (entry.source * block, entry.destination * block);
            table.serialize((source, destination, block, entry.messages, entry.bytes))?;
        }
        table.flush()
    }

    /// Writes the lengths of messages: a row per call and power of two.
    pub fn write_sizes(&self, out: impl Write) -> io::Result<()> {
        let mut table = csv::Writer::from_writer(out);
        table.write_record(["call", "collective", "from_bytes", "messages", "bytes"])?;
        for call in &self.sizes {
            for class in &call.classes {
                table.serialize((
                    &call.call,
                    call.collective,
                    class.from_bytes,
                    class.messages,
                    class.bytes,
                ))?;
            }
        }
        table.flush()
    }

    /// Writes the unexpected messages: a row per rank that has any.
    pub fn write_unexpected(&self, out: impl Write) -> io::Result<()> {
        rows(out, &self.unexpected)
    }
}
