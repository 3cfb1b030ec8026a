//! One end of a connection to another rank: a nonblocking socket, the frame that is being read, and
//! the frames that wait to be written.
//!
//! Small payloads are read together with the following bytes and copied once. An incomplete payload
//! is read directly into the buffer for the program. Payloads are written from their own memory,
//! many frames with one call.
//!
//! *Not modelled*: time, and the readiness of the reader. The driver of the link decides.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice, Write};

use channel::{Buffer, Packet, Token};
use mio::net::TcpStream;
use rustix::buffer::spare_capacity;
use rustix::net::{RecvFlags, recv};

use super::buffer_pool::BufferPool;
use super::frame::{self, FrameError, FrameHeaderBytes, StreamFrame};

/// So much is read at once while no payload is awaited.
const READ: usize = 64 * 1024;

/// Maximum number of frames that are written with one call.
const BATCH: usize = 16;

/// A frame that is not longer is copied and written in one piece.
const SHORT: usize = 1024;

/// Length of a phantom on the way.
static ZEROS: [u8; 64 * 1024] = [0; 64 * 1024];

/// Result of a read.
#[derive(Debug)]
pub(super) enum Arrived {
    /// A packet; its `notify` token has no meaning here.
    Packet(Packet),
    /// Messages of the connection, with the bytes of the back end, and the number of packets sent
    /// before the messages.
    Messages(Vec<u8>),
}

/// Reasons why the link cannot be read any more.
#[derive(Debug)]
pub(super) enum Broken {
    /// The stream has ended, or broke.
    End,
    /// The peer has written an invalid frame.
    Frame(FrameError),
    /// There is no memory for a payload of the given number of bytes.
    Memory(u64),
}

/// A payload of which a part is still to come.
#[derive(Debug)]
struct PartialPayload {
    frame: StreamFrame,
    bytes: Vec<u8>,
    length: usize,
    /// The bytes are counted and not kept.
    skipped: usize,
}

/// A frame that is to be written.
#[derive(Debug)]
struct OutgoingFrame {
    head: FrameHeaderBytes,
    payload: Buffer,
    written: u64,
    notify: Option<Token>,
}

/// An authenticated socket.
#[derive(Debug)]
pub(super) struct Link {
    stream: TcpStream,
    input: Vec<u8>,
    start: usize,
    end: usize,
    partial: Option<PartialPayload>,
    queue: VecDeque<OutgoingFrame>,
    /// No data can be written any more.
    is_deaf: bool,
    /// True if the socket may have data to read.
    pub readable: bool,
}

impl Link {
    /// Returns the link over a socket with a known peer.
    pub(super) const fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            input: Vec::new(),
            start: 0,
            end: 0,
            partial: None,
            queue: VecDeque::new(),
            is_deaf: false,
            readable: true,
        }
    }

    /// The socket, for registration with the poll.
    pub(super) const fn stream(&mut self) -> &mut TcpStream {
        &mut self.stream
    }

    /// Returns true if everything is written that ever will be.
    pub(super) fn is_written(&self) -> bool {
        self.queue.is_empty()
    }

    /// Sends a packet, as far as the system accepts its bytes now.
    pub(super) fn send_packet(&mut self, packet: Packet, told: &mut impl FnMut(Token)) {
        let head = frame::encode(&packet);
        let payload = if frame::payload_of(&packet) == packet.payload.len() {
            packet.payload
        } else {
            Buffer::phantom(0)
        };
        self.push_frame(head, payload, packet.notify, told);
    }

    /// Sends messages of the connection.
    pub(super) fn send_messages(&mut self, bytes: Vec<u8>) {
        let head = frame::encode_messages(bytes.len());
        self.push_frame(head, Buffer::from(bytes), None, &mut |_| {});
    }

    fn push_frame(
        &mut self,
        head: FrameHeaderBytes,
        payload: Buffer,
        notify: Option<Token>,
        told: &mut impl FnMut(Token),
    ) {
        if self.is_deaf {
            return;
        }
        let mut frame = OutgoingFrame {
            head,
            payload,
            written: 0,
            notify,
        };
        if self.queue.is_empty() {
            frame.written = self.write_short(&frame);
            if frame.written == frame.frame_length() {
                frame.notify.into_iter().for_each(told);
                return;
            }
        }
        self.queue.push_back(frame);
        if self.queue.len() == 1 {
            self.write_queue(told);
        }
    }

    /// Writes a short frame in one piece, which costs the system less than a gathered write.
    /// Returns the number of written bytes.
    fn write_short(&mut self, frame: &OutgoingFrame) -> u64 {
        let head = frame.head.bytes();
        let payload = match frame.payload.bytes() {
            Some(bytes) => bytes,
            None if frame.payload.is_empty() => &[],
            None => return 0,
        };
        let mut bytes = [0; SHORT];
        let Some(bytes) = bytes.get_mut(..head.len() + payload.len()) else {
            return 0;
        };
        bytes[..head.len()].copy_from_slice(head);
        bytes[head.len()..].copy_from_slice(payload);
        // What went wrong is found out where the rest is written.
        self.stream.write(bytes).map_or(0, |count| count as u64)
    }

    /// Writes the bytes that the system accepts now, and reports the sent packets to `told`.
    pub(super) fn write_queue(&mut self, told: &mut impl FnMut(Token)) {
        while !self.queue.is_empty() {
            let (result, offered) = {
                let mut slices = [IoSlice::new(&[]); 2 * BATCH];
                let (count, offered) = gather_slices(&self.queue, &mut slices);
                (self.stream.write_vectored(&slices[..count]), offered)
            };
            match result {
                Ok(written) => {
                    self.wrote(written, told);
                    if written < offered {
                        return;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => {
                    // What the peer has written before can still be read; its end tells the rest.
                    self.is_deaf = true;
                    self.queue.clear();
                }
            }
        }
    }

    fn wrote(&mut self, mut written: usize, told: &mut impl FnMut(Token)) {
        while let Some(first) = self.queue.front_mut() {
            let left = first.frame_length() - first.written;
            if (written as u64) < left {
                first.written += written as u64;
                return;
            }
            written -= usize::try_from(left).expect("no more is written than fits into memory");
            if let Some(token) = first.notify {
                told(token);
            }
            self.queue.pop_front();
            if written == 0 {
                return;
            }
        }
    }

    /// Returns the next arrived frame, in memory of `pool`; `None` if the frame is not complete.
    pub(super) fn next_frame(&mut self, pool: &mut BufferPool) -> Result<Option<Arrived>, Broken> {
        loop {
            if let Some(arrived) = self.take_frame(pool)? {
                return Ok(Some(arrived));
            }
            if !self.readable {
                return Ok(None);
            }
            self.read_once()?;
        }
    }

    /// Reads once.
    fn read_once(&mut self) -> Result<(), Broken> {
        if self.input.is_empty() {
            self.input = vec![0; READ];
        }
        let is_long = self.partial.as_ref().is_some_and(PartialPayload::is_kept);
        let (result, offered) = match &mut self.partial {
            Some(partial) if partial.is_kept() => {
                let offered = partial.length - partial.bytes.len();
                let spare = spare_capacity(&mut partial.bytes);
                (
                    recv(&self.stream, spare, RecvFlags::empty()).map(|(count, _)| count),
                    offered,
                )
            }
            _ => {
                let space = &mut self.input[self.end..];
                let offered = space.len();
                (
                    recv(&self.stream, space, RecvFlags::empty()).map(|(count, _)| count),
                    offered,
                )
            }
        };
        match result.map_err(io::Error::from) {
            Ok(0) => Err(Broken::End),
            Ok(count) => {
                if !is_long {
                    self.end += count;
                }
                // A stream that gave less than was asked for is empty; it is told of when it is not
                // any more (epoll(7)). The rest of a long message is on its way and is looked for
                // once more, which costs less than to be told.
                self.readable = count == offered || is_long;
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.readable = false;
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(_) => Err(Broken::End),
        }
    }

    /// Takes a frame out of the bytes that were read.
    fn take_frame(&mut self, pool: &mut BufferPool) -> Result<Option<Arrived>, Broken> {
        if let Some(mut partial) = self.partial.take() {
            if !partial.is_kept() {
                let count = (self.end - self.start).min(partial.length - partial.skipped);
                partial.skipped += count;
                self.consume(count);
            }
            if partial.is_complete() {
                return Ok(Some(partial.arrived()));
            }
            self.partial = Some(partial);
            return Ok(None);
        }
        let found =
            frame::decode_header(&self.input[self.start..self.end]).map_err(Broken::Frame)?;
        let Some((frame, length, head)) = found else {
            self.make_space();
            return Ok(None);
        };
        self.consume(head);
        let mut partial = PartialPayload::new(frame, length, pool)?;
        let count = (self.end - self.start).min(partial.length);
        if partial.is_kept() {
            partial
                .bytes
                .extend_from_slice(&self.input[self.start..self.start + count]);
        } else {
            partial.skipped = count;
        }
        self.consume(count);
        if partial.is_complete() {
            return Ok(Some(partial.arrived()));
        }
        self.partial = Some(partial);
        Ok(None)
    }

    fn consume(&mut self, count: usize) {
        self.start += count;
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// Makes space for a head behind the bytes that were read.
    fn make_space(&mut self) {
        if READ - self.end < frame::HEAD_MAX {
            self.input.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
    }
}

impl OutgoingFrame {
    fn frame_length(&self) -> u64 {
        self.head.bytes().len() as u64 + self.payload.len()
    }
}

/// Collects the slices to write next. Returns the number of slices and the number of their bytes.
fn gather_slices<'a>(
    queue: &'a VecDeque<OutgoingFrame>,
    slices: &mut [IoSlice<'a>],
) -> (usize, usize) {
    let (mut count, mut offered) = (0, 0);
    for frame in queue.iter().take(slices.len() / 2) {
        let head = frame.head.bytes();
        let written = usize::try_from(frame.written).unwrap_or(usize::MAX);
        let in_head = written.min(head.len());
        let rest = frame.payload.len() - (frame.written - in_head as u64);
        let payload = match frame.payload.bytes() {
            Some(bytes) => &bytes[written - in_head..],
            // More zeros follow with the next call.
            None => {
                &ZEROS[..usize::try_from(rest)
                    .unwrap_or(ZEROS.len())
                    .min(ZEROS.len())]
            }
        };
        for slice in [&head[in_head..], payload] {
            if !slice.is_empty() {
                slices[count] = IoSlice::new(slice);
                count += 1;
                offered += slice.len();
            }
        }
        if payload.len() as u64 != rest {
            break;
        }
    }
    (count, offered)
}

impl PartialPayload {
    fn new(frame: StreamFrame, length: u64, pool: &mut BufferPool) -> Result<Self, Broken> {
        let mut partial = Self {
            frame,
            bytes: Vec::new(),
            length: usize::try_from(length).map_err(|_| Broken::Memory(length))?,
            skipped: 0,
        };
        if partial.is_kept() {
            let memory = pool.take_buffer(partial.length);
            partial.bytes = memory.ok_or(Broken::Memory(length))?;
        }
        Ok(partial)
    }

    const fn is_kept(&self) -> bool {
        !matches!(self.frame, StreamFrame::Packet { phantom: true, .. })
    }

    const fn is_complete(&self) -> bool {
        self.bytes.len() + self.skipped == self.length
    }

    fn arrived(self) -> Arrived {
        match self.frame {
            StreamFrame::Messages => Arrived::Messages(self.bytes),
            StreamFrame::Packet {
                header,
                returned,
                phantom,
            } => Arrived::Packet(Packet {
                header,
                payload: if phantom {
                    Buffer::phantom(self.length as u64)
                } else {
                    Buffer::from(self.bytes)
                },
                notify: None,
                returned: returned.map(Box::new),
            }),
        }
    }
}
