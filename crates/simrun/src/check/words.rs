//! The steps of a finding in words.

use explore::FindingStep;
use sim_core::StepKind;

/// Returns the action of an actor, in words.
pub(super) const fn operation_text(step: &FindingStep) -> &'static str {
    match step.kind {
        StepKind::Yield => "yield",
        StepKind::Sleep => "sleep",
        StepKind::Random => "random",
        StepKind::Create => "create",
        StepKind::Join => "join",
        StepKind::Kill => "kill",
        StepKind::Suspend => "suspend",
        StepKind::Resume => "resume",
        StepKind::AsyncSend => "post send",
        StepKind::AsyncReceive => "post receive",
        StepKind::Probe => "probe",
        StepKind::Test => "test",
        StepKind::TestAny => "test any",
        StepKind::TestEnded => "test, ended",
        StepKind::TestAnyEnded => "test any, ended",
        StepKind::Wait => "wait",
        StepKind::WaitAny => "wait any",
        StepKind::Choose => "answer",
        StepKind::Cancel => "cancel",
        StepKind::MutexAsyncLock => "request lock",
        StepKind::MutexTest => "test lock",
        StepKind::MutexTryLock => "try lock",
        StepKind::MutexWait => "lock",
        StepKind::MutexUnlock => "unlock",
        StepKind::MutexCancel => "cancel lock",
        StepKind::SemaphoreAsyncLock => "request unit",
        StepKind::SemaphoreWait => "acquire",
        StepKind::SemaphoreUnlock => "release",
        StepKind::BarrierAsyncLock => "arrive",
        StepKind::BarrierWait => "leave",
        StepKind::CondvarAsyncLock => "unlock and wait",
        StepKind::CondvarWait => "wake up",
        StepKind::CondvarSignal => "signal",
        StepKind::CondvarBroadcast => "broadcast",
        StepKind::Device => "continue",
        StepKind::SwitchHost => "switch host",
        StepKind::Control => "control",
        StepKind::Deliver => "deliver",
        StepKind::TimeUp => "time is up",
        StepKind::Withdraw => "withdraw",
        StepKind::TimedJoin => "join in time",
        StepKind::TimedSemaphoreWait => "acquire in time",
        StepKind::TimedCondvarWait => "wake up in time",
    }
}

/// Returns the object of a step; empty if the step has no object.
pub(super) fn object(step: &FindingStep) -> String {
    let Some(number) = step.object else {
        return String::new();
    };
    let what = match step.kind {
        StepKind::Create
        | StepKind::Join
        | StepKind::TimedJoin
        | StepKind::Kill
        | StepKind::Suspend
        | StepKind::Resume => "actor",
        // The name of the queue says it, and the actor itself.
        StepKind::Device | StepKind::Deliver | StepKind::Choose => return step.call.clone(),
        StepKind::AsyncSend
        | StepKind::AsyncReceive
        | StepKind::Probe
        | StepKind::Test
        | StepKind::TestEnded
        | StepKind::TestAnyEnded
        | StepKind::Wait
        | StepKind::WaitAny
        | StepKind::Cancel
        | StepKind::Withdraw => "mailbox",
        StepKind::TestAny => "list",
        StepKind::MutexAsyncLock
        | StepKind::MutexTest
        | StepKind::MutexTryLock
        | StepKind::MutexWait
        | StepKind::MutexUnlock
        | StepKind::MutexCancel => "mutex",
        StepKind::SemaphoreAsyncLock
        | StepKind::SemaphoreWait
        | StepKind::TimedSemaphoreWait
        | StepKind::SemaphoreUnlock => "semaphore",
        StepKind::BarrierAsyncLock | StepKind::BarrierWait => "barrier",
        StepKind::CondvarAsyncLock
        | StepKind::CondvarWait
        | StepKind::TimedCondvarWait
        | StepKind::CondvarSignal
        | StepKind::CondvarBroadcast => "condition",
        StepKind::SwitchHost => "host",
        StepKind::Control
        | StepKind::Yield
        | StepKind::Sleep
        | StepKind::Random
        | StepKind::TimeUp => "object",
    };
    format!("{what} {number}")
}

/// Returns the answer of the kernel; empty if there is no answer.
pub(super) fn result_text(step: &FindingStep) -> String {
    // The codes of answers: nothing, no, yes, time is up, and from there on numbers.
    match (step.kind, step.answer) {
        (_, 0) => String::new(),
        (_, 1) => "no".to_owned(),
        (_, 2) => "yes".to_owned(),
        (_, 3) => "timeout".to_owned(),
        (
            StepKind::Random | StepKind::WaitAny | StepKind::TestAny | StepKind::TestAnyEnded,
            number,
        ) => (number - 4).to_string(),
        (StepKind::Choose | StepKind::Device, number) => format!("operation {}", number - 4),
        _ => String::new(),
    }
}
