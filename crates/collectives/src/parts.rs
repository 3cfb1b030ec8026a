//! Execution of an algorithm as a part of another one.

use crate::steps::Renamed;
use crate::{Algorithm, Area, Call, Steps};

/// The areas of a part within the areas of the algorithm: an area and the first byte in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places {
    pub(crate) send: (Area, u64),
    pub(crate) recv: (Area, u64),
    /// The first byte of `Temp` that belongs to the part.
    pub(crate) temp: u64,
}

impl Places {
    /// The same areas, but for `temp` bytes of the algorithm's own memory.
    pub(crate) const fn behind(temp: u64) -> Self {
        Self {
            send: (Area::Send, 0),
            recv: (Area::Recv, 0),
            temp,
        }
    }

    /// Makes the steps of a round of a part.
    pub(crate) fn run(self, algorithm: &Algorithm, call: &Call, round: u32, steps: &mut dyn Steps) {
        self.within(steps, |steps| (algorithm.round)(call, round, steps));
    }

    /// Makes steps in these areas.
    pub(crate) fn within(self, steps: &mut dyn Steps, make: impl FnOnce(&mut dyn Steps)) {
        // Each area is renamed before another one gets its name.
        let send = &mut Renamed {
            steps,
            from: Area::Send,
            to: self.send.0,
            offset: self.send.1,
        };
        let recv = &mut Renamed {
            steps: send,
            from: Area::Recv,
            to: self.recv.0,
            offset: self.recv.1,
        };
        let mut temp = Renamed {
            steps: recv,
            from: Area::Temp,
            to: Area::Temp,
            offset: self.temp,
        };
        make(&mut temp);
    }
}
