//! Accesses that wait at the origin until the target permits them, where calls wait least
//! ([`CollectiveWaits::Data`]): `start` returns at once, and `complete` as well.
//!
//! The posts of a target and the epochs of the origin meet in their orders. The accesses of an
//! epoch leave when the post has arrived, in the order of their calls, and so does the end of the
//! epoch. A fence that ends no epoch is a `post` for all ranks and a `start` of all.
//!
//! *Not decided here*: which calls are allowed when; see `rma/epochs.rs`.

use std::collections::VecDeque;

use observe::SourceLocation;

use super::{AccessCall, WindowCalls};
use crate::channel::{Channel, CollectiveWaits, RmaCall, Token};
use crate::exploration::{ExplorationFact, NotedOperation, SendCause, SendEnd, causality};
use crate::{Buffer, Envelope, exploration};

/// Tags of the notes about posts, ends of epochs, and locks that are given back and asked for.
const POST: u32 = 0;
const COMPLETE: u32 = 1;
const UNLOCK: u32 = 2;
const LOCK: u32 = 3;

/// The operation of a request for a lock for which no call waits.
pub(super) const GRANTED: Token = Token::MAX;

/// A target, and true for a lock.
pub(super) type GateKey = (u32, bool);

/// A request of the program to a target.
#[derive(Clone, Debug)]
pub(super) enum TargetRequest {
    /// An access, and the operation of one with a result.
    Access(Box<AccessCall>, Token),
    /// A request without data. The second number is the note of the request as a send; true if the
    /// request ends accesses that read or write.
    Control(RmaCall, Token, Option<u32>, bool),
}

/// An entry in the queue of a gate.
#[derive(Clone, Debug)]
enum GateEntry {
    /// An epoch begins; the note of the receive of the post.
    Start(Option<u32>),
    /// A request, and the cause of the call.
    Request(Option<SendCause>, TargetRequest),
}

/// The requests of this rank to one target, and the posts of the target.
#[derive(Clone, Debug)]
pub(super) struct TargetGate {
    /// The steps in which posts have arrived that no epoch has met.
    posts: VecDeque<u32>,
    /// The step of the post of the present epoch.
    opened: u32,
    queue: VecDeque<GateEntry>,
}

impl Default for TargetGate {
    fn default() -> Self {
        Self {
            posts: VecDeque::new(),
            opened: SendCause::NONE,
            queue: VecDeque::new(),
        }
    }
}

/// Returns true if calls do not wait where MPI permits that.
pub(crate) fn waits_least(channel: &dyn Channel) -> bool {
    channel.settings().collective_waits == CollectiveWaits::Data
}

impl WindowCalls<'_> {
    pub(super) fn present_arrival(&mut self) -> u32 {
        let record = self.engine.requests.rare.causality();
        record.map_or(SendCause::NONE, |record| record.arrival.step)
    }

    /// Begins an epoch of accesses to these ranks. The operation ends when all have posted, or at
    /// once where calls wait least.
    pub(crate) fn start_epoch(&mut self, mut peers: Vec<u32>, location: SourceLocation) -> Token {
        let mut arrivals = Vec::new();
        if waits_least(self.channel) {
            self.start_at_once(&peers, location);
            peers.clear();
        } else if let Some(window) = self.find_window() {
            peers.retain(|peer| {
                let mut posts = window.posts.iter();
                let place = posts.position(|(other, _)| other == peer);
                arrivals.extend(place.map(|place| window.posts.swap_remove(place).1));
                place.is_none()
            });
        }
        let token = self.await_ranks("start", peers, location);
        self.engine
            .requests
            .note_cause(|record| record.add_parts(token, &arrivals));
        if let Some(window) = self.find_window() {
            window.start = Some(token);
        }
        token
    }

    fn start_at_once(&mut self, peers: &[u32], location: SourceLocation) {
        let (start, posts) = self.note_epoch(("start", None, true), (peers, POST), location);
        self.note_wait(start);
        if let Some(window) = self.find_window() {
            window.started = start;
        }
        self.close_gates(peers, &posts);
    }

    /// Ends the epoch of accesses to these ranks.
    pub(crate) fn complete_epoch(&mut self, peers: &[u32], location: SourceLocation) {
        if !waits_least(self.channel) {
            return self.tell_ranks(peers, RmaCall::Complete);
        }
        let start = self.find_window().and_then(|window| window.started);
        let call = ("complete", start, true);
        let (complete, _) = self.note_epoch(call, (&[], POST), location);
        self.note_wait(complete);
        for &peer in peers {
            if let Some(window) = self.find_window() {
                window.updated.remove(&peer);
            }
            let note = self.note_send((peer, COMPLETE), location);
            let request = TargetRequest::Control(RmaCall::Complete, 0, note, true);
            self.send_to((peer, false), request);
        }
    }

    /// Notes that the rank has waited for the lock of the own memory in this operation.
    pub(crate) fn note_lock(
        &mut self,
        (name, peer): (&'static str, u32),
        asked: Token,
        location: SourceLocation,
    ) {
        if waits_least(self.channel) {
            let (lock, notes) = self.note_epoch((name, None, false), (&[peer], UNLOCK), location);
            if let (Some(lock), Some(window)) = (lock, self.find_window()) {
                window.locked.insert(peer, lock);
            }
            if let Some(record) = self.engine.requests.rare.causality_mut() {
                let grant = record.arrival_of(asked);
                self.note_permitted(notes.first().copied(), (peer, true), grant);
            }
            self.note_wait(lock);
        }
    }

    /// Asks for a lock without waiting for the grant.
    pub(crate) fn lock_at_once(
        &mut self,
        (name, peer, exclusive): (&'static str, u32, bool),
        location: SourceLocation,
    ) {
        // The request is what grants a lock that no other rank holds.
        self.note_send((peer, LOCK), location);
        let (lock, notes) = self.note_epoch((name, None, true), (&[peer], UNLOCK), location);
        self.note_wait(lock);
        if let (Some(lock), Some(window)) = (lock, self.find_window()) {
            window.locked.insert(peer, lock);
        }
        self.control_rma(peer, (RmaCall::Lock { exclusive }, GRANTED));
        self.queue_entry((peer, true), GateEntry::Start(notes.first().copied()));
    }

    /// Asks a target for the end of an epoch, or of the accesses so far.
    pub(super) fn ask_target(
        &mut self,
        (name, peer): (&'static str, u32),
        (call, token): (RmaCall, Token),
        location: SourceLocation,
    ) {
        let is_lock = name != "fence";
        if let Some(window) = self.find_window() {
            window.updated.remove(&peer);
        }
        let window = self.find_window();
        let lock = window.and_then(|window| window.locked.get(&peer).copied());
        if let Some(lock) = lock.filter(|_| is_lock) {
            let (wait, _) = self.note_epoch((name, Some(lock), false), (&[], UNLOCK), location);
            self.note_wait(wait);
        }
        let note = match call {
            RmaCall::Unlock => self.note_send((peer, UNLOCK), location),
            RmaCall::Lock { .. } => self.note_send((peer, LOCK), location),
            _ => None,
        };
        let key = (peer, is_lock);
        let window = self.find_window();
        let is_plain = window.is_some_and(|window| window.plain.remove(&key));
        self.send_to(key, TargetRequest::Control(call, token, note, is_plain));
    }

    /// Begins an exposure epoch, which ends when these ranks have completed.
    pub(crate) fn expose(&mut self, peers: Vec<u32>, location: SourceLocation) -> Token {
        let told = peers.clone();
        let token = self.await_ranks("wait", peers, location);
        let (wait, ends) = match waits_least(self.channel) {
            true => self.note_epoch(("wait", None, false), (&told, COMPLETE), location),
            false => (None, Vec::new()),
        };
        if let (Some(wait), Some(record)) = (wait, self.engine.requests.rare.causality_mut()) {
            record.set_note(token, wait);
        }
        if let Some(window) = self.find_window() {
            window.exposure = Some(token);
            window.ends = told.iter().copied().zip(ends).collect();
        }
        for &peer in &told {
            self.note_send((peer, POST), location);
            self.tell_ranks(&[peer], RmaCall::Post);
        }
        token
    }

    /// Begins an epoch of fences without waiting for these ranks, all others of the window.
    pub(crate) fn open_fence(&mut self, peers: &[u32]) {
        self.tell_ranks(peers, RmaCall::Post);
        self.close_gates(peers, &[]);
    }

    /// Sends ranks a message without an answer.
    fn tell_ranks(&mut self, peers: &[u32], call: RmaCall) {
        for &peer in peers {
            self.control_rma(peer, (call, 0));
        }
    }

    /// The post of a target has arrived.
    pub(super) fn take_post(&mut self, peer: u32) {
        let step = self.present_arrival();
        if waits_least(self.channel) {
            return self.permit_epoch((peer, false), step);
        }
        let start = self.find_window().and_then(|window| window.start);
        if !self.note_awaited(start, peer, "start")
            && let Some(window) = self.find_window()
        {
            window.posts.push((peer, step));
        }
    }

    /// A target has granted a lock.
    pub(super) fn take_grant(&mut self, peer: u32) {
        let step = self.present_arrival();
        self.permit_epoch((peer, true), step);
    }

    fn permit_epoch(&mut self, key: GateKey, step: u32) {
        if let Some(gate) = self.make_gate(key) {
            gate.posts.push_back(step);
        }
        self.open_gate(key);
    }

    /// An origin has completed an epoch.
    pub(super) fn take_complete(&mut self, peer: u32) {
        let step = self.present_arrival();
        let Some(window) = self.find_window() else {
            return;
        };
        let exposure = window.exposure;
        let mut ends = window.ends.iter();
        if let Some(place) = ends.position(|(origin, _)| *origin == peer) {
            let receive = window.ends.swap_remove(place).1;
            if let Some(causes) = causality(self.channel) {
                causes.note_fact(ExplorationFact::ReceiveMet {
                    receive,
                    arrival: step,
                });
            }
        }
        self.note_awaited(exposure, peer, "wait");
    }

    /// Begins epochs of accesses to these ranks without waiting for them; `notes` has the notes of
    /// the receives of their posts, if any.
    fn close_gates(&mut self, peers: &[u32], notes: &[u32]) {
        for (place, &peer) in peers.iter().enumerate() {
            let start = GateEntry::Start(notes.get(place).copied());
            self.queue_entry((peer, false), start);
        }
    }

    fn make_gate(&mut self, key: GateKey) -> Option<&mut TargetGate> {
        Some(self.find_window()?.gates.entry(key).or_default())
    }

    fn queue_entry(&mut self, key: GateKey, entry: GateEntry) {
        if let Some(gate) = self.make_gate(key) {
            gate.queue.push_back(entry);
        }
        self.open_gate(key);
    }

    /// Sends a request of the program to a target when the target permits accesses.
    pub(super) fn send_to(&mut self, key: GateKey, request: TargetRequest) {
        if let TargetRequest::Access(access, _) = &request {
            if !access.is_update() {
                let window = self.find_window();
                window.map(|window| window.plain.insert(key));
            } else {
                self.note_order(access);
            }
        }
        let cause = causality(self.channel).map(|causes| causes.send_cause());
        self.queue_entry(key, GateEntry::Request(cause, request));
    }

    /// Sends the requests that a target permits.
    fn open_gate(&mut self, key: GateKey) {
        let causes = causality(self.channel);
        while let Some(gate) = self.make_gate(key) {
            match gate.queue.pop_front() {
                None => return,
                Some(GateEntry::Start(note)) => {
                    let Some(post) = gate.posts.pop_front() else {
                        return gate.queue.push_front(GateEntry::Start(note));
                    };
                    gate.opened = post;
                    self.note_permitted(note, key, post);
                }
                Some(GateEntry::Request(cause, request)) => {
                    let arrival = gate.opened;
                    if let Some((cause, causes)) = cause.zip(causes) {
                        causes.set_send_cause(Some(SendCause { arrival, ..cause }));
                    }
                    self.send_request(key.0, request);
                    if let Some((record, causes)) =
                        self.engine.requests.rare.causality_mut().zip(causes)
                    {
                        causes.set_send_cause(record.handling_cause());
                    }
                }
            }
        }
    }

    /// Notes that an epoch may begin.
    fn note_permitted(&self, start: Option<u32>, (peer, is_lock): GateKey, post: u32) {
        let Some((receive, causes)) = start.zip(causality(self.channel)) else {
            return;
        };
        let note_met = |receive, arrival| {
            causes.note_fact(ExplorationFact::ReceiveMet { receive, arrival });
        };
        if !is_lock {
            return note_met(receive, post);
        }
        // The lock waits for the ranks that have given the lock back.
        let mut arrivals = causes.packet_origin(post).arrivals.into_iter();
        note_met(receive, arrivals.next().unwrap_or(post));
        let Some(&lock) = self.locked_at(peer) else {
            return;
        };
        for arrival in arrivals {
            let location = SourceLocation::caller();
            let receive = causes.begin_operation(self.noted_receive((peer, UNLOCK)), location);
            causes.note_fact(ExplorationFact::ReceivePart {
                receive,
                collective: lock,
            });
            note_met(receive, arrival);
        }
    }

    fn locked_at(&self, peer: u32) -> Option<&u32> {
        let windows = self.engine.windows.0.as_ref()?;
        windows.open.get(&self.context)?.locked.get(&peer)
    }

    const fn noted_receive(&self, (source, tag): (u32, u32)) -> NotedOperation {
        NotedOperation::Receive {
            context: self.context,
            source: Some(source),
            tag: Some(tag),
        }
    }

    fn send_request(&mut self, peer: u32, request: TargetRequest) {
        let channel = self.channel;
        match request {
            TargetRequest::Access(access, token) if access.call.is_answered() => {
                self.send_read(&access, token);
            }
            TargetRequest::Access(access, _) => self.send_parts(&access, None, 0),
            TargetRequest::Control(call, operation, note, is_plain) => {
                if let Some((note, causes)) = note.zip(causality(channel)) {
                    causes.note_fact(ExplorationFact::SendResumed(note));
                }
                let place = ((!is_plain).into(), 0);
                self.send_rma(peer, (call, operation), place, (Buffer::phantom(0), None));
            }
        }
    }

    /// Notes a post or the end of an epoch as a send that is buffered.
    fn note_send(&self, (destination, tag): (u32, u32), location: SourceLocation) -> Option<u32> {
        let causes = causality(self.channel)?;
        let envelope = Envelope::new(self.context, self.channel.rank(), tag);
        let operation = NotedOperation::Send {
            destination,
            envelope,
            end: SendEnd::Buffered,
        };
        Some(causes.begin_operation(operation, location))
    }

    /// Notes a call that waits for a message with this tag from each of these ranks. Returns the
    /// note and the notes of the receives.
    fn note_epoch(
        &self,
        (name, start, is_optional): (&'static str, Option<u32>, bool),
        (peers, tag): (&[u32], u32),
        location: SourceLocation,
    ) -> (Option<u32>, Vec<u32>) {
        let Some(causes) = causality(self.channel) else {
            return (None, Vec::new());
        };
        let operation = NotedOperation::Epoch {
            name,
            start,
            is_optional,
        };
        let epoch = causes.begin_operation(operation, location);
        let receive = |&peer: &u32| {
            let receive = causes.begin_operation(self.noted_receive((peer, tag)), location);
            causes.note_fact(ExplorationFact::ReceivePart {
                receive,
                collective: epoch,
            });
            receive
        };
        (Some(epoch), peers.iter().map(receive).collect())
    }

    /// Notes the bound that the order of two updates of different places is not explored.
    fn note_order(&mut self, access: &AccessCall) {
        let (channel, peer) = (self.channel, access.peer);
        let Some(window) = self.find_window() else {
            return;
        };
        let before = window.updated.insert(peer, access.offset);
        if before.is_some_and(|before| before != access.offset) {
            let bound = "accesses of one rank to one target arrive in order";
            exploration::note_bound(channel, &format!("{bound} ({})", access.location));
        }
    }

    fn note_wait(&self, note: Option<u32>) {
        if let Some((note, causes)) = note.zip(causality(self.channel)) {
            causes.note_fact(ExplorationFact::OperationAwaited(note));
        }
    }
}
