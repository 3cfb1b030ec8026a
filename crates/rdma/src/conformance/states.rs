//! The states of a queue pair: IBA 10.3.1.

use super::connected::{ConnectedQp, Setup};
use super::{Side, wait_a_little};
use crate::{
    Access, AsyncEvent, Operation, Payload, QpModify, QpState, RecvRequest, SendFlags, SendRequest,
    VerbsError, connect, prepare,
};

/// A refused change does not change the state.
pub(super) async fn transitions_that_are_not_allowed(side: &Side<'_>) {
    let connected = ConnectedQp::prepared(side, &Setup::default());
    let refuse = |from: QpState, to: &[QpState]| {
        assert_eq!(connected.state(), from);
        for &to in to {
            let modify = QpModify::to_state(to);
            let refused = side.verbs.modify_qp(connected.qp, &modify);
            let is_invalid = matches!(refused, Err(VerbsError::Invalid { .. }));
            assert!(is_invalid, "{from} to {to}: {refused:?}");
            assert_eq!(connected.state(), from, "to {to}");
        }
    };
    // Also to the right state, but without what that needs.
    refuse(QpState::Init, &[QpState::Rtr, QpState::Rts, QpState::Sqd]);
    connected.go_to(QpState::Reset);
    refuse(
        QpState::Reset,
        &[QpState::Init, QpState::Rtr, QpState::Rts, QpState::Sqd],
    );
    // IBA goes from RESET to ERR too; Linux does not, and no program needs it.
    prepare(side.verbs, connected.qp, &connected.options, 0).expect("INIT");
    connected.go_to(QpState::Err);
    refuse(
        QpState::Err,
        &[QpState::Init, QpState::Rtr, QpState::Rts, QpState::Sqd],
    );
    connected.go_to(QpState::Reset);
    let assumed = QpModify {
        cur_qp_state: Some(QpState::Rtr),
        ..QpModify::to_state(QpState::Init)
    };
    assert!(side.verbs.modify_qp(connected.qp, &assumed).is_err());
    connected.close().await;
}

pub(super) async fn posting_too_early(side: &Side<'_>) {
    let connected = ConnectedQp::prepared(side, &Setup::default());
    let region = connected.region(64, Access::LOCAL_WRITE);
    let sges = [region.sge(0, 8)];
    let send = SendRequest {
        wr_id: 1,
        operation: Operation::Send,
        payload: Payload::Sges(&sges),
        flags: SendFlags::SIGNALED,
    };
    let receive = RecvRequest {
        wr_id: 2,
        sges: &sges,
    };
    let (verbs, qp) = (side.verbs, connected.qp);
    let sent = verbs
        .post_send(qp, &[send])
        .expect_err("INIT does not send");
    assert!(matches!(sent.error, VerbsError::Invalid { .. }), "{sent}");
    assert_eq!(
        verbs.post_recv(qp, &[receive]),
        Ok(()),
        "INIT takes receives"
    );
    connected.go_to(QpState::Reset);
    assert!(verbs.post_send(qp, &[send]).is_err());
    let refused = verbs
        .post_recv(qp, &[receive])
        .expect_err("RESET takes nothing");
    assert_eq!(refused.taken, 0);
    // Going to RESET forgot the receive.
    assert_eq!(connected.poll_completion(connected.recv_cq), None);
    connected.close().await;
}

/// From the error state over RESET into use again.
pub(super) async fn a_queue_pair_is_used_again(side: &Side<'_>) {
    let mut connected = ConnectedQp::usual(side).await;
    let region = connected.region(64, Access::LOCAL_WRITE);
    for round in 0..3 {
        if side.is_first() {
            connected.write(&region, 0, &[round; 8]);
        } else {
            connected.post_recv(1, &region, 0, 8);
        }
        side.meet().await;
        if side.is_first() {
            connected.post(1, Operation::Send, &region, 0, 8);
            connected.expect_sent(1).await;
        } else {
            connected.arrived(1).await;
            assert_eq!(connected.read(&region, 0, 8), [round; 8]);
        }
        side.meet().await;
        connected.go_to(QpState::Err);
        connected.go_to(QpState::Reset);
        let psn = 1000 * u32::from(round);
        let (verbs, qp, options) = (side.verbs, connected.qp, connected.options);
        connected.local = prepare(verbs, qp, &options, psn).expect("INIT");
        connected.remote = connected.tell_endpoint().await;
        connect(verbs, qp, &options, &connected.local, &connected.remote).expect("connects");
        side.meet().await;
    }
    connected.close().await;
}

/// In SQD started requests complete; requests posted then wait and continue later.
pub(super) async fn draining(side: &Side<'_>) {
    const LENGTH: u32 = 1 << 20;
    let connected = ConnectedQp::usual(side).await;
    let region = connected.region(u64::from(LENGTH), Access::LOCAL_WRITE);
    let drain = || {
        let modify = QpModify {
            en_sqd_async_notify: Some(true),
            ..QpModify::to_state(QpState::Sqd)
        };
        let result = side.verbs.modify_qp(connected.qp, &modify);
        result.expect("from RTS to SQD");
    };
    if side.is_first() {
        side.meet().await;
        // So long that it has begun and not ended.
        connected.post(1, Operation::Send, &region, 0, LENGTH);
        if side.deviations.draining_stops_retries {
            connected.expect_sent(1).await;
            drain();
            drained(&connected).await;
        } else {
            drain();
            drained(&connected).await;
            connected.expect_sent(1).await;
        }
        connected.post(2, Operation::Send, &region, 0, 8);
        for _ in 0..1000 {
            wait_a_little().await;
        }
        assert_eq!(connected.poll_completion(connected.send_cq), None);
        connected.go_to(QpState::Rts);
        if side.deviations.drained_queues_need_a_push {
            connected.post(3, Operation::Send, &region, 0, 8);
        }
        connected.expect_sent(2).await;
        if !side.deviations.drained_queues_need_a_push {
            connected.post(3, Operation::Send, &region, 0, 8);
        }
        connected.expect_sent(3).await;
        // Nothing has to end.
        drain();
        drained(&connected).await;
    } else {
        for wr_id in [1, 2, 3] {
            connected.post_recv(wr_id, &region, 0, LENGTH);
        }
        side.meet().await;
        for wr_id in [1, 2, 3] {
            connected.arrived(wr_id).await;
        }
    }
    connected.close().await;
}

async fn drained(connected: &ConnectedQp<'_>) {
    loop {
        let event = connected.side.verbs.get_async_event();
        match event.expect("an adapter that works") {
            Some(AsyncEvent::SqDrained(qp)) => {
                assert_eq!(qp, connected.qp);
                return;
            }
            _ => wait_a_little().await,
        }
    }
}
