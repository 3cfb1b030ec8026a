//! Packets that wait for connections.

use channel::Packet;

/// Packets that wait for a connection, by number.
#[derive(Debug, Default)]
pub(super) struct WaitingPackets {
    places: Vec<Option<Packet>>,
    free: Vec<usize>,
}

impl WaitingPackets {
    /// Keeps a packet. Returns the number of the packet.
    pub(super) fn insert(&mut self, packet: Packet) -> u64 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() - 1
        });
        self.places[place] = Some(packet);
        place as u64
    }

    /// Returns the packet of this number, which waits no more.
    pub(super) fn take_packet(&mut self, number: u64) -> Option<Packet> {
        let place = usize::try_from(number).ok()?;
        let packet = self.places.get_mut(place)?.take();
        if packet.is_some() {
            self.free.push(place);
        }
        packet
    }
}
