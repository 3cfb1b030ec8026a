//! The driver: platform + program + options → result of the run.
//!
//! All invalid input is refused before the simulation starts: the number of ranks, the mapping,
//! hosts without a route between them. The wall time is measured here and has no influence on the
//! run.

use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fabric::{Capture, CaptureFilter, Fabric, Flow, LogGops, Observers, VerbsFabric};
use models::FlowModel;
use models::packet::PlatformTopology;
use mpi::channel::CollectiveWaits;
use mpi::{Overheads, Placement, PostingCost, Selector, Settings};
use platform::units::{Duration, Size};
use platform::{Collectives, HostNames, NoRoute, Platform, ReadySendMode, SsendProtocol};
use sim_core::{
    ActorId, Console, HostId, Observed, Outcome, Report, Resource, RunProgress, Simulation, Time,
};

use crate::connections::{ConnectionTotals, Stall, connections, losses, stalls, totals};
use crate::mapping::MappingError;
use crate::profile::{Profile, ProfiledDevice, ProfiledResource};
use crate::program::{Program, Stage};
use crate::{EventLog, Mapping, Output, Recording, Transcript, panic_hook};

/// A choice between eager and rendezvous transfer of messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MessageProtocol {
    /// All messages eagerly.
    Eager,
    /// All messages by rendezvous.
    Rendezvous,
    /// Messages shorter than this many bytes eagerly.
    Threshold(u64),
}

impl MessageProtocol {
    /// The length in bytes from which on messages go by rendezvous.
    pub const fn threshold(self) -> u64 {
        match self {
            Self::Eager => u64::MAX,
            Self::Rendezvous => 0,
            Self::Threshold(bytes) => bytes,
        }
    }
}

/// Options of a run besides platform and program.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The number of ranks; by default one per host, or as many as the mapping file places.
    pub ranks: Option<u32>,
    /// Hosts of the ranks.
    pub mapping: Mapping,
    /// The seed of all random streams.
    pub seed: u64,
    /// The message protocol; by default as the platform says, and under a model checker eager,
    /// with deadlocks of sends that wait for their receives.
    pub protocol: Option<MessageProtocol>,
    /// True if communicators that are never freed are told as left over; only under a model
    /// checker.
    pub leaks: bool,
    /// The waits of a rank in a collective. Only under a model checker.
    pub collective_waits: CollectiveWaits,
    /// True if the results of reductions are compared with the results of other orders of the
    /// operands. Only under a model checker.
    pub orders_operands: bool,
    /// True if buffers have only a length.
    pub phantom: bool,
    /// Where to stop.
    pub until: Option<Time>,
    /// After how many events to stop.
    pub events_max: Option<u64>,
    /// Is told now and then how far the run is.
    pub progress: Option<Arc<RunProgress>>,
    /// Stops the run soon after this flag has become true.
    pub stop: Option<Arc<AtomicBool>>,
    /// The packets to capture, on a platform with queue pairs.
    pub capture: Option<CaptureFilter>,
    /// Where the events of the ranks are written, if they are.
    pub event_log: Option<EventLog>,
    /// True if packets and the message layer take no time.
    pub ideal_network: bool,
    /// Is told which part of simrun is at work, if that is asked for.
    pub profile: Option<Arc<Profile>>,
}

/// Why a run was not started.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RunError {
    /// There must be at least one rank.
    NoRanks,
    /// The mapping cannot be done.
    Mapping(MappingError),
    /// Two hosts in use have no route between them.
    NoRoute(NoRoute),
    /// The routes between the hosts in use need more virtual lanes.
    Lanes {
        /// Number of lanes.
        lanes: u8,
        /// Source and destination of a route that makes a credit loop in each lane.
        hosts: [String; 2],
    },
    /// Static connections need more descriptors than there are.
    Descriptors {
        /// Their number.
        descriptors: u32,
        /// The number of ranks.
        ranks: u32,
    },
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRanks => f.write_str("0 ranks: expected at least 1"),
            Self::Mapping(error) => error.fmt(f),
            Self::NoRoute(error) => error.fmt(f),
            Self::Lanes { lanes, hosts } => write!(
                f,
                "network.verbs.lanes = {lanes} is too few: the route from {} to {} makes a credit loop in each lane; expected more lanes, 15 at most",
                hosts[0], hosts[1]
            ),
            Self::Descriptors { descriptors, ranks } => write!(
                f,
                "connection.descriptors = {descriptors} is too few for connection.mode = \"static\" with {ranks} ranks: expected at least {}",
                ranks - 1
            ),
        }
    }
}

impl std::error::Error for RunError {}

impl From<MappingError> for RunError {
    fn from(error: MappingError) -> Self {
        Self::Mapping(error)
    }
}

/// Result of a run.
#[derive(Clone, Debug)]
pub struct Run {
    /// Report of the kernel.
    pub report: Report,
    /// The number of ranks, or the `-n` that an actor program was given.
    pub ranks: u32,
    /// Things to check before the result is trusted.
    pub warnings: Vec<String>,
    /// Time that connections waited for packet buffers and credits, if these are limited, and
    /// messages for connections, if these have to be made; the longest time first.
    pub stalls: Vec<Stall>,
    /// Counts of the connections of all ranks; `None` if none had to be made.
    pub connections: Option<ConnectionTotals>,
    /// The host of each rank.
    pub hosts: Vec<HostId>,
    /// The deadlock of the packet network in words, by lines; empty if there is none.
    pub network_deadlock: Vec<String>,
    /// The packets that were captured, if any were to be.
    pub capture: Option<Capture>,
    /// Number of random numbers that the run drew; `None` if the run was given up.
    pub draws: Option<u64>,
    /// Duration of the run, in seconds of real time.
    pub wall_s: f64,
}

/// Runs `program` on `platform`.
pub fn simulate(
    platform: &Arc<Platform>,
    program: &dyn Program,
    options: &Options,
    output: &Rc<Output>,
) -> Result<Run, RunError> {
    run_program(platform, program, options, output, None)
}

/// Runs `program` on `platform`, and records the steps, so that a model checker can repeat them.
pub fn simulate_recorded(
    platform: &Arc<Platform>,
    program: &dyn Program,
    options: &Options,
    output: &Rc<Output>,
    recording: &Recording,
) -> Result<Run, RunError> {
    let transcript = Rc::new(Transcript::with_next(Rc::clone(output) as Rc<dyn Console>));
    let console = Rc::clone(&transcript) as Rc<dyn Console>;
    let recorded = Some((recording, console));
    let run = run_program(platform, program, options, output, recorded);
    recording.lines.replace(transcript.take_lines());
    run
}

fn run_program(
    platform: &Arc<Platform>,
    program: &dyn Program,
    options: &Options,
    output: &Rc<Output>,
    recorded: Option<(&Recording, Rc<dyn Console>)>,
) -> Result<Run, RunError> {
    let ranks = options
        .ranks
        .unwrap_or_else(|| options.mapping.default_ranks(platform.host_count()));
    if ranks == 0 {
        return Err(RunError::NoRanks);
    }
    let draws = sim_core::draws();
    let hosts = options.mapping.place_ranks(platform, ranks, options.seed)?;
    if program.has_ranks() {
        platform.check_routes(&hosts).map_err(RunError::NoRoute)?;
        crate::connections::check_descriptors(platform.connection(), ranks)?;
    }
    #[expect(
        clippy::disallowed_types,
        reason = "the wall time is reported and influences nothing"
    )]
    let start = std::time::Instant::now();
    let names = Rc::new(HostNames(Arc::clone(platform)));
    let model = model(platform, program, options);
    let mut simulation = Simulation::new(model, names, options.seed);
    configure(&mut simulation, options, ranks);
    simulation.set_console(Rc::clone(output) as Rc<dyn Console>);
    let mut fabric = None;
    if program.has_ranks() {
        simulation.set_default_name(|actor: ActorId| format!("rank {}", actor.number() - 1));
        fabric = Some(observed(&simulation, platform, &hosts, options)?);
    }
    let device = fabric.clone();
    if let Some((recording, transcript)) = recorded {
        simulation.set_console(transcript);
        record_steps(&mut simulation, fabric.as_ref(), recording);
    }
    let ((mut report, processes), place) = panic_hook::with_quiet_panics(|| {
        let mut stage = Stage {
            simulation: &mut simulation,
            hosts: &hosts,
            fabric,
            processes: Vec::new(),
        };
        program.start_actors(&mut stage);
        let processes = stage.processes;
        (simulation.run(), processes)
    });
    if let (Outcome::Failed(failure), Some(place)) = (&mut report.outcome, place)
        && failure.panicked
    {
        failure.message = format!("{} (at {place})", failure.message);
    }
    let capture = device.as_ref().and_then(|device| device.take_capture());
    let network_deadlock = device
        .as_ref()
        .map(|it| it.network_deadlock())
        .unwrap_or_default();
    let lost = device.map_or_else(Vec::new, |device| device.lost());
    let warnings = warnings(&report.outcome, &network_deadlock, &lost, &processes);
    Ok(Run {
        report,
        ranks,
        hosts,
        stalls: stalls(&processes),
        connections: totals(&processes),
        warnings,
        network_deadlock,
        capture,
        draws: Some(sim_core::draws() - draws),
        wall_s: start.elapsed().as_secs_f64(),
    })
}

/// Returns the things to check before a result is trusted.
fn warnings(
    outcome: &Outcome,
    network_deadlock: &[String],
    lost: &[(u32, Time)],
    processes: &[Rc<mpi::Process>],
) -> Vec<String> {
    let mut warnings = losses(lost);
    if !matches!(outcome, Outcome::Deadlock(_)) {
        warnings.extend(network_deadlock.iter().cloned());
    }
    if *outcome == Outcome::Finished {
        warnings.extend(unfinished(processes, lost));
    }
    warnings
}

/// Returns the unfinished operations of the ranks that were not lost.
fn unfinished(processes: &[Rc<mpi::Process>], lost: &[(u32, Time)]) -> Vec<String> {
    let lives = |rank: &usize| !lost.iter().any(|&(lost, _)| lost as usize == *rank);
    let living = processes.iter().enumerate().filter(|(rank, _)| lives(rank));
    let texts = living.flat_map(|(rank, process)| {
        let texts = process.leftovers().into_iter();
        texts.map(move |text| format!("rank {rank}: {text}"))
    });
    texts.collect()
}

/// Lets the device between ranks, or without one the kernel, write down the steps of the run.
fn record_steps(
    simulation: &mut Simulation,
    fabric: Option<&Rc<dyn Fabric>>,
    recording: &Recording,
) {
    let steps = Rc::clone(&recording.steps);
    match fabric {
        Some(fabric) => fabric.record_steps(steps),
        None => simulation.set_trace(move |event| {
            steps.borrow_mut().push(Observed::Transition(*event));
        }),
    }
}

/// The parameters of the message layer. A given message protocol decides when sends end and leave.
fn message_settings(platform: &Platform, hosts: &[HostId], options: &Options) -> Settings {
    let network = platform.network();
    let asked = options.protocol.map(MessageProtocol::threshold);
    let protocol = platform.protocol();
    let copy_bandwidth = protocol.copy_bandwidth.as_ref();
    let fluid = network.fluid.as_ref();
    let small = fluid.and_then(|fluid| fluid.async_small_threshold.as_ref());
    Settings {
        phantom: options.phantom,
        tells_eager_sends: network.loggops.is_some(),
        async_small_threshold: asked.unwrap_or(small.map_or(u64::MAX, |small| small.bytes())),
        envelope: network.envelope_bytes(),
        overheads: fluid.map_or(Overheads::NONE, |fluid| {
            fluid.overheads.map(Size::bytes, Duration::as_secs)
        }),
        copy_bandwidth: copy_bandwidth.map_or(f64::INFINITY, |rate| rate.bytes_per_s()),
        limits: (protocol.is_limited()).then(|| protocol.limits.map(Size::bytes)),
        library: platform.library_settings().map(Arc::new),
        connections: connections(platform.connection()),
        initiators: platform.connection().initiators_among(hosts.len()),
        reduce_bandwidth: (platform.collectives().reduce_bandwidth.as_ref())
            .map_or(f64::INFINITY, |rate| rate.bytes_per_s()),
        memory: platform.memory_settings().map(Arc::new),
        placement: placement(hosts),
        collectives: selector(platform),
        node_setup: platform.collectives().node_setup,
        ..costs(protocol, asked.unwrap_or(protocol.eager_threshold.bytes()))
    }
}

/// Returns the nodes of ranks on these hosts; `None` if each rank has a separate host.
pub(crate) fn placement(hosts: &[HostId]) -> Option<Arc<Placement>> {
    let numbers: Vec<u32> = hosts.iter().map(|host| host.0).collect();
    Placement::new(&numbers)
}

/// Returns the selection of collective algorithms; `None` for the default of the message layer.
pub(crate) fn selector(platform: &Platform) -> Option<Arc<Selector>> {
    let collectives = platform.collectives();
    (*collectives != Collectives::default()).then(|| Arc::new(collectives.to_selector()))
}

/// The size of a control message of the explicit preset in bytes, our estimate: one cache line,
/// into which an envelope, two references and a header fit.
const CONTROL: u64 = 64;

/// Returns the costs of the protocols, by preset and single keys.
fn costs(protocol: &platform::Protocol, eager_threshold: u64) -> Settings {
    let explicit = protocol.simulates_control_messages();
    let seconds =
        |cost: &Option<Duration>| cost.as_ref().map_or(0.0, |duration| duration.as_secs());
    let control = protocol.control_size.as_ref().map(|size| size.bytes());
    let acknowledged_ssend = protocol
        .ssend_protocol
        .map_or(explicit, |way| way == SsendProtocol::Acknowledged);
    Settings {
        control: control.or(explicit.then_some(CONTROL)),
        acknowledged_ssend,
        strict_ready_send: protocol.ready_send == Some(ReadySendMode::Strict),
        posting: PostingCost {
            packet: seconds(&protocol.post_cost_per_packet),
            batch: seconds(&protocol.post_cost_per_batch),
        },
        variant: protocol.transport.unwrap_or_default(),
        ..Settings::new(eager_threshold)
    }
}

/// The device between the ranks that the network model asks for.
fn device(
    simulation: &Simulation,
    platform: &Arc<Platform>,
    hosts: &[HostId],
    options: &Options,
) -> Result<Rc<dyn Fabric>, RunError> {
    let network = platform.network();
    let mut settings = message_settings(platform, hosts, options);
    let ranks = u32::try_from(hosts.len()).expect("ranks are counted in 32 bits");
    if options.ideal_network {
        settings = without_time(settings);
        return Ok(Flow::ideal(simulation.port(), ranks, settings));
    }
    if let Some(parameters) = &network.verbs {
        let topology = Arc::new(PlatformTopology::new(Arc::clone(platform)));
        let capture = options.capture.clone();
        let verbs =
            crate::verbs::adapter_settings(parameters, &*topology, hosts, capture, options.seed)?;
        return Ok(VerbsFabric::new(
            simulation.port(),
            hosts,
            settings,
            &verbs,
            topology,
        ));
    }
    let Some(loggops) = &network.loggops else {
        return Ok(Flow::new(simulation.port(), ranks, settings));
    };
    let costs = loggops.map(Duration::span);
    Ok(LogGops::new(simulation.port(), ranks, settings, costs))
}

/// Returns settings with which only computation takes time, and eager sends complete at once.
fn without_time(settings: Settings) -> Settings {
    Settings {
        phantom: settings.phantom,
        collectives: settings.collectives,
        placement: settings.placement,
        ..Settings::new(settings.eager_threshold)
    }
}

/// The device between the ranks, which writes the events of all ranks to a log if there is to be
/// one.
fn observed(
    simulation: &Simulation,
    platform: &Arc<Platform>,
    hosts: &[HostId],
    options: &Options,
) -> Result<Rc<dyn Fabric>, RunError> {
    let device = device(simulation, platform, hosts, options)?;
    if let Some(log) = &options.event_log {
        log.write_hosts(platform, hosts);
        let network = log.network_observer(platform, options.profile.as_ref());
        let ranks = log.rank_observer(simulation.port(), options.profile.clone());
        device.set_observers(Observers { ranks, network });
    }
    if let Some(profile) = &options.profile {
        let (inner, profile) = (Rc::clone(&device), Arc::clone(profile));
        let device = ProfiledDevice { inner, profile };
        simulation.port().attach(Rc::new(device));
    }
    Ok(device)
}

/// Returns the model of the platform with its noise. With an event log, the model writes the events
/// of each transfer to the log.
fn model(platform: &Arc<Platform>, program: &dyn Program, options: &Options) -> Box<dyn Resource> {
    let mut model = FlowModel::new(Arc::clone(platform));
    if let Some(log) = &options.event_log
        && program.has_ranks()
    {
        model.set_observer(log.network_observer(platform, options.profile.as_ref()));
    }
    let inner = model.with_noise(options.seed);
    match options.profile.clone() {
        Some(profile) => Box::new(ProfiledResource { inner, profile }),
        None => Box::new(inner),
    }
}

fn configure(simulation: &mut Simulation, options: &Options, ranks: u32) {
    simulation.set_requested_count(ranks);
    if let Some(until) = options.until {
        simulation.set_until(until);
    }
    if let Some(events) = options.events_max {
        simulation.set_events_max(events);
    }
    if let Some(progress) = &options.progress {
        simulation.set_progress(Arc::clone(progress));
    }
    if let Some(stop) = &options.stop {
        simulation.set_interrupt(Arc::clone(stop));
    }
}
