//! Commands of this checkout as their users meet them: processes, their output, folders of tests,
//! and programs in C and C++.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::time::Duration;

/// A platform that every machine simulates at once.
pub const CLUSTER: &str = "platforms/cluster.toml";

/// Time for a command, many times the longest: a command without an end fails one test only.
const TIME_MAX: Duration = Duration::from_secs(600);

/// Output and status of a process.
#[derive(Debug)]
pub struct Output {
    /// The command itself, for the messages of assertions.
    pub command: String,
    /// The exit status, 0 to 255, or 1000 and the number of the signal that killed the process.
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

/// The root of the checkout.
pub fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("this checkout")
}

/// Returns a command in the root of this checkout, without network access and input.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(root())
        .env("CARGO_NET_OFFLINE", "true")
        .env_remove("RUST_BACKTRACE")
        .stdin(Stdio::null());
    command
}

/// Runs a command to the end.
///
/// # Panics
/// If the command, or a child that keeps the output open, does not end within [`TIME_MAX`].
pub fn run(command: &mut Command) -> Output {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("the command starts");
    let number = child.id();
    let (sender, receiver) = mpsc::channel();
    #[expect(clippy::disallowed_methods, reason = "no kernel sees the thread")]
    std::thread::spawn(move || sender.send(child.wait_with_output()));
    let output = receiver.recv_timeout(TIME_MAX).unwrap_or_else(|_| {
        let _ = Command::new("kill").arg(number.to_string()).status();
        panic!("no end of output after {TIME_MAX:?}: {command:?}");
    });
    let output = Output::new(format!("{command:?}"), output.expect("output"));
    assert!(output.status < 1000, "killed: {output:?}");
    output
}

impl Output {
    /// Returns the output of a process that has ended.
    pub fn new(command: String, output: std::process::Output) -> Self {
        let status = output.status;
        let killed = || 1000 + status.signal().expect("it has ended");
        Self {
            command,
            status: status.code().unwrap_or_else(killed),
            stdout: String::from_utf8(output.stdout).expect("text"),
            stderr: String::from_utf8(output.stderr).expect("text"),
        }
    }

    /// Asserts the exit status.
    #[track_caller]
    pub fn exits_with(&self, status: i32) -> &Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }

    /// Asserts the exit status, and that standard output is empty.
    #[track_caller]
    pub fn exits_silently(&self, status: i32) -> &Self {
        assert_eq!((self.status, &*self.stdout), (status, ""), "{self:?}");
        self
    }

    /// Asserts success without a word on standard error.
    #[track_caller]
    pub fn succeeds_silently(&self) -> &Self {
        assert_eq!((self.status, &*self.stderr), (0, ""), "{self:?}");
        self
    }

    /// Asserts that the command line or a file was refused, with this text.
    #[track_caller]
    pub fn refuses_with(&self, text: &str) -> &Self {
        self.exits_silently(2).reports_text(text)
    }

    /// Asserts that standard output contains a text.
    #[track_caller]
    pub fn prints_text(&self, text: &str) -> &Self {
        assert!(self.stdout.contains(text), "no {text:?} in {self:?}");
        self
    }

    /// Asserts that standard output begins with a text.
    #[track_caller]
    pub fn prints_first(&self, text: &str) -> &Self {
        assert!(self.stdout.starts_with(text), "no {text:?} in {self:?}");
        self
    }

    /// Asserts that standard output ends with a text.
    #[track_caller]
    pub fn prints_last(&self, text: &str) -> &Self {
        assert!(self.stdout.ends_with(text), "no {text:?} in {self:?}");
        self
    }

    /// Asserts that standard output is a text.
    #[track_caller]
    pub fn prints_only(&self, text: &str) -> &Self {
        assert_eq!(self.stdout, text, "{self:?}");
        self
    }

    /// Asserts that standard error contains a text.
    #[track_caller]
    pub fn reports_text(&self, text: &str) -> &Self {
        assert!(self.stderr.contains(text), "no {text:?} in {self:?}");
        self
    }

    /// Asserts that standard error begins with a text.
    #[track_caller]
    pub fn reports_first(&self, text: &str) -> &Self {
        assert!(self.stderr.starts_with(text), "no {text:?} in {self:?}");
        self
    }

    /// Asserts that standard error ends with a text.
    #[track_caller]
    pub fn reports_last(&self, text: &str) -> &Self {
        assert!(self.stderr.ends_with(text), "no {text:?} in {self:?}");
        self
    }

    /// Asserts that standard error is a text.
    #[track_caller]
    pub fn reports_only(&self, text: &str) -> &Self {
        assert_eq!(self.stderr, text, "{self:?}");
        self
    }

    /// The digest in the summary.
    pub fn digest(&self) -> String {
        let (_, rest) = self
            .stdout
            .split_once("digest ")
            .unwrap_or_else(|| panic!("{self:?}"));
        let (digest, _) = rest.split_once(',').unwrap_or_else(|| panic!("{self:?}"));
        digest.to_owned()
    }

    /// The results of `--format json`.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// A folder, removed at the end of a test.
pub struct Folder(PathBuf);

impl Folder {
    #[expect(clippy::new_without_default, reason = "it makes a folder")]
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("simrun-test-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).expect("a folder");
        Self(path)
    }

    /// A path in the folder.
    pub fn path(&self, name: &str) -> String {
        let path = self.0.join(name);
        path.to_str().expect("a path is text").to_owned()
    }

    /// Writes a file; returns the path.
    pub fn write(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        let folder = Path::new(&path).parent().expect("a file has a folder");
        fs::create_dir_all(folder).expect("a folder");
        fs::write(&path, text).expect("a file");
        path
    }

    /// The names of all files of the folder, also hidden ones.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).expect("a folder");
        let name = |entry: fs::DirEntry| entry.file_name().into_string().expect("text");
        let mut names: Vec<String> = entries.map(|it| name(it.expect("an entry"))).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Compiles a source of the repository into a folder by `simrun cc` or `cxx`, given an executable
/// that has these commands. Returns the program.
pub fn compile(simrun: &str, folder: &Folder, options: &str, source: &str) -> String {
    let name = source
        .rsplit(['/', '.'])
        .nth(1)
        .expect("a source has a name");
    compile_as(
        simrun,
        folder,
        &format!("-O1 -Wall -Werror {options}"),
        source,
        name,
    )
}

/// As [`compile`], with a name for the program and without other options.
pub fn compile_as(
    simrun: &str,
    folder: &Folder,
    options: &str,
    source: &str,
    name: &str,
) -> String {
    let compiler = if source.ends_with(".cc") { "cxx" } else { "cc" };
    let program = folder.path(name);
    let mut command = command(simrun);
    command.env("XDG_CACHE_HOME", folder.path("cache"));
    command.args([compiler, "-o", &program, source]);
    let output = run(command.args(options.split_whitespace()));
    assert_eq!(output.status, 0, "{output:?}");
    program
}

/// Compiles a program with two shared libraries in the folder of the program.
pub fn compile_with_libraries(simrun: &str, folder: &Folder, option: &str) -> String {
    let made = |name: &str, options: &str, source: &str| {
        let options = format!("{options} -g -L{} -Wl,-rpath,$ORIGIN", folder.path(""));
        let source = format!("crates/cmpi/tests/programs/{source}");
        compile_as(simrun, folder, &options, &source, name)
    };
    made("libsecond.so", "-shared -fPIC", "library-second.c");
    made("libfirst.so", "-shared -fPIC -lsecond", "library-first.cc");
    let options = format!("-lfirst -lsecond {option}");
    made("libraries", &options, "libraries.cc")
}
