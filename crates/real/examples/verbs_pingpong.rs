//! A ping-pong on the trait `Verbs` itself, without the message layer: a reference for this layer
//! and for this implementation of the trait.
//!
//! `verbs_pingpong --listen PORT` on one machine and `verbs_pingpong --connect ADDRESS:PORT` on the
//! other; `--bytes`, `--iterations`, `--device`. The side that connects prints one line of CSV:
//! bytes, iterations, and half of a round trip in microseconds: minimum, median, average.
//!
//! Both sides poll, and SEND inline if possible, as `ib_send_lat` does.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "it measures real machines"
)]

use std::error::Error;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use rdma::{
    Access, CompletionQueue, ConnectionAttributes, Endpoint, MemoryRegion, Operation, Payload,
    QpCapabilities, QpInitAttributes, QueuePair, RecvRequest, RegionMemory, SendFlags, SendRequest,
    Verbs, connect, prepare,
};
use real::verbs::LibVerbs;

/// Receives that are always posted.
const RECEIVES: u64 = 16;
/// One in this many sends is signalled: not more than the send queue is long.
const SIGNAL_EVERY: u64 = 32;
/// Round trips before the first one that counts.
const WARM_UP: u64 = 100;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

struct Options {
    device: Option<String>,
    listen: Option<String>,
    connect: Option<String>,
    bytes: u32,
    iterations: u64,
}

fn options() -> Result<Options> {
    let mut options = Options {
        device: None,
        listen: None,
        connect: None,
        bytes: 8,
        iterations: 1000,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().ok_or(format!("{argument}: a value"))?;
        match argument.as_str() {
            "--device" => options.device = Some(value),
            "--listen" => options.listen = Some(value),
            "--connect" => options.connect = Some(value),
            "--bytes" => options.bytes = value.parse()?,
            "--iterations" => options.iterations = value.parse()?,
            _ => return Err(format!("{argument}: unknown").into()),
        }
    }
    Ok(options)
}

fn connect_to_bootstrap(options: &Options) -> Result<(TcpStream, bool)> {
    if let Some(port) = &options.listen {
        let listener = TcpListener::bind(format!("0.0.0.0:{port}"))?;
        return Ok((listener.accept()?.0, false));
    }
    let address = options.connect.as_deref().ok_or("--listen or --connect")?;
    let start = Instant::now();
    loop {
        match TcpStream::connect(address) {
            Ok(stream) => return Ok((stream, true)),
            Err(error) if start.elapsed() > Duration::from_secs(60) => return Err(error.into()),
            Err(_) => thread::sleep(Duration::from_millis(100)),
        }
    }
}

struct Player {
    verbs: LibVerbs,
    cq: CompletionQueue,
    qp: QueuePair,
    send: MemoryRegion,
    receive: MemoryRegion,
    bytes: u32,
    is_inline: bool,
    sent: u64,
}

impl Player {
    fn new(options: &Options, stream: &mut TcpStream) -> Result<Self> {
        let verbs = LibVerbs::open(options.device.as_deref())?;
        let pd = verbs.alloc_pd()?;
        let cq = verbs.create_cq(256)?;
        let init = QpInitAttributes {
            pd,
            send_cq: cq,
            recv_cq: cq,
            cap: QpCapabilities {
                max_inline_data: 64,
                ..QpCapabilities::default()
            },
            sq_sig_all: false,
        };
        let qp = verbs.create_qp(&init)?;
        let length = u64::from(options.bytes.max(1));
        let region = || verbs.reg_mr(pd, RegionMemory::Zeroed(length), Access::LOCAL_WRITE);
        let most_inline = verbs.query_qp(qp)?.cap.max_inline_data;
        let rc = ConnectionAttributes::default();
        let (send, receive) = (region()?, region()?);
        let local = prepare(&verbs, qp, &rc, std::process::id())?;
        let this = Self {
            verbs,
            cq,
            qp,
            send,
            receive,
            bytes: options.bytes,
            is_inline: options.bytes <= most_inline,
            sent: 0,
        };
        for _ in 0..RECEIVES {
            this.post_receive()?;
        }
        let mut bytes = [0; Endpoint::LENGTH];
        stream.write_all(&local.to_bytes())?;
        stream.read_exact(&mut bytes)?;
        let remote = Endpoint::from_bytes(&bytes)?;
        connect(&this.verbs, qp, &rc, &local, &remote)?;
        // Nothing is sent before the other side is connected too.
        stream.write_all(b"!")?;
        stream.read_exact(&mut [0])?;
        Ok(this)
    }

    fn post_receive(&self) -> Result<()> {
        let sges = [self.receive.sge(0, self.bytes)];
        let request = RecvRequest {
            wr_id: 1,
            sges: &sges,
        };
        Ok(self.verbs.post_recv(self.qp, &[request])?)
    }

    fn send(&mut self) -> Result<()> {
        self.sent += 1;
        let sges = [self.send.sge(0, self.bytes)];
        let inline = [7; 64];
        let request = SendRequest {
            wr_id: 0,
            operation: Operation::Send,
            payload: if self.is_inline {
                Payload::Inline(&inline[..self.bytes as usize])
            } else {
                Payload::Sges(&sges)
            },
            flags: SendFlags {
                signaled: self.sent.is_multiple_of(SIGNAL_EVERY),
                ..SendFlags::default()
            },
        };
        Ok(self.verbs.post_send(self.qp, &[request])?)
    }

    /// Waits for a message.
    fn receive(&self) -> Result<()> {
        let mut completions = Vec::with_capacity(1);
        loop {
            completions.clear();
            self.verbs.poll_cq(self.cq, 1, &mut completions)?;
            let Some(completion) = completions.first() else {
                continue;
            };
            if !completion.status.is_success() {
                return Err(completion.status.to_string().into());
            }
            if completion.wr_id == 1 {
                return self.post_receive();
            }
        }
    }
}

fn main() -> Result<()> {
    let options = options()?;
    let (mut stream, is_first) = connect_to_bootstrap(&options)?;
    let mut player = Player::new(&options, &mut stream)?;
    let mut halves = Vec::new();
    for round in 0..WARM_UP + options.iterations {
        let start = Instant::now();
        if is_first {
            player.send()?;
            player.receive()?;
        } else {
            player.receive()?;
            player.send()?;
        }
        if round >= WARM_UP {
            halves.push(start.elapsed().as_secs_f64() * 1e6 / 2.0);
        }
    }
    if is_first {
        halves.sort_by(f64::total_cmp);
        let average = halves.iter().sum::<f64>() / halves.len() as f64;
        let median = halves[halves.len() / 2];
        let (bytes, iterations) = (options.bytes, options.iterations);
        println!(
            "{bytes},{iterations},{:.2},{median:.2},{average:.2}",
            halves[0]
        );
    }
    // The last message is on its way until the other side has it.
    stream.write_all(b"!")?;
    stream.read_exact(&mut [0])?;
    Ok(())
}
