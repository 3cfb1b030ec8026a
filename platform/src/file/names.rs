//! The names that a platform gives to its members and links, in the order in which they are
//! numbered.
//!
//! Names are stored separately from the entries, because an entry with a mistake still has a name:
//! a route to this name is not a further mistake.

use std::sync::Arc;

use toml::Spanned;

use super::{Named, ZoneEntry};
use crate::Sharing;
use crate::pattern::HostPattern;
use crate::topology::Topology;

/// The names of all entries, names of a zone before names of its inner zones.
#[derive(Default, Debug)]
pub(crate) struct Names {
    /// Links with their sharing; `None` if the sharing is unknown because of a mistake.
    pub(crate) links: Vec<(Spanned<String>, Option<Sharing>)>,
    pub(crate) hosts: Vec<MemberName>,
    pub(crate) routers: Vec<MemberName>,
    pub(crate) clusters: Vec<ClusterName>,
    /// The platform, without a name, is the first.
    pub(crate) zones: Vec<MemberName>,
}

/// The name of a member, and the number of the zone of the member.
#[derive(Clone, Debug)]
pub(crate) struct MemberName {
    pub(crate) name: Spanned<String>,
    pub(crate) zone: u32,
}

/// A cluster by name; a field that is unknown because of a mistake is `None`.
#[derive(Debug)]
pub(crate) struct ClusterName {
    pub(crate) name: Spanned<String>,
    pub(crate) zone: u32,
    pub(crate) hosts: Option<HostPattern>,
    pub(crate) topology: Option<Arc<dyn Topology>>,
}

impl Names {
    /// Collects the names of all entries of a platform that has been read without a mistake.
    pub(crate) fn from_root(root: &ZoneEntry) -> Self {
        let mut names = Self::default();
        let name = Spanned::new(0..0, String::new());
        names.zones.push(MemberName { name, zone: 0 });
        names.collect_names(0, root);
        names
    }

    fn collect_names(&mut self, zone: u32, entry: &ZoneEntry) {
        let member = |name: &Spanned<String>| MemberName {
            name: name.clone(),
            zone,
        };
        let links = entry.links.iter();
        let links = links.map(|named| (named.name.clone(), Some(named.entry.sharing)));
        self.links.extend(links);
        let hosts = entry.hosts.iter();
        self.hosts.extend(hosts.map(|named| member(&named.name)));
        self.routers.extend(entry.routers.iter().map(member));
        let clusters = entry.clusters.iter().map(|named| ClusterName {
            name: named.name.clone(),
            zone,
            hosts: Some(named.entry.hosts.clone()),
            topology: Some(Arc::clone(&named.entry.topology)),
        });
        self.clusters.extend(clusters);
        for Named { name, entry } in &entry.zones {
            let number = u32::try_from(self.zones.len()).unwrap_or(u32::MAX);
            self.zones.push(member(name));
            self.collect_names(number, entry);
        }
    }
}
