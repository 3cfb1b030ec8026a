//! Faults of a link: loss, corruption, duplication and reordering of packets, and outages.
//!
//! Each link draws from a separate random stream, and always the same number of times per packet:
//! faults of one link, or another probability, do not change the draws of the rest. A corrupted
//! packet continues to its host, which detects the wrong check sequence; a switch that stores
//! packets before it forwards them drops the packet. *Not modelled*: a cut-through switch that
//! drops a corrupted packet because the packet had to wait; faults of flow-control packets.

use std::fmt;

use sim_core::Stream;

use super::arena::Packet;
use super::event_queue::{EventKind, PacketEvent};
use super::network::PacketNetwork;
use super::settings::PacketSettings;
use super::topology::PacketLinkId;

/// Faults of a directed link.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct LinkFaults {
    /// Probability that a packet is lost.
    pub loss: f64,
    /// Probability that a bit is wrong; a packet with a wrong bit is corrupted.
    pub bit_error_rate: f64,
    /// Probability that a packet comes twice; the copy comes a wire time later.
    pub duplication: f64,
    /// Probability that a packet is delayed, so that later packets overtake this packet.
    pub reordering: f64,
    /// Delay of such a packet, in picoseconds.
    pub reordering_delay_ps: u64,
    /// Times at which the link goes down and up again, in picoseconds, in order. Packets on the
    /// wire when the link goes down are lost; no packet starts while the link is down.
    pub outages: Vec<(u64, u64)>,
}

/// A fault that is out of range.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InvalidFaults {
    message: String,
}

impl fmt::Display for InvalidFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for InvalidFaults {}

impl LinkFaults {
    fn check_probabilities(&self) -> Result<(), InvalidFaults> {
        let probabilities = [
            ("loss", self.loss),
            ("bit_error_rate", self.bit_error_rate),
            ("duplication", self.duplication),
            ("reordering", self.reordering),
        ];
        for (name, value) in probabilities {
            if !(0.0..=1.0).contains(&value) {
                let message = format!("{name} = {value}: expected a probability, 0 to 1");
                return Err(InvalidFaults { message });
            }
        }
        let mut end = 0;
        for &(down, up) in &self.outages {
            if down < end || up <= down {
                let message = format!(
                    "outage from {down} ps to {up} ps: expected a later end, and a start at or after {end} ps"
                );
                return Err(InvalidFaults { message });
            }
            end = up;
        }
        Ok(())
    }
}

/// The faults of a link at work.
#[derive(Clone, Debug)]
pub(super) struct FaultState {
    faults: LinkFaults,
    stream: Stream,
}

/// The fate of a packet on a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Fate {
    pub(super) is_lost: bool,
    pub(super) is_corrupted: bool,
    pub(super) is_doubled: bool,
    /// Delay of the packet, in picoseconds.
    pub(super) delay: u64,
}

impl FaultState {
    /// Returns the state of the faults of a link; `None` for a link without faults.
    pub(super) fn of_link(
        settings: &PacketSettings,
        link: PacketLinkId,
        faults: LinkFaults,
    ) -> Option<Box<Self>> {
        if faults == LinkFaults::default() {
            return None;
        }
        let stream = Stream::new(settings.seed, &format!("faults of link {}", link.0));
        Some(Box::new(Self { faults, stream }))
    }

    /// Returns the end of the outage at `now`, if there is one.
    pub(super) fn down_until(&self, now: u64) -> Option<u64> {
        let at = self.faults.outages.partition_point(|(_, up)| *up <= now);
        let &(down, up) = self.faults.outages.get(at)?;
        (down <= now).then_some(up)
    }

    /// Draws the fate of a packet that is on the wire from `start` to `end`.
    pub(super) fn draw_fate(&mut self, (start, end): (u64, u64), bytes: u32) -> Fate {
        let draws: [f64; 4] = std::array::from_fn(|_| self.stream.uniform());
        let faults = &self.faults;
        let at = faults.outages.partition_point(|(_, up)| *up <= start);
        let outage = faults.outages.get(at);
        // 1 - (1 - rate)^bits, exact for tiny rates too.
        let bits = f64::from(8 * bytes);
        let corruption = -libm::expm1(bits * libm::log1p(-faults.bit_error_rate));
        Fate {
            is_lost: draws[0] < faults.loss || outage.is_some_and(|(down, _)| *down < end),
            is_corrupted: draws[1] < corruption,
            is_doubled: draws[2] < faults.duplication,
            delay: if draws[3] < faults.reordering {
                faults.reordering_delay_ps
            } else {
                0
            },
        }
    }
}

impl PacketNetwork {
    /// Puts a packet on the wire of a link with faults; if not lost, the packet arrives at `time`.
    pub(super) fn start_with_faults(
        &mut self,
        out: u32,
        at: u32,
        (now, wire_time): (u64, u64),
        (time, kind): (u64, EventKind),
    ) {
        let port = &mut self.ports[out as usize];
        let (link, last_bit) = (port.link.0, now + wire_time + port.propagation);
        let Some(faults) = &mut port.faults else {
            return;
        };
        let fate = faults.draw_fate((now, last_bit), u32::from(self.packets[at].wire_bytes));
        if fate.is_lost {
            let packet = self.packets[at];
            if self.has_credit_packets(out) {
                // The sender has counted the packet: a flow-control packet tells the receiver.
                self.note_started(out, at, None);
            } else {
                self.return_credits(&packet, last_bit);
            }
            self.packets.remove(at);
            self.statistics.lost += 1;
            self.reports.note_loss(&packet);
            return;
        }
        if fate.is_corrupted {
            self.packets[at].flags |= Packet::CORRUPTED;
        }
        if fate.is_doubled {
            // The copy is an error of the wire: the sender has no credits for it.
            let mut copy = self.packets[at];
            copy.flags |= Packet::UNCREDITED;
            self.reports.note_copy(&copy);
            let copy = self.packets.insert(copy);
            self.events
                .push(PacketEvent::new(time + wire_time, link, kind, copy));
        }
        self.note_started(out, at, Some(last_bit));
        self.events
            .push(PacketEvent::new(time + fate.delay, link, kind, at));
    }

    /// Gives a link faults from now on; the default ends them.
    pub fn set_faults(
        &mut self,
        link: PacketLinkId,
        faults: LinkFaults,
    ) -> Result<(), InvalidFaults> {
        faults.check_probabilities()?;
        let port = self.port(link);
        let state = FaultState::of_link(&self.settings, link, faults);
        self.ports[port as usize].faults = state;
        Ok(())
    }
}
