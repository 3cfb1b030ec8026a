//! Runs one rank: polls its program, and while the program waits, the device of the rank.
//!
//! As in a simulation, a parked rank handles each event without its program. The program is polled
//! only when its wait may be over.
//!
//! A program that waits for an event outside of the message layer, such as a timer of another
//! library, is polled when this event wakes it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use mpi::Process;
use run::RankFuture;

use super::control::{FailureKind, RankFailure};
use super::local::Local;

/// Back end of the packets of a rank.
pub(super) trait PacketDevice {
    /// The rank's own part.
    fn local(&self) -> &Local;

    /// Lets packets move, and waits until there is an event, or until `woken` is true and the
    /// device was [woken](Self::waker).
    fn wait_for_event(&self, woken: &AtomicBool);

    /// Ends the wait from another thread.
    fn waker(&self) -> Arc<mio::Waker>;
}

thread_local! {
    /// The address differs in each thread, and is cheaper to get than the number of the thread.
    static HERE: u8 = const { 0 };
}

/// Returns a number that no other thread that runs now has.
fn here() -> usize {
    HERE.with(|here| std::ptr::from_ref(here).addr())
}

/// Notes that the program was woken.
struct Alarm {
    woken: AtomicBool,
    device: Arc<mio::Waker>,
    /// The thread of the rank.
    owner: usize,
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let was = self.woken.swap(true, Ordering::AcqRel);
        // The rank itself is not asleep.
        if !was && here() != self.owner {
            let _ = self.device.wake();
        }
    }
}

/// Runs a rank to the end of its program.
pub(super) fn run_program(
    process: &Process,
    mut future: RankFuture,
    device: &dyn PacketDevice,
) -> Result<(), RankFailure> {
    let alarm = Arc::new(Alarm {
        woken: AtomicBool::new(false),
        device: device.waker(),
        owner: here(),
    });
    let waker = Waker::from(Arc::clone(&alarm));
    let mut context = Context::from_waker(&waker);
    let local = device.local();
    let fail = |message: String, kind| RankFailure {
        message,
        kind,
        after_loss: local.knows_of_loss(),
    };
    loop {
        alarm.woken.store(false, Ordering::Release);
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(&mut context)));
        if let Some(code) = local.aborted() {
            let text = format!("called abort with code {code}");
            return Err(fail(text, FailureKind::Error));
        }
        match polled {
            Ok(Poll::Ready(result)) => {
                return result.map_err(|text| fail(text, FailureKind::Error));
            }
            Ok(Poll::Pending) => {}
            Err(payload) => return Err(fail(text_of(&*payload), FailureKind::Panic)),
        }
        while !alarm.woken.load(Ordering::Acquire) {
            if !local.is_ready() && !local.has_wake_flag() {
                device.wait_for_event(&alarm.woken);
            }
            if local.take_wake_flag() || (local.is_ready() && process.make_progress(None)) {
                local.wake();
                break;
            }
        }
    }
}

/// The message of a panic.
fn text_of(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned())
}
