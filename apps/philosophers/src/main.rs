//! Dining philosophers, for the model checker: `-n` of them, with a fork between each two
//! neighbours.
//!
//! *Ordered* philosophers take the fork with the lower number first, which never ends in a
//! deadlock. *Unordered* ones take the left fork first, and once each holds one fork nobody eats.
//! With a *waiter*, at most n-1 sit at the table.
//!
//! Known answers, for one meal each: ordered philosophers have 2^n - 2 distinguishable orders (each
//! fork is taken by one of its two neighbours first, but they do not all wait in a circle);
//! unordered ones as many and one deadlock more.

use sim_core::{Actor, Mutex, Semaphore};

/// Dining philosophers
#[derive(clap::Parser, Clone)]
struct Args {
    /// Fork that a philosopher takes first: the one with the lower number (ordered), the left
    /// one (unordered), or the left one once a waiter allows (waiter)
    #[arg(
        long,
        value_enum,
        default_value = "ordered",
        hide_possible_values = true
    )]
    order: Order,

    /// Number of meals per philosopher
    #[arg(long, value_name = "N", default_value_t = 1)]
    meals: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Order {
    Ordered,
    Unordered,
    Waiter,
}

async fn philosopher(forks: [Mutex; 2], waiter: Option<Semaphore>, meals: u32) {
    let [first, second] = forks;
    for _ in 0..meals {
        if let Some(waiter) = &waiter {
            waiter.acquire().await;
        }
        first.lock().await;
        second.lock().await;
        second.unlock().await;
        first.unlock().await;
        if let Some(waiter) = &waiter {
            waiter.release().await;
        }
    }
}

async fn philosophers(me: Actor, args: Args) -> Result<(), String> {
    let count = me.count();
    if count < 2 {
        return Err(format!(
            "{count} philosopher: expected at least 2, as in -n 2"
        ));
    }
    let forks: Vec<Mutex> = (0..count).map(|_| me.new_mutex()).collect();
    let waiter = (args.order == Order::Waiter).then(|| me.new_semaphore(count - 1));
    for left in 0..count {
        let right = (left + 1) % count;
        let (first, second) = match args.order {
            Order::Ordered => (left.min(right), left.max(right)),
            Order::Unordered | Order::Waiter => (left, right),
        };
        let forks = [first, second].map(|fork| forks[fork as usize].clone());
        let waiter = waiter.clone();
        let name = format!("philosopher-{left}");
        me.spawn(&name, me.host(), move |_| {
            philosopher(forks, waiter, args.meals)
        })
        .await;
    }
    Ok(())
}

simrun::main!(philosophers);
