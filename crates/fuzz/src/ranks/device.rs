//! The devices that execute a rank program, and the result of an execution.
//!
//! The simulated devices are platforms that differ in model, in device or in limits; their dates
//! are not compared. An executable adds a device of processes by [`Device::new`].

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use platform::Platform;
use run::{LogFilter, MessageProtocol, Options, Output, Stream, simulate, without_panic_messages};
use sim_core::{Outcome, Time};

use super::interpreter::{ReceiveLog, Received, play};
use super::program::RankProgram;

/// End of an execution.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ExecutionEnd {
    /// All ranks have finished, without leftovers.
    Finished,
    /// Ranks are left that can never continue.
    Deadlock,
    /// A rank failed, or the execution had no end.
    Failed(String),
}

/// Result of an execution.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Execution {
    /// The end of the execution.
    pub end: ExecutionEnd,
    /// Messages of each rank, in the order of their receives' numbers.
    pub received: Vec<Vec<Received>>,
    /// The simulated date of the end; `None` for processes.
    pub date: Option<Time>,
}

impl Execution {
    /// Returns an execution; the messages are sorted.
    pub fn new(end: ExecutionEnd, mut received: Vec<Vec<Received>>, date: Option<Time>) -> Self {
        received.iter_mut().for_each(|one| one.sort_unstable());
        Self {
            end,
            received,
            date,
        }
    }
}

/// A device between ranks.
pub struct Device {
    name: &'static str,
    execute: Box<dyn Fn(&RankProgram) -> Execution>,
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Device {
    /// Returns a device with a name and a function that executes programs on the device.
    pub fn new(name: &'static str, execute: impl Fn(&RankProgram) -> Execution + 'static) -> Self {
        Self {
            name,
            execute: Box::new(execute),
        }
    }

    /// Returns the name of the device.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Executes a program.
    pub fn execute_program(&self, program: &RankProgram) -> Execution {
        (self.execute)(program)
    }

    /// Returns a simulated device.
    fn simulated(name: &'static str, platform: Platform) -> Self {
        let platform = Arc::new(platform);
        Self::new(name, move |program| simulated(&platform, program))
    }
}

/// Hosts of all platforms.
const HOSTS: &str = r#"version = 1
[clusters.nodes]
hosts = "node-[0-15]"
speed = "10Gf"
bandwidth = "10Gbps"
latency = "1us"
"#;

/// Names of devices, and the tables of their platforms. The limits are the smallest that make
/// messages wait for buffers, credits and memory. \[choice\]
const PLATFORMS: [(&str, &str); 5] = [
    ("flow", ""),
    (
        "constant",
        "[network]\nmodel = \"constant\"\nduration = \"1us\"\n",
    ),
    (
        "loggops",
        "[network]\nmodel = \"loggops\"\nlatency = \"2500ns\"\noverhead = \"1500ns\"\n\
         gap = \"1000ns\"\ngap_per_byte = \"6ns\"\n",
    ),
    (
        "limited",
        "[protocol]\npacket_size = \"256B\"\nsend_buffers = 2\ncredits = 3\n\
         max_eager_messages = 2\nunexpected_memory = \"1KiB\"\n",
    ),
    ("verbs", "[network]\nmodel = \"flow\"\ndevice = \"verbs\"\n"),
];

/// Returns the simulated devices; the first one is the reference.
pub fn devices() -> Result<Vec<Device>, String> {
    let device = |(name, tables): (&'static str, &str)| {
        let platform = Platform::parse(name, &format!("{HOSTS}{tables}"));
        let platform = platform.map_err(|error| format!("{name}: {error}"))?;
        Ok(Device::simulated(name, platform))
    };
    PLATFORMS.into_iter().map(device).collect()
}

fn simulated(platform: &Arc<Platform>, program: &RankProgram) -> Execution {
    let (object, log) = as_object(program);
    let options = Options {
        ranks: u32::try_from(program.ranks.len()).ok(),
        protocol: Some(MessageProtocol::Threshold(program.eager_threshold)),
        events_max: Some(EVENTS_MAX),
        ..Options::default()
    };
    let output = Rc::new(Output::new(Stream::Nowhere, false, LogFilter::default()));
    let run = without_panic_messages(|| simulate(platform, &*object, &options, &output));
    let date = run.as_ref().map_or(Time::ZERO, |run| run.report.time);
    let end = match run {
        Err(error) => ExecutionEnd::Failed(error.to_string()),
        Ok(run) => match (run.report.outcome, run.warnings.first()) {
            (Outcome::Finished, None) => ExecutionEnd::Finished,
            (Outcome::Finished, Some(warning)) => ExecutionEnd::Failed(warning.clone()),
            (Outcome::Deadlock(_), _) => ExecutionEnd::Deadlock,
            (Outcome::Failed(failure), _) => {
                ExecutionEnd::Failed(format!("{}: {}", failure.name, failure.message))
            }
            (other, _) => ExecutionEnd::Failed(format!("{other:?}")),
        },
    };
    Execution::new(end, log.take(), Some(date))
}

/// Events after which a run is stopped, because the run makes no progress. \[choice\]
const EVENTS_MAX: u64 = 10_000_000;

/// Returns the program as an object that can be started, and the log of the messages that the ranks
/// receive in the latest execution.
pub(super) fn as_object(program: &RankProgram) -> (Rc<dyn run::Program>, ReceiveLog) {
    let log = ReceiveLog::new(RefCell::new(vec![Vec::new(); program.ranks.len()]));
    let (shared, program) = (Rc::clone(&log), Rc::new(program.clone()));
    let start = move |world: mpi::Comm| {
        let (log, rank) = (Rc::clone(&shared), world.rank());
        log.borrow_mut()[rank].clear();
        play(world, Rc::clone(&program), move |received| {
            log.borrow_mut()[rank].push(received);
        })
    };
    (Rc::new(run::RankProgram::new(start)), log)
}
