//! A lost wake-up, for the model checker: `-n` actors wait on a condition variable, and one wakes
//! them.
//!
//! A signal that comes before its waiter is lost. Without a flag that says that it came, who
//! arrives late sleeps for ever: the classical mistake, and plain runs do not show it, because in
//! them the waiters come first. `--fixed` has the flag, which is looked at and changed only under
//! the mutex.
//!
//! Known answers for one waiter: two orders, by who has the mutex first. With the mistake one of
//! them is a deadlock.

use std::cell::Cell;
use std::rc::Rc;

use sim_core::{Actor, Condvar, Mutex};

/// Lost wakeup: an actor that waits after the signal blocks forever
#[derive(clap::Parser, Clone)]
struct Args {
    /// Look at a flag before waiting
    #[arg(long)]
    fixed: bool,
}

/// State shared by waiters and waker.
#[derive(Clone)]
struct Door {
    mutex: Mutex,
    opened: Condvar,
    /// Used only by who has the mutex.
    is_open: Rc<Cell<bool>>,
}

async fn waiter(door: Door, looks: bool) {
    door.mutex.lock().await;
    while !(looks && door.is_open.get()) {
        // Nobody set a time limit.
        let _ = door.opened.wait(&door.mutex).await;
        if !looks {
            break;
        }
    }
    door.mutex.unlock().await;
}

async fn waker(door: Door) {
    door.mutex.lock().await;
    door.is_open.set(true);
    door.opened.broadcast().await;
    door.mutex.unlock().await;
}

async fn lost_wakeup(me: Actor, args: Args) {
    let door = Door {
        mutex: me.new_mutex(),
        opened: me.new_condvar(),
        is_open: Rc::new(Cell::new(false)),
    };
    for number in 0..me.count() {
        let (door, name) = (door.clone(), format!("waiter-{number}"));
        me.spawn(&name, me.host(), move |_| waiter(door, args.fixed))
            .await;
    }
    me.spawn("waker", me.host(), move |_| waker(door)).await;
}

simrun::main!(lost_wakeup);
