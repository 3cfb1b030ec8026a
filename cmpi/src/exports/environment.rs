//! Start and end of MPI, ranks and sizes, versions, errors (MPI 5.0, chapters 7, 9 and 11).
//!
//! *Not modelled*: `MPI_Finalize` takes no time; a rank waits for its own sends when its program
//! ends. Error handlers are those of `MPI_COMM_WORLD`.

#![expect(non_snake_case, reason = "the names of the standard")]

use std::ffi::{c_char, c_double, c_int, c_void};

use super::{Handle, SecondsFunction, Stage, exports, memory};
use crate::abi;
use crate::bridge::{block, read_clock, with};
use crate::errors::{CallError, class_of};

/// `MPI_THREAD_FUNNELED`.
const FUNNELED: c_int = 1024;

/// Resolution of `MPI_Wtime` in seconds: dates are double-precision numbers of seconds.
const TICK: c_double = 1e-9;

fn init() -> Result<(), CallError> {
    with(|state| match state.stage {
        Stage::Before => {
            state.stage = Stage::Initialized;
            Ok(())
        }
        _ => Err(CallError::new("MPI_ERR_OTHER", "called a second time")),
    })
}

extern "C" fn MPI_Wtime() -> c_double {
    read_clock()
}

extern "C" fn MPI_Wtick() -> c_double {
    TICK
}

/// Returns the address of a function of time.
pub(super) fn time_address(name: &str) -> Option<usize> {
    let function: SecondsFunction = match name {
        "MPI_Wtime" => MPI_Wtime,
        "MPI_Wtick" => MPI_Wtick,
        _ => return None,
    };
    Some(function as usize)
}

exports! {
    fn MPI_Init(_argc: *mut c_int, _argv: *mut c_void) {
        init()
    }

    fn MPI_Init_thread(_argc: *mut c_int, _argv: *mut c_void, required: c_int, provided: *mut c_int) {
        memory::store(provided, required.min(FUNNELED));
        init()
    }

    fn MPI_Query_thread(provided: *mut c_int) {
        memory::store(provided, FUNNELED);
        Ok(())
    }

    fn MPI_Is_thread_main(flag: *mut c_int) {
        memory::store(flag, 1);
        Ok(())
    }

    fn MPI_Initialized(flag: *mut c_int) {
        memory::store(flag, c_int::from(with(|state| state.stage != Stage::Before)));
        Ok(())
    }

    fn MPI_Finalized(flag: *mut c_int) {
        memory::store(flag, c_int::from(with(|state| state.stage == Stage::Finalized)));
        Ok(())
    }

    fn MPI_Finalize() {
        with(|state| {
            // Refused before MPI_Init and after MPI_Finalize.
            state.comm(super::WORLD)?;
            state.stage = Stage::Finalized;
            Ok(())
        })
    }

    fn MPI_Abort(_comm: Handle, code: c_int) {
        block(async |state| state.world.abort(code).await)
    }

    fn MPI_Comm_rank(comm: Handle, rank: *mut c_int) {
        let found = with(|state| Ok::<_, CallError>(state.comm(comm)?.rank()))?;
        memory::store(rank, c_int::try_from(found).unwrap_or(c_int::MAX));
        Ok(())
    }

    fn MPI_Comm_size(comm: Handle, size: *mut c_int) {
        let found = with(|state| Ok::<_, CallError>(state.comm(comm)?.size()))?;
        memory::store(size, c_int::try_from(found).unwrap_or(c_int::MAX));
        Ok(())
    }

    fn MPI_Comm_set_errhandler(comm: Handle, handler: Handle) {
        let is = |name| abi::constant(name) == i64::try_from(handler).ok();
        with(|state| {
            state.comm(comm)?;
            state.returns_errors = is("MPI_ERRORS_RETURN");
            if state.returns_errors || is("MPI_ERRORS_ARE_FATAL") || is("MPI_ERRORS_ABORT") {
                return Ok(());
            }
            Err(CallError::new("MPI_ERR_ARG", "error handlers of the program are not supported"))
        })
    }

    fn MPI_Comm_get_errhandler(comm: Handle, handler: *mut Handle) {
        let returns = with(|state| state.comm(comm).map(|_| state.returns_errors))?;
        let name = if returns { "MPI_ERRORS_RETURN" } else { "MPI_ERRORS_ARE_FATAL" };
        let found = abi::constant(name).and_then(|value| Handle::try_from(value).ok());
        memory::store(handler, found.unwrap_or_default());
        Ok(())
    }

    fn MPI_Errhandler_free(handler: *mut Handle) {
        let null = abi::constant("MPI_ERRHANDLER_NULL").and_then(|null| Handle::try_from(null).ok());
        memory::store(handler, null.unwrap_or_default());
        Ok(())
    }

    fn MPI_Get_processor_name(name: *mut c_char, length: *mut c_int) {
        memory::store_text(name, length, &with(|state| state.world.host_name()), 256);
        Ok(())
    }

    fn MPI_Pcontrol(_level: c_int) {
        Ok(())
    }

    fn MPI_Error_class(code: c_int, class: *mut c_int) {
        memory::store(class, code);
        Ok(())
    }

    fn MPI_Error_string(code: c_int, text: *mut c_char, length: *mut c_int) {
        memory::store_text(text, length, class_of(code).unwrap_or("unknown error"), 512);
        Ok(())
    }

    fn MPI_Get_version(version: *mut c_int, subversion: *mut c_int) {
        memory::store(version, 5);
        memory::store(subversion, 0);
        Ok(())
    }

    fn MPI_Abi_get_version(version: *mut c_int, subversion: *mut c_int) {
        memory::store(version, 1);
        memory::store(subversion, 0);
        Ok(())
    }

    fn MPI_Get_library_version(text: *mut c_char, length: *mut c_int) {
        memory::store_text(text, length, concat!("simrun ", env!("CARGO_PKG_VERSION")), 8192);
        Ok(())
    }

    fn MPI_Get_address(location: *const c_void, address: *mut isize) {
        memory::store(address, (location as usize).cast_signed());
        Ok(())
    }
}
