//! Promise: over adapters the message layer keeps the promises that it makes for any channel, for
//! each way of long messages and in any order of events that adapters allow. It stays within the
//! resources requested from the adapter, never finds a peer without a receive, and releases all.

use std::cell::RefCell;
use std::rc::Rc;

use crate::packet::{Ranks, Tells};
use mpi::{Settings, prelude::*};
use mpi_verbs::Rendezvous;
use rdma::AsyncEvent;
use testing::adapter::Abilities;
use testing::ranks::exchange::{Race, Receives, everything, exchange, race};
use testing::ranks::pattern;

const WAYS: [Rendezvous; 2] = [Rendezvous::Write, Rendezvous::Read];

/// Runs with both ways of long messages and several seeds.
fn each(size: u32, seeds: u64, mut with: impl FnMut(Ranks)) {
    for rendezvous in WAYS {
        for seed in 1..=seeds {
            let mut ranks = Ranks::new(size, seed);
            ranks.options.rendezvous = rendezvous;
            with(ranks);
        }
    }
}

#[test]
fn messages_of_all_lengths_arrive_around_the_threshold() {
    let lengths = Rc::new(vec![0, 1, 40, 63, 64, 99, 100, 101, 300, 5000]);
    let whens = [
        Receives::First,
        Receives::Then,
        Receives::InOrder,
        Receives::Late,
    ];
    each(3, 10, |ranks| {
        for when in whens {
            let lengths = Rc::clone(&lengths);
            ranks
                .clone()
                .run(move |world| exchange(world, Rc::clone(&lengths), when))
                .finished();
        }
    });
}

#[test]
fn all_that_the_machines_can_do_together() {
    let lengths = Rc::new(vec![0, 30, 99, 100, 250]);
    each(3, 25, |mut ranks| {
        let acknowledged = ranks.seed % 2 == 0;
        ranks.settings.acknowledged_ssend = acknowledged;
        let lengths = Rc::clone(&lengths);
        ranks
            .run(move |world| everything(world, Rc::clone(&lengths), Receives::Then))
            .finished();
    });
}

#[test]
fn long_messages_travel_in_pieces_that_the_port_can() {
    each(2, 10, |mut ranks| {
        ranks.abilities = Abilities {
            max_message: 256,
            max_inline: 0,
            ..Abilities::default()
        };
        let lengths = Rc::new(vec![99, 255, 256, 257, 5000]);
        ranks
            .run(move |world| exchange(world, Rc::clone(&lengths), Receives::Then))
            .finished();
    });
}

#[test]
fn a_message_that_is_too_long_is_consumed_and_reported() {
    each(2, 5, |ranks| {
        let program = |world: Comm| async move {
            for length in [50, 300] {
                if world.rank() == 0 {
                    world.send(&pattern(length, 1), 1, 7).await?;
                    world.send(&pattern(8, 2), 1, 7).await?;
                } else {
                    let mut buffer = world.buffer(10);
                    let error = world.recv(&mut buffer, 0, 7).await.unwrap_err();
                    assert_eq!(error.class(), ErrorClass::Truncate);
                    world.recv(&mut buffer, 0, 7).await?;
                    assert_eq!(
                        buffer.bytes().unwrap()[..8],
                        *pattern(8, 2).bytes().unwrap()
                    );
                }
            }
            Ok(())
        };
        ranks.run(program).finished();
    });
}

#[test]
fn probes_see_announced_messages_and_their_lengths() {
    each(2, 5, |ranks| {
        let program = |world: Comm| async move {
            if world.rank() == 0 {
                for (tag, length) in [(1, 20), (2, 400)] {
                    world.send(&pattern(length, 1), 1, tag).await?;
                }
                return Ok(());
            }
            for expected in [(1, 20), (2, 400)] {
                let status = world.probe(ANY_SOURCE, ANY_TAG).await?;
                assert_eq!((status.tag, status.length), expected);
                let mut buffer = world.buffer(status.length);
                world.recv(&mut buffer, 0, status.tag).await?;
                assert_eq!(buffer.bytes(), pattern(expected.1, 1).bytes());
            }
            Ok(())
        };
        ranks.run(program).finished();
    });
}

#[test]
fn a_message_is_cancelled_or_received() {
    let mut outcomes = [0, 0];
    each(2, 20, |ranks| {
        for (mode, length) in [
            (SendMode::Synchronous, 20),
            (SendMode::Synchronous, 300),
            (SendMode::Standard, 300),
        ] {
            for receive_after in [None, Some(0.0), Some(1.0)] {
                let with = Race {
                    mode,
                    length,
                    cancel_after: 0.5,
                    receive_after,
                };
                let won = Rc::new(std::cell::Cell::new(false));
                let program = |world: Comm| {
                    let won = Rc::clone(&won);
                    async move {
                        won.set(race(world, with, 3).await?);
                        Ok(())
                    }
                };
                ranks.clone().run(program).finished();
                outcomes[usize::from(won.get())] += 1;
            }
        }
    });
    assert!(outcomes[0] > 0 && outcomes[1] > 0, "{outcomes:?}");
}

#[test]
fn a_flood_waits_for_credits_and_never_finds_no_receive() {
    each(2, 10, |ranks| {
        let program = |world: Comm| async move {
            if world.rank() == 0 {
                let mut sends = Vec::new();
                for number in 0..200 {
                    sends.push(world.isend(pattern(number % 120, number), 1, 0)?);
                }
                waitall(&mut sends).await?;
                return Ok(());
            }
            world.sleep(1.0).await;
            for number in 0..200 {
                let mut buffer = world.buffer(number % 120);
                world.recv(&mut buffer, 0, 0).await?;
                assert_eq!(buffer.bytes(), pattern(number % 120, number).bytes());
            }
            Ok(())
        };
        ranks.run(program).finished();
    });
}

/// Random numbers drawn from a seed.
struct Draws(u64);

impl Draws {
    fn below(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % below
    }
}

/// Messages from each rank to each rank, itself included, in all modes; each is received once, in
/// the order of its sender and tag.
async fn traffic(world: Comm, seed: u64, count: usize) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let mut draws = Draws(seed | 1);
    // Everybody knows the whole list.
    let list: Vec<(usize, usize, u32, u64, u64)> = (0..count)
        .map(|_| {
            let mut place = || usize::try_from(draws.below(size as u64)).expect("few ranks");
            let (from, to) = (place(), place());
            let tag = u32::try_from(draws.below(3)).expect("below 3");
            let length = match draws.below(6) {
                0 => 0,
                1 | 2 => draws.below(60),
                3 => 95 + draws.below(10),
                4 => 100 + draws.below(200),
                _ => 2000 + draws.below(3000),
            };
            (from, to, tag, length, draws.below(4))
        })
        .collect();
    world.buffer_attach(world.buffer(1 << 20))?;
    let mut sends = Vec::new();
    let mut receives = Vec::new();
    for (number, &(from, to, tag, length, mode)) in (0..).zip(&list) {
        if to == rank {
            let request = world.irecv(world.buffer(length), from, tag)?;
            receives.push((number, length, request));
        }
        if from != rank {
            continue;
        }
        let content = pattern(length, number);
        sends.push(match mode {
            0 => world.issend(content, to, tag)?,
            1 => world.ibsend(content, to, tag)?,
            _ => world.isend(content, to, tag)?,
        });
        if sends.len() >= 20 {
            let mut first = sends.remove(0);
            if length > 1000 && to != rank {
                continue;
            }
            first.test().await?;
            if !first.is_null() {
                sends.push(first);
            }
        }
    }
    for (number, length, mut request) in receives {
        let completion = request.wait().await?;
        assert_eq!(completion.status.length, length);
        assert_eq!(completion.buffer.bytes(), pattern(length, number).bytes());
    }
    waitall(&mut sends).await?;
    world.buffer_detach().await?;
    world.barrier().await
}

#[test]
fn thousands_of_random_messages_arrive_once_and_in_order() {
    for (size, count, seeds) in [(2, 300, 12), (4, 400, 12), (6, 1000, 2)] {
        each(size, seeds, |mut ranks| {
            let seed = ranks.seed;
            ranks.settings.acknowledged_ssend = seed % 2 == 0;
            ranks.options.reg_cache_entries = usize::try_from(seed % 3).unwrap();
            ranks.options.bounce_max = [0, 300, 128 << 10][usize::try_from(seed / 3 % 3).unwrap()];
            ranks.options.max_inline = [0, 60, 220][usize::try_from(seed % 3).unwrap()];
            ranks.options.cq_depth = if seed % 2 == 0 { 40 } else { 4096 };
            ranks
                .run(move |world| traffic(world, seed, count))
                .finished();
        });
    }
}

#[test]
fn a_run_repeats_itself() {
    let run = |seed| {
        let ranks = Ranks::new(3, seed);
        ranks
            .run(move |world| traffic(world, 5, 100))
            .finished()
            .steps
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}

#[test]
fn a_buffer_that_is_sent_again_is_registered_once() {
    each(2, 3, |ranks| {
        let program = |world: Comm| async move {
            let message = pattern(4000, 1);
            for _ in 0..10 {
                if world.rank() == 0 {
                    world.send(&message, 1, 0).await?;
                } else {
                    let mut buffer = world.buffer(4000);
                    world.recv(&mut buffer, 0, 0).await?;
                    assert_eq!(buffer.bytes(), message.bytes());
                }
            }
            Ok(())
        };
        let outcome = ranks.run(program).finished();
        // Packet buffers, receives, one region for what comes or is sent for the first time, and at
        // rank 0 the message, which it sent again.
        assert_eq!(outcome.registrations(), [4, 3]);
    });
}

#[test]
fn who_writes_to_a_message_afterwards_does_not_change_what_was_sent() {
    each(2, 3, |mut ranks| {
        ranks.options.bounce_max = [0, 128 << 10][usize::try_from(ranks.seed % 2).unwrap()];
        let program = |world: Comm| async move {
            let mut message = pattern(4000, 1);
            let mut send = world.isend(message.clone(), 1 - world.rank(), 1)?;
            message.bytes_mut().unwrap().fill(9);
            let mut buffer = world.buffer(4000);
            world.recv(&mut buffer, 1 - world.rank(), 1).await?;
            assert_eq!(buffer.bytes(), pattern(4000, 1).bytes());
            send.wait().await?;
            Ok(())
        };
        ranks.run(program).finished();
    });
}

/// A received message that is passed on is in new memory each time: the message is copied, and no
/// memory is registered after the first round.
#[test]
fn memory_that_is_always_new_is_not_registered_each_time() {
    const ROUNDS: usize = 50;
    for (copied, expected) in [(4000, 3), (3999, 2 + 2 * ROUNDS)] {
        each(2, 3, |mut ranks| {
            ranks.options.bounce_max = copied;
            let program = |world: Comm| async move {
                let other = 1 - world.rank();
                let mut token = pattern(4000, 7);
                for _ in 0..ROUNDS {
                    if world.rank() == 0 {
                        world.send(&token, other, 0).await?;
                        world.recv(&mut token, other, 0).await?;
                    } else {
                        world.recv(&mut token, other, 0).await?;
                        world.send(&token, other, 0).await?;
                    }
                    assert_eq!(token.bytes(), pattern(4000, 7).bytes());
                }
                Ok(())
            };
            let outcome = ranks.run(program).finished();
            // Packet buffers and receives; one region for what comes and goes in turn, or one for
            // each message.
            assert_eq!(outcome.registrations(), [expected; 2]);
        });
    }
}

#[test]
fn phantoms_stay_phantoms() {
    each(2, 3, |ranks| {
        let program = |world: Comm| async move {
            for length in [0, 20, 99, 100, 4000] {
                if world.rank() == 0 {
                    world.send(&Buffer::phantom(length), 1, 0).await?;
                } else {
                    // What is behind them is nobody's.
                    let mut buffer = pattern(length, 3);
                    let status = world.recv(&mut buffer, 0, 0).await?;
                    assert_eq!(status.length, length);
                    assert_eq!(buffer.bytes(), pattern(length, 3).bytes());
                }
            }
            Ok(())
        };
        ranks.run(program).finished();
    });
}

/// Rank 0 sends messages of these lengths and patterns, each new, and rank 1 finds them whole.
async fn one_way(world: Comm, messages: impl IntoIterator<Item = (u64, u64)>) -> Result<()> {
    for (length, number) in messages {
        if world.rank() == 0 {
            world.send(&pattern(length, number), 1, 0).await?;
        } else {
            let mut buffer = world.buffer(length);
            world.recv(&mut buffer, 0, 0).await?;
            assert_eq!(buffer.bytes(), pattern(length, number).bytes());
        }
    }
    Ok(())
}

#[test]
fn little_memory_for_registrations_is_used_again() {
    each(2, 5, |mut ranks| {
        // The receives and buffers take about 3000 bytes.
        ranks.abilities.max_registered = 24_000;
        ranks.options.reg_cache_entries = 100;
        ranks
            .run(|world| one_way(world, (0..20).map(|number| (3000 + number, number))))
            .finished();
    });
}

/// Memory registered for copies makes room for a message that is too long for them, at both
/// ends.
#[test]
fn memory_that_is_kept_for_copies_makes_room() {
    each(2, 3, |mut ranks| {
        ranks.abilities.max_registered = 24_000;
        ranks.options.bounce_max = 4000;
        let messages = [3000, 18_000, 3000, 18_000].map(|length| (length, 2));
        ranks.run(|world| one_way(world, messages)).finished();
    });
}

#[test]
fn a_message_that_cannot_be_registered_is_an_error_that_says_so() {
    each(2, 2, |mut ranks| {
        ranks.abilities.max_registered = 24_000;
        let program = |world: Comm| async move {
            if world.rank() == 0 {
                world.send(&pattern(100_000, 1), 1, 0).await
            } else {
                let mut buffer = world.buffer(100_000);
                world.recv(&mut buffer, 0, 0).await.map(|_| ())
            }
        };
        let outcome = ranks.run(program).all_given_back();
        let told = outcome.results.iter().flatten();
        let errors: Vec<Error> = told.filter_map(|result| result.err()).collect();
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert!(
            texts.iter().any(|text| text.contains("ulimit -l")),
            "{texts:?}"
        );
    });
}

#[test]
fn a_lost_peer_is_an_error_that_names_it_and_the_status() {
    let by_adapter = Rc::new(std::cell::Cell::new(0));
    each(3, 20, |mut ranks| {
        ranks.off = Some((2, 300 + ranks.seed * 10));
        let by_adapter = Rc::clone(&by_adapter);
        let program = move |world: Comm| {
            let by_adapter = Rc::clone(&by_adapter);
            async move {
                if world.rank() == 2 {
                    let mut buffer = world.buffer(200);
                    loop {
                        world.recv(&mut buffer, ANY_SOURCE, 0).await?;
                    }
                }
                let error = loop {
                    let length = if world.rank() == 0 { 20 } else { 150 };
                    if let Err(error) = world.send(&pattern(length, 1), 2, 0).await {
                        break error;
                    }
                };
                assert_eq!(error.class(), ErrorClass::ProcFailed);
                match error.to_string().as_str() {
                    "rank 2: transport retry counter exceeded (IBV_WC_RETRY_EXC_ERR)" => {
                        by_adapter.set(by_adapter.get() + 1);
                    }
                    // Nothing was on the way.
                    other => assert_eq!(other, "no connection to rank 2: it is lost"),
                }
                // From now on everything with that rank fails, and the others continue.
                let mut buffer = world.buffer(10);
                assert_eq!(world.recv(&mut buffer, 2, 0).await, Err(error));
                assert_eq!(world.send(&buffer, 2, 0).await, Err(error));
                let other = 1 - world.rank();
                let mut send = world.isend(pattern(300, 5), other, 1)?;
                let mut buffer = world.buffer(300);
                world.recv(&mut buffer, other, 1).await?;
                send.wait().await?;
                Ok(())
            }
        };
        let outcome = ranks.run(program);
        for rank in 0..2 {
            assert_eq!(outcome.results[rank], Some(Ok(())), "{:?}", outcome.log);
        }
        assert_eq!(outcome.faults, Vec::<String>::new());
        outcome.all_given_back();
    });
    assert!(by_adapter.get() > 10, "{}", by_adapter.get());
}

/// Ranks 0 and 1 send each other messages until that fails.
async fn until_it_fails(world: Comm, errors: Rc<RefCell<Vec<(usize, Error)>>>) -> Result<()> {
    let other = 1 - world.rank();
    let error = loop {
        let mut buffer = world.buffer(300);
        let sent = world.sendrecv(&pattern(300, 1), other, 0, &mut buffer, other, 0);
        if let Err(error) = sent.await {
            break error;
        }
    };
    errors.borrow_mut().push((world.rank(), error));
    Ok(())
}

#[test]
fn what_an_adapter_tells_of_faults_is_an_error_that_names_peer_and_event() {
    let cases: [(Tells, &str); 3] = [
        (
            |qp| qp.map(AsyncEvent::QpFatal),
            "rank 1: the queue pair broke (IBV_EVENT_QP_FATAL)",
        ),
        (
            |qp| qp.map(AsyncEvent::QpAccessErr),
            "rank 1: the queue pair got a request without the rights for it (IBV_EVENT_QP_ACCESS_ERR)",
        ),
        (
            |_| Some(AsyncEvent::DeviceFatal),
            "rank 1: fatal device error (IBV_EVENT_DEVICE_FATAL)",
        ),
    ];
    for (tells, says) in cases {
        each(2, 10, |mut ranks| {
            ranks.tells = Some((0, 300 + 10 * ranks.seed, tells));
            let errors = Rc::new(RefCell::new(Vec::new()));
            let outcome = ranks.run(|world| until_it_fails(world, Rc::clone(&errors)));
            let outcome = outcome.all_given_back();
            let mut errors = errors.borrow().clone();
            errors.sort_by_key(|(rank, _)| *rank);
            let [(0, first), (1, second)] = &errors[..] else {
                panic!("{errors:?}");
            };
            assert_eq!(first.to_string(), says);
            assert_eq!(first.class(), ErrorClass::Other);
            // The other side finds nobody.
            assert_eq!(second.class(), ErrorClass::ProcFailed, "{second}");
            let is_named = |line: &&String| {
                line.starts_with("Error: rank 1: ") && line.contains(" of memory0")
            };
            assert!(
                outcome.log.iter().any(|line| is_named(&line)),
                "{:?}",
                outcome.log
            );
        });
    }
}

#[test]
fn that_a_port_is_down_or_back_is_said_and_does_not_end_anything() {
    let cases: [(Tells, &str); 2] = [
        (
            |_| Some(AsyncEvent::PortErr(1)),
            "Warn: port 1 of memory0 is down",
        ),
        (
            |_| Some(AsyncEvent::PortActive(1)),
            "Warn: port 1 of memory0 is up",
        ),
    ];
    for (tells, says) in cases {
        each(2, 3, |mut ranks| {
            ranks.tells = Some((0, 3, tells));
            let lengths = Rc::new(vec![20, 300, 5000]);
            let program = move |world| exchange(world, Rc::clone(&lengths), Receives::Then);
            let outcome = ranks.run(program).finished();
            assert!(
                outcome.log.iter().any(|line| line.starts_with(says)),
                "{:?}",
                outcome.log
            );
        });
    }
}

#[test]
fn the_settings_of_the_message_layer_are_kept() {
    // A threshold below that of the channel.
    each(2, 3, |mut ranks| {
        ranks.settings = Settings::new(10);
        let lengths = Rc::new(vec![9, 10, 11, 99, 100]);
        ranks
            .run(move |world| exchange(world, Rc::clone(&lengths), Receives::First))
            .finished();
    });
}
