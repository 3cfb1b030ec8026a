//! Generation of programs of work requests.
//!
//! A third of the programs has a connection that fails, in a round in which one side alone sends on
//! it. What the model refuses is drawn again.

use std::collections::BTreeSet;

use sim_core::Stream;

use super::layout::{COUNTERS, TARGET};
use super::program::{
    Connection, FAULTS_MAX, INLINE_MAX, PSN_MAX, PacketFault, PacketFaultKind, RETRY_MAX, Receive,
    Request, RequestFault, RequestKind, Round, TargetAccess, VerbsProgram,
};
use crate::FuzzProgram;

/// Draws a program.
pub(super) fn generate(stream: &mut Stream) -> VerbsProgram {
    loop {
        let program = draw(stream);
        if program.validate().is_ok() {
            return program;
        }
    }
}

/// A way in which a connection fails.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Failure {
    /// A request has a mistake.
    Fault(RequestFault),
    /// The target region lacks a right.
    NoRight,
    /// A receive is too short.
    ShortReceive,
    /// No receive is posted, and retries are limited.
    NoReceive,
}

const FAILURES: [Failure; 7] = [
    Failure::Fault(RequestFault::WrongRkey),
    Failure::Fault(RequestFault::OutOfRange),
    Failure::Fault(RequestFault::Unaligned),
    Failure::Fault(RequestFault::WrongLkey),
    Failure::NoRight,
    Failure::ShortReceive,
    Failure::NoReceive,
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

fn below(stream: &mut Stream, limit: u32) -> u32 {
    stream.below(limit.into()) as u32
}

fn pick<T: Copy>(stream: &mut Stream, all: &[T]) -> T {
    all[below(stream, all.len() as u32) as usize]
}

fn is_one_of(stream: &mut Stream, limit: u32) -> bool {
    below(stream, limit) == 0
}

fn draw(stream: &mut Stream) -> VerbsProgram {
    let count = 1 + below(stream, 3) as usize;
    let failing = is_one_of(stream, 3).then(|| {
        let connection = below(stream, count as u32) as usize;
        (connection, pick(stream, &FAILURES))
    });
    let mut program = VerbsProgram {
        version: VerbsProgram::VERSION,
        mtu: pick(stream, &[256, 512, 1024]),
        connections: Vec::new(),
        rounds: Vec::new(),
        faults: Vec::new(),
    };
    for number in 0..count {
        let failure = failing.filter(|(one, _)| *one == number);
        let connection = connection(stream, failure.map(|(_, failure)| failure));
        program.connections.push(connection);
    }
    for _ in 0..1 + below(stream, 3) {
        program.rounds.push(Round::default());
        for connection in 0..count {
            append_requests(&mut program, stream, connection);
        }
    }
    if let Some((failing, failure)) = failing {
        program.rounds.push(Round::default());
        for connection in (0..count).filter(|one| *one != failing) {
            append_requests(&mut program, stream, connection);
        }
        let side = below(stream, 2) as usize;
        append_failure(&mut program, stream, (failing, side), failure);
        if is_one_of(stream, 2) {
            program.rounds.push(Round::default());
            let side = below(stream, 2) as usize;
            append_request(&mut program, stream, (failing, side));
        }
    }
    set_signaled(&mut program);
    set_receive_lengths(&mut program, stream);
    if let Some((connection, Failure::ShortReceive)) = failing {
        shorten_receive(&mut program, connection);
    }
    append_faults(&mut program, stream, failing.map(|(failing, _)| failing));
    program
}

fn connection(stream: &mut Stream, failure: Option<Failure>) -> Connection {
    let mut access = TargetAccess::ALL;
    if failure == Some(Failure::NoRight) {
        match below(stream, 3) {
            0 => access.write = false,
            1 => access.read = false,
            _ => access.atomic = false,
        }
    }
    // Half of them soon have packet sequence numbers that wrap.
    let psn = if is_one_of(stream, 2) {
        PSN_MAX - below(stream, 12)
    } else {
        below(stream, PSN_MAX)
    };
    let is_limited = failure == Some(Failure::NoReceive);
    Connection {
        psn,
        max_rd_atomic: 1 + below(stream, 4) as u8,
        // Retries of both kinds are counted apart.
        retry_cnt: if is_limited {
            1 + below(stream, 2) as u8
        } else {
            RETRY_MAX
        },
        rnr_retry: if is_limited {
            below(stream, 4) as u8
        } else {
            7
        },
        access,
    }
}

/// The most requests of a side in a round on a connection. \[choice\]
const REQUESTS_MAX: u32 = 4;

/// Appends requests of one or both sides to the last round.
fn append_requests(program: &mut VerbsProgram, stream: &mut Stream, connection: usize) {
    for side in [0, 1] {
        if !is_one_of(stream, 3) {
            for _ in 0..1 + below(stream, REQUESTS_MAX) {
                append_request(program, stream, (connection, side));
            }
        }
    }
}

/// Appends a request to the last round, and its receive to that round or to an earlier one; or, if
/// retries are not limited, to none.
fn append_request(program: &mut VerbsProgram, stream: &mut Stream, place: (usize, usize)) {
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
    let kind = pick(stream, &kinds);
    let request = request(program.mtu, stream, place, kind);
    let is_late = connection.rnr_retry == 7 && is_one_of(stream, 12);
    push(program, request, !is_late);
    if is_late && kind.consumes_receive() && is_one_of(stream, 2) {
        // In a round of its own.
        program.rounds.push(Round::default());
        push_receive(program, place);
    }
}

fn push(program: &mut VerbsProgram, request: Request, has_receive: bool) {
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
    stream: &mut Stream,
    (connection, side): (usize, usize),
    kind: RequestKind,
) -> Request {
    let random = below(stream, 2 * mtu);
    let length = if kind.is_atomic() {
        8
    } else {
        let about_mtu = [mtu - 1, mtu, mtu + 1, 2 * mtu, 3 * mtu + 5];
        let lengths = [0, 1, 8, random, pick(stream, &about_mtu)];
        pick(stream, &lengths)
    };
    let offset = if kind.is_atomic() {
        8 * below(stream, COUNTERS / 8)
    } else if !kind.has_target() {
        0
    } else if is_one_of(stream, 2) {
        below(stream, COUNTERS)
    } else {
        below(stream, TARGET - length)
    };
    let is_inline = !kind.returns_data() && length <= INLINE_MAX && is_one_of(stream, 2);
    Request {
        connection,
        side,
        kind,
        length,
        offset,
        value: match kind {
            RequestKind::SendWithImm | RequestKind::WriteWithImm => stream.bits() as u32,
            RequestKind::FetchAdd | RequestKind::CompareSwap => 1 + below(stream, 3),
            _ => 0,
        },
        compare: if kind == RequestKind::CompareSwap {
            below(stream, 3)
        } else {
            0
        },
        unsignaled: is_one_of(stream, 4),
        fence: is_one_of(stream, 4),
        solicited: kind.consumes_receive() && is_one_of(stream, 4),
        inline: is_inline,
        fault: None,
    }
}

/// Appends requests of which one fails.
fn append_failure(
    program: &mut VerbsProgram,
    stream: &mut Stream,
    place: (usize, usize),
    failure: Failure,
) {
    let is_first = failure == Failure::Fault(RequestFault::WrongLkey);
    let before = if is_first { 0 } else { below(stream, 3) };
    for _ in 0..before {
        append_request(program, stream, place);
    }
    let access = program.connections[place.0].access;
    let kinds: &[RequestKind] = match failure {
        Failure::Fault(RequestFault::WrongRkey | RequestFault::OutOfRange) => &KINDS[2..],
        Failure::Fault(RequestFault::Unaligned) => &KINDS[5..],
        Failure::Fault(RequestFault::WrongLkey) => &KINDS[..4],
        Failure::NoRight if !access.write => &KINDS[2..4],
        Failure::NoRight if !access.read => &KINDS[4..5],
        Failure::NoRight => &KINDS[5..],
        Failure::ShortReceive => &KINDS[..2],
        Failure::NoReceive => &[
            RequestKind::Send,
            RequestKind::SendWithImm,
            RequestKind::WriteWithImm,
        ],
    };
    let kind = pick(stream, kinds);
    let mut request = request(program.mtu, stream, place, kind);
    if let Failure::Fault(fault) = failure {
        request.fault = Some(fault);
        request.inline &= fault != RequestFault::WrongLkey;
    }
    push(program, request, failure != Failure::NoReceive);
    for _ in 0..below(stream, 3) {
        append_request(program, stream, place);
    }
}

/// Gives the last request of each side in a round a completion.
pub(super) fn set_signaled(program: &mut VerbsProgram) {
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
    let requests = program.requests(connection, 1 - side);
    let messages = requests.filter(|request| request.kind.consumes_receive());
    let length = |request: &Request| match request.kind {
        RequestKind::WriteWithImm => 0,
        _ => request.length,
    };
    messages.map(length).collect()
}

/// Makes each receive as long as its message, or a little longer.
fn set_receive_lengths(program: &mut VerbsProgram, stream: &mut Stream) {
    for connection in 0..program.connections.len() {
        for side in [0, 1] {
            let lengths = message_lengths(program, connection, side);
            for (at, receive) in receives_of(program, connection, side).enumerate() {
                let length = lengths.get(at).copied().unwrap_or(8);
                receive.length = (length + pick(stream, &[0, 0, 8])).min(TARGET);
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
fn append_faults(program: &mut VerbsProgram, stream: &mut Stream, failing: Option<usize>) {
    use PacketFaultKind::{Delay, Duplicate, Loss};
    for _ in 0..below(stream, FAULTS_MAX as u32 + 1) {
        let connection = below(stream, program.connections.len() as u32) as usize;
        let kind = pick(stream, &[Loss, Loss, Duplicate, Delay]);
        program.faults.push(PacketFault {
            connection,
            side: below(stream, 2) as usize,
            packet: below(stream, PACKETS),
            kind: if failing == Some(connection) {
                Duplicate
            } else {
                kind
            },
        });
    }
}

/// Packets of a side among which one has a fault. \[choice\]
const PACKETS: u32 = 16;
