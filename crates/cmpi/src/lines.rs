//! Lines of a compiled program, from its debugging information (DWARF 5, section 6.2).
//!
//! Each address is looked up once per load of the program. An address without a known line is shown
//! as program name and offset, for `addr2line`: then the program was compiled without `-g`, or the
//! debugging information is compressed, in another file or damaged.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use addr2line::Context;
use gimli::{Dwarf, EndianArcSlice, LittleEndian, Reader as _};
use mpi::NativeLocation;
use object::{Object as _, ObjectSection as _};

type Reader = EndianArcSlice<LittleEndian>;

/// A file of a program, with debugging information if the file has any.
struct DebuggedFile {
    /// Offset of the file in the image.
    start: u64,
    name: String,
    context: Option<Context<Reader>>,
}

/// The files, and the lines that were asked for by the offset in the image to which their calls
/// return.
struct LineCache {
    files: Vec<DebuggedFile>,
    found: BTreeMap<u64, &'static NativeLocation>,
}

/// Number of recent lines: as many as an inner loop has calls.
const RECENT: usize = 64;

/// The lines of a compiled program.
pub(crate) struct Lines(Mutex<LineCache>);

/// The lines of a compiled program for the ranks of one thread. Most lines are requested again and
/// again: without a lock.
pub(crate) struct CallLines {
    lines: Arc<Lines>,
    /// Lines of the latest calls, each at an index derived from the offset.
    recent: [Cell<Option<(u64, &'static NativeLocation)>>; RECENT],
}

impl DebuggedFile {
    /// Reads the debugging information from the bytes of a file.
    fn new(start: u64, path: &Path, file: &[u8]) -> Self {
        let context = object::File::parse(file).ok().and_then(|file| {
            let section = |name: &str| {
                let data = file.section_by_name(name)?.data().ok()?;
                Some(Arc::from(data))
            };
            let read = |id: gimli::SectionId| {
                let bytes = section(id.name()).unwrap_or_else(|| Arc::from([]));
                Ok::<_, gimli::Error>(EndianArcSlice::new(bytes, LittleEndian))
            };
            Context::from_dwarf(Dwarf::load(read).ok()?).ok()
        });
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Self {
            start,
            name: name.into(),
            context,
        }
    }
}

impl Lines {
    /// Reads the debugging information of files, given their offsets in the image in ascending
    /// order, their paths and their bytes.
    pub(crate) fn new<'a>(files: impl Iterator<Item = (u64, &'a Path, &'a [u8])>) -> Self {
        let files = files.map(|(start, path, file)| DebuggedFile::new(start, path, file));
        Self(Mutex::new(LineCache {
            files: files.collect(),
            found: BTreeMap::new(),
        }))
    }

    fn find_call(&self, returns_to: u64) -> &'static NativeLocation {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let LineCache { files, found } = &mut *state;
        found.entry(returns_to).or_insert_with(|| {
            let file = files.iter().rfind(|file| file.start < returns_to);
            let known = file
                .and_then(|file| find_line(file.context.as_ref()?, returns_to - 1 - file.start));
            let (file, line) = known.unwrap_or_else(|| {
                let (start, name) = file.map_or((0, ""), |file| (file.start, &file.name));
                (format!("{name}(+{:#x})", returns_to - start), 0)
            });
            // There are as many as calls in the program.
            Box::leak(Box::new(NativeLocation { file, line }))
        })
    }
}

impl CallLines {
    pub(crate) fn new(lines: Arc<Lines>) -> Self {
        Self {
            lines,
            recent: [const { Cell::new(None) }; RECENT],
        }
    }

    /// Returns the line of the instruction before an offset in the image: of the call that returns
    /// there.
    #[inline]
    pub(crate) fn of_call(&self, returns_to: u64) -> &'static NativeLocation {
        match self.recent[returns_to as usize % RECENT].get() {
            Some((offset, location)) if offset == returns_to => location,
            _ => self.find_recent(returns_to),
        }
    }

    #[cold]
    fn find_recent(&self, returns_to: u64) -> &'static NativeLocation {
        let location = self.lines.find_call(returns_to);
        self.recent[returns_to as usize % RECENT].set(Some((returns_to, location)));
        location
    }
}

/// Part of the paths of C++ headers, whose functions are inlined into functions of a program.
pub(crate) const HEADERS: &str = "/include/c++/";

/// Returns file and line of an address: the innermost one of the functions that are inlined there
/// which is not in a header of C++. The path is that which the compiler was given.
fn find_line(context: &Context<Reader>, address: u64) -> Option<(String, u32)> {
    let innermost = context.find_location(address).ok()??;
    let mut frames = context.find_frames(address).skip_all_loads().ok()?;
    let frames = std::iter::from_fn(move || frames.next().ok()?);
    let mut locations = frames.filter_map(|frame| frame.location);
    let is_own = |file: &str| !file.contains(HEADERS);
    let own = locations.find(|location| location.file.is_some_and(is_own));
    let location = own.unwrap_or(innermost);
    let (file, line) = (location.file?, location.line?);
    let unit = context.find_dwarf_and_unit(address).skip_all_loads();
    let folder = unit.and_then(|unit| {
        let folder = unit.comp_dir.as_ref()?.to_string_lossy().ok()?;
        Some(folder.into_owned())
    });
    let relative = folder.and_then(|folder| file.strip_prefix(&folder)?.strip_prefix('/'));
    Some((relative.unwrap_or(file).to_owned(), line))
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines").finish_non_exhaustive()
    }
}

impl fmt::Debug for CallLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recent_lines_are_those_of_their_offsets() {
        let files = [
            (0, Path::new("a"), &[][..]),
            (1000, Path::new("b"), &[][..]),
        ];
        let lines = Arc::new(Lines::new(files.into_iter()));
        let calls = CallLines::new(Arc::clone(&lines));
        // Offsets with the same index take the place of each other.
        let same = [7, 7 + RECENT as u64, 1007];
        for offset in same.into_iter().chain(1..3 * RECENT as u64).chain(same) {
            for _ in 0..2 {
                assert!(std::ptr::eq(calls.of_call(offset), lines.find_call(offset)));
            }
        }
        assert_eq!(calls.of_call(7).to_string(), "a(+0x7)");
        assert_eq!(calls.of_call(1007).to_string(), "b(+0x7)");
    }
}
