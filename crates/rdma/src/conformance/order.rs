//! Order of operations and completions.

use super::connected::{ConnectedQp, Setup, pattern};
use super::{Side, wait_a_little};
use crate::{
    Access, Operation, Payload, QpCapabilities, SendFlags, SendRequest, VerbsError, WcOpcode,
};

/// Number of messages a receive queue of the usual size takes.
const MANY: u64 = 60;

pub(super) async fn messages_arrive_in_order(side: &Side<'_>) {
    let connected = ConnectedQp::usual(side).await;
    let region = connected.region(MANY * 10_000, Access::LOCAL_WRITE);
    let length = |number: u64| (number * 997 % 9_001) as u32;
    if side.is_first() {
        side.meet().await;
        for number in 0..MANY {
            let message = pattern(number, length(number) as usize);
            connected.write(&region, number * 10_000, &message);
            connected.post_request(&SendRequest {
                wr_id: number,
                operation: Operation::Send,
                payload: Payload::Sges(&[region.sge(number * 10_000, length(number))]),
                flags: SendFlags {
                    signaled: number % 20 == 19,
                    ..SendFlags::default()
                },
            });
        }
        for number in [19, 39, 59] {
            connected.expect_sent(number).await;
        }
    } else {
        for number in 0..MANY {
            connected.post_recv(number, &region, number * 10_000, 9_001);
        }
        side.meet().await;
        for number in 0..MANY {
            let completion = connected.arrived(number).await;
            assert_eq!(completion.byte_len, length(number));
            let message = connected.read(&region, number * 10_000, length(number) as usize);
            assert!(message == pattern(number, message.len()), "{number}");
        }
    }
    connected.close().await;
}

pub(super) async fn completions_come_in_order(side: &Side<'_>) {
    let connected = ConnectedQp::usual(side).await;
    let region = connected.region(64 << 10, Access::ALL);
    if !side.is_first() {
        for wr_id in 0..20 {
            connected.post_recv(wr_id, &region, 0, 8);
        }
    }
    let remote = side.swap_region(&region).await;
    if side.is_first() {
        let (remote_addr, rkey) = (remote.addr, remote.rkey);
        let add = 1;
        let kinds = [
            (
                Operation::RdmaRead { remote_addr, rkey },
                30_000,
                WcOpcode::RdmaRead,
            ),
            (Operation::Send, 8, WcOpcode::Send),
            (
                Operation::AtomicFetchAndAdd {
                    remote_addr: remote_addr + 40_000,
                    rkey,
                    add,
                },
                8,
                WcOpcode::FetchAdd,
            ),
            (
                Operation::RdmaWrite { remote_addr, rkey },
                20_000,
                WcOpcode::RdmaWrite,
            ),
        ];
        for round in 0..10 {
            for (place, (operation, length, _)) in (0..).zip(kinds) {
                connected.post(4 * round + place, operation, &region, 0, length);
            }
        }
        for round in 0..10 {
            for (place, (_, _, opcode)) in (0..).zip(kinds) {
                let completion = connected.expect_sent(4 * round + place).await;
                assert_eq!(completion.opcode, Some(opcode));
            }
        }
    }
    connected.close().await;
}

pub(super) async fn only_signaled_requests_complete(side: &Side<'_>) {
    signals(side, false, &[3, 7]).await;
}

pub(super) async fn everything_completes_if_told_so(side: &Side<'_>) {
    signals(side, true, &[0, 1, 2, 3, 4, 5, 6, 7]).await;
}

async fn signals(side: &Side<'_>, sq_sig_all: bool, expected: &[u64]) {
    let setup = Setup {
        sq_sig_all,
        ..Setup::default()
    };
    let connected = ConnectedQp::new(side, &setup).await;
    let region = connected.region(64, Access::LOCAL_WRITE);
    if side.is_first() {
        side.meet().await;
        for wr_id in 0..8 {
            connected.post_request(&SendRequest {
                wr_id,
                operation: Operation::Send,
                payload: Payload::Sges(&[region.sge(0, 64)]),
                flags: SendFlags {
                    signaled: wr_id % 4 == 3,
                    ..SendFlags::default()
                },
            });
        }
        for &wr_id in expected {
            connected.expect_sent(wr_id).await;
        }
        assert_eq!(connected.poll_completion(connected.send_cq), None);
    } else {
        for wr_id in 0..8 {
            connected.post_recv(wr_id, &region, 0, 64);
        }
        side.meet().await;
        for wr_id in 0..8 {
            connected.arrived(wr_id).await;
        }
    }
    connected.close().await;
}

/// Data of a READ is sent on: without a fence the send might carry the old contents.
pub(super) async fn a_fence_waits_for_reads(side: &Side<'_>) {
    const LENGTH: u32 = 20_000;
    const ROUNDS: u64 = 20;
    let connected = ConnectedQp::usual(side).await;
    let region = connected.region(2 * u64::from(LENGTH), Access::ALL);
    let remote = side.swap_region(&region).await;
    for round in 1..=ROUNDS {
        if !side.is_first() {
            connected.write(&region, 0, &pattern(round, LENGTH as usize));
            connected.post_recv(round, &region, u64::from(LENGTH), LENGTH);
        }
        side.meet().await;
        if side.is_first() {
            let read = Operation::RdmaRead {
                remote_addr: remote.addr,
                rkey: remote.rkey,
            };
            connected.post(2 * round, read, &region, 0, LENGTH);
            connected.post_request(&SendRequest {
                wr_id: 2 * round + 1,
                operation: Operation::Send,
                payload: Payload::Sges(&[region.sge(0, LENGTH)]),
                flags: SendFlags {
                    fence: true,
                    ..SendFlags::SIGNALED
                },
            });
            connected.expect_sent(2 * round).await;
            connected.expect_sent(2 * round + 1).await;
        } else {
            assert_eq!(connected.arrived(round).await.byte_len, LENGTH);
            let message = connected.read(&region, u64::from(LENGTH), LENGTH as usize);
            assert!(message == pattern(round, LENGTH as usize), "round {round}");
        }
    }
    connected.close().await;
}

/// A full queue refuses requests. The accepted requests complete when the other side is ready, and
/// then the queue has room again.
pub(super) async fn full_queues_refuse(side: &Side<'_>) {
    let setup = Setup {
        cap: QpCapabilities {
            max_send_wr: 8,
            max_recv_wr: 8,
            ..QpCapabilities::default()
        },
        ..Setup::default()
    };
    let connected = ConnectedQp::new(side, &setup).await;
    let region = connected.region(64, Access::LOCAL_WRITE);
    let mut taken = 0;
    if side.is_first() {
        // The other side has no receives yet, so nothing gets done. Adapters may have more room
        // than was asked for.
        let most = side.verbs.query_device().max_qp_wr;
        let refused = loop {
            assert!(taken <= u64::from(most), "the queue never gets full");
            let request = SendRequest {
                wr_id: taken,
                operation: Operation::Send,
                payload: Payload::Sges(&[region.sge(0, 8)]),
                flags: SendFlags::SIGNALED,
            };
            match side.verbs.post_send(connected.qp, &[request]) {
                Ok(()) => taken += 1,
                Err(refused) => break refused,
            }
        };
        assert_eq!(refused.taken, 0);
        assert!(
            matches!(refused.error, VerbsError::NoRoom { .. }),
            "{refused}"
        );
        assert!(taken >= 8, "less than was asked for: {taken}");
    }
    let told = side.swap(&taken.to_be_bytes()).await;
    if side.is_first() {
        for wr_id in 0..taken {
            connected.expect_sent(wr_id).await;
        }
        connected.post(taken, Operation::Send, &region, 0, 8);
        connected.expect_sent(taken).await;
    } else {
        let count = u64::from_be_bytes(told.try_into().expect("a number"));
        for wr_id in 0..=count {
            connected.post_recv(wr_id, &region, 0, 8);
            connected.arrived(wr_id).await;
        }
    }
    connected.close().await;
}

/// A request for notification gives one event; one for solicited completions ignores all others.
pub(super) async fn notifications(side: &Side<'_>) {
    let connected = ConnectedQp::usual(side).await;
    let region = connected.region(64, Access::LOCAL_WRITE);
    let send = |wr_id, solicited| {
        connected.post_request(&SendRequest {
            wr_id,
            operation: Operation::Send,
            payload: Payload::Sges(&[region.sge(0, 8)]),
            flags: SendFlags {
                solicited,
                ..SendFlags::SIGNALED
            },
        });
    };
    let ask = |solicited_only| {
        let result = side.verbs.req_notify_cq(connected.recv_cq, solicited_only);
        result.expect("can be asked for");
    };
    let told = || side.verbs.get_cq_event().expect("an adapter that works");
    // Whether the side asks for solicited completions only, what is sent, and whether it is told.
    let rounds = [
        (false, false, true),
        (true, false, false),
        (true, true, true),
    ];
    for (wr_id, (solicited_only, solicited, is_told)) in (0..).zip(rounds) {
        if side.is_first() {
            side.meet().await;
            send(wr_id, solicited);
            connected.expect_sent(wr_id).await;
        } else {
            connected.post_recv(wr_id, &region, 0, 8);
            ask(solicited_only);
            assert_eq!(told(), None);
            side.meet().await;
            connected.arrived(wr_id).await;
            let mut heard = told();
            while is_told && heard.is_none() {
                wait_a_little().await;
                heard = told();
            }
            assert_eq!(heard, is_told.then_some(connected.recv_cq), "{wr_id}");
        }
        side.meet().await;
    }
    // Who does not ask again is not told again.
    if side.is_first() {
        side.meet().await;
        send(9, true);
        connected.expect_sent(9).await;
    } else {
        connected.post_recv(9, &region, 0, 8);
        side.meet().await;
        connected.arrived(9).await;
        assert_eq!(told(), None);
    }
    connected.close().await;
}
