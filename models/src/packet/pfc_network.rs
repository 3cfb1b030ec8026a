//! Priority flow control at work: ingress accounting of switches, pause frames, drops.
//!
//! A packet is counted when its last bit has come and released when its last bit has left. A pause
//! frame takes its time on the reverse link, after the frame that is on the wire there. *Not
//! modelled*: expiry and refresh of pauses (a pause holds until the resume), and the bandwidth of
//! refreshing frames, 0.3 % at the shortest pause time in use.

use std::collections::BTreeMap;

use super::arena::{NONE, Packet};
use super::event_queue::{Event, EventKind};
use super::network::PacketNetwork;
use super::pfc::{PAUSE_FRAME_BYTES, PauseChange, PfcIngress, PfcSettings, SharedPool};
use super::port::UNLIMITED;
use super::settings::FlowControl;
use super::topology::PacketLinkId;

/// Accounting of all switches.
#[derive(Clone, Default, Debug)]
pub(super) struct PfcState {
    pools: Vec<SharedPool>,
    /// Pools by switch; the buffer of an unknown switch is that of one link.
    by_device: BTreeMap<u32, usize>,
    /// By port, then lane, as far as they were used.
    ingresses: Vec<Vec<Option<Ingress>>>,
}

/// The accounting of one (input port, class), and the pool of its switch.
#[derive(Clone, Copy, Debug)]
struct Ingress {
    accounting: PfcIngress,
    pool: usize,
}

impl PfcState {
    /// Returns the accounting of a (port, lane) and its pool, made when first used.
    fn of(
        &mut self,
        (port, vl): (u32, u8),
        settings: &PfcSettings,
        device: impl FnOnce() -> Option<u32>,
    ) -> (&mut PfcIngress, &mut SharedPool) {
        let (port, lane) = (port as usize, usize::from(vl));
        if self.ingresses.len() <= port {
            self.ingresses.resize_with(port + 1, Vec::new);
        }
        let lanes = &mut self.ingresses[port];
        if lanes.len() <= lane {
            lanes.resize(lane + 1, None);
        }
        let pools = &mut self.pools;
        let ingress = lanes[lane].get_or_insert_with(|| {
            let next = pools.len();
            let pool =
                device().map_or(next, |device| *self.by_device.entry(device).or_insert(next));
            if pool == next {
                pools.push(SharedPool::default());
            }
            pools[pool].add_class(settings);
            Ingress {
                accounting: PfcIngress::default(),
                pool,
            }
        });
        (&mut ingress.accounting, &mut pools[ingress.pool])
    }
}

impl PacketNetwork {
    const fn pfc_settings(&self) -> Option<PfcSettings> {
        match self.settings.flow_control {
            FlowControl::Pfc(settings) => Some(settings),
            _ => None,
        }
    }

    /// Counts a packet whose last bit has come; it can leave after the latency of the switch.
    pub(super) fn store(&mut self, at: u32, now: u64) {
        let Some(settings) = self.pfc_settings() else {
            return;
        };
        let packet = self.packets[at];
        let port = &self.ports[packet.stored_at as usize];
        let (link, latency) = (port.link, port.forward_delay - port.propagation);
        let topology = &self.topology;
        let key = (packet.stored_at, packet.vl);
        let (ingress, pool) = self.pfc.of(key, &settings, || topology.device_at_end(link));
        let is_admitted = ingress.admit(&settings, pool, u32::from(packet.wire_bytes));
        let change = ingress.change(&settings, pool);
        if is_admitted {
            let event = Event::new(now + latency, link.0, EventKind::Eligible, at);
            self.events.push(event);
        } else {
            self.packets.remove(at);
            self.statistics.dropped += 1;
            self.statistics.headroom_drops += u64::from(settings.sends_pauses);
        }
        self.send_pause((link, packet.vl), change, now, &settings);
    }

    /// Plans the release of a buffer at `freed`.
    pub(super) fn plan_release(&mut self, packet: &Packet, freed: u64) {
        let link = self.ports[packet.stored_at as usize].link;
        let subject = u32::from(packet.wire_bytes) << 8 | u32::from(packet.vl);
        let event = Event::new(freed, link.0, EventKind::Released, subject);
        self.events.push(event);
    }

    /// Releases the bytes of a packet whose last bit has left.
    #[expect(clippy::cast_possible_truncation, reason = "packed by plan_release")]
    pub(super) fn release(&mut self, link: PacketLinkId, subject: u32, now: u64) {
        let (bytes, vl) = (subject >> 8, subject as u8);
        let Some(settings) = self.pfc_settings() else {
            return;
        };
        let port = self.port(link);
        let topology = &self.topology;
        let device = || topology.device_at_end(link);
        let (ingress, pool) = self.pfc.of((port, vl), &settings, device);
        ingress.release(pool, bytes);
        let change = ingress.change(&settings, pool);
        self.send_pause((link, vl), change, now, &settings);
    }

    /// Sends a pause or resume to the sender of a link, over the reverse link.
    fn send_pause(
        &mut self,
        (link, vl): (PacketLinkId, u8),
        change: Option<PauseChange>,
        now: u64,
        settings: &PfcSettings,
    ) {
        let Some(change) = change.filter(|_| settings.sends_pauses) else {
            return;
        };
        self.statistics.pauses += u64::from(change == PauseChange::Pause);
        let reverse = self.topology().reverse(link);
        let carrier = self.port(reverse.unwrap_or(link));
        let carrier = &mut self.ports[carrier as usize];
        let wire_time = carrier.rate.wire_time(PAUSE_FRAME_BYTES);
        let start = if reverse.is_some() {
            let start = carrier.busy_until(now).max(now);
            carrier.busy_until = start + wire_time;
            start
        } else {
            now
        };
        let time = start + wire_time + carrier.propagation + settings.response_ps;
        let subject = u32::from(change == PauseChange::Pause) << 8 | u32::from(vl);
        self.events
            .push(Event::new(time, link.0, EventKind::Pause, subject));
    }

    /// Makes the sender of a link stop or go on.
    pub(super) fn apply_pause(&mut self, link: PacketLinkId, subject: u32, now: u64) {
        let (is_pause, vl) = (subject >> 8 == 1, subject & 0xff);
        let at = self.port(link);
        debug_assert!(at != NONE, "the link of a pause was used");
        let port = &mut self.ports[at as usize];
        port.lanes[vl as usize].credits = if is_pause { 0 } else { UNLIMITED };
        if !is_pause {
            self.serve(at, now);
        }
    }
}
