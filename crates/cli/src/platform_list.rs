//! `simrun platform list`: the platform files of a folder, a line each, with measured errors.
//!
//! The errors come from `accuracy.csv` in the folder: a header and lines of five fields without
//! quotes. *Not listed*: files in inner folders, and TOML of other kinds, such as `Cargo.toml`,
//! which a note names.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use platform::Platform;
use serde_json::{Value, json};
use simrun::args::Format;
use simrun::{load, status};

/// The file of measured errors.
const ACCURACY: &str = "accuracy.csv";

/// The header of the file of measured errors.
const HEADER: &str = "platform,rows,median,p90,measurements";

/// The error of a platform for some measurements: the fields of a line.
type ErrorLine = [String; 5];

/// Prints the list. A file with a mistake is reported and left out, and the status is that of bad
/// input.
pub(crate) fn list_platforms(folder: &Path, format: Format) -> ExitCode {
    let files = match platform_files(folder) {
        Ok(files) => files,
        Err(problem) => return status::refuse(format_args!("{}: {problem}", folder.display())),
    };
    let path = folder.join(ACCURACY);
    let (errors, mut refused) = match error_lines(&path, &files) {
        Ok(errors) => (errors, None),
        Err(problem) => (Vec::new(), Some(status::refuse(problem))),
    };
    let mut rows = Vec::new();
    for file in &files {
        match load(file, &[]) {
            Ok(platform) => rows.push(platform_row(file, &platform, &errors)),
            Err(code) => refused = Some(code),
        }
    }
    if let (Some(code), true) = (refused, rows.is_empty()) {
        return code;
    }
    let json = || list_json(&rows, &errors).to_string();
    let printed =
        status::print(format.write_result(|| list_text(rows.clone(), &errors, &path), json));
    refused.unwrap_or(printed)
}

/// Returns the list for a reader.
fn list_text(mut rows: Vec<[String; 5]>, errors: &[ErrorLine], path: &Path) -> String {
    rows.insert(
        0,
        ["file", "hosts", "model", "error", "name"].map(str::to_owned),
    );
    let mut text = align_rows(&rows);
    let is_listed = |error: &&ErrorLine| rows.iter().any(|row| row[0] == error[0]);
    let mut listed = errors.iter().filter(is_listed).peekable();
    if listed.peek().is_some() {
        text +=
            "Errors are medians of measured collectives that no fit has seen; 100 % is a factor ";
        let _ = writeln!(text, "of 2 ({}):", path.display());
    }
    for [platform, rows, median, p90, measurements] in listed {
        let _ = writeln!(
            text,
            "  {platform}: median {median}, 90 % quantile {p90}, {rows} rows: {measurements}"
        );
    }
    text.trim_end().to_owned()
}

/// Returns the list for a program: an object for each file, with the errors as the file of errors
/// writes them.
fn list_json(rows: &[[String; 5]], errors: &[ErrorLine]) -> Value {
    let errors_of = |name: &str| -> Value {
        let errors = errors.iter().filter(|error| error[0] == name);
        let errors = errors.map(|[_, rows, median, p90, measurements]| {
            let rows = rows.parse::<u64>().ok();
            json!({"measurements": measurements, "rows": rows, "median": median, "p90": p90})
        });
        errors.collect()
    };
    let objects = rows.iter().map(|[file, hosts, model, _, name]| {
        let hosts = hosts.parse::<u64>().ok();
        let errors = errors_of(file);
        json!({"file": file, "hosts": hosts, "model": model, "errors": errors, "name": name})
    });
    objects.collect()
}

/// Returns true for XML, and for TOML with a version before the first table or with hosts. A file
/// that cannot be read counts, because the reader says why.
fn is_platform(path: &Path) -> bool {
    let extension = path.extension().and_then(OsStr::to_str);
    if extension != Some("toml") {
        return extension == Some("xml");
    }
    let text = files::read_text(path);
    text.map_or(true, |text| {
        let mut lines = text.lines().map(str::trim_start);
        let mut top = lines.clone().take_while(|line| !line.starts_with('['));
        let has_hosts = |line: &str| {
            let table = line.trim_start_matches('[');
            table.len() < line.len()
                && ["hosts", "clusters"]
                    .iter()
                    .any(|key| table.starts_with(key))
        };
        top.any(|line| line.starts_with("version")) || lines.any(has_hosts)
    })
}

/// Returns the platform files of a folder by name, or the problem.
fn platform_files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    const EXPECTED: &str = "expected a folder of platform files, .toml or .xml";
    let entries = std::fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let entries = entries.map_err(|error| format!("cannot list it: {error}: {EXPECTED}"))?;
    let paths = entries.iter().map(std::fs::DirEntry::path);
    let is_toml = |path: &PathBuf| path.extension() == Some(OsStr::new("toml"));
    let (mut paths, others): (Vec<PathBuf>, Vec<PathBuf>) = paths.partition(|it| is_platform(it));
    paths.sort();
    let mut others: Vec<String> = (others.iter().filter(|path| is_toml(path)))
        .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
        .collect();
    others.sort();
    if !others.is_empty() && !paths.is_empty() {
        status::print_note(format_args!(
            "not listed, without version, hosts and clusters: {}",
            others.join(", ")
        ));
    }
    match paths.is_empty() {
        true => Err(format!("no platform file: {EXPECTED}")),
        false => Ok(paths),
    }
}

/// Reads the measured errors of files; none without the file of errors.
fn error_lines(path: &Path, files: &[PathBuf]) -> Result<Vec<ErrorLine>, String> {
    let shown = path.display();
    let text = match files::read_text(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.map_err(|error| format!("{shown}: cannot read it: {error}"))?,
    };
    let mut lines = (1..).zip(text.lines());
    let first = lines.next().map_or("", |(_, line)| line);
    if first != HEADER {
        return Err(format!("{shown}:1: {first:?}: expected {HEADER}"));
    }
    let fields = lines.map(|(number, line)| {
        let fields: Vec<String> = line.split(',').map(str::to_owned).collect();
        let wrong = |fields: Vec<String>| {
            let count = fields.len();
            format!("{shown}:{number}: {count} fields in {line:?}: expected {HEADER}")
        };
        let fields: ErrorLine = fields.try_into().map_err(wrong)?;
        let named = Some(OsStr::new(&fields[0]));
        match files.iter().any(|file| file.file_name() == named) {
            true => Ok(fields),
            false => Err(format!(
                "{shown}:{number}: platform {:?}: expected a file of the folder",
                fields[0]
            )),
        }
    });
    fields.collect()
}

/// Returns the columns of a platform.
fn platform_row(file: &Path, platform: &Platform, errors: &[ErrorLine]) -> [String; 5] {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let error = errors.iter().find(|error| error[0] == name);
    let title = platform.name().map(str::to_owned);
    [
        name.into_owned(),
        platform.host_count().to_string(),
        platform.network_model().name().to_owned(),
        error.map_or_else(|| "-".to_owned(), |error| error[2].clone()),
        title.unwrap_or_else(|| first_sentence(&files::read_text(file).unwrap_or_default())),
    ]
}

/// Returns the first sentence of the comment at the head of a file; empty without one.
fn first_sentence(text: &str) -> String {
    let comment = text.lines().map_while(|line| line.strip_prefix('#'));
    let comment: Vec<&str> = comment
        .map(str::trim)
        .take_while(|line| !line.is_empty())
        .collect();
    let comment = comment.join(" ");
    let end = comment.find(". ").unwrap_or(comment.len());
    comment[..end].trim_end_matches('.').to_owned()
}

/// Returns rows as lines with aligned columns, the numbers of hosts to the right.
fn align_rows(rows: &[[String; 5]]) -> String {
    let width = |column: usize| {
        let widths = rows.iter().map(|row| row[column].chars().count());
        widths.max().unwrap_or_default()
    };
    let widths: [usize; 4] = std::array::from_fn(width);
    let lines = rows.iter().map(|[file, hosts, model, error, name]| {
        let [files, counts, models, errors] = widths;
        let line =
            format!("{file:files$}  {hosts:>counts$}  {model:models$}  {error:errors$}  {name}");
        line.trim_end().to_owned() + "\n"
    });
    lines.collect()
}
