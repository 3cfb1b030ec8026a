//! Random small programs over all kinds of transitions, for tests that compare searches.

mod wire;

pub(crate) use wire::two_hosts;

use std::cell::RefCell;
use std::rc::Rc;

use sim_core::{
    Activity, Actor, Barrier, Condvar, HostId, Mailbox, Mutex, Semaphore, Simulation, Span,
    Stepper, Stream,
};

/// One step of an actor. Numbers name objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Send(usize),
    Receive(usize),
    Put(usize),
    PutDetached(usize),
    Get(usize),
    Probe(usize),
    Wait,
    Test,
    WaitAny,
    TestAny,
    Cancel,
    Drop,
    Lock(usize),
    LockAsync(usize),
    MutexWait(usize),
    MutexTest(usize),
    TryLock(usize),
    Unlock(usize),
    MutexCancel(usize),
    Acquire,
    Release,
    ReadSemaphore,
    Barrier,
    BarrierLeader,
    CondvarWait(usize),
    Signal,
    Broadcast,
    Random,
    Sleep,
    Yield,
    /// Does the next step only if the latest answer was odd.
    IfOdd,
    /// Fails if the latest answer was odd.
    FailIfOdd,
    /// Repeats a test of a mutex until it succeeds.
    Spin(usize),
    Spawn,
    Join,
    Kill(usize),
    Suspend(usize),
    Resume(usize),
    NewMailbox,
    PutInTime(usize),
    GetInTime(usize),
    WaitInTime,
    WaitAnyInTime,
    AcquireInTime,
    CondvarWaitInTime(usize),
    JoinInTime,
    SwitchHost(bool),
    SwitchWire(bool),
    /// Does nothing: a host or the wire of such a program may fail at any moment.
    MayFail,
    /// Does nothing: the first actor of such a program is the permanent receiver of the first
    /// mailbox.
    Receiver,
}

/// Set of steps that a program may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// Steps of nearly all programs.
    Common,
    Condvars,
    Rare,
    Actors,
    Global,
    Timeouts,
    TimedLocks,
    /// All that can be done with one mailbox.
    OneMailbox,
    /// All that can be done with one mutex and a condition variable.
    OneMutex,
    /// Hosts and a link go off and on.
    Failures,
    /// One mailbox with a permanent receiver.
    Receivers,
    /// Waits for any, cancellations, time limits and hosts that go off together.
    Mixed,
}

impl Family {
    /// All of them; the first ones are those that nearly all programs belong to.
    pub(crate) const ALL: [Self; 12] = [
        Self::Common,
        Self::Condvars,
        Self::Rare,
        Self::Actors,
        Self::Global,
        Self::Timeouts,
        Self::TimedLocks,
        Self::OneMailbox,
        Self::OneMutex,
        Self::Failures,
        Self::Receivers,
        Self::Mixed,
    ];

    fn ops(self) -> Vec<Op> {
        let (some, more): (&[Op], &[Op]) = match self {
            Self::Common => (COMMON, &[Op::FailIfOdd, Op::Sleep]),
            Self::Condvars => (LOCKS, CONDVARS),
            Self::Rare => (COMMON, RARE),
            Self::Actors => (COMMON, ACTORS),
            Self::Global => (COMMON, GLOBAL),
            Self::Timeouts => (COMMON, TIMEOUTS),
            Self::TimedLocks => (LOCKS, TIMED_LOCKS),
            Self::OneMailbox => (ONE_MAILBOX, &[]),
            Self::OneMutex => (ONE_MUTEX, &[]),
            Self::Failures => (COMMON, FAILURES),
            Self::Receivers => (RECEIVERS, &[]),
            Self::Mixed => (ONE_MAILBOX, MIXED),
        };
        some.iter().chain(more).copied().collect()
    }
}

const COMMON: &[Op] = &[
    Op::Send(0),
    Op::Receive(0),
    Op::Wait,
    Op::Test,
    Op::WaitAny,
    Op::Put(0),
    Op::Get(0),
    Op::Send(1),
    Op::Receive(1),
    Op::Lock(0),
    Op::Lock(1),
    Op::TryLock(0),
    Op::TryLock(1),
    Op::Unlock(0),
    Op::Unlock(1),
    Op::Acquire,
    Op::Release,
    Op::Barrier,
    Op::Random,
    Op::IfOdd,
];
const LOCKS: &[Op] = &[
    Op::Lock(0),
    Op::Lock(1),
    Op::Unlock(0),
    Op::Unlock(1),
    Op::Send(0),
    Op::Receive(0),
    Op::Wait,
    Op::Acquire,
];
const CONDVARS: &[Op] = &[
    Op::Lock(0),
    Op::CondvarWait(0),
    Op::Signal,
    Op::Broadcast,
    Op::Unlock(0),
    Op::Lock(0),
    Op::CondvarWait(0),
    Op::CondvarWait(1),
    Op::Signal,
];
const RARE: &[Op] = &[
    Op::Probe(0),
    Op::Probe(1),
    Op::TestAny,
    Op::Cancel,
    Op::Drop,
    Op::LockAsync(0),
    Op::MutexWait(0),
    Op::MutexTest(0),
    Op::MutexCancel(0),
    Op::LockAsync(0),
    Op::PutDetached(0),
    Op::ReadSemaphore,
    Op::BarrierLeader,
    Op::Yield,
    Op::Spin(0),
    Op::TestAny,
    Op::Cancel,
];
const ACTORS: &[Op] = &[
    Op::Spawn,
    Op::Spawn,
    Op::Join,
    Op::NewMailbox,
    Op::Join,
    Op::FailIfOdd,
];
const GLOBAL: &[Op] = &[
    Op::Kill(0),
    Op::Kill(1),
    Op::Suspend(0),
    Op::Suspend(1),
    Op::Resume(0),
    Op::Resume(1),
    Op::Spawn,
];
const TIMEOUTS: &[Op] = &[
    Op::PutInTime(0),
    Op::GetInTime(0),
    Op::GetInTime(1),
    Op::WaitInTime,
    Op::WaitAnyInTime,
    Op::AcquireInTime,
    Op::PutDetached(0),
    Op::Cancel,
    Op::TestAny,
    Op::Probe(0),
    Op::GetInTime(0),
    Op::AcquireInTime,
    Op::FailIfOdd,
];
const TIMED_LOCKS: &[Op] = &[
    Op::Lock(0),
    Op::CondvarWaitInTime(0),
    Op::Lock(1),
    Op::Lock(1),
    Op::CondvarWaitInTime(1),
    Op::CondvarWait(1),
    Op::CondvarWait(0),
    Op::Signal,
    Op::Broadcast,
    Op::MutexCancel(0),
    Op::TryLock(0),
    Op::Lock(0),
    Op::CondvarWaitInTime(0),
    Op::Signal,
    Op::AcquireInTime,
    Op::Spawn,
    Op::JoinInTime,
    Op::Join,
];
const ONE_MAILBOX: &[Op] = &[
    Op::Send(0),
    Op::Receive(0),
    Op::Send(0),
    Op::Receive(0),
    Op::Test,
    Op::TestAny,
    Op::Cancel,
    Op::Cancel,
    Op::WaitAny,
    Op::Wait,
    Op::Probe(0),
    Op::GetInTime(0),
    Op::WaitInTime,
];
const ONE_MUTEX: &[Op] = &[
    Op::Lock(0),
    Op::LockAsync(0),
    Op::LockAsync(0),
    Op::MutexTest(0),
    Op::MutexTest(0),
    Op::MutexCancel(0),
    Op::MutexWait(0),
    Op::TryLock(0),
    Op::Unlock(0),
    Op::Lock(0),
    Op::CondvarWait(0),
    Op::CondvarWait(0),
    Op::CondvarWaitInTime(0),
    Op::CondvarWaitInTime(0),
    Op::Signal,
    Op::Broadcast,
    Op::Broadcast,
];
const FAILURES: &[Op] = &[
    Op::SwitchHost(false),
    Op::SwitchHost(true),
    Op::SwitchWire(false),
    Op::SwitchWire(true),
    Op::SwitchWire(false),
    Op::MayFail,
    Op::MayFail,
    Op::FailIfOdd,
    Op::PutDetached(1),
    Op::Get(1),
];
const RECEIVERS: &[Op] = &[
    Op::Receiver,
    Op::Receiver,
    Op::Send(0),
    Op::Send(0),
    Op::Receive(0),
    Op::Receive(0),
    Op::Wait,
    Op::WaitAny,
    Op::WaitAny,
    Op::Test,
    Op::TestAny,
    Op::TestAny,
    Op::TestAny,
    Op::WaitAny,
    Op::Get(0),
    Op::Put(0),
    Op::PutInTime(0),
    Op::Probe(0),
    Op::Cancel,
    Op::Barrier,
    Op::FailIfOdd,
];
const MIXED: &[Op] = &[
    Op::Receiver,
    Op::WaitAny,
    Op::WaitAnyInTime,
    Op::WaitAnyInTime,
    Op::Cancel,
    Op::SwitchHost(false),
    Op::SwitchHost(true),
    Op::PutInTime(0),
    Op::GetInTime(1),
    Op::Put(1),
    Op::Get(1),
    Op::AcquireInTime,
    Op::FailIfOdd,
];

/// The programs of some actors.
pub(crate) type Program = Vec<Vec<Op>>;

/// The program of a number.
pub(crate) fn program(family: Family, number: u64) -> Program {
    let mut stream = Stream::new(number, &format!("{family:?}"));
    let ops = family.ops();
    let actors = 2 + stream.below(3);
    (0..actors)
        .map(|_| {
            let length = match (actors, family) {
                // Much of this does nothing, and is left out.
                (_, Family::OneMutex) => 4 + stream.below(5),
                (4, _) => 2 + stream.below(3),
                _ => 2 + stream.below(5),
            };
            (0..length)
                .map(|_| ops[usize::try_from(stream.below(ops.len() as u64)).expect("few")])
                .collect()
        })
        .collect()
}

#[derive(Clone)]
struct Objects {
    mailboxes: [Mailbox; 2],
    mutexes: [Mutex; 2],
    semaphore: Semaphore,
    barrier: Barrier,
    condvar: Condvar,
    actors: Rc<RefCell<Vec<Actor>>>,
}

/// The program under an explorer.
pub(crate) fn stepper(program: &Program) -> Stepper {
    let moved = program.clone();
    let may_fail = program.iter().flatten().any(|op| *op == Op::MayFail);
    let mut stepper = Stepper::new(two_hosts, move |simulation| {
        start(simulation, &moved);
    });
    if may_fail {
        let names = ["host-1", "wire"].map(str::to_owned);
        stepper.allow_failures(1, &names).expect("both are there");
    }
    // A third of the programs keeps to the formal model.
    if program
        .iter()
        .map(Vec::len)
        .sum::<usize>()
        .is_multiple_of(3)
    {
        stepper.use_instant_transfers();
    }
    // Only some families have waits with limits. In a quarter of the programs they are up only when
    // nothing else can happen.
    if program.len() != 3 || program[0].len().is_multiple_of(2) {
        stepper.allow_timeouts();
    }
    stepper
}

/// Time limit of waits that have one.
const LIMIT: Span = Span::ZERO;

pub(crate) fn start(simulation: &mut Simulation, program: &Program) {
    let objects = Objects {
        mailboxes: [simulation.new_mailbox(), simulation.new_mailbox()],
        mutexes: [simulation.new_mutex(), simulation.new_mutex()],
        semaphore: simulation.new_semaphore(1),
        barrier: simulation.new_barrier(2),
        condvar: simulation.new_condvar(),
        actors: Rc::default(),
    };
    let on_two_hosts = program
        .iter()
        .flatten()
        .any(|op| matches!(op, Op::SwitchHost(_) | Op::SwitchWire(_) | Op::MayFail));
    for (number, ops) in (0..).zip(program) {
        let (ops, own) = (ops.clone(), objects.clone());
        let host = u32::from(on_two_hosts && number % 2 == 1);
        let actor = simulation.spawn_anonymous(host, move |me| execute(me, own, ops, number));
        objects.actors.borrow_mut().push(actor);
    }
    if program.iter().flatten().any(|op| *op == Op::Receiver) {
        objects.mailboxes[0].set_receiver(objects.actors.borrow().first());
    }
}

/// State of an actor that executes a program.
struct Hands {
    me: Actor,
    objects: Objects,
    number: u64,
    works: Vec<Activity>,
    /// True for each mutex that it has asked for, and for each that it knows to own.
    asked: [bool; 2],
    owned: [bool; 2],
    children: Vec<Actor>,
    own: Option<Mailbox>,
    latest: u64,
}

async fn execute(
    me: Actor,
    objects: Objects,
    ops: Vec<Op>,
    number: u64,
) -> Result<(), &'static str> {
    let mut hands = Hands {
        me,
        objects,
        number,
        works: Vec::new(),
        asked: [false; 2],
        owned: [false; 2],
        children: Vec::new(),
        own: None,
        latest: 0,
    };
    let mut skip = false;
    for op in ops {
        if std::mem::take(&mut skip) {
            continue;
        }
        match op {
            Op::IfOdd => skip = hands.latest.is_multiple_of(2),
            Op::FailIfOdd if hands.latest % 2 == 1 => return Err("the latest answer was odd"),
            Op::FailIfOdd => {}
            _ => {
                hands.messages(op).await;
                hands.mutexes(op).await;
                hands.others(op).await;
                hands.actors(op).await;
            }
        }
    }
    // What has not ended is left alone: no handle is dropped before its end.
    for work in std::mem::take(&mut hands.works) {
        work.wait().await.ok();
    }
    Ok(())
}

impl Hands {
    async fn messages(&mut self, op: Op) {
        let mailbox = |number: usize| &self.objects.mailboxes[number];
        match op {
            Op::Send(to) => self
                .works
                .push(mailbox(to).put_async(self.number, 1.0).await),
            Op::Receive(from) => self.works.push(mailbox(from).get_async().await),
            Op::Put(to) => drop(mailbox(to).put(self.number, 1.0).await),
            Op::PutDetached(to) => mailbox(to).put_detached(self.number, 1.0).await,
            Op::Get(from) => {
                let message = mailbox(from).get().await;
                self.latest = message.ok().and_then(|message| message.word()).unwrap_or(6);
            }
            Op::PutInTime(to) => {
                let put = mailbox(to).put_timeout(self.number, 1.0, LIMIT).await;
                self.latest = u64::from(put.is_err());
            }
            Op::GetInTime(from) => {
                let message = mailbox(from).get_timeout(LIMIT).await;
                self.latest = message.ok().and_then(|message| message.word()).unwrap_or(7);
            }
            Op::WaitInTime if !self.works.is_empty() => {
                let message = self.works[0].wait_timeout(LIMIT).await;
                self.latest = u64::from(message.is_err());
            }
            Op::WaitAnyInTime if !self.works.is_empty() => {
                let all: Vec<_> = self.works.iter().collect();
                if let Ok(over) = self.me.wait_any_timeout(&all, LIMIT).await {
                    self.latest = over as u64;
                    self.works.remove(over);
                } else {
                    self.latest = 9;
                }
            }
            Op::Probe(at) => self.latest = u64::from(mailbox(at).probe().await),
            Op::Wait if !self.works.is_empty() => {
                let work = self.works.remove(0);
                let message = work.wait().await;
                self.latest = message.ok().and_then(|message| message.word()).unwrap_or(8);
            }
            Op::Test if !self.works.is_empty() => {
                self.latest = u64::from(self.works[0].test().await);
            }
            Op::WaitAny if !self.works.is_empty() => {
                let all: Vec<_> = self.works.iter().collect();
                let over = self.me.wait_any(&all).await;
                self.latest = over as u64;
                self.works.remove(over);
            }
            Op::TestAny if !self.works.is_empty() => {
                let all: Vec<_> = self.works.iter().collect();
                if let Some(over) = self.me.test_any(&all).await {
                    self.latest = over as u64 + 1;
                    self.works.remove(over);
                } else {
                    self.latest = 0;
                }
            }
            Op::Cancel if !self.works.is_empty() => self.works[0].cancel().await,
            Op::Drop if !self.works.is_empty() => drop(self.works.remove(0)),
            _ => {}
        }
    }

    async fn mutexes(&mut self, op: Op) {
        match op {
            Op::Lock(number) if !self.asked[number] => {
                self.objects.mutexes[number].lock().await;
                (self.asked[number], self.owned[number]) = (true, true);
            }
            Op::LockAsync(number) if !self.asked[number] => {
                self.objects.mutexes[number].lock_async().await;
                self.asked[number] = true;
            }
            Op::MutexWait(number) if self.asked[number] && !self.owned[number] => {
                self.objects.mutexes[number].wait().await;
                self.owned[number] = true;
            }
            Op::MutexTest(number) if self.asked[number] => {
                self.owned[number] = self.objects.mutexes[number].test().await;
                self.latest = u64::from(self.owned[number]);
            }
            Op::TryLock(number) if !self.asked[number] => {
                let got = self.objects.mutexes[number].try_lock().await;
                (self.asked[number], self.owned[number]) = (got, got);
                self.latest = u64::from(got);
            }
            Op::Spin(number) if !self.asked[number] => {
                while !self.objects.mutexes[number].try_lock().await {}
                (self.asked[number], self.owned[number]) = (true, true);
            }
            Op::Unlock(number) if self.asked[number] => {
                self.objects.mutexes[number].unlock().await;
                (self.asked[number], self.owned[number]) = (false, false);
            }
            Op::MutexCancel(number) if self.asked[number] => {
                self.objects.mutexes[number].cancel().await;
                (self.asked[number], self.owned[number]) = (false, false);
            }
            Op::CondvarWait(number) if self.owned[number] => {
                let (condvar, mutex) = (&self.objects.condvar, &self.objects.mutexes[number]);
                condvar.wait(mutex).await.expect("no time is up");
            }
            Op::CondvarWaitInTime(number) if self.owned[number] => {
                let (condvar, mutex) = (&self.objects.condvar, &self.objects.mutexes[number]);
                self.latest = u64::from(condvar.wait_timeout(mutex, LIMIT).await.is_err());
            }
            _ => {}
        }
    }

    async fn others(&mut self, op: Op) {
        match op {
            Op::Acquire => self.objects.semaphore.acquire().await,
            Op::AcquireInTime => {
                let acquired = self.objects.semaphore.acquire_timeout(LIMIT).await;
                self.latest = u64::from(acquired.is_err());
            }
            Op::Release => self.objects.semaphore.release().await,
            Op::ReadSemaphore => self.latest = u64::from(self.objects.semaphore.value()),
            Op::Barrier => self.objects.barrier.wait().await,
            Op::BarrierLeader => {
                self.latest = u64::from(self.objects.barrier.wait_leader().await);
            }
            Op::Signal => self.objects.condvar.signal().await,
            Op::Broadcast => self.objects.condvar.broadcast().await,
            Op::Random => self.latest = u64::from(self.me.random(2).await),
            Op::SwitchHost(on) => self.me.switch_host(HostId(1), on).await,
            Op::SwitchWire(on) => {
                let wire = self.me.link_by_name("wire").expect("there is one");
                if on {
                    wire.turn_on().await;
                } else {
                    wire.turn_off().await;
                }
            }
            Op::Sleep => self.me.sleep(Span::from_secs(1.0)).await,
            Op::Yield => self.me.yield_now().await,
            _ => {}
        }
    }

    async fn actors(&mut self, op: Op) {
        match op {
            Op::Spawn => {
                let (mailbox, number) = (self.objects.mailboxes[0].clone(), self.number + 10);
                let semaphore = self.objects.semaphore.clone();
                let program = move |_: Actor| async move {
                    mailbox.put_detached(number, 1.0).await;
                    semaphore.release().await;
                };
                self.children
                    .push(self.me.spawn("child", HostId(0), program).await);
            }
            Op::Join if !self.children.is_empty() => self.children.remove(0).join().await,
            Op::JoinInTime if !self.children.is_empty() => {
                self.latest = u64::from(self.children[0].join_timeout(LIMIT).await.is_err());
            }
            Op::NewMailbox => {
                let own = self.me.new_mailbox();
                own.put_detached(1, 1.0).await;
                self.own = Some(own);
            }
            Op::Kill(number) | Op::Suspend(number) | Op::Resume(number) => {
                let target = self.objects.actors.borrow()[number].clone();
                match op {
                    Op::Kill(_) => target.kill().await,
                    Op::Suspend(_) => target.suspend().await,
                    _ => target.resume().await,
                }
            }
            _ => {}
        }
    }
}
