//! Remote memory access of a worker: the buffers, the handles of peers, and transfers.
//!
//! A worker has one buffer for each connection. The peer's handle comes in a message `rmaH ` and 32
//! bytes; a completion message is `rmaWrite` or `rmaRead`, the number of the transfer, and the
//! place and the length in the buffer of the receiver.

use std::collections::BTreeMap;

use endpoint::{
    ConnectionId, Direction, Endpoint, Error, Flags, MessageBytes, RmaHandle, Transfer,
};

use crate::command::{BUFFER, Command, Span};
use crate::pattern::pattern_bytes;
use crate::response::Response;
use crate::worker::register_buffer;

/// Buffers of a connection.
#[derive(Default)]
struct Buffers {
    /// The next exchange uses a free buffer.
    reuses: bool,
    local: Option<RmaHandle>,
    remote: Option<RmaHandle>,
}

/// Remote memory access of a worker.
#[derive(Default)]
pub(crate) struct Rma {
    buffers: BTreeMap<u32, Buffers>,
    /// Registered buffers that no connection uses.
    free: Vec<RmaHandle>,
    /// Transfers that have not ended.
    transfers: BTreeMap<(u32, u32), (Direction, Span)>,
}

impl Rma {
    /// Performs a command; returns the content that the command reports.
    pub(crate) fn execute_command(
        &mut self,
        command: &Command,
        id: ConnectionId,
        endpoint: &mut Endpoint,
    ) -> Result<Option<Vec<u8>>, Error> {
        let buffers = self.buffers.entry(command.connection()).or_default();
        match command {
            Command::RmaReuseHandle { .. } => buffers.reuses = true,
            Command::RmaHandleExchange { message, .. } => {
                self.exchange_handles(command.connection(), (id, *message), endpoint)?;
            }
            Command::RmaPrepareRead { message, .. } => {
                let local = buffers.local.ok_or(Error::RmaHandle)?;
                endpoint.rma_fill(local, 0, &pattern_bytes(*message, BUFFER))?;
            }
            Command::RmaWrite { message, span, .. } => {
                let key = (command.connection(), *message);
                self.start_transfer(key, id, (Direction::Write, *span), endpoint)?;
            }
            Command::RmaRead { message, span, .. } => {
                let key = (command.connection(), *message);
                self.start_transfer(key, id, (Direction::Read, *span), endpoint)?;
            }
            Command::RmaContent { .. } => {
                let local = buffers.local.ok_or(Error::RmaHandle)?;
                let mut bytes = vec![0; BUFFER as usize];
                endpoint.rma_content(local, 0, &mut bytes)?;
                return Ok(Some(bytes));
            }
            Command::RmaFreeHandles { .. } => {
                self.free.extend(buffers.local.take());
                buffers.remote = None;
            }
            Command::RmaDeregister { .. } => {
                let local = buffers.local.take().ok_or(Error::RmaHandle)?;
                endpoint.rma_deregister(local)?;
            }
            _ => return Err(Error::Invalid("not a command of remote memory access")),
        }
        Ok(None)
    }

    fn exchange_handles(
        &mut self,
        connection: u32,
        (id, message): (ConnectionId, u32),
        endpoint: &mut Endpoint,
    ) -> Result<(), Error> {
        let buffers = self.buffers.entry(connection).or_default();
        let reused = if buffers.reuses {
            self.free.pop()
        } else {
            None
        };
        let handle = match buffers.local.or(reused) {
            Some(handle) => handle,
            None => register_buffer(endpoint)?,
        };
        buffers.local = Some(handle);
        buffers.reuses = false;
        let mut bytes = b"rmaH ".to_vec();
        bytes.extend(handle.to_bytes());
        let context = u64::from(message);
        endpoint.send(id, context, MessageBytes::Copied(&bytes), Flags::default())?;
        Ok(())
    }

    fn start_transfer(
        &mut self,
        key: (u32, u32),
        id: ConnectionId,
        (direction, span): (Direction, Span),
        endpoint: &mut Endpoint,
    ) -> Result<(), Error> {
        let buffers = self.buffers.entry(key.0).or_default();
        let local = buffers.local.ok_or(Error::RmaHandle)?;
        let remote = buffers.remote.ok_or(Error::RmaHandle)?;
        let name = match direction {
            Direction::Write => {
                let bytes = pattern_bytes(key.1, span.length);
                endpoint.rma_fill(local, span.local.into(), &bytes)?;
                "rmaWrite"
            }
            Direction::Read => "rmaRead",
        };
        let transfer = Transfer {
            direction,
            local: (local, span.local.into()),
            remote: (remote, span.remote.into()),
            length: span.length.into(),
        };
        let message = format!("{name} {} {} {}", key.1, span.remote, span.length);
        let flags = Flags {
            fence: span.fence,
            ..Flags::default()
        };
        let message = Some(message.as_bytes()).filter(|_| !span.quiet);
        endpoint.rma(id, u64::from(key.1), &transfer, message, flags)?;
        self.transfers.insert(key, (direction, span));
        Ok(())
    }

    /// Returns the bytes that a transfer has brought, if the operation that has ended is one.
    pub(crate) fn delivered_bytes(
        &mut self,
        key: (u32, u32),
        endpoint: &Endpoint,
    ) -> Option<Vec<u8>> {
        let (direction, span) = self.transfers.get(&key)?;
        Some(match direction {
            Direction::Write => Vec::new(),
            Direction::Read => self.buffer_bytes(key.0, (span.local, span.length), endpoint),
        })
    }

    /// Returns bytes of the buffer of a connection; none if there is no such buffer.
    fn buffer_bytes(
        &self,
        connection: u32,
        (at, length): (u32, u32),
        endpoint: &Endpoint,
    ) -> Vec<u8> {
        let local = self.buffers.get(&connection).and_then(|one| one.local);
        let mut bytes = vec![0; length.min(BUFFER) as usize];
        let read = local.map(|local| endpoint.rma_content(local, at.into(), &mut bytes));
        if read == Some(Ok(())) {
            bytes
        } else {
            Vec::new()
        }
    }

    /// Takes a message of the peer's remote memory access.
    pub(crate) fn handle_message(
        &mut self,
        connection: u32,
        message: &[u8],
        endpoint: &Endpoint,
    ) -> Response {
        let handle = message.strip_prefix(b"rmaH ");
        if let Some(bytes) = handle.and_then(|bytes| <[u8; 32]>::try_from(bytes).ok()) {
            let buffers = self.buffers.entry(connection).or_default();
            buffers.remote = Some(RmaHandle::from_bytes(bytes));
            return Response::HandleArrived { connection };
        }
        let text = String::from_utf8_lossy(message);
        let words: Vec<&str> = text.split(' ').collect();
        let numbers: Vec<u32> = words.iter().filter_map(|word| word.parse().ok()).collect();
        let (&[number, at, length], [name, ..]) = (&*numbers, &*words) else {
            return Response::Failed(format!("connection {connection}: message {text:?}"));
        };
        let bytes = if *name == "rmaWrite" {
            self.buffer_bytes(connection, (at, length), endpoint)
        } else {
            Vec::new()
        };
        Response::RmaArrived {
            connection,
            message: number,
            bytes,
        }
    }
}
