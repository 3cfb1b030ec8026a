//! Writes a fit as a platform file that runs without changes.
//!
//! T(s) = a_k + b_k s on piece k; a'_k + b'_k s is the part of the network ([`CostSplit`]). The
//! latency is the time of an empty message, which has always factor 1 and free calls in a
//! simulation. The bandwidth is 1 / b' of the last piece, so the factor there is 1. The factors of
//! piece k are a'_k / latency and 1 / (b'_k × bandwidth), for sizes strictly above the last size of
//! the piece before. Factors are never clamped: a clamped table does not give the fit back.
//!
//! A factor must be above 0. Where a'_k is 0, 1e-6 of the time of the piece's smallest size
//! replaces it; where b'_k is 0, a slope that adds 0.1 % to the time of the largest size.
//!
//! Presets with hidden terms are inverted. With `smpi`, sizes are looked up with 16 bytes of
//! envelope, which are subtracted from a'. Acknowledgements of a lone message on shared cables
//! leave 1/1.05 of the bandwidth, so the bandwidth is made larger. The window is too large to bind.
//! Eager messages leave at once: by default, `smpi` sends wait for their receive, and the measured
//! receive would include the whole transfer.
//!
//! The rendezvous is either *in the tables*, with control messages that take no time, or
//! *simulated*, with two of them subtracted; both would count it twice. The file says which.
//!
//! *Not modelled*: the speed of hosts is a placeholder.

use std::fmt::Write as _;

use crate::fit::{Fit, Line};
use crate::loggp::LogGp;
use crate::overheads::{CostSegment, CostSplit};
use crate::point::bytes;

/// Bytes that the preset `smpi` adds to each message.
const ENVELOPE: u64 = 16;
/// Bytes of a control message, one cache line: the default of simulated control messages.
const CONTROL: u64 = 64;
/// Rate of the acknowledgements of a message on shared cables, as a part of the message rate.
const CROSSTRAFFIC: f64 = 0.05;
/// Bytes of the window of the preset `smpi`.
const WINDOW: f64 = 4_194_304.0;

/// Network model that the file is written for.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Preset {
    /// Latency and bandwidth with size-dependent factors.
    #[default]
    Flow,
    /// The same as messages of SMPI: with an envelope, acknowledgements and a window.
    Smpi,
    /// LogGOPS parameters L, o, g, G, O, S.
    LogGops,
}

/// Where the cost of a rendezvous is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum RendezvousCost {
    /// In the tables, as measured; control messages take no time.
    #[default]
    InTable,
    /// Simulated: the tables have the transport alone.
    Simulated,
}

impl RendezvousCost {
    /// Returns the name of this form in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::InTable => "in-table",
            Self::Simulated => "simulated",
        }
    }
}

/// Contents besides the fit.
#[derive(Clone, PartialEq, Debug)]
pub struct PlatformMetadata {
    /// Where the measurements come from: one line each, as comments.
    pub sources: Vec<String>,
    /// From how many bytes on messages go by rendezvous, if that is known.
    pub eager_threshold: Option<u64>,
    /// Number of hosts the platform gets; they are all alike.
    pub hosts: u32,
    /// For which model.
    pub preset: Preset,
    /// Where the cost of a rendezvous is.
    pub handshake: RendezvousCost,
    /// True if both directions of a cable share the bandwidth of the cable.
    pub shared: bool,
    /// Bytes/s of a copy in memory, if the message layer is to pay for copies.
    pub copy_bandwidth: Option<f64>,
    /// Bytes/s of a sum of doubles in memory, if measured.
    pub reduce_bandwidth: Option<f64>,
    /// Seconds of an empty message, if measured; otherwise the time comes from the fit.
    pub empty_s: Option<f64>,
}

impl PlatformMetadata {
    /// Bytes that are added to each message.
    pub const fn envelope(&self) -> u64 {
        match self.preset {
            Preset::Smpi => ENVELOPE,
            Preset::Flow | Preset::LogGops => 0,
        }
    }
}

/// The network's part of the curve as latency, bandwidth and factors, in sizes of transfers.
struct Wire {
    latency_s: f64,
    /// Bytes/s of a lone transfer.
    bandwidth: f64,
    /// For each step, the largest transfer below the step, and the line of the step.
    steps: Vec<(u64, Line)>,
}

impl Wire {
    /// Returns the tables; `None` if two control messages take longer than a whole rendezvous.
    fn new(split: &CostSplit, metadata: &PlatformMetadata) -> Option<Self> {
        let envelope = metadata.envelope();
        let lines: Vec<Line> = split
            .pieces
            .iter()
            .map(|piece| positive(piece, bytes(envelope)))
            .collect();
        let empty_s = metadata
            .empty_s
            .unwrap_or(split.pieces[0].whole.intercept_s);
        let first = empty_s - bytes(envelope) * lines[0].slope_s;
        let latency_s = if first > 0.0 {
            first
        } else {
            lines[0].intercept_s
        };
        let mut steps: Vec<(u64, Line)> = Vec::new();
        if envelope > 0 {
            let empty = Line {
                intercept_s: latency_s,
                ..lines[0]
            };
            steps.push((0, empty));
        }
        for (piece, line) in split.pieces.iter().zip(&lines) {
            steps.push((piece.above + envelope, *line));
        }
        let mut wire = Self {
            latency_s,
            bandwidth: 1.0 / lines[lines.len() - 1].slope_s,
            steps,
        };
        if metadata.handshake == RendezvousCost::Simulated {
            wire.take_off_handshake(metadata)?;
        }
        Some(wire)
    }

    /// Subtracts the time of two control messages from the rendezvous steps: both precede the data.
    fn take_off_handshake(&mut self, metadata: &PlatformMetadata) -> Option<()> {
        let threshold = metadata.eager_threshold? + metadata.envelope();
        // Control messages have no envelope.
        let control = CONTROL;
        let after = self.steps.partition_point(|step| step.0 < control);
        let (above, line) = self.steps[after.checked_sub(1)?];
        if above + 1 >= threshold {
            return None;
        }
        let both = 2.0 * line.time_at(bytes(control));
        for (above, line) in self.steps.iter_mut().filter(|step| step.0 + 1 >= threshold) {
            line.intercept_s -= both;
            if line.intercept_s <= 0.0 {
                // The smallest message of the step may still be right, if its bytes take long
                // enough.
                let missing = -line.intercept_s / line.time_at(bytes(*above + 1)).abs().max(both);
                if missing > 1e-3 {
                    return None;
                }
                line.intercept_s = 1e-6 * both;
            }
        }
        Some(())
    }
}

/// Returns the network line of a piece, without the envelope; zero coefficients become positive.
fn positive(piece: &CostSegment, envelope: f64) -> Line {
    let mut line = piece.wire;
    let whole = piece.whole.time_at(bytes(piece.above + 1));
    if line.slope_s <= 0.0 {
        line.slope_s =
            1e-3 * piece.whole.time_at(0.0).max(1e-3 * whole) / bytes(piece.largest.max(1));
    }
    line.intercept_s -= envelope * line.slope_s;
    if line.intercept_s <= 0.0 {
        line.intercept_s = 1e-6 * whole;
    }
    line
}

/// Returns the text of the platform file; `None` if the handshake is to be simulated but takes
/// longer than a whole rendezvous.
pub fn platform_file(fit: &Fit, split: &CostSplit, metadata: &PlatformMetadata) -> Option<String> {
    let wire = Wire::new(split, metadata)?;
    let mut text = head(fit, metadata);
    let name = match metadata.preset {
        Preset::Smpi => "smpi",
        Preset::Flow | Preset::LogGops => "flow",
    };
    let _ = writeln!(
        text,
        "\nversion = 1\nname = \"calibrated\"\n\n[network]\nmodel = \"{name}\""
    );
    let mut bandwidth = wire.bandwidth;
    if metadata.preset == Preset::Smpi {
        if metadata.shared {
            bandwidth *= 1.0 + CROSSTRAFFIC;
        }
        // Twice what the window would need.
        let window = 4.0 * wire.latency_s * bandwidth;
        if window > WINDOW {
            let _ = writeln!(
                text,
                "tcp_gamma = \"{:.0}B\"    # so that it does not bind",
                window.ceil()
            );
        }
        let threshold = metadata.eager_threshold.unwrap_or(65_536);
        let _ = writeln!(
            text,
            "async_small_threshold = \"{threshold}B\"    # eager messages leave at once"
        );
    }
    let latency_s = wire.latency_s;
    let factor = |line: &Line| line.intercept_s / latency_s;
    factors(&mut text, "latency_factor", &wire.steps, factor);
    factors(&mut text, "bandwidth_factor", &wire.steps, |line| {
        1.0 / (line.slope_s * wire.bandwidth)
    });
    let first = split.pieces[0];
    if [first.os, first.ois, first.or]
        .iter()
        .any(|line| *line != Line::default())
    {
        write_calls(&mut text, split);
    }
    write_protocol(&mut text, metadata);
    write_hosts(&mut text, metadata, bandwidth, latency_s);
    Some(text)
}

fn head(fit: &Fit, metadata: &PlatformMetadata) -> String {
    let mut text =
        String::from("# A network calibrated from measurements by `simrun calibrate`.\n#\n");
    for source in &metadata.sources {
        let _ = writeln!(text, "# {source}");
    }
    let (smallest, largest) = fit.range();
    let how = match metadata.handshake {
        RendezvousCost::InTable => {
            "rendezvous cost is included in the factors; control messages take no time"
        }
        RendezvousCost::Simulated => {
            "the factors have the transport alone, and control messages are simulated"
        }
    };
    let _ = writeln!(
        text,
        "# Valid for {smallest} B to {largest} B; extrapolated beyond.\n\
         # handshake = \"{}\": {how}.\n\
         #\n\
         # segment: time = a + b x size",
        metadata.handshake.name()
    );
    for (at, segment) in fit.segments().iter().enumerate() {
        let from = at
            .checked_sub(1)
            .map_or("from the start".to_owned(), |before| {
                let place = fit.breaks()[before];
                let doubt = if place.is_uncertain() {
                    format!(", somewhere in ({}, {})", place.gap.0, place.gap.1)
                } else {
                    String::new()
                };
                format!("above {} B ({}{doubt})", place.above, place.kind.name())
            });
        let Line {
            intercept_s,
            slope_s,
        } = segment.line;
        let _ = writeln!(
            text,
            "#   {from}: a = {:.4} us, b = {:.6} ns/B, {} sizes",
            intercept_s * 1e6,
            slope_s * 1e9,
            segment.points
        );
    }
    text
}

fn write_protocol(text: &mut String, metadata: &PlatformMetadata) {
    text.push_str("\n[protocol]\n");
    match metadata.eager_threshold {
        Some(threshold) => {
            let _ = writeln!(text, "eager_threshold = \"{threshold}B\"");
        }
        None => text.push_str("# eager_threshold: not measured; default 64KiB.\n"),
    }
    if metadata.handshake == RendezvousCost::Simulated && metadata.preset != Preset::LogGops {
        let _ = writeln!(
            text,
            "control_messages = \"simulated\"\ncontrol_size = \"{CONTROL}B\""
        );
    }
    if let Some(copy) = metadata.copy_bandwidth {
        let _ = writeln!(text, "copy_bandwidth = \"{copy}Bps\"");
    }
    if let Some(reduce) = metadata.reduce_bandwidth {
        let _ = writeln!(text, "\n[collectives]\nreduce_bandwidth = \"{reduce}Bps\"");
    }
}

fn write_hosts(text: &mut String, metadata: &PlatformMetadata, bandwidth: f64, latency_s: f64) {
    let sharing = if metadata.shared {
        "sharing = \"shared\"    # both directions together have the bandwidth\n"
    } else {
        ""
    };
    let _ = writeln!(
        text,
        "\n[clusters.nodes]\n\
         hosts = \"node-[0-{}]\"\n\
         speed = \"1Gf\"    # a placeholder: computation was not measured\n\
         # Of each of the two cables between two hosts.\n\
         bandwidth = \"{bandwidth}Bps\"\n\
         latency = \"{}us\"\n{sharing}",
        metadata.hosts.max(2) - 1,
        latency_s * 1e6 / 2.0
    );
    text.truncate(text.trim_end().len());
    text.push('\n');
}

fn factors(text: &mut String, name: &str, steps: &[(u64, Line)], factor: impl Fn(&Line) -> f64) {
    let _ = writeln!(text, "{name} = [");
    for (at, (above, line)) in steps.iter().enumerate() {
        // A segment of the empty message alone: its latency is the platform's, which has the factor
        // 1 anyway.
        if steps.get(at + 1).is_some_and(|next| next.0 == *above) {
            continue;
        }
        let _ = writeln!(
            text,
            "  {{ above = \"{above}B\", factor = {:?} }},",
            factor(line)
        );
    }
    text.push_str("]\n");
}

/// Writes the costs of the calls, by size of the message.
fn write_calls(text: &mut String, split: &CostSplit) {
    for (at, name) in ["os", "ois", "or"].into_iter().enumerate() {
        let _ = writeln!(text, "{name} = [");
        for piece in &split.pieces {
            let line = [piece.os, piece.ois, piece.or][at];
            let _ = writeln!(
                text,
                "  {{ above = \"{}B\", time = \"{}us\", per_byte = \"{}ps\" }},",
                piece.above,
                1e6 * line.intercept_s,
                1e12 * line.slope_s
            );
        }
        text.push_str("]\n");
    }
}

/// The text of a platform file for the model `loggops`.
pub fn loggops_file(fit: &Fit, model: &LogGp, metadata: &PlatformMetadata) -> String {
    let metadata = PlatformMetadata {
        handshake: RendezvousCost::Simulated,
        ..metadata.clone()
    };
    let mut text = head(fit, &metadata);
    let _ = writeln!(
        text,
        "\nversion = 1\nname = \"calibrated\"\n\n[network]\nmodel = \"loggops\"\n\
         latency = \"{}us\"\n\
         overhead = \"{}us\"\n\
         gap = \"{}us\"\n\
         gap_per_byte = \"{}ps\"\n\
         overhead_per_byte = \"{}ps\"",
        1e6 * model.latency_s,
        1e6 * model.overhead_s,
        1e6 * model.gap_s,
        1e12 * model.gap_per_byte_s,
        1e12 * model.overhead_per_byte_s
    );
    write_protocol(&mut text, &metadata);
    // The model has no links; a platform has.
    write_hosts(
        &mut text,
        &metadata,
        1.0 / model.gap_per_byte_s.max(1e-15),
        0.0,
    );
    text
}
