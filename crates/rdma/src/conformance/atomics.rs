//! Reading and changing eight bytes at once.

use super::Side;
use super::connected::{ConnectedQp, Setup};
use crate::{
    Access, AtomicCap, MemoryRegion, Operation, Payload, PostError, QpState, SendFlags,
    SendRequest, VerbsError, WcOpcode, WcStatus,
};

/// Returns true if the adapters have none.
async fn are_missing(side: &Side<'_>) -> bool {
    let has = side.verbs.query_device().atomic_cap != AtomicCap::None;
    let other = side.swap(&[u8::from(has)]).await;
    !has || other != [1]
}

fn fetch_add_operation(remote: &MemoryRegion, offset: u64, add: u64) -> Operation {
    Operation::AtomicFetchAndAdd {
        remote_addr: remote.addr + offset,
        rkey: remote.rkey,
        add,
    }
}

/// The sums that come back, as in the test C09-027 no. 12 of the InfiniBand Trade Association: the
/// word wraps.
pub(super) async fn fetch_and_add(side: &Side<'_>) {
    const STEP: u64 = 0x1111_1111_1111_1111;
    const START: u64 = u64::MAX - 2 * STEP + 5;
    if are_missing(side).await {
        return;
    }
    let connected = ConnectedQp::usual(side).await;
    let region = connected.region(128, Access::ALL);
    connected.write_u64(&region, 64, START);
    let remote = side.swap_region(&region).await;
    if side.is_first() {
        for wr_id in 0..5 {
            let operation = fetch_add_operation(&remote, 64, if wr_id == 0 { 0 } else { STEP });
            connected.post(wr_id, operation, &region, 8 * wr_id, 8);
        }
        for wr_id in 0..5 {
            let completion = connected.expect_sent(wr_id).await;
            assert_eq!(completion.opcode, Some(WcOpcode::FetchAdd));
            assert_eq!(completion.byte_len, 8);
            let before = START.wrapping_add(wr_id.saturating_sub(1).wrapping_mul(STEP));
            assert_eq!(connected.read_u64(&region, 8 * wr_id), before, "{wr_id}");
        }
    }
    side.meet().await;
    if !side.is_first() {
        let sum = START.wrapping_add(STEP.wrapping_mul(4));
        assert_eq!(connected.read_u64(&region, 64), sum);
        assert_eq!(connected.read_u64(&region, 56), 0);
        assert_eq!(connected.read_u64(&region, 72), 0);
    }
    connected.close().await;
}

pub(super) async fn compare_and_swap(side: &Side<'_>) {
    if are_missing(side).await {
        return;
    }
    let connected = ConnectedQp::usual(side).await;
    let region = connected.region(64, Access::ALL);
    connected.write_u64(&region, 8, 7);
    let remote = side.swap_region(&region).await;
    if side.is_first() {
        // What is compared, what is swapped in, and what was there.
        let rounds = [
            (8, 1, 7),
            (7, u64::MAX, 7),
            (7, 2, u64::MAX),
            (u64::MAX, 3, u64::MAX),
        ];
        for (wr_id, (compare, swap, before)) in (0..).zip(rounds) {
            let operation = Operation::AtomicCmpAndSwp {
                remote_addr: remote.addr + 8,
                rkey: remote.rkey,
                compare,
                swap,
            };
            connected.post(wr_id, operation, &region, 32, 8);
            let completion = connected.expect_sent(wr_id).await;
            assert_eq!(completion.opcode, Some(WcOpcode::CompSwap));
            assert_eq!(connected.read_u64(&region, 32), before, "{wr_id}");
        }
    }
    side.meet().await;
    if !side.is_first() {
        assert_eq!(connected.read_u64(&region, 8), 3);
    }
    connected.close().await;
}

/// Two connections add to one word at once: all results differ, and the sum is right.
pub(super) async fn two_connections_add(side: &Side<'_>) {
    const EACH: u64 = 40;
    if are_missing(side).await {
        return;
    }
    let one = ConnectedQp::usual(side).await;
    let setup = Setup {
        pd: Some(one.pd),
        ..Setup::default()
    };
    let connections = [ConnectedQp::new(side, &setup).await, one];
    // One word at the second side, which both connections reach because they are of one domain.
    let regions = [0, 1].map(|index: usize| connections[index].region(1024, Access::ALL));
    let word = side.swap_region(&regions[0]).await;
    if side.is_first() {
        let mut got = Vec::new();
        for wr_id in 0..EACH {
            for (connection, region) in connections.iter().zip(&regions) {
                connection.post(
                    wr_id,
                    fetch_add_operation(&word, 512, 1),
                    region,
                    8 * wr_id,
                    8,
                );
            }
            if wr_id % 8 == 7 {
                for (connection, region) in connections.iter().zip(&regions) {
                    for wr_id in wr_id - 7..=wr_id {
                        connection.expect_sent(wr_id).await;
                        got.push(connection.read_u64(region, 8 * wr_id));
                    }
                }
            }
        }
        got.sort_unstable();
        assert_eq!(got, (0..2 * EACH).collect::<Vec<_>>());
    }
    side.meet().await;
    if !side.is_first() {
        assert_eq!(connections[0].read_u64(&regions[0], 512), 2 * EACH);
    }
    for connection in connections {
        connection.close().await;
    }
}

/// By the driver at once, or by the other side.
pub(super) async fn unaligned_atomics_are_refused(side: &Side<'_>) {
    if are_missing(side).await {
        return;
    }
    let connected = ConnectedQp::usual(side).await;
    let region = connected.region(64, Access::ALL);
    let remote = side.swap_region(&region).await;
    if side.is_first() {
        let request = SendRequest {
            wr_id: 1,
            operation: fetch_add_operation(&remote, 4, 1),
            payload: Payload::Sges(&[region.sge(32, 8)]),
            flags: SendFlags::SIGNALED,
        };
        match side.verbs.post_send(connected.qp, &[request]) {
            Err(PostError { taken, error }) => {
                assert_eq!(taken, 0);
                assert!(matches!(error, VerbsError::Invalid { .. }), "{error}");
            }
            Ok(()) => {
                let completion = connected.sent().await;
                assert_eq!(completion.wr_id, 1);
                assert_eq!(completion.status, WcStatus::RemInvReqErr);
                assert_eq!(connected.state(), QpState::Err);
            }
        }
    }
    side.meet().await;
    assert_eq!(connected.read(&region, 0, 64), [0; 64]);
    connected.close().await;
}
