//! Queue pairs of reliable connections, and posting to them.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use ibverbs_sys as ffi;
use rdma::{
    Access, Mtu, Operation, Payload, PostError, QpAttributes, QpCapabilities, QpModify, QpState,
    RecvRequest, SendRequest, Sge, VerbsError,
};

use super::{Cq, Pd, check, last, refused};

/// Requests in their C form: kept, so that later posts allocate no memory.
#[derive(Default)]
struct PostScratch {
    sges: Vec<ffi::ibv_sge>,
    sends: Vec<ffi::ibv_send_wr>,
    receives: Vec<ffi::ibv_recv_wr>,
}

/// A queue pair.
pub(in super::super) struct Qp {
    raw: *mut ffi::ibv_qp,
    cap: QpCapabilities,
    /// The last known state of the queue pair; the queue pair may be in ERR since.
    state: Cell<QpState>,
    scratch: RefCell<PostScratch>,
    pd: Rc<Pd>,
    /// Not read, but they must not be destroyed before.
    _cqs: [Rc<Cq>; 2],
}

impl Qp {
    pub(in super::super) fn create(
        pd: &Rc<Pd>,
        send_cq: &Rc<Cq>,
        recv_cq: &Rc<Cq>,
        cap: &QpCapabilities,
        sq_sig_all: bool,
    ) -> Result<Rc<Self>, VerbsError> {
        let mut init = ffi::ibv_qp_init_attr {
            send_cq: send_cq.raw,
            recv_cq: recv_cq.raw,
            cap: ffi::ibv_qp_cap {
                max_send_wr: cap.max_send_wr,
                max_recv_wr: cap.max_recv_wr,
                max_send_sge: cap.max_send_sge,
                max_recv_sge: cap.max_recv_sge,
                max_inline_data: cap.max_inline_data,
            },
            qp_type: ffi::ibv_qp_type::IBV_QPT_RC,
            sq_sig_all: i32::from(sq_sig_all),
            ..ffi::ibv_qp_init_attr::default()
        };
        // SAFETY: the domain and both queues are live, of one context, and held by what is
        // returned; the attributes are live.
        let raw = unsafe { ffi::ibv_create_qp(pd.raw, &raw mut init) };
        if raw.is_null() {
            return Err(last("ibv_create_qp"));
        }
        Ok(Rc::new(Self {
            raw,
            cap: capabilities(&init.cap),
            state: Cell::new(QpState::Reset),
            scratch: RefCell::default(),
            pd: Rc::clone(pd),
            _cqs: [Rc::clone(send_cq), Rc::clone(recv_cq)],
        }))
    }

    pub(in super::super) fn qp_num(&self) -> u32 {
        // SAFETY: the queue pair is live.
        unsafe { (*self.raw).qp_num }
    }

    /// Returns the key of this queue pair in asynchronous events.
    pub(in super::super) fn event_key(&self) -> usize {
        self.raw.addr()
    }

    pub(in super::super) fn modify(&self, modify: &QpModify) -> Result<(), VerbsError> {
        let (mut raw, mask) = attributes(modify);
        // SAFETY: the queue pair and the attributes are live.
        check("ibv_modify_qp", unsafe {
            ffi::ibv_modify_qp(self.raw, &raw mut raw, mask.cast_signed())
        })?;
        if let Some(state) = modify.qp_state {
            self.state.set(state);
        }
        Ok(())
    }

    pub(in super::super) fn query(&self) -> Result<QpAttributes, VerbsError> {
        use ffi::ibv_qp_attr_mask as mask;
        let wanted = mask::IBV_QP_STATE
            | mask::IBV_QP_PATH_MTU
            | mask::IBV_QP_DEST_QPN
            | mask::IBV_QP_RQ_PSN
            | mask::IBV_QP_SQ_PSN
            | mask::IBV_QP_ACCESS_FLAGS
            | mask::IBV_QP_MAX_QP_RD_ATOMIC
            | mask::IBV_QP_MAX_DEST_RD_ATOMIC
            | mask::IBV_QP_MIN_RNR_TIMER
            | mask::IBV_QP_TIMEOUT
            | mask::IBV_QP_RETRY_CNT
            | mask::IBV_QP_RNR_RETRY
            | mask::IBV_QP_CAP;
        let mut raw = ffi::ibv_qp_attr::default();
        let mut init = ffi::ibv_qp_init_attr::default();
        // SAFETY: the queue pair and both structures are live.
        check("ibv_query_qp", unsafe {
            ffi::ibv_query_qp(
                self.raw,
                &raw mut raw,
                wanted.0.cast_signed(),
                &raw mut init,
            )
        })?;
        let state = QpState::from_code(raw.qp_state).ok_or_else(|| VerbsError::Invalid {
            why: format!("ibv_query_qp: no state has the number {}", raw.qp_state),
        })?;
        Ok(QpAttributes {
            qp_state: state,
            cap: self.cap,
            path_mtu: u8::try_from(raw.path_mtu).ok().and_then(Mtu::from_code),
            dest_qp_num: raw.dest_qp_num,
            rq_psn: raw.rq_psn,
            sq_psn: raw.sq_psn,
            qp_access_flags: access(raw.qp_access_flags),
            max_rd_atomic: raw.max_rd_atomic,
            max_dest_rd_atomic: raw.max_dest_rd_atomic,
            min_rnr_timer: raw.min_rnr_timer,
            timeout: raw.timeout,
            retry_cnt: raw.retry_cnt,
            rnr_retry: raw.rnr_retry,
        })
    }

    pub(in super::super) fn post_send(
        &self,
        requests: &[SendRequest<'_>],
    ) -> Result<(), PostError> {
        const CALL: &str = "ibv_post_send";
        // Some drivers take requests in any state and forget them, and do not check lengths.
        let ready = matches!(self.state.get(), QpState::Rts | QpState::Sqd | QpState::Err);
        let fits = |request: &&SendRequest<'_>| ready && self.check_send(request).is_ok();
        let fitting = requests.iter().take_while(fits).count();
        let (good, rest) = requests.split_at(fitting);
        if !good.is_empty() {
            // SAFETY: the context is open.
            let function = unsafe { (*self.pd.context.raw).ops.post_send };
            let unsupported = || PostError {
                taken: 0,
                error: VerbsError::Unsupported { what: CALL },
            };
            let function = function.ok_or_else(unsupported)?;
            let mut scratch = self.scratch.borrow_mut();
            let PostScratch { sges, sends, .. } = &mut *scratch;
            fill_sends(good, sges, sends);
            let mut bad = std::ptr::null_mut();
            // SAFETY: the queue pair is live and of this context. The list and its entries are live
            // and not moved meanwhile; the driver copies them. It follows addresses itself only
            // where the request is inline: then they are of a live slice, which it copies. All
            // others are checked by the adapter with their keys, so that it reaches registered
            // memory only.
            let code = unsafe { function(self.raw, sends.as_mut_ptr(), &raw mut bad) };
            if code != 0 {
                let taken = bad_request_position(bad, sends);
                let error = refused(CALL, code);
                return Err(PostError { taken, error });
            }
        }
        let Some(bad) = rest.first() else {
            return Ok(());
        };
        let state = || VerbsError::Invalid {
            why: format!("{CALL}: the queue pair is in {}", self.state.get()),
        };
        Err(PostError {
            taken: fitting,
            error: self.check_send(bad).err().unwrap_or_else(state),
        })
    }

    fn check_send(&self, request: &SendRequest<'_>) -> Result<(), VerbsError> {
        let why = match request.payload {
            Payload::Inline(_) if request.operation.returns_data() => {
                "RDMA READ cannot be inline".into()
            }
            Payload::Inline(bytes) if bytes.len() > self.cap.max_inline_data as usize => format!(
                "{} bytes inline, and at most {} can be",
                bytes.len(),
                self.cap.max_inline_data
            ),
            Payload::Sges(sges) if sges.len() > self.cap.max_send_sge as usize => format!(
                "{} scatter/gather entries, and at most {} can be",
                sges.len(),
                self.cap.max_send_sge
            ),
            _ => return Ok(()),
        };
        Err(VerbsError::Invalid { why })
    }

    pub(in super::super) fn post_recv(
        &self,
        requests: &[RecvRequest<'_>],
    ) -> Result<(), PostError> {
        const CALL: &str = "ibv_post_recv";
        let most = self.cap.max_recv_sge as usize;
        let ready = self.state.get() != QpState::Reset;
        let fits = |request: &&RecvRequest<'_>| ready && request.sges.len() <= most;
        let fitting = requests.iter().take_while(fits).count();
        let (good, rest) = requests.split_at(fitting);
        if !good.is_empty() {
            // SAFETY: the context is open.
            let function = unsafe { (*self.pd.context.raw).ops.post_recv };
            let unsupported = || PostError {
                taken: 0,
                error: VerbsError::Unsupported { what: CALL },
            };
            let function = function.ok_or_else(unsupported)?;
            let mut scratch = self.scratch.borrow_mut();
            let PostScratch { sges, receives, .. } = &mut *scratch;
            fill_receives(good, sges, receives);
            let mut bad = std::ptr::null_mut();
            // SAFETY: the queue pair is live and of this context. The list and its entries are live
            // and not moved meanwhile; the driver copies them. The adapter checks addresses with
            // their keys, so that it reaches registered memory only.
            let code = unsafe { function(self.raw, receives.as_mut_ptr(), &raw mut bad) };
            if code != 0 {
                let taken = bad_request_position(bad, receives);
                let error = refused(CALL, code);
                return Err(PostError { taken, error });
            }
        }
        let Some(bad) = rest.first() else {
            return Ok(());
        };
        let why = if ready {
            let length = bad.sges.len();
            format!("{length} scatter/gather entries, and at most {most} can be")
        } else {
            format!("{CALL}: the queue pair is in {}", QpState::Reset)
        };
        Err(PostError {
            taken: fitting,
            error: VerbsError::Invalid { why },
        })
    }
}

impl std::fmt::Debug for Qp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Qp")
            .field("number", &self.qp_num())
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

impl Drop for Qp {
    fn drop(&mut self) {
        // SAFETY: destroyed once; nothing is made of it.
        unsafe { ffi::ibv_destroy_qp(self.raw) };
    }
}

/// Returns the position of the request that a driver refused; 0 if the driver does not report it.
fn bad_request_position<T>(bad: *const T, list: &[T]) -> usize {
    list.iter()
        .position(|request| std::ptr::eq(request, bad))
        .unwrap_or(0)
}

fn capabilities(raw: &ffi::ibv_qp_cap) -> QpCapabilities {
    QpCapabilities {
        max_send_wr: raw.max_send_wr,
        max_recv_wr: raw.max_recv_wr,
        max_send_sge: raw.max_send_sge,
        max_recv_sge: raw.max_recv_sge,
        max_inline_data: raw.max_inline_data,
    }
}

fn access(bits: u32) -> Access {
    let all = [
        Access::LOCAL_WRITE,
        Access::REMOTE_WRITE,
        Access::REMOTE_READ,
        Access::REMOTE_ATOMIC,
    ];
    let set = all.into_iter().filter(|one| bits & one.bits() != 0);
    set.fold(Access::NONE, |set, one| set | one)
}

fn sge(sge: &Sge) -> ffi::ibv_sge {
    ffi::ibv_sge {
        addr: sge.addr,
        length: sge.length,
        lkey: sge.lkey,
    }
}

/// Creates the C list of the requests. All pointers in the list point into `sges` and `sends`, and
/// are valid until these change.
fn fill_sends(
    requests: &[SendRequest<'_>],
    sges: &mut Vec<ffi::ibv_sge>,
    sends: &mut Vec<ffi::ibv_send_wr>,
) {
    use ffi::ibv_send_flags as flag;
    sges.clear();
    sends.clear();
    for request in requests {
        let before = sges.len();
        match request.payload {
            Payload::Sges(list) => sges.extend(list.iter().map(sge)),
            Payload::Inline([]) => {}
            Payload::Inline(bytes) => sges.push(ffi::ibv_sge {
                addr: bytes.as_ptr().expose_provenance() as u64,
                length: u32::try_from(bytes.len()).expect("not more than can be inline"),
                lkey: 0,
            }),
        }
        let flags = &request.flags;
        let chosen = [
            (flags.signaled, flag::IBV_SEND_SIGNALED),
            (flags.fence, flag::IBV_SEND_FENCE),
            (flags.solicited, flag::IBV_SEND_SOLICITED),
            (
                matches!(request.payload, Payload::Inline(_)),
                flag::IBV_SEND_INLINE,
            ),
        ];
        let chosen = chosen.into_iter().filter(|(is_set, _)| *is_set);
        let mut send = ffi::ibv_send_wr {
            wr_id: request.wr_id,
            num_sge: i32::try_from(sges.len() - before).expect("not more than allowed"),
            send_flags: chosen.fold(0, |flags, (_, one)| flags | one.0),
            ..ffi::ibv_send_wr::default()
        };
        set_operation(&mut send, &request.operation);
        sends.push(send);
    }
    // Only now that nothing moves any more.
    let mut next_sge = sges.as_mut_ptr();
    for send in sends.iter_mut() {
        send.sg_list = next_sge;
        let count = usize::try_from(send.num_sge).expect("a count");
        next_sge = next_sge.wrapping_add(count);
    }
    let first = sends.as_mut_ptr();
    for index in 1..sends.len() {
        sends[index - 1].next = first.wrapping_add(index);
    }
}

fn set_operation(send: &mut ffi::ibv_send_wr, operation: &Operation) {
    use ffi::ibv_wr_opcode as code;
    let mut imm = |imm_data: u32| send.__bindgen_anon_1.imm_data = imm_data.to_be();
    let rdma = |remote_addr, rkey| {
        let mut wr = ffi::ibv_send_wr__bindgen_ty_2::default();
        wr.rdma = ffi::ibv_send_wr__bindgen_ty_2__bindgen_ty_1 { remote_addr, rkey };
        wr
    };
    let atomic = |remote_addr, rkey, compare_add, swap| {
        let mut wr = ffi::ibv_send_wr__bindgen_ty_2::default();
        wr.atomic = ffi::ibv_send_wr__bindgen_ty_2__bindgen_ty_2 {
            remote_addr,
            compare_add,
            swap,
            rkey,
        };
        wr
    };
    (send.opcode, send.wr) = match *operation {
        Operation::Send => (code::IBV_WR_SEND, send.wr),
        Operation::SendWithImm(imm_data) => {
            imm(imm_data);
            (code::IBV_WR_SEND_WITH_IMM, send.wr)
        }
        Operation::RdmaWrite { remote_addr, rkey } => {
            (code::IBV_WR_RDMA_WRITE, rdma(remote_addr, rkey))
        }
        Operation::RdmaWriteWithImm {
            remote_addr,
            rkey,
            imm_data,
        } => {
            imm(imm_data);
            (code::IBV_WR_RDMA_WRITE_WITH_IMM, rdma(remote_addr, rkey))
        }
        Operation::RdmaRead { remote_addr, rkey } => {
            (code::IBV_WR_RDMA_READ, rdma(remote_addr, rkey))
        }
        Operation::AtomicCmpAndSwp {
            remote_addr,
            rkey,
            compare,
            swap,
        } => (
            code::IBV_WR_ATOMIC_CMP_AND_SWP,
            atomic(remote_addr, rkey, compare, swap),
        ),
        Operation::AtomicFetchAndAdd {
            remote_addr,
            rkey,
            add,
        } => (
            code::IBV_WR_ATOMIC_FETCH_AND_ADD,
            atomic(remote_addr, rkey, add, 0),
        ),
    };
}

/// The same for receives.
fn fill_receives(
    requests: &[RecvRequest<'_>],
    sges: &mut Vec<ffi::ibv_sge>,
    receives: &mut Vec<ffi::ibv_recv_wr>,
) {
    sges.clear();
    receives.clear();
    for request in requests {
        sges.extend(request.sges.iter().map(sge));
        receives.push(ffi::ibv_recv_wr {
            wr_id: request.wr_id,
            num_sge: i32::try_from(request.sges.len()).expect("not more than allowed"),
            ..ffi::ibv_recv_wr::default()
        });
    }
    let mut next_sge = sges.as_mut_ptr();
    for receive in receives.iter_mut() {
        receive.sg_list = next_sge;
        let count = usize::try_from(receive.num_sge).expect("a count");
        next_sge = next_sge.wrapping_add(count);
    }
    let first = receives.as_mut_ptr();
    for index in 1..receives.len() {
        receives[index - 1].next = first.wrapping_add(index);
    }
}

/// Returns the attributes in C, and the mask of the set attributes.
fn attributes(modify: &QpModify) -> (ffi::ibv_qp_attr, u32) {
    use ffi::ibv_qp_attr_mask as mask;
    let mut raw = ffi::ibv_qp_attr::default();
    let mut set = 0;
    macro_rules! set {
        ($($field:ident, $mask:ident, $convert:expr;)*) => {$(
            if let Some(value) = modify.$field {
                raw.$field = $convert(value);
                set |= mask::$mask.0;
            }
        )*};
    }
    set! {
        qp_state, IBV_QP_STATE, QpState::code;
        cur_qp_state, IBV_QP_CUR_STATE, QpState::code;
        pkey_index, IBV_QP_PKEY_INDEX, u16::from;
        qkey, IBV_QP_QKEY, u32::from;
        port_num, IBV_QP_PORT, u8::from;
        qp_access_flags, IBV_QP_ACCESS_FLAGS, Access::bits;
        path_mtu, IBV_QP_PATH_MTU, |mtu: Mtu| u32::from(mtu.code());
        ah_attr, IBV_QP_AV, to_ah_attr;
        dest_qp_num, IBV_QP_DEST_QPN, u32::from;
        rq_psn, IBV_QP_RQ_PSN, u32::from;
        sq_psn, IBV_QP_SQ_PSN, u32::from;
        max_dest_rd_atomic, IBV_QP_MAX_DEST_RD_ATOMIC, u8::from;
        max_rd_atomic, IBV_QP_MAX_QP_RD_ATOMIC, u8::from;
        min_rnr_timer, IBV_QP_MIN_RNR_TIMER, u8::from;
        timeout, IBV_QP_TIMEOUT, u8::from;
        retry_cnt, IBV_QP_RETRY_CNT, u8::from;
        rnr_retry, IBV_QP_RNR_RETRY, u8::from;
        en_sqd_async_notify, IBV_QP_EN_SQD_ASYNC_NOTIFY, u8::from;
    }
    (raw, set)
}

fn to_ah_attr(vector: rdma::AddressVector) -> ffi::ibv_ah_attr {
    let mut raw = ffi::ibv_ah_attr {
        dlid: vector.dlid,
        sl: vector.sl,
        port_num: vector.port_num,
        ..ffi::ibv_ah_attr::default()
    };
    if let Some(grh) = vector.grh {
        raw.is_global = 1;
        raw.grh.dgid.raw = grh.dgid.0;
        raw.grh.flow_label = grh.flow_label;
        raw.grh.sgid_index = grh.sgid_index;
        raw.grh.hop_limit = grh.hop_limit;
        raw.grh.traffic_class = grh.traffic_class;
    }
    raw
}
