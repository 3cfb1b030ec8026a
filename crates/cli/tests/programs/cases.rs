//! Mistakes of a rank program, one case per run, for the tests of the command line.

#![expect(
    unsafe_code,
    reason = "programs can close descriptors and fork, and only the C library offers that"
)]

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use mpi::{Level, prelude::*};

/// Memory that survives a run, which ranks must not share.
static RUNS: AtomicU64 = AtomicU64::new(0);

#[derive(clap::Parser, Clone)]
struct Args {
    /// Case to run.
    #[arg(long, value_enum)]
    case: Case,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Case {
    /// Rank 1 panics after 2 s.
    Panic,
    /// Rank 0 sends to a rank that does not exist, and returns the error.
    Error,
    /// Rank 2 aborts after 1 ms.
    Abort,
    /// Every rank prints a line; then rank 0 sends to a rank that does not exist, and returns the
    /// error.
    LastWords,
    /// Ranks 0 and 1 both send first and receive then.
    HeadToHead,
    /// Rank 0 receives from any source what each of the others sends.
    AnySource,
    /// The same, and the first message has to be from rank 2.
    FirstRefused,
    /// Rank 0 sends a message that rank 1 does not receive.
    Unreceived,
    /// Rank 0 sends four messages to rank 1 and waits for them; rank 1 receives them after a
    /// second.
    Late,
    /// The same with ready sends.
    LateReady,
    /// Rank 1 posts a receive for a message that is never sent, and leaves it.
    NeverCompleted,
    /// Rank 0 sends to rank 2, then to rank 1, which passes it on to rank 2: an error if that is
    /// faster.
    Relay,
    /// Rank 0 computes 1e300 flop.
    TooLong,
    /// Rank 0 sends two messages; the second arrives first at rank 1, which is an error, only if
    /// their data are sent for.
    Overtaken,
    /// Rank 1 gives a receive up that has its message.
    Abandoned,
    /// Rank 0 starts a send and drops its request.
    Forgotten,
    /// The ranks make a communicator and never free it.
    Unfreed,
    /// The ranks make a communicator, each of another group.
    Groups,
    /// The members of a group make a communicator, each with another order of the members.
    MemberGroups,
    /// The ranks broadcast on two communicators, in different orders.
    Crossed,
    /// The ranks reduce with a difference that is declared to be commutative.
    Difference,
    /// Rank 0 starts a persistent request that is active.
    StartedTwice,
    /// Rank 0 sends a number that another run has not sent: it counts them in a static.
    Static,
    /// Every rank asserts that time passes while it sleeps.
    Clock,
    /// Rank 0 awaits what nobody in the simulation can wake.
    Foreign,
    /// Every rank sleeps second after second; rank 0 says so first.
    Forever,
    /// Rank 0 says so, then goes round in circles without ever awaiting.
    Stuck,
    /// Rank 0 sends to rank 1 without end.
    Flood,
    /// Rank 0 says so, then sleeps for no time, for ever.
    Naps,
    /// Rank 0 makes a buffer of 2 GiB after 1 s.
    Hungry,
    /// Rank 1 ends the process after 2 s.
    Exit,
    /// The same from a thread that rank 1 has started.
    ExitElsewhere,
    /// Rank 1 closes standard output after 2 s; rank 0 prints before and afterwards.
    CloseStdout,
    /// Rank 1 forks after 2 s, and the child returns; rank 0 prints afterwards.
    Fork,
    /// Rank 1 forks, and the child exits.
    ForkAndExit,
    /// Rank 0 prints a line per simulated second, for ever.
    Chatter,
    /// When the file exists that `SIMRUN_TEST_GO` names, every rank sends to one rank after
    /// another.
    Crowd,
    /// Rank 1 dies; the others wait for it.
    Lost,
    /// Rank 0 sends more than sockets hold; rank 1 does not read for 5 s before it receives that.
    Deaf,
    /// Every rank starts a process that leaves its group and loses its parent, writes its number to
    /// the file that `SIMRUN_TEST_PIDS` names, and sleeps for ever.
    Orphans,
    /// Every rank prints its host.
    Hosts,
    /// Every rank writes a line of each level to the log, and prints one.
    Log,
}

/// Harms the process from rank 1 after 2 s.
async fn mistreat(world: &Comm, case: Case) {
    if world.rank() == 0 && matches!(case, Case::CloseStdout | Case::Fork) {
        world.println(format_args!("before"));
        world.sleep(3.0).await;
        world.println(format_args!("after"));
    }
    if world.rank() != 1 {
        return;
    }
    world.sleep(2.0).await;
    match case {
        Case::Exit => std::process::exit(0),
        Case::ExitElsewhere => {
            #[expect(clippy::disallowed_methods, reason = "programs may have threads")]
            let thread = std::thread::spawn(|| std::process::exit(0));
            // It never ends.
            let _ = thread.join();
        }
        Case::CloseStdout => {
            // SAFETY: that nothing of this process can use it any more is the point of the test.
            unsafe { libc::close(1) };
        }
        _ => {
            // SAFETY: the child does nothing that other threads could have been in the middle of.
            let child = unsafe { libc::fork() };
            if child == 0 && matches!(case, Case::ForkAndExit) {
                std::process::exit(7);
            }
        }
    }
}

/// Never ends, once rank 0 has announced it.
async fn endless(world: &Comm, case: Case) -> Result<()> {
    if let (Case::Chatter, 0) = (case, world.rank()) {
        loop {
            world.sleep(1.0).await;
            world.println(format_args!("{:.0} s", world.wtime()));
        }
    }
    if let Case::Forever = case {
        // After some time, so that whoever interrupts the run finds that it has simulated
        // something.
        world.sleep(1.0).await;
    } else if world.rank() > 0 {
        return Ok(());
    }
    if world.rank() == 0 {
        world.println(format_args!("running"));
    }
    loop {
        match case {
            Case::Forever => world.sleep(1.0).await,
            Case::Naps => world.sleep(0.0).await,
            _ => std::hint::spin_loop(),
        }
    }
}

/// Receives from any source; the first message has to be from rank 2.
async fn refuse_first(world: &Comm) -> Result<()> {
    let mut message = world.buffer(1000);
    for place in 1..world.size() {
        let source = world.recv(&mut message, ANY_SOURCE, 0).await?.source;
        assert!(place > 1 || source == 2, "rank {source} was first");
    }
    Ok(())
}

async fn relay(world: &Comm) -> Result<()> {
    let mut message = world.buffer(1000);
    match world.rank() {
        0 => {
            world.send(&message, 2, 0).await?;
            world.send(&message, 1, 0).await?;
        }
        1 => {
            world.recv(&mut message, 0, 0).await?;
            world.send(&message, 2, 0).await?;
        }
        _ => {
            let first = world.recv(&mut message, ANY_SOURCE, 0).await?;
            world.recv(&mut message, ANY_SOURCE, 0).await?;
            if first.source != 0 {
                world.send(&message, 77, 0).await?;
            }
        }
    }
    Ok(())
}

async fn overtaken(world: &Comm) -> Result<()> {
    if world.rank() == 0 {
        let mut sends = [
            world.isend(world.buffer(8), 1, 0)?,
            world.isend(world.buffer(8), 1, 1)?,
        ];
        waitall(&mut sends).await?;
    } else if world.rank() == 1 {
        let mut receives = [
            world.irecv(world.buffer(8), 0, 0)?,
            world.irecv(world.buffer(8), 0, 1)?,
        ];
        let first = waitany(&mut receives).await?.map(|(position, _)| position);
        assert_eq!(first, Some(0), "the second came first");
        waitall(&mut receives).await?;
    }
    Ok(())
}

/// Mistakes that no rank notices in a run.
async fn unnoticed(world: &Comm, case: Case) -> Result<()> {
    let (rank, mut message) = (world.rank(), world.buffer(8));
    match (case, rank) {
        (Case::Abandoned, 0) => {
            world.send(&message, 1, 0).await?;
            world.send(&message, 1, 1).await?;
        }
        (Case::Abandoned, 1) => {
            let abandoned = world.irecv(world.buffer(8), 0, 0)?;
            world.recv(&mut message, 0, 1).await?;
            abandoned.free();
        }
        (Case::Forgotten, 0) => drop(world.isend(message, 1, 0)?),
        (Case::Forgotten, 1) => drop(world.recv(&mut message, 0, 0).await?),
        (Case::Unfreed, _) => drop(world.dup().await?),
        (Case::Crossed, _) => {
            let (other, mut data) = (world.dup().await?, world.buffer(8));
            let calls = [(world, 0), (&other, 1)];
            let (first, second) = if rank == 0 { (0, 1) } else { (1, 0) };
            for (comm, root) in [calls[first], calls[second]] {
                comm.bcast(&mut data, root).await?;
            }
        }
        (Case::Difference, _) => {
            let difference = Op::new::<i64>("difference", true, |inout, incoming| {
                for (inout, incoming) in inout.iter_mut().zip(incoming) {
                    *inout = incoming - *inout;
                }
            });
            let own = world.buffer_of(&[i64::from(rank == 0)]);
            world.allreduce(&own, &difference).await?;
        }
        (Case::Groups, _) => {
            let group = world.group().incl(if rank == 0 { &[0, 1] } else { &[1] })?;
            let made = world.create(&group).await?;
            if let Some(made) = made {
                made.free()?;
            }
        }
        (Case::MemberGroups, _) => {
            let group = world.group().incl(&[rank, 1 - rank])?;
            if let Some(made) = world.create_group(&group, 3).await? {
                made.free()?;
            }
        }
        (Case::Static, 0) => {
            let number = RUNS.fetch_add(1, Ordering::Relaxed);
            world
                .send(&world.buffer_from(&number.to_le_bytes()), 1, 0)
                .await?;
        }
        (Case::Static, 1) => drop(world.recv(&mut message, 0, 0).await?),
        (Case::Clock, _) => {
            let before = world.wtime();
            world.sleep(1.0).await;
            assert!(world.wtime() > before, "time does not pass");
        }
        (Case::StartedTwice, 0) => {
            let mut request = world.recv_init(message, 0, 0);
            request.start()?;
            request.start()?;
        }
        _ => {}
    }
    Ok(())
}

/// Four messages from rank 0 that rank 1 receives after a second.
async fn late(world: &Comm, ready: bool) -> Result<()> {
    let mut sends = Vec::new();
    if world.rank() == 1 {
        world.sleep(1.0).await;
    }
    for tag in 0..4 {
        let mut message = world.buffer(1000);
        if world.rank() == 1 {
            world.recv(&mut message, 0, tag).await?;
        } else if ready {
            sends.push(world.irsend(message, 1, tag)?);
        } else {
            sends.push(world.isend(message, 1, tag)?);
        }
    }
    waitall(&mut sends).await.map(drop)
}

/// Rank 0 sends to rank 1 without end.
async fn flood(world: &Comm) -> Result<()> {
    loop {
        let mut message = world.buffer(32 << 20);
        match world.rank() {
            0 => world.send(&message, 1, 0).await?,
            _ => drop(world.recv(&mut message, 0, 0).await?),
        }
    }
}

/// Sends to one rank after another.
async fn crowd(world: &Comm) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let mut message = world.buffer(1000);
    // Nobody is connected yet: strangers have time to find the doors.
    while std::env::var_os("SIMRUN_TEST_GO").is_some_and(|go| !Path::new(&go).exists()) {
        world.sleep(0.02).await;
    }
    for round in 0..30 {
        world.sleep(0.02).await;
        let step = 1 + round % 2;
        let (to, from) = ((rank + step) % size, (rank + size - step) % size);
        let sent = message.clone();
        world.sendrecv(&sent, to, 0, &mut message, from, 0).await?;
    }
    Ok(())
}

/// Rank 1 dies when it is connected with rank 0, so that the connection breaks.
async fn lost(world: &Comm) -> Result<()> {
    let mut message = world.buffer(1000);
    if world.rank() == 1 {
        world.send(&message, 0, 0).await?;
        std::process::abort();
    }
    if world.rank() == 0 {
        world.recv(&mut message, 1, 0).await?;
    }
    if let Err(error) = world.recv(&mut message, 1, 0).await {
        world.println(format_args!("rank 1 is lost: {:?}", error.class()));
    }
    Ok(())
}

/// Rank 1 reads nothing for 5 s while rank 0 sends it more than sockets hold.
async fn deaf(world: &Comm) -> Result<()> {
    let mut message = world.buffer(32 << 20);
    if world.rank() == 0 {
        return world.send(&message, 1, 0).await;
    }
    #[expect(
        clippy::disallowed_methods,
        reason = "as a computation, but for the processor"
    )]
    std::thread::sleep(std::time::Duration::from_secs(5));
    world.recv(&mut message, 0, 0).await.map(drop)
}

/// Starts a process that no process group leads to.
async fn orphan(world: &Comm) {
    let script = "(sh -c 'echo $$ >>\"$SIMRUN_TEST_PIDS\"; exec sleep 600' &)";
    let started = std::process::Command::new("setsid")
        .args(["sh", "-c", script])
        .status();
    assert!(started.is_ok_and(|status| status.success()));
    world.sleep(3600.0).await;
}

fn log_all_levels(world: &Comm) {
    for level in [
        Level::Error,
        Level::Warn,
        Level::Info,
        Level::Debug,
        Level::Trace,
    ] {
        world.log(level, format_args!("this is {level:?}"));
    }
}

async fn cases(world: Comm, args: Args) -> Result<()> {
    unnoticed(&world, args.case).await?;
    let rank = world.rank();
    let mut message = world.buffer(1000);
    match (args.case, rank) {
        (Case::Panic, 1) => {
            world.sleep(2.0).await;
            panic!("the reactor is too hot");
        }
        (Case::Error, 0) => world.send(&message, 99, 0).await?,
        (Case::Overtaken, _) => overtaken(&world).await?,
        (Case::Abort, 2) => {
            world.sleep(1e-3).await;
            world.abort(7).await;
        }
        (Case::LastWords, _) => {
            world.println(format_args!("so long"));
            if rank == 0 {
                world.send(&message, 99, 0).await?;
            }
        }
        (Case::AnySource, 0) => {
            for _ in 1..world.size() {
                world.recv(&mut message, ANY_SOURCE, 0).await?;
            }
        }
        (Case::FirstRefused, 0) => refuse_first(&world).await?,
        (Case::AnySource | Case::FirstRefused, _) => world.send(&message, 0, 0).await?,
        (Case::Flood, _) => flood(&world).await?,
        (Case::HeadToHead, 0 | 1) => {
            world.send(&message, 1 - rank, 0).await?;
            world.recv(&mut message, 1 - rank, 0).await?;
        }
        (Case::Late | Case::LateReady, 0 | 1) => {
            late(&world, matches!(args.case, Case::LateReady)).await?;
        }
        (Case::Unreceived, 0) => world.send(&message, 1, 5).await?,
        (Case::NeverCompleted, 1) => std::mem::forget(world.irecv(message, 0, 9)?),
        (Case::Relay, _) => relay(&world).await?,
        (Case::TooLong, 0) => world.compute(1e300).await,
        (Case::Foreign, 0) => std::future::pending().await,
        (Case::Stuck | Case::Naps | Case::Forever | Case::Chatter, _) => {
            endless(&world, args.case).await?;
        }
        (
            Case::Exit | Case::ExitElsewhere | Case::CloseStdout | Case::Fork | Case::ForkAndExit,
            _,
        ) => mistreat(&world, args.case).await,
        (Case::Hungry, 0) => {
            world.sleep(1.0).await;
            drop(world.buffer(2 << 30));
        }
        (Case::Crowd, _) => crowd(&world).await?,
        (Case::Lost, _) => lost(&world).await?,
        (Case::Deaf, _) => deaf(&world).await?,
        (Case::Orphans, _) => orphan(&world).await,
        (Case::Hosts, _) => world.println(format_args!("{rank} {}", world.host_name())),
        (Case::Log, _) => {
            world.sleep(0.5).await;
            log_all_levels(&world);
            world.println(format_args!("printed"));
        }
        // A unit of time, so that what the others leave behind arrives.
        (Case::Unreceived, _) => world.sleep(1.0).await,
        _ => {}
    }
    Ok(())
}

simrun::main!(cases);
