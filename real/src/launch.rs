//! What a real run is started with: the processes of its ranks, where they come to, and its limits.

use std::ffi::OsString;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// What happens when a rank dies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnLoss {
    /// The run ends.
    #[default]
    End,
    /// The others are told, and go on.
    Tell,
}

/// How the processes of ranks come into being.
#[derive(Clone, Debug)]
pub enum Starts {
    /// The launcher starts them.
    Processes(Vec<Start>),
    /// Somebody else has started so many.
    Elsewhere(u32),
}

/// A process to start.
#[derive(Clone, Debug)]
pub struct Start {
    /// Program and arguments.
    pub command: Vec<OsString>,
    /// Which of the ranks of its host it is.
    pub local_rank: u32,
    /// How many ranks its host has.
    pub local_size: u32,
    /// Whether it is a child of the launcher, and is to end with it.
    pub is_child: bool,
}

impl Starts {
    /// So many processes of one command on this machine.
    #[must_use]
    pub fn here(command: &[OsString], ranks: u32) -> Self {
        let start = |local_rank| Start {
            command: command.to_vec(),
            local_rank,
            local_size: ranks,
            is_child: true,
        };
        Self::Processes((0..ranks).map(start).collect())
    }

    pub(super) fn processes(&self) -> &[Start] {
        match self {
            Self::Processes(processes) => processes,
            Self::Elsewhere(_) => &[],
        }
    }

    pub(super) fn size(&self) -> io::Result<u32> {
        match self {
            Self::Processes(processes) => u32::try_from(processes.len()).map_err(io::Error::other),
            Self::Elsewhere(size) => Ok(*size),
        }
    }
}

/// What is to be started.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The ranks.
    pub starts: Starts,
    /// Where they come to.
    pub listen: SocketAddr,
    /// Which revision they have to be of.
    pub revision: String,
    /// How long they may take to come.
    pub arrival: Duration,
    /// The time after which a rank that does not answer over the network is lost; `None` for never.
    pub silence: Option<Duration>,
    /// How long the run may take from its start on.
    pub until: Option<Duration>,
    /// What happens when a rank dies.
    pub on_loss: OnLoss,
    /// The run is stopped soon after this has become true.
    pub stop: Arc<AtomicBool>,
}

/// Who hears what ranks print.
pub trait Listener {
    /// A line of a rank, without its end; false if nobody wants to hear more.
    fn line(&mut self, rank: u32, is_error: bool, line: &[u8]) -> bool;
}
