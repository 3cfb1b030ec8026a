//! Promise: conflicting accesses to a window are errors that name both lines, in a plain run where
//! they meet and under the model checker in any case; correct programs have no finding, in whatever
//! order accesses arrive.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use explore::{Options as CheckOptions, Report, Verdict, check};
use mpi::{Buffer, Comm, Op, Result};
use platform::Platform;
use run::{
    LogFilter, MessageProtocol, Options, Output, RankProgram, Run, Stream, explorable, simulate,
    without_panic_messages,
};
use sim_core::Outcome;

const PLATFORM: &str = r#"
version = 1
[clusters.nodes]
hosts = "node-[0-7]"
speed = "1Gf"
bandwidth = "1GBps"
latency = "1us"
"#;

fn plain<Fut>(ranks: u32, program: impl Fn(Comm) -> Fut + 'static) -> Run
where
    Fut: Future<Output = Result<()>> + 'static,
{
    let platform = Arc::new(Platform::parse("test.toml", PLATFORM).expect("a platform"));
    let options = Options {
        ranks: Some(ranks),
        ..Options::default()
    };
    let output = Rc::new(Output::new(Stream::Nowhere, false, LogFilter::default()));
    let program = RankProgram::new(program);
    without_panic_messages(|| simulate(&platform, &program, &options, &output)).expect("a run")
}

fn explored<Fut>(ranks: u32, program: impl Fn(Comm) -> Fut + 'static) -> Report
where
    Fut: Future<Output = Result<()>> + 'static,
{
    let program = Rc::new(RankProgram::new(program));
    let stepper = explorable(program, ranks, MessageProtocol::Eager);
    check(stepper, &CheckOptions::default())
}

/// The program has a finding under the checker, with these texts.
#[track_caller]
fn is_found<Fut>(ranks: u32, program: impl Fn(Comm) -> Fut + 'static, expected: &[&str])
where
    Fut: Future<Output = Result<()>> + 'static,
{
    let report = explored(ranks, program);
    let messages: Vec<&str> = report.findings.iter().map(|f| f.message.as_str()).collect();
    for text in expected {
        let found = messages.iter().any(|message| message.contains(text));
        assert!(found, "{text}: {messages:?}");
    }
}

/// The program is correct: no run has a finding. Returns the number of executions.
#[track_caller]
fn is_correct<Fut>(ranks: u32, program: impl Fn(Comm) -> Fut + Clone + 'static) -> u64
where
    Fut: Future<Output = Result<()>> + 'static,
{
    let run = plain(ranks, program.clone());
    assert_eq!(run.report.outcome, Outcome::Finished);
    let report = explored(ranks, program);
    assert_eq!(report.verdict, Verdict::Verified, "{:?}", report.findings);
    report.statistics.executions
}

fn number(value: u64) -> Buffer {
    Buffer::of(&[value])
}

async fn two_puts(world: Comm) -> Result<()> {
    let window = world.window(number(0), 8).await?;
    window.fence().await?;
    if world.rank() < 2 {
        window.put(&number(1), 2, 0).await?;
    }
    window.fence().await?;
    window.free().await?;
    Ok(())
}

#[test]
fn two_puts_in_one_epoch_conflict_also_in_a_plain_run() {
    let texts = [
        "conflicting accesses to bytes 0 to 7 of the window of rank 2: put of rank",
        "run/tests/rma.rs:79",
    ];
    let run = plain(3, two_puts);
    let outcome = format!("{:?}", run.report.outcome);
    for text in texts {
        assert!(outcome.contains(text), "{text}: {outcome}");
    }
    is_found(3, two_puts, &texts);
}

#[test]
fn puts_to_different_bytes_do_not_conflict() {
    is_correct(2, |world: Comm| async move {
        let window = world.window(Buffer::zeroed(16), 8).await?;
        window.fence().await?;
        window.put(&number(1), 0, world.rank() as u64).await?;
        window.fence().await?;
        window.free().await?;
        Ok(())
    });
}
