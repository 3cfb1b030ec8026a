//! The files of a program: its own shared libraries, which each rank has in a separate copy like
//! the program, and system libraries, which all ranks share.

use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};

use elf::{Kind, Links, Refusal, Template};

/// Beginnings of the names of libraries that ranks share.
const SYSTEM_LIBRARIES: &[&str] = &[
    "ld-linux-x86-64.so.",
    "libblas.so.",
    "libc.so.",
    "libdl.so.",
    "libgcc_s.so.",
    "liblapack.so.",
    "libm.so.",
    "libpthread.so.",
    "librt.so.",
    "libstdc++.so.",
    "libz.so.",
];

/// Beginnings of the names of libraries of OpenMP, which are not loaded: the package `openmp` has
/// the functions.
const OPENMP_LIBRARIES: &[&str] = &["libgomp.so", "libiomp5.so", "libomp.so", "libomptarget.so"];

/// Default folders of libraries.
const FOLDERS: &[&str] = &[
    "/usr/local/lib",
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
];

/// A file of a program.
#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) path: PathBuf,
    pub(crate) template: Template,
    /// Bytes of the file; empty for the program itself.
    pub(crate) file: Vec<u8>,
}

/// A program with its libraries.
#[derive(Debug)]
pub(crate) struct Files {
    /// The program and the program's own libraries, in the order of symbol lookup.
    pub(crate) modules: Vec<Module>,
    /// Their numbers in the order of their constructors.
    pub(crate) order: Vec<usize>,
    /// Names of libraries of the system.
    pub(crate) system: Vec<String>,
    pub(crate) uses_openmp: bool,
}

impl Files {
    /// Finds and reads the libraries of a program.
    pub(crate) fn collect_files(path: &Path, mut template: Template) -> Result<Self, Refusal> {
        template.needed.splice(0..0, preloaded());
        let mut files = Self {
            modules: vec![Module {
                path: path.to_owned(),
                template,
                file: Vec::new(),
            }],
            order: Vec::new(),
            system: Vec::new(),
            uses_openmp: false,
        };
        // Names of libraries, and the numbers of their modules.
        let mut known: Vec<(String, usize)> = Vec::new();
        let mut number = 0;
        while let Some(module) = files.modules.get(number) {
            for name in module.template.needed.clone() {
                if known.iter().all(|(known, _)| *known != name) {
                    files.add_library(name, number, &mut known)?;
                }
            }
            number += 1;
        }
        files.order = constructor_order(&files.modules, &known);
        Ok(files)
    }

    fn add_library(
        &mut self,
        name: String,
        needed_by: usize,
        known: &mut Vec<(String, usize)>,
    ) -> Result<(), Refusal> {
        let has = |prefix: &&str| name.starts_with(*prefix);
        if has(&"libmpi_abi.so.") || self.system.contains(&name) {
            return Ok(());
        }
        if OPENMP_LIBRARIES.iter().any(has) {
            self.uses_openmp = true;
            return Ok(());
        }
        if SYSTEM_LIBRARIES.iter().any(has) && !name.contains('/') {
            self.system.push(name);
            return Ok(());
        }
        if has(&"libmpi.so.") || has(&"libmpich.so.") {
            let by = self.modules[needed_by].path.display();
            return Err(Refusal(format!(
                "the library {by} is compiled for an MPI with its own ABI, {name}: compile it for \
                 the standard ABI of MPI 5.0, with mpicc_abi or simrun cc"
            )));
        }
        let path = self.find_library(&name, needed_by)?;
        let named = |problem: String| Refusal(format!("{}: {problem}", path.display()));
        let file = std::fs::read(&path).map_err(|error| named(error.to_string()))?;
        let template = Template::read_library(&file).map_err(|refusal| named(refusal.0))?;
        known.push((name, self.modules.len()));
        self.modules.push(Module {
            path,
            template,
            file,
        });
        Ok(())
    }

    fn find_library(&self, name: &str, needed_by: usize) -> Result<PathBuf, Refusal> {
        let searched = |number: usize| {
            let module: &Module = &self.modules[number];
            (&*module.path, &module.template.folders)
        };
        let found = search_library(name, searched(needed_by), searched(0));
        found.ok_or_else(|| {
            let by = self.modules[needed_by].path.display();
            Refusal(format!(
                "the shared library {name} of {by} is not there: expected in a folder of its \
                 RUNPATH, of LD_LIBRARY_PATH or of the system"
            ))
        })
    }
}

/// Returns the kind of an executable file, from the bytes of the file: a program may reach MPI only
/// through libraries, or through libraries of these libraries.
pub fn kind(path: &Path, file: &[u8]) -> Kind {
    let Ok(links) = Links::from_file(file) else {
        return Kind::Other;
    };
    let mut kind = links.find_kind();
    let mut calls_mpi = links.calls_mpi;
    let mut known: Vec<String> = Vec::new();
    let mut files = vec![(path.to_owned(), links)];
    let mut number = 0;
    while let Some((by, links)) = files.get(number).filter(|_| kind == Kind::Other) {
        let mut added = Vec::new();
        for name in &links.needed {
            let is_shared = |prefix: &&str| name.starts_with(*prefix);
            let mut shared = SYSTEM_LIBRARIES.iter().chain(OPENMP_LIBRARIES);
            if known.contains(name) || shared.any(is_shared) {
                continue;
            }
            known.push(name.clone());
            let found = search_library(name, (by, &links.folders), (path, &files[0].1.folders));
            let bytes = found.and_then(|found| Some((std::fs::read(&found).ok()?, found)));
            if let Some((bytes, found)) = bytes
                && let Ok(links) = Links::from_file(&bytes)
            {
                added.push((found, links));
            }
        }
        for (_, links) in &added {
            calls_mpi |= links.calls_mpi;
            if kind == Kind::Other {
                kind = links.find_kind();
            }
        }
        files.extend(added);
        number += 1;
    }
    match kind {
        Kind::Other if calls_mpi => Kind::StandardAbi,
        _ => kind,
    }
}

/// Returns true if a library calls MPI, itself or through its libraries; `name` is as for `dlopen`.
pub(crate) fn calls_mpi(name: &str) -> bool {
    let none = (Path::new(""), &[const { Vec::new() }; 2]);
    let path = search_library(name, none, none);
    let file = path.and_then(|path| Some((std::fs::read(&path).ok()?, path)));
    file.is_some_and(|(bytes, path)| kind(&path, &bytes) != Kind::Other)
}

/// Returns the libraries of `LD_PRELOAD` that call MPI, such as tools of the profiling interface.
/// Others are in this process.
fn preloaded() -> Vec<String> {
    let list = std::env::var_os("LD_PRELOAD").unwrap_or_default();
    let list = list.to_string_lossy();
    let names = list.split([' ', ':']).filter(|name| !name.is_empty());
    names
        .filter(|name| calls_mpi(name))
        .map(str::to_owned)
        .collect()
}

/// Returns the file of a library that a file needs, with the search order of the system (ld.so(8)),
/// but without the system cache. A file is given by a path and lists of folders.
fn search_library(
    name: &str,
    by: (&Path, &[Vec<String>; 2]),
    program: (&Path, &[Vec<String>; 2]),
) -> Option<PathBuf> {
    let [mut before, after] = [0, 1].map(|list| folders(by.0, &by.1[list]));
    if after.is_empty() {
        before.extend(folders(program.0, &program.1[0]));
    }
    let user = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let user = std::env::split_paths(&user);
    let usual = FOLDERS.iter().map(PathBuf::from);
    let all = before.into_iter().chain(user).chain(after).chain(usual);
    let is_path = name.contains('/');
    let path = is_path.then(|| PathBuf::from(name)).into_iter();
    let found = all.filter(|_| !is_path).map(|folder| folder.join(name));
    // A device would be read without end.
    path.chain(found).find(|file| file.is_file())
}

/// Returns a list of folders of a file, with `$ORIGIN` replaced by the folder of the file.
fn folders(path: &Path, list: &[String]) -> Vec<PathBuf> {
    let real = path.canonicalize();
    let path = real.as_deref().unwrap_or(path);
    let origin = path.parent().unwrap_or(Path::new(".")).to_string_lossy();
    let folders = list.iter();
    let placed = |folder: &String| {
        let folder = folder.replace("$ORIGIN", &origin);
        PathBuf::from(folder.replace("${ORIGIN}", &origin))
    };
    folders.map(placed).collect()
}

/// Returns the order of constructors: a library comes before the files that need the library.
fn constructor_order(modules: &[Module], known: &[(String, usize)]) -> Vec<usize> {
    let needed = |number: usize| {
        let needed = modules[number].template.needed.iter();
        let number = |name: &String| Some(known.iter().find(|(known, _)| known == name)?.1);
        needed.filter_map(number).collect::<Vec<_>>()
    };
    let (mut order, mut visited) = (Vec::new(), vec![false; modules.len()]);
    let mut path = vec![(0, needed(0).into_iter())];
    visited[0] = true;
    while let Some((number, rest)) = path.last_mut() {
        match rest.next() {
            Some(next) if !std::mem::replace(&mut visited[next], true) => {
                path.push((next, needed(next).into_iter()));
            }
            Some(_) => {}
            None => {
                order.push(*number);
                path.pop();
            }
        }
    }
    order
}

/// Loads libraries of the system into the process.
pub(super) fn load_system(names: &[String]) -> Result<(), Refusal> {
    for name in names {
        let text =
            CString::new(name.as_str()).map_err(|_| Refusal("a name with a 0".to_owned()))?;
        // SAFETY: a library of the system, which runs its own constructors; the name ends with 0.
        let library = unsafe { libc::dlopen(text.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        if library.is_null() {
            // SAFETY: after a failed call the function returns a text that ends with 0, or null.
            let why = unsafe { libc::dlerror() };
            let why = if why.is_null() {
                String::new()
            } else {
                // SAFETY: as above; it is valid until the next call.
                unsafe { CStr::from_ptr(why) }
                    .to_string_lossy()
                    .into_owned()
            };
            return Err(Refusal(format!("cannot load {name}: {why}")));
        }
    }
    Ok(())
}
