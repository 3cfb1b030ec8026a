//! The collective calls of a rank on their way to the coordinator, which compares them.
//!
//! A rank only records its calls in memory; its connection thread sends the calls every [`PERIOD`],
//! and before the rank reports its end. A repeated call, such as a call in a loop, is sent once
//! with the number of repetitions.
//!
//! *Not compared*: the calls of the last [`PERIOD`] of a rank that is killed; all later calls of a
//! rank that makes more different calls in a period than a message holds. In both cases, only a
//! mistake may remain undetected.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mpi::CallRecord;
use serde::{Deserialize, Serialize};

/// Time from message to message.
pub(super) const PERIOD: Duration = Duration::from_millis(100);

/// Maximum number of runs of a batch; this many runs take about 4 MiB.
const RUNS_MAX: usize = 1 << 18;

/// Maximum number of different calls of a batch. Most programs have less than 100 of them.
const CALLS_MAX: usize = 1 << 12;

/// Number of latest calls among which an equal one is looked for.
const RECENT: usize = 8;

/// Calls of a rank in their order.
#[derive(Clone, PartialEq, Default, Serialize, Deserialize, Debug)]
pub(super) struct CallBatch {
    calls: Vec<CallRecord>,
    /// Calls that follow each other on a communicator: the index in `calls`, the position of the
    /// first one, and their number.
    runs: Vec<(u32, u32, u32)>,
    /// True if calls are missing behind these.
    pub is_cut: bool,
}

impl CallBatch {
    fn is_empty(&self) -> bool {
        self.runs.is_empty() && !self.is_cut
    }

    /// Adds a call at this position of the communicator.
    fn push_call(&mut self, number: u32, call: CallRecord) {
        if self.is_cut || self.runs.len() >= RUNS_MAX || self.calls.len() >= CALLS_MAX {
            self.is_cut = true;
            return;
        }
        let recent = self.calls.iter().rev().take(RECENT);
        let back = { recent }.position(|other| *other == call);
        let index = back.map(|back| self.calls.len() - 1 - back);
        let index = index.unwrap_or_else(|| {
            self.calls.push(call);
            self.calls.len() - 1
        });
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        match self.runs.last_mut() {
            Some((last, first, count)) if *last == index && *first + *count == number => {
                *count += 1;
            }
            _ => self.runs.push((index, number, 1)),
        }
    }

    /// Returns the runs: a call, the position of the first one, and their number.
    pub(super) fn runs(&self) -> impl Iterator<Item = (&CallRecord, u32, u32)> {
        let runs = self.runs.iter();
        runs.filter_map(|&(call, first, count)| {
            Some((self.calls.get(call as usize)?, first, count))
        })
    }
}

/// The calls of this rank that have not been sent.
#[derive(Default, Debug)]
pub(super) struct CallOutbox(Mutex<CallBatch>);

impl CallOutbox {
    fn lock(&self) -> MutexGuard<'_, CallBatch> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a call at this position of the communicator.
    pub(super) fn push_call(&self, number: u32, call: CallRecord) {
        self.lock().push_call(number, call);
    }

    /// Takes the calls; `None` if there are none.
    pub(super) fn take_batch(&self) -> Option<CallBatch> {
        let mut batch = self.lock();
        if batch.is_empty() {
            return None;
        }
        let is_cut = batch.is_cut;
        let taken = std::mem::take(&mut *batch);
        // Calls behind a gap have no place in the order.
        batch.is_cut = is_cut;
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A barrier or a broadcast of rank 1 of the world of 2.
    fn call(name: &str) -> CallRecord {
        let signature = format!(
            r#"{{"name":"{name}","root":0,"is_nonblocking":false,"is_in_place":false,"op":null,"element":0,"bytes":null,"file":"a.rs","line":1}}"#
        );
        let fields = r#""context":1,"first":0,"rank":1,"world_rank":1,"size":2,"blocks":null"#;
        serde_json::from_str(&format!(r#"{{{fields},"signature":{signature}}}"#)).unwrap()
    }

    fn runs(batch: &CallBatch) -> Vec<(CallRecord, u32, u32)> {
        let runs = batch.runs();
        runs.map(|(call, first, count)| (call.clone(), first, count))
            .collect()
    }

    #[test]
    fn repeated_calls_are_one_run_and_calls_travel_as_text() {
        let outbox = CallOutbox::default();
        assert_eq!(outbox.take_batch(), None);
        let (barrier, bcast) = (call("barrier"), call("bcast"));
        for number in 0..100 {
            outbox.push_call(number, barrier.clone());
        }
        outbox.push_call(100, bcast.clone());
        outbox.push_call(101, barrier.clone());
        let batch = outbox.take_batch().unwrap();
        let expected = vec![
            (barrier.clone(), 0, 100),
            (bcast, 100, 1),
            (barrier, 101, 1),
        ];
        assert_eq!(runs(&batch), expected);
        assert_eq!(batch.calls.len(), 2);
        let text = serde_json::to_string(&batch).unwrap();
        assert_eq!(serde_json::from_str::<CallBatch>(&text).unwrap(), batch);
        assert_eq!(outbox.take_batch(), None);
    }

    #[test]
    fn a_batch_is_cut_when_it_is_full_and_no_call_follows() {
        let outbox = CallOutbox::default();
        for number in 0..=u32::try_from(RUNS_MAX).unwrap() {
            outbox.push_call(2 * number, call("barrier"));
        }
        let batch = outbox.take_batch().unwrap();
        assert!(batch.is_cut);
        assert_eq!(batch.runs().count(), RUNS_MAX);
        outbox.push_call(0, call("barrier"));
        assert_eq!(
            outbox.take_batch().map(|batch| runs(&batch)),
            Some(Vec::new())
        );
    }
}
