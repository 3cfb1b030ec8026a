//! One side of a case: its adapter, and its other channel to the other side.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use super::wait_a_little;
use crate::{MemoryRegion, Verbs, WcStatus};

/// A reliable, ordered channel of messages between the two sides of a case.
pub trait SideChannel {
    /// Sends a message.
    fn send(&self, message: &[u8]);

    /// Returns the next message, if one has arrived; does not wait.
    fn receive(&self) -> Option<Vec<u8>>;
}

/// A channel within one program.
#[derive(Debug)]
pub struct InMemoryChannel {
    there: Rc<RefCell<VecDeque<Vec<u8>>>>,
    here: Rc<RefCell<VecDeque<Vec<u8>>>>,
}

impl InMemoryChannel {
    /// The two ends of one.
    #[must_use]
    pub fn pair() -> (Self, Self) {
        let (one, two) = (Rc::default(), Rc::default());
        let end = |there: &Rc<_>, here: &Rc<_>| Self {
            there: Rc::clone(there),
            here: Rc::clone(here),
        };
        (end(&one, &two), end(&two, &one))
    }
}

impl SideChannel for InMemoryChannel {
    fn send(&self, message: &[u8]) {
        self.there.borrow_mut().push_back(message.to_vec());
    }

    fn receive(&self) -> Option<Vec<u8>> {
        self.here.borrow_mut().pop_front()
    }
}

/// Known deviations of an adapter from the specification. The cases expect
/// exactly that.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Deviations {
    /// A local key that the adapter does not know is [`LocQpOpErr`](crate::WcStatus::LocQpOpErr)
    /// instead of [`LocProtErr`](crate::WcStatus::LocProtErr).
    pub unknown_lkey_is_an_operation_error: bool,
    /// A receive that is too short is [`RemOpErr`](crate::WcStatus::RemOpErr) at the sender and
    /// [`LocQpOpErr`](crate::WcStatus::LocQpOpErr) at the receiver, instead of
    /// [`RemInvReqErr`](crate::WcStatus::RemInvReqErr) and
    /// [`LocLenErr`](crate::WcStatus::LocLenErr).
    pub length_is_an_operation_error: bool,
    /// Receives posted in the error state stay in the queue instead of being flushed.
    pub late_receives_stay: bool,
    /// While a send queue drains, no packet is sent again, so a started request may never complete.
    pub draining_stops_retries: bool,
    /// After a send queue was drained, the requests in the queue continue only when another request
    /// is posted.
    pub drained_queues_need_a_push: bool,
}

impl Deviations {
    /// Linux's adapter in software, `rdma_rxe`, of kernel 6.1, as found by these cases.
    pub const RXE: Self = Self {
        unknown_lkey_is_an_operation_error: true,
        length_is_an_operation_error: true,
        late_receives_stay: true,
        draining_stops_retries: true,
        drained_queues_need_a_push: true,
    };
}

/// One side of a case.
#[expect(missing_debug_implementations, reason = "a link has nothing to show")]
pub struct Side<'a> {
    pub(super) verbs: &'a dyn Verbs,
    link: &'a dyn SideChannel,
    is_first: bool,
    pub(super) deviations: Deviations,
}

impl<'a> Side<'a> {
    /// A side with this adapter; the other side has the other value of `is_first`.
    #[must_use]
    pub fn new(verbs: &'a dyn Verbs, link: &'a dyn SideChannel, is_first: bool) -> Self {
        Self {
            verbs,
            link,
            is_first,
            deviations: Deviations::default(),
        }
    }

    /// The same with an adapter that deviates.
    #[must_use]
    pub fn deviating(self, deviations: Deviations) -> Self {
        Self { deviations, ..self }
    }

    /// Returns true for the first side: the sender, where only one side sends.
    #[must_use]
    pub fn is_first(&self) -> bool {
        self.is_first
    }

    /// Result of a local key that the adapter does not know.
    pub(super) fn unknown_lkey_error(&self) -> WcStatus {
        if self.deviations.unknown_lkey_is_an_operation_error {
            WcStatus::LocQpOpErr
        } else {
            WcStatus::LocProtErr
        }
    }

    /// Sends a message to the other side and returns the message of the other side.
    pub(super) async fn swap(&self, message: &[u8]) -> Vec<u8> {
        self.link.send(message);
        loop {
            if let Some(message) = self.link.receive() {
                return message;
            }
            wait_a_little().await;
        }
    }

    /// Waits until the other side is here too.
    pub(super) async fn meet(&self) {
        assert!(self.swap(b"here").await == b"here", "out of step");
    }

    /// Sends the address, length and remote key of a region to the other side, and returns the
    /// region of the other side.
    pub(super) async fn swap_region(&self, region: &MemoryRegion) -> MemoryRegion {
        let mut message = Vec::new();
        for word in [region.addr, region.length, u64::from(region.rkey)] {
            message.extend(word.to_be_bytes());
        }
        let message = self.swap(&message).await;
        let words: Vec<u64> = message
            .chunks_exact(8)
            .map(|word| u64::from_be_bytes(word.try_into().expect("8 bytes")))
            .collect();
        let [addr, length, rkey] = words[..] else {
            panic!("out of step");
        };
        MemoryRegion {
            handle: 0,
            addr,
            length,
            lkey: 0,
            rkey: u32::try_from(rkey).expect("a key"),
        }
    }
}
