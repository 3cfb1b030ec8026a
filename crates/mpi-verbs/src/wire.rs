//! Wire format of packets: frames, each a head of at most [`HEAD_MAX`] bytes and a payload.
//!
//! Only this module forms or reads frames. All numbers are little-endian and have a fixed width:
//!
//! ```text
//! 0   kind (1)  flags (1)  zero (2)  operation (4)
//! 8   length of the payload (8)
//! 16  envelope: context (4)  source (4)  tag (4)      if the kind has one
//!     first number (8)                                if the kind has one
//!     second number (8)                               if the kind has two
//!     returned: credits (4) packets (4) messages (4) bytes (8)   if the flag says so
//!     memory: address (8) key (4)                                if the flag says so
//! ```
//!
//! The [`RdmaExtension`] is for channels that access each other's memory. The extension states the
//! memory of a message that can be fetched (with an RTS), the place for a message (with a CTS),
//! that the message was fetched (with a CTS), or that the message is in its place (with its data).
//!
//! The payload of a connection's own frame is its messages (`mpi::connection::HandshakeMessage`). A
//! *phantom* payload travels as zeros of the same length and arrives as a phantom.
//!
//! Reading refuses all bytes that [`encode`] never writes: unknown kinds and flags, bytes that
//! should be zero, payloads where there is none, lengths above the limits. Reading never panics and
//! keeps no state.
//!
//! *Not modelled*: a meaning of tokens that do not exist. Peers are authenticated and run this
//! program.

use std::fmt;

use channel::{CreditReturn, Envelope, Packet, PacketHeader, RmaCall, TypeSignature};

/// The longest head.
pub const HEAD_MAX: usize = PREFIX + ENVELOPE + 8 + 8 + RETURNED + MEMORY;

/// The longest payload of a packet: an address space of 47 bits can hold this length, and a longer
/// one was read wrongly.
pub const PAYLOAD_MAX: u64 = 1 << 46;

/// The longest payload of a connection's own messages, including the data that a back end adds.
pub const MESSAGES_MAX: u64 = 4096;

const PREFIX: usize = 16;
const ENVELOPE: usize = 12;
const RETURNED: usize = 20;
const MEMORY: usize = 12;

const HAS_RETURNED: u8 = 1;
const IS_PHANTOM: u8 = 2;
const IS_READY: u8 = 4;
const IS_DETACHED: u8 = 8;
const HAS_MEMORY: u8 = 16;
const IS_ELSEWHERE: u8 = 32;

/// The head of a frame, in bytes.
#[derive(Clone, Copy)]
pub struct FrameHeaderBytes {
    bytes: [u8; HEAD_MAX],
    length: usize,
}

/// Decoded head of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameHead {
    /// A packet of the message layer.
    Packet {
        /// Header of the packet.
        header: PacketHeader,
        /// Credits that are returned with the packet.
        returned: Option<CreditReturn>,
        /// True if the payload has a length and no memory.
        phantom: bool,
        /// Extension for channels that reach each other's memory.
        extension: RdmaExtension,
    },
    /// Messages of the connection itself.
    Messages,
    /// The first frame from the side that asked for the connection: now the other one may send,
    /// too.
    Hello,
    /// The last frame; only reports follow, which no rank needs.
    Bye,
}

/// Extension of a packet between channels that reach each other's memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RdmaExtension {
    /// Memory of the frame's sender: with an RTS the message, with a CTS the place for it.
    pub memory: Option<Memory>,
    /// With a CTS: the message has been fetched. With data: they are in the place that the CTS
    /// named.
    pub elsewhere: bool,
    /// Only with an RTS: the message has a length and no content.
    pub phantom: bool,
}

/// Memory that the other side can reach.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Memory {
    /// The address of the first byte.
    pub address: u64,
    /// The key.
    pub key: u32,
}

/// A frame that this program never writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameError {
    /// There is no such kind of frame.
    Kind(u8),
    /// There is no such flag, or not with this kind.
    Flags(u8),
    /// Bytes that must be zero are not.
    NotZero,
    /// The payload is longer than this kind allows.
    Length(u64),
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(kind) => write!(f, "no frame has the kind {kind}"),
            Self::Flags(flags) => write!(f, "no such frame has the flags {flags}"),
            Self::NotZero => f.write_str("bytes that must be zero are not"),
            Self::Length(length) => write!(f, "a payload of {length} bytes is too long"),
        }
    }
}

/// Layout of the frames of a kind.
#[derive(Clone, Copy)]
struct FrameShape {
    envelope: bool,
    operation: bool,
    numbers: usize,
    payload_max: u64,
    flags: u8,
}

const RMA_DATA: u8 = 14;
const RMA_CONTROL: u8 = 15;
const MESSAGES: u8 = 16;
const HELLO: u8 = 17;
const BYE: u8 = 18;

/// The shape of each kind, at the index of its number less one.
#[rustfmt::skip]
const SHAPES: [FrameShape; 18] = [
    /* 1 Eager */          shape(true, false, 0, PAYLOAD_MAX, IS_READY | IS_PHANTOM),
    /* 2 Rts */            shape(true, true, 1, 0, IS_READY | IS_DETACHED | IS_PHANTOM | HAS_MEMORY),
    /* 3 Detached */       shape(true, false, 0, PAYLOAD_MAX, IS_READY | IS_PHANTOM),
    /* 4 Cts */            shape(false, true, 1, 0, HAS_MEMORY | IS_ELSEWHERE),
    /* 5 Data */           shape(false, true, 0, PAYLOAD_MAX, IS_PHANTOM | IS_ELSEWHERE),
    /* 6 EagerFirst */     shape(true, false, 1, PAYLOAD_MAX, IS_READY | IS_PHANTOM),
    /* 7 EagerNext */      shape(false, false, 1, PAYLOAD_MAX, IS_PHANTOM),
    /* 8 DataPart */       shape(false, true, 2, PAYLOAD_MAX, IS_PHANTOM),
    /* 9 Credits */        shape(false, false, 0, 0, 0),
    /* 10 Synchronous */   shape(true, true, 0, PAYLOAD_MAX, IS_READY | IS_PHANTOM),
    /* 11 Ack */           shape(false, true, 0, 0, 0),
    /* 12 CancelRequest */ shape(true, true, 0, 0, IS_READY),
    /* 13 CancelResponse */shape(false, true, 0, 0, 0),
    /* 14 Rma, data */     shape(false, true, 3, PAYLOAD_MAX, IS_PHANTOM),
    /* 15 Rma, control */  shape(false, true, 3, 0, 0),
    /* 16 messages */      shape(false, false, 0, MESSAGES_MAX, 0),
    /* 17 hello */         shape(false, false, 0, 0, 0),
    /* 18 bye */           shape(false, false, 0, 0, 0),
];

const fn shape(envelope: bool, operation: bool, numbers: usize, max: u64, flags: u8) -> FrameShape {
    FrameShape {
        envelope,
        operation,
        numbers,
        payload_max: max,
        flags: flags | HAS_RETURNED,
    }
}

/// Fields of a header in a frame: kind, envelope, operation, numbers, and the detached flag.
#[derive(Clone, Copy, Default)]
struct HeaderFields {
    kind: u8,
    envelope: Option<Envelope>,
    operation: u32,
    numbers: [u64; 3],
    detached: bool,
}

fn fields(header: &PacketHeader) -> HeaderFields {
    let none = HeaderFields::default();
    let with = |kind, envelope| HeaderFields {
        kind,
        envelope: Some(envelope),
        ..none
    };
    let answer = |kind, operation| HeaderFields {
        kind,
        operation,
        ..none
    };
    match *header {
        PacketHeader::Eager { envelope } => with(1, envelope),
        PacketHeader::Rts {
            envelope,
            length,
            send,
            detached,
        } => HeaderFields {
            operation: send,
            numbers: [length, 0, 0],
            detached,
            ..with(2, envelope)
        },
        PacketHeader::Detached { envelope } => with(3, envelope),
        PacketHeader::Cts { send, receive } => HeaderFields {
            numbers: [receive.into(), 0, 0],
            ..answer(4, send)
        },
        PacketHeader::Data { receive } => answer(5, receive),
        PacketHeader::EagerFirst { envelope, length } => HeaderFields {
            numbers: [length, 0, 0],
            ..with(6, envelope)
        },
        PacketHeader::EagerNext { offset } => HeaderFields {
            numbers: [offset, 0, 0],
            ..answer(7, 0)
        },
        PacketHeader::DataPart {
            receive,
            offset,
            length,
        } => HeaderFields {
            numbers: [offset, length, 0],
            ..answer(8, receive)
        },
        PacketHeader::Credits => answer(9, 0),
        PacketHeader::Synchronous { envelope, send } => HeaderFields {
            operation: send,
            ..with(10, envelope)
        },
        PacketHeader::Ack { send } => answer(11, send),
        PacketHeader::CancelRequest { envelope, send } => HeaderFields {
            operation: send,
            ..with(12, envelope)
        },
        PacketHeader::CancelResponse { send } => answer(13, send),
        PacketHeader::Rma { .. } => rma_fields(header),
        PacketHeader::Socket { .. } | PacketHeader::Redelivery { .. } => {
            unreachable!("only simulated ranks have these packets")
        }
    }
}

/// Fields of a header of one-sided communication.
fn rma_fields(header: &PacketHeader) -> HeaderFields {
    let &PacketHeader::Rma {
        window,
        call,
        operation,
        offset,
        length,
    } = header
    else {
        unreachable!("the caller has matched the header");
    };
    let kind = if call.has_data() {
        RMA_DATA
    } else {
        RMA_CONTROL
    };
    let about = u64::from(call.frame_code()) << 32 | u64::from(window);
    HeaderFields {
        kind,
        operation,
        numbers: [offset, length, about],
        ..HeaderFields::default()
    }
}

impl HeaderFields {
    /// Returns the header; `None` if a number is too large for its field.
    fn header(&self) -> Option<PacketHeader> {
        let Self {
            envelope,
            operation,
            numbers: [first, second, third],
            ..
        } = *self;
        let envelope = envelope.unwrap_or(Envelope {
            context: 0,
            source: 0,
            tag: 0,
            ready: false,
            signature: TypeSignature::NONE,
        });
        Some(match self.kind {
            1 => PacketHeader::Eager { envelope },
            2 => PacketHeader::Rts {
                envelope,
                length: first,
                send: operation,
                detached: self.detached,
            },
            3 => PacketHeader::Detached { envelope },
            4 => PacketHeader::Cts {
                send: operation,
                receive: u32::try_from(first).ok()?,
            },
            5 => PacketHeader::Data { receive: operation },
            6 => PacketHeader::EagerFirst {
                envelope,
                length: first,
            },
            7 => PacketHeader::EagerNext { offset: first },
            8 => PacketHeader::DataPart {
                receive: operation,
                offset: first,
                length: second,
            },
            9 => PacketHeader::Credits,
            10 => PacketHeader::Synchronous {
                envelope,
                send: operation,
            },
            11 => PacketHeader::Ack { send: operation },
            12 => PacketHeader::CancelRequest {
                envelope,
                send: operation,
            },
            13 => PacketHeader::CancelResponse { send: operation },
            RMA_DATA | RMA_CONTROL => PacketHeader::Rma {
                window: u32::try_from(third & u64::from(u32::MAX)).ok()?,
                call: RmaCall::from_code(u32::try_from(third >> 32).ok()?)
                    .filter(|call| call.has_data() == (self.kind == RMA_DATA))?,
                operation,
                offset: first,
                length: second,
            },
            _ => return None,
        })
    }
}

impl FrameHeaderBytes {
    const fn new() -> Self {
        Self {
            bytes: [0; HEAD_MAX],
            length: 0,
        }
    }

    fn append_bytes(&mut self, bytes: &[u8]) {
        self.bytes[self.length..self.length + bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl fmt::Debug for FrameHeaderBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Head({:?})", self.bytes())
    }
}

/// The head of a packet's frame.
pub fn encode(packet: &Packet) -> FrameHeaderBytes {
    encode_with(packet, &RdmaExtension::default())
}

/// Returns the head of a packet's frame with an extension. If the payload is elsewhere, the frame
/// contains only the length of the payload.
pub fn encode_with(packet: &Packet, extension: &RdmaExtension) -> FrameHeaderBytes {
    let fields = fields(&packet.header);
    let shape = SHAPES[usize::from(fields.kind) - 1];
    let mut flags = 0;
    let mut set = |flag, is_set| flags |= if is_set { flag } else { 0 };
    set(HAS_RETURNED, packet.returned.is_some());
    let is_phantom = packet.payload.is_phantom() && payload_of(packet) > 0;
    set(IS_PHANTOM, is_phantom || extension.phantom);
    set(HAS_MEMORY, extension.memory.is_some());
    set(IS_ELSEWHERE, extension.elsewhere);
    set(
        IS_READY,
        fields.envelope.is_some_and(|envelope| envelope.ready),
    );
    set(IS_DETACHED, fields.detached);
    let mut head = FrameHeaderBytes::new();
    head.append_bytes(&[fields.kind, flags, 0, 0]);
    head.append_bytes(&fields.operation.to_le_bytes());
    head.append_bytes(&payload_of(packet).to_le_bytes());
    if let Some(envelope) = fields.envelope {
        for number in [envelope.context, envelope.source, envelope.tag] {
            head.append_bytes(&number.to_le_bytes());
        }
    }
    for number in &fields.numbers[..shape.numbers] {
        head.append_bytes(&number.to_le_bytes());
    }
    if let Some(returned) = &packet.returned {
        for number in [returned.credits, returned.eager_packets, returned.messages] {
            head.append_bytes(&number.to_le_bytes());
        }
        head.append_bytes(&returned.bytes.to_le_bytes());
    }
    if let Some(memory) = extension.memory {
        head.append_bytes(&memory.address.to_le_bytes());
        head.append_bytes(&memory.key.to_le_bytes());
    }
    head
}

/// The frame that only says so.
pub fn encode_sign(frame: &FrameHead) -> FrameHeaderBytes {
    let mut head = FrameHeaderBytes::new();
    let kind = if *frame == FrameHead::Hello {
        HELLO
    } else {
        BYE
    };
    head.append_bytes(&[kind, 0, 0, 0, 0, 0, 0, 0]);
    head.append_bytes(&[0; 8]);
    head
}

/// Returns the payload of a packet in its frame, in bytes: 0 for control packets, which may have a
/// size in a simulation.
pub fn payload_of(packet: &Packet) -> u64 {
    let shape = SHAPES[usize::from(fields(&packet.header).kind) - 1];
    if shape.payload_max == 0 {
        0
    } else {
        packet.payload.len()
    }
}

/// The head of a frame with messages of the connection, of the given number of bytes.
pub fn encode_messages(length: usize) -> FrameHeaderBytes {
    let mut head = FrameHeaderBytes::new();
    head.append_bytes(&[MESSAGES, 0, 0, 0, 0, 0, 0, 0]);
    head.append_bytes(&(length as u64).to_le_bytes());
    head
}

/// Reads numbers one after another.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn u32(&mut self) -> Option<u32> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*first))
    }

    fn u64(&mut self) -> Option<u64> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*first))
    }
}

/// Reads the head at the beginning of `bytes`: returns the frame, the length of the payload, and
/// the length of the head; `None` if the head is not complete.
pub fn decode(bytes: &[u8]) -> Result<Option<(FrameHead, u64, usize)>, FrameError> {
    let Some(&kind) = bytes.first() else {
        return Ok(None);
    };
    let shape = usize::from(kind)
        .checked_sub(1)
        .and_then(|at| SHAPES.get(at));
    let shape = shape.ok_or(FrameError::Kind(kind))?;
    let Some(&flags) = bytes.get(1) else {
        return Ok(None);
    };
    let allowed = if kind >= MESSAGES { 0 } else { shape.flags };
    if flags & !allowed != 0 {
        return Err(FrameError::Flags(flags));
    }
    let mut length = PREFIX + 8 * shape.numbers;
    length += if shape.envelope { ENVELOPE } else { 0 };
    length += if flags & HAS_RETURNED != 0 {
        RETURNED
    } else {
        0
    };
    length += if flags & HAS_MEMORY != 0 { MEMORY } else { 0 };
    let Some(head) = bytes.get(..length) else {
        return Ok(None);
    };
    let Some(fields) = read_head(head, shape) else {
        return Ok(None);
    };
    let (fields, payload, returned, extension) = fields?;
    match kind {
        MESSAGES => return Ok(Some((FrameHead::Messages, payload, length))),
        HELLO => return Ok(Some((FrameHead::Hello, payload, length))),
        BYE => return Ok(Some((FrameHead::Bye, payload, length))),
        _ => {}
    }
    let header = fields.header().ok_or(FrameError::NotZero)?;
    let frame = FrameHead::Packet {
        header,
        returned,
        phantom: flags & IS_PHANTOM != 0,
        extension,
    };
    Ok(Some((frame, payload, length)))
}

type Read = Result<(HeaderFields, u64, Option<CreditReturn>, RdmaExtension), FrameError>;

/// Reads a complete head; `None` if the head is not complete.
fn read_head(head: &[u8], shape: &FrameShape) -> Option<Read> {
    let (&[kind, flags, zero, zero_too], rest) = head.split_first_chunk()?;
    let mut reader = Reader(rest);
    let mut fields = HeaderFields {
        kind,
        operation: reader.u32()?,
        detached: flags & IS_DETACHED != 0,
        ..HeaderFields::default()
    };
    let payload = reader.u64()?;
    if shape.envelope {
        fields.envelope = Some(Envelope {
            context: reader.u32()?,
            source: reader.u32()?,
            tag: reader.u32()?,
            ready: flags & IS_READY != 0,
            signature: TypeSignature::NONE,
        });
    }
    for number in &mut fields.numbers[..shape.numbers] {
        *number = reader.u64()?;
    }
    let returned = if flags & HAS_RETURNED != 0 {
        Some(CreditReturn {
            credits: reader.u32()?,
            eager_packets: reader.u32()?,
            messages: reader.u32()?,
            bytes: reader.u64()?,
        })
    } else {
        None
    };
    let memory = if flags & HAS_MEMORY != 0 {
        Some(Memory {
            address: reader.u64()?,
            key: reader.u32()?,
        })
    } else {
        None
    };
    let extension = RdmaExtension {
        memory,
        elsewhere: flags & IS_ELSEWHERE != 0,
        phantom: flags & IS_PHANTOM != 0 && shape.payload_max == 0,
    };
    if payload > shape.payload_max {
        return Some(Err(FrameError::Length(payload)));
    }
    if zero != 0 || zero_too != 0 || (!shape.operation && fields.operation != 0) {
        return Some(Err(FrameError::NotZero));
    }
    Some(Ok((fields, payload, returned, extension)))
}

#[cfg(test)]
mod tests;
