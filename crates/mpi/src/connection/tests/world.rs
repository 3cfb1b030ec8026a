//! A world of a few processes, with sockets that are FIFO in each direction and arbitrarily slow.
//!
//! Every possible next event of the world is a [`Choice`]: a step of a program, or one completion
//! of one socket. Internal actions of a socket (to put written data on the wire) happen at once.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use super::super::*;

/// A step of a process's program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Do {
    /// Sends the next packet to a rank.
    Send(u32),
    /// Closes towards a rank.
    Close(u32),
    Finalize,
    /// The process dies.
    Crash,
}

/// Choice of the next step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Choice {
    Step(usize),
    ConnectDone(usize),
    ConnectError(usize),
    Accept(usize),
    /// By socket and side.
    WriteDone(usize, usize),
    Read(usize, usize),
    Eof(usize, usize),
    Closed(usize, usize),
    ListenerClosed(usize),
    /// The process manager tells a process about a dead one.
    Notice(usize, usize),
}

/// The step of an event, for the model checker. The future of a world does not depend on the stamp,
/// so all stamps are equal.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stamp(pub(super) u32);

impl PartialEq for Stamp {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Stamp {}

impl Hash for Stamp {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// One side of a socket: 0 has connected, 1 has accepted.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Side {
    pub(super) process: usize,
    connection: Option<ConnectionId>,
    writes: u32,
    reads: u32,
    closing: bool,
    pub(super) closed: bool,
    pub(super) closed_at: Stamp,
    /// Messages that this side has not read yet.
    pub(super) wire: VecDeque<(HandshakeMessage, Stamp)>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Socket {
    pub(super) sides: [Side; 2],
    /// The connect was reported, as a success or as a failure.
    reported: bool,
    pub(super) reported_at: Stamp,
    failed: bool,
}

#[derive(Clone, Hash, Debug)]
pub(super) struct Process {
    pub(super) connector: Connector,
    program: Rc<[Do]>,
    next: usize,
    listener: Option<ConnectionId>,
    listener_closing: bool,
    pub(super) listener_closed_at: Stamp,
    /// Number of sockets that were opened, where these have numbers that do not depend on others.
    opened: usize,
    pub(super) finalized: bool,
    pub(super) dead: bool,
    told: Vec<usize>,
    /// By peer: sent so far, and how many of them have ended here, completed or failed.
    sent: BTreeMap<u32, u64>,
    ended: BTreeMap<u32, u64>,
    failed: BTreeMap<u32, u64>,
    /// By peer: the number of the packet that comes next at least, and the number of packets.
    expected: BTreeMap<u32, u64>,
    delivered: BTreeMap<u32, u64>,
}

#[derive(Clone, Hash, Debug)]
pub(super) struct World {
    pub(super) processes: Vec<Process>,
    pub(super) sockets: BTreeMap<usize, Socket>,
    /// The number of a socket depends only on the process that opens the socket.
    pub(super) own_numbers: bool,
    /// The model checker is offered the steps of one pair of processes at a time: see `pairs`.
    pub(super) pair_by_pair: bool,
    pub(super) now: Stamp,
    /// The first thing that went wrong.
    pub(super) mistake: Option<String>,
    /// Broken streams may lose messages on the wire.
    pub(super) lossy: bool,
    /// Writes are reported late, and not as soon as they are asked for.
    pub(super) slow_writes: bool,
}

pub(super) fn member(rank: u32) -> Peer {
    Peer::Member { group: 0, rank }
}

fn rank(peer: Peer) -> u32 {
    match peer {
        Peer::Member { rank, .. } => rank,
        Peer::Temporary(_) => unreachable!("no ports here"),
    }
}

impl World {
    pub(super) fn new(programs: &[&[Do]], settings: Settings, mutations: &[SeededDefect]) -> Self {
        let size = u32::try_from(programs.len()).unwrap();
        let cards = (0..size).map(|rank| (rank, rank.to_string()));
        let group = Group::new("world", size, cards);
        let mut world = Self {
            processes: Vec::new(),
            sockets: BTreeMap::new(),
            own_numbers: false,
            pair_by_pair: false,
            now: Stamp::default(),
            mistake: None,
            lossy: false,
            slow_writes: false,
        };
        for (index, program) in programs.iter().enumerate() {
            let rank = u32::try_from(index).unwrap();
            let mutation = mutations.get(index).copied().unwrap_or_default();
            let mut connector = Connector::new(group.clone(), rank, settings);
            connector.defect = mutation;
            connector.outputs.steps = Some(Vec::new());
            let listener = connector.listen();
            world.processes.push(Process {
                connector,
                program: (*program).into(),
                next: 0,
                listener: Some(listener),
                listener_closing: false,
                listener_closed_at: Stamp::default(),
                opened: 0,
                finalized: false,
                dead: false,
                told: Vec::new(),
                sent: BTreeMap::new(),
                ended: BTreeMap::new(),
                failed: BTreeMap::new(),
                expected: BTreeMap::new(),
                delivered: BTreeMap::new(),
            });
        }
        world
    }

    fn is_listening(&self, process: usize) -> bool {
        let process = &self.processes[process];
        !process.dead && process.listener.is_some() && !process.listener_closing
    }

    pub(super) fn choices(&self) -> Vec<Choice> {
        let mut choices = Vec::new();
        for (index, process) in self.processes.iter().enumerate() {
            if process.dead {
                continue;
            }
            if process.next < process.program.len() {
                choices.push(Choice::Step(index));
            }
            let pending = self
                .sockets
                .values()
                .any(|socket| is_pending(socket, index));
            if process.listener_closing && !pending {
                choices.push(Choice::ListenerClosed(index));
            }
            for (other, lost) in self.processes.iter().enumerate() {
                if lost.dead && !process.told.contains(&other) && !process.finalized {
                    choices.push(Choice::Notice(index, other));
                }
            }
        }
        for (&number, socket) in &self.sockets {
            self.socket_choices(number, socket, &mut choices);
        }
        choices
    }

    fn socket_choices(&self, number: usize, socket: &Socket, choices: &mut Vec<Choice>) {
        let [client, server] = &socket.sides;
        if !socket.reported && !self.processes[client.process].dead && !client.closed {
            if self.is_listening(server.process) {
                choices.push(Choice::ConnectDone(number));
            } else {
                choices.push(Choice::ConnectError(number));
            }
        }
        if is_pending(socket, server.process) && !self.processes[server.process].dead {
            choices.push(Choice::Accept(number));
        }
        for (index, side) in socket.sides.iter().enumerate() {
            if side.connection.is_none() || self.processes[side.process].dead || side.closed {
                continue;
            }
            if side.writes > 0 {
                choices.push(Choice::WriteDone(number, index));
            }
            if side.reads > 0 && !side.wire.is_empty() {
                choices.push(Choice::Read(number, index));
            }
            let is_over = self.is_over(socket, 1 - index);
            let broken = self.lossy && self.processes[socket.sides[1 - index].process].dead;
            if side.reads > 0 && is_over && (side.wire.is_empty() || broken) {
                choices.push(Choice::Eof(number, index));
            }
            if side.closing && (socket.reported || index == 1) {
                choices.push(Choice::Closed(number, index));
            }
        }
    }

    /// Returns true if a side will write no further message.
    fn is_over(&self, socket: &Socket, side: usize) -> bool {
        let side = &socket.sides[side];
        let process = &self.processes[side.process];
        let never = side.connection.is_none() && process.listener.is_none();
        side.closed || process.dead || never
    }

    pub(super) fn take(&mut self, choice: Choice) {
        match choice {
            Choice::Step(process) => self.step(process),
            Choice::ConnectDone(number) => {
                let now = self.now;
                let socket = self.socket(number);
                (socket.reported, socket.reported_at) = (true, now);
                self.input(number, 0, Input::ConnectDone);
            }
            Choice::ConnectError(number) => self.refused(number),
            Choice::Accept(number) => {
                let process = self.socket(number).sides[1].process;
                let connection = self.processes[process].connector.accept(0.0);
                self.socket(number).sides[1].connection = Some(connection);
                self.drain(process);
            }
            Choice::WriteDone(number, side) => {
                self.socket(number).sides[side].writes -= 1;
                self.input(number, side, Input::WriteDone);
            }
            Choice::Read(number, side) => {
                let end = &mut self.socket(number).sides[side];
                end.reads -= 1;
                let (message, _) = end.wire.pop_front().unwrap();
                self.input(number, side, Input::Read(message));
            }
            Choice::Eof(number, side) => {
                self.socket(number).sides[side].reads -= 1;
                self.input(number, side, Input::Eof);
            }
            Choice::Closed(number, side) => {
                let now = self.now;
                let end = &mut self.socket(number).sides[side];
                (end.closed, end.closed_at) = (true, now);
                (end.closing, end.reads, end.writes) = (false, 0, 0);
                end.wire.clear();
                self.input(number, side, Input::Closed);
            }
            Choice::ListenerClosed(process) => {
                let at = &mut self.processes[process];
                at.listener_closing = false;
                at.listener_closed_at = self.now;
                let listener = at.listener.take().unwrap();
                at.connector.handle(0.0, listener, Input::Closed);
                self.drain(process);
            }
            Choice::Notice(process, lost) => {
                let at = &mut self.processes[process];
                at.told.push(lost);
                at.connector
                    .peer_failed(0.0, member(u32::try_from(lost).unwrap()));
                self.drain(process);
            }
        }
        let processes = &self.processes;
        // What is over on both sides is forgotten, so that equal worlds look alike.
        let gone = |side: &Side, socket: &Socket| {
            let process = &processes[side.process];
            let never = side.connection.is_none() && process.listener.is_none();
            side.closed || process.dead || never || (socket.failed && side.connection.is_none())
        };
        self.sockets
            .retain(|_, socket| !socket.sides.iter().all(|side| gone(side, socket)));
    }

    /// A connect has failed.
    fn refused(&mut self, number: usize) {
        let socket = self.socket(number);
        (socket.reported, socket.failed) = (true, true);
        self.input(number, 0, Input::ConnectError);
        let socket = self.socket(number);
        let connection = socket.sides[0].connection;
        let process = socket.sides[0].process;
        let connector = &self.processes[process].connector;
        let mut all = connector.connections.all.keys();
        let lives = all.any(|id| Some(*id) == connection);
        let now = self.now;
        let end = &mut self.socket(number).sides[0];
        (end.closed, end.closed_at) = (!lives, now);
    }

    fn socket(&mut self, number: usize) -> &mut Socket {
        self.sockets.get_mut(&number).unwrap()
    }

    fn input(&mut self, number: usize, side: usize, input: Input) {
        let end = &self.sockets[&number].sides[side];
        let (process, connection) = (end.process, end.connection.unwrap());
        self.processes[process]
            .connector
            .handle(0.0, connection, input);
        self.drain(process);
    }

    fn step(&mut self, index: usize) {
        let process = &mut self.processes[index];
        let step = process.program[process.next];
        process.next += 1;
        match step {
            Do::Send(to) => {
                let packet = process.sent.entry(to).or_default();
                *packet += 1;
                let packet = *packet - 1;
                process.connector.send(0.0, member(to), packet);
            }
            Do::Close(to) => process.connector.close(0.0, member(to)),
            Do::Finalize => process.connector.finalize(0.0),
            Do::Crash => process.dead = true,
        }
        self.drain(index);
    }

    /// Executes the outputs of a process.
    fn drain(&mut self, index: usize) {
        while let Some(output) = self.processes[index].connector.poll() {
            self.apply(index, output);
        }
    }

    fn apply(&mut self, index: usize, output: Output) {
        match output {
            Output::Connect {
                connection, card, ..
            } => {
                self.open(index, connection, card.parse().unwrap());
            }
            Output::Write {
                connection,
                messages,
            } => {
                let (number, side) = self.find(index, connection);
                let now = self.now;
                let socket = self.socket(number);
                let other = &mut socket.sides[1 - side];
                if !other.closed {
                    let messages = messages.into_iter();
                    other.wire.extend(messages.map(|message| (message, now)));
                }
                if !self.slow_writes {
                    return self.input(number, side, Input::WriteDone);
                }
                self.socket(number).sides[side].writes += 1;
            }
            Output::Read { connection } => {
                let (number, side) = self.find(index, connection);
                self.socket(number).sides[side].reads += 1;
            }
            Output::Close { connection } if self.processes[index].listener == Some(connection) => {
                self.processes[index].listener_closing = true;
            }
            Output::Close { connection } => {
                let (number, side) = self.find(index, connection);
                self.socket(number).sides[side].closing = true;
            }
            Output::Deliver { peer, packet } => self.delivered(index, rank(peer), packet),
            Output::Completed { peer, .. } => {
                *self.processes[index].ended.entry(rank(peer)).or_default() += 1;
            }
            Output::Failed { peer, .. } => {
                *self.processes[index].ended.entry(rank(peer)).or_default() += 1;
                *self.processes[index].failed.entry(rank(peer)).or_default() += 1;
            }
            Output::Finalized => {
                self.processes[index].finalized = true;
                let connections = &self.processes[index].connector.connections;
                if !connections.all.is_empty() {
                    self.wrong(format!("process {index}: finalized with sockets"));
                }
            }
            Output::PortAccepted { .. } | Output::Opened { .. } => {}
            Output::Illegal(what) => self.wrong(format!("process {index}: {what}")),
        }
    }

    /// A process opens a socket to another one.
    fn open(&mut self, index: usize, connection: ConnectionId, server: usize) {
        let free = (0..).find(|number| !self.sockets.contains_key(number));
        let number = if self.own_numbers {
            let opened = &mut self.processes[index].opened;
            *opened += 1;
            assert!(*opened < 32, "so few are opened");
            (index * 4 + server) * 32 + *opened
        } else {
            free.unwrap()
        };
        let side = |process, connection| Side {
            process,
            connection,
            ..Side::default()
        };
        let socket = Socket {
            sides: [side(index, Some(connection)), side(server, None)],
            reported: false,
            reported_at: Stamp::default(),
            failed: false,
        };
        self.sockets.insert(number, socket);
    }

    fn find(&self, process: usize, connection: ConnectionId) -> (usize, usize) {
        for (&number, socket) in &self.sockets {
            for (side, end) in socket.sides.iter().enumerate() {
                if end.process == process && end.connection == Some(connection) && !end.closed {
                    return (number, side);
                }
            }
        }
        panic!("process {process} has no connection {connection}");
    }

    fn delivered(&mut self, index: usize, from: u32, packet: u64) {
        if self.processes[index].finalized {
            self.wrong(format!("process {index}: a message after the end"));
        }
        let process = &mut self.processes[index];
        let expected = process.expected.entry(from).or_default();
        let in_order = packet >= *expected;
        *expected = packet + 1;
        *process.delivered.entry(from).or_default() += 1;
        if !in_order {
            self.wrong(format!(
                "process {index}: packet {packet} of {from} again or too late"
            ));
        }
    }

    fn wrong(&mut self, what: String) {
        self.mistake.get_or_insert(what);
    }

    /// Returns the violation of an invariant of all states, if any.
    pub(super) fn invariant(&self) -> Option<String> {
        if let Some(mistake) = &self.mistake {
            return Some(mistake.clone());
        }
        // N-19: never more than two sockets per pair; where pairs are opened again, not counting
        // those that are being closed.
        let mut steps = self.processes.iter().flat_map(|process| &*process.program);
        let for_ever = steps.all(|step| matches!(step, Do::Send(_)));
        let mut pairs: BTreeMap<[usize; 2], u32> = BTreeMap::new();
        for socket in self.sockets.values().filter(|socket| !socket.failed) {
            let mut pair = [socket.sides[0].process, socket.sides[1].process];
            pair.sort_unstable();
            let ending = socket.sides.iter().any(|side| side.closing || side.closed);
            *pairs.entry(pair).or_default() += u32::from(!ending || for_ever);
        }
        if let Some((pair, count)) = pairs.into_iter().find(|&(_, count)| count > 2) {
            return Some(format!("{count} sockets for {pair:?}"));
        }
        let any_dead = self.processes.iter().any(|process| process.dead);
        for (index, process) in self.processes.iter().enumerate() {
            if !any_dead && process.connector.failed > 0 && !self.anybody_finalizes() {
                return Some(format!("process {index} has lost a peer that lives"));
            }
        }
        None
    }

    fn anybody_finalizes(&self) -> bool {
        let mut all = self.processes.iter();
        all.any(|process| process.program[..process.next].contains(&Do::Finalize))
    }

    /// Returns the violation of an invariant of final states, if any.
    pub(super) fn at_the_end(&self) -> Option<String> {
        use virtual_connection::{Channel, VirtualConnectionState};
        let ranks = 0..u32::try_from(self.processes.len()).unwrap();
        for (index, process) in self.processes.iter().enumerate().filter(|(_, p)| !p.dead) {
            if process.next < process.program.len() {
                return Some(format!("process {index}: its program has not ended"));
            }
            let connector = &process.connector;
            if connector.outstanding > 0 {
                return Some(format!("process {index}: closes are outstanding"));
            }
            let ends = process.program.contains(&Do::Finalize);
            if ends && !process.finalized {
                return Some(format!("process {index}: finalize has not ended"));
            }
            if ends && !connector.connections.all.is_empty() {
                return Some(format!("process {index}: sockets are left"));
            }
            for rank in ranks.clone().filter(|&rank| rank as usize != index) {
                let other = &self.processes[rank as usize];
                let (sent, ended) = (process.sent.get(&rank), process.ended.get(&rank));
                if sent != ended {
                    return Some(format!("process {index}: sends to {rank} have not ended"));
                }
                let here = u32::try_from(index).unwrap();
                let sent = sent.copied().unwrap_or_default();
                let failed = process.failed.get(&rank).copied().unwrap_or_default();
                let delivered = other.delivered.get(&here).copied().unwrap_or_default();
                if !other.dead && delivered + failed < sent {
                    return Some(format!("a message from {index} to {rank} is lost"));
                }
                if !other.dead && failed > 0 && !self.anybody_finalizes() {
                    return Some(format!("a message from {index} to {rank} failed"));
                }
                let (state, channel) = (
                    connector.state(member(rank)),
                    connector.channel(member(rank)),
                );
                let is_right = match state {
                    VirtualConnectionState::Inactive => {
                        !other.dead && channel == Channel::Unconnected
                    }
                    VirtualConnectionState::Active => {
                        !other.dead && !ends && channel == Channel::Connected
                    }
                    VirtualConnectionState::InactiveClosed => ends,
                    VirtualConnectionState::Moribund => channel == Channel::Failed,
                    _ => false,
                };
                if !is_right {
                    return Some(format!("process {index}: {rank} is {state:?}, {channel:?}"));
                }
            }
            // One connection per used pair, and the listener; nothing else.
            let active = ranks
                .clone()
                .filter(|&rank| connector.state(member(rank)) == VirtualConnectionState::Active);
            let expected = active.count() + usize::from(!ends);
            let have = connector.connections.all.len();
            if have != expected {
                return Some(format!(
                    "process {index}: {have} connections, not {expected}"
                ));
            }
        }
        None
    }
}

impl World {
    /// The two processes that a choice is about.
    pub(super) fn pair(&self, choice: Choice) -> [usize; 2] {
        let number = match choice {
            Choice::ConnectDone(number) | Choice::ConnectError(number) | Choice::Accept(number) => {
                number
            }
            Choice::WriteDone(number, _)
            | Choice::Read(number, _)
            | Choice::Eof(number, _)
            | Choice::Closed(number, _) => number,
            Choice::Step(_) | Choice::ListenerClosed(_) | Choice::Notice(..) => {
                unreachable!("not in worlds in which pairs are explored one by one")
            }
        };
        let mut pair = self.sockets[&number]
            .sides
            .each_ref()
            .map(|side| side.process);
        pair.sort_unstable();
        pair
    }

    /// Returns the world with sockets and connections numbered by their two ends, the opening end
    /// first; each such pair has at most one socket and one connection.
    pub(super) fn renumbered(&self) -> Self {
        let mut world = self.clone();
        let size = world.processes.len();
        let mut names: BTreeMap<(usize, ConnectionId), ConnectionId> = BTreeMap::new();
        let mut sockets = BTreeMap::new();
        for (_, mut socket) in std::mem::take(&mut world.sockets) {
            let [client, server] = socket.sides.each_ref().map(|side| side.process);
            let number = client * size + server;
            for side in &mut socket.sides {
                if let Some(id) = &mut side.connection {
                    let new = ConnectionId::try_from(number + 1).unwrap();
                    names.insert((side.process, *id), new);
                    *id = new;
                }
            }
            assert!(
                sockets.insert(number, socket).is_none(),
                "one in each direction"
            );
        }
        world.sockets = sockets;
        for (index, process) in world.processes.iter_mut().enumerate() {
            let renamed = |id: ConnectionId| names.get(&(index, id)).copied().unwrap_or(id);
            let connector = &mut process.connector;
            let table = &mut connector.connections;
            let all = std::mem::take(&mut table.all).into_iter();
            table.all = all.map(|(id, c)| (renamed(id), c)).collect();
            table.free.clear();
            for vc in connector.vcs.values_mut() {
                vc.connection = vc.connection.map(renamed);
            }
            for id in &mut connector.held {
                *id = renamed(*id);
            }
        }
        world
    }
}

/// Returns true if a socket waits in the backlog of a process.
fn is_pending(socket: &Socket, process: usize) -> bool {
    let server = &socket.sides[1];
    server.process == process && server.connection.is_none() && socket.reported && !socket.failed
}
