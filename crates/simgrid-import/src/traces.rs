//! Profiles in XML: the attributes `…_file` of hosts and links, and `<trace>` with
//! `<trace_connect>`.
//!
//! `state="OFF"` of older files is a profile that switches off at the beginning. Files are read if
//! the location of the platform file is known; otherwise the result names them. A trace of one host
//! of a cluster becomes an override of that host.
//!
//! *Not carried over*: traces of the links of a cluster. SimGrid 3.32 refuses traces that are
//! connected with links at all.

use std::collections::BTreeMap;

use super::values::{Files, Importer, spanned_at};
use super::xml::Element;
use platform::HostPattern;
use platform::file::{HostOverride, Named, ProfileEntry, ProfileKind, cut, read_events};
use platform::profile::{Events, Repetition, SHORT_PERIOD};

/// Property that a `<trace_connect>` connects a trace with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum TraceKind {
    Speed,
    HostState,
    LinkState,
    Bandwidth,
    Latency,
}

impl TraceKind {
    const fn profile_kind(self) -> ProfileKind {
        match self {
            Self::Speed => ProfileKind::Speed,
            Self::HostState | Self::LinkState => ProfileKind::State,
            Self::Bandwidth => ProfileKind::Bandwidth,
            Self::Latency => ProfileKind::Latency,
        }
    }
}

/// The traces of a platform, and the elements to which they are connected.
#[derive(Default, Debug)]
pub(super) struct Traces {
    by_name: BTreeMap<String, TraceSource>,
    /// The name of the trace of an element; and where that is said.
    connections: BTreeMap<(String, TraceKind), (String, usize)>,
}

/// Where the events of a trace are.
#[derive(Clone, Debug)]
enum TraceSource {
    File(String),
    Here(Events),
}

impl Importer {
    /// Keeps a `<trace>`.
    pub(super) fn trace(&mut self, element: &Element) {
        let Some(id) = self.required(element, "id") else {
            return;
        };
        let period = element.get("periodicity").map(str::parse::<f64>);
        let source = match element.get("file") {
            Some(file) => TraceSource::File(file.to_owned()),
            None => match Events::parse(&element.text) {
                Ok(mut events) => {
                    let period = period.and_then(Result::ok).filter(|period| *period > 0.0);
                    let repeated = period.map(|period| events.repeat(Repetition::Every(period)));
                    if repeated == Some(None) {
                        let period = cut(element.get("periodicity").unwrap_or_default());
                        let problem = format!("periodicity={period:?} of trace {:?}", cut(id));
                        self.diagnostic(element, problem, format!("expected {SHORT_PERIOD}"));
                        return;
                    }
                    TraceSource::Here(events)
                }
                Err(error) => {
                    let problem = format!("trace {:?}: {error}", cut(id));
                    self.diagnostic(element, problem, "expected lines DATE VALUE");
                    return;
                }
            },
        };
        self.traces.by_name.insert(id.to_owned(), source);
    }

    /// Keeps a `<trace_connect>`.
    pub(super) fn trace_connect(&mut self, element: &Element) {
        let quality = match element.get("kind").unwrap_or("HOST_AVAIL") {
            "SPEED" | "POWER" => TraceKind::Speed,
            "HOST_AVAIL" => TraceKind::HostState,
            "LINK_AVAIL" => TraceKind::LinkState,
            "BANDWIDTH" => TraceKind::Bandwidth,
            "LATENCY" => TraceKind::Latency,
            other => {
                let problem = format!("kind={:?} of <trace_connect>", cut(other));
                let expected = "expected SPEED, HOST_AVAIL, LINK_AVAIL, BANDWIDTH or LATENCY";
                self.diagnostic(element, problem, expected);
                return;
            }
        };
        let trace = self.required(element, "trace");
        let target = self.required(element, "element");
        if let (Some(trace), Some(target)) = (trace, target) {
            let mut others = self.traces.connections.values();
            if others.any(|(other, _)| other == trace) {
                let text = format!(
                    "the trace {:?} is connected again: SimGrid takes a trace for the first \
                     element only",
                    cut(trace)
                );
                self.add_note(element, text);
            }
            let key = (target.to_owned(), quality);
            let place = (trace.to_owned(), element.span.start);
            self.traces.connections.insert(key, place);
        }
    }

    /// The profiles of speed and state of a host.
    pub(super) fn host_profiles(
        &mut self,
        element: &Element,
    ) -> (Option<Box<ProfileEntry>>, Option<Box<ProfileEntry>>) {
        let key = match element.get("speed_file") {
            None => "availability_file",
            Some(_) => "speed_file",
        };
        let speed = self.profile(element, key, TraceKind::Speed);
        let state = self.profile(element, "state_file", TraceKind::HostState);
        (speed, state)
    }

    /// The profile that an attribute names, or that a trace gives.
    pub(super) fn profile(
        &mut self,
        element: &Element,
        key: &str,
        quality: TraceKind,
    ) -> Option<Box<ProfileEntry>> {
        let id = element.get("id").unwrap_or_default();
        let connected = self.connected_source(element, id, quality);
        let source = match (element.get(key), connected) {
            (Some(file), _) => TraceSource::File(file.to_owned()),
            (None, Some(source)) => source?,
            (None, None) => self.off_from_the_start(element, quality)?,
        };
        self.of_source(element, source, quality)
    }

    /// The hosts of a cluster that a trace is connected with.
    pub(super) fn host_overrides(
        &mut self,
        cluster: &Element,
        hosts: &HostPattern,
    ) -> Vec<Named<HostOverride>> {
        let connected = self.traces.connections.keys();
        let mut offsets: Vec<u32> = connected
            .filter(|(_, quality)| matches!(quality, TraceKind::Speed | TraceKind::HostState))
            .filter_map(|(name, _)| hosts.index_of(name))
            .collect();
        offsets.dedup();
        offsets.sort_unstable();
        let named = offsets.into_iter().map(|host| {
            let name = hosts.name(host);
            let mut profile = |quality| {
                let source = self.connected_source(cluster, &name, quality)??;
                self.of_source(cluster, source, quality)
            };
            let entry = HostOverride {
                speed_profile: profile(TraceKind::Speed),
                state_profile: profile(TraceKind::HostState),
                ..HostOverride::default()
            };
            let name = spanned_at(cluster, name);
            Named { name, entry }
        });
        named.collect()
    }

    /// Returns the trace that is connected to the element called `id`; `Some(None)` if there is no
    /// such trace.
    #[expect(
        clippy::option_option,
        reason = "wrong and absent differ, and the mistake is already recorded"
    )]
    fn connected_source(
        &mut self,
        element: &Element,
        id: &str,
        quality: TraceKind,
    ) -> Option<Option<TraceSource>> {
        let key = (id.to_owned(), quality);
        let (trace, _) = self.traces.connections.remove(&key)?;
        let source = self.traces.by_name.get(&trace).cloned();
        if source.is_none() {
            let problem = format!("unknown trace {:?}", cut(&trace));
            self.diagnostic(element, problem, "expected the id of a <trace>");
        }
        Some(source)
    }

    fn of_source(
        &mut self,
        element: &Element,
        source: TraceSource,
        quality: TraceKind,
    ) -> Option<Box<ProfileEntry>> {
        let events = match source {
            TraceSource::Here(events) => Ok(events),
            TraceSource::File(name) => match &self.files {
                Files::Named => return Some(Box::new(ProfileEntry::in_file(name))),
                Files::Nowhere => {
                    let problem = "this platform has no folder in which it could be";
                    Err(format!("profile file {:?}: {problem}", cut(&name)))
                }
                Files::In(folder) => {
                    let read = read_events(folder, &name);
                    read.map_err(|problem| format!("profile file {:?}: {problem}", cut(&name)))
                }
            },
        };
        let entry = events.and_then(|events| {
            let entry = ProfileEntry::of_events(&events, quality.profile_kind());
            entry.map_err(|value| format!("{value:?} is not valid in this profile"))
        });
        match entry {
            Ok(entry) => Some(Box::new(entry)),
            Err(problem) => {
                self.diagnostic(element, problem, "expected lines DATE VALUE");
                None
            }
        }
    }

    /// The attribute `state` of older files.
    fn off_from_the_start(&mut self, element: &Element, quality: TraceKind) -> Option<TraceSource> {
        if quality.profile_kind() != ProfileKind::State {
            return None;
        }
        match element.get("state")? {
            "OFF" => Some(TraceSource::Here(Events {
                events: vec![(0.0, 0.0)],
                ..Events::default()
            })),
            "ON" => None,
            other => {
                let problem = format!("state={:?} of <{}>", cut(other), element.name);
                self.diagnostic(element, problem, "expected ON or OFF");
                None
            }
        }
    }

    /// Notes the connections with elements that are neither hosts nor declared links.
    pub(super) fn note_unused_connections(&mut self) {
        for ((element, _), (trace, at)) in std::mem::take(&mut self.traces.connections) {
            let (element, trace) = (cut(&element), cut(&trace));
            let text = format!(
                "the trace {trace:?} of {element:?} is not supported: there is no host or <link> of that name"
            );
            self.notes.push((at, text));
        }
    }
}
