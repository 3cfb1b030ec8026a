//! The last packet in flight of each pair of ranks, for which the next packet of the pair waits.
//!
//! Most ranks receive from one rank at a time: that pair has its own place, and other pairs are in
//! a map. If many ranks send to a rank, each packet costs a tree lookup, except for one pair.

use std::collections::BTreeMap;

/// By destination and source.
#[derive(Debug, Default)]
pub(crate) struct LastPackets {
    /// One pair of each destination.
    places: Vec<LastPacket>,
    others: BTreeMap<(u32, u32), u32>,
}

/// The last packet of the pair with this source.
#[derive(Clone, Copy, Debug)]
struct LastPacket {
    source: u32,
    packet: u32,
}

impl LastPacket {
    const EMPTY: Self = Self {
        source: u32::MAX,
        packet: u32::MAX,
    };
}

impl LastPackets {
    #[inline]
    pub(crate) fn get(&self, destination: u32, source: u32) -> Option<u32> {
        match self.places.get(destination as usize) {
            Some(place) if place.source == source => Some(place.packet),
            _ if self.others.is_empty() => None,
            _ => self.others.get(&(destination, source)).copied(),
        }
    }

    /// Notes a packet as the last one of a pair; returns the last one before.
    #[inline]
    pub(crate) fn replace(&mut self, destination: u32, source: u32, packet: u32) -> Option<u32> {
        let at = destination as usize;
        if self.places.len() <= at {
            self.places.resize(at + 1, LastPacket::EMPTY);
        }
        let place = &mut self.places[at];
        if place.source == source {
            return Some(std::mem::replace(&mut place.packet, packet));
        }
        if self.others.is_empty() && place.source == LastPacket::EMPTY.source {
            *place = LastPacket { source, packet };
            return None;
        }
        self.replace_other(destination, source, packet)
    }

    /// [`LastPackets::replace`] where several pairs have the destination.
    fn replace_other(&mut self, destination: u32, source: u32, packet: u32) -> Option<u32> {
        let place = &mut self.places[destination as usize];
        let pair = (destination, source);
        let is_free = place.source == LastPacket::EMPTY.source;
        if is_free && !self.others.contains_key(&pair) {
            *place = LastPacket { source, packet };
            return None;
        }
        self.others.insert(pair, packet)
    }

    #[inline]
    pub(crate) fn remove(&mut self, destination: u32, source: u32) {
        let place = &mut self.places[destination as usize];
        if place.source == source {
            *place = LastPacket::EMPTY;
        } else {
            self.others.remove(&(destination, source));
        }
    }

    /// Returns the last packets to a rank, by source.
    pub(crate) fn to(&self, destination: u32) -> Vec<u32> {
        let others = self
            .others
            .range((destination, 0)..=(destination, u32::MAX));
        let mut all: Vec<_> = others.map(|(pair, packet)| (pair.1, *packet)).collect();
        let place = self.places.get(destination as usize);
        let place = place.filter(|place| place.source != LastPacket::EMPTY.source);
        all.extend(place.map(|place| (place.source, place.packet)));
        all.sort_unstable();
        all.into_iter().map(|(_, packet)| packet).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pairs_are_kept_apart(
            changes in prop::collection::vec((0_u32..3, 0_u32..4, prop::option::of(0_u32..99)), 1..80),
        ) {
            let mut last = LastPackets::default();
            let mut model = BTreeMap::new();
            for (destination, source, packet) in changes {
                if let Some(packet) = packet {
                    let before = last.replace(destination, source, packet);
                    prop_assert_eq!(before, model.insert((destination, source), packet));
                } else if model.remove(&(destination, source)).is_some() {
                    last.remove(destination, source);
                }
                for pair in [(0, 0), (0, 1), (1, 3), (2, 2)] {
                    prop_assert_eq!(last.get(pair.0, pair.1), model.get(&pair).copied());
                }
                let to = model.iter().filter(|(pair, _)| pair.0 == destination);
                let to: Vec<u32> = to.map(|(_, packet)| *packet).collect();
                prop_assert_eq!(last.to(destination), to);
            }
        }
    }
}
