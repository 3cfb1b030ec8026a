//! Memory that an adapter may access: its owner, and the permitted accesses.
//!
//! While memory is registered, the adapter and remote peers with the key read and write the memory
//! whenever requests name the memory. So no Rust reference to this memory may exist: the adapter
//! owns it, and the program copies data in and out ([`Verbs::write_mr`](crate::Verbs::write_mr),
//! [`Verbs::read_mr`](crate::Verbs::read_mr)). A borrowed region would be unsound: after
//! `mem::forget` the adapter writes to freed memory. A slice of cells is sound within one thread
//! only, and `unsafe` methods would make the message layer `unsafe`. No copy is needed for memory
//! that is *given* to the adapter and taken back:
//!
//! * [`RegionMemory::ReadOnly`] shares bytes that do not change while they are shared: a message
//!   can leave directly from its buffer.
//! * [`RegionMemory::Owned`] is given away and comes back from
//!   [`Verbs::dereg_mr`](crate::Verbs::dereg_mr): a message can arrive in the buffer that the
//!   program then has.
//!
//! Not modelled: memory windows, on-demand paging, zero-based addresses, relaxed ordering, and
//! changing a registration (`ibv_rereg_mr(3)`). A cache of registrations can keep
//! [`RegionMemory::Zeroed`] regions and give out parts of them.

use std::ops::{BitOr, BitOrAssign};
use std::rc::Rc;

/// Access rights of memory, or of requests that come to a queue pair. `ibv_reg_mr(3)`, `enum
/// ibv_access_flags`; IBA 10.6.3. Local reading is always allowed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Access(u32);

impl Access {
    /// Only local reading.
    pub const NONE: Self = Self(0);
    /// The adapter may write to the memory: for receives, and for the results of reads and atomics.
    pub const LOCAL_WRITE: Self = Self(1);
    /// RDMA WRITE by the other side; needs [`LOCAL_WRITE`](Self::LOCAL_WRITE) too.
    pub const REMOTE_WRITE: Self = Self(1 << 1);
    /// RDMA READ by the other side.
    pub const REMOTE_READ: Self = Self(1 << 2);
    /// Atomics by the other side; needs [`LOCAL_WRITE`](Self::LOCAL_WRITE) too.
    pub const REMOTE_ATOMIC: Self = Self(1 << 3);
    /// Everything.
    pub const ALL: Self = Self(0b1111);

    /// The bits, as in `enum ibv_access_flags`.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Returns true if everything that `other` allows is allowed.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns true if memory with these rights may be written to, by the adapter or by the other
    /// side.
    #[must_use]
    pub const fn writes(self) -> bool {
        self.0 & (Self::LOCAL_WRITE.0 | Self::REMOTE_WRITE.0 | Self::REMOTE_ATOMIC.0) != 0
    }

    /// Returns true if memory may be registered with these rights: the right of remote writes or
    /// atomics requires the right of local writes. `ibv_reg_mr(3)`.
    #[must_use]
    pub const fn is_consistent(self) -> bool {
        !self.writes() || self.contains(Self::LOCAL_WRITE)
    }
}

impl BitOr for Access {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Access {
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}

/// Memory that a program gives to an adapter to register, and that the adapter gives back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RegionMemory {
    /// Zeros that the adapter allocates, aligned so that atomics can be used on
    /// them (8 bytes or more).
    Zeroed(u64),
    /// Bytes that the adapter owns until they are taken back. Their first byte has any alignment,
    /// and atomics need 8.
    Owned(Vec<u8>),
    /// Bytes that are only read. Whoever else holds them cannot change them either, for as long as
    /// the adapter holds them.
    ReadOnly(Rc<Vec<u8>>),
}

impl RegionMemory {
    /// The length in bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        match self {
            Self::Zeroed(length) => *length,
            Self::Owned(bytes) => bytes.len() as u64,
            Self::ReadOnly(bytes) => bytes.len() as u64,
        }
    }

    /// Returns true if the length is 0. No adapter registers that.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Registered memory. `ibv_reg_mr(3)`; IBA 10.6.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MemoryRegion {
    /// The adapter's number for the region.
    pub handle: u32,
    /// Address of the first byte of the region, for scatter/gather entries and remote peers.
    pub addr: u64,
    /// Length of the region in bytes.
    pub length: u64,
    /// The key for local use, in scatter/gather entries.
    pub lkey: u32,
    /// The key that a remote peer needs.
    pub rkey: u32,
}

impl MemoryRegion {
    /// Returns the scatter/gather entry of `length` bytes from `offset` on. The entry is not
    /// checked here: the adapter checks the entry when a request uses it.
    #[must_use]
    pub const fn sge(&self, offset: u64, length: u32) -> crate::Sge {
        crate::Sge {
            addr: self.addr.wrapping_add(offset),
            length,
            lkey: self.lkey,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_lets_others_write_must_let_the_adapter_write() {
        assert!(Access::NONE.is_consistent());
        assert!(Access::REMOTE_READ.is_consistent());
        assert!(!Access::REMOTE_WRITE.is_consistent());
        assert!(!Access::REMOTE_ATOMIC.is_consistent());
        assert!((Access::LOCAL_WRITE | Access::REMOTE_WRITE).is_consistent());
        assert!(Access::ALL.is_consistent());
    }
}
