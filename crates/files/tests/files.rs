//! Promises: output replaces regular files as a whole, and no input; inputs have a limit.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use files::{FolderLock, Output, add_input, read_bytes, read_state, read_text, write};

/// An empty folder of a test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn files_are_made_with_their_folders_and_replaced_with_their_permissions() {
    let folder = folder("replace");
    let file = folder.join("deep/er/out.csv");
    write(&file, "one").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    write(&file, "two").unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "two");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(names(file.parent().unwrap()), ["out.csv"]);
}

#[test]
fn links_stay_and_what_they_lead_to_is_written() {
    let folder = folder("links");
    fs::write(folder.join("file"), "old").unwrap();
    symlink("file", folder.join("inner")).unwrap();
    symlink("inner", folder.join("outer")).unwrap();
    write(&folder.join("outer"), "new").unwrap();
    assert_eq!(fs::read_to_string(folder.join("file")).unwrap(), "new");
    // One that leads to nothing makes the file.
    symlink("later", folder.join("dangling")).unwrap();
    write(&folder.join("dangling"), "new").unwrap();
    assert_eq!(fs::read_to_string(folder.join("later")).unwrap(), "new");
    for link in ["inner", "outer", "dangling"] {
        assert!(folder.join(link).symlink_metadata().unwrap().is_symlink());
    }
    symlink("round", folder.join("round")).unwrap();
    let error = write(&folder.join("round"), "new").unwrap_err().to_string();
    assert!(error.ends_with("too many symbolic links"), "{error}");
}

#[test]
fn what_is_no_regular_file_is_refused_and_stays() {
    let folder = folder("kinds");
    symlink("/dev/null", folder.join("null")).unwrap();
    let socket = folder.join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    for (path, kind) in [
        (Path::new("/dev/null"), "a device"),
        (&folder.join("null"), "a device"),
        (&folder, "a folder"),
        (&socket, "a socket"),
    ] {
        let error = write(path, "text").unwrap_err().to_string();
        let expected = format!(
            "{}: it is {kind}: expected the name of a file",
            path.display()
        );
        assert_eq!(error, expected);
    }
    assert_eq!(names(&folder), ["null", "socket"]);
}

#[test]
fn an_input_is_no_output_under_any_name() {
    let folder = folder("inputs");
    let (input, later) = (folder.join("in.csv"), folder.join("later.csv"));
    for file in [&input, &later] {
        fs::write(file, "samples").unwrap();
    }
    symlink("in.csv", folder.join("link")).unwrap();
    fs::hard_link(&input, folder.join("hard")).unwrap();
    let known_late = Output::new(&later).unwrap();
    assert_eq!(read_text(&input).unwrap(), "samples");
    add_input(&later);
    for name in ["in.csv", "link", "hard", "later.csv"] {
        let error = Output::new(&folder.join(name)).unwrap_err().to_string();
        assert!(error.contains("it is also the input"), "{name}: {error}");
    }
    known_late.write("results").unwrap_err();
    known_late.create_file().unwrap_err();
    assert_eq!(fs::read_to_string(&later).unwrap(), "samples");
    // The executable is an input of each process.
    let program = std::env::current_exe().unwrap();
    let error = Output::new(&program).unwrap_err().to_string();
    assert!(error.contains("it is also the input"), "{error}");
    write(&folder.join("other.csv"), "results").unwrap();
    assert_eq!(read_state(&folder.join("other.csv")).unwrap(), "results");
    write(
        &folder.join("other.csv"),
        "a file of its own may be replaced",
    )
    .unwrap();
}

#[test]
fn an_input_without_end_is_refused_at_its_limit() {
    let endless = Path::new("/dev/zero");
    let error = read_bytes(endless, 1000).unwrap_err().to_string();
    let expected = "it has more than 1000 bytes: expected a file of at most 1000 bytes";
    assert_eq!(error, expected);
    let error = read_text(endless).unwrap_err().to_string();
    assert!(error.starts_with("it has more than 256 MiB"), "{error}");
    let folder = folder("limit");
    let file = folder.join("in.csv");
    fs::write(&file, "12345").unwrap();
    assert_eq!(read_bytes(&file, 5).unwrap(), b"12345");
    read_bytes(&file, 4).unwrap_err();
    fs::write(&file, b"\xff").unwrap();
    assert_eq!(read_text(&file).unwrap_err().kind(), ErrorKind::InvalidData);
}

#[test]
fn a_failed_write_leaves_nothing_and_the_file_as_it_was() {
    let folder = folder("failed");
    let file = folder.join("picture.svg");
    fs::write(&file, "old").unwrap();
    let output = Output::new(&file).unwrap();
    let error = output.draw_file(|temporary| {
        assert_eq!(temporary.extension().unwrap(), "svg");
        fs::write(temporary, "half").unwrap();
        Err("no font".to_owned())
    });
    let expected = format!("{}: no font", file.display());
    assert_eq!(error.unwrap_err().to_string(), expected);
    assert_eq!(fs::read_to_string(&file).unwrap(), "old");
    assert_eq!(names(&folder), ["picture.svg"]);
    // A folder has come in its place meanwhile: it cannot be replaced.
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    output.write("new").unwrap_err();
    assert_eq!(names(&folder), ["picture.svg"]);
}

#[test]
fn a_missing_folder_is_named_where_it_is_not_made() {
    let folder = folder("missing");
    let file = folder.join("no/out.csv");
    let error = Output::new(&file).unwrap().can_be_written().unwrap_err();
    let expected = format!(
        "{}: there is no folder {}: expected one that exists",
        file.display(),
        folder.join("no").display()
    );
    assert_eq!(error.to_string(), expected);
    assert!(names(&folder).is_empty());
    for path in [
        &folder.join("out.csv"),
        Path::new("out.csv"),
        Path::new("-"),
    ] {
        assert_eq!(Output::new(path).unwrap().can_be_written(), Ok(()));
    }
    assert!(names(&folder).is_empty(), "nothing is left behind");
    // Takes no files, also of root.
    let error = Output::new(Path::new("/proc/out.csv")).unwrap();
    let error = error.can_be_written().unwrap_err().to_string();
    assert!(
        error.starts_with("/proc/out.csv: cannot write it: "),
        "{error}"
    );
}

#[test]
fn standard_output_is_a_stream() {
    for name in ["-", "/dev/stdout"] {
        assert!(Output::new(Path::new(name)).unwrap().is_stdout(), "{name}");
    }
    assert!(!Output::new(Path::new("./-")).unwrap().is_stdout());
}

#[test]
fn the_next_output_removes_files_of_killed_writers_only() {
    let folder = folder("leftovers");
    let [abandoned, written, other] =
        [".a.csv.1.simrun-part.csv", ".b.1.simrun-part", ".c.1.part"].map(|name| folder.join(name));
    for file in [&abandoned, &written, &other] {
        fs::write(file, "half").unwrap();
    }
    // A living writer holds the lock of its file.
    let writer = fs::File::open(&written).unwrap();
    writer.lock().unwrap();
    write(&folder.join("out.csv"), "whole").unwrap();
    assert_eq!(names(&folder), [".b.1.simrun-part", ".c.1.part", "out.csv"]);
    drop(writer);
    write(&folder.join("out.csv"), "whole").unwrap();
    assert_eq!(names(&folder), [".c.1.part", "out.csv"]);
}

#[test]
fn a_folder_has_one_owner_or_several_that_share() {
    let folder = folder("lock");
    let owner = FolderLock::exclusive(&folder).unwrap();
    for refused in [FolderLock::exclusive(&folder), FolderLock::shared(&folder)] {
        let error = refused.unwrap_err().to_string();
        let expected = format!(
            "{}: it is in use by process {} (",
            folder.display(),
            std::process::id()
        );
        assert!(error.starts_with(&expected), "{error}");
    }
    drop(owner);
    assert!(names(&folder).is_empty());
    let [one, other] = [(); 2].map(|()| FolderLock::shared(&folder).unwrap());
    FolderLock::exclusive(&folder).unwrap_err();
    drop(one);
    FolderLock::exclusive(&folder).unwrap_err();
    drop(other);
    // A killed process leaves the file, without a lock.
    assert_eq!(names(&folder), [files::LOCK_FILE]);
    drop(FolderLock::exclusive(&folder).unwrap());
}
