//! Memory that the adapter accesses: of outgoing messages, of incoming messages, of windows.
//!
//! *Decided here*: which messages are copied through memory that stays registered, and which memory
//! is registered itself. *Not modelled*: registering a part of the memory of a buffer.

use std::rc::Rc;

use channel::{Buffer, Failure, RegisteredMemory};
use rdma::{
    Access, MemoryRegion, ProtectionDomain, RegionMemory, RegisterError, Verbs, VerbsError,
};

use super::bounce_buffers::BounceBuffers;
use super::device::{Device, ReceiveRegion};
use super::options::{Options, Rendezvous};
use super::registrations::{RegistrationCache, SendOrigin};

/// The memory of a device: registrations of messages, and memory for their copies.
#[derive(Debug)]
pub(crate) struct MessageMemory {
    verbs: Rc<dyn Verbs>,
    pub(crate) pd: ProtectionDomain,
    /// The longest message that travels as a packet, in bytes.
    capacity: u64,
    pub(crate) registrations: RegistrationCache,
    copies: BounceBuffers,
    /// Zeros: the bytes of phantom messages in transit.
    zeros: Rc<Vec<u8>>,
}

impl MessageMemory {
    /// Returns memory in a new protection domain.
    pub(crate) fn new(verbs: Rc<dyn Verbs>, options: &Options) -> Result<Self, VerbsError> {
        let pd = verbs.alloc_pd()?;
        let access = match options.rendezvous {
            Rendezvous::Write => Access::NONE,
            Rendezvous::Read => Access::REMOTE_READ,
        };
        let kept = (options.reg_cache_entries, options.reg_cache_size);
        let copied = if options.reg_cache_entries == 0 {
            (0, 0)
        } else {
            (
                options.bounce_max.min(options.reg_cache_size),
                options.reg_cache_size,
            )
        };
        let both_ways = access | Access::LOCAL_WRITE | Access::REMOTE_WRITE;
        Ok(Self {
            pd,
            capacity: options.capacity(),
            registrations: RegistrationCache::new(pd, access, kept),
            copies: BounceBuffers::new(pd, both_ways, copied),
            zeros: Rc::default(),
            verbs,
        })
    }

    /// Where the adapter finds the first `length` bytes of this memory.
    pub(crate) fn register_source(
        &mut self,
        memory: &Rc<Vec<u8>>,
        length: u64,
    ) -> Result<(SendOrigin, MemoryRegion), RegisterError> {
        // A message as short as a packet is copied, as packets are.
        let is_short = length <= self.capacity;
        if self.copies.accepts_length(length) && (is_short || self.registrations.is_new(memory)) {
            let bytes = usize::try_from(length).map_or(&memory[..], |length| &memory[..length]);
            if let Some(region) = self.copies.take_region(&*self.verbs, length) {
                if self.verbs.write_mr(&region, 0, bytes).is_ok() {
                    return Ok((SendOrigin::Copy(region), region));
                }
                self.copies.give_back(&*self.verbs, region);
            }
        }
        match self.registrations.take_registration(&*self.verbs, memory) {
            // What is kept for copies may be all there is room for.
            Err(_) if self.copies.clear_cache(&*self.verbs) => {
                self.registrations.take_registration(&*self.verbs, memory)
            }
            taken => taken,
        }
    }

    /// A message has left.
    pub(crate) fn give_back(&mut self, origin: SendOrigin) {
        match origin {
            SendOrigin::Own(key) => self.registrations.give_back(&*self.verbs, key),
            SendOrigin::Copy(region) => self.copies.give_back(&*self.verbs, region),
        }
    }

    /// Zeros: this number or more.
    pub(crate) fn provide_zeros(&mut self, length: u64) -> Rc<Vec<u8>> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if self.zeros.len() < length {
            self.zeros = Rc::new(vec![0; length]);
        }
        Rc::clone(&self.zeros)
    }

    /// Memory in which a message of the given number of bytes arrives, which is a phantom or not
    /// and written by the other side or not.
    pub(crate) fn provide_landing(
        &mut self,
        length: u64,
        (is_phantom, is_written): (bool, bool),
    ) -> Option<ReceiveRegion> {
        let copied = self.copies.take_region(&*self.verbs, length);
        let is_copied = copied.is_some();
        let register = || {
            let access = if is_written {
                Access::LOCAL_WRITE | Access::REMOTE_WRITE
            } else {
                Access::LOCAL_WRITE
            };
            let memory = RegionMemory::Owned(vec![0; usize::try_from(length).ok()?]);
            self.register_memory(memory, access).ok()
        };
        Some(ReceiveRegion {
            region: copied.or_else(register)?,
            length,
            is_copied,
            is_phantom,
            answer: None,
        })
    }

    /// Registers memory. If there is no room, kept registrations are released first.
    fn register_memory(
        &mut self,
        memory: RegionMemory,
        access: Access,
    ) -> Result<MemoryRegion, RegisterError> {
        self.verbs
            .reg_mr(self.pd, memory, access)
            .or_else(|refused| {
                // What is kept of messages that have left may be all there is room for.
                self.registrations.drop_idle(&*self.verbs, 0, 0);
                self.copies.clear_cache(&*self.verbs);
                self.verbs.reg_mr(self.pd, refused.memory, access)
            })
    }

    /// Copies a message out of memory that stays registered.
    pub(crate) fn copy_message(&mut self, landing: &ReceiveRegion) -> Result<Buffer, VerbsError> {
        let message = if landing.is_phantom {
            Ok(Buffer::phantom(landing.length))
        } else {
            let mut bytes = vec![0; usize::try_from(landing.length).unwrap_or(0)];
            let copied = self.verbs.read_mr(&landing.region, 0, &mut bytes);
            copied.map(|()| Buffer::from(bytes))
        };
        self.copies.give_back(&*self.verbs, landing.region);
        message
    }

    /// Ends all kept registrations.
    pub(crate) fn release_all(&mut self) {
        self.registrations.drop_all(&*self.verbs);
        self.copies.clear_cache(&*self.verbs);
    }
}

impl Device {
    pub(crate) fn fail_landing(&mut self, number: u32) {
        let what = "a message of that length".to_owned();
        self.fail(number, Failure::NoMemory, what);
    }

    /// Registers the memory of a window.
    pub fn register_window(
        &mut self,
        memory: RegionMemory,
    ) -> Result<RegisteredMemory, RegionMemory> {
        let access = Access::LOCAL_WRITE | Access::REMOTE_WRITE | Access::REMOTE_READ;
        match self.memory.register_memory(memory, access) {
            Ok(region) => Ok(RegisteredMemory {
                verbs: Rc::clone(&self.verbs),
                region,
            }),
            Err(refused) => Err(refused.memory),
        }
    }
}
