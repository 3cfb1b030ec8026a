//! Conditions that have to hold all the time: invariants of a program.
//!
//! An invariant is evaluated from its statement on, whenever an actor has reached its next
//! operation or its end. A violated invariant is a failure of this actor, and the failure ends a
//! run. Under an explorer the other actors continue, and each invariant is violated once per run.
//!
//! An actor runs from one operation to the next in one step: a violation that begins and ends
//! within a step is not detected. *Not modelled*: invariants of ranks, which have no common memory.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::kernel::{NONE, Shared};
use crate::outcome::panic_message;
use crate::{Actor, Failure, Simulation};

/// A condition and its name.
pub(crate) struct Invariant {
    name: String,
    holds: Box<dyn Fn() -> bool>,
}

/// The invariants of a run.
pub(crate) struct Watch {
    list: Vec<Invariant>,
    /// The actor that was polled last; `NONE` before the first.
    pub(crate) actor: u32,
}

impl Actor {
    /// States that a condition holds whenever an actor waits, from now on.
    ///
    /// ```
    /// use std::cell::Cell;
    /// use std::rc::Rc;
    ///
    /// use sim_core::{Outcome, Simulation};
    ///
    /// let mut simulation = Simulation::with_constant_model(1);
    /// simulation.spawn("worker", 0, |me| async move {
    ///     let open = Rc::new(Cell::new(0));
    ///     let same = Rc::clone(&open);
    ///     me.invariant("at most one is open", move || same.get() <= 1);
    ///     open.set(2);
    ///     me.yield_now().await;
    /// });
    /// let Outcome::Failed(failure) = simulation.run().outcome else { panic!() };
    /// assert_eq!(failure.invariant.as_deref(), Some("at most one is open"));
    /// ```
    ///
    /// The state that `holds` reads must be created anew in each run, like everything that actors
    /// share. The model checker explores all orders of the steps of a program with an invariant:
    /// any two steps could matter to the condition, so all steps are dependent.
    pub fn invariant(&self, name: &str, holds: impl Fn() -> bool + 'static) {
        add_invariant(&self.kernel, name, Box::new(holds));
    }
}

impl Simulation {
    /// States that a condition holds whenever an actor waits; see [`Actor::invariant`].
    pub fn invariant(&mut self, name: &str, holds: impl Fn() -> bool + 'static) {
        add_invariant(self.shared(), name, Box::new(holds));
    }
}

fn add_invariant(kernel: &Shared, name: &str, holds: Box<dyn Fn() -> bool>) {
    let mut kernel = kernel.borrow_mut();
    let watch = kernel.watch.get_or_insert_with(|| {
        Box::new(Watch {
            list: Vec::new(),
            actor: NONE,
        })
    });
    watch.list.push(Invariant {
        name: name.to_owned(),
        holds,
    });
}

/// Returns the first violated invariant, as a failure of the actor that was polled last. This
/// invariant is not evaluated again.
#[cold]
pub(crate) fn violated(kernel: &Shared) -> Option<Failure> {
    let (mut list, actor) = {
        let mut kernel = kernel.borrow_mut();
        let watch = kernel.watch.as_mut().filter(|watch| watch.actor != NONE)?;
        (std::mem::take(&mut watch.list), watch.actor)
    };
    // The conditions are code of the program: the kernel is free meanwhile.
    let mut found = None;
    for (position, invariant) in list.iter().enumerate() {
        match catch_unwind(AssertUnwindSafe(|| (invariant.holds)())) {
            Ok(true) => continue,
            Ok(false) => {
                let message = format!("the invariant \"{}\" does not hold", invariant.name);
                found = Some((position, message));
            }
            Err(panic) => {
                let text = panic_message(&*panic);
                let message = format!("the invariant \"{}\" panicked: {text}", invariant.name);
                found = Some((position, message));
            }
        }
        break;
    }
    let gone = found.map(|(position, message)| (list.remove(position), message));
    let mut kernel = kernel.borrow_mut();
    if let Some(watch) = &mut kernel.watch {
        list.append(&mut watch.list);
        watch.list = list;
    }
    let (invariant, message) = gone?;
    if !kernel.actors[actor].dead {
        kernel.actors[actor].killed = true;
        kernel.actors.drop_later(actor);
    }
    let mut failure = kernel.describe_failure(actor, message, false);
    // The condition may own handles, which borrow the kernel when they are dropped.
    drop(kernel);
    failure.invariant = Some(invariant.name);
    Some(failure)
}
