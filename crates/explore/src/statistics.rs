//! Counts of a search, and the bounds that the search has hit.

use std::fmt;

use crate::End;

/// A reason why a search is not exhaustive.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Bound {
    /// A run was cut because it was too long.
    Depth,
    /// The number of runs.
    Executions,
    /// The number of executed steps.
    Transitions,
    /// The time.
    Time,
    /// The search was interrupted.
    Interrupt,
    /// The search stopped at a finding.
    Finding,
    /// The runs were drawn at random.
    Sampling,
    /// For some run the search did not decide whether optional waits lead to a deadlock.
    OptionalWaits,
}

impl Bound {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Depth,
        Self::Executions,
        Self::Transitions,
        Self::Time,
        Self::Interrupt,
        Self::Finding,
        Self::Sampling,
        Self::OptionalWaits,
    ];
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Depth => "maximum depth reached",
            Self::Executions => "maximum number of executions reached",
            Self::Transitions => "maximum number of transitions reached",
            Self::Time => "time limit reached",
            Self::Interrupt => "interrupted",
            Self::Finding => "stopped at the first finding",
            Self::Sampling => "random sampling",
            Self::OptionalWaits => {
                "too many sets of waits of sends and collectives to decide on all deadlocks"
            }
        })
    }
}

/// A set of bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bounds(u8);

impl Bounds {
    /// Adds a bound.
    pub const fn insert(&mut self, bound: Bound) {
        self.0 |= 1 << bound as u8;
    }

    /// Returns true if no bound was hit.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The bounds that were hit.
    pub fn iter(self) -> impl Iterator<Item = Bound> {
        Bound::ALL
            .into_iter()
            .filter(move |&bound| self.0 >> bound as u8 & 1 == 1)
    }
}

/// The counts of a search.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Statistics {
    /// Complete runs, with any end. With an optimal reduction: classes.
    pub executions: u64,
    /// Runs in which every actor ended.
    pub finished: u64,
    /// Runs in which every actor ended and messages or operations were left over.
    pub leftovers: u64,
    /// Runs that ended in a deadlock or a livelock.
    pub deadlocks: u64,
    /// Runs in which an actor failed.
    pub failed: u64,
    /// Runs that were cut because they were too long.
    pub cut: u64,
    /// Runs in which an answer that was picked did not come, so that other runs cover them. They
    /// are not among the executions.
    pub covered: u64,
    /// Runs that were given up because earlier ones cover them: none with an optimal reduction.
    pub sleep_set_blocked: u64,
    /// Executed steps, including steps that were executed again to return to a place.
    pub transitions: u64,
    /// Executed steps without repeated steps: the edges of the explored tree.
    pub events: u64,
    /// The length of the longest run, in steps.
    pub depth_max: u64,
    /// Maximum number of pending steps; on several threads, of the steps in one thread's trees.
    pub pending_max: u64,
    /// Number of restarts because the dependency relation changed.
    pub restarts: u64,
    /// Seconds of real time.
    pub seconds: f64,
    /// The reasons why the search is not exhaustive.
    pub bounds: Bounds,
}

impl Statistics {
    /// Number of words of [`Statistics::to_words`].
    pub(crate) const WORDS: usize = 15;

    /// All counts as numbers.
    pub(crate) const fn to_words(self) -> [u64; Self::WORDS] {
        [
            self.executions,
            self.finished,
            self.leftovers,
            self.deadlocks,
            self.failed,
            self.cut,
            self.sleep_set_blocked,
            self.transitions,
            self.events,
            self.depth_max,
            self.pending_max,
            self.restarts,
            self.seconds.to_bits(),
            self.bounds.0 as u64,
            self.covered,
        ]
    }

    /// The counts of such numbers.
    pub(crate) fn from_words(words: &[u64]) -> Option<Self> {
        let words: [u64; Self::WORDS] = words.try_into().ok()?;
        Some(Self {
            executions: words[0],
            finished: words[1],
            leftovers: words[2],
            deadlocks: words[3],
            failed: words[4],
            cut: words[5],
            sleep_set_blocked: words[6],
            transitions: words[7],
            events: words[8],
            depth_max: words[9],
            pending_max: words[10],
            restarts: words[11],
            seconds: f64::from_bits(words[12]),
            bounds: Bounds(u8::try_from(words[13]).ok()?),
            covered: words[14],
        })
    }

    /// The number of nodes of the explored tree, the root included. Two paths to the same state of
    /// the program are two nodes, unless one is a prefix of the other.
    pub const fn tree_nodes(&self) -> u64 {
        self.events + 1
    }

    /// Number of runs to their end, covered ones included.
    #[must_use]
    pub const fn count_runs(&self) -> u64 {
        self.executions + self.covered
    }

    /// Counts a run that is over.
    pub(crate) fn count_run(&mut self, end: End, length: usize) {
        let counter = match end {
            End::Finished | End::Undecided => &mut self.finished,
            End::Leftovers => &mut self.leftovers,
            End::Deadlock | End::ConditionalDeadlock | End::Livelock | End::Spinning => {
                &mut self.deadlocks
            }
            End::Failed => &mut self.failed,
            End::TooDeep => &mut self.cut,
            End::Covered => &mut self.covered,
        };
        *counter += 1;
        self.executions += u64::from(end != End::Covered);
        self.depth_max = self.depth_max.max(length as u64);
        match end {
            End::TooDeep | End::Spinning => self.bounds.insert(Bound::Depth),
            End::Undecided => self.bounds.insert(Bound::OptionalWaits),
            _ => {}
        }
    }

    /// The counts at the beginning of a search that begins anew: only the work that was done stays.
    pub(crate) fn begin_again(&mut self) {
        *self = Self {
            transitions: self.transitions,
            restarts: self.restarts + 1,
            ..Self::default()
        };
    }

    /// Executed steps per second of real time.
    pub fn rate(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a rate need not be exact")]
        let transitions = self.transitions as f64;
        transitions / self.seconds.max(1e-9)
    }
}
