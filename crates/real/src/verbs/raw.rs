//! The functions of libibverbs, each behind a safe function: only this module and its submodules
//! have `unsafe`.
//!
//! Reasons for their safety:
//!
//! * **Lifetimes.** Each object owns the C object of the same name, holds the objects on which it
//!   depends (`Rc`), and destroys the C object when it is dropped: in C, too, no object is
//!   destroyed before its dependents. Every pointer of a live object is therefore valid.
//! * **Threads.** Raw pointers make all objects `!Send` and `!Sync`. libibverbs itself would allow
//!   more.
//! * **Memory.** The adapter reads and writes only registered memory, and only as far as the access
//!   rights allow. An `Mr` owns the registered memory, which lives until the registration ends. No
//!   reference to this memory exists meanwhile; see `memory`.
//! * **Layout.** The declarations are generated from rdma-core's own header. Libraries of other
//!   versions are compatible by the versions of their symbols.

#![expect(
    unsafe_code,
    reason = "libibverbs is a C library; every block says why it is sound"
)]

mod cq;
mod memory;
mod qp;

use std::ffi::CStr;
use std::io;
use std::os::fd::BorrowedFd;
use std::rc::Rc;

use ibverbs_sys as ffi;
use rdma::{
    AsyncEvent, AtomicCap, DeviceAttributes, Gid, GidType, LinkLayer, Mtu, PortAttributes,
    PortState, QueuePair, VerbsError,
};
use rustix::io::Errno;

pub(super) use cq::{CompletionChannel, Cq};
pub(super) use memory::{Mr, Pd};
pub(super) use qp::Qp;

/// Returns the meaning of an `errno` of libibverbs.
fn refused(call: &'static str, errno: i32) -> VerbsError {
    // Some providers return it negated.
    let errno = errno.abs();
    let why = io::Error::from_raw_os_error(errno).to_string();
    match Errno::from_raw_os_error(errno) {
        Errno::INVAL => VerbsError::Invalid {
            why: format!("{call}: {why}"),
        },
        Errno::NOMEM | Errno::NOSPC | Errno::AGAIN => VerbsError::NoRoom { what: call },
        Errno::BUSY => VerbsError::Busy { what: call },
        Errno::OPNOTSUPP | Errno::NOSYS => VerbsError::Unsupported { what: call },
        _ => VerbsError::System { call, errno, why },
    }
}

/// Returns the `errno` of a function that returned a null pointer or -1.
fn last(call: &'static str) -> VerbsError {
    refused(call, io::Error::last_os_error().raw_os_error().unwrap_or(0))
}

/// Checks a function that returns 0 or an `errno`; some return -1 and set `errno`.
fn check(call: &'static str, code: i32) -> Result<(), VerbsError> {
    match code {
        0 => Ok(()),
        -1 => Err(last(call)),
        errno => Err(refused(call, errno)),
    }
}

/// Converts an `int` of `ibv_query_device(3)` that is never negative.
fn count(number: i32) -> u32 {
    u32::try_from(number).unwrap_or(0)
}

/// The devices of this machine.
struct Devices {
    list: *mut *mut ffi::ibv_device,
    length: usize,
}

impl Devices {
    fn list_devices() -> Result<Self, VerbsError> {
        let mut length = 0;
        // SAFETY: the argument points to a live integer.
        let list = unsafe { ffi::ibv_get_device_list(&raw mut length) };
        if list.is_null() {
            return Err(last("ibv_get_device_list"));
        }
        let length = usize::try_from(length).unwrap_or(0);
        Ok(Self { list, length })
    }

    fn each(&self) -> impl Iterator<Item = (*mut ffi::ibv_device, String)> {
        (0..self.length).map(|index| {
            // SAFETY: the list has `length` entries and is freed only when `self` is dropped.
            let device = unsafe { *self.list.add(index) };
            // SAFETY: the device is one of the list; its name is a C string inside of it, copied
            // before the list can be freed.
            let name = unsafe { CStr::from_ptr(ffi::ibv_get_device_name(device)) };
            (device, name.to_string_lossy().into_owned())
        })
    }
}

impl Drop for Devices {
    fn drop(&mut self) {
        // SAFETY: the list came from `ibv_get_device_list` and is freed once.
        unsafe { ffi::ibv_free_device_list(self.list) };
    }
}

/// The names of the devices of this machine.
pub(super) fn device_names() -> Result<Vec<String>, VerbsError> {
    Ok(Devices::list_devices()?
        .each()
        .map(|(_, name)| name)
        .collect())
}

/// Keeps calls that look for events from waiting for them.
fn set_nonblocking(fd: BorrowedFd<'_>) -> Result<(), VerbsError> {
    rustix::io::ioctl_fionbio(fd, true).map_err(|errno| refused("ioctl", errno.raw_os_error()))
}

/// Returns true if the call failed only because there is no event.
fn is_nothing_yet() -> bool {
    io::Error::last_os_error().kind() == io::ErrorKind::WouldBlock
}

/// An open device.
#[derive(Debug)]
pub(super) struct Context {
    raw: *mut ffi::ibv_context,
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: open since it was made, closed once, and all that was made of it is gone: it
        // would hold this.
        unsafe { ffi::ibv_close_device(self.raw) };
    }
}

/// An asynchronous event of a device; queues are named by [`Cq::event_key`] and [`Qp::event_key`].
pub(super) enum RawAsyncEvent {
    Cq(u32, usize),
    Qp(u32, usize),
    Port(u32, u8),
    Device(u32),
}

/// Returns the event of a queue pair; `None` for one that reliable connections do not have.
pub(super) fn qp_event(code: u32) -> Option<fn(QueuePair) -> AsyncEvent> {
    Some(match code {
        ffi::IBV_EVENT_QP_FATAL => AsyncEvent::QpFatal,
        ffi::IBV_EVENT_QP_REQ_ERR => AsyncEvent::QpReqErr,
        ffi::IBV_EVENT_QP_ACCESS_ERR => AsyncEvent::QpAccessErr,
        ffi::IBV_EVENT_COMM_EST => AsyncEvent::CommEst,
        ffi::IBV_EVENT_SQ_DRAINED => AsyncEvent::SqDrained,
        _ => return None,
    })
}

/// Returns the event of a port.
pub(super) const fn port_event(code: u32, port: u8) -> AsyncEvent {
    match code {
        ffi::IBV_EVENT_PORT_ACTIVE => AsyncEvent::PortActive(port),
        ffi::IBV_EVENT_PORT_ERR => AsyncEvent::PortErr(port),
        _ => AsyncEvent::Other(code),
    }
}

/// Returns the event of the whole device.
pub(super) const fn device_event(code: u32) -> AsyncEvent {
    match code {
        ffi::IBV_EVENT_DEVICE_FATAL => AsyncEvent::DeviceFatal,
        _ => AsyncEvent::Other(code),
    }
}

impl Context {
    /// Opens the device with this name; `None` if there is none.
    pub(super) fn open(name: &str) -> Result<Option<Rc<Self>>, VerbsError> {
        let devices = Devices::list_devices()?;
        let Some((device, _)) = devices.each().find(|(_, other)| other == name) else {
            return Ok(None);
        };
        // SAFETY: the device is one of a list that is not yet freed.
        let raw = unsafe { ffi::ibv_open_device(device) };
        if raw.is_null() {
            return Err(last("ibv_open_device"));
        }
        let context = Self { raw };
        set_nonblocking(context.event_fd())?;
        Ok(Some(Rc::new(context)))
    }

    /// Readable when [`get_async_event`](Self::get_async_event) has one.
    pub(super) fn event_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the context is open, and its descriptor is too until it is dropped, which
        // outlives the borrow.
        unsafe { BorrowedFd::borrow_raw((*self.raw).async_fd) }
    }

    pub(super) fn device(&self, name: String) -> Result<DeviceAttributes, VerbsError> {
        let mut raw = ffi::ibv_device_attr::default();
        // SAFETY: the context is open and the attributes are live.
        check("ibv_query_device", unsafe {
            ffi::ibv_query_device(self.raw, &raw mut raw)
        })?;
        let fw_ver = raw.fw_ver.iter().map(|&char| char.cast_unsigned());
        let fw_ver: Vec<u8> = fw_ver.take_while(|&byte| byte != 0).collect();
        Ok(DeviceAttributes {
            name,
            fw_ver: String::from_utf8_lossy(&fw_ver).into_owned(),
            node_guid: u64::from_be(raw.node_guid),
            max_mr_size: raw.max_mr_size,
            max_mr: count(raw.max_mr),
            max_pd: count(raw.max_pd),
            max_qp: count(raw.max_qp),
            max_qp_wr: count(raw.max_qp_wr),
            max_sge: count(raw.max_sge),
            max_cq: count(raw.max_cq),
            max_cqe: count(raw.max_cqe),
            max_qp_rd_atom: count(raw.max_qp_rd_atom),
            max_qp_init_rd_atom: count(raw.max_qp_init_rd_atom),
            atomic_cap: match raw.atomic_cap {
                ffi::IBV_ATOMIC_HCA => AtomicCap::Hca,
                ffi::IBV_ATOMIC_GLOB => AtomicCap::Glob,
                _ => AtomicCap::None,
            },
            local_ca_ack_delay: raw.local_ca_ack_delay,
            phys_port_cnt: raw.phys_port_cnt,
        })
    }

    pub(super) fn port(&self, port_num: u8) -> Result<PortAttributes, VerbsError> {
        let mut raw = ffi::ibv_port_attr::default();
        // SAFETY: the context is open. The function writes the first fields of the structure, all
        // that we read; what was added after them stays zero.
        check("ibv_query_port", unsafe {
            ffi::ibv_query_port(self.raw, port_num, (&raw mut raw).cast())
        })?;
        let mtu = |code: u32| {
            let code = u8::try_from(code).unwrap_or(0);
            Mtu::from_code(code).ok_or_else(|| VerbsError::Invalid {
                why: format!("ibv_query_port: no MTU has the code {code}"),
            })
        };
        Ok(PortAttributes {
            state: match raw.state {
                ffi::ibv_port_state::IBV_PORT_DOWN => PortState::Down,
                ffi::ibv_port_state::IBV_PORT_INIT => PortState::Init,
                ffi::ibv_port_state::IBV_PORT_ARMED => PortState::Armed,
                ffi::ibv_port_state::IBV_PORT_ACTIVE => PortState::Active,
                ffi::ibv_port_state::IBV_PORT_ACTIVE_DEFER => PortState::ActiveDefer,
                _ => PortState::Nop,
            },
            link_layer: match u32::from(raw.link_layer) {
                ffi::IBV_LINK_LAYER_INFINIBAND => LinkLayer::InfiniBand,
                ffi::IBV_LINK_LAYER_ETHERNET => LinkLayer::Ethernet,
                _ => LinkLayer::Unspecified,
            },
            max_mtu: mtu(raw.max_mtu)?,
            active_mtu: mtu(raw.active_mtu)?,
            gid_tbl_len: count(raw.gid_tbl_len),
            lid: raw.lid,
            max_msg_sz: raw.max_msg_sz,
        })
    }

    pub(super) fn query_gid(&self, port_num: u8, index: u8) -> Result<(Gid, GidType), VerbsError> {
        let mut raw = ffi::ibv_gid_entry::default();
        // SAFETY: the context is open, and the size told is that of the live structure.
        check("ibv_query_gid_ex", unsafe {
            ffi::_ibv_query_gid_ex(
                self.raw,
                u32::from(port_num),
                u32::from(index),
                &raw mut raw,
                0,
                size_of_val(&raw),
            )
        })?;
        // SAFETY: any bytes are a valid `[u8; 16]`.
        let gid = Gid(unsafe { raw.gid.raw });
        let kind = match raw.gid_type {
            ffi::IBV_GID_TYPE_ROCE_V1 => GidType::RoceV1,
            ffi::IBV_GID_TYPE_ROCE_V2 => GidType::RoceV2,
            _ => GidType::Ib,
        };
        Ok((gid, kind))
    }

    /// The next event, if there is one.
    pub(super) fn get_async_event(&self) -> Result<Option<RawAsyncEvent>, VerbsError> {
        let mut raw = ffi::ibv_async_event::default();
        // SAFETY: the context is open and the event is live.
        if unsafe { ffi::ibv_get_async_event(self.raw, &raw mut raw) } != 0 {
            return if is_nothing_yet() {
                Ok(None)
            } else {
                Err(last("ibv_get_async_event"))
            };
        }
        let code = raw.event_type;
        let event = match code {
            // SAFETY: events of a completion queue carry a pointer to it. It is not followed.
            ffi::IBV_EVENT_CQ_ERR => RawAsyncEvent::Cq(code, unsafe { raw.element.cq }.addr()),
            ffi::IBV_EVENT_QP_FATAL
            | ffi::IBV_EVENT_QP_REQ_ERR
            | ffi::IBV_EVENT_QP_ACCESS_ERR
            | ffi::IBV_EVENT_COMM_EST
            | ffi::IBV_EVENT_SQ_DRAINED
            | ffi::IBV_EVENT_PATH_MIG
            | ffi::IBV_EVENT_PATH_MIG_ERR
            | ffi::IBV_EVENT_QP_LAST_WQE_REACHED => {
                // SAFETY: events of a queue pair carry a pointer to it. It is not followed.
                RawAsyncEvent::Qp(code, unsafe { raw.element.qp }.addr())
            }
            ffi::IBV_EVENT_PORT_ACTIVE | ffi::IBV_EVENT_PORT_ERR => {
                // SAFETY: events of a port carry its number.
                let port = unsafe { raw.element.port_num };
                RawAsyncEvent::Port(code, u8::try_from(port).unwrap_or(0))
            }
            _ => RawAsyncEvent::Device(code),
        };
        // SAFETY: the event came from `ibv_get_async_event` and is acknowledged once, before
        // anything can be destroyed.
        unsafe { ffi::ibv_ack_async_event(&raw mut raw) };
        Ok(Some(event))
    }
}
