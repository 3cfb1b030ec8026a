//! Datagrams between endpoints.
//!
//! A datagram is one byte of kind and the fields of the kind, big-endian. Datagrams may be lost,
//! repeated and reordered. A malformed datagram is dropped.

use std::rc::Rc;

use rdma::Endpoint as QpEndpoint;

/// Address of an endpoint in its network.
pub type Uri = Rc<str>;

/// The longest payload of a connection request, in bytes. CCI: `CCI_CONN_REQ_LEN`.
pub(crate) const PAYLOAD_MAX: usize = 1024;

/// Delivery of the messages of a connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, strum::VariantArray)]
pub enum Attribute {
    /// Once, in the order of the sends (RO).
    ReliableOrdered,
    /// Once, in any order (RU).
    ReliableUnordered,
    /// Any number of times, in any order; no RMA (UU).
    UnreliableUnordered,
}

impl Attribute {
    /// All attributes.
    pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

    /// Returns true if messages are delivered once.
    pub const fn is_reliable(self) -> bool {
        !matches!(self, Self::UnreliableUnordered)
    }

    const fn wire_code(self) -> u8 {
        self as u8
    }

    fn from_code(code: u8) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|one| one.wire_code() == code)
    }
}

/// A datagram. `initiator` is the number of the connection at the side that has connected,
/// `acceptor` that at the other side.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Datagram {
    /// Asks for a connection.
    Request {
        initiator: u32,
        attribute: Attribute,
        qp: Option<QpEndpoint>,
        payload: Vec<u8>,
    },
    /// Accepts a request.
    Accept {
        initiator: u32,
        acceptor: u32,
        qp: Option<QpEndpoint>,
    },
    /// Rejects a request.
    Reject { initiator: u32 },
    /// Acknowledges an `Accept`: the connection is in use.
    Established { acceptor: u32 },
    /// A message of an unreliable connection, by the number at the receiver.
    Message { connection: u32, bytes: Vec<u8> },
    /// Asks for a sign of life of the connection with this number at the receiver.
    Ping { connection: u32 },
    /// Answers a `Ping`.
    Pong { connection: u32 },
}

const REQUEST: u8 = 1;
const ACCEPT: u8 = 2;
const REJECT: u8 = 3;
const ESTABLISHED: u8 = 4;
const MESSAGE: u8 = 5;
const PING: u8 = 6;
const PONG: u8 = 7;

impl Datagram {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.max_length());
        match self {
            Self::Request {
                initiator,
                attribute,
                qp,
                payload,
            } => {
                bytes.push(REQUEST);
                bytes.extend(initiator.to_be_bytes());
                bytes.push(attribute.wire_code());
                put_qp(&mut bytes, qp.as_ref());
                bytes.extend(payload);
            }
            Self::Accept {
                initiator,
                acceptor,
                qp,
            } => {
                bytes.push(ACCEPT);
                bytes.extend(initiator.to_be_bytes());
                bytes.extend(acceptor.to_be_bytes());
                put_qp(&mut bytes, qp.as_ref());
            }
            Self::Reject { initiator } => {
                bytes.push(REJECT);
                bytes.extend(initiator.to_be_bytes());
            }
            Self::Established { acceptor } => {
                bytes.push(ESTABLISHED);
                bytes.extend(acceptor.to_be_bytes());
            }
            Self::Message {
                connection,
                bytes: message,
            } => {
                bytes.push(MESSAGE);
                bytes.extend(connection.to_be_bytes());
                bytes.extend(message);
            }
            Self::Ping { connection } => {
                bytes.push(PING);
                bytes.extend(connection.to_be_bytes());
            }
            Self::Pong { connection } => {
                bytes.push(PONG);
                bytes.extend(connection.to_be_bytes());
            }
        }
        bytes
    }

    /// Returns the number of the connection at the receiver; a request has none yet.
    pub(crate) const fn receiver_number(&self) -> Option<u32> {
        match *self {
            Self::Request { .. } => None,
            Self::Accept {
                initiator: number, ..
            }
            | Self::Reject { initiator: number }
            | Self::Established { acceptor: number }
            | Self::Message {
                connection: number, ..
            }
            | Self::Ping { connection: number }
            | Self::Pong { connection: number } => Some(number),
        }
    }

    /// Returns the maximum length of the datagram, in bytes.
    const fn max_length(&self) -> usize {
        // Kind and attribute, two numbers, a queue pair.
        let fixed = 2 + 2 * size_of::<u32>() + 1 + QpEndpoint::LENGTH;
        match self {
            Self::Request { payload, .. } => fixed + payload.len(),
            Self::Accept { .. } => fixed,
            Self::Message { bytes, .. } => 1 + size_of::<u32>() + bytes.len(),
            Self::Reject { .. }
            | Self::Established { .. }
            | Self::Ping { .. }
            | Self::Pong { .. } => 1 + size_of::<u32>(),
        }
    }

    /// Returns the datagram in these bytes; `None` if they are malformed.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (&kind, rest) = bytes.split_first()?;
        let (number, rest) = split_word(rest)?;
        match kind {
            REQUEST => {
                let (&code, rest) = rest.split_first()?;
                let (qp, payload) = take_qp(rest)?;
                (payload.len() <= PAYLOAD_MAX).then_some(())?;
                Some(Self::Request {
                    initiator: number,
                    attribute: Attribute::from_code(code)?,
                    qp,
                    payload: payload.to_vec(),
                })
            }
            ACCEPT => {
                let (acceptor, rest) = split_word(rest)?;
                let (qp, _) = take_qp(rest)?;
                Some(Self::Accept {
                    initiator: number,
                    acceptor,
                    qp,
                })
            }
            REJECT => Some(Self::Reject { initiator: number }),
            ESTABLISHED => Some(Self::Established { acceptor: number }),
            MESSAGE => Some(Self::Message {
                connection: number,
                bytes: rest.to_vec(),
            }),
            PING => Some(Self::Ping { connection: number }),
            PONG => Some(Self::Pong { connection: number }),
            _ => None,
        }
    }
}

fn split_word(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (word, rest) = bytes.split_first_chunk()?;
    Some((u32::from_be_bytes(*word), rest))
}

fn put_qp(bytes: &mut Vec<u8>, qp: Option<&QpEndpoint>) {
    bytes.push(u8::from(qp.is_some()));
    if let Some(qp) = qp {
        bytes.extend(qp.to_bytes());
    }
}

fn take_qp(bytes: &[u8]) -> Option<(Option<QpEndpoint>, &[u8])> {
    let (&is_some, rest) = bytes.split_first()?;
    if is_some == 0 {
        return Some((None, rest));
    }
    let (qp, rest) = rest.split_first_chunk()?;
    Some((Some(QpEndpoint::from_bytes(qp).ok()?), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_are_read_as_they_were_written() {
        for datagram in [
            Datagram::Request {
                initiator: 7,
                attribute: Attribute::UnreliableUnordered,
                qp: None,
                payload: b"hello".to_vec(),
            },
            Datagram::Accept {
                initiator: 7,
                acceptor: 9,
                qp: None,
            },
            Datagram::Reject { initiator: 1 },
            Datagram::Established { acceptor: u32::MAX },
            Datagram::Ping { connection: 5 },
            Datagram::Pong { connection: 6 },
            Datagram::Message {
                connection: 3,
                bytes: Vec::new(),
            },
        ] {
            let bytes = datagram.to_bytes();
            assert_eq!(Datagram::from_bytes(&bytes), Some(datagram));
            for length in 0..5 {
                assert_eq!(Datagram::from_bytes(&bytes[..length]), None);
            }
        }
        assert_eq!(Datagram::from_bytes(&[9, 0, 0, 0, 0]), None);
    }
}
