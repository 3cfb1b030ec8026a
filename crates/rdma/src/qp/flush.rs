//! Changes of state: attributes, the error state that flushes both queues, draining, and the way
//! back to RESET. IBA 10.3.1.

use super::receive_queue::{IncomingMessage, Responder};
use super::send_queue::SendQueue;
use super::transitions::{ServiceType, target_state};
use super::{Defect, RcQueuePair};
use crate::adapter::AdapterParts;
use crate::{AsyncEvent, Psn, QpAttributes, QpModify, QpState, VerbsError, WcStatus};

impl RcQueuePair {
    /// Changes attributes and the state.
    ///
    /// # Errors
    /// [`VerbsError::Invalid`] if the transition is illegal; then no attribute has changed.
    pub(crate) fn modify(
        &mut self,
        parts: &mut AdapterParts<'_>,
        modify: &QpModify,
    ) -> Result<(), VerbsError> {
        let from = self.state();
        let to = target_state(ServiceType::Rc, from, modify)?;
        if to == QpState::Reset {
            *self = Self::new(self.handle, self.init);
            return Ok(());
        }
        if to == QpState::Err {
            self.enter_error(parts);
            return Ok(());
        }
        self.attributes.apply_changes(modify);
        self.attributes.qp_state = to;
        self.address = modify.ah_attr.or(self.address);
        if let Some(psn) = modify.rq_psn {
            self.responder.expected = Psn::new(psn);
        }
        if let Some(psn) = modify.sq_psn {
            let psn = Psn::new(psn);
            (self.send.unacked, self.send.sent_end, self.send.next_psn) = (psn, psn, psn);
            let more = u8::from(parts.has_defect(Defect::RetryOnceMore));
            self.send.retries_left = self.attributes.retry_cnt + more;
            self.send.rnr_retries_left = self.attributes.rnr_retry;
        }
        if to == QpState::Sqd && from != QpState::Sqd {
            // Every request that is queued may have begun: all of them are finished.
            self.send.draining = self.send.entries.len();
            self.send.reports_drained = modify.en_sqd_async_notify == Some(true);
            self.report_drained(parts);
        }
        Ok(())
    }

    pub(super) fn report_drained(&mut self, parts: &mut AdapterParts<'_>) {
        let is_done = self.state() == QpState::Sqd && self.send.is_drained();
        if is_done && self.send.reports_drained {
            self.send.reports_drained = false;
            self.report_event(parts, AsyncEvent::SqDrained);
        }
    }

    /// Enters the error state: whatever is queued is flushed.
    pub(crate) fn enter_error(&mut self, parts: &mut AdapterParts<'_>) {
        self.attributes.qp_state = QpState::Err;
        self.flush_requests(parts);
    }

    /// Completes every queued request with a flush error, sends first.
    pub(super) fn flush_requests(&mut self, parts: &mut AdapterParts<'_>) {
        while !self.send.entries.is_empty() {
            self.complete_oldest_send(parts, WcStatus::WrFlushErr);
        }
        let (used, unsignaled) = (self.send.used, self.send.unsignaled);
        self.send = SendQueue {
            used,
            unsignaled,
            ..SendQueue::default()
        };
        if let Some(IncomingMessage::Send { receive, .. }) = self.responder.message.take() {
            self.complete_receive(parts, &receive, Err(WcStatus::WrFlushErr), true);
        }
        while let Some(receive) = self.responder.receives.pop_front() {
            self.complete_receive(parts, &receive, Err(WcStatus::WrFlushErr), true);
        }
        let used = self.responder.used;
        self.responder = Responder {
            used,
            msn: self.responder.msn,
            ..Responder::default()
        };
    }
}

impl QpAttributes {
    /// Returns the attributes of a queue pair in RESET.
    pub(super) const fn reset(cap: crate::QpCapabilities) -> Self {
        Self {
            qp_state: QpState::Reset,
            cap,
            path_mtu: None,
            dest_qp_num: 0,
            rq_psn: 0,
            sq_psn: 0,
            qp_access_flags: crate::Access::NONE,
            max_rd_atomic: 0,
            max_dest_rd_atomic: 0,
            min_rnr_timer: 0,
            timeout: 0,
            retry_cnt: 0,
            rnr_retry: 0,
        }
    }

    /// Takes over the attributes that a modification gives.
    pub(super) fn apply_changes(&mut self, modify: &QpModify) {
        self.path_mtu = modify.path_mtu.or(self.path_mtu);
        let set = |to: &mut u8, from: Option<u8>| *to = from.unwrap_or(*to);
        set(&mut self.max_rd_atomic, modify.max_rd_atomic);
        set(&mut self.max_dest_rd_atomic, modify.max_dest_rd_atomic);
        set(&mut self.min_rnr_timer, modify.min_rnr_timer);
        set(&mut self.timeout, modify.timeout);
        set(&mut self.retry_cnt, modify.retry_cnt);
        set(&mut self.rnr_retry, modify.rnr_retry);
        let set = |to: &mut u32, from: Option<u32>| *to = from.unwrap_or(*to);
        set(&mut self.dest_qp_num, modify.dest_qp_num);
        set(&mut self.rq_psn, modify.rq_psn);
        set(&mut self.sq_psn, modify.sq_psn);
        self.qp_access_flags = modify.qp_access_flags.unwrap_or(self.qp_access_flags);
    }
}
