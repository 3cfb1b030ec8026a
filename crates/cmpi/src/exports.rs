//! The functions to which a program is bound: functions of MPI, and functions of the C library with
//! a separate state for each rank.
//!
//! A missing function of MPI is bound to a function that ends the rank with a message, so that a
//! program may refer to functions that it does not call.

#![expect(
    unsafe_code,
    reason = "C functions get addresses of the memory of a program"
)]

use crate::abi;
use crate::bridge::{CallEnd, RankEnd, caller};
use crate::loader::linking::{LocatedFunction, OwnFunctions};

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
                crate::bridge::call(name, crate::exports::CALL_END, move || $body)
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
mod openmp;
mod operations;
mod partitioned;
mod persistent;
pub(crate) mod process;
mod random;
mod sessions;
pub(crate) mod statuses;
pub(crate) mod streams;
mod syscalls;
pub(crate) mod system;
mod texts;
pub(crate) mod time;
mod tools;
mod topologies;
pub(crate) mod waits;
mod windows;

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

/// The end of each call of MPI.
const CALL_END: CallEnd = CallEnd {
    fill_memory: freed::fill_freed,
    call_program: generalized::call_due,
};

/// The functions of this crate to which programs are bound.
pub(crate) const OWN_FUNCTIONS: OwnFunctions = OwnFunctions {
    prepare: streams::install,
    find: located_function,
    terminate: process::terminate,
};

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
fn located_function(symbol: &str) -> Option<LocatedFunction> {
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
        openmp::find_address,
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
    rank.finish(RankEnd::Failed(format!("{name} is not supported{line}")))
}
