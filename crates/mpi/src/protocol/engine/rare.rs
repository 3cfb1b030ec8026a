//! State that few ranks have: records for a model checker and an observer, parts of a library.

use observe::SourceLocation;

use super::causality::{CausalityRecord, find_causes};
use super::library::Library;
use super::observation::RankObserver;
use crate::Envelope;
use crate::channel::{Channel, Token};
use crate::exploration::causality;
use crate::matching::{Arrival, UnexpectedMessage};

/// The requests that the program has dropped, under a model checker.
#[derive(Clone, Debug, Default)]
pub(crate) struct DroppedRequests {
    /// Receives that were given up and have got their messages: the first message, where the
    /// receive was posted, and their number.
    pub(crate) lost: Option<Box<(Envelope, SourceLocation, u64)>>,
    /// Requests that were dropped and never waited for: where the first one was started, and their
    /// number.
    pub(crate) forgotten: Option<(SourceLocation, u64)>,
}

/// State that few ranks have.
#[derive(Clone, Debug, Default)]
pub(crate) struct RareState(pub(super) Option<Box<RareParts>>);

#[derive(Clone, Debug, Default)]
pub(super) struct RareParts {
    /// The operation that ends when the rank is not busy any more, if a future waits for the end,
    /// and the date.
    pub(super) catching_up: Option<(f64, Token)>,
    pub(super) dropped: DroppedRequests,
    /// Messages that a matched probe had taken and that no receive got.
    pub(super) returned: Vec<UnexpectedMessage>,
    /// For a model checker only: the arrivals that ended operations.
    pub(super) causality: Option<Box<CausalityRecord>>,
    pub(super) observation: Option<RankObserver>,
    pub(super) library: Option<Box<Library>>,
}

impl RareState {
    /// Returns the parts, which are empty at first.
    pub(super) fn insert_parts(&mut self) -> &mut RareParts {
        self.0.get_or_insert_default()
    }

    /// Returns true if there is none: then the engine has only events to handle.
    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Returns true if messages wait that were given back.
    #[inline]
    pub(crate) fn has_returned(&self) -> bool {
        let parts = self.0.as_ref();
        parts.is_some_and(|parts| !parts.returned.is_empty())
    }

    /// Returns the parts of a library that a platform sets.
    pub(super) fn library(&self) -> Option<&Library> {
        self.0.as_ref()?.library.as_deref()
    }

    /// Returns the parts of a library that a platform sets, to change their state.
    pub(super) fn library_mut(&mut self) -> Option<&mut Library> {
        self.0.as_mut()?.library.as_deref_mut()
    }

    /// Returns true under a model checker.
    pub(crate) fn is_explored(&self) -> bool {
        self.causality().is_some()
    }

    /// Returns the causality record under a model checker.
    #[inline]
    pub(crate) fn causality(&self) -> Option<&CausalityRecord> {
        self.0.as_ref()?.causality.as_deref()
    }

    /// Returns the causality record under a model checker, to change the record.
    #[inline]
    pub(crate) fn causality_mut(&mut self) -> Option<&mut CausalityRecord> {
        self.0.as_mut()?.causality.as_deref_mut()
    }

    /// No arrival is being handled any more.
    pub(crate) fn note_handled(&mut self, channel: &dyn Channel) {
        if let Some((record, causes)) = find_causes(self, channel) {
            record.arrival = Arrival::NONE;
            causes.set_send_cause(None);
        }
    }

    /// Returns true if the program knows that an operation is over.
    pub(crate) fn is_told(&self, token: Token) -> bool {
        self.causality().is_some_and(|record| record.is_told(token))
    }

    /// Reports the arrivals that the program has learned.
    pub(crate) fn report_observed(&mut self, channel: &dyn Channel) {
        if let Some(record) = self.causality_mut()
            && record.has_observed()
            && let Some(causes) = causality(channel)
        {
            record.report_observed(causes);
        }
    }

    /// Returns the observation of the rank, if there is an observer.
    #[inline]
    pub(super) fn observation(&self) -> Option<&RankObserver> {
        self.0.as_ref()?.observation.as_ref()
    }

    /// Returns the observation of the rank, if there is an observer, to change its state.
    #[inline]
    pub(crate) fn observation_mut(&mut self) -> Option<&mut RankObserver> {
        self.0.as_mut()?.observation.as_mut()
    }

    /// Returns the requests that the program has dropped, if they are known.
    pub(crate) fn dropped_requests(&self) -> Option<&DroppedRequests> {
        self.0.as_ref().map(|parts| &parts.dropped)
    }

    /// Gives back an extracted message that was not received: it waits again, behind the messages
    /// that have arrived.
    pub(crate) fn give_back(&mut self, message: UnexpectedMessage) {
        self.insert_parts().returned.push(message);
    }
}
