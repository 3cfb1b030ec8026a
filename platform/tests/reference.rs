//! Promise: `docs/reference/platform.md` is the text on the platform file at the head of this
//! package. With `UPDATE_EXPECT=1` the page is written.

use std::fmt::Write;
use std::path::Path;

const START: &str = "# The platform file";

/// Returns the page: prose, and the platforms of the examples with the lines that rustdoc hides.
fn page(source: &str) -> String {
    let documentation = source.lines().map_while(|line| line.strip_prefix("//!"));
    let lines = documentation.map(|line| line.strip_prefix(' ').unwrap_or(line));
    let mut page = format!("{START}\n");
    let mut is_code = false;
    let mut is_platform = false;
    for line in lines.skip_while(|line| *line != START).skip(1) {
        let bare = line.strip_prefix("# ").filter(|_| is_code).unwrap_or(line);
        if line.starts_with("```") {
            is_code = !is_code;
        } else if is_code && bare.ends_with("= r#\"") {
            is_platform = true;
            page.push_str("```toml\n");
        } else if is_platform && bare.starts_with("\"#") {
            is_platform = false;
            page.push_str("```\n");
        } else if is_platform {
            let _ = writeln!(page, "{bare}");
        } else if !is_code {
            page.push_str(if line.starts_with('#') { "#" } else { "" });
            page.push_str(&(without_links(line) + "\n"));
        }
    }
    page
}

/// Returns a line in which links to names in the package are code, without links in brackets.
fn without_links(line: &str) -> String {
    let mut parts = line.split("[`");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once("`]").expect("a link within a line");
        if text.ends_with('(') && rest.starts_with(')') {
            text = text.trim_end_matches(['(', ' ']).to_owned() + &rest[1..];
            continue;
        }
        let after = rest.strip_prefix('(').and_then(|rest| rest.split_once(')'));
        let _ = write!(text, "`{name}`{}", after.map_or(rest, |(_, rest)| rest));
    }
    text.trim_start().to_owned()
}

#[test]
fn the_page_on_the_platform_file_is_the_text_of_the_package() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/platform.md");
    let expected = page(include_str!("../src/lib.rs"));
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &expected).expect("the page can be written");
    }
    let found = std::fs::read_to_string(&path).expect("a page");
    assert!(found == expected, "run this test with UPDATE_EXPECT=1");
}
