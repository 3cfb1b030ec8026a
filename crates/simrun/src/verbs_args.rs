//! Options of real runs over an InfiniBand or RoCE adapter, for every command that starts ranks.
//!
//! Without the feature `verbs` they are accepted and shown all the same, so that the error names
//! the missing feature and not an unknown option.

use std::ffi::OsString;

use clap::{Args, FromArgMatches as _, ValueEnum, value_parser};
use real::Backend;

use crate::size::Size;

/// Message of programs that were built without verbs.
pub const NO_VERBS: &str = "--backend verbs: this program was built without verbs: rebuild it with --features simrun/verbs (for measure: cargo build --release -p simrun-tools --features verbs), or use --backend tcp; docs/verbs.md lists the system libraries that it needs";

/// Transport of long messages over an adapter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum RendezvousArg {
    /// RDMA WRITE by the sender.
    #[default]
    Write,
    /// RDMA READ by the receiver.
    Read,
}

impl RendezvousArg {
    /// Its name on a command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
        }
    }
}

/// Options of an adapter.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Verbs")]
pub struct VerbsArgs {
    /// Adapter, as listed by ibv_devices [default: the first one]
    #[arg(long, value_name = "NAME")]
    pub device: Option<String>,

    /// Port of the adapter
    #[arg(long, value_name = "N", default_value = "1", value_parser = value_parser!(u8).range(1..))]
    pub port: u8,

    /// GID index [default: the first of RoCE v2 over IPv4, else the first of RoCE v2,
    /// else 0]
    #[arg(long, value_name = "N")]
    pub gid_index: Option<u8>,

    /// Path MTU in bytes: 256, 512, 1024, 2048 or 4096 [default: the largest that both
    /// ports support]
    #[arg(long, value_name = "BYTES", value_parser = path_mtu)]
    pub path_mtu: Option<u32>,

    /// Acknowledgement timeout: 4.096 us * 2^N; 0 = infinite
    #[arg(
        long,
        value_name = "N",
        default_value = "18",
        value_parser = value_parser!(u8).range(0..32)
    )]
    pub ack_timeout: u8,

    /// Retry count (retry_cnt)
    #[arg(
        long,
        value_name = "N",
        default_value = "7",
        value_parser = value_parser!(u8).range(0..8)
    )]
    pub retry_count: u8,

    /// Transport of long messages: write (RDMA WRITE by the sender) or read (RDMA READ by
    /// the receiver)
    #[arg(
        long,
        value_name = "write|read",
        value_enum,
        default_value_t,
        hide_possible_values = true
    )]
    pub rendezvous: RendezvousArg,

    /// RNR retry count (rnr_retry); 7 = infinite. Flow control by credits makes sure that
    /// a receive is always posted
    #[arg(
        long,
        value_name = "N",
        default_value = "7",
        value_parser = value_parser!(u8).range(0..8),
    )]
    pub rnr_retry: u8,

    /// Minimum RNR NAK timer (min_rnr_timer): an index of the table in the InfiniBand
    /// specification; 12 = 0.64 ms
    #[arg(
        long,
        value_name = "N",
        default_value = "12",
        value_parser = value_parser!(u8).range(0..32),
    )]
    pub min_rnr_timer: u8,

    /// Maximum outstanding RDMA READs per connection (max_rd_atomic)
    #[arg(
        long,
        value_name = "N",
        default_value = "16",
        value_parser = value_parser!(u8).range(1..)
    )]
    pub max_rd_atomic: u8,

    /// Credits per connection; two receives are posted for each
    #[arg(
        long,
        value_name = "N",
        default_value = "32",
        value_parser = value_parser!(u32).range(2..=16384)
    )]
    pub credits: u32,

    /// Credits reserved for control packets
    #[arg(
        long,
        value_name = "N",
        default_value = "8",
        value_parser = value_parser!(u32).range(1..16384)
    )]
    pub reserved_credits: u32,

    /// Send buffers per rank (for packets not sent inline)
    #[arg(
        long,
        value_name = "N",
        default_value = "64",
        value_parser = value_parser!(u32).range(1..=65536)
    )]
    pub send_buffers: u32,

    /// Send queue depth (max_send_wr)
    #[arg(
        long,
        value_name = "N",
        default_value = "128",
        value_parser = value_parser!(u32).range(2..=65536)
    )]
    pub send_queue_depth: u32,

    /// Completion queue depth; when the connections of a queue could overflow it, another
    /// queue is created
    #[arg(
        long,
        value_name = "N",
        default_value = "4096",
        value_parser = value_parser!(u32).range(2..=4_194_304),
    )]
    pub cq_depth: u32,

    /// Signal one of every N send requests
    #[arg(
        long,
        value_name = "N",
        default_value = "16",
        value_parser = value_parser!(u32).range(1..=65536)
    )]
    pub signal_every: u32,

    /// Maximum inline size in bytes, header included (max_inline_data); reduced to the
    /// adapter's limit
    #[arg(
        long,
        value_name = "BYTES",
        default_value = "220",
        value_parser = value_parser!(u32).range(0..=65536),
    )]
    pub max_inline: u32,

    /// Registration cache entries; 0 = no cache
    #[arg(
        long,
        value_name = "N",
        default_value = "64",
        value_parser = value_parser!(u32).range(0..=1_048_576)
    )]
    pub reg_cache_entries: u32,

    /// Registration cache size in bytes
    #[arg(long, value_name = "SIZE", default_value = "64MiB")]
    pub reg_cache_size: Size,

    /// Use bounce buffers for rendezvous messages up to this size whose memory is not
    /// registered
    #[arg(long, value_name = "SIZE", default_value = "128KiB")]
    pub bounce_max: Size,
}

fn path_mtu(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(bytes @ (256 | 512 | 1024 | 2048 | 4096)) => Ok(bytes),
        _ => Err("expected 256, 512, 1024, 2048 or 4096".to_owned()),
    }
}

/// Maximum packet size over an adapter, in bytes: each connection posts receives of that size.
#[cfg(feature = "verbs")]
const PACKET_MAX: u64 = 1 << 20;

impl VerbsArgs {
    /// Checks these options for contradictions.
    ///
    /// # Errors
    /// A text that names the options.
    pub fn check_options(&self) -> Result<(), String> {
        if self.reserved_credits >= self.credits {
            return Err(format!(
                "--reserved-credits {} must be less than --credits {}",
                self.reserved_credits, self.credits
            ));
        }
        Ok(())
    }

    /// Checks that no option of adapters has another value than its default, for a network without
    /// adapters.
    ///
    /// # Errors
    /// A text that names the first such option.
    pub fn check_absent(&self, backend: &str) -> Result<(), String> {
        let command = Self::augment_args(clap::Command::new("defaults"));
        let defaults = command.try_get_matches_from(["defaults"]);
        let defaults = defaults.and_then(|found| Self::from_arg_matches(&found));
        let defaults = defaults.map_err(|error| error.to_string())?.as_arguments();
        let own = self.as_arguments();
        let pairs = |all: &[OsString]| -> Vec<(OsString, OsString)> {
            let pairs = all.chunks_exact(2);
            pairs
                .map(|pair| (pair[0].clone(), pair[1].clone()))
                .collect()
        };
        let defaults = pairs(&defaults);
        match pairs(&own).iter().find(|pair| !defaults.contains(pair)) {
            None => Ok(()),
            Some((name, value)) => Err(format!(
                "{} {} with --backend {backend}: expected it with --backend verbs alone",
                name.display(),
                value.display()
            )),
        }
    }

    /// Verbs with these options, if they were built; messages of `eager_threshold` bytes and more
    /// go by rendezvous.
    #[cfg(not(feature = "verbs"))]
    pub const fn backend(&self, _eager_threshold: u64) -> Option<Backend> {
        None
    }

    /// Verbs with these options; messages of `eager_threshold` bytes and more go by rendezvous. An
    /// eager message has to fit into a packet.
    #[cfg(feature = "verbs")]
    pub fn backend(&self, eager_threshold: u64) -> Option<Backend> {
        let mut options = mpi_verbs::Options {
            rendezvous: match self.rendezvous {
                RendezvousArg::Write => mpi_verbs::Rendezvous::Write,
                RendezvousArg::Read => mpi_verbs::Rendezvous::Read,
            },
            eager_threshold: eager_threshold.min(PACKET_MAX),
            credits: self.credits,
            reserved: self.reserved_credits,
            send_buffers: self.send_buffers,
            send_queue_depth: self.send_queue_depth,
            cq_depth: self.cq_depth,
            signal_every: self.signal_every,
            max_inline: self.max_inline,
            reg_cache_entries: self.reg_cache_entries as usize,
            reg_cache_size: self.reg_cache_size.0,
            bounce_max: self.bounce_max.0,
            ..mpi_verbs::Options::default()
        };
        let connection = &mut options.connection;
        connection.port_num = self.port;
        connection.gid_index = self.gid_index;
        connection.path_mtu = self.path_mtu.and_then(rdma::Mtu::from_bytes);
        connection.timeout = self.ack_timeout;
        connection.retry_cnt = self.retry_count;
        connection.rnr_retry = self.rnr_retry;
        connection.min_rnr_timer = self.min_rnr_timer;
        connection.max_rd_atomic = self.max_rd_atomic;
        Some(Backend::Verbs {
            device: self.device.clone(),
            options,
        })
    }

    /// The same options on another command line.
    pub fn as_arguments(&self) -> Vec<OsString> {
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
        add("--retry-count", &self.retry_count);
        add("--rendezvous", &self.rendezvous.name());
        add("--rnr-retry", &self.rnr_retry);
        add("--min-rnr-timer", &self.min_rnr_timer);
        add("--max-rd-atomic", &self.max_rd_atomic);
        add("--credits", &self.credits);
        add("--reserved-credits", &self.reserved_credits);
        add("--send-buffers", &self.send_buffers);
        add("--send-queue-depth", &self.send_queue_depth);
        add("--cq-depth", &self.cq_depth);
        add("--signal-every", &self.signal_every);
        add("--max-inline", &self.max_inline);
        add("--reg-cache-entries", &self.reg_cache_entries);
        add("--reg-cache-size", &self.reg_cache_size);
        add("--bounce-max", &self.bounce_max);
        arguments
    }
}

/// Checks that the adapter of these options exists.
///
/// # Errors
/// Advice for the user.
#[cfg(feature = "verbs")]
pub fn look_for_device(args: &VerbsArgs) -> Result<(), String> {
    args.check_options()?;
    let opened = real::verbs::LibVerbs::open(args.device.as_deref());
    opened.map(drop).map_err(|error| error.to_string())
}

/// Refuses adapters, which this build does not know.
///
/// # Errors
/// That, and what to build instead.
#[cfg(not(feature = "verbs"))]
pub fn look_for_device(_: &VerbsArgs) -> Result<(), String> {
    Err(NO_VERBS.to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        verbs: VerbsArgs,
    }

    fn read(line: &str) -> Result<VerbsArgs, String> {
        let words = std::iter::once("real").chain(line.split_whitespace());
        let line = Line::try_parse_from(words);
        line.map(|line| line.verbs)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_handed_on_is_what_was_given() {
        let given = "--device rxe0 --port 2 --gid-index 3 --path-mtu 1024 --ack-timeout 14 --retry-count 2 --rendezvous read --rnr-retry 3 \
            --min-rnr-timer 9 --max-rd-atomic 4 --credits 50 --reserved-credits 5 --send-buffers 20 --send-queue-depth 30 --cq-depth 500 --signal-every 7 \
            --max-inline 64 --reg-cache-entries 3 --reg-cache-size 1MiB --bounce-max 20KiB";
        let words: Vec<OsString> = given.split_whitespace().map(OsString::from).collect();
        let handed = read(given).unwrap().as_arguments();
        assert_eq!(handed, words);
    }

    #[test]
    fn options_of_adapters_need_an_adapter() {
        read("").unwrap().check_absent("tcp").unwrap();
        for (line, named) in [
            (
                "--device mlx5",
                "--device mlx5 with --backend tcp: expected",
            ),
            ("--max-inline 64 --device x", "--device x with"),
            ("--bounce-max 20KiB", "--bounce-max 20KiB with"),
        ] {
            let problem = read(line).unwrap().check_absent("tcp").unwrap_err();
            assert!(problem.starts_with(named), "{problem}");
        }
    }

    #[test]
    fn wrong_values_are_refused_by_the_name_of_their_option() {
        for wrong in [
            "--port 0",
            "--path-mtu 1500",
            "--ack-timeout 32",
            "--retry-count 8",
            "--rnr-retry 8",
            "--min-rnr-timer 32",
            "--max-rd-atomic 0",
            "--credits 1",
            "--reserved-credits 0",
            "--send-buffers 0",
            "--send-queue-depth 1",
            "--cq-depth 0",
            "--signal-every 0",
            "--max-inline 100000",
            "--reg-cache-entries many",
            "--reg-cache-size 1MX",
        ] {
            let error = read(wrong).unwrap_err();
            let option = wrong.split(' ').next().unwrap();
            assert!(error.contains(option), "{wrong}: {error}");
        }
        let error = read("--credits 8").unwrap().check_options().unwrap_err();
        assert!(
            error.starts_with("--reserved-credits 8 must be less than --credits 8"),
            "{error}"
        );
        assert_eq!(read("").unwrap().check_options(), Ok(()));
    }

    /// Defaults of a program and of its library are the same.
    #[cfg(feature = "verbs")]
    #[test]
    fn the_defaults_are_those_of_the_packet_channel() {
        let options = mpi_verbs::Options {
            eager_threshold: 100,
            ..mpi_verbs::Options::default()
        };
        let device = None;
        assert_eq!(
            read("").unwrap().backend(100),
            Some(Backend::Verbs { device, options })
        );
    }
}
