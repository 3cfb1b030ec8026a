//! Execution of programs by the message layer, and the answers that the ranks get.
//!
//! The content of a message is the rank and the place of the send. Each operation is a call at
//! another source line: the model checker takes looks of one line for a loop.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::LazyLock;

use mpi::{Completion, NativeLocation, Source, Tag, prelude::*, set_native_caller};

use super::answers;
use super::program::{
    Accepts, Access, Answer, Answers, Communicator, FreedomOp, FreedomProgram, Operation,
    RankedCall, SendMode, SentMessage, Stripes,
};

/// The answers of the latest execution.
pub(super) type AnswerLog = Rc<RefCell<Answers>>;

/// Returns the program as an object that can be started, and the log of the latest execution.
pub(super) fn as_object(program: &FreedomProgram) -> (Rc<dyn run::Program>, AnswerLog) {
    let log = AnswerLog::new(RefCell::new(vec![Vec::new(); program.ranks.len()]));
    let (shared, program) = (Rc::clone(&log), Rc::new(program.clone()));
    let start = move |world: Comm| {
        let (log, program, rank) = (Rc::clone(&shared), Rc::clone(&program), world.rank());
        log.borrow_mut()[rank].clear();
        async move {
            let mut player = Player::new(&program, world).await?;
            for (place, op) in program.ranks[rank].iter().enumerate() {
                let answer = player.act_on(place, op).await?;
                log.borrow_mut()[rank].push(answer);
            }
            let rest = player.finish_requests().await?;
            log.borrow_mut()[rank].push(rest);
            if let Some(values) = player.finish_window().await? {
                log.borrow_mut()[rank].push(values);
            }
            Ok::<_, Error>(())
        }
    };
    (Rc::new(run::RankProgram::new(start)), log)
}

/// A rank that executes operations.
struct Player<'p> {
    ops: &'p [FreedomOp],
    world: Comm,
    duplicate: Option<Comm>,
    inter: Option<InterComm>,
    window: Option<Window>,
    /// Requests by the places of the operations that have made them.
    requests: BTreeMap<usize, Request>,
    /// Messages that probes have taken, by the places of the probes.
    taken: BTreeMap<usize, (Communicator, mpi::Message)>,
    swaps: Vec<Request>,
    is_exposed: bool,
}

/// Places of one rank. \[choice\]
const LINES_PER_RANK: usize = 100;

/// Sets the source line of the calls of an operation.
fn set_line(rank: usize, place: usize) {
    static LINES: LazyLock<Vec<NativeLocation>> = LazyLock::new(|| {
        let lines = 0_u32..;
        let lines = lines.take(16 * LINES_PER_RANK);
        lines
            .map(|line| NativeLocation {
                file: "program".to_owned(),
                line,
            })
            .collect()
    });
    set_native_caller(LINES.get((rank + 1) * LINES_PER_RANK + place));
}

/// The place of the calls after all operations.
const END: usize = 64;

impl<'p> Player<'p> {
    async fn new(program: &'p FreedomProgram, world: Comm) -> Result<Self> {
        let rank = world.rank();
        set_line(rank, END + 1);
        let duplicate = match program.has_communicator(Communicator::Duplicate) {
            true => Some(world.dup().await?),
            false => None,
        };
        set_line(rank, END + 2);
        let inter = if program.has_communicator(Communicator::Inter) {
            let own = world.split(Some(u32::from(rank > 0)), 0).await?;
            set_line(rank, END + 3);
            match own {
                Some(own) => {
                    let leader = usize::from(rank == 0);
                    Some(own.intercomm_create(0, &world, leader, 0).await?)
                }
                None => None,
            }
        } else {
            None
        };
        set_line(rank, END + 4);
        let window = match program.has_window() {
            true => Some(world.window(world.buffer_from(&[0; 16]), 8).await?),
            false => None,
        };
        let ops = &program.ranks[rank];
        let is_buffered = |op: &FreedomOp| {
            matches!(op,
                FreedomOp::Send(message)
                | FreedomOp::Isend(message)
                | FreedomOp::SendInit(message)
                | FreedomOp::Sendrecv(message, _) if message.mode == SendMode::Buffered)
        };
        if ops.iter().any(is_buffered) {
            mpi_attach(&world)?;
        }
        Ok(Self {
            ops,
            world,
            duplicate,
            inter,
            window,
            requests: BTreeMap::new(),
            taken: BTreeMap::new(),
            swaps: Vec::new(),
            is_exposed: false,
        })
    }

    /// Returns the communicator of messages; sources and destinations are ranks there.
    fn comm_of(&self, comm: Communicator) -> &Comm {
        match comm {
            Communicator::World => &self.world,
            Communicator::Duplicate => self.duplicate.as_ref().unwrap_or(&self.world),
            Communicator::Inter => self.inter.as_ref().map_or(&self.world, InterComm::remote),
        }
    }

    /// Returns the rank in a communicator of a rank of the world.
    fn peer_of(&self, comm: Communicator, rank: usize) -> usize {
        if comm == Communicator::Inter && self.world.rank() == 0 {
            rank.saturating_sub(1)
        } else {
            rank
        }
    }

    /// Returns the rank in the world of a source in a communicator.
    fn source_of(&self, comm: Communicator, source: usize) -> usize {
        if comm == Communicator::Inter && self.world.rank() == 0 {
            source + 1
        } else {
            source
        }
    }

    fn pattern_of(&self, accepts: Accepts) -> (Source, Tag) {
        let rank = |from| Source::Rank(self.peer_of(accepts.comm, from));
        (
            accepts.from.map_or(ANY_SOURCE, rank),
            accepts.tag.map_or(ANY_TAG, Tag::Is),
        )
    }

    fn content_of(&self, place: usize) -> Buffer {
        let byte = |number: usize| u8::try_from(number).unwrap_or(u8::MAX);
        self.world
            .buffer_from(&[byte(self.world.rank()), byte(place)])
    }

    fn seen_answer(&self, comm: Communicator, status: Status) -> Answer {
        answers::tell_seen(self.source_of(comm, status.source), status.tag)
    }

    /// Returns the answer of a completed operation of a place.
    fn completed_answer(&self, place: usize, done: &Completion) -> Answer {
        if done.status.cancelled {
            return answers::tell_cancelled();
        }
        match (self.ops[place].is_receive(), done.buffer.bytes()) {
            (true, Some(bytes)) => received_answer(bytes),
            _ => answers::tell_done(),
        }
    }

    /// Executes an operation.
    async fn act_on(&mut self, place: usize, op: &FreedomOp) -> Result<Answer> {
        set_line(self.world.rank(), place);
        if op.uses_window() {
            return self.act_on_window(op).await;
        }
        Ok(match op {
            FreedomOp::Send(message) => {
                self.send_message(place, *message).await?;
                answers::tell_done()
            }
            FreedomOp::Isend(message) => {
                let request = self.start_send(place, *message)?;
                self.keep_request(place, request)
            }
            FreedomOp::SendInit(message) => {
                let mode = match message.mode {
                    SendMode::Standard => mpi::SendMode::Standard,
                    SendMode::Synchronous => mpi::SendMode::Synchronous,
                    SendMode::Buffered => mpi::SendMode::Buffered,
                };
                let (comm, to) = (
                    self.comm_of(message.comm),
                    self.peer_of(message.comm, message.to),
                );
                let request = comm.send_init(mode, self.content_of(place), to, message.tag);
                self.keep_request(place, request)
            }
            FreedomOp::Sendrecv(message, accepts) => {
                let (source, tag) = self.pattern_of(*accepts);
                let content = self.content_of(place);
                let mut room = self.world.buffer_from(&[0; 2]);
                let to = self.peer_of(message.comm, message.to);
                self.comm_of(message.comm)
                    .sendrecv(&content, to, message.tag, &mut room, source, tag)
                    .await?;
                received_answer(room.bytes().unwrap_or_default())
            }
            FreedomOp::Collective(call) => {
                self.make_call(*call, false).await?;
                answers::tell_done()
            }
            FreedomOp::Icollective(call) => match self.make_call(*call, true).await? {
                Some(request) => self.keep_request(place, request),
                None => answers::tell_done(),
            },
            FreedomOp::PsendInit(stripes) | FreedomOp::PrecvInit(stripes) => {
                let request = self.init_partitions(op, *stripes)?;
                self.keep_request(place, request)
            }
            FreedomOp::Recv(_) | FreedomOp::Irecv(_) | FreedomOp::RecvInit(_) => {
                self.receive_message(place, op).await?
            }
            FreedomOp::Probe(_)
            | FreedomOp::Iprobe(_)
            | FreedomOp::Mprobe(_)
            | FreedomOp::Improbe(_)
            | FreedomOp::Mrecv(_) => self.probe_message(place, op).await?,
            _ => self.act_on_requests(op).await?,
        })
    }

    /// Executes a receive.
    async fn receive_message(&mut self, place: usize, op: &FreedomOp) -> Result<Answer> {
        Ok(match op {
            FreedomOp::Recv(accepts) => {
                let (source, tag) = self.pattern_of(*accepts);
                let mut room = self.world.buffer_from(&[0; 2]);
                self.comm_of(accepts.comm)
                    .recv(&mut room, source, tag)
                    .await?;
                received_answer(room.bytes().unwrap_or_default())
            }
            FreedomOp::Irecv(accepts) => {
                let (source, tag) = self.pattern_of(*accepts);
                let room = self.world.buffer_from(&[0; 2]);
                let request = self.comm_of(accepts.comm).irecv(room, source, tag)?;
                self.keep_request(place, request)
            }
            FreedomOp::RecvInit(accepts) => {
                let (source, tag) = self.pattern_of(*accepts);
                let room = self.world.buffer_from(&[0; 2]);
                let request = self.comm_of(accepts.comm).recv_init(room, source, tag);
                self.keep_request(place, request)
            }
            _ => answers::tell_inactive(),
        })
    }

    /// Executes a probe, or the receive of a message that a probe has taken.
    async fn probe_message(&mut self, place: usize, op: &FreedomOp) -> Result<Answer> {
        Ok(match op {
            FreedomOp::Probe(accepts) => {
                let (source, tag) = self.pattern_of(*accepts);
                let status = self.comm_of(accepts.comm).probe(source, tag).await?;
                self.seen_answer(accepts.comm, status)
            }
            FreedomOp::Iprobe(accepts) => {
                let (source, tag) = self.pattern_of(*accepts);
                let status = self.comm_of(accepts.comm).iprobe(source, tag).await?;
                status.map_or_else(answers::tell_no, |status| {
                    self.seen_answer(accepts.comm, status)
                })
            }
            FreedomOp::Mprobe(accepts) => {
                let (source, tag) = self.pattern_of(*accepts);
                let message = self.comm_of(accepts.comm).mprobe(source, tag).await?;
                self.keep_message(place, accepts.comm, message)
            }
            FreedomOp::Improbe(accepts) => {
                let (source, tag) = self.pattern_of(*accepts);
                match self.comm_of(accepts.comm).improbe(source, tag).await? {
                    Some(message) => self.keep_message(place, accepts.comm, message),
                    None => answers::tell_no(),
                }
            }
            FreedomOp::Mrecv(probe) => match self.taken.remove(probe) {
                Some((_, message)) => {
                    let room = self.world.buffer_from(&[0; 2]);
                    received_answer(message.recv(room).await?.buffer.bytes().unwrap_or_default())
                }
                None => answers::tell_inactive(),
            },
            _ => answers::tell_inactive(),
        })
    }

    /// Initialises a message in partitions.
    fn init_partitions(&self, op: &FreedomOp, stripes: Stripes) -> Result<Request> {
        let (buffer, peer, tag) = (self.world.buffer(16), stripes.peer, stripes.tag);
        match op {
            FreedomOp::PsendInit(_) => self.world.psend_init(buffer, 2, peer, tag),
            _ => self.world.precv_init(buffer, 2, peer, tag),
        }
    }

    fn keep_request(&mut self, place: usize, request: Request) -> Answer {
        self.requests.insert(place, request);
        answers::tell_done()
    }

    fn keep_message(&mut self, place: usize, comm: Communicator, message: mpi::Message) -> Answer {
        let answer = self.seen_answer(comm, message.status());
        self.taken.insert(place, (comm, message));
        answer
    }

    async fn send_message(&self, place: usize, message: SentMessage) -> Result<()> {
        let (comm, content) = (self.comm_of(message.comm), self.content_of(place));
        let (to, tag) = (self.peer_of(message.comm, message.to), message.tag);
        match message.mode {
            SendMode::Standard => comm.send(&content, to, tag).await,
            SendMode::Synchronous => comm.ssend(&content, to, tag).await,
            SendMode::Buffered => comm.bsend(&content, to, tag).await,
        }
    }

    fn start_send(&self, place: usize, message: SentMessage) -> Result<Request> {
        let (comm, content) = (self.comm_of(message.comm), self.content_of(place));
        let (to, tag) = (self.peer_of(message.comm, message.to), message.tag);
        match message.mode {
            SendMode::Standard => comm.isend(content, to, tag),
            SendMode::Synchronous => comm.issend(content, to, tag),
            SendMode::Buffered => comm.ibsend(content, to, tag),
        }
    }

    /// Executes an operation on requests.
    async fn act_on_requests(&mut self, op: &FreedomOp) -> Result<Answer> {
        let list = op.places_named();
        let Some(&place) = list.first() else {
            return Ok(answers::tell_inactive());
        };
        if op.completes_requests() {
            return self.complete_requests(op).await;
        }
        if let FreedomOp::Free(_) = op {
            if let Some(request) = self.requests.remove(&place) {
                request.free();
            }
            return Ok(answers::tell_done());
        }
        let op_of_place = &self.ops[place];
        let Some(request) = self.requests.get_mut(&place) else {
            return Ok(match op {
                FreedomOp::Cancel(_) => answers::tell_done(),
                _ => answers::tell_inactive(),
            });
        };
        Ok(match op {
            FreedomOp::Start(_) => {
                request.start()?;
                answers::tell_done()
            }
            FreedomOp::Cancel(_) => {
                request.cancel().await;
                answers::tell_done()
            }
            FreedomOp::Pready(_, part) => {
                request.pready(*part)?;
                answers::tell_done()
            }
            FreedomOp::Parrived(..) | FreedomOp::GetStatus(_) if !request.is_active() => {
                answers::tell_inactive()
            }
            FreedomOp::Parrived(_, part) => match request.parrived(*part).await? {
                true => answers::tell_done(),
                false => answers::tell_no(),
            },
            FreedomOp::GetStatus(_) => match request.peek().await? {
                None => answers::tell_no(),
                Some(done) if done.status.cancelled => answers::tell_cancelled(),
                Some(done) if op_of_place.is_receive() => {
                    let comm = op_of_place.communicator_used().unwrap_or_default();
                    self.seen_answer(comm, done.status)
                }
                Some(_) => answers::tell_done(),
            },
            _ => answers::tell_inactive(),
        })
    }

    /// Executes a call that completes requests.
    async fn complete_requests(&mut self, op: &FreedomOp) -> Result<Answer> {
        let list = op.places_named();
        let mut indices = Vec::new();
        let mut active = Vec::new();
        for (index, place) in list.iter().enumerate() {
            if let Some(request) = self.requests.get(place)
                && request.is_active()
            {
                active.extend(self.requests.remove(place));
                indices.push(index);
            }
        }
        if active.is_empty() {
            return Ok(answers::tell_inactive());
        }
        let answer = |position: usize, done: &Completion| {
            self.completed_answer(list[indices[position]], done)
        };
        let at = |(position, done): (usize, Completion)| {
            answers::tell_place(indices[position], answer(position, &done))
        };
        let each = |done: Vec<Option<Completion>>| {
            let mut each = vec![answers::tell_inactive(); list.len()];
            for (position, done) in done.iter().enumerate() {
                if let Some(done) = done {
                    each[indices[position]] = answer(position, done);
                }
            }
            answers::tell_all(each)
        };
        let some = |done: mpi::Completed| -> Result<Answer> {
            let mut each = Vec::new();
            for (position, done) in done {
                each.push(at((position, done?)));
            }
            each.sort_unstable();
            Ok(answers::tell_all(each))
        };
        let told = match op {
            FreedomOp::Wait(_) => answer(0, &active[0].wait().await?),
            FreedomOp::Test(_) => {
                let done = active[0].test().await?;
                done.map_or_else(answers::tell_no, |done| answer(0, &done))
            }
            FreedomOp::Waitany(_) => waitany(&mut active)
                .await?
                .map_or_else(answers::tell_inactive, at),
            FreedomOp::Testany(_) => testany(&mut active)
                .await?
                .map_or_else(answers::tell_no, at),
            FreedomOp::Waitsome(_) => match waitsome(&mut active).await {
                Some(done) => some(done)?,
                None => answers::tell_inactive(),
            },
            FreedomOp::Testsome(_) => match testsome(&mut active).await? {
                done if done.is_empty() => answers::tell_no(),
                done => some(done)?,
            },
            FreedomOp::Waitall(_) => each(waitall(&mut active).await?),
            _ => testall(&mut active)
                .await?
                .map_or_else(answers::tell_no, each),
        };
        let places: Vec<usize> = indices.iter().map(|&index| list[index]).collect();
        let left = places.into_iter().zip(active);
        self.requests
            .extend(left.filter(|(_, request)| !request.is_null()));
        Ok(told)
    }

    /// Makes a collective call, or starts the call.
    async fn make_call(&self, call: RankedCall, is_started: bool) -> Result<Option<Request>> {
        macro_rules! begin {
            ($call:expr) => {
                if is_started {
                    return $call.start().map(Some);
                } else {
                    let _ = $call.await?;
                }
            };
        }
        let bytes = if call.is_empty { 0 } else { 8 };
        let (mut data, op) = (self.world.buffer(bytes), Op::sum::<u64>());
        if call.comm == Communicator::Inter {
            return self.call_between(call, is_started).await;
        }
        let (comm, root) = (self.comm_of(call.comm), call.root);
        let count = comm.size() as u64;
        match call.operation {
            Operation::Barrier => begin!(comm.barrier()),
            Operation::Bcast => begin!(comm.bcast(&mut data, root)),
            Operation::Scatter => {
                let all = self.world.buffer(bytes * count);
                let all = (comm.rank() == root).then_some(&all);
                begin!(comm.scatter(all, &mut data, root));
            }
            Operation::Reduce => begin!(comm.reduce(&data, &op, root)),
            Operation::Gather => begin!(comm.gather(&data, root)),
            Operation::Allreduce => begin!(comm.allreduce(&data, &op)),
            Operation::Allgather => begin!(comm.allgather(&data)),
            Operation::Alltoall => begin!(comm.alltoall(self.world.buffer(bytes * count))),
            Operation::Scan => begin!(comm.scan(&data, &op)),
            Operation::Exscan => begin!(comm.exscan(&data, &op)),
            Operation::Dup if is_started => return comm.idup().map(Some),
            Operation::Dup => drop(comm.dup().await?),
            Operation::Create => drop(comm.create(&comm.group()).await?),
            Operation::Split => drop(comm.split(Some(0), 0).await?),
        }
        Ok(None)
    }

    async fn call_between(&self, call: RankedCall, is_started: bool) -> Result<Option<Request>> {
        let Some(inter) = &self.inter else {
            return Ok(None);
        };
        let data = self.world.buffer(if call.is_empty { 0 } else { 8 });
        let rank = self.world.rank();
        let root = if rank == call.root {
            mpi::InterRoot::Root
        } else if call.comm.has_in_one_group(rank, call.root) {
            mpi::InterRoot::Null
        } else {
            mpi::InterRoot::Remote(self.peer_of(call.comm, call.root))
        };
        let op = Op::sum::<u64>();
        let call = match call.operation {
            Operation::Bcast | Operation::Scatter => inter.bcast(data, root),
            Operation::Reduce | Operation::Gather => inter.reduce(data, &op, root),
            Operation::Allreduce | Operation::Allgather => inter.allreduce(data, &op),
            _ => inter.barrier(),
        };
        if is_started {
            return call.start().map(Some);
        }
        call.await?;
        Ok(None)
    }

    async fn act_on_window(&mut self, op: &FreedomOp) -> Result<Answer> {
        let Some(window) = &self.window else {
            return Ok(answers::tell_inactive());
        };
        let value = |access: &Access| {
            self.world
                .buffer_from(&u64::from(access.value).to_le_bytes())
        };
        let replace = Op::replace::<u64>();
        let group = |rank: usize| self.world.group().incl(&[rank]);
        match op {
            FreedomOp::Lock(target, is_exclusive) => window.lock(*target, *is_exclusive).await?,
            FreedomOp::Unlock(target) => {
                window.unlock(*target).await?;
                let mut old = Vec::new();
                for mut swap in self.swaps.drain(..) {
                    let done = swap.wait().await?;
                    old.extend(cell_values(done.buffer.bytes().unwrap_or_default()));
                }
                return Ok(answers::tell_values(old));
            }
            FreedomOp::Replace(access) => {
                let (place, value) = (access.cell as u64, value(access));
                window
                    .accumulate(&value, access.target, place, &replace)
                    .await?;
            }
            FreedomOp::Swap(access) => {
                let (place, value) = (access.cell as u64, value(access));
                let swap = window.rget_accumulate(&value, access.target, place, &replace);
                self.swaps.push(swap.await?);
            }
            FreedomOp::Fence => window.fence().await?,
            FreedomOp::Post(origin) => {
                self.is_exposed = true;
                window.post(&group(*origin)?).await?;
            }
            FreedomOp::TestWindow if !self.is_exposed => return Ok(answers::tell_inactive()),
            FreedomOp::WaitWindow if !self.is_exposed => {}
            FreedomOp::Open(target) => window.start(&group(*target)?).await?,
            FreedomOp::Complete => window.complete().await?,
            FreedomOp::WaitWindow => {
                self.is_exposed = false;
                window.wait().await?;
            }
            _ => {
                self.is_exposed = !window.test().await?;
                return Ok(match self.is_exposed {
                    false => answers::tell_done(),
                    true => answers::tell_no(),
                });
            }
        }
        Ok(answers::tell_done())
    }

    /// Receives all taken messages and waits for all active requests.
    async fn finish_requests(&mut self) -> Result<Answer> {
        let rank = self.world.rank();
        set_line(rank, END);
        for (_, (_, message)) in std::mem::take(&mut self.taken) {
            set_line(rank, END);
            message.recv(self.world.buffer_from(&[0; 2])).await?;
        }
        let mut rest = Vec::new();
        for (place, mut request) in std::mem::take(&mut self.requests) {
            if request.is_active() {
                set_line(rank, END + 10 + place);
                let done = request.wait().await?;
                rest.push(self.completed_answer(place, &done));
            }
        }
        Ok(answers::tell_all(rest))
    }

    /// Gives the window up, and returns the values there.
    async fn finish_window(&mut self) -> Result<Option<Answer>> {
        let Some(window) = self.window.take() else {
            return Ok(None);
        };
        set_line(self.world.rank(), END + 5);
        let memory = window.free().await?;
        Ok(Some(answers::tell_values(cell_values(
            memory.bytes().unwrap_or_default(),
        ))))
    }
}

/// Returns the answer of a receive with this content.
fn received_answer(bytes: &[u8]) -> Answer {
    match *bytes {
        [rank, place, ..] => answers::tell_message(rank.into(), place.into()),
        _ => answers::tell_done(),
    }
}

/// Returns the values of cells.
fn cell_values(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks(8).map(|cell| u32::from(cell[0])).collect()
}

/// Gives a rank room for all buffered sends.
fn mpi_attach(world: &Comm) -> Result<()> {
    world.buffer_attach(world.buffer(1 << 12))
}
