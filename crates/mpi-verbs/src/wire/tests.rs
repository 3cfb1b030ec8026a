//! Frames are read as they were written, from pieces of any length. Damaged frames and garbage are
//! refused.

use super::*;
use channel::{Buffer, NoncontiguousCall, TypeSignature};
use proptest::prelude::*;

fn envelope() -> impl Strategy<Value = Envelope> {
    any::<(u32, u32, u32, bool)>().prop_map(|(context, source, tag, ready)| Envelope {
        context,
        source,
        tag,
        ready,
        signature: TypeSignature::NONE,
    })
}

/// Calls of one-sided communication, with and without data.
const RMA_CALLS: [RmaCall; 13] = [
    RmaCall::Noncontiguous(NoncontiguousCall::Put),
    RmaCall::Noncontiguous(NoncontiguousCall::Get),
    RmaCall::Put,
    RmaCall::Get,
    RmaCall::CompareAndSwap,
    RmaCall::Lock { exclusive: true },
    RmaCall::Lock { exclusive: false },
    RmaCall::Unlock,
    RmaCall::Flush,
    RmaCall::Post,
    RmaCall::Complete,
    RmaCall::Result,
    RmaCall::Done,
];

fn header() -> impl Strategy<Value = PacketHeader> {
    let numbers = any::<(u32, u32, u64, u64, bool)>();
    (0..14, envelope(), numbers).prop_map(
        |(kind, envelope, (send, receive, offset, length, detached))| match kind {
            0 => PacketHeader::Eager { envelope },
            1 => PacketHeader::Rts {
                envelope,
                length,
                send,
                detached,
            },
            2 => PacketHeader::Detached { envelope },
            3 => PacketHeader::Cts { send, receive },
            4 => PacketHeader::Data { receive },
            5 => PacketHeader::EagerFirst { envelope, length },
            6 => PacketHeader::EagerNext { offset },
            7 => PacketHeader::DataPart {
                receive,
                offset,
                length,
            },
            8 => PacketHeader::Credits,
            9 => PacketHeader::Synchronous { envelope, send },
            10 => PacketHeader::Ack { send },
            11 => PacketHeader::CancelRequest { envelope, send },
            12 => PacketHeader::Rma {
                window: receive,
                call: RMA_CALLS[send as usize % RMA_CALLS.len()],
                operation: send,
                offset,
                length,
            },
            _ => PacketHeader::CancelResponse { send },
        },
    )
}

fn returned() -> impl Strategy<Value = CreditReturn> {
    any::<(u32, u32, u32, u64)>().prop_map(|(credits, eager_packets, messages, bytes)| {
        CreditReturn {
            credits,
            eager_packets,
            messages,
            bytes,
        }
    })
}

/// Extensions that are valid with a header.
fn annex_for(header: &PacketHeader, (address, key, says): (u64, u32, bool)) -> RdmaExtension {
    let memory = Some(Memory { address, key });
    match header {
        PacketHeader::Rts { .. } => RdmaExtension {
            memory,
            phantom: says,
            elsewhere: false,
        },
        PacketHeader::Cts { .. } if says => RdmaExtension {
            elsewhere: true,
            ..RdmaExtension::default()
        },
        PacketHeader::Cts { .. } => RdmaExtension {
            memory,
            ..RdmaExtension::default()
        },
        PacketHeader::Data { .. } => RdmaExtension {
            elsewhere: says,
            ..RdmaExtension::default()
        },
        _ => RdmaExtension::default(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_packet_comes_back(
        header in header(),
        returned in prop::option::of(returned()),
        (length, is_phantom) in (0..100_u64, any::<bool>()),
        extension in any::<(u64, u32, bool)>(),
    ) {
        let payload = if is_phantom { Buffer::phantom(length) } else { Buffer::zeroed(length) };
        let packet = Packet { header, payload, notify: None, returned: returned.map(Box::new) };
        let extension = annex_for(&header, extension);
        let head = encode_with(&packet, &extension);
        prop_assert!(head.bytes().len() <= HEAD_MAX);
        for cut in 0..head.bytes().len() {
            prop_assert_eq!(decode(&head.bytes()[..cut]), Ok(None));
        }
        let (frame, length, used) = decode(head.bytes()).unwrap().unwrap();
        prop_assert_eq!(used, head.bytes().len());
        prop_assert_eq!(length, payload_of(&packet));
        let FrameHead::Packet { header: read, returned: told, phantom, extension: also } = frame else {
            panic!("a packet was written");
        };
        prop_assert_eq!((read, told, also), (header, returned, extension));
        prop_assert_eq!(phantom, extension.phantom || length > 0 && is_phantom);
        prop_assert_eq!(length > 0, payload_of(&packet) > 0);
    }

    #[test]
    fn bytes_of_others_are_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
        if let Ok(Some((_, _, used))) = decode(&bytes) {
            prop_assert!(used <= bytes.len());
        }
    }
}

#[test]
fn signs_come_back() {
    for sign in [FrameHead::Hello, FrameHead::Bye] {
        let head = encode_sign(&sign);
        assert_eq!(
            decode(head.bytes()),
            Ok(Some((sign, 0, head.bytes().len())))
        );
    }
    let head = encode_messages(17);
    let length = head.bytes().len();
    assert_eq!(
        decode(head.bytes()),
        Ok(Some((FrameHead::Messages, 17, length)))
    );
}

const ENVELOPE_OF_A_MESSAGE: Envelope = Envelope {
    context: 4,
    source: 3,
    tag: 2_000_000_000,
    ready: true,
    signature: TypeSignature::NONE,
};

/// A header of each kind, with large numbers.
fn headers() -> Vec<PacketHeader> {
    let envelope = ENVELOPE_OF_A_MESSAGE;
    let (length, offset) = (u64::MAX, u64::MAX - 1);
    let (send, receive) = (u32::MAX, u32::MAX - 1);
    let detached = true;
    vec![
        PacketHeader::Eager { envelope },
        PacketHeader::Rts {
            envelope,
            length,
            send,
            detached,
        },
        PacketHeader::Detached { envelope },
        PacketHeader::Cts { send, receive },
        PacketHeader::Data { receive },
        PacketHeader::EagerFirst { envelope, length },
        PacketHeader::EagerNext { offset },
        PacketHeader::DataPart {
            receive,
            offset,
            length,
        },
        PacketHeader::Credits,
        PacketHeader::Synchronous { envelope, send },
        PacketHeader::Ack { send },
        PacketHeader::CancelRequest { envelope, send },
        PacketHeader::CancelResponse { send },
    ]
    .into_iter()
    .chain(RMA_CALLS.map(|call| PacketHeader::Rma {
        window: receive,
        call,
        operation: send,
        offset,
        length,
    }))
    .collect()
}

fn packets() -> Vec<Packet> {
    let returned = CreditReturn {
        credits: 1,
        eager_packets: 2,
        messages: 3,
        bytes: u64::MAX,
    };
    let packet = |(header, returned): (PacketHeader, Option<CreditReturn>)| Packet {
        header,
        payload: Buffer::from(vec![7; 5]),
        notify: None,
        returned: returned.map(Box::new),
    };
    let both = |header| [(header, None), (header, Some(returned))];
    headers().into_iter().flat_map(both).map(packet).collect()
}

#[test]
fn every_kind_of_packet_is_read_as_it_was_written() {
    for packet in packets() {
        let head = encode(&packet);
        let (frame, payload, length) = decode(head.bytes()).unwrap().unwrap();
        let returned = packet.returned.as_deref().copied();
        let header = packet.header;
        let expected = FrameHead::Packet {
            header,
            returned,
            phantom: false,
            extension: RdmaExtension::default(),
        };
        assert_eq!(frame, expected);
        let has_payload = match header {
            PacketHeader::Detached { .. } => true,
            PacketHeader::Rma { call, .. } => call.has_data(),
            _ => !header.is_control(),
        };
        assert_eq!(payload, if has_payload { 5 } else { 0 }, "{header:?}");
        assert_eq!(length, head.bytes().len());
        for cut in 0..length {
            assert_eq!(
                decode(&head.bytes()[..cut]),
                Ok(None),
                "{header:?} up to {cut}"
            );
        }
    }
}

#[test]
fn the_layout_is_fixed() {
    let packet = Packet {
        header: PacketHeader::Synchronous {
            envelope: ENVELOPE_OF_A_MESSAGE,
            send: 0x0102_0304,
        },
        payload: Buffer::from(vec![0; 258]),
        notify: None,
        returned: None,
    };
    let expected = [
        10, IS_READY, 0, 0, 4, 3, 2, 1, 2, 1, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0, 0, 0x94,
        0x35, 0x77,
    ];
    assert_eq!(encode(&packet).bytes(), expected);
}

#[test]
fn phantoms_and_messages_are_told_apart() {
    let mut packet = packets().swap_remove(0);
    packet.payload = Buffer::phantom(1 << 20);
    let (frame, payload, _) = decode(encode(&packet).bytes()).unwrap().unwrap();
    assert!(matches!(frame, FrameHead::Packet { phantom: true, .. }));
    assert_eq!(payload, 1 << 20);
    let (frame, payload, _) = decode(encode_messages(17).bytes()).unwrap().unwrap();
    assert_eq!((frame, payload), (FrameHead::Messages, 17));
}

#[test]
fn what_nobody_writes_is_refused() {
    let head = encode(&packets()[0]).bytes().to_vec();
    let with = |at: usize, byte: u8| {
        let mut bytes = head.clone();
        bytes[at] = byte;
        decode(&bytes)
    };
    assert_eq!(with(0, 0), Err(FrameError::Kind(0)));
    assert_eq!(with(0, 19), Err(FrameError::Kind(19)));
    assert_eq!(with(1, 128), Err(FrameError::Flags(128)));
    assert_eq!(with(1, IS_DETACHED), Err(FrameError::Flags(IS_DETACHED)));
    assert_eq!(with(2, 1), Err(FrameError::NotZero));
    assert_eq!(
        with(4, 1),
        Err(FrameError::NotZero),
        "an operation where there is none"
    );
    assert_eq!(with(15, 1), Err(FrameError::Length(5 + (1 << 56))));
    let mut messages = encode_messages(usize::MAX).bytes().to_vec();
    assert_eq!(decode(&messages), Err(FrameError::Length(u64::MAX)));
    messages[1] = HAS_RETURNED;
    assert_eq!(decode(&messages), Err(FrameError::Flags(HAS_RETURNED)));
    let acknowledgement = packets()
        .into_iter()
        .find(|packet| matches!(packet.header, PacketHeader::Ack { .. }));
    let mut bytes = encode(&acknowledgement.unwrap()).bytes().to_vec();
    bytes[8] = 1;
    assert_eq!(decode(&bytes), Err(FrameError::Length(1)));
}

/// Panics if the frame read from these bytes is written as other bytes.
fn check(bytes: &[u8]) {
    let Ok(Some((frame, payload, length))) = decode(bytes) else {
        return;
    };
    assert!(length <= bytes.len().min(HEAD_MAX) && payload <= PAYLOAD_MAX);
    let again = match frame {
        FrameHead::Messages => encode_messages(usize::try_from(payload).unwrap()),
        FrameHead::Hello | FrameHead::Bye => encode_sign(&frame),
        FrameHead::Packet {
            header,
            returned,
            phantom,
            extension,
        } => {
            let packet = Packet {
                header,
                payload: Buffer::phantom(payload),
                notify: None,
                returned: returned.map(Box::new),
            };
            let mut head = encode_with(&packet, &extension);
            head.bytes[1] = head.bytes[1] & !IS_PHANTOM | if phantom { IS_PHANTOM } else { 0 };
            head
        }
    };
    assert_eq!(again.bytes(), &bytes[..length], "{frame:?}");
}

#[test]
fn ten_thousand_damaged_frames_are_read_exactly_or_refused() {
    let mut state = 1_u64;
    // Knuth's MMIX generator: enough to damage bytes.
    let mut random = move |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    let corpus: Vec<Vec<u8>> = packets()
        .iter()
        .map(|packet| encode(packet).bytes().to_vec())
        .collect();
    for _ in 0..10_000 {
        let mut bytes = corpus[random(corpus.len())].clone();
        for _ in 0..=random(4) {
            let at = random(bytes.len());
            match random(4) {
                0 => bytes[at] ^= 1 << random(8),
                1 => bytes[at] = u8::try_from(random(256)).unwrap(),
                2 => bytes.truncate(at.max(1)),
                _ => bytes.insert(at, u8::try_from(random(256)).unwrap()),
            }
        }
        check(&bytes);
    }
}
