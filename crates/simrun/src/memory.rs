//! The memory of a run: the minimum, the available memory, and the memory in use.
//!
//! The estimate counts the simulator's own state of each rank. The data of the program and the
//! bytes of messages come on top: a run that passes the check can still run out of memory. If the
//! system does not report the available memory, every run is accepted.

use std::fs;

use crate::summary::{bytes, count};

/// State of one rank in bytes, futures of a few hundred bytes included. Measured on x86-64 with
/// glibc: 977 between 100 000 and 500 000 ranks of `tests/programs/cases.rs`.
const RANK: f64 = 900.0;

/// Share of the available memory from which on the estimate is told.
const NOTABLE: f64 = 0.25;

/// Facts that are known before a run.
#[derive(Debug, PartialEq)]
pub(crate) enum Estimate {
    /// The estimate is small, or the memory of the machine is unknown.
    Small,
    /// The run takes much of the available memory.
    Notable(String),
    /// There is not enough.
    TooLarge(String),
}

/// Estimates the memory of `ranks` ranks.
pub(crate) fn estimate(ranks: u32) -> Estimate {
    available().map_or(Estimate::Small, |available| {
        compare_memory(ranks, available)
    })
}

fn compare_memory(ranks: u32, available: u64) -> Estimate {
    #[expect(clippy::cast_precision_loss, reason = "a quantity for people")]
    let available = available as f64;
    let needed = RANK * f64::from(ranks);
    if needed < NOTABLE * available {
        return Estimate::Small;
    }
    let text = format!(
        "{} need about {} besides what the program keeps, and {} are available",
        count(u64::from(ranks), "rank"),
        bytes(needed),
        bytes(available)
    );
    if needed > available {
        Estimate::TooLarge(text)
    } else {
        Estimate::Notable(text)
    }
}

/// The memory that this process could still get, in bytes, as far as the system tells.
#[must_use]
pub fn available() -> Option<u64> {
    [of_machine(), of_address_space(), of_group()]
        .into_iter()
        .flatten()
        .min()
}

fn of_machine() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let swap = kilobytes(&text, "SwapFree:").unwrap_or(0);
    Some(kilobytes(&text, "MemAvailable:")? + swap)
}

/// Returns the memory that `ulimit -v` leaves.
fn of_address_space() -> Option<u64> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max address space"))?;
    let limit: u64 = line.split_whitespace().next()?.parse().ok()?;
    let status = fs::read_to_string("/proc/self/status").ok()?;
    Some(limit.saturating_sub(kilobytes(&status, "VmSize:")?))
}

/// Returns the memory limit of the control group of the process, as batch systems set it.
fn of_group() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let limit = fs::read_to_string(format!("/sys/fs/cgroup{path}/memory.max")).ok()?;
    limit.trim().parse().ok()
}

/// The memory of this process that is in use, in bytes.
pub(crate) fn in_use() -> Option<u64> {
    kilobytes(&fs::read_to_string("/proc/self/status").ok()?, "VmRSS:")
}

/// The value of a line such as `VmRSS:  1234 kB`, in bytes.
fn kilobytes(text: &str, key: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(key))?;
    let value: u64 = value.split_whitespace().next()?.parse().ok()?;
    Some(1024 * value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_compared_with_what_there_is() {
        let gigabyte = 1 << 30;
        assert_eq!(compare_memory(100_000, gigabyte), Estimate::Small);
        let text = |ranks: &str, needed: &str| {
            format!(
                "{ranks} ranks need about {needed} besides what the program keeps, and 1 GiB are available"
            )
        };
        let notable = Estimate::Notable(text("1000000", "858.31 MiB"));
        assert_eq!(compare_memory(1_000_000, gigabyte), notable);
        let too_large = Estimate::TooLarge(text("10000000", "8.38 GiB"));
        assert_eq!(compare_memory(10_000_000, gigabyte), too_large);
    }

    #[test]
    fn the_system_tells_what_is_in_use() {
        let text = "VmSize:\t    5000 kB\nVmRSS:\t    1234 kB\n";
        assert_eq!(kilobytes(text, "VmRSS:"), Some(1234 * 1024));
        assert_eq!(kilobytes(text, "VmSwap:"), None);
    }
}
