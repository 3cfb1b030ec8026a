//! The rows of a happens-before diagram: the steps that a reader has to see.
//!
//! A message that the network delivers is a step of a queue `network 1 -> 0`. The row of such a
//! step has the lane of the receiving rank, and an arrow from the sending rank. Messages of
//! collective operations and of the protocol are internal: neighbouring internal steps are one row,
//! unless a step is critical. The first steps beyond the limit are one row, too. Dependences
//! through folded steps stay.

use explore::{Timeline, TimelineStep};

/// A row of the diagram.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Row {
    /// The number of the step, or the numbers of the first and the last folded step.
    pub(super) number: String,
    /// The lane of the step; `None` if the row is folded steps.
    pub(super) lane: Option<usize>,
    /// The lane of the sender, if the step delivers a message.
    pub(super) sender: Option<usize>,
    pub(super) text: String,
    /// The source line.
    pub(super) place: String,
    /// The earlier rows on which the step directly depends, and that the lanes do not order.
    pub(super) after: Vec<usize>,
    pub(super) is_critical: bool,
    pub(super) is_concurrent: bool,
}

/// The lanes and the rows of a diagram.
pub(super) struct Rows {
    pub(super) lanes: Vec<String>,
    /// The new position of each lane of the diagram.
    pub(super) new_lanes: Vec<usize>,
    pub(super) rows: Vec<Row>,
}

/// A queue of the network, from rank to rank.
struct NetworkQueue {
    sender: String,
    receiver: String,
    /// True if the messages belong to collective operations or to the protocol.
    is_internal: bool,
}

impl NetworkQueue {
    /// Reads the name of a queue, such as `network 1 -> 0 (context 3)`; the context of a collective
    /// operation is odd.
    fn parse_name(name: &str) -> Option<Self> {
        let (sender, rest) = name.strip_prefix("network ")?.split_once(" -> ")?;
        let (receiver, class) = rest.split_once(' ').unwrap_or((rest, ""));
        let is_number = |text: &str| text.parse::<u32>().is_ok();
        if !is_number(sender) || !is_number(receiver) {
            return None;
        }
        let context = class.rsplit("context ").next().unwrap_or_default();
        let context = context.split([',', ')']).next().unwrap_or_default();
        let is_odd = |context: u32| context % 2 == 1;
        let of_protocol = ["(answers", "(data", "(withdrawals"];
        Some(Self {
            sender: format!("rank {sender}"),
            receiver: format!("rank {receiver}"),
            is_internal: context.parse().is_ok_and(is_odd)
                || of_protocol.iter().any(|start| class.starts_with(start)),
        })
    }
}

/// The reason why a step has no row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Folding {
    Internal,
    Early,
}

/// The numbers of neighbouring folded steps, and their common source line.
struct Folded {
    folding: Folding,
    first: usize,
    last: usize,
    place: String,
}

impl Folded {
    fn into_row(self) -> Row {
        let count = self.last - self.first + 1;
        let steps = match (self.folding, count) {
            (Folding::Internal, 1) => "internal step",
            (Folding::Internal, _) => "internal steps",
            (Folding::Early, 1) => "earlier step",
            (Folding::Early, _) => "earlier steps",
        };
        let first = self.first + 1;
        Row {
            number: match count {
                1 => first.to_string(),
                _ => format!("{first}–{}", self.last + 1),
            },
            lane: None,
            sender: None,
            text: format!("{count} {steps}"),
            place: self.place,
            after: Vec::new(),
            is_critical: false,
            is_concurrent: false,
        }
    }
}

impl Rows {
    /// Returns the rows of a diagram, at most `rows_max` with the ends and the fault, but with each
    /// critical step.
    pub(super) fn from_timeline(timeline: &Timeline, rows_max: usize) -> Self {
        let queues: Vec<_> = (timeline.lanes.iter())
            .map(|name| NetworkQueue::parse_name(name))
            .collect();
        let (lanes, new_lanes) = lanes_of_ranks(timeline, &queues);
        let ends = timeline.ends.len() + usize::from(timeline.fault.is_some());
        let foldings = fold_steps(timeline, &queues, rows_max.saturating_sub(ends));
        let mut folded: Option<Folded> = None;
        let mut rows: Vec<Row> = Vec::new();
        // The rows of each step, or of the causes of a folded step, and causes by lane.
        let mut stand_ins: Vec<Vec<usize>> = Vec::new();
        let mut causes = vec![Vec::new(); timeline.lanes.len()];
        for (position, (step, folding)) in timeline.steps.iter().zip(foldings).enumerate() {
            let before = step.after.iter().flat_map(|&at| stand_ins[at].clone());
            let mut after: Vec<usize> = before.collect();
            after.append(&mut causes[step.lane]);
            after.sort_unstable();
            after.dedup();
            if folded.as_ref().map(|folded| folded.folding) != folding {
                rows.extend(folded.take().map(Folded::into_row));
            }
            if let Some(folding) = folding {
                causes[step.lane].clone_from(&after);
                stand_ins.push(after);
                let folded = folded.get_or_insert_with(|| Folded {
                    folding,
                    first: position,
                    last: position,
                    place: step.place.clone(),
                });
                folded.last = position;
                if folded.place.is_empty() {
                    folded.place.clone_from(&step.place);
                } else if !step.place.is_empty() && folded.place != step.place {
                    "several lines".clone_into(&mut folded.place);
                }
                continue;
            }
            let lane = new_lanes[step.lane];
            let sender = queues[step.lane].as_ref().and_then(|queue| {
                let sender = |name: &String| *name == queue.sender;
                lanes.iter().position(sender)
            });
            after.retain(|&at| rows[at].lane != Some(lane) && rows[at].lane != sender);
            stand_ins.push(vec![rows.len()]);
            rows.push(Row {
                number: (position + 1).to_string(),
                lane: Some(lane),
                sender,
                text: step.text.clone(),
                place: step.place.clone(),
                after,
                is_critical: step.is_critical,
                is_concurrent: step.is_concurrent,
            });
        }
        rows.extend(folded.map(Folded::into_row));
        Self {
            lanes,
            new_lanes,
            rows,
        }
    }
}

/// Returns the lanes with one lane for each rank in place of the queues, and the new position of
/// each lane.
fn lanes_of_ranks(
    timeline: &Timeline,
    queues: &[Option<NetworkQueue>],
) -> (Vec<String>, Vec<usize>) {
    // Actors may have the same name; a rank has the lane of the actor of this name.
    let mut lanes: Vec<(&String, Option<usize>)> = Vec::new();
    for (position, (name, queue)) in timeline.lanes.iter().zip(queues).enumerate() {
        if queue.is_none() {
            lanes.push((name, Some(position)));
        }
    }
    for queue in queues.iter().flatten() {
        for name in [&queue.sender, &queue.receiver] {
            if lanes.iter().all(|&(other, _)| other != name) {
                lanes.push((name, None));
            }
        }
    }
    let rank = |name: &str| name.strip_prefix("rank ")?.parse::<u32>().ok();
    lanes.sort_by_key(|(name, _)| rank(name).map_or((true, 0), |rank| (false, rank)));
    let new_lanes = queues.iter().enumerate().map(|(old, queue)| {
        let position = lanes.iter().position(|&(name, actor)| match queue {
            Some(queue) => *name == queue.receiver,
            None => actor == Some(old),
        });
        position.unwrap_or_default()
    });
    let new_lanes = new_lanes.collect();
    (
        lanes.into_iter().map(|(name, _)| name.clone()).collect(),
        new_lanes,
    )
}

/// Returns for each step why the step has no own row, if so.
fn fold_steps(
    timeline: &Timeline,
    queues: &[Option<NetworkQueue>],
    rows_max: usize,
) -> Vec<Option<Folding>> {
    let steps = &timeline.steps;
    let has_places = steps.iter().any(|step| !step.place.is_empty());
    let is_internal = |step: &TimelineStep| {
        let of_queue = (queues[step.lane].as_ref()).is_some_and(|queue| queue.is_internal);
        !step.is_critical && (of_queue || has_places && step.place.is_empty())
    };
    let mut foldings: Vec<Option<Folding>> = steps
        .iter()
        .map(|step| is_internal(step).then_some(Folding::Internal))
        .collect();
    // Rows from the last step on, where neighbouring internal steps are one row.
    let mut rows = 0;
    let mut beginning = steps.len();
    while beginning > 0 {
        let next = beginning - 1;
        let follows_internal = foldings.get(beginning).is_some_and(Option::is_some);
        let is_new = foldings[next].is_none() || !follows_internal;
        // One row is for all earlier steps.
        let needed = rows + usize::from(is_new) + usize::from(next > 0);
        if needed > rows_max.max(1) {
            break;
        }
        rows += usize::from(is_new);
        beginning = next;
    }
    for (step, folding) in steps.iter().zip(&mut foldings).take(beginning) {
        *folding = (!step.is_critical).then_some(Folding::Early);
    }
    foldings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new_step(lane: usize, place: &str, after: &[usize]) -> TimelineStep {
        TimelineStep {
            lane,
            place: place.to_owned(),
            after: after.to_vec(),
            ..TimelineStep::default()
        }
    }

    fn new_timeline(lanes: &[&str], steps: Vec<TimelineStep>) -> Timeline {
        Timeline {
            lanes: lanes.iter().map(|&name| name.to_owned()).collect(),
            steps,
            ..Timeline::default()
        }
    }

    fn row_numbers(rows: &Rows) -> Vec<&str> {
        rows.rows.iter().map(|row| row.number.as_str()).collect()
    }

    #[test]
    fn folded_steps_keep_dependences_and_the_last_steps() {
        let steps = vec![
            new_step(0, "a:1", &[]),
            new_step(0, "a:2", &[]),
            new_step(1, "", &[1]),
            new_step(1, "b:1", &[]),
        ];
        let mut long = new_timeline(&["a", "b"], steps);
        let all = Rows::from_timeline(&long, 9);
        assert_eq!(row_numbers(&all), ["1", "2", "3", "4"]);
        assert_eq!(all.rows[2].text, "1 internal step");
        assert_eq!(all.rows[3].after, [1]);
        let short = Rows::from_timeline(&long, 3);
        assert_eq!(row_numbers(&short), ["1–2", "3", "4"]);
        assert_eq!(short.rows[0].text, "2 earlier steps");
        long.steps[0].is_critical = true;
        long.steps[2].is_critical = true;
        let short = Rows::from_timeline(&long, 2);
        assert_eq!(row_numbers(&short), ["1", "2", "3", "4"]);
    }

    #[test]
    fn queues_are_arrows_between_ranks() {
        let lanes = [
            "rank 2",
            "network 0 -> 1 (context 1)",
            "network 1 -> 2",
            "network 1 -> 0 (seen by a probe, context 4)",
            "network 2 -> 1 (answers, context 2, tag 7)",
        ];
        let steps = vec![
            new_step(1, "a.c:1", &[]),
            new_step(4, "", &[0]),
            new_step(2, "a.c:2", &[0]),
            new_step(3, "a.c:3", &[1, 2]),
            new_step(0, "a.c:4", &[]),
        ];
        let rows = Rows::from_timeline(&new_timeline(&lanes, steps), 40);
        assert_eq!(rows.lanes, ["rank 0", "rank 1", "rank 2"]);
        assert_eq!(rows.new_lanes, [2, 1, 2, 0, 1]);
        assert_eq!(row_numbers(&rows), ["1–2", "3", "4", "5"]);
        assert_eq!(
            (rows.rows[0].lane, &rows.rows[0].place[..]),
            (None, "a.c:1")
        );
        let ends = |row: &Row| (row.sender, row.lane);
        assert_eq!(ends(&rows.rows[1]), (Some(1), Some(2)));
        assert_eq!(ends(&rows.rows[2]), (Some(1), Some(0)));
        // The receiver of step 3 is not a rank of step 4.
        assert_eq!(rows.rows[2].after, [1]);
        assert_eq!(ends(&rows.rows[3]), (None, Some(2)));
        let twins = new_timeline(&["worker", "worker"], Vec::new());
        assert_eq!(Rows::from_timeline(&twins, 40).new_lanes, [0, 1]);
    }
}
