//! A compiled program: the file, the libraries, and the functions to which the symbols are bound.

use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use crate::bridge::{Ranks, Timing, Watch, install_fault_handlers};
use crate::exports::{OWN_FUNCTIONS, process};
use crate::interposed;
use crate::lines::{CallLines, Lines};
use crate::loader::Memory;
use crate::loader::libraries::Files;
use crate::loader::linking::Linked;
use elf::{PAGE, Refusal, Template};

/// A compiled MPI program whose libraries are loaded.
#[derive(Clone, Debug)]
pub struct CompiledProgram {
    linked: Arc<Linked>,
    lines: Arc<Lines>,
    files: Arc<[(PathBuf, u64)]>,
    uses_openmp: bool,
}

impl CompiledProgram {
    /// Reads a program from the bytes of a file, finds and loads the libraries of the program and
    /// binds the symbols.
    pub fn load(path: &Path, file: &[u8]) -> Result<Self, Refusal> {
        interposed::keep_exports();
        let program_files = Files::collect_files(path, Template::read_program(file)?)?;
        let linked = Arc::new(Linked::new(&program_files, &OWN_FUNCTIONS)?);
        let modules = program_files
            .modules
            .iter()
            .enumerate()
            .zip(linked.starts());
        let lines = Lines::new(modules.clone().map(|((number, module), start)| {
            let bytes = if number == 0 { file } else { &module.file };
            (start, &*module.path, bytes)
        }));
        let files = modules.map(|((_, module), start)| (module.path.clone(), start));
        let files = files.collect();
        install_fault_handlers();
        Ok(Self {
            uses_openmp: program_files.uses_openmp,
            linked,
            lines: Arc::new(lines),
            files,
        })
    }

    /// Returns the files of the program and of its own libraries, each with its offset in an image.
    pub fn files(&self) -> &[(PathBuf, u64)] {
        &self.files
    }

    /// Returns true if the program or an own library is linked with a library of OpenMP.
    pub const fn uses_openmp(&self) -> bool {
        self.uses_openmp
    }

    /// Returns true if the program counts basic blocks.
    pub fn counts_blocks(&self) -> bool {
        self.linked.counts_blocks()
    }

    /// Returns the ranks that run on this thread, each with a stack of this length in bytes.
    /// `arguments`: the arguments of `main`, beginning with the name of the program. `has_heaps`:
    /// memory that a rank has not freed is freed when the rank ends; a model checker needs this,
    /// because it runs the program again and again.
    pub fn ranks(
        &self,
        stack: usize,
        arguments: Vec<CString>,
        has_heaps: bool,
        timing: Timing,
    ) -> Ranks {
        if let Some(name) = arguments.first() {
            process::set_name(name);
        }
        let stack = stack.next_multiple_of(PAGE as usize);
        Ranks {
            memory: Rc::new(Memory::new(Arc::clone(&self.linked), stack)),
            arguments: arguments.into(),
            lines: Rc::new(CallLines::new(Arc::clone(&self.lines))),
            has_heaps,
            buffers: Rc::default(),
            watch: timing.longest.map(|longest| Rc::new(Watch::new(longest))),
            timing: Rc::new(timing),
        }
    }
}
