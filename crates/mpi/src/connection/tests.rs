//! Small worlds in all interleavings, larger worlds at random, and each requirement by name.
//!
//! See `explorer` for the explored states, and `world` for the conditions in every state and at
//! every end.

mod closing;
mod explored;
mod explorer;
mod limits;
mod pairs;
mod requirements;
mod scenarios;
mod world;
