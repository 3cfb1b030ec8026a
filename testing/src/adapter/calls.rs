//! The calls of the trait: what is refused, and what is taken.

use super::{Adapter, Cq, MTU, Memory, Net, Qp, Receive, Region, Request, State};
use rdma::{
    Access, AsyncEvent, CompletionQueue, DeviceAttributes, Gid, GidType, LinkLayer, MemoryRegion,
    Payload, PortAttributes, PortState, PostError, ProtectionDomain, QpAttributes,
    QpInitAttributes, QpModify, QpState, QueuePair, RecvRequest, RegionMemory, RegisterError,
    SendRequest, Verbs, VerbsError, WorkCompletion,
};

fn gone(what: &'static str, handle: u32) -> VerbsError {
    VerbsError::NoSuchHandle { what, handle }
}

fn invalid(why: &str) -> VerbsError {
    VerbsError::Invalid {
        why: why.to_owned(),
    }
}

impl Adapter {
    fn with<T>(&self, call: impl FnOnce(&mut State) -> T) -> T {
        call(&mut self.net.borrow_mut().adapters[self.me])
    }

    /// Notes what no correct user does, and refuses it.
    fn refuse<T>(&self, error: VerbsError) -> Result<T, VerbsError> {
        self.net.borrow_mut().fault(self.me, &error.to_string());
        Err(error)
    }

    fn with_qp<T>(
        &self,
        qp: QueuePair,
        call: impl FnOnce(&mut Qp) -> Result<T, VerbsError>,
    ) -> Result<T, VerbsError> {
        self.with(|state| match state.qps.get_mut(&qp.qp_num) {
            Some(found) if found.handle == qp => call(found),
            _ => Err(gone("queue pair", qp.handle)),
        })
    }
}

impl Verbs for Adapter {
    fn query_device(&self) -> &DeviceAttributes {
        &self.attributes
    }

    fn query_port(&self, port_num: u8) -> Result<PortAttributes, VerbsError> {
        if port_num != 1 {
            return Err(gone("port", port_num.into()));
        }
        Ok(PortAttributes {
            state: PortState::Active,
            link_layer: LinkLayer::Ethernet,
            max_mtu: MTU,
            active_mtu: MTU,
            gid_tbl_len: 1,
            lid: 0,
            max_msg_sz: self.with(|state| state.abilities.max_message),
        })
    }

    fn query_gid(&self, _: u8, index: u8) -> Result<(Gid, GidType), VerbsError> {
        if index != 0 {
            return Err(gone("GID", index.into()));
        }
        Ok((self.with(|state| state.gid), GidType::RoceV2))
    }

    fn alloc_pd(&self) -> Result<ProtectionDomain, VerbsError> {
        self.with(|state| {
            let number = state.number();
            state.pds.push(number);
            Ok(ProtectionDomain(number))
        })
    }

    fn dealloc_pd(&self, pd: ProtectionDomain) -> Result<(), VerbsError> {
        self.with(|state| {
            let used = state.regions.values().any(|region| region.pd == pd.0)
                || state.qps.values().any(|qp| qp.init.pd == pd);
            if used {
                return Err(VerbsError::Busy {
                    what: "protection domain",
                });
            }
            let place = state.pds.iter().position(|other| *other == pd.0);
            let place = place.ok_or_else(|| gone("protection domain", pd.0))?;
            state.pds.remove(place);
            Ok(())
        })
    }

    fn reg_mr(
        &self,
        pd: ProtectionDomain,
        memory: RegionMemory,
        access: Access,
    ) -> Result<MemoryRegion, RegisterError> {
        let shared = matches!(memory, RegionMemory::ReadOnly(_));
        let wrong = if memory.is_empty() {
            Some(invalid("memory of no bytes"))
        } else if !access.is_consistent() || shared && access.writes() {
            Some(invalid("rights that make no sense"))
        } else if !self.with(|state| state.pds.contains(&pd.0)) {
            Some(gone("protection domain", pd.0))
        } else {
            None
        };
        if let Some(error) = wrong {
            let _ = self.refuse::<()>(error.clone());
            return Err(RegisterError { error, memory });
        }
        self.with(|state| {
            let length = memory.len();
            if state.registered() + length > state.abilities.max_registered {
                let error = VerbsError::NoRoom {
                    what: "locked memory",
                };
                return Err(RegisterError { error, memory });
            }
            let memory = match memory {
                RegionMemory::Zeroed(length) => {
                    Memory::Zeroed(vec![0; usize::try_from(length).unwrap()])
                }
                RegionMemory::Owned(bytes) => Memory::Owned(bytes),
                RegionMemory::ReadOnly(bytes) => Memory::Shared(bytes),
            };
            state.registrations += 1;
            let handle = state.number();
            let region = MemoryRegion {
                handle,
                addr: state.address,
                length,
                // Far apart, so that one is not taken for the other.
                lkey: handle.wrapping_mul(0x0100_0193),
                rkey: handle.wrapping_mul(0x9E37_79B1),
            };
            state.address += length.next_multiple_of(4096) + 4096;
            let entry = Region {
                pd: pd.0,
                region,
                access,
                memory,
            };
            state.regions.insert(handle, entry);
            Ok(region)
        })
    }

    fn dereg_mr(&self, region: &MemoryRegion) -> Result<RegionMemory, VerbsError> {
        self.with(|state| {
            let found = state.regions.remove(&region.handle);
            let found = found.ok_or_else(|| gone("memory region", region.handle))?;
            Ok(match found.memory {
                Memory::Zeroed(bytes) => RegionMemory::Zeroed(bytes.len() as u64),
                Memory::Owned(bytes) => RegionMemory::Owned(bytes),
                Memory::Shared(bytes) => RegionMemory::ReadOnly(bytes),
            })
        })
    }

    fn read_mr(
        &self,
        region: &MemoryRegion,
        offset: u64,
        bytes: &mut [u8],
    ) -> Result<(), VerbsError> {
        self.with(|state| {
            let found = state.regions.get(&region.handle);
            let found = found.ok_or_else(|| gone("memory region", region.handle))?;
            let offset = usize::try_from(offset).unwrap();
            let end = offset.saturating_add(bytes.len());
            let from = found.memory.bytes().get(offset..end);
            bytes.copy_from_slice(from.ok_or_else(|| invalid("not within the region"))?);
            Ok(())
        })
    }

    fn write_mr(&self, region: &MemoryRegion, offset: u64, bytes: &[u8]) -> Result<(), VerbsError> {
        self.with(|state| {
            let found = state.regions.get_mut(&region.handle);
            let found = found.ok_or_else(|| gone("memory region", region.handle))?;
            let offset = usize::try_from(offset).unwrap();
            let to = found.memory.bytes_mut();
            let to = to.ok_or_else(|| invalid("memory that is only read"))?;
            let end = offset.saturating_add(bytes.len());
            let to = to.get_mut(offset..end);
            to.ok_or_else(|| invalid("not within the region"))?
                .copy_from_slice(bytes);
            Ok(())
        })
    }

    fn create_cq(&self, cqe: u32) -> Result<CompletionQueue, VerbsError> {
        self.with(|state| {
            if cqe == 0 || cqe > state.abilities.max_cqe {
                return Err(invalid("length of a completion queue"));
            }
            let number = state.number();
            let cq = Cq {
                length: cqe,
                entries: std::collections::VecDeque::new(),
                armed: None,
                is_broken: false,
            };
            state.cqs.insert(number, cq);
            Ok(CompletionQueue(number))
        })
    }

    fn destroy_cq(&self, cq: CompletionQueue) -> Result<(), VerbsError> {
        self.with(|state| {
            let mut qps = state.qps.values();
            if qps.any(|qp| qp.init.send_cq == cq || qp.init.recv_cq == cq) {
                return Err(VerbsError::Busy {
                    what: "completion queue",
                });
            }
            let removed = state.cqs.remove(&cq.0);
            removed
                .map(|_| ())
                .ok_or_else(|| gone("completion queue", cq.0))
        })
    }

    fn create_qp(&self, init: &QpInitAttributes) -> Result<QueuePair, VerbsError> {
        self.with(|state| {
            let known = state.pds.contains(&init.pd.0)
                && state.cqs.contains_key(&init.send_cq.0)
                && state.cqs.contains_key(&init.recv_cq.0);
            let cap = init.cap;
            if !known {
                return Err(gone("domain or completion queue", init.pd.0));
            }
            if cap.max_inline_data > state.abilities.max_inline
                || cap.max_send_wr.max(cap.max_recv_wr) > state.abilities.max_qp_wr
            {
                return Err(invalid("capabilities"));
            }
            let handle = state.number();
            // The number of a queue pair that is gone is used again at once.
            let qp_num = (0x11..)
                .find(|number| !state.qps.contains_key(number))
                .unwrap();
            let handle = QueuePair { handle, qp_num };
            state.qps.insert(qp_num, Qp::new(handle, *init));
            Ok(handle)
        })
    }

    fn query_qp(&self, qp: QueuePair) -> Result<QpAttributes, VerbsError> {
        self.with_qp(qp, |qp| Ok(qp.now))
    }

    fn modify_qp(&self, qp: QueuePair, modify: &QpModify) -> Result<(), VerbsError> {
        let me = self.me;
        let net = &mut *self.net.borrow_mut();
        let peers: Vec<Gid> = net.adapters.iter().map(|adapter| adapter.gid).collect();
        let found = net.adapters[me].qps.get_mut(&qp.qp_num);
        let found = found.ok_or_else(|| gone("queue pair", qp.handle))?;
        let modified = found.modify(modify, &peers);
        if let Err(error) = &modified {
            net.fault(me, &error.to_string());
        } else if modify.qp_state == Some(QpState::Err) {
            net.flush(me, qp.qp_num);
        } else {
            net.adapters[me].tell_drained(qp.qp_num);
        }
        modified
    }

    fn destroy_qp(&self, qp: QueuePair) -> Result<(), VerbsError> {
        self.with(|state| match state.qps.remove(&qp.qp_num) {
            Some(found) if found.handle == qp => Ok(()),
            _ => Err(gone("queue pair", qp.handle)),
        })
    }

    fn post_send(&self, qp: QueuePair, requests: &[SendRequest<'_>]) -> Result<(), PostError> {
        let known = self.with_qp(qp, |_| Ok(()));
        known.map_err(|error| PostError { taken: 0, error })?;
        for (taken, request) in requests.iter().enumerate() {
            let posted = self.with_qp(qp, |qp| qp.post_send(request));
            if let Err(error) = posted {
                let _ = self.refuse::<()>(error.clone());
                return Err(PostError { taken, error });
            }
        }
        self.flush_if_broken(qp);
        Ok(())
    }

    fn post_recv(&self, qp: QueuePair, requests: &[RecvRequest<'_>]) -> Result<(), PostError> {
        let known = self.with_qp(qp, |_| Ok(()));
        known.map_err(|error| PostError { taken: 0, error })?;
        for (taken, request) in requests.iter().enumerate() {
            let posted = self.with_qp(qp, |qp| qp.post_recv(request));
            if let Err(error) = posted {
                let _ = self.refuse::<()>(error.clone());
                return Err(PostError { taken, error });
            }
        }
        self.flush_if_broken(qp);
        Ok(())
    }

    fn poll_cq(
        &self,
        cq: CompletionQueue,
        most: usize,
        completions: &mut Vec<WorkCompletion>,
    ) -> Result<usize, VerbsError> {
        self.with(|state| {
            let queue = state.cqs.get_mut(&cq.0);
            let queue = queue.ok_or_else(|| gone("completion queue", cq.0))?;
            if queue.is_broken {
                return Err(invalid("the completion queue has overflowed"));
            }
            let count = most.min(queue.entries.len());
            for entry in queue.entries.drain(..count) {
                if let Some(qp) = state.qps.get_mut(&entry.completion.qp_num) {
                    qp.send_places = qp.send_places.saturating_sub(entry.sends);
                    qp.receive_places = qp.receive_places.saturating_sub(entry.receives);
                }
                completions.push(entry.completion);
            }
            Ok(count)
        })
    }

    fn req_notify_cq(&self, cq: CompletionQueue, solicited_only: bool) -> Result<(), VerbsError> {
        self.with(|state| {
            let queue = state.cqs.get_mut(&cq.0);
            let queue = queue.ok_or_else(|| gone("completion queue", cq.0))?;
            // Who asks for all and for the solicited ones gets all.
            queue.armed = Some(solicited_only && queue.armed.unwrap_or(true));
            Ok(())
        })
    }

    fn get_cq_event(&self) -> Result<Option<CompletionQueue>, VerbsError> {
        self.with(|state| Ok(state.told.pop_front()))
    }

    fn get_async_event(&self) -> Result<Option<AsyncEvent>, VerbsError> {
        self.with(|state| Ok(state.events.pop_front()))
    }
}

impl Adapter {
    fn flush_if_broken(&self, qp: QueuePair) {
        let net: &mut Net = &mut self.net.borrow_mut();
        let found = net.adapters[self.me].qps.get(&qp.qp_num);
        if found.is_some_and(|qp| qp.now.qp_state == QpState::Err) {
            net.flush(self.me, qp.qp_num);
        }
    }
}

impl Qp {
    fn new(handle: QueuePair, init: QpInitAttributes) -> Self {
        Self {
            handle,
            init,
            now: QpAttributes {
                qp_state: QpState::Reset,
                cap: init.cap,
                path_mtu: None,
                dest_qp_num: 0,
                rq_psn: 0,
                sq_psn: 0,
                qp_access_flags: Access::NONE,
                max_rd_atomic: 0,
                max_dest_rd_atomic: 0,
                min_rnr_timer: 0,
                timeout: 0,
                retry_cnt: 0,
                rnr_retry: 0,
            },
            peer: None,
            sends: std::collections::VecDeque::new(),
            send_places: 0,
            silent: 0,
            receives: std::collections::VecDeque::new(),
            receive_places: 0,
            received: std::collections::VecDeque::new(),
            tells_drained: false,
            draining: 0,
        }
    }

    /// The transitions of a reliable connection, with the attributes that each needs (IBA
    /// 11.2.4.2).
    fn modify(&mut self, modify: &QpModify, peers: &[Gid]) -> Result<(), VerbsError> {
        let to = modify.qp_state.unwrap_or(self.now.qp_state);
        let missing = match (self.now.qp_state, to) {
            (QpState::Reset, QpState::Init) => [
                modify.pkey_index.is_none(),
                modify.port_num.is_none(),
                modify.qp_access_flags.is_none(),
                false,
                false,
                false,
            ],
            (QpState::Init, QpState::Rtr) => [
                modify.path_mtu.is_none(),
                modify.ah_attr.is_none(),
                modify.dest_qp_num.is_none(),
                modify.rq_psn.is_none(),
                modify.max_dest_rd_atomic.is_none(),
                modify.min_rnr_timer.is_none(),
            ],
            (QpState::Rtr, QpState::Rts) => [
                modify.sq_psn.is_none(),
                modify.timeout.is_none(),
                modify.retry_cnt.is_none(),
                modify.rnr_retry.is_none(),
                modify.max_rd_atomic.is_none(),
                false,
            ],
            (QpState::Rts, QpState::Rts | QpState::Sqd)
            | (QpState::Sqd, QpState::Sqd | QpState::Rts)
            | (_, QpState::Reset | QpState::Err) => [false; 6],
            (from, to) => return Err(invalid(&format!("from {from} to {to}"))),
        };
        if missing.contains(&true) {
            return Err(invalid(&format!("attributes are missing for {to}")));
        }
        if let Some(way) = modify.ah_attr {
            let gid = way.grh.map(|route| route.dgid);
            self.peer = peers.iter().position(|peer| Some(*peer) == gid);
        }
        if to == QpState::Reset {
            *self = Self::new(self.handle, self.init);
            return Ok(());
        }
        if to == QpState::Sqd && self.now.qp_state != to {
            self.draining = self.sends.len();
        }
        self.tells_drained = to == QpState::Sqd && modify.en_sqd_async_notify == Some(true);
        let now = &mut self.now;
        now.qp_state = to;
        now.path_mtu = modify.path_mtu.or(now.path_mtu);
        now.dest_qp_num = modify.dest_qp_num.unwrap_or(now.dest_qp_num);
        now.rq_psn = modify.rq_psn.unwrap_or(now.rq_psn);
        now.sq_psn = modify.sq_psn.unwrap_or(now.sq_psn);
        now.qp_access_flags = modify.qp_access_flags.unwrap_or(now.qp_access_flags);
        now.max_rd_atomic = modify.max_rd_atomic.unwrap_or(now.max_rd_atomic);
        now.max_dest_rd_atomic = modify.max_dest_rd_atomic.unwrap_or(now.max_dest_rd_atomic);
        now.rnr_retry = modify.rnr_retry.unwrap_or(now.rnr_retry);
        now.retry_cnt = modify.retry_cnt.unwrap_or(now.retry_cnt);
        now.timeout = modify.timeout.unwrap_or(now.timeout);
        now.min_rnr_timer = modify.min_rnr_timer.unwrap_or(now.min_rnr_timer);
        Ok(())
    }

    fn post_send(&mut self, request: &SendRequest<'_>) -> Result<(), VerbsError> {
        if !matches!(
            self.now.qp_state,
            QpState::Rts | QpState::Sqd | QpState::Err
        ) {
            return Err(invalid("nothing is sent in this state"));
        }
        if self.send_places >= self.init.cap.max_send_wr {
            return Err(VerbsError::NoRoom { what: "send queue" });
        }
        let (sges, inline) = match request.payload {
            Payload::Inline(bytes) => (Vec::new(), Some(bytes.to_vec())),
            Payload::Sges(sges) => (sges.to_vec(), None),
        };
        let too_long = |bytes: &Vec<u8>| bytes.len() > self.init.cap.max_inline_data as usize;
        if inline.as_ref().is_some_and(too_long)
            || inline.is_some() && request.operation.returns_data()
        {
            return Err(invalid("too much inline"));
        }
        if sges.len() > self.init.cap.max_send_sge as usize {
            return Err(invalid("too many entries"));
        }
        self.send_places += 1;
        self.sends.push_back(Request {
            wr_id: request.wr_id,
            operation: request.operation,
            sges,
            inline,
            flags: request.flags,
            tries: 0,
            done: None,
        });
        Ok(())
    }

    fn post_recv(&mut self, request: &RecvRequest<'_>) -> Result<(), VerbsError> {
        if self.now.qp_state == QpState::Reset {
            return Err(invalid("nothing is received in this state"));
        }
        if self.receive_places >= self.init.cap.max_recv_wr {
            return Err(VerbsError::NoRoom {
                what: "receive queue",
            });
        }
        if request.sges.len() > self.init.cap.max_recv_sge as usize {
            return Err(invalid("too many entries"));
        }
        self.receive_places += 1;
        self.receives.push_back(Receive {
            wr_id: request.wr_id,
            sges: request.sges.to_vec(),
        });
        Ok(())
    }
}
