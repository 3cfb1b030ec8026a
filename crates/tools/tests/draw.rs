//! Promise: `draw` makes a picture of every figure that a program passes on, and reports the error
//! in an invalid figure.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// Runs `draw` with these arguments and this standard input.
fn draw(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_simrun-tools"))
        .arg("draw")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut stdin = child.stdin.take().expect("it is a pipe");
    // A bad option ends the program before it reads.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    child.wait_with_output().expect("it ends")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const DOOR: &str = r#"{"states": {"title": "door", "states": [["Open", true], ["Shut", false]],
    "transitions": [[0, 1, "push"], [1, 0, "pull"]]}}"#;

#[test]
fn figures_become_pictures() {
    let printed = draw(&["-", "--out", "-"], DOOR);
    assert_eq!(printed.status.code(), Some(0), "{printed:?}");
    let picture = text(&printed.stdout);
    assert!(
        picture.starts_with("<svg ") && picture.contains("push"),
        "{picture}"
    );
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let (figure, png) = (folder.join("door.json"), folder.join("door.png"));
    std::fs::write(&figure, DOOR).expect("a file");
    let paths = [&figure, &png].map(|path| path.display().to_string());
    let drawn = draw(&[&paths[0], "--out", &paths[1]], "");
    assert_eq!(drawn.status.code(), Some(0), "{drawn:?}");
    let bytes = std::fs::read(&png).expect("the picture");
    assert!(bytes.starts_with(b"\x89PNG"), "{} bytes", bytes.len());
}

#[test]
fn other_input_is_refused() {
    for (arguments, input, expected) in [
        (
            &["-", "--out", "-"][..],
            "{}",
            "error: standard input: not a figure: ",
        ),
        (
            &["-", "--out", "door.gif"],
            DOOR,
            "error: door.gif: unknown extension: expected .svg or .png",
        ),
        (
            &["none.json", "--out", "-"],
            "",
            "error: none.json: cannot read it: ",
        ),
        (
            &["none.toml", "--out", "-"],
            "",
            "error: -: expected the name of a file",
        ),
    ] {
        let refused = draw(arguments, input);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        let said = text(&refused.stderr);
        assert!(said.starts_with(expected), "{said}");
    }
}
