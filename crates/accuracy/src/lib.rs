//! Published measurements of collective operations, the simulated times of the same calls on a
//! platform, and the errors: `simrun validate`.
//!
//! * [`read_rows`]: a table of measurements → [`MeasuredRow`]s, and the rows that cannot be judged.
//! * [`judge_rows`]: rows → [`JudgedRow`]s: the loop of the benchmark is simulated, on all cores.
//! * [`group_errors`], [`find_regrets`], [`NoiseFloor`]: judged rows → tables.
//!
//! An error is max(simulated / measured, measured / simulated) − 1: twice as fast and twice as slow
//! are both 100 %.
//!
//! *Not modelled*: other jobs on the machine.

mod errors;
mod job_hosts;
mod judge;
mod pico;
mod regret;
mod row;

pub use errors::{Grouping, NoiseFloor, group_errors, summarise_errors};
pub use job_hosts::JobHosts;
pub use judge::{JudgedRow, judge_rows};
pub use regret::{Regret, RegretSummary, find_regrets};
pub use row::{MeasuredRow, ReadRows, RowError, read_rows};
