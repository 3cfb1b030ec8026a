//! A completion queue: entries that wait to be polled, notification, overflow. IBA 11.4.2,
//! `ibv_poll_cq(3)`, `ibv_req_notify_cq(3)`.

use std::collections::VecDeque;

use crate::WorkCompletion;

/// An entry of a completion queue.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct CompletionEntry {
    pub(crate) completion: WorkCompletion,
    /// Solicited by the sender, or an error: also notifies about solicited completions only.
    pub(crate) solicited: bool,
    /// Places of the queue pair's send queue that are free again once the entry is polled.
    pub(crate) sends: u32,
    /// Places of the queue pair's receive queue that are free again once the entry is polled.
    pub(crate) receives: u32,
}

/// Requested notifications. `ibv_req_notify_cq(3)`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Notification {
    None,
    Solicited,
    Any,
}

/// A completion queue.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct CompletionRing {
    length: usize,
    pub(crate) entries: VecDeque<CompletionEntry>,
    notification: Notification,
    pub(crate) has_overflowed: bool,
}

impl CompletionRing {
    pub(crate) fn new(length: usize) -> Self {
        Self {
            length,
            entries: VecDeque::new(),
            notification: Notification::None,
            has_overflowed: false,
        }
    }

    /// Adds an entry, and returns true if a notification was requested for the entry. An entry that
    /// finds no place is lost, and the queue is unusable from then on.
    pub(crate) fn push_entry(&mut self, entry: CompletionEntry) -> bool {
        if self.entries.len() >= self.length {
            self.has_overflowed = true;
        }
        if self.has_overflowed {
            return false;
        }
        let notifies = match self.notification {
            Notification::None => false,
            Notification::Solicited => entry.solicited,
            Notification::Any => true,
        };
        if notifies {
            self.notification = Notification::None;
        }
        self.entries.push_back(entry);
        notifies
    }

    /// Requests a notification for the next entry; a request for any one outlives one for
    /// solicited ones only.
    pub(crate) fn request_notification(&mut self, solicited_only: bool) {
        if !solicited_only {
            self.notification = Notification::Any;
        } else if self.notification == Notification::None {
            self.notification = Notification::Solicited;
        }
    }
}
