//! Names that programs of ranks import together: `use mpi::prelude::*;`.
//!
//! [`Comm`] has the point-to-point calls; a trait for each other group of calls adds its methods.

pub use crate::{
    ANY_SOURCE, ANY_TAG, Attributes, Buffer, CollectiveOperations, Comm, CommunicatorManagement,
    Datatype, DatatypeMessages, Error, ErrorClass, Group, InterComm, OneSided, Op, PROC_NULL,
    PersistentRequests, Request, Result, SendMode, SendModes, Status, TimeControl, Topologies,
    Window, waitall, waitany,
};
