//! An adapter under attack: any bytes, read as calls of the program and packets of a peer, in any
//! state of its queue pairs. The fuzz target of `crates/rdma/fuzz` uses this module, and so does a
//! test that replays and damages the corpus.
//!
//! Two queue pairs of one adapter are connected to each other, so that valid packets arrive too: a
//! packet waits until a command delivers the packet, changed or not. A third queue pair sends
//! datagrams to itself.
//!
//! *Not decided here*: the answers of the adapter, which `pair` and the dialogues check.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use rdma::wire::{
    Aeth, AtomicEth, Bth, Deth, Extension, Layout, Nak, Opcode, Packet, Reth, Syndrome,
};
use rdma::{
    Access, AddressVector, ChannelAdapter, CompletionQueue, ConnectionAttributes, DatagramRequest,
    DeviceAttributes, Endpoint, LocalAdapter, MemoryRegion, Mtu, Operation, Payload, Psn,
    QpCapabilities, QpInitAttributes, QpModify, QpState, QueuePair, RecvRequest, RegionMemory,
    SendFlags, SendRequest, SoftAdapterSettings, Verbs, connect, prepare,
};

use crate::adapter::{Clock, port};

/// Bytes that are read as decisions; zeros behind their end.
struct Decisions<'a>(&'a [u8]);

impl Decisions<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    fn draw_below(&mut self, limit: u8) -> u8 {
        self.byte() % limit
    }

    fn draw_word(&mut self) -> u32 {
        u32::from_be_bytes([self.byte(), self.byte(), self.byte(), self.byte()])
    }
}

/// The adapter and the objects that a program has created on the adapter.
struct Attacked {
    now: Rc<Cell<u64>>,
    adapter: Rc<RefCell<ChannelAdapter>>,
    verbs: LocalAdapter<Clock>,
    cq: CompletionQueue,
    qps: [QueuePair; 2],
    datagram_qp: QueuePair,
    ends: [Endpoint; 2],
    options: ConnectionAttributes,
    region: MemoryRegion,
    /// Packets that have left.
    sent: Vec<Vec<u8>>,
}

/// The first packet sequence number, chosen so that the sequence wraps soon.
const START: u32 = Psn::MODULUS - 4;

/// Bytes of registered memory.
const LENGTH: u32 = 2048;

/// The most packets that an adapter sends without a call or a packet in between.
const BURST_MAX: usize = 10_000;

/// Reads bytes as calls and packets.
///
/// # Panics
/// If the adapter panics, sends a packet that cannot be read, or does not stop to send.
pub fn any_packets(bytes: &[u8]) {
    let mut decisions = Decisions(bytes);
    let mut attacked = Attacked::new(&mut decisions);
    while !decisions.0.is_empty() {
        attacked.take_step(&mut decisions);
    }
    attacked.drain();
}

impl Attacked {
    fn new(decisions: &mut Decisions<'_>) -> Self {
        let kind = decisions.byte();
        let settings = SoftAdapterSettings {
            window: u32::from(kind & 7) + 1,
            credits: kind & 8 != 0,
            strong_fence: kind & 16 != 0,
            completion_delay: u64::from(kind & 32) * 1000,
            doorbell_delay: u64::from(kind & 64) * 1000,
            max_message: 1 << 16,
            ..SoftAdapterSettings::default()
        };
        let attributes = DeviceAttributes::of_model("attacked", 1);
        let adapter = ChannelAdapter::new(attributes, port(0), settings);
        let adapter = Rc::new(RefCell::new(adapter));
        let now = Rc::new(Cell::new(0));
        let verbs = LocalAdapter::new(Rc::clone(&adapter), Clock(Rc::clone(&now)));
        let pd = verbs.alloc_pd().expect("a domain");
        let cq = verbs.create_cq(16).expect("a queue");
        let init = QpInitAttributes {
            pd,
            send_cq: cq,
            recv_cq: cq,
            cap: QpCapabilities {
                max_inline_data: 64,
                ..QpCapabilities::default()
            },
            sq_sig_all: kind & 128 != 0,
        };
        let qps = [(); 2].map(|()| verbs.create_qp(&init).expect("a queue pair"));
        let datagram_qp = verbs.create_datagram_qp(&init);
        let memory = RegionMemory::Zeroed(LENGTH.into());
        let region = verbs.reg_mr(pd, memory, Access::ALL).expect("memory");
        let options = ConnectionAttributes {
            path_mtu: Some(Mtu::Mtu256),
            max_rd_atomic: 2,
            retry_cnt: 2,
            rnr_retry: 2,
            ..ConnectionAttributes::default()
        };
        let ends = qps.map(|qp| prepare(&verbs, qp, &options, START).expect("INIT"));
        let mut this = Self {
            now,
            adapter,
            verbs,
            cq,
            qps,
            datagram_qp: datagram_qp.expect("a queue pair"),
            ends,
            options,
            region,
            sent: Vec::new(),
        };
        this.open_datagrams();
        for side in 0..2 {
            if decisions.byte() != 255 {
                this.connect_side(side);
            }
        }
        this
    }

    fn connect_side(&mut self, side: usize) {
        let (local, remote) = (&self.ends[side], &self.ends[1 - side]);
        let qp = self.qps[side];
        // A queue pair in another state refuses.
        let _ = connect(&self.verbs, qp, &self.options, local, remote);
    }

    /// Brings the queue pair of datagrams from RESET to RTS.
    fn open_datagrams(&mut self) {
        let to_init = QpModify {
            pkey_index: Some(0),
            port_num: Some(1),
            qkey: Some(0),
            ..QpModify::to_state(QpState::Init)
        };
        let to_rts = QpModify {
            sq_psn: Some(START),
            ..QpModify::to_state(QpState::Rts)
        };
        for modify in [to_init, QpModify::to_state(QpState::Rtr), to_rts] {
            let modified = self.verbs.modify_qp(self.datagram_qp, &modify);
            modified.expect("a legal transition");
        }
    }

    /// Returns one of the three queue pairs.
    fn any_qp(&self, decisions: &mut Decisions<'_>) -> QueuePair {
        let [one, other] = self.qps;
        [one, other, self.datagram_qp][usize::from(decisions.draw_below(3))]
    }

    fn take_step(&mut self, decisions: &mut Decisions<'_>) {
        let side = usize::from(decisions.draw_below(2));
        match decisions.draw_below(13) {
            0 | 1 => self.post_send(side, decisions),
            2 => self.post_recv(decisions),
            3 => self.drain(),
            4 | 5 => self.deliver_packet(decisions),
            6 => self.forged(decisions),
            7 => self.raw(decisions),
            8 => self.pass_time(),
            9 => self.modify(decisions),
            10 => {
                let mut completions = Vec::new();
                // An overflow makes the queue unusable.
                let _ = self.verbs.poll_cq(self.cq, 4, &mut completions);
            }
            11 => self.restart(side),
            _ => self.post_datagram(decisions),
        }
    }

    /// Returns an address and a key that are valid more often than not.
    fn draw_address(&self, decisions: &mut Decisions<'_>) -> (u64, u32) {
        let offset = u64::from(decisions.byte()) * 8;
        match decisions.draw_below(8) {
            0 => (self.region.addr + offset, !self.region.rkey),
            1 => (u64::MAX - offset, self.region.rkey),
            2 => (self.region.addr + offset + 1, self.region.rkey),
            _ => (self.region.addr + offset, self.region.rkey),
        }
    }

    fn post_send(&mut self, side: usize, decisions: &mut Decisions<'_>) {
        let (remote_addr, rkey) = self.draw_address(decisions);
        let number = decisions.draw_word();
        let operation = match decisions.draw_below(7) {
            0 => Operation::Send,
            1 => Operation::SendWithImm(number),
            2 => Operation::RdmaWrite { remote_addr, rkey },
            3 => Operation::RdmaWriteWithImm {
                remote_addr,
                rkey,
                imm_data: number,
            },
            4 => Operation::RdmaRead { remote_addr, rkey },
            5 => Operation::AtomicCmpAndSwp {
                remote_addr,
                rkey,
                compare: 0,
                swap: number.into(),
            },
            _ => Operation::AtomicFetchAndAdd {
                remote_addr,
                rkey,
                add: number.into(),
            },
        };
        let flags = decisions.byte();
        let length = u32::from(decisions.byte()) * if flags & 8 == 0 { 1 } else { 8 };
        let length = if flags & 16 == 0 { length } else { 8 };
        let sges = [self.region.sge((flags >> 5).into(), length)];
        let inline = [7; 64];
        let payload = if flags & 4 == 0 {
            Payload::Sges(&sges)
        } else {
            Payload::Inline(&inline[..length.min(64) as usize])
        };
        let request = SendRequest {
            wr_id: number.into(),
            operation,
            payload,
            flags: SendFlags {
                signaled: flags & 1 != 0,
                fence: flags & 2 != 0,
                solicited: flags & 32 != 0,
            },
        };
        // A full queue and a state without sends refuse.
        let _ = self.verbs.post_send(self.qps[side], &[request]);
    }

    fn post_recv(&mut self, decisions: &mut Decisions<'_>) {
        let qp = self.any_qp(decisions);
        let sges = [self.region.sge(0, u32::from(decisions.byte()) * 4)];
        let request = RecvRequest {
            wr_id: 1,
            sges: &sges,
        };
        let _ = self.verbs.post_recv(qp, &[request]);
    }

    fn post_datagram(&mut self, decisions: &mut Decisions<'_>) {
        let sges = [self.region.sge(0, u32::from(decisions.byte()))];
        let request = DatagramRequest {
            wr_id: 1,
            imm_data: (decisions.byte() & 1 != 0).then_some(5),
            payload: Payload::Sges(&sges),
            flags: SendFlags::SIGNALED,
            address: AddressVector {
                dlid: 1,
                sl: 0,
                grh: None,
                port_num: 1,
            },
            remote_qpn: self.datagram_qp.qp_num,
            remote_qkey: u32::from(decisions.byte()) / 128,
        };
        let mut adapter = self.adapter.borrow_mut();
        // Another state than RTS refuses.
        let _ = adapter.post_datagram(self.datagram_qp, &[request]);
    }

    /// Takes all packets that leave now.
    fn drain(&mut self) {
        let mut payload = Vec::new();
        for _ in 0..BURST_MAX {
            payload.clear();
            let mut adapter = self.adapter.borrow_mut();
            let Some(sent) = adapter.next_packet(self.now.get(), &mut payload) else {
                return;
            };
            let mut bytes = Vec::new();
            Packet::new(sent.bth, sent.extension, &payload).emit(&mut bytes);
            assert!(payload.len() <= Mtu::Mtu4096.bytes() as usize, "{sent:?}");
            Packet::parse(&bytes).expect("what an adapter sends can be read");
            if self.sent.len() < 64 {
                self.sent.push(bytes);
            }
        }
        panic!("the adapter does not stop to send");
    }

    fn handle_packet(&mut self, bytes: &[u8]) {
        if let Ok(packet) = Packet::parse(bytes) {
            let now = self.now.get();
            self.adapter.borrow_mut().handle_packet(now, &packet);
        }
    }

    /// Delivers a packet of the other queue pair, sometimes with one byte changed or kept to be
    /// delivered again.
    fn deliver_packet(&mut self, decisions: &mut Decisions<'_>) {
        if self.sent.is_empty() {
            return self.drain();
        }
        let at = usize::from(decisions.byte()) % self.sent.len();
        let how = decisions.draw_below(8);
        let mut bytes = if how == 0 {
            self.sent[at].clone()
        } else {
            self.sent.remove(at)
        };
        if how == 1 {
            let place = usize::from(decisions.byte()) % bytes.len();
            bytes[place] = decisions.byte();
        }
        self.handle_packet(&bytes);
    }

    /// Delivers a packet of any opcode near the expected sequence number.
    fn forged(&mut self, decisions: &mut Decisions<'_>) {
        let qp = self.any_qp(decisions);
        let code = usize::from(decisions.byte());
        let opcode = Opcode::ALL[code % Opcode::ALL.len()];
        let psn = Psn::new(START)
            .plus(decisions.byte().into())
            .plus(Psn::MODULUS - 16);
        let mut bth = Bth::new(opcode, qp.qp_num, psn);
        bth.ack_request = decisions.byte() & 1 != 0;
        let extension = self.extension(opcode.layout(), decisions);
        let payload = [9; 512];
        let length = usize::from(decisions.byte()) * 2;
        let packet = Packet::new(bth, extension, &payload[..length]);
        let mut bytes = Vec::new();
        packet.emit(&mut bytes);
        self.handle_packet(&bytes);
    }

    fn extension(&self, layout: Layout, decisions: &mut Decisions<'_>) -> Extension {
        let (address, rkey) = self.draw_address(decisions);
        let number = decisions.draw_word();
        let reth = Reth {
            address,
            rkey,
            length: number % (2 * LENGTH),
        };
        let syndrome = match number >> 30 {
            0 => Syndrome::Ack((number & 31) as u8),
            1 => Syndrome::RnrNak((number & 31) as u8),
            2 => Syndrome::Nak(Nak::SequenceError),
            _ => Syndrome::Nak(Nak::RemoteAccess),
        };
        let aeth = Aeth {
            syndrome,
            msn: number & 0xFF,
        };
        let deth = Deth {
            qkey: number & 1,
            source_qp: number & 0x00FF_FFFF,
        };
        match layout {
            Layout::None => Extension::None,
            Layout::Immediate => Extension::Immediate(number),
            Layout::Ieth => Extension::Ieth(number),
            Layout::Reth => Extension::Reth(reth),
            Layout::RethImmediate => Extension::RethImmediate(reth, number),
            Layout::Aeth => Extension::Aeth(aeth),
            Layout::AtomicAck => Extension::AtomicAck(aeth, number.into()),
            Layout::AtomicEth => Extension::AtomicEth(AtomicEth {
                address,
                rkey,
                swap_or_add: number.into(),
                compare: 0,
            }),
            Layout::Deth => Extension::Deth(deth),
            Layout::DethImmediate => Extension::DethImmediate(deth, number),
        }
    }

    /// Delivers bytes as they are.
    fn raw(&mut self, decisions: &mut Decisions<'_>) {
        let length = usize::from(decisions.draw_below(64)).min(decisions.0.len());
        let (bytes, rest) = decisions.0.split_at(length);
        let bytes = bytes.to_vec();
        decisions.0 = rest;
        self.handle_packet(&bytes);
    }

    /// Lets the next timer expire.
    fn pass_time(&mut self) {
        let next = self.adapter.borrow_mut().next_timeout();
        if let Some(next) = next {
            self.now.set(next.max(self.now.get()));
            self.adapter.borrow_mut().handle_timeout(self.now.get());
        }
    }

    /// Changes the state, with attributes that may not be legal.
    fn modify(&mut self, decisions: &mut Decisions<'_>) {
        let qp = self.any_qp(decisions);
        let state = QpState::ALL[usize::from(decisions.draw_below(7))];
        let bits = decisions.byte();
        let modify = QpModify {
            en_sqd_async_notify: (bits & 1 != 0).then_some(true),
            timeout: (bits & 2 != 0).then_some(bits >> 2),
            max_rd_atomic: (bits & 4 != 0).then_some(bits >> 3),
            min_rnr_timer: (bits & 8 != 0).then_some(bits >> 4),
            ..QpModify::to_state(state)
        };
        let _ = self.verbs.modify_qp(qp, &modify);
    }

    /// Brings a queue pair over RESET into use again.
    fn restart(&mut self, side: usize) {
        let reset = QpModify::to_state(QpState::Reset);
        self.verbs
            .modify_qp(self.qps[side], &reset)
            .expect("RESET is legal from any state");
        let qp = self.qps[side];
        let end = prepare(&self.verbs, qp, &self.options, START);
        self.ends[side] = end.expect("RESET to INIT is legal");
        self.connect_side(side);
        let modified = self.verbs.modify_qp(self.datagram_qp, &reset);
        modified.expect("RESET is legal from any state");
        self.open_datagrams();
    }
}
