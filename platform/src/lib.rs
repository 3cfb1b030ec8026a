//! Hosts, links, disks and routes of a platform, and the parameters of the models that compute how
//! long work takes on them.
//!
//! A [`Platform`] is read from a TOML file; the package `models` runs computations and transfers on
//! the platform. This crate does not depend on any program.
//!
//! # The platform file
//!
//! Every quantity is a string with its unit, and is printed as it was written ([`units`]). Units
//! are case-sensitive: `b` is a bit, `B` a byte; `k M G T P E` are powers of 1000, `Ki Mi Gi Ti Pi
//! Ei` powers of 1024. A complete example:
//!
//! ```
//! use platform::Platform;
//!
//! let text = r#"
//! version = 1                      # of the format; the only key that is always required
//! name = "an example"              # optional
//!
//! [network]                        # optional
//! model = "flow"                   # default: latency, then max-min fair sharing; others below
//!
//! [protocol]                       # optional: what the message layer needs to know
//! eager_threshold = "64KiB"        # eager below, rendezvous from here on; default 64KiB
//! copy_bandwidth = "10GBps"        # of packing datatypes, buffering; default: no time
//! credits = 32                     # limits, none by default: packets under way to a peer, ...
//!
//! [connection]                     # optional: how ranks get connected
//! mode = "on-demand"               # at the first message; default "instant": at start, free
//!
//! [hosts.front]                    # a single host
//! speed = "16Gf"                   # flop/s of one core
//! cores = 8                        # default 1
//!
//! [hosts.front.disks.ssd]          # optional; of a cluster: [clusters.nodes.disks.ssd]
//! read_bandwidth = "2GBps"         # of all that read together
//! write_bandwidth = "1GBps"        # of all that write together
//! total_bandwidth = "2.5GBps"      # of all that use it; default: the larger of the two
//!
//! [links.door]
//! bandwidth = "10Gbps"             # bits/s; "1.25GBps" or "1.25GB/s" is the same in bytes/s
//! latency = "20us"
//! sharing = "split-duplex"         # "shared" (default), "split-duplex" or "fatpipe"
//!
//! [clusters.nodes]                 # equal hosts, each with a link of its own to one switch
//! hosts = "node-[0-63]"            # also "n[0-3,8-11]", and "node-[00-63]" with leading zeros
//! speed = "36Gf"
//! cores = 64
//! bandwidth = "100Gbps"            # of the link of each host
//! latency = "625ns"
//! sharing = "split-duplex"         # the default for clusters
//! backbone = { bandwidth = "1.6Tbps", latency = "100ns", sharing = "shared" }    # optional
//! loopback = { bandwidth = "10GBps", latency = "0s", sharing = "fatpipe" }       # optional
//!
//! [[routes]]                       # joins hosts and whole clusters
//! from = "front"
//! to = "nodes"
//! links = ["door"]                 # in the order in which data cross them
//! symmetric = true                 # default: the way back is the same, backwards
//! bypass = false                   # default; true: replaces the route of the zone's `routing`
//! "#;
//! let platform = Platform::parse("example.toml", text)?;
//! assert_eq!((platform.host_count(), platform.disk_count()), (65, 1));
//!
//! // front → node-3: door, backbone, the link of node-3.
//! let host = |name| platform.host_by_name(name).expect("a host");
//! let route = platform.route(host("front"), host("node-3"))?;
//! assert_eq!(route.hops.len(), 3);
//! assert_eq!(route.latency_s, 20e-6 + 100e-9 + 625e-9);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Network models.** `[network] model` is `"flow"`, `"raw"`, `"cm02"`, `"lv08"`, `"smpi"`,
//! `"ib"`, `"constant"` or `"loggops"` ([`NetworkModel`]). Each is a preset of the same parameters
//! ([`FluidParameters`] has the formula and the units), which can be set beside the name:
//!
//! ```
//! # let text = r#"
//! # version = 1
//! # hosts.a.speed = "1Gf"
//! [network]
//! model = "lv08"
//! latency_factor = 13.01                    # of the latency paid; one number, or steps as below
//! message_latency = [{ above = "200B", time = "300ns", per_byte = "0ps" }]  # added between hosts
//! message_gap = "0s"                        # from one message of a host to the next
//! bandwidth_factor = [                      # of the rate; 1 up to the first step
//!   { above = "0B", factor = 0.9 },         # strictly above
//!   { above = "64KiB", factor = 0.97 },
//! ]
//! rtt_penalty = true                        # shares by 1 / (latency + weight_s / bandwidth)
//! weight_s = "20537B"
//! tcp_gamma = "4MiB"                        # rate <= tcp_gamma / (2 latency); "0B" is none
//! crosstraffic = 0.05                       # of the rate, on links of the reverse route
//! loopback = { bandwidth = "10GBps", latency = "0s" }    # of a host to itself
//! envelope = "0B"                           # added to each message ("16B" in "smpi")
//! async_small_threshold = "0B"              # larger eager ones wait for their receive
//! os = [{ above = "0B", time = "1us", per_byte = "10ps" }]    # of an eager send; also `ois`, `or`
//! compat = "simgrid-4.1"                    # deviations of that version, see `Compat`
//! # "#;
//! # platform::Platform::parse("example.toml", text)?;
//! # Ok::<(), platform::LoadError>(())
//! ```
//!
//! The fluid models except `"ib"` also have `pair_duplex = { from = "190kB", full = "12MB" }`: two
//! hosts that send to each other, and to no others, slow each other (`src/network/flow.rs`). Model
//! `"ib"` also has `ib_penalty_factors = { be = 0.965, bs = 0.925, ys = 1.35 }`; model `"constant"`
//! has only `duration = "1s"`. Model `"loggops"` ([`LogGops`]) has `latency = "2500ns"` (L),
//! `overhead = "1500ns"` (o), `gap = "1000ns"` (g), `gap_per_byte = "6ns"` (G) and
//! `overhead_per_byte = "0ns"` (O); S is `[protocol] eager_threshold` less one byte. The model
//! `"loggops"` uses no links; on a platform with links the first four keys have no default.
//! `loopback = { latency = "300ns", overhead = "200ns", gap_per_byte = "0.1ns" }` sets the costs of
//! messages between ranks of one host, if they differ.
//!
//! `device = "verbs"` beside the model runs rank programs over queue pairs of InfiniBand adapters
//! and a network of single packets. The table `[network.verbs]` ([`VerbsParameters`]) has the
//! parameters: `mtu = "4096B"`, the costs of an adapter (`doorbell`, `dma_read`, `tx_packet`,
//! `rx_packet`, `atomic`, `completion`, all durations, and `pcie_bandwidth`), `switch_latency`,
//! `buffer` and `lanes = 1` (virtual lanes; several avoid credit loops, as in a torus). The inner
//! table `faults` ([`PacketFaults`]) has probabilities per packet and link, 0 by default: `loss`,
//! `duplication`, `reordering` (later by `reordering_delay = "2us"`), and `bit_error_rate`.
//!
//! **Noise.** `[noise.compute]` disturbs the computations of each host ([`ComputeNoise`]). With
//! `period = "10ms"` and `detour = "250us"` the host does not compute for 250 µs in every 10 ms,
//! from a random phase on. With `variation = 0.05` the time of each computation is multiplied by a
//! lognormal factor with mean 1 and that coefficient of variation. `[noise.links] latency = "1us"`
//! adds an exponentially distributed latency with that mean for each transfer and link between two
//! hosts; this key needs a model in which transfers cross links. All random values are drawn from
//! the seed of the run. Overrides such as `noise.compute.variation=0.1` need no table in the file.
//! Real runs, model checkers and calibrations have no noise.
//!
//! **Message layer.** `[protocol]` sets limits, none by default: `packet_size` (largest payload,
//! such as `"8KiB"`), `send_buffers` (packet buffers of a rank for sends), `credits` (flow-control
//! window of a connection, in packets), `reserved_credits` (buffers and credits of each connection
//! for control packets only; 2), `max_eager_messages` and `max_eager_bytes` (eager messages that a
//! peer has not received; further ones use rendezvous), `unexpected_memory` (memory of a rank for
//! unexpected messages), `post_batch` (packets that take buffers and credits at once; 1) and
//! `zero_copy` (true: rendezvous data are sent from the program's memory).
//!
//! Control messages (RTS, CTS, acknowledgements) take no time with `control_messages = "instant"`,
//! the default and the behaviour of SimGrid's SMPI. With `"simulated"` they are messages of
//! `control_size = "64B"`, short synchronous messages are sent at once and acknowledged
//! (`ssend_protocol = "acknowledged"`; otherwise `"rendezvous"`), and packets are simulated one by
//! one. `control_size` and `ssend_protocol` can also be set alone. `post_cost_per_packet = "100ns"`
//! and `post_cost_per_batch = "200ns"` are the processor times to post a packet and a batch of
//! packets. `ready_send = "strict"` makes a ready send without a posted receive an error; the
//! default is `"lenient"`. `transport = "stream"` models TCP: no packets, credits and data buffers.
//! The formulas are in `docs/protocols.md`.
//!
//! Libraries over UCX behave differently: nonblocking sends use rendezvous from
//! `eager_threshold_nonblocking = "8KiB"` on (by default and at most `eager_threshold`). With
//! `rendezvous = "get"` the receiver reads the data and acknowledges the end, which completes the
//! send (default: `"put"`, the sender writes after the answer of the receiver). `rendezvous_cost =
//! "300ns"` is the processor time of the receiver to match an announcement (default: none), after
//! which the read request is sent. The read request and the acknowledgement are control messages:
//! they take time if control messages are simulated. Adapters of `device = "verbs"` perform the
//! read.
//!
//! **Collective operations.** `[collectives]` sets `selector`, the tables that select an algorithm
//! for each call, and `reduce_bandwidth`, at which a rank reduces (default: no time). A key with
//! the name of an operation sets the algorithm of all its calls: `allreduce = "ring"`, or
//! `allreduce = { algorithm = "segmented_ring", segment = "64KiB" }`, where a segment of `"0B"`
//! leaves messages whole, as in a rules file of Open MPI. With `setup = "messages"` the first call
//! of a communicator exchanges the nodes of the ranks, if the library of the selector does so; by
//! default (`"none"`) the nodes are known. `simrun collectives list` prints the names.
//!
//! **Memory.** `[memory]` sets the costs of a rank's memory in collective operations. The costs
//! depend on the working set of the call: the data of all ranks, or of one rank if all ranks have
//! the same data, and three times as much in reductions. `reduce = [{ above = "0B", time = "20ns",
//! per_byte = "45ps" }, { above = "2MB", time = "20ns", per_byte = "65ps" }]` is the time of a
//! reduction of two buffers, in the section that contains the working set; from a threshold to
//! twice the threshold, the numbers change linearly from one section to the next. `copy` is the
//! time of the copies of a schedule. `first_touch` and `registration` are the times to write a
//! region of a fresh temporary buffer for the first time and to register a region for a rendezvous,
//! by the length of the region (`docs/collectives.md`). `datatype_build = "1.2us"` is the time to
//! build a datatype, once in each step of `alltoall` by Bruck's algorithm. All are free by default;
//! `reduce` and `reduce_bandwidth` exclude each other.
//!
//! **Connections.** `[connection]` sets `mode`: `"instant"` (from the start, at no cost; the
//! default), `"on-demand"` (each pair at its first message) or `"static"` (all pairs before the
//! program begins). Opening a socket takes a round trip of packets of `transport_packet_size`
//! (default `"64B"`, as for the next three sizes). The handshake takes a round trip of a request of
//! `request_size` and a response of `response_size`; the close protocol has packets of
//! `close_size`. A rank needs `connect_time` (default `"0s"`, as for the next two times) to open a
//! socket, `accept_time` to accept a socket and `message_time` to read a message of the handshake
//! or the close protocol; these times do not delay the program. `descriptors` limits the sockets of
//! a rank: the least recently used idle connection is closed; if none is idle, the send waits
//! (`descriptor_limit_policy = "wait"`) or fails (`"fail"`). `idle_timeout = "10ms"` closes
//! connections that have been idle for that time. `endpoints = { kind = "dc", above = 60,
//! initiators = 8 }` is InfiniBand's dynamically connected transport in runs of more than 60 ranks:
//! a rank sends to at most 8 peers on other hosts at one time, and to another peer when all packets
//! to one of the 8 peers are acknowledged (in mode `"instant"`, in all models except `"loggops"`).
//! With `"static"` and `"on-demand"` programs can survive the loss of a rank.
//!
//! **Sharing.** The transfers in both directions share the bandwidth of a `shared` link. A
//! `split-duplex` link has the whole bandwidth in each direction. On a `fatpipe` each transfer has
//! the whole bandwidth.
//!
//! **Routes.** Inside a cluster, routes are computed. Every other pair of hosts needs a
//! `[[routes]]` entry between the members of a zone that contain them (see *Zones*). The route as
//! written crosses a split-duplex link `up`, the way back crosses the link `down`. `{ link =
//! "door", direction = "down" }` in `links` swaps the two directions, for hosts around a common
//! switch. A host reaches itself over its `loopback`, a route from the host to itself, or else over
//! an implicit fatpipe of 10 GB/s without latency. With `to_itself = "links"` in a cluster or a
//! star, the host uses its own links instead.
//!
//! **Numbers.** Hosts are numbered in the order of the file: hosts of `[hosts]` before hosts of
//! `[clusters]`, and in both tables hosts of a zone before hosts of its inner zones.
//!
//! # Clusters
//!
//! | `topology` | own keys |
//! |---|---|
//! | `"crossbar"`, the default | none |
//! | `"backbone"` | `backbone`, one more link that all traffic crosses |
//! | `"fat-tree"` | per level, lowest first: `down` (children of a switch), `up` (parents of a
//! node), `cables` (to each parent; default 1) |
//! | `"torus"` | `dimensions` |
//! | `"dragonfly"` | `groups`, `chassis` (per group), `routers` (per chassis), `nodes` (per
//! router), `cables` (of blue, black and green links; default `[1, 1, 1]`) |
//!
//! The product of `down`, of `dimensions`, or of the four counts of a dragonfly is the number of
//! hosts. `bandwidth`, `latency` and `sharing` apply to each cable. All topologies may have a
//! `loopback` for each host, a `limiter` (the bandwidth of a shared link without latency that all
//! traffic through a host or switch crosses) and a `gateway` (the point where routes of the zone
//! begin: the switch of a crossbar or backbone, else one of the hosts). `compat = "simgrid-4.1"`
//! copies two defects of that simulator: the choice among parallel cables of fat trees, and
//! unconnected routes within groups of dragonflies.
//!
//! Hosts and links that differ from the others have their own tables:
//!
//! ```
//! # use platform::Platform;
//! let text = r#"
//! version = 1
//!
//! [clusters.nodes]
//! hosts = "node-[0-63]"
//! speed = "36Gf"
//! bandwidth = "100Gbps"
//! latency = "625ns"
//!
//! [clusters.nodes.host_overrides.node-3]         # also pstate, cores, speed_profile
//! speed = "18Gf"
//! state_profile = { points = [["30s", "off"]] }
//!
//! [clusters.nodes.link_overrides.node-7]         # also latency and the profiles of a link
//! bandwidth = "25Gbps"                           # in both directions
//!
//! [clusters.nodes.link_overrides."node-8:up"]    # one direction, as `Platform::link` calls it
//! bandwidth = "50Gbps"
//! "#;
//! let platform = Platform::parse("example.toml", text)?;
//! let host = |name| platform.host_by_name(name).expect("a host");
//! assert_eq!(platform.speed(host("node-3")), 18e9);
//! let route = platform.route(host("node-8"), host("node-7"))?;
//! assert_eq!((route.hops[0].bandwidth, route.hops[1].bandwidth), (50e9 / 8.0, 25e9 / 8.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! An absent key has the value of the cluster. Links have the names that [`Platform::link`]
//! returns: `node-3:up`, `node-3/1:down` (fat tree, torus), `nodes/1.5:limiter`, `node-3:loopback`.
//! A table without `:up` or `:down` changes both directions, and a table with a direction takes
//! precedence. A link with its own bandwidth or latency does not follow the `bandwidth_profile` or
//! `latency_profile` of the cluster. The backbone has the key `backbone`; sharing and disks are
//! always as in the cluster.
//!
//! # Zones
//!
//! ```
//! # use platform::Platform;
//! let text = r#"
//! version = 1
//! routing = "full"                 # of the platform, which is the outermost zone
//!
//! [clusters.tree]
//! topology = "fat-tree"
//! hosts = "node-[0-31]"
//! down = [4, 8]
//! up = [1, 2]
//! cables = [1, 2]
//! speed = "36Gf"
//! bandwidth = "100Gbps"
//! latency = "300ns"
//! gateway = "node-0"
//!
//! [zones.office]
//! routing = "star"
//! gateway = "door"                 # where routes to and from the zone begin
//! routers = ["door"]
//!
//! [zones.office.hosts.desk]
//! speed = "20Gf"
//!
//! [zones.office.links.cable]
//! bandwidth = "1Gbps"
//! latency = "5us"
//!
//! [[zones.office.routes]]          # to and from the centre of the star
//! from = "desk"
//! to = "*"
//! links = ["cable"]
//!
//! [links.wan]
//! bandwidth = "10Gbps"
//! latency = "10ms"
//!
//! [[routes]]                       # a route between zones: SimGrid's zoneRoute
//! from = "tree"
//! gateway_from = "node-1"          # instead of the gateway of the cluster
//! to = "office"
//! links = ["wan"]
//! "#;
//! let platform = Platform::parse("example.toml", text)?;
//! let host = |name| platform.host_by_name(name).expect("a host");
//! let route = platform.route(host("node-0"), host("desk"))?;
//! let names: Vec<String> = route.hops.iter().map(|hop| platform.link(hop.link).name).collect();
//! assert_eq!(names, ["node-0:up", "node-1:down", "wan", "cable"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A zone has the same tables as the platform: `hosts`, `links`, `clusters`, `zones`, `[[routes]]`,
//! and `routers`, which are names for places without a host. Names of members are unique in the
//! whole platform, and so are names of links. Routes of any zone may use any link. The way between
//! two hosts is the route in the smallest zone that contains both hosts, with the ways to and from
//! the gateways of that route. The `routing` of a zone says how its members reach each other:
//!
//! | `routing` | |
//! |---|---|
//! | `"full"`, the default | over the route of each pair |
//! | `"star"` | over a centre: routes are from or to `"*"`, and a link that would occur twice on a
//! way occurs once |
//! | `"dijkstra"`, `"floyd"` | over the routes with the fewest links, through other members;
//! searched on first use |
//! | `"vivaldi"` | a star with a latency that comes from `coordinates = [x, y, height]` (in ms) of
//! hosts or zones: the distance of (x, y), and both heights |
//! | `"wifi"` | over the air, which all stations share, and through the access point, the `gateway`
//! of the zone |
//! | `"none"` | not at all |
//!
//! A route with `bypass = true` takes precedence over these rules, for any `routing`. Such a route
//! joins two members of the zone, or zones and clusters at any depth inside the zone. Hosts of a
//! *vivaldi* zone without routes are as far apart as their coordinates say.
//!
//! **Wi-Fi.** The hosts of a *wifi* zone are stations, each with one of the rates of the zone:
//!
//! ```
//! # use platform::Platform;
//! let text = r#"
//! version = 1
//!
//! [zones.cell]
//! routing = "wifi"
//! gateway = "ap"                                  # the access point: a router or host of the zone
//! routers = ["ap"]
//! wifi = { bandwidths = ["54Mbps", "36Mbps"], decay = true, name = "AP1" }
//! hosts.phone = { speed = "1Gf" }                 # wifi_level = 0, the first of the rates
//! hosts.camera = { speed = "1Gf", wifi_level = 1 }
//!
//! [hosts.server]
//! speed = "16Gf"
//!
//! [links.wire]
//! bandwidth = "1Gbps"
//! latency = "1ms"
//!
//! [[routes]]
//! from = "cell"
//! to = "server"
//! links = ["wire"]
//! "#;
//! let platform = Platform::parse("example.toml", text)?;
//! let host = |name| platform.host_by_name(name).expect("a host");
//! let route = platform.route(host("camera"), host("server"))?;
//! assert!(route.hops[0].air && route.hops[0].bandwidth == 36e6 / 8.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A transfer over the air uses 1/r of the air time per byte/s, where r is the rate of its station
//! (between two stations, 1/r for each of them). The air adds no limits, latencies or penalties.
//! With `decay`, more than 20 active stations lose part of the air time. `name` is the name of the
//! air as a link, by default `cell:air`.
//!
//! # Profiles and power states
//!
//! ```
//! # use platform::Platform;
//! let text = r#"
//! version = 1
//!
//! [hosts.a]
//! speed = ["10Gf", "5Gf", "0f"]    # one for each power state, set by actors
//! pstate = 1                       # at the start; default 0
//! speed_profile = { points = [["0s", 1.0], ["10s", 0.5]], period = "20s" }     # factors
//! state_profile = { points = [["30s", "off"], ["40s", "on"]] }
//!
//! [links.wan]
//! bandwidth = "10Gbps"
//! latency = "10ms"
//! bandwidth_profile = { points = [["5s", "1Gbps"]] }
//! latency_profile = { points = [["5s", "20ms"], ["6s", "10ms"]], period = "10s" }
//! state_profile = { points = [["1s", "off"], ["2s", "on"]] }
//!
//! [clusters.nodes]
//! hosts = "node-[0-63]"
//! speed = "36Gf"
//! bandwidth = "100Gbps"
//! latency = "625ns"
//! speed_profile = { points = [["10s", 0.5]] }               # of every host
//! host_state_profile = { points = [["20s", "off"]] }        # of every host
//! bandwidth_profile = { points = [["1s", "50Gbps"]] }       # of every cable
//! link_state_profile = { points = [["1s", "off"]] }         # of every cable
//! "#;
//! let platform = Platform::parse("example.toml", text)?;
//! assert_eq!(platform.profiles().len(), 9);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A value holds from its date to the next date. A value at 0 s holds before the start. `{ file =
//! "wan.txt" }` reads the events from a file in SimGrid's text format ([`profile`]), in the folder
//! of the platform file. Activities on a host or over a link that is turned off fail at that
//! instant; both directions of a link are turned off together.
//!
//! # Reachability
//!
//! [`Platform::unreachable`] returns pairs of members of a zone that no route joins; `simrun
//! platform check` prints them. A run that needs such a route is refused.
//!
//! # What if
//!
//! [`Platform::with_overrides`] changes any value of a platform before its use:
//! `links.wan.bandwidth=10Gbps` sets a value, `links.*.latency*=2` multiplies all matching values,
//! `hosts.node-3.speed=18Gf` and `links.node-3:up.bandwidth=50Gbps` change one host and one link of
//! a cluster ([`Override`]).
//!
//! # Mistakes
//!
//! **Mistakes** are reported all at once, each with file, line, column, the value found and the
//! value expected ([`LoadError`]).

#![warn(clippy::missing_errors_doc)]

mod build;
mod cluster;
mod diagnostic;
mod disk;
pub mod file;
mod graph;
mod names;
mod nearest;
mod network;
mod noise;
mod note;
mod overrides;
mod pattern;
mod platform;
pub mod profile;
mod protocol;
mod reach;
mod route;
mod sketch;
mod summary;
pub mod topology;
pub mod units;
mod zone;

pub use diagnostic::{Diagnostic, Diagnostics, LoadError, Source, Unreadable};
pub use disk::DiskInfo;
pub use file::{AlgorithmEntry, Collectives, Connection, Memory, Protocol, Routing, Sharing};
pub use names::HostNames;
pub use nearest::suggest_word;
pub use network::{
    CROSSTRAFFIC, Compat, FactorStep, Factors, FluidParameters, IbPenaltyFactors, LogGops,
    Loopback, NetworkDevice, NetworkModel, NetworkParameters, PacketFaults, PairDuplex,
    VerbsParameters,
};
pub use noise::{ComputeNoise, LinkNoise, Noise};
pub use note::ImportNote;
pub use overrides::{Override, OverrideError};
pub use pattern::{HOSTS_MAX, HostPattern, PatternError};
pub use platform::{AirLink, LinkInfo, Platform, read_text};
pub use protocol::{ControlMessageMode, ReadySendMode, SsendProtocol};
pub use reach::Unreachable;
pub use route::{Hop, LinkId, NoRoute, Route};
pub use sim_core::{DiskId, HostId};
pub use sketch::{Cable, ClusterSketch, Join, MemberView, SKETCH_HOSTS_MAX, Shape, ZoneSketch};
pub use summary::{Outline, Summary};
pub use zone::ZONE_DEPTH_MAX;
