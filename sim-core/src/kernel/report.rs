//! The wait graph of a deadlock: what each blocked actor waits for, in words, and who could end it.

use super::{Activities, Kernel, NONE, Slot, Status};
use crate::code::Code;
use crate::{ActorId, Blocked, Transition, WaitGraph};

impl Kernel {
    /// Every actor that is neither dead nor a daemon, and what it waits for.
    pub(crate) fn wait_graph(&self) -> WaitGraph {
        let mut graph = WaitGraph::default();
        for (index, record) in self.actors.iter().enumerate() {
            if record.dead || record.daemon || record.is_new() {
                continue;
            }
            let actor = u32::try_from(index).expect("actors are counted in 32 bits");
            graph.blocked.push(self.blocked(actor));
        }
        graph
    }

    fn blocked(&self, actor: u32) -> Blocked {
        let record = &self.actors[actor as usize];
        let slots = record.slots();
        let device = self
            .device
            .as_ref()
            .filter(|_| slots.iter().any(|slot| slot.code == Code::DEVICE));
        if let Some(waiting) = device.and_then(|device| device.describe(ActorId(actor))) {
            return Blocked {
                name: self.actor_name(actor),
                host: self.hosts.name(record.host),
                ..waiting
            };
        }
        let mut texts: Vec<String> = slots
            .iter()
            .map(|slot| self.describe(actor, slot))
            .collect();
        if record.suspended {
            texts.insert(0, "suspended".to_owned());
        }
        let mut waits_for: Vec<ActorId> = slots
            .iter()
            .flat_map(|slot| self.holders(actor, slot))
            .collect();
        waits_for.dedup();
        let location = slots.first().map_or_else(String::new, |slot| {
            format!("{}:{}", slot.location.file(), slot.location.line())
        });
        Blocked {
            actor: ActorId(actor),
            name: self.actor_name(actor),
            host: self.hosts.name(record.host),
            waits_in: texts.join(" or "),
            location,
            waits_for,
        }
    }

    fn mailbox_name(&self, mailbox: u32) -> String {
        let name = self.mailboxes.names.get(&mailbox);
        name.map_or_else(
            || format!("mailbox {mailbox}"),
            |name| format!("mailbox \"{name}\""),
        )
    }

    fn describe(&self, actor: u32, slot: &Slot) -> String {
        match slot.code.transition() {
            Transition::Join { target } => format!("join of {}", self.actor_name(target.0)),
            Transition::Wait { activity, .. } => self.describe_activity(activity, actor),
            Transition::WaitAny { list } => {
                let members = self.lists[list as usize].iter();
                let texts: Vec<String> = members
                    .map(|&slot| self.describe_activity(slot, actor))
                    .collect();
                format!("wait for any of: {}", texts.join(", "))
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
            Transition::Test { activity } => format!(
                "a loop of tests of {}",
                self.describe_activity(activity, actor)
            ),
            Transition::Probe { mailbox } => {
                format!("a loop of probes of {}", self.mailbox_name(mailbox))
            }
            Transition::MutexTryLock { mutex } | Transition::MutexTest { mutex } => {
                format!("a loop of tests of mutex {mutex}")
            }
            other => format!("{other:?}"),
        }
    }

    fn describe_activity(&self, slot: u32, actor: u32) -> String {
        let record = Activities::get(&self.activities, slot);
        match record.status {
            Status::Send => format!(
                "put to {}, which nobody gets",
                self.mailbox_name(record.mailbox)
            ),
            Status::Receive => format!(
                "get from {}, to which nobody puts",
                self.mailbox_name(record.mailbox)
            ),
            Status::Ready if record.source == actor => "an activity in progress".to_owned(),
            _ => "an activity".to_owned(),
        }
    }

    /// The actors that hold what the operation waits for.
    fn holders(&self, actor: u32, slot: &Slot) -> Vec<ActorId> {
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
            Transition::Wait { activity, .. } => {
                let record = self.activities.get(activity);
                [record.source, record.destination]
                    .into_iter()
                    .filter(|&other| other != NONE)
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
