//! A worker: what it does for a command, and what it has observed.

use std::collections::{BTreeMap, BTreeSet};

use endpoint::{Attribute as Delivery, ConnectionId, Endpoint, EventKind, Status};

use crate::interaction::{Attribute, Command};
use crate::world::uri;

/// An observation of a worker.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Response {
    /// A connection that it has initiated or accepted is in use.
    Connected {
        /// The connection.
        connection: u32,
    },
    /// Its request was rejected.
    Rejected {
        /// The connection.
        connection: u32,
    },
    /// A request arrived and was accepted.
    RequestAccepted {
        /// The connection.
        connection: u32,
    },
    /// A request arrived and was rejected.
    RequestRejected {
        /// The connection.
        connection: u32,
    },
    /// A request arrived that it was not told about.
    RequestIgnored {
        /// The connection.
        connection: u32,
    },
    /// A message arrived.
    Received {
        /// The connection.
        connection: u32,
        /// Its bytes.
        message: Vec<u8>,
    },
    /// A send has ended.
    Sent {
        /// The connection.
        connection: u32,
        /// The message.
        message: u32,
        /// True if it succeeded.
        is_success: bool,
    },
    /// A call failed, or an event was not expected.
    Failed(String),
}

/// A worker.
#[derive(Default)]
pub(crate) struct Worker {
    connections: BTreeMap<u32, ConnectionId>,
    numbers: BTreeMap<ConnectionId, u32>,
    accepts: BTreeSet<u32>,
    rejects: BTreeSet<u32>,
    /// All observations, in their order.
    pub(crate) responses: Vec<Response>,
    /// Those that a wait can still be for.
    unmatched: Vec<Response>,
}

/// Returns the content of a message: its number, then that number repeated, cut to its length; a
/// number longer than the message is not cut.
pub(crate) fn content(message: u32, length: u32) -> Vec<u8> {
    let number = message.to_string();
    let length = (length as usize).max(number.len());
    let mut text = number.clone();
    text.push(' ');
    while text.len() < length {
        text.push_str(&number);
    }
    text.truncate(length);
    text.into_bytes()
}

/// Returns the number of the message with this content.
pub(crate) fn number_of(message: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(message).ok()?;
    text.split(' ').next()?.parse().ok()
}

impl Worker {
    /// Begins a command.
    pub(crate) fn begin(&mut self, command: &Command, endpoint: &mut Endpoint) {
        let done = match command {
            Command::ConnectTo {
                to,
                connection,
                attribute,
            } => {
                let attribute = match attribute {
                    Attribute::Ro => Delivery::ReliableOrdered,
                    Attribute::Ru => Delivery::ReliableUnordered,
                    Attribute::Uu => Delivery::UnreliableUnordered,
                };
                let payload = u64::from(*connection).to_be_bytes();
                let context = u64::from(*connection);
                endpoint.connect(&uri(*to), (attribute, &payload), context, None)
            }
            Command::Accept { connection } => {
                self.accepts.insert(*connection);
                Ok(())
            }
            Command::Reject { connection } => {
                self.rejects.insert(*connection);
                Ok(())
            }
            Command::Disconnect { connection } => match self.connections.remove(connection) {
                Some(id) => endpoint.disconnect(id),
                None => Err(endpoint::Error::Disconnected),
            },
            Command::Send {
                connection,
                message,
                length,
            } => match self.connections.get(connection) {
                Some(id) => {
                    let bytes = content(*message, *length);
                    endpoint.send(*id, u64::from(*message), &bytes)
                }
                None => Err(endpoint::Error::Disconnected),
            },
            Command::WaitConnection { .. }
            | Command::WaitRequest { .. }
            | Command::WaitSendCompletion { .. }
            | Command::WaitReceive { .. } => Ok(()),
        };
        if let Err(error) = done {
            self.respond(Response::Failed(format!("{command:?}: {error}")));
        }
    }

    /// Returns true if a command has ended; a wait takes what it was for.
    pub(crate) fn has_ended(&mut self, command: &Command) -> bool {
        let is_it = |response: &Response| match (command, response) {
            (
                Command::WaitConnection { connection },
                Response::Connected { connection: of }
                | Response::Rejected { connection: of }
                | Response::RequestRejected { connection: of },
            ) => connection == of,
            (Command::WaitRequest { connection }, Response::RequestAccepted { connection: of }) => {
                connection == of
            }
            (
                Command::WaitSendCompletion {
                    connection,
                    message,
                },
                Response::Sent {
                    connection: of,
                    message: sent,
                    ..
                },
            ) => (connection, message) == (of, sent),
            (
                Command::WaitReceive {
                    connection,
                    message,
                },
                Response::Received {
                    connection: of,
                    message: bytes,
                },
            ) => connection == of && number_of(bytes) == Some(*message),
            _ => false,
        };
        if !command.waits() {
            return true;
        }
        let at = self.unmatched.iter().position(is_it);
        at.map(|at| self.unmatched.remove(at)).is_some()
    }

    /// Takes all events of the endpoint.
    pub(crate) fn poll(&mut self, endpoint: &mut Endpoint) {
        while let Some(event) = endpoint.get_event() {
            self.observe(event.kind, endpoint);
            if let Err(error) = endpoint.return_event(event.id) {
                self.respond(Response::Failed(format!("return of an event: {error}")));
            }
        }
    }

    fn observe(&mut self, event: EventKind, endpoint: &mut Endpoint) {
        let response = match event {
            EventKind::Connect { context, result } | EventKind::Accept { context, result } => {
                self.connected(context, result)
            }
            EventKind::ConnectRequest {
                request, payload, ..
            } => {
                let number = payload.first_chunk().map(|word| u64::from_be_bytes(*word));
                let number = number.and_then(|number| u32::try_from(number).ok());
                let connection = number.unwrap_or(0);
                let (done, response) = if self.accepts.remove(&connection) {
                    let done = endpoint.accept(request, u64::from(connection));
                    (done, Response::RequestAccepted { connection })
                } else {
                    let done = endpoint.reject(request);
                    if self.rejects.remove(&connection) {
                        (done, Response::RequestRejected { connection })
                    } else {
                        (done, Response::RequestIgnored { connection })
                    }
                };
                done.map_or_else(|error| Response::Failed(error.to_string()), |()| response)
            }
            EventKind::Send {
                connection,
                context,
                status,
            } => Response::Sent {
                connection: self.number(connection),
                message: u32::try_from(context).unwrap_or(0),
                is_success: status == Status::Success,
            },
            EventKind::Receive {
                connection,
                message,
            } => Response::Received {
                connection: self.number(connection),
                message,
            },
            other => Response::Failed(format!("{other:?} was not expected")),
        };
        self.respond(response);
    }

    fn connected(&mut self, context: u64, result: Result<ConnectionId, Status>) -> Response {
        let connection = u32::try_from(context).unwrap_or(0);
        match result {
            Ok(id) => {
                self.connections.insert(connection, id);
                self.numbers.insert(id, connection);
                Response::Connected { connection }
            }
            Err(Status::Refused) => Response::Rejected { connection },
            Err(status) => Response::Failed(format!("connection {connection}: {status:?}")),
        }
    }

    fn number(&self, id: ConnectionId) -> u32 {
        self.numbers.get(&id).copied().unwrap_or(0)
    }

    fn respond(&mut self, response: Response) {
        self.responses.push(response.clone());
        self.unmatched.push(response);
    }
}

impl Command {
    /// Returns true if the command ends only with an event.
    #[must_use]
    pub const fn waits(&self) -> bool {
        matches!(
            self,
            Self::WaitConnection { .. }
                | Self::WaitRequest { .. }
                | Self::WaitSendCompletion { .. }
                | Self::WaitReceive { .. }
        )
    }
}
