//! Constructors of synchronisation objects, the same for an actor and before the simulation runs.

use crate::actor::Actor;
use crate::mailbox::Mailbox;
use crate::simulation::Simulation;
use crate::sync::{Barrier, Condvar, Mutex, Semaphore};

/// Writes the constructors for a type with a kernel.
macro_rules! constructors {
    ($type:ty) => {
        impl $type {
            /// The mailbox of that name, made on first use.
            #[must_use]
            pub fn mailbox(&self, name: &str) -> Mailbox {
                Mailbox::named(&self.kernel, name)
            }

            /// A mailbox without a name.
            #[must_use]
            pub fn new_mailbox(&self) -> Mailbox {
                Mailbox::unnamed(&self.kernel)
            }

            /// A mutex that is free.
            #[must_use]
            pub fn new_mutex(&self) -> Mutex {
                Mutex::new(&self.kernel)
            }

            /// A semaphore with `value` units.
            #[must_use]
            pub fn new_semaphore(&self, value: u32) -> Semaphore {
                Semaphore::new(&self.kernel, value)
            }

            /// A barrier for `size` actors.
            ///
            /// # Panics
            /// If `size` is 0.
            #[must_use]
            pub fn new_barrier(&self, size: u32) -> Barrier {
                Barrier::new(&self.kernel, size)
            }

            /// A condition variable.
            #[must_use]
            pub fn new_condvar(&self) -> Condvar {
                Condvar::new(&self.kernel)
            }
        }
    };
}

constructors!(Actor);
constructors!(Simulation);
