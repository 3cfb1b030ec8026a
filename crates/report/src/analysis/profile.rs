//! The profile of a path through a run: the time of the chain of causes up to a point of a rank, by
//! kind and place.
//!
//! Each rank and each packet under way carries the profile of the path that leads to it. A profile
//! grows along program order; a join takes the profile of the enabling side. At the end, the rank
//! that ends last has the profile of the critical path. Its parts add up to the time of the run.
//!
//! *Not exact*: the list of the heaviest places, which has room for few. A new place takes the sum
//! of the place that it replaces (Metwally et al., *Efficient computation of frequent and top-k
//! elements in data streams*, 2005): its error is at most this sum.

use std::rc::Rc;

use observe::NameId;

use super::flights::TransferParts;

/// Number of places that a profile lists.
const PLACES: usize = 6;

/// Number of kinds of time.
const KINDS: u32 = 8;

/// Words of a [`SharedProfile`] at most.
const WORDS_MAX: usize = 2 + KINDS as usize + 2 * PLACES;

/// Rank of the places of transfers: the transfers of all ranks are added up.
pub(crate) const NETWORK: u32 = u32::MAX;

/// Kinds of time on a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PathTime {
    /// Computation and sleep.
    Compute,
    /// Software cost of calls.
    Software,
    /// Packets on the way between ranks: their latency.
    Latency,
    /// Packets on the way: their length at the rate that they have alone.
    Bandwidth,
    /// Packets on the way: the time beyond the time of a transfer alone on its route.
    Contention,
    /// Packets on the way, of which the log does not tell the parts.
    Transfer,
    /// Waits for resources of the message layer.
    Resources,
    /// Waits with an unobserved cause.
    Other,
}

/// A place on a path: a call of a rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct PathPlace {
    pub(crate) rank: u32,
    pub(crate) call: NameId,
    pub(crate) place: NameId,
}

/// The profile of a path.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Profile {
    /// Seconds by [`PathTime`].
    pub(crate) times: [f64; KINDS as usize],
    /// Number of packets along the path.
    pub(crate) packets: u64,
    /// The heaviest places with their seconds.
    pub(crate) heaviest: [(PathPlace, f64); PLACES],
}

/// A profile of a rank or a packet. Ranks and packets with equal profiles share one profile. A
/// profile takes no memory for kinds of time and places that it does not have.
///
/// Words: a header (a bit for each kind of time, then the number of places), the number of packets,
/// the seconds of each kind, two words for each place.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct SharedProfile(Option<Rc<[u64]>>);

impl SharedProfile {
    /// Returns the profile.
    pub(crate) fn unpack_profile(&self) -> Profile {
        let mut profile = Profile::default();
        let Some([header, packets, rest @ ..]) = self.0.as_deref() else {
            return profile;
        };
        profile.packets = *packets;
        let mut words = rest.iter().copied();
        let mut next = || words.next().unwrap_or(0);
        for (kind, time) in profile.times.iter_mut().enumerate() {
            if header >> kind & 1 == 1 {
                *time = f64::from_bits(next());
            }
        }
        let places = usize::try_from(header >> KINDS).unwrap_or(PLACES);
        for place in profile.heaviest.iter_mut().take(places) {
            *place = (PathPlace::of_word(next()), f64::from_bits(next()));
        }
        profile
    }

    /// Takes the place of the profile.
    fn pack_profile(&mut self, profile: &Profile) {
        let mut words = [0; WORDS_MAX];
        let mut length = 2;
        let mut add = |word| {
            words[length] = word;
            length += 1;
        };
        let mut header = 0;
        for (kind, time) in profile
            .times
            .iter()
            .enumerate()
            .filter(|(_, time)| **time != 0.0)
        {
            header |= 1 << kind;
            add(time.to_bits());
        }
        for (place, seconds) in profile
            .heaviest
            .iter()
            .filter(|(_, seconds)| *seconds > 0.0)
        {
            header += 1 << KINDS;
            add(place.to_word());
            add(seconds.to_bits());
        }
        words[0] = header;
        words[1] = profile.packets;
        let words = &words[..length];
        match self.0.as_mut().and_then(Rc::get_mut) {
            Some(own) if own.len() == length => own.copy_from_slice(words),
            _ => self.0 = Some(words.into()),
        }
    }

    /// Changes the profile.
    pub(crate) fn update_profile(&mut self, change: impl FnOnce(&mut Profile)) {
        let mut profile = self.unpack_profile();
        change(&mut profile);
        self.pack_profile(&profile);
    }

    /// Adds time at a place.
    pub(crate) fn spend(&mut self, time: PathTime, at: PathPlace, seconds: f64) {
        if seconds > 0.0 {
            self.update_profile(|profile| profile.spend(time, at, seconds));
        }
    }
}

impl PathPlace {
    fn to_word(self) -> u64 {
        u64::from(self.rank) | u64::from(self.call) << 32 | u64::from(self.place) << 48
    }

    #[expect(clippy::cast_possible_truncation, reason = "parts of a word")]
    const fn of_word(word: u64) -> Self {
        Self {
            rank: word as u32,
            call: (word >> 32) as NameId,
            place: (word >> 48) as NameId,
        }
    }
}

impl Profile {
    /// Adds time at a place.
    pub(crate) fn spend(&mut self, time: PathTime, at: PathPlace, seconds: f64) {
        if seconds <= 0.0 {
            return;
        }
        self.times[time as usize] += seconds;
        let known = (self.heaviest.iter()).position(|(place, sum)| *place == at && *sum > 0.0);
        let index = known.unwrap_or_else(|| {
            let sums = self.heaviest.iter().map(|(_, sum)| *sum).enumerate();
            let least = sums.min_by(|one, other| one.1.total_cmp(&other.1));
            least.map_or(0, |(index, _)| index)
        });
        self.heaviest[index].0 = at;
        self.heaviest[index].1 += seconds;
    }

    /// Adds the flight of a packet that a rank waits for in this call and line.
    pub(crate) fn travel(
        &mut self,
        (call, place): (NameId, NameId),
        parts: TransferParts,
        seconds: f64,
    ) {
        self.packets += 1;
        let rank = NETWORK;
        let at = PathPlace { rank, call, place };
        for (time, part) in parts.split_transfer(seconds) {
            self.spend(time, at, part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_profile_is_that_which_was_set() {
        let mut shared = SharedProfile::default();
        let mut plain = Profile::default();
        assert_eq!(shared.unpack_profile(), plain);
        let mut before = Vec::new();
        for step in 0..40_u16 {
            let at = PathPlace {
                rank: u32::from(step % 11),
                call: NameId::MAX - step % 3,
                place: step % 2,
            };
            let (time, seconds) = match step % 4 {
                0 => (PathTime::Other, 0.0),
                1 => (PathTime::Compute, 1.0 / 3.0),
                2 => (PathTime::Contention, f64::from(step)),
                _ => (PathTime::Other, 2.5),
            };
            before.push((shared.clone(), plain));
            shared.spend(time, at, seconds);
            plain.spend(time, at, seconds);
            let parts = TransferParts::known(1.0, 1.5);
            shared.update_profile(|profile| profile.travel((1, step), parts, 2.0));
            plain.travel((1, step), parts, 2.0);
            assert_eq!(shared.unpack_profile(), plain);
        }
        for (shared, plain) in before {
            assert_eq!(shared.unpack_profile(), plain, "a copy stays as it is");
        }
    }
}
