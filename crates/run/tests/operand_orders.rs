//! Promise: with other orders of operands, an operation of the program that violates its
//! declaration is an error with the line of the reduction; rounded floating-point numbers are a
//! note.

use crate::common::{explored, on_ranks, reordered};
use explore::Verdict;
use mpi::{MissingProperty, prelude::*};

/// x → a x + b modulo 251, applied one after the other: associative, and not commutative.
fn composition(is_commutative: bool) -> Op {
    Op::new::<u16>("composition", is_commutative, |inout, incoming| {
        for (inout, incoming) in inout.chunks_exact_mut(2).zip(incoming.chunks_exact(2)) {
            inout[1] = (incoming[0] * inout[1] + incoming[1]) % 251;
            inout[0] = incoming[0] * inout[0] % 251;
        }
    })
}

/// Half of the sum: commutative, and not associative.
fn mean(is_commutative: bool) -> Op {
    Op::new::<u64>("mean", is_commutative, |inout, incoming| {
        for (inout, incoming) in inout.iter_mut().zip(incoming) {
            *inout = u64::midpoint(*inout, *incoming);
        }
    })
}

async fn compose(world: Comm, is_commutative: bool) -> Result<()> {
    let rank = u16::try_from(world.rank()).expect("few ranks");
    let own = world.buffer_of(&[rank + 2, rank]);
    let op = composition(is_commutative);
    world.reduce(&own, &op, 0).await.map(drop)
}

#[test]
fn an_operation_that_is_not_commutative() {
    let line = line!() - 5;
    let program = on_ranks(|world: Comm| compose(world, true));
    assert_eq!(explored(3, &program).verdict, Verdict::Ok);
    let (report, notes) = reordered(3, &program);
    let text = format!(
        "order-dependent reduction at crates/run/tests/operand_orders.rs:{line}: the operation \
         composition is not commutative"
    );
    let message = &report.findings[0].message;
    assert!(message.contains(&text), "{message}, not {text}");
    assert!(notes.is_empty(), "{notes:?}");
}

#[test]
fn an_operation_that_says_so() {
    let program = on_ranks(|world: Comm| compose(world, false));
    let (report, notes) = reordered(3, &program);
    assert_eq!(report.verdict, Verdict::Ok, "{report:?}");
    assert!(notes.is_empty(), "{notes:?}");
}

#[test]
fn an_operation_that_is_not_associative() {
    async fn reduce(world: Comm, is_commutative: bool) -> Result<()> {
        let own = world.buffer_of(&[8_u64 << world.rank()]);
        world.scan(&own, &mean(is_commutative)).await.map(drop)
    }
    for program in [|world| reduce(world, true), |world| reduce(world, false)] {
        let (report, _) = reordered(4, &on_ranks(program));
        let message = &report.findings[0].message;
        assert!(
            message.contains("the operation mean is not associative"),
            "{message}"
        );
    }
}

/// The call of one of the ranks fails, which can continue.
#[test]
fn the_class_of_the_error() {
    let program = on_ranks(|world: Comm| async move {
        let own = world.buffer_of(&[8_u64 << world.rank()]);
        let mut request = match world.allreduce(own, &mean(true)).start() {
            Ok(request) => request,
            Err(error) => {
                assert_eq!(error.class(), ErrorClass::Op);
                let Error::OrderDependent { op, property, .. } = error else {
                    panic!("{error}");
                };
                assert_eq!((op, property), ("mean", MissingProperty::Associative));
                return Err(error);
            }
        };
        request.wait().await.map(drop)
    });
    let (report, _) = reordered(3, &program);
    assert_eq!(report.findings[0].kind.name(), "error", "{report:?}");
}

#[test]
fn rounding_is_a_note() {
    let program = on_ranks(|world: Comm| async move {
        let own = world.buffer_of(&[[1e20, 1.0, -1e20, 1.0][world.rank()]]);
        world.allreduce(&own, &Op::sum::<f64>()).await.map(drop)
    });
    assert_eq!(explored(4, &program).verdict, Verdict::Ok);
    let (report, notes) = reordered(4, &program);
    assert_eq!(report.verdict, Verdict::Ok, "{report:?}");
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(
        notes[0].contains("allreduce at crates/run/tests/operand_orders.rs")
            && notes[0].contains("sum of f64"),
        "{notes:?}"
    );
}

#[test]
fn exact_reductions_have_no_note() {
    let program = on_ranks(|world: Comm| async move {
        let size = world.size();
        let own = world.buffer_of(&vec![u64::MAX - world.rank() as u64; size]);
        world.allreduce(&own, &Op::sum::<u64>()).await?;
        world.reduce(&own, &Op::product::<u64>(), 1).await?;
        world.reduce_scatter_block(&own, &Op::max::<u64>()).await?;
        world.exscan(&own, &Op::bitwise_xor::<u64>()).await?;
        let pair = world.buffer_of(&[(1.5_f64, world.rank() as u32)]);
        world.allreduce(&pair, &Op::min_location::<f64>()).await?;
        // Small numbers are not rounded.
        let small = world.buffer_of(&[world.rank() as f32]);
        world.allreduce(&small, &Op::sum::<f32>()).await.map(drop)
    });
    let (report, notes) = reordered(4, &program);
    assert_eq!(report.verdict, Verdict::Ok, "{report:?}");
    assert!(notes.is_empty(), "{notes:?}");
}
