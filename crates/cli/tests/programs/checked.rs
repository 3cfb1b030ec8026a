//! Behaviours of actor programs, one case per run, for the tests of `simrun
//! check`.

use std::cell::Cell;
use std::rc::Rc;

use futures::StreamExt as _;
use futures::future::{Either, select};
use futures::stream::FuturesUnordered;
use sim_core::{Actor, HostId, Level, Span};

#[derive(clap::Parser, Clone)]
struct Args {
    /// Case to run.
    #[arg(long, value_enum)]
    case: Case,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Case {
    /// Two actors send; the receiver panics if the second one was faster.
    Panic,
    /// Draws two numbers below 6; one pair is an error.
    Draws,
    /// Draws a number below 8, and fails with it.
    Many,
    /// Tests a mutex that nobody will ever unlock, again and again.
    Livelock,
    /// Yields for ever, while others have work to do.
    Spinning,
    /// The number N of users of a mutex: N! orders, for a long search.
    Users,
    /// Draws for ever: no run ends.
    Endless,
    /// Does nothing any more from the fifth run on.
    Memory,
    /// Fails before its first step.
    Stillborn,
    /// Prints and logs in every run.
    Chatter,
    /// Waits for a message for at most a second, and panics without it.
    Limit,
    /// Two actors are in the same place, and nothing keeps them from it.
    Invariant,
    /// Starts a put and a get, and expects that the get is over when both have begun.
    Hasty,
    /// Waits for an actor on the second host without a limit.
    Remote,
    /// Waits for several messages at once, and for one that comes too late.
    Several,
}

thread_local! {
    /// Memory that survives a run, which a program must not have.
    static RUNS: Cell<u32> = const { Cell::new(0) };
}

async fn race(me: &Actor) {
    let mailbox = me.new_mailbox();
    for word in [1_u64, 2] {
        let mailbox = mailbox.clone();
        me.spawn("sender", me.host(), move |_| async move {
            mailbox.put(word, 1.0).await
        })
        .await;
    }
    let first = mailbox.get().await.expect("it comes").word();
    assert_eq!(first, Some(1), "the second was faster");
    mailbox.get().await.expect("it comes");
}

async fn users(me: &Actor) {
    let mutex = me.new_mutex();
    for _ in 0..me.count() {
        let mutex = mutex.clone();
        me.spawn("user", me.host(), move |_| async move {
            mutex.lock().await;
            mutex.unlock().await;
        })
        .await;
    }
}

async fn hasty(me: &Actor) {
    let mailbox = me.new_mailbox();
    let put = mailbox.put_async(1_u64, 1e6).await;
    let get = mailbox.get_async().await;
    assert!(get.test().await, "the transfer takes time");
    put.wait().await.expect("nothing fails");
}

async fn inside(me: &Actor) {
    let inside = Rc::new(Cell::new(0));
    let same = Rc::clone(&inside);
    me.invariant("at most one inside", move || same.get() <= 1);
    for _ in 0..me.count() {
        let inside = Rc::clone(&inside);
        me.spawn("visitor", me.host(), move |me: Actor| async move {
            me.yield_now().await;
            inside.set(inside.get() + 1);
            me.yield_now().await;
            inside.set(inside.get() - 1);
        })
        .await;
    }
}

async fn remote(me: &Actor, case: Case) {
    let (mailbox, same) = (me.new_mailbox(), me.new_mailbox());
    let (from, answers) = (mailbox.clone(), same.clone());
    me.spawn("answering", HostId(1), move |_| async move {
        drop(from.get().await);
        answers.put_detached(1, 1.0).await;
    })
    .await;
    mailbox.put_detached(0, 1.0).await;
    match case {
        Case::Limit => drop(
            same.get_timeout(Span::from_secs(1.0))
                .await
                .expect("in time"),
        ),
        _ => drop(same.get().await),
    }
}

async fn several(me: &Actor) {
    let boxes = [me.new_mailbox(), me.new_mailbox(), me.new_mailbox()];
    for (number, mailbox) in (1_u32..).zip(&boxes) {
        let mailbox = mailbox.clone();
        let wait = Span::from_secs(f64::from(4 - number));
        me.spawn("sender", me.host(), move |me: Actor| async move {
            me.sleep(wait).await;
            mailbox.put(u64::from(number), 1.0).await
        })
        .await;
    }
    let [first, second, third] = &boxes;
    let missed = second.get_timeout(Span::from_secs(1.5)).await.is_err();
    me.println(format_args!("missed: {missed}"));
    match select(Box::pin(first.get()), Box::pin(third.get())).await {
        Either::Left(_) => me.println(format_args!("first")),
        Either::Right(_) => me.println(format_args!("third")),
    }
    let mut rest: FuturesUnordered<_> = [first.get(), second.get()].into_iter().collect();
    while let Some(message) = rest.next().await {
        let word = message.expect("it comes").word();
        me.println(format_args!("then {word:?}"));
    }
}

async fn checked(me: Actor, args: Args) -> Result<(), String> {
    let mutex = me.new_mutex();
    match args.case {
        Case::Panic => race(&me).await,
        Case::Draws => {
            let pair = [me.random(6).await, me.random(6).await];
            if pair == [3, 4] {
                return Err("3 and 4".to_owned());
            }
        }
        Case::Many => return Err(format!("number {}", me.random(8).await)),
        Case::Livelock => {
            mutex.lock().await;
            let tester = me.spawn("tester", me.host(), move |_| async move {
                while !mutex.try_lock().await {}
            });
            tester.await.join().await;
        }
        Case::Spinning => {
            let spinner = me.spawn("spinner", me.host(), |spinner| async move {
                loop {
                    spinner.yield_now().await;
                }
            });
            spinner.await.join().await;
        }
        Case::Invariant => inside(&me).await,
        Case::Users => users(&me).await,
        Case::Endless => while me.random(2).await < 2 {},
        Case::Memory => {
            RUNS.set(RUNS.get() + 1);
            if RUNS.get() < 5 {
                users(&me).await;
            }
        }
        Case::Hasty => hasty(&me).await,
        Case::Stillborn => return Err("no heart".to_owned()),
        Case::Chatter => {
            me.println(format_args!("chatter"));
            me.log(Level::Warn, format_args!("chatter"));
            users(&me).await;
        }
        Case::Several => several(&me).await,
        Case::Limit | Case::Remote => remote(&me, args.case).await,
    }
    Ok(())
}

simrun::main!(checked);
