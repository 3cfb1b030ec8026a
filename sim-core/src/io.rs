//! Reading from and writing to disks.
//!
//! An actor finds a disk by its name in the platform. Any actor may use the disk; the bytes are not
//! sent to the host of the actor.
//!
//! *Not modelled*: files, sizes of disks, seeking, caches.

use crate::activity::{Activity, ActivityError};
use crate::kernel::ActivityKind;
use crate::operation::Operation;
use crate::{Actor, DiskId, HostId, Io};

impl Actor {
    /// The disk of that name at the actor's host.
    #[must_use]
    pub fn disk(&self, name: &str) -> Option<DiskId> {
        self.disk_of(self.host(), name)
    }

    /// The disk of that name at any host.
    ///
    /// # Panics
    /// If there is no such host.
    #[must_use]
    pub fn disk_of(&self, host: HostId, name: &str) -> Option<DiskId> {
        let kernel = self.kernel.borrow();
        kernel.actors.hosts.disk(host, name)
    }

    /// Reads `bytes` bytes from a disk.
    ///
    /// # Errors
    /// [`ActivityError`] if the host of the disk fails.
    ///
    /// # Panics
    /// If `bytes` is negative or not finite.
    #[track_caller]
    pub fn read(&self, disk: DiskId, bytes: f64) -> Operation<'_, Result<(), ActivityError>> {
        let slot = self.prepare_io(disk, Io::Read, bytes);
        self.run_prepared(slot)
    }

    /// Writes `bytes` bytes to a disk.
    ///
    /// # Errors
    /// [`ActivityError`] if the host of the disk fails.
    ///
    /// # Panics
    /// If `bytes` is negative or not finite.
    #[track_caller]
    pub fn write(&self, disk: DiskId, bytes: f64) -> Operation<'_, Result<(), ActivityError>> {
        let slot = self.prepare_io(disk, Io::Write, bytes);
        self.run_prepared(slot)
    }

    /// Starts to read `bytes` bytes from a disk without waiting for the end. [`Activity::update`]
    /// sets the priority.
    ///
    /// # Panics
    /// If `bytes` is negative or not finite.
    #[must_use]
    pub fn start_read(&self, disk: DiskId, bytes: f64) -> Activity {
        self.begin_prepared(self.prepare_io(disk, Io::Read, bytes))
    }

    /// Starts to write `bytes` bytes to a disk without waiting for the end. [`Activity::update`]
    /// sets the priority.
    ///
    /// # Panics
    /// If `bytes` is negative or not finite.
    #[must_use]
    pub fn start_write(&self, disk: DiskId, bytes: f64) -> Activity {
        self.begin_prepared(self.prepare_io(disk, Io::Write, bytes))
    }

    fn prepare_io(&self, disk: DiskId, operation: Io, bytes: f64) -> u32 {
        assert!(
            bytes >= 0.0 && bytes.is_finite(),
            "an amount of bytes must be finite and at least 0, not {bytes}"
        );
        let kind = ActivityKind::Io {
            disk,
            operation,
            priority: 1.0,
        };
        let mut kernel = self.kernel.borrow_mut();
        (kernel.objects.activities).prepare_work(self.id.0, kind, bytes, f64::INFINITY)
    }
}
