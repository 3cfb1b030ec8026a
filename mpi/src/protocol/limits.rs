//! Limits of the message layer: packet buffers, credits, and memory for messages that nobody
//! expects.
//!
//! Without limits ([`Settings::limits`](crate::Settings::limits) is `None`) a message leaves at
//! once and whole: that costs nothing, and is what the machines of
//! [`machine`](crate::protocol::machine) do when nothing ever holds them up. With limits every
//! packet goes through them.
//!
//! What packing and posting cost is in [`Settings`](crate::Settings).

/// The limits, the same at every rank. `None` is unlimited.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limits {
    /// The largest payload of a packet in bytes, at least 1.
    pub packet: u64,
    /// Packet buffers of a rank for what it sends, at least 1.
    pub buffers: Option<u32>,
    /// Packets that may be under way to a peer, or lie there unprocessed, at least 1.
    pub credits: Option<u32>,
    /// Per connection: packet buffers besides `buffers`, and credits out of `credits`, that only
    /// control traffic may use.
    pub reserved: u32,
    /// Eager messages that a peer has not received: more are converted to rendezvous.
    pub eager_messages: Option<u32>,
    /// The same, in bytes.
    pub eager_bytes: Option<u64>,
    /// Memory of a rank for messages that arrive before their receive, in bytes. A message for
    /// which there is no room stays in its packets and keeps their credits.
    pub unexpected: Option<u64>,
    /// Packets of one message for which buffers and credits are taken at once, at least 1.
    pub batch: u32,
    /// True if the data of a rendezvous are sent from the program's memory; otherwise they are
    /// packed into packet buffers.
    pub direct: bool,
}

/// Credits if memory for unexpected messages is limited and credits are not: the cells of MPICH's
/// `ch4` shared memory device (`MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_NUM_CELLS`). Without credits nothing
/// would hold a sender back.
const CREDITS: u32 = 64;

impl Limits {
    /// No limit at all, but everything goes through the machines. Two buffers and credits of each
    /// connection are kept for control traffic: one may be held by an announcement that waits for a
    /// credit, the other is for the update that brings it.
    pub const NONE: Self = Self {
        packet: u64::MAX,
        buffers: None,
        credits: None,
        reserved: 2,
        eager_messages: None,
        eager_bytes: None,
        unexpected: None,
        batch: 1,
        direct: true,
    };

    /// The credits of each connection.
    pub(crate) fn window(&self) -> Option<u32> {
        let bounded = self.unexpected.map(|_| CREDITS);
        self.credits.map(|credits| credits.max(1)).or(bounded)
    }

    /// How many of the credits eager messages may use; `None` if there is no limit.
    pub(crate) fn eager_window(&self) -> Option<u32> {
        self.window()
            .map(|window| window.saturating_sub(self.reserved))
    }

    /// The credits that always come back, because what uses them is processed on arrival; at least
    /// 1.
    fn circulating(&self) -> u32 {
        let window = self.window().unwrap_or(u32::MAX);
        self.reserved.min(window).max(1)
    }

    /// The most packets for which buffers and credits are taken at once: not more than surely come
    /// back.
    pub(crate) fn batch_max(&self) -> u32 {
        let buffers = self.buffers.unwrap_or(u32::MAX);
        self.batch.min(self.circulating()).min(buffers).max(1)
    }

    /// From so many unreported credits on the peer is told without waiting for a packet to it: half
    /// of the window, but never so many that the rest is too few for the peer to go on.
    pub(crate) fn report_threshold(&self) -> u32 {
        let half = self.window().map_or(u32::MAX, |window| window / 2);
        half.min(self.circulating() + 1 - self.batch_max()).max(1)
    }

    /// The number of packets of a message of so many bytes.
    pub(crate) fn packets(&self, length: u64) -> u64 {
        length.div_ceil(self.packet.max(1)).max(1)
    }
}
