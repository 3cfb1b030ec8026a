//! Active messages: send and receive buffers of a connection, and completions.

use rdma::{
    Access, MemoryRegion, Operation as WorkOperation, Payload, QpCapabilities, QpInitAttributes,
    QueuePair, RecvRequest, RegionMemory, SendFlags as WorkFlags, SendRequest, WcStatus,
    WorkCompletion,
};

use crate::connection::{ConnectionId, Operation, Pair, Stage};
use crate::defect::Defect;
use crate::endpoint::Endpoint;
use crate::event::{EventKind, Status};
use crate::wire::Datagram;
use crate::{Error, handshake};

/// Identifiers of receives have this bit; those of operations have not.
const RECEIVE: u64 = 1 << 63;

/// Completions that are polled at once.
const POLLED: usize = 64;

impl Pair {
    pub(crate) const fn new(
        qp: QueuePair,
        local: rdma::Endpoint,
        buffers: MemoryRegion,
        free: Vec<u32>,
    ) -> Self {
        Self {
            qp,
            local,
            buffers,
            free,
            operations: std::collections::VecDeque::new(),
            next_operation: 0,
        }
    }
}

/// Makes a queue pair with its buffers; returns the send buffers, too.
pub(crate) fn make_queue_pair(
    endpoint: &Endpoint,
) -> Result<(QueuePair, MemoryRegion, Vec<u32>), Error> {
    let settings = &endpoint.settings;
    let cap = QpCapabilities {
        max_send_wr: settings.send_buffers,
        max_recv_wr: settings.receive_buffers,
        ..QpCapabilities::default()
    };
    let qp = endpoint.verbs.create_qp(&QpInitAttributes {
        pd: endpoint.pd,
        send_cq: endpoint.cq,
        recv_cq: endpoint.cq,
        cap,
        sq_sig_all: true,
    })?;
    let buffers = u64::from(settings.send_buffers + settings.receive_buffers);
    let memory = RegionMemory::Zeroed(buffers * u64::from(settings.max_send_size));
    let region = endpoint
        .verbs
        .reg_mr(endpoint.pd, memory, Access::LOCAL_WRITE)
        .map_err(|refused| Error::Adapter(refused.error))?;
    let free = (0..settings.send_buffers).rev().collect();
    Ok((qp, region, free))
}

/// Posts all receive buffers of a connection.
pub(crate) fn post_all_receives(endpoint: &Endpoint, id: ConnectionId) -> Result<(), Error> {
    for buffer in 0..endpoint.settings.receive_buffers {
        endpoint.post_receive(id, buffer)?;
    }
    Ok(())
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
    /// Sends an active message. The bytes can be used again at once. The end is an
    /// [`EventKind::Send`]; on an unreliable connection it says nothing about the peer.
    ///
    /// # Errors
    /// [`Error::Disconnected`], [`Error::MessageSize`], [`Error::NoBuffers`].
    pub fn send(
        &mut self,
        connection: ConnectionId,
        context: u64,
        bytes: &[u8],
    ) -> Result<(), Error> {
        let found = self.connections.get(&connection);
        let found = found
            .filter(|one| one.is_open())
            .ok_or(Error::Disconnected)?;
        if bytes.len() > self.settings.max_send_size as usize {
            return Err(Error::MessageSize);
        }
        if found.pair.is_some() {
            return self.post_message(connection, context, bytes);
        }
        let message = Datagram::Message {
            connection: found.remote,
            bytes: bytes.to_vec(),
        };
        let peer = found.peer.clone();
        self.send_datagram(&peer, &message.to_bytes());
        self.push_event(EventKind::Send {
            connection,
            context,
            status: Status::Success,
        });
        Ok(())
    }

    fn post_message(&mut self, id: ConnectionId, context: u64, bytes: &[u8]) -> Result<(), Error> {
        let size = self.settings.max_send_size;
        let pair = self.connections.get_mut(&id);
        let pair = pair.and_then(|connection| connection.pair.as_mut());
        let pair = pair.ok_or(Error::Disconnected)?;
        let buffer = pair.free.pop().ok_or(Error::NoBuffers)?;
        let number = pair.next_operation;
        pair.next_operation += 1;
        pair.operations
            .push_back((number, Operation { context, buffer }));
        let (qp, region) = (pair.qp, pair.buffers);
        let mut offset = u64::from(buffer) * u64::from(size);
        if self.settings.has(Defect::BytesNotCopied) {
            offset = 0;
        }
        self.verbs.write_mr(&region, offset, bytes)?;
        let length = u32::try_from(bytes.len()).map_err(|_| Error::MessageSize)?;
        let sges = [region.sge(offset, length)];
        let request = SendRequest {
            wr_id: number,
            operation: WorkOperation::Send,
            payload: Payload::Sges(&sges),
            flags: WorkFlags::SIGNALED,
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
        let size = self.settings.max_send_size;
        let offset = u64::from(self.settings.send_buffers + buffer) * u64::from(size);
        let sges = [pair.buffers.sge(offset, size)];
        let request = RecvRequest {
            wr_id: RECEIVE | u64::from(buffer),
            sges: &sges,
        };
        let posted = self.verbs.post_recv(pair.qp, &[request]);
        posted.map_err(|refused| Error::Adapter(refused.error))
    }

    /// Turns completions into events.
    pub(crate) fn poll_completions(&mut self) {
        let mut completions = Vec::new();
        loop {
            completions.clear();
            let polled = self.verbs.poll_cq(self.cq, POLLED, &mut completions);
            if polled.is_err() || completions.is_empty() {
                return;
            }
            for completion in &completions {
                self.complete(completion);
            }
        }
    }

    fn complete(&mut self, completion: &WorkCompletion) {
        let Some(&id) = self.by_qp.get(&completion.qp_num) else {
            return;
        };
        if completion.wr_id & RECEIVE != 0 {
            if completion.status.is_success() {
                self.received(id, completion);
            }
            return;
        }
        let status = status_of(completion.status);
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        if status != Status::Success {
            connection.stage = Stage::Broken;
        }
        let Some(pair) = &mut connection.pair else {
            return;
        };
        let is_it = |(number, _): &(u64, Operation)| *number == completion.wr_id;
        let at = pair.operations.iter().position(is_it);
        let Some((_, operation)) = at.and_then(|at| pair.operations.remove(at)) else {
            return;
        };
        pair.free.push(operation.buffer);
        self.push_event(EventKind::Send {
            connection: id,
            context: operation.context,
            status,
        });
    }

    fn received(&mut self, id: ConnectionId, completion: &WorkCompletion) {
        let stage = self.connections.get(&id).map(|one| &one.stage);
        if self.settings.has(Defect::FirstMessageLost)
            && matches!(stage, Some(Stage::Accepting { .. }))
        {
            return;
        }
        handshake::established(self, id);
        let (size, senders) = (self.settings.max_send_size, self.settings.send_buffers);
        let connection = self.connections.get(&id);
        let Some(pair) = connection.and_then(|one| one.pair.as_ref()) else {
            return;
        };
        let region = pair.buffers;
        let buffer = u32::try_from(completion.wr_id & !RECEIVE).unwrap_or(u32::MAX);
        let offset = u64::from(senders + buffer) * u64::from(size);
        let mut message = vec![0; completion.byte_len as usize];
        // The region is ours and registered.
        if self.verbs.read_mr(&region, offset, &mut message).is_ok() {
            self.push_message(id, message, buffer);
        }
    }
}

/// Returns the status of an operation whose work request ended so.
const fn status_of(status: WcStatus) -> Status {
    match status {
        WcStatus::Success => Status::Success,
        WcStatus::RetryExcErr => Status::TimedOut,
        WcStatus::RnrRetryExcErr => Status::ReceiverNotReady,
        WcStatus::WrFlushErr => Status::Disconnected,
        _ => Status::OperationFailed,
    }
}
