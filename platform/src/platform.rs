//! A loaded platform with its hosts, links and routes; see [`Platform::load`].
//!
//! Hosts are numbered: first single hosts, then hosts of clusters, both in the order of the file,
//! hosts of a zone before hosts of its inner zones. A cluster is one entry for any number of hosts:
//! names, links and routes of its hosts are computed, so that a million hosts need as much memory
//! as one host.
//!
//! Routes are computed in `zone` and `topology`. A host reaches itself over its declared loopback,
//! or the declared route to itself, or the links of the host if the file says so, or else over an
//! implicit fatpipe.
//!
//! *Not modelled*: costs of switches. Two hosts without a route cannot communicate, and a run that
//! needs such a route is refused before it starts.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use settings::{LibrarySettings, MemorySettings};
use sim_core::{DiskId, HostId, Span};

use crate::build::{build, finish_platform};
use crate::diagnostic::{Diagnostics, LoadError, Source, Unreadable};
use crate::disk::{DiskInfo, Disks};
use crate::file::{PlatformFile, Read};
use crate::nearest::nearest;
use crate::note::ImportNote;
use crate::overrides::{Override, apply_overrides, blame};
use crate::profile::Profile;
use crate::route::{LinkId, NoRoute, Route, RouteEnd, Wire};
use crate::summary::{Outline, Summary};
use crate::units::{Duration, Size};
use crate::zone::{Gap, ZoneTree};
use crate::{
    Collectives, Connection, Memory, NetworkModel, NetworkParameters, Noise, Protocol, Sharing,
};

/// A platform: hosts, links and the routes between them.
#[derive(Clone, Debug)]
pub struct Platform {
    pub(crate) file: PlatformFile,
    /// The hosts of `[hosts]` in all zones.
    pub(crate) singles: Vec<SingleHost>,
    /// The numbers of these hosts, sorted by name.
    pub(crate) by_name: Vec<u32>,
    /// Names of the links of `[links]`, by physical number; the number after the last is the
    /// implicit loopback.
    pub(crate) link_names: Vec<String>,
    pub(crate) tree: ZoneTree,
    /// Changes during a run.
    pub(crate) profiles: Vec<Profile>,
    /// The power states of hosts that have several, by end.
    pub(crate) power: BTreeMap<u32, HostPowerStates>,
    pub(crate) disks: Disks,
    pub(crate) notes: Vec<ImportNote>,
    pub(crate) host_count: u32,
    /// Number of physical links.
    pub(crate) wire_count: u32,
}

/// The largest platform file, in bytes: enough for hundreds of thousands of hosts in tables of
/// their own, and an end for devices and pipes that have none.
pub(crate) const FILE_MAX: u64 = 64 << 20;

/// Reads a file as text.
///
/// # Errors
/// [`LoadError::Unreadable`] if the file cannot be read, is a named pipe, is not UTF-8 or has more
/// than 64 MiB.
pub fn read_text(path: &Path) -> Result<String, LoadError> {
    let unreadable = |error| LoadError::Unreadable(Unreadable::io(path, &error));
    // A pipe that is open already, such as /dev/stdin, has no name in a folder.
    let is_pipe = path
        .metadata()
        .is_ok_and(|found| found.file_type().is_fifo());
    if is_pipe && path.canonicalize().is_ok() {
        return Err(LoadError::Unreadable(Unreadable::named_pipe(path)));
    }
    let bytes = files::read_bytes(path, FILE_MAX).map_err(|error| match error.kind() {
        ErrorKind::FileTooLarge => LoadError::Unreadable(Unreadable::too_long(path)),
        _ => unreadable(error),
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let valid_up_to = error.utf8_error().valid_up_to();
        let unreadable = Unreadable::not_utf8(path, error.as_bytes(), valid_up_to);
        LoadError::Unreadable(unreadable)
    })
}

/// A host of `[hosts]`.
#[derive(Clone, Debug)]
pub(crate) struct SingleHost {
    pub(crate) name: Box<str>,
    pub(crate) cores: Cores,
}

/// Cores of a host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cores {
    /// Flop per second of one core.
    pub(crate) speed: f64,
    pub(crate) count: u32,
}

/// The power states of equal hosts.
#[derive(Clone, Debug)]
pub(crate) struct HostPowerStates {
    /// Flop per second of one core in each.
    pub(crate) speeds: Vec<f64>,
    /// The one at the start.
    pub(crate) state: u32,
}

/// One direction of a link, for reports.
#[derive(Clone, PartialEq, Debug)]
pub struct LinkInfo {
    /// Name of the link, with the direction if the link has two directions.
    pub name: String,
    /// Bytes per second.
    pub bandwidth: f64,
    /// Latency of a transfer over the link.
    pub latency: Span,
    /// Sharing of the link among transfers.
    pub sharing: Sharing,
}

/// The air of a Wi-Fi zone, which the stations of the zone share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AirLink {
    /// The number of the air as a link, in the direction `up`.
    pub link: LinkId,
    /// True if collisions cost part of the time: the key `decay` of the zone.
    pub decay: bool,
}

impl Platform {
    /// Reads the platform file at `path`.
    ///
    /// # Errors
    /// [`LoadError`] if the file cannot be read, or with all mistakes of the file.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, LoadError> {
        let path = path.as_ref();
        let text = read_text(path)?;
        let name = path.display().to_string();
        let folder = path.parent();
        build(&name, &text, folder).map_err(LoadError::Diagnostics)
    }

    /// Returns the same platform with changes; mistakes are reported at the changes, as in a file
    /// called `file_name`.
    ///
    /// # Errors
    /// [`LoadError`] if a change has no match or makes the platform invalid.
    pub fn with_overrides(
        self,
        file_name: &str,
        overrides: &[Override],
    ) -> Result<Self, LoadError> {
        if overrides.is_empty() {
            return Ok(self);
        }
        let overrides: Vec<Override> = overrides.iter().map(|one| one.in_cluster(&self)).collect();
        let before = self.to_toml();
        let text = apply_overrides(&before, &overrides).map_err(LoadError::Override)?;
        let mut platform = build(file_name, &text, None).map_err(|found| {
            LoadError::Diagnostics(blame(file_name, &before, &overrides, &found))
        })?;
        platform.notes = self.notes;
        Ok(platform)
    }

    /// Makes the platform of a file that was converted from another format; the names in `file`
    /// have their places in `source`, and `notes` list the parts that could not be converted.
    ///
    /// # Errors
    /// All mistakes in the file.
    pub fn from_file(
        source: Source,
        file: PlatformFile,
        notes: Vec<ImportNote>,
    ) -> Result<Self, Diagnostics> {
        let mut platform = finish_platform(source, Read::from_file(file))?;
        platform.notes = notes;
        Ok(platform)
    }

    /// Returns the parts that could not be converted from another format.
    #[must_use]
    pub fn notes(&self) -> &[ImportNote] {
        &self.notes
    }

    /// Reads a platform from `text`; mistakes are reported as in a file called `file_name`. The
    /// text has no folder, so it cannot name other files.
    ///
    /// # Errors
    /// [`LoadError::Diagnostics`] with all mistakes in the text.
    pub fn parse(file_name: &str, text: &str) -> Result<Self, LoadError> {
        build(file_name, text, None).map_err(LoadError::Diagnostics)
    }

    /// The name that the file gives to the platform.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.file.name.as_deref()
    }

    /// The network model that the file asks for.
    #[must_use]
    pub const fn network_model(&self) -> NetworkModel {
        self.file.network.model
    }

    /// The network model with its parameters.
    #[must_use]
    pub const fn network(&self) -> &NetworkParameters {
        &self.file.network
    }

    /// Returns the selection of algorithms of collective operations.
    #[must_use]
    pub const fn collectives(&self) -> &Collectives {
        &self.file.collectives
    }

    /// Returns the parameters of the message layer.
    #[must_use]
    pub const fn protocol(&self) -> &Protocol {
        &self.file.protocol
    }

    /// Returns the parts of the message layer of a library; `None` if no key of them is set.
    #[must_use]
    pub fn library_settings(&self) -> Option<LibrarySettings> {
        let rendezvous = &self.protocol().rendezvous;
        (!rendezvous.is_default()).then(|| LibrarySettings {
            rendezvous: rendezvous.map_units(Size::bytes, Duration::as_secs),
        })
    }

    /// Returns the costs of memory in collective operations, as they are written.
    #[must_use]
    pub const fn memory_costs(&self) -> &Memory {
        &self.file.memory
    }

    /// Returns the costs of memory in collective operations; `None` if there are none.
    #[must_use]
    pub fn memory_settings(&self) -> Option<MemorySettings> {
        let memory = &self.file.memory;
        (!memory.is_default()).then(|| memory.map_units(Size::bytes, Duration::as_secs))
    }

    /// Returns the parameters of connections between ranks.
    #[must_use]
    pub const fn connection(&self) -> &Connection {
        &self.file.connection
    }

    /// Returns the noise of hosts and links.
    #[must_use]
    pub const fn noise(&self) -> &Noise {
        &self.file.noise
    }

    /// Returns the platform as it was read, as TOML, with the original text of each quantity and
    /// every default spelled out.
    #[must_use]
    pub fn to_toml(&self) -> String {
        self.file.to_toml()
    }

    /// Counts and parameters, for people.
    #[must_use]
    pub const fn summary(&self) -> Summary<'_> {
        Summary(self)
    }

    /// Zones, clusters and routers as an indented list, for people.
    #[must_use]
    pub const fn outline(&self) -> Outline<'_> {
        Outline(self)
    }

    /// Returns the name of the host nearest to `name`, if one is near.
    #[must_use]
    pub fn nearest_host(&self, name: &str) -> Option<String> {
        let singles = self.singles.iter().map(|single| single.name.to_string());
        let clusters = self.tree.clusters.iter().flat_map(|cluster| {
            let last = cluster.hosts.count().saturating_sub(1);
            [cluster.hosts.name(0), cluster.hosts.name(last)]
        });
        let known: Vec<String> = singles.chain(clusters).collect();
        nearest(name, known.iter().map(String::as_str)).map(str::to_owned)
    }

    /// The number of hosts; their identifiers are the numbers below.
    #[must_use]
    pub const fn host_count(&self) -> u32 {
        self.host_count
    }

    /// All hosts, in order.
    pub fn hosts(&self) -> impl ExactSizeIterator<Item = HostId> + use<> {
        (0..self.host_count).map(HostId)
    }

    /// The name of a host.
    ///
    /// # Panics
    /// If there is no such host.
    #[must_use]
    pub fn host_name(&self, host: HostId) -> Cow<'_, str> {
        let place = self.host_route_end(host);
        match self.tree.cluster(place.end) {
            Some(cluster) => Cow::Owned(cluster.hosts.name(place.offset)),
            None => Cow::Borrowed(&self.singles[place.end as usize].name),
        }
    }

    /// The host called `name`.
    #[must_use]
    pub fn host_by_name(&self, name: &str) -> Option<HostId> {
        let single = self
            .by_name
            .binary_search_by(|host| (*self.singles[*host as usize].name).cmp(name));
        if let Ok(at) = single {
            return Some(HostId(self.by_name[at]));
        }
        let mut found = self.tree.clusters.iter().filter_map(|cluster| {
            let index = cluster.hosts.index_of(name)?;
            Some(HostId(cluster.host_first + index))
        });
        found.next()
    }

    /// The speed of one core of a host at the start, in flop/s.
    ///
    /// # Panics
    /// If there is no such host.
    #[must_use]
    pub fn speed(&self, host: HostId) -> f64 {
        self.cores_of(host).speed
    }

    /// The number of cores of a host.
    ///
    /// # Panics
    /// If there is no such host.
    #[must_use]
    pub fn cores(&self, host: HostId) -> u32 {
        self.cores_of(host).count
    }

    /// The number of power states of a host, at least 1.
    ///
    /// # Panics
    /// If there is no such host.
    #[must_use]
    pub fn pstate_count(&self, host: HostId) -> u32 {
        let power = self.power_of(host);
        let count = power.map_or(1, |power| power.speeds.len());
        u32::try_from(count).expect("a list in a file has fewer than 2^32 entries")
    }

    /// The power state of a host at the start.
    ///
    /// # Panics
    /// If there is no such host.
    #[must_use]
    pub fn pstate(&self, host: HostId) -> u32 {
        let power = self.power_of(host);
        power.map_or(0, |power| power.state)
    }

    /// The speed of one core of a host in a power state, in flop/s; `None` for an unknown state.
    ///
    /// # Panics
    /// If there is no such host.
    #[must_use]
    pub fn pstate_speed(&self, host: HostId, state: u32) -> Option<f64> {
        match self.power_of(host) {
            Some(power) => power.speeds.get(state as usize).copied(),
            None => (state == 0).then(|| self.speed(host)),
        }
    }

    fn power_of(&self, host: HostId) -> Option<&HostPowerStates> {
        let place = self.host_route_end(host);
        let cluster = self.tree.cluster(place.end);
        match cluster.and_then(|cluster| cluster.own_hosts.get(&place.offset)) {
            Some(own) => own.power.as_ref(),
            None => self.power.get(&place.end),
        }
    }

    /// Returns true if a host is in a power state of speed 0 at the start.
    #[must_use]
    pub fn has_stopped_host(&self) -> bool {
        let clusters = self.tree.clusters.iter();
        let own = clusters.flat_map(|cluster| cluster.own_hosts.values());
        let own = own.filter_map(|own| own.power.as_ref());
        let mut powers = self.power.values().chain(own);
        powers.any(|power| power.speeds.get(power.state as usize) == Some(&0.0))
    }

    /// The air of each Wi-Fi zone, as a link.
    pub fn airs(&self) -> impl Iterator<Item = AirLink> + use<'_> {
        let zones = self.tree.zones.iter();
        let airs = zones.filter_map(|zone| zone.air.as_ref());
        airs.map(|air| AirLink {
            link: air.wire.id(false),
            decay: air.decay,
        })
    }

    /// The changes that the file declares for links and hosts while anything runs, in the order of
    /// the file.
    #[must_use]
    pub fn profiles(&self) -> &[Profile] {
        &self.profiles
    }

    /// Returns the link called `name`, as in the file or as [`Platform::link`] names the link. A
    /// name without direction means the direction `up`.
    #[must_use]
    pub fn link_by_name(&self, name: &str) -> Option<LinkId> {
        if let Some(at) = self.link_names.iter().position(|known| known == name) {
            return Some(LinkId(2 * u32::try_from(at).ok()?));
        }
        let mut clusters = self.tree.clusters.iter();
        if let Some(ids) = clusters.find_map(|cluster| cluster.find_link(name)) {
            return Some(LinkId(ids.start));
        }
        let declared = (0..self.tree.wires.len()).filter_map(|at| u32::try_from(at).ok());
        let zones = self.tree.zones.iter();
        let air = zones.filter_map(|zone| Some(zone.air.as_ref()?.wire.number));
        let ids = declared.chain(air);
        let mut ids = ids.flat_map(|number| [LinkId(2 * number), LinkId(2 * number + 1)]);
        ids.find(|id| self.link(*id).name == name)
    }

    /// The number of disks; their identifiers are the numbers below.
    #[must_use]
    pub const fn disk_count(&self) -> u32 {
        self.disks.disk_count()
    }

    /// The disk of a host that is called so.
    #[must_use]
    pub fn disk_by_name(&self, host: HostId, name: &str) -> Option<DiskId> {
        self.disks.find_disk(host, name)
    }

    /// Name, host and limits of a disk.
    #[must_use]
    pub fn disk(&self, disk: DiskId) -> Option<DiskInfo<'_>> {
        let (host, disk) = self.disks.get(disk)?;
        Some(DiskInfo {
            name: &disk.name,
            host,
            read_bandwidth: disk.read_bandwidth,
            write_bandwidth: disk.write_bandwidth,
            total_bandwidth: disk.total_bandwidth,
        })
    }

    /// The host of a disk.
    ///
    /// # Panics
    /// If there is no such disk.
    #[must_use]
    pub fn disk_host(&self, disk: DiskId) -> HostId {
        let found = self.disks.get(disk);
        found.map(|(host, _)| host).unwrap_or_else(|| {
            panic!(
                "disk number {} of a platform with {} disks",
                disk.0,
                self.disk_count()
            )
        })
    }

    /// One more than the largest [`LinkId`].
    #[must_use]
    pub const fn link_id_end(&self) -> u32 {
        2 * self.wire_count
    }

    /// Fills `route` with the way from one host to another, without allocating once the buffer is
    /// large enough (but for ways that are searched).
    ///
    /// # Errors
    /// [`NoRoute`] if the two hosts are not joined.
    ///
    /// # Panics
    /// If there is no such host.
    pub fn route_into(&self, from: HostId, to: HostId, route: &mut Route) -> Result<(), NoRoute> {
        route.clear();
        let (source, target) = (self.host_route_end(from), self.host_route_end(to));
        if from == to {
            self.to_itself(source, route);
            return Ok(());
        }
        self.tree
            .append_route(source, target, route)
            .map_err(|gap| self.no_route(from, to, gap))
    }

    /// The way from one host to another.
    ///
    /// # Errors
    /// [`NoRoute`] if the two hosts are not joined.
    ///
    /// # Panics
    /// If there is no such host.
    pub fn route(&self, from: HostId, to: HostId) -> Result<Route, NoRoute> {
        let mut route = Route::default();
        self.route_into(from, to, &mut route)?;
        Ok(route)
    }

    /// Checks that every ordered pair of distinct hosts in `used` has a route, if the network model
    /// uses routes.
    ///
    /// One host represents its cluster, and two hosts represent a star. The cost is the number of
    /// hosts plus the square of the number of representatives.
    ///
    /// # Errors
    /// [`NoRoute`] for the first pair without a route, in the order of `used`.
    ///
    /// # Panics
    /// If there is no such host.
    pub fn check_routes(&self, used: &[HostId]) -> Result<(), NoRoute> {
        if self.network().needs_no_routes() {
            return Ok(());
        }
        let mut seen = vec![false; self.tree.zone_of.len()];
        let mut in_star = vec![0_u8; self.tree.zones.len()];
        let mut hosts: Vec<HostId> = Vec::new();
        for host in used {
            let end = self.host_route_end(*host).end;
            if std::mem::replace(&mut seen[end as usize], true) {
                continue;
            }
            if let Some(zone) = self.tree.is_alike(end) {
                let count = &mut in_star[zone as usize];
                if *count == 2 {
                    continue;
                }
                *count += 1;
            }
            hosts.push(*host);
        }
        let mut route = Route::default();
        for from in &hosts {
            for to in &hosts {
                self.route_into(*from, *to, &mut route)?;
            }
        }
        Ok(())
    }

    fn cores_of(&self, host: HostId) -> Cores {
        let place = self.host_route_end(host);
        match self.tree.cluster(place.end) {
            Some(cluster) => {
                let own = cluster.own_hosts.get(&place.offset);
                own.map_or(cluster.cores, |own| own.cores)
            }
            None => self.singles[place.end as usize].cores,
        }
    }

    fn host_route_end(&self, host: HostId) -> RouteEnd {
        assert!(
            host.0 < self.host_count,
            "host number {} of a platform with {} hosts",
            host.0,
            self.host_count
        );
        if host.0 < self.tree.singles {
            return RouteEnd {
                end: host.0,
                offset: 0,
            };
        }
        let clusters = &self.tree.clusters;
        let after = match clusters.len() {
            1 => 1,
            _ => clusters.partition_point(|cluster| cluster.host_first <= host.0),
        };
        let before = u32::try_from(after - 1).expect("fewer clusters than hosts");
        RouteEnd {
            end: self.tree.singles + before,
            offset: host.0 - clusters[after - 1].host_first,
        }
    }

    fn to_itself(&self, place: RouteEnd, route: &mut Route) {
        match self.tree.cluster(place.end) {
            Some(cluster) => {
                if let Some(loopback) = cluster.loopback {
                    return route.push(cluster.wire(loopback, place.offset, false), false);
                }
                if cluster.itself_over_links {
                    cluster.walk(place.offset, place.offset, route);
                    if !route.is_nothing() {
                        return;
                    }
                }
            }
            None if self.tree.itself(place, route) => return,
            None => {}
        }
        route.push(self.implicit_loopback(), false);
    }

    fn implicit_loopback(&self) -> Wire {
        let loopback = self
            .file
            .network
            .fluid
            .as_ref()
            .map(|fluid| &fluid.loopback);
        let declared = self.tree.wires.len();
        Wire {
            number: u32::try_from(declared).expect("fewer than 2^31 links"),
            bandwidth: loopback.map_or(f64::INFINITY, |link| link.bandwidth.bytes_per_s()),
            latency_s: loopback.map_or(0.0, |link| link.latency.as_secs()),
            sharing: Sharing::FatPipe,
        }
    }

    pub(crate) fn end_name(&self, end: u32) -> &str {
        let tree = &self.tree;
        if let Some(single) = self.singles.get(end as usize) {
            return &single.name;
        }
        if let Some(cluster) = tree.cluster(end) {
            return &cluster.name;
        }
        let at = end as usize - self.singles.len() - tree.clusters.len();
        match tree.routers.get(at) {
            Some(router) => router,
            None => &tree.zones[at - tree.routers.len()].name,
        }
    }

    fn no_route(&self, from: HostId, to: HostId, gap: Gap) -> NoRoute {
        NoRoute {
            from: self.host_name(from).into_owned(),
            to: self.host_name(to).into_owned(),
            from_end: self.end_name(gap.from).to_owned(),
            to_end: self.end_name(gap.to).to_owned(),
            table: self.tree.zones[gap.zone as usize].table.clone(),
        }
    }

    /// Returns the name, bandwidth, latency and sharing of one direction of a link.
    ///
    /// The links of a cluster are called after their host, `node-3:up` and `node-3:down`
    /// (`node-3:link` if both directions share), `node-3:loopback`, `node-3:limiter`, or after the
    /// cluster, `nodes:backbone`. If a host has several cables, their numbers follow: `node-3/1:up`
    /// is the cable to parent 1 in a fat tree, or of dimension 1 of a torus. Inside a fat tree
    /// `nodes/1.5/2:up` is cable 2 of switch 5 of level 1; inside a dragonfly there are
    /// `nodes/green/G.C.R-S` (group, chassis, two routers), `nodes/black/G.C-D.R` (group, two
    /// chassis, router) and `nodes/blue/G-H` (two groups). The air of a Wi-Fi zone is called after
    /// the zone, `cell:air`, unless the air has a name; its bandwidth here is the rate of level 0.
    ///
    /// # Panics
    /// If there is no such link.
    #[must_use]
    pub fn link(&self, link: LinkId) -> LinkInfo {
        let number = link.0 / 2;
        let direction = if link.0.is_multiple_of(2) {
            "up"
        } else {
            "down"
        };
        let info = |wire: Wire, name: String| LinkInfo {
            name,
            bandwidth: wire.bandwidth,
            latency: Span::from_secs(wire.latency_s),
            sharing: wire.sharing,
        };
        if let Some(wire) = self.tree.wires.get(number as usize) {
            let name = &self.link_names[number as usize];
            return match wire.sharing {
                Sharing::SplitDuplex => info(*wire, format!("{name}:{direction}")),
                Sharing::Shared | Sharing::FatPipe | Sharing::Wifi => info(*wire, name.clone()),
            };
        }
        if number == self.implicit_loopback().number {
            return info(self.implicit_loopback(), "loopback".to_owned());
        }
        let mut air = self.tree.zones.iter().filter_map(|zone| zone.air.as_ref());
        if let Some(air) = air.find(|air| air.wire.number == number) {
            return info(air.wire, air.name.clone());
        }
        let clusters = &self.tree.clusters;
        let found = clusters
            .iter()
            .find_map(|cluster| cluster.named_link(number, direction));
        match found {
            Some((wire, name)) => info(wire, name),
            None => panic!(
                "link number {number} of a platform with {} links",
                self.wire_count
            ),
        }
    }
}
