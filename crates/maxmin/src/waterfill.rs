//! The level that fills one link, all other links held fixed.
//!
//! Each user of the link has a *cap*, the level that the rest of the network allows. Users with a
//! cap below the level of the link have their cap, all others the level of the link.
//!
//! The level rises from the level without caps. In each round the users with a cap below the level
//! are frozen, which leaves more for the others. Rounds are few; if not, a sort of the remaining
//! users takes them in one sweep.

/// A user of the link: the cap, and coefficient × weight.
#[derive(Clone, Copy, Debug)]
pub(super) struct UserCap {
    pub(super) level: f64,
    pub(super) share: f64,
}

/// Rounds before sorting.
const ROUNDS: u32 = 12;

/// The level that fills `capacity`, infinite if all users reach their caps; `caps` is used up.
pub(super) fn level(capacity: f64, caps: &mut Vec<UserCap>) -> f64 {
    let mut left = capacity;
    let mut frozen_max = 0.0_f64;
    for _ in 0..ROUNDS {
        let sum: f64 = caps.iter().map(|cap| cap.share).sum();
        let level = left / sum;
        let before = caps.len();
        caps.retain(|cap| {
            let free = cap.level >= level;
            if !free {
                left -= cap.share * cap.level;
                frozen_max = frozen_max.max(cap.level);
            }
            free
        });
        if caps.is_empty() {
            return f64::INFINITY;
        }
        if caps.len() == before {
            // Rounding must not put the level below that of a frozen user.
            return level.max(frozen_max);
        }
    }
    caps.sort_by(|one, two| one.level.total_cmp(&two.level));
    let mut sum: f64 = caps.iter().map(|cap| cap.share).sum();
    for cap in caps.iter() {
        if cap.level >= left / sum {
            return (left / sum).max(frozen_max);
        }
        left -= cap.share * cap.level;
        sum -= cap.share;
        frozen_max = cap.level;
    }
    f64::INFINITY
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(capacity: f64, caps: &[f64]) -> f64 {
        let mut caps: Vec<UserCap> = caps
            .iter()
            .map(|level| UserCap {
                level: *level,
                share: 1.0,
            })
            .collect();
        level(capacity, &mut caps)
    }

    #[test]
    fn the_small_leave_the_rest_to_the_large() {
        assert_eq!(filled(10.0, &[f64::INFINITY, f64::INFINITY]), 5.0);
        assert_eq!(filled(10.0, &[2.0, f64::INFINITY]), 8.0);
        assert_eq!(filled(10.0, &[2.0, 3.0]), f64::INFINITY);
        assert_eq!(filled(10.0, &[2.0, 9.0, 9.0]), 4.0);
    }

    #[test]
    fn many_rounds_end_in_a_sweep() {
        // Caps 1, 2, 4, ...: each round freezes one more.
        let caps: Vec<f64> = (0..40).map(|power| (1_u64 << power) as f64).collect();
        let sum: f64 = caps.iter().take(39).sum();
        // All but the last are at their caps, and the last one is above them.
        assert_eq!(filled(sum + 3e11, &caps), 3e11);
    }

    #[test]
    fn what_is_left_after_the_rounds_is_swept() {
        // Shares that halve, and caps that are each just below one level: a round freezes one user,
        // and the level grows by 1.
        let share = |user: u32| 1.0 / f64::from(2_u32 << user);
        let capped = (0..19).map(|user| UserCap {
            level: 99.0 + f64::from(user),
            share: share(user),
        });
        let last = UserCap {
            level: f64::INFINITY,
            share: share(18),
        };
        let mut caps: Vec<UserCap> = capped.chain([last]).collect();
        assert_eq!(level(100.0, &mut caps), 119.0);
        assert!(caps.len() > 2, "the rounds have left some to the sweep");
    }

    #[test]
    fn rounding_leaves_no_level_below_a_frozen_one() {
        // The level of the first round is above 3.3, and that of the second is rounded to less.
        let below = 3.3_f64.next_down();
        let mut caps: Vec<UserCap> = [(below, 0.2), (3.3, 0.3), (below, 0.2), (f64::INFINITY, 0.2)]
            .map(|(level, share)| UserCap { level, share })
            .into();
        let capacity = 2.969_999_999_999_999_8;
        let rest = capacity - 0.2 * below - 0.3 * 3.3 - 0.2 * below;
        assert!(rest / 0.2 < 3.3);
        assert_eq!(level(capacity, &mut caps), 3.3);
    }

    #[test]
    fn rounding_leaves_no_level_of_the_sweep_below_a_frozen_one() {
        // As above, one user a round, up to the last round. That freezes one just below the level.
        let capped = (0..11).map(|user| UserCap {
            level: 99.0 + f64::from(user),
            share: 1.0 / f64::from(2_u32 << user),
        });
        let frozen = 115.999_999_999_978;
        let last = [(frozen, 1e-4), (f64::INFINITY, 7e-6)];
        let last = last.map(|(level, share)| UserCap { level, share });
        let mut caps: Vec<UserCap> = capped.chain(last).collect();
        let capacity = 99.958_212_781_25;
        let left = caps[..12]
            .iter()
            .fold(capacity, |left, cap| left - cap.share * cap.level);
        assert!(left / 7e-6 < frozen);
        assert_eq!(level(capacity, &mut caps), frozen);
        assert_eq!(caps.len(), 1, "the rounds have left one to the sweep");
    }
}
