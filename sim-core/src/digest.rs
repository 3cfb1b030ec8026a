//! The digest of a run: a 64-bit fingerprint of every transition and every date, always on.
//!
//! Two runs with the same digest executed the same transitions, by the same actors, on the same
//! objects, with the same results, at the same dates (in an untimed run dates are left out). Each
//! step costs one 64×64→128-bit multiplication; benchmarks can therefore keep the digest on. The
//! digest is a fingerprint, not a cryptographic hash: a program built for this purpose could make
//! two runs collide.

use std::fmt;

/// An odd constant with an even spread of bits: 2^64 divided by the golden ratio.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
/// A second odd constant, the fractional bits of the square root of 3.
const ROOT_3: u64 = 0xBB67_AE85_84CA_A73B;

/// The fingerprint of the transitions of a run; prints as 16 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Self(GOLDEN)
    }
}

impl Digest {
    /// Folds two words into the digest.
    #[inline]
    pub fn mix(&mut self, first: u64, second: u64) {
        let wide = u128::from(self.0 ^ first) * u128::from((second ^ ROOT_3) | 1)
            + u128::from(second.rotate_left(32) ^ GOLDEN);
        #[expect(clippy::cast_possible_truncation, reason = "folds both halves")]
        let folded = (wide as u64) ^ ((wide >> 64) as u64);
        self.0 = folded;
    }

    /// Folds a text into the digest, length included.
    pub fn mix_str(&mut self, text: &str) {
        self.mix_bytes(text.as_bytes());
    }

    /// Folds bytes into the digest, length included.
    pub fn mix_bytes(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.mix(u64::from_le_bytes(*word), 8);
        }
        if !rest.is_empty() {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            self.mix(u64::from_le_bytes(word), rest.len() as u64);
        }
        self.mix(bytes.len() as u64, GOLDEN);
    }

    /// The 64 bits.
    #[must_use]
    pub const fn value(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(steps: &[(u64, u64)]) -> Digest {
        let mut digest = Digest::default();
        for &(first, second) in steps {
            digest.mix(first, second);
        }
        digest
    }

    #[test]
    fn order_and_position_matter() {
        assert_ne!(of(&[(1, 2), (3, 4)]), of(&[(3, 4), (1, 2)]));
        assert_ne!(of(&[(1, 2)]), of(&[(2, 1)]));
        assert_ne!(of(&[(1, 2)]), of(&[(1, 3)]));
        assert_ne!(of(&[(0, 0)]), of(&[(0, 0), (0, 0)]));
    }

    #[test]
    fn single_bits_spread() {
        for bit in 0..64 {
            let changed = of(&[(1 << bit, 7), (0, 0)]).value() ^ of(&[(0, 7), (0, 0)]).value();
            assert!(
                changed.count_ones() > 8,
                "bit {bit} moves only {changed:064b}"
            );
        }
    }
}
