//! Packages that a program links. Every user of simrun builds programs, so the packages are few.
//! The first run builds `simrun` too; `simrun` and `simrun-tools` have the same features of these
//! packages, or cargo builds them twice.

use super::Finding;
use super::repository::Repository;

/// Largest number of packages that `apps/ring` links, itself among them.
/// Above 60: `collectives`, `observe`, `source-location` and `channel` are packages of their own.
const PACKAGES_MAX: usize = 64;

pub(super) fn collect_findings(repository: &Repository) -> Vec<Finding> {
    let mut findings = too_many(repository);
    findings.extend(built_twice(repository));
    findings
}

/// Packages that `apps/ring`, and `cli` or `tools` build with different features.
fn built_twice(repository: &Repository) -> impl Iterator<Item = Finding> + '_ {
    let [ring, cli, tools] = &repository.built;
    let executables = [("cli", cli), ("tools", tools)];
    let pairs = executables
        .into_iter()
        .flat_map(|executable| ring.iter().map(move |row| (executable, row)));
    pairs.filter_map(|((folder, built), (package, features))| {
        let others = built.get(package).filter(|others| *others != features)?;
        Some(Finding {
            place: format!("crates/{folder}/Cargo.toml:1"),
            text: format!(
                "{package} is built with the features {others:?}, for apps/ring with {features:?}: expected the same, or it is built twice"
            ),
            key: String::new(),
        })
    })
}

fn too_many(repository: &Repository) -> Vec<Finding> {
    let linked = &repository.linked_by_ring;
    if linked.len() <= PACKAGES_MAX {
        return Vec::new();
    }
    vec![Finding {
        place: "apps/ring/Cargo.toml:1".to_owned(),
        text: format!(
            "it links {} packages: expected at most {PACKAGES_MAX}: {linked:?}",
            linked.len()
        ),
        key: String::new(),
    }]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_features_are_found() {
        let with = |features: &str| Repository {
            built: ["", features, ""].map(|one| [("rdma".to_owned(), one.to_owned())].into()),
            ..Repository::default()
        };
        assert_eq!(collect_findings(&with("")), []);
        assert_eq!(collect_findings(&with("dialogue")).len(), 1);
    }

    #[test]
    fn too_many_packages_are_found() {
        let with = |count: usize| Repository {
            linked_by_ring: (0..count).map(|number| format!("p{number}")).collect(),
            ..Repository::default()
        };
        assert_eq!(collect_findings(&with(PACKAGES_MAX)), []);
        assert_eq!(collect_findings(&with(PACKAGES_MAX + 1)).len(), 1);
    }
}
