//! Packages that a program links. Programs are built by everybody who tries simrun, so they are
//! few.

use super::Finding;
use super::repository::Repository;

/// Largest number of packages that `apps/ring` links, itself among them.
const PACKAGES_MAX: usize = 60;

pub(super) fn find(repository: &Repository) -> Vec<Finding> {
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
    fn too_many_packages_are_found() {
        let with = |count: usize| Repository {
            linked_by_ring: (0..count).map(|number| format!("p{number}")).collect(),
            ..Repository::default()
        };
        assert_eq!(find(&with(PACKAGES_MAX)), []);
        assert_eq!(find(&with(PACKAGES_MAX + 1)).len(), 1);
    }
}
