//! Sizes of types and packages, and names of types and functions, all as ratchets.
//!
//! A type of a package has at most 60 methods in all own `impl` blocks, and at most 25 fields; each
//! larger type is a finding. At most 3 types of all packages together have one name, because a
//! reader looks the name up without knowing the package. A function name of one word says less than
//! a verb with a noun. A package counts a finding for each 1000 lines. *Not counted*: methods of
//! traits, variants, and tests.

use std::collections::BTreeMap;

use proc_macro2::Ident;
use syn::{Attribute, ImplItem, Item, ItemImpl, Type};

use super::Finding;
use super::repository::{Repository, Source};

/// Largest number of methods of a type.
const METHODS_MAX: usize = 60;

/// Largest number of fields of a type.
const FIELDS_MAX: usize = 25;

/// Largest number of types with one name.
const NAMESAKES_MAX: usize = 3;

/// Lines of a package that count as one.
const LINES: usize = 1000;

/// Finds types with too many methods.
pub(super) fn methods(repository: &Repository) -> Vec<Finding> {
    findings_above(
        repository,
        METHODS_MAX,
        "methods",
        Source::package,
        |item| match item {
            Item::Impl(block) if block.trait_.is_none() => {
                Some((self_type(block)?, functions(block).count()))
            }
            _ => None,
        },
    )
}

/// Finds types with too many fields.
pub(super) fn fields(repository: &Repository) -> Vec<Finding> {
    findings_above(
        repository,
        FIELDS_MAX,
        "fields",
        |source| &source.path,
        |item| match item {
            Item::Struct(of_fields) => Some((&of_fields.ident, of_fields.fields.len())),
            _ => None,
        },
    )
}

/// Finds names that too many types have. A program or a benchmark is counted apart, because readers
/// open such a package alone.
pub(super) fn type_names(repository: &Repository) -> Vec<Finding> {
    findings_above(
        repository,
        NAMESAKES_MAX,
        "types with this name",
        |source| match source.folder() {
            "apps" | "bench" | "testing" => source.package(),
            _ => "all packages",
        },
        |item| match item {
            Item::Struct(defined) => Some((&defined.ident, 1)),
            Item::Enum(defined) => Some((&defined.ident, 1)),
            Item::Union(defined) => Some((&defined.ident, 1)),
            Item::Trait(defined) => Some((&defined.ident, 1)),
            _ => None,
        },
    )
}

/// Finds functions with a name of one word.
pub(super) fn function_names(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in product(repository) {
        for item in items(source) {
            let signatures: Vec<_> = match &item {
                Item::Fn(function) => vec![&function.sig],
                Item::Impl(block) if block.trait_.is_none() => functions(block).collect(),
                _ => continue,
            };
            for signature in signatures {
                let name = signature.ident.to_string();
                if !name.contains('_') && name != "main" && name != "new" {
                    let line = signature.ident.span().start().line;
                    let text = format!("function `{name}`: expected a verb and its noun");
                    findings.push(source.finding(line, text));
                }
            }
        }
    }
    findings
}

/// Counts lines of packages.
pub(super) fn line_findings(repository: &Repository) -> Vec<Finding> {
    let mut counts: BTreeMap<&str, (&Source, usize)> = BTreeMap::new();
    for source in &repository.sources {
        let (_, count) = counts.entry(source.folder()).or_insert((source, 0));
        *count += source.lines().count();
    }
    let mut findings = Vec::new();
    for (source, count) in counts.into_values() {
        let text = format!("{count} lines in the package");
        findings.extend((0..count / LINES).map(|_| source.finding(1, text.clone())));
    }
    findings
}

/// Sums numbers by type, and returns a finding for each number above the limit, with the places of
/// all parts of the type. Types with the same name and the same `place_of` are one type.
fn findings_above(
    repository: &Repository,
    limit: usize,
    noun: &str,
    place_of: fn(&Source) -> &str,
    number: fn(&Item) -> Option<(&Ident, usize)>,
) -> Vec<Finding> {
    let mut types: BTreeMap<String, (Vec<String>, usize)> = BTreeMap::new();
    for source in product(repository) {
        for item in items(source) {
            let Some((name, count)) = number(&item) else {
                continue;
            };
            let place = format!("{}:{}", source.path, name.span().start().line);
            let key = format!("{}: {name}", place_of(source));
            let (places, sum) = types.entry(key).or_default();
            places.push(place);
            *sum += count;
        }
    }
    let mut findings = Vec::new();
    for (key, (places, sum)) in types {
        for _ in limit..sum {
            findings.push(Finding {
                place: places.join(", "),
                text: format!("{key}: {sum} {noun}: expected at most {limit}"),
                key: key.clone(),
            });
        }
    }
    findings
}

/// Returns the sources that are no tests.
fn product(repository: &Repository) -> impl Iterator<Item = &Source> {
    repository.sources.iter().filter(|source| {
        let is_part = |name: &str| source.path.split('/').any(|part| part == name);
        !["tests", "tests.rs", "benches", "examples"]
            .into_iter()
            .any(is_part)
    })
}

/// Returns the items of a file and of the inner modules, without tests.
fn items(source: &Source) -> Vec<Item> {
    // A file that the compiler refuses is its business.
    let parsed = syn::parse_file(&source.text).map(|file| file.items);
    let mut open = parsed.unwrap_or_default();
    let mut items = Vec::new();
    while let Some(item) = open.pop() {
        match item {
            Item::Mod(module) if is_test(&module.attrs) => {}
            Item::Mod(module) => {
                open.extend(module.content.into_iter().flat_map(|(_, items)| items));
            }
            item => items.push(item),
        }
    }
    items
}

fn is_test(attributes: &[Attribute]) -> bool {
    let mut attributes = attributes.iter().filter(|one| one.path().is_ident("cfg"));
    attributes.any(|one| {
        one.parse_args::<syn::Path>()
            .is_ok_and(|path| path.is_ident("test"))
    })
}

fn self_type(block: &ItemImpl) -> Option<&Ident> {
    match &*block.self_ty {
        Type::Path(path) => Some(&path.path.segments.last()?.ident),
        _ => None,
    }
}

fn functions(block: &ItemImpl) -> impl Iterator<Item = &syn::Signature> {
    block.items.iter().filter_map(|item| match item {
        ImplItem::Fn(function) => Some(&function.sig),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_and_fields_are_summed_over_files() {
        let block = |from: usize, count: usize| {
            let functions: String = (from..from + count)
                .map(|n| format!("fn f_{n}(){{}}"))
                .collect();
            format!("impl<T> A<T> {{ {functions} }} impl Clone for A {{ fn clone(&self) {{}} }}")
        };
        let fields: String = (0..27).map(|n| format!("f{n}: u8,")).collect();
        let (one, two) = (
            block(0, 40),
            format!("{}struct B {{ {fields} }}", block(40, 22)),
        );
        let tests = "#[cfg(test)] mod tests { fn check() {} } fn run() {} fn run_it() {}";
        let sources = [
            ("a/src/a.rs", &*one),
            ("a/src/b.rs", &two),
            ("a/src/c.rs", tests),
        ];
        let repository = Repository::of_sources(&sources);
        let found = methods(&repository);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].text, "a: A: 62 methods: expected at most 60");
        assert_eq!(self::fields(&repository).len(), 2);
        let names = function_names(&repository);
        assert_eq!(names.len(), 1, "{names:?}");
        let text = "\n".repeat(2500);
        let found = line_findings(&Repository::of_sources(&[("b/src/a.rs", &text)]));
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn a_fourth_type_with_one_name_is_found() {
        let sources = [
            ("a/src/a.rs", "struct A;"),
            ("a/src/b.rs", "mod inner {\nenum A {}\n}"),
            ("crates/b/src/b.rs", "trait A {}\ntype B = A;"),
            ("crates/b/src/tests.rs", "struct A;"),
            ("apps/c/src/main.rs", "struct A;"),
            ("d/src/d.rs", "#[cfg(test)]\nmod tests {\nstruct A;\n}"),
        ];
        assert_eq!(type_names(&Repository::of_sources(&sources)), []);
        let fourth = ("e/src/e.rs", "union A {\na: u8,\n}");
        let found = type_names(&Repository::of_sources(&[&sources[..], &[fourth]].concat()));
        let text = "all packages: A: 4 types with this name: expected at most 3";
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].text, text);
        let places = "a/src/a.rs:1, a/src/b.rs:2, crates/b/src/b.rs:1, e/src/e.rs:1";
        assert_eq!(found[0].place, places);
    }
}
