//! Number of distinguishable orders of philosophers, against formulas.

use serde_json::Value;

/// The exit status, and the result of a search.
fn check(philosophers: u32, order: &str) -> (Option<i32>, Value) {
    let arguments = format!("-n {philosophers} -- --order {order}");
    testing::apps::check(env!("CARGO_BIN_EXE_philosophers"), &arguments)
}

/// Each of n forks is taken first by one of its two neighbours: 2^n orders, minus the two orders in
/// which all philosophers wait in a circle.
#[test]
fn ordered_philosophers_have_two_ways_less_than_forks_have() {
    for (philosophers, ways) in [(3, 6), (4, 14), (5, 30), (7, 126)] {
        let (status, found) = check(philosophers, "ordered");
        assert_eq!((status, &found["executions"]), (Some(0), &ways.into()));
        assert_eq!(found["exhaustive"], true);
        assert_eq!(found["sleep_set_blocked"], 0);
    }
}

/// One of the two circles is possible, and a deadlock of all.
#[test]
fn unordered_philosophers_have_one_deadlock_more() {
    for (philosophers, ways) in [(2, 2), (3, 6), (4, 14)] {
        let (status, found) = check(philosophers, "unordered");
        assert_eq!(status, Some(1));
        assert_eq!(found["finished"], ways);
        assert_eq!(found["deadlocks"], 1);
        let cycle = found["findings"][0]["cycle"].as_array().unwrap();
        assert_eq!(cycle.len(), philosophers as usize);
    }
}

/// An independent enumeration also finds 96 orders for 3 philosophers.
#[test]
fn with_a_waiter_all_eat() {
    let (status, found) = check(3, "waiter");
    assert_eq!((status, &found["executions"]), (Some(0), &96.into()));
}

/// A plain run is one of the orders, and succeeds: only the checker finds the deadlock.
#[test]
fn a_plain_run_notices_nothing() {
    let status = |order| {
        let arguments = format!("-q -p platforms/cluster.toml -n 5 -- --order {order}");
        let output = testing::apps::output(env!("CARGO_BIN_EXE_philosophers"), &arguments);
        output.status.code()
    };
    for order in ["ordered", "waiter", "unordered"] {
        assert_eq!(status(order), Some(0), "{order}");
    }
}
