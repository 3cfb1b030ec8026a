//! Execution of a program on two adapters.

use rdma::{
    Access, CompletionQueue, ConnectionAttributes, MemoryRegion, Mtu, Operation, Payload,
    ProtectionDomain, QpCapabilities, QpInitAttributes, QueuePair, RecvRequest, RegionMemory,
    SendFlags, SendRequest, Verbs, WorkCompletion, connect, prepare,
};

use super::layout::{self, Slots};
use super::model::{CompletionRecord, Model, Observation, SideObservation};
use super::program::{
    Connection, INLINE_MAX, QUEUE_MAX, Receive, Request, RequestFault, RequestKind, Round,
    VerbsProgram,
};

/// An execution without an observation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ExecutionError {
    /// A call was refused.
    Call(String),
    /// A completion is missing.
    Blocked(String),
}

fn refused<E: std::fmt::Display>(call: &'static str) -> impl Fn(E) -> ExecutionError {
    move |error| ExecutionError::Call(format!("{call}: {error}"))
}

/// A side of a connection.
struct Side {
    qp: QueuePair,
    /// Of requests and of receives.
    queues: [CompletionQueue; 2],
    target: MemoryRegion,
    local: MemoryRegion,
    slots: Slots,
    /// Requests and receives that were posted.
    posted: [usize; 2],
    /// Completions of requests and of receives.
    completions: [Vec<CompletionRecord>; 2],
}

/// A program on two adapters, with all queue pairs connected.
#[expect(
    missing_debug_implementations,
    reason = "a session has nothing to show"
)]
pub struct Session<'a> {
    program: &'a VerbsProgram,
    verbs: [&'a dyn Verbs; 2],
    connections: Vec<[Side; 2]>,
}

impl<'a> Session<'a> {
    /// Creates and connects the queue pairs of a program; `mtu` replaces the MTU of the program.
    pub fn new(
        program: &'a VerbsProgram,
        verbs: [&'a dyn Verbs; 2],
        mtu: Option<Mtu>,
    ) -> Result<Self, ExecutionError> {
        let mut session = Self {
            program,
            verbs,
            connections: Vec::new(),
        };
        let mut domains = Vec::new();
        for verbs in verbs {
            domains.push(verbs.alloc_pd().map_err(refused("alloc_pd"))?);
        }
        let mtu = mtu.unwrap_or_else(|| program.path_mtu());
        for (number, connection) in program.connections.iter().enumerate() {
            let sides = [
                session.side((number, 0), connection, domains[0])?,
                session.side((number, 1), connection, domains[1])?,
            ];
            session.connect_sides(connection, &sides, mtu)?;
            session.connections.push(sides);
        }
        Ok(session)
    }

    /// Returns the number of the queue pair of a side of a connection.
    pub(super) fn qp_num(&self, connection: usize, side: usize) -> u32 {
        self.connections[connection][side].qp.qp_num
    }

    fn side(
        &self,
        (number, side): (usize, usize),
        connection: &Connection,
        pd: ProtectionDomain,
    ) -> Result<Side, ExecutionError> {
        let verbs = self.verbs[side];
        let queue = || verbs.create_cq(2 * QUEUE_MAX as u32);
        let queues = [
            queue().map_err(refused("create_cq"))?,
            queue().map_err(refused("create_cq"))?,
        ];
        let register = |content: &[u8], access| {
            let region = verbs.reg_mr(pd, RegionMemory::Zeroed(content.len() as u64), access);
            let region = region.map_err(refused("reg_mr"))?;
            let written = verbs.write_mr(&region, 0, content);
            written.map_err(refused("write_mr"))?;
            Ok(region)
        };
        let slots = Slots::new(self.program, number, side);
        let target = register(&layout::target(number, side), connection.access.rights())?;
        let local = register(&slots.content, Access::LOCAL_WRITE)?;
        let init = QpInitAttributes {
            pd,
            send_cq: queues[0],
            recv_cq: queues[1],
            cap: QpCapabilities {
                max_send_wr: QUEUE_MAX as u32,
                max_recv_wr: QUEUE_MAX as u32,
                max_inline_data: INLINE_MAX,
                ..QpCapabilities::default()
            },
            sq_sig_all: false,
        };
        let armed = verbs.req_notify_cq(queues[1], true);
        armed.map_err(refused("req_notify_cq"))?;
        Ok(Side {
            qp: verbs.create_qp(&init).map_err(refused("create_qp"))?,
            queues,
            target,
            local,
            slots,
            posted: [0; 2],
            completions: [Vec::new(), Vec::new()],
        })
    }

    fn connect_sides(
        &self,
        connection: &Connection,
        sides: &[Side; 2],
        mtu: Mtu,
    ) -> Result<(), ExecutionError> {
        let attributes = ConnectionAttributes {
            path_mtu: Some(mtu),
            // 67 ms.
            timeout: 14,
            retry_cnt: connection.retry_cnt,
            rnr_retry: connection.rnr_retry,
            max_rd_atomic: connection.max_rd_atomic,
            ..ConnectionAttributes::default()
        };
        let mut endpoints = Vec::new();
        for (verbs, side) in self.verbs.iter().zip(sides) {
            let endpoint = prepare(*verbs, side.qp, &attributes, connection.psn);
            endpoints.push(endpoint.map_err(refused("modify_qp to INIT"))?);
        }
        for (number, side) in sides.iter().enumerate() {
            let (local, remote) = (&endpoints[number], &endpoints[1 - number]);
            let connected = connect(self.verbs[number], side.qp, &attributes, local, remote);
            connected.map_err(refused("modify_qp to RTS"))?;
        }
        Ok(())
    }

    /// Executes the rounds. `advance` lets time pass, and returns false if there is none left.
    pub fn execute_rounds(
        mut self,
        advance: &mut dyn FnMut() -> bool,
    ) -> Result<Observation<u8>, ExecutionError> {
        let mut model = Model::new(self.program);
        for (number, round) in self.program.rounds.iter().enumerate() {
            self.post_round(round)?;
            model.execute_round(round).map_err(ExecutionError::Call)?;
            let mut has_time = true;
            loop {
                self.poll_completions()?;
                let Some(missing) = self.describe_missing(&model) else {
                    break;
                };
                if !has_time {
                    let text = format!("rounds[{number}]: {missing}");
                    return Err(ExecutionError::Blocked(text));
                }
                has_time = advance();
            }
        }
        // Completions that should not be.
        for _ in 0..SURPLUS_STEPS {
            advance();
            self.poll_completions()?;
        }
        self.read_observation()
    }

    fn post_round(&mut self, round: &Round) -> Result<(), ExecutionError> {
        for receive in &round.receives {
            self.post_receive(receive)?;
        }
        for request in &round.requests {
            self.post_request(request)?;
        }
        Ok(())
    }

    fn post_receive(&mut self, receive: &Receive) -> Result<(), ExecutionError> {
        let side = &mut self.connections[receive.connection][receive.side];
        let number = side.posted[1];
        side.posted[1] += 1;
        let offset = side.slots.receives[number].into();
        let sges = [side.local.sge(offset, receive.length)];
        let request = RecvRequest {
            wr_id: number as u64,
            sges: if receive.length == 0 { &[] } else { &sges },
        };
        let posted = self.verbs[receive.side].post_recv(side.qp, &[request]);
        posted.map_err(refused("post_recv"))
    }

    fn post_request(&mut self, request: &Request) -> Result<(), ExecutionError> {
        let sides = &mut self.connections[request.connection];
        let operation = request_operation(request, &sides[1 - request.side].target);
        let side = &mut sides[request.side];
        let number = side.posted[0];
        side.posted[0] += 1;
        let begin = side.slots.requests[number];
        let mut sges = [side.local.sge(begin.into(), request.length)];
        if request.fault == Some(RequestFault::WrongLkey) {
            sges[0].lkey ^= WRONG_KEY;
        }
        let slot = begin as usize..(begin + request.length) as usize;
        let payload = if request.inline {
            Payload::Inline(&side.slots.content[slot])
        } else if request.length == 0 {
            Payload::Sges(&[])
        } else {
            Payload::Sges(&sges)
        };
        let posted = self.verbs[request.side].post_send(
            side.qp,
            &[SendRequest {
                wr_id: number as u64,
                operation,
                payload,
                flags: SendFlags {
                    signaled: !request.unsignaled,
                    fence: request.fence,
                    solicited: request.solicited,
                },
            }],
        );
        posted.map_err(refused("post_send"))
    }

    fn poll_completions(&mut self) -> Result<(), ExecutionError> {
        let mut completions = Vec::new();
        for sides in &mut self.connections {
            for (verbs, side) in self.verbs.iter().zip(sides) {
                for (queue, records) in side.queues.iter().zip(&mut side.completions) {
                    let polled = verbs.poll_cq(*queue, usize::MAX, &mut completions);
                    polled.map_err(refused("poll_cq"))?;
                    records.extend(completions.drain(..).map(completion_record));
                }
            }
        }
        Ok(())
    }

    /// Returns a description of the first completions that are missing.
    fn describe_missing(&self, model: &Model) -> Option<String> {
        for (connection, sides) in self.connections.iter().enumerate() {
            for (number, side) in sides.iter().enumerate() {
                let expected = model.completions(connection, number);
                for (kind, name) in ["requests", "receives"].iter().enumerate() {
                    let (found, expected) = (side.completions[kind].len(), expected[kind]);
                    if found < expected {
                        return Some(format!(
                            "connection {connection}, side {number}: {found} completions of \
                             {name}: expected {expected}"
                        ));
                    }
                }
            }
        }
        None
    }

    fn read_observation(mut self) -> Result<Observation<u8>, ExecutionError> {
        let mut solicited = [Vec::new(), Vec::new()];
        for (verbs, events) in self.verbs.iter().zip(&mut solicited) {
            while let Some(queue) = verbs.get_cq_event().map_err(refused("get_cq_event"))? {
                events.push(queue);
            }
        }
        let observe = |number: usize, side: &mut Side| {
            let verbs = self.verbs[number];
            let attributes = verbs.query_qp(side.qp).map_err(refused("query_qp"))?;
            let read = |region: &MemoryRegion| {
                let mut bytes = vec![0; region.length as usize];
                let read = verbs.read_mr(region, 0, &mut bytes);
                read.map_err(refused("read_mr")).map(|()| bytes)
            };
            let [sends, receives] = std::mem::take(&mut side.completions);
            Ok(SideObservation {
                sends,
                receives,
                state: attributes.qp_state,
                solicited: Some(solicited[number].contains(&side.queues[1])),
                target: read(&side.target)?,
                local: read(&side.local)?,
            })
        };
        let connections = self.connections.iter_mut();
        connections
            .map(|[first, second]| Ok([observe(0, first)?, observe(1, second)?]))
            .collect()
    }
}

/// Steps of time after the last completion.
const SURPLUS_STEPS: u32 = 100;

/// Difference of a wrong key and a right one.
pub(super) const WRONG_KEY: u32 = 0x55;

fn completion_record(completion: WorkCompletion) -> CompletionRecord {
    CompletionRecord {
        wr_id: completion.wr_id,
        status: completion.status,
        opcode: completion.opcode,
        byte_len: completion.byte_len,
        imm_data: completion.imm_data,
    }
}

/// Returns the operation of a request on a target region.
fn request_operation(request: &Request, target: &MemoryRegion) -> Operation {
    let remote_addr = target.addr + u64::from(target_offset(request));
    let rkey = if request.fault == Some(RequestFault::WrongRkey) {
        target.rkey ^ WRONG_KEY
    } else {
        target.rkey
    };
    let value = u64::from(request.value);
    match request.kind {
        RequestKind::Send => Operation::Send,
        RequestKind::SendWithImm => Operation::SendWithImm(request.value),
        RequestKind::Write => Operation::RdmaWrite { remote_addr, rkey },
        RequestKind::WriteWithImm => Operation::RdmaWriteWithImm {
            remote_addr,
            rkey,
            imm_data: request.value,
        },
        RequestKind::Read => Operation::RdmaRead { remote_addr, rkey },
        RequestKind::FetchAdd => Operation::AtomicFetchAndAdd {
            remote_addr,
            rkey,
            add: value,
        },
        RequestKind::CompareSwap => Operation::AtomicCmpAndSwp {
            remote_addr,
            rkey,
            compare: request.compare.into(),
            swap: value,
        },
    }
}

/// Returns the offset of a request from the begin of the target region.
pub(super) const fn target_offset(request: &Request) -> u32 {
    match request.fault {
        Some(RequestFault::OutOfRange) => layout::TARGET + 8 - request.length.next_multiple_of(8),
        Some(RequestFault::Unaligned) => request.offset + 4,
        Some(RequestFault::WrongRkey | RequestFault::WrongLkey) | None => request.offset,
    }
}
