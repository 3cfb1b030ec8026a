//! The event logs of a real run: each rank writes one log with timestamps of its clock, and the
//! launcher merges the logs.
//!
//! A rank only appends to memory; a thread of its process writes the data to the file many times
//! per second. So for a killed rank, only the last events are missing. The files are in the folder
//! for temporary files if all ranks are on the launcher's machine, in the current folder if they
//! are started by a remote shell, and beside the bootstrap file in an allocation: the other
//! machines must see the same folder, as on a shared file system.
//!
//! Over the connection to the launcher, events would disturb the messages of a run on that network.
//! A file for all ranks would need a lock, for which ranks wait.
//!
//! *Not corrected*: the difference between the clocks of two machines, see `clock`.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use observe::{LogWriter, MergedLogs, Observer, ProgramEvent, RunKind};

use super::clock::{self, RunClock};
use super::launch::LaunchMode;
use super::outcome::{RealOutcome, RealRun};

/// Time from write to write: at most the events of this time are lost when a rank is killed.
const PERIOD: Duration = Duration::from_millis(20);

/// Maximum number of unwritten bytes; then a rank waits for its disk: 2 Mi events.
const UNWRITTEN_MAX: usize = 64 << 20;

/// Size of the buffer of each log that is merged, in bytes.
const BUFFER: usize = 16 * 1024;

/// The paths of the logs of the ranks of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct RankLogs {
    /// The paths without the numbers of the ranks.
    prefix: PathBuf,
}

impl RankLogs {
    /// Finds a place for the logs of ranks that are started like this.
    pub(super) fn new(starts: &LaunchMode) -> io::Result<Self> {
        let are_here = starts.processes().iter().all(|start| start.is_child);
        let folder = if are_here {
            std::env::temp_dir()
        } else {
            std::env::current_dir()?
        };
        let (process, now) = (std::process::id(), clock::monotonic_ns());
        Ok(Self {
            prefix: folder.join(format!(".simrun-events-{process}-{now:x}")),
        })
    }

    /// Returns the logs with this prefix of their paths.
    pub(super) const fn at_prefix(prefix: PathBuf) -> Self {
        Self { prefix }
    }

    /// Returns the logs of a run with this bootstrap file.
    pub(super) fn beside(bootstrap: &Path) -> Self {
        let mut prefix = bootstrap.as_os_str().to_owned();
        prefix.push(".events");
        Self::at_prefix(prefix.into())
    }

    /// Returns the paths without the numbers of the ranks.
    pub(super) fn prefix(&self) -> &Path {
        &self.prefix
    }

    fn log_path(&self, rank: u32) -> PathBuf {
        let mut path = self.prefix.as_os_str().to_owned();
        path.push(format!(".{rank}"));
        path.into()
    }

    /// Removes the files of a run of this many ranks.
    pub(super) fn remove_files(&self, ranks: u32) {
        for rank in 0..ranks {
            // A rank that never began has none.
            let _ = std::fs::remove_file(self.log_path(rank));
        }
    }

    fn open_log(&self, rank: u32) -> io::Result<Option<BufReader<File>>> {
        match File::open(self.log_path(rank)) {
            Ok(file) => Ok(Some(BufReader::with_capacity(BUFFER, file))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The bytes that a rank has not written yet.
#[derive(Debug, Default)]
struct Unwritten {
    bytes: Vec<u8>,
    is_over: bool,
    /// Writing has failed; no further data can be written.
    has_failed: bool,
}

#[derive(Debug, Default)]
struct SharedLog {
    unwritten: Mutex<Unwritten>,
    changed: Condvar,
}

impl SharedLog {
    fn lock(&self) -> MutexGuard<'_, Unwritten> {
        self.unwritten
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the appended data of the rank to a file, until the log ends.
    fn write_to(&self, mut file: File) -> io::Result<()> {
        loop {
            let mut unwritten = self.lock();
            if !unwritten.is_over {
                let waited = self.changed.wait_timeout(unwritten, PERIOD);
                unwritten = waited.map_or_else(|error| error.into_inner().0, |waited| waited.0);
            }
            let bytes = std::mem::take(&mut unwritten.bytes);
            let is_over = unwritten.is_over;
            drop(unwritten);
            self.changed.notify_all();
            if let Err(error) = file.write_all(&bytes) {
                self.lock().has_failed = true;
                self.changed.notify_all();
                return Err(error);
            }
            if is_over {
                return Ok(());
            }
        }
    }
}

/// Takes the bytes of a log.
#[derive(Debug)]
struct Appender(Arc<SharedLog>);

impl Write for Appender {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut unwritten = self.0.lock();
        while unwritten.bytes.len() > UNWRITTEN_MAX && !unwritten.has_failed {
            self.0.changed.notify_all();
            let waited = self.0.changed.wait(unwritten);
            unwritten = waited.unwrap_or_else(PoisonError::into_inner);
        }
        if !unwritten.has_failed {
            unwritten.bytes.extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The event log of one rank.
#[derive(Debug)]
pub(super) struct RankLog {
    clock: RunClock,
    /// The writer; `None` after the end of the log.
    writer: RefCell<Option<LogWriter<Appender>>>,
    /// The time of the latest event in seconds.
    latest: Cell<f64>,
    shared: Arc<SharedLog>,
    thread: RefCell<Option<JoinHandle<io::Result<()>>>>,
}

impl RankLog {
    /// Begins the log of a rank of a run of this many ranks.
    pub(super) fn create_log(
        logs: &RankLogs,
        (rank, size): (u32, u32),
        clock: RunClock,
    ) -> io::Result<Self> {
        let path = logs.log_path(rank);
        let named = |error: io::Error| {
            let text = format!("{}: cannot write events there: {error}", path.display());
            io::Error::new(error.kind(), text)
        };
        // That of a run that was killed; others have other names.
        let _ = std::fs::remove_file(&path);
        let file = OpenOptions::new().write(true).create_new(true).open(&path);
        let file = file.map_err(named)?;
        let shared = Arc::new(SharedLog::default());
        let work = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("event log".to_owned());
        let thread = thread.spawn(move || work.write_to(file))?;
        let appender = Appender(Arc::clone(&shared));
        let writer = LogWriter::begin_log(RunKind::Real, appender, size);
        Ok(Self {
            clock,
            writer: RefCell::new(Some(writer)),
            latest: Cell::new(0.0),
            shared,
            thread: RefCell::new(Some(thread)),
        })
    }

    /// Ends the log, and waits until the whole log is written.
    pub(super) fn finish_log(&self) -> io::Result<()> {
        if let Some(writer) = self.writer.take() {
            writer.finish(self.latest.get())?;
        }
        self.shared.lock().is_over = true;
        self.shared.changed.notify_all();
        let thread = self.thread.take();
        thread.map_or(Ok(()), |thread| {
            let ended = thread.join();
            ended.unwrap_or_else(|_| Err(ErrorKind::Other.into()))
        })
    }
}

impl Observer for RankLog {
    fn observe(&self, rank: u32, event: ProgramEvent) {
        let time = self.clock.now();
        self.latest.set(time);
        if let Some(writer) = &mut *self.writer.borrow_mut() {
            writer.event(rank, time, event);
        }
    }
}

impl RealRun {
    /// Merges the event logs of the ranks into one log, with notes about missing data and clocks.
    /// Writes no log if the ranks wrote none.
    pub fn write_events(&self, out: impl Write) -> io::Result<()> {
        let Some(logs) = &self.logs else {
            return Ok(());
        };
        let ranks = u32::try_from(self.reports.len()).unwrap_or(u32::MAX);
        let mut writer = LogWriter::begin_log(RunKind::Real, out, ranks);
        let mut known = BTreeMap::new();
        for (rank, host) in (0..).zip(&self.hosts) {
            let name = || writer.write_host_name(host);
            let number = *known.entry(host).or_insert_with(name);
            writer.write_host(rank, number);
        }
        let merged = observe::merge(
            ranks,
            |rank| logs.open_log(rank),
            |rank| self.lost_at(rank),
            &mut writer,
        )?;
        for note in self.notes(&merged) {
            writer.write_note(&note);
        }
        let end = merged.latest_s.max(self.measured_s);
        writer.finish(end).map(drop)
    }

    /// Returns the time in seconds at which a rank was lost.
    fn lost_at(&self, rank: u32) -> Option<f64> {
        let ended = match &self.outcome {
            RealOutcome::Failed(failure) => Some(failure),
            _ => None,
        };
        let mut lost = self.lost.iter().chain(ended);
        lost.find(|lost| lost.rank == rank)?.time_s
    }

    /// Returns the notes for a reader of the merged log.
    fn notes(&self, merged: &MergedLogs) -> Vec<String> {
        let mut notes = Vec::new();
        match &self.outcome {
            RealOutcome::Finished => {}
            RealOutcome::Failed(failure) => {
                let text = failure.to_string();
                let text = text.lines().next().unwrap_or_default();
                notes.push(format!("the run did not finish: {text}"));
            }
            _ => notes.push("the run did not finish: it was stopped".to_owned()),
        }
        notes.extend((0..).zip(&merged.cut_s).filter_map(truncation_note));
        if self.clocks > 1 {
            let hosts: BTreeSet<&str> = self.hosts.iter().map(|host| &**host).collect();
            let hosts: Vec<&str> = hosts.into_iter().collect();
            notes.push(format!(
                "hosts {}: {} clocks, which differ by the time of the message that started the run; shorter waits are uncertain",
                hosts.join(", "),
                self.clocks
            ));
        }
        if merged.moved > 0 {
            notes.push(format!(
                "{} packets arrived before they were posted, by the clocks of their ranks, by up to {:.9} s: their arrivals are at the times of the posts",
                merged.moved, merged.moved_max_s
            ));
        }
        notes
    }
}

/// Returns the note about a log that breaks off.
fn truncation_note((rank, cut_s): (u32, &Option<f64>)) -> Option<String> {
    let cut_s = (*cut_s)?;
    Some(if cut_s > 0.0 {
        format!("the events of rank {rank} break off at {cut_s:.6} s: its process was ended")
    } else {
        format!("rank {rank} has no events: its process was ended, or its host has another folder")
    })
}

#[cfg(test)]
mod tests {
    use observe::RankEvent;

    use super::*;

    fn logs(name: &str) -> RankLogs {
        let folder = std::env::temp_dir();
        RankLogs::at_prefix(folder.join(format!("{name}-{}", std::process::id())))
    }

    fn marks(log: &RankLog, count: u32) {
        for _ in 0..count {
            let (name, value) = ("a mark", 1.0);
            log.observe(0, RankEvent::Mark { name, value });
        }
    }

    fn count(logs: &RankLogs, rank: u32) -> usize {
        let mut reader = observe::LogReader::new(logs.open_log(rank).unwrap().unwrap()).unwrap();
        let mut events = 0;
        while reader.next_event().unwrap().is_some() {
            events += 1;
        }
        events
    }

    #[test]
    fn events_are_in_the_file_at_the_end_and_soon_if_there_is_none() {
        let logs = logs("simrun-rank-log");
        let clock = RunClock::starting_at(clock::monotonic_ns());
        let log = RankLog::create_log(&logs, (0, 1), clock).unwrap();
        marks(&log, 1000);
        let written = || std::fs::metadata(logs.log_path(0)).unwrap().len();
        // No test of time: it ends only when the events are there.
        while written() < 1000 * observe::RECORD_BYTES as u64 {
            clock::sleep(Duration::from_millis(1));
        }
        marks(&log, 1);
        log.finish_log().unwrap();
        assert_eq!(count(&logs, 0), 1001);
        marks(&log, 1);
        log.finish_log().unwrap();
        assert_eq!(count(&logs, 0), 1001, "it is over");
        logs.remove_files(1);
        assert!(logs.open_log(0).unwrap().is_none());
    }

    #[test]
    fn a_file_that_cannot_be_made_is_named() {
        let logs = RankLogs::at_prefix("/dev/null/events".into());
        let clock = RunClock::starting_at(0);
        let error = RankLog::create_log(&logs, (3, 4), clock).unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with("/dev/null/events.3: cannot write events there: "),
            "{text}"
        );
    }

    #[test]
    fn notes_tell_what_is_missing_and_how_clocks_differ() {
        let mut run = RealRun {
            outcome: RealOutcome::Finished,
            reports: vec![None; 3],
            hosts: ["b", "a", "b"].map(str::to_owned).to_vec(),
            lost: Vec::new(),
            open_calls: Vec::new(),
            measured_s: 2.0,
            wall_s: 3.0,
            clocks: 1,
            logs: None,
        };
        let mut merged = MergedLogs {
            cut_s: vec![None; 3],
            ..MergedLogs::default()
        };
        assert_eq!(run.notes(&merged), [""; 0]);
        (run.clocks, run.outcome) = (2, RealOutcome::Interrupted);
        merged.cut_s = vec![None, Some(1.5), Some(0.0)];
        (merged.moved, merged.moved_max_s) = (2, 1e-6);
        let notes = [
            "the run did not finish: it was stopped",
            "the events of rank 1 break off at 1.500000 s: its process was ended",
            "rank 2 has no events: its process was ended, or its host has another folder",
            "hosts a, b: 2 clocks, which differ by the time of the message that started the run; shorter waits are uncertain",
            "2 packets arrived before they were posted, by the clocks of their ranks, by up to 0.000001000 s: their arrivals are at the times of the posts",
        ];
        assert_eq!(run.notes(&merged), notes);
    }
}
