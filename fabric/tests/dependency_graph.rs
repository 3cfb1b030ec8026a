//! Promise: dependencies between our crates point one way, as the design says. Above all, the message layer compiles
//! without the simulator, the kernel without anything of ours, and an app names only what apps may name.
//!
//! Dev-dependencies are not edges: tests may use what they like.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The packages of the workspace, each with its folder and with those of ours that it depends on.
fn workspace() -> BTreeMap<String, (PathBuf, BTreeSet<String>)> {
    let cargo = option_env!("CARGO").unwrap_or("cargo");
    let output = Command::new(cargo)
        .args([
            "metadata",
            "--format-version",
            "1",
            "--no-deps",
            "--offline",
        ])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let names: BTreeSet<&str> = packages.iter().map(name).collect();
    packages
        .iter()
        .map(|package| {
            let edges = package["dependencies"].as_array().expect("dependencies");
            let edges = edges.iter().filter(|edge| edge["kind"] != "dev");
            let ours = edges.map(name).filter(|edge| names.contains(edge));
            let manifest = package["manifest_path"].as_str().expect("a path");
            let folder = Path::new(manifest).parent().expect("a folder");
            let ours = ours.map(str::to_owned).collect();
            (name(package).to_owned(), (folder.to_path_buf(), ours))
        })
        .collect()
}

fn name(value: &Value) -> &str {
    value["name"].as_str().expect("a name")
}

/// The packages that each package may depend on. Programs link `simrun` and what is below it; only the commands are above.
const ALLOWED: &[(&str, &[&str])] = &[
    ("files", &[]),
    ("sim-core", &[]),
    // Only for the trait `Verbs`.
    ("mpi", &["rdma"]),
    ("rdma", &[]),
    ("maxmin", &[]),
    // Fixtures: only dev-dependencies name it.
    (
        "testing",
        &["mpi", "platform", "rdma", "sim-core", "simgrid-import"],
    ),
    ("platform", &["maxmin", "sim-core"]),
    ("simgrid-import", &["platform"]),
    ("fabric", &["mpi", "platform", "rdma", "sim-core"]),
    (
        "run",
        &[
            "fabric",
            "files",
            "mpi",
            "platform",
            "sim-core",
            "simgrid-import",
        ],
    ),
    ("explore", &["sim-core"]),
    ("report", &["files", "platform"]),
    ("real", &["mpi", "rdma", "run", "sim-core"]),
    (
        "validation",
        &["files", "mpi", "platform", "report", "run", "sim-core"],
    ),
    (
        "simrun",
        &[
            "explore", "files", "mpi", "platform", "rdma", "real", "report", "run", "sim-core",
        ],
    ),
    (
        "cli",
        &[
            "files",
            "mpi",
            "platform",
            "report",
            "run",
            "simgrid-import",
            "simrun",
        ],
    ),
    (
        "tools",
        &[
            "files",
            "platform",
            "real",
            "report",
            "run",
            "simrun",
            "validation",
        ],
    ),
];

#[test]
fn edges_point_one_way() {
    for (package, (folder, edges)) in workspace() {
        let is_bench = folder
            .parent()
            .is_some_and(|parent| parent.ends_with("bench"));
        let is_app = folder
            .parent()
            .is_some_and(|parent| parent.ends_with("apps"));
        let allowed = ALLOWED.iter().find(|(name, _)| *name == package);
        let allowed: &[&str] = match allowed {
            Some((_, allowed)) => allowed,
            // What measures may use everything, and nothing uses it.
            None if is_bench => &[
                "fabric", "mpi", "platform", "report", "run", "sim-core", "simrun",
            ],
            None if is_app => &["mpi", "sim-core", "simrun"],
            None => panic!(
                "{package} is new: a new crate is a design change, so say here what it may depend on"
            ),
        };
        for edge in &edges {
            assert!(
                allowed.contains(&edge.as_str()),
                "{package} depends on {edge}, but may depend only on {allowed:?}"
            );
        }
    }
}

#[test]
fn the_message_layer_and_the_kernel_know_nothing_of_ours() {
    let workspace = workspace();
    for leaf in ["files", "rdma", "sim-core"] {
        assert!(
            workspace[leaf].1.is_empty(),
            "{leaf}: {:?}",
            workspace[leaf].1
        );
    }
    // The trait of adapters is a leaf itself.
    let edges = &workspace["mpi"].1;
    assert!(edges.iter().all(|edge| edge == "rdma"), "mpi: {edges:?}");
}

#[test]
fn the_folder_has_the_name_of_the_package() {
    for (package, (folder, _)) in workspace() {
        assert!(
            folder.ends_with(&package),
            "{package} is in {}",
            folder.display()
        );
    }
}

/// Programs are built by everybody who tries simrun: what `ring` links stays small.
#[test]
fn a_program_links_at_most_60_packages() {
    let cargo = option_env!("CARGO").unwrap_or("cargo");
    let output = Command::new(cargo)
        .args(["tree", "--offline", "--package", "ring"])
        .args(["--edges", "normal,no-proc-macro", "--prefix", "none"])
        .args(["--no-dedupe", "--format", "{p}"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let packages: BTreeSet<&str> = text.lines().collect();
    assert!(packages.len() > 10, "{output:?}");
    assert!(packages.len() <= 60, "{}: {packages:#?}", packages.len());
}
