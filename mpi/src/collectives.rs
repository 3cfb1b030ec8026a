//! Collective operations over point-to-point messages of a communicator.
//!
//! There is one, the barrier; its messages have a context of their own, so that no receive of the
//! program gets one.

mod barrier;
