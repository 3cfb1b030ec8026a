//! Running the machine that sends: the answers to the questions of its states, and its actions.

use super::{
    Costs, FlowAction, FlowControl, FlowControlledConnection, Hold, MessageType, OutboundMessage,
    PacketSlot, SharedResources,
};
use crate::channel::{Packet, PacketHeader, PostingCost};
use crate::protocol::defect::ProtocolDefect;
use crate::protocol::machine::send::{ROWS, SendAction, SendEvent, SendState, WAITS};
use crate::protocol::machine::take_transition;
use crate::{Buffer, Limits};

impl FlowControl {
    /// Runs the machine of a connection until it waits.
    pub(super) fn run_send(&mut self, peer: u32, now: f64) {
        let Self {
            limits,
            costs,
            shared,
            connections,
            taken,
            defects,
            ..
        } = self;
        let Some(connection) = connections.get_mut(&peer) else {
            return;
        };
        let waits = matches!(
            connection.send,
            SendState::AwaitFlowCtrl | SendState::AwaitFlowData
        );
        if waits && defects.has(ProtocolDefect::NoWakeOnCredits) {
            return;
        }
        while let Some(event) = connection.current_event(limits, costs, shared.buffers) {
            let row = take_transition(ROWS, connection.send, event, &mut taken.send);
            let action = if defects.has(ProtocolDefect::CreditNotTaken)
                && row.action == SendAction::TakeCredit
            {
                SendAction::Nothing
            } else {
                row.action
            };
            if let Some(at) = WAITS.iter().position(|state| *state == connection.send) {
                let seconds = now - connection.since;
                connection.waited[at] += seconds;
                let resource = connection.awaited().filter(|_| seconds > 0.0);
                shared
                    .effects
                    .extend(resource.map(|resource| FlowAction::Held {
                        peer,
                        resource,
                        seconds,
                    }));
            }
            connection.act((limits, costs), shared, action, &mut taken.credits);
            connection.send = row.to;
            connection.since = now;
        }
    }
}

impl FlowControlledConnection {
    /// Returns the event of the present state of the machine; `None` if the machine waits.
    pub(super) fn current_event(
        &self,
        limits: &Limits,
        costs: &Costs,
        free: Option<u32>,
    ) -> Option<SendEvent> {
        let choose = |condition, yes, no| Some(if condition { yes } else { no });
        match self.send {
            SendState::AwaitMessage => self.has_more().then_some(SendEvent::MessageAvailable),
            SendState::DecideType => choose(
                self.is_too_much(limits),
                SendEvent::TooManyEager,
                SendEvent::TypeKept,
            ),
            SendState::BufCtrl => choose(
                self.control_buffer(free).is_some(),
                SendEvent::Free,
                SendEvent::NoneFree,
            ),
            SendState::AwaitBufCtrl | SendState::AwaitFlowCtrl if self.withdrawn => {
                Some(SendEvent::Withdrawn)
            }
            SendState::AwaitBufCtrl => {
                let found = self.control_buffer(free);
                found.map(|_| SendEvent::BuffersAvailable)
            }
            SendState::FlowCtrl => {
                choose(self.has_credits(1), SendEvent::Ok, SendEvent::Restricted)
            }
            SendState::AwaitFlowCtrl => self.has_credits(1).then_some(SendEvent::FlowEnabled),
            SendState::Pack => choose(
                self.cost(limits, costs, 1) > 0.0,
                SendEvent::Costs,
                SendEvent::NoCost,
            ),
            SendState::PackData => {
                let cost = self.cost(limits, costs, self.batch(limits));
                choose(cost > 0.0, SendEvent::Costs, SendEvent::NoCost)
            }
            SendState::AwaitPacked | SendState::AwaitPackedData => {
                self.packed.then_some(SendEvent::Packed)
            }
            SendState::PostCtrl => Some(self.after(limits, 1)),
            SendState::BufData => {
                let has = has_buffers(free, self.batch(limits));
                choose(has, SendEvent::Free, SendEvent::NoneFree)
            }
            SendState::AwaitBufData => {
                has_buffers(free, self.batch(limits)).then_some(SendEvent::BuffersAvailable)
            }
            SendState::FlowData => {
                let has = self.has_credits(self.batch(limits));
                choose(has, SendEvent::Ok, SendEvent::Restricted)
            }
            SendState::AwaitFlowData => {
                let has = self.has_credits(self.batch(limits));
                has.then_some(SendEvent::FlowEnabled)
            }
            SendState::PostData => Some(self.after(limits, self.batch(limits))),
            SendState::Complete => Some(self.completion(limits)),
            SendState::CheckReady => choose(
                self.has_more(),
                SendEvent::QueueNotEmpty,
                SendEvent::QueueEmpty,
            ),
        }
    }

    fn has_more(&self) -> bool {
        !self.answers.is_empty() || !self.queue.is_empty()
    }

    fn current(&self) -> &OutboundMessage {
        self.message.as_ref().expect("only in states with a CAR")
    }

    /// Returns true if an eager message has to be converted.
    fn is_too_much(&self, limits: &Limits) -> bool {
        let message = self.current();
        let eager = message.kind == MessageType::Eager;
        let several = matches!(message.header, PacketHeader::Synchronous { .. })
            && message.payload.len() > limits.packet_max();
        several || eager && (self.converting || self.would_exceed(limits, message.payload.len()))
    }

    /// Returns the buffer for the first packet, if there is one. One of the reserved buffers is
    /// left for flow-control updates.
    fn control_buffer(&self, free: Option<u32>) -> Option<Hold> {
        match free {
            None => Some(Hold::Nothing),
            Some(0) => {
                let control = matches!(
                    self.current().kind,
                    MessageType::Control | MessageType::Answer
                );
                (control && self.reserved >= 2).then_some(Hold::Reserved)
            }
            Some(_) => Some(Hold::Pool),
        }
    }

    fn has_credits(&self, count: u32) -> bool {
        self.credits.is_none_or(|credits| credits >= count)
    }

    /// The number of packets that are posted next.
    fn batch(&self, limits: &Limits) -> u32 {
        self.fixed.unwrap_or_else(|| {
            let ready = self.current().ready(limits, self.current().sent);
            let ready = u32::try_from(ready).unwrap_or(u32::MAX);
            ready.min(limits.batch_max())
        })
    }

    /// Returns the time to pack and post packets, in seconds.
    #[expect(
        clippy::cast_precision_loss,
        reason = "messages of 2^53 bytes and more may be off by one"
    )]
    fn cost(&self, limits: &Limits, costs: &Costs, packets: u32) -> f64 {
        let message = self.current();
        let bytes = limits
            .packet_max()
            .saturating_mul(packets.into())
            .min(message.payload.len() - message.sent);
        // The first packet of several is packed, whatever it is of.
        let in_place =
            message.is_direct(limits) && (message.sent > 0 || bytes == message.payload.len());
        let copied = if in_place { 0 } else { bytes };
        let PostingCost { packet, batch } = costs.posting;
        batch + packet * f64::from(packets) + copied as f64 / costs.copy_bandwidth
    }

    /// Returns the event after this number of packets.
    fn after(&self, limits: &Limits, packets: u32) -> SendEvent {
        let message = self.current();
        let posted = limits
            .packet_max()
            .saturating_mul(packets.into())
            .min(message.payload.len() - message.sent);
        if message.sent + posted == message.payload.len() {
            SendEvent::NothingMore
        } else if message.is_direct(limits) {
            SendEvent::MoreDirect
        } else {
            SendEvent::MoreBuffered
        }
    }

    /// Returns the event that ends the operation after the last packet.
    fn completion(&self, limits: &Limits) -> SendEvent {
        let message = self.current();
        match message.kind {
            _ if message.operation.is_none() => SendEvent::Control,
            MessageType::Control | MessageType::Answer => SendEvent::Control,
            MessageType::Eager | MessageType::Data
                if !message.told && !message.is_direct(limits) =>
            {
                SendEvent::AllPacked
            }
            _ if message.whole => SendEvent::AllDirect,
            _ => SendEvent::SomeDirect,
        }
    }

    fn act(
        &mut self,
        (limits, costs): (&Limits, &Costs),
        shared: &mut SharedResources,
        action: SendAction,
        reports: &mut [u64],
    ) {
        match action {
            SendAction::Nothing => {}
            SendAction::TakeMessage => {
                let next = self.answers.pop_front();
                self.message = next.or_else(|| self.queue.pop_front());
            }
            SendAction::ConvertToRts => self.convert(limits, shared),
            SendAction::TakeBuffer => {
                let hold = self.control_buffer(shared.buffers);
                self.hold = hold.expect("a buffer was seen to be free");
                match self.hold {
                    Hold::Nothing => {}
                    Hold::Reserved => self.reserved -= 1,
                    Hold::Pool => take_from(&mut shared.buffers, 1),
                }
            }
            SendAction::TakeCredit => take_from(&mut self.credits, 1),
            SendAction::DropMessage => {
                self.withdrawn = false;
                self.message = None;
                match std::mem::replace(&mut self.hold, Hold::Nothing) {
                    Hold::Nothing => {}
                    Hold::Reserved => self.reserved += 1,
                    Hold::Pool => shared.give_back(1),
                }
            }
            SendAction::StartPacking => {
                let packets = match self.send {
                    SendState::Pack => 1,
                    _ => self.batch(limits),
                };
                let (peer, seconds) = (self.peer, self.cost(limits, costs, packets));
                self.packed = false;
                shared.effects.push_back(FlowAction::Pack { peer, seconds });
            }
            SendAction::TakeBuffers => {
                let count = self.batch(limits);
                take_from(&mut shared.buffers, count);
                self.fixed = Some(count);
            }
            SendAction::TakeCredits => {
                let count = self.batch(limits);
                take_from(&mut self.credits, count);
                self.fixed = Some(count);
            }
            SendAction::PostControl => self.post_first(limits, shared, reports),
            SendAction::PostBatch => {
                for _ in 0..self.batch(limits) {
                    self.post_next(limits, shared, reports);
                }
                self.fixed = None;
            }
            SendAction::DropActivity => {
                let operation = self.current().operation;
                shared.drop_activity(operation.expect("data belong to an operation"));
            }
            SendAction::FinishMessage => {
                let operation = self.current().operation;
                let operation = operation.expect("a message belongs to an operation");
                shared.effects.push_back(FlowAction::Finished(operation));
            }
        }
    }

    /// Announces an eager message instead of sending it.
    fn convert(&mut self, limits: &Limits, shared: &mut SharedResources) {
        let message = self
            .message
            .as_mut()
            .expect("there is a CAR to decide about");
        let ((PacketHeader::Eager { envelope }, Some(send))
        | (PacketHeader::Synchronous { envelope, send }, _)) = (message.header, message.operation)
        else {
            unreachable!("only eager messages are converted");
        };
        let length = message.payload.len();
        let synchronous = matches!(message.header, PacketHeader::Synchronous { .. });
        message.kind = MessageType::Control;
        message.header = PacketHeader::Rts {
            envelope,
            length,
            send,
            detached: false,
        };
        message.payload = Buffer::phantom(0);
        message.operation = None;
        // A message that can never be eager says nothing about the others.
        let never = length > limits.packet_max() && synchronous
            || limits
                .eager_window()
                .is_some_and(|window| limits.packets(length) > window.into());
        self.converting |= !never;
        shared.effects.push_back(FlowAction::Converted(send));
    }

    fn post_first(&mut self, limits: &Limits, shared: &mut SharedResources, reports: &mut [u64]) {
        let message = self.message.as_mut().expect("there is a CAR to post");
        let length = message.payload.len();
        let whole = length <= limits.packet_max();
        if message.kind == MessageType::Eager {
            self.outstanding.messages += 1;
            self.outstanding.bytes += length;
            self.outstanding.packets += limits.packets(length);
        }
        let ends_at_network = message.told || message.is_direct(limits);
        let mut activity = None;
        if let (true, Some(operation)) = (ends_at_network, message.operation) {
            // Of several packets the first is packed, and the machine itself is an activity until
            // all are posted.
            shared.activities.insert(operation, 1);
            activity = (whole || message.told).then_some(operation);
            if !whole && message.told {
                shared.activities.insert(operation, 2);
            }
        }
        let header = match message.header {
            header if whole => header,
            PacketHeader::Eager { envelope } => PacketHeader::EagerFirst { envelope, length },
            PacketHeader::Data { receive } => PacketHeader::DataPart {
                receive,
                offset: 0,
                length,
            },
            header => header,
        };
        let payload = if whole {
            message.payload.clone()
        } else {
            message.payload.copy_range(0, limits.packet_max())
        };
        message.sent = payload.len();
        message.whole = whole;
        let slot = PacketSlot {
            peer: self.peer,
            hold: self.hold,
            operation: activity,
        };
        self.hold = Hold::Nothing;
        self.post_packet(shared, header, payload, slot, reports);
    }

    fn post_next(&mut self, limits: &Limits, shared: &mut SharedResources, reports: &mut [u64]) {
        let message = self.message.as_mut().expect("there is a CAR to post");
        let offset = message.sent;
        let payload = message.payload.copy_range(offset, limits.packet_max());
        message.sent += payload.len();
        let header = match message.header {
            PacketHeader::Data { receive } => PacketHeader::DataPart {
                receive,
                offset,
                length: message.payload.len(),
            },
            _ => PacketHeader::EagerNext { offset },
        };
        let direct = message.is_direct(limits);
        let activity = (direct || message.told)
            .then_some(message.operation)
            .flatten();
        if let Some(operation) = activity {
            *shared.activities.entry(operation).or_default() += 1;
        }
        let hold = if direct || shared.buffers.is_none() {
            Hold::Nothing
        } else {
            Hold::Pool
        };
        let slot = PacketSlot {
            peer: self.peer,
            hold,
            operation: activity,
        };
        self.post_packet(shared, header, payload, slot, reports);
    }

    /// Posts a packet, which carries the pending report to the peer.
    pub(super) fn post_packet(
        &mut self,
        shared: &mut SharedResources,
        header: PacketHeader,
        payload: Buffer,
        slot: PacketSlot,
        reports: &mut [u64],
    ) {
        let matters = slot.hold != Hold::Nothing || slot.operation.is_some();
        shared.under_way += u32::from(matters);
        let packet = Packet {
            header,
            payload,
            notify: None,
            returned: self.piggyback(reports),
        };
        shared.effects.push_back(FlowAction::Post {
            peer: self.peer,
            packet,
            slot: matters.then_some(slot),
        });
    }
}

impl SharedResources {
    /// Puts buffers back.
    pub(super) fn give_back(&mut self, count: u32) {
        if let Some(free) = &mut self.buffers {
            *free += count;
        }
    }
}

fn has_buffers(free: Option<u32>, count: u32) -> bool {
    free.is_none_or(|free| free >= count)
}

/// Takes `count` from a limited resource.
pub(super) fn take_from(free: &mut Option<u32>, count: u32) {
    if let Some(free) = free {
        *free = free
            .checked_sub(count)
            .expect("only what was seen to be free is taken (M-13)");
    }
}
