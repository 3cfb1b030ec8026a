//! Analyses of a log that is read from its end: slack, the critical path itself with its
//! derivatives, and delay costs.
//!
//! *Slack* of an event is the time by which the event can be later without a later end of the run,
//! if all transfers and computations keep their durations. An event passes its slack to its cause;
//! a wait adds its length to the slack of its beginning. On the critical path slack is 0. Memory: a
//! state per rank and per packet under way. The analysis passes on slack and not the latest time,
//! because slack is the same along edges of fixed duration: no rounding makes the slack of the
//! critical path differ from 0. A forward pass would know slack at the end only.
//!
//! *Not exact*:
//! * Transfers that share a link slow each other: a delay changes their durations.
//! * The log does not record where a program needs a message that arrived during another call. The
//!   next event of the program counts, so the true slack is at least the reported slack.
//! * Among unexpected messages of one source, tag and length, the first that arrives is the first
//!   that is received, although the messages may be of different communicators.
//! * Sends without rendezvous that end later are distinguished by their order only.

mod delays;
mod packets;
mod result;
mod sensitivity;
mod slack;
mod state;

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Read, Seek};

use observe::{
    BackwardEntry, BackwardReader, EndedCall, Link, LogEntry, LogEvent, LogReader, NameId,
    RankEvent,
};

pub use result::{BackwardReport, DelayCost, LateMessage, SlackRow};
pub use sensitivity::Sensitivity;

use super::collectives::Dependence;
use super::flights::{Identity, PacketQueues};
use delays::{DelayKey, Delays, Waiter};
use sensitivity::{FlowEnd, PathTimes};
use slack::Slacks;
use state::{BackwardFlight, BackwardRank, Effect, Instance, OpenCall, PathEnd};

/// An analysis in progress.
struct Backward<'a> {
    end: f64,
    ranks: Vec<BackwardRank>,
    flights: PacketQueues<BackwardFlight>,
    flows: BTreeMap<u32, FlowEnd>,
    /// The packet of a flow; the begin of this flow is read next.
    injected: Option<Identity>,
    /// Slack of messages that were received late: by receiver, sender, tag and length.
    taken: BTreeMap<(u32, u32, u32, u64), VecDeque<f64>>,
    instances: BTreeMap<(u32, u32, u32), Instance>,
    path: PathEnd,
    times: PathTimes,
    slacks: Slacks,
    delays: Delays,
    links: &'a [Link],
}

impl BackwardReport {
    /// Reads a log from its end to its beginning. `names`: a reader that has read the whole log.
    /// `end_s`: the time of the end of the run in seconds.
    pub fn from_log<R: Read>(
        mut log: BackwardReader<impl Read + Seek>,
        names: &LogReader<R>,
        end_s: f64,
    ) -> io::Result<Self> {
        let count = names.ranks();
        let mut all = Backward {
            end: end_s,
            ranks: vec![BackwardRank::default(); count as usize],
            flights: PacketQueues::default(),
            flows: BTreeMap::new(),
            injected: None,
            taken: BTreeMap::new(),
            instances: BTreeMap::new(),
            path: PathEnd::Open,
            times: PathTimes::default(),
            slacks: Slacks::new(count),
            delays: Delays::new(count),
            links: names.links(),
        };
        while let Some(entry) = log.next_entry()? {
            match entry.entry {
                LogEntry::Network(time, event) => all.handle_network_event(time, event),
                LogEntry::Rank(rank, time, event) if rank < count => {
                    all.handle_event((rank, time, event), &entry, |number| names.text(number));
                }
                LogEntry::Rank(..) => {}
            }
        }
        if let PathEnd::Rank(_, at) = all.path {
            all.times.other += at;
        }
        // Its result has no part of them.
        (all.ranks, all.flights) = (Vec::new(), PacketQueues::default());
        Ok(result::backward_report(&all, names))
    }
}

impl<'a> Backward<'a> {
    fn handle_event(
        &mut self,
        (rank, time, event): (u32, f64, LogEvent),
        ends: &BackwardEntry,
        name: impl Fn(NameId) -> &'a str,
    ) {
        if !self.ranks[rank as usize].is_known {
            self.meet(rank, time);
        }
        match event {
            RankEvent::Continue => self.end_call(rank, time, ends.call),
            RankEvent::Wait { call, .. } => self.begin_call(rank, time, name(call) == "sleep"),
            RankEvent::Send {
                peer,
                bytes,
                place,
                collective,
                ..
            } => {
                self.begin_send(rank, time, (peer, bytes, place));
                if !collective {
                    self.act(rank, time);
                }
            }
            RankEvent::Receive { collective, .. } => {
                if !collective {
                    self.act(rank, time);
                }
                self.post_receive(rank, time);
            }
            RankEvent::CollectiveEnd { context, number } => {
                let key = (context, ends.first.unwrap_or(0), number);
                let own = &mut self.ranks[rank as usize];
                own.inside.get_or_insert((context, number));
                if own.call.is_some() {
                    let waiter = (rank, self.delays.waiter(rank));
                    self.instances.entry(key).or_default().waiters.push(waiter);
                }
            }
            RankEvent::Collective {
                name: operation,
                context,
                number,
                ..
            } => {
                self.act(rank, time);
                self.ranks[rank as usize].entering = Some((operation, context, number));
            }
            RankEvent::CollectiveCall {
                root, size, first, ..
            } => {
                let entering = self.ranks[rank as usize].entering.take();
                if let Some((operation, context, number)) = entering {
                    let dependence = Dependence::from_name(name(operation));
                    let key = (context, first, number);
                    self.enter_collective(key, (rank, time), (dependence, root, size));
                }
            }
            RankEvent::Leave => {
                self.act(rank, time);
                let region = ends.region.unwrap_or(NameId::MAX);
                self.ranks[rank as usize].cold_mut().regions.push(region);
            }
            RankEvent::Enter { .. } => {
                self.act(rank, time);
                self.ranks[rank as usize].cold_mut().regions.pop();
            }
            RankEvent::End => self.end_rank(rank, time),
            RankEvent::Mark { .. } | RankEvent::Incident { .. } => {}
            other => self.handle_packet(rank, time, other),
        }
    }

    /// Notes the last event of a rank.
    fn meet(&mut self, rank: u32, time: f64) {
        let own = &mut self.ranks[rank as usize];
        own.is_known = true;
        own.slack = (self.end - time).max(0.0);
        own.at = time;
    }

    /// A rank ends; the last one ends the critical path.
    fn end_rank(&mut self, rank: u32, time: f64) {
        self.meet(rank, time);
        if self.path == PathEnd::Open {
            let own = &mut self.ranks[rank as usize];
            self.times.other += own.slack;
            own.slack = 0.0;
            self.path = PathEnd::Rank(rank, time);
        }
    }

    /// Returns the call and the region of a rank at the present position in the log.
    fn doing(&self, rank: u32) -> DelayKey {
        let own = &self.ranks[rank as usize];
        let call = own.call.map(|call| (call.call, call.place));
        let (call, place) = call.unwrap_or((NameId::MAX, NameId::MAX));
        DelayKey {
            rank,
            call,
            place,
            region: own.region(),
        }
    }

    /// Handles an action of the program of a rank: the action caused the posts that were read.
    fn act(&mut self, rank: u32, time: f64) {
        let doing = self.doing(rank);
        self.delays.charge(doing, time);
        let call = self.ranks[rank as usize].call;
        if let Some(open) = call {
            // One of several futures continues, the others still wait.
            let slack = self.close_call(rank, time, open, false);
            self.ranks[rank as usize].slack = slack;
        } else {
            self.spend(rank, time, |times, region, seconds| {
                *times.compute.entry(rank).or_default() += seconds;
                *times.regions.entry(region).or_default() += seconds;
            });
        }
        let own = &mut self.ranks[rank as usize];
        own.at = time;
        let pending = std::mem::take(&mut own.pending);
        own.answers_by = None;
        if let Some(cold) = &mut own.cold {
            cold.data = None;
        }
        own.slack = own.slack.min(pending.slack);
        if let Some(open) = &mut own.call {
            *open = OpenCall {
                until: time,
                slack: own.slack,
                cause: None,
                has_timer: false,
                ..*open
            };
        }
        if let Some(at) = pending.path {
            self.times.software += at - time;
            self.path = PathEnd::Rank(rank, time);
        }
        for waiter in pending.waiters.into_iter().flatten() {
            self.causes(waiter, rank, time);
        }
    }

    /// Charges a wait to a rank, for the time until the rank entered its present collective
    /// operation, or, outside of collective operations, until a time in seconds.
    fn causes(&mut self, waiter: Waiter, rank: u32, time: f64) {
        let own = &mut self.ranks[rank as usize];
        if own.inside.is_some() {
            own.cold_mut().deferred.push(waiter);
        } else {
            self.delays.wait_for(waiter, rank, time, false);
        }
    }

    /// Moves the path along a rank to an earlier time, if the path is at this rank. `add` takes the
    /// innermost region and the seconds.
    fn spend(&mut self, rank: u32, time: f64, add: impl Fn(&mut PathTimes, Option<NameId>, f64)) {
        if let PathEnd::Rank(on, at) = self.path
            && on == rank
        {
            if at > time {
                let region = self.ranks[rank as usize].region();
                add(&mut self.times, region, at - time);
            }
            self.path = PathEnd::Rank(rank, time);
        }
    }

    /// A call ends.
    fn end_call(&mut self, rank: u32, time: f64, call: Option<EndedCall>) {
        self.act(rank, time);
        let own = &mut self.ranks[rank as usize];
        let Some(ended) = call else {
            return;
        };
        own.call = Some(OpenCall {
            call: ended.call,
            place: ended.place,
            elapses: ended.elapses,
            until: time,
            slack: own.slack,
            cause: None,
            has_timer: false,
        });
        let slack = own.slack;
        self.slacks.add_call(rank, (ended.call, ended.place), slack);
    }

    /// The beginning of a call has been read.
    fn begin_call(&mut self, rank: u32, time: f64, sleeps: bool) {
        let doing = self.doing(rank);
        self.delays.charge(doing, time);
        self.delays.begin_wait(rank, time);
        if let Some(open) = self.ranks[rank as usize].call.take() {
            let slack = self.close_call(rank, time, open, sleeps);
            let own = &mut self.ranks[rank as usize];
            own.slack = slack;
            own.at = time;
        } else {
            // The end of the run has cut it.
            let own = &mut self.ranks[rank as usize];
            own.slack += own.at - time;
            own.at = time;
        }
        self.act(rank, time);
    }

    /// Returns the slack of the beginning of a call, or of a part of it.
    fn close_call(&mut self, rank: u32, time: f64, open: OpenCall, sleeps: bool) -> f64 {
        self.spend(rank, time, |times, region, seconds| {
            if open.elapses {
                *times.regions.entry(region).or_default() += seconds;
            }
            if open.elapses && !sleeps {
                *times.compute.entry(rank).or_default() += seconds;
            } else if open.has_timer && !open.elapses {
                times.software += seconds;
            } else {
                times.other += seconds;
            }
        });
        match open.cause {
            Some(cause) if !open.elapses => open.slack + (cause - time),
            _ => open.slack,
        }
    }

    /// Returns the slack of an event with a result that the program needs at its next event.
    fn needed(&self, rank: u32, time: f64) -> f64 {
        let own = &self.ranks[rank as usize];
        match own.call {
            Some(open) => open.slack + (open.cause.unwrap_or(open.until) - time),
            None => own.slack + (own.at - time),
        }
    }

    /// A rank has handled an event at a time in seconds. Returns the effect of the event on its
    /// cause. `is_needed`: the program needs the event, even if another event ended the wait.
    fn collect_effect(&mut self, rank: u32, time: f64, is_needed: bool) -> Effect {
        let own = &mut self.ranks[rank as usize];
        let mut effect = std::mem::take(&mut own.pending);
        if let Some(by) = own.answers_by.take() {
            own.receive_by = Some(own.receive_by.map_or(by, |other| other.min(by)));
        }
        if let Some(at) = &mut effect.path {
            self.times.software += *at - time;
            *at = time;
        }
        let ends = own
            .call
            .as_mut()
            .filter(|open| !open.elapses && open.cause.is_none());
        if let Some(open) = ends {
            open.cause = Some(time);
            let (slack, until) = (open.slack, open.until);
            effect.slack = effect.slack.min(slack);
            if let PathEnd::Rank(on, at) = self.path
                && on == rank
            {
                debug_assert!(at <= until);
                self.times.software += at - time;
                self.path = PathEnd::Away;
                effect.path = Some(time);
            }
            effect.add_ended_wait(self.delays.waiter(rank));
        } else if is_needed {
            effect.slack = effect.slack.min(self.needed(rank, time));
        }
        effect
    }

    /// A receive is posted: the answers to its message, which were read before, need this receive.
    fn post_receive(&mut self, rank: u32, time: f64) {
        let own = &mut self.ranks[rank as usize];
        let Some(by) = own.receive_by.take() else {
            return;
        };
        let slack = (by - time).max(0.0);
        match &mut own.call {
            Some(_) => own.pending.slack = own.pending.slack.min(slack),
            None => own.slack = own.slack.min(slack),
        }
    }

    /// A rank enters a collective operation.
    fn enter_collective(
        &mut self,
        key: (u32, u32, u32),
        (rank, time): (u32, f64),
        (dependence, root, size): (Dependence, Option<u32>, u32),
    ) {
        let instance = self.instances.entry(key).or_default();
        instance.entered += 1;
        let is_root = root == Some(rank);
        instance.others += u32::from(!is_root);
        let waits = match dependence {
            Dependence::AllOnAll if instance.entered == 1 => std::mem::take(&mut instance.waiters),
            Dependence::AllOnRoot if is_root => std::mem::take(&mut instance.waiters),
            Dependence::RootOnAll if !is_root && instance.others + 1 == size => {
                let all = std::mem::take(&mut instance.waiters).into_iter();
                all.filter(|(waits, _)| root == Some(*waits)).collect()
            }
            _ => Vec::new(),
        };
        if instance.entered >= size {
            self.instances.remove(&key);
        }
        for (_, waiter) in waits {
            self.delays.wait_for(waiter, rank, time, true);
        }
        let own = &mut self.ranks[rank as usize];
        if own.inside == Some((key.0, key.2)) {
            own.inside = None;
            let deferred = own
                .cold
                .as_mut()
                .map(|cold| std::mem::take(&mut cold.deferred));
            for waiter in deferred.unwrap_or_default() {
                self.delays.wait_for(waiter, rank, time, false);
            }
        }
    }
}
