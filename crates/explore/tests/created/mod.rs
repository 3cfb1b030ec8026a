//! Promise: if a main actor creates the other actors, the numbers of classes equal the published or
//! derived numbers.
//!
//! The published numbers are from the model-checking test suite of SimGrid: the traces that the
//! optimal reduction of SimGrid explores. There a lock is a request and a wait for the lock, as
//! here, and creations, ends and joins are transitions too, without any other possible order.

mod programs;

use explore::Reduction;
use sim_core::Stepper;

use crate::counts::{check, check_judged, traces};

/// Besides the counts, the judge that uses sleep sets alone sees the same classes.
#[track_caller]
fn check_by_sleep_sets(make: impl Fn() -> Stepper, finished: u64, deadlocks: u64) {
    check(make(), finished, deadlocks);
    let (_, optimal) = traces(make(), Reduction::Odpor);
    let (_, all) = traces(make(), Reduction::Sleep);
    assert!(optimal == all, "{} and {}", all.len(), optimal.len());
}

/// Published: 1152 for 4 customers and 2 chairs.
///
/// With one chair in the waiting room, the order of the requests for the room determines the rest:
/// n!. Two customers and two chairs: 2 orders of requests for the room, 2 of requests for the
/// barber, and the second customer was let in before or after the first customer left the room: 8.
/// 3 and 4 customers also wait for places that others leave: the reference search counts these.
#[test]
fn a_sleeping_barber() {
    check(programs::barber(4, 1, true), 24, 0);
    for (customers, chairs, orders) in [(2, 1, 2), (2, 2, 8), (3, 2, 84), (4, 2, 1152)] {
        check_by_sleep_sets(|| programs::barber(customers, chairs, true), orders, 0);
    }
}

/// No customer leaves the waiting room: n customers ask for the room in n! orders, and the k
/// admitted customers ask for the barber in k! orders. Then the barber sleeps, the others wait for
/// a place, and main waits for the others. (The deadlock of 5 customers and 3 chairs is published.)
#[test]
fn a_sleeping_barber_whose_customers_keep_their_chairs() {
    for (customers, chairs, orders) in [(2, 1, 2), (3, 2, 12)] {
        check_by_sleep_sets(|| programs::barber(customers, chairs, false), 0, orders);
    }
    check(programs::barber(5, 3, false), 0, 120 * 6);
}

/// Published: 480 for 3.
///
/// The mutex is taken in n! orders. At each of its n waits, main has the releases of a set of
/// actors; the set grows and has at least k actors at the k-th wait: (n+1)^(n-1) ways, the parking
/// functions. The k-th wait of the other actors comes after the k-th release or a later release,
/// and not before the previous wait: the Catalan number of ways.
#[test]
fn actors_who_are_there_and_are_let_go_one_by_one() {
    check_judged(|| programs::roll_call(1), 1, 0);
    check_by_sleep_sets(|| programs::roll_call(2), 2 * 3 * 2, 0);
    check_by_sleep_sets(|| programs::roll_call(3), 6 * 16 * 5, 0);
    check(programs::roll_call(4), 24 * 125 * 14, 0);
}

/// Published: 48 for 3 and 3840 for 5. Readers take the common mutex in n! orders, and each other
/// mutex is taken first by the writer or by the reader: n! 2^n.
#[test]
fn writers_and_readers_of_mutexes() {
    check_judged(|| programs::writers_and_readers(1), 2, 0);
    check_by_sleep_sets(|| programs::writers_and_readers(2), 2 * 4, 0);
    check_by_sleep_sets(|| programs::writers_and_readers(3), 6 * 8, 0);
    check(programs::writers_and_readers(5), 120 * 32, 0);
}

/// Sums over all ways to choose a place in each of `rounds` rounds. In every round the choosing
/// actor comes before the first number of a count, and then finds the last number of the round
/// before, or comes after any number of the count. A place that was chosen c times has c + 1
/// orders, because the owner of the place comes once.
fn chosen(places: usize, counted: std::ops::Range<usize>, rounds: u32) -> u64 {
    fn rest(times: &mut [u64], last: usize, counted: &std::ops::Range<usize>, rounds: u32) -> u64 {
        if rounds == 0 {
            return times.iter().map(|times| times + 1).product();
        }
        let mut sum = 0;
        for place in std::iter::once(last).chain(counted.clone()) {
            times[place] += 1;
            sum += rest(times, counted.end - 1, counted, rounds - 1);
            times[place] -= 1;
        }
        sum
    }
    rest(&mut vec![0; places], 0, &counted, rounds)
}

/// Published: 137 for 5 servers and 2 requests, 15,282 for 4 requests.
#[test]
fn a_dispatcher() {
    check_judged(|| programs::dispatcher(1, 1), chosen(1, 0..1, 1), 0);
    check_by_sleep_sets(|| programs::dispatcher(2, 2), chosen(2, 0..2, 2), 0);
    for (requests, orders) in [(1, 12), (2, 137), (4, 15_282)] {
        assert_eq!(chosen(5, 0..5, requests), orders);
        check(programs::dispatcher(5, requests as usize), orders, 0);
    }
}

/// Published: 160 and 3700, without the numbers of places and of looks. Three looks at 3 and at 8
/// places have this many.
#[test]
fn places_that_are_poked() {
    check_by_sleep_sets(|| programs::poke(2, 2), chosen(2, 1..2, 2), 0);
    for (places, orders) in [(3, 160), (8, 3700)] {
        assert_eq!(chosen(places, 1..places, 3), orders);
        check(programs::poke(places, 3), orders, 0);
    }
}

/// Published: 60 for 5 workers, without the number of times, and said to be for 2 producers. Three
/// producers that do everything once have this number. Two producers that do everything twice have
/// 423. Both numbers are from an enumeration that places the locks of one mutex after another, and
///      uses no dependency relation.
#[test]
fn producers_that_choose_a_worker() {
    check_by_sleep_sets(|| programs::producers_and_workers(3, 2, 1), 12, 0);
    check(programs::producers_and_workers(5, 3, 1), 60, 0);
    check(programs::producers_and_workers(5, 2, 2), 423, 0);
}
