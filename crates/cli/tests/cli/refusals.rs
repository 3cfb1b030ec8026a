//! Commands with a known whole output: answers, and refusals of bad usage and bad input, which
//! have exit status 2, an empty standard output, and a message that names the place, the value
//! found and the values expected.

use testing::cases::{DataCase, read_cases};

use crate::support::{Folder, Output, program, simrun};

/// Runs the command line of a case, in which a name in braces is a test program or the file with
/// the name and the content that follow. Both streams have these names again.
fn run_case(case: &DataCase, folder: &Folder) -> Output {
    let mut names: Vec<(String, String)> = ["actors", "cases", "checked"]
        .map(|name| (format!("{{{name}}}"), program(name)))
        .to_vec();
    for file in case.given[1..].chunks_exact(2) {
        let path = folder.write(&file[0], &file[1]);
        names.push((format!("{{{}}}", file[0]), path));
    }
    names.push(("{folder}".to_owned(), folder.path("")));
    let replaced = |text: String, (name, path): &(String, String)| text.replace(name, path);
    let mut ran = simrun(&names.iter().fold(case.given[0].clone(), replaced));
    for stream in [&mut ran.stdout, &mut ran.stderr] {
        let named = |text: String, (name, path): &(String, String)| text.replace(path, name);
        *stream = names.iter().fold(std::mem::take(stream), named);
    }
    ran
}

/// The hints of clap, which are behind a blank line, are not compared.
#[test]
fn bad_input_is_refused_with_these_words() {
    let folder = Folder::new();
    for case in read_cases(include_str!("refusals.txt")) {
        let ran = run_case(&case, &folder);
        ran.exits_silently(2);
        let message = ran.stderr.split("\n\n").next().unwrap_or_default();
        case.assert_expected("refusals.txt", message.trim_end());
    }
}

/// Errors come first; a status other than 0 stands at the end.
#[test]
fn commands_answer_with_these_words() {
    for case in read_cases(include_str!("answers.txt")) {
        let folder = Folder::new();
        let ran = run_case(&case, &folder);
        let mut found = ran.stderr + &ran.stdout;
        if ran.status != 0 {
            found += &format!("[exit {}]", ran.status);
        }
        case.assert_expected("answers.txt", &found);
    }
}
