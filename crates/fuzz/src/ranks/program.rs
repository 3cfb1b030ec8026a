//! Rank programs: messages, and the operations of each rank on them.
//!
//! An operation names a message; each message has one send and one receive in the program. A
//! program in which ranks wait for each other without end is refused.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::FuzzProgram;

/// A message, and the pattern of its receive.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RankMessage {
    /// The sending rank.
    pub from: usize,
    /// The receiving rank, if no receive of this rank has a wildcard for the source.
    pub to: usize,
    /// The tag.
    pub tag: u32,
    /// Length in bytes.
    pub bytes: u64,
    /// True if the receive accepts each source.
    pub any_source: bool,
    /// True if the receive accepts each tag.
    pub any_tag: bool,
}

/// Form of a send.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SendForm {
    /// `MPI_Send`.
    Send,
    /// `MPI_Ssend`.
    Ssend,
    /// `MPI_Isend`.
    Isend,
    /// `MPI_Issend`.
    Issend,
}

impl SendForm {
    /// Returns true if the send is over when the call returns.
    pub const fn is_blocking(self) -> bool {
        matches!(self, Self::Send | Self::Ssend)
    }
}

/// An operation of a rank on a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RankOp {
    /// `MPI_Send`.
    Send(usize),
    /// `MPI_Ssend`.
    Ssend(usize),
    /// `MPI_Isend`.
    Isend(usize),
    /// `MPI_Issend`.
    Issend(usize),
    /// `MPI_Recv`.
    Recv(usize),
    /// `MPI_Irecv`.
    Irecv(usize),
    /// `MPI_Wait` for the send or receive of this message.
    Wait(usize),
    /// `MPI_Barrier`.
    Barrier,
}

impl RankOp {
    /// Returns the send of a message in a form.
    pub(super) const fn send_in_form(form: SendForm, message: usize) -> Self {
        match form {
            SendForm::Send => Self::Send(message),
            SendForm::Ssend => Self::Ssend(message),
            SendForm::Isend => Self::Isend(message),
            SendForm::Issend => Self::Issend(message),
        }
    }

    /// Returns the message.
    pub const fn message_index(self) -> Option<usize> {
        match self {
            Self::Send(message)
            | Self::Ssend(message)
            | Self::Isend(message)
            | Self::Issend(message)
            | Self::Recv(message)
            | Self::Irecv(message)
            | Self::Wait(message) => Some(message),
            Self::Barrier => None,
        }
    }

    /// Returns true if the operation is a send.
    pub const fn is_send(self) -> bool {
        matches!(
            self,
            Self::Send(_) | Self::Ssend(_) | Self::Isend(_) | Self::Issend(_)
        )
    }

    /// Returns true if the operation is a receive.
    pub const fn is_receive(self) -> bool {
        matches!(self, Self::Recv(_) | Self::Irecv(_))
    }

    /// Returns true if the operation is nonblocking, so that a wait ends it.
    pub const fn is_nonblocking(self) -> bool {
        matches!(self, Self::Isend(_) | Self::Issend(_) | Self::Irecv(_))
    }
}

/// A rank program.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RankProgram {
    /// Version of the format.
    pub version: u32,
    /// Messages shorter than this many bytes are sent eagerly.
    pub eager_threshold: u64,
    /// Operations of each rank.
    pub ranks: Vec<Vec<RankOp>>,
    /// Messages, by number.
    #[serde(default)]
    pub messages: Vec<RankMessage>,
}

impl RankProgram {
    /// Returns true if a receive accepts each source, so that executions may differ.
    pub fn has_choice(&self) -> bool {
        self.messages.iter().any(|message| message.any_source)
    }

    fn validate_rank(&self, rank: usize) -> Result<(), String> {
        let mut started = BTreeSet::new();
        for (at, op) in self.ranks[rank].iter().enumerate() {
            let refuse =
                |expected: &str| Err(format!("ranks[{rank}][{at}]: {op:?}: expected {expected}"));
            let Some(number) = op.message_index() else {
                continue;
            };
            let Some(message) = self.messages.get(number) else {
                return refuse(&format!("a message below {}", self.messages.len()));
            };
            if op.is_send() && message.from != rank {
                return refuse(&format!("the send on rank {}", message.from));
            }
            if op.is_receive() && message.to != rank {
                return refuse(&format!("the receive on rank {}", message.to));
            }
            if matches!(op, RankOp::Wait(_)) && !started.remove(&number) {
                return refuse("isend, issend or irecv of this message before it");
            }
            if op.is_nonblocking() && !started.insert(number) {
                return refuse("one send and one receive of each message");
            }
        }
        match started.first() {
            None => Ok(()),
            Some(number) => Err(format!(
                "ranks[{rank}]: expected wait = {number} at the end"
            )),
        }
    }

    fn validate_message(&self, number: usize) -> Result<(), String> {
        let message = &self.messages[number];
        let ranks = self.ranks.len();
        let place = format!("messages[{number}]");
        for (key, rank) in [("from", message.from), ("to", message.to)] {
            if rank >= ranks {
                return Err(format!(
                    "{place}.{key} = {rank}: expected a rank below {ranks}"
                ));
            }
        }
        if message.from == message.to {
            return Err(format!(
                "{place}.to = {}: expected another rank than the sender",
                message.to
            ));
        }
        if message.bytes > BYTES_MAX {
            return Err(format!(
                "{place}.bytes = {}: expected at most {BYTES_MAX}",
                message.bytes
            ));
        }
        if message.tag > mpi::TAG_UB {
            return Err(format!(
                "{place}.tag = {}: expected at most {}",
                message.tag,
                mpi::TAG_UB
            ));
        }
        let ops = || self.ranks.iter().flatten();
        let own = |op: &&RankOp| op.message_index() == Some(number);
        let sends = ops().filter(own).filter(|op| op.is_send()).count();
        let receives = ops().filter(own).filter(|op| op.is_receive()).count();
        if (sends, receives) != (1, 1) {
            return Err(format!(
                "{place}: {sends} sends and {receives} receives: expected one of each"
            ));
        }
        Ok(())
    }
}

/// The longest message. \[choice\]
pub(super) const BYTES_MAX: u64 = 1 << 20;

/// The most ranks: as many as hosts of the platforms. \[choice\]
pub(super) const RANKS_MAX: usize = 16;

impl FuzzProgram for RankProgram {
    const VERSION: u32 = 1;

    fn operations(&self) -> usize {
        self.ranks.iter().map(Vec::len).sum()
    }

    fn validate(&self) -> Result<(), String> {
        let count = self.ranks.len();
        if !(1..=RANKS_MAX).contains(&count) {
            return Err(format!("{count} ranks: expected 1 to {RANKS_MAX}"));
        }
        for rank in 0..count {
            self.validate_rank(rank)?;
        }
        for number in 0..self.messages.len() {
            self.validate_message(number)?;
        }
        let is_barrier = |op: &&RankOp| **op == RankOp::Barrier;
        let barriers = |rank: &[RankOp]| rank.iter().filter(is_barrier).count();
        let expected = barriers(&self.ranks[0]);
        for (rank, ops) in self.ranks.iter().enumerate() {
            if barriers(ops) != expected {
                return Err(format!(
                    "ranks[{rank}]: {} barriers: expected {expected}, as on rank 0",
                    barriers(ops)
                ));
            }
        }
        let stuck = stuck_ranks(&self.ranks, self.messages.len());
        if !stuck.is_empty() {
            return Err(format!(
                "ranks {stuck:?} are blocked if each send is synchronous: expected no deadlock"
            ));
        }
        Ok(())
    }
}

/// Returns the ranks that never end if each send is synchronous and each receive meets its own
/// message.
fn stuck_ranks(ranks: &[Vec<RankOp>], messages: usize) -> Vec<usize> {
    let mut at = vec![0; ranks.len()];
    // Numbers of sides of each message that are posted.
    let mut posted: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); messages];
    loop {
        let before = at.clone();
        for (rank, ops) in ranks.iter().enumerate() {
            while let Some(op) = ops.get(at[rank]) {
                let Some(number) = op.message_index() else {
                    break;
                };
                posted[number].insert(rank);
                if !op.is_nonblocking() && posted[number].len() < 2 {
                    break;
                }
                at[rank] += 1;
            }
        }
        let is_at_barrier =
            |(rank, ops): (usize, &Vec<RankOp>)| ops.get(at[rank]) == Some(&RankOp::Barrier);
        if ranks.iter().enumerate().all(is_at_barrier) {
            at.iter_mut().for_each(|at| *at += 1);
        }
        if at == before {
            let all = 0..ranks.len();
            return all.filter(|&rank| at[rank] < ranks[rank].len()).collect();
        }
    }
}
