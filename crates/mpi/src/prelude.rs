//! Names that programs of ranks import together: `use mpi::prelude::*;`.
//!
//! [`Comm`] has the standard sends, receives and probes; a trait adds each other group of calls:
//!
//! | trait | calls |
//! |---|---|
//! | [`SendModes`] | `ssend`, `rsend`, `bsend` and started forms, `buffer_attach` … |
//! | [`PersistentRequests`] | `send_init`, `recv_init`, `psend_init`, `precv_init` |
//! | [`DatatypeMessages`] | `send_view`, `recv_view` and started forms |
//! | [`CollectiveOperations`] | `barrier`, `bcast`, `allreduce`, `alltoall`, `scan` … |
//! | [`CommunicatorManagement`] | `dup`, `split`, `create`, `free`, `group`, `intercomm_create` … |
//! | [`Topologies`] | `cartesian`, `graph` … |
//! | [`OneSided`] | `window` … |
//! | [`Attributes`] | `set_attr`, `set_name`, `set_errhandler` … |
//! | [`TimeControl`] | `sleep`, `compute` … |

pub use crate::{
    ANY_SOURCE, ANY_TAG, Attributes, Blocks, Buffer, CollectiveOperations, Comm,
    CommunicatorManagement, Datatype, DatatypeMessages, Error, ErrorClass, Graph, Group, InterComm,
    OneSided, Op, PROC_NULL, PersistentRequests, Request, Result, SendMode, SendModes, Status,
    TargetPlace, TimeControl, Topologies, Window, start_all, testall, testany, testsome, waitall,
    waitany, waitsome,
};
