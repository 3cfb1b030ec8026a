//! The latest read of a window under a lock, under a model checker: a repetition of the read may
//! have the same result.
//!
//! A read that has not changed the memory can be repeated at once with the same result, so a run in
//! which the repetition comes later and has this result shows no more: the rank stays there.

use super::{AccessCall, Windows};
use crate::Buffer;
use crate::channel::{RmaCall, Token, WindowRead};
use crate::rma::op_from_code;

#[derive(Clone, Debug)]
pub(super) struct LatestRead {
    access: AccessCall,
    token: Token,
    result: Option<Buffer>,
}

impl LatestRead {
    /// Returns true if the read waits for another result than before, or has got the same.
    fn is_vain(&self) -> bool {
        let (before, result) = (self.access.before.as_ref(), self.result.as_ref());
        before.is_some_and(|before| result.is_none_or(|result| result.bytes() == before.bytes()))
    }

    /// Returns true if the read with this result has not changed the memory.
    fn is_idle(&self, result: &[u8]) -> bool {
        let given = self.access.payload.bytes().unwrap_or_default();
        match self.access.call {
            RmaCall::Get => true,
            RmaCall::GetAccumulate(op) => {
                let mut after = result.to_vec();
                op_from_code(op).reduction().combine_into(given, &mut after);
                after == result
            }
            RmaCall::CompareAndSwap => {
                let (compared, written) = given.split_at(given.len() / 2);
                compared != result || written == result
            }
            _ => false,
        }
    }
}

impl Windows {
    fn latest_read(&self) -> Option<&LatestRead> {
        self.0.as_ref()?.reads.last()
    }

    /// Notes a read that begins.
    pub(super) fn note_read(&mut self, access: AccessCall, token: Token) {
        if let Some(windows) = &mut self.0 {
            windows.reads.retain(LatestRead::is_vain);
            windows.reads.push(LatestRead {
                access,
                token,
                result: None,
            });
        }
    }

    /// Notes the result of an operation. Returns true if the operation is a read that must not have
    /// this result.
    pub(super) fn note_result(&mut self, token: Token, result: &Buffer) -> bool {
        let reads = self.0.iter_mut().flat_map(|windows| &mut windows.reads);
        let mut pending = reads.filter(|read| read.result.is_none());
        let is_read = |read: &&mut LatestRead| {
            read.token == token && read.access.result.len() == result.len()
        };
        let Some(read) = pending.find(is_read) else {
            return false;
        };
        read.result = Some(result.clone());
        read.is_vain()
    }

    /// Returns the result of the latest read, if the read has not changed the memory.
    pub(crate) fn known_result(&self) -> Option<Buffer> {
        let latest = self.latest_read()?;
        let result = latest.result.as_ref()?;
        (latest.is_idle(result.bytes()?)).then(|| result.clone())
    }

    /// Returns the latest read, which the rank repeats without end.
    pub(crate) fn endless_read(&self) -> Option<WindowRead> {
        let latest = self.latest_read()?;
        Some(latest.access.window_read(latest.result.clone()?))
    }

    /// Returns true if a read was repeated for another result and has not got one.
    pub(crate) fn reads_in_vain(&self) -> bool {
        let reads = self.0.iter().flat_map(|windows| &windows.reads);
        reads.into_iter().any(LatestRead::is_vain)
    }
}
