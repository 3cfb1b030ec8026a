//! Small programs with known numbers of classes.

use sim_core::Stepper;

/// Actors lock and unlock one mutex.
pub(crate) fn mutex_users(users: u32) -> Stepper {
    Stepper::on_one_host(move |simulation| {
        let mutex = simulation.new_mutex();
        for _ in 0..users {
            let mutex = mutex.clone();
            simulation.spawn_anonymous(0, |_| async move {
                mutex.lock().await;
                mutex.unlock().await;
            });
        }
    })
}

/// Dining philosophers that eat once. Each takes the fork with the lower number first if they are
/// `ordered`, the left one otherwise.
pub(crate) fn philosophers(number: usize, ordered: bool) -> Stepper {
    Stepper::on_one_host(move |simulation| {
        let forks: Vec<_> = (0..number).map(|_| simulation.new_mutex()).collect();
        for left in 0..number {
            let right = (left + 1) % number;
            let (first, second) = if ordered && right < left {
                (right, left)
            } else {
                (left, right)
            };
            let (first, second) = (forks[first].clone(), forks[second].clone());
            simulation.spawn_anonymous(0, |_| async move {
                first.lock().await;
                second.lock().await;
                second.unlock().await;
                first.unlock().await;
            });
        }
    })
}

/// Philosophers with a semaphore: at most n-1 philosophers sit at the table.
pub(crate) fn philosophers_with_semaphore(number: usize) -> Stepper {
    Stepper::on_one_host(move |simulation| {
        let forks: Vec<_> = (0..number).map(|_| simulation.new_mutex()).collect();
        let seats = simulation.new_semaphore(u32::try_from(number).expect("few") - 1);
        for left in 0..number {
            let (first, second) = (forks[left].clone(), forks[(left + 1) % number].clone());
            let seats = seats.clone();
            simulation.spawn_anonymous(0, |_| async move {
                seats.acquire().await;
                first.lock().await;
                second.lock().await;
                first.unlock().await;
                second.unlock().await;
                seats.release().await;
            });
        }
    })
}

/// Philosophers that ask for the table first.
pub(crate) fn philosophers_with_table(number: usize) -> Stepper {
    Stepper::on_one_host(move |simulation| {
        let forks: Vec<_> = (0..number).map(|_| simulation.new_mutex()).collect();
        let table = simulation.new_mutex();
        for left in 0..number {
            let (first, second) = (forks[left].clone(), forks[(left + 1) % number].clone());
            let table = table.clone();
            simulation.spawn_anonymous(0, |_| async move {
                table.lock().await;
                first.lock().await;
                second.lock().await;
                table.unlock().await;
                first.unlock().await;
                second.unlock().await;
            });
        }
    })
}

/// One actor sends to each of `number` receives by as many actors on one mailbox, and the other way
/// round.
pub(crate) fn receives(number: u32) -> Stepper {
    Stepper::on_one_host(move |simulation| {
        let mailbox = simulation.new_mailbox();
        for word in 0..number {
            let mailbox = mailbox.clone();
            simulation.spawn_anonymous(0, move |_| async move {
                mailbox
                    .put(u64::from(word), 1.0)
                    .await
                    .expect("nobody cancels");
            });
        }
        simulation.spawn_anonymous(0, move |_| async move {
            for _ in 0..number {
                mailbox.get().await.expect("nobody cancels");
            }
        });
    })
}

/// Producers and consumers over a buffer with `room` places: semaphores for free and full places, a
/// mutex each for putting and for taking.
pub(crate) fn producers_consumers(
    producers: u32,
    consumers: u32,
    items: u32,
    room: u32,
) -> Stepper {
    Stepper::on_one_host(move |simulation| {
        let (free, full) = (simulation.new_semaphore(room), simulation.new_semaphore(0));
        let mutex = simulation.new_mutex();
        for producer in 0..producers + consumers {
            let (free, full, mutex) = (free.clone(), full.clone(), mutex.clone());
            simulation.spawn_anonymous(0, move |_| async move {
                let (first, second) = if producer < producers {
                    (free, full)
                } else {
                    (full, free)
                };
                for _ in 0..items {
                    first.acquire().await;
                    mutex.lock().await;
                    mutex.unlock().await;
                    second.release().await;
                }
            });
        }
    })
}

/// Actors meet at a barrier, `rounds` times.
pub(crate) fn barrier(actors: u32, rounds: u32) -> Stepper {
    Stepper::on_one_host(move |simulation| {
        let barrier = simulation.new_barrier(actors);
        for _ in 0..actors {
            let barrier = barrier.clone();
            simulation.spawn_anonymous(0, move |_| async move {
                for _ in 0..rounds {
                    barrier.wait().await;
                }
            });
        }
    })
}

/// One actor draws two numbers below 6; one pair is a mistake.
pub(crate) fn draws() -> Stepper {
    Stepper::on_one_host(|simulation| {
        simulation.spawn_anonymous(0, |me| async move {
            let pair = [me.random(6).await, me.random(6).await];
            if pair == [3, 4] {
                Err("3 and 4")
            } else {
                Ok(())
            }
        });
    })
}
