//! Promise: unreliable datagrams arrive behind 40 bytes with the number of their sender, or not at
//! all; a local error of a send leads to SQE, one of a receive to ERR.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use rdma::wire::{Extension, Packet};
use rdma::{
    Access, AdapterHost, AdapterPort, AddressVector, AsyncEvent, ChannelAdapter, CompletionQueue,
    DatagramRequest, DeviceAttributes, Gid, GidType, LinkLayer, LocalAdapter, MemoryRegion, Mtu,
    Operation, Payload, QpCapabilities, QpInitAttributes, QpModify, QpState, QueuePair,
    RecvRequest, RegionMemory, SendFlags, SendRequest, SoftAdapterSettings, Verbs, WcStatus,
    WorkCompletion,
};

/// Time stands still.
#[derive(Clone)]
struct NoClock;

impl AdapterHost for NoClock {
    fn now(&self) -> u64 {
        0
    }

    fn ring_doorbell(&self) {}
}

const QKEY: u32 = 0x1234;
/// The MTU of the ports.
const MTU: u32 = 256;

struct TestHost {
    adapter: Rc<RefCell<ChannelAdapter>>,
    verbs: LocalAdapter<NoClock>,
    cq: CompletionQueue,
    qp: QueuePair,
    region: MemoryRegion,
    received: Cell<u64>,
}

impl TestHost {
    /// Returns a node in RTS.
    fn new(number: u16) -> Self {
        let port = AdapterPort {
            link_layer: LinkLayer::InfiniBand,
            mtu: Mtu::Mtu256,
            lid: number + 1,
            gid: (Gid::default(), GidType::Ib),
        };
        let attributes = DeviceAttributes::of_model("ud", number.into());
        let adapter = ChannelAdapter::new(attributes, port, SoftAdapterSettings::default());
        let adapter = Rc::new(RefCell::new(adapter));
        let verbs = LocalAdapter::new(Rc::clone(&adapter), NoClock);
        let pd = verbs.alloc_pd().expect("a domain");
        let cq = verbs.create_cq(64).expect("a queue");
        let init = QpInitAttributes {
            pd,
            send_cq: cq,
            recv_cq: cq,
            cap: QpCapabilities {
                max_inline_data: 64,
                ..QpCapabilities::default()
            },
            sq_sig_all: false,
        };
        let qp = verbs.create_datagram_qp(&init);
        let bytes = (0..1024).map(|at| (at % 251) as u8).collect();
        let memory = RegionMemory::Owned(bytes);
        let this = Self {
            region: verbs.reg_mr(pd, memory, Access::ALL).expect("memory"),
            adapter,
            verbs,
            cq,
            qp: qp.expect("a queue pair"),
            received: Cell::new(0),
        };
        this.modify(&QpModify {
            pkey_index: Some(0),
            port_num: Some(1),
            qkey: Some(QKEY),
            ..QpModify::to_state(QpState::Init)
        });
        this.modify(&QpModify::to_state(QpState::Rtr));
        this.modify(&QpModify {
            sq_psn: Some(0xFF_FFFF),
            ..QpModify::to_state(QpState::Rts)
        });
        this
    }

    fn modify(&self, modify: &QpModify) {
        let modified = self.verbs.modify_qp(self.qp, modify);
        modified.expect("a legal transition");
    }

    fn state(&self) -> QpState {
        let attributes = self.verbs.query_qp(self.qp);
        attributes.expect("a queue pair").qp_state
    }

    /// Posts a receive of `length` bytes at offset 512.
    fn post_recv(&self, length: u32) {
        let request = RecvRequest {
            wr_id: 100 + self.received.replace(self.received.get() + 1),
            sges: &[self.region.sge(512, length)],
        };
        let posted = self.verbs.post_recv(self.qp, &[request]);
        posted.expect("room");
    }

    fn send(
        &self,
        wr_id: u64,
        payload: Payload<'_>,
        change: impl FnOnce(&mut DatagramRequest<'_>),
    ) {
        let mut request = DatagramRequest {
            wr_id,
            imm_data: None,
            payload,
            flags: SendFlags::SIGNALED,
            address: AddressVector {
                dlid: 2,
                sl: 0,
                grh: None,
                port_num: 1,
            },
            remote_qpn: self.qp.qp_num,
            remote_qkey: QKEY,
        };
        change(&mut request);
        let posted = self.adapter.borrow_mut().post_datagram(self.qp, &[request]);
        posted.expect("room");
    }

    /// Sends the first bytes of the memory.
    fn send_bytes(&self, wr_id: u64, length: u32) {
        self.send(wr_id, Payload::Sges(&[self.region.sge(0, length)]), |_| {});
    }

    /// Carries all packets to another node; returns their numbers.
    fn carry(&self, to: &Self) -> Vec<u32> {
        let (mut payload, mut numbers) = (Vec::new(), Vec::new());
        while let Some(sent) = self.adapter.borrow_mut().next_packet(0, &mut payload) {
            assert_eq!(sent.address.dlid, 2);
            let (Extension::Deth(deth) | Extension::DethImmediate(deth, _)) = sent.extension else {
                panic!("{sent:?}");
            };
            assert_eq!(deth.source_qp, self.qp.qp_num);
            let packet = Packet::new(sent.bth, sent.extension, &payload);
            to.adapter.borrow_mut().handle_packet(0, &packet);
            numbers.push(sent.bth.psn.get());
            payload.clear();
        }
        // Nothing is acknowledged.
        assert_eq!(to.adapter.borrow_mut().next_packet(0, &mut payload), None);
        assert_eq!(self.adapter.borrow_mut().next_timeout(), None);
        numbers
    }

    fn poll(&self) -> Vec<WorkCompletion> {
        let mut completions = Vec::new();
        let polled = self.verbs.poll_cq(self.cq, 64, &mut completions);
        polled.expect("no overflow");
        completions
    }

    fn statuses(&self) -> Vec<(u64, WcStatus)> {
        let completions = self.poll();
        let completions = completions.iter();
        completions.map(|one| (one.wr_id, one.status)).collect()
    }

    fn memory(&self, offset: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        let read = self.verbs.read_mr(&self.region, offset, &mut bytes);
        read.expect("within the region");
        bytes
    }
}

fn connected_hosts() -> (TestHost, TestHost) {
    (TestHost::new(0), TestHost::new(1))
}

#[test]
fn a_datagram_arrives_behind_40_bytes() {
    let (one, other) = connected_hosts();
    let before = other.memory(512, 40);
    other.post_recv(40 + MTU);
    other.post_recv(64);
    one.send_bytes(1, MTU);
    one.send(2, Payload::Inline(&[7; 3]), |request| {
        request.imm_data = Some(9);
    });
    // The sequence number wraps.
    assert_eq!(one.carry(&other), [0xFF_FFFF, 0]);
    assert_eq!(
        one.statuses(),
        [(1, WcStatus::Success), (2, WcStatus::Success)]
    );
    let received = other.poll();
    let heads: Vec<_> = received
        .iter()
        .map(|one| (one.wr_id, one.byte_len, one.imm_data, one.src_qp))
        .collect();
    let source = Some(one.qp.qp_num);
    assert_eq!(
        heads,
        [(100, 296, None, source), (101, 43, Some(9), source)]
    );
    assert_eq!(other.memory(512, 40), before);
    assert_eq!(other.memory(552, 3), [7; 3]);
    assert_eq!(other.memory(555, 253), one.memory(3, 253));
}

#[test]
fn a_wrong_qkey_and_a_missing_receive_drop() {
    let (one, other) = connected_hosts();
    one.send_bytes(1, 8);
    assert_eq!(one.carry(&other).len(), 1);
    other.post_recv(64);
    let bytes = Payload::Inline(&[1; 8]);
    one.send(2, bytes, |request| request.remote_qkey = QKEY + 1);
    assert_eq!(one.carry(&other).len(), 1);
    assert_eq!(other.poll(), []);
    // The highest bit asks for the Q_Key of the own queue pair.
    one.send(3, bytes, |request| request.remote_qkey = 1 << 31);
    assert_eq!(one.carry(&other).len(), 1);
    assert_eq!(other.statuses(), [(100, WcStatus::Success)]);
    assert!(one.poll().iter().all(|one| one.status.is_success()));
}

#[test]
fn failed_sends_lead_to_sqe_and_receives_go_on() {
    let (one, other) = connected_hosts();
    one.post_recv(64);
    one.send_bytes(1, MTU + 1);
    one.send_bytes(2, 8);
    assert_eq!(one.carry(&other), [0; 0]);
    let lost = [(1, WcStatus::LocLenErr), (2, WcStatus::WrFlushErr)];
    assert_eq!(one.statuses(), lost);
    assert_eq!(one.state(), QpState::Sqe);
    one.send_bytes(3, 8);
    assert_eq!(one.statuses(), [(3, WcStatus::WrFlushErr)]);
    other.send_bytes(1, 8);
    assert_eq!(other.carry(&one).len(), 1);
    assert_eq!(one.statuses(), [(100, WcStatus::Success)]);
    one.modify(&QpModify::to_state(QpState::Rts));
    let sge = rdma::Sge {
        lkey: !one.region.lkey,
        ..one.region.sge(0, 8)
    };
    one.send_bytes(4, 8);
    one.send(5, Payload::Sges(&[sge]), |_| {});
    assert_eq!(one.carry(&other).len(), 1);
    let sent = [(4, WcStatus::Success), (5, WcStatus::LocProtErr)];
    assert_eq!(one.statuses(), sent);
    assert_eq!(one.state(), QpState::Sqe);
}

#[test]
fn a_short_receive_ends_the_queue_pair() {
    let (one, other) = connected_hosts();
    other.post_recv(47);
    other.post_recv(64);
    one.send_bytes(1, 8);
    one.send_bytes(2, 8);
    assert_eq!(one.carry(&other).len(), 2);
    let lost = [(100, WcStatus::LocLenErr), (101, WcStatus::WrFlushErr)];
    assert_eq!(other.statuses(), lost);
    assert_eq!(other.state(), QpState::Err);
    assert_eq!(one.state(), QpState::Rts);
}

#[test]
fn draining_sends_what_was_posted_before() {
    let (one, other) = connected_hosts();
    one.send_bytes(1, 8);
    one.modify(&QpModify {
        en_sqd_async_notify: Some(true),
        ..QpModify::to_state(QpState::Sqd)
    });
    one.send_bytes(2, 8);
    assert_eq!(one.verbs.get_async_event(), Ok(None));
    assert_eq!(one.carry(&other).len(), 1);
    let event = one.verbs.get_async_event();
    assert_eq!(event, Ok(Some(AsyncEvent::SqDrained(one.qp))));
    one.modify(&QpModify::to_state(QpState::Rts));
    assert_eq!(one.carry(&other).len(), 1);
}

#[test]
fn requests_of_the_other_service_are_refused() {
    let (one, _) = connected_hosts();
    let request = SendRequest {
        wr_id: 1,
        operation: Operation::Send,
        payload: Payload::Inline(&[1]),
        flags: SendFlags::SIGNALED,
    };
    let refused = one.verbs.post_send(one.qp, &[request]);
    let refused = refused.map_err(|refused| refused.error.to_string());
    let expected = "a queue pair of UD sends datagram requests";
    assert_eq!(refused, Err(expected.to_owned()));
}
