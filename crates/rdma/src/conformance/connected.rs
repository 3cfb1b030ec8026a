//! A connected queue pair with its protection domain, completion queues and endpoints.

use super::{Side, wait_a_little};
use crate::{
    Access, CompletionQueue, ConnectionAttributes, Endpoint, MemoryRegion, Operation, Payload,
    ProtectionDomain, QpCapabilities, QpInitAttributes, QpModify, QpState, QueuePair, RecvRequest,
    RegionMemory, SendFlags, SendRequest, WcStatus, WorkCompletion, connect, prepare,
};

/// Options of a connection of a case.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setup {
    pub(super) cap: QpCapabilities,
    pub(super) options: ConnectionAttributes,
    pub(super) sq_sig_all: bool,
    /// The domain of another connection, which is closed after this one.
    pub(super) pd: Option<ProtectionDomain>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            cap: QpCapabilities {
                max_send_sge: 4,
                max_recv_sge: 4,
                max_inline_data: 64,
                ..QpCapabilities::default()
            },
            options: ConnectionAttributes::default(),
            sq_sig_all: false,
            pd: None,
        }
    }
}

/// A queue pair of a side, connected to one of the other side.
pub(super) struct ConnectedQp<'a> {
    pub(super) side: &'a Side<'a>,
    pub(super) pd: ProtectionDomain,
    pub(super) send_cq: CompletionQueue,
    pub(super) recv_cq: CompletionQueue,
    pub(super) qp: QueuePair,
    pub(super) local: Endpoint,
    pub(super) remote: Endpoint,
    pub(super) options: ConnectionAttributes,
    owns_pd: bool,
    regions: std::cell::RefCell<Vec<MemoryRegion>>,
}

/// The first packet sequence number, near the maximum, so that the numbers wrap.
const PSN: u32 = (1 << 24) - 5;

impl<'a> ConnectedQp<'a> {
    pub(super) async fn usual(side: &'a Side<'a>) -> Self {
        Self::new(side, &Setup::default()).await
    }

    pub(super) async fn new(side: &'a Side<'a>, setup: &Setup) -> Self {
        let this = Self::prepared(side, setup);
        let remote = this.tell_endpoint().await;
        let this = Self { remote, ..this };
        connect(
            side.verbs,
            this.qp,
            &this.options,
            &this.local,
            &this.remote,
        )
        .expect("connects");
        // Nothing is sent before the other side can answer.
        side.meet().await;
        this
    }

    /// In state INIT, and not connected.
    pub(super) fn prepared(side: &'a Side<'a>, setup: &Setup) -> Self {
        let verbs = side.verbs;
        let own = || verbs.alloc_pd().expect("a domain");
        let pd = setup.pd.unwrap_or_else(own);
        let send_cq = verbs.create_cq(256).expect("a queue");
        let recv_cq = verbs.create_cq(256).expect("a queue");
        let init = QpInitAttributes {
            pd,
            send_cq,
            recv_cq,
            cap: setup.cap,
            sq_sig_all: setup.sq_sig_all,
        };
        let qp = verbs.create_qp(&init).expect("a queue pair");
        let psn = PSN + u32::from(side.is_first());
        let local = prepare(verbs, qp, &setup.options, psn).expect("INIT");
        Self {
            side,
            pd,
            send_cq,
            recv_cq,
            qp,
            local,
            remote: local,
            options: setup.options,
            owns_pd: setup.pd.is_none(),
            regions: std::cell::RefCell::default(),
        }
    }

    /// Swaps endpoints.
    pub(super) async fn tell_endpoint(&self) -> Endpoint {
        let bytes = self.side.swap(&self.local.to_bytes()).await;
        let bytes = bytes.as_slice().try_into().expect("out of step");
        Endpoint::from_bytes(bytes).expect("an endpoint")
    }

    /// Memory of zeros, until the end of the case.
    pub(super) fn region(&self, length: u64, access: Access) -> MemoryRegion {
        self.register_memory(RegionMemory::Zeroed(length), access)
    }

    pub(super) fn register_memory(&self, memory: RegionMemory, access: Access) -> MemoryRegion {
        let region = self.side.verbs.reg_mr(self.pd, memory, access);
        let region = region.expect("memory can be registered");
        self.regions.borrow_mut().push(region);
        region
    }

    /// Takes memory back before the end of the case.
    pub(super) fn deregister(&self, region: &MemoryRegion) -> RegionMemory {
        self.regions.borrow_mut().retain(|other| other != region);
        self.side.verbs.dereg_mr(region).expect("registered")
    }

    pub(super) fn write(&self, region: &MemoryRegion, offset: u64, bytes: &[u8]) {
        let result = self.side.verbs.write_mr(region, offset, bytes);
        result.expect("within the region");
    }

    pub(super) fn read(&self, region: &MemoryRegion, offset: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        let result = self.side.verbs.read_mr(region, offset, &mut bytes);
        result.expect("within the region");
        bytes
    }

    pub(super) fn write_u64(&self, region: &MemoryRegion, offset: u64, value: u64) {
        self.write(region, offset, &value.to_ne_bytes());
    }

    pub(super) fn read_u64(&self, region: &MemoryRegion, offset: u64) -> u64 {
        let bytes = self.read(region, offset, 8);
        u64::from_ne_bytes(bytes.try_into().expect("8 bytes"))
    }

    /// Posts a signalled request, with the part of a region.
    pub(super) fn post(
        &self,
        wr_id: u64,
        operation: Operation,
        region: &MemoryRegion,
        offset: u64,
        length: u32,
    ) {
        let sge = [region.sge(offset, length)];
        self.post_request(&SendRequest {
            wr_id,
            operation,
            payload: Payload::Sges(if length == 0 { &[] } else { &sge }),
            flags: SendFlags::SIGNALED,
        });
    }

    pub(super) fn post_request(&self, request: &SendRequest<'_>) {
        let requests = std::slice::from_ref(request);
        let result = self.side.verbs.post_send(self.qp, requests);
        result.expect("a request is taken");
    }

    pub(super) fn post_recv(&self, wr_id: u64, region: &MemoryRegion, offset: u64, length: u32) {
        let sges = [region.sge(offset, length)];
        let request = RecvRequest {
            wr_id,
            sges: if length == 0 { &[] } else { &sges },
        };
        let result = self.side.verbs.post_recv(self.qp, &[request]);
        result.expect("a receive is taken");
    }

    async fn next_completion(&self, cq: CompletionQueue) -> WorkCompletion {
        loop {
            if let Some(completion) = self.poll_completion(cq) {
                assert_eq!(completion.qp_num, self.qp.qp_num, "{completion:?}");
                return completion;
            }
            wait_a_little().await;
        }
    }

    /// The next completion that is there already.
    pub(super) fn poll_completion(&self, cq: CompletionQueue) -> Option<WorkCompletion> {
        let mut completions = Vec::new();
        let taken = self.side.verbs.poll_cq(cq, 1, &mut completions);
        assert_eq!(taken, Ok(completions.len()));
        completions.pop()
    }

    /// The next completion of the send queue.
    pub(super) async fn sent(&self) -> WorkCompletion {
        self.next_completion(self.send_cq).await
    }

    /// The next completion of the receive queue.
    pub(super) async fn next_recv_completion(&self) -> WorkCompletion {
        self.next_completion(self.recv_cq).await
    }

    /// The next request of the send queue is over, well, and is this one.
    #[track_caller]
    pub(super) fn expect_sent(&self, wr_id: u64) -> impl Future<Output = WorkCompletion> {
        let caller = std::panic::Location::caller();
        async move {
            let completion = self.sent().await;
            assert_eq!(
                (completion.wr_id, completion.status),
                (wr_id, WcStatus::Success),
                "{caller}: {completion:?}"
            );
            completion
        }
    }

    /// The same of the receive queue.
    #[track_caller]
    pub(super) fn arrived(&self, wr_id: u64) -> impl Future<Output = WorkCompletion> {
        let caller = std::panic::Location::caller();
        async move {
            let completion = self.next_recv_completion().await;
            assert_eq!(
                (completion.wr_id, completion.status),
                (wr_id, WcStatus::Success),
                "{caller}: {completion:?}"
            );
            completion
        }
    }

    pub(super) fn state(&self) -> QpState {
        let attributes = self.side.verbs.query_qp(self.qp);
        attributes.expect("a queue pair").qp_state
    }

    #[track_caller]
    pub(super) fn go_to(&self, state: QpState) {
        let modify = QpModify::to_state(state);
        let result = self.side.verbs.modify_qp(self.qp, &modify);
        result.expect("a transition that is always allowed");
    }

    /// Waits for the other side and frees everything.
    pub(super) async fn close(self) {
        self.side.meet().await;
        self.free_objects();
    }

    pub(super) fn free_objects(self) {
        let verbs = self.side.verbs;
        verbs.destroy_qp(self.qp).expect("a queue pair");
        for region in self.regions.into_inner() {
            verbs.dereg_mr(&region).expect("registered");
        }
        verbs.destroy_cq(self.send_cq).expect("not in use");
        verbs.destroy_cq(self.recv_cq).expect("not in use");
        if self.owns_pd {
            verbs.dealloc_pd(self.pd).expect("empty");
        }
    }
}

/// Bytes that differ with the place and the number.
pub(super) fn pattern(number: u64, length: usize) -> Vec<u8> {
    let byte = |at: usize| {
        let mixed = (at as u64).wrapping_add(number << 20);
        let mixed = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed.to_be_bytes()[0]
    };
    (0..length).map(byte).collect()
}
