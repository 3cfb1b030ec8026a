//! The rules, and the indexes against the reference.

use proptest::prelude::*;

use super::linear::LinearMatching;
use super::*;
use crate::Buffer;

fn envelope(source: u32, tag: u32) -> Envelope {
    Envelope {
        context: 0,
        source,
        tag,
        ready: false,
        signature: crate::TypeSignature::NONE,
    }
}

fn eager(length: u64) -> UnexpectedContent {
    UnexpectedContent::Eager(Buffer::phantom(length))
}

const ANY: Pattern = Pattern {
    context: 0,
    source: None,
    tag: None,
};

#[test]
fn the_oldest_message_that_fits() {
    let mut matching = Matching::default();
    for (source, tag, length) in [(1, 5, 10), (2, 6, 20), (1, 6, 30)] {
        assert!(
            matching
                .arrive(envelope(source, tag), eager(length))
                .is_none()
        );
    }
    let mut take = |pattern| {
        matching
            .post(pattern, 0)
            .map(|message| message.content.length())
    };
    assert_eq!(
        take(Pattern {
            tag: Some(6),
            ..ANY
        }),
        Some(20)
    );
    assert_eq!(
        take(Pattern {
            source: Some(1),
            ..ANY
        }),
        Some(10)
    );
    assert_eq!(take(Pattern { context: 1, ..ANY }), None);
    assert_eq!(take(ANY), Some(30));
}

#[test]
fn the_oldest_receive_that_fits() {
    let mut matching = Matching::default();
    assert!(
        matching
            .post(
                Pattern {
                    source: Some(2),
                    ..ANY
                },
                1
            )
            .is_none()
    );
    assert!(matching.post(ANY, 2).is_none());
    assert!(
        matching
            .post(
                Pattern {
                    source: Some(1),
                    ..ANY
                },
                3
            )
            .is_none()
    );
    let receive = |found: Option<(Token, UnexpectedContent)>| found.map(|(receive, _)| receive);
    assert_eq!(receive(matching.arrive(envelope(1, 0), eager(0))), Some(2));
    let from_two = Pattern {
        source: Some(2),
        ..ANY
    };
    assert!(matching.withdraw_receive(&from_two, 1));
    assert!(!matching.withdraw_receive(&from_two, 1));
    assert_eq!(receive(matching.arrive(envelope(2, 0), eager(0))), None);
    assert_eq!(receive(matching.arrive(envelope(1, 0), eager(0))), Some(3));
}

/// A step of random traffic.
#[derive(Clone, Debug)]
enum TrafficStep {
    Arrive(u32, u32, u32),
    Post(u32, Option<u32>, Option<u32>),
    Find(u32, Option<u32>, Option<u32>),
    Withdraw(usize),
}

fn steps() -> impl Strategy<Value = Vec<TrafficStep>> {
    let (context, source, tag) = (0_u32..2, 0_u32..4, 0_u32..3);
    let (any_source, any_tag) = (
        proptest::option::of(0_u32..4),
        proptest::option::of(0_u32..3),
    );
    let pattern = (context.clone(), any_source, any_tag);
    let step = prop_oneof![
        4 => (context, source, tag).prop_map(|(context, source, tag)| TrafficStep::Arrive(context, source, tag)),
        4 => pattern.clone().prop_map(|(context, source, tag)| TrafficStep::Post(context, source, tag)),
        1 => pattern.prop_map(|(context, source, tag)| TrafficStep::Find(context, source, tag)),
        1 => any::<usize>().prop_map(TrafficStep::Withdraw),
    ];
    // Phases of many arrivals and of many receives, so that both queues grow beyond the few.
    proptest::collection::vec((step, 0_usize..30), 0..60).prop_map(|phases| {
        let repeat = |(step, times): (TrafficStep, usize)| vec![step; times.max(1)];
        phases.into_iter().flat_map(repeat).collect()
    })
}

proptest! {
    /// Messages carry their number as length: the same receive gets the same message, step by step.
    #[test]
    fn agrees_with_the_reference(steps in steps()) {
        let (mut matching, mut linear) = (Matching::default(), LinearMatching::default());
        let mut posted: Vec<(Pattern, Token)> = Vec::new();
        for (number, step) in (0_u32..).zip(steps) {
            match step {
                TrafficStep::Arrive(context, source, tag) => {
                    let envelope = Envelope { context, source, tag, ready: false, signature: crate::TypeSignature::NONE };
                    let content = || eager(number.into());
                    let found = matching.arrive(envelope, content()).map(|(receive, _)| receive);
                    prop_assert_eq!(found, linear.match_arrival(envelope, content()).map(|(receive, _)| receive));
                }
                TrafficStep::Post(context, source, tag) => {
                    let pattern = Pattern { context, source, tag };
                    let length = |message: UnexpectedMessage| message.content.length();
                    let found = matching.post(pattern, number).map(length);
                    prop_assert_eq!(found, linear.post_receive(pattern, number).map(length));
                    posted.push((pattern, number));
                }
                TrafficStep::Find(context, source, tag) => {
                    let pattern = Pattern { context, source, tag };
                    let length = |message: &UnexpectedMessage| message.content.length();
                    prop_assert_eq!(matching.find_unexpected(&pattern).map(length), linear.find_unexpected(&pattern).map(length));
                }
                TrafficStep::Withdraw(which) if !posted.is_empty() => {
                    let (pattern, receive) = posted[which % posted.len()];
                    prop_assert_eq!(matching.withdraw_receive(&pattern, receive), linear.withdraw_receive(receive));
                }
                TrafficStep::Withdraw(_) => {}
            }
            let left = |queue: &mut dyn Iterator<Item = &UnexpectedMessage>| -> Vec<u64> {
                queue.map(|message| message.content.length()).collect()
            };
            prop_assert_eq!(left(&mut matching.unexpected()), left(&mut linear.unexpected()));
        }
    }
}

/// 1e5 messages with different tags, received in reverse order: linear. A search of the queue would
/// take 5e9 steps.
#[test]
fn many_unexpected_messages_in_reverse_order() {
    let count = 100_000;
    let mut matching = Matching::default();
    for tag in 0..count {
        let message = eager(tag.into());
        assert!(matching.arrive(envelope(tag % 7, tag), message).is_none());
    }
    for tag in (0..count).rev() {
        let pattern = Pattern {
            tag: Some(tag),
            source: (tag % 2 == 0).then_some(tag % 7),
            ..ANY
        };
        let found = matching.post(pattern, 0).expect("it is there");
        assert_eq!(found.content.length(), u64::from(tag));
    }
    assert_eq!(matching.unexpected().count(), 0);
}

/// The same for receives, with wildcards among them.
#[test]
fn many_receives_met_in_reverse_order() {
    let count = 100_000;
    let mut matching = Matching::default();
    for tag in 0..count {
        let pattern = Pattern {
            tag: Some(tag),
            source: (tag % 2 == 0).then_some(3),
            ..ANY
        };
        assert!(matching.post(pattern, tag).is_none());
    }
    for tag in (0..count).rev() {
        let found = matching.arrive(envelope(3, tag), eager(0));
        assert_eq!(found.map(|(receive, _)| receive), Some(tag));
    }
}
