//! Slack by call, rank and message.

use std::collections::BTreeMap;

use observe::NameId;

/// Number of messages that are kept.
const MESSAGES: usize = 20;

/// Sums of slack.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct SlackSum {
    pub(super) count: u64,
    pub(super) least: f64,
    pub(super) greatest: f64,
    pub(super) sum: f64,
}

impl Default for SlackSum {
    fn default() -> Self {
        Self {
            count: 0,
            least: f64::INFINITY,
            greatest: 0.0,
            sum: 0.0,
        }
    }
}

impl SlackSum {
    fn add_slack(&mut self, slack: f64) {
        self.count += 1;
        self.least = self.least.min(slack);
        self.greatest = self.greatest.max(slack);
        self.sum += slack;
    }
}

/// A call, or the messages that a call sends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum SlackSite {
    Call(NameId, NameId),
    Messages(NameId),
}

/// A message with its slack.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct MessageSlack {
    pub(super) slack: f64,
    pub(super) rank: u32,
    pub(super) peer: u32,
    pub(super) bytes: u64,
    pub(super) place: NameId,
    pub(super) sent: f64,
}

/// All slack.
#[derive(Debug, Default)]
pub(super) struct Slacks {
    pub(super) sites: BTreeMap<SlackSite, SlackSum>,
    pub(super) ranks: Vec<SlackSum>,
    /// The messages with the least slack that is not 0, sorted by slack.
    pub(super) messages: Vec<MessageSlack>,
}

impl Slacks {
    pub(super) fn new(ranks: u32) -> Self {
        Self {
            ranks: vec![SlackSum::default(); ranks as usize],
            ..Self::default()
        }
    }

    /// Adds a call that ends.
    pub(super) fn add_call(&mut self, rank: u32, site: (NameId, NameId), slack: f64) {
        let site = SlackSite::Call(site.0, site.1);
        self.sites.entry(site).or_default().add_slack(slack);
        self.ranks[rank as usize].add_slack(slack);
    }

    /// Adds a message.
    pub(super) fn add_message(&mut self, message: MessageSlack) {
        let site = SlackSite::Messages(message.place);
        self.sites.entry(site).or_default().add_slack(message.slack);
        if message.slack <= 0.0 {
            return;
        }
        let at = (self.messages).partition_point(|other| other.slack <= message.slack);
        if at < MESSAGES {
            self.messages.insert(at, message);
            self.messages.truncate(MESSAGES);
        }
    }
}
