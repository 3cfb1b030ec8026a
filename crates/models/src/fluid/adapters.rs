//! The adapters of the hosts: the least time from one message of a host to the next message.
//!
//! A transfer to another host leaves when the adapter of the sender is free, at once if the adapter
//! is free already; `message_gap` later the adapter is free again. Transfers that start at one date
//! leave in the order in which they were started. The formula of the model is in
//! `platform/src/network/flow.rs`.
//!
//! *Not modelled*: a transfer that is cancelled while waiting keeps the place in the order. A
//! waiting transfer counts as one in progress for `pair_duplex` and the penalties of `ib`, and
//! analyses call the wait contention.

use platform::NetworkParameters;
use sim_core::{HostId, Span, Time};

/// The adapters of all hosts.
#[derive(Debug)]
pub(super) struct Adapters {
    gap: Span,
    /// Dates from which on the next message can leave, by host.
    free: Vec<Time>,
}

impl Adapters {
    /// Returns the adapters of `hosts` hosts; `None` if messages have no gap.
    pub(super) fn of_network(network: &NetworkParameters, hosts: u32) -> Option<Self> {
        let gap = network.fluid.as_ref()?.message_gap.as_ref()?.as_secs();
        (gap > 0.0).then(|| Self {
            gap: Span::from_secs(gap),
            free: vec![Time::ZERO; hosts as usize],
        })
    }

    /// Returns the time for which a message that `host` starts at `now` waits for the adapter.
    pub(super) fn wait_of_message(&mut self, host: HostId, now: Time) -> Span {
        let free = &mut self.free[host.0 as usize];
        let leaves = now.max(*free);
        *free = leaves + self.gap;
        leaves.since(now)
    }
}
