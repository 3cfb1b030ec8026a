//! Programs in C++: streams of the C++ library, exceptions, and uncaught exceptions.
//!
//! The library finds the frames of an image by their registration. The library keeps the state of
//! exceptions in progress per thread, so simrun saves this state when the thread leaves a rank.

use std::ffi::{CStr, c_char, c_void};

type OnFrames = unsafe extern "C" fn(*const c_void);

/// Functions of the libraries of C++.
#[derive(Clone, Debug)]
pub(crate) struct Exceptions {
    /// Offsets of descriptions of frames.
    frames: Vec<u64>,
    register: Option<OnFrames>,
    deregister: Option<OnFrames>,
    globals: Option<unsafe extern "C" fn() -> *mut ExceptionState>,
}

/// Exceptions in handling, and the number of exceptions that are not caught yet
/// (`__cxa_eh_globals`).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExceptionState {
    caught: usize,
    uncaught: usize,
}

impl ExceptionState {
    pub(crate) const NONE: Self = Self {
        caught: 0,
        uncaught: 0,
    };
}

/// Returns the address of a function of the libraries that are loaded.
fn find_function(name: &CStr) -> Option<*mut c_void> {
    let name: *const c_char = name.as_ptr();
    // SAFETY: the name ends with 0; the call only looks it up.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name) };
    (!address.is_null()).then_some(address)
}

impl Exceptions {
    /// Prepares the loaded libraries of a program in C++. `frames`: offsets of descriptions of
    /// frames in the image of the program.
    pub(super) fn new(frames: Vec<u64>, terminate: extern "C" fn()) -> Self {
        if let Some(init) = find_function(c"_ZNSt8ios_base4InitC1Ev") {
            let mut object = 0_u64;
            // SAFETY: the constructor of `std::ios_base::Init`, an object without members, which
            // makes the streams. They have to be there before a program copies them.
            unsafe {
                let init: extern "C" fn(*mut u64) = std::mem::transmute(init);
                init(&raw mut object);
            }
        }
        if let Some(set) = find_function(c"_ZSt13set_terminatePFvvE") {
            // SAFETY: `std::set_terminate`, which gets a function without arguments.
            unsafe {
                let set: extern "C" fn(extern "C" fn()) -> *mut c_void = std::mem::transmute(set);
                set(terminate);
            }
        }
        // SAFETY: functions of libgcc and libstdc++ with these signatures.
        unsafe {
            Self {
                frames,
                register: find_function(c"__register_frame").map(|it| std::mem::transmute(it)),
                deregister: find_function(c"__deregister_frame").map(|it| std::mem::transmute(it)),
                globals: find_function(c"__cxa_get_globals").map(|it| std::mem::transmute(it)),
            }
        }
    }

    /// Registers the frames of an image at this address.
    pub(super) fn register_frames(&self, base: usize) -> Vec<Registered> {
        let Some((register, deregister)) = self.register.zip(self.deregister) else {
            return Vec::new();
        };
        let place = |offset: &u64| {
            let frames = base + super::index(*offset);
            // SAFETY: the descriptions in the image are whole up to their end, as was checked when
            // the file was read, and stay until they are taken back.
            unsafe { register(frames as *const c_void) };
            Registered { frames, deregister }
        };
        self.frames.iter().map(place).collect()
    }

    /// Replaces the state of the thread by the state of a rank, and returns the old state.
    pub(crate) fn exchange_state(&self, state: ExceptionState) -> ExceptionState {
        let Some(globals) = self.globals else {
            return state;
        };
        // SAFETY: the function returns the place of this thread's state; nobody else uses it now.
        unsafe { std::mem::replace(&mut *globals(), state) }
    }
}

/// An image with registered frames; drop ends the registration.
#[derive(Debug)]
pub(crate) struct Registered {
    frames: usize,
    deregister: OnFrames,
}

impl Drop for Registered {
    fn drop(&mut self) {
        // SAFETY: the frames were registered, and their image is still there.
        unsafe { (self.deregister)(self.frames as *const c_void) };
    }
}
