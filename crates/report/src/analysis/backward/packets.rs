//! Packets of a log that is read backwards: an arrival is read before its post.

use std::collections::btree_map;

use observe::{LogEvent, NetworkEvent, PacketKind, RankEvent};

use super::sensitivity::{FlowEnd, FlowTimes};
use super::state::{BackwardFlight, Effect, SentOperation};
use super::{Backward, slack::MessageSlack};

impl Backward<'_> {
    /// Takes an event of the network.
    pub(super) fn handle_network_event(&mut self, time: f64, event: NetworkEvent<Vec<u32>>) {
        match event {
            NetworkEvent::End { flow } => {
                self.flows.insert(flow, FlowEnd::ending_at(time));
            }
            NetworkEvent::LinkChange { .. }
            | NetworkEvent::Computation { .. }
            | NetworkEvent::Incident { .. } => {}
            NetworkEvent::Rate { flow, link, .. } => {
                if let Some(flow) = self.flows.get_mut(&flow) {
                    flow.limited(time, link);
                }
            }
            NetworkEvent::Begin {
                flow,
                latency_s,
                alone_s,
                links,
                ..
            } => {
                let times = self.flows.remove(&flow);
                let Some((identity, end)) = self.injected.take().zip(times) else {
                    return;
                };
                let is_open = |flight: &BackwardFlight| flight.flow.is_none();
                if let Some(flight) = self.flights.find_mut(identity, is_open) {
                    flight.flow = Some(Box::new(FlowTimes {
                        latency_s,
                        alone_s,
                        links,
                        limits: end.limits,
                    }));
                }
            }
        }
    }

    /// Takes the begin of a send. Its post has been read before.
    pub(super) fn begin_send(
        &mut self,
        rank: u32,
        time: f64,
        (peer, bytes, place): (u32, u64, u16),
    ) {
        let posted = self.ranks[rank as usize].posted.take();
        if let Some((_, slack)) = posted.filter(|(to, _)| *to == peer) {
            self.slacks.add_message(MessageSlack {
                slack,
                rank,
                peer,
                bytes,
                place,
                sent: time,
            });
        }
    }

    /// Takes an event of a packet or a timer.
    pub(super) fn handle_packet(&mut self, rank: u32, time: f64, event: LogEvent) {
        match event {
            RankEvent::Post {
                peer, packet, key, ..
            } => self.post_packet(rank, time, peer, (packet, key)),
            RankEvent::Arrive {
                peer, packet, key, ..
            } => self.handle_packet_arrival(rank, time, peer, (packet, key)),
            RankEvent::Inject {
                peer, packet, key, ..
            } => self.injected = Some((rank, peer, packet, key)),
            RankEvent::Taken { peer, tag, bytes } => {
                let slack = self.needed(rank, time);
                let slack = slack.min(self.ranks[rank as usize].pending.slack);
                let queue = self.taken.entry((rank, peer, tag, bytes)).or_default();
                queue.push_back(slack + time);
            }
            RankEvent::Unexpected { peer, tag, bytes } => {
                let mut slack = f64::INFINITY;
                let key = (rank, peer, tag, bytes);
                if let btree_map::Entry::Occupied(mut queue) = self.taken.entry(key) {
                    slack = queue.get_mut().pop_front().map_or(slack, |by| by - time);
                    if queue.get().is_empty() {
                        queue.remove();
                    }
                }
                self.ranks[rank as usize].unexpected = Some(slack);
            }
            RankEvent::Elapsed => {
                if let Some(open) = &mut self.ranks[rank as usize].call {
                    open.has_timer = true;
                }
            }
            RankEvent::Sent { operation } => {
                let effect = self.collect_effect(rank, time, true);
                let own = &mut self.ranks[rank as usize];
                let sent = &mut own.cold_mut().sent;
                if sent.capacity() == 0 {
                    // Most ranks have one.
                    sent.reserve_exact(1);
                }
                sent.push_back(SentOperation { operation, effect });
            }
            _ => {}
        }
    }

    /// Handles the arrival of a packet. The cause of an arrival is the post of the packet.
    fn handle_packet_arrival(
        &mut self,
        rank: u32,
        time: f64,
        peer: u32,
        (packet, key): (PacketKind, u32),
    ) {
        let own = &mut self.ranks[rank as usize];
        let unexpected = own.unexpected.take();
        let is_message = matches!(
            packet,
            PacketKind::Eager
                | PacketKind::EagerNext
                | PacketKind::Data
                | PacketKind::Ack
                | PacketKind::Rma
        );
        let data = own.cold.as_mut().and_then(|cold| cold.data.take());
        let mut effect = self.collect_effect(rank, time, is_message && unexpected.is_none());
        if let Some(slack) = unexpected {
            effect.slack = effect.slack.min(slack);
        }
        if is_message {
            self.take_from_sent(rank, time, &mut effect);
        }
        if packet == PacketKind::Cts {
            let own = &mut self.ranks[rank as usize];
            let sent = own.cold.as_mut().map(|cold| &mut cold.sent);
            let sent = sent.and_then(|sent| {
                let index = sent.iter().position(|sent| sent.operation == key)?;
                sent.remove(index)
            });
            if let Some(sent) = sent {
                let mut known = sent.effect;
                if let Some(at) = &mut known.path {
                    self.times.travel(data.as_deref(), *at - time, self.links);
                    *at = time;
                }
                effect.merge_effect(known);
            }
        }
        if packet == PacketKind::Other {
            effect.waiters = [None; 2];
        }
        effect.slack = effect.slack.min((self.end - time).max(0.0));
        let flight = BackwardFlight { effect, flow: None };
        self.flights.push_packet((peer, rank, packet, key), flight);
    }

    /// A rank learns that a packet has left when the rank handles a message: the message ends the
    /// wait of the rank, and not the packet, which left before.
    fn take_from_sent(&mut self, rank: u32, time: f64, effect: &mut Effect) {
        let cold = self.ranks[rank as usize].cold.as_mut();
        let Some(sent) = cold.and_then(|cold| cold.sent.back_mut()) else {
            return;
        };
        if sent
            .effect
            .path
            .is_some_and(|at| at.to_bits() == time.to_bits())
        {
            effect.merge_effect(std::mem::take(&mut sent.effect));
        }
    }

    /// Handles the post of a packet. The cause of the post is read next.
    fn post_packet(&mut self, rank: u32, time: f64, peer: u32, (packet, key): (PacketKind, u32)) {
        let identity = match packet {
            PacketKind::Pull => (peer, rank, PacketKind::Data, key),
            _ => (rank, peer, packet, key),
        };
        let is_own = matches!(
            packet,
            PacketKind::Eager | PacketKind::EagerNext | PacketKind::Rts
        );
        let flight = self.flights.pop_packet(identity).unwrap_or_default();
        let mut effect = flight.effect;
        effect.slack = effect.slack.min((self.end - time).max(0.0));
        if let Some(arrived) = effect.path {
            let seconds = arrived - time;
            self.times
                .travel(flight.flow.as_deref(), seconds, self.links);
            effect.path = Some(time);
        }
        if packet == PacketKind::Eager {
            // What its rank was told when it had left.
            let cold = self.ranks[rank as usize].cold.as_mut();
            let sent = cold.and_then(|cold| cold.sent.pop_front());
            if let Some(sent) = sent {
                effect.slack = effect.slack.min(sent.effect.slack);
                if let Some(at) = sent.effect.path {
                    self.times.depart(flight.flow.as_deref(), at - time);
                    effect.path = Some(time);
                }
            }
        }
        if is_own {
            for waiter in std::mem::take(&mut effect.waiters).into_iter().flatten() {
                self.causes(waiter, rank, time);
            }
        }
        let own = &mut self.ranks[rank as usize];
        match packet {
            PacketKind::Eager | PacketKind::Rts => own.posted = Some((peer, effect.slack)),
            PacketKind::Cts | PacketKind::Ack | PacketKind::Pull => {
                let by = time + effect.slack;
                own.answers_by = Some(own.answers_by.map_or(by, |other| other.min(by)));
            }
            PacketKind::Data => own.cold_mut().data = flight.flow,
            _ => {}
        }
        own.pending.merge_effect(effect);
    }
}
