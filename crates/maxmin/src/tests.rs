//! The incremental solver against progressive filling, with all its state, after every event.

use std::collections::BTreeMap;

use super::{Method, Solver};

mod changes;
#[path = "../benches/networks/shapes.rs"]
mod networks;
use networks::{Network, Random, pair};

/// Weights and bounds of flows.
#[derive(Clone, Copy, Debug)]
enum Weights {
    /// All 1.
    Equal,
    /// As `lv08` does: inverse of latency + 20537 / bandwidth per link, and the bound of the
    /// slowest link.
    RoundTrip,
    /// Penalties from 0.25 to 2.25, and 30 % of the flows bounded.
    Random,
}

struct Churn {
    network: Network,
    crosstraffic: f64,
    weights: Weights,
    solver: Solver,
    random: Random,
    now: f64,
    route: Vec<u32>,
    /// Capacities with values that differ from the network.
    changed: BTreeMap<u32, f64>,
    /// Rates and limits, as the changes that the solver keeps tell them.
    told: BTreeMap<u32, (f64, Option<u32>)>,
}

/// Relative; the aim is 1e-11 up to 3000 flows.
const TOLERANCE: f64 = 1e-11;

impl Churn {
    fn new(network: Network, crosstraffic: f64, weights: Weights, seed: u64) -> Self {
        let mut solver = Solver::new(network.links() as usize);
        solver.keep_changes();
        Self {
            network,
            crosstraffic,
            weights,
            solver,
            random: Random(seed),
            now: 0.0,
            route: Vec::new(),
            changed: BTreeMap::new(),
            told: BTreeMap::new(),
        }
    }

    /// Lets the solver go one way only.
    fn forced(mut self, method: Option<Method>) -> Self {
        self.solver.forced = method;
        self
    }

    fn declare(&mut self, slot: u32) {
        let (from, to) = pair(&mut self.random, self.network.hosts());
        self.solver.declare(slot);
        for (from, to, weight) in [(from, to, 1.0), (to, from, self.crosstraffic)] {
            if weight == 0.0 {
                continue;
            }
            self.route.clear();
            self.network.route(from, to, &mut self.route);
            for link in &self.route {
                let usual = self.network.capacity(*link);
                let capacity = self.changed.get(link).copied().unwrap_or(usual);
                self.solver.cross(slot, *link, capacity, weight);
            }
        }
    }

    fn weight_and_bound(&mut self) -> (f64, f64) {
        match self.weights {
            Weights::Equal => (1.0, f64::INFINITY),
            Weights::RoundTrip => {
                let hops = self.route.len() as f64;
                (
                    1.0 / (hops * (1e-6 + 20537.0 / networks::LINK)),
                    networks::LINK,
                )
            }
            Weights::Random => {
                let bounded = self.random.real() < 0.3;
                let bound = networks::LINK * self.random.real();
                let weight = 1.0 / (0.25 + 2.0 * self.random.real());
                (weight, if bounded { bound + 1.0 } else { f64::INFINITY })
            }
        }
    }

    fn start(&mut self, slot: u32) {
        self.declare(slot);
        let (weight, bound) = self.weight_and_bound();
        let work = 1e8 * (1.0 + self.random.real());
        self.solver.enter(slot, weight, bound, work, self.now);
    }

    fn stop(&mut self, slot: u32) -> f64 {
        let left = self.solver.stop_sharing(slot, self.now);
        self.solver.forget_uses(slot);
        left
    }

    fn solve(&mut self) {
        self.solver.solve(self.now);
        self.solver.check(TOLERANCE);
        changes::check(&mut self.solver, &mut self.told);
    }

    /// The flows that end next, in order.
    fn ended(&mut self) -> Vec<u32> {
        self.now = self.solver.next().expect("something ends");
        let mut due = Vec::new();
        self.solver.due(self.now, &mut due);
        assert!(!due.is_empty());
        due.sort_unstable();
        due
    }

    /// Keeps flows in flight for some completions, with a solve after each change or one for both;
    /// returns all dates.
    fn run(&mut self, flows: u32, completions: u32, one_solve: bool) -> Vec<u64> {
        for slot in 0..flows {
            self.start(slot);
            if slot < 40 {
                self.solve();
            }
        }
        self.solve();
        let mut dates = Vec::new();
        while (dates.len() as u32) < completions {
            for slot in self.ended() {
                dates.push(self.now.to_bits());
                let left = self.stop(slot);
                assert!(left < 1.0, "{left} bytes left at the end");
                if !one_solve {
                    self.solve();
                }
                self.start(slot);
            }
            self.solve();
        }
        dates
    }
}

const FAT_64: Network = Network::FatTree {
    down: [4, 4, 4],
    up: [2, 2],
};
const FAT_1024: Network = Network::FatTree {
    down: [16, 8, 8],
    up: [8, 4],
};
const NETWORKS: [Network; 4] = [
    FAT_64,
    FAT_1024,
    Network::Torus([4, 4, 4]),
    Network::Backbone(64),
];
/// Either way alone, and both as the solver thinks fit.
const METHODS: [Option<Method>; 3] = [None, Some(Method::Plain), Some(Method::Incremental)];
const WEIGHTS: [Weights; 3] = [Weights::Equal, Weights::RoundTrip, Weights::Random];

#[test]
fn churn_on_all_networks() {
    for network in NETWORKS {
        for weights in WEIGHTS {
            for crosstraffic in [0.0, 0.05] {
                for flows in [1, 7, 60, 250] {
                    for method in METHODS {
                        let seed = u64::from(flows) + 17;
                        Churn::new(network, crosstraffic, weights, seed)
                            .forced(method)
                            .run(flows, 60, flows == 60);
                    }
                }
            }
        }
    }
}

#[test]
fn thousands_of_flows() {
    for network in [FAT_1024, Network::Torus([8, 8, 8]), Network::Backbone(256)] {
        Churn::new(network, 0.05, Weights::Random, 3).run(3000, 6, false);
        Churn::new(network, 0.05, Weights::Equal, 4).run(1500, 12, true);
    }
}

#[test]
fn a_solve_that_is_given_up_starts_from_scratch() {
    for network in NETWORKS {
        for allowed in [0, 3, 20] {
            let mut churn =
                Churn::new(network, 0.05, Weights::Random, 11).forced(Some(Method::Incremental));
            churn.solver.incremental.updates_max = Some(allowed);
            churn.run(60, 60, false);
        }
    }
}

#[test]
fn the_same_events_give_the_same_bits() {
    let run = || Churn::new(FAT_64, 0.05, Weights::Random, 5).run(80, 200, false);
    assert_eq!(run(), run());
}

/// All possible events, in any order, with one solve for some of them.
fn any_history(network: Network, crosstraffic: f64, seed: u64, method: Option<Method>) {
    let mut churn = Churn::new(network, crosstraffic, Weights::Random, seed).forced(method);
    let mut running: Vec<u32> = Vec::new();
    let mut free: Vec<u32> = (0..150).rev().collect();
    for _ in 0..400 {
        for _ in 0..=churn.random.below(3) {
            match churn.random.below(10) {
                0..4 => {
                    if let Some(slot) = free.pop() {
                        churn.start(slot);
                        running.push(slot);
                    }
                }
                4 if !running.is_empty() => {
                    let at = churn.random.below(running.len() as u32) as usize;
                    let slot = running.swap_remove(at);
                    churn.stop(slot);
                    free.push(slot);
                }
                5 if !running.is_empty() => {
                    let slot = running[churn.random.below(running.len() as u32) as usize];
                    let (weight, bound) = churn.weight_and_bound();
                    churn.solver.update(slot, weight, bound, churn.now);
                }
                6 => {
                    let link = churn.random.below(network.links());
                    let capacity = networks::LINK * (0.1 + 2.0 * churn.random.real());
                    churn.changed.insert(link, capacity);
                    churn.solver.set_capacity(link, capacity, churn.now);
                }
                7 if !running.is_empty() => {
                    let slot = running[churn.random.below(running.len() as u32) as usize];
                    let left = churn.solver.stop_sharing(slot, churn.now);
                    churn.solve();
                    churn
                        .solver
                        .enter(slot, 1.0, f64::INFINITY, left, churn.now);
                }
                8 | 9 if !running.is_empty() => {
                    churn.solve();
                    for slot in churn.ended() {
                        churn.stop(slot);
                        running.retain(|other| *other != slot);
                        free.push(slot);
                    }
                }
                _ => {}
            }
        }
        churn.solve();
    }
}

#[test]
fn histories_of_all_kinds_of_events() {
    for (network, seed) in NETWORKS.into_iter().zip(0..) {
        for crosstraffic in [0.0, 0.05] {
            for method in METHODS {
                any_history(network, crosstraffic, seed, method);
                any_history(network, crosstraffic, seed + 100, method);
            }
        }
    }
}

#[test]
fn dates_in_closed_form() {
    METHODS.into_iter().for_each(dates_with);
}

fn dates_with(method: Option<Method>) {
    // Two flows over a link of 10, one of them bounded by 2: it takes 5 s for 10, the other 8 per
    // second.
    let mut solver = Solver::new(3);
    solver.forced = method;
    for (slot, bound, work) in [(0, 2.0, 10.0), (1, f64::INFINITY, 60.0)] {
        solver.declare(slot);
        solver.cross(slot, 2, 10.0, 1.0);
        solver.enter(slot, 1.0, bound, work, 0.0);
    }
    solver.solve(0.0);
    solver.check(1e-15);
    assert_eq!((solver.rate(0), solver.rate(1)), (2.0, 8.0));
    assert_eq!(solver.next(), Some(5.0));
    assert_eq!(solver.remaining_work(1, 2.5), 40.0);
    let mut due = Vec::new();
    solver.due(5.0, &mut due);
    assert_eq!(due, [0]);
    assert_eq!(solver.stop_sharing(0, 5.0), 0.0);
    solver.solve(5.0);
    assert_eq!(solver.rate(1), 10.0);
    assert_eq!(solver.next(), Some(7.0));
    // A third of the capacity from 6 s on: 10 left of 60 at 10/3.
    solver.set_capacity(2, 10.0 / 3.0, 6.0);
    solver.solve(6.0);
    assert_eq!(solver.next(), Some(9.0));
}

/// Flows come in batches and go one by one: from plain to incremental and back, several times.
#[test]
fn the_way_changes_with_the_traffic() {
    let mut churn = Churn::new(FAT_1024, 0.05, Weights::Random, 23);
    let mut ways = Vec::new();
    for batch in 0..3 {
        for slot in 0..200 {
            churn.start(batch * 200 + slot);
        }
        churn.solve();
        ways.push(churn.solver.method);
        for _ in 0..190 {
            for slot in churn.ended() {
                churn.stop(slot);
            }
            churn.solve();
            if ways.last() != Some(&churn.solver.method) {
                ways.push(churn.solver.method);
            }
        }
    }
    ways.dedup();
    let turns = [Method::Plain, Method::Incremental];
    assert_eq!(ways, [turns, turns, turns].concat());
}

#[test]
fn more_coefficients_than_can_be_numbered() {
    for method in METHODS {
        let mut solver = Solver::new(40);
        solver.forced = method;
        for slot in 0..60 {
            solver.declare(slot);
            for number in 0..40 {
                let coefficient = f64::from(1 + slot * 40 + number);
                solver.cross(slot, number, 1e3, coefficient);
            }
            solver.enter(slot, 1.0, f64::INFINITY, 1.0, 0.0);
            solver.solve(0.0);
            solver.check(TOLERANCE);
        }
        for slot in 0..50 {
            solver.stop_sharing(slot, 0.0);
            solver.forget_uses(slot);
            solver.solve(0.0);
            solver.check(TOLERANCE);
        }
    }
}

#[test]
fn a_link_that_gets_room_before_it_is_solved() {
    // Over-full at first; the departure leaves it with so much room that it is not watched. Then a
    // flow without owner comes, and the link is still on the list, before the one that limits the
    // flow.
    let mut solver = Solver::new(2);
    solver.forced = Some(Method::Incremental);
    let enter = |solver: &mut Solver, slot, link, bound, weight| {
        solver.declare(slot);
        solver.cross(slot, link, 10.0, 1.0);
        solver.enter(slot, weight, bound, 10.0, 0.0);
    };
    for slot in 0..3 {
        enter(&mut solver, slot, 0, 4.5, 10.0);
    }
    for slot in 0..2 {
        solver.stop_sharing(slot, 0.0);
    }
    solver.declare(3);
    solver.cross(3, 1, 0.6, 1.0);
    solver.cross(3, 0, 10.0, 1.0);
    solver.enter(3, 1.0, f64::INFINITY, 10.0, 0.0);
    solver.solve(0.0);
    solver.check(1e-15);
    assert_eq!((solver.rate(2), solver.rate(3)), (4.5, 0.6));
}

#[test]
fn a_link_that_shrinks_below_what_others_take() {
    // Flow 0 has 4 through link 1, and flow 1 the other 6 of link 0. Then link 0 has 1 for both.
    let mut solver = Solver::new(2);
    solver.forced = Some(Method::Incremental);
    for slot in 0..2 {
        solver.declare(slot);
        solver.cross(slot, 0, 10.0, 1.0);
    }
    solver.cross(0, 1, 4.0, 1.0);
    for slot in 0..2 {
        solver.enter(slot, 1.0, f64::INFINITY, 100.0, 0.0);
    }
    solver.solve(0.0);
    assert_eq!((solver.rate(0), solver.rate(1)), (4.0, 6.0));
    solver.set_capacity(0, 1.0, 0.0);
    solver.solve(0.0);
    solver.check(1e-15);
    assert_eq!((solver.rate(0), solver.rate(1)), (0.5, 0.5));
}

#[test]
fn a_flow_without_links_has_its_bound() {
    for method in METHODS {
        let mut solver = Solver::new(0);
        solver.forced = method;
        solver.declare(0);
        solver.enter(0, 1.0, 4.0, 8.0, 0.0);
        solver.solve(0.0);
        assert_eq!(solver.next(), Some(2.0));
    }
}

/// Two flows on one link of 10 per second, with 10 and 30 to do: 2 s and 6 s at these rates.
fn two_flows(method: Method) -> Solver {
    let mut solver = Solver::new(1);
    solver.forced = Some(method);
    for (slot, work) in [(0, 10.0), (1, 30.0)] {
        solver.declare(slot);
        solver.cross(slot, 0, 10.0, 1.0);
        solver.enter(slot, 1.0, f64::INFINITY, work, 0.0);
    }
    solver.solve(0.0);
    solver
}

#[test]
fn what_is_due_leaves_the_date_of_the_next() {
    for method in [Method::Plain, Method::Incremental] {
        let mut solver = two_flows(method);
        assert_eq!(solver.next(), Some(2.0), "{method:?}");
        let mut due = Vec::new();
        solver.due(2.0, &mut due);
        assert_eq!((&due[..], solver.next()), (&[0][..], Some(6.0)));
        solver.due(5.0, &mut due);
        assert_eq!(due, [0]);
        solver.due(6.0, &mut due);
        assert_eq!((&due[..], solver.next()), (&[0, 1][..], None), "{method:?}");
    }
}

#[test]
fn what_is_overdue_has_nothing_left_and_ends_now() {
    for method in [Method::Plain, Method::Incremental] {
        let late = 7.0;
        let mut solver = two_flows(method);
        assert_eq!(solver.remaining_work(1, late), 0.0, "{method:?}");
        solver.update(1, 2.0, f64::INFINITY, late);
        solver.solve(late);
        assert_eq!(solver.next(), Some(late), "{method:?}");
        assert_eq!(solver.stop_sharing(1, late), 0.0, "{method:?}");
        // One with a limit of its own has its date without the link.
        let mut bounded = two_flows(method);
        bounded.update(0, 1.0, 1.0, 0.0);
        bounded.solve(0.0);
        assert_eq!(bounded.remaining_work(0, 20.0), 0.0, "{method:?}");
    }
}

/// Flows come and go a thousand times while two stay: the list of coupled flows does not grow with
/// that.
#[test]
fn flows_that_have_left_take_no_memory() {
    let mut solver = two_flows(Method::Plain);
    solver.declare(2);
    solver.cross(2, 0, 10.0, 1.0);
    for round in 0..1000 {
        let now = f64::from(round) * 1e-6;
        solver.enter(2, 1.0, f64::INFINITY, 30.0, now);
        solver.solve(now);
        assert_eq!(solver.rate(0), 10.0 / 3.0, "round {round}");
        solver.stop_sharing(2, now);
        let most = 2 * solver.count + crate::BATCH_MIN;
        assert!(
            solver.coupled.len() <= most,
            "{} in round {round}",
            solver.coupled.len()
        );
    }
    solver.solve(1e-3);
    assert_eq!((solver.rate(0), solver.rate(1)), (5.0, 5.0));
}

#[test]
fn weights_and_bounds_in_closed_form() {
    for method in [Method::Plain, Method::Incremental] {
        // A link of 10: one flow bounded by 2, and weights of 1 and 3 for the other 8.
        let mut solver = Solver::new(1);
        solver.forced = Some(method);
        for (slot, weight, bound, work) in [
            (0, 1.0, 2.0, 100.0),
            (1, 1.0, f64::INFINITY, 10.0),
            (2, 3.0, f64::INFINITY, 60.0),
        ] {
            solver.declare(slot);
            solver.cross(slot, 0, 10.0, 1.0);
            solver.enter(slot, weight, bound, work, 0.0);
        }
        solver.solve(0.0);
        let rates = [0, 1, 2].map(|slot| solver.rate(slot));
        assert_eq!(rates, [2.0, 2.0, 6.0], "{method:?}");
        let left = [0, 1, 2].map(|slot| solver.remaining_work(slot, 4.0));
        assert_eq!(left, [92.0, 2.0, 36.0], "{method:?}");
        assert_eq!(solver.next(), Some(5.0), "{method:?}");
        solver.stop_sharing(1, 5.0);
        solver.solve(5.0);
        // 30 left of 60, at 8 per second.
        assert_eq!(solver.next(), Some(8.75), "{method:?}");
    }
}

/// The rule changes while the incremental way is taken, for good; lone flows do not notice.
#[test]
fn another_rule_from_an_instant_on() {
    let mut solver = two_flows(Method::Incremental);
    solver.declare(2);
    solver.cross(2, 0, 10.0, 3.0);
    solver.enter(2, 7.0, f64::INFINITY, 1e6, 0.0);
    solver.solve(0.0);
    assert!(solver.rate(2) > solver.rate(0));
    solver.share_by_bottleneck();
    solver.solve(0.0);
    // A third of the link each, whatever the weights are.
    let third = 10.0 / 3.0;
    let rates = [0, 1, 2].map(|slot| solver.rate(slot));
    assert_eq!(rates, [third, third, third / 3.0]);
    solver.stop_sharing(2, 1.0);
    solver.solve(1.0);
    assert_eq!([0, 1].map(|slot| solver.rate(slot)), [5.0, 5.0]);
}
