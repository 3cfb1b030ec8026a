//! Runs rank programs over the flow device on a platform given as text.
//!
//! Four nodes on a switch: 1 Gflop/s, links of 1 GB/s per direction and 1 us, so a message of n
//! bytes alone takes 2 us + n ns. Ranks on one host have the implicit loopback of 10 GB/s without
//! latency.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::allow_attributes,
    reason = "each test file uses a part of the harness"
)]

pub(crate) mod process;

use mpi::SourceLocation;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;

use fabric::{AdapterCosts, Fabric, Flow, LogGops, VerbsFabric, VerbsSettings};
use models::packet::{PacketSettings, PlatformTopology};
use mpi::{Comm, ConnectionSettings, ConnectionStatistics, Settings};
use platform::{HostNames, Platform};
use rdma::Capture;
use settings::LogGopsParameters;
use sim_core::{
    ActorId, ActorResult, Clock, HostId, Outcome, Report, Simulation, Span, Time, WaitGraph,
};

/// The platform of tests that name none.
pub const NODES: &str = r#"
version = 1
[clusters.nodes]
hosts = "node-[0-3]"
speed = "1Gf"
bandwidth = "1GBps"
latency = "1us"
"#;

/// Costs of simulated adapters, in picoseconds, all of them different.
pub const ADAPTER_COSTS: AdapterCosts = AdapterCosts {
    doorbell: 300_000,
    dma_read: 500_000,
    tx_packet: 30_000,
    rx_packet: 40_000,
    atomic: 100_000,
    completion: 350_000,
    pcie_per_byte: 64.0,
};

/// Settings of simulated adapters on a network without faults.
pub fn verbs_settings(costs: AdapterCosts) -> VerbsSettings {
    VerbsSettings {
        mtu: 1024,
        costs,
        network: PacketSettings::default(),
        service_levels: BTreeMap::new(),
        capture: None,
    }
}

/// LRH, BTH, ICRC, VCRC and delimiters: 30 bytes. PN-1 of the packet network.
pub fn on_the_wire(payload: u64) -> u64 {
    (payload.next_multiple_of(4) + 30) * 1000
}

/// Compares a time in picoseconds.
#[track_caller]
pub fn takes(found: f64, expected: u64) {
    let difference = (found - expected as f64).abs();
    assert!(difference <= 1.0, "{found} ps, expected {expected} ps");
}

/// L = 10 us, o = 1 us, g = 3 us, G = 5 ns and O = 2 ns.
pub fn loggops_costs() -> LogGopsParameters<Span> {
    LogGopsParameters {
        latency: Span::from_micros(10.0),
        overhead: Span::from_micros(1.0),
        gap: Span::from_micros(3.0),
        gap_per_byte: Span::from_secs(5e-9),
        overhead_per_byte: Span::from_secs(2e-9),
        loopback: None,
    }
}

/// Rank 0 sends to rank 1.
pub async fn exchange(world: Comm, bytes: u64) -> mpi::Result<()> {
    let mut buffer = world.buffer(bytes);
    if world.rank() == 0 {
        world.send(&buffer, 1, 0).await
    } else {
        world.recv(&mut buffer, 0, 0).await.map(drop)
    }
}

/// The end of a program; a bare `Ok(())` would leave the error type open.
pub const DONE: mpi::Result<()> = Ok(());

/// Options of a run.
#[derive(Clone, Debug)]
pub struct Runner {
    /// The host of each rank.
    hosts: Vec<u32>,
    settings: Settings,
    clock: Clock,
    /// Over the LogGOPS device with these costs, instead of over flows.
    costs: Option<LogGopsParameters<Span>>,
    /// Over the verbs device with these settings, instead of over flows.
    verbs: Option<VerbsSettings>,
    /// The platform file.
    platform: String,
}

/// Eager below this many bytes, unless a test says otherwise.
pub const THRESHOLD: u64 = 10_000;

/// A runner with one rank per node.
pub fn ranks(count: u32) -> Runner {
    Runner {
        hosts: (0..count).collect(),
        settings: Settings {
            phantom: true,
            ..Settings::new(THRESHOLD)
        },
        clock: Clock::Timed,
        costs: None,
        verbs: None,
        platform: NODES.to_owned(),
    }
}

/// Notes of a program: date, rank and text.
#[derive(Clone, Default)]
pub struct Notes(Rc<RefCell<Vec<(f64, usize, String)>>>);

impl Notes {
    pub fn add(&self, world: &Comm, text: impl fmt::Display) {
        self.0
            .borrow_mut()
            .push((world.wtime(), world.rank(), text.to_string()));
    }
}

/// Result of a run.
#[derive(Debug)]
pub struct Run {
    pub report: Report,
    pub notes: Vec<(f64, usize, String)>,
    pub leftovers: Vec<Vec<String>>,
    /// Of each rank, if ranks got connected.
    pub connections: Vec<Option<ConnectionStatistics>>,
    /// The packets of adapters, if they were captured.
    pub capture: Option<Capture>,
    /// The ranks that were lost without ending the run.
    pub lost: Vec<(u32, Time)>,
}

impl Runner {
    pub fn connecting(mut self, connections: ConnectionSettings) -> Self {
        self.settings.connections = Some(connections);
        self
    }

    pub fn on_hosts(mut self, hosts: &[u32]) -> Self {
        self.hosts = hosts.to_vec();
        self
    }

    pub fn threshold(mut self, bytes: u64) -> Self {
        self.settings.eager_threshold = bytes;
        self
    }

    pub fn on_platform(mut self, text: &str) -> Self {
        text.clone_into(&mut self.platform);
        self
    }

    pub fn with_settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    pub fn with_costs(mut self, costs: LogGopsParameters<Span>) -> Self {
        self.costs = Some(costs);
        self.settings.tells_eager_sends = true;
        self
    }

    pub fn with_verbs(mut self, verbs: VerbsSettings) -> Self {
        self.verbs = Some(verbs);
        self
    }

    pub fn untimed(mut self) -> Self {
        self.clock = Clock::Untimed;
        self
    }

    pub fn run<F, Fut>(&self, program: F) -> Run
    where
        F: Fn(Comm, Notes) -> Fut,
        Fut: Future + 'static,
        Fut::Output: ActorResult,
    {
        let platform = Arc::new(Platform::parse("nodes.toml", &self.platform).expect("a platform"));
        let names = Rc::new(HostNames(Arc::clone(&platform)));
        let model = models::model(Arc::clone(&platform));
        let mut simulation = Simulation::new(model, names, 1);
        simulation.set_clock(self.clock);
        simulation.set_default_name(|actor: ActorId| format!("rank {}", actor.number() - 1));
        let size = u32::try_from(self.hosts.len()).expect("few ranks");
        let (port, settings) = (simulation.port(), self.settings.clone());
        let device: Rc<dyn Fabric> = match (self.costs, &self.verbs) {
            (Some(costs), _) => LogGops::new(port, size, settings, costs),
            (None, Some(verbs)) => {
                let hosts: Vec<HostId> = self.hosts.iter().map(|host| HostId(*host)).collect();
                let topology = Arc::new(PlatformTopology::new(platform));
                VerbsFabric::new(port, &hosts, settings, verbs, topology)
            }
            (None, None) => Flow::new(port, size, settings),
        };
        let notes = Notes::default();
        let processes = process::processes(&device, size);
        for (process, &host) in processes.iter().zip(&self.hosts) {
            let process = Rc::clone(process);
            let body = program(process.world(), notes.clone());
            let first = process.connects_at_init();
            simulation.spawn_anonymous(host, |_| async move {
                if first {
                    process.init(SourceLocation::caller()).await;
                }
                let late = body.await.into_result()?;
                process.finalize(SourceLocation::caller()).await;
                Ok::<_, String>(late)
            });
        }
        let report = simulation.run();
        let leftovers = processes.iter().map(|process| process.leftovers());
        let leftovers = leftovers.collect();
        let connections = processes.iter();
        let connections = connections.map(|process| process.connection_statistics());
        let connections = connections.collect();
        let notes = notes.0.take();
        Run {
            report,
            notes,
            leftovers,
            connections,
            capture: device.take_capture(),
            lost: device.lost(),
        }
    }
}

impl Run {
    #[track_caller]
    pub fn finished(self) -> Self {
        assert_eq!(self.report.outcome, Outcome::Finished);
        self
    }

    /// Asserts the notes of the run, with dates to a picosecond.
    #[track_caller]
    pub fn noted(&self, expected: &[(f64, usize, &str)]) {
        let same = self.notes.len() == expected.len()
            && self
                .notes
                .iter()
                .zip(expected)
                .all(|(a, b)| (a.0 - b.0).abs() <= 1e-12 && (a.1, a.2.as_str()) == (b.1, b.2));
        assert!(same, "noted {:?}\nexpected {expected:?}", self.notes);
    }

    #[track_caller]
    pub fn deadlock(&self) -> &WaitGraph {
        match &self.report.outcome {
            Outcome::Deadlock(graph) => graph,
            other => panic!("a deadlock was expected, not {other:?}"),
        }
    }
}
