//! The endpoint: its connections, its events, and the calls of its owner.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::rc::Rc;

use rdma::{CompletionQueue, ConnectionAttributes, ProtectionDomain, Verbs};

use crate::connection::{Connection, ConnectionId, Stage};
use crate::defect::Defect;
use crate::event::{Event, EventId, EventKind, RequestId, Status};
use crate::wire::{Datagram, Uri};
use crate::{Attribute, Error, handshake};

/// Parameters of an endpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EndpointSettings {
    /// The longest active message in bytes.
    pub max_send_size: u32,
    /// Send buffers of each connection.
    pub send_buffers: u32,
    /// Receive buffers of each connection.
    pub receive_buffers: u32,
    /// Time after which a handshake datagram is sent again, in picoseconds.
    pub resend_after: u64,
    /// Transmissions of the answer that accepts, before the connection counts as lost.
    pub accept_tries: u32,
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
            resend_after: 1_000_000_000,
            accept_tries: 50,
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
    pub(crate) connections: BTreeMap<ConnectionId, Connection>,
    /// Connections by the numbers of their queue pairs.
    pub(crate) by_qp: BTreeMap<u32, ConnectionId>,
    /// Requests of peers, by their numbers there; `None` if rejected.
    pub(crate) requests: BTreeMap<(Uri, u32), Option<ConnectionId>>,
    pub(crate) next_connection: u32,
    datagrams: VecDeque<(Uri, Vec<u8>)>,
    events: VecDeque<(EventKind, Borrowed)>,
    pub(crate) borrowed: BTreeMap<EventId, Borrowed>,
    next_event: u64,
}

/// Duties when an event is returned.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Borrowed {
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
    ///
    /// # Errors
    /// If the adapter has no room.
    pub fn new(uri: Uri, verbs: Rc<dyn Verbs>, settings: EndpointSettings) -> Result<Self, Error> {
        let pd = verbs.alloc_pd()?;
        let cq = verbs.create_cq(4096)?;
        Ok(Self {
            uri,
            verbs,
            pd,
            cq,
            settings,
            now: 0,
            connections: BTreeMap::new(),
            by_qp: BTreeMap::new(),
            requests: BTreeMap::new(),
            next_connection: 1,
            datagrams: VecDeque::new(),
            events: VecDeque::new(),
            borrowed: BTreeMap::new(),
            next_event: 1,
        })
    }

    /// Asks the endpoint at `uri` for a connection, with a payload of at most 1024 bytes. The end
    /// is an [`EventKind::Connect`]; without a timeout (in picoseconds) it may never come.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the payload is too long, and errors of the adapter.
    pub fn connect(
        &mut self,
        uri: &str,
        (attribute, payload): (Attribute, &[u8]),
        context: u64,
        timeout: Option<u64>,
    ) -> Result<(), Error> {
        handshake::connect(self, uri, (attribute, payload), context, timeout)
    }

    /// Accepts a request; the end is an [`EventKind::Accept`].
    ///
    /// # Errors
    /// [`Error::Invalid`] if it was decided before, and errors of the adapter.
    pub fn accept(&mut self, request: RequestId, context: u64) -> Result<(), Error> {
        handshake::accept(self, request, context)
    }

    /// Rejects a request.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it was decided before.
    pub fn reject(&mut self, request: RequestId) -> Result<(), Error> {
        handshake::reject(self, request)
    }

    /// Ends a connection at this side. The peer is not told.
    ///
    /// # Errors
    /// [`Error::Disconnected`] if there is no such connection.
    pub fn disconnect(&mut self, connection: ConnectionId) -> Result<(), Error> {
        let ended = self.connections.remove(&connection);
        let ended = ended.ok_or(Error::Disconnected)?;
        self.release(&ended)?;
        let is_of_it = |event: &EventKind| match event {
            EventKind::Receive { connection: of, .. } | EventKind::Send { connection: of, .. } => {
                *of == connection
            }
            _ => false,
        };
        self.events.retain(|(event, _)| !is_of_it(event));
        Ok(())
    }

    /// Gives the queue pair and the buffers of a connection back.
    pub(crate) fn release(&mut self, connection: &Connection) -> Result<(), Error> {
        if let Some(pair) = &connection.pair {
            self.by_qp.remove(&pair.qp.qp_num);
            self.verbs.destroy_qp(pair.qp)?;
            self.verbs.dereg_mr(&pair.buffers)?;
        }
        Ok(())
    }

    /// Returns the next event, which is borrowed until it is returned.
    pub fn get_event(&mut self) -> Option<Event> {
        self.poll_completions();
        let (kind, duty) = self.events.pop_front()?;
        let id = EventId(self.next_event);
        self.next_event += 1;
        self.borrowed.insert(id, duty);
        Some(Event { id, kind })
    }

    /// Returns an event; receive buffers are posted again.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it was returned before, or is a request that is not decided.
    pub fn return_event(&mut self, id: EventId) -> Result<(), Error> {
        let duty = self.borrowed.get(&id).copied();
        match duty.ok_or(Error::Invalid("the event was returned before"))? {
            Borrowed::Nothing => {}
            Borrowed::Request(request) => {
                let connection = self.connections.get(&ConnectionId(request.0));
                if connection.is_some_and(|one| one.stage == Stage::Requested) {
                    return Err(Error::Invalid("the request is not decided"));
                }
            }
            Borrowed::Buffer(..) if self.settings.has(Defect::BufferNotPosted) => {}
            Borrowed::Buffer(connection, buffer) => self.post_receive(connection, buffer)?,
        }
        self.borrowed.remove(&id);
        Ok(())
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

    pub(crate) fn send_datagram(&mut self, to: &str, datagram: &[u8]) {
        self.datagrams.push_back((to.to_owned(), datagram.to_vec()));
    }

    /// Takes a datagram that arrives now. What is malformed is dropped.
    pub fn handle_datagram(&mut self, now: u64, from: &str, bytes: &[u8]) {
        self.now = now;
        if let Some(datagram) = Datagram::from_bytes(bytes) {
            handshake::handle(self, from, datagram);
        }
    }

    /// Returns the next datagram that leaves now, and its destination.
    pub fn next_datagram(&mut self) -> Option<(Uri, Vec<u8>)> {
        self.datagrams.pop_front()
    }

    /// Returns the time at which [`handle_timeout`](Self::handle_timeout) has to be called next, in
    /// picoseconds.
    #[must_use]
    pub fn next_timeout(&self) -> Option<u64> {
        let timeouts = self.connections.values();
        timeouts.filter_map(Connection::next_timeout).min()
    }

    /// Sets the time, and handles the timeouts that are due.
    pub fn handle_timeout(&mut self, now: u64) {
        self.now = now;
        let due: Vec<ConnectionId> = self
            .connections
            .iter()
            .filter(|(_, one)| one.next_timeout().is_some_and(|at| at <= now))
            .map(|(id, _)| *id)
            .collect();
        for connection in due {
            handshake::time_out(self, connection);
        }
    }

    /// Reports the end of a handshake that has failed, and forgets the connection.
    pub(crate) fn fail_handshake(&mut self, id: ConnectionId, status: Status) {
        let Some(ended) = self.connections.remove(&id) else {
            return;
        };
        let (context, result) = (ended.context, Err(status));
        self.push_event(match ended.stage {
            Stage::Connecting { .. } => EventKind::Connect { context, result },
            _ => EventKind::Accept { context, result },
        });
        // The adapter cannot refuse: the objects exist and are used by nothing else.
        let released = self.release(&ended);
        debug_assert_eq!(released, Ok(()));
    }
}
