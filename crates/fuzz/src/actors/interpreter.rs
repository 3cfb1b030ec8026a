//! Execution of actor programs: each actor executes its operations in order.
//!
//! An operation that is impossible at its place has no effect, such as an unlock of a mutex that
//! the actor does not own; so each list of operations is a program.

use std::cell::RefCell;
use std::rc::Rc;

use sim_core::{
    Activity, Actor, Barrier, Condvar, HostId, Mailbox, Mutex, Semaphore, Simulation, Span,
};

use super::operations::Op;
use super::program::Program;

#[derive(Clone)]
struct Objects {
    mailboxes: [Mailbox; 2],
    mutexes: [Mutex; 2],
    semaphore: Semaphore,
    barrier: Barrier,
    condvar: Condvar,
    actors: Rc<RefCell<Vec<Actor>>>,
}

/// Time limit of waits that have one.
const LIMIT: Span = Span::ZERO;

/// Starts the actors of a program.
pub fn start(simulation: &mut Simulation, program: &Program) {
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
        let actor =
            simulation.spawn_anonymous(host, move |me| execute_operations(me, own, ops, number));
        objects.actors.borrow_mut().push(actor);
    }
    if program.iter().flatten().any(|op| *op == Op::Receiver) {
        objects.mailboxes[0].set_receiver(objects.actors.borrow().first());
    }
}

/// State of an actor that executes a program.
struct Interpreter {
    me: Actor,
    objects: Objects,
    number: u64,
    activities: Vec<Activity>,
    /// True for each mutex that was asked for, and for each mutex that the actor knows to own.
    asked: [bool; 2],
    owned: [bool; 2],
    children: Vec<Actor>,
    own: Option<Mailbox>,
    latest: u64,
}

async fn execute_operations(
    me: Actor,
    objects: Objects,
    ops: Vec<Op>,
    number: u64,
) -> Result<(), &'static str> {
    let mut interpreter = Interpreter {
        me,
        objects,
        number,
        activities: Vec::new(),
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
            Op::IfOdd => skip = interpreter.latest.is_multiple_of(2),
            Op::FailIfOdd if interpreter.latest % 2 == 1 => {
                return Err("the latest answer was odd");
            }
            Op::FailIfOdd => {}
            _ => {
                interpreter.messages(op).await;
                interpreter.mutexes(op).await;
                interpreter.others(op).await;
                interpreter.actors(op).await;
            }
        }
    }
    // What has not ended is left alone: no handle is dropped before its end.
    for work in std::mem::take(&mut interpreter.activities) {
        work.wait().await.ok();
    }
    Ok(())
}

impl Interpreter {
    async fn messages(&mut self, op: Op) {
        let mailbox = |number: usize| &self.objects.mailboxes[number];
        match op {
            Op::Send(to) => self
                .activities
                .push(mailbox(to).put_async(self.number, 1.0).await),
            Op::Receive(from) => self.activities.push(mailbox(from).get_async().await),
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
            Op::WaitInTime if !self.activities.is_empty() => {
                let message = self.activities[0].wait_timeout(LIMIT).await;
                self.latest = u64::from(message.is_err());
            }
            Op::WaitAnyInTime if !self.activities.is_empty() => {
                let all: Vec<_> = self.activities.iter().collect();
                if let Ok(over) = self.me.wait_any_timeout(&all, LIMIT).await {
                    self.latest = over as u64;
                    self.activities.remove(over);
                } else {
                    self.latest = 9;
                }
            }
            Op::Probe(at) => self.latest = u64::from(mailbox(at).probe().await),
            Op::Wait if !self.activities.is_empty() => {
                let work = self.activities.remove(0);
                let message = work.wait().await;
                self.latest = message.ok().and_then(|message| message.word()).unwrap_or(8);
            }
            Op::Test if !self.activities.is_empty() => {
                self.latest = u64::from(self.activities[0].test().await);
            }
            Op::WaitAny if !self.activities.is_empty() => {
                let all: Vec<_> = self.activities.iter().collect();
                let over = self.me.wait_any(&all).await;
                self.latest = over as u64;
                self.activities.remove(over);
            }
            Op::TestAny if !self.activities.is_empty() => {
                let all: Vec<_> = self.activities.iter().collect();
                if let Some(over) = self.me.test_any(&all).await {
                    self.latest = over as u64 + 1;
                    self.activities.remove(over);
                } else {
                    self.latest = 0;
                }
            }
            Op::Cancel if !self.activities.is_empty() => self.activities[0].cancel().await,
            Op::Drop if !self.activities.is_empty() => drop(self.activities.remove(0)),
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
