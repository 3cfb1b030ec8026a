//! Sending again: negative acknowledgements, skipped responses, timeouts, and the end of retries.
//! IBA 9.7.5.2.8, 9.7.6.1, 9.9.2.4.

use super::send_queue::SendEntry;
use super::{Defect, RcQueuePair};
use crate::adapter::AdapterParts;
use crate::{Operation, Psn, QpState, RNR_TIMER_US, WcStatus};

/// The unit of the acknowledgement timeout, 4.096 µs, in picoseconds. IBA 9.7.6.1.3.
const TIMEOUT_UNIT: u64 = 4_096_000;

/// The value of `rnr_retry` without an end. IBA 9.7.5.2.8.
const RNR_RETRY_INFINITE: u8 = 7;

impl RcQueuePair {
    /// Starts the timer for the oldest packet without an acknowledgement, if there is one.
    pub(super) fn restart_timer(&mut self, parts: &AdapterParts<'_>) {
        let timeout = self.attributes.timeout;
        let runs = timeout > 0 && self.send.has_unacked();
        self.send.deadline = runs.then(|| parts.now + (TIMEOUT_UNIT << timeout));
    }

    /// Resets the retry counters and the timer after a packet was acknowledged.
    pub(super) fn note_progress(&mut self, parts: &AdapterParts<'_>) {
        self.send.retries_left = self.attributes.retry_cnt;
        self.send.rnr_retries_left = self.attributes.rnr_retry;
        self.restart_timer(parts);
    }

    /// A packet before `psn` was the last one that came: sends again from `psn` on.
    pub(super) fn handle_sequence_nak(&mut self, parts: &mut AdapterParts<'_>, psn: Psn) {
        if self.acknowledge_before(parts, psn) {
            self.retry();
        }
    }

    /// Handles a receiver that is not ready for `psn`: waits for the time that the receiver states.
    pub(super) fn handle_rnr_nak(&mut self, parts: &mut AdapterParts<'_>, psn: Psn, timer: u8) {
        if !self.acknowledge_before(parts, psn) {
            return;
        }
        if self.attributes.rnr_retry != RNR_RETRY_INFINITE {
            if parts.has_defect(Defect::RnrConsumesRetry) {
                self.retry();
            }
            match self.send.rnr_retries_left.checked_sub(1) {
                Some(left) => self.send.rnr_retries_left = left,
                None => return self.fail_oldest(WcStatus::RnrRetryExcErr),
            }
        }
        self.send.go_back();
        let wait = u64::from(RNR_TIMER_US[usize::from(timer & 31)]) * 1_000_000;
        self.send.rnr_until = Some(parts.now + wait);
        if parts.has_defect(Defect::RnrTimerIgnored) {
            self.send.rnr_until = None;
        }
    }

    /// The responder refuses the request with the packet `psn`.
    pub(super) fn handle_fatal_nak(
        &mut self,
        parts: &mut AdapterParts<'_>,
        psn: Psn,
        status: WcStatus,
    ) {
        if self.acknowledge_before(parts, psn) {
            self.fail_oldest(status);
        }
    }

    /// Retries after the response to the oldest request was skipped, once for the same request.
    pub(super) fn retry_skipped(&mut self) {
        if self.send.resent_from != Some(self.send.unacked) {
            self.retry();
        }
    }

    fn retry(&mut self) {
        match self.send.retries_left.checked_sub(1) {
            Some(left) => {
                self.send.retries_left = left;
                self.send.go_back();
            }
            None => self.fail_oldest(WcStatus::RetryExcErr),
        }
    }

    /// Handles the timeouts that are due.
    pub(crate) fn handle_timeout(&mut self, parts: &mut AdapterParts<'_>) {
        let runs = matches!(self.state(), QpState::Rts | QpState::Sqd);
        if self.send.rnr_until.is_some_and(|until| until <= parts.now) {
            self.send.rnr_until = None;
        }
        if runs
            && self
                .send
                .deadline
                .is_some_and(|deadline| deadline <= parts.now)
        {
            self.send.deadline = None;
            self.retry();
            self.end_failed(parts);
        }
    }

    fn fail_oldest(&mut self, status: WcStatus) {
        if let Some(entry) = self.send.entries.front_mut() {
            entry.failure.get_or_insert(status);
        }
    }

    /// Ends the oldest request after a failure, and all later requests.
    pub(super) fn end_failed(&mut self, parts: &mut AdapterParts<'_>) {
        let failure = self.send.entries.front().and_then(|entry| entry.failure);
        if let Some(status) = failure {
            self.complete_oldest_send(parts, status);
            self.enter_error(parts);
        } else {
            self.report_drained(parts);
        }
    }
}

/// Returns the payload in bytes of the next response to a read or an atomic.
pub(super) fn next_response_length(entry: &SendEntry, mtu: u32) -> usize {
    if !matches!(entry.operation, Operation::RdmaRead { .. }) {
        return 8;
    }
    (entry.length - entry.responses * mtu).min(mtu) as usize
}
