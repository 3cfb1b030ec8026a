//! Forwarding: a message that is received only to be sent on, as one operation (M-1).
//!
//! Where packets are limited ([`Limits::packet`](crate::Limits::packet)) and the message goes by
//! rendezvous, each part leaves when it has come and all before it have: a chain of ranks is a
//! pipeline. n bytes in P packets over k hops that each take t seconds for a packet then take (P +
//! k − 1) t instead of k P t. Otherwise the message is sent on when it is there, as a receive and a
//! send would.
//!
//! *Not modelled*: what else a forwarding adapter could do by itself. The rank's message layer
//! forwards, beside its program.

use crate::channel::Channel;
use crate::protocol::engine::{ForwardTarget, ProtocolEngine};
use crate::{Buffer, Comm, PROC_NULL, Request, Result, Source, Tag};
use observe::SourceLocation;

/// In which memory the parts of a forwarded message wait until they leave. The buffer of the call
/// has the message in the end in any case.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum ForwardBuffering {
    /// In the buffer of the receive, from which they are sent: nothing is copied.
    #[default]
    Receiver,
    /// In packet buffers of the send: every part is copied into one and needs a free one.
    Sender,
    /// In a buffer of the given number of bytes, at least a packet: while it is full, the source
    /// does not get its credits back, so a slow destination holds the source up.
    Segment(u64),
    /// In temporary memory, from which they are copied into packet buffers and, in the end, into
    /// the buffer of the call.
    Temporary,
}

impl ForwardBuffering {
    /// Returns true if parts are sent from where they have come to.
    pub(crate) const fn is_direct(self) -> bool {
        matches!(self, Self::Receiver | Self::Segment(_))
    }
}

impl Comm {
    /// Starts to receive a message (`from`: source and tag) and to send it on as it comes (`to`:
    /// destination and tag). The request is over when the message has been received and sent; it
    /// says who sent it, and has its bytes.
    ///
    /// From the null process nothing comes and nothing is sent; to the null process it is a
    /// receive.
    ///
    /// # Errors
    /// As [`Comm::irecv`] and [`Comm::isend`]. Completing the request is
    /// [`Error::Truncated`](crate::Error::Truncated) if the message is longer than the buffer; it
    /// is not sent on then.
    #[track_caller]
    pub fn forward(
        &self,
        buffer: Buffer,
        from: (impl Into<Source>, impl Into<Tag>),
        to: (usize, u32),
        placement: ForwardBuffering,
    ) -> Result<Request> {
        let (source, tag, location) = (from.0.into(), from.1.into(), SourceLocation::caller());
        let mut envelope = self.envelope(to.1)?;
        envelope.signature = self.signature(&buffer, location);
        let pattern = self.pattern_or_null(source, tag)?;
        let (Some(pattern), true) = (pattern, to.0 != PROC_NULL) else {
            return self.irecv_at(buffer, source, tag, location);
        };
        let onward = ForwardTarget {
            peer: self.peer(to.0)?,
            envelope,
            placement,
        };
        let start = |engine: &mut ProtocolEngine, channel: &dyn Channel| {
            engine.forward(channel, pattern, buffer, onward, location)
        };
        let token = self.process().with_engine(start);
        Ok(Request::new(self, token))
    }
}
