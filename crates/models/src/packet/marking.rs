//! Marks of congestion: ECN when a packet comes to a queue, FECN when a packet leaves a queue.

use sim_core::Stream;

use super::arena::Packet;
use super::network::PacketNetwork;
use super::overhead::BLOCK_BYTES;

impl PacketNetwork {
    /// Marks a packet that comes to an output, by the number of waiting bytes on the packet's lane.
    pub(super) fn mark_at_enqueue(&mut self, out: u32, at: u32) {
        let Some(thresholds) = self.settings.ecn else {
            return;
        };
        let port = &mut self.ports[out as usize];
        let lane = &port.lanes[usize::from(self.packets[at].next_vl)];
        #[expect(clippy::cast_precision_loss, reason = "bytes of a queue")]
        let probability = thresholds.probability(lane.queued_bytes as f64);
        let seed = self.settings.seed;
        let stream = port.marks.get_or_insert_with(|| {
            let name = format!("marks of link {}", port.link.0);
            Box::new(Stream::new(seed, &name))
        });
        if probability > 0.0 && stream.uniform() < probability {
            self.packets[at].flags |= Packet::MARKED;
            self.statistics.marked += 1;
        }
    }

    /// Marks the head of a queue that leaves a congested output.
    pub(super) fn mark_at_dequeue(&mut self, out: u32, queue: usize) {
        let Some(settings) = self.settings.fecn else {
            return;
        };
        let port = &mut self.ports[out as usize];
        let head = &mut self.packets[port.waiting[queue].head];
        let is_victim = port.credit_blocked && !settings.victim_mask;
        let buffer = u64::from(self.settings.buffer_blocks) * u64::from(BLOCK_BYTES);
        let lane = &mut port.lanes[usize::from(head.next_vl)];
        let is_congested = lane.queued_bytes >= settings.threshold_bytes(buffer);
        if is_victim || !is_congested || u32::from(head.wire_bytes) < settings.packet_size {
            return;
        }
        if lane.unmarked < settings.marking_rate {
            lane.unmarked += 1;
            return;
        }
        lane.unmarked = 0;
        head.flags |= Packet::MARKED;
        self.statistics.marked += 1;
    }
}
