//! Memory of `MPI_Win_allocate_shared`: all ranks share it, because they are in one process.

use std::cell::{OnceCell, RefCell};
use std::rc::{Rc, Weak};

/// Memory in which each rank of a communicator has a part.
#[derive(Debug)]
pub(crate) struct SharedMemory {
    /// Lengths in bytes of the parts, by rank; `None` of a rank that has not called yet.
    lengths: RefCell<Vec<Option<usize>>>,
    words: OnceCell<Box<[u64]>>,
}

/// Shared memory of all communicators, by their identities.
#[derive(Default, Debug)]
pub(crate) struct SharedMemories(RefCell<Vec<(Identity, Weak<SharedMemory>)>>);

/// The numbers of a communicator that no other one has.
type Identity = (u32, u32);

impl SharedMemories {
    /// Adds the part of a rank to the first memory of a communicator without a part of this rank.
    /// All ranks create their windows in the same order.
    pub(crate) fn join(
        &self,
        identity: Identity,
        (rank, size): (usize, usize),
        length: usize,
    ) -> Rc<SharedMemory> {
        let mut all = self.0.borrow_mut();
        all.retain(|(_, memory)| memory.strong_count() > 0);
        let known = all.iter().filter(|(other, _)| *other == identity);
        let mut known = known.filter_map(|(_, memory)| memory.upgrade());
        let known = known.find(|memory| memory.lengths.borrow()[rank].is_none());
        let memory = known.unwrap_or_else(|| {
            let memory = Rc::new(SharedMemory {
                lengths: RefCell::new(vec![None; size]),
                words: OnceCell::new(),
            });
            all.push((identity, Rc::downgrade(&memory)));
            memory
        });
        memory.lengths.borrow_mut()[rank] = Some(length);
        memory
    }
}

impl SharedMemory {
    /// Returns the length in bytes of the part of a rank.
    pub(crate) fn length(&self, rank: usize) -> usize {
        self.lengths.borrow()[rank].unwrap_or(0)
    }

    /// Returns the address of the part of a rank, when all ranks have called.
    pub(crate) fn start(&self, rank: usize) -> usize {
        let lengths = self.lengths.borrow();
        let sum = |lengths: &[Option<usize>]| lengths.iter().flatten().sum::<usize>();
        let words = || vec![0; sum(&lengths).div_ceil(8)].into_boxed_slice();
        self.words.get_or_init(words).as_ptr() as usize + sum(&lengths[..rank])
    }

    /// Returns the first rank with a part that is not empty, or 0.
    pub(crate) fn first(&self) -> usize {
        let lengths = self.lengths.borrow();
        lengths
            .iter()
            .position(|length| length.is_some_and(|length| length > 0))
            .unwrap_or(0)
    }
}
