//! Registered memory, and the handles of destroyed objects.

use std::rc::Rc;

use super::Side;
use super::connected::{ConnectedQp, Setup, pattern};
use crate::{
    Access, CompletionQueue, Operation, ProtectionDomain, QueuePair, RegionMemory, VerbsError,
};

/// A message arrives in the program's own buffer: without a copy.
pub(super) async fn owned_memory_comes_back(side: &Side<'_>) {
    let connected = ConnectedQp::usual(side).await;
    let buffer = vec![1_u8; 50_000];
    let place = buffer.as_ptr();
    let region = connected.register_memory(RegionMemory::Owned(buffer), Access::LOCAL_WRITE);
    if side.is_first() {
        connected.write(&region, 0, &pattern(1, 40_000));
        side.meet().await;
        connected.post(1, Operation::Send, &region, 0, 40_000);
        connected.expect_sent(1).await;
    } else {
        connected.post_recv(1, &region, 0, 50_000);
        side.meet().await;
        connected.arrived(1).await;
    }
    let RegionMemory::Owned(buffer) = connected.deregister(&region) else {
        panic!("another kind of memory");
    };
    assert_eq!(buffer.as_ptr(), place);
    assert!(buffer[..40_000] == pattern(1, 40_000));
    assert!(buffer[40_000..] == [1; 10_000]);
    connected.close().await;
}

/// A message leaves from bytes that others hold too, and that cannot be written to.
pub(super) async fn memory_that_is_only_read(side: &Side<'_>) {
    let connected = ConnectedQp::usual(side).await;
    let bytes = Rc::new(pattern(2, 30_001));
    let memory = RegionMemory::ReadOnly(Rc::clone(&bytes));
    let shared = connected.register_memory(memory, Access::REMOTE_READ);
    assert_eq!(connected.read(&shared, 10, 20), bytes[10..30]);
    assert!(side.verbs.write_mr(&shared, 0, &[1]).is_err());
    let region = connected.region(30_001, Access::LOCAL_WRITE);
    if !side.is_first() {
        connected.post_recv(1, &region, 0, 30_001);
    }
    let remote = side.swap_region(&shared).await;
    if side.is_first() {
        connected.post(1, Operation::Send, &shared, 0, 30_001);
        connected.expect_sent(1).await;
        let read = Operation::RdmaRead {
            remote_addr: remote.addr,
            rkey: remote.rkey,
        };
        connected.post(2, read, &region, 0, 30_001);
        connected.expect_sent(2).await;
    } else {
        connected.arrived(1).await;
    }
    assert!(connected.read(&region, 0, 30_001) == *bytes);
    side.meet().await;
    connected.deregister(&shared);
    assert_eq!(Rc::strong_count(&bytes), 1);
    connected.close().await;
}

pub(super) async fn what_cannot_be_registered(side: &Side<'_>) {
    let connected = ConnectedQp::prepared(side, &Setup::default());
    let shared = Rc::new(vec![1, 2, 3]);
    let read_only = || RegionMemory::ReadOnly(Rc::clone(&shared));
    let local = Access::LOCAL_WRITE;
    let cases = [
        (RegionMemory::Zeroed(0), local),
        (RegionMemory::Owned(Vec::new()), local),
        (RegionMemory::Zeroed(8), Access::REMOTE_WRITE),
        (RegionMemory::Owned(vec![4, 5]), Access::REMOTE_ATOMIC),
        (read_only(), local),
        (read_only(), Access::ALL),
    ];
    for (memory, access) in cases {
        let refused = side.verbs.reg_mr(connected.pd, memory.clone(), access);
        let refused = refused.expect_err("cannot be registered");
        assert!(
            matches!(refused.error, VerbsError::Invalid { .. }),
            "{refused}"
        );
        assert_eq!(refused.memory, memory, "it comes back");
    }
    let region = connected.region(100, local);
    let mut bytes = [0; 8];
    for offset in [93, 100, u64::MAX] {
        assert!(side.verbs.read_mr(&region, offset, &mut bytes).is_err());
        assert!(side.verbs.write_mr(&region, offset, &bytes).is_err());
    }
    // All alignments and lengths of copies.
    let message = pattern(3, 40);
    for offset in 0..16 {
        for length in 0..40 {
            connected.write(&region, 0, &[0xee; 100]);
            connected.write(&region, offset, &message[..length]);
            assert_eq!(connected.read(&region, offset, length), message[..length]);
            let after = offset + length as u64;
            assert_eq!(connected.read(&region, after, 8), [0xee; 8]);
            assert_eq!(
                connected.read(&region, 0, usize::try_from(offset).expect("small")),
                vec![0xee; usize::try_from(offset).expect("small")]
            );
        }
    }
    connected.close().await;
}

pub(super) async fn old_handles_are_refused(side: &Side<'_>) {
    let verbs = side.verbs;
    let is_unknown = |error: &VerbsError| matches!(error, VerbsError::NoSuchHandle { .. });
    let connected = ConnectedQp::usual(side).await;
    let region = connected.region(64, Access::LOCAL_WRITE);
    connected.deregister(&region);
    let refused = verbs.dereg_mr(&region).expect_err("gone");
    assert!(is_unknown(&refused), "{refused}");
    assert!(verbs.read_mr(&region, 0, &mut [0]).is_err());
    // The adapter refuses the key, too.
    if side.is_first() {
        connected.post(1, Operation::Send, &region, 0, 8);
        assert_eq!(connected.sent().await.status, side.unknown_lkey_error());
    }
    let (pd, cq, qp) = (connected.pd, connected.send_cq, connected.qp);
    connected.close().await;
    assert!(verbs.query_qp(qp).is_err_and(|error| is_unknown(&error)));
    assert!(verbs.destroy_qp(qp).is_err());
    assert!(verbs.post_recv(qp, &[]).is_err());
    assert!(verbs.poll_cq(cq, 1, &mut Vec::new()).is_err());
    assert!(verbs.destroy_cq(cq).is_err());
    assert!(verbs.dealloc_pd(pd).is_err());
    let never = u32::MAX;
    assert!(verbs.dealloc_pd(ProtectionDomain(never)).is_err());
    assert!(verbs.req_notify_cq(CompletionQueue(never), false).is_err());
    let never = QueuePair {
        handle: never,
        qp_num: qp.qp_num,
    };
    assert!(verbs.query_qp(never).is_err());
}

pub(super) async fn what_is_in_use_stays(side: &Side<'_>) {
    let connected = ConnectedQp::usual(side).await;
    let region = connected.region(64, Access::LOCAL_WRITE);
    let verbs = side.verbs;
    let is_busy = |result: Result<(), VerbsError>| matches!(result, Err(VerbsError::Busy { .. }));
    assert!(is_busy(verbs.dealloc_pd(connected.pd)));
    assert!(is_busy(verbs.destroy_cq(connected.send_cq)));
    assert!(is_busy(verbs.destroy_cq(connected.recv_cq)));
    // And still works.
    if !side.is_first() {
        connected.post_recv(1, &region, 0, 8);
    }
    side.meet().await;
    if side.is_first() {
        connected.post(1, Operation::Send, &region, 0, 8);
        connected.expect_sent(1).await;
    } else {
        connected.arrived(1).await;
    }
    connected.close().await;
}
