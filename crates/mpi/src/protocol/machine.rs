//! The protocol machines of a connection as data: states, events, actions.
//!
//! A machine is a table of transitions, and executes this table. In a state the machine gets an
//! event (an external event, or the answer to the question of the state), looks up the event in the
//! table, does the action and goes to the next state. An event without a transition in this state
//! is an internal error and ends the run. Each transition counts its executions.
//!
//! Each connection has three machines: [`send_machine()`] for outgoing packets,
//! [`receive_machine()`] for incoming packets, [`credits()`] for reports to the peer about used-up
//! packets. They run if [limits](crate::Limits) are set. Without limits a message takes the path of
//! [`send_machine()`] without any wait, in one step.
//!
//! Source: the send and receive machines follow the design of MPICH's early communication agents
//! (`doc/notes/agent` in its history), with the open points of that design filled in.

pub(crate) mod credits;
pub(crate) mod receive;
pub(crate) mod send;

use std::fmt::{Debug, Write as _};

/// One transition of a table.
#[derive(Debug)]
pub(crate) struct TransitionRow<S, E, A> {
    pub(crate) from: S,
    pub(crate) event: E,
    pub(crate) action: A,
    pub(crate) to: S,
    /// The requirement behind the transition; empty for the frame of the machine.
    pub(crate) requirement: &'static str,
}

/// A transition, for tables that fit on the page.
pub(crate) const fn row<S: Copy, E: Copy, A: Copy>(
    from: S,
    event: E,
    action: A,
    to: S,
    requirement: &'static str,
) -> TransitionRow<S, E, A> {
    TransitionRow {
        from,
        event,
        action,
        to,
        requirement,
    }
}

/// Returns the transition from a state on an event, and counts it in `taken`.
///
/// # Panics
/// If there is no such transition: then the machine is broken.
pub(crate) fn take_transition<S, E, A>(
    rows: &'static [TransitionRow<S, E, A>],
    state: S,
    event: E,
    taken: &mut [u64],
) -> &'static TransitionRow<S, E, A>
where
    S: PartialEq + Debug + Copy,
    E: PartialEq + Debug + Copy,
{
    let found = rows
        .iter()
        .position(|row| row.from == state && row.event == event);
    let Some(at) = found else {
        panic!("a machine in state {state:?} does not know the event {event:?}")
    };
    taken[at] += 1;
    &rows[at]
}

/// A transition of a [`Machine`], in words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transition {
    /// The state in which the transition is taken.
    pub from: String,
    /// Event, or observation of the state.
    pub event: String,
    /// Action; empty if none.
    pub action: String,
    /// The next state.
    pub to: String,
    /// The number of the requirement behind the transition; empty for the frame of the machine.
    pub requirement: &'static str,
}

/// A machine as a graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Machine {
    /// The name of the machine.
    pub name: &'static str,
    /// The states, the first one first.
    pub states: Vec<String>,
    /// The states in which the machine waits for an event; the machine passes through the other
    /// states at once.
    pub waits: Vec<String>,
    /// All transitions.
    pub transitions: Vec<Transition>,
}

impl Machine {
    fn new<S: Debug, E: Debug, A: Debug>(
        name: &'static str,
        rows: &[TransitionRow<S, E, A>],
        waits: &[S],
    ) -> Self {
        let words = |row: &TransitionRow<S, E, A>| {
            let action = format!("{:?}", row.action);
            Transition {
                from: format!("{:?}", row.from),
                event: format!("{:?}", row.event),
                action: if action == "Nothing" {
                    String::new()
                } else {
                    action
                },
                to: format!("{:?}", row.to),
                requirement: row.requirement,
            }
        };
        let transitions: Vec<Transition> = rows.iter().map(words).collect();
        let mut states: Vec<String> = Vec::new();
        for transition in &transitions {
            for state in [&transition.from, &transition.to] {
                if !states.contains(state) {
                    states.push(state.clone());
                }
            }
        }
        Self {
            name,
            states,
            waits: waits.iter().map(|state| format!("{state:?}")).collect(),
            transitions,
        }
    }

    /// The graph in the language of Graphviz: states in which the machine waits are boxes with a
    /// double border.
    #[must_use]
    pub fn to_dot(&self) -> String {
        let mut text = format!("digraph {} {{\n  node [shape=ellipse];\n", self.name);
        for state in &self.waits {
            let _ = writeln!(text, "  {state} [shape=box, peripheries=2];");
        }
        for transition in &self.transitions {
            let (from, to) = (&transition.from, &transition.to);
            let _ = writeln!(text, "  {from} -> {to} [label=\"{}\"];", transition.label());
        }
        text.push_str("}\n");
        text
    }
}

impl Transition {
    /// Event, action and requirement in one line: `Event / Action [M-1]`.
    #[must_use]
    pub fn label(&self) -> String {
        let mut text = self.event.clone();
        if !self.action.is_empty() {
            let _ = write!(text, " / {}", self.action);
        }
        if !self.requirement.is_empty() {
            let _ = write!(text, " [{}]", self.requirement);
        }
        text
    }
}

/// The machine that sends.
#[must_use]
pub fn send_machine() -> Machine {
    Machine::new("send", send::ROWS, &send::WAITS)
}

/// The machine that receives.
#[must_use]
pub fn receive_machine() -> Machine {
    Machine::new("receive", receive::ROWS, &receive::WAITS)
}

/// Returns the machine that reports used-up packets to the peer.
#[must_use]
pub fn credits() -> Machine {
    Machine::new("credits", credits::ROWS, &credits::WAITS)
}

/// All machines.
#[must_use]
pub fn all_machines() -> Vec<Machine> {
    vec![send_machine(), receive_machine(), credits()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_and_an_event_have_one_transition() {
        for machine in all_machines() {
            for (at, one) in machine.transitions.iter().enumerate() {
                let same = |other: &&Transition| other.from == one.from && other.event == one.event;
                let count = machine.transitions.iter().filter(same).count();
                assert_eq!(count, 1, "{} {at}: {one:?}", machine.name);
            }
        }
    }

    #[test]
    fn every_state_is_reached_and_left() {
        for machine in all_machines() {
            for state in &machine.states {
                let mut all = machine.transitions.iter();
                assert!(all.any(|transition| transition.from == *state), "{state}");
                let mut all = machine.transitions.iter();
                assert!(all.any(|transition| transition.to == *state), "{state}");
            }
        }
    }

    /// E7: the graph comes from the table that runs.
    #[test]
    fn e7_graphs_have_an_edge_for_each_transition() {
        for machine in all_machines() {
            let dot = machine.to_dot();
            let edges = dot.lines().filter(|line| line.contains(" -> ")).count();
            assert_eq!(edges, machine.transitions.len());
            assert!(dot.starts_with(&format!("digraph {} {{", machine.name)));
        }
    }
}
