//! Generation of small programs: two or three ranks, few operations.
//!
//! The family selects the operations, so that each freedom meets each other one. The programs may
//! be stuck, and messages may stay without receives.

use super::family::Family;
use super::program::{
    Accepts, Access, Communicator, FreedomOp, FreedomProgram, Operation, RankedCall, SendMode,
    SentMessage, Stripes,
};
use crate::choices::Choices;

/// Returns a program of one of the families.
pub(super) fn generate_program(families: &[Family], choices: &mut Choices<'_>) -> FreedomProgram {
    let family = choices.pick(families);
    let ranks = choices.pick(&[2, 3, 3]);
    let mut draft = Draft {
        family,
        lists: vec![Vec::new(); ranks],
        late: vec![None; ranks],
    };
    let elements = 3 + choices.index(3);
    for _ in 0..elements {
        if let Some(element) = choices.enter() {
            draft.add_element(choices);
            choices.leave_element(element);
        }
    }
    for rank in 0..ranks {
        draft.push_delayed(rank);
    }
    draft.close_windows();
    FreedomProgram::from_ops(family, draft.lists)
}

/// A program under construction.
struct Draft {
    family: Family,
    lists: Vec<Vec<FreedomOp>>,
    /// An operation that comes after the next one of the rank.
    late: Vec<Option<FreedomOp>>,
}

/// Requests of `MPI_Waitsome` and `MPI_Testsome`: of more requests the model checker does not
/// explore all sets, and says so.
const SOME_MAX: usize = 3;

/// Calls that complete requests.
const COMPLETIONS: u64 = 9;

impl Draft {
    fn add_element(&mut self, choices: &mut Choices<'_>) {
        let family = match self.family {
            Family::Mixtures => choices.pick(&MIXED),
            family => family,
        };
        match family {
            Family::WindowLocks if choices.once_in(4) => self.add_message(family, choices),
            Family::WindowLocks => self.add_lock(choices),
            Family::WindowFences => self.add_fences(choices),
            Family::WindowPosts => self.add_posts(choices),
            Family::Partitioned => self.add_partitions(choices),
            Family::Sendrecv if choices.index(2) == 0 => self.add_sendrecv(choices),
            Family::Sendrecv if choices.once_in(3) => self.add_exchange(choices),
            Family::Collectives
            | Family::RootedCollectives
            | Family::Constructors
            | Family::StartedCollectives
                if choices.index(2) == 0 =>
            {
                self.add_call(family, choices);
            }
            Family::TwoCommunicators | Family::InterCommunicators if choices.once_in(4) => {
                self.add_call(family, choices);
            }
            Family::Probes | Family::ProbesOfAny if choices.index(2) == 0 => {
                self.add_probe(family, choices);
            }
            Family::Cancel if choices.index(2) == 0 => self.add_cancelled(choices),
            Family::Polling if choices.index(2) == 0 => self.add_poll(family, choices),
            _ if choices.index(5) < 2 => self.add_look(family, choices),
            _ => self.add_message(family, choices),
        }
    }

    /// Appends an operation, and then the late one.
    fn push_op(&mut self, rank: usize, op: FreedomOp) {
        self.lists[rank].push(op);
        self.push_delayed(rank);
    }

    fn push_delayed(&mut self, rank: usize) {
        let late = self.late[rank].take();
        self.lists[rank].extend(late);
    }

    /// Appends an operation, perhaps after the next one.
    fn push_late(&mut self, rank: usize, op: FreedomOp, choices: &mut Choices<'_>) {
        if choices.once_in(5) && self.late[rank].is_none() {
            self.late[rank] = Some(op);
        } else {
            self.push_op(rank, op);
        }
    }

    fn other_rank(&self, rank: usize, choices: &mut Choices<'_>) -> usize {
        let count = self.lists.len();
        (rank + 1 + choices.index(count - 1)) % count
    }

    /// Returns two ranks that can exchange messages on a communicator, mostly to rank 0.
    fn pair_of_ranks(&self, comm: Communicator, choices: &mut Choices<'_>) -> (usize, usize) {
        let is_any = choices.index(3) == 0;
        let from = choices.index(self.lists.len());
        let to = self.other_rank(from, choices);
        match comm {
            Communicator::Inter if from != 0 => (from, 0),
            Communicator::Inter => (from, to),
            _ if is_any || from == 0 => (from, to),
            _ => (from, 0),
        }
    }

    fn draw_communicator(family: Family, choices: &mut Choices<'_>) -> Communicator {
        match family {
            Family::TwoCommunicators => {
                choices.pick(&[Communicator::World, Communicator::Duplicate])
            }
            Family::InterCommunicators => choices.pick(&[
                Communicator::Inter,
                Communicator::Inter,
                Communicator::World,
            ]),
            _ => Communicator::World,
        }
    }

    /// Adds a send, and mostly a receive at the destination.
    fn add_message(&mut self, family: Family, choices: &mut Choices<'_>) {
        let comm = Self::draw_communicator(family, choices);
        let (from, to) = self.pair_of_ranks(comm, choices);
        let tag =
            u32::from(choices.once_in(3) && matches!(family, Family::Tags | Family::ProbesOfAny));
        let mode = match family {
            Family::SynchronousSends => SendMode::Synchronous,
            Family::StandardSends => SendMode::Standard,
            Family::BufferedSends => choices.pick(&[SendMode::Buffered, SendMode::Standard]),
            _ => choices.pick(&[
                SendMode::Standard,
                SendMode::Standard,
                SendMode::Synchronous,
                SendMode::Buffered,
            ]),
        };
        let message = SentMessage {
            comm,
            to,
            tag,
            mode,
        };
        let accepts = Accepts {
            comm,
            from: (choices.index(3) == 0).then_some(from),
            tag: (choices.index(3) != 0).then_some(tag),
        };
        let is_persistent = family == Family::Persistent;
        let sends = match choices.index(3) {
            0 => FreedomOp::Send(message),
            2 if is_persistent => FreedomOp::SendInit(message),
            _ => FreedomOp::Isend(message),
        };
        self.add_start(from, sends, choices);
        let receives = match choices.index(3) {
            0 => FreedomOp::Recv(accepts),
            2 if is_persistent => FreedomOp::RecvInit(accepts),
            _ => FreedomOp::Irecv(accepts),
        };
        if !choices.once_in(12) {
            self.add_start(to, receives, choices);
        }
    }

    /// Adds an operation, and the start of a persistent one.
    fn add_start(&mut self, rank: usize, op: FreedomOp, choices: &mut Choices<'_>) {
        if matches!(op, FreedomOp::SendInit(_) | FreedomOp::RecvInit(_)) {
            let place = self.lists[rank].len();
            self.push_op(rank, op);
            self.push_op(rank, FreedomOp::Start(place));
        } else {
            self.push_late(rank, op, choices);
        }
    }

    /// Adds messages of two ranks to each other, each sent before the other one is received.
    fn add_exchange(&mut self, choices: &mut Choices<'_>) {
        let (one, other) = self.pair_of_ranks(Communicator::World, choices);
        let place = self.lists[one].len();
        self.push_op(one, FreedomOp::Isend(to_rank(other, SendMode::Standard)));
        self.push_op(one, FreedomOp::Test(place));
        self.push_op(one, FreedomOp::Wait(place));
        self.push_op(other, FreedomOp::Send(to_rank(one, SendMode::Standard)));
        self.push_op(one, FreedomOp::Recv(from_rank(Some(other))));
        self.push_op(other, FreedomOp::Recv(from_rank(Some(one))));
    }

    fn add_sendrecv(&mut self, choices: &mut Choices<'_>) {
        let (from, to) = self.pair_of_ranks(Communicator::World, choices);
        for (rank, peer) in [(from, to), (to, from)] {
            let message = to_rank(peer, SendMode::Standard);
            let accepts = from_rank((choices.index(2) == 0).then_some(peer));
            self.push_late(rank, FreedomOp::Sendrecv(message, accepts), choices);
        }
    }

    /// Adds a call of all ranks.
    fn add_call(&mut self, family: Family, choices: &mut Choices<'_>) {
        let comm = Self::draw_communicator(family, choices);
        let between = [
            Operation::Barrier,
            Operation::Bcast,
            Operation::Reduce,
            Operation::Allreduce,
        ];
        let operation = match family {
            Family::Constructors => {
                choices.pick(&[Operation::Dup, Operation::Create, Operation::Split])
            }
            Family::InterCommunicators => choices.pick(&between),
            Family::RootedCollectives => choices.pick(&ROOTED),
            Family::StartedCollectives if choices.index(2) == 0 => choices.pick(&ROOTED),
            _ => choices.pick(&REGULAR),
        };
        let is_regular = matches!(family, Family::Collectives | Family::TwoCommunicators);
        let call = RankedCall {
            comm,
            operation,
            root: choices.index(self.lists.len()),
            is_empty: choices.once_in(4) && !is_regular,
        };
        let is_started = match (family, operation) {
            (_, Operation::Create | Operation::Split) => false,
            (Family::StartedCollectives, _) => choices.index(4) != 0,
            (Family::Collectives | Family::RootedCollectives, _) => false,
            _ => choices.index(3) == 0,
        };
        for rank in 0..self.lists.len() {
            let op = match is_started {
                true => FreedomOp::Icollective(call),
                false => FreedomOp::Collective(call),
            };
            self.push_op(rank, op);
        }
    }

    /// Returns the messages that a probe accepts.
    fn draw_accepts(
        &self,
        family: Family,
        (rank, comm): (usize, Communicator),
        choices: &mut Choices<'_>,
    ) -> Accepts {
        let other = self.other_rank(rank, choices);
        let from = match comm {
            Communicator::Inter if rank != 0 => 0,
            _ => other,
        };
        let is_any = family == Family::ProbesOfAny && choices.index(2) == 1;
        let has_tag = matches!(family, Family::Tags | Family::ProbesOfAny);
        let tag = (has_tag && choices.once_in(3)).then(|| u32::from(choices.index(2) == 1));
        Accepts {
            comm,
            from: (!is_any).then_some(from),
            tag,
        }
    }

    /// Returns a rank, mostly 0.
    fn probing_rank(&self, choices: &mut Choices<'_>) -> usize {
        match choices.index(3) {
            0 => choices.index(self.lists.len()),
            _ => 0,
        }
    }

    fn add_probe(&mut self, family: Family, choices: &mut Choices<'_>) {
        let rank = self.probing_rank(choices);
        let accepts = self.draw_accepts(family, (rank, Communicator::World), choices);
        let op = match choices.index(4) {
            0 => FreedomOp::Probe(accepts),
            1 => FreedomOp::Iprobe(accepts),
            2 => FreedomOp::Mprobe(accepts),
            _ => FreedomOp::Improbe(accepts),
        };
        let takes = matches!(op, FreedomOp::Mprobe(_) | FreedomOp::Improbe(_));
        let place = self.lists[rank].len();
        self.push_op(rank, op);
        if takes && choices.index(2) == 0 {
            self.push_late(rank, FreedomOp::Mrecv(place), choices);
        }
    }

    /// Adds a message, and a receive that is cancelled.
    fn add_cancelled(&mut self, choices: &mut Choices<'_>) {
        let (from, to) = self.pair_of_ranks(Communicator::World, choices);
        let accepts = from_rank((choices.index(2) == 0).then_some(from));
        let place = self.lists[to].len();
        self.push_op(to, FreedomOp::Irecv(accepts));
        let mode = choices.pick(&[
            SendMode::Standard,
            SendMode::Synchronous,
            SendMode::Buffered,
        ]);
        if choices.index(3) != 0 {
            self.push_late(from, FreedomOp::Isend(to_rank(to, mode)), choices);
        }
        self.push_late(to, FreedomOp::Cancel(place), choices);
    }

    /// Adds a look that is repeated.
    fn add_poll(&mut self, family: Family, choices: &mut Choices<'_>) {
        let rank = self.probing_rank(choices);
        let started = self.started_places(rank);
        let (which, times) = (choices.draw_below(8), 2 + choices.index(2));
        let accepts = self.draw_accepts(family, (rank, Communicator::World), choices);
        let op = match started.get(which as usize % started.len().max(1)) {
            Some(place) => FreedomOp::Test(*place),
            None => FreedomOp::Iprobe(accepts),
        };
        for _ in 0..times {
            self.push_op(rank, op.clone());
        }
    }

    /// Returns the places of the requests of a rank that were not given up.
    fn started_places(&self, rank: usize) -> Vec<usize> {
        let list = &self.lists[rank];
        let is_freed = |place: &usize| list.contains(&FreedomOp::Free(*place));
        let places = 0..list.len();
        places
            .filter(|place| list[*place].makes_request() && !is_freed(place))
            .collect()
    }

    /// Adds an operation on the requests of a rank, or a probe.
    fn add_look(&mut self, family: Family, choices: &mut Choices<'_>) {
        let mut ranks: Vec<usize> = (0..self.lists.len()).collect();
        if ranks
            .iter()
            .any(|rank| !self.started_places(*rank).is_empty())
        {
            ranks.retain(|rank| !self.started_places(*rank).is_empty());
        }
        let rank = choices.pick(&ranks);
        let started = self.started_places(rank);
        let comm = Self::draw_communicator(family, choices);
        let accepts = self.draw_accepts(family, (rank, comm), choices);
        let (kind, which) = (choices.draw_below(COMPLETIONS), choices.draw_below(8));
        if started.is_empty() && kind > 2 {
            self.add_message(family, choices);
            return;
        }
        let Some(&place) = started.get(which as usize % started.len().max(1)) else {
            self.push_op(
                rank,
                match kind % 2 {
                    0 => FreedomOp::Iprobe(accepts),
                    _ => FreedomOp::Probe(accepts),
                },
            );
            return;
        };
        let made = self.lists[rank][place].clone();
        let is_call = matches!(made, FreedomOp::Icollective(_));
        let is_persistent = matches!(made, FreedomOp::SendInit(_) | FreedomOp::RecvInit(_));
        if family == Family::RequestFree && !is_call && choices.index(2) == 0 {
            self.push_op(rank, FreedomOp::Free(place));
            return;
        }
        if family == Family::GetStatus && choices.index(2) == 0 {
            self.push_op(rank, FreedomOp::GetStatus(place));
            return;
        }
        if family == Family::Persistent && is_persistent && choices.index(2) == 0 {
            self.push_op(rank, FreedomOp::Wait(place));
            self.push_op(rank, FreedomOp::Start(place));
            return;
        }
        let some = || started.iter().copied().take(SOME_MAX).collect();
        self.push_op(
            rank,
            match kind {
                0 | 1 => FreedomOp::Test(place),
                2 => FreedomOp::Wait(place),
                3 => FreedomOp::Waitany(started),
                4 => FreedomOp::Testany(started),
                5 => FreedomOp::Testall(started),
                6 => FreedomOp::Waitsome(some()),
                7 => FreedomOp::Testsome(some()),
                _ => FreedomOp::Waitall(started),
            },
        );
    }

    /// Adds a message in partitions, with looks at them.
    fn add_partitions(&mut self, choices: &mut Choices<'_>) {
        let (from, to) = self.pair_of_ranks(Communicator::World, choices);
        if choices.once_in(3) {
            self.add_message(Family::Mixtures, choices);
            return;
        }
        let stripes = |peer: usize| Stripes { peer, tag: 5 };
        let (sent, received) = (self.lists[from].len(), self.lists[to].len());
        let first = choices.index(2);
        self.push_op(from, FreedomOp::PsendInit(stripes(to)));
        self.push_op(from, FreedomOp::Start(sent));
        self.push_op(from, FreedomOp::Pready(sent, first));
        self.push_op(from, FreedomOp::Pready(sent, 1 - first));
        self.push_op(to, FreedomOp::PrecvInit(stripes(from)));
        self.push_op(to, FreedomOp::Start(received));
        for _ in 0..choices.index(3) {
            let part = choices.index(2);
            self.push_op(to, FreedomOp::Parrived(received, part));
        }
        if choices.index(2) == 0 {
            self.push_op(to, FreedomOp::Test(received));
        }
        if choices.index(2) == 0 {
            self.push_op(from, FreedomOp::Test(sent));
        }
    }

    fn draw_access(&self, origin: usize, target: usize, choices: &mut Choices<'_>) -> Access {
        let value = 1 + 32 * origin + self.lists[origin].len();
        Access {
            target,
            cell: usize::from(choices.once_in(3)),
            value: u32::try_from(value).unwrap_or(u32::MAX),
        }
    }

    fn add_lock(&mut self, choices: &mut Choices<'_>) {
        let origin = choices.index(self.lists.len());
        let target = choices.index(self.lists.len());
        self.push_op(origin, FreedomOp::Lock(target, choices.index(2) == 1));
        for _ in 0..=choices.index(2) {
            let access = self.draw_access(origin, target, choices);
            let op = match choices.index(3) {
                0 => FreedomOp::Replace(access),
                _ => FreedomOp::Swap(access),
            };
            self.lists[origin].push(op);
        }
        self.push_op(origin, FreedomOp::Unlock(target));
    }

    /// Adds a fence, accesses, or a message.
    fn add_fences(&mut self, choices: &mut Choices<'_>) {
        let has_fence = self.lists[0].contains(&FreedomOp::Fence);
        if !has_fence || choices.once_in(4) {
            for rank in 0..self.lists.len() {
                self.push_op(rank, FreedomOp::Fence);
            }
        }
        if choices.index(2) == 0 {
            self.add_message(Family::Mixtures, choices);
            return;
        }
        let (origin, target) = self.pair_of_ranks(Communicator::World, choices);
        let access = self.draw_access(origin, target, choices);
        self.push_op(origin, FreedomOp::Replace(access));
    }

    /// Adds an exposure and an access, or a message.
    fn add_posts(&mut self, choices: &mut Choices<'_>) {
        let (origin, target) = self.pair_of_ranks(Communicator::World, choices);
        if choices.once_in(3) {
            self.add_message(Family::Mixtures, choices);
            return;
        }
        self.push_op(target, FreedomOp::Post(origin));
        self.push_op(origin, FreedomOp::Open(target));
        let access = self.draw_access(origin, target, choices);
        self.push_op(origin, FreedomOp::Replace(access));
        self.push_op(origin, FreedomOp::Complete);
        if choices.index(2) == 0 {
            self.push_op(target, FreedomOp::TestWindow);
        }
        self.push_op(target, FreedomOp::WaitWindow);
    }

    /// Ends the last epoch of fences.
    fn close_windows(&mut self) {
        if self.lists[0].contains(&FreedomOp::Fence) {
            for list in &mut self.lists {
                list.push(FreedomOp::Fence);
            }
        }
    }
}

/// A message of tag 0 in the world.
const fn to_rank(to: usize, mode: SendMode) -> SentMessage {
    SentMessage {
        comm: Communicator::World,
        to,
        tag: 0,
        mode,
    }
}

/// Messages of any tag in the world.
const fn from_rank(from: Option<usize>) -> Accepts {
    Accepts {
        comm: Communicator::World,
        from,
        tag: None,
    }
}

/// Calls that each rank leaves when all have called.
const REGULAR: [Operation; 4] = [
    Operation::Barrier,
    Operation::Allreduce,
    Operation::Allgather,
    Operation::Alltoall,
];

/// Calls that some ranks may leave before all have called.
const ROOTED: [Operation; 6] = [
    Operation::Bcast,
    Operation::Scatter,
    Operation::Reduce,
    Operation::Gather,
    Operation::Scan,
    Operation::Exscan,
];

/// Families that give mixtures their operations.
const MIXED: [Family; 8] = [
    Family::StandardSends,
    Family::SynchronousSends,
    Family::BufferedSends,
    Family::Sendrecv,
    Family::Persistent,
    Family::Probes,
    Family::ProbesOfAny,
    Family::Polling,
];
