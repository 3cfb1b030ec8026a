//! Changes of hosts and links by actors while they run: links on and off, bandwidths, latencies,
//! power states.
//!
//! An invalid change, such as a power state that a host does not have, is refused with the reason.
//!
//! *Not modelled*: the time that a host needs to change its power state, and the energy that this
//! change takes.

use sim_core::{Control, Controllable, HostId, LinkState, PowerStates, StartError, Time};

use super::FlowModel;
use platform::LinkId;
use platform::profile::Change;

impl Controllable for FlowModel {
    fn control(&mut self, control: Control, now: Time) -> Result<(), StartError> {
        let change = match control {
            Control::Host { host, on } => Change::Host(host, on),
            Control::PowerState { host, state } => {
                let states = self.platform.pstate_count(host);
                if state >= states {
                    let name = self.platform.host_name(host);
                    let last = states - 1;
                    return Err(StartError(format!(
                        "host {name:?} has no power state {state}: its power states are 0 to {last}"
                    )));
                }
                Change::PowerState(host, state)
            }
            Control::Link { link, on } => Change::Link(known(self, link)?, on),
            Control::Bandwidth { link, bytes_per_s } => {
                let link = known(self, link)?;
                if !(bytes_per_s >= 0.0 && bytes_per_s.is_finite()) {
                    return Err(StartError(format!(
                        "a bandwidth must be finite and at least 0, not {bytes_per_s}"
                    )));
                }
                if self.is_air(link) {
                    let name = self.platform.link(link).name;
                    return Err(StartError(format!(
                        "{name:?} is the air of a Wi-Fi zone, whose bandwidths are those of its stations"
                    )));
                }
                Change::Bandwidth(link, bytes_per_s)
            }
            Control::Latency { link, latency } => {
                let link = known(self, link)?;
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
        self.play(now);
        self.apply_change(change, now);
        Ok(())
    }

    fn take_switched(&mut self, switched: &mut Vec<(HostId, bool)>) {
        switched.append(&mut self.dynamics.switched);
    }

    fn restarts_ended_actors(&self) -> bool {
        self.model_kind.is_compat()
    }

    fn link_by_name(&self, name: &str) -> Option<u32> {
        self.platform.link_by_name(name).map(|link| link.0)
    }

    fn link_state(&self, link: u32) -> Option<LinkState> {
        let link = known(self, link).ok()?;
        let info = self.platform.link(link);
        let base = (info.bandwidth, info.latency.as_secs());
        Some(self.dynamics.link_now(link, base))
    }

    fn power_states(&self, host: HostId) -> Option<PowerStates> {
        let (platform, dynamics) = (&self.platform, &self.dynamics);
        let count = platform.pstate_count(host);
        let speed = |state| platform.pstate_speed(host, state);
        let state = dynamics.pstate(host);
        Some(PowerStates {
            speeds: (0..count).filter_map(speed).collect(),
            state: state.unwrap_or_else(|| platform.pstate(host)),
            speed: dynamics.exact_speed(platform, host),
        })
    }
}

/// A link by the number that `link_by_name` gave.
fn known(model: &FlowModel, link: u32) -> Result<LinkId, StartError> {
    if link < model.platform.link_id_end() {
        Ok(LinkId(link))
    } else {
        Err(StartError(format!("there is no link number {link}")))
    }
}
