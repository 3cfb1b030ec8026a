//! Random programs over all kinds of objects, for tests that compare whole runs.

use proptest::prelude::*;
use sim_core::{Activity, Actor, Barrier, Condvar, HostId, Mailbox, Mutex, Semaphore};
use sim_core::{Simulation, Span};

/// Number of cases, the same ones in every run.
pub(crate) fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(1),
        ..ProptestConfig::default()
    }
}

/// One step of an actor. Numbers name objects and actors, modulo how many there are.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Sleep(u8),
    Compute(u8),
    StartCompute(u8),
    Yield,
    Random(u8),
    Put(u8),
    PutTimeout(u8, u8),
    PutAsync(u8),
    PutDetached(u8),
    Get(u8),
    GetTimeout(u8, u8),
    GetAsync(u8),
    Probe(u8),
    TestFirst,
    WaitAny,
    WaitAnyTimeout(u8),
    CancelFirst,
    DropFirst,
    Lock(u8),
    TryLock(u8),
    LockAsync(u8),
    Unlock(u8),
    Acquire(u8),
    Release,
    Barrier,
    WaitCondition(u8, u8),
    Signal,
    Broadcast,
    Kill(u8),
    Suspend(u8),
    Resume(u8),
    Join(u8, u8),
    Spawn(u8, u8),
}

pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    use Step::*;
    let n = || 0..4_u8;
    let waits = prop_oneof![
        n().prop_map(Sleep),
        n().prop_map(Compute),
        n().prop_map(StartCompute),
        Just(Yield),
        n().prop_map(Random),
        (n(), n()).prop_map(|(target, time)| Join(target, time)),
        (n(), n()).prop_map(|(mailbox, time)| Spawn(mailbox, time)),
    ];
    let messages = prop_oneof![
        n().prop_map(Put),
        (n(), n()).prop_map(|(mailbox, time)| PutTimeout(mailbox, time)),
        n().prop_map(PutAsync),
        n().prop_map(PutDetached),
        n().prop_map(Get),
        (n(), n()).prop_map(|(mailbox, time)| GetTimeout(mailbox, time)),
        n().prop_map(GetAsync),
        n().prop_map(Probe),
        Just(TestFirst),
        Just(WaitAny),
        n().prop_map(WaitAnyTimeout),
        Just(CancelFirst),
        Just(DropFirst),
    ];
    let locks = prop_oneof![
        n().prop_map(Lock),
        n().prop_map(TryLock),
        n().prop_map(LockAsync),
        n().prop_map(Unlock),
        n().prop_map(Acquire),
        Just(Release),
        Just(Barrier),
        (n(), n()).prop_map(|(mutex, time)| WaitCondition(mutex, time)),
        Just(Signal),
        Just(Broadcast),
    ];
    let actors = prop_oneof![
        n().prop_map(Kill),
        n().prop_map(Suspend),
        n().prop_map(Resume),
        n().prop_map(Resume),
    ];
    let step = prop_oneof![3 => waits, 4 => messages, 4 => locks, 1 => actors];
    proptest::collection::vec(step, 1..12)
}

/// The programs of some actors.
pub(crate) fn programs() -> impl Strategy<Value = Vec<Vec<Step>>> {
    proptest::collection::vec(steps(), 2..5)
}

#[derive(Clone)]
struct Objects {
    mailboxes: [Mailbox; 2],
    mutexes: [Mutex; 2],
    semaphore: Semaphore,
    barrier: Barrier,
    condvar: Condvar,
    actors: std::rc::Rc<std::cell::RefCell<Vec<Actor>>>,
}

/// A simulation of these programs.
pub(crate) fn simulation(programs: &[Vec<Step>]) -> Simulation {
    let mut simulation = Simulation::with_constant_model(2);
    let objects = Objects {
        mailboxes: [simulation.mailbox("even"), simulation.new_mailbox()],
        mutexes: [simulation.new_mutex(), simulation.new_mutex()],
        semaphore: simulation.new_semaphore(1),
        barrier: simulation.new_barrier(2),
        condvar: simulation.new_condvar(),
        actors: std::rc::Rc::default(),
    };
    for (number, steps) in (0..).zip(programs) {
        let (steps, own) = (steps.clone(), objects.clone());
        let actor = simulation.spawn_anonymous(number % 2, |me| execute(me, own, steps));
        objects.actors.borrow_mut().push(actor);
    }
    simulation
}

fn half_seconds(number: u8) -> Span {
    Span::from_secs(f64::from(number) / 2.0)
}

/// State of an actor that executes a program.
struct Hands {
    me: Actor,
    objects: Objects,
    works: Vec<Activity>,
    /// True for each mutex that the actor has requested and not released.
    asked: [bool; 2],
}

async fn execute(me: Actor, objects: Objects, steps: Vec<Step>) {
    let (works, asked) = (Vec::new(), [false; 2]);
    let mut hands = Hands {
        me,
        objects,
        works,
        asked,
    };
    for step in steps {
        match step {
            Step::Lock(_) | Step::TryLock(_) | Step::LockAsync(_) | Step::Unlock(_) => {
                hands.mutexes(step).await;
            }
            Step::Acquire(_) | Step::Release | Step::Barrier | Step::Signal | Step::Broadcast => {
                hands.synchronise(step).await;
            }
            Step::WaitCondition(..) => hands.synchronise(step).await,
            Step::TestFirst | Step::WaitAny | Step::WaitAnyTimeout(_) => hands.works(step).await,
            Step::CancelFirst | Step::DropFirst => hands.works(step).await,
            Step::Kill(_) | Step::Suspend(_) | Step::Resume(_) | Step::Join(..) => {
                hands.actors(step).await;
            }
            Step::Sleep(_) | Step::Compute(_) | Step::StartCompute(_) => hands.alone(step).await,
            Step::Yield | Step::Random(_) | Step::Spawn(..) => hands.alone(step).await,
            _ => hands.messages(step).await,
        }
    }
}

impl Hands {
    async fn alone(&mut self, step: Step) {
        let me = &self.me;
        match step {
            Step::Sleep(time) => me.sleep(half_seconds(time)).await,
            Step::Compute(time) => me
                .execute(5e8 * f64::from(time))
                .await
                .expect("no host fails"),
            Step::StartCompute(time) => {
                self.works.push(me.start_execution(5e8 * f64::from(time)));
            }
            Step::Yield => me.yield_now().await,
            Step::Random(limit) => {
                let draw = me.random(u32::from(limit) + 1).await;
                me.sleep(Span::from_secs(f64::from(draw))).await;
            }
            Step::Spawn(mailbox, time) => {
                let mailbox = self.objects.mailboxes[usize::from(mailbox % 2)].clone();
                let program = move |me: Actor| async move {
                    // An object made by an actor.
                    let own = me.mailbox(&me.name());
                    own.put_detached(1, 1.0).await;
                    me.sleep(half_seconds(time)).await;
                    let _ = mailbox.put_timeout(2, 1.0, half_seconds(time)).await;
                    own.get().await.expect("it is there");
                };
                let child = me.spawn("child", HostId(1), program).await;
                self.objects.actors.borrow_mut().push(child);
            }
            other => unreachable!("{other:?}"),
        }
    }

    async fn messages(&mut self, step: Step) {
        let mailbox = |number: u8| &self.objects.mailboxes[usize::from(number % 2)];
        match step {
            Step::Put(to) => drop(mailbox(to).put(1, 1.0).await.is_ok()),
            Step::PutTimeout(to, time) => {
                let _ = mailbox(to).put_timeout(1, 1.0, half_seconds(time)).await;
            }
            Step::PutAsync(to) => {
                let work = mailbox(to).put_async(1, 1.0).await;
                self.works.push(work);
            }
            Step::PutDetached(to) => mailbox(to).put_detached(1, 1.0).await,
            Step::Get(from) => drop(mailbox(from).get().await),
            Step::GetTimeout(from, time) => {
                drop(mailbox(from).get_timeout(half_seconds(time)).await);
            }
            Step::GetAsync(from) => {
                let work = mailbox(from).get_async().await;
                self.works.push(work);
            }
            Step::Probe(at) => drop(mailbox(at).probe().await),
            other => unreachable!("{other:?}"),
        }
    }

    async fn works(&mut self, step: Step) {
        if self.works.is_empty() {
            return;
        }
        match step {
            Step::TestFirst => drop(self.works[0].test().await),
            Step::WaitAny | Step::WaitAnyTimeout(_) => {
                let all: Vec<_> = self.works.iter().collect();
                let over = if let Step::WaitAnyTimeout(time) = step {
                    self.me
                        .wait_any_timeout(&all, half_seconds(time))
                        .await
                        .ok()
                } else {
                    Some(self.me.wait_any(&all).await)
                };
                if let Some(over) = over {
                    self.works.remove(over);
                }
            }
            Step::CancelFirst => self.works[0].cancel().await,
            Step::DropFirst => drop(self.works.remove(0)),
            other => unreachable!("{other:?}"),
        }
    }

    async fn mutexes(&mut self, step: Step) {
        let (Step::Lock(number)
        | Step::TryLock(number)
        | Step::LockAsync(number)
        | Step::Unlock(number)) = step
        else {
            unreachable!("{step:?}")
        };
        let number = usize::from(number % 2);
        let mutex = &self.objects.mutexes[number];
        match (step, self.asked[number]) {
            (Step::Lock(_), false) => {
                mutex.lock().await;
                self.asked[number] = true;
            }
            (Step::TryLock(_), false) => self.asked[number] = mutex.try_lock().await,
            (Step::LockAsync(_), false) => {
                mutex.lock_async().await;
                self.asked[number] = true;
            }
            (Step::Unlock(_), true) => {
                mutex.unlock().await;
                self.asked[number] = false;
            }
            (_, true) => drop(mutex.test().await),
            (_, false) => {}
        }
    }

    async fn synchronise(&mut self, step: Step) {
        let objects = &self.objects;
        match step {
            Step::Acquire(time) => {
                let _ = objects.semaphore.acquire_timeout(half_seconds(time)).await;
            }
            Step::Release => objects.semaphore.release().await,
            Step::Barrier => objects.barrier.wait().await,
            Step::WaitCondition(number, time) => {
                let number = usize::from(number % 2);
                if self.asked[number] {
                    let (condvar, mutex) = (&objects.condvar, &objects.mutexes[number]);
                    let _ = condvar.wait_timeout(mutex, half_seconds(time)).await;
                }
            }
            Step::Signal => objects.condvar.signal().await,
            Step::Broadcast => objects.condvar.broadcast().await,
            other => unreachable!("{other:?}"),
        }
    }

    async fn actors(&mut self, step: Step) {
        let (Step::Kill(target)
        | Step::Suspend(target)
        | Step::Resume(target)
        | Step::Join(target, _)) = step
        else {
            unreachable!("{step:?}")
        };
        let target = {
            let actors = self.objects.actors.borrow();
            actors[usize::from(target) % actors.len()].clone()
        };
        match step {
            Step::Kill(_) => target.kill().await,
            Step::Suspend(_) => target.suspend().await,
            Step::Resume(_) => target.resume().await,
            Step::Join(_, time) => {
                let _ = target.join_timeout(half_seconds(time)).await;
            }
            other => unreachable!("{other:?}"),
        }
    }
}
