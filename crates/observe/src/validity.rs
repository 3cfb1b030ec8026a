//! Conditions that hold for the entries of every log that simrun writes.
//!
//! Analyses compute with times and lengths and keep state by rank: a number that is no time, or a
//! rank that the run does not have, must not reach them.
//!
//! *Not checked*: whether the events of a rank fit together, such as the end of an operation that
//! never began, and values of marks, which belong to the program.

use crate::event::RankEvent;
use crate::log::LogEntry;
use crate::network::{Link, NetworkEvent};
use crate::numbering::LogEvent;
use crate::record::{CONTINUE, Record};

/// Greatest length in bytes of a message: 2^53, so that each is exact as a floating-point number.
const LENGTH_MAX: u64 = 1 << 53;

/// Checks the entry of a record. `known`: numbers of ranks and links of the log.
pub(crate) fn check_entry(
    record: &Record,
    entry: &LogEntry,
    (ranks, links): (u32, usize),
) -> Result<(), String> {
    check_seconds("time", record.time)?;
    match entry {
        LogEntry::Network(_, event) => {
            if let Some(link) = event.links().find(|&link| link as usize >= links) {
                return Err(format!(
                    "link {link}: expected one of the {links} links before"
                ));
            }
            check_network_event(event)
        }
        LogEntry::Rank(rank, time, event) => {
            if *rank >= ranks {
                return Err(format!("rank {rank}: expected a rank below {ranks}"));
            }
            if record.kind == CONTINUE {
                let from = f64::from_bits(record.c);
                check_seconds("beginning of the wait", from)?;
                if from > *time {
                    return Err(format!("a wait from {from} s: expected at most {time} s"));
                }
            }
            check_program_event(event, ranks)
        }
    }
}

/// Checks a link.
pub(crate) fn check_link(link: &Link) -> Result<(), String> {
    not_negative("bandwidth", link.bandwidth)?;
    check_seconds("latency", link.latency_s)
}

fn check_network_event(event: &NetworkEvent<Vec<u32>>) -> Result<(), String> {
    match *event {
        NetworkEvent::Begin {
            bytes,
            latency_s,
            alone_s,
            ..
        } => {
            if !(0.0..=LENGTH_MAX as f64).contains(&bytes) {
                return Err(format!("a flow of {bytes} bytes: expected 0 to 2^53"));
            }
            check_seconds("latency", latency_s)?;
            // Infinite over a link that is off.
            not_negative("duration alone", alone_s)
        }
        NetworkEvent::Rate { rate, .. } => not_negative("rate", rate),
        NetworkEvent::LinkChange { value, .. } => not_negative("value of a link", value),
        NetworkEvent::Computation { alone_s } => not_negative("duration alone", alone_s),
        NetworkEvent::End { .. } | NetworkEvent::Incident { .. } => Ok(()),
    }
}

fn check_program_event(event: &LogEvent, ranks: u32) -> Result<(), String> {
    let (peer, bytes) = match *event {
        RankEvent::Send { peer, bytes, .. }
        | RankEvent::Post { peer, bytes, .. }
        | RankEvent::Inject { peer, bytes, .. }
        | RankEvent::Arrive { peer, bytes, .. }
        | RankEvent::Unexpected { peer, bytes, .. }
        | RankEvent::Taken { peer, bytes, .. } => (Some(peer), bytes),
        RankEvent::Receive { peer, .. } => (peer, 0),
        RankEvent::CollectiveCall {
            root, size, first, ..
        } => {
            if size > ranks {
                return Err(format!("{size} ranks of a call: expected at most {ranks}"));
            }
            (root.or(Some(first)).map(|root| root.max(first)), 0)
        }
        RankEvent::Collective { bytes, .. } => (None, bytes),
        RankEvent::Incident { peer, value, .. } => {
            value.map_or(Ok(()), |value| check_seconds("value of an incident", value))?;
            (peer, 0)
        }
        _ => (None, 0),
    };
    if let Some(peer) = peer.filter(|&peer| peer >= ranks) {
        return Err(format!("rank {peer}: expected a rank below {ranks}"));
    }
    if bytes > LENGTH_MAX {
        return Err(format!("{bytes} bytes: expected at most 2^53"));
    }
    Ok(())
}

pub(crate) fn check_seconds(name: &str, value: f64) -> Result<(), String> {
    if value.is_finite() && value >= 0.0 {
        return Ok(());
    }
    Err(format!(
        "{name} {value}: expected a finite number from 0 on"
    ))
}

fn not_negative(name: &str, value: f64) -> Result<(), String> {
    if value >= 0.0 {
        return Ok(());
    }
    Err(format!("{name} {value}: expected a number from 0 on"))
}
