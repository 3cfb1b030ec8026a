//! Details of errors: texts and lines that few errors have.
//!
//! Each operation ends with a result, so an [`Error`](crate::Error) is short and has no destructor.
//! The details of an error are kept until the process ends; equal details are kept once.

use std::sync::{Mutex, PoisonError};

/// Details of one type of all errors of the process.
pub(crate) struct Details<T: 'static>(Mutex<Vec<&'static T>>);

impl<T: PartialEq> Details<T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Returns the kept details that are equal to these.
    pub(crate) fn intern_details(&self, details: T) -> &'static T {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = all.iter().find(|known| ***known == details) {
            return known;
        }
        let kept = Box::leak(Box::new(details));
        all.push(kept);
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    #[test]
    fn equal_details_are_kept_once() {
        static TEXTS: Details<String> = Details::new();
        let [one, same, other] =
            ["one", "one", "other"].map(|text| TEXTS.intern_details(text.to_owned()));
        assert!(std::ptr::eq(one, same));
        assert_eq!((one.as_str(), other.as_str()), ("one", "other"));
    }

    #[test]
    fn an_error_is_short_and_has_no_destructor() {
        assert!(size_of::<Error>() <= 40, "{}", size_of::<Error>());
        assert!(!std::mem::needs_drop::<Error>());
    }
}
