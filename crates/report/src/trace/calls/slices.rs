//! Slices of a rank: calls, regions, and the operations that take no time.

use observe::{LogEvent, NameId, PacketKind, RankEvent};

use super::{Calls, ELAPSES};
use crate::trace::sink::{Label, Slice, SliceKind};

impl Calls {
    /// Begins a call that waits.
    pub(super) fn begin_call(&mut self, rank: u32, slice: &Slice, elapses: bool) {
        let state = &mut self.ranks[rank as usize];
        state.call = slice.label;
        state.above = 0;
        state.flags &= !ELAPSES;
        if elapses {
            state.flags |= ELAPSES;
        } else {
            self.totals.waiting += 1;
        }
        if self.draws(rank) {
            if let Some(begun) = self.begun.get_mut(rank as usize) {
                *begun = self.now;
            }
            self.sink.begin(rank, self.now, slice);
        }
    }

    /// Applies an event now.
    pub(super) fn apply_event(&mut self, rank: u32, event: &LogEvent) {
        match *event {
            RankEvent::Wait {
                call,
                place,
                elapses,
                request,
            } => {
                let known = self.kinds.get(usize::from(call)).copied().flatten();
                let kind = if elapses {
                    SliceKind::Compute
                } else {
                    known.unwrap_or_default()
                };
                let slice = Slice {
                    line: Some(Label::from_name(place)),
                    request,
                    ..Slice::new(kind, Label::from_name(call))
                };
                self.begin_call(rank, &slice, elapses);
            }
            RankEvent::Continue => self.end_call(rank),
            RankEvent::Send { .. } | RankEvent::Receive { .. } | RankEvent::Collective { .. } => {
                let slice = self.operation_slice(rank, event);
                if let (Some(context), Some(number)) = (slice.communicator, slice.number) {
                    let begun = (slice.label, slice.request);
                    self.pending.insert((rank, context, number), begun);
                }
                if self.draws(rank) {
                    self.sink.instant(rank, self.now, &slice);
                }
            }
            RankEvent::CollectiveCall {
                algorithm,
                root,
                place,
                ..
            } => {
                self.arguments = Slice {
                    peer: root,
                    algorithm: Some(Label::from_name(algorithm)),
                    line: Some(Label::from_name(place)),
                    ..Slice::default()
                };
            }
            RankEvent::CollectiveEnd { context, number } => {
                self.collective_ends(rank, context, number);
            }
            RankEvent::Post { .. } | RankEvent::Arrive { .. } => self.handle_packet(rank, event),
            RankEvent::Unexpected { bytes, .. } => {
                self.update_unexpected(rank, |(count, sum)| (count + 1, sum.saturating_add(bytes)));
            }
            RankEvent::Taken { bytes, .. } => self.update_unexpected(rank, |(count, sum)| {
                (count.saturating_sub(1), sum.saturating_sub(bytes))
            }),
            RankEvent::Enter { region } => self.enter_region(rank, Label::from_name(region)),
            RankEvent::Leave => self.leave_region(rank),
            RankEvent::Mark { name, value } => {
                let value = Some(value);
                self.happens(rank, SliceKind::Mark, name, (None, value));
            }
            RankEvent::Incident { name, peer, value } => {
                self.happens(rank, SliceKind::Control, name, (peer, value));
            }
            RankEvent::End => self.end_rank(rank),
            _ => {}
        }
    }

    /// Adds an event of a rank: an instant with a peer and a value.
    fn happens(
        &mut self,
        rank: u32,
        kind: SliceKind,
        name: NameId,
        (peer, value): (Option<u32>, Option<f64>),
    ) {
        let slice = Slice {
            peer,
            value,
            ..Slice::new(kind, Label::from_name(name))
        };
        if self.draws(rank) {
            self.sink.instant(rank, self.now, &slice);
        }
    }

    /// A non-blocking collective operation has ended.
    fn collective_ends(&mut self, rank: u32, context: u32, number: u32) {
        if let Some((label, request)) = self.pending.remove(&(rank, context, number)) {
            let slice = Slice {
                communicator: Some(context),
                number: Some(number),
                request,
                ..Slice::new(SliceKind::Collective, label)
            };
            if self.draws(rank) {
                self.sink.instant(rank, self.now, &slice);
            }
        }
    }

    /// A packet is handed to a device, or has arrived.
    fn handle_packet(&mut self, rank: u32, event: &LogEvent) {
        match *event {
            RankEvent::Post {
                peer,
                packet,
                key,
                bytes,
            } => {
                let change = self.messages.post_packet((rank, peer), packet, key, bytes);
                let ends = match packet {
                    PacketKind::Pull => (peer, rank),
                    _ => (rank, peer),
                };
                self.handle_message(ends, change);
                if packet == PacketKind::Other {
                    self.control(rank, peer, key);
                }
            }
            RankEvent::Arrive {
                peer,
                packet,
                key,
                bytes,
            } => {
                let change = self
                    .messages
                    .handle_arrival((rank, peer), packet, key, bytes);
                self.handle_message((peer, rank), change);
            }
            _ => {}
        }
    }

    /// A packet without a message is sent. An incident tells of one that gives credits.
    fn control(&mut self, rank: u32, peer: u32, key: u32) {
        if key == observe::CANCELLATION && self.draws(rank) {
            let slice = Slice {
                peer: Some(peer),
                ..Slice::new(SliceKind::Control, Label::CANCELLATION)
            };
            self.sink.instant(rank, self.now, &slice);
        }
    }

    /// Ends a call. Regions that began within the call begin again.
    fn end_call(&mut self, rank: u32) {
        let state = &mut self.ranks[rank as usize];
        if state.call == Label::NONE {
            return;
        }
        if !state.has_flag(ELAPSES) {
            self.totals.waiting -= 1;
        }
        state.call = Label::NONE;
        let above = std::mem::take(&mut state.above);
        if !self.draws(rank) {
            return;
        }
        if let Some(begun) = self.begun.get(rank as usize)
            && self.now > *begun
        {
            self.shortest_s = self.shortest_s.min(self.now - begun);
        }
        for _ in 0..=above {
            self.sink.end(rank, self.now);
        }
        let regions = self.regions.get(&rank).map_or(&[][..], |all| all);
        for &label in &regions[regions.len() - usize::from(above).min(regions.len())..] {
            let slice = Slice::new(SliceKind::Region, label);
            self.sink.begin(rank, self.now, &slice);
        }
    }

    fn enter_region(&mut self, rank: u32, label: Label) {
        self.regions.entry(rank).or_default().push(label);
        let state = &mut self.ranks[rank as usize];
        if state.call != Label::NONE {
            state.above = state.above.saturating_add(1);
        }
        if self.draws(rank) {
            let slice = Slice::new(SliceKind::Region, label);
            self.sink.begin(rank, self.now, &slice);
        }
    }

    fn leave_region(&mut self, rank: u32) {
        let Some(regions) = self.regions.get_mut(&rank) else {
            return;
        };
        if regions.pop().is_none() {
            return;
        }
        if regions.is_empty() {
            self.regions.remove(&rank);
        }
        let state = self.ranks[rank as usize];
        let call = state.call;
        let is_around = call != Label::NONE && state.above == 0;
        self.ranks[rank as usize].above = state.above.saturating_sub(1);
        if self.draws(rank) {
            self.sink.end(rank, self.now);
            if is_around {
                // The call ended instead, and continues.
                self.sink.end(rank, self.now);
                let slice = Slice::new(state.call_kind(), call);
                self.sink.begin(rank, self.now, &slice);
            }
        }
    }

    /// Ends all slices of a rank.
    fn end_rank(&mut self, rank: u32) {
        self.end_call(rank);
        let regions = self.regions.remove(&rank).unwrap_or_default();
        if self.draws(rank) {
            for _ in regions {
                self.sink.end(rank, self.now);
            }
        }
    }
}
