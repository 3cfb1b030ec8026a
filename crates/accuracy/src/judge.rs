//! Simulates the calls of rows, on all cores.
//!
//! *Decided here*: the simulated loop has 4 iterations. Rows with more nodes than the platform has
//! hosts are left out and counted.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use platform::{Override, Platform};
use run::{Mapping, Options, RankMap};
use validation::TimedCall;

use crate::job_hosts::JobHosts;
use crate::row::{MeasuredRow, ReadRows, RowAlgorithm, RowError, divides_data};
use crate::torus;

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

/// Simulates each row but the choices of libraries, which are left in `rows`.
///
/// Ranks of a job without hosts in `hosts` take a box of a torus, or else the first hosts.
/// `progress` is called with the number of rows that are done and of all.
///
/// # Errors
/// [`RowError::Line`] for the first row that cannot be simulated.
pub fn judge_rows(
    platform: &Platform,
    rows: &mut ReadRows,
    hosts: &JobHosts,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Vec<JudgedRow>, RowError> {
    leave_out_large(platform, rows);
    let all = std::mem::take(&mut rows.rows);
    let (wanted, choices) = all
        .into_iter()
        .partition(|row| row.algorithm != RowAlgorithm::Chosen);
    rows.rows = choices;
    let wanted: Vec<MeasuredRow> = wanted;
    let platforms = forced_platforms(platform, &wanted)?;
    let times = simulate_rows(&platforms, (&wanted, hosts), progress);
    let judged = wanted.into_iter().zip(times).map(|(row, time)| {
        let line = row.line;
        let simulated_s = time.map_err(|problem| RowError::Line { line, problem })?;
        Ok(JudgedRow { row, simulated_s })
    });
    judged.collect()
}

/// Leaves out rows with more nodes than the platform has hosts.
pub fn leave_out_large(platform: &Platform, rows: &mut ReadRows) {
    let count = platform.host_count();
    rows.keep_faultless(|row| {
        let fault = || format!("more nodes than the {count} hosts of the platform");
        (row.nodes > count).then(fault)
    });
}

/// The changes of a platform that force the algorithms of a row.
type Forced = Vec<String>;

fn forced_by(row: &MeasuredRow) -> Forced {
    match row.algorithm {
        RowAlgorithm::Forced { name, barrier } => vec![
            format!("collectives.{}={name}", row.operation),
            format!("collectives.barrier={barrier}"),
        ],
        RowAlgorithm::Chosen | RowAlgorithm::Selected => Vec::new(),
    }
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
        let changed = platform.clone().with_overrides("the platform", &changes);
        let changed = changed.map_err(|error| mistake(error.to_string()))?;
        platforms.insert(forced, Arc::new(changed));
    }
    Ok(platforms)
}

/// Returns the times in the order of the rows.
fn simulate_rows(
    platforms: &BTreeMap<Forced, Arc<Platform>>,
    (rows, hosts): (&[MeasuredRow], &JobHosts),
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Vec<Result<f64, String>> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(row) = rows.get(next.fetch_add(1, Ordering::Relaxed)) {
            let list = hosts.find_job(&row.job, row.rank_count());
            let time = simulate_row(&platforms[&forced_by(row)], row, list);
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

fn simulate_row(
    platform: &Arc<Platform>,
    row: &MeasuredRow,
    hosts: Option<&str>,
) -> Result<f64, String> {
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
        timing: row.timing,
    };
    let hosts = hosts.map(str::to_owned);
    let hosts = hosts.or_else(|| torus::name_hosts(platform, row));
    let mapping = match hosts.map(|list| RankMap::parse(Path::new("the hosts of the job"), &list)) {
        Some(map) => Mapping::File(map.map_err(|error| error.to_string())?),
        None => Mapping::Blocks(row.ranks_per_node),
    };
    let options = Options {
        ranks: Some(row.rank_count()),
        mapping,
        ..Options::default()
    };
    call.simulate_loop(platform, options)
}
