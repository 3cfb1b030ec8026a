//! The epochs of a rank at a window: which accesses and calls are allowed.
//!
//! An access needs an epoch (MPI 5.0, section 12.5): a lock of the target, `start` with the target
//! in the group, or an earlier fence. Calls that would begin a second epoch of another kind are
//! errors, as are calls that end an epoch that has not begun.
//!
//! *Not decided here*: epochs of the target. An access to a rank that has not called `fence`, or
//! under a lock while the target exposes its memory by `post`, is not found.

use observe::SourceLocation;
use std::collections::{BTreeMap, BTreeSet};

use super::SyncMode;
use super::error::WindowError;
use crate::{Error, Request, Result};

/// The epochs of a rank at a window, with the calls that have begun them. Ranks are ranks of the
/// communicator.
#[derive(Default, Debug)]
pub(super) struct Epochs {
    /// The latest fence.
    pub(super) fence: Option<SourceLocation>,
    /// Number of fences that have ended.
    pub(super) fences: u32,
    /// The access epoch of `start`: the targets and the location of the call.
    pub(super) start: Option<(Vec<usize>, SourceLocation)>,
    /// The exposure epoch of `post`.
    pub(super) post: Option<(Request, SourceLocation)>,
    /// The locks of single targets.
    pub(super) locks: BTreeMap<usize, SourceLocation>,
    pub(super) lock_all: Option<SourceLocation>,
    /// The targets that have granted a lock since `lock_all`.
    pub(super) granted: BTreeSet<usize>,
    /// Targets of accesses since the latest synchronisation with them.
    pub(super) touched: BTreeSet<usize>,
}

fn window_error(error: WindowError) -> Error {
    Error::of_window(error)
}

impl Epochs {
    /// Returns how an access to a target is synchronised.
    pub(super) fn mode(&self, window: u32, rank: usize) -> Result<SyncMode> {
        if self.lock_all.is_some() || self.locks.contains_key(&rank) {
            return Ok(SyncMode::Lock);
        }
        match &self.start {
            Some((targets, _)) if targets.contains(&rank) => Ok(SyncMode::Exposure),
            None if self.fence.is_some() => Ok(SyncMode::Fence),
            _ => Err(window_error(WindowError::NoEpoch { window, rank })),
        }
    }

    /// Returns the synchronisation of the accesses of other ranks with the rank's own stores to the
    /// window.
    pub(super) fn store_mode(&self) -> SyncMode {
        let is_locking = self.lock_all.is_some() || !self.locks.is_empty();
        match (&self.post, self.fence) {
            (Some(_), _) => SyncMode::Exposure,
            (None, Some(_)) if !is_locking => SyncMode::Fence,
            _ => SyncMode::Lock,
        }
    }

    /// Checks that no epoch is in progress, but one of fences without accesses.
    pub(super) fn check_none(&self, call: &'static str, window: u32) -> Result<()> {
        self.check_no_access(call, window)?;
        match &self.post {
            Some((_, location)) => Err(window_error(WindowError::InEpoch {
                call,
                window,
                begun_by: "post",
                location: *location,
            })),
            None => Ok(()),
        }
    }

    /// Checks that no access epoch is in progress, but one of fences without accesses.
    pub(super) fn check_no_access(&self, call: &'static str, window: u32) -> Result<()> {
        let lock = self.locks.values().next().copied();
        let fence = self
            .fence
            .filter(|_| call != "fence" && !self.touched.is_empty());
        let begun = [
            ("lock", lock),
            ("lock_all", self.lock_all),
            ("start", self.start.as_ref().map(|(_, at)| *at)),
            ("fence", fence),
        ];
        let begun = begun.into_iter().find_map(|(by, at)| Some((by, at?)));
        match begun {
            Some((begun_by, location)) => Err(window_error(WindowError::InEpoch {
                call,
                window,
                begun_by,
                location,
            })),
            None => Ok(()),
        }
    }

    /// Checks that a lock of one target may be requested.
    pub(super) fn check_lock(&self, window: u32, rank: usize) -> Result<()> {
        if let Some(location) = self.locks.get(&rank).copied().or(self.lock_all) {
            return Err(window_error(WindowError::Locked {
                window,
                rank,
                location,
            }));
        }
        if !self.locks.is_empty() {
            // Several targets may be locked at a time.
            return Ok(());
        }
        self.check_no_access("lock", window)
    }

    /// Checks that a target is locked.
    pub(super) fn check_locked(&self, call: &'static str, window: u32, rank: usize) -> Result<()> {
        let all = self.lock_all.is_some() && call != "unlock";
        if all || self.locks.contains_key(&rank) {
            return Ok(());
        }
        Err(window_error(WindowError::NotLocked { call, window, rank }))
    }
}
