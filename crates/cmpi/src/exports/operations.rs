//! Operations of reductions, predefined or made by the program (MPI 5.0, section 6.9).

#![expect(non_snake_case, reason = "the names of the standard")]

use std::ffi::{c_int, c_void};

use mpi::Op;

use super::memory;
use crate::bridge::{caller, with_state};
use crate::datatypes::element;
use crate::errors::CallError;
use crate::ops;
use crate::state::requests::{AnyFunction, UserFunction, UserOp};
use crate::state::{Handle, MpiState, WORLD};

/// `MPI_OP_NULL`.
const OP_NULL: Handle = 0x20;

fn create_op(function: AnyFunction, commute: c_int, op: *mut Handle) {
    let user = UserOp {
        function,
        is_commutative: commute != 0,
    };
    let location = caller().location();
    let handle = with_state(|state| state.ops.insert_made(user, location));
    memory::store(op, handle);
}

/// Bytes before and behind each operand at least. \[choice\]
const GUARD: usize = 64;

/// A function that takes the elements for longer elements, at most for as many times longer ones,
/// writes behind the operand. \[choice\]
const OVERRUN_FACTOR: usize = 7;

/// Largest number of bytes for such writes. \[choice\]
const OVERRUN_MAX: usize = 1 << 16;

/// The value of the bytes beside the operands. \[choice\]
const FILL: u8 = 0xa5;

/// Copies of the operands of a function of the program, with bytes between the operands that the
/// function has to leave as they are.
struct GuardedOperands {
    bytes: Vec<u8>,
    /// Length of an operand.
    length: usize,
    /// Where each operand begins.
    starts: [usize; 2],
}

impl GuardedOperands {
    /// Copies the operands. Only under a model checker, which executes further programs after an
    /// overrun, the room behind the operands is enough for elements of another type.
    fn new(incoming: &[u8], inout: &[u8], is_checked: bool) -> Self {
        let length = inout.len();
        // The longest elements begin at multiples of 16 bytes.
        let pitch = length.next_multiple_of(16) + GUARD;
        let overrun_max = if is_checked { OVERRUN_MAX } else { 0 };
        let overrun = length.saturating_mul(OVERRUN_FACTOR).min(overrun_max);
        let mut bytes = vec![FILL; GUARD + 2 * pitch + overrun + 16];
        let first = GUARD + bytes.as_ptr().addr().wrapping_neg() % 16;
        let starts = [first, first + pitch];
        for (operand, start) in [incoming, inout].into_iter().zip(starts) {
            bytes[start..start + length].copy_from_slice(operand);
        }
        Self {
            bytes,
            length,
            starts,
        }
    }

    /// Returns both operands.
    fn operands_mut(&mut self) -> [&mut [u8]; 2] {
        let [first, second] = self.starts.map(|start| start..start + self.length);
        let ranges = self.bytes.get_disjoint_mut([first, second]);
        ranges.expect("operands are apart")
    }

    /// Returns true if the bytes beside the operands are as they were.
    fn is_intact(&self) -> bool {
        let [first, second] = self.starts;
        let beside = [
            &self.bytes[..first],
            &self.bytes[first + self.length..second],
            &self.bytes[second + self.length..],
        ];
        let changed = |bits: u8, byte: &u8| bits | (byte ^ FILL);
        (beside.into_iter()).all(|bytes| bytes.iter().fold(0, changed) == 0)
    }
}

impl MpiState {
    fn user_op(&self, op: Handle) -> Option<UserOp> {
        self.ops.get(op).copied()
    }

    /// Returns an operation on elements of a datatype.
    pub(super) fn op(&self, op: Handle, datatype: Handle) -> Result<Op, CallError> {
        let Some(user) = self.user_op(op) else {
            return ops::predefined(op, datatype);
        };
        let element = element(datatype)?;
        if !element.is_contiguous() {
            let text = format!("operations of the program on {datatype:#x} are not supported");
            return Err(CallError::new("MPI_ERR_OP", text));
        }
        let (rank, place) = (caller().to_reference(), caller().call_line());
        let is_checked = caller().is_checked();
        let apply = move |incoming: &[u8], inout: &mut [u8]| {
            let (count, size) = (inout.len() / element.size, element.size);
            let mut operands = GuardedOperands::new(incoming, inout, is_checked);
            rank.call_function(&mut || {
                let [incoming, inout] = operands.operands_mut();
                user.function.call(incoming, inout, count, datatype);
            });
            if operands.is_intact() {
                inout.copy_from_slice(operands.operands_mut()[1]);
            } else {
                rank.end_rank(format!(
                    "the operation of the reduction{place} has written beside its elements, {count} \
                     of {size} bytes"
                ));
            }
        };
        let size = element.size as u64;
        Ok(Op::on_bytes(
            "an operation of the program",
            size,
            user.is_commutative,
            apply,
        ))
    }
}

exports! {
    fn MPI_Reduce_local<N>(data: *const c_void, inout: *mut c_void, count: N, datatype: Handle, op: Handle) {
        let given = memory::elements_at(data, count, datatype)?;
        let target = memory::elements_at(inout, count, datatype)?;
        let reduced = with_state(|state| {
            let op = state.op(op, datatype)?;
            let comm = state.comm(WORLD)?;
            let mut reduced = memory::message(comm, target);
            op.reduce_local(&memory::message(comm, given), &mut reduced)?;
            Ok::<_, CallError>(reduced)
        })?;
        memory::fill_place(target, &reduced, reduced.len());
        Ok(())
    }

    fn MPI_Op_create(function: UserFunction<c_int>, commute: c_int, op: *mut Handle) {
        create_op(AnyFunction::Small(function), commute, op);
        Ok(())
    }

    fn MPI_Op_create_c(function: UserFunction<i64>, commute: c_int, op: *mut Handle) {
        create_op(AnyFunction::Large(function), commute, op);
        Ok(())
    }

    fn MPI_Op_free(op: *mut Handle) {
        let handle = memory::load(op, "op")?;
        if with_state(|state| state.ops.remove(handle)).is_none() {
            let text = format!("invalid operation {handle:#x}");
            return Err(CallError::new("MPI_ERR_OP", text));
        }
        memory::store(op, OP_NULL);
        Ok(())
    }

    fn MPI_Op_commutative(op: Handle, commute: *mut c_int) {
        let user = with_state(|state| state.user_op(op));
        memory::store(commute, user.map_or(1, |user| c_int::from(user.is_commutative)));
        Ok(())
    }
}
