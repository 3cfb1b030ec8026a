//! Promise D3: over a network that loses, duplicates, reorders and corrupts packets, each work
//! request is executed exactly once, atomics sum up without gaps, completions come in order, and
//! the remote memory equals the sequential model. Here for all executions of small programs.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::rc::Rc;

use explore::state_machines::{self, ModelBranch, StateMachineModel};
use explore::{End, Observer, Options, Reduction, Run};
use rdma::{Defect, Psn};
use testing::pair::{FaultKinds, PairChoice, PairSetup, PairState, Work};

/// The states that a search has seen.
type States = Rc<RefCell<BTreeSet<(u64, u64)>>>;

/// Two queue pairs as a model for the explorer: the processes are the adapters.
struct PairWorld {
    pair: PairState,
    states: States,
}

/// Returns the process of a choice, its number in this process, and the step that enabled it.
fn branch(pair: &PairState, choice: PairChoice) -> (usize, u32, Option<u32>) {
    let flight = |to: usize, at: usize, kind: u32| {
        let flight = &pair.flights(to)[at];
        (to, 8 + flight.serial * 8 + kind, Some(flight.left_at))
    };
    match choice {
        PairChoice::Transmit { from } => (from, 0, None),
        PairChoice::Expire => (0, 1, None),
        PairChoice::PostReceive => (1, 2, None),
        PairChoice::Arrive { to, at } => flight(to, at, 0),
        PairChoice::Lose { to, at } => flight(to, at, 1),
        PairChoice::Duplicate { to, at } => flight(to, at, 2),
        PairChoice::Corrupt { to, at } => flight(to, at, 3),
    }
}

impl StateMachineModel for PairWorld {
    fn processes(&self) -> u32 {
        2
    }

    fn branches(&self, process: u32, into: &mut Vec<ModelBranch>) {
        for choice in self.pair.choices() {
            let (at, number, cause) = branch(&self.pair, choice);
            if at == process as usize {
                into.push(ModelBranch {
                    number,
                    also: None,
                    cause,
                });
            }
        }
    }

    fn execute_branch(&mut self, process: u32, number: u32, step: u32) -> Result<(), String> {
        self.pair.step = step;
        let mut choices = self.pair.choices().into_iter();
        let is_it = |choice: &PairChoice| {
            let (at, found, _) = branch(&self.pair, *choice);
            (at, found) == (process as usize, number)
        };
        let choice = choices.find(is_it).expect("it was offered");
        self.pair.take_choice(choice)
    }

    fn fingerprint(&self) -> Option<(u64, u64)> {
        let fingerprint = self.pair.fingerprint();
        self.states.borrow_mut().insert(fingerprint);
        Some(fingerprint)
    }
}

/// Looks at the ends of executions.
struct Ends {
    world: state_machines::Shared<PairWorld>,
    fault: Option<String>,
    states: BTreeSet<(u64, u64)>,
}

impl Observer for Ends {
    fn examine_run(&mut self, run: &Run<'_>) -> ControlFlow<()> {
        if run.end == End::Failed {
            self.fault = Some(run.stepper.failures()[0].message.clone());
        } else if run.end == End::TooDeep {
            self.fault = Some("progress: no end".to_owned());
        } else {
            self.fault = self.world.with(|world| world.pair.fault_at_the_end());
        }
        self.states
            .insert(self.world.with(|world| world.pair.fingerprint()));
        match self.fault {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    }

    fn forget(&mut self) {
        self.states.clear();
    }
}

/// The most steps of an execution: the longest one of a right program has less than a tenth.
const STEPS_MAX: usize = 500;

/// Counts and findings of a search.
struct Searched {
    states: usize,
    steps: u64,
    executions: u64,
    /// The states at the ends of executions.
    ends: BTreeSet<(u64, u64)>,
    fault: Option<String>,
}

fn search(setup: &PairSetup, reduction: Reduction) -> Searched {
    let (setup, states) = (setup.clone(), States::default());
    let same = Rc::clone(&states);
    let make = move || PairWorld {
        pair: PairState::new(&setup),
        states: Rc::clone(&same),
    };
    let (mut stepper, world) = state_machines::make_stepper(make);
    let mut ends = Ends {
        world,
        fault: None,
        states: BTreeSet::new(),
    };
    let options = Options {
        reduction,
        depth_max: STEPS_MAX,
        ..Options::default()
    };
    let (statistics, broken) = explore::explore(&mut stepper, &options, &mut ends);
    assert_eq!(broken, None);
    assert!(ends.fault.is_some() || statistics.bounds.is_empty());
    Searched {
        states: states.borrow().len(),
        steps: statistics.events,
        executions: statistics.executions,
        ends: ends.states,
        fault: ends.fault,
    }
}

const SEND: Work = Work::Send { length: 8 };
const WRITE: Work = Work::Write { at: 0, length: 8 };
const READ: Work = Work::Read { at: 0, length: 8 };
const ADD: Work = Work::FetchAdd { add: 3 };
/// Two packets.
const LONG_SEND: Work = Work::Send { length: 300 };
const LONG_WRITE: Work = Work::Write { at: 0, length: 300 };
const LONG_READ: Work = Work::Read { at: 0, length: 300 };

/// First packet sequence numbers: without a wrap, and with one behind the first packet.
const STARTS: [u32; 2] = [0x12_3456, Psn::MODULUS - 1];

/// Returns a program over a network with any faults.
fn faulty(works: &[Work], faults: u32) -> PairSetup {
    PairSetup {
        faults,
        kinds: FaultKinds::ALL,
        ..PairSetup::new(works)
    }
}

/// Searches all states of a program, from both starts, and compares the counts of states, steps
/// from them and ends.
#[track_caller]
fn assert_counts(setup: &PairSetup, counts: (usize, u64, usize)) {
    for start in STARTS {
        let setup = PairSetup {
            start,
            ..setup.clone()
        };
        let found = search(&setup, Reduction::States);
        assert_eq!(found.fault, None, "{setup:?}");
        let found = (found.states, found.steps, found.ends.len());
        assert_eq!(found, counts, "{setup:?}");
    }
}

#[test]
fn d3_each_pair_of_operations_with_one_fault() {
    for (works, counts) in [
        ([SEND, SEND], (348, 641, 4)),
        ([SEND, WRITE], (348, 641, 4)),
        ([SEND, READ], (358, 636, 4)),
        ([SEND, ADD], (358, 636, 4)),
        ([WRITE, SEND], (348, 641, 4)),
        ([WRITE, WRITE], (348, 641, 4)),
        ([WRITE, READ], (358, 636, 4)),
        ([WRITE, ADD], (358, 636, 4)),
        ([READ, SEND], (374, 673, 4)),
        ([READ, WRITE], (569, 999, 8)),
        ([READ, READ], (386, 687, 4)),
        ([READ, ADD], (386, 687, 4)),
        ([ADD, SEND], (374, 673, 4)),
        ([ADD, WRITE], (374, 673, 4)),
        ([ADD, READ], (386, 687, 4)),
        ([ADD, ADD], (386, 687, 4)),
    ] {
        assert_counts(&faulty(&works, 1), counts);
    }
}

#[test]
fn d3_long_messages_and_three_operations_with_one_fault() {
    for (works, counts) in [
        (&[LONG_SEND, ADD] as &[Work], (796, 1456, 7)),
        (&[LONG_WRITE, LONG_READ], (1141, 2148, 7)),
        (&[LONG_READ, SEND], (1498, 3135, 4)),
        (&[Work::Read { at: 0, length: 600 }], (389, 678, 3)),
        (&[SEND, WRITE, READ], (2334, 5075, 6)),
        (&[ADD, ADD, ADD], (3125, 6723, 6)),
        (&[READ, ADD, SEND], (3081, 6659, 6)),
    ] {
        assert_counts(&faulty(works, 1), counts);
    }
}

#[test]
fn d3_two_faults() {
    for (works, counts) in [
        (&[SEND] as &[Work], (167, 345, 6)),
        (&[LONG_READ], (1129, 2458, 6)),
        (&[SEND, SEND], (3486, 8856, 9)),
        (&[ADD, ADD], (4560, 11000, 9)),
        (&[WRITE, READ], (4102, 9865, 9)),
    ] {
        assert_counts(&faulty(works, 2), counts);
    }
}

/// Receives are posted at any moment, before and after one RNR NAK; a fault besides.
#[test]
fn d3_receives_that_come_late() {
    let late = |faults| PairSetup {
        late_receives: 3,
        late_rounds: 1,
        ..faulty(&[SEND, SEND], faults)
    };
    assert_counts(&late(0), (332, 606, 4));
    assert_counts(&late(1), (6884, 15492, 22));
}

/// Attributes at their limits: one packet at a time, one read or atomic at a time, credits.
#[test]
fn d3_small_windows_and_credits() {
    let mut narrow = faulty(&[LONG_SEND, ADD], 1);
    narrow.settings.window = 1;
    assert_counts(&narrow, (169, 250, 3));
    let single = PairSetup {
        max_rd_atomic: 1,
        ..faulty(&[ADD, READ, SEND], 1)
    };
    assert_counts(&single, (494, 884, 4));
    let mut credits = PairSetup {
        late_receives: 2,
        late_rounds: 1,
        ..faulty(&[SEND, SEND], 1)
    };
    credits.settings.credits = true;
    assert_counts(&credits, (3838, 7974, 35));
}

/// Without faults the optimal search ends in the same state, with one execution for each class.
#[test]
fn d3_classes_without_faults() {
    for (works, classes) in [
        (&[SEND] as &[Work], 1),
        (&[SEND, ADD], 3),
        (&[LONG_READ], 1),
        (&[WRITE, ADD, READ], 14),
    ] {
        let setup = PairSetup::new(works);
        let found = search(&setup, Reduction::Odpor);
        let judge = search(&setup, Reduction::States);
        assert_eq!((found.fault, &judge.fault), (None, &None));
        assert_eq!(found.ends, judge.ends);
        assert_eq!(found.executions, classes, "{works:?}");
    }
}

/// The rules of packets are checked.
const PACKETS: bool = true;
/// Only memory and completions are.
const EFFECTS: bool = false;

/// A program and its network.
enum Scenario {
    OneFault(&'static [Work]),
    /// The same, with numbers that wrap.
    Wrapping(&'static [Work]),
    /// Receives come late, and no other retry is left.
    Late,
    /// No packet arrives.
    Cut,
    /// The second request has a wrong key.
    Refused,
}

impl Scenario {
    fn setup(&self) -> PairSetup {
        match self {
            Self::OneFault(works) => faulty(works, 1),
            Self::Wrapping(works) => PairSetup {
                start: STARTS[1],
                ..faulty(works, 1)
            },
            Self::Late => PairSetup {
                late_receives: 3,
                late_rounds: 1,
                retry_cnt: 0,
                ..PairSetup::new(&[SEND, SEND])
            },
            Self::Cut => PairSetup {
                is_cut: true,
                retry_cnt: 2,
                ..PairSetup::new(&[SEND])
            },
            Self::Refused => PairSetup::new(&[WRITE, Work::WrongKey { length: 8 }, WRITE]),
        }
    }
}

use Defect as D;
use Scenario::{Cut, Late, OneFault, Refused, Wrapping};

const ADDS: Scenario = OneFault(&[ADD, ADD]);
const SENDS: Scenario = OneFault(&[SEND, SEND]);
const LONG: Scenario = OneFault(&[LONG_READ]);
const BOTH: Scenario = OneFault(&[LONG_READ, SEND]);
const MANY: Scenario = OneFault(&[SEND, SEND, SEND]);
const WRAP: Scenario = Wrapping(&[ADD, ADD]);

/// Each seeded defect, with a program in which the right queue pair is right, and the property that
/// is violated.
const MUTANTS: [(Defect, Scenario, bool, &str); 21] = [
    (D::DuplicateAtomicExecuted, ADDS, EFFECTS, "atomic sum"),
    (D::DuplicateSendExecuted, SENDS, EFFECTS, "executed once"),
    (D::AckPassesRead, BOTH, EFFECTS, "returned data"),
    (D::RnrConsumesRetry, Late, EFFECTS, "completion status"),
    (D::MsnOffByOne, SENDS, PACKETS, "MSN"),
    (D::PsnWithoutWrap, WRAP, EFFECTS, "completion status"),
    (D::GapAccepted, SENDS, EFFECTS, "received data"),
    (D::DuplicateDropped, SENDS, EFFECTS, "completion status"),
    (D::DuplicateReadFromStart, LONG, EFFECTS, "returned data"),
    (D::NakRepeated, MANY, PACKETS, "one NAK"),
    (D::RnrAdvances, Late, EFFECTS, "progress"),
    (D::ResponsesOutOfOrder, BOTH, PACKETS, "response order"),
    (D::AtomicReturnsNew, ADDS, EFFECTS, "returned data"),
    (D::NoAckRequest, SENDS, EFFECTS, "completion status"),
    (D::ReadTakesOnePsn, BOTH, EFFECTS, "progress"),
    (D::ResponseCompletesNext, ADDS, EFFECTS, "returned data"),
    (D::RetryOnceMore, Cut, PACKETS, "retry count"),
    (D::RnrTimerIgnored, Late, PACKETS, "RNR wait"),
    (D::NakWithoutError, Refused, EFFECTS, "progress"),
    (D::ReadRestartsFromStart, LONG, EFFECTS, "progress"),
    (D::AtomicResponseOvertaken, ADDS, PACKETS, "response order"),
];

#[test]
fn each_seeded_defect_violates_a_property() {
    let named = MUTANTS.iter().map(|(defect, ..)| defect);
    assert!(D::ALL.iter().eq(named));
    for (defect, scenario, packets, property) in MUTANTS {
        let mut setup = scenario.setup();
        setup.checks_packets = packets;
        let right = search(&setup, Reduction::States);
        assert_eq!(right.fault, None, "without {defect:?}");
        setup.settings.defect = Some(defect);
        let fault = search(&setup, Reduction::States).fault;
        let fault = fault.unwrap_or_else(|| panic!("{defect:?} goes unnoticed"));
        let violated = fault.split(':').next();
        assert_eq!(violated, Some(property), "{defect:?}: {fault}");
    }
}
