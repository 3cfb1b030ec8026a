//! A flow uses exactly its declared uses, in closed form.

use maxmin::{SharedUses, Solver};

/// A solver with two links of 10 and 4 and a flow in slot 0 that crosses the first twice and the
/// second once.
fn twice_over_the_first() -> Solver {
    let mut solver = Solver::new(2);
    solver.declare(0);
    solver.cross(0, 0, 10.0, 1.0);
    solver.cross(0, 1, 4.0, 0.5);
    solver.cross(0, 0, 10.0, 3.0);
    solver
}

fn enter(solver: &mut Solver, slot: u32) {
    solver.enter(slot, 1.0, f64::INFINITY, 100.0, 0.0);
}

#[test]
fn several_uses_of_a_capacity_add_up() {
    let mut solver = twice_over_the_first();
    assert_eq!(solver.uses(0).len(), 2, "each capacity once");
    enter(&mut solver, 0);
    solver.solve(0.0);
    // 10 / (1 + 3) is less than 4 / 0.5.
    assert_eq!(solver.rate(0), 2.5);
}

#[test]
fn a_flow_that_is_declared_like_another_shares_with_it() {
    let mut solver = twice_over_the_first();
    let mut uses = SharedUses::default();
    solver.share_uses(0, &mut uses);
    solver.declare_like(1, &uses);
    assert_eq!(solver.uses(1), solver.uses(0));
    assert_eq!(solver.uses(1).len(), 2);
    enter(&mut solver, 0);
    enter(&mut solver, 1);
    solver.solve(0.0);
    assert_eq!((solver.rate(0), solver.rate(1)), (1.25, 1.25));
}

#[test]
fn a_slot_is_used_again_for_another_flow() {
    let mut solver = twice_over_the_first();
    enter(&mut solver, 0);
    solver.solve(0.0);
    assert_eq!(solver.stop_sharing(0, 4.0), 90.0);
    solver.forget_uses(0);
    assert!(solver.uses(0).is_empty());
    solver.declare(0);
    solver.cross(0, 1, 4.0, 1.0);
    enter(&mut solver, 0);
    solver.solve(4.0);
    assert_eq!(solver.rate(0), 4.0);
}

#[test]
fn a_solver_tells_changes_and_users() {
    let mut solver = twice_over_the_first();
    assert!(!solver.is_changed());
    enter(&mut solver, 0);
    assert!(!solver.is_changed(), "a lone flow changes no other rate");
    solver.mark_changed();
    assert!(solver.is_changed());
    solver.solve(0.0);
    assert!(!solver.is_changed());
    let mut uses = SharedUses::default();
    solver.share_uses(0, &mut uses);
    for slot in 1..4 {
        solver.declare_like(slot, &uses);
        enter(&mut solver, slot);
        assert!(solver.is_changed());
        solver.solve(0.0);
    }
    assert_eq!((solver.users(0), solver.users(1)), (4, 4));
}
