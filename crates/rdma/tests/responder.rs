//! Promise: a responder keeps the limits of its connection and the bounds of a message, and
//! compares a duplicate read with the whole request that it has saved. IBA 9.7.4.1 and 9.7.5.1.
//!
//! These are dialogues like the cases of `rdma::dialogue`, for our own adapter only. Other adapters
//! may deviate: the standard lets a responder drop a refused request, or the deviation is known.

use std::fmt::Write as _;

use rdma::dialogue::{
    CaseVerdict, DeviceCommand, DeviceCompletion, DeviceReply, DeviceUnderTest, Dialogue,
    DialogueParameters, SimulatedDevice, run_dialogue,
};
use rdma::wire::{Bth, Extension, Opcode, Packet};
use rdma::{Mtu, SoftAdapterSettings, WcStatus};

/// Reads and atomic operations that the connection of a dialogue may have outstanding.
const MAX_DEST_RD_ATOMIC: u32 = 16;

/// Runs a dialogue twice: without and with a wrap of the sequence numbers.
#[track_caller]
fn passes(script: &str) {
    passes_with(SoftAdapterSettings::default(), script);
}

#[track_caller]
fn passes_with(settings: SoftAdapterSettings, script: &str) {
    for start in [DialogueParameters::PLAIN, DialogueParameters::WRAPPING] {
        let parameters = DialogueParameters {
            mtu: Mtu::Mtu256,
            start,
        };
        let dialogue = Dialogue::from_script(script, &parameters).expect("a script");
        let verdict = run_dialogue(&dialogue, &mut SimulatedDevice::new(settings));
        assert_eq!(verdict, Ok(CaseVerdict::Pass), "from {start}: {script}");
    }
}

/// A device drops a packet behind a read of four packets: the next request is executed as if the
/// packet had not come.
#[test]
fn a_duplicate_read_of_another_request_is_dropped() {
    for packet in [
        // Another key, another address, the address of the first packet with the number of the
        // second one, and another length.
        "read 0 at=read length=4m key-error=1",
        "read 0 at=read+8 length=4m",
        "read 1 at=read length=3m",
        "read 0 at=read length=4m-1",
        "read 0 at=read length=4m+1",
    ] {
        passes(&format!(
            "> read 0 at=read length=4m
            < read-response 0 msn=1 data=0:0:4m
            > {packet}
            > write-only 4 at=write data=5:0:m ask
            < ack 4 msn=2"
        ));
    }
}

/// An empty read behind the last byte has the right address and length, and no number of the read.
#[test]
fn a_duplicate_read_behind_the_last_packet_is_dropped() {
    passes(
        "> read 0 at=read length=2m
        < read-response 0 msn=1 data=0:0:2m
        > write-only 2 at=write data=5:0:8 ask
        < ack 2 msn=2
        > read 2 at=read+2m length=0
        > read 3 at=read length=0
        < read-response 3 msn=3",
    );
}

/// A duplicate is acknowledged only if the requester asks. (The standard lets a responder
/// acknowledge each duplicate.)
#[test]
fn a_duplicate_send_is_acknowledged_on_request() {
    passes(
        "set receives=2
        > send-only 0 data=1:0:8
        received 0 8
        > send-only 0 data=1:0:8
        > send-only 1 data=1:0:8 ask
        < ack 1 msn=2
        received 1 8
        > send-only 0 data=1:0:8
        silence 1
        > send-only 0 data=1:0:8 ask
        < ack 1 msn=2",
    );
}

/// Each repeated atomic operation is answered with its own value, and other numbers are dropped.
#[test]
fn a_duplicate_atomic_operation_has_its_own_value() {
    passes(
        "> fetch-add 0 add=1
        < atomic-ack 0 msn=1 value=any
        > fetch-add 1 add=1
        < atomic-ack 1 msn=2 value=base+1
        > fetch-add 2 add=1
        < atomic-ack 2 msn=3 value=base+2
        > write-only 3 at=write data=5:0:8 ask
        < ack 3 msn=4
        > fetch-add 3 add=1
        silence 1
        > fetch-add 2 add=1
        < atomic-ack 2 msn=any value=base+2
        > fetch-add 1 add=1
        < atomic-ack 1 msn=any value=base+1
        > fetch-add 0 add=1
        < atomic-ack 0 msn=any value=base",
    );
}

/// Returns a script with as many reads as agreed and one `more` request, all before the device can
/// answer the first one.
fn outstanding_reads(more: &str) -> String {
    let mut script = String::new();
    let mut answers = String::new();
    for psn in 0..MAX_DEST_RD_ATOMIC {
        let _ = writeln!(script, "> read {psn} at=read length=8");
        let _ = writeln!(answers, "< read-response {psn} msn={} data=0:0:8", psn + 1);
    }
    script + more + &answers
}

#[test]
fn as_many_reads_as_agreed_may_be_outstanding() {
    // Those that were answered are outstanding no more.
    let answered = outstanding_reads("");
    let script = answered + "> read 16 at=read length=8\n< read-response 16 msn=17 data=0:0:8";
    passes(&script);
}

/// Atomic operations count as reads do.
#[test]
fn one_request_more_than_agreed_ends_the_connection() {
    for more in ["> read 16 at=read length=8\n", "> fetch-add 16 add=1\n"] {
        passes(&(outstanding_reads(more) + "< ack 16 nak=invalid-request msn=16"));
    }
}

/// A last packet has from one byte to a full packet, and a send is at most as long as its receive.
#[test]
fn a_send_of_two_packets() {
    for (setup, length, ends) in [
        ("", "1", "< ack 1 msn=1\nreceived 0 m+1"),
        ("", "m", "< ack 1 msn=1\nreceived 0 2m"),
        (
            "",
            "0",
            "< ack 1 nak=invalid-request msn=0\nreceived 0 IBV_WC_REM_INV_REQ_ERR",
        ),
        ("receive-length=2m", "m", "< ack 1 msn=1\nreceived 0 2m"),
        ("receive-length=2m-1", "m", TOO_LONG),
    ] {
        passes(&send_of_two(setup, length, ends));
    }
}

const TOO_LONG: &str = "< ack 1 nak=invalid-request msn=0\nreceived 0 IBV_WC_LOC_LEN_ERR";

fn send_of_two(setup: &str, length: &str, ends: &str) -> String {
    format!(
        "set receives=1 {setup}
        > send-first 0 data=1:0:m
        > send-last 1 data=1:m:{length} ask
        {ends}"
    )
}

#[test]
fn a_send_has_at_most_the_bytes_of_the_longest_message() {
    let settings = |max_message| SoftAdapterSettings {
        max_message,
        ..SoftAdapterSettings::default()
    };
    let two = 2 * Mtu::Mtu256.bytes();
    let fits = send_of_two("receive-length=2m", "m", "< ack 1 msn=1\nreceived 0 2m");
    passes_with(settings(two), &fits);
    passes_with(settings(two - 1), &send_of_two("", "m", TOO_LONG));
}

#[test]
fn a_write_of_several_packets() {
    passes(
        "> write-first 0 at=write length=2m+7 data=1:0:m
        > write-middle 1 data=1:m:m
        > write-last 2 data=1:2m:7 ask
        < ack 2 msn=1
        memory write 1:0:2m+7",
    );
}

/// A packet continues a message of its own kind, and the packets of a write have together the
/// length that the first packet names. The second packet is refused, and later packets are dropped.
#[test]
fn a_packet_continues_its_message() {
    let flushed = "IBV_WC_WR_FLUSH_ERR";
    for (first, second, status) in [
        (
            "write-first 0 at=write length=m+1 data=1:0:m",
            "send-last 1 data=1:0:1",
            flushed,
        ),
        (
            "send-first 0 data=1:0:m",
            "write-last 1 data=1:0:1",
            "IBV_WC_REM_INV_REQ_ERR",
        ),
        (
            "write-first 0 at=write length=m+1 data=1:0:m",
            "write-only 1 at=write data=1:0:1",
            flushed,
        ),
        (
            "write-first 0 at=write length=m+7 data=1:0:m",
            "write-last 1 data=1:0:6",
            flushed,
        ),
        (
            "write-first 0 at=write length=m+7 data=1:0:m",
            "write-last 1 data=1:0:8",
            flushed,
        ),
        // A middle packet with the rest of the message leaves nothing for a last one.
        (
            "write-first 0 at=write length=2m data=1:0:m",
            "write-middle 1 data=1:0:m",
            flushed,
        ),
    ] {
        passes(&format!(
            "set receives=1
            > {first}
            > {second} ask
            < ack 1 nak=invalid-request msn=0
            received 0 {status}
            > write-only 2 at=write data=0:0:0 ask"
        ));
    }
}

/// The last packet of a send with immediate data takes no second receive.
#[test]
fn a_send_with_immediate_data_takes_one_receive() {
    let p = DialogueParameters {
        mtu: Mtu::Mtu256,
        start: DialogueParameters::WRAPPING,
    };
    let mut device = SimulatedDevice::new(SoftAdapterSettings::default());
    let mut setup = Dialogue::new(&p).setup;
    setup.receives = 1;
    let Ok(DeviceReply::Opened(opened)) = device.command(&DeviceCommand::Open(setup)) else {
        panic!("it is not open");
    };
    for (number, opcode, extension, length) in [
        (0, Opcode::RcSendFirst, Extension::None, 256),
        (1, Opcode::RcSendLastImmediate, Extension::Immediate(7), 1),
    ] {
        let bth = Bth::new(opcode, opened.qp_num, p.psn(number));
        let payload = vec![0; length];
        let sent = device.transmit(&Packet::new(bth, extension, &payload));
        assert_eq!(sent, Ok(()));
    }
    let received = DeviceCompletion {
        id: 1000,
        status: WcStatus::Success,
        length: 257,
    };
    let polled = device.command(&DeviceCommand::Poll);
    assert_eq!(polled, Ok(DeviceReply::Completions(vec![received])));
}
