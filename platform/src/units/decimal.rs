//! The number in front of a unit, and the exact scaling of this number.

use super::Unit;

/// Splits a quantity into number and unit; the number may be empty or malformed.
pub(super) fn split(text: &str) -> (&str, &str) {
    let bytes = text.as_bytes();
    let mut end = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    for word in ["infinity", "inf", "nan"] {
        let rest = &text[end..];
        if rest.len() >= word.len()
            && rest.is_char_boundary(word.len())
            && rest[..word.len()].eq_ignore_ascii_case(word)
        {
            end += word.len();
            return (&text[..end], text[end..].trim_start());
        }
    }
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    while is_digit(end) || bytes.get(end) == Some(&b'.') {
        end += 1;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        if is_digit(end + 1 + sign) {
            end += 1 + sign;
            while is_digit(end) {
                end += 1;
            }
        }
    }
    (&text[..end], text[end..].trim_start())
}

/// Returns true if the number is spelled as infinity or not-a-number.
pub(super) fn is_not_finite(number: &str) -> bool {
    number.bytes().any(|byte| matches!(byte, b'n' | b'N'))
}

/// `number` times the size of `unit`, rounded once; `None` if `number` is malformed.
pub(super) fn scaled(number: &str, unit: &Unit) -> Option<f64> {
    let (digits, exponent) = match number.find(['e', 'E']) {
        // An exponent too large for an i32 is as good as the largest.
        Some(at) => (
            &number[..at],
            number[at + 1..]
                .parse::<i32>()
                .unwrap_or(if number[at + 1..].starts_with('-') {
                    -1_000_000
                } else {
                    1_000_000
                }),
        ),
        None => (number, 0),
    };
    let value: f64 = format!("{digits}e{}", exponent.saturating_add(unit.decimal))
        .parse()
        .ok()?;
    // Powers of two are exact: the significand does not change.
    let factor = f64::from_bits(u64::try_from(1023 + unit.binary).ok()? << 52);
    Some(value * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_end_where_units_begin() {
        assert_eq!(split("1.5e-3 Ef"), ("1.5e-3", "Ef"));
        assert_eq!(split("1Ef"), ("1", "Ef"));
        assert_eq!(split("-infs"), ("-inf", "s"));
        assert_eq!(split("µs"), ("", "µs"));
        assert_eq!(split(""), ("", ""));
    }

    #[test]
    fn the_decimal_exponent_is_shifted_before_rounding() {
        let micro = Unit {
            name: "us",
            decimal: -6,
            binary: 0,
        };
        assert_eq!(scaled("1.3", &micro), Some(1.3e-6));
        assert_eq!(scaled("1e99999999999", &micro), Some(f64::INFINITY));
        assert_eq!(scaled("1e-99999999999", &micro), Some(0.0));
        assert_eq!(scaled(".", &micro), None);
    }
}
