//! A first study file for a program, with comments.

use std::fmt::Write;

use serde::Deserialize;
use toml::Value as Toml;

use crate::table::RUN_COLUMNS;
use crate::template::is_name;

/// An argument of a program, as described by the command line of the program.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub struct ProgramArgument {
    /// The name, such as `--size`.
    pub name: String,
    /// The value without the argument, if there is one.
    pub default: Option<String>,
    /// The description.
    pub help: String,
}

const REST: &str = r#"
# Changes of the platform; paths as in `simrun platform show --format toml`.
# [set]
# "links.*.latency" = "2us"

# Runs of each point: a number of seeds, or a half-width relative to the mean.
[replicate]
seeds = 1
# precision = 0.02
# confidence = 0.95
# min = 10
# max = 200

# Limits of each run.
# [limits]
# time = "60s"
# memory = "2GiB"
# events = 100000000

# Numbers of each run: from its record, its analyses or the one line that matches.
[measure]
time = { json = "simulated_s", unit = "s" }
# half = { line = 'half ([0-9.]+) us', unit = "us" }
"#;

/// Returns the text of a study file with the arguments that have defaults as parameters of one
/// value each.
pub fn initial_file(program: &str, platform: &str, arguments: &[ProgramArgument]) -> String {
    let quoted = |text: &str| Toml::from(text).to_string();
    let mut text = format!(
        "# Every combination of the values in [grid] is one point. Values: a list, or a range such\n\
         # as \"1KiB..1MiB *2\" or \"8..64 +8\".\n\
         program = {}\nplatform = {}\n# options = [\"--ranks\", \"8\"]\n",
        quoted(program),
        quoted(platform)
    );
    let parameters: Vec<(String, &ProgramArgument, &str)> = arguments
        .iter()
        .filter_map(|argument| {
            let name = argument.name.trim_start_matches('-').replace('-', "_");
            let reserved = RUN_COLUMNS.contains(&name.as_str()) || !is_name(&name);
            let name = if reserved {
                format!("value_{name}")
            } else {
                name
            };
            Some((name, argument, argument.default.as_deref()?))
        })
        .collect();
    let placeholder = |(name, argument, _): &(String, &ProgramArgument, &str)| {
        format!("{}, \"{{{name}}}\"", quoted(&argument.name))
    };
    let list: Vec<String> = parameters.iter().map(placeholder).collect();
    // Writing into a text cannot fail.
    let _ = writeln!(text, "arguments = [{}]", list.join(", "));
    if !parameters.is_empty() {
        text.push_str(
            "# where = \"a condition such as: ranks <= 512 or size < 64KiB\"\n\n[grid]\n",
        );
    }
    for (name, argument, default) in &parameters {
        for line in argument.help.lines() {
            let _ = writeln!(text, "# {line}");
        }
        let _ = writeln!(text, "{name} = [{}]", quoted(default));
    }
    text.push_str(REST);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::Study;

    #[test]
    fn the_file_is_a_study() {
        let argument = |name: &str, default: Option<&str>| ProgramArgument {
            name: name.to_owned(),
            default: default.map(str::to_owned),
            help: "The first line.\nThe second line.".to_owned(),
        };
        let arguments = [
            argument("--sizes", Some("1,8,\"64\"")),
            argument("--seed", Some("3")),
            argument("--check", None),
        ];
        let text = initial_file("apps/a \"b\"", "p.toml", &arguments);
        let study = Study::parse("STUDY.toml", &text).expect("a study");
        assert_eq!(study.program, "apps/a \"b\"");
        assert_eq!(study.parameters, ["sizes", "value_seed"]);
        assert_eq!(study.points.len(), 1);
        assert_eq!(
            study.points[0].arguments,
            ["--sizes", "1,8,\"64\"", "--seed", "3"]
        );
        let empty = initial_file("a", "p.toml", &[]);
        assert_eq!(Study::parse("S", &empty).expect("a study").points.len(), 1);
    }
}
