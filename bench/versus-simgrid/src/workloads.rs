//! The list of workloads. A new workload needs a file here, a twin in `cpp/`, and an entry below.

mod crossbar;
mod master_worker;
mod mutex;
mod pingpong;
mod ranks;
mod ring;
mod sleep;
mod yielding;

pub(crate) use crossbar::simulation_on as simulation;

pub(crate) use ranks::ALL as RANKS;

use crate::workload::Workload;

/// All workloads of the kernel, in the order of the table.
pub(crate) const ALL: &[Workload] = &[
    yielding::WORKLOAD,
    sleep::SMALL,
    sleep::LARGE,
    sleep::HUGE,
    mutex::WORKLOAD,
    pingpong::WORKLOAD,
    pingpong::LV08,
    ring::THOUSAND,
    ring::TEN_THOUSAND,
    ring::HUNDRED_THOUSAND,
    ring::MILLION,
    master_worker::WORKLOAD,
];
