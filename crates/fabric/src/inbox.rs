//! The events of all ranks: one record for each event, from the post of a packet to the rank that
//! handles the event.
//!
//! A packet in flight and an event in an inbox are the same record, and only the number of the
//! record travels: from the device to the model, back to the device, and to the inbox. The inbox of
//! a rank is a list of records, so that an empty inbox takes eight bytes.
//!
//! The end of a send is no event if the date is known when the send begins: the rank takes the end
//! when the rank looks, at that date or later, after the events of the date.
//!
//! *Not decided here*: when a packet arrives, and in which order packets are delivered.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Weak;
use std::task::Waker;

use channel::{ChannelEvent, Packet, RankProtocols, Token};
use sim_core::{Kernel, Parked, QueueHead, Time};

use crate::slab::{Slab, SlabList};

pub(crate) use crate::slab::NONE;

/// An event of a rank that has not been handled.
#[derive(Debug)]
pub(crate) struct Transit {
    pub(crate) event: ChannelEvent,
    pub(crate) destination: u32,
    /// The packet of this pair that was posted before and has not been delivered.
    pub(crate) before: u32,
    /// The packet of this pair that was posted after.
    pub(crate) after: u32,
    pub(crate) has_arrived: bool,
    /// The packet will not be delivered.
    pub(crate) is_lost: bool,
    /// An initiator of the sender waits for the acknowledgement.
    pub(crate) has_initiator: bool,
}

impl Transit {
    #[inline(always)]
    pub(crate) const fn new(destination: u32, event: ChannelEvent) -> Self {
        Self {
            event,
            destination,
            before: NONE,
            after: NONE,
            has_arrived: false,
            is_lost: false,
            has_initiator: false,
        }
    }

    /// Returns the sender and the packet, if the event is the arrival of a packet.
    #[inline]
    pub(crate) const fn packet(&self) -> Option<(u32, &Packet)> {
        match &self.event {
            ChannelEvent::Packet { source, packet } => Some((*source, packet)),
            _ => None,
        }
    }

    /// Turns the arrival of a packet into news for the sender: the packet was not delivered.
    #[cold]
    pub(crate) fn return_to_sender(&mut self) {
        let peer = self.destination;
        let event = std::mem::replace(&mut self.event, ChannelEvent::Broken { peer });
        if let ChannelEvent::Packet { source, packet } = event {
            self.destination = source;
            self.event = ChannelEvent::Undeliverable { peer, packet };
        }
    }
}

/// One rank's end of the device.
#[derive(Debug)]
pub(crate) struct Endpoint {
    inbox: SlabList,
    /// Sends with a known end, by date.
    ending: SlabList,
    pub(crate) parked: Option<Parked>,
    /// The rank is parked, and the kernel knows that the rank has to continue.
    pub(crate) woken: bool,
    /// The rank is in the list of ranks with events to handle.
    called: bool,
    /// The rank also waits for the ends of its sends, if the rank is parked.
    pub(crate) awaits_sends: bool,
    pub(crate) protocols: Option<Weak<dyn RankProtocols>>,
}

impl Endpoint {
    const fn new() -> Self {
        Self {
            inbox: SlabList::EMPTY,
            ending: SlabList::EMPTY,
            parked: None,
            woken: false,
            called: false,
            awaits_sends: false,
            protocols: None,
        }
    }

    /// Returns true if there are events that the rank has not handled.
    #[inline]
    pub(crate) const fn has_news(&self) -> bool {
        self.called || !self.inbox.is_empty()
    }

    /// Returns true if the rank has no event to handle, no send with a known end, and no park that
    /// has to end.
    #[inline]
    pub(crate) const fn is_quiet(&self) -> bool {
        // One comparison: all bits of `NONE` are set.
        !self.woken && self.inbox.first & self.ending.first == NONE
    }

    /// Returns true if the parked rank waits for the end of a send that is known.
    #[inline]
    pub(crate) const fn awaits_end(&self) -> bool {
        let has_end = !self.ending.is_empty();
        has_end && self.awaits_sends && self.parked.is_some() && !self.woken
    }
}

/// The ends of all ranks.
#[derive(Debug)]
pub(crate) struct Ends {
    pub(crate) endpoints: Vec<Endpoint>,
    pub(crate) transits: Slab<Transit>,
    /// Sends with a known end, and the date of the end. Apart from the packets: each table is then
    /// used in the order of the ranks where these go in step, and a million ranks wait less for
    /// memory.
    ending: Slab<(Time, Token)>,
    /// Parked ranks with unhandled events.
    called: VecDeque<u32>,
    /// Wakers of combinators, to be woken at the next event; few ranks have any.
    wakers: BTreeMap<u32, Vec<Waker>>,
}

impl Ends {
    pub(crate) fn new(size: u32) -> Self {
        let mut endpoints = Vec::new();
        endpoints.resize_with(size as usize, Endpoint::new);
        Self {
            endpoints,
            transits: Slab::default(),
            ending: Slab::default(),
            called: VecDeque::new(),
            wakers: BTreeMap::new(),
        }
    }

    /// Forgets all events and keeps the memory.
    pub(crate) fn clear(&mut self) {
        for endpoint in &mut self.endpoints {
            *endpoint = Endpoint::new();
        }
        self.transits.clear();
        self.ending.clear();
        self.called.clear();
        self.wakers.clear();
    }

    /// Appends an event to the inbox of a rank. The protocols of a parked rank handle the event
    /// before any rank continues.
    #[inline(always)]
    pub(crate) fn deliver_event(&mut self, kernel: &mut Kernel, index: u32) {
        let rank = self.append_event(index);
        self.call_rank(kernel, rank);
    }

    /// Lets the protocols of a parked rank handle its events before any rank continues.
    #[inline(always)]
    fn call_rank(&mut self, kernel: &mut Kernel, rank: u32) {
        let endpoint = &mut self.endpoints[rank as usize];
        // Under an explorer a rank that is woken may take its step later than other arrivals.
        let is_under_way = endpoint.woken && kernel.current_step() == QueueHead::BEFORE;
        if endpoint.parked.is_none() || is_under_way || endpoint.called {
            return;
        }
        endpoint.called = true;
        self.called.push_back(rank);
        kernel.request_progress();
    }

    /// Notes the date at which a send of a rank is over: no earlier than the other sends with a
    /// known end of the rank.
    #[inline]
    pub(crate) fn end_send(&mut self, rank: u32, date: Time, token: Token) {
        let index = self.ending.insert((date, token));
        let list = &mut self.endpoints[rank as usize].ending;
        list.push(&mut self.ending, index);
    }

    /// Takes the first send of a rank that is over by now.
    #[inline]
    fn take_ended(&mut self, rank: u32, now: impl FnOnce() -> Time) -> Option<ChannelEvent> {
        let list = &mut self.endpoints[rank as usize].ending;
        let first = list.first;
        if first == NONE || self.ending.get(first).0 > now() {
            return None;
        }
        list.pop(&mut self.ending);
        Some(ChannelEvent::Sent(self.ending.remove(first).1))
    }

    /// Calls a parked rank with a send that is over by now. Returns the date of the next end of a
    /// send after now. The rank has sends with a known end.
    #[inline]
    pub(crate) fn call_at_end(&mut self, kernel: &mut Kernel, rank: u32) -> Option<Time> {
        let list = self.endpoints[rank as usize].ending;
        let now = kernel.now();
        if self.ending.get(list.first).0 <= now {
            self.call_rank(kernel, rank);
        }
        let mut dates = list.values(&self.ending).map(|(date, _)| *date);
        dates.find(|date| *date > now)
    }

    /// Keeps the waker of a combinator until the next event of the rank.
    #[cold]
    pub(crate) fn keep_waker(&mut self, rank: u32, waker: &Waker) {
        let wakers = self.wakers.entry(rank).or_default();
        if !wakers.iter().any(|known| known.will_wake(waker)) {
            wakers.push(waker.clone());
        }
    }

    /// Wakes the combinators of a rank that wait for an event.
    #[inline]
    pub(crate) fn wake_combinators(&mut self, rank: u32) {
        if !self.wakers.is_empty() {
            let wakers = self.wakers.remove(&rank);
            wakers.into_iter().flatten().for_each(Waker::wake);
        }
    }

    /// Delivers an event that was not under way.
    #[inline(never)]
    pub(crate) fn deliver_new(&mut self, kernel: &mut Kernel, rank: u32, event: ChannelEvent) {
        let index = self.transits.insert(Transit::new(rank, event));
        self.deliver_event(kernel, index);
    }

    /// A packet from one rank to another was lost on the way: both are told.
    #[cold]
    pub(crate) fn report_broken(&mut self, kernel: &mut Kernel, source: u32, destination: u32) {
        self.deliver_new(kernel, source, ChannelEvent::Broken { peer: destination });
        self.deliver_new(kernel, destination, ChannelEvent::Broken { peer: source });
    }

    /// Appends an event to the inbox of a rank; returns the rank.
    #[inline(always)]
    pub(crate) fn append_event(&mut self, index: u32) -> u32 {
        let rank = self.transits.get(index).destination;
        let inbox = &mut self.endpoints[rank as usize].inbox;
        inbox.push(&mut self.transits, index);
        rank
    }

    /// Takes the first event of the inbox of a rank, or a send that is over by now.
    #[inline(always)]
    pub(crate) fn take_event(
        &mut self,
        rank: u32,
        now: impl FnOnce() -> Time,
    ) -> Option<ChannelEvent> {
        let inbox = &mut self.endpoints[rank as usize].inbox;
        let first = inbox.first;
        if first == NONE {
            return self.take_ended(rank, now);
        }
        inbox.pop(&mut self.transits);
        Some(self.transits.remove(first).event)
    }

    /// Takes the next parked rank with events to handle.
    #[inline]
    pub(crate) fn take_called(&mut self) -> Option<u32> {
        let rank = self.called.pop_front()?;
        let endpoint = &mut self.endpoints[rank as usize];
        // A rank that stays parked asks for the ends of sends once more.
        (endpoint.called, endpoint.awaits_sends) = (false, false);
        Some(rank)
    }
}
