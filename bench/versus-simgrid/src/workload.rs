//! Workloads, and the measurements of a run.

/// One workload: our side is a function, SimGrid's a program of the folder `cpp`.
pub(crate) struct Workload {
    /// The name of the workload on the command line.
    pub(crate) name: &'static str,
    /// The size, such as a number of actors; each workload defines the meaning.
    pub(crate) size: u64,
    /// The size under `--quick`.
    pub(crate) quick_size: u64,
    /// Number of simulations of our side in one process, so that the time is long enough to
    /// measure.
    pub(crate) repetitions: u64,
    /// Simulates the workload once; returns the number of operations.
    pub(crate) ours: fn(u64) -> u64,
    pub(crate) side: Side,
    /// The name of the network model on SimGrid's side.
    pub(crate) model: &'static str,
    /// Rows of the table.
    pub(crate) rows: &'static [WorkloadRow],
}

impl Workload {
    pub(crate) const fn size(&self, quick: bool) -> u64 {
        if quick { self.quick_size } else { self.size }
    }
}

/// SimGrid's side of a workload.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// SimGrid does not take part.
    None,
    /// Runs this program of actors.
    Actors(&'static str),
    /// Runs this MPI program on this many ranks, with this many rounds.
    Smpi(&'static str, u64),
}

/// One line of the table.
pub(crate) struct WorkloadRow {
    pub(crate) title: &'static str,
    pub(crate) metric: Metric,
    pub(crate) goal: Goal,
    /// Reason for a goal not reached, for the table.
    pub(crate) limit: Option<&'static str>,
}

/// Quantity of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Metric {
    /// User CPU time per operation, in ns.
    Nanoseconds,
    /// Operations per second of user CPU time.
    PerSecond,
    /// User CPU time, in s.
    Seconds,
    /// Peak memory per unit of size, in bytes.
    BytesEach,
    /// Peak memory, in GB (10^9 bytes).
    Gigabytes,
}

/// Goal of a row.
#[derive(Clone, Copy)]
pub(crate) enum Goal {
    /// Our figure is at most this.
    AtMost(f64),
    /// Our figure is at least this.
    AtLeast(f64),
    /// None: the figure is told.
    None,
    /// Our figure is this many times better than SimGrid's.
    Times(f64),
}

/// Resources used by one child process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) operations: f64,
    pub(crate) user_s: f64,
    /// Peak memory beyond the memory of the process with the platform loaded.
    pub(crate) memory_kib: f64,
}

impl Sample {
    /// Reads `operations=N user_s=S memory_kib=K` from the last line of a child's output.
    pub(crate) fn parse(output: &str) -> Option<Self> {
        let line = output.lines().last()?;
        let field = |name: &str| -> Option<f64> {
            let mut words = line.split_whitespace();
            words.find_map(|word| word.strip_prefix(name)?.strip_prefix('=')?.parse().ok())
        };
        Some(Self {
            operations: field("operations")?,
            user_s: field("user_s")?,
            memory_kib: field("memory_kib")?,
        })
    }

    /// The median of each figure.
    pub(crate) fn median(samples: &[Self]) -> Self {
        let of = |figure: fn(&Self) -> f64| {
            let mut all: Vec<f64> = samples.iter().map(figure).collect();
            all.sort_by(f64::total_cmp);
            all.get(all.len() / 2).copied().unwrap_or(f64::NAN)
        };
        Self {
            operations: of(|sample| sample.operations),
            user_s: of(|sample| sample.user_s),
            memory_kib: of(|sample| sample.memory_kib),
        }
    }

    /// The figure of a line of the table; `size` is the size of the workload.
    pub(crate) fn figure(&self, metric: Metric, size: f64) -> f64 {
        match metric {
            Metric::Nanoseconds => self.user_s / self.operations * 1e9,
            Metric::PerSecond => self.operations / self.user_s,
            Metric::Seconds => self.user_s,
            Metric::BytesEach => self.memory_kib * 1024.0 / size,
            Metric::Gigabytes => self.memory_kib * 1024.0 / 1e9,
        }
    }
}

impl Metric {
    /// Returns the factor by which `ours` is better.
    pub(crate) fn ratio(self, ours: f64, theirs: f64) -> f64 {
        match self {
            Self::PerSecond => ours / theirs,
            Self::Nanoseconds | Self::Seconds | Self::BytesEach | Self::Gigabytes => theirs / ours,
        }
    }
}
