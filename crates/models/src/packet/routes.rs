//! Routes as lists of ports in one table; a packet stores a position in this table.

use std::collections::BTreeMap;

use sim_core::HostId;

use super::arena::NONE;

/// The routes that were used, each ended by `NONE`.
#[derive(Clone, Default, Debug)]
pub(super) struct PathTable {
    ports: Vec<u32>,
    starts: BTreeMap<(HostId, HostId, u32), u32>,
    /// The route that was found last: packets come in runs.
    last: Option<((HostId, HostId, u32), u32)>,
}

impl PathTable {
    /// Returns the position of the first port of a known route.
    pub(super) fn find_route(&mut self, key: (HostId, HostId, u32)) -> Option<u32> {
        if let Some((last, start)) = self.last
            && last == key
        {
            return Some(start);
        }
        let start = self.starts.get(&key).copied()?;
        self.last = Some((key, start));
        Some(start)
    }

    /// Adds a route and returns the position of the first port.
    pub(super) fn add_route(&mut self, key: (HostId, HostId, u32), ports: &[u32]) -> u32 {
        let start = u32::try_from(self.ports.len()).expect("fewer than 2^32 hops of routes");
        self.ports.extend_from_slice(ports);
        self.ports.push(NONE);
        self.starts.insert(key, start);
        start
    }

    /// Returns the port at a position, `NONE` behind the last one.
    pub(super) fn port(&self, position: u32) -> u32 {
        self.ports[position as usize]
    }

    /// Returns the bytes of the table.
    pub(super) const fn memory_bytes(&self) -> usize {
        self.ports.capacity() * size_of::<u32>()
    }
}
