//! The table of the operations of a rank.

use std::ops::{Index, IndexMut};

use super::flow_controlled::Assembly;
use super::{OperationState, OutboundSend, RemoteCall, RequestTable, Status};
use crate::channel::{Channel, PacketHeader, Token};
use crate::{Buffer, Error, Pattern};
use observe::SourceLocation;

/// An operation, and true or false for the interest of the program in its end.
#[derive(Clone, Debug)]
pub(crate) struct OperationRecord {
    pub(super) state: OperationState,
    /// The line at which the program started the operation.
    pub(super) location: SourceLocation,
    /// No handle of the request exists any more: the place is freed at the end.
    pub(super) released: bool,
    /// The operation ends instead of beginning. For an announced send: the message was asked back.
    /// For a posted receive: a message will match the receive, as a model checker has picked.
    pub(super) cancelled: bool,
    /// The program has continued, although the message waits for its receive.
    pub(super) detached: bool,
    /// The program unpacks the received message, wherever the message has waited.
    pub(super) unpacks: bool,
    /// The receive has matched a ready message that came too early: it was not posted before.
    pub(super) unready: bool,
    pub(super) role: Role,
    /// Cost of completing the operation that has not been paid, in seconds.
    owed: f64,
}

/// Relation of an operation to others.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum Role {
    /// None.
    #[default]
    None,
    /// A request of a step of a collective.
    Step,
    /// The data of a put or an accumulate that leave.
    Put,
}

/// The operations of a rank, by token.
#[derive(Clone, Debug, Default)]
pub(crate) struct Operations {
    places: Vec<OperationRecord>,
    /// The first free place.
    free: Option<Token>,
    /// Operations that are over, with a completion cost that is not paid.
    debts: u32,
}

impl OperationRecord {
    #[inline]
    const fn new(state: OperationState, location: SourceLocation) -> Self {
        Self {
            state,
            location,
            released: false,
            cancelled: false,
            detached: false,
            unpacks: false,
            unready: false,
            role: Role::None,
            owed: 0.0,
        }
    }

    /// Adds to the cost of completion. Returns the number of operations that have a cost now and
    /// had none before.
    #[inline]
    fn add_debt(&mut self, cost: f64) -> u32 {
        if cost <= 0.0 || self.released {
            return 0;
        }
        let is_first = self.owed == 0.0;
        self.owed += cost;
        is_first.into()
    }
}

impl Operations {
    /// Makes room for a number of operations.
    pub(super) fn reserve_places(&mut self, count: usize) {
        self.places.reserve_exact(count);
    }

    /// Adds an operation.
    #[inline(always)]
    pub(super) fn insert(&mut self, state: OperationState, location: SourceLocation) -> Token {
        let operation = OperationRecord::new(state, location);
        if let Some(token) = self.free {
            let place = &mut self.places[token as usize];
            let OperationState::Free { next } = place.state else {
                unreachable!("the free list holds free places")
            };
            self.free = next;
            // A free place has nothing to be dropped, which the compiler does not know.
            std::mem::forget(std::mem::replace(place, operation));
            return token;
        }
        self.push_place(operation)
    }

    #[cold]
    fn push_place(&mut self, operation: OperationRecord) -> Token {
        if self.places.len() == self.places.capacity() {
            // Most ranks of a large run have one operation at a time.
            self.places.reserve_exact(self.places.len().max(1));
        }
        self.places.push(operation);
        Token::try_from(self.places.len() - 1)
            .expect("operations at one time are counted in 32 bits")
    }

    /// Sets the result of an operation with a state that owns no memory.
    #[inline(always)]
    pub(super) fn set_done(&mut self, token: Token, result: Result<Status, Error>, buffer: Buffer) {
        let place = &mut self.places[token as usize].state;
        debug_assert!(place.is_emptied(), "a forgotten state owns no memory");
        let done = OperationState::Done { result, buffer };
        std::mem::forget(std::mem::replace(place, done));
    }

    /// Takes the result of an operation that is over, and frees the place of the operation.
    #[inline(always)]
    pub(super) fn take_done(&mut self, token: Token) -> (Result<Status, Error>, Buffer) {
        let place = &mut self.places[token as usize].state;
        let OperationState::Done { result, buffer } = place else {
            unreachable!("only what is done is taken, not {place:?}")
        };
        let taken = (*result, buffer.take());
        let free = OperationState::Free { next: self.free };
        self.free = Some(token);
        // The buffer has been taken, which the compiler forgets.
        std::mem::forget(std::mem::replace(place, free));
        taken
    }

    /// Frees the place of an operation. Returns the state of the operation.
    #[inline]
    pub(crate) fn remove(&mut self, token: Token) -> OperationState {
        let free = OperationState::Free { next: self.free };
        self.free = Some(token);
        std::mem::replace(&mut self.places[token as usize].state, free)
    }

    /// Returns the state of an operation.
    #[inline]
    pub(crate) fn state(&self, token: Token) -> &OperationState {
        &self.places[token as usize].state
    }

    /// Returns the result of an operation if the operation is over; the operation keeps its result.
    pub(crate) fn result(&self, token: Token) -> Option<(Result<Status, Error>, &Buffer)> {
        match self.state(token) {
            OperationState::Done { result, buffer } => Some((*result, buffer)),
            _ => None,
        }
    }

    /// Returns true if a receive waits for a message.
    pub(crate) fn is_posted(&self, token: Token) -> bool {
        matches!(self.state(token), OperationState::Posted { .. })
    }

    /// Returns true if a receive that was cancelled waits for the message that was picked to come.
    pub(crate) fn awaits_cancelled(&self) -> bool {
        let mut all = self.places.iter();
        all.any(|operation| {
            operation.cancelled && matches!(operation.state, OperationState::Posted { .. })
        })
    }

    /// Returns the number of the operation that begins next.
    pub(super) fn next_token(&self) -> Option<Token> {
        self.free
            .or_else(|| Token::try_from(self.places.len()).ok())
    }

    /// Returns all places, used or free, in the order of their tokens.
    pub(super) fn iter_places(&self) -> impl Iterator<Item = (Token, &OperationRecord)> {
        (0..).zip(&self.places)
    }

    /// Returns the states of all operations that the program may query.
    pub(crate) fn states(&self) -> impl Iterator<Item = &OperationState> {
        self.places.iter().map(|operation| &operation.state)
    }

    /// Returns the number of operations that are remembered.
    pub(crate) fn count_used(&self) -> usize {
        let free = |state: &&OperationState| matches!(state, OperationState::Free { .. });
        self.places.len() - self.states().filter(free).count()
    }

    /// Returns the place at which the first of the operations of a kind was started.
    pub(crate) fn find_location(
        &self,
        wanted: fn(&OperationState) -> bool,
    ) -> Option<SourceLocation> {
        let mut all = self.places.iter();
        all.find(|operation| wanted(&operation.state))
            .map(|operation| operation.location)
    }

    /// Returns the receives that wait for a message, and the locations of their calls: receives
    /// that were given up, or all others.
    pub(crate) fn list_posted(
        &self,
        is_given_up: bool,
    ) -> impl Iterator<Item = (&Pattern, SourceLocation)> {
        let all = self.places.iter();
        all.filter(move |operation| operation.released == is_given_up)
            .filter_map(|operation| match &operation.state {
                OperationState::Posted { pattern, .. } => Some((pattern, operation.location)),
                _ => None,
            })
    }

    /// Notes a cost of the completion of an operation.
    #[inline]
    pub(super) fn add_charge(&mut self, token: Token, cost: f64) {
        self.debts += self.places[token as usize].add_debt(cost);
    }

    /// Takes the cost of the completion of an operation.
    #[inline]
    pub(super) fn take_charge(&mut self, token: Token) -> f64 {
        let owed = std::mem::take(&mut self.places[token as usize].owed);
        if owed != 0.0 {
            self.debts -= 1;
        }
        owed
    }

    /// Returns true if the completion of an operation is not paid.
    #[inline]
    pub(crate) fn has_charge(&self, token: Token) -> bool {
        self.places[token as usize].owed > 0.0
    }

    /// Returns true if the completion of any operation is not paid.
    #[inline]
    pub(crate) const fn has_charges(&self) -> bool {
        self.debts > 0
    }

    /// Notes that a partition of a send is ready.
    pub(crate) fn note_partition(&mut self, token: Token) {
        if let OperationState::Partitions { left } = &mut self[token].state {
            *left -= 1;
        }
    }

    /// Returns the call that waits in an operation, which may have failed before.
    pub(super) fn remote_call(&mut self, token: Token) -> Option<&mut RemoteCall> {
        match &mut self.places.get_mut(token as usize)?.state {
            OperationState::Remote(call) => Some(call),
            _ => None,
        }
    }

    /// Returns the context and the targets of a lock that an operation waits for.
    pub(crate) fn awaited_lock(&self, token: Token) -> Option<(u32, &[u32])> {
        match self.state(token) {
            OperationState::Remote(call) if call.name.starts_with("lock") => {
                Some((call.context, &call.peers))
            }
            _ => None,
        }
    }

    /// Lets an eager message go by rendezvous.
    pub(super) fn await_cts(&mut self, send: Token) {
        let place = &mut self[send].state;
        let (OperationState::Queued(message) | OperationState::AwaitAck(message)) =
            std::mem::replace(place, OperationState::Elapsing)
        else {
            unreachable!("only what is queued is converted");
        };
        *place = OperationState::AwaitCts(message);
    }

    /// Passes the channel the buffer or length behind an announcement or its answer, which are
    /// about to be posted.
    pub(super) fn offer_buffers(&self, channel: &dyn Channel, peer: u32, header: &PacketHeader) {
        match *header {
            PacketHeader::Rts { send, .. } => {
                if let OperationState::AwaitCts(OutboundSend { buffer, .. }) = self.state(send) {
                    channel.offer(peer, send, buffer);
                }
            }
            PacketHeader::Cts { send, receive } => {
                if let OperationState::AwaitData { length, .. } = *self.state(receive) {
                    channel.expect_message(peer, send, receive, length);
                }
            }
            _ => {}
        }
    }

    /// Returns the message that arrives in an operation.
    pub(super) fn assembly(&mut self, token: Token) -> &mut Assembly {
        match &mut self[token].state {
            OperationState::Assembly(assembly) => assembly,
            other => unreachable!("an assembly is expected, not {other:?}"),
        }
    }

    /// Removes an operation that assembles a message. Returns the message.
    pub(super) fn take_assembly(&mut self, token: Token) -> Box<Assembly> {
        match self.remove(token) {
            OperationState::Assembly(assembly) => assembly,
            other => unreachable!("an assembly is expected, not {other:?}"),
        }
    }

    /// Returns a table with this number of places, which is not in the list of free places.
    #[cfg(test)]
    pub(super) fn with_places(count: usize) -> Self {
        let free = || {
            OperationRecord::new(
                OperationState::Free { next: None },
                SourceLocation::caller(),
            )
        };
        Self {
            places: std::iter::repeat_with(free).take(count).collect(),
            ..Self::default()
        }
    }

    /// Gives the next operation this place.
    #[cfg(test)]
    pub(super) fn set_next_token(&mut self, token: Token) {
        self.free = Some(token);
    }

    /// Rebuilds the list of free places: each of the first calls has the place of its number, and
    /// the other places are used in their order, so that states do not differ by the history of
    /// places.
    #[cfg(test)]
    pub(super) fn sort_free(&mut self, calls: usize) {
        self.free = None;
        for token in (calls..self.places.len()).rev() {
            if matches!(self.places[token].state, OperationState::Free { .. }) {
                if token + 1 == self.places.len() {
                    self.places.pop();
                    continue;
                }
                self.places[token].state = OperationState::Free { next: self.free };
                self.free = Some(u32::try_from(token).expect("few"));
            }
        }
    }
}

impl Index<Token> for Operations {
    type Output = OperationRecord;

    #[inline]
    fn index(&self, token: Token) -> &OperationRecord {
        &self.places[token as usize]
    }
}

impl IndexMut<Token> for Operations {
    #[inline]
    fn index_mut(&mut self, token: Token) -> &mut OperationRecord {
        &mut self.places[token as usize]
    }
}

impl Index<Token> for RequestTable {
    type Output = OperationRecord;

    #[inline]
    fn index(&self, token: Token) -> &OperationRecord {
        &self.operations[token]
    }
}

impl IndexMut<Token> for RequestTable {
    #[inline]
    fn index_mut(&mut self, token: Token) -> &mut OperationRecord {
        &mut self.operations[token]
    }
}
