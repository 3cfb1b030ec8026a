//! Contents of messages and buffers: each byte follows from the number of the message, so a
//! receiver can check all of them.

/// Returns the content of a message: its number, then that number repeated, cut to its length; a
/// number longer than the message is not cut.
pub(crate) fn content(message: u32, length: u32) -> Vec<u8> {
    let number = message.to_string();
    let length = (length as usize).max(number.len());
    let mut text = Vec::with_capacity(length + number.len());
    text.extend_from_slice(number.as_bytes());
    text.push(b' ');
    let first = text.len();
    text.extend_from_slice(number.as_bytes());
    while text.len() < length {
        text.extend_from_within(first..);
    }
    text.truncate(length);
    text
}

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
        assert_eq!(number_of(b"rmaH"), None);
    }
}
