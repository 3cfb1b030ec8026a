//! Pictures of a report: simulated against measured times, and their ratio by size.
//!
//! *Not drawn*: rows that were left out, and the choices of libraries.

use std::collections::BTreeMap;
use std::path::Path;

use report::{Marker, PlotError, Scatter, Series, plot_scatter};

use crate::judge::JudgedRow;
use crate::report::AccuracyReport;

/// The factor between the lines of the pictures and equal times. \[choice\]
const BAND: f64 = 1.4;

/// Styles of the algorithms of an operation, in turn.
const MARKERS: [Marker; 6] = [
    Marker::Dots,
    Marker::Rings,
    Marker::Crosses,
    Marker::Line,
    Marker::Second,
    Marker::Third,
];

impl AccuracyReport {
    /// Draws `times.svg`, with the simulated and the measured time of each row, and for each
    /// operation `ratios-OPERATION.svg`, with the ratio of these times by size and algorithm.
    /// Without points a picture is left out: without rows, and of an operation without bytes.
    ///
    /// # Errors
    /// A picture that cannot be written.
    pub fn draw_pictures(&self, folder: &Path) -> Result<(), PlotError> {
        if self.simulated_rows().next().is_some() {
            plot_scatter(&self.draw_times(), &folder.join("times.svg"))?;
        }
        let mut operations: BTreeMap<String, Vec<&JudgedRow>> = BTreeMap::new();
        for judged in self.simulated_rows().filter(|one| one.row.bytes > 0) {
            let operation = judged.row.operation.to_string();
            operations.entry(operation).or_default().push(judged);
        }
        for (operation, rows) in operations {
            let file = folder.join(format!("ratios-{operation}.svg"));
            plot_scatter(&draw_ratios(&operation, &rows), &file)?;
        }
        Ok(())
    }

    fn draw_times(&self) -> Scatter {
        let points = |rows: &[JudgedRow]| rows.iter().map(in_microseconds).collect();
        let judged: Vec<(f64, f64)> = points(&self.judged);
        let fitted: Vec<(f64, f64)> = points(&self.fitted.0);
        let ends = find_extent(judged.iter().chain(&fitted).map(|(measured, _)| *measured));
        let line = |factor: f64| ends.map(|end| (end, end * factor)).to_vec();
        let mut series = band_lines(line);
        series.push(Series::new("not seen by the fit", Marker::Dots, judged));
        if !fitted.is_empty() {
            series.push(Series::new("fitted", Marker::Rings, fitted));
        }
        Scatter {
            title: "Times of collective operations".to_owned(),
            x: "measured (us)".to_owned(),
            log_x: true,
            y: "simulated (us)".to_owned(),
            log_y: true,
            series,
            verticals: Vec::new(),
        }
    }
}

/// The ratio of the times of one operation by size.
fn draw_ratios(operation: &str, rows: &[&JudgedRow]) -> Scatter {
    let mut algorithms: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    for judged in rows {
        let point = (judged.row.bytes as f64, judged.time_ratio());
        let label = &*judged.row.label;
        algorithms.entry(label).or_default().push(point);
    }
    let ends = find_extent(rows.iter().map(|judged| judged.row.bytes as f64));
    let mut series = band_lines(|factor| ends.map(|end| (end, factor)).to_vec());
    for ((name, mut points), marker) in algorithms.into_iter().zip(MARKERS.into_iter().cycle()) {
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        series.push(Series::new(name, marker, points));
    }
    Scatter {
        title: format!("{operation}: ratio of the times"),
        x: "size (bytes)".to_owned(),
        log_x: true,
        y: "simulated / measured".to_owned(),
        log_y: false,
        series,
        verticals: Vec::new(),
    }
}

/// The least and the largest of positive numbers.
fn find_extent(numbers: impl Iterator<Item = f64>) -> [f64; 2] {
    numbers.fold([f64::INFINITY, 0.0], |[low, high], number| {
        [low.min(number), high.max(number)]
    })
}

/// Lines of equal times, and of times that differ by [`BAND`].
fn band_lines(line: impl Fn(f64) -> Vec<(f64, f64)>) -> Vec<Series> {
    let factors = [1.0 / BAND, 1.0, BAND];
    let lines = factors.map(|factor| Series::new("", Marker::Thin, line(factor)));
    lines.to_vec()
}

/// Measured and simulated time in µs.
fn in_microseconds(judged: &JudgedRow) -> (f64, f64) {
    (1e6 * judged.row.median_s, 1e6 * judged.simulated_s)
}
