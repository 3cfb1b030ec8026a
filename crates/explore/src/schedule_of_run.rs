//! Finds the schedule of a run that no explorer has driven.
//!
//! The run is given as [`Observed`] steps. An arrival is the delivery from the queue of the same
//! name; a look is the next step of the actor; a transition is the step of the actor with the same
//! kind, objects and answer. A failed test that an explorer does not repeat is left out, with the
//! waits of the actor until the next test. The answers to questions about a device are selected as
//! in the run, without rounds of questions that were all answered *no* and asked again.
//!
//! *Not modelled*: dates. If a run depends on dates, a step is not possible or has another answer,
//! and this is reported. A run that takes another course through the same steps by chance is not
//! detected here: compare the output.

use std::collections::{BTreeMap, BTreeSet};

use sim_core::{
    ActorId, Branch, Choice, EnabledStep, Executed, Footprint, Observed, OperationResult,
    OrderSensitivity, Schedule, StepKind, Stepper, TraceEvent,
};

/// Why a run cannot be taken again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotReplayable {
    /// Index of the step in the run, from 0.
    pub position: usize,
    /// The problem, in words.
    pub problem: String,
}

/// Finds the schedule with the steps of a run, for a program that begins for the first time.
pub fn schedule_of_run(stepper: &mut Stepper, run: &[Observed]) -> Result<Schedule, NotReplayable> {
    stepper.restart();
    let mut schedule_of_run = Retrace {
        stepper,
        schedule: Schedule::default(),
        in_vain: BTreeSet::new(),
        told: BTreeMap::new(),
    };
    for (position, step) in run.iter().enumerate() {
        if !schedule_of_run.stepper.failures().is_empty() {
            break;
        }
        let taken = match step {
            Observed::Arrival(queue) => schedule_of_run.arrival(queue),
            Observed::Poll(actor) => schedule_of_run.look(actor.number() - 1),
            &Observed::Answer {
                actor,
                question,
                begun,
                answer,
            } => schedule_of_run.note_answer(actor.number() - 1, begun, (question, answer)),
            Observed::Transition(event) => schedule_of_run.transition(event),
        };
        taken.map_err(|problem| NotReplayable { position, problem })?;
    }
    let told = schedule_of_run.pick_all();
    told.map_err(|problem| NotReplayable {
        position: run.len(),
        problem,
    })?;
    schedule_of_run.let_rest_wait();
    schedule_of_run.let_rest_arrive();
    Ok(schedule_of_run.schedule)
}

struct Retrace<'a> {
    stepper: &'a mut Stepper,
    schedule: Schedule,
    /// Actors in a test that the run repeated and an explorer does not.
    in_vain: BTreeSet<u32>,
    told: BTreeMap<u32, Told>,
}

/// The answers that an actor got since the start of the latest operation.
#[derive(Default)]
struct Told {
    /// Number of operations that the actor had begun.
    begun: u64,
    /// Questions and answers.
    answers: Vec<(u64, u32)>,
    /// Number of answers that have been selected.
    picked: usize,
}

impl Told {
    /// Returns true if no question was asked twice: the actor is in no loop.
    fn is_straight(&self) -> bool {
        let asked: BTreeSet<u64> = self.answers.iter().map(|(question, _)| *question).collect();
        asked.len() == self.answers.len()
    }
}

impl Retrace<'_> {
    fn take_step(&mut self, actor: u32, choice: u32) -> Option<Executed> {
        let branch = self.stepper.branch_of(actor, choice)?;
        let executed = self.stepper.execute_step(actor, choice)?;
        let actor = ActorId::from_number(actor + 1);
        self.schedule.0.push(Choice { actor, branch });
        self.take_only_answers();
        self.deliver_seen();
        Some(executed)
    }

    /// Delivers messages that probes have seen a second time: in a run they have arrived.
    fn deliver_seen(&mut self) {
        let mut next = self.stepper.next_able(self.stepper.actors());
        while let Some(queue) = next {
            if self.stepper.visible_from(queue) == OrderSensitivity::Receives {
                self.take_step(queue, 0);
            }
            next = self.stepper.next_able(queue + 1);
        }
    }

    /// Lets actors continue that stand before the only answer to a question, which a run does not
    /// note.
    fn take_only_answers(&mut self) {
        for actor in 0..self.stepper.actors() {
            if let [only] = self.steps_of(actor, StepKind::Choose)[..] {
                self.take_step(actor, only);
            }
        }
    }

    fn arrival(&mut self, queue: &str) -> Result<(), String> {
        if self.deliver_head(queue)? {
            return Ok(());
        }
        self.pick_all()?;
        if self.deliver_head(queue)? {
            return Ok(());
        }
        Err(format!(
            "a packet arrived ({queue}), and under check none is on its way there"
        ))
    }

    /// Delivers the head of a queue. Returns false if the queue is empty.
    fn deliver_head(&mut self, queue: &str) -> Result<bool, String> {
        let mut next = self.stepper.next_able(self.stepper.actors());
        while let Some(able) = next {
            if self.stepper.name_of(able) == queue {
                let mut enabled_steps = Vec::new();
                self.stepper.enabled_steps(able, &mut enabled_steps);
                let to = enabled_steps
                    .first()
                    .map_or(able, |step| step.footprint.object);
                if self.told.get(&to).is_some_and(Told::is_straight) {
                    self.pick(to)?;
                }
                self.take_step(able, 0);
                return Ok(true);
            }
            next = self.stepper.next_able(able + 1);
        }
        Ok(false)
    }

    /// Records an answer, which is selected when the actor has begun another operation, or when
    /// another actor needs the effects.
    fn note_answer(&mut self, actor: u32, begun: u64, told: (u64, u32)) -> Result<(), String> {
        if self.told.get(&actor).is_some_and(|all| all.begun != begun) {
            self.pick(actor)?;
            self.told.remove(&actor);
        }
        let all = self.told.entry(actor).or_default();
        all.begun = begun;
        all.answers.push(told);
        Ok(())
    }

    fn pick_all(&mut self) -> Result<(), String> {
        let actors: Vec<u32> = self.told.keys().copied().collect();
        actors.into_iter().try_for_each(|actor| self.pick(actor))
    }

    /// Picks the answers that an actor was told.
    fn pick(&mut self, actor: u32) -> Result<(), String> {
        let Some(told) = self.told.get_mut(&actor) else {
            return Ok(());
        };
        let left = without_vain_rounds(&told.answers[told.picked..]);
        told.picked = told.answers.len();
        for (_, answer) in left {
            let answers = self.answers_of(actor);
            let number = Branch::ANSWERS + answer;
            let is_picked = |choice: &&u32| **choice & EnabledStep::TIME_UP == number;
            match answers.iter().find(is_picked) {
                Some(&choice) => {
                    self.take_step(actor, choice);
                }
                // The answer was the only one.
                None if answers.is_empty() => {}
                None => {
                    let name = self.stepper.name_of(actor);
                    return Err(format!("{name} cannot be told answer {answer} under check"));
                }
            }
            if let Some(&look) = self.steps_of(actor, StepKind::Device).first()
                && self.answers_of(actor).is_empty()
            {
                // It has seen a message, and looks at it.
                self.take_step(actor, look);
            }
        }
        Ok(())
    }

    /// The answers that an actor can be told.
    fn answers_of(&self, actor: u32) -> Vec<u32> {
        let mut answers = self.steps_of(actor, StepKind::Choose);
        answers.extend(self.steps_of(actor, StepKind::Device));
        answers.retain(|choice| choice & EnabledStep::TIME_UP >= Branch::ANSWERS);
        answers
    }

    /// The steps of one kind that an actor can take.
    fn steps_of(&self, actor: u32, kind: StepKind) -> Vec<u32> {
        let mut enabled_steps = Vec::new();
        self.stepper.enabled_steps(actor, &mut enabled_steps);
        let of_kind = |step: &&EnabledStep| step.footprint.kind == kind;
        let steps = enabled_steps.iter().filter(of_kind);
        steps.map(|step| step.choice).collect()
    }

    /// Completes the waits for any of several operations that got no answer in the run.
    fn let_rest_wait(&mut self) {
        for actor in 0..self.stepper.actors() {
            let answers = self.answers_of(actor);
            let is_no = |choice: &u32| choice & EnabledStep::TIME_UP == Branch::ANSWERS;
            if let Some(&first) = answers.iter().min().filter(|_| !answers.iter().any(is_no)) {
                self.take_step(actor, first);
            }
        }
    }

    /// A look in vain that was due to the end of a send, or of a computation, has no counterpart.
    fn look(&mut self, actor: u32) -> Result<(), String> {
        self.pick(actor)?;
        if let Some(choice) = self.stepper.first_choice(actor) {
            self.take_step(actor, choice);
        }
        Ok(())
    }

    fn transition(&mut self, event: &TraceEvent) -> Result<(), String> {
        let actor = event.actor.number() - 1;
        let Footprint { kind, .. } = event.footprint;
        let mut enabled_steps = Vec::new();
        self.stepper.enabled_steps(actor, &mut enabled_steps);
        enabled_steps.retain(|enabled_step| is_same(event, enabled_step));
        let Some(enabled_step) = enabled_steps
            .iter()
            .max_by_key(|enabled_step| fits(event, enabled_step))
        else {
            let is_no = is_test(kind) && event.answer == OperationResult::Bool(false);
            if is_no || (self.in_vain.contains(&actor) && is_silent(event.footprint)) {
                self.in_vain.insert(actor);
                return Ok(());
            }
            return Err(self.other_step(event));
        };
        self.in_vain.remove(&actor);
        let before = self.stepper.failures().len();
        let Some(executed) = self.take_step(actor, enabled_step.choice) else {
            return Err(self.other_step(event));
        };
        let has_answer = !matches!(kind, StepKind::AsyncSend | StepKind::AsyncReceive);
        if has_answer
            && self.stepper.failures().len() == before
            && OperationResult::from_code(u64::from(executed.answer)) != event.answer
        {
            let name = self.stepper.name_of(actor);
            let other = OperationResult::from_code(u64::from(executed.answer));
            return Err(format!(
                "{kind:?} of {name} answered {:?}, and under check {other:?}",
                event.answer
            ));
        }
        Ok(())
    }

    fn other_step(&self, event: &TraceEvent) -> String {
        let actor = event.actor.number() - 1;
        let (kind, name) = (event.footprint.kind, self.stepper.name_of(actor));
        let timed_out = if event.answer == OperationResult::Timeout {
            ", whose time was up,"
        } else {
            ""
        };
        let instead = match self.stepper.next_footprint(actor) {
            Some(next) => format!("it stands before {:?}", next.kind),
            None => "it has ended".to_owned(),
        };
        format!("{kind:?} of {name}{timed_out} is not possible under check: {instead}")
    }

    /// Delivers the messages in flight when all actors have ended: no other steps are left.
    fn let_rest_arrive(&mut self) {
        if !self.stepper.failures().is_empty() || !self.stepper.is_finished() {
            return;
        }
        while let Some((queue, _)) = self.stepper.first_step_that(|_| true) {
            if self.take_step(queue, 0).is_none() {
                return;
            }
        }
    }
}

/// The answers to questions without the rounds of *no* that a loop has made before a *yes*.
fn without_vain_rounds(told: &[(u64, u32)]) -> Vec<(u64, u32)> {
    let mut all: Vec<(u64, u32)> = Vec::new();
    // Where the answers after the latest yes begin.
    let mut row = 0;
    for &(question, answer) in told {
        if answer == 0 {
            all.push((question, answer));
            continue;
        }
        let mut round: Vec<(u64, u32)> = Vec::new();
        for one in all.drain(row..).chain([(question, answer)]) {
            if let Some(known) = round.iter().position(|(asked, _)| *asked == one.0) {
                round.truncate(known);
            }
            round.push(one);
        }
        all.extend(round);
        row = all.len();
    }
    all
}

/// Returns true if an enabled step has the kind and the object of a transition.
fn is_same(event: &TraceEvent, enabled_step: &EnabledStep) -> bool {
    let Footprint { kind, object, .. } = event.footprint;
    let of_kind = match enabled_step.footprint.kind {
        StepKind::TestEnded => kind == StepKind::Test,
        StepKind::TestAnyEnded => kind == StepKind::TestAny,
        StepKind::TimeUp => matches!(kind, StepKind::Wait | StepKind::WaitAny),
        StepKind::Withdraw => kind == StepKind::Wait,
        StepKind::TimedJoin => kind == StepKind::Join,
        StepKind::TimedSemaphoreWait => kind == StepKind::SemaphoreWait,
        StepKind::TimedCondvarWait => kind == StepKind::CondvarWait,
        other => other == kind,
    };
    let is_up = matches!(
        enabled_step.footprint.kind,
        StepKind::TimeUp | StepKind::Withdraw
    );
    let may_be_up = matches!(kind, StepKind::Wait | StepKind::WaitAny);
    let ends_so = !may_be_up || is_up == (event.answer == OperationResult::Timeout);
    let about = match kind {
        // A list is made anew for each call.
        StepKind::TestAny => true,
        // What was cancelled has no place any more.
        StepKind::Cancel | StepKind::Wait | StepKind::Test if object == Footprint::NOTHING => true,
        // The footprint of a limit that is up names nothing.
        _ => is_up || enabled_step.footprint.object == object,
    };
    of_kind && ends_so && about
}

/// Ranks the enabled steps of one kind by how well they fit a transition; the highest fits best.
fn fits(event: &TraceEvent, enabled_step: &EnabledStep) -> (bool, bool) {
    let branch = enabled_step.choice & EnabledStep::TIME_UP;
    let fits = match (event.footprint.kind, event.answer) {
        (StepKind::Random | StepKind::WaitAny, OperationResult::Number(number)) => branch == number,
        (StepKind::TestAny, OperationResult::Number(number)) => branch == number + 1,
        (StepKind::Test, OperationResult::Bool(yes)) => {
            (enabled_step.footprint.kind == StepKind::TestEnded) == yes
        }
        (StepKind::Cancel, _) => (branch == 1) == event.cancelled,
        _ => branch == 0,
    };
    (
        enabled_step.footprint.detail == event.footprint.detail,
        fits,
    )
}

/// Returns true for a step that tests without waiting.
const fn is_test(kind: StepKind) -> bool {
    matches!(
        kind,
        StepKind::Probe
            | StepKind::Test
            | StepKind::TestAny
            | StepKind::MutexTest
            | StepKind::MutexTryLock
    )
}

/// Returns true for a step that only lets time pass.
const fn is_silent(footprint: Footprint) -> bool {
    match footprint.kind {
        StepKind::Yield | StepKind::Sleep => true,
        // For a computation.
        StepKind::Wait => footprint.object == Footprint::NOTHING,
        _ => false,
    }
}
