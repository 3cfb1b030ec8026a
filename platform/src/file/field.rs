//! The value of one key, as a type: the accepted values, and the messages about other values.

use toml::Spanned;
use toml::de::DeValue;

use super::{Direction, Routing, Sharing, ToItself};
use crate::nearest::nearest;
use crate::network::NetworkModel;
use crate::pattern::{HostPattern, PatternError};
use crate::units::{Kind, Quantity};

/// An invalid value: the value found, the value expected, and a way to correct the file.
#[derive(Debug)]
pub(crate) struct InvalidValue {
    pub(super) problem: String,
    pub(super) expected: String,
    pub(super) help: Option<String>,
}

/// A type that a TOML value can be read as.
pub(crate) trait ParseField: Sized {
    fn read(value: &Spanned<DeValue<'_>>) -> Result<Self, InvalidValue>;
}

impl InvalidValue {
    pub(super) fn kind(value: &DeValue<'_>, expected: &str) -> Self {
        let found = match value {
            DeValue::String(text) => format!("the string {:?}", cut(text)),
            DeValue::Integer(number) => format!("the number {}", cut(&number.to_string())),
            DeValue::Float(number) => format!("the number {}", cut(&number.to_string())),
            DeValue::Boolean(truth) => format!("{truth}"),
            DeValue::Datetime(date) => format!("the date {date}"),
            DeValue::Array(_) => "an array".to_owned(),
            DeValue::Table(_) => "a table".to_owned(),
        };
        Self {
            problem: format!("wrong type: {found}"),
            expected: format!("expected {expected}"),
            help: None,
        }
    }

    /// A word that is none of `known`.
    fn unknown_word(what: &str, found: &str, known: &[&'static str]) -> Self {
        let list: Vec<String> = known.iter().map(|word| format!("{word:?}")).collect();
        Self {
            problem: format!("unknown {what} {:?}", cut(found)),
            expected: format!("expected {}", list.join(" or ")),
            help: if found == "free" && known.contains(&"instant") {
                Some(renamed("instant"))
            } else {
                did_you_mean(nearest(found, known.iter().copied()))
            },
        }
    }
}

/// Returns the help line for a word that has another name now.
pub(crate) fn renamed(new: &str) -> String {
    format!("it is called {new:?} now")
}

/// The help line that suggests `near`.
pub(crate) fn did_you_mean(near: Option<&str>) -> Option<String> {
    near.map(|near| format!("did you mean {near:?}?"))
}

/// A text short enough for a message.
#[must_use]
pub fn cut(text: &str) -> String {
    const LENGTH_MAX: usize = 80;
    if text.chars().count() <= LENGTH_MAX {
        return text.to_owned();
    }
    let start: String = text.chars().take(LENGTH_MAX - 1).collect();
    format!("{start}…")
}

impl<K: Kind> ParseField for Quantity<K> {
    fn read(value: &Spanned<DeValue<'_>>) -> Result<Self, InvalidValue> {
        let expected = || format!("{} in quotes, such as {}", K::NAME, K::EXAMPLES);
        let text = value
            .get_ref()
            .as_str()
            .ok_or_else(|| InvalidValue::kind(value.get_ref(), &expected()))?;
        if text.len() > 64 {
            return Err(InvalidValue::kind(value.get_ref(), &expected()));
        }
        text.parse::<Self>().map_err(|error| InvalidValue {
            problem: error.problem(),
            expected: error.expected(),
            help: did_you_mean(error.suggestion()),
        })
    }
}

impl ParseField for String {
    fn read(value: &Spanned<DeValue<'_>>) -> Result<Self, InvalidValue> {
        match value.get_ref().as_str() {
            Some(text) => Ok(text.to_owned()),
            None => Err(InvalidValue::kind(value.get_ref(), "a string in quotes")),
        }
    }
}

impl<T: ParseField> ParseField for Spanned<T> {
    fn read(value: &Spanned<DeValue<'_>>) -> Result<Self, InvalidValue> {
        T::read(value).map(|read| Self::new(value.span(), read))
    }
}

impl ParseField for bool {
    fn read(value: &Spanned<DeValue<'_>>) -> Result<Self, InvalidValue> {
        value
            .get_ref()
            .as_bool()
            .ok_or_else(|| InvalidValue::kind(value.get_ref(), "true or false"))
    }
}

impl ParseField for u32 {
    fn read(value: &Spanned<DeValue<'_>>) -> Result<Self, InvalidValue> {
        const EXPECTED: &str = "a whole number, at least 1, without quotes";
        let wrong = || InvalidValue::kind(value.get_ref(), EXPECTED);
        let number = value.get_ref().as_integer().ok_or_else(wrong)?;
        match Self::from_str_radix(number.as_str(), number.radix()) {
            Ok(0) => Err(InvalidValue {
                problem: "zero is not allowed".to_owned(),
                expected: format!("expected {EXPECTED}"),
                help: None,
            }),
            Ok(number) => Ok(number),
            Err(_) => Err(InvalidValue {
                problem: format!("number out of range: {}", cut(&number.to_string())),
                expected: format!("expected {EXPECTED}, below 2^32"),
                help: None,
            }),
        }
    }
}

impl ParseField for f64 {
    fn read(value: &Spanned<DeValue<'_>>) -> Result<Self, InvalidValue> {
        let text = match value.get_ref() {
            DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str()),
            DeValue::Float(number) => Some(number.as_str()),
            _ => None,
        };
        text.and_then(|text| text.parse::<Self>().ok())
            .filter(|number| number.is_finite())
            .ok_or_else(|| InvalidValue::kind(value.get_ref(), "a finite number, without quotes"))
    }
}

impl<T: ParseField> ParseField for Vec<T> {
    fn read(value: &Spanned<DeValue<'_>>) -> Result<Self, InvalidValue> {
        let array = value
            .get_ref()
            .as_array()
            .ok_or_else(|| InvalidValue::kind(value.get_ref(), "an array, such as [4, 2]"))?;
        array.iter().map(T::read).collect()
    }
}

impl<T: ParseField, const N: usize> ParseField for [T; N] {
    fn read(value: &Spanned<DeValue<'_>>) -> Result<Self, InvalidValue> {
        let list = Vec::<T>::read(value)?;
        let found = list.len();
        list.try_into().map_err(|_| InvalidValue {
            problem: format!("an array of {found}"),
            expected: format!("expected an array of {N}"),
            help: None,
        })
    }
}

impl ParseField for Routing {
    fn read(value: &Spanned<DeValue<'_>>) -> Result<Self, InvalidValue> {
        const WORDS: [&str; 7] = [
            "full", "star", "dijkstra", "floyd", "vivaldi", "wifi", "none",
        ];
        const VALUES: [Routing; 7] = [
            Routing::Full,
            Routing::Star,
            Routing::Dijkstra,
            Routing::Floyd,
            Routing::Vivaldi,
            Routing::Wifi,
            Routing::None,
        ];
        word(value, "routing", &WORDS, &VALUES)
    }
}

impl ParseField for ToItself {
    fn read(value: &Spanned<DeValue<'_>>) -> Result<Self, InvalidValue> {
        const VALUES: [ToItself; 2] = [ToItself::Loopback, ToItself::Links];
        word(value, "self route", &["loopback", "links"], &VALUES)
    }
}

/// Reads one of the words of `known`.
pub(super) fn word<T: Copy>(
    value: &Spanned<DeValue<'_>>,
    what: &str,
    words: &[&'static str],
    values: &[T],
) -> Result<T, InvalidValue> {
    let text = String::read(value)?;
    words
        .iter()
        .position(|known| *known == text)
        .and_then(|at| values.get(at).copied())
        .ok_or_else(|| InvalidValue::unknown_word(what, &text, words))
}

impl ParseField for Sharing {
    fn read(value: &Spanned<DeValue<'_>>) -> Result<Self, InvalidValue> {
        const WORDS: [&str; 3] = ["shared", "split-duplex", "fatpipe"];
        const VALUES: [Sharing; 3] = [Sharing::Shared, Sharing::SplitDuplex, Sharing::FatPipe];
        word(value, "sharing", &WORDS, &VALUES)
    }
}

impl ParseField for NetworkModel {
    fn read(value: &Spanned<DeValue<'_>>) -> Result<Self, InvalidValue> {
        let names: Vec<&str> = Self::ALL.iter().map(|model| model.name()).collect();
        word(value, "network model", &names, Self::ALL)
    }
}

impl ParseField for Direction {
    fn read(value: &Spanned<DeValue<'_>>) -> Result<Self, InvalidValue> {
        word(value, "direction", &["up", "down"], &[Self::Up, Self::Down])
    }
}

impl ParseField for HostPattern {
    fn read(value: &Spanned<DeValue<'_>>) -> Result<Self, InvalidValue> {
        let text = String::read(value)?;
        Self::parse(&text).map_err(|error| InvalidValue {
            problem: format!("{error}: {:?}", cut(&text)),
            expected: "expected names such as \"node-[0-63]\", \"n[0-3,8-11]\" or \"node-[00-63]\""
                .to_owned(),
            help: match &error {
                PatternError::Backwards { swapped, .. } => did_you_mean(Some(swapped)),
                _ => None,
            },
        })
    }
}
