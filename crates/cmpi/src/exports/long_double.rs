//! Operations on `long double`, of the x87 unit: 80 bits in 16 bytes.

use std::arch::asm;

use mpi::Op;

/// Bytes of a `long double`.
const SIZE: usize = 16;

type Number = [u8; SIZE];

/// Makes a function of two numbers of an instruction of the x87 unit.
macro_rules! instruction {
    ($name:ident, $text:literal) => {
        fn $name(one: Number, other: Number) -> Number {
            let mut result = [0; SIZE];
            // SAFETY: the instructions read and write 10 bytes of these arrays, and leave the stack
            // of the unit as it was.
            unsafe {
                asm!(
                    "fld tbyte ptr [{one}]",
                    "fld tbyte ptr [{other}]",
                    $text,
                    "fstp tbyte ptr [{result}]",
                    one = in(reg) one.as_ptr(),
                    other = in(reg) other.as_ptr(),
                    result = in(reg) result.as_mut_ptr(),
                    out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                    out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                    options(nostack),
                );
            }
            result
        }
    };
}

instruction!(add, "faddp st(1), st");
instruction!(subtract, "fsubp st(1), st");
instruction!(multiply, "fmulp st(1), st");

/// A number with the order of `long double`; values that are not a number have no order.
#[derive(PartialEq, PartialOrd)]
pub(crate) struct Ordered(Option<i128>);

/// Returns the order of a number: by sign, exponent and mantissa.
pub(crate) fn ordered(number: Number) -> Ordered {
    let bits = u128::from_le_bytes(number) & ((1 << 80) - 1);
    let magnitude = bits & ((1 << 79) - 1);
    let (exponent, mantissa) = (magnitude >> 64, magnitude & u128::from(u64::MAX));
    let is_number = exponent != 0x7fff || mantissa == 1 << 63;
    Ordered(is_number.then(|| {
        let magnitude = magnitude.cast_signed();
        if bits >> 79 == 1 {
            -magnitude
        } else {
            magnitude
        }
    }))
}

fn is_before(one: Number, other: Number) -> bool {
    match (ordered(one), ordered(other)) {
        (Ordered(Some(one)), Ordered(Some(other))) => one < other,
        _ => false,
    }
}

fn each<const N: usize>(name: &'static str, apply: fn([u8; N], [u8; N]) -> [u8; N]) -> Option<Op> {
    let function = move |incoming: &[u8], inout: &mut [u8]| {
        let (incoming, inout) = (incoming.as_chunks::<N>().0, inout.as_chunks_mut::<N>().0);
        for (one, place) in incoming.iter().zip(inout) {
            *place = apply(*one, *place);
        }
    };
    Some(Op::on_bytes(name, N as u64, true, function))
}

/// Returns a predefined operation on numbers.
pub(crate) fn number_op(op: usize) -> Option<Op> {
    match op {
        0x21 => each("sum", add),
        0x22 => each(
            "min",
            |one, place| if is_before(one, place) { one } else { place },
        ),
        0x23 => each(
            "max",
            |one, place| if is_before(place, one) { one } else { place },
        ),
        0x24 => each("product", multiply),
        _ => None,
    }
}

/// Real and imaginary part.
fn complex_parts(bytes: [u8; 2 * SIZE]) -> [Number; 2] {
    let parts = bytes.as_chunks::<SIZE>().0;
    [parts[0], parts[1]]
}

fn join_parts([real, imaginary]: [Number; 2]) -> [u8; 2 * SIZE] {
    let mut bytes = [0; 2 * SIZE];
    bytes[..SIZE].copy_from_slice(&real);
    bytes[SIZE..].copy_from_slice(&imaginary);
    bytes
}

/// Returns a predefined operation on complex numbers.
pub(crate) fn complex(op: usize) -> Option<Op> {
    match op {
        0x21 => each("sum", |one, other| {
            let ([a, b], [c, d]) = (complex_parts(one), complex_parts(other));
            join_parts([add(a, c), add(b, d)])
        }),
        0x24 => each("product", |one, other| {
            let ([a, b], [c, d]) = (complex_parts(one), complex_parts(other));
            let real = subtract(multiply(a, c), multiply(b, d));
            join_parts([real, add(multiply(a, d), multiply(b, c))])
        }),
        _ => None,
    }
}
