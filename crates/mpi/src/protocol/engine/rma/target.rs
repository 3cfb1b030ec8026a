//! The target of accesses: its lock, its memory, and its answers with data.
//!
//! *Not decided here*: which packet requests which action; see the file above.

use std::collections::VecDeque;

use super::{ExposedWindow, WindowCalls, parts};
use crate::channel::Token;
use crate::exploration::{ExplorationFact, SendCause, causality};
use crate::rma::{self, AccumulateOp, NoncontiguousCall, RmaCall, WindowMemory};
use crate::{Buffer, Op};

/// Request for a lock: the rank, its operation, and true for an exclusive lock.
#[derive(Clone, Copy, Debug)]
pub(super) struct LockRequest {
    pub(super) rank: u32,
    pub(super) operation: Token,
    pub(super) exclusive: bool,
    /// The step in which the request arrived.
    pub(super) arrival: u32,
}

/// The lock of a window at one target.
#[derive(Clone, Default, Debug)]
pub(super) struct WindowLock {
    pub(super) holders: Vec<LockRequest>,
    pub(super) queue: VecDeque<LockRequest>,
    /// Under a model checker: the steps in which locks were given back that the next exclusive lock
    /// waits for, and true for exclusive ones.
    releases: Vec<(u32, bool)>,
}

impl WindowLock {
    /// Takes the first request that can be granted.
    fn grant(&mut self) -> Option<LockRequest> {
        let first = self.queue.front()?;
        let shared = !first.exclusive && self.holders.iter().all(|holder| !holder.exclusive);
        if !self.holders.is_empty() && !shared {
            return None;
        }
        let granted = self.queue.pop_front()?;
        self.holders.push(granted);
        Some(granted)
    }

    /// A rank gives the lock back in this step.
    pub(super) fn release(&mut self, rank: u32, step: u32) {
        let released = self.holders.extract_if(.., |holder| holder.rank == rank);
        let releases = released.map(|holder| (step, holder.exclusive));
        if step == SendCause::NONE {
            releases.for_each(drop);
        } else {
            self.releases.extend(releases);
        }
    }

    /// Takes the arrivals that a grant has waited for.
    fn take_causes(&mut self, granted: &LockRequest) -> Vec<u32> {
        let ordered = |release: &&(u32, bool)| granted.exclusive || release.1;
        let mut causes: Vec<u32> = self
            .releases
            .iter()
            .filter(ordered)
            .map(|one| one.0)
            .collect();
        causes.push(granted.arrival);
        if granted.exclusive {
            self.releases.clear();
        }
        causes
    }
}

impl ExposedWindow {
    /// Reads and changes the memory of the window. Returns the bytes that were read, if any, and
    /// where in the buffer of the origin they belong.
    pub(super) fn access_memory(
        &mut self,
        (offset, length): (u64, u64),
        call: RmaCall,
        payload: &Buffer,
    ) -> Option<(u64, Buffer)> {
        let memory = &mut self.memory;
        let bytes = match call {
            RmaCall::Get => length,
            RmaCall::CompareAndSwap => payload.len() / 2,
            _ => payload.len(),
        };
        let end = offset.checked_add(bytes);
        debug_assert!(
            end.is_some_and(|end| end <= memory.len()),
            "the origin knows the lengths of all windows"
        );
        end.filter(|&end| end <= memory.len())?;
        let (at, before) = match call {
            RmaCall::Get => (0, Some(memory.copy_range(offset, bytes))),
            RmaCall::GetAccumulate(_) | RmaCall::CompareAndSwap => {
                (length, Some(memory.copy_range(offset, bytes)))
            }
            _ => (0, None),
        };
        match call {
            RmaCall::Put => memory.write_part(offset, payload),
            RmaCall::Accumulate(op) | RmaCall::GetAccumulate(op) => {
                combine(memory, offset, op, payload);
            }
            RmaCall::CompareAndSwap => {
                let compared = payload.copy_range(0, bytes);
                let is_equal = before.as_ref().and_then(Buffer::bytes) == compared.bytes();
                if is_equal {
                    memory.write_part(offset, &payload.copy_range(bytes, bytes));
                }
            }
            _ => {}
        }
        before.map(|before| (at, before))
    }

    /// Reads and changes the places of the window that the first `described` bytes of a payload
    /// name.
    /// Returns as [`access_memory`](Self::access_memory).
    pub(super) fn access_places(
        &mut self,
        (described, at): (u64, u64),
        call: NoncontiguousCall,
        payload: &Buffer,
    ) -> Option<(u64, Buffer)> {
        let memory = &mut self.memory;
        let length = payload.len().checked_sub(described)?;
        let Some(bytes) = payload.bytes() else {
            let is_answered = matches!(call, NoncontiguousCall::GetAccumulate(_));
            return is_answered.then(|| (at, Buffer::phantom(length)));
        };
        let (description, data) = bytes.split_at_checked(usize::try_from(described).ok()?)?;
        let given = (call != NoncontiguousCall::Get).then_some(length);
        let places = rma::read(description, memory.len(), given);
        debug_assert!(
            places.is_some(),
            "the origin knows the lengths of all windows"
        );
        let places = places?;
        let op = match call {
            NoncontiguousCall::Get => return Some((at, memory.gather_segments(&places))),
            NoncontiguousCall::Put => {
                memory.scatter_segments(&places, &Buffer::from(data.to_vec()));
                return None;
            }
            NoncontiguousCall::Accumulate(op) | NoncontiguousCall::GetAccumulate(op) => {
                rma::op_from_code(op)
            }
        };
        let before = memory.gather_segments(&places);
        let mut after = before.clone();
        if let Some(bytes) = after.bytes_mut() {
            op.reduction().combine_into(data, bytes);
        }
        memory.scatter_segments(&places, &after);
        matches!(call, NoncontiguousCall::GetAccumulate(_)).then_some((at, before))
    }
}

impl WindowCalls<'_> {
    pub(super) fn grant_locks(&mut self) {
        while let Some(granted) = self.find_window().and_then(|window| window.lock.grant()) {
            let (rank, operation) = (granted.rank, granted.operation);
            if let Some(causes) = causality(self.channel)
                && let Some(window) = self.find_window()
            {
                let arrivals = window.lock.take_causes(&granted);
                causes.note_fact(ExplorationFact::FurtherCauses(&arrivals));
            }
            self.control_rma(rank, (RmaCall::Done, operation));
        }
        let holders = self.find_window().map(|window| {
            let holders = window.lock.holders.iter();
            holders.map(|holder| holder.rank).collect::<Vec<u32>>()
        });
        if let (Some(log), Some(holders)) = (&self.engine.call_log, holders) {
            log.accesses()
                .hold(self.context, self.channel.rank(), holders);
        }
    }

    /// Sends the result of an access to the origin.
    pub(super) fn send_result(
        &mut self,
        peer: u32,
        operation: Token,
        (at, result): (u64, &Buffer),
    ) {
        let most = self.packet_max();
        for (offset, part) in parts(result.len(), most, 1) {
            let request = (RmaCall::Result, operation);
            let place = (at + offset, 0);
            let payload = result.slice(offset, part);
            self.send_rma(peer, request, place, (payload, None));
        }
    }
}

/// `memory[offset..] = payload · memory[offset..]`, if both are real.
fn combine(memory: &mut WindowMemory, offset: u64, op: AccumulateOp, payload: &Buffer) {
    let op: Op = rma::op_from_code(op);
    if let Some(incoming) = payload.bytes() {
        let apply = |target: &mut [u8]| op.reduction().combine_into(incoming, target);
        memory.change_bytes(offset, payload.len(), apply);
    }
}
