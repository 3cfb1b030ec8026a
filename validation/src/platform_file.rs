//! From a fit to a platform file that runs as it is.
//!
//! With T(s) = a_k + b_k s on segment k: the latency is a of the first segment, so that its factor is 1 there and an empty message is right;
//! the bandwidth is 1 / b of the last, so that its factor is 1 there. The factors of segment k are a_k / latency and 1 / (b_k × bandwidth), for
//! sizes strictly above the last size of the segment before. They are never clamped: a table that is does not give the fit back.
//!
//! A factor must be above 0. Where a_k is 0, 1e-6 of the time of the segment's smallest size stands for it; where b_k is 0, as much per byte as
//! adds 0.1 % to the time of its largest.
//!
//! *Not modelled*: the fit's own overheads of sender and receiver: all of T is the network's, so overlap of communication and computation is
//! optimistic and message rates are those of single messages. The rendezvous is in the tables (`handshake = "in-table"` in the head of the file): control
//! messages take no time, or it would count twice. The speed of hosts is a placeholder.

use std::fmt::Write as _;

use crate::fit::{Fit, Line};
use crate::point::bytes;

/// What is written besides the fit.
#[derive(Clone, PartialEq, Debug)]
pub struct PlatformFacts {
    /// Where the measurements come from: one line each, as comments.
    pub sources: Vec<String>,
    /// From how many bytes on messages go by rendezvous, if that is known.
    pub eager_threshold: Option<u64>,
    /// How many hosts the platform gets; they are all alike.
    pub hosts: u32,
}

/// The text of the platform file.
#[must_use]
pub fn platform_file(fit: &Fit, facts: &PlatformFacts) -> String {
    let lines = lines(fit);
    let latency_s = lines[0].intercept_s;
    let bandwidth = 1.0 / lines[lines.len() - 1].slope_s;
    let mut text =
        String::from("# A network calibrated from measurements by `simrun calibrate`.\n#\n");
    for source in &facts.sources {
        let _ = writeln!(text, "# {source}");
    }
    let (smallest, largest) = fit.range();
    let _ = writeln!(
        text,
        "# Valid for {smallest} B to {largest} B; beyond, the first and the last line go on.\n\
         # handshake = \"in-table\": what a rendezvous costs is in the factors, so control messages take no time.\n\
         #\n\
         # segment: time = a + b x size"
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
    text.push_str("\nversion = 1\nname = \"calibrated\"\n\n[network]\nmodel = \"flow\"\n");
    factors(&mut text, "latency_factor", fit, &lines, |line| {
        line.intercept_s / latency_s
    });
    factors(&mut text, "bandwidth_factor", fit, &lines, |line| {
        1.0 / (line.slope_s * bandwidth)
    });
    text.push_str("\n[protocol]\n");
    match facts.eager_threshold {
        Some(threshold) => {
            let _ = writeln!(text, "eager_threshold = \"{threshold}B\"");
        }
        None => text.push_str("# eager_threshold: not measured, so the default holds (64KiB).\n"),
    }
    let _ = writeln!(
        text,
        "\n[clusters.nodes]\n\
         hosts = \"node-[0-{}]\"\n\
         speed = \"1Gf\"    # a placeholder: computation was not measured\n\
         # Of each of the two cables between two hosts.\n\
         bandwidth = \"{bandwidth}Bps\"\n\
         latency = \"{}us\"",
        facts.hosts.max(2) - 1,
        latency_s * 1e6 / 2.0
    );
    text
}

/// The lines of the segments, with what may not be 0.
fn lines(fit: &Fit) -> Vec<Line> {
    let mut lines = Vec::new();
    for segment in fit.segments() {
        let mut line = segment.line;
        if line.intercept_s <= 0.0 {
            line.intercept_s = 1e-6 * line.at(bytes(segment.smallest.max(1)));
        }
        if line.slope_s <= 0.0 {
            line.slope_s = 1e-3 * line.intercept_s / bytes(segment.largest.max(1));
        }
        lines.push(line);
    }
    lines
}

fn factors(
    text: &mut String,
    name: &str,
    fit: &Fit,
    lines: &[Line],
    factor: impl Fn(&Line) -> f64,
) {
    let above = |at: usize| {
        at.checked_sub(1)
            .map_or(0, |before| fit.breaks()[before].above)
    };
    let _ = writeln!(text, "{name} = [");
    for (at, line) in lines.iter().enumerate() {
        // A segment of the empty message alone: its latency is the platform's, which has the factor 1 anyway.
        if at + 1 < lines.len() && above(at) == above(at + 1) {
            continue;
        }
        let (above, factor) = (above(at), factor(line));
        let _ = writeln!(text, "  {{ above = \"{above}B\", factor = {factor:?} }},");
    }
    text.push_str("]\n");
}
