//! One rank: its channel, its protocol state, and what it waits for.
//!
//! Progress is made whenever an operation of the rank is polled: all events of the channel are handled before the
//! operation looks whether it is over. An operation that is not parks the rank until the next event.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use crate::channel::{Channel, Token};
use crate::engine::{Engine, State};
use crate::{Comm, Pattern};

/// After this many negative answers of tests without any event, the rank waits for one.
const FAILURES_MAX: u32 = 1000;

/// What a blocked rank waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Waits {
    /// The end of one operation.
    Operation(Token),
    /// The end of an operation that a collective made, of this name.
    Collective(&'static str, Token),
    /// The end of any, or of all, of some operations.
    Several(&'static str),
    /// A message, without receiving it.
    Probe(Pattern),
    /// The sends that were still going on when the program returned.
    Finalize,
}

/// What a rank waits for, in words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Waiting {
    /// The operation and its arguments.
    pub operation: String,
    /// The line of the program, as `file:line`.
    pub location: String,
    /// The ranks that could end the wait; empty if any could.
    pub ranks: Vec<u32>,
}

/// The last questions that were answered with no.
#[derive(Clone, Copy, Debug, Default)]
struct Failures {
    events: u64,
    first: u64,
    count: u32,
}

/// One rank of a running program.
pub struct Process {
    channel: Box<dyn Channel>,
    engine: RefCell<Engine>,
    blocked: Cell<Option<(Waits, &'static Location<'static>)>>,
    failures: Cell<Failures>,
}

impl Process {
    /// The rank behind a channel.
    #[must_use]
    pub fn new(channel: Box<dyn Channel>) -> Rc<Self> {
        Rc::new(Self {
            channel,
            engine: RefCell::new(Engine::default()),
            blocked: Cell::new(None),
            failures: Cell::new(Failures::default()),
        })
    }

    /// The communicator of all ranks.
    #[must_use]
    pub fn world(self: &Rc<Self>) -> Comm {
        Comm::world(Rc::clone(self))
    }

    pub(crate) fn channel(&self) -> &dyn Channel {
        &*self.channel
    }

    /// Calls `f` with the protocol state, after all events so far.
    pub(crate) fn with_engine<T>(&self, f: impl FnOnce(&mut Engine, &dyn Channel) -> T) -> T {
        let mut engine = self.engine.borrow_mut();
        while let Some(event) = self.channel.poll_event() {
            engine.handle(&*self.channel, event);
        }
        f(&mut engine, &*self.channel)
    }

    /// Polls an operation: the attempt's result, or the rank is parked.
    pub(crate) fn poll_until<T>(
        &self,
        waits: Waits,
        location: &'static Location<'static>,
        attempt: impl FnOnce(&mut Engine) -> Option<T>,
    ) -> Poll<T> {
        if let Some(result) = self.with_engine(|engine, _| attempt(engine)) {
            self.blocked.set(None);
            return Poll::Ready(result);
        }
        self.blocked.set(Some((waits, location)));
        self.channel.park();
        Poll::Pending
    }

    /// Whether a test may answer no at once: not if it was the same question and nothing has happened since. Such a
    /// rank waits for its next event instead of spinning at one date.
    pub(crate) fn may_say_no(&self, events: u64, question: u64) -> bool {
        let last = self.failures.get();
        if last.events != events || last.count == 0 {
            self.failures.set(Failures {
                events,
                first: question,
                count: 1,
            });
            return true;
        }
        self.failures.set(Failures {
            count: last.count.saturating_add(1),
            ..last
        });
        last.first != question && last.count < FAILURES_MAX
    }

    /// Waits for the sends that still go on: what every rank does after its program has returned.
    pub fn finalize(self: &Rc<Self>) -> impl Future<Output = ()> + 'static {
        let process = Rc::clone(self);
        let location = Location::caller();
        std::future::poll_fn(move |_| {
            process.poll_until(Waits::Finalize, location, |engine| {
                engine.sending().next().is_none().then_some(())
            })
        })
    }

    /// What the rank left unfinished, in words: requests that never completed, and messages that nobody received.
    #[must_use]
    pub fn leftovers(&self) -> Vec<String> {
        self.with_engine(|engine, _| {
            let mut texts: Vec<String> =
                engine.posted().map(|pattern| format!("a receive ({pattern}) never got a message")).collect();
            texts.extend(engine.unreceived().map(|status| {
                let (source, tag, length) = (status.source, status.tag, status.length);
                format!("a message of {length} bytes from rank {source} with tag {tag} was never received")
            }));
            texts
        })
    }

    /// What the rank waits for; `None` if it does not.
    #[must_use]
    pub fn waiting(&self) -> Option<Waiting> {
        let (waits, location) = self.blocked.get()?;
        let engine = self.engine.borrow();
        let (operation, ranks) = match waits {
            Waits::Operation(token) => describe(engine.state(token)),
            Waits::Collective(name, token) => (name.to_owned(), describe(engine.state(token)).1),
            Waits::Several(name) => {
                let mut ranks: Vec<u32> = engine
                    .posted()
                    .filter_map(|pattern| pattern.source)
                    .collect();
                ranks.extend(engine.sending().map(|(peer, _)| peer));
                (name.to_owned(), ranks)
            }
            Waits::Probe(pattern) => (
                format!("probe ({pattern})"),
                pattern.source.into_iter().collect(),
            ),
            Waits::Finalize => {
                let ranks: Vec<u32> = engine.sending().map(|(peer, _)| peer).collect();
                ("finalize, for its unfinished sends".to_owned(), ranks)
            }
        };
        Some(Waiting {
            operation,
            location: format!("{}:{}", location.file(), location.line()),
            ranks,
        })
    }
}

fn describe(state: &State) -> (String, Vec<u32>) {
    match state {
        State::Posted { pattern, .. } => (
            format!("recv ({pattern})"),
            pattern.source.into_iter().collect(),
        ),
        State::AwaitCts {
            peer,
            envelope,
            buffer,
        } => {
            let length = buffer.len();
            (
                format!(
                    "send (destination {peer}, tag {}, {length} bytes, rendezvous)",
                    envelope.tag
                ),
                vec![*peer],
            )
        }
        State::Sending { peer, envelope, .. } => (
            format!(
                "send (destination {peer}, tag {}), data leaving",
                envelope.tag
            ),
            vec![*peer],
        ),
        State::AwaitData { envelope, .. } => (
            format!(
                "recv (source {}, tag {}), data coming",
                envelope.source, envelope.tag
            ),
            vec![envelope.source],
        ),
        State::Elapsing => ("sleep or compute".to_owned(), Vec::new()),
        State::Done { .. } | State::Free { .. } => ("nothing".to_owned(), Vec::new()),
    }
}

impl std::fmt::Debug for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Process(rank {} of {})",
            self.channel.rank(),
            self.channel.size()
        )
    }
}

/// An operation that makes attempts until one succeeds.
#[must_use = "an operation does nothing until it is awaited"]
pub struct Call<'a, F> {
    process: &'a Process,
    location: &'static Location<'static>,
    waits: Waits,
    attempt: F,
}

impl<'a, F> Call<'a, F> {
    pub(crate) const fn new(
        process: &'a Process,
        location: &'static Location<'static>,
        waits: Waits,
        attempt: F,
    ) -> Self {
        Self {
            process,
            location,
            waits,
            attempt,
        }
    }
}

impl<T, F: FnMut(&Process, &mut Engine) -> Option<T> + Unpin> Future for Call<'_, F> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<T> {
        let this = self.get_mut();
        let process = this.process;
        process.poll_until(this.waits, this.location, |engine| {
            (this.attempt)(process, engine)
        })
    }
}

impl<F> std::fmt::Debug for Call<'_, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Call({:?} at {})", self.waits, self.location)
    }
}
