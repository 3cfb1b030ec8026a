//! An adapter in memory, for tests of what uses the trait [`Verbs`]: several of them, one for each
//! rank of one process, joined by a network that lets one thing happen at a time, whichever a seed
//! chooses.
//!
//! It promises no more than the trait does: requests of different queues, acknowledgements, ends of
//! receives and reads come in any order that is allowed, also late (but each queue's requests are
//! carried out one after another), and memory is read and written when a request is carried out,
//! not when it is posted. And it checks what the user must keep to: keys, rights, bounds, states,
//! attributes, depths of queues, that a receive is posted (RNR), that the other side is ready, that
//! completion queues never overflow. What no correct user does is in [`Network::faults`], whatever
//! the user is told.
//!
//! *Not modelled*: time, loss on the wire (unless an adapter is [switched
//! off](Network::switch_off)), packets, path MTU.

mod calls;
mod steps;

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use rdma::{
    Access, AsyncEvent, AtomicCap, CompletionQueue, DeviceAttributes, Gid, MemoryRegion, Mtu,
    Operation, QpAttributes, QpInitAttributes, QueuePair, SendFlags, Sge, WorkCompletion,
};

/// Abilities of adapters.
#[derive(Clone, Copy, Debug)]
pub struct Abilities {
    pub max_inline: u32,
    pub max_message: u32,
    pub max_cqe: u32,
    pub max_qp_wr: u32,
    pub max_rd_atomic: u8,
    /// Bytes that can be registered.
    pub max_registered: u64,
}

impl Default for Abilities {
    fn default() -> Self {
        Self {
            max_inline: 256,
            max_message: 1 << 23,
            max_cqe: 1 << 16,
            max_qp_wr: 1 << 12,
            max_rd_atomic: 4,
            max_registered: u64::MAX,
        }
    }
}

/// Number of times that a request is tried that the other side does not answer.
const TRIES: u32 = 8;

/// Requests to an adapter, on a send queue.
#[derive(Clone, Debug)]
struct Request {
    wr_id: u64,
    operation: Operation,
    sges: Vec<Sge>,
    inline: Option<Vec<u8>>,
    flags: SendFlags,
    tries: u32,
    /// Carried out at the other side; how many bytes have come back.
    done: Option<u32>,
}

#[derive(Clone, Debug)]
struct Receive {
    wr_id: u64,
    sges: Vec<Sge>,
}

/// A completion, and how many places of which queue are free once it is polled.
#[derive(Clone, Debug)]
struct Entry {
    completion: WorkCompletion,
    sends: u32,
    receives: u32,
}

#[derive(Debug)]
struct Qp {
    handle: QueuePair,
    init: QpInitAttributes,
    now: QpAttributes,
    /// The adapter at the other side.
    peer: Option<usize>,
    /// Requests that have not completed, and those before them that keep their places.
    sends: VecDeque<Request>,
    /// Places of the send queue that are taken, also by what has completed and was not polled.
    send_places: u32,
    /// Requests that have completed without telling.
    silent: u32,
    receives: VecDeque<Receive>,
    receive_places: u32,
    /// Receives that are over and of which the completion queue does not know yet, and whether they
    /// are solicited.
    received: VecDeque<(WorkCompletion, bool)>,
    /// The end of draining is to be told.
    tells_drained: bool,
    /// Requests that still end while it drains: those that were there before.
    draining: usize,
}

#[derive(Debug)]
struct Cq {
    length: u32,
    entries: VecDeque<Entry>,
    /// True if only for solicited completions.
    armed: Option<bool>,
    is_broken: bool,
}

#[derive(Debug)]
struct Region {
    pd: u32,
    region: MemoryRegion,
    access: Access,
    memory: Memory,
}

#[derive(Debug)]
enum Memory {
    Zeroed(Vec<u8>),
    Owned(Vec<u8>),
    Shared(Rc<Vec<u8>>),
}

impl Memory {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Zeroed(bytes) | Self::Owned(bytes) => bytes,
            Self::Shared(bytes) => bytes,
        }
    }

    fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        match self {
            Self::Zeroed(bytes) | Self::Owned(bytes) => Some(bytes),
            Self::Shared(_) => None,
        }
    }
}

#[derive(Debug)]
struct State {
    abilities: Abilities,
    gid: Gid,
    numbers: u32,
    address: u64,
    pds: Vec<u32>,
    regions: BTreeMap<u32, Region>,
    cqs: BTreeMap<u32, Cq>,
    /// By their number on the wire.
    qps: BTreeMap<u32, Qp>,
    told: VecDeque<CompletionQueue>,
    events: VecDeque<AsyncEvent>,
    is_off: bool,
    /// Regions that were ever made.
    registrations: usize,
}

#[derive(Debug)]
struct Net {
    draws: u64,
    adapters: Vec<State>,
    faults: Vec<String>,
    steps: u64,
}

/// Network between adapters.
#[derive(Clone, Debug)]
pub struct Network(Rc<RefCell<Net>>);

/// One of them.
#[derive(Clone, Debug)]
pub struct Adapter {
    net: Rc<RefCell<Net>>,
    me: usize,
    /// A copy, to lend.
    attributes: DeviceAttributes,
}

impl Network {
    /// Adapters that do what they may do in an order that the seed chooses.
    pub fn new(seed: u64) -> Self {
        Self(Rc::new(RefCell::new(Net {
            // xorshift must not begin with 0.
            draws: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
            adapters: Vec::new(),
            faults: Vec::new(),
            steps: 0,
        })))
    }

    /// One more adapter.
    pub fn adapter(&self, abilities: Abilities) -> Adapter {
        let mut net = self.0.borrow_mut();
        let me = net.adapters.len();
        let mut gid = Gid::default();
        gid.0[10..12].copy_from_slice(&[0xff; 2]);
        gid.0[12..].copy_from_slice(&(10 << 24 | u32::try_from(me + 1).unwrap()).to_be_bytes());
        let attributes = attributes(me, &abilities);
        net.adapters.push(State {
            abilities,
            gid,
            numbers: 0,
            address: 0x1_0000 * (me as u64 + 1),
            pds: Vec::new(),
            regions: BTreeMap::new(),
            cqs: BTreeMap::new(),
            qps: BTreeMap::new(),
            told: VecDeque::new(),
            events: VecDeque::new(),
            is_off: false,
            registrations: 0,
        });
        Adapter {
            net: Rc::clone(&self.0),
            me,
            attributes,
        }
    }

    /// Lets one thing happen; false if nothing can.
    pub fn step(&self) -> bool {
        self.0.borrow_mut().step()
    }

    /// From now on an adapter answers nobody.
    pub fn switch_off(&self, adapter: &Adapter) {
        self.0.borrow_mut().adapters[adapter.me].is_off = true;
    }

    /// An adapter tells something without having been asked; what, may depend on a queue pair of
    /// it, if there is one.
    pub fn tell(&self, adapter: &Adapter, what: fn(Option<QueuePair>) -> Option<AsyncEvent>) {
        let state = &mut self.0.borrow_mut().adapters[adapter.me];
        let qp = state.qps.values().next().map(|qp| qp.handle);
        state.events.extend(what(qp));
    }

    /// Returns the mistakes of the user.
    pub fn faults(&self) -> Vec<String> {
        self.0.borrow().faults.clone()
    }
}

impl Adapter {
    /// Returns the counts of what was made and not given back: domains, regions, completion queues,
    /// queue pairs.
    pub fn in_use(&self) -> [usize; 4] {
        let state = &self.net.borrow().adapters[self.me];
        let (pds, regions) = (state.pds.len(), state.regions.len());
        [pds, regions, state.cqs.len(), state.qps.len()]
    }

    /// Returns the number of times that memory has been registered.
    pub fn registrations(&self) -> usize {
        self.net.borrow().adapters[self.me].registrations
    }
}

impl Net {
    fn draw(&mut self, below: usize) -> usize {
        // xorshift64*
        self.draws ^= self.draws >> 12;
        self.draws ^= self.draws << 25;
        self.draws ^= self.draws >> 27;
        let draw = self.draws.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33;
        usize::try_from(draw).unwrap() % below
    }

    fn fault(&mut self, adapter: usize, what: &str) {
        self.faults.push(format!("adapter {adapter}: {what}"));
    }
}

impl State {
    fn number(&mut self) -> u32 {
        self.numbers += 1;
        self.numbers
    }

    /// Registered bytes.
    fn registered(&self) -> u64 {
        self.regions
            .values()
            .map(|region| region.region.length)
            .sum()
    }
}

fn attributes(me: usize, abilities: &Abilities) -> DeviceAttributes {
    DeviceAttributes {
        name: format!("memory{me}"),
        fw_ver: String::new(),
        node_guid: me as u64,
        max_mr_size: u64::MAX,
        max_mr: 1 << 16,
        max_pd: 16,
        max_qp: 1 << 16,
        max_qp_wr: abilities.max_qp_wr,
        max_sge: 4,
        max_cq: 1 << 10,
        max_cqe: abilities.max_cqe,
        max_qp_rd_atom: abilities.max_rd_atomic.into(),
        max_qp_init_rd_atom: abilities.max_rd_atomic.into(),
        atomic_cap: AtomicCap::Hca,
        local_ca_ack_delay: 15,
        phys_port_cnt: 1,
    }
}

const MTU: Mtu = Mtu::Mtu4096;
