//! Promise D3 for random mixes of operations, attributes and faults, longer than the programs that
//! `exploration.rs` explores completely: each work request is executed exactly once, atomics sum up
//! without gaps, completions come in order, and the remote memory equals the sequential model.
//!
//! A failing case shrinks to few operations and few decisions that differ from "no fault".

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use rdma::{Defect, Mtu, Psn, SoftAdapterSettings};
use testing::pair::{FaultKinds, PairSetup, PairState, PostedWork, Work};

/// The most faults of a case: no more than retries, so that no connection may end.
const FAULTS_MAX: u32 = 5;

/// Maximum number of steps of a case; a correct queue pair needs less than a tenth.
const STEPS_MAX: usize = 20_000;

fn work() -> impl Strategy<Value = PostedWork> {
    let length = || prop_oneof![0..9_u32, 250..260_u32, 0..1200_u32];
    let kind = prop_oneof![
        length().prop_map(|length| Work::Send { length }),
        length().prop_map(|length| Work::SendImm { length }),
        (0..64_u32, length()).prop_map(|(at, length)| Work::Write { at, length }),
        (0..64_u32, length()).prop_map(|(at, length)| Work::WriteImm { at, length }),
        (0..64_u32, length()).prop_map(|(at, length)| Work::Read { at, length }),
        (1..9_u64).prop_map(|add| Work::FetchAdd { add }),
        // Sometimes the value that the word has at the start or after an addition.
        (0..4_u64, any::<u64>()).prop_map(|(more, swap)| Work::CompareSwap {
            compare: (u64::MAX - 4).wrapping_add(more),
            swap,
        }),
    ];
    (kind, any::<bool>()).prop_map(|(work, fence)| PostedWork { work, fence })
}

fn settings() -> impl Strategy<Value = SoftAdapterSettings> {
    let numbers = (1..40_u32, 1..9_u32);
    (numbers, any::<bool>(), any::<bool>()).prop_map(|((window, ack_every), credits, strong)| {
        SoftAdapterSettings {
            window,
            ack_every,
            credits,
            strong_fence: strong,
            ..SoftAdapterSettings::default()
        }
    })
}

fn setup() -> impl Strategy<Value = PairSetup> {
    let start = prop_oneof![Just(7), Psn::MODULUS - 12..Psn::MODULUS];
    let mtu = prop_oneof![Just(Mtu::Mtu256), Just(Mtu::Mtu512)];
    let numbers = (1..4_u8, 0..3_usize, 0..=FAULTS_MAX);
    (vec(work(), 1..10), settings(), start, mtu, numbers).prop_map(
        |(works, settings, start, mtu, (max_rd_atomic, late_receives, faults))| PairSetup {
            works,
            start,
            mtu,
            settings,
            max_rd_atomic,
            late_receives,
            late_rounds: 2,
            // Late receives take any number of retries.
            rnr_retry: 7,
            faults,
            kinds: FaultKinds::ALL,
            ..PairSetup::new(&[])
        },
    )
}

/// Runs a program. Each decision is the index of the next choice; after the last decision the first
/// choice is always taken.
fn run(setup: &PairSetup, decisions: &[u8]) -> Result<(), String> {
    let mut pair = PairState::new(setup);
    for step in 0..STEPS_MAX {
        let choices = pair.choices();
        if choices.is_empty() {
            return pair.fault_at_the_end().map_or(Ok(()), Err);
        }
        let decision = decisions.get(step).copied().unwrap_or(0);
        pair.take_choice(choices[usize::from(decision) % choices.len()])?;
    }
    Err("progress: no end".to_owned())
}

fn decisions() -> impl Strategy<Value = Vec<u8>> {
    // Small ones let packets continue.
    vec(prop_oneof![3 => 0..4_u8, 1 => any::<u8>()], 0..300)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn d3_random_mixes_over_random_faults(setup in setup(), decisions in decisions()) {
        prop_assert_eq!(run(&setup, &decisions), Ok(()));
    }
}

/// Defects that change data or completions. `exploration.rs` finds the defects that violate only
/// rules of packets.
#[test]
fn random_mixes_find_defects() {
    use Defect as D;
    for defect in [
        D::DuplicateAtomicExecuted,
        D::DuplicateSendExecuted,
        D::AckPassesRead,
        D::PsnWithoutWrap,
        D::GapAccepted,
        D::DuplicateDropped,
        D::DuplicateReadFromStart,
        D::RnrAdvances,
        D::AtomicReturnsNew,
        D::NoAckRequest,
        D::ReadTakesOnePsn,
        D::ResponseCompletesNext,
        D::ReadRestartsFromStart,
    ] {
        let config = ProptestConfig {
            cases: 600,
            failure_persistence: None,
            max_shrink_iters: 0,
            ..ProptestConfig::default()
        };
        let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        let mut runner = TestRunner::new_with_rng(config, random);
        let found = runner.run(&(setup(), decisions()), |(mut setup, decisions)| {
            setup.settings.defect = Some(defect);
            setup.checks_packets = false;
            run(&setup, &decisions).map_err(TestCaseError::fail)
        });
        assert!(found.is_err(), "{defect:?} goes unnoticed");
    }
}
