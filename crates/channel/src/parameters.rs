//! Parameters of the message layer that all ranks share.
//!
//! *Not decided here*: their values, which a platform file or the caller sets.

use std::sync::Arc;

use collectives::{Call, Selector};

use crate::{
    ConnectionSettings, LibrarySettings, Limits, MemorySettings, Overheads, Placement,
    TransportMode,
};

/// The waits of a rank in a collective, and at the beginning of an epoch of one-sided
/// communication. MPI permits both (MPI 5.0, 6.1, 6.14, 12.5.1 and 12.5.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CollectiveWaits {
    /// For the messages of the selected algorithm, and for the targets.
    Algorithm,
    /// For the calls of the ranks that send data to this rank: the earliest moment. A rank that
    /// gets no bytes does not wait, except in a barrier. Accesses wait for their targets, and not
    /// the calls.
    #[default]
    Data,
}

/// The parameters of the message layer, the same at every rank.
#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    /// Messages shorter than this many bytes are sent eagerly; the others by rendezvous.
    pub eager_threshold: u64,
    /// True if buffers made by `Comm::buffer` have only a length.
    pub phantom: bool,
    /// True if an eager send takes time and ends with the
    /// [`ChannelEvent::Sent`](crate::ChannelEvent::Sent) of the channel; otherwise the send ends
    /// when it is posted.
    pub tells_eager_sends: bool,
    /// Eager messages shorter than this many bytes leave at once; longer ones leave when a receive
    /// has met them, although the sender does not wait for that.
    pub async_small_threshold: u64,
    /// Bytes that travel with each message besides the payload.
    pub envelope: u64,
    /// Overheads of calls.
    pub overheads: Overheads,
    /// Bytes per second at which a rank packs, unpacks, copies into an attached buffer, and copies
    /// eager messages that came before their receives; infinite if copies cost nothing.
    pub copy_bandwidth: f64,
    /// Bytes per second of the operations of collectives at one rank; infinite if the operations
    /// cost nothing.
    pub reduce_bandwidth: f64,
    /// Costs of memory in collectives, besides [`Settings::reduce_bandwidth`]; `None` if they are
    /// free.
    pub memory: Option<Arc<MemorySettings>>,
    /// The nodes of all ranks; `None` if each rank has its own node.
    pub placement: Option<Arc<Placement>>,
    /// Selection of algorithms of collectives; `None` for the selection of the package `mpi`.
    pub collectives: Option<Arc<Selector>>,
    /// True if the first call of a communicator that needs the nodes of its ranks exchanges the
    /// nodes by messages, as in SMPI; otherwise the nodes are known.
    pub node_setup: bool,
    /// The waits of a rank in a collective.
    pub collective_waits: CollectiveWaits,
    /// Seed of the orders of operands in which the results of reductions are compared; `None` if
    /// they are not compared.
    pub operand_orders: Option<u64>,
    /// Length of a control message on the network, in bytes; `None` if the message takes no time.
    pub control: Option<u64>,
    /// True if a short synchronous message leaves at once and is acknowledged after the match with
    /// a receive; otherwise the message is announced, like a long message.
    pub acknowledged_ssend: bool,
    /// True if a ready send without a posted receive is an error, which the receive gets; otherwise
    /// such a send is a standard send.
    pub strict_ready_send: bool,
    /// True if the channels of all ranks [register](crate::RemoteMemory::register_memory) the
    /// memory of windows, so that puts and gets are RDMA.
    pub registers_windows: bool,
    /// Costs of posting where [limits](Settings::limits) are set, besides copying.
    pub posting: PostingCost,
    /// Transport of packets.
    pub variant: TransportMode,
    /// Limits of the resources of the message layer; `None` if no resource is limited.
    pub limits: Option<Limits>,
    /// Parts of a library that a platform sets besides the usual ones.
    pub library: Option<Arc<LibrarySettings>>,
    /// Costs of connections; `None` if ranks are connected from the beginning, at no cost.
    pub connections: Option<ConnectionSettings>,
    /// Number of peers on other hosts to which a rank sends at one time, until the
    /// acknowledgements; `None` if the number is not limited.
    pub initiators: Option<u32>,
}

/// Costs of posting packets, in seconds.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct PostingCost {
    /// For each packet.
    pub packet: f64,
    /// For each time that one or several packets are posted together: looking for buffers and
    /// credits, and telling the adapter.
    pub batch: f64,
}

impl Settings {
    /// Real buffers, and no costs: eager below `eager_threshold` bytes.
    #[must_use]
    pub const fn new(eager_threshold: u64) -> Self {
        Self {
            eager_threshold,
            phantom: false,
            tells_eager_sends: false,
            async_small_threshold: u64::MAX,
            envelope: 0,
            overheads: Overheads::NONE,
            copy_bandwidth: f64::INFINITY,
            reduce_bandwidth: f64::INFINITY,
            memory: None,
            placement: None,
            collectives: None,
            node_setup: false,
            collective_waits: CollectiveWaits::Algorithm,
            operand_orders: None,
            control: None,
            acknowledged_ssend: false,
            strict_ready_send: false,
            registers_windows: false,
            posting: PostingCost {
                packet: 0.0,
                batch: 0.0,
            },
            variant: TransportMode::Packet,
            limits: None,
            library: None,
            connections: None,
            initiators: None,
        }
    }

    /// Returns the time in which a rank reduces `length` bytes of a call, in seconds.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "messages of 2^53 bytes and more may be off by one"
    )]
    pub fn reduction_time(&self, length: u64, call: &Call) -> f64 {
        let memory = self.memory.as_ref().map_or(0.0, |memory| {
            memory.reduce.of_working_set(length, call.working_set())
        });
        length as f64 / self.reduce_bandwidth + memory
    }

    /// Returns the time in which a rank copies `length` bytes for the schedule of a call, in
    /// seconds.
    #[must_use]
    pub fn schedule_copy_time(&self, length: u64, call: &Call) -> f64 {
        self.memory.as_ref().map_or(0.0, |memory| {
            memory.copy.of_working_set(length, call.working_set())
        })
    }

    /// Returns the time in which a rank builds a datatype for a schedule, in seconds.
    #[must_use]
    pub fn datatype_build_time(&self) -> f64 {
        let memory = self.memory.as_ref();
        memory.and_then(|all| all.datatype_build).unwrap_or(0.0)
    }

    /// Returns true if a receiver pulls detached messages: where neither their announcements nor
    /// connections take time.
    #[must_use]
    #[inline]
    pub const fn is_pulled(&self) -> bool {
        self.limits.is_none() && self.control.is_none() && self.connections.is_none()
    }
}
