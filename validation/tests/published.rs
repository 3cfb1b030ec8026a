//! Promise: fitted to half of the sizes of published InfiniBand tables, the curve predicts the
//! other half.
//!
//! Ten sets, 226 sizes above 0, powers of two, one value per size. Each half is fitted in turn, the
//! ends are always kept. *Refined*: sizes in gaps in which the fit jumps by more than 5 % are added
//! to the fit, as if they had been measured then, and not predicted.

use std::collections::BTreeMap;

use validation::{ErrorSummary, FitOptions, Interpolation, Point, Prediction, fit, fit_line};

const TABLES: &str = include_str!("data/osu-ib-published.csv");

/// The fields of a line in which texts may be quoted.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    for character in line.chars() {
        match character {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            other => fields
                .last_mut()
                .expect("published tables are good")
                .push(other),
        }
    }
    fields
}

/// The sets by name; bandwidths as time per message.
fn sets() -> BTreeMap<String, Vec<Point>> {
    let mut sets: BTreeMap<String, Vec<Point>> = BTreeMap::new();
    for line in TABLES.lines().skip(1) {
        let fields = fields(line);
        let size: u64 = fields[7].parse().expect("published tables are good");
        let value: f64 = fields[8].parse().expect("published tables are good");
        let time = match fields[9].as_str() {
            "us" => value * 1e-6,
            "MB/s" => size as f64 / (value * 1e6),
            other => panic!("{other}"),
        };
        let name = format!("{} {}", fields[0], fields[1]);
        sets.entry(name)
            .or_default()
            .push(Point::of_table(size, time));
    }
    for points in sets.values_mut() {
        points.retain(|point| point.size > 0);
        points.sort_by_key(|point| point.size);
    }
    sets
}

/// Predictions of each model.
#[derive(Default)]
struct Predictions {
    line: Vec<Prediction>,
    piecewise: Vec<Prediction>,
    interpolated: Vec<Prediction>,
    refined: Vec<Prediction>,
    given: usize,
}

impl Predictions {
    fn add(&mut self, points: &[Point], half: usize) {
        let last = points.len() - 1;
        let (mut known, mut hidden): (Vec<Point>, Vec<Point>) = (Vec::new(), Vec::new());
        for (at, point) in points.iter().enumerate() {
            let kept = at == 0 || at == last || at % 2 == half;
            if kept { &mut known } else { &mut hidden }.push(*point);
        }
        let rules = FitOptions::for_tables();
        let predict = |hidden: &[Point], model: &dyn Fn(u64) -> f64| -> Vec<Prediction> {
            let prediction = |point: &Point| Prediction {
                size: point.size,
                predicted_s: model(point.size),
                measured_s: point.time_s,
            };
            hidden.iter().map(prediction).collect()
        };
        let line = fit_line(&known, &rules).expect("published tables are good");
        let mut piecewise = fit(&known, &rules).expect("published tables are good");
        let curve = Interpolation::new(&known).expect("published tables are good");
        self.line
            .extend(predict(&hidden, &|size| line.predict(size)));
        self.piecewise
            .extend(predict(&hidden, &|size| piecewise.predict(size)));
        self.interpolated
            .extend(predict(&hidden, &|size| curve.predict(size)));
        loop {
            let gaps: Vec<(u64, u64)> = piecewise.gaps(0.05).collect();
            let inside = |point: &Point| {
                gaps.iter()
                    .any(|gap| gap.0 < point.size && point.size < gap.1)
            };
            let (more, rest): (Vec<Point>, Vec<Point>) =
                hidden.iter().partition(|point| inside(point));
            hidden = rest;
            if more.is_empty() {
                break;
            }
            self.given += more.len();
            known.extend(more);
            piecewise = fit(&known, &rules).expect("published tables are good");
        }
        self.refined
            .extend(predict(&hidden, &|size| piecewise.predict(size)));
    }

    fn extend(&mut self, other: Self) {
        self.line.extend(other.line);
        self.piecewise.extend(other.piecewise);
        self.interpolated.extend(other.interpolated);
        self.refined.extend(other.refined);
        self.given += other.given;
    }

    fn row(&self, name: &str) -> String {
        let cell = |predictions: &[Prediction]| {
            let errors = ErrorSummary::new(predictions).expect("published tables are good");
            format!(
                "{:.1} / {:.1} / {:.1}",
                100.0 * errors.median,
                100.0 * errors.p90,
                100.0 * errors.worst
            )
        };
        format!(
            "| {name} | {} | {} | {} | {} |",
            cell(&self.line),
            cell(&self.piecewise),
            cell(&self.interpolated),
            cell(&self.refined)
        )
    }
}

/// Fits the set with this name prefix to all points.
fn whole(name: &str) -> validation::Fit {
    let sets = sets();
    let (_, points) = sets
        .iter()
        .find(|(set, _)| set.starts_with(name))
        .expect("published tables are good");
    fit(points, &FitOptions::for_tables()).expect("published tables are good")
}

#[test]
fn half_predicts_half() {
    let mut all = Predictions::default();
    println!("| set | line | piecewise | log-log | refined |");
    for (name, points) in sets() {
        let mut both = Predictions::default();
        both.add(&points, 0);
        both.add(&points, 1);
        println!("{}", both.row(&name));
        all.extend(both);
    }
    println!("{}", all.row("all"));
    assert_eq!((all.piecewise.len(), all.given), (206, 40));
    let piecewise = ErrorSummary::new(&all.piecewise).unwrap();
    assert!(piecewise.median <= 0.025, "{piecewise:?}");
    assert!(piecewise.p90 <= 0.15, "{piecewise:?}");
    let refined = ErrorSummary::new(&all.refined).unwrap();
    assert!(refined.median <= 0.02, "{refined:?}");
    assert!(refined.p90 <= 0.10, "{refined:?}");
    assert!(refined.worst <= 0.20, "{refined:?}");
    // The test tells good models from bad ones.
    let line = ErrorSummary::new(&all.line).unwrap();
    assert!(line.median >= 0.10 && line.worst >= 0.5, "{line:?}");
}

#[test]
fn breaks_are_where_the_libraries_switch() {
    let places = |name: &str| -> Vec<u64> {
        let fit = whole(name);
        fit.breaks().iter().map(|place| place.above).collect()
    };
    assert_eq!(places("azure-hb120v3-hdr"), [128, 2048, 22046, 131_072]);
    assert_eq!(places("nemo-hpcx-100g"), [64, 8660, 131_072]);
    assert_eq!(places("hdr-cx6-bibw"), [64, 256, 4096]);
    assert_eq!(places("roce-100g-lumi"), [7012]);
}

#[test]
fn the_time_falls_where_a_library_stops_copying() {
    let fit = whole("sjtu-edr osu_latency");
    let down = fit
        .breaks()
        .iter()
        .find(|place| place.above == 131_072)
        .unwrap();
    assert_eq!(down.kind, validation::BreakKind::Jump);
    assert!(down.jump < 0.7, "{down:?}");
    // 12.3 GB/s, of a link of 12.5.
    let last = fit.segments().last().unwrap();
    assert!((last.line.slope_s * 12.3e9 - 1.0).abs() < 0.01, "{last:?}");
}
