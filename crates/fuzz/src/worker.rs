//! A worker: begins commands, takes events of the endpoint and records observations.
//!
//! The worker checks the contract of the endpoint, too: a request cannot be decided twice, nor
//! returned before the decision, and an event cannot be returned twice.

use std::collections::BTreeMap;
use std::rc::Rc;

use endpoint::{
    Access, Attribute as Delivery, ConnectionId, ConnectionStage, Endpoint, Error, EventId,
    EventKind, Flags, MessageBytes, OperationId, RequestId, RmaHandle, Status, Uri,
};

use crate::command::{Attribute, BUFFER, Command, MICROSECOND, SendFlags};
use crate::pattern::{content, number_of, write_content};
use crate::response::Response;
use crate::rma::Rma;

/// Treatment of a request, as announced by a command.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Decision {
    Accept,
    Reject,
    Ignore,
}

/// State of the command of a worker.
enum CommandState {
    /// The command has ended.
    Ended,
    /// The command waits for observations.
    Waits,
    /// A call is tried again: all buffers are in use.
    Retries,
    /// A blocking send waits for completion.
    Blocks(OperationId),
    /// The command ends at this time.
    Until(u64),
}

/// Responses for which a worker has room at first. \[choice\]
const RESPONSES: usize = 32;

/// A worker.
pub struct Worker {
    /// Address of each worker.
    uris: Rc<Vec<Uri>>,
    connections: BTreeMap<u32, ConnectionId>,
    numbers: BTreeMap<ConnectionId, u32>,
    /// Stages of connections without a known identifier so far.
    early: BTreeMap<u32, ConnectionStage>,
    decisions: BTreeMap<u32, Decision>,
    pub(crate) rma: Rma,
    progress: CommandState,
    responses: Vec<Response>,
    /// Responses that a wait can still be for.
    unmatched: Vec<usize>,
    /// Events that are kept until the end: requests that are ignored.
    kept: usize,
    /// Content of the message that is sent.
    text: Vec<u8>,
    /// Events to return; empty between calls.
    borrowed: Vec<EventId>,
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker")
            .field("responses", &self.responses)
            .finish_non_exhaustive()
    }
}

impl Worker {
    /// Returns a worker that knows the addresses of all workers.
    pub fn new(uris: Rc<Vec<Uri>>) -> Self {
        Self {
            uris,
            connections: BTreeMap::new(),
            numbers: BTreeMap::new(),
            early: BTreeMap::new(),
            decisions: BTreeMap::new(),
            rma: Rma::default(),
            progress: CommandState::Ended,
            responses: Vec::with_capacity(RESPONSES),
            unmatched: Vec::with_capacity(RESPONSES),
            kept: 0,
            text: Vec::new(),
            borrowed: Vec::new(),
        }
    }

    /// Returns all observations, in their order.
    pub fn into_responses(self) -> Vec<Response> {
        self.responses
    }

    /// Returns the observations until now.
    pub fn responses(&self) -> &[Response] {
        &self.responses
    }

    /// Returns the stage of a connection.
    pub fn stage(&self, connection: u32, endpoint: &Endpoint) -> ConnectionStage {
        match self.connections.get(&connection) {
            Some(id) => endpoint.stage(*id),
            None => *self
                .early
                .get(&connection)
                .unwrap_or(&ConnectionStage::Closed),
        }
    }

    /// Begins a command at a time in picoseconds.
    pub fn begin(&mut self, command: &Command, endpoint: &mut Endpoint, now: u64) {
        self.progress = CommandState::Ended;
        if command.waits() {
            self.progress = CommandState::Waits;
        } else if let Command::Pause { time, .. } = command {
            self.progress = CommandState::Until(now + time * MICROSECOND);
        } else {
            self.call_endpoint(command, endpoint);
        }
    }

    /// Makes the call of a command, or records that the call has to be tried again.
    fn call_endpoint(&mut self, command: &Command, endpoint: &mut Endpoint) {
        self.progress = match self.execute_command(command, endpoint) {
            Ok(progress) => progress,
            Err(Error::NoBuffers) => CommandState::Retries,
            Err(error) => {
                self.respond(Response::Failed(format!("{command:?}: {error}")));
                CommandState::Ended
            }
        };
    }

    fn execute_command(
        &mut self,
        command: &Command,
        endpoint: &mut Endpoint,
    ) -> Result<CommandState, Error> {
        match command {
            Command::ConnectTo {
                to,
                connection,
                attribute,
                timeout,
            } => {
                let payload = u64::from(*connection).to_be_bytes();
                let uri = &self.uris[*to as usize];
                let timeout = timeout.map(|time| time * MICROSECOND);
                let context = u64::from(*connection);
                endpoint.connect(uri, (delivery(*attribute), &payload), context, timeout)?;
                self.early.insert(*connection, ConnectionStage::Connecting);
            }
            Command::Accept { connection } => {
                self.decisions.insert(*connection, Decision::Accept);
            }
            Command::Reject { connection } => {
                self.decisions.insert(*connection, Decision::Reject);
            }
            Command::Ignore { connection } => {
                self.decisions.insert(*connection, Decision::Ignore);
            }
            Command::Disconnect { connection } => {
                let id = self.connections.remove(connection);
                endpoint.disconnect(id.ok_or(Error::Disconnected)?)?;
            }
            Command::Send {
                connection,
                message,
                length,
                flags,
            } => {
                let id = self.id(*connection)?;
                return self.send_message(endpoint, id, (*message, *length), *flags);
            }
            Command::SetKeepalive {
                connection,
                timeout,
            } => {
                let id = self.id(*connection)?;
                endpoint.set_keepalive_timeout(Some(id), Some(timeout * MICROSECOND))?;
            }
            _ => {
                let id = self.id(command.connection())?;
                let content = self.rma.execute_command(command, id, endpoint)?;
                let connection = command.connection();
                if let Some(bytes) = content {
                    self.respond(Response::Content { connection, bytes });
                }
            }
        }
        Ok(CommandState::Ended)
    }

    fn send_message(
        &mut self,
        endpoint: &mut Endpoint,
        id: ConnectionId,
        (message, length): (u32, u32),
        flags: SendFlags,
    ) -> Result<CommandState, Error> {
        let options = Flags {
            silent: flags.silent,
            blocking: flags.blocking,
            fence: false,
        };
        let context = u64::from(message);
        let operation = if flags.lent {
            let bytes = Rc::new(content(message, length));
            endpoint.send(id, context, MessageBytes::Lent(bytes), options)?
        } else {
            write_content(&mut self.text, message, length);
            endpoint.send(id, context, MessageBytes::Copied(&self.text), options)?
        };
        Ok(if flags.blocking {
            CommandState::Blocks(operation)
        } else {
            CommandState::Ended
        })
    }

    fn id(&self, connection: u32) -> Result<ConnectionId, Error> {
        let found = self.connections.get(&connection);
        found.copied().ok_or(Error::Disconnected)
    }

    /// Returns true if a command has ended; a wait takes the awaited observations.
    pub fn has_ended(&mut self, command: &Command, endpoint: &mut Endpoint, now: u64) -> bool {
        match self.progress {
            CommandState::Ended => {}
            CommandState::Waits => return self.take_observations(command),
            CommandState::Until(end) => return now >= end,
            CommandState::Retries => {
                self.call_endpoint(command, endpoint);
                return matches!(self.progress, CommandState::Ended);
            }
            CommandState::Blocks(operation) => {
                let Some(status) = endpoint.blocking_status(operation) else {
                    return false;
                };
                self.respond(Response::Sent {
                    connection: command.connection(),
                    message: command.message_number().unwrap_or(0),
                    status,
                });
                self.unmatched.pop();
                self.progress = CommandState::Ended;
            }
        }
        true
    }

    /// Returns the time at which the command ends by itself.
    pub const fn alarm(&self) -> Option<u64> {
        match self.progress {
            CommandState::Until(end) => Some(end),
            _ => None,
        }
    }

    /// Takes the observations that a wait is for; returns false if they are not all there.
    fn take_observations(&mut self, command: &Command) -> bool {
        let find = |is_it: &dyn Fn(&Response) -> bool| {
            let mut places = 0..self.unmatched.len();
            places.find(|at| is_it(&self.responses[self.unmatched[*at]]))
        };
        let found = match command {
            Command::RmaWaitExchange {
                connection,
                message,
            } => {
                let handle = Response::HandleArrived {
                    connection: *connection,
                };
                let handle = find(&|one| *one == handle);
                let sent = find(&|one| is_sent(one, *connection, *message));
                let both = handle.zip(sent);
                both.map(|(one, other)| (one.max(other), Some(one.min(other))))
            }
            _ => find(&|response| awaits(command, response)).map(|at| (at, None)),
        };
        let Some((last, first)) = found else {
            return false;
        };
        self.unmatched.remove(last);
        if let Some(first) = first {
            self.unmatched.remove(first);
        }
        true
    }

    /// Takes all events of the endpoint; returns them in the reverse order.
    pub fn poll(&mut self, endpoint: &mut Endpoint) {
        let mut borrowed = std::mem::take(&mut self.borrowed);
        loop {
            match endpoint.get_event() {
                Ok(Some(event)) => {
                    if self.record_event(event.kind, event.id, endpoint) {
                        borrowed.push(event.id);
                    }
                }
                Ok(None) => break,
                // Until events are returned.
                Err(Error::NoBuffers) if !borrowed.is_empty() => {
                    self.return_events(endpoint, &mut borrowed);
                }
                Err(error) => {
                    self.respond(Response::Failed(format!("get_event: {error}")));
                    break;
                }
            }
        }
        self.return_events(endpoint, &mut borrowed);
        self.borrowed = borrowed;
    }

    fn return_events(&mut self, endpoint: &mut Endpoint, borrowed: &mut Vec<EventId>) {
        while let Some(id) = borrowed.pop() {
            if let Err(error) = endpoint.return_event(id) {
                self.respond(Response::Failed(format!("return of an event: {error}")));
            } else if endpoint.return_event(id).is_ok() {
                let what = "an event could be returned twice";
                self.respond(Response::Failed(what.to_owned()));
            }
        }
    }

    /// Records an event; returns false if the event is kept until the end.
    fn record_event(&mut self, event: EventKind, id: EventId, endpoint: &mut Endpoint) -> bool {
        let response = match event {
            EventKind::Connect { context, result } | EventKind::Accept { context, result } => {
                self.handle_connected(context, result)
            }
            EventKind::ConnectRequest {
                request, payload, ..
            } => {
                if endpoint.return_event(id).is_ok() {
                    let what = "a request could be returned before its decision";
                    self.respond(Response::Failed(what.to_owned()));
                }
                let (response, is_decided) = self.requested(&payload, request, endpoint);
                self.respond(response);
                self.kept += usize::from(!is_decided);
                return is_decided;
            }
            EventKind::Send {
                connection,
                context,
                status,
            } => self.handle_ended(connection, context, status, endpoint),
            EventKind::Receive {
                connection,
                message,
            } => self.handle_received(connection, message, endpoint),
            EventKind::KeepaliveTimedOut { connection } => match self.connection_number(connection)
            {
                Some(connection) => Response::KeepaliveTimedOut { connection },
                None => after_disconnect("a keepalive"),
            },
            other => Response::Failed(format!("{other:?} was not expected")),
        };
        self.respond(response);
        true
    }

    /// Decides a request as announced; returns false if the request was ignored.
    fn requested(
        &mut self,
        payload: &[u8],
        request: RequestId,
        endpoint: &mut Endpoint,
    ) -> (Response, bool) {
        let number = payload.first_chunk().map(|word| u64::from_be_bytes(*word));
        let connection = number.and_then(|number| u32::try_from(number).ok());
        let connection = connection.unwrap_or(0);
        let (done, response) = match self.decisions.remove(&connection) {
            Some(Decision::Accept) => {
                self.early.insert(connection, ConnectionStage::Accepting);
                let done = endpoint.accept(request, u64::from(connection));
                (done, Response::RequestAccepted { connection })
            }
            Some(Decision::Reject) => {
                let done = endpoint.reject(request);
                (done, Response::RequestRejected { connection })
            }
            Some(Decision::Ignore) => {
                self.early.insert(connection, ConnectionStage::Requested);
                return (Response::RequestIgnored { connection }, false);
            }
            None => {
                let done = endpoint.reject(request);
                let what = format!("a request of connection {connection} was not expected");
                (done, Response::Failed(what))
            }
        };
        if let Err(error) = done {
            let what = format!("connection {connection}: {error}");
            return (Response::Failed(what), true);
        }
        if endpoint.accept(request, u64::from(connection)).is_ok() {
            let what = format!("connection {connection}: a request could be accepted twice");
            return (Response::Failed(what), true);
        }
        (response, true)
    }

    fn handle_connected(&mut self, context: u64, result: Result<ConnectionId, Status>) -> Response {
        let connection = u32::try_from(context).unwrap_or(0);
        self.early.remove(&connection);
        match result {
            Ok(id) => {
                self.connections.insert(connection, id);
                self.numbers.insert(id, connection);
                Response::Connected { connection }
            }
            Err(Status::Refused) => Response::Rejected { connection },
            Err(Status::TimedOut) => Response::TimedOut { connection },
            Err(status) => Response::Failed(format!("connection {connection}: {status:?}")),
        }
    }

    fn handle_ended(
        &mut self,
        id: ConnectionId,
        context: u64,
        status: Status,
        endpoint: &Endpoint,
    ) -> Response {
        let Some(connection) = self.connection_number(id) else {
            return after_disconnect("the end of an operation");
        };
        let message = u32::try_from(context).unwrap_or(0);
        match self.rma.delivered_bytes((connection, message), endpoint) {
            Some(mut bytes) => {
                if status != Status::Success {
                    bytes.clear();
                }
                Response::RmaEnded {
                    connection,
                    message,
                    status,
                    bytes,
                }
            }
            None => Response::Sent {
                connection,
                message,
                status,
            },
        }
    }

    fn handle_received(
        &mut self,
        id: ConnectionId,
        message: Vec<u8>,
        endpoint: &Endpoint,
    ) -> Response {
        let Some(connection) = self.connection_number(id) else {
            return after_disconnect("a message");
        };
        if message.starts_with(b"rma") {
            return self.rma.handle_message(connection, &message, endpoint);
        }
        Response::Received {
            connection,
            message,
        }
    }

    /// Returns the number of a connection that was not disconnected.
    fn connection_number(&self, id: ConnectionId) -> Option<u32> {
        let number = self.numbers.get(&id).copied().unwrap_or(0);
        let known = self.connections.contains_key(&number) || number == 0;
        known.then_some(number)
    }

    /// Checks at the end that all events but the kept ones were returned.
    pub fn finish(&mut self, endpoint: &Endpoint) {
        let (found, expected) = (endpoint.borrowed_events(), self.kept);
        if found != expected {
            let what = format!("{found} events are borrowed, expected {expected}");
            self.respond(Response::Failed(what));
        }
    }

    /// Notes that the endpoint could not be destroyed.
    pub fn cannot_destroy(&mut self, why: &str) {
        let what = format!("the endpoint cannot be destroyed: {why}");
        self.respond(Response::Failed(what));
    }

    /// Notes an observation.
    fn respond(&mut self, response: Response) {
        self.unmatched.push(self.responses.len());
        self.responses.push(response);
    }
}

fn after_disconnect(what: &str) -> Response {
    Response::Failed(format!("{what} came after the connection was disconnected"))
}

const fn delivery(attribute: Attribute) -> Delivery {
    match attribute {
        Attribute::Ro => Delivery::ReliableOrdered,
        Attribute::Ru => Delivery::ReliableUnordered,
        Attribute::Uu => Delivery::UnreliableUnordered,
    }
}

fn is_sent(response: &Response, connection: u32, message: u32) -> bool {
    matches!(response, Response::Sent { connection: of, message: sent, .. }
        if (*of, *sent) == (connection, message))
}

/// Returns true if a wait is for this observation.
fn awaits(command: &Command, response: &Response) -> bool {
    let of = command.connection();
    let number = command.message_number().unwrap_or(0);
    match (command, response) {
        (
            Command::WaitConnection { .. },
            Response::Connected { connection }
            | Response::Rejected { connection }
            | Response::RequestRejected { connection }
            | Response::TimedOut { connection },
        )
        | (
            Command::WaitRequest { .. },
            Response::RequestAccepted { connection }
            | Response::RequestRejected { connection }
            | Response::RequestIgnored { connection },
        )
        | (Command::WaitKeepalive { .. }, Response::KeepaliveTimedOut { connection }) => {
            of == *connection
        }
        (Command::WaitSendCompletion { .. }, _) => is_sent(response, of, number),
        (
            Command::WaitReceive { .. },
            Response::Received {
                connection,
                message,
            },
        ) => of == *connection && number_of(message) == Some(number),
        (
            Command::RmaWait { .. },
            Response::RmaEnded {
                connection,
                message,
                ..
            }
            | Response::RmaArrived {
                connection,
                message,
                ..
            },
        ) => (of, number) == (*connection, *message),
        _ => false,
    }
}

impl Command {
    /// Returns true if the command ends only with an observation.
    pub const fn waits(&self) -> bool {
        matches!(
            self,
            Self::WaitConnection { .. }
                | Self::WaitRequest { .. }
                | Self::WaitSendCompletion { .. }
                | Self::WaitReceive { .. }
                | Self::RmaWaitExchange { .. }
                | Self::RmaWait { .. }
                | Self::WaitKeepalive { .. }
        )
    }
}

/// Registers a buffer for remote memory access.
pub(crate) fn register_buffer(endpoint: &mut Endpoint) -> Result<RmaHandle, Error> {
    let access = Access::REMOTE_READ | Access::REMOTE_WRITE;
    endpoint.rma_register(vec![0; BUFFER as usize], access)
}
