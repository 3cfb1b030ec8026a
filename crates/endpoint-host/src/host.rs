//! An endpoint, the sockets that carry its datagrams, and the wall clock.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, SocketAddrV4};
#[cfg(feature = "verbs")]
use std::os::fd::AsRawFd as _;
use std::rc::Rc;
use std::time::Duration;

use endpoint::{Endpoint, EndpointSettings, Uri};
use mio::net::{TcpListener, TcpStream};
#[cfg(feature = "verbs")]
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Registry, Token, Waker};
use rdma::Verbs;

use crate::frames::{FrameStream, HostFrame};
use crate::soft_adapter::SoftAdapter;

#[expect(clippy::disallowed_types, reason = "the time of a real endpoint")]
type Instant = std::time::Instant;

/// Adapter of an endpoint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Adapter {
    /// An adapter in software. Its packets travel over TCP.
    Tcp,
    /// The one of this name of libibverbs, or the first one.
    #[cfg(feature = "verbs")]
    Verbs(Option<String>),
}

/// The endpoint of a process.
#[derive(Debug)]
pub struct EndpointHost {
    endpoint: Endpoint,
    verbs: Rc<dyn Verbs>,
    soft: Option<SoftAdapter>,
    listener: TcpListener,
    poll: Poll,
    begin: Instant,
    /// Streams that others have opened, with the address that they have named.
    inbound: BTreeMap<usize, (FrameStream, Option<Uri>)>,
    /// Streams that this endpoint has opened.
    outbound: BTreeMap<Uri, FrameStream>,
    next_token: usize,
    /// Datagrams that wait for [`progress`](Self::progress).
    waiting: Vec<(Uri, Vec<u8>)>,
    /// A frame has come or a timeout was due since the last [`wait`](Self::wait).
    has_arrival: bool,
}

const LISTENER: Token = Token(0);
const WAKER: Token = Token(1);
#[cfg(feature = "verbs")]
const COMPLETIONS: Token = Token(2);
const FIRST: usize = 3;

/// The scheme of addresses.
const SCHEME: &str = "tcp://";

impl EndpointHost {
    /// Returns an endpoint that listens at an address; port 0 lets the system choose one.
    pub fn new(
        listen: SocketAddrV4,
        adapter: &Adapter,
        settings: EndpointSettings,
    ) -> io::Result<Self> {
        let mut listener = TcpListener::bind(SocketAddr::V4(listen))?;
        let SocketAddr::V4(at) = listener.local_addr()? else {
            return Err(ErrorKind::AddrNotAvailable.into());
        };
        let poll = Poll::new()?;
        poll.registry()
            .register(&mut listener, LISTENER, Interest::READABLE)?;
        let (verbs, soft) = open_adapter(adapter, at, poll.registry())?;
        let endpoint = Endpoint::new(format!("{SCHEME}{at}").into(), Rc::clone(&verbs), settings);
        let endpoint = endpoint.map_err(io::Error::other)?;
        endpoint.request_notification().map_err(io::Error::other)?;
        Ok(Self {
            endpoint,
            verbs,
            soft,
            listener,
            poll,
            begin: clock_now(),
            inbound: BTreeMap::new(),
            outbound: BTreeMap::new(),
            next_token: FIRST,
            waiting: Vec::new(),
            has_arrival: false,
        })
    }

    /// Returns the endpoint.
    pub const fn endpoint(&mut self) -> &mut Endpoint {
        &mut self.endpoint
    }

    /// Returns the time since the begin, in picoseconds.
    pub fn now(&self) -> u64 {
        let elapsed = self.begin.elapsed().as_nanos();
        u64::try_from(elapsed)
            .unwrap_or(u64::MAX)
            .saturating_mul(1000)
    }

    /// Returns an object that ends [`wait`](Self::wait) from another thread.
    pub fn waker(&self) -> io::Result<Waker> {
        Waker::new(self.poll.registry(), WAKER)
    }

    /// Sleeps until a socket is ready, the adapter has a completion, the waker is called, a timeout
    /// of the endpoint or of its adapter is due, or the time is over. Does not sleep if a frame has
    /// arrived since the last call: after each call, let the endpoint make progress and poll.
    pub fn wait(&mut self, most: Duration) -> io::Result<()> {
        let has_completion = self.take_notifications()?;
        let has_arrival = std::mem::take(&mut self.has_arrival);
        let most = if has_completion || has_arrival {
            Duration::ZERO
        } else {
            most.min(self.until_timeout())
        };
        let mut events = Events::with_capacity(64);
        match self.poll.poll(&mut events, Some(most)) {
            Err(error) if error.kind() != ErrorKind::Interrupted => return Err(error),
            _ => {}
        }
        self.take_notifications().map(|_| ())
    }

    /// Returns the time until the next timeout.
    fn until_timeout(&self) -> Duration {
        let now = self.now();
        let soft = self.soft.as_ref().and_then(SoftAdapter::next_timeout);
        let timeouts = soft.into_iter().chain(self.endpoint.next_timeout());
        // One that is due belongs to a program that does not let the endpoint make progress.
        let next = timeouts.filter(|at| *at > now).min();
        // Not before it: a microsecond is a million picoseconds.
        next.map_or(Duration::MAX, |at| {
            Duration::from_micros((at - now).div_ceil(1_000_000))
        })
    }

    /// Takes the notifications of completions from the adapter, and requests the next notification.
    /// Returns true if there was a notification.
    fn take_notifications(&self) -> io::Result<bool> {
        let mut has_completion = false;
        while self
            .verbs
            .get_cq_event()
            .map_err(io::Error::other)?
            .is_some()
        {
            let asked = self.endpoint.request_notification();
            asked.map_err(io::Error::other)?;
            has_completion = true;
        }
        Ok(has_completion)
    }

    /// Lets the endpoint make progress: handshakes, repeated datagrams, pings.
    pub fn progress(&mut self) -> io::Result<()> {
        self.carry()?;
        let now = self.now();
        for (from, bytes) in std::mem::take(&mut self.waiting) {
            self.endpoint.handle_datagram(now, &from, &bytes);
        }
        self.has_arrival |= self.endpoint.next_timeout().is_some_and(|at| at <= now);
        self.endpoint.handle_timeout(now);
        self.carry()
    }

    /// Carries packets of the adapter and datagrams, without progress of the endpoint, as an
    /// adapter does without its program.
    pub fn carry(&mut self) -> io::Result<()> {
        self.accept()?;
        self.receive_frames();
        while let Some((to, datagram)) = self.endpoint.next_datagram() {
            self.send_frame(&to, &HostFrame::Datagram(datagram));
        }
        let now = self.now();
        let packets = self.soft.as_ref().map(|soft| soft.poll_packets(now));
        for (to, packet) in packets.into_iter().flatten() {
            self.send_frame(&format!("{SCHEME}{to}"), &HostFrame::Packet(packet));
        }
        self.outbound.retain(|_, stream| stream.flush().is_ok());
        Ok(())
    }

    /// Destroys the endpoint, and carries the packets and datagrams that are left.
    pub fn destroy(mut self) -> io::Result<()> {
        self.carry()?;
        self.endpoint.destroy().map_err(io::Error::other)
    }

    fn accept(&mut self) -> io::Result<()> {
        loop {
            match self.listener.accept() {
                Ok((mut stream, _)) => {
                    self.register_stream(&mut stream)?;
                    let stream = FrameStream::new(stream);
                    self.inbound.insert(self.next_token, (stream, None));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Registers a stream under the next token.
    fn register_stream(&mut self, stream: &mut TcpStream) -> io::Result<()> {
        self.next_token += 1;
        let interest = Interest::READABLE | Interest::WRITABLE;
        let token = Token(self.next_token);
        self.poll.registry().register(stream, token, interest)?;
        stream.set_nodelay(true)
    }

    fn receive_frames(&mut self) {
        let mut closed = Vec::new();
        for (token, (stream, from)) in &mut self.inbound {
            let mut frames = Vec::new();
            if stream.receive_frames(&mut frames).is_err() {
                closed.push(*token);
            }
            self.has_arrival |= !frames.is_empty();
            for frame in frames {
                match (frame, from.as_ref()) {
                    (HostFrame::Hello(uri), None) => *from = Some(uri.into()),
                    (HostFrame::Datagram(bytes), Some(from)) => {
                        self.waiting.push((Uri::clone(from), bytes));
                    }
                    (HostFrame::Packet(bytes), Some(_)) => {
                        if let Some(soft) = &self.soft {
                            soft.receive_packet(&bytes);
                        }
                    }
                    // A second name, or frames before the first one: ignored.
                    _ => {}
                }
            }
        }
        for token in closed {
            self.inbound.remove(&token);
        }
    }

    /// Sends a frame, over a new stream if there is none. If the destination cannot be reached, the
    /// frame is lost.
    fn send_frame(&mut self, to: &str, frame: &HostFrame) {
        if !self.outbound.contains_key(to) {
            let address = to.strip_prefix(SCHEME).and_then(|to| to.parse().ok());
            let stream = address.and_then(|address| TcpStream::connect(address).ok());
            let Some(mut stream) = stream else {
                return;
            };
            if self.register_stream(&mut stream).is_err() {
                return;
            }
            let mut stream = FrameStream::new(stream);
            stream.queue_frame(&HostFrame::Hello(self.endpoint.uri().to_string()));
            self.outbound.insert(to.into(), stream);
        }
        if let Some(stream) = self.outbound.get_mut(to) {
            stream.queue_frame(frame);
        }
    }
}

/// Opens an adapter, and registers its channel of completions. Returns the verbs, and the adapter
/// if it is in software.
fn open_adapter(
    adapter: &Adapter,
    at: SocketAddrV4,
    registry: &Registry,
) -> io::Result<(Rc<dyn Verbs>, Option<SoftAdapter>)> {
    match adapter {
        Adapter::Tcp => {
            // Its packets come over sockets.
            let _ = registry;
            let soft = SoftAdapter::new(at);
            Ok((soft.verbs(), Some(soft)))
        }
        #[cfg(feature = "verbs")]
        Adapter::Verbs(name) => {
            let opened = real::verbs::LibVerbs::open(name.as_deref());
            let verbs = opened.map_err(|error| io::Error::other(error.to_string()))?;
            let channel = verbs.completion_fd().as_raw_fd();
            registry.register(&mut SourceFd(&channel), COMPLETIONS, Interest::READABLE)?;
            Ok((Rc::new(verbs), None))
        }
    }
}

#[expect(clippy::disallowed_types, reason = "the time of a real endpoint")]
fn clock_now() -> Instant {
    std::time::Instant::now()
}
