//! Predefined operations of reductions on predefined datatypes.
//!
//! *Not there*: operations on Fortran's numbers of 2 and 16 bytes. `MPI_CHAR` is a number of 8
//! bits, as in MPICH; the standard defines none.

use mpi::{Integer, Number, Op};

use crate::errors::CallError;
use crate::exports::long_double;

fn of_number<T: Number>(op: usize) -> Option<Op> {
    Some(match op {
        0x21 => Op::sum::<T>(),
        0x22 => Op::min::<T>(),
        0x23 => Op::max::<T>(),
        0x24 => Op::product::<T>(),
        0x3c => Op::replace::<T>(),
        0x3d => Op::no_op::<T>(),
        _ => return None,
    })
}

fn of_integer<T: Integer>(op: usize) -> Option<Op> {
    Some(match op {
        0x28 => Op::bitwise_and::<T>(),
        0x29 => Op::bitwise_or::<T>(),
        0x2a => Op::bitwise_xor::<T>(),
        0x30 => Op::logical_and::<T>(),
        0x31 => Op::logical_or::<T>(),
        0x32 => Op::logical_xor::<T>(),
        _ => return of_number::<T>(op),
    })
}

/// Makes an operation on complex numbers.
macro_rules! complex {
    ($op:expr, $part:ty) => {{
        const PART: usize = size_of::<$part>();
        type Number = [$part; 2];
        fn read(bytes: &[u8]) -> Number {
            let part = |at: usize| {
                let bytes = bytes[at..at + PART].try_into();
                <$part>::from_le_bytes(bytes.expect("a part has this length"))
            };
            [part(0), part(PART)]
        }
        fn each(incoming: &[u8], inout: &mut [u8], apply: fn(Number, Number) -> Number) {
            let pairs = incoming
                .chunks_exact(2 * PART)
                .zip(inout.chunks_exact_mut(2 * PART));
            for (one, place) in pairs {
                let [real, imaginary] = apply(read(one), read(place));
                place[..PART].copy_from_slice(&real.to_le_bytes());
                place[PART..].copy_from_slice(&imaginary.to_le_bytes());
            }
        }
        let made = |name, apply: fn(Number, Number) -> Number| {
            let function = move |one: &[u8], place: &mut [u8]| each(one, place, apply);
            Some(Op::on_bytes(name, 2 * PART as u64, true, function))
        };
        match $op {
            0x21 => made("sum", |[a, b], [c, d]| [a + c, b + d]),
            0x24 => made("product", |[a, b], [c, d]| [a * c - b * d, a * d + b * c]),
            _ => None,
        }
    }};
}

macro_rules! location {
    ($op:expr, $number:ty) => {
        match $op {
            0x38 => Some(Op::min_location::<$number>()),
            0x39 => Some(Op::max_location::<$number>()),
            _ => None,
        }
    };
}

/// Returns the first `N` bytes.
fn first_bytes<const N: usize>(bytes: &[u8]) -> [u8; N] {
    *bytes.first_chunk().expect("an element has this length")
}

/// Returns an operation on pairs of a value and an index one behind the other.
fn location_of<V: PartialOrd + 'static, I: PartialOrd + 'static, const A: usize, const B: usize>(
    op: usize,
    value: &'static (dyn Fn([u8; A]) -> V + Sync),
    index: &'static (dyn Fn([u8; B]) -> I + Sync),
) -> Option<Op> {
    let is_minimum = match op {
        0x38 => true,
        0x39 => false,
        _ => return None,
    };
    let apply = move |incoming: &[u8], inout: &mut [u8]| {
        let places = inout.chunks_exact_mut(A + B);
        for (one, place) in incoming.chunks_exact(A + B).zip(places) {
            let (new, old) = (value(first_bytes(one)), value(first_bytes(place)));
            let is_better = if is_minimum { new < old } else { new > old };
            let is_first =
                new == old && index(first_bytes(&one[A..])) < index(first_bytes(&place[A..]));
            if is_better || is_first {
                place.copy_from_slice(one);
            }
        }
    };
    let name = if is_minimum { "minloc" } else { "maxloc" };
    Some(Op::on_bytes(name, (A + B) as u64, true, apply))
}

/// Returns a predefined operation on a predefined datatype.
pub(crate) fn predefined(op: usize, datatype: usize) -> Result<Op, CallError> {
    let found = match datatype {
        // MPI_INT8_T, MPI_CHAR, MPI_SIGNED_CHAR, MPI_INTEGER1.
        0x240 | 0x243 | 0x244 | 0x2c1 => of_integer::<i8>(op),
        // MPI_UINT8_T, MPI_UNSIGNED_CHAR, MPI_BYTE, MPI_C_BOOL, MPI_CXX_BOOL.
        0x241 | 0x245 | 0x247 | 0x238 | 0x239 => of_integer::<u8>(op),
        // MPI_INT16_T, MPI_SHORT, MPI_INTEGER2.
        0x248 | 0x208 | 0x2c9 => of_integer::<i16>(op),
        0x249 | 0x20c => of_integer::<u16>(op),
        // MPI_INT32_T, MPI_INT, MPI_INTEGER, MPI_INTEGER4, MPI_LOGICAL, MPI_WCHAR.
        0x250 | 0x209 | 0x219 | 0x2d1 | 0x218 | 0x23c => of_integer::<i32>(op),
        0x251 | 0x20d => of_integer::<u32>(op),
        // MPI_INT64_T, MPI_LONG, MPI_LONG_LONG, MPI_AINT, MPI_COUNT, MPI_OFFSET, MPI_INTEGER8.
        0x258 | 0x20a | 0x20b | 0x201..=0x203 | 0x2d9 => of_integer::<i64>(op),
        0x259 | 0x20e | 0x20f => of_integer::<u64>(op),
        // MPI_FLOAT, MPI_REAL, MPI_REAL4.
        0x210 | 0x21a | 0x2d2 => of_number::<f32>(op),
        // MPI_DOUBLE, MPI_DOUBLE_PRECISION, MPI_REAL8.
        0x214 | 0x21c | 0x2da => of_number::<f64>(op),
        // Pairs: MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_LONG_INT, MPI_2INT, MPI_2INTEGER.
        0x228 => location!(op, f32),
        0x229 => location!(op, f64),
        0x22a => location!(op, i64),
        0x22b | 0x232 => location!(op, i32),
        // MPI_2REAL, MPI_2DOUBLE_PRECISION, MPI_SHORT_INT: pairs without padding.
        0x230 => location_of(op, &f32::from_le_bytes, &f32::from_le_bytes),
        0x231 => location_of(op, &f64::from_le_bytes, &f64::from_le_bytes),
        0x22c => location_of(op, &i16::from_le_bytes, &i32::from_le_bytes),
        // MPI_LONG_DOUBLE, pairs and complex numbers of them.
        0x220 => long_double::number_op(op),
        0x22d => location_of(op, &long_double::ordered, &i32::from_le_bytes),
        0x224 | 0x225 => long_double::complex(op),
        // MPI_LOGICAL1, MPI_LOGICAL2, MPI_LOGICAL4, MPI_LOGICAL8.
        0x2c0 => of_integer::<i8>(op),
        0x2c8 => of_integer::<i16>(op),
        0x2d0 => of_integer::<i32>(op),
        0x2d8 => of_integer::<i64>(op),
        // Complex numbers: in C, C++ and Fortran.
        0x212 | 0x213 | 0x21b | 0x2db => complex!(op, f32),
        0x216 | 0x217 | 0x21d | 0x2e3 => complex!(op, f64),
        _ => None,
    };
    found.ok_or_else(|| {
        let text = format!("operation {op:#x} on the datatype {datatype:#x} is not supported");
        CallError::new("MPI_ERR_OP", text)
    })
}
