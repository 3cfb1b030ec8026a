//! Completion queues, and the channel that tells of completions.

use std::cell::RefCell;
use std::os::fd::BorrowedFd;
use std::ptr;
use std::rc::Rc;
use std::sync::atomic::{Ordering, fence};

use ibverbs_sys as ffi;
use rdma::{VerbsError, WcOpcode, WcStatus, WorkCompletion};
use rustix::io::Errno;

use super::{Context, check, is_nothing_yet, last, refused, set_nonblocking};

/// Number of completions that are taken from the driver at once.
const BATCH: usize = 16;

/// The channel on which completion queues report events.
#[derive(Debug)]
pub(in super::super) struct CompletionChannel {
    raw: *mut ffi::ibv_comp_channel,
    context: Rc<Context>,
}

impl CompletionChannel {
    pub(in super::super) fn create(context: &Rc<Context>) -> Result<Rc<Self>, VerbsError> {
        // SAFETY: the context is open.
        let raw = unsafe { ffi::ibv_create_comp_channel(context.raw) };
        if raw.is_null() {
            return Err(last("ibv_create_comp_channel"));
        }
        let context = Rc::clone(context);
        let channel = Rc::new(Self { raw, context });
        set_nonblocking(channel.fd())?;
        Ok(channel)
    }

    /// Readable when [`get_cq_event`](Self::get_cq_event) has one.
    pub(in super::super) fn fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the descriptor is open as long as the channel, which outlives the borrow.
        unsafe { BorrowedFd::borrow_raw((*self.raw).fd) }
    }

    /// The number of a queue that has reported an event, if any.
    pub(in super::super) fn get_cq_event(&self) -> Result<Option<u32>, VerbsError> {
        let mut cq = ptr::null_mut();
        let mut number = ptr::null_mut();
        // SAFETY: the channel is live, and so are both results.
        if unsafe { ffi::ibv_get_cq_event(self.raw, &raw mut cq, &raw mut number) } != 0 {
            return if is_nothing_yet() {
                Ok(None)
            } else {
                Err(last("ibv_get_cq_event"))
            };
        }
        // SAFETY: the queue is live: destroying one takes its events out of the channel.
        // Acknowledged once, at once, so that destroying never waits.
        unsafe { ffi::ibv_ack_cq_events(cq, 1) };
        Ok(u32::try_from(number.addr()).ok())
    }
}

impl Drop for CompletionChannel {
    fn drop(&mut self) {
        // SAFETY: destroyed once, and all queues that use it are gone: they would hold this.
        unsafe { ffi::ibv_destroy_comp_channel(self.raw) };
    }
}

/// A completion queue.
#[derive(Debug)]
pub(in super::super) struct Cq {
    pub(super) raw: *mut ffi::ibv_cq,
    channel: Rc<CompletionChannel>,
    /// Reused buffer: a rank that waits for a completion polls millions of times without a result.
    scratch: RefCell<[ffi::ibv_wc; BATCH]>,
}

impl Cq {
    /// Creates a completion queue. `number` identifies the queue in events.
    pub(in super::super) fn create(
        channel: &Rc<CompletionChannel>,
        cqe: u32,
        number: u32,
    ) -> Result<Rc<Self>, VerbsError> {
        let cqe = i32::try_from(cqe)
            .map_err(|_| refused("ibv_create_cq", Errno::INVAL.raw_os_error()))?;
        let number = ptr::without_provenance_mut(number as usize);
        // SAFETY: the context is open, the channel is of it and live, and the number is never used
        // as a pointer.
        let raw = unsafe { ffi::ibv_create_cq(channel.context.raw, cqe, number, channel.raw, 0) };
        if raw.is_null() {
            return Err(last("ibv_create_cq"));
        }
        let channel = Rc::clone(channel);
        let scratch = RefCell::default();
        Ok(Rc::new(Self {
            raw,
            channel,
            scratch,
        }))
    }

    /// Returns the key of this queue in asynchronous events.
    pub(in super::super) fn event_key(&self) -> usize {
        self.raw.addr()
    }

    pub(in super::super) fn request_notification(
        &self,
        solicited_only: bool,
    ) -> Result<(), VerbsError> {
        const CALL: &str = "ibv_req_notify_cq";
        // SAFETY: the context is open.
        let function = unsafe { (*self.channel.context.raw).ops.req_notify_cq };
        let function = function.ok_or(VerbsError::Unsupported { what: CALL })?;
        // SAFETY: the queue is live and of this context.
        check(CALL, unsafe {
            function(self.raw, i32::from(solicited_only))
        })
    }

    pub(in super::super) fn poll_cq(
        &self,
        most: usize,
        completions: &mut Vec<WorkCompletion>,
    ) -> Result<usize, VerbsError> {
        const CALL: &str = "ibv_poll_cq";
        // SAFETY: the context is open.
        let function = unsafe { (*self.channel.context.raw).ops.poll_cq };
        let function = function.ok_or(VerbsError::Unsupported { what: CALL })?;
        let mut raw = self.scratch.borrow_mut();
        let mut taken = 0;
        while taken < most {
            let room = BATCH.min(most - taken);
            let entries = i32::try_from(room).expect("a batch is small");
            // SAFETY: the queue is live and of this context, and there is room for this many
            // completions.
            let got = unsafe { function(self.raw, entries, raw.as_mut_ptr()) };
            let got = usize::try_from(got).map_err(|_| refused(CALL, got))?;
            // What the requests brought was in memory before their completions.
            fence(Ordering::Acquire);
            completions.extend(raw[..got].iter().map(completion));
            taken += got;
            if got < room {
                break;
            }
        }
        Ok(taken)
    }
}

impl Drop for Cq {
    fn drop(&mut self) {
        // SAFETY: destroyed once, and all queue pairs that use it are gone: they would hold this.
        unsafe { ffi::ibv_destroy_cq(self.raw) };
    }
}

fn completion(raw: &ffi::ibv_wc) -> WorkCompletion {
    use ffi::ibv_wc_opcode as code;
    let (status, vendor_err) = raw
        .error()
        .map_or((WcStatus::Success, 0), |(code, vendor)| {
            (WcStatus::from_code(code), vendor)
        });
    let opcode = match raw.opcode() {
        _ if !status.is_success() => None,
        code::IBV_WC_SEND => Some(WcOpcode::Send),
        code::IBV_WC_RDMA_WRITE => Some(WcOpcode::RdmaWrite),
        code::IBV_WC_RDMA_READ => Some(WcOpcode::RdmaRead),
        code::IBV_WC_COMP_SWAP => Some(WcOpcode::CompSwap),
        code::IBV_WC_FETCH_ADD => Some(WcOpcode::FetchAdd),
        code::IBV_WC_RECV => Some(WcOpcode::Recv),
        code::IBV_WC_RECV_RDMA_WITH_IMM => Some(WcOpcode::RecvRdmaWithImm),
        _ => None,
    };
    // Providers leave anything there for requests that bring nothing.
    let brings = !matches!(opcode, None | Some(WcOpcode::Send | WcOpcode::RdmaWrite));
    // Linux's rxe also has immediate data, of 0, for the request that sends some.
    let is_receive = matches!(opcode, Some(WcOpcode::Recv | WcOpcode::RecvRdmaWithImm));
    let imm_data = raw.imm_data().filter(|_| is_receive);
    WorkCompletion {
        wr_id: raw.wr_id(),
        status,
        opcode,
        byte_len: if brings {
            u32::try_from(raw.len()).unwrap_or(u32::MAX)
        } else {
            0
        },
        imm_data: imm_data.map(u32::from_be),
        qp_num: raw.qp_num,
        // Only datagrams have it.
        src_qp: None,
        vendor_err,
    }
}
