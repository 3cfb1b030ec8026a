//! Limits of the message layer: packet buffers, credits, and memory for unexpected messages.

use serde::Serialize;

/// Limits, the same at every rank. `None` is unlimited.
///
/// `S`: sizes, in bytes if numbers.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct Limits<S = u64> {
    /// Largest payload of a packet, at least 1 byte.
    #[serde(rename = "packet_size", skip_serializing_if = "Option::is_none")]
    pub packet: Option<S>,
    /// Number of packet buffers of a rank for sends, at least 1.
    #[serde(rename = "send_buffers", skip_serializing_if = "Option::is_none")]
    pub buffers: Option<u32>,
    /// Flow-control window of a connection: number of packets in flight or unprocessed at the peer,
    /// at least 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credits: Option<u32>,
    /// Per connection: packet buffers besides `buffers`, and credits out of `credits`, that only
    /// control packets may use.
    #[serde(
        rename = "reserved_credits",
        skip_serializing_if = "is_default_reserve"
    )]
    pub reserved: u32,
    /// Number of eager messages that a peer has not received; further messages use the rendezvous
    /// protocol.
    #[serde(rename = "max_eager_messages", skip_serializing_if = "Option::is_none")]
    pub eager_messages: Option<u32>,
    /// The same limit in bytes.
    #[serde(rename = "max_eager_bytes", skip_serializing_if = "Option::is_none")]
    pub eager_bytes: Option<S>,
    /// Memory of a rank for unexpected messages. A message that does not fit remains in its packets
    /// and keeps the credits of these packets.
    #[serde(rename = "unexpected_memory", skip_serializing_if = "Option::is_none")]
    pub unexpected: Option<S>,
    /// Number of packets of one message that take buffers and credits at once, at least 1.
    #[serde(rename = "post_batch", skip_serializing_if = "is_one")]
    pub batch: u32,
    /// True if rendezvous data are sent from the program's memory; otherwise they are copied into
    /// packet buffers.
    #[serde(rename = "zero_copy", skip_serializing_if = "is_true")]
    pub direct: bool,
}

/// Reserve of each connection by default: one buffer and credit may be held by an announcement that
/// waits for a credit, the other is for the credit update that ends the wait.
const RESERVED: u32 = 2;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
const fn is_default_reserve(reserved: &u32) -> bool {
    *reserved == RESERVED
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
const fn is_one(batch: &u32) -> bool {
    *batch == 1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
const fn is_true(direct: &bool) -> bool {
    *direct
}

impl<S> Default for Limits<S> {
    fn default() -> Self {
        Self::NONE
    }
}

impl<S> Limits<S> {
    /// No limit.
    pub const NONE: Self = Self {
        packet: None,
        buffers: None,
        credits: None,
        reserved: RESERVED,
        eager_messages: None,
        eager_bytes: None,
        unexpected: None,
        batch: 1,
        direct: true,
    };

    /// Returns true if anything is limited; otherwise `reserved`, `batch` and `direct` have no
    /// effect.
    pub const fn is_limited(&self) -> bool {
        self.packet.is_some()
            || self.buffers.is_some()
            || self.credits.is_some()
            || self.eager_messages.is_some()
            || self.eager_bytes.is_some()
            || self.unexpected.is_some()
    }

    /// Returns the limits with converted sizes.
    pub fn map<S2>(&self, size: impl Fn(&S) -> S2) -> Limits<S2> {
        Limits {
            packet: self.packet.as_ref().map(&size),
            buffers: self.buffers,
            credits: self.credits,
            reserved: self.reserved,
            eager_messages: self.eager_messages,
            eager_bytes: self.eager_bytes.as_ref().map(&size),
            unexpected: self.unexpected.as_ref().map(&size),
            batch: self.batch,
            direct: self.direct,
        }
    }
}

/// Credits if memory for unexpected messages is limited and credits are not: the cells of MPICH's
/// `ch4` shared memory device (`MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_NUM_CELLS`). Without credits, no
/// sender would be delayed.
const CREDITS: u32 = 64;

impl Limits {
    /// Returns the largest payload of a packet in bytes; `u64::MAX` means no limit.
    pub fn packet_max(&self) -> u64 {
        self.packet.map_or(u64::MAX, |packet| packet.max(1))
    }

    /// Returns the flow-control window of each connection; `None` means no limit.
    pub fn window(&self) -> Option<u32> {
        let bounded = self.unexpected.map(|_| CREDITS);
        self.credits.map(|credits| credits.max(1)).or(bounded)
    }

    /// Returns the number of credits that eager messages may use; `None` means no limit.
    pub fn eager_window(&self) -> Option<u32> {
        self.window()
            .map(|window| window.saturating_sub(self.reserved))
    }

    /// Returns the number of credits that are always returned, because their packets are processed
    /// on arrival; at least 1.
    fn circulating(&self) -> u32 {
        let window = self.window().unwrap_or(u32::MAX);
        self.reserved.min(window).max(1)
    }

    /// Returns the largest number of packets that take buffers and credits at once: at most the
    /// number of credits that are always returned.
    pub fn batch_max(&self) -> u32 {
        let buffers = self.buffers.unwrap_or(u32::MAX);
        self.batch.min(self.circulating()).min(buffers).max(1)
    }

    /// Returns the number of unreported credits from which on they are returned by a packet of
    /// their own instead of piggybacked: half of the window, but never as many that the peer is
    /// left with too few credits to continue.
    pub fn report_threshold(&self) -> u32 {
        let half = self.window().map_or(u32::MAX, |window| window / 2);
        half.min(self.circulating() + 1 - self.batch_max()).max(1)
    }

    /// Returns the number of packets of a message of `length` bytes.
    pub fn packets(&self, length: u64) -> u64 {
        length.div_ceil(self.packet_max()).max(1)
    }
}
