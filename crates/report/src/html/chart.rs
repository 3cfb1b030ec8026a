//! Curves with confidence intervals.
//!
//! An axis is logarithmic if all values are above 0, and the largest value is at least ten times
//! the smallest or each value is the same multiple of the value before. The name of a curve, with
//! the values of the other parameters, stands beside the end of the curve. Curves have at most
//! eight styles, which repeat. *Not drawn*: points that have no position on a logarithmic axis.

use std::fmt::Write as _;
use std::io;

use super::picture::{AREA, LEFT, Picture, Shape};
use crate::axis::Axis;

/// Width of the area of data, beside which the names of the curves stand.
const WIDTH: f64 = AREA - 190.0;

/// Height of the area of data.
const HEIGHT: f64 = 320.0;

/// Space above the area of data.
const TOP: f64 = 24.0;

/// Space below the picture for an axis and the name of the axis.
const BOTTOM: f64 = 44.0;

/// Space for the name of a curve on a narrow page, and the least space.
const NAME_SPACE: (f64, f64) = (24.0, 15.0);

/// Space for the number of a tick of the x axis on a narrow page.
const TICK_SPACE: f64 = 96.0;

/// Number of styles of curves.
const STYLES: usize = 8;

/// A point of a curve, with the confidence interval of its value if there is one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ChartPoint {
    /// Value of the parameter, or the number of the value if the values have names.
    pub x: f64,
    /// Mean of the measure.
    pub y: f64,
    /// Ends of the interval of the mean.
    pub interval: Option<(f64, f64)>,
}

/// A curve.
#[derive(Clone, PartialEq, Debug)]
pub struct ChartCurve {
    /// Name in the legend.
    pub name: String,
    /// The points, in order of x.
    pub points: Vec<ChartPoint>,
}

/// A picture of curves.
#[derive(Clone, PartialEq, Debug)]
pub struct Chart {
    /// Identifier on the page, and name of the data file of the chart.
    pub id: String,
    /// Heading of the chart.
    pub title: String,
    /// Name of the parameter.
    pub x: String,
    /// Name of the measure, with the unit.
    pub y: String,
    /// Texts of the values of x, each with its position; empty if x has numbers.
    pub names: Vec<(f64, String)>,
    /// The curves.
    pub curves: Vec<ChartCurve>,
    /// Places that are marked by a circle.
    pub marks: Vec<(f64, f64)>,
}

impl Chart {
    /// Draws the chart; `None` without points.
    pub(super) fn picture(&self) -> io::Result<Option<Picture>> {
        let points = || self.curves.iter().flat_map(|curve| &curve.points);
        let ends = |point: &ChartPoint| {
            let (low, high) = point.interval.unwrap_or((point.y, point.y));
            [point.y, low, high]
        };
        let x_axis = Axis::new(points().map(|point| point.x), false);
        let y_axis = Axis::new(points().flat_map(ends), true);
        let (Some(x_axis), Some(y_axis)) = (x_axis, y_axis) else {
            return Ok(None);
        };
        let mut picture = Picture {
            id: self.id.clone(),
            title: self.title.clone(),
            description: self.description(),
            width: LEFT + AREA + 24.0,
            height: TOP + HEIGHT + BOTTOM,
            ..Picture::default()
        };
        self.draw_axes(&mut picture, x_axis, y_axis);
        for (number, curve) in self.curves.iter().enumerate() {
            let style = number % STYLES;
            picture.shapes.extend(curve.shapes(style, x_axis, y_axis));
        }
        self.name_curves(&mut picture, x_axis, y_axis);
        let mut marks = Shape::new("mark".to_owned());
        for (x, y) in &self.marks {
            if let (Some(x), Some(y)) = (x_axis.share(*x), y_axis.share(*y)) {
                let (x, y) = (LEFT + WIDTH * x - 6.0, TOP + HEIGHT * (1.0 - y));
                // Writing to a text does not fail.
                let _ = write!(marks.path, "M{x:.1} {y:.1}a6 6 0 1 0 12 0a6 6 0 1 0 -12 0");
            }
        }
        picture.shapes.push(marks);
        picture.shapes.retain(|shape| !shape.path.is_empty());
        picture.frame(TOP, (WIDTH, HEIGHT));
        picture.set_data(self.data())?;
        Ok(Some(picture))
    }

    fn description(&self) -> String {
        let curves = self.curves.len();
        let points: usize = self.curves.iter().map(|curve| curve.points.len()).sum();
        format!(
            "{} over {}: {points} points of {curves} curves, with intervals where there are any",
            self.y, self.x
        )
    }

    /// Writes the names of the curves beside their ends, with lines to the names.
    fn name_curves(&self, picture: &mut Picture, x_axis: Axis, y_axis: Axis) {
        let mut ends = Vec::new();
        for (number, curve) in self.curves.iter().enumerate() {
            let last = curve.points.last();
            let end = last.and_then(|it| Some((x_axis.share(it.x)?, y_axis.share(it.y)?)));
            if let Some((x, y)) = end {
                ends.push((TOP + HEIGHT * (1.0 - y), LEFT + WIDTH * x, number));
            }
        }
        // A lone curve needs no name.
        ends.retain(|_| self.curves.len() > 1);
        ends.sort_by(|one, other| one.0.total_cmp(&other.0));
        // Names stand in different lines, and the last name above the axis.
        let space = (HEIGHT / ends.len().max(1) as f64).clamp(NAME_SPACE.1, NAME_SPACE.0);
        let mut above = f64::NEG_INFINITY;
        for (at, (y, x, number)) in ends.iter().enumerate() {
            let lowest = TOP + HEIGHT - space * (ends.len() - 1 - at) as f64;
            above = y.min(lowest).max(above + space);
            let right = LEFT + WIDTH + 26.0;
            let mut line = Shape::new(format!("c{}", number % STYLES));
            // Writing to a text does not fail.
            let _ = write!(line.path, "M{x:.1} {y:.1}L{right:.1} {above:.1}");
            picture.shapes.push(line);
            let values = self.curves[*number].name.split(", ");
            let values = values.map(|part| part.rsplit(" = ").next().unwrap_or(part));
            let name = values.collect::<Vec<_>>().join(", ");
            picture.text((right + 4.0, above + 4.0), "start", &name);
        }
        let names = self.curves.first().map(|curve| curve.name.split(", "));
        let names = names
            .into_iter()
            .flatten()
            .filter_map(|part| part.split_once(" = "));
        let names: Vec<&str> = names.map(|(parameter, _)| parameter).collect();
        picture.text(
            (LEFT + WIDTH + 30.0, TOP - 10.0),
            "start",
            &names.join(", "),
        );
    }

    fn draw_axes(&self, picture: &mut Picture, x_axis: Axis, y_axis: Axis) {
        for tick in y_axis.ticks() {
            if let Some(share) = y_axis.share(tick) {
                let y = TOP + HEIGHT * (1.0 - share);
                picture.text((LEFT - 6.0, y + 4.0), "end", &y_axis.tick_text(tick));
                let mut grid = Shape::new("frame".to_owned());
                grid.rectangle((LEFT, y), (WIDTH, 0.0));
                picture.shapes.push(grid);
            }
        }
        picture.text((LEFT, TOP - 10.0), "start", &self.y);
        let bottom = TOP + HEIGHT;
        let numbers = || {
            x_axis
                .ticks()
                .into_iter()
                .map(|tick| (tick, x_axis.tick_text(tick)))
        };
        let ticks: Vec<(f64, String)> = if self.names.is_empty() {
            numbers().collect()
        } else {
            self.names.clone()
        };
        // Each name has space for some letters.
        let step = ticks.len().div_ceil(9).max(1);
        let space = WIDTH / ticks.len().div_ceil(step).max(1) as f64;
        for (place, (value, text)) in ticks.iter().step_by(step).enumerate() {
            if let Some(share) = x_axis.share(*value) {
                let anchor = if share > 0.95 { "end" } else { "middle" };
                picture.text((LEFT + WIDTH * share, bottom + 16.0), anchor, text);
                picture.spare_odd(place, space, TICK_SPACE);
            }
        }
        picture.text((LEFT + WIDTH / 2.0, bottom + 36.0), "middle", &self.x);
    }

    /// Returns the rows of the data of the chart.
    fn data(&self) -> impl Iterator<Item = Vec<String>> {
        let header = ["curve", &self.x, &self.y, "low", "high"]
            .map(str::to_owned)
            .to_vec();
        let rows = self.curves.iter().flat_map(|curve| {
            curve.points.iter().map(|point| {
                let end = |end: fn((f64, f64)) -> f64| {
                    let end = point.interval.map(end);
                    end.map(|end| format!("{end:?}")).unwrap_or_default()
                };
                vec![
                    curve.name.clone(),
                    format!("{:?}", point.x),
                    format!("{:?}", point.y),
                    end(|(low, _)| low),
                    end(|(_, high)| high),
                ]
            })
        });
        std::iter::once(header).chain(rows)
    }
}

impl ChartCurve {
    /// Returns the line of the curve with the intervals, and the marks of the curve.
    fn shapes(&self, style: usize, x_axis: Axis, y_axis: Axis) -> [Shape; 2] {
        let place = |x: f64, y: f64| {
            let (x, y) = (x_axis.share(x)?, y_axis.share(y)?);
            Some((LEFT + WIDTH * x, TOP + HEIGHT * (1.0 - y)))
        };
        let (mut line, mut marks) = (
            Shape::new(format!("c{style}")),
            Shape::new(format!("m{style}")),
        );
        let mut command = 'M';
        // Writing to a text does not fail.
        for point in &self.points {
            let Some((x, y)) = place(point.x, point.y) else {
                continue;
            };
            let _ = write!(line.path, "{command}{x:.1} {y:.1}");
            let _ = write!(marks.path, "M{:.1} {:.1}h5v5h-5z", x - 2.5, y - 2.5);
            command = 'L';
        }
        for point in &self.points {
            let ends = point
                .interval
                .and_then(|(low, high)| Some((place(point.x, low)?, place(point.x, high)?)));
            if let Some(((x, low), (_, high))) = ends {
                let left = x - 4.0;
                let _ = write!(
                    line.path,
                    "M{x:.1} {low:.1}V{high:.1}M{left:.1} {low:.1}h8M{left:.1} {high:.1}h8"
                );
            }
        }
        [line, marks]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_have_marks_intervals_and_data() {
        let point = |x, y, interval| ChartPoint { x, y, interval };
        let chart = Chart {
            id: "a".to_owned(),
            title: "b".to_owned(),
            x: "size".to_owned(),
            y: "time".to_owned(),
            names: Vec::new(),
            curves: vec![ChartCurve {
                name: "ring".to_owned(),
                points: vec![point(1.0, 2.0, None), point(2.0, 3.0, Some((2.5, 3.5)))],
            }],
            marks: Vec::new(),
        };
        let picture = chart.picture().expect("written").expect("points");
        assert!(picture.texts.iter().all(|text| text.text != "ring"));
        let paths = |style: &str| -> String {
            let shapes = picture.shapes.iter().filter(|shape| shape.style == style);
            shapes.map(|shape| shape.path.as_str()).collect()
        };
        assert_eq!(paths("c0").matches('V').count(), 1);
        assert_eq!(paths("m0").matches('M').count(), 2);
        let rows: Vec<Vec<String>> = chart.data().collect();
        assert_eq!(rows[2], ["ring", "2.0", "3.0", "2.5", "3.5"]);
    }
}
