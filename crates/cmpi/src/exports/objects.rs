//! Kinds of objects that have properties: attributes, error handlers, hints.

use super::{Handle, about};
use crate::bridge::with;
use crate::datatypes::datatype as datatype_of;
use crate::errors::CallError;

/// The kind of an object that has properties.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Owner {
    Comm,
    Datatype,
    Window,
    Session,
}

impl Owner {
    /// Refuses a handle without an object of this kind, and records the object of the call.
    pub(super) fn check(self, object: Handle) -> Result<(), CallError> {
        match self {
            Self::Comm => about(object),
            Self::Datatype => datatype_of(object).map(drop),
            Self::Window => with(|state| state.window(object).map(drop)),
            Self::Session => with(|state| state.session(object)),
        }
    }
}
