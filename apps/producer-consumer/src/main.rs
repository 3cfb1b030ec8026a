//! Producers and consumers over a buffer with few places, for the model checker: `-n` of each.
//!
//! Two semaphores count the free and the full places, and a mutex protects the buffer: the
//! textbook's solution. Nothing is wrong with it in any order.
//!
//! Known answers for 2 producers and 2 consumers: one item each and room for 1 give 4
//! distinguishable orders (2 orders of the producers, 2 of the consumers), room for 2 gives 64; two
//! items each give 36 and 25,812. Independent enumerations agree.

use sim_core::{Actor, Mutex, Semaphore};

/// Producers and consumers share a bounded buffer
#[derive(clap::Parser, Clone)]
struct Args {
    /// Number of items that each produces or consumes
    #[arg(long, value_name = "N", default_value_t = 1)]
    items: u32,

    /// The places of the buffer
    #[arg(long, value_name = "N", default_value_t = 1)]
    room: u32,
}

/// Takes a place of one kind, changes the buffer, and gives a place of the other kind.
async fn transfer_items(items: u32, mutex: Mutex, takes: Semaphore, gives: Semaphore) {
    for _ in 0..items {
        takes.acquire().await;
        mutex.lock().await;
        mutex.unlock().await;
        gives.release().await;
    }
}

async fn producer_consumer(me: Actor, args: Args) {
    let (free, full) = (me.new_semaphore(args.room), me.new_semaphore(0));
    let mutex = me.new_mutex();
    for number in 0..me.count() {
        let (free, full, mutex) = (free.clone(), full.clone(), mutex.clone());
        let name = format!("producer-{number}");
        me.spawn(&name, me.host(), move |_| {
            transfer_items(args.items, mutex, free, full)
        })
        .await;
    }
    for number in 0..me.count() {
        let (free, full, mutex) = (free.clone(), full.clone(), mutex.clone());
        let name = format!("consumer-{number}");
        me.spawn(&name, me.host(), move |_| {
            transfer_items(args.items, mutex, full, free)
        })
        .await;
    }
}

simrun::main!(producer_consumer);
