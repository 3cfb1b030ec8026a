//! Promise: contexts differ as long as the communicators live, and are used again only when there
//! are no others.

use std::collections::BTreeSet;

use super::*;

#[test]
fn contexts_of_all_ranks_differ() {
    let mut seen = BTreeSet::from([0]);
    for size in [1, 2, 3, 4, 5, 1000, 1 << 20] {
        seen.retain(|context| *context == 0);
        for me in (0..size).step_by(size as usize / 4 + 1).chain([size - 1]) {
            let mut contexts = Contexts::default();
            for _ in 0..500 {
                let context = contexts.choose(me, size).unwrap();
                assert!(context % 2 == 0, "the next one is for collectives");
                let new = seen.insert(context);
                assert!(new || me == size - 1, "rank {me} of {size}: {context}");
            }
        }
    }
}

/// Ranks with other communicators of their own derive the same contexts, which no rank chooses.
#[test]
fn derived_contexts_agree_and_differ() {
    for size in [1, 2, 3, 5] {
        let mut chosen: BTreeSet<u32> = BTreeSet::from([0]);
        for me in 0..size {
            let mut contexts = Contexts::default();
            chosen.extend((0..500).map(|_| contexts.choose(me, size).unwrap()));
        }
        let [mut one, mut other] = [Contexts::default(), Contexts::default()];
        other.choose(size - 1, size).unwrap();
        let mut seen = chosen;
        for call in 0..10 {
            for _ in 0..100 {
                let context = one.derive_context(call, size).unwrap();
                assert_eq!(other.derive_context(call, size), Ok(context));
                assert!(context % 2 == 0, "the next one is for collectives");
                assert!(seen.insert(context), "{size} ranks, call {call}: {context}");
            }
        }
    }
}

#[test]
fn a_derived_context_that_is_there_is_refused() {
    let context = Contexts::default().derive_context(7, 2).unwrap();
    let mut contexts = Contexts::default();
    contexts.free_context(context);
    assert_eq!(
        contexts.derive_context(7, 2),
        Err(Error::Contexts { given: 0 })
    );
}

#[test]
fn what_is_freed_is_used_again() {
    let (size, me) = (1 << 22, 5);
    let mut contexts = Contexts::default();
    let first = contexts.choose(me, size).unwrap();
    let mut given = 1;
    let error = loop {
        match contexts.choose(me, size) {
            Ok(_) => given += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(given, (1 << 9) - 1);
    assert_eq!(error, Error::Contexts { given });
    // What another rank had given out is not ours to give.
    contexts.free_context(Contexts::default().choose(me + 1, size).unwrap());
    contexts.free_context(Contexts::default().choose(me - 1, size).unwrap());
    assert_eq!(contexts.choose(me, size), Err(Error::Contexts { given }));
    // The first that was freed is the first that is used again.
    let second = first + 2;
    contexts.free_context(second);
    contexts.free_context(first);
    assert!(contexts.is_freed(first));
    assert_eq!(contexts.choose(me, size), Ok(second));
    assert_eq!(contexts.choose(me, size), Ok(first));
    assert!(!contexts.is_freed(first));
}
