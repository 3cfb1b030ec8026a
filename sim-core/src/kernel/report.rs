//! The wait graph of a deadlock: each blocked actor, its operation, and actors that could end it.

use super::{
    Activities, ActivityStatus, ActorRecord, Actors, Kernel, Mailboxes, NONE, Objects,
    OperationSlot, PendingState, activities::ActivityKind,
};
use crate::code::Code;
use crate::{ActorId, Blocked, StepKind, Transition, WaitGraph};

/// Every actor that is neither dead nor a daemon, and the operation that the actor waits in.
pub(crate) fn wait_graph(kernel: &Kernel) -> WaitGraph {
    let is_left = |record: &ActorRecord| !record.dead && !record.daemon && record.created;
    let actors = (0..).zip(&kernel.actors.records);
    let left = actors.filter(|(_, record)| is_left(record));
    let blocked = left.map(|(actor, _)| describe_blocked(kernel, actor));
    kernel.actors.name_wait_graph(blocked.collect())
}

impl Actors {
    /// Returns the graph of these blocked actors, with their names and hosts.
    pub(crate) fn name_wait_graph(&self, mut blocked: Vec<Blocked>) -> WaitGraph {
        for entry in &mut blocked {
            let actor = entry.actor;
            entry.name = self.actor_name(actor.0);
            entry.host = self.host_name(actor.0);
        }
        let mut graph = WaitGraph {
            blocked,
            ..WaitGraph::default()
        };
        // The actors for which the blocked ones wait.
        let targets = graph.blocked.iter().flat_map(|entry| &entry.waits_for);
        let mut others: Vec<ActorId> = targets
            .copied()
            .filter(|&target| graph.entry(target).is_none())
            .collect();
        others.sort_unstable();
        others.dedup();
        graph.others = others
            .into_iter()
            .map(|other| (other, self.name_with_state(other)))
            .collect();
        graph
    }

    fn name_with_state(&self, actor: ActorId) -> String {
        let known = self.records.get(actor.index());
        let state = match known {
            Some(record) if record.dead => "ended",
            Some(record) if record.daemon => "daemon",
            _ => "not started",
        };
        format!("{} ({state})", self.actor_name(actor.0))
    }
}

/// Returns the operation in which an actor waits, and the actors that could end the wait.
fn describe_blocked(kernel: &Kernel, actor: u32) -> Blocked {
    let record = &kernel.actors[actor];
    let mut slots = record.slots();
    slots.retain(|slot| slot.state != PendingState::Answered);
    let device = kernel.device.as_ref().filter(|_| {
        slots
            .iter()
            .any(|slot| slot.code.kind() == Code::DEVICE.kind())
    });
    if let Some(waiting) = device.and_then(|device| device.describe(ActorId(actor))) {
        return waiting;
    }
    let texts: Vec<String> = slots
        .iter()
        .map(|slot| kernel.objects.describe_wait(slot, &kernel.actors))
        .collect();
    let waits_in = match (record.suspended, texts.join(" or ")) {
        (false, text) => text,
        (true, text) if text.is_empty() => "suspension".to_owned(),
        (true, text) => format!("suspension during {text}"),
    };
    let mut waits_for: Vec<ActorId> = slots
        .iter()
        .flat_map(|slot| kernel.objects.list_holders(actor, slot))
        .collect();
    waits_for.sort_unstable();
    waits_for.dedup();
    let location = slots
        .first()
        .map_or_else(String::new, |slot| slot.location.to_string());
    Blocked {
        actor: ActorId(actor),
        name: String::new(),
        host: String::new(),
        waits_in,
        location,
        waits_for,
    }
}

impl Mailboxes {
    fn mailbox_name(&self, mailbox: u32) -> String {
        let name = self.names.get(&mailbox);
        name.map_or_else(
            || format!("mailbox {mailbox}"),
            |name| format!("mailbox \"{name}\""),
        )
    }
}

impl Objects {
    fn describe_wait(&self, slot: &OperationSlot, actors: &Actors) -> String {
        match slot.code.transition() {
            Transition::Sleep if slot.timer() == 0 && slot.state == PendingState::Waiting => {
                "infinite sleep".to_owned()
            }
            Transition::Sleep => "a sleep".to_owned(),
            Transition::Yield => "a yield".to_owned(),
            Transition::Join { target } => format!("join of {}", actors.actor_name(target.0)),
            Transition::Wait { activity, .. } => self.describe_activity(activity),
            Transition::WaitAny { list } => {
                format!("wait for any of: {}", self.describe_members(list))
            }
            Transition::MutexWait { mutex, .. } => format!("lock of mutex {mutex}"),
            Transition::SemaphoreWait { semaphore, .. } => {
                format!("acquire of semaphore {semaphore}")
            }
            Transition::BarrierWait { barrier, .. } => {
                let record = &self.barriers[barrier as usize];
                format!(
                    "barrier {barrier} ({} of {} arrived)",
                    record.arrived.len(),
                    record.size
                )
            }
            Transition::CondvarWait { condvar, .. } => {
                format!("wait on condition variable {condvar}")
            }
            Transition::Test { activity } => {
                format!("polling: test of {}", self.describe_activity(activity))
            }
            Transition::TestAny { list } => {
                format!("polling: test of any of: {}", self.describe_members(list))
            }
            Transition::Probe { mailbox } => {
                format!("polling: probe of {}", self.mailboxes.mailbox_name(mailbox))
            }
            Transition::MutexTryLock { mutex } | Transition::MutexTest { mutex } => {
                format!("polling: test of mutex {mutex}")
            }
            Transition::Device => "a call of the device".to_owned(),
            _ => {
                let kind = StepKind::from_number(slot.code.kind());
                let object = kind.object_kind();
                let object = object.map(|object| format!(" of {object} {}", slot.code.object()));
                format!("{}{}", kind.as_str(), object.unwrap_or_default())
            }
        }
    }

    fn describe_members(&self, list: u32) -> String {
        let members = self.activities.lists[list as usize].iter();
        let texts: Vec<String> = members.map(|&slot| self.describe_activity(slot)).collect();
        texts.join(", ")
    }

    fn describe_activity(&self, slot: u32) -> String {
        let record = Activities::get(&self.activities, slot);
        match record.status {
            ActivityStatus::Send => format!(
                "put to {} (no matching get)",
                self.mailboxes.mailbox_name(record.mailbox)
            ),
            ActivityStatus::Receive => format!(
                "get from {} (no matching put)",
                self.mailboxes.mailbox_name(record.mailbox)
            ),
            ActivityStatus::Ready => match record.kind {
                ActivityKind::Exec { .. } => "a computation".to_owned(),
                ActivityKind::Io { .. } => "a disk".to_owned(),
                ActivityKind::Parallel => "a parallel task".to_owned(),
                ActivityKind::Comm => "an activity".to_owned(),
            },
            ActivityStatus::Free | ActivityStatus::Prepared | ActivityStatus::Ended => {
                "an activity".to_owned()
            }
        }
    }

    /// Returns the actors that hold the object of the operation.
    fn list_holders(&self, actor: u32, slot: &OperationSlot) -> Vec<ActorId> {
        let found: Vec<u32> = match slot.code.transition() {
            Transition::Join { target } => vec![target.0],
            Transition::MutexWait { mutex, .. }
            | Transition::MutexTryLock { mutex }
            | Transition::MutexTest { mutex } => self.mutexes[mutex as usize]
                .queue
                .front()
                .copied()
                .into_iter()
                .collect(),
            Transition::Wait { activity, .. } | Transition::Test { activity } => {
                self.activities.list_sides(activity)
            }
            Transition::WaitAny { list } | Transition::TestAny { list } => {
                let members = self.activities.lists[list as usize].iter();
                members
                    .flat_map(|&slot| self.activities.list_sides(slot))
                    .collect()
            }
            _ => Vec::new(),
        };
        found
            .into_iter()
            .filter(|&other| other != actor)
            .map(ActorId)
            .collect()
    }
}

impl Activities {
    fn list_sides(&self, activity: u32) -> Vec<u32> {
        let record = self.get(activity);
        let mut sides = vec![record.source, record.destination];
        sides.retain(|&other| other != NONE);
        sides
    }
}
