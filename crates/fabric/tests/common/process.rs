//! The process of a rank over a simulated device.

use std::rc::Rc;

use fabric::Fabric;
use mpi::{CallComparison, CallLog, Process};

/// Returns the processes of the ranks from 0 below `size`.
pub(crate) fn processes(device: &Rc<dyn Fabric>, size: u32) -> Vec<Rc<Process>> {
    let calls = Rc::new(CallLog::default());
    let process = |rank| {
        let channel = Rc::clone(device).channel(rank);
        let process = Process::with_calls(channel, CallComparison::Here(Rc::clone(&calls)));
        let protocols = Rc::downgrade(&process);
        device.set_protocols(rank, protocols);
        process
    };
    (0..size).map(process).collect()
}
