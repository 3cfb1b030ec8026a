//! Changes of hosts and links by actors while they run: links on and off, bandwidths, latencies,
//! power states.
//!
//! An invalid change, such as a power state that a host does not have, is refused with the reason.
//!
//! *Not modelled*: the time that a host needs to change its power state, and the energy that this
//! change takes.

use sim_core::{Control, HostId, LinkState, PowerStates, StartError, Time};

use super::FlowModel;
use platform::LinkId;
use platform::profile::Change;

/// Makes a change at the date `now`.
pub(super) fn apply_control(
    model: &mut FlowModel,
    control: Control,
    now: Time,
) -> Result<(), StartError> {
    let change = match control {
        Control::PowerState { host, state } => {
            let states = model.platform.pstate_count(host);
            if state >= states {
                let name = model.platform.host_name(host);
                let last = states - 1;
                return Err(StartError(format!(
                    "host {name:?} has no power state {state}: its power states are 0 to {last}"
                )));
            }
            Change::PowerState(host, state)
        }
        Control::Link { link, on } => Change::Link(known(model, link)?, on),
        Control::Bandwidth { link, bytes_per_s } => {
            let link = known(model, link)?;
            if !(bytes_per_s >= 0.0 && bytes_per_s.is_finite()) {
                return Err(StartError(format!(
                    "a bandwidth must be finite and at least 0, not {bytes_per_s}"
                )));
            }
            if model.is_air(link) {
                let name = model.platform.link(link).name;
                return Err(StartError(format!(
                    "{name:?} is the air of a Wi-Fi zone, whose bandwidths are those of its stations"
                )));
            }
            Change::Bandwidth(link, bytes_per_s)
        }
        Control::Latency { link, latency } => {
            let link = known(model, link)?;
            let seconds = latency.as_secs();
            if !(seconds >= 0.0 && seconds.is_finite()) {
                return Err(StartError(format!(
                    "a latency must be finite and at least 0, not {seconds}"
                )));
            }
            Change::Latency(link, latency)
        }
    };
    // What happens by itself at this date, such as a profile, has happened already.
    model.play(now);
    model.apply_change(change, now);
    Ok(())
}

/// A link by the number that `link_by_name` gave.
fn known(model: &FlowModel, link: u32) -> Result<LinkId, StartError> {
    if link < model.platform.link_id_end() {
        Ok(LinkId(link))
    } else {
        Err(StartError(format!("there is no link number {link}")))
    }
}

pub(super) fn link_by_name(model: &FlowModel, name: &str) -> Option<u32> {
    model.platform.link_by_name(name).map(|link| link.0)
}

pub(super) fn link_state(model: &FlowModel, link: u32) -> Option<LinkState> {
    let link = known(model, link).ok()?;
    let info = model.platform.link(link);
    let base = (info.bandwidth, info.latency.as_secs());
    Some(model.dynamics.link_now(link, base))
}

pub(super) fn power_states(model: &FlowModel, host: HostId) -> PowerStates {
    let platform = &model.platform;
    let count = platform.pstate_count(host);
    let speed = |state| platform.pstate_speed(host, state);
    PowerStates {
        speeds: (0..count).filter_map(speed).collect(),
        state: model
            .dynamics
            .pstate(host)
            .unwrap_or_else(|| platform.pstate(host)),
        speed: model.dynamics.exact_speed(platform, host),
    }
}
