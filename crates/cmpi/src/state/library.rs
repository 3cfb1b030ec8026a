//! State that functions of the C library have for each rank: random numbers, texts, options, signal
//! handlers, descriptors, functions for the end.

use std::collections::BTreeMap;
use std::ffi::{CString, c_char, c_int, c_uint};
use std::fmt;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::ptr;

use libc::{FILE, tm};

/// State of functions of the C library.
#[derive(Default, Debug)]
pub(crate) struct LibraryState {
    pub(crate) random: Random,
    pub(crate) texts: Box<Texts>,
    pub(crate) system: System,
    pub(crate) options: OptionScan,
    pub(crate) exits: ExitFunctions,
}

/// Functions for the end of a rank, each with its argument.
#[derive(Default, Debug)]
pub(crate) struct ExitFunctions {
    pub(crate) at_exit: Vec<(usize, usize)>,
    pub(crate) at_quick_exit: Vec<(usize, usize)>,
    pub(crate) at_thread_exit: Vec<(usize, usize)>,
}

/// Bytes of the state with which a program starts (`TYPE_3`).
const STATE: usize = 128;

/// `struct random_data` of the GNU C library: 6 pointers and integers.
#[repr(C)]
pub(crate) struct RandomData {
    pub(crate) pointers: [*mut i32; 3],
    pub(crate) integers: [c_int; 3],
    pub(crate) end: *mut i32,
}

/// `struct drand48_data` of the GNU C library.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct Drand48Data {
    pub(crate) numbers: [u16; 8],
    pub(crate) factor: u64,
}

unsafe extern "C" {
    fn initstate_r(seed: c_uint, state: *mut c_char, length: usize, data: *mut RandomData)
    -> c_int;
}

/// States of the generators of a rank, made when they are first used.
#[derive(Default)]
pub(crate) struct Random {
    pub(crate) random: Option<Box<(RandomData, [c_char; STATE])>>,
    pub(crate) drand48: Drand48Data,
}

impl fmt::Debug for Random {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Random")
    }
}

impl Random {
    pub(crate) fn data(&mut self) -> *mut RandomData {
        let state = self.random.get_or_insert_with(|| {
            let data = RandomData {
                pointers: [ptr::null_mut(); 3],
                integers: [0; 3],
                end: ptr::null_mut(),
            };
            let mut state = Box::new((data, [0; STATE]));
            // SAFETY: the structure is that of the C library, all zero, and the state has this
            // length; both are in a box, so they stay where they are.
            unsafe { initstate_r(1, state.1.as_mut_ptr(), STATE, &raw mut state.0) };
            state
        });
        &raw mut state.0
    }
}

/// State of functions that return texts or times of the library.
pub(crate) struct Texts {
    /// Where `strtok` continues.
    pub(crate) token: *mut c_char,
    pub(crate) time: tm,
    /// Results of `asctime` and `ctime`, and of `strerror`.
    pub(crate) date: [c_char; 64],
    pub(crate) error: [c_char; 256],
    /// Entries of the environment that the program has set; none goes before the rank does.
    pub(crate) entries: Vec<CString>,
    /// The environment with them, once there is one.
    pub(crate) environment: Vec<*mut c_char>,
}

impl fmt::Debug for Texts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Texts")
    }
}

impl Default for Texts {
    fn default() -> Self {
        Self {
            token: ptr::null_mut(),
            // SAFETY: all zero is a time: a structure of integers and a pointer.
            time: unsafe { MaybeUninit::zeroed().assume_init() },
            date: [0; 64],
            error: [0; 256],
            entries: Vec::new(),
            environment: Vec::new(),
        }
    }
}

/// Signal handlers, the calls with a warning so far, and the count of `getrandom` draws.
#[derive(Default, Debug)]
pub(crate) struct System {
    pub(crate) handlers: BTreeMap<c_int, usize>,
    pub(crate) warned: Vec<&'static str>,
    pub(crate) drawn: u64,
}

/// Progress through the arguments.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct OptionScan {
    pub(crate) is_begun: bool,
    /// Address of the next letter in an argument with several options, or 0.
    pub(crate) next: usize,
    /// Arguments that are no options and were passed over.
    pub(crate) first: usize,
    pub(crate) last: usize,
    pub(crate) order: Order,
}

/// Treatment of arguments that are no options.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Order {
    /// They are moved to the end.
    #[default]
    Permute,
    /// The first one ends the options.
    Require,
    /// Each is returned as the argument of an option with the number 1.
    Return,
}

/// Where a descriptor of the table leads.
#[derive(Debug)]
pub(crate) enum DescriptorEntry {
    /// Lines of output (0) or of the log (1).
    Lines(usize),
    File(OwnedFd),
    Closed,
}

/// Descriptors of a rank that differ from the descriptors of the process, with their streams.
#[derive(Debug)]
pub(crate) struct Descriptors {
    pub(crate) entries: BTreeMap<c_int, DescriptorEntry>,
    /// Descriptors by the addresses of their streams.
    pub(crate) streams: BTreeMap<usize, c_int>,
    /// The stream in the place of standard input; null if that was not replaced.
    pub(crate) input: *mut FILE,
}

impl Default for Descriptors {
    fn default() -> Self {
        Self {
            entries: [
                (1, DescriptorEntry::Lines(0)),
                (2, DescriptorEntry::Lines(1)),
            ]
            .into(),
            streams: BTreeMap::new(),
            input: ptr::null_mut(),
        }
    }
}

impl Drop for Descriptors {
    fn drop(&mut self) {
        if !self.input.is_null() {
            // SAFETY: the stream was opened for this rank, whose program does not run any more.
            unsafe { libc::fclose(self.input) };
        }
    }
}
