//! Studies: many runs of one program, at all points of a parameter space.
//!
//! ```
//! use study::{StoppingDecision, Study};
//!
//! let study = Study::parse(
//!     "STUDY.toml",
//!     r#"
//!         program = "apps/pingpong"
//!         platform = "platforms/cluster.toml"
//!         arguments = ["--sizes", "{size}"]
//!
//!         [grid]
//!         size = "1KiB..4KiB *2"
//!
//!         [replicate]
//!         seeds = 10
//!     "#,
//! )?;
//! assert_eq!(study.points.len(), 3);
//! assert_eq!(study.points[2].arguments, ["--sizes", "4KiB"]);
//! // The first replication tells if a point is random at all.
//! assert_eq!(study.replication.decide_progress(0, None, &[]), StoppingDecision::Continue(1));
//! # Ok::<(), platform::LoadError>(())
//! ```
//!
//! A study has these steps. Only [`campaign`] starts programs: the commands of studies.
//!
//! 1. [`Study::parse`] reads and checks the study file and expands it into [`Point`]s.
//! 2. [`StudyFolder`] keeps the file and refuses the folder of another study.
//! 3. Each run has a [`Key`], a hash of all inputs that decide the result ([`KeyContent`]).
//! 4. [`PointResults::pending`] returns the seeds of a point that are still to be run, by the rule
//!    of [`Replication`].
//! 5. [`Measure::extract_value`] takes numbers from a run, [`ResultWriter`] appends them to a file,
//!    [`ResultSet`] reads the files of all workers.
//! 6. [`statistics`] computes intervals, [`write_table`] and [`write_summary`] write tables.
//!
//! *Not decided here*: how a program is simulated, and how a report is drawn.

pub mod campaign;
mod expression;
mod file;
mod folder;
mod init;
mod key;
mod measure;
mod optimisation;
mod point;
mod point_results;
mod range;
mod replication;
mod results;
pub mod statistics;
mod status;
mod table;
mod template;
#[cfg(test)]
mod testing;
mod value;

pub use expression::Expression;
pub use file::{RunLimits, Study};
pub use folder::{PlannedPoint, StudyFolder};
pub use init::{ProgramArgument, initial_file};
pub use key::{Key, KeyContent, sha256};
pub use measure::{Measure, MeasureError, MeasureSource, MeasuredValue, RunOutput};
pub use optimisation::{ConditionError, Optimisation, Variable, VariableRange};
pub use point::{Assignment, Point};
pub use point_results::{PendingRuns, PointResults, missing_measures};
pub use range::ContinuousRange;
pub use replication::Replication;
pub use results::{
    Conflict, FINISHED, RESULTS_FOLDER, ResultError, ResultLine, ResultSet, ResultWriter,
};
pub use statistics::StoppingDecision;
pub use status::StudyStatus;
pub use table::{write_summary, write_table};
pub use template::Template;
pub use value::Value;
