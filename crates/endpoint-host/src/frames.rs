//! Frames on a TCP stream: length in 4 bytes, big-endian, kind in one byte, content. The first
//! frame of a stream names the endpoint that has opened the stream.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read as _, Write as _};

use mio::net::TcpStream;

/// The longest frame in bytes: a packet or a datagram with its headers. \[choice\]
const LONGEST: usize = 1 << 16;

/// Content of a frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum HostFrame {
    /// Address of the endpoint that has opened the stream.
    Hello(String),
    /// A datagram of the endpoint.
    Datagram(Vec<u8>),
    /// A packet of the adapter.
    Packet(Vec<u8>),
}

const HELLO: u8 = 1;
const DATAGRAM: u8 = 2;
const PACKET: u8 = 3;

/// A stream with the bytes that have not been read or written.
#[derive(Debug)]
pub(crate) struct FrameStream {
    pub(crate) stream: TcpStream,
    received: Vec<u8>,
    unsent: VecDeque<u8>,
}

impl FrameStream {
    pub(crate) const fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            received: Vec::new(),
            unsent: VecDeque::new(),
        }
    }

    /// Appends a frame to the bytes to send.
    pub(crate) fn queue_frame(&mut self, frame: &HostFrame) {
        let (kind, content) = match frame {
            HostFrame::Hello(uri) => (HELLO, uri.as_bytes()),
            HostFrame::Datagram(bytes) => (DATAGRAM, &**bytes),
            HostFrame::Packet(bytes) => (PACKET, &**bytes),
        };
        let length = u32::try_from(content.len()).unwrap_or(u32::MAX);
        self.unsent.extend(length.to_be_bytes());
        self.unsent.push_back(kind);
        self.unsent.extend(content);
    }

    /// Writes as many bytes as the socket takes.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        while !self.unsent.is_empty() {
            let (bytes, _) = self.unsent.as_slices();
            match self.stream.write(bytes) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => drop(self.unsent.drain(..written)),
                Err(error) if waits(&error) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads the available bytes, and adds the complete frames to `frames`, also the frames before
    /// the end of the stream.
    pub(crate) fn receive_frames(&mut self, frames: &mut Vec<HostFrame>) -> io::Result<()> {
        let read = self.read_available();
        self.take_frames(frames)?;
        read
    }

    fn read_available(&mut self) -> io::Result<()> {
        let mut chunk = [0; 1 << 14];
        loop {
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(read) => self.received.extend_from_slice(&chunk[..read]),
                Err(error) if waits(&error) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    fn take_frames(&mut self, frames: &mut Vec<HostFrame>) -> io::Result<()> {
        let mut rest = &self.received[..];
        while let Some((length, behind)) = rest.split_first_chunk() {
            let length = u32::from_be_bytes(*length) as usize;
            if length > LONGEST {
                return Err(ErrorKind::InvalidData.into());
            }
            let Some((&kind, behind)) = behind.split_first() else {
                break;
            };
            let Some((content, behind)) = behind.split_at_checked(length) else {
                break;
            };
            frames.push(frame(kind, content.to_vec())?);
            rest = behind;
        }
        let used = self.received.len() - rest.len();
        self.received.drain(..used);
        Ok(())
    }
}

/// Returns true if the socket is not ready.
fn waits(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::NotConnected
    )
}

fn frame(kind: u8, content: Vec<u8>) -> io::Result<HostFrame> {
    Ok(match kind {
        HELLO => {
            let uri = String::from_utf8(content);
            HostFrame::Hello(uri.map_err(|_| ErrorKind::InvalidData)?)
        }
        DATAGRAM => HostFrame::Datagram(content),
        PACKET => HostFrame::Packet(content),
        _ => return Err(ErrorKind::InvalidData.into()),
    })
}
