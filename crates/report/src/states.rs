//! A state machine as a graph.

#[cfg(feature = "pictures")]
pub(crate) mod picture;

use serde::{Deserialize, Serialize};

/// A state machine to draw.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StateGraph {
    /// Title above the picture.
    pub title: String,
    /// The states, and whether the machine waits in them.
    pub states: Vec<(String, bool)>,
    /// From which state, to which, and why.
    pub transitions: Vec<(usize, usize, String)>,
}
