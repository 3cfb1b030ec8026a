//! What happens between the calls: one request is carried out, or one end is told.

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
                if qp.now.qp_state != QpState::Rts {
                    continue;
                }
                if qp.sends.front().is_some_and(|first| first.done.is_some()) {
                    add(Step::Complete);
                }
                // The next one, and what may take effect before reads that have begun.
                let open = qp.sends.iter().enumerate();
                let mut fetching = 0;
                for (place, request) in open.filter(|(_, request)| request.done.is_none()) {
                    if request.flags.fence && fetching > 0 {
                        break;
                    }
                    add(Step::CarryOut(place));
                    fetching += u8::from(request.operation.fetches());
                    if !request.operation.fetches() || fetching >= qp.now.max_rd_atomic.max(1) {
                        break;
                    }
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
            Step::Complete => self.complete(adapter, number, WcStatus::Success),
            Step::Receive => {
                let qp = self.adapters[adapter].qps.get_mut(&number).unwrap();
                let completion = qp.received.pop_front().unwrap();
                let cq = qp.init.recv_cq.0;
                self.tell(adapter, cq, completion, (0, 1));
            }
        }
        true
    }

    fn tell(&mut self, adapter: usize, cq: u32, completion: WorkCompletion, places: (u32, u32)) {
        let state = &mut self.adapters[adapter];
        let Some(queue) = state.cqs.get_mut(&cq) else {
            return;
        };
        queue.entries.push_back(Entry {
            completion,
            sends: places.0,
            receives: places.1,
        });
        if std::mem::take(&mut queue.is_armed) {
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
        self.tell(adapter, cq, completion, (places, 0));
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
            self.tell(adapter, cq, completion, (0, 1));
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
            self.tell(adapter, cq, failed(receive.wr_id, status, number), (0, 1));
        }
        self.fail(adapter, number);
    }

    /// Carries a request out at the other side; how many bytes come back.
    fn perform(&mut self, adapter: usize, number: u32, request: &Request) -> Result<u32, Refusal> {
        let qp = &self.adapters[adapter].qps[&number];
        let (to, other, pd) = (qp.peer, qp.now.dest_qp_num, qp.init.pd.0);
        let (psn, max) = (qp.now.sq_psn, self.adapters[adapter].abilities.max_message);
        let local = |status| Refusal::Failed(status, None);
        let data = if request.operation.fetches() {
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
        if !request.operation.fetches() {
            self.deliver(peer, other, &request.operation, &data, request.flags)?;
            return Ok(0);
        }
        let length: u32 = request.sges.iter().map(|sge| sge.length).sum();
        let fetched = self.fetch(peer, other, &request.operation, length)?;
        let state = &mut self.adapters[adapter];
        state.scatter(&request.sges, pd, &fetched).map_err(local)?;
        Ok(length)
    }

    /// What a request brings arrives.
    fn deliver(
        &mut self,
        adapter: usize,
        number: u32,
        operation: &Operation,
        data: &[u8],
        flags: SendFlags,
    ) -> Result<(), Refusal> {
        let _ = flags;
        let refused = || Refusal::Failed(WcStatus::RemAccessErr, Some(WcStatus::RemAccessErr));
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
                to.ok_or_else(refused)?.copy_from_slice(data);
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
            qp.received.push_back(WorkCompletion {
                wr_id: receive.wr_id,
                status: WcStatus::Success,
                opcode: Some(opcode),
                byte_len: u32::try_from(data.len()).unwrap(),
                imm_data,
                qp_num: number,
                vendor_err: 0,
            });
        }
        Ok(())
    }

    /// What a request fetches.
    fn fetch(
        &mut self,
        adapter: usize,
        number: u32,
        operation: &Operation,
        length: u32,
    ) -> Result<Vec<u8>, Refusal> {
        let refused = || Refusal::Failed(WcStatus::RemAccessErr, Some(WcStatus::RemAccessErr));
        let state = &mut self.adapters[adapter];
        let qp = &state.qps[&number];
        let (pd, access) = (qp.init.pd.0, qp.now.qp_access_flags);
        let (place, key, right) = match *operation {
            Operation::RdmaRead { remote_addr, rkey } => {
                let from = state.remote_bytes(pd, remote_addr, length as usize, (rkey, access));
                return Ok(from.ok_or_else(refused)?.to_vec());
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
        let bytes = bytes.ok_or_else(refused)?;
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

    fn remote(
        &mut self,
        pd: u32,
        addr: u64,
        length: usize,
        (rkey, allowed, right): (u32, Access, Access),
    ) -> Option<&mut [u8]> {
        if length == 0 {
            return Some(&mut []);
        }
        let mut regions = self.regions.values_mut();
        let region = regions.find(|region| region.region.rkey == rkey && region.pd == pd)?;
        if !region.access.contains(right) || !allowed.contains(right) {
            return None;
        }
        let at = usize::try_from(addr.checked_sub(region.region.addr)?).ok()?;
        region.memory.bytes_mut()?.get_mut(at..at + length)
    }

    fn remote_bytes(
        &self,
        pd: u32,
        addr: u64,
        length: usize,
        (rkey, allowed): (u32, Access),
    ) -> Option<&[u8]> {
        let right = Access::REMOTE_READ;
        let mut regions = self.regions.values();
        let region = regions.find(|region| region.region.rkey == rkey && region.pd == pd)?;
        if !region.access.contains(right) || !allowed.contains(right) {
            return None;
        }
        let at = usize::try_from(addr.checked_sub(region.region.addr)?).ok()?;
        region.memory.bytes().get(at..at + length)
    }
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
