//! Penalties of concurrent transfers, by the hosts that exchange transfers at the moment: on
//! InfiniBand, or between two hosts without other transfers.
//!
//! The formulas, their sources and their limits are at the parameters of the models `ib` and `flow`
//! in `platform`.

use std::collections::BTreeMap;

use platform::{IbPenaltyFactors, NetworkParameters};

/// The rule of the penalties.
#[derive(Clone, Copy, Debug)]
enum Rule {
    Factors(IbPenaltyFactors),
    /// Bytes from which exchanges have a penalty, and from which on they have the whole one.
    PairDuplex {
        from: f64,
        full: f64,
    },
}

/// Transfers in progress between pairs of hosts.
#[derive(Debug)]
pub(crate) struct Contention {
    rule: Rule,
    /// The hosts that take part in a transfer, by number.
    nodes: BTreeMap<u32, HostTransfers>,
}

/// The transfers of one host.
#[derive(Default, Debug)]
struct HostTransfers {
    /// Outgoing transfers by slot, with their targets and their penalties in an exchange.
    outgoing: BTreeMap<u32, (u32, f64)>,
    /// Number of transfers that come in from each host.
    sources: BTreeMap<u32, u32>,
    incoming: u32,
}

impl Contention {
    /// Returns the penalties of a model; `None` if the model has none.
    pub(crate) fn of_network(network: &NetworkParameters) -> Option<Self> {
        let factors = network.ib_penalty_factors.map(Rule::Factors);
        let pair = network.pair_duplex.as_ref().map(|pair| Rule::PairDuplex {
            from: pair.from.bytes() as f64,
            full: pair.full.bytes() as f64,
        });
        let rule = factors.or(pair)?;
        Some(Self {
            rule,
            nodes: BTreeMap::new(),
        })
    }

    /// Records that the transfer in `slot` begins; `affected` gets this transfer and all others
    /// with a penalty that may change.
    pub(crate) fn begin_transfer(
        &mut self,
        slot: u32,
        (from, to): (u32, u32),
        bytes: f64,
        affected: &mut Vec<u32>,
    ) {
        let source = self.nodes.entry(from).or_default();
        let share = match self.rule {
            Rule::PairDuplex { from, full } => half_duplex_share((from, full), bytes),
            Rule::Factors(_) => 0.0,
        };
        source.outgoing.insert(slot, (to, 1.0 + share));
        let target = self.nodes.entry(to).or_default();
        *target.sources.entry(from).or_default() += 1;
        target.incoming += 1;
        self.affected(from, to, affected);
    }

    /// Records that the transfer in `slot` ended; `affected` gets all others with a penalty that
    /// may change.
    pub(crate) fn end_transfer(&mut self, slot: u32, from: u32, to: u32, affected: &mut Vec<u32>) {
        if let Some(source) = self.nodes.get_mut(&from) {
            source.outgoing.remove(&slot);
        }
        if let Some(target) = self.nodes.get_mut(&to) {
            target.incoming -= 1;
            if let Some(count) = target.sources.get_mut(&from) {
                *count -= 1;
                if *count == 0 {
                    target.sources.remove(&from);
                }
            }
        }
        self.affected(from, to, affected);
        for host in [from, to] {
            let idle = |node: &HostTransfers| node.outgoing.is_empty() && node.incoming == 0;
            if self.nodes.get(&host).is_some_and(idle) {
                self.nodes.remove(&host);
            }
        }
    }

    /// Appends the transfers with a penalty that may change. A penalty depends on the transfers
    /// from its source and on the transfers to the targets of this source. So a change between two
    /// hosts affects transfers of the sender, and of any host that sends to the same receiver.
    fn affected(&self, from: u32, to: u32, affected: &mut Vec<u32>) {
        let mut add = |host: u32| {
            if let Some(node) = self.nodes.get(&host) {
                affected.extend(node.outgoing.keys());
            }
        };
        add(from);
        if let Some(target) = self.nodes.get(&to) {
            for source in target.sources.keys().filter(|source| **source != from) {
                add(*source);
            }
        }
        if let (Rule::PairDuplex { .. }, Some(source)) = (self.rule, self.nodes.get(&from)) {
            // An exchange depends on all transfers of both hosts.
            add(to);
            source.sources.keys().for_each(|other| add(*other));
        }
    }

    /// Returns the penalty of the transfer in `slot`, at least 1 unless the factors are below.
    pub(crate) fn penalty(&self, slot: u32, from: u32, to: u32) -> f64 {
        match self.rule {
            Rule::Factors(factors) => self.infiniband_penalty(factors, from, to),
            Rule::PairDuplex { .. } => self.exchange_penalty(slot, from, to).unwrap_or(1.0),
        }
    }

    /// Returns the penalty of a long transfer between hosts that have one transfer in each
    /// direction, and no other one.
    fn exchange_penalty(&self, slot: u32, from: u32, to: u32) -> Option<f64> {
        let (_, penalty) = *self.nodes.get(&from)?.outgoing.get(&slot)?;
        let exchanges = |host: u32, other: u32| {
            let node = self.nodes.get(&host)?;
            let is_alone = node.outgoing.len() == 1 && node.incoming == 1;
            (is_alone && node.sources.contains_key(&other)).then_some(())
        };
        exchanges(from, to)?;
        exchanges(to, from)?;
        Some(penalty)
    }

    fn infiniband_penalty(&self, factors: IbPenaltyFactors, from: u32, to: u32) -> f64 {
        let incoming = |host: u32| self.nodes.get(&host).map_or(0, |node| node.incoming);
        let outgoing = self.nodes.get(&from).map_or(1.0, |node| {
            let count = node.outgoing.len() as f64;
            if node.outgoing.len() <= 1 {
                return 1.0;
            }
            let to_busy_target = node.outgoing.values().any(|(to, _)| incoming(*to) > 2);
            let plain = count * factors.bs;
            // The maximum of both kinds: with `ys` below 1 a target that is not busy decides.
            let quiet = node.outgoing.values().any(|(to, _)| incoming(*to) <= 2);
            match (to_busy_target, quiet) {
                (true, true) => plain.max(plain * factors.ys),
                (true, false) => plain * factors.ys,
                (false, _) => plain,
            }
        });
        let into = self.nodes.get(&to).map_or(1.0, |node| {
            if node.incoming <= 1 {
                return 1.0;
            }
            let mine = node.sources.get(&from).copied().unwrap_or(0);
            f64::from(mine) * factors.be * node.sources.len() as f64
        });
        outgoing.max(into)
    }
}

/// Returns the share of the bandwidth of one direction that a transfer takes from the other one, 0
/// to 1.
fn half_duplex_share((from, full): (f64, f64), bytes: f64) -> f64 {
    if bytes <= from {
        return 0.0;
    }
    (libm::log2(bytes / from) / libm::log2(full / from)).min(1.0)
}

#[cfg(test)]
mod tests {
    use platform::{NetworkModel, NetworkParameters, PairDuplex};

    use super::*;

    /// The penalties of transfers between the hosts given, all in progress at once.
    fn penalties(transfers: &[(u32, u32)]) -> Vec<f64> {
        let network = NetworkParameters::preset(NetworkModel::by_name("ib").expect("a model"));
        penalties_in(&network, 1e6, transfers)
    }

    fn penalties_in(network: &NetworkParameters, bytes: f64, transfers: &[(u32, u32)]) -> Vec<f64> {
        let mut contention = Contention::of_network(network).expect("penalties");
        let mut affected = Vec::new();
        for (pair, slot) in transfers.iter().zip(0..) {
            affected.clear();
            contention.begin_transfer(slot, *pair, bytes, &mut affected);
            assert!(affected.contains(&slot));
        }
        let pairs = transfers.iter().zip(0..);
        let found = pairs.map(|((from, to), slot)| contention.penalty(slot, *from, *to));
        let found = found.collect();
        for ((from, to), slot) in transfers.iter().zip(0..) {
            contention.end_transfer(slot, *from, *to, &mut affected);
        }
        assert!(contention.nodes.is_empty());
        found
    }

    #[test]
    fn exchanges_of_two_hosts_are_half_duplex() {
        let mut network = NetworkParameters::preset(NetworkModel::DEFAULT);
        network.pair_duplex = Some(PairDuplex {
            from: "1MB".parse().expect("a size"),
            full: "64MB".parse().expect("a size"),
        });
        let found = |bytes, transfers: &[(u32, u32)]| penalties_in(&network, bytes, transfers);
        // log2(8) / log2(64) is a half.
        for (bytes, penalty) in [(5e5, 1.0), (1e6, 1.0), (8e6, 1.5), (64e6, 2.0), (1e9, 2.0)] {
            assert_eq!(found(bytes, &[(0, 1), (1, 0)]), [penalty; 2]);
        }
        // One direction, a ring, and a host that has another transfer.
        for others in [
            &[(0, 1)][..],
            &[(0, 1), (1, 2), (2, 0)],
            &[(0, 1), (1, 0), (2, 0)],
        ] {
            assert!(found(1e9, others).iter().all(|penalty| *penalty == 1.0));
        }
    }

    #[test]
    fn by_hand() {
        assert_eq!(penalties(&[(0, 1)]), [1.0]);
        // Two out of one host: 2 x 0.925.
        assert_eq!(penalties(&[(0, 1), (0, 2)]), [1.85, 1.85]);
        // Three into one host, from three: 1 x 0.965 x 3.
        assert_eq!(penalties(&[(1, 0), (2, 0), (3, 0)]), [0.965 * 3.0; 3]);
        // Two from one host to one: outgoing 1.85, incoming 2 x 0.965 x 1 = 1.93.
        assert_eq!(penalties(&[(0, 1), (0, 1)]), [1.93, 1.93]);
        // Host 0 sends to 1 and 2; 1 also receives from 3 and 4. Outgoing of 0: 2 x 0.925 x 1.35 =
        // 2.4975, for both; incoming at 1: 0.965 x 3 = 2.895.
        let found = penalties(&[(0, 1), (0, 2), (3, 1), (4, 1)]);
        let wanted = [2.895, 2.4975, 2.895, 2.895];
        for (found, wanted) in found.iter().zip(wanted) {
            assert!((found - wanted).abs() < 1e-12, "{found} {wanted}");
        }
    }
}
