//! Memory of messages after their senders have continued: a sender continues when an eager message
//! is copied, without delay by default.
//!
//! The bytes of such messages count for their sender until a receive has matched them. More than
//! [`STORED_MAX`] end the run, unless memory for unexpected messages is limited. Bytes that several
//! messages share count for each message. *Not counted*: phantoms.

use observe::SourceLocation;

use crate::Buffer;
use crate::channel::{AbortReason, Channel};
use crate::collectives::StoredBytes;
use crate::matching::UnexpectedContent;

/// Largest number of bytes that the messages of a rank take. Our choice: far more than a program
/// needs that works with an MPI library with one process per rank.
const STORED_MAX: u64 = 1 << 30;

/// Memory in bytes that a message takes besides its bytes: about the size of a flow and its packet.
const RECORD: u64 = 512;

impl StoredBytes {
    /// Notes a message of `source` after which its sender continues. Ends the run if they take too
    /// much memory.
    #[inline(always)]
    pub(super) fn note_sent(
        &self,
        channel: &dyn Channel,
        source: u32,
        (buffer, location): (&Buffer, SourceLocation),
    ) {
        if !buffer.is_phantom() && self.add_bytes(source, buffer.len() + RECORD) > STORED_MAX {
            end_if_unlimited(channel, location);
        }
    }

    /// Notes that a receive has met a message of a rank that has gone on.
    #[inline]
    pub(super) fn note_received(&self, source: u32, buffer: &Buffer) {
        if !buffer.is_phantom() {
            self.remove_bytes(source, buffer.len() + RECORD);
        }
    }

    /// Notes that a receive has matched a message or an announcement.
    pub(super) fn note_matched(
        &self,
        channel: &dyn Channel,
        source: u32,
        content: &UnexpectedContent,
    ) {
        match content {
            UnexpectedContent::Eager(buffer) | UnexpectedContent::Detached(buffer) => {
                self.note_received(source, buffer);
            }
            UnexpectedContent::Rts {
                length,
                detached: true,
                ..
            }
            | UnexpectedContent::Held { length, .. } => {
                if !channel.settings().phantom {
                    self.remove_bytes(source, length + RECORD);
                }
            }
            UnexpectedContent::Unready(content) => {
                self.note_matched(channel, source, content);
            }
            // Their senders wait.
            UnexpectedContent::Rts { .. } | UnexpectedContent::Synchronous { .. } => {}
        }
    }
}

#[cold]
fn end_if_unlimited(channel: &dyn Channel, location: SourceLocation) {
    let limits = channel.settings().limits.as_ref();
    if limits.is_none_or(|limits| limits.unexpected.is_none()) {
        let bytes = STORED_MAX;
        channel.abort(AbortReason::Unreceived { bytes, location });
    }
}
