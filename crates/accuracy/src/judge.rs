//! Simulates the calls of rows, on all cores.
//!
//! *Decided here*: the simulated loop has 4 iterations. Rows with
//! more nodes than the platform has hosts, or more ranks than wanted, are counted with the reason.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use platform::{Override, Platform};
use run::{Mapping, Options};
use validation::TimedCall;

use crate::row::{MeasuredRow, ReadRows, RowError, divides_data};

/// Calls of a simulated loop; the time settles in the second.
const ITERATIONS: u32 = 4;

/// A row and the simulated time.
#[derive(Clone, PartialEq, Debug)]
pub struct JudgedRow {
    /// The row.
    pub row: MeasuredRow,
    /// Seconds.
    pub simulated_s: f64,
}

impl JudgedRow {
    /// Returns simulated / measured.
    pub fn time_ratio(&self) -> f64 {
        self.simulated_s / self.row.median_s
    }
}

/// Simulates each row with a known algorithm that has at most `ranks_max` ranks; the choices
/// of libraries are left in `rows`.
///
/// `progress` is called with the number of rows that are done and of all.
///
/// # Errors
/// [`RowError::Line`] for the first row that cannot be simulated.
pub fn judge_rows(
    platform: &Platform,
    rows: &mut ReadRows,
    ranks_max: u32,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Vec<JudgedRow>, RowError> {
    let hosts = platform.host_count();
    rows.keep_faultless(|row| {
        if row.nodes > hosts {
            Some(format!("more nodes than the {hosts} hosts of the platform"))
        } else if row.rank_count() > ranks_max {
            Some(format!("more than {} ranks", ranks_max))
        } else {
            None
        }
    });
    let all = std::mem::take(&mut rows.rows);
    let (wanted, choices) = all.into_iter().partition(|row| row.algorithm.is_some());
    rows.rows = choices;
    let wanted: Vec<MeasuredRow> = wanted;
    let platforms = forced_platforms(platform, &wanted)?;
    let times = simulate_rows(&platforms, &wanted, progress);
    let judged = wanted.into_iter().zip(times).map(|(row, time)| {
        let line = row.line;
        let simulated_s = time.map_err(|problem| RowError::Line { line, problem })?;
        Ok(JudgedRow { row, simulated_s })
    });
    judged.collect()
}

/// The changes of a platform that force the algorithms of a row.
type Forced = [String; 2];

fn forced_by(row: &MeasuredRow) -> Forced {
    [
        format!(
            "collectives.{}={}",
            row.operation,
            row.algorithm.unwrap_or_default()
        ),
        format!("collectives.barrier={}", row.barrier),
    ]
}

fn forced_platforms(
    platform: &Platform,
    rows: &[MeasuredRow],
) -> Result<BTreeMap<Forced, Arc<Platform>>, RowError> {
    let mut platforms = BTreeMap::new();
    for row in rows {
        let forced = forced_by(row);
        if platforms.contains_key(&forced) {
            continue;
        }
        let mistake = |problem: String| RowError::Line {
            line: row.line,
            problem,
        };
        let changes: Result<Vec<Override>, _> = forced.iter().map(|text| text.parse()).collect();
        let changes = changes.map_err(|error| mistake(error.to_string()))?;
        let changed = platform.clone().with("the platform", &changes);
        let changed = changed.map_err(|error| mistake(error.to_string()))?;
        platforms.insert(forced, Arc::new(changed));
    }
    Ok(platforms)
}

/// Returns the times in the order of the rows.
fn simulate_rows(
    platforms: &BTreeMap<Forced, Arc<Platform>>,
    rows: &[MeasuredRow],
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Vec<Result<f64, String>> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(row) = rows.get(next.fetch_add(1, Ordering::Relaxed)) {
            let time = simulate_row(&platforms[&forced_by(row)], row);
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            done.push((row.line, time));
            progress(done.len(), rows.len());
        }
    };
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(line, _)| *line);
    done.into_iter().map(|(_, time)| time).collect()
}

fn simulate_row(platform: &Arc<Platform>, row: &MeasuredRow) -> Result<f64, String> {
    let element = row.element.byte_count();
    let bytes = if divides_data(row.operation) {
        row.bytes / element / u64::from(row.rank_count()) * element
    } else {
        row.bytes
    };
    let call = TimedCall {
        operation: row.operation,
        bytes,
        element: row.element,
        iterations: ITERATIONS,
    };
    let options = Options {
        ranks: Some(row.rank_count()),
        mapping: Mapping::Blocks(row.ranks_per_node),
        ..Options::default()
    };
    call.simulate_loop(platform, options)
}
