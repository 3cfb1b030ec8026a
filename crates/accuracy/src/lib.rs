//! Published measurements of collective operations, the simulated times of the same calls on a
//! platform, and the errors: `simrun validate`.
//!
//! * [`read_rows`]: a table of measurements → [`MeasuredRow`]s, and the rows that cannot be judged.
//! * [`judge_rows`]: rows → [`JudgedRow`]s: the loop of the benchmark is simulated, on all cores.
//! * [`FitSample`], [`PlatformFit`]: keys of the platform are fitted to a part of the rows.
//! * [`group_errors`], [`find_regrets`], [`NoiseFloor`]: judged rows → tables; [`AccuracyReport`].
//!
//! [`FastestAlgorithms`]: files that make a library choose the algorithms that are the fastest in
//! the simulation.
//!
//! An error is max(simulated / measured, measured / simulated) − 1: twice as fast and twice as slow
//! are both 100 %.
//!
//! *Not modelled*: other jobs on the machine.

mod algorithm_times;
mod doubts;
mod errors;
mod fit;
mod job_hosts;
mod judge;
mod pico;
mod pictures;
mod regret;
mod report;
mod row;
mod torus;

pub use algorithm_times::{AlgorithmTimes, FastestAlgorithms, estimate_messages};
pub use doubts::find_doubts;
pub use errors::{Grouping, NoiseFloor, group_errors, summarise_errors};
pub use fit::{FitSample, PlatformFit};
pub use job_hosts::JobHosts;
pub use judge::{JudgedRow, judge_rows, leave_out_large};
pub use regret::{Regret, RegretSummary, find_regrets};
pub use report::{AccuracyReport, write_json, write_text};
pub use row::{MeasuredRow, ReadRows, RowAlgorithm, RowError, read_rows};
