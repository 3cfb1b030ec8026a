//! Hosts, links and routes, ready to be asked: what [`Platform::load`] gives.
//!
//! Hosts are numbered: first those of `[hosts]`, then those of each cluster, both in the order of the file. A cluster
//! is one entry whatever its size: names, links and routes of its hosts are computed, so that a million hosts cost as
//! much memory as one.
//!
//! Routes join *ends*: an end is a single host or a whole cluster. From a host of a cluster the way leads over its own
//! link, the backbone if there is one, the links of the `[[routes]]` entry, and likewise into another cluster.
//!
//! *Not modelled*: switches, and the way through a third end. Two hosts without a common cluster and without a
//! `[[routes]]` entry between their ends cannot talk, and a run that needs it is refused before it starts.

use std::borrow::Cow;
use std::path::Path;

use sim_core::{HostId, Span};

use crate::build::build;
use crate::file::PlatformFile;
use crate::mistake::{LoadError, Unreadable};
use crate::route::{LinkId, NoRoute, Route, RouteTable, Wire};
use crate::summary::Summary;
use crate::{NetworkModel, NetworkParameters, Protocol, Sharing};

/// A platform: hosts, links and the routes between them.
#[derive(Clone, Debug)]
pub struct Platform {
    pub(crate) file: PlatformFile,
    /// The hosts of `[hosts]`.
    pub(crate) singles: Vec<Cores>,
    /// The numbers of the hosts of `[hosts]`, sorted by name.
    pub(crate) by_name: Vec<u32>,
    pub(crate) clusters: Vec<Cluster>,
    /// The links of `[links]`, by physical number; the number after the last is the implicit loopback.
    pub(crate) wires: Vec<Wire>,
    pub(crate) routes: RouteTable,
    pub(crate) host_count: u32,
    /// Number of physical links.
    pub(crate) wire_count: u32,
}

/// What computes in a host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cores {
    /// Flop per second of one core.
    pub(crate) speed: f64,
    pub(crate) count: u32,
}

/// Equal hosts with equal links.
#[derive(Clone, Debug)]
pub(crate) struct Cluster {
    pub(crate) host_first: u32,
    pub(crate) host_count: u32,
    pub(crate) cores: Cores,
    /// The link of the first host; the others follow.
    pub(crate) link: Wire,
    pub(crate) backbone: Option<Wire>,
    /// The loopback of the first host; the others follow.
    pub(crate) loopback: Option<Wire>,
}

/// A host as its end and the position in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Place {
    end: u32,
    offset: u32,
}

/// One direction of a link, for reports.
#[derive(Clone, PartialEq, Debug)]
pub struct LinkInfo {
    /// Its name, with the direction where it has two.
    pub name: String,
    /// Bytes per second.
    pub bandwidth: f64,
    /// What a transfer over it pays.
    pub latency: Span,
    /// How transfers share it.
    pub sharing: Sharing,
}

impl Platform {
    /// Reads the platform file at `path`.
    ///
    /// # Errors
    /// [`LoadError`] if the file cannot be read, or with all the mistakes in it.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, LoadError> {
        let path = path.as_ref();
        let bytes = std::fs::read(path)
            .map_err(|error| LoadError::Unreadable(Unreadable::io(path, &error)))?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let valid_up_to = error.utf8_error().valid_up_to();
            let unreadable = Unreadable::not_utf8(path, error.as_bytes(), valid_up_to);
            LoadError::Unreadable(unreadable)
        })?;
        Self::parse(&path.display().to_string(), &text)
    }

    /// Reads a platform from `text`; mistakes are reported as in a file called `file_name`.
    ///
    /// # Errors
    /// [`LoadError::Mistakes`] with all the mistakes in the text.
    pub fn parse(file_name: &str, text: &str) -> Result<Self, LoadError> {
        build(file_name, text).map_err(LoadError::Mistakes)
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

    /// What the message layer needs to know.
    #[must_use]
    pub const fn protocol(&self) -> &Protocol {
        &self.file.protocol
    }

    /// The platform as TOML: what was read, with the original text of each quantity and every default spelled out.
    #[must_use]
    pub fn to_toml(&self) -> String {
        self.file.to_toml()
    }

    /// Counts and parameters, for people.
    #[must_use]
    pub const fn summary(&self) -> Summary<'_> {
        Summary(self)
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
        let place = self.place(host);
        match self.cluster_index(place.end) {
            Some(at) => Cow::Owned(self.file.clusters[at].entry.hosts.name(place.offset)),
            None => Cow::Borrowed(self.file.hosts[place.end as usize].name.get_ref()),
        }
    }

    /// The host called `name`.
    #[must_use]
    pub fn host_by_name(&self, name: &str) -> Option<HostId> {
        let hosts = &self.file.hosts;
        let single = self
            .by_name
            .binary_search_by(|host| hosts[*host as usize].name.get_ref().as_str().cmp(name));
        if let Ok(at) = single {
            return Some(HostId(self.by_name[at]));
        }
        let named = self.file.clusters.iter().zip(&self.clusters);
        let mut found = named.filter_map(|(named, cluster)| {
            let index = named.entry.hosts.index_of(name)?;
            Some(HostId(cluster.host_first + index))
        });
        found.next()
    }

    /// The speed of one core of a host, in flop/s.
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

    /// One more than the largest [`LinkId`].
    #[must_use]
    pub const fn link_id_end(&self) -> u32 {
        2 * self.wire_count
    }

    /// Fills `route` with the way from one host to another, without allocating once the buffer is large enough.
    ///
    /// # Errors
    /// [`NoRoute`] if the two hosts are not joined.
    ///
    /// # Panics
    /// If there is no such host.
    pub fn route_into(&self, from: HostId, to: HostId, route: &mut Route) -> Result<(), NoRoute> {
        route.clear();
        let (source, target) = (self.place(from), self.place(to));
        if from == to {
            self.loopback(source, route);
            return Ok(());
        }
        let (out, into) = (
            self.cluster_index(source.end),
            self.cluster_index(target.end),
        );
        if let Some(at) = out {
            let cluster = &self.clusters[at];
            route.push(cluster.link.shifted(source.offset), false);
            if let Some(backbone) = cluster.backbone {
                route.push(backbone, false);
            }
        }
        if source.end != target.end {
            if !self
                .routes
                .append(source.end, target.end, &self.wires, route)
            {
                return Err(self.no_route(from, to));
            }
            if let Some(backbone) = into.and_then(|at| self.clusters[at].backbone) {
                route.push(backbone, false);
            }
        }
        if let Some(at) = into {
            route.push(self.clusters[at].link.shifted(target.offset), true);
        }
        Ok(())
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

    /// Checks that every ordered pair of distinct hosts in `used` has a route, if the network model uses routes.
    ///
    /// Ends are compared, not hosts: the cost is the number of hosts plus the square of the number of ends used.
    ///
    /// # Errors
    /// [`NoRoute`] for the first pair without one, in the order of `used`.
    ///
    /// # Panics
    /// If there is no such host.
    pub fn check_routes(&self, used: &[HostId]) -> Result<(), NoRoute> {
        if self.network_model() == NetworkModel::Constant {
            return Ok(());
        }
        let mut seen = vec![false; self.singles.len() + self.clusters.len()];
        let mut ends: Vec<(u32, HostId)> = Vec::new();
        for host in used {
            let end = self.place(*host).end;
            if !std::mem::replace(&mut seen[end as usize], true) {
                ends.push((end, *host));
            }
        }
        for (from, from_host) in &ends {
            for (to, to_host) in &ends {
                if from != to && !self.routes.contains(*from, *to) {
                    return Err(self.no_route(*from_host, *to_host));
                }
            }
        }
        Ok(())
    }

    fn cores_of(&self, host: HostId) -> Cores {
        let place = self.place(host);
        match self.cluster_index(place.end) {
            Some(at) => self.clusters[at].cores,
            None => self.singles[place.end as usize],
        }
    }

    fn place(&self, host: HostId) -> Place {
        assert!(
            host.0 < self.host_count,
            "host number {} of a platform with {} hosts",
            host.0,
            self.host_count
        );
        let singles = u32::try_from(self.singles.len()).expect("fewer hosts than HOSTS_MAX");
        if host.0 < singles {
            return Place {
                end: host.0,
                offset: 0,
            };
        }
        let after = match self.clusters.len() {
            1 => 1,
            _ => self
                .clusters
                .partition_point(|cluster| cluster.host_first <= host.0),
        };
        let cluster = &self.clusters[after - 1];
        Place {
            end: singles + u32::try_from(after - 1).expect("fewer clusters than hosts"),
            offset: host.0 - cluster.host_first,
        }
    }

    /// The cluster that an end is, `None` for a single host.
    fn cluster_index(&self, end: u32) -> Option<usize> {
        (end as usize).checked_sub(self.singles.len())
    }

    fn loopback(&self, place: Place, route: &mut Route) {
        let declared = self
            .cluster_index(place.end)
            .and_then(|at| self.clusters[at].loopback);
        if let Some(loopback) = declared {
            route.push(loopback.shifted(place.offset), false);
        } else if !self.routes.append(place.end, place.end, &self.wires, route) {
            route.push(self.implicit_loopback(), false);
        }
    }

    fn implicit_loopback(&self) -> Wire {
        let loopback = self
            .file
            .network
            .fluid
            .as_ref()
            .map(|fluid| &fluid.loopback);
        Wire {
            number: u32::try_from(self.wires.len()).expect("fewer than 2^31 links"),
            bandwidth: loopback.map_or(f64::INFINITY, |link| link.bandwidth.bytes_per_s()),
            latency_s: loopback.map_or(0.0, |link| link.latency.as_secs()),
            sharing: Sharing::FatPipe,
        }
    }

    fn end_name(&self, end: u32) -> &str {
        match self.cluster_index(end) {
            Some(at) => self.file.clusters[at].name.get_ref(),
            None => self.file.hosts[end as usize].name.get_ref(),
        }
    }

    fn no_route(&self, from: HostId, to: HostId) -> NoRoute {
        NoRoute {
            from: self.host_name(from).into_owned(),
            to: self.host_name(to).into_owned(),
            from_end: self.end_name(self.place(from).end).to_owned(),
            to_end: self.end_name(self.place(to).end).to_owned(),
        }
    }

    /// Name and figures of one direction of a link.
    ///
    /// The links of a cluster are called after their host, `node-3:up` and `node-3:down` (`node-3:link` where both
    /// directions share), `node-3:loopback`, or after the cluster, `nodes:backbone`.
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
        if let Some(wire) = self.wires.get(number as usize) {
            let name = self.file.links[number as usize].name.get_ref();
            return match wire.sharing {
                Sharing::SplitDuplex => info(*wire, format!("{name}:{direction}")),
                _ => info(*wire, name.clone()),
            };
        }
        if number == self.implicit_loopback().number {
            return info(self.implicit_loopback(), "loopback".to_owned());
        }
        for (cluster, named) in self.clusters.iter().zip(&self.file.clusters) {
            let row = |first: Wire| {
                let offset = number.checked_sub(first.number)?;
                (offset < cluster.host_count).then(|| (first, named.entry.hosts.name(offset)))
            };
            if let Some((wire, host)) = row(cluster.link) {
                return match wire.sharing {
                    Sharing::SplitDuplex => info(wire, format!("{host}:{direction}")),
                    _ => info(wire, format!("{host}:link")),
                };
            }
            if let Some((wire, host)) = cluster.loopback.and_then(row) {
                return info(wire, format!("{host}:loopback"));
            }
            if let Some(backbone) = cluster.backbone.filter(|wire| wire.number == number) {
                return info(backbone, format!("{}:backbone", named.name.get_ref()));
            }
        }
        panic!(
            "link number {} of a platform with {} links",
            number, self.wire_count
        );
    }
}
