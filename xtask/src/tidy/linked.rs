//! Packages that a program links. Programs are built by everybody who tries simrun, so they are
//! few; and `simrun` has the same features of them, because the first run builds both.

use super::Finding;
use super::repository::Repository;

/// Largest number of packages that `apps/ring` links, itself among them.
/// 64: decisions 29, 30, 35 and 37.
const PACKAGES_MAX: usize = 64;

pub(super) fn find(repository: &Repository) -> Vec<Finding> {
    let mut findings = too_many(repository);
    findings.extend(built_twice(repository));
    findings
}

/// Packages that `apps/ring` and `cli` build with different features.
fn built_twice(repository: &Repository) -> impl Iterator<Item = Finding> + '_ {
    let [ring, cli] = &repository.built;
    ring.iter().filter_map(move |(package, features)| {
        let others = cli.get(package).filter(|others| *others != features)?;
        Some(Finding {
            place: "crates/cli/Cargo.toml:1".to_owned(),
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
            built: ["", features].map(|one| [("rdma".to_owned(), one.to_owned())].into()),
            ..Repository::default()
        };
        assert_eq!(find(&with("")), []);
        assert_eq!(find(&with("dialogue")).len(), 1);
    }

    #[test]
    fn too_many_packages_are_found() {
        let with = |count: usize| Repository {
            linked_by_ring: (0..count).map(|number| format!("p{number}")).collect(),
            ..Repository::default()
        };
        assert_eq!(find(&with(PACKAGES_MAX)), []);
        assert_eq!(find(&with(PACKAGES_MAX + 1)).len(), 1);
    }
}
