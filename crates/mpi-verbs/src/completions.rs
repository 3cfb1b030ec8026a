//! Completions of the adapter: finished work requests, packets and messages that have arrived,
//! failures.
//!
//! A receive is posted again as soon as its packet has been copied, before the message layer gets
//! the packet. So there is always a posted receive for each packet for which the other side has a
//! credit.
//!
//! A request that fails breaks the connection, and all other requests of the connection fail as
//! *flushed*. The reported status is the status of the failed request, if this side has posted it.

use std::collections::BTreeMap;

use rdma::{RegionMemory, WcOpcode, WcStatus, WorkCompletion};

use super::device::{AnnouncedMessage, Device, DeviceEvent, sent};
use super::link::{LinkStage, Then};
use crate::wire::{self, FrameHead, HEAD_MAX, RdmaExtension};
use channel::{Buffer, ChannelEvent, CreditReturn, Failure, Packet, PacketHeader, Token};

/// Bit that marks the work request ids of receives; the ids of sends count from 0.
pub(crate) const RECEIVE: u64 = 1 << 63;

/// Number of completions that one poll fetches.
const BATCH: usize = 32;

/// Why a connection fails, for the message layer and for a log.
type Fault = (Failure, String);

impl Device {
    /// Looks at all completions that are there.
    pub fn poll_completions(&mut self) {
        let mut failed: BTreeMap<u32, WcStatus> = BTreeMap::new();
        for shared in 0..self.shared_cqs.len() {
            let cq = self.shared_cqs[shared].cq;
            loop {
                let mut completions = std::mem::take(&mut self.completions);
                completions.clear();
                let polled = self.verbs.poll_cq(cq, BATCH, &mut completions);
                for completion in &completions {
                    self.handle_completion(completion, &mut failed);
                }
                self.completions = completions;
                match polled {
                    Ok(count) if count == BATCH => {}
                    Ok(_) => break,
                    Err(error) => {
                        self.fail_cq(shared, &error.to_string());
                        break;
                    }
                }
            }
        }
        for (number, status) in failed {
            self.fail(number, Failure::Transport(status), String::new());
        }
    }

    /// Fails all connections that use a broken completion queue.
    fn fail_cq(&mut self, shared: usize, detail: &str) {
        let links = self.links.values().filter(|link| link.shared == shared);
        let numbers: Vec<u32> = links.map(|link| link.qp.qp_num).collect();
        for number in numbers {
            self.fail(number, Failure::Adapter, detail.to_owned());
        }
    }

    /// Ends a connection that has failed, and all messages of its peer.
    pub(crate) fn fail(&mut self, number: u32, why: Failure, detail: String) {
        let Some(link) = self.links.get(&number) else {
            return;
        };
        let (peer, is_closing) = (link.peer, link.is_closing);
        let id = self.current.iter().find(|(_, other)| **other == number);
        let id = id.map(|(&id, _)| id);
        self.end_link(number);
        if !is_closing {
            self.forget_messages(peer);
        }
        self.events.push_back(DeviceEvent::Broken {
            link: id,
            peer,
            why,
            detail,
        });
    }

    fn handle_completion(
        &mut self,
        completion: &WorkCompletion,
        failed: &mut BTreeMap<u32, WcStatus>,
    ) {
        let number = completion.qp_num;
        if !self.links.contains_key(&number) {
            // Of one that has ended.
            return;
        }
        if !completion.status.is_success() {
            let status = failed.entry(number).or_insert(completion.status);
            if *status == WcStatus::WrFlushErr {
                *status = completion.status;
            }
            return;
        }
        if completion.wr_id & RECEIVE == 0 {
            self.retire(number, completion.wr_id);
            return self.post_jobs(number);
        }
        let buffer = u32::try_from(completion.wr_id & !RECEIVE).unwrap_or(u32::MAX);
        if let Err((why, detail)) = self.handle_receive(number, buffer, completion) {
            self.fail(number, why, detail);
        }
    }

    /// All requests up to this one are over.
    fn retire(&mut self, number: u32, last: u64) {
        loop {
            let Some(link) = self.links.get_mut(&number) else {
                return;
            };
            if link.oldest > last {
                return;
            }
            let Some(then) = link.posted.pop_front() else {
                return;
            };
            link.oldest += 1;
            let peer = link.peer;
            match then {
                Then::Nothing => {}
                Then::Buffer(buffer, notify) => {
                    self.free_buffer(buffer);
                    self.events.extend(notify.map(sent));
                    self.run_all_that_wait(number);
                }
                Then::Written(origin, notify) => {
                    self.memory.give_back(origin);
                    self.events.extend(notify.map(sent));
                }
                Then::Read(receive) => self.fetched(number, peer, receive),
            }
        }
    }

    /// A packet buffer is free again, for which other connections may be waiting.
    fn run_all_that_wait(&mut self, but: u32) {
        if !std::mem::take(&mut self.starved) {
            return;
        }
        let waiting = self.links.values().filter(|link| !link.pending.is_empty());
        let numbers: Vec<u32> = waiting.map(|link| link.qp.qp_num).collect();
        for number in numbers.into_iter().filter(|number| *number != but) {
            self.post_jobs(number);
        }
    }

    /// Handles the end of a get or of a fetched message; the sender of the message is notified.
    fn fetched(&mut self, number: u32, peer: u32, receive: Token) {
        let answer = self.receive_regions.get_mut(&(peer, receive));
        let answer = answer.and_then(|landing| landing.answer.take());
        if let (None, Some(link)) = (&answer, self.links.get_mut(&number)) {
            link.gets -= 1;
        }
        let message = match self.land(peer, receive) {
            Ok(message) => message,
            Err((why, detail)) => return self.fail(number, why, detail),
        };
        self.events
            .push_back(DeviceEvent::Event(ChannelEvent::Fetched {
                source: peer,
                receive,
                message,
            }));
        if let (Some(answer), Some(link)) = (answer, self.links.get_mut(&number)) {
            let extension = RdmaExtension {
                elsewhere: true,
                ..RdmaExtension::default()
            };
            link.pending.push_back(super::link::PendingPost::Frame {
                head: wire::encode_with(&answer, &extension),
                payload: Buffer::phantom(0),
                notify: None,
                is_signaled: false,
            });
        }
    }

    /// Releases the receive region of a complete message, and returns the message.
    fn land(&mut self, peer: u32, receive: Token) -> Result<Buffer, Fault> {
        let landing = self.receive_regions.remove(&(peer, receive));
        let landing = landing.ok_or_else(|| stray("RDMA data without a posted buffer"))?;
        if landing.is_copied {
            let message = self.memory.copy_message(&landing);
            return message.map_err(|error| (Failure::Adapter, error.to_string()));
        }
        match self.verbs.dereg_mr(&landing.region) {
            _ if landing.is_phantom => Ok(Buffer::phantom(landing.length)),
            Ok(RegionMemory::Owned(bytes)) => Ok(Buffer::from(bytes)),
            Ok(_) => Err(stray("other memory than was registered")),
            Err(error) => Err((Failure::Adapter, error.to_string())),
        }
    }

    /// Handles a message that has been written to its place.
    fn written(
        &mut self,
        number: u32,
        receive: Token,
        returned: Option<Box<CreditReturn>>,
    ) -> Result<(), Fault> {
        let source = self.peer_of(number);
        let packet = Packet {
            header: PacketHeader::Data { receive },
            payload: self.land(source, receive)?,
            notify: None,
            returned,
        };
        self.hand_up(number, ChannelEvent::Packet { source, packet });
        Ok(())
    }

    fn peer_of(&self, number: u32) -> u32 {
        self.links.get(&number).map_or(u32::MAX, |link| link.peer)
    }

    /// Reports an event that the message layer of the other side has posted.
    fn hand_up(&mut self, number: u32, event: ChannelEvent) {
        let link = self.current.iter().find(|(_, other)| **other == number);
        let link = link.map(|(&link, _)| link);
        self.events.push_back(DeviceEvent::Arrived { link, event });
    }

    /// Handles a completed receive: a packet has come, or a message is in its place.
    fn handle_receive(
        &mut self,
        number: u32,
        buffer: u32,
        completion: &WorkCompletion,
    ) -> Result<(), Fault> {
        let arrived = match (completion.opcode, completion.imm_data) {
            (Some(WcOpcode::RecvRdmaWithImm), Some(receive)) => self.written(number, receive, None),
            _ => self.read_frame(number, buffer, completion.byte_len),
        };
        arrived?;
        let Some(link) = self.links.get_mut(&number) else {
            return Ok(());
        };
        if link.stage == LinkStage::Listening {
            // The other side is connected.
            link.stage = LinkStage::Open;
        }
        let (qp, receives) = (link.qp, link.receives);
        self.post_receives(qp, &receives, &[buffer])
            .map_err(|error| (Failure::Adapter, error.to_string()))?;
        self.post_jobs(number);
        Ok(())
    }

    /// Reads a frame out of a receive.
    fn read_frame(&mut self, number: u32, buffer: u32, length: u32) -> Result<(), Fault> {
        let Some(link) = self.links.get(&number) else {
            return Ok(());
        };
        let (region, peer) = (link.receives, link.peer);
        let offset = u64::from(buffer) * self.options.buffer();
        let mut head = [0; HEAD_MAX];
        let length = length as usize;
        let head = &mut head[..length.min(HEAD_MAX)];
        let copied = |error: rdma::VerbsError| (Failure::Adapter, error.to_string());
        self.verbs.read_mr(&region, offset, head).map_err(copied)?;
        let decoded = wire::decode(head).map_err(|bad| (Failure::Adapter, bad.to_string()))?;
        let (frame, payload, used) = decoded.ok_or_else(|| stray("a frame that is cut off"))?;
        let (header, returned, phantom, extension) = match frame {
            FrameHead::Hello => return Ok(()),
            FrameHead::Messages => return Err(stray("messages of the connection")),
            FrameHead::Bye => {
                let link = self.current.iter().find(|(_, other)| **other == number);
                let link = link.map(|(&link, _)| link);
                self.events.extend(link.map(DeviceEvent::Bye));
                return Ok(());
            }
            FrameHead::Packet {
                header,
                returned,
                phantom,
                extension,
            } => (header, returned.map(Box::new), phantom, extension),
        };
        let taken = self.announced(peer, &header);
        self.note_memory(peer, &header, &extension);
        if let (PacketHeader::Data { receive }, true) = (header, extension.elsewhere) {
            return self.written(number, receive, returned);
        }
        if let (PacketHeader::Cts { send, .. }, true) = (header, extension.elsewhere) {
            let taken = ChannelEvent::Taken {
                peer,
                send,
                length: taken,
                returned,
            };
            self.hand_up(number, taken);
            return Ok(());
        }
        if payload != (length - used) as u64 {
            return Err(stray("frame length mismatch"));
        }
        let payload = if phantom || payload == 0 && header.is_control() {
            Buffer::phantom(payload)
        } else {
            let mut bytes = vec![0; length - used];
            self.verbs
                .read_mr(&region, offset + used as u64, &mut bytes)
                .map_err(copied)?;
            Buffer::from(bytes)
        };
        let packet = Packet {
            header,
            payload,
            notify: None,
            returned,
        };
        let source = peer;
        self.hand_up(number, ChannelEvent::Packet { source, packet });
        Ok(())
    }

    /// The length of the message of ours that a packet clears.
    fn announced(&self, peer: u32, header: &PacketHeader) -> u64 {
        let PacketHeader::Cts { send, .. } = *header else {
            return 0;
        };
        self.offers
            .get(&(peer, send))
            .map_or(0, |offer| offer.length)
    }

    /// Records the statements of a packet about memory.
    fn note_memory(&mut self, peer: u32, header: &PacketHeader, extension: &RdmaExtension) {
        match *header {
            PacketHeader::Rts { send, .. } if extension.memory.is_some() || extension.phantom => {
                let source = AnnouncedMessage {
                    memory: extension.memory,
                    is_phantom: extension.phantom,
                };
                self.sources.insert((peer, send), source);
            }
            PacketHeader::Cts { send, receive } => {
                if let Some(memory) = extension.memory {
                    self.cleared.insert((peer, receive), memory);
                }
                self.withdraw_offer((peer, send));
            }
            PacketHeader::CancelResponse { send } => self.withdraw_offer((peer, send)),
            _ => {}
        }
    }
}

/// Returns the fault of a peer that violates the protocol.
fn stray(what: &str) -> Fault {
    (Failure::Adapter, format!("the other side sent {what}"))
}
