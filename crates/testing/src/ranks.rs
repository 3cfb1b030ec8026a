//! A world of ranks in memory, for tests of the message layer without any simulator: a channel for
//! each rank, and an executor that polls the ranks' futures.
//!
//! Packets with an envelope keep the order of their pair; all other packets may be delivered in any
//! order, which an [`Order`] chooses. A packet takes no time: the clock moves only when there is no
//! packet to deliver and a timer is set. The transcript of a run is the list of the packets in the
//! order of their delivery.

pub mod exchange;

use mpi::SourceLocation;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use mpi::channel::{AbortReason, ConnectionLifecycle, RankHost, RemoteMemory};
use mpi::channel::{ChannelEvent, Interest, Packet, PacketHeader, Token};
use mpi::exploration::ExplorationHooks;
use mpi::{Buffer, Channel, Comm, FlowReport, Level, Limits, Process, Result, Settings, Waiting};

/// Choice of the packet that is delivered next.
#[derive(Clone, Debug)]
pub enum Order {
    /// In the order in which they were posted.
    Posted,
    /// At random, from a seed.
    Seeded(u64),
    /// Pairs (from, to) in this order; pairs that are not in the list any more continue in the
    /// order of posting.
    Script(VecDeque<(u32, u32)>),
    /// The candidates with these numbers, then always the first; how many candidates there were is
    /// noted.
    Path {
        choices: Vec<usize>,
        widths: Rc<RefCell<Vec<usize>>>,
    },
}

impl Order {
    pub fn script(pairs: &[(u32, u32)]) -> Self {
        Self::Script(pairs.iter().copied().collect())
    }
}

/// A packet that has not been delivered.
struct Flying {
    number: u64,
    from: u32,
    to: u32,
    packet: Packet,
}

struct Timer {
    date: f64,
    number: u64,
    rank: u32,
    token: Token,
}

#[derive(Default)]
struct Endpoint {
    inbox: VecDeque<ChannelEvent>,
    wakers: Vec<Waker>,
    parked: bool,
    awake: bool,
    /// Number of times that the rank was polled.
    polls: u64,
}

/// Network between the ranks.
struct Net {
    order: Order,
    now: f64,
    numbers: u64,
    flying: Vec<Flying>,
    timers: Vec<Timer>,
    endpoints: Vec<Endpoint>,
    transcript: Vec<String>,
    printed: Vec<String>,
    aborted: Option<i32>,
    /// Ranks that take no packets any more.
    shut: Vec<u32>,
}

impl Net {
    fn next_number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// Returns the deliverable packets: all except packets behind another packet of their pair.
    fn candidates(&self) -> Vec<usize> {
        let mut heads: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        for packet in &self.flying {
            if packet.packet.header.is_ordered() {
                let head = heads.entry((packet.from, packet.to)).or_insert(u64::MAX);
                *head = packet.number.min(*head);
            }
        }
        (0..self.flying.len())
            .filter(|&index| {
                let packet = &self.flying[index];
                !packet.packet.header.is_ordered()
                    || heads[&(packet.from, packet.to)] == packet.number
            })
            .collect()
    }

    fn choose_packet(&mut self) -> Option<usize> {
        let candidates = self.candidates();
        match &mut self.order {
            Order::Posted => candidates.first().copied(),
            Order::Path { .. } if candidates.is_empty() => None,
            Order::Path { choices, widths } => {
                let mut widths = widths.borrow_mut();
                let choice = choices.get(widths.len()).copied().unwrap_or_default();
                widths.push(candidates.len());
                Some(candidates[choice])
            }
            Order::Seeded(_) if candidates.is_empty() => None,
            Order::Seeded(state) => {
                // xorshift64*: good enough to shuffle, and the same everywhere.
                *state ^= *state >> 12;
                *state ^= *state << 25;
                *state ^= *state >> 27;
                let draw = state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33;
                Some(candidates[usize::try_from(draw).expect("31 bits") % candidates.len()])
            }
            Order::Script(script) => {
                let pair = |index: &usize| (self.flying[*index].from, self.flying[*index].to);
                let next = script.front().copied();
                let found = candidates.iter().find(|index| Some(pair(index)) == next);
                if let Some(&found) = found {
                    script.pop_front();
                    return Some(found);
                }
                let free = candidates
                    .iter()
                    .find(|index| !script.contains(&pair(index)));
                assert!(
                    free.is_some() || candidates.is_empty(),
                    "the script waits for a packet of {next:?} that nobody has posted"
                );
                free.copied()
            }
        }
    }

    fn launch_packet(&mut self, from: u32, to: u32, packet: Packet) {
        let number = self.next_number();
        self.flying.push(Flying {
            number,
            from,
            to,
            packet,
        });
    }

    fn notify(&mut self, rank: u32, event: ChannelEvent) {
        let endpoint = &mut self.endpoints[rank as usize];
        endpoint.inbox.push_back(event);
        endpoint.awake = true;
        for waker in endpoint.wakers.drain(..) {
            waker.wake();
        }
    }

    /// Performs one event; returns false if no event is possible.
    fn process_event(&mut self) -> bool {
        if let Some(index) = self.choose_packet() {
            let Flying {
                from, to, packet, ..
            } = self.flying.remove(index);
            self.transcript.push(packet_line(from, to, &packet));
            if let Some(token) = packet.notify {
                self.notify(from, ChannelEvent::Sent(token));
            }
            if matches!(packet.header, PacketHeader::Socket { .. }) && self.shut.contains(&to) {
                self.notify(from, ChannelEvent::Undeliverable { peer: to, packet });
                return true;
            }
            self.notify(
                to,
                ChannelEvent::Packet {
                    source: from,
                    packet,
                },
            );
            return true;
        }
        let by_date = |a: &&Timer, b: &&Timer| {
            a.date
                .total_cmp(&b.date)
                .then_with(|| a.number.cmp(&b.number))
        };
        let Some(number) = self.timers.iter().min_by(by_date).map(|timer| timer.number) else {
            return false;
        };
        let position = self.timers.iter().position(|timer| timer.number == number);
        let timer = self.timers.remove(position.expect("just found"));
        self.now = timer.date;
        self.notify(timer.rank, ChannelEvent::Elapsed(timer.token));
        true
    }
}

fn packet_line(from: u32, to: u32, packet: &Packet) -> String {
    let length = packet.payload.len();
    let text = match packet.header {
        PacketHeader::Eager { envelope } => format!("eager tag {} length {length}", envelope.tag),
        PacketHeader::Rts {
            envelope, length, ..
        } => format!("rts tag {} length {length}", envelope.tag),
        PacketHeader::Detached { envelope } => {
            format!("detached tag {} length {length}", envelope.tag)
        }
        PacketHeader::Redelivery { envelope } => format!("seen tag {}", envelope.tag),
        PacketHeader::Cts { .. } => "cts".to_owned(),
        PacketHeader::Data { .. } => format!("data length {length}"),
        PacketHeader::EagerFirst {
            envelope,
            length: all,
        } => format!("eager tag {} length {length} of {all}", envelope.tag),
        PacketHeader::EagerNext { offset } => format!("eager from {offset} length {length}"),
        PacketHeader::DataPart { offset, .. } => format!("data from {offset} length {length}"),
        PacketHeader::Credits => "credits".to_owned(),
        PacketHeader::Synchronous { envelope, .. } => {
            format!("synchronous tag {} length {length}", envelope.tag)
        }
        PacketHeader::Ack { .. } => "ack".to_owned(),
        PacketHeader::CancelRequest { envelope, .. } => format!("cancel tag {}", envelope.tag),
        PacketHeader::CancelResponse { .. } => "cancelled".to_owned(),
        PacketHeader::Rma { call, offset, .. } => format!("{call:?} at {offset} length {length}"),
        PacketHeader::Socket { says, .. } => format!("socket {says:?}"),
    };
    format!("{from}>{to} {text}")
}

struct MemoryChannel {
    rank: u32,
    settings: Settings,
    net: Rc<RefCell<Net>>,
}

impl Channel for MemoryChannel {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        u32::try_from(self.net.borrow().endpoints.len()).expect("few ranks")
    }

    fn settings(&self) -> &Settings {
        &self.settings
    }

    fn max_packet(&self) -> u64 {
        u64::MAX
    }

    fn post(&self, peer: u32, packet: Packet) {
        self.net.borrow_mut().launch_packet(self.rank, peer, packet);
    }

    fn pull(&self, source: u32, packet: Packet) {
        self.net
            .borrow_mut()
            .launch_packet(source, self.rank, packet);
    }

    fn poll_event(&self) -> Option<ChannelEvent> {
        self.net.borrow_mut().endpoints[self.rank as usize]
            .inbox
            .pop_front()
    }

    fn park(&self, waker: Option<&Waker>, _: Interest) {
        let Some(waker) = waker else {
            return;
        };
        let endpoint = &mut self.net.borrow_mut().endpoints[self.rank as usize];
        endpoint.parked = true;
        endpoint.wakers.push(waker.clone());
    }
}

impl RankHost for MemoryChannel {
    fn now(&self) -> f64 {
        self.net.borrow().now
    }

    fn timer(&self, seconds: f64, token: Token) {
        let mut net = self.net.borrow_mut();
        let (number, date) = (net.next_number(), net.now + seconds);
        net.timers.push(Timer {
            date,
            number,
            rank: self.rank,
            token,
        });
    }

    /// 1 Gflop/s.
    fn compute(&self, flops: f64, token: Token) {
        self.timer(flops / 1e9, token);
    }

    fn host_name(&self) -> String {
        format!("host-{}", self.rank)
    }

    fn print(&self, text: fmt::Arguments<'_>) {
        // The arguments may ask the channel.
        let text = text.to_string();
        self.net.borrow_mut().printed.push(text);
    }

    fn log(&self, level: Level, text: fmt::Arguments<'_>) {
        self.print(format_args!("{level:?}: {text}"));
    }

    fn abort(&self, reason: AbortReason) {
        if let AbortReason::Program(code) = reason {
            self.net.borrow_mut().aborted.get_or_insert(code);
        }
    }
}

impl RemoteMemory for MemoryChannel {}

impl ConnectionLifecycle for MemoryChannel {
    fn shut(&self) {
        self.net.borrow_mut().shut.push(self.rank);
    }
}

impl ExplorationHooks for MemoryChannel {}

/// Result of a world.
#[derive(Debug)]
pub struct Outcome {
    /// Result of each rank; `None` for blocked ranks.
    pub results: Vec<Option<Result<()>>>,
    /// Operation that each rank waits for.
    pub waiting: Vec<Option<Waiting>>,
    /// Operations that each rank left unfinished.
    pub leftovers: Vec<Vec<String>>,
    /// Operations that each rank still remembers.
    pub operations: Vec<String>,
    /// The packets in the order of their delivery.
    pub transcript: Vec<String>,
    /// Output of the ranks.
    pub printed: Vec<String>,
    /// The code of an abort.
    pub aborted: Option<i32>,
    /// The date of the end.
    pub now: f64,
    /// Number of times that the ranks were polled.
    pub polls: u64,
    /// Counts of the connections of each rank, when everything had arrived.
    pub flow: Vec<Option<FlowReport>>,
}

impl Outcome {
    /// Asserts that every rank returned `Ok`, no operation is unfinished, and no operation leaked.
    #[track_caller]
    pub fn finished(self) -> Self {
        for (rank, texts) in self.leftovers.iter().enumerate() {
            assert!(texts.is_empty(), "rank {rank} left {texts:?}");
        }
        let size = self.results.len();
        for (rank, text) in self.operations.iter().enumerate() {
            assert_eq!(
                *text,
                format!("Process(rank {rank} of {size}, 0 operations)")
            );
        }
        self.returned()
    }

    /// Asserts that every counter of flow control has the initial value again (E6), over both ends
    /// of each connection.
    #[track_caller]
    pub fn settled(self, limits: &Limits) -> Self {
        for (rank, report) in self.flow.iter().enumerate() {
            let Some(report) = report else { continue };
            assert!(report.settled, "rank {rank}: {report:?}");
            for connection in &report.connections {
                let other = self.flow[connection.peer as usize].as_ref();
                let back = other.and_then(|report| {
                    let mut all = report.connections.iter();
                    all.find(|back| back.peer as usize == rank)
                });
                let returned = back.expect("the other end exists").returned;
                assert_eq!(connection.outstanding, u64::from(returned.eager_packets));
                if let Some(window) = limits.credits {
                    let credits = connection.credits.expect("credits are limited");
                    assert_eq!(
                        credits + returned.credits,
                        window,
                        "rank {rank}: {report:?}"
                    );
                }
            }
        }
        self
    }

    /// Asserts that every rank returned `Ok`, with or without unfinished operations.
    #[track_caller]
    pub fn returned(self) -> Self {
        for (rank, result) in self.results.iter().enumerate() {
            assert_eq!(
                *result,
                Some(Ok(())),
                "rank {rank}; it waits for {:?}",
                self.waiting[rank]
            );
        }
        self
    }

    /// Returns the operation of a blocked rank, without source line, and the ranks that it awaits.
    #[track_caller]
    pub fn blocked(&self, rank: usize) -> (&str, &[u32]) {
        let waiting = self.waiting[rank].as_ref().expect("the rank is blocked");
        (&waiting.operation, &waiting.ranks)
    }
}

/// Options of a world.
#[derive(Clone, Debug)]
pub struct World {
    pub ranks: u32,
    pub settings: Settings,
    pub order: Order,
}

/// Eager below this many bytes, in all worlds that do not say otherwise.
pub const THRESHOLD: u64 = 100;

/// A world with real buffers and delivery in the order of posting.
pub fn world(ranks: u32) -> World {
    World {
        ranks,
        settings: Settings::new(THRESHOLD),
        order: Order::Posted,
    }
}

type Body = Pin<Box<dyn Future<Output = Result<()>>>>;

impl World {
    pub fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    pub fn threshold(mut self, bytes: u64) -> Self {
        self.settings.eager_threshold = bytes;
        self
    }

    pub fn limits(mut self, limits: Limits) -> Self {
        self.settings.limits = Some(limits);
        self
    }

    pub fn phantom(mut self) -> Self {
        self.settings.phantom = true;
        self
    }

    /// Runs the program at every rank, which has to end as [`Outcome::finished`] says.
    #[track_caller]
    pub fn run_finished<F, Fut>(self, program: F) -> Outcome
    where
        F: Fn(Comm) -> Fut,
        Fut: Future<Output = Result<()>> + 'static,
    {
        self.run(program).finished()
    }

    /// Runs the program at every rank until all have ended or none can continue.
    pub fn run<F, Fut>(self, program: F) -> Outcome
    where
        F: Fn(Comm) -> Fut,
        Fut: Future<Output = Result<()>> + 'static,
    {
        let mut endpoints = Vec::new();
        endpoints.resize_with(self.ranks as usize, Endpoint::default);
        let net = Rc::new(RefCell::new(Net {
            order: self.order,
            now: 0.0,
            numbers: 0,
            flying: Vec::new(),
            timers: Vec::new(),
            endpoints,
            transcript: Vec::new(),
            printed: Vec::new(),
            aborted: None,
            shut: Vec::new(),
        }));
        let processes: Vec<Rc<Process>> = (0..self.ranks)
            .map(|rank| {
                let net = Rc::clone(&net);
                Process::new(Box::new(MemoryChannel {
                    rank,
                    settings: self.settings.clone(),
                    net,
                }))
            })
            .collect();
        let bodies = processes
            .iter()
            .map(|process| {
                let (program, process) = (program(process.world()), Rc::clone(process));
                let body: Body = Box::pin(async move {
                    program.await?;
                    process.finalize(SourceLocation::caller()).await;
                    Ok(())
                });
                Some(body)
            })
            .collect();
        execute_ranks(&net, &processes, bodies)
    }
}

fn execute_ranks(
    net: &Rc<RefCell<Net>>,
    processes: &[Rc<Process>],
    mut bodies: Vec<Option<Body>>,
) -> Outcome {
    let mut results: Vec<Option<Result<()>>> = vec![None; bodies.len()];
    let mut started = false;
    loop {
        for (rank, body) in bodies.iter_mut().enumerate() {
            let awake = std::mem::take(&mut net.borrow_mut().endpoints[rank].awake);
            let Some(future) = body.as_mut().filter(|_| awake || !started) else {
                continue;
            };
            {
                let endpoint = &mut net.borrow_mut().endpoints[rank];
                endpoint.parked = false;
                endpoint.polls += 1;
            }
            let polled = future
                .as_mut()
                .poll(&mut Context::from_waker(Waker::noop()));
            if let Poll::Ready(result) = polled {
                results[rank] = Some(result);
                *body = None;
            } else {
                let parked = net.borrow().endpoints[rank].parked;
                assert!(parked, "rank {rank} is pending and nothing would wake it");
            }
        }
        started = true;
        // What is still in the air when all have ended arrives, to be found among the leftovers.
        if net.borrow().aborted.is_some() || !net.borrow_mut().process_event() {
            break;
        }
    }
    let waiting = processes.iter().map(|process| process.waiting()).collect();
    drop(bodies);
    // What a rank has not handled when it ends is handled now.
    loop {
        for process in processes {
            let _ = process.leftovers();
        }
        if !net.borrow_mut().process_event() {
            break;
        }
    }
    let flow = processes
        .iter()
        .map(|process| process.flow_report())
        .collect();
    let leftovers = processes
        .iter()
        .map(|process| process.leftovers())
        .collect();
    let net = net.borrow();
    Outcome {
        results,
        waiting,
        leftovers,
        operations: processes
            .iter()
            .map(|process| format!("{process:?}"))
            .collect(),
        transcript: net.transcript.clone(),
        printed: net.printed.clone(),
        aborted: net.aborted,
        now: net.now,
        polls: net.endpoints.iter().map(|endpoint| endpoint.polls).sum(),
        flow,
    }
}

/// A buffer of `length` bytes that tell where they come from.
pub fn pattern(length: u64, salt: u64) -> Buffer {
    let byte = |index: u64| u8::try_from((index * 7 + salt * 31 + 1) % 251).expect("below 256");
    Buffer::from((0..length).map(byte).collect::<Vec<u8>>())
}

/// Waits for both, polling both at every turn.
pub async fn join<A: Future, B: Future>(a: A, b: B) -> (A::Output, B::Output) {
    let (mut a, mut b) = (Box::pin(a), Box::pin(b));
    let (mut first, mut second) = (None, None);
    std::future::poll_fn(move |context| {
        if first.is_none()
            && let Poll::Ready(value) = a.as_mut().poll(context)
        {
            first = Some(value);
        }
        if second.is_none()
            && let Poll::Ready(value) = b.as_mut().poll(context)
        {
            second = Some(value);
        }
        match (first.take(), second.take()) {
            (Some(first), Some(second)) => Poll::Ready((first, second)),
            (one, other) => {
                (first, second) = (one, other);
                Poll::Pending
            }
        }
    })
    .await
}

/// The one that is over first, the left one if both are.
#[derive(Debug)]
pub enum Either<A, B> {
    Left(A),
    Right(B),
}

/// Waits for either; the other is dropped.
pub async fn select<A: Future, B: Future>(a: A, b: B) -> Either<A::Output, B::Output> {
    let (mut a, mut b) = (Box::pin(a), Box::pin(b));
    std::future::poll_fn(move |context| {
        if let Poll::Ready(value) = a.as_mut().poll(context) {
            return Poll::Ready(Either::Left(value));
        }
        b.as_mut().poll(context).map(Either::Right)
    })
    .await
}

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Waits for all futures and polls only futures with a woken waker, as `FuturesUnordered` does.
pub async fn join_woken<T>(futures: Vec<Pin<Box<dyn Future<Output = T> + '_>>>) -> Vec<T> {
    let mut all: Vec<_> = futures
        .into_iter()
        .map(|future| (future, Arc::new(Flag(AtomicBool::new(true))), None))
        .collect();
    std::future::poll_fn(move |_| {
        for (future, flag, value) in &mut all {
            if value.is_some() || !flag.0.swap(false, Ordering::Relaxed) {
                continue;
            }
            let waker = Waker::from(Arc::clone(flag));
            if let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                *value = Some(result);
            }
        }
        if all.iter().any(|(_, _, value)| value.is_none()) {
            return Poll::Pending;
        }
        let values = all.iter_mut().map(|(_, _, value)| value.take());
        Poll::Ready(values.map(|value| value.expect("all are over")).collect())
    })
    .await
}
