//! One rank's protocol state: its requests, and what the packets do to them. No I/O, no clock, no waiting.
//!
//! A message shorter than the threshold is *eager*: it leaves at once and the send is complete. Otherwise it goes by
//! *rendezvous*: an RTS announces it, the receiver answers CTS once a receive has matched it, and the data follow;
//! the send is complete when the data have left. The choice is made once per message.
//!
//! An eager message of at least the transfer threshold goes the same way, but its send is complete at once: it is *detached*.
//!
//! Calls may cost the rank time (see `overhead`): then the rank is busy until a date, and what it does is done at that date.
//!
//! Inputs are `send`, `receive` and `handle`; the packets to post come back through the channel that is passed in.

mod calls;
mod connected;
mod limited;

use std::panic::Location;

use crate::channel::{Channel, Event, Header, Packet, Token};
use crate::flow_control::{FlowControl, Slot};
use crate::matching::{Content, Matching, Unexpected};
use crate::{Buffer, Envelope, Error, Pattern};

/// What a completed operation says about its message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Status {
    /// The sending rank.
    pub source: usize,
    /// The tag.
    pub tag: u32,
    /// The length of the message in bytes.
    pub length: u64,
    /// Whether the operation was cancelled, so that there is no message: `MPI_Test_cancelled`.
    pub cancelled: bool,
}

/// How a send was called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SendCall {
    /// Whether the rank waits for its end.
    pub(crate) blocks: bool,
    /// Whether it is over only when a receive has met it, however short it is.
    pub(crate) synchronous: bool,
    pub(crate) location: Place,
}

/// Where an operation stands.
#[derive(Debug)]
pub(crate) enum State {
    /// The place is not used.
    Free { next: Option<Token> },
    /// The rank is busy; the message leaves after that.
    AwaitTurn {
        peer: u32,
        envelope: Envelope,
        buffer: Buffer,
        synchronous: bool,
    },
    /// The rank is busy; the receive is posted after that, or gets the message that a matched probe has taken.
    AwaitPost {
        pattern: Pattern,
        buffer: Buffer,
        message: Option<Box<Unexpected>>,
    },
    /// The RTS has left; the message waits for the CTS.
    AwaitCts {
        peer: u32,
        envelope: Envelope,
        buffer: Buffer,
    },
    /// The message is to leave by the machine that sends, eagerly if that is still possible when its turn comes.
    Queued {
        peer: u32,
        envelope: Envelope,
        buffer: Buffer,
    },
    /// The data are leaving.
    Sending {
        peer: u32,
        envelope: Envelope,
        buffer: Buffer,
    },
    /// The receive waits for a message.
    Posted { pattern: Pattern, buffer: Buffer },
    /// A message has matched; its data are on the way.
    AwaitData {
        envelope: Envelope,
        length: u64,
        buffer: Buffer,
        detached: bool,
        /// So many bytes are there, if the message comes in several packets.
        arrived: u64,
    },
    /// A message that arrives or has arrived before its receive.
    Assembly(Box<limited::Assembly>),
    /// A packet whose end matters, because it holds something.
    Packet(Slot),
    /// A timer or a computation runs.
    Elapsing,
    /// It is over.
    Done {
        result: Result<Status, Error>,
        buffer: Buffer,
    },
}

/// An operation and whether its program still wants to know.
#[derive(Debug)]
struct Operation {
    state: State,
    /// Where the program started it.
    location: Place,
    /// Nobody holds the request any more: the place is freed at the end.
    released: bool,
    /// A receive that ends instead of being posted.
    cancelled: bool,
    /// What completing the operation costs, in seconds, and has not been paid.
    owed: f64,
}

/// A line of the program.
pub(crate) type Place = &'static Location<'static>;

/// The protocol state of one rank.
#[derive(Debug, Default)]
pub(crate) struct Engine {
    matching: Matching,
    operations: Vec<Operation>,
    free: Option<Token>,
    /// Events handled so far.
    events: u64,
    /// What the program did: operations started, and results taken.
    actions: u64,
    /// The date until which the rank is busy with what its calls cost.
    busy_until: f64,
    /// Operations that wait for their turn: the rank does nothing else before they have begun.
    waiting: u32,
    /// The operation that ends at that date, if anybody waits for it.
    catching_up: Option<(f64, Token)>,
    /// Operations that have ended and whose completion is not paid.
    debts: u32,
    /// Operations that have ended.
    ended: u64,
    /// Sends that are not over.
    sends: u32,
    /// Receives whose request was dropped before they got a message: the first one, and their number.
    withdrawn: Option<(Pattern, Place, u64)>,
    /// Where limits are set.
    flow: Option<Box<FlowControl>>,
    /// Where ranks get connected: those that are lost.
    lost: Option<Box<connected::Lost>>,
    /// Messages that a matched probe had taken and that nobody received.
    returned: Vec<Unexpected>,
}

fn status(envelope: Envelope, length: u64) -> Status {
    Status {
        source: envelope.source as usize,
        tag: envelope.tag,
        length,
        cancelled: false,
    }
}

const NOTHING: Status = Status {
    source: 0,
    tag: 0,
    length: 0,
    cancelled: false,
};

impl Engine {
    /// The number of events handled so far.
    pub(crate) const fn events(&self) -> u64 {
        self.events
    }

    /// The number of operations that have ended: while it stands still, nobody has to look for one.
    pub(crate) const fn ended(&self) -> u64 {
        self.ended
    }

    /// The number of events and of the program's own actions: while it stands still, nothing has happened.
    pub(crate) const fn changes(&self) -> u64 {
        self.events + self.actions
    }

    fn insert(&mut self, state: State, location: Place) -> Token {
        self.actions += 1;
        let operation = Operation {
            state,
            location,
            released: false,
            cancelled: false,
            owed: 0.0,
        };
        if let Some(token) = self.free {
            let place = &mut self.operations[token as usize];
            let State::Free { next } = place.state else {
                unreachable!("the free list holds free places")
            };
            self.free = next;
            *place = operation;
            return token;
        }
        self.operations.push(operation);
        Token::try_from(self.operations.len() - 1)
            .expect("operations at one time are counted in 32 bits")
    }

    fn remove(&mut self, token: Token) -> State {
        let free = State::Free { next: self.free };
        self.free = Some(token);
        std::mem::replace(&mut self.operations[token as usize].state, free)
    }

    pub(crate) fn state(&self, token: Token) -> &State {
        &self.operations[token as usize].state
    }

    pub(crate) fn is_done(&self, token: Token) -> bool {
        matches!(self.state(token), State::Done { .. })
    }

    /// Takes the result of an operation that is done.
    pub(crate) fn take(&mut self, token: Token) -> (Result<Status, Error>, Buffer) {
        self.actions += 1;
        debug_assert!(
            self.operations[token as usize].owed == 0.0,
            "what is taken is paid"
        );
        match self.remove(token) {
            State::Done { result, buffer } => (result, buffer),
            other => unreachable!("only what is done is taken, not {other:?}"),
        }
    }

    /// Nobody will ask for the result. An unmatched receive is withdrawn; everything else runs to its end.
    pub(crate) fn release(&mut self, token: Token) {
        let owed = std::mem::take(&mut self.operations[token as usize].owed);
        self.debts -= u32::from(owed > 0.0);
        match self.state(token) {
            State::Done { .. } => {
                self.remove(token);
            }
            &State::Posted { pattern, .. } => {
                let place = self.operations[token as usize].location;
                self.withdrawn.get_or_insert((pattern, place, 0)).2 += 1;
                self.withdraw(token);
            }
            _ => self.operations[token as usize].released = true,
        }
    }

    fn withdraw(&mut self, token: Token) {
        let State::Posted { pattern, .. } = *self.state(token) else {
            unreachable!("only posted receives are withdrawn")
        };
        let found = self.matching.withdraw(&pattern, token);
        debug_assert!(found, "a posted receive is in the queue");
        self.remove(token);
    }

    /// Gives the buffer of a receive back whose program does not wait any more. A message that is on the way is
    /// received and dropped.
    pub(crate) fn cancel_receive(&mut self, token: Token) -> Buffer {
        let place = &mut self.operations[token as usize].state;
        let (State::Posted { buffer, .. }
        | State::AwaitPost { buffer, .. }
        | State::AwaitData { buffer, .. }
        | State::Done { buffer, .. }) = place
        else {
            unreachable!("only receives are cancelled here")
        };
        let length = buffer.len();
        let buffer = std::mem::replace(buffer, Buffer::phantom(length));
        if matches!(self.state(token), State::Posted { .. }) {
            self.withdraw(token);
        } else {
            self.release(token);
        }
        buffer
    }

    fn finish(&mut self, token: Token, result: Result<Status, Error>, buffer: Buffer) {
        self.ended += 1;
        if self.operations[token as usize].released {
            self.remove(token);
        } else {
            self.operations[token as usize].state = State::Done { result, buffer };
        }
    }

    /// The date at which the rank is, in seconds: later than the channel's while it is busy.
    pub(crate) fn now(&self, channel: &dyn Channel) -> f64 {
        self.busy_until.max(channel.now())
    }

    /// Whether the rank is busy; if so, there will be an event when it is not any more.
    pub(crate) fn is_busy(&mut self, channel: &dyn Channel, location: Place) -> bool {
        if self.busy_until == 0.0 || self.busy_until <= channel.now() {
            return self.waiting > 0;
        }
        if self
            .catching_up
            .is_none_or(|(date, _)| date != self.busy_until)
        {
            let token = self.insert(State::Elapsing, location);
            self.operations[token as usize].released = true;
            self.catching_up = Some((self.busy_until, token));
            channel.timer(self.busy_until - channel.now(), token);
        }
        true
    }

    /// Pays for the completion of an operation that is done; true if that has made the rank busy.
    pub(crate) fn pay(&mut self, channel: &dyn Channel, token: Token) -> bool {
        let cost = std::mem::take(&mut self.operations[token as usize].owed);
        if cost == 0.0 {
            return false;
        }
        self.debts -= 1;
        self.busy_until = self.now(channel) + cost;
        true
    }

    /// Whether the completion of an operation is not paid.
    pub(crate) fn owes(&self, token: Token) -> bool {
        self.operations[token as usize].owed > 0.0
    }

    /// Whether there is anything to pay.
    pub(crate) const fn has_debts(&self) -> bool {
        self.debts > 0
    }

    /// Sends a message, in a call that blocks or not; the operation is done at once if it is eager.
    pub(crate) fn send(
        &mut self,
        channel: &dyn Channel,
        peer: u32,
        envelope: Envelope,
        buffer: Buffer,
        call: SendCall,
    ) -> Token {
        let SendCall {
            blocks,
            synchronous,
            location,
        } = call;
        let settings = channel.settings();
        let cost = if !blocks {
            settings.ois.of(buffer.len())
        } else if buffer.len() < settings.eager_threshold && !synchronous {
            settings.os.of(buffer.len())
        } else {
            0.0
        };
        if cost > 0.0 {
            self.busy_until = self.now(channel) + cost;
        }
        let waits = State::AwaitTurn {
            peer,
            envelope,
            buffer,
            synchronous,
        };
        let send = self.insert(waits, location);
        self.sends += 1;
        self.in_turn(channel, send);
        send
    }

    /// Goes on with an operation at once, or when the rank is not busy any more. Timers of one date end in their order, so
    /// the order of the calls is kept.
    fn in_turn(&mut self, channel: &dyn Channel, token: Token) {
        let is_busy = self.busy_until > 0.0 && self.busy_until > channel.now();
        if is_busy || self.waiting > 0 {
            self.waiting += 1;
            let left = self.busy_until - channel.now();
            channel.timer(left.max(0.0), token);
        } else {
            self.begin(channel, token);
        }
    }

    /// Begins an operation whose turn has come.
    fn begin(&mut self, channel: &dyn Channel, token: Token) {
        let operation = &mut self.operations[token as usize];
        let (released, location) = (operation.released, operation.location);
        let cancelled = operation.cancelled;
        let place = &mut operation.state;
        match std::mem::replace(place, State::Elapsing) {
            State::AwaitTurn {
                peer,
                envelope,
                buffer,
                synchronous,
            } => self.launch(channel, token, peer, envelope, (buffer, synchronous)),
            State::AwaitPost {
                pattern, message, ..
            } if released => {
                match message {
                    Some(message) => self.give_back(*message),
                    None => self.withdrawn.get_or_insert((pattern, location, 0)).2 += 1,
                }
                self.remove(token);
            }
            State::AwaitPost { buffer, .. } if cancelled => self.finish_cancelled(token, buffer),
            State::AwaitPost {
                pattern,
                buffer,
                message,
            } => {
                *place = State::Posted { pattern, buffer };
                let matched = match message {
                    Some(message) => Some(*message),
                    None => self.matching.post(pattern, token),
                };
                if let Some(message) = matched {
                    self.matched(channel, token, message.envelope, message.content);
                }
                if self.lost.is_some() {
                    self.check_source(token);
                }
            }
            other => unreachable!("only what waits for its turn begins, not {other:?}"),
        }
    }

    /// Lets a message leave, or announces it.
    fn launch(
        &mut self,
        channel: &dyn Channel,
        send: Token,
        peer: u32,
        envelope: Envelope,
        (buffer, synchronous): (Buffer, bool),
    ) {
        if self.lost.is_some() && self.is_lost(peer) {
            return self.fail_send(send, peer, buffer);
        }
        let settings = channel.settings();
        let length = buffer.len();
        if settings.limits.is_some()
            && !synchronous
            && length < settings.eager_threshold.min(settings.transfer_threshold)
        {
            return self.queue_eager(channel, send, peer, envelope, buffer);
        }
        let detached = length < settings.eager_threshold && !synchronous;
        if detached && length < settings.transfer_threshold {
            let told = settings.tells_eager_sends || settings.connections.is_some();
            let packet = Packet {
                header: Header::Eager { envelope },
                payload: buffer.clone(),
                notify: told.then_some(send),
                returned: None,
            };
            if told {
                self.operations[send as usize].state = State::Sending {
                    peer,
                    envelope,
                    buffer,
                };
            } else {
                self.sends -= 1;
                self.finish(send, Ok(status(envelope, length)), buffer);
            }
            channel.post(peer, packet);
            return;
        }
        let waits = State::AwaitCts {
            peer,
            envelope,
            buffer: buffer.clone(),
        };
        let announced = if detached {
            // The program's operation is over; that of the message goes on, and the rank stays until it is over too.
            let location = self.operations[send as usize].location;
            self.finish(send, Ok(status(envelope, length)), buffer);
            let message = self.insert(waits, location);
            self.operations[message as usize].released = true;
            message
        } else {
            self.operations[send as usize].state = waits;
            send
        };
        let header = Header::Rts {
            envelope,
            length,
            send: announced,
            detached,
        };
        self.post_control(channel, peer, header);
    }

    /// Posts a receive.
    pub(crate) fn receive(
        &mut self,
        channel: &dyn Channel,
        pattern: Pattern,
        buffer: Buffer,
        location: Place,
    ) -> Token {
        let waits = State::AwaitPost {
            pattern,
            buffer,
            message: None,
        };
        let receive = self.insert(waits, location);
        self.in_turn(channel, receive);
        receive
    }

    /// A place for a timer or a computation.
    pub(crate) fn elapse(&mut self, location: Place) -> Token {
        self.insert(State::Elapsing, location)
    }

    /// The message that a receive with this pattern would get.
    pub(crate) fn probe(&self, pattern: &Pattern) -> Option<Status> {
        self.matching
            .find(pattern)
            .map(|message| status(message.envelope, message.content.length()))
    }

    /// Messages that have arrived and that nobody has received, and their lengths.
    pub(crate) fn unreceived(&self) -> impl Iterator<Item = (Envelope, u64)> {
        self.matching
            .unexpected()
            .map(|message| (message.envelope, message.content.length()))
    }

    /// Receives that wait for a message, and where they were posted.
    pub(crate) fn posted(&self) -> impl Iterator<Item = (&Pattern, Place)> {
        self.operations
            .iter()
            .filter_map(|operation| match &operation.state {
                State::Posted { pattern, .. } => Some((pattern, operation.location)),
                _ => None,
            })
    }

    /// Receives whose request was dropped before they got a message: the first one, where it was posted, and their
    /// number.
    pub(crate) const fn withdrawn(&self) -> Option<(Pattern, Place, u64)> {
        self.withdrawn
    }

    /// Whether no send is going on.
    pub(crate) fn has_sent_all(&self) -> bool {
        self.sends == 0 && self.flow.as_ref().is_none_or(|flow| flow.is_idle())
    }

    /// All operations whose end the program may want to know.
    pub(crate) fn states(&self) -> impl Iterator<Item = &State> {
        self.operations.iter().map(|operation| &operation.state)
    }

    /// The number of operations that are remembered.
    pub(crate) fn in_use(&self) -> usize {
        let free = |state: &&State| matches!(state, State::Free { .. });
        self.operations.len() - self.states().filter(free).count()
    }

    /// Where the first of the operations of a kind was started.
    pub(crate) fn first(&self, wanted: fn(&State) -> bool) -> Option<Place> {
        let mut all = self.operations.iter();
        all.find(|operation| wanted(&operation.state))
            .map(|operation| operation.location)
    }

    /// Moves on by one event.
    pub(crate) fn handle(&mut self, channel: &dyn Channel, event: Event) {
        self.events += 1;
        match event {
            Event::Packet { source, packet } => self.handle_packet(channel, source, packet),
            Event::Sent(token) if self.flow.is_some() => self.handle_left(channel, token),
            Event::Sent(token) => self.handle_sent(token),
            Event::Elapsed(token)
                if matches!(
                    self.state(token),
                    State::AwaitTurn { .. } | State::AwaitPost { .. }
                ) =>
            {
                self.waiting -= 1;
                self.begin(channel, token);
            }
            Event::Elapsed(token) => {
                if self.catching_up.is_some_and(|(_, other)| other == token) {
                    self.catching_up = None;
                }
                self.finish(token, Ok(NOTHING), Buffer::phantom(0));
            }
            other => self.handle_connection(channel, other),
        }
    }

    fn handle_packet(&mut self, channel: &dyn Channel, source: u32, packet: Packet) {
        if channel.settings().limits.is_some() {
            return self.handle_limited(channel, source, packet);
        }
        let (envelope, content) = match packet.header {
            Header::Eager { envelope } => (envelope, Content::Eager(packet.payload)),
            Header::Rts {
                envelope,
                length,
                send,
                detached,
            } => (
                envelope,
                Content::Rts {
                    length,
                    send,
                    detached,
                },
            ),
            Header::Cts { send, receive } => {
                return self.handle_cts(channel, source, send, receive);
            }
            Header::Data { receive } => return self.handle_data(channel, receive, &packet.payload),
            Header::EagerFirst { .. }
            | Header::EagerNext { .. }
            | Header::DataPart { .. }
            | Header::Credits => unreachable!("only where limits are set"),
            Header::Socket { .. } => unreachable!("the layer below answers"),
        };
        if let Some((receive, content)) = self.matching.arrive(envelope, content) {
            self.matched(channel, receive, envelope, content);
        }
    }

    /// A receive has got its message, or the announcement of it.
    fn matched(
        &mut self,
        channel: &dyn Channel,
        receive: Token,
        envelope: Envelope,
        content: Content,
    ) {
        let place = &mut self.operations[receive as usize].state;
        let State::Posted { buffer, .. } = std::mem::replace(place, State::Elapsing) else {
            unreachable!("only posted receives are matched");
        };
        match content {
            Content::Eager(message) => {
                self.owe(channel, receive, message.len());
                self.deliver(receive, envelope, buffer, &message);
            }
            Content::Held { length, assembly } => {
                self.operations[receive as usize].state = State::AwaitData {
                    envelope,
                    length,
                    buffer,
                    detached: true,
                    arrived: 0,
                };
                self.meet(channel, assembly, receive);
            }
            Content::Rts {
                length,
                send,
                detached,
            } => {
                self.operations[receive as usize].state = State::AwaitData {
                    envelope,
                    length,
                    buffer,
                    detached,
                    arrived: 0,
                };
                self.post_control(channel, envelope.source, Header::Cts { send, receive });
            }
        }
    }

    /// Notes what the completion of a receive costs.
    fn owe(&mut self, channel: &dyn Channel, receive: Token, length: u64) {
        let cost = channel.settings().or.of(length);
        let operation = &mut self.operations[receive as usize];
        if cost > 0.0 && !operation.released {
            operation.owed = cost;
            self.debts += 1;
        }
    }

    fn deliver(
        &mut self,
        receive: Token,
        envelope: Envelope,
        mut buffer: Buffer,
        message: &Buffer,
    ) {
        let length = message.len();
        let result = if length > buffer.len() {
            let source = envelope.source as usize;
            Err(Error::Truncated {
                source,
                tag: envelope.tag,
                length,
                buffer: buffer.len(),
            })
        } else {
            buffer.receive(message);
            Ok(status(envelope, length))
        };
        self.finish(receive, result, buffer);
    }

    fn handle_cts(&mut self, channel: &dyn Channel, source: u32, send: Token, receive: Token) {
        let place = &mut self.operations[send as usize].state;
        let State::AwaitCts {
            peer,
            envelope,
            buffer,
        } = std::mem::replace(place, State::Elapsing)
        else {
            unreachable!("a CTS answers an RTS");
        };
        assert!(
            peer == source,
            "a CTS comes from the rank that the RTS went to"
        );
        if self.flow.is_some() {
            return self.queue_data(channel, send, receive, (peer, envelope, buffer));
        }
        let packet = Packet {
            header: Header::Data { receive },
            payload: buffer.clone(),
            notify: Some(send),
            returned: None,
        };
        self.operations[send as usize].state = State::Sending {
            peer,
            envelope,
            buffer,
        };
        channel.post(peer, packet);
    }

    fn handle_sent(&mut self, send: Token) {
        let place = &mut self.operations[send as usize].state;
        let (State::Sending {
            envelope, buffer, ..
        }
        | State::Queued {
            envelope, buffer, ..
        }) = std::mem::replace(place, State::Elapsing)
        else {
            unreachable!("only data are reported as sent");
        };
        self.sends -= 1;
        let length = buffer.len();
        self.finish(send, Ok(status(envelope, length)), buffer);
    }

    fn handle_data(&mut self, channel: &dyn Channel, receive: Token, message: &Buffer) {
        let place = &mut self.operations[receive as usize].state;
        let State::AwaitData {
            envelope,
            length,
            buffer,
            detached,
            ..
        } = std::mem::replace(place, State::Elapsing)
        else {
            unreachable!("data come for a receive that sent a CTS");
        };
        debug_assert_eq!(length, message.len(), "the RTS announced the length");
        if detached {
            self.owe(channel, receive, length);
        }
        self.deliver(receive, envelope, buffer, message);
    }
}

fn control(header: Header) -> Packet {
    Packet {
        header,
        payload: Buffer::phantom(0),
        notify: None,
        returned: None,
    }
}
