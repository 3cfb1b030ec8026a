//! The state of a rank that the calls of its program use.
//!
//! *Decided here*: which calls are allowed before `MPI_Init` and after `MPI_Finalize`, and which
//! communicator a handle names. The files of this module need no function of `exports`.

#![expect(unsafe_code, reason = "state of C functions, and memory of a program")]

use std::cell::Cell;
use std::collections::BTreeMap;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use mpi::prelude::*;

use crate::errors::CallError;
use crate::handles::{ActiveRequest, HandleTable, kinds};

pub(crate) mod communicators;
pub(crate) mod library;
pub(crate) mod properties;
pub(crate) mod requests;
pub(crate) mod windows;

use communicators::Communicators;
use library::LibraryState;
use properties::{AttributeTable, ErrorHandlers, InfoObjects};
use requests::{ActiveMemories, GeneralizedRequests, RequestList, UserOp};
use windows::ProgramWindow;

/// `MPI_Comm`, `MPI_Datatype`, `MPI_Request`, …: a pointer that is not followed.
pub(crate) type Handle = usize;

/// Memory of a rank that the calls of the rank use. The fields that each call uses come first.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct MpiState {
    pub(crate) stage: Stage,
    /// The object that the call is about.
    pub(crate) concerned: Cell<Handle>,
    pub(crate) world: Comm,
    /// Memory of operations that are not complete, under a model checker.
    pub(crate) active: ActiveMemories,
    pub(crate) generalized: GeneralizedRequests,
    pub(crate) requests: HandleTable<ActiveRequest, { kinds::REQUEST }>,
    pub(crate) list: RequestList,
    pub(crate) comms: Communicators,
    pub(crate) ops: HandleTable<UserOp, { kinds::OP }>,
    pub(crate) messages: HandleTable<mpi::Message, { kinds::MESSAGE }>,
    pub(crate) groups: HandleTable<Group, { kinds::GROUP }>,
    pub(crate) windows: HandleTable<ProgramWindow, { kinds::WINDOW }>,
    pub(crate) infos: InfoObjects,
    /// Address and length in bytes of the buffers of buffered sends, by the handle of the
    /// communicator; handle 0 has the buffer of all other communicators.
    pub(crate) attached: BTreeMap<Handle, (usize, usize)>,
    pub(crate) errors: ErrorHandlers,
    pub(crate) sessions: HandleTable<(), { kinds::SESSION }>,
    /// Sessions of variables of the tool interface, and how often that was initialised.
    pub(crate) tool_sessions: HandleTable<(), { kinds::TOOL_SESSION }>,
    pub(crate) tool_inits: u32,
    pub(crate) attributes: AttributeTable,
    pub(crate) type_names: BTreeMap<Handle, String>,
    pub(crate) library: LibraryState,
}

/// Progress of a program through MPI.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    Before,
    Initialized,
    Finalized,
}

/// Beginnings of the names of functions that may be called before `MPI_Init` and after
/// `MPI_Finalize`.
pub(crate) const ALWAYS: &[&str] = &[
    "MPI_Init",
    "MPI_Finalized",
    "MPI_Get_version",
    "MPI_Get_library_version",
    "MPI_Abi_",
    "MPI_Error_",
    "MPI_Add_error_",
    "MPI_Remove_error_",
    "MPI_Errhandler_",
    "MPI_Session_",
    "MPI_Info_",
    "MPI_T_",
];

/// `MPI_COMM_WORLD`.
pub(crate) const WORLD: Handle = 0x101;

/// `MPI_COMM_SELF`.
pub(crate) const SELF: Handle = 0x102;

/// The subject of a call of the tool interface, which returns its errors.
pub(crate) const TOOLS: Handle = 0;

/// Returns a communicator of the rank alone.
pub(crate) fn alone(world: &Comm) -> Comm {
    let group = world.group().incl(&[world.rank()]);
    let group = group.expect("a rank is in its world");
    let made = pin!(world.create_group(&group, 0)).poll(&mut Context::from_waker(Waker::noop()));
    match made {
        Poll::Ready(Ok(Some(comm))) => {
            comm.set_name("MPI_COMM_SELF");
            comm
        }
        other => unreachable!("one rank agrees with itself at once: {other:?}"),
    }
}

impl MpiState {
    pub(crate) fn new(world: Comm) -> Self {
        Self {
            concerned: Cell::new(SELF),
            comms: Communicators::default(),
            requests: HandleTable::default(),
            active: ActiveMemories::default(),
            list: RequestList::default(),
            generalized: GeneralizedRequests::default(),
            ops: HandleTable::default(),
            messages: HandleTable::default(),
            groups: HandleTable::default(),
            windows: HandleTable::default(),
            infos: InfoObjects::default(),
            attached: BTreeMap::new(),
            errors: ErrorHandlers::default(),
            sessions: HandleTable::default(),
            tool_sessions: HandleTable::default(),
            tool_inits: 0,
            attributes: AttributeTable::new(world.size()),
            type_names: BTreeMap::new(),
            stage: Stage::Before,
            library: LibraryState::default(),
            world,
        }
    }

    /// Returns an error if a function may not be called now (MPI 5.0, section 11.4.1).
    #[inline]
    pub(crate) fn check_stage(&self, name: &str) -> Result<(), CallError> {
        match self.stage {
            Stage::Initialized => Ok(()),
            _ => self.check_early(name),
        }
    }

    #[cold]
    fn check_early(&self, name: &str) -> Result<(), CallError> {
        let is_always = || {
            let is_handle = name.ends_with("_toint") || name.ends_with("_fromint");
            is_handle || ALWAYS.iter().any(|known| name.starts_with(known))
        };
        let when = match self.stage {
            _ if is_always() || !self.sessions.is_empty() => return Ok(()),
            Stage::Finalized => "after MPI_Finalize",
            _ => "before MPI_Init",
        };
        Err(CallError::new("MPI_ERR_OTHER", format!("called {when}")))
    }

    /// Ends the accesses of other ranks to the memory of this one, which has ended.
    pub(crate) fn close_windows(&mut self) {
        self.windows = HandleTable::default();
    }

    /// Notes that a call begins.
    pub(crate) fn begin_call(&self) {
        self.concerned.set(SELF);
    }

    /// Returns a communicator.
    #[inline]
    pub(crate) fn comm(&self, comm: Handle) -> Result<&Comm, CallError> {
        self.concerned.set(comm);
        match comm {
            WORLD => Ok(&self.world),
            _ => self.other_comm(comm),
        }
    }

    fn other_comm(&self, comm: Handle) -> Result<&Comm, CallError> {
        if let Some(comm) = self.comms.made.get(comm) {
            return Ok(comm);
        }
        if comm == SELF {
            return Ok(self.comms.own.get_or_init(|| alone(&self.world)));
        }
        let text = match comm {
            0x100 => "invalid communicator: MPI_COMM_NULL".to_owned(),
            _ => format!("invalid communicator {comm:#x}"),
        };
        Err(CallError::new("MPI_ERR_COMM", text))
    }

    /// Returns the ranks with which messages are exchanged: for an intercommunicator the ranks of
    /// the remote group.
    #[inline]
    pub(crate) fn peers(&self, comm: Handle) -> Result<&Comm, CallError> {
        let own = self.comm(comm)?;
        if comm == WORLD {
            return Ok(own);
        }
        Ok(self.comms.between.get(&comm).map_or(own, InterComm::remote))
    }

    /// Returns an intercommunicator.
    pub(crate) fn inter(&self, comm: Handle) -> Result<&InterComm, CallError> {
        self.comm(comm)?;
        self.comms.between.get(&comm).ok_or_else(|| {
            let text = "invalid communicator: expected an intercommunicator";
            CallError::new("MPI_ERR_COMM", text)
        })
    }
}
