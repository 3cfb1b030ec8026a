//! Points, intervals and lines over linear or logarithmic axes: measured values beside the values
//! of a model.
//!
//! The name of a series stands beside the last point, if all series end at the right edge and the
//! names do not overlap; otherwise the names are a list.
//!
//! *Not drawn*: values that are not finite, and on a logarithmic axis values that are not above 0.

use std::path::Path;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::canvas::{Drawing, PlotError, adopt_page_colours, place_labels, svg, text, write};

/// Width and height, in pixels.
const SIZE: (u32, u32) = (1000, 560);

/// Part of the axis of x in which a series ends at the right edge.
const EDGE_PART: f64 = 0.15;
/// Size of the letters of a name beside the last point.
const NAME_SIZE: i32 = 15;
/// Distance of a name from the edge of the diagram, in pixels.
const NAME_DISTANCE: i32 = 10;

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

/// Draws an SVG picture for a page of HTML and returns the text of the picture.
pub fn svg_of_scatter(scatter: &Scatter) -> Result<String, PlotError> {
    svg(SIZE, scatter).map(|picture| adopt_page_colours(&picture))
}

impl Scatter {
    fn drawable<'a>(&self, points: &'a [(f64, f64)]) -> impl Iterator<Item = (f64, f64)> + use<'a> {
        let (log_x, log_y) = (self.log_x, self.log_y);
        let fits = move |(x, y): &(f64, f64)| {
            x.is_finite() && y.is_finite() && (*x > 0.0 || !log_x) && (*y > 0.0 || !log_y)
        };
        points.iter().copied().filter(fits)
    }

    /// The series with a name and at least one drawable point.
    fn named_series(&self) -> impl Iterator<Item = &Series> {
        let series = self.series.iter();
        series.filter(|series| {
            !series.name.is_empty() && self.drawable(&series.points).next().is_some()
        })
    }

    /// Returns true if each named series ends in the last part of the axis of x.
    fn ends_at_edge(&self) -> bool {
        let Some((low, high)) = self.extent(|point| point.0) else {
            return false;
        };
        let scale = |x: f64| if self.log_x { libm::log(x) } else { x };
        let edge = scale(high) - EDGE_PART * (scale(high) - scale(low));
        self.named_series()
            .filter_map(|series| self.last_point(series))
            .all(|(x, _)| scale(x) >= edge)
    }

    /// Returns the drawable point of a series with the largest x.
    fn last_point(&self, series: &Series) -> Option<(f64, f64)> {
        let points = self.drawable(&series.points);
        points.max_by(|(one, _), (other, _)| one.total_cmp(other))
    }

    /// Returns true if the axis of x has sizes of messages, which are powers of 2.
    fn has_sizes(&self) -> bool {
        self.log_x && self.x.contains("bytes")
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
        if self.ends_at_edge() && self.draw_with_names(area, true)? {
            return Ok(());
        }
        self.draw_with_names(area, false).map(|_| ())
    }
}

impl Scatter {
    /// Draws the picture with the names beside the last points, or as a list. Returns false if the
    /// names have no room beside the points.
    fn draw_with_names<D: DrawingBackend>(
        &self,
        area: &DrawingArea<D, Shift>,
        beside: bool,
    ) -> Result<bool, String> {
        area.fill(&WHITE).map_err(text)?;
        let (Some(x), Some(y)) = (self.extent(|point| point.0), self.extent(|point| point.1))
        else {
            return Err("there are no points".to_owned());
        };
        let base = if self.has_sizes() { 2.0 } else { 10.0 };
        let logarithmic = |(low, high): (f64, f64)| (low / 1.5..high * 1.5).log_scale();
        let linear = |(low, high): (f64, f64), part: f64| {
            let room = part * (high - low).max(1e-3 * high.abs()).max(1e-9);
            low - room..high + room
        };
        // The list of names stands there, and would hide points.
        let room = if beside { 0.0 } else { 0.25 };
        let above =
            |range: std::ops::Range<f64>| range.start..range.end + room * (range.end - range.start);
        match (self.log_x, self.log_y) {
            (true, true) => {
                self.draw_points(area, logarithmic(x).base(base), logarithmic(y), beside)
            }
            (true, false) => {
                let (x, y) = (logarithmic(x).base(base), above(linear(y, 0.1)));
                self.draw_points(area, x, y, beside)
            }
            (false, true) => self.draw_points(area, linear(x, 0.02), logarithmic(y), beside),
            (false, false) => {
                self.draw_points(area, linear(x, 0.02), above(linear(y, 0.1)), beside)
            }
        }
    }
}

impl Scatter {
    fn draw_points<D: DrawingBackend, X, Y>(
        &self,
        area: &DrawingArea<D, Shift>,
        x: X,
        y: Y,
        beside: bool,
    ) -> Result<bool, String>
    where
        X: AsRangedCoord<Value = f64>,
        Y: AsRangedCoord<Value = f64>,
        X::CoordDescType: ValueFormatter<f64> + Ranged<ValueType = f64>,
        Y::CoordDescType: ValueFormatter<f64> + Ranged<ValueType = f64>,
    {
        let mut chart = ChartBuilder::on(area)
            .caption(&self.title, ("sans-serif", 20))
            .margin(16)
            .margin_right(self.right_margin(area, beside)?)
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
            .x_label_formatter(match (self.has_sizes(), self.log_x) {
                (true, _) => &label_of_size,
                (_, true) => &label_of_decade,
                _ => &label,
            })
            .y_label_formatter(if self.log_y { &label_of_decade } else { &label })
            .draw()
            .map_err(text)?;
        let names = beside.then(|| self.names_beside(&chart));
        if names.as_ref().is_some_and(Option::is_none) {
            return Ok(false);
        }
        let y = self.extent(|point| point.1).unwrap_or_default();
        for at in &self.verticals {
            let ends = vec![(*at, y.0), (*at, y.1)];
            let line = PathElement::new(ends, RGBColor(120, 120, 120).mix(0.6));
            chart.draw_series(std::iter::once(line)).map_err(text)?;
        }
        for series in &self.series {
            self.draw_series(&mut chart, series, !beside)?;
        }
        if let Some(names) = names.flatten() {
            draw_names(area, names)?;
            return Ok(true);
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
            .map_err(text)?;
        Ok(true)
    }
}

/// Draws the names of series beside the last points.
fn draw_names<D: DrawingBackend>(
    area: &DrawingArea<D, Shift>,
    names: Vec<(&Series, (i32, i32))>,
) -> Result<(), String> {
    let to_right = Pos::new(HPos::Left, VPos::Center);
    names.into_iter().try_for_each(|(series, at)| {
        let (RGBAColor(red, green, blue, _), _) = style(series.mark);
        let font = ("sans-serif", NAME_SIZE).into_font();
        let style = font.color(&RGBColor(red, green, blue)).pos(to_right);
        area.draw(&Text::new(series.name.clone(), at, style))
            .map_err(text)
    })
}

impl Scatter {
    /// Returns the width of the right margin, where names stand beside the last points.
    fn right_margin<D: DrawingBackend>(
        &self,
        area: &DrawingArea<D, Shift>,
        beside: bool,
    ) -> Result<u32, String> {
        let mut margin = 32;
        if beside {
            let style = ("sans-serif", NAME_SIZE).into_font().into();
            for series in self.named_series() {
                let size = area.estimate_text_size(&series.name, &style);
                margin = margin.max(size.map_err(text)?.0 + 24);
            }
        }
        Ok(margin)
    }

    /// Draws the points of a series, with an entry of the list of names if `is_listed`.
    fn draw_series<D: DrawingBackend, X, Y>(
        &self,
        chart: &mut ChartContext<'_, D, Cartesian2d<X, Y>>,
        series: &Series,
        is_listed: bool,
    ) -> Result<(), String>
    where
        X: Ranged<ValueType = f64>,
        Y: Ranged<ValueType = f64>,
    {
        let points: Vec<(f64, f64)> = self.drawable(&series.points).collect();
        let (colour, size) = style(series.mark);
        let dots = || points.iter().copied();
        let drawn = match series.mark {
            Marker::Faint | Marker::Dots => {
                chart.draw_series(dots().map(|at| Circle::new(at, size, colour.filled())))
            }
            Marker::Rings => {
                chart.draw_series(dots().map(|at| Circle::new(at, size, colour.stroke_width(2))))
            }
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
        if is_listed && !series.name.is_empty() {
            let mark = series.mark;
            let legend = legend.label(&series.name);
            legend.legend(move |at| legend_sign(mark, at));
        }
        Ok(())
    }

    /// Returns the named series and the positions of the names beside the last points; `None` if
    /// there is no room for all names.
    fn names_beside<D: DrawingBackend, X, Y>(
        &self,
        chart: &ChartContext<'_, D, Cartesian2d<X, Y>>,
    ) -> Option<Vec<(&Series, (i32, i32))>>
    where
        X: Ranged<ValueType = f64>,
        Y: Ranged<ValueType = f64>,
    {
        let ends = self
            .named_series()
            .filter_map(|series| Some(chart.backend_coord(&self.last_point(series)?).1));
        let ends: Vec<i32> = ends.collect();
        let (columns, rows) = chart.plotting_area().get_pixel_range();
        let places = place_labels(&ends, (rows.start, rows.end))?;
        let at = |y: i32| (columns.end + NAME_DISTANCE, y);
        Some(
            self.named_series()
                .zip(places.into_iter().map(at))
                .collect(),
        )
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

/// Formats a size in bytes: a power of 2 with a unit.
fn label_of_size(bytes: &f64) -> String {
    let units = [
        (1024.0 * 1024.0 * 1024.0, "GiB"),
        (1024.0 * 1024.0, "MiB"),
        (1024.0, "KiB"),
    ];
    let unit = units.iter().find(|(size, _)| *bytes >= *size);
    match unit {
        Some((size, name)) => format!("{} {name}", label(&(bytes / size))),
        None => label(bytes),
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
    fn sizes_are_powers_of_two() {
        let sizes = [8.0, 1024.0, 65_536.0, 4_194_304.0].map(|size| label_of_size(&size));
        assert_eq!(sizes, ["8", "1 KiB", "64 KiB", "4 MiB"]);
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
