//! The list of workloads. A new one is a file here, its twin in `cpp/`, and an entry in this list.

mod mutex;
mod pingpong;
mod sleep;
mod yielding;

use crate::workload::Workload;

/// All workloads, in the order of the table.
pub(crate) const ALL: &[Workload] = &[
    yielding::WORKLOAD,
    sleep::SMALL,
    sleep::LARGE,
    sleep::HUGE,
    mutex::WORKLOAD,
    pingpong::WORKLOAD,
];
