//! OpenMP with teams of one thread, for compiled programs with several ranks in a process: the
//! functions that compilers call for directives, and the functions `omp_…` of programs.
//!
//! A thread gets all iterations of a loop and each section, and a task is executed at once. The
//! host gives the time and the memory. Each rank has a state, because another rank may run while a
//! region waits in a call of MPI.
//!
//! *Not modelled*: more threads; devices; cancellation; OpenACC. Only for x86-64.

#![cfg(all(target_arch = "x86_64", unix))]
#![expect(
    unsafe_code,
    reason = "C functions get addresses of the memory of a program"
)]

use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::OnceLock;

mod atomics;
mod gnu;
mod llvm;
mod runtime;
mod state;

pub use state::RankState;

/// The functions of the process in which ranks run. All are called by a rank.
#[derive(Clone, Copy, Debug)]
pub struct Host {
    /// Returns the state of the rank.
    pub state: fn() -> &'static RefCell<RankState>,
    /// Allocates memory, with an alignment and a length in bytes; null if no memory is available.
    pub allocate: extern "C" fn(usize, usize) -> *mut c_void,
    /// Changes the length in bytes of memory.
    pub reallocate: extern "C" fn(*mut c_void, usize) -> *mut c_void,
    /// Frees memory.
    pub free: extern "C" fn(*mut c_void),
    /// Returns the simulated time in seconds.
    pub read_clock: fn() -> f64,
    /// Ends the rank with the name of the current call and a problem.
    pub fail: fn(&str, &str) -> !,
    /// Logs a warning.
    pub warn: fn(&str),
}

static HOST: OnceLock<Host> = OnceLock::new();

fn find_host() -> &'static Host {
    HOST.get().expect("a program gets a function with the host")
}

/// Calls `f` with the state of the rank; `f` does not call the program.
fn with_state<T>(f: impl FnOnce(&mut RankState) -> T) -> T {
    f(&mut (find_host().state)().borrow_mut())
}

fn fail_rank(problem: &str) -> ! {
    (find_host().fail)("OpenMP", problem)
}

fn free_memory(address: *mut c_void) {
    (find_host().free)(address);
}

/// Stores a value at an address that the program gave, unless the address is null.
fn store_value<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: the program gave this place for a value of this type.
        unsafe { place.write_unaligned(value) };
    }
}

/// Returns the value at an address that the program gave.
fn load_value<T: Copy>(place: *const T) -> T {
    if place.is_null() {
        fail_rank("an argument at address 0");
    }
    // SAFETY: the program gave this place of a value of this type.
    unsafe { place.read_unaligned() }
}

/// A function with the same answer for all arguments.
extern "C" fn answer_constant<const ANSWER: isize>() -> isize {
    ANSWER
}

extern "C" fn enter_region() {
    with_state(|state| state.regions.push(state.constructs.len()));
}

extern "C" fn leave_region() {
    wait_for_tasks();
    let begin = with_state(|state| state.regions.pop()).unwrap_or(0);
    while with_state(|state| state.constructs.len()) > begin {
        end_construct();
    }
}

/// A barrier, or a wait for tasks. All tasks were executed at once.
extern "C" fn wait_for_tasks() -> c_int {
    if with_state(|state| state.detached) > 0 {
        fail_rank("a wait for a detached task whose event has not come: there is one thread");
    }
    0
}

/// Makes an event of a detached task.
fn make_event() -> usize {
    with_state(|state| {
        state.detached += 1;
        state.detached
    })
}

/// Enters a task; returns true if the outer task is final.
fn enter_task(is_final: bool) -> bool {
    with_state(|state| {
        let was_final = state.is_final;
        state.is_final |= is_final;
        was_final
    })
}

fn leave_task(was_final: bool) {
    with_state(|state| state.is_final = was_final);
}

/// Takes all iterations of the innermost loop: the first one, the end and the step.
fn take_iterations() -> Option<[i128; 3]> {
    with_state(|state| state.constructs.last_mut()?.iterations.take())
}

/// Ends the innermost loop or sections; returns false: not cancelled.
extern "C" fn end_construct() -> bool {
    let memory = with_state(|state| state.constructs.pop()).map_or(0, |ended| ended.memory);
    free_memory(memory as *mut c_void);
    false
}

extern "C" fn begin_group() {
    with_state(|state| {
        let reductions = state.groups.last().copied();
        state.groups.push(reductions.unwrap_or(0));
    });
}

extern "C" fn end_group() {
    wait_for_tasks();
    with_state(|state| state.groups.pop());
}

/// Division of the iterations of a `taskloop` into tasks.
#[derive(Clone, Copy)]
enum Division {
    Tasks(u64),
    Iterations { least: u64, is_strict: bool },
}

impl Division {
    /// Returns the numbers of iterations of the tasks.
    fn task_lengths(self, count: u64) -> impl Iterator<Item = u64> {
        let (tasks, longest) = match self {
            Self::Tasks(tasks) => (tasks.clamp(1, count.max(1)), None),
            Self::Iterations { least, is_strict } => {
                let least = least.max(1);
                match is_strict {
                    true => (count.div_ceil(least), Some(least)),
                    false => ((count / least).max(1), None),
                }
            }
        };
        let tasks = if count == 0 { 0 } else { tasks };
        (0..tasks).map(move |task| match longest {
            Some(longest) => longest.min(count - task * longest),
            None => count / tasks + u64::from(task < count % tasks),
        })
    }
}

/// Allocates memory of zeros in the heap of the program, so that no value is lost if the rank ends.
fn allocate_zeroed(alignment: usize, bytes: usize) -> *mut c_void {
    let memory = allocate_aligned(alignment, bytes);
    if memory.is_null() {
        fail_rank("out of memory");
    }
    // SAFETY: the memory was just allocated, and is as long.
    unsafe { ptr::write_bytes(memory.cast::<u8>(), 0, bytes) };
    memory
}

extern "C" fn allocate_aligned(alignment: usize, bytes: usize) -> *mut c_void {
    (find_host().allocate)(alignment.max(16), bytes.max(1))
}

/// Returns true if a name is one of the words of a list.
fn is_listed(list: &str, name: &str) -> bool {
    list.split_whitespace().any(|listed| listed == name)
}

/// Returns the address of a function of OpenMP, which uses `host`; the first call decides.
pub fn function_address(symbol: &str, host: &Host) -> Option<usize> {
    let function = if let Some(name) = symbol.strip_prefix("GOMP_") {
        gnu::find_function(name)
    } else if let Some(name) = symbol.strip_prefix("__kmpc_") {
        llvm::find_function(name)
    } else if let Some(name) = symbol.strip_prefix("__tgt_") {
        Some(llvm::find_device_function(name))
    } else {
        runtime::find_function(symbol.strip_prefix("omp_")?)
    };
    HOST.get_or_init(|| *host);
    function.map(|function| function as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_is_divided_as_its_clauses_say() {
        let iterations = |least, is_strict| Division::Iterations { least, is_strict };
        for (division, count, expected) in [
            (Division::Tasks(4), 10, &[3, 3, 2, 2][..]),
            (Division::Tasks(0), 3, &[3]),
            (Division::Tasks(9), 2, &[1, 1]),
            (Division::Tasks(2), 0, &[]),
            (iterations(4, false), 11, &[6, 5]),
            (iterations(4, false), 3, &[3]),
            (iterations(4, true), 11, &[4, 4, 3]),
            (iterations(4, true), 8, &[4, 4]),
        ] {
            let lengths: Vec<u64> = division.task_lengths(count).collect();
            assert_eq!(lengths, expected);
        }
    }
}
