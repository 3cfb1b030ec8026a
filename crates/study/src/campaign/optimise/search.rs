//! Choice of points in the unit cube: a Latin hypercube, then simplexes from the best point on.
//!
//! The first points are a Latin hypercube (M. McKay, R. Beckman, W. Conover, Technometrics 21(2),
//! 1979): in each dimension one point in each of equal parts. Then Nelder and Mead's simplex
//! (Computer Journal 7(4), 1965) searches from the best point in one direction and from the new
//! best one in the other, then with edges of half the length, until two find no point that is new.
//! Edges of a dimension with steps are at least one step, so that the last simplexes see the
//! neighbours of the best point.
//!
//! Models of the objective (Gaussian processes) are worth their cost when a run takes hours;
//! budgets here are tens of runs. `cmaes` needs a population of runs for each step. Starting points
//! come from our random streams: a seed gives the same trajectory with any version of `argmin` and
//! of `rand`.
//!
//! *Not modelled*: scatter of the values. A user sees the search follow a lucky value, and a local
//! optimum where no first point is near the global one.

use std::cell::RefCell;

use argmin::core::{CostFunction, Error, Executor};
use argmin::solver::neldermead::NelderMead;
use sim_core::Stream;

/// Length of the edges of the first simplex.
const EDGE: f64 = 0.25;

/// Length of edges below which no simplex begins: a part in a thousand of a range. \[choice\]
const EDGE_MIN: f64 = 1e-3;

/// Iterations of a simplex: one that has not ended by then circles. \[choice\]
const ITERATIONS: u64 = 200;

/// Relative scatter of the values of a simplex at which the descent ends. \[choice\]
const TOLERANCE: f64 = 1e-4;

/// A function on the unit cube that is to be minimised.
pub(super) trait Objective {
    /// Returns the values at points; fewer than points when the budget ends. A point that has no
    /// value is infinitely large.
    fn point_values(&mut self, points: &[Vec<f64>]) -> Vec<f64>;

    /// Returns the number of different points so far.
    fn known(&self) -> usize;
}

/// Searches the smallest value. `steps`: number of values of each dimension that is not continuous.
pub(super) fn search(
    objective: &mut dyn Objective,
    steps: &[Option<usize>],
    start: usize,
    seed: u64,
) {
    let first = latin_hypercube(start, steps.len(), seed);
    let values = objective.point_values(&first);
    let is_complete = values.len() == first.len();
    let mut pairs = first.into_iter().zip(values);
    let Some(mut best) = pairs.next() else {
        return;
    };
    for pair in pairs {
        if pair.1 < best.1 {
            best = pair;
        }
    }
    if !is_complete {
        return;
    }
    let mut cube = Cube(RefCell::new(SimplexState {
        objective,
        best,
        is_over: false,
    }));
    let mut edge = EDGE;
    while edge >= EDGE_MIN {
        let known = cube.0.get_mut().objective.known();
        for edge in [edge, -edge] {
            let corners = simplex(&cube.0.get_mut().best.0, steps, edge);
            cube = descend(cube, corners);
        }
        let state = cube.0.get_mut();
        if state.is_over || state.objective.known() == known {
            return;
        }
        edge *= 0.5;
    }
}

/// Returns a Latin hypercube in the order of the parts of the first dimension, shuffled.
fn latin_hypercube(points: usize, dimensions: usize, seed: u64) -> Vec<Vec<f64>> {
    let mut stream = Stream::new(seed, "optimise/start");
    let mut all = vec![Vec::with_capacity(dimensions); points];
    for _ in 0..dimensions {
        let mut parts: Vec<usize> = (0..points).collect();
        stream.shuffle(&mut parts);
        for (point, part) in all.iter_mut().zip(parts) {
            #[expect(clippy::cast_precision_loss, reason = "numbers of points are small")]
            point.push((part as f64 + stream.uniform()) / points as f64);
        }
    }
    all
}

/// Returns a corner and its neighbours along each dimension. An edge that would leave the cube
/// points inwards.
fn simplex(corner: &[f64], steps: &[Option<usize>], edge: f64) -> Vec<Vec<f64>> {
    let mut corners = vec![corner.to_vec()];
    for (dimension, steps) in steps.iter().enumerate() {
        #[expect(clippy::cast_precision_loss, reason = "numbers of values are small")]
        let least = steps.map_or(0.0, |steps| 1.0 / steps as f64);
        let length = edge.abs().max(least).copysign(edge);
        let mut moved = corner.to_vec();
        let inside = (0.0..=1.0).contains(&(moved[dimension] + length));
        moved[dimension] += if inside { length } else { -length };
        corners.push(moved);
    }
    corners
}

/// The objective as the simplex method sees it.
struct Cube<'o>(RefCell<SimplexState<'o>>);

struct SimplexState<'o> {
    objective: &'o mut dyn Objective,
    best: (Vec<f64>, f64),
    /// True when the budget has ended.
    is_over: bool,
}

impl CostFunction for Cube<'_> {
    type Param = Vec<f64>;
    type Output = f64;

    /// Returns the value at the nearest point of the cube; none is finite after the budget.
    fn cost(&self, point: &Vec<f64>) -> Result<f64, Error> {
        let state = &mut *self.0.borrow_mut();
        if state.is_over {
            return Ok(f64::INFINITY);
        }
        let inside: Vec<f64> = point.iter().map(|at| at.clamp(0.0, 1.0)).collect();
        let values = state.objective.point_values(std::slice::from_ref(&inside));
        let Some(&value) = values.first() else {
            state.is_over = true;
            return Ok(f64::INFINITY);
        };
        if value < state.best.1 {
            state.best = (inside, value);
        }
        Ok(value)
    }
}

/// Runs the simplex descent to the end.
fn descend(mut cube: Cube<'_>, corners: Vec<Vec<f64>>) -> Cube<'_> {
    let best = cube.0.get_mut().best.1;
    let tolerance = if best.is_finite() {
        TOLERANCE * best.abs()
    } else {
        0.0
    };
    let solver = NelderMead::new(corners)
        .with_sd_tolerance(tolerance)
        .expect("a tolerance is not negative");
    let done = Executor::new(cube, solver)
        .configure(|state| state.max_iters(ITERATIONS))
        .timer(false)
        .run()
        .expect("the cost of a point is no error");
    done.problem.problem.expect("the executor gives it back")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// A function on a grid of `parts` values in each dimension, or on all numbers.
    struct Function {
        value: fn(&[f64]) -> f64,
        parts: f64,
        budget: usize,
        known: BTreeMap<String, f64>,
        calls: Vec<f64>,
    }

    impl Objective for Function {
        fn point_values(&mut self, points: &[Vec<f64>]) -> Vec<f64> {
            let mut values = Vec::new();
            for point in points {
                let place = |at: &f64| ((at * self.parts).floor() / self.parts).min(1.0);
                let point: Vec<f64> = point.iter().map(place).collect();
                let key = format!("{point:?}");
                if !self.known.contains_key(&key) {
                    if self.known.len() == self.budget {
                        break;
                    }
                    self.known.insert(key.clone(), (self.value)(&point));
                    self.calls.push(self.known[&key]);
                }
                values.push(self.known[&key]);
            }
            values
        }

        fn known(&self) -> usize {
            self.known.len()
        }
    }

    fn searched(value: fn(&[f64]) -> f64, parts: f64, budget: usize, seed: u64) -> Vec<f64> {
        let mut function = Function {
            value,
            parts,
            budget,
            known: BTreeMap::new(),
            calls: Vec::new(),
        };
        let steps = (parts < 100.0).then_some(10);
        search(&mut function, &[steps, steps], 6, seed);
        assert!(function.calls.len() <= budget);
        function.calls
    }

    fn least(calls: &[f64]) -> f64 {
        calls.iter().copied().fold(f64::INFINITY, f64::min)
    }

    fn valley(at: &[f64]) -> f64 {
        let (x, y) = (at[0] - 0.3, at[1] - 0.7);
        1.0 + x * x + 10.0 * (y + x) * (y + x)
    }

    #[test]
    fn a_smooth_optimum_is_found() {
        for seed in 0..5 {
            let calls = searched(valley, 1e6, 80, seed);
            assert!(least(&calls) < 1.001, "{seed}: {}", least(&calls));
            assert_eq!(calls, searched(valley, 1e6, 80, seed));
        }
        assert_ne!(searched(valley, 1e6, 80, 0), searched(valley, 1e6, 80, 1));
    }

    #[test]
    fn the_best_of_discrete_points_is_found() {
        for seed in 0..5 {
            // The search ends by itself long before it has seen all 100 points.
            let calls = searched(valley, 10.0, 1000, seed);
            assert!(calls.len() < 60, "{seed}: {}", calls.len());
            assert!(least(&calls) < 1.0 + 1e-9, "{seed}: {}", least(&calls));
        }
    }

    #[test]
    fn the_budget_ends_the_search() {
        for budget in [1, 6, 7, 20] {
            assert_eq!(searched(valley, 1e6, budget, 3).len(), budget);
        }
        // Where no point has a value, the search ends, too.
        let calls = searched(|_| f64::INFINITY, 1e6, 1000, 3);
        assert!(calls.len() < 1000, "{}", calls.len());
    }

    #[test]
    fn a_latin_hypercube_has_a_point_in_each_part() {
        let points = latin_hypercube(8, 3, 1);
        for dimension in 0..3 {
            let mut parts: Vec<f64> = points
                .iter()
                .map(|at| (8.0 * at[dimension]).floor())
                .collect();
            parts.sort_by(f64::total_cmp);
            assert_eq!(parts, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
        }
    }
}
