//! An observer that keeps the classes of the runs.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use explore::{Observer, Run, TraceId};

/// The classes of the runs that were seen.
#[derive(Default)]
pub(crate) struct Observation(pub(crate) BTreeSet<TraceId>);

impl Observer for Observation {
    fn examine_run(&mut self, run: &Run<'_>) -> ControlFlow<()> {
        self.0.insert(run.path.trace_id());
        ControlFlow::Continue(())
    }

    fn forget(&mut self) {
        self.0.clear();
    }
}
