//! A process that is a rank: it connects to the coordinator, waits for the other ranks, runs its
//! part of the program, and reports its end.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use channel::{Settings, TransportMode};
use mio::Poll;
use mpi::{CallComparison, Process};
use run::{ConnectionTotals, LogFilter, Program, with_quiet_panics};

#[cfg(feature = "verbs")]
use super::adapter::VerbsDataPath;
use super::arrival::connect_to_coordinator;
use super::call_batch::CallOutbox;
use super::clock::{self, RunClock};
use super::congestion::congestion_control;
use super::connection_manager::{
    self, ConnectionManager, ListenerOptions, ManagerCommand, ManagerEvent,
};
use super::connections::Connecting;
use super::control::{CoordinatorMessage, FailureKind, RankFailure, RankMessage, RankReport};
use super::data_path::{DataPath, SocketDataPath};
use super::descendants::{self, Spared};
use super::descriptors;
use super::event_log::RankLogs;
use super::executor;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
use super::heap;
use super::launch_info::LaunchInfo;
use super::local::{Compute, Local, RankIdentity};
use super::os;
use super::tcp::{Sockets, TcpChannel, WAKE, Wait};

/// Back end that carries packets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Backend {
    /// Sockets.
    Tcp {
        /// Congestion control of the sockets; `None` for the default of the system.
        congestion: Option<String>,
    },
    /// An adapter for InfiniBand or RoCE.
    #[cfg(feature = "verbs")]
    Verbs {
        /// Name of the adapter; `None` for the first adapter.
        device: Option<String>,
        /// Options of the adapter.
        options: mpi_verbs::Options,
    },
}

impl Default for Backend {
    fn default() -> Self {
        Self::Tcp { congestion: None }
    }
}

impl Backend {
    /// The congestion control that was asked for.
    fn congestion(&self) -> Option<&str> {
        match self {
            Self::Tcp { congestion } => congestion.as_deref(),
            #[cfg(feature = "verbs")]
            Self::Verbs { .. } => None,
        }
    }
}

/// When the lines that a rank prints are printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OutputMode {
    /// At once.
    #[default]
    Now,
    /// When the rank ends, also if it fails, so that printing takes no time from the program; the
    /// lines of a killed rank are lost.
    AtEnd,
}

/// Options of a real run, the same at every rank.
#[derive(Clone, Debug)]
pub struct RankOptions {
    /// Back end that carries packets.
    pub backend: Backend,
    /// Messages shorter than this many bytes are sent eagerly; the others by rendezvous.
    pub eager_threshold: u64,
    /// Way in which a rank waits.
    pub wait: Wait,
    /// Way in which ranks get connected.
    pub connecting: Connecting,
    /// The time within which ranks are to reach the coordinator, and each other.
    pub startup: Duration,
    /// Ways in which computations pass the time.
    pub compute: Compute,
    /// The speed of a host in flop per second.
    pub flop_per_s: f64,
    /// True if each rank is bound to a separate core.
    pub bind_to_core: bool,
    /// Filter of log lines.
    pub log: LogFilter,
    /// True if a rank begins each printed line with its number; if there is a launcher, the
    /// launcher adds the number instead.
    pub prefix: bool,
    /// When the lines that a rank prints are printed.
    pub print: OutputMode,
    /// True if the collective calls of all ranks are compared with each other.
    pub compare_calls: bool,
    /// Revision of the program.
    pub revision: String,
}

/// Runs one rank of a program. Returns true if the rank finished.
pub fn run_rank(
    program: &dyn Program,
    options: &RankOptions,
    launch_info: &LaunchInfo,
) -> io::Result<bool> {
    os::die_with_parent(launch_info.parent)?;
    let coordinator = launch_info.coordinator;
    let keepalive_timeout = options.connecting.keepalive_timeout;
    let control = connect_to_coordinator(launch_info, options.startup, keepalive_timeout).map_err(
        |error| {
            let text = format!("cannot connect to the launcher at {coordinator}: {error}");
            io::Error::new(error.kind(), text)
        },
    )?;
    let finished = run_connected_rank(
        program,
        options,
        launch_info,
        (control, Some("the launcher")),
    );
    if launch_info.parent.is_none() {
        // The launcher is on another machine and cannot.
        Spared::default().end_others();
    }
    finished
}

/// Runs one rank that has connected to the coordinator. `coordinator`: the name of the coordinator
/// in messages; `None` if the coordinator runs in this process.
pub(super) fn run_connected_rank(
    program: &dyn Program,
    options: &RankOptions,
    launch_info: &LaunchInfo,
    (control, coordinator): (TcpStream, Option<&str>),
) -> io::Result<bool> {
    let secret = launch_info.secret().ok_or(ErrorKind::InvalidData)?;
    descendants::adopt();
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    heap::keep_freed_pages();
    if options.bind_to_core {
        os::pin(launch_info.local_rank)?;
    }
    // Others reach this rank where it reaches the coordinator: by the loopback if that is on the
    // loopback.
    let address = SocketAddr::new(control.local_addr()?.ip(), 0);
    let poll = Poll::new()?;
    let waker = Arc::new(mio::Waker::new(poll.registry(), WAKE)?);
    let refusal = refusal(options, launch_info);
    let congestion = options.backend.congestion().filter(|_| refusal.is_none());
    let calls = options.compare_calls.then(Arc::<CallOutbox>::default);
    let listeners = ListenerOptions {
        rank: launch_info.rank,
        address,
        congestion: congestion.map(str::to_owned),
        within: options.startup,
        coordinator: coordinator.map(|name| format!("{name} at {}", launch_info.coordinator)),
        calls: calls.clone(),
    };
    let (manager, address) =
        connection_manager::start_manager(control, listeners, &secret, Arc::clone(&waker))?;
    let host = os::host_name();
    manager.send_command(ManagerCommand::SendToCoordinator(RankMessage::Here {
        rank: launch_info.rank,
        size: launch_info.size,
        business_card: address.to_string(),
        host: host.clone(),
        boot: clock::boot(),
        revision: options.revision.clone(),
        refusal: refusal.clone(),
    }));
    if let Some(why) = refusal {
        wait_for_end(&manager);
        return Err(io::Error::new(ErrorKind::Unsupported, why));
    }
    let (cards, clock) = wait_for_start(&manager)?;
    let me = rank_identity(options, launch_info, host);
    let local = Rc::new(Local::new(me, clock, calls));
    if let Some(prefix) = launch_info.events.clone() {
        let observed = local.start_event_log(&RankLogs::at_prefix(prefix));
        observed.map_err(|error| report_refusal(&manager, &local, error))?;
    }
    let oversubscribed = launch_info.local_size as usize > os::cores();
    let parts = (poll, waker, manager, cards, oversubscribed);
    match &options.backend {
        Backend::Tcp { .. } => live(program, options, &local, parts, SocketDataPath),
        #[cfg(feature = "verbs")]
        Backend::Verbs {
            device,
            options: how,
        } => {
            let how = mpi_verbs::Options {
                // Different in each run, as it should be.
                psn: psn(&local),
                ..how.clone()
            };
            let registry = parts.0.registry();
            let transport =
                VerbsDataPath::open_adapter(Rc::clone(&local), device.as_deref(), how, registry);
            let transport = transport.map_err(|error| report_refusal(&parts.2, &local, error))?;
            live(program, options, &local, parts, transport)
        }
    }
}

fn rank_identity(options: &RankOptions, launch_info: &LaunchInfo, host: String) -> RankIdentity {
    RankIdentity {
        rank: launch_info.rank,
        size: launch_info.size,
        host,
        settings: layer_settings(options),
        compute: options.compute,
        flop_per_s: options.flop_per_s,
        log: options.log.clone(),
        prefix: options.prefix,
        print: options.print,
    }
}

/// Returns why this rank cannot start, if this is known before the rank has met the others.
fn refusal(options: &RankOptions, launch_info: &LaunchInfo) -> Option<String> {
    let congestion = options.backend.congestion();
    let congestion = congestion.and_then(|name| congestion_control(Some(name)).err());
    // On demand, a rank may never be connected with more than one.
    let others = if options.connecting.is_static {
        launch_info.size - 1
    } else {
        1
    };
    let descriptors = descriptors::check_rank(others).err();
    let congestion = congestion.map(|error| error.to_string());
    congestion.or_else(|| descriptors.map(|error| error.to_string()))
}

/// Where packet numbers begin: some bits of the clock.
#[cfg(feature = "verbs")]
fn psn(local: &Local) -> u32 {
    let bits = clock::monotonic_ns() >> 6;
    let bits = u32::try_from(bits & 0xFF_FFFF).unwrap_or(0);
    bits ^ local.me().rank.wrapping_mul(0x9E_3779)
}

/// State of a rank before it begins.
type Parts = (Poll, Arc<mio::Waker>, ConnectionManager, Vec<String>, bool);

/// Runs a rank over a transport of packets. Returns true if the rank finished.
fn live<C: DataPath + 'static>(
    program: &dyn Program,
    options: &RankOptions,
    local: &Rc<Local>,
    (poll, waker, manager, cards, oversubscribed): Parts,
    transport: C,
) -> io::Result<bool> {
    let how = (options.connecting, options.wait, oversubscribed, transport);
    let sockets = Sockets::new(Rc::clone(local), (poll, waker), manager, cards, how)?;
    let calls = match local.call_outbox().cloned() {
        Some(outbox) => CallComparison::Elsewhere(Rc::new(move |number, call| {
            outbox.push_call(number, call);
        })),
        None => CallComparison::None,
    };
    let process = Process::with_calls(Box::new(TcpChannel(Rc::clone(&sockets))), calls);
    let Some(future) = program.rank_future(Rc::clone(&process)) else {
        let error = io::Error::new(ErrorKind::Unsupported, "not a rank program");
        return Err(report_refusal(
            sockets.connections().borrow().manager(),
            local,
            error,
        ));
    };
    let (ended, place) = with_quiet_panics(|| executor::run_program(&process, future, &*sockets));
    local.print_kept();
    local.end_event_log(ended.is_err());
    let mut report = rank_report(&process, local, ended, place);
    let finished = report.failure.is_none();
    let connections = sockets.connections().borrow();
    report.congestion_controls = connections.congestion_controls();
    report_end(connections.manager(), report);
    Ok(finished)
}

/// Reports the end of this rank to the coordinator, and waits for the end of the run.
fn report_end(manager: &ConnectionManager, report: RankReport) {
    manager.send_command(ManagerCommand::SendToCoordinator(RankMessage::Ended(
        report,
    )));
    wait_for_end(manager);
}

/// Waits until the coordinator reports that the run no longer needs this rank.
fn wait_for_end(manager: &ConnectionManager) {
    while !matches!(manager.wait_for_event(), None | Some(ManagerEvent::Over)) {}
}

/// Reports to the coordinator why this rank failed to start: the user has to see this reason, not
/// the death of a rank.
fn report_refusal(manager: &ConnectionManager, local: &Local, error: io::Error) -> io::Error {
    report_end(manager, RankReport::refusal(local.now(), error.to_string()));
    error
}

/// The parameters of the message layer.
fn layer_settings(options: &RankOptions) -> Settings {
    #[cfg(feature = "verbs")]
    if let Backend::Verbs { options: how, .. } = &options.backend {
        return how.adapt_settings(Settings::new(options.eager_threshold));
    }
    Settings {
        tells_eager_sends: true,
        async_small_threshold: options.eager_threshold,
        variant: TransportMode::Stream,
        ..Settings::new(options.eager_threshold)
    }
}

/// Waits for all others and for the start.
fn wait_for_start(manager: &ConnectionManager) -> io::Result<(Vec<String>, RunClock)> {
    loop {
        match manager.wait_for_event() {
            Some(ManagerEvent::AddressList(CoordinatorMessage::AddressList {
                cards,
                boot,
                start_ns,
            })) => {
                let start_ns = if boot.is_empty() || boot != clock::boot() {
                    clock::after(clock::START_LEAD)
                } else {
                    start_ns
                };
                clock::wait_until(start_ns);
                return Ok((cards, RunClock::starting_at(start_ns)));
            }
            Some(_) => {}
            None => return Err(ErrorKind::ConnectionAborted.into()),
        }
    }
}

fn rank_report(
    process: &Process,
    local: &Local,
    ended: Result<(), RankFailure>,
    place: Option<String>,
) -> RankReport {
    let time_s = local.now();
    let tally = local.tally();
    let statistics = process.connection_statistics();
    let failure = ended.err().map(|failure| match place {
        Some(place) if failure.kind == FailureKind::Panic => RankFailure {
            message: format!("{} (at {place})", failure.message),
            ..failure
        },
        _ => failure,
    });
    RankReport {
        time_s,
        messages: tally.messages,
        bytes: tally.bytes,
        events: tally.events,
        unfinished_operations: if failure.is_none() {
            process.leftovers()
        } else {
            Vec::new()
        },
        failure,
        connections: statistics
            .as_ref()
            .map(ConnectionTotals::from)
            .unwrap_or_default(),
        waited: statistics.map(|all| all.waited).unwrap_or_default(),
        congestion_controls: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use mpi::Process;
    use run::{RankFuture, Stage};

    use super::super::auth::RunSecret;
    use super::super::launch::{FailurePolicy, LaunchMode, LaunchOptions, OutputListener};
    use super::super::launcher::Launcher;
    use super::super::outcome::{RealOutcome, RealRun};
    use super::*;

    const STARTUP: Duration = Duration::from_secs(20);

    /// A program that no rank can begin.
    struct Nothing;

    impl Program for Nothing {
        fn has_ranks(&self) -> bool {
            false
        }

        fn start_actors(&self, _: &mut Stage<'_>) {}

        fn rank_future(&self, _: Rc<Process>) -> Option<RankFuture> {
            None
        }
    }

    struct Nobody;

    impl OutputListener for Nobody {
        fn line(&mut self, _: u32, _: bool, _: &[u8]) -> bool {
            true
        }
    }

    /// Starts the only rank of a run of [`Nothing`] over sockets with this congestion control.
    /// Returns the error of the rank, and the result of the run.
    fn begun_over(congestion: Option<&str>) -> (String, RealRun) {
        let secret = RunSecret::random().unwrap();
        let (tells, address) = channel();
        let known = secret.clone();
        #[expect(
            clippy::disallowed_methods,
            reason = "the two sides of a real run wait for each other"
        )]
        let launcher = std::thread::spawn(move || {
            let launch = LaunchOptions {
                starts: LaunchMode::Elsewhere(1),
                listen: "127.0.0.1:0".parse().unwrap(),
                revision: "1".to_owned(),
                arrival: STARTUP,
                keepalive_timeout: None,
                until: None,
                // Nor is it lost to others that could continue.
                progress: None,
                on_loss: FailurePolicy::Notify,
                observe: false,
                stop: Arc::default(),
            };
            let mut nobody = Nobody;
            let launcher = Launcher::new(&launch, &mut nobody, &known).unwrap();
            tells.send(launcher.address().unwrap()).unwrap();
            launcher.run_to_end(RealRun::clone).unwrap()
        });
        let options = RankOptions {
            backend: Backend::Tcp {
                congestion: congestion.map(str::to_owned),
            },
            eager_threshold: 1,
            wait: Wait::Block,
            connecting: Connecting::default(),
            startup: STARTUP,
            compute: Compute::Sleep,
            flop_per_s: 1e9,
            bind_to_core: false,
            log: LogFilter::default(),
            prefix: false,
            print: OutputMode::Now,
            compare_calls: false,
            revision: "1".to_owned(),
        };
        let launch_info = LaunchInfo::new((0, 1), (0, 1), address.recv().unwrap(), None, &secret);
        let control = connect_to_coordinator(&launch_info, STARTUP, None).unwrap();
        let error = run_connected_rank(
            &Nothing,
            &options,
            &launch_info,
            (control, Some("the launcher")),
        )
        .unwrap_err();
        (error.to_string(), launcher.join().unwrap())
    }

    #[test]
    fn a_rank_that_cannot_begin_says_why_and_has_not_died() {
        // The second one is refused before it asks the program.
        let nonsense = congestion_control(Some("nonsense")).unwrap_err();
        for (congestion, why) in [
            (None, "not a rank program"),
            (Some("nonsense"), &nonsense.to_string()),
        ] {
            let (error, run) = begun_over(congestion);
            assert_eq!(error, why);
            assert!(run.lost.is_empty());
            let RealOutcome::Failed(failure) = &run.outcome else {
                panic!("{run:?}");
            };
            assert_eq!(failure.kind, FailureKind::Refusal);
            let host = os::host_name();
            let told = format!("rank 0 on host {host} failed to start: {why}");
            assert_eq!(failure.to_string(), told);
        }
    }
}
