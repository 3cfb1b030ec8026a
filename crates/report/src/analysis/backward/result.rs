//! The result of reading a log backwards, as numbers and names.

use std::collections::BTreeMap;
use std::io::Read;

use observe::{LogReader, NameId};
use serde::{Serialize, Serializer};

use super::Backward;
use super::sensitivity::Sensitivity;
use super::slack::{SlackSite, SlackSum};

/// Number of rows of a list that are serialized; CSV files have all.
const LISTED_MAX: usize = 100;

/// Causes of the time of a run, from its end backwards. All times are in seconds.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct BackwardReport {
    /// Slack of the ends of calls, and of the begins of messages.
    pub slack: Vec<SlackRow>,
    /// Slack of the calls of each rank.
    #[serde(skip)]
    pub rank_slack: Vec<SlackRow>,
    /// The messages with the least slack that is not 0.
    pub messages: Vec<LateMessage>,
    /// Waits by their cause, the greatest sum first.
    #[serde(serialize_with = "first")]
    pub delay_costs: Vec<DelayCost>,
    /// Derivatives of the time of the run, the greatest first.
    #[serde(serialize_with = "first")]
    pub derivatives: Vec<Sensitivity>,
    /// Computation and sleep on the critical path by innermost region of the program; the empty
    /// name is for computation and sleep outside of regions.
    pub critical_regions_s: BTreeMap<String, f64>,
    /// Time of the critical path that depends on none of their parameters.
    pub other_s: f64,
}

fn first<T: Serialize, S: Serializer>(rows: &[T], to: S) -> Result<S::Ok, S::Error> {
    rows[..rows.len().min(LISTED_MAX)].serialize(to)
}

/// Slack of a call, of the messages that a call sends, or of a rank.
#[derive(Clone, PartialEq, Debug, Serialize, Default)]
pub struct SlackRow {
    /// "call", "message" or "rank".
    pub of: &'static str,
    /// Rank; `None` for all.
    pub rank: Option<u32>,
    /// Name of the call; empty for messages and ranks.
    pub call: String,
    /// Line of the call.
    pub place: String,
    /// Number of events.
    pub count: u64,
    /// Least slack.
    pub least_s: f64,
    /// Mean slack.
    pub mean_s: f64,
    /// Greatest slack.
    pub greatest_s: f64,
}

/// A message with its slack.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LateMessage {
    /// Source.
    pub rank: u32,
    /// Destination.
    pub peer: u32,
    /// Length in bytes.
    pub bytes: u64,
    /// Line of the send.
    pub place: String,
    /// The time at which the message is sent.
    pub sent_s: f64,
    /// The time by which the message can be sent later.
    pub slack_s: f64,
}

/// Time for which other ranks wait while a rank is in a call.
#[derive(Clone, PartialEq, Debug, Serialize, Default)]
pub struct DelayCost {
    /// The rank that is late.
    pub rank: u32,
    /// Name of the call; empty between calls.
    pub call: String,
    /// Line of the call.
    pub place: String,
    /// Innermost region of the program; empty if there is none.
    pub region: String,
    /// Waits for this rank.
    pub direct_s: f64,
    /// Waits for ranks that wait for this rank.
    pub indirect_s: f64,
}

impl DelayCost {
    /// Returns the whole cost in seconds.
    pub const fn seconds(&self) -> f64 {
        self.direct_s + self.indirect_s
    }
}

pub(super) fn backward_report<R: Read>(all: &Backward<'_>, names: &LogReader<R>) -> BackwardReport {
    let text = |number: NameId| {
        if number == NameId::MAX {
            String::new()
        } else {
            names.text(number).to_owned()
        }
    };
    let row = |of, rank, (call, place): (String, String), sum: &SlackSum| SlackRow {
        of,
        rank,
        call,
        place,
        count: sum.count,
        least_s: sum.least,
        mean_s: sum.sum / sum.count as f64,
        greatest_s: sum.greatest,
    };
    let slack = all.slacks.sites.iter().map(|(site, sum)| match *site {
        SlackSite::Call(call, place) => row("call", None, (text(call), text(place)), sum),
        SlackSite::Messages(place) => row("message", None, (String::new(), text(place)), sum),
    });
    let ranks = (0..).zip(&all.slacks.ranks);
    let rank_slack = ranks
        .filter(|(_, sum)| sum.count > 0)
        .map(|(rank, sum)| row("rank", Some(rank), Default::default(), sum));
    let messages = all.slacks.messages.iter().map(|message| LateMessage {
        rank: message.rank,
        peer: message.peer,
        bytes: message.bytes,
        place: text(message.place),
        sent_s: message.sent,
        slack_s: message.slack,
    });
    let costs = all.delays.costs.iter().map(|(key, cost)| DelayCost {
        rank: key.rank,
        call: text(key.call),
        place: text(key.place),
        region: key.region.map(text).unwrap_or_default(),
        direct_s: cost.direct,
        indirect_s: cost.indirect,
    });
    let mut delay_costs: Vec<DelayCost> = costs.collect();
    delay_costs.sort_by(|one, other| other.seconds().total_cmp(&one.seconds()));
    BackwardReport {
        slack: slack.collect(),
        rank_slack: rank_slack.collect(),
        messages: messages.collect(),
        delay_costs,
        derivatives: all
            .times
            .derivatives(names.links(), |rank| names.host_name(rank)),
        critical_regions_s: (all.times.regions.iter())
            .map(|(region, &seconds)| (region.map(text).unwrap_or_default(), seconds))
            .collect(),
        other_s: all.times.other,
    }
}
