//! Promise D4: a requester sends again at exactly the times of its timers, and exactly as often as
//! its counters allow. Times are in picoseconds, and there is no tolerance.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use rdma::dialogue::{
    DeviceCommand, DeviceReply, DeviceUnderTest, Dialogue, DialogueParameters, SimulatedDevice,
    TesterEnd,
};
use rdma::wire::{Aeth, Bth, Extension, Nak, Opcode, Packet, Syndrome};
use rdma::{Mtu, Operation, SoftAdapterSettings, WcStatus};

/// The unit of the acknowledgement timeout: 4.096 µs. IBA 9.7.6.1.3.
const UNIT: u64 = 4_096_000;

/// Times of RNR timer codes in hundredths of a millisecond. IBA 9.7.5.2.8, table 45, written once
/// more.
const RNR_TIMERS: [u64; 32] = [
    65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536,
    2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
];
const HUNDREDTH: u64 = 10_000_000;

/// Later than every timer of a test.
const NEVER: u64 = 1 << 60;

/// Attributes of a requester.
#[derive(Clone, Copy, Debug)]
struct Counters {
    timeout: u8,
    retry_cnt: u8,
    rnr_retry: u8,
}

/// A requester, to which the test answers.
struct Requester {
    device: SimulatedDevice,
    qp_num: u32,
}

impl Requester {
    fn new(counters: Counters) -> Self {
        let parameters = DialogueParameters {
            mtu: Mtu::Mtu256,
            start: DialogueParameters::WRAPPING,
        };
        let mut setup = Dialogue::new(&parameters).setup;
        setup.timeout = counters.timeout;
        setup.retry_cnt = counters.retry_cnt;
        setup.rnr_retry = counters.rnr_retry;
        let mut device = SimulatedDevice::new(SoftAdapterSettings::default());
        let opened = device.command(&DeviceCommand::Open(setup)).unwrap();
        let DeviceReply::Opened(opened) = opened else {
            panic!("{opened:?}");
        };
        Self {
            device,
            qp_num: opened.qp_num,
        }
    }

    /// Posts sends of one packet.
    fn post_sends(&mut self, count: u64) {
        for request in 0..count {
            let command = DeviceCommand::Post {
                request,
                operation: Operation::Send,
                length: 8,
            };
            self.device.command(&command).unwrap();
        }
    }

    /// Posts a read of two packets.
    fn post_read(&mut self) {
        let operation = Operation::RdmaRead {
            remote_addr: TesterEnd::ADDRESS,
            rkey: TesterEnd::KEY,
        };
        let command = DeviceCommand::Post {
            request: 0,
            operation,
            length: 300,
        };
        self.device.command(&command).unwrap();
    }

    /// Returns the next packet until a time: its arrival time, and its number from the start on.
    fn next(&mut self, until: u64) -> Option<(u64, i32)> {
        let bytes = self.device.receive(until).unwrap()?.unwrap();
        let packet = Packet::parse(&bytes).unwrap();
        let number = packet.bth().psn.ahead_of(DialogueParameters::WRAPPING);
        Some((self.device.now(), number))
    }

    fn answer(&mut self, number: u32, syndrome: Syndrome) {
        let psn = DialogueParameters::WRAPPING.plus(number);
        let bth = Bth::new(Opcode::RcAcknowledge, self.qp_num, psn);
        let aeth = Extension::Aeth(Aeth { syndrome, msn: 0 });
        self.device.transmit(&Packet::new(bth, aeth, &[])).unwrap();
    }

    /// Returns the completions so far.
    fn poll(&mut self) -> Vec<(u64, WcStatus)> {
        let reply = self.device.command(&DeviceCommand::Poll).unwrap();
        let DeviceReply::Completions(completions) = reply else {
            panic!("{reply:?}");
        };
        let completions = completions.iter();
        completions.map(|one| (one.id, one.status)).collect()
    }
}

const COUNTERS: Counters = Counters {
    timeout: 14,
    retry_cnt: 7,
    rnr_retry: 0,
};

const ACK: Syndrome = Syndrome::Ack(Syndrome::NO_CREDITS);
const GAP: Syndrome = Syndrome::Nak(Nak::SequenceError);

#[test]
fn d4_timeouts_expire_to_the_tick() {
    for timeout in 1..=31 {
        let mut requester = Requester::new(Counters {
            timeout,
            ..COUNTERS
        });
        let time = UNIT << timeout;
        requester.post_sends(1);
        for round in 0..8 {
            assert_eq!(requester.next(NEVER), Some((round * time, 0)), "{timeout}");
        }
        assert_eq!(requester.next(8 * time - 1), None);
        assert_eq!(requester.poll(), []);
        assert_eq!(requester.next(8 * time), None);
        assert_eq!(requester.poll(), [(0, WcStatus::RetryExcErr)], "{timeout}");
    }
}

#[test]
fn d4_timeout_0_never_expires() {
    let mut requester = Requester::new(Counters {
        timeout: 0,
        ..COUNTERS
    });
    requester.post_sends(1);
    assert_eq!(requester.next(NEVER), Some((0, 0)));
    assert_eq!(requester.next(NEVER), None);
    assert_eq!(requester.poll(), []);
}

#[test]
fn d4_retry_counts_are_exact() {
    for retry_cnt in 0..=7 {
        let counters = Counters {
            retry_cnt,
            ..COUNTERS
        };
        let time = UNIT << 14;
        for is_read in [false, true] {
            let mut requester = Requester::new(counters);
            if is_read {
                requester.post_read();
            } else {
                requester.post_sends(1);
            }
            for round in 0..=u64::from(retry_cnt) {
                assert_eq!(requester.next(NEVER), Some((round * time, 0)));
            }
            assert_eq!(requester.next(NEVER), None);
            assert_eq!(requester.poll(), [(0, WcStatus::RetryExcErr)]);
        }
        // A sequence error consumes a retry too, and sends again at once.
        let mut requester = Requester::new(counters);
        requester.post_sends(1);
        for _ in 0..=retry_cnt {
            assert_eq!(requester.next(NEVER), Some((0, 0)));
            assert_eq!(requester.poll(), []);
            requester.answer(0, GAP);
        }
        assert_eq!(requester.next(NEVER), None);
        assert_eq!(requester.poll(), [(0, WcStatus::RetryExcErr)]);
    }
}

#[test]
fn d4_rnr_timers_are_exact_to_the_tick() {
    for (code, hundredths) in (0..).zip(RNR_TIMERS) {
        let mut requester = Requester::new(Counters {
            rnr_retry: 1,
            // Shorter than the RNR timers: it does not run meanwhile.
            timeout: 1,
            retry_cnt: 0,
        });
        requester.post_sends(1);
        assert_eq!(requester.next(NEVER), Some((0, 0)));
        requester.answer(0, Syndrome::RnrNak(code));
        let time = hundredths * HUNDREDTH;
        assert_eq!(requester.next(time - 1), None, "{code}");
        assert_eq!(requester.next(NEVER), Some((time, 0)), "{code}");
        requester.answer(0, ACK);
        assert_eq!(requester.poll(), [(0, WcStatus::Success)]);
    }
}

#[test]
fn d4_rnr_retries_are_exact_and_7_is_infinite() {
    for rnr_retry in 0..=7_u8 {
        let mut requester = Requester::new(Counters {
            rnr_retry,
            retry_cnt: 0,
            ..COUNTERS
        });
        requester.post_sends(1);
        let rounds = if rnr_retry == 7 {
            1000
        } else {
            rnr_retry.into()
        };
        for round in 0..=rounds {
            let at = round * RNR_TIMERS[12] * HUNDREDTH;
            assert_eq!(requester.next(NEVER), Some((at, 0)), "{rnr_retry}");
            assert_eq!(requester.poll(), []);
            requester.answer(0, Syndrome::RnrNak(12));
        }
        if rnr_retry == 7 {
            assert!(requester.next(NEVER).is_some());
            continue;
        }
        assert_eq!(requester.next(NEVER), None);
        assert_eq!(requester.poll(), [(0, WcStatus::RnrRetryExcErr)]);
    }
}

/// The timer starts again with each acknowledgement, and both counters do.
#[test]
fn d4_any_progress_reloads_the_counters() {
    let time = UNIT << 14;
    let mut requester = Requester::new(Counters {
        retry_cnt: 2,
        rnr_retry: 1,
        ..COUNTERS
    });
    requester.post_sends(3);
    let mut at = 0;
    for round in 0..3 {
        at = round * time;
        for number in 0..3 {
            assert_eq!(requester.next(NEVER), Some((at, number)));
        }
    }
    // No retry is left; the first request is acknowledged in between the timeouts.
    at += time / 3;
    assert_eq!(requester.next(at), None);
    requester.answer(0, ACK);
    assert_eq!(requester.poll(), [(0, WcStatus::Success)]);
    for _ in 0..2 {
        at += time;
        for number in 1..3 {
            assert_eq!(requester.next(NEVER), Some((at, number)));
        }
    }
    // RNR NAKs: the one that acknowledges the second request leaves one retry for the third.
    let wait = RNR_TIMERS[5] * HUNDREDTH;
    requester.answer(1, Syndrome::RnrNak(5));
    at += wait;
    for number in 1..3 {
        assert_eq!(requester.next(NEVER), Some((at, number)));
    }
    requester.answer(2, Syndrome::RnrNak(5));
    assert_eq!(requester.poll(), [(1, WcStatus::Success)]);
    at += wait;
    assert_eq!(requester.next(NEVER), Some((at, 2)));
    for _ in 0..2 {
        at += time;
        assert_eq!(requester.next(NEVER), Some((at, 2)));
    }
    assert_eq!(requester.next(at + time), None);
    assert_eq!(requester.poll(), [(2, WcStatus::RetryExcErr)]);
}

/// An acknowledgement without a newly acknowledged packet reloads no counter and no timer.
#[test]
fn d4_old_acknowledgements_reload_nothing() {
    let time = UNIT << 14;
    let mut requester = Requester::new(Counters {
        retry_cnt: 1,
        ..COUNTERS
    });
    requester.post_sends(2);
    assert_eq!(requester.next(NEVER), Some((0, 0)));
    assert_eq!(requester.next(NEVER), Some((0, 1)));
    requester.answer(0, ACK);
    assert_eq!(requester.next(NEVER), Some((time, 1)));
    assert_eq!(requester.next(time + 1), None);
    requester.answer(0, ACK);
    assert_eq!(requester.next(2 * time), None);
    let done = [(0, WcStatus::Success), (1, WcStatus::RetryExcErr)];
    assert_eq!(requester.poll(), done);
}
