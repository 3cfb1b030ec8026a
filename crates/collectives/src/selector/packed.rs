//! The texts of the selectors of this package, which the build script packs.
//!
//! They are unpacked together when the first one is read, and freed when it is.

/// The packed texts: names and texts in turn, each with a zero behind it.
static PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/selectors"));

/// Returns the text of the selector of this name.
pub(super) fn text(name: &str) -> Option<String> {
    let all = String::from_utf8(unpack(PACKED)?).ok()?;
    let mut fields = all.split('\0');
    while let Some(known) = fields.next() {
        let text = fields.next()?;
        if known == name {
            return Some(text.to_owned());
        }
    }
    None
}

/// Returns what `pack` of the build script was given; `None` if it is none of its results.
fn unpack(mut packed: &[u8]) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    loop {
        let count = number(&mut packed)?;
        let (new, rest) = packed.split_at_checked(count)?;
        text.extend_from_slice(new);
        packed = rest;
        if packed.is_empty() {
            return Some(text);
        }
        let (length, distance) = (number(&mut packed)?, number(&mut packed)?);
        let start = text.len().checked_sub(distance)?;
        // What is repeated can overlap with its repetition.
        for place in start..start + length {
            text.push(*text.get(place)?);
        }
    }
}

/// Takes a number in LEB128.
fn number(packed: &mut &[u8]) -> Option<usize> {
    let mut number = 0;
    for shift in (0..usize::BITS).step_by(7) {
        let (byte, rest) = packed.split_first()?;
        *packed = rest;
        number |= usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::Selector;

    #[test]
    fn the_packed_texts_are_those_of_the_files() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("selectors");
        assert_eq!(
            folder.read_dir().unwrap().count(),
            Selector::names().count()
        );
        for name in Selector::names() {
            let expected = fs::read_to_string(folder.join(format!("{name}.toml"))).unwrap();
            assert_eq!(text(name).as_ref(), Some(&expected), "{name}");
        }
        assert_eq!(text("ours.toml"), None);
    }

    #[test]
    fn a_repetition_overlaps_with_what_it_repeats() {
        let packed = [2, b'a', b'b', 5, 2, 1, b'c'];
        assert_eq!(unpack(&packed), Some(b"abababac".to_vec()));
        // Cut off, and a repetition of what is before the text.
        assert_eq!(unpack(&packed[..4]), None);
        assert_eq!(unpack(&[1, b'a', 3, 2, 0]), None);
    }
}
