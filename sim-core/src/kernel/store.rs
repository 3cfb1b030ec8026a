//! Objects that are counted from 0, with records that are used again after a restart.
//!
//! A restart forgets the objects and keeps their memory. So a model checker, which runs a program
//! millions of times, allocates no memory for them after the first run.

use std::ops::{Index, IndexMut};

use super::{Activities, Mailboxes};
use super::{barriers::BarrierRecord, condvars::CondvarRecord};
use super::{mutexes::MutexRecord, semaphores::SemaphoreRecord};

/// A record that can be reset without losing its memory.
pub(crate) trait Recycle: Default {
    fn recycle(&mut self);
}

/// Records by number.
#[derive(Debug)]
pub(crate) struct ObjectStore<T> {
    records: Vec<T>,
    used: usize,
}

impl<T> Default for ObjectStore<T> {
    fn default() -> Self {
        Self {
            records: Vec::new(),
            used: 0,
        }
    }
}

impl<T: Recycle> ObjectStore<T> {
    /// Adds a record; returns the number and the record.
    pub(crate) fn add(&mut self) -> (u32, &mut T) {
        let number = u32::try_from(self.used).expect("objects are counted in 32 bits");
        if self.used == self.records.len() {
            self.records.push(T::default());
        }
        self.used += 1;
        (number, &mut self.records[number as usize])
    }

    /// Forgets all records.
    pub(crate) fn recycle(&mut self) {
        for record in &mut self.records[..self.used] {
            record.recycle();
        }
        self.used = 0;
    }
}

impl<T> ObjectStore<T> {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.records[..self.used].iter()
    }

    pub(crate) fn get_mut(&mut self, number: usize) -> Option<&mut T> {
        self.records[..self.used].get_mut(number)
    }
}

impl<T> Index<usize> for ObjectStore<T> {
    type Output = T;

    #[inline]
    fn index(&self, number: usize) -> &T {
        &self.records[number]
    }
}

impl<T> IndexMut<usize> for ObjectStore<T> {
    #[inline]
    fn index_mut(&mut self, number: usize) -> &mut T {
        &mut self.records[number]
    }
}

/// The objects through which actors meet.
#[derive(Default)]
pub(crate) struct Objects {
    pub(crate) activities: Activities,
    pub(crate) mailboxes: Mailboxes,
    pub(super) mutexes: ObjectStore<MutexRecord>,
    pub(crate) semaphores: ObjectStore<SemaphoreRecord>,
    pub(crate) barriers: ObjectStore<BarrierRecord>,
    pub(super) condvars: ObjectStore<CondvarRecord>,
}

impl Objects {
    /// Forgets all objects and keeps their memory.
    pub(super) fn recycle(&mut self) {
        self.activities.recycle();
        self.mailboxes.recycle();
        self.mutexes.recycle();
        self.semaphores.recycle();
        self.barriers.recycle();
        self.condvars.recycle();
    }
}
