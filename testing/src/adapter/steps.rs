//! Steps between the calls: one request is carried out, or one end is told.

use super::{Entry, Net, Receive, Request, State, TRIES};
use rdma::{Access, Operation, QpState, SendFlags, Sge, WcOpcode, WcStatus, WorkCompletion};

/// Something that can happen at a queue pair of an adapter.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// This request of its send queue is carried out.
    CarryOut(usize),
    /// The oldest request is over.
    Complete,
    /// The end of the oldest receive is told.
    Receive,
}

/// Why a request cannot be carried out.
enum Refusal {
    /// Nobody answers.
    Silence,
    /// No receive is posted.
    NotReady,
    /// For good: what each side is told.
    Failed(WcStatus, Option<WcStatus>),
}

impl Net {
    pub(super) fn step(&mut self) -> bool {
        let mut all = Vec::new();
        for (at, adapter) in self.adapters.iter().enumerate() {
            if adapter.is_off {
                continue;
            }
            for (&number, qp) in &adapter.qps {
                let mut add = |step| all.push((at, number, step));
                if !qp.received.is_empty() {
                    add(Step::Receive);
                }
                let state = qp.now.qp_state;
                if !matches!(state, QpState::Rts | QpState::Sqd) {
                    continue;
                }
                if qp.sends.front().is_some_and(|first| first.done.is_some()) {
                    add(Step::Complete);
                }
                let next = qp.sends.iter().position(|request| request.done.is_none());
                if let Some(next) = next.filter(|_| state == QpState::Rts || qp.draining > 0) {
                    add(Step::CarryOut(next));
                }
            }
        }
        if all.is_empty() {
            return false;
        }
        self.steps += 1;
        let (adapter, number, step) = all[self.draw(all.len())];
        match step {
            Step::CarryOut(place) => self.carry_out(adapter, number, place),
            Step::Complete => {
                self.complete(adapter, number, WcStatus::Success);
                self.adapters[adapter].tell_drained(number);
            }
            Step::Receive => {
                let qp = self.adapters[adapter].qps.get_mut(&number).unwrap();
                let completion = qp.received.pop_front().unwrap();
                let cq = qp.init.recv_cq.0;
                self.tell(adapter, cq, completion, (0, 1));
            }
        }
        true
    }

    fn tell(
        &mut self,
        adapter: usize,
        cq: u32,
        (completion, solicited): (WorkCompletion, bool),
        places: (u32, u32),
    ) {
        let state = &mut self.adapters[adapter];
        let Some(queue) = state.cqs.get_mut(&cq) else {
            return;
        };
        queue.entries.push_back(Entry {
            completion,
            sends: places.0,
            receives: places.1,
        });
        let is_solicited = !completion.status.is_success() || solicited;
        if queue.armed.is_some_and(|only| is_solicited || !only) {
            queue.armed = None;
            state.told.push_back(rdma::CompletionQueue(cq));
        }
        if queue.entries.len() > queue.length as usize {
            queue.is_broken = true;
            self.fault(adapter, "a completion queue has overflowed");
        }
    }

    /// The oldest request of a send queue is over.
    fn complete(&mut self, adapter: usize, number: u32, status: WcStatus) {
        let qp = self.adapters[adapter].qps.get_mut(&number).unwrap();
        let request = qp.sends.pop_front().unwrap();
        qp.draining = qp.draining.saturating_sub(1);
        qp.silent += 1;
        let ok = status.is_success();
        if ok && !request.flags.signaled && !qp.init.sq_sig_all {
            return;
        }
        let places = std::mem::take(&mut qp.silent);
        let cq = qp.init.send_cq.0;
        let completion = WorkCompletion {
            wr_id: request.wr_id,
            status,
            opcode: ok.then(|| opcode(&request.operation)),
            byte_len: request.done.unwrap_or(0),
            imm_data: None,
            qp_num: number,
            vendor_err: 0,
        };
        self.tell(adapter, cq, (completion, false), (places, 0));
    }

    /// All requests of a queue pair in the error state are flushed.
    pub(super) fn flush(&mut self, adapter: usize, number: u32) {
        let qp = self.adapters[adapter].qps.get_mut(&number).unwrap();
        let (received, receives) = (
            std::mem::take(&mut qp.received),
            std::mem::take(&mut qp.receives),
        );
        let (sends, cq) = (qp.sends.len(), qp.init.recv_cq.0);
        for completion in received {
            self.tell(adapter, cq, completion, (0, 1));
        }
        for _ in 0..sends {
            self.complete(adapter, number, WcStatus::WrFlushErr);
        }
        for receive in receives {
            let completion = failed(receive.wr_id, WcStatus::WrFlushErr, number);
            self.tell(adapter, cq, (completion, false), (0, 1));
        }
    }

    /// A queue pair fails.
    fn fail(&mut self, adapter: usize, number: u32) {
        if let Some(qp) = self.adapters[adapter].qps.get_mut(&number) {
            qp.now.qp_state = QpState::Err;
            self.flush(adapter, number);
        }
    }

    fn carry_out(&mut self, adapter: usize, number: u32, place: usize) {
        let qp = &self.adapters[adapter].qps[&number];
        let request = qp.sends[place].clone();
        let is_next = qp
            .sends
            .range(..place)
            .all(|request| request.done.is_some());
        let rnr_retry = qp.now.rnr_retry;
        let (to, other) = (qp.peer, qp.now.dest_qp_num);
        let status = match self.perform(adapter, number, &request) {
            Ok(length) => {
                let qp = self.adapters[adapter].qps.get_mut(&number).unwrap();
                qp.sends[place].done = Some(length);
                return;
            }
            Err(Refusal::NotReady) => {
                self.fault(adapter, "RNR: no receive is posted at the other side");
                let tries = self.try_again(adapter, number, place);
                if rnr_retry == 7 || tries <= rnr_retry.into() {
                    return;
                }
                WcStatus::RnrRetryExcErr
            }
            Err(Refusal::Silence) => {
                if self.try_again(adapter, number, place) <= TRIES {
                    return;
                }
                WcStatus::RetryExcErr
            }
            // What comes before it has to be over, and it will be wrong then, too.
            Err(_) if !is_next => return,
            Err(Refusal::Failed(here, there)) => {
                let what = format!("{:?}: {here}, {there:?}", request.operation);
                self.fault(adapter, &what);
                if let (Some(status), Some(to)) = (there, to) {
                    self.fail_receiver(to, other, status);
                }
                here
            }
        };
        for _ in 0..place {
            self.complete(adapter, number, WcStatus::Success);
        }
        self.complete(adapter, number, status);
        self.fail(adapter, number);
    }

    fn try_again(&mut self, adapter: usize, number: u32, place: usize) -> u32 {
        let qp = self.adapters[adapter].qps.get_mut(&number).unwrap();
        qp.sends[place].tries += 1;
        qp.sends[place].tries
    }

    fn fail_receiver(&mut self, adapter: usize, number: u32, status: WcStatus) {
        let Some(qp) = self.adapters[adapter].qps.get_mut(&number) else {
            return;
        };
        if status == WcStatus::LocLenErr || status == WcStatus::LocProtErr {
            let receive = qp.receives.pop_front().unwrap();
            let cq = qp.init.recv_cq.0;
            self.tell(
                adapter,
                cq,
                (failed(receive.wr_id, status, number), false),
                (0, 1),
            );
        }
        self.fail(adapter, number);
    }

    /// Carries a request out at the other side; how many bytes come back.
    fn perform(&mut self, adapter: usize, number: u32, request: &Request) -> Result<u32, Refusal> {
        let qp = &self.adapters[adapter].qps[&number];
        let (to, other, pd) = (qp.peer, qp.now.dest_qp_num, qp.init.pd.0);
        let (psn, max) = (qp.now.sq_psn, self.adapters[adapter].abilities.max_message);
        let local = |status| Refusal::Failed(status, None);
        let data = if request.operation.returns_data() {
            Vec::new()
        } else {
            let bytes = self.adapters[adapter].gather(request, pd);
            bytes.map_err(local)?
        };
        if data.len() > max as usize {
            return Err(local(WcStatus::LocLenErr));
        }
        let peer = to.filter(|to| !self.adapters[*to].is_off);
        let peer = peer.ok_or(Refusal::Silence)?;
        let Some(there) = self.adapters[peer].qps.get(&other) else {
            return Err(Refusal::Silence);
        };
        let is_ready = matches!(there.now.qp_state, QpState::Rtr | QpState::Rts);
        let is_early = !is_ready && there.now.qp_state != QpState::Err;
        let is_ours = there.now.dest_qp_num == number && there.now.rq_psn == psn;
        let is_ours = is_ours && there.peer == Some(adapter);
        let has_receive = !there.receives.is_empty();
        if is_early {
            self.fault(adapter, "sent before the other side was ready to receive");
        }
        if !is_ready || !is_ours {
            return Err(Refusal::Silence);
        }
        if request.operation.consumes_receive() && !has_receive {
            return Err(Refusal::NotReady);
        }
        if !request.operation.returns_data() {
            self.deliver(peer, other, &request.operation, &data, request.flags)?;
            return Ok(0);
        }
        let length: u32 = request.sges.iter().map(|sge| sge.length).sum();
        let fetched = self.fetch(peer, other, &request.operation, length)?;
        let state = &mut self.adapters[adapter];
        state.scatter(&request.sges, pd, &fetched).map_err(local)?;
        Ok(length)
    }

    /// Delivers what a request brings.
    fn deliver(
        &mut self,
        adapter: usize,
        number: u32,
        operation: &Operation,
        data: &[u8],
        flags: SendFlags,
    ) -> Result<(), Refusal> {
        let state = &mut self.adapters[adapter];
        let qp = &state.qps[&number];
        let pd = qp.init.pd.0;
        let access = qp.now.qp_access_flags;
        let imm_data = match *operation {
            Operation::SendWithImm(imm) => Some(imm),
            Operation::RdmaWriteWithImm { imm_data, .. } => Some(imm_data),
            _ => None,
        };
        let opcode = match *operation {
            Operation::RdmaWrite { remote_addr, rkey }
            | Operation::RdmaWriteWithImm {
                remote_addr, rkey, ..
            } => {
                let key = (rkey, access, Access::REMOTE_WRITE);
                let to = state.remote(pd, remote_addr, data.len(), key);
                to.map_err(refused)?.copy_from_slice(data);
                WcOpcode::RecvRdmaWithImm
            }
            _ => {
                let Receive { sges, .. } = state.qps[&number].receives[0].clone();
                let room: u32 = sges.iter().map(|sge| sge.length).sum();
                if data.len() > room as usize {
                    let here = WcStatus::RemInvReqErr;
                    return Err(Refusal::Failed(here, Some(WcStatus::LocLenErr)));
                }
                let scattered = state.scatter(&sges, pd, data);
                scattered.map_err(|status| Refusal::Failed(WcStatus::RemOpErr, Some(status)))?;
                WcOpcode::Recv
            }
        };
        if operation.consumes_receive() {
            let qp = state.qps.get_mut(&number).unwrap();
            let receive = qp.receives.pop_front().unwrap();
            let completion = WorkCompletion {
                wr_id: receive.wr_id,
                status: WcStatus::Success,
                opcode: Some(opcode),
                byte_len: u32::try_from(data.len()).unwrap(),
                imm_data,
                qp_num: number,
                vendor_err: 0,
            };
            qp.received.push_back((completion, flags.solicited));
        }
        Ok(())
    }

    /// Returns the data that a request fetches.
    fn fetch(
        &mut self,
        adapter: usize,
        number: u32,
        operation: &Operation,
        length: u32,
    ) -> Result<Vec<u8>, Refusal> {
        let state = &mut self.adapters[adapter];
        let qp = &state.qps[&number];
        let (pd, access) = (qp.init.pd.0, qp.now.qp_access_flags);
        let (place, key, right) = match *operation {
            Operation::RdmaRead { remote_addr, rkey } => {
                let from = state.remote_bytes(pd, remote_addr, length as usize, (rkey, access));
                return Ok(from.map_err(refused)?.to_vec());
            }
            Operation::AtomicCmpAndSwp {
                remote_addr, rkey, ..
            }
            | Operation::AtomicFetchAndAdd {
                remote_addr, rkey, ..
            } => (remote_addr, rkey, Access::REMOTE_ATOMIC),
            _ => unreachable!("only what fetches"),
        };
        if place % 8 != 0 || length != 8 {
            return Err(Refusal::Failed(
                WcStatus::RemInvReqErr,
                Some(WcStatus::RemInvReqErr),
            ));
        }
        let bytes = state.remote(pd, place, 8, (key, access, right));
        let bytes = bytes.map_err(refused)?;
        let old = u64::from_ne_bytes((&*bytes).try_into().unwrap());
        let new = match *operation {
            Operation::AtomicCmpAndSwp { compare, swap, .. } if old == compare => swap,
            Operation::AtomicFetchAndAdd { add, .. } => old.wrapping_add(add),
            _ => old,
        };
        bytes.copy_from_slice(&new.to_ne_bytes());
        Ok(old.to_ne_bytes().to_vec())
    }
}

impl State {
    /// The bytes of a request.
    fn gather(&self, request: &Request, pd: u32) -> Result<Vec<u8>, WcStatus> {
        if let Some(inline) = &request.inline {
            return Ok(inline.clone());
        }
        let mut bytes = Vec::new();
        for sge in &request.sges {
            let (handle, at) = self.local(sge, pd).ok_or(WcStatus::LocProtErr)?;
            bytes.extend(&self.regions[&handle].memory.bytes()[at..at + sge.length as usize]);
        }
        Ok(bytes)
    }

    /// Puts bytes where they belong.
    fn scatter(&mut self, sges: &[Sge], pd: u32, mut bytes: &[u8]) -> Result<(), WcStatus> {
        for sge in sges {
            let (part, rest) = bytes.split_at(bytes.len().min(sge.length as usize));
            let (handle, at) = self.local(sge, pd).ok_or(WcStatus::LocProtErr)?;
            let region = self.regions.get_mut(&handle).unwrap();
            if !region.access.contains(Access::LOCAL_WRITE) {
                return Err(WcStatus::LocProtErr);
            }
            let memory = region.memory.bytes_mut().ok_or(WcStatus::LocProtErr)?;
            memory[at..at + part.len()].copy_from_slice(part);
            bytes = rest;
        }
        Ok(())
    }

    fn local(&self, sge: &Sge, pd: u32) -> Option<(u32, usize)> {
        let mut regions = self.regions.iter();
        let found = regions.find(|(_, region)| region.region.lkey == sge.lkey);
        let (&handle, region) = found?;
        let at = sge.addr.checked_sub(region.region.addr)?;
        let fits = at + u64::from(sge.length) <= region.region.length && region.pd == pd;
        fits.then(|| (handle, usize::try_from(at).unwrap()))
    }

    /// The place and the length of memory that the other side may reach, or what it is told.
    fn reachable(
        &self,
        pd: u32,
        addr: u64,
        length: usize,
        (rkey, allowed, right): (u32, Access, Access),
    ) -> Result<(u32, usize), WcStatus> {
        if !allowed.contains(right) {
            return Err(WcStatus::RemInvReqErr);
        }
        let mut regions = self.regions.iter();
        let found = regions.find(|(_, region)| region.region.rkey == rkey && region.pd == pd);
        let found = found.filter(|(_, region)| region.access.contains(right));
        let (&handle, region) = found.ok_or(WcStatus::RemAccessErr)?;
        let at = addr.checked_sub(region.region.addr);
        let at = at.filter(|at| at + length as u64 <= region.region.length);
        let at = at.ok_or(WcStatus::RemAccessErr)?;
        Ok((handle, usize::try_from(at).unwrap()))
    }

    fn remote(
        &mut self,
        pd: u32,
        addr: u64,
        length: usize,
        key: (u32, Access, Access),
    ) -> Result<&mut [u8], WcStatus> {
        if length == 0 {
            return Ok(&mut []);
        }
        let (handle, at) = self.reachable(pd, addr, length, key)?;
        let region = self.regions.get_mut(&handle).unwrap();
        let bytes = region.memory.bytes_mut().ok_or(WcStatus::RemAccessErr)?;
        Ok(&mut bytes[at..at + length])
    }

    fn remote_bytes(
        &self,
        pd: u32,
        addr: u64,
        length: usize,
        (rkey, allowed): (u32, Access),
    ) -> Result<&[u8], WcStatus> {
        if length == 0 {
            return Ok(&[]);
        }
        let key = (rkey, allowed, Access::REMOTE_READ);
        let (handle, at) = self.reachable(pd, addr, length, key)?;
        Ok(&self.regions[&handle].memory.bytes()[at..at + length])
    }

    /// Tells that a send queue is drained, if that was asked for and it is.
    pub(super) fn tell_drained(&mut self, number: u32) {
        let Some(qp) = self.qps.get_mut(&number) else {
            return;
        };
        if qp.tells_drained && qp.draining == 0 && qp.now.qp_state == QpState::Sqd {
            qp.tells_drained = false;
            let event = rdma::AsyncEvent::SqDrained(qp.handle);
            self.events.push_back(event);
        }
    }
}

/// Tells both sides of a request that the receiving one refuses.
fn refused(status: WcStatus) -> Refusal {
    Refusal::Failed(status, Some(status))
}

fn opcode(operation: &Operation) -> WcOpcode {
    match operation {
        Operation::Send | Operation::SendWithImm(_) => WcOpcode::Send,
        Operation::RdmaWrite { .. } | Operation::RdmaWriteWithImm { .. } => WcOpcode::RdmaWrite,
        Operation::RdmaRead { .. } => WcOpcode::RdmaRead,
        Operation::AtomicCmpAndSwp { .. } => WcOpcode::CompSwap,
        Operation::AtomicFetchAndAdd { .. } => WcOpcode::FetchAdd,
    }
}

fn failed(wr_id: u64, status: WcStatus, qp_num: u32) -> WorkCompletion {
    WorkCompletion {
        wr_id,
        status,
        opcode: None,
        byte_len: 0,
        imm_data: None,
        qp_num,
        vendor_err: 0,
    }
}
