//! Arguments of collective calls that are the same at all ranks, and that the message layer does
//! not use: the caller announces the arguments in words before the call.
//!
//! *Not compared*: calls of ranks in separate processes.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;

use observe::SourceLocation;
use serde::{Deserialize, Serialize};

use crate::Comm;

/// Arguments in words, with the group that agrees on the arguments.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct AgreedArguments {
    /// The world rank of rank 0 of the group.
    pub(super) group: u32,
    /// Such as `has root 3`.
    pub(super) text: Cow<'static, str>,
}

#[derive(Debug)]
struct Announcement {
    name: &'static str,
    location: SourceLocation,
    agreed: Option<AgreedArguments>,
}

/// The announced next calls, by the world rank of the caller.
#[derive(Default, Debug)]
pub(crate) struct AnnouncedCalls(RefCell<BTreeMap<u32, Announcement>>);

impl AnnouncedCalls {
    /// Returns the announced name of a call, and the arguments. An announcement at another line is
    /// of a call that has failed before.
    pub(super) fn take_announced(
        &self,
        world_rank: u32,
        location: SourceLocation,
    ) -> Option<(&'static str, Option<AgreedArguments>)> {
        let announced = &mut *self.0.borrow_mut();
        if announced.is_empty() {
            return None;
        }
        let announcement = announced.remove(&world_rank)?;
        (announcement.location == location).then_some((announcement.name, announcement.agreed))
    }
}

/// Announces the next collective call of a rank at this line: the name of the call in reports, and
/// arguments on which all ranks of the communicator agree, such as `has root 3`. Calls `arguments`
/// only if calls are compared.
#[track_caller]
pub fn announce_call(comm: &Comm, name: &'static str, arguments: impl FnOnce() -> Option<String>) {
    announce_call_at(comm, name, arguments, SourceLocation::caller());
}

/// Announces the next collective call of a rank at a line, as [`announce_call`].
pub(crate) fn announce_call_at<T: Into<Cow<'static, str>>>(
    comm: &Comm,
    name: &'static str,
    arguments: impl FnOnce() -> Option<T>,
    location: SourceLocation,
) {
    let Some(log) = comm.process().call_log() else {
        return;
    };
    let group = comm.members().world(0);
    let announcement = Announcement {
        name,
        location,
        agreed: arguments().map(|text| AgreedArguments {
            group,
            text: text.into(),
        }),
    };
    let announced = &mut *log.announced_calls().0.borrow_mut();
    announced.insert(comm.world_rank(), announcement);
}
