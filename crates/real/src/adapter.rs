//! Verbs: packets travel over an adapter, through [`mpi_verbs`]; the sockets only set up the
//! connections.
//!
//! The endpoints of the queue pairs are sent with the request and the answer of the handshake. The
//! close protocol stays on the sockets, where each message has the number of packets sent before. A
//! rank that blocks sleeps until the adapter reports a completion or a socket has data. A rank that
//! spins polls the adapter. Now and then, it also polls the sockets, which report lost ranks, and
//! the asynchronous events of the adapter.
//!
//! *Not modelled*: moving to another adapter or port; a rank uses one.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::io;
use std::os::fd::AsRawFd;
use std::rc::Rc;

use channel::{Failure, Level, Packet};
use mio::unix::SourceFd;
use mio::{Interest, Registry};
use mpi::connection::ConnectionId;
use mpi_verbs::{Device, DeviceEvent, Options};
use rdma::{Verbs, VerbsError};

use super::adapter_limits;
use super::data_path::{DataPath, DataPathEvent};
use super::local::Local;
use super::tcp::{ALERT, CARRIER};
use super::verbs::LibVerbs;

/// Carrier of packets over an adapter.
#[derive(Debug)]
pub(super) struct VerbsDataPath {
    local: Rc<Local>,
    device: Device,
    /// The name of the adapter, if one was asked for.
    name: Option<String>,
    /// The adapter, opened a second time for the program: events of the program's queue pairs come
    /// to this context only.
    program: OnceCell<Option<Rc<LibVerbs>>>,
    /// Connections that could not be made, and their peers.
    failed: Vec<(u32, Failure)>,
    /// Connections on which memory of the peer has been accessed.
    accessed: BTreeSet<ConnectionId>,
    /// Peers of connections that were prepared.
    lost: BTreeSet<u32>,
}

impl VerbsDataPath {
    /// Opens the adapter of this name, or the first adapter; `registry` reports its events.
    pub(super) fn open_adapter(
        local: Rc<Local>,
        name: Option<&str>,
        options: Options,
        registry: &Registry,
    ) -> io::Result<Self> {
        let verbs = LibVerbs::open(name).map_err(|error| io::Error::other(error.to_string()))?;
        let port = verbs.query_port(options.connection.port_num).ok();
        adapter_limits::check_limits(&options, verbs.query_device(), port.as_ref())
            .map_err(io::Error::other)?;
        if let Some(index) = options.connection.gid_index
            && let Err(error) = verbs.query_gid(options.connection.port_num, index)
        {
            let text = format!(
                "--gid-index {index}: {} has none there: {error}",
                verbs.query_device().name
            );
            return Err(io::Error::other(text));
        }
        let fd = verbs.completion_fd().as_raw_fd();
        registry.register(&mut SourceFd(&fd), CARRIER, Interest::READABLE)?;
        let fd = verbs.async_fd().as_raw_fd();
        registry.register(&mut SourceFd(&fd), ALERT, Interest::READABLE)?;
        let device = Device::new(Rc::new(verbs), options);
        let device = device.map_err(|error| io::Error::other(error.to_string()))?;
        Ok(Self {
            local,
            device,
            name: name.map(str::to_owned),
            program: OnceCell::new(),
            failed: Vec::new(),
            accessed: BTreeSet::new(),
            lost: BTreeSet::new(),
        })
    }

    /// Returns the result of preparing or connecting a connection; on an error, the peer is lost.
    fn or_fail(&mut self, peer: u32, done: Result<Vec<u8>, VerbsError>) -> Vec<u8> {
        done.unwrap_or_else(|error| {
            let text = format_args!("no connection to rank {peer}: {error}");
            self.local.log(Level::Error, text);
            self.failed.push((peer, Failure::Adapter));
            Vec::new()
        })
    }
}

impl DataPath for VerbsDataPath {
    const CARRIES: bool = true;

    fn handshake_bytes(
        &mut self,
        connection: ConnectionId,
        peer: u32,
        asked: Option<&[u8]>,
    ) -> Vec<u8> {
        let own = self.device.endpoint(connection, peer).and_then(|own| {
            if let Some(asked) = asked {
                self.device.connect_link(connection, asked, false)?;
            }
            Ok(own.to_vec())
        });
        self.or_fail(peer, own)
    }

    fn opened(&mut self, connection: ConnectionId, peer: u32, answer: &[u8]) {
        // The side that has answered is connected already.
        if !answer.is_empty() {
            let connected = self.device.connect_link(connection, answer, true);
            self.or_fail(peer, connected.map(|()| Vec::new()));
        }
    }

    fn device(&mut self) -> Option<&mut Device> {
        Some(&mut self.device)
    }

    fn carry(&mut self, connection: ConnectionId, packet: Packet) -> Option<Packet> {
        if packet.header.is_rdma() {
            self.accessed.insert(connection);
        }
        self.device.post_packet(connection, packet);
        None
    }

    fn closed(&mut self, connection: ConnectionId) {
        self.accessed.remove(&connection);
        self.device.close_link(connection);
    }

    fn lost(&mut self, peer: u32) {
        self.lost.insert(peer);
        self.device.forget_peer(peer);
    }

    fn closes(&mut self, connection: ConnectionId) -> bool {
        let accesses = self.accessed.remove(&connection);
        if accesses {
            self.device.send_close(connection);
        }
        accesses
    }

    fn adapter(&self) -> Option<Rc<dyn Verbs>> {
        let program = self.program.get_or_init(|| {
            LibVerbs::open(self.name.as_deref()).map_or_else(
                |error| {
                    let text = format_args!("no adapter for the program: {error}");
                    self.local.log(Level::Error, text);
                    None
                },
                |verbs| Some(Rc::new(verbs)),
            )
        });
        let verbs = program.as_ref().map(Rc::clone)?;
        Some(verbs)
    }

    fn happened(&mut self) -> Option<DataPathEvent> {
        if let Some((peer, why)) = self.failed.pop() {
            return Some(DataPathEvent::Failed(peer, why));
        }
        let happening = self.device.take_event().or_else(|| {
            self.device.poll_completions();
            self.device.take_event()
        });
        match happening? {
            DeviceEvent::Arrived { link, event } => Some(DataPathEvent::Arrived(link, event)),
            DeviceEvent::Event(event) => Some(DataPathEvent::Event(event)),
            DeviceEvent::Notice(text) => {
                self.local.log(Level::Warn, format_args!("{text}"));
                self.happened()
            }
            DeviceEvent::Broken {
                link: Some(_),
                peer,
                why,
                detail,
            } => {
                if !detail.is_empty() && !self.lost.contains(&peer) {
                    let text = format_args!("rank {peer}: {why}: {detail}");
                    self.local.log(Level::Error, text);
                }
                Some(DataPathEvent::Failed(peer, why))
            }
            DeviceEvent::Bye(link) => Some(DataPathEvent::Closes(link)),
            DeviceEvent::Broken { .. } => self.happened(),
        }
    }
}
