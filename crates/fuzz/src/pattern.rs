//! Contents of messages and buffers: each byte follows from the number of the message, so a
//! receiver can check all of them.

/// Returns the content of a message: its number, then the number repeated, cut to the length of the
/// message; a number longer than the message is not cut.
pub(crate) fn content(message: u32, length: u32) -> Vec<u8> {
    let mut text = Vec::new();
    write_content(&mut text, message, length);
    text
}

/// Writes the content of a message to a buffer, in place of the old content.
pub(crate) fn write_content(text: &mut Vec<u8>, message: u32, length: u32) {
    let mut digits = [0; DIGITS];
    let mut first = DIGITS;
    let mut rest = message;
    loop {
        first -= 1;
        digits[first] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    let number = &digits[first..];
    let length = (length as usize).max(number.len());
    text.clear();
    text.reserve(length + number.len() + 1);
    text.extend_from_slice(number);
    text.push(b' ');
    text.extend_from_slice(number);
    let first = number.len() + 1;
    while text.len() < length {
        let missing = (length - text.len()).next_multiple_of(number.len());
        text.extend_from_within(first..first + missing.min(text.len() - first));
    }
    text.truncate(length);
}

/// The most digits of a number.
const DIGITS: usize = 10;

/// Returns the number of the message with this content.
pub(crate) fn number_of(message: &[u8]) -> Option<u32> {
    let digits = message.iter().position(|byte| *byte == b' ');
    let digits = &message[..digits.unwrap_or(message.len())];
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Returns the byte at a place of the pattern with which a message fills a buffer. Neighbours
/// differ, so bytes at a wrong place are seen.
pub(crate) const fn pattern(message: u32, place: u32) -> u8 {
    let mixed = message.wrapping_mul(31).wrapping_add(place.wrapping_mul(7));
    // Never 0, which buffers have at first.
    (mixed % 255 + 1) as u8
}

/// Returns the first bytes of the pattern of a message.
pub(crate) fn pattern_bytes(message: u32, length: u32) -> Vec<u8> {
    (0..length).map(|place| pattern(message, place)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_tells_its_number() {
        for (message, length) in [(1, 0), (7, 16), (12, 2), (12, 1), (999, 5)] {
            assert_eq!(number_of(&content(message, length)), Some(message));
        }
        assert_eq!(content(12, 8), b"12 12121");
        assert_eq!(content(u32::MAX, 25), b"4294967295 42949672954294");
        assert_eq!(number_of(b"rmaH"), None);
    }
}
