//! `--pcap FILE`: the packets of a run over queue pairs, for Wireshark and tshark.
//!
//! *Decided here*: what is refused before the run begins. The file is written when the run has
//! ended, also if it has failed.

use std::path::PathBuf;

use clap::Args;
use run::{Capture, CaptureFilter};

use crate::Size;
use crate::args::RunArgs;
use crate::entry::Start;
use crate::status;

/// The options of a capture.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Output")]
pub(crate) struct PcapArgs {
    /// Write the packets of simulated queue pairs to FILE in pcapng format; the platform
    /// needs device = "verbs" in its network table
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,

    /// Capture only packets that this host sends or receives
    #[arg(long, value_name = "HOST", requires = "pcap")]
    pcap_host: Option<String>,

    /// Capture only packets of the queue pair with this number
    #[arg(long, value_name = "NUMBER", requires = "pcap")]
    pcap_qp: Option<u32>,

    /// Size at which the capture ends
    #[arg(long, value_name = "SIZE", default_value = "1GiB", requires = "pcap")]
    pcap_limit: Size,
}

/// The file of a capture.
#[derive(Debug)]
pub(crate) struct PcapFile {
    file: files::Output,
    qp_num: Option<u32>,
    host: Option<String>,
}

impl PcapFile {
    /// Finds the file of `--pcap`, and lets the run capture packets.
    ///
    /// # Errors
    /// A sentence that says why there can be no such capture.
    pub(crate) fn asked_for(
        args: &RunArgs,
        has_ranks: bool,
        start: &mut Start,
    ) -> Result<Option<Self>, String> {
        let Some(path) = args.pcap.pcap.as_deref() else {
            return Ok(None);
        };
        let file = files::Output::new(path).map_err(|error| error.to_string())?;
        if start.platform.network().verbs.is_none() {
            return Err(
                "--pcap: the platform has no packets: expected device = \"verbs\" in its network \
                 table, or --set network.device=verbs"
                    .to_owned(),
            );
        }
        if !has_ranks {
            return Err("--pcap: the program has no ranks, and actors send no packets".to_owned());
        }
        let host = match &args.pcap.pcap_host {
            None => None,
            Some(name) => Some(start.platform.host_by_name(name).ok_or_else(|| {
                format!("--pcap-host {name}: expected the name of a host of the platform")
            })?),
        };
        start.options.capture = Some(CaptureFilter {
            host,
            qp_num: args.pcap.pcap_qp,
            max_bytes: args.pcap.pcap_limit.0,
        });
        Ok(Some(Self {
            file,
            qp_num: args.pcap.pcap_qp,
            host: args.pcap.pcap_host.clone(),
        }))
    }

    /// Writes what was captured, and warns of what was left out.
    ///
    /// # Errors
    /// A sentence that says why the file cannot be written.
    pub(crate) fn write_capture(&self, capture: Option<Capture>) -> Result<(), String> {
        let Some(capture) = capture else {
            return Ok(());
        };
        if capture.left_out() > 0 {
            status::warn_all(&[format!(
                "--pcap: {} packets are not in {}: expected a larger --pcap-limit",
                capture.left_out(),
                self.file
            )]);
        }
        let packets = capture.packets() + capture.left_out();
        self.file
            .write(capture.into_bytes())
            .map_err(|error| error.to_string())?;
        match (self.qp_num, &self.host) {
            (Some(number), _) if packets == 0 => Err(format!(
                "--pcap-qp {number}: no packet was sent to or by a queue pair with this number: \
                 expected a number as in a capture without --pcap-qp"
            )),
            (None, Some(host)) if packets == 0 => Err(format!(
                "--pcap-host {host}: no packet was sent to or by this host: expected a host with a \
                 rank that sends or receives"
            )),
            _ => Ok(()),
        }
    }
}
