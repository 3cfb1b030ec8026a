//! The functions that Clang and Flang call for directives of OpenMP (`__kmpc_…` of libomp).

use std::arch::naked_asm;
use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use crate::runtime::lock_functions;
use crate::state::Construct;
use crate::{
    Division, allocate_aligned, allocate_zeroed, answer_constant, atomics, begin_group, end_group,
    enter_region, enter_task, find_host, free_memory, gnu, is_listed, leave_region, leave_task,
    make_event, runtime, store_value, take_iterations, wait_for_tasks, with_state,
};

/// The number of the only thread, of which outlined functions get the address.
static THREAD: c_int = 0;

/// Functions with the answer 1, and without an effect, which answer 0.
const ONE: &str = "global_num_threads bound_num_threads ok_to_fork master single reduce \
    reduce_nowait init_allocator get_default_allocator";
const NO_EFFECT: &str = "begin end push_num_threads push_proc_bind push_num_teams \
    push_num_teams_51 set_thread_limit global_thread_num bound_thread_num in_parallel cancel \
    cancellationpoint flush end_master end_masked end_single critical critical_with_hint \
    end_critical ordered end_ordered scope end_scope end_reduce end_reduce_nowait copyprivate \
    for_static_fini dispatch_deinit threadprivate_register threadprivate_register_vec \
    omp_task_begin_if0 omp_taskyield task_reduction_init task_reduction_modifier_init \
    task_reduction_modifier_fini taskred_init taskred_modifier_init doacross_init doacross_wait \
    doacross_post doacross_fini destroy_allocator set_default_allocator atomic_start atomic_end";

/// Bits of the flags of a task (`kmp.h`).
const FINAL: c_int = 1 << 1;
const DESTRUCTORS: c_int = 1 << 3;

/// Makes a function that gets a number of arguments, an outlined function and the arguments, and
/// calls the outlined function between two functions of this crate. The outlined function gets the
/// address of the number of the thread twice, and then the arguments.
macro_rules! fork {
    ($name:ident, $before:path, $after:path) => {
        #[unsafe(naked)]
        extern "C" fn $name() {
            naked_asm!(
                "push rbp",
                "mov rbp, rsp",
                // The outlined function, and the arguments in registers.
                "push rdx",
                "push rsi",
                "push rcx",
                "push r8",
                "push r9",
                "push r9",
                "call {before}",
                "mov ecx, [rbp - 16]",
                // Arguments from the fourth one on, in a place of whole pairs of words.
                "lea rax, [rcx + 1]",
                "and rax, -2",
                "shl rax, 3",
                "sub rsp, rax",
                "mov eax, 4",
                "2:",
                "cmp rax, rcx",
                "jae 3f",
                "mov rdx, [rbp + 8*rax - 8]",
                "mov [rsp + 8*rax - 32], rdx",
                "inc rax",
                "jmp 2b",
                "3:",
                "lea rdi, [rip + {thread}]",
                "mov rsi, rdi",
                "mov rdx, [rbp - 24]",
                "mov rcx, [rbp - 32]",
                "mov r8, [rbp - 40]",
                "mov r9, [rbp + 16]",
                "call [rbp - 8]",
                "lea rsp, [rbp - 48]",
                "call {after}",
                "leave",
                "ret",
                before = sym $before,
                after = sym $after,
                thread = sym THREAD,
            )
        }
    };
}

fork!(fork_call, enter_region, leave_region);
fork!(fork_teams, wait_for_tasks, wait_for_tasks);

extern "C" fn fork_if(
    _location: usize,
    _count: c_int,
    outlined: extern "C" fn(*const c_int, *const c_int, *mut c_void),
    _condition: c_int,
    arguments: *mut c_void,
) {
    enter_region();
    outlined(&raw const THREAD, &raw const THREAD, arguments);
    leave_region();
}

/// A kind of numbers of iterations.
trait Number: Copy + Into<i128> {}

impl<T: Copy + Into<i128>> Number for T {}

/// Stores the last bits of a value: the distance of unsigned bounds is stored as a signed number.
fn store_number<T: Number>(place: *mut T, value: i128) {
    let bytes = value.to_le_bytes();
    // SAFETY: the program gave the place of a number, which is shorter.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), place.cast(), size_of::<T>()) };
}

/// Gives the thread all iterations of a static loop: the bounds stay as they are.
extern "C" fn init_static<T: Number, S: Number>(
    _location: usize,
    _thread: c_int,
    _schedule: c_int,
    is_last: *mut c_int,
    lower: *const T,
    upper: *const T,
    stride: *mut S,
    step: S,
) {
    // SAFETY: the program gave the places of the bounds.
    let (lower, upper): (i128, i128) = unsafe { ((*lower).into(), (*upper).into()) };
    let step: i128 = step.into();
    let count = (upper - lower) * step.signum() + 1;
    store_value(is_last, c_int::from(count > 0));
    let distance = if count > 0 {
        count * step.signum()
    } else {
        step
    };
    store_number(stride, distance);
}

/// As [`init_static`], for the part of a team.
extern "C" fn init_static_of_team<T: Number, S: Number>(
    location: usize,
    thread: c_int,
    schedule: c_int,
    is_last: *mut c_int,
    lower: *const T,
    upper: *const T,
    upper_of_team: *mut T,
    stride: *mut S,
    step: S,
) {
    // SAFETY: the program gave the place of the bound.
    store_value(upper_of_team, unsafe { *upper });
    init_static(
        location, thread, schedule, is_last, lower, upper, stride, step,
    );
}

extern "C" fn init_dispatch<T: Number, S: Number>(
    _location: usize,
    _thread: c_int,
    _schedule: c_int,
    lower: T,
    upper: T,
    step: S,
) {
    let (lower, upper, step): (i128, i128, i128) = (lower.into(), upper.into(), step.into());
    let has_any = (upper - lower) * step.signum() >= 0;
    let iterations = has_any.then_some([lower, upper, step]);
    let construct = Construct {
        iterations,
        ..Construct::default()
    };
    with_state(|state| state.constructs.push(construct));
}

extern "C" fn init_dispatch_of_team<T: Number, S: Number>(
    location: usize,
    thread: c_int,
    schedule: c_int,
    _is_last: *mut c_int,
    lower: T,
    upper: T,
    step: S,
) {
    init_dispatch(location, thread, schedule, lower, upper, step);
}

/// Gives the thread all iterations of the loop, once; the second call ends the loop.
extern "C" fn next_dispatch<T: Number, S: Number>(
    _location: usize,
    _thread: c_int,
    is_last: *mut c_int,
    lower: *mut T,
    upper: *mut T,
    step: *mut S,
) -> c_int {
    let Some(taken) = take_iterations() else {
        crate::end_construct();
        return 0;
    };
    store_value(is_last, 1);
    store_number(lower, taken[0]);
    store_number(upper, taken[1]);
    store_number(step, taken[2]);
    1
}

/// A task, as in `kmp.h`; private variables follow.
#[repr(C)]
struct KmpTask {
    shared: *mut c_void,
    entry: TaskEntry,
    part: c_int,
    destructors: TaskEntry,
}

type TaskEntry = extern "C" fn(c_int, *mut KmpTask) -> c_int;

/// The words before a task.
#[repr(C, align(16))]
struct Header {
    /// Length in bytes, with the header and the addresses of shared variables.
    length: usize,
    flags: c_int,
    /// Calls of the entry that have not returned: an untied task calls itself.
    calls: u32,
}

fn header_of(task: *mut KmpTask) -> *mut Header {
    task.cast::<Header>().wrapping_sub(1)
}

extern "C" fn allocate_task(
    _location: usize,
    _thread: c_int,
    flags: c_int,
    bytes: usize,
    shared_bytes: usize,
    entry: TaskEntry,
) -> *mut KmpTask {
    let start = size_of::<Header>() + bytes.next_multiple_of(16);
    let length = start + shared_bytes;
    let header: *mut Header = allocate_zeroed(16, length).cast();
    let task: *mut KmpTask = header.wrapping_add(1).cast();
    // SAFETY: the memory was allocated for both and for the shared variables; a task has at least
    // the words up to the number of its part.
    unsafe {
        (*header).length = length;
        (*header).flags = flags;
        (*task).shared = header.wrapping_byte_add(start).cast();
        (*task).entry = entry;
    }
    task
}

/// Executes a task at once.
extern "C" fn execute_task(_location: usize, thread: c_int, task: *mut KmpTask) -> c_int {
    // SAFETY: a task of `allocate_task`, until the last call of its entry has returned.
    unsafe {
        let header = header_of(task);
        (*header).calls += 1;
        let was_final = enter_task((*header).flags & FINAL != 0);
        ((*task).entry)(thread, task);
        leave_task(was_final);
        (*header).calls -= 1;
        if (*header).calls == 0 {
            complete_task(0, thread, task);
        }
    }
    0
}

extern "C" fn execute_dependent_task(location: usize, thread: c_int, task: *mut KmpTask) -> c_int {
    wait_for_tasks();
    execute_task(location, thread, task)
}

/// Frees a task after the last return of the entry.
extern "C" fn complete_task(_location: usize, thread: c_int, task: *mut KmpTask) {
    // SAFETY: a task of `allocate_task` that has ended; with this flag it has this function.
    unsafe {
        if (*header_of(task)).flags & DESTRUCTORS != 0 {
            ((*task).destructors)(thread, task);
        }
    }
    free_memory(header_of(task).cast());
}

/// Returns a copy of a task that has not begun.
fn copy_task(task: *mut KmpTask) -> *mut KmpTask {
    let header = header_of(task);
    // SAFETY: a task of `allocate_task`, which has this length; addresses of shared variables are
    // in the same memory.
    unsafe {
        let length = (*header).length;
        let copy = allocate_zeroed(16, length);
        ptr::copy_nonoverlapping(header.cast::<u8>(), copy.cast(), length);
        let copied: *mut KmpTask = copy.cast::<Header>().wrapping_add(1).cast();
        (*copied).shared = copy.wrapping_byte_add((*task).shared as usize - header as usize);
        copied
    }
}

/// Copies the private variables of a task; the last argument says whether this is the last task.
type CopyPrivate = Option<extern "C" fn(*mut KmpTask, *mut KmpTask, c_int)>;

/// Executes the tasks of a loop, which are copies of `task`; the bounds are in the task.
extern "C" fn task_loop(
    _location: usize,
    thread: c_int,
    task: *mut KmpTask,
    _if_clause: c_int,
    lower: *mut u64,
    upper: *mut u64,
    step: i64,
    no_group: c_int,
    kind: c_int,
    amount: u64,
    copy_private: CopyPrivate,
) {
    modified_task_loop(
        0,
        thread,
        task,
        1,
        lower,
        upper,
        step,
        no_group,
        kind,
        amount,
        0,
        copy_private,
    );
}

/// `__kmpc_taskloop_5`: with the modifier `strict` of OpenMP 5.1.
extern "C" fn modified_task_loop(
    _location: usize,
    thread: c_int,
    task: *mut KmpTask,
    _if_clause: c_int,
    lower: *mut u64,
    upper: *mut u64,
    step: i64,
    no_group: c_int,
    kind: c_int,
    amount: u64,
    modifier: c_int,
    copy_private: CopyPrivate,
) {
    let division = match kind {
        0 => Division::Tasks(1),
        1 => Division::Iterations {
            least: amount,
            is_strict: modifier != 0,
        },
        _ => Division::Tasks(amount),
    };
    // SAFETY: the bounds are in the task.
    let (mut begin, end) = unsafe { (*lower, *upper) };
    let distance = if step > 0 {
        end.wrapping_sub(begin)
    } else {
        begin.wrapping_sub(end)
    };
    let count = (distance / step.unsigned_abs().max(1)).wrapping_add(1);
    let place_in = |copy: *mut KmpTask, place: *mut u64| {
        copy.wrapping_byte_add(place as usize - task as usize)
            .cast::<u64>()
    };
    if no_group == 0 {
        begin_group();
    }
    let mut rest = count;
    for length in division.task_lengths(count) {
        let copy = copy_task(task);
        rest -= length;
        let last = begin.wrapping_add((length - 1).wrapping_mul(step.cast_unsigned()));
        if let Some(copy_private) = copy_private {
            copy_private(copy, task, c_int::from(rest == 0));
        }
        store_value(place_in(copy, lower), begin);
        store_value(place_in(copy, upper), last);
        begin = last.wrapping_add_signed(step);
        execute_task(0, thread, copy);
    }
    if no_group == 0 {
        end_group();
    }
    complete_task(0, thread, task);
}

extern "C" fn detach_task() -> usize {
    make_event()
}

extern "C" fn thread_private(_location: usize, _thread: c_int, data: *mut c_void) -> *mut c_void {
    data
}

extern "C" fn is_masked(_location: usize, _thread: c_int, filter: c_int) -> c_int {
    c_int::from(filter == 0)
}

extern "C" fn reduction_data(_thread: c_int, _group: usize, data: *mut c_void) -> *mut c_void {
    data
}

extern "C" fn allocate_bytes(_thread: c_int, bytes: usize) -> *mut c_void {
    allocate_aligned(0, bytes)
}

extern "C" fn allocate_aligned_of(_thread: c_int, alignment: usize, bytes: usize) -> *mut c_void {
    allocate_aligned(alignment, bytes)
}

extern "C" fn allocate_zeros(_thread: c_int, count: usize, bytes: usize) -> *mut c_void {
    allocate_zeroed(0, count.saturating_mul(bytes))
}

extern "C" fn reallocate_bytes(_thread: c_int, address: *mut c_void, bytes: usize) -> *mut c_void {
    (find_host().reallocate)(address, bytes)
}

extern "C" fn free_bytes(_thread: c_int, address: *mut c_void) {
    free_memory(address);
}

/// `__kmpc_error`: severity 2 is fatal.
extern "C" fn report_problem(_location: usize, severity: c_int, text: *const c_char) {
    match severity {
        2 => gnu::report_error(text, usize::MAX),
        _ => gnu::report_warning(text, usize::MAX),
    }
}

/// Returns the function of a loop, for a name without the kind of numbers at the end.
fn loop_function<T: Number, S: Number>(name: &str) -> Option<*const ()> {
    Some(match name {
        "for_static_init" => init_static::<T, S> as *const (),
        "dist_for_static_init" => init_static_of_team::<T, S> as *const (),
        "dispatch_init" => init_dispatch::<T, S> as *const (),
        "dist_dispatch_init" => init_dispatch_of_team::<T, S> as *const (),
        "dispatch_next" => next_dispatch::<T, S> as *const (),
        "dispatch_fini" => answer_constant::<0> as *const (),
        _ => return None,
    })
}

/// Returns the function of a name without `__kmpc_`.
pub(super) fn find_function(name: &str) -> Option<*const ()> {
    if let Some(name) = name
        .strip_prefix("atomic_")
        .filter(|rest| !is_bracket(rest))
    {
        return atomics::find_function(name);
    }
    let of_kind = name.rsplit_once('_').and_then(|(name, kind)| match kind {
        "4" => loop_function::<i32, i32>(name),
        "4u" => loop_function::<u32, i32>(name),
        "8" => loop_function::<i64, i64>(name),
        "8u" => loop_function::<u64, i64>(name),
        _ => None,
    });
    if of_kind.is_some() {
        return of_kind;
    }
    Some(match name {
        "fork_call" => fork_call as *const (),
        "fork_teams" => fork_teams as *const (),
        "fork_call_if" => fork_if as *const (),
        "serialized_parallel" => enter_region as *const (),
        "end_serialized_parallel" => leave_region as *const (),
        "barrier"
        | "cancel_barrier"
        | "omp_taskwait"
        | "omp_taskwait_deps_51"
        | "omp_wait_deps" => wait_for_tasks as *const (),
        "taskgroup" => begin_group as *const (),
        "end_taskgroup" => end_group as *const (),
        name if is_listed(ONE, name) => answer_constant::<1> as *const (),
        "masked" => is_masked as *const (),
        "threadprivate" | "threadprivate_cached" | "copyprivate_light" => {
            thread_private as *const ()
        }
        "omp_task_alloc" | "omp_target_task_alloc" => allocate_task as *const (),
        "omp_task" | "omp_task_parts" => execute_task as *const (),
        "omp_task_with_deps" => execute_dependent_task as *const (),
        "omp_task_complete_if0" => complete_task as *const (),
        "task_allow_completion_event" => detach_task as *const (),
        "proxy_task_completed" | "proxy_task_completed_ooo" => runtime::fulfill_event as *const (),
        "taskloop" => task_loop as *const (),
        "taskloop_5" => modified_task_loop as *const (),
        "task_reduction_get_th_data" => reduction_data as *const (),
        "alloc" => allocate_bytes as *const (),
        "aligned_alloc" => allocate_aligned_of as *const (),
        "calloc" => allocate_zeros as *const (),
        "realloc" => reallocate_bytes as *const (),
        "free" => free_bytes as *const (),
        "error" => report_problem as *const (),
        name if is_listed(NO_EFFECT, name) => answer_constant::<0> as *const (),
        _ => return Some(lock_functions(name)?[1]),
    })
}

/// Returns true for the functions around an atomic update, by their names without `atomic_`.
fn is_bracket(name: &str) -> bool {
    matches!(name, "start" | "end")
}

/// Returns the function of a name without `__tgt_`: there is no device, so that the program
/// executes target regions on the host.
pub(super) fn find_device_function(name: &str) -> *const () {
    match name.starts_with("target") && !name.starts_with("target_data") {
        true => answer_constant::<-1> as *const (),
        false => answer_constant::<0> as *const (),
    }
}
