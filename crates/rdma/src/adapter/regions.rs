//! Registered memory: keys, bounds, rights, and the bytes themselves. IBA 10.6.
//!
//! *Not modelled*: memory windows, and keys that a program chooses.

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use super::zeroed::Zeroed;
use crate::{Access, MemoryRegion, ProtectionDomain, RegionMemory, Sge};

/// The bytes of a region.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Bytes {
    Zeroed(Zeroed),
    Owned(Vec<u8>),
    ReadOnly(Rc<Vec<u8>>),
}

/// A registered region.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Region {
    pub(crate) pd: ProtectionDomain,
    pub(crate) region: MemoryRegion,
    access: Access,
    bytes: Bytes,
}

impl Region {
    /// Returns the bytes of a range; `None` if the range is not within the region.
    pub(crate) fn range(&mut self, range: Range<usize>) -> Option<&[u8]> {
        match &mut self.bytes {
            Bytes::Zeroed(bytes) => bytes.range(range).map(|bytes| &*bytes),
            Bytes::Owned(bytes) => bytes.get(range),
            Bytes::ReadOnly(bytes) => bytes.get(range),
        }
    }

    /// Returns the bytes of a range to write to; `None` if the range is not within the region, or
    /// the region is read-only.
    pub(crate) fn range_mut(&mut self, range: Range<usize>) -> Option<&mut [u8]> {
        match &mut self.bytes {
            Bytes::Zeroed(bytes) => bytes.range(range),
            Bytes::Owned(bytes) => bytes.get_mut(range),
            Bytes::ReadOnly(_) => None,
        }
    }

    /// Returns true if the region is only read.
    pub(crate) const fn is_read_only(&self) -> bool {
        matches!(self.bytes, Bytes::ReadOnly(_))
    }

    pub(crate) fn into_memory(self) -> RegionMemory {
        match self.bytes {
            Bytes::Zeroed(bytes) => RegionMemory::Zeroed(bytes.len() as u64),
            Bytes::Owned(bytes) => RegionMemory::Owned(bytes),
            Bytes::ReadOnly(bytes) => RegionMemory::ReadOnly(bytes),
        }
    }

    /// Returns the offset of `length` bytes at `address`, if they lie within the region.
    fn offset(&self, address: u64, length: u64) -> Option<usize> {
        let offset = address.checked_sub(self.region.addr)?;
        let end = offset.checked_add(length)?;
        (end <= self.region.length).then(|| usize::try_from(offset).ok())?
    }
}

/// A key, an address or a right does not permit the access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AccessDenied;

/// The regions of an adapter, by their handles. A key is the handle shifted by eight bits, with a
/// low byte that differs between the local and the remote key.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(crate) struct Regions {
    regions: BTreeMap<u32, Region>,
    /// The address of the next region.
    next_address: u64,
    /// Bytes registered.
    pub(crate) registered: u64,
}

/// The low bytes of keys.
const LKEY: u32 = 0x4C;
const RKEY: u32 = 0xA7;

/// The address of the first region; also the distance that is left between regions.
const PAGE: u64 = 4096;

impl Regions {
    /// Registers memory under `handle`.
    pub(crate) fn insert(
        &mut self,
        handle: u32,
        pd: ProtectionDomain,
        memory: RegionMemory,
        access: Access,
    ) -> MemoryRegion {
        let length = memory.len();
        self.next_address += PAGE;
        let region = MemoryRegion {
            handle,
            addr: self.next_address,
            length,
            lkey: handle << 8 | LKEY,
            rkey: handle << 8 | RKEY,
        };
        self.next_address += length.next_multiple_of(PAGE);
        self.registered += length;
        let bytes = match memory {
            RegionMemory::Zeroed(length) => {
                Bytes::Zeroed(Zeroed::new(usize::try_from(length).unwrap_or(usize::MAX)))
            }
            RegionMemory::Owned(bytes) => Bytes::Owned(bytes),
            RegionMemory::ReadOnly(bytes) => Bytes::ReadOnly(bytes),
        };
        let entry = Region {
            pd,
            region,
            access,
            bytes,
        };
        self.regions.insert(handle, entry);
        region
    }

    pub(crate) fn remove(&mut self, handle: u32) -> Option<Region> {
        let removed = self.regions.remove(&handle)?;
        self.registered -= removed.region.length;
        Some(removed)
    }

    pub(crate) fn get_mut(&mut self, handle: u32) -> Option<&mut Region> {
        self.regions.get_mut(&handle)
    }

    pub(crate) fn uses(&self, pd: ProtectionDomain) -> bool {
        self.regions.values().any(|region| region.pd == pd)
    }

    /// Returns the handle and the offset of memory that a queue pair of `pd` may access through
    /// `key`. The low byte of the key is `kind`.
    fn find_region(
        &self,
        (key, kind): (u32, u32),
        pd: ProtectionDomain,
        (address, length): (u64, u64),
        rights: Access,
    ) -> Result<(u32, usize), AccessDenied> {
        if key & 0xFF != kind {
            return Err(AccessDenied);
        }
        let region = self.regions.get(&(key >> 8)).ok_or(AccessDenied)?;
        if region.pd != pd || !region.access.contains(rights) {
            return Err(AccessDenied);
        }
        let offset = region.offset(address, length).ok_or(AccessDenied)?;
        Ok((key >> 8, offset))
    }

    /// Checks that a remote request may access `length` bytes at `address`. A request of no bytes
    /// needs no key.
    pub(crate) fn check_remote(
        &self,
        rkey: u32,
        pd: ProtectionDomain,
        place: (u64, u64),
        rights: Access,
    ) -> Result<(), AccessDenied> {
        if place.1 == 0 {
            return Ok(());
        }
        self.find_region((rkey, RKEY), pd, place, rights)
            .map(|_| ())
    }

    /// Returns the bytes that a remote read names.
    pub(crate) fn remote(
        &mut self,
        rkey: u32,
        pd: ProtectionDomain,
        (address, length): (u64, u32),
    ) -> Result<&[u8], AccessDenied> {
        if length == 0 {
            return Ok(&[]);
        }
        let place = (address, u64::from(length));
        let (handle, offset) = self.find_region((rkey, RKEY), pd, place, Access::REMOTE_READ)?;
        let region = self.regions.get_mut(&handle).ok_or(AccessDenied)?;
        region
            .range(offset..offset + length as usize)
            .ok_or(AccessDenied)
    }

    /// Returns the `length` bytes that a remote write or atomic names.
    pub(crate) fn remote_mut(
        &mut self,
        rkey: u32,
        pd: ProtectionDomain,
        (address, length): (u64, usize),
        rights: Access,
    ) -> Result<&mut [u8], AccessDenied> {
        if length == 0 {
            return Ok(&mut []);
        }
        let place = (address, length as u64);
        let (handle, offset) = self.find_region((rkey, RKEY), pd, place, rights)?;
        let region = self.regions.get_mut(&handle).ok_or(AccessDenied)?;
        region
            .range_mut(offset..offset + length)
            .ok_or(AccessDenied)
    }

    /// Checks the local keys of scatter/gather entries.
    pub(crate) fn check_local(
        &self,
        sges: &[Sge],
        pd: ProtectionDomain,
        rights: Access,
    ) -> Result<(), AccessDenied> {
        for sge in sges {
            let place = (sge.addr, u64::from(sge.length));
            self.find_region((sge.lkey, LKEY), pd, place, rights)?;
        }
        Ok(())
    }

    /// Appends `length` bytes, from `offset` on, of the memory that the entries name.
    pub(crate) fn gather_bytes(
        &mut self,
        sges: &[Sge],
        pd: ProtectionDomain,
        (mut offset, mut length): (u64, usize),
        into: &mut Vec<u8>,
    ) -> Result<(), AccessDenied> {
        for sge in sges {
            let entry = u64::from(sge.length);
            if offset >= entry {
                offset -= entry;
                continue;
            }
            if length == 0 {
                break;
            }
            let part = length.min((entry - offset) as usize);
            let place = (sge.addr.wrapping_add(offset), part as u64);
            let (handle, at) = self.find_region((sge.lkey, LKEY), pd, place, Access::NONE)?;
            let region = self.regions.get_mut(&handle).ok_or(AccessDenied)?;
            into.extend_from_slice(region.range(at..at + part).ok_or(AccessDenied)?);
            length -= part;
            offset = 0;
        }
        Ok(())
    }

    /// Writes `bytes` to the memory of the entries, from `offset` on. Bytes that do not fit are
    /// dropped.
    pub(crate) fn scatter_bytes(
        &mut self,
        sges: &[Sge],
        pd: ProtectionDomain,
        mut offset: u64,
        mut bytes: &[u8],
    ) -> Result<(), AccessDenied> {
        for sge in sges {
            let entry = u64::from(sge.length);
            if offset >= entry {
                offset -= entry;
                continue;
            }
            if bytes.is_empty() {
                break;
            }
            let part = bytes.len().min((entry - offset) as usize);
            let (now, rest) = bytes.split_at(part);
            let place = (sge.addr.wrapping_add(offset), part as u64);
            let (handle, at) =
                self.find_region((sge.lkey, LKEY), pd, place, Access::LOCAL_WRITE)?;
            let region = self.regions.get_mut(&handle).ok_or(AccessDenied)?;
            let memory = region.range_mut(at..at + part).ok_or(AccessDenied)?;
            memory.copy_from_slice(now);
            bytes = rest;
            offset = 0;
        }
        Ok(())
    }
}
