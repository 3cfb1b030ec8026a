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
        let rank = caller().to_reference();
        let apply = move |incoming: &[u8], inout: &mut [u8]| {
            let count = inout.len() / element.size;
            let mut function = || user.function.call(incoming, inout, count, datatype);
            rank.call_function(&mut function);
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
