//! Bad usage and bad input: exit status 2, an empty standard output, and a message that names the
//! place, the value found and the values expected.

use testing::cases::{Case, read_cases};

use crate::support::{Folder, program, simrun};

/// Runs the command line of a case, in which a name in braces is a test program or the file with
/// the name and the content that follow. Returns the message without the hints of clap, which are
/// behind a blank line.
fn refusal(case: &Case, folder: &Folder) -> String {
    let mut names: Vec<(String, String)> = ["actors", "cases", "checked"]
        .map(|name| (format!("{{{name}}}"), program(name)))
        .to_vec();
    if let [_, name, content] = &case.given[..] {
        names.push((format!("{{{name}}}"), folder.write(name, content)));
    }
    let replaced = |text: String, (name, path): &(String, String)| text.replace(name, path);
    let ran = simrun(&names.iter().fold(case.given[0].clone(), replaced));
    ran.exits_silently(2);
    let message = ran.stderr.split("\n\n").next().unwrap_or_default();
    let named = |text: String, (name, path): &(String, String)| text.replace(path, name);
    names.iter().fold(message.trim_end().to_owned(), named)
}

#[test]
fn bad_input_is_refused_with_these_words() {
    let folder = Folder::new();
    for case in read_cases(include_str!("refusals.txt")) {
        let message = refusal(&case, &folder);
        case.assert_expected("refusals.txt", &message);
    }
}
