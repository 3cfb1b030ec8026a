//! Curves over logarithmic axes, for costs that grow: each curve has points, and the names are a
//! list.
//!
//! *Not drawn*: points that are not above 0; logarithmic axes have no position for them.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

use crate::canvas::{Drawing, PlotError, text, write};

/// Width and height, in pixels.
const SIZE: (u32, u32) = (1000, 640);
/// Colours that also differ in print and for colour-blind readers: blue, red, orange, black.
const COLOURS: [RGBColor; 4] = [
    RGBColor(33, 102, 172),
    RGBColor(178, 24, 43),
    RGBColor(230, 140, 20),
    RGBColor(40, 40, 40),
];

/// One curve.
#[derive(Clone, PartialEq, Debug)]
pub struct Curve {
    /// Name in the picture.
    pub name: String,
    /// The points, in order of x.
    pub points: Vec<(f64, f64)>,
}

/// A picture of curves.
#[derive(Clone, PartialEq, Debug)]
pub struct Curves {
    /// Above the picture.
    pub title: String,
    /// Label of the x axis, with the unit.
    pub x: String,
    /// Label of the y axis, with the unit.
    pub y: String,
    /// At most four have colours of their own.
    pub curves: Vec<Curve>,
}

/// The exponent a of the power law y = c xᵃ nearest to the points: the slope of the least squares
/// of the logarithms. `None` if there are not two different x above 0.
pub fn growth(points: &[(f64, f64)]) -> Option<f64> {
    let logarithms: Vec<(f64, f64)> = drawable(points)
        .map(|(x, y)| (x.log10(), y.log10()))
        .collect();
    #[expect(clippy::cast_precision_loss, reason = "points are few")]
    let count = logarithms.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| logarithms.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = logarithms
        .iter()
        .map(|point| (point.0 - x) * (point.0 - x))
        .sum();
    let both: f64 = logarithms
        .iter()
        .map(|point| (point.0 - x) * (point.1 - y))
        .sum();
    (spread > 0.0).then(|| both / spread)
}

/// Draws curves into an SVG or PNG file.
pub fn plot_curves(curves: &Curves, path: &Path) -> Result<(), PlotError> {
    write(path, SIZE, curves)
}

fn drawable(points: &[(f64, f64)]) -> impl Iterator<Item = (f64, f64)> + '_ {
    points
        .iter()
        .copied()
        .filter(|(x, y)| *x > 0.0 && *y > 0.0 && x.is_finite() && y.is_finite())
}

/// The powers of ten around the numbers, with some room.
fn decades(numbers: impl Iterator<Item = f64>) -> Option<std::ops::Range<f64>> {
    let (low, high) = numbers.fold((f64::INFINITY, 0.0), |(low, high), number| {
        (f64::min(low, number), f64::max(high, number))
    });
    (low <= high).then(|| {
        let power = |exponent: f64| format!("1e{exponent}").parse().expect("a number");
        power((low / 1.2).log10().floor())..power((high * 1.2).log10().ceil())
    })
}

/// Around the numbers, with some room.
fn around(numbers: impl Iterator<Item = f64>) -> Option<std::ops::Range<f64>> {
    let (low, high) = numbers.fold((f64::INFINITY, 0.0), |(low, high), number| {
        (f64::min(low, number), f64::max(high, number))
    });
    (low <= high).then(|| low / 1.6..high * 1.6)
}

/// Formats a power of ten for readers.
fn label(number: &f64) -> String {
    if (0.01..1e3).contains(number) {
        format!("{number}")
    } else {
        format!("{number:e}")
    }
}

impl Drawing for Curves {
    fn draw<D: DrawingBackend>(&self, area: &DrawingArea<D, Shift>) -> Result<(), String> {
        area.fill(&WHITE).map_err(text)?;
        let all = || self.curves.iter().flat_map(|curve| drawable(&curve.points));
        let (Some(x), Some(y)) = (
            around(all().map(|point| point.0)),
            decades(all().map(|point| point.1)),
        ) else {
            return Err("there are no points".to_owned());
        };
        let mut chart = ChartBuilder::on(area)
            .caption(&self.title, ("sans-serif", 20))
            .margin(16)
            .margin_right(32)
            .x_label_area_size(48)
            .y_label_area_size(72)
            .build_cartesian_2d(x.log_scale(), y.log_scale())
            .map_err(text)?;
        chart
            .configure_mesh()
            .x_desc(&self.x)
            .y_desc(&self.y)
            .label_style(("sans-serif", 15))
            .axis_desc_style(("sans-serif", 17))
            .bold_line_style(RGBColor(205, 205, 205))
            .light_line_style(RGBColor(238, 238, 238))
            .x_label_formatter(&label)
            .y_label_formatter(&label)
            .draw()
            .map_err(text)?;
        for (curve, colour) in self.curves.iter().zip(COLOURS.iter().cycle()) {
            let points: Vec<(f64, f64)> = drawable(&curve.points).collect();
            let dots = points.iter().map(|at| Circle::new(*at, 5, colour.filled()));
            chart.draw_series(dots).map_err(text)?;
            let line = PathElement::new(points, colour.stroke_width(2));
            chart
                .draw_series(std::iter::once(line))
                .map_err(text)?
                .label(&curve.name)
                .legend(|(x, y)| {
                    PathElement::new(vec![(x, y), (x + 24, y)], colour.stroke_width(3))
                });
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .margin(16)
            .legend_area_size(34)
            .label_font(("sans-serif", 17))
            .background_style(WHITE.mix(0.9))
            .border_style(RGBColor(150, 150, 150))
            .draw()
            .map_err(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponent_of_a_power_law() {
        let points: Vec<(f64, f64)> = [1.0, 10.0, 50.0]
            .iter()
            .map(|x: &f64| (*x, 3.0 * x * x.sqrt()))
            .collect();
        assert!((growth(&points).unwrap() - 1.5).abs() < 1e-12);
        assert_eq!(growth(&[(1.0, 2.0)]), None);
        assert_eq!(growth(&[(1.0, 2.0), (0.0, 5.0)]), None);
    }

    #[test]
    fn a_picture_has_all_names_and_points() {
        let curve = |name: &str, factor: f64| Curve {
            name: name.to_owned(),
            points: vec![(100.0, factor), (1000.0, 20.0 * factor), (0.0, 1.0)],
        };
        let curves = Curves {
            title: "costs".to_owned(),
            x: "flows".to_owned(),
            y: "time".to_owned(),
            curves: vec![curve("slow", 1e3), curve("fast", 2.0)],
        };
        let file = std::env::temp_dir().join(format!("curves-{}.svg", std::process::id()));
        plot_curves(&curves, &file).unwrap();
        let picture = std::fs::read_to_string(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        assert_eq!(picture.matches("<circle").count(), 4);
        for word in ["costs", "flows", "time", "slow", "fast", "100", "1e5"] {
            assert!(
                picture.contains(&format!("\n{word}\n")),
                "{word}: {picture}"
            );
        }
        let none = Curves {
            curves: Vec::new(),
            ..curves
        };
        assert!(plot_curves(&none, &file).is_err());
    }
}
