//! Promise: two steps at a device depend on each other exactly if they touch the same actor. The
//! search finds all observations that any order shows, and no order twice.
//!
//! The device keeps a list of events for each actor. A step of an actor is noted in the list of the
//! actor and in the list of the actor that the step also touches; a delivery is noted in the list
//! of the receiving actor. So two orders are the same if and only if they leave the same lists.
//!
//! *Not modelled*: deliveries to an actor that another actor touches. No device has both.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::rc::Rc;

use explore::{Observer, Options, Reduction, Run, explore, state_machines};
use sim_core::{
    ActorBranches, ActorId, ArrivalQueues, Blocked, Branch, Device, End, Kernel, QueueHead,
    RunFindings, Stepper, Stream,
};

/// The steps of one actor: each may touch another actor too.
type Steps = Vec<Option<u32>>;

#[derive(Clone, Debug, Default)]
struct Program {
    /// By actor.
    steps: Vec<Steps>,
    /// By queue: the actor that receives the messages, and their number.
    queues: Vec<(u32, u32)>,
}

/// By actor, the events in order: steps of actors, and deliveries with their queues.
type Lists = Vec<Vec<(&'static str, u32)>>;

struct DeviceState {
    program: Program,
    /// By actor, the number of steps so far.
    taken: Vec<usize>,
    /// By queue, the number of delivered messages.
    delivered: Vec<u32>,
    lists: Lists,
}

impl DeviceState {
    fn new(program: &Program) -> Self {
        Self {
            taken: vec![0; program.steps.len()],
            delivered: vec![0; program.queues.len()],
            lists: vec![Vec::new(); program.steps.len()],
            program: program.clone(),
        }
    }

    fn next(&self, actor: usize) -> Option<Option<u32>> {
        self.program.steps[actor].get(self.taken[actor]).copied()
    }
}

struct Noting(Rc<RefCell<DeviceState>>);

impl Device for Noting {
    fn on_end(&self, _: &mut Kernel, _: u64, _: End) {}

    fn on_timer(&self, _: &mut Kernel, _: u64) {}

    fn describe(&self, _: ActorId) -> Option<Blocked> {
        None
    }
}

impl RunFindings for Noting {}

impl ArrivalQueues for Noting {
    fn queue_count(&self) -> u32 {
        u32::try_from(self.0.borrow().program.queues.len()).expect("few queues")
    }

    fn head(&self, queue: u32) -> Option<QueueHead> {
        let state = self.0.borrow();
        let (to, messages) = state.program.queues[queue as usize];
        let delivered = state.delivered[queue as usize];
        (delivered < messages).then(|| QueueHead {
            access: None,
            to: ActorId::from_number(to + 1),
            from: ActorId::from_number(1),
            place: delivered + 1,
            cause: QueueHead::BEFORE,
            is_awaited: false,
        })
    }

    fn deliver_head(&self, _: &mut Kernel, queue: u32, _: Option<&mut Vec<u32>>) {
        let mut state = self.0.borrow_mut();
        let to = state.program.queues[queue as usize].0;
        state.delivered[queue as usize] += 1;
        state.lists[to as usize].push(("delivery", queue));
    }
}

impl ActorBranches for Noting {
    fn branches(&self, actor: ActorId, into: &mut Vec<Branch>) {
        let next = self.0.borrow().next(actor.number() as usize - 1);
        into.extend(next.map(|also| Branch {
            number: 0,
            also: also.map(|other| ActorId::from_number(other + 1)),
            cause: QueueHead::BEFORE,
            draws: false,
        }));
    }

    fn take_branch(&self, _: &mut Kernel, actor: ActorId, _: u32) -> Result<(), String> {
        let mut state = self.0.borrow_mut();
        let own = actor.number() - 1;
        let also = state.next(own as usize).ok_or("no step is left")?;
        state.taken[own as usize] += 1;
        for touched in [Some(own), also].into_iter().flatten() {
            state.lists[touched as usize].push(("step", own));
        }
        Ok(())
    }
}

/// Keeps the lists that the runs leave.
struct Ends {
    state: Rc<RefCell<DeviceState>>,
    lists: BTreeSet<Lists>,
}

impl Observer for Ends {
    fn examine_run(&mut self, _: &Run<'_>) -> ControlFlow<()> {
        self.lists.insert(self.state.borrow().lists.clone());
        ControlFlow::Continue(())
    }

    fn forget(&mut self) {
        self.lists.clear();
    }
}

/// Returns the lists that runs can leave, and the number of runs.
fn explored(program: &Program, reduction: Reduction) -> (BTreeSet<Lists>, u64) {
    let state = Rc::new(RefCell::new(DeviceState::new(program)));
    let (shared, program) = (Rc::clone(&state), program.clone());
    let mut stepper = Stepper::on_one_host(move |simulation| {
        *shared.borrow_mut() = DeviceState::new(&program);
        let port = simulation.port();
        port.attach_explorable(Rc::new(Noting(Rc::clone(&shared))));
        for _ in &program.steps {
            let port = port.clone();
            let actor = simulation.spawn_anonymous(0, |_| state_machines::run_branches(port));
            // All has been done when nothing is left to do.
            actor.daemonize();
        }
    });
    let options = Options {
        reduction,
        ..Options::default()
    };
    let mut ends = Ends {
        state,
        lists: BTreeSet::new(),
    };
    let (statistics, broken) = explore(&mut stepper, &options, &mut ends);
    assert_eq!(broken, None);
    assert!(statistics.bounds.is_empty(), "{statistics:?}");
    (ends.lists, statistics.executions)
}

/// Returns the number of different orders. The reference search runs all, without dependencies.
#[track_caller]
fn orders(program: &Program) -> u64 {
    let (lists, runs) = explored(program, Reduction::Odpor);
    let (all, _) = explored(program, Reduction::None);
    assert!(
        lists == all,
        "{program:?}: {} of {}",
        lists.len(),
        all.len()
    );
    assert_eq!(runs, lists.len() as u64, "{program:?}: orders twice");
    runs
}

fn steps(steps: &[&[Option<u32>]]) -> Program {
    Program {
        steps: steps.iter().map(|steps| steps.to_vec()).collect(),
        queues: Vec::new(),
    }
}

fn below(stream: &mut Stream, limit: u32) -> u32 {
    u32::try_from(stream.below(u64::from(limit))).expect("below a small limit")
}

#[test]
fn steps_that_touch_the_same_actor_come_in_every_order() {
    // Each its own.
    assert_eq!(orders(&steps(&[&[None], &[None], &[None]])), 1);
    // One touches the other; both a third; each the other.
    assert_eq!(orders(&steps(&[&[Some(1)], &[None]])), 2);
    assert_eq!(orders(&steps(&[&[Some(2)], &[Some(2)], &[]])), 2);
    assert_eq!(orders(&steps(&[&[Some(1)], &[Some(0)]])), 2);
    // Different ones.
    assert_eq!(orders(&steps(&[&[Some(2)], &[Some(3)], &[], &[]])), 1);
    for number in 0..200 {
        let stream = &mut Stream::new(number, "steps at a device");
        let actors = 2 + below(stream, 3);
        let program = (0..actors).map(|own| {
            let length = 1 + below(stream, 5 - actors);
            let also = |_| Some(below(stream, actors)).filter(|&other| other != own);
            (0..length).map(also).collect()
        });
        orders(&Program {
            steps: program.collect(),
            queues: Vec::new(),
        });
    }
}

#[test]
fn an_actor_looks_before_and_after_what_is_delivered_to_it() {
    let looks = |looks: &[usize], queues: &[(u32, u32)]| Program {
        steps: looks.iter().map(|&looks| vec![None; looks]).collect(),
        queues: queues.to_vec(),
    };
    assert_eq!(orders(&looks(&[1], &[(0, 1)])), 2);
    assert_eq!(orders(&looks(&[1], &[(0, 2)])), 3);
    // Of two queues in every order; to another actor in one order.
    assert_eq!(orders(&looks(&[1], &[(0, 1), (0, 1)])), 6);
    assert_eq!(orders(&looks(&[1, 1], &[(1, 1)])), 2);
    assert_eq!(orders(&looks(&[1, 0], &[(1, 1)])), 1);
    for number in 0..100 {
        let stream = &mut Stream::new(number, "deliveries of a device");
        let actors = 1 + below(stream, 2);
        let queues = (0..1 + below(stream, 2))
            .map(|_| (below(stream, actors), 1 + below(stream, 2)))
            .collect::<Vec<_>>();
        let own = (0..actors).map(|_| below(stream, 3) as usize);
        orders(&looks(&own.collect::<Vec<_>>(), &queues));
    }
}
