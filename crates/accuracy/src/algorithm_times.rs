//! Simulated times of the algorithms of an operation by size, and files that make a library choose
//! the fastest at each size.
//!
//! *Decided here*: between two sizes the algorithm of the lower one is chosen.

use std::fmt::Write as _;

use collectives::{Algorithm, Call, Collective, TunedLibrary, TunedRow, aliases, messages};

/// The times of an algorithm.
#[derive(Clone, PartialEq, Debug)]
pub struct AlgorithmTimes {
    /// The name in `collectives.OPERATION`.
    pub name: String,
    /// By size in seconds; `None` where the algorithm does not suit the call.
    pub seconds: Vec<Option<f64>>,
}

impl AlgorithmTimes {
    /// Returns the fastest algorithm at a size; the first of equally fast ones.
    pub fn find_fastest<'a>(all: impl Iterator<Item = &'a Self>, at: usize) -> Option<&'a Self> {
        let seconds = |times: &Self| times.seconds[at].unwrap_or(f64::INFINITY);
        all.filter(|times| times.seconds[at].is_some())
            .min_by(|a, b| seconds(a).total_cmp(&seconds(b)))
    }
}

/// The fastest algorithms of calls with a number of ranks.
#[derive(Clone, PartialEq, Debug)]
pub struct FastestAlgorithms {
    /// The operation.
    pub kind: Collective,
    /// The number of ranks.
    pub ranks: u32,
    /// The sizes from which an algorithm is the fastest, the first of which is 0, and the names.
    pub crossings: Vec<(u64, String)>,
}

impl FastestAlgorithms {
    /// `best` is the fastest algorithm at each size; sizes grow.
    pub fn new((kind, ranks): (Collective, u32), sizes: &[u64], best: &[&AlgorithmTimes]) -> Self {
        let mut crossings: Vec<(u64, String)> = Vec::new();
        for (size, times) in sizes.iter().zip(best) {
            let from = if crossings.is_empty() { 0 } else { *size };
            if crossings.last().is_none_or(|(_, name)| *name != times.name) {
                crossings.push((from, times.name.clone()));
            }
        }
        Self {
            kind,
            ranks,
            crossings,
        }
    }

    /// Writes a selector, which `collectives.selector` accepts.
    pub fn write_selector(&self) -> String {
        let (kind, ranks) = (self.kind, self.ranks);
        let mut text = format!("version = 1\nname = \"tuned-{kind}-{ranks}\"\n");
        for (at, (from, name)) in self.crossings.iter().enumerate() {
            let _ = write!(text, "\n[[{kind}]]\n");
            if let Some((next, _)) = self.crossings.get(at + 1) {
                let _ = writeln!(text, "bytes = [{from}, {}]", next - 1);
            }
            let _ = writeln!(text, "algorithm = \"{name}\"");
        }
        text
    }

    /// Writes a file that a library reads, if the algorithms have names of this library.
    /// `decisions`: see [`TunedLibrary::write_file`].
    ///
    /// # Errors
    /// As [`TunedLibrary::write_file`].
    pub fn write_library_file(
        &self,
        library: TunedLibrary,
        decisions: &[u8],
    ) -> Result<String, String> {
        let row = |(from_bytes, name): &(u64, String)| {
            Some(TunedRow {
                from_bytes: *from_bytes,
                alias: aliases::find(self.kind, name)?,
            })
        };
        let rows: Vec<TunedRow> = self.crossings.iter().filter_map(row).collect();
        library.write_file(self.ranks, &rows, decisions)
    }
}

/// Returns the number of messages of all ranks, estimated from some of them.
pub fn estimate_messages(algorithm: &Algorithm, call: &Call) -> u64 {
    const SAMPLED: u32 = 64;
    let sampled = call.size.min(SAMPLED);
    let step = call.size / sampled;
    let of_rank = |number: u32| {
        let rank = number * step;
        let own = Call {
            rank,
            ..call.clone()
        };
        messages(algorithm, &own).len() as u64
    };
    let sum: u64 = (0..sampled).map(of_rank).sum();
    sum * u64::from(call.size) / u64::from(sampled)
}
