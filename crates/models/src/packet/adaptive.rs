//! Adaptive routing: each switch sends a packet to the shortest queue among the outputs on shortest
//! routes; among equal queues the hash of the flow decides.
//!
//! A queue includes all lanes and a packet on the wire. *Not modelled*: routes that are not
//! shortest, and gaps between flowlets; packets of a flow overtake each other.

use sim_core::HostId;

use super::arena::Packet;
use super::ecmp::ecmp_choice;
use super::network::PacketNetwork;

impl PacketNetwork {
    /// Returns the outputs among which a packet that came over a port may choose.
    fn outputs(&mut self, input: u32, destination: u32) -> Box<[u32]> {
        let key = (input, destination);
        if let Some(known) = self.minimal_outputs.get(&key) {
            return known.clone();
        }
        let link = self.ports[input as usize].link;
        let links = self.topology().minimal_outputs(link, HostId(destination));
        let ports: Box<[u32]> = links.into_iter().map(|link| self.port(link)).collect();
        self.minimal_outputs.insert(key, ports.clone());
        ports
    }

    /// Returns the output with the shortest queue for a packet at the end of a link.
    pub(super) fn shortest_queue(&mut self, packet: &Packet, now: u64) -> u32 {
        let outputs = self.outputs(packet.stored_at, packet.destination);
        let length = |output: &u32| {
            let port = &self.ports[*output as usize];
            let queued: u64 = port.lanes.iter().map(|lane| lane.queued_bytes).sum();
            queued + u64::from(port.busy_until > now)
        };
        let least = outputs.iter().map(length).min().unwrap_or_default();
        let shortest: Vec<u32> = outputs
            .iter()
            .copied()
            .filter(|output| length(output) == least)
            .collect();
        // The input differs between switches, so equal hashes do not choose equally everywhere.
        let seed = self.ports[packet.stored_at as usize].link.0;
        shortest[ecmp_choice(packet.route, seed, shortest.len())]
    }

    /// Returns the shortest wire time of a packet on the link after `out`; `None` if the
    /// destination of the packet is at the end of `out`.
    pub(super) fn adaptive_wire_time(&mut self, out: u32, packet: &Packet) -> Option<u64> {
        if self.ports[out as usize].end_host == packet.destination {
            return None;
        }
        let bytes = u32::from(packet.wire_bytes);
        let outputs = self.outputs(out, packet.destination);
        let times = outputs
            .iter()
            .map(|output| self.ports[*output as usize].rate.wire_time(bytes));
        times.min()
    }
}
