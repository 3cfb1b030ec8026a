//! The same flows in the flow model: the end of each flow.
//!
//! Each flow is a transfer of its bytes on the wire, so that only the sharing of links differs.

use std::sync::Arc;

use models::FlowModel;
use platform::Platform;
use sim_core::{ActivityId, HostId, Resource, Time, Work};

use crate::run::{Flow, WIRE_BYTES};

/// Returns when each flow ends, in picoseconds.
pub(crate) fn flow_ends(platform: &Arc<Platform>, flows: &[Flow]) -> Result<Vec<f64>, String> {
    let mut model = FlowModel::new(Arc::clone(platform));
    let mut now = Time::ZERO;
    for (slot, flow) in (0..).zip(flows) {
        let work = Work::Transfer {
            from: HostId(flow.from),
            to: HostId(flow.to),
            bytes: f64::from(flow.packets) * f64::from(WIRE_BYTES),
            rate: f64::INFINITY,
        };
        let id = ActivityId {
            number: u64::from(slot),
            slot,
        };
        let started = model.start(id, &work, now);
        started.map_err(|error| error.to_string())?;
    }
    let (mut ends, mut ended) = (vec![0.0; flows.len()], Vec::new());
    while let Some(date) = model.next_event(now, now) {
        now = date;
        model.advance(now, &mut ended);
        for (id, _) in ended.drain(..) {
            ends[id.slot as usize] = now.as_secs() * 1e12;
        }
    }
    Ok(ends)
}
