//! A ping-pong of ranks 0 and 1 on queue pairs themselves, as perftest does it: `ib_send_lat`,
//! `ib_write_lat`, `ib_read_lat` and `ib_atomic_lat`.
//!
//! Sends and writes are answered, and half of a round trip counts; reads and atomics count from the
//! post to the completion. What is written is found by polling memory. Messages are inline if the
//! queue pair can. The message layer only brings the two sides together. Other ranks do nothing.

use std::error::Error;
use std::rc::Rc;

use mpi::{Buffer, Comm};
use rdma::{
    Access, CompletionQueue, ConnectionAttributes, Endpoint, MemoryRegion, Operation, Payload,
    QpCapabilities, QpInitAttributes, QueuePair, RecvRequest, RegionMemory, SendFlags, SendRequest,
    Verbs, connect, prepare,
};
use simrun::Size;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Identifier of receives.
const RECEIVE: u64 = 1;

#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Send into posted receives.
    Send,
    /// RDMA Write; the other side polls its memory.
    Write,
    /// RDMA Read.
    Read,
    /// Fetch-and-add of 8 bytes.
    Atomic,
}

/// Latencies between ranks 0 and 1 on queue pairs, in the format of perftest
#[derive(clap::Parser, Clone)]
struct Args {
    /// Operation.
    #[arg(long, value_enum, default_value = "send")]
    mode: Mode,
    /// The sizes, separated by commas; atomics always have 8 bytes.
    #[arg(long, value_delimiter = ',', default_value = "2,64,512,4KiB,32KiB")]
    sizes: Vec<Size>,
    /// Iterations per size.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    iterations: u32,
    /// Ask for this many bytes inline.
    #[arg(long, default_value_t = 188)]
    inline: u32,
    /// The number of times to send again what was not acknowledged, 0 to 7.
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u8).range(..8))]
    retries: u8,
    /// Connect to a queue pair that does not exist: all packets are lost.
    #[arg(long)]
    misconnect: bool,
}

/// One side of the connection.
struct Side {
    world: Comm,
    verbs: Rc<dyn Verbs>,
    cq: CompletionQueue,
    qp: QueuePair,
    memory: MemoryRegion,
    remote: (u64, u32),
    inline_max: u32,
}

impl Side {
    async fn connect_side(world: Comm, args: &Args, length: u64) -> Result<Self> {
        let none = "ranks have no adapters here: expected [network] device = \"verbs\" in the platform file, or --backend verbs";
        let verbs = world.adapter().ok_or(none)?;
        let (pd, cq) = (verbs.alloc_pd()?, verbs.create_cq(64)?);
        let cap = QpCapabilities {
            max_inline_data: args.inline,
            ..QpCapabilities::default()
        };
        let qp = verbs.create_qp(&QpInitAttributes {
            pd,
            send_cq: cq,
            recv_cq: cq,
            cap,
            sq_sig_all: true,
        })?;
        let memory = verbs.reg_mr(pd, RegionMemory::Zeroed(2 * length), Access::ALL)?;
        let options = ConnectionAttributes {
            retry_cnt: args.retries,
            ..ConnectionAttributes::default()
        };
        let local = prepare(&*verbs, qp, &options, 7)?;
        let mut own = local.to_bytes().to_vec();
        own.extend(memory.addr.to_be_bytes());
        own.extend(memory.rkey.to_be_bytes());
        let other = exchange_bytes(&world, &own).await?;
        let (endpoint, region) = other.split_first_chunk().ok_or("too short")?;
        let mut endpoint = Endpoint::from_bytes(endpoint)?;
        endpoint.qp_num ^= if args.misconnect { 0x80_0000 } else { 0 };
        connect(&*verbs, qp, &options, &local, &endpoint)?;
        let (addr, rkey) = region.split_first_chunk().ok_or("too short")?;
        let remote = (
            u64::from_be_bytes(*addr),
            u32::from_be_bytes(rkey.try_into()?),
        );
        let inline_max = verbs.query_qp(qp)?.cap.max_inline_data;
        Ok(Self {
            world,
            verbs,
            cq,
            qp,
            memory,
            remote,
            inline_max,
        })
    }

    /// Posts a request on `bytes` bytes, of which the last is `mark`.
    fn post_request(&self, mode: Mode, bytes: u32, mark: u8) -> Result<()> {
        let half = self.memory.length / 2;
        let (remote_addr, rkey) = (self.remote.0 + half, self.remote.1);
        let operation = match mode {
            Mode::Send => Operation::Send,
            Mode::Write => Operation::RdmaWrite { remote_addr, rkey },
            Mode::Read => Operation::RdmaRead { remote_addr, rkey },
            Mode::Atomic => Operation::AtomicFetchAndAdd {
                remote_addr,
                rkey,
                add: 1,
            },
        };
        let (content, sges) = (vec![mark; bytes as usize], [self.memory.sge(0, bytes)]);
        let payload = if !operation.returns_data() && bytes <= self.inline_max {
            Payload::Inline(&content)
        } else {
            let last = u64::from(bytes.saturating_sub(1));
            self.verbs.write_mr(&self.memory, last, &[mark])?;
            Payload::Sges(&sges)
        };
        let flags = SendFlags::SIGNALED;
        let request = SendRequest {
            wr_id: 0,
            operation,
            payload,
            flags,
        };
        Ok(self.verbs.post_send(self.qp, &[request])?)
    }

    fn post_receive(&self) -> Result<()> {
        let half = self.memory.length / 2;
        let sges = [self.memory.sge(half, u32::try_from(half)?)];
        let request = RecvRequest {
            wr_id: RECEIVE,
            sges: &sges,
        };
        Ok(self.verbs.post_recv(self.qp, &[request])?)
    }

    /// Polls until what the mode waits for has happened.
    async fn wait_for_completion(&self, mode: Mode, bytes: u32, mark: u8) -> Result<()> {
        let last = self.memory.length / 2 + u64::from(bytes) - 1;
        let mut completions = Vec::new();
        loop {
            completions.clear();
            self.verbs.poll_cq(self.cq, 64, &mut completions)?;
            if let Some(bad) = completions.iter().find(|found| !found.status.is_success()) {
                return Err(bad.status.to_string().into());
            }
            let has = |wr_id| completions.iter().any(|found| found.wr_id == wr_id);
            let mut byte = [0];
            self.verbs.read_mr(&self.memory, last, &mut byte)?;
            let is_over = match mode {
                Mode::Send => has(RECEIVE),
                Mode::Write => byte[0] == mark,
                Mode::Read | Mode::Atomic => has(0),
            };
            if is_over {
                return Ok(());
            }
            self.world.adapter_event().await;
        }
    }

    /// Returns the time of one iteration, in microseconds.
    async fn iterate(&self, mode: Mode, bytes: u32, mark: u8) -> Result<f64> {
        let start = self.world.wtime();
        let is_answered = matches!(mode, Mode::Send | Mode::Write);
        if self.world.rank() == 0 {
            self.post_request(mode, bytes, mark)?;
        }
        if self.world.rank() == 0 || is_answered {
            self.wait_for_completion(mode, bytes, mark).await?;
        }
        if mode == Mode::Send {
            self.post_receive()?;
        }
        if self.world.rank() == 1 && is_answered {
            self.post_request(mode, bytes, mark)?;
        }
        let trips = if is_answered { 2.0 } else { 1.0 };
        Ok((self.world.wtime() - start) * 1e6 / trips)
    }
}

async fn exchange_bytes(world: &Comm, own: &[u8]) -> Result<Vec<u8>> {
    let (peer, mut other) = (1 - world.rank(), world.buffer(own.len() as u64));
    let own = Buffer::from(own.to_vec());
    world.sendrecv(&own, peer, 0, &mut other, peer, 0).await?;
    Ok(other.bytes().ok_or("payloads are phantoms")?.to_vec())
}

async fn pingpong(world: Comm, args: Args) -> Result<()> {
    if world.size() < 2 {
        return Err("ping-pong needs at least 2 ranks, but there is only 1".into());
    }
    if world.rank() > 1 {
        return Ok(());
    }
    let mut sizes = Vec::new();
    for size in &args.sizes {
        let bytes = if args.mode == Mode::Atomic { 8 } else { size.0 };
        let bytes = u32::try_from(bytes)
            .ok()
            .filter(|bytes| (1..1 << 30).contains(bytes));
        sizes.push(bytes.ok_or_else(|| format!("--sizes {size}: expected 1 B to 1 GiB"))?);
    }
    let longest = sizes.iter().max().copied().unwrap_or(1).max(8);
    let side = Side::connect_side(world.clone(), &args, u64::from(longest)).await?;
    side.post_receive()?;
    if world.rank() == 0 {
        let heading =
            " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]";
        world.println(format_args!("{heading}"));
    }
    for bytes in sizes {
        side.verbs
            .write_mr(&side.memory, 0, &vec![0; 2 * longest as usize])?;
        exchange_bytes(&world, &[0]).await?;
        let mut times = Vec::new();
        for round in 0..args.iterations {
            let mark = u8::try_from(round % 255)? + 1;
            times.push(side.iterate(args.mode, bytes, mark).await?);
        }
        times.sort_by(f64::total_cmp);
        let (least, most) = (times[0], times[times.len() - 1]);
        let (typical, sum) = (times[times.len() / 2], times.iter().sum::<f64>());
        let (average, iterations) = (sum / f64::from(args.iterations), args.iterations);
        if world.rank() == 0 {
            world.println(format_args!(
                " {bytes:<7} {iterations:<11} {least:>14.3} {most:>14.3} {typical:>16.3} {average:>14.3}"
            ));
        }
        exchange_bytes(&world, &[0]).await?;
    }
    Ok(())
}

simrun::main!(pingpong);
