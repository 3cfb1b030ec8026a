//! Promise: a text that no layer can execute is refused with the place, the value found and the
//! values expected.

use fuzz::actors::{ActorProgram, Op};
use fuzz::ranks::RankProgram;
use fuzz::verbs::VerbsProgram;
use fuzz::{FuzzProgram, Interaction};
use testing::cases::read_cases;

use crate::verbs::OVERTAKEN;

const RANKS: &str = r#"version = 1
eager_threshold = 64
ranks = [[{ isend = 0 }, { wait = 0 }, "barrier"], [{ recv = 0 }, "barrier"]]
messages = [{ from = 0, to = 1, tag = 0, bytes = 9, any_source = false, any_tag = false }]
"#;

/// Two steps; no worker can perform the second one.
const STEPS: &str = r#"version = 2
[[steps]]
origin = 1
commands = [{ worker = 0, command = "connect-to", to = 1, connection = 1, attribute = "uu" }]
[[steps]]
origin = 1
commands = [{ COMMAND }]
"#;

fn refusal(layer: &str, text: &str) -> String {
    let read = match layer {
        "actors" => ActorProgram::from_toml(text).map(drop),
        "endpoint" => Interaction::from_toml(text).map(drop),
        "mpi" => RankProgram::from_toml(text).map(drop),
        _ => VerbsProgram::from_toml(text).map(drop),
    };
    read.expect_err(text)
}

#[test]
fn mistakes_are_refused() {
    assert!(RankProgram::from_toml(RANKS).is_ok());
    let actors = ActorProgram::from_actors(vec![vec![Op::Send(0), Op::Kill(0)]]).to_toml();
    for case in read_cases(include_str!("mistakes.txt")) {
        let [layer, from, to] = case.given_parts();
        let text = match layer {
            "actors" => &actors,
            "endpoint" => STEPS,
            "mpi" => RANKS,
            _ => OVERTAKEN,
        };
        let from = if from.is_empty() { text } else { from };
        assert!(text.contains(from), "mistakes.txt:{}", case.line);
        case.assert_expected("mistakes.txt", &refusal(layer, &text.replacen(from, to, 1)));
    }
}
