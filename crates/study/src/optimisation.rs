//! Optimisation: a study that chooses points one after another.
//!
//! A point is chosen by coordinates from 0 to 1, one for each parameter of `[vary]`. The interval
//! is divided evenly among the values of a list or of a range with a step, in their order. A range
//! without a step is continuous, linear or, with `log`, logarithmic; the values are rounded to six
//! digits, sizes to bytes and whole numbers to whole ones, so that a text can name each point.
//!
//! *Not decided here*: the coordinates.

use std::fmt;

use crate::expression::Expression;
use crate::file::Templates;
use crate::point::{Assignment, Point};
use crate::range::ContinuousRange;
use crate::value::Value;

/// Parameters that vary, the measure that is to become the best, and the budget.
#[derive(Clone, Debug)]
pub struct Optimisation {
    /// The parameters, in the order of the file.
    pub variables: Vec<Variable>,
    /// Column of the measure.
    pub column: String,
    /// True if the largest value is the best.
    pub maximises: bool,
    /// Number of runs at most.
    pub runs: usize,
    /// Number of points that are spread before the search begins.
    pub start: usize,
    /// Seed of the choice of points; runs have seeds of their own.
    pub seed: u64,
    pub(crate) condition: Option<Expression>,
    pub(crate) templates: Templates,
}

/// A parameter that varies.
#[derive(Clone, Debug)]
pub struct Variable {
    /// The name of the parameter.
    pub name: String,
    /// The values of the parameter.
    pub range: VariableRange,
}

/// Values of a parameter that varies.
#[derive(Clone, Debug)]
pub enum VariableRange {
    /// One of these, at least one.
    Steps(Vec<Value>),
    /// Everything between two ends.
    Continuous(ContinuousRange),
}

/// Reason why a point cannot be examined: the condition of the file has no value there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConditionError(String);

impl fmt::Display for ConditionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for ConditionError {}

impl VariableRange {
    /// Returns the value at a coordinate; a coordinate outside of [0, 1] counts as the nearest end.
    pub fn value_at(&self, coordinate: f64) -> Value {
        let coordinate = coordinate.clamp(0.0, 1.0);
        match self {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss,
                reason = "from 0 to the number of values, which is below 2^53"
            )]
            Self::Steps(values) => {
                let place = (coordinate * values.len() as f64) as usize;
                values[place.min(values.len() - 1)].clone()
            }
            Self::Continuous(range) => range.value_at(coordinate),
        }
    }

    /// Returns the number of values; `None` for a continuous range.
    pub const fn steps(&self) -> Option<usize> {
        match self {
            Self::Steps(values) => Some(values.len()),
            Self::Continuous(_) => None,
        }
    }
}

impl Optimisation {
    /// Returns the point at coordinates, one per parameter; `None` if `where` excludes the point.
    pub fn point(&self, coordinates: &[f64]) -> Result<Option<Point>, ConditionError> {
        let values = self.variables.iter().zip(coordinates);
        let values = values.map(|(it, at)| (it.name.clone(), it.range.value_at(*at)));
        let assignment = Assignment::new(values.collect());
        if let Some(condition) = &self.condition {
            let holds = condition.holds(&assignment).map_err(|problem| {
                ConditionError(format!("where: {problem}, with {}", assignment.shown()))
            })?;
            if !holds {
                return Ok(None);
            }
        }
        Ok(self.templates.point(assignment))
    }

    /// Returns the point with values that a folder has kept; `None` if a parameter is missing.
    pub fn known_point(&self, kept: &Assignment) -> Option<Point> {
        let value = |it: &Variable| Some((it.name.clone(), kept.get(&it.name)?.clone()));
        let values = self.variables.iter().map(value).collect::<Option<_>>()?;
        self.templates.point(Assignment::new(values))
    }
}

#[cfg(test)]
mod tests {
    use crate::Study;
    use crate::point::Assignment;

    const FILE: &str = "
        program = 'p'
        platform = 'p.toml'
        arguments = ['{size}', '{latency}', '{count}', '{algorithm}']
        where = 'count != 3'
        [vary]
        size = '1KiB..4KiB *2'
        latency = '1us..100us log'
        count = '1..4'
        algorithm = ['ring', 'tree']
        [optimise]
        minimise = 'time'
        runs = 20
    ";

    #[test]
    fn coordinates_choose_values() {
        let study = Study::parse("O", FILE).expect("an optimisation");
        let optimisation = study.optimisation.expect("an optimisation");
        assert_eq!((optimisation.start, optimisation.runs), (8, 20));
        assert_eq!(optimisation.column, "time_s");
        let arguments = |at: [f64; 4]| {
            let point = optimisation.point(&at).expect("a condition with a value");
            point.map(|point| point.arguments.join(" "))
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(arguments([0.0; 4]), some("1KiB 1us 1 ring"));
        assert_eq!(arguments([1.0; 4]), some("4KiB 100us 4 tree"));
        assert_eq!(arguments([-1.0, 2.0, 0.4, 0.5]), some("1KiB 100us 2 tree"));
        assert_eq!(arguments([0.5, 0.5, 0.0, 0.49]), some("2KiB 10us 1 ring"));
        assert_eq!(
            arguments([0.0, 0.25, 0.0, 0.0]),
            some("1KiB 3.16228us 1 ring")
        );
        // Excluded by the condition.
        assert_eq!(arguments([0.0, 0.0, 0.7, 0.0]), None);
    }

    #[test]
    fn kept_points_are_found_again() {
        let study = Study::parse("O", FILE).expect("an optimisation");
        let optimisation = study.optimisation.expect("an optimisation");
        let point = optimisation
            .point(&[0.3; 4])
            .expect("a value")
            .expect("a point");
        let json = serde_json::to_string(&point.parameters).expect("JSON");
        let kept: Assignment = serde_json::from_str(&json).expect("an assignment");
        assert_eq!(optimisation.known_point(&kept), Some(point));
        assert_eq!(optimisation.known_point(&Assignment::default()), None);
    }
}
