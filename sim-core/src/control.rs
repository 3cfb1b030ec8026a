//! Changes of a resource by actors during the run: links by name, and the power states of hosts.
//!
//! The kernel knows no network: the resource gives a number to the name of a link, and the kernel
//! passes changes of the link on. A change is a transition, because other actors can observe it.
//! Activities that fail by a change end at this instant, before the actor continues.
//!
//! *Not modelled*: notifications of changes. An actor sees that a link is off by a failed transfer
//! or by a query.

use std::fmt;
use std::rc::Rc;

use crate::actor::nothing;
use crate::kernel::Shared;
use crate::operation::Operation;
use crate::{Actor, HostId, Span, StartError, Transition};

/// A change of a resource, asked for by an actor.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Control {
    /// A host is turned on or off.
    Host {
        /// The host.
        host: HostId,
        /// True if the host is on afterwards.
        on: bool,
    },
    /// A host changes to another power state.
    PowerState {
        /// The host.
        host: HostId,
        /// The number of the power state, from 0.
        state: u32,
    },
    /// A link is turned on or off.
    Link {
        /// The link, by the number that the resource gave.
        link: u32,
        /// True if the link is on afterwards.
        on: bool,
    },
    /// A link gets another bandwidth.
    Bandwidth {
        /// The link, by the number that the resource gave.
        link: u32,
        /// In bytes/s.
        bytes_per_s: f64,
    },
    /// A link gets another latency.
    Latency {
        /// The link, by the number that the resource gave.
        link: u32,
        /// For transfers that start from now on.
        latency: Span,
    },
}

/// The parameter that a [`Transition::Control`] changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ControlParameter {
    /// The power state of a host; the value is the number of the power state.
    PowerState,
    /// The state of a link; the value is 1 if the link is on, otherwise 0.
    Link,
    /// The bandwidth of a link; the value has the bits of a number of bytes/s.
    Bandwidth,
    /// The latency of a link; the value has the bits of a number of seconds.
    Latency,
}

impl ControlParameter {
    pub(crate) const fn from_code(code: u64) -> Self {
        match code {
            0 => Self::PowerState,
            1 => Self::Link,
            2 => Self::Bandwidth,
            _ => Self::Latency,
        }
    }
}

impl Control {
    /// The transition that makes the change.
    fn transition(self) -> Transition {
        let (parameter, object, value) = match self {
            Self::Host { host, on } => return Transition::SwitchHost { host: host.0, on },
            Self::PowerState { host, state } => {
                (ControlParameter::PowerState, host.0, u64::from(state))
            }
            Self::Link { link, on } => (ControlParameter::Link, link, u64::from(on)),
            Self::Bandwidth { link, bytes_per_s } => {
                (ControlParameter::Bandwidth, link, bytes_per_s.to_bits())
            }
            Self::Latency { link, latency } => {
                (ControlParameter::Latency, link, latency.as_secs().to_bits())
            }
        };
        Transition::Control {
            parameter,
            object,
            value,
        }
    }

    /// Returns the error of a resource that does not make such changes.
    #[must_use]
    pub fn refusal_error(self) -> StartError {
        let object = match self {
            Self::Host { host, .. } => {
                return StartError(format!(
                    "host {} cannot be switched: hosts of this model are always on",
                    host.0
                ));
            }
            Self::PowerState { host, .. } => format!("the power state of host {}", host.0),
            Self::Link { link, .. } | Self::Bandwidth { link, .. } | Self::Latency { link, .. } => {
                format!("link {link}")
            }
        };
        StartError(format!("{object} cannot be changed in this model"))
    }

    /// The change that a transition makes.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "power states are counted in 32 bits"
    )]
    pub(crate) fn new(parameter: ControlParameter, object: u32, value: u64) -> Self {
        match parameter {
            ControlParameter::PowerState => Self::PowerState {
                host: HostId(object),
                state: value as u32,
            },
            ControlParameter::Link => Self::Link {
                link: object,
                on: value != 0,
            },
            ControlParameter::Bandwidth => Self::Bandwidth {
                link: object,
                bytes_per_s: f64::from_bits(value),
            },
            ControlParameter::Latency => Self::Latency {
                link: object,
                latency: Span::from_secs(f64::from_bits(value)),
            },
        }
    }
}

/// The present state of a link.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LinkState {
    /// True if the link is on.
    pub on: bool,
    /// In bytes/s.
    pub bandwidth: f64,
    /// Latency of the link for a transfer that starts now.
    pub latency: Span,
}

/// The power states of a host.
#[derive(Clone, PartialEq, Debug)]
pub struct PowerStates {
    /// The speed of one core in each of them, in flop/s.
    pub speeds: Vec<f64>,
    /// The number of the present one, from 0.
    pub state: u32,
    /// The present speed of one core in flop/s: the speed of the power state minus the lost speed.
    pub speed: f64,
}

/// A link of the resource, as actors name the link. A change applies to both directions.
#[derive(Clone)]
pub struct Link {
    kernel: Shared,
    link: u32,
    name: Rc<str>,
}

impl Actor {
    /// The link of that name, if the resource has one.
    #[must_use]
    pub fn link_by_name(&self, name: &str) -> Option<Link> {
        let resource = &mut self.kernel.borrow_mut().calendar.resource;
        let link = resource.as_controllable()?.link_by_name(name)?;
        Some(Link {
            kernel: Rc::clone(&self.kernel),
            link,
            name: name.into(),
        })
    }

    /// Changes the power state of a host to number `state`: activities on the host continue with
    /// the speed of this state. An unknown state ends the run.
    #[track_caller]
    pub fn set_pstate(&self, host: HostId, state: u32) -> Operation<'_, ()> {
        control_operation(&self.kernel, Control::PowerState { host, state })
    }

    /// The number of the power state of a host; 0 in a model without power states.
    ///
    /// # Panics
    /// If there is no such host.
    #[must_use]
    pub fn pstate(&self, host: HostId) -> u32 {
        self.power_states(host).map_or(0, |states| states.state)
    }

    /// Returns the number of power states of a host; 1 in a model without power states.
    ///
    /// # Panics
    /// If there is no such host.
    #[must_use]
    pub fn pstate_count(&self, host: HostId) -> u32 {
        let count = self.power_states(host).map_or(1, |all| all.speeds.len());
        u32::try_from(count).expect("power states are counted in 32 bits")
    }

    /// Returns the speed of one core of a host in the given power state, in flop/s.
    ///
    /// # Panics
    /// If there is no such host.
    #[must_use]
    pub fn pstate_speed(&self, host: HostId, state: u32) -> Option<f64> {
        let states = self.power_states(host)?;
        states.speeds.get(state as usize).copied()
    }

    /// The present speed of one core of a host, in flop/s; `None` in a model without speeds.
    ///
    /// # Panics
    /// If there is no such host.
    #[must_use]
    pub fn available_speed(&self, host: HostId) -> Option<f64> {
        Some(self.power_states(host)?.speed)
    }

    /// Switches the link with the given number on or off.
    #[track_caller]
    pub(crate) fn switch_link(&self, link: u32, on: bool) -> Operation<'_, ()> {
        control_operation(&self.kernel, Control::Link { link, on })
    }

    fn power_states(&self, host: HostId) -> Option<PowerStates> {
        let resource = &mut self.kernel.borrow_mut().calendar.resource;
        resource.as_controllable()?.power_states(host)
    }
}

impl Link {
    /// Returns the name with which the actor asked for the link.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the present state of the link.
    ///
    /// # Panics
    /// If the resource no longer knows the link.
    #[must_use]
    pub fn state(&self) -> LinkState {
        let resource = &mut self.kernel.borrow_mut().calendar.resource;
        let state = (resource.as_controllable()).and_then(|links| links.link_state(self.link));
        state.expect("the resource knows a link that it has named")
    }

    /// Returns true if the link is on.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.state().on
    }

    /// Switches the link on.
    #[track_caller]
    pub fn turn_on(&self) -> Operation<'_, ()> {
        self.switch(true)
    }

    /// Switches the link off: transfers over the link fail at this instant. Transfers that start
    /// while the link is off fail too.
    #[track_caller]
    pub fn turn_off(&self) -> Operation<'_, ()> {
        self.switch(false)
    }

    #[track_caller]
    fn switch(&self, on: bool) -> Operation<'_, ()> {
        let link = self.link;
        control_operation(&self.kernel, Control::Link { link, on })
    }

    /// Changes the bandwidth of the link, in bytes/s. The change applies at once to running
    /// transfers too. With bandwidth 0 no data moves.
    #[track_caller]
    pub fn set_bandwidth(&self, bytes_per_s: f64) -> Operation<'_, ()> {
        let link = self.link;
        control_operation(&self.kernel, Control::Bandwidth { link, bytes_per_s })
    }

    /// Changes the latency of the link. A transfer in its latency phase continues with the old
    /// latency.
    #[track_caller]
    pub fn set_latency(&self, latency: Span) -> Operation<'_, ()> {
        let link = self.link;
        control_operation(&self.kernel, Control::Latency { link, latency })
    }
}

#[track_caller]
pub(crate) fn control_operation(kernel: &Shared, control: Control) -> Operation<'_, ()> {
    Operation::new(kernel, control.transition(), nothing)
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Link({})", self.name)
    }
}
