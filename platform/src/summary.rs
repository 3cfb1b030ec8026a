//! A platform in a few lines: counts and parameters.

mod changes;

use std::fmt;

use settings::{
    AtLimit, ConnectionMode, DcEndpoints, Limits, LogGopsLoopback, OverheadSection, OverheadTable,
    RendezvousMode, TransportMode,
};

use crate::build::for_each_zone;
use crate::file::{ClusterEntry, DiskEntry, Memory, Named, WifiEntry};
use crate::units::{Duration, Size};
use crate::{Connection, Factors, FluidParameters, LogGops, NetworkParameters, Noise, Platform};

/// A summary lists no more disks.
const DISKS_LISTED: usize = 16;

/// Prints counts of hosts, clusters, links and routes, the model and the parameters of the model;
/// made by [`Platform::summary`].
#[derive(Clone, Copy, Debug)]
pub struct Summary<'p>(pub(crate) &'p Platform);

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let platform = self.0;
        let mut clusters: Vec<String> = Vec::new();
        let mut disks: Vec<String> = Vec::new();
        let mut wifi: Vec<String> = Vec::new();
        if let Some(name) = platform.name() {
            writeln!(f, "name      {name}")?;
        }
        writeln!(
            f,
            "hosts     {} ({} single, {} in clusters)",
            platform.host_count,
            platform.singles.len(),
            platform.host_count as usize - platform.singles.len()
        )?;
        for_each_zone(&platform.file.root, &mut |_, here, zone| {
            clusters.extend(zone.clusters.iter().map(cluster_line));
            wifi.extend(zone.wifi.iter().map(|wifi| wifi_line(here.name, wifi)));
            for named in &zone.hosts {
                let owner = named.name.get_ref();
                disks.extend(named.entry.disks.iter().map(|disk| disk_line(owner, disk)));
            }
            for named in &zone.clusters {
                let owner = format!("each host of {}", named.name.get_ref());
                disks.extend(named.entry.disks.iter().map(|disk| disk_line(&owner, disk)));
            }
        });
        for line in clusters {
            writeln!(f, "cluster   {line}")?;
        }
        for line in disks.iter().take(DISKS_LISTED) {
            writeln!(f, "disk      {line}")?;
        }
        if disks.len() > DISKS_LISTED {
            writeln!(f, "disk      … and {} more", disks.len() - DISKS_LISTED)?;
        }
        for line in wifi {
            writeln!(f, "wifi      {line}")?;
        }
        let inner = platform.tree.zones.len() - 1;
        if inner > 0 {
            writeln!(f, "zones     {inner}")?;
        }
        // The implicit loopback is always there and not worth counting.
        writeln!(f, "links     {}", platform.wire_count - 1)?;
        writeln!(
            f,
            "routes    {} declared; cluster routes are computed",
            platform.tree.table.len()
        )?;
        let network = platform.network();
        let model = network.model;
        writeln!(f, "network   {}: {}", model.name(), model.summary())?;
        parameters(f, network)?;
        let threshold = &platform.protocol().eager_threshold;
        write!(f, "protocol  eager below {threshold}, then rendezvous")?;
        if let Some(bandwidth) = &platform.protocol().copy_bandwidth {
            write!(f, ", copies at {bandwidth}")?;
        }
        costs(f, platform.protocol())?;
        limits(f, platform.protocol())?;
        write_connection(f, platform.connection())?;
        memory_costs(f, platform.memory_costs())?;
        noise(f, platform.noise())
    }
}

/// Prints the costs of memory, if there are any.
fn memory_costs(f: &mut fmt::Formatter<'_>, memory: &Memory) -> fmt::Result {
    let tables = [
        ("reductions", &memory.reduce),
        ("copies", &memory.copy),
        ("first touches", &memory.first_touch),
        ("registrations", &memory.registration),
    ];
    for (name, table) in tables.into_iter().filter(|(_, table)| !table.is_empty()) {
        write!(f, "\nmemory    {}", overhead_line(name, table))?;
    }
    match &memory.datatype_build {
        Some(time) => write!(f, "\nmemory    {time} for a datatype of a collective"),
        None => Ok(()),
    }
}

/// Prints the noise of hosts and links, if there is any.
fn noise(f: &mut fmt::Formatter<'_>, noise: &Noise) -> fmt::Result {
    let Noise { compute, links } = noise;
    let mut parts = Vec::new();
    if let (Some(period), Some(detour)) = (&compute.period, &compute.detour) {
        parts.push(format!("computation stops for {detour} every {period}"));
    }
    if compute.variation > 0.0 {
        let variation = compute.variation;
        parts.push(format!(
            "computation times vary by a lognormal factor, coefficient of variation {variation}"
        ));
    }
    if let Some(latency) = &links.latency {
        parts.push(format!(
            "latencies of links grow by an exponential time of mean {latency}"
        ));
    }
    if parts.is_empty() {
        return Ok(());
    }
    write!(f, "\nnoise     {}", parts.join("\n          "))
}

/// Prints the parameters of connections between ranks, if they cost time.
fn write_connection(f: &mut fmt::Formatter<'_>, connection: &Connection) -> fmt::Result {
    if let Some(DcEndpoints { above, initiators }) = connection.endpoints {
        let text = "DC endpoints above";
        write!(
            f,
            "\nconnect   {text} {above} ranks, {initiators} initiators per rank"
        )?;
    }
    let when = match connection.mode {
        ConnectionMode::Instant => return Ok(()),
        ConnectionMode::Static => "all pairs at startup",
        ConnectionMode::OnDemand => "on demand",
    };
    write!(f, "\nconnect   {when}; ")?;
    let Connection {
        connect_time,
        accept_time,
        message_time,
        socket_size,
        request_size,
        response_size,
        close_size,
        ..
    } = connection;
    write!(
        f,
        "{connect_time} to open, {accept_time} to accept, {message_time} per message\n          \
         packets: socket {socket_size}, request {request_size}, answer {response_size}, close {close_size}"
    )?;
    if let Some(descriptors) = connection.descriptors {
        let full = match connection.at_limit {
            AtLimit::Wait => "wait",
            AtLimit::Fail => "fail",
        };
        write!(
            f,
            "\n          at most {descriptors} sockets per rank: idle ones are closed, without any sends {full}"
        )?;
    }
    match &connection.idle_close {
        Some(idle) => write!(f, "\n          closed when idle for {idle}"),
        None => Ok(()),
    }
}

/// Prints the costs of the protocols, if there are any.
fn costs(f: &mut fmt::Formatter<'_>, protocol: &crate::Protocol) -> fmt::Result {
    if protocol.simulates_control_messages() {
        f.write_str(", simulated control messages")?;
    }
    if let Some(control) = &protocol.control_size {
        write!(f, ", {control} per control message")?;
    }
    if let Some(cost) = &protocol.post_cost_per_packet {
        write!(f, ", {cost} per packet")?;
    }
    if let Some(cost) = &protocol.post_cost_per_batch {
        write!(f, ", {cost} per posting")?;
    }
    if protocol.ssend_protocol == Some(crate::SsendProtocol::Acknowledged) {
        f.write_str(", short synchronous messages acknowledged")?;
    }
    if protocol.ready_send == Some(crate::ReadySendMode::Strict) {
        f.write_str(", ready sends strict")?;
    }
    if protocol.transport == Some(TransportMode::Stream) {
        f.write_str(", streams")?;
    }
    let rendezvous = &protocol.rendezvous;
    if let Some(threshold) = &rendezvous.eager_threshold_nonblocking {
        write!(f, ", nonblocking sends eager below {threshold}")?;
    }
    if rendezvous.mode == RendezvousMode::Get {
        f.write_str(", rendezvous by reads")?;
    }
    if let Some(cost) = &rendezvous.cost {
        write!(f, ", {cost} to match an announcement")?;
    }
    Ok(())
}

/// Prints the limits of the message layer, if there are any.
fn limits(f: &mut fmt::Formatter<'_>, protocol: &crate::Protocol) -> fmt::Result {
    if !protocol.is_limited() {
        return Ok(());
    }
    let limits = &protocol.limits;
    let defaults = Limits::<Size>::NONE;
    let count = |number: Option<u32>, what: &str| number.map(|number| format!("{number} {what}"));
    let size = |size: Option<&Size>, what: &str| size.map(|size| format!("{size} {what}"));
    let parts = [
        size(limits.packet.as_ref(), "per packet"),
        count(limits.buffers, "packet buffers per rank"),
        count(limits.credits, "credits per connection"),
        count(
            (limits.reserved != defaults.reserved).then_some(limits.reserved),
            "of each reserved for control",
        ),
        count(limits.eager_messages, "eager messages per connection"),
        size(
            limits.eager_bytes.as_ref(),
            "of eager messages per connection",
        ),
        size(
            limits.unexpected.as_ref(),
            "of unexpected messages per rank",
        ),
        count(
            (limits.batch != defaults.batch).then_some(limits.batch),
            "packets at once",
        ),
        (!limits.direct).then(|| "rendezvous packed".to_owned()),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        return Ok(());
    }
    write!(f, "\n          limits: {}", parts.join(", "))
}

/// Prints the parameters of the model `loggops`.
fn loggops(f: &mut fmt::Formatter<'_>, costs: &LogGops) -> fmt::Result {
    let LogGops {
        latency,
        overhead,
        gap,
        gap_per_byte,
        overhead_per_byte,
        loopback,
    } = costs;
    writeln!(
        f,
        "          L {latency}, o {overhead}, g {gap}, G {gap_per_byte}/B, O {overhead_per_byte}/B"
    )?;
    if let Some(loopback) = loopback {
        let LogGopsLoopback {
            latency,
            overhead,
            gap_per_byte,
        } = loopback;
        writeln!(
            f,
            "          within a host: L {latency}, o {overhead}, G {gap_per_byte}/B"
        )?;
    }
    Ok(())
}

fn parameters(f: &mut fmt::Formatter<'_>, network: &NetworkParameters) -> fmt::Result {
    if network.compat.is_some() {
        writeln!(f, "          with the quirks of SimGrid 4.1")?;
    }
    if let Some(duration) = &network.duration {
        writeln!(f, "          duration {duration}")?;
    }
    if let Some(factors) = &network.ib_penalty_factors {
        let crate::IbPenaltyFactors { be, bs, ys } = factors;
        writeln!(f, "          penalties be {be}, bs {bs}, ys {ys}")?;
    }
    if let Some(crate::PairDuplex { from, full }) = &network.pair_duplex {
        writeln!(
            f,
            "          exchanges of two hosts half duplex above {from}, fully from {full} on"
        )?;
    }
    if let Some(costs) = &network.loggops {
        loggops(f, costs)?;
    }
    if let Some(verbs) = &network.verbs {
        let crate::VerbsParameters {
            mtu,
            switch_latency,
            ..
        } = verbs;
        writeln!(
            f,
            "          device verbs: packets of {mtu}, switches of {switch_latency}"
        )?;
    }
    let Some(fluid) = &network.fluid else {
        return Ok(());
    };
    if !fluid.message_latency.is_empty() {
        let line = overhead_line("latency of messages", &fluid.message_latency);
        writeln!(f, "          {line}")?;
    }
    if let Some(gap) = &fluid.message_gap {
        writeln!(f, "          {gap} from one message of a host to the next")?;
    }
    for (name, factor) in [
        ("latency", &fluid.latency_factor),
        ("bandwidth", &fluid.bandwidth_factor),
    ] {
        match factor {
            Factors::Same(1.0) => {}
            Factors::Same(all) => writeln!(f, "          {name} x {all}")?,
            Factors::Steps(steps) => {
                write!(f, "          {name} x")?;
                for step in steps {
                    write!(f, " {} above {},", step.factor, step.above)?;
                }
                writeln!(f, " 1 below")?;
            }
        }
    }
    if fluid.rtt_penalty {
        let weight = &fluid.weight_s;
        writeln!(f, "          unfair by latency + {weight} / bandwidth")?;
    }
    if fluid.tcp_gamma.bytes() > 0 {
        writeln!(f, "          window {}", fluid.tcp_gamma)?;
    }
    if fluid.crosstraffic > 0.0 {
        let share = fluid.crosstraffic;
        writeln!(f, "          {share} of each rate on the way back")?;
    }
    message_layer(f, fluid)
}

/// The parameters that are for the message layer.
fn message_layer(f: &mut fmt::Formatter<'_>, fluid: &FluidParameters) -> fmt::Result {
    if let Some(threshold) = &fluid.async_small_threshold {
        writeln!(
            f,
            "          eager messages from {threshold} on leave when they are received"
        )?;
    }
    for (name, table) in fluid.overheads.tables() {
        if !table.is_empty() {
            writeln!(f, "          {}", overhead_line(name, table))?;
        }
    }
    if fluid.envelope.bytes() > 0 {
        writeln!(f, "          messages grow by {}", fluid.envelope)?;
    }
    Ok(())
}

fn overhead_line(name: &str, table: &OverheadTable<Size, Duration>) -> String {
    let mut line = name.to_owned();
    for section in table.sections() {
        let OverheadSection {
            above,
            time,
            per_byte,
        } = section;
        line += &format!(" {time} + {per_byte}/B above {above},");
    }
    line + " 0 below"
}

/// The most lines about power states and profiles.
const CHANGES_MAX: usize = 40;

/// Prints the tree of zones with the contents of each zone, and the power states and profiles; made
/// by [`Platform::outline`].
#[derive(Clone, Copy, Debug)]
pub struct Outline<'p>(pub(crate) &'p Platform);

impl fmt::Display for Outline<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines: Vec<String> = Vec::new();
        let mut changes: Vec<String> = Vec::new();
        for_each_zone(&self.0.file.root, &mut |_, here, zone| {
            let indent = "  ".repeat(here.depth as usize);
            let name = match here.name {
                "" => "platform",
                name => name,
            };
            let mut parts = vec![format!("routing {}", zone.routing.name())];
            for (count, what) in [
                (zone.hosts.len(), "host"),
                (zone.routers.len(), "router"),
                (zone.links.len(), "link"),
                (zone.routes.len(), "route"),
            ] {
                match count {
                    0 => {}
                    1 => parts.push(format!("1 {what}")),
                    _ => parts.push(format!("{count} {what}s")),
                }
            }
            if let Some(gateway) = &zone.gateway {
                parts.push(format!("gateway {}", gateway.get_ref()));
            }
            lines.push(format!("zone      {indent}{name}: {}", parts.join(", ")));
            for named in &zone.clusters {
                lines.push(format!("cluster   {indent}  {}", cluster_line(named)));
            }
            changes.extend(changes::zone_lines(zone));
        });
        let more = changes.len().saturating_sub(CHANGES_MAX);
        lines.extend(changes.into_iter().take(CHANGES_MAX));
        if more > 0 {
            lines.push(format!(
                "          and {more} more power states and profiles"
            ));
        }
        f.write_str(&lines.join("\n"))
    }
}

/// Zone and levels of the air of a Wi-Fi zone.
fn wifi_line(zone: &str, entry: &WifiEntry) -> String {
    let levels: Vec<String> = (0..)
        .zip(&entry.bandwidths)
        .map(|(level, rate): (u32, _)| format!("{level}: {rate}"))
        .collect();
    let zone = match zone {
        "" => "platform",
        zone => zone,
    };
    let decay = if entry.decay {
        ", with decay above 20 transfers"
    } else {
        ""
    };
    format!("{zone}, rates by level {}{decay}", levels.join(", "))
}

/// Name, owner and limits of a disk.
fn disk_line(owner: &str, named: &Named<DiskEntry>) -> String {
    let entry = &named.entry;
    format!(
        "{} of {owner}: reads {}, writes {}, in all {}",
        named.name.get_ref(),
        entry.read_bandwidth,
        entry.write_bandwidth,
        entry.total(),
    )
}

/// Name, hosts and parameters of a cluster.
fn cluster_line(named: &Named<ClusterEntry>) -> String {
    let entry = &named.entry;
    let mut line = format!(
        "{}: {}, {} hosts of {} x {}, links of {} and {}",
        named.name.get_ref(),
        entry.hosts.text(),
        entry.hosts.count(),
        entry.cores,
        entry.speed,
        entry.link.bandwidth,
        entry.link.latency,
    );
    line.push_str(&format!(", {}", entry.topology.description().summary));
    if let Some(backbone) = &entry.backbone {
        line.push_str(&format!(" of {}", backbone.bandwidth));
    }
    if let Some(limiter) = &entry.limiter {
        line.push_str(&format!(", limiters of {limiter}"));
    }
    if let Some(loopback) = &entry.loopback {
        line.push_str(&format!(", loopbacks of {}", loopback.bandwidth));
    }
    let (hosts, links) = (entry.host_overrides.len(), entry.link_overrides.len());
    if hosts + links > 0 {
        line.push_str(&format!(", overrides of {hosts} hosts and {links} links"));
    }
    line
}
