//! Names of many hosts in one text: `node-[0-63]`, `n[0-3,8-11]`, `node-[00-63]`.
//!
//! A pattern stores its ranges, never its names: the name of host number `i` and the number of a
//! name are computed. Numbers are padded with zeros to the width of the first number of a range if
//! that number has leading zeros.
//!
//! Invariants: the prefix does not end with a digit and the suffix does not begin with one (digits
//! in front of the bracket are moved into the ranges when the pattern is read). So a name is split
//! in one way only, and two patterns are compared without an enumeration. No number occurs twice.

mod shared;

use std::fmt;

pub(crate) use shared::names_twice;

/// The largest number of hosts in one pattern and in one platform.
///
/// Identifiers of links are 32 bits and a host has up to two links with two directions; 2^26 leaves
/// room for the rest.
pub const HOSTS_MAX: u32 = 1 << 26;

/// The hosts of a cluster, by a pattern of their names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostPattern {
    text: Box<str>,
    prefix: Box<str>,
    suffix: Box<str>,
    ranges: Vec<NumberRange>,
    /// The ranges by width, and by their numbers within a width: of one width no two overlap.
    sorted: Vec<NumberRange>,
    count: u32,
}

/// Consecutive numbers in a pattern.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct NumberRange {
    first: u64,
    last: u64,
    /// Smallest number of digits; 1 for no padding.
    width: usize,
    /// The index of the host with the number `first`.
    index: u32,
}

/// Defect of a pattern.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PatternError {
    /// The text is empty.
    Empty,
    /// The text is a number, which is the name of one host: a number of hosts is meant.
    OnlyNumber,
    /// A `[` without `]`, or the other way round.
    Unclosed,
    /// More than one pair of brackets.
    TwoRanges,
    /// A part of the brackets is not `NUMBER` or `NUMBER-NUMBER`.
    NotARange(String),
    /// The last number is below the first.
    Backwards {
        /// The range as written.
        range: String,
        /// The range the right way round.
        swapped: String,
    },
    /// A number belongs to two of the ranges.
    Twice(String),
    /// A digit follows the closing bracket.
    DigitAfter,
    /// There are more hosts than [`HOSTS_MAX`].
    TooMany,
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("empty host pattern"),
            Self::OnlyNumber => f.write_str("a number without a range, which names one host"),
            Self::Unclosed => f.write_str("unclosed bracket in the host pattern"),
            Self::TwoRanges => f.write_str("more than one pair of brackets in the host pattern"),
            Self::NotARange(found) => write!(f, "{found:?} is not a range of numbers"),
            Self::Backwards { range, .. } => write!(f, "descending range {range:?}"),
            Self::Twice(name) => write!(f, "duplicate host {name:?} in the pattern"),
            Self::DigitAfter => f.write_str("a digit follows the closing bracket"),
            Self::TooMany => write!(f, "the pattern names more than {HOSTS_MAX} hosts"),
        }
    }
}

impl std::error::Error for PatternError {}

impl HostPattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// [`PatternError`] if brackets or ranges are malformed, a name occurs twice, or there are too
    /// many hosts.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        let (prefix, inside, suffix) = brackets(text)?;
        let mut pattern = Self {
            text: text.into(),
            prefix: prefix.into(),
            suffix: suffix.into(),
            ranges: Vec::new(),
            sorted: Vec::new(),
            count: 0,
        };
        let Some(inside) = inside else {
            if text.is_empty() {
                return Err(PatternError::Empty);
            }
            if text.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(PatternError::OnlyNumber);
            }
            pattern.count = 1;
            return Ok(pattern);
        };
        let stem = prefix.trim_end_matches(|letter: char| letter.is_ascii_digit());
        let lead = &prefix[stem.len()..];
        pattern.prefix = stem.into();
        for part in inside.split(',') {
            pattern.add_range(part.trim(), lead)?;
        }
        pattern.refuse_twice()?;
        Ok(pattern)
    }

    /// Adds the range written as `part`, with the digits `lead` in front of every number.
    fn add_range(&mut self, part: &str, lead: &str) -> Result<(), PatternError> {
        let not_a_range = || PatternError::NotARange(part.to_owned());
        let (first_text, last_text) = part.split_once('-').unwrap_or((part, part));
        let first = parse_number(first_text).ok_or_else(not_a_range)?;
        let last = parse_number(last_text).ok_or_else(not_a_range)?;
        if last < first {
            return Err(PatternError::Backwards {
                range: part.to_owned(),
                swapped: format!("{last_text}-{first_text}"),
            });
        }
        if last - first >= u64::from(HOSTS_MAX) {
            return Err(PatternError::TooMany);
        }
        let width = if first_text.len() > 1 && first_text.starts_with('0') {
            first_text.len()
        } else {
            1
        };
        if lead.is_empty() {
            return self.push_range(first, last, width);
        }
        // With digits in front, numbers of each length become a range of their own.
        let mut begin = first;
        while begin <= last {
            let length = digits(begin).max(width);
            if lead.len() + length > DIGITS_MAX {
                return Err(not_a_range());
            }
            let longest = power_of_ten(length).map_or(last, |next| last.min(next - 1));
            let lead_number: u64 = lead.parse().map_err(|_| not_a_range())?;
            let shifted = |value: u64| {
                let base = lead_number.checked_mul(power_of_ten(length)?)?;
                base.checked_add(value)
            };
            self.push_range(
                shifted(begin).ok_or_else(not_a_range)?,
                shifted(longest).ok_or_else(not_a_range)?,
                lead.len() + length,
            )?;
            begin = longest + 1;
        }
        Ok(())
    }

    fn push_range(&mut self, first: u64, last: u64, width: usize) -> Result<(), PatternError> {
        let total = u64::from(self.count) + (last - first + 1);
        let index = self.count;
        self.count = u32::try_from(total)
            .ok()
            .filter(|total| *total <= HOSTS_MAX)
            .ok_or(PatternError::TooMany)?;
        self.ranges.push(NumberRange {
            first,
            last,
            width,
            index,
        });
        Ok(())
    }

    /// Refuses a number that belongs to two ranges; sorts them by the way.
    fn refuse_twice(&mut self) -> Result<(), PatternError> {
        let mut sorted = self.ranges.clone();
        sorted.sort_by_key(|range| (range.first, range.last));
        // Ranges of different widths may hold the same numbers without naming the same hosts, so
        // neighbours in the sorted order are not enough when widths differ; there are few widths.
        for (at, range) in sorted.iter().enumerate() {
            let overlapping = sorted[at + 1..].iter();
            for other in overlapping.take_while(|other| other.first <= range.last) {
                if let Some(value) = range.shared(other) {
                    return Err(PatternError::Twice(self.render(value, range.width)));
                }
            }
        }
        sorted.sort_by_key(|range| range.width);
        self.sorted = sorted;
        Ok(())
    }

    fn render(&self, value: u64, width: usize) -> String {
        format!("{}{value:0width$}{}", self.prefix, self.suffix)
    }

    /// Returns the number of hosts that the pattern names.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// The text of the pattern as written in the file.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The name of the host number `index`, which is below [`HostPattern::count`].
    #[must_use]
    pub fn name(&self, index: u32) -> String {
        let at = self.ranges.partition_point(|range| range.index <= index);
        match at.checked_sub(1).map(|at| &self.ranges[at]) {
            Some(range) => self.render(range.first + u64::from(index - range.index), range.width),
            None => self.text.to_string(),
        }
    }

    /// The number of the host called `name`, if the pattern names it.
    #[must_use]
    pub fn index_of(&self, name: &str) -> Option<u32> {
        if self.ranges.is_empty() {
            return (name == &*self.text).then_some(0);
        }
        let text = name
            .strip_prefix(&*self.prefix)?
            .strip_suffix(&*self.suffix)?;
        let value = parse_number(text)?;
        let range = (1..=text.len()).find_map(|width| {
            let after = |range: &NumberRange| (range.width, range.first) <= (width, value);
            let at = self.sorted.partition_point(after).checked_sub(1)?;
            let range = &self.sorted[at];
            let is_written_so = text.len() == digits(value).max(width);
            (range.width == width && value <= range.last && is_written_so).then_some(range)
        })?;
        u32::try_from(value - range.first)
            .ok()
            .map(|offset| range.index + offset)
    }

    /// A name that both patterns give, if there is one.
    #[must_use]
    pub fn shared_name(&self, other: &Self) -> Option<String> {
        if self.ranges.is_empty() {
            return other.index_of(&self.text).map(|_| self.text.to_string());
        }
        if other.ranges.is_empty() {
            return other.shared_name(self);
        }
        if self.prefix == other.prefix && self.suffix == other.suffix {
            let found = shared::in_ranges(&[(0, self), (1, other)]).pop();
            return found.map(|(_, _, name)| name);
        }
        // With different prefixes, the digits at which the longer one continues are the whole
        // number of the shorter pattern, because the longer prefix does not end with a digit: at
        // most one name can be common.
        let (short, long) = if self.prefix.len() <= other.prefix.len() {
            (self, other)
        } else {
            (other, self)
        };
        let rest = long.prefix.strip_prefix(&*short.prefix)?;
        let end = rest
            .find(|letter: char| !letter.is_ascii_digit())
            .unwrap_or(rest.len());
        let name = format!("{}{}{}", short.prefix, &rest[..end], short.suffix);
        (short.index_of(&name).is_some() && long.index_of(&name).is_some()).then_some(name)
    }
}

impl NumberRange {
    /// A number that is written the same way in both ranges, if there is one.
    fn shared(&self, other: &Self) -> Option<u64> {
        let last = self.last.min(other.last);
        // Padding matters least for the largest common number.
        let same_length = digits(last).max(self.width) == digits(last).max(other.width);
        (last >= self.first.max(other.first) && same_length).then_some(last)
    }
}

/// Splits a pattern into the text before, inside and after its brackets.
fn brackets(text: &str) -> Result<(&str, Option<&str>, &str), PatternError> {
    let Some(open) = text.find('[') else {
        return if text.contains(']') {
            Err(PatternError::Unclosed)
        } else {
            Ok((text, None, ""))
        };
    };
    let close = text[open..].find(']').ok_or(PatternError::Unclosed)? + open;
    let (prefix, inside, suffix) = (&text[..open], &text[open + 1..close], &text[close + 1..]);
    if suffix.contains('[') {
        return Err(PatternError::TwoRanges);
    }
    if prefix.contains(']') || inside.contains('[') || suffix.contains(']') {
        return Err(PatternError::Unclosed);
    }
    if suffix.starts_with(|letter: char| letter.is_ascii_digit()) {
        return Err(PatternError::DigitAfter);
    }
    Ok((prefix, Some(inside), suffix))
}

/// The most digits of a number in a name: adding 1, or one more digit, never overflows.
const DIGITS_MAX: usize = 18;

fn parse_number(text: &str) -> Option<u64> {
    let all_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    (all_digits && !text.is_empty() && text.len() <= DIGITS_MAX)
        .then(|| text.parse().ok())
        .flatten()
}

fn digits(value: u64) -> usize {
    value.checked_ilog10().map_or(1, |log| log as usize + 1)
}

fn power_of_ten(exponent: usize) -> Option<u64> {
    10_u64.checked_pow(u32::try_from(exponent).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> HostPattern {
        HostPattern::parse(text).expect("a pattern")
    }

    fn names(text: &str) -> Vec<String> {
        let pattern = pattern(text);
        let names: Vec<String> = (0..pattern.count())
            .map(|index| pattern.name(index))
            .collect();
        for (index, name) in names.iter().enumerate() {
            assert_eq!(pattern.index_of(name), u32::try_from(index).ok());
        }
        names
    }

    #[test]
    fn names_and_numbers_are_computed_both_ways() {
        assert_eq!(names("n[0-1,8-10]x"), ["n0x", "n1x", "n8x", "n9x", "n10x"]);
        assert_eq!(names("n[08-11]"), ["n08", "n09", "n10", "n11"]);
        assert_eq!(names("n1[8-11]"), ["n18", "n19", "n110", "n111"]);
        assert_eq!(names("n1[08-11]"), ["n108", "n109", "n110", "n111"]);
        assert_eq!(names("alone"), ["alone"]);
        assert_eq!(pattern("n[0-9]").index_of("n01"), None);
        assert_eq!(pattern("n[0-9]").index_of("n10"), None);
        assert_eq!(pattern("n[0-999999]").name(123_456), "n123456");
    }

    #[test]
    fn mistakes_are_named() {
        let error = |text: &str| HostPattern::parse(text).expect_err("a mistake");
        assert_eq!(error(""), PatternError::Empty);
        assert_eq!(error("n[0-3"), PatternError::Unclosed);
        assert_eq!(error("n0-3]"), PatternError::Unclosed);
        assert_eq!(error("n[0-3][0-3]"), PatternError::TwoRanges);
        assert_eq!(error("n[a-b]"), PatternError::NotARange("a-b".into()));
        assert_eq!(error("n[]"), PatternError::NotARange(String::new()));
        assert_eq!(error("n[5-2]").to_string(), "descending range \"5-2\"");
        assert_eq!(error("n[0-5,5-9]"), PatternError::Twice("n5".into()));
        assert_eq!(error("n[0-5]0"), PatternError::DigitAfter);
        assert_eq!(error("n[0-99999999999]"), PatternError::TooMany);
    }

    #[test]
    fn common_names_are_found_without_enumeration() {
        let common = |one: &str, two: &str| {
            let found = pattern(one).shared_name(&pattern(two));
            assert_eq!(
                found.is_some(),
                pattern(two).shared_name(&pattern(one)).is_some()
            );
            let by_enumeration = names(one).iter().any(|name| names(two).contains(name));
            assert_eq!(found.is_some(), by_enumeration, "{one} and {two}");
            found
        };
        assert_eq!(common("n[0-9]", "n[5-20]").as_deref(), Some("n9"));
        assert_eq!(common("n[0-9]", "n[00-09]"), None);
        assert_eq!(common("n[0-19]", "n[00-12]").as_deref(), Some("n12"));
        assert_eq!(common("n[0-19]", "n1[5-9]").as_deref(), Some("n19"));
        assert_eq!(common("n[0-9]x5", "n3x[0-9]").as_deref(), Some("n3x5"));
        assert_eq!(common("n[0-9]", "m[0-9]"), None);
        assert_eq!(common("n[0-9]", "n7").as_deref(), Some("n7"));
    }
}
