//! Priority flow control in operation: ingress accounting of switches, pause frames, drops.
//!
//! A packet is counted when its last bit has arrived and released when its last bit has left; at
//! one instant releases come first. Releases are recorded and applied when a packet comes to the
//! switch; only releases of a paused sender are events, since they may end the pause. A pause frame
//! takes wire time on the reverse link, after the frame that is on the wire there.
//!
//! *Not modelled*: expiry and refresh of pauses (a pause holds until the resume), and the bandwidth
//! of refreshing frames, 0.3 % at the shortest pause time in use.

use std::collections::{BTreeMap, VecDeque};

use super::arena::{NONE, Packet};
use super::event_queue::{EventKind, PacketEvent};
use super::network::PacketNetwork;
use super::pfc::{PAUSE_FRAME_BYTES, PauseChange, PfcIngress, PfcSettings, SharedPool};
use super::port::{NEVER, UNLIMITED};
use super::settings::FlowControl;
use super::topology::PacketLinkId;

/// Accounting of all switches.
#[derive(Clone, Default, Debug)]
pub(super) struct PfcState {
    pools: Vec<Pool>,
    /// Pools by switch; an unknown switch has one buffer per link.
    by_device: BTreeMap<u32, usize>,
    /// By port, then lane, as far as they were used.
    ingresses: Vec<Vec<Option<Ingress>>>,
}

/// The buffer of a switch.
#[derive(Clone, Debug)]
struct Pool {
    shared: SharedPool,
    /// Releases that have not been applied, ordered by time.
    releases: VecDeque<Release>,
    /// Number of paused (port, class).
    paused: u32,
    /// The time of the planned event; `NEVER` if there is none.
    wake_at: u64,
}

/// Bytes of a (port, class); the last bit leaves at `time`.
#[derive(Clone, Copy, Debug)]
struct Release {
    time: u64,
    port: u32,
    bytes: u16,
    vl: u8,
}

/// The accounting of one (input port, class), and the pool of the switch.
#[derive(Clone, Copy, Debug)]
struct Ingress {
    accounting: PfcIngress,
    pool: usize,
}

impl PfcState {
    /// Returns the pool of a (port, lane), made when first used.
    fn pool_of(
        &mut self,
        (port, vl): (u32, u8),
        settings: &PfcSettings,
        device: impl FnOnce() -> Option<u32>,
    ) -> usize {
        let (port, lane) = (port as usize, usize::from(vl));
        if self.ingresses.len() <= port {
            self.ingresses.resize_with(port + 1, Vec::new);
        }
        let lanes = &mut self.ingresses[port];
        if lanes.len() <= lane {
            lanes.resize(lane + 1, None);
        }
        let (pools, by_device) = (&mut self.pools, &mut self.by_device);
        let ingress = lanes[lane].get_or_insert_with(|| {
            let next = pools.len();
            let pool = device().map_or(next, |device| *by_device.entry(device).or_insert(next));
            if pool == next {
                pools.push(Pool {
                    shared: SharedPool::default(),
                    releases: VecDeque::new(),
                    paused: 0,
                    wake_at: NEVER,
                });
            }
            pools[pool].shared.add_class(settings);
            Ingress {
                accounting: PfcIngress::default(),
                pool,
            }
        });
        ingress.pool
    }

    /// Returns the accounting of a (port, lane) and the pool; `None` if they are unknown.
    fn find_accounting(&mut self, port: u32, vl: u8) -> Option<(&mut PfcIngress, &mut Pool)> {
        let ingress = self.ingresses.get_mut(port as usize)?;
        let ingress = ingress.get_mut(usize::from(vl))?.as_mut()?;
        Some((&mut ingress.accounting, &mut self.pools[ingress.pool]))
    }

    /// Returns the first release that may end a pause.
    fn next_resume(&self, pool: usize) -> Option<Release> {
        if self.pools[pool].paused == 0 {
            return None;
        }
        let is_paused = |release: &&Release| {
            let lanes = self.ingresses.get(release.port as usize);
            let ingress = lanes.and_then(|lanes| lanes[usize::from(release.vl)]);
            ingress.is_some_and(|ingress| ingress.accounting.is_paused())
        };
        self.pools[pool].releases.iter().find(is_paused).copied()
    }
}

impl PacketNetwork {
    const fn pfc_settings(&self) -> Option<PfcSettings> {
        match self.settings.flow_control {
            FlowControl::Pfc(settings) => Some(settings),
            _ => None,
        }
    }

    /// Counts a packet that has arrived completely; it can leave after the switch latency.
    pub(super) fn store_packet(&mut self, at: u32, now: u64) {
        let Some(settings) = self.pfc_settings() else {
            return;
        };
        let packet = self.packets[at];
        let port = &self.ports[packet.stored_at as usize];
        let (link, latency) = (port.link, port.forward_delay - port.propagation);
        let topology = &self.topology;
        let key = (packet.stored_at, packet.vl);
        let number = self
            .pfc
            .pool_of(key, &settings, || topology.device_at_end(link));
        self.settle_releases(number, now);
        let Some((ingress, pool)) = self.pfc.find_accounting(key.0, key.1) else {
            return;
        };
        let bytes = u32::from(packet.wire_bytes);
        let is_admitted = ingress.admit(&settings, &mut pool.shared, bytes);
        let change = ingress.pause_change(&settings, &pool.shared);
        pool.paused += u32::from(change == Some(PauseChange::Pause));
        pool.paused -= u32::from(change == Some(PauseChange::Resume));
        if is_admitted {
            let event = PacketEvent::new(now + latency, link.0, EventKind::Eligible, at);
            self.events.push(event);
        } else {
            self.packets.remove(at);
            self.reports.note_loss(&packet);
            self.statistics.dropped += 1;
            self.statistics.headroom_drops += u64::from(settings.sends_pauses);
        }
        self.send_pause((link, packet.vl), change, now, &settings);
        self.plan_resume(number);
    }

    /// Records that the last bit of a packet leaves the buffer of the packet at `freed`.
    pub(super) fn plan_release(&mut self, packet: &Packet, freed: u64) {
        let Some((_, pool)) = self.pfc.find_accounting(packet.stored_at, packet.vl) else {
            return;
        };
        let release = Release {
            time: freed,
            port: packet.stored_at,
            bytes: packet.wire_bytes,
            vl: packet.vl,
        };
        let before = pool.releases.iter().rposition(|other| other.time <= freed);
        pool.releases.insert(before.map_or(0, |at| at + 1), release);
        let ingresses = &self.pfc.ingresses[packet.stored_at as usize];
        if let Some(ingress) = ingresses[usize::from(packet.vl)] {
            self.plan_resume(ingress.pool);
        }
    }

    /// Plans an event for the first release that may end a pause.
    fn plan_resume(&mut self, pool: usize) {
        let Some(release) = self.pfc.next_resume(pool) else {
            return;
        };
        if release.time < self.pfc.pools[pool].wake_at {
            self.pfc.pools[pool].wake_at = release.time;
            let link = self.ports[release.port as usize].link.0;
            let subject = u32::try_from(pool).expect("fewer pools than links");
            let event = PacketEvent::new(release.time, link, EventKind::Released, subject);
            self.events.push(event);
        }
    }

    /// Handles the event of a release.
    pub(super) fn handle_release(&mut self, pool: u32, now: u64) {
        let pool = pool as usize;
        if self.pfc.pools[pool].wake_at == now {
            self.pfc.pools[pool].wake_at = NEVER;
            self.settle_releases(pool, now);
            self.plan_resume(pool);
        }
    }

    /// Applies the releases up to `now`.
    fn settle_releases(&mut self, number: usize, now: u64) {
        let Some(settings) = self.pfc_settings() else {
            return;
        };
        while let Some(release) = self.pfc.pools[number].releases.front().copied()
            && release.time <= now
        {
            let (port, vl) = (release.port, release.vl);
            self.pfc.pools[number].releases.pop_front();
            let Some((ingress, pool)) = self.pfc.find_accounting(port, vl) else {
                continue;
            };
            ingress.release_bytes(&mut pool.shared, u32::from(release.bytes));
            if ingress.is_paused() {
                let change = ingress.pause_change(&settings, &pool.shared);
                pool.paused -= u32::from(change == Some(PauseChange::Resume));
                let link = self.ports[port as usize].link;
                self.send_pause((link, vl), change, now, &settings);
            }
        }
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
            .push(PacketEvent::new(time, link.0, EventKind::Pause, subject));
    }

    /// Makes the sender of a link stop or continue.
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
