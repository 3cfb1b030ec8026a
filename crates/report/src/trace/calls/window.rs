//! Messages, counters, and the part of the run that is selected.
//!
//! A counter is written after the last event of a timestamp, with one value per timestamp.

use super::{COUNTED, Calls, EventRate, SELECTED};
use crate::trace::messages::MessageChange;
use crate::trace::sink::{Counter, Flight, Label, Slice, SliceKind};

impl Calls {
    /// Changes the number of unexpected messages of a rank, and their bytes.
    pub(super) fn update_unexpected(
        &mut self,
        rank: u32,
        change: impl Fn((u32, u64)) -> (u32, u64),
    ) {
        let state = &mut self.ranks[rank as usize];
        let [bytes, _] = self.unexpected_bytes.entry(rank).or_default();
        (state.unexpected, *bytes) = change((state.unexpected, *bytes));
        if !state.has_flag(COUNTED) {
            state.flags |= COUNTED;
            self.counted.push(rank);
        }
    }

    /// A message leaves its sender or has arrived.
    pub(super) fn handle_message(&mut self, (from, to): (u32, u32), change: Option<MessageChange>) {
        let Some(change) = change else {
            return;
        };
        let (message, entry) = match change {
            MessageChange::Departs(entry) => (*self.messages.message_mut(entry), Some(entry)),
            MessageChange::Arrives(message) => (message, None),
        };
        let contents = self.options.contents;
        let flight = Flight {
            id: message.id,
            from,
            to,
            bytes: message.bytes,
            is_rendezvous: message.is_rendezvous,
            has_arrow: contents.flows && self.is_selected(to),
        };
        let is_drawn = self.is_open && contents.flight && self.is_selected(from);
        if let Some(entry) = entry {
            self.totals.messages += 1;
            self.totals.bytes += message.bytes;
            if is_drawn {
                self.messages.message_mut(entry).lane = self.sink.departs(self.now, &flight);
            }
            return;
        }
        self.totals.messages -= 1;
        self.totals.bytes -= message.bytes;
        let lane = (message.lane != u16::MAX).then_some(message.lane);
        let flight = Flight {
            has_arrow: flight.has_arrow && (message.has_send || lane.is_some()),
            ..flight
        };
        if self.is_open && (flight.has_arrow || lane.is_some()) {
            self.sink.arrives(self.now, &flight, lane);
        }
    }

    /// The time is later than before.
    pub(super) fn time_passes(&mut self, time: f64) {
        if !self.kept.events.is_empty() {
            self.release_kept(None);
        }
        self.tell_counters();
        self.tell_events(time);
        if self.is_open && time > self.options.until {
            self.now = self.options.until;
            self.close_window();
            self.is_over = true;
            return;
        }
        if !self.is_open && time >= self.options.from {
            self.now = self.options.from;
            self.open_window();
        }
        self.now = time;
    }

    /// Tells the sink the number of events of each millisecond that is over at a time in seconds.
    fn tell_events(&mut self, time: f64) {
        let EventRate {
            end_s,
            events,
            mut told,
        } = self.event_rate;
        if time < end_s {
            return;
        }
        let is_told = self.is_open && self.options.contents.counters && end_s <= self.options.until;
        // The millisecond after it has no event if it is over, too.
        let next_s = EventRate::end_after(end_s);
        let ended = 1 + usize::from(time >= next_s);
        for (at, value) in [(end_s, events), (next_s, 0)].into_iter().take(ended) {
            if is_told && value != told {
                self.sink.counter(at, Counter::Events, value);
                (self.now, told) = (at, value);
            }
        }
        self.event_rate = EventRate {
            end_s: EventRate::end_after(time),
            events: 0,
            told,
        };
    }

    /// Tells the sink the last values of counters that have changed.
    pub(super) fn tell_counters(&mut self) {
        if !self.is_open || !self.options.contents.counters {
            return;
        }
        if self.told != self.totals {
            let (old, new, time) = (self.told, self.totals, self.now);
            let pairs = old.each().into_iter().zip(new.each());
            for (((_, old), (counter, new)), at) in pairs.zip(&mut self.told_at) {
                if old != new {
                    self.sink.counter(time, counter, new);
                    *at = time;
                }
            }
            self.told = self.totals;
        }
        for rank in std::mem::take(&mut self.counted) {
            let state = &mut self.ranks[rank as usize];
            state.flags &= !COUNTED;
            if !state.has_flag(SELECTED) {
                continue;
            }
            if state.unexpected != state.unexpected_told {
                state.unexpected_told = state.unexpected;
                let value = u64::from(state.unexpected);
                self.sink
                    .counter(self.now, Counter::Unexpected(rank), value);
            }
            if let Some([bytes, told]) = self.unexpected_bytes.get_mut(&rank)
                && bytes != told
            {
                *told = *bytes;
                let counter = Counter::UnexpectedBytes(rank);
                self.sink.counter(self.now, counter, *bytes);
            }
            let posted = state.posted.max(0);
            if posted != state.posted_told {
                state.posted_told = posted;
                let value = u64::from(posted.unsigned_abs());
                self.sink.counter(self.now, Counter::Posted(rank), value);
            }
        }
        self.tell_links();
    }

    /// Begins the selected time: begins the slices that have begun before.
    fn open_window(&mut self) {
        self.is_open = true;
        for rank in (0..).take(self.ranks.len()) {
            let state = self.ranks[rank as usize];
            let regions = self.regions.get(&rank).cloned().unwrap_or_default();
            if state.call == Label::NONE && regions.is_empty() || !self.draws(rank) {
                continue;
            }
            let inner = regions.len() - usize::from(state.above).min(regions.len());
            let region = |&label: &Label| Slice::new(SliceKind::Region, label);
            let mut slices: Vec<Slice> = regions[..inner].iter().map(region).collect();
            if state.call != Label::NONE {
                slices.push(Slice::new(state.call_kind(), state.call));
            }
            slices.extend(regions[inner..].iter().map(region));
            for slice in &slices {
                self.sink.begin(rank, self.now, slice);
            }
        }
        self.tell_counters();
    }

    /// Ends the selected time: ends the slices that are open.
    fn close_window(&mut self) {
        for rank in (0..).take(self.ranks.len()) {
            let open = self.regions.get(&rank).map_or(0, Vec::len)
                + usize::from(self.ranks[rank as usize].call != Label::NONE);
            if open > 0 && self.draws(rank) {
                for _ in 0..open {
                    self.sink.end(rank, self.now);
                }
            }
        }
    }
}
