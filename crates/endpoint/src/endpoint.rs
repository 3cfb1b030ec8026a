//! The endpoint: its connections, its events, and the calls of its owner.

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::rc::Rc;

use rdma::{
    CompletionQueue, ConnectionAttributes, MemoryRegion, ProtectionDomain, Verbs, WorkCompletion,
};

use crate::connection::{CompletionReport, Connection, ConnectionId, OperationId};
use crate::defect::Defect;
use crate::event::{EndpointEvent, EventId, EventKind, RequestId, Status};
use crate::handshake::Requests;
use crate::stage::{ConnectionStage, StageEvent};
use crate::wire::{Datagram, Uri};
use crate::{Attribute, Error, handshake, keepalive};

/// Parameters of an endpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EndpointSettings {
    /// The longest active message in bytes.
    pub max_send_size: u32,
    /// Send buffers of each connection (`CCI_OPT_ENDPT_SEND_BUF_COUNT`).
    pub send_buffers: u32,
    /// Receive buffers of each connection (`CCI_OPT_ENDPT_RECV_BUF_COUNT`).
    pub receive_buffers: u32,
    /// Time after which an operation has failed, in picoseconds, for new connections
    /// (`CCI_OPT_ENDPT_SEND_TIMEOUT`).
    pub send_timeout: Option<u64>,
    /// Time of silence after which a peer is reported, in picoseconds, for new connections
    /// (`CCI_OPT_ENDPT_KEEPALIVE_TIMEOUT`).
    pub keepalive_timeout: Option<u64>,
    /// Time after which a handshake datagram is sent again, in picoseconds.
    pub resend_after: u64,
    /// Repetitions of the answer that accepts, before the connection counts as lost.
    pub accept_tries: u32,
    /// Buffers that are given back are overwritten, so that a use after that is seen.
    pub poisons: bool,
    /// Attributes of the queue pairs of reliable connections.
    pub queue_pairs: ConnectionAttributes,
    /// A seeded defect, for tests of tests.
    #[cfg(feature = "seeded-defects")]
    pub defect: Option<Defect>,
}

impl EndpointSettings {
    /// Returns true if this is the seeded defect.
    pub(crate) const fn has(&self, defect: Defect) -> bool {
        #[cfg(feature = "seeded-defects")]
        return matches!(self.defect, Some(found) if found as u8 == defect as u8);
        #[cfg(not(feature = "seeded-defects"))]
        {
            let _ = (self, defect);
            false
        }
    }
}

impl Default for EndpointSettings {
    /// Returns 16 buffers of 4096 bytes in each direction, and datagrams sent again after 1 ms.
    /// \[choice\]
    fn default() -> Self {
        Self {
            max_send_size: 4096,
            send_buffers: 16,
            receive_buffers: 16,
            send_timeout: None,
            keepalive_timeout: None,
            resend_after: 1_000_000_000,
            accept_tries: 50,
            poisons: false,
            queue_pairs: ConnectionAttributes {
                // 4.2 ms; simulated packets take microseconds.
                timeout: 10,
                rnr_retry: 6,
                ..ConnectionAttributes::default()
            },
            #[cfg(feature = "seeded-defects")]
            defect: None,
        }
    }
}

/// An endpoint.
pub struct Endpoint {
    uri: Uri,
    pub(crate) verbs: Rc<dyn Verbs>,
    pub(crate) pd: ProtectionDomain,
    pub(crate) cq: CompletionQueue,
    pub(crate) settings: EndpointSettings,
    pub(crate) now: u64,
    pub(crate) connections: BTreeMap<ConnectionId, Box<Connection>>,
    /// Connections by the numbers of their queue pairs.
    pub(crate) by_qp: BTreeMap<u32, ConnectionId>,
    pub(crate) requests: Requests,
    pub(crate) next_connection: u32,
    pub(crate) next_operation: u64,
    /// Ends of blocking operations that were not asked for.
    pub(crate) ended: BTreeMap<OperationId, Status>,
    /// Registered memory of the program, by the handle of the region.
    pub(crate) registered: BTreeMap<u32, MemoryRegion>,
    datagrams: VecDeque<(Uri, Vec<u8>)>,
    events: VecDeque<(EventKind, Borrowed)>,
    /// Events that are borrowed, by their identifiers, which grow.
    borrowed: Vec<(EventId, Borrowed)>,
    next_event: u64,
    /// A time before which no timeout is due, if known: the next timeout when the value was
    /// computed. An added timeout makes the value unknown; a postponed timeout does not.
    pub(crate) timeout: Cell<Option<Option<u64>>>,
    /// Number of connections that have lent all their receive buffers to the program.
    pub(crate) exhausted: u32,
    pub(crate) has_failed: bool,
    /// Completions that are polled; empty between calls.
    pub(crate) completions: Vec<WorkCompletion>,
    /// Connections with a timeout that is due; empty between calls.
    due: Vec<ConnectionId>,
    pub(crate) defective: crate::defect::DefectState,
}

/// Duties when an event is returned.
#[derive(Clone, Copy, Debug)]
enum Borrowed {
    /// None.
    Nothing,
    /// The request has to be decided before.
    Request(RequestId),
    /// The receive buffer is posted again.
    Buffer(ConnectionId, u32),
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("uri", &self.uri)
            .finish_non_exhaustive()
    }
}

impl Endpoint {
    /// Returns an endpoint on an adapter.
    pub fn new(uri: Uri, verbs: Rc<dyn Verbs>, settings: EndpointSettings) -> Result<Self, Error> {
        let pd = verbs.alloc_pd()?;
        let cq = verbs.create_cq(COMPLETIONS.min(verbs.query_device().max_cqe))?;
        Ok(Self {
            uri,
            verbs,
            pd,
            cq,
            settings,
            now: 0,
            connections: BTreeMap::new(),
            by_qp: BTreeMap::new(),
            requests: Requests::default(),
            next_connection: 1,
            next_operation: 1,
            ended: BTreeMap::new(),
            registered: BTreeMap::new(),
            datagrams: VecDeque::new(),
            events: VecDeque::new(),
            borrowed: Vec::new(),
            next_event: 1,
            timeout: Cell::new(None),
            exhausted: 0,
            has_failed: false,
            completions: Vec::new(),
            due: Vec::new(),
            defective: crate::defect::DefectState::default(),
        })
    }

    /// Returns the address of the endpoint, to which peers connect.
    pub const fn uri(&self) -> &Uri {
        &self.uri
    }

    /// Returns the parameters.
    pub const fn settings(&self) -> &EndpointSettings {
        &self.settings
    }

    /// Returns the stage of a connection.
    pub fn stage(&self, connection: ConnectionId) -> ConnectionStage {
        let found = self.connections.get(&connection);
        found.map_or(ConnectionStage::Closed, |found| found.stage)
    }

    /// Asks the endpoint at `uri` for a connection, with at most 1024 bytes of payload. The end is
    /// an [`EventKind::Connect`]; without a timeout (in picoseconds) this event may never come.
    pub fn connect(
        &mut self,
        uri: &Uri,
        (attribute, payload): (Attribute, &[u8]),
        context: u64,
        timeout: Option<u64>,
    ) -> Result<(), Error> {
        handshake::start_connect(self, uri, (attribute, payload), context, timeout)
    }

    /// Accepts a request; the end is an [`EventKind::Accept`].
    pub fn accept(&mut self, request: RequestId, context: u64) -> Result<(), Error> {
        handshake::accept(self, request, context)
    }

    /// Rejects a request.
    pub fn reject(&mut self, request: RequestId) -> Result<(), Error> {
        handshake::reject(self, request)
    }

    /// Ends a connection at this side. The peer is not told; no event of the connection comes any
    /// more.
    pub fn disconnect(&mut self, connection: ConnectionId) -> Result<(), Error> {
        let found = self.connections.get_mut(&connection);
        let found = found.ok_or(Error::Disconnected)?;
        if !found.apply_event(StageEvent::Disconnect) {
            return Err(Error::Disconnected);
        }
        self.remove_connection(connection)?;
        let is_of_it = |event: &EventKind| match event {
            EventKind::Receive { connection: of, .. }
            | EventKind::Send { connection: of, .. }
            | EventKind::KeepaliveTimedOut { connection: of } => *of == connection,
            _ => false,
        };
        if !self.settings.has(Defect::EventAfterDisconnect) {
            self.events.retain(|(event, _)| !is_of_it(event));
        }
        Ok(())
    }

    /// Ends all connections, including connections in the handshake, deregisters all memory and
    /// destroys all objects that the endpoint has created at the adapter.
    pub fn destroy(mut self) -> Result<(), Error> {
        let ids: Vec<ConnectionId> = self.connections.keys().copied().collect();
        for id in ids {
            let Some(connection) = self.connections.get_mut(&id) else {
                continue;
            };
            let is_half_open = connection.stage != ConnectionStage::Open;
            connection.apply_event(StageEvent::Destroy);
            if !(is_half_open && self.settings.has(Defect::HalfOpenNotReleased)) {
                self.remove_connection(id)?;
            }
        }
        for region in std::mem::take(&mut self.registered).values() {
            self.verbs.dereg_mr(region)?;
        }
        self.verbs.destroy_cq(self.cq)?;
        self.verbs.dealloc_pd(self.pd)?;
        Ok(())
    }

    /// Removes a connection and releases its queue pair and buffers. Blocking operations end.
    pub(crate) fn remove_connection(&mut self, id: ConnectionId) -> Result<(), Error> {
        let Some(connection) = self.connections.remove(&id) else {
            return Ok(());
        };
        self.requests.end_request(id);
        let Some(pair) = connection.pair else {
            return Ok(());
        };
        self.by_qp.remove(&pair.qp.qp_num);
        if pair.borrowed == self.settings.receive_buffers {
            self.exhausted -= 1;
        }
        self.verbs.destroy_qp(pair.qp)?;
        self.verbs.dereg_mr(&pair.sends)?;
        self.verbs.dereg_mr(&pair.receives)?;
        for operation in pair.operations {
            if operation.report == CompletionReport::Blocking {
                self.ended.insert(operation.id, Status::Disconnected);
            }
            if let Some(lent) = operation.lent {
                self.verbs.dereg_mr(&lent)?;
            }
        }
        Ok(())
    }

    /// Returns the next event. The program borrows the event until it returns the event; `None` if
    /// there is no event (`CCI_EAGAIN`).
    pub fn get_event(&mut self) -> Result<Option<EndpointEvent>, Error> {
        self.poll_completions();
        let Some((kind, duty)) = self.events.pop_front() else {
            return if self.exhausted > 0 {
                Err(Error::NoBuffers)
            } else {
                Ok(None)
            };
        };
        let id = EventId(self.next_event);
        self.next_event += 1;
        self.borrowed.push((id, duty));
        if let Borrowed::Buffer(connection, _) = duty {
            self.count_borrowed(connection, true);
        }
        Ok(Some(EndpointEvent { id, kind }))
    }

    /// Returns an event; receive buffers are posted again. Events are returned in any order.
    pub fn return_event(&mut self, id: EventId) -> Result<(), Error> {
        let at = self.borrowed.binary_search_by_key(&id, |(id, _)| *id);
        let at = at.map_err(|_| Error::Invalid("the event was returned before"))?;
        match self.borrowed[at].1 {
            Borrowed::Nothing => {}
            Borrowed::Request(request) => {
                let connection = self.connections.get(&ConnectionId(request.0));
                if connection.is_some_and(|one| one.stage == ConnectionStage::Requested) {
                    return Err(Error::Invalid("the request is not decided"));
                }
            }
            Borrowed::Buffer(connection, buffer) => {
                self.count_borrowed(connection, false);
                self.return_buffer(connection, buffer)?;
            }
        }
        self.borrowed.remove(at);
        Ok(())
    }

    fn return_buffer(&mut self, connection: ConnectionId, buffer: u32) -> Result<(), Error> {
        if self.settings.has(Defect::BufferNotPosted) {
            return Ok(());
        }
        let found = self.connections.get(&connection);
        if let Some(pair) = found.and_then(|found| found.pair.as_ref()) {
            self.poison(&pair.receives, buffer)?;
        }
        if self.settings.has(Defect::BufferPostedTwice) {
            self.post_receive(connection, buffer)?;
        }
        self.post_receive(connection, buffer)
    }

    /// Overwrites a buffer that is given back, if that is wanted.
    pub(crate) fn poison(&self, region: &MemoryRegion, buffer: u32) -> Result<(), Error> {
        if !self.settings.poisons {
            return Ok(());
        }
        let size = self.settings.max_send_size;
        let offset = u64::from(buffer) * u64::from(size);
        Ok(self
            .verbs
            .write_mr(region, offset, &vec![POISON; size as usize])?)
    }

    fn count_borrowed(&mut self, connection: ConnectionId, is_borrowed: bool) {
        let found = self.connections.get_mut(&connection);
        let Some(pair) = found.and_then(|found| found.pair.as_mut()) else {
            return;
        };
        let all = self.settings.receive_buffers;
        if is_borrowed {
            pair.borrowed += 1;
            self.exhausted += u32::from(pair.borrowed == all);
        } else {
            self.exhausted -= u32::from(pair.borrowed == all);
            pair.borrowed -= 1;
        }
    }

    /// Returns the number of events that were borrowed and not returned.
    pub fn borrowed_events(&self) -> usize {
        self.borrowed.len()
    }

    pub(crate) fn push_event(&mut self, event: EventKind) {
        let duty = match &event {
            EventKind::ConnectRequest { request, .. } => Borrowed::Request(*request),
            _ => Borrowed::Nothing,
        };
        self.events.push_back((event, duty));
    }

    /// Reports a message that lies in a receive buffer.
    pub(crate) fn push_message(&mut self, connection: ConnectionId, message: Vec<u8>, buffer: u32) {
        let event = EventKind::Receive {
            connection,
            message,
        };
        let duty = Borrowed::Buffer(connection, buffer);
        self.events.push_back((event, duty));
    }

    pub(crate) fn send_datagram(&mut self, to: Uri, datagram: Vec<u8>) {
        self.datagrams.push_back((to, datagram));
    }

    /// Takes a datagram that arrives now. A malformed datagram is dropped.
    pub fn handle_datagram(&mut self, now: u64, from: &Uri, bytes: &[u8]) {
        self.now = now;
        if let Some(datagram) = Datagram::from_bytes(bytes) {
            handshake::handle_datagram(self, from, datagram);
        }
    }

    /// Asks the adapter to report the next completion ([`Verbs::get_cq_event`]). Completions that
    /// are already in the queue do not count: poll for events afterwards.
    pub fn request_notification(&self) -> Result<(), Error> {
        Ok(self.verbs.req_notify_cq(self.cq, false)?)
    }

    /// Returns the next datagram that leaves now, and its destination.
    pub fn next_datagram(&mut self) -> Option<(Uri, Vec<u8>)> {
        self.datagrams.pop_front()
    }

    /// Returns the time at which [`handle_timeout`](Self::handle_timeout) has to be called next, in
    /// picoseconds. At that time possibly no timeout is due.
    pub fn next_timeout(&self) -> Option<u64> {
        if let Some(known) = self.timeout.get() {
            return known;
        }
        let timeouts = self.connections.values();
        let next = timeouts.filter_map(|one| one.next_timeout()).min();
        self.timeout.set(Some(next));
        next
    }

    /// Notes that a timeout was added.
    pub(crate) fn timeouts_change(&self) {
        self.timeout.set(None);
    }

    /// Sets the time, and handles the timeouts that are due.
    pub fn handle_timeout(&mut self, now: u64) {
        self.now = now;
        if self.next_timeout().is_none_or(|at| at > now) {
            return;
        }
        self.timeouts_change();
        let is_due = |one: &Connection| one.next_timeout().is_some_and(|at| at <= now);
        let due = self.connections.iter().filter(|(_, one)| is_due(one));
        let mut due_connections = std::mem::take(&mut self.due);
        due_connections.extend(due.map(|(id, _)| *id));
        for connection in due_connections.drain(..) {
            handshake::time_out(self, connection);
            keepalive::time_out(self, connection);
            self.time_out_operations(connection);
        }
        self.due = due_connections;
    }
}

/// The content of buffers that were given back. \[choice\]
const POISON: u8 = 0xDD;

/// Completions that the queue of an endpoint holds. \[choice\]
const COMPLETIONS: u32 = 4096;
