//! Points, intervals and lines over linear or logarithmic axes: measured values beside the values
//! of a model.
//!
//! *Not drawn*: values that are not finite, and on a logarithmic axis values that are not above 0.

use std::path::Path;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter};
use plotters::prelude::*;

use crate::canvas::{Drawing, PlotError, svg, text, write};

/// Width and height, in pixels.
const SIZE: (u32, u32) = (1000, 560);

/// Styles of a series.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Marker {
    /// Small grey dots: single samples.
    Faint,
    /// Blue circles: measured values.
    Dots,
    /// Orange rings: held-out values.
    Rings,
    /// Green crosses: values that were never intended for the fit.
    Crosses,
    /// A red line: the model.
    Line,
    /// A thin grey line: the reference with which the model is compared.
    Thin,
    /// A blue line.
    Second,
    /// A green line.
    Third,
    /// Intervals: points in pairs, lower and upper end, each joined by a blue line.
    Whiskers,
}

/// One series.
#[derive(Clone, PartialEq, Debug)]
pub struct Series {
    /// Name in the legend; a series with an empty name is not listed.
    pub name: String,
    /// Style in the picture.
    pub mark: Marker,
    /// The points; a line joins the points in this order.
    pub points: Vec<(f64, f64)>,
}

impl Series {
    /// Returns a series with a name for the legend.
    pub fn new(name: &str, mark: Marker, points: Vec<(f64, f64)>) -> Self {
        Self {
            name: name.to_owned(),
            mark,
            points,
        }
    }
}

/// A picture of points and lines.
#[derive(Clone, PartialEq, Debug)]
pub struct Scatter {
    /// Above the picture.
    pub title: String,
    /// Label of the x axis, with the unit.
    pub x: String,
    /// True if the axis of x is logarithmic.
    pub log_x: bool,
    /// Label of the y axis, with the unit.
    pub y: String,
    /// True if the axis of y is logarithmic too.
    pub log_y: bool,
    /// Series that are drawn, first ones below.
    pub series: Vec<Series>,
    /// Vertical lines at these x.
    pub verticals: Vec<f64>,
}

/// Draws into an SVG or PNG file.
pub fn plot_scatter(scatter: &Scatter, path: &Path) -> Result<(), PlotError> {
    write(path, SIZE, scatter)
}

/// Draws an SVG picture and returns the text of the picture.
pub fn svg_of_scatter(scatter: &Scatter) -> Result<String, PlotError> {
    svg(SIZE, scatter)
}

impl Scatter {
    fn drawable<'a>(&self, points: &'a [(f64, f64)]) -> impl Iterator<Item = (f64, f64)> + use<'a> {
        let (log_x, log_y) = (self.log_x, self.log_y);
        let fits = move |(x, y): &(f64, f64)| {
            x.is_finite() && y.is_finite() && (*x > 0.0 || !log_x) && (*y > 0.0 || !log_y)
        };
        points.iter().copied().filter(fits)
    }

    /// Returns the minimum and the maximum of one coordinate over all drawable points.
    fn extent(&self, of: impl Fn((f64, f64)) -> f64) -> Option<(f64, f64)> {
        let all = self
            .series
            .iter()
            .flat_map(|series| self.drawable(&series.points));
        all.map(of).fold(None, |extent, number| {
            let (low, high) = extent.unwrap_or((number, number));
            Some((f64::min(low, number), f64::max(high, number)))
        })
    }
}

impl Drawing for Scatter {
    fn draw<D: DrawingBackend>(&self, area: &DrawingArea<D, Shift>) -> Result<(), String> {
        area.fill(&WHITE).map_err(text)?;
        let (Some(x), Some(y)) = (self.extent(|point| point.0), self.extent(|point| point.1))
        else {
            return Err("there are no points".to_owned());
        };
        let logarithmic = |(low, high): (f64, f64)| (low / 1.5..high * 1.5).log_scale();
        let linear = |(low, high): (f64, f64), part: f64| {
            let room = part * (high - low).max(1e-3 * high.abs()).max(1e-9);
            low - room..high + room
        };
        // The list of names stands there, and would hide points.
        let above =
            |range: std::ops::Range<f64>| range.start..range.end + 0.25 * (range.end - range.start);
        match (self.log_x, self.log_y) {
            (true, true) => self.draw_points(area, logarithmic(x), logarithmic(y)),
            (true, false) => self.draw_points(area, logarithmic(x), above(linear(y, 0.1))),
            (false, true) => self.draw_points(area, linear(x, 0.02), logarithmic(y)),
            (false, false) => self.draw_points(area, linear(x, 0.02), above(linear(y, 0.1))),
        }
    }
}

impl Scatter {
    fn draw_points<D: DrawingBackend, X, Y>(
        &self,
        area: &DrawingArea<D, Shift>,
        x: X,
        y: Y,
    ) -> Result<(), String>
    where
        X: AsRangedCoord<Value = f64>,
        Y: AsRangedCoord<Value = f64>,
        X::CoordDescType: ValueFormatter<f64> + Ranged<ValueType = f64>,
        Y::CoordDescType: ValueFormatter<f64> + Ranged<ValueType = f64>,
    {
        let mut chart = ChartBuilder::on(area)
            .caption(&self.title, ("sans-serif", 20))
            .margin(16)
            .margin_right(32)
            .x_label_area_size(48)
            .y_label_area_size(72)
            .build_cartesian_2d(x, y)
            .map_err(text)?;
        // Lines between those with numbers get too dense where there are few decades.
        let light = |log: bool| if log { 0 } else { 5 };
        chart
            .configure_mesh()
            .x_max_light_lines(light(self.log_x))
            .y_max_light_lines(light(self.log_y))
            .x_desc(&self.x)
            .y_desc(&self.y)
            .label_style(("sans-serif", 15))
            .axis_desc_style(("sans-serif", 17))
            .bold_line_style(RGBColor(205, 205, 205))
            .light_line_style(RGBColor(240, 240, 240))
            .x_label_formatter(if self.log_x { &label_of_decade } else { &label })
            .y_label_formatter(if self.log_y { &label_of_decade } else { &label })
            .draw()
            .map_err(text)?;
        let y = self.extent(|point| point.1).unwrap_or_default();
        for at in &self.verticals {
            let ends = vec![(*at, y.0), (*at, y.1)];
            let line = PathElement::new(ends, RGBColor(120, 120, 120).mix(0.6));
            chart.draw_series(std::iter::once(line)).map_err(text)?;
        }
        for series in &self.series {
            let points: Vec<(f64, f64)> = self.drawable(&series.points).collect();
            let (colour, size) = style(series.mark);
            let dots = || points.iter().copied();
            let drawn = match series.mark {
                Marker::Faint | Marker::Dots => {
                    chart.draw_series(dots().map(|at| Circle::new(at, size, colour.filled())))
                }
                Marker::Rings => chart
                    .draw_series(dots().map(|at| Circle::new(at, size, colour.stroke_width(2)))),
                Marker::Crosses => {
                    chart.draw_series(dots().map(|at| Cross::new(at, size, colour.stroke_width(2))))
                }
                Marker::Whiskers => chart.draw_series(
                    points
                        .chunks(2)
                        .map(|pair| PathElement::new(pair.to_vec(), colour.stroke_width(size))),
                ),
                Marker::Line | Marker::Thin | Marker::Second | Marker::Third => {
                    let line = PathElement::new(points, colour.stroke_width(size));
                    chart.draw_series(std::iter::once(line))
                }
            };
            let legend = drawn.map_err(text)?;
            if !series.name.is_empty() {
                let mark = series.mark;
                let legend = legend.label(&series.name);
                legend.legend(move |at| legend_sign(mark, at));
            }
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .margin(16)
            .legend_area_size(34)
            .label_font(("sans-serif", 16))
            .background_style(WHITE.mix(0.9))
            .border_style(RGBColor(150, 150, 150))
            .draw()
            .map_err(text)
    }
}

/// Colour, and radius or width in pixels.
fn style(mark: Marker) -> (RGBAColor, u32) {
    match mark {
        Marker::Faint => (RGBColor(120, 120, 120).mix(0.25), 1),
        Marker::Dots => (RGBColor(33, 102, 172).to_rgba(), 4),
        Marker::Rings => (RGBColor(230, 140, 20).to_rgba(), 5),
        Marker::Crosses => (RGBColor(27, 120, 55).to_rgba(), 4),
        Marker::Line => (RGBColor(178, 24, 43).to_rgba(), 2),
        Marker::Thin => (RGBColor(130, 130, 130).to_rgba(), 1),
        Marker::Second => (RGBColor(33, 102, 172).to_rgba(), 2),
        Marker::Third => (RGBColor(27, 120, 55).to_rgba(), 2),
        Marker::Whiskers => (RGBColor(33, 102, 172).mix(0.7), 1),
    }
}

/// The sign of a series in the legend: a path, since all signs of a chart have one type.
fn legend_sign(mark: Marker, (x, y): (i32, i32)) -> PathElement<(i32, i32)> {
    let (colour, _) = style(mark);
    let (offsets, width): (&[(i32, i32)], u32) = match mark {
        Marker::Dots => (&[(8, 0), (16, 0)], 8),
        Marker::Rings => (&[(8, -4), (16, -4), (16, 4), (8, 4), (8, -4)], 2),
        Marker::Crosses => (&[(8, -4), (16, 4), (12, 0), (16, -4), (8, 4)], 2),
        _ => (&[(0, 0), (24, 0)], 3),
    };
    let points: Vec<(i32, i32)> = offsets.iter().map(|(dx, dy)| (x + dx, y + dy)).collect();
    PathElement::new(points, colour.stroke_width(width))
}

/// Formats a number for readers.
fn label(number: &f64) -> String {
    let size = number.abs();
    if size > 0.0 && !(0.01..1e5).contains(&size) {
        // Three digits, without zeros at the end: 2e5, and not 1.9999999e5.
        let digits = format!("{number:.2e}");
        digits.replace("0e", "e").replace(".0e", "e")
    } else {
        format!("{}", (number * 1000.0).round() / 1000.0)
    }
}

/// On a logarithmic axis: 1, 2 and 5 of each decade, because the others stand too close to each
/// other.
fn label_of_decade(number: &f64) -> String {
    let digits = format!("{number:e}");
    let is_round = ["1e", "2e", "5e"]
        .iter()
        .any(|round| digits.starts_with(round));
    if is_round {
        label(number)
    } else {
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_decade_stand_apart() {
        let numbers =
            [1.0, 3.0, 5.0, 900.0, 1000.0, 2e5, 0.5].map(|number| label_of_decade(&number));
        assert_eq!(numbers, ["1", "", "5", "", "1000", "2e5", "0.5"]);
    }

    #[test]
    fn a_picture_has_all_points_and_names() {
        let mut scatter = Scatter {
            title: "times".to_owned(),
            x: "bytes".to_owned(),
            log_x: true,
            y: "error".to_owned(),
            log_y: true,
            series: vec![
                Series {
                    name: "measured".to_owned(),
                    mark: Marker::Dots,
                    points: vec![(1.0, 2.0), (1000.0, 3.0), (0.0, 1.0), (5.0, -1.0)],
                },
                Series {
                    name: "fitted".to_owned(),
                    mark: Marker::Line,
                    points: vec![(1.0, 2.0), (1000.0, 3.0)],
                },
            ],
            verticals: vec![30.0],
        };
        let picture = svg_of_scatter(&scatter).unwrap();
        assert_eq!(picture.matches("<circle").count(), 2);
        for word in ["times", "bytes", "error", "measured", "fitted"] {
            assert!(
                picture.contains(&format!("\n{word}\n")),
                "{word}: {picture}"
            );
        }
        scatter.log_y = false;
        let picture = svg_of_scatter(&scatter).unwrap();
        assert_eq!(picture.matches("<circle").count(), 3);
        scatter.log_x = false;
        let picture = svg_of_scatter(&scatter).unwrap();
        assert_eq!(picture.matches("<circle").count(), 4);
        scatter.series.clear();
        assert!(svg_of_scatter(&scatter).is_err());
    }
}
