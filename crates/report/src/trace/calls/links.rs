//! Counters of links, of messages that wait for receives, and of posted receives.
//!
//! The use of a link is the sum of the rates of its flows, as a part of the bandwidth. The first
//! [`LINKS_MAX`] links that are used have a counter, unless a pattern selects others. Links that a
//! pattern selects also count their flows, including the flows that still pay their latency.
//!
//! *Not known*: receives that are cancelled, which stay counted.

use std::collections::BTreeMap;
use std::io::Read;

use observe::{LinkParameter, LogEvent, LogReader, NetworkEvent, PacketKind, RankEvent};

use super::{COUNTED, Calls};
use crate::trace::sink::{Counter, Label, Slice, SliceKind};

/// Number of links that have a counter without a selection.
const LINKS_MAX: u32 = 64;

/// A link.
#[derive(Clone, Debug, Default)]
struct LinkRate {
    /// In bytes per second.
    bandwidth: f64,
    rate: f64,
    flows: u32,
    is_drawn: bool,
    is_changed: bool,
    /// The percentage and the number of flows that the sink has.
    told: u64,
    flows_told: u32,
}

/// The rates of all links.
#[derive(Debug, Default)]
pub(super) struct LinkRates {
    links: Vec<LinkRate>,
    drawn: u32,
    /// Flows under way: rate and links.
    flows: BTreeMap<u32, (f64, Vec<u32>)>,
    changed: Vec<u32>,
}

impl LinkRates {
    /// Returns true if a link has a counter.
    pub(super) const fn draws_any(&self) -> bool {
        self.drawn > 0
    }

    fn add_rate(&mut self, links: &[u32], rate: f64, flows: i32) {
        for &link in links {
            let Some(state) = self.links.get_mut(link as usize) else {
                continue;
            };
            state.flows = state.flows.saturating_add_signed(flows);
            // Without flows it is 0, whatever rounding has left.
            state.rate = if state.flows == 0 {
                0.0
            } else {
                state.rate + rate
            };
            if state.is_drawn && !state.is_changed {
                state.is_changed = true;
                self.changed.push(link);
            }
        }
    }
}

impl Calls {
    /// Takes an event of the network at a time in seconds.
    pub(crate) fn handle_network_event<R: Read>(
        &mut self,
        time: f64,
        event: &NetworkEvent<Vec<u32>>,
        names: &LogReader<R>,
    ) {
        if self.is_over() || !self.options.contents.counters {
            return;
        }
        let time = time.max(self.now);
        if time > self.now {
            self.time_passes(time);
            if self.is_over {
                return;
            }
        }
        match event {
            NetworkEvent::Begin { flow, links, .. } => {
                for &link in links {
                    self.learn_link(link, names);
                }
                self.rates.flows.insert(*flow, (0.0, links.clone()));
                self.rates.add_rate(links, 0.0, 1);
            }
            NetworkEvent::Rate { flow, rate, .. } => {
                if let Some((before, links)) = self.rates.flows.remove(flow) {
                    self.rates.add_rate(&links, rate - before, 0);
                    self.rates.flows.insert(*flow, (*rate, links));
                }
            }
            NetworkEvent::End { flow } => {
                if let Some((rate, links)) = self.rates.flows.remove(flow) {
                    self.rates.add_rate(&links, -rate, -1);
                }
            }
            &NetworkEvent::LinkChange {
                link,
                parameter,
                value,
            } => {
                self.learn_link(link, names);
                self.link_changes(link, parameter, value, names);
            }
            NetworkEvent::Computation { .. } | NetworkEvent::Incident { .. } => {}
        }
    }

    /// Tells the sink of a change of a link.
    fn link_changes<R: Read>(
        &mut self,
        link: u32,
        parameter: LinkParameter,
        value: f64,
        names: &LogReader<R>,
    ) {
        if parameter == LinkParameter::Bandwidth
            && let Some(state) = self.rates.links.get_mut(link as usize)
        {
            state.bandwidth = value;
        }
        self.rates.add_rate(&[link], 0.0, 0);
        let Some(known) = names.links().get(link as usize) else {
            return;
        };
        let pattern = self.options.links.as_ref();
        if !self.is_open || pattern.is_some_and(|pattern| !pattern.matches(&known.name)) {
            return;
        }
        let label = match parameter {
            LinkParameter::Bandwidth => Label::BANDWIDTH,
            LinkParameter::Latency => Label::LATENCY,
            LinkParameter::State => Label::STATE,
        };
        self.sink.define_link(link, &known.name);
        let slice = Slice {
            value: Some(value),
            link: Some(link),
            ..Slice::new(SliceKind::Control, label)
        };
        self.sink.add_note(self.now, &slice);
    }

    fn learn_link<R: Read>(&mut self, link: u32, names: &LogReader<R>) {
        let rates = &mut self.rates;
        while rates.links.len() <= link as usize {
            let number = rates.links.len();
            let mut state = LinkRate::default();
            if let Some(known) = names.links().get(number) {
                state.bandwidth = known.bandwidth;
                state.is_drawn = match &self.options.links {
                    Some(pattern) => pattern.matches(&known.name),
                    None => rates.drawn < LINKS_MAX,
                };
                if state.is_drawn {
                    rates.drawn += 1;
                    self.sink
                        .define_link(u32::try_from(number).unwrap_or(link), &known.name);
                }
            }
            rates.links.push(state);
        }
    }

    /// Passes the links with a changed use to the sink.
    pub(super) fn tell_links(&mut self) {
        for link in std::mem::take(&mut self.rates.changed) {
            let state = &mut self.rates.links[link as usize];
            state.is_changed = false;
            let percent = 100.0 * state.rate / state.bandwidth;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a percentage; a cast saturates"
            )]
            let percent = percent.round() as u64;
            if state.told != percent {
                state.told = percent;
                self.sink.counter(self.now, Counter::Link(link), percent);
            }
            if self.options.links.is_some() && state.flows_told != state.flows {
                state.flows_told = state.flows;
                let flows = u64::from(state.flows);
                self.sink.counter(self.now, Counter::LinkFlows(link), flows);
            }
        }
    }

    /// Counts the receives of a rank.
    pub(super) fn count_receives(&mut self, rank: u32, event: &LogEvent) {
        let change = match event {
            RankEvent::Receive { .. } | RankEvent::Unexpected { .. } => 1,
            RankEvent::Taken { .. }
            | RankEvent::Arrive {
                packet: PacketKind::Eager | PacketKind::Rts,
                ..
            } => -1,
            _ => return,
        };
        let state = &mut self.ranks[rank as usize];
        state.posted = state.posted.saturating_add(change);
        if !state.has_flag(COUNTED) {
            state.flags |= COUNTED;
            self.counted.push(rank);
        }
    }
}
