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
        check: completes::check,
    },
    Property {
        name: "completes-without-polling",
        check: completes::check_polling,
    },
    Property {
        name: "calls-succeed",
        check: calls::check,
    },
    Property {
        name: "connections-as-decided",
        check: connections::check,
    },
    Property {
        name: "operations-complete-once",
        check: completions::check,
    },
    Property {
        name: "messages-arrive-as-sent",
        check: delivery::check,
    },
    Property {
        name: "transfers-in-sequence",
        check: transfers::check,
    },
    Property {
        name: "silent-peers-are-reported-once",
        check: keepalive::check,
    },
];
