//! Findings: the kind of a defect, the message, and the counterexample, step by step.

use sim_core::{
    ActorId, Branch, Choice, ConditionalDeadlock, EnabledStep, Failure, Schedule, StepKind,
    Stepper, WaitGraph,
};

use crate::machine::Machine;
use crate::{End, Event, Path, spinning};

/// Kind of a finding.
#[derive(Clone, PartialEq, Debug)]
pub enum FindingKind {
    /// Actors are left that can never continue.
    Deadlock(WaitGraph),
    /// The same, if some wait where they may wait or continue.
    ConditionalDeadlock(ConditionalDeadlock),
    /// Actors are left, and at least one of them asks the same again and again.
    Livelock(WaitGraph),
    /// The same by a bound: some actors only yield and sleep, and no other actor can take a step.
    Spinning(WaitGraph),
    /// An actor panicked or returned an error, or an invariant did not hold after its step.
    Failure(Failure),
    /// Messages that no actor received, or operations that never completed, in words.
    Leftovers(Vec<String>),
}

impl FindingKind {
    /// A short name: `deadlock`, `livelock`, `panic`, `error`, `invariant` or
    /// `unfinished-operations`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Deadlock(_) | Self::ConditionalDeadlock(_) => "deadlock",
            Self::Livelock(_) | Self::Spinning(_) => "livelock",
            Self::Failure(failure) if failure.invariant.is_some() => "invariant",
            Self::Failure(failure) if failure.panicked => "panic",
            Self::Failure(_) => "error",
            Self::Leftovers(_) => "unfinished-operations",
        }
    }
}

/// One step of a counterexample.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FindingStep {
    /// The actor.
    pub actor: ActorId,
    /// The name of the actor.
    pub name: String,
    /// The source line of the operation, as `file:line`.
    pub line: String,
    /// The call to which the step belongs, with peer and tag, if the device knows the call.
    pub call: String,
    /// Kind of the step.
    pub kind: StepKind,
    /// Number of the mailbox, mutex or other object, or of the other actor, from 1; `None` if there
    /// is none.
    pub object: Option<u32>,
    /// Position among the enabled steps of the actor: the branch of the schedule.
    pub branch: u32,
    /// The answer of the kernel, as a number.
    pub answer: u32,
    /// The vector clock, by actor.
    pub clock: Vec<u32>,
    /// The earlier steps, from 0, on which this step depends directly: the arrows of a
    /// happens-before diagram.
    pub after: Vec<usize>,
}

/// A defect of a program, with a counterexample.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// Kind of the defect.
    pub kind: FindingKind,
    /// The defect in words.
    pub message: String,
    /// The decisions of the counterexample.
    pub replay: Schedule,
    /// The steps of the counterexample.
    pub steps: Vec<FindingStep>,
}

/// Returns true if such an end is to be reported.
pub(crate) const fn is_finding(end: End) -> bool {
    matches!(
        end,
        End::Deadlock
            | End::ConditionalDeadlock
            | End::Livelock
            | End::Spinning
            | End::Failed
            | End::Leftovers
    )
}

impl Finding {
    /// The finding at the end of these events; `None` if the program does not take the same steps
    /// to the same end again.
    pub(crate) fn reproduce_end(stepper: &mut Stepper, events: &[Event], end: End) -> Option<Self> {
        let finding = Self::from_events(stepper, events, end);
        let is_whole = finding.steps.len() == events.len();
        let is_stuck = stepper.next_able(0).is_none();
        let has_failed = !stepper.failures().is_empty();
        let is_same = match end {
            End::Failed => has_failed,
            End::Spinning => {
                is_whole && !has_failed && !spinning::spinners(stepper, events).is_empty()
            }
            End::Leftovers => is_whole && is_stuck && !stepper.leftovers().is_empty(),
            End::ConditionalDeadlock => {
                is_whole && !has_failed && stepper.optional_waits().deadlock().is_some()
            }
            _ => is_whole && is_stuck && !has_failed && !stepper.is_finished(),
        };
        is_same.then_some(finding)
    }

    /// Runs the program along the events and records the steps, up to the first failure if there is
    /// one.
    pub(crate) fn from_events(stepper: &mut Stepper, events: &[Event], end: End) -> Self {
        let own = std::mem::replace(stepper, Stepper::on_one_host(|_| {}));
        let mut machine = Machine::new(own);
        // What is learnt on the way changes what depends on what: then it is written down another
        // time.
        let (replay, steps) = loop {
            if let Some(written) = write_down(&mut machine, events, end) {
                break written;
            }
        };
        let kind = match (machine.stepper.failures().first(), end) {
            (_, End::ConditionalDeadlock) => FindingKind::ConditionalDeadlock(
                (machine.stepper.optional_waits().deadlock()).unwrap_or_default(),
            ),
            (Some(failure), End::Failed) => FindingKind::Failure(failure.clone()),
            (_, End::Leftovers) => FindingKind::Leftovers(machine.stepper.leftovers()),
            (_, End::Livelock) => FindingKind::Livelock(machine.stepper.wait_graph()),
            (_, End::Spinning) => FindingKind::Spinning(machine.stepper.wait_graph()),
            _ => FindingKind::Deadlock(machine.stepper.wait_graph()),
        };
        let message = match &kind {
            FindingKind::Failure(failure) => failure.message.clone(),
            FindingKind::Leftovers(texts) => texts.join("\n"),
            FindingKind::Deadlock(graph) => format!("deadlock\n{graph}"),
            FindingKind::ConditionalDeadlock(ConditionalDeadlock { only_if, graph }) => {
                let conditions = only_if.join(" and ");
                format!("deadlock\noccurs only if {conditions}\n{graph}")
            }
            FindingKind::Livelock(graph) => format!("livelock\n{graph}"),
            FindingKind::Spinning(graph) => {
                let spinners = spinning::spinners(&machine.stepper, events);
                let sentence = spinning::sentence(&machine.stepper, &spinners);
                format!("livelock\n{graph}{sentence}")
            }
        };
        *stepper = machine.stepper;
        Self {
            kind,
            message,
            replay,
            steps,
        }
    }
}

/// The schedule and the steps along the events; `None` if a new fact about the program was found.
fn write_down(
    machine: &mut Machine,
    events: &[Event],
    end: End,
) -> Option<(Schedule, Vec<FindingStep>)> {
    machine.restart();
    let mut path = Path::default();
    let mut steps = Vec::new();
    let mut replay = Schedule::default();
    for event in events {
        if end == End::Failed && !machine.stepper.failures().is_empty() {
            break;
        }
        let actor = u32::from(event.actor);
        if !machine.stepper.has_step(actor) {
            break;
        }
        let branch = machine.stepper.branch_of(actor, event.choice).unwrap_or(0);
        let line = machine.stepper.line_of(actor);
        let mut line = line.map_or_else(String::new, |at| at.to_string());
        let mut call = String::new();
        if let Some(described) = machine.stepper.described(actor) {
            (line, call) = (described.location, described.waits_in);
        }
        let name = machine.stepper.name_of(actor);
        let step = match machine.execute_step(event.actor, event.choice) {
            Ok(Some(step)) => step,
            Ok(None) => break,
            Err(_) => return None,
        };
        let id = ActorId::from_number(actor + 1);
        replay.0.push(Choice { actor: id, branch });
        path.push(&step, &machine.causes, &machine.lists);
        let position = path.len() - 1;
        let races = path.races(position).iter();
        steps.push(FindingStep {
            actor: id,
            name,
            line,
            call,
            kind: step.event.kind,
            object: object(&step.event),
            branch,
            answer: picked_answer(&step.event).unwrap_or(step.answer),
            clock: path.clock(position),
            after: races.map(|&other| other as usize).collect(),
        });
    }
    Some((replay, steps))
}

/// The code of the answer that a step gives to a test, a probe or a wait for any operation, as
/// [`OperationResult::from_code`](sim_core::OperationResult::from_code) reads codes: no, yes, or
/// the position of another operation than the first.
fn picked_answer(event: &Event) -> Option<u32> {
    let is_answer = matches!(event.kind, StepKind::Choose | StepKind::Device);
    let number = event.choice & EnabledStep::TIME_UP;
    let picked = number.checked_sub(Branch::ANSWERS).filter(|_| is_answer)?;
    Some(match picked {
        0 | 1 => 1 + picked,
        number => 4 + (number - 1),
    })
}

/// The number of the object in reports; actors count from 1.
fn object(event: &Event) -> Option<u32> {
    match event.kind {
        StepKind::Join
        | StepKind::TimedJoin
        | StepKind::Create
        | StepKind::Kill
        | StepKind::Suspend
        | StepKind::Resume => Some(event.object + 1),
        _ => (event.object != sim_core::Footprint::NOTHING).then_some(event.object),
    }
}
