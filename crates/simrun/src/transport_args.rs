//! Startup, wait mode and transport of the ranks of a measurement: the options that `measure` and
//! `compare` share, because a calibration is valid only for programs that run with the same
//! options.

use std::ffi::OsString;
use std::fmt::Write as _;

use clap::{Args, ValueEnum};
use real::{Compute, Connecting, OutputMode, ProcessPlace, RankOptions};
use run::{LogFilter, MessageProtocol};

use crate::REVISION;
use crate::args::protocol_argument;
use crate::arrival_args::StartupArgs;
use crate::real_command::WaitArg;
use crate::size::Size;
use crate::tcp_args::TcpArgs;
use crate::verbs_args::{NO_VERBS, VerbsArgs, look_for_device};

/// A real back end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum Network {
    /// TCP sockets.
    #[default]
    Tcp,
    /// An adapter for InfiniBand or RoCE.
    Verbs,
}

impl Network {
    /// Its name on a command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Verbs => "verbs",
        }
    }
}

/// Options of startup, waiting and transport.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Real ranks")]
pub struct TransportArgs {
    /// Wait mode: block (sleep in the operating system) or spin (busy polling; needs a core per
    /// rank)
    #[arg(
        long,
        value_name = "block|spin",
        value_enum,
        default_value_t,
        hide_possible_values = true
    )]
    pub wait: WaitArg,

    /// Bind each rank to its own core
    #[arg(long)]
    pub bind_to_core: bool,

    /// Eager threshold
    #[arg(long, value_name = "SIZE", default_value = "16KiB")]
    pub eager_threshold: Size,

    /// Where ranks connect, and how long that may take.
    #[command(flatten)]
    pub arrival: StartupArgs,

    /// Options of TCP.
    #[command(flatten)]
    pub tcp: TcpArgs,

    /// Options of adapters.
    #[command(flatten)]
    pub verbs: VerbsArgs,
}

impl TransportArgs {
    /// Checks these options for contradictions and for a missing adapter. Each rank checks its own
    /// sockets.
    ///
    /// # Errors
    /// The problem, and advice.
    pub fn check_options(&self, network: Network) -> Result<(), String> {
        match network {
            Network::Tcp => self.verbs.check_absent(network.name()),
            Network::Verbs => {
                self.tcp.check_absent(network.name())?;
                look_for_device(&self.verbs)
            }
        }
    }

    /// Lines of the file of samples.
    pub fn as_comments(&self, network: Network) -> String {
        let mut text = format!("# backend: {}\n", network.name());
        let _ = writeln!(
            text,
            "# wait: {}\n# pinned: {}",
            self.wait_name(),
            self.bind_to_core
        );
        if network == Network::Verbs {
            let device = self.verbs.device.as_deref().unwrap_or("the first one");
            let rendezvous = self.verbs.rendezvous.name();
            let _ = writeln!(text, "# device: {device}\n# rendezvous: {rendezvous}");
        }
        text
    }

    /// Returns the name of the wait mode.
    pub const fn wait_name(&self) -> &'static str {
        match self.wait {
            WaitArg::Block => "block",
            WaitArg::Spin => "spin",
        }
    }

    /// Returns the options of a rank.
    ///
    /// # Errors
    /// If that network was not built.
    pub fn rank_options(&self, network: Network) -> Result<RankOptions, &'static str> {
        let threshold = self.eager_threshold.0;
        let backend = match network {
            Network::Tcp => Some(self.tcp.backend()),
            Network::Verbs => self.verbs.backend(threshold),
        };
        Ok(RankOptions {
            backend: backend.ok_or(NO_VERBS)?,
            eager_threshold: threshold,
            wait: self.wait.into(),
            connecting: Connecting {
                keepalive_timeout: self.arrival.keepalive_timeout(),
                ..Connecting::default()
            },
            startup: self.arrival.startup_timeout(),
            compute: Compute::Spin,
            flop_per_s: 1e9,
            bind_to_core: self.bind_to_core,
            log: LogFilter::default(),
            prefix: false,
            print: OutputMode::Now,
            compare_calls: false,
            revision: REVISION.to_owned(),
        })
    }

    /// The same options on the command line of `simrun measure`.
    pub fn for_measure(&self, network: Network) -> Vec<OsString> {
        let mut arguments = self.as_arguments(network);
        arguments.push("--eager-threshold".into());
        arguments.push(self.eager_threshold.to_string().into());
        arguments
    }

    /// The same options on the command line of a program's `real`, with the eager threshold unless
    /// another protocol is given.
    pub fn for_real(&self, network: Network, protocol: Option<MessageProtocol>) -> Vec<OsString> {
        let mut arguments = self.as_arguments(network);
        let threshold = MessageProtocol::Threshold(self.eager_threshold.0);
        arguments.push(protocol_argument(protocol.unwrap_or(threshold)).into());
        arguments
    }

    fn as_arguments(&self, network: Network) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = vec![
            "--backend".into(),
            network.name().into(),
            "--wait".into(),
            self.wait_name().into(),
        ];
        arguments.extend(self.arrival.as_arguments());
        arguments.extend(self.bind_to_core.then(|| OsString::from("--bind-to-core")));
        arguments.extend(match network {
            Network::Tcp => self.tcp.as_arguments(),
            Network::Verbs => self.verbs.as_arguments(),
        });
        arguments
    }
}

/// Returns the rank of this process in an allocation of srun, mpirun or another launcher; `None` if
/// it was started by itself.
///
/// # Errors
/// If another number of ranks was asked for than there are.
pub fn placed(ranks: Option<u32>) -> Result<Option<ProcessPlace>, String> {
    let place = real::process_place(|name| std::env::var_os(name)?.into_string().ok());
    match (place, ranks) {
        (Some(place), Some(ranks)) if ranks != place.size => Err(format!(
            "-n {ranks} differs from the {} allocation of {} ranks",
            place.launcher, place.size
        )),
        (place, _) => Ok(place),
    }
}
