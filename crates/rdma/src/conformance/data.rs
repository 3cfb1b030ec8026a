//! All data that are sent arrive, and no other data.

use super::Side;
use super::connected::{ConnectedQp, pattern};
use crate::{
    Access, Operation, Payload, RecvRequest, SendFlags, SendRequest, VerbsError, WcOpcode,
};

/// Bytes around the memory that may be written to; these bytes must not change.
const MARGIN: u64 = 32;

/// Lengths at the limits of protocols, above all of a packet.
fn lengths(connected: &ConnectedQp<'_>) -> Vec<u32> {
    let mtu = connected.local.mtu.min(connected.remote.mtu).bytes();
    vec![
        0,
        1,
        7,
        8,
        9,
        mtu - 1,
        mtu,
        mtu + 1,
        2 * mtu,
        3 * mtu + 5,
        65_537,
        1 << 20,
    ]
}

/// Returns a region to which a message of `length` bytes may be written from [`MARGIN`] plus one
/// on; with the additional byte the message is not aligned.
fn target(connected: &ConnectedQp<'_>, length: u32) -> crate::MemoryRegion {
    let region = connected.region(u64::from(length) + 2 * MARGIN, Access::ALL);
    let marks = vec![0xee; usize::try_from(region.length).expect("fits")];
    connected.write(&region, 0, &marks);
    region
}

/// Checks that the message is there, and that the bytes around the message did not change.
fn check_message(
    connected: &ConnectedQp<'_>,
    region: &crate::MemoryRegion,
    number: u64,
    length: u32,
) {
    let all = usize::try_from(region.length).expect("fits");
    let all = connected.read(region, 0, all);
    let start = usize::try_from(MARGIN).expect("fits") + 1;
    let (before, rest) = all.split_at(start);
    let (message, after) = rest.split_at(length as usize);
    assert!(before.iter().all(|&byte| byte == 0xee), "{length}: before");
    assert!(
        message == pattern(number, message.len()),
        "{length}: message"
    );
    assert!(after.iter().all(|&byte| byte == 0xee), "{length}: after");
}

pub(super) async fn sends_of_all_sizes(side: &Side<'_>) {
    let connected = ConnectedQp::usual(side).await;
    for (number, length) in (1..).zip(lengths(&connected)) {
        if side.is_first() {
            let source = connected.region(u64::from(length) + 3, Access::NONE);
            let message = pattern(number, length as usize);
            // Filling needs no right: rights are the adapter's.
            connected.write(&source, 3, &message);
            side.meet().await;
            connected.post(number, Operation::Send, &source, 3, length);
            let completion = connected.expect_sent(number).await;
            assert_eq!(completion.opcode, Some(WcOpcode::Send));
            connected.deregister(&source);
        } else {
            let region = target(&connected, length);
            connected.post_recv(number, &region, MARGIN + 1, length);
            side.meet().await;
            let completion = connected.arrived(number).await;
            assert_eq!(completion.opcode, Some(WcOpcode::Recv));
            assert_eq!(completion.byte_len, length);
            assert_eq!(completion.imm_data, None);
            check_message(&connected, &region, number, length);
            connected.deregister(&region);
        }
    }
    connected.close().await;
}

pub(super) async fn writes_of_all_sizes(side: &Side<'_>) {
    let connected = ConnectedQp::usual(side).await;
    for (number, length) in (1..).zip(lengths(&connected)) {
        let region = target(&connected, length);
        if !side.is_first() {
            connected.post_recv(number, &region, 0, 0);
        }
        let remote = side.swap_region(&region).await;
        if side.is_first() {
            let message = pattern(number, length as usize);
            connected.write(&region, 5, &message);
            let write = Operation::RdmaWrite {
                remote_addr: remote.addr + MARGIN + 1,
                rkey: remote.rkey,
            };
            connected.post(number, write, &region, 5, length);
            // What comes after a write arrives after it.
            connected.post(0, Operation::Send, &region, 0, 0);
            let completion = connected.expect_sent(number).await;
            assert_eq!(completion.opcode, Some(WcOpcode::RdmaWrite));
            connected.expect_sent(0).await;
        } else {
            assert_eq!(connected.arrived(number).await.byte_len, 0);
            check_message(&connected, &region, number, length);
        }
        side.meet().await;
        connected.deregister(&region);
    }
    connected.close().await;
}

pub(super) async fn reads_of_all_sizes(side: &Side<'_>) {
    let connected = ConnectedQp::usual(side).await;
    for (number, length) in (1..).zip(lengths(&connected)) {
        let region = target(&connected, length);
        if !side.is_first() {
            connected.write(&region, 7, &pattern(number, length as usize));
        }
        let remote = side.swap_region(&region).await;
        if side.is_first() {
            let read = Operation::RdmaRead {
                remote_addr: remote.addr + 7,
                rkey: remote.rkey,
            };
            connected.post(number, read, &region, MARGIN + 1, length);
            let completion = connected.expect_sent(number).await;
            assert_eq!(completion.opcode, Some(WcOpcode::RdmaRead));
            assert_eq!(completion.byte_len, length);
            check_message(&connected, &region, number, length);
        }
        side.meet().await;
        connected.deregister(&region);
    }
    connected.close().await;
}

pub(super) async fn scatter_and_gather(side: &Side<'_>) {
    let connected = ConnectedQp::usual(side).await;
    let region = connected.region(64 << 10, Access::ALL);
    let message = pattern(1, 30_000);
    if side.is_first() {
        // Out of order in memory.
        connected.write(&region, 40_000, &message[..5]);
        connected.write(&region, 100, &message[5..20_005]);
        connected.write(&region, 50_000, &message[20_005..]);
        let pieces = [
            region.sge(40_000, 5),
            region.sge(100, 20_000),
            region.sge(50_000, 9_995),
        ];
        side.meet().await;
        connected.post_request(&SendRequest {
            wr_id: 1,
            operation: Operation::Send,
            payload: Payload::Sges(&pieces),
            flags: SendFlags::SIGNALED,
        });
        connected.expect_sent(1).await;
    } else {
        let pieces = [
            region.sge(50_001, 4_097),
            region.sge(3, 20_000),
            region.sge(40_000, 10_000),
        ];
        let request = RecvRequest {
            wr_id: 1,
            sges: &pieces,
        };
        let result = side.verbs.post_recv(connected.qp, &[request]);
        result.expect("a receive is taken");
        side.meet().await;
        assert_eq!(connected.arrived(1).await.byte_len, 30_000);
        let mut got = connected.read(&region, 50_001, 4_097);
        got.extend(connected.read(&region, 3, 20_000));
        got.extend(connected.read(&region, 40_000, 30_000 - 24_097));
        assert!(got == message);
        // The last place was longer than what was left.
        assert_eq!(connected.read(&region, 40_000 + 5_903, 8), [0; 8]);
    }
    connected.close().await;
}

pub(super) async fn immediate_data(side: &Side<'_>) {
    let connected = ConnectedQp::usual(side).await;
    let region = connected.region(8192, Access::ALL);
    connected.write(&region, 0, &pattern(u64::from(side.is_first()), 8192));
    if !side.is_first() {
        for wr_id in 0..4 {
            connected.post_recv(wr_id, &region, 4096, 100);
        }
    }
    let remote = side.swap_region(&region).await;
    if side.is_first() {
        let write = Operation::RdmaWriteWithImm {
            remote_addr: remote.addr,
            rkey: remote.rkey,
            imm_data: 0x0102_0304,
        };
        connected.post(0, Operation::SendWithImm(0xdead_beef), &region, 0, 10);
        connected.post(1, Operation::SendWithImm(0), &region, 0, 0);
        connected.post(2, write, &region, 1000, 3000);
        connected.post(3, write, &region, 0, 0);
        for wr_id in 0..4 {
            // It is of receives.
            assert_eq!(connected.expect_sent(wr_id).await.imm_data, None);
        }
    } else {
        let facts = [
            (WcOpcode::Recv, 10, 0xdead_beef),
            (WcOpcode::Recv, 0, 0),
            (WcOpcode::RecvRdmaWithImm, 3000, 0x0102_0304),
            (WcOpcode::RecvRdmaWithImm, 0, 0x0102_0304),
        ];
        for (wr_id, (opcode, byte_len, imm_data)) in (0..).zip(facts) {
            let completion = connected.arrived(wr_id).await;
            assert_eq!(completion.opcode, Some(opcode));
            assert_eq!(completion.imm_data, Some(imm_data));
            assert_eq!(completion.byte_len, byte_len, "{completion:?}");
        }
        assert!(connected.read(&region, 0, 3000) == pattern(1, 4000)[1000..]);
        assert!(connected.read(&region, 4096, 10) == pattern(1, 10));
        // A write does not touch the memory of the receive that it uses up.
        assert!(connected.read(&region, 4106, 90) == pattern(0, 4196)[4106..]);
    }
    connected.close().await;
}

pub(super) async fn inline_data(side: &Side<'_>) {
    let connected = ConnectedQp::usual(side).await;
    let capabilities = side.verbs.query_qp(connected.qp).expect("a queue pair").cap;
    let most = capabilities.max_inline_data;
    assert!(most >= 64, "less than was asked for");
    let region = connected.region(4096, Access::ALL);
    let lengths = [0, 1, 8, 63, 64];
    for (wr_id, length) in (0..).zip(lengths) {
        if !side.is_first() {
            connected.post_recv(wr_id, &region, 0, 4096);
        }
        side.meet().await;
        if side.is_first() {
            let mut message = pattern(wr_id, length);
            connected.post_request(&SendRequest {
                wr_id,
                operation: Operation::Send,
                payload: Payload::Inline(&message),
                flags: SendFlags::SIGNALED,
            });
            // It was copied.
            message.fill(0);
            drop(message);
            connected.expect_sent(wr_id).await;
        } else {
            let completion = connected.arrived(wr_id).await;
            assert_eq!(completion.byte_len as usize, length);
            assert!(connected.read(&region, 0, length) == pattern(wr_id, length));
        }
    }
    let remote = side.swap_region(&region).await;
    if side.is_first() {
        let write = Operation::RdmaWrite {
            remote_addr: remote.addr + 1000,
            rkey: remote.rkey,
        };
        connected.post_request(&SendRequest {
            wr_id: 10,
            operation: write,
            payload: Payload::Inline(b"written"),
            flags: SendFlags::SIGNALED,
        });
        connected.expect_sent(10).await;
        let read = Operation::RdmaRead {
            remote_addr: remote.addr,
            rkey: remote.rkey,
        };
        for (operation, length) in [(Operation::Send, most as usize + 1), (read, 8)] {
            let request = SendRequest {
                wr_id: 11,
                operation,
                payload: Payload::Inline(&vec![0; length]),
                flags: SendFlags::SIGNALED,
            };
            let refused = side.verbs.post_send(connected.qp, &[request]);
            let refused = refused.expect_err("too long, or a read");
            assert_eq!(refused.taken, 0);
            assert!(
                matches!(refused.error, VerbsError::Invalid { .. }),
                "{refused}"
            );
        }
    }
    side.meet().await;
    if !side.is_first() {
        assert_eq!(connected.read(&region, 1000, 8), b"written\0");
    }
    connected.close().await;
}
