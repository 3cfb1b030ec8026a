//! The calls of a program: communicators and their groups, buffers and datatypes, sends, receives,
//! requests and probes, errors.
//!
//! *Not decided here*: which message a receive gets ([`matching`](crate::matching)) and when an
//! operation is over ([`protocol`](crate::protocol)).

pub(crate) mod attributes;
pub(crate) mod comm;
pub(crate) mod communicators;
pub(crate) mod create_group;
pub(crate) mod datatype;
pub(crate) mod details;
pub(crate) mod element_mismatch;
pub(crate) mod error;
pub(crate) mod group;
pub(crate) mod intercomm;
pub(crate) mod matched_probe;
pub(crate) mod modes;
pub(crate) mod op;
pub(crate) mod partitioned;
pub(crate) mod persistent;
mod probe;
pub(crate) mod region;
mod reordering;
pub(crate) mod request;
pub(crate) mod several;
pub(crate) mod time;
pub(crate) mod topology;
pub(crate) mod typed_buffer;
pub(crate) mod view;
