//! Steps of a device under an explorer: deliveries from its queues, and the branches of parked
//! actors.
//!
//! *Not decided here*: which step comes next, and which steps depend on each other.

use std::rc::Rc;

use super::Stepper;
use crate::{
    ActorId, Branch, ConditionalDeadlock, Executed, ExplorableDevice, Footprint, OptionalWaits,
    OrderSensitivity, QueueHead, StepKind,
};

impl Stepper {
    /// Returns the head of a queue; the numbers of queues are above the numbers of actors.
    pub(super) fn head(&self, actor: u32) -> Option<QueueHead> {
        let device = self.device.as_ref()?;
        device.head(actor.checked_sub(self.actors())?)
    }

    /// Returns how much of the order of arrivals an actor can observe, by its calls so far.
    #[must_use]
    pub fn order_sensitivity(&self, actor: u32) -> OrderSensitivity {
        let device = self.device.as_ref();
        device.map_or(OrderSensitivity::Never, |device| {
            device.order_sensitivity(ActorId(actor))
        })
    }

    /// Returns the least sensitivity with which an actor can observe the order of arrivals of a
    /// queue; the number of the queue is above the numbers of the actors.
    #[must_use]
    pub fn visible_from(&self, queue: u32) -> OrderSensitivity {
        let number = queue.checked_sub(self.actors());
        let device = self.device.as_ref().zip(number);
        device.map_or(OrderSensitivity::Always, |(device, number)| {
            device.visible_from(number)
        })
    }

    /// Lets the head of a queue of the device arrive.
    pub(super) fn deliver_head<const IS_NEW: bool>(&mut self, actor: u32) -> Option<()> {
        let device = self.device.clone()?;
        let queue = actor - self.simulation.kernel.borrow().actors.count_actors();
        let head = device.head(queue)?;
        self.latest = Executed {
            footprint: footprint_of(head),
            answer: 0,
            alternatives: 1,
            effects: if head.is_awaited {
                Executed::AWAITED
            } else {
                0
            },
            cause: head.cause,
        };
        if IS_NEW {
            self.sender = head.from.0;
            self.causes.clear();
        }
        {
            let mut kernel = self.simulation.kernel.borrow_mut();
            kernel.actors.effects.take();
            kernel.exploration.steps = kernel.exploration.steps.wrapping_add(1);
            device.deliver_head(&mut kernel, queue, IS_NEW.then_some(&mut self.causes));
        }
        self.settle_actors();
        Some(())
    }

    /// Returns a fingerprint of all state that decides the further run, if the device knows this
    /// state and no actor has failed.
    #[must_use]
    pub fn state_fingerprint(&self) -> Option<(u64, u64)> {
        let device = self.device.as_ref().filter(|_| self.failures.is_empty());
        device.and_then(|device| device.state_fingerprint())
    }

    /// Returns descriptions of operations that were left unfinished, as the device gives them.
    #[must_use]
    pub fn leftovers(&self) -> Vec<String> {
        let device = self.device.as_ref().filter(|_| !self.is_covered());
        device.map_or_else(Vec::new, |device| device.leftovers())
    }

    /// Decides whether a run that has finished has a deadlock if actors wait where they may wait
    /// and did not.
    #[must_use]
    pub fn optional_waits(&self) -> OptionalWaits {
        let device = self.device.as_ref();
        let waits = device.map_or_else(OptionalWaits::default, |device| device.optional_waits());
        match waits {
            OptionalWaits::Deadlock(deadlock) => OptionalWaits::Deadlock(ConditionalDeadlock {
                graph: (self.simulation.kernel.borrow().actors)
                    .name_wait_graph(deadlock.graph.blocked),
                ..deadlock
            }),
            OptionalWaits::Free | OptionalWaits::Undecided => waits,
        }
    }

    /// Lists, in words, the conditions of the first failure: the optional waits that actors left
    /// out, as far as the failure needs that.
    #[must_use]
    pub fn conditions_of_failure(&self) -> Vec<String> {
        let (device, failure) = (self.device.as_ref(), self.failures.first());
        let both = device.zip(failure);
        both.map_or_else(Vec::new, |(device, failure)| {
            device.absent_waits(failure.actor)
        })
    }
}

/// Lets a device execute a branch of an actor.
#[cold]
pub(super) fn take_branch(
    device: &Rc<dyn ExplorableDevice>,
    kernel: &mut crate::Kernel,
    actor: u32,
    branch: Branch,
) {
    let taken = device.take_branch(kernel, ActorId(actor), branch.number);
    if let Err(message) = taken {
        kernel.fail_actor(ActorId(actor), message);
    }
}

/// Returns the footprint of a delivery.
pub(super) const fn footprint_of(head: QueueHead) -> Footprint {
    Footprint {
        kind: StepKind::Deliver,
        object: head.to.0,
        detail: match head.access {
            Some(access) => access.to_number(),
            None => head.place,
        },
    }
}
