//! Costs of our message layer over TCP on one machine: a ping-pong of 8 bytes and a stream of 1 MiB
//! messages, against bare sockets that wait in the same way. Both sides are two processes, pinned
//! to two cores; runs alternate; the 10th percentile of five runs counts.
//!
//! `cargo bench -p simrun-real --bench tcp` prints the table of `results/real/tcp.md`; with `--
//! --tcp-congestion cubic` all sockets, bare ones and ours, have this congestion control. The
//! default is the congestion control of the system, which may pace the sent data, as `bbr` does.

#![expect(clippy::unwrap_used, reason = "a benchmark may panic")]
#![expect(clippy::print_stdout, reason = "its results")]
#![expect(
    clippy::cast_precision_loss,
    reason = "counts of repetitions are small"
)]

use std::ffi::OsString;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use mpi::{Comm, Result};
use real::{
    Backend, Compute, Connecting, FailurePolicy, LaunchInfo, LaunchMode, LaunchOptions,
    OutputListener, OutputMode, RankOptions, RealOutcome, RealRun, Wait, congestion_control,
};
use run::{Program, RankProgram};
use rustix::net::{AddressFamily, SocketType, sockopt};

const RUNS: usize = 5;
const ROUNDS: usize = 20_000;
const WARM_UP: usize = 1_000;
const MEBIBYTE: usize = 1 << 20;
const WINDOW: usize = 16;
const WINDOWS: usize = 60;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum What {
    PingPong,
    Stream,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let congestion = words
        .iter()
        .position(|&word| word == CONGESTION)
        .map(|at| *words.get(at + 1).expect("a name, such as cubic"));
    match words[..] {
        ["rank", what, wait, ..] => rank(parse(what), wait == "spin", congestion),
        ["bare", what, wait, core, port, ..] => {
            pin(core.parse().unwrap());
            bare(
                parse(what),
                wait == "spin",
                port.parse().unwrap(),
                congestion,
            );
        }
        _ => table(congestion),
    }
}

/// The option, on the command lines of processes that are started too.
const CONGESTION: &str = "--tcp-congestion";

fn on_command_line(congestion: Option<&str>) -> impl Iterator<Item = &str> {
    congestion.into_iter().flat_map(|name| [CONGESTION, name])
}

fn parse(what: &str) -> What {
    if what == "stream" {
        What::Stream
    } else {
        What::PingPong
    }
}

fn name(what: What) -> &'static str {
    if what == What::Stream {
        "stream"
    } else {
        "pingpong"
    }
}

/// Seconds on the clock.
fn now() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

fn pin(core: usize) {
    let mut set = rustix::thread::CpuSet::new();
    set.set(core);
    rustix::thread::sched_setaffinity(None, &set).unwrap();
}

// Ours.

async fn measure(world: Comm, what: What) -> Result<()> {
    let other = 1 - world.rank();
    let start = match what {
        What::PingPong => {
            let mut message = world.buffer(8);
            let mut start = 0.0;
            for round in 0..WARM_UP + ROUNDS {
                if round == WARM_UP {
                    start = world.wtime();
                }
                if world.rank() == 0 {
                    world.send(&message, other, 0).await?;
                    world.recv(&mut message, other, 0).await?;
                } else {
                    world.recv(&mut message, other, 0).await?;
                    world.send(&message, other, 0).await?;
                }
            }
            start
        }
        What::Stream => {
            let mut start = 0.0;
            let mut buffers: Vec<_> = (0..WINDOW).map(|_| world.buffer(MEBIBYTE as u64)).collect();
            for window in 0..WINDOWS {
                if window == WINDOWS / 10 {
                    start = world.wtime();
                }
                let mut requests = Vec::new();
                for buffer in buffers.drain(..) {
                    requests.push(if world.rank() == 0 {
                        world.isend(buffer, other, 0)?
                    } else {
                        world.irecv(buffer, other, 0)?
                    });
                }
                let done = mpi::waitall(&mut requests).await?;
                buffers.extend(done.into_iter().flatten().map(|done| done.buffer));
            }
            let mut done = world.buffer(1);
            if world.rank() == 0 {
                world.recv(&mut done, other, 1).await?;
            } else {
                world.send(&done, other, 1).await?;
            }
            start
        }
    };
    if world.rank() == 0 {
        world.println(format_args!("{}", world.wtime() - start));
    }
    Ok(())
}

fn rank(what: What, spins: bool, congestion: Option<&str>) {
    let launch_info = LaunchInfo::read(io::stdin().lock()).unwrap();
    let program = RankProgram::new(move |world| measure(world, what));
    assert!(program.has_ranks());
    let options = RankOptions {
        backend: Backend::Tcp {
            congestion: congestion.map(str::to_owned),
        },
        eager_threshold: 16 * 1024,
        wait: if spins { Wait::Spin } else { Wait::Block },
        connecting: Connecting::default(),
        startup: Duration::from_secs(10),
        compute: Compute::Spin,
        flop_per_s: 1e9,
        bind_to_core: true,
        log: run::LogFilter::default(),
        prefix: false,
        print: OutputMode::Now,
        compare_calls: false,
        revision: "bench".to_owned(),
    };
    assert!(real::run_rank(&program, &options, &launch_info).unwrap());
}

struct CapturedOutput(String);

impl OutputListener for CapturedOutput {
    fn line(&mut self, _: u32, is_error: bool, line: &[u8]) -> bool {
        let text = String::from_utf8_lossy(line).into_owned();
        assert!(!is_error, "{text}");
        self.0 = text;
        true
    }
}

fn ours(what: What, wait: &str, congestion: Option<&str>) -> f64 {
    let program = std::env::current_exe().unwrap().into_os_string();
    let words = ["rank", name(what), wait].into_iter();
    let words = words.chain(on_command_line(congestion));
    let command: Vec<OsString> = std::iter::once(program)
        .chain(words.map(OsString::from))
        .collect();
    let launch = LaunchOptions {
        starts: LaunchMode::here(&command, 2),
        listen: "127.0.0.1:0".parse().unwrap(),
        revision: "bench".to_owned(),
        arrival: Duration::from_secs(10),
        keepalive_timeout: None,
        until: None,
        progress: None,
        on_loss: FailurePolicy::Abort,
        observe: false,
        stop: Arc::new(AtomicBool::new(false)),
    };
    let mut answer = CapturedOutput(String::new());
    let run = real::launch(&launch, &mut answer, RealRun::clone).unwrap();
    assert_eq!(run.outcome, RealOutcome::Finished);
    if let Some(asked) = congestion {
        assert_eq!(run.congestion_control().as_deref(), Some(asked));
    }
    answer.0.parse().unwrap()
}

// Bare sockets.

struct Bare {
    stream: TcpStream,
}

impl Bare {
    fn read(&mut self, buffer: &mut [u8]) {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.stream.read(&mut buffer[filled..]) {
                Ok(count) => {
                    assert!(count > 0, "the other side is gone");
                    filled += count;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => panic!("{error}"),
            }
        }
    }

    fn write(&mut self, mut buffer: &[u8]) {
        while !buffer.is_empty() {
            match self.stream.write(buffer) {
                Ok(count) => buffer = &buffer[count..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// A socket that is not yet connected, because pacing of a connected socket cannot be undone.
fn socket(congestion: Option<&str>) -> OwnedFd {
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    if let Some(name) = congestion {
        sockopt::set_tcp_congestion(&socket, name).unwrap();
    }
    socket
}

fn bare(what: What, spins: bool, port: u16, congestion: Option<&str>) {
    let is_first = port != 0;
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let socket = socket(congestion);
    let stream = if is_first {
        rustix::net::connect(&socket, &address).unwrap();
        TcpStream::from(socket)
    } else {
        rustix::net::bind(&socket, &address).unwrap();
        rustix::net::listen(&socket, 1).unwrap();
        let listener = TcpListener::from(socket);
        println!("{}", listener.local_addr().unwrap().port());
        listener.accept().unwrap().0
    };
    stream.set_nodelay(true).unwrap();
    stream.set_nonblocking(spins).unwrap();
    let mut bare = Bare { stream };
    let start = match what {
        What::PingPong => {
            let mut message = [0; 8];
            let mut start = 0.0;
            for round in 0..WARM_UP + ROUNDS {
                if round == WARM_UP {
                    start = now();
                }
                if is_first {
                    bare.write(&message);
                    bare.read(&mut message);
                } else {
                    bare.read(&mut message);
                    bare.write(&message);
                }
            }
            start
        }
        What::Stream => {
            let mut message = vec![0; MEBIBYTE];
            let mut start = 0.0;
            for window in 0..WINDOWS {
                if window == WINDOWS / 10 {
                    start = now();
                }
                for _ in 0..WINDOW {
                    if is_first {
                        bare.write(&message);
                    } else {
                        bare.read(&mut message);
                    }
                }
            }
            if is_first {
                bare.read(&mut message[..1]);
            } else {
                bare.write(&message[..1]);
            }
            start
        }
    };
    if is_first {
        println!("{}", now() - start);
    }
}

fn bare_time(what: What, wait: &str, congestion: Option<&str>) -> f64 {
    let start = |core: &str, port: &str| {
        Command::new(std::env::current_exe().unwrap())
            .args(["bare", name(what), wait, core, port])
            .args(on_command_line(congestion))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let mut second = start("1", "0");
    let mut port = String::new();
    let mut output = second.stdout.take().unwrap();
    while !port.ends_with('\n') {
        let mut byte = [0];
        output.read_exact(&mut byte).unwrap();
        port.push(char::from(byte[0]));
    }
    let first = start("0", port.trim()).wait_with_output().unwrap();
    assert!(second.wait().unwrap().success());
    String::from_utf8(first.stdout)
        .unwrap()
        .trim()
        .parse()
        .unwrap()
}

/// The 10th percentile of a few runs is the fastest one.
fn p10(times: &[f64]) -> f64 {
    times.iter().copied().fold(f64::INFINITY, f64::min)
}

fn table(congestion: Option<&str>) {
    let found = congestion_control(congestion).unwrap_or_else(|wrong| panic!("{wrong}"));
    let found = found.expect("Linux tells");
    println!("congestion control: {found}\n");
    println!("| what | waits by | bare socket | simrun | ratio | goal |");
    println!("|---|---|---|---|---|---|");
    for what in [What::PingPong, What::Stream] {
        for wait in ["spin", "block"] {
            let (mut bare, mut real) = (Vec::new(), Vec::new());
            for _ in 0..RUNS {
                bare.push(bare_time(what, wait, congestion));
                real.push(ours(what, wait, congestion));
            }
            let (bare, real) = (p10(&bare), p10(&real));
            if what == What::PingPong {
                let half = |time: f64| time / (2 * ROUNDS) as f64 * 1e6;
                println!(
                    "| ping-pong, 8 bytes, one way | {wait} | {:.2} us | {:.2} us | {:.2} | ≤ 1.5 |",
                    half(bare),
                    half(real),
                    real / bare
                );
            } else {
                let bytes = (WINDOWS - WINDOWS / 10) * WINDOW * MEBIBYTE;
                let rate = |time: f64| bytes as f64 / time / 1e9;
                println!(
                    "| stream, 1 MiB, windows of {WINDOW} | {wait} | {:.2} GB/s | {:.2} GB/s | {:.2} | ≥ 0.8 |",
                    rate(bare),
                    rate(real),
                    bare / real
                );
            }
        }
    }
}
