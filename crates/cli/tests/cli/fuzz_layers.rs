//! Promise: `simrun fuzz --layer actors`, `--layer mpi` and `--layer mpi/check` find no difference,
//! replay programs that are written as text, export a rank program as a package that runs or in C,
//! and refuse bad input.

use crate::support::{Folder, built_fast, simrun};

const RANKS: &str = r#"version = 1
eager_threshold = 64
ranks = [[{ isend = 0 }, "barrier", { wait = 0 }, { recv = 1 }], ["barrier", { irecv = 0 }, { wait = 0 }, { ssend = 1 }]]
messages = [
  { from = 0, to = 1, tag = 2, bytes = 9, any_source = true, any_tag = true },
  { from = 1, to = 0, tag = 0, bytes = 100, any_source = false, any_tag = false },
]
"#;

/// Two orders of two messages.
const FAN_IN: &str = r#"version = 1
family = "mixtures"
ranks = [
  [{ recv = {} }, { irecv = {} }, { wait = 1 }],
  [{ send = { to = 0, tag = 0, mode = "standard" } }],
  [{ isend = { to = 0, tag = 0, mode = "synchronous" } }],
]
"#;

#[test]
fn executions_agree() {
    let folder = Folder::new();
    let out = folder.path("failures");
    for (options, expected) in [
        (
            "actors --tries 40",
            "40 programs, 432 operations, 16 with too many executions, seed 0: 0 failures\n",
        ),
        (
            "mpi --tries 10 --tcp",
            "10 programs, 228 operations, 0 with too many executions, seed 0: 0 failures\n",
        ),
    ] {
        let ran = simrun!("fuzz --layer {options} --out {out}");
        assert_eq!((ran.status, ran.stdout.as_str()), (0, expected), "{ran:?}");
    }
    assert!(!std::path::Path::new(&out).exists(), "nothing to keep");
    let ran = simrun("fuzz --layer actors --tries 3 --seed 9 --format json");
    assert_eq!(ran.json()["tries"], 3, "{ran:?}");
}

#[test]
fn texts_are_replayed() {
    let folder = Folder::new();
    let text = "version = 1\ninstant_transfers = false\ntimeouts = true\nactors = [[{ send = 0 }], [{ get = 0 }]]\n";
    let actors = folder.write("actors.toml", text);
    let ranks = folder.write("ranks.toml", RANKS);
    for (options, expected) in [
        (
            format!("actors --replay {actors}"),
            "2 operations: all executions agree\n",
        ),
        (
            format!("mpi --tcp --replay {ranks}"),
            "8 operations: all executions agree\n",
        ),
        (
            format!("actors --max-executions 1 --replay {actors}"),
            "2 operations: not compared with the model checker: more executions than --max-executions\n",
        ),
    ] {
        let ran = simrun!("fuzz --layer {options}");
        assert_eq!((ran.status, ran.stdout.as_str()), (0, expected), "{ran:?}");
    }
}

#[test]
fn a_rank_program_is_exported_as_a_package_that_runs() {
    let folder = Folder::new();
    let ranks = folder.write("ranks.toml", RANKS);
    let app = folder.path("two-ranks");
    let made = simrun!("fuzz --layer mpi --replay {ranks} --export {app}");
    made.exits_with(0);
    built_fast(&app);
    let ran = simrun!("-p platforms/two-hosts.toml -n 2 --protocol threshold=64 {app}");
    ran.exits_with(0);
    for line in [
        "receive 0: Status { source: 0, tag: 2, length: 9, cancelled: false }\n",
        "receive 1: Status { source: 1, tag: 0, length: 100, cancelled: false }\n",
    ] {
        ran.prints_text(line);
    }
    assert!(!ran.stderr.contains("warning: unused"), "{ran:?}");
}

#[test]
fn a_program_of_freedoms_is_exported_in_c_and_checked() {
    let folder = Folder::new();
    let program = folder.write("fan-in.toml", FAN_IN);
    let source = folder.path("fan-in.c");
    let made = simrun!("fuzz --layer mpi/check --replay {program} --export {source}");
    let expected = "5 operations: all executions agree\n";
    assert_eq!((made.status, &*made.stdout), (0, expected), "{made:?}");
    let executable = folder.path("fan-in");
    simrun!("cc -o {executable} {source}").exits_with(0);
    let checked = simrun!("check -n 3 {executable}");
    checked.exits_with(0);
    checked.prints_text("no errors found; search complete\n  2 executions");
}

#[test]
fn bad_input_is_refused() {
    let folder = Folder::new();
    let later = folder.write("later.toml", &FAN_IN.replace("wait = 1", "wait = 7"));
    let ran = simrun!("fuzz --layer mpi/check --replay {later}");
    ran.refuses_with("later.toml: ranks[0][2]: Wait(7): expected places of earlier operations");
    let alone = folder.write("alone.toml", &RANKS.replace("isend = 0", "isend = 7"));
    let ran = simrun!("fuzz --layer mpi --replay {alone}");
    ran.refuses_with("alone.toml: ranks[0][0]: Isend(7): expected a message below 2");
}
