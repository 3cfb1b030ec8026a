//! A package has the name of its folder.

use super::Finding;
use super::repository::Repository;

pub(super) fn find(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (folder, package) in &repository.packages {
        let expected = folder.rsplit('/').next().unwrap_or_default();
        if package.name != expected {
            findings.push(Finding {
                place: format!("{folder}/Cargo.toml:2"),
                text: format!("name {:?}: expected {expected:?}", package.name),
                key: String::new(),
            });
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::repository::Package;

    #[test]
    fn another_name_is_found() {
        let named = |folder: &str, name: &str| {
            let name = name.to_owned();
            let package = Package {
                name,
                ..Package::default()
            };
            (folder.to_owned(), package)
        };
        let repository = Repository {
            packages: [named("apps/ring", "ring"), named("mpi", "messages")].into(),
            ..Repository::default()
        };
        let found = find(&repository);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].place, "mpi/Cargo.toml:2");
    }
}
