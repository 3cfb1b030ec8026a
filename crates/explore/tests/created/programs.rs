//! Programs with a main actor that creates the other actors, and joins them unless said otherwise;
//! written after descriptions of the programs of a published suite.
//!
//! Shared state besides mutexes and semaphores is read and written only by the owner of the mutex,
//! or where the order of reading and writing is certain.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use sim_core::{Actor, HostId, Mutex, Semaphore, Stepper};

/// The only host.
const HERE: HostId = HostId(0);

/// An actor that does this.
async fn create<Fut>(me: &Actor, program: impl FnOnce(Actor) -> Fut) -> Actor
where
    Fut: Future<Output = ()> + 'static,
{
    me.spawn("created", HERE, program).await
}

async fn join_all(actors: Vec<Actor>) {
    for actor in actors {
        actor.join().await;
    }
}

async fn lock_and_unlock(mutexes: &[&Mutex]) {
    for mutex in mutexes {
        mutex.lock().await;
    }
    for mutex in mutexes.iter().rev() {
        mutex.unlock().await;
    }
}

/// A barber that sleeps without customers, and this number of customers; as many customers as there
/// are chairs may be in the waiting room. Unless they `leave_chairs`, a customer that is called
/// keeps its place in the room: the room is full in the end.
pub(crate) fn barber(customers: usize, chairs: u32, leave_chairs: bool) -> Stepper {
    Stepper::on_one_host(move |simulation| {
        let room = simulation.new_semaphore(chairs);
        let chair = simulation.new_semaphore(1);
        let (pillow, belt) = (simulation.new_semaphore(0), simulation.new_semaphore(0));
        // Set when nobody but the barber is left, who then waits at the pillow.
        let all_done = Rc::new(Cell::new(false));
        simulation.spawn_anonymous(0, move |me| async move {
            let barber = {
                let (pillow, belt, all_done) = (pillow.clone(), belt.clone(), all_done.clone());
                create(&me, move |_| cuts_hair(pillow, belt, all_done)).await
            };
            let mut all = Vec::new();
            for _ in 0..customers {
                let [room, chair, pillow, belt] = [&room, &chair, &pillow, &belt].map(Clone::clone);
                let customer = move |_| async move {
                    room.acquire().await;
                    chair.acquire().await;
                    if leave_chairs {
                        room.release().await;
                    }
                    pillow.release().await;
                    belt.acquire().await;
                    chair.release().await;
                };
                all.push(create(&me, customer).await);
            }
            join_all(all).await;
            all_done.set(true);
            pillow.release().await;
            barber.join().await;
        });
    })
}

async fn cuts_hair(pillow: Semaphore, belt: Semaphore, all_done: Rc<Cell<bool>>) {
    while !all_done.get() {
        pillow.acquire().await;
        if !all_done.get() {
            belt.release().await;
        }
    }
}

/// Actors say that they are there, and wait one after the other, with a mutex, for main to
/// let as many continue.
pub(crate) fn roll_call(actors: usize) -> Stepper {
    Stepper::on_one_host(move |simulation| {
        let mutex = simulation.new_mutex();
        let (start, end) = (simulation.new_semaphore(0), simulation.new_semaphore(0));
        simulation.spawn_anonymous(0, move |me| async move {
            let mut all = Vec::new();
            for _ in 0..actors {
                let (mutex, start, end) = (mutex.clone(), start.clone(), end.clone());
                let waits = move |_| async move {
                    start.release().await;
                    mutex.lock().await;
                    end.acquire().await;
                    mutex.unlock().await;
                };
                all.push(create(&me, waits).await);
            }
            for _ in 0..actors {
                start.acquire().await;
            }
            for _ in 0..actors {
                end.release().await;
            }
            join_all(all).await;
        });
    })
}

/// One writer and one reader for each of `number` mutexes. A reader also owns another mutex
/// meanwhile, the same for all readers. No actor is joined.
pub(crate) fn writers_and_readers(number: usize) -> Stepper {
    Stepper::on_one_host(move |simulation| {
        let own: Vec<Mutex> = (0..number).map(|_| simulation.new_mutex()).collect();
        let common = simulation.new_mutex();
        simulation.spawn_anonymous(0, move |me| async move {
            for mutex in &own {
                let mutex = mutex.clone();
                create(
                    &me,
                    move |_| async move { lock_and_unlock(&[&mutex]).await },
                )
                .await;
            }
            for mutex in own {
                let common = common.clone();
                create(&me, move |_| async move {
                    lock_and_unlock(&[&common, &mutex]).await;
                })
                .await;
            }
        });
    })
}

/// A number under a mutex.
#[derive(Clone)]
struct Guarded(Mutex, Rc<Cell<usize>>);

impl Guarded {
    async fn set(&self, value: usize) {
        self.0.lock().await;
        self.1.set(value);
        self.0.unlock().await;
    }

    async fn get(&self) -> usize {
        self.0.lock().await;
        let value = self.1.get();
        self.0.unlock().await;
        value
    }
}

/// Servers look once whether they have a request. For each of this many requests an actor counts
/// through all servers while main takes the one that is counted at that moment.
pub(crate) fn dispatcher(servers: usize, requests: usize) -> Stepper {
    Stepper::on_one_host(move |simulation| {
        let mutexes: Vec<Mutex> = (0..servers).map(|_| simulation.new_mutex()).collect();
        let counted = Guarded(simulation.new_mutex(), Rc::default());
        simulation.spawn_anonymous(0, move |me| async move {
            let mut all = Vec::new();
            for mutex in mutexes.clone() {
                all.push(create(&me, |_| async move { lock_and_unlock(&[&mutex]).await }).await);
            }
            for _ in 0..requests {
                let counts = counted.clone();
                let pick = create(&me, move |_| async move {
                    for server in 0..servers {
                        counts.set(server).await;
                    }
                });
                let pick = pick.await;
                lock_and_unlock(&[&mutexes[counted.get().await]]).await;
                pick.join().await;
            }
            join_all(all).await;
        });
    })
}

/// Writers mark `places` places, each under its mutex. `looks` times, one actor points at every
/// place but the first, one after the other, while another actor looks at the place that is pointed
/// at then.
pub(crate) fn poke(places: usize, looks: usize) -> Stepper {
    Stepper::on_one_host(move |simulation| {
        let mutexes: Vec<Mutex> = (0..places).map(|_| simulation.new_mutex()).collect();
        let pointed = Guarded(simulation.new_mutex(), Rc::default());
        simulation.spawn_anonymous(0, move |me| async move {
            let mut all = Vec::new();
            for mutex in mutexes.clone() {
                all.push(create(&me, |_| async move { lock_and_unlock(&[&mutex]).await }).await);
            }
            for _ in 0..looks {
                let (points, pointed) = (pointed.clone(), pointed.clone());
                let mutexes = mutexes.clone();
                let pair = vec![
                    create(&me, move |_| async move {
                        for place in 1..places {
                            points.set(place).await;
                        }
                    })
                    .await,
                    create(&me, move |_| async move {
                        lock_and_unlock(&[&mutexes[pointed.get().await]]).await;
                    })
                    .await,
                ];
                join_all(pair).await;
            }
            join_all(all).await;
        });
    })
}

/// Producers, numbered from 1, that choose a worker by a common number, and workers that look for
/// work; each does so `times` times. No actor is joined.
pub(crate) fn producers_and_workers(workers: usize, producers: usize, times: usize) -> Stepper {
    Stepper::on_one_host(move |simulation| {
        let mutexes: Vec<Mutex> = (0..workers).map(|_| simulation.new_mutex()).collect();
        let common = (simulation.new_mutex(), Rc::new(Cell::new(0)));
        let work = Rc::new(RefCell::new(vec![0_u32; workers]));
        simulation.spawn_anonymous(0, move |me| async move {
            for (worker, mutex) in mutexes.iter().cloned().enumerate() {
                let work = Rc::clone(&work);
                create(&me, move |_| async move {
                    for _ in 0..times {
                        mutex.lock().await;
                        let left = work.borrow()[worker].saturating_sub(1);
                        work.borrow_mut()[worker] = left;
                        mutex.unlock().await;
                    }
                })
                .await;
            }
            for producer in 1..=producers {
                let (mutexes, (common, last)) = (mutexes.clone(), common.clone());
                let work = Rc::clone(&work);
                create(&me, move |_| async move {
                    for _ in 0..times {
                        common.lock().await;
                        last.set(last.get() * 2 + producer);
                        let chosen = last.get() % workers;
                        common.unlock().await;
                        mutexes[chosen].lock().await;
                        work.borrow_mut()[chosen] += 1;
                        mutexes[chosen].unlock().await;
                    }
                })
                .await;
            }
        });
    })
}
