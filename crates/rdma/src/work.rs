//! Work requests: what is posted to the two queues of a queue pair.
//!
//! Not modelled: SEND with invalidate, local invalidate, memory windows, atomics of other lengths
//! than 8 bytes.

/// A scatter/gather entry: a piece of registered memory. `ibv_post_send(3)`, `struct ibv_sge`.
///
/// The adapter checks it when it uses it, and not when it is posted: what is wrong with it is a
/// completion with [`WcStatus::LocProtErr`](crate::WcStatus::LocProtErr).
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
    /// Into the other side's memory, without its taking part.
    RdmaWrite {
        /// Where.
        remote_addr: u64,
        /// The key of the region there.
        rkey: u32,
    },
    /// The same; it uses up a receive of the other side, whose completion carries the number and
    /// whose memory stays as it is.
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
    /// If the 8 bytes there are `compare`, they become `swap`; what was there before comes back.
    /// The numbers are in the byte order of the host whose memory it is.
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
    /// Adds to the 8 bytes there, modulo 2^64; what was there before comes back.
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
    /// Returns true if something comes back into local memory: a read or an atomic. Only this many
    /// of them go at once (`max_rd_atomic`).
    #[must_use]
    pub const fn returns_data(&self) -> bool {
        matches!(
            self,
            Self::RdmaRead { .. } | Self::AtomicCmpAndSwp { .. } | Self::AtomicFetchAndAdd { .. }
        )
    }

    /// Returns true if it uses up a receive of the other side.
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
    /// Tells when it is over, by a completion. Without it only errors do, unless the queue pair has
    /// `sq_sig_all`. An unsignalled request keeps its place in the send queue until a later one
    /// completes: every queue's length of requests one must be signalled.
    pub signaled: bool,
    /// Does not begin before all earlier reads and atomics of this queue pair are over. IBA
    /// 10.8.3.3.
    pub fence: bool,
    /// The completion of the receive that it uses up is a *solicited* one, which wakes who waits
    /// only for these.
    pub solicited: bool,
}

impl SendFlags {
    /// Signalled and nothing else.
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
    /// The number of its queue pair.
    pub remote_qpn: u32,
    /// Its Q_Key; with the highest bit set, that of the own queue pair is sent. IBA 3.5.3.
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
