//! InfiniBand congestion control: marks of switches, and the delay table of senders.
//!
//! A switch marks packets (FECN) that leave a congested output; the destination answers with BECN,
//! and the source advances in its congestion control table, which has the delays between packets.
//! Names of parameters are from OpenSM.

/// Marking of congested outputs by switches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FecnSettings {
    /// Weight of the threshold, 0 (never) to 15 (most aggressive).
    ///
    /// Weight w is a queue of (16 - w)/16 of an input buffer. Our choice.
    pub threshold: u8,
    /// Bytes on the wire below which no packet is marked.
    pub packet_size: u32,
    /// Number of unmarked packets between two marks.
    pub marking_rate: u32,
    /// True if an output marks also while the output itself waits for credits: it is a victim, not
    /// a root of congestion.
    pub victim_mask: bool,
}

impl FecnSettings {
    /// Returns the bytes of the queue from which on an output is congested, for input buffers of
    /// `buffer_bytes`.
    pub fn threshold_bytes(&self, buffer_bytes: u64) -> u64 {
        match self.threshold {
            0 => u64::MAX,
            weight => buffer_bytes * (16 - u64::from(weight.min(15))) / 16,
        }
    }
}

/// Unit of the timer of the congestion control table, in picoseconds.
pub const CCTI_TIMER_UNIT_PS: u64 = 1_024_000;

/// Parameters of a source, per queue pair or per service level.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CongestionParameters {
    /// Entries: 2 bits shift, then 14 bits multiplier.
    pub table: Vec<u16>,
    /// Steps of the index per BECN.
    pub ccti_increase: u16,
    /// Period after which the index decreases by 1, in units of 1.024 µs; 0 is never.
    pub ccti_timer: u16,
    /// Lowest index.
    pub ccti_min: u16,
}

impl CongestionParameters {
    /// Returns a table of `entries` with the delays index × wire time: rate 1/(1 + index).
    pub fn linear(entries: u16, ccti_increase: u16, ccti_timer: u16) -> Self {
        Self {
            table: (0..entries).collect(),
            ccti_increase,
            ccti_timer,
            ccti_min: 0,
        }
    }
}

/// The state of a source: the index in the congestion control table.
#[derive(Clone, Debug)]
pub struct CongestionSource {
    parameters: CongestionParameters,
    index: u16,
    decrease_at: Option<u64>,
}

impl CongestionSource {
    /// Returns a source at the lowest index.
    pub const fn new(parameters: CongestionParameters) -> Self {
        Self {
            index: parameters.ccti_min,
            parameters,
            decrease_at: None,
        }
    }

    /// Returns the index (CCTI).
    pub const fn index(&self) -> u16 {
        self.index
    }

    /// Returns the delay after a packet with wire time `wire_time`, both in picoseconds.
    pub fn delay(&self, wire_time: u64) -> u64 {
        let entry = self.parameters.table.get(usize::from(self.index));
        let entry = entry.copied().unwrap_or_default();
        (wire_time * u64::from(entry & 0x3fff)) >> (entry >> 14)
    }

    /// Handles a BECN.
    pub fn on_becn(&mut self, now: u64) {
        let limit = self.parameters.table.len().saturating_sub(1);
        let limit = u16::try_from(limit).unwrap_or(u16::MAX);
        let raised = self.index.saturating_add(self.parameters.ccti_increase);
        self.index = raised.min(limit);
        if self.decrease_at.is_none() && self.index > self.parameters.ccti_min {
            self.decrease_at = self.period().map(|period| now + period);
        }
    }

    /// Returns the time at which the index decreases.
    pub const fn next_event_at(&self) -> Option<u64> {
        self.decrease_at
    }

    /// Handles all decreases up to `now`.
    pub fn handle_events(&mut self, now: u64) {
        while let Some(time) = self.decrease_at.filter(|time| *time <= now) {
            self.index = (self.index - 1).max(self.parameters.ccti_min);
            let goes_on = self.index > self.parameters.ccti_min;
            self.decrease_at = self
                .period()
                .filter(|_| goes_on)
                .map(|period| time + period);
        }
    }

    fn period(&self) -> Option<u64> {
        let units = u64::from(self.parameters.ccti_timer);
        (units > 0).then_some(units * CCTI_TIMER_UNIT_PS)
    }
}
