//! Generation of programs of work requests.
//!
//! A third of the programs has a connection that fails, in a round in which only one side sends on
//! this connection. A program that the model refuses is drawn again.

use std::collections::BTreeSet;

use super::layout::{COUNTERS, TARGET};
use super::program::{
    Connection, FAULTS_MAX, INLINE_MAX, PSN_MAX, PacketFault, PacketFaultKind, RETRY_MAX, Receive,
    Request, RequestFault, RequestKind, Round, TargetAccess, VerbsProgram,
};
use crate::FuzzProgram;
use crate::choices::Choices;

/// Draws a program.
pub(super) fn generate_program(choices: &mut Choices<'_>) -> VerbsProgram {
    loop {
        choices.restart();
        let program = draw_program(choices);
        if choices.are_given() || program.validate().is_ok() {
            return program;
        }
    }
}

/// A way in which a connection fails.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ConnectionFailure {
    /// A request has a mistake.
    Fault(RequestFault),
    /// The target region lacks a right.
    NoRight,
    /// A receive is too short.
    ShortReceive,
    /// No receive is posted, and retries are limited.
    NoReceive,
}

const FAILURES: [ConnectionFailure; 7] = [
    ConnectionFailure::Fault(RequestFault::WrongRkey),
    ConnectionFailure::Fault(RequestFault::OutOfRange),
    ConnectionFailure::Fault(RequestFault::Unaligned),
    ConnectionFailure::Fault(RequestFault::WrongLkey),
    ConnectionFailure::NoRight,
    ConnectionFailure::ShortReceive,
    ConnectionFailure::NoReceive,
];

const KINDS: [RequestKind; 7] = [
    RequestKind::Send,
    RequestKind::SendWithImm,
    RequestKind::Write,
    RequestKind::WriteWithImm,
    RequestKind::Read,
    RequestKind::FetchAdd,
    RequestKind::CompareSwap,
];

fn draw_below(choices: &mut Choices<'_>, limit: u32) -> u32 {
    choices.draw_below(limit.into()) as u32
}

fn draw_program(choices: &mut Choices<'_>) -> VerbsProgram {
    let count = 1 + choices.index(3);
    let failing = choices.enter_if(|stream| stream.below(3) == 0);
    let failing = failing.map(|element| {
        let failing = (choices.index(count), choices.pick(&FAILURES));
        choices.leave_element(element);
        (element, failing)
    });
    let mut program = VerbsProgram {
        version: VerbsProgram::VERSION,
        mtu: choices.pick(&[256, 512, 1024]),
        connections: Vec::new(),
        rounds: Vec::new(),
        faults: Vec::new(),
    };
    for number in 0..count {
        let failure = failing.filter(|(_, (one, _))| *one == number);
        let failure = failure.map(|(_, (_, failure))| failure);
        program.connections.push(draw_connection(choices, failure));
    }
    for _ in 0..=draw_below(choices, 3) {
        append_round(&mut program, choices);
        for connection in 0..count {
            append_requests(&mut program, choices, connection);
        }
    }
    if let Some((element, (failing, failure))) = failing {
        let element = choices.enter_again(element);
        append_round(&mut program, choices);
        for connection in (0..count).filter(|one| *one != failing) {
            append_requests(&mut program, choices, connection);
        }
        let side = choices.index(2);
        append_failure(&mut program, choices, (failing, side), failure);
        if choices.once_in(2) {
            append_round(&mut program, choices);
            let side = choices.index(2);
            append_request(&mut program, choices, (failing, side));
        }
        choices.leave_element(element);
    }
    let failing = failing.map(|(_, failing)| failing);
    set_signaled(&mut program);
    set_receive_lengths(&mut program, choices);
    if let Some((connection, ConnectionFailure::ShortReceive)) = failing {
        shorten_receive(&mut program, connection);
    }
    append_faults(&mut program, choices, failing.map(|(failing, _)| failing));
    if choices.fixed(1, 2) == 0 {
        remove_unused(&mut program);
    }
    program
}

/// Removes rounds without requests and receives, and connections that have none.
fn remove_unused(program: &mut VerbsProgram) {
    let is_used = |round: &Round| !round.requests.is_empty() || !round.receives.is_empty();
    program.rounds.retain(is_used);
    for gone in (0..program.connections.len()).rev() {
        let sides = [0, 1].into_iter();
        let count =
            |side| program.requests((gone, side)).count() + program.receives((gone, side)).count();
        if sides.map(count).sum::<usize>() > 0 {
            continue;
        }
        program.connections.remove(gone);
        program.faults.retain(|fault| fault.connection != gone);
        let rounds = program.rounds.iter_mut();
        let requests = rounds.flat_map(|round| {
            let requests = round.requests.iter_mut().map(|one| &mut one.connection);
            requests.chain(round.receives.iter_mut().map(|one| &mut one.connection))
        });
        let faults = program.faults.iter_mut().map(|one| &mut one.connection);
        for number in requests.chain(faults) {
            *number -= usize::from(*number > gone);
        }
    }
}

fn draw_connection(choices: &mut Choices<'_>, failure: Option<ConnectionFailure>) -> Connection {
    let mut access = TargetAccess::ALL;
    if failure == Some(ConnectionFailure::NoRight) {
        match draw_below(choices, 3) {
            0 => access.write = false,
            1 => access.read = false,
            _ => access.atomic = false,
        }
    }
    // Half of them soon have packet sequence numbers that wrap.
    let psn = if choices.once_in(2) {
        PSN_MAX - draw_below(choices, 12)
    } else {
        draw_below(choices, PSN_MAX)
    };
    let is_limited = failure == Some(ConnectionFailure::NoReceive);
    Connection {
        psn,
        max_rd_atomic: 1 + draw_below(choices, 4) as u8,
        // Retries of both kinds are counted apart.
        retry_cnt: if is_limited {
            1 + draw_below(choices, 2) as u8
        } else {
            RETRY_MAX
        },
        rnr_retry: if is_limited {
            draw_below(choices, 4) as u8
        } else {
            7
        },
        access,
    }
}

/// The most requests of a side in a round on a connection. \[choice\]
const REQUESTS_MAX: u32 = 4;

/// Appends requests of one or both sides to the last round.
fn append_requests(program: &mut VerbsProgram, choices: &mut Choices<'_>, connection: usize) {
    for side in [0, 1] {
        if let Some(element) = choices.enter_if(|stream| stream.below(3) != 0) {
            for _ in 0..=draw_below(choices, REQUESTS_MAX) {
                append_request(program, choices, (connection, side));
            }
            choices.leave_element(element);
        }
    }
}

/// Appends a request to the last round, and its receive to that round or to a later round of the
/// receive alone; or, if retries are not limited, appends no receive.
fn append_request(program: &mut VerbsProgram, choices: &mut Choices<'_>, place: (usize, usize)) {
    let Some(element) = choices.enter() else {
        return;
    };
    let connection = program.connections[place.0];
    let kinds = KINDS.iter().copied();
    let kinds: Vec<RequestKind> = kinds
        .filter(|kind| match kind {
            RequestKind::Write | RequestKind::WriteWithImm => connection.access.write,
            RequestKind::Read => connection.access.read,
            RequestKind::FetchAdd | RequestKind::CompareSwap => connection.access.atomic,
            RequestKind::Send | RequestKind::SendWithImm => true,
        })
        .collect();
    let kind = choices.pick(&kinds);
    let request = request(program.mtu, choices, place, kind);
    let may_be_late = connection.rnr_retry == 7;
    let is_late = choices.is_if(may_be_late, |stream| stream.below(12) == 0);
    let may_be_alone = is_late && kind.consumes_receive();
    push_request(program, request, !is_late);
    if choices.is_if(may_be_alone, |stream| stream.below(2) == 0) {
        // In a round of its own.
        program.rounds.push(Round::default());
        push_receive(program, place);
    }
    choices.leave_element(element);
}

/// Begins a round, unless the choice is that the last one continues.
fn append_round(program: &mut VerbsProgram, choices: &mut Choices<'_>) {
    if choices.fixed(1, 2) == 1 || program.rounds.is_empty() {
        program.rounds.push(Round::default());
    }
}

fn push_request(program: &mut VerbsProgram, request: Request, has_receive: bool) {
    if has_receive && request.kind.consumes_receive() {
        push_receive(program, (request.connection, request.side));
    }
    if let Some(round) = program.rounds.last_mut() {
        round.requests.push(request);
    }
}

fn push_receive(program: &mut VerbsProgram, (connection, side): (usize, usize)) {
    if let Some(round) = program.rounds.last_mut() {
        round.receives.push(Receive {
            connection,
            side: 1 - side,
            length: 0,
        });
    }
}

fn request(
    mtu: u32,
    choices: &mut Choices<'_>,
    (connection, side): (usize, usize),
    kind: RequestKind,
) -> Request {
    let is_atomic = kind.is_atomic();
    let about_mtu = [mtu - 1, mtu, mtu + 1, 2 * mtu, 3 * mtu + 5];
    let random = draw_below(choices, 2 * mtu);
    let about_mtu = about_mtu[choices.below_if(!is_atomic, 5) as usize];
    let lengths = [0, 1, 8, random, about_mtu];
    let length = lengths[choices.below_if(!is_atomic, 5) as usize];
    let length = if is_atomic { 8 } else { length };
    let is_low = choices.is_if(kind.has_target() && !is_atomic, |stream| {
        stream.below(2) == 0
    });
    let (unit, places) = match (is_atomic, is_low) {
        (true, _) => (8, COUNTERS / 8),
        (_, true) => (1, COUNTERS),
        (_, false) => (1, TARGET - length),
    };
    let offset = unit * choices.below_if(kind.has_target(), places.into()) as u32;
    let is_short = !kind.returns_data() && length <= INLINE_MAX;
    Request {
        connection,
        side,
        kind,
        length,
        offset,
        inline: choices.is_if(is_short, |stream| stream.below(2) == 0),
        value: match kind {
            RequestKind::SendWithImm | RequestKind::WriteWithImm => choices.bits() as u32,
            _ if is_atomic => 1 + draw_below(choices, 3),
            _ => choices.below_if(false, 1) as u32,
        },
        compare: choices.below_if(kind == RequestKind::CompareSwap, 3) as u32,
        unsignaled: choices.once_in(4),
        fence: choices.once_in(4),
        solicited: choices.is_if(kind.consumes_receive(), |stream| stream.below(4) == 0),
        fault: None,
    }
}

/// Appends requests of which one fails.
fn append_failure(
    program: &mut VerbsProgram,
    choices: &mut Choices<'_>,
    place: (usize, usize),
    failure: ConnectionFailure,
) {
    let is_first = failure == ConnectionFailure::Fault(RequestFault::WrongLkey);
    let before = if is_first { 0 } else { draw_below(choices, 3) };
    for _ in 0..before {
        append_request(program, choices, place);
    }
    let access = program.connections[place.0].access;
    let kinds: &[RequestKind] = match failure {
        ConnectionFailure::Fault(RequestFault::WrongRkey | RequestFault::OutOfRange) => &KINDS[2..],
        ConnectionFailure::Fault(RequestFault::Unaligned) => &KINDS[5..],
        ConnectionFailure::Fault(RequestFault::WrongLkey) => &KINDS[..4],
        ConnectionFailure::NoRight if !access.write => &KINDS[2..4],
        ConnectionFailure::NoRight if !access.read => &KINDS[4..5],
        ConnectionFailure::NoRight => &KINDS[5..],
        ConnectionFailure::ShortReceive => &KINDS[..2],
        ConnectionFailure::NoReceive => &[
            RequestKind::Send,
            RequestKind::SendWithImm,
            RequestKind::WriteWithImm,
        ],
    };
    if let Some(element) = choices.enter() {
        let kind = choices.pick(kinds);
        let mut request = request(program.mtu, choices, place, kind);
        if let ConnectionFailure::Fault(fault) = failure {
            request.fault = Some(fault);
            request.inline &= fault != RequestFault::WrongLkey;
        }
        push_request(program, request, failure != ConnectionFailure::NoReceive);
        choices.leave_element(element);
    }
    for _ in 0..draw_below(choices, 3) {
        append_request(program, choices, place);
    }
}

/// Gives the last request of each side in a round a completion.
fn set_signaled(program: &mut VerbsProgram) {
    for round in &mut program.rounds {
        let mut seen = BTreeSet::new();
        for request in round.requests.iter_mut().rev() {
            if seen.insert((request.connection, request.side)) {
                request.unsignaled = false;
            }
        }
    }
}

/// Returns the lengths of the messages that a side receives on a connection, in their order.
fn message_lengths(program: &VerbsProgram, connection: usize, side: usize) -> Vec<u32> {
    let requests = program.requests((connection, 1 - side));
    let messages = requests.filter(|request| request.kind.consumes_receive());
    let length = |request: &Request| match request.kind {
        RequestKind::WriteWithImm => 0,
        _ => request.length,
    };
    messages.map(length).collect()
}

/// Makes each receive as long as its message, or a little longer.
fn set_receive_lengths(program: &mut VerbsProgram, choices: &mut Choices<'_>) {
    let rounds = program.rounds.iter();
    let count = rounds.map(|round| round.receives.len()).sum();
    let mut drawn = choices.draw_list(count, 3).into_iter();
    for connection in 0..program.connections.len() {
        for side in [0, 1] {
            let lengths = message_lengths(program, connection, side);
            for (at, receive) in receives_of(program, connection, side).enumerate() {
                let length = lengths.get(at).copied().unwrap_or(8);
                let more = if drawn.next() == Some(2) { 8 } else { 0 };
                receive.length = (length + more).min(TARGET);
            }
        }
    }
}

fn receives_of(
    program: &mut VerbsProgram,
    connection: usize,
    side: usize,
) -> impl Iterator<Item = &mut Receive> {
    let rounds = program.rounds.iter_mut();
    let receives = rounds.flat_map(|round| &mut round.receives);
    receives.filter(move |one| (one.connection, one.side) == (connection, side))
}

/// Makes the last receive that a message needs too short.
fn shorten_receive(program: &mut VerbsProgram, connection: usize) {
    for side in [0, 1] {
        let lengths = message_lengths(program, connection, side);
        let receives = receives_of(program, connection, side);
        let last = receives
            .zip(lengths)
            .filter(|(_, length)| *length > 0)
            .last();
        if let Some((receive, length)) = last {
            receive.length = length / 2;
            return;
        }
    }
}

/// Appends faults of the network. Packets of the connection that fails are not lost.
fn append_faults(program: &mut VerbsProgram, choices: &mut Choices<'_>, failing: Option<usize>) {
    use PacketFaultKind::{Delay, Duplicate, Loss};
    for _ in 0..choices.index(FAULTS_MAX + 1) {
        let Some(element) = choices.enter() else {
            continue;
        };
        let connection = choices.index(program.connections.len());
        let kind = choices.pick(&[Loss, Loss, Duplicate, Delay]);
        program.faults.push(PacketFault {
            connection,
            side: choices.index(2),
            packet: choices.fault_packet(PACKETS) as u32,
            kind: if failing == Some(connection) {
                Duplicate
            } else {
                kind
            },
        });
        choices.leave_element(element);
    }
}

/// Packets of a side among which one has a fault. \[choice\]
const PACKETS: u64 = 16;
