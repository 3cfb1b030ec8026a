//! The [`Channel`] of a rank over a [`Device`] and a [`World`], which has the clock and carries the
//! endpoints of connections to the other ranks.
//!
//! The side that has a packet to send *asks*, with its endpoint. The other side connects its queue
//! pair to that endpoint, *answers* with its own endpoint, and sends no packet before a first
//! packet has come. If both sides ask at once, the request of the higher rank counts.

use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::rc::Rc;
use std::task::Waker;

use mpi::channel::{AbortReason, ConnectionLifecycle, RankHost, RemoteMemory};
use mpi::exploration::ExplorationHooks;
use mpi_verbs::{Device, DeviceEvent, LinkId, Options};
use rdma::{RegionMemory, Verbs, VerbsError};

use mpi::channel::{ChannelEvent, Interest, Packet, Settings, Token};
use mpi::connection::Failure;
use mpi::{Channel, Level, RegisteredMemory, prelude::*};

/// First message of a side of a connection. The bytes are an endpoint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EndpointExchange {
    /// May I connect?
    Ask(Vec<u8>),
    /// Yes.
    Answer(Vec<u8>),
}

/// Environment of a rank besides its device.
pub trait World {
    /// The number of this rank, from 0.
    fn rank(&self) -> u32;

    /// The number of ranks.
    fn size(&self) -> u32;

    /// The time in seconds since an arbitrary moment, the same for all ranks.
    fn now(&self) -> f64;

    /// Lets [`elapsed`](Self::elapsed) tell the token after the given number of seconds.
    fn timer(&self, seconds: f64, token: Token);

    /// The same after this many flop on this rank's host.
    fn compute(&self, flops: f64, token: Token);

    /// The next timer or computation that is over.
    fn elapsed(&self) -> Option<Token>;

    /// See [`Channel::park`].
    fn park(&self, waker: &Waker, interest: Interest);

    /// Brings an introduction to a peer, by any way.
    fn introduce(&self, peer: u32, introduction: EndpointExchange);

    /// Returns the next introduction that has come, and the rank that sent the introduction.
    fn introduced(&self) -> Option<(u32, EndpointExchange)>;

    /// Returns the next rank that is known to be lost by other means. An adapter notices only the
    /// loss of a rank to which a request is in transit.
    fn lost(&self) -> Option<u32> {
        None
    }

    /// Returns true if the adapter may have an asynchronous event, as its file
    /// descriptor says.
    fn is_alerted(&self) -> bool {
        true
    }

    /// The name of the host on which the rank runs.
    fn host_name(&self) -> String;

    /// Prints a line of the program's own output.
    fn print(&self, text: fmt::Arguments<'_>);

    /// Writes a line to the log, unless its level is filtered out.
    fn log(&self, level: Level, text: fmt::Arguments<'_>);

    /// Ends the whole run, because the program wants so.
    fn abort(&self, reason: AbortReason);
}

/// State of the shutdown of a rank's connections.
#[derive(Debug, Default)]
struct Ends {
    /// Connections on which this rank has announced that no packet follows.
    said: BTreeSet<LinkId>,
    /// Connections on which the peer has.
    handle_async_event: BTreeSet<LinkId>,
}

/// A rank's channel over an adapter. Each connection has the number of its peer.
pub struct VerbsChannel<W> {
    world: Rc<W>,
    settings: Settings,
    device: RefCell<Device>,
    /// Events to deliver before those of the device.
    own: RefCell<VecDeque<ChannelEvent>>,
    /// Peers that are lost.
    lost: RefCell<BTreeSet<u32>>,
    ends: RefCell<Ends>,
}

impl<W: World> VerbsChannel<W> {
    /// Returns the channel of a rank. The parameters of the message layer are `settings`, [adapted
    /// to the channel](Options::settings).
    pub fn new(
        verbs: Rc<dyn Verbs>,
        world: Rc<W>,
        settings: Settings,
        options: Options,
    ) -> Result<Self, VerbsError> {
        let settings = options.adapt_settings(settings);
        Ok(Self {
            world,
            settings,
            device: RefCell::new(Device::new(verbs, options)?),
            own: RefCell::default(),
            lost: RefCell::default(),
            ends: RefCell::default(),
        })
    }

    fn tell(&self, event: ChannelEvent) {
        self.own.borrow_mut().push_back(event);
    }

    /// There will be no connection to a peer.
    fn lose(&self, peer: u32, why: Failure, detail: &str) {
        if self.lost.borrow_mut().insert(peer) {
            if !detail.is_empty() {
                self.world
                    .log(Level::Error, format_args!("rank {peer}: {why}: {detail}"));
            }
            self.device.borrow_mut().forget_peer(peer);
            self.tell(ChannelEvent::Failed { peer, why });
        }
    }

    /// Asks a peer to connect, unless that has been done.
    fn ask(&self, peer: u32) {
        let endpoint = {
            let mut device = self.device.borrow_mut();
            // Of one that has just broken nobody has heard yet; there is no second one.
            let is_over = self.lost.borrow().contains(&peer) || device.is_breaking(peer);
            if device.has_link(peer) || is_over {
                return;
            }
            device.endpoint(peer, peer)
        };
        match endpoint {
            Ok(bytes) => self
                .world
                .introduce(peer, EndpointExchange::Ask(bytes.to_vec())),
            Err(error) => self.lose(peer, Failure::Adapter, &error.to_string()),
        }
    }

    fn meet(&self, peer: u32, introduction: EndpointExchange) {
        let mut device = self.device.borrow_mut();
        let done = match introduction {
            // Both have asked, and the other side will answer.
            EndpointExchange::Ask(_) if device.has_link(peer) && self.world.rank() > peer => return,
            EndpointExchange::Ask(bytes) => device.endpoint(peer, peer).and_then(|own| {
                device.connect_link(peer, &bytes, false)?;
                self.world
                    .introduce(peer, EndpointExchange::Answer(own.to_vec()));
                Ok(())
            }),
            EndpointExchange::Answer(bytes) => device.connect_link(peer, &bytes, true),
        };
        drop(device);
        if let Err(error) = done {
            self.lose(peer, Failure::Adapter, &error.to_string());
        }
    }

    /// Translates a device event for the message layer.
    fn event_of(&self, happening: DeviceEvent) -> Option<ChannelEvent> {
        match happening {
            DeviceEvent::Arrived { event, .. } | DeviceEvent::Event(event) => Some(event),
            DeviceEvent::Notice(text) => {
                self.world.log(Level::Warn, format_args!("{text}"));
                None
            }
            DeviceEvent::Bye(link) => {
                self.ends.borrow_mut().handle_async_event.insert(link);
                None
            }
            DeviceEvent::Broken {
                link,
                why,
                peer,
                detail,
            } => {
                // Who has said that nothing follows may be gone.
                let is_over =
                    link.is_none_or(|link| self.ends.borrow().handle_async_event.contains(&link));
                if !is_over {
                    self.lose(peer, why, &detail);
                }
                None
            }
        }
    }
}

impl<W> fmt::Debug for VerbsChannel<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PacketChannel")
            .field("device", &self.device)
            .field("ends", &self.ends)
            .finish_non_exhaustive()
    }
}

impl<W: World> Channel for VerbsChannel<W> {
    fn rank(&self) -> u32 {
        self.world.rank()
    }

    fn size(&self) -> u32 {
        self.world.size()
    }

    fn settings(&self) -> &Settings {
        &self.settings
    }

    fn max_packet(&self) -> u64 {
        self.device.borrow().options().payload_max()
    }

    fn post(&self, peer: u32, mut packet: Packet) {
        if peer != self.world.rank() {
            self.ask(peer);
            return self.device.borrow_mut().post_packet(peer, packet);
        }
        let notify = packet.notify.take();
        let source = peer;
        self.tell(ChannelEvent::Packet { source, packet });
        if let Some(token) = notify {
            self.tell(ChannelEvent::Sent(token));
        }
    }

    fn pull(&self, _: u32, _: Packet) {
        unreachable!("messages are announced here, and not pulled");
    }

    fn poll_event(&self) -> Option<ChannelEvent> {
        let mut has_looked = false;
        loop {
            if let Some(event) = self.own.borrow_mut().pop_front() {
                return Some(event);
            }
            let happening = self.device.borrow_mut().take_event();
            if let Some(happening) = happening {
                let event = self.event_of(happening);
                if event.is_some() {
                    return event;
                }
                continue;
            }
            if let Some(token) = self.world.elapsed() {
                return Some(ChannelEvent::Elapsed(token));
            }
            if let Some((peer, introduction)) = self.world.introduced() {
                self.meet(peer, introduction);
                continue;
            }
            if let Some(peer) = self.world.lost() {
                self.lose(peer, Failure::PeerLost, "");
                continue;
            }
            if std::mem::replace(&mut has_looked, true) {
                return None;
            }
            if self.world.is_alerted() {
                self.device.borrow_mut().poll_async_events();
            }
            self.device.borrow_mut().poll_completions();
        }
    }

    fn park(&self, waker: Option<&Waker>, interest: Interest) {
        if let Some(waker) = waker {
            self.world.park(waker, interest);
        }
    }
}

impl<W: World> RankHost for VerbsChannel<W> {
    fn now(&self) -> f64 {
        self.world.now()
    }

    fn timer(&self, seconds: f64, token: Token) {
        self.world.timer(seconds, token);
    }

    fn compute(&self, flops: f64, token: Token) {
        self.world.compute(flops, token);
    }

    fn host_name(&self) -> String {
        self.world.host_name()
    }

    fn print(&self, text: fmt::Arguments<'_>) {
        self.world.print(text);
    }

    fn log(&self, level: Level, text: fmt::Arguments<'_>) {
        self.world.log(level, text);
    }

    fn abort(&self, reason: AbortReason) {
        self.world.abort(reason);
    }
}

impl<W: World> RemoteMemory for VerbsChannel<W> {
    fn offer(&self, peer: u32, send: Token, message: &Buffer) {
        if peer != self.world.rank() {
            self.device.borrow_mut().offer(peer, send, message);
        }
    }

    fn expect_message(&self, peer: u32, _: Token, receive: Token, length: u64) {
        if peer != self.world.rank() {
            self.device
                .borrow_mut()
                .expect_message(peer, receive, length);
        }
    }

    fn register_memory(&self, memory: RegionMemory) -> Result<RegisteredMemory, RegionMemory> {
        self.device.borrow_mut().register_window(memory)
    }
}

impl<W: World> ConnectionLifecycle for VerbsChannel<W> {
    fn close_connections(&self) -> bool {
        let (mut device, mut ends) = (self.device.borrow_mut(), self.ends.borrow_mut());
        let links = device.links();
        let mut is_done = true;
        for link in links {
            if ends.said.insert(link) {
                device.send_close(link);
            }
            is_done &= device.is_drained(link) && ends.handle_async_event.contains(&link);
        }
        is_done
    }
}

impl<W: World> ExplorationHooks for VerbsChannel<W> {}
