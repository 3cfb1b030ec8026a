//! Collective operations (MPI 5.0, chapter 6): the calls.
//!
//! Each operation comes in three forms: one that waits, one that returns a [`Request`] (`i…`), and
//! a persistent one (`…_init`). All of them select an algorithm, whose schedule the protocol engine
//! executes over point-to-point messages in a context of their own, so that no receive of the
//! program gets one. The result of a call is a buffer: in the [`Completion`](crate::Completion) of
//! a request, or returned by the call that waits.
//!
//! A rank leaves the call when its own part is over; only a barrier says anything about the others.
//!
//! *Lengths and counts* are in bytes. Buffers are real or phantom; the result is what the
//! contribution is.

use std::panic::Location;
use std::rc::Rc;

use ::collectives::{Block, Call, Collective, Facts, Selector};

use crate::channel::{Channel, Token};
use crate::protocol::engine::{CollectiveCall, ProtocolEngine};
use crate::{Buffer, Comm, Error, Op, Request, Result};

mod all;
mod barrier;
mod blocks;
mod call_log;
mod rooted;
mod scan;

pub use blocks::Blocks;
pub(crate) use call_log::Place;
pub use call_log::{CallLog, Mismatch};

/// A collective call with the arguments of the program.
#[derive(Clone, Debug)]
pub(crate) struct Invocation {
    pub(crate) kind: Collective,
    pub(crate) root: usize,
    /// The contribution, or the data of a broadcast.
    pub(crate) input: Buffer,
    /// A buffer for the result of a length that only the program knows.
    pub(crate) room: Option<Buffer>,
    pub(crate) op: Option<Op>,
    /// Blocks of different lengths, where the operation has them.
    pub(crate) send: Option<Blocks>,
    pub(crate) recv: Option<Blocks>,
}

impl Invocation {
    pub(crate) const fn new(kind: Collective, input: Buffer) -> Self {
        Self {
            kind,
            root: 0,
            input,
            room: None,
            op: None,
            send: None,
            recv: None,
        }
    }

    pub(crate) const fn with_root(mut self, root: usize) -> Self {
        self.root = root;
        self
    }

    pub(crate) fn with_op(mut self, op: &Op) -> Self {
        self.op = Some(op.clone());
        self
    }
}

/// The areas of a call.
struct Areas {
    send: Buffer,
    recv: Buffer,
    has_result: bool,
    /// Length of a contribution or of a block.
    bytes: u64,
}

fn in_32_bits(rank: usize) -> u32 {
    u32::try_from(rank).expect("ranks are counted in 32 bits")
}

impl Comm {
    /// Returns the areas of a call at this rank.
    fn areas(&self, call: &Invocation) -> Result<Areas> {
        let (size, input) = (self.size() as u64, &call.input);
        let is_root = self.rank() == call.root;
        let all = |bytes: u64| bytes.checked_mul(size).ok_or(Error::Type);
        let empty = || Buffer::phantom(0);
        let divided = || {
            let length = input.len();
            if length.is_multiple_of(size) {
                return Ok(length / size);
            }
            Err(Error::Count { length, size })
        };
        let blocks = |blocks: &Option<Blocks>| {
            let blocks = blocks.as_ref().map_or(&[][..], |blocks| blocks.listed());
            if blocks.len() == self.size() {
                let ends = blocks.iter().map(|block| block.offset + block.length);
                return Ok(ends.max().unwrap_or(0));
            }
            Err(Error::BlockCount {
                blocks: blocks.len(),
                size: self.size(),
            })
        };
        let fits = |expected: u64| {
            if input.len() >= expected {
                return Ok(());
            }
            Err(Error::Blocks {
                length: input.len(),
                expected,
            })
        };
        let own = |blocks: &Option<Blocks>| {
            let blocks = blocks.as_ref().map_or(&[][..], |blocks| blocks.listed());
            blocks.get(self.rank()).map_or(0, |block| block.length)
        };
        let areas = |send: Buffer, recv: Buffer, bytes: u64| Areas {
            send,
            recv,
            has_result: true,
            bytes,
        };
        Ok(match call.kind {
            Collective::Barrier => areas(empty(), empty(), 0),
            Collective::Bcast | Collective::Allreduce | Collective::Scan => {
                areas(empty(), input.clone(), input.len())
            }
            Collective::Reduce => Areas {
                has_result: is_root,
                ..areas(empty(), input.clone(), input.len())
            },
            Collective::Exscan => Areas {
                has_result: self.rank() > 0,
                ..areas(input.clone(), input.of_kind(input.len()), input.len())
            },
            Collective::Gather => {
                let length = if is_root { all(input.len())? } else { 0 };
                Areas {
                    has_result: is_root,
                    ..areas(input.clone(), input.of_kind(length), input.len())
                }
            }
            Collective::Gatherv => {
                let length = if is_root { blocks(&call.recv)? } else { 0 };
                if is_root {
                    let expected = own(&call.recv);
                    if input.len() != expected {
                        let length = input.len();
                        return Err(Error::Blocks { length, expected });
                    }
                }
                Areas {
                    has_result: is_root,
                    ..areas(input.clone(), input.of_kind(length), input.len())
                }
            }
            Collective::Scatter | Collective::Scatterv => {
                let room = call.room.clone().ok_or(Error::NoBuffer)?;
                let bytes = room.len();
                if is_root {
                    let expected = match call.kind {
                        Collective::Scatter => all(bytes)?,
                        _ => blocks(&call.send)?,
                    };
                    if call.kind == Collective::Scatterv && own(&call.send) != bytes {
                        let expected = own(&call.send);
                        let length = bytes;
                        return Err(Error::Blocks { length, expected });
                    }
                    fits(expected)?;
                }
                areas(input.clone(), room, bytes)
            }
            Collective::Allgather => {
                let recv = input.of_kind(all(input.len())?);
                areas(input.clone(), recv, input.len())
            }
            Collective::Allgatherv => {
                let length = blocks(&call.recv)?;
                let expected = own(&call.recv);
                if input.len() != expected {
                    let length = input.len();
                    return Err(Error::Blocks { length, expected });
                }
                areas(input.clone(), input.of_kind(length), expected)
            }
            Collective::Alltoall => areas(input.clone(), input.of_kind(input.len()), divided()?),
            Collective::Alltoallv | Collective::Alltoallw => {
                fits(blocks(&call.send)?)?;
                let length = blocks(&call.recv)?;
                areas(input.clone(), input.of_kind(length), 0)
            }
            Collective::ReduceScatter => {
                fits(blocks(&call.send)?)?;
                let bytes = own(&call.send);
                areas(input.clone(), input.of_kind(bytes), bytes)
            }
            Collective::ReduceScatterBlock => {
                let bytes = divided()?;
                areas(input.clone(), input.of_kind(bytes), bytes)
            }
        })
    }

    /// Selects the algorithm of a call and makes its areas.
    fn prepare(
        &self,
        invocation: &Invocation,
        location: &'static Location<'static>,
    ) -> Result<CollectiveCall> {
        let inner = self.collective()?;
        let (root, size) = (invocation.root, self.size());
        if root >= size {
            return Err(Error::Root { root, size });
        }
        let areas = self.areas(invocation)?;
        let mut call = Call::new(
            invocation.kind,
            in_32_bits(self.rank()),
            in_32_bits(size),
            areas.bytes,
        );
        call.root = in_32_bits(root);
        let mut facts = Facts::default();
        if let Some(op) = &invocation.op {
            call.commutative = op.is_commutative();
            call.element = op.element_size();
            facts.built_in = op.is_built_in();
            check_elements(op, invocation, &areas)?;
        }
        let listed = |blocks: &Option<Blocks>| -> Vec<Block> {
            blocks
                .as_ref()
                .map_or_else(Vec::new, |blocks| blocks.listed().to_vec())
        };
        if let Some(bytes) = equal_blocks(invocation) {
            call.bytes = bytes;
        } else if invocation.send.is_some() || invocation.recv.is_some() {
            call.blocks = Some(Rc::new(::collectives::Blocks {
                send: listed(&invocation.send),
                recv: listed(&invocation.recv),
            }));
        }
        let number = self.process().count_collective(inner.context());
        if let Some(log) = self.process().channel().call_log() {
            let (context, first) = (inner.context(), self.members().world(0));
            let place = Place {
                context,
                first,
                number,
            };
            let caller = (call.rank, self.world_rank(), call.size);
            log.compare(place, caller, invocation, location)?;
        }
        let selector = self.process().channel().settings().collectives.as_deref();
        let selector = selector.unwrap_or_else(|| Selector::ours());
        let algorithm = selector
            .select(&mut call, facts)
            .map_err(Error::Algorithm)?;
        Ok(CollectiveCall {
            algorithm,
            call,
            reduction: invocation.op.as_ref().map(|op| op.reduction().clone()),
            send: areas.send,
            recv: areas.recv,
            has_result: areas.has_result,
            members: self.members().clone(),
            context: inner.context(),
            number,
            location,
        })
    }

    /// Starts a collective. Its operation has the result.
    fn start(&self, call: CollectiveCall) -> Token {
        let start = |engine: &mut ProtocolEngine, channel: &dyn Channel| {
            engine.start_collective(channel, call)
        };
        self.process().with_engine(start)
    }

    /// Performs a collective and waits for its end. Returns the result.
    pub(crate) async fn perform(
        &self,
        invocation: Invocation,
        location: &'static Location<'static>,
    ) -> Result<Buffer> {
        let name = invocation.kind.name();
        self.perform_as(name, invocation, location).await
    }

    /// [`Comm::perform`] as a part of a call of this name.
    pub(crate) async fn perform_as(
        &self,
        name: &'static str,
        invocation: Invocation,
        location: &'static Location<'static>,
    ) -> Result<Buffer> {
        let call = self.prepare(&invocation, location)?;
        drop(invocation);
        let token = if self
            .process()
            .channel()
            .settings()
            .synchronizing_collectives
        {
            // In a box: most runs do not need the room.
            Box::pin(self.start_synchronized(name, Box::new(call))).await?
        } else {
            self.start(call)
        };
        let done = Request::new(self, token).wait_in(name, location).await?;
        Ok(done.buffer)
    }

    /// Starts a collective when all ranks have called it.
    async fn start_synchronized(
        &self,
        name: &'static str,
        call: Box<CollectiveCall>,
    ) -> Result<Token> {
        if call.call.collective != Collective::Barrier {
            let location = call.location;
            let token = self.start(call.synchronization());
            Request::new(self, token).wait_in(name, location).await?;
        }
        Ok(self.start(*call))
    }

    /// Starts a collective that the program waits for later.
    pub(crate) fn start_request(
        &self,
        invocation: &Invocation,
        location: &'static Location<'static>,
    ) -> Result<Request> {
        // What the rank does next does not depend on what its schedule has received.
        crate::exploration::choose(self.process().channel());
        let token = self.start(self.prepare(invocation, location)?);
        Ok(Request::new(self, token))
    }
}

fn check_elements(op: &Op, invocation: &Invocation, areas: &Areas) -> Result<()> {
    let element = op.element_size();
    let blocks = invocation.send.as_ref().map_or(&[][..], Blocks::listed);
    let mut lengths = blocks.iter().map(|block| block.length).chain([areas.bytes]);
    match lengths.find(|length| !length.is_multiple_of(element)) {
        Some(length) => Err(Error::Op { element, length }),
        None => Ok(()),
    }
}

/// Returns the length of all blocks if they have one length and are one behind the other.
fn equal_blocks(invocation: &Invocation) -> Option<u64> {
    let given = [&invocation.send, &invocation.recv];
    let mut lengths = given.into_iter().flatten().map(Blocks::equal_length);
    let first = lengths.next()??;
    lengths.all(|other| other == Some(first)).then_some(first)
}
