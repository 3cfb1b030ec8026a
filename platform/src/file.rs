//! A platform file as typed data, before it becomes a [`Platform`](crate::Platform).
//!
//! The reader (`read`) turns TOML into these types and reports every mistake with its place; names
//! are resolved later, by the crate's `build` module. [`PlatformFile::to_toml`] writes these types
//! as TOML, keeps the text of every quantity and spells out every default. So the copy in the
//! record of a run keeps its meaning when a default changes.

mod cluster;
mod collectives;
mod connection;
mod disk;
mod field;
mod memory;
mod names;
mod network;
mod noise;
mod profile;
mod protocol;
mod read;
mod section;
mod single;
mod speeds;
mod syntax;
mod wifi;
mod zone;

use std::sync::Arc;

use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use settings::{Limits, RendezvousSettings, TransportMode};
use toml::Spanned;

use crate::network::NetworkParameters;
use crate::noise::Noise;
use crate::pattern::HostPattern;
use crate::protocol::{ControlMessageMode, ReadySendMode, SsendProtocol};
use crate::topology::Topology;
use crate::units::{Bandwidth, Duration, Size};

pub use collectives::{AlgorithmEntry, Collectives};
pub use connection::Connection;
pub use disk::DiskEntry;
pub use field::cut;
pub use memory::Memory;
pub(crate) use names::{MemberName, Names};
pub(crate) use network::IN_PLACE_OF_LINKS;
pub use profile::{ProfileEntry, ProfileKind, read_events};
pub(crate) use read::{Read, read_platform_file};
pub(crate) use section::{Collector, Section};
pub use single::{HostOverride, LinkOverride};
pub use speeds::{PowerState, Speeds};
pub use wifi::{WifiEntry, WifiLevel};

/// The version of the format that this crate reads and writes.
pub const VERSION: i64 = 1;

/// A whole platform file.
#[derive(Clone, Serialize, Debug)]
pub struct PlatformFile {
    /// The version of the format: [`VERSION`].
    pub version: i64,
    /// The name of the platform.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// `[network]`
    pub network: NetworkParameters,
    /// `[protocol]`
    pub protocol: Protocol,
    /// `[connection]`
    pub connection: Connection,
    /// `[collectives]`
    pub collectives: Collectives,
    /// `[memory]`
    #[serde(skip_serializing_if = "Memory::is_default")]
    pub memory: Memory,
    /// `[noise]`
    #[serde(skip_serializing_if = "Noise::is_default")]
    pub noise: Noise,
    /// The platform is the outermost zone.
    #[serde(flatten)]
    pub root: ZoneEntry,
}

/// `[zones.NAME]`, and the platform itself.
#[derive(Clone, Default, Serialize, Debug)]
pub struct ZoneEntry {
    /// Routing between the members of the zone.
    pub routing: Routing,
    /// The place where routes to and from the zone begin, or the access point.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway: Option<Spanned<String>>,
    /// For an outer *vivaldi* zone: x, y and height, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coordinates: Option<[f64; 3]>,
    /// Path from each host of the zone to itself.
    #[serde(skip_serializing_if = "ToItself::is_default")]
    pub to_itself: ToItself,
    /// The air of a Wi-Fi zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wifi: Option<WifiEntry>,
    /// Names of places without a host.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub routers: Vec<Spanned<String>>,
    /// `[hosts]`
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "as_map")]
    pub hosts: Vec<Named<HostEntry>>,
    /// `[links]`
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "as_map")]
    pub links: Vec<Named<LinkEntry>>,
    /// `[clusters]`
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "as_map")]
    pub clusters: Vec<Named<ClusterEntry>>,
    /// `[zones]`: the inner zones.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "as_map")]
    pub zones: Vec<Named<Self>>,
    /// `[[routes]]`
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<RouteEntry>,
}

/// An entry of a table of tables; the key of the entry is its name.
#[derive(Clone, Debug)]
pub struct Named<T> {
    /// The key of the entry, with the place of the key in the source.
    pub name: Spanned<String>,
    /// The value of the entry.
    pub entry: T,
}

/// `[protocol]`: parameters of the message layer. The platform only stores them.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct Protocol {
    /// Messages below this size are sent eagerly, messages of at least this size by rendezvous.
    pub eager_threshold: Size,
    /// Bandwidth at which a rank copies when it packs, unpacks or buffers messages; `None` if
    /// copies take no time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copy_bandwidth: Option<Bandwidth>,
    /// Limits of the message layer.
    #[serde(flatten)]
    pub limits: Limits<Size>,
    /// Rendezvous and threshold of a library.
    #[serde(flatten)]
    pub rendezvous: RendezvousSettings<Size, Duration>,
    /// Simulation of control messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_messages: Option<ControlMessageMode>,
    /// The size of a control message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_size: Option<Size>,
    /// Protocol of short synchronous messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssend_protocol: Option<SsendProtocol>,
    /// Meaning of a ready send without a posted receive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_send: Option<ReadySendMode>,
    /// Transport of messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<TransportMode>,
    /// Time to post a packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post_cost_per_packet: Option<Duration>,
    /// Time for each posting of one or several packets together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post_cost_per_batch: Option<Duration>,
}

impl Protocol {
    /// Returns true if control messages are messages of their own.
    #[must_use]
    pub const fn simulates_control_messages(&self) -> bool {
        matches!(self.control_messages, Some(ControlMessageMode::Simulated))
    }

    /// Returns true if anything is limited, or packets matter for another reason; otherwise
    /// `reserved_credits`, `post_batch` and `zero_copy` have no effect.
    #[must_use]
    pub const fn is_limited(&self) -> bool {
        self.simulates_control_messages()
            || matches!(self.transport, Some(TransportMode::Stream))
            || self.post_cost_per_packet.is_some()
            || self.post_cost_per_batch.is_some()
            || self.limits.is_limited()
    }
}

/// `[hosts.NAME]`
#[derive(Clone, Serialize, Debug)]
pub struct HostEntry {
    /// The speed of one core, in each power state.
    pub speed: Speeds,
    /// The power state at the start.
    #[serde(skip_serializing_if = "PowerState::is_first")]
    pub pstate: PowerState,
    /// Number of cores.
    pub cores: u32,
    /// For *vivaldi* zones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coordinates: Option<[f64; 3]>,
    /// Parts of the speed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed_profile: Option<Box<ProfileEntry>>,
    /// On and off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state_profile: Option<Box<ProfileEntry>>,
    /// For stations of Wi-Fi zones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wifi_level: Option<Spanned<WifiLevel>>,
    /// `[hosts.NAME.disks]`
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "as_map")]
    pub disks: Vec<Named<DiskEntry>>,
}

/// `[links.NAME]`, and the links that belong to a cluster.
#[derive(Clone, Serialize, Debug)]
pub struct LinkEntry {
    /// Bandwidth of the link, per direction if the link has two directions.
    pub bandwidth: Bandwidth,
    /// Latency of the link.
    pub latency: Duration,
    /// Sharing of the link among transfers.
    pub sharing: Sharing,
    /// Bandwidths in time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth_profile: Option<Box<ProfileEntry>>,
    /// Latencies in time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_profile: Option<Box<ProfileEntry>>,
    /// Not of the cables of a cluster, which is called otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state_profile: Option<Box<ProfileEntry>>,
}

/// `[clusters.NAME]`
#[derive(Clone, Serialize, Debug)]
pub struct ClusterEntry {
    /// Topology of the cluster.
    #[serde(flatten, serialize_with = "topology_keys")]
    pub topology: Arc<dyn Topology>,
    /// Names of the hosts of the cluster.
    #[serde(serialize_with = "pattern_text")]
    pub hosts: HostPattern,
    /// The speed of one core, in each power state.
    pub speed: Speeds,
    /// The power state of each host at the start.
    #[serde(skip_serializing_if = "PowerState::is_first")]
    pub pstate: PowerState,
    /// Number of cores of each host.
    pub cores: u32,
    /// Each cable.
    #[serde(flatten)]
    pub link: LinkEntry,
    /// The link that all traffic crosses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backbone: Option<LinkEntry>,
    /// The loopback of each host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loopback: Option<LinkEntry>,
    /// The bandwidth of the limiter of each host and switch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limiter: Option<Bandwidth>,
    /// Path from a host without loopback to itself.
    #[serde(skip_serializing_if = "ToItself::is_default")]
    pub to_itself: ToItself,
    /// The host at which routes of the zone begin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway: Option<Spanned<String>>,
    /// Of every host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed_profile: Option<Box<ProfileEntry>>,
    /// Of every host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_state_profile: Option<Box<ProfileEntry>>,
    /// Of every cable; their other profiles are in `link`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_state_profile: Option<Box<ProfileEntry>>,
    /// The disks of each host.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "as_map")]
    pub disks: Vec<Named<DiskEntry>>,
    /// Hosts that differ from the others.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "as_map")]
    pub host_overrides: Vec<Named<HostOverride>>,
    /// Links that differ from the others.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "as_map")]
    pub link_overrides: Vec<Named<LinkOverride>>,
}

/// Routing between the members of a zone; key `routing`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Default, Debug)]
#[serde(rename_all = "kebab-case")]
pub enum Routing {
    /// Over the declared route of each pair.
    #[default]
    Full,
    /// Over the centre.
    Star,
    /// Over the declared routes with fewest links, searched from each source.
    Dijkstra,
    /// Over the declared routes with fewest links, searched for all pairs.
    Floyd,
    /// Over the centre, with a latency that is a distance of coordinates.
    Vivaldi,
    /// Over the air, and by way of the access point.
    Wifi,
    /// Not at all.
    None,
}

impl Routing {
    /// Returns the name of the routing rule in a platform file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Star => "star",
            Self::Dijkstra => "dijkstra",
            Self::Floyd => "floyd",
            Self::Vivaldi => "vivaldi",
            Self::Wifi => "wifi",
            Self::None => "none",
        }
    }
}

/// Path from a host without loopback to itself; key `to_itself`.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Default, Debug)]
#[serde(rename_all = "kebab-case")]
pub enum ToItself {
    /// Over the implicit loopback.
    #[default]
    Loopback,
    /// Over the host's own links, up and down.
    Links,
}

impl ToItself {
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "the form that serde asks for"
    )]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// `[[routes]]`
#[derive(Clone, Serialize, Debug)]
pub struct RouteEntry {
    /// The member where the route begins.
    pub from: Spanned<String>,
    /// The member where the route ends.
    pub to: Spanned<String>,
    /// The links that the route crosses, in order.
    pub links: Vec<Spanned<LinkUse>>,
    /// True if the way back is the same, backwards.
    pub symmetric: bool,
    /// True if the route replaces the way that the routing rule of the zone gives.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub bypass: bool,
    /// The place within `from` where the route begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway_from: Option<Spanned<String>>,
    /// The place within `to` where the route ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway_to: Option<Spanned<String>>,
}

/// A link in a route: the name of the link, or a table with the name and the direction.
#[derive(Clone, Debug)]
pub struct LinkUse {
    /// The name of the link.
    pub link: String,
    /// The direction of a split-duplex link.
    pub direction: Direction,
}

/// Direction in which a route crosses a split-duplex link.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Debug)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// As the route is written.
    Up,
    /// Against the direction of the route as written.
    Down,
}

/// Sharing of a link among the transfers that cross it at the same time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Debug)]
#[serde(rename_all = "kebab-case")]
pub enum Sharing {
    /// All transfers, of both directions, share the bandwidth.
    Shared,
    /// Each direction has the whole bandwidth for the transfers of that direction.
    SplitDuplex,
    /// Each transfer has the whole bandwidth; transfers do not slow each other.
    #[serde(rename = "fatpipe")]
    FatPipe,
    /// The air of a Wi-Fi zone: transfers share the time, and a transfer needs more time if its
    /// station is slower. No link in a file is declared with this sharing.
    Wifi,
}

impl PlatformFile {
    /// The file as TOML, with the original text of each quantity and every default spelled out.
    ///
    /// # Panics
    /// Never: all keys are strings and all values have a TOML form.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("every part of a platform file has a TOML form")
    }
}

impl LinkEntry {
    /// A link that never changes.
    pub const fn new(bandwidth: Bandwidth, latency: Duration, sharing: Sharing) -> Self {
        Self {
            bandwidth,
            latency,
            sharing,
            bandwidth_profile: None,
            latency_profile: None,
            state_profile: None,
        }
    }
}

impl Default for Protocol {
    /// 64 KiB: SimGrid's `smpi/send-is-detached-thresh`, 65536 bytes with the same meaning of below
    /// and above.
    fn default() -> Self {
        let eager_threshold = "64KiB".parse().expect("a size");
        Self {
            eager_threshold,
            copy_bandwidth: None,
            limits: Limits::NONE,
            rendezvous: RendezvousSettings::NONE,
            control_messages: None,
            control_size: None,
            ssend_protocol: None,
            ready_send: None,
            transport: None,
            post_cost_per_packet: None,
            post_cost_per_batch: None,
        }
    }
}

impl Direction {
    /// The other one.
    pub const fn opposite(self) -> Self {
        match self {
            Self::Up => Self::Down,
            Self::Down => Self::Up,
        }
    }
}

impl Serialize for LinkUse {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.direction == Direction::Up {
            return serializer.serialize_str(&self.link);
        }
        let mut table = serializer.serialize_map(Some(2))?;
        table.serialize_entry("link", &self.link)?;
        table.serialize_entry("direction", &self.direction)?;
        table.end()
    }
}

fn as_map<S: Serializer, T: Serialize>(
    entries: &[Named<T>],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(
        entries
            .iter()
            .map(|named| (named.name.get_ref(), &named.entry)),
    )
}

/// Serializes the key `topology` and the keys that belong to the topology.
fn topology_keys<S: Serializer>(
    topology: &Arc<dyn Topology>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(topology.description().keys)
}

fn pattern_text<S: Serializer>(pattern: &HostPattern, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(pattern.text())
}
