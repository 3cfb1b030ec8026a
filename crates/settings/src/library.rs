//! Parts of the message layer of a library, which measured collectives show.
//!
//! * Nonblocking sends may have an eager threshold of their own. A rendezvous may be a *get*: the
//!   receiver matches the announcement, reads the data from the sender's memory, and acknowledges
//!   the end, which is the end of the send. Matching may take processor time of the receiver, and
//!   the read request leaves after that.
//!
//! *Not modelled*: several rails of one message, and a bandwidth that grows with the length of a
//! message.
//!
//! Sources: UCX 1.15, `src/ucp/rndv` (get with zero copy) and `ucp_tag_send_nbx`, where a blocking
//! send of Open MPI 4.1 (`pml_ucx.c`, `UCP_OP_ATTR_FLAG_FAST_CMPL`) has another threshold.

use serde::Serialize;

/// The transfer of the data of a rendezvous.
#[derive(Clone, Copy, PartialEq, Eq, Default, Serialize, Debug)]
#[serde(rename_all = "kebab-case")]
pub enum RendezvousMode {
    /// The sender writes after the answer of the receiver, and the send ends with the data.
    #[default]
    Put,
    /// The receiver reads, and the send ends with the acknowledgement of the receiver.
    Get,
}

/// Rendezvous and threshold of a library. `None` is the behaviour without the key.
///
/// `S`: sizes, in bytes if numbers; `T`: times, in seconds if numbers.
#[derive(Clone, Copy, PartialEq, Serialize, Debug)]
pub struct RendezvousSettings<S = u64, T = f64> {
    /// Nonblocking sends of at least this size go by rendezvous.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eager_threshold_nonblocking: Option<S>,
    /// The transfer of the data.
    #[serde(rename = "rendezvous", skip_serializing_if = "is_put")]
    pub mode: RendezvousMode,
    /// Processor time of the receiver to match an announcement.
    #[serde(rename = "rendezvous_cost", skip_serializing_if = "Option::is_none")]
    pub cost: Option<T>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_put(mode: &RendezvousMode) -> bool {
    *mode == RendezvousMode::Put
}

impl<S, T> RendezvousSettings<S, T> {
    /// A rendezvous without costs in which the sender writes.
    pub const NONE: Self = Self {
        eager_threshold_nonblocking: None,
        mode: RendezvousMode::Put,
        cost: None,
    };

    /// Returns true if no key is set.
    pub const fn is_default(&self) -> bool {
        self.eager_threshold_nonblocking.is_none()
            && matches!(self.mode, RendezvousMode::Put)
            && self.cost.is_none()
    }

    /// Returns the settings with converted sizes and times.
    pub fn map_units<S2, T2>(
        &self,
        size: impl Fn(&S) -> S2,
        time: impl Fn(&T) -> T2,
    ) -> RendezvousSettings<S2, T2> {
        RendezvousSettings {
            eager_threshold_nonblocking: self.eager_threshold_nonblocking.as_ref().map(size),
            mode: self.mode,
            cost: self.cost.as_ref().map(time),
        }
    }
}

impl<S, T> Default for RendezvousSettings<S, T> {
    fn default() -> Self {
        Self::NONE
    }
}

/// Parts of a library that a rank has besides the usual ones.
#[derive(Clone, PartialEq, Debug)]
pub struct LibrarySettings {
    /// Rendezvous and threshold.
    pub rendezvous: RendezvousSettings,
}
