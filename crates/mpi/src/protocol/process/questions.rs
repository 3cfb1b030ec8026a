//! The questions of a rank about arrivals so far: without a model checker, when *no* is an answer;
//! under a model checker, the pick of an answer and the wait for a picked *yes*.
//!
//! *Not decided here*: which answers a model checker may pick; see [`crate::protocol::look`].

use observe::SourceLocation;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use super::Process;
use crate::channel::{Interest, Token};
use crate::exploration::{self, CausalityHooks, ExplorationFact};
use crate::protocol::defect::{ProtocolDefect, ProtocolDefects};
use crate::protocol::engine::seen::{learn_unclaimed, receive_claimed_seen};
use crate::protocol::engine::{ProtocolEngine, ScheduleExecutor};
use crate::protocol::look::{Allowed, Answers, LookWindow, NOS_MAX, Question, REPETITIONS_MAX};
use crate::protocol::waiting::Waits;

/// After this many negative answers of tests without any change, the rank waits for one.
const FAILURES_MAX: u32 = 1000;

/// The last questions that were answered with no, where no model checker picks the answers.
#[derive(Clone, Debug, Default)]
pub(super) struct Failures {
    /// The number of changes at that time.
    changes: u64,
    /// The question that was asked first since the latest change or positive answer.
    first: Option<Question>,
    count: u32,
}

impl Process {
    /// Returns true if a test may answer no at once: not if the question is the same as before and
    /// since then no event has happened and the rank has not acted. Such a rank waits for its next
    /// event instead of spinning at one date.
    pub(crate) fn may_answer_false(
        &self,
        changes: u64,
        (location, question): (SourceLocation, Question),
    ) -> bool {
        let mut cold = self.cold();
        let last = &mut cold.failures;
        if last.changes != changes {
            *last = Failures {
                changes,
                ..Failures::default()
            };
        }
        let again = last.first == Some(question) || last.count >= FAILURES_MAX;
        last.first = last.first.or(Some(question));
        last.count = last.count.saturating_add(1);
        drop(cold);
        if !again {
            self.note_answer((location, question), 0);
        }
        !again
    }

    /// Asks a question about arrivals so far.
    pub(crate) fn ask_question<F: Fn(&ProtocolEngine) -> Answers>(
        self: &Rc<Self>,
        question: Question,
        waits: Waits,
        location: SourceLocation,
        answers: F,
    ) -> QuestionCall<F> {
        QuestionCall {
            process: Rc::clone(self),
            question,
            waits,
            location,
            answers,
            events_before: None,
            is_asking: false,
        }
    }

    /// Returns the answer to a question that the model checker picks; `None` if the rank has to
    /// park before.
    fn pick(
        &self,
        at: (SourceLocation, Question),
        (answers, is_late): (&Answers, bool),
        causes: &dyn CausalityHooks,
    ) -> Option<u32> {
        let looks = &mut self.cold().looks;
        if is_late {
            looks.note_late();
            return None;
        }
        let first = u32::from(answers.only_yes);
        if answers.only_yes && answers.yes == 1 && !at.1.is_step() {
            return Some(first);
        }
        let allowed = match answers.only_yes {
            true => Allowed::Any,
            false => looks.allowed(self.begun.get(), at),
        };
        let picked = match allowed {
            Allowed::Nothing => {
                note_bound(causes, allowed, at);
                return None;
            }
            Allowed::No => 0,
            Allowed::Any | Allowed::Last => {
                let (question, range) = (at.1.number_at(at.0), first..answers.yes + 1);
                causes.pick_answer(question, range, answers.sees_arrivals)?
            }
        };
        note_bound(causes, allowed, at);
        match picked {
            0 => looks.note_no(allowed, at, answers.is_ready),
            _ if !answers.only_yes => looks.note_yes(),
            _ => {}
        }
        Some(picked)
    }

    /// Notes the answer to a question that no model checker picks, 0 for *no*.
    pub(crate) fn note_answer(
        &self,
        (location, question): (SourceLocation, Question),
        answer: u32,
    ) {
        let number = question.number_at(location);
        exploration::note_answer(&*self.channel, number, self.begun.get(), answer);
    }

    /// Notes a probe that was answered *yes*: the program has new information, so each question may
    /// be asked once more.
    pub(crate) fn record_success(&self) {
        if let Some(cold) = &mut *self.cold.borrow_mut() {
            cold.failures.first = None;
        }
    }

    /// Returns true if the rank stays only because a model checker has picked an answer that
    /// another run gets, too.
    pub(super) fn is_covered(&self) -> bool {
        let engine = self.engine.borrow();
        let awaited = self.awaited.borrow();
        awaited.iter().any(|awaited| awaited.is_covered(&engine))
            || engine.requests.operations.awaits_cancelled()
            || engine.windows.reads_in_vain()
            || (self.stays.get() && self.cold().looks.is_covered())
    }
}

/// The answer to a question.
#[derive(Debug)]
pub(crate) enum PickedAnswer {
    /// No model checker picks the answer: the call looks itself.
    Unpicked,
    /// *No*.
    No,
    /// The *yes* with this number, which the call waits for.
    Yes(u32, AwaitedYes),
}

/// A call that waits for the *yes* that the model checker has picked.
#[derive(Debug)]
pub(super) struct Awaited {
    /// The wait in words.
    pub(super) waits: Waits,
    /// The answer that was picked.
    picked: u32,
    /// The operations of which each can end the wait, if *no* is not an answer.
    pub(super) one_of: Vec<Token>,
}

impl Awaited {
    /// Returns true if runs with other answers show all that can happen. One stands for all in
    /// which none of the operations ever ends.
    fn is_covered(&self, engine: &ProtocolEngine) -> bool {
        self.picked > 1 || self.one_of.is_empty() || self.is_over(engine)
    }

    fn is_over(&self, engine: &ProtocolEngine) -> bool {
        self.one_of
            .iter()
            .any(|token| engine.requests.is_done(*token))
    }
}

/// A rank waits for the *yes* that the model checker has picked, as long as this lives.
#[derive(Debug)]
pub(crate) struct AwaitedYes(Rc<Process>);

impl Drop for AwaitedYes {
    fn drop(&mut self) {
        self.0.awaited.borrow_mut().pop();
        exploration::note_fact(&*self.0.channel, ExplorationFact::LookEnded);
    }
}

/// Returns the answers that seeded defects leave to a question.
fn leave_answers(
    defects: ProtocolDefects,
    (question, looks): (Question, &LookWindow),
    mut answers: Answers,
) -> Answers {
    use ProtocolDefect as D;
    if defects.has(D::LowestIndexOnly) && matches!(question, Question::Several(..)) {
        answers.yes = answers.yes.min(1);
    }
    if defects.has(D::CancelAlwaysWins) && matches!(question, Question::Cancel(_)) {
        answers.yes = 0;
    }
    answers.only_yes |= defects.has(D::LookSeesArrivals) && answers.is_ready;
    answers.only_yes |= defects.has(D::SecondNoForbidden) && looks.has_no(question);
    answers
}

/// The future of [`Process::ask_question`].
#[must_use = "an operation does nothing until it is awaited"]
pub(crate) struct QuestionCall<F> {
    process: Rc<Process>,
    question: Question,
    waits: Waits,
    location: SourceLocation,
    answers: F,
    /// Number of events when the question was asked, if arrivals decide the answers.
    events_before: Option<u64>,
    /// The rank is parked until an answer is picked.
    is_asking: bool,
}

impl<F> QuestionCall<F> {
    fn set_asking(&mut self, is_asking: bool) {
        let count = &self.process.asking;
        match (self.is_asking, is_asking) {
            (false, true) => count.set(count.get() + 1),
            (true, false) => count.set(count.get() - 1),
            _ => {}
        }
        self.is_asking = is_asking;
    }
}

/// Tells the bound that the allowed answers are, if they are one.
fn note_bound(
    causes: &dyn CausalityHooks,
    allowed: Allowed,
    (location, question): (SourceLocation, Question),
) {
    let bound = match (allowed, question) {
        (Allowed::Last, Question::Read(_)) => format!(
            "a read that has had one result {NOS_MAX} times in a row has another next, or the same \
             until the loop ends"
        ),
        (Allowed::Last, _) => format!(
            "a look that has said no {NOS_MAX} times in a row says yes next, or no until the loop \
             ends"
        ),
        (Allowed::Nothing, Question::Read(_)) => {
            format!("a loop that has read one result {REPETITIONS_MAX} times reads without end")
        }
        _ => return,
    };
    causes.note_fact(ExplorationFact::Bound(&format!("{bound} ({location})")));
}

impl<F: Fn(&ProtocolEngine) -> Answers + Unpin> Future for QuestionCall<F> {
    type Output = PickedAnswer;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<PickedAnswer> {
        let this = self.get_mut();
        let process = Rc::clone(&this.process);
        let engine = &mut *process.engine.borrow_mut();
        let channel = &*process.channel;
        let causes = match engine.requests.rare.is_empty() {
            true => None,
            false => exploration::causality(channel),
        };
        let Some(causes) = causes else {
            return Poll::Ready(PickedAnswer::Unpicked);
        };
        process.handle_events(engine);
        if engine.requests.has_ready() {
            ScheduleExecutor::new(engine, channel).advance_ready();
        }
        process
            .cold()
            .looks
            .note_events(engine.requests.count_events());
        let (at, answers) = ((this.location, this.question), (this.answers)(engine));
        let cold = process.cold();
        let answers = leave_answers(engine.defects, (this.question, &cold.looks), answers);
        drop(cold);
        let events = engine.requests.count_events();
        if answers.sees_arrivals {
            this.events_before.get_or_insert(events);
        }
        if let (Question::Probe(pattern), false) = (&this.question, this.is_asking) {
            learn_unclaimed(engine, channel, pattern);
        }
        let is_late = this.events_before.is_some_and(|before| before != events);
        let Some(picked) = process.pick(at, (&answers, is_late), causes) else {
            process.stays.set(process.cold().looks.stays());
            this.set_asking(!process.stays.get());
            process.wait_in(engine, this.waits, this.location);
            channel.park(Some(context.waker()), Interest::All);
            return Poll::Pending;
        };
        this.set_asking(false);
        process.stays.set(false);
        process
            .blocked
            .borrow_mut()
            .remove_pending(this.waits, this.location);
        if let Question::Test(token) = this.question
            && engine.defects.has(ProtocolDefect::TestedSendBuffered)
            && let Some(record) = engine.requests.rare.causality()
        {
            record.note_buffered(channel, token);
        }
        if picked == 0 {
            if let Question::Probe(pattern) = this.question {
                receive_claimed_seen(engine, channel, &pattern);
            }
            return Poll::Ready(PickedAnswer::No);
        }
        // The news may have come after a change of the memory that the rank has read.
        process.cold().looks.forget_other_read(this.question);
        engine
            .requests
            .note_cause(|record| record.note_look(channel, &answers.one_of));
        process.awaited.borrow_mut().push(Awaited {
            waits: this.waits,
            picked,
            one_of: answers.one_of,
        });
        Poll::Ready(PickedAnswer::Yes(
            picked - 1,
            AwaitedYes(Rc::clone(&process)),
        ))
    }
}

impl<F> Drop for QuestionCall<F> {
    fn drop(&mut self) {
        self.set_asking(false);
        self.process.forget(self.waits, self.location);
    }
}
