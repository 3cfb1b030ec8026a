//! An adapter on the network as a device under test of `simrun conformance`: packets of RoCE v2
//! travel in datagrams, commands to the device side travel on a TCP connection.
//!
//! The program `crates/real/examples/conformance_responder.rs` opens the adapter on the device
//! side.
//!
//! *Not checked*: the identification of IP, which a socket does not report and which the ICRC of a
//! packet covers. A packet passes if its ICRC is right for one of the 65 536 identifications, so
//! one wrong ICRC in 65 536 is not found.

#![expect(clippy::disallowed_types, reason = "it waits for real adapters")]

use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use rdma::dialogue::{Arrival, DeviceCommand, DeviceReply, DeviceUnderTest};
use rdma::wire::{Ip, Packet, RoceFrame, WireError};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv, recvfrom, sockopt};
use sockopt::{Ipv4PathMtuDiscovery, set_ip_mtu_discover};

/// The UDP port of RoCE v2. Annex A17.4.5.
pub const ROCE_PORT: u16 = 4791;
/// The TCP port of the device's side, if no other is given.
pub const RESPONDER_PORT: u16 = 4792;
/// Bytes before the datagram's content: headers of Ethernet, IPv4 and UDP.
const HEADERS: usize = 14 + 20 + 8;
/// The longest time until the device's side connects and replies.
const REPLY_LIMIT: Duration = Duration::from_secs(10);

/// The longest time between two looks for packets, which tells how late one may be found.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// A socket of packets to one adapter.
#[derive(Debug)]
pub(crate) struct RoceSocket {
    socket: UdpSocket,
    local: Ipv4Addr,
    device: Ipv4Addr,
}

/// An adapter at an address.
#[derive(Debug)]
pub struct UdpDevice {
    roce: RoceSocket,
    commands: BufReader<TcpStream>,
    start: Instant,
    /// The last time at which no packet was there, in picoseconds.
    empty_at: u64,
}

impl UdpDevice {
    /// Connects to the device's side.
    pub fn connect(device: Ipv4Addr, port: u16) -> io::Result<Self> {
        let at = SocketAddr::from((device, port));
        let commands = TcpStream::connect_timeout(&at, REPLY_LIMIT);
        let commands = commands.map_err(|error| {
            let text = format!(
                "{at}: {error}: expected the program conformance_responder to listen there"
            );
            io::Error::new(error.kind(), text)
        })?;
        commands.set_nodelay(true)?;
        commands.set_read_timeout(Some(REPLY_LIMIT))?;
        let SocketAddr::V4(local) = commands.local_addr()? else {
            return Err(io::Error::other("a connection over IPv4 has its addresses"));
        };
        let local = *local.ip();
        Ok(Self {
            roce: RoceSocket::bind(local, device)?,
            commands: BufReader::new(commands),
            start: Instant::now(),
            empty_at: 0,
        })
    }

    /// Notes the time if no packet is there.
    fn note_empty(&mut self) {
        let now = self.now();
        let flags = RecvFlags::DONTWAIT | RecvFlags::PEEK;
        if recv(&self.roce.socket, &mut [0; 1], flags).err() == Some(Errno::WOULDBLOCK) {
            self.empty_at = now;
        }
    }

    /// Returns the address of the tester.
    pub const fn local_address(&self) -> Ipv4Addr {
        self.roce.local
    }
}

impl RoceSocket {
    /// Binds the port of RoCE.
    pub(crate) fn bind(local: Ipv4Addr, device: Ipv4Addr) -> io::Result<Self> {
        let socket = UdpSocket::bind((local, ROCE_PORT)).map_err(|error| {
            let text =
                format!("UDP port {ROCE_PORT} of {local}: {error}: expected no adapter to use it");
            io::Error::new(error.kind(), text)
        })?;
        // The ICRC covers the flag "don't fragment" and the identification, which is 0 with it.
        set_ip_mtu_discover(&socket, Ipv4PathMtuDiscovery::DO)?;
        Ok(Self {
            socket,
            local,
            device,
        })
    }

    /// Sends a packet to the adapter.
    pub(crate) fn send(&self, packet: &Packet<'_>) -> io::Result<()> {
        let mut frame = Vec::new();
        self.frame(*packet).emit(&mut frame);
        self.socket
            .send_to(&frame[HEADERS..], (self.device, ROCE_PORT))
            .map(|_| ())
    }

    /// Returns the next packet of the adapter, if one is there.
    pub(crate) fn try_receive(&self) -> io::Result<Option<Arrival>> {
        let mut datagram = [0; 1 << 13];
        loop {
            let received = recvfrom(&self.socket, &mut datagram, RecvFlags::DONTWAIT);
            let (length, from) = match received {
                Err(Errno::WOULDBLOCK) => return Ok(None),
                Err(Errno::INTR) => continue,
                other => {
                    let (length, _, from) = other?;
                    (length, from)
                }
            };
            let from = from.and_then(|from| SocketAddr::try_from(from).ok());
            if let Some(SocketAddr::V4(from)) = from
                && *from.ip() == self.device
            {
                return Ok(Some(self.arrival(&datagram[..length], from.port())));
            }
        }
    }

    fn frame<'a>(&self, packet: Packet<'a>) -> RoceFrame<'a> {
        RoceFrame {
            destination_mac: [0; 6],
            source_mac: [0; 6],
            ip: Ip::V4 {
                tos: 0,
                identification: 0,
                dont_fragment: true,
                ttl: 64,
                source: self.local,
                destination: self.device,
            },
            source_port: ROCE_PORT,
            has_udp_checksum: false,
            packet,
        }
    }

    /// Takes a datagram from a port of the device.
    fn arrival(&self, datagram: &[u8], port: u16) -> Arrival {
        let frame = |identification| {
            frame_around(datagram, (self.device, self.local), port, identification)
        };
        check_icrc(frame).map_err(|error| error.to_string())?;
        Ok(datagram[..datagram.len() - 4].to_vec())
    }
}

/// Returns the bytes of the frame that a datagram had.
fn frame_around(
    datagram: &[u8],
    (source, destination): (Ipv4Addr, Ipv4Addr),
    port: u16,
    identification: u16,
) -> Vec<u8> {
    let mut bytes = vec![0; 12];
    let length = u16::try_from(datagram.len() + 8).unwrap_or(u16::MAX);
    // Ethernet type; version and service; length; identification; flags; time to live and UDP; sum.
    let total = length.saturating_add(20);
    for word in [0x0800, 0x4500, total, identification, 0x4000, 0x4011, 0] {
        bytes.extend(u16::to_be_bytes(word));
    }
    bytes.extend(source.octets());
    bytes.extend(destination.octets());
    for word in [port, ROCE_PORT, length, 0] {
        bytes.extend(word.to_be_bytes());
    }
    bytes.extend(datagram);
    bytes
}

/// Checks the checksum of a frame with unknown identification. Checksums are linear: the change by
/// an identification is the sum of the changes by its bits.
fn check_icrc(frame: impl Fn(u16) -> Vec<u8>) -> Result<(), WireError> {
    let wrong = match RoceFrame::parse(&frame(0)) {
        Err(wrong @ WireError::Icrc { .. }) => wrong,
        other => return other.map(|_| ()),
    };
    let difference = |identification| match RoceFrame::parse(&frame(identification)) {
        Err(WireError::Icrc { expected, found }) => expected ^ found,
        _ => 0,
    };
    let mut rest = difference(0);
    // Changes with different highest bits.
    let mut changes: Vec<u32> = Vec::new();
    for bit in 0..16 {
        let change = difference(0) ^ difference(1 << bit);
        let change = reduced(change, &changes);
        if change != 0 {
            changes.push(change);
        }
    }
    rest = reduced(rest, &changes);
    if rest == 0 { Ok(()) } else { Err(wrong) }
}

/// Returns the remainder of a number after addition of the changes that clear its highest bits.
fn reduced(number: u32, changes: &[u32]) -> u32 {
    changes.iter().fold(number, |number, change| {
        let highest = 1 << (31 - change.leading_zeros());
        if number & highest == 0 {
            number
        } else {
            number ^ change
        }
    })
}

impl DeviceUnderTest for UdpDevice {
    fn command(&mut self, command: &DeviceCommand) -> Result<DeviceReply, String> {
        let told = |error: io::Error| format!("the device's side: {error}");
        self.note_empty();
        let line = command.to_line() + "\n";
        self.commands
            .get_mut()
            .write_all(line.as_bytes())
            .map_err(told)?;
        let mut reply = String::new();
        self.commands.read_line(&mut reply).map_err(told)?;
        if let Some(problem) = reply.strip_prefix("error ") {
            return Err(format!("the device's side: {}", problem.trim_end()));
        }
        let expected = || format!("the device's side: expected a reply, found {reply:?}");
        DeviceReply::from_line(&reply).ok_or_else(expected)
    }

    fn transmit(&mut self, packet: &Packet<'_>) -> Result<(), String> {
        self.note_empty();
        self.roce.send(packet).map_err(|error| error.to_string())
    }

    fn receive(&mut self, until: u64) -> Result<Option<Arrival>, String> {
        let mut datagram = [0; 1 << 13];
        loop {
            self.note_empty();
            let left = Duration::from_nanos(until.saturating_sub(self.now()) / 1000);
            // A limit of 0 would be none.
            let left = left.clamp(Duration::from_micros(1), LOOK_INTERVAL);
            let limited = self.roce.socket.set_read_timeout(Some(left));
            limited.map_err(|error| error.to_string())?;
            match self.roce.socket.recv_from(&mut datagram) {
                Ok((length, SocketAddr::V4(from))) if *from.ip() == self.roce.device => {
                    return Ok(Some(self.roce.arrival(&datagram[..length], from.port())));
                }
                Ok(_) => {}
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
                {
                    if self.now() >= until {
                        return Ok(None);
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    fn now(&self) -> u64 {
        let elapsed = self.start.elapsed().as_nanos();
        u64::try_from(elapsed)
            .unwrap_or(u64::MAX)
            .saturating_mul(1000)
    }

    fn arrived_after(&self) -> u64 {
        self.empty_at
    }

    /// 10 ms: timers of kernels have ticks of 4 ms.
    fn tolerance(&self) -> u64 {
        10_000_000_000
    }

    /// 30 ms: more than a round trip in an emulated machine.
    fn quiet_time(&self) -> u64 {
        30_000_000_000
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rdma::Psn;
    use rdma::wire::{Bth, Extension, Opcode};

    #[test]
    fn a_checksum_holds_for_one_identification_and_wrong_ones_do_not() {
        let bth = Bth::new(Opcode::RcSendOnly, 17, Psn::new(5));
        let (device, tester) = (Ipv4Addr::new(10, 0, 1, 1), Ipv4Addr::new(10, 0, 1, 2));
        for identification in [0, 1, 0x8000, 0xBEEF] {
            let frame = RoceFrame {
                destination_mac: [0; 6],
                source_mac: [0; 6],
                ip: Ip::V4 {
                    tos: 2,
                    identification,
                    dont_fragment: true,
                    ttl: 63,
                    source: device,
                    destination: tester,
                },
                source_port: 0xC123,
                has_udp_checksum: false,
                packet: Packet::new(bth, Extension::None, b"payload!"),
            };
            let mut bytes = Vec::new();
            frame.emit(&mut bytes);
            let datagram = &mut bytes[HEADERS..];
            let check = |datagram: &[u8]| {
                check_icrc(|id| frame_around(datagram, (device, tester), 0xC123, id))
            };
            assert_eq!(check(datagram), Ok(()), "{identification}");
            datagram[14] ^= 1;
            assert!(matches!(check(datagram), Err(WireError::Icrc { .. })));
        }
    }
}
