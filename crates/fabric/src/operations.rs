//! Notes of the operations of ranks and of their waits, in the order of each program: a run without
//! dates, which [`crate::optional_waits`] repeats with waits that MPI permits and the run did not
//! have.
//!
//! *Not noted*: one-sided accesses, computations, sleeps.

use std::cell::{Cell, RefCell};

use channel::{NotedOperation, SendCause, SendEnd};
use sim_core::SourceLocation;

/// The alternative of a rank to a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Alternative {
    /// The rank has none.
    None,
    /// The rank could continue when one of the operations in this part of the list was over, or at
    /// once if there is none.
    OneOf(u32, u32),
}

/// One note.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Note {
    /// An operation begins.
    Begin {
        operation: NotedOperation,
        location: SourceLocation,
        /// Of a receive: the step in which the message arrived.
        arrival: u32,
        /// Of a receive: the collective call with this receive.
        collective: Option<u32>,
    },
    /// The rank waits for the end of an operation.
    Wait {
        operation: u32,
        alternative: Alternative,
    },
    /// The rank waits for the message that arrived in this step.
    Probe {
        arrival: u32,
        alternative: Alternative,
        /// True if no other receive can get the message after that.
        takes: bool,
    },
}

/// The notes of one rank.
#[derive(Debug, Default)]
pub(crate) struct RankNotes {
    pub(crate) notes: RefCell<Vec<Note>>,
    /// The operations of all alternatives.
    pub(crate) alternatives: RefCell<Vec<u32>>,
    looks: Cell<Option<(u32, u32)>>,
    /// The send of the message that was posted last, or is next.
    pub(crate) send: Cell<u32>,
}

impl RankNotes {
    pub(crate) fn clear_notes(&mut self) {
        self.notes.get_mut().clear();
        self.alternatives.get_mut().clear();
        self.looks.set(None);
        self.send.set(0);
    }

    pub(crate) fn begin_operation(
        &self,
        operation: NotedOperation,
        location: SourceLocation,
    ) -> u32 {
        let number = self.add_note(Note::Begin {
            operation,
            location,
            arrival: SendCause::NONE,
            collective: None,
        });
        if let NotedOperation::Send { .. } = operation {
            self.send.set(number);
        }
        number
    }

    fn add_note(&self, note: Note) -> u32 {
        let mut notes = self.notes.borrow_mut();
        notes.push(note);
        in_32_bits(notes.len() - 1)
    }

    pub(crate) fn set_send_end(&self, send: u32, send_end: SendEnd) {
        if let Note::Begin {
            operation: NotedOperation::Send { end, .. },
            ..
        } = &mut self.notes.borrow_mut()[send as usize]
        {
            *end = send_end;
        }
    }

    pub(crate) fn note_part(&self, receive: u32, of: u32) {
        if let Note::Begin { collective, .. } = &mut self.notes.borrow_mut()[receive as usize] {
            *collective = Some(of);
        }
    }

    pub(crate) fn note_met(&self, receive: u32, step: u32) {
        if let Note::Begin { arrival, .. } = &mut self.notes.borrow_mut()[receive as usize] {
            *arrival = step;
        }
    }

    pub(crate) fn note_wait(&self, operation: u32) {
        let alternative = self.current_alternative();
        self.add_note(Note::Wait {
            operation,
            alternative,
        });
    }

    pub(crate) fn note_seen(&self, arrival: u32, takes: bool) {
        let alternative = self.current_alternative();
        self.add_note(Note::Probe {
            arrival,
            alternative,
            takes,
        });
    }

    fn current_alternative(&self) -> Alternative {
        let looks = self.looks.get();
        looks.map_or(Alternative::None, |(first, end)| {
            Alternative::OneOf(first, end)
        })
    }

    pub(crate) fn begin_look(&self) {
        let first = in_32_bits(self.alternatives.borrow().len());
        self.looks.set(Some((first, first)));
    }

    /// Adds an operation that could end the waits of the look.
    pub(crate) fn add_alternative(&self, operation: u32) {
        self.alternatives.borrow_mut().push(operation);
        let more = |(first, end): (u32, u32)| (first, end + 1);
        self.looks.set(self.looks.get().map(more));
    }

    pub(crate) fn end_look(&self) {
        self.looks.set(None);
    }
}

fn in_32_bits(number: usize) -> u32 {
    u32::try_from(number).expect("notes are counted in 32 bits")
}
