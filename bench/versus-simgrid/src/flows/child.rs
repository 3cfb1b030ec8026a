//! Our side of the random flows, measured from within. Twin: `cpp/flows.cpp`, with the same
//! arguments, random numbers and answers.
//!
//! A flow is work that a device starts for an actor, which then waits: the way of every message
//! between ranks. SimGrid's side has an actor in `Comm::sendto`.

use sim_core::SourceLocation;
use std::cell::{Cell, RefCell};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::pin::Pin;
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use platform::Platform;
use sim_core::{
    Actor, ActorId, Blocked, Device, End, HostId, Kernel, KernelHandle, Parked, Simulation, Time,
    Work,
};

use crate::child::used;

/// Number of times that our side looks at the clock, in completions; a look costs as much as a
/// cheap completion.
const COMPLETIONS_BETWEEN_LOOKS: u64 = 64;

/// Arguments of both sides.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    /// The platform in SimGrid's XML.
    pub(crate) platform: PathBuf,
    /// Start of the flows.
    pub(crate) mode: Mode,
    /// Number of flows in total, or in flight.
    pub(crate) flows: u32,
    /// After how many completions a churn ends at the latest; how often our side repeats anything
    /// else, so that there is enough to measure.
    pub(crate) count: u64,
    /// After how many seconds of user time a churn ends at the latest.
    pub(crate) seconds: f64,
    /// Where the dates go.
    pub(crate) dates: PathBuf,
}

/// Ways in which flows start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// All at once.
    Drain,
    /// Each flow at a separate date.
    Arrivals,
    /// The next as soon as one has ended.
    Churn,
}

impl Mode {
    const ALL: [(Self, &str); 3] = [
        (Self::Drain, "drain"),
        (Self::Arrivals, "arrivals"),
        (Self::Churn, "churn"),
    ];
}

impl Task {
    /// Returns the arguments of the programs.
    pub(crate) fn to_arguments(&self) -> Vec<String> {
        let mode = Mode::ALL.iter().find(|(mode, _)| *mode == self.mode);
        vec![
            self.platform.display().to_string(),
            mode.map_or_else(String::new, |(_, name)| (*name).to_owned()),
            self.flows.to_string(),
            self.count.to_string(),
            self.seconds.to_string(),
            self.dates.display().to_string(),
        ]
    }

    fn parse(words: &[String]) -> Option<Self> {
        let [platform, mode, flows, count, seconds, dates] = words else {
            return None;
        };
        Some(Self {
            platform: platform.into(),
            mode: Mode::ALL.iter().find(|(_, name)| name == mode)?.0,
            flows: flows.parse().ok()?,
            count: count.parse().ok()?,
            seconds: seconds.parse().ok()?,
            dates: dates.into(),
        })
    }
}

/// splitmix64: the same numbers as on the other side.
struct Random(u64);

impl Random {
    const fn random_below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % limit
    }
}

#[derive(Clone, Copy)]
struct Flow {
    from: HostId,
    to: HostId,
    bytes: f64,
    date: Time,
}

/// One flow after the other, always the same ones: any two hosts, 1e8 to 2e8 bytes, 0 to 2 ms after
/// the one before.
struct Flows {
    random: Random,
    hosts: Vec<HostId>,
    microseconds: u64,
}

impl Flows {
    /// The hosts are called node-0, node-1, ...
    fn new(platform: &Platform) -> Self {
        let host = |number| platform.host_by_name(&format!("node-{number}"));
        Self {
            random: Random(42),
            hosts: (0..platform.host_count()).map_while(host).collect(),
            microseconds: 0,
        }
    }

    fn host_id(&self, number: u64) -> HostId {
        self.hosts[usize::try_from(number).expect("a number below the number of hosts")]
    }

    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    fn next(&mut self) -> Flow {
        let hosts = self.hosts.len() as u64;
        let from = self.random.random_below(hosts);
        let other = self.random.random_below(hosts - 1);
        let bytes = 100_000_000 + self.random.random_below(100_000_001);
        self.microseconds += self.random.random_below(2000);
        Flow {
            from: self.host_id(from),
            to: self.host_id(if other < from { other } else { other + 1 }),
            bytes: bytes as f64,
            date: Time::from_secs(self.microseconds as f64 * 1e-6),
        }
    }
}

/// State shared by all actors of the run.
struct World {
    port: KernelHandle,
    flows: RefCell<Flows>,
    dates: RefCell<String>,
    taken: Cell<u64>,
    ended: Cell<u64>,
    start: Cell<f64>,
    task: Task,
}

/// A device that wakes the actor with the number of the token.
struct WakeDevice;

impl Device for WakeDevice {
    fn on_end(&self, kernel: &mut Kernel, token: u64, end: End) {
        assert_eq!(end, End::Done, "nothing fails here");
        let actor = u32::try_from(token).expect("actors are counted in 32 bits");
        kernel.wake_actor(ActorId::from_number(actor));
    }

    fn on_timer(&self, _: &mut Kernel, _: u64) {}

    fn describe(&self, _: ActorId) -> Option<Blocked> {
        None
    }
}

/// Waits until the device has carried the flow of this actor.
struct Carried<'a> {
    port: &'a KernelHandle,
    parked: Option<Parked>,
}

impl Future for Carried<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        let port = self.port;
        let parked = *self
            .parked
            .get_or_insert_with(|| port.park(SourceLocation::caller()));
        if port.is_woken(parked) {
            self.parked = None;
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

impl Drop for Carried<'_> {
    fn drop(&mut self) {
        if let Some(parked) = self.parked {
            self.port.unpark(parked);
        }
    }
}

impl World {
    fn carry(&self, me: &Actor, flow: Flow) -> Carried<'_> {
        let work = Work::Transfer {
            from: flow.from,
            to: flow.to,
            bytes: flow.bytes,
            rate: f64::INFINITY,
        };
        let token = u64::from(me.id().number());
        self.port
            .with_kernel(|kernel| kernel.start_for_device(&work, token));
        Carried {
            port: &self.port,
            parked: None,
        }
    }

    /// Notes the end of a flow; returns the number of ended flows.
    fn note_end(&self, number: u64) -> u64 {
        let date = self.port.now().as_secs();
        let _ = writeln!(self.dates.borrow_mut(), "end {number} {date}");
        self.ended.set(self.ended.get() + 1);
        self.ended.get()
    }

    async fn churn(&self, me: &Actor) {
        loop {
            let number = self.taken.replace(self.taken.get() + 1);
            let carried = self.carry(me, self.flows.borrow_mut().next());
            carried.await;
            let ended = self.note_end(number);
            if ended == 1 {
                self.start.set(user());
            } else if ended > self.task.count
                || ended.is_multiple_of(COMPLETIONS_BETWEEN_LOOKS)
                    && user() - self.start.get() > self.task.seconds
            {
                // The flows in flight would take long to end.
                self.report_usage(ended - 1);
                std::process::exit(0);
            }
        }
    }

    fn report_usage(&self, operations: u64) {
        let (end, memory) = used().unwrap_or((f64::NAN, 0));
        std::fs::write(&self.task.dates, self.dates.borrow().as_str())
            .expect("the file for the dates can be written");
        crate::print_result(&format!(
            "operations={operations} user_s={:.6} memory_kib={memory}\n",
            end - self.start.get()
        ));
    }
}

fn user() -> f64 {
    used().map_or(f64::NAN, |(user, _)| user)
}

/// Runs a task in this process and prints the resources used; the dates go to a file.
pub(crate) fn serve(words: &[String]) -> ExitCode {
    let Some(task) = Task::parse(words) else {
        crate::say("error: expected PLATFORM MODE FLOWS COUNT SECONDS DATES");
        return ExitCode::from(2);
    };
    let lv08 = "network.model=lv08".parse().expect("a change");
    match run::load_platform(&task.platform, &[lv08]) {
        Ok(platform) => {
            run_simulations(&Arc::new(platform), &task);
            ExitCode::SUCCESS
        }
        Err(error) => {
            crate::say(&error.report(false));
            ExitCode::FAILURE
        }
    }
}

fn run_simulations(platform: &Arc<Platform>, task: &Task) {
    let routes = routes(platform);
    let start = user();
    let mut world = once(platform, task, routes.clone(), start);
    if task.mode != Mode::Churn {
        for _ in 1..task.count {
            world = once(platform, task, routes.clone(), start);
        }
    }
    world.report_usage(world.ended.get() * task.count.max(1));
}

/// Runs one simulation from beginning to end. The simulation of a churn ends the process.
fn once(platform: &Arc<Platform>, task: &Task, dates: String, start: f64) -> Rc<World> {
    let mut simulation = crate::workloads::simulation(Arc::clone(platform));
    let port = simulation.port();
    port.attach(Rc::new(WakeDevice));
    let world = Rc::new(World {
        port,
        flows: RefCell::new(Flows::new(platform)),
        dates: RefCell::new(dates),
        taken: Cell::new(0),
        ended: Cell::new(0),
        start: Cell::new(start),
        task: task.clone(),
    });
    spawn(&mut simulation, &world);
    crate::child::finish(simulation);
    world
}

/// The number of links and the latency of the routes of the first flows.
fn routes(platform: &Platform) -> String {
    let mut text = String::new();
    let mut flows = Flows::new(platform);
    for number in 0..100 {
        let flow = flows.next();
        let route = platform
            .route(flow.from, flow.to)
            .expect("all are connected");
        let (links, latency) = (route.hops.len(), route.latency_s);
        let _ = writeln!(text, "route {number} {links} {latency}");
    }
    text
}

fn spawn(simulation: &mut Simulation, world: &Rc<World>) {
    for number in 0..world.task.flows {
        let own = Rc::clone(world);
        if world.task.mode == Mode::Churn {
            simulation.spawn_anonymous(0, move |me| async move { own.churn(&me).await });
            continue;
        }
        let flow = world.flows.borrow_mut().next();
        simulation.spawn_anonymous(0, move |me| async move {
            if own.task.mode == Mode::Arrivals {
                me.sleep_until(flow.date).await;
            }
            own.carry(&me, flow).await;
            own.note_end(u64::from(number));
        });
    }
}
