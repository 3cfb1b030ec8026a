//! Collective operations (MPI 5.0, chapter 6): the calls.
//!
//! Each operation returns a [`CollectiveCall`], which is awaited (`MPI_Bcast`), started
//! (`MPI_Ibcast`) or initialised (`MPI_Bcast_init`). Each call selects an algorithm. The protocol
//! engine executes the schedule of the algorithm over point-to-point messages in a separate
//! context, so that no receive of the program matches them. The result of a call is a buffer: in
//! the [`Completion`](crate::Completion) of a request, or returned by the awaited call.
//!
//! A rank leaves the call when its own part is over; only a barrier waits for the other ranks.
//!
//! *Lengths and counts* are in bytes. Buffers are real or phantom; the result is as the
//! contribution.

use observe::SourceLocation;
use std::rc::Rc;

use ::collectives::{
    Algorithm, Block, Call, Collective, Facts, NEIGHBORS, Neighbors, SENDRECV_REPLACE, Selector,
    independent,
};

use areas::Areas;

use crate::channel::{CollectiveWaits, Token};
use crate::exploration;
use crate::protocol::defect::{ProtocolDefect, ProtocolDefects};
use crate::protocol::engine::{CallNumber, PersistentNumber, PreparedCall, ScheduleExecutor};
use crate::{Buffer, Comm, Datatype, Error, Op, Result, Settings};

mod agreed_arguments;
mod areas;
mod between;
mod block_lengths;
mod blocks;
mod call;
mod call_log;
mod group_log;
mod neighbors;
mod operand_order;
mod operations;
pub(crate) mod position;
mod stored;
mod uncounted;

use agreed_arguments::AgreedArguments;
pub use agreed_arguments::announce_call;
pub(crate) use agreed_arguments::announce_call_at;
pub use between::InterRoot;
use block_lengths::BlockLengths;
pub use blocks::Blocks;
pub use call::CollectiveCall;
use call::Views;
pub use call_log::{CallComparison, CallLog, CallRecord, Mismatch};
pub(crate) use call_log::{CallPosition, Signature};
pub(crate) use group_log::{GroupCall, GroupLog};
pub use operand_order::MissingProperty;
pub use operations::CollectiveOperations;
pub(crate) use operations::{allgather_real, barrier_in};
pub use position::is_persistent_start;
pub(crate) use stored::StoredBytes;
pub(crate) use uncounted::broadcast_uncounted;

/// A collective call with the arguments of the program.
#[derive(Clone, Debug)]
pub(crate) struct Invocation {
    pub(crate) kind: Collective,
    /// The name of the call in reports.
    pub(crate) name: &'static str,
    pub(crate) root: usize,
    /// The contribution, or the data of a broadcast.
    pub(crate) input: Buffer,
    /// A buffer for the result of a length that only the program knows.
    pub(crate) room: Option<Buffer>,
    pub(crate) op: Option<Op>,
    /// True if the contribution is where the result will be, although the operation has an area
    /// for each.
    pub(crate) in_place: bool,
    /// True if the program gives `MPI_IN_PLACE`.
    pub(crate) has_in_place_argument: bool,
    /// Blocks of different lengths, where the operation has them.
    pub(crate) send: Option<Blocks>,
    pub(crate) recv: Option<Blocks>,
    /// True over an intercommunicator; the ranks of the call are then the ranks of both groups.
    pub(crate) is_between: bool,
    /// The neighbours, in exchanges between them.
    pub(crate) neighbors: Option<Rc<Neighbors>>,
    /// Datatypes of a contribution that is not packed.
    pub(crate) views: Option<Box<Views>>,
    /// The number of a persistent request, assigned at its initialisation.
    pub(crate) persistent: Option<PersistentNumber>,
}

impl Invocation {
    pub(crate) const fn new(kind: Collective, input: Buffer) -> Self {
        Self {
            kind,
            name: kind.name(),
            root: 0,
            input,
            room: None,
            op: None,
            in_place: false,
            has_in_place_argument: false,
            send: None,
            recv: None,
            is_between: false,
            neighbors: None,
            views: None,
            persistent: None,
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

    fn with_blocks(mut self, send: Blocks, recv: Blocks) -> Self {
        (self.send, self.recv) = (Some(send), Some(recv));
        self
    }

    /// Returns the exchange of items: of each block their number, displacement and datatype.
    fn with_types(
        self,
        send: &[(u64, u64, Datatype)],
        recv: &[(u64, u64, Datatype)],
    ) -> Result<Self> {
        let lengths = |blocks: &[(u64, u64, Datatype)]| {
            Blocks::packed(blocks.iter().map(|(count, _, item)| count * item.size()))
        };
        let mut call = self.with_blocks(lengths(send), lengths(recv));
        let views = call.views_mut();
        views.send = Some((1, Datatype::structure(send)?));
        views.recv = Some((1, Datatype::structure(recv)?));
        Ok(call)
    }

    /// Selects the algorithm of a call and makes its areas; `is_request` if the program continues
    /// during the call.
    fn prepare_call(
        &self,
        comm: &Comm,
        is_request: bool,
        location: SourceLocation,
    ) -> Result<PreparedCall> {
        let context = comm.call_context()?;
        let (root, size) = (self.root, comm.size());
        if root >= size && root != between::NO_ROOT {
            return Err(Error::Root { root, size });
        }
        let areas = Areas::new(comm, self)?;
        let mut call = Call::new(
            self.kind,
            in_32_bits(comm.rank()),
            in_32_bits(size),
            areas.bytes,
        );
        call.root = u32::try_from(root).unwrap_or(Call::NO_ROOT);
        if self.is_between {
            call.first_group = comm.members().first_group();
        }
        let settings = comm.process().channel().settings();
        let placement = settings.placement.as_deref();
        call.nodes = placement.and_then(|placement| comm.members().nodes(placement));
        call.in_place = self.in_place;
        call.neighbors.clone_from(&self.neighbors);
        let mut facts = Facts::from_nodes(call.nodes.as_ref());
        if let Some(op) = &self.op {
            call.commutative = op.is_commutative();
            call.element = op.element_size();
            facts.built_in = op.is_built_in();
            check_elements(op, self, &areas)?;
        }
        let listed = |blocks: &Option<Blocks>| -> Vec<Block> {
            blocks
                .as_ref()
                .map_or_else(Vec::new, |blocks| blocks.listed().to_vec())
        };
        if let Some(bytes) = equal_blocks(self).filter(|_| !self.is_between) {
            call.bytes = bytes;
        } else if self.send.is_some() || self.recv.is_some() {
            call.blocks = Some(Rc::new(::collectives::Blocks {
                send: listed(&self.send),
                recv: listed(&self.recv),
            }));
        }
        let number = match self.persistent {
            Some(persistent) => persistent.next_start(),
            None => (comm.process()).count_call(context, self.neighbors.is_none()),
        };
        let signature = || Signature::new(self, is_request, location);
        let arguments = Some(self).filter(|call| !call.is_between);
        compare_call(comm, context, number, (signature, location), arguments)?;
        let is_independent = match settings.collective_waits {
            CollectiveWaits::Algorithm => is_request && call.neighbors.is_some(),
            CollectiveWaits::Data => !call.in_place,
        };
        let (algorithm, asks_nodes) = select(settings, &mut call, facts, is_independent)?;
        Ok(PreparedCall {
            name: self.name,
            algorithm,
            is_independent,
            asks_nodes,
            call,
            reduction: self.op.as_ref().map(|op| op.reduction().clone()),
            send: areas.send,
            recv: areas.recv,
            has_result: areas.has_result,
            members: comm.members().clone(),
            context,
            number,
            location,
        })
    }

    fn views_mut(&mut self) -> &mut Views {
        self.views.get_or_insert_with(|| {
            Box::new(Views {
                send: None,
                recv: None,
                target: Buffer::phantom(0),
            })
        })
    }
}

pub(crate) fn in_32_bits(rank: usize) -> u32 {
    u32::try_from(rank).expect("ranks are counted in 32 bits")
}

/// Compares a collective call with the calls of the other ranks. Returns the place of the call.
///
/// # Errors
/// [`Error::Mismatch`] if another rank makes a different call.
pub(crate) fn compare_call(
    comm: &Comm,
    context: u32,
    number: CallNumber,
    (signature, location): (impl Fn() -> Signature, SourceLocation),
    arguments: Option<&Invocation>,
) -> Result<CallPosition> {
    let place = CallPosition {
        context,
        first: comm.members().world(0),
        number: number.position,
    };
    let channel = comm.process().channel();
    // A receive finds another length of a neighbour, too, except where empty messages are omitted.
    let compared =
        arguments.filter(|call| call.neighbors.is_none() || exploration::is_explored(channel));
    let record = |announced: Option<(&'static str, Option<AgreedArguments>)>| {
        let mut signature = signature();
        // Of two ranks, each sends the type that the other one receives (section 8.6): two types.
        if arguments.is_some_and(|call| call.neighbors.is_some()) && comm.size() <= 2 {
            signature = signature.without_element();
        }
        let (signature, agreed) = match announced {
            Some((name, agreed)) => (signature.with_name(name), agreed),
            None => (signature, None),
        };
        CallRecord {
            context,
            first: place.first,
            rank: comm.rank_in_32_bits(),
            world_rank: comm.world_rank(),
            size: comm.members().count(),
            signature,
            blocks: compared.and_then(|call| BlockLengths::from_call(call, comm.rank())),
            agreed,
        }
    };
    match comm.process().call_comparison() {
        CallComparison::None => {}
        CallComparison::Here(log) => {
            let orders = channel.settings().operand_orders.is_some();
            let reduces = arguments.filter(|call| orders && call.op.is_some());
            let operand = reduces.map(|call| call.input.clone());
            let announced = (log.announced_calls()).take_announced(comm.world_rank(), location);
            let operands = log.compare_call(number.position, &record(announced), operand);
            let operands = operands.map_err(Error::of_calls)?;
            if let Some(call) = reduces.filter(|_| !operands.is_empty()) {
                operand_order::check_operand_order(channel, call, &operands, location)?;
            }
        }
        CallComparison::Elsewhere(report) => report(number.position, record(None)),
    }
    Ok(place)
}

/// Starts a collective call. The result is in the operation of the returned token.
fn start_prepared(comm: &Comm, call: PreparedCall) -> Token {
    comm.process()
        .with_engine(|engine, channel| ScheduleExecutor::new(engine, channel).start_call(call))
}

/// Returns the algorithm of a call, and true if the ranks exchange their nodes before the call.
fn select(
    settings: &Settings,
    call: &mut Call,
    facts: Facts,
    is_independent: bool,
) -> Result<(&'static Algorithm, bool)> {
    use Collective::{Barrier, Bcast, Gather, Reduce, Scatter};
    let is_rooted = matches!(call.collective, Bcast | Gather | Reduce | Scatter);
    if is_rooted && ProtocolDefects::default().has(ProtocolDefect::BarrierForRooted) {
        call.collective = Barrier;
    }
    if call.in_place {
        // The libraries select none.
        return Ok((SENDRECV_REPLACE, false));
    }
    if call.neighbors.is_some() {
        return Ok((NEIGHBORS, false));
    }
    if is_independent {
        return Ok((independent(call), false));
    }
    let selector = settings.collectives.as_deref();
    let selector = selector.unwrap_or_else(|| Selector::ours());
    if call.is_between() {
        return Ok((selector.choose_between(call, facts), false));
    }
    let selected = selector.choose_algorithm(call, facts);
    let selected = selected.map_err(Error::Algorithm)?;
    let asks_nodes = settings.node_setup && selector.asks_nodes(&selected, call.collective);
    Ok((selected.algorithm, asks_nodes))
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
