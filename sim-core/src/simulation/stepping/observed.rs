//! Observations of a program by an explorer, besides its steps: descriptions of its calls, the
//! contents that they send, the calls that read the time, the messages received from any source,
//! and the end of a run.
//!
//! *Not modelled*: the contents of messages between mailboxes; only a device reports contents.

use source_location::SourceLocation;

use super::Stepper;
use crate::{ActorId, Blocked, Note, SendCall, WildcardReceive};

impl Stepper {
    /// Returns true if every actor that is not a daemon has ended, or the run is
    /// [covered](crate::RunFindings::is_covered) by others.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.simulation.kernel.borrow().actors.live == 0 || self.is_covered()
    }

    /// Returns true if the end of the run is not a result, because other runs continue at the point
    /// where this run stopped an actor.
    #[must_use]
    pub fn is_covered(&self) -> bool {
        let device = self.device.as_ref();
        device.is_some_and(|device| device.is_covered())
    }

    /// Returns the messages of this run that were received from any source, in order, as far as the
    /// device knows them.
    #[must_use]
    pub fn wildcard_receives(&self) -> Vec<WildcardReceive> {
        let mut all = Vec::new();
        self.visit_received(&mut |one| all.push(*one));
        all
    }

    /// Calls `show` with each of the messages of [`Stepper::wildcard_receives`].
    pub fn visit_received(&self, show: &mut dyn FnMut(&WildcardReceive)) {
        let kernel = self.simulation.kernel.borrow();
        kernel.exploration.wildcard_receives.iter().for_each(show);
    }

    /// The source line of the operation in which an actor waits.
    #[must_use]
    pub fn line_of(&self, actor: u32) -> Option<SourceLocation> {
        (self.simulation.kernel.borrow().actors).line_of(ActorId(actor))
    }

    /// Returns the number of units that a semaphore had at first.
    #[must_use]
    pub fn initial_units(&self, semaphore: u32) -> u32 {
        self.simulation.kernel.borrow().objects.semaphores[semaphore as usize].initial
    }

    /// Returns true if the device has stopped an actor because the actor only let time pass.
    #[must_use]
    pub fn is_spinning(&self, actor: u32) -> bool {
        let device = self.device.as_ref();
        device.is_some_and(|device| device.is_spinning(ActorId(actor)))
    }

    /// Returns the device's description of an actor that waits for the device, or of the next
    /// arrival from a queue.
    #[must_use]
    pub fn described(&self, actor: u32) -> Option<Blocked> {
        let device = self.device.as_ref()?;
        match actor.checked_sub(self.actors()) {
            Some(queue) => device.describe_queue(queue).head,
            None => device.describe(ActorId(actor)),
        }
    }

    /// Notes from now on the sending calls and the contents that they send. Restarts the run.
    pub fn compare_sends(&mut self) {
        self.simulation.kernel.borrow_mut().exploration.sends = Some(Vec::new());
        self.restart();
    }

    /// The calls that have sent messages in this run, in order, as far as the device tells them.
    #[must_use]
    pub fn sends(&self) -> Vec<SendCall> {
        (self.simulation.kernel)
            .borrow()
            .exploration
            .sends
            .clone()
            .unwrap_or_default()
    }

    /// Returns the source locations, as `file:line`, at which the program has read the stopped
    /// clock in any run so far.
    #[must_use]
    pub fn clock_reads(&self) -> Vec<String> {
        let kernel = self.simulation.kernel.borrow();
        let word = |at: &SourceLocation| at.to_string();
        kernel.exploration.clock_reads.iter().map(word).collect()
    }

    /// Calls `visit` with each note of the device in this run.
    pub fn visit_notes(&self, visit: &mut dyn FnMut(&Note)) {
        (self.simulation.kernel)
            .borrow()
            .exploration
            .notes
            .iter()
            .for_each(visit);
    }
}
