//! Number of packets per second that a requester and a responder exchange without a network:
//! requests and acknowledgements, each made by one adapter and taken by the other.

use std::cell::RefCell;
use std::hint::black_box;
use std::rc::Rc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rdma::wire::Packet;
use rdma::{
    Access, AdapterHost, AdapterPort, ChannelAdapter, CompletionQueue, ConnectionAttributes,
    DeviceAttributes, Gid, GidType, LinkLayer, LocalAdapter, MemoryRegion, Mtu, Operation, Payload,
    QpCapabilities, QpInitAttributes, QueuePair, RecvRequest, RegionMemory, SendFlags, SendRequest,
    SoftAdapterSettings, Verbs, connect, prepare,
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

struct BenchHost {
    adapter: Rc<RefCell<ChannelAdapter>>,
    verbs: LocalAdapter<NoClock>,
    cq: CompletionQueue,
    qp: QueuePair,
    region: MemoryRegion,
}

/// Bytes of registered memory, and the longest message.
const LENGTH: u32 = 1 << 16;

impl BenchHost {
    fn new(number: u8) -> Self {
        let port = AdapterPort {
            link_layer: LinkLayer::InfiniBand,
            mtu: Mtu::Mtu4096,
            lid: u16::from(number) + 1,
            gid: (Gid::default(), GidType::Ib),
        };
        let attributes = DeviceAttributes::of_model("bench", number.into());
        let adapter = ChannelAdapter::new(attributes, port, SoftAdapterSettings::default());
        let adapter = Rc::new(RefCell::new(adapter));
        let verbs = LocalAdapter::new(Rc::clone(&adapter), NoClock);
        let pd = verbs.alloc_pd().expect("a domain");
        let cq = verbs.create_cq(1024).expect("a queue");
        let init = QpInitAttributes {
            pd,
            send_cq: cq,
            recv_cq: cq,
            cap: QpCapabilities::default(),
            sq_sig_all: false,
        };
        let qp = verbs.create_qp(&init).expect("a queue pair");
        let memory = RegionMemory::Zeroed(LENGTH.into());
        let region = verbs.reg_mr(pd, memory, Access::ALL).expect("memory");
        Self {
            adapter,
            verbs,
            cq,
            qp,
            region,
        }
    }
}

/// Two connected queue pairs.
struct Pair {
    nodes: [BenchHost; 2],
    payload: Vec<u8>,
}

impl Pair {
    fn new(mtu: Mtu) -> Self {
        let nodes = [0, 1].map(BenchHost::new);
        let options = ConnectionAttributes {
            path_mtu: Some(mtu),
            ..ConnectionAttributes::default()
        };
        let [one, other] = [0, 1].map(|number: usize| {
            let node = &nodes[number];
            prepare(&node.verbs, node.qp, &options, 0).expect("INIT")
        });
        for (node, (local, remote)) in nodes.iter().zip([(&one, &other), (&other, &one)]) {
            connect(&node.verbs, node.qp, &options, local, remote).expect("RTS");
        }
        Self {
            nodes,
            payload: Vec::new(),
        }
    }

    /// Executes work requests one batch after another; returns the number of packets.
    fn run(&mut self, operation: Operation, length: u32, batch: u64) -> u64 {
        let [sender, receiver] = &self.nodes;
        let sges = [sender.region.sge(0, length)];
        for wr_id in 0..batch {
            if operation.consumes_receive() {
                let sges = [receiver.region.sge(0, LENGTH)];
                let request = RecvRequest { wr_id, sges: &sges };
                let posted = receiver.verbs.post_recv(receiver.qp, &[request]);
                posted.expect("room");
            }
            let request = SendRequest {
                wr_id,
                operation,
                payload: Payload::Sges(&sges),
                flags: SendFlags::SIGNALED,
            };
            let posted = sender.verbs.post_send(sender.qp, &[request]);
            posted.expect("room");
        }
        let packets = self.exchange();
        let mut completions = Vec::new();
        for node in &self.nodes {
            let polled = node.verbs.poll_cq(node.cq, 1024, &mut completions);
            polled.expect("no overflow");
        }
        assert!(completions.iter().all(|one| one.status.is_success()));
        packets
    }

    /// Carries packets to and fro until there are none.
    fn exchange(&mut self) -> u64 {
        let mut packets = 0;
        loop {
            let before = packets;
            for from in [0, 1] {
                let mut sender = self.nodes[from].adapter.borrow_mut();
                let mut receiver = self.nodes[1 - from].adapter.borrow_mut();
                self.payload.clear();
                while let Some(sent) = sender.next_packet(0, &mut self.payload) {
                    let packet = Packet::new(sent.bth, sent.extension, &self.payload);
                    receiver.handle_packet(0, black_box(&packet));
                    packets += 1;
                    self.payload.clear();
                }
            }
            if packets == before {
                return packets;
            }
        }
    }
}

fn measure(
    criterion: &mut Criterion,
    name: &str,
    (mtu, length, batch): (Mtu, u32, u64),
    operation: fn(&MemoryRegion) -> Operation,
) {
    let mut pair = Pair::new(mtu);
    let operation = operation(&pair.nodes[1].region);
    let packets = pair.run(operation, length, batch);
    let mut group = criterion.benchmark_group("packets");
    group.throughput(Throughput::Elements(packets));
    group.bench_function(name, |bencher| {
        bencher.iter(|| pair.run(operation, length, batch));
    });
    group.finish();
}

fn benches(criterion: &mut Criterion) {
    let write = |region: &MemoryRegion| Operation::RdmaWrite {
        remote_addr: region.addr,
        rkey: region.rkey,
    };
    let read = |region: &MemoryRegion| Operation::RdmaRead {
        remote_addr: region.addr,
        rkey: region.rkey,
    };
    let add = |region: &MemoryRegion| Operation::AtomicFetchAndAdd {
        remote_addr: region.addr,
        rkey: region.rkey,
        add: 1,
    };
    let long = (Mtu::Mtu256, LENGTH, 4);
    measure(criterion, "writes of 256 packets of 256 bytes", long, write);
    measure(criterion, "reads of 256 packets of 256 bytes", long, read);
    let large = (Mtu::Mtu4096, LENGTH, 16);
    measure(
        criterion,
        "writes of 16 packets of 4096 bytes",
        large,
        write,
    );
    let small = (Mtu::Mtu256, 8, 16);
    measure(criterion, "sends of 8 bytes", small, |_| Operation::Send);
    measure(criterion, "fetch-and-adds", small, add);
}

criterion_group!(all, benches);
criterion_main!(all);
