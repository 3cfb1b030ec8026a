//! The device's side of a case: all calls of a program to the adapter under test. Commands control
//! this side, so that it can run where the adapter is.

use super::memory::{self, ATOMIC_START};
use super::{DialogueSetup, TesterEnd};
use crate::{
    AtomicCap, CompletionQueue, ConnectionAttributes, Endpoint, Gid, MemoryRegion, Operation,
    Payload, ProtectionDomain, QpCapabilities, QpInitAttributes, QueuePair, RecvRequest,
    RegionMemory, SendFlags, SendRequest, Verbs, VerbsError, WcStatus, connect, prepare,
};

/// The identifier of the first receive. The identifiers of requests begin with 0.
pub(super) const RECEIVE_ID: u64 = 1000;

/// Completions that the queue holds: more than there are requests and receives.
const CQ_LENGTH: u32 = 64;

/// A command to the device's side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeviceCommand {
    /// Registers memory, makes a queue pair, posts receives, connects.
    Open(DialogueSetup),
    /// Posts a request, with the memory of the request number.
    Post {
        /// The number of the request, from 0.
        request: u64,
        /// Operation.
        operation: Operation,
        /// Length of the request's memory in bytes.
        length: u32,
    },
    /// Posts another receive.
    PostReceive,
    /// Polls completions.
    Poll,
    /// Reads memory.
    Read {
        /// Offset of the first byte.
        offset: u64,
        /// Length in bytes.
        length: u32,
    },
    /// Closes everything that [`Open`](Self::Open) made.
    Close,
}

/// Facts about an open device that the tester needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpenedDevice {
    /// The number of the device's queue pair.
    pub qp_num: u32,
    /// The address of the device's memory.
    pub address: u64,
    /// The key of that memory.
    pub rkey: u32,
    /// True if the device supports atomic operations.
    pub has_atomics: bool,
    /// The largest path MTU of the port, in bytes.
    pub max_mtu: u32,
    /// Number of reads and atomics that the device may have outstanding.
    pub max_rd_atomic: u32,
}

/// A completion of a request or a receive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeviceCompletion {
    /// Identifier: the number of the request, or 1000 plus the number of the receive.
    pub id: u64,
    /// Status.
    pub status: WcStatus,
    /// Length of the message in bytes.
    pub length: u32,
}

/// The reply to a command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DeviceReply {
    /// Of [`Open`](DeviceCommand::Open).
    Opened(OpenedDevice),
    /// Of [`Poll`](DeviceCommand::Poll).
    Completions(Vec<DeviceCompletion>),
    /// Of [`Read`](DeviceCommand::Read).
    Bytes(Vec<u8>),
    /// Of the other commands.
    Done,
}

/// Handles of the open objects.
#[derive(Clone, Copy, Debug)]
struct OpenHandles {
    pd: ProtectionDomain,
    region: MemoryRegion,
    cq: CompletionQueue,
    qp: QueuePair,
    /// Receives posted so far.
    receives: u32,
    receive_length: u32,
}

/// The device's side, over an adapter.
#[derive(Debug, Default)]
pub struct Responder {
    open: Option<OpenHandles>,
}

impl Responder {
    /// Executes a command; `tester` is the tester's global identifier.
    ///
    /// # Errors
    /// Errors of the adapter.
    pub fn execute_command(
        &mut self,
        verbs: &dyn Verbs,
        tester: Gid,
        command: &DeviceCommand,
    ) -> Result<DeviceReply, VerbsError> {
        match *command {
            DeviceCommand::Open(setup) => self.open_device(verbs, tester, &setup),
            DeviceCommand::Post {
                request,
                operation,
                length,
            } => self.post_request(verbs, request, operation, length),
            DeviceCommand::PostReceive => self.post_receive(verbs),
            DeviceCommand::Poll => {
                let mut completions = Vec::new();
                verbs.poll_cq(self.handles()?.cq, CQ_LENGTH as usize, &mut completions)?;
                let told = completions.iter().map(|completion| DeviceCompletion {
                    id: completion.wr_id,
                    status: completion.status,
                    length: completion.byte_len,
                });
                Ok(DeviceReply::Completions(told.collect()))
            }
            DeviceCommand::Read { offset, length } => {
                let mut bytes = vec![0; length.min(1 << 16) as usize];
                verbs.read_mr(&self.handles()?.region, offset, &mut bytes)?;
                Ok(DeviceReply::Bytes(bytes))
            }
            DeviceCommand::Close => self.close_device(verbs),
        }
    }

    fn handles(&self) -> Result<OpenHandles, VerbsError> {
        self.open.ok_or_else(|| VerbsError::Invalid {
            why: "a command for a connection that is not open".to_owned(),
        })
    }

    fn open_device(
        &mut self,
        verbs: &dyn Verbs,
        tester: Gid,
        setup: &DialogueSetup,
    ) -> Result<DeviceReply, VerbsError> {
        let pd = verbs.alloc_pd()?;
        let memory = RegionMemory::Zeroed(memory::LENGTH);
        let region = verbs.reg_mr(pd, memory, crate::Access::ALL);
        let region = region.map_err(|refusal| refusal.error)?;
        fill_memory(verbs, &region)?;
        let cq = verbs.create_cq(CQ_LENGTH)?;
        let qp = verbs.create_qp(&QpInitAttributes {
            pd,
            send_cq: cq,
            recv_cq: cq,
            cap: QpCapabilities {
                max_send_wr: 8,
                max_recv_wr: 8,
                ..QpCapabilities::default()
            },
            sq_sig_all: true,
        })?;
        self.open = Some(OpenHandles {
            pd,
            region,
            cq,
            qp,
            receives: 0,
            receive_length: setup.receive_length,
        });
        let options = connection_attributes(setup);
        let start = setup.parameters.start.get();
        let local = prepare(verbs, qp, &options, start)?;
        for _ in 0..setup.receives {
            self.post_receive(verbs)?;
        }
        let remote = Endpoint {
            qp_num: TesterEnd::QP,
            psn: start,
            lid: 0,
            gid: tester,
            mtu: setup.parameters.mtu,
            max_dest_rd_atomic: options.max_rd_atomic,
        };
        let device = verbs.query_device();
        let max_mtu = verbs.query_port(options.port_num)?.active_mtu.bytes();
        let opened = OpenedDevice {
            qp_num: qp.qp_num,
            address: region.addr,
            rkey: region.rkey,
            has_atomics: device.atomic_cap != AtomicCap::None,
            max_mtu,
            max_rd_atomic: device.max_qp_init_rd_atom,
        };
        connect(verbs, qp, &options, &local, &remote)?;
        Ok(DeviceReply::Opened(opened))
    }

    fn post_request(
        &self,
        verbs: &dyn Verbs,
        request: u64,
        operation: Operation,
        length: u32,
    ) -> Result<DeviceReply, VerbsError> {
        let open = self.handles()?;
        let sges = [open.region.sge(memory::local(request), length)];
        let request = SendRequest {
            wr_id: request,
            operation,
            payload: Payload::Sges(&sges),
            flags: SendFlags::SIGNALED,
        };
        let posted = verbs.post_send(open.qp, &[request]);
        posted.map_err(|refusal| refusal.error)?;
        Ok(DeviceReply::Done)
    }

    fn post_receive(&mut self, verbs: &dyn Verbs) -> Result<DeviceReply, VerbsError> {
        let open = self.handles()?;
        let number = open.receives;
        let sges = [open
            .region
            .sge(memory::receive_offset(number), open.receive_length)];
        let request = RecvRequest {
            wr_id: RECEIVE_ID + u64::from(number),
            sges: &sges,
        };
        let posted = verbs.post_recv(open.qp, &[request]);
        posted.map_err(|refusal| refusal.error)?;
        self.open = Some(OpenHandles {
            receives: number + 1,
            ..open
        });
        Ok(DeviceReply::Done)
    }

    fn close_device(&mut self, verbs: &dyn Verbs) -> Result<DeviceReply, VerbsError> {
        if let Some(open) = self.open.take() {
            verbs.destroy_qp(open.qp)?;
            verbs.destroy_cq(open.cq)?;
            verbs.dereg_mr(&open.region)?;
            verbs.dealloc_pd(open.pd)?;
        }
        Ok(DeviceReply::Done)
    }
}

/// Returns the attributes of the connection.
fn connection_attributes(setup: &DialogueSetup) -> ConnectionAttributes {
    ConnectionAttributes {
        path_mtu: Some(setup.parameters.mtu),
        access: setup.access,
        timeout: setup.timeout,
        retry_cnt: setup.retry_cnt,
        rnr_retry: setup.rnr_retry,
        min_rnr_timer: setup.min_rnr_timer,
        ..ConnectionAttributes::default()
    }
}

/// Fills the memory that the tester reads, and that requests of the device send from.
fn fill_memory(verbs: &dyn Verbs, region: &MemoryRegion) -> Result<(), VerbsError> {
    verbs.write_mr(region, memory::ATOMIC, &ATOMIC_START.to_ne_bytes())?;
    let length = u32::try_from(memory::WRITE - memory::READ).unwrap_or(0);
    let bytes = super::PatternData::new(0, 0, length).bytes();
    verbs.write_mr(region, memory::READ, &bytes)?;
    let length = u32::try_from(memory::LENGTH - memory::local(0)).unwrap_or(0);
    let bytes = super::PatternData::new(0, 0, length).bytes();
    verbs.write_mr(region, memory::local(0), &bytes)
}
