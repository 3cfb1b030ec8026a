//! A world of two ranks without a clock, and the breadth-first search through all its states.
//!
//! Steps of the exploration: a rank makes its next call, none of which waits; the next packet
//! arrives on one of the two wires, which keep the order; a rank is told that its next packet has
//! left, which may be long after the arrival of that packet. (Other orders of arrival are tried at
//! random in `crates/mpi/tests`.) In every state no machine waits for an available resource (a lost
//! wake-up). In a state without a next step, every call has ended, with the right message, and all
//! counters are back.

use observe::SourceLocation;
use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use explore::state_machines::ModelBranch;

use super::super::{OperationState, Operations, ProtocolEngine, RequestTable, SendCall};
use crate::channel::{AbortReason, ConnectionLifecycle, RankHost, RemoteMemory};
use crate::channel::{Channel, ChannelEvent, Interest, Packet, Settings, Token};
use crate::exploration::ExplorationHooks;
use crate::protocol::defect::{ProtocolDefect, ProtocolDefects};
use crate::{Buffer, Envelope, Level, Pattern};

/// A call; messages are told apart by their lengths.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Do {
    Send {
        tag: u32,
        length: u64,
    },
    Synchronous {
        tag: u32,
        length: u64,
    },
    /// From any tag if there is none.
    Receive {
        tag: Option<u32>,
    },
    /// The call with this number.
    Cancel(usize),
}

/// End of a call: a message of this number of bytes, or a cancellation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Ended {
    Length(u64),
    Cancelled,
}

#[derive(Clone)]
struct Flying {
    from: u32,
    packet: Packet,
    /// The step in which the packet was posted, for the model checker.
    step: u32,
}

#[derive(Clone)]
struct Rank {
    engine: ProtocolEngine,
    calls: Rc<Vec<Do>>,
    /// Number of calls that were made.
    made: usize,
    /// The operation of each call that has one.
    tokens: Vec<Option<Token>>,
    /// Packets that have not been reported as left, each with the first step of a possible report.
    leaving: Vec<(Token, u32)>,
}

/// A state of the world.
#[derive(Clone)]
pub(super) struct World {
    settings: Rc<Settings>,
    ranks: [Rank; 2],
    flying: Vec<Flying>,
    /// True if receives may be left for which no message is sent.
    receives_may_wait: bool,
    /// The present step, for the model checker; 0 in the search here.
    now: u32,
}

#[derive(Clone, Copy, Debug)]
enum Choice {
    Call(usize),
    Arrive(usize),
    Left(usize),
}

/// Packets that were posted; the world takes them after each step.
struct Posted<'a> {
    rank: u32,
    settings: &'a Settings,
    packets: RefCell<Vec<Packet>>,
}

impl Channel for Posted<'_> {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        2
    }

    fn settings(&self) -> &Settings {
        self.settings
    }

    fn max_packet(&self) -> u64 {
        u64::MAX
    }

    fn post(&self, peer: u32, packet: Packet) {
        assert_eq!(peer, 1 - self.rank, "there are two");
        self.packets.borrow_mut().push(packet);
    }

    fn pull(&self, _: u32, _: Packet) {
        unreachable!("only where nothing is limited, and messages wait at their senders");
    }

    fn poll_event(&self) -> Option<ChannelEvent> {
        None
    }

    fn park(&self, _: Option<&std::task::Waker>, _: Interest) {}
}

impl RankHost for Posted<'_> {
    fn now(&self) -> f64 {
        0.0
    }

    fn timer(&self, _: f64, _: Token) {
        unreachable!("nothing takes time");
    }

    fn compute(&self, _: f64, _: Token) {
        unreachable!("nothing takes time");
    }

    fn host_name(&self) -> String {
        String::new()
    }

    fn print(&self, _: std::fmt::Arguments<'_>) {}

    fn log(&self, _: Level, _: std::fmt::Arguments<'_>) {}

    fn abort(&self, _: AbortReason) {}
}

impl RemoteMemory for Posted<'_> {}

impl ConnectionLifecycle for Posted<'_> {}

impl ExplorationHooks for Posted<'_> {}

impl World {
    pub(super) fn new(
        settings: Settings,
        calls: [&[Do]; 2],
        defect: Option<ProtocolDefect>,
    ) -> Self {
        let rank = |calls: &[Do]| Rank {
            engine: ProtocolEngine {
                defects: ProtocolDefects { one: defect },
                requests: RequestTable {
                    operations: Operations::with_places(calls.len()),
                    ..RequestTable::default()
                },
                ..ProtocolEngine::default()
            },
            calls: Rc::new(calls.to_vec()),
            made: 0,
            tokens: Vec::new(),
            leaving: Vec::new(),
        };
        Self {
            settings: Rc::new(settings),
            ranks: calls.map(rank),
            flying: Vec::new(),
            receives_may_wait: false,
            now: 0,
        }
    }

    pub(super) const fn whose_receives_may_wait(mut self) -> Self {
        self.receives_may_wait = true;
        self
    }

    fn choices(&self) -> Vec<Choice> {
        let mut all = Vec::new();
        for (at, rank) in self.ranks.iter().enumerate() {
            if rank.made < rank.calls.len() {
                all.push(Choice::Call(at));
            }
            if !rank.leaving.is_empty() {
                all.push(Choice::Left(at));
            }
        }
        for from in 0..2 {
            let first = self.flying.iter().position(|one| one.from == from);
            all.extend(first.map(Choice::Arrive));
        }
        all
    }

    fn step(&mut self, choice: Choice) {
        match choice {
            Choice::Call(at) => self.call(at),
            Choice::Left(at) => {
                let (token, _) = self.ranks[at].leaving.remove(0);
                self.tell(at, ChannelEvent::Sent(token));
            }
            Choice::Arrive(index) => {
                let Flying { from, packet, .. } = self.flying.remove(index);
                if let Some(token) = packet.notify {
                    let step = self.now;
                    self.ranks[from as usize].leaving.push((token, step));
                }
                let source = from;
                self.tell(1 - from as usize, ChannelEvent::Packet { source, packet });
            }
        }
    }

    fn tell(&mut self, at: usize, event: ChannelEvent) {
        self.with(at, |engine, channel| {
            engine.handle(channel, event);
            engine.take_back(channel);
        });
    }

    fn with<T>(&mut self, at: usize, f: impl FnOnce(&mut ProtocolEngine, &dyn Channel) -> T) -> T {
        let from = u32::try_from(at).expect("two");
        let settings = Rc::clone(&self.settings);
        let channel = Posted {
            rank: from,
            settings: &settings,
            packets: RefCell::default(),
        };
        let Rank { engine, calls, .. } = &mut self.ranks[at];
        let result = f(engine, &channel);
        engine.requests.operations.sort_free(calls.len());
        for packet in channel.packets.take() {
            let step = self.now;
            self.flying.push(Flying { from, packet, step });
        }
        result
    }

    fn call(&mut self, at: usize) {
        let rank = &mut self.ranks[at];
        let what = rank.calls[rank.made];
        let number = u32::try_from(rank.made).expect("few");
        rank.made += 1;
        if !matches!(what, Do::Cancel(_)) {
            rank.engine.requests.operations.set_next_token(number);
        }
        let cancelled = match what {
            Do::Cancel(number) => rank.tokens[number],
            _ => None,
        };
        let me = u32::try_from(at).expect("two");
        let location: SourceLocation = SourceLocation::caller();
        let token = self.with(at, |engine, channel| match what {
            Do::Send { tag, length } | Do::Synchronous { tag, length } => {
                let envelope = Envelope::new(0, me, tag);
                let call = SendCall {
                    blocks: false,
                    exchanges: false,
                    synchronous: matches!(what, Do::Synchronous { .. }),
                    location,
                };
                let buffer = Buffer::phantom(length);
                Some(engine.send(channel, 1 - me, envelope, buffer, call))
            }
            Do::Receive { tag } => {
                let pattern = Pattern {
                    context: 0,
                    source: Some(1 - me),
                    tag,
                };
                let buffer = (Buffer::phantom(1000), false);
                Some(engine.receive(channel, pattern, buffer, location))
            }
            Do::Cancel(_) => {
                engine.cancel(channel, cancelled.expect("a call with an operation"));
                None
            }
        });
        self.ranks[at].tokens.push(token);
    }

    /// Returns a fingerprint of the state that determines the future.
    pub(super) fn fingerprint(&self) -> u128 {
        hash(&self.key())
    }

    /// Returns the state that decides the future, in words.
    fn key(&self) -> String {
        let (mut text, mut wires) = (String::new(), [const { String::new() }; 2]);
        for rank in &self.ranks {
            let engine = &rank.engine;
            let all = engine.requests.operations.iter_places();
            let operations: Vec<(&OperationState, bool, bool)> = all
                .map(|(_, one)| (&one.state, one.released, one.cancelled))
                .collect();
            let flow = engine.flow_control().map(|flow| flow.key());
            let (made, tokens) = (rank.made, &rank.tokens);
            let leaving: Vec<Token> = rank.leaving.iter().map(|&(token, _)| token).collect();
            text += &format!(
                "{made} {tokens:?} {leaving:?} {operations:?} {:?} {flow:?} ",
                engine.matching
            );
        }
        for one in &self.flying {
            let line = format!("{} {:?}", one.from, one.packet);
            wires[one.from as usize] += &line;
        }
        text + &wires.concat()
    }

    /// Returns the end of each call; `None` for calls that did not end, or have no end.
    fn ends(&self, at: usize) -> Vec<Option<Ended>> {
        let rank = &self.ranks[at];
        let end = |token: &Option<Token>| {
            let OperationState::Done { result, .. } =
                rank.engine.requests.operations.state((*token)?)
            else {
                return None;
            };
            let status = result.as_ref().expect("no call fails");
            Some(if status.cancelled {
                Ended::Cancelled
            } else {
                Ended::Length(status.length)
            })
        };
        rank.tokens.iter().map(end).collect()
    }

    /// Returns the fault of a state, if any.
    fn fault(&self) -> Option<String> {
        self.ranks.iter().enumerate().find_map(|(at, rank)| {
            let peer = rank.engine.flow_control()?.find_missed_wakeup()?;
            Some(format!(
                "lost wake-up: rank {at} sleeps on its connection to rank {peer}"
            ))
        })
    }

    /// Returns the fault of a state without a next step, if any.
    pub(super) fn fault_at_the_end(&self, check: Check) -> Option<String> {
        for (at, rank) in self.ranks.iter().enumerate() {
            for (call, end) in rank.calls.iter().zip(self.ends(at)) {
                let may_wait = match call {
                    Do::Cancel(_) => true,
                    Do::Receive { .. } => self.receives_may_wait,
                    Do::Send { .. } | Do::Synchronous { .. } => false,
                };
                if end.is_none() && !may_wait {
                    return Some(format!("deadlock: rank {at} waits in {call:?}"));
                }
            }
            if !rank.engine.sends_complete() || rank.engine.unreceived().count() > 0 {
                return Some(format!("rank {at} has something left"));
            }
            let report = rank.engine.flow_control().map(|flow| flow.flow_report(0.0));
            if report.is_some_and(|report| !report.settled) {
                return Some(format!("rank {at}: counters are not what they were (E6)"));
            }
        }
        check([&self.ends(0), &self.ends(1)])
    }
}

/// The branches of a rank under the model checker.
const CALL: u32 = 0;
const ARRIVE: u32 = 1;
const LEFT: u32 = 2;

impl explore::state_machines::StateMachineModel for World {
    fn processes(&self) -> u32 {
        2
    }

    fn branches(&self, process: u32, into: &mut Vec<ModelBranch>) {
        let mut offer = |number, cause| {
            into.push(ModelBranch {
                number,
                also: None,
                cause,
            });
        };
        let rank = &self.ranks[process as usize];
        if rank.made < rank.calls.len() {
            offer(CALL, None);
        }
        if let Some(first) = self.flying.iter().find(|one| one.from != process) {
            offer(ARRIVE, Some(first.step));
        }
        if let Some(&(_, step)) = rank.leaving.first() {
            offer(LEFT, Some(step));
        }
    }

    fn execute_branch(&mut self, process: u32, branch: u32, step: u32) -> Result<(), String> {
        self.now = step;
        let arrives = || self.flying.iter().position(|one| one.from != process);
        self.step(match branch {
            CALL => Choice::Call(process as usize),
            ARRIVE => Choice::Arrive(arrives().expect("it was offered")),
            _ => Choice::Left(process as usize),
        });
        self.fault().map_or(Ok(()), Err)
    }
}

/// Check of the ends of the calls of both ranks; returns the fault, if any.
pub(super) type Check = fn([&[Option<Ended>]; 2]) -> Option<String>;

/// Result of a search.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) states: usize,
    pub(super) ends: usize,
    pub(super) end_states: BTreeSet<u128>,
    /// There are more states than were allowed.
    pub(super) is_cut: bool,
    /// First fault, and a shortest path to it.
    pub(super) fault: Option<(String, Vec<String>)>,
}

/// 128 bits of a text (FNV-1a).
fn hash(text: &str) -> u128 {
    let mix = |hash: u128, byte: &u8| {
        (hash ^ u128::from(*byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    };
    text.as_bytes()
        .iter()
        .fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, mix)
}

/// Visits every state that can be reached, the nearest first, up to the first fault.
pub(super) fn explore(world: World, states_max: usize, check: Check) -> Report {
    let mut seen = BTreeSet::from([hash(&world.key())]);
    // Where each state came from: its predecessor and the choice.
    let mut origins: Vec<(usize, String)> = vec![(0, String::new())];
    let mut queue = VecDeque::from([(0, world)]);
    let mut report = Report {
        states: 1,
        ends: 0,
        end_states: BTreeSet::new(),
        is_cut: false,
        fault: None,
    };
    while let Some((at, world)) = queue.pop_front() {
        let choices = world.choices();
        let mut fault = world.fault();
        if choices.is_empty() && fault.is_none() {
            report.ends += 1;
            report.end_states.insert(world.fingerprint());
            fault = world.fault_at_the_end(check);
        }
        for choice in choices
            .into_iter()
            .filter(|_| fault.is_none())
            .collect::<Vec<_>>()
        {
            let mut next = world.clone();
            // A mistake that an assertion finds is found.
            if catch_unwind(AssertUnwindSafe(|| next.step(choice))).is_err() {
                fault = Some(format!("a panic in {choice:?}"));
                break;
            }
            if seen.insert(hash(&next.key())) {
                if report.states == states_max {
                    report.is_cut = true;
                    return report;
                }
                origins.push((at, format!("{choice:?}")));
                queue.push_back((report.states, next));
                report.states += 1;
            }
        }
        if let Some(fault) = fault {
            let (mut path, mut at) = (Vec::new(), at);
            while at > 0 {
                path.push(origins[at].1.clone());
                at = origins[at].0;
            }
            path.reverse();
            report.fault = Some((fault, path));
            return report;
        }
    }
    report
}
