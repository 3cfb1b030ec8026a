//! Costs of adapters: each term of the latency alone, and the limits of the throughput.

use models::packet::{
    AdapterCosts, AdapterLimits, FifoServer, PcieCosts, ResponderOperation, SendShape,
    adapter_throughput,
};

/// Costs with one term, in picoseconds.
type Term = (&'static str, fn(&mut AdapterCosts) -> &mut u64);

const TERMS: [Term; 13] = [
    ("post", |costs| &mut costs.post),
    ("mmio", |costs| &mut costs.mmio),
    ("wqe_read", |costs| &mut costs.wqe_read),
    ("dma_read", |costs| &mut costs.dma_read),
    ("dma_read_gap", |costs| &mut costs.dma_read_gap),
    ("dma_write", |costs| &mut costs.dma_write),
    ("cqe_write", |costs| &mut costs.cqe_write),
    ("poll", |costs| &mut costs.poll),
    ("tx_pkt", |costs| &mut costs.tx_pkt),
    ("rx_pkt", |costs| &mut costs.rx_pkt),
    ("tx_wqe", |costs| &mut costs.tx_wqe),
    ("atomic_unit", |costs| &mut costs.atomic_unit),
    ("qp_miss", |costs| &mut costs.qp_miss),
];

/// Returns the names of the terms that a latency contains, once each, or twice with "2 ".
fn terms(latency: &dyn Fn(&AdapterCosts) -> u64) -> Vec<String> {
    assert_eq!(
        latency(&AdapterCosts::default()),
        450_080,
        "the network alone"
    );
    let mut found = Vec::new();
    for (name, term) in TERMS {
        let mut costs = AdapterCosts::default();
        *term(&mut costs) = 1_000;
        match latency(&costs) - 450_080 {
            0 => {}
            1_000 => found.push(name.to_owned()),
            2_000 => found.push(format!("2 {name}")),
            other => panic!("{name} counts for {other} ps"),
        }
    }
    found
}

fn shape(is_inline: bool, is_blueflame: bool) -> SendShape {
    SendShape {
        first_bytes: 64,
        last_bytes: 64,
        is_inline,
        is_blueflame,
    }
}

#[test]
fn each_term_of_a_send_is_there_once() {
    let send = |is_inline, is_blueflame| {
        terms(&|costs| costs.send_latency(shape(is_inline, is_blueflame), 450_080))
    };
    let always = [
        "dma_write",
        "cqe_write",
        "poll",
        "tx_pkt",
        "rx_pkt",
        "tx_wqe",
    ];
    let with = |first: &[&str]| -> Vec<String> {
        first
            .iter()
            .chain(&always)
            .map(|name| (*name).to_owned())
            .collect()
    };
    assert_eq!(
        send(false, false),
        with(&["post", "mmio", "wqe_read", "dma_read"])
    );
    assert_eq!(send(false, true), with(&["post", "mmio", "dma_read"]));
    assert_eq!(send(true, false), with(&["post", "mmio", "wqe_read"]));
    assert_eq!(send(true, true), with(&["post", "mmio"]));
}

#[test]
fn a_read_and_an_atomic_go_there_and_back() {
    let round_trip =
        |operation| terms(&|costs| costs.round_trip(operation, true, (200_080, 250_000), (64, 64)));
    let read = ["post", "mmio", "dma_read", "dma_write", "cqe_write", "poll"];
    let both = ["2 tx_pkt", "2 rx_pkt", "tx_wqe"];
    assert_eq!(
        round_trip(ResponderOperation::Read),
        [&read[..], &both].concat()
    );
    let atomic = ["post", "mmio", "dma_write", "cqe_write", "poll"];
    let expected = [&atomic[..], &both, &["atomic_unit"]].concat();
    assert_eq!(round_trip(ResponderOperation::Atomic), expected);
}

#[test]
fn payload_crosses_pcie_at_both_ends() {
    // 8 bytes per ns: 125 ps per byte; 300 bytes are two packets of 24 bytes more.
    let pcie = PcieCosts {
        ps_per_byte: 125,
        ..PcieCosts::default()
    };
    assert_eq!(pcie.time(300), 125 * 348);
    let costs = AdapterCosts {
        pcie,
        ..AdapterCosts::default()
    };
    assert_eq!(costs.send_latency(shape(false, false), 0), 2 * 125 * 88);
    assert_eq!(costs.send_latency(shape(true, false), 0), 125 * 88);
}

#[test]
fn one_doorbell_serves_a_batch() {
    let costs = AdapterCosts {
        post: 10,
        mmio: 200,
        wqe_read: 500,
        ..AdapterCosts::default()
    };
    assert_eq!(costs.batch_time(8, false), 8 * 10 + 200 + 500);
    assert_eq!(costs.batch_time(1, true), 210);
}

/// Checks the throughput of messages with some costs, in bytes per second.
fn check_throughput(costs: AdapterCosts, bytes: u32, expected: f64) {
    let limits = AdapterLimits {
        tx_engines: 2,
        rx_engines: 1,
        outstanding_reads: 16,
        read_bytes: 256,
    };
    let found = adapter_throughput(&costs, &limits, (bytes, 4096), 330_080);
    assert!(
        (found - expected).abs() < 1e-6 * expected,
        "{found} {expected}"
    );
}

#[test]
fn the_tightest_resource_limits_the_throughput() {
    let with = |term: fn(&mut AdapterCosts) -> &mut u64, ps| {
        let mut costs = AdapterCosts::default();
        *term(&mut costs) = ps;
        costs
    };
    let (long, us) = (1 << 20, 1_000_000);
    let link = 4096e12 / 330_080.0;
    check_throughput(AdapterCosts::default(), long, link);
    check_throughput(with(|costs| &mut costs.tx_pkt, us), long, 2.0 * 4.096e9);
    check_throughput(with(|costs| &mut costs.rx_pkt, us), long, 4.096e9);
    check_throughput(with(|costs| &mut costs.dma_read, us), long, 4.096e9);
    check_throughput(with(|costs| &mut costs.dma_read_gap, us / 10), long, 2.56e9);
    // The message rate limits messages of one packet only: 1 M/s of 64 bytes.
    check_throughput(with(|costs| &mut costs.tx_wqe, us), 64, 64e6);
    check_throughput(with(|costs| &mut costs.tx_wqe, us), long, link);
    let pcie = PcieCosts {
        ps_per_byte: 125,
        ..PcieCosts::default()
    };
    let costs = AdapterCosts {
        pcie,
        ..AdapterCosts::default()
    };
    check_throughput(costs, long, 8e9 * 4096.0 / (4096.0 + 16.0 * 24.0));
}

#[test]
fn servers_take_jobs_in_order() {
    let mut one = FifoServer::new(1);
    let ends: Vec<u64> = [0, 10, 100]
        .into_iter()
        .map(|now| one.serve(now, 50))
        .collect();
    assert_eq!(ends, [50, 100, 150]);
    let mut two = FifoServer::new(2);
    let ends: Vec<u64> = [0, 10, 20]
        .into_iter()
        .map(|now| two.serve(now, 50))
        .collect();
    assert_eq!(ends, [50, 60, 100]);
}
