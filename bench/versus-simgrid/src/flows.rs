//! Random flows between the hosts of large platforms, in simrun and in SimGrid: the cost of a
//! completion, and whether the dates agree.
//!
//! Both sides read the same platform file and draw the same flows. SimGrid runs twice: with its
//! defaults, which give the cost for a user, and with `network/optim:Full`, which solves the whole
//! system at each event. The dates are compared with the second run, because the default of SimGrid
//! 3.32 misses some changes of rates.
//!
//! *Not measured*: the fill of a churn. The cost is measured from the first completion on.

mod cases;
pub(crate) mod child;
mod dates;
mod networks;
mod page;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::child::run_child;
use crate::simgrid::SimGrid;
use crate::workload::Sample;
use cases::Case;
use child::{Mode, Task};
use dates::Dates;

/// The largest relative difference of the end of a flow, where the schedule is fixed.
const DATES_LIMIT: f64 = 1e-6;
/// Limit of the relative difference of the ends per simulated second, where ends cause starts.
const PACE_LIMIT: f64 = 1e-3;
/// User seconds after which a churn of ours ends.
const OUR_SECONDS: f64 = 2.0;
/// The same where flows are many: going over from the fill to single events takes half a second
/// there, which a simulation of some length pays once.
const OUR_SECONDS_MANY: f64 = 8.0;
/// Number of flows from which on a platform counts as large.
const MANY: u32 = 30_000;
/// User seconds after which a churn of SimGrid's ends, after the fill.
const THEIR_SECONDS: f64 = 4.0;

/// Measurements and comparisons of one part.
pub(crate) struct Measured {
    case: Case,
    ours: Sample,
    /// SimGrid with its defaults, or the reason why there is no sample.
    theirs: Result<Sample, String>,
    /// SimGrid with `network/optim:Full`.
    full: Option<Sample>,
    dates: Option<Comparison>,
}

/// Differences between our dates and SimGrid's.
struct Comparison {
    /// Number of flows were compared.
    count: usize,
    difference: f64,
    limit: f64,
    /// Difference between SimGrid's default and full solution.
    default: f64,
}

impl Comparison {
    fn holds(&self) -> bool {
        self.difference <= self.limit
    }
}

/// Returns the names of the workloads.
pub(crate) fn workload_names() -> impl Iterator<Item = &'static str> {
    cases::ALL.iter().map(|case| case.name)
}

/// Runs the workloads with `only` in their name. Writes the page and the picture into `out`, or
/// prints the page.
pub(crate) fn compare_flows(
    simgrid: Option<&SimGrid>,
    only: &str,
    runs: u32,
    quick: bool,
    out: Option<&Path>,
) -> Result<(), String> {
    let place = TemporaryFolder::new()?;
    let mut results = Vec::new();
    for case in cases::ALL.iter().filter(|case| case.name.contains(only)) {
        let case = if quick { case.quick() } else { *case };
        results.push(place.measure_case(case, simgrid, runs, quick)?);
    }
    if results.is_empty() {
        return Ok(());
    }
    match out {
        Some(folder) => page::write_page(&results, simgrid, runs, quick, folder)?,
        None => crate::print_result(&page::markdown(&results, simgrid, runs, quick)),
    }
    let apart = |measured: &&Measured| measured.dates.as_ref().is_some_and(|dates| !dates.holds());
    match results.iter().find(apart) {
        Some(measured) => Err(format!("the dates of {} differ", measured.case.name)),
        None => Ok(()),
    }
}

/// A temporary folder for platforms and dates.
struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    fn new() -> Result<Self, String> {
        let folder = std::env::temp_dir().join(format!("versus-flows-{}", std::process::id()));
        std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        Ok(Self(folder))
    }

    fn task(&self, case: &Case, seconds: f64, count: u64, dates: &str) -> Result<Task, String> {
        let name = case.network.name(case.small).replace(' ', "-");
        let platform = self.0.join(name).with_extension("xml");
        std::fs::write(&platform, case.network.xml(case.small))
            .map_err(|error| error.to_string())?;
        Ok(Task {
            platform,
            mode: case.mode,
            flows: case.flows,
            count,
            seconds,
            dates: self.0.join(dates),
        })
    }

    fn measure_case(
        &self,
        case: Case,
        simgrid: Option<&SimGrid>,
        runs: u32,
        quick: bool,
    ) -> Result<Measured, String> {
        // Completions, or repetitions.
        let count = match (case.mode, quick) {
            (Mode::Churn, false) => 100_000,
            (Mode::Churn, true) => 200,
            (Mode::Drain | Mode::Arrivals, false) => 20,
            (Mode::Drain | Mode::Arrivals, true) => 1,
        };
        let our_seconds = if case.flows < MANY {
            OUR_SECONDS
        } else {
            OUR_SECONDS_MANY
        };
        let ours = self.task(&case, our_seconds, count, "ours")?;
        let default = self.task(&case, THEIR_SECONDS, count, "default")?;
        let full = self.task(&case, THEIR_SECONDS, count, "full")?;
        // One run of SimGrid takes seconds where flows are many, and then differs little from the
        // next.
        let their_runs = if case.flows <= 2000 { runs } else { 1 };
        let (mut our_samples, mut samples) = (Vec::new(), Vec::new());
        let mut missing = simgrid.is_none().then(|| "not installed".to_owned());
        for number in 1..=runs {
            crate::say(&format!("{}: run {number} of {runs}", case.name));
            our_samples.push(run_ours(&ours)?);
            if let (Some(simgrid), None, true) = (simgrid, &missing, number <= their_runs) {
                match simgrid.run_flows(&default, "Lazy") {
                    Ok(sample) => samples.push(sample),
                    Err(reason) => missing = Some(reason),
                }
            }
        }
        let mut measured = Measured {
            case,
            ours: Sample::median(&our_samples),
            theirs: missing.map_or_else(|| Ok(Sample::median(&samples)), Err),
            full: None,
            dates: None,
        };
        if let (Some(simgrid), Ok(_)) = (simgrid, &measured.theirs) {
            measured.full = Some(simgrid.run_flows(&full, "Full")?);
            measured.dates = Some(comparison(case.mode, &ours, &default, &full)?);
        }
        Ok(measured)
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // A folder that is left among the temporary ones does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn run_ours(task: &Task) -> Result<Sample, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    run_child(command.arg("--flows-child").args(task.to_arguments()))
}

fn comparison(mode: Mode, ours: &Task, default: &Task, full: &Task) -> Result<Comparison, String> {
    let [ours, default, full] = [ours, default, full].map(|task| Dates::read_file(&task.dates));
    let (ours, default, full) = (ours?, default?, full?);
    if !ours.same_routes(&full) {
        return Err("the routes differ".to_owned());
    }
    let apart = if mode == Mode::Churn {
        Dates::pace
    } else {
        Dates::largest
    };
    let (count, difference) = apart(&ours, &full);
    Ok(Comparison {
        count,
        difference,
        limit: if mode == Mode::Churn {
            PACE_LIMIT
        } else {
            DATES_LIMIT
        },
        default: apart(&default, &full).1,
    })
}
