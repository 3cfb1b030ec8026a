//! The tests of platform files, in one executable.

mod connection;
mod corpus;
mod library;
mod mistakes;
mod never_panics;
mod noise;
mod overrides;
mod platforms;
mod reference;
mod topologies;
mod zones;
