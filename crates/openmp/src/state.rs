//! State of OpenMP at a rank, for teams of one thread: the regions, loops, sections and task groups
//! around the code that the rank executes.

use std::ffi::c_int;

/// Kind and chunk size of loops with `schedule(runtime)`: dynamic, 1, as in libgomp.
const SCHEDULE: (c_int, c_int) = (2, 1);

/// A loop, or sections, which the threads of a team share.
#[derive(Default, Debug)]
pub(crate) struct Construct {
    /// First iteration, end and step of a loop, until the thread has taken the iterations.
    pub(crate) iterations: Option<[i128; 3]>,
    /// Number of sections that have begun, and of all sections.
    pub(crate) sections: (u32, u32),
    /// Address of the memory that the threads of the construct share, or 0.
    pub(crate) memory: usize,
}

/// The regions, constructs and task groups of a rank; the innermost is last.
#[derive(Debug)]
pub struct RankState {
    /// Number of constructs at the begin of each parallel region.
    pub(crate) regions: Vec<usize>,
    pub(crate) constructs: Vec<Construct>,
    /// Address of the reductions of each task group, or 0.
    pub(crate) groups: Vec<usize>,
    /// Detached tasks without their event.
    pub(crate) detached: usize,
    /// True in a final task.
    pub(crate) is_final: bool,
    pub(crate) schedule: (c_int, c_int),
}

impl Default for RankState {
    fn default() -> Self {
        Self {
            regions: Vec::new(),
            constructs: Vec::new(),
            groups: Vec::new(),
            detached: 0,
            is_final: false,
            schedule: SCHEDULE,
        }
    }
}
