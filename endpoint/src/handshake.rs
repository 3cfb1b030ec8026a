//! The handshake of connections: request, answer, acknowledgement, each repeated until it is
//! answered.
//!
//! | stage | event | next stage |
//! |---|---|---|
//! | none | `connect` | connecting: the request is sent, and again after `resend_after` |
//! | connecting | accept | open; an acknowledgement is sent |
//! | connecting | reject, deadline | none: refused, timed out |
//! | none | request | requested: reported to the program |
//! | requested | `accept` | accepting: the answer is sent, and again after `resend_after` |
//! | requested | `reject` | none; repeated requests are rejected again |
//! | accepting | acknowledgement, message | open |
//! | accepting | all answers unanswered | none: timed out |
//!
//! A repeated request is answered again, a repeated answer acknowledged again. An answer for which
//! no connection waits is dropped: the acceptor then runs out of answers.

use rdma::{Endpoint as QpEndpoint, connect as connect_qp, prepare};

use crate::connection::{Connection, ConnectionId, Pair, Stage};
use crate::defect::Defect;
use crate::endpoint::Endpoint;
use crate::event::{EventKind, RequestId, Status};
use crate::wire::{Attribute, Datagram, PAYLOAD_MAX, Uri};
use crate::{Error, messages};

/// Rejected requests that are remembered, to reject repeated ones again. \[choice\]
const REJECTED_MAX: usize = 1024;

pub(crate) fn connect(
    endpoint: &mut Endpoint,
    uri: &str,
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
    let stage = Stage::Connecting {
        resend_at: endpoint.now + endpoint.settings.resend_after,
        deadline: timeout.map(|timeout| endpoint.now + timeout),
    };
    let handshake = request.to_bytes();
    endpoint.send_datagram(uri, &handshake);
    let connection = Connection {
        peer: uri.to_owned(),
        context,
        remote: 0,
        handshake,
        stage,
        pair,
    };
    endpoint.connections.insert(id, connection);
    Ok(())
}

fn new_id(endpoint: &mut Endpoint) -> ConnectionId {
    let id = ConnectionId(endpoint.next_connection);
    endpoint.next_connection += 1;
    id
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
    let (qp, buffers, free) = messages::make_queue_pair(endpoint)?;
    // Numbers of packets differ from connection to connection.
    let psn = id.0.wrapping_mul(0x9E37);
    let local = prepare(&*endpoint.verbs, qp, &endpoint.settings.queue_pairs, psn)?;
    endpoint.by_qp.insert(qp.qp_num, id);
    Ok(Some(Pair::new(qp, local, buffers, free)))
}

pub(crate) fn accept(
    endpoint: &mut Endpoint,
    request: RequestId,
    context: u64,
) -> Result<(), Error> {
    let id = undecided(endpoint, request)?;
    let now = endpoint.now;
    let (resend_after, tries) = (
        endpoint.settings.resend_after,
        endpoint.settings.accept_tries,
    );
    messages::post_all_receives(endpoint, id)?;
    let Some(connection) = endpoint.connections.get_mut(&id) else {
        return Err(Error::Disconnected);
    };
    let answer = Datagram::Accept {
        initiator: connection.remote,
        acceptor: id.0,
        qp: connection.pair.as_ref().map(|pair| pair.local),
    };
    if !endpoint.settings.has(Defect::AcceptContextLost) {
        connection.context = context;
    }
    connection.handshake = answer.to_bytes();
    connection.stage = Stage::Accepting {
        resend_at: now + resend_after,
        left: tries,
    };
    resend(endpoint, id);
    Ok(())
}

pub(crate) fn reject(endpoint: &mut Endpoint, request: RequestId) -> Result<(), Error> {
    let id = undecided(endpoint, request)?;
    let Some(connection) = endpoint.connections.remove(&id) else {
        return Err(Error::Disconnected);
    };
    endpoint.release(&connection)?;
    let initiator = connection.remote;
    endpoint
        .requests
        .insert((connection.peer.clone(), initiator), None);
    if endpoint.requests.len() > REJECTED_MAX {
        let live = |one: &Option<ConnectionId>| one.is_some();
        let oldest = endpoint.requests.iter().find(|(_, one)| !live(one));
        if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
            endpoint.requests.remove(&oldest);
        }
    }
    let answer = Datagram::Reject { initiator }.to_bytes();
    endpoint.send_datagram(&connection.peer, &answer);
    Ok(())
}

fn undecided(endpoint: &Endpoint, request: RequestId) -> Result<ConnectionId, Error> {
    let id = ConnectionId(request.0);
    let connection = endpoint.connections.get(&id);
    if connection.is_none_or(|one| one.stage != Stage::Requested) {
        return Err(Error::Invalid("the request was decided before"));
    }
    Ok(id)
}

fn resend(endpoint: &mut Endpoint, id: ConnectionId) {
    if let Some(connection) = endpoint.connections.get(&id) {
        let (peer, datagram) = (connection.peer.clone(), connection.handshake.clone());
        endpoint.send_datagram(&peer, &datagram);
    }
}

/// Handles a timeout of a handshake.
pub(crate) fn time_out(endpoint: &mut Endpoint, id: ConnectionId) {
    let (now, after) = (endpoint.now, endpoint.settings.resend_after);
    let Some(connection) = endpoint.connections.get_mut(&id) else {
        return;
    };
    match &mut connection.stage {
        Stage::Connecting {
            resend_at,
            deadline,
        } => {
            if deadline.is_some_and(|end| end <= now) {
                return endpoint.fail_handshake(id, Status::TimedOut);
            }
            *resend_at = now + after;
        }
        Stage::Accepting { resend_at, left } => {
            if *left == 0 {
                return endpoint.fail_handshake(id, Status::TimedOut);
            }
            (*resend_at, *left) = (now + after, *left - 1);
        }
        Stage::Requested | Stage::Open | Stage::Broken => return,
    }
    resend(endpoint, id);
}

/// Handles a datagram.
pub(crate) fn handle(endpoint: &mut Endpoint, from: &str, datagram: Datagram) {
    match datagram {
        Datagram::Request {
            initiator,
            attribute,
            qp,
            payload,
        } => requested(
            endpoint,
            from.to_owned(),
            (initiator, attribute),
            qp,
            payload,
        ),
        Datagram::Accept {
            initiator,
            acceptor,
            qp,
        } => accepted(endpoint, (from, initiator), acceptor, qp),
        Datagram::Reject { initiator } => {
            let id = ConnectionId(initiator);
            let connection = endpoint.connections.get(&id);
            let waits = |one: &Connection| {
                one.peer == from && matches!(one.stage, Stage::Connecting { .. })
            };
            if connection.is_some_and(waits) {
                endpoint.fail_handshake(id, Status::Refused);
            }
        }
        Datagram::Established { acceptor } => established(endpoint, ConnectionId(acceptor)),
        Datagram::Message { connection, bytes } => {
            messages::datagram(endpoint, ConnectionId(connection), bytes);
        }
    }
}

fn requested(
    endpoint: &mut Endpoint,
    peer: Uri,
    (initiator, attribute): (u32, Attribute),
    qp: Option<QpEndpoint>,
    payload: Vec<u8>,
) {
    match endpoint.requests.get(&(peer.clone(), initiator)) {
        Some(None) => {
            let answer = Datagram::Reject { initiator }.to_bytes();
            return endpoint.send_datagram(&peer, &answer);
        }
        Some(&Some(id)) if !endpoint.settings.has(Defect::RequestAcceptedTwice) => {
            let answers =
                |one: &Connection| matches!(one.stage, Stage::Accepting { .. } | Stage::Open);
            if endpoint.connections.get(&id).is_some_and(answers) {
                resend(endpoint, id);
            }
            return;
        }
        Some(_) | None => {}
    }
    let mut payload = payload;
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
    let connection = Connection {
        peer: peer.clone(),
        context: 0,
        remote: initiator,
        handshake: Vec::new(),
        stage: Stage::Requested,
        pair,
    };
    endpoint.connections.insert(id, connection);
    endpoint.requests.insert((peer, initiator), Some(id));
    endpoint.push_event(EventKind::ConnectRequest {
        request: RequestId(id.0),
        attribute,
        payload,
    });
}

fn accepted(
    endpoint: &mut Endpoint,
    (from, initiator): (&str, u32),
    acceptor: u32,
    qp: Option<QpEndpoint>,
) {
    let id = ConnectionId(initiator);
    let Some(connection) = endpoint.connections.get_mut(&id) else {
        return;
    };
    if connection.peer != from {
        return;
    }
    if connection.is_open() {
        if connection.remote == acceptor {
            let answer = Datagram::Established { acceptor }.to_bytes();
            endpoint.send_datagram(from, &answer);
        }
        return;
    }
    if !matches!(connection.stage, Stage::Connecting { .. }) {
        return;
    }
    connection.remote = acceptor;
    connection.stage = Stage::Open;
    let mut context = connection.context;
    if endpoint.settings.has(Defect::ConnectContextLost) {
        context = 0;
    }
    if let (Some(pair), Some(remote)) = (&connection.pair, &qp) {
        let options = &endpoint.settings.queue_pairs;
        let connected = connect_qp(&*endpoint.verbs, pair.qp, options, &pair.local, remote)
            .map_err(Error::from)
            .and_then(|()| messages::post_all_receives(endpoint, id));
        if connected.is_err() {
            return endpoint.fail_handshake(id, Status::OperationFailed);
        }
    }
    endpoint.push_event(EventKind::Connect {
        context,
        result: Ok(id),
    });
    let answer = Datagram::Established { acceptor }.to_bytes();
    endpoint.send_datagram(from, &answer);
}

/// Notes that the peer uses the connection.
pub(crate) fn established(endpoint: &mut Endpoint, id: ConnectionId) {
    let Some(connection) = endpoint.connections.get_mut(&id) else {
        return;
    };
    if matches!(connection.stage, Stage::Accepting { .. }) {
        connection.stage = Stage::Open;
        let context = connection.context;
        endpoint.push_event(EventKind::Accept {
            context,
            result: Ok(id),
        });
        if endpoint.settings.has(Defect::HandshakeCompletionLeaked) {
            endpoint.push_event(EventKind::Send {
                connection: id,
                context: 0,
                status: Status::Success,
            });
        }
    }
}
