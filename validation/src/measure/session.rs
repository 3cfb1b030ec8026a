//! What one session of measuring has found, and the file of samples that is made of several.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::sample::Block;

/// What rank 0 found between one start of the processes and their end.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Session {
    /// All blocks, in the order of time; a block of one number may have samples of two kernels.
    pub blocks: Vec<Block>,
    /// The smallest step of the clock that was seen, in seconds; 0 if it does not move while it is read.
    pub clock_step_s: f64,
    /// What reading the clock takes, in seconds.
    pub clock_cost_s: f64,
    /// The first size that goes by rendezvous, if one was looked for and found.
    pub eager_threshold: Option<u64>,
    /// By how much the receives of kernel `late` are late, in seconds.
    pub late_delay_s: f64,
    /// How many ranks took part.
    pub ranks: u32,
    /// How many passes over the plan were begun.
    pub passes: u32,
    /// How long it took, in seconds.
    pub elapsed_s: f64,
    /// What was cut, how it ended, and the like: one line each.
    pub notes: Vec<String>,
}

impl Session {
    /// Facts that the calibration needs, by key.
    fn facts(&self) -> BTreeMap<&'static str, String> {
        let mut facts = BTreeMap::from([
            ("ranks", self.ranks.to_string()),
            ("clock_step_us", format!("{}", 1e6 * self.clock_step_s)),
            ("clock_cost_us", format!("{}", 1e6 * self.clock_cost_s)),
        ]);
        if self.late_delay_s > 0.0 {
            facts.insert("late_delay_us", format!("{}", 1e6 * self.late_delay_s));
        }
        if let Some(threshold) = self.eager_threshold {
            facts.insert("eager_threshold", threshold.to_string());
        }
        facts
    }
}

/// The text of a file of samples. `head` comes first: lines `# key: value` that say where the samples come from.
#[must_use]
pub fn samples_as_csv(head: &str, sessions: &[Session]) -> String {
    let mut text = String::from(head);
    if let Some(first) = sessions.first() {
        for (key, value) in first.facts() {
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
        add(&mut text, block);
    }
    text
}

fn add(text: &mut String, block: &Block) {
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
