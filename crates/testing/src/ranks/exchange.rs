//! Traffic that several test files use: every rank sends to every other rank, under all orders of
//! delivery; a message that is cancelled while a receive may match; all operations of the protocol
//! machines together.

use std::cell::RefCell;
use std::rc::Rc;

use mpi::{Limits, Settings, prelude::*};

use super::{Order, Outcome, pattern, world};

/// When the receives are posted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Receives {
    /// Before the sends.
    First,
    /// At once after the sends, one after the other, the last tag first.
    Then,
    /// The same, the first tag first.
    InOrder,
    /// As `Then`, after a second.
    Late,
    /// As `First`, and only rank 1 receives, from rank 0.
    OneWay,
}

/// Each rank sends a message of each length to every other rank, and receives the messages of the
/// others.
pub async fn exchange(world: Comm, lengths: Rc<Vec<u64>>, when: Receives) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let is_pair = |from: usize, to: usize| from != to && (when != Receives::OneWay || from == 0);
    let content = |from: usize, to: usize, length| pattern(length, (from * 10 + to) as u64);
    let tags = || (0..100).zip(lengths.iter().copied());
    let mut posted = Vec::new();
    if matches!(when, Receives::First | Receives::OneWay) {
        for (tag, length) in tags() {
            for other in (0..size).filter(|other| is_pair(*other, rank)) {
                posted.push((other, world.irecv(world.buffer(length), other, tag)?));
            }
        }
    }
    let mut sends = Vec::new();
    for other in (0..size).filter(|other| is_pair(rank, *other)) {
        for (tag, length) in tags() {
            sends.push(world.isend(content(rank, other, length), other, tag)?);
        }
    }
    if when == Receives::Late {
        world.sleep(1.0).await;
    }
    if matches!(when, Receives::Then | Receives::InOrder | Receives::Late) {
        let mut order: Vec<_> = tags().collect();
        if when != Receives::InOrder {
            order.reverse();
        }
        for (tag, length) in order {
            for other in (0..size).filter(|other| is_pair(*other, rank)) {
                let mut buffer = world.buffer(length);
                world.recv(&mut buffer, other, tag).await?;
                assert_eq!(buffer.bytes(), content(other, rank, length).bytes());
            }
        }
    }
    for (other, receive) in &mut posted {
        let buffer = receive.wait().await?.buffer;
        assert_eq!(buffer.bytes(), content(*other, rank, buffer.len()).bytes());
    }
    waitall(&mut sends).await?;
    Ok(())
}

pub fn run_exchange(
    ranks: u32,
    limits: &Limits,
    lengths: &[u64],
    when: Receives,
    order: Order,
) -> Outcome {
    let lengths = Rc::new(lengths.to_vec());
    let world = world(ranks).limits(limits.clone()).order(order);
    world.run(move |world| exchange(world, Rc::clone(&lengths), when))
}

/// All but the last.
pub const WAYS: [Receives; 4] = [
    Receives::First,
    Receives::Then,
    Receives::InOrder,
    Receives::Late,
];

/// Few of everything.
pub const FEW: Limits = Limits {
    packet: Some(20),
    buffers: Some(2),
    credits: Some(4),
    ..Limits::NONE
};

/// Runs two ranks under all orders of delivery, up to `runs_max` runs, and calls `check` with each
/// outcome. Returns the number of runs.
pub fn every_order(
    limits: &Limits,
    lengths: &[u64],
    when: Receives,
    runs_max: usize,
    mut check: impl FnMut(Outcome),
) -> usize {
    let mut choices: Vec<usize> = Vec::new();
    for runs in 1.. {
        let widths = Rc::new(RefCell::new(Vec::new()));
        let path = Order::Path {
            choices: choices.clone(),
            widths: Rc::clone(&widths),
        };
        check(run_exchange(2, limits, lengths, when, path));
        let widths = widths.borrow();
        choices.resize(widths.len(), 0);
        // The next path: the last choice that has another candidate.
        let next = (0..widths.len())
            .rev()
            .find(|&at| choices[at] + 1 < widths[at]);
        let Some(at) = next.filter(|_| runs < runs_max) else {
            return runs;
        };
        choices.truncate(at + 1);
        choices[at] += 1;
    }
    unreachable!("the loop ends by returning")
}

/// 1 to 3 buffers, 1 to 3 credits.
pub fn scarce() -> impl Iterator<Item = Limits> {
    (1..4).flat_map(|buffers| {
        (1..4).map(move |credits| Limits {
            buffers: Some(buffers),
            credits: Some(credits),
            ..FEW
        })
    })
}

/// Parameters of a race: a send in this mode with `length` bytes is cancelled after a while, and
/// the receive is posted after a while.
#[derive(Clone, Copy, Debug)]
pub struct Race {
    pub mode: SendMode,
    pub length: u64,
    pub cancel_after: f64,
    pub receive_after: Option<f64>,
}

/// Rank 0 sends to rank 1 and cancels the send; both ranks must agree on the result. Returns true
/// if the message was cancelled.
pub async fn race(world: Comm, race: Race, tag: u32) -> Result<bool> {
    let content = pattern(race.length, 3);
    if world.rank() == 0 {
        let mut send = match race.mode {
            SendMode::Synchronous => world.issend(content, 1, tag)?,
            _ => world.isend(content, 1, tag)?,
        };
        if race.cancel_after > 0.0 {
            world.sleep(race.cancel_after).await;
        }
        send.cancel().await;
        // Asking twice changes nothing.
        send.cancel().await;
        let cancelled = send.wait().await?.status.cancelled;
        let answer = world.buffer_from(&[u8::from(cancelled)]);
        world.send(&answer, 1, tag + 1).await?;
        return Ok(cancelled);
    }
    let post = |world: &Comm| world.irecv(world.buffer(race.length), 0, tag);
    let mut receive: Option<Request> = None;
    if let Some(after) = race.receive_after {
        if after > 0.0 {
            world.sleep(after).await;
        }
        receive = Some(post(&world)?);
    }
    let mut answer = world.buffer(1);
    world.recv(&mut answer, 0, tag + 1).await?;
    let cancelled = answer.bytes() == Some(&[1]);
    let mut receive = match receive {
        Some(receive) => receive,
        None if cancelled => return Ok(cancelled),
        None => post(&world)?,
    };
    if cancelled {
        receive.cancel().await;
    }
    let completion = receive.wait().await?;
    assert_eq!(completion.status.cancelled, cancelled, "one winner");
    if !cancelled {
        assert_eq!(completion.buffer.bytes(), content.bytes());
    }
    Ok(cancelled)
}

/// Everything at once, at three ranks.
pub async fn everything(world: Comm, lengths: Rc<Vec<u64>>, when: Receives) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    exchange(world.clone(), Rc::clone(&lengths), when).await?;
    // Short synchronous messages between longer ones.
    let mut requests = Vec::new();
    for other in (0..size).filter(|other| *other != rank) {
        for (tag, length) in (200..).zip(lengths.iter().copied()) {
            requests.push(world.issend(pattern(length.min(30), 1), other, tag)?);
            requests.push(world.irecv(world.buffer(30), other, tag)?);
        }
    }
    // Eager messages of several packets, before and after their receives, between which answers
    // come.
    let mut posted = Vec::new();
    let mut late = Vec::new();
    for tag in 250..256 {
        for other in (0..size).filter(|other| *other != rank) {
            if tag % 2 == 0 {
                posted.push(world.irecv(world.buffer(90), other, tag)?);
            } else {
                late.push((other, tag));
            }
            requests.push(world.isend(pattern(90, 1), other, tag)?);
        }
    }
    // Nobody receives these: they come back, also those that wait for buffers and credits.
    let mut lost = Vec::new();
    for tag in 300..304 {
        for other in (0..size).filter(|other| *other != rank) {
            lost.push(world.issend(pattern(if tag % 2 == 0 { 120 } else { 9 }, 1), other, tag)?);
        }
    }
    for request in &mut lost {
        request.cancel().await;
    }
    for completion in waitall(&mut lost).await?.into_iter().flatten() {
        assert!(completion.status.cancelled, "nobody has received it");
    }
    for (other, tag) in late {
        posted.push(world.irecv(world.buffer(90), other, tag)?);
    }
    for completion in waitall(&mut posted).await?.into_iter().flatten() {
        assert_eq!(completion.buffer.bytes(), pattern(90, 1).bytes());
    }
    waitall(&mut requests).await?;
    // A rank that has ended gives no message back.
    world.barrier().await?;
    for (tag, length) in [(500, 130), (502, 7)] {
        if rank < 2 {
            let with = Race {
                mode: SendMode::Synchronous,
                length,
                cancel_after: 0.0,
                receive_after: Some(0.0),
            };
            race(world.clone(), with, tag).await?;
        }
    }
    Ok(())
}

/// Returns settings with these limits in which every operation takes time.
pub fn slow(limits: Limits) -> Settings {
    Settings {
        copy_bandwidth: 100.0,
        posting: mpi::PostingCost {
            packet: 0.25,
            batch: 0.5,
        },
        acknowledged_ssend: true,
        limits: Some(limits),
        ..Settings::new(super::THRESHOLD)
    }
}
