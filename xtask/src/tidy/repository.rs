//! The repository for the checks: sources as text, packages from cargo's metadata.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use cargo_metadata::{DependencyKind, MetadataCommand};

use super::Finding;

/// The texts of licences that a published package brings along.
pub(super) const LICENCES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// The folder of most packages.
const CRATES: &str = "crates/";

/// Everything that the checks read.
#[derive(Debug, Default)]
pub(super) struct Repository {
    /// All Rust files, by path.
    pub(super) sources: Vec<Source>,
    /// All Markdown files, by path.
    pub(super) pages: Vec<Source>,
    /// The page with the table of packages.
    pub(super) architecture: String,
    /// The page with the terms.
    pub(super) glossary: String,
    /// The page with the functions of MPI.
    pub(super) mpi_coverage: String,
    /// The packages of the workspace, by folder, without [`CRATES`].
    pub(super) packages: BTreeMap<String, Package>,
    /// The packages that `apps/ring` links, itself among them, with their versions.
    pub(super) linked_by_ring: BTreeSet<String>,
    /// The packages that `apps/ring`, `cli` and `tools` build, with their versions and features.
    pub(super) built: [BTreeMap<String, String>; 3],
}

/// A file of Rust or Markdown.
#[derive(Debug)]
pub(super) struct Source {
    /// Relative to the root.
    pub(super) path: String,
    pub(super) text: String,
}

/// A package of the workspace.
#[derive(Debug, Default)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) is_published: bool,
    /// Texts of licences in the folder of the package, by file name.
    pub(super) licences: BTreeSet<String>,
    /// Folders of the packages that the package depends on, without dependencies of tests only.
    pub(super) edges: BTreeSet<String>,
}

impl Repository {
    /// Reads the repository.
    pub(super) fn read_repository(root: &Path) -> Result<Self, String> {
        Ok(Self {
            sources: texts(root, "rs")?,
            pages: texts(root, "md")?,
            architecture: crate::read(root, "ARCHITECTURE.md")?,
            glossary: crate::read(root, "docs/glossary.md")?,
            mpi_coverage: crate::read(root, "docs/mpi-coverage.md")?,
            packages: packages(root)?,
            linked_by_ring: linked(root, "ring")?,
            built: [
                built(root, "ring")?,
                built(root, "simrun-cli")?,
                built(root, "simrun-tools")?,
            ],
        })
    }

    /// Makes one of these sources, paths and texts.
    #[cfg(test)]
    pub(super) fn of_sources(sources: &[(&str, &str)]) -> Self {
        let source = |&(path, text): &(&str, &str)| Source {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        Self {
            sources: sources.iter().map(source).collect(),
            ..Self::default()
        }
    }
}

impl Source {
    /// Returns the folder of the package, such as `mpi`, or of a group of packages, such as `apps`.
    pub(super) fn folder(&self) -> &str {
        let path = self.path.strip_prefix(CRATES).unwrap_or(&self.path);
        path.split('/').next().unwrap_or_default()
    }

    /// Returns the folder of the package, such as `mpi` or `apps/ring`.
    pub(super) fn package(&self) -> &str {
        let path = self.path.strip_prefix(CRATES).unwrap_or(&self.path);
        path.split_once("/src/")
            .map_or(path, |(package, _)| package)
    }

    /// Returns the lines, numbered from 1.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.lines())
    }

    /// Returns a finding in a line of this file, counted for the top folder.
    pub(super) fn finding(&self, line: usize, text: String) -> Finding {
        Finding {
            place: format!("{}:{line}", self.path),
            text,
            key: self.folder().to_owned(),
        }
    }
}

/// Reads all files with this ending but built ones.
fn texts(root: &Path, ending: &str) -> Result<Vec<Source>, String> {
    let mut folders = vec![root.to_owned()];
    let mut sources = Vec::new();
    while let Some(folder) = folders.pop() {
        let unreadable = |error: std::io::Error| format!("{}: {error}", folder.display());
        for entry in fs::read_dir(&folder).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            let name = path.file_name().and_then(|name| name.to_str());
            let name = name.unwrap_or_default();
            if path.is_dir() {
                if !name.starts_with('.') && name != "target" {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|found| found == ending) {
                let relative = path.strip_prefix(root).unwrap_or(&path);
                let path = relative.display().to_string();
                let text = crate::read(root, &path)?;
                sources.push(Source { path, text });
            }
        }
    }
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(sources)
}

fn packages(root: &Path) -> Result<BTreeMap<String, Package>, String> {
    let metadata = MetadataCommand::new()
        .current_dir(root)
        .no_deps()
        .other_options(vec!["--offline".to_owned()])
        .exec()
        .map_err(|error| error.to_string())?;
    let folder = |path: &Path| {
        let folder = path.strip_prefix(&metadata.workspace_root).unwrap_or(path);
        let folder = folder.strip_prefix(CRATES).unwrap_or(folder);
        folder.display().to_string()
    };
    let package = |package: &cargo_metadata::Package| {
        let edges = package.dependencies.iter();
        let edges = edges.filter(|edge| edge.kind != DependencyKind::Development);
        let ours = edges.filter_map(|edge| edge.path.as_ref());
        let manifest = package.manifest_path.as_std_path();
        let home = manifest.parent().unwrap_or(manifest);
        let has = |name: &&str| home.join(name).is_file();
        let named = Package {
            name: package.name.to_string(),
            licences: LICENCES.into_iter().filter(has).map(String::from).collect(),
            is_published: package.publish != Some(Vec::new()),
            edges: ours.map(|path| folder(path.as_std_path())).collect(),
        };
        (folder(home), named)
    };
    Ok(metadata.packages.iter().map(package).collect())
}

/// Returns the packages that a program links. Cargo's metadata cannot give this list: the metadata
/// has the features of the whole workspace at once.
fn linked(root: &Path, package: &str) -> Result<BTreeSet<String>, String> {
    let text = tree(root, package, "normal,no-proc-macro", "{p}")?;
    Ok(text.lines().map(str::to_owned).collect())
}

/// Returns the packages that are built for a program, and their features.
fn built(root: &Path, package: &str) -> Result<BTreeMap<String, String>, String> {
    let text = tree(root, package, "normal,build", "{p}|{f}")?;
    let pairs = text.lines().filter_map(|line| line.split_once('|'));
    Ok(pairs
        .map(|(package, features)| (package.to_owned(), features.to_owned()))
        .collect())
}

fn tree(root: &Path, package: &str, edges: &str, format: &str) -> Result<String, String> {
    let output = Command::new(option_env!("CARGO").unwrap_or("cargo"))
        .args(["tree", "--offline", "--package", package])
        .args(["--edges", edges, "--prefix", "none"])
        .args(["--no-dedupe", "--format", format])
        .current_dir(root)
        .output()
        .map_err(|error| format!("cannot start cargo: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_package_is_read() {
        let repository = Repository::read_repository(&crate::root()).unwrap();
        let path = "xtask/src/tidy/repository.rs";
        assert!(repository.sources.iter().any(|source| source.path == path));
        assert_eq!(repository.packages["xtask"].edges, BTreeSet::new());
        assert!(repository.packages["apps/ring"].edges.contains("mpi"));
        // What only tests use is no edge.
        assert!(!repository.packages["fabric"].edges.contains("run"));
        assert!(repository.linked_by_ring.len() > 10);
    }
}
