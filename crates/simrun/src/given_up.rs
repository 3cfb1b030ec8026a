//! A run that is given up from outside of the kernel: record and messages.
//!
//! The kernel no longer answers, so the counters are the values at the last date that the kernel
//! reached, and there is no digest.

use std::io::{self, Write as _};

use run::{Mapping, Run, RunRecord};
use sim_core::{Digest, Limit, Outcome, Report};

use crate::args::Payload;
use crate::entry::{RequestedRun, Start, tell_results, write_record};
use crate::guard::{self, Cause, Stopped};
use crate::{memory, summary};

impl RequestedRun {
    /// Writes and prints the known facts of a run that was given up; returns the exit status.
    pub(crate) fn conclude(&self, stopped: &Stopped) -> u8 {
        let run = self.given_up(stopped);
        let mut record = RunRecord::new(&run, self.origin());
        // The kernel could not be asked.
        record.digest = None;
        if stopped.cause == Cause::Exit {
            record.outcome = "failed";
        }
        let kept = write_record(&self.start, &run, &record);
        let (mut stdout, mut stderr) = (
            guard::unlocked(&io::stdout()),
            guard::unlocked(&io::stderr()),
        );
        if let Err(error) = kept {
            // Nobody can be told that standard error is closed.
            let _ = writeln!(stderr, "error: {error}");
        }
        // The process ends with its status in any case.
        let _ = writeln!(stderr, "{}", stopped.sentence());
        if let Cause::Memory(_) = stopped.cause {
            let _ = writeln!(stderr, "{}", self.memory_advice(run.ranks));
        } else if stopped.cause != Cause::Exit
            && let Some(problem) = summary::problem(&run)
        {
            let _ = writeln!(stderr, "{problem}");
        }
        let _ = tell_results(&run, &record, &self.args, &mut stdout);
        stopped.cause.exit_status()
    }

    /// Explains the memory of a run, and how to reduce the memory.
    fn memory_advice(&self, ranks: u32) -> String {
        #[expect(clippy::cast_precision_loss, reason = "a quantity for people")]
        let in_use = memory::in_use().map(|in_use| summary::bytes(in_use as f64));
        let ranks = summary::count(u64::from(ranks), "rank");
        let hint = match self.args.program.payload {
            Payload::Real => "; --payload phantom saves the bytes of messages",
            Payload::Phantom => "",
        };
        let in_use = in_use.unwrap_or_else(|| "an unknown number of bytes".to_owned());
        format!("{ranks}, {in_use} in use: no verdict{hint}")
    }

    /// Returns the facts about a run that was given up.
    fn given_up(&self, stopped: &Stopped) -> Run {
        let Start {
            platform,
            options,
            progress,
            ..
        } = &self.start;
        let ranks = self.start.ranks();
        let hosts = match options.mapping {
            Mapping::File(_) => options.mapping.place_ranks(platform, ranks, options.seed),
            _ => Ok(Vec::new()),
        };
        let sentence = stopped.sentence();
        let (outcome, warnings) = match (stopped.cause, &stopped.failure) {
            (Cause::Exit, Some(failure)) => (Outcome::Failed(failure.clone()), Vec::new()),
            (Cause::Exit | Cause::Interrupt, _) => (Outcome::Interrupted, vec![sentence]),
            (Cause::MaxTime(allowed), _) => {
                (Outcome::Limit(Limit::RealTime(allowed)), vec![sentence])
            }
            (Cause::Busy(allowed), _) => (Outcome::Limit(Limit::Busy(allowed)), vec![sentence]),
            (Cause::Memory(bytes), _) => (Outcome::Limit(Limit::Memory(bytes)), vec![sentence]),
        };
        Run {
            report: Report {
                outcome,
                time: progress.reached_time(),
                events: progress.events(),
                transitions: 0,
                messages: progress.messages(),
                bytes: progress.message_bytes(),
                actors: 0,
                digest: Digest::default(),
                schedule: None,
            },
            ranks,
            warnings,
            stalls: Vec::new(),
            network_deadlock: Vec::new(),
            connections: None,
            capture: None,
            // They were placed before the run.
            hosts: hosts.unwrap_or_default(),
            draws: None,
            wall_s: stopped.wall_s,
        }
    }
}
