//! Analysis of a run from its event log: the time of each rank by class, the waits and their
//! causes, and the critical path.
//!
//! The analysis is one forward pass with bounded memory: a state per rank, per packet under way and
//! per collective operation in progress. Events come in the order of execution.
//!
//! *Wait states* are classified when a wait ends, by the event that ends the wait: the last event
//! that the rank has handled. A wait for several messages is charged to the last message.
//!
//! *Critical path*: at each join, the path follows the enabling cause; at a tie, the cause that was
//! executed last.
//!
//! *Transfers*: a wait for data that are on the way is divided into latency, bandwidth and
//! contention in the proportions of the whole transfer, because the model reports the parts of
//! whole transfers only. For a wait that begins during a transfer, these parts are estimates.
//!
//! *Resources*: a wait for credits, buffers or a connection ends with an event that reports the
//! length of the wait. The wait is charged to the rank that waits for the resource in a call, and
//! to the rank that waits for the message. If a send is queued behind another send of its
//! connection, then for its receiver the send begins when it is the first of the queue.

mod backward;
mod class;
mod collectives;
mod flights;
mod imbalance;
mod page;
mod profile;
mod rank;
mod result;
mod tables;
mod waits;

use std::collections::BTreeMap;

use observe::{
    CREDITS, LogEvent, LogReader, NameId, NetworkEvent, PacketKind, RankEvent, Resource,
};

pub use backward::{BackwardReport, DelayCost, LateMessage, Sensitivity, SlackRow};
#[cfg(feature = "html")]
pub(crate) use class::CLASSES;
pub use class::{Class, RankTimes, Split};
pub use imbalance::RegionImbalance;
#[cfg(feature = "html")]
pub(crate) use page::{seconds, unit_of};
pub use result::{AnalysisReport, Efficiencies, PathShare, WaitState};
pub(crate) use tables::rows;

use collectives::Collectives;
use flights::{Flight, Flights, Hold, LateReceive, MessageOrigin, TransferParts};
use profile::{PathPlace, PathTime};
use rank::{Cause, CauseKind, Cleared, RankAccount, Wait};
use waits::{WaitKey, Waits};

/// An analysis in progress.
#[derive(Debug)]
pub struct Analysis {
    ranks: Vec<RankAccount>,
    /// Times by class of each rank.
    times: RankTimes,
    flights: Flights,
    collectives: Collectives,
    /// Messages that have been announced, by sender and operation of the sender.
    announced: BTreeMap<(u32, u32), MessageOrigin>,
    waits: Waits,
    /// Times by innermost region of the program.
    regions: BTreeMap<NameId, Split>,
    /// The number of the name `sleep`, once the log has defined this name.
    sleep: Option<NameId>,
    /// The time of the latest event in seconds.
    latest: f64,
    /// The rank of the latest event.
    latest_rank: u32,
    /// The rank that ended last.
    last_rank: u32,
    events: u64,
    /// Number of receives from any source, and of waits that end with whatever comes first.
    choices: u64,
    /// The durations of the transfer that is about to be injected.
    injected: TransferParts,
    /// Parts of waits that the latest event has ended.
    ended_waits: Vec<EndedWait>,
}

/// Returns true for calls with a result that depends on the messages that have arrived before.
fn chooses(call: &str) -> bool {
    call.starts_with("test")
        || matches!(
            call,
            "waitany" | "waitsome" | "probe" | "iprobe" | "mprobe" | "improbe"
        )
}

/// A part of a wait that has ended.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct EndedWait {
    /// Rank.
    pub rank: u32,
    /// Beginning in seconds.
    pub from: f64,
    /// End in seconds.
    pub to: f64,
    /// Class.
    pub class: Class,
}

impl Analysis {
    /// Begins the analysis of a run of this many ranks.
    pub fn new(ranks: u32) -> Self {
        Self {
            ranks: vec![RankAccount::default(); ranks as usize],
            times: RankTimes::new(ranks),
            flights: Flights::default(),
            collectives: Collectives::default(),
            announced: BTreeMap::new(),
            waits: Waits::default(),
            regions: BTreeMap::new(),
            sleep: None,
            latest: 0.0,
            latest_rank: 0,
            last_rank: 0,
            events: 0,
            choices: 0,
            injected: TransferParts::default(),
            ended_waits: Vec::new(),
        }
    }

    /// Takes the next event of the network.
    pub fn handle_network_event(&mut self, event: &NetworkEvent<Vec<u32>>) {
        match event {
            NetworkEvent::Begin {
                latency_s, alone_s, ..
            } => self.injected = TransferParts::known(*latency_s, *alone_s),
            NetworkEvent::Computation { alone_s } => {
                let rank = self.ranks.get_mut(self.latest_rank as usize);
                if let Some(wait) = rank.and_then(|rank| rank.wait.as_mut()) {
                    wait.alone_s = Some(*alone_s).filter(|_| self.sleep != Some(wait.call));
                }
            }
            _ => {}
        }
    }

    /// Returns the parts of waits that the latest event has ended, in their order.
    pub fn ended_waits(&self) -> &[EndedWait] {
        &self.ended_waits
    }

    /// Takes the next event: a rank, its time in seconds, and the event. `name` returns the text of
    /// a number.
    pub fn handle_event<'a>(
        &mut self,
        (rank, time, event): (u32, f64, LogEvent),
        name: impl Fn(NameId) -> &'a str,
    ) {
        self.events += 1;
        self.ended_waits.clear();
        self.latest = self.latest.max(time);
        self.latest_rank = rank;
        match event {
            RankEvent::Wait {
                call,
                place,
                elapses,
                ..
            } => {
                if elapses && self.sleep.is_none() && name(call) == "sleep" {
                    self.sleep = Some(call);
                }
                let text = name(call);
                self.choices += u64::from(chooses(text));
                self.begin_wait(rank, time, (call, place), (elapses, text == "send"));
            }
            RankEvent::Continue => {
                self.end_wait(rank, time);
                self.ranks[rank as usize].act();
            }
            RankEvent::Send { collective, .. } | RankEvent::Receive { collective, .. } => {
                let any = matches!(event, RankEvent::Receive { peer: None, .. });
                self.choices += u64::from(any && !collective);
                if !collective {
                    self.act(rank, time);
                }
            }
            RankEvent::CollectiveCall {
                root, size, first, ..
            } => {
                self.act(rank, time);
                self.collectives.announce(rank, root, size, first);
            }
            RankEvent::Collective {
                name: operation,
                context,
                number,
                ..
            } => {
                let doing = self.ranks[rank as usize].doing;
                let key = (self.collectives).enter_operation(
                    rank,
                    time,
                    (context, number),
                    (name(operation), doing),
                );
                self.ranks[rank as usize].entered = Some((key, time));
            }
            RankEvent::CollectiveEnd { context, number } => {
                self.leave_collective(rank, time, (context, number));
            }
            RankEvent::Enter { region } => {
                self.act(rank, time);
                self.ranks[rank as usize].enter_region(region);
            }
            RankEvent::Leave => {
                self.act(rank, time);
                self.ranks[rank as usize].leave_region();
            }
            RankEvent::Incident {
                name: number,
                peer: Some(peer),
                value: Some(seconds),
            } => self.hold(rank, time, peer, (Resource::of_name(name(number)), seconds)),
            RankEvent::Mark { .. } | RankEvent::Incident { .. } => {}
            RankEvent::End => self.end_rank(rank, time),
            other => self.handle_packet(rank, time, other),
        }
    }

    /// Takes an event of a packet or a timer.
    fn handle_packet(&mut self, rank: u32, time: f64, event: LogEvent) {
        match event {
            RankEvent::Post {
                peer, packet, key, ..
            } => self.post_packet(rank, time, peer, (packet, key)),
            RankEvent::Arrive {
                peer, packet, key, ..
            } => self.handle_arrival(rank, time, peer, (packet, key)),
            RankEvent::Unexpected { .. } => self.ranks[rank as usize].unexpected += 1,
            RankEvent::Taken { .. } => {
                let unexpected = &mut self.ranks[rank as usize].unexpected;
                *unexpected = unexpected.saturating_sub(1);
            }
            RankEvent::Elapsed => self.ranks[rank as usize].elapse(time),
            RankEvent::Sent { operation } => self.ranks[rank as usize].sent(rank, time, operation),
            RankEvent::Inject {
                peer, packet, key, ..
            } => {
                let parts = std::mem::take(&mut self.injected);
                let cleared = self.ranks[rank as usize].cleared().iter_mut();
                for own in cleared.filter(|own| packet == PacketKind::Data && own.to == (peer, key))
                {
                    own.flight.parts = parts;
                }
                self.flights.inject((rank, peer, packet, key), parts);
            }
            _ => {}
        }
    }

    /// Handles an action of the program of a rank: time since the latest wait was computation.
    fn act(&mut self, rank: u32, time: f64) {
        if let Some(wait) = self.ranks[rank as usize].wait {
            // One of several futures continues, the others still wait.
            self.end_wait(rank, time);
            let kind = (wait.elapses, wait.sends);
            self.begin_wait(rank, time, (wait.call, wait.place), kind);
        }
        self.account_program(rank, time);
        self.ranks[rank as usize].act();
    }

    /// Time between calls.
    fn account_program(&mut self, rank: u32, time: f64) {
        let state = &mut self.ranks[rank as usize];
        let seconds = time - state.accounted;
        if seconds > 0.0 {
            self.times.add_time(rank, Class::Compute, seconds);
            let (call, place) = state.doing;
            let at = PathPlace { rank, call, place };
            state.profile.spend(PathTime::Compute, at, seconds);
            let region = state.region();
            state.accounted = time;
            self.note_region(region, Class::Compute, seconds);
        }
    }

    fn note_region(&mut self, region: Option<NameId>, class: Class, seconds: f64) {
        if let Some(region) = region {
            self.regions
                .entry(region)
                .or_default()
                .add_time(class, seconds);
        }
    }

    fn begin_wait(
        &mut self,
        rank: u32,
        time: f64,
        (call, place): (NameId, NameId),
        (elapses, sends): (bool, bool),
    ) {
        self.account_program(rank, time);
        let state = &mut self.ranks[rank as usize];
        state.act();
        state.ended_collective = None;
        state.wait = Some(Wait {
            call,
            place,
            elapses,
            alone_s: None,
            sends,
            from: time,
            wrong_order: state.unexpected > 0,
        });
    }

    /// Ends the wait of a rank. The event that ended the wait determines the class of its time.
    fn end_wait(&mut self, rank: u32, time: f64) {
        let state = &mut self.ranks[rank as usize];
        let Some(wait) = state.wait.take() else {
            return;
        };
        let parts = state.classified(&wait, time, self.sleep == Some(wait.call));
        state.follow_cause(rank, &wait, time);
        if time > wait.from {
            state.doing = (wait.call, wait.place);
        }
        state.accounted = time;
        let region = state.region();
        let mut from = wait.from;
        for (class, seconds, causer) in parts.into_iter().flatten() {
            self.times.add_time(rank, class, seconds);
            self.note_region(region, class, seconds);
            let to = from + seconds;
            self.ended_waits.push(EndedWait {
                rank,
                from,
                to,
                class,
            });
            let key = WaitKey::new(class, (wait.call, wait.place), causer);
            self.waits.add_wait(key, (rank, from, seconds), causer);
            from += seconds;
        }
    }

    fn leave_collective(&mut self, rank: u32, time: f64, number: (u32, u32)) {
        let state = &mut self.ranks[rank as usize];
        let key = state.entered.filter(|(key, _)| key.is_number(number));
        let until = self
            .collectives
            .leave_operation(rank, time, number, key.map(|(key, _)| key));
        if key.is_some() {
            state.entered = None;
        }
        state.ended_collective = until;
    }

    /// Packets of a rank to a peer have waited for a resource for some seconds, until now.
    fn hold(
        &mut self,
        rank: u32,
        time: f64,
        peer: u32,
        (resource, seconds): (Option<Resource>, f64),
    ) {
        let Some(resource) = resource.filter(|_| seconds > 0.0) else {
            return;
        };
        let hold = Hold::ending_at(resource, time, seconds);
        let state = &mut self.ranks[rank as usize];
        let (call, place) = (state.wait).map_or(state.doing, |wait| (wait.call, wait.place));
        let at = PathPlace { rank, call, place };
        state.held(at, peer, hold);
        if resource == Resource::Connection {
            self.flights.add_connection_hold(at, peer, hold);
        }
    }

    /// A rank posts a packet. The cause is its program or the event that the rank handled last.
    fn post_packet(&mut self, rank: u32, time: f64, peer: u32, (packet, key): (PacketKind, u32)) {
        let state = &mut self.ranks[rank as usize];
        let cause = state.cause_at(rank, time);
        let by_program = matches!(cause.kind, CauseKind::Program);
        let held = state.take_hold(peer);
        let from = held.map_or(time, |hold| hold.from);
        let began = state.entered.map_or(from, |(_, entered)| entered);
        let inherited = cause.kind.origin();
        let late = by_program.then_some(LateReceive {
            rank,
            posted: began,
            doing: state.doing,
        });
        let own = MessageOrigin {
            sender: rank,
            began,
            doing: state.doing,
            receive: None,
            held,
        };
        let further = MessageOrigin {
            began: f64::NEG_INFINITY,
            ..own
        };
        let unknown = MessageOrigin {
            sender: peer,
            ..further
        };
        let answered = |origin: Option<MessageOrigin>| MessageOrigin {
            receive: late,
            ..origin.unwrap_or(unknown)
        };
        let origin = match packet {
            PacketKind::Eager | PacketKind::Rts => Some(own),
            PacketKind::EagerNext => Some(further),
            PacketKind::Rma if by_program => Some(own),
            PacketKind::Rma => Some(inherited.unwrap_or(own)),
            PacketKind::Cts => Some(answered(self.announced.remove(&(peer, key)))),
            PacketKind::Ack => Some(answered(inherited)),
            PacketKind::Data if held.is_some() => Some(inherited.unwrap_or(further)),
            PacketKind::Data | PacketKind::Pull => inherited,
            PacketKind::Other => None,
        };
        let origin = origin.map(|origin| MessageOrigin {
            held: held.or(origin.held),
            ..origin
        });
        let flight = Flight {
            posted: time,
            parts: TransferParts::default(),
            origin,
            profile: cause.profile,
        };
        if let (PacketKind::Data, CauseKind::Cleared { operation, .. }) = (packet, cause.kind) {
            let to = (peer, key);
            state.add_cleared(Cleared {
                operation,
                to,
                flight: flight.clone(),
            });
        }
        let identity = match packet {
            PacketKind::Pull => (peer, rank, PacketKind::Data, key),
            _ => (rank, peer, packet, key),
        };
        self.flights.push_packet(identity, flight);
    }

    /// A rank handles a packet.
    fn handle_arrival(
        &mut self,
        rank: u32,
        time: f64,
        peer: u32,
        (packet, key): (PacketKind, u32),
    ) {
        let flight = self.flights.pop_packet((peer, rank, packet, key));
        let Some(Flight {
            posted,
            parts,
            mut origin,
            mut profile,
        }) = flight
        else {
            let state = &mut self.ranks[rank as usize];
            state.cause = state.cause_at(rank, time);
            state.cause.kind = CauseKind::Unknown;
            return;
        };
        let state = &self.ranks[rank as usize];
        let waits = (state.wait).map_or(state.doing, |wait| (wait.call, wait.place));
        profile.update_profile(|profile| profile.travel(waits, parts, time - posted));
        if let (Some(origin), CauseKind::Message(Some(earlier))) = (&mut origin, state.cause.kind)
            && matches!(packet, PacketKind::EagerNext | PacketKind::Data)
        {
            origin.continues(earlier);
        }
        if let (PacketKind::Rts, Some(origin)) = (packet, origin) {
            self.announced.insert((peer, key), origin);
        }
        let kind = match packet {
            PacketKind::Cts | PacketKind::Ack => CauseKind::Cleared {
                operation: key,
                origin,
            },
            _ => CauseKind::Message(origin),
        };
        let cause = Cause {
            kind,
            profile,
            at: time,
            transfer: (parts, (time - posted).max(0.0)),
        };
        let state = &mut self.ranks[rank as usize];
        if (packet, key) == (PacketKind::Other, CREDITS) {
            state.take_credits(cause);
        } else if packet != PacketKind::Rts || posted < time || !state.has_cause_at(time) {
            state.cause = cause;
        }
    }

    fn end_rank(&mut self, rank: u32, time: f64) {
        // A rank that was lost or has failed may wait.
        self.end_open_wait(rank, time);
        let state = &mut self.ranks[rank as usize];
        (state.ended, state.accounted) = (true, time);
        self.last_rank = rank;
    }

    /// Ends the analysis of a log that has been read.
    pub fn finish_report<R: std::io::Read>(mut self, reader: &LogReader<R>) -> AnalysisReport {
        let end = reader.end().unwrap_or(self.latest).max(self.latest);
        for rank in 0..reader.ranks() {
            self.end_open_wait(rank, end);
        }
        result::analysis_report(self, reader, end)
    }

    /// Handles the end of the run: a wait that is still in progress is counted as blocked.
    fn end_open_wait(&mut self, rank: u32, end: f64) {
        let state = &mut self.ranks[rank as usize];
        if state.ended {
            self.times
                .add_time(rank, Class::Ended, end - state.accounted);
            return;
        }
        let Some(wait) = state.wait.take() else {
            return self.account_program(rank, end);
        };
        let seconds = (end - wait.from).max(0.0);
        self.times.add_time(rank, Class::Blocked, seconds);
        let key = WaitKey::new(Class::Blocked, (wait.call, wait.place), None);
        self.waits.add_wait(key, (rank, wait.from, seconds), None);
    }
}
