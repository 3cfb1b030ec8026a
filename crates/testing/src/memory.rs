//! A file in memory that outlives a writer.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

/// All clones are the same file.
#[derive(Clone, Debug, Default)]
pub struct Memory(Arc<Mutex<Vec<u8>>>);

impl Memory {
    /// Returns the written bytes, and empties the file.
    pub fn take_bytes(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().expect("no panic"))
    }
}

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
