//! `<cluster>`: one entry for every topology and size.

use super::values::{Importer, spanned_at};
use super::xml::Element;
use platform::HostPattern;
use platform::Sharing;
use platform::file::{ClusterEntry, LinkEntry, Named, ToItself, cut};
use platform::topology::{Built, Dragonfly, FatTree, Switch, Topology, Torus};
use std::sync::Arc;

const KNOWN: [&str; 19] = [
    "id",
    "prefix",
    "suffix",
    "radical",
    "speed",
    "core",
    "bw",
    "lat",
    "sharing_policy",
    "bb_bw",
    "bb_lat",
    "bb_sharing_policy",
    "loopback_bw",
    "loopback_lat",
    "limiter_link",
    "topology",
    "topo_parameters",
    "router_id",
    "pstate",
];

impl Importer {
    pub(super) fn cluster(&mut self, element: &Element) -> Option<Named<ClusterEntry>> {
        let id = self.required(element, "id");
        let hosts = self.radical(element);
        let speed = self.speed(element);
        let cores = self.cores(element);
        let bandwidth = self.bandwidth(element, "bw");
        let latency = self.latency(element, "lat");
        let sharing = self.sharing(element, "sharing_policy", Sharing::SplitDuplex);
        let backbone = self.optional_link(element, "bb", Sharing::Shared)?;
        let loopback = self.optional_link(element, "loopback", Sharing::FatPipe)?;
        let limiter = match element.get("limiter_link") {
            Some(_) => Some(self.bandwidth(element, "limiter_link")?),
            None => None,
        };
        let hosts = hosts?;
        let switch = Switch::new(
            hosts.count(),
            backbone.is_some(),
            sharing.unwrap_or(Sharing::SplitDuplex),
        );
        let topology = self.topology(element, switch, hosts.count());
        self.note_unread(element, &KNOWN);
        let topology = topology?;
        let backbone = backbone.filter(|_| topology.centre().is_some());
        let to_itself = match element.get("topology") {
            _ if loopback.is_some() => ToItself::Loopback,
            // Nothing but the limiter is there between a host and itself.
            Some("TORUS") if limiter.is_none() => ToItself::Loopback,
            _ => ToItself::Links,
        };
        let (speed, pstate) = speed?;
        let host_overrides = self.host_overrides(element, &hosts);
        let entry = ClusterEntry {
            topology,
            hosts,
            speed,
            pstate,
            cores: cores?,
            link: LinkEntry::new(bandwidth?, latency?, sharing?),
            backbone,
            loopback,
            limiter,
            to_itself,
            gateway: None,
            speed_profile: None,
            host_state_profile: None,
            link_state_profile: None,
            disks: Vec::new(),
            host_overrides,
            link_overrides: Vec::new(),
        };
        let name = spanned_at(element, id?.to_owned());
        Some(Named { name, entry })
    }

    /// The names of the hosts: prefix, numbers, suffix.
    pub(super) fn radical(&mut self, element: &Element) -> Option<HostPattern> {
        let radical = self.required(element, "radical")?;
        let text = |key| element.get(key).unwrap_or_default();
        // SimGrid reads numbers, so that leading zeros do not count.
        let numbers: Vec<String> = radical
            .split(',')
            .map(|range| {
                let ends: Vec<&str> = range.split('-').map(number_without_zeros).collect();
                ends.join("-")
            })
            .collect();
        let pattern = format!(
            "{}[{}]{}",
            text("prefix"),
            numbers.join(","),
            text("suffix")
        );
        match HostPattern::parse(&pattern) {
            Ok(pattern) => Some(pattern),
            Err(error) => {
                let problem = format!("radical={:?} of <{}>: {error}", cut(radical), element.name);
                self.diagnostic(
                    element,
                    problem,
                    "expected numbers, such as \"0-63\" or \"1-29,58\"",
                );
                None
            }
        }
    }

    /// The backbone or loopback of a cluster, if a bandwidth or a latency is given.
    #[expect(
        clippy::option_option,
        reason = "wrong and absent differ, and the mistake is already recorded"
    )]
    fn optional_link(
        &mut self,
        element: &Element,
        what: &str,
        default: Sharing,
    ) -> Option<Option<LinkEntry>> {
        let bandwidth_key = format!("{what}_bw");
        let latency_key = format!("{what}_lat");
        let is_there = |key: &str| {
            let text = element.get(key);
            text.is_some_and(|text| text.trim_end_matches(|c: char| c.is_alphabetic()) != "0")
        };
        if !is_there(&bandwidth_key) && !is_there(&latency_key) {
            return Some(None);
        }
        let sharing_key = format!("{what}_sharing_policy");
        let bandwidth = self.bandwidth(element, &bandwidth_key)?;
        let latency = self.latency(element, &latency_key)?;
        let sharing = self.sharing(element, &sharing_key, default)?;
        if sharing == Sharing::SplitDuplex {
            let problem = format!("{sharing_key}=\"SPLITDUPLEX\" of <{}>", element.name);
            self.diagnostic(element, problem, "expected SHARED or FATPIPE");
            return None;
        }
        Some(Some(LinkEntry::new(bandwidth, latency, sharing)))
    }

    /// Returns the topology if its counts match; `switch` if no topology is given.
    fn topology(
        &mut self,
        element: &Element,
        switch: Switch,
        hosts: u32,
    ) -> Option<Arc<dyn Topology>> {
        let parameters = element.get("topo_parameters").unwrap_or_default();
        let numbers: Option<Vec<Vec<u32>>> = parameters
            .split(';')
            .map(|part| {
                part.split(',')
                    .map(|number| number.trim().parse().ok())
                    .collect()
            })
            .collect();
        let numbers = numbers.unwrap_or_default();
        let lists: Vec<&[u32]> = numbers.iter().map(Vec::as_slice).collect();
        let built: Built = match (element.get("topology").unwrap_or("FLAT"), &lists[..]) {
            ("FLAT", _) => return Some(Arc::new(switch)),
            ("TORUS", [dimensions]) => {
                Torus::new(dimensions, hosts).map(|torus| Arc::new(torus) as _)
            }
            ("FAT_TREE", [[levels], down, up, cables])
                if usize::try_from(*levels).is_ok_and(|levels| levels == down.len()) =>
            {
                let tree = FatTree::new(down, up, cables, hosts);
                tree.map(|tree| Arc::new(tree.compat(true)) as _)
            }
            ("DRAGONFLY", [[groups, blue], [chassis, black], [routers, green], [nodes]]) => {
                let counts = [*groups, *chassis, *routers, *nodes];
                let dragonfly = Dragonfly::new(counts, [*blue, *black, *green], hosts);
                dragonfly.map(|dragonfly| Arc::new(dragonfly.compat(true)) as _)
            }
            (topology, _) => {
                let (topology, parameters) = (cut(topology), cut(parameters));
                let problem = format!("topology={topology:?} with topo_parameters={parameters:?}");
                let expected = "expected FLAT, TORUS such as \"4,4,2\", FAT_TREE such as \
                                \"2;4,4;1,2;1,2\" (levels; down; up; cables) or DRAGONFLY such as \
                                \"4,1;2,1;4,1;2\"";
                self.diagnostic(element, problem, expected);
                return None;
            }
        };
        if lists.concat().contains(&0) {
            let problem = "zero in topo_parameters".to_owned();
            self.diagnostic(element, problem, "expected numbers of at least 1");
            return None;
        }
        built
            .map_err(|impossible| {
                self.diagnostic(element, impossible.problem, impossible.expected);
            })
            .ok()
    }
}

/// Returns the digits of a number without leading zeros; other text unchanged.
fn number_without_zeros(text: &str) -> &str {
    let text = text.trim();
    let zeros = text.len() - text.trim_start_matches('0').len();
    let rest = &text[zeros..];
    if zeros > 0 && !rest.starts_with(|letter: char| letter.is_ascii_digit()) {
        return &text[zeros - 1..];
    }
    rest
}
