//! `getopt`, `getopt_long` and `getopt_long_only`: options of a command line, with a state per
//! rank.
//!
//! Like in the GNU C library, where all ranks would share one state: arguments that are not options
//! are moved to the end, unless the list of options begins with + or -. *Not there*: `-W` as long
//! options.

use std::ffi::{CStr, c_char, c_int};
use std::ptr;

use crate::bridge::{Inner, caller, with_state};
use crate::state::library::{OptionScan, Order};

/// `struct option`.
#[repr(C)]
#[derive(Clone, Copy)]
struct LongOption {
    name: *const c_char,
    has_argument: c_int,
    flag: *mut c_int,
    value: c_int,
}

/// A call.
struct Call<'a> {
    rank: &'a Inner,
    scan: OptionScan,
    arguments: &'a mut [*mut c_char],
    letters: &'a [u8],
    long: &'a [LongOption],
    is_long_only: bool,
    long_index: *mut c_int,
    index: usize,
}

fn text_bytes<'a>(place: *const c_char) -> &'a [u8] {
    if place.is_null() {
        return b"";
    }
    // SAFETY: the program gave a text that ends with 0, which lives longer than the call.
    unsafe { CStr::from_ptr(place) }.to_bytes()
}

impl Call<'_> {
    fn argument(&self, index: usize) -> &'static [u8] {
        text_bytes(self.arguments[index])
    }

    fn is_option(&self, index: usize) -> bool {
        matches!(self.argument(index), [b'-', _, ..])
    }

    fn set<T>(&self, variable: &str, value: T) {
        // SAFETY: the place of a variable of this type in the image of the rank.
        unsafe { ptr::write_unaligned(self.rank.image().variable(variable), value) }
    }

    fn get_variable(&self, variable: &str) -> c_int {
        // SAFETY: as above.
        unsafe { ptr::read_unaligned(self.rank.image().variable(variable)) }
    }

    fn complain(&self, what: &str) {
        if self.get_variable("opterr") != 0 && self.letters.first() != Some(&b':') {
            let name = String::from_utf8_lossy(self.argument(0)).into_owned();
            self.rank
                .write_lines(1, format!("{name}: {what}\n").as_bytes());
        }
    }

    fn begin_scan(&mut self, order: Option<Order>) {
        if self.index == 0 || !self.scan.is_begun {
            self.index = self.index.max(1);
            self.scan = OptionScan {
                is_begun: true,
                next: 0,
                first: self.index,
                last: self.index,
                order: order.unwrap_or_else(|| {
                    // SAFETY: looks a name up in the environment, which nobody changes.
                    let is_strict = unsafe { !libc::getenv(c"POSIXLY_CORRECT".as_ptr()).is_null() };
                    if is_strict {
                        Order::Require
                    } else {
                        Order::Permute
                    }
                }),
            };
        }
    }

    /// Moves the arguments that were passed over behind the options that came after them.
    fn permute_arguments(&mut self) {
        let (first, last) = (self.scan.first, self.scan.last);
        self.arguments[first..self.index].rotate_left(last - first);
        self.scan.first += self.index - last;
        self.scan.last = self.index;
    }

    /// Finds the next argument that has options: a result if there is none.
    fn next_argument(&mut self) -> Option<c_int> {
        let count = self.arguments.len();
        self.scan.last = self.scan.last.min(self.index);
        self.scan.first = self.scan.first.min(self.index);
        let settle = |call: &mut Self| {
            if call.scan.first != call.scan.last && call.scan.last != call.index {
                call.permute_arguments();
            } else if call.scan.last != call.index || call.scan.first == call.scan.last {
                call.scan.first = call.index;
            }
        };
        if self.scan.order == Order::Permute {
            settle(self);
            while self.index < count && !self.is_option(self.index) {
                self.index += 1;
            }
            self.scan.last = self.index;
        }
        if self.index < count && self.argument(self.index) == b"--" {
            self.index += 1;
            settle(self);
            self.scan.last = count;
            self.index = count;
        }
        if self.index >= count {
            if self.scan.first != self.scan.last {
                self.index = self.scan.first;
            }
            return Some(-1);
        }
        if !self.is_option(self.index) {
            if self.scan.order == Order::Require {
                return Some(-1);
            }
            self.set("optarg", self.arguments[self.index]);
            self.index += 1;
            return Some(1);
        }
        self.next_option()
    }

    /// Begins an argument with options; returns a result if the argument is a long option.
    fn next_option(&mut self) -> Option<c_int> {
        let argument = self.argument(self.index);
        let address = self.arguments[self.index] as usize;
        if !self.long.is_empty() {
            if argument.starts_with(b"--") {
                self.scan.next = address + 2;
                return self.long_option("--");
            }
            if self.is_long_only && (argument.len() > 2 || !self.letters.contains(&argument[1])) {
                self.scan.next = address + 1;
                if let Some(found) = self.long_option("-") {
                    return Some(found);
                }
            }
        }
        self.scan.next = address + 1;
        None
    }

    /// Returns the option with this name, or a list of the options to which the name may refer.
    fn find_long(&self, name: &[u8]) -> Result<usize, Vec<usize>> {
        let mut found = Vec::new();
        for (index, option) in self.long.iter().enumerate() {
            let known = text_bytes(option.name);
            if known == name {
                return Ok(index);
            }
            if known.starts_with(name) {
                found.push(index);
            }
        }
        let same = |&index: &usize| {
            let (one, other) = (&self.long[found[0]], &self.long[index]);
            (one.has_argument, one.flag, one.value) == (other.has_argument, other.flag, other.value)
        };
        let is_one = !found.is_empty() && found.iter().all(same);
        if is_one { Ok(found[0]) } else { Err(found) }
    }

    fn long_option(&mut self, prefix: &str) -> Option<c_int> {
        let rest = text_bytes(self.scan.next as *const c_char);
        let length = rest.iter().position(|letter| *letter == b'=');
        let (name, has_value) = (&rest[..length.unwrap_or(rest.len())], length.is_some());
        let shown = String::from_utf8_lossy(name).into_owned();
        let index = match self.find_long(name) {
            Ok(index) => index,
            Err(found) => {
                let is_long = self.argument(self.index).starts_with(b"--");
                let first = rest
                    .first()
                    .is_some_and(|letter| self.letters.contains(letter));
                if found.is_empty() && self.is_long_only && !is_long && first {
                    return None;
                }
                let what = if found.is_empty() {
                    "unrecognized option"
                } else {
                    "ambiguous option"
                };
                let given = String::from_utf8_lossy(rest).into_owned();
                self.complain(&format!("{what} '{prefix}{given}'"));
                self.scan.next = 0;
                self.index += 1;
                self.set("optopt", 0);
                return Some(c_int::from(b'?'));
            }
        };
        let option = self.long[index];
        self.index += 1;
        let next = std::mem::take(&mut self.scan.next);
        if has_value {
            if option.has_argument == 0 {
                self.complain(&format!(
                    "option '{prefix}{shown}' doesn't allow an argument"
                ));
                self.set("optopt", option.value);
                return Some(c_int::from(b'?'));
            }
            self.set("optarg", next + name.len() + 1);
        } else if option.has_argument == 1 {
            if self.index >= self.arguments.len() {
                self.complain(&format!("option '{prefix}{shown}' requires an argument"));
                self.set("optopt", option.value);
                return Some(self.missing_argument());
            }
            self.set("optarg", self.arguments[self.index]);
            self.index += 1;
        }
        if !self.long_index.is_null() {
            super::memory::store(self.long_index, c_int::try_from(index).unwrap_or(0));
        }
        if option.flag.is_null() {
            return Some(option.value);
        }
        super::memory::store(option.flag, option.value);
        Some(0)
    }

    /// Returns the result for an option that lacks its argument.
    fn missing_argument(&self) -> c_int {
        c_int::from(if self.letters.first() == Some(&b':') {
            b':'
        } else {
            b'?'
        })
    }

    fn short_option(&mut self) -> c_int {
        let rest = text_bytes(self.scan.next as *const c_char);
        let letter = rest.first().copied().unwrap_or_default();
        self.scan.next += 1;
        let is_last = rest.len() <= 1;
        if is_last {
            self.index += 1;
            self.scan.next = 0;
        }
        let known = self.letters.iter().position(|known| *known == letter);
        let Some(at) = known.filter(|_| letter != b':' && letter != b';') else {
            self.complain(&format!("invalid option -- '{}'", char::from(letter)));
            self.set("optopt", c_int::from(letter));
            return c_int::from(b'?');
        };
        match self.letters[at + 1..] {
            [b':', b':', ..] if is_last => {}
            [b':', ..] if !is_last => {
                self.set("optarg", self.scan.next);
                self.index += 1;
                self.scan.next = 0;
            }
            [b':', ..] if self.index >= self.arguments.len() => {
                let shown = char::from(letter);
                self.complain(&format!("option requires an argument -- '{shown}'"));
                self.set("optopt", c_int::from(letter));
                return self.missing_argument();
            }
            [b':', ..] => {
                self.set("optarg", self.arguments[self.index]);
                self.index += 1;
            }
            _ => {}
        }
        c_int::from(letter)
    }

    fn scan_option(&mut self, order: Option<Order>) -> c_int {
        self.set("optarg", 0_usize);
        self.begin_scan(order);
        if self.scan.next == 0
            && let Some(result) = self.next_argument()
        {
            return result;
        }
        self.short_option()
    }
}

fn parse_options(
    (count, arguments): (c_int, *mut *mut c_char),
    letters: *const c_char,
    (long, long_index, is_long_only): (*const LongOption, *mut c_int, bool),
) -> c_int {
    let Some(count) = usize::try_from(count).ok().filter(|count| *count > 0) else {
        return -1;
    };
    let mut number = 0;
    if !long.is_null() {
        // SAFETY: the list ends with an option whose name is null.
        while unsafe { !(*long.add(number)).name.is_null() } {
            number += 1;
        }
    }
    let (order, letters) = match text_bytes(letters) {
        [b'+', rest @ ..] => (Some(Order::Require), rest),
        [b'-', rest @ ..] => (Some(Order::Return), rest),
        all => (None, all),
    };
    let rank = caller();
    // SAFETY: this number of options was counted, and the program gives the number of arguments;
    // nobody else uses either during the call.
    let (long, arguments) = unsafe {
        let long = if number == 0 {
            &[]
        } else {
            std::slice::from_raw_parts(long, number)
        };
        (long, std::slice::from_raw_parts_mut(arguments, count))
    };
    let mut call = Call {
        rank,
        scan: with_state(|state| state.library.options),
        arguments,
        letters,
        long,
        is_long_only,
        long_index,
        index: 0,
    };
    call.index = usize::try_from(call.get_variable("optind")).unwrap_or(0);
    let result = call.scan_option(order);
    call.set("optind", c_int::try_from(call.index).unwrap_or(c_int::MAX));
    let scan = call.scan;
    with_state(|state| state.library.options = scan);
    result
}

extern "C" fn getopt(count: c_int, arguments: *mut *mut c_char, letters: *const c_char) -> c_int {
    parse_options(
        (count, arguments),
        letters,
        (ptr::null(), ptr::null_mut(), false),
    )
}

extern "C" fn getopt_long(
    count: c_int,
    arguments: *mut *mut c_char,
    letters: *const c_char,
    long: *const LongOption,
    index: *mut c_int,
) -> c_int {
    parse_options((count, arguments), letters, (long, index, false))
}

extern "C" fn getopt_long_only(
    count: c_int,
    arguments: *mut *mut c_char,
    letters: *const c_char,
    long: *const LongOption,
    index: *mut c_int,
) -> c_int {
    parse_options((count, arguments), letters, (long, index, true))
}

/// Returns the address of a function of this file.
pub(super) fn address(symbol: &str) -> Option<usize> {
    type Short = extern "C" fn(c_int, *mut *mut c_char, *const c_char) -> c_int;
    type Long = extern "C" fn(
        c_int,
        *mut *mut c_char,
        *const c_char,
        *const LongOption,
        *mut c_int,
    ) -> c_int;
    Some(match symbol {
        "getopt" | "__posix_getopt" => getopt as Short as usize,
        "getopt_long" => getopt_long as Long as usize,
        "getopt_long_only" => getopt_long_only as Long as usize,
        _ => return None,
    })
}
