//! Promise: over several communicators, with all send modes and all ways to receive, every message
//! is received once, by its communicator, and those of one sender with one tag in the order in
//! which they were sent.
//!
//! A case is a list of messages. Each rank starts all its sends before it receives, and receives as
//! many messages as are sent to it in each communicator: first with exact patterns, then with
//! wildcards. For one communicator, sender and tag the receives in the order of their posting then
//! get the messages in the order of sending, which is the whole reference.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use mpi::{
    ANY_SOURCE, ANY_TAG, Comm, Completion, OverheadSection, OverheadTable, Overheads, Request,
    Result, SendMode, Settings, Source, Tag, testany, waitall, waitsome,
};
use proptest::prelude::*;
use testing::ranks::{Order, THRESHOLD, pattern, world};

#[derive(Clone, Copy, Debug)]
struct Message {
    from: usize,
    to: usize,
    comm: usize,
    tag: u32,
    length: u64,
    mode: SendMode,
    persistent: bool,
    wildcard: bool,
    receive: Side,
}

#[derive(Clone, Copy, Debug)]
enum Side {
    Posted,
    Persistent,
    Matched,
    MatchedLater,
    Polled,
}

fn message(ranks: usize) -> impl Strategy<Value = Message> {
    let mode = prop_oneof![
        Just(SendMode::Standard),
        Just(SendMode::Synchronous),
        Just(SendMode::Ready),
        Just(SendMode::Buffered),
    ];
    let receive = prop_oneof![
        2 => Just(Side::Posted),
        1 => Just(Side::Persistent),
        1 => Just(Side::Matched),
        1 => Just(Side::MatchedLater),
        1 => Just(Side::Polled),
    ];
    let length = prop_oneof![0..4_u64, THRESHOLD - 1..THRESHOLD + 2, 200..300_u64];
    let ends = (0..ranks, 0..ranks, 0..4_usize, 0..2_u32);
    (ends, length, mode, any::<(bool, bool)>(), receive).prop_map(
        |((from, to, comm, tag), length, mode, (persistent, wildcard), receive)| {
            // The parts are even and odd ranks.
            let comm = if (from + to) % 2 == 1 && comm >= 2 {
                1
            } else {
                comm
            };
            Message {
                from,
                to,
                comm,
                tag,
                length,
                mode,
                persistent,
                wildcard,
                receive,
            }
        },
    )
}

/// The world, its copy, one of two parts backwards, and a copy of that.
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

/// The rank that a rank of the world has.
fn rank_in(comm: &Comm, world: &Comm, rank: usize) -> usize {
    let found = world.group().translate_ranks(&[rank], &comm.group());
    found.expect("a rank")[0].expect("in the part")
}

type Got = Rc<RefCell<Vec<(usize, bool, Completion)>>>;

async fn send_all(world: &Comm, comms: &[Comm], messages: &[Message]) -> Result<Vec<Request>> {
    let mut requests = Vec::new();
    for (number, message) in messages.iter().enumerate() {
        if message.from != world.rank() {
            continue;
        }
        let comm = &comms[message.comm];
        let (to, tag) = (rank_in(comm, world, message.to), message.tag);
        let content = pattern(message.length, number as u64);
        requests.push(if message.persistent {
            let mut request = comm.send_init(message.mode, content, to, tag);
            request.start()?;
            request
        } else {
            match message.mode {
                SendMode::Standard => comm.isend(content, to, tag)?,
                SendMode::Synchronous => comm.issend(content, to, tag)?,
                SendMode::Ready => comm.irsend(content, to, tag)?,
                SendMode::Buffered => comm.ibsend(content, to, tag)?,
            }
        });
    }
    Ok(requests)
}

/// All receives in the order of posting, with what they got.
async fn receive_all(world: &Comm, comms: &[Comm], messages: &[Message], got: &Got) -> Result<()> {
    let mut mine: Vec<&Message> = messages
        .iter()
        .filter(|message| message.to == world.rank())
        .collect();
    mine.sort_by_key(|message| message.wildcard);
    let (mut done, mut requests) = (Vec::new(), Vec::new());
    for (place, message) in mine.iter().enumerate() {
        let comm = &comms[message.comm];
        let (source, tag) = if message.wildcard {
            (ANY_SOURCE, ANY_TAG)
        } else {
            (
                Source::Rank(rank_in(comm, world, message.from)),
                Tag::Is(message.tag),
            )
        };
        let buffer = world.buffer(400);
        match message.receive {
            Side::Posted => requests.push((place, comm.irecv(buffer, source, tag)?)),
            Side::Persistent => {
                let mut request = comm.recv_init(buffer, source, tag);
                request.start()?;
                requests.push((place, request));
            }
            Side::Matched => {
                done.push((place, comm.mprobe(source, tag).await?.recv(buffer).await?));
            }
            Side::MatchedLater => {
                let message = loop {
                    if let Some(message) = comm.improbe(source, tag).await? {
                        break message;
                    }
                };
                requests.push((place, message.irecv(buffer)));
            }
            Side::Polled => {
                let mut request = [comm.irecv(buffer, source, tag)?];
                let completion = loop {
                    if let Some((_, completion)) = testany(&mut request).await? {
                        break completion;
                    }
                };
                done.push((place, completion));
            }
        }
    }
    let (places, mut requests): (Vec<usize>, Vec<Request>) = requests.into_iter().unzip();
    while let Some(some) = waitsome(&mut requests).await {
        for (position, completion) in some {
            done.push((places[position], completion?));
        }
    }
    done.sort_by_key(|(place, _)| *place);
    let told = done
        .into_iter()
        .map(|(place, completion)| (mine[place].comm, mine[place].wildcard, completion));
    got.borrow_mut().extend(told);
    Ok(())
}

async fn traffic(world: Comm, messages: Rc<Vec<Message>>, got: Got) -> Result<()> {
    let comms = communicators(&world).await?;
    world.buffer_attach(world.buffer(10_000))?;
    let mut nobody = world.irecv(world.buffer(1), ANY_SOURCE, 9)?;
    let mut sends = send_all(&world, &comms, &messages).await?;
    nobody.cancel();
    receive_all(&world, &comms, &messages, &got).await?;
    waitall(&mut sends).await?;
    assert!(nobody.wait().await?.status.cancelled);
    world.buffer_detach().await?;
    // The sources are told in the communicators' ranks, and looked at in the world's.
    for (comm, _, completion) in got.borrow_mut().iter_mut() {
        let source = completion.status.source;
        let names = comms[*comm]
            .group()
            .translate_ranks(&[source], &world.group())?;
        completion.status.source = names[0].expect("all are in the world");
    }
    for comm in comms.into_iter().skip(1).rev() {
        comm.free()?;
    }
    Ok(())
}

/// Compares what a rank got with what was sent to it.
fn check(messages: &[Message], rank: usize, got: &[(usize, bool, Completion)]) {
    let mut sent: BTreeMap<(usize, usize, u32), Vec<usize>> = BTreeMap::new();
    for (number, message) in messages.iter().enumerate().rev() {
        if message.to == rank {
            let key = (message.comm, message.from, message.tag);
            sent.entry(key).or_default().push(number);
        }
    }
    for (comm, _, completion) in got {
        let status = completion.status;
        let queue = sent.get_mut(&(*comm, status.source, status.tag));
        let number = queue
            .expect("a message of this kind")
            .pop()
            .expect("one more");
        let length = usize::try_from(status.length).expect("short");
        let bytes = &completion.buffer.bytes().expect("real")[..length];
        let expected = pattern(messages[number].length, number as u64);
        assert_eq!(expected.bytes(), Some(bytes), "message {number}");
    }
    assert!(
        sent.values().all(Vec::is_empty),
        "rank {rank} did not get {sent:?}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_message_is_received_once_and_in_order(
        (ranks, messages) in (1..6_usize).prop_flat_map(|ranks| {
            (Just(ranks), prop::collection::vec(message(ranks), 0..24))
        }),
        seed in 1..u64::MAX,
        async_small_threshold in prop_oneof![Just(0), Just(u64::MAX)],
        costly in any::<bool>(),
    ) {
        let messages = Rc::new(messages);
        let got: Vec<Got> = (0..ranks).map(|_| Got::default()).collect();
        let program = |comm: Comm| {
            let mine = Rc::clone(&got[comm.rank()]);
            traffic(comm, Rc::clone(&messages), mine)
        };
        let cost = |time| if costly { vec![OverheadSection { above: 1, time, per_byte: 0.1 }] } else { Vec::new() };
        let settings = Settings {
            async_small_threshold,
            overheads: Overheads {
                os: OverheadTable::new(cost(1.0)),
                ois: OverheadTable::new(cost(2.0)),
                or: OverheadTable::new(cost(3.0)),
            },
            ..Settings::new(THRESHOLD)
        };
        let ranks = u32::try_from(ranks).expect("few");
        world(ranks).settings(settings).order(Order::Seeded(seed)).run(program).finished();
        for (rank, got) in got.iter().enumerate() {
            check(&messages, rank, &got.borrow());
        }
    }
}
