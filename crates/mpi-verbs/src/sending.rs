//! Posted work requests: packets, messages to the memory that the other side has named, and the
//! other side's messages to our memory.
//!
//! * A packet is a frame in one SEND. Up to [`Options::inline`](super::Options::inline) bytes the
//!   adapter takes the frame at once, and the packet has *left*. A longer frame is copied into a
//!   packet buffer, and has left when the other side's adapter has acknowledged it.
//! * A message that was cleared and is longer than a packet is written from its memory: RDMA WRITE,
//!   in pieces if the message is longer than the port allows. The last piece has immediate data,
//!   the number of the receiver's operation. If there is more to report, a frame follows instead.
//! * A message that can be fetched is read by RDMA READ when its receive clears the message, and
//!   the CTS follows when the data are there. For the message layer of the sender this CTS is the
//!   end: the message is cleared, and the data have left.
//! * A put to a window is an RDMA WRITE, a get an RDMA READ; the other side is not notified. A
//!   request after a get waits for the get (IBA 10.8.3.3), so that accesses to a window take effect
//!   in the order of the calls.

use std::rc::Rc;

use rdma::{MemoryRegion, Operation, Payload, SendFlags, SendRequest, Sge};

use super::device::{AnnouncedMessage, Device, Offer, ReceiveRegion, RendezvousKey, sent};
use super::link::{LinkId, LinkStage, PendingPost, Then, WriteSource};
use super::options::Rendezvous;
use crate::wire::{self, FrameHead, Memory, RdmaExtension};
use channel::{Buffer, Failure, Packet, PacketHeader, RmaCall, Token};

impl Device {
    /// A message is about to be announced to a peer.
    pub fn offer(&mut self, peer: u32, send: Token, message: &Buffer) {
        self.withdraw_offer((peer, send));
        let is_phantom = message.is_phantom() && !message.is_empty();
        let is_long = message.len() > self.options.capacity();
        let mut offer = Offer {
            memory: None,
            is_phantom,
            length: message.len(),
        };
        if self.options.rendezvous == Rendezvous::Read && is_long {
            let memory = match message.shared_bytes() {
                Some(memory) => Rc::clone(memory),
                None => self.memory.provide_zeros(message.len()),
            };
            // Without a registration the message goes the other way, which will say why if that
            // fails, too.
            offer.memory = self.memory.register_source(&memory, message.len()).ok();
        }
        if offer.is_phantom || offer.memory.is_some() {
            self.offers.insert((peer, send), offer);
        }
    }

    /// A message cannot be fetched any more.
    pub(crate) fn withdraw_offer(&mut self, name: RendezvousKey) {
        if let Some((origin, _)) = self.offers.remove(&name).and_then(|offer| offer.memory) {
            self.memory.give_back(origin);
        }
    }

    /// A receive is about to clear a message of the given number of bytes.
    pub fn expect_message(&mut self, peer: u32, receive: Token, length: u64) {
        self.expected.insert((peer, receive), length);
    }

    /// Posts a packet on a connection. If that does not exist any more, the packet is lost, and has
    /// left.
    ///
    /// # Panics
    /// If the packet is longer than [`Options::adapt_settings`](super::Options::adapt_settings)
    /// lets the message layer send.
    pub fn post_packet(&mut self, link: LinkId, mut packet: Packet) {
        let found = self
            .current
            .get(&link)
            .and_then(|number| self.links.get(number));
        let Some((number, peer)) = found.map(|link| (link.qp.qp_num, link.peer)) else {
            // On one that has just broken, nothing leaves: that all of its peer has failed will be
            // told.
            let notify = packet.notify.take().filter(|_| !self.is_breaking(link));
            return self.events.extend(notify.map(sent));
        };
        debug_assert!(
            !matches!(
                packet.header,
                PacketHeader::EagerFirst { .. } | PacketHeader::DataPart { .. }
            ),
            "messages come whole"
        );
        match packet.header {
            PacketHeader::Rts { send, .. } => {
                let offer = self.offers.get(&(peer, send));
                let memory = offer.and_then(|offer| offer.memory);
                let extension = RdmaExtension {
                    memory: memory.map(|(_, region)| Memory {
                        address: region.addr,
                        key: region.rkey,
                    }),
                    phantom: offer.is_some_and(|offer| offer.is_phantom),
                    elsewhere: false,
                };
                self.queue_frame(number, packet, &extension);
            }
            PacketHeader::Cts { send, receive } => {
                self.clear_message(number, peer, (send, receive), packet);
            }
            PacketHeader::Data { receive } => match self.cleared.remove(&(peer, receive)) {
                Some(place) => self.queue_write(number, place, Some(receive), packet),
                None => self.queue_frame(number, packet, &RdmaExtension::default()),
            },
            PacketHeader::CancelResponse { send } => {
                self.sources.remove(&(peer, send));
                self.queue_frame(number, packet, &RdmaExtension::default());
            }
            PacketHeader::Rma {
                call: RmaCall::Write { rkey: key },
                offset: address,
                ..
            } => self.queue_write(number, Memory { address, key }, None, packet),
            PacketHeader::Rma {
                call: RmaCall::Read { rkey: key },
                operation,
                offset: address,
                length,
                ..
            } => self.queue_get(number, Memory { address, key }, (peer, operation), length),
            _ => self.queue_frame(number, packet, &RdmaExtension::default()),
        }
        self.post_jobs(number);
    }

    fn queue(&mut self, number: u32, job: PendingPost) {
        if let Some(link) = self.links.get_mut(&number) {
            link.pending.push_back(job);
        }
    }

    fn queue_frame(&mut self, number: u32, packet: Packet, extension: &RdmaExtension) {
        let head = wire::encode_with(&packet, extension);
        let length = wire::payload_of(&packet);
        assert!(
            length <= self.options.payload_max(),
            "the message layer was told how long packets may be"
        );
        let payload = if length == 0 {
            Buffer::phantom(0)
        } else {
            packet.payload
        };
        let job = PendingPost::Frame {
            head,
            payload,
            notify: packet.notify,
            is_signaled: false,
        };
        self.queue(number, job);
    }

    /// Sends a frame without content, as a signalled request.
    pub(crate) fn send_frame(&mut self, number: u32, frame: &FrameHead) {
        let job = PendingPost::Frame {
            head: wire::encode_sign(frame),
            payload: Buffer::phantom(0),
            notify: None,
            is_signaled: true,
        };
        self.queue(number, job);
        self.post_jobs(number);
    }

    /// Clears a message: fetches the message, names a place for it, or lets it come as a packet.
    fn clear_message(
        &mut self,
        number: u32,
        peer: u32,
        (send, receive): (Token, Token),
        mut packet: Packet,
    ) {
        let source = self.sources.remove(&(peer, send));
        let length = self.expected.remove(&(peer, receive)).unwrap_or(0);
        if length <= self.options.capacity() {
            return self.queue_frame(number, packet, &RdmaExtension::default());
        }
        let source = source.unwrap_or(AnnouncedMessage {
            memory: None,
            is_phantom: false,
        });
        let landing = self
            .memory
            .provide_landing(length, (source.is_phantom, source.memory.is_none()));
        let Some(mut landing) = landing else {
            return self.fail_landing(number);
        };
        let region = landing.region;
        if let Some(place) = source.memory {
            // What it holds is free: it waits here and not in a buffer.
            self.events.extend(packet.notify.take().map(sent));
            landing.answer = Some(packet);
            let job = PendingPost::Read {
                landing: region,
                length,
                posted: 0,
                place,
                receive,
            };
            self.queue(number, job);
        } else {
            let memory = Some(Memory {
                address: region.addr,
                key: region.rkey,
            });
            let extension = RdmaExtension {
                memory,
                ..RdmaExtension::default()
            };
            self.queue_frame(number, packet, &extension);
        }
        self.receive_regions.insert((peer, receive), landing);
    }

    /// A get: the bytes at that place arrive in memory of their own.
    fn queue_get(&mut self, number: u32, place: Memory, name: RendezvousKey, length: u64) {
        let Some(landing) = self.memory.provide_landing(length, (false, false)) else {
            return self.fail_landing(number);
        };
        let job = PendingPost::Read {
            landing: landing.region,
            length,
            posted: 0,
            place,
            receive: name.1,
        };
        self.queue(number, job);
        self.receive_regions.insert(name, landing);
    }

    /// Queues the write of a message to the place that its receiver has named, or of a put.
    fn queue_write(&mut self, number: u32, place: Memory, receive: Option<Token>, packet: Packet) {
        let length = packet.payload.len();
        let memory = match packet.payload.shared_bytes() {
            Some(memory) => Rc::clone(memory),
            None => self.memory.provide_zeros(length),
        };
        let max_inline = self.links.get(&number).map_or(0, |link| link.max_inline);
        let source = if receive.is_none() && length <= u64::from(max_inline) {
            WriteSource::Inline(packet.payload.clone())
        } else {
            match self.memory.register_source(&memory, length) {
                Ok((origin, region)) => WriteSource::Region(origin, region),
                Err(refused) => {
                    return self.fail(number, Failure::NoMemory, refused.error.to_string());
                }
            }
        };
        let extension = RdmaExtension {
            elsewhere: true,
            ..RdmaExtension::default()
        };
        let head = packet
            .returned
            .is_some()
            .then(|| wire::encode_with(&packet, &extension));
        let job = PendingPost::Write {
            source,
            length,
            posted: 0,
            place,
            receive,
            notify: packet.notify,
            head,
        };
        self.queue(number, job);
    }

    /// Posts the waiting jobs of a connection, as far as there is room.
    pub(crate) fn post_jobs(&mut self, number: u32) {
        loop {
            let Some(link) = self.links.get_mut(&number) else {
                return;
            };
            if link.stage != LinkStage::Open {
                return;
            }
            if link.posted.len() >= self.options.send_queue_depth as usize {
                return;
            }
            let Some(job) = link.pending.pop_front() else {
                if link.is_closing && link.is_drained() {
                    self.end_link(number);
                }
                return;
            };
            let left = match job {
                PendingPost::Frame { .. } => self.post_frame(number, job),
                PendingPost::Write { .. } => self.post_write(number, job),
                PendingPost::Read { .. } => self.post_read(number, job),
            };
            if let Some(job) = left {
                let Some(link) = self.links.get_mut(&number) else {
                    return self.drop_job(job);
                };
                let waits = matches!(job, PendingPost::Frame { .. });
                link.pending.push_front(job);
                if waits {
                    return;
                }
            }
        }
    }

    /// Posts a frame; returns the job if no packet buffer is free.
    fn post_frame(&mut self, number: u32, job: PendingPost) -> Option<PendingPost> {
        let PendingPost::Frame {
            head,
            payload,
            notify,
            is_signaled,
        } = job
        else {
            return Some(job);
        };
        let link = self.links.get(&number)?;
        let length = head.bytes().len() as u64 + payload.len();
        if length <= u64::from(link.max_inline) {
            let mut frame = std::mem::take(&mut self.frame);
            fill_frame(&mut frame, head.bytes(), &payload);
            self.post_request(
                number,
                (Operation::Send, Payload::Inline(&frame)),
                (is_signaled, Then::Nothing),
            );
            self.frame = frame;
            self.events.extend(notify.map(sent));
            return None;
        }
        let buffers = self.buffers.as_mut()?;
        let Some(buffer) = buffers.free.pop() else {
            self.starved = true;
            return Some(PendingPost::Frame {
                head,
                payload,
                notify,
                is_signaled,
            });
        };
        let region = buffers.region;
        let offset = u64::from(buffer) * self.options.buffer();
        let mut frame = std::mem::take(&mut self.frame);
        fill_frame(&mut frame, head.bytes(), &payload);
        let written = self.verbs.write_mr(&region, offset, &frame);
        self.frame = frame;
        if let Err(error) = written {
            self.free_buffer(buffer);
            self.fail(number, Failure::Adapter, error.to_string());
            return None;
        }
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        let sge = [region.sge(offset, length)];
        self.post_request(
            number,
            (Operation::Send, Payload::Sges(&sge)),
            (true, Then::Buffer(buffer, notify)),
        );
        None
    }

    /// Posts the next piece of a message that is written; returns the job if a rest is left.
    fn post_write(&mut self, number: u32, mut job: PendingPost) -> Option<PendingPost> {
        let PendingPost::Write {
            ref source,
            length,
            ref mut posted,
            place,
            receive,
            ref mut notify,
            ref mut head,
        } = job
        else {
            return Some(job);
        };
        let (offset, piece) = (*posted, (length - *posted).min(self.max_message));
        *posted += piece;
        let is_last = *posted == length;
        let remote_addr = place.address.wrapping_add(offset);
        let rkey = place.key;
        let operation = match receive {
            Some(imm_data) if is_last && head.is_none() => Operation::RdmaWriteWithImm {
                remote_addr,
                rkey,
                imm_data,
            },
            _ => Operation::RdmaWrite { remote_addr, rkey },
        };
        let notify = notify.take_if(|_| is_last);
        let head = head.take_if(|_| is_last);
        match source {
            WriteSource::Inline(payload) => {
                let mut frame = std::mem::take(&mut self.frame);
                fill_frame(&mut frame, &[], payload);
                let request = (operation, Payload::Inline(&frame));
                self.post_request(number, request, (false, Then::Nothing));
                self.frame = frame;
                self.events.extend(notify.map(sent));
            }
            WriteSource::Region(origin, region) => {
                let then = if is_last {
                    Then::Written(*origin, notify)
                } else {
                    Then::Nothing
                };
                let sge = [sge(region, offset, piece)];
                self.post_request(number, (operation, Payload::Sges(&sge)), (is_last, then));
            }
        }
        if !is_last {
            return Some(job);
        }
        if let Some(head) = head {
            let frame = PendingPost::Frame {
                head,
                payload: Buffer::phantom(0),
                notify: None,
                is_signaled: false,
            };
            self.links.get_mut(&number)?.pending.push_front(frame);
        }
        None
    }

    /// Posts the next piece of a message that is read; returns the job if a rest is left.
    fn post_read(&mut self, number: u32, mut job: PendingPost) -> Option<PendingPost> {
        let PendingPost::Read {
            landing,
            length,
            ref mut posted,
            place,
            receive,
        } = job
        else {
            return Some(job);
        };
        let (offset, piece) = (*posted, (length - *posted).min(self.max_message));
        *posted += piece;
        let is_last = *posted == length;
        let operation = Operation::RdmaRead {
            remote_addr: place.address.wrapping_add(offset),
            rkey: place.key,
        };
        let then = if is_last {
            Then::Read(receive)
        } else {
            Then::Nothing
        };
        let sge = [sge(&landing, offset, piece)];
        self.post_request(number, (operation, Payload::Sges(&sge)), (is_last, then));
        if !is_last {
            return Some(job);
        }
        if let Some(link) = self.links.get_mut(&number) {
            let landing = self.receive_regions.get(&(link.peer, receive));
            link.gets += u32::from(landing.is_some_and(ReceiveRegion::is_get));
        }
        None
    }

    fn post_request(
        &mut self,
        number: u32,
        (operation, payload): (Operation, Payload<'_>),
        (is_signaled, then): (bool, Then),
    ) {
        let Some(link) = self.links.get_mut(&number) else {
            return;
        };
        // Half of the queue is always signalled, so that places come back.
        let every = self
            .options
            .signal_every
            .min(self.options.send_queue_depth / 2)
            .max(1);
        let signaled = is_signaled || link.unsignaled + 1 >= every;
        link.unsignaled = if signaled { 0 } else { link.unsignaled + 1 };
        let request = SendRequest {
            wr_id: link.oldest + link.posted.len() as u64,
            operation,
            payload,
            flags: SendFlags {
                signaled,
                fence: link.gets > 0 && !operation.returns_data(),
                ..SendFlags::default()
            },
        };
        link.posted.push_back(then);
        let posted = self.verbs.post_send(link.qp, &[request]);
        if let Err(refused) = posted {
            self.fail(number, Failure::Adapter, refused.error.to_string());
        }
    }
}

fn sge(region: &MemoryRegion, offset: u64, length: u64) -> Sge {
    region.sge(offset, u32::try_from(length).unwrap_or(u32::MAX))
}

/// Writes a frame of head and payload. A phantom payload becomes zeros of the same length.
fn fill_frame(frame: &mut Vec<u8>, head: &[u8], payload: &Buffer) {
    frame.clear();
    frame.extend_from_slice(head);
    match payload.bytes() {
        Some(bytes) => frame.extend_from_slice(bytes),
        None => frame.resize(frame.len() + usize::try_from(payload.len()).unwrap_or(0), 0),
    }
}
