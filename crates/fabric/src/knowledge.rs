//! Causality of the ranks, for model checkers: the arrivals that each rank has waited for, and the
//! causes of its posts.
//!
//! See [`CausalityHooks`] and [`RunNotes`]. The steps are those of the explorer
//! ([`sim_core::Kernel::current_step`]).

use sim_core::SourceLocation;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;

use channel::{
    Buffer, CausalityHooks, ExplorationFact, NotedOperation, PacketOrigin, RunNotes, SendCause,
    SendEnd,
};
use sim_core::{DeviceFact, Digest, KernelHandle, Note, OptionalWaits, OrderSensitivity, SendCall};

use crate::deliveries::Deliveries;
use crate::operations::RankNotes;
use crate::optional_waits;
use crate::ranks::actor;
use crate::repeated_reads::RepeatedReads;

/// One rank.
#[derive(Debug, Default)]
struct RankCausality {
    /// The steps of the arrivals that the program has waited for, in this order.
    learnt: RefCell<Vec<u32>>,
    /// Cause of the next posts, if the cause is not the program.
    cause: Cell<Option<SendCause>>,
    /// Further arrivals that cause the next post.
    also: RefCell<Vec<u32>>,
    chose: Cell<OrderSensitivity>,
    /// Number of receives that the rank has posted.
    receives: Cell<u32>,
    deferred: Cell<bool>,
    question: Cell<PickState>,
    /// The step in which the rank asked the last question.
    asked_in: Cell<u32>,
    notes: RankNotes,
    /// The steps of the packets that have been delivered and are not handled yet.
    delivered: RefCell<VecDeque<u32>>,
}

/// The state of a question of a rank; the explorer picks the answer.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum PickState {
    /// The rank asks no question.
    #[default]
    No,
    /// The rank waits for the answer to a question: a number from the first to before the last;
    /// true if arrivals decide the possible answers.
    Asked(u64, (u32, u32), bool),
    /// The answer is picked.
    Picked(u64, u32),
}

/// All ranks.
#[derive(Debug)]
pub(crate) struct CausalityTracker {
    port: KernelHandle,
    ranks: Vec<RankCausality>,
    /// The call of the message that was posted last, or is posted next.
    pub(crate) call: Cell<Option<SourceLocation>>,
    /// Fingerprint of the last payload sent, where runs are compared.
    contents: Cell<u64>,
    pub(crate) deliveries: Deliveries,
    pub(crate) repeated_reads: RepeatedReads,
}

impl CausalityTracker {
    pub(crate) fn new(port: KernelHandle, ranks: u32) -> Rc<Self> {
        let mut all = Vec::new();
        all.resize_with(ranks as usize, RankCausality::default);
        Rc::new(Self {
            port,
            ranks: all,
            call: Cell::new(None),
            contents: Cell::new(0),
            deliveries: Deliveries::default(),
            repeated_reads: RepeatedReads::default(),
        })
    }

    /// Resets the tracker for another run.
    pub(crate) fn reset_tracker(&mut self, port: KernelHandle) {
        for known in &mut self.ranks {
            known.learnt.get_mut().clear();
            (known.cause, known.chose, known.deferred) = Default::default();
            known.question.set(PickState::No);
            known.receives.set(0);
            known.also.get_mut().clear();
            known.notes.clear_notes();
            known.delivered.get_mut().clear();
        }
        self.deliveries.clear();
        self.repeated_reads.clear_reads();
        self.port = port;
    }

    /// Returns the tracker of one rank.
    pub(crate) fn for_rank(self: &Rc<Self>, rank: u32) -> RankCauses {
        RankCauses {
            all: Rc::clone(self),
            rank,
        }
    }

    /// Returns the cause of a packet that a rank posts now.
    pub(crate) fn send_cause(&self, rank: u32) -> SendCause {
        let known = &self.ranks[rank as usize];
        known.cause.get().unwrap_or_else(|| known.program_cause())
    }

    /// Takes more arrivals because of which a rank posts a packet.
    pub(crate) fn take_also(&self, rank: u32) -> Vec<u32> {
        self.ranks[rank as usize].also.take()
    }

    /// Adds the steps on which a cause of a rank depends, without the first `without` steps that
    /// the program has waited for.
    pub(crate) fn causes(&self, rank: u32, cause: SendCause, without: u32, into: &mut Vec<u32>) {
        self.add_learnt(rank, without..cause.known, into);
        let arrivals = [cause.arrival, cause.delivery].into_iter();
        into.extend(arrivals.filter(|arrival| *arrival != SendCause::NONE));
    }

    /// Adds the steps of some of the arrivals that the program of a rank has waited for.
    fn add_learnt(&self, rank: u32, range: Range<u32>, into: &mut Vec<u32>) {
        let learnt = self.ranks[rank as usize].learnt.borrow();
        let new = learnt.get(range.start as usize..range.end as usize);
        into.extend_from_slice(new.unwrap_or(&[]));
    }

    /// Records a fingerprint of the payload that is being sent, until the call is known.
    pub(crate) fn note_contents(&self, payload: &Buffer) {
        let mut digest = Digest::default();
        for chunk in payload.bytes().unwrap_or_default().chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            digest.mix(u64::from_le_bytes(word), payload.len());
        }
        self.contents.set(digest.value());
    }

    /// Records that a rank continues because of the event in this step.
    pub(crate) fn record_arrival(&self, rank: u32, step: u32) {
        self.ranks[rank as usize].learnt.borrow_mut().push(step);
    }

    /// Returns the part of the order of arrivals that a rank can tell.
    pub(crate) fn order_sensitivity(&self, rank: u32) -> OrderSensitivity {
        let rank = self.ranks.get(rank as usize);
        rank.map_or(OrderSensitivity::Never, |rank| rank.chose.get())
    }

    /// Returns the possible answers to the question of a rank that waits for an answer.
    pub(crate) fn asked(&self, rank: u32) -> Range<u32> {
        match self
            .ranks
            .get(rank as usize)
            .map(|rank| rank.question.get())
        {
            Some(PickState::Asked(_, (first, end), _)) => first..end,
            _ => 0..0,
        }
    }

    /// Returns true if arrivals decide which answers the question of a rank has.
    pub(crate) fn sees_arrivals(&self, rank: u32) -> bool {
        let question = self.ranks.get(rank as usize);
        question.is_some_and(|rank| matches!(rank.question.get(), PickState::Asked(.., true)))
    }

    /// Returns true if a rank has asked a question in this step with answers that depend on
    /// arrivals.
    pub(crate) fn has_asked_for_arrivals(&self, rank: u32) -> bool {
        self.sees_arrivals(rank)
            && self.ranks[rank as usize].asked_in.get()
                == self.port.with_kernel(|kernel| kernel.current_step())
    }

    /// Picks the answer to the question of a rank.
    pub(crate) fn set_answer(&self, rank: u32, answer: u32) {
        let question = &self.ranks[rank as usize].question;
        if let PickState::Asked(number, ..) = question.get() {
            question.set(PickState::Picked(number, answer));
        }
    }

    /// Notes that a packet is delivered to a rank in this step.
    pub(crate) fn note_delivery(&self, rank: u32, step: u32) {
        self.ranks[rank as usize]
            .delivered
            .borrow_mut()
            .push_back(step);
    }

    /// Returns the number of the send of the message that a rank posts.
    pub(crate) fn latest_send(&self, rank: u32) -> u32 {
        self.ranks[rank as usize].notes.send.get()
    }

    /// Decides whether the run has a deadlock with waits that MPI permits; `sends_wait`: standard
    /// sends may wait.
    pub(crate) fn decide_optional_waits(&self, sends_wait: bool) -> OptionalWaits {
        let notes: Vec<&RankNotes> = self.ranks.iter().map(|rank| &rank.notes).collect();
        optional_waits::find_deadlock(&notes, sends_wait, || self.deliveries.senders())
    }

    /// The waits that MPI permits and without which a rank failed, in words.
    pub(crate) fn list_absent_waits(&self, sends_wait: bool, rank: u32) -> Vec<String> {
        let notes: Vec<&RankNotes> = self.ranks.iter().map(|rank| &rank.notes).collect();
        optional_waits::list_absent_waits(&notes, sends_wait, self.deliveries.senders(), rank)
    }

    /// Returns true if the rank parks only to show where the rank waits.
    pub(crate) fn take_deferred(&self, rank: u32) -> bool {
        self.ranks[rank as usize].deferred.take()
    }
}

impl RankCausality {
    /// Returns the cause of a packet that the program posts now.
    fn program_cause(&self) -> SendCause {
        let known = self.learnt.borrow().len();
        SendCause {
            known: u32::try_from(known).expect("arrivals are counted in 32 bits"),
            arrival: SendCause::NONE,
            delivery: SendCause::NONE,
            receives: self.receives.get(),
        }
    }

    /// Notes that the rank can tell at least this part of the order of arrivals.
    fn note_choice(&self, sensitivity: OrderSensitivity) {
        self.chose.set(self.chose.get().max(sensitivity));
    }
}

/// Causality tracker of one rank.
#[derive(Debug)]
pub(crate) struct RankCauses {
    all: Rc<CausalityTracker>,
    rank: u32,
}

impl RankCauses {
    fn own(&self) -> &RankCausality {
        &self.all.ranks[self.rank as usize]
    }

    /// Notes a call that has sent a message.
    fn note_sent(&self, location: SourceLocation) {
        let call = SendCall {
            actor: actor(self.rank),
            location,
            contents: self.all.contents.get(),
        };
        let fact = DeviceFact::MessageSent(call);
        self.all.port.with_kernel(|kernel| kernel.note_fact(fact));
    }

    #[cold]
    fn note_for_user(&self, text: &str, kind: fn(String) -> Note) {
        let note = kind(text.to_owned());
        let fact = DeviceFact::UserNote(note);
        self.all.port.with_kernel(|kernel| kernel.note_fact(fact));
    }
}

impl CausalityHooks for RankCauses {
    fn current_step(&self) -> u32 {
        self.all.port.with_kernel(|kernel| kernel.current_step())
    }

    fn take_delivery(&self) -> u32 {
        let delivered = self.own().delivered.borrow_mut().pop_front();
        delivered.unwrap_or_else(|| self.current_step())
    }

    fn record_arrival(&self, step: u32) {
        self.all.record_arrival(self.rank, step);
    }

    fn post_receive(&self) -> SendCause {
        let own = self.own();
        own.receives.set(own.receives.get() + 1);
        own.program_cause()
    }

    fn send_cause(&self) -> SendCause {
        self.all.send_cause(self.rank)
    }

    fn set_send_cause(&self, cause: Option<SendCause>) {
        self.own().cause.set(cause);
    }

    fn packet_origin(&self, arrival: u32) -> PacketOrigin {
        self.all.deliveries.packet_origin(arrival)
    }

    fn is_posted_before(&self, receive: u32, arrival: u32) -> bool {
        let CausalityTracker {
            ranks, deliveries, ..
        } = &*self.all;
        let add = |rank: u32, range, into: &mut Vec<u32>| self.all.add_learnt(rank, range, into);
        deliveries.is_posted_before((self.rank, receive), arrival, ranks.len(), add)
    }
}

impl RunNotes for RankCauses {
    fn note_fact(&self, fact: ExplorationFact<'_>) {
        use ExplorationFact as F;
        let own = self.own();
        let notes = &own.notes;
        match fact {
            F::ArrivalQuestion => own.note_choice(OrderSensitivity::Always),
            F::SourceProbe => own.note_choice(OrderSensitivity::Sources),
            F::SourceReceive => own.note_choice(OrderSensitivity::Receives),
            F::MemoryExposed => own.note_choice(OrderSensitivity::Accesses),
            F::WaitDeferred => own.deferred.set(true),
            F::FurtherCauses(arrivals) => {
                own.also.replace(arrivals.to_vec());
            }
            F::ReadRepeated(operation) => {
                self.all.repeated_reads.repeat_read(self.rank, operation);
            }
            F::ClockRead(location) => self
                .all
                .port
                .with_kernel(|kernel| kernel.note_clock_read(location)),
            F::Remark(text) => self.note_for_user(text, Note::Remark),
            F::Bound(text) => self.note_for_user(text, Note::Bound),
            F::MessageSent(location) => self.note_sent(location),
            F::SendResumed(send) => notes.send.set(send),
            F::SendBuffered(send) => notes.set_send_end(send, SendEnd::Buffered),
            F::SendAttached(send) => notes.set_send_end(send, SendEnd::Attached),
            F::ReceivePart {
                receive,
                collective,
            } => notes.note_part(receive, collective),
            F::ReceiveMet { receive, arrival } => notes.note_met(receive, arrival),
            F::OperationAwaited(operation) => notes.note_wait(operation),
            F::MessageAwaited { arrival, is_taken } => notes.note_seen(arrival, is_taken),
            F::LookBegun => notes.begin_look(),
            F::LookAlternative(operation) => notes.add_alternative(operation),
            F::LookEnded => notes.end_look(),
        }
    }

    fn begin_operation(&self, operation: NotedOperation, location: SourceLocation) -> u32 {
        if let NotedOperation::Send { .. } = operation {
            self.all.call.set(Some(location));
        }
        self.own().notes.begin_operation(operation, location)
    }

    fn has_chosen(&self) -> bool {
        self.all.order_sensitivity(self.rank) == OrderSensitivity::Always
    }

    fn pick_answer(&self, question: u64, answers: Range<u32>, sees_arrivals: bool) -> Option<u32> {
        let state = &self.own().question;
        match state.get() {
            PickState::Picked(about, answer) if about == question => {
                state.set(PickState::No);
                return Some(answer);
            }
            PickState::Asked(..) => {}
            PickState::No | PickState::Picked(..) => {
                let range = (answers.start, answers.end);
                state.set(PickState::Asked(question, range, sees_arrivals));
                self.own().asked_in.set(self.current_step());
            }
        }
        None
    }
}
