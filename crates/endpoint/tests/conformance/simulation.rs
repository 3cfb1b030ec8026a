//! Two endpoints on the simulated network of the package.

use endpoint::simulated::{Network, NetworkSettings};
use endpoint::{
    Attribute, ConnectionId, EndpointSettings, Error, EventKind, Flags, MessageBytes, Status,
};

/// Returns a network of two endpoints with these settings.
pub(crate) fn network(endpoints: EndpointSettings) -> Network {
    let settings = NetworkSettings {
        endpoints,
        ..NetworkSettings::default()
    };
    Network::new(2, settings).unwrap()
}

/// Time after which a case has failed, in picoseconds: 10 s. Timers repeat for ever.
const LIMIT: u64 = 10_000_000_000_000;

/// Continues to the next event of the network, which there has to be.
pub(crate) fn advance(network: &mut Network) {
    assert!(network.advance_time(None), "nothing can happen");
    assert!(network.now() < LIMIT, "it does not come");
}

/// Connects endpoint 0 with endpoint 1; returns the connection at each.
pub(crate) fn connect(network: &mut Network, attribute: Attribute) -> (ConnectionId, ConnectionId) {
    let uri = network.endpoint(1).uri().clone();
    let endpoint = network.endpoint(0);
    endpoint.connect(&uri, (attribute, b""), 1, None).unwrap();
    let (mut initiator, mut acceptor) = (None, None);
    while initiator.is_none() || acceptor.is_none() {
        advance(network);
        for number in 0..2 {
            let endpoint = network.endpoint(number);
            while let Some(event) = endpoint.get_event().unwrap() {
                match event.kind {
                    EventKind::ConnectRequest { request, .. } => {
                        endpoint.accept(request, 2).unwrap();
                    }
                    EventKind::Connect { result, .. } => initiator = result.ok(),
                    EventKind::Accept { result, .. } => acceptor = result.ok(),
                    _ => {}
                }
                endpoint.return_event(event.id).unwrap();
            }
        }
    }
    (initiator.unwrap(), acceptor.unwrap())
}

/// Returns a network and, at each endpoint, the connection to the other.
pub(crate) fn connected(
    attribute: Attribute,
    settings: EndpointSettings,
) -> (Network, ConnectionId, ConnectionId) {
    let mut network = network(settings);
    let (initiator, acceptor) = connect(&mut network, attribute);
    (network, initiator, acceptor)
}

/// Sends a message of endpoint 0.
pub(crate) fn send(
    network: &mut Network,
    connection: ConnectionId,
    (context, bytes): (u64, &[u8]),
    flags: Flags,
) -> Result<(), Error> {
    let endpoint = network.endpoint(0);
    let sent = endpoint.send(connection, context, MessageBytes::Copied(bytes), flags);
    sent.map(|_| ())
}

/// Results of a run.
#[derive(Default)]
pub(crate) struct Observed {
    /// Ends of the operations of endpoint 0.
    pub(crate) ends: Vec<(u64, Status)>,
    /// Messages that endpoint 1 has received.
    pub(crate) received: Vec<Vec<u8>>,
}

/// Runs until no event is left: both programs fetch and return events. `watch` is called for each
/// event of endpoint 1, before the event is returned.
pub(crate) fn run_watched(network: &mut Network, mut watch: impl FnMut(&mut Network)) -> Observed {
    let mut observed = Observed::default();
    loop {
        let mut is_idle = true;
        for number in 0..2 {
            while let Some(event) = network.endpoint(number).get_event().unwrap() {
                is_idle = false;
                if number == 1 {
                    watch(network);
                }
                match event.kind {
                    EventKind::Send {
                        context, status, ..
                    } if number == 0 => observed.ends.push((context, status)),
                    EventKind::Receive { message, .. } if number == 1 => {
                        observed.received.push(message);
                    }
                    other => panic!("endpoint {number}: {other:?}"),
                }
                network.endpoint(number).return_event(event.id).unwrap();
            }
        }
        if is_idle && !network.advance_time(None) {
            return observed;
        }
        assert!(network.now() < LIMIT, "it does not end");
    }
}

/// Runs until no event is left.
pub(crate) fn run(network: &mut Network) -> Observed {
    run_watched(network, |_| {})
}

/// Returns the successful ends of operations with these contexts.
pub(crate) fn successes(contexts: impl IntoIterator<Item = u64>) -> Vec<(u64, Status)> {
    let contexts = contexts.into_iter();
    contexts.map(|context| (context, Status::Success)).collect()
}
