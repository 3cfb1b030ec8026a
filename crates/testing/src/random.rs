//! Random numbers for tests, the same in every run.

/// A generator: splitmix64 (Steele, Lea and Flood, 2014); the seed is the initial state.
pub struct Random(pub u64);

impl Random {
    /// Returns a number below `limit`, and 0 for a limit of 0.
    pub fn draw_below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % limit.max(1) as u64) as usize
    }

    /// Returns one of the texts of a list.
    pub fn one_of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.draw_below(list.len())]
    }

    /// Returns a range within `0..length`, which may be empty.
    pub fn draw_range(&mut self, length: usize) -> std::ops::Range<usize> {
        let (a, b) = (self.draw_below(length + 1), self.draw_below(length + 1));
        a.min(b)..a.max(b)
    }
}
