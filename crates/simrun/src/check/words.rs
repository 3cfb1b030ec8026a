//! The steps of a finding in words.

use explore::FindingStep;
use sim_core::StepKind;

/// Returns the object of a step; empty if the step has no object.
pub(super) fn object(step: &FindingStep) -> String {
    let Some(number) = step.object else {
        return String::new();
    };
    match (step.kind, step.kind.object_kind()) {
        // The name of the queue says it, and the actor itself.
        (StepKind::Device | StepKind::Deliver | StepKind::Choose, _) => step.call.clone(),
        (_, kind) => format!("{} {number}", kind.unwrap_or("object")),
    }
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
