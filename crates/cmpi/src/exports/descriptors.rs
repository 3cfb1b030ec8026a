//! Descriptors 0, 1 and 2 of a rank: input, lines of output, and lines of the log.
//!
//! The process has each of these descriptors only once for all ranks. So calls for them use a table
//! of the rank, also after `dup`, `dup2`, `freopen` and `close`; calls for other descriptors go to
//! the system. Output and log appear to the program as pipes, as under `mpiexec`. *Not there*: the
//! streams of processes that a program starts (`system`, `popen`), and calls in system libraries.

use std::arch::naked_asm;
use std::ffi::{c_char, c_int, c_long, c_void};
use std::os::fd::{AsRawFd as _, FromRawFd as _, IntoRawFd, OwnedFd};
use std::ptr;

use libc::{EBADF, EINVAL, ENOTTY, ESPIPE, FILE, iovec, ssize_t};

use super::{memory, streams};
use crate::bridge::{Inner, caller, set_errno};
use crate::state::library::{DescriptorEntry, Descriptors};

/// Where a descriptor leads.
#[derive(Clone, Copy)]
enum Target {
    Lines(usize),
    /// A descriptor of the process.
    Process(c_int),
    Closed,
}

impl Descriptors {
    fn target(&self, descriptor: c_int) -> Target {
        match self.entries.get(&descriptor) {
            Some(DescriptorEntry::Lines(number)) => Target::Lines(*number),
            Some(DescriptorEntry::File(file)) => Target::Process(file.as_raw_fd()),
            Some(DescriptorEntry::Closed) => Target::Closed,
            None => Target::Process(descriptor),
        }
    }
}

/// Returns where a descriptor of the rank that has called leads.
fn target(descriptor: c_int) -> Target {
    caller().descriptors().borrow().target(descriptor)
}

/// Sets the error number; returns -1.
fn fail(error: c_int) -> c_int {
    set_errno(error);
    -1
}

/// Writes bytes to a descriptor of a rank.
pub(super) fn write_bytes(rank: &Inner, descriptor: c_int, bytes: &[u8]) -> ssize_t {
    let target = rank.descriptors().borrow().target(descriptor);
    match target {
        Target::Lines(number) => {
            rank.write_lines(number, bytes);
            bytes.len().cast_signed()
        }
        // SAFETY: the bytes are there.
        Target::Process(file) => unsafe { libc::write(file, bytes.as_ptr().cast(), bytes.len()) },
        Target::Closed => fail(EBADF) as ssize_t,
    }
}

pub(crate) extern "C" fn write(descriptor: c_int, place: *const c_void, length: usize) -> ssize_t {
    match target(descriptor) {
        // SAFETY: the program's own call, as below.
        Target::Process(file) => unsafe { libc::write(file, place, length) },
        _ if length == 0 => 0,
        // SAFETY: the program says that these bytes are its own.
        _ => write_bytes(caller(), descriptor, unsafe {
            std::slice::from_raw_parts(place.cast(), length)
        }),
    }
}

/// `writev`.
extern "C" fn write_parts(descriptor: c_int, parts: *const iovec, count: c_int) -> ssize_t {
    if let Target::Process(file) = target(descriptor) {
        // SAFETY: the program's own call.
        return unsafe { libc::writev(file, parts, count) };
    }
    let mut written = 0;
    for number in 0..usize::try_from(count).unwrap_or(0) {
        // SAFETY: the program gave the given number of descriptions.
        let part = unsafe { ptr::read_unaligned(parts.add(number)) };
        match write(descriptor, part.iov_base, part.iov_len) {
            length @ 0.. => written += length,
            error => return error,
        }
    }
    written
}

extern "C" fn read(descriptor: c_int, place: *mut c_void, length: usize) -> ssize_t {
    match target(descriptor) {
        Target::Process(0) if !caller().has_input() => 0,
        // SAFETY: the program's own call.
        Target::Process(file) => unsafe { libc::read(file, place, length) },
        _ => fail(EBADF) as ssize_t,
    }
}

unsafe extern "C" {
    fn vdprintf(descriptor: c_int, format: *const c_char, arguments: *mut c_void) -> c_int;
    fn vasprintf(text: *mut *mut c_char, format: *const c_char, arguments: *mut c_void) -> c_int;
}

/// `vdprintf`.
extern "C" fn print_list(
    descriptor: c_int,
    format: *const c_char,
    arguments: *mut c_void,
) -> c_int {
    if let Target::Process(file) = target(descriptor) {
        // SAFETY: the program's own call.
        return unsafe { vdprintf(file, format, arguments) };
    }
    let mut text = ptr::null_mut();
    // SAFETY: the program's own format and arguments; the function stores an address of as many
    // bytes as it returns, which are freed when they were written.
    unsafe {
        let length = vasprintf(&raw mut text, format, arguments);
        if let Ok(bytes) = usize::try_from(length) {
            write(descriptor, text.cast(), bytes);
            libc::free(text.cast());
        }
        length
    }
}

/// `__vdprintf_chk`.
extern "C" fn print_list_checked(
    descriptor: c_int,
    _flag: c_int,
    format: *const c_char,
    arguments: *mut c_void,
) -> c_int {
    print_list(descriptor, format, arguments)
}

/// Makes a function with any number of arguments from a function with an argument list: stores the
/// argument registers, and gives the address of the list (System V ABI, section 3.5.7) as the
/// argument behind the named arguments.
macro_rules! variadic {
    ($(#[$about:meta])* $name:ident, $named:literal bytes, $list:literal, $target:path) => {
        $(#[$about])*
        #[unsafe(naked)]
        extern "C" fn $name() -> c_int {
            naked_asm!(
                "sub rsp, 216",
                "mov [rsp + 32], rdi",
                "mov [rsp + 40], rsi",
                "mov [rsp + 48], rdx",
                "mov [rsp + 56], rcx",
                "mov [rsp + 64], r8",
                "mov [rsp + 72], r9",
                "movaps [rsp + 80], xmm0",
                "movaps [rsp + 96], xmm1",
                "movaps [rsp + 112], xmm2",
                "movaps [rsp + 128], xmm3",
                "movaps [rsp + 144], xmm4",
                "movaps [rsp + 160], xmm5",
                "movaps [rsp + 176], xmm6",
                "movaps [rsp + 192], xmm7",
                concat!("mov dword ptr [rsp], ", $named),
                "mov dword ptr [rsp + 4], 48",
                "lea rax, [rsp + 224]",
                "mov [rsp + 8], rax",
                "lea rax, [rsp + 32]",
                "mov [rsp + 16], rax",
                concat!("mov ", $list, ", rsp"),
                "call {target}",
                "add rsp, 216",
                "ret",
                target = sym $target,
            )
        }
    };
}

variadic!(
    /// `dprintf`.
    print, 16 bytes, "rdx", print_list
);
variadic!(
    /// `__dprintf_chk`.
    print_checked, 24 bytes, "rcx", print_list_checked
);

/// `isatty`: lines are none.
extern "C" fn is_terminal(descriptor: c_int) -> c_int {
    match target(descriptor) {
        Target::Process(0) if !caller().has_input() => {
            set_errno(ENOTTY);
            0
        }
        // SAFETY: the program's own call.
        Target::Process(file) => unsafe { libc::isatty(file) },
        Target::Lines(_) => {
            set_errno(ENOTTY);
            0
        }
        Target::Closed => {
            set_errno(EBADF);
            0
        }
    }
}

/// Opens a descriptor that no system call uses, so that its number is reserved; the number is not
/// below `lowest`.
fn take_number(lowest: c_int) -> c_int {
    // SAFETY: the calls have no conditions.
    unsafe {
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        if null < 0 || null >= lowest {
            return null;
        }
        let number = libc::fcntl(null, libc::F_DUPFD_CLOEXEC, lowest);
        libc::close(null);
        number
    }
}

/// `dup`, and `fcntl` with `F_DUPFD`.
fn duplicate_from(descriptor: c_int, lowest: c_int) -> c_int {
    match target(descriptor) {
        // SAFETY: the program's own call.
        Target::Process(file) => unsafe { libc::fcntl(file, libc::F_DUPFD, lowest) },
        Target::Closed => fail(EBADF),
        Target::Lines(number) => {
            let copy = take_number(lowest);
            if copy >= 0 {
                let mut descriptors = caller().descriptors().borrow_mut();
                descriptors
                    .entries
                    .insert(copy, DescriptorEntry::Lines(number));
            }
            copy
        }
    }
}

extern "C" fn duplicate(descriptor: c_int) -> c_int {
    duplicate_from(descriptor, 0)
}

/// `dup2`.
extern "C" fn duplicate_to(from: c_int, to: c_int) -> c_int {
    let source = target(from);
    if matches!(source, Target::Closed) || to < 0 {
        return fail(EBADF);
    }
    if from == to {
        return to;
    }
    if to > 2 {
        return duplicate_to_other(source, to);
    }
    let entry = match source {
        Target::Lines(number) => DescriptorEntry::Lines(number),
        Target::Process(file) => match copy_descriptor(file) {
            Some(copy) => DescriptorEntry::File(copy),
            None => return -1,
        },
        Target::Closed => return fail(EBADF),
    };
    if to == 0
        && let DescriptorEntry::File(file) = &entry
    {
        replace_input(file);
    }
    let mut descriptors = caller().descriptors().borrow_mut();
    descriptors.entries.insert(to, entry);
    to
}

/// `dup2` to a descriptor that is not a standard one.
fn duplicate_to_other(source: Target, to: c_int) -> c_int {
    let rank = caller();
    let result = match source {
        // SAFETY: the program's own call.
        Target::Process(file) => unsafe { libc::dup2(file, to) },
        _ => {
            let null = take_number(0);
            // SAFETY: both descriptors are those of this call; the second is closed.
            unsafe {
                let result = libc::dup2(null, to);
                if null != to {
                    libc::close(null);
                }
                result
            }
        }
    };
    let mut descriptors = rank.descriptors().borrow_mut();
    descriptors.entries.remove(&to);
    if let Target::Lines(number) = source
        && result >= 0
    {
        descriptors
            .entries
            .insert(to, DescriptorEntry::Lines(number));
    }
    result
}

extern "C" fn duplicate_with(from: c_int, to: c_int, _flags: c_int) -> c_int {
    if from == to {
        return fail(EINVAL);
    }
    duplicate_to(from, to)
}

/// Returns a copy of a descriptor of the process; `None` with an error number.
fn copy_descriptor(file: c_int) -> Option<OwnedFd> {
    // SAFETY: the call has no conditions.
    let copy = unsafe { libc::fcntl(file, libc::F_DUPFD_CLOEXEC, 3) };
    // SAFETY: the descriptor is new.
    (copy >= 0).then(|| unsafe { OwnedFd::from_raw_fd(copy) })
}

/// Makes a file the standard input of the rank.
fn replace_input(file: &OwnedFd) {
    if let Some(copy) = copy_descriptor(file.as_raw_fd()) {
        // SAFETY: the descriptor is one that the stream owns from now on.
        let stream = unsafe { libc::fdopen(copy.into_raw_fd(), c"r".as_ptr()) };
        set_input(stream);
    }
}

/// Sets the stream of the standard input of the rank.
fn set_input(stream: *mut FILE) {
    let rank = caller();
    // The one before stays open: the program may have its address.
    rank.descriptors().borrow_mut().input = stream;
    rank.set_input(stream);
}

extern "C" fn close(descriptor: c_int) -> c_int {
    let mut descriptors = caller().descriptors().borrow_mut();
    let is_known = descriptors.entries.contains_key(&descriptor);
    if (0..=2).contains(&descriptor) {
        let before = descriptors
            .entries
            .insert(descriptor, DescriptorEntry::Closed);
        return match before {
            Some(DescriptorEntry::Closed) => fail(EBADF),
            _ => 0,
        };
    }
    if is_known {
        descriptors.entries.remove(&descriptor);
    }
    // SAFETY: the program's own call.
    unsafe { libc::close(descriptor) }
}

/// `fcntl`; the last argument is a number or an address.
extern "C" fn control(descriptor: c_int, command: c_int, argument: usize) -> c_int {
    match (target(descriptor), command) {
        (Target::Closed, _) => fail(EBADF),
        (_, libc::F_DUPFD | libc::F_DUPFD_CLOEXEC) => {
            duplicate_from(descriptor, c_int::try_from(argument).unwrap_or(c_int::MAX))
        }
        // SAFETY: the program's own call.
        (Target::Process(file), _) => unsafe { libc::fcntl(file, command, argument) },
        (Target::Lines(_), libc::F_GETFL) => libc::O_WRONLY,
        (Target::Lines(_), _) => 0,
    }
}

/// `ioctl`.
extern "C" fn control_device(descriptor: c_int, request: libc::c_ulong, argument: usize) -> c_int {
    match target(descriptor) {
        // SAFETY: the program's own call.
        Target::Process(file) => unsafe { libc::ioctl(file, request, argument) },
        Target::Lines(_) => fail(ENOTTY),
        Target::Closed => fail(EBADF),
    }
}

/// `fstat`: lines are a pipe.
extern "C" fn describe(descriptor: c_int, place: *mut libc::stat) -> c_int {
    match target(descriptor) {
        // SAFETY: the program's own call.
        Target::Process(file) => unsafe { libc::fstat(file, place) },
        Target::Closed => fail(EBADF),
        Target::Lines(_) => {
            // SAFETY: all zero is such a structure, of numbers.
            let mut found: libc::stat = unsafe { std::mem::zeroed() };
            found.st_mode = libc::S_IFIFO | 0o600;
            found.st_nlink = 1;
            found.st_blksize = 4096;
            memory::store(place, found);
            0
        }
    }
}

/// `__fxstat`, of programs for the GNU C library before 2.33.
extern "C" fn describe_version(
    _version: c_int,
    descriptor: c_int,
    place: *mut libc::stat,
) -> c_int {
    describe(descriptor, place)
}

extern "C" fn seek(descriptor: c_int, offset: c_long, from: c_int) -> c_long {
    match target(descriptor) {
        // SAFETY: the program's own call.
        Target::Process(file) => unsafe { libc::lseek(file, offset, from) },
        Target::Lines(_) => c_long::from(fail(ESPIPE)),
        Target::Closed => c_long::from(fail(EBADF)),
    }
}

extern "C" fn truncate(descriptor: c_int, length: c_long) -> c_int {
    match target(descriptor) {
        // SAFETY: the program's own call.
        Target::Process(file) => unsafe { libc::ftruncate(file, length) },
        _ => fail(EINVAL),
    }
}

/// `fileno`.
extern "C" fn number(stream: *mut FILE) -> c_int {
    let rank = caller();
    if let Some(number) = streams::standard_number(stream) {
        return number;
    }
    let descriptors = rank.descriptors().borrow();
    if let Some(number) = descriptors.streams.get(&(stream as usize)) {
        return *number;
    }
    if stream == rank.input_stream() {
        return 0;
    }
    // SAFETY: the program's own call.
    unsafe { libc::fileno(stream) }
}

/// `fdopen`.
extern "C" fn open_stream(descriptor: c_int, mode: *const c_char) -> *mut FILE {
    let rank = caller();
    match target(descriptor) {
        Target::Closed => {
            set_errno(EBADF);
            ptr::null_mut()
        }
        Target::Lines(_) => {
            let stream = streams::open_stream(descriptor);
            let mut descriptors = rank.descriptors().borrow_mut();
            descriptors.streams.insert(stream as usize, descriptor);
            stream
        }
        // The stream closes its descriptor.
        Target::Process(file) if file != descriptor => {
            let copy = copy_descriptor(file).map_or(-1, IntoRawFd::into_raw_fd);
            // SAFETY: the program's own call.
            unsafe { libc::fdopen(copy, mode) }
        }
        // SAFETY: as above.
        Target::Process(file) => unsafe { libc::fdopen(file, mode) },
    }
}

/// `freopen`: a stream of all ranks stays, and the descriptor of the rank leads to the file.
extern "C" fn reopen(path: *const c_char, mode: *const c_char, stream: *mut FILE) -> *mut FILE {
    let rank = caller();
    let standard = streams::standard_number(stream);
    let is_input = stream == rank.input_stream();
    if standard.is_none() && !is_input {
        // SAFETY: the program's own call.
        return unsafe { libc::freopen(path, mode, stream) };
    }
    if path.is_null() {
        return stream;
    }
    // SAFETY: the program's own names.
    let file = unsafe { libc::fopen(path, mode) };
    let Some(number) = standard.filter(|_| !file.is_null()) else {
        if !file.is_null() {
            set_input(file);
            // SAFETY: the stream was opened above.
            if let Some(copied) = copy_descriptor(unsafe { libc::fileno(file) }) {
                let mut descriptors = rank.descriptors().borrow_mut();
                descriptors.entries.insert(0, DescriptorEntry::File(copied));
            }
        }
        return file;
    };
    // SAFETY: the stream was opened above; its descriptor is copied before that is closed.
    let copied = unsafe {
        let copied = copy_descriptor(libc::fileno(file));
        libc::fclose(file);
        copied
    };
    let Some(copied) = copied else {
        return ptr::null_mut();
    };
    let mut descriptors = rank.descriptors().borrow_mut();
    descriptors
        .entries
        .insert(number, DescriptorEntry::File(copied));
    stream
}

/// `fclose`, which does not close streams of all ranks.
extern "C" fn close_stream(stream: *mut FILE) -> c_int {
    let rank = caller();
    if streams::standard_number(stream).is_some() {
        return 0;
    }
    if stream == rank.input_stream() {
        return close(0).max(0);
    }
    let known = rank
        .descriptors()
        .borrow_mut()
        .streams
        .remove(&(stream as usize));
    // SAFETY: the program's own call.
    let result = unsafe { libc::fclose(stream) };
    if let Some(descriptor) = known {
        close(descriptor);
    }
    result
}

/// Returns the address of a function of this file.
pub(super) fn address(symbol: &str) -> Option<usize> {
    let function = match symbol {
        "write" => write as *const (),
        "writev" => write_parts as *const (),
        "read" | "__read_chk" => read as *const (),
        "dprintf" => print as *const (),
        "__dprintf_chk" => print_checked as *const (),
        "vdprintf" => print_list as *const (),
        "__vdprintf_chk" => print_list_checked as *const (),
        "isatty" => is_terminal as *const (),
        "dup" => duplicate as *const (),
        "dup2" => duplicate_to as *const (),
        "dup3" => duplicate_with as *const (),
        "close" => close as *const (),
        "fcntl" | "fcntl64" => control as *const (),
        "ioctl" => control_device as *const (),
        "fstat" | "fstat64" => describe as *const (),
        "__fxstat" | "__fxstat64" => describe_version as *const (),
        "lseek" | "lseek64" => seek as *const (),
        "ftruncate" | "ftruncate64" => truncate as *const (),
        "fileno" | "fileno_unlocked" => number as *const (),
        "fdopen" => open_stream as *const (),
        "freopen" | "freopen64" => reopen as *const (),
        "fclose" => close_stream as *const (),
        _ => return None,
    };
    Some(function as usize)
}
