//! Functions that do not return an error code: numbers of handles (MPI 5.0, section 20.4) and sums
//! of addresses.
//!
//! The number of a predefined handle is the handle itself. A number without an object becomes a
//! handle that each call refuses.

#![expect(non_snake_case, reason = "the names of the standard")]

use std::ffi::c_int;

use crate::bridge::{with_datatypes, with_state};
use crate::handles::HandleTable;
use crate::state::Handle;

fn number<T, const KIND: u8>(table: &HandleTable<T, KIND>, handle: Handle) -> c_int {
    let number = table
        .handle_number(handle)
        .and_then(|number| c_int::try_from(number).ok());
    number.unwrap_or(-1)
}

fn handle<T, const KIND: u8>(table: &HandleTable<T, KIND>, number: c_int) -> Handle {
    let number = usize::try_from(number).ok();
    number
        .and_then(|number| table.find_handle(number))
        .unwrap_or(usize::MAX)
}

/// Exports functions from handles to numbers and back, of the handles of tables.
macro_rules! numbers {
    ($($to:ident, $from:ident, $with:ident, |$all:ident| $table:expr;)*) => {
        $(
            extern "C" fn $to(given: Handle) -> c_int {
                $with(|$all| number(&$table, given))
            }

            extern "C" fn $from(given: c_int) -> Handle {
                $with(|$all| handle(&$table, given))
            }
        )*

        /// Returns the address of a function of this file.
        pub(super) fn address(name: &str) -> Option<usize> {
            let to: extern "C" fn(Handle) -> c_int = match name {
                $(stringify!($to) => $to,)*
                _ => {
                    let from: extern "C" fn(c_int) -> Handle = match name {
                        $(stringify!($from) => $from,)*
                        _ => return sum_address(name),
                    };
                    return Some(from as usize);
                }
            };
            Some(to as usize)
        }
    };
}

numbers! {
    MPI_Comm_toint, MPI_Comm_fromint, with_state, |state| state.comms.made;
    MPI_Errhandler_toint, MPI_Errhandler_fromint, with_state, |state| state.errors.made;
    MPI_Group_toint, MPI_Group_fromint, with_state, |state| state.groups;
    MPI_Info_toint, MPI_Info_fromint, with_state, |state| state.infos.made;
    MPI_Message_toint, MPI_Message_fromint, with_state, |state| state.messages;
    MPI_Op_toint, MPI_Op_fromint, with_state, |state| state.ops;
    MPI_Request_toint, MPI_Request_fromint, with_state, |state| state.requests;
    MPI_Session_toint, MPI_Session_fromint, with_state, |state| state.sessions;
    MPI_Win_toint, MPI_Win_fromint, with_state, |state| state.windows;
    MPI_Type_toint, MPI_Type_fromint, with_datatypes, |all| *all;
}

extern "C" fn MPI_Aint_add(base: isize, displacement: isize) -> isize {
    base.wrapping_add(displacement)
}

extern "C" fn MPI_Aint_diff(one: isize, other: isize) -> isize {
    one.wrapping_sub(other)
}

fn sum_address(name: &str) -> Option<usize> {
    let function: extern "C" fn(isize, isize) -> isize = match name {
        "MPI_Aint_add" => MPI_Aint_add,
        "MPI_Aint_diff" => MPI_Aint_diff,
        _ => return None,
    };
    Some(function as usize)
}
