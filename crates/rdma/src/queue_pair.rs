//! Queue pairs: their creation, their states and their attributes.
//!
//! `ibv_modify_qp(3)` and IBA 11.2.4.2 list the attributes that a transition needs; the adapter
//! checks them. [`prepare`](crate::prepare) and [`connect`](crate::connect) do the usual ones.

use std::fmt;

use crate::{Access, CompletionQueue, Gid, Mtu, ProtectionDomain};

/// The state of a queue pair. `ibv_modify_qp(3)`, `enum ibv_qp_state`, with the same numbers; IBA
/// 10.3.1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum QpState {
    /// New, or emptied: requests are refused or wait, and packets are dropped.
    Reset,
    /// Receives may be posted; no packet is accepted yet.
    Init,
    /// Ready to receive.
    Rtr,
    /// Ready to send, too.
    Rts,
    /// Send queue drained: started requests complete, and no new request starts.
    Sqd,
    /// Send queue error. A reliable connection is never in this state.
    Sqe,
    /// Error: all requests complete with [`WcStatus::WrFlushErr`](crate::WcStatus::WrFlushErr).
    Err,
}

impl QpState {
    /// All states, each at the index of its number.
    pub const ALL: [Self; 7] = [
        Self::Reset,
        Self::Init,
        Self::Rtr,
        Self::Rts,
        Self::Sqd,
        Self::Sqe,
        Self::Err,
    ];

    /// The number in `enum ibv_qp_state`.
    #[must_use]
    pub const fn code(self) -> u32 {
        self as u32
    }

    /// The state with this number.
    #[must_use]
    pub fn from_code(code: u32) -> Option<Self> {
        let at = usize::try_from(code).ok()?;
        Self::ALL.get(at).copied()
    }
}

impl fmt::Display for QpState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reset => "RESET",
            Self::Init => "INIT",
            Self::Rtr => "RTR",
            Self::Rts => "RTS",
            Self::Sqd => "SQD",
            Self::Sqe => "SQE",
            Self::Err => "ERR",
        })
    }
}

/// Sizes of a queue pair. `ibv_create_qp(3)`, `struct ibv_qp_cap`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct QpCapabilities {
    /// Requests outstanding on the send queue.
    pub max_send_wr: u32,
    /// Requests outstanding on the receive queue.
    pub max_recv_wr: u32,
    /// Scatter/gather entries of a request on the send queue.
    pub max_send_sge: u32,
    /// Scatter/gather entries of a request on the receive queue.
    pub max_recv_sge: u32,
    /// The most bytes that can be posted [inline](crate::Payload::Inline).
    pub max_inline_data: u32,
}

impl Default for QpCapabilities {
    fn default() -> Self {
        Self {
            max_send_wr: 64,
            max_recv_wr: 64,
            max_send_sge: 1,
            max_recv_sge: 1,
            max_inline_data: 0,
        }
    }
}

/// Attributes of a new queue pair. `ibv_create_qp(3)`, `struct ibv_qp_init_attr`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct QpInitAttributes {
    /// Protection domain of the memory regions that the queue pair may use.
    pub pd: ProtectionDomain,
    /// Where requests on the send queue complete.
    pub send_cq: CompletionQueue,
    /// Where receives complete; may be the same.
    pub recv_cq: CompletionQueue,
    /// Minimum sizes of the queue pair.
    pub cap: QpCapabilities,
    /// True if each request on the send queue produces a completion, whatever its flags.
    pub sq_sig_all: bool,
}

/// The way to the other side. `ibv_create_ah(3)`, `struct ibv_ah_attr`; IBA 11.2.2.1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AddressVector {
    /// The local identifier of the other port; 0 on Ethernet.
    pub dlid: u16,
    /// The service level: on Ethernet the priority.
    pub sl: u8,
    /// The global identifier of the other port and how to go there, if packets have global headers;
    /// always on Ethernet.
    pub grh: Option<GlobalRoute>,
    /// The port to leave by, from 1.
    pub port_num: u8,
}

/// A global header. `struct ibv_global_route`; IBA 8.3.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct GlobalRoute {
    /// The other port.
    pub dgid: Gid,
    /// Index of the source among the identifiers of our port.
    pub sgid_index: u8,
    /// Packets with the same label stay in order, for switches; 0 for none.
    pub flow_label: u32,
    /// Number of routers packets may pass: 1 leaves them in the subnet.
    pub hop_limit: u8,
    /// The priority at routers.
    pub traffic_class: u8,
}

/// Changes of a queue pair: only attributes that are `Some` change. `ibv_modify_qp(3)`, `struct
/// ibv_qp_attr` with its mask; IBA 11.2.4.2.
///
/// Left out: attributes for unreliable services only, for path migration and for resizing.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct QpModify {
    /// The state to go to.
    pub qp_state: Option<QpState>,
    /// The state in which the queue pair should be now; in another state the call is refused.
    pub cur_qp_state: Option<QpState>,
    /// The place of the partition key in the port's table; 0 is the default.
    pub pkey_index: Option<u16>,
    /// The Q_Key of datagrams that are received; only for UD. IBA 10.2.5.
    pub qkey: Option<u32>,
    /// The port to use, from 1.
    pub port_num: Option<u8>,
    /// Rights of requests from the other side.
    pub qp_access_flags: Option<Access>,
    /// The largest payload of a packet on the whole way; both sides must say the same.
    pub path_mtu: Option<Mtu>,
    /// The way to the other side.
    pub ah_attr: Option<AddressVector>,
    /// The `qp_num` of the other side.
    pub dest_qp_num: Option<u32>,
    /// The first packet sequence number that comes (24 bits): the `sq_psn` of the other side.
    pub rq_psn: Option<u32>,
    /// The first packet sequence number that is sent (24 bits).
    pub sq_psn: Option<u32>,
    /// Reads and atomics of the other side that may be outstanding here.
    pub max_dest_rd_atomic: Option<u8>,
    /// Reads and atomics that may be outstanding at the peer; at most its `max_dest_rd_atomic`.
    pub max_rd_atomic: Option<u8>,
    /// Time that the other side is told to wait when no receive is posted: a code from 0 to 31, see
    /// [`ConnectionAttributes`](crate::ConnectionAttributes). IBA 9.7.5.2.8.
    pub min_rnr_timer: Option<u8>,
    /// Time to wait for an acknowledgement: 4.096 µs × 2^n, 0 for ever, at most 31. IBA
    /// 9.7.6.1.3.
    pub timeout: Option<u8>,
    /// Number of retransmissions without an acknowledgement, 0 to 7, before the request fails with
    /// [`WcStatus::RetryExcErr`](crate::WcStatus::RetryExcErr).
    pub retry_cnt: Option<u8>,
    /// Number of retransmissions without a posted receive, 0 to 6, before the request fails with
    /// [`WcStatus::RnrRetryExcErr`](crate::WcStatus::RnrRetryExcErr); 7 retries without limit.
    pub rnr_retry: Option<u8>,
    /// True to report [`AsyncEvent::SqDrained`](crate::AsyncEvent::SqDrained); with
    /// [`QpState::Sqd`] only.
    pub en_sqd_async_notify: Option<bool>,
}

impl QpModify {
    /// Only to another state.
    #[must_use]
    pub fn to_state(state: QpState) -> Self {
        Self {
            qp_state: Some(state),
            ..Self::default()
        }
    }
}

/// Attributes of a queue pair at the moment. `ibv_query_qp(3)`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct QpAttributes {
    /// State of the queue pair.
    pub qp_state: QpState,
    /// Sizes of the queue pair: at least the requested sizes.
    pub cap: QpCapabilities,
    /// The largest payload of a packet; `None` before this attribute is set.
    pub path_mtu: Option<Mtu>,
    /// The `qp_num` of the other side; 0 before this attribute is set.
    pub dest_qp_num: u32,
    /// The next packet sequence number that is expected.
    pub rq_psn: u32,
    /// The next packet sequence number that is sent.
    pub sq_psn: u32,
    /// Rights of requests from the other side.
    pub qp_access_flags: Access,
    /// Reads and atomics that may be outstanding there.
    pub max_rd_atomic: u8,
    /// Reads and atomics of the other side that may be outstanding here.
    pub max_dest_rd_atomic: u8,
    /// See [`QpModify::min_rnr_timer`].
    pub min_rnr_timer: u8,
    /// See [`QpModify::timeout`].
    pub timeout: u8,
    /// See [`QpModify::retry_cnt`].
    pub retry_cnt: u8,
    /// See [`QpModify::rnr_retry`].
    pub rnr_retry: u8,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_have_the_numbers_of_rdma_core() {
        for (code, state) in (0..).zip(QpState::ALL) {
            assert_eq!(state.code(), code);
            assert_eq!(QpState::from_code(code), Some(state));
        }
        assert_eq!(QpState::from_code(7), None);
    }
}
