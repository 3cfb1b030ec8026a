//! RoCE: pauses, headroom, DCQCN and hashes of flows.

use models::packet::{
    DcqcnFluid, DcqcnParameters, EcnThresholds, PauseChange, PfcIngress, PfcSettings,
    ReactionPoint, SharedPool, ecmp_choice, flow_hash, murmur3_32,
};

use super::case::{Case, group};

#[test]
fn ingress_accounting_pauses_and_resumes() {
    let settings = PfcSettings {
        buffer_bytes: 100_000,
        reserve_bytes: 1_000,
        headroom_bytes: 5_000,
        shift: 1,
        resume_offset_bytes: 2_000,
        fixed_threshold: None,
        response_ps: 0,
        sends_pauses: true,
    };
    let (mut pool, mut ingress) = (SharedPool::default(), PfcIngress::default());
    pool.add_class(&settings);
    assert_eq!(pool.threshold(&settings), 47_000);
    // s bytes of the pool leave (94 000 - s) / 2 as threshold: they meet at 31 334.
    let mut bytes = 0;
    while ingress.pause_change(&settings, &pool).is_none() {
        assert!(ingress.admit(&settings, &mut pool, 1_000));
        bytes += 1_000;
    }
    assert_eq!(bytes, 33_000);
    // Headroom takes 5000 bytes more, and no 6th packet.
    let mut admitted = 0;
    while ingress.admit(&settings, &mut pool, 1_000) {
        admitted += 1;
    }
    assert_eq!(admitted, 5);
    // It ends when headroom is empty and the pool is 2000 bytes below the threshold.
    let mut released = 0;
    while ingress.pause_change(&settings, &pool) != Some(PauseChange::Resume) {
        ingress.release_bytes(&mut pool, 1_000);
        released += 1_000;
    }
    assert_eq!(released, 5_000 + 2_000);
    while released < 38_000 {
        ingress.release_bytes(&mut pool, 1_000);
        released += 1_000;
    }
    assert_eq!(pool.threshold(&settings), 47_000);
}

/// Returns the reaction point of a case, with the parameters of the paper.
fn reaction_point(case: &Case) -> ReactionPoint {
    let mut parameters = DcqcnParameters::sigcomm15(100e9);
    parameters.gain = case.number("g");
    parameters.byte_counter = None;
    ReactionPoint::new(parameters)
}

/// Returns a reaction point with alpha 1 that is idle from time 0 on.
fn idle(case: &Case) -> ReactionPoint {
    let mut point = reaction_point(case);
    point.on_notification(0);
    point
}

const PERIOD: u64 = 55_000_000;

#[test]
fn dcqcn_reaction_point() {
    for case in group("dcqcn_rp") {
        match case.quantity.as_str() {
            "RC_after_timer_event" => {
                assert_eq!((case.number("T_us"), case.number("line")), (55.0, 100e9));
                let step: u64 = case.id[8..].parse().expect(&case.id);
                let mut point = idle(&case);
                assert!((point.rate() - 50e9).abs() < 1.0);
                point.handle_events(step * PERIOD);
                case.check_relative(point.rate() / 1e9);
            }
            "alpha" if case.has("dce_tcp_g") => {
                let parameters = DcqcnParameters::nvidia(100e9);
                assert!((1.0 - parameters.gain - case.number("dce_tcp_g") / 1024.0).abs() < 1e-15);
                assert!((parameters.initial_alpha - case.number("initial")).abs() < 1e-15);
                let mut point = ReactionPoint::new(parameters);
                point.on_notification(0);
                point.handle_events(4_000_000);
                case.check_absolute(point.alpha());
            }
            "alpha" => {
                let mut point = idle(&case);
                point.handle_events(case.int("idle_periods") * PERIOD);
                case.check_absolute(point.alpha());
            }
            "cut_factor" => {
                let mut point = idle(&case);
                point.handle_events(100 * PERIOD);
                let before = point.rate();
                let factor = point.cut_factor();
                point.on_notification(100 * PERIOD);
                case.check_absolute(point.rate() / before);
                case.check_absolute(factor);
            }
            other => panic!("{}: unknown quantity {other:?}", case.id),
        }
    }
}

#[test]
fn six_notifications_at_alpha_one_leave_a_64th() {
    let mut point = ReactionPoint::new(DcqcnParameters::sigcomm15(100e9));
    for _ in 0..6 {
        point.on_notification(0);
    }
    assert!((point.rate() - 1.5625e9).abs() < 1e-3);
}

#[test]
fn stages_are_fast_then_additive_then_hyper() {
    let mut parameters = DcqcnParameters::sigcomm15(100e9);
    parameters.byte_counter = Some(1_000);
    let mut point = ReactionPoint::new(parameters);
    point.on_notification(0);
    point.on_notification(0);
    // 25 Gb/s, target 50: five steps of fast recovery by bytes.
    point.on_bytes_sent(5_000);
    let fast = 50e9 - 25e9 / 32.0;
    assert!((point.rate() - fast).abs() < 1e-3);
    // The sixth event raises the target by 40 Mb/s.
    point.on_bytes_sent(1_000);
    let additive = (fast + 50.04e9) / 2.0;
    assert!((point.rate() - additive).abs() < 1e-3);
    // Five events of the timer are additive as well, the sixth is hyper: 200 Mb/s.
    point.handle_events(5 * PERIOD);
    let before = point.rate();
    point.handle_events(6 * PERIOD);
    let target = 50e9 + 6.0 * 40e6 + 200e6;
    assert!((point.rate() - (before + target) / 2.0).abs() < 1e-3);
}

#[test]
fn presets_with_intervals_cut_once_per_interval() {
    let mut point = ReactionPoint::new(DcqcnParameters::hpcc(100e9));
    point.on_notification(1_000_000);
    assert!((point.rate() - 50e9).abs() < 1.0);
    point.on_notification(2_000_000);
    point.on_notification(3_000_000);
    point.handle_events(4_999_999);
    assert!((point.rate() - 50e9).abs() < 1.0);
    point.handle_events(5_000_000);
    assert!((20e9..30e9).contains(&point.rate()), "{}", point.rate());
    let preset = |parameters: DcqcnParameters| parameters.preset;
    assert_eq!(preset(DcqcnParameters::nvidia(1e9)), "nvidia");
    assert_eq!(preset(DcqcnParameters::sigcomm15(1e9)), "sigcomm15");
}

fn fluid(case: &Case) -> DcqcnFluid {
    DcqcnFluid {
        capacity: case.number("C"),
        flows: case.small("N"),
        additive_increase: case.number("RAI"),
        byte_counter: case.number("B"),
        timer: case.number("T"),
        fast_recovery_steps: case.number("F"),
        gain: case.number("g"),
        notification_interval: case.number("tau"),
        alpha_period: case.number("tau_alpha"),
        marking: EcnThresholds {
            min: case.number("Kmin"),
            max: case.number("Kmax"),
            max_probability: case.number("Pmax"),
        },
        packet_bytes: case.number("pkt"),
    }
}

#[test]
fn dcqcn_fluid() {
    for case in group("dcqcn_fluid") {
        if case.id == "DCQ-conv-40-1" {
            convergence(&case);
            continue;
        }
        let point = fluid(&case).fixed_point();
        let tolerance = 1e-5;
        match case.quantity.as_str() {
            "marking_probability" => case.check_within(point.marking_probability, tolerance),
            "alpha" => case.check_within(point.alpha, tolerance),
            "queue" if case.value.starts_with("none") => {
                assert_eq!(point.queue, None, "{}", case.id);
            }
            "queue" => case.check_within(point.queue.expect(&case.id), tolerance),
            other => panic!("{}: unknown quantity {other:?}", case.id),
        }
    }
}

fn convergence(case: &Case) {
    let of_40_gb = group("dcqcn_fluid")
        .into_iter()
        .find(|row| row.id == "DCQ-fp-40G-2-p");
    let fluid = fluid(&of_40_gb.expect("the set of 40 Gb/s"));
    assert_eq!(case.small("N"), fluid.flows);
    assert_eq!(case.text("R0"), "40e9/1e9");
    assert!(case.has("feedback delay 4e-6"));
    let (time, queue) = fluid.convergence([40e9, 1e9], 4e-6, 0.05, 0.2);
    case.check_within(time, 0.02);
    let expected = fluid.fixed_point().queue.expect("a queue");
    assert!(
        (queue - expected).abs() < 5e-6 * expected,
        "{queue} {expected}"
    );
}

#[test]
fn hashes_have_their_published_values() {
    // Test vectors of MurmurHash3_x86_32.
    let text = b"The quick brown fox jumps over the lazy dog";
    assert_eq!(murmur3_32(b"", 0), 0);
    assert_eq!(murmur3_32(b"", 1), 0x514e_28b7);
    assert_eq!(murmur3_32(b"test", 0x9747_b28c), 0x704b_81dc);
    assert_eq!(murmur3_32(b"Hello, world!", 0x9747_b28c), 0x2488_4cba);
    assert_eq!(murmur3_32(text, 0x9747_b28c), 0x2fa8_26cd);
    assert_ne!(flow_hash(1, 2, 49_152, 4791), flow_hash(1, 2, 49_153, 4791));
}

#[test]
fn equal_seeds_polarise_two_stages() {
    let paths_used = |seeds: [u32; 2]| {
        let mut used = [[false; 4]; 4];
        for flow in 0..1000 {
            let hash = flow_hash(flow, 7, 49_152, 4791);
            used[ecmp_choice(hash, seeds[0], 4)][ecmp_choice(hash, seeds[1], 4)] = true;
        }
        used.iter().flatten().filter(|used| **used).count()
    };
    assert_eq!((paths_used([1, 1]), paths_used([1, 2])), (4, 16));
}
