//! Promise: under random traffic and random delivery every byte is delivered exactly once, the
//! order of each (source, destination, tag) is kept, everything completes, and nothing is left in
//! the engines.
//!
//! A case is a list of messages between at most four ranks. Each rank starts all its sends before
//! it waits for them, and asks for exactly as many messages as are sent to it, so no schedule can
//! deadlock. The reference is the list itself: who got what is compared with what was sent. The
//! order is checked where the reference knows it, between two ranks.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use mpi::{
    ANY_SOURCE, ANY_TAG, Comm, Completion, Limits, OverheadSection, OverheadTable, Overheads,
    PostingCost, Request, Result, Settings, Source, Tag, waitall, waitany,
};
use proptest::prelude::*;
use testing::ranks::{Order, THRESHOLD, pattern, world};

/// A message; its number is its place in the list.
#[derive(Clone, Copy, Debug)]
struct Message {
    from: usize,
    to: usize,
    tag: u32,
    length: u64,
    /// True if its receive asks for any source.
    any_source: bool,
    any_tag: bool,
    receive: Side,
    send: Side,
}

/// Form of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Side {
    /// Started, and waited for together with others at the end.
    Later,
    /// Started and waited for at once; only receives, and sends that are eager.
    Now,
    /// Received after a probe; a send sleeps before.
    Careful,
    /// Waited for with a loop of tests.
    Tests,
    /// The request of a send is dropped; a receive is like `Later`.
    Dropped,
    /// A synchronous send, a ready one (which nobody checks), a buffered one; a receive is like
    /// `Later`.
    Synchronous,
    Ready,
    Buffered,
    /// Before the send, an equal one in a context of its own is started and cancelled that nobody
    /// receives; before the receive, one from there is posted and cancelled.
    Cancelled,
}

fn message(ranks: usize) -> impl Strategy<Value = Message> {
    let way = || {
        prop_oneof![
            3 => Just(Side::Later),
            2 => Just(Side::Now),
            1 => Just(Side::Careful),
            1 => Just(Side::Tests),
            1 => Just(Side::Dropped),
            1 => Just(Side::Synchronous),
            1 => Just(Side::Ready),
            1 => Just(Side::Buffered),
            1 => Just(Side::Cancelled),
        ]
    };
    let length = prop_oneof![
        Just(0),
        1..5_u64,
        THRESHOLD - 2..THRESHOLD + 2,
        200..300_u64
    ];
    let ends = (0..ranks, 0..ranks, 0..3_u32);
    (ends, length, any::<(bool, bool)>(), way(), way()).prop_map(
        |((from, to, tag), length, (any_source, any_tag), receive, send)| Message {
            from,
            to,
            tag,
            length,
            any_source,
            any_tag,
            receive,
            send,
        },
    )
}

/// Few buffers, few credits, small packets.
fn limits() -> impl Strategy<Value = Limits> {
    let few = || prop::option::of(1..5_u32);
    let packet = prop_oneof![Just(Some(1)), Just(Some(7)), Just(Some(64)), Just(None)];
    let eager = (few(), prop::option::of(0..200_u64));
    let ways = (1..3_u32, 1..5_u32, any::<bool>());
    let unexpected = prop::option::of(0..200_u64);
    (packet, few(), few(), eager, unexpected, ways).prop_map(
        |(packet, buffers, credits, (eager_messages, eager_bytes), unexpected, ways)| Limits {
            packet,
            buffers,
            credits,
            reserved: ways.0,
            eager_messages,
            eager_bytes,
            unexpected,
            batch: ways.1,
            direct: ways.2,
        },
    )
}

/// Received messages: source, tag and bytes, by receive.
type Got = Rc<RefCell<Vec<(usize, Completion)>>>;

/// With limits an eager send may have to wait for its receive, so a program that is right does not
/// rely on it (`blocking`).
async fn send_all(
    (world, other): (&Comm, &Comm),
    messages: &[Message],
    blocking: bool,
) -> Result<Vec<Request>> {
    let mut pending = Vec::new();
    world.buffer_attach(world.buffer(10_000))?;
    for (number, message) in messages.iter().enumerate() {
        if message.from != world.rank() {
            continue;
        }
        let content = pattern(message.length, number as u64);
        match message.send {
            Side::Now if blocking && message.length < THRESHOLD => {
                world.send(&content, message.to, message.tag).await?;
            }
            Side::Careful => {
                world.sleep(1.0).await;
                pending.push(world.isend(content, message.to, message.tag)?);
            }
            Side::Dropped => drop(world.isend(content, message.to, message.tag)?),
            Side::Synchronous => pending.push(world.issend(content, message.to, message.tag)?),
            Side::Ready => pending.push(world.irsend(content, message.to, message.tag)?),
            Side::Buffered => pending.push(world.ibsend(content, message.to, message.tag)?),
            Side::Cancelled => {
                let mut lost = other.issend(content.clone(), message.to, message.tag)?;
                lost.cancel();
                pending.push(lost);
                pending.push(world.isend(content, message.to, message.tag)?);
            }
            Side::Now | Side::Later | Side::Tests => {
                pending.push(world.isend(content, message.to, message.tag)?);
            }
        }
    }
    Ok(pending)
}

/// Receives as many messages as are sent to this rank. The patterns are those of the messages, made
/// so wide that any order of matching leaves a message for every receive: a receive that is
/// narrower than others is posted first.
async fn receive_all(
    (world, other): (&Comm, &Comm),
    messages: &[Message],
    got: &Got,
) -> Result<()> {
    let mut mine: Vec<&Message> = messages
        .iter()
        .filter(|message| message.to == world.rank())
        .collect();
    mine.sort_by_key(|message| (message.any_source, message.any_tag));
    // With both kinds of half wildcards a narrow receive could starve, so one kind is widened.
    let mixed =
        mine.iter().any(|message| message.any_source) && mine.iter().any(|message| message.any_tag);
    let mut pending = Vec::new();
    let push = |completion: Completion| {
        got.borrow_mut()
            .push((completion.status.source, completion));
    };
    for message in mine {
        let any = mixed && (message.any_source || message.any_tag);
        let source = if any || message.any_source {
            ANY_SOURCE
        } else {
            Source::Rank(message.from)
        };
        let tag = if any || message.any_tag {
            ANY_TAG
        } else {
            Tag::Is(message.tag)
        };
        let mut length = 400;
        if message.receive == Side::Careful {
            // What is seen is what is received, so the length is known; narrower receives have
            // their own messages.
            let status = world.probe(source, tag).await?;
            length = status.length;
        }
        let mut request = world.irecv(world.buffer(length), source, tag)?;
        match message.receive {
            Side::Cancelled => {
                // In the other context there are only messages that are being given back.
                let mut lost = other.irecv(other.buffer(0), ANY_SOURCE, 9)?;
                lost.cancel();
                assert!(lost.wait().await?.status.cancelled);
                pending.push(request);
            }
            Side::Later | Side::Dropped | Side::Synchronous | Side::Ready | Side::Buffered => {
                pending.push(request);
            }
            Side::Now | Side::Careful => push(request.wait().await?),
            Side::Tests => loop {
                if let Some(completion) = request.test().await? {
                    push(completion);
                    break;
                }
            },
        }
    }
    while let Some((position, completion)) = waitany(&mut pending).await? {
        assert!(pending[position].is_null());
        push(completion);
    }
    Ok(())
}

async fn traffic(world: Comm, messages: Rc<Vec<Message>>, got: Got, blocking: bool) -> Result<()> {
    let other = world.dup().await?;
    let mut sends = send_all((&world, &other), &messages, blocking).await?;
    receive_all((&world, &other), &messages, &got).await?;
    waitall(&mut sends).await?;
    world.buffer_detach().await?;
    // Whoever has ended answers no cancellation.
    world.barrier().await?;
    Ok(())
}

/// Each message to the rank was delivered once, to its source and tag, with its bytes.
fn check_deliveries(messages: &[Message], rank: usize, got: &[(usize, Completion)]) {
    let mut left: BTreeMap<(usize, u32), Vec<(usize, &Message)>> = BTreeMap::new();
    for (number, message) in messages.iter().enumerate() {
        if message.to == rank {
            left.entry((message.from, message.tag))
                .or_default()
                .push((number, message));
        }
    }
    for (source, completion) in got {
        let status = completion.status;
        let key = (*source, status.tag);
        let candidates = left
            .get_mut(&key)
            .expect("a message of this source and tag");
        let length = usize::try_from(status.length).expect("short");
        let bytes = &completion.buffer.bytes().expect("real")[..length];
        let position = candidates.iter().position(|(number, message)| {
            message.length == status.length
                && pattern(message.length, *number as u64).bytes() == Some(bytes)
        });
        candidates.remove(position.expect("these bytes were sent and not yet received"));
        if candidates.is_empty() {
            left.remove(&key);
        }
    }
    assert!(left.is_empty(), "rank {rank} did not get {left:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_arrives_once(
        (ranks, messages) in (1..5_usize).prop_flat_map(|ranks| {
            (Just(ranks), prop::collection::vec(message(ranks), 0..24))
        }),
        seed in 1..u64::MAX,
        async_small_threshold in prop_oneof![Just(0), Just(THRESHOLD / 2), Just(u64::MAX)],
        costly in any::<bool>(),
        (told, acknowledged, packing) in any::<(bool, bool, bool)>(),
        limits in prop::option::weighted(0.7, limits()),
    ) {
        let messages = Rc::new(messages);
        let got: Vec<Got> = (0..ranks).map(|_| Got::default()).collect();
        let program = |comm: Comm| {
            let mine = Rc::clone(&got[comm.rank()]);
            traffic(comm, Rc::clone(&messages), mine, limits.is_none())
        };
        let ranks = u32::try_from(ranks).expect("few");
        let cost = |time| if costly { vec![OverheadSection { above: 3, time, per_byte: 0.1 }] } else { Vec::new() };
        let settings = Settings {
            async_small_threshold,
            overheads: Overheads {
                os: OverheadTable::new(cost(1.0)),
                ois: OverheadTable::new(cost(2.0)),
                or: OverheadTable::new(cost(3.0)),
            },
            tells_eager_sends: told,
            acknowledged_ssend: acknowledged,
            copy_bandwidth: if packing { 50.0 } else { f64::INFINITY },
            posting: PostingCost { packet: if packing { 0.5 } else { 0.0 }, batch: 0.0 },
            limits: limits.clone(),
            ..Settings::new(THRESHOLD)
        };
        let world = world(ranks).settings(settings);
        let outcome = world.clone().order(Order::Seeded(seed)).run(program).finished();
        let deliveries: Vec<_> = got.iter().map(|got| got.take()).collect();
        // The same once more.
        let again = world.order(Order::Seeded(seed)).run(program).finished();
        prop_assert_eq!(&outcome.transcript, &again.transcript);
        prop_assert_eq!(outcome.now, again.now);
        if let Some(limits) = &limits {
            let outcome = outcome.settled(limits);
            let peak = outcome.flow.iter().flatten().map(|report| report.unexpected_peak).max();
            prop_assert!(peak <= Some(limits.unexpected.unwrap_or(u64::MAX)));
        }
        for (rank, got) in deliveries.iter().enumerate() {
            check_deliveries(&messages, rank, got);
        }
    }

    /// One sender, one receiver, receives in the order of posting with random wildcards: the order
    /// of each tag is the order of sending, and the whole is what a simple matching says.
    #[test]
    fn the_order_of_a_pair_is_kept(
        sent in prop::collection::vec((0..3_u32, prop_oneof![0..4_u64, THRESHOLD - 1..THRESHOLD + 2]), 1..16),
        wild in prop::collection::vec(any::<bool>(), 16),
        posted_after in 0..40_u32,
        seed in 1..u64::MAX,
        async_small_threshold in prop_oneof![Just(0), Just(THRESHOLD / 2), Just(u64::MAX)],
        time in 0..3_u32,
        limits in prop::option::weighted(0.7, limits()),
    ) {
        // Receives ask for the tags in the order of sending; a wildcard takes the oldest that is
        // left.
        let patterns: Vec<Option<u32>> = reference_patterns(&sent, &wild);
        let expected = reference(&sent, &patterns);
        let (sent, patterns) = (Rc::new(sent), Rc::new(patterns));
        let program = |world: Comm| {
            let (sent, patterns, expected) = (Rc::clone(&sent), Rc::clone(&patterns), expected.clone());
            async move {
                if world.rank() == 0 {
                    let mut sends = Vec::new();
                    for (number, &(tag, length)) in sent.iter().enumerate() {
                        sends.push(world.isend(pattern(length, number as u64), 1, tag)?);
                    }
                    waitall(&mut sends).await?;
                    return Ok(());
                }
                world.sleep(f64::from(posted_after % 2)).await;
                let mut receives = Vec::new();
                for tag in patterns.iter() {
                    let tag = tag.map_or(ANY_TAG, Tag::Is);
                    receives.push(world.irecv(world.buffer(200), 0, tag)?);
                }
                for (completion, number) in waitall(&mut receives).await?.into_iter().zip(expected) {
                    let completion = completion.expect("not null");
                    let (tag, length) = sent[number];
                    assert_eq!((completion.status.tag, completion.status.length), (tag, length));
                    let bytes = &completion.buffer.bytes().expect("real")[..usize::try_from(length).expect("short")];
                    assert_eq!(Some(bytes), pattern(length, number as u64).bytes());
                }
                Ok(())
            }
        };
        let cost = OverheadSection { above: 1, time: time.into(), per_byte: 0.0 };
        let settings = Settings {
            async_small_threshold,
            overheads: Overheads {
                ois: OverheadTable::new(vec![cost]),
                or: OverheadTable::new(vec![cost]),
                ..Overheads::NONE
            },
            limits: limits.clone(),
            ..Settings::new(THRESHOLD)
        };
        let world = world(2).settings(settings);
        let outcome = world.order(Order::Seeded(seed)).run(program).finished();
        if let Some(limits) = &limits {
            outcome.settled(limits);
        }
    }
}

/// As many receives as messages that cannot starve: first those with a tag, then the wildcards.
fn reference_patterns(sent: &[(u32, u64)], wild: &[bool]) -> Vec<Option<u32>> {
    let tags = sent.iter().zip(wild).filter(|(_, wild)| !**wild);
    let mut patterns: Vec<Option<u32>> = tags.map(|(&(tag, _), _)| Some(tag)).collect();
    patterns.reverse();
    patterns.resize(sent.len(), None);
    patterns
}

/// Expected message of each receive: the oldest that it accepts and that no receive before it has
/// taken.
fn reference(sent: &[(u32, u64)], patterns: &[Option<u32>]) -> Vec<usize> {
    let mut taken = vec![false; sent.len()];
    let mut result = Vec::new();
    for pattern in patterns {
        let accepts = |tag: u32| pattern.is_none_or(|wanted| wanted == tag);
        let found = (0..sent.len()).find(|&number| !taken[number] && accepts(sent[number].0));
        let number = found.expect("there are as many messages as receives");
        taken[number] = true;
        result.push(number);
    }
    result
}
