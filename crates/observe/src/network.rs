//! Events of the network below the ranks: flows, the links that they cross, and their rates.
//!
//! A *flow* is a packet on its way in a network model. A flow begins, pays its latency, gets a rate
//! whenever the shares of the links change, and ends. After its end another flow gets its number.
//! A [`RankEvent::Inject`](crate::RankEvent::Inject) follows directly on the begin of the flow that
//! carries the packet, so a flow is matched with its packet and the ranks of this packet.
//!
//! A flow has at most one bottleneck: the link on which other flows limit this flow. If several
//! links limit the flow equally, one of them is named. Without a bottleneck the flow has another
//! limit: its window, a link that is not shared, or a penalty of the model.
//!
//! A change of a rate is a record of the flow and not of each link, because a reader knows the
//! route. Separate records for hops would be three to ten times as many; for routes by pairs of
//! hosts the writer would have to remember the pairs.
//!
//! *Not observed*: the packets of the packet network, disks, parallel tasks, and the
//! acknowledgements of a transfer on the way back.

use std::fmt;
use std::io;
use std::rc::Rc;

use crate::record::{
    COMPUTATION, FLOW, FLOW_END, FLOW_RATE, LINK, LINK_CHANGE, RECORD_BYTES, Record, WORDS,
};

/// A receiver of the events of a network, with the time of each in seconds.
#[derive(Clone)]
pub struct NetworkObserver(Rc<Observe>);

type Observe = dyn Fn(f64, NetworkEvent<&[u32]>);

impl NetworkObserver {
    /// Makes a receiver of a function.
    pub fn new(observe: impl Fn(f64, NetworkEvent<&[u32]>) + 'static) -> Self {
        Self(Rc::new(observe))
    }

    /// Takes an event that happens at a time in seconds.
    pub fn observe_event(&self, time: f64, event: NetworkEvent<&[u32]>) {
        (self.0)(time, event);
    }
}

impl fmt::Debug for NetworkObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NetworkObserver")
    }
}

/// An event of a network. `L`: the numbers of links.
#[derive(Clone, PartialEq, Debug)]
pub enum NetworkEvent<L> {
    /// A flow begins.
    Begin {
        /// Number of the flow.
        flow: u32,
        /// Length in bytes, with the envelope of the message layer.
        bytes: f64,
        /// Latency in seconds.
        latency_s: f64,
        /// Duration in seconds if no other flow used any of the links, latency included.
        alone_s: f64,
        /// The links of the route, in the order in which the flow crosses them.
        links: L,
    },
    /// A flow that has paid its latency has a new rate from now on, or a new bottleneck.
    Rate {
        /// Number of the flow.
        flow: u32,
        /// Bytes per second.
        rate: f64,
        /// The bottleneck.
        link: Option<u32>,
    },
    /// A flow ends.
    End {
        /// Number of the flow.
        flow: u32,
    },
    /// The computation begins for which the rank of the event before waits.
    Computation {
        /// Duration in seconds if no other computation used the host.
        alone_s: f64,
    },
    /// A link has another value of a parameter from now on.
    LinkChange {
        /// The link.
        link: u32,
        /// The parameter.
        parameter: LinkParameter,
        /// The value: in bytes per second, in seconds, or 0 for a link that is off and 1 for one
        /// that is on.
        value: f64,
    },
    /// An incident of ranks. A log contains an [`RankEvent::Incident`](crate::RankEvent::Incident)
    /// for each of the ranks.
    Incident {
        /// The ranks.
        at: IncidentPlace,
        /// Name of the incident.
        name: &'static str,
        /// The other rank.
        peer: Option<u32>,
        /// Value of the incident.
        value: Option<f64>,
    },
}

/// The ranks of an incident.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IncidentPlace {
    /// One rank.
    Rank(u32),
    /// All ranks on the host with this number in the platform.
    Host(u32),
}

/// A parameter of a link that changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum LinkParameter {
    /// The bandwidth.
    Bandwidth,
    /// The latency.
    Latency,
    /// On or off.
    State,
}

impl LinkParameter {
    const ALL: [Self; 3] = [Self::Bandwidth, Self::Latency, Self::State];
}

impl NetworkEvent<Vec<u32>> {
    /// Returns the links that the event names.
    pub(crate) fn links(&self) -> impl Iterator<Item = u32> {
        let (route, limit) = match self {
            Self::Begin { links, .. } => (&**links, None),
            Self::Rate { link, .. } => (&[][..], *link),
            Self::LinkChange { link, .. } => (&[][..], Some(*link)),
            Self::End { .. } | Self::Computation { .. } | Self::Incident { .. } => (&[][..], None),
        };
        route.iter().copied().chain(limit)
    }
}

/// Use of the bandwidth of a link by several flows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum LinkSharing {
    /// Both directions share the bandwidth.
    Shared,
    /// The link is one direction only, and its flows share the bandwidth.
    Directed,
    /// Each flow has the full bandwidth.
    Fatpipe,
}

impl LinkSharing {
    const ALL: [Self; 3] = [Self::Shared, Self::Directed, Self::Fatpipe];
}

/// A link.
#[derive(Clone, PartialEq, Debug)]
pub struct Link {
    /// Name, with the direction if the link has two.
    pub name: String,
    /// Bandwidth in bytes per second, from the platform file.
    pub bandwidth: f64,
    /// Latency in seconds.
    pub latency_s: f64,
    /// Use by several flows.
    pub sharing: LinkSharing,
}

/// Number of words of a begin before its links: the latency.
const LATENCY_WORDS: usize = 2;

/// Links of a route that a log has; a longer route is cut.
const LINKS_MAX: usize = u16::MAX as usize;

/// No link.
const NONE: u32 = u32::MAX;

/// Returns the record of a link with this number; the name of the link follows.
pub(crate) fn of_link(number: u32, link: &Link) -> Record {
    Record {
        kind: LINK,
        flag: link.sharing as u8,
        rank: number,
        time: link.bandwidth,
        a: u32::try_from(link.name.len()).unwrap_or(u32::MAX),
        c: link.latency_s.to_bits(),
        ..Record::default()
    }
}

/// Returns a link without its name.
pub(crate) fn to_link(record: &Record) -> Link {
    let sharing = LinkSharing::ALL.get(usize::from(record.flag));
    Link {
        name: String::new(),
        bandwidth: record.time,
        latency_s: f64::from_bits(record.c),
        sharing: sharing.copied().unwrap_or(LinkSharing::Shared),
    }
}

/// Returns the record of an event; [`put_words`] writes the records after a begin.
pub(crate) fn of_event(time: f64, event: &NetworkEvent<&[u32]>) -> Record {
    let (kind, flow) = match *event {
        NetworkEvent::Begin { flow, .. } => (FLOW, flow),
        NetworkEvent::Rate { flow, .. } => (FLOW_RATE, flow),
        NetworkEvent::End { flow } => (FLOW_END, flow),
        NetworkEvent::Computation { .. } => (COMPUTATION, 0),
        NetworkEvent::LinkChange { link, .. } => (LINK_CHANGE, link),
        NetworkEvent::Incident { .. } => unreachable!("a log has it as events of ranks"),
    };
    let record = Record {
        kind,
        rank: flow,
        time,
        ..Record::default()
    };
    match *event {
        NetworkEvent::Begin {
            bytes,
            alone_s,
            links,
            ..
        } => {
            let [a, b] = halves(alone_s);
            let name = u16::try_from(links.len()).unwrap_or(u16::MAX);
            let c = bytes.to_bits();
            Record {
                name,
                a,
                b,
                c,
                ..record
            }
        }
        NetworkEvent::Rate { rate, link, .. } => Record {
            a: link.unwrap_or(NONE),
            c: rate.to_bits(),
            ..record
        },
        NetworkEvent::Computation { alone_s } => Record {
            c: alone_s.to_bits(),
            ..record
        },
        NetworkEvent::LinkChange {
            parameter, value, ..
        } => Record {
            flag: parameter as u8,
            c: value.to_bits(),
            ..record
        },
        NetworkEvent::End { .. } | NetworkEvent::Incident { .. } => record,
    }
}

/// Returns the event of a record; `None` if the record has none. `next` returns the following
/// records, one after the other: the latency and the links of a begin.
pub(crate) fn rank_event(
    record: &Record,
    mut next: impl FnMut() -> io::Result<Option<[u8; RECORD_BYTES]>>,
) -> io::Result<Option<NetworkEvent<Vec<u32>>>> {
    let flow = record.rank;
    Ok(Some(match record.kind {
        FLOW => {
            let count = LATENCY_WORDS + usize::from(record.name);
            let mut words = Vec::with_capacity(count);
            while words.len() < count {
                let Some(bytes) = next()? else {
                    break;
                };
                read_words(&bytes, count, &mut words);
            }
            let links = words.split_off(LATENCY_WORDS.min(words.len()));
            let latency_s = match words[..] {
                [low, high] => join_halves([low, high]),
                _ => 0.0,
            };
            NetworkEvent::Begin {
                flow,
                bytes: f64::from_bits(record.c),
                latency_s,
                alone_s: join_halves([record.a, record.b]),
                links,
            }
        }
        FLOW_RATE => NetworkEvent::Rate {
            flow,
            rate: f64::from_bits(record.c),
            link: (record.a != NONE).then_some(record.a),
        },
        FLOW_END => NetworkEvent::End { flow },
        COMPUTATION => NetworkEvent::Computation {
            alone_s: f64::from_bits(record.c),
        },
        LINK_CHANGE => {
            let parameter = LinkParameter::ALL.get(usize::from(record.flag));
            let Some(&parameter) = parameter else {
                return Ok(None);
            };
            NetworkEvent::LinkChange {
                link: record.rank,
                parameter,
                value: f64::from_bits(record.c),
            }
        }
        _ => return Ok(None),
    }))
}

/// Calls `put` with the records of the latency and the links of a begin.
pub(crate) fn put_words(latency_s: f64, links: &[u32], mut put: impl FnMut(&[u8; RECORD_BYTES])) {
    let links = links.iter().take(LINKS_MAX).copied();
    let mut words = halves(latency_s).into_iter().chain(links).peekable();
    while words.peek().is_some() {
        let mut bytes = [0; RECORD_BYTES];
        bytes[0] = WORDS;
        for (place, word) in bytes[4..].chunks_exact_mut(4).zip(words.by_ref()) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        put(&bytes);
    }
}

/// Appends the words of a record, until there are `count`.
fn read_words(bytes: &[u8; RECORD_BYTES], count: usize, words: &mut Vec<u32>) {
    let left = count - words.len();
    let all = bytes[4..].chunks_exact(4);
    let numbers = all.map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
    words.extend(numbers.take(left));
}

/// Returns the lower and the upper half of a number.
fn halves(number: f64) -> [u32; 2] {
    let bits = number.to_bits();
    [
        u32::try_from(bits & u64::from(u32::MAX)).unwrap_or(0),
        u32::try_from(bits >> 32).unwrap_or(0),
    ]
}

fn join_halves([low, high]: [u32; 2]) -> f64 {
    f64::from_bits(u64::from(low) | u64::from(high) << 32)
}
