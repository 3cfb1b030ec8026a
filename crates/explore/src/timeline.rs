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

impl Timeline {
    /// Leaves out steps without a source line, which are inside the message layer, and the first
    /// steps beyond a number of rows. Dependences through these steps, and the critical step, stay.
    #[must_use]
    pub fn shorten_to_rows(mut self, rows: usize) -> Self {
        let steps = std::mem::take(&mut self.steps);
        let count = steps.len();
        let has_places = steps.iter().any(|step| !step.place.is_empty());
        let is_inside = |step: &TimelineStep| has_places && step.place.is_empty();
        let is_shown = |step: &TimelineStep| step.is_critical || !is_inside(step);
        let shown = steps.iter().filter(|step| is_shown(step)).count();
        let mut to_drop = (shown + self.ends.len()).saturating_sub(rows);
        // The new positions of each step or of the causes of a step, and causes by lane.
        let mut stand_ins: Vec<Vec<usize>> = Vec::new();
        let mut causes = vec![Vec::new(); self.lanes.len()];
        for mut step in steps {
            let before = step.after.iter().flat_map(|&at| stand_ins[at].clone());
            let mut after: Vec<usize> = before.collect();
            after.append(&mut causes[step.lane]);
            after.sort_unstable();
            after.dedup();
            let is_early = is_shown(&step) && !step.is_critical && to_drop > 0;
            to_drop -= usize::from(is_early);
            if is_shown(&step) && !is_early {
                stand_ins.push(vec![self.steps.len()]);
                after.retain(|&at| self.steps[at].lane != step.lane);
                step.after = after;
                self.steps.push(step);
            } else {
                causes[step.lane].clone_from(&after);
                stand_ins.push(after);
            }
        }
        let kept = self.steps.len();
        if kept < count {
            let _ = write!(self.title, " ({kept} of {count} steps)");
        }
        self
    }
}

/// Returns the diagram in the language of Graphviz.
pub fn dot_of_timeline(timeline: &Timeline) -> String {
    let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
    let mut dot = format!(
        "digraph run {{\n  label=\"{}\";\n  node [shape=box, fontname=sans];\n",
        quoted(&timeline.title)
    );
    for (lane, name) in timeline.lanes.iter().enumerate() {
        let _ = writeln!(
            dot,
            "  subgraph cluster_{lane} {{\n    label=\"{}\";",
            quoted(name)
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
                quoted(&step.text),
                quoted(&step.place)
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
                quoted(&end.text),
                quoted(&end.place)
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
    dot.push_str("}\n");
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
        assert_eq!(dot.matches("label=").count(), 1 + 2 + 4 + 1, "{dot}");
    }

    #[test]
    fn a_shortened_diagram_keeps_dependences_and_the_last_steps() {
        let step = |lane: usize, place: &str, after: &[usize]| TimelineStep {
            lane,
            place: place.to_owned(),
            after: after.to_vec(),
            ..TimelineStep::default()
        };
        let long = Timeline {
            lanes: vec!["a".to_owned(), "b".to_owned()],
            steps: vec![
                step(0, "a:1", &[]),
                step(0, "a:2", &[]),
                step(1, "", &[1]),
                step(1, "b:1", &[]),
            ],
            title: "run".to_owned(),
            ends: Vec::new(),
        };
        let all = long.clone().shorten_to_rows(9);
        assert_eq!((all.steps.len(), &all.steps[2].after[..]), (3, &[1][..]));
        let mut critical = long.clone();
        for at in [0, 2] {
            critical.steps[at].is_critical = true;
        }
        assert_eq!(critical.shorten_to_rows(3).steps.len(), 3);
        let short = long.shorten_to_rows(2);
        assert_eq!(short.title, "run (2 of 4 steps)");
        assert_eq!(
            (short.steps.len(), &short.steps[1].after[..]),
            (2, &[0][..])
        );
    }
}
