//! Smaller programs of work requests.
//!
//! Requests that are removed take the numbers of later packets with them, so that a fault of the
//! network meets the same packet, and packet sequence numbers wrap where they did. A program that
//! the model refuses is not tried.

use super::generate::set_signaled;
use super::program::{
    Connection, PSN_MAX, RETRY_MAX, Receive, Request, RequestKind, TargetAccess, VerbsProgram,
};

/// Functions that return smaller programs, the smallest first.
pub(super) const PHASES: [fn(&VerbsProgram) -> Vec<VerbsProgram>; 10] = [
    without_connection,
    without_round,
    without_request,
    without_receive,
    without_fault,
    with_plain_write,
    with_shorter_request,
    with_plain_request,
    with_plain_connection,
    with_earlier_fault,
];

/// Returns the programs that differ from `program` by a change at a place below `count`.
fn changed(
    program: &VerbsProgram,
    count: usize,
    change: impl Fn(&mut VerbsProgram, usize),
) -> Vec<VerbsProgram> {
    let one = |at| {
        let mut smaller = program.clone();
        change(&mut smaller, at);
        set_signaled(&mut smaller);
        smaller
    };
    let all = (0..count).map(one);
    all.filter(|smaller| smaller != program).collect()
}

fn without_connection(program: &VerbsProgram) -> Vec<VerbsProgram> {
    let count = program.connections.len();
    changed(program, count, |smaller, gone| {
        let number = |number: &mut usize| {
            let stays = *number != gone;
            *number -= usize::from(*number > gone);
            stays
        };
        smaller.connections.remove(gone);
        for round in &mut smaller.rounds {
            round.requests.retain_mut(|one| number(&mut one.connection));
            round.receives.retain_mut(|one| number(&mut one.connection));
        }
        smaller.faults.retain_mut(|one| number(&mut one.connection));
    })
}

/// Returns the programs without a round, then those in which a round is part of the one before it.
fn without_round(program: &VerbsProgram) -> Vec<VerbsProgram> {
    let count = program.rounds.len();
    changed(program, 2 * count, |smaller, at| {
        let round = smaller.rounds.remove(at % count);
        if at > count {
            let before = &mut smaller.rounds[at - count - 1];
            before.requests.extend(round.requests);
            before.receives.extend(round.receives);
        }
    })
}

/// Places of all requests.
fn requests(program: &VerbsProgram) -> Vec<(usize, usize)> {
    let rounds = program.rounds.iter().enumerate();
    rounds
        .flat_map(|(round, one)| (0..one.requests.len()).map(move |at| (round, at)))
        .collect()
}

/// Returns the programs without a request, with and without its receive, and with and without
/// earlier faults of the network and later packet sequence numbers.
fn without_request(program: &VerbsProgram) -> Vec<VerbsProgram> {
    let places = requests(program);
    changed(program, 4 * places.len(), |smaller, at| {
        let (round, place) = places[at / 4];
        let request = smaller.rounds[round].requests.remove(place);
        if at % 2 == 0 && request.kind.consumes_receive() {
            remove_receive(smaller, &request, message(program, (round, place)));
        }
        if at % 4 >= 2 {
            let packets = request.length.div_ceil(program.mtu).max(1);
            let psn = &mut smaller.connections[request.connection].psn;
            if *psn >= PSN_MAX / 2 {
                *psn = (*psn + packets).min(PSN_MAX);
            }
            for fault in &mut smaller.faults {
                if fault.connection == request.connection {
                    let is_data =
                        (fault.side == request.side) != (request.kind == RequestKind::Read);
                    let gone = if is_data { packets } else { 1 };
                    fault.packet = fault.packet.saturating_sub(gone);
                }
            }
        }
    })
}

/// Returns the number of the message that a request sends, among those of its side.
fn message(program: &VerbsProgram, (round, place): (usize, usize)) -> usize {
    let request = &program.rounds[round].requests[place];
    let before = program.rounds[..round].iter();
    let before = before.flat_map(|round| &round.requests);
    let before = before.chain(&program.rounds[round].requests[..place]);
    let is_same = |one: &&Request| {
        (one.connection, one.side) == (request.connection, request.side)
            && one.kind.consumes_receive()
    };
    before.filter(is_same).count()
}

/// Returns the programs in which a write has no immediate data, and no receive.
fn with_plain_write(program: &VerbsProgram) -> Vec<VerbsProgram> {
    let places = requests(program);
    changed(program, places.len(), |smaller, at| {
        let (round, place) = places[at];
        let request = &mut smaller.rounds[round].requests[place];
        if request.kind == RequestKind::WriteWithImm {
            (request.kind, request.value) = (RequestKind::Write, 0);
            let request = *request;
            remove_receive(smaller, &request, message(program, places[at]));
        }
    })
}

/// Removes the receive of a message with a number.
fn remove_receive(program: &mut VerbsProgram, request: &Request, number: usize) {
    let mut seen = 0;
    for round in &mut program.rounds {
        round.receives.retain(|one| {
            let side = (one.connection, 1 - one.side);
            let is_same = side == (request.connection, request.side);
            seen += usize::from(is_same);
            !is_same || seen != number + 1
        });
    }
}

/// Calls a function with the receive of a number.
fn receive_at(
    program: &mut VerbsProgram,
    mut at: usize,
    change: impl Fn(&mut Vec<Receive>, usize),
) {
    for round in &mut program.rounds {
        if at < round.receives.len() {
            change(&mut round.receives, at);
            return;
        }
        at -= round.receives.len();
    }
}

fn receives(program: &VerbsProgram) -> usize {
    let rounds = program.rounds.iter();
    rounds.map(|round| round.receives.len()).sum()
}

fn without_receive(program: &VerbsProgram) -> Vec<VerbsProgram> {
    changed(program, receives(program), |smaller, at| {
        receive_at(smaller, at, |receives, at| {
            receives.remove(at);
        });
    })
}

fn without_fault(program: &VerbsProgram) -> Vec<VerbsProgram> {
    changed(program, program.faults.len(), |smaller, at| {
        smaller.faults.remove(at);
    })
}

/// Returns the programs in which a request or a receive is shorter.
fn with_shorter_request(program: &VerbsProgram) -> Vec<VerbsProgram> {
    let places = requests(program);
    let lengths = [0, 1, 8, program.mtu, program.mtu + 1];
    let shorter = |length: &mut u32, at: usize| {
        *length = (*length).min(lengths.get(at).copied().unwrap_or(*length / 2));
    };
    let choices = lengths.len() + 1;
    let mut all = changed(program, choices * places.len(), |smaller, at| {
        let (round, place) = places[at / choices];
        let request = &mut smaller.rounds[round].requests[place];
        if !request.kind.is_atomic() {
            shorter(&mut request.length, at % choices);
        }
    });
    all.extend(changed(
        program,
        choices * receives(program),
        |smaller, at| {
            receive_at(smaller, at / choices, |receives, place| {
                shorter(&mut receives[place].length, at % choices);
            });
        },
    ));
    all
}

/// Changes of a request.
const PLAIN: [fn(&mut Request); 10] = [
    |request| request.fault = None,
    |request| request.fence = false,
    |request| request.unsignaled = false,
    |request| request.solicited = false,
    |request| request.inline = false,
    |request| request.offset = 0,
    |request| request.value = request.value.min(1),
    |request| request.value = 0,
    |request| request.compare = 0,
    |request| {
        if request.kind == RequestKind::SendWithImm {
            (request.kind, request.value) = (RequestKind::Send, 0);
        }
    },
];

fn with_plain_request(program: &VerbsProgram) -> Vec<VerbsProgram> {
    let places = requests(program);
    changed(program, PLAIN.len() * places.len(), |smaller, at| {
        let (round, place) = places[at / PLAIN.len()];
        PLAIN[at % PLAIN.len()](&mut smaller.rounds[round].requests[place]);
    })
}

/// Changes of a connection.
const PLAIN_CONNECTION: [fn(&mut Connection); 5] = [
    |connection| connection.psn = 0,
    |connection| connection.max_rd_atomic = 1,
    |connection| connection.retry_cnt = RETRY_MAX,
    |connection| connection.rnr_retry = 7,
    |connection| connection.access = TargetAccess::ALL,
];

/// Returns the programs in which a connection has the usual attributes, and with the least MTU.
fn with_plain_connection(program: &VerbsProgram) -> Vec<VerbsProgram> {
    let choices = PLAIN_CONNECTION.len();
    let count = choices * program.connections.len();
    let mut all = changed(program, count, |smaller, at| {
        PLAIN_CONNECTION[at % choices](&mut smaller.connections[at / choices]);
    });
    all.extend(changed(program, 1, |smaller, _| smaller.mtu = 256));
    all
}

fn with_earlier_fault(program: &VerbsProgram) -> Vec<VerbsProgram> {
    changed(program, 3 * program.faults.len(), |smaller, at| {
        let packet = &mut smaller.faults[at / 3].packet;
        *packet = match at % 3 {
            0 => 0,
            1 => *packet / 2,
            _ => packet.saturating_sub(1),
        };
    })
}
