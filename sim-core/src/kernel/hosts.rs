//! Hosts that go off and come back: their actors end at that instant, and restarting actors start
//! again.
//!
//! The resource reports the activities on a failed host as failed. The kernel ends them before the
//! actors, so that a partner elsewhere sees a failure and not a cancellation. An actor that is
//! created on a host that is off ends at once. The resource decides whether an actor that had ended
//! before its host went off also starts again.
//!
//! *Not modelled*: waiting for a host to come back. A run is over when no actor is left, even if an
//! actor would be started again later.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::{Actors, Calendar, Kernel};
use crate::simulation::Body;
use crate::{ActivityId, Actor, ActorId, Control, End, HostId, Outcome, Transition, Work};

/// Makes the future of an actor, each time from the beginning.
pub(crate) type Again = Rc<dyn Fn(Actor) -> Body>;

/// An actor that starts again when its host comes back.
struct RestartingActor {
    name: Box<str>,
    host: HostId,
    program: Again,
    /// The actor that runs the program now.
    actor: u32,
    /// True if the host went off while the actor was alive.
    down: bool,
}

/// State of the hosts in the kernel.
#[derive(Default)]
pub(crate) struct HostTable {
    off: BTreeSet<HostId>,
    restarts: Vec<RestartingActor>,
    /// The number, plus one, of the actor that no host failure ends: the fault injector.
    pub(crate) sheltered: u32,
    /// True if, in an untimed run, a host or link of the resource may be off.
    pub(crate) links_changed: bool,
}

impl HostTable {
    /// Returns the actors that end because their host has gone off.
    fn list_doomed(&mut self, host: HostId, actors: &Actors) -> Vec<u32> {
        for restart in &mut self.restarts {
            restart.down |= restart.host == host && !actors[restart.actor].dead;
        }
        let all = (0..).zip(&actors.records);
        let doomed = all.filter(|&(actor, record)| {
            let dies = actor + 1 != self.sheltered;
            dies && record.host == host && record.created && !record.dead
        });
        doomed.map(|(actor, _)| actor).collect()
    }

    /// Returns true if a host is on.
    pub(crate) fn host_is_on(&self, host: HostId) -> bool {
        !self.off.contains(&host)
    }
}

impl Kernel {
    /// Adds and starts an actor that starts again whenever its host comes back.
    pub(crate) fn add_restarting(&mut self, name: &str, host: HostId, program: Again) -> u32 {
        let actor = self.start_again(name, host, &program);
        let down = !self.host_states.host_is_on(host);
        self.host_states.restarts.push(RestartingActor {
            name: name.into(),
            host,
            program,
            actor,
            down,
        });
        actor
    }

    fn start_again(&mut self, name: &str, host: HostId, program: &Again) -> u32 {
        let actor = self.actors.add_actor(Some(name), host);
        let handle = Actor {
            kernel: self.share_self(),
            id: ActorId(actor),
        };
        self.actors[actor].body = Some(program(handle));
        self.start_actor(actor);
        actor
    }

    /// Changes the resource for an actor; activities that fail by the change end at this date.
    pub(crate) fn change_resource(&mut self, transition: Transition) {
        if !self.calendar.is_timed() {
            if let Transition::SwitchHost { host, on } = transition {
                // Nothing runs on it, and the resource need not know.
                return switch_host(self, HostId(host), on);
            }
            self.host_states.links_changed = true;
        }
        let control = match transition {
            Transition::SwitchHost { host, on } => Control::Host {
                host: HostId(host),
                on,
            },
            Transition::Control {
                parameter,
                object,
                value,
            } => Control::new(parameter, object, value),
            other => unreachable!("{other:?} does not change the resource"),
        };
        let now = self.calendar.now;
        let changed = match self.calendar.resource.as_controllable() {
            Some(resource) => resource.control(control, now),
            None => Err(control.refusal_error()),
        };
        if let Err(error) = changed {
            self.stop.get_or_insert(Outcome::BadInput(error.0));
            return;
        }
        let mut ended = std::mem::take(&mut self.calendar.ended);
        let switched =
            self.calendar.is_timed() && self.calendar.resource.advance_to(now, &mut ended);
        ended.sort_unstable_by_key(|(activity, _)| activity.number);
        for (activity, end) in ended.drain(..) {
            self.end_activity(activity, end);
        }
        self.calendar.ended = ended;
        if switched {
            self.note_switched();
        }
    }

    /// Ends and starts actors after hosts have changed their state.
    #[cold]
    pub(crate) fn note_switched(&mut self) {
        let mut switched = Vec::new();
        if let Some(resource) = self.calendar.resource.as_controllable() {
            resource.take_switched(&mut switched);
        }
        for (host, on) in switched {
            switch_host(self, host, on);
        }
    }

    /// Ends an actor on a host that is off.
    pub(super) fn lose_actor(&mut self, actor: u32) {
        if let Some(device) = self.device.clone() {
            device.on_host_off(self, ActorId(actor));
        }
        self.actors.kill_actor(actor);
    }
}

/// Ends or restarts actors because a host goes off or comes back.
#[cold]
fn switch_host(kernel: &mut Kernel, host: HostId, on: bool) {
    kernel
        .counters
        .digest
        .mix(u64::from(host.0) << 8 | u64::from(on), 3);
    kernel.actors.progress += 1;
    if !on && kernel.host_states.off.insert(host) {
        for actor in kernel.host_states.list_doomed(host, &kernel.actors) {
            kernel.lose_actor(actor);
        }
    } else if on && kernel.host_states.off.remove(&host) {
        let resource = kernel.calendar.resource.as_controllable();
        let ended_too = resource.is_some_and(|resource| resource.restarts_ended_actors());
        for position in 0..kernel.host_states.restarts.len() {
            let restart = &mut kernel.host_states.restarts[position];
            if restart.host != host || !(std::mem::take(&mut restart.down) || ended_too) {
                continue;
            }
            let (name, program) = (restart.name.clone(), Rc::clone(&restart.program));
            let actor = kernel.start_again(&name, host, &program);
            kernel.host_states.restarts[position].actor = actor;
        }
    }
}

impl Calendar {
    /// Returns the end of work that begins under an untimed clock: failed if a resource of the work
    /// is off, otherwise done.
    #[cold]
    pub(crate) fn untimed_outcome(&mut self, activity: ActivityId, work: &Work) -> End {
        if self.resource.start(activity, work, self.now).is_err() {
            return End::Done;
        }
        let mut ended = std::mem::take(&mut self.ended);
        // A model says that nothing can move at all only when it is asked for the next date.
        let _ = self.resource.next_event(self.now, self.now);
        self.resource.advance(self.now, &mut ended);
        let end = ended.iter().find(|(other, _)| *other == activity);
        let end = end.map(|&(_, end)| end);
        ended.clear();
        self.ended = ended;
        if end.is_none() {
            self.resource.cancel(activity, self.now);
        }
        end.unwrap_or(End::Done)
    }
}
