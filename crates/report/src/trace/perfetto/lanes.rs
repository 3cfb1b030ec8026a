//! Hosts of a trace, and the lanes of their messages in flight: few bytes for each of many hosts.

/// Numbers of hosts in the order of their first ranks, by the host numbers of a log.
#[derive(Debug, Default)]
pub(super) struct HostNumbers {
    /// The number of each host plus 1; 0 for none. The first entry is for ranks without a host.
    numbers: Vec<u32>,
    count: u32,
}

impl HostNumbers {
    /// Returns the number of a host, and true if the number is new.
    pub(super) fn number_of_host(&mut self, host: Option<u32>) -> (u32, bool) {
        let at = host.map_or(0, |host| host as usize + 1);
        if at >= self.numbers.len() {
            self.numbers.resize(at + 1, 0);
        }
        if let Some(number) = self.numbers[at].checked_sub(1) {
            return (number, false);
        }
        let number = self.count;
        self.count += 1;
        self.numbers[at] = self.count;
        (number, true)
    }
}

/// The lanes of a host. Most have one.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    /// Track of the first lane; 0 until the lane has a track.
    first: u32,
    is_taken: bool,
    others: Option<Box<OtherLanes>>,
}

/// The lanes from the second on.
#[derive(Debug, Default)]
struct OtherLanes {
    tracks: Vec<u32>,
    /// A bit for each lane that has a message.
    taken: Vec<u64>,
}

impl Lanes {
    /// Takes the lowest free lane.
    pub(super) fn take_lane(&mut self) -> usize {
        if !std::mem::replace(&mut self.is_taken, true) {
            return 0;
        }
        let taken = &mut self.others.get_or_insert_default().taken;
        let word = taken.iter().position(|word| *word != u64::MAX);
        let word = word.unwrap_or_else(|| {
            taken.push(0);
            taken.len() - 1
        });
        let bit = taken[word].trailing_ones();
        taken[word] |= 1 << bit;
        word * 64 + bit as usize + 1
    }

    /// Returns the track of a lane that is taken; the caller sets a track that is 0.
    pub(super) fn track(&mut self, lane: usize) -> &mut u32 {
        let Some(other) = lane.checked_sub(1) else {
            return &mut self.first;
        };
        let tracks = &mut self.others.get_or_insert_default().tracks;
        if other >= tracks.len() {
            tracks.resize(other + 1, 0);
        }
        &mut tracks[other]
    }

    /// Gives a lane back.
    pub(super) fn free_lane(&mut self, lane: usize) {
        match (lane.checked_sub(1), &mut self.others) {
            (None, _) => self.is_taken = false,
            (Some(other), Some(others)) => others.taken[other / 64] &= !(1 << (other % 64)),
            (Some(_), None) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_free_lane_is_taken() {
        let mut lanes = Lanes::default();
        for lane in 0..200 {
            assert_eq!(lanes.take_lane(), lane);
            *lanes.track(lane) = 1000 + u32::try_from(lane).expect("few");
        }
        for lane in [130, 0, 64] {
            lanes.free_lane(lane);
        }
        for lane in [0, 64, 130, 200] {
            assert_eq!(lanes.take_lane(), lane);
        }
        assert_eq!(
            [0, 64, 130, 200].map(|lane| *lanes.track(lane)),
            [1000, 1064, 1130, 0]
        );
        // A million hosts are at most this many MB.
        assert!(size_of::<Lanes>() <= 16);
    }

    #[test]
    fn hosts_are_numbered_by_their_first_ranks() {
        let mut numbers = HostNumbers::default();
        let found = [Some(5), None, Some(2), Some(5)].map(|host| numbers.number_of_host(host));
        assert_eq!(found, [(0, true), (1, true), (2, true), (0, false)]);
    }
}
