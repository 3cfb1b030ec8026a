//! One run of a pattern, and the figures.

use std::sync::Arc;

use models::packet::{OutboundPacket, PacketNetwork, PacketSettings, PlatformTopology};
use nix::sys::resource::{UsageWho, getrusage};
use platform::Platform;
use sim_core::HostId;

use crate::pattern::Pattern;

/// Bytes on the wire: MTU 4096, local header and delimiters.
pub(crate) const WIRE_BYTES: u32 = 4126;

/// A three-level tree of 16-port switches, without oversubscription.
pub(crate) const PLATFORM: &str = r#"
version = 1
[clusters.nodes]
hosts = "n[0-1023]"
topology = "fat-tree"
down = [8, 8, 16]
up = [1, 8, 8]
speed = "1Gf"
bandwidth = "100Gbps"
latency = "10ns"
"#;

/// Figures of one run.
#[derive(Clone, Copy)]
pub(crate) struct Figures {
    hops: u64,
    events: u64,
    /// User CPU time, in seconds.
    pub(crate) cpu_s: f64,
    peak_bytes: u64,
    bytes_per_port: u64,
    /// Simulated end, in microseconds.
    end_us: f64,
}

/// Packets from one host to another, at once.
#[derive(Clone, Copy)]
pub(crate) struct Flow {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) packets: u32,
    pub(crate) service_level: u8,
}

/// Returns flows between these hosts, which take turns among the lanes.
pub(crate) fn flows(pairs: &[(u32, u32)], packets: u32, lanes: u32) -> Vec<Flow> {
    let flow = |(number, &(from, to)): (u32, &(u32, u32))| Flow {
        from,
        to,
        packets,
        service_level: u8::try_from(number % lanes).expect("a lane"),
    };
    (0..).zip(pairs).map(flow).collect()
}

/// Returns a network on which [`flow_ends`] can run.
pub(crate) fn build_network(
    topology: Arc<PlatformTopology>,
    settings: PacketSettings,
) -> PacketNetwork {
    let settings = PacketSettings {
        report_departures: true,
        ..settings
    };
    PacketNetwork::new(topology, settings)
}

/// Runs flows that start at once. Returns the arrival of each flow's last packet, in picoseconds.
///
/// The flows of a host take turns: a packet is created when the previous one starts, because the
/// port of the host is busy meanwhile.
pub(crate) fn flow_ends(network: &mut PacketNetwork, flows: &[Flow]) -> Result<Vec<u64>, String> {
    let mut left: Vec<u32> = flows.iter().map(|flow| flow.packets).collect();
    let mut send = |network: &mut PacketNetwork, now, tag: u64| {
        let at = usize::try_from(tag).expect("a flow");
        if left[at] == 0 {
            return Ok(());
        }
        left[at] -= 1;
        let packet = OutboundPacket {
            destination: HostId(flows[at].to),
            wire_bytes: WIRE_BYTES,
            service_level: flows[at].service_level,
            flow_hash: flows[at].from,
            tag,
        };
        let sent = network.send(now, HostId(flows[at].from), packet);
        sent.map_err(|error| error.to_string())
    };
    for flow in 0..flows.len() as u64 {
        send(network, 0, flow)?;
    }
    let (mut delivered, mut ends) = (0, vec![0; flows.len()]);
    loop {
        while let Some(departure) = network.poll_departure() {
            send(network, departure.at, departure.tag)?;
        }
        while let Some(delivery) = network.poll_delivery() {
            delivered += 1;
            ends[usize::try_from(delivery.tag).expect("a flow")] = delivery.at;
        }
        let Some(time) = network.next_event_at() else {
            break;
        };
        network.handle_events(time);
    }
    let expected: u64 = flows.iter().map(|flow| u64::from(flow.packets)).sum();
    if delivered != expected {
        return Err(format!(
            "{delivered} packets delivered: expected {expected}"
        ));
    }
    Ok(ends)
}

/// Runs a pattern with flows of `packets` packets.
pub(crate) fn measure_pattern(pattern: &Pattern, packets: u32) -> Result<Figures, String> {
    let platform = Platform::parse("fat-tree.toml", PLATFORM).map_err(|error| error.to_string())?;
    let topology = Arc::new(PlatformTopology::new(Arc::new(platform)));
    let settings = (pattern.settings)();
    let lanes = u32::from(settings.data_vls);
    let mut network = build_network(topology, settings);
    let flows = flows(&(pattern.flows)(), packets, lanes);
    let before = user_seconds()?;
    let ends = flow_ends(&mut network, &flows)?;
    let end = ends.into_iter().max().unwrap_or(0);
    let statistics = network.statistics();
    Ok(Figures {
        hops: statistics.hops,
        events: statistics.events,
        cpu_s: user_seconds()? - before,
        peak_bytes: peak_bytes()?,
        bytes_per_port: (statistics.port_bytes / statistics.ports) as u64,
        end_us: to_f64(end) / 1e6,
    })
}

impl Figures {
    pub(crate) const HEADER: &str = "\
| pattern | packet-hops | events per hop | user CPU s | hops per s | peak memory | bytes per port | simulated µs |
|---|---|---|---|---|---|---|---|";

    pub(crate) fn to_line(self) -> String {
        let Self {
            hops,
            events,
            cpu_s,
            peak_bytes,
            bytes_per_port,
            end_us,
        } = self;
        format!("{hops} {events} {cpu_s} {peak_bytes} {bytes_per_port} {end_us}")
    }

    pub(crate) fn of_line(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let mut next = || words.next();
        Some(Self {
            hops: next()?.parse().ok()?,
            events: next()?.parse().ok()?,
            cpu_s: next()?.parse().ok()?,
            peak_bytes: next()?.parse().ok()?,
            bytes_per_port: next()?.parse().ok()?,
            end_us: next()?.parse().ok()?,
        })
    }

    pub(crate) fn to_row(self, name: &str) -> String {
        format!(
            "| {name} | {} | {:.2} | {:.2} | {:.2} M | {:.1} MiB | {} | {:.3} |",
            self.hops,
            to_f64(self.events) / to_f64(self.hops),
            self.cpu_s,
            to_f64(self.hops) / self.cpu_s / 1e6,
            to_f64(self.peak_bytes) / 1_048_576.0,
            self.bytes_per_port,
            self.end_us
        )
    }
}

pub(crate) fn user_seconds() -> Result<f64, String> {
    let usage = getrusage(UsageWho::RUSAGE_SELF).map_err(|error| error.to_string())?;
    let time = usage.user_time();
    #[expect(clippy::cast_precision_loss, reason = "seconds of a run")]
    Ok(time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6)
}

fn peak_bytes() -> Result<u64, String> {
    let usage = getrusage(UsageWho::RUSAGE_SELF).map_err(|error| error.to_string())?;
    u64::try_from(usage.max_rss() * 1024).map_err(|error| error.to_string())
}

#[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
pub(crate) const fn to_f64(count: u64) -> f64 {
    count as f64
}
