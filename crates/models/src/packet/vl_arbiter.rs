//! Arbitration among the virtual lanes of an output: two tables with weights, and a limit.
//!
//! Lanes of the high table go first until they have sent the limit; then one packet of the low
//! table goes. Within a table, an entry sends until its weight is used up or it has no packet to
//! send. Packets are not cut, so an entry may exceed its weight by part of a packet.

/// An entry of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VlArbitrationEntry {
    /// The virtual lane.
    pub vl: u8,
    /// Blocks per turn; 0 skips the entry.
    pub weight: u8,
}

/// The tables of an output port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VlArbitrationTables {
    /// Entries of high priority; a lane may occur several times and in both tables.
    pub high: Vec<VlArbitrationEntry>,
    /// Entries of low priority.
    pub low: Vec<VlArbitrationEntry>,
    /// Units of 4096 bytes that the high table sends before a packet of the low table has a chance.
    ///
    /// 0 is one packet, 255 is no limit.
    pub high_limit: u8,
}

impl VlArbitrationTables {
    /// Returns the tables that OpenSM sets by default (`QoS_management_in_OpenSM.txt`).
    pub fn opensm() -> Self {
        let entries = |weight: fn(u8) -> u8| {
            let entry = |vl| VlArbitrationEntry {
                vl,
                weight: weight(vl),
            };
            (0..15).map(entry).collect()
        };
        Self {
            high: entries(|vl| if vl == 0 { 4 } else { 0 }),
            low: entries(|vl| if vl == 0 { 0 } else { 4 }),
            high_limit: 0,
        }
    }

    /// Returns the bytes that the high table sends before the low table has a chance.
    fn budget(&self) -> u64 {
        match self.high_limit {
            255 => u64::MAX,
            // One packet, whatever its length.
            0 => 1,
            limit => 4096 * u64::from(limit),
        }
    }
}

/// Position in a table.
#[derive(Clone, Copy, Default, Debug)]
struct Turn {
    entry: usize,
    /// Blocks that the entry has sent in this turn.
    used: u32,
}

impl Turn {
    /// Moves to the next entry that can send, and returns the lane of this entry.
    fn advance_lane(
        &mut self,
        table: &[VlArbitrationEntry],
        can_send: &mut dyn FnMut(u8) -> bool,
    ) -> Option<u8> {
        // Once around, and the entry of the beginning again with a new turn.
        for _ in 0..=table.len() {
            let entry = table.get(self.entry)?;
            if self.used < u32::from(entry.weight) && can_send(entry.vl) {
                return Some(entry.vl);
            }
            *self = Self {
                entry: (self.entry + 1) % table.len(),
                used: 0,
            };
        }
        None
    }
}

/// The state of an arbiter.
#[derive(Clone, Debug)]
pub(super) struct VlArbiter {
    high: Turn,
    low: Turn,
    /// Bytes that the high table may send before the low table has a chance.
    budget: u64,
}

/// The lane that may send, and the table that says so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Grant {
    pub(super) vl: u8,
    is_high: bool,
}

impl VlArbiter {
    pub(super) fn new(tables: &VlArbitrationTables) -> Self {
        Self {
            high: Turn::default(),
            low: Turn::default(),
            budget: tables.budget(),
        }
    }

    /// Returns the lane that sends next, among lanes that can send.
    pub(super) fn grant(
        &mut self,
        tables: &VlArbitrationTables,
        can_send: &mut dyn FnMut(u8) -> bool,
    ) -> Option<Grant> {
        let order = if self.budget > 0 {
            [true, false]
        } else {
            [false, true]
        };
        order.into_iter().find_map(|is_high| {
            let (turn, table) = if is_high {
                (&mut self.high, &tables.high)
            } else {
                (&mut self.low, &tables.low)
            };
            let vl = turn.advance_lane(table, can_send)?;
            Some(Grant { vl, is_high })
        })
    }

    /// Notes that the granted lane has sent a packet.
    pub(super) fn note_sent(
        &mut self,
        tables: &VlArbitrationTables,
        grant: Grant,
        (bytes, blocks): (u32, u32),
    ) {
        if !grant.is_high {
            self.low.used += blocks;
            self.budget = tables.budget();
            return;
        }
        self.high.used += blocks;
        if self.budget == 0 {
            // The low table had its chance and nothing to send.
            self.budget = tables.budget();
        }
        if tables.high_limit != 255 {
            self.budget = self.budget.saturating_sub(u64::from(bytes));
        }
    }
}
