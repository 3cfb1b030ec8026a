//! Operations of connections: their flags, posting to the queue pair, and completions.
//!
//! An operation is one or two work requests: a message, a transfer of remote memory, or a transfer
//! and its completion message. Only the last request is signaled. A request that fails completes
//! anyway, and the operation ends with its first failed request.

use rdma::{QpModify, QpState, WcStatus, WorkCompletion};

use crate::Error;
use crate::connection::{
    CompletionReport, Connection, ConnectionId, OperationId, Pair, PostedOperation,
};
use crate::defect::Defect;
use crate::endpoint::Endpoint;
use crate::event::{EventKind, Status};
use crate::stage::StageEvent;

/// The bit that identifiers of receives have and identifiers of operations do not have.
pub(crate) const RECEIVE: u64 = 1 << 63;

/// Completions that are polled at once.
const POLLED: usize = 64;

/// Flags of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Flags {
    /// No event reports the end (`CCI_FLAG_SILENT`). On a reliable ordered connection the success
    /// of a later operation implies the success of this one.
    pub silent: bool,
    /// No event reports the end: [`Endpoint::blocking_status`] does (`CCI_FLAG_BLOCKING`).
    pub blocking: bool,
    /// The transfer begins after all earlier transfers of the connection have ended, and later
    /// transfers begin after this one has ended (`CCI_FLAG_FENCE`). Only for [`Endpoint::rma`]; a
    /// fence does not order messages.
    pub fence: bool,
}

impl Flags {
    pub(crate) fn to_report(self) -> Result<CompletionReport, Error> {
        match (self.silent, self.blocking) {
            (false, false) => Ok(CompletionReport::Event),
            (true, false) => Ok(CompletionReport::Silent),
            (false, true) => Ok(CompletionReport::Blocking),
            (true, true) => Err(Error::Invalid("an operation is silent or blocking")),
        }
    }
}

impl Endpoint {
    /// Returns the status of a blocking operation, once; `None` if the operation has not ended.
    pub fn blocking_status(&mut self, operation: OperationId) -> Option<Status> {
        self.poll_completions();
        self.ended.remove(&operation)
    }

    /// Sets the time after which an operation has failed, in picoseconds; without a connection, for
    /// all present and future connections. A connection with a failed operation is broken.
    pub fn set_send_timeout(
        &mut self,
        connection: Option<ConnectionId>,
        timeout: Option<u64>,
    ) -> Result<(), Error> {
        if let Some(id) = connection {
            let found = self.connections.get_mut(&id).ok_or(Error::Disconnected)?;
            found.send_timeout = timeout;
            return Ok(());
        }
        self.settings.send_timeout = timeout;
        for connection in self.connections.values_mut() {
            connection.send_timeout = timeout;
        }
        Ok(())
    }

    /// Returns an identifier that no operation has.
    pub(crate) const fn new_operation(&mut self) -> OperationId {
        let id = OperationId(self.next_operation);
        self.next_operation += 1;
        id
    }

    /// Returns an open connection's queue pair and the deadline of an operation that starts now.
    pub(crate) fn open_pair(
        &mut self,
        id: ConnectionId,
    ) -> Result<(&mut Pair, Option<u64>), Error> {
        let connection = self.connections.get_mut(&id);
        let connection = connection.filter(|one| one.is_open());
        let connection = connection.ok_or(Error::Disconnected)?;
        let deadline = connection.send_timeout.map(|timeout| self.now + timeout);
        if deadline.is_some() {
            self.timeout.set(None);
        }
        let pair = connection.pair.as_mut();
        Ok((pair.ok_or(Error::Disconnected)?, deadline))
    }

    /// Reports the end of an operation.
    pub(crate) fn end_operation(
        &mut self,
        connection: ConnectionId,
        (id, context): (OperationId, u64),
        report: CompletionReport,
        status: Status,
    ) {
        match report {
            CompletionReport::Event => self.push_event(EventKind::Send {
                connection,
                context,
                status,
            }),
            CompletionReport::Silent => {}
            CompletionReport::Blocking => {
                self.ended.insert(id, status);
            }
        }
    }

    /// Turns completions into events.
    pub(crate) fn poll_completions(&mut self) {
        loop {
            let polled = self.verbs.poll_cq(self.cq, POLLED, &mut self.completions);
            match polled {
                Ok(0) => return,
                Ok(_) => self.complete_all(),
                Err(_) => return self.device_failed(),
            }
        }
    }

    /// Handles the completions that were polled.
    fn complete_all(&mut self) {
        let mut completions = std::mem::take(&mut self.completions);
        for completion in completions.drain(..) {
            self.handle_completion(&completion);
        }
        self.completions = completions;
    }

    fn device_failed(&mut self) {
        if !self.has_failed {
            self.has_failed = true;
            self.push_event(EventKind::DeviceFailed);
        }
    }

    fn handle_completion(&mut self, completion: &WorkCompletion) {
        let Some(&id) = self.by_qp.get(&completion.qp_num) else {
            return;
        };
        if completion.wr_id & RECEIVE != 0 {
            if completion.status.is_success() {
                self.report_message(id, completion);
            }
            return;
        }
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        let Some(operation) = take_operation(connection, OperationId(completion.wr_id)) else {
            return;
        };
        let status = status_after(connection, completion.status);
        let sends = connection.pair.as_ref().map(|pair| pair.sends);
        if let (Some(sends), Some(buffer)) = (sends, operation.buffer) {
            let poisoned = self.poison(&sends, buffer);
            debug_assert!(poisoned.is_ok());
        }
        if let Some(lent) = operation.lent {
            // The adapter cannot refuse: the region is ours.
            let freed = self.verbs.dereg_mr(&lent);
            debug_assert!(freed.is_ok());
        }
        self.report_end(id, &operation, status);
    }

    fn report_end(&mut self, id: ConnectionId, operation: &PostedOperation, status: Status) {
        let has = |defect| self.settings.has(defect);
        let (mut report, mut status) = (operation.report, status);
        let failed_rma = operation.is_rma && status != Status::Success;
        let twice = has(Defect::FailedRmaReportedTwice) && failed_rma;
        if has(Defect::FailedRmaSucceeds) && failed_rma {
            status = Status::Success;
        }
        if has(Defect::SilentIgnored) && report == CompletionReport::Silent {
            report = CompletionReport::Event;
        }
        let is_last = self.connections.get(&id).and_then(|one| one.pair.as_ref());
        let is_last = is_last.is_none_or(|pair| pair.operations.is_empty());
        if has(Defect::CompletionLost) && !is_last {
            return;
        }
        for _ in 0..=u32::from(twice) {
            self.end_operation(id, (operation.id, operation.context), report, status);
        }
    }

    /// Breaks the connection if its oldest operation has not ended in time.
    pub(crate) fn time_out_operations(&mut self, id: ConnectionId) {
        let now = self.now;
        let pair = self.connections.get_mut(&id);
        let Some(pair) = pair.and_then(|connection| connection.pair.as_mut()) else {
            return;
        };
        let oldest = pair.operations.front_mut();
        let Some(oldest) = oldest.filter(|one| one.deadline.is_some_and(|at| at <= now)) else {
            return;
        };
        oldest.deadline = None;
        pair.failure = Status::TimedOut;
        let to_error = QpModify {
            qp_state: Some(QpState::Err),
            ..QpModify::default()
        };
        // Every state but RESET can go to ERR; all operations complete with a flush error.
        let broken = self.verbs.modify_qp(pair.qp, &to_error);
        debug_assert!(broken.is_ok());
        self.poll_completions();
    }
}

/// Removes an operation from the list of a connection and frees the send buffer of the operation.
fn take_operation(connection: &mut Connection, id: OperationId) -> Option<PostedOperation> {
    let pair = connection.pair.as_mut()?;
    let at = pair.operations.iter().position(|one| one.id == id)?;
    let operation = pair.operations.remove(at)?;
    pair.free.extend(operation.buffer);
    Some(operation)
}

/// Returns the status of an operation whose work request ended with `status`. A failure breaks the
/// connection, and requests that are flushed afterwards fail for the same reason.
fn status_after(connection: &mut Connection, status: WcStatus) -> Status {
    let Some(pair) = &mut connection.pair else {
        return Status::Disconnected;
    };
    let status = match status {
        WcStatus::Success => return Status::Success,
        WcStatus::RetryExcErr => Status::TimedOut,
        WcStatus::RnrRetryExcErr => Status::ReceiverNotReady,
        WcStatus::RemAccessErr => Status::RmaHandle,
        WcStatus::WrFlushErr => pair.failure,
        _ => Status::OperationFailed,
    };
    if matches!(status, Status::TimedOut | Status::ReceiverNotReady) {
        pair.failure = status;
    }
    connection.apply_event(StageEvent::OperationFailed);
    status
}
