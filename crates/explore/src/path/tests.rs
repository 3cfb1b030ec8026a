//! Clocks and races against the definition, and how much work they take.

use sim_core::{Executed, Footprint, StepKind};

use super::*;
use crate::minimise::by_actor;

/// A generator of numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        u32::try_from((self.0 >> 33) % u64::from(limit)).expect("below a limit of 32 bits")
    }
}

/// Any event: of each kind about few objects, now and then with effects.
fn any_event(random: &mut Random, actors: u32, list: u32) -> Event {
    let kinds = u32::try_from(StepKind::ALL.len()).expect("few");
    let kind = StepKind::ALL[random.below(kinds) as usize];
    let actor = u16::try_from(random.below(actors)).expect("few");
    let object = match kind {
        StepKind::TestAny => list,
        StepKind::Device | StepKind::Choose => u32::from(actor),
        _ => random.below(actors),
    };
    let detail = random.below(4);
    let begun = if random.below(4) == 0 {
        Footprint::BEGUN
    } else {
        0
    };
    let rare = random.below(30);
    let effects = match rare {
        0 => Executed::HIDDEN,
        1 => Executed::ALLOCATES,
        2 => Executed::IDLE,
        3..15 => Event::TELLS_ENDS,
        15..20 => Event::ORDERLESS,
        _ => 0,
    };
    let is_wait = matches!(kind, StepKind::Wait | StepKind::Test | StepKind::TestEnded);
    Event {
        actor,
        kind,
        effects,
        object,
        detail: detail | if is_wait { begun } else { 0 },
        choice: 0,
    }
}

fn push(path: &mut Path, event: Event, lists: &Lists) {
    let step = ExecutedStep {
        event,
        answer: 0,
        alternatives: 1,
    };
    path.push(&step, &[], lists);
}

/// Returns the same run after a comparison of each event with all earlier events.
fn compared(events: &[Event], lists: &Lists) -> Path {
    let mut path = Path::default();
    for event in events {
        path.clocks.reserve(event.actor as usize);
        let position = path.events.len();
        let own = path.events_of(event.actor as usize);
        let (rank, previous) = (small(own.len() + 1), own.last().map(|&own| own as usize));
        path.by_actor
            .resize(path.clocks.stride(), ActorEvents::default());
        path.clocks.push(previous);
        let races_from = small(path.races.len());
        for other in (0..position).rev() {
            if !path.happens_before(other, position) && dependent(&path.events[other], event, lists)
            {
                path.races.push(small(other));
                path.clocks.join_clock(other);
            }
        }
        path.clocks.set_count(event.actor as usize, rank);
        let own = &mut path.by_actor[event.actor as usize].positions;
        own.push(small(position));
        path.events.push(*event);
        path.places.push(Place {
            answer: 0,
            alternatives: 1,
            rank,
            races_from,
        });
    }
    path
}

#[test]
fn candidates_leave_no_race_out() {
    let mut lists = Lists::default();
    let list = lists.list_number(&[(0, 1), (1, 2)]);
    for (seed, actors) in [
        (1, 3),
        (2, 8),
        (3, 40),
        (4, 90),
        (5, 30),
        (6, 200),
        (7, 3),
        (8, 12),
    ] {
        let mut random = Random(seed);
        let mut path = Path::default();
        if seed > 4 {
            // Clocks for many actors.
            push(
                &mut path,
                event(100, StepKind::Yield, Footprint::NOTHING),
                &lists,
            );
        }
        for length in [500, 700, 300, 600] {
            while path.len() > length {
                path.pop();
            }
            while path.len() < length {
                // Only few events order others, or there would be few races.
                let event = any_event(&mut random, actors, list);
                let is_ordering = crate::independence::is_global(event.kind)
                    || event.effects & (Executed::HIDDEN | Executed::IDLE) != 0;
                if !is_ordering || random.below(20) == 0 {
                    push(&mut path, event, &lists);
                }
            }
            let expected = compared(&path.events, &lists);
            for position in 0..length {
                let races = path.races(position);
                assert_eq!(
                    races,
                    expected.races(position),
                    "{:?}",
                    path.events[position]
                );
                assert_eq!(path.clock(position), expected.clock(position));
            }
        }
    }
}

fn event(actor: u16, kind: StepKind, object: u32) -> Event {
    Event {
        actor,
        kind,
        effects: 0,
        object,
        detail: 0,
        choice: 0,
    }
}

/// The steps of two actors that lock and unlock a mutex.
fn locks() -> Vec<Event> {
    use StepKind::{MutexAsyncLock, MutexUnlock, MutexWait};
    let one = |actor| [MutexAsyncLock, MutexWait, MutexUnlock].map(|kind| event(actor, kind, 7));
    [0, 1].map(one).concat()
}

/// Looks at entries per event of a run of this many rounds.
fn looks_per_event(rounds: u32, round: &[Event]) -> usize {
    let (mut path, lists) = (Path::default(), Lists::default());
    for number in 1..=rounds {
        for event in round {
            push(
                &mut path,
                Event {
                    detail: number,
                    ..*event
                },
                &lists,
            );
        }
    }
    (path.candidates.looks + path.looks.get()) / path.len()
}

#[test]
fn work_per_event_does_not_grow_with_the_run() {
    use StepKind::{AsyncReceive, AsyncSend, Wait};
    let alone = [0, 1].map(|actor| event(actor, StepKind::Yield, Footprint::NOTHING));
    let messages = [
        event(0, AsyncSend, 3),
        event(1, AsyncReceive, 3),
        event(2, AsyncSend, 4),
        event(1, Wait, 3),
    ];
    // The same rest of the mailboxes' numbers.
    let alike = [
        event(0, AsyncSend, 3),
        event(1, AsyncSend, 67),
        event(1, Wait, 67),
    ];
    for round in [&alone[..], &alike, &messages, &locks()] {
        let (short, long) = (looks_per_event(500, round), looks_per_event(5_000, round));
        assert!(short <= 90 && long <= short, "{short} and {long}");
    }
}

#[test]
fn work_per_race_does_not_grow_with_the_run() {
    let (mut path, lists) = (Path::default(), Lists::default());
    let mut none_before = event(2, StepKind::Yield, Footprint::NOTHING);
    push(&mut path, none_before, &lists);
    for _ in 0..2_000 {
        for event in locks() {
            push(&mut path, event, &lists);
        }
    }
    none_before.actor = 3;
    push(&mut path, none_before, &lists);
    let mut free = Vec::new();
    for position in 1..path.len() - 1 {
        free.clear();
        path.looks.set(0);
        path.add_not_after(position, path.len(), &mut free);
        // The other actor may have asked for the mutex; the last event is ordered with none.
        assert!((1..=3).contains(&free.len()), "{free:?}");
        assert_eq!(free.last(), Some(&small(path.len() - 1)));
        assert!(path.looks.get() < 100, "{} looks", path.looks.get());
    }
}

/// The order of [`by_actor`] by the definition: the first event that happens after no pending one,
/// of the present actor if there is one.
fn by_actor_by_definition(path: &Path) -> Vec<Event> {
    let mut pending: Vec<usize> = (0..path.len()).collect();
    let mut sorted: Vec<Event> = Vec::new();
    while !pending.is_empty() {
        let is_free = |&place: &usize| {
            let mut before = pending[..place].iter();
            !before.any(|&other| path.happens_before(other, pending[place]))
        };
        let actor = sorted.last().map(|event| event.actor);
        let is_own = |&place: &usize| Some(path.events[pending[place]].actor) == actor;
        let free: Vec<usize> = (0..pending.len()).filter(is_free).collect();
        let place = free.iter().copied().find(is_own).unwrap_or(free[0]);
        sorted.push(path.events[pending.remove(place)]);
    }
    sorted
}

#[test]
fn events_by_actor_are_in_the_order_of_the_definition() {
    let mut lists = Lists::default();
    let list = lists.list_number(&[(0, 1), (1, 2)]);
    for (seed, actors) in [(1, 2), (2, 3), (3, 8), (4, 40), (5, 90)] {
        let (mut random, mut path) = (Random(seed), Path::default());
        while path.len() < 120 {
            push(&mut path, any_event(&mut random, actors, list), &lists);
        }
        assert_eq!(by_actor(&path), by_actor_by_definition(&path), "{seed}");
    }
}

#[test]
fn work_to_sort_by_actor_is_linear() {
    use StepKind::{AsyncReceive, AsyncSend, Wait};
    let (mut path, lists) = (Path::default(), Lists::default());
    let round = [
        event(0, AsyncSend, 3),
        event(1, AsyncReceive, 3),
        event(2, AsyncSend, 4),
        event(1, Wait, 3),
    ];
    for _ in 0..4_000 {
        for event in &round {
            push(&mut path, *event, &lists);
        }
    }
    path.looks.set(0);
    assert_eq!(by_actor(&path).len(), path.len());
    // Each event is compared with the counts of the other two actors, at most once at each place.
    assert!(path.looks.get() <= 2 * path.len(), "{}", path.looks.get());
}
