//! Expansion of axes into points.

use std::collections::BTreeMap;
use std::ops::Range;

use super::Templates;
use super::axes::Axis;
use super::section::DiagnosticList;
use crate::expression::Expression;
use crate::point::{Assignment, Point};

/// Largest number of combinations of one study.
const COMBINATIONS_MAX: usize = 1_000_000;

/// Returns the points, or adds a mistake: too many combinations, no point, or two that run the
/// same.
pub(super) fn points(
    axes: &[Axis],
    condition: Option<&(Expression, Range<usize>)>,
    templates: &Templates,
    mistakes: &mut DiagnosticList,
) -> Option<Vec<Point>> {
    let steps = axes.iter().map(|axis| axis.steps.len());
    let combinations = steps.fold(1_usize, usize::saturating_mul);
    if combinations > COMBINATIONS_MAX {
        let problem = format!("the parameters have {combinations} combinations");
        let expected = format!("at most {COMBINATIONS_MAX}");
        mistakes.add(axes_span(axes), problem, &expected);
        return None;
    }
    let mut points = Vec::new();
    for number in 0..combinations {
        let assignment = combination(axes, number);
        if let Some((condition, place)) = condition {
            match condition.holds(&assignment) {
                Ok(true) => {}
                Ok(false) => continue,
                Err(problem) => {
                    let problem = format!("{problem}, with {}", assignment.shown());
                    mistakes.add(place.clone(), problem, "a comparison of values of one kind");
                    return None;
                }
            }
        }
        points.push(templates.point(assignment)?);
    }
    if points.is_empty() {
        let at = condition.map_or_else(|| axes_span(axes), |(_, place)| place.clone());
        let problem = "no combination of the parameters remains".to_owned();
        mistakes.add(at, problem, "a condition that some of them satisfy");
    }
    check_different(&points, axes_span(axes), mistakes);
    mistakes.is_empty().then_some(points)
}

fn axes_span(axes: &[Axis]) -> Range<usize> {
    let names = axes.first().and_then(|axis| axis.names.first());
    names.map(|(_, place)| place.clone()).unwrap_or_default()
}

/// Returns the combination of a number: the last axis varies fastest.
fn combination(axes: &[Axis], mut number: usize) -> Assignment {
    let mut steps = Vec::with_capacity(axes.len());
    for axis in axes.iter().rev() {
        steps.push(&axis.steps[number % axis.steps.len()]);
        number /= axis.steps.len();
    }
    let empty = Assignment::default();
    let parts = steps.iter().rev();
    parts.fold(empty, |whole, step| whole.extended(step))
}

fn check_different(points: &[Point], place: Range<usize>, mistakes: &mut DiagnosticList) {
    let mut known = BTreeMap::new();
    for point in points {
        if let Some(other) = known.insert(point.run_content(), point) {
            let problem = format!(
                "two points run the same: {} and {}",
                other.parameters.shown(),
                point.parameters.shown()
            );
            mistakes.add(
                place,
                problem,
                "points that differ in options, arguments or platform",
            );
            return;
        }
    }
}

impl Templates {
    /// Inserts the values of one combination. `None` without a platform.
    pub(crate) fn point(&self, parameters: Assignment) -> Option<Point> {
        let (platform, _) = self.platform.as_ref()?;
        let texts = |list: &[(super::Template, Range<usize>)]| {
            let texts = list
                .iter()
                .map(|(template, _)| template.filled(&parameters));
            texts.collect()
        };
        let changes = self.changes.iter();
        let change = |(path, value, _): &(String, super::Template, _)| {
            format!("{path}={}", value.filled(&parameters))
        };
        Some(Point {
            platform: platform.filled(&parameters),
            changes: changes.map(change).collect(),
            options: texts(&self.options),
            arguments: texts(&self.arguments),
            parameters,
        })
    }
}
