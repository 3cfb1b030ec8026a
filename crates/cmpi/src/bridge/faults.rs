//! Faults of a program, such as an access to unmapped memory: a fault ends the rank of the program,
//! not the process.
//!
//! The signal handler continues at the end of the rank instead of at the instruction that failed.
//! *Not contained*: `abort` by a library, and earlier writes of a rank to the memory of other
//! ranks. A fault in simrun itself, even while simrun reads a buffer of the program, keeps its
//! usual effect.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr;
use std::sync::OnceLock;

use libc::{sigaction, siginfo_t, ucontext_t};

use super::{CURRENT, watchdog};

/// Signals of faults, with their names.
const SIGNALS: [(c_int, &str); 4] = [
    (libc::SIGSEGV, "segmentation fault"),
    (libc::SIGBUS, "bus error"),
    (libc::SIGFPE, "arithmetic exception"),
    (libc::SIGILL, "illegal instruction"),
];

/// A fault: the signal, and the address of the instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fault {
    pub(super) signal: c_int,
    pub(super) instruction: usize,
    /// True if the fault is an access to the guard of the stack.
    pub(super) is_stack_full: bool,
}

impl Fault {
    /// Returns the name of the fault for a user.
    pub(super) fn name(self) -> String {
        let signal = self.signal;
        let found = SIGNALS.iter().find(|(known, _)| *known == signal);
        let name = found.map_or("signal", |(_, name)| name);
        format!("{name} (signal {signal})")
    }
}

/// State from before the handlers.
struct Before {
    actions: [sigaction; SIGNALS.len()],
    /// Addresses of simrun's own text.
    text: Range<usize>,
}

static BEFORE: OnceLock<Before> = OnceLock::new();

/// Installs the handlers, once.
pub(crate) fn install() {
    let is_first = BEFORE.get().is_none();
    BEFORE.get_or_init(|| Before {
        actions: SIGNALS.map(|(signal, _)| {
            let mut action = MaybeUninit::<sigaction>::zeroed();
            // SAFETY: asks for the present action, and stores it; all zero is an action, too.
            unsafe {
                sigaction(signal, ptr::null(), action.as_mut_ptr());
                action.assume_init()
            }
        }),
        text: own_text(),
    });
    if !is_first {
        return;
    }
    let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = on_fault;
    for signal in SIGNALS.map(|it| it.0).into_iter().chain([watchdog::SIGNAL]) {
        // SAFETY: the structure is plain data, of which the mask is empty. The handler runs on the
        // alternate stack that the standard library gives its threads; it reads and writes cells
        // of the rank that runs on its thread, and the context that it is given.
        unsafe {
            let mut action: sigaction = MaybeUninit::zeroed().assume_init();
            action.sa_sigaction = handler as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
            if signal == watchdog::SIGNAL {
                action.sa_flags |= libc::SA_RESTART;
            }
            sigaction(signal, &raw const action, ptr::null_mut());
        }
    }
}

/// Returns true if an address is in the text of this executable.
pub(super) fn is_own_text(address: usize) -> bool {
    BEFORE
        .get()
        .is_none_or(|before| before.text.contains(&address))
}

/// Returns the addresses of the text of this executable.
fn own_text() -> Range<usize> {
    extern "C" fn first(info: *mut libc::dl_phdr_info, _: usize, found: *mut c_void) -> c_int {
        // SAFETY: the call gives a description of an object, with its number of headers, and the
        // place that it was given.
        unsafe {
            let info = &*info;
            let count = usize::from(info.dlpi_phnum);
            let headers = std::slice::from_raw_parts(info.dlpi_phdr, count);
            let is_text = |header: &&libc::Elf64_Phdr| {
                header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0
            };
            if let Some(header) = headers.iter().find(is_text) {
                let address = |offset: u64| usize::try_from(info.dlpi_addr + offset).unwrap_or(0);
                let range = address(header.p_vaddr)..address(header.p_vaddr + header.p_memsz);
                *found.cast::<Range<usize>>() = range;
            }
        }
        // The executable comes first; nothing else is asked for.
        1
    }
    let mut found = 0..0_usize;
    // SAFETY: the function is called at once, with the place of the range.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut found).cast()) };
    found
}

extern "C" fn on_fault(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let Some(before) = BEFORE.get() else {
        return;
    };
    // SAFETY: the system gives the registers of the instruction that failed.
    let registers = unsafe { &mut (*context.cast::<ucontext_t>()).uc_mcontext.gregs };
    let register = |number: c_int| usize::try_from(number).unwrap_or_default();
    let [rip, rsp, rbp, rdi, rsi] = [
        libc::REG_RIP,
        libc::REG_RSP,
        libc::REG_RBP,
        libc::REG_RDI,
        libc::REG_RSI,
    ]
    .map(register);
    let (instruction, stack) = (registers[rip] as usize, registers[rsp] as usize);
    // SAFETY: as for `current`; a fault of a program interrupts the poll of its rank.
    let rank = unsafe { CURRENT.get().as_ref() };
    let handler = rank.and_then(|rank| Some((rank, rank.stack.trap.get()?)));
    if signal == watchdog::SIGNAL {
        // In the middle of a function of a library its state may not be whole.
        let is_meant = rank.is_some_and(|rank| {
            let is_inside = rank.image().offset_of(instruction).is_some();
            let watch = rank.watch.as_ref();
            let watch = watch.filter(|watch| is_inside && watch.is_exceeded());
            watch.is_some()
        });
        if !is_meant {
            return;
        }
        watchdog::Watch::note_exceeded();
    }
    // A frame may be longer than the guard of the stack.
    let is_own = |rank: &super::Inner| rank.image().offset_of(instruction).is_some();
    if let Some((rank, handler)) = handler
        && (handler.stack_ptr_in_bounds(stack) || is_own(rank))
        && !before.text.contains(&instruction)
    {
        // SAFETY: the system gives a description of the signal, which is a fault or has no address.
        let address = unsafe { (*info).si_addr() } as usize;
        let is_stack_full = signal == libc::SIGSEGV
            && handler.stack_ptr_in_bounds(address)
            && rank.stack.end.get().is_beyond(address);
        rank.fault.set(Some(Fault {
            signal,
            instruction,
            is_stack_full,
        }));
        // SAFETY: the program of the rank was running, on the stack of the rank, whose content is
        // given up: the frames there are the program's, and those of functions of this crate that
        // are reading or writing memory of the program. All registers that it asks for are set.
        let to = unsafe { handler.setup_trap_handler(|| ()) };
        registers[rip] = to.rip.cast_signed();
        registers[rsp] = to.rsp.cast_signed();
        registers[rbp] = to.rbp.cast_signed();
        registers[rdi] = to.rdi.cast_signed();
        registers[rsi] = to.rsi.cast_signed();
        return;
    }
    // The instruction fails again, with the effect that it had before.
    let number = SIGNALS.iter().position(|(known, _)| *known == signal);
    if let Some(number) = number {
        // SAFETY: the action is one that was there before.
        unsafe { sigaction(signal, &raw const before.actions[number], ptr::null_mut()) };
    }
}
