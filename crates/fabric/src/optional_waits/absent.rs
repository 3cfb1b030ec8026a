//! Waits that MPI permits and that a run with an error must not have.
//!
//! The run is repeated with all waits but some. Waits are put back one after the other as long as
//! the failed rank still comes to the error; the error needs the absence of the rest.
//!
//! *Not decided*: whether the error occurs with these waits in a run with another matching.

use super::{At, Cut, Next, Notes, to_number};

/// Waits above which none is looked for: each takes a repetition of the run. \[choice\]
const WAITS_MAX: usize = 256;

impl Notes<'_> {
    /// The conditions under which a rank comes to the end of the notes, in words.
    pub(super) fn list_absent(&self, rank: u32) -> Vec<String> {
        let mut given_up = Vec::new();
        let mut cut = self.close_without(&given_up);
        while !self.has_passed_all(&cut, rank) {
            let optional = self.list_optional(&cut);
            if optional.is_empty() || given_up.len() > WAITS_MAX {
                return Vec::new();
            }
            given_up.extend(optional.iter().map(|rank| (*rank, cut[*rank as usize])));
            cut = self.close_without(&given_up);
        }
        for at in given_up.clone() {
            let mut fewer = given_up.clone();
            fewer.retain(|other| *other != at);
            if self.has_passed_all(&self.close_without(&fewer), rank) {
                given_up = fewer;
            }
        }
        let conditions = given_up.iter();
        let conditions = conditions.filter_map(|at| self.describe_condition(*at, false));
        let mut conditions: Vec<String> = conditions.collect();
        conditions.dedup();
        conditions
    }

    fn has_passed_all(&self, cut: &Cut, rank: u32) -> bool {
        self.next_note(cut, rank).is_none()
    }

    /// Lets all ranks continue with all waits but these.
    fn close_without(&self, given_up: &[At]) -> Cut {
        let mut cut = self.close_cut(vec![0; self.ranks.len()]);
        let ranks = 0..to_number(self.ranks.len());
        while let Some(rank) = ranks.clone().find(|rank| {
            self.judge_next(&cut, *rank) == Next::Optional
                && given_up.contains(&(*rank, cut[*rank as usize]))
        }) {
            cut = self.give_up(&cut, rank);
        }
        cut
    }
}
