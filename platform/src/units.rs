//! Quantities with their unit in the text: `"100Gbps"`, `"1.3us"`, `"16Gf"`, `"64KiB"`.
//!
//! A [`Quantity`] keeps the text that was read and prints this text again. It also has the value in
//! the base unit of its kind (bytes/s, seconds, flop/s, bytes). Units are case-sensitive: `b` is a
//! bit and `B` is a byte, `M` is 10^6 and `Mi` is 2^20.
//!
//! The value is the `f64` nearest to the written number: a decimal prefix is a shift of the decimal
//! exponent before the one conversion to binary, and a binary prefix or bits instead of bytes is an
//! exact multiplication by a power of two. So `"1.3us"` is exactly `1.3e-6`.
//!
//! ```
//! use platform::units::{Bandwidth, Size};
//!
//! let size: Size = "64KiB".parse()?;
//! assert_eq!(size.bytes(), 65_536);
//! let bandwidth: Bandwidth = "100Gbps".parse()?;
//! assert_eq!(bandwidth.bytes_per_s(), 12.5e9);
//! assert_eq!(bandwidth.to_string(), "100Gbps");
//!
//! // As part of anything that serde reads and writes.
//! let sizes: std::collections::BTreeMap<String, Size> = toml::from_str("small = '1kB'")?;
//! assert_eq!(toml::to_string(&sizes)?, "small = \"1kB\"\n");
//! assert!(toml::from_str::<std::collections::BTreeMap<String, Size>>("small = '1kb'").is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bandwidth;
mod decimal;
mod duration;
mod error;
mod size;
mod speed;

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeInclusive;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sim_core::Time;

pub use bandwidth::{Bandwidth, BandwidthKind, ProfileBandwidth, ProfileBandwidthKind};
pub use duration::{Duration, DurationKind};
pub use error::UnitError;
pub use size::{Size, SizeKind};
pub use speed::{Speed, SpeedKind};

use crate::nearest::nearest;

/// Splits a quantity into its number, which may be empty or malformed, and the unit.
pub(crate) fn split_number(text: &str) -> (&str, &str) {
    decimal::split(text)
}

/// Returns true for two spellings of a unit of data, as `Gbps`, `gbit/s` and `GBits`.
fn spells_same(one: &str, other: &str) -> bool {
    // The prefix, and true for bytes, which a last letter tells by its case.
    let short = |unit: &str| {
        let small = unit.to_ascii_lowercase();
        let small = small.trim_end_matches("/s").trim_end_matches("ps");
        let is_large = unit[..small.len()].ends_with('B');
        let words = [
            ("bits", false),
            ("bit", false),
            ("bytes", true),
            ("byte", true),
        ];
        let mut words = words.into_iter().chain([("b", is_large)]);
        words.find_map(|(word, is_byte)| Some((small.strip_suffix(word)?.to_owned(), is_byte)))
    };
    let one = short(one);
    one.is_some() && one == short(other)
}

/// Returns true for a unit with one wrong letter, or two of five, or with more letters behind the
/// unit, as `usec`. Other near units have another value: `min` is not `ms`, and `GHz` is not `Gf`.
fn is_misspelt(unit: &str, known: &str) -> bool {
    let (unit, known) = (unit.to_ascii_lowercase(), known.to_ascii_lowercase());
    let wrong = strsim::levenshtein(&unit, &known);
    unit.starts_with(&known) || wrong <= 1 || 5 * wrong <= 2 * unit.chars().count()
}

/// A kind of quantity, with the units and valid values of the kind.
pub trait Kind {
    /// Name of the quantity in messages, with an article, such as `a bandwidth`.
    const NAME: &'static str;
    /// Example texts of the quantity, for messages.
    const EXAMPLES: &'static str;
    /// All units, the usual spellings first.
    const UNITS: &'static [Unit];
    /// True if zero is valid.
    const ZERO: bool;
    /// True if only whole numbers of the base unit are valid, up to 2^63.
    const WHOLE: bool = false;
    /// Range of the values other than zero for which dates remain before the end of simulated time
    /// ([`Time::HORIZON`]).
    const RANGE: RangeInclusive<f64> = 0.0..=f64::MAX;
}

/// A unit of some kind: spelling, and size in the base unit, `10^decimal × 2^binary`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unit {
    /// The spelling of the unit, such as `Gbps`.
    pub name: &'static str,
    /// Power of ten.
    pub decimal: i32,
    /// Power of two.
    pub binary: i32,
}

/// Rates at which one unit of work alone ends before the end of simulated time, in units per
/// second.
const RATES: RangeInclusive<f64> = 1.0 / Time::HORIZON.as_secs()..=f64::MAX;

/// 2^63, the first whole number that is too large.
const WHOLE_END: f64 = 2.0 * (1_u64 << 62) as f64;

/// A quantity that keeps the text from which it was read.
pub struct Quantity<K> {
    text: Box<str>,
    value: f64,
    kind: PhantomData<fn() -> K>,
}

impl<K> Quantity<K> {
    /// Makes a quantity from a text and the value of the text.
    fn from_text_value(text: String, value: f64) -> Self {
        Self {
            text: text.into(),
            value,
            kind: PhantomData,
        }
    }
}

impl<K: Kind> Quantity<K> {
    /// The text from which the quantity was read.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl<K: Kind> FromStr for Quantity<K> {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let trimmed = text.trim();
        let error = |problem| UnitError::new::<K>(text, problem);
        let (number, unit) = decimal::split(trimmed);
        if number.is_empty() {
            return Err(error(error::Problem::NoNumber));
        }
        if unit.is_empty() {
            return Err(error(error::Problem::NoUnit));
        }
        if decimal::is_not_finite(number) {
            return Err(error(error::Problem::NotFinite));
        }
        let Some(unit) = K::UNITS.iter().find(|known| known.name == unit) else {
            let names = || K::UNITS.iter().map(|known| known.name);
            let other_spelling = names().find(|known| spells_same(known, unit));
            let likely = names().filter(|known| is_misspelt(unit, known));
            let near = other_spelling.or_else(|| nearest(unit, likely));
            return Err(error(error::Problem::UnknownUnit {
                unit: unit.to_owned(),
                suggestion: near.map(|near| format!("{number}{near}")),
            }));
        };
        let value = decimal::scaled(number, unit).ok_or_else(|| error(error::Problem::NoNumber))?;
        if !value.is_finite() {
            return Err(error(error::Problem::NotFinite));
        }
        if value < 0.0 || number.starts_with('-') {
            return Err(error(error::Problem::Negative));
        }
        if value == 0.0 && !K::ZERO {
            return Err(error(error::Problem::Zero));
        }
        if value != 0.0 && !K::RANGE.contains(&value) {
            return Err(error(error::Problem::TimeOverflow));
        }
        if K::WHOLE && (value.fract() != 0.0 || value >= WHOLE_END) {
            return Err(error(error::Problem::NotWhole));
        }
        Ok(Self {
            text: trimmed.into(),
            value,
            kind: PhantomData,
        })
    }
}

impl<K> fmt::Display for Quantity<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl<K> fmt::Debug for Quantity<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} = {}", self.text, self.value)
    }
}

impl<K> Clone for Quantity<K> {
    fn clone(&self) -> Self {
        Self {
            text: self.text.clone(),
            value: self.value,
            kind: PhantomData,
        }
    }
}

impl<K> PartialEq for Quantity<K> {
    /// Equal when worth the same, however written.
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<K> Serialize for Quantity<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de, K: Kind> Deserialize<'de> for Quantity<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bandwidth(text: &str) -> f64 {
        text.parse::<Bandwidth>()
            .expect("a bandwidth")
            .bytes_per_s()
    }

    fn message<K: Kind>(text: &str) -> String {
        text.parse::<Quantity<K>>()
            .expect_err("a mistake")
            .to_string()
    }

    #[test]
    fn values_are_the_nearest_doubles() {
        assert_eq!(bandwidth("100Gbps"), 12.5e9);
        assert_eq!(bandwidth("12.5GBps"), 12.5e9);
        assert_eq!(bandwidth("12.5GB/s"), 12.5e9);
        assert_eq!(bandwidth("1.25e1 GB/s"), 12.5e9);
        assert_eq!(bandwidth("8Kibps"), 1024.0);
        assert_eq!(bandwidth("1.5MiBps"), 1_572_864.0);
        let seconds = |text: &str| text.parse::<Duration>().expect("a duration").as_secs();
        assert_eq!(seconds("1.3us"), 1.3e-6);
        // U+00B5, the micro sign, and U+03BC, the Greek letter.
        assert_eq!(seconds("1.3\u{b5}s"), 1.3e-6);
        assert_eq!(seconds("1.3\u{3bc}s"), 1.3e-6);
        assert_eq!(seconds("500ns"), 500e-9);
        assert_eq!(seconds("0s"), 0.0);
        assert_eq!(
            "16.7Gf".parse::<Speed>().expect("a speed").flop_per_s(),
            16.7e9
        );
        assert_eq!("1MiB".parse::<Size>().expect("a size").bytes(), 1 << 20);
        assert_eq!("1.5kB".parse::<Size>().expect("a size").bytes(), 1500);
    }

    #[test]
    fn they_print_back_what_they_read() {
        let read: Bandwidth = "1.00e2 Gbps".parse().expect("a bandwidth");
        assert_eq!(read.to_string(), "1.00e2 Gbps");
    }

    #[test]
    fn bits_and_bytes_are_suggested_as_they_are_written_out() {
        let check = |message: String, expected: &str| {
            let expected = format!("did you mean {expected:?}?");
            assert!(message.ends_with(&expected), "{message}, {expected}");
        };
        for unit in ["GBit", "Gbit", "gbits", "GBit/s", "Gbitps", "gb/s", "Gb"] {
            check(message::<BandwidthKind>(&format!("200{unit}")), "200Gbps");
        }
        for unit in ["GByte", "gbytes/s", "GB", "gBps"] {
            check(message::<BandwidthKind>(&format!("25{unit}")), "25GBps");
        }
        check(message::<BandwidthKind>("8kibit"), "8Kibps");
        check(message::<SizeKind>("4Kibyte"), "4KiB");
        check(message::<DurationKind>("5usec"), "5us");
    }

    #[test]
    fn units_of_another_value_are_not_suggested() {
        for text in ["5min", "5minutes"] {
            let message = message::<DurationKind>(text);
            assert!(!message.contains("did you mean"), "{message}");
        }
        let message = message::<SpeedKind>("36GHz");
        assert!(!message.contains("did you mean"), "{message}");
    }

    #[test]
    fn mistakes_name_what_was_found_and_what_is_expected() {
        assert_eq!(
            message::<BandwidthKind>("100Gbs"),
            "unknown unit \"Gbs\" in \"100Gbs\": expected a bandwidth, such as \"100Gbps\" (bits/s) or \
             \"12.5GBps\" (bytes/s); did you mean \"100Gbps\"?"
        );
        assert_eq!(
            message::<BandwidthKind>("-1Gbps"),
            "negative value \"-1Gbps\": expected a bandwidth, such as \"100Gbps\" (bits/s) or \"12.5GBps\" (bytes/s)"
        );
        assert!(message::<BandwidthKind>("infGbps").starts_with("infinite or undefined value"));
        assert!(message::<BandwidthKind>("nan").starts_with("no unit in \"nan\""));
        assert!(message::<BandwidthKind>("1e999Gbps").starts_with("infinite or undefined value"));
        assert!(message::<BandwidthKind>("0Gbps").starts_with("zero is not allowed"));
        assert!(message::<BandwidthKind>("100").starts_with("no unit in \"100\""));
        assert!(message::<BandwidthKind>("fast").starts_with("no number in \"fast\""));
        assert!(message::<SizeKind>("0.5B").starts_with("not a whole number of bytes"));
        assert!(message::<DurationKind>("1ks").starts_with("unknown unit \"ks\""));
        assert!(message::<SpeedKind>("1..2Gf").starts_with("no number in"));
    }
}
