//! Hosts, links and routes, and the models that say how long work takes on them.
//!
//! A [`Platform`] is read from a TOML file; [`FlowModel`] runs computations and transfers on it as a
//! [`sim_core::Resource`]. This crate knows no program.
//!
//! # The platform file
//!
//! Every quantity is a string with its unit, and prints back as it was written ([`units`]). Units are case-sensitive:
//! `b` is a bit, `B` a byte; `k M G T P E` are powers of 1000, `Ki Mi Gi Ti Pi Ei` powers of 1024. A complete example:
//!
//! ```
//! use platform::Platform;
//!
//! let text = r#"
//! version = 1                      # of the format; the only key that is always required
//! name = "an example"              # optional
//!
//! [network]                        # optional
//! model = "flow"                   # latency, then max-min fair sharing: the default; others see below
//!
//! [protocol]                       # optional: what the message layer needs to know
//! eager_threshold = "64KiB"        # messages below are sent eagerly, others by rendezvous; default 64KiB
//!
//! [hosts.front]                    # a single host
//! speed = "16Gf"                   # flop/s of one core
//! cores = 8                        # default 1
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
//! "#;
//! let platform = Platform::parse("example.toml", text)?;
//! assert_eq!(platform.host_count(), 65);
//!
//! // front → node-3: door, backbone, the link of node-3.
//! let host = |name| platform.host_by_name(name).expect("a host");
//! let route = platform.route(host("front"), host("node-3"))?;
//! assert_eq!(route.hops.len(), 3);
//! assert_eq!(route.latency_s, 20e-6 + 100e-9 + 625e-9);
//!
//! let model = platform::model(platform.into());
//! # let _ = model;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Network models.** `[network] model` is `"flow"`, `"raw"`, `"cm02"`, `"lv08"`, `"smpi"`, `"ib"` or `"constant"`
//! ([`NetworkModel`]). Each is a preset of the same parameters ([`FluidParameters`] has the formula and the units), which can be
//! set next to the name:
//!
//! ```
//! # let text = r#"
//! # version = 1
//! # hosts.a.speed = "1Gf"
//! [network]
//! model = "lv08"
//! latency_factor = 13.01                    # of the latency paid; one number, or steps as below
//! bandwidth_factor = [                      # of the rate reached; sizes up to the first step have the factor 1
//!   { above = "0B", factor = 0.9 },         # strictly above
//!   { above = "64KiB", factor = 0.97 },
//! ]
//! rtt_penalty = true                        # shares by 1 / (latency + weight_s / bandwidth)
//! weight_s = "20537B"
//! tcp_gamma = "4MiB"                        # window: at most tcp_gamma / (2 latency); "0B" is none
//! crosstraffic = 0.05                       # of the rate, on every link of the way back; true is 0.05, false is 0
//! loopback = { bandwidth = "10GBps", latency = "0s" }    # of the implicit way from a host to itself
//! envelope = "0B"                           # what the message layer adds to each message ("16B" in "smpi")
//! compat = "simgrid-4.1"                    # quirks of that version that change dates: see `Compat`
//! # "#;
//! # platform::Platform::parse("example.toml", text)?;
//! # Ok::<(), platform::LoadError>(())
//! ```
//!
//! Model `"ib"` has also `ib_penalty_factors = { be = 0.965, bs = 0.925, ys = 1.35 }`; model `"constant"` has nothing but
//! `duration = "1s"`.
//!
//! **Sharing.** The transfers on a `shared` link share its bandwidth, whatever their direction. A `split-duplex` link has
//! its whole bandwidth in each direction. On a `fatpipe` each transfer has the whole bandwidth.
//!
//! **Routes.** Inside a cluster, routes are computed: the link of the sender, the backbone if there is one, the link of the
//! receiver. Every other pair of hosts needs a `[[routes]]` entry between their *ends* (single hosts or clusters);
//! there is no way through a third end. A split-duplex link is crossed `up` by the route as written and `down` by the
//! way back; `{ link = "door", direction = "down" }` in `links` says it the other way round, for hosts around a common
//! switch. A host reaches itself over its `loopback`, a route from it to itself, or else over an implicit fatpipe of
//! 10 GB/s without latency.
//!
//! **Numbers.** Hosts are numbered in the order of the file, those of `[hosts]` before those of `[clusters]`.
//!
//! **Mistakes** come all at once, each with file, line, column, the value found and what was expected ([`LoadError`]).

mod build;
mod file;
mod mistake;
mod model;
mod nearest;
mod pattern;
mod platform;
mod route;
pub mod solver;
mod summary;
pub mod units;

pub use file::{Protocol, Sharing};
pub use mistake::{LoadError, Mistake, Mistakes, Unreadable};
pub use model::profile;
pub use model::{
    Compat, FactorStep, Factors, FlowModel, FluidParameters, IbPenaltyFactors, Loopback,
    NetworkModel, NetworkParameters, model,
};
pub use pattern::{HOSTS_MAX, HostPattern, PatternError};
pub use platform::{LinkInfo, Platform};
pub use route::{Hop, LinkId, NoRoute, Route};
pub use sim_core::HostId;
pub use summary::Summary;
