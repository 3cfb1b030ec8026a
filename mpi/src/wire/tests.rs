//! Every packet comes back from its frame, and whatever is read never panics.

use super::*;
use crate::Buffer;
use proptest::prelude::*;

fn envelope() -> impl Strategy<Value = Envelope> {
    any::<(u32, u32, u32, bool)>().prop_map(|(context, source, tag, ready)| Envelope {
        context,
        source,
        tag,
        ready,
    })
}

fn header() -> impl Strategy<Value = Header> {
    let numbers = any::<(u32, u32, u64, u64, bool)>();
    (0..13, envelope(), numbers).prop_map(
        |(kind, envelope, (send, receive, offset, length, detached))| match kind {
            0 => Header::Eager { envelope },
            1 => Header::Rts {
                envelope,
                length,
                send,
                detached,
            },
            2 => Header::Detached { envelope },
            3 => Header::Cts { send, receive },
            4 => Header::Data { receive },
            5 => Header::EagerFirst { envelope, length },
            6 => Header::EagerNext { offset },
            7 => Header::DataPart {
                receive,
                offset,
                length,
            },
            8 => Header::Credits,
            9 => Header::Synchronous { envelope, send },
            10 => Header::Ack { send },
            11 => Header::CancelRequest { envelope, send },
            _ => Header::CancelResponse { send },
        },
    )
}

fn returned() -> impl Strategy<Value = Returned> {
    any::<(u32, u32, u32, u64)>().prop_map(|(credits, eager_packets, messages, bytes)| Returned {
        credits,
        eager_packets,
        messages,
        bytes,
    })
}

/// What an annex may say with a header.
fn annex_for(header: &Header, (address, key, says): (u64, u32, bool)) -> Annex {
    let memory = Some(Memory { address, key });
    match header {
        Header::Rts { .. } => Annex {
            memory,
            phantom: says,
            elsewhere: false,
        },
        Header::Cts { .. } if says => Annex {
            elsewhere: true,
            ..Annex::default()
        },
        Header::Cts { .. } => Annex {
            memory,
            ..Annex::default()
        },
        Header::Data { .. } => Annex {
            elsewhere: says,
            ..Annex::default()
        },
        _ => Annex::default(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_packet_comes_back(
        header in header(),
        returned in prop::option::of(returned()),
        (length, is_phantom) in (0..100_u64, any::<bool>()),
        annex in any::<(u64, u32, bool)>(),
    ) {
        let payload = if is_phantom { Buffer::phantom(length) } else { Buffer::zeroed(length) };
        let packet = Packet { header, payload, notify: None, returned: returned.map(Box::new) };
        let annex = annex_for(&header, annex);
        let head = encode_with(&packet, &annex);
        prop_assert!(head.bytes().len() <= HEAD_MAX);
        for cut in 0..head.bytes().len() {
            prop_assert_eq!(decode(&head.bytes()[..cut]), Ok(None));
        }
        let (frame, length, used) = decode(head.bytes()).unwrap().unwrap();
        prop_assert_eq!(used, head.bytes().len());
        prop_assert_eq!(length, payload_of(&packet));
        let Frame::Packet { header: read, returned: told, phantom, annex: also } = frame else {
            panic!("a packet was written");
        };
        prop_assert_eq!((read, told, also), (header, returned, annex));
        prop_assert_eq!(phantom, annex.phantom || length > 0 && is_phantom);
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
    for sign in [Frame::Hello, Frame::Bye] {
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
        Ok(Some((Frame::Messages, 17, length)))
    );
}
