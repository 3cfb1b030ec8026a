//! Helpers of several tests: a log that actors write, and short spans.

use std::cell::RefCell;
use std::rc::Rc;

use sim_core::Span;

/// A log of the observations of all actors, in the order in which they were added.
pub(crate) struct Log<T>(Rc<RefCell<Vec<T>>>);

impl<T> Log<T> {
    pub(crate) fn new() -> Self {
        Self(Rc::new(RefCell::new(Vec::new())))
    }

    pub(crate) fn add(&self, entry: T) {
        self.0.borrow_mut().push(entry);
    }

    pub(crate) fn take(&self) -> Vec<T> {
        self.0.take()
    }
}

impl<T> Clone for Log<T> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

/// A span of this many seconds.
pub(crate) fn secs(seconds: f64) -> Span {
    Span::from_secs(seconds)
}
