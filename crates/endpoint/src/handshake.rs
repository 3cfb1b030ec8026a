//! The handshake of connections: request, answer, acknowledgement, each repeated until an answer
//! arrives. [`TRANSITIONS`](crate::TRANSITIONS) defines the stages and their changes.
//!
//! A repeated request is answered again, a repeated answer acknowledged again. An answer without a
//! waiting connection is dropped: the acceptor then uses up its repetitions of the answer.

use std::collections::{BTreeMap, VecDeque};

use rdma::{Endpoint as QpEndpoint, connect as connect_qp};

use crate::connection::{Connection, ConnectionId, Handshake, Pair};
use crate::defect::Defect;
use crate::endpoint::Endpoint;
use crate::event::{EventKind, RequestId, Status};
use crate::stage::{ConnectionStage, StageEvent};
use crate::wire::{Attribute, Datagram, PAYLOAD_MAX, Uri};
use crate::{Error, keepalive, messages};

/// Requests that have ended and are remembered, to recognize repeated ones. \[choice\]
const ENDED_MAX: usize = 1024;

/// Requests of peers, by the address of the peer and the peer's number of the connection.
#[derive(Default)]
pub(crate) struct Requests {
    found: BTreeMap<(Uri, u32), Answer>,
    by_connection: BTreeMap<ConnectionId, (Uri, u32)>,
    /// Requests that have ended, the oldest first.
    ended: VecDeque<(Uri, u32)>,
}

/// Answer to a request.
#[derive(Clone, Copy, Debug)]
enum Answer {
    /// The answer of this connection, once the connection has one.
    Of(ConnectionId),
    /// Rejected.
    Rejected,
    /// None: the connection has ended.
    Ended,
}

impl Requests {
    fn insert_request(&mut self, key: (Uri, u32), id: ConnectionId) {
        self.found.insert(key.clone(), Answer::Of(id));
        self.by_connection.insert(id, key);
    }

    /// Notes that the connection of a request has ended.
    pub(crate) fn end_request(&mut self, id: ConnectionId) {
        self.record_answer(id, Answer::Ended);
    }

    fn record_answer(&mut self, id: ConnectionId, answer: Answer) {
        let Some(key) = self.by_connection.remove(&id) else {
            return;
        };
        self.found.insert(key.clone(), answer);
        self.ended.push_back(key);
        if self.ended.len() > ENDED_MAX
            && let Some(oldest) = self.ended.pop_front()
        {
            self.found.remove(&oldest);
        }
    }
}

pub(crate) fn start_connect(
    endpoint: &mut Endpoint,
    uri: &Uri,
    (attribute, payload): (Attribute, &[u8]),
    context: u64,
    timeout: Option<u64>,
) -> Result<(), Error> {
    if payload.len() > PAYLOAD_MAX {
        return Err(Error::Invalid(
            "the payload of a request is longer than 1024 bytes",
        ));
    }
    let id = new_id(endpoint);
    let pair = pair(endpoint, id, attribute)?;
    let request = Datagram::Request {
        initiator: id.0,
        attribute,
        qp: pair.as_ref().map(|pair| pair.local),
        payload: payload.to_vec(),
    };
    let handshake = Handshake {
        datagram: request.to_bytes(),
        resend_at: endpoint.now + endpoint.settings.resend_after,
        left: None,
        deadline: timeout.map(|timeout| endpoint.now + timeout),
    };
    endpoint.send_datagram(Uri::clone(uri), handshake.datagram.clone());
    let mut connection = new_connection(endpoint, (attribute, Uri::clone(uri)), pair);
    connection.context = context;
    connection.handshake = Some(handshake);
    connection.apply_event(StageEvent::Connect);
    endpoint.connections.insert(id, connection);
    endpoint.timeouts_change();
    Ok(())
}

const fn new_id(endpoint: &mut Endpoint) -> ConnectionId {
    let id = ConnectionId(endpoint.next_connection);
    endpoint.next_connection += 1;
    id
}

fn new_connection(
    endpoint: &Endpoint,
    (attribute, peer): (Attribute, Uri),
    pair: Option<Pair>,
) -> Box<Connection> {
    Box::new(Connection {
        attribute,
        peer,
        context: 0,
        remote: 0,
        stage: ConnectionStage::Closed,
        handshake: None,
        keepalive: None,
        send_timeout: endpoint.settings.send_timeout,
        pair,
    })
}

/// Makes the queue pair of a reliable connection.
fn pair(
    endpoint: &mut Endpoint,
    id: ConnectionId,
    attribute: Attribute,
) -> Result<Option<Pair>, Error> {
    if !attribute.is_reliable() {
        return Ok(None);
    }
    // Numbers of packets differ from connection to connection.
    let psn = id.0.wrapping_mul(0x9E37) & 0xFF_FFFF;
    let pair = messages::make_pair(endpoint, psn)?;
    endpoint.by_qp.insert(pair.qp.qp_num, id);
    Ok(Some(pair))
}

pub(crate) fn accept(
    endpoint: &mut Endpoint,
    request: RequestId,
    context: u64,
) -> Result<(), Error> {
    let id = undecided(endpoint, request)?;
    messages::post_all_receives(endpoint, id)?;
    let settings = endpoint.settings;
    let resend_at = endpoint.now + settings.resend_after;
    let Some(connection) = endpoint.connections.get_mut(&id) else {
        return Err(Error::Disconnected);
    };
    let answer = Datagram::Accept {
        initiator: connection.remote,
        acceptor: id.0,
        qp: connection.pair.as_ref().map(|pair| pair.local),
    };
    if !settings.has(Defect::AcceptContextLost) {
        connection.context = context;
    }
    connection.apply_event(StageEvent::Accept);
    connection.handshake = Some(Handshake {
        datagram: answer.to_bytes(),
        resend_at,
        left: Some(settings.accept_tries),
        deadline: None,
    });
    endpoint.timeouts_change();
    resend(endpoint, id);
    Ok(())
}

pub(crate) fn reject(endpoint: &mut Endpoint, request: RequestId) -> Result<(), Error> {
    let id = undecided(endpoint, request)?;
    let Some(connection) = endpoint.connections.get_mut(&id) else {
        return Err(Error::Disconnected);
    };
    connection.apply_event(StageEvent::Reject);
    let (peer, initiator) = (connection.peer.clone(), connection.remote);
    endpoint.requests.record_answer(id, Answer::Rejected);
    endpoint.remove_connection(id)?;
    let answer = Datagram::Reject { initiator }.to_bytes();
    endpoint.send_datagram(peer, answer);
    Ok(())
}

fn undecided(endpoint: &Endpoint, request: RequestId) -> Result<ConnectionId, Error> {
    let id = ConnectionId(request.0);
    let stage = endpoint.stage(id);
    let is_repeated =
        stage == ConnectionStage::Accepting && endpoint.settings.has(Defect::SecondDecision);
    if stage != ConnectionStage::Requested && !is_repeated {
        return Err(Error::Invalid("the request was decided before"));
    }
    Ok(id)
}

fn resend(endpoint: &mut Endpoint, id: ConnectionId) {
    let Some(connection) = endpoint.connections.get(&id) else {
        return;
    };
    if let Some(handshake) = &connection.handshake {
        let (peer, datagram) = (connection.peer.clone(), handshake.datagram.clone());
        endpoint.send_datagram(peer, datagram);
    }
}

/// Handles a timeout of a handshake.
pub(crate) fn time_out(endpoint: &mut Endpoint, id: ConnectionId) {
    let (now, after) = (endpoint.now, endpoint.settings.resend_after);
    let connection = endpoint.connections.get_mut(&id);
    let connection = connection.filter(|one| one.stage.is_half_open());
    let Some(handshake) = connection.and_then(|one| one.handshake.as_mut()) else {
        return;
    };
    if handshake.deadline.is_some_and(|end| end <= now) || handshake.left == Some(0) {
        return give_up(endpoint, id, Status::TimedOut);
    }
    if handshake.resend_at <= now {
        handshake.resend_at = now + after;
        handshake.left = handshake.left.map(|left| left - 1);
        resend(endpoint, id);
    }
}

/// Reports the end of a handshake that has failed, and forgets the connection.
fn give_up(endpoint: &mut Endpoint, id: ConnectionId, status: Status) {
    let Some(connection) = endpoint.connections.get_mut(&id) else {
        return;
    };
    let (context, result) = (connection.context, Err(status));
    let event = match connection.stage {
        ConnectionStage::Connecting => EventKind::Connect { context, result },
        _ => EventKind::Accept { context, result },
    };
    let cause = match status {
        Status::Refused => StageEvent::Rejected,
        _ => StageEvent::GivenUp,
    };
    connection.apply_event(cause);
    endpoint.push_event(event);
    // The adapter cannot refuse: the objects exist and are used by nothing else.
    let released = endpoint.remove_connection(id);
    debug_assert_eq!(released, Ok(()));
}

/// Handles a datagram. A datagram that names a connection counts only if the peer of the connection
/// has sent the datagram.
pub(crate) fn handle_datagram(endpoint: &mut Endpoint, from: &Uri, datagram: Datagram) {
    let number = datagram.receiver_number();
    if number.is_some_and(|number| !hear_peer(endpoint, from, ConnectionId(number))) {
        return;
    }
    match datagram {
        Datagram::Request {
            initiator,
            attribute,
            qp,
            payload,
        } => requested(
            endpoint,
            (Uri::clone(from), initiator),
            (attribute, qp),
            payload,
        ),
        Datagram::Accept {
            initiator,
            acceptor,
            qp,
        } => accepted(endpoint, ConnectionId(initiator), acceptor, qp),
        Datagram::Reject { initiator } => {
            let id = ConnectionId(initiator);
            if endpoint.stage(id) == ConnectionStage::Connecting {
                give_up(endpoint, id, Status::Refused);
            }
        }
        Datagram::Established { acceptor } => established(endpoint, ConnectionId(acceptor)),
        Datagram::Message { connection, bytes } => {
            messages::datagram(endpoint, ConnectionId(connection), bytes);
        }
        Datagram::Ping { connection } => keepalive::pinged(endpoint, ConnectionId(connection)),
        Datagram::Pong { .. } => {}
    }
}

/// Notes a sign of life of the peer of a connection. Returns false if the endpoint at `from` is
/// not that peer.
fn hear_peer(endpoint: &mut Endpoint, from: &Uri, id: ConnectionId) -> bool {
    let now = endpoint.now;
    let connection = endpoint.connections.get_mut(&id);
    let Some(connection) = connection.filter(|one| one.peer == *from) else {
        return false;
    };
    connection.note_heard(now);
    true
}

fn requested(
    endpoint: &mut Endpoint,
    key: (Uri, u32),
    (attribute, qp): (Attribute, Option<QpEndpoint>),
    mut payload: Vec<u8>,
) {
    match endpoint.requests.found.get(&key) {
        Some(Answer::Rejected) => {
            let answer = Datagram::Reject { initiator: key.1 }.to_bytes();
            return endpoint.send_datagram(key.0, answer);
        }
        Some(Answer::Ended) => return,
        Some(&Answer::Of(id)) if !endpoint.settings.has(Defect::RequestAcceptedTwice) => {
            return resend(endpoint, id);
        }
        Some(Answer::Of(_)) | None => {}
    }
    if endpoint.settings.has(Defect::PayloadCut) {
        payload.pop();
    }
    if qp.is_some() != attribute.is_reliable() {
        return;
    }
    let id = new_id(endpoint);
    let Ok(pair) = pair(endpoint, id, attribute) else {
        // The request is repeated; there may be room by then.
        return;
    };
    if let (Some(pair), Some(remote)) = (&pair, &qp) {
        let options = &endpoint.settings.queue_pairs;
        let connected = connect_qp(&*endpoint.verbs, pair.qp, options, &pair.local, remote);
        if connected.is_err() {
            return;
        }
    }
    let mut connection = new_connection(endpoint, (attribute, key.0.clone()), pair);
    connection.remote = key.1;
    connection.apply_event(StageEvent::Request);
    endpoint.connections.insert(id, connection);
    endpoint.requests.insert_request(key, id);
    endpoint.push_event(EventKind::ConnectRequest {
        request: RequestId(id.0),
        attribute,
        payload,
    });
}

fn accepted(endpoint: &mut Endpoint, id: ConnectionId, acceptor: u32, qp: Option<QpEndpoint>) {
    let Some(connection) = endpoint.connections.get_mut(&id) else {
        return;
    };
    let peer = connection.peer.clone();
    let is_repeated = matches!(
        connection.stage,
        ConnectionStage::Open | ConnectionStage::Broken
    );
    if is_repeated && connection.remote == acceptor {
        let answer = Datagram::Established { acceptor }.to_bytes();
        return endpoint.send_datagram(peer, answer);
    }
    if connection.stage != ConnectionStage::Connecting {
        return;
    }
    connection.remote = acceptor;
    if let (Some(pair), Some(remote)) = (&connection.pair, &qp) {
        let options = &endpoint.settings.queue_pairs;
        let connected = connect_qp(&*endpoint.verbs, pair.qp, options, &pair.local, remote)
            .map_err(Error::from)
            .and_then(|()| messages::post_all_receives(endpoint, id));
        if connected.is_err() {
            return give_up(endpoint, id, Status::OperationFailed);
        }
    }
    let answer = Datagram::Established { acceptor }.to_bytes();
    endpoint.send_datagram(peer, answer);
    open_connection(endpoint, id, StageEvent::Accepted);
}

/// Notes that the peer uses the connection.
pub(crate) fn established(endpoint: &mut Endpoint, id: ConnectionId) {
    let stage = endpoint.stage(id);
    if stage != ConnectionStage::Accepting {
        return;
    }
    open_connection(endpoint, id, StageEvent::Established);
    if endpoint.settings.has(Defect::HandshakeCompletionLeaked) {
        endpoint.push_event(EventKind::Send {
            connection: id,
            context: 0,
            status: Status::Success,
        });
    }
}

/// Opens a connection and reports the connection.
fn open_connection(endpoint: &mut Endpoint, id: ConnectionId, event: StageEvent) {
    let Some(connection) = endpoint.connections.get_mut(&id) else {
        return;
    };
    connection.apply_event(event);
    let (mut context, result) = (connection.context, Ok(id));
    let is_initiator = event == StageEvent::Accepted;
    if is_initiator {
        // The acceptor keeps its answer: the request may be repeated.
        connection.handshake = None;
    }
    if is_initiator && endpoint.settings.has(Defect::ConnectContextLost) {
        context = 0;
    }
    endpoint.push_event(if is_initiator {
        EventKind::Connect { context, result }
    } else {
        EventKind::Accept { context, result }
    });
    let timeout = endpoint.settings.keepalive_timeout;
    keepalive::arm(endpoint, id, timeout);
}
