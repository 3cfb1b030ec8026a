//! DCQCN over packets: senders paced by reaction points, marks of the switch, notifications of the
//! receivers. The mean queue is near the fixed point of the fluid equations.

use models::packet::{
    DcqcnFluid, DcqcnParameters, EcnThresholds, ListedTopology, OutboundPacket, PacketLinkId,
    PacketLinkSpec, PacketNetwork, PacketSettings, ReactionPoint, WireRate,
};
use sim_core::HostId;

use super::lab;

const PACKET: u32 = 1_000;
const RATE: f64 = 40e9;
/// Delay of a notification, in picoseconds.
const FEEDBACK: u64 = 2_000_000;

/// A sender, and the notifications from its receiver.
struct Flow {
    point: ReactionPoint,
    next_send: u64,
    /// Arrival of the next notification.
    notification_at: Option<u64>,
    last_notification: Option<u64>,
    delivered: u64,
}

struct Run {
    network: PacketNetwork,
    flows: Vec<Flow>,
    interval: u64,
    /// Time integral of the queue, in byte-picoseconds.
    queue_time: f64,
}

impl Run {
    fn new(flows: u32, seed: u64) -> Self {
        let spec = PacketLinkSpec {
            buffer_blocks: Some(2048),
            ..PacketLinkSpec::new(WireRate::from_bytes_per_second(RATE / 8.0), 500_000)
        };
        let mut links = ListedTopology::new();
        let down = links.add_link("down", spec);
        for host in 0..flows {
            let up = links.add_link(format!("up {host}"), spec);
            links.add_route(HostId(host), HostId(flows), &[up, down]);
        }
        let settings = PacketSettings {
            ecn: Some(EcnThresholds::sigcomm15()),
            delimiter_bytes: 0,
            seed,
            ..PacketSettings::default()
        };
        let parameters = DcqcnParameters::sigcomm15(RATE);
        let interval = parameters.notification_interval_ps;
        let flow = |number| Flow {
            point: ReactionPoint::new(parameters.clone()),
            next_send: 7_919 * u64::from(number),
            notification_at: None,
            last_notification: None,
            delivered: 0,
        };
        Self {
            network: lab::network(links, settings),
            flows: (0..flows).map(flow).collect(),
            interval,
            queue_time: 0.0,
        }
    }

    /// Returns the time of the next event of the network or a flow.
    fn next(&self) -> u64 {
        let flows = self.flows.iter().map(|flow| {
            let timer = flow.point.next_event_at().unwrap_or(u64::MAX);
            let notification = flow.notification_at.unwrap_or(u64::MAX);
            flow.next_send.min(timer).min(notification)
        });
        let network = self.network.next_event_at().unwrap_or(u64::MAX);
        flows.fold(network, u64::min)
    }

    fn step(&mut self, now: u64) {
        self.network.handle_events(now);
        while let Some(delivery) = self.network.poll_delivery() {
            let flow = &mut self.flows[usize::try_from(delivery.tag).expect("a flow")];
            flow.delivered += 1;
            let is_due = |last| now >= last + self.interval;
            if delivery.marked && flow.last_notification.is_none_or(is_due) {
                flow.last_notification = Some(now);
                flow.notification_at = Some(now + FEEDBACK);
            }
        }
        let target = u32::try_from(self.flows.len()).expect("few flows");
        for (number, flow) in (0..).zip(&mut self.flows) {
            flow.point.handle_events(now);
            if flow.notification_at == Some(now) {
                flow.notification_at = None;
                flow.point.on_notification(now);
            }
            if flow.next_send == now {
                let packet = OutboundPacket {
                    wire_bytes: PACKET,
                    ..lab::packet(target, number)
                };
                let host = HostId(u32::try_from(number).expect("few flows"));
                self.network.send(now, host, packet).expect("a route");
                flow.point.on_bytes_sent(u64::from(PACKET));
                let gap = f64::from(PACKET) * 8e12 / flow.point.rate();
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a short positive time"
                )]
                let gap = gap as u64;
                flow.next_send = now + gap;
            }
        }
    }

    /// Runs to a time, and returns the mean queue since `from`, in bytes.
    fn mean_queue(&mut self, from: u64, to: u64) -> f64 {
        let mut now = 0;
        while now < to {
            let next = self.next().min(to);
            if next > from {
                let queue = self.network.queued_bytes(PacketLinkId(0)) as f64;
                self.queue_time += queue * (next - now.max(from)) as f64;
            }
            now = next;
            self.step(now);
        }
        self.queue_time / (to - from) as f64
    }
}

#[test]
fn the_mean_queue_is_near_the_fixed_point() {
    for count in [2, 4] {
        let fluid = DcqcnFluid {
            capacity: RATE,
            flows: count,
            additive_increase: 40e6,
            byte_counter: 1e7,
            timer: 55e-6,
            fast_recovery_steps: 5.0,
            gain: 1.0 / 256.0,
            notification_interval: 50e-6,
            alpha_period: 55e-6,
            marking: EcnThresholds::sigcomm15(),
            packet_bytes: f64::from(PACKET),
        };
        let expected = fluid.fixed_point().queue.expect("a queue");
        let seeds = 3;
        let mut mean = 0.0;
        for seed in 0..seeds {
            let mut run = Run::new(count, seed);
            mean += run.mean_queue(30_000_000_000, 60_000_000_000) / seeds as f64;
            let total: u64 = run.flows.iter().map(|flow| flow.delivered).sum();
            for flow in &run.flows {
                let share = flow.delivered as f64 / total as f64 * f64::from(count);
                assert!(
                    (share - 1.0).abs() < 0.15,
                    "{count} flows, seed {seed}: {share}"
                );
            }
        }
        // The fluid has no bursts; the tolerance is that of `packet-cases.csv`.
        assert!(
            (mean / expected - 1.0).abs() < 0.3,
            "{count} flows: {mean}, {expected}"
        );
    }
}
