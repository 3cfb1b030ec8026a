//! The functions that GCC calls for directives of OpenMP (`GOMP_…` of libgomp).

use std::ffi::{c_char, c_int, c_long, c_uint, c_void};
use std::ptr;

use crate::state::Construct;
use crate::{
    Division, allocate_aligned, allocate_zeroed, answer_constant, begin_group, end_construct,
    end_group, enter_region, enter_task, fail_rank, find_host, free_memory, is_listed,
    leave_region, leave_task, make_event, runtime, store_value, take_iterations, wait_for_tasks,
    with_state,
};

/// A function of a program: a region, a task or a loop; the argument has the variables.
type Body = extern "C" fn(*mut c_void);

/// Copies the variables of a task.
type CopyVariables = Option<extern "C" fn(*mut c_void, *mut c_void)>;

/// Bits of the flags of a task (`gomp-constants.h`).
const FINAL: c_uint = 1 << 1;
const DEPEND: c_uint = 1 << 3;
const UP: c_uint = 1 << 8;
const GRAINSIZE: c_uint = 1 << 9;
const NO_GROUP: c_uint = 1 << 11;
const REDUCTION: c_uint = 1 << 12;
const DETACH: c_uint = 1 << 13;
const STRICT: c_uint = 1 << 14;

/// Functions without an effect, which answer 0: a single thread copies no values.
const NO_EFFECT: &str = "single_copy_start single_copy_end critical_start critical_end \
    critical_name_start critical_name_end atomic_start atomic_end ordered_start ordered_end \
    doacross_post doacross_wait doacross_ull_post doacross_ull_wait cancel cancellation_point \
    taskyield teams target_data target_data_ext target_end_data target_update target_update_ext \
    target_enter_exit_data offload_register offload_register_ver offload_unregister \
    offload_unregister_ver";

/// Functions that continue a loop, and that end a loop or sections.
const NEXT: &str = "loop_static_next loop_runtime_next loop_ull_static_next loop_ull_runtime_next";
const ENDS: &str = "loop_end loop_end_nowait loop_end_cancel sections_end sections_end_nowait \
    sections_end_cancel";

/// `GOMP_MAP_FIRSTPRIVATE`: a variable of which a target region gets a copy.
const FIRST_PRIVATE: u16 = 12;

extern "C" fn execute_body(body: Body, data: *mut c_void) {
    body(data);
}

extern "C" fn execute_region(body: Body, data: *mut c_void) {
    enter_region();
    body(data);
    leave_region();
}

extern "C" fn parallel_reductions(body: Body, data: *mut *mut usize) -> c_uint {
    begin_group();
    // SAFETY: the variables of such a region begin with the address of the reductions.
    register_reductions(unsafe { *data });
    execute_region(body, data.cast());
    end_group();
    1
}

extern "C" fn parallel_loop(
    body: Body,
    data: *mut c_void,
    threads: c_uint,
    first: i64,
    end: i64,
    step: i64,
) {
    begin_parallel_loop(body, data, threads, first, end, step);
    body(data);
    leave_region();
}

/// `GOMP_parallel_loop_…_start`: the program itself calls the body.
extern "C" fn begin_parallel_loop(
    _body: Body,
    _data: *mut c_void,
    _threads: c_uint,
    first: i64,
    end: i64,
    step: i64,
) {
    enter_region();
    begin_construct(loop_of(first, end, step > 0), NO_PLACES);
}

extern "C" fn parallel_sections(body: Body, data: *mut c_void, threads: c_uint, count: c_uint) {
    begin_parallel_sections(body, data, threads, count);
    body(data);
    leave_region();
}

extern "C" fn begin_parallel_sections(_: Body, _: *mut c_void, _threads: c_uint, count: c_uint) {
    enter_region();
    begin_construct(sections_of(count), NO_PLACES);
}

/// Addresses of the reductions and of the length of the memory of a construct; null for none.
type Places = (*mut usize, *mut usize);

const NO_PLACES: Places = (ptr::null_mut(), ptr::null_mut());

/// Begins a construct; the memory of the construct is zero.
fn begin_construct(mut construct: Construct, (reductions, shared): Places) {
    if !shared.is_null() {
        // SAFETY: the program gave the place of a length, which becomes that of an address.
        construct.memory = allocate_zeroed(64, unsafe { *shared }) as usize;
        store_value(shared, construct.memory);
    }
    with_state(|state| state.constructs.push(construct));
    start_scope(reductions);
}

fn loop_of(first: i64, end: i64, is_upwards: bool) -> Construct {
    let has_any = if is_upwards { first < end } else { first > end };
    Construct {
        iterations: has_any.then_some([first.into(), end.into(), 0]),
        ..Construct::default()
    }
}

/// Returns a loop of unsigned numbers, as signed ones of the same bits.
fn unsigned_loop_of(first: u64, end: u64, is_upwards: bool) -> Construct {
    let has_any = if is_upwards { first < end } else { first > end };
    let [first, end] = [first, end].map(u64::cast_signed);
    Construct {
        iterations: has_any.then_some([first.into(), end.into(), 0]),
        ..Construct::default()
    }
}

fn sections_of(count: c_uint) -> Construct {
    Construct {
        sections: (0, count),
        ..Construct::default()
    }
}

/// Gives the thread all iterations of the loop, once.
extern "C" fn next_iterations(first: *mut i64, end: *mut i64) -> bool {
    let taken = take_iterations();
    if let Some([from, to, _]) = taken {
        store_value(first, i64::try_from(from).unwrap_or_default());
        store_value(end, i64::try_from(to).unwrap_or_default());
    }
    taken.is_some()
}

/// Gives the thread the number of the next section; 0 behind the last one.
extern "C" fn next_section() -> c_uint {
    with_state(|state| {
        let (begun, count) = &mut state.constructs.last_mut()?.sections;
        *begun += 1;
        (*begun <= *count).then_some(*begun)
    })
    .unwrap_or(0)
}

extern "C" fn start_sections(count: c_uint) -> c_uint {
    begin_construct(sections_of(count), NO_PLACES);
    next_section()
}

extern "C" fn start_shared_sections(
    count: c_uint,
    reductions: *mut usize,
    shared: *mut usize,
) -> c_uint {
    begin_construct(sections_of(count), (reductions, shared));
    next_section()
}

extern "C" fn start_scope(reductions: *mut usize) {
    if !reductions.is_null() {
        begin_group();
        register_reductions(reductions);
    }
}

/// Makes the functions `GOMP_loop_…_start` from the loop that the first arguments describe. Some
/// get the addresses of reductions and memory behind all other arguments.
macro_rules! loop_starts {
    ($($name:ident $([$reductions:ident, $memory:ident])? ($($argument:ident: $kind:ty),*) $loop:expr;)*) => {
        $(extern "C" fn $name(
            $($argument: $kind,)*
            from: *mut i64,
            to: *mut i64,
            $($reductions: *mut usize, $memory: *mut usize,)?
        ) -> bool {
            let places: Option<Places> = None $(.or(Some(($reductions, $memory))))?;
            begin_construct($loop, places.unwrap_or(NO_PLACES));
            // The program computes the iterations of a static loop itself.
            from.is_null() || next_iterations(from, to)
        })*
    };
}

loop_starts! {
    start_loop(first: i64, end: i64, step: i64, _chunk: i64) loop_of(first, end, step > 0);
    start_runtime_loop(first: i64, end: i64, step: i64) loop_of(first, end, step > 0);
    start_shared_loop[reductions, memory](first: i64, end: i64, step: i64, _schedule: c_long, _chunk: i64)
        loop_of(first, end, step > 0);
    start_unsigned_loop(is_upwards: bool, first: u64, end: u64, _step: u64, _chunk: u64)
        unsigned_loop_of(first, end, is_upwards);
    start_unsigned_runtime_loop(is_upwards: bool, first: u64, end: u64, _step: u64)
        unsigned_loop_of(first, end, is_upwards);
    start_unsigned_shared_loop[reductions, memory](
        is_upwards: bool, first: u64, end: u64, _step: u64, _schedule: c_long, _chunk: u64
    )
        unsigned_loop_of(first, end, is_upwards);
    start_doacross(_loops: c_uint, counts: *const i64, _chunk: i64)
        unsigned_loop_of(0, first_count(counts), true);
    start_runtime_doacross(_loops: c_uint, counts: *const i64)
        unsigned_loop_of(0, first_count(counts), true);
    start_shared_doacross[reductions, memory](
        _loops: c_uint, counts: *const i64, _schedule: c_long, _chunk: i64
    )
        unsigned_loop_of(0, first_count(counts), true);
}

/// Returns the number of iterations of the outermost loop of a nest.
fn first_count(counts: *const i64) -> u64 {
    // SAFETY: the program gave a list with a number for each loop.
    unsafe { *counts }.cast_unsigned()
}

/// Executes a task at once.
extern "C" fn execute_task(
    body: Body,
    data: *mut usize,
    copy: CopyVariables,
    bytes: usize,
    alignment: usize,
    _if_clause: bool,
    flags: c_uint,
    _dependences: usize,
    _priority: c_int,
    event: *mut usize,
) {
    if flags & DEPEND != 0 {
        wait_for_tasks();
    }
    if flags & DETACH != 0 {
        let made = make_event();
        store_value(event, made);
        store_value(data, made);
    }
    let was_final = enter_task(flags & FINAL != 0);
    execute_copy(body, data.cast(), (copy, bytes, alignment), None);
    leave_task(was_final);
}

/// Executes a task with a copy of the variables, which begin with the bounds of the iterations.
fn execute_copy(
    body: Body,
    data: *mut c_void,
    (copy, bytes, alignment): (CopyVariables, usize, usize),
    bounds: Option<[i64; 2]>,
) {
    let mut variables = data;
    if let Some(copy) = copy {
        variables = allocate_zeroed(alignment, bytes);
        copy(variables, data);
    }
    if let Some(bounds) = bounds {
        store_value(variables.cast(), bounds);
    }
    body(variables);
    if copy.is_some() {
        free_memory(variables);
    }
}

/// Makes `GOMP_taskloop` and `GOMP_taskloop_ull`: the kind of numbers, and the step as a number.
macro_rules! task_loops {
    ($($name:ident($kind:ty), $step:expr;)*) => {
        $(extern "C" fn $name(
            body: Body,
            data: *mut c_void,
            copy: CopyVariables,
            bytes: usize,
            alignment: usize,
            flags: c_uint,
            amount: u64,
            _priority: c_int,
            first: $kind,
            end: $kind,
            step: $kind,
        ) {
            let step_of: fn($kind, bool) -> i128 = $step;
            let step = step_of(step, flags & UP != 0);
            let iterations = [first.into(), end.into(), step];
            execute_task_loop((body, data), (copy, bytes, alignment), (flags, amount), iterations);
        })*
    };
}

task_loops! {
    task_loop(i64), |step, _| step.into();
    unsigned_task_loop(u64), |step, is_upwards| match is_upwards {
        true => step.into(),
        false => step.cast_signed().into(),
    };
}

fn execute_task_loop(
    (body, data): (Body, *mut c_void),
    copy: (CopyVariables, usize, usize),
    (flags, amount): (c_uint, u64),
    [first, end, step]: [i128; 3],
) {
    let distance = (end - first) * step.signum();
    if distance <= 0 {
        return;
    }
    let count = (distance + step.abs() - 1) / step.abs();
    let division = match flags & GRAINSIZE {
        0 => Division::Tasks(amount),
        _ => Division::Iterations {
            least: amount,
            is_strict: flags & STRICT != 0,
        },
    };
    if flags & NO_GROUP == 0 {
        begin_group();
        if flags & REDUCTION != 0 {
            // SAFETY: the variables are the bounds, and then the address of the reductions.
            register_reductions(unsafe { *data.cast::<*mut usize>().add(2) });
        }
    }
    let was_final = enter_task(flags & FINAL != 0);
    let mut begin = first;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the bits of unsigned numbers"
    )]
    for length in division.task_lengths(u64::try_from(count).unwrap_or(u64::MAX)) {
        let end = begin + step * i128::from(length);
        execute_copy(body, data, copy, Some([begin as i64, end as i64]));
        begin = end;
    }
    leave_task(was_final);
    if flags & NO_GROUP == 0 {
        end_group();
    }
}

// Blocks of reductions, as GCC makes them: number of variables, length in bytes of all variables of
// a thread, their alignment (then their address), the allocator, the next block, a word that is not
// 0 in a first block, the end of the memory; then for each variable its address, its offset in the
// memory and a free word.
const LENGTH: usize = 1;
const MEMORY: usize = 2;
const FOLLOWING: usize = 4;
const IS_FIRST: usize = 5;
const END: usize = 6;
const VARIABLES: usize = 7;

/// Gives the reductions of the innermost task group memory, which begins with zeros.
extern "C" fn register_reductions(first: *mut usize) {
    let outer = with_state(|state| match state.groups.last_mut() {
        Some(group) => std::mem::replace(group, first as usize),
        None => 0,
    });
    let mut block = first;
    // SAFETY: the program gave blocks with these words; the last one has no next block.
    unsafe {
        loop {
            let bytes = *block.add(LENGTH);
            let address = allocate_zeroed(*block.add(MEMORY), bytes) as usize;
            *block.add(MEMORY) = address;
            *block.add(END) = address + bytes;
            *block.add(IS_FIRST) = 0;
            match *block.add(FOLLOWING) {
                0 => break,
                next => block = next as *mut usize,
            }
        }
        *block.add(FOLLOWING) = outer;
        *first.add(IS_FIRST) = 1;
    }
}

extern "C" fn unregister_reductions(first: *mut usize) {
    let mut block = first;
    loop {
        // SAFETY: blocks that were registered, and behind them the blocks of outer task groups.
        unsafe {
            free_memory(*block.add(MEMORY) as *mut c_void);
            block = *block.add(FOLLOWING) as *mut usize;
            if block.is_null() || *block.add(IS_FIRST) != 0 {
                return;
            }
        }
    }
}

/// `GOMP_workshare_task_reduction_unregister`.
extern "C" fn end_reductions() {
    let first = with_state(|state| state.groups.last().copied()).unwrap_or(0);
    end_group();
    unregister_reductions(first as *mut usize);
}

/// Replaces addresses of variables by the addresses of their copies, and stores behind these the
/// addresses of the first variables.
extern "C" fn remap_reductions(count: usize, firsts: usize, places: *mut usize) {
    let group = with_state(|state| state.groups.last().copied()).unwrap_or(0);
    for number in 0..count {
        // SAFETY: the program gave as many addresses, and room for the others; the blocks are
        // registered.
        unsafe {
            let Some((variable, copy)) = find_reduction(group, *places.add(number)) else {
                fail_rank("a task with a reduction that no task group has");
            };
            *places.add(number) = copy;
            if number < firsts {
                *places.add(count + number) = variable;
            }
        }
    }
}

/// Returns the addresses of a variable and of the copy in a reduction, from one of both.
///
/// # Safety
/// The group has registered blocks.
unsafe fn find_reduction(group: usize, place: usize) -> Option<(usize, usize)> {
    let mut block = group as *const usize;
    while !block.is_null() {
        // SAFETY: the caller's contract.
        unsafe {
            for number in 0..*block {
                let variable = block.add(VARIABLES + 3 * number);
                let copy = *block.add(MEMORY) + *variable.add(1);
                if place == *variable || place == copy {
                    return Some((*variable, copy));
                }
            }
            if (*block.add(MEMORY)..*block.add(END)).contains(&place) {
                return Some((place, place));
            }
            block = *block.add(FOLLOWING) as *const usize;
        }
    }
    None
}

extern "C" fn execute_old_target(
    _device: c_int,
    body: Body,
    _: usize,
    _: usize,
    data: *mut c_void,
) {
    body(data);
}

/// `GOMP_target_ext`: executes a region on the host, with copies of private variables.
extern "C" fn execute_target(
    _device: c_int,
    body: Body,
    count: usize,
    variables: *mut *mut c_void,
    lengths: *const usize,
    kinds: *const u16,
) {
    // SAFETY: the program gave lists of this length, of variables that are as long.
    let private = |number: usize| unsafe {
        let kind = *kinds.add(number);
        (kind & 0xff == FIRST_PRIVATE).then_some((1 << (kind >> 8), *lengths.add(number)))
    };
    for number in 0..count {
        if let Some((alignment, length)) = private(number) {
            // SAFETY: as above; the copy is as long.
            unsafe {
                let copy = allocate_zeroed(alignment, length);
                ptr::copy_nonoverlapping(
                    (*variables.add(number)).cast::<u8>(),
                    copy.cast(),
                    length,
                );
                *variables.add(number) = copy;
            }
        }
    }
    body(variables.cast());
    for number in 0..count {
        if private(number).is_some() {
            // SAFETY: the copy of before, which nobody needs any more.
            free_memory(unsafe { *variables.add(number) });
        }
    }
}

/// `GOMP_teams4`: there is one team.
extern "C" fn is_team(_: c_uint, _: c_uint, _limit: c_uint, is_first: bool) -> bool {
    is_first
}

/// Returns the text of a directive `error`; the longest length is of a text that ends with 0.
fn message_text(text: *const c_char, length: usize) -> String {
    let bytes = (0..length).take_while(|_| !text.is_null());
    // SAFETY: the program gave a text of this length, or one that ends with 0.
    let bytes = bytes.map(|place| unsafe { *text.add(place) }.cast_unsigned());
    let bytes: Vec<u8> = bytes.take_while(|byte| *byte != 0).collect();
    format!("error directive: {}", String::from_utf8_lossy(&bytes))
}

pub(super) extern "C" fn report_error(text: *const c_char, length: usize) {
    fail_rank(&message_text(text, length))
}

pub(super) extern "C" fn report_warning(text: *const c_char, length: usize) {
    (find_host().warn)(&message_text(text, length));
}

/// Returns the function of a loop or of sections for a name without `GOMP_`.
fn find_loop_function(name: &str) -> Option<*const ()> {
    // All loops have one order of iterations.
    let name = name.replace("maybe_", "").replace("nonmonotonic_", "");
    let name = name
        .replace("dynamic", "static")
        .replace("guided", "static");
    let name = name.replace("loop_ordered_", "loop_");
    let name = name.replace("ull_ordered_", "ull_");
    Some(match name.replace("ull_doacross_", "doacross_").as_str() {
        "parallel_loop_static" | "parallel_loop_runtime" => parallel_loop as *const (),
        "parallel_loop_static_start" | "parallel_loop_runtime_start" => {
            begin_parallel_loop as *const ()
        }
        "loop_static_start" => start_loop as *const (),
        "loop_runtime_start" => start_runtime_loop as *const (),
        "loop_start" => start_shared_loop as *const (),
        "loop_ull_static_start" => start_unsigned_loop as *const (),
        "loop_ull_runtime_start" => start_unsigned_runtime_loop as *const (),
        "loop_ull_start" => start_unsigned_shared_loop as *const (),
        "loop_doacross_static_start" => start_doacross as *const (),
        "loop_doacross_runtime_start" => start_runtime_doacross as *const (),
        "loop_doacross_start" => start_shared_doacross as *const (),
        name if is_listed(NEXT, name) => next_iterations as *const (),
        name if is_listed(ENDS, name) => end_construct as *const (),
        "parallel_sections" => parallel_sections as *const (),
        "parallel_sections_start" => begin_parallel_sections as *const (),
        "sections_start" => start_sections as *const (),
        "sections2_start" => start_shared_sections as *const (),
        "sections_next" => next_section as *const (),
        _ => return None,
    })
}

/// Returns the function of a name without `GOMP_`.
pub(super) fn find_function(name: &str) -> Option<*const ()> {
    Some(match name {
        "parallel" => execute_region as *const (),
        "parallel_reductions" => parallel_reductions as *const (),
        "parallel_start" => enter_region as *const (),
        "parallel_end" => leave_region as *const (),
        "scope_start" => start_scope as *const (),
        "single_start" => answer_constant::<1> as *const (),
        "barrier" | "barrier_cancel" | "taskwait" | "taskwait_depend" => {
            wait_for_tasks as *const ()
        }
        "task" => execute_task as *const (),
        "taskloop" => task_loop as *const (),
        "taskloop_ull" => unsigned_task_loop as *const (),
        "taskgroup_start" => begin_group as *const (),
        "taskgroup_end" => end_group as *const (),
        "taskgroup_reduction_register" => register_reductions as *const (),
        "taskgroup_reduction_unregister" => unregister_reductions as *const (),
        "workshare_task_reduction_unregister" => end_reductions as *const (),
        "task_reduction_remap" => remap_reductions as *const (),
        "teams4" => is_team as *const (),
        "teams_reg" => execute_body as *const (),
        "target" => execute_old_target as *const (),
        "target_ext" => execute_target as *const (),
        "alloc" => allocate_aligned as *const (),
        "free" => runtime::free_bytes as *const (),
        "error" => report_error as *const (),
        "warning" => report_warning as *const (),
        name if is_listed(NO_EFFECT, name) => answer_constant::<0> as *const (),
        name => return find_loop_function(name),
    })
}
