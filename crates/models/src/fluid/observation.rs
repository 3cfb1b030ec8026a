//! The life of each transfer, for an observer of the network: begin, intervals of constant rate,
//! end.
//!
//! A transfer is reported with the number of its slot. Its duration alone is computed with the
//! present bandwidths, without penalties for concurrent transfers.
//!
//! Changes of links and hosts are reported, too.
//!
//! *Not reported*: parallel tasks, and a stop of a transfer, which only actors can request. A
//! transfer of a model without links is reported without rates.

use std::ops::Range;

use observe::{IncidentPlace, LinkParameter, NetworkEvent, NetworkObserver};
use platform::{LinkId, Sharing};
use sim_core::{Span, Time, Work};

use super::FlowModel;
use super::activity::{ActivityResources, Phase};

/// An observer and the last rates that were reported to this observer.
#[derive(Debug)]
pub(super) struct RateObserver {
    observer: NetworkObserver,
    /// The last rate and bottleneck of the transfer in each slot.
    told: Vec<Option<(f64, Option<u32>)>>,
    /// Buffers.
    links: Vec<u32>,
    slots: Vec<u32>,
}

impl RateObserver {
    fn report_event(&self, now: Time, event: NetworkEvent<&[u32]>) {
        self.observer.observe_event(now.as_secs(), event);
    }
}

impl FlowModel {
    /// Reports all transfers that begin from now on to an observer. The numbers of links are the
    /// numbers in the platform.
    pub fn set_observer(&mut self, observer: NetworkObserver) {
        self.has_extras = true;
        self.solver.keep_changes();
        self.observation = Some(Box::new(RateObserver {
            observer,
            told: Vec::new(),
            links: Vec::new(),
            slots: Vec::new(),
        }));
    }

    /// Tells of a transfer or a computation that has been prepared.
    #[inline(never)]
    pub(super) fn observe_begin(&mut self, slot: u32, work: &Work, latency: Span, now: Time) {
        if let (Some(observation), Work::Exec { .. }) = (&self.observation, work) {
            let activity = &self.activities.0[slot as usize];
            let rate = self.solver.rate_alone(slot, activity.bound);
            let alone_s = if activity.remaining > 0.0 {
                latency.as_secs() + activity.remaining / rate
            } else {
                0.0
            };
            return observation.report_event(now, NetworkEvent::Computation { alone_s });
        }
        let (
            Some(observation),
            &Work::Transfer {
                from, to, bytes, ..
            },
        ) = (&mut self.observation, work)
        else {
            return;
        };
        let activity = &self.activities.0[slot as usize];
        let sharing_s = if activity.remaining > 0.0 {
            activity.remaining / self.solver.rate_alone(slot, activity.bound)
        } else {
            0.0
        };
        observation.links.clear();
        let has_route = self.model_kind.has_links()
            && (self.platform.route_into(from, to, &mut self.route)).is_ok();
        if has_route {
            let links = self.route.hops.iter().map(|hop| hop.link.0);
            observation.links.extend(links);
        }
        let count = slot as usize + 1;
        if observation.told.len() < count {
            observation.told.resize(count, None);
        }
        observation.told[slot as usize] = None;
        let latency_s = latency.as_secs();
        let begin = NetworkEvent::Begin {
            flow: slot,
            bytes,
            latency_s,
            alone_s: latency_s + sharing_s,
            links: &*observation.links,
        };
        observation.report_event(now, begin);
    }

    /// Tells of the rates that a solve has changed.
    #[inline(never)]
    pub(super) fn observe_rates(&mut self, now: Time) {
        let Some(observation) = &mut self.observation else {
            return;
        };
        let mut slots = std::mem::take(&mut observation.slots);
        self.solver.take_changes(&mut slots);
        for slot in slots.drain(..) {
            let activity = &self.activities.0[slot as usize];
            let is_transfer = matches!(activity.place, ActivityResources::Transfer(..));
            if !is_transfer || activity.phase != Phase::Work || activity.suspended {
                continue;
            }
            let rate = self.solver.rate(slot) * activity.scale;
            let link = self.solver.limiting_capacity(slot);
            let told = observation.told.get_mut(slot as usize);
            if told.is_some_and(|told| told.replace((rate, link)) != Some((rate, link))) {
                let flow = slot;
                observation.report_event(now, NetworkEvent::Rate { flow, rate, link });
            }
        }
        observation.slots = slots;
    }

    /// Tells of a new value of links.
    pub(super) fn observe_links(
        &self,
        links: Range<u32>,
        parameter: LinkParameter,
        value: f64,
        now: Time,
    ) {
        let Some(observation) = &self.observation else {
            return;
        };
        for link in links {
            // One without directions has two numbers, of which the second is not used.
            let is_directed = self.platform.link(LinkId(link)).sharing == Sharing::SplitDuplex;
            if link % 2 == 1 && !is_directed {
                continue;
            }
            let change = NetworkEvent::LinkChange {
                link,
                parameter,
                value,
            };
            observation.report_event(now, change);
        }
    }

    /// Tells of a change of hosts.
    pub(super) fn observe_hosts(
        &self,
        hosts: Range<u32>,
        name: &'static str,
        value: Option<f64>,
        now: Time,
    ) {
        let Some(observation) = &self.observation else {
            return;
        };
        for host in hosts {
            let incident = NetworkEvent::Incident {
                at: IncidentPlace::Host(host),
                name,
                peer: None,
                value,
            };
            observation.report_event(now, incident);
        }
    }

    /// Tells of the end of a transfer.
    #[inline(never)]
    pub(super) fn observe_end(&self, slot: u32, now: Time) {
        let is_transfer = matches!(
            self.activities.0[slot as usize].place,
            ActivityResources::Transfer(..)
        );
        if let (Some(observation), true) = (&self.observation, is_transfer) {
            observation.report_event(now, NetworkEvent::End { flow: slot });
        }
    }
}
