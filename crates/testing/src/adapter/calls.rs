//! The calls of the trait: refused calls are noted as mistakes of the user.

use rdma::{
    Access, AsyncEvent, CompletionQueue, DeviceAttributes, Gid, GidType, MemoryRegion,
    PortAttributes, PostError, ProtectionDomain, QpAttributes, QpInitAttributes, QpModify,
    QueuePair, RecvRequest, RegionMemory, RegisterError, SendRequest, Verbs, VerbsError,
    WorkCompletion,
};

use super::Adapter;

impl Adapter {
    /// Notes a refused call.
    fn noted<T, E: std::fmt::Display>(&self, result: Result<T, E>) -> Result<T, E> {
        if let Err(error) = &result {
            let fault = format!("adapter {}: {error}", self.number);
            self.faults.borrow_mut().push(fault);
        }
        result
    }

    /// Counts the object that a call created.
    fn count_created<T, E>(&self, kind: usize, result: Result<T, E>) -> Result<T, E> {
        self.in_use.borrow_mut()[kind] += usize::from(result.is_ok());
        result
    }

    /// Counts the object that a call destroyed.
    fn freed<T, E>(&self, kind: usize, result: Result<T, E>) -> Result<T, E> {
        self.in_use.borrow_mut()[kind] -= usize::from(result.is_ok());
        result
    }
}

impl Verbs for Adapter {
    fn query_device(&self) -> &DeviceAttributes {
        self.local.query_device()
    }

    fn query_port(&self, port_num: u8) -> Result<PortAttributes, VerbsError> {
        self.local.query_port(port_num)
    }

    fn query_gid(&self, port_num: u8, index: u8) -> Result<(Gid, GidType), VerbsError> {
        self.local.query_gid(port_num, index)
    }

    fn alloc_pd(&self) -> Result<ProtectionDomain, VerbsError> {
        self.count_created(0, self.local.alloc_pd())
    }

    fn dealloc_pd(&self, pd: ProtectionDomain) -> Result<(), VerbsError> {
        self.freed(0, self.local.dealloc_pd(pd))
    }

    fn reg_mr(
        &self,
        pd: ProtectionDomain,
        memory: RegionMemory,
        access: Access,
    ) -> Result<MemoryRegion, RegisterError> {
        let result = self.count_created(1, self.local.reg_mr(pd, memory, access));
        match &result {
            Ok(_) => self.registrations.set(self.registrations.get() + 1),
            // A full memory is no mistake.
            Err(refused) if matches!(refused.error, VerbsError::NoRoom { .. }) => {}
            Err(refused) => {
                let _ = self.noted::<(), _>(Err(refused.error.clone()));
            }
        }
        result
    }

    fn dereg_mr(&self, region: &MemoryRegion) -> Result<RegionMemory, VerbsError> {
        self.freed(1, self.local.dereg_mr(region))
    }

    fn read_mr(
        &self,
        region: &MemoryRegion,
        offset: u64,
        bytes: &mut [u8],
    ) -> Result<(), VerbsError> {
        self.local.read_mr(region, offset, bytes)
    }

    fn write_mr(&self, region: &MemoryRegion, offset: u64, bytes: &[u8]) -> Result<(), VerbsError> {
        self.local.write_mr(region, offset, bytes)
    }

    fn create_cq(&self, cqe: u32) -> Result<CompletionQueue, VerbsError> {
        self.count_created(2, self.local.create_cq(cqe))
    }

    fn destroy_cq(&self, cq: CompletionQueue) -> Result<(), VerbsError> {
        self.freed(2, self.local.destroy_cq(cq))
    }

    fn create_qp(&self, init: &QpInitAttributes) -> Result<QueuePair, VerbsError> {
        let result = self.count_created(3, self.local.create_qp(init));
        self.qps.borrow_mut().extend(result.as_ref().ok());
        result
    }

    fn query_qp(&self, qp: QueuePair) -> Result<QpAttributes, VerbsError> {
        self.local.query_qp(qp)
    }

    fn modify_qp(&self, qp: QueuePair, modify: &QpModify) -> Result<(), VerbsError> {
        self.noted(self.local.modify_qp(qp, modify))
    }

    fn destroy_qp(&self, qp: QueuePair) -> Result<(), VerbsError> {
        self.qps.borrow_mut().retain(|other| *other != qp);
        self.freed(3, self.local.destroy_qp(qp))
    }

    fn post_send(&self, qp: QueuePair, requests: &[SendRequest<'_>]) -> Result<(), PostError> {
        self.noted(self.local.post_send(qp, requests))
    }

    fn post_recv(&self, qp: QueuePair, requests: &[RecvRequest<'_>]) -> Result<(), PostError> {
        self.noted(self.local.post_recv(qp, requests))
    }

    fn poll_cq(
        &self,
        cq: CompletionQueue,
        most: usize,
        completions: &mut Vec<WorkCompletion>,
    ) -> Result<usize, VerbsError> {
        self.noted(self.local.poll_cq(cq, most, completions))
    }

    fn req_notify_cq(&self, cq: CompletionQueue, solicited_only: bool) -> Result<(), VerbsError> {
        self.local.req_notify_cq(cq, solicited_only)
    }

    fn get_cq_event(&self) -> Result<Option<CompletionQueue>, VerbsError> {
        self.local.get_cq_event()
    }

    fn get_async_event(&self) -> Result<Option<AsyncEvent>, VerbsError> {
        if let Some(event) = self.told.borrow_mut().pop_front() {
            return Ok(Some(event));
        }
        self.local.get_async_event()
    }
}
