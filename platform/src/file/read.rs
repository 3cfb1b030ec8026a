//! From the text of a platform file to its typed form, collecting every mistake on the way.
//!
//! Names that belong to an entry with a mistake are kept, so that a route over a link whose bandwidth is misspelled does
//! not add "unknown link" to the list.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::field::{Wrong, cut};
use super::section::{Collector, Section, in_file_order};
use super::syntax::syntax;
use super::{
    ClusterEntry, Direction, HostEntry, LinkEntry, LinkUse, Named, PlatformFile, Protocol,
    RouteEntry, Sharing, VERSION,
};
use crate::mistake::Mistake;
use crate::model::{NetworkModel, NetworkParameters};

/// What reading gives: the file if it has no mistake, and the names of all entries in any case.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) file: PlatformFile,
    pub(crate) collector: Collector,
    /// Links with their sharing; `None` where it is unknown because of a mistake.
    pub(crate) links: Vec<(Spanned<String>, Option<Sharing>)>,
    pub(crate) hosts: Vec<Spanned<String>>,
    /// Clusters; `None` where the pattern of the hosts is unknown because of a mistake.
    pub(crate) clusters: Vec<(Spanned<String>, Option<crate::pattern::HostPattern>)>,
}

/// Reads a platform file.
///
/// # Errors
/// Only the mistakes that make further reading pointless: TOML syntax, or another version of the format. All others
/// are in [`Read::collector`].
pub(crate) fn read(text: &str) -> Result<Read, Vec<Mistake>> {
    let (document, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        return Err(syntax(text, &errors));
    }
    let mut reader = Read::new();
    reader.document(document.get_ref());
    if reader.file.version != VERSION {
        return Err(reader.collector.mistakes);
    }
    Ok(reader)
}

impl Read {
    fn new() -> Self {
        Self {
            file: PlatformFile {
                version: VERSION,
                name: None,
                network: NetworkParameters::preset(NetworkModel::Flow),
                protocol: Protocol::default(),
                hosts: Vec::new(),
                links: Vec::new(),
                clusters: Vec::new(),
                routes: Vec::new(),
            },
            collector: Collector::default(),
            links: Vec::new(),
            hosts: Vec::new(),
            clusters: Vec::new(),
        }
    }

    fn document(&mut self, document: &DeTable<'_>) {
        const KEYS: [&str; 8] = [
            "version", "name", "network", "protocol", "hosts", "links", "clusters", "routes",
        ];
        if !self.version(document.get("version")) {
            return;
        }
        let what = "platform file".to_owned();
        let root = self.collector.open(document, 0..0, what, &KEYS);
        if let Some(name) = self.collector.optional(&root, "name") {
            self.file.name = name;
        }
        if let Some(value) = root.get("network") {
            let read = super::network::network(&mut self.collector, value);
            self.file.network = read.unwrap_or(self.file.network.clone());
        }
        if let Some(value) = root.get("protocol") {
            self.protocol(value);
        }
        for (name, value) in self.tables(&root, "hosts", "[hosts.alice]") {
            self.host(name, value);
        }
        for (name, value) in self.tables(&root, "links", "[links.wan]") {
            self.link(name, value);
        }
        for (name, value) in self.tables(&root, "clusters", "[clusters.nodes]") {
            self.cluster(name, value);
        }
        if let Some(value) = root.get("routes") {
            self.routes(value);
        }
    }

    /// Whether the version is one that can be read, or at least missing.
    fn version(&mut self, value: Option<&Spanned<DeValue<'_>>>) -> bool {
        let Some(value) = value else {
            self.collector.add(
                0..0,
                "the platform file has no \"version\"".to_owned(),
                format!("expected version = {VERSION} before the first table"),
                Some(format!("add: version = {VERSION}")),
            );
            return true;
        };
        let number = value
            .get_ref()
            .as_integer()
            .map(|number| i64::from_str_radix(number.as_str(), number.radix()));
        match number {
            Some(Ok(VERSION)) => true,
            Some(_) => {
                let found = value.get_ref().as_integer().map(ToString::to_string);
                let problem = format!("unknown version {}", cut(&found.unwrap_or_default()));
                let expected = format!("expected {VERSION}");
                self.collector.add(value.span(), problem, expected, None);
                self.file.version = 0;
                false
            }
            None => {
                let wrong = Wrong::kind(value.get_ref(), &format!("the number {VERSION}"));
                self.collector.wrong(value.span(), wrong);
                true
            }
        }
    }

    fn protocol(&mut self, value: &Spanned<DeValue<'_>>) {
        const KEYS: [&str; 1] = ["eager_threshold"];
        let section =
            self.collector
                .section(value, value.span(), "protocol table".to_owned(), &KEYS);
        let Some(section) = section else { return };
        if let Some(Some(size)) = self.collector.optional(&section, "eager_threshold") {
            self.file.protocol.eager_threshold = size;
        }
    }

    /// The named tables below `key`, in the order of the file.
    fn tables<'t>(
        &mut self,
        root: &Section<'t>,
        key: &'static str,
        example: &str,
    ) -> Vec<(Spanned<String>, &'t Spanned<DeValue<'t>>)> {
        let Some(value) = root.get(key) else {
            return Vec::new();
        };
        let Some(table) = value.get_ref().as_table() else {
            let wrong = Wrong::kind(value.get_ref(), &format!("named tables, such as {example}"));
            self.collector.wrong(value.span(), wrong);
            return Vec::new();
        };
        let entries = in_file_order(table);
        for (name, _) in &entries {
            if name.get_ref().is_empty() {
                self.collector.add(
                    name.span(),
                    "empty name".to_owned(),
                    "expected a name",
                    None,
                );
            }
        }
        entries
    }

    fn host(&mut self, name: Spanned<String>, value: &Spanned<DeValue<'_>>) {
        self.hosts.push(name.clone());
        if name.get_ref().contains(['[', ']']) {
            let problem = format!(
                "brackets in the name of one host: {:?}",
                cut(name.get_ref())
            );
            let help = "for many equal hosts, write [clusters.NAME] with hosts = \"node-[0-63]\"";
            let expected = "expected a name without brackets";
            self.collector
                .add(name.span(), problem, expected, Some(help.to_owned()));
        }
        let what = format!("host {:?}", cut(name.get_ref()));
        let collector = &mut self.collector;
        let Some(section) = collector.section(value, name.span(), what, &["speed", "cores"]) else {
            return;
        };
        let speed = collector.required(&section, "speed", "\"16Gf\"");
        let cores = collector.optional(&section, "cores");
        if let (Some(speed), Some(cores)) = (speed, cores) {
            let cores = cores.unwrap_or(1);
            let entry = HostEntry { speed, cores };
            self.file.hosts.push(Named { name, entry });
        }
    }

    fn link(&mut self, name: Spanned<String>, value: &Spanned<DeValue<'_>>) {
        let what = format!("link {:?}", cut(name.get_ref()));
        let collector = &mut self.collector;
        let entry = collector
            .section(value, name.span(), what, &LINK_KEYS)
            .and_then(|section| link_entry(collector, &section, Sharing::Shared));
        let sharing = entry.as_ref().map(|entry| entry.sharing);
        self.links.push((name.clone(), sharing));
        if let Some(entry) = entry {
            self.file.links.push(Named { name, entry });
        }
    }

    fn cluster(&mut self, name: Spanned<String>, value: &Spanned<DeValue<'_>>) {
        const KEYS: [&str; 8] = [
            "hosts",
            "speed",
            "cores",
            "bandwidth",
            "latency",
            "sharing",
            "backbone",
            "loopback",
        ];
        let what = format!("cluster {:?}", cut(name.get_ref()));
        let collector = &mut self.collector;
        let Some(section) = collector.section(value, name.span(), what, &KEYS) else {
            self.clusters.push((name, None));
            return;
        };
        let hosts: Option<crate::pattern::HostPattern> =
            collector.required(&section, "hosts", "\"node-[0-63]\"");
        self.clusters.push((name.clone(), hosts.clone()));
        let speed = collector.required(&section, "speed", "\"16Gf\"");
        let cores = collector.optional(&section, "cores");
        let link = link_entry(collector, &section, Sharing::SplitDuplex);
        let backbone = inner_link(collector, &section, "backbone", Sharing::Shared);
        let loopback = inner_link(collector, &section, "loopback", Sharing::FatPipe);
        let entry = (|| {
            Some(ClusterEntry {
                hosts: hosts?,
                speed: speed?,
                cores: cores?.unwrap_or(1),
                link: link?,
                backbone: backbone?,
                loopback: loopback?,
            })
        })();
        if let Some(entry) = entry {
            self.file.clusters.push(Named { name, entry });
        }
    }

    fn routes(&mut self, value: &Spanned<DeValue<'_>>) {
        const EXPECTED: &str = "routes as [[routes]] tables";
        let Some(routes) = value.get_ref().as_array() else {
            let wrong = Wrong::kind(value.get_ref(), EXPECTED);
            self.collector.wrong(value.span(), wrong);
            return;
        };
        for route in routes {
            self.route(route);
        }
    }

    fn route(&mut self, value: &Spanned<DeValue<'_>>) {
        const KEYS: [&str; 4] = ["from", "to", "links", "symmetric"];
        let collector = &mut self.collector;
        let Some(section) = collector.section(value, value.span(), "route".to_owned(), &KEYS)
        else {
            return;
        };
        let from = collector.required(&section, "from", "\"alice\"");
        let to = collector.required(&section, "to", "\"bob\"");
        let symmetric = collector.optional(&section, "symmetric");
        let links = route_links(collector, &section);
        let entry = (|| {
            Some(RouteEntry {
                from: from?,
                to: to?,
                links: links?,
                symmetric: symmetric?.unwrap_or(true),
            })
        })();
        self.file.routes.extend(entry);
    }
}

const LINK_KEYS: [&str; 3] = ["bandwidth", "latency", "sharing"];

/// The three keys of a link, in a table of its own or among the keys of a cluster.
fn link_entry(
    collector: &mut Collector,
    section: &Section<'_>,
    sharing_default: Sharing,
) -> Option<LinkEntry> {
    let bandwidth = collector.required(section, "bandwidth", "\"10Gbps\"");
    let latency = collector.required(section, "latency", "\"1.3us\"");
    let sharing = collector.optional(section, "sharing");
    Some(LinkEntry {
        bandwidth: bandwidth?,
        latency: latency?,
        sharing: sharing?.unwrap_or(sharing_default),
    })
}

/// A link of a cluster in an inline table, `Some(None)` if it is not declared.
#[expect(
    clippy::option_option,
    reason = "wrong and absent differ, and the mistake is already recorded"
)]
fn inner_link(
    collector: &mut Collector,
    section: &Section<'_>,
    key: &'static str,
    sharing_default: Sharing,
) -> Option<Option<LinkEntry>> {
    let Some(value) = section.get(key) else {
        return Some(None);
    };
    let inner = collector.section(value, value.span(), key.to_owned(), &LINK_KEYS)?;
    let entry = link_entry(collector, &inner, sharing_default)?;
    if entry.sharing == Sharing::SplitDuplex {
        collector.add(
            inner.get("sharing").map_or(inner.span(), Spanned::span),
            format!("a {key} has no directions: \"split-duplex\""),
            "expected \"shared\" or \"fatpipe\"",
            None,
        );
        return None;
    }
    Some(Some(entry))
}

/// The links of a route, each a name or `{ link = NAME, direction = "up" or "down" }`.
fn route_links(collector: &mut Collector, section: &Section<'_>) -> Option<Vec<Spanned<LinkUse>>> {
    const EXPECTED: &str = "an array of link names, such as [\"wan\"]";
    let Some(value) = section.get("links") else {
        collector.required::<String>(section, "links", "[\"wan\"]");
        return None;
    };
    let Some(array) = value.get_ref().as_array() else {
        collector.wrong(value.span(), Wrong::kind(value.get_ref(), EXPECTED));
        return None;
    };
    if array.is_empty() {
        let problem = "a route without links".to_owned();
        collector.add(value.span(), problem, format!("expected {EXPECTED}"), None);
        return None;
    }
    let links: Vec<Option<Spanned<LinkUse>>> = array
        .iter()
        .map(|value| link_use(collector, value))
        .collect();
    links.into_iter().collect()
}

fn link_use(collector: &mut Collector, value: &Spanned<DeValue<'_>>) -> Option<Spanned<LinkUse>> {
    if value.get_ref().is_table() {
        let what = "link of a route".to_owned();
        let section = collector.section(value, value.span(), what, &["link", "direction"])?;
        let link: Option<Spanned<String>> = collector.required(&section, "link", "\"wan\"");
        let direction = collector.optional(&section, "direction");
        let (link, direction) = (link?, direction?.unwrap_or(Direction::Up));
        let span = link.span();
        let link = link.into_inner();
        return Some(Spanned::new(span, LinkUse { link, direction }));
    }
    let link = collector.value(value)?;
    let direction = Direction::Up;
    Some(Spanned::new(value.span(), LinkUse { link, direction }))
}
