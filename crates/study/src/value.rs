//! Values of parameters: numbers, truth values and texts, of which some are quantities.
//!
//! A quantity is a text with a unit (`"64KiB"`, `"1.3us"`, `"100Gbps"`, `"16Gf"`) as in a platform
//! file. A placeholder inserts the text as written; an expression and a table use the number in the
//! base unit (bytes, seconds, bytes/s, flop/s).

use std::fmt;
use std::str::FromStr;

use platform::units::{Bandwidth, Duration, Size, Speed};
use serde::{Deserialize, Serialize};

/// The value of one parameter at one point.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// `true` or `false`.
    Boolean(bool),
    /// A whole number.
    Whole(i64),
    /// A finite number with a fraction or an exponent.
    Real(f64),
    /// A text, which may be a quantity.
    Text(String),
}

impl Value {
    /// Returns the number, in the base unit if the value is a quantity.
    pub fn to_number(&self) -> Option<f64> {
        match self {
            Self::Boolean(_) => None,
            #[expect(
                clippy::cast_precision_loss,
                reason = "numbers of files are below 2^53"
            )]
            Self::Whole(number) => Some(*number as f64),
            Self::Real(number) => Some(*number),
            Self::Text(text) => quantity(text).map(|(value, _)| value),
        }
    }

    /// Returns the value in a table: quantities are numbers in their base unit.
    pub(crate) fn cell(&self) -> String {
        match self {
            Self::Real(number) => real_cell(*number),
            Self::Text(text) => match quantity(text) {
                Some((number, QuantityKind::Size)) => number.to_string(),
                Some((number, _)) => real_cell(number),
                None => text.clone(),
            },
            Self::Boolean(_) | Self::Whole(_) => self.to_string(),
        }
    }
}

impl fmt::Display for Value {
    /// The text that a placeholder inserts.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boolean(value) => value.fmt(f),
            Self::Whole(value) => value.fmt(f),
            Self::Real(value) => value.fmt(f),
            Self::Text(value) => value.fmt(f),
        }
    }
}

/// Returns the shortest text that parses as the same number, and as a number with a fraction even
/// for whole numbers: readers of tables derive the type of a column from the texts.
pub(crate) fn real_cell(number: f64) -> String {
    format!("{number:?}")
}

/// The kind of a quantity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum QuantityKind {
    Size,
    Duration,
    Bandwidth,
    Speed,
}

/// Returns the value of a quantity in the base unit, and the kind; `None` for other texts.
pub(crate) fn quantity(text: &str) -> Option<(f64, QuantityKind)> {
    #[expect(
        clippy::cast_precision_loss,
        reason = "sizes are below 2^63 and mostly 2^53"
    )]
    let size = |size: Size| (size.bytes() as f64, QuantityKind::Size);
    // No unit belongs to two kinds.
    parsed(text, size)
        .or_else(|| parsed(text, |it: Duration| (it.as_secs(), QuantityKind::Duration)))
        .or_else(|| {
            parsed(text, |it: Bandwidth| {
                (it.bytes_per_s(), QuantityKind::Bandwidth)
            })
        })
        .or_else(|| parsed(text, |it: Speed| (it.flop_per_s(), QuantityKind::Speed)))
}

fn parsed<Q: FromStr, T>(text: &str, value: impl FnOnce(Q) -> T) -> Option<T> {
    text.parse().ok().map(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_numbers_in_base_units() {
        for (text, expected) in [
            ("64KiB", Some(65536.0)),
            ("1.3us", Some(1.3e-6)),
            ("100Gbps", Some(12.5e9)),
            ("16Gf", Some(16e9)),
            ("ring", None),
            ("64", None),
        ] {
            assert_eq!(Value::Text(text.to_owned()).to_number(), expected, "{text}");
        }
        let size = Value::Text("64KiB".to_owned());
        assert_eq!(
            (size.to_string(), size.cell()),
            ("64KiB".into(), "65536".into())
        );
    }

    #[test]
    fn cells_have_the_type_of_their_column() {
        let text = |text: &str| Value::Text(text.to_owned()).cell();
        assert_eq!(text("8Gbps"), "1000000000.0");
        assert_eq!(text("1us"), "1e-6");
        assert_eq!(text("ring"), "ring");
        assert_eq!(Value::Real(2.0).cell(), "2.0");
        assert_eq!(Value::Whole(2).cell(), "2");
    }

    #[test]
    fn numbers_are_read_back_as_they_were_written() {
        let mut bits = (0.1_f64 + 0.2).to_bits();
        for _ in 0..10_000 {
            let value = Value::Real(f64::from_bits(bits));
            let text = serde_json::to_string(&value).expect("JSON");
            let read: Value = serde_json::from_str(&text).expect("a value");
            assert_eq!(read, value, "{text}");
            bits += 0x0123_4567_89ab;
        }
    }

    #[test]
    fn json_keeps_the_types() {
        let text = r#"[true,3,0.5,"64KiB"]"#;
        let values: Vec<Value> = serde_json::from_str(text).expect("values");
        assert_eq!(values[1], Value::Whole(3));
        assert_eq!(serde_json::to_string(&values).expect("JSON"), text);
    }
}
