//! The packets that are inside the network, in an arena with a free list.

/// No packet, no port.
pub(super) const NONE: u32 = u32::MAX;

/// A packet inside the network.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    pub(super) tag: u64,
    /// Position of the next link in the table of routes.
    pub(super) route: u32,
    /// Port of arrival; the buffer of the packet is at the end of this link. `NONE` at the source.
    pub(super) stored_at: u32,
    /// The next packet in the same queue.
    pub(super) next: u32,
    pub(super) destination: u32,
    pub(super) wire_bytes: u16,
    pub(super) blocks: u16,
    /// The virtual lane of the buffer that holds the packet.
    pub(super) vl: u8,
    /// The virtual lane of the link for which the packet waits.
    pub(super) next_vl: u8,
    pub(super) service_level: u8,
    /// Datelines crossed in the lower half, marks in the upper one.
    pub(super) flags: u8,
}

impl Packet {
    /// A switch marked congestion.
    pub(super) const MARKED: u8 = 0x10;
    /// The check sequence is wrong.
    pub(super) const CORRUPTED: u8 = 0x20;

    /// The packet takes no credits of the buffer that holds it: a copy made by a faulty link.
    pub(super) const UNCREDITED: u8 = 0x40;

    /// Switches choose the outputs: `route` is the flow hash.
    pub(super) const ADAPTIVE: u8 = 0x80;

    /// Returns the number of datelines crossed.
    pub(super) const fn escalations(&self) -> u8 {
        self.flags & 0xf
    }

    pub(super) const fn has_flag(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

const _: () = assert!(size_of::<Packet>() == 32, "half a cache line");

/// All packets inside the network.
#[derive(Clone, Debug)]
pub(super) struct PacketArena {
    packets: Vec<Packet>,
    free: u32,
    live: u32,
}

impl PacketArena {
    pub(super) const fn new() -> Self {
        Self {
            packets: Vec::new(),
            free: NONE,
            live: 0,
        }
    }

    pub(super) fn insert(&mut self, packet: Packet) -> u32 {
        self.live += 1;
        if self.free == NONE {
            self.packets.push(packet);
            return u32::try_from(self.packets.len() - 1).expect("fewer than 2^32 packets");
        }
        let at = self.free;
        self.free = self[at].next;
        self[at] = packet;
        at
    }

    pub(super) fn remove(&mut self, at: u32) {
        self.live -= 1;
        self[at].next = self.free;
        self.free = at;
    }

    /// Number of packets inside.
    pub(super) const fn live(&self) -> u32 {
        self.live
    }

    /// Bytes that the arena occupies.
    pub(super) const fn memory_bytes(&self) -> usize {
        self.packets.capacity() * size_of::<Packet>()
    }
}

impl std::ops::Index<u32> for PacketArena {
    type Output = Packet;

    fn index(&self, at: u32) -> &Packet {
        &self.packets[at as usize]
    }
}

impl std::ops::IndexMut<u32> for PacketArena {
    fn index_mut(&mut self, at: u32) -> &mut Packet {
        &mut self.packets[at as usize]
    }
}
