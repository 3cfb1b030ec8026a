//! The functions `omp_…` of programs, for C and Fortran, and locks. The memory of a lock has the
//! whole state of the lock.

use std::ffi::{c_int, c_void};
use std::ptr;

use crate::{
    allocate_aligned, allocate_zeroed, answer_constant, fail_rank, find_host, free_memory,
    is_listed, load_value, store_value, with_state,
};

const EINVAL: isize = 22;

/// Functions with the answer 1, and with the answer 0 or none: settings have no effect.
const ONE: &str = "get_num_threads get_max_threads get_num_procs get_thread_limit \
    get_max_active_levels get_supported_active_levels get_num_teams is_initial_device \
    target_is_present init_allocator get_default_allocator";
const ZERO: &str = "get_thread_num in_parallel get_dynamic get_nested get_cancellation \
    get_active_level get_proc_bind get_num_places get_place_num_procs get_place_proc_ids \
    get_partition_num_places get_partition_place_nums get_team_num get_max_teams \
    get_teams_thread_limit get_max_task_priority get_num_devices get_device_num \
    get_default_device get_initial_device get_affinity_format set_num_threads set_dynamic \
    set_nested set_max_active_levels set_num_teams set_teams_thread_limit set_default_device \
    set_default_allocator set_affinity_format destroy_allocator display_env display_affinity \
    capture_affinity pause_resource pause_resource_all";

/// Seconds of a clock tick.
const TICK: f64 = 1e-9;

extern "C" fn wall_time() -> f64 {
    (find_host().read_clock)()
}

const extern "C" fn clock_tick() -> f64 {
    TICK
}

extern "C" fn current_level() -> c_int {
    with_state(|state| c_int::try_from(state.regions.len()).unwrap_or(c_int::MAX))
}

/// Returns the answer for each level of regions around the code, otherwise -1.
extern "C" fn answer_of_level<const ANSWER: c_int>(wanted: c_int) -> c_int {
    match (0..=current_level()).contains(&wanted) {
        true => ANSWER,
        false => -1,
    }
}

extern "C" fn answer_of_level_at<const ANSWER: c_int>(wanted: *const c_int) -> c_int {
    answer_of_level::<ANSWER>(load_value(wanted))
}

extern "C" fn is_final() -> c_int {
    with_state(|state| state.is_final.into())
}

extern "C" fn set_schedule(kind: c_int, chunk: c_int) {
    with_state(|state| state.schedule = (kind, chunk));
}

extern "C" fn set_schedule_at(kind: *const c_int, chunk: *const c_int) {
    set_schedule(load_value(kind), load_value(chunk));
}

extern "C" fn get_schedule<T: From<c_int>>(kind: *mut c_int, chunk: *mut T) {
    let found = with_state(|state| state.schedule);
    store_value(kind, found.0);
    store_value(chunk, found.1.into());
}

/// Notes that the event of a detached task has come.
pub(super) extern "C" fn fulfill_event() {
    with_state(|state| state.detached = state.detached.saturating_sub(1));
}

/// Initialises a lock: 32 bits with the number of calls that have set the lock.
extern "C" fn init_lock(lock: *mut c_int) -> c_int {
    store_value(lock, 0);
    0
}

fn times_set(lock: *const c_int) -> c_int {
    load_value(lock)
}

extern "C" fn set_lock(lock: *mut c_int) -> c_int {
    match test_lock(lock) {
        0 => fail_rank("a wait for a lock that the only thread has set"),
        times => times,
    }
}

extern "C" fn set_nest_lock(lock: *mut c_int) -> c_int {
    store_value(lock, times_set(lock) + 1);
    times_set(lock)
}

extern "C" fn unset_lock(lock: *mut c_int) -> c_int {
    store_value(lock, (times_set(lock) - 1).max(0));
    0
}

extern "C" fn test_lock(lock: *mut c_int) -> c_int {
    match times_set(lock) {
        0 => set_nest_lock(lock),
        _ => 0,
    }
}

/// Returns the functions for an action on a lock: with the lock as argument, and with the lock as
/// third argument, as `__kmpc_` functions have.
pub(super) fn lock_functions(name: &str) -> Option<[*const (); 2]> {
    macro_rules! both {
        ($function:ident) => {{
            extern "C" fn located(_location: usize, _thread: c_int, lock: *mut c_int) -> c_int {
                $function(lock)
            }
            [$function as *const (), located as *const ()]
        }};
    }
    Some(match name {
        "init_lock" | "init_nest_lock" | "init_lock_with_hint" | "init_nest_lock_with_hint" => {
            both!(init_lock)
        }
        "destroy_lock" | "destroy_nest_lock" => [answer_constant::<0> as *const (); 2],
        "set_lock" => both!(set_lock),
        "set_nest_lock" | "test_nest_lock" => both!(set_nest_lock),
        "unset_lock" | "unset_nest_lock" => both!(unset_lock),
        "test_lock" => both!(test_lock),
        _ => return None,
    })
}

extern "C" fn allocate_bytes(bytes: usize) -> *mut c_void {
    allocate_aligned(0, bytes)
}

extern "C" fn allocate_zeros(count: usize, bytes: usize) -> *mut c_void {
    allocate_zeroed(0, count.saturating_mul(bytes))
}

extern "C" fn reallocate_bytes(address: *mut c_void, bytes: usize) -> *mut c_void {
    (find_host().reallocate)(address, bytes)
}

pub(super) extern "C" fn free_bytes(address: *mut c_void) {
    free_memory(address);
}

extern "C" fn allocate_aligned_zeros(alignment: usize, count: usize, bytes: usize) -> *mut c_void {
    allocate_zeroed(alignment, count.saturating_mul(bytes))
}

/// `omp_target_memcpy`: the host is the only device.
extern "C" fn copy_bytes(
    to: *mut u8,
    from: *const u8,
    length: usize,
    to_offset: usize,
    from_offset: usize,
) -> c_int {
    // SAFETY: the program's own copy.
    unsafe { ptr::copy(from.add(from_offset), to.add(to_offset), length) };
    0
}

/// `omp_target_memset`.
extern "C" fn set_bytes(to: *mut u8, value: c_int, length: usize) -> *mut u8 {
    // SAFETY: the program's own memory.
    unsafe { ptr::write_bytes(to, value as u8, length) };
    to
}

/// An array of which `omp_target_memcpy_rect` copies a part.
#[derive(Clone, Copy)]
struct ArrayPart {
    /// The array.
    base: usize,
    /// The first element of the part, and the number of elements, in each dimension.
    offsets: *const usize,
    dimensions: *const usize,
}

impl ArrayPart {
    /// Returns the array at the first element of the part in the first dimension, with the
    /// dimensions behind the first one.
    fn first_row(self, row: usize) -> Self {
        Self {
            base: row,
            offsets: self.offsets.wrapping_add(1),
            dimensions: self.dimensions.wrapping_add(1),
        }
    }
}

/// `omp_target_memcpy_rect`: copies a part of an array with several dimensions. Returns the
/// greatest number of dimensions for arrays at address 0.
extern "C" fn copy_part(
    to: usize,
    from: usize,
    element: usize,
    dimensions: c_int,
    volume: *const usize,
    to_offsets: *const usize,
    from_offsets: *const usize,
    to_dimensions: *const usize,
    from_dimensions: *const usize,
) -> c_int {
    if to == 0 && from == 0 {
        return c_int::MAX;
    }
    let Some(dimensions) = usize::try_from(dimensions).ok().filter(|count| *count > 0) else {
        return EINVAL as c_int;
    };
    let part = |base, offsets, dimensions| ArrayPart {
        base,
        offsets,
        dimensions,
    };
    let (to, from) = (
        part(to, to_offsets, to_dimensions),
        part(from, from_offsets, from_dimensions),
    );
    copy_rows((to, from), element, dimensions, volume);
    0
}

/// Copies the rows of parts of two arrays.
fn copy_rows(
    (to, from): (ArrayPart, ArrayPart),
    element: usize,
    dimensions: usize,
    volume: *const usize,
) {
    let count = load_value(volume);
    let bytes_of_row = |array: ArrayPart| -> usize {
        let inner = (1..dimensions).map(|at| load_value(array.dimensions.wrapping_add(at)));
        element * inner.product::<usize>()
    };
    let (to_row, from_row) = (bytes_of_row(to), bytes_of_row(from));
    let first_to = to.base + to_row * load_value(to.offsets);
    let first_from = from.base + from_row * load_value(from.offsets);
    if dimensions == 1 {
        let (from, to) = (first_from as *const u8, first_to as *mut u8);
        // SAFETY: the program's own copy.
        unsafe { ptr::copy(from, to, count * element) };
        return;
    }
    for row in 0..count {
        let rows = (
            to.first_row(first_to + row * to_row),
            from.first_row(first_from + row * from_row),
        );
        copy_rows(rows, element, dimensions - 1, volume.wrapping_add(1));
    }
}

/// Returns the function of a name without `omp_`; names of Fortran end with `_` or `_8_`.
pub(super) fn find_function(symbol: &str) -> Option<*const ()> {
    let (name, is_fortran) = match symbol.strip_suffix('_') {
        Some(name) => (name.strip_suffix("_8").unwrap_or(name), true),
        None => (symbol, false),
    };
    Some(match name {
        "get_wtime" => wall_time as *const (),
        "get_wtick" => clock_tick as *const (),
        "get_level" => current_level as *const (),
        "get_ancestor_thread_num" if is_fortran => answer_of_level_at::<0> as *const (),
        "get_ancestor_thread_num" => answer_of_level::<0> as *const (),
        "get_team_size" if is_fortran => answer_of_level_at::<1> as *const (),
        "get_team_size" => answer_of_level::<1> as *const (),
        "in_final" => is_final as *const (),
        "set_schedule" if is_fortran => set_schedule_at as *const (),
        "set_schedule" => set_schedule as *const (),
        "get_schedule" if symbol.ends_with("_8_") => get_schedule::<i64> as *const (),
        "get_schedule" => get_schedule::<c_int> as *const (),
        "fulfill_event" => fulfill_event as *const (),
        "alloc" | "target_alloc" => allocate_bytes as *const (),
        "aligned_alloc" => allocate_aligned as *const (),
        "calloc" => allocate_zeros as *const (),
        "aligned_calloc" => allocate_aligned_zeros as *const (),
        "realloc" => reallocate_bytes as *const (),
        "free" | "target_free" => free_bytes as *const (),
        "target_memcpy" | "target_memcpy_async" => copy_bytes as *const (),
        "target_memcpy_rect" | "target_memcpy_rect_async" => copy_part as *const (),
        "target_memset" | "target_memset_async" => set_bytes as *const (),
        "target_associate_ptr" | "target_disassociate_ptr" => {
            answer_constant::<EINVAL> as *const ()
        }
        "get_place_num" => answer_constant::<-1> as *const (),
        name if is_listed(ONE, name) => answer_constant::<1> as *const (),
        name if is_listed(ZERO, name) => answer_constant::<0> as *const (),
        name => lock_functions(name)?[0],
    })
}
