//! Processor time of a call as a function of the message size.
//!
//! A table has sections. The time for a message is `time + per_byte × size` of the section with the
//! greatest threshold strictly below the size, and 0 up to the first threshold. The size is the
//! length of the payload.
//!
//! * `os` is paid by a blocking eager send, before the message leaves;
//! * `ois` by each nonblocking send, before the message leaves;
//! * `or` by the receiver of an eager message, after the arrival, in the call that completes the
//!   receive.
//!
//! A nonblocking call returns at once, but all later operations of the rank, including readings of
//! the time, happen after the overhead. The overheads of one rank are paid one after the other;
//! arrivals are not delayed meanwhile.
//!
//! *Not modelled*: slower computations of other ranks on the host.
//!
//! Source: SimGrid's `smpi/os`, `smpi/ois` and `smpi/or` (`size:time:per_byte;…`) have the same
//! meaning.

use serde::Serialize;

/// Overheads of the calls of the message layer, by the names of SimGrid's tables.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct Overheads<S = u64, T = f64> {
    /// Of a blocking eager send, for the sender.
    #[serde(skip_serializing_if = "OverheadTable::is_empty")]
    pub os: OverheadTable<S, T>,
    /// Of a nonblocking send, for the sender.
    #[serde(skip_serializing_if = "OverheadTable::is_empty")]
    pub ois: OverheadTable<S, T>,
    /// Of an eager message, for the receiver.
    #[serde(skip_serializing_if = "OverheadTable::is_empty")]
    pub or: OverheadTable<S, T>,
}

/// Overhead by message size.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct OverheadTable<S = u64, T = f64>(Vec<OverheadSection<S, T>>);

/// Section of an [`OverheadTable`]: all sizes above the threshold, up to the next threshold.
#[derive(Clone, Copy, PartialEq, Serialize, Debug)]
pub struct OverheadSection<S = u64, T = f64> {
    /// Threshold, the largest size below the section; in bytes if a number.
    pub above: S,
    /// In seconds if a number.
    pub time: T,
    /// Per byte of the message; in seconds if a number.
    pub per_byte: T,
}

impl<S, T> Overheads<S, T> {
    /// No overheads.
    pub const NONE: Self = Self {
        os: OverheadTable::NONE,
        ois: OverheadTable::NONE,
        or: OverheadTable::NONE,
    };

    /// Returns the tables with their names.
    pub const fn tables(&self) -> [(&'static str, &OverheadTable<S, T>); 3] {
        [("os", &self.os), ("ois", &self.ois), ("or", &self.or)]
    }

    /// Returns the overheads with converted sizes and times.
    pub fn map<S2, T2>(
        &self,
        size: impl Fn(&S) -> S2,
        time: impl Fn(&T) -> T2,
    ) -> Overheads<S2, T2> {
        Overheads {
            os: self.os.map(&size, &time),
            ois: self.ois.map(&size, &time),
            or: self.or.map(&size, &time),
        }
    }
}

impl<S, T> Default for Overheads<S, T> {
    fn default() -> Self {
        Self::NONE
    }
}

impl<S, T> Default for OverheadTable<S, T> {
    fn default() -> Self {
        Self::NONE
    }
}

impl<S, T> OverheadTable<S, T> {
    /// No overhead.
    pub const NONE: Self = Self(Vec::new());

    /// Returns a table with these sections; the thresholds must increase.
    pub const fn new(sections: Vec<OverheadSection<S, T>>) -> Self {
        Self(sections)
    }

    /// Returns the sections by increasing threshold.
    pub fn sections(&self) -> &[OverheadSection<S, T>] {
        &self.0
    }

    /// Returns true if there are no sections.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the table with converted sizes and times.
    pub fn map<S2, T2>(
        &self,
        size: impl Fn(&S) -> S2,
        time: impl Fn(&T) -> T2,
    ) -> OverheadTable<S2, T2> {
        let section = |section: &OverheadSection<S, T>| OverheadSection {
            above: size(&section.above),
            time: time(&section.time),
            per_byte: time(&section.per_byte),
        };
        OverheadTable(self.0.iter().map(section).collect())
    }
}

impl OverheadTable {
    /// Returns the overhead of a message of `size` bytes in seconds.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "messages of 2^53 bytes and more may be off by one"
    )]
    pub fn message_overhead(&self, size: u64) -> f64 {
        let after = self.0.partition_point(|section| section.above < size);
        after.checked_sub(1).map_or(0.0, |at| {
            let OverheadSection { time, per_byte, .. } = self.0[at];
            time + per_byte * size as f64
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections() {
        let section = |above, time, per_byte| OverheadSection {
            above,
            time,
            per_byte,
        };
        let cost = OverheadTable::new(vec![section(10, 1.0, 0.0), section(100, 2.0, 0.5)]);
        let found = [0, 10, 11, 100, 101, 1000].map(|size| cost.message_overhead(size));
        assert_eq!(found, [0.0, 0.0, 1.0, 1.0, 52.5, 502.0]);
        assert_eq!(OverheadTable::NONE.message_overhead(1 << 40), 0.0);
    }
}
