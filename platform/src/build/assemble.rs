//! Gives out the numbers of hosts, ends and links; the file has no mistakes.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::resolve::Resolved;
use super::{for_each_zone, overrides};
use crate::cluster::Cluster;
use crate::disk::{DiskLimits, Disks};
use crate::file::{
    ClusterEntry, DiskEntry, HostEntry, LinkEntry, Named, PlatformFile, PowerState, Speeds,
    ToItself, ZoneEntry,
};
use crate::platform::{Cores, HostPowerStates, Platform, SingleHost};
use crate::profile::{Profile, Target};
use crate::route::Wire;
use crate::zone::{WifiChannel, Zone, ZoneTree};
use crate::{HostId, LinkId, Sharing};

/// Parts of the platform, collected zone by zone.
#[derive(Default)]
struct Parts {
    numbers: Numbers,
    singles: Vec<SingleHost>,
    single_zones: Vec<u32>,
    wires: Vec<Wire>,
    link_names: Vec<String>,
    routers: Vec<String>,
    router_zones: Vec<u32>,
    zones: Vec<Zone>,
    zone_zones: Vec<u32>,
    coordinates: BTreeMap<u32, [f64; 3]>,
    zone_coordinates: Vec<(u32, [f64; 3])>,
    profiles: Vec<Profile>,
    power: BTreeMap<u32, HostPowerStates>,
    disks: Disks,
}

impl Parts {
    /// Takes over the profiles of a link, in both directions.
    fn link_profiles(&mut self, entry: &LinkEntry, wire: Wire) {
        let link = LinkId(2 * wire.number);
        for (profile, target) in [
            (&entry.bandwidth_profile, Target::Bandwidth(link)),
            (&entry.latency_profile, Target::Latency(link)),
            (&entry.state_profile, Target::Link(link)),
        ] {
            let profile = profile.as_ref();
            self.profiles
                .extend(profile.map(|entry| entry.to_profile(target, 2)));
        }
    }

    /// Takes over the profiles of a host.
    fn host_profiles(&mut self, entry: &HostEntry, host: HostId) {
        let (speed, state) = (&entry.speed_profile, &entry.state_profile);
        let speed = speed.as_ref();
        let speed = speed.map(|entry| entry.to_profile(Target::Speed(host), 1));
        let state = state.as_ref();
        let state = state.map(|entry| entry.to_profile(Target::Host(host), 1));
        self.profiles.extend(speed.into_iter().chain(state));
    }

    /// Takes over the power states of an end.
    fn power(&mut self, end: u32, speeds: &Speeds, state: PowerState) {
        let power = power(speeds, state);
        self.power.extend(power.map(|power| (end, power)));
    }

    /// Takes over the members and links of a zone, except clusters and inner zones.
    fn add_zone(&mut self, number: u32, entry: &ZoneEntry) {
        let coordinates = entry.coordinates.map(|coordinates| (number, coordinates));
        self.zone_coordinates.extend(coordinates);
        for named in &entry.links {
            let wire = self.numbers.wires(&named.entry, 1);
            self.link_profiles(&named.entry, wire);
            self.wires.push(wire);
            self.link_names.push(named.name.get_ref().clone());
        }
        for named in &entry.hosts {
            let host = entry_count(&self.singles);
            let coordinates = named.entry.coordinates;
            self.coordinates
                .extend(coordinates.map(|coordinates| (host, coordinates)));
            let HostEntry { speed, pstate, .. } = &named.entry;
            self.power(host, speed, *pstate);
            self.host_profiles(&named.entry, HostId(host));
            self.singles.push(SingleHost {
                name: named.name.get_ref().as_str().into(),
                cores: Cores {
                    speed: speed.state_speed(*pstate),
                    count: named.entry.cores,
                },
            });
            self.single_zones.push(number);
            self.disks.add_disks(host, 1, disks(&named.entry.disks));
        }
        for name in &entry.routers {
            self.routers.push(name.get_ref().clone());
            self.router_zones.push(number);
        }
    }
}

/// Makes the platform.
pub(super) fn assemble(file: PlatformFile, resolved: Resolved) -> Platform {
    let Resolved { table, mut graphs } = resolved;
    let mut parts = Parts::default();
    for_each_zone(&file.root, &mut |number, here, entry| {
        parts.zones.push(Zone {
            name: here.name.to_owned(),
            table: format!("{}routes", here.prefix),
            routing: entry.routing,
            depth: here.depth,
            itself_over_links: entry.to_itself == ToItself::Links,
            graph: graphs[number as usize].take(),
            air: None,
        });
        parts.zone_zones.push(here.outer);
        parts.add_zone(number, entry);
    });
    // The number after the declared links is the implicit loopback.
    parts.numbers.next += 1;
    let (clusters, cluster_zones, host_count) = clusters(&file, &mut parts);
    let mut air = air(&file, &mut parts.numbers);
    let mut by_name: Vec<u32> = (0..entry_count(&parts.singles)).collect();
    by_name.sort_by(|one, two| {
        let name = |host: &u32| &parts.singles[*host as usize].name;
        name(one).cmp(name(two))
    });
    let zone_of = [
        parts.single_zones,
        cluster_zones,
        parts.router_zones,
        parts.zone_zones,
    ]
    .concat();
    let mut tree = ZoneTree {
        singles: entry_count(&parts.singles),
        clusters,
        routers: parts.routers,
        zones: parts.zones,
        zone_of,
        coordinates: parts.coordinates,
        table,
        wires: parts.wires,
    };
    find_stations(&file, &mut tree, &mut air);
    for (zone, coordinates) in parts.zone_coordinates {
        let end = tree.zone_end(zone);
        tree.coordinates.insert(end, coordinates);
    }
    Platform {
        file,
        profiles: parts.profiles,
        power: parts.power,
        singles: parts.singles,
        by_name,
        link_names: parts.link_names,
        tree,
        disks: parts.disks,
        notes: Vec::new(),
        host_count,
        wire_count: parts.numbers.next,
    }
}

/// The clusters of all zones, the zone of each, and the number of all hosts.
fn clusters(file: &PlatformFile, parts: &mut Parts) -> (Vec<Cluster>, Vec<u32>, u32) {
    let mut clusters = Vec::new();
    let mut zones = Vec::new();
    let mut host_count = entry_count(&parts.singles);
    let singles = host_count;
    for_each_zone(&file.root, &mut |zone, _, entry| {
        for named in &entry.clusters {
            let entry = &named.entry;
            let compat = file.network.compat.is_some();
            let mut cluster = cluster(named, host_count, compat, &mut parts.numbers);
            let count = entry.hosts.count();
            let end = singles + entry_count(&clusters);
            parts.power(end, &entry.speed, entry.pstate);
            let profiles = overrides::apply_overrides(&mut cluster, entry);
            parts.profiles.extend(profiles);
            clusters.push(cluster);
            zones.push(zone);
            parts
                .disks
                .add_disks(host_count, count, disks(&entry.disks));
            host_count += count;
        }
    });
    (clusters, zones, host_count)
}

/// Makes a cluster with equal hosts and equal links; the links get the next numbers.
pub(super) fn cluster(
    named: &Named<ClusterEntry>,
    host_first: u32,
    compat: bool,
    numbers: &mut Numbers,
) -> Cluster {
    let entry = &named.entry;
    let mut link = entry.link.clone();
    if compat && link.sharing == Sharing::FatPipe {
        link.sharing = Sharing::Shared;
    }
    let topology = Arc::clone(&entry.topology);
    let count = entry.hosts.count();
    let backbone = entry.backbone.as_ref().map(|link| numbers.wires(link, 1));
    let cable = numbers.wires(&link, topology.cables());
    let loopback = entry.loopback.as_ref();
    let loopback = loopback.map(|link| numbers.wires(link, count));
    let limiter = entry.limiter.as_ref().map(|limit| Wire {
        number: numbers.take_numbers(count + topology.switches()),
        bandwidth: limit.bytes_per_s(),
        latency_s: 0.0,
        sharing: Sharing::Shared,
    });
    Cluster {
        name: named.name.get_ref().clone(),
        hosts: entry.hosts.clone(),
        host_first,
        cores: Cores {
            speed: entry.speed.state_speed(entry.pstate),
            count: entry.cores,
        },
        topology,
        cable,
        backbone,
        limiter,
        loopback,
        itself_over_links: entry.to_itself == ToItself::Links,
        own_hosts: BTreeMap::new(),
        own_links: BTreeMap::new(),
    }
}

/// The air of each Wi-Fi zone, without its stations.
fn air(file: &PlatformFile, numbers: &mut Numbers) -> Vec<(u32, WifiChannel)> {
    let mut all = Vec::new();
    for_each_zone(&file.root, &mut |zone, here, entry| {
        let Some(wifi) = &entry.wifi else { return };
        let usual = format!("{}:air", here.name);
        let air = WifiChannel {
            name: wifi.name.clone().unwrap_or(usual),
            wire: Wire {
                number: numbers.take_numbers(1),
                bandwidth: wifi.bandwidths[0].bytes_per_s(),
                latency_s: 0.0,
                sharing: Sharing::Wifi,
            },
            access_point: None,
            decay: wifi.decay,
            rates: BTreeMap::new(),
        };
        all.push((zone, air));
    });
    all
}

/// Adds to each air the stations and the access point, and to each zone its air.
fn find_stations(file: &PlatformFile, tree: &mut ZoneTree, air: &mut Vec<(u32, WifiChannel)>) {
    let mut host = 0;
    let router_first = tree.singles + entry_count(&tree.clusters);
    let mut router = router_first;
    let mut next = air.drain(..).peekable();
    for_each_zone(&file.root, &mut |zone, _, entry| {
        let gateway = entry.gateway.as_ref().map(|name| name.get_ref());
        let found = next.next_if(|(number, _)| *number == zone);
        let mut found = found.map(|(_, air)| air);
        for named in &entry.hosts {
            if let (Some(air), Some(wifi)) = (&mut found, &entry.wifi) {
                let level = named.entry.wifi_level.as_ref();
                let level = level.map_or(0, |level| level.get_ref().0 as usize);
                air.rates.insert(host, wifi.bandwidths[level].bytes_per_s());
                if gateway == Some(named.name.get_ref()) {
                    air.access_point = Some(host);
                }
            }
            host += 1;
        }
        for name in &entry.routers {
            if let (Some(air), true) = (&mut found, gateway == Some(name.get_ref())) {
                air.access_point = Some(router);
            }
            router += 1;
        }
        tree.zones[zone as usize].air = found;
    });
}

fn disks(entries: &[Named<DiskEntry>]) -> Vec<DiskLimits> {
    let disk = |named: &Named<DiskEntry>| DiskLimits {
        name: named.name.get_ref().as_str().into(),
        read_bandwidth: named.entry.read_bandwidth.bytes_per_s(),
        write_bandwidth: named.entry.write_bandwidth.bytes_per_s(),
        total_bandwidth: named.entry.total().bytes_per_s(),
    };
    entries.iter().map(disk).collect()
}

/// The power states of a host, if the host has several.
pub(super) fn power(speeds: &Speeds, state: PowerState) -> Option<HostPowerStates> {
    (speeds.count() > 1).then(|| HostPowerStates {
        speeds: speeds.flop_per_s().collect(),
        state: state.0,
    })
}

fn entry_count<T>(list: &[T]) -> u32 {
    u32::try_from(list.len()).expect("fewer entries than HOSTS_MAX")
}

/// Gives out the numbers of physical links.
#[derive(Default)]
pub(super) struct Numbers {
    next: u32,
}

impl Numbers {
    /// The first of `count` consecutive numbers.
    fn take_numbers(&mut self, count: u32) -> u32 {
        let number = self.next;
        self.next += count;
        number
    }

    /// The first of `count` equal links with consecutive numbers.
    fn wires(&mut self, entry: &LinkEntry, count: u32) -> Wire {
        Wire {
            number: self.take_numbers(count),
            bandwidth: entry.bandwidth.bytes_per_s(),
            latency_s: entry.latency.as_secs(),
            sharing: entry.sharing,
        }
    }
}
