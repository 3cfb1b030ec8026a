//! `simrun check` gives each program of `tests/freedoms` the verdict of the MPI standard: one
//! program for each freedom that MPI gives. The comments at the beginning of a program are a row of
//! the table of `docs/checking.md`.

use std::fmt::Write as _;
use std::fs;

use crate::support::{Folder, compiled_with, simrun};

/// The folder of the programs, from the root of the repository.
const FOLDER: &str = "crates/cmpi/tests/freedoms";

/// A program with the comments at the beginning.
struct Freedom {
    file: String,
    text: String,
}

impl Freedom {
    /// Returns the text of a comment, if there is one.
    fn find_comment(&self, name: &str) -> Option<&str> {
        let start = format!("// {name}: ");
        let mut lines = self.text.lines();
        lines.find_map(|line| line.strip_prefix(start.as_str()))
    }

    /// Returns the text of a comment.
    fn comment(&self, name: &str) -> &str {
        let found = self.find_comment(name);
        found.unwrap_or_else(|| panic!("{} has no line \"// {name}: \"", self.file))
    }
}

/// Reads the programs, in the order of their names.
fn read_freedoms() -> Vec<Freedom> {
    let folder = testing::commands::root().join(FOLDER);
    let files = fs::read_dir(folder).expect("the folder can be read");
    let mut files: Vec<_> = files
        .map(|file| file.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "c"))
        .collect();
    files.sort();
    let read = |path: &std::path::PathBuf| Freedom {
        file: path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned(),
        text: fs::read_to_string(path).expect("the program can be read"),
    };
    files.iter().map(read).collect()
}

/// Messages with different tags arrive in order: that is a bound where another order could matter.
#[test]
fn the_order_of_tags_is_a_stated_bound() {
    let folder = Folder::new();
    let program = compiled_with(&folder, "-g", "crates/cmpi/tests/programs/tag-order.c");
    let bound = "messages of one rank on one communicator arrive in the order of their sends";
    for mode in ["overtake", "pass-over"] {
        let ran = simrun(&program, &format!("check -n 3 -- {mode}"));
        let line = format!("{bound} (crates/cmpi/tests/programs/tag-order.c:11)");
        let is_right = ran.status == 0 && ran.stdout.contains(&line);
        assert!(is_right, "{mode}: {line}: {ran:?}");
    }
    simrun(&program, "check -n 3 -- follow").prints_text("no errors found; search complete");
}

/// Two updates of several elements could mix where no lock orders the updates: that is a bound.
#[test]
fn an_update_of_several_elements_is_a_stated_bound() {
    let folder = Folder::new();
    let source = "crates/cmpi/tests/programs/several-elements.c";
    let program = compiled_with(&folder, "-g", source);
    let ran = simrun(&program, "check -n 3 -- two");
    let bound = format!("an access to several elements is one step ({source}:17)");
    assert!(ran.status == 0 && ran.stdout.contains(&bound), "{ran:?}");
    for mode in ["one", "exclusive"] {
        let ran = simrun(&program, &format!("check -n 3 -- {mode}"));
        ran.prints_text("no errors found; search complete");
    }
}

#[test]
fn each_freedom_has_the_verdict_of_the_standard() {
    let folder = Folder::new();
    for freedom in read_freedoms() {
        let source = format!("{FOLDER}/{}", freedom.file);
        let program = compiled_with(&folder, "-g", &source);
        let ranks = freedom.comment("ranks");
        let ran = simrun(&program, &format!("check -n {ranks}"));
        let (status, words) = match freedom.comment("verdict") {
            "errors" => (1, "errors in "),
            "no errors" => (0, "no errors found; search complete"),
            "no errors within bounds" => (0, "no errors found within the bounds below"),
            other => panic!("{source}: {other} is no verdict"),
        };
        let is_right = ran.status == status && ran.stdout.contains(words);
        assert!(is_right, "{source}: {ran:?}");
        let conditions = match freedom.find_comment("condition") {
            Some(condition) => format!("\noccurs only if the {condition} of rank "),
            None => String::new(),
        };
        let is_right = ran.stdout.contains(&conditions)
            && ran.stdout.contains("occurs only if") != conditions.is_empty();
        assert!(is_right, "{source}: {ran:?}");
    }
}

#[test]
fn the_table_of_the_page_has_a_row_for_each_program() {
    let mut table = String::new();
    for freedom in read_freedoms() {
        let number = freedom.file[..2].trim_start_matches('0');
        let row = ["freedom", "outcomes"]
            .map(|name| freedom.comment(name))
            .join(" | ");
        let file = &freedom.file;
        writeln!(table, "| {number} | {row} | [{file}](../{FOLDER}/{file}) |").expect("a text");
    }
    let page = testing::commands::root().join("docs/checking.md");
    let page = fs::read_to_string(page).expect("the page can be read");
    assert!(
        page.contains(&table),
        "docs/checking.md should have these rows:\n{table}"
    );
}
