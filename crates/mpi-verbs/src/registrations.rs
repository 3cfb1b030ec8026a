//! Registered memory of messages that are sent without a copy, and a cache of registrations.
//!
//! Registration takes long (the system pins the pages and the adapter learns their addresses), so a
//! registration is kept when its message has left: the same bytes may be sent again. The key of a
//! registration is its memory. The cache is bounded, in number and bytes: the least recently used
//! registration is ended first. A registration is ended at once when the program has no reference
//! to its memory any more.
//!
//! Memory that is sent for the first time is only noted: it may never be sent again, and a copy
//! takes less time (see [`copies`](super::bounce_buffers)).
//!
//! A registration shares the memory with the program's buffer. So a program that writes to a buffer
//! after a send gets a copy, as while the message is in transit. A program that refills its buffers
//! before each send can switch the cache off ([`Options::reg_cache_entries`]).
//!
//! [`Options::reg_cache_entries`]: super::Options::reg_cache_entries

use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use rdma::{Access, MemoryRegion, ProtectionDomain, RegionMemory, RegisterError, Verbs};

/// Key of a registration: the address of the memory. No other memory has this address while the
/// memory is registered.
pub(crate) type Key = usize;

/// Where the adapter finds a message that is sent.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SendOrigin {
    /// In the memory of the message, which is registered.
    Own(Key),
    /// In a copy of the message.
    Copy(MemoryRegion),
}

/// So much memory at most is noted as sent once.
const NOTED: usize = 1024;

#[derive(Debug)]
struct Registration {
    region: MemoryRegion,
    memory: Weak<Vec<u8>>,
    users: u32,
    last_use: u64,
}

/// The registrations of a device.
#[derive(Debug)]
pub(crate) struct RegistrationCache {
    pd: ProtectionDomain,
    access: Access,
    most: usize,
    most_bytes: u64,
    /// Never iterated over for anything that depends on the order.
    entries: BTreeMap<Key, Registration>,
    /// Memory that was sent once. The memory may be gone, but its address is not given to other
    /// memory while the entry exists.
    noted: BTreeMap<Key, Weak<Vec<u8>>>,
    bytes: u64,
    uses: u64,
    /// Number of registrations that were found, and number that were made.
    pub(crate) found: u64,
    pub(crate) made: u64,
}

impl RegistrationCache {
    pub(crate) const fn new(
        pd: ProtectionDomain,
        access: Access,
        (most, most_bytes): (usize, u64),
    ) -> Self {
        Self {
            pd,
            access,
            most,
            most_bytes,
            entries: BTreeMap::new(),
            noted: BTreeMap::new(),
            bytes: 0,
            uses: 0,
            found: 0,
            made: 0,
        }
    }

    /// Returns true if no send of this memory is recorded.
    pub(crate) fn is_new(&mut self, memory: &Rc<Vec<u8>>) -> bool {
        let key = Rc::as_ptr(memory).addr();
        if self.entries.contains_key(&key) || self.noted.remove(&key).is_some() {
            return false;
        }
        if self.noted.len() >= NOTED {
            self.noted.retain(|_, memory| memory.strong_count() > 0);
        }
        if self.noted.len() >= NOTED {
            self.noted.clear();
        }
        self.noted.insert(key, Rc::downgrade(memory));
        true
    }

    /// The registration of this memory, from now on in use.
    pub(crate) fn take_registration(
        &mut self,
        verbs: &dyn Verbs,
        memory: &Rc<Vec<u8>>,
    ) -> Result<(SendOrigin, MemoryRegion), RegisterError> {
        self.uses += 1;
        let key = Rc::as_ptr(memory).addr();
        if let Some(entry) = self.entries.get_mut(&key) {
            self.found += 1;
            entry.users += 1;
            entry.last_use = self.uses;
            return Ok((SendOrigin::Own(key), entry.region));
        }
        self.drop_unowned_regions(verbs);
        let (pd, access) = (self.pd, self.access);
        let register = || verbs.reg_mr(pd, RegionMemory::ReadOnly(Rc::clone(memory)), access);
        let region = match register() {
            Ok(region) => region,
            // What is kept may be all there is room for.
            Err(_) if self.drop_idle(verbs, 0, 0) => register()?,
            Err(error) => return Err(error),
        };
        self.made += 1;
        self.bytes += region.length;
        let entry = Registration {
            region,
            memory: Rc::downgrade(memory),
            users: 1,
            last_use: self.uses,
        };
        self.entries.insert(key, entry);
        Ok((SendOrigin::Own(key), region))
    }

    /// One use of a registration is over.
    pub(crate) fn give_back(&mut self, verbs: &dyn Verbs, key: Key) {
        if let Some(entry) = self.entries.get_mut(&key) {
            entry.users -= 1;
        }
        self.drop_unowned_regions(verbs);
        self.drop_idle(verbs, self.most, self.most_bytes);
    }

    /// Releases unused registrations of memory that only the adapter has.
    fn drop_unowned_regions(&mut self, verbs: &dyn Verbs) {
        let orphans = self.entries.extract_if(.., |_, entry| {
            entry.users == 0 && entry.memory.strong_count() <= 1
        });
        for (_, entry) in orphans {
            self.bytes -= entry.region.length;
            deregister_region(verbs, &entry.region);
        }
    }

    /// Releases unused registrations until at most `most` registrations with `most_bytes` bytes are
    /// left, or all of them are in use. Returns true if a registration was released.
    pub(crate) fn drop_idle(&mut self, verbs: &dyn Verbs, most: usize, most_bytes: u64) -> bool {
        let mut any = false;
        while self.entries.len() > most || self.bytes > most_bytes {
            let idle = self.entries.iter().filter(|(_, entry)| entry.users == 0);
            let Some((&key, _)) = idle.min_by_key(|(_, entry)| entry.last_use) else {
                break;
            };
            if let Some(entry) = self.entries.remove(&key) {
                self.bytes -= entry.region.length;
                deregister_region(verbs, &entry.region);
                any = true;
            }
        }
        any
    }

    /// Releases all registrations, also used ones: no queue pair that could use them is left.
    pub(crate) fn drop_all(&mut self, verbs: &dyn Verbs) {
        for (_, entry) in std::mem::take(&mut self.entries) {
            deregister_region(verbs, &entry.region);
        }
        self.bytes = 0;
    }
}

/// Deregisters a region. An error is ignored: then the adapter does not have the region either.
pub(crate) fn deregister_region(verbs: &dyn Verbs, region: &MemoryRegion) {
    let _ = verbs.dereg_mr(region);
}
