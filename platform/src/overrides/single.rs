//! Changes of single hosts and links of a cluster: where they stand in the entry of the cluster.

use toml::{Table, Value};

use super::{Override, OverrideChange};
use crate::Platform;

const HOSTS: &str = "host_overrides";
const LINKS: &str = "link_overrides";

impl Override {
    /// The same change in the entry of a cluster, if the path names a host or link of this cluster.
    pub(crate) fn in_cluster(&self, platform: &Platform) -> Self {
        let named = (self.path.windows(2).zip(0..))
            .find(|(pair, _)| matches!(pair[0].as_str(), "hosts" | "links"));
        let place = named.and_then(|(pair, at)| {
            let mut place = platform.place_in_cluster(&pair[0], &pair[1])?;
            let around = &self.path[..at];
            let in_its_zone = place.get(..at) == Some(around) && place[at] == "clusters";
            (around.is_empty() || in_its_zone).then(|| {
                place.extend_from_slice(&self.path[at + 2..]);
                place
            })
        });
        let mut changed = self.clone();
        changed.path = place.unwrap_or(changed.path);
        changed
    }

    /// Makes the missing tables for noise or for an override. If the value is to be multiplied, the
    /// new override gets the value of the cluster.
    pub(super) fn make_room(&self, root: &mut Value) {
        if let ([table, inner, _], Some(root)) = (&self.path[..], root.as_table_mut())
            && table == "noise"
        {
            let noise = inner_table(root, table);
            noise.and_then(|noise| inner_table(noise, inner));
            return;
        }
        let mut parts = self.path.iter();
        let Some(at) = parts.position(|part| part == HOSTS || part == LINKS) else {
            return;
        };
        let [kind, name, key] = &self.path[at..] else {
            return;
        };
        let mut cluster = root;
        for part in &self.path[..at] {
            let Some(inner) = cluster.get_mut(part) else {
                return;
            };
            cluster = inner;
        }
        let Value::Table(cluster) = cluster else {
            return;
        };
        let value = match self.change {
            OverrideChange::Set(_) => None,
            OverrideChange::Scale(_) => value_of_cluster(cluster, kind, name, key),
        };
        let overrides = inner_table(cluster, kind);
        let entry = overrides.and_then(|overrides| inner_table(overrides, name));
        if let (Some(entry), Some(value)) = (entry, value) {
            entry.entry(key).or_insert(value);
        }
    }
}

fn inner_table<'v>(table: &'v mut Table, key: &str) -> Option<&'v mut Table> {
    let entry = table.entry(key).or_insert_with(|| Table::new().into());
    entry.as_table_mut()
}

/// The value that holds without the override of a host or link.
fn value_of_cluster(cluster: &Table, kind: &str, name: &str, key: &str) -> Option<Value> {
    let (stem, suffix) = match name.rsplit_once(':') {
        Some((stem, suffix)) if kind == LINKS => (stem, suffix),
        _ => (name, ""),
    };
    let value = match suffix {
        "loopback" => cluster.get("loopback")?.get(key),
        "limiter" => cluster.get("limiter").filter(|_| key == "bandwidth"),
        // An override of both directions holds for each.
        _ => {
            let overrides = cluster.get(kind).filter(|_| stem != name);
            let both = overrides.and_then(|overrides| overrides.get(stem)?.get(key));
            both.or_else(|| cluster.get(key))
        }
    };
    value.cloned()
}

impl Platform {
    /// The table of a file that overrides the values of a host or link of a cluster; `table` is
    /// `hosts` or `links`.
    fn place_in_cluster(&self, table: &str, name: &str) -> Option<Vec<String>> {
        if self.link_names.iter().any(|link| link == name) && table == "links" {
            return None;
        }
        let tree = &self.tree;
        let (cluster, end, keys) =
            (tree.clusters.iter().zip(tree.singles..)).find_map(|(cluster, end)| {
                let keys = if table == "hosts" {
                    cluster.hosts.index_of(name).map(|_| vec![HOSTS, name])
                } else {
                    let ids = cluster.find_link(name)?;
                    let backbone = cluster.backbone.map(|wire| 2 * wire.number);
                    Some(match backbone == Some(ids.start) {
                        true => vec!["backbone"],
                        false => vec![LINKS, name],
                    })
                };
                Some((cluster, end, keys?))
            })?;
        let mut zones = Vec::new();
        let mut zone = tree.zone_of[end as usize];
        while zone != 0 {
            zones.push(zone);
            zone = tree.zone_of[tree.zone_end(zone) as usize];
        }
        let zones = zones.iter().rev();
        let around = zones.flat_map(|zone| ["zones", &tree.zones[*zone as usize].name]);
        let parts = around.chain(["clusters", &cluster.name]).chain(keys);
        Some(parts.map(str::to_owned).collect())
    }
}
