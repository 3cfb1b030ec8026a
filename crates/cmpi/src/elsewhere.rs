//! Systems on which compiled programs cannot be run: each is refused.

use std::ffi::CString;
use std::fmt;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::{Context, Poll};

use mpi::Comm;

/// Length of the stack of a rank in bytes.
pub const STACK: usize = 8 << 20;

/// Reason why a compiled program cannot be run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal;

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a compiled MPI program: simulated on x86-64 Linux with the GNU C library only")
    }
}

impl std::error::Error for Refusal {}

/// The kind of an executable file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// An MPI program that is compiled against the standard ABI.
    StandardAbi,
    /// An MPI program that is compiled against the ABI of MPICH or Open MPI alone.
    OtherAbi(&'static str),
    /// Any other file.
    Other,
}

/// Returns the kind of an executable file: whether the file names the library of the ABI.
pub fn kind(_path: &Path, file: &[u8]) -> Kind {
    let name = b"libmpi_abi.so.";
    let has_name = file.windows(name.len()).any(|part| part == name);
    if file.starts_with(b"\x7fELF") && has_name {
        Kind::StandardAbi
    } else {
        Kind::Other
    }
}

/// A program as read from a file.
#[derive(Debug)]
pub struct Template;

impl Template {
    /// Refuses a program.
    pub fn read_program(_file: &[u8]) -> Result<Self, Refusal> {
        Err(Refusal)
    }

    /// Refuses a library.
    pub fn read_library(_file: &[u8]) -> Result<Self, Refusal> {
        Err(Refusal)
    }
}

/// A compiled MPI program.
#[derive(Clone, Debug)]
pub struct CompiledProgram;

impl CompiledProgram {
    /// Refuses a program.
    pub fn load(_path: &Path, _file: &[u8]) -> Result<Self, Refusal> {
        Err(Refusal)
    }

    /// Returns an empty list.
    pub const fn files(&self) -> &[(PathBuf, u64)] {
        &[]
    }

    /// Returns false.
    pub const fn uses_openmp(&self) -> bool {
        false
    }

    /// Returns false.
    pub const fn counts_blocks(&self) -> bool {
        false
    }

    /// Returns the ranks that run on this thread.
    pub fn ranks(&self, _: usize, _: Vec<CString>, _has_heaps: bool, _: Timing) -> Ranks {
        Ranks
    }
}

/// Ranks of a compiled program.
#[derive(Clone, Debug)]
pub struct Ranks;

impl Ranks {
    /// Refuses.
    pub fn image_address(&self, _rank: usize) -> Result<usize, Refusal> {
        Err(Refusal)
    }

    /// Returns the future of a rank.
    pub fn rank(&self, _world: Comm) -> RankFuture {
        RankFuture
    }
}

/// The future of a rank.
#[derive(Debug)]
pub struct RankFuture;

impl Future for RankFuture {
    type Output = Result<Option<String>, String>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(Err(Refusal.to_string()))
    }
}

/// Processor time that ranks have computed.
pub type Bursts = std::collections::BTreeMap<(usize, u64), f64>;

/// Measurements of a run.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Times that are not too short.
    pub bursts: Bursts,
    /// Sum of all times in seconds.
    pub seconds: f64,
    /// Number of basic blocks in these times, of a program that counts them.
    pub blocks: u64,
}

/// Source of the time between calls.
#[derive(Clone, Debug, Default)]
pub enum Compute {
    /// No time passes.
    #[default]
    None,
    /// Flop of each basic block.
    Blocks(f64),
    /// Processor time.
    Host(Option<std::rc::Rc<std::cell::RefCell<Measured>>>),
    /// The times of an earlier run.
    Replay(std::rc::Rc<Bursts>),
}

/// Times of a program.
#[derive(Clone, Debug, Default)]
pub struct Timing {
    /// Source of the time between calls.
    pub compute: Compute,
    /// Speed of the machine in flop/s.
    pub host_speed: Option<f64>,
    /// Time of a call in seconds.
    pub call_cost: f64,
    /// Longest processor time without a call in seconds, if there is one.
    pub longest: Option<f64>,
}
