//! Promise: the enumerator finds as many outcomes as a count on paper; the model checker finds the
//! same ones for the families that hold; a defect of the search is found and shrunk.

use crate::{check_failure, check_texts};
use std::ops::ControlFlow;

use explore::SeededDefect;
use fuzz::freedoms::{
    Accepts, Access, Communicator, Family, FreedomLayer, FreedomOp, FreedomProgram, Operation,
    RankedCall, SendMode, SentMessage, StatedBounds, Stripes, c_program, enumerate_outcomes,
};
use fuzz::{Comparison, FuzzProgram, LayerLimits, LayerReport, compare, layer_campaign};
use mpi::{ProtocolDefect, with_protocol_defect};

use FreedomOp::{
    Cancel, Collective, Complete, Fence, Free, GetStatus, Icollective, Improbe, Iprobe, Irecv,
    Isend, Lock, Mrecv, Open, Parrived, Post, Pready, PrecvInit, Probe, PsendInit, Recv, RecvInit,
    Replace, Send, SendInit, Sendrecv, Start, Swap, Test, TestWindow, Testall, Testany, Testsome,
    Unlock, Wait, WaitWindow, Waitall, Waitany, Waitsome,
};

const ANY: Accepts = Accepts {
    comm: Communicator::World,
    from: None,
    tag: None,
};

const fn from(rank: usize) -> Accepts {
    Accepts {
        from: Some(rank),
        ..ANY
    }
}

const fn message(to: usize, mode: SendMode) -> SentMessage {
    SentMessage {
        comm: Communicator::World,
        to,
        tag: 0,
        mode,
    }
}

const fn standard(to: usize) -> FreedomOp {
    Send(message(to, SendMode::Standard))
}

const fn synchronous(to: usize) -> FreedomOp {
    Send(message(to, SendMode::Synchronous))
}

const fn call(operation: Operation) -> RankedCall {
    RankedCall {
        comm: Communicator::World,
        operation,
        root: 0,
        is_empty: false,
    }
}

const fn empty(operation: Operation) -> RankedCall {
    RankedCall {
        is_empty: true,
        ..call(operation)
    }
}

const fn access(target: usize, cell: usize, value: u32) -> Access {
    Access {
        target,
        cell,
        value,
    }
}

/// Returns the number of outcomes, and true if the program can be stuck.
fn outcomes(ranks: Vec<Vec<FreedomOp>>) -> (usize, bool) {
    let program = FreedomProgram::from_ops(Family::Mixtures, ranks);
    assert_eq!(program.validate(), Ok(()));
    let outcomes =
        enumerate_outcomes(&program, StatedBounds::default(), 1_000_000).expect("few states");
    (outcomes.completing.len(), outcomes.has_deadlock)
}

#[test]
fn a_fan_in_has_each_order() {
    for (senders, orders) in [(1, 1), (2, 2), (3, 6)] {
        let mut ranks = vec![vec![Recv(ANY); senders]];
        ranks.resize(senders + 1, vec![standard(0)]);
        assert_eq!(outcomes(ranks), (orders, false));
    }
    let receives: Vec<FreedomOp> = (1..4).map(|rank| Irecv(from(rank))).collect();
    let waits = vec![Waitany(vec![0, 1, 2]); 3];
    let mut ranks = vec![[receives, waits].concat()];
    ranks.resize(4, vec![standard(0)]);
    assert_eq!(outcomes(ranks), (6, false));
}

/// Messages of one sender keep their order where a receive accepts both.
#[test]
fn messages_do_not_overtake() {
    let tagged = |tag| {
        Send(SentMessage {
            tag,
            ..message(0, SendMode::Standard)
        })
    };
    let accepts = |tag| {
        Recv(Accepts {
            tag: Some(tag),
            ..ANY
        })
    };
    let in_order = vec![vec![Recv(ANY), Recv(ANY)], vec![tagged(0), tagged(1)]];
    assert_eq!(outcomes(in_order), (1, false));
    // The first send can have no buffer.
    let tags = vec![vec![accepts(1), accepts(0)], vec![tagged(0), tagged(1)]];
    assert_eq!(outcomes(tags), (1, true));
}

#[test]
fn sends_wait_for_their_receives_or_not() {
    let head_to_head = |send: fn(usize) -> FreedomOp| {
        outcomes(vec![vec![send(1), Recv(ANY)], vec![send(0), Recv(ANY)]])
    };
    assert_eq!(head_to_head(standard), (1, true));
    assert_eq!(head_to_head(synchronous), (0, true));
    assert_eq!(
        head_to_head(|to| Send(message(to, SendMode::Buffered))),
        (1, false)
    );
    let sendrecv = |to| vec![Sendrecv(message(to, SendMode::Standard), from(to))];
    assert_eq!(outcomes(vec![sendrecv(1), sendrecv(0)]), (1, false));
    // The attached buffer is detached at the end.
    let buffered = vec![Isend(message(1, SendMode::Buffered))];
    assert_eq!(outcomes(vec![buffered, vec![]]), (1, true));
}

/// No may be the answer until yes has been.
#[test]
fn looks_say_no_until_they_have_said_yes() {
    let after = |looks: Vec<FreedomOp>| {
        let receiver = [vec![Irecv(ANY)], looks].concat();
        outcomes(vec![receiver, vec![synchronous(0)]])
    };
    assert_eq!(after(vec![Test(0)]), (2, false));
    assert_eq!(after(vec![Test(0), Test(0)]), (3, false));
    assert_eq!(after(vec![GetStatus(0), Test(0)]), (3, false));
    assert_eq!(after(vec![GetStatus(0), Testany(vec![0])]), (3, false));
    assert_eq!(after(vec![Testall(vec![0]), Testsome(vec![0])]), (3, false));
    let probed = |looks: Vec<FreedomOp>| {
        let receiver = [looks, vec![Recv(ANY)]].concat();
        outcomes(vec![receiver, vec![synchronous(0)]])
    };
    assert_eq!(probed(vec![Iprobe(ANY), Iprobe(ANY)]), (3, false));
    assert_eq!(probed(vec![Probe(ANY), Iprobe(ANY)]), (1, false));
    let sender = vec![Isend(message(1, SendMode::Synchronous)), Test(0), Test(0)];
    assert_eq!(outcomes(vec![sender, vec![Recv(ANY)]]), (3, false));
}

/// A matched probe takes the message from all receives; `MPI_Mrecv` ends a synchronous send.
#[test]
fn a_matched_probe_takes_the_message() {
    let taken = vec![Improbe(ANY), Mrecv(0)];
    assert_eq!(outcomes(vec![taken, vec![synchronous(0)]]), (1, true));
    let taken = vec![Improbe(ANY), Mrecv(0), Recv(ANY)];
    assert_eq!(
        outcomes(vec![taken, vec![standard(0), standard(0)]]),
        (2, true)
    );
}

#[test]
fn some_are_each_subset() {
    let receives = |then: FreedomOp| {
        let receiver = vec![Irecv(from(1)), Irecv(from(2)), then];
        outcomes(vec![receiver, vec![standard(0)], vec![standard(0)]])
    };
    assert_eq!(receives(Waitsome(vec![0, 1])), (3, false));
    assert_eq!(receives(Testsome(vec![0, 1])), (4, false));
    assert_eq!(receives(Waitall(vec![0, 1])), (1, false));
    assert_eq!(receives(Testany(vec![0, 1])), (3, false));
}

#[test]
fn a_cancelled_receive_may_have_its_message() {
    let cancelled = vec![Irecv(ANY), Cancel(0), Wait(0)];
    let buffered = Send(message(0, SendMode::Standard));
    assert_eq!(outcomes(vec![cancelled.clone(), vec![]]), (1, false));
    assert_eq!(outcomes(vec![cancelled.clone(), vec![buffered]]), (2, true));
    // A receive behind the probe that saw the message has the message.
    let probed = vec![Probe(ANY), Irecv(ANY), Cancel(1), Wait(1)];
    assert_eq!(outcomes(vec![probed, vec![synchronous(0)]]), (1, false));
}

/// A freed receive takes the first message all the same.
#[test]
fn freed_requests_complete() {
    let receiver = vec![Irecv(from(1)), Free(0), Recv(from(1))];
    let sender = vec![synchronous(0), synchronous(0)];
    assert_eq!(outcomes(vec![receiver, sender]), (1, false));
    let sender = vec![Isend(message(1, SendMode::Synchronous)), Free(0)];
    assert_eq!(outcomes(vec![sender, vec![Recv(ANY)]]), (1, false));
}

#[test]
fn persistent_requests_start_again() {
    let again = vec![Start(0), Wait(0), Start(0), Wait(0), Test(0)];
    let sender = [
        vec![SendInit(message(1, SendMode::Standard))],
        again.clone(),
    ]
    .concat();
    let receiver = [vec![RecvInit(ANY)], again].concat();
    assert_eq!(outcomes(vec![sender, receiver]), (1, false));
}

/// Rank 2 gets the messages in each order only if rank 0 leaves the call before rank 1 calls.
#[test]
fn ranks_leave_calls_with_their_data() {
    use Operation as O;
    let orders = |one: FreedomOp| {
        outcomes(vec![
            vec![one.clone(), standard(2)],
            vec![standard(2), one.clone()],
            vec![Recv(ANY), Recv(ANY), one],
        ])
    };
    for operation in [O::Barrier, O::Allreduce, O::Alltoall, O::Split, O::Reduce] {
        assert_eq!(orders(Collective(call(operation))), (0, true));
    }
    for operation in [O::Bcast, O::Scatter, O::Scan, O::Exscan, O::Dup, O::Create] {
        assert_eq!(orders(Collective(call(operation))), (2, true));
    }
    assert_eq!(orders(Collective(empty(Operation::Allreduce))), (2, true));
    assert_eq!(orders(Collective(empty(Operation::Barrier))), (0, true));
    // Started calls wait at the end only.
    let (found, _) = orders(Icollective(call(Operation::Barrier)));
    assert_eq!(found, 2);
}

#[test]
fn groups_of_an_inter_communicator_need_each_other() {
    let barrier = Collective(RankedCall {
        comm: Communicator::Inter,
        ..call(Operation::Barrier)
    });
    // Rank 1 needs rank 0 alone; rank 0 needs both.
    let others = |first: FreedomOp| {
        outcomes(vec![
            vec![first.clone()],
            vec![first.clone(), standard(2)],
            vec![Recv(ANY), first],
        ])
    };
    assert_eq!(others(barrier), (1, true));
}

/// Partitions arrive apart.
#[test]
fn partitions_arrive_in_any_order() {
    let stripes = |peer| Stripes { peer, tag: 0 };
    let sender = vec![PsendInit(stripes(1)), Start(0), Pready(0, 0), Pready(0, 1)];
    let receiver = |looks: Vec<FreedomOp>| {
        let begin = vec![PrecvInit(stripes(0)), Start(0)];
        outcomes(vec![sender.clone(), [begin, looks].concat()])
    };
    assert_eq!(receiver(vec![]), (1, false));
    assert_eq!(receiver(vec![Parrived(0, 0), Parrived(0, 1)]), (4, false));
    assert_eq!(receiver(vec![Parrived(0, 0), Parrived(0, 0)]), (3, false));
    let both = vec![Parrived(0, 0), Parrived(0, 1), Test(0)];
    assert_eq!(receiver(both), (7, false));
}

/// Ranks with k atomic accesses each have (n k)! / (k!)^n orders, if no lock keeps them together.
#[test]
fn accesses_under_locks_have_each_order() {
    let accesses = |is_exclusive: bool, count: u32| {
        let rank = |rank: u32| {
            let swaps = (0..count).map(|number| Swap(access(0, 0, 1 + 10 * rank + number)));
            let lock = std::iter::once(Lock(0, is_exclusive)).chain(swaps);
            lock.chain([Unlock(0)]).collect()
        };
        outcomes(vec![rank(0), rank(1)])
    };
    assert_eq!(accesses(false, 1), (2, false));
    assert_eq!(accesses(false, 2), (6, false));
    assert_eq!(accesses(true, 2), (2, false));
    // Different cells are in any order: the values at the end are of each rank.
    let both = |rank: u32| {
        let [first, second] = [rank as usize, 1 - rank as usize];
        let replaces = [access(0, first, 1 + rank), access(0, second, 3 + rank)];
        let [one, two] = replaces.map(Replace);
        vec![Lock(0, false), one, two, Unlock(0)]
    };
    assert_eq!(outcomes(vec![both(0), both(1)]), (4, false));
}

/// An implementation may grant a shared lock while an exclusive one waits, or not: then the holder
/// of the first lock waits for a message that the third rank does not send.
#[test]
fn shared_locks_may_queue_behind_exclusive_ones() {
    let held = vec![Lock(0, false), Recv(ANY), Unlock(0)];
    let sender = vec![Lock(0, false), Unlock(0), standard(0)];
    let waiting = |is_exclusive| vec![Lock(0, is_exclusive), Unlock(0)];
    let ranks = |is_exclusive| vec![held.clone(), waiting(is_exclusive), sender.clone()];
    assert_eq!(outcomes(ranks(true)), (1, true));
    assert_eq!(outcomes(ranks(false)), (1, false));
    assert_eq!(efforts(ranks(true)), [(1, 0)]);
}

/// Returns the numbers of outcomes, and of outcomes beyond a stated bound, if the checker agrees.
fn efforts(ranks: Vec<Vec<FreedomOp>>) -> Vec<(u64, u64)> {
    let layer = FreedomLayer::new(&Family::ALL);
    let program = FreedomProgram::from_ops(Family::Mixtures, ranks);
    assert_eq!(compare(&layer, &program), Comparison::Same);
    let efforts = layer.efforts.borrow();
    efforts
        .iter()
        .map(|effort| (effort.outcomes, effort.bounded))
        .collect()
}

/// A bound excuses only the outcomes beyond the bound.
#[test]
fn outcomes_beyond_a_stated_bound_are_counted() {
    let both = |begin: FreedomOp, first: usize, value: u32, end: FreedomOp| {
        let replaces = [access(0, first, value), access(0, 1 - first, value + 1)];
        let [one, two] = replaces.map(Replace);
        vec![begin, one, two, end]
    };
    let locked = |first, value| both(Lock(0, false), first, value, Unlock(0));
    assert_eq!(efforts(vec![locked(0, 1), locked(1, 3)]), [(4, 1)]);
    assert_eq!(efforts(vec![locked(0, 1), locked(0, 3)]), [(4, 0)]);
    let fenced = |first, value| both(Fence, first, value, Fence);
    let fences = vec![vec![Fence, Fence], fenced(0, 1), fenced(1, 3)];
    assert_eq!(efforts(fences), [(4, 1)]);
    let receives = |count: usize| {
        let waits = std::iter::once(Waitsome((0..count).collect()));
        let receiver = std::iter::repeat_n(Irecv(ANY), count).chain(waits);
        vec![receiver.collect(), vec![standard(0); count]]
    };
    assert_eq!(efforts(receives(3)), [(7, 0)]);
    assert_eq!(efforts(receives(4)), [(15, 10)]);
    let send = |tag: u32| match standard(0) {
        Send(message) => Send(SentMessage { tag, ..message }),
        other => other,
    };
    let first = Irecv(Accepts {
        tag: Some(0),
        ..ANY
    });
    let receiver = vec![first, Recv(ANY), Recv(from(2))];
    let ranks = vec![receiver, vec![send(0)], vec![send(1), send(0)]];
    assert_eq!(efforts(ranks), [(2, 1)]);
}

#[test]
fn fences_order_accesses() {
    let replace = |value| Replace(access(0, 0, value));
    let same_epoch = vec![
        vec![Fence, Fence],
        vec![Fence, replace(1), Fence],
        vec![Fence, replace(2), Fence],
    ];
    assert_eq!(outcomes(same_epoch), (2, false));
    let epochs = vec![
        vec![Fence, Fence, Fence],
        vec![Fence, replace(1), Fence, Fence],
        vec![Fence, Fence, replace(2), Fence],
    ];
    assert_eq!(outcomes(epochs), (1, false));
    // The first fence may wait, the second one does.
    let messages = vec![vec![Fence, standard(1)], vec![Recv(ANY), Fence]];
    assert_eq!(outcomes(messages), (1, true));
    let messages = vec![
        vec![Fence, Fence, standard(1)],
        vec![Fence, Recv(ANY), Fence],
    ];
    assert_eq!(outcomes(messages), (0, true));
}

#[test]
fn posts_permit_accesses() {
    let origin = vec![Open(1), Replace(access(1, 0, 7)), Complete, standard(1)];
    let target = |first: Vec<FreedomOp>| [first, vec![WaitWindow]].concat();
    let waits = vec![origin.clone(), target(vec![Post(0), Recv(ANY)])];
    assert_eq!(outcomes(waits), (1, false));
    // `start` and `complete` wait for the post, or not.
    let late = vec![origin.clone(), target(vec![Recv(ANY), Post(0)])];
    assert_eq!(outcomes(late), (1, true));
    let looks = vec![origin, target(vec![Post(0), TestWindow, Recv(ANY)])];
    assert_eq!(outcomes(looks), (2, false));
}

fn campaign(layer: &FreedomLayer, (seed, tries): (u64, u64)) -> LayerReport<FreedomProgram> {
    let limits = LayerLimits {
        seed,
        tries,
        errors: 5,
        examples: 1,
        shrink_budget: 1_000,
    };
    layer_campaign(layer, &limits, &mut |_| ControlFlow::Continue(()))
}

#[test]
fn the_checker_finds_all_outcomes() {
    let report = campaign(&FreedomLayer::new(&Family::ALL), (0, 100));
    assert_eq!(report.failures, []);
    assert_eq!(report.tries, 100);
    assert!(report.too_large <= 5, "{}", report.too_large);
}

/// Searches with a defect for a failure of a property. The shrunk program has at most 6 operations,
/// shrinks no further, and still differs in the same property.
fn find_defect(layer: &FreedomLayer, name: &str, property: &str) {
    let report = campaign(layer, (1, 100));
    let mut failures = report.failures.iter();
    let failure = failures.find(|failure| failure.property == property);
    check_failure(layer, failure, (&name, 6), 1_000);
}

#[test]
fn seeded_defects_of_the_search_are_found_and_shrunk() {
    for defect in [SeededDefect::NobodyChooses, SeededDefect::LatestCause] {
        let mut layer = FreedomLayer::new(&[Family::StandardSends]);
        layer.options.defect = Some(defect);
        find_defect(&layer, &format!("{defect:?}"), "outcomes-are-found");
    }
}

/// A freedom that the ranks do not have under the checker.
#[test]
fn seeded_defects_of_ranks_are_found_and_shrunk() {
    use ProtocolDefect as D;
    let (outcomes, deadlocks) = ("outcomes-are-found", "deadlocks-are-found");
    for (defect, family, property) in [
        (D::LowestIndexOnly, Family::StandardSends, outcomes),
        (D::LookSeesArrivals, Family::SynchronousSends, outcomes),
        (D::SecondNoForbidden, Family::Polling, outcomes),
        (D::CancelAlwaysWins, Family::Cancel, outcomes),
        (D::BarrierForRooted, Family::RootedCollectives, outcomes),
        (D::ConstructorsNeverWait, Family::Constructors, deadlocks),
        (D::TestedSendBuffered, Family::Sendrecv, deadlocks),
    ] {
        let (layer, name) = (FreedomLayer::new(&[family]), format!("{defect:?}"));
        with_protocol_defect(defect, || find_defect(&layer, &name, property));
    }
}

#[test]
fn a_text_is_read_as_it_was_written() {
    check_texts(&FreedomLayer::new(&Family::ALL), 400);
}

/// Each operation is a line of C with the call.
#[test]
fn a_program_in_c_has_each_call() {
    let ops = vec![
        Irecv(ANY),
        standard(1),
        Waitany(vec![0]),
        Collective(call(Operation::Bcast)),
    ];
    let other = vec![Recv(from(0)), Collective(call(Operation::Bcast))];
    let program = FreedomProgram::from_ops(Family::Mixtures, vec![ops, other]);
    let text = c_program(&program, "outcomes-are-found: none");
    for line in [
        "        MPI_Irecv(got[0], 2, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &requests[0]);\n",
        "        MPI_Send(sent[1], 2, MPI_CHAR, 1, 0, world);\n",
        "        WITH(1, MPI_Waitany(1, list, &index_, &status), 0);\n",
        "        MPI_Bcast(in, 1, MPI_LONG, 0, world);\n",
        "        MPI_Recv(got[0], 2, MPI_CHAR, 0, MPI_ANY_TAG, world, &status);\n",
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
}
