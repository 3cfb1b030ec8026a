//! Promises: a connected queue pair without work takes at most 1 KiB, its allocations included;
//! message sequence numbers have 24 bits.

use super::*;
use crate::wire::{Aeth, Bth, Extension, Opcode, Reth, Syndrome};
use crate::{
    Access, AddressVector, Operation, Payload, Psn, QpCapabilities, QpInitAttributes, QpModify,
    QpState, QueuePair, RegionMemory, SendFlags, SendRequest,
};

/// Bytes of a queue pair in the adapter's list, which may have twice as many places as needed.
const LISTED: usize = 2 * size_of::<Option<QueuePairSlot>>();

/// A queue pair that is connected to itself.
fn connected(adapter: &mut ChannelAdapter, init: &QpInitAttributes) -> QueuePair {
    connected_until(adapter, init, QpState::Rts)
}

/// A queue pair on the way to [`connected`], in this state.
fn connected_until(
    adapter: &mut ChannelAdapter,
    init: &QpInitAttributes,
    state: QpState,
) -> QueuePair {
    let qp = adapter.create_qp(init).expect("a queue pair");
    let to_init = QpModify {
        pkey_index: Some(0),
        port_num: Some(1),
        qp_access_flags: Some(Access::ALL),
        ..QpModify::to_state(QpState::Init)
    };
    let to_rtr = QpModify {
        ah_attr: Some(AddressVector {
            dlid: 1,
            sl: 0,
            grh: None,
            port_num: 1,
        }),
        path_mtu: Some(Mtu::Mtu256),
        dest_qp_num: Some(qp.qp_num),
        rq_psn: Some(0),
        max_dest_rd_atomic: Some(1),
        min_rnr_timer: Some(1),
        ..QpModify::to_state(QpState::Rtr)
    };
    let to_rts = QpModify {
        timeout: Some(14),
        retry_cnt: Some(7),
        rnr_retry: Some(7),
        sq_psn: Some(0),
        max_rd_atomic: Some(1),
        ..QpModify::to_state(QpState::Rts)
    };
    for modify in [to_init, to_rtr, to_rts] {
        adapter.modify_qp(qp, &modify).expect("it is legal");
        if modify.qp_state == Some(state) {
            break;
        }
    }
    qp
}

/// Returns an adapter, and the attributes for a new queue pair of the adapter.
fn adapter_with_queue() -> (ChannelAdapter, QpInitAttributes) {
    let attributes = DeviceAttributes::of_model("idle", 1);
    let port = AdapterPort {
        link_layer: LinkLayer::InfiniBand,
        mtu: Mtu::Mtu4096,
        lid: 1,
        gid: (Gid::default(), GidType::Ib),
    };
    let mut adapter = ChannelAdapter::new(attributes, port, SoftAdapterSettings::default());
    let pd = adapter.alloc_pd();
    let cq = adapter.create_cq(8).expect("a queue");
    let init = QpInitAttributes {
        pd,
        send_cq: cq,
        recv_cq: cq,
        cap: QpCapabilities::default(),
        sq_sig_all: false,
    };
    (adapter, init)
}

/// Returns the headers of a write without bytes, which asks for an acknowledgement.
fn empty_write(qp: QueuePair, psn: Psn) -> (Bth, Extension) {
    let mut bth = Bth::new(Opcode::RcWriteOnly, qp.qp_num, psn);
    bth.ack_request = true;
    let empty = Extension::Reth(Reth {
        address: 0,
        rkey: 0,
        length: 0,
    });
    (bth, empty)
}

/// A queue pair that does not send yet reports the first request of its peer, once. IBA 11.6.3.2.
#[test]
fn the_first_request_is_reported_before_the_queue_pair_sends() {
    for (state, is_reported) in [(QpState::Rtr, true), (QpState::Rts, false)] {
        let (mut adapter, init) = adapter_with_queue();
        let qp = connected_until(&mut adapter, &init, state);
        assert!(adapter.events.is_empty());
        for number in 0..3 {
            let (bth, empty) = empty_write(qp, Psn::new(number));
            adapter.handle_packet(0, &Packet::new(bth, empty, &[]));
        }
        let expected = is_reported.then_some(AsyncEvent::CommEst(qp));
        assert_eq!(adapter.events, Vec::from_iter(expected), "{state}");
    }
}

/// A refused request ends the connection with an event that says why. IBA 11.6.3.2.
#[test]
fn a_refused_request_is_reported() {
    let reth = Reth {
        address: 0,
        rkey: 99,
        length: 8,
    };
    let wrong_key = (Opcode::RcWriteOnly, Extension::Reth(reth));
    let no_begin = (Opcode::RcSendMiddle, Extension::None);
    let access: fn(QueuePair) -> AsyncEvent = AsyncEvent::QpAccessErr;
    for ((opcode, extension), event) in [(wrong_key, access), (no_begin, AsyncEvent::QpReqErr)] {
        let (mut adapter, init) = adapter_with_queue();
        let qp = connected(&mut adapter, &init);
        let bth = Bth::new(opcode, qp.qp_num, Psn::default());
        adapter.handle_packet(0, &Packet::new(bth, extension, &[0; 8]));
        assert_eq!(adapter.events, [event(qp)]);
    }
}

/// The number of a message is the number of the message before plus 1, modulo 2^24. IBA 9.7.5.2.5.
#[test]
fn message_sequence_numbers_have_24_bits() {
    let (mut adapter, init) = adapter_with_queue();
    let qp = connected(&mut adapter, &init);
    let mut psn = Psn::default();
    for (before, expected) in [
        (0, 1),
        (0xFFFF, 0x1_0000),
        (0x7F_FFFF, 0x80_0000),
        (0xFF_FFFF, 0),
    ] {
        let Some(QueuePairSlot {
            qp: AnyQueuePair::Rc(pair),
            ..
        }) = &mut adapter.qps[0]
        else {
            panic!("it is connected");
        };
        pair.set_message_number(before);
        let (bth, empty) = empty_write(qp, psn);
        adapter.handle_packet(0, &Packet::new(bth, empty, &[]));
        let sent = adapter.next_packet(0, &mut Vec::new()).expect("an answer");
        let aeth = Aeth {
            syndrome: Syndrome::Ack(Syndrome::NO_CREDITS),
            msn: expected,
        };
        let answer = (sent.bth.opcode, sent.bth.psn, sent.extension);
        let acknowledge = (Opcode::RcAcknowledge, psn, Extension::Aeth(aeth));
        assert_eq!(answer, acknowledge, "after {before} messages");
        psn = psn.plus(1);
    }
}

#[test]
fn an_idle_queue_pair_takes_at_most_a_kibibyte() {
    let (mut adapter, init) = adapter_with_queue();
    let (pd, cq) = (init.pd, init.send_cq);
    let qp = connected(&mut adapter, &init);
    let allocated = |adapter: &ChannelAdapter| {
        adapter.qps[0].as_ref().map(|slot| match &slot.qp {
            AnyQueuePair::Rc(qp) => qp.allocated(),
            AnyQueuePair::Ud(_) => panic!("it is connected"),
        })
    };
    assert_eq!(allocated(&adapter), Some(0));
    // A place in the list of queue pairs with packets, which may have twice as many, too.
    assert_eq!(LISTED + 2 * size_of::<u32>(), 888);
    // What is left after a request in both roles.
    let memory = RegionMemory::Zeroed(64);
    let region = adapter.reg_mr(pd, memory, Access::ALL).expect("memory");
    let sges = [region.sge(0, 8)];
    let read = SendRequest {
        wr_id: 0,
        operation: Operation::RdmaRead {
            remote_addr: region.addr,
            rkey: region.rkey,
        },
        payload: Payload::Sges(&sges),
        flags: SendFlags::SIGNALED,
    };
    adapter.post_send(qp, &[read]).expect("room");
    let mut payload = Vec::new();
    while let Some(sent) = adapter.next_packet(0, &mut payload) {
        let packet = Packet::new(sent.bth, sent.extension, &payload);
        adapter.handle_packet(0, &packet);
        payload.clear();
    }
    let mut completions = Vec::new();
    assert_eq!(adapter.poll_cq(cq, 8, &mut completions), Ok(1));
    assert!(completions[0].status.is_success(), "{completions:?}");
    // Four places each for send requests, responses and saved requests.
    assert_eq!(allocated(&adapter), Some(4 * (96 + 32 + 32)));
}
