//! Small worlds in all interleavings, larger ones by chance, and each requirement by name.
//!
//! See `explorer` for what is explored, and `world` for what is demanded in every state and at
//! every end.

mod closing;
mod explored;
mod explorer;
mod limits;
mod pairs;
mod requirements;
mod scenarios;
mod world;
