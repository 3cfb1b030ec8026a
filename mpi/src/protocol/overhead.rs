//! What a call costs the rank that makes it: a time by the size of the message.
//!
//! A table has sections; the cost of a message is `time + per_byte × size` of the section with the
//! greatest threshold strictly below its size, and nothing below the first. The size is that of the
//! payload.
//!
//! * `os` is paid by a blocking send that is eager, before the message leaves;
//! * `ois` by each send that does not block, before the message leaves;
//! * `or` by the receiver of an eager message, after it has arrived, in the call that completes the
//!   receive.
//!
//! A call that does not block returns at once, but everything that the rank does later happens
//! after the cost: also the time that it reads. Costs of one rank are paid one after the other;
//! what arrives meanwhile is not held up.
//!
//! *Not modelled*: that costs slow computations of other ranks on the host.
//!
//! Source: SimGrid's `smpi/os`, `smpi/ois` and `smpi/or` have the same meaning.

/// A cost by size.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct OverheadTable(Vec<Section>);

/// A section of an [`OverheadTable`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Section {
    /// The largest size in bytes that is not in the section.
    pub above: u64,
    /// In seconds.
    pub time: f64,
    /// In seconds per byte of the message.
    pub per_byte: f64,
}

impl OverheadTable {
    /// No cost.
    pub const NONE: Self = Self(Vec::new());

    /// A cost with these sections, whose thresholds must grow.
    #[must_use]
    pub const fn new(sections: Vec<Section>) -> Self {
        Self(sections)
    }

    /// The cost of a message of `size` bytes in seconds.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "messages of 2^53 bytes and more may be off by one"
    )]
    pub fn of(&self, size: u64) -> f64 {
        let after = self.0.partition_point(|section| section.above < size);
        after.checked_sub(1).map_or(0.0, |at| {
            let Section { time, per_byte, .. } = self.0[at];
            time + per_byte * size as f64
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections() {
        let section = |above, time, per_byte| Section {
            above,
            time,
            per_byte,
        };
        let cost = OverheadTable::new(vec![section(10, 1.0, 0.0), section(100, 2.0, 0.5)]);
        let found = [0, 10, 11, 100, 101, 1000].map(|size| cost.of(size));
        assert_eq!(found, [0.0, 0.0, 1.0, 1.0, 52.5, 502.0]);
        assert_eq!(OverheadTable::NONE.of(1 << 40), 0.0);
    }
}
