//! Start and end of MPI, ranks and sizes, versions (MPI 5.0, chapters 7, 9 and 11).
//!
//! *Not modelled*: `MPI_Finalize` takes no time; a rank waits for its own sends at the end of the
//! program.

#![expect(non_snake_case, reason = "the names of the standard")]

use std::ffi::{c_char, c_double, c_int, c_void};

use mpi::NativeLocation;

use super::objects::about;
use super::{attributes, memory};
use crate::bridge::{block, read_clock, with_datatypes, with_state};
use crate::errors::CallError;
use crate::state::{Handle, SELF, Stage, WORLD};

/// `MPI_THREAD_FUNNELED`.
pub(super) const FUNNELED: c_int = 1024;

/// Resolution of `MPI_Wtime` in seconds: dates are double-precision numbers of seconds.
const TICK: c_double = 1e-9;

fn init() -> Result<(), CallError> {
    with_state(|state| match state.stage {
        Stage::Before => {
            state.stage = Stage::Initialized;
            Ok(())
        }
        _ => Err(CallError::new("MPI_ERR_OTHER", "called a second time")),
    })
}

/// The number of lines of a program that a report of objects lists.
const LINES_MAX: usize = 3;

/// Describes objects of a kind that were never freed, with the lines that made them.
fn describe_unfreed(kind: &str, made: &[Option<&'static NativeLocation>]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in made.iter().flatten().map(ToString::to_string) {
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    let places = match lines.len() {
        0 => String::new(),
        1..=LINES_MAX => format!(", made at {}", lines.join(", ")),
        count => {
            let listed = lines[..LINES_MAX].join(", ");
            format!(", made at {listed} and {} other lines", count - LINES_MAX)
        }
    };
    format!("{} {kind} were never freed{places}", made.len())
}

extern "C" fn MPI_Wtime() -> c_double {
    read_clock()
}

extern "C" fn MPI_Wtick() -> c_double {
    TICK
}

/// Returns the address of a function of time.
pub(super) fn time_address(name: &str) -> Option<usize> {
    let function: extern "C" fn() -> c_double = match name {
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
        memory::store(flag, c_int::from(with_state(|state| state.stage != Stage::Before)));
        Ok(())
    }

    fn MPI_Finalized(flag: *mut c_int) {
        memory::store(flag, c_int::from(with_state(|state| state.stage == Stage::Finalized)));
        Ok(())
    }

    fn MPI_Finalize() {
        // Refused before MPI_Init and after MPI_Finalize.
        about(WORLD)?;
        attributes::delete_all(SELF)?;
        attributes::delete_all(WORLD)?;
        with_state(|state| {
            state.stage = Stage::Finalized;
            // Those that are active are reported as never waited for.
            let persistent = state.requests.objects().filter(|it| !it.request.is_active());
            let persistent = vec![None; persistent.count()];
            state.requests.clear();
            let datatypes = with_datatypes(|made| made.clear());
            for (kind, made) in [
                ("persistent requests", persistent),
                ("datatypes", datatypes),
                ("operations", state.ops.clear()),
                ("groups", state.groups.clear()),
            ] {
                if !made.is_empty() {
                    state.world.note_unfreed(describe_unfreed(kind, &made));
                }
            }
            Ok(())
        })
    }

    fn MPI_Abort(_comm: Handle, code: c_int) {
        block(async |state| state.world.abort(code).await)
    }

    fn MPI_Comm_rank(comm: Handle, rank: *mut c_int) {
        let found = with_state(|state| Ok::<_, CallError>(state.comm(comm)?.rank()))?;
        memory::store(rank, c_int::try_from(found).unwrap_or(c_int::MAX));
        Ok(())
    }

    fn MPI_Comm_size(comm: Handle, size: *mut c_int) {
        let found = with_state(|state| Ok::<_, CallError>(state.comm(comm)?.size()))?;
        memory::store(size, c_int::try_from(found).unwrap_or(c_int::MAX));
        Ok(())
    }

    fn MPI_Get_processor_name(name: *mut c_char, length: *mut c_int) {
        memory::store_text(name, length, &with_state(|state| state.world.host_name()), 256);
        Ok(())
    }

    fn MPI_Pcontrol(_level: c_int) {
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

    fn MPI_Abi_get_info(info: *mut Handle) {
        let sizes = ["mpi_aint_size", "mpi_count_size", "mpi_offset_size"];
        let pairs = sizes.map(|key| (key.to_owned(), "8".to_owned()));
        memory::store(info, with_state(|state| state.infos.made.insert(pairs.to_vec())));
        Ok(())
    }

    fn MPI_Abi_get_fortran_info(info: *mut Handle) {
        // There is no Fortran.
        memory::store(info, super::info::INFO_NULL);
        Ok(())
    }

    fn MPI_Abi_get_fortran_booleans(_size: c_int, _true: *mut c_void, _false: *mut c_void, is_set: *mut c_int) {
        memory::store(is_set, 0);
        Ok(())
    }

    fn MPI_Get_hw_resource_info(info: *mut Handle) {
        // No part of a host is known.
        memory::store(info, with_state(|state| state.infos.made.insert(Vec::new())));
        Ok(())
    }

    fn MPI_Get_library_version(text: *mut c_char, length: *mut c_int) {
        memory::store_text(text, length, concat!("simrun ", env!("CARGO_PKG_VERSION")), 8192);
        Ok(())
    }

    fn MPI_Alloc_mem(size: isize, _info: Handle, base: *mut *mut c_void) {
        let size = usize::try_from(size).map_err(|_| {
            let text = format!("invalid size {size}: expected at least 0");
            CallError::new("MPI_ERR_ARG", text)
        })?;
        // SAFETY: the function has no precondition.
        let found = unsafe { libc::malloc(size.max(1)) };
        if found.is_null() {
            let text = format!("{size} bytes of memory are not there");
            return Err(CallError::new("MPI_ERR_NO_MEM", text));
        }
        memory::store(base, found);
        Ok(())
    }

    fn MPI_Free_mem(base: *mut c_void) {
        // SAFETY: the program says that `MPI_Alloc_mem` has returned the address, or null.
        unsafe { libc::free(base) };
        Ok(())
    }

    fn MPI_Get_address(location: *const c_void, address: *mut isize) {
        memory::store(address, (location as usize).cast_signed());
        Ok(())
    }
}
