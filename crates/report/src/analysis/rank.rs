//! The state of one rank: its wait in progress, and the event that it has handled last.

use observe::{NameId, Resource};

use super::class::Class;
use super::collectives::{CollectiveKey, Until};
use super::flights::{Flight, Hold, MessageOrigin, TransferParts};
use super::profile::{PathPlace, PathTime, SharedProfile};
use super::waits::Causer;

/// A wait in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    pub(crate) call: NameId,
    pub(crate) place: NameId,
    /// True for a computation or a sleep.
    pub(crate) elapses: bool,
    /// The duration of the computation alone on its host, in seconds, if it is known.
    pub(crate) alone_s: Option<f64>,
    /// True if the call waits for a send only.
    pub(crate) sends: bool,
    /// Beginning of the wait in seconds.
    pub(crate) from: f64,
    /// True if a message for the rank had arrived that the rank has not asked for.
    pub(crate) wrong_order: bool,
}

/// Part by which a computation is longer than alone below which that is rounding.
const ROUNDING: f64 = 1e-9;

impl Wait {
    /// Returns the seconds of a computation alone on its host, and the seconds added by sharing.
    fn computed(&self, time: f64) -> [f64; 2] {
        let seconds = time - self.from;
        match self.alone_s {
            Some(alone_s) if seconds - alone_s > ROUNDING * seconds => [alone_s, seconds - alone_s],
            _ => [seconds, 0.0],
        }
    }
}

/// The kind of the event that a rank has handled last.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) enum CauseKind {
    /// No event since the program of the rank acted.
    #[default]
    Program,
    /// The end of a timer.
    Timer,
    /// A packet with a message, or the announcement of a message.
    Message(Option<MessageOrigin>),
    /// The answer of the receiver of a message.
    Cleared {
        /// The operation of the sender.
        operation: u32,
        origin: Option<MessageOrigin>,
    },
    /// The data of a message have left.
    Sent(Option<MessageOrigin>),
    /// The end of a wait for a resource.
    Resource(Resource),
    /// A packet with an unobserved post.
    Unknown,
}

impl CauseKind {
    pub(crate) const fn origin(&self) -> Option<MessageOrigin> {
        match *self {
            Self::Message(origin) | Self::Cleared { origin, .. } | Self::Sent(origin) => origin,
            _ => None,
        }
    }
}

/// An event that a rank has handled, and the path to this event.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cause {
    pub(crate) kind: CauseKind,
    pub(crate) profile: SharedProfile,
    /// Time of the event in seconds.
    pub(crate) at: f64,
    /// The transfer that ended with this event, and the duration of the transfer in seconds.
    pub(crate) transfer: (TransferParts, f64),
}

/// Data that leave the rank after the answer of the receiver.
#[derive(Clone, Debug)]
pub(crate) struct Cleared {
    pub(crate) operation: u32,
    /// The destination, and the key of the packets.
    pub(crate) to: (u32, u32),
    pub(crate) flight: Flight,
}

/// The state of a rank.
#[derive(Clone, Debug, Default)]
pub(crate) struct RankAccount {
    /// The time in seconds up to which the times by class and `profile` of the rank account.
    pub(crate) accounted: f64,
    pub(crate) wait: Option<Wait>,
    pub(crate) cause: Cause,
    /// The path to the present action of the program.
    pub(crate) profile: SharedProfile,
    /// The latest call that took time, and the source line of the call.
    pub(crate) doing: (NameId, NameId),
    /// The collective operation that the rank entered last, with the time of entry, until its end.
    pub(crate) entered: Option<(CollectiveKey, f64)>,
    /// The end of waiting for others in a collective operation that has ended in the present wait.
    pub(crate) ended_collective: Option<Until>,
    /// Number of messages that have arrived and not been received.
    pub(crate) unexpected: u32,
    pub(crate) ended: bool,
    cold: Option<Box<ColdState>>,
}

/// State that few ranks have.
#[derive(Clone, Debug, Default)]
struct ColdState {
    cleared: Vec<Cleared>,
    /// The arrival of credits, which end a wait if one for them ends at that time.
    credits: Option<Cause>,
    /// Waits for credits and buffers that have ended, by the peer to which a packet is posted next.
    holds: Vec<(u32, Hold)>,
    regions: Vec<NameId>,
}

type Part = Option<(Class, f64, Option<Causer>)>;

/// Takes the part of a class from a wait: up to a time, but at most to the end of the wait.
fn take_part(
    from: &mut f64,
    end: f64,
    (class, until, causer): (Class, f64, Option<Causer>),
) -> Part {
    let until = until.clamp(*from, end);
    let part = until - *from;
    *from = until;
    (part > 0.0).then_some((class, part, causer))
}

impl RankAccount {
    /// Returns the data that are leaving the rank.
    pub(crate) fn cleared(&mut self) -> &mut [Cleared] {
        self.cold.as_mut().map_or(&mut [], |cold| &mut cold.cleared)
    }

    pub(crate) fn add_cleared(&mut self, cleared: Cleared) {
        self.cold.get_or_insert_default().cleared.push(cleared);
    }

    /// Returns the innermost region of the program.
    pub(crate) fn region(&self) -> Option<NameId> {
        self.cold.as_ref()?.regions.last().copied()
    }

    pub(crate) fn enter_region(&mut self, region: NameId) {
        self.cold.get_or_insert_default().regions.push(region);
    }

    pub(crate) fn leave_region(&mut self) {
        if let Some(cold) = &mut self.cold {
            cold.regions.pop();
        }
    }

    /// Packets to a peer have waited for a resource until now.
    pub(crate) fn held(&mut self, at: PathPlace, peer: u32, hold: Hold) {
        let cold = self.cold.get_or_insert_default();
        let now = |cause: &Cause| cause.at.to_bits() == hold.until.to_bits();
        let credits =
            (cold.credits.take()).filter(|one| hold.resource == Resource::Credits && now(one));
        // A message may have brought credits for others.
        let is_message = credits.is_none()
            && now(&self.cause)
            && matches!(self.cause.kind, CauseKind::Message(_));
        let mut cause = credits.unwrap_or_else(|| self.cause.clone());
        (cause.profile).spend(PathTime::Resources, at, hold.until - cause.at);
        cause.kind = CauseKind::Resource(hold.resource);
        cause.at = hold.until;
        if hold.resource != Resource::Connection {
            cold.holds.push((peer, hold));
        }
        if !is_message || self.wait.is_some_and(|wait| wait.sends) {
            self.cause = cause;
        }
    }

    /// A packet with credits only arrives: this packet ends no wait by itself.
    pub(crate) fn take_credits(&mut self, cause: Cause) {
        self.cold.get_or_insert_default().credits = Some(cause);
    }

    /// Takes the wait that a packet which is posted to a peer had before.
    pub(crate) fn take_hold(&mut self, peer: u32) -> Option<Hold> {
        let holds = &mut self.cold.as_mut()?.holds;
        let index = holds.iter().rposition(|(to, _)| *to == peer)?;
        let (_, hold) = holds.swap_remove(index);
        holds.retain(|(to, _)| *to != peer);
        Some(hold)
    }

    /// The program acts: from now on, the program itself is the cause of its actions.
    pub(crate) fn act(&mut self) {
        self.cause = Cause {
            kind: CauseKind::Program,
            profile: self.profile.clone(),
            at: self.accounted,
            transfer: Default::default(),
        };
    }

    /// Returns true if the rank has handled an event of a message at this time. The event explains
    /// a wait that ends now better than a request that is posted and arrives now: the request may
    /// be of a message of the next exchange.
    pub(crate) fn has_cause_at(&self, time: f64) -> bool {
        self.cause.at.to_bits() == time.to_bits()
            && matches!(
                self.cause.kind,
                CauseKind::Message(_) | CauseKind::Cleared { .. } | CauseKind::Sent(_)
            )
    }

    /// Returns the cause of an action of the rank at a time in seconds. Time since the cause is
    /// software cost.
    pub(crate) fn cause_at(&self, rank: u32, time: f64) -> Cause {
        let mut cause = self.cause.clone();
        let (call, place) = self.wait.map_or(self.doing, |wait| (wait.call, wait.place));
        let at = PathPlace { rank, call, place };
        cause.profile.spend(PathTime::Software, at, time - cause.at);
        cause.at = time.max(cause.at);
        cause
    }

    /// A timer of the rank ends.
    pub(crate) fn elapse(&mut self, time: f64) {
        let computes = self.wait.is_some_and(|wait| wait.elapses);
        if computes {
            self.cause.profile = self.profile.clone();
            self.cause.at = self.accounted;
            self.cause.kind = CauseKind::Timer;
        } else if self.cause.kind == CauseKind::Program && time > self.cause.at {
            self.cause.kind = CauseKind::Timer;
        }
    }

    /// Data of the rank have left the rank.
    pub(crate) fn sent(&mut self, rank: u32, time: f64, operation: u32) {
        let cleared = self.cold.as_mut().map(|cold| &mut cold.cleared);
        let found = cleared.and_then(|cleared| {
            let index = cleared
                .iter()
                .position(|cleared| cleared.operation == operation)?;
            Some(cleared.swap_remove(index).flight)
        });
        if found.is_none()
            && self.cause.at.to_bits() == time.to_bits()
            && matches!(
                self.cause.kind,
                CauseKind::Message(_) | CauseKind::Resource(Resource::Connection)
            )
        {
            // It left before, and its rank is told when it handles a message.
            return;
        }
        let flight = found.unwrap_or_else(|| Flight {
            posted: self.accounted,
            parts: TransferParts::default(),
            origin: self.waited_before(rank),
            profile: self.profile.clone(),
        });
        let mut profile = flight.profile;
        let seconds = (time - flight.posted).max(0.0);
        profile.update_profile(|profile| {
            for (kind, part) in flight.parts.split_transfer(seconds) {
                profile.times[kind as usize] += part;
            }
        });
        self.cause = Cause {
            kind: CauseKind::Sent(flight.origin),
            profile,
            at: time,
            transfer: (flight.parts, seconds),
        };
    }

    /// Returns the origin of data of the rank that have left, if they waited for a resource.
    fn waited_before(&self, rank: u32) -> Option<MessageOrigin> {
        let CauseKind::Resource(resource) = self.cause.kind else {
            return None;
        };
        Some(MessageOrigin {
            sender: rank,
            began: f64::NEG_INFINITY,
            doing: self.doing,
            receive: None,
            held: Some(Hold::ending_at(
                resource,
                self.cause.at,
                self.cause.at - self.accounted,
            )),
        })
    }

    /// Continues the path after a wait, along the event that has ended the wait.
    pub(crate) fn follow_cause(&mut self, rank: u32, wait: &Wait, time: f64) {
        let (call, place) = (wait.call, wait.place);
        let at = PathPlace { rank, call, place };
        if wait.elapses {
            // Packets that arrive meanwhile do not end it.
            let [own, shared] = wait.computed(time);
            self.profile.spend(PathTime::Compute, at, own);
            return self.profile.spend(PathTime::Resources, at, shared);
        }
        let kind = match self.cause.kind {
            CauseKind::Program | CauseKind::Unknown => PathTime::Other,
            _ => PathTime::Software,
        };
        self.profile = self.cause.profile.clone();
        self.profile.spend(kind, at, time - self.cause.at);
    }

    /// Returns the classes and causers of a wait that ends: parts that add up to the wait.
    pub(crate) fn classified(&self, wait: &Wait, time: f64, sleeps: bool) -> [Part; 7] {
        if wait.elapses {
            let class = if sleeps { Class::Sleep } else { Class::Compute };
            let [own, shared] = wait.computed(time);
            let part = |class, seconds| (seconds > 0.0).then_some((class, seconds, None));
            let shared = part(Class::SharedProcessor, shared);
            return [part(class, own), shared, None, None, None, None, None];
        }
        let mut from = wait.from;
        let collective = self.ended_collective.and_then(|until| {
            let causer = Some(until.causer);
            take_part(&mut from, time, (until.class, until.until, causer))
        });
        let (late, rest) = self.late(wait, &mut from, time);
        // From the event on, completing the operation costs software time.
        let ends = match self.cause.kind {
            CauseKind::Timer | CauseKind::Program => time,
            _ => self.cause.at,
        };
        let ends = ends.clamp(from, time);
        let held = self.cause.kind.origin().and_then(|origin| origin.held);
        let held = held.and_then(|hold| {
            let until = from + hold.within(from, ends);
            take_part(&mut from, time, (hold.resource.into(), until, None))
        });
        let way = if rest == Class::Transfer {
            self.transfer_parts(from, ends)
        } else {
            [take_part(&mut from, time, (rest, ends, None)), None, None]
        };
        from = ends;
        let software = time - from;
        let software = (software > 0.0).then_some((Class::Software, software, None));
        let [first, second, third] = way;
        [collective, late, held, first, second, third, software]
    }

    /// Returns the part of a wait in which another rank was late, and the class of the rest.
    fn late(&self, wait: &Wait, from: &mut f64, time: f64) -> (Part, Class) {
        match self.cause.kind {
            CauseKind::Message(Some(origin)) => {
                let class = if wait.wrong_order {
                    Class::LateSenderWrongOrder
                } else {
                    Class::LateSender
                };
                let causer = Causer {
                    rank: origin.sender,
                    doing: origin.doing,
                };
                (
                    take_part(from, time, (class, origin.began, Some(causer))),
                    Class::Transfer,
                )
            }
            CauseKind::Cleared { origin, .. } | CauseKind::Sent(origin) => {
                let late = origin.and_then(|origin| origin.receive);
                let late = late.and_then(|late| {
                    let causer = Causer {
                        rank: late.rank,
                        doing: late.doing,
                    };
                    take_part(from, time, (Class::LateReceiver, late.posted, Some(causer)))
                });
                (late, Class::Transfer)
            }
            CauseKind::Message(None) => (None, Class::Transfer),
            CauseKind::Timer => (None, Class::Software),
            CauseKind::Resource(resource) => (None, resource.into()),
            CauseKind::Program | CauseKind::Unknown => (None, Class::Other),
        }
    }

    /// Returns the parts of a wait for data that are on the way, from one time to another: in the
    /// proportions of the whole transfer.
    fn transfer_parts(&self, from: f64, until: f64) -> [Part; 3] {
        let (parts, seconds) = self.cause.transfer;
        let waited = until - from;
        let scale = if seconds > 0.0 { waited / seconds } else { 0.0 };
        let known = parts.is_known() && seconds > 0.0;
        let all = if known {
            let classes = [Class::Latency, Class::Bandwidth, Class::Contention];
            let times = parts.split_transfer(seconds).map(|(_, part)| part * scale);
            [0, 1, 2].map(|at| (classes[at], times[at]))
        } else {
            let none = (Class::Transfer, 0.0);
            [(Class::Transfer, waited), none, none]
        };
        all.map(|(class, part)| (part > 0.0).then_some((class, part, None)))
    }
}
