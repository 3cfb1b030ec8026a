//! The options of real runs over an adapter, the same for every command that starts ranks.
//!
//! Without the feature `verbs` they are read and told of all the same, so that the answer is what is missing and not an unknown option.

use std::ffi::OsString;

use clap::{Args, ValueEnum};
use validation::real::Backend;

/// What is said where verbs were not built.
pub(crate) const NO_VERBS: &str = "--backend verbs: this program was built without verbs: expected tcp, or a build with the feature verbs of simrun, as `cargo build --release -p simrun --features verbs` makes; docs/verbs.md tells which system libraries that needs";

/// How long messages travel over an adapter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum RendezvousArg {
    /// The sender writes.
    #[default]
    Write,
    /// The receiver reads.
    Read,
}

impl RendezvousArg {
    /// Its name on a command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
        }
    }
}

/// What can be chosen about an adapter.
#[derive(Args, Clone, Debug)]
pub(crate) struct VerbsArgs {
    /// Adapter, as ibv_devices lists them; without it the first one
    #[arg(long, value_name = "NAME", help_heading = "Verbs")]
    pub(crate) device: Option<String>,

    /// Port of the adapter
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Verbs")]
    pub(crate) port: u8,

    /// Which of the port's global identifiers; without it the first of RoCE v2 over
    /// IPv4, else of RoCE v2, else the first
    #[arg(long, value_name = "N", help_heading = "Verbs", verbatim_doc_comment)]
    pub(crate) gid_index: Option<u8>,

    /// Largest payload of the network's packets: 256, 512, 1024, 2048 or 4096 bytes;
    /// without it what both ports can
    #[arg(long, value_name = "BYTES", value_parser = path_mtu, help_heading = "Verbs", verbatim_doc_comment)]
    pub(crate) path_mtu: Option<u32>,

    /// How long to wait for an acknowledgement: 4.096 us times 2^N, 0 for ever
    #[arg(
        long,
        value_name = "N",
        default_value_t = 18,
        value_parser = clap::value_parser!(u8).range(0..32),
        help_heading = "Verbs"
    )]
    pub(crate) ack_timeout: u8,

    /// How often to send again what was not acknowledged
    #[arg(
        long,
        value_name = "N",
        default_value_t = 7,
        value_parser = clap::value_parser!(u8).range(0..8),
        help_heading = "Verbs"
    )]
    pub(crate) retries: u8,

    /// How long messages travel: write (the sender writes them) or read (the receiver
    /// reads them)
    #[arg(
        long,
        value_name = "write|read",
        value_enum,
        default_value_t,
        hide_possible_values = true,
        help_heading = "Verbs",
        verbatim_doc_comment
    )]
    pub(crate) rendezvous: RendezvousArg,
}

fn path_mtu(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(bytes @ (256 | 512 | 1024 | 2048 | 4096)) => Ok(bytes),
        _ => Err("expected 256, 512, 1024, 2048 or 4096".to_owned()),
    }
}

/// No packet over an adapter is longer: each connection has receives for many of that length.
#[cfg(feature = "verbs")]
const PACKET_MAX: u64 = 1 << 20;

impl VerbsArgs {
    /// Verbs with these options, if they were built; messages of `eager_threshold` bytes and more go by rendezvous.
    #[cfg(not(feature = "verbs"))]
    pub(crate) const fn backend(&self, _eager_threshold: u64) -> Option<Backend> {
        None
    }

    /// Verbs with these options; messages of `eager_threshold` bytes and more go by rendezvous. An eager message has to fit into a packet.
    #[cfg(feature = "verbs")]
    #[expect(
        clippy::unnecessary_wraps,
        reason = "without the feature there is nothing"
    )]
    pub(crate) fn backend(&self, eager_threshold: u64) -> Option<Backend> {
        let mut options = mpi::packet_channel::Options {
            rendezvous: match self.rendezvous {
                RendezvousArg::Write => mpi::packet_channel::Rendezvous::Write,
                RendezvousArg::Read => mpi::packet_channel::Rendezvous::Read,
            },
            eager_threshold: eager_threshold.min(PACKET_MAX),
            ..mpi::packet_channel::Options::default()
        };
        let connection = &mut options.connection;
        connection.port_num = self.port;
        connection.gid_index = self.gid_index;
        connection.path_mtu = self.path_mtu.and_then(rdma::Mtu::from_bytes);
        connection.timeout = self.ack_timeout;
        connection.retry_cnt = self.retries;
        Some(Backend::Verbs {
            device: self.device.clone(),
            options,
        })
    }

    /// The same options on another command line.
    pub(crate) fn as_arguments(&self) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = Vec::new();
        let mut add = |name: &str, value: &dyn ToString| {
            arguments.push(OsString::from(name));
            arguments.push(OsString::from(value.to_string()));
        };
        if let Some(device) = &self.device {
            add("--device", device);
        }
        add("--port", &self.port);
        if let Some(index) = self.gid_index {
            add("--gid-index", &index);
        }
        if let Some(bytes) = self.path_mtu {
            add("--path-mtu", &bytes);
        }
        add("--ack-timeout", &self.ack_timeout);
        add("--retries", &self.retries);
        add("--rendezvous", &self.rendezvous.name());
        arguments
    }
}

/// Whether there is an adapter that these options name; what is missing, if there is none.
///
/// # Errors
/// What a user can do about it.
#[cfg(feature = "verbs")]
pub(crate) fn look_for_device(args: &VerbsArgs) -> Result<(), String> {
    let opened = validation::verbs::LibVerbs::open(args.device.as_deref());
    opened.map(drop).map_err(|error| error.to_string())
}

/// Nothing can be looked for.
#[cfg(not(feature = "verbs"))]
pub(crate) fn look_for_device(_: &VerbsArgs) -> Result<(), String> {
    Err(NO_VERBS.to_owned())
}
