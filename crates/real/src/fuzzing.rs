//! Readers of bytes from other processes, for fuzzers and for tests that replay findings of
//! fuzzers: each function takes any bytes, and panics only if the reader is wrong.

use channel::{Buffer, Packet};
use mpi_verbs::wire;

use super::auth::{ConnectionPurpose, Handshake, RunSecret, Side};
use super::control::{self, CoordinatorMessage, RankMessage};
use super::{connections, frame, launch_info};

/// A stream of frames between two ranks.
///
/// # Panics
/// If a head or a payload is longer than allowed.
pub fn frames(mut bytes: &[u8]) {
    while let Ok(Some((read, payload, head))) = frame::decode_header(bytes) {
        assert!(head <= frame::HEAD_MAX.min(bytes.len()), "{read:?}");
        assert!(payload <= frame::PAYLOAD_MAX, "{read:?}");
        let rest = &bytes[head..];
        let length = usize::try_from(payload).unwrap_or(usize::MAX);
        let payload = &rest[..length.min(rest.len())];
        if read == frame::StreamFrame::Messages {
            messages(payload);
        }
        bytes = &rest[payload.len()..];
    }
}

/// A packet that has come over an adapter: one frame, which may refer to memory that both sides can
/// access.
///
/// # Panics
/// If a head is too long, or if encoding of the packet does not give the same frame.
pub fn packet(bytes: &[u8]) {
    let Ok(Some((read, length, head))) = wire::decode(bytes) else {
        return;
    };
    assert!(head <= wire::HEAD_MAX.min(bytes.len()), "{read:?}");
    assert!(length <= wire::PAYLOAD_MAX, "{read:?}");
    let wire::FrameHead::Packet {
        header,
        returned,
        phantom,
        extension,
    } = read
    else {
        return;
    };
    // What has memory behind it takes as much to write; and nobody writes a phantom of nothing.
    let is_written = length <= 4096 || phantom;
    if !is_written || (phantom && length == 0 && !extension.phantom) {
        return;
    }
    let payload = if phantom && !extension.phantom {
        Buffer::phantom(length)
    } else {
        Buffer::from(vec![0; usize::try_from(length).unwrap_or(0)])
    };
    let packet = Packet {
        header,
        payload,
        notify: None,
        returned: returned.map(Box::new),
    };
    let written = wire::encode_with(&packet, &extension);
    let again = wire::decode(written.bytes());
    assert_eq!(again, Ok(Some((read, length, head))));
}

/// Reads the message from one side of a connection over adapters to the other: the endpoint of a
/// queue pair.
///
/// # Panics
/// If encoding of the endpoint does not give the same bytes.
#[cfg(feature = "verbs")]
pub fn endpoint(bytes: &[u8]) {
    if let Some(bytes) = bytes.first_chunk()
        && let Ok(endpoint) = rdma::Endpoint::from_bytes(bytes)
    {
        assert_eq!(endpoint.to_bytes(), *bytes);
    }
}

/// The payload of a frame with messages of a connection.
///
/// # Panics
/// If the result of reading has more bytes than the input.
pub fn messages(bytes: &[u8]) {
    if let Some((messages, _, private)) = connections::decode_messages(bytes) {
        assert!(!messages.is_empty() && private.len() < bytes.len());
    }
}

/// Reads the messages between a rank and the coordinator of its run.
///
/// # Panics
/// If reading a message consumes no bytes.
pub fn control(bytes: &[u8]) {
    let mut input = bytes.to_vec();
    let mut before = input.len();
    while let Ok(Some(_)) = control::decode_message::<RankMessage>(&mut input) {
        assert!(input.len() < before, "a message has bytes");
        before = input.len();
    }
    let mut input = bytes.to_vec();
    while let Ok(Some(_)) = control::decode_message::<CoordinatorMessage>(&mut input) {}
}

/// Handshake with bytes of a foreign process, which does not know the secret.
///
/// # Panics
/// If the foreign process is accepted.
pub fn handshake(bytes: &[u8]) {
    let secret = RunSecret::random().expect("the system has random numbers");
    for side in [Side::Accepts, Side::Connects] {
        let handshake = Handshake::new(side, ConnectionPurpose::Control, &secret);
        let mut handshake = handshake.expect("the system has random numbers");
        let mut rest = bytes;
        while !rest.is_empty() {
            let space = handshake.space();
            let count = space.len().min(rest.len());
            assert!(count > 0, "who is awaited has not shown anything");
            space[..count].copy_from_slice(&rest[..count]);
            if handshake.filled(count).is_err() {
                break;
            }
            rest = &rest[count..];
        }
        assert!(!handshake.is_done(), "nobody guesses 128 bits");
    }
}

/// A ticket.
pub fn launch_info(bytes: &[u8]) {
    let _ = launch_info::LaunchInfo::read(bytes);
}
