//! Execution of rank programs, and the messages that the ranks receive.
//!
//! The content of a message is a pattern of its number, so that each byte is checked by a digest.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use mpi::{Completion, Source, Tag, prelude::*};

use super::program::{RankOp, RankProgram};

/// A received message.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Received {
    /// The message to which the receive belongs in the program.
    pub receive: usize,
    /// The source that the status has.
    pub source: usize,
    /// The tag that the status has.
    pub tag: u32,
    /// The length that the status has.
    pub bytes: u64,
    /// Digest of the content: FNV-1a, 64 bits.
    pub digest: u64,
}

/// Receives the messages of each rank as they complete.
pub(super) type ReceiveLog = Rc<RefCell<Vec<Vec<Received>>>>;

/// Returns the content of a message.
pub(super) fn message_content(number: usize, bytes: u64) -> Vec<u8> {
    let at = |at: u64| (at.wrapping_mul(31) + at / 251 + 7 * number as u64 + 1).to_le_bytes()[0];
    (0..bytes).map(at).collect()
}

/// Returns the digest of a content.
pub(super) fn digest(bytes: &[u8]) -> u64 {
    let add = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, add)
}

/// Executes the operations of a rank. `receives` is called with each received message.
pub(super) async fn play(
    world: Comm,
    program: Rc<RankProgram>,
    mut receives: impl FnMut(Received),
) -> Result<()> {
    let mut pending: BTreeMap<usize, Request> = BTreeMap::new();
    let to_this_rank = program.messages.iter().filter(|one| one.to == world.rank());
    let longest = to_this_rank.map(|one| one.bytes).max().unwrap_or(0);
    for op in &program.ranks[world.rank()] {
        let Some(number) = op.message_index() else {
            world.barrier().await?;
            continue;
        };
        let message = program.messages[number];
        let (to, tag) = (message.to, message.tag);
        let sent = || world.buffer_from(&message_content(number, message.bytes));
        let source = if message.any_source {
            ANY_SOURCE
        } else {
            Source::Rank(message.from)
        };
        let pattern = if message.any_tag {
            ANY_TAG
        } else {
            Tag::Is(tag)
        };
        let receive = || world.irecv(world.buffer(longest), source, pattern);
        match op {
            RankOp::Send(_) => world.send(&sent(), to, tag).await?,
            RankOp::Ssend(_) => world.ssend(&sent(), to, tag).await?,
            RankOp::Isend(_) => drop(pending.insert(number, world.isend(sent(), to, tag)?)),
            RankOp::Issend(_) => drop(pending.insert(number, world.issend(sent(), to, tag)?)),
            RankOp::Irecv(_) => drop(pending.insert(number, receive()?)),
            RankOp::Recv(_) => receives(to_received(number, &receive()?.wait().await?)),
            RankOp::Wait(_) => {
                let Some(mut request) = pending.remove(&number) else {
                    continue;
                };
                let done = request.wait().await?;
                if message.to == world.rank() {
                    receives(to_received(number, &done));
                }
            }
            RankOp::Barrier => {}
        }
    }
    Ok(())
}

fn to_received(receive: usize, done: &Completion) -> Received {
    let status = done.status;
    let length = usize::try_from(status.length).unwrap_or(usize::MAX);
    let bytes = done.buffer.bytes().unwrap_or_default();
    Received {
        receive,
        source: status.source,
        tag: status.tag,
        bytes: status.length,
        digest: digest(&bytes[..length.min(bytes.len())]),
    }
}

/// Returns the program for ranks that are processes: each rank prints the received messages in the
/// form that [`parse_received`] reads.
pub fn printing(program: &RankProgram) -> impl run::Program + use<> {
    let program = Rc::new(program.clone());
    run::RankProgram::new(move |world: Comm| {
        let printer = world.clone();
        play(world, Rc::clone(&program), move |received| {
            printer.println(format_args!("{}", received_line(&received)));
        })
    })
}

/// Returns a received message as a line.
fn received_line(received: &Received) -> String {
    let Received {
        receive,
        source,
        tag,
        bytes,
        digest,
    } = received;
    format!("received {receive} {source} {tag} {bytes} {digest}")
}

/// Reads a received message from a line of a [`printing`] program; `None` for any other line.
pub fn parse_received(line: &str) -> Option<Received> {
    let mut words = line.strip_prefix("received ")?.split(' ');
    let mut word = || words.next()?.parse::<u64>().ok();
    Some(Received {
        receive: usize::try_from(word()?).ok()?,
        source: usize::try_from(word()?).ok()?,
        tag: u32::try_from(word()?).ok()?,
        bytes: word()?,
        digest: word()?,
    })
}
