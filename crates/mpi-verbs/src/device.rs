//! The connections of a rank over an adapter: creation, use and end of their objects.
//!
//! No object is created for a peer before a connection to the peer is [prepared](Device::endpoint),
//! and then only this connection's queue pair, receives and place in a completion queue. The first
//! connection also creates the memory that all connections share (packet buffers, registrations).

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::rc::Rc;

use rdma::{
    Access, AsyncEvent, CompletionQueue, Endpoint, MemoryRegion, QpCapabilities, QpInitAttributes,
    QueuePair, RecvRequest, RegionMemory, Verbs, VerbsError, WorkCompletion,
};

use super::link::{LinkId, LinkStage, PeerLink, PendingPost, Then, WriteSource};
use super::memory::MessageMemory;
use super::options::Options;
use super::registrations::SendOrigin;
use crate::wire::Memory;
use channel::{ChannelEvent, Failure, Packet, Token};

/// An event of a device.
#[derive(Debug)]
pub enum DeviceEvent {
    /// An event has arrived that the message layer of the other side has posted.
    Arrived {
        /// On which connection; `None` if that has been closed meanwhile.
        link: Option<LinkId>,
        /// A packet, or the event that stands for the packet.
        event: ChannelEvent,
    },
    /// Another event for the message layer.
    Event(ChannelEvent),
    /// The other side has sent its last frame.
    Bye(LinkId),
    /// A message about the adapter, for the user.
    Notice(String),
    /// A connection has failed, and is closed.
    Broken {
        /// The connection; `None` if the connection was closed before.
        link: Option<LinkId>,
        /// Peer of the connection.
        peer: u32,
        /// Why.
        why: Failure,
        /// Text of the adapter, for a log.
        detail: String,
    },
}

/// A packet has left.
pub(crate) const fn sent(token: Token) -> DeviceEvent {
    DeviceEvent::Event(ChannelEvent::Sent(token))
}

/// Memory in which a message arrives.
#[derive(Debug)]
pub(crate) struct ReceiveRegion {
    pub(crate) region: MemoryRegion,
    pub(crate) length: u64,
    /// The message is copied out of the region, and the region stays registered.
    pub(crate) is_copied: bool,
    pub(crate) is_phantom: bool,
    /// Answer to send when the message has arrived, if the message is fetched.
    pub(crate) answer: Option<Packet>,
}

impl ReceiveRegion {
    /// Returns true for a get, which is not reported to the other side.
    pub(crate) const fn is_get(&self) -> bool {
        self.answer.is_none()
    }
}

/// A message that we have announced.
#[derive(Debug)]
pub(crate) struct Offer {
    /// Memory of the message, if the peer may fetch the message.
    pub(crate) memory: Option<(SendOrigin, MemoryRegion)>,
    pub(crate) is_phantom: bool,
    pub(crate) length: u64,
}

/// A message that a peer has announced.
#[derive(Debug)]
pub(crate) struct AnnouncedMessage {
    pub(crate) memory: Option<Memory>,
    pub(crate) is_phantom: bool,
}

/// A completion queue, and the number of queue pairs that use the queue.
#[derive(Debug)]
pub(crate) struct SharedCq {
    pub(crate) cq: CompletionQueue,
    users: u32,
}

/// Packet buffers for outgoing packets.
#[derive(Debug)]
pub(crate) struct SendBuffers {
    pub(crate) region: MemoryRegion,
    pub(crate) free: Vec<u32>,
}

/// Identifies an operation of a peer or of this rank.
pub(crate) type RendezvousKey = (u32, Token);

/// The connections of a rank over an adapter. Calls never wait.
pub struct Device {
    pub(crate) verbs: Rc<dyn Verbs>,
    pub(crate) options: Options,
    pub(crate) max_message: u64,
    pub(crate) shared_cqs: Vec<SharedCq>,
    /// All connections, including those that are being closed, by the number of the queue pair.
    pub(crate) links: BTreeMap<u32, PeerLink>,
    /// Connections that are not being closed.
    pub(crate) current: BTreeMap<LinkId, u32>,
    pub(crate) buffers: Option<SendBuffers>,
    pub(crate) memory: MessageMemory,
    /// Messages that we have announced, by peer and our operation.
    pub(crate) offers: BTreeMap<RendezvousKey, Offer>,
    /// Messages that peers have announced, by peer and operation of the peer.
    pub(crate) sources: BTreeMap<RendezvousKey, AnnouncedMessage>,
    /// The lengths of messages that are about to be cleared, by peer and our operation.
    pub(crate) expected: BTreeMap<RendezvousKey, u64>,
    /// Where messages arrive, by peer and our operation.
    pub(crate) receive_regions: BTreeMap<RendezvousKey, ReceiveRegion>,
    /// Memory for messages that peers have cleared, by peer and operation of the peer.
    pub(crate) cleared: BTreeMap<RendezvousKey, Memory>,
    pub(crate) events: VecDeque<DeviceEvent>,
    /// A connection waits for a packet buffer.
    pub(crate) starved: bool,
    /// Used again and again.
    pub(crate) completions: Vec<WorkCompletion>,
    pub(crate) frame: Vec<u8>,
    /// Connections so far.
    made: u32,
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device")
            .field("links", &self.links.len())
            .field("landings", &self.receive_regions.len())
            .field("offers", &self.offers.len())
            .finish_non_exhaustive()
    }
}

impl Device {
    /// A device without connections over an adapter.
    pub fn new(verbs: Rc<dyn Verbs>, options: Options) -> Result<Self, VerbsError> {
        let port = verbs.query_port(options.connection.port_num)?;
        Ok(Self {
            memory: MessageMemory::new(Rc::clone(&verbs), &options)?,
            // 1 GiB: lengths in scatter/gather entries have 32 bits.
            max_message: u64::from(port.max_msg_sz).clamp(1, 1 << 30),
            verbs,
            options,
            shared_cqs: Vec::new(),
            links: BTreeMap::new(),
            current: BTreeMap::new(),
            buffers: None,
            offers: BTreeMap::new(),
            sources: BTreeMap::new(),
            expected: BTreeMap::new(),
            receive_regions: BTreeMap::new(),
            cleared: BTreeMap::new(),
            events: VecDeque::new(),
            starved: false,
            completions: Vec::new(),
            frame: Vec::new(),
            made: 0,
        })
    }

    /// The options.
    pub const fn options(&self) -> &Options {
        &self.options
    }

    /// Prepares a connection to a peer under an unused number, or finds the existing connection.
    /// Returns the data that the other side needs. From now on the other side may send.
    pub fn endpoint(
        &mut self,
        link: LinkId,
        peer: u32,
    ) -> Result<[u8; Endpoint::LENGTH], VerbsError> {
        if let Some(link) = self
            .current
            .get(&link)
            .and_then(|number| self.links.get(number))
        {
            return Ok(link.endpoint.to_bytes());
        }
        // The number of a queue pair that is gone may be used again: no completion of that one may
        // be left.
        self.poll_completions();
        self.provide_buffers()?;
        let shared = self.provide_cq()?;
        let receives = self.options.receives();
        let length = u64::from(receives) * self.options.buffer();
        let region = self
            .verbs
            .reg_mr(
                self.memory.pd,
                RegionMemory::Zeroed(length),
                Access::LOCAL_WRITE,
            )
            .map_err(|refused| refused.error)?;
        let made = self.make_queue_pair(shared).and_then(|(qp, inline)| {
            let endpoint = self.prepare_queue_pair(qp, &region).inspect_err(|_| {
                let _ = self.verbs.destroy_qp(qp);
            })?;
            Ok((qp, inline, endpoint))
        });
        let (qp, max_inline, endpoint) = made.inspect_err(|_| {
            let _ = self.verbs.dereg_mr(&region);
        })?;
        self.shared_cqs[shared].users += 1;
        self.made = self.made.wrapping_add(1);
        self.current.insert(link, qp.qp_num);
        self.links.insert(
            qp.qp_num,
            PeerLink {
                peer,
                qp,
                shared,
                endpoint,
                receives: region,
                stage: LinkStage::Prepared,
                max_inline,
                pending: VecDeque::new(),
                posted: VecDeque::new(),
                oldest: 0,
                gets: 0,
                unsignaled: 0,
                is_closing: false,
            },
        );
        Ok(endpoint.to_bytes())
    }

    /// The packet buffers, made once.
    fn provide_buffers(&mut self) -> Result<(), VerbsError> {
        if self.buffers.is_some() {
            return Ok(());
        }
        let count = self.options.send_buffers.max(1);
        let length = u64::from(count) * self.options.buffer();
        let region = self
            .verbs
            .reg_mr(self.memory.pd, RegionMemory::Zeroed(length), Access::NONE)
            .map_err(|refused| refused.error)?;
        self.buffers = Some(SendBuffers {
            region,
            free: (0..count).rev().collect(),
        });
        Ok(())
    }

    /// A completion queue in which there is room for everything that a queue pair can complete.
    fn provide_cq(&mut self) -> Result<usize, VerbsError> {
        let each = self.options.receives() + self.options.send_queue_depth;
        let most = self.verbs.query_device().max_cqe;
        let length = self.options.cq_depth.max(each).min(most);
        let users = (length / each).max(1);
        let free = self
            .shared_cqs
            .iter()
            .position(|shared| shared.users < users);
        if let Some(free) = free {
            return Ok(free);
        }
        let cq = self.verbs.create_cq(length)?;
        self.shared_cqs.push(SharedCq { cq, users: 0 });
        Ok(self.shared_cqs.len() - 1)
    }

    /// Creates a queue pair, and returns the queue pair and its inline limit: the requested limit,
    /// or as much as the adapter supports.
    fn make_queue_pair(&self, shared: usize) -> Result<(QueuePair, u32), VerbsError> {
        let cq = self.shared_cqs[shared].cq;
        let mut inline = self.options.max_inline;
        loop {
            let made = self.verbs.create_qp(&QpInitAttributes {
                pd: self.memory.pd,
                send_cq: cq,
                recv_cq: cq,
                cap: QpCapabilities {
                    max_send_wr: self.options.send_queue_depth,
                    max_recv_wr: self.options.receives(),
                    max_send_sge: 1,
                    max_recv_sge: 1,
                    max_inline_data: inline,
                },
                sq_sig_all: false,
            });
            match made {
                Ok(qp) => {
                    let can = self.verbs.query_qp(qp)?.cap.max_inline_data;
                    return Ok((qp, can.min(inline)));
                }
                Err(_) if inline > 0 => inline /= 2,
                Err(error) => return Err(error),
            }
        }
    }

    /// Prepares a queue pair and posts all receives, so that the endpoint can be sent to the peer.
    fn prepare_queue_pair(
        &self,
        qp: QueuePair,
        region: &MemoryRegion,
    ) -> Result<Endpoint, VerbsError> {
        // Fibonacci hashing: numbers far apart for connections that follow each other.
        let psn = self
            .options
            .psn
            .wrapping_add(self.made.wrapping_mul(0x9E37_79B9));
        let endpoint = rdma::prepare(&*self.verbs, qp, &self.options.connection, psn)?;
        let all: Vec<u32> = (0..self.options.receives()).collect();
        self.post_receives(qp, region, &all)?;
        Ok(endpoint)
    }

    /// Posts receives into these buffers of a region.
    pub(crate) fn post_receives(
        &self,
        qp: QueuePair,
        region: &MemoryRegion,
        buffers: &[u32],
    ) -> Result<(), VerbsError> {
        let length = u32::try_from(self.options.buffer()).unwrap_or(u32::MAX);
        let sges: Vec<_> = buffers
            .iter()
            .map(|&buffer| [region.sge(u64::from(buffer) * self.options.buffer(), length)])
            .collect();
        let requests: Vec<_> = buffers
            .iter()
            .zip(&sges)
            .map(|(&buffer, sges)| RecvRequest {
                wr_id: super::completions::RECEIVE | u64::from(buffer),
                sges,
            })
            .collect();
        let posted = self.verbs.post_recv(qp, &requests);
        posted.map_err(|refused| refused.error)
    }

    /// Connects a prepared connection with the other side's endpoint. The side that `has_asked` may
    /// send at once, because the other side was connected before its answer. The other side may
    /// send when a first frame has arrived.
    pub fn connect_link(
        &mut self,
        link: LinkId,
        endpoint: &[u8],
        has_asked: bool,
    ) -> Result<(), VerbsError> {
        let invalid = |why: String| VerbsError::Invalid { why };
        let bytes = <&[u8; Endpoint::LENGTH]>::try_from(endpoint);
        let bytes = bytes.map_err(|_| invalid("not the endpoint of a queue pair".to_owned()))?;
        let remote = Endpoint::from_bytes(bytes).map_err(|error| invalid(error.to_string()))?;
        let number = self.current.get(&link).copied();
        let link = number.and_then(|number| self.links.get_mut(&number));
        let link = link.ok_or_else(|| invalid("the connection is not prepared".to_owned()))?;
        rdma::connect(
            &*self.verbs,
            link.qp,
            &self.options.connection,
            &link.endpoint,
            &remote,
        )?;
        link.stage = if has_asked {
            LinkStage::Open
        } else {
            LinkStage::Listening
        };
        let number = link.qp.qp_num;
        if has_asked {
            self.send_frame(number, &crate::wire::FrameHead::Hello);
        }
        Ok(())
    }

    /// Returns true if this connection exists, prepared or in use.
    pub fn has_link(&self, link: LinkId) -> bool {
        self.current.contains_key(&link)
    }

    /// Returns true if a connection has failed and that has not been [taken](Self::take_event).
    pub fn is_breaking(&self, link: LinkId) -> bool {
        let is_it = |happening: &DeviceEvent| matches!(happening, DeviceEvent::Broken { link: Some(other), .. } if *other == link);
        self.events.iter().any(is_it)
    }

    /// The connections, prepared or in use.
    pub fn links(&self) -> Vec<LinkId> {
        self.current.keys().copied().collect()
    }

    /// Announces that only reports will follow on a connection.
    pub fn send_close(&mut self, link: LinkId) {
        if let Some(&number) = self.current.get(&link) {
            self.send_frame(number, &crate::wire::FrameHead::Bye);
        }
    }

    /// Returns true if everything that was posted on a connection has arrived.
    pub fn is_drained(&self, link: LinkId) -> bool {
        let link = self
            .current
            .get(&link)
            .and_then(|number| self.links.get(number));
        link.is_none_or(PeerLink::is_drained)
    }

    /// Closes a connection. Posted requests still leave. The number may be used again.
    pub fn close_link(&mut self, link: LinkId) {
        let Some(number) = self.current.remove(&link) else {
            return;
        };
        if let Some(link) = self.links.get_mut(&number) {
            link.is_closing = true;
            // Nobody will hear what was not said before the connection came into use.
            if link.stage != LinkStage::Open || link.is_drained() {
                self.end_link(number);
            }
        }
    }

    /// Forgets a peer that is lost: its connections, and all messages in transit from or to the
    /// peer.
    pub fn forget_peer(&mut self, peer: u32) {
        let of_peer = self.links.values().filter(|link| link.peer == peer);
        let numbers: Vec<u32> = of_peer.map(|link| link.qp.qp_num).collect();
        for number in numbers {
            self.end_link(number);
        }
        self.forget_messages(peer);
    }

    /// Ends a connection at once.
    pub(crate) fn end_link(&mut self, number: u32) {
        let Some(link) = self.links.remove(&number) else {
            return;
        };
        self.current.retain(|_, other| *other != number);
        let _ = self.verbs.destroy_qp(link.qp);
        self.shared_cqs[link.shared].users -= 1;
        let _ = self.verbs.dereg_mr(&link.receives);
        for then in link.posted {
            match then {
                Then::Buffer(buffer, _) => self.free_buffer(buffer),
                Then::Written(origin, _) => self.memory.give_back(origin),
                Then::Nothing | Then::Read(_) => {}
            }
        }
        for job in link.pending {
            self.drop_job(job);
        }
    }

    /// Drops a job that will not be posted any more.
    pub(crate) fn drop_job(&mut self, job: PendingPost) {
        if let PendingPost::Write {
            source: WriteSource::Region(origin, _),
            ..
        } = job
        {
            self.memory.give_back(origin);
        }
    }

    pub(crate) fn free_buffer(&mut self, buffer: u32) {
        if let Some(buffers) = &mut self.buffers {
            buffers.free.push(buffer);
        }
    }

    /// Forgets the messages from and to a peer. The connections to the peer have ended.
    pub(crate) fn forget_messages(&mut self, peer: u32) {
        let of_peer = |name: &RendezvousKey| name.0 == peer;
        self.sources.retain(|name, _| !of_peer(name));
        self.expected.retain(|name, _| !of_peer(name));
        self.cleared.retain(|name, _| !of_peer(name));
        let range = (peer, 0)..=(peer, Token::MAX);
        let offers: Vec<RendezvousKey> = self
            .offers
            .range(range.clone())
            .map(|(&name, _)| name)
            .collect();
        for name in offers {
            self.withdraw_offer(name);
        }
        let receive_regions: Vec<RendezvousKey> = self
            .receive_regions
            .range(range)
            .map(|(&name, _)| name)
            .collect();
        for landing in receive_regions
            .iter()
            .filter_map(|name| self.receive_regions.remove(name))
        {
            let _ = self.verbs.dereg_mr(&landing.region);
        }
    }

    /// The next thing that has happened, as far as [`poll_completions`](Self::poll_completions) has
    /// looked.
    pub fn take_event(&mut self) -> Option<DeviceEvent> {
        self.events.pop_front()
    }

    /// Requests a notification of the next completion. Returns true if no event is waiting, so that
    /// the caller may sleep.
    pub fn arm(&mut self) -> Result<bool, VerbsError> {
        while self.verbs.get_cq_event()?.is_some() {}
        for shared in &self.shared_cqs {
            self.verbs.req_notify_cq(shared.cq, false)?;
        }
        self.poll_completions();
        Ok(self.events.is_empty())
    }

    /// Handles the asynchronous events of the adapter: a fault ends the connections that need the
    /// broken part, and a change that may be temporary is reported.
    pub fn poll_async_events(&mut self) {
        loop {
            match self.verbs.get_async_event() {
                Ok(None) => return,
                Ok(Some(event)) => self.handle_async_event(event),
                Err(error) => {
                    let notice = format!("{}: its events: {error}", self.adapter_name());
                    return self.events.push_back(DeviceEvent::Notice(notice));
                }
            }
        }
    }

    fn handle_async_event(&mut self, event: AsyncEvent) {
        // A completion tells better than an event why a queue pair failed.
        self.poll_completions();
        let numbers: Vec<u32> = match event {
            AsyncEvent::QpFatal(qp) | AsyncEvent::QpReqErr(qp) | AsyncEvent::QpAccessErr(qp) => {
                vec![qp.qp_num]
            }
            AsyncEvent::CqErr(cq) => {
                let uses = |link: &&PeerLink| self.shared_cqs[link.shared].cq == cq;
                let links = self.links.values().filter(uses);
                links.map(|link| link.qp.qp_num).collect()
            }
            AsyncEvent::DeviceFatal => self.links.keys().copied().collect(),
            AsyncEvent::PortErr(port) if port == self.options.connection.port_num => {
                let notice = format!(
                    "port {port} of {} is down; sends are retried up to the retry count",
                    self.adapter_name()
                );
                return self.events.push_back(DeviceEvent::Notice(notice));
            }
            AsyncEvent::PortActive(port) if port == self.options.connection.port_num => {
                let notice = format!("port {port} of {} is up", self.adapter_name());
                return self.events.push_back(DeviceEvent::Notice(notice));
            }
            _ => return,
        };
        let Some(fault) = event.fault() else { return };
        let detail = format!("{fault} of {}", self.adapter_name());
        if event == AsyncEvent::DeviceFatal && numbers.is_empty() {
            let notice = DeviceEvent::Notice(detail.clone());
            self.events.push_back(notice);
        }
        for number in numbers {
            self.fail(number, Failure::Fault(fault), detail.clone());
        }
    }

    fn adapter_name(&self) -> String {
        self.verbs.query_device().name.clone()
    }

    /// Returns the number of sends without a copy that found a registration, and the number of
    /// sends that made one.
    pub const fn registrations(&self) -> (u64, u64) {
        (
            self.memory.registrations.found,
            self.memory.registrations.made,
        )
    }
}

impl Drop for Device {
    /// Gives everything back to the adapter, which others may continue to use.
    fn drop(&mut self) {
        let numbers: Vec<u32> = self.links.keys().copied().collect();
        for number in numbers {
            self.end_link(number);
        }
        for (_, landing) in std::mem::take(&mut self.receive_regions) {
            let _ = self.verbs.dereg_mr(&landing.region);
        }
        self.memory.release_all();
        if let Some(buffers) = self.buffers.take() {
            let _ = self.verbs.dereg_mr(&buffers.region);
        }
        for shared in std::mem::take(&mut self.shared_cqs) {
            let _ = self.verbs.destroy_cq(shared.cq);
        }
        let _ = self.verbs.dealloc_pd(self.memory.pd);
    }
}
