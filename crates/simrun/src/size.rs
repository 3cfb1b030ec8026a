//! A size in bytes as a program's argument: `1MiB`, `64kB`, or a plain number of bytes.

use std::fmt;
use std::str::FromStr;

/// A number of bytes, for the arguments of programs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Size(pub u64);

/// A text that is not a size.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseSizeError(String);

impl fmt::Display for ParseSizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ParseSizeError {}

impl FromStr for Size {
    type Err = ParseSizeError;

    fn from_str(text: &str) -> Result<Self, ParseSizeError> {
        if let Ok(bytes) = text.parse() {
            return Ok(Self(bytes));
        }
        let size: platform::units::Size = text
            .parse()
            .map_err(|error| ParseSizeError(format!("{error}")))?;
        Ok(Self(size.bytes()))
    }
}

impl fmt::Display for Size {
    /// The shortest exact text: `1MiB`, `1500B`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
        for (unit, shift) in units {
            if self.0 > 0 && self.0.trailing_zeros() >= shift {
                return write!(f, "{}{unit}", self.0 >> shift);
            }
        }
        write!(f, "{}B", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_units_and_plain_bytes() {
        for (text, bytes) in [("1MiB", 1 << 20), ("1024", 1024), ("3kB", 3000), ("0", 0)] {
            assert_eq!(text.parse(), Ok(Size(bytes)), "{text}");
        }
        assert!("1MX".parse::<Size>().is_err());
        assert_eq!(Size(1 << 21).to_string(), "2MiB");
        assert_eq!(Size(1500).to_string(), "1500B");
    }
}
