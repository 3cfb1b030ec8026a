//! Real adapters: the trait [`Verbs`] through libibverbs.
//!
//! Only with the cargo feature `verbs`, which needs libraries of the system; `docs/verbs.md` lists
//! these libraries, and explains tests without an adapter.
//!
//! This module keeps the tables of objects; `raw` creates the objects, and is the only module with
//! `unsafe`.
//!
//! Not modelled: extended verbs, several completion vectors, and children of `fork(2)`, which must
//! not touch an adapter of their parent.

mod open_error;
mod raw;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;
use std::rc::Rc;

use rdma::{
    Access, AsyncEvent, CompletionQueue, DeviceAttributes, Gid, GidType, MemoryRegion,
    PortAttributes, PostError, ProtectionDomain, QpAttributes, QpInitAttributes, QpModify,
    QueuePair, RecvRequest, RegionMemory, RegisterError, SendRequest, Verbs, VerbsError,
    WorkCompletion,
};

use raw::{CompletionChannel, Context, Cq, Mr, Pd, Qp, RawAsyncEvent};

pub use open_error::OpenError;

/// Things of one kind, by their handles.
#[derive(Debug)]
struct ObjectTable<T> {
    what: &'static str,
    things: RefCell<BTreeMap<u32, Rc<T>>>,
}

impl<T> ObjectTable<T> {
    const fn new(what: &'static str) -> Self {
        let things = RefCell::new(BTreeMap::new());
        Self { what, things }
    }

    fn get(&self, handle: u32) -> Result<Rc<T>, VerbsError> {
        let thing = self.things.borrow().get(&handle).cloned();
        let what = self.what;
        thing.ok_or(VerbsError::NoSuchHandle { what, handle })
    }

    fn insert(&self, handle: u32, thing: Rc<T>) {
        self.things.borrow_mut().insert(handle, thing);
    }

    /// Takes an object out of the table, if no other object depends on it.
    fn take_object(&self, handle: u32) -> Result<T, VerbsError> {
        let what = self.what;
        let mut things = self.things.borrow_mut();
        let thing = things.remove(&handle);
        let thing = thing.ok_or(VerbsError::NoSuchHandle { what, handle })?;
        Rc::try_unwrap(thing).map_err(|thing| {
            things.insert(handle, thing);
            VerbsError::Busy { what }
        })
    }

    fn find_handle(&self, is_it: impl Fn(&T) -> bool) -> Option<u32> {
        let things = self.things.borrow();
        let found = things.iter().find(|(_, thing)| is_it(thing));
        found.map(|(&handle, _)| handle)
    }
}

/// An adapter of this machine.
#[derive(Debug)]
pub struct LibVerbs {
    // In this order, but it does not matter: each thing holds what it is made of.
    qps: ObjectTable<Qp>,
    cqs: ObjectTable<Cq>,
    mrs: ObjectTable<Mr>,
    pds: ObjectTable<Pd>,
    channel: Rc<CompletionChannel>,
    context: Rc<Context>,
    device: DeviceAttributes,
    next_handle: Cell<u32>,
}

impl LibVerbs {
    /// The names of the adapters of this machine.
    pub fn devices() -> Result<Vec<String>, OpenError> {
        raw::device_names().map_err(OpenError::Broken)
    }

    /// Opens the adapter of this name, or the first one.
    pub fn open(name: Option<&str>) -> Result<Self, OpenError> {
        let available = Self::devices()?;
        let Some(name) = name
            .map(str::to_owned)
            .or_else(|| available.first().cloned())
        else {
            return Err(OpenError::NoDevice);
        };
        let Some(context) = Context::open(&name).map_err(OpenError::Broken)? else {
            return Err(OpenError::NoSuchDevice { name, available });
        };
        Ok(Self {
            device: context.device(name).map_err(OpenError::Broken)?,
            qps: ObjectTable::new("queue pair"),
            cqs: ObjectTable::new("completion queue"),
            mrs: ObjectTable::new("memory region"),
            pds: ObjectTable::new("protection domain"),
            channel: CompletionChannel::create(&context).map_err(OpenError::Broken)?,
            context,
            next_handle: Cell::new(1),
        })
    }

    /// Returns a descriptor that is readable when [`get_cq_event`](Verbs::get_cq_event) has an
    /// event: for `poll(2)` or a library for it.
    pub fn completion_fd(&self) -> BorrowedFd<'_> {
        self.channel.fd()
    }

    /// Returns a descriptor, readable when [`get_async_event`](Verbs::get_async_event) has one.
    pub fn async_fd(&self) -> BorrowedFd<'_> {
        self.context.event_fd()
    }

    fn new_handle(&self) -> u32 {
        let handle = self.next_handle.get();
        let next = handle.checked_add(1);
        self.next_handle
            .set(next.expect("nobody makes four thousand million things"));
        handle
    }

    fn qp(&self, qp: QueuePair) -> Result<Rc<Qp>, VerbsError> {
        self.qps.get(qp.handle)
    }
}

impl Verbs for LibVerbs {
    fn query_device(&self) -> &DeviceAttributes {
        &self.device
    }

    fn query_port(&self, port_num: u8) -> Result<PortAttributes, VerbsError> {
        self.context.port(port_num)
    }

    fn query_gid(&self, port_num: u8, index: u8) -> Result<(Gid, GidType), VerbsError> {
        self.context.query_gid(port_num, index)
    }

    fn alloc_pd(&self) -> Result<ProtectionDomain, VerbsError> {
        let pd = Pd::alloc(&self.context)?;
        let handle = self.new_handle();
        self.pds.insert(handle, pd);
        Ok(ProtectionDomain(handle))
    }

    fn dealloc_pd(&self, pd: ProtectionDomain) -> Result<(), VerbsError> {
        self.pds.take_object(pd.0).map(drop)
    }

    fn reg_mr(
        &self,
        pd: ProtectionDomain,
        memory: RegionMemory,
        access: Access,
    ) -> Result<MemoryRegion, RegisterError> {
        let pd = match self.pds.get(pd.0) {
            Ok(pd) => pd,
            Err(error) => return Err(RegisterError { error, memory }),
        };
        let mr = Mr::register(&pd, memory, access)?;
        let handle = self.new_handle();
        let region = mr.to_region(handle);
        self.mrs.insert(handle, Rc::new(mr));
        Ok(region)
    }

    fn dereg_mr(&self, region: &MemoryRegion) -> Result<RegionMemory, VerbsError> {
        self.mrs.take_object(region.handle)?.deregister()
    }

    fn read_mr(
        &self,
        region: &MemoryRegion,
        offset: u64,
        bytes: &mut [u8],
    ) -> Result<(), VerbsError> {
        self.mrs.get(region.handle)?.read(offset, bytes)
    }

    fn write_mr(&self, region: &MemoryRegion, offset: u64, bytes: &[u8]) -> Result<(), VerbsError> {
        self.mrs.get(region.handle)?.write(offset, bytes)
    }

    fn create_cq(&self, cqe: u32) -> Result<CompletionQueue, VerbsError> {
        let handle = self.new_handle();
        let cq = Cq::create(&self.channel, cqe, handle)?;
        self.cqs.insert(handle, cq);
        Ok(CompletionQueue(handle))
    }

    fn destroy_cq(&self, cq: CompletionQueue) -> Result<(), VerbsError> {
        self.cqs.take_object(cq.0).map(drop)
    }

    fn create_qp(&self, init: &QpInitAttributes) -> Result<QueuePair, VerbsError> {
        let pd = self.pds.get(init.pd.0)?;
        let send_cq = self.cqs.get(init.send_cq.0)?;
        let recv_cq = self.cqs.get(init.recv_cq.0)?;
        let qp = Qp::create(&pd, &send_cq, &recv_cq, &init.cap, init.sq_sig_all)?;
        let handle = self.new_handle();
        let qp_num = qp.qp_num();
        self.qps.insert(handle, qp);
        Ok(QueuePair { handle, qp_num })
    }

    fn query_qp(&self, qp: QueuePair) -> Result<QpAttributes, VerbsError> {
        self.qp(qp)?.query()
    }

    fn modify_qp(&self, qp: QueuePair, modify: &QpModify) -> Result<(), VerbsError> {
        self.qp(qp)?.modify(modify)
    }

    fn destroy_qp(&self, qp: QueuePair) -> Result<(), VerbsError> {
        self.qps.take_object(qp.handle).map(drop)
    }

    fn post_send(&self, qp: QueuePair, requests: &[SendRequest<'_>]) -> Result<(), PostError> {
        let nothing = |error| PostError { taken: 0, error };
        self.qp(qp).map_err(nothing)?.post_send(requests)
    }

    fn post_recv(&self, qp: QueuePair, requests: &[RecvRequest<'_>]) -> Result<(), PostError> {
        let nothing = |error| PostError { taken: 0, error };
        self.qp(qp).map_err(nothing)?.post_recv(requests)
    }

    fn poll_cq(
        &self,
        cq: CompletionQueue,
        most: usize,
        completions: &mut Vec<WorkCompletion>,
    ) -> Result<usize, VerbsError> {
        self.cqs.get(cq.0)?.poll_cq(most, completions)
    }

    fn req_notify_cq(&self, cq: CompletionQueue, solicited_only: bool) -> Result<(), VerbsError> {
        self.cqs.get(cq.0)?.request_notification(solicited_only)
    }

    fn get_cq_event(&self) -> Result<Option<CompletionQueue>, VerbsError> {
        let number = self.channel.get_cq_event()?;
        Ok(number.map(CompletionQueue))
    }

    fn get_async_event(&self) -> Result<Option<AsyncEvent>, VerbsError> {
        let Some(event) = self.context.get_async_event()? else {
            return Ok(None);
        };
        Ok(Some(match event {
            RawAsyncEvent::Cq(code, key) => {
                let handle = self.cqs.find_handle(|cq| cq.event_key() == key);
                handle.map_or(AsyncEvent::Other(code), |handle| {
                    AsyncEvent::CqErr(CompletionQueue(handle))
                })
            }
            RawAsyncEvent::Qp(code, key) => {
                let handle = self.qps.find_handle(|qp| qp.event_key() == key);
                let qp = handle.and_then(|handle| {
                    let qp_num = self.qps.get(handle).ok()?.qp_num();
                    Some(QueuePair { handle, qp_num })
                });
                let kind = raw::qp_event(code);
                kind.zip(qp)
                    .map_or(AsyncEvent::Other(code), |(kind, qp)| kind(qp))
            }
            RawAsyncEvent::Port(code, port) => raw::port_event(code, port),
            RawAsyncEvent::Device(code) => raw::device_event(code),
        }))
    }
}
