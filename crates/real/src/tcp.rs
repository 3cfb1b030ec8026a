//! TCP: packets travel on the sockets of the connections, in the order in which they were posted.
//!
//! The operating system accepts the written bytes, and orders, repeats and limits them. A send is
//! complete when the system has accepted its last byte. A rank that waits lets packets move. A rank
//! that computes does not, but the system continues with accepted bytes: `progress = "polling"`.
//!
//! While a rank waits, it *blocks*, which leaves the core to others and costs a wake-up, or it
//! *spins*, which is faster if each rank has a core.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Waker;
use std::time::Duration;

use channel::{
    Channel, ChannelEvent, ConnectionLifecycle, ConnectionStatistics, ExplorationHooks, Interest,
    Level, Packet, RankHost, RegisteredMemory, RemoteMemory, Settings,
};
use mio::{Events, Poll, Token};
use observe::Observer;
use rdma::RegionMemory;

use super::clock::{self, Alarm};
use super::connection_manager::ConnectionManager;
use super::connections::{Connecting, Connections, Shared};
use super::data_path::DataPath;
use super::executor::PacketDevice;
use super::frame::PAYLOAD_MAX;
use super::local::Local;

/// Way in which a rank waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Wait {
    /// The rank sleeps until the system wakes it.
    #[default]
    Block,
    /// Busy polling.
    Spin,
}

/// Wakes the rank from other threads.
pub(super) const WAKE: Token = Token(0);

/// Wakes the rank for packets that are carried elsewhere.
pub(super) const CARRIER: Token = Token(usize::MAX - 1);

/// Wakes the rank for an asynchronous event of the adapter.
pub(super) const ALERT: Token = Token(usize::MAX - 2);

/// Wakes the rank at a timestamp.
const ALARM: Token = Token(usize::MAX);

/// Maximum number of sockets that are polled one by one; with more sockets, the system is asked
/// which sockets have data.
const LOOKS_MAX: usize = 4;

/// While spinning, the system is asked for other events after this many polls.
const LOOKS_BETWEEN_POLLS: u32 = 64;

/// While spinning, sockets without packets are polled after this many polls of the data path.
const CARRIED_BETWEEN_LOOKS: u32 = 256;

/// Interval at which a rank that calls without ever waiting polls its sockets.
const LOOK_INTERVAL_NS: u64 = 20_000;

/// The same if the sockets carry no packets: they tell only of connections and of ranks that are
/// lost.
const CARRIED_LOOK_INTERVAL_NS: u64 = 1_000_000;

/// The sockets of a rank, and its way to wait for them.
pub(super) struct Sockets<C> {
    local: Rc<Local>,
    connections: Shared<C>,
    poll: RefCell<(Poll, Events)>,
    waker: Arc<mio::Waker>,
    alarm: Alarm,
    wait: Wait,
    /// True if the host has more ranks than cores.
    oversubscribed: bool,
    looked_ns: Cell<u64>,
    looks: Cell<u32>,
}

impl<C> fmt::Debug for Sockets<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sockets")
            .field("wait", &self.wait)
            .finish_non_exhaustive()
    }
}

impl<C: DataPath> Sockets<C> {
    /// Returns the sockets of a rank that connects as given by `how` and waits as given by `wait`;
    /// `oversubscribed` if its host has more ranks than cores; `transport` carries the packets.
    pub(super) fn new(
        local: Rc<Local>,
        (poll, waker): (Poll, Arc<mio::Waker>),
        manager: ConnectionManager,
        cards: Vec<String>,
        (how, wait, oversubscribed, transport): (Connecting, Wait, bool, C),
    ) -> io::Result<Rc<Self>> {
        let registry = poll.registry().try_clone()?;
        let alarm = Alarm::new(&registry, ALARM)?;
        let connections =
            Connections::new(Rc::clone(&local), how, manager, registry, cards, transport);
        Ok(Rc::new(Self {
            local,
            connections: Rc::new(RefCell::new(connections)),
            poll: RefCell::new((poll, Events::with_capacity(256))),
            waker,
            alarm,
            wait,
            oversubscribed,
            looked_ns: Cell::new(0),
            looks: Cell::new(0),
        }))
    }
}

impl<C: DataPath> Sockets<C> {
    /// The connections.
    pub(super) const fn connections(&self) -> &Shared<C> {
        &self.connections
    }

    /// Handles the events of the system; waits for them up to the timeout.
    fn poll_events(&self, timeout: Option<Duration>) {
        let (poll, events) = &mut *self.poll.borrow_mut();
        if poll.poll(events, timeout).is_err() {
            return;
        }
        let mut connections = self.connections.borrow_mut();
        let mut alerted = false;
        for event in &*events {
            if event.token() == ALERT {
                if let Some(device) = connections.transport().device() {
                    device.poll_async_events();
                }
                alerted = true;
            } else if ![WAKE, ALARM, CARRIER].contains(&event.token()) {
                let readable = event.is_readable() || event.is_read_closed() || event.is_error();
                connections.socket_event(event.token(), readable, event.is_writable());
            }
        }
        connections.handle_manager_events();
        if alerted {
            connections.handle_data_path();
        }
    }

    /// Waits until the system has an event, or until the timestamp.
    fn sleep_until(&self, moment_ns: Option<u64>) {
        let Some(moment_ns) = moment_ns else {
            return self.poll_events(None);
        };
        // Polling by itself has a resolution of milliseconds.
        let timeout = self.alarm.set_alarm(clock::until(moment_ns));
        self.poll_events(timeout);
    }

    /// Polls once for arrived data.
    fn poll_data(&self) {
        let looks = self.looks.get().wrapping_add(1);
        self.looks.set(looks);
        if C::CARRIES {
            self.connections.borrow_mut().handle_data_path();
            if !looks.is_multiple_of(CARRIED_BETWEEN_LOOKS) {
                return;
            }
        }
        let few = self.connections.borrow().sockets() <= LOOKS_MAX;
        if few && !looks.is_multiple_of(LOOKS_BETWEEN_POLLS) {
            let mut connections = self.connections.borrow_mut();
            connections.poll_sockets();
            connections.handle_manager_events();
        } else {
            self.poll_events(Some(Duration::ZERO));
            if self.oversubscribed && !self.local.is_ready() {
                // Whom we wait for may need this core.
                rustix::thread::sched_yield();
            }
        }
    }

    /// Lets packets move while the program calls without waiting.
    fn look_now_and_then(&self) {
        let now = clock::monotonic_ns();
        let interval = if C::CARRIES {
            CARRIED_LOOK_INTERVAL_NS
        } else {
            LOOK_INTERVAL_NS
        };
        if now - self.looked_ns.get() > interval {
            self.looked_ns.set(now);
            self.poll_events(Some(Duration::ZERO));
        }
    }
}

impl<C: DataPath> PacketDevice for Sockets<C> {
    fn local(&self) -> &Local {
        &self.local
    }

    fn wait_for_event(&self, woken: &AtomicBool) {
        loop {
            let timer = self.local.expire_timers();
            if self.local.is_ready() || self.local.has_wake_flag() || woken.load(Ordering::Acquire)
            {
                break;
            }
            match self.wait {
                Wait::Block if C::CARRIES => {
                    let mut connections = self.connections.borrow_mut();
                    let device = connections.transport().device();
                    let armed = device.map_or(Ok(true), |device| device.arm());
                    let may_sleep = armed.unwrap_or_else(|error| {
                        let text = format_args!("cannot request completion events: {error}");
                        self.local.log(Level::Error, text);
                        false
                    });
                    connections.handle_data_path();
                    drop(connections);
                    if may_sleep && !self.local.is_ready() && !self.local.has_wake_flag() {
                        self.sleep_until(timer);
                    }
                }
                Wait::Block => self.sleep_until(timer),
                Wait::Spin => self.poll_data(),
            }
        }
        self.looked_ns.set(clock::monotonic_ns());
    }

    fn waker(&self) -> Arc<mio::Waker> {
        Arc::clone(&self.waker)
    }
}

/// A rank's channel over sockets.
#[derive(Debug)]
pub(super) struct TcpChannel<C>(pub Rc<Sockets<C>>);

impl<C: DataPath> Channel for TcpChannel<C> {
    fn rank(&self) -> u32 {
        self.0.local.me().rank
    }

    fn size(&self) -> u32 {
        self.0.local.me().size
    }

    fn settings(&self) -> &Settings {
        &self.0.local.me().settings
    }

    fn max_packet(&self) -> u64 {
        let mut connections = self.0.connections.borrow_mut();
        let device = connections.transport().device();
        device.map_or(PAYLOAD_MAX, |device| device.options().payload_max())
    }

    fn post(&self, peer: u32, mut packet: Packet) {
        let local = &self.0.local;
        local.count_packet(&packet.header, packet.payload.len());
        if peer != local.me().rank {
            return self.0.connections.borrow_mut().post_packet(peer, packet);
        }
        let notify = packet.notify.take();
        local.push_event(ChannelEvent::Packet {
            source: peer,
            packet,
        });
        if let Some(token) = notify {
            local.push_event(ChannelEvent::Sent(token));
        }
    }

    fn pull(&self, _: u32, _: Packet) {
        unreachable!("messages are announced here, and not pulled");
    }

    fn poll_event(&self) -> Option<ChannelEvent> {
        if !self.0.local.is_ready() {
            if C::CARRIES {
                self.0.connections.borrow_mut().handle_data_path();
            }
            self.0.look_now_and_then();
            self.0.local.expire_timers();
        }
        self.0.local.next_event()
    }

    fn park(&self, waker: Option<&Waker>, _: Interest) {
        if let Some(waker) = waker {
            self.0.local.park(waker);
        }
    }
}

impl<C: DataPath> RankHost for TcpChannel<C> {
    fn now(&self) -> f64 {
        self.0.local.now()
    }

    fn timer(&self, seconds: f64, token: channel::Token) {
        self.0.local.timer(seconds, token);
    }

    fn compute(&self, flops: f64, token: channel::Token) {
        self.0.local.compute(flops, token);
    }

    fn host_name(&self) -> String {
        self.0.local.me().host.clone()
    }

    fn print(&self, text: fmt::Arguments<'_>) {
        self.0.local.print_line(text);
    }

    fn log(&self, level: Level, text: fmt::Arguments<'_>) {
        self.0.local.log(level, text);
    }

    fn abort(&self, reason: channel::AbortReason) {
        if let channel::AbortReason::Program(code) = reason {
            self.0.local.abort(code);
        }
    }

    fn observer(&self) -> Option<Rc<dyn Observer>> {
        let log = Rc::clone(self.0.local.event_log()?);
        Some(log)
    }
}

impl<C: DataPath> RemoteMemory for TcpChannel<C> {
    fn offer(&self, peer: u32, send: channel::Token, message: &channel::Buffer) {
        if peer != self.0.local.me().rank
            && let Some(device) = self.0.connections.borrow_mut().transport().device()
        {
            device.offer(peer, send, message);
        }
    }

    fn expect_message(&self, peer: u32, _: channel::Token, receive: channel::Token, length: u64) {
        if peer != self.0.local.me().rank
            && let Some(device) = self.0.connections.borrow_mut().transport().device()
        {
            device.expect_message(peer, receive, length);
        }
    }

    fn register_memory(&self, memory: RegionMemory) -> Result<RegisteredMemory, RegionMemory> {
        match self.0.connections.borrow_mut().transport().device() {
            Some(device) => device.register_window(memory),
            None => Err(memory),
        }
    }

    #[cfg(feature = "verbs")]
    fn adapter(&self) -> Option<Rc<dyn rdma::Verbs>> {
        self.0.connections.borrow_mut().transport().adapter()
    }

    fn watch_adapter(&self, token: channel::Token) {
        self.0.local.push_event(ChannelEvent::Elapsed(token));
    }

    fn recycle_memory(&self, memory: Vec<u8>) {
        if !C::CARRIES {
            self.0.connections.borrow_mut().recycle_memory(memory);
        }
    }
}

impl<C: DataPath> ConnectionLifecycle for TcpChannel<C> {
    fn open_connections(&self) -> bool {
        self.0.connections.borrow_mut().open_all()
    }

    fn close_connections(&self) -> bool {
        self.0.connections.borrow_mut().close_all()
    }

    fn connection_statistics(&self) -> Option<ConnectionStatistics> {
        Some(self.0.connections.borrow().statistics())
    }
}

impl<C: DataPath> ExplorationHooks for TcpChannel<C> {}
