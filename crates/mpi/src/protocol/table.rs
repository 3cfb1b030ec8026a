//! State machines as data: the machine executes the same table that tests cover and that graphs
//! show.
//!
//! A table has a row for each state, event and guard, with the actions and the next state, and a
//! list of the events that are impossible in a state with the reason. [`TransitionTable::gaps`]
//! reports a pair that is in neither as a mistake.
//!
//! *Not decided here*: the effect of an action. A machine looks up the row, takes the next state,
//! and then does the actions in their order, so that an answer which comes during the actions finds
//! the new state.

use std::fmt::Debug;

use crate::protocol::machine::{self, Machine};

/// A state or an event of a table, with its position among all states or events.
pub trait TableIndex: Copy {
    /// From 0, in the order of the declaration.
    fn number(self) -> usize;
}

/// No row, in [`TransitionTable::index`].
pub(crate) const NO_ROW: u8 = u8::MAX;

/// The [`TransitionTable::index`] of some rows, made when the program is compiled: `index!(ROWS,
/// STATES, EVENTS)`.
macro_rules! index {
    ($rows:expr, $states:expr, $events:expr) => {{
        const INDEX: [u8; $states.len() * $events.len()] = {
            let mut index = [crate::protocol::table::NO_ROW; $states.len() * $events.len()];
            assert!(
                $rows.len() < crate::protocol::table::NO_ROW as usize,
                "rows have 8 bits"
            );
            let mut number = $rows.len();
            while number > 0 {
                number -= 1;
                let row = &$rows[number];
                #[expect(clippy::cast_possible_truncation, reason = "there are fewer rows")]
                {
                    index[row.from as usize * $events.len() + row.event as usize] = number as u8;
                }
            }
            index
        };
        &INDEX
    }};
}
pub(crate) use index;

/// Numbers the values of some types in the order of their declaration.
macro_rules! number_in_order {
    ($($of:ty),*) => {
        $(impl crate::protocol::table::TableIndex for $of {
            fn number(self) -> usize {
                self as usize
            }
        })*
    };
}
pub(crate) use number_in_order;

/// One row: in this state, at this event, if the guard says so.
#[derive(Debug)]
pub struct Transition<S: 'static, E: 'static, G: 'static, A: 'static> {
    /// The state before.
    pub from: S,
    /// Event.
    pub event: E,
    /// Further condition.
    pub guard: G,
    /// Actions, in this order, after the state has changed.
    pub actions: &'static [A],
    /// The state after.
    pub to: S,
    /// The number of the requirement or the section of the specification from which the row comes.
    pub requirement: &'static str,
}

/// Events that cannot happen in a state.
#[derive(Debug)]
pub struct Impossible<S: 'static, E: 'static> {
    /// The state.
    pub state: S,
    /// The events.
    pub events: &'static [E],
    /// Why not.
    pub reason: &'static str,
}

/// A row with a guard.
pub(crate) const fn when<S, E, G, A>(
    from: S,
    event: E,
    guard: G,
    actions: &'static [A],
    to: S,
    requirement: &'static str,
) -> Transition<S, E, G, A> {
    Transition {
        from,
        event,
        guard,
        actions,
        to,
        requirement,
    }
}

/// Events that cannot happen in a state, and why not.
pub(crate) const fn never<S, E>(
    state: S,
    events: &'static [E],
    reason: &'static str,
) -> Impossible<S, E> {
    Impossible {
        state,
        events,
        reason,
    }
}

/// The table of a state machine.
#[derive(Debug)]
pub struct TransitionTable<S: 'static, E: 'static, G: 'static, A: 'static> {
    /// Name of the machine.
    pub name: &'static str,
    /// All states; the first one is the initial one.
    pub states: &'static [S],
    /// All events.
    pub events: &'static [E],
    /// Transitions; the rows of a state and an event stand together.
    pub rows: &'static [Transition<S, E, G, A>],
    /// For each state, event by event, the number of the first row; 255 if there is no row.
    pub index: &'static [u8],
    /// Impossible pairs of state and event.
    pub impossible: &'static [Impossible<S, E>],
}

impl<S, E, G, A> TransitionTable<S, E, G, A>
where
    S: TableIndex + PartialEq + Debug,
    E: TableIndex + PartialEq + Debug,
    G: Copy + PartialEq + Debug + Default,
    A: Copy + Debug,
{
    /// Returns the number of the row for a state, an event and a guard; `None` if the machine does
    /// not allow the event. The time depends on the number of guards for this state and event, not
    /// on the size of the table.
    #[must_use]
    pub fn find_row(&self, from: S, event: E, guard: G) -> Option<usize> {
        let first = self.index[from.number() * self.events.len() + event.number()];
        let first = usize::from(first);
        let rows = self.rows.get(first..)?.iter();
        let mut same = rows.take_while(|row| row.from == from && row.event == event);
        same.position(|row| row.guard == guard)
            .map(|place| first + place)
    }

    /// Returns the mistakes of the table: pairs of state and event without a row or a reason, pairs
    /// with both, and rows that are there twice or do not stand together.
    #[must_use]
    pub fn gaps(&self) -> Vec<String> {
        let mut gaps = Vec::new();
        for &state in self.states {
            for &event in self.events {
                let rows = self.rows.iter();
                let is_here = rows
                    .filter(|row| row.from == state && row.event == event)
                    .count();
                let excluded = self.impossible.iter();
                let excluded = excluded.filter(|entry| entry.state == state);
                let is_excluded = excluded.flat_map(|entry| entry.events).any(|&e| e == event);
                match (is_here, is_excluded) {
                    (0, false) => gaps.push(format!("nothing for {state:?}, {event:?}")),
                    (1.., true) => gaps.push(format!("both for {state:?}, {event:?}")),
                    _ => {}
                }
            }
        }
        for (number, row) in self.rows.iter().enumerate() {
            let found = self.find_row(row.from, row.event, row.guard);
            if found != Some(number) {
                gaps.push(format!("twice or apart: {:?}, {:?}", row.from, row.event));
            }
        }
        gaps
    }

    /// Returns the machine as a graph; the machine waits in all states that have a next state.
    #[must_use]
    pub fn machine(&self) -> Machine {
        let words = |row: &Transition<S, E, G, A>| {
            let event = if row.guard == G::default() {
                format!("{:?}", row.event)
            } else {
                format!("{:?} [{:?}]", row.event, row.guard)
            };
            let actions = row.actions.iter().map(|action| format!("{action:?}"));
            machine::Transition {
                from: format!("{:?}", row.from),
                event,
                action: actions.collect::<Vec<_>>().join(", "),
                to: format!("{:?}", row.to),
                requirement: row.requirement,
            }
        };
        let is_left = |state: &&S| self.rows.iter().any(|row| row.from == **state);
        let waits = self.states.iter().filter(is_left);
        Machine {
            name: self.name,
            states: self.states.iter().map(|s| format!("{s:?}")).collect(),
            waits: waits.map(|s| format!("{s:?}")).collect(),
            transitions: self.rows.iter().map(words).collect(),
        }
    }
}
