//! Three endpoints whose datagrams lie on a desk until a case delivers, repeats or drops them.
//! Packets of their adapters are carried at once. Endpoint 0 connects to endpoint 1; endpoint 2 has
//! no connection.

use std::cell::RefCell;
use std::rc::Rc;

use endpoint::{
    Attribute, ConnectionId, Endpoint, EndpointSettings, Error, EventId, EventKind, Flags,
    MessageBytes, RequestId, Uri, simulated,
};
use rdma::wire::Packet;
use rdma::{
    AdapterHost, AdapterPort, ChannelAdapter, DeviceAttributes, Gid, GidType, LinkLayer,
    LocalAdapter, Mtu, PolledClock, SoftAdapterSettings, Verbs,
};

/// Kinds of datagrams: their first byte.
pub(crate) const REQUEST: u8 = 1;
pub(crate) const ACCEPT: u8 = 2;
pub(crate) const REJECT: u8 = 3;
pub(crate) const ESTABLISHED: u8 = 4;
pub(crate) const MESSAGE: u8 = 5;
pub(crate) const PING: u8 = 6;
pub(crate) const PONG: u8 = 7;

/// A datagram of an endpoint of the desk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Letter {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) bytes: Vec<u8>,
}

impl Letter {
    pub(crate) fn kind(&self) -> u8 {
        self.bytes[0]
    }
}

pub(crate) struct Desk {
    clock: PolledClock,
    adapters: Vec<Rc<RefCell<ChannelAdapter>>>,
    verbs: Vec<Rc<LocalAdapter<PolledClock>>>,
    endpoints: Vec<Endpoint>,
}

impl Desk {
    pub(crate) fn new(settings: EndpointSettings) -> Self {
        Self::with_completions(settings, 1 << 16)
    }

    /// Returns a desk of adapters with at most this number of completions in a queue.
    pub(crate) fn with_completions(settings: EndpointSettings, max_cqe: u32) -> Self {
        let clock = PolledClock::default();
        let adapters: Vec<_> = (1..=3).map(|lid| adapter(lid, max_cqe)).collect();
        let verbs = adapters.iter().map(|adapter: &Rc<_>| {
            let adapter = LocalAdapter::new(Rc::clone(adapter), clock.clone());
            Rc::new(adapter)
        });
        let verbs: Vec<_> = verbs.collect();
        let endpoints = (0..)
            .zip(verbs.iter().cloned())
            .map(|(number, verbs)| Endpoint::new(simulated::uri(number), verbs, settings).unwrap());
        let endpoints = endpoints.collect();
        Self {
            clock,
            adapters,
            verbs,
            endpoints,
        }
    }

    /// Carries packets, and takes the notification of an endpoint's adapter; returns true if there
    /// was a notification of a completion.
    pub(crate) fn is_notified(&mut self, number: usize) -> bool {
        self.carry_packets();
        self.verbs[number].get_cq_event().unwrap().is_some()
    }

    pub(crate) fn endpoint(&mut self, number: usize) -> &mut Endpoint {
        &mut self.endpoints[number]
    }

    pub(crate) fn uri(&self, number: usize) -> Uri {
        self.endpoints[number].uri().clone()
    }

    /// Takes the datagrams that an endpoint sends now.
    pub(crate) fn letters(&mut self, from: usize) -> Vec<Letter> {
        let datagrams = std::iter::from_fn(|| self.endpoints[from].next_datagram());
        let letter = |(to, bytes): (Uri, Vec<u8>)| Letter {
            from,
            to: to.strip_prefix("sim://").unwrap().parse().unwrap(),
            bytes,
        };
        datagrams.map(letter).collect()
    }

    /// Takes the only datagram that an endpoint sends now, which is of this kind.
    #[track_caller]
    pub(crate) fn letter(&mut self, from: usize, kind: u8) -> Letter {
        let letters = self.letters(from);
        assert_eq!(
            letters.iter().map(Letter::kind).collect::<Vec<u8>>(),
            [kind]
        );
        letters[0].clone()
    }

    /// Takes, delivers and returns the only datagram that an endpoint sends now.
    #[track_caller]
    pub(crate) fn carry(&mut self, from: usize, kind: u8) -> Letter {
        let letter = self.letter(from, kind);
        self.deliver(&letter);
        letter
    }

    pub(crate) fn deliver(&mut self, letter: &Letter) {
        self.deliver_from(letter.from, letter);
    }

    /// Delivers a datagram as if another endpoint had sent the datagram.
    pub(crate) fn deliver_from(&mut self, from: usize, letter: &Letter) {
        let (now, from) = (self.clock.now(), self.uri(from));
        self.endpoints[letter.to].handle_datagram(now, &from, &letter.bytes);
    }

    /// Delivers all datagrams for which `delivers` is true, and drops the others, until none is
    /// left.
    pub(crate) fn deliver_all(&mut self, delivers: impl Fn(&Letter) -> bool) {
        loop {
            let letters: Vec<Letter> = (0..3).flat_map(|from| self.letters(from)).collect();
            if letters.is_empty() {
                return;
            }
            for letter in letters.iter().filter(|letter| delivers(letter)) {
                self.deliver(letter);
            }
        }
    }

    /// Lets time pass, in picoseconds.
    pub(crate) fn pass(&mut self, duration: u64) {
        let now = self.clock.now() + duration;
        self.clock.set(now);
        for (adapter, endpoint) in self.adapters.iter().zip(&mut self.endpoints) {
            adapter.borrow_mut().handle_timeout(now);
            endpoint.handle_timeout(now);
        }
        self.carry_packets();
    }

    pub(crate) fn now(&self) -> u64 {
        self.clock.now()
    }

    /// Carries packets of adapters until there is none.
    fn carry_packets(&self) {
        let now = self.clock.now();
        let mut payload = Vec::new();
        for adapter in self.adapters.iter().cycle().take(16 * self.adapters.len()) {
            let next = |payload: &mut _| adapter.borrow_mut().next_packet(now, payload);
            while let Some(sent) = next(&mut payload) {
                let packet = Packet::new(sent.bth, sent.extension, &payload);
                let to = usize::from(sent.address.dlid) - 1;
                self.adapters[to].borrow_mut().handle_packet(now, &packet);
                payload.clear();
            }
        }
    }

    /// Takes all events of an endpoint and returns the events to the endpoint.
    pub(crate) fn events(&mut self, number: usize) -> Vec<EventKind> {
        self.carry_packets();
        let endpoint = &mut self.endpoints[number];
        let mut kinds = Vec::new();
        while let Ok(Some(event)) = endpoint.get_event() {
            endpoint.return_event(event.id).unwrap();
            kinds.push(event.kind);
        }
        kinds
    }

    /// Lets endpoint 0 ask for a connection to endpoint 1.
    pub(crate) fn ask(
        &mut self,
        content: (Attribute, &[u8]),
        timeout: Option<u64>,
    ) -> Result<(), Error> {
        let uri = self.uri(1);
        self.endpoints[0].connect(&uri, content, 7, timeout)
    }

    /// Takes the request for a connection that endpoint 1 has got.
    pub(crate) fn take_request(&mut self) -> (EventId, RequestId) {
        let event = self.endpoints[1].get_event().unwrap().unwrap();
        match event.kind {
            EventKind::ConnectRequest { request, .. } => (event.id, request),
            other => panic!("{other:?}"),
        }
    }

    /// Lets endpoint 0 ask for a connection, and returns the request at endpoint 1.
    pub(crate) fn request(&mut self, attribute: Attribute) -> RequestId {
        self.ask((attribute, b"hello"), None).unwrap();
        self.carry(0, REQUEST);
        self.take_request().1
    }

    /// Lets endpoint 1 accept a request of endpoint 0, and returns the answer.
    pub(crate) fn acceptance(&mut self, attribute: Attribute) -> Letter {
        let request = self.request(attribute);
        self.endpoints[1].accept(request, 8).unwrap();
        self.letter(1, ACCEPT)
    }

    /// Makes a connection; the acknowledgement of endpoint 0 is delivered last and returned.
    pub(crate) fn connect(&mut self, attribute: Attribute) -> (ConnectionId, ConnectionId, Letter) {
        let accept = self.acceptance(attribute);
        self.deliver(&accept);
        let established = self.carry(0, ESTABLISHED);
        (self.connected(0), self.connected(1), established)
    }

    /// Has an endpoint supervise the peer of a connection, or of all connections.
    pub(crate) fn supervise(
        &mut self,
        number: usize,
        connection: Option<ConnectionId>,
        timeout: Option<u64>,
    ) {
        let set = self.endpoints[number].set_keepalive_timeout(connection, timeout);
        assert_eq!(set, Ok(()));
    }

    /// Returns the connection of the only event of an endpoint, which says that there is one.
    #[track_caller]
    pub(crate) fn connected(&mut self, number: usize) -> ConnectionId {
        match self.events(number)[..] {
            [
                EventKind::Connect {
                    context: 7,
                    result: Ok(connection),
                }
                | EventKind::Accept {
                    context: 8,
                    result: Ok(connection),
                },
            ] => connection,
            ref other => panic!("{other:?}"),
        }
    }

    pub(crate) fn destroy(self) -> Vec<Result<(), Error>> {
        self.endpoints.into_iter().map(Endpoint::destroy).collect()
    }

    /// Sends a message without an event.
    pub(crate) fn send(&mut self, from: usize, connection: ConnectionId, bytes: &[u8]) {
        let flags = Flags {
            silent: true,
            ..Flags::default()
        };
        let message = MessageBytes::Copied(bytes);
        self.endpoints[from]
            .send(connection, 1, message, flags)
            .unwrap();
    }
}

/// Returns an adapter with this local identifier.
fn adapter(lid: u16, max_cqe: u32) -> Rc<RefCell<ChannelAdapter>> {
    let attributes = DeviceAttributes {
        max_cqe,
        ..DeviceAttributes::of_model("desk", lid.into())
    };
    let port = AdapterPort {
        link_layer: LinkLayer::InfiniBand,
        mtu: Mtu::Mtu1024,
        lid,
        gid: (Gid::default(), GidType::Ib),
    };
    let adapter = ChannelAdapter::new(attributes, port, SoftAdapterSettings::default());
    Rc::new(RefCell::new(adapter))
}
