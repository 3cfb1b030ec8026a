//! The verbs device: ranks exchange packets over queue pairs of simulated InfiniBand adapters,
//! which a packet-level network joins.
//!
//! Each rank has its own [`ChannelAdapter`] and, on this adapter, the message layer's connections
//! ([`mpi_verbs::Device`]): the same code that runs on real adapters. The adapters of the ranks of
//! one host share its port. A packet leaves in these steps, each with a cost ([`AdapterCosts`]):
//! the adapter sees a request after `doorbell`; packets of one port are processed one after another
//! (`tx_packet`, or their bytes over `pcie` if that takes longer); a packet with a payload waits
//! for its read of memory (`dma_read`, and its bytes over `pcie`); then the network carries the
//! packet; the receiving port processes one packet after another (`rx_packet`); and a completion
//! can be polled after `completion`. The response to an atomic operation takes `atomic` besides.
//!
//! Two ranks are connected when the first of them sends to the other, at once and without cost.
//!
//! *Not modelled*: the processor's work for a call or a poll (the message layer's costs of posting
//! are added where the platform sets them); caches of the adapter; the bandwidth of memory. A user
//! sees the same rate with few and with many queue pairs, and ranks that find a completion at the
//! date at which it can be polled.
//!
//! In a deadlock of the network (a credit loop) timeouts of the adapters no longer expire, so that
//! the run ends as a deadlock; real adapters would exhaust their retries after seconds.
//!
//! Times within the device are whole picoseconds.

mod capture;
mod host;
mod port;
mod state;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use channel::{Buffer, ChannelEvent, Envelope, Packet, RegisteredMemory, Settings, Token};
use models::packet::{PacketSettings, PacketTopology};
use mpi_verbs::Options;
use rdma::{Capture, LocalAdapter, RegionMemory, Verbs};
use settings::RendezvousMode;
use sim_core::{ActorId, Blocked, Device, End, HostId, Kernel, KernelHandle, Span};

use crate::flow::{begins, label};
use crate::ranks::{Ranks, SimulatedDevice, SpecialDevice, actor, begin_computation};
use crate::slab::Slab;
use host::ProgramHost;
use state::VerbsState;

/// Costs of an adapter, in picoseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct AdapterCosts {
    /// From the post of a request until the adapter sees the request.
    pub doorbell: u64,
    /// From the request for bytes of the host's memory to their arrival at the adapter.
    pub dma_read: u64,
    /// Processing of a packet that leaves.
    pub tx_packet: u64,
    /// Processing of a packet that arrives.
    pub rx_packet: u64,
    /// Work of the atomic unit for an operation.
    pub atomic: u64,
    /// From the end of a request until its completion can be polled.
    pub completion: u64,
    /// Picoseconds for a byte between the host's memory and the adapter.
    pub pcie_per_byte: f64,
}

/// Settings of the device.
#[derive(Clone, Debug)]
pub struct VerbsSettings {
    /// The largest payload of a packet in bytes: 256, 512, 1024, 2048 or 4096.
    pub mtu: u32,
    /// Costs of the adapters.
    pub costs: AdapterCosts,
    /// Settings of the network.
    pub network: PacketSettings,
    /// Service levels of the routes between hosts, by source and destination; others have 0.
    pub service_levels: BTreeMap<(HostId, HostId), u8>,
    /// The packets to capture, if any.
    pub capture: Option<CaptureFilter>,
}

/// The packets of a capture, and its size.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CaptureFilter {
    /// The host that sends or receives them; any if not given.
    pub host: Option<HostId>,
    /// The queue pair that sends or receives the packets, by its number; any if not given.
    pub qp_num: Option<u32>,
    /// The longest capture in bytes.
    pub max_bytes: u64,
}

/// The largest eager threshold in bytes: each packet buffer of the message layer holds an eager
/// message. UCX's largest buffer for copies; real adapters have 8 KiB by default. \[choice\]
const EAGER_THRESHOLD_MAX: u64 = 64 << 10;

/// Tokens of kernel timers: a wake-up of the device, or a job of a rank.
const WAKE: u64 = 0;

/// A job whose end the device reports.
#[derive(Debug)]
enum VerbsOperation {
    /// A computation or a timer of a rank.
    Elapse { rank: u32, token: Token },
    /// A packet of a rank to itself, which no adapter carries.
    ToItself { rank: u32, packet: Packet },
}

/// A device that connects all ranks; rank r is the actor with the index r.
pub struct VerbsFabric {
    ranks: Ranks,
    jobs: RefCell<Slab<VerbsOperation>>,
    state: RefCell<VerbsState>,
    /// The accesses of the programs to their adapters, by rank; made when first asked for.
    programs: RefCell<BTreeMap<u32, Rc<LocalAdapter<ProgramHost>>>>,
}

impl VerbsFabric {
    /// Returns a device for the ranks on these hosts, by rank, attached to the kernel behind
    /// `port`.
    ///
    /// # Panics
    /// If the kernel has no time, or the MTU is another one.
    pub fn new(
        port: KernelHandle,
        hosts: &[HostId],
        settings: Settings,
        verbs: &VerbsSettings,
        topology: Arc<dyn PacketTopology>,
    ) -> Rc<Self> {
        assert!(
            port.with_kernel(|kernel| kernel.is_timed()),
            "adapters need time to send again"
        );
        let options = Options {
            eager_threshold: settings.eager_threshold.min(EAGER_THRESHOLD_MAX),
            ..Options::default()
        };
        let mut settings = options.adapt_settings(settings);
        // Adapters read the data of a rendezvous by themselves.
        if let Some(library) = &mut settings.library {
            Arc::make_mut(library).rendezvous.mode = RendezvousMode::Put;
        }
        let ranks = u32::try_from(hosts.len()).expect("ranks are counted in 32 bits");
        let fabric = Rc::new(Self {
            ranks: Ranks::new(port.clone(), ranks, settings),
            jobs: RefCell::default(),
            programs: RefCell::default(),
            state: RefCell::new(VerbsState::new(hosts, &options, verbs, topology)),
        });
        port.attach(Rc::clone(&fabric) as Rc<dyn Device>);
        fabric
    }

    /// Lets the device work at the date of the kernel after `call`.
    fn at_now(&self, call: impl FnOnce(&mut VerbsState, &mut Kernel)) {
        self.ranks.port.with_kernel(|kernel| {
            let state = &mut *self.state.borrow_mut();
            state.set_time(kernel.now());
            call(state, kernel);
            state.handle_due_events(kernel, &self.ranks);
        });
    }

    fn start_job(&self, job: VerbsOperation) -> u64 {
        u64::from(self.jobs.borrow_mut().insert(job)) + 1
    }
}

impl Device for VerbsFabric {
    fn on_end(&self, kernel: &mut Kernel, token: u64, end: End) {
        let index = u32::try_from(token - 1).expect("tokens of this device have 32 bits");
        let job = self.jobs.borrow_mut().remove(index);
        match job {
            VerbsOperation::ToItself { rank, packet } => {
                let notify = packet.notify;
                self.ranks.deliver_packet(kernel, rank, rank, packet);
                if let Some(token) = notify {
                    self.ranks.notify(kernel, rank, ChannelEvent::Sent(token));
                }
            }
            VerbsOperation::Elapse { rank, token } if end == End::Done => {
                self.ranks
                    .notify(kernel, rank, ChannelEvent::Elapsed(token));
            }
            VerbsOperation::Elapse { rank, .. } => {
                kernel.fail_actor(actor(rank), "computation failed: host failure".to_owned());
            }
        }
    }

    fn on_timer(&self, kernel: &mut Kernel, token: u64) {
        if token != WAKE {
            return self.on_end(kernel, token, End::Done);
        }
        let state = &mut *self.state.borrow_mut();
        state.set_time(kernel.now());
        state.handle_due_events(kernel, &self.ranks);
    }

    fn progress(&self) {
        self.ranks.handle_parked_events();
    }

    fn on_host_off(&self, kernel: &mut Kernel, lost: ActorId) {
        self.ranks.lose(kernel, lost);
    }

    fn describe(&self, blocked: ActorId) -> Option<Blocked> {
        self.ranks.describe_wait(blocked)
    }
}

impl fmt::Debug for VerbsFabric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerbsFabric")
            .field("settings", &self.ranks.settings)
            .finish_non_exhaustive()
    }
}

/// The adapters and the network, for the channel of a rank.
impl VerbsFabric {
    /// Returns the longest payload of a packet, in bytes.
    pub(crate) fn max_packet(&self) -> u64 {
        self.ranks.settings.eager_threshold
    }

    /// See [`Fabric::take_capture`](crate::Fabric::take_capture).
    pub(crate) fn take_capture(&self) -> Option<Capture> {
        self.state.borrow_mut().take_capture()
    }

    /// See [`Fabric::network_deadlock`](crate::Fabric::network_deadlock).
    pub(crate) fn network_deadlock(&self) -> Vec<String> {
        self.state.borrow().network_deadlock()
    }

    /// See [`RemoteMemory::offer`](channel::RemoteMemory::offer).
    pub(crate) fn offer_message(&self, rank: u32, peer: u32, send: Token, message: &Buffer) {
        if rank != peer {
            self.at_now(|state, _| state.device(rank).offer(peer, send, message));
        }
    }

    /// See [`RemoteMemory::expect_message`](channel::RemoteMemory::expect_message).
    pub(crate) fn expect_message(&self, rank: u32, peer: u32, receive: Token, length: u64) {
        if rank != peer {
            self.at_now(|state, _| state.device(rank).expect_message(peer, receive, length));
        }
    }

    /// See [`RemoteMemory::register_memory`](channel::RemoteMemory::register_memory).
    pub(crate) fn register_memory(
        &self,
        rank: u32,
        memory: RegionMemory,
    ) -> Result<RegisteredMemory, RegionMemory> {
        let mut state = self.state.borrow_mut();
        state.device(rank).register_window(memory)
    }

    /// See [`RemoteMemory::adapter`](channel::RemoteMemory::adapter).
    pub(crate) fn program_adapter(&self, rank: u32) -> Rc<dyn Verbs> {
        let mut programs = self.programs.borrow_mut();
        let program = programs.entry(rank).or_insert_with(|| {
            let (adapter, surroundings) = self.state.borrow().rank_adapter(rank);
            let host = ProgramHost::new(surroundings, self.ranks.port.clone());
            Rc::new(LocalAdapter::new(adapter, host))
        });
        Rc::clone(program) as Rc<dyn Verbs>
    }

    /// See [`RemoteMemory::watch_adapter`](channel::RemoteMemory::watch_adapter).
    pub(crate) fn watch_adapter(&self, rank: u32, token: Token) {
        let waits = self.state.borrow_mut().watch_adapter(rank, token);
        if !waits {
            self.timer(rank, 0.0, token);
        }
    }
}

impl SimulatedDevice for VerbsFabric {
    fn ranks(&self) -> &Ranks {
        &self.ranks
    }

    fn post_packet(&self, rank: u32, peer: u32, packet: Packet) {
        self.at_now(|state, kernel| {
            let pair = u64::from(rank) << 32 | u64::from(peer);
            kernel.mix_digest(pair, label(&packet));
            if let Some(message) = begins(&packet) {
                kernel.count_message(message);
            }
            if rank == peer {
                let job = self.start_job(VerbsOperation::ToItself { rank, packet });
                kernel.set_device_timer(kernel.now(), job);
            } else {
                state.post_packet(rank, peer, packet);
            }
        });
    }

    fn timer(&self, rank: u32, seconds: f64, token: Token) {
        let job = self.start_job(VerbsOperation::Elapse { rank, token });
        self.ranks.port.with_kernel(|kernel| {
            kernel.set_device_timer(kernel.now() + Span::from_secs(seconds), job);
        });
    }

    fn start_computation(&self, rank: u32, flops: f64, token: Token) {
        let job = self.start_job(VerbsOperation::Elapse { rank, token });
        self.ranks
            .port
            .with_kernel(|kernel| begin_computation(kernel, rank, flops, job));
    }

    fn special_device(&self) -> SpecialDevice<'_> {
        SpecialDevice::Verbs(self)
    }

    /// Returns no messages: an adapter does not know its packets as messages.
    fn undelivered(&self, _rank: u32) -> Vec<(Envelope, u64)> {
        Vec::new()
    }
}
