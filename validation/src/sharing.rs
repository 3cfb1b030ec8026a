//! Sharing of the network by messages: the time of many concurrent transfers relative to one.
//!
//! q = T_k / T_1. q ≈ k means that all transfers share one link, which max-min sharing predicts; q
//! ≈ 1 means that each transfer has a separate link. Any other q fits neither model, and the
//! simulation will be wrong by the difference.

use std::collections::BTreeMap;

use crate::sample::Kernel;
use crate::sampling::SizeSummary;

/// Largest distance of a factor from 1 and from k to count as the one or the other.
const NEAR: f64 = 0.15;

/// A factor that was measured.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sharing {
    /// With which kernel.
    pub kernel: Kernel,
    /// At which size, in bytes.
    pub size: u64,
    /// Number of messages at once.
    pub number: u32,
    /// Number of times longer than one they take.
    pub factor: f64,
}

impl Sharing {
    /// Returns true if the factor is 1 or k, within 15 %.
    pub fn is_clear(&self) -> bool {
        let near = |to: f64| (self.factor / to - 1.0).abs() <= NEAR;
        near(1.0) || near(f64::from(self.number))
    }
}

/// The factors of all kernels that were measured. `alone` is the time of a single message.
pub(crate) fn factors(
    summaries: &BTreeMap<Kernel, Vec<SizeSummary>>,
    alone: impl Fn(u64) -> f64,
) -> Vec<Sharing> {
    let single = |kernel: Kernel, size: u64| -> Option<f64> {
        let found = summaries
            .get(&kernel)?
            .iter()
            .find(|one| one.point.size == size)?;
        Some(found.point.time_s)
    };
    let mut all = Vec::new();
    for (kernel, sizes) in summaries {
        let number = match *kernel {
            Kernel::Incast(number) | Kernel::Outcast(number) => number,
            Kernel::Exchange => 2,
            _ => continue,
        };
        for summary in sizes.iter().filter(|_| number > 1) {
            let size = summary.point.size;
            let one = match kernel {
                Kernel::Incast(_) => single(Kernel::Incast(1), size),
                Kernel::Outcast(_) => single(Kernel::Outcast(1), size),
                _ => Some(alone(size)),
            };
            if let Some(one) = one.filter(|one| *one > 0.0) {
                all.push(Sharing {
                    kernel: *kernel,
                    size,
                    number,
                    factor: summary.point.time_s / one,
                });
            }
        }
    }
    all
}

/// Returns true if both directions share one link: the exchanges of the largest size take nearer to
/// twice as long as to once.
pub(crate) fn is_shared(factors: &[Sharing]) -> bool {
    let exchanges = factors.iter().filter(|one| one.kernel == Kernel::Exchange);
    exchanges
        .max_by_key(|one| one.size)
        .is_some_and(|one| one.factor > 1.5)
}
