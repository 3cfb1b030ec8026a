//! Choices that the specification leaves to an implementation of reliable connections.

use super::Defect;

/// Choices of an adapter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SoftAdapterSettings {
    /// Packets that may be sent and not acknowledged, 1 to 2^23 − 1.
    pub window: u32,
    /// Packets after which an acknowledgement is requested within a message.
    pub ack_every: u32,
    /// Acknowledgements tell the number of posted receives (IBA 9.7.7.2).
    pub credits: bool,
    /// A fenced request waits for all earlier requests instead of reads and atomics only.
    pub strong_fence: bool,
    /// Time from the post of a request until the adapter sees the request, in picoseconds.
    pub doorbell_delay: u64,
    /// Time from the end of a request until its completion can be polled, in picoseconds.
    pub completion_delay: u64,
    /// The longest message in bytes, at most 2^31 (IBA 9.7.1).
    pub max_message: u32,
    /// The most bytes of a request that can be inline.
    pub max_inline_data: u32,
    /// The most bytes that can be registered.
    pub max_registered: u64,
    /// A seeded defect, for tests of tests.
    #[cfg(feature = "seeded-defects")]
    pub defect: Option<Defect>,
}

impl Default for SoftAdapterSettings {
    /// Returns the choices of Linux's `rdma_rxe` (`RXE_MAX_UNACKED_PSNS` 128, an acknowledgement
    /// every 64 packets, no credits), with the weak fence, without delays.
    fn default() -> Self {
        Self {
            window: 128,
            ack_every: 64,
            credits: false,
            strong_fence: false,
            doorbell_delay: 0,
            completion_delay: 0,
            max_message: 1 << 31,
            max_inline_data: 256,
            max_registered: u64::MAX,
            #[cfg(feature = "seeded-defects")]
            defect: None,
        }
    }
}

impl SoftAdapterSettings {
    /// Returns true if this is the seeded defect.
    pub(crate) const fn has_defect(&self, defect: Defect) -> bool {
        #[cfg(feature = "seeded-defects")]
        return matches!(self.defect, Some(found) if found as u8 == defect as u8);
        #[cfg(not(feature = "seeded-defects"))]
        {
            let _ = (self, defect);
            false
        }
    }
}
