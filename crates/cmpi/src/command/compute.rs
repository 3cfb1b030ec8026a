//! The time between calls of a compiled program: the options, and the file of `--record-compute`.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::path::Path;
use std::rc::Rc;

use files::Output;
use simrun::compute_args::{ComputeArgs, ComputeMode};

use crate::{Bursts, Compute, Measured, Timing};

/// Longest processor time in seconds for which a rank computes without a call of MPI: in a run, and
/// under a model checker, which executes the program again and again. Our choice.
const LONGEST: f64 = 60.0;
const LONGEST_CHECKED: f64 = 5.0;

/// First line of a file of times.
const HEADER: &str = "# simrun compute 1: rank, number of the time, seconds";

/// Returns the times that the options ask for, and the times to be written.
pub(super) fn read_timing(
    options: &ComputeArgs,
    (counts_blocks, is_checked): (bool, bool),
) -> Result<(Timing, Option<Recording>), String> {
    let mode = options.compute.unwrap_or_default();
    let is_positive = |value: &f64| value.is_finite() && *value > 0.0;
    for (name, value) in [
        ("--flops-per-block", options.flops_per_block),
        ("--host-speed", options.host_speed),
    ] {
        if let Some(value) = value.filter(|value| !is_positive(value)) {
            return Err(format!("{name} {value}: expected a number above 0"));
        }
    }
    if options.flops_per_block.is_some() && mode != ComputeMode::Blocks {
        return Err("--flops-per-block: expected --compute blocks, whose work it is".to_owned());
    }
    let has_times = mode == ComputeMode::Host || options.replay_compute.is_some();
    if options.host_speed.is_some() && !has_times {
        return Err(
            "--host-speed: expected --compute host or --replay-compute, whose times it is for"
                .to_owned(),
        );
    }
    let (recorded, replayed) = (&options.record_compute, &options.replay_compute);
    if recorded.is_some() && mode != ComputeMode::Host {
        return Err("--record-compute: expected --compute host, which measures times".to_owned());
    }
    if replayed.is_some() && options.compute.is_some() {
        return Err("--replay-compute has the times: expected no --compute".to_owned());
    }
    let replayed = replayed.as_deref().map(read_times).transpose()?;
    let file = recorded.as_deref().map(Output::new).transpose();
    let file = file.map_err(|error| error.to_string())?;
    let recording = file.map(|file| Recording {
        file,
        host_speed: options.host_speed,
        measured: Rc::default(),
    });
    let compute = match (mode, replayed) {
        (_, Some(times)) => Compute::Replay(Rc::new(times)),
        (ComputeMode::None, None) => Compute::None,
        (ComputeMode::Host, None) => {
            Compute::Host(recording.as_ref().map(|it| Rc::clone(&it.measured)))
        }
        (ComputeMode::Blocks, None) if !counts_blocks => {
            return Err(
                "--compute blocks: the program does not count its blocks: compile it with \
                 simrun cc --coverage-blocks"
                    .to_owned(),
            );
        }
        (ComputeMode::Blocks, None) => Compute::Blocks(
            options
                .flops_per_block
                .ok_or("--compute blocks: expected --flops-per-block FLOP, the work of a block")?,
        ),
    };
    let call_cost = options.call_cost.as_ref();
    let timing = Timing {
        compute,
        host_speed: options.host_speed,
        call_cost: call_cost.map_or(0.0, platform::units::Duration::as_secs),
        longest: Some(match (&options.watchdog, is_checked) {
            (Some(longest), _) => longest.as_secs(),
            (None, true) => LONGEST_CHECKED,
            (None, false) => LONGEST,
        }),
    };
    Ok((timing, recording))
}

/// Reads a file of times.
fn read_times(file: &Path) -> Result<Bursts, String> {
    let place = file.display();
    let text = files::read_text(file).map_err(|error| format!("{place}: {error}"))?;
    parse_times(file, &text)
}

/// Reads the text of a file of times with this name.
fn parse_times(file: &Path, text: &str) -> Result<Bursts, String> {
    let place = file.display();
    let mut lines = text.lines().zip(1..);
    if lines.next().is_none_or(|(first, _)| first != HEADER) {
        return Err(format!(
            "{place}:1: expected {HEADER:?}, as --record-compute writes"
        ));
    }
    let parsed = |line: &str| {
        let mut words = line.split(' ');
        let key = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let seconds: f64 = words.next()?.parse().ok()?;
        (words.next().is_none() && seconds.is_finite() && seconds >= 0.0).then_some((key, seconds))
    };
    lines
        .filter(|(line, _)| !line.starts_with('#'))
        .map(|(line, number)| {
            parsed(line).ok_or_else(|| {
                format!("{place}:{number}: {line:?}: expected rank, number and seconds")
            })
        })
        .collect()
}

/// Times of a run, which are written at the end of the run.
pub(super) struct Recording {
    file: Output,
    host_speed: Option<f64>,
    measured: Rc<RefCell<Measured>>,
}

/// Returns the line that says the work of a basic block, for `--flops-per-block`.
#[expect(clippy::cast_precision_loss, reason = "blocks are counted in runs")]
fn work_of_block(measured: &Measured, host_speed: Option<f64>) -> String {
    let Measured {
        seconds, blocks, ..
    } = measured;
    let each = seconds / *blocks as f64;
    let work = match host_speed {
        Some(speed) => format!("{:.3e}", each * speed),
        None => format!("{each:.3e} times the speed of this machine in flop/s"),
    };
    format!("# {blocks} blocks in {seconds:.6} s: as --compute blocks --flops-per-block {work}\n")
}

impl Drop for Recording {
    fn drop(&mut self) {
        let mut text = format!("{HEADER}\n");
        let measured = self.measured.borrow();
        for ((rank, number), seconds) in &measured.bursts {
            // Writing to a string does not fail. All digits are written.
            let _ = writeln!(text, "{rank} {number} {seconds:e}");
        }
        if measured.blocks > 0 {
            text += &work_of_block(&measured, self.host_speed);
        }
        if let Err(error) = self.file.write(text) {
            simrun::status::refuse(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TIMES: &str = "0 0 1.5e-3\n1 0 2e-6\n# 2 blocks\n0 1 0e0\n";

    fn parse(bytes: &[u8]) -> Result<Bursts, String> {
        parse_times(Path::new("times"), &String::from_utf8_lossy(bytes))
    }

    #[test]
    fn times_are_read() {
        let text = format!("{HEADER}\n{TIMES}");
        assert_eq!(parse(text.as_bytes()).map(|times| times.len()), Ok(3));
    }

    proptest! {
        /// Damage: a truncated text with one other byte.
        #[test]
        fn damaged_times_are_refused_or_read(length: prop::sample::Index, at: prop::sample::Index, byte: u8) {
            let mut bytes = format!("{HEADER}\n{TIMES}").into_bytes();
            bytes.truncate(length.index(bytes.len()) + 1);
            let at = at.index(bytes.len());
            bytes[at] = byte;
            drop(parse(&bytes));
        }
    }
}
