//! Penalties of concurrent transfers on InfiniBand, by the hosts that exchange transfers at the
//! moment.
//!
//! The formula, its source and what it leaves out are at the parameters of the model `ib` in
//! `platform`.

use std::collections::BTreeMap;

use platform::IbPenaltyFactors;

/// Transfers in progress between pairs of hosts.
#[derive(Debug)]
pub(crate) struct Contention {
    factors: IbPenaltyFactors,
    /// The hosts that take part in a transfer, by number.
    nodes: BTreeMap<u32, Node>,
}

/// The transfers of one host.
#[derive(Default, Debug)]
struct Node {
    /// Outgoing transfers by slot, with their targets.
    outgoing: BTreeMap<u32, u32>,
    /// Number of transfers that come in from each host.
    sources: BTreeMap<u32, u32>,
    incoming: u32,
}

impl Contention {
    pub(crate) const fn new(factors: IbPenaltyFactors) -> Self {
        Self {
            factors,
            nodes: BTreeMap::new(),
        }
    }

    /// Notes that the transfer in `slot` begins; `affected` gets it and all others whose penalty
    /// may change.
    pub(crate) fn begin(&mut self, slot: u32, from: u32, to: u32, affected: &mut Vec<u32>) {
        let source = self.nodes.entry(from).or_default();
        source.outgoing.insert(slot, to);
        let target = self.nodes.entry(to).or_default();
        *target.sources.entry(from).or_default() += 1;
        target.incoming += 1;
        self.affected(from, to, affected);
    }

    /// Notes that the transfer in `slot` ended; `affected` gets all others whose penalty may
    /// change.
    pub(crate) fn end(&mut self, slot: u32, from: u32, to: u32, affected: &mut Vec<u32>) {
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
            let idle = |node: &Node| node.outgoing.is_empty() && node.incoming == 0;
            if self.nodes.get(&host).is_some_and(idle) {
                self.nodes.remove(&host);
            }
        }
    }

    /// A penalty depends on the transfers out of its source and on those into the targets of that
    /// source. So a change between two hosts affects what leaves the sender, and what leaves any
    /// host that sends to the same receiver.
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
    }

    /// The penalty of a transfer in progress, at least 1 unless the factors are below.
    pub(crate) fn penalty(&self, from: u32, to: u32) -> f64 {
        let incoming = |host: u32| self.nodes.get(&host).map_or(0, |node| node.incoming);
        let outgoing = self.nodes.get(&from).map_or(1.0, |node| {
            let count = node.outgoing.len() as f64;
            if node.outgoing.len() <= 1 {
                return 1.0;
            }
            let to_busy_target = node.outgoing.values().any(|to| incoming(*to) > 2);
            let plain = count * self.factors.bs;
            // The maximum of both kinds: with `ys` below 1 a target that is not busy decides.
            let quiet = node.outgoing.values().any(|to| incoming(*to) <= 2);
            match (to_busy_target, quiet) {
                (true, true) => plain.max(plain * self.factors.ys),
                (true, false) => plain * self.factors.ys,
                (false, _) => plain,
            }
        });
        let into = self.nodes.get(&to).map_or(1.0, |node| {
            if node.incoming <= 1 {
                return 1.0;
            }
            let mine = node.sources.get(&from).copied().unwrap_or(0);
            f64::from(mine) * self.factors.be * node.sources.len() as f64
        });
        outgoing.max(into)
    }
}

#[cfg(test)]
mod tests {
    use platform::{NetworkModel, NetworkParameters};

    use super::*;

    /// The penalties of transfers between the hosts given, all in progress at once.
    fn penalties(transfers: &[(u32, u32)]) -> Vec<f64> {
        let factors = NetworkParameters::preset(NetworkModel::by_name("ib").expect("a model"))
            .ib_penalty_factors
            .expect("factors");
        let mut contention = Contention::new(factors);
        let mut affected = Vec::new();
        for ((from, to), slot) in transfers.iter().zip(0..) {
            affected.clear();
            contention.begin(slot, *from, *to, &mut affected);
            assert!(affected.contains(&slot));
        }
        let found = transfers
            .iter()
            .map(|(from, to)| contention.penalty(*from, *to))
            .collect();
        for ((from, to), slot) in transfers.iter().zip(0..) {
            contention.end(slot, *from, *to, &mut affected);
        }
        assert!(contention.nodes.is_empty());
        found
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
