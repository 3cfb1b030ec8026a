//! Errors are reported, by the right status, and the rest of the queue pair's requests are
//! flushed.

use super::Side;
use super::connected::{ConnectedQp, Setup};
use crate::{Access, AtomicCap, ConnectionAttributes, MemoryRegion, Operation, QpState, WcStatus};

/// The one-sided operations on a place of the other side.
fn one_sided(side: &Side<'_>, remote_addr: u64, rkey: u32) -> Vec<Operation> {
    let mut operations = vec![
        Operation::RdmaWrite { remote_addr, rkey },
        Operation::RdmaRead { remote_addr, rkey },
    ];
    if side.verbs.query_device().atomic_cap != AtomicCap::None {
        operations.push(Operation::AtomicFetchAndAdd {
            remote_addr,
            rkey,
            add: 1,
        });
        operations.push(Operation::AtomicCmpAndSwp {
            remote_addr,
            rkey,
            compare: 0,
            swap: 1,
        });
    }
    operations
}

/// The request fails with this status, the next ones are flushed, and the queue pair is in the
/// error state.
async fn fails(
    connected: &ConnectedQp<'_>,
    operation: Operation,
    region: &MemoryRegion,
    status: WcStatus,
) {
    connected.post(1, operation, region, 0, 8);
    connected.post(2, Operation::Send, region, 0, 8);
    let completion = connected.sent().await;
    assert_eq!(
        (completion.wr_id, completion.status),
        (1, status),
        "{operation:?}: {completion:?}"
    );
    flushed(connected, 2).await;
    assert_eq!(connected.state(), QpState::Err);
    // Posting is still allowed, and of no use.
    connected.post(3, Operation::Send, region, 0, 8);
    flushed(connected, 3).await;
    assert_eq!(connected.poll_completion(connected.send_cq), None);
}

async fn flushed(connected: &ConnectedQp<'_>, wr_id: u64) {
    let completion = connected.sent().await;
    let facts = (completion.wr_id, completion.status, completion.opcode);
    assert_eq!(facts, (wr_id, WcStatus::WrFlushErr, None));
}

/// The first side executes each operation on a separate connection, and each fails with this
/// status. At the second side a posted receive is flushed, and the memory does not change.
async fn all_fail(
    side: &Side<'_>,
    setup: &Setup,
    access: Access,
    place: impl Fn(&MemoryRegion) -> (u64, u32),
    kinds: usize,
    status: WcStatus,
) {
    let count = one_sided(side, 0, 0).len().min(kinds);
    let other = side.swap(&[u8::try_from(count).expect("few")]).await;
    for kind in 0..count.min(usize::from(other[0])) {
        let connected = ConnectedQp::new(side, setup).await;
        let region = connected.region(4096, if side.is_first() { Access::ALL } else { access });
        if !side.is_first() {
            connected.post_recv(7, &connected.region(64, Access::LOCAL_WRITE), 0, 64);
        }
        let remote = side.swap_region(&region).await;
        if side.is_first() {
            let (remote_addr, rkey) = place(&remote);
            let operation = one_sided(side, remote_addr, rkey)[kind];
            fails(&connected, operation, &region, status).await;
        } else {
            let completion = connected.next_recv_completion().await;
            assert_eq!(
                (completion.wr_id, completion.status),
                (7, WcStatus::WrFlushErr)
            );
            assert_eq!(connected.state(), QpState::Err);
        }
        side.meet().await;
        assert_eq!(connected.read(&region, 0, 4096), vec![0; 4096]);
        connected.close().await;
    }
}

pub(super) async fn wrong_remote_keys(side: &Side<'_>) {
    let setup = Setup::default();
    let (all, status) = (Access::ALL, WcStatus::RemAccessErr);
    let wrong_key = |region: &MemoryRegion| (region.addr, region.rkey ^ 0x55);
    all_fail(side, &setup, all, wrong_key, 4, status).await;
    let beyond = |region: &MemoryRegion| (region.addr + 4096, region.rkey);
    all_fail(side, &setup, all, beyond, 4, status).await;
    let across = |region: &MemoryRegion| (region.addr + 4092, region.rkey);
    // Atomics are refused there for not being aligned.
    all_fail(side, &setup, all, across, 2, status).await;
}

pub(super) async fn missing_rights_of_memory(side: &Side<'_>) {
    let there = |region: &MemoryRegion| (region.addr, region.rkey);
    let status = WcStatus::RemAccessErr;
    all_fail(
        side,
        &Setup::default(),
        Access::LOCAL_WRITE,
        there,
        4,
        status,
    )
    .await;
}

pub(super) async fn missing_rights_of_the_queue_pair(side: &Side<'_>) {
    let setup = Setup {
        options: ConnectionAttributes {
            access: Access::LOCAL_WRITE,
            ..ConnectionAttributes::default()
        },
        ..Setup::default()
    };
    let there = |region: &MemoryRegion| (region.addr, region.rkey);
    all_fail(side, &setup, Access::ALL, there, 4, WcStatus::RemInvReqErr).await;
}

pub(super) async fn wrong_local_keys(side: &Side<'_>) {
    for kind in 0..3 {
        let connected = ConnectedQp::usual(side).await;
        let region = connected.region(4096, Access::ALL);
        let mut wrong = region;
        match kind {
            0 => wrong.lkey ^= 0x55,
            1 => wrong.addr += 4092,
            // No right to write, for what a read brings.
            _ => wrong = connected.region(4096, Access::NONE),
        }
        let remote = side.swap_region(&region).await;
        if side.is_first() {
            let (remote_addr, rkey) = (remote.addr, remote.rkey);
            let operation = match kind {
                0 => Operation::Send,
                1 => Operation::RdmaWrite { remote_addr, rkey },
                _ => Operation::RdmaRead { remote_addr, rkey },
            };
            let status = if kind == 0 {
                side.unknown_lkey_error()
            } else {
                WcStatus::LocProtErr
            };
            fails(&connected, operation, &wrong, status).await;
        }
        connected.close().await;
    }
}

pub(super) async fn receives_that_are_too_short(side: &Side<'_>) {
    let (at_sender, at_receiver) = if side.deviations.length_is_an_operation_error {
        (WcStatus::RemOpErr, WcStatus::LocQpOpErr)
    } else {
        (WcStatus::RemInvReqErr, WcStatus::LocLenErr)
    };
    let connected = ConnectedQp::usual(side).await;
    let region = connected.region(4096, Access::LOCAL_WRITE);
    if side.is_first() {
        side.meet().await;
        fails(&connected, Operation::Send, &region, at_sender).await;
    } else {
        connected.post_recv(1, &region, 0, 7);
        connected.post_recv(2, &region, 0, 64);
        side.meet().await;
        for (wr_id, status) in [(1, at_receiver), (2, WcStatus::WrFlushErr)] {
            let completion = connected.next_recv_completion().await;
            assert_eq!((completion.wr_id, completion.status), (wr_id, status));
        }
        assert_eq!(connected.read(&region, 7, 64), [0; 64]);
    }
    connected.close().await;
}

pub(super) async fn no_receive_posted(side: &Side<'_>) {
    let setup = Setup {
        options: ConnectionAttributes {
            rnr_retry: 1,
            ..ConnectionAttributes::default()
        },
        ..Setup::default()
    };
    let connected = ConnectedQp::new(side, &setup).await;
    let region = connected.region(64, Access::LOCAL_WRITE);
    if side.is_first() {
        fails(
            &connected,
            Operation::Send,
            &region,
            WcStatus::RnrRetryExcErr,
        )
        .await;
    }
    side.meet().await;
    // The other side has done nothing wrong.
    if !side.is_first() {
        assert_eq!(connected.state(), QpState::Rts);
    }
    connected.close().await;
}

/// A program with its own flow control may retry without limit.
pub(super) async fn a_late_receive(side: &Side<'_>) {
    let connected = ConnectedQp::usual(side).await;
    let region = connected.region(64, Access::LOCAL_WRITE);
    if side.is_first() {
        connected.write(&region, 0, b"patience");
        connected.post(1, Operation::Send, &region, 0, 8);
    }
    side.meet().await;
    for _ in 0..1000 {
        super::wait_a_little().await;
    }
    if side.is_first() {
        side.meet().await;
        connected.expect_sent(1).await;
    } else {
        connected.post_recv(1, &region, 0, 64);
        side.meet().await;
        connected.arrived(1).await;
        assert_eq!(connected.read(&region, 0, 8), b"patience");
    }
    connected.close().await;
}

pub(super) async fn the_error_state_flushes(side: &Side<'_>) {
    let connected = ConnectedQp::usual(side).await;
    let region = connected.region(64, Access::LOCAL_WRITE);
    if side.is_first() {
        // Nobody receives them.
        for wr_id in 0..5 {
            connected.post(wr_id, Operation::Send, &region, 0, 8);
        }
        connected.go_to(QpState::Err);
        for wr_id in 0..5 {
            flushed(&connected, wr_id).await;
        }
    }
    side.meet().await;
    if !side.is_first() {
        for wr_id in 10..15 {
            connected.post_recv(wr_id, &region, 0, 0);
        }
        connected.go_to(QpState::Err);
        connected.post_recv(15, &region, 0, 0);
        let stays = side.deviations.late_receives_stay;
        for wr_id in 10..if stays { 15 } else { 16 } {
            let completion = connected.next_recv_completion().await;
            let facts = (completion.wr_id, completion.status);
            assert_eq!(facts, (wr_id, WcStatus::WrFlushErr));
        }
    }
    assert_eq!(connected.state(), QpState::Err);
    connected.close().await;
}

pub(super) async fn the_peer_is_gone(side: &Side<'_>) {
    let setup = Setup {
        options: ConnectionAttributes {
            // 4.096 µs × 2^14 = 67 ms.
            timeout: 14,
            retry_cnt: 2,
            ..ConnectionAttributes::default()
        },
        ..Setup::default()
    };
    let connected = ConnectedQp::new(side, &setup).await;
    if side.is_first() {
        let region = connected.region(64, Access::LOCAL_WRITE);
        side.meet().await;
        fails(&connected, Operation::Send, &region, WcStatus::RetryExcErr).await;
        connected.close().await;
    } else {
        connected.free_objects();
        side.meet().await;
        side.meet().await;
    }
}
