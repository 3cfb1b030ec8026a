//! Tables of results, as CSV (RFC 4180).
//!
//! `table.csv` has one row per point and seed, `summary.csv` one row per point. Rows are in the
//! order of the points, then of the seeds, so the same results give the same bytes, whoever
//! computed them. Quantities are numbers in their base unit; a missing value is empty.

use std::io::Write;

use crate::file::Study;
use crate::point::Point;
use crate::point_results::PointResults;
use crate::statistics::Summary;
use crate::value::real_cell;

/// Columns of `table.csv` that are neither parameters nor measures.
pub(crate) const RUN_COLUMNS: [&str; 6] =
    ["seed", "outcome", "digest", "key", "revision", "wall_s"];

/// Writes `table.csv`; without `wall`, the table is the same for each repetition of a study.
pub fn write_table(
    study: &Study,
    points: &[PointResults<'_>],
    wall: bool,
    writer: impl Write,
) -> csv::Result<()> {
    let columns = study.columns();
    let mut writer = csv::Writer::from_writer(writer);
    let mut header: Vec<&str> = study.parameters.iter().map(String::as_str).collect();
    header.extend(["seed", "outcome"]);
    header.extend(columns.iter().map(String::as_str));
    header.extend(["digest", "key", "revision"]);
    header.extend(wall.then_some("wall_s"));
    writer.write_record(header)?;
    for point in points {
        for (seed, result) in &point.results {
            let mut row = parameters(point.point);
            row.extend([seed.to_string(), result.outcome.clone()]);
            row.extend(
                columns
                    .iter()
                    .map(|column| cell(result.measures.get(column).copied())),
            );
            row.push(result.digest.clone().unwrap_or_default());
            row.extend([result.key.to_string(), result.revision.clone()]);
            row.extend(wall.then(|| real_cell(result.wall_s)));
            writer.write_record(row)?;
        }
    }
    writer.flush()?;
    Ok(())
}

/// Writes `summary.csv`: number of values, mean, interval and quantiles of each measure, and a
/// note: `few`, `deterministic`, `long values` or an empty note.
pub fn write_summary(
    study: &Study,
    points: &[PointResults<'_>],
    writer: impl Write,
) -> csv::Result<()> {
    let columns = study.columns();
    let mut writer = csv::Writer::from_writer(writer);
    let mut header = study.parameters.clone();
    for column in &columns {
        let parts = [
            "n", "mean", "low", "high", "min", "median", "q90", "max", "note",
        ];
        header.extend(parts.map(|part| format!("{column}_{part}")));
    }
    writer.write_record(header)?;
    for point in points {
        let mut row = parameters(point.point);
        for column in &columns {
            let values = point.column_values(column);
            let summary = Summary::new(&values, study.replication.confidence());
            row.extend(summary_cells(summary.as_ref(), point.deterministic()));
        }
        writer.write_record(row)?;
    }
    writer.flush()?;
    Ok(())
}

fn summary_cells(summary: Option<&Summary>, deterministic: bool) -> [String; 9] {
    let number = |value: fn(&Summary) -> f64| cell(summary.map(value));
    let interval = summary.and_then(|summary| summary.interval);
    let note = match summary {
        Some(_) if deterministic => "deterministic",
        Some(summary) if summary.long_values.is_some() => "long values",
        Some(summary) if summary.few() => "few",
        _ => "",
    };
    [
        summary.map_or(0, |summary| summary.n).to_string(),
        number(|it| it.mean),
        cell(interval.map(|it| it.low)),
        cell(interval.map(|it| it.high)),
        number(|it| it.min),
        number(|it| it.median),
        number(|it| it.q90),
        number(|it| it.max),
        note.to_owned(),
    ]
}

fn parameters(point: &Point) -> Vec<String> {
    point
        .parameters
        .iter()
        .map(|(_, value)| value.cell())
        .collect()
}

/// Returns the text of a number; empty without one.
fn cell(value: Option<f64>) -> String {
    value.map(real_cell).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::results::ResultLine;
    use crate::testing::result;

    const STUDY: &str = "
        program = 'apps/ring'
        platform = 'p.toml'
        arguments = ['--size', '{size}', '{name}']
        [grid]
        size = ['1KiB', '2KiB']
        name = 'a,\"b\"'
        [replicate]
        seeds = 3
    ";

    fn tables() -> (String, String) {
        let study = Study::parse("STUDY.toml", STUDY).expect("a study");
        let results: Vec<ResultLine> = (0..3).map(|seed| result(seed, 0.5, "d")).collect();
        // In whatever order they come.
        let by_seed = results.iter().rev().map(|result| (result.seed, result));
        let points = [
            PointResults {
                point: &study.points[0],
                results: by_seed.collect(),
            },
            PointResults {
                point: &study.points[1],
                results: BTreeMap::new(),
            },
        ];
        let (mut table, mut summary) = (Vec::new(), Vec::new());
        write_table(&study, &points, false, &mut table).expect("a table");
        write_summary(&study, &points, &mut summary).expect("a summary");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        (text(table), text(summary))
    }

    #[test]
    fn rows_are_ordered_and_quoted() {
        let (table, _) = tables();
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines.len(), 4);
        assert_eq!(
            lines[0],
            "size,name,seed,outcome,time_s,digest,key,revision"
        );
        for (seed, line) in lines[1..].iter().enumerate() {
            let start = format!("1024,\"a,\"\"b\"\"\",{seed},finished,0.5,d,");
            assert!(line.starts_with(&start), "{line}");
        }
    }

    #[test]
    fn points_without_results_have_empty_cells() {
        let (_, summary) = tables();
        let lines: Vec<&str> = summary.lines().collect();
        assert!(lines[0].starts_with("size,name,time_s_n,time_s_mean,time_s_low,time_s_high"));
        assert_eq!(
            lines[1],
            "1024,\"a,\"\"b\"\"\",3,0.5,0.5,0.5,0.5,0.5,0.5,0.5,few"
        );
        assert_eq!(lines[2], "2048,\"a,\"\"b\"\"\",0,,,,,,,,");
    }
}
