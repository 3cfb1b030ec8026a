//! The functions to which a program is bound: functions of MPI, and functions of the C library with
//! a separate state for each rank.
//!
//! A missing function of MPI is bound to a function that ends the rank with a message, so that a
//! program may refer to functions that it does not call.

#![expect(
    unsafe_code,
    reason = "C functions get addresses of the memory of a program"
)]

use std::cell::{Cell, OnceCell};
use std::collections::{BTreeMap, VecDeque};
use std::ffi::{c_double, c_int};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use mpi::{Completion, prelude::*};

use crate::abi;
use crate::bridge::{End, caller, with};
use crate::errors::CallError;
use crate::handles::{ActiveRequest, Duplicated, Memory, ObjectKind, Table};

mod accesses;
mod active;
mod annotations;
mod attributes;
mod buffered;
mod collectives;
mod communication;
mod communicators;
mod completion;
#[cfg(test)]
mod coverage;
mod derived;
pub(crate) mod descriptors;
mod dynamic;
mod environment;
mod errors;
mod freed;
mod generalized;
mod getopt;
mod graphs;
mod groups;
mod heap;
mod info;
pub(crate) mod long_double;
mod matched;
mod memory;
mod numbers;
mod objects;
mod operations;
mod partitioned;
mod persistent;
pub(crate) mod process;
mod random;
mod sessions;
pub(crate) mod shared;
mod statuses;
pub(crate) mod streams;
mod syscalls;
pub(crate) mod system;
mod texts;
pub(crate) mod time;
mod tools;
mod topologies;
pub(crate) mod waits;
mod windows;

/// Makes C functions that return a code, and the function that finds their addresses.
///
/// A function with a type of counts, as in `fn MPI_Send<N>(…)`, becomes two functions: one with
/// `int`, and a twin for large counts, `MPI_Send_c`, with `MPI_Count` (MPI 5.0, section 19.2).
macro_rules! exports {
    ($($(#[$about:meta])* fn $name:ident $(<$count:ident>)? ($($argument:ident: $kind:ty),* $(,)?) $body:block)*) => {
        $(
            $(#[$about])*
            extern "C" fn $name $(<$count: crate::arguments::Count>)? ($($argument: $kind),*) -> ::std::ffi::c_int {
                let name = exports!(@name $name $(<$count>)?);
                crate::bridge::call(name, move || $body)
            }
        )*

        /// Returns the address of a function of this file.
        pub(super) fn address(name: &str) -> Option<usize> {
            $(exports!(@address name, $name $(<$count>)? ($($kind),*));)*
            None
        }
    };
    (@name $name:ident) => { stringify!($name) };
    (@name $name:ident <$count:ident>) => {
        if $count::IS_LARGE { concat!(stringify!($name), "_c") } else { stringify!($name) }
    };
    (@address $wanted:ident, $name:ident ($($kind:ty),*)) => {
        if $wanted == stringify!($name) {
            let function: extern "C" fn($($kind),*) -> ::std::ffi::c_int = $name;
            return Some(function as usize);
        }
    };
    (@address $wanted:ident, $name:ident <$count:ident> ($($kind:ty),*)) => {
        if $wanted == stringify!($name) {
            type $count = ::std::ffi::c_int;
            let function: extern "C" fn($($kind),*) -> ::std::ffi::c_int = $name::<$count>;
            return Some(function as usize);
        }
        if $wanted == concat!(stringify!($name), "_c") {
            type $count = i64;
            let function: extern "C" fn($($kind),*) -> ::std::ffi::c_int = $name::<$count>;
            return Some(function as usize);
        }
    };
}
pub(crate) use errors::ErrorHandler;
use exports;
pub(crate) use freed::fill_freed;
pub(crate) use generalized::{Generalized, call_due};

/// Functions that equal another function: functions of MPI 1, functions with counts as long as
/// addresses, the end of a communicator, and error handlers of other objects.
const SAME: [(&str, &str); 15] = [
    ("MPI_Attr_delete", "MPI_Comm_delete_attr"),
    ("MPI_Attr_get", "MPI_Comm_get_attr"),
    ("MPI_Attr_put", "MPI_Comm_set_attr"),
    ("MPI_Comm_disconnect", "MPI_Comm_free"),
    ("MPI_Get_elements_x", "MPI_Get_elements_c"),
    ("MPI_Keyval_create", "MPI_Comm_create_keyval"),
    ("MPI_Keyval_free", "MPI_Comm_free_keyval"),
    (
        "MPI_Session_create_errhandler",
        "MPI_Comm_create_errhandler",
    ),
    ("MPI_Status_set_elements_x", "MPI_Status_set_elements_c"),
    ("MPI_Type_get_extent_c", "MPI_Type_get_extent"),
    ("MPI_Type_get_extent_x", "MPI_Type_get_extent"),
    ("MPI_Type_get_true_extent_c", "MPI_Type_get_true_extent"),
    ("MPI_Type_get_true_extent_x", "MPI_Type_get_true_extent"),
    ("MPI_Type_size_x", "MPI_Type_size_c"),
    ("MPI_Win_create_errhandler", "MPI_Comm_create_errhandler"),
];

/// A function to which a symbol is bound through a thunk, which records the line of the call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LocatedFunction {
    pub(crate) address: usize,
    /// Number in the list of functions, for one that is missing.
    pub(crate) number: Option<u32>,
}

/// Returns the function that a symbol of MPI is bound to; `None` for other symbols.
fn mpi_function(symbol: &str) -> Option<LocatedFunction> {
    // A profiling interface of a program calls the same function by its other name.
    let name = symbol.strip_prefix('P').unwrap_or(symbol);
    if !name.starts_with("MPI_") {
        return None;
    }
    let same = SAME.iter().find(|(other, _)| *other == name);
    let found_name = same.map_or(name, |(_, name)| name);
    let found = [
        accesses::address,
        attributes::address,
        buffered::address,
        collectives::address,
        communication::address,
        communicators::address,
        derived::address,
        completion::address,
        environment::address,
        errors::address,
        statuses::address,
        generalized::address,
        graphs::address,
        groups::address,
        info::address,
        matched::address,
        operations::address,
        partitioned::address,
        persistent::address,
        sessions::address,
        tools::address,
        topologies::address,
        windows::address,
    ]
    .into_iter()
    .find_map(|address| address(found_name));
    let found = found
        .or_else(|| environment::time_address(name))
        .or_else(|| numbers::address(name));
    if let Some(address) = found {
        return Some(LocatedFunction {
            address,
            number: None,
        });
    }
    let number = abi::functions().position(|function| function.name == name)?;
    let missing: extern "C" fn(u32) = missing;
    Some(LocatedFunction {
        address: missing as usize,
        number: u32::try_from(number).ok(),
    })
}

/// Returns the function that a symbol is bound to through a thunk, which stores the return address:
/// each function of this crate, since any of them may be named in a message.
pub(crate) fn located_function(symbol: &str) -> Option<LocatedFunction> {
    let located = |address| LocatedFunction {
        address,
        number: None,
    };
    libc_function(symbol)
        .map(located)
        .or_else(|| mpi_function(symbol))
}

/// Returns the address of a function of the C library that this crate has.
fn libc_function(symbol: &str) -> Option<usize> {
    [
        annotations::address,
        descriptors::address,
        dynamic::address,
        getopt::address,
        heap::address,
        process::address,
        random::address,
        streams::address,
        syscalls::address,
        system::address,
        texts::address,
        time::address,
        waits::address,
    ]
    .into_iter()
    .find_map(|address| address(symbol))
}

/// Ends a rank that has called a missing function of MPI; `number` is the number of the function.
extern "C" fn missing(number: u32) {
    let function = abi::functions().nth(number as usize);
    let name = function.map_or("a function of MPI", |function| function.name);
    let rank = caller();
    let line = rank.call_line();
    rank.finish(End::Failed(format!("{name} is not supported{line}")))
}

/// `MPI_Comm`, `MPI_Datatype`, `MPI_Request`, …: a pointer that is not followed.
type Handle = usize;

/// `MPI_Status`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Status {
    source: c_int,
    tag: c_int,
    error: c_int,
    /// Length in bytes (two words), 1 if the request was cancelled, and unused words.
    internal: [c_int; 5],
}

impl Status {
    fn set(&mut self, status: mpi::Status) {
        let is_null = status.source == PROC_NULL;
        self.source = match c_int::try_from(status.source) {
            Ok(source) if !is_null => source,
            _ => crate::arguments::PROC_NULL_IN_C,
        };
        self.tag = c_int::try_from(status.tag).unwrap_or(crate::arguments::ANY_TAG_IN_C);
        self.set_length(status.length);
        self.internal[2] = c_int::from(status.cancelled);
    }

    fn set_length(&mut self, length: u64) {
        let low = u32::try_from(length & 0xffff_ffff).expect("it was masked");
        let high = u32::try_from(length >> 32).expect("it was shifted");
        self.internal[0] = low.cast_signed();
        self.internal[1] = high.cast_signed();
    }

    fn length(&self) -> u64 {
        let [low, high] =
            [self.internal[0], self.internal[1]].map(|half| u64::from(half.cast_unsigned()));
        high << 32 | low
    }

    /// Returns the status of a request that is null or not active (MPI 5.0, section 3.7.3).
    const fn empty() -> Self {
        Self {
            source: -1,
            tag: crate::arguments::ANY_TAG_IN_C,
            error: 0,
            internal: [0; 5],
        }
    }
}

/// Memory of a rank that the calls of the rank use.
#[derive(Debug)]
pub(crate) struct State {
    world: Comm,
    requests: Table<ActiveRequest>,
    /// Memory of operations that are not complete, under a model checker.
    active: active::Active,
    comms: Table<Comm>,
    /// Intercommunicators by handle; `comms` has the local group of each.
    between: BTreeMap<Handle, InterComm>,
    /// Requests of a call about several.
    several: Vec<Request>,
    listed: Vec<Listed>,
    ops: Table<operations::UserOp>,
    /// The communicator of generalized requests, once there was one, and the tag of the latest.
    generalized: OnceCell<Comm>,
    generalized_tag: u32,
    due: VecDeque<generalized::Due>,
    messages: Table<mpi::Message>,
    groups: Table<Group>,
    windows: Table<windows::ProgramWindow>,
    /// Topologies by the handles of their communicators.
    topologies: BTreeMap<Handle, topologies::Topology>,
    infos: Table<info::Info>,
    /// `MPI_INFO_ENV`, after the first use by a call.
    environment: Option<info::Info>,
    /// `MPI_COMM_SELF`, after the first use by a call.
    own: OnceCell<Comm>,
    /// Address and length in bytes of the buffers of buffered sends, by the handle of the
    /// communicator; handle 0 has the buffer of all other communicators.
    attached: BTreeMap<Handle, (usize, usize)>,
    /// The communicator that the call is about.
    concerned: Cell<Handle>,
    handlers: Table<errors::HandlerFunction>,
    sessions: Table<()>,
    /// Sessions of variables of the tool interface, and how often that was initialised.
    tool_sessions: Table<()>,
    tool_inits: u32,
    /// Error handlers of communicators that have one, by their handles.
    error_handlers: BTreeMap<Handle, Handle>,
    added_errors: errors::Added,
    keyvals: Vec<attributes::Keyval>,
    /// Attributes of communicators and datatypes, by their handles.
    attributes: BTreeMap<Handle, attributes::Attributes>,
    /// Attributes for an object that is being made.
    copied: attributes::Attributes,
    predefined: attributes::Predefined,
    /// Hints of communicators, by their handles.
    hints: BTreeMap<Handle, info::Info>,
    type_names: BTreeMap<Handle, String>,
    stage: Stage,
    at_exit: Vec<(usize, usize)>,
    at_quick_exit: Vec<(usize, usize)>,
    at_thread_exit: Vec<(usize, usize)>,
    random: random::Random,
    texts: Box<texts::Texts>,
    system: system::System,
    options: getopt::Scan,
}

/// A request of a call about several.
#[derive(Clone, Debug)]
struct Listed {
    handle: Handle,
    /// Position of the request in the list of the program.
    index: usize,
    memory: Memory,
    comm: Handle,
}

/// Progress of a program through MPI.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Before,
    Initialized,
    Finalized,
}

/// Beginnings of the names of functions that may be called before `MPI_Init` and after
/// `MPI_Finalize`.
const ALWAYS: &[&str] = &[
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
const WORLD: Handle = 0x101;

/// `MPI_COMM_SELF`.
const SELF: Handle = 0x102;

/// The subject of a call of the tool interface, which returns its errors.
const TOOLS: Handle = 0;

/// Returns a communicator of the rank alone.
fn alone(world: &Comm) -> Comm {
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

impl State {
    pub(crate) fn new(world: Comm) -> Self {
        let predefined = attributes::Predefined::new(world.size());
        Self {
            world,
            requests: Table::new(ObjectKind::Request),
            active: active::Active::default(),
            comms: Table::new(ObjectKind::Comm),
            between: BTreeMap::new(),
            several: Vec::new(),
            listed: Vec::new(),
            ops: Table::new(ObjectKind::Op),
            generalized: OnceCell::new(),
            generalized_tag: 0,
            due: VecDeque::new(),
            messages: Table::new(ObjectKind::Message),
            groups: Table::new(ObjectKind::Group),
            windows: Table::new(ObjectKind::Window),
            topologies: BTreeMap::new(),
            infos: Table::new(ObjectKind::Info),
            environment: None,
            own: OnceCell::new(),
            attached: BTreeMap::new(),
            concerned: Cell::new(SELF),
            handlers: Table::new(ObjectKind::ErrorHandler),
            sessions: Table::new(ObjectKind::Session),
            tool_sessions: Table::new(ObjectKind::ToolSession),
            tool_inits: 0,
            error_handlers: BTreeMap::new(),
            added_errors: errors::Added::default(),
            keyvals: Vec::new(),
            attributes: BTreeMap::new(),
            copied: Vec::new(),
            predefined,
            hints: BTreeMap::new(),
            type_names: BTreeMap::new(),
            stage: Stage::Before,
            at_exit: Vec::new(),
            at_quick_exit: Vec::new(),
            at_thread_exit: Vec::new(),
            random: random::Random::default(),
            texts: Box::default(),
            system: system::System::default(),
            options: getopt::Scan::default(),
        }
    }

    /// Returns an error if a function may not be called now (MPI 5.0, section 11.4.1).
    pub(crate) fn check_stage(&self, name: &str) -> Result<(), CallError> {
        let is_always = || {
            let is_handle = name.ends_with("_toint") || name.ends_with("_fromint");
            is_handle || ALWAYS.iter().any(|known| name.starts_with(known))
        };
        let when = match self.stage {
            Stage::Initialized => return Ok(()),
            _ if is_always() || !self.sessions.is_empty() => return Ok(()),
            Stage::Before => "before MPI_Init",
            Stage::Finalized => "after MPI_Finalize",
        };
        Err(CallError::new("MPI_ERR_OTHER", format!("called {when}")))
    }

    /// Ends the accesses of other ranks to the memory of this one, which has ended.
    pub(crate) fn close_windows(&mut self) {
        self.windows = Table::new(ObjectKind::Window);
    }

    /// Notes that a call begins.
    pub(crate) fn begin_call(&self) {
        self.concerned.set(SELF);
    }

    /// Returns a communicator.
    fn comm(&self, comm: Handle) -> Result<&Comm, CallError> {
        self.concerned.set(comm);
        if comm == WORLD {
            return Ok(&self.world);
        }
        if let Some(comm) = self.comms.get(comm) {
            return Ok(comm);
        }
        if comm == SELF {
            return Ok(self.own.get_or_init(|| alone(&self.world)));
        }
        let text = match comm {
            0x100 => "invalid communicator: MPI_COMM_NULL".to_owned(),
            _ => format!("invalid communicator {comm:#x}"),
        };
        Err(CallError::new("MPI_ERR_COMM", text))
    }
}

impl State {
    /// Returns the ranks with which messages are exchanged: for an intercommunicator the ranks of
    /// the remote group.
    fn peers(&self, comm: Handle) -> Result<&Comm, CallError> {
        let own = self.comm(comm)?;
        Ok(self.between.get(&comm).map_or(own, InterComm::remote))
    }

    /// Returns an intercommunicator.
    fn inter(&self, comm: Handle) -> Result<&InterComm, CallError> {
        self.comm(comm)?;
        self.between.get(&comm).ok_or_else(|| {
            let text = "invalid communicator: expected an intercommunicator";
            CallError::new("MPI_ERR_COMM", text)
        })
    }

    /// Stores an intercommunicator and returns the handle.
    fn insert_inter(&mut self, inter: InterComm) -> Handle {
        let handle = self.comms.insert(inter.local().clone());
        self.between.insert(handle, inter);
        handle
    }
}

/// Records the communicator of a call before the other arguments are checked: errors in these
/// arguments go to the error handler of the communicator.
fn about(comm: Handle) -> Result<(), CallError> {
    with(|state| state.comm(comm).map(drop))
}

/// Copies the received data of an operation to the target memory, and sets the status.
fn deliver(completion: &Completion, memory: &Memory, status: *mut Status) {
    let target = match memory {
        Memory::Parts(parts) if parts.is_collective => {
            memory::fill_parts(&parts.result, &completion.buffer);
            memory::set_empty_status(status);
            return;
        }
        Memory::Parts(parts) => parts.result.first().copied().unwrap_or_default(),
        Memory::Message(target) => *target,
        Memory::Generalized(generalized) => {
            let due = generalized.due(status, false);
            return with(|state| state.due.push_back(due));
        }
        Memory::Comm {
            handle,
            original,
            of,
        } => {
            with(|state| {
                let made = match &**of {
                    Duplicated::Comm(of) => of.duplicated(completion),
                    Duplicated::Inter(of) => {
                        let inter = of.duplicated(completion);
                        let local = inter.local().clone();
                        state.between.insert(*handle, inter);
                        local
                    }
                };
                state.comms.put_back(*handle, made);
                state.copy_topology(*original, *handle);
            });
            memory::set_empty_status(status);
            return;
        }
    };
    memory::fill(target, &completion.buffer, completion.status.length);
    memory::set_status(status, completion.status);
}

/// A function that returns a number of seconds.
type SecondsFunction = extern "C" fn() -> c_double;
