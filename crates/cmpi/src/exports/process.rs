//! Start and end of a program, as the C library has them: each for one rank.
//!
//! *Not modelled*: `fork`, signals and threads of a program.

use std::ffi::{CStr, c_char, c_int, c_void};

use mpi::Level;

use super::memory;
use crate::bridge::{RankEnd, caller, with_state};
use crate::loader;
use crate::state::{MpiState, Stage};

type Main = extern "C-unwind" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;
type AtExit = extern "C" fn(*mut c_void);

/// Sets the name of the program that the C library writes in messages, for example of `err`.
pub(crate) fn set_name(name: &CStr) {
    unsafe extern "C" {
        static mut program_invocation_name: *mut c_char;
        static mut program_invocation_short_name: *mut c_char;
    }
    // The library has the address until the process ends.
    let name: &'static CStr = Box::leak(Box::from(name));
    let bytes = name.to_bytes();
    let start = bytes.iter().rposition(|byte| *byte == b'/');
    // SAFETY: the variables may be assigned to; no program runs on this thread meanwhile.
    unsafe {
        program_invocation_name = name.as_ptr().cast_mut();
        let short = name.as_ptr().add(start.map_or(0, |it| it + 1));
        program_invocation_short_name = short.cast_mut();
    }
}

/// `__libc_start_main`, which `_start` calls. An exception that is not caught finds no
/// handler here.
extern "C-unwind" fn start_main(
    main: Main,
    _argc: c_int,
    _argv: *mut *mut c_char,
    init: Option<Main>,
) -> c_int {
    let rank = caller();
    let (argc, argv) = rank.arguments();
    let environment = loader::environment();
    rank.leave_call();
    let image = rank.image();
    image.run_constructors((argc, argv, environment), init.is_some());
    // Programs of the GNU C library before 2.34 run their constructors in here.
    if let Some(init) = init {
        init(argc, argv, environment);
    }
    exit(main(argc, argv, environment))
}

pub(crate) extern "C" fn exit(status: c_int) -> c_int {
    let registered = |state: &mut MpiState| {
        state
            .library
            .exits
            .at_thread_exit
            .pop()
            .or_else(|| state.library.exits.at_exit.pop())
    };
    while let Some((function, argument)) = with_state(registered) {
        // SAFETY: the program or a library that it called has registered this function for its
        // end, with this argument.
        let function: AtExit = unsafe { std::mem::transmute(function) };
        function(argument as *mut c_void);
    }
    let rank = caller();
    rank.image().run_destructors();
    end(status)
}

/// `_exit`, which does not call the registered functions.
extern "C" fn end(status: c_int) -> c_int {
    let rank = caller();
    rank.enter_call();
    let (status, stage) = (status & 0xff, with_state(|state| state.stage));
    if status != 0 && stage == Stage::Finalized {
        // No rank waits for this one.
        let number = rank.world().rank();
        let text = format!("rank {number} exited with {status} after MPI_Finalize");
        rank.finish(RankEnd::Done(Some(text)));
    }
    if status != 0 {
        rank.finish(RankEnd::Failed(format!(
            "the program exited with status {status}"
        )));
    }
    if stage == Stage::Initialized {
        let text = "the program ended without MPI_Finalize";
        rank.world().log(Level::Warn, format_args!("{text}"));
    }
    rank.finish(RankEnd::Done(None))
}

/// `_exit`, similar functions and the corresponding system calls: with status 0 before
/// `MPI_Finalize`, the other ranks would wait for this one.
pub(super) extern "C" fn end_at_once(status: c_int) -> c_int {
    if status & 0xff == 0 && with_state(|state| state.stage) == Stage::Initialized {
        let rank = caller();
        let line = rank.call_line();
        rank.finish(RankEnd::Failed(format!(
            "the program ended at once{line}, before MPI_Finalize"
        )));
    }
    end(status)
}

/// `quick_exit`.
extern "C" fn quick_exit(status: c_int) -> c_int {
    while let Some((function, argument)) =
        with_state(|state| state.library.exits.at_quick_exit.pop())
    {
        // SAFETY: as in `exit`.
        let function: AtExit = unsafe { std::mem::transmute(function) };
        function(argument as *mut c_void);
    }
    end_at_once(status)
}

/// `__cxa_at_quick_exit`.
extern "C" fn at_quick_exit(function: usize, _library: usize) -> c_int {
    with_state(|state| state.library.exits.at_quick_exit.push((function, 0)));
    0
}

pub(crate) extern "C" fn abort() -> ! {
    let rank = caller();
    let line = rank.call_line();
    rank.finish(RankEnd::Failed(format!("the program called abort{line}")))
}

/// `__stack_chk_fail`, of a function that is compiled with `-fstack-protector`.
extern "C" fn stack_check_fail() -> ! {
    let rank = caller();
    let line = rank.call_line();
    let text = format!("stack smashing detected{line}: the program wrote beyond a variable");
    rank.finish(RankEnd::Failed(text))
}

/// `__assert_fail`.
extern "C" fn assert_fail(
    condition: *const c_char,
    file: *const c_char,
    line: c_int,
    function: *const c_char,
) -> c_int {
    let [condition, file, function] = [condition, file, function].map(memory::text);
    let text = format!("assertion failed at {file}:{line} in {function}: {condition}");
    caller().finish(RankEnd::Failed(text))
}

/// `std::terminate`: an exception was not caught, or was thrown where none may be.
pub(super) extern "C" fn terminate() {
    caller().finish(RankEnd::Failed(
        "the program was terminated by an exception that it does not catch".to_owned(),
    ))
}

/// `__cxa_atexit`.
extern "C" fn at_exit(function: usize, argument: usize, _library: usize) -> c_int {
    with_state(|state| state.library.exits.at_exit.push((function, argument)));
    0
}

/// `__cxa_thread_atexit`: a thread-local object, which is destroyed before other objects.
extern "C" fn at_thread_exit(function: usize, argument: usize, _library: usize) -> c_int {
    with_state(|state| {
        state
            .library
            .exits
            .at_thread_exit
            .push((function, argument));
    });
    0
}

/// `__cxa_finalize`: all functions are called at the end of the rank.
extern "C" fn finalize(_library: usize) -> c_int {
    0
}

/// Returns the address of a function of this file.
pub(super) fn address(symbol: &str) -> Option<usize> {
    type One = extern "C" fn(c_int) -> c_int;
    type Never = extern "C" fn() -> !;
    Some(match symbol {
        "__libc_start_main" => {
            let function: extern "C-unwind" fn(
                Main,
                c_int,
                *mut *mut c_char,
                Option<Main>,
            ) -> c_int = start_main;
            function as usize
        }
        "exit" => exit as One as usize,
        "_exit" | "_Exit" => end_at_once as One as usize,
        "quick_exit" => quick_exit as One as usize,
        "__cxa_at_quick_exit" => at_quick_exit as extern "C" fn(usize, usize) -> c_int as usize,
        "abort" => abort as Never as usize,
        "__stack_chk_fail" => stack_check_fail as Never as usize,
        "__assert_fail" => {
            let function: extern "C" fn(
                *const c_char,
                *const c_char,
                c_int,
                *const c_char,
            ) -> c_int = assert_fail;
            function as usize
        }
        "__cxa_atexit" => at_exit as extern "C" fn(usize, usize, usize) -> c_int as usize,
        "__cxa_thread_atexit" | "__cxa_thread_atexit_impl" => {
            at_thread_exit as extern "C" fn(usize, usize, usize) -> c_int as usize
        }
        "__cxa_finalize" => finalize as extern "C" fn(usize) -> c_int as usize,
        _ => return None,
    })
}
