//! One rank's protocol state: its requests, and what the packets do to them. No I/O, no clock, no waiting.
//!
//! A message shorter than the threshold is *eager*: it leaves at once and the send is complete. Otherwise it goes by
//! *rendezvous*: an RTS announces it, the receiver answers CTS once a receive has matched it, and the data follow;
//! the send is complete when the data have left. The choice is made once per message.
//!
//! Inputs are `send`, `receive` and `handle`; the packets to post come back through the channel that is passed in.

use std::panic::Location;

use crate::channel::{Channel, Event, Header, Packet, Token};
use crate::matching::{Content, Matching};
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
}

/// Where an operation stands.
#[derive(Debug)]
pub(crate) enum State {
    /// The place is not used.
    Free { next: Option<Token> },
    /// The RTS has left; the message waits for the CTS.
    AwaitCts {
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
    },
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
}

/// A line of the program.
type Place = &'static Location<'static>;

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
    /// Operations that have ended.
    ended: u64,
    /// Sends that are not over.
    sends: u32,
    /// Receives whose request was dropped before they got a message: the first one, and their number.
    withdrawn: Option<(Pattern, Place, u64)>,
}

fn status(envelope: Envelope, length: u64) -> Status {
    Status {
        source: envelope.source as usize,
        tag: envelope.tag,
        length,
    }
}

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
        match self.remove(token) {
            State::Done { result, buffer } => (result, buffer),
            other => unreachable!("only what is done is taken, not {other:?}"),
        }
    }

    /// Nobody will ask for the result. An unmatched receive is withdrawn; everything else runs to its end.
    pub(crate) fn release(&mut self, token: Token) {
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

    /// Sends a message; the operation is done at once if it is eager.
    pub(crate) fn send(
        &mut self,
        channel: &dyn Channel,
        peer: u32,
        envelope: Envelope,
        buffer: Buffer,
        location: Place,
    ) -> Token {
        let length = buffer.len();
        let settings = channel.settings();
        if length < settings.eager_threshold {
            let payload = buffer.clone();
            let (state, told) = if settings.tells_eager_sends {
                self.sends += 1;
                let sending = State::Sending {
                    peer,
                    envelope,
                    buffer,
                };
                (sending, true)
            } else {
                let result = Ok(status(envelope, length));
                (State::Done { result, buffer }, false)
            };
            let send = self.insert(state, location);
            let packet = Packet {
                header: Header::Eager { envelope },
                payload,
                notify: told.then_some(send),
            };
            channel.post(peer, packet);
            return send;
        }
        self.sends += 1;
        let waits = State::AwaitCts {
            peer,
            envelope,
            buffer,
        };
        let send = self.insert(waits, location);
        channel.post(
            peer,
            control(Header::Rts {
                envelope,
                length,
                send,
            }),
        );
        send
    }

    /// Posts a receive.
    pub(crate) fn receive(
        &mut self,
        channel: &dyn Channel,
        pattern: Pattern,
        buffer: Buffer,
        location: Place,
    ) -> Token {
        let receive = self.insert(State::Posted { pattern, buffer }, location);
        if let Some(message) = self.matching.post(pattern, receive) {
            self.matched(channel, receive, message.envelope, message.content);
        }
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
    pub(crate) const fn has_sent_all(&self) -> bool {
        self.sends == 0
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
            Event::Sent(token) => self.handle_sent(token),
            Event::Elapsed(token) => {
                let nothing = Status {
                    source: 0,
                    tag: 0,
                    length: 0,
                };
                self.finish(token, Ok(nothing), Buffer::phantom(0));
            }
        }
    }

    fn handle_packet(&mut self, channel: &dyn Channel, source: u32, packet: Packet) {
        let (envelope, content) = match packet.header {
            Header::Eager { envelope } => (envelope, Content::Eager(packet.payload)),
            Header::Rts {
                envelope,
                length,
                send,
            } => (envelope, Content::Rts { length, send }),
            Header::Cts { send, receive } => {
                return self.handle_cts(channel, source, send, receive);
            }
            Header::Data { receive } => return self.handle_data(receive, &packet.payload),
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
            Content::Eager(message) => self.deliver(receive, envelope, buffer, &message),
            Content::Rts { length, send } => {
                self.operations[receive as usize].state = State::AwaitData {
                    envelope,
                    length,
                    buffer,
                };
                channel.post(envelope.source, control(Header::Cts { send, receive }));
            }
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
        let packet = Packet {
            header: Header::Data { receive },
            payload: buffer.clone(),
            notify: Some(send),
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
        let State::Sending {
            envelope, buffer, ..
        } = std::mem::replace(place, State::Elapsing)
        else {
            unreachable!("only data are reported as sent");
        };
        self.sends -= 1;
        let length = buffer.len();
        self.finish(send, Ok(status(envelope, length)), buffer);
    }

    fn handle_data(&mut self, receive: Token, message: &Buffer) {
        let place = &mut self.operations[receive as usize].state;
        let State::AwaitData {
            envelope,
            length,
            buffer,
        } = std::mem::replace(place, State::Elapsing)
        else {
            unreachable!("data come for a receive that sent a CTS");
        };
        debug_assert_eq!(length, message.len(), "the RTS announced the length");
        self.deliver(receive, envelope, buffer, message);
    }
}

fn control(header: Header) -> Packet {
    Packet {
        header,
        payload: Buffer::phantom(0),
        notify: None,
    }
}
