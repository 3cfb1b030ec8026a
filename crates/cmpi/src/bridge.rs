//! The bridge: a rank is a future whose program runs on a separate stack.
//!
//! A call of MPI polls a future of the message layer on that stack. While it is pending, the rank
//! leaves the stack and is pending too; the next poll of the rank continues the call. If a
//! suspended rank is dropped, the pending future is dropped, to inform the message layer, and the
//! stack is given up without unwinding: no other value on the stack may need a drop.
//!
//! *Not noticed*: a program that writes outside of its memory.

#![expect(
    unsafe_code,
    reason = "a rank is suspended in the middle of its functions, and is found by a pointer"
)]

use std::any::Any;
use std::cell::{Cell, RefCell, UnsafeCell};
use std::ffi::{CString, c_char, c_int};
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::{Pin, pin};
use std::ptr::{self, NonNull};
use std::rc::Rc;
use std::task::{Context, Poll};
use std::thread;

use corosensei::{Coroutine, Yielder};
use mpi::exploration::is_rank_explored;
use mpi::{NativeLocation, count_operations, prelude::*, set_native_caller};

use crate::datatypes::MadeDatatype;
use crate::errors::CallError;
use crate::handles::{HandleTable, kinds};
use crate::host;
use crate::lines::CallLines;
use crate::loader::exceptions::ExceptionState;
use crate::loader::heap::{Heap, HeapSlot};
use crate::loader::shared::SharedMemories;
use crate::loader::{Image, Memory};
use crate::recycling::FreeBuffers;
use crate::state::MpiState;
use crate::state::properties::ErrorHandler;
use elf::Refusal;

mod callback;
mod compute;
mod exits;
mod faults;
mod frames;
mod output;
mod stack;
mod watchdog;

pub use compute::{Bursts, Compute, Measured, Timing};

use callback::RankReference;
use compute::Computing;
use faults::Fault;
pub(crate) use faults::install as install_fault_handlers;
use frames::CallLine;
use output::RankFiles;
use stack::{FULL, LINE, Pending, RankStack, StackSlot, prefetch_lines};
pub(crate) use watchdog::Watch;

/// Length of the stack of a rank in bytes, equal to the stack of a process on most systems. A rank
/// occupies only the pages that the program uses.
pub const STACK: usize = 8 << 20;

/// Readings of the clock after which time passes with each.
const CLOCK_READS: u32 = 1000;

/// Seconds that pass then.
const CLOCK_STEP: f64 = 1e-6;

/// Seconds after which a test or a probe without a new result returns false; SMPI 3.32 adds 1e-4 s
/// to each by default (`smpi/test`, `smpi/iprobe`).
const ANSWER: f64 = 1e-5;

/// Number of such answers in succession.
const ANSWERS: u32 = 1000;

/// Functions that an operation of the program may call.
const INSIDE: &[&str] = &["MPI_Type_get_extent", "MPI_Type_size", "MPI_Get_address"];

/// Number of lines of the caches with the fields of a rank before the state.
const HOT_LINES: usize = std::mem::offset_of!(Inner, state).div_ceil(LINE);

thread_local! {
    /// The rank whose program is running on this thread; null if no rank is running.
    static CURRENT: Cell<*const Inner> = const { Cell::new(ptr::null()) };
}

/// Ranks of a compiled program that run on one thread.
#[derive(Clone, Debug)]
pub struct Ranks {
    pub(crate) memory: Rc<Memory>,
    pub(crate) arguments: Rc<[CString]>,
    pub(crate) lines: Rc<CallLines>,
    pub(crate) buffers: Rc<FreeBuffers>,
    pub(crate) has_heaps: bool,
    pub(crate) timing: Rc<Timing>,
    pub(crate) watch: Option<Rc<Watch>>,
}

impl Ranks {
    /// Returns the address of the image of a rank, for a debugger.
    pub fn image_address(&self, rank: usize) -> Result<usize, Refusal> {
        self.memory.image_address(rank)
    }

    /// Returns the future of a rank.
    pub fn rank(&self, world: Comm) -> RankFuture {
        let inner = Box::new(Inner {
            state: UnsafeCell::new(MpiState::new(world.clone())),
            world,
            image: Cell::new(ptr::null()),
            owned: UnsafeCell::new(Owned {
                arguments: Arguments::new(&self.arguments),
                image: None,
                heap: None,
                coroutine: None,
            }),
            has_heap: self.has_heaps,
            timing: Rc::clone(&self.timing),
            watch: self.watch.clone(),
            computing: Computing::default(),
            heap: Cell::new(None),
            stack: RankStack::new(),
            end: Cell::new(None),
            errno: Cell::new(0),
            exceptions: Cell::new(ExceptionState::NONE),
            fault: Cell::new(None),
            is_in_call: Cell::new(false),
            is_called_back: Cell::new(false),
            myself: RankReference(Rc::new(Cell::new(ptr::null()))),
            files: RankFiles::default(),
            polling: Polling::default(),
            datatypes: RefCell::default(),
            openmp: RefCell::default(),
            location: Cell::new(None),
            lines: Rc::clone(&self.lines),
            buffers: Rc::clone(&self.buffers),
            memory: Rc::clone(&self.memory),
        });
        RankFuture {
            inner: NonNull::from(Box::leak(inner)),
        }
    }
}

/// The arguments of `main`, which a program may change.
struct Arguments {
    /// Texts that end with 0, for the pointers.
    _texts: Vec<Vec<u8>>,
    pointers: Vec<*mut c_char>,
}

impl Arguments {
    fn new(texts: &[CString]) -> Self {
        let texts = texts.iter().map(|text| text.as_bytes_with_nul().to_vec());
        let mut texts: Vec<Vec<u8>> = texts.collect();
        let pointers = texts.iter_mut().map(|text| text.as_mut_ptr().cast());
        Self {
            pointers: pointers.chain([ptr::null_mut()]).collect(),
            _texts: texts,
        }
    }
}

/// End of a rank.
pub(crate) enum RankEnd {
    /// The rank has exited, with a late failure if its exit status was not 0.
    Done(Option<String>),
    /// The rank has failed, for this reason.
    Failed(String),
    /// A function of this crate or of the message layer has panicked.
    Panicked(Box<dyn Any + Send>),
}

/// The parts of a rank that are not used by calls of the program.
#[repr(C)]
struct Owned {
    coroutine: Option<Coroutine<(), (), (), StackSlot>>,
    image: Option<Image>,
    heap: Option<HeapSlot>,
    arguments: Arguments,
}

/// Questions of a program that repeats them.
#[derive(Default)]
struct Polling {
    /// Readings of the clock since the latest call of MPI.
    clock_reads: Cell<u32>,
    /// Answers of tests and probes in succession that only time has given.
    answers: Cell<u32>,
    /// The date at which the timer of the latest wait for an answer ends, in seconds.
    timer_end: Cell<f64>,
    /// Number of operations at the end of the latest test or probe.
    operations: Cell<u64>,
    /// True if a probe has seen a message, and the rank has begun no operation since.
    has_seen: Cell<bool>,
}

impl Polling {
    /// Notes a reading of the clock; returns true if time must pass. A polling loop that reads the
    /// clock may end by the time.
    fn count_reading(&self) -> bool {
        self.answers.set(0);
        let reads = self.clock_reads.get().saturating_add(1);
        self.clock_reads.set(reads);
        reads > CLOCK_READS
    }

    /// Begins a test or a probe after this number of operations.
    fn begin_question(&self, operations: u64) {
        if operations != self.operations.get() {
            self.has_seen.set(false);
        }
    }

    /// Notes the answer yes. A message that stays unreceived is news only once.
    fn note_success(&self, yes: Yes) {
        if yes == Yes::EndsOperation || !self.has_seen.replace(true) {
            self.answers.set(0);
        }
    }
}

/// Datatypes that a program has made.
type MadeDatatypes = HandleTable<MadeDatatype, { kinds::DATATYPE }>;

/// Functions at the end of a call of MPI.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallEnd {
    /// Fills memory of receives with freed requests.
    pub(crate) fill_memory: fn() -> Result<(), CallError>,
    /// Calls the functions of the program that are due; returns an error code.
    pub(crate) call_program: fn() -> c_int,
}

/// A rank, at one address from start to end.
///
/// The fields that each poll and each call use come first, in few lines of the caches: with many
/// ranks none of these lines is in the caches when a rank runs again.
#[repr(C)]
pub(crate) struct Inner {
    stack: RankStack,
    owned: UnsafeCell<Owned>,
    image: Cell<*const Image>,
    /// In a box, because each call reads this field.
    end: Cell<Option<Box<RankEnd>>>,
    errno: Cell<c_int>,
    exceptions: Cell<ExceptionState>,
    fault: Cell<Option<Fault>>,
    /// Line of the call of MPI that is running.
    location: Cell<Option<&'static NativeLocation>>,
    /// True while a call of MPI uses the state.
    is_in_call: Cell<bool>,
    /// True while a function of the program runs that the message layer has called.
    is_called_back: Cell<bool>,
    has_heap: bool,
    polling: Polling,
    memory: Rc<Memory>,
    timing: Rc<Timing>,
    watch: Option<Rc<Watch>>,
    lines: Rc<CallLines>,
    buffers: Rc<FreeBuffers>,
    files: RankFiles,
    state: UnsafeCell<MpiState>,
    world: Comm,
    computing: Computing,
    /// Where the program allocates memory; `None` for the heap of the process.
    heap: Cell<Option<Heap>>,
    myself: RankReference,
    /// Apart from the state, which a call that looks a datatype up may be using.
    datatypes: RefCell<MadeDatatypes>,
    pub(crate) openmp: RefCell<openmp::RankState>,
}

/// The future of a rank. The result is the late failure of the rank, after which other ranks
/// continue, or the text of the failure that ends the run.
pub struct RankFuture {
    inner: NonNull<Inner>,
}

impl fmt::Debug for RankFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rank").finish_non_exhaustive()
    }
}

impl Future for RankFuture {
    type Output = Result<Option<String>, String>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: the pointer is of a box that is freed when this is dropped; all parts that
        // change are cells.
        let inner = unsafe { self.inner.as_ref() };
        prefetch_lines::<HOT_LINES>(ptr::from_ref(inner) as usize);
        inner.stack.prefetch_frames();
        // SAFETY: nothing but this function and the drop of the rank uses these parts, and both
        // have the rank for themselves. Calls of the program do not touch them.
        let owned = unsafe { &mut *inner.owned.get() };
        if owned.coroutine.is_none()
            && let Err(refusal) = inner.create_coroutine(owned)
        {
            return Poll::Ready(Err(refusal.to_string()));
        }
        let Some(coroutine) = owned.coroutine.as_mut().filter(|_| !inner.has_ended()) else {
            return inner.conclude(owned);
        };
        inner.stack.context.set(ptr::from_mut(context).cast());
        let before = CURRENT.replace(inner);
        let exceptions = inner.memory.linked.exceptions.as_ref();
        let of_thread = exceptions.map(|it| it.exchange_state(inner.exceptions.get()));
        set_errno(inner.errno.get());
        host::set_input(inner.files.input.get());
        let caller = set_native_caller(inner.location.get());
        inner.note_progress(Watch::switch);
        coroutine.resume(());
        inner.note_progress(Watch::switch);
        set_native_caller(caller);
        inner.errno.set(errno());
        if let Some((exceptions, of_thread)) = exceptions.zip(of_thread) {
            inner.exceptions.set(exceptions.exchange_state(of_thread));
        }
        CURRENT.set(before);
        inner.stack.context.set(ptr::null_mut());
        if let Some(fault) = inner.fault.take() {
            inner.flush();
            inner.note_end(RankEnd::Failed(inner.described(fault)));
        }
        inner.conclude(owned)
    }
}

impl Drop for RankFuture {
    fn drop(&mut self) {
        // SAFETY: the pointer is of a box that nobody else frees; the program of the rank is not
        // running, so no reference to its parts exists but on its stack, which is given up first.
        unsafe {
            let inner = self.inner.as_ref();
            inner.give_up_stack(&mut *inner.owned.get());
            drop(Box::from_raw(self.inner.as_ptr()));
        }
    }
}

impl Inner {
    /// Makes the image and the stack.
    fn create_coroutine(&self, owned: &mut Owned) -> Result<(), Refusal> {
        exits::install();
        let number = self.world.rank();
        let image = owned.image.insert(Image::new(&self.memory, number)?);
        let stack = StackSlot::new(&self.memory, number)?;
        if self.has_heap {
            let heap = HeapSlot::new(&self.memory, number)?;
            self.heap.set(Some(heap.heap()));
            owned.heap = Some(heap);
        }
        self.stack.end.set(stack.stack_end());
        self.image.set(&raw const *image);
        self.set_input(host::input(self.has_input()));
        let rank = ptr::from_ref(self) as usize;
        let run = move |yielder: &Yielder<(), ()>, ()| {
            // SAFETY: the rank is at this address as long as it has a stack.
            let rank = unsafe { &*(rank as *const Self) };
            rank.stack.yielder.set(yielder);
            rank.image().enter_program()
        };
        let coroutine = Coroutine::with_stack(stack, run);
        self.stack.trap.set(Some(coroutine.trap_handler()));
        owned.coroutine = Some(coroutine);
        Ok(())
    }

    /// Returns the result of the rank if the rank has ended.
    #[inline]
    fn conclude(&self, owned: &mut Owned) -> Poll<Result<Option<String>, String>> {
        match self.end.take() {
            None => Poll::Pending,
            Some(end) => self.finish_rank(owned, *end),
        }
    }

    #[cold]
    fn finish_rank(&self, owned: &mut Owned, end: RankEnd) -> Poll<Result<Option<String>, String>> {
        self.flush();
        self.give_up_stack(owned);
        match end {
            RankEnd::Done(late) => Poll::Ready(Ok(late)),
            RankEnd::Failed(text) => Poll::Ready(Err(text)),
            RankEnd::Panicked(payload) => resume_unwind(payload),
        }
    }

    /// Drops the future that the rank waits for, and gives up the stack and the image.
    fn give_up_stack(&self, owned: &mut Owned) {
        self.myself.0.set(ptr::null());
        self.stack.drop_pending();
        if let Some(mut coroutine) = owned.coroutine.take() {
            // SAFETY: what is on the stack is the program's own, which needs no drop, and frames
            // of functions of this crate, whose only value with a drop was dropped above.
            unsafe { coroutine.force_reset() };
        }
        // SAFETY: the program, whose calls use the state, does not run any more.
        unsafe { (*self.state.get()).close_windows() };
        self.image.set(ptr::null());
        self.heap.set(None);
        (owned.image, owned.heap) = (None, None);
    }

    /// Returns the image.
    pub(crate) fn image(&self) -> &Image {
        // SAFETY: the image is a part of this rank from before its program begins until its
        // stack is given up; only the program's calls ask for it.
        unsafe { &*self.image.get() }
    }

    /// Records the progress of the program, if a watchdog observes the program.
    fn note_progress(&self, what: fn(&Watch)) {
        if let Some(watch) = &self.watch {
            what(watch);
        }
    }

    /// Returns the message about a fault of the program.
    fn described(&self, fault: Fault) -> String {
        let place = match self.image().offset_of(fault.instruction) {
            Some(offset) => format!("at {}", self.lines.of_call(offset + 1)),
            None => match self.location() {
                Some(line) => {
                    format!("in a function of a library; the latest call of MPI is at {line}")
                }
                None => "in a function of a library".to_owned(),
            },
        };
        match (fault.signal, &self.watch) {
            (watchdog::SIGNAL, Some(watch)) => {
                let longest = watch.limit();
                format!("no call of MPI for {longest} s of processor time, {place}")
            }
            _ if fault.is_stack_full => format!("{} {place}: {FULL}", fault.name()),
            _ => format!("{} {place}", fault.name()),
        }
    }

    /// Returns number and addresses of the arguments of `main`.
    pub(crate) fn arguments(&self) -> (c_int, *mut *mut c_char) {
        // SAFETY: the arguments stay where they are; they are only read here.
        let pointers = unsafe { &raw mut (*self.owned.get()).arguments.pointers };
        // SAFETY: as above.
        let pointers = unsafe { &mut *pointers };
        let count = c_int::try_from(pointers.len() - 1).unwrap_or(c_int::MAX);
        (count, pointers.as_mut_ptr())
    }

    /// Returns true under a model checker, which executes the program again and again.
    pub(crate) const fn is_checked(&self) -> bool {
        self.has_heap
    }

    /// Returns where the program allocates memory; `None` for the heap of the process.
    pub(crate) const fn heap(&self) -> Option<Heap> {
        self.heap.get()
    }

    /// Returns true if an address is one of variables: in the image or on the stack.
    pub(crate) fn has_memory(&self, address: usize) -> bool {
        self.stack.has_address(address) || self.image().offset_of(address).is_some()
    }

    /// Returns memory that ranks share.
    pub(crate) fn shared_memories(&self) -> &SharedMemories {
        &self.memory.shared
    }

    /// Returns the state, between the parts of a call with changes of the state.
    const fn rank_state(&self) -> &MpiState {
        // SAFETY: as in `with_state`; the reference is dropped before another part begins.
        unsafe { &*self.state.get() }
    }

    /// Returns memory of messages that have been received.
    pub(crate) fn free_buffers(&self) -> &FreeBuffers {
        &self.buffers
    }

    /// Returns the communicator of all ranks.
    pub(crate) const fn world(&self) -> &Comm {
        &self.world
    }

    /// Leaves the stack until the rank is polled again.
    ///
    /// Ends the rank if the stack is full.
    fn suspend(&self) {
        if self.stack.end.get().is_overwritten() && !self.has_ended() {
            self.note_end(RankEnd::Failed(FULL.to_owned()));
        }
        self.stack.leave_stack();
    }

    /// Ends the rank. The stack is given up, so no value on the stack is dropped any more.
    pub(crate) fn finish(&self, end: RankEnd) -> ! {
        self.flush();
        self.note_end(end);
        loop {
            self.suspend();
        }
    }
}

/// Returns the rank whose program is running on this thread, or `None` outside of a rank.
pub(crate) fn current() -> Option<&'static Inner> {
    // SAFETY: the pointer is set while a rank is polled, whose parts outlive all calls of its
    // program; after its end the program does not run. The reference does not leave a call.
    unsafe { CURRENT.get().as_ref() }
}

/// Returns the rank that made the current call.
///
/// A thread of a program is no rank: the process ends, since a thread cannot be stopped otherwise.
pub(crate) fn caller() -> &'static Inner {
    current().unwrap_or_else(|| {
        let text = "simrun: a thread of an MPI program called MPI: not supported\n";
        // SAFETY: writes the bytes of a text that exists.
        unsafe { libc::write(2, text.as_ptr().cast(), text.len()) };
        std::process::abort()
    })
}

/// Performs a call of MPI: returns the error code of the call, or ends the rank.
pub(crate) fn call(
    name: &'static str,
    end: CallEnd,
    body: impl FnOnce() -> Result<(), CallError>,
) -> c_int {
    let rank = caller();
    let is_inside = rank.is_in_call.get();
    match is_inside {
        true => rank.check_inside(name),
        false => rank.begin_call(name),
    }
    let result = catch_unwind(AssertUnwindSafe(|| {
        if !is_inside {
            rank.rank_state().check_stage(name)?;
            rank.enter_call();
            if rank.is_checked() {
                block(async |state| state.note_stores().await);
            }
        }
        body()?;
        match is_inside || rank.rank_state().active.freed.is_empty() {
            true => Ok(()),
            false => (end.fill_memory)(),
        }
    }));
    if is_inside {
        return end_inside(result);
    }
    if matches!(result, Ok(Ok(()))) && rank.end_call() {
        return match rank.rank_state().generalized.due.is_empty() {
            true => 0,
            false => (end.call_program)(),
        };
    }
    rank.fail_call(name, result)
}

/// Returns the error code of a call by a function that MPI has called.
#[cold]
fn end_inside(result: thread::Result<Result<(), CallError>>) -> c_int {
    let result = result.unwrap_or_else(|payload| resume_unwind(payload));
    result.map_or_else(|error| error.code(), |()| 0)
}

impl Inner {
    /// Ends the rank if a function that MPI has called may not call this function.
    #[cold]
    fn check_inside(&self, name: &str) {
        if !self.is_called_back.get() || !INSIDE.contains(&name) {
            self.finish(RankEnd::Failed(format!(
                "{name} was called by a function that MPI had called"
            )));
        }
    }

    /// Prepares a call of MPI.
    fn begin_call(&self, name: &str) {
        self.is_in_call.set(true);
        if self.stack.end.get().is_near() {
            self.finish(RankEnd::Failed(format!(
                "{name}{}: {FULL}",
                self.call_line()
            )));
        }
        self.polling.clock_reads.set(0);
        self.rank_state().begin_call();
        self.note_progress(Watch::note_call);
        self.locate();
    }

    /// Ends a call of MPI. Returns false if a function that MPI had called has ended the rank.
    fn end_call(&self) -> bool {
        self.is_in_call.set(false);
        let goes_on = !self.has_ended();
        if goes_on {
            self.rank_state().learn_contents();
            self.write_deferred();
            self.leave_call();
        }
        goes_on
    }

    /// Ends a call of MPI after a failure or the end of the rank: returns the error code of the
    /// call, or ends the rank.
    #[cold]
    fn fail_call(&self, name: &str, result: thread::Result<Result<(), CallError>>) -> c_int {
        if !self.end_call() {
            drop(result);
            self.stop_if_ended();
            return 0;
        }
        let error = match result {
            Ok(Ok(())) => return 0,
            Ok(Err(error)) => error,
            Err(payload) => self.finish(RankEnd::Panicked(payload)),
        };
        let code = error.code();
        let handler = match with_state(|state| state.check_stage(name)) {
            // Errors of calls at other times are fatal.
            Err(_) => ErrorHandler::Fatal,
            Ok(()) => with_state(|state| state.errors.find_handler(state.concerned.get())),
        };
        match handler {
            ErrorHandler::Returns => return code,
            ErrorHandler::Fatal => {}
            ErrorHandler::Program(function, mut handle) => {
                // The function may end the rank.
                drop(error);
                function(&raw mut handle, &raw const code);
                return code;
            }
        }
        let place = CallLine(self.location.get());
        let text = format!(
            "Abort({code}): fatal error in {name}{place}: {}",
            error.text()
        );
        drop(error);
        self.finish(RankEnd::Failed(text))
    }
}

/// Calls a function of the program, which may call MPI, from a call of MPI. No value with a
/// destructor may be on the stack: the function may end the rank.
pub(crate) fn call_program<T>(function: impl FnOnce() -> T) -> T {
    let rank = caller();
    let location = rank.location.get();
    let was_in_call = rank.is_in_call.replace(false);
    let result = function();
    rank.is_in_call.set(was_in_call);
    rank.set_location(location);
    result
}

/// Calls `f` with the state of the rank that has called; `f` must not wait.
pub(crate) fn with_state<T>(f: impl FnOnce(&mut MpiState) -> T) -> T {
    let rank = caller();
    // SAFETY: one call of a rank runs at a time, `f` does not call the program, and futures that
    // borrow the state are over or dropped when another call begins.
    f(unsafe { &mut *rank.state.get() })
}

/// Returns the simulated time in seconds.
///
/// A program that reads the clock again and again waits for time to pass, which only waiting does:
/// after [`CLOCK_READS`] readings without a call of MPI each waits [`CLOCK_STEP`].
pub(crate) fn read_clock() -> f64 {
    let rank = caller();
    if rank.is_called_back.get() {
        return rank.world.wtime();
    }
    rank.note_progress(Watch::note_call);
    rank.locate();
    rank.enter_call();
    if rank.polling.count_reading() {
        rank.spin(CLOCK_STEP);
    }
    rank.leave_call();
    rank.world.wtime()
}

/// Effect of the answer yes to a question.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Yes {
    /// The answer completes an operation or receives a message.
    EndsOperation,
    /// The answer tells of a message or a partition, which stays.
    ShowsArrival,
}

/// Waits for the answer of a test or a probe. If no event has come since the last question, the
/// call waits for the next event of the rank, but at most [`ANSWER`]; then the answer is no.
///
/// After [`ANSWERS`] such answers without a reading of the clock the call waits without a limit, so
/// that an endless polling loop becomes a deadlock. The same holds where a model checker explores
/// the program or finds the schedule of a run, because no time passes there.
pub(crate) async fn await_answer<T>(
    yes: Yes,
    question: impl Future<Output = Result<Option<T>>>,
) -> Result<Option<T>> {
    let rank = caller();
    let (world, polling) = (&rank.world, &rank.polling);
    if polling.answers.get() >= ANSWERS || is_rank_explored(world) {
        return question.await;
    }
    polling.begin_question(count_operations(world));
    let mut question = pin!(question);
    let mut time = pin!(world.sleep(ANSWER));
    let begin = world.wtime();
    // If an event has answered an earlier question, the timer of that question is still running.
    // The end of each timer is an event: were there a new timer for each question, an older timer
    // would answer the question each time, and time alone never.
    let has_timer = polling.timer_end.get() > begin;
    let answer = std::future::poll_fn(|context| match question.as_mut().poll(context) {
        Poll::Pending if !has_timer => {
            let operations = count_operations(world);
            let is_over = time.as_mut().poll(context);
            if is_over.is_pending() && count_operations(world) != operations {
                // The timer begins when the rank is not busy.
                polling.timer_end.set(world.wtime() + ANSWER);
            }
            is_over.map(|()| Ok(None))
        }
        answer => answer,
    });
    let answer = answer.await;
    let now = world.wtime();
    if matches!(answer, Ok(Some(_))) {
        polling.note_success(yes);
    } else if now > begin && now >= polling.timer_end.get() {
        polling.answers.set(polling.answers.get() + 1);
    }
    polling.operations.set(count_operations(world));
    answer
}

/// Calls `f` with the datatypes that the program of the rank that has called has made.
pub(crate) fn with_datatypes<T>(f: impl FnOnce(&mut MadeDatatypes) -> T) -> T {
    f(&mut caller().datatypes.borrow_mut())
}

/// Waits for a future that borrows the state of the rank that has called.
pub(crate) fn block<T>(f: impl AsyncFnOnce(&mut MpiState) -> T) -> T {
    let rank = caller();
    // SAFETY: as in `with_state`. While the future waits, the rank is suspended in this call: no
    // other call of it begins.
    drive(rank, f(unsafe { &mut *rank.state.get() }))
}

fn drive<F: Future>(rank: &Inner, future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        // SAFETY: the context is that of the poll of the rank that is running, which does not end
        // before its program suspends or ends.
        let context = unsafe { &mut *rank.stack.context.get() };
        if let Poll::Ready(value) = future.as_mut().poll(context) {
            if !rank.has_ended() {
                return value;
            }
            drop(value);
            rank.stop_if_ended();
            unreachable!("a rank that has ended does not continue");
        }
        // SAFETY: the future is not moved: the pointer only serves to drop it where it is.
        let pointer: *mut F = unsafe { future.as_mut().get_unchecked_mut() };
        rank.stack.pending.set(Some(Pending::new(pointer)));
        rank.suspend();
        rank.stack.pending.set(None);
    }
}

fn errno() -> c_int {
    // SAFETY: the function returns the address of a variable of this thread.
    unsafe { *libc::__errno_location() }
}

pub(crate) fn set_errno(value: c_int) {
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = value };
}
