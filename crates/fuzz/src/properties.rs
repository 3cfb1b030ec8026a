//! Properties of a run: each is a small function in a separate file. A new property is a file, a
//! `mod` and a line in [`PROPERTIES`].

mod calls;
mod completes;
mod completions;
mod connections;
mod delivery;
mod keepalive;
mod transfers;

use crate::driver::Outcome;
use crate::interaction::Interaction;

/// A property: the name, and a function that returns the violation by a run.
#[derive(Debug)]
pub struct Property {
    /// The name: the class of a failure.
    pub name: &'static str,
    /// Returns the violation by the run; `None` if the property holds.
    pub check: fn(&Interaction, &Outcome) -> Option<String>,
}

/// All properties; the first that is violated names the failure.
pub const PROPERTIES: &[Property] = &[
    Property {
        name: "completes",
        check: completes::find_violation,
    },
    Property {
        name: "completes-without-polling",
        check: completes::check_polling,
    },
    Property {
        name: "calls-succeed",
        check: calls::find_violation,
    },
    Property {
        name: "connections-as-decided",
        check: connections::find_violation,
    },
    Property {
        name: "operations-complete-once",
        check: completions::find_violation,
    },
    Property {
        name: "messages-arrive-as-sent",
        check: delivery::find_violation,
    },
    Property {
        name: "transfers-in-sequence",
        check: transfers::find_violation,
    },
    Property {
        name: "silent-peers-are-reported-once",
        check: keepalive::find_violation,
    },
];
