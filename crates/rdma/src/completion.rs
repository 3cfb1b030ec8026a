//! Completions of requests, and asynchronous events of adapters.

use std::fmt;

/// Status of a completion. `ibv_poll_cq(3)`, `enum ibv_wc_status`, with the same numbers; IBA
/// 11.6.2.
///
/// Every status except [`Success`](Self::Success) leaves the queue pair in
/// [`QpState::Err`](crate::QpState::Err). All other requests of the queue pair complete with
/// [`WrFlushErr`](Self::WrFlushErr).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum WcStatus {
    /// Done.
    Success,
    /// A message is longer than the receive or than a port can, or an atomic has not 8 bytes.
    LocLenErr,
    /// The queue pair cannot do that.
    LocQpOpErr,
    /// Of end-to-end contexts, which reliable datagrams would have.
    LocEecOpErr,
    /// A scatter/gather entry names memory that is not registered for this access.
    LocProtErr,
    /// The queue pair went to the error state before the request was done.
    WrFlushErr,
    /// A memory window could not be bound.
    MwBindErr,
    /// The other side sent an invalid response.
    BadRespErr,
    /// An incoming RDMA WRITE with immediate names memory that is not registered for this access.
    LocAccessErr,
    /// The other side refused the request: not allowed on the queue pair, too long, or malformed.
    RemInvReqErr,
    /// The key, the place or the rights of the memory named there are wrong.
    RemAccessErr,
    /// The other side could not execute the request.
    RemOpErr,
    /// The other side did not answer, although the request was sent again `retry_cnt` times.
    RetryExcErr,
    /// The other side had no receive posted, although the request was sent again `rnr_retry` times.
    RnrRetryExcErr,
    /// Of reliable datagrams.
    LocRddViolErr,
    /// Of reliable datagrams.
    RemInvRdReqErr,
    /// The other side gave up.
    RemAbortErr,
    /// Of end-to-end contexts.
    InvEecnErr,
    /// Of end-to-end contexts.
    InvEecStateErr,
    /// The adapter is broken.
    FatalErr,
    /// No response in time.
    RespTimeoutErr,
    /// Another error.
    GeneralErr,
    /// Of tag matching in the adapter.
    TmErr,
    /// Of tag matching in the adapter.
    TmRndvIncomplete,
}

impl WcStatus {
    /// All statuses, each at the index of its number.
    pub const ALL: [Self; 24] = [
        Self::Success,
        Self::LocLenErr,
        Self::LocQpOpErr,
        Self::LocEecOpErr,
        Self::LocProtErr,
        Self::WrFlushErr,
        Self::MwBindErr,
        Self::BadRespErr,
        Self::LocAccessErr,
        Self::RemInvReqErr,
        Self::RemAccessErr,
        Self::RemOpErr,
        Self::RetryExcErr,
        Self::RnrRetryExcErr,
        Self::LocRddViolErr,
        Self::RemInvRdReqErr,
        Self::RemAbortErr,
        Self::InvEecnErr,
        Self::InvEecStateErr,
        Self::FatalErr,
        Self::RespTimeoutErr,
        Self::GeneralErr,
        Self::TmErr,
        Self::TmRndvIncomplete,
    ];

    /// The number in `enum ibv_wc_status`.
    #[must_use]
    pub const fn code(self) -> u32 {
        self as u32
    }

    /// The status with this number; [`GeneralErr`](Self::GeneralErr) for one that rdma-core has
    /// added since.
    #[must_use]
    pub fn from_code(code: u32) -> Self {
        let at = usize::try_from(code).ok();
        at.and_then(|at| Self::ALL.get(at).copied())
            .unwrap_or(Self::GeneralErr)
    }

    /// The name in `enum ibv_wc_status`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Success => "IBV_WC_SUCCESS",
            Self::LocLenErr => "IBV_WC_LOC_LEN_ERR",
            Self::LocQpOpErr => "IBV_WC_LOC_QP_OP_ERR",
            Self::LocEecOpErr => "IBV_WC_LOC_EEC_OP_ERR",
            Self::LocProtErr => "IBV_WC_LOC_PROT_ERR",
            Self::WrFlushErr => "IBV_WC_WR_FLUSH_ERR",
            Self::MwBindErr => "IBV_WC_MW_BIND_ERR",
            Self::BadRespErr => "IBV_WC_BAD_RESP_ERR",
            Self::LocAccessErr => "IBV_WC_LOC_ACCESS_ERR",
            Self::RemInvReqErr => "IBV_WC_REM_INV_REQ_ERR",
            Self::RemAccessErr => "IBV_WC_REM_ACCESS_ERR",
            Self::RemOpErr => "IBV_WC_REM_OP_ERR",
            Self::RetryExcErr => "IBV_WC_RETRY_EXC_ERR",
            Self::RnrRetryExcErr => "IBV_WC_RNR_RETRY_EXC_ERR",
            Self::LocRddViolErr => "IBV_WC_LOC_RDD_VIOL_ERR",
            Self::RemInvRdReqErr => "IBV_WC_REM_INV_RD_REQ_ERR",
            Self::RemAbortErr => "IBV_WC_REM_ABORT_ERR",
            Self::InvEecnErr => "IBV_WC_INV_EECN_ERR",
            Self::InvEecStateErr => "IBV_WC_INV_EEC_STATE_ERR",
            Self::FatalErr => "IBV_WC_FATAL_ERR",
            Self::RespTimeoutErr => "IBV_WC_RESP_TIMEOUT_ERR",
            Self::GeneralErr => "IBV_WC_GENERAL_ERR",
            Self::TmErr => "IBV_WC_TM_ERR",
            Self::TmRndvIncomplete => "IBV_WC_TM_RNDV_INCOMPLETE",
        }
    }

    /// Returns true if the other side seems to be lost: the other side does not answer, accepts no
    /// request, or has closed the connection.
    #[must_use]
    pub const fn indicates_lost_peer(self) -> bool {
        matches!(
            self,
            Self::WrFlushErr
                | Self::RetryExcErr
                | Self::RnrRetryExcErr
                | Self::RemAbortErr
                | Self::RespTimeoutErr
        )
    }

    /// Returns true if the request was done.
    #[must_use]
    pub fn is_success(self) -> bool {
        self == Self::Success
    }
}

impl fmt::Display for WcStatus {
    /// In the words of `ibv_wc_status_str(3)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Success => "success",
            Self::LocLenErr => "local length error",
            Self::LocQpOpErr => "local QP operation error",
            Self::LocEecOpErr => "local EE context operation error",
            Self::LocProtErr => "local protection error",
            Self::WrFlushErr => "Work Request Flushed Error",
            Self::MwBindErr => "memory management operation error",
            Self::BadRespErr => "bad response error",
            Self::LocAccessErr => "local access error",
            Self::RemInvReqErr => "remote invalid request error",
            Self::RemAccessErr => "remote access error",
            Self::RemOpErr => "remote operation error",
            Self::RetryExcErr => "transport retry counter exceeded",
            Self::RnrRetryExcErr => "RNR retry counter exceeded",
            Self::LocRddViolErr => "local RDD violation error",
            Self::RemInvRdReqErr => "remote invalid RD request",
            Self::RemAbortErr => "aborted error",
            Self::InvEecnErr => "invalid EE context number",
            Self::InvEecStateErr => "invalid EE context state",
            Self::FatalErr => "fatal error",
            Self::RespTimeoutErr => "response timeout error",
            Self::GeneralErr => "general error",
            Self::TmErr => "TM error",
            Self::TmRndvIncomplete => "TM software rendezvous",
        })
    }
}

/// Kind of the completed request. `ibv_poll_cq(3)`, `enum ibv_wc_opcode`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum WcOpcode {
    /// A SEND, with or without immediate data.
    Send,
    /// An RDMA WRITE, with or without immediate data.
    RdmaWrite,
    /// An RDMA READ.
    RdmaRead,
    /// A compare and swap.
    CompSwap,
    /// A fetch and add.
    FetchAdd,
    /// A receive that a SEND used up.
    Recv,
    /// A receive that an RDMA WRITE with immediate used up.
    RecvRdmaWithImm,
}

impl WcOpcode {
    /// Returns the opcode of the completion of a send request.
    #[must_use]
    pub const fn of_send(operation: &crate::Operation) -> Self {
        use crate::Operation;
        match operation {
            Operation::Send | Operation::SendWithImm(_) => Self::Send,
            Operation::RdmaWrite { .. } | Operation::RdmaWriteWithImm { .. } => Self::RdmaWrite,
            Operation::RdmaRead { .. } => Self::RdmaRead,
            Operation::AtomicCmpAndSwp { .. } => Self::CompSwap,
            Operation::AtomicFetchAndAdd { .. } => Self::FetchAdd,
        }
    }
}

/// The end of a request. `ibv_poll_cq(3)`, `struct ibv_wc`; IBA 11.4.2.1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct WorkCompletion {
    /// Identifier that the request was given.
    pub wr_id: u64,
    /// Status of the request.
    pub status: WcStatus,
    /// Kind of the completed request; `None` after a failure, because adapters then report no kind.
    pub opcode: Option<WcOpcode>,
    /// Number of bytes that arrived, for receives, reads and atomics that succeeded; 0 otherwise.
    /// After an RDMA WRITE with immediate the number of bytes written.
    pub byte_len: u32,
    /// Immediate data, for receives that brought some.
    pub imm_data: Option<u32>,
    /// The `qp_num` of the queue pair of the request.
    pub qp_num: u32,
    /// The `qp_num` of the sender, for receives of datagrams.
    pub src_qp: Option<u32>,
    /// Vendor's error code; 0 if there is none.
    pub vendor_err: u32,
}

/// Asynchronous event of an adapter. `ibv_get_async_event(3)`; IBA 11.6.3.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum AsyncEvent {
    /// A completion queue overflowed or is broken, and so are the queue pairs that use the queue.
    CqErr(crate::CompletionQueue),
    /// A queue pair is broken.
    QpFatal(crate::QueuePair),
    /// A queue pair got an invalid request and is in the error state.
    QpReqErr(crate::QueuePair),
    /// A queue pair got a request that lacks the access rights, and is in the error state.
    QpAccessErr(crate::QueuePair),
    /// The first packet came to a queue pair that is ready to receive and not yet to send.
    CommEst(crate::QueuePair),
    /// A queue pair in the state [`QpState::Sqd`](crate::QpState::Sqd) has drained its send queue.
    SqDrained(crate::QueuePair),
    /// The adapter is broken.
    DeviceFatal,
    /// A port came into use.
    PortActive(
        /// Number of the port.
        u8,
    ),
    /// A port is no longer in use.
    PortErr(
        /// Number of the port.
        u8,
    ),
    /// Another event, by its number in `enum ibv_event_type`.
    Other(
        /// The number.
        u32,
    ),
}

/// Part of an adapter that has broken, as an [event](AsyncEvent) told.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum AdapterFault {
    /// A completion queue, and with the queue its queue pairs.
    CompletionQueue,
    /// A queue pair.
    QueuePair,
    /// A queue pair, because of an invalid request of its peer.
    Request,
    /// A queue pair, because a request of its peer lacks the access rights.
    Access,
    /// The whole adapter.
    Device,
}

impl AdapterFault {
    /// Returns the name of the event in `enum ibv_event_type`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::CompletionQueue => "IBV_EVENT_CQ_ERR",
            Self::QueuePair => "IBV_EVENT_QP_FATAL",
            Self::Request => "IBV_EVENT_QP_REQ_ERR",
            Self::Access => "IBV_EVENT_QP_ACCESS_ERR",
            Self::Device => "IBV_EVENT_DEVICE_FATAL",
        }
    }
}

impl fmt::Display for AdapterFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self {
            Self::CompletionQueue => "completion queue error",
            Self::QueuePair => "the queue pair broke",
            Self::Request => "the queue pair got an invalid request",
            Self::Access => "the queue pair got a request without the rights for it",
            Self::Device => "fatal device error",
        };
        write!(f, "{what} ({})", self.name())
    }
}

impl AsyncEvent {
    /// Returns the part that is broken; `None` if the event reports no fault.
    #[must_use]
    pub const fn fault(&self) -> Option<AdapterFault> {
        match self {
            Self::CqErr(_) => Some(AdapterFault::CompletionQueue),
            Self::QpFatal(_) => Some(AdapterFault::QueuePair),
            Self::QpReqErr(_) => Some(AdapterFault::Request),
            Self::QpAccessErr(_) => Some(AdapterFault::Access),
            Self::DeviceFatal => Some(AdapterFault::Device),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_have_the_numbers_of_rdma_core() {
        for (code, status) in (0..).zip(WcStatus::ALL) {
            assert_eq!(status.code(), code);
            assert_eq!(WcStatus::from_code(code), status);
        }
        assert_eq!(WcStatus::WrFlushErr.code(), 5);
        assert_eq!(WcStatus::RemAccessErr.code(), 10);
        assert_eq!(WcStatus::RetryExcErr.code(), 12);
        assert_eq!(WcStatus::RnrRetryExcErr.code(), 13);
        assert_eq!(WcStatus::GeneralErr.code(), 21);
        assert_eq!(WcStatus::from_code(1000), WcStatus::GeneralErr);
    }
}
