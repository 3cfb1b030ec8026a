//! Packages that `simrun fuzz` writes: programs that reproduce a failure.

use std::path::Path;

use serde_json::json;

/// Writes a package with these source files; the package depends on packages of this checkout
/// (name, package, folder) and on `others`, lines of a manifest.
pub(super) fn write_package(
    folder: &Path,
    dependencies: &[(&str, &str, &str)],
    others: &str,
    mut files: Vec<(&'static str, String)>,
) -> Result<(), String> {
    let checkout = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let lines = dependencies.iter().map(|(name, package, folder)| {
        let path = checkout.join("crates").join(folder);
        let path = path.canonicalize().unwrap_or(path);
        // A string of JSON is one of TOML.
        let path = json!(path.to_string_lossy());
        format!("{name} = {{ package = \"{package}\", path = {path} }}\n")
    });
    let lines: String = lines.collect();
    let is_allowed = |letter: &char| letter.is_ascii_alphanumeric() || "-_".contains(*letter);
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let name: String = name.chars().filter(is_allowed).collect();
    let manifest = format!(
        "[package]\nname = \"fuzz-{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [dependencies]\n{lines}{others}\n\
         # Not part of any workspace around it.\n[workspace]\n\n\
         # The profile that simrun itself is built with.\n\
         [profile.release]\noverflow-checks = true\ndebug = \"line-tables-only\"\n",
    );
    files.push(("Cargo.toml", manifest));
    files.push((".gitignore", "/target\n".to_owned()));
    // With the same versions of other packages it builds without network.
    let lock = files::read_text(&checkout.join("Cargo.lock"));
    files.extend(lock.ok().map(|text| ("Cargo.lock", text)));
    for (name, text) in files {
        files::write(&folder.join(name), text).map_err(|error| error.to_string())?;
    }
    Ok(())
}
