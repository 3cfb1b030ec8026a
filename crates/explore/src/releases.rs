//! Units of semaphores that were released before a wait: the number decides whether the wait is
//! possible without one of the releases.

use sim_core::{Executed, StepKind};

use crate::Event;

/// The events of a semaphore so far.
#[derive(Clone, Copy, Default, Debug)]
struct Semaphore {
    released: u32,
    /// Waits with a time limit, which withdraw their request when the limit expires.
    timed: u32,
}

/// The releases of a run. Events are added and removed at the end only.
#[derive(Clone, Default, Debug)]
pub(crate) struct Releases {
    semaphores: Vec<Semaphore>,
    /// Events with hidden effects.
    hidden: u32,
    /// The position of each wait, and the units released before the wait if no request can have
    /// been withdrawn.
    waits: Vec<(usize, Option<u32>)>,
}

impl Releases {
    #[inline]
    pub(crate) fn push(&mut self, position: usize, event: &Event) {
        if let Some(semaphore) = self.semaphore(event) {
            match event.kind {
                StepKind::SemaphoreUnlock => semaphore.released += 1,
                StepKind::TimedSemaphoreWait => semaphore.timed += 1,
                _ => {
                    let Semaphore { released, timed } = *semaphore;
                    let is_known = timed == 0 && self.hidden == 0;
                    self.waits.push((position, is_known.then_some(released)));
                }
            }
        }
        self.hidden += u32::from(event.effects & Executed::HIDDEN != 0);
    }

    /// Removes the last event.
    #[inline]
    pub(crate) fn pop(&mut self, event: &Event) {
        self.hidden -= u32::from(event.effects & Executed::HIDDEN != 0);
        if let Some(semaphore) = self.semaphore(event) {
            match event.kind {
                StepKind::SemaphoreUnlock => semaphore.released -= 1,
                StepKind::TimedSemaphoreWait => semaphore.timed -= 1,
                _ => {
                    self.waits.pop();
                }
            }
        }
    }

    /// The units released before a wait, if no request can have been withdrawn by then.
    pub(crate) fn before(&self, wait: usize) -> Option<u32> {
        let index = self
            .waits
            .binary_search_by_key(&wait, |&(position, _)| position);
        self.waits[index.ok()?].1
    }

    /// The semaphore of a release or a wait.
    #[inline]
    fn semaphore(&mut self, event: &Event) -> Option<&mut Semaphore> {
        matches!(
            event.kind,
            StepKind::SemaphoreUnlock | StepKind::SemaphoreWait | StepKind::TimedSemaphoreWait
        )
        .then(|| {
            let index = event.object as usize;
            if index >= self.semaphores.len() {
                self.semaphores.resize(index + 1, Semaphore::default());
            }
            &mut self.semaphores[index]
        })
    }
}
