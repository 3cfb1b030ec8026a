//! Promise: under random traffic over several communicators, with all send modes and all ways to
//! receive, and under random delivery, every message is received once, by its communicator, with
//! its bytes. Messages of one sender with one tag are received in the order in which they were
//! sent. All operations complete, and no operation is left in the engines.
//!
//! A case is a list of messages between at most five ranks. Each rank starts all its sends before
//! it waits for them, and posts one receive for each message to it in each communicator, so no
//! schedule can deadlock. The reference is the list itself: for one communicator, sender and tag
//! the receives in the order of their posting get the messages in the order of sending.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use mpi::{
    Completion, Limits, OverheadSection, OverheadTable, Overheads, PostingCost, Settings, Source,
    Tag, prelude::*, testany, waitsome,
};
use proptest::prelude::*;
use testing::ranks::{Order, THRESHOLD, pattern, world};

/// A message; the number of the message is its place in the list.
#[derive(Clone, Copy, Debug)]
struct Message {
    from: usize,
    to: usize,
    /// One of `communicators`.
    comm: usize,
    tag: u32,
    length: u64,
    mode: SendMode,
    send: Sending,
    receive: Receiving,
    /// True if the receive of the message names any source.
    any_source: bool,
    any_tag: bool,
}

/// Form of a send.
#[derive(Clone, Copy, Debug)]
enum Sending {
    /// Started, and waited for together with others at the end.
    Later,
    /// Started and waited for at once; only standard sends that are eager.
    Now,
    /// After a sleep.
    Careful,
    /// The request of a send that is not synchronous is dropped.
    Dropped,
    Persistent,
    /// Before the send, an equal one is started and cancelled, in a context without receives.
    Cancelled,
}

/// Form of a receive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Receiving {
    Later,
    Now,
    /// After a probe.
    Careful,
    /// Waited for with a loop of tests, or of tests of any of several.
    Tests,
    Polled,
    Persistent,
    /// Of a message that is matched before, at once or by a request.
    Matched,
    MatchedLater,
    /// Before the receive, one from the same context is posted and cancelled.
    Cancelled,
}

fn message(ranks: usize) -> impl Strategy<Value = Message> {
    let mode = prop_oneof![
        3 => Just(SendMode::Standard),
        1 => Just(SendMode::Synchronous),
        1 => Just(SendMode::Ready),
        1 => Just(SendMode::Buffered),
    ];
    let send = prop_oneof![
        3 => Just(Sending::Later),
        2 => Just(Sending::Now),
        1 => Just(Sending::Careful),
        1 => Just(Sending::Dropped),
        2 => Just(Sending::Persistent),
        1 => Just(Sending::Cancelled),
    ];
    let receive = prop_oneof![
        3 => Just(Receiving::Later),
        2 => Just(Receiving::Now),
        1 => Just(Receiving::Careful),
        1 => Just(Receiving::Tests),
        1 => Just(Receiving::Polled),
        1 => Just(Receiving::Persistent),
        1 => Just(Receiving::Matched),
        1 => Just(Receiving::MatchedLater),
        1 => Just(Receiving::Cancelled),
    ];
    let length = prop_oneof![0..5_u64, THRESHOLD - 2..THRESHOLD + 2, 200..300_u64];
    let ends = (0..ranks, 0..ranks, 0..4_usize, 0..3_u32);
    let forms = (mode, send, receive);
    (ends, length, forms, any::<(bool, bool)>()).prop_map(
        |((from, to, comm, tag), length, (mode, send, receive), (any_source, any_tag))| Message {
            from,
            to,
            // The parts are even and odd ranks.
            comm: if (from + to) % 2 == 1 { comm % 2 } else { comm },
            tag,
            length,
            mode,
            send,
            receive,
            any_source,
            any_tag,
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

/// Received messages with their communicators, in the order in which the receives were posted.
type Got = Rc<RefCell<Vec<(usize, Completion)>>>;

/// Returns the world, its copy, one of two parts in reverse order, and a copy of that part.
async fn communicators(world: &Comm) -> Result<Vec<Comm>> {
    let rank = world.rank();
    let copy = world.dup().await?;
    let part = world
        .split(Some(rank as u32 % 2), -(rank as i32))
        .await?
        .expect("a part");
    let again = part.dup().await?;
    Ok(vec![world.clone(), copy, part, again])
}

/// The rank that a rank of a communicator has in another one.
fn rank_in(comm: &Comm, other: &Comm, rank: usize) -> usize {
    let found = comm.group().translate_ranks(&[rank], &other.group());
    found.expect("a rank")[0].expect("a member of both")
}

/// Starts all sends of this rank; waits for eager sends at once if `blocking`. With limits an eager
/// send may have to wait for its receive, so a correct program does not wait.
async fn send_all(
    comms: &[Comm],
    other: &Comm,
    messages: &[Message],
    blocking: bool,
) -> Result<Vec<Request>> {
    let (world, mut pending) = (&comms[0], Vec::new());
    for (number, message) in messages.iter().enumerate() {
        if message.from != world.rank() {
            continue;
        }
        let (comm, tag) = (&comms[message.comm], message.tag);
        let to = rank_in(world, comm, message.to);
        let content = pattern(message.length, number as u64);
        match message.send {
            Sending::Careful => world.sleep(1.0).await,
            Sending::Cancelled => {
                let mut lost = other.issend(content.clone(), message.to, tag)?;
                lost.cancel().await;
                pending.push(lost);
            }
            Sending::Persistent => {
                let mut request = comm.send_init(message.mode, content, to, tag);
                request.start()?;
                pending.push(request);
                continue;
            }
            _ => {}
        }
        let mut request = match message.mode {
            SendMode::Standard => comm.isend(content, to, tag)?,
            SendMode::Synchronous => comm.issend(content, to, tag)?,
            SendMode::Ready => comm.irsend(content, to, tag)?,
            SendMode::Buffered => comm.ibsend(content, to, tag)?,
        };
        let is_eager = message.mode == SendMode::Standard && message.length < THRESHOLD;
        match message.send {
            Sending::Dropped if message.mode != SendMode::Synchronous => drop(request),
            Sending::Now if blocking && is_eager => drop(request.wait().await?),
            _ => pending.push(request),
        }
    }
    Ok(pending)
}

/// Receives a message in one of the forms. Returns its completion, or a request for later.
async fn receive(
    comm: &Comm,
    other: &Comm,
    form: Receiving,
    (source, tag): (Source, Tag),
) -> Result<std::result::Result<Completion, Request>> {
    let mut buffer = comm.buffer(400);
    match form {
        Receiving::Persistent => {
            let mut request = comm.recv_init(buffer, source, tag);
            request.start()?;
            return Ok(Err(request));
        }
        Receiving::Matched => {
            return Ok(Ok(comm.mprobe(source, tag).await?.recv(buffer).await?));
        }
        Receiving::MatchedLater => loop {
            if let Some(message) = comm.improbe(source, tag).await? {
                return Ok(Err(message.irecv(buffer)));
            }
        },
        // The probed message is received, so the length is known; narrower receives have their own
        // messages.
        Receiving::Careful => buffer = comm.buffer(comm.probe(source, tag).await?.length),
        Receiving::Cancelled => {
            // In the other context there are only messages that are being given back.
            let mut lost = other.irecv(other.buffer(0), ANY_SOURCE, 9)?;
            lost.cancel().await;
            assert!(lost.wait().await?.status.cancelled);
        }
        _ => {}
    }
    let mut request = [comm.irecv(buffer, source, tag)?];
    Ok(match form {
        Receiving::Now | Receiving::Careful => Ok(request[0].wait().await?),
        Receiving::Tests => loop {
            if let Some(completion) = request[0].test().await? {
                break Ok(completion);
            }
        },
        Receiving::Polled => loop {
            if let Some((_, completion)) = testany(&mut request).await? {
                break Ok(completion);
            }
        },
        _ => {
            let [request] = request;
            Err(request)
        }
    })
}

/// Receives as many messages as are sent to this rank. The patterns come from the messages. They
/// are so wide that any order of matching leaves a message for every receive: a receive that is
/// narrower than others is posted first.
async fn receive_all(comms: &[Comm], other: &Comm, messages: &[Message], got: &Got) -> Result<()> {
    let world = &comms[0];
    let to_me = messages.iter().filter(|message| message.to == world.rank());
    let mut mine: Vec<&Message> = to_me.collect();
    mine.sort_by_key(|message| (message.any_source, message.any_tag));
    // With both kinds of half wildcards a narrow receive could starve, so one kind is widened.
    let mixed = [0, 1, 2, 3].map(|comm| {
        let mut all = mine.iter().filter(|message| message.comm == comm);
        all.clone().any(|message| message.any_source) && all.any(|message| message.any_tag)
    });
    let (mut done, mut requests) = (Vec::new(), Vec::new());
    for (place, message) in mine.iter().enumerate() {
        let comm = &comms[message.comm];
        let any = mixed[message.comm] && (message.any_source || message.any_tag);
        let source = match any || message.any_source {
            true => ANY_SOURCE,
            false => Source::Rank(rank_in(world, comm, message.from)),
        };
        let tag = match any || message.any_tag {
            true => ANY_TAG,
            false => Tag::Is(message.tag),
        };
        match receive(comm, other, message.receive, (source, tag)).await? {
            Ok(completion) => done.push((place, completion)),
            Err(request) => requests.push((place, request)),
        }
    }
    let (places, mut requests): (Vec<usize>, Vec<Request>) = requests.into_iter().unzip();
    if messages.len().is_multiple_of(2) {
        while let Some(some) = waitsome(&mut requests).await {
            for (position, completion) in some {
                done.push((places[position], completion?));
            }
        }
    }
    while let Some((position, completion)) = waitany(&mut requests).await? {
        assert!(requests[position].is_null() || !requests[position].is_active());
        done.push((places[position], completion));
    }
    done.sort_by_key(|(place, _)| *place);
    for (place, mut completion) in done {
        // The sources are told in the communicators' ranks, and looked at in the world's.
        let comm = mine[place].comm;
        completion.status.source = rank_in(&comms[comm], world, completion.status.source);
        got.borrow_mut().push((comm, completion));
    }
    Ok(())
}

async fn traffic(world: Comm, messages: Rc<Vec<Message>>, got: Got, blocking: bool) -> Result<()> {
    let comms = communicators(&world).await?;
    let other = world.dup().await?;
    world.buffer_attach(world.buffer(10_000))?;
    let mut sends = send_all(&comms, &other, &messages, blocking).await?;
    receive_all(&comms, &other, &messages, &got).await?;
    waitall(&mut sends).await?;
    world.buffer_detach().await?;
    // Whoever has ended answers no cancellation.
    world.barrier().await?;
    for comm in comms.into_iter().skip(1).rev() {
        comm.free()?;
    }
    Ok(())
}

/// Compares the messages that a rank got with the messages that were sent to the rank.
fn check(messages: &[Message], rank: usize, got: &[(usize, Completion)]) {
    let mut sent: BTreeMap<(usize, usize, u32), Vec<usize>> = BTreeMap::new();
    for (number, message) in messages.iter().enumerate().rev() {
        if message.to == rank {
            let key = (message.comm, message.from, message.tag);
            sent.entry(key).or_default().push(number);
        }
    }
    for (comm, completion) in got {
        let status = completion.status;
        let queue = sent.get_mut(&(*comm, status.source, status.tag));
        let number = queue.and_then(Vec::pop).expect("a message of this kind");
        let length = usize::try_from(status.length).expect("short");
        let bytes = &completion.buffer.bytes().expect("real")[..length];
        let expected = pattern(messages[number].length, number as u64);
        assert_eq!(expected.bytes(), Some(bytes), "message {number}");
    }
    let is_empty = sent.values().all(Vec::is_empty);
    assert!(is_empty, "rank {rank} did not get {sent:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 700, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_message_is_received_once_and_in_order(
        (ranks, messages) in (1..6_usize).prop_flat_map(|ranks| {
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
            check(&messages, rank, got);
        }
    }

    /// One sender, one receiver, receives in the order of posting with random wildcards: the order
    /// of each tag is the order of sending, and the result equals the result of a simple matching.
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

/// Returns as many receives as messages, so that none starves: tags first, then wildcards.
fn reference_patterns(sent: &[(u32, u64)], wild: &[bool]) -> Vec<Option<u32>> {
    let tags = sent.iter().zip(wild).filter(|(_, wild)| !**wild);
    let mut patterns: Vec<Option<u32>> = tags.map(|(&(tag, _), _)| Some(tag)).collect();
    patterns.reverse();
    patterns.resize(sent.len(), None);
    patterns
}

/// Returns the message expected for each receive: the oldest message that the receive accepts and
/// that no earlier receive has taken.
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
