//! The model `constant`: every transfer lasts the same time.
//!
//! `T = duration`, 1 s unless set, whatever the size, the hosts and the other transfers.
//! Computations are shared as in all other models. Links and routes are allowed, but do not affect
//! transfers; hosts need no route to communicate.
//!
//! *Not modelled*: the network. A user can observe only the structure of a program (the number of
//! messages that depend on each other).
//!
//! Source: `SimGrid` v4.1, `network/model:Constant`, with the duration as its
//! `network/latency-factor` in seconds. SimGrid's model refuses links; simrun ignores links, so
//! that one platform file serves all models.

use super::parameters::{ModelRow, NetworkModel, NetworkParameters};

/// The row of the model in the list of all.
pub(super) const MODEL: NetworkModel = NetworkModel(&ModelRow {
    name: "constant",
    summary: "constant transfer time",
    preset,
});

/// One second.
fn preset() -> NetworkParameters {
    NetworkParameters {
        model: MODEL,
        compat: None,
        fluid: None,
        ib_penalty_factors: None,
        pair_duplex: None,
        duration: Some("1s".parse().expect("a duration")),
        loggops: None,
        device: None,
        verbs: None,
    }
}
