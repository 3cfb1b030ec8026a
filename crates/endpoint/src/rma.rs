//! Remote memory access: registered memory, handles, reads and writes. CCI: `cci_rma_register`,
//! `cci_rma`.
//!
//! A transfer is an RDMA READ or WRITE. The completion message is a send on the same queue pair.
//! After a write the message arrives after the data (IBA 9.5). After a read the message has the
//! fence of the queue pair, so the message leaves after the data has come.

use rdma::{
    Access, MemoryRegion, Operation, Payload, RegionMemory, SendFlags as WorkFlags, SendRequest,
};

use crate::Error;
use crate::connection::{ConnectionId, OperationId, PostedOperation};
use crate::defect::Defect;
use crate::endpoint::Endpoint;
use crate::messages::short;
use crate::operations::Flags;

/// A handle of registered memory, which peers can use: 32 bytes without a meaning for programs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RmaHandle([u8; 32]);

/// Direction of a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Direction {
    /// From remote to local memory (`CCI_FLAG_READ`).
    Read,
    /// From local to remote memory (`CCI_FLAG_WRITE`).
    Write,
}

/// A transfer between local and remote memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Transfer {
    /// Direction of the transfer.
    pub direction: Direction,
    /// Local memory, and the offset in this memory in bytes.
    pub local: (RmaHandle, u64),
    /// Remote memory, and the offset in this memory in bytes.
    pub remote: (RmaHandle, u64),
    /// Number of bytes, at least 1 and below 2^31.
    pub length: u64,
}

impl RmaHandle {
    /// Returns the handle with these bytes, which a peer has sent.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes, to send them to a peer.
    pub const fn to_bytes(self) -> [u8; 32] {
        self.0
    }

    fn new(region: &MemoryRegion, access: Access) -> Self {
        let rights = u64::from(access.bits()) << 32 | u64::from(region.rkey);
        let words = [region.addr, region.length, rights, region.handle.into()];
        let mut bytes = [0; 32];
        for (to, word) in bytes.chunks_exact_mut(8).zip(words) {
            to.copy_from_slice(&word.to_be_bytes());
        }
        Self(bytes)
    }

    /// Returns the four numbers of the handle: address, length, rights and remote key, region.
    fn to_words(self) -> [u64; 4] {
        let mut words = [0; 4];
        for (word, bytes) in words.iter_mut().zip(self.0.as_chunks().0) {
            *word = u64::from_be_bytes(*bytes);
        }
        words
    }

    /// Returns the address at an offset and the remote key, if peers may access `length` bytes so.
    fn remote(self, offset: u64, length: u64, right: Access) -> Result<(u64, u32), Error> {
        let [address, size, rights, _] = self.to_words();
        let is_within = offset.checked_add(length).is_some_and(|end| end <= size);
        if !is_within {
            return Err(Error::Invalid(
                "the transfer is not within the remote memory",
            ));
        }
        if rights >> 32 & u64::from(right.bits()) == 0 {
            return Err(Error::RmaOperation);
        }
        let key = rights & u64::from(u32::MAX);
        Ok((address.wrapping_add(offset), short(key)))
    }
}

impl Endpoint {
    /// Registers memory, which peers can read and write as `access` permits
    /// ([`Access::REMOTE_READ`], [`Access::REMOTE_WRITE`]). The endpoint owns the memory until
    /// [`rma_deregister`](Self::rma_deregister).
    pub fn rma_register(&mut self, memory: Vec<u8>, access: Access) -> Result<RmaHandle, Error> {
        if memory.is_empty() {
            return Err(Error::Invalid("the memory to register is empty"));
        }
        let memory = RegionMemory::Owned(memory);
        let region = self
            .verbs
            .reg_mr(self.pd, memory, Access::LOCAL_WRITE | access);
        let region = region.map_err(|refused| Error::Adapter(refused.error))?;
        self.registered.insert(region.handle, region);
        Ok(RmaHandle::new(&region, access))
    }

    /// Deregisters memory and returns the memory. Later transfers from or to this memory fail.
    pub fn rma_deregister(&mut self, handle: RmaHandle) -> Result<Vec<u8>, Error> {
        let region = self.local_region(handle)?;
        if self.settings.has(Defect::DeregistrationIgnored) {
            return Ok(Vec::new());
        }
        self.registered.remove(&region.handle);
        match self.verbs.dereg_mr(&region)? {
            RegionMemory::Owned(memory) => Ok(memory),
            RegionMemory::Zeroed(_) | RegionMemory::ReadOnly(_) => Ok(Vec::new()),
        }
    }

    /// Copies bytes into registered memory of this endpoint.
    pub fn rma_fill(&mut self, handle: RmaHandle, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        let region = self.local_region(handle)?;
        Ok(self.verbs.write_mr(&region, offset, bytes)?)
    }

    /// Copies bytes out of registered memory of this endpoint.
    pub fn rma_content(
        &self,
        handle: RmaHandle,
        offset: u64,
        bytes: &mut [u8],
    ) -> Result<(), Error> {
        let region = self.local_region(handle)?;
        Ok(self.verbs.read_mr(&region, offset, bytes)?)
    }

    fn local_region(&self, handle: RmaHandle) -> Result<MemoryRegion, Error> {
        let number = short(handle.to_words()[3]);
        let found = self.registered.get(&number).copied();
        let is_it = |region: &MemoryRegion| region.addr == handle.to_words()[0];
        found.filter(is_it).ok_or(Error::RmaHandle)
    }

    /// Transfers memory over a reliable connection. The peer receives the completion message, if
    /// there is one, after the data is in place; the buffer of the message can be reused at once.
    /// An [`EventKind::Send`](crate::EventKind::Send) reports the end of the operation, unless the
    /// flags forbid the event.
    pub fn rma(
        &mut self,
        connection: ConnectionId,
        context: u64,
        transfer: &Transfer,
        message: Option<&[u8]>,
        flags: Flags,
    ) -> Result<OperationId, Error> {
        let found = self.connections.get(&connection);
        if found.is_some_and(|one| !one.attribute.is_reliable()) {
            return Err(Error::Invalid("remote memory needs a reliable connection"));
        }
        let report = flags.to_report()?;
        let (work, region) = self.work_of(connection, transfer)?;
        let id = self.new_operation();
        let most = self.settings.send_buffers as usize;
        let pair = self.open_pair(connection)?.0;
        if pair.operations.iter().filter(|one| one.is_rma).count() >= most {
            return Err(Error::NoBuffers);
        }
        let message = match message {
            Some(bytes) => Some(self.fill_message(connection, bytes)?),
            None => None,
        };
        let sends_first = message.filter(|_| self.settings.has(Defect::MessageBeforeData));
        if let Some((_, sge)) = sends_first {
            self.post_send_of(connection, id, sge, WorkFlags::default())?;
        }
        let sends_last = message.filter(|_| sends_first.is_none());
        let work_flags = WorkFlags {
            signaled: sends_last.is_none(),
            fence: self.fence(connection, transfer.direction, flags)?,
            ..WorkFlags::default()
        };
        let sge = region.sge(transfer.local.1, short(transfer.length));
        let qp = self.open_pair(connection)?.0.qp;
        let request = SendRequest {
            wr_id: id.0,
            operation: work,
            payload: Payload::Sges(&[sge]),
            flags: work_flags,
        };
        let posted = self.verbs.post_send(qp, &[request]);
        posted.map_err(|refused| Error::Adapter(refused.error))?;
        if let Some((_, sge)) = sends_last {
            let flags = WorkFlags {
                fence: transfer.direction == Direction::Read,
                ..WorkFlags::SIGNALED
            };
            self.post_send_of(connection, id, sge, flags)?;
        }
        let (pair, deadline) = self.open_pair(connection)?;
        pair.operations.push_back(PostedOperation {
            id,
            context,
            report,
            buffer: message.map(|(buffer, _)| buffer),
            lent: None,
            is_rma: true,
            deadline,
        });
        Ok(id)
    }

    /// Returns the work request of a transfer, and the local memory of the transfer.
    fn work_of(
        &mut self,
        connection: ConnectionId,
        transfer: &Transfer,
    ) -> Result<(Operation, MemoryRegion), Error> {
        let (local, local_offset) = transfer.local;
        let (remote, mut remote_offset) = transfer.remote;
        if !(1..1 << 31).contains(&transfer.length) {
            return Err(Error::Invalid("a transfer has 1 to 2^31 - 1 bytes"));
        }
        let region = self.local_region(local)?;
        let end = local_offset.checked_add(transfer.length);
        if end.is_none_or(|end| end > region.length) {
            return Err(Error::Invalid(
                "the transfer is not within the local memory",
            ));
        }
        let remote = self.remote_handle(connection, remote);
        let right = match transfer.direction {
            Direction::Read => Access::REMOTE_READ,
            Direction::Write => Access::REMOTE_WRITE,
        };
        remote.remote(remote_offset, transfer.length, right)?;
        if self.settings.has(Defect::RemoteOffsetIgnored) {
            remote_offset = 0;
        }
        let (remote_addr, rkey) = remote.remote(remote_offset, transfer.length, right)?;
        let work = match transfer.direction {
            Direction::Read => Operation::RdmaRead { remote_addr, rkey },
            Direction::Write => Operation::RdmaWrite { remote_addr, rkey },
        };
        Ok((work, region))
    }

    /// Returns the handle to use: with a defect the first one of the connection.
    fn remote_handle(&mut self, connection: ConnectionId, handle: RmaHandle) -> RmaHandle {
        if self.settings.has(Defect::StaleRemoteHandle) {
            return self.defective.first_handle(connection, handle);
        }
        handle
    }

    /// Copies a completion message to a send buffer.
    fn fill_message(
        &mut self,
        connection: ConnectionId,
        bytes: &[u8],
    ) -> Result<(u32, rdma::Sge), Error> {
        let (buffer, mut sge) = self.fill_buffer(connection, bytes)?;
        if self.settings.has(Defect::CompletionMessageNotCopied) {
            let region = self.open_pair(connection)?.0.sends;
            self.verbs.write_mr(&region, 0, bytes)?;
            sge = region.sge(0, sge.length);
        }
        Ok((buffer, sge))
    }

    /// Returns true if a transfer needs the fence of the queue pair, to wait for earlier reads.
    /// Writes need no fence: they are in order with all later requests.
    fn fence(
        &mut self,
        connection: ConnectionId,
        direction: Direction,
        flags: Flags,
    ) -> Result<bool, Error> {
        if self.settings.has(Defect::FenceIgnored) {
            return Ok(false);
        }
        let pair = self.open_pair(connection)?.0;
        let needs = flags.fence || pair.fences_next;
        let is_read = direction == Direction::Read;
        // A read that is not fenced leaves the fence of the one before it in place.
        pair.fences_next = is_read && flags.fence;
        Ok(needs)
    }
}
