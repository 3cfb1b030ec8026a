//! Promise: the timelines of simulated runs obey the rules of readers, whatever the programs do,
//! and `trace convert` makes them in each format.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::rc::Rc;
use std::sync::Arc;

use mpi::prelude::*;
use platform::Platform;
use run::{EventLog, LogFilter, MessageProtocol, Options, RankProgram, Stream, simulate};
use testing::trace::Trace;

const PLATFORM: &str = r#"
version = 1
[clusters.nodes]
hosts = "node-[0-3]"
speed = "1Gf"
bandwidth = "1GBps"
latency = "1us"
"#;

/// Simulates a program of six ranks, and returns the file with the event log.
fn logged<Fut>(name: &str, protocol: MessageProtocol, program: fn(Comm) -> Fut) -> PathBuf
where
    Fut: Future<Output = Result<()>> + 'static,
{
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.log"));
    let out = BufWriter::new(File::create(&path).unwrap());
    let log = EventLog::new(Box::new(out), 6);
    let platform = Arc::new(Platform::parse("test.toml", PLATFORM).unwrap());
    let options = Options {
        ranks: Some(6),
        protocol: Some(protocol),
        event_log: Some(log.clone()),
        ..Options::default()
    };
    let console = run::Output::new(Stream::Nowhere, false, LogFilter::default());
    let program = RankProgram::new(program);
    let run = simulate(&platform, &program, &options, &Rc::new(console)).unwrap();
    log.finish_log(run.report.time.as_secs()).unwrap();
    path
}

/// Runs `trace convert` with these arguments.
fn convert(log: &Path, out: &Path, options: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_simrun-tools"))
        .args(["trace", "convert"])
        .arg(log)
        .arg("--out")
        .arg(out)
        .args(options)
        .output()
        .unwrap()
}

/// Returns the trace of a log, with these options.
fn trace_of(log: &Path, options: &[&str]) -> Trace {
    let out = log.with_extension("pftrace");
    let made = convert(log, &out, options);
    assert_eq!(made.status.code(), Some(0), "{made:?}");
    Trace::from_bytes(&std::fs::read(out).unwrap())
}

async fn neighbours(world: Comm) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let (below, above) = ((rank + size - 1) % size, (rank + 1) % size);
    for step in 0..3 {
        let _region = world.region("exchange");
        world.mark("step", f64::from(step));
        let mut sends = Vec::new();
        for _ in 0..4 {
            sends.push(world.isend(world.buffer(2000), above, 1)?);
        }
        #[expect(clippy::cast_precision_loss, reason = "ranks are few")]
        world.sleep(1e-6 * rank as f64).await;
        for _ in 0..4 {
            world.recv(&mut world.buffer(2000), below, 1).await?;
        }
        waitall(&mut sends).await?;
    }
    Ok(())
}

async fn collectives(world: Comm) -> Result<()> {
    let ones = Buffer::from(vec![1; 64]);
    for _ in 0..3 {
        world.allreduce(&ones, &Op::sum::<u8>()).await?;
        let mut pending = world.barrier().start()?;
        world.sleep(2e-6).await;
        pending.wait().await?;
        world.barrier().await?;
    }
    Ok(())
}

/// Rank 0 waits for a message that is never sent.
async fn deadlock(world: Comm) -> Result<()> {
    if world.rank() == 0 {
        world.recv(&mut world.buffer(8), 1, 3).await?;
    }
    Ok(())
}

#[test]
fn messages_of_all_protocols_have_arrows_and_flights() {
    for (name, protocol) in [
        ("eager", MessageProtocol::Eager),
        ("rendezvous", MessageProtocol::Rendezvous),
        ("threshold", MessageProtocol::Threshold(1000)),
    ] {
        let log = logged(name, protocol, neighbours);
        let trace = trace_of(&log, &[]);
        // Six ranks send three times four messages.
        for slices in ["send", "recv", "message", "arrives"] {
            assert_eq!(trace.named(slices).count(), 72, "{name}: {slices}");
        }
        for event in &trace.events {
            let is_slice = event.kind == 1 || event.kind == 3;
            assert!(!is_slice || event.end.is_some(), "{name}: {event:?}");
        }
        let ended = trace.named("arrives").flat_map(|event| &event.ending);
        assert_eq!(ended.count(), 72, "{name}");
        assert_eq!(trace.named("exchange").count(), 18, "{name}");
        assert_eq!(trace.named("step").count(), 18, "{name}");
        let within = |event: &&testing::trace::TraceEvent| event.around == ["exchange"];
        assert_eq!(trace.named("recv").filter(within).count(), 72, "{name}");
    }
}

#[test]
fn collective_operations_nest_their_steps() {
    let trace = trace_of(
        &logged("collectives", MessageProtocol::Eager, collectives),
        &[],
    );
    assert_eq!(trace.named("allreduce").count(), 18);
    let around = |name: &str| {
        let steps = trace.named("send");
        steps.filter(|event| event.around == [name]).count()
    };
    assert!(around("allreduce") > 0 && around("barrier") > 0);
    // Begins and ends of the barriers that do not block, and slices of those that do.
    assert_eq!(trace.named("barrier").count(), 18 * 3);
    for event in trace.named("allreduce") {
        assert!(
            event.end.is_some() && event.arguments["bytes"] == "64",
            "{event:?}"
        );
    }
}

#[test]
fn a_rank_that_waits_for_ever_has_an_open_slice() {
    let trace = trace_of(&logged("deadlock", MessageProtocol::Eager, deadlock), &[]);
    let open: Vec<_> = trace
        .events
        .iter()
        .filter(|event| event.kind == 1 && event.end.is_none())
        .collect();
    let [open] = open[..] else {
        panic!("{open:?}");
    };
    assert_eq!(
        (&*open.name, trace.track(open), &*open.arguments["peer"]),
        ("recv", "rank 0", "1")
    );
}

#[test]
fn selections_and_formats_of_a_run() {
    let log = logged("formats", MessageProtocol::Eager, neighbours);
    let trace = trace_of(
        &log,
        &["--trace-hosts", "node-[01]", "--trace-only", "calls"],
    );
    let ranks = trace
        .tracks
        .values()
        .filter(|track| track.0.starts_with("rank "));
    // Six ranks on four hosts.
    let ranks: Vec<&str> = ranks.map(|track| &*track.0).collect();
    assert!((2..6).contains(&ranks.len()), "{ranks:?}");
    let merged = trace_of(&log, &["--trace-shorter-than", "1ms=merge"]);
    assert!(merged.named("recv").count() == 0 && merged.named("exchange").count() == 18);
    let sums = trace_of(&log, &["--trace-aggregate"]);
    assert!(
        sums.events_on_track("ranks in receives")
            .any(|event| event.value > 0.0)
    );
    for (ending, first) in [("csv", "kind,name,rank"), ("paje", "%EventDef Paje")] {
        let out = log.with_extension(ending);
        let made = convert(&log, &out, &[]);
        assert_eq!(made.status.code(), Some(0), "{made:?}");
        let text = std::fs::read_to_string(&out).unwrap();
        assert!(text.starts_with(first), "{text}");
    }
    let out = log.with_extension("small.pftrace");
    let cut = convert(&log, &out, &["--trace-limit", "5kB"]);
    let said = String::from_utf8_lossy(&cut.stderr).into_owned();
    assert_eq!(cut.status.code(), Some(0), "{said}");
    assert!(
        said.contains("where it reached --trace-limit 5000B"),
        "{said}"
    );
}

/// Reads the output with Paje's own reader, if installed: Debian's package `pajeng`, by `.ci/run`.
#[test]
fn pj_dump_reads_what_is_written() {
    let log = logged("paje", MessageProtocol::Rendezvous, neighbours);
    let out = log.with_extension("paje");
    assert_eq!(convert(&log, &out, &[]).status.code(), Some(0));
    let read = match Command::new("pj_dump").arg(&out).output() {
        Ok(read) => read,
        Err(_) if std::env::var_os("SIMRUN_REQUIRE_PAJE").is_none() => {
            println!("skipped: there is no pj_dump");
            return;
        }
        Err(error) => panic!("pj_dump: {error}"),
    };
    assert!(read.status.success(), "{read:?}");
    let text = String::from_utf8_lossy(&read.stdout).into_owned();
    let starts = |start: &str| text.lines().filter(|line| line.starts_with(start)).count();
    assert_eq!(starts("Link, run, Message,"), 72);
    assert_eq!(
        text.lines()
            .filter(|line| line.ends_with(", exchange"))
            .count(),
        18
    );
}

#[test]
fn bad_input_is_refused() {
    let log = logged("refused", MessageProtocol::Eager, deadlock);
    for (out, options, expected) in [
        (
            "x.json",
            &[][..],
            "x.json: unknown ending: expected .pftrace, .pftrace.gz, .paje or .csv",
        ),
        (
            "x.pftrace",
            &["--trace-ranks", "9"],
            "--trace-ranks 9: the run has none of these ranks: expected ranks from 0 to 5",
        ),
        (
            "x.pftrace",
            &["--trace-ranks", "3-1"],
            "--trace-ranks 3-1: \"3-1\": expected ranks, such as 0-63,4096",
        ),
        (
            "x.pftrace",
            &["--trace-hosts", "rack*"],
            "--trace-hosts rack*: nothing of the run is selected",
        ),
        (
            "x.pftrace",
            &["--trace-only", "links"],
            "--trace-only links: \"links\": expected calls, flows, counters or flight",
        ),
        (
            "x.pftrace",
            &["--trace-shorter-than", "1us"],
            "--trace-shorter-than 1us: expected a time and =merge, such as 1us=merge",
        ),
        (
            "x.csv",
            &["--trace-aggregate"],
            "--trace-shorter-than and --trace-aggregate: expected a file .pftrace",
        ),
    ] {
        let out = log.with_file_name(out);
        let refused = convert(&log, &out, options);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(
            said.starts_with("error: ") && said.trim_end().ends_with(expected),
            "{said}"
        );
        assert!(!out.exists(), "{}", out.display());
    }
    let none = convert(Path::new("Cargo.toml"), &log.with_file_name("x.csv"), &[]);
    let said = String::from_utf8_lossy(&none.stderr).into_owned();
    assert_eq!(said, "error: Cargo.toml: not an event log of simrun\n");
}
