//! Promise: an event log changes no timestamp and no digest, and each flow in the log belongs to
//! the packet of the next event.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::common::{on_ranks, simulated};
use mpi::prelude::*;
use observe::{LogEntry, LogReader, NetworkEvent, PacketKind, RankEvent};
use run::{EventLog, Options, Program, Run};
use sim_core::Outcome;
use testing::memory::Memory;

fn run(platform: &str, program: &Rc<dyn Program>, log: Option<EventLog>) -> Run {
    let options = Options {
        event_log: log,
        ..Options::default()
    };
    simulated(platform, program, &options)
}

/// Returns the entries of the log of a run, which is the same as a run without one.
fn logged<Fut>(platform: &str, program: fn(Comm) -> Fut) -> Vec<LogEntry>
where
    Fut: Future<Output = Result<()>> + 'static,
{
    let memory = Memory::default();
    let log = EventLog::new(Box::new(memory.clone()), 8);
    let program = on_ranks(program);
    let (plain, observed) = (
        run(platform, &program, None),
        run(platform, &program, Some(log.clone())),
    );
    let of = |run: &Run| {
        (
            run.report.time,
            run.report.digest,
            run.report.outcome.clone(),
        )
    };
    assert_eq!(of(&plain), of(&observed));
    assert_eq!(plain.report.outcome, Outcome::Finished);
    log.finish_log(observed.report.time.as_secs())
        .expect("memory can be written to");
    let bytes = memory.take_bytes();
    let mut reader = LogReader::new(&*bytes).expect("a log");
    let mut entries = Vec::new();
    while let Some(entry) = reader.next_entry().expect("it is valid") {
        entries.push(entry);
    }
    entries
}

/// Checks that each flow is followed by the packet that it carries, and that this packet was posted
/// before. Returns the number of flows.
fn check(entries: &[LogEntry]) -> usize {
    let mut posted: BTreeMap<(u32, u32, PacketKind, u32), u32> = BTreeMap::new();
    let mut last = 0.0;
    let (mut begun, mut ended) = (0, 0);
    let mut entries = entries.iter().peekable();
    while let Some(entry) = entries.next() {
        let (LogEntry::Rank(_, time, _) | LogEntry::Network(time, _)) = entry;
        assert!(*time >= last, "{time} s after {last} s");
        last = *time;
        match *entry {
            LogEntry::Rank(
                rank,
                _,
                RankEvent::Post {
                    peer, packet, key, ..
                },
            ) => {
                // A receiver lets the data of a detached message leave its sender.
                let (source, destination, packet) = match packet {
                    PacketKind::Pull => (peer, rank, PacketKind::Data),
                    packet => (rank, peer, packet),
                };
                *posted
                    .entry((source, destination, packet, key))
                    .or_default() += 1;
            }
            LogEntry::Network(time, NetworkEvent::Begin { alone_s, .. }) => {
                begun += 1;
                assert!(alone_s.is_finite());
                let Some(LogEntry::Rank(
                    rank,
                    at,
                    RankEvent::Inject {
                        peer, packet, key, ..
                    },
                )) = entries.peek()
                else {
                    panic!("a flow without a packet: {:?}", entries.peek());
                };
                assert_eq!(*at, time);
                if *packet == PacketKind::Other {
                    // Connections are made by packets that no rank posts.
                    continue;
                }
                let identity = (*rank, *peer, *packet, *key);
                let posted = posted.get_mut(&identity);
                let posted = posted.unwrap_or_else(|| panic!("{identity:?} is not posted"));
                assert!(*posted > 0, "more flows than packets");
                *posted -= 1;
            }
            LogEntry::Network(_, NetworkEvent::End { .. }) => ended += 1,
            _ => {}
        }
    }
    // Credits may be on their way when all ranks have ended.
    assert!(ended <= begun && ended > 0, "{ended} of {begun}");
    begun
}

const CLUSTER: &str = r#"
version = 1
[protocol]
eager_threshold = "1KiB"
[clusters.nodes]
hosts = "node-[0-7]"
speed = "1Gf"
bandwidth = "1GBps"
latency = "1us"
"#;

const LOGGOPS: &str = r#"
[network]
model = "loggops"
latency = "3us"
overhead = "2us"
gap = "1us"
gap_per_byte = "10ns"
"#;

async fn everything(world: Comm) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    for (bytes, tag) in [(0, 4), (8, 5), (100_000, 6)] {
        let message = world.buffer(bytes);
        let mut answer = message.clone();
        let mut sending = world.isend(message, (rank + 1) % size, 3)?;
        world.recv(&mut answer, (rank + size - 1) % size, 3).await?;
        sending.wait().await?;
        if rank > 0 {
            world.send(&world.buffer(bytes), 0, tag).await?;
        } else {
            for _ in 1..size {
                world.recv(&mut answer, ANY_SOURCE, tag).await?;
            }
        }
    }
    world.barrier().await?;
    let own = world.buffer(24_000);
    world.allreduce(&own, &Op::sum::<u64>()).await.map(drop)
}

#[test]
fn a_log_changes_nothing_and_names_the_packet_of_each_flow() {
    let networks = [
        "model = \"flow\"",
        "model = \"lv08\"",
        "model = \"ib\"",
        "model = \"raw\"",
        "model = \"constant\"",
    ];
    let mut flows = Vec::new();
    for network in networks {
        let platform = format!("{CLUSTER}\n[network]\n{network}\n");
        flows.push(check(&logged(&platform, everything)));
    }
    // The same packets on all of them.
    assert!(flows[0] > 3 * 16, "{flows:?}");
    assert!(flows.iter().all(|count| *count == flows[0]), "{flows:?}");
    // With LogGOPS control packets are flows, too.
    let loggops = format!("{CLUSTER}{LOGGOPS}");
    assert!(check(&logged(&loggops, everything)) > flows[0]);
}

#[test]
fn packets_that_wait_for_credits_or_a_connection_are_named_too() {
    let connected = format!("{CLUSTER}[connection]\nmode = \"on-demand\"\n");
    let limits = "packet_size = \"4KiB\"\ncredits = 4\neager_threshold";
    let limited = CLUSTER.replace("eager_threshold", limits);
    for platform in [connected, limited] {
        assert!(check(&logged(&platform, everything)) > 3 * 16, "{platform}");
    }
}

/// Two messages to one rank, with LogGOPS: each takes 2 o + L + (s - 1) G alone, and the second
/// waits for the receiver's processor.
#[test]
fn a_flow_of_loggops_has_its_duration_alone() {
    async fn two(world: Comm) -> Result<()> {
        let mut message = world.buffer(1001);
        if world.rank() == 1 || world.rank() == 2 {
            return world.send(&message, 0, 0).await;
        }
        if world.rank() == 0 {
            world.recv(&mut message, 1, 0).await?;
            world.recv(&mut message, 2, 0).await?;
        }
        Ok(())
    }
    let platform = format!("{CLUSTER}{LOGGOPS}");
    let entries = logged(&platform, two);
    assert_eq!(check(&entries), 2);
    let network = entries.iter().filter_map(|entry| match entry {
        LogEntry::Network(time, event) => Some((*time, event)),
        LogEntry::Rank(..) => None,
    });
    let mut begun = BTreeMap::new();
    let mut flights = Vec::new();
    for (time, event) in network {
        match *event {
            NetworkEvent::Begin {
                flow,
                bytes,
                latency_s,
                alone_s,
                ..
            } => {
                assert_eq!(bytes, 1001.0);
                assert!((latency_s - 7e-6).abs() < 1e-15 && (alone_s - 17e-6).abs() < 1e-15);
                begun.insert(flow, time);
            }
            NetworkEvent::End { flow } => flights.push(time - begun[&flow]),
            _ => panic!("there are no links"),
        }
    }
    // The receiver takes o + (s - 1) G for each.
    let expected = [17e-6, 29e-6];
    for (found, expected) in flights.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-12, "{flights:?}");
    }
}

/// A message from rank 0 to rank 1 after a computation.
async fn one(world: Comm) -> Result<()> {
    let mut message = world.buffer(2000);
    world.compute(10e3).await;
    match world.rank() {
        0 => world.send(&message, 1, 0).await,
        1 => world.recv(&mut message, 0, 0).await.map(drop),
        _ => Ok(()),
    }
}

/// An incident of a rank: rank, name, peer and value.
type RankIncident = (u32, String, Option<u32>, Option<f64>);

fn incidents<Fut>(platform: &str, program: fn(Comm) -> Fut, finishes: bool) -> Vec<RankIncident>
where
    Fut: Future<Output = Result<()>> + 'static,
{
    let memory = Memory::default();
    let log = EventLog::new(Box::new(memory.clone()), 8);
    let ended = run(platform, &on_ranks(program), Some(log.clone()));
    let outcome = &ended.report.outcome;
    assert_eq!(*outcome == Outcome::Finished, finishes, "{outcome:?}");
    log.finish_log(ended.report.time.as_secs()).expect("memory");
    let bytes = memory.take_bytes();
    let mut reader = LogReader::new(&*bytes).expect("a log");
    let mut found = Vec::new();
    while let Some((rank, _, event)) = reader.next_event().expect("it is valid") {
        if let RankEvent::Incident { name, peer, value } = event {
            found.push((rank, reader.text(name).to_owned(), peer, value));
        }
    }
    found
}

#[test]
fn what_happens_to_ranks_is_logged() {
    let of = |rank, name: &str, peer, value| (rank, name.to_owned(), peer, value);
    // The rank that opens it tells how long its message has waited.
    let connected = |waited| {
        [
            of(0, "connection", Some(1), waited),
            of(1, "connection", Some(0), None),
        ]
    };
    let sorted = |platform: &str| {
        let mut found = incidents(platform, one, true);
        found.sort_by(|one, other| one.0.cmp(&other.0).then(one.1.cmp(&other.1)));
        found
    };
    let on_demand = format!("{CLUSTER}[connection]\nmode = \"on-demand\"\n");
    let found = sorted(&on_demand);
    // Four packets of 64 bytes.
    let waited = found[0].3;
    assert!(waited.is_some_and(|waited| (waited - 8.256e-6).abs() < 1e-15));
    assert_eq!(found, connected(waited));
    let verbs = format!("{CLUSTER}[network]\ndevice = \"verbs\"\n");
    assert_eq!(sorted(&verbs), connected(None));

    let lossy = format!("{verbs}[network.verbs.faults]\nloss = 0.2\n");
    let losses = sorted(&lossy)
        .into_iter()
        .filter(|one| one.1 == "lost packet");
    let losses: Vec<_> = losses.map(|one| (one.0, one.2)).collect();
    assert!(!losses.is_empty());
    let between = [(0, Some(1)), (1, Some(0))];
    assert!(
        losses.iter().all(|pair| between.contains(pair)),
        "{losses:?}"
    );

    // The rank that computes there fails with its host.
    let host = "[clusters.nodes.host_overrides.node-3]\n";
    let changed = format!(
        "{CLUSTER}{host}speed_profile = {{ points = [[\"2us\", 0.5]] }}\nstate_profile = {{ points = [[\"5us\", \"off\"]] }}\n"
    );
    let expected = [
        of(3, "speed of the host", None, Some(0.5)),
        of(3, "host off", None, None),
    ];
    assert_eq!(incidents(&changed, one, false), expected);
}

/// Messages in one direction: no message in the other direction could carry the credits.
#[test]
fn packets_that_give_credits_are_logged_with_their_number() {
    async fn stream(world: Comm) -> Result<()> {
        let mut message = world.buffer(100);
        for _ in 0..40 {
            match world.rank() {
                0 => world.send(&message, 1, 0).await?,
                1 => drop(world.recv(&mut message, 0, 0).await?),
                _ => {}
            }
        }
        Ok(())
    }
    let limits = "packet_size = \"4KiB\"\ncredits = 4\neager_threshold";
    let limited = CLUSTER.replace("eager_threshold", limits);
    let given = incidents(&limited, stream, true);
    for (rank, name, peer, value) in &given {
        assert_eq!(
            (*rank, &**name, *peer),
            (1, "credits", Some(0)),
            "{given:?}"
        );
        assert!(
            value.is_some_and(|value| (1.0..=4.0).contains(&value)),
            "{given:?}"
        );
    }
    // The sender begins with 4. A message is one packet, or two if it becomes a rendezvous.
    let sum: f64 = given.iter().filter_map(|one| one.3).sum();
    assert!((36.0..=80.0).contains(&sum), "{given:?}");
}
