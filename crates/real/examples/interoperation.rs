//! Random operations between our adapter and an adapter of this machine, in both directions at
//! once, against a sequential model: `interoperation --local ADDRESS --peer ADDRESS [--device NAME]
//! [--operations N] [--seed N]`.
//!
//! Sends, writes, reads and both atomic operations, up to three packets long. While a read or an
//! atomic is in progress, no operation is posted. So the order of posting is the order of effects,
//! and the model is a copy of the memory. Checked: each completion, the bytes of each receive and
//! read, the original value of each atomic, and the memory at the end.
//!
//! *Not covered*: reads that writes overtake, several queue pairs, errors.

#![expect(clippy::print_stdout, reason = "a program of its own")]
#![expect(clippy::disallowed_types, reason = "it waits for real adapters")]

use std::collections::VecDeque;
use std::error::Error;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use rdma::{
    Access, CompletionQueue, ConnectionAttributes, Endpoint, MemoryRegion, Mtu, Operation, Payload,
    QpCapabilities, QpInitAttributes, QueuePair, RecvRequest, RegionMemory, SendFlags, SendRequest,
    Verbs, WcStatus, connect, prepare,
};
use real::udp_adapter::UdpAdapter;
use real::verbs::LibVerbs;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Bytes that requests of the peer reach.
const TARGET: u64 = 16 << 10;
/// Longest message in bytes: three packets.
const MESSAGE_MAX: u64 = 3 * 1024;
/// Requests under way, and as many receives.
const WINDOW: u64 = 8;
/// Identifiers of receives begin here.
const RECEIVE_ID: u64 = 1 << 32;
/// The longest time without a completion.
const PATIENCE: Duration = Duration::from_secs(60);

/// Numbers from a seed: SplitMix64, Steele et al., OOPSLA 2014.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn bytes(&mut self, length: u64) -> Vec<u8> {
        (0..length).map(|_| self.next() as u8).collect()
    }
}

/// One end of the connection. Its memory has the target, then the areas of requests, then the areas
/// of receives.
struct End<'a> {
    verbs: &'a dyn Verbs,
    region: MemoryRegion,
    cq: CompletionQueue,
    qp: QueuePair,
    /// The target after completion of all requests posted by the peer.
    model: Vec<u8>,
    /// Requests under way, with the value that a read or an atomic has to return.
    under_way: VecDeque<(u64, Option<Vec<u8>>)>,
    /// Messages of the peer that have to be received.
    messages: VecDeque<Vec<u8>>,
    posted: u64,
    received: u64,
}

impl<'a> End<'a> {
    fn new(verbs: &'a dyn Verbs) -> Result<Self> {
        let pd = verbs.alloc_pd()?;
        let length = TARGET + 2 * WINDOW * MESSAGE_MAX;
        let memory = RegionMemory::Zeroed(length);
        let region = verbs.reg_mr(pd, memory, Access::ALL);
        let region = region.map_err(|refusal| refusal.error)?;
        let cq = verbs.create_cq(64)?;
        let qp = verbs.create_qp(&QpInitAttributes {
            pd,
            send_cq: cq,
            recv_cq: cq,
            cap: QpCapabilities {
                max_send_wr: 16,
                max_recv_wr: 16,
                ..QpCapabilities::default()
            },
            sq_sig_all: true,
        })?;
        Ok(Self {
            verbs,
            region,
            cq,
            qp,
            model: vec![0; TARGET as usize],
            under_way: VecDeque::new(),
            messages: VecDeque::new(),
            posted: 0,
            received: 0,
        })
    }

    fn prepare(&self, options: &ConnectionAttributes, psn: u32) -> Result<Endpoint> {
        let endpoint = prepare(self.verbs, self.qp, options, psn)?;
        for number in 0..WINDOW {
            self.post_receive(number)?;
        }
        Ok(endpoint)
    }

    /// The place of request or receive `number`.
    fn place(number: u64, is_receive: bool) -> u64 {
        TARGET + (number % WINDOW + if is_receive { WINDOW } else { 0 }) * MESSAGE_MAX
    }

    fn post_receive(&self, number: u64) -> Result<()> {
        let sges = [self
            .region
            .sge(Self::place(number, true), MESSAGE_MAX as u32)];
        let request = RecvRequest {
            wr_id: RECEIVE_ID + number,
            sges: &sges,
        };
        let posted = self.verbs.post_recv(self.qp, &[request]);
        Ok(posted.map_err(|refusal| refusal.error)?)
    }

    /// Posts a random request to the peer.
    fn post(&mut self, peer: &mut End<'_>, random: &mut SplitMix) -> Result<()> {
        let place = Self::place(self.posted, false);
        let (rkey, base) = (peer.region.rkey, peer.region.addr);
        let mut length = random.below(MESSAGE_MAX + 1);
        let word = random.below(TARGET / 8) * 8;
        let offset = random.below(TARGET - MESSAGE_MAX);
        let old = |model: &[u8], at: u64, length: u64| {
            model[at as usize..(at + length) as usize].to_vec()
        };
        let remote_addr = base + offset;
        let mut expected = None;
        let operation = match random.below(5) {
            kind @ 0..=1 => {
                let data = random.bytes(length);
                self.verbs.write_mr(&self.region, place, &data)?;
                if kind == 0 {
                    peer.messages.push_back(data);
                    Operation::Send
                } else {
                    let at = offset as usize;
                    peer.model[at..at + data.len()].copy_from_slice(&data);
                    Operation::RdmaWrite { remote_addr, rkey }
                }
            }
            2 => {
                expected = Some(old(&peer.model, offset, length));
                Operation::RdmaRead { remote_addr, rkey }
            }
            kind => {
                length = 8;
                let found = old(&peer.model, word, 8);
                let number = u64::from_ne_bytes(found.as_slice().try_into()?);
                expected = Some(found);
                let (remote_addr, value) = (base + word, random.next());
                let (operation, new) = if kind == 3 {
                    let add = Operation::AtomicFetchAndAdd {
                        remote_addr,
                        rkey,
                        add: value,
                    };
                    (add, number.wrapping_add(value))
                } else {
                    // Half of them find what they compare with.
                    let compare = number ^ (value & 1);
                    let swap = Operation::AtomicCmpAndSwp {
                        remote_addr,
                        rkey,
                        compare,
                        swap: value,
                    };
                    (swap, if compare == number { value } else { number })
                };
                let at = word as usize;
                peer.model[at..at + 8].copy_from_slice(&new.to_ne_bytes());
                operation
            }
        };
        let sges = [self.region.sge(place, length as u32)];
        let request = SendRequest {
            wr_id: self.posted,
            operation,
            payload: Payload::Sges(&sges),
            flags: SendFlags::SIGNALED,
        };
        let posted = self.verbs.post_send(self.qp, &[request]);
        posted.map_err(|refusal| refusal.error)?;
        self.under_way.push_back((self.posted, expected));
        self.posted += 1;
        Ok(())
    }

    /// Checks the completions that are there; returns true if there was one.
    fn check(&mut self) -> Result<bool> {
        let mut completions = Vec::new();
        self.verbs.poll_cq(self.cq, 32, &mut completions)?;
        for completion in &completions {
            let id = completion.wr_id;
            if completion.status != WcStatus::Success {
                return Err(format!("work request {id}: {:?}", completion.status).into());
            }
            let (place, expected) = if id >= RECEIVE_ID {
                let message = self
                    .messages
                    .pop_front()
                    .ok_or("a receive without a send")?;
                if (id - RECEIVE_ID, completion.byte_len as usize)
                    != (self.received % (1 << 32), message.len())
                {
                    return Err(format!("receive {id}: {} bytes", completion.byte_len).into());
                }
                (Self::place(self.received, true), Some(message))
            } else {
                let (request, expected) = self.under_way.pop_front().ok_or("nothing is posted")?;
                if request != id {
                    return Err(format!("completion of {id}, expected {request}").into());
                }
                (Self::place(id, false), expected)
            };
            if let Some(expected) = expected {
                let mut found = vec![0; expected.len()];
                self.verbs.read_mr(&self.region, place, &mut found)?;
                if found != expected {
                    return Err(format!("work request {id}: other bytes than expected").into());
                }
            }
            if id >= RECEIVE_ID {
                self.received += 1;
                self.post_receive(self.received + WINDOW - 1)?;
            }
        }
        Ok(!completions.is_empty())
    }

    fn is_done(&self) -> bool {
        self.under_way.is_empty() && self.messages.is_empty()
    }

    /// Describes the missing completions and messages.
    fn left(&self) -> String {
        format!(
            "{} of {} requests under way, {} messages to come after {}",
            self.under_way.len(),
            self.posted,
            self.messages.len(),
            self.received
        )
    }

    fn check_memory(&self) -> Result<()> {
        let mut found = vec![0; TARGET as usize];
        self.verbs.read_mr(&self.region, 0, &mut found)?;
        let differ = found
            .iter()
            .zip(&self.model)
            .filter(|(one, two)| one != two);
        match differ.count() {
            0 => Ok(()),
            count => Err(format!("{count} bytes of memory differ from the model").into()),
        }
    }
}

fn main() -> Result<()> {
    let (mut local, mut peer) = (Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST);
    let (mut device, mut operations, mut seed) = (None, 1000_u64, 1_u64);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().ok_or(format!("{argument}: a value"))?;
        match argument.as_str() {
            "--local" => local = value.parse()?,
            "--peer" => peer = value.parse()?,
            "--device" => device = Some(value),
            "--operations" => operations = value.parse()?,
            "--seed" => seed = value.parse()?,
            other => return Err(format!("{other}: see the head of this program").into()),
        }
    }
    let begin = Instant::now();
    let now = || begin.elapsed().as_nanos() as u64 * 1000;
    let mut udp = UdpAdapter::bind(local, peer)?;
    let (ours, theirs) = (udp.verbs(), LibVerbs::open(device.as_deref())?);
    let mut ends = [End::new(&ours)?, End::new(&theirs)?];
    let options = ConnectionAttributes {
        path_mtu: Some(Mtu::Mtu1024),
        access: Access::ALL,
        ..ConnectionAttributes::default()
    };
    // Both wrap.
    let first = ends[0].prepare(&options, 0xFF_FFF0)?;
    let second = ends[1].prepare(&options, 0xFF_FF00)?;
    connect(ends[0].verbs, ends[0].qp, &options, &first, &second)?;
    connect(ends[1].verbs, ends[1].qp, &options, &second, &first)?;
    let mut random = SplitMix(seed);
    let mut last = Instant::now();
    let mut total = 0;
    while total < operations || !ends.iter().all(End::is_done) {
        for side in 0..2 {
            let [one, two] = &mut ends;
            let (end, other) = if side == 0 { (one, two) } else { (two, one) };
            let has_room =
                (end.under_way.len() as u64) < WINDOW && (other.messages.len() as u64) < WINDOW;
            // A read that is repeated after a loss would find the effects of requests behind it,
            // which need not wait for it without a fence. IBA 9.5.
            let has_fetch = end.under_way.iter().any(|(_, expected)| expected.is_some());
            if total < operations && has_room && !has_fetch {
                end.post(other, &mut random)?;
                total += 1;
            }
            udp.poll(now())?;
            if end.check()? {
                last = Instant::now();
            }
        }
        if last.elapsed() > PATIENCE {
            let left = ends.each_ref().map(End::left);
            return Err(format!("nothing completes any more: {}; {}", left[0], left[1]).into());
        }
    }
    for end in &ends {
        end.check_memory()?;
    }
    let counts = udp.packet_counts();
    println!(
        "{total} operations: {} of ours, {} of theirs, in {:.1} s; packets: {} sent, {} received, \
         {} refused",
        ends[0].posted,
        ends[1].posted,
        begin.elapsed().as_secs_f64(),
        counts.sent,
        counts.received,
        counts.refused
    );
    Ok(())
}
