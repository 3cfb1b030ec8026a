//! Functions of the C library that return library memory, or have a state: each rank has a separate
//! memory and state. The environment is the environment of the process until a rank changes it.

use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr;

use libc::tm;

use crate::bridge::{caller, set_errno, with_state};

unsafe extern "C" {
    fn asctime_r(time: *const tm, text: *mut c_char) -> *mut c_char;
    fn ctime_r(time: *const i64, text: *mut c_char) -> *mut c_char;
    fn __xpg_strerror_r(error: c_int, text: *mut c_char, length: usize) -> c_int;
}

extern "C" fn token(text: *mut c_char, ends: *const c_char) -> *mut c_char {
    let place = with_state(|state| &raw mut state.library.texts.token);
    // SAFETY: the program's own call, with the state of its rank.
    unsafe { libc::strtok_r(text, ends, place) }
}

extern "C" fn utc(time: *const i64) -> *mut tm {
    let place = with_state(|state| &raw mut state.library.texts.time);
    // SAFETY: as above; the place is in a box of the rank.
    unsafe { libc::gmtime_r(time, place) }
}

extern "C" fn local(time: *const i64) -> *mut tm {
    let place = with_state(|state| &raw mut state.library.texts.time);
    // SAFETY: as above.
    unsafe { libc::localtime_r(time, place) }
}

extern "C" fn date(time: *const tm) -> *mut c_char {
    let place = with_state(|state| state.library.texts.date.as_mut_ptr());
    // SAFETY: as above; the text has at most 26 bytes.
    unsafe { asctime_r(time, place) }
}

extern "C" fn date_of_seconds(time: *const i64) -> *mut c_char {
    let place = with_state(|state| state.library.texts.date.as_mut_ptr());
    // SAFETY: as above.
    unsafe { ctime_r(time, place) }
}

extern "C" fn error_text(error: c_int) -> *mut c_char {
    with_state(|state| {
        let text = &mut state.library.texts.error;
        // SAFETY: the place has this length.
        unsafe { __xpg_strerror_r(error, text.as_mut_ptr(), text.len()) };
        text.as_mut_ptr()
    })
}

/// Returns the entries of the environment of the rank.
fn environment() -> Vec<*mut c_char> {
    let place: *mut *mut *mut c_char = caller().image().variable("environ");
    let mut entries = Vec::new();
    // SAFETY: the variable of the image, and a list of texts that ends with null.
    unsafe {
        let mut at = ptr::read_unaligned(place);
        while !at.is_null() && !(*at).is_null() {
            entries.push(*at);
            at = at.add(1);
        }
    }
    entries
}

/// Returns true if an entry has this name.
fn is_of(entry: *mut c_char, name: &[u8]) -> bool {
    // SAFETY: entries are texts that end with 0.
    let entry = unsafe { CStr::from_ptr(entry) }.to_bytes();
    entry
        .strip_prefix(name)
        .is_some_and(|rest| rest.starts_with(b"="))
}

/// Returns the bytes of a name, or `None` if the name is not valid.
fn name_at(name: *const c_char) -> Option<Vec<u8>> {
    if name.is_null() {
        return None;
    }
    // SAFETY: the program gave the address of a text that ends with 0.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes();
    (!name.is_empty() && !name.contains(&b'=')).then(|| name.to_vec())
}

extern "C" fn get(name: *const c_char) -> *mut c_char {
    let Some(name) = name_at(name) else {
        return ptr::null_mut();
    };
    let found = environment().into_iter().find(|entry| is_of(*entry, &name));
    found.map_or(ptr::null_mut(), |entry| entry.wrapping_add(name.len() + 1))
}

/// Replaces the entry of a name; `None` removes the entry.
fn replace(name: &[u8], entry: Option<*mut c_char>) {
    let mut entries = environment();
    entries.retain(|entry| !is_of(*entry, name));
    entries.extend(entry);
    entries.push(ptr::null_mut());
    let place = with_state(|state| {
        state.library.texts.environment = entries;
        state.library.texts.environment.as_mut_ptr()
    });
    caller().image().set_environment(place);
}

extern "C" fn set(name: *const c_char, value: *const c_char, overwrite: c_int) -> c_int {
    let Some(known) = name_at(name).filter(|_| !value.is_null()) else {
        set_errno(libc::EINVAL);
        return -1;
    };
    if overwrite == 0 && !get(name).is_null() {
        return 0;
    }
    // SAFETY: the program gave the address of a text that ends with 0.
    let value = unsafe { CStr::from_ptr(value) }.to_bytes();
    let text = CString::new([&known, &b"="[..], value].concat()).unwrap_or_default();
    let entry = text.as_ptr().cast_mut();
    with_state(|state| state.library.texts.entries.push(text));
    replace(&known, Some(entry));
    0
}

extern "C" fn unset(name: *const c_char) -> c_int {
    let Some(name) = name_at(name) else {
        set_errno(libc::EINVAL);
        return -1;
    };
    replace(&name, None);
    0
}

/// `putenv`: the text of the program becomes the entry.
extern "C" fn put(entry: *mut c_char) -> c_int {
    // SAFETY: the program gave the address of a text that ends with 0.
    let text = unsafe { CStr::from_ptr(entry) }.to_bytes();
    match text.iter().position(|byte| *byte == b'=') {
        Some(end) => replace(&text[..end], Some(entry)),
        None => replace(text, None),
    }
    0
}

/// Returns the address of a function of this file.
pub(super) fn address(symbol: &str) -> Option<usize> {
    type OfSeconds = extern "C" fn(*const i64) -> *mut tm;
    Some(match symbol {
        "strtok" => token as extern "C" fn(*mut c_char, *const c_char) -> *mut c_char as usize,
        "gmtime" => utc as OfSeconds as usize,
        "localtime" => local as OfSeconds as usize,
        "asctime" => date as extern "C" fn(*const tm) -> *mut c_char as usize,
        "ctime" => date_of_seconds as extern "C" fn(*const i64) -> *mut c_char as usize,
        "strerror" => error_text as extern "C" fn(c_int) -> *mut c_char as usize,
        "getenv" | "secure_getenv" => get as extern "C" fn(*const c_char) -> *mut c_char as usize,
        "setenv" => set as extern "C" fn(*const c_char, *const c_char, c_int) -> c_int as usize,
        "unsetenv" => unset as extern "C" fn(*const c_char) -> c_int as usize,
        "putenv" => put as extern "C" fn(*mut c_char) -> c_int as usize,
        _ => return None,
    })
}
