//! The options of real runs over an adapter, the same for every command that starts ranks.
//!
//! Without the feature `verbs` they are read and told of all the same, so that the answer is what
//! is missing and not an unknown option.

use std::ffi::OsString;

use clap::{Args, ValueEnum};
use real::Backend;

use crate::size::Size;

/// Message of programs that were built without verbs.
pub const NO_VERBS: &str = "--backend verbs: this program was built without verbs: expected tcp, or a build with the feature simrun/verbs, as `cargo build --release -p simrun-tools --features verbs` makes for measuring; docs/verbs.md tells which system libraries that needs";

/// Transport of long messages over an adapter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum RendezvousArg {
    /// The sender writes.
    #[default]
    Write,
    /// The receiver reads.
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
pub struct VerbsArgs {
    /// Adapter, as ibv_devices lists them; without it the first one
    #[arg(long, value_name = "NAME", help_heading = "Verbs")]
    pub device: Option<String>,

    /// Port of the adapter
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u8).range(1..),
        help_heading = "Verbs"
    )]
    pub port: u8,

    /// Which of the port's global identifiers; without it the first of RoCE v2 over
    /// IPv4, else of RoCE v2, else the first
    #[arg(long, value_name = "N", help_heading = "Verbs", verbatim_doc_comment)]
    pub gid_index: Option<u8>,

    /// Largest payload of the network's packets: 256, 512, 1024, 2048 or 4096 bytes;
    /// without it what both ports can
    #[arg(long, value_name = "BYTES", value_parser = path_mtu, help_heading = "Verbs", verbatim_doc_comment)]
    pub path_mtu: Option<u32>,

    /// How long to wait for an acknowledgement: 4.096 us times 2^N, 0 for ever
    #[arg(
        long,
        value_name = "N",
        default_value_t = 18,
        value_parser = clap::value_parser!(u8).range(0..32),
        help_heading = "Verbs"
    )]
    pub ack_timeout: u8,

    /// How often to send again what was not acknowledged
    #[arg(
        long,
        value_name = "N",
        default_value_t = 7,
        value_parser = clap::value_parser!(u8).range(0..8),
        help_heading = "Verbs"
    )]
    pub retries: u8,

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
    pub rendezvous: RendezvousArg,

    /// How often to send again what met no posted receive; 7 for ever. Credits see to it
    /// that there always is one
    #[arg(
        long,
        value_name = "N",
        default_value_t = 7,
        value_parser = clap::value_parser!(u8).range(0..8),
        help_heading = "Verbs",
        verbatim_doc_comment
    )]
    pub rnr_retries: u8,

    /// How long the other side waits before that: a place in the table of the InfiniBand
    /// specification, 12 for 0.64 ms
    #[arg(
        long,
        value_name = "N",
        default_value_t = 12,
        value_parser = clap::value_parser!(u8).range(0..32),
        help_heading = "Verbs",
        verbatim_doc_comment
    )]
    pub rnr_timer: u8,

    /// Reads of a connection that may be under way; less if an adapter can do less
    #[arg(
        long,
        value_name = "N",
        default_value_t = 16,
        value_parser = clap::value_parser!(u8).range(1..),
        help_heading = "Verbs"
    )]
    pub reads: u8,

    /// Packets to a rank that it has not used up; for each there are two receives
    #[arg(
        long,
        value_name = "N",
        default_value_t = 32,
        value_parser = clap::value_parser!(u32).range(2..=16384),
        help_heading = "Verbs"
    )]
    pub credits: u32,

    /// Those of the credits that only control packets may use
    #[arg(
        long,
        value_name = "N",
        default_value_t = 8,
        value_parser = clap::value_parser!(u32).range(1..16384),
        help_heading = "Verbs"
    )]
    pub reserved_credits: u32,

    /// Packet buffers of a rank for what it sends and is not inline
    #[arg(
        long,
        value_name = "N",
        default_value_t = 64,
        value_parser = clap::value_parser!(u32).range(1..=65536),
        help_heading = "Verbs"
    )]
    pub send_buffers: u32,

    /// Requests outstanding on the send queue of a connection
    #[arg(
        long,
        value_name = "N",
        default_value_t = 128,
        value_parser = clap::value_parser!(u32).range(2..=65536),
        help_heading = "Verbs"
    )]
    pub send_queue: u32,

    /// Completions that a completion queue can hold; when its connections could fill one,
    /// another is made
    #[arg(
        long,
        value_name = "N",
        default_value_t = 4096,
        value_parser = clap::value_parser!(u32).range(2..=4_194_304),
        help_heading = "Verbs",
        verbatim_doc_comment
    )]
    pub completion_queue: u32,

    /// One of so many requests of which nobody has to know the end is signalled
    #[arg(
        long,
        value_name = "N",
        default_value_t = 16,
        value_parser = clap::value_parser!(u32).range(1..=65536),
        help_heading = "Verbs"
    )]
    pub signal_every: u32,

    /// Packets up to so many bytes, with their head, are given to the adapter inline; less
    /// if it can do less
    #[arg(
        long,
        value_name = "BYTES",
        default_value_t = 220,
        value_parser = clap::value_parser!(u32).range(0..=65536),
        help_heading = "Verbs",
        verbatim_doc_comment
    )]
    pub inline: u32,

    /// Registrations of messages that are kept after they have left; 0 for none
    #[arg(
        long,
        value_name = "N",
        default_value_t = 64,
        value_parser = clap::value_parser!(u32).range(0..=1_048_576),
        help_heading = "Verbs"
    )]
    pub cached_regions: u32,

    /// The most bytes of them
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "64MiB",
        help_heading = "Verbs"
    )]
    pub cached_bytes: Size,

    /// Long messages up to this size are copied through memory that stays registered,
    /// where their own is not
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "128KiB",
        help_heading = "Verbs",
        verbatim_doc_comment
    )]
    pub copied: Size,
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
    /// Returns contradictions among these options, by their names.
    ///
    /// # Errors
    /// That, and what is expected.
    pub fn check(&self) -> Result<(), String> {
        if self.reserved_credits >= self.credits {
            return Err(format!(
                "--reserved-credits {} of --credits {}: expected fewer, so that there are some for messages",
                self.reserved_credits, self.credits
            ));
        }
        Ok(())
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
            send_queue: self.send_queue,
            completion_queue: self.completion_queue,
            signal_every: self.signal_every,
            inline: self.inline,
            cached_regions: self.cached_regions as usize,
            cached_bytes: self.cached_bytes.0,
            copied: self.copied.0,
            ..mpi_verbs::Options::default()
        };
        let connection = &mut options.connection;
        connection.port_num = self.port;
        connection.gid_index = self.gid_index;
        connection.path_mtu = self.path_mtu.and_then(rdma::Mtu::from_bytes);
        connection.timeout = self.ack_timeout;
        connection.retry_cnt = self.retries;
        connection.rnr_retry = self.rnr_retries;
        connection.min_rnr_timer = self.rnr_timer;
        connection.max_rd_atomic = self.reads;
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
        add("--retries", &self.retries);
        add("--rendezvous", &self.rendezvous.name());
        add("--rnr-retries", &self.rnr_retries);
        add("--rnr-timer", &self.rnr_timer);
        add("--reads", &self.reads);
        add("--credits", &self.credits);
        add("--reserved-credits", &self.reserved_credits);
        add("--send-buffers", &self.send_buffers);
        add("--send-queue", &self.send_queue);
        add("--completion-queue", &self.completion_queue);
        add("--signal-every", &self.signal_every);
        add("--inline", &self.inline);
        add("--cached-regions", &self.cached_regions);
        add("--cached-bytes", &self.cached_bytes);
        add("--copied", &self.copied);
        arguments
    }
}

/// Whether there is an adapter that these options name; what is missing, if there is none.
///
/// # Errors
/// Advice for the user.
#[cfg(feature = "verbs")]
pub fn look_for_device(args: &VerbsArgs) -> Result<(), String> {
    args.check()?;
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
        let given = "--device rxe0 --port 2 --gid-index 3 --path-mtu 1024 --ack-timeout 14 --retries 2 --rendezvous read --rnr-retries 3 \
            --rnr-timer 9 --reads 4 --credits 50 --reserved-credits 5 --send-buffers 20 --send-queue 30 --completion-queue 500 --signal-every 7 \
            --inline 64 --cached-regions 3 --cached-bytes 1MiB --copied 20KiB";
        let words: Vec<OsString> = given.split_whitespace().map(OsString::from).collect();
        let handed = read(given).unwrap().as_arguments();
        assert_eq!(handed, words);
    }

    #[test]
    fn wrong_values_are_refused_by_the_name_of_their_option() {
        for wrong in [
            "--port 0",
            "--path-mtu 1500",
            "--ack-timeout 32",
            "--retries 8",
            "--rnr-retries 8",
            "--rnr-timer 32",
            "--reads 0",
            "--credits 1",
            "--reserved-credits 0",
            "--send-buffers 0",
            "--send-queue 1",
            "--completion-queue 0",
            "--signal-every 0",
            "--inline 100000",
            "--cached-regions many",
            "--cached-bytes 1MX",
        ] {
            let error = read(wrong).unwrap_err();
            let option = wrong.split(' ').next().unwrap();
            assert!(error.contains(option), "{wrong}: {error}");
        }
        let error = read("--credits 8").unwrap().check().unwrap_err();
        assert!(
            error.starts_with("--reserved-credits 8 of --credits 8: expected fewer"),
            "{error}"
        );
        assert_eq!(read("").unwrap().check(), Ok(()));
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
