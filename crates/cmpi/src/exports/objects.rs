//! Kinds of objects that have properties: attributes, error handlers, hints.

use crate::bridge::with_state;
use crate::datatypes::datatype as datatype_of;
use crate::errors::CallError;
use crate::state::Handle;
use crate::state::properties::PropertyOwner;

impl PropertyOwner {
    /// Refuses a handle without an object of this kind, and records the object of the call.
    pub(super) fn check(self, object: Handle) -> Result<(), CallError> {
        match self {
            Self::Comm => about(object),
            Self::Datatype => datatype_of(object).map(drop),
            Self::Window => with_state(|state| state.window(object).map(drop)),
            Self::Session => with_state(|state| state.session(object)),
        }
    }
}

/// Records the communicator of a call before the other arguments are checked: errors in these
/// arguments go to the error handler of the communicator.
pub(super) fn about(comm: Handle) -> Result<(), CallError> {
    with_state(|state| state.comm(comm).map(drop))
}
