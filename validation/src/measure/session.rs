//! Results of one session of measuring, and the file of samples that is made of several.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::metadata::SampleMetadata;
use crate::read::{ReadError, read};
use crate::sample::{Block, Kernel, Measurements, Set};

/// Results of rank 0 between one start of the processes and their end.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Session {
    /// All blocks, in the order of time; a block of one number may have samples of two kernels.
    pub blocks: Vec<Block>,
    /// The smallest observed step of the clock, in seconds; 0 if the clock does not move during the
    /// readings.
    pub clock_step_s: f64,
    /// Cost of reading the clock, in seconds.
    pub clock_cost_s: f64,
    /// The first size that goes by rendezvous, if one was looked for and found.
    pub eager_threshold: Option<u64>,
    /// By how much the receives of kernel `late` are late, in seconds.
    pub late_delay_s: f64,
    /// Number of ranks took part.
    pub ranks: u32,
    /// Number of passes over the plan were begun.
    pub passes: u32,
    /// Duration of the session in seconds.
    pub elapsed_s: f64,
    /// Notes on cuts, the end of the session, and the like: one line each.
    pub notes: Vec<String>,
}

impl Session {
    /// Returns true if there is a ping-pong, to which everything is fitted.
    pub fn has_ping_pongs(&self) -> bool {
        let is_one = |block: &Block| {
            Kernel::PING_PONGS.contains(&block.kernel) && block.set == Set::Training
        };
        self.blocks.iter().any(is_one)
    }

    /// Facts that the calibration needs, by key.
    fn metadata(&self) -> BTreeMap<&'static str, String> {
        let mut metadata = BTreeMap::from([
            ("ranks", self.ranks.to_string()),
            ("clock_step_us", format!("{}", 1e6 * self.clock_step_s)),
            ("clock_cost_us", format!("{}", 1e6 * self.clock_cost_s)),
        ]);
        if self.late_delay_s > 0.0 {
            metadata.insert("late_delay_us", format!("{}", 1e6 * self.late_delay_s));
        }
        if let Some(threshold) = self.eager_threshold {
            metadata.insert("eager_threshold", threshold.to_string());
        }
        metadata
    }
}

impl Session {
    /// Reads one session from the text of a file that [`samples_as_csv`] has written.
    pub fn from_csv(file: &str, text: &str) -> Result<Self, ReadError> {
        let metadata = SampleMetadata::from_text(text);
        let blocks = match read(file, text)? {
            Measurements::Samples(blocks) => blocks,
            Measurements::Table(_) => Vec::new(),
        };
        let micro = |key: &str| metadata.number_value(key).unwrap_or(0.0) / 1e6;
        let notes: Vec<String> = text
            .lines()
            .take_while(|line| line.starts_with('#'))
            .filter_map(|line| line.strip_prefix("# session 1: "))
            .map(str::to_owned)
            .collect();
        let (first, rest) = notes
            .split_first()
            .map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
        let mut numbers = first.split(' ').filter_map(|word| word.parse::<f64>().ok());
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a small count"
        )]
        let passes = numbers.next().unwrap_or(0.0) as u32;
        Ok(Self {
            blocks,
            clock_step_s: micro("clock_step_us"),
            clock_cost_s: micro("clock_cost_us"),
            eager_threshold: metadata.whole_value("eager_threshold"),
            late_delay_s: micro("late_delay_us"),
            ranks: metadata
                .whole_value("ranks")
                .and_then(|ranks| u32::try_from(ranks).ok())
                .unwrap_or(0),
            passes,
            elapsed_s: numbers.next().unwrap_or(0.0),
            notes: rest.to_vec(),
        })
    }
}

/// The text of a file of samples. `head` comes first: lines `# key: value` that say where the
/// samples come from.
pub fn samples_as_csv(head: &str, sessions: &[Session]) -> String {
    let mut text = String::from(head);
    if let Some(first) = sessions.first() {
        for (key, value) in first.metadata() {
            let _ = writeln!(text, "# {key}: {value}");
        }
    }
    for (number, session) in (1..).zip(sessions) {
        let _ = writeln!(
            text,
            "# session {number}: {} passes, {:.3} s",
            session.passes, session.elapsed_s
        );
        for note in &session.notes {
            let _ = writeln!(text, "# session {number}: {note}");
        }
    }
    text.push_str("session,block,kernel,size_bytes,set,sample,time_us\n");
    for block in sessions.iter().flat_map(|session| &session.blocks) {
        append_block(&mut text, block);
    }
    text
}

fn append_block(text: &mut String, block: &Block) {
    let set = block.set.name();
    for (sample, time) in block.times_s.iter().enumerate() {
        let _ = writeln!(
            text,
            "{},{},{},{},{set},{sample},{}",
            block.session,
            block.number,
            block.kernel,
            block.size,
            1e6 * time
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Kernel, Set};

    #[test]
    fn a_session_is_read_as_it_was_written() {
        let session = Session {
            blocks: vec![Block {
                session: 1,
                number: 3,
                kernel: Kernel::Stream(16),
                size: 4096,
                set: Set::Validation,
                times_s: vec![1.25e-6, 2e-6],
            }],
            clock_step_s: 1e-8,
            clock_cost_s: 2e-8,
            eager_threshold: Some(16_384),
            late_delay_s: 0.005,
            ranks: 2,
            passes: 7,
            elapsed_s: 1.5,
            notes: vec!["one: two".to_owned(), "three".to_owned()],
        };
        let text = samples_as_csv("# backend: tcp\n", std::slice::from_ref(&session));
        let again = Session::from_csv("m.csv", &text).unwrap();
        let near = |one: f64, other: f64| (one / other - 1.0).abs() < 1e-12;
        assert!(near(again.clock_cost_s, 2e-8) && near(again.late_delay_s, 0.005));
        assert!(near(again.blocks[0].times_s[0], 1.25e-6));
        assert_eq!(samples_as_csv("# backend: tcp\n", &[again]), text);
    }
}
