//! A queue pair of either service, for the adapter, which treats both alike.

use super::datagram::DatagramQueuePair;
use super::{RcQueuePair, Transmit};
use crate::adapter::AdapterParts;
use crate::wire::Packet;
use crate::{
    DatagramRequest, QpAttributes, QpInitAttributes, QpModify, QueuePair, RecvRequest, SendRequest,
    VerbsError,
};

/// A queue pair of either service.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "connections are many, and are used without an indirection"
)]
pub(crate) enum AnyQueuePair {
    Rc(RcQueuePair),
    Ud(DatagramQueuePair),
}

/// Calls the same method of either queue pair.
macro_rules! either {
    ($self:expr, $qp:ident => $call:expr) => {
        match $self {
            Self::Rc($qp) => $call,
            Self::Ud($qp) => $call,
        }
    };
}

impl AnyQueuePair {
    pub(crate) const fn handle(&self) -> QueuePair {
        either!(self, qp => qp.handle)
    }

    pub(crate) const fn init(&self) -> &QpInitAttributes {
        either!(self, qp => &qp.init)
    }

    pub(crate) const fn attributes(&self) -> QpAttributes {
        either!(self, qp => qp.attributes)
    }

    pub(crate) fn post_send(
        &mut self,
        parts: &mut AdapterParts<'_>,
        request: &SendRequest<'_>,
    ) -> Result<(), VerbsError> {
        match self {
            Self::Rc(qp) => qp.post_send(parts, request),
            Self::Ud(_) => super::invalid("a queue pair of UD sends datagram requests".to_owned()),
        }
    }

    pub(crate) fn post_datagram(
        &mut self,
        parts: &mut AdapterParts<'_>,
        request: &DatagramRequest<'_>,
    ) -> Result<(), VerbsError> {
        match self {
            Self::Rc(_) => super::invalid("a queue pair of RC sends no datagrams".to_owned()),
            Self::Ud(qp) => qp.post_send(parts, request),
        }
    }

    pub(crate) fn post_recv(
        &mut self,
        parts: &mut AdapterParts<'_>,
        request: &RecvRequest<'_>,
    ) -> Result<(), VerbsError> {
        either!(self, qp => qp.post_recv(parts, request))
    }

    pub(crate) fn reserve_receives(&mut self, more: usize) {
        if let Self::Rc(qp) = self {
            qp.reserve_receives(more);
        }
    }

    pub(crate) fn modify(
        &mut self,
        parts: &mut AdapterParts<'_>,
        modify: &QpModify,
    ) -> Result<(), VerbsError> {
        either!(self, qp => qp.modify(parts, modify))
    }

    pub(crate) const fn free_places(&mut self, sends: u32, receives: u32) {
        either!(self, qp => qp.free_places(sends, receives));
    }

    pub(crate) fn handle_packet(&mut self, parts: &mut AdapterParts<'_>, packet: &Packet<'_>) {
        either!(self, qp => qp.handle_packet(parts, packet));
    }

    pub(crate) fn handle_timeout(&mut self, parts: &mut AdapterParts<'_>) {
        if let Self::Rc(qp) = self {
            qp.handle_timeout(parts);
        }
    }

    pub(crate) fn next_timeout(&self, now: u64) -> Option<u64> {
        match self {
            Self::Rc(qp) => qp.next_timeout(now),
            Self::Ud(_) => None,
        }
    }

    pub(crate) fn next_packet(
        &mut self,
        parts: &mut AdapterParts<'_>,
        payload: &mut Vec<u8>,
    ) -> Option<Transmit> {
        either!(self, qp => qp.next_packet(parts, payload))
    }

    pub(crate) fn enter_error(&mut self, parts: &mut AdapterParts<'_>) {
        either!(self, qp => qp.enter_error(parts));
    }
}
