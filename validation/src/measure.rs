//! Measures a network with the kernels of the calibration: the same rank programs on a simulated
//! platform and in a real run.
//!
//! * [`Plan`]: the measurements and their order, a function of a seed and options alone.
//! * [`measure`]: the rank program. Rank 0 leads, the other ranks follow its commands; the program
//!   ends by itself.
//! * [`Session`]: the results of rank 0: samples in blocks, and facts of the machine and the run.
//! * [`samples_as_csv`]: the file that [`read`](crate::read()) reads again.
//!
//! Every sample is taken with one clock, the clock of rank 0. *Not measured*: one-way times between
//! clocks, the cost of tests and probes, collectives.

mod command;
mod conductor;
mod copy;
mod kernels;
mod machine;
mod plan;
mod reduction;
mod session;
mod simulated;
mod stop;
mod timed_call;

pub use conductor::{ReportProgress, measure};
pub use machine::MachineInfo;
pub use plan::{Effort, IdleMode, KernelSelection, MeasureOptions, Plan, Task};
pub use session::{Session, samples_as_csv};
pub use simulated::{measure_simulated, simulated_times};
pub use timed_call::{ElementType, LoopTiming, TimedCall};
