//! Messages that are sent on as they come: a send whose data are those of a receive (M-1).
//!
//! The receive and the send are two operations; the program has the receive, which is over when the
//! send is. A message that is announced is announced further when it meets its receive, and each
//! part of it continues when it has come and all before it have. One that comes whole, eagerly or
//! because nothing cuts it into packets, is sent on when it is there.

use observe::SourceLocation;
use std::collections::BTreeMap;

use super::{ProtocolEngine, SendCall, State};
use crate::channel::{Channel, PacketHeader, Token};
use crate::exploration::choose;
use crate::protocol::flow_control::{Kind, OutboundMessage};
use crate::{Buffer, Envelope, Error, ForwardBuffering, Pattern, Status};

/// Relation of an operation to others.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum Role {
    /// None.
    #[default]
    None,
    /// The receive of a forwarded message.
    Source,
    /// The send of a forwarded message.
    Sink,
    /// A request of a step of a collective.
    Step,
    /// The data of a put or an accumulate that leave.
    Put,
}

/// Where a message goes that has not come yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ForwardTarget {
    pub(crate) peer: u32,
    pub(crate) envelope: Envelope,
    pub(crate) placement: ForwardBuffering,
}

/// The messages that are being forwarded.
#[derive(Clone, Default, Debug)]
pub(super) struct Forwards {
    /// By their receives.
    all: BTreeMap<Token, Forward>,
    /// The receive of each send.
    sources: BTreeMap<Token, Token>,
}

/// One of them.
#[derive(Clone, Debug)]
struct Forward {
    onward: ForwardTarget,
    /// The rank that it comes from, once it has met its receive.
    from: u32,
    length: u64,
    send: Option<Token>,
    /// The receive at the destination, if it is cleared and nothing has left yet.
    cleared: Option<Token>,
    /// True if its data are queued.
    queued: bool,
    /// True if its send is over.
    left: bool,
    /// Number of leading bytes that have arrived.
    available: u64,
    /// Parts that have arrived behind them: where each begins and ends.
    islands: BTreeMap<u64, u64>,
    /// Number of bytes that have been posted.
    posted: u64,
    /// Packets whose credits the source does not get back before more has been posted.
    kept: u32,
}

impl Forward {
    /// Notes a part that has come.
    fn note(&mut self, offset: u64, length: u64) {
        self.islands.insert(offset, offset + length);
        while let Some(end) = self.islands.remove(&self.available) {
            if end == self.available {
                break;
            }
            self.available = end;
        }
    }
}

impl ProtocolEngine {
    /// Receives a message and sends it on; over when both are.
    pub(crate) fn forward(
        &mut self,
        channel: &dyn Channel,
        pattern: Pattern,
        buffer: Buffer,
        onward: ForwardTarget,
        location: SourceLocation,
    ) -> Token {
        // It may leave because of two arrivals, of which one is the later.
        choose(channel);
        let waits = State::AwaitPost {
            pattern,
            buffer,
            message: None,
        };
        let receive = self.insert(waits, location);
        self.operations[receive as usize].role = Role::Source;
        let forward = Forward {
            onward,
            from: 0,
            length: 0,
            send: None,
            cleared: None,
            queued: false,
            left: false,
            available: 0,
            islands: BTreeMap::new(),
            posted: 0,
            kept: 0,
        };
        self.forwards
            .get_or_insert_default()
            .all
            .insert(receive, forward);
        self.in_turn(channel, receive);
        receive
    }

    fn forwarded(&mut self, receive: Token) -> &mut Forward {
        let forwards = self.forwards.as_mut();
        let all = &mut forwards.expect("something is being forwarded").all;
        all.get_mut(&receive).expect("it is being forwarded")
    }

    /// The message of a receive has been announced: if it comes in parts, it is announced further.
    pub(super) fn forward_announcement(
        &mut self,
        channel: &dyn Channel,
        receive: Token,
        from: u32,
        length: u64,
    ) {
        let forward = self.forwarded(receive);
        (forward.from, forward.length) = (from, length);
        if !self.is_limited() || self.operations[receive as usize].unready {
            return;
        }
        let location = self.operations[receive as usize].location;
        let ForwardTarget { peer, envelope, .. } = self.forwarded(receive).onward;
        let waits = State::AwaitCts {
            peer,
            envelope,
            buffer: Buffer::phantom(length),
        };
        let send = self.sink(receive, waits, location);
        let header = PacketHeader::Rts {
            envelope,
            length,
            send,
            detached: false,
        };
        self.post_control(channel, peer, header);
    }

    /// The send of a message that is being forwarded.
    fn sink(&mut self, receive: Token, state: State, location: SourceLocation) -> Token {
        let send = self.insert(state, location);
        self.operations[send as usize].role = Role::Sink;
        self.sends += 1;
        self.forwarded(receive).send = Some(send);
        let forwards = self.forwards.as_mut();
        let sources = &mut forwards.expect("something is being forwarded").sources;
        sources.insert(send, receive);
        send
    }

    /// The destination has answered the announcement of a send.
    pub(super) fn forward_cleared(&mut self, channel: &dyn Channel, send: Token, cleared: Token) {
        let forwards = self.forwards.as_ref();
        let receive = forwards.expect("something is being forwarded").sources[&send];
        self.forwarded(receive).cleared = Some(cleared);
        self.go_on(channel, receive);
    }

    /// Lets the data leave if they may and the first packet is there.
    fn go_on(&mut self, channel: &dyn Channel, receive: Token) {
        let forward = self.forwarded(receive);
        let (Some(send), Some(cleared)) = (forward.send, forward.cleared) else {
            return;
        };
        let (available, onward) = (forward.available, forward.onward);
        let State::AwaitCts {
            buffer: announced, ..
        } = self.state(send)
        else {
            return;
        };
        let length = announced.len();
        let packet = self.flow(channel).packet().min(length);
        let is_stream = packet == length;
        let first = if is_stream { length.min(1) } else { packet };
        if available < first {
            return;
        }
        let arrived = match self.state(receive) {
            State::AwaitData { buffer, .. } | State::Forwarding { buffer, .. } => {
                buffer.part(0, length)
            }
            other => unreachable!("what is forwarded comes or has come, not {other:?}"),
        };
        let mut message =
            OutboundMessage::new(Kind::Data, PacketHeader::Data { receive: cleared }, arrived);
        message.operation = Some(send);
        message.available = available;
        message.forwarded = true;
        message.direct = onward.placement.is_direct();
        let ForwardTarget { peer, envelope, .. } = onward;
        self.operations[send as usize].state = State::Sending {
            peer,
            envelope,
            buffer: Buffer::phantom(length),
        };
        let forward = self.forwarded(receive);
        (forward.queued, forward.cleared) = (true, None);
        self.flow(channel).send(peer, message, channel.now());
        self.apply_effects(channel);
    }

    /// A part of a message has come, and has been written to its place.
    pub(super) fn forward_part(
        &mut self,
        channel: &dyn Channel,
        receive: Token,
        offset: u64,
        part: &Buffer,
    ) {
        let forward = self.forwarded(receive);
        forward.note(offset, part.len());
        let (queued, available, peer) = (forward.queued, forward.available, forward.onward.peer);
        match forward.send {
            Some(send) if queued => {
                let (now, flow) = (channel.now(), self.flow(channel));
                flow.provide(peer, send, (offset, part, available), now);
                self.apply_effects(channel);
            }
            _ => self.go_on(channel, receive),
        }
        self.return_kept(channel, receive);
    }

    /// Returns true if the sender of a part has to wait for its credit until more of the message
    /// has left (a segment buffer).
    pub(super) fn withholds_credit(&mut self, header: &PacketHeader) -> bool {
        let PacketHeader::DataPart { receive, .. } = *header else {
            return false;
        };
        if self.operations[receive as usize].role != Role::Source {
            return false;
        }
        let forward = self.forwarded(receive);
        let keeps = matches!(forward.onward.placement, ForwardBuffering::Segment(_));
        forward.kept += u32::from(keeps);
        keeps
    }

    /// This number of bytes of a message has been posted to its destination: credits of the source
    /// for which there is room come back.
    pub(super) fn handle_forwarded(&mut self, channel: &dyn Channel, send: Token, bytes: u64) {
        let forwards = self.forwards.as_ref();
        let receive = forwards.expect("something is being forwarded").sources[&send];
        self.forwarded(receive).posted += bytes;
        self.return_kept(channel, receive);
    }

    /// Gives back the credits for which a segment buffer has room.
    fn return_kept(&mut self, channel: &dyn Channel, receive: Token) {
        let flow = self.flow(channel);
        let (packet, batch) = (flow.packet(), flow.batch_max().into());
        let forwards = self.forwards.as_mut();
        let Some(forward) = forwards.and_then(|forwards| forwards.all.get_mut(&receive)) else {
            return;
        };
        let ForwardBuffering::Segment(size) = forward.onward.placement else {
            return;
        };
        let arrived = forward.available + forward.islands.iter().map(|(a, b)| b - a).sum::<u64>();
        let held = arrived - forward.posted;
        let room = size.saturating_sub(held) / packet;
        let room = match held {
            _ if forward.posted == forward.length => u64::MAX,
            // Else nobody would continue.
            0 => room.max(batch),
            _ => room,
        };
        let count = u32::try_from(room).unwrap_or(u32::MAX).min(forward.kept);
        let from = forward.from;
        forward.kept -= count;
        if count > 0 {
            self.flow(channel).return_kept(from, count, channel.now());
            self.apply_effects(channel);
        }
    }

    /// A message that is to be forwarded has come whole, or is refused.
    pub(super) fn forward_received(
        &mut self,
        channel: &dyn Channel,
        receive: Token,
        result: Result<Status, Error>,
        buffer: Buffer,
    ) {
        let Ok(told) = result else {
            return self.finish(receive, result, buffer);
        };
        let forward = self.forwarded(receive);
        let (onward, has_begun, left) = (forward.onward, forward.send.is_some(), forward.left);
        let is_noted = forward.available == told.length;
        if onward.placement == ForwardBuffering::Temporary {
            self.add_copy_charge(channel, receive, told.length);
        }
        let message = buffer.part(0, told.length);
        let location = self.operations[receive as usize].location;
        self.operations[receive as usize].state = State::Forwarding {
            status: told,
            buffer,
        };
        if left {
            self.finish_forward(receive);
        } else if !has_begun {
            let ForwardTarget { peer, envelope, .. } = onward;
            let call = SendCall {
                blocks: false,
                synchronous: false,
                location,
            };
            self.charge_send(channel, message.len(), call);
            let waits = State::AwaitTurn {
                peer,
                envelope,
                buffer: message,
                synchronous: false,
            };
            let send = self.sink(receive, waits, location);
            self.in_turn(channel, send);
        } else if !is_noted {
            // It has come in one packet.
            self.forward_part(channel, receive, 0, &message);
        }
    }

    /// The send of a forwarded message is over.
    pub(super) fn finish_sink(&mut self, send: Token) {
        self.remove(send);
        self.operations[send as usize].role = Role::None;
        let forwards = self.forwards.as_mut();
        let sources = &mut forwards.expect("something is being forwarded").sources;
        let receive = sources.remove(&send).expect("a sink has a source");
        self.forwarded(receive).left = true;
        if matches!(self.state(receive), State::Forwarding { .. }) {
            self.finish_forward(receive);
        }
    }

    /// The send of a forwarded message fails, and with it the receive.
    pub(super) fn fail_sink(&mut self, send: Token, error: Error) {
        self.remove(send);
        self.operations[send as usize].role = Role::None;
        let forwards = self.forwards.as_mut();
        let sources = &mut forwards.expect("something is being forwarded").sources;
        let receive = sources.remove(&send).expect("a sink has a source");
        let place = &mut self.operations[receive as usize].state;
        match std::mem::replace(place, State::Elapsing) {
            State::Forwarding { buffer, .. } => self.finish(receive, Err(error), buffer),
            // The message comes to its end first, and does not continue.
            other => {
                *place = other;
                self.forwarded(receive).left = true;
            }
        }
    }

    fn finish_forward(&mut self, receive: Token) {
        let place = &mut self.operations[receive as usize].state;
        let State::Forwarding { status, buffer } = std::mem::replace(place, State::Elapsing) else {
            unreachable!("what has come and left is forwarded");
        };
        self.finish(receive, Ok(status), buffer);
    }

    /// Nothing is forwarded any more by this receive.
    pub(super) fn forget_forward(&mut self, receive: Token) {
        self.operations[receive as usize].role = Role::None;
        if let Some(forwards) = &mut self.forwards {
            forwards.all.remove(&receive);
        }
    }
}
