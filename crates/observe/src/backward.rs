//! A reader of an event log from its end.
//!
//! Texts, hosts and links are not read: a [`LogReader`](crate::LogReader) that has read the log has
//! them.

use std::io::{self, Read, Seek, SeekFrom};

use crate::log::LogEntry;
use crate::numbering::NameId;
use crate::open::{self, EndedCall};
use crate::record::{RECORD_BYTES, Record, WORDS};

/// Number of bytes that are read at once.
const BLOCK: u64 = 32 * 1024 * RECORD_BYTES as u64;

/// An entry of a log that is read backwards, with the call, region or operation that it ends.
#[derive(Clone, PartialEq, Debug)]
pub struct BackwardEntry {
    /// The entry.
    pub entry: LogEntry,
    /// The call with the wait that an [`RankEvent::Continue`](crate::RankEvent::Continue) ends.
    pub call: Option<EndedCall>,
    /// The region that an [`RankEvent::Leave`](crate::RankEvent::Leave) ends.
    pub region: Option<NameId>,
    /// Rank 0 of the communicator of the operation that an
    /// [`RankEvent::CollectiveEnd`](crate::RankEvent::CollectiveEnd) ends.
    pub first: Option<u32>,
}

/// A reader of an event log from its end.
#[derive(Debug)]
pub struct BackwardReader<R> {
    input: R,
    /// Position of the buffer in the log.
    start: u64,
    /// Records before the one that was read last.
    buffer: Vec<u8>,
    /// Words of the flow with the next record, from the last record to the first.
    words: Vec<[u8; RECORD_BYTES]>,
}

impl<R: Read + Seek> BackwardReader<R> {
    /// Opens a log. A record that was not written whole is left out.
    pub fn new(mut input: R) -> io::Result<Self> {
        let length = input.seek(SeekFrom::End(0))?;
        Ok(Self {
            input,
            start: length - length % RECORD_BYTES as u64,
            buffer: Vec::new(),
            words: Vec::new(),
        })
    }

    /// Returns the entry before the one that was returned last; `None` at the beginning.
    pub fn next_entry(&mut self) -> io::Result<Option<BackwardEntry>> {
        while let Some(bytes) = self.next_record()? {
            if bytes[0] == WORDS {
                self.words.push(bytes);
                continue;
            }
            let record = Record::from_bytes(&bytes);
            let words = &mut self.words;
            let entry = LogEntry::from_record(&record, || Ok(words.pop()))?;
            words.clear();
            if let Some(entry) = entry {
                return Ok(Some(BackwardEntry {
                    entry,
                    call: open::ended_call(&record),
                    region: open::ended_region(&record),
                    first: open::ended_first(&record),
                }));
            }
        }
        Ok(None)
    }

    /// Returns the record before the one that was read last.
    fn next_record(&mut self) -> io::Result<Option<[u8; RECORD_BYTES]>> {
        if self.buffer.is_empty() {
            let length = self.start.min(BLOCK);
            self.start -= length;
            self.input.seek(SeekFrom::Start(self.start))?;
            let length = usize::try_from(length).unwrap_or(0);
            self.buffer.resize(length, 0);
            self.input.read_exact(&mut self.buffer)?;
        }
        let at = self.buffer.len().checked_sub(RECORD_BYTES);
        let Some(at) = at else {
            return Ok(None);
        };
        let mut bytes = [0; RECORD_BYTES];
        bytes.copy_from_slice(&self.buffer[at..]);
        self.buffer.truncate(at);
        Ok(Some(bytes))
    }
}
