//! State machines under the search: a world of processes that react to arrivals, instead of a
//! program.
//!
//! The branches of a process are the possible next steps: the next call of the program, the next
//! packet of one of the wires, and so on. All branches of one process are dependent; branches of
//! different processes are independent, unless the world declares that a branch also accesses
//! another process. A branch that another process enabled happens after the enabling step.
//!
//! The kernel, the schedules and the searches are the same as for programs: each process is an
//! actor that waits for a device, and the device is the world.
//!
//! *Not modelled*: a step of one process that disables a branch of another process. A world must
//! not have such a step; the search then stops, because a planned branch is missing.

use sim_core::SourceLocation;
use std::cell::RefCell;
use std::fmt;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::task::Poll;

use sim_core::{
    ActorBranches, ActorId, ArrivalQueues, Blocked, Branch, Device, End, Kernel, KernelHandle,
    Parked, QueueHead, RunFindings, Stepper,
};

/// A world of processes.
pub trait StateMachineModel {
    /// The number of processes.
    fn processes(&self) -> u32;

    /// Adds the branches of a process to `into`.
    fn branches(&self, process: u32, into: &mut Vec<ModelBranch>);

    /// Executes a branch of a process, in the step with this number.
    fn execute_branch(&mut self, process: u32, branch: u32, step: u32) -> Result<(), String>;

    /// Returns a fingerprint of the state that determines all further steps, for
    /// [`Reduction::States`](crate::Reduction::States).
    fn fingerprint(&self) -> Option<(u64, u64)> {
        None
    }
}

/// A possible next step of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ModelBranch {
    /// Number of the branch among all branches of the process, below 2^24; the same in all orders
    /// of steps.
    pub number: u32,
    /// Another process; the branch reads or changes its state, beyond adding to queues.
    pub also: Option<u32>,
    /// The step of another process that enabled the branch, if there was one.
    pub cause: Option<u32>,
}

/// The explored world, for inspection after each run.
pub struct Shared<W>(Rc<RefCell<W>>);

impl<W> Shared<W> {
    /// Reads the present state of the world.
    pub fn with<T>(&self, f: impl FnOnce(&W) -> T) -> T {
        f(&self.0.borrow())
    }
}

/// Returns a stepper for the world that `make` creates anew for each run.
pub fn make_stepper<W: StateMachineModel + 'static>(
    make: impl Fn() -> W + 'static,
) -> (Stepper, Shared<W>) {
    let world = Rc::new(RefCell::new(make()));
    let shared = Shared(Rc::clone(&world));
    let stepper = Stepper::on_one_host(move |simulation| {
        *world.borrow_mut() = make();
        let port = simulation.port();
        port.attach_explorable(Rc::new(Presented(Rc::clone(&world))));
        for process in 0..world.borrow().processes() {
            let port = port.clone();
            let name = format!("process {process}");
            let actor = simulation.spawn(&name, 0, move |_| run_branches(port));
            // A run is over when nobody can do anything any more; that is no deadlock.
            actor.daemonize();
        }
    });
    (stepper, shared)
}

/// The whole program of an actor that takes the [branches](ActorBranches::branches) of a device.
pub async fn run_branches(port: KernelHandle) {
    let mut parked: Option<Parked> = None;
    poll_fn(|_| {
        if parked.is_none_or(|parked| port.is_woken(parked)) {
            parked = Some(port.park(SourceLocation::caller()));
        }
        Poll::<()>::Pending
    })
    .await;
}

/// A world as a device.
struct Presented<W>(Rc<RefCell<W>>);

impl<W: StateMachineModel> Device for Presented<W> {
    fn on_end(&self, _: &mut Kernel, _: u64, _: End) {}

    fn on_timer(&self, _: &mut Kernel, _: u64) {}

    fn describe(&self, _: ActorId) -> Option<Blocked> {
        None
    }
}

impl<W> ArrivalQueues for Presented<W> {}

impl<W: StateMachineModel> RunFindings for Presented<W> {
    fn state_fingerprint(&self) -> Option<(u64, u64)> {
        self.0.borrow().fingerprint()
    }
}

impl<W: StateMachineModel> ActorBranches for Presented<W> {
    fn branches(&self, actor: ActorId, into: &mut Vec<Branch>) {
        let mut branches = Vec::new();
        self.0.borrow().branches(actor.number() - 1, &mut branches);
        into.extend(branches.into_iter().map(|branch| Branch {
            number: branch.number,
            also: branch.also.map(|process| ActorId::from_number(process + 1)),
            cause: branch.cause.unwrap_or(QueueHead::BEFORE),
            draws: false,
        }));
    }

    fn take_branch(&self, kernel: &mut Kernel, actor: ActorId, number: u32) -> Result<(), String> {
        let step = kernel.current_step();
        let take = || {
            self.0
                .borrow_mut()
                .execute_branch(actor.number() - 1, number, step)
        };
        // A mistake that an assertion of a machine finds is a mistake of the world.
        catch_unwind(AssertUnwindSafe(take)).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<&str>().map(|&text| text.to_owned());
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
            Err(format!("a panic: {}", text.unwrap_or_default()))
        })
    }
}

impl<W> fmt::Debug for Shared<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}
