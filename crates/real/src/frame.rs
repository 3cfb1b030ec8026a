//! Frames on a stream between two ranks: the frames of [`mpi_verbs::wire`], except frames that have
//! a meaning only with access to the memory of other ranks.

use channel::{CreditReturn, PacketHeader};
use mpi_verbs::wire;
pub(super) use mpi_verbs::wire::{
    FrameError, FrameHeaderBytes, HEAD_MAX, PAYLOAD_MAX, encode, encode_messages, payload_of,
};

/// Contents of the head of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum StreamFrame {
    /// A packet of the message layer.
    Packet {
        /// Header of the packet.
        header: PacketHeader,
        /// The credits that the packet returns, if any.
        returned: Option<CreditReturn>,
        /// True if the payload is phantom: only its length is sent.
        phantom: bool,
    },
    /// Messages of the connection itself.
    Messages,
}

/// Reads the head at the beginning of `bytes`: the contents of the head, the length of its payload,
/// and the length of the head; `None` if the head is not complete.
pub(super) fn decode_header(bytes: &[u8]) -> Result<Option<(StreamFrame, u64, usize)>, FrameError> {
    let Some((frame, payload, length)) = wire::decode(bytes)? else {
        return Ok(None);
    };
    let frame = match frame {
        wire::FrameHead::Messages => StreamFrame::Messages,
        wire::FrameHead::Packet {
            header,
            returned,
            phantom,
            extension,
        } if extension == wire::RdmaExtension::default() => StreamFrame::Packet {
            header,
            returned,
            phantom,
        },
        wire::FrameHead::Packet { .. } => return Err(FrameError::Flags(bytes[1])),
        wire::FrameHead::Hello | wire::FrameHead::Bye => return Err(FrameError::Kind(bytes[0])),
    };
    Ok(Some((frame, payload, length)))
}

#[cfg(test)]
mod tests {
    use channel::Buffer;
    use channel::Packet;

    use super::*;

    #[test]
    fn what_means_something_only_with_memory_is_refused() {
        let cts = Packet {
            header: PacketHeader::Cts {
                send: 1,
                receive: 2,
            },
            payload: Buffer::phantom(0),
            notify: None,
            returned: None,
        };
        assert!(matches!(decode_header(encode(&cts).bytes()), Ok(Some(_))));
        let extension = wire::RdmaExtension {
            elsewhere: true,
            ..wire::RdmaExtension::default()
        };
        let head = wire::encode_with(&cts, &extension);
        assert!(matches!(
            decode_header(head.bytes()),
            Err(FrameError::Flags(_))
        ));
        for sign in [wire::FrameHead::Hello, wire::FrameHead::Bye] {
            let head = wire::encode_sign(&sign);
            assert!(matches!(
                decode_header(head.bytes()),
                Err(FrameError::Kind(_))
            ));
        }
    }
}
