//! A package has the name of its folder. A published package has the prefix `simrun-`, since most
//! of these names are taken, and includes the texts of the licences (links to the texts in the
//! root, which cargo packs as files).

use super::Finding;
use super::repository::{LICENCES, Repository};

/// The folder of the package with the name of the project.
const PROJECT: &str = "simrun";

pub(super) fn collect_findings(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (folder, package) in &repository.packages {
        let name = folder.rsplit('/').next().unwrap_or_default();
        let expected = match package.is_published && name != PROJECT {
            true => format!("{PROJECT}-{name}"),
            false => name.to_owned(),
        };
        for licence in LICENCES {
            if package.is_published && !package.licences.contains(licence) {
                findings.push(Finding {
                    place: format!("{folder}/{licence}"),
                    text: format!("not there: expected a link to ../{licence}"),
                    key: String::new(),
                });
            }
        }
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
        let named = |folder: &str, name: &str, is_published: bool| {
            let package = Package {
                name: name.to_owned(),
                is_published,
                licences: LICENCES.map(String::from).into(),
                ..Package::default()
            };
            (folder.to_owned(), package)
        };
        let packages = [
            named("apps/ring", "ring", false),
            named("mpi", "simrun-mpi", true),
            named("run", "run", true),
            named("simrun", "simrun", true),
            named("xtask", "simrun-xtask", false),
        ];
        let repository = Repository {
            packages: packages.into(),
            ..Repository::default()
        };
        let places: Vec<String> = collect_findings(&repository)
            .into_iter()
            .map(|f| f.place)
            .collect();
        assert_eq!(places, ["run/Cargo.toml:2", "xtask/Cargo.toml:2"]);
    }

    #[test]
    fn a_published_package_without_the_text_of_a_licence_is_found() {
        let package = |is_published, licences: &[&str]| Package {
            name: "simrun-mpi".to_owned(),
            is_published,
            licences: licences.iter().copied().map(String::from).collect(),
            ..Package::default()
        };
        let find_in = |package| {
            let repository = Repository {
                packages: [("mpi".to_owned(), package)].into(),
                ..Repository::default()
            };
            let found = collect_findings(&repository).into_iter();
            found.map(|finding| finding.place).collect::<Vec<_>>()
        };
        assert_eq!(
            find_in(package(true, &["LICENSE-MIT"])),
            ["mpi/LICENSE-APACHE"]
        );
        assert!(find_in(package(true, &LICENCES)).is_empty());
        let unpublished = Package {
            name: "mpi".to_owned(),
            ..package(false, &[])
        };
        assert!(find_in(unpublished).is_empty());
    }
}
