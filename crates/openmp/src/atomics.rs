//! Atomic updates of integers and floating-point numbers (`__kmpc_atomic_…` of libomp).
//!
//! *Not there*: complex numbers, numbers of 10 and 16 bytes but for updates by a function.

use std::ffi::{c_int, c_void};

/// Makes a function that updates a number; a further argument decides whether a function that
/// captures returns the old value or the new one.
macro_rules! update {
    ($kind:ty, |$old:ident, $operand:ident| $new:expr) => {{
        extern "C" fn update(
            _location: usize,
            _thread: c_int,
            place: *mut $kind,
            $operand: $kind,
            returns_new: c_int,
        ) -> $kind {
            // SAFETY: the program gave the place of a number of this kind.
            let $old = unsafe { place.read_unaligned() };
            let new: $kind = $new;
            // SAFETY: as above.
            unsafe { place.write_unaligned(new) };
            if returns_new != 0 { new } else { $old }
        }
        update as *const ()
    }};
}

/// Makes the function that exchanges a number.
macro_rules! exchange {
    ($kind:ty) => {{
        extern "C" fn exchange(_: usize, _: c_int, place: *mut $kind, operand: $kind) -> $kind {
            // SAFETY: the program gave the place of a number of this kind.
            unsafe { std::mem::replace(&mut *place, operand) }
        }
        exchange as *const ()
    }};
}

/// Returns the function of an operation on integers or floating-point numbers.
macro_rules! find_update {
    ($wanted:expr, integer $kind:ty) => {
        match $wanted {
            "add" => update!($kind, |old, operand| old.wrapping_add(operand)),
            "sub" => update!($kind, |old, operand| old.wrapping_sub(operand)),
            "sub_rev" => update!($kind, |old, operand| operand.wrapping_sub(old)),
            "mul" => update!($kind, |old, operand| old.wrapping_mul(operand)),
            "div" => update!($kind, |old, operand| old.wrapping_div(operand)),
            "div_rev" => update!($kind, |old, operand| operand.wrapping_div(old)),
            "andb" => update!($kind, |old, operand| old & operand),
            "orb" => update!($kind, |old, operand| old | operand),
            "xor" | "neqv" => update!($kind, |old, operand| old ^ operand),
            "eqv" => update!($kind, |old, operand| !(old ^ operand)),
            "andl" => update!($kind, |old, operand| (old != 0 && operand != 0).into()),
            "orl" => update!($kind, |old, operand| (old != 0 || operand != 0).into()),
            "shl" => update!($kind, |old, operand| old.wrapping_shl(operand as u32)),
            "shr" => update!($kind, |old, operand| old.wrapping_shr(operand as u32)),
            "shl_rev" => update!($kind, |old, operand| operand.wrapping_shl(old as u32)),
            "shr_rev" => update!($kind, |old, operand| operand.wrapping_shr(old as u32)),
            wanted => find_update!(wanted, common $kind),
        }
    };
    ($wanted:expr, float $kind:ty) => {
        match $wanted {
            "add" => update!($kind, |old, operand| old + operand),
            "sub" => update!($kind, |old, operand| old - operand),
            "sub_rev" => update!($kind, |old, operand| operand - old),
            "mul" => update!($kind, |old, operand| old * operand),
            "div" => update!($kind, |old, operand| old / operand),
            "div_rev" => update!($kind, |old, operand| operand / old),
            wanted => find_update!(wanted, common $kind),
        }
    };
    ($wanted:expr, common $kind:ty) => {
        match $wanted {
            "min" => update!($kind, |old, operand| if operand < old { operand } else { old }),
            "max" => update!($kind, |old, operand| if operand > old { operand } else { old }),
            "rd" => update!($kind, |old, _operand| old),
            "wr" => update!($kind, |_old, operand| operand),
            "swp" => exchange!($kind),
            _ => return None,
        }
    };
}

/// An update by a function, which gets the places of the result and of both operands.
extern "C" fn update_by_function(
    _location: usize,
    _thread: c_int,
    place: *mut c_void,
    operand: *mut c_void,
    function: extern "C" fn(*mut c_void, *mut c_void, *mut c_void),
) {
    function(place, place, operand);
}

/// Returns the function of a name without `__kmpc_atomic_`, such as `fixed4_add`.
pub(super) fn find_function(name: &str) -> Option<*const ()> {
    if name.parse::<u32>().is_ok() {
        return Some(update_by_function as *const ());
    }
    let name = name.replace("_cpt", "");
    let (kind, wanted) = name.split_once('_')?;
    Some(match kind {
        "fixed1" => find_update!(wanted, integer i8),
        "fixed1u" => find_update!(wanted, integer u8),
        "fixed2" => find_update!(wanted, integer i16),
        "fixed2u" => find_update!(wanted, integer u16),
        "fixed4" => find_update!(wanted, integer i32),
        "fixed4u" => find_update!(wanted, integer u32),
        "fixed8" => find_update!(wanted, integer i64),
        "fixed8u" => find_update!(wanted, integer u64),
        "float4" => find_update!(wanted, float f32),
        "float8" => find_update!(wanted, float f64),
        _ => return None,
    })
}
