//! Random numbers of drawn profiles: the same numbers as in SimGrid, so that the dates are equal.
//!
//! The generator is the Mersenne Twister MT19937 (Matsumoto, Nishimura: ACM TOMACS 8(1), 1998) with
//! its default seed 5489. A number between 0 and 1 is a word divided by the largest word;
//! exponential numbers are computed by inversion, normal numbers by the method of Box and Muller,
//! with the cosine only. One generator serves all profiles of a run: numbers are drawn in the order
//! in which the profiles were added and in which their rounds begin.

use std::f64::consts::TAU;

use platform::profile::{Drawn, Law};

const WORDS: usize = 624;
const SEED: u32 = 5489;

/// The generator.
#[derive(Debug)]
pub(super) struct Twister {
    words: [u32; WORDS],
    next: usize,
}

impl Default for Twister {
    fn default() -> Self {
        let mut words = [SEED; WORDS];
        for (index, number) in (1..WORDS).zip(1_u32..) {
            let before = words[index - 1];
            words[index] = (before ^ before >> 30)
                .wrapping_mul(1_812_433_253)
                .wrapping_add(number);
        }
        Self { words, next: WORDS }
    }
}

impl Twister {
    fn twist(&mut self) {
        let words = &mut self.words;
        for index in 0..WORDS {
            let joined = words[index] & 1 << 31 | words[(index + 1) % WORDS] & !(1 << 31);
            let odd = if joined & 1 == 1 { 0x9908_b0df } else { 0 };
            words[index] = words[(index + 397) % WORDS] ^ joined >> 1 ^ odd;
        }
        self.next = 0;
    }

    fn next_word(&mut self) -> u32 {
        if self.next == WORDS {
            self.twist();
        }
        let mut word = self.words[self.next];
        self.next += 1;
        word ^= word >> 11;
        word ^= word << 7 & 0x9d2c_5680;
        word ^= word << 15 & 0xefc6_0000;
        word ^ word >> 18
    }

    /// A number from 0 to 1, without the latter.
    fn draw_unit(&mut self) -> f64 {
        loop {
            let word = self.next_word();
            if word < u32::MAX {
                return f64::from(word) / f64::from(u32::MAX);
            }
        }
    }

    /// A number by a law; 0 in place of numbers below 0.
    fn draw_number(&mut self, law: Law) -> f64 {
        let drawn = match law {
            Law::Constant(number) => number,
            Law::Uniform(from, to) => from + (to - from) * self.draw_unit(),
            Law::Exponential(rate) => -1.0 / rate * libm::log(self.draw_unit()),
            Law::Normal(mean, deviation) => {
                let radius = libm::sqrt(-2.0 * libm::log(self.draw_unit()));
                mean + deviation * radius * libm::cos(TAU * self.draw_unit())
            }
        };
        // A logarithm of 0 has no use either.
        drawn.clamp(0.0, f64::MAX)
    }

    /// The events of one round, with dates; `begin_s`: the date of the event before.
    pub(super) fn draw_round(&mut self, drawn: &Drawn, begin_s: f64) -> Vec<(f64, f64)> {
        let mut date_s = begin_s;
        let event = |&(delay, value): &(Law, Law)| {
            date_s += self.draw_number(delay);
            (date_s, self.draw_number(value))
        };
        drawn.laws.iter().map(event).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first words of the generator are published with the generator (and in the C++ standard,
    /// which states the 10 000th word).
    #[test]
    fn the_words_are_those_of_the_published_generator() {
        let mut twister = Twister::default();
        assert_eq!(twister.next_word(), 3_499_211_612);
        let word = (0..9_999).map(|_| twister.next_word()).last();
        assert_eq!(word, Some(4_123_659_995));
    }

    /// Numbers that SimGrid 3.32 draws with the default seed.
    #[test]
    fn laws_are_those_of_simgrid() {
        let first = |law, count: usize| {
            let mut twister = Twister::default();
            let drawn: Vec<f64> = (0..count).map(|_| twister.draw_number(law)).collect();
            drawn
        };
        let near = |law, wanted: &[f64]| {
            for (drawn, wanted) in first(law, wanted.len()).iter().zip(wanted) {
                assert!((drawn - wanted).abs() < 1e-12, "{law:?}: {drawn} {wanted}");
            }
        };
        near(
            Law::Uniform(2.0, 5.0),
            &[
                4.444_171_076_278_242,
                2.406_431_012_415_893,
                4.717_375_802_974_537,
            ],
        );
        near(
            Law::Exponential(2.5),
            &[
                0.081_962_500_532_541_67,
                0.799_581_345_687_585_4,
                0.039_578_260_950_617_91,
            ],
        );
        near(
            Law::Normal(3.0, 2.0),
            &[
                3.843_816_545_967_515_5,
                3.452_935_229_943_232,
                6.985_685_931_136_13,
            ],
        );
        assert_eq!(Twister::default().draw_number(Law::Normal(0.0, 0.0)), 0.0);
    }
}
