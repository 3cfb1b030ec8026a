//! Forks: if a program forks and the child returns, two processes simulate the same run.
//!
//! The child prints no output, ends when its kernel next checks the flag that stops runs, and
//! reports the forking actor to the parent through a pipe. The parent waits for children that have
//! neither ended nor become another program by then, up to [`CHILDREN`]; the parent does not notice
//! a child that returns later. A fork by a system call that bypasses the C library is not noticed.

use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use signal_hook::low_level::exit;
use sim_core::{ActorId, HostId, Time};

use super::lock;
use crate::status;

/// Time that children of the program have to end before the run counts without them.
const CHILDREN: Duration = Duration::from_secs(10);

/// The program has forked.
static HAS_FORKED: AtomicBool = AtomicBool::new(false);
/// This process is a child of the program.
static IS_CHILD: AtomicBool = AtomicBool::new(false);
/// The actor that forked this child, with the host, and the date.
static FORKED_BY: [AtomicU64; 2] = [AtomicU64::new(NOBODY), AtomicU64::new(0)];
const NOBODY: u64 = u64::MAX;

/// An actor on a host that forked, and when.
pub(super) type Fork = ((ActorId, HostId), Time);

/// Returns true in a process that the program has forked.
pub(crate) fn is_child() -> bool {
    IS_CHILD.load(Ordering::Relaxed)
}

/// Remembers in the parent that there is a child.
pub(super) fn note_in_parent() {
    HAS_FORKED.store(true, Ordering::Relaxed);
}

/// Remembers in the child the forking actor.
pub(super) fn note_in_child(by: Option<Fork>) {
    if let Some(((actor, host), date)) = by {
        let word = u64::from(host.0) << 32 | u64::from(actor.number());
        FORKED_BY[0].store(word, Ordering::Relaxed);
        FORKED_BY[1].store(date.to_bits(), Ordering::Relaxed);
    }
    IS_CHILD.store(true, Ordering::Relaxed);
}

/// A pipe that is open for writing as long as there are children.
pub(super) struct Family {
    reader: PipeReader,
    writer: Mutex<Option<PipeWriter>>,
}

impl Family {
    /// Opens the pipe.
    pub(super) fn new() -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        let writer = Mutex::new(Some(writer));
        Ok(Self { reader, writer })
    }

    /// Reports the return of this child to the parent, and ends the child.
    pub(super) fn end_child(family: Option<&Self>) -> ! {
        let [by, date] = [0, 1].map(|word| FORKED_BY[word].load(Ordering::Relaxed).to_ne_bytes());
        if let Some(writer) = family.and_then(|family| lock(&family.writer).take()) {
            // If the parent has ended, nobody needs to know.
            let _ = (&writer).write_all(&[by, date].concat());
        }
        exit(i32::from(status::FAILED));
    }

    /// Waits until the children have ended, and returns the fork of one that returned.
    pub(super) fn wait_for_children(&self) -> Option<Fork> {
        drop(lock(&self.writer).take());
        if !HAS_FORKED.load(Ordering::Relaxed) {
            return None;
        }
        let mut reader = self.reader.try_clone().ok()?;
        let (sender, receiver) = mpsc::channel();
        #[expect(clippy::disallowed_methods, reason = "the run is over")]
        std::thread::spawn(move || {
            let mut words = [[0; 8]; 2];
            let read = reader.read_exact(words.as_flattened_mut());
            // At the end of the pipe, all children have ended or are other programs by now.
            let _ = sender.send(read.ok().map(|()| words.map(u64::from_ne_bytes)));
        });
        let [word, date] = receiver.recv_timeout(CHILDREN).ok()??;
        let host = u32::try_from(word >> 32).ok()?;
        let number = u32::try_from(word & u64::from(u32::MAX)).ok()?;
        let by = (word != NOBODY && number > 0).then(|| ActorId::from_number(number));
        Some(((by?, HostId(host)), Time::from_bits(date)))
    }
}
