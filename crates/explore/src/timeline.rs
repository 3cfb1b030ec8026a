//! Happened-before diagrams of executions as data, and in the language of Graphviz.
//!
//! *Not decided here*: positions and colours; the package `report` draws the picture.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

/// The happened-before diagram of an execution.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Timeline {
    /// Title above the diagram.
    pub title: String,
    /// The actors, each with a lane.
    pub lanes: Vec<String>,
    /// The steps in the order in which they happened.
    pub steps: Vec<TimelineStep>,
    /// The actors that have not ended.
    pub ends: Vec<TimelineEnd>,
    /// The fault, if the fault is not that actors wait.
    #[serde(default)]
    pub fault: Option<TimelineFault>,
}

/// The fault at the end of an execution.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TimelineFault {
    /// Position of the lane of the actor at fault, if one actor is.
    pub lane: Option<usize>,
    /// The fault in one line.
    pub text: String,
}

/// A step of an execution.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TimelineStep {
    /// Position of the lane of the actor.
    pub lane: usize,
    /// The operation, with object and result.
    pub text: String,
    /// The source line.
    pub place: String,
    /// The positions of the earlier steps on which this step directly depends.
    pub after: Vec<usize>,
    /// True if this is the critical step.
    pub is_critical: bool,
    /// True if no step of another actor is ordered before or after this step.
    pub is_concurrent: bool,
}

/// An actor that has not ended.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TimelineEnd {
    /// Position of the lane.
    pub lane: usize,
    /// The operation or object for which the actor waits.
    pub text: String,
    /// The source line.
    pub place: String,
    /// The lanes of the actors that could end the wait.
    pub waits_for: Vec<usize>,
}

/// Returns the diagram in the language of Graphviz.
pub fn dot_of_timeline(timeline: &Timeline) -> String {
    let mut dot = format!(
        "digraph run {{\n  label=\"{}\";\n  node [shape=box, fontname=sans];\n",
        quote_text(&timeline.title)
    );
    for (lane, name) in timeline.lanes.iter().enumerate() {
        let _ = writeln!(
            dot,
            "  subgraph cluster_{lane} {{\n    label=\"{}\";",
            quote_text(name)
        );
        let own = |step: &&(usize, &TimelineStep)| step.1.lane == lane;
        let steps: Vec<_> = timeline.steps.iter().enumerate().collect();
        let mut before: Option<usize> = None;
        for (position, step) in steps.iter().filter(own) {
            let colour = match (step.is_critical, step.is_concurrent) {
                (true, _) => ", color=red, fontcolor=red",
                (_, true) => ", color=gray, fontcolor=gray",
                _ => "",
            };
            let _ = writeln!(
                dot,
                "    s{position} [label=\"{} {}\\n{}\"{colour}];",
                position + 1,
                quote_text(&step.text),
                quote_text(&step.place)
            );
            if let Some(before) = before {
                let _ = writeln!(dot, "    s{before} -> s{position} [style=bold];");
            }
            before = Some(*position);
        }
        for end in timeline.ends.iter().filter(|end| end.lane == lane) {
            let _ = writeln!(
                dot,
                "    e{lane} [label=\"{}\\n{}\", color=red, style=dashed];",
                quote_text(&end.text),
                quote_text(&end.place)
            );
            if let Some(before) = before {
                let _ = writeln!(dot, "    s{before} -> e{lane} [style=bold];");
            }
        }
        dot.push_str("  }\n");
    }
    for (position, step) in timeline.steps.iter().enumerate() {
        for before in &step.after {
            let colour = if step.is_critical { " [color=red]" } else { "" };
            let _ = writeln!(dot, "  s{before} -> s{position}{colour};");
        }
    }
    for end in &timeline.ends {
        let blocked = |lane: &&usize| timeline.ends.iter().any(|other| other.lane == **lane);
        for other in end.waits_for.iter().filter(blocked) {
            let _ = writeln!(
                dot,
                "  e{} -> e{other} [color=red, style=dashed, constraint=false];",
                end.lane
            );
        }
    }
    dot.push_str(&dot_of_fault(timeline));
    dot.push_str("}\n");
    dot
}

/// Returns a text between quotes in the language of Graphviz.
fn quote_text(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

/// Returns the node of the fault, after the last step of the actor at fault.
fn dot_of_fault(timeline: &Timeline) -> String {
    let Some(fault) = &timeline.fault else {
        return String::new();
    };
    let text = quote_text(&fault.text);
    let mut dot = format!("  fault [label=\"{text}\", color=red, fontcolor=red];\n");
    let is_own = |step: &TimelineStep| Some(step.lane) == fault.lane;
    if let Some(before) = timeline.steps.iter().rposition(is_own) {
        let _ = writeln!(dot, "  s{before} -> fault [color=red, style=bold];");
    }
    dot
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Timeline {
        let step = |lane: usize, text: &str, after: &[usize]| TimelineStep {
            lane,
            text: text.to_owned(),
            place: "main.rs:7".to_owned(),
            after: after.to_vec(),
            is_critical: text == "lock",
            is_concurrent: text == "sleep",
        };
        Timeline {
            title: "An example".to_owned(),
            lanes: vec!["alice".to_owned(), "bob".to_owned()],
            steps: vec![
                step(0, "send", &[]),
                step(1, "receive", &[0]),
                step(1, "sleep", &[]),
                step(0, "lock", &[1]),
            ],
            ends: vec![TimelineEnd {
                lane: 1,
                text: "waits".to_owned(),
                place: "main.rs:9".to_owned(),
                waits_for: vec![0],
            }],
            fault: Some(TimelineFault {
                lane: Some(0),
                text: "fails".to_owned(),
            }),
        }
    }

    #[test]
    fn graphs_have_the_same_arrows() {
        let dot = dot_of_timeline(&example());
        assert!(
            dot.contains("s0 -> s1;") && dot.contains("s1 -> s3 [color=red];"),
            "{dot}"
        );
        assert!(dot.contains("s0 -> s3 [style=bold];"), "{dot}");
        assert_eq!(dot.matches("label=").count(), 1 + 2 + 4 + 1 + 1, "{dot}");
        assert!(dot.contains("s3 -> fault"), "{dot}");
    }
}
