//! Tests and probes: transitions that are always possible and may answer *no*.
//!
//! The first *no* within one state of the simulation is immediate: a program can test, compute and
//! test again at the right dates. When an actor asks the same question again without any event in
//! between, the actor waits for the next event; without such an event the report calls the actor
//! blocked. So a loop of tests ends, costs no simulated time of its own, and never spins. *Not
//! modelled*: the duration of a test.
//!
//! Under an explorer the questions of an actor since its last other action count. A repeated
//! question waits until the answer to one of these questions could be different. So loops over
//! several questions end too.

use super::{Activities, Actors, Objects};
use crate::code::{Code, TransitionKindSet};
use crate::{OperationResult, Transition};

/// After this many negative answers about different objects without any event, the actor waits too.
const FAILURES_MAX: u32 = 1000;

/// A question that was answered, under an explorer.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(super) question: u32,
    /// Answered with yes. The same yes another time is no reason to ask other questions again.
    pub(super) yes: bool,
    version: u64,
    transition: Transition,
    /// The members of a list, which is made anew for every call.
    members: Vec<u32>,
}

impl Activities {
    /// A number that tells questions apart.
    pub(super) fn question_of(&self, transition: Transition, actors: &Actors) -> u32 {
        let code = Code::from(transition);
        // A list is made anew for every call, so all of them count as one question.
        let object = if let Transition::TestAny { list } = transition {
            if actors.mode.is_stepped() {
                let mix = |hash: u32, &slot: &u32| hash.wrapping_mul(31).wrapping_add(slot + 1);
                self.lists[list as usize].iter().fold(7, mix)
            } else {
                0
            }
        } else {
            code.object()
        };
        object.wrapping_mul(64).wrapping_add(u32::from(code.kind()))
    }

    /// Returns true if a question was about work in progress.
    fn is_on_its_way(&self, asked: &Asked) -> bool {
        let mut members = asked.members.iter();
        !asked.yes && members.any(|&slot| self.is_in_progress(slot))
    }

    /// Returns the progress of activities as a number that grows: for each activity 0 before the
    /// start, 1 in progress, 2 when the activity is over.
    fn progress_of_all(&self, members: &[u32]) -> u64 {
        let of_one = |&slot| u64::from(self.has_ended(slot)) + u64::from(self.is_over(slot));
        members.iter().map(of_one).sum()
    }
}

impl Objects {
    /// Returns true if the answer is yes.
    pub(crate) fn poll_succeeds(&self, actor: u32, transition: Transition) -> bool {
        match transition {
            Transition::Test { activity } => self.activities.is_over(activity),
            Transition::TestAny { list } => self.activities.first_over(list).is_some(),
            Transition::Probe { mailbox } => self.mailboxes.has_send(mailbox, &self.activities),
            Transition::MutexTest { mutex } => self.is_owner(mutex, actor),
            Transition::MutexTryLock { mutex } => self.mutexes[mutex as usize].queue.is_empty(),
            other => unreachable!("{other:?} is not a poll"),
        }
    }

    /// Returns true if the actor has asked this question before and no event has happened since.
    pub(crate) fn must_wait(&self, actor: u32, transition: Transition, actors: &Actors) -> bool {
        let Some(extra) = &actors[actor].extra else {
            return false;
        };
        if actors.mode.is_stepped() {
            let question = self.activities.question_of(transition, actors);
            return extra.has_asked(question) && !self.may_ask_again(&extra.asked, question);
        }
        extra.failed_at == actors.progress
            && (extra.failures >= FAILURES_MAX
                || extra.failed_on == self.activities.question_of(transition, actors))
    }

    /// Returns true if a question may be repeated: the answer to an earlier question could now
    /// differ, or a question asked since then is about work in progress. At the next repetition
    /// this work will have ended, so rounds of questions end.
    fn may_ask_again(&self, all: &[Asked], question: u32) -> bool {
        let is_it = |asked: &Asked| !asked.yes && asked.question == question;
        let position = all.iter().position(is_it);
        let since = &all[position.map_or(0, |position| position + 1)..];
        let on_its_way =
            position.is_some_and(|position| self.activities.is_on_its_way(&all[position]));
        all.iter().any(|asked| self.may_differ(asked))
            || (!on_its_way
                && since
                    .iter()
                    .any(|asked| self.activities.is_on_its_way(asked)))
    }

    /// Returns true if a question that was answered with no might be answered otherwise now.
    fn may_differ(&self, asked: &Asked) -> bool {
        match asked.transition {
            Transition::Test { .. } | Transition::TestAny { .. } => {
                self.activities.progress_of_all(&asked.members) != asked.version
            }
            other => self.version_of(other) != asked.version,
        }
    }

    /// Notes an answer, under an explorer.
    fn note_asked(&mut self, actor: u32, transition: Transition, yes: bool, actors: &mut Actors) {
        let question = self.activities.question_of(transition, actors);
        let members = match transition {
            Transition::TestAny { list } => self.activities.lists[list as usize].clone(),
            Transition::Test { activity } => vec![activity],
            _ => Vec::new(),
        };
        let version = match transition {
            Transition::Test { .. } | Transition::TestAny { .. } => {
                self.activities.progress_of_all(&members)
            }
            other => self.version_of(other),
        };
        let asked = Asked {
            question,
            yes,
            version,
            transition,
            members,
        };
        let mut all = std::mem::take(&mut actors[actor].extra().asked);
        let same = all
            .iter()
            .find(|known| known.question == question && known.yes == yes);
        if yes && same.is_some_and(|known| known.version == version) {
            actors[actor].extra().asked = all;
            return;
        }
        if yes || same.is_some() {
            // Another round. What was on its way will have ended when it is asked for again.
            all.retain(|known| {
                let lasts = known.yes || (!yes && self.activities.is_on_its_way(known));
                known.question != question && lasts && !self.may_differ(known)
            });
        }
        all.push(asked);
        actors[actor].extra().asked = all;
    }

    /// Answers a test or a probe.
    pub(crate) fn poll_once(
        &mut self,
        actor: u32,
        transition: Transition,
        branch: u32,
        actors: &mut Actors,
    ) -> OperationResult {
        let let_end = if actors.mode.is_stepped() { branch } else { 0 };
        if let_end == 0 && !self.poll_succeeds(actor, transition) {
            if actors.mode.is_stepped() {
                self.note_asked(actor, transition, false, actors);
                return OperationResult::Bool(false);
            }
            let (progress, question) = (
                actors.progress,
                self.activities.question_of(transition, actors),
            );
            let extra = actors[actor].extra();
            if extra.failed_at == progress {
                extra.failures += 1;
            } else {
                (extra.failed_at, extra.failed_on, extra.failures) = (progress, question, 1);
            }
            return OperationResult::Bool(false);
        }
        if actors.mode.is_stepped() && !matches!(transition, Transition::MutexTryLock { .. }) {
            self.note_asked(actor, transition, true, actors);
        }
        match transition {
            Transition::MutexTryLock { mutex } => {
                if let Some(extra) = &mut actors[actor].extra {
                    extra.asked.clear();
                }
                actors.progress += 1;
                self.enter_mutex(mutex, actor, actors);
                OperationResult::Bool(true)
            }
            Transition::TestAny { .. } if let_end > 0 => OperationResult::Number(let_end - 1),
            Transition::TestAny { list } => {
                OperationResult::Number(self.activities.first_over(list).expect("one is over"))
            }
            _ => OperationResult::Bool(true),
        }
    }
}

impl Actors {
    /// Wakes the actors with a failed test before the latest event. True if there are such actors.
    pub(crate) fn wake_pollers(&mut self) -> bool {
        if self.pollers.is_empty() {
            return false;
        }
        let progress = self.progress;
        let waiting = std::mem::take(&mut self.pollers);
        let mut any = false;
        for actor in waiting {
            let record = &mut self.records[actor as usize];
            if record.dead {
                continue;
            }
            if record.failed_at() == progress {
                self.pollers.push(actor);
            } else if record.fire_slots(|slot| slot.code.is_among(TransitionKindSet::POLLS)) {
                any = true;
                self.schedule_actor(actor);
            }
        }
        any
    }
}

impl super::ActorRecord {
    /// The value of [`Actors::progress`] at the last test that failed; 0 if none has.
    fn failed_at(&self) -> u64 {
        self.extra.as_ref().map_or(0, |extra| extra.failed_at)
    }
}
