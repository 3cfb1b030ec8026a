//! Active messages: send and receive buffers of a connection.

use std::rc::Rc;

use rdma::{
    Access, MemoryRegion, Operation, Payload, QpCapabilities, QpInitAttributes, RecvRequest,
    RegionMemory, SendFlags as WorkFlags, SendRequest, Sge, WorkCompletion,
};

use crate::connection::{ConnectionId, OperationId, Pair, PostedOperation};
use crate::defect::Defect;
use crate::endpoint::Endpoint;
use crate::event::{EventKind, Status};
use crate::operations::{Flags, RECEIVE};
use crate::stage::ConnectionStage;
use crate::wire::{Attribute, Datagram};
use crate::{Error, handshake};

/// The bytes of a message.
#[derive(Clone, Debug)]
pub enum MessageBytes<'a> {
    /// They are copied at once.
    Copied(&'a [u8]),
    /// They are lent until the operation has ended (`CCI_FLAG_NO_COPY`).
    Lent(Rc<Vec<u8>>),
}

impl MessageBytes<'_> {
    /// Returns the bytes.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Copied(bytes) => bytes,
            Self::Lent(bytes) => bytes,
        }
    }
}

/// Creates a queue pair with its buffers.
pub(crate) fn make_pair(endpoint: &Endpoint, psn: u32) -> Result<Pair, Error> {
    let settings = &endpoint.settings;
    let cap = QpCapabilities {
        // Twice as many messages as buffers (lent ones have none), as many transfers as buffers,
        // and a completion message of each.
        max_send_wr: 4 * settings.send_buffers,
        max_recv_wr: settings.receive_buffers,
        ..QpCapabilities::default()
    };
    let qp = endpoint.verbs.create_qp(&QpInitAttributes {
        pd: endpoint.pd,
        send_cq: endpoint.cq,
        recv_cq: endpoint.cq,
        cap,
        sq_sig_all: false,
    })?;
    let local = rdma::prepare(&*endpoint.verbs, qp, &settings.queue_pairs, psn)?;
    Ok(Pair {
        qp,
        local,
        sends: buffers(endpoint, settings.send_buffers)?,
        receives: buffers(endpoint, settings.receive_buffers)?,
        free: (0..settings.send_buffers).rev().collect(),
        borrowed: 0,
        operations: std::collections::VecDeque::new(),
        fences_next: false,
        failure: Status::Disconnected,
    })
}

/// Registers buffers of messages.
fn buffers(endpoint: &Endpoint, count: u32) -> Result<MemoryRegion, Error> {
    let length = u64::from(count) * u64::from(endpoint.settings.max_send_size);
    let region = endpoint.verbs.reg_mr(
        endpoint.pd,
        RegionMemory::Zeroed(length),
        Access::LOCAL_WRITE,
    );
    region.map_err(|refused| Error::Adapter(refused.error))
}

/// Posts all receive buffers of a connection, if the connection has a queue pair.
pub(crate) fn post_all_receives(endpoint: &Endpoint, id: ConnectionId) -> Result<(), Error> {
    let connection = endpoint.connections.get(&id);
    let Some(pair) = connection.and_then(|one| one.pair.as_ref()) else {
        return Ok(());
    };
    let size = endpoint.settings.max_send_size;
    let count = endpoint.settings.receive_buffers;
    for first in (0..count).step_by(POSTED) {
        let buffers: [u32; POSTED] = std::array::from_fn(|at| first + short(at as u64));
        let sges = buffers.map(|buffer| [receive_sge(pair, buffer, size)]);
        let requests: [RecvRequest<'_>; POSTED] = std::array::from_fn(|at| RecvRequest {
            wr_id: RECEIVE | u64::from(buffers[at]),
            sges: &sges[at],
        });
        let left = POSTED.min((count - first) as usize);
        let posted = endpoint.verbs.post_recv(pair.qp, &requests[..left]);
        posted.map_err(|refused| Error::Adapter(refused.error))?;
    }
    Ok(())
}

/// Receive buffers that are posted at once.
const POSTED: usize = 16;

/// Returns the bytes of a receive buffer.
fn receive_sge(pair: &Pair, buffer: u32, size: u32) -> Sge {
    let offset = u64::from(buffer) * u64::from(size);
    pair.receives.sge(offset, size)
}

/// Takes a message of an unreliable connection.
pub(crate) fn datagram(endpoint: &mut Endpoint, id: ConnectionId, bytes: Vec<u8>) {
    handshake::established(endpoint, id);
    let connection = endpoint.connections.get(&id);
    if connection.is_some_and(|one| one.is_open() && one.pair.is_none()) {
        endpoint.push_event(EventKind::Receive {
            connection: id,
            message: bytes,
        });
    }
}

impl Endpoint {
    /// Sends an active message. The end is an [`EventKind::Send`], unless the flags say otherwise;
    /// on an unreliable connection it says nothing about the peer. A lent message can be silent
    /// only on a reliable ordered connection, where a later end implies the end of this send.
    pub fn send(
        &mut self,
        connection: ConnectionId,
        context: u64,
        message: MessageBytes<'_>,
        flags: Flags,
    ) -> Result<OperationId, Error> {
        let found = self.connections.get(&connection);
        let found = found.filter(|one| one.is_open());
        let found = found.ok_or(Error::Disconnected)?;
        let report = flags.to_report()?;
        if flags.fence {
            return Err(Error::Invalid("a message has no fence"));
        }
        let is_lent = matches!(message, MessageBytes::Lent(_));
        if is_lent && flags.silent && found.attribute != Attribute::ReliableOrdered {
            return Err(Error::Invalid(
                "a lent message is silent only on a reliable ordered connection",
            ));
        }
        if message.bytes().len() > self.settings.max_send_size as usize {
            return Err(Error::MessageSize);
        }
        if found.attribute.is_reliable() {
            return self.post_message(connection, context, message, flags);
        }
        let datagram = Datagram::Message {
            connection: found.remote,
            bytes: message.bytes().to_vec(),
        };
        let peer = found.peer.clone();
        self.send_datagram(peer, datagram.to_bytes());
        let id = self.new_operation();
        let report = if self.settings.has(Defect::SilentIgnoredOnUu) && flags.silent {
            crate::connection::CompletionReport::Event
        } else {
            report
        };
        self.end_operation(connection, (id, context), report, Status::Success);
        Ok(id)
    }

    fn post_message(
        &mut self,
        connection: ConnectionId,
        context: u64,
        message: MessageBytes<'_>,
        flags: Flags,
    ) -> Result<OperationId, Error> {
        let id = self.new_operation();
        let most = 2 * self.settings.send_buffers as usize;
        let pair = self.open_pair(connection)?.0;
        if pair.operations.iter().filter(|one| !one.is_rma).count() >= most {
            return Err(Error::NoBuffers);
        }
        let (buffer, lent, sge) = match message {
            MessageBytes::Lent(bytes) if !bytes.is_empty() => {
                let region = self.lend(bytes)?;
                (None, Some(region), region.sge(0, short(region.length)))
            }
            message => {
                let (buffer, sge) = self.fill_buffer(connection, message.bytes())?;
                (Some(buffer), None, sge)
            }
        };
        self.post_send_of(connection, id, sge, WorkFlags::SIGNALED)?;
        let (pair, deadline) = self.open_pair(connection)?;
        pair.operations.push_back(PostedOperation {
            id,
            context,
            report: flags.to_report()?,
            buffer,
            lent,
            is_rma: false,
            deadline,
        });
        Ok(id)
    }

    /// Registers a message that the program lends.
    fn lend(&self, bytes: Rc<Vec<u8>>) -> Result<MemoryRegion, Error> {
        let memory = RegionMemory::ReadOnly(bytes);
        let region = self.verbs.reg_mr(self.pd, memory, Access::NONE);
        region.map_err(|refused| Error::Adapter(refused.error))
    }

    /// Copies a message to a send buffer; returns the buffer and an entry of the message.
    pub(crate) fn fill_buffer(
        &mut self,
        connection: ConnectionId,
        bytes: &[u8],
    ) -> Result<(u32, Sge), Error> {
        if bytes.len() > self.settings.max_send_size as usize {
            return Err(Error::MessageSize);
        }
        let size = self.settings.max_send_size;
        let shares = self.settings.has(Defect::BytesNotCopied);
        let pair = self.open_pair(connection)?.0;
        let buffer = pair.free.pop().ok_or(Error::NoBuffers)?;
        let offset = if shares {
            0
        } else {
            u64::from(buffer) * u64::from(size)
        };
        let region = pair.sends;
        self.verbs.write_mr(&region, offset, bytes)?;
        Ok((buffer, region.sge(offset, short(bytes.len() as u64))))
    }

    /// Posts a send.
    pub(crate) fn post_send_of(
        &mut self,
        connection: ConnectionId,
        id: OperationId,
        sge: Sge,
        flags: WorkFlags,
    ) -> Result<(), Error> {
        let qp = self.open_pair(connection)?.0.qp;
        let request = SendRequest {
            wr_id: id.0,
            operation: Operation::Send,
            payload: Payload::Sges(&[sge]),
            flags,
        };
        let posted = self.verbs.post_send(qp, &[request]);
        posted.map_err(|refused| Error::Adapter(refused.error))
    }

    /// Posts a receive buffer, unless its connection has ended.
    pub(crate) fn post_receive(&self, id: ConnectionId, buffer: u32) -> Result<(), Error> {
        let connection = self.connections.get(&id);
        let Some(pair) = connection.and_then(|one| one.pair.as_ref()) else {
            return Ok(());
        };
        let request = RecvRequest {
            wr_id: RECEIVE | u64::from(buffer),
            sges: &[receive_sge(pair, buffer, self.settings.max_send_size)],
        };
        let posted = self.verbs.post_recv(pair.qp, &[request]);
        posted.map_err(|refused| Error::Adapter(refused.error))
    }

    /// Reports a message that has arrived in a receive buffer.
    pub(crate) fn report_message(&mut self, id: ConnectionId, completion: &WorkCompletion) {
        let stage = self.stage(id);
        if self.settings.has(Defect::FirstMessageLost) && stage == ConnectionStage::Accepting {
            return;
        }
        handshake::established(self, id);
        let (size, now) = (self.settings.max_send_size, self.now);
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        connection.note_heard(now);
        let Some(pair) = &connection.pair else {
            return;
        };
        let region = pair.receives;
        let buffer = u32::try_from(completion.wr_id & !RECEIVE).unwrap_or(u32::MAX);
        let offset = u64::from(buffer) * u64::from(size);
        let mut message = vec![0; completion.byte_len as usize];
        // The region is ours and registered.
        if self.verbs.read_mr(&region, offset, &mut message).is_ok() {
            self.push_message(id, message, buffer);
        }
    }
}

/// Returns a length that a scatter/gather entry has.
pub(crate) fn short(length: u64) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
