//! Work requests: the requests that are posted to the two queues of a queue pair.
//!
//! Not modelled: SEND with invalidate, local invalidate, memory windows, atomics of other lengths
//! than 8 bytes.

/// A scatter/gather entry: a piece of registered memory. `ibv_post_send(3)`, `struct ibv_sge`.
///
/// The adapter checks an entry when the request uses the entry, and not when the request is posted.
/// A wrong entry yields a completion with [`WcStatus::LocProtErr`](crate::WcStatus::LocProtErr).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Sge {
    /// The address of the first byte.
    pub addr: u64,
    /// The length in bytes.
    pub length: u32,
    /// The local key of the region that the bytes are in.
    pub lkey: u32,
}

/// Operation of a request on the send queue. `ibv_post_send(3)`, `enum ibv_wr_opcode`; IBA 10.8.2
/// and 11.4.1.1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operation {
    /// Into the memory of a receive that the other side has posted.
    Send,
    /// The same; the receive's completion carries the number.
    SendWithImm(
        /// Immediate data.
        u32,
    ),
    /// Writes to the other side's memory, without an action of the other side.
    RdmaWrite {
        /// Where.
        remote_addr: u64,
        /// The key of the region there.
        rkey: u32,
    },
    /// Writes to the other side's memory and consumes a receive there. The completion of the
    /// receive carries the number, and the memory of the receive does not change.
    RdmaWriteWithImm {
        /// Where.
        remote_addr: u64,
        /// The key of the region there.
        rkey: u32,
        /// Immediate data.
        imm_data: u32,
    },
    /// Out of the other side's memory.
    RdmaRead {
        /// Where.
        remote_addr: u64,
        /// The key of the region there.
        rkey: u32,
    },
    /// Sets the 8 bytes there to `swap` if they are `compare`, and returns the previous value. The
    /// numbers are in the byte order of the host that has the memory.
    AtomicCmpAndSwp {
        /// Where; a multiple of 8.
        remote_addr: u64,
        /// The key of the region there.
        rkey: u32,
        /// Expected value.
        compare: u64,
        /// New value.
        swap: u64,
    },
    /// Adds to the 8 bytes there, modulo 2^64, and returns the previous value.
    AtomicFetchAndAdd {
        /// Where; a multiple of 8.
        remote_addr: u64,
        /// The key of the region there.
        rkey: u32,
        /// Addend.
        add: u64,
    },
}

impl Operation {
    /// Returns true if the operation returns data into local memory: a read or an atomic. At most
    /// `max_rd_atomic` such operations are outstanding at once.
    #[must_use]
    pub const fn returns_data(&self) -> bool {
        matches!(
            self,
            Self::RdmaRead { .. } | Self::AtomicCmpAndSwp { .. } | Self::AtomicFetchAndAdd { .. }
        )
    }

    /// Returns true if the operation consumes a receive of the other side.
    #[must_use]
    pub const fn consumes_receive(&self) -> bool {
        matches!(
            self,
            Self::Send | Self::SendWithImm(_) | Self::RdmaWriteWithImm { .. }
        )
    }
}

/// Where the bytes of a request are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Payload<'a> {
    /// In registered memory, from which they are taken some time before the request completes, or
    /// to which they are brought. [`Operation::returns_data`] needs
    /// [`Access::LOCAL_WRITE`](crate::Access::LOCAL_WRITE); atomics need exactly 8 bytes.
    Sges(&'a [Sge]),
    /// Here: they are copied at once, and need not be registered (`IBV_SEND_INLINE`). Not more than
    /// `max_inline_data` of the queue pair, and not for [`Operation::returns_data`].
    Inline(&'a [u8]),
}

/// Flags of a request. `ibv_post_send(3)`, `enum ibv_send_flags`; IBA 11.4.1.1.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash, Debug)]
pub struct SendFlags {
    /// The request produces a completion. Without this flag only errors do, unless the queue pair
    /// has `sq_sig_all`. An unsignalled request keeps its place in the send queue until a later
    /// request completes: of as many requests as the queue is long, one must be signalled.
    pub signaled: bool,
    /// Does not begin before all earlier reads and atomics of this queue pair are over. IBA
    /// 10.8.3.3.
    pub fence: bool,
    /// The completion of the receive that the request consumes is *solicited*: the completion also
    /// triggers notifications for solicited completions only.
    pub solicited: bool,
}

impl SendFlags {
    /// A signalled request without other flags.
    pub const SIGNALED: Self = Self {
        signaled: true,
        fence: false,
        solicited: false,
    };
}

/// A request on the send queue. `ibv_post_send(3)`, `struct ibv_send_wr`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SendRequest<'a> {
    /// Identifier in the completion.
    pub wr_id: u64,
    /// Operation.
    pub operation: Operation,
    /// With which bytes.
    pub payload: Payload<'a>,
    /// Flags of the request.
    pub flags: SendFlags,
}

/// A datagram to send. `ibv_post_send(3)`, `struct ibv_send_wr` with `wr.ud`; IBA 11.4.1.1.
///
/// A message longer than the MTU of the port completes with
/// [`WcStatus::LocLenErr`](crate::WcStatus::LocLenErr).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DatagramRequest<'a> {
    /// Identifier in the completion.
    pub wr_id: u64,
    /// Immediate data, if there are some.
    pub imm_data: Option<u32>,
    /// The message.
    pub payload: Payload<'a>,
    /// Flags of the request; a fence has no effect.
    pub flags: SendFlags,
    /// The route to the receiver.
    pub address: crate::AddressVector,
    /// The number of the receiver's queue pair.
    pub remote_qpn: u32,
    /// The Q_Key of the receiver; with the highest bit set, the own Q_Key is sent. IBA 3.5.3.
    pub remote_qkey: u32,
}

/// A request on the receive queue: where a message may arrive. `ibv_post_recv(3)`, `struct
/// ibv_recv_wr`; IBA 11.4.1.2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecvRequest<'a> {
    /// Identifier in the completion.
    pub wr_id: u64,
    /// The memory, which needs [`Access::LOCAL_WRITE`](crate::Access::LOCAL_WRITE); filled in
    /// order.
    pub sges: &'a [Sge],
}
