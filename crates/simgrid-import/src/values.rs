//! Attributes as values: quantities with SimGrid's units, names, sharing; and the mistakes and
//! omissions found.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toml::Spanned;

use super::traces::{TraceKind, Traces};
use super::xml::Element;
use platform::Diagnostic;
use platform::Sharing;
use platform::file::{Direction, LinkEntry, LinkUse, PowerState, Speeds, cut};
use platform::units::{Bandwidth, Duration, Kind, Quantity, Speed};

/// The way from a deployment file of SimGrid to a mapping.
const DEPLOYMENT: &str = "expected a platform; simrun places ranks with --map FILE, one host per \
                          line, and programs get their arguments after --";

/// The place of the files that a platform names.
#[derive(Default, Debug)]
pub(super) enum Files {
    /// The platform is no file, so there cannot be any.
    #[default]
    Nowhere,
    /// Somewhere else: the result names them.
    Named,
    /// In this folder.
    In(PathBuf),
}

impl Files {
    /// Returns the files of a folder, if the folder is known.
    pub(super) fn from_folder(folder: Option<&Path>) -> Self {
        folder.map_or(Self::Nowhere, |folder| Self::In(folder.to_owned()))
    }
}

/// State of an import.
#[derive(Default, Debug)]
pub(super) struct Importer {
    pub(super) name: String,
    pub(super) mistakes: Vec<Diagnostic>,
    /// Positions and texts of the omissions.
    pub(super) notes: Vec<(usize, String)>,
    /// Positions and names of the properties of hosts, links and zones; a run does not use them.
    properties: Vec<(usize, String)>,
    /// True if a link that is not wireless has no latency.
    pub(super) has_no_latency: bool,
    /// True if a link has two directions, by name.
    links: BTreeMap<String, bool>,
    /// The cluster that a router is the switch of.
    pub(super) switches: BTreeMap<String, String>,
    pub(super) files: Files,
    pub(super) traces: Traces,
    /// A tag that places a program has been found.
    pub(super) deploys: bool,
    /// Zones around the present one.
    pub(super) depth: usize,
}

/// Returns a value with the position of its tag.
pub(super) fn spanned_at<T>(element: &Element, value: T) -> Spanned<T> {
    Spanned::new(element.span.clone(), value)
}

impl Importer {
    pub(super) fn diagnostic(
        &mut self,
        element: &Element,
        problem: String,
        expected: impl Into<String>,
    ) {
        self.mistakes.push(Diagnostic {
            span: element.span.clone(),
            problem,
            expected: expected.into(),
            help: None,
        });
    }

    pub(super) fn add_note(&mut self, element: &Element, text: impl Into<String>) {
        self.notes.push((element.span.start, text.into()));
    }

    /// Notes a tag that has no counterpart.
    pub(super) fn left_out(&mut self, element: &Element) {
        if element.name == "prop" {
            let id = cut(element.get("id").unwrap_or_default());
            self.properties
                .push((element.span.start, format!("{id:?}")));
            return;
        }
        let id = element.get("id").or_else(|| element.get("src"));
        let id = id.map_or_else(String::new, |id| format!(" {:?}", cut(id)));
        self.add_note(element, format!("<{}>{id} is not supported", element.name));
    }

    /// Notes all properties in one line, at the first one.
    pub(super) fn note_properties(&mut self) {
        const NAMED: usize = 4;
        let Some(first) = self.properties.iter().map(|(place, _)| *place).min() else {
            return;
        };
        let mut names: Vec<&str> = Vec::new();
        for (_, name) in &self.properties {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        let more = names.len().saturating_sub(NAMED);
        names.truncate(NAMED);
        let mut list = names.join(", ");
        if more > 0 {
            list = format!("{list} and {more} other names");
        }
        let text = match self.properties.len() {
            1 => format!("the property {list} means nothing to a run"),
            count => format!("{count} properties mean nothing to a run: {list}"),
        };
        self.notes.push((first, text));
    }

    /// Refuses a tag that SimGrid does not know either, or not here, and of tags that place
    /// programs the first.
    pub(super) fn unknown(&mut self, element: &Element) {
        if let "actor" | "process" | "defaultProcess" = element.name.as_str() {
            if !std::mem::replace(&mut self.deploys, true) {
                let problem = format!("<{}> belongs to a deployment file", element.name);
                self.diagnostic(element, problem, DEPLOYMENT);
            }
            return;
        }
        let problem = format!("unexpected element <{}>", cut(&element.name));
        self.diagnostic(element, problem, "expected a tag of SimGrid's platforms");
    }

    /// Notes the attributes that are not among `known`, and the children that are left out.
    pub(super) fn note_unread(&mut self, element: &Element, known: &[&str]) {
        self.attributes_left(element, known);
        let is_read = |child: &&Element| element.name == "host" && child.name == "disk";
        for child in element.children.iter().filter(|child| !is_read(child)) {
            self.left_out(child);
        }
    }

    /// Notes the attributes that are not among `known`.
    pub(super) fn attributes_left(&mut self, element: &Element, known: &[&str]) {
        for key in element.keys().filter(|key| !known.contains(key)) {
            let value = cut(element.get(key).unwrap_or_default());
            if !value.is_empty() {
                let text = format!("{key}={value:?} of <{}> is not supported", element.name);
                self.add_note(element, text);
            }
        }
    }

    /// An attribute that must be there.
    pub(super) fn required<'e>(&mut self, element: &'e Element, key: &str) -> Option<&'e str> {
        let value = element.get(key);
        if value.is_none() {
            let problem = format!("<{}> has no {key:?}", element.name);
            self.diagnostic(element, problem, format!("expected the attribute {key:?}"));
        }
        value
    }

    /// Notes which links have directions and which routers are switches, in the whole tree.
    pub(super) fn collect_names(&mut self, element: &Element) {
        for child in &element.children {
            let id = child.get("id").unwrap_or_default();
            match child.name.as_str() {
                "link" => {
                    let duplex = matches!(
                        child.get("sharing_policy"),
                        Some("SPLITDUPLEX" | "FULLDUPLEX")
                    );
                    self.links.insert(id.to_owned(), duplex);
                }
                "trace" => self.trace(child),
                "trace_connect" => self.trace_connect(child),
                "cluster" => {
                    let text = |key| child.get(key).unwrap_or_default();
                    let usual = format!("{}{id}_router{}", text("prefix"), text("suffix"));
                    let router = child.get("router_id").map_or(usual, str::to_owned);
                    self.switches.insert(router, id.to_owned());
                }
                _ => {}
            }
            self.collect_names(child);
        }
    }

    /// Returns the link and the direction that a name means; the flag is true if the name itself
    /// has the direction.
    pub(super) fn link_use(&self, name: &str, direction: Option<&str>) -> (LinkUse, bool) {
        let usage = |name: &str, direction| LinkUse {
            link: name.to_owned(),
            direction,
        };
        if self.links.contains_key(name) {
            let down = direction == Some("DOWN");
            let direction = if down { Direction::Down } else { Direction::Up };
            return (usage(name, direction), false);
        }
        for (suffix, direction) in [("_UP", Direction::Up), ("_DOWN", Direction::Down)] {
            let stem = name.strip_suffix(suffix).unwrap_or_default();
            if self.links.get(stem) == Some(&true) {
                return (usage(stem, direction), true);
            }
        }
        (usage(name, Direction::Up), false)
    }

    /// A quantity; SimGrid allows to leave out the unit, which is then `base`.
    pub(super) fn quantity<K: Kind>(
        &mut self,
        element: &Element,
        key: &str,
        text: &str,
        base: &str,
    ) -> Option<Quantity<K>> {
        let bare = text.parse::<f64>().is_ok();
        let with_unit = if bare {
            format!("{text}{base}")
        } else {
            text.to_owned()
        };
        match with_unit.parse::<Quantity<K>>() {
            Ok(quantity) => Some(quantity),
            Err(error) => {
                let problem = format!("{key} of <{}>: {}", element.name, error.problem());
                self.diagnostic(element, problem, error.expected());
                None
            }
        }
    }

    pub(super) fn bandwidth(&mut self, element: &Element, key: &str) -> Option<Bandwidth> {
        let text = self.required(element, key)?;
        self.quantity(element, key, text, "Bps")
    }

    /// Returns the speeds of a host in its power states, and the number of the first power state.
    pub(super) fn speed(&mut self, element: &Element) -> Option<(Speeds, PowerState)> {
        let text = self.required(element, "speed")?;
        let states = text.split(',').map(str::trim);
        let speeds: Vec<Option<Speed>> = states
            .map(|state| self.quantity(element, "speed", state, "f"))
            .collect();
        let Some(speeds) = Speeds::new(speeds.into_iter().collect::<Option<_>>()?) else {
            let problem = format!("speed={:?} of <{}>", cut(text), element.name);
            self.diagnostic(element, problem, "expected more than 0 in some power state");
            return None;
        };
        let wanted = element.get("pstate").unwrap_or("0");
        let state = wanted.parse().ok();
        let known = state.filter(|state: &u32| (*state as usize) < speeds.count());
        if known.is_none() {
            let problem = format!("pstate={:?} of <{}>", cut(wanted), element.name);
            let last = speeds.count() - 1;
            self.diagnostic(
                element,
                problem,
                format!("expected a number from 0 to {last}"),
            );
        }
        Some((speeds, PowerState(known?)))
    }

    /// A latency; SimGrid also knows minutes, hours, days and weeks.
    pub(super) fn latency(&mut self, element: &Element, key: &str) -> Option<Duration> {
        const LONG: [(&str, u32); 4] = [("w", 604_800), ("d", 86_400), ("h", 3_600), ("m", 60)];
        let text = element.get(key).unwrap_or("0s");
        for (unit, seconds) in LONG {
            let number = text.strip_suffix(unit).map(str::trim);
            if let Some(Ok(number)) = number.map(str::parse::<f64>) {
                let seconds = format!("{}s", number * f64::from(seconds));
                return self.quantity(element, key, &seconds, "s");
            }
        }
        let latency: Option<Duration> = self.quantity(element, key, text, "s");
        let is_wireless = element.get("sharing_policy") == Some("WIFI");
        let is_none = |found: &Duration| found.as_secs() == 0.0;
        self.has_no_latency |= !is_wireless && latency.as_ref().is_some_and(is_none);
        latency
    }

    pub(super) fn cores(&mut self, element: &Element) -> Option<u32> {
        let text = element.get("core").unwrap_or("1");
        let cores = text.parse::<u32>().ok().filter(|cores| *cores > 0);
        if cores.is_none() {
            let problem = format!("core={:?} of <{}>", cut(text), element.name);
            self.diagnostic(element, problem, "expected a whole number, at least 1");
        }
        cores
    }

    pub(super) fn sharing(
        &mut self,
        element: &Element,
        key: &str,
        default: Sharing,
    ) -> Option<Sharing> {
        match element.get(key) {
            None => Some(default),
            Some("SHARED") => Some(Sharing::Shared),
            Some("SPLITDUPLEX" | "FULLDUPLEX") => Some(Sharing::SplitDuplex),
            Some("FATPIPE") => Some(Sharing::FatPipe),
            Some("WIFI") => {
                let text = "wireless links are not supported; imported as a shared link";
                self.add_note(element, text);
                Some(Sharing::Shared)
            }
            Some(other) => {
                let problem = format!("{key}={:?} of <{}>", cut(other), element.name);
                let expected = "expected SHARED, SPLITDUPLEX or FATPIPE";
                self.diagnostic(element, problem, expected);
                None
            }
        }
    }

    /// The bandwidth of a link, the first one of a wireless link.
    pub(super) fn read_link(&mut self, element: &Element) -> Option<LinkEntry> {
        let text = self.required(element, "bandwidth")?;
        let first = text.split(',').next().unwrap_or_default().trim();
        let bandwidth = self.quantity(element, "bandwidth", first, "Bps");
        let latency = self.latency(element, "latency");
        let sharing = self.sharing(element, "sharing_policy", Sharing::Shared);
        let bandwidth_profile = self.profile(element, "bandwidth_file", TraceKind::Bandwidth);
        let latency_profile = self.profile(element, "latency_file", TraceKind::Latency);
        let state_profile = self.profile(element, "state_file", TraceKind::LinkState);
        const KNOWN: [&str; 8] = [
            "id",
            "bandwidth",
            "latency",
            "sharing_policy",
            "bandwidth_file",
            "latency_file",
            "state_file",
            "state",
        ];
        self.note_unread(element, &KNOWN);
        Some(LinkEntry {
            bandwidth_profile,
            latency_profile,
            state_profile,
            ..LinkEntry::new(bandwidth?, latency?, sharing?)
        })
    }

    /// Three numbers, or two.
    pub(super) fn coordinates(&mut self, element: &Element) -> Option<[f64; 3]> {
        let text = element.get("coordinates")?;
        let numbers: Option<Vec<f64>> = text
            .split_whitespace()
            .map(|number| {
                number
                    .parse::<f64>()
                    .ok()
                    .filter(|number| number.is_finite())
            })
            .collect();
        match numbers.as_deref() {
            Some([x, y]) => Some([*x, *y, 0.0]),
            Some([x, y, height]) => Some([*x, *y, *height]),
            _ => {
                let problem = format!("coordinates={:?} of <{}>", cut(text), element.name);
                self.diagnostic(
                    element,
                    problem,
                    "expected three numbers, such as \"25.5 9.4 1.4\"",
                );
                None
            }
        }
    }
}
