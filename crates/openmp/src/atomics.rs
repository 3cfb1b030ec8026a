//! Atomic updates of integers, floating-point and complex numbers (`__kmpc_atomic_…` of libomp).
//!
//! *Not there*: numbers of 10 and 16 bytes, real or complex, but for updates by a function.

use std::ffi::{c_int, c_void};
use std::ops::{Add, Div, Mul, Sub};

/// A complex number, which functions of C pass as `float complex` or `double complex`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Complex<T> {
    re: T,
    im: T,
}

/// Makes the operations of complex numbers on numbers of a kind.
macro_rules! complex_operations {
    ($kind:ty) => {
        impl Add for Complex<$kind> {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                let (re, im) = (self.re + other.re, self.im + other.im);
                Self { re, im }
            }
        }

        impl Sub for Complex<$kind> {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                let (re, im) = (self.re - other.re, self.im - other.im);
                Self { re, im }
            }
        }

        impl Mul for Complex<$kind> {
            type Output = Self;
            fn mul(self, other: Self) -> Self {
                let re = self.re * other.re - self.im * other.im;
                let im = self.re * other.im + self.im * other.re;
                Self { re, im }
            }
        }

        impl Div for Complex<$kind> {
            type Output = Self;
            // The square of the divisor may be out of range where the quotient is not: R. L. Smith,
            // Algorithm 116, Communications of the ACM 5 (8), 1962.
            fn div(self, other: Self) -> Self {
                if other.re.abs() >= other.im.abs() {
                    let ratio = other.im / other.re;
                    let size = other.re + other.im * ratio;
                    let re = (self.re + self.im * ratio) / size;
                    let im = (self.im - self.re * ratio) / size;
                    Self { re, im }
                } else {
                    let ratio = other.re / other.im;
                    let size = other.re * ratio + other.im;
                    let re = (self.re * ratio + self.im) / size;
                    let im = (self.im * ratio - self.re) / size;
                    Self { re, im }
                }
            }
        }
    };
}

complex_operations!(f32);
complex_operations!(f64);

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

/// Makes a function that updates a complex number of 8 bytes; a function that captures stores the
/// old or the new value at a further place, because libomp does not return such numbers.
macro_rules! update_at_place {
    ($kind:ty, |$old:ident, $operand:ident| $new:expr) => {{
        extern "C" fn update(
            _location: usize,
            _thread: c_int,
            place: *mut $kind,
            $operand: $kind,
            captured: *mut $kind,
            returns_new: c_int,
        ) {
            // SAFETY: the program gave the place of a number of this kind.
            let $old = unsafe { place.read_unaligned() };
            let new: $kind = $new;
            // SAFETY: as above.
            unsafe { place.write_unaligned(new) };
            // SAFETY: the program gave a second place of a number of this kind.
            unsafe { captured.write_unaligned(if returns_new != 0 { new } else { $old }) };
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
            "min" => update!($kind, |old, operand| if operand < old { operand } else { old }),
            "max" => update!($kind, |old, operand| if operand > old { operand } else { old }),
            wanted => find_update!(wanted, field update $kind),
        }
    };
    // The operations of real and of complex numbers.
    ($wanted:expr, field $update:ident $kind:ty) => {
        match $wanted {
            "add" => $update!($kind, |old, operand| old + operand),
            "sub" => $update!($kind, |old, operand| old - operand),
            "sub_rev" => $update!($kind, |old, operand| operand - old),
            "mul" => $update!($kind, |old, operand| old * operand),
            "div" => $update!($kind, |old, operand| old / operand),
            "div_rev" => $update!($kind, |old, operand| operand / old),
            wanted => find_update!(wanted, access $kind),
        }
    };
    ($wanted:expr, common $kind:ty) => {
        match $wanted {
            "min" => update!($kind, |old, operand| if operand < old { operand } else { old }),
            "max" => update!($kind, |old, operand| if operand > old { operand } else { old }),
            wanted => find_update!(wanted, access $kind),
        }
    };
    ($wanted:expr, access $kind:ty) => {
        match $wanted {
            "rd" => update!($kind, |old, _operand| old),
            "wr" => update!($kind, |_old, operand| operand),
            "swp" => exchange!($kind),
            _ => return None,
        }
    };
}

/// The exchange of a complex number of 8 bytes, which stores the old value at a further place.
extern "C" fn exchange_at_place(
    _location: usize,
    _thread: c_int,
    place: *mut Complex<f32>,
    operand: Complex<f32>,
    captured: *mut Complex<f32>,
) {
    // SAFETY: the program gave two places of complex numbers.
    unsafe { captured.write_unaligned(place.read_unaligned()) };
    // SAFETY: as above.
    unsafe { place.write_unaligned(operand) };
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
    let captures = name.contains("_cpt");
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
        "cmplx4" if captures => find_update!(wanted, field update_at_place Complex<f32>),
        "cmplx4" if wanted == "swp" => exchange_at_place as *const (),
        "cmplx4" => find_update!(wanted, field update Complex<f32>),
        "cmplx8" => find_update!(wanted, field update Complex<f64>),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::Complex;

    #[test]
    fn quotients_of_numbers_whose_squares_are_out_of_range() {
        for size in [1e20_f32, 1e-30] {
            for (re, im) in [(size, 0.5 * size), (0.5 * size, size)] {
                let quotient = Complex { re, im } / Complex { re, im };
                assert!((quotient.re - 1.0).abs() < 1e-6, "{}", quotient.re);
                assert!(quotient.im.abs() < 1e-6, "{}", quotient.im);
            }
        }
        let of = |re, im| Complex::<f64> { re, im };
        let quotient = of(1.0, 2.0) / of(3.0, -4.0);
        assert!((quotient.re + 0.2).abs() < 1e-15 && (quotient.im - 0.4).abs() < 1e-15);
    }
}
