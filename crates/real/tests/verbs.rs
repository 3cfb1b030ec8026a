//! Promise: a real adapter fulfils the requirements for every implementation of `Verbs`. The cases
//! are in `rdma::conformance`; this program runs the cases through libibverbs.
//!
//! The program needs an RDMA device, and fails without one. `crates/real/softroce/test.sh` runs it
//! in emulated guests with an RDMA device:
//!
//! * both sides here: `real-verbs [--device NAME] [FILTER]...`
//! * one side here: `real-verbs --listen PORT [FILTER]...` on one machine, `real-verbs --connect
//!   ADDRESS:PORT [FILTER]...` on the other.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test program of its own, with real machines: it waits, measures and tells"
)]

use std::cell::RefCell;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use rdma::Verbs;
use rdma::conformance::{
    CASES, ConformanceCase, Deviations, InMemoryChannel, Side, SideChannel, run_pair, run_side,
};
use real::verbs::LibVerbs;

/// No case takes nearly so long, emulated on a busy machine neither.
const CASE_LIMIT: Duration = Duration::from_secs(60);

/// A link over TCP: each message is preceded by its length.
struct TcpSideChannel {
    stream: TcpStream,
    came: RefCell<Vec<u8>>,
}

impl TcpSideChannel {
    fn new(stream: TcpStream) -> Self {
        stream.set_nodelay(true).expect("a socket");
        stream.set_nonblocking(true).expect("a socket");
        let came = RefCell::default();
        Self { stream, came }
    }
}

impl SideChannel for TcpSideChannel {
    fn send(&self, message: &[u8]) {
        let length = u32::try_from(message.len()).expect("short messages");
        let mut bytes = length.to_be_bytes().to_vec();
        bytes.extend(message);
        // Short enough for any socket's buffer.
        (&self.stream)
            .write_all(&bytes)
            .expect("the other side is there");
    }

    fn receive(&self) -> Option<Vec<u8>> {
        let mut came = self.came.borrow_mut();
        let mut bytes = [0; 4096];
        match (&self.stream).read(&mut bytes) {
            Ok(0) => panic!("the other side is gone"),
            Ok(length) => came.extend(&bytes[..length]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => panic!("the other side: {error}"),
        }
        let length = came
            .first_chunk()
            .map(|length| u32::from_be_bytes(*length))?;
        let end = 4 + length as usize;
        if came.len() < end {
            return None;
        }
        let message = came[4..end].to_vec();
        came.drain(..end);
        Some(message)
    }
}

/// Waits for time to pass, and panics when a case has taken too long.
fn advance() -> impl FnMut() {
    let start = Instant::now();
    move || {
        assert!(start.elapsed() < CASE_LIMIT, "no end after {CASE_LIMIT:?}");
        thread::yield_now();
    }
}

enum Peer {
    Here,
    Listen(String),
    Connect(String),
}

struct Options {
    device: Option<String>,
    place: Peer,
    filters: Vec<String>,
}

fn options() -> Options {
    let mut options = Options {
        device: None,
        place: Peer::Here,
        filters: Vec::new(),
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().expect("a value for the option");
        match argument.as_str() {
            "--device" => options.device = Some(value()),
            "--listen" => options.place = Peer::Listen(value()),
            "--connect" => options.place = Peer::Connect(value()),
            // Of cargo's own.
            _ if argument.starts_with('-') => {}
            _ => options.filters.push(argument),
        }
    }
    options
}

fn connection(place: &Peer) -> Option<(TcpStream, bool)> {
    match place {
        Peer::Here => None,
        Peer::Listen(port) => {
            let listener = TcpListener::bind(format!("0.0.0.0:{port}")).expect("a free port");
            Some((listener.accept().expect("a connection").0, false))
        }
        Peer::Connect(address) => {
            let start = Instant::now();
            loop {
                match TcpStream::connect(address) {
                    Ok(stream) => return Some((stream, true)),
                    Err(error) => assert!(start.elapsed() < CASE_LIMIT, "{address}: {error}"),
                }
                thread::sleep(Duration::from_millis(100));
            }
        }
    }
}

/// Returns the deviations of this adapter.
fn deviations(verbs: &LibVerbs) -> Deviations {
    if verbs.query_device().name.starts_with("rxe") {
        Deviations::RXE
    } else {
        Deviations::default()
    }
}

fn run(case: &ConformanceCase, verbs: &LibVerbs, link: Option<&(TcpSideChannel, bool)>) {
    if let Some((link, is_first)) = link {
        let side = Side::new(verbs, link, *is_first).deviating(deviations(verbs));
        run_side(case, &side, &mut advance());
    } else {
        let (one, two) = InMemoryChannel::pair();
        let first = Side::new(verbs, &one, true).deviating(deviations(verbs));
        let second = Side::new(verbs, &two, false).deviating(deviations(verbs));
        run_pair(case, &first, &second, &mut advance());
    }
}

fn main() -> ExitCode {
    let options = options();
    let verbs = match LibVerbs::open(options.device.as_deref()) {
        Ok(verbs) => verbs,
        Err(error) => {
            eprintln!("{error}");
            eprintln!(
                "crates/real/softroce/test.sh runs these tests in emulated guests that have one"
            );
            return ExitCode::FAILURE;
        }
    };
    let link = connection(&options.place)
        .map(|(stream, is_first)| (TcpSideChannel::new(stream), is_first));
    let chosen = CASES.iter().filter(|case| {
        options.filters.is_empty()
            || options
                .filters
                .iter()
                .any(|filter| case.name.contains(filter))
    });
    let (mut passed, mut failed) = (0, Vec::new());
    let start = Instant::now();
    for case in chosen {
        let begin = Instant::now();
        let result = catch_unwind(AssertUnwindSafe(|| run(case, &verbs, link.as_ref())));
        let took = begin.elapsed().as_millis();
        if result.is_ok() {
            println!("test {} ... ok ({took} ms)", case.name);
            passed += 1;
        } else {
            println!("test {} ... FAILED ({took} ms)", case.name);
            failed.push(case.name);
            if link.is_some() {
                // The other side does not know where we are.
                break;
            }
        }
    }
    println!(
        "{passed} passed, {} failed {failed:?}, {:.1} s",
        failed.len(),
        start.elapsed().as_secs_f64()
    );
    if failed.is_empty() && passed > 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
