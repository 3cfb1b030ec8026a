//! The selectors of this package. Programs contain the files of the selectors, packed by the build
//! script; a file is unpacked and read at first use.

use std::sync::OnceLock;

use super::{Selector, file};

/// A selector of this package.
pub(super) struct BuiltIn {
    pub(super) name: &'static str,
    packed: &'static [u8],
    selector: OnceLock<Box<Selector>>,
}

macro_rules! built_in {
    ($name:expr) => {
        BuiltIn {
            name: $name,
            packed: include_bytes!(concat!(env!("OUT_DIR"), "/", $name)),
            selector: OnceLock::new(),
        }
    };
}

/// The selectors, the default first.
pub(super) static BUILT_IN: [BuiltIn; 13] = [
    built_in!("ours"),
    built_in!("openmpi-4.1"),
    built_in!("openmpi-5.0"),
    built_in!("mpich"),
    built_in!("mpich-5.1"),
    built_in!("mvapich2"),
    built_in!("intel"),
    built_in!("nccl"),
    built_in!("smpi-default"),
    built_in!("smpi-ompi"),
    built_in!("smpi-mpich"),
    built_in!("smpi-mvapich2"),
    built_in!("smpi-impi"),
];

impl BuiltIn {
    /// Returns the selector; tests check the text and the tables.
    pub(super) fn selector(&self) -> &Selector {
        self.selector.get_or_init(|| {
            let text = self
                .unpack_text()
                .ok_or_else(|| "expected a text".to_owned());
            let selector = text.and_then(|text| file::parse(&text));
            let name = self.name;
            Box::new(selector.unwrap_or_else(|error| panic!("the selector {name}: {error}")))
        })
    }

    /// Returns the text of the file; `None` if the packed bytes do not come from the build script.
    fn unpack_text(&self) -> Option<String> {
        String::from_utf8(unpack(self.packed)?).ok()
    }
}

/// Reverses `pack` of the build script; `None` if `packed` is not a result of `pack`.
fn unpack(mut packed: &[u8]) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    loop {
        let count = take_number(&mut packed)?;
        let (new, rest) = packed.split_at_checked(count)?;
        text.extend_from_slice(new);
        packed = rest;
        if packed.is_empty() {
            return Some(text);
        }
        let (mut length, distance) = (take_number(&mut packed)?, take_number(&mut packed)?);
        let start = text.len().checked_sub(distance).filter(|_| distance > 0)?;
        // A string can overlap with its repetition: then the copied part is copied, too.
        while length > 0 {
            let count = length.min(text.len() - start);
            text.extend_from_within(start..start + count);
            length -= count;
        }
    }
}

/// Takes a number in LEB128.
fn take_number(packed: &mut &[u8]) -> Option<usize> {
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

    #[test]
    fn the_packed_texts_are_those_of_the_files() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("selectors");
        assert_eq!(folder.read_dir().unwrap().count(), BUILT_IN.len());
        for BuiltIn { name, packed, .. } in &BUILT_IN {
            let expected = fs::read(folder.join(format!("{name}.toml"))).unwrap();
            assert_eq!(unpack(packed).as_ref(), Some(&expected), "{name}");
        }
        assert_eq!(Selector::DEFAULT_NAME, BUILT_IN[0].name);
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
