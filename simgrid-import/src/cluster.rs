//! `<cluster>`: one entry, whatever its topology and size.

use super::has_defects;
use super::values::{Importer, at};
use super::xml::Element;
use platform::Compat;
use platform::HostPattern;
use platform::Sharing;
use platform::file::{ClusterEntry, LinkEntry, Named, ToItself, TopologyEntry, cut};

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
        let topology = self.topology(element, backbone.is_some(), hosts.count());
        self.rest(element, &KNOWN);
        let topology = topology?;
        let regular = matches!(topology, TopologyEntry::Torus { .. }) || has_defects(&topology);
        let backbone = backbone.filter(|_| !regular);
        let to_itself = match topology {
            _ if loopback.is_some() => ToItself::Loopback,
            // Nothing but the limiter is there between a host and itself.
            TopologyEntry::Torus { .. } if limiter.is_none() => ToItself::Loopback,
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
        let name = at(element, id?.to_owned());
        Some(Named { name, entry })
    }

    /// The names of the hosts: prefix, numbers, suffix.
    pub(super) fn radical(&mut self, element: &Element) -> Option<HostPattern> {
        let radical = self.required(element, "radical")?;
        let text = |key| element.get(key).unwrap_or_default();
        // SimGrid reads numbers as numbers, so that leading zeros do not count.
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
                self.mistake(
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
            self.mistake(element, problem, "expected SHARED or FATPIPE");
            return None;
        }
        Some(Some(LinkEntry::new(bandwidth, latency, sharing)))
    }

    fn topology(&mut self, element: &Element, backbone: bool, hosts: u32) -> Option<TopologyEntry> {
        let parameters = element.get("topo_parameters").unwrap_or_default();
        let numbers: Option<Vec<Vec<u32>>> = parameters
            .split(';')
            .map(|part| {
                part.split(',')
                    .map(|number| number.trim().parse().ok())
                    .collect()
            })
            .collect();
        let compat = Some(Compat::Simgrid41);
        let topology = match (
            element.get("topology").unwrap_or("FLAT"),
            numbers.as_deref(),
        ) {
            ("FLAT", _) => {
                let backbone = backbone.then_some(TopologyEntry::Backbone);
                return Some(backbone.unwrap_or(TopologyEntry::Crossbar));
            }
            ("TORUS", Some([dimensions])) => TopologyEntry::Torus {
                dimensions: dimensions.clone(),
            },
            ("FAT_TREE", Some([levels, down, up, cables]))
                if levels.len() == 1
                    && usize::try_from(levels[0]).is_ok_and(|levels| levels == down.len()) =>
            {
                TopologyEntry::FatTree {
                    down: down.clone(),
                    up: up.clone(),
                    cables: cables.clone(),
                    compat,
                }
            }
            ("DRAGONFLY", Some([groups, chassis, routers, nodes])) => {
                match (&groups[..], &chassis[..], &routers[..], &nodes[..]) {
                    ([groups, blue], [chassis, black], [routers, green], [nodes]) => {
                        TopologyEntry::Dragonfly {
                            groups: *groups,
                            chassis: *chassis,
                            routers: *routers,
                            nodes: *nodes,
                            cables: [*blue, *black, *green],
                            compat,
                        }
                    }
                    _ => return self.wrong_topology(element, parameters),
                }
            }
            _ => return self.wrong_topology(element, parameters),
        };
        self.possible(element, topology, hosts)
    }

    fn wrong_topology(&mut self, element: &Element, parameters: &str) -> Option<TopologyEntry> {
        let topology = cut(element.get("topology").unwrap_or_default());
        let parameters = cut(parameters);
        let problem = format!("topology={topology:?} with topo_parameters={parameters:?}");
        let expected = "expected FLAT, TORUS such as \"4,4,2\", FAT_TREE such as \"2;4,4;1,2;1,2\" (levels; down; up; \
                        cables) or DRAGONFLY such as \"4,1;2,1;4,1;2\"";
        self.mistake(element, problem, expected);
        None
    }

    /// The topology, if its counts match.
    fn possible(
        &mut self,
        element: &Element,
        topology: TopologyEntry,
        hosts: u32,
    ) -> Option<TopologyEntry> {
        let zero = |numbers: &[u32]| numbers.contains(&0);
        let has_zero = match &topology {
            TopologyEntry::Torus { dimensions } => zero(dimensions),
            TopologyEntry::FatTree {
                down, up, cables, ..
            } => zero(down) || zero(up) || zero(cables),
            TopologyEntry::Dragonfly {
                groups,
                chassis,
                routers,
                nodes,
                cables,
                ..
            } => zero(&[*groups, *chassis, *routers, *nodes]) || zero(cables),
            TopologyEntry::Crossbar | TopologyEntry::Backbone => false,
        };
        let result = topology.possible(hosts);
        if has_zero {
            let problem = "zero in topo_parameters".to_owned();
            self.mistake(element, problem, "expected numbers of at least 1");
            return None;
        }
        if let Err(impossible) = result {
            self.mistake(element, impossible.problem, impossible.expected);
            return None;
        }
        Some(topology)
    }
}

/// The digits of a number without leading zeros; other text as it is.
fn number_without_zeros(text: &str) -> &str {
    let text = text.trim();
    let zeros = text.len() - text.trim_start_matches('0').len();
    let rest = &text[zeros..];
    if zeros > 0 && !rest.starts_with(|letter: char| letter.is_ascii_digit()) {
        return &text[zeros - 1..];
    }
    rest
}
