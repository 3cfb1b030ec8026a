//! Promise: a channel may be built on a network that loses, repeats and reorders datagrams; then
//! the channel acknowledges and retransmits, and the protocols above do not know of it (M-7).
//!
//! The channel here numbers the packets of a pair, sends each packet again until it is
//! acknowledged, and hands them on in their order, once each. The network below draws for every
//! datagram if the datagram is lost, how often it comes, and when.

use mpi::SourceLocation;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use mpi::channel::{AbortReason, ConnectionLifecycle, RankHost, RemoteMemory};
use mpi::channel::{ChannelEvent, Interest, Packet, Token};
use mpi::exploration::ExplorationHooks;
use mpi::{Channel, Level, Limits, Process, Settings, prelude::*};
use testing::ranks::pattern;

#[derive(Clone)]
enum Datagram {
    Data { number: u64, packet: Packet },
    Acknowledgement { number: u64 },
}

/// One direction of a pair: the sender's and the receiver's side.
#[derive(Default)]
struct Wire {
    next: u64,
    unacknowledged: BTreeMap<u64, Packet>,
    expected: u64,
    early: BTreeMap<u64, Packet>,
}

struct Net {
    wires: BTreeMap<(u32, u32), Wire>,
    flying: Vec<(u32, u32, Datagram)>,
    inboxes: Vec<VecDeque<ChannelEvent>>,
    draws: u64,
    lost: u64,
    repeated: u64,
}

impl Net {
    fn draw(&mut self, below: usize) -> usize {
        // xorshift64*
        self.draws ^= self.draws >> 12;
        self.draws ^= self.draws << 25;
        self.draws ^= self.draws >> 27;
        let draw = self.draws.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33;
        usize::try_from(draw).expect("31 bits") % below
    }

    /// Sends a datagram: a third is lost, some come twice.
    fn send(&mut self, from: u32, to: u32, datagram: &Datagram) {
        let copies = [0, 1, 1, 1, 2, 0][self.draw(6)];
        self.lost += u64::from(copies == 0);
        self.repeated += u64::from(copies == 2);
        for _ in 0..copies {
            self.flying.push((from, to, datagram.clone()));
        }
    }

    /// Delivers any datagram under way; if there is none, sends all unacknowledged packets again.
    /// Returns false if all packets are acknowledged.
    fn step(&mut self) -> bool {
        if self.flying.is_empty() {
            let again: Vec<_> = self
                .wires
                .iter()
                .flat_map(|(&(from, to), wire)| {
                    wire.unacknowledged.iter().map(move |(&number, packet)| {
                        let packet = packet.clone();
                        (from, to, Datagram::Data { number, packet })
                    })
                })
                .collect();
            for (from, to, datagram) in &again {
                self.send(*from, *to, datagram);
            }
            return !again.is_empty();
        }
        let at = self.draw(self.flying.len());
        let (from, to, datagram) = self.flying.swap_remove(at);
        match datagram {
            Datagram::Acknowledgement { number } => {
                let wire = self.wires.entry((to, from)).or_default();
                if let Some(packet) = wire.unacknowledged.remove(&number)
                    && let Some(token) = packet.notify
                {
                    self.inboxes[to as usize].push_back(ChannelEvent::Sent(token));
                }
            }
            Datagram::Data { number, packet } => {
                let wire = self.wires.entry((from, to)).or_default();
                if number >= wire.expected {
                    wire.early.insert(number, packet);
                }
                while let Some(packet) = wire.early.remove(&wire.expected) {
                    wire.expected += 1;
                    let source = from;
                    self.inboxes[to as usize].push_back(ChannelEvent::Packet { source, packet });
                }
                self.send(to, from, &Datagram::Acknowledgement { number });
            }
        }
        true
    }
}

struct Reliable {
    rank: u32,
    settings: Settings,
    net: Rc<RefCell<Net>>,
}

impl Channel for Reliable {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        u32::try_from(self.net.borrow().inboxes.len()).expect("few")
    }

    fn settings(&self) -> &Settings {
        &self.settings
    }

    fn max_packet(&self) -> u64 {
        u64::MAX
    }

    fn post(&self, peer: u32, packet: Packet) {
        let mut net = self.net.borrow_mut();
        let wire = net.wires.entry((self.rank, peer)).or_default();
        let number = wire.next;
        wire.next += 1;
        wire.unacknowledged.insert(number, packet.clone());
        net.send(self.rank, peer, &Datagram::Data { number, packet });
    }

    fn pull(&self, _: u32, _: Packet) {
        unreachable!("no message waits at its sender after that has gone on");
    }

    fn poll_event(&self) -> Option<ChannelEvent> {
        self.net.borrow_mut().inboxes[self.rank as usize].pop_front()
    }

    fn park(&self, _: Option<&Waker>, _: Interest) {}
}

impl RankHost for Reliable {
    fn now(&self) -> f64 {
        0.0
    }

    fn timer(&self, _: f64, _: Token) {
        unreachable!("nothing takes time");
    }

    fn compute(&self, _: f64, _: Token) {
        unreachable!("nothing takes time");
    }

    fn host_name(&self) -> String {
        String::new()
    }

    fn print(&self, _: fmt::Arguments<'_>) {}

    fn log(&self, _: Level, _: fmt::Arguments<'_>) {}

    fn abort(&self, _: AbortReason) {}
}

impl RemoteMemory for Reliable {}

impl ConnectionLifecycle for Reliable {}

impl ExplorationHooks for Reliable {}

/// Everybody sends messages of all kinds to everybody, twice with each tag.
async fn exchange(world: Comm) -> Result<()> {
    let lengths = [0, 3, 99, 100, 250];
    let others = || (0..world.size()).filter(|other| *other != world.rank());
    let salt = |from: usize, tag: u32| (from * 10) as u64 + u64::from(tag);
    let mut requests = Vec::new();
    for other in others() {
        for (tag, length) in (0..).zip(lengths) {
            let content = pattern(length, salt(world.rank(), tag));
            requests.push(world.isend(content.clone(), other, tag)?);
            requests.push(world.issend(content, other, tag)?);
        }
    }
    for other in others() {
        for (tag, length) in (0..5).zip(lengths).rev() {
            for _ in 0..2 {
                let mut buffer = world.buffer(length);
                world.recv(&mut buffer, other, tag).await?;
                assert_eq!(buffer.bytes(), pattern(length, salt(other, tag)).bytes());
            }
        }
    }
    waitall(&mut requests).await?;
    Ok(())
}

#[test]
fn m7_protocols_run_over_what_loses_repeats_and_reorders() {
    for seed in 1..20 {
        let few = Limits {
            packet: Some(20),
            credits: Some(4),
            buffers: Some(2),
            ..Limits::NONE
        };
        for limits in [None, Some(few)] {
            let net = Rc::new(RefCell::new(Net {
                wires: BTreeMap::new(),
                flying: Vec::new(),
                inboxes: (0..3).map(|_| VecDeque::new()).collect(),
                draws: seed,
                lost: 0,
                repeated: 0,
            }));
            let mut bodies: Vec<_> = (0..3)
                .map(|rank| {
                    let settings = Settings {
                        acknowledged_ssend: true,
                        limits: limits.clone(),
                        ..Settings::new(100)
                    };
                    let net = Rc::clone(&net);
                    let process = Process::new(Box::new(Reliable {
                        rank,
                        settings,
                        net,
                    }));
                    Some(Box::pin(async move {
                        exchange(process.world()).await?;
                        process.finalize(SourceLocation::caller()).await;
                        Ok::<(), Error>(())
                    }))
                })
                .collect();
            loop {
                for body in &mut bodies {
                    let Some(future) = body else { continue };
                    let mut context = Context::from_waker(Waker::noop());
                    if let Poll::Ready(result) = future.as_mut().poll(&mut context) {
                        assert_eq!(result, Ok(()));
                        *body = None;
                    }
                }
                if !net.borrow_mut().step() {
                    break;
                }
            }
            assert!(bodies.iter().all(Option::is_none), "everybody has ended");
            let net = net.borrow();
            assert!(net.lost > 0 && net.repeated > 0, "it is unreliable");
        }
    }
}
