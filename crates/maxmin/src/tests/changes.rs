//! The changes that a solver keeps tell all rates, and limits that are limits.

use std::collections::BTreeMap;

use crate::{GONE, Solver};

/// Relative: loads are sums of many rates.
const TOLERANCE: f64 = 1e-8;

/// Updates the reported rates, and compares them with the flows that share.
pub(super) fn check(solver: &mut Solver, told: &mut BTreeMap<u32, (f64, Option<u32>)>) {
    let mut slots = Vec::new();
    solver.take_changes(&mut slots);
    for slot in slots {
        told.insert(slot, (solver.rate(slot), solver.limiting_capacity(slot)));
    }
    let slots = (0..).zip(&solver.flows);
    let present = slots.filter(|(_, flow)| flow.position != GONE);
    let present: Vec<u32> = present.map(|(slot, _)| slot).collect();
    let (mut loads, mut highs) = (BTreeMap::new(), BTreeMap::new());
    for &slot in &present {
        let flow = &solver.flows[slot as usize];
        for known in flow.uses.iter() {
            let rate = solver.rate(slot);
            *loads.entry(known.number).or_insert(0.0) += rate * known.coefficient;
            let high = highs.entry(known.number).or_insert(0.0_f64);
            *high = high.max(rate / flow.weight);
        }
    }
    for slot in present {
        let flow = &solver.flows[slot as usize];
        let (rate, limit) = (solver.rate(slot), solver.limiting_capacity(slot));
        // The same limit is not needed: of equal ones either may be named.
        assert_eq!(
            told.get(&slot).map(|told| told.0),
            Some(rate),
            "flow {slot}"
        );
        match limit {
            None => assert!(
                rate >= flow.bound * (1.0 - TOLERANCE),
                "flow {slot} has the rate {rate}, the bound {} and no limit",
                flow.bound
            ),
            Some(number) => {
                let capacity = solver.capacities[number as usize];
                assert!(
                    loads[&number] >= capacity * (1.0 - TOLERANCE),
                    "capacity {number} limits flow {slot} and has room: {} of {capacity}",
                    loads[&number]
                );
                let level = rate / flow.weight;
                assert!(
                    level >= highs[&number] * (1.0 - TOLERANCE),
                    "capacity {number} limits flow {slot} at {level} below {}",
                    highs[&number]
                );
            }
        }
    }
}
