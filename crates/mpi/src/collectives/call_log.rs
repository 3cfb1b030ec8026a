//! The collective calls of all ranks of a process, compared with each other.
//!
//! All ranks of a communicator call the same collectives in the same order, with the same root,
//! operation and lengths (MPI 5.0, section 6.1). Calls that make or free a communicator have a
//! position among the collectives, too. Each call is compared with the first call at the same
//! position. If all ranks run in one process, as in a simulation, the call is compared when it is
//! made: the later caller gets the error, which names both lines. Ranks in separate processes send
//! their calls to a process with the log of all ([`CallComparison::Elsewhere`]): by then, such a
//! rank may have got the wrong message or an error of its length, or may wait.

use observe::SourceLocation;
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use ::collectives::Collective;
use serde::{Deserialize, Serialize};

use super::Invocation;
use super::agreed_arguments::{AgreedArguments, AnnouncedCalls};
use super::block_lengths::BlockLengths;
use super::group_log::GroupLog;
use super::position;
use super::stored::StoredBytes;
use crate::Element;
use crate::rma::AccessLog;
use crate::{Buffer, ErrorClass, TypeSignature};

/// A name that is in the program, or came from another process.
type Name = Cow<'static, str>;

/// Arguments in which the calls of all ranks agree.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Signature {
    name: Name,
    /// True for a call that does not wait, which matches no other (MPI 5.0, section 6.12).
    is_nonblocking: bool,
    root: usize,
    /// True for `MPI_IN_PLACE` in a call to which all ranks give `MPI_IN_PLACE` or none.
    is_in_place: bool,
    /// The operation and the type of the elements.
    op: Option<(Name, Name)>,
    /// The type of the elements of the buffer.
    element: Element,
    /// Length of the contribution or of the block in bytes.
    bytes: Option<u64>,
    file: Name,
    line: u32,
}

/// A collective call of one rank, without its position.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CallRecord {
    pub(crate) context: u32,
    /// The world rank of the communicator's rank 0.
    pub(crate) first: u32,
    /// The caller, in the communicator and in the world.
    pub(crate) rank: u32,
    pub(crate) world_rank: u32,
    /// The number of ranks of the communicator.
    pub(crate) size: u32,
    pub(crate) signature: Signature,
    pub(crate) blocks: Option<BlockLengths>,
    pub(crate) agreed: Option<AgreedArguments>,
}

/// A position among the collectives of a communicator. Groups that one call has made share a
/// context, and no rank.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct CallPosition {
    pub(crate) context: u32,
    /// The world rank of the communicator's rank 0.
    pub(crate) first: u32,
    /// The position of the call; see [`position`].
    pub(crate) number: u32,
}

/// A position at which some ranks have called a collective.
#[derive(Debug)]
struct Position {
    signature: Signature,
    /// The first caller, in the communicator and in the world.
    first: u32,
    first_in_world: u32,
    size: u32,
    count: u32,
    /// The ranks that have called, a bit each.
    callers: Vec<u64>,
    /// The contributions by rank, where they are kept.
    operands: Vec<Buffer>,
    /// By rank, where blocks have different lengths.
    blocks: Vec<Option<CallRecord>>,
    /// The first call of each group that agrees on arguments.
    agreed: Vec<CallRecord>,
}

/// The collective calls that not all ranks have made yet, and the calls that have sent messages
/// with elements of a known type; groups of new communicators; accesses to windows in progress;
/// memory of messages.
#[derive(Default, Debug)]
pub struct CallLog {
    open: RefCell<BTreeMap<CallPosition, Position>>,
    sends: RefCell<Vec<SourceLocation>>,
    groups: GroupLog,
    announced: AnnouncedCalls,
    accesses: AccessLog,
    stored: StoredBytes,
}

/// Place where the collective calls of a rank are compared with the calls of the other ranks.
#[derive(Clone, Default)]
pub enum CallComparison {
    /// No place.
    #[default]
    None,
    /// This process, in which all ranks run.
    Here(Rc<CallLog>),
    /// Another process; the function sends each call and its position among the calls of the
    /// communicator to that process.
    Elsewhere(Rc<dyn Fn(u32, CallRecord)>),
}

impl fmt::Debug for CallComparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Here(_) => "Here",
            Self::Elsewhere(_) => "Elsewhere",
        })
    }
}

/// Two calls at the same position that differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mismatch {
    class: ErrorClass,
    text: String,
}

impl Mismatch {
    /// The class of the error.
    #[must_use]
    pub const fn class(&self) -> ErrorClass {
        self.class
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Signature {
    /// Returns the signature of a call without compared arguments.
    pub(crate) fn from_name(name: &'static str, location: SourceLocation) -> Self {
        Self {
            name: Cow::Borrowed(name),
            is_nonblocking: false,
            root: 0,
            is_in_place: false,
            op: None,
            element: Element::BYTES,
            bytes: None,
            file: Cow::Borrowed(location.file()),
            line: location.line(),
        }
    }

    pub(crate) fn new(call: &Invocation, is_nonblocking: bool, location: SourceLocation) -> Self {
        let any = Self {
            is_nonblocking,
            ..Self::from_name(call.name, location)
        };
        if call.is_between {
            // The groups have arguments of their own.
            return any;
        }
        let op = call.op.as_ref();
        // Of a scatter the other ranks have room only.
        let room = call.room.as_ref().filter(|_| call.input.is_empty());
        let buffer = room.unwrap_or(&call.input);
        let bytes = match call.kind {
            Collective::Barrier
            | Collective::Gatherv
            | Collective::Scatterv
            | Collective::Allgatherv
            | Collective::Alltoallv
            | Collective::Alltoallw => None,
            _ if call.neighbors.is_some() => None,
            Collective::Scatter => call.room.as_ref().map(Buffer::len),
            _ => Some(call.input.len()),
        };
        let is_in_place = match call.kind {
            Collective::Allreduce
            | Collective::Allgather
            | Collective::Allgatherv
            | Collective::Alltoall
            | Collective::Alltoallv
            | Collective::Alltoallw
            | Collective::ReduceScatterBlock => call.has_in_place_argument,
            // Where only the root gives MPI_IN_PLACE, or each rank decides alone.
            _ => false,
        };
        Self {
            root: call.root,
            is_in_place,
            op: op.map(|op| (op.name().into(), op.element_name().into())),
            element: buffer.element(),
            bytes,
            ..any
        }
    }

    /// Returns the signature with another name, in this process.
    pub(super) fn with_name(self, name: &'static str) -> Self {
        Self {
            name: Cow::Borrowed(name),
            ..self
        }
    }

    /// Returns the signature without the type of the elements, which is not compared.
    pub(super) fn without_element(self) -> Self {
        Self {
            element: Element::BYTES,
            ..self
        }
    }

    /// Returns the place of the call, such as `src/main.rs:7`.
    fn call_location(&self) -> String {
        match self.line {
            // A native executable without debugging information.
            0 => self.file.to_string(),
            line => format!("{}:{line}", self.file),
        }
    }

    /// Returns the first difference to the call of another rank, in words.
    fn find_difference(&self, other: &Self) -> Option<(ErrorClass, String, String)> {
        let differ = |class, own: String, other: String| Some((class, own, other));
        if (&self.name, self.is_nonblocking) != (&other.name, other.is_nonblocking) {
            let call = |signature: &Self| match signature.is_nonblocking {
                true => format!("calls nonblocking {}", signature.name),
                false => format!("calls {}", signature.name),
            };
            return differ(ErrorClass::Other, call(self), call(other));
        }
        if self.root != other.root {
            let root = |signature: &Self| format!("has root {}", signature.root);
            return differ(ErrorClass::Root, root(self), root(other));
        }
        if self.is_in_place != other.is_in_place {
            let buffer = |signature: &Self| match signature.is_in_place {
                true => "gives MPI_IN_PLACE".to_owned(),
                false => "gives a send buffer".to_owned(),
            };
            return differ(ErrorClass::Buffer, buffer(self), buffer(other));
        }
        if self.op != other.op {
            let ((own, element), (theirs, elements)) = (self.op.as_ref()?, other.op.as_ref()?);
            let class = if own == theirs {
                ErrorClass::Type
            } else {
                ErrorClass::Op
            };
            let words =
                |name: &str, element: &str| format!("has the operation {name} of {element}");
            return differ(class, words(own, element), words(theirs, elements));
        }
        if self.element.differs(other.element) {
            let words = |element: Element| format!("has elements of {}", element.name());
            return differ(ErrorClass::Type, words(self.element), words(other.element));
        }
        if self.bytes != other.bytes {
            let words = |bytes| format!("gives {bytes} bytes");
            return differ(ErrorClass::Count, words(self.bytes?), words(other.bytes?));
        }
        None
    }
}

impl CallRecord {
    /// Returns the context of the communicator and the world rank of its rank 0. No two
    /// communicators have the same pair at the same time.
    #[must_use]
    pub const fn communicator(&self) -> (u32, u32) {
        (self.context, self.first)
    }

    /// Returns the caller, in the communicator and in the world.
    #[must_use]
    pub const fn caller(&self) -> (u32, u32) {
        (self.rank, self.world_rank)
    }

    pub(super) const fn call_position(&self, number: u32) -> CallPosition {
        CallPosition {
            context: self.context,
            first: self.first,
            number,
        }
    }
}

impl CallLog {
    /// Returns the memory of messages that no receive has met.
    pub(crate) const fn stored(&self) -> &StoredBytes {
        &self.stored
    }

    /// Returns the groups of which communicators are made.
    pub(crate) const fn group_log(&self) -> &GroupLog {
        &self.groups
    }

    /// Returns the announced next calls.
    pub(crate) const fn announced_calls(&self) -> &AnnouncedCalls {
        &self.announced
    }

    /// Returns the accesses to windows that are in progress.
    pub(crate) const fn accesses(&self) -> &AccessLog {
        &self.accesses
    }

    /// Returns the signature of a message. Calls are numbered from 1 in the order of their first
    /// messages; calls above the largest number are not known.
    pub(crate) fn signature(&self, element: Element, location: SourceLocation) -> TypeSignature {
        let sends = &mut *self.sends.borrow_mut();
        let known = sends.iter().position(|known| *known == location);
        let index = known.unwrap_or_else(|| {
            if sends.len() < usize::from(TypeSignature::CALL_MAX) {
                sends.push(location);
            }
            sends.len() - 1
        });
        let is_known = sends[index] == location;
        let number = u16::try_from(index + 1).unwrap_or(0);
        TypeSignature::new(element, if is_known { number } else { 0 })
    }

    /// Returns the line that has sent a message.
    pub(crate) fn sender_location(&self, signature: TypeSignature) -> Option<SourceLocation> {
        let index = usize::from(signature.call_number()).checked_sub(1)?;
        self.sends.borrow().get(index).copied()
    }

    /// Compares a call with the first call at the same position `number`. Returns the contributions
    /// of all ranks to the last caller, if each rank has given its own contribution as `operand`.
    ///
    /// # Errors
    /// If the calls differ.
    pub fn compare_call(
        &self,
        number: u32,
        call: &CallRecord,
        operand: Option<Buffer>,
    ) -> Result<Vec<Buffer>, Mismatch> {
        let place = call.call_position(number);
        let (rank, own) = (call.rank as usize, &call.signature);
        let open = &mut *self.open.borrow_mut();
        let position = open
            .entry(place)
            .or_insert_with(|| Position::begun_by(call));
        if let Some(bits) = position.callers.get_mut(rank / 64) {
            *bits |= 1 << (rank % 64);
        }
        position.count += 1;
        let first = &position.signature;
        let difference = own.find_difference(first);
        let difference = difference.map(|(class, found, expected)| {
            (
                position.first,
                first.call_location(),
                class,
                found,
                expected,
            )
        });
        let difference = difference.or_else(|| position.compare_blocks(call));
        let difference = difference.or_else(|| position.compare_agreed(call));
        if let Some(operand) = operand {
            position
                .operands
                .resize(position.size as usize, Buffer::phantom(0));
            position.operands[rank] = operand;
        }
        let mut operands = Vec::new();
        if position.count == position.size {
            operands = std::mem::take(&mut position.operands);
            open.remove(&place);
        }
        let Some((other, line, class, found, expected)) = difference else {
            return Ok(operands);
        };
        let text = format!(
            "collective calls differ: rank {rank} {found} at {} where rank {other} {expected} at {line}, {place}",
            own.call_location(),
        );
        Err(Mismatch { class, text })
    }

    /// Returns the ranks that have not called the collective at a position, in words; `None` if all
    /// have.
    pub(crate) fn describe_missing(&self, place: CallPosition) -> Option<String> {
        let open = self.open.borrow();
        open.get(&place).map(Position::describe_missing)
    }

    /// Returns the collectives that a rank was the first to call and that others have not called,
    /// in words.
    pub(crate) fn unfinished(&self, world_rank: u32) -> Vec<String> {
        let calls = self.open_calls().into_iter();
        let own = calls.filter(|(first, _)| *first == world_rank);
        own.map(|(_, text)| text).collect()
    }

    /// Returns the collectives that not all ranks have called: the world rank that was the first to
    /// call, and the missing ones, in words.
    #[must_use]
    pub fn open_calls(&self) -> Vec<(u32, String)> {
        let line = |(place, position): (&CallPosition, &Position)| {
            let (name, line) = (&position.signature.name, position.signature.call_location());
            let missing = position.describe_missing();
            let text = format!("{name} at {line}, {place}, was not called by {missing}");
            (position.first_in_world, text)
        };
        self.open.borrow().iter().map(line).collect()
    }

    /// Returns the mistake of a rank of a communicator that has ended after this number of calls
    /// there, in words; `None` if no other rank has made one more.
    #[must_use]
    pub fn absence(&self, communicator: (u32, u32), number: u32, rank: u32) -> Option<String> {
        let (context, first) = communicator;
        let place = CallPosition {
            context,
            first,
            number,
        };
        let open = self.open.borrow();
        let Position {
            signature, first, ..
        } = open.get(&place)?;
        let (name, line) = (&signature.name, signature.call_location());
        Some(format!(
            "collective calls differ: rank {rank} has ended where rank {first} calls {name} at {line}, {place}"
        ))
    }
}

impl fmt::Display for CallPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = position::InWords(self.number);
        if position::is_persistent_start(self.number) {
            f.write_str("persistent ")?;
        }
        // The context of collectives is the one after that of the communicator. Calls of both
        // groups of an intercommunicator are counted in its own one.
        match self.context {
            1 => write!(f, "collective {number} of the world"),
            context if context % 2 == 0 => write!(
                f,
                "collective {number} of the intercommunicator with context {context}"
            ),
            context => write!(
                f,
                "collective {number} of the communicator with context {}",
                context - 1
            ),
        }
    }
}

/// A difference to the call of another rank: the rank, its line, the class of the error, and texts
/// about the calls of the two ranks.
type Difference = (u32, String, ErrorClass, String, String);

impl Position {
    fn begun_by(call: &CallRecord) -> Self {
        Self {
            signature: call.signature.clone(),
            first: call.rank,
            first_in_world: call.world_rank,
            size: call.size,
            count: 0,
            callers: vec![0; (call.size as usize).div_ceil(64)],
            operands: Vec::new(),
            blocks: Vec::new(),
            agreed: Vec::new(),
        }
    }

    /// Compares the arguments on which the group of the caller agrees with the first call of the
    /// group.
    fn compare_agreed(&mut self, call: &CallRecord) -> Option<Difference> {
        let own = call.agreed.as_ref()?;
        let of_group = self.agreed.iter().find_map(|first| {
            let agreed = first.agreed.as_ref()?;
            (agreed.group == own.group).then_some((first, agreed))
        });
        let Some((first, agreed)) = of_group else {
            self.agreed.push(call.clone());
            return None;
        };
        (agreed.text != own.text).then(|| {
            let line = first.signature.call_location();
            let (found, expected) = (own.text.to_string(), agreed.text.to_string());
            (first.rank, line, ErrorClass::Arg, found, expected)
        })
    }

    /// Compares the blocks of a call with the blocks of the ranks that have called.
    fn compare_blocks(&mut self, call: &CallRecord) -> Option<Difference> {
        let (own, rank) = (call.blocks.as_ref()?, call.rank as usize);
        self.blocks.resize(self.size as usize, None);
        let others = own.peers(self.blocks.len()).filter_map(|peer| {
            let call = self.blocks.get(peer)?.as_ref()?;
            let other = call.blocks.as_ref()?;
            let (found, expected) = own.find_difference(rank, (peer, other))?;
            let line = call.signature.call_location();
            Some((call.rank, line, ErrorClass::Count, found, expected))
        });
        // A rank gives a block to itself, too.
        let itself = own.find_difference(rank, (rank, own));
        let itself = itself.map(|(found, expected)| {
            let line = call.signature.call_location();
            (call.rank, line, ErrorClass::Count, found, expected)
        });
        let difference = itself.or_else(|| { others }.next());
        if let Some(blocks) = self.blocks.get_mut(rank) {
            *blocks = Some(call.clone());
        }
        difference
    }

    fn describe_missing(&self) -> String {
        const LISTED_MAX: usize = 4;
        let called = |rank: &u32| self.callers[*rank as usize / 64] >> (rank % 64) & 1 == 1;
        let missing: Vec<String> = (0..self.size)
            .filter(|rank| !called(rank))
            .take(LISTED_MAX)
            .map(|rank| rank.to_string())
            .collect();
        let count = self.size - self.count.min(self.size);
        let plural = if count == 1 { "rank" } else { "ranks" };
        let rest = (count as usize).saturating_sub(missing.len());
        let more = if rest > 0 {
            format!(" and {rest} more")
        } else {
            String::new()
        };
        format!("{plural} {}{more}", missing.join(", "))
    }
}
