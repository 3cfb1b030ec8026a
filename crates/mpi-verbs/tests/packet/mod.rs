//! Ranks in memory on the packet channel: each has its own adapter and a world. Introductions come
//! late, and the clock advances only when no other step is possible.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::allow_attributes,
    clippy::unwrap_used,
    reason = "what is not there is a failed test, and each test file uses a part"
)]

mod channel;

use mpi::SourceLocation;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use channel::{EndpointExchange, VerbsChannel, World};
use mpi::channel::{AbortReason, Interest, Token};
use mpi::{Comm, Level, Process, Result, Settings};
use mpi_verbs::Options;
use rdma::{AsyncEvent, QueuePair};

use testing::adapter::{Abilities, Adapter, Network};

/// State that the worlds of all ranks share.
#[derive(Default)]
struct Shared {
    now: f64,
    /// From, to.
    introductions: Vec<(u32, u32, EndpointExchange)>,
    inboxes: Vec<VecDeque<(u32, EndpointExchange)>>,
    timers: Vec<(f64, u32, Token)>,
    elapsed: Vec<VecDeque<Token>>,
    lost: Vec<VecDeque<u32>>,
    log: Vec<String>,
}

struct TestRank {
    rank: u32,
    size: u32,
    shared: Rc<RefCell<Shared>>,
}

impl World for TestRank {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.size
    }

    fn now(&self) -> f64 {
        self.shared.borrow().now
    }

    fn timer(&self, seconds: f64, token: Token) {
        let mut shared = self.shared.borrow_mut();
        let date = shared.now + seconds;
        shared.timers.push((date, self.rank, token));
    }

    fn compute(&self, flops: f64, token: Token) {
        self.timer(flops / 1e9, token);
    }

    fn elapsed(&self) -> Option<Token> {
        self.shared.borrow_mut().elapsed[self.rank as usize].pop_front()
    }

    fn park(&self, _: &Waker, _: Interest) {}

    fn introduce(&self, peer: u32, introduction: EndpointExchange) {
        let mut shared = self.shared.borrow_mut();
        shared.introductions.push((self.rank, peer, introduction));
    }

    fn introduced(&self) -> Option<(u32, EndpointExchange)> {
        self.shared.borrow_mut().inboxes[self.rank as usize].pop_front()
    }

    fn lost(&self) -> Option<u32> {
        self.shared.borrow_mut().lost[self.rank as usize].pop_front()
    }

    fn host_name(&self) -> String {
        format!("host-{}", self.rank)
    }

    fn print(&self, text: fmt::Arguments<'_>) {
        let text = text.to_string();
        self.shared.borrow_mut().log.push(text);
    }

    fn log(&self, level: Level, text: fmt::Arguments<'_>) {
        self.print(format_args!("{level:?}: {text}"));
    }

    fn abort(&self, _: AbortReason) {}
}

/// A run of ranks.
#[derive(Clone)]
pub struct Ranks {
    pub size: u32,
    pub seed: u64,
    pub settings: Settings,
    pub options: Options,
    pub abilities: Abilities,
    /// This rank's adapter goes off after this many steps.
    pub off: Option<(u32, u64)>,
    /// This rank's adapter reports an asynchronous event after this many steps.
    pub tells: Option<(u32, u64, Tells)>,
}

/// An asynchronous event of an adapter, possibly about one of its queue pairs.
pub type Tells = fn(Option<QueuePair>) -> Option<AsyncEvent>;

/// Result of a run.
pub struct Outcome {
    pub results: Vec<Option<Result<()>>>,
    pub faults: Vec<String>,
    pub log: Vec<String>,
    /// Use of the adapters, by rank.
    pub adapters: Vec<Use>,
    pub steps: u64,
}

/// Use of an adapter by its rank.
pub struct Use {
    /// Objects still in use when the rank had ended.
    left: [usize; 4],
    /// Number of registrations of memory.
    registrations: usize,
}

impl Use {
    fn of(adapter: &Adapter) -> Self {
        Self {
            left: adapter.in_use(),
            registrations: adapter.registrations(),
        }
    }
}

type Body = Pin<Box<dyn Future<Output = Result<()>>>>;

/// Enough for anything that ends.
const STEPS_MAX: u64 = 3_000_000;

impl Ranks {
    pub fn new(size: u32, seed: u64) -> Self {
        Self {
            size,
            seed,
            settings: Settings::new(u64::MAX),
            options: Options {
                eager_threshold: 100,
                credits: 4,
                reserved: 2,
                send_buffers: 3,
                send_queue_depth: 6,
                max_inline: 90,
                signal_every: 4,
                reg_cache_entries: 2,
                psn: 0xFF_FFF0,
                ..Options::default()
            },
            abilities: Abilities::default(),
            off: None,
            tells: None,
        }
    }

    pub fn run<F, Fut>(self, program: F) -> Outcome
    where
        F: Fn(Comm) -> Fut,
        Fut: Future<Output = Result<()>> + 'static,
    {
        let network = Network::new(self.seed);
        let mut draws = self.seed.wrapping_mul(0xD134_2543_DE82_EF95) | 1;
        let size = self.size as usize;
        let shared = Rc::new(RefCell::new(Shared {
            inboxes: vec![VecDeque::new(); size],
            elapsed: vec![VecDeque::new(); size],
            lost: vec![VecDeque::new(); size],
            ..Shared::default()
        }));
        let adapters = self.adapters(&network);
        let mut bodies = self.bodies(&program, &shared, &adapters);
        let mut results: Vec<Option<Result<()>>> = vec![None; size];
        let (mut off, mut is_off) = (self.off, false);
        let (mut tells, mut told) = (self.tells, None);
        let mut steps = 0;
        let mut draw = |below: usize| {
            draws ^= draws >> 12;
            draws ^= draws << 25;
            draws ^= draws >> 27;
            let draw = draws.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33;
            usize::try_from(draw).unwrap() % below
        };
        loop {
            // Some of the ranks look, in any order; when nothing happened, all do.
            let mut happened = false;
            for _ in 0..size {
                poll(&mut bodies, &mut results, draw(size));
            }
            for _ in 0..=draw(6) {
                happened |= network.process_event();
                steps += 1;
            }
            if let Some((rank, after)) = off
                && steps >= after
            {
                network.switch_off(&adapters[rank as usize]);
                bodies[rank as usize] = None;
                is_off = true;
            }
            if let Some((rank, _, what)) = tells.take_if(|(_, after, _)| steps >= *after) {
                network.raise_async_event(&adapters[rank as usize], what);
                told = Some(rank);
                happened = true;
            }
            happened |= introduce(&shared, &mut draw);
            if !happened {
                for rank in 0..size {
                    poll(&mut bodies, &mut results, rank);
                }
                happened = network.process_event() || introduce(&shared, &mut draw);
            }
            happened |= advance(&shared, happened);
            let gone = off.take_if(|_| is_off && !happened);
            let gone = gone.map(|(rank, _)| rank);
            if let Some(rank) = gone.or_else(|| told.take_if(|_| !happened)) {
                notice(&shared, rank);
                happened = true;
            }
            if steps > STEPS_MAX || !happened {
                break;
            }
        }
        drop(bodies);
        let log = std::mem::take(&mut shared.borrow_mut().log);
        Outcome {
            results,
            faults: network.faults(),
            log,
            adapters: adapters.iter().map(|adapter| Use::of(adapter)).collect(),
            steps,
        }
    }

    fn adapters(&self, network: &Network) -> Vec<Rc<Adapter>> {
        let adapter = |_| Rc::new(network.add_adapter(self.abilities));
        (0..self.size).map(adapter).collect()
    }

    fn bodies<F, Fut>(
        &self,
        program: &F,
        shared: &Rc<RefCell<Shared>>,
        adapters: &[Rc<Adapter>],
    ) -> Vec<Option<Body>>
    where
        F: Fn(Comm) -> Fut,
        Fut: Future<Output = Result<()>> + 'static,
    {
        let life = |rank: u32| {
            let world = Rc::new(TestRank {
                rank,
                size: self.size,
                shared: Rc::clone(shared),
            });
            let verbs = Rc::clone(&adapters[rank as usize]);
            let (settings, options) = (self.settings.clone(), self.options.clone());
            let channel = VerbsChannel::new(verbs, world, settings, options).unwrap();
            let process = Process::new(Box::new(channel));
            let body = program(process.world());
            let life: Body = Box::pin(async move {
                body.await?;
                process.finalize(SourceLocation::caller()).await;
                assert_eq!(process.leftovers(), Vec::<String>::new(), "rank {rank}");
                let report = process.flow_report();
                assert!(report.is_none_or(|report| report.settled), "rank {rank}");
                let text = format!("{process:?}");
                assert!(text.ends_with(", 0 operations)"), "{text}");
                Ok(())
            });
            Some(life)
        };
        (0..self.size).map(life).collect()
    }
}

fn poll(bodies: &mut [Option<Body>], results: &mut [Option<Result<()>>], rank: usize) {
    let Some(body) = &mut bodies[rank] else {
        return;
    };
    let mut context = Context::from_waker(Waker::noop());
    if let Poll::Ready(result) = body.as_mut().poll(&mut context) {
        results[rank] = Some(result);
        bodies[rank] = None;
    }
}

/// Delivers an introduction, chosen among all introductions in transit.
fn introduce(shared: &RefCell<Shared>, draw: &mut impl FnMut(usize) -> usize) -> bool {
    let shared = &mut *shared.borrow_mut();
    if shared.introductions.is_empty() {
        return false;
    }
    let at = draw(shared.introductions.len());
    // Those of one rank to another stay in order.
    let (from, to) = (shared.introductions[at].0, shared.introductions[at].1);
    let mut all = shared.introductions.iter();
    let at = all
        .position(|other| (other.0, other.1) == (from, to))
        .unwrap();
    let (from, to, introduction) = shared.introductions.remove(at);
    shared.inboxes[to as usize].push_back((from, introduction));
    true
}

/// Everybody notices by other means that a rank is lost.
fn notice(shared: &RefCell<Shared>, rank: u32) {
    for lost in &mut shared.borrow_mut().lost {
        lost.push_back(rank);
    }
}

/// Ends the next timer, if no other step has happened.
fn advance(shared: &RefCell<Shared>, happened: bool) -> bool {
    if happened {
        return true;
    }
    let shared = &mut *shared.borrow_mut();
    let all = shared.timers.iter().enumerate();
    let Some((at, _)) = all.min_by(|(_, a), (_, b)| a.0.total_cmp(&b.0)) else {
        return false;
    };
    let (date, rank, token) = shared.timers.remove(at);
    shared.now = shared.now.max(date);
    shared.elapsed[rank as usize].push_back(token);
    true
}

impl Outcome {
    /// Number of registrations of memory, by rank.
    pub fn registrations(&self) -> Vec<usize> {
        self.adapters
            .iter()
            .map(|adapter| adapter.registrations)
            .collect()
    }

    /// Asserts that all ranks have ended well, that no rank has used its adapter wrongly, and that
    /// all objects were released.
    #[track_caller]
    pub fn finished(self) -> Self {
        assert_eq!(self.faults, Vec::<String>::new());
        for (rank, result) in self.results.iter().enumerate() {
            assert_eq!(*result, Some(Ok(())), "rank {rank}; log {:?}", self.log);
        }
        self.all_given_back()
    }

    #[track_caller]
    pub fn all_given_back(self) -> Self {
        for (rank, adapter) in self.adapters.iter().enumerate() {
            assert_eq!(adapter.left, [0; 4], "rank {rank}");
        }
        self
    }
}
