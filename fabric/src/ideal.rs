//! The ideal device: no network. A packet waits in a queue until somebody decides that it arrives.
//!
//! For model checkers: sending is not delivery. A packet goes into the queue of its sender, receiver and context, and
//! [`Device::deliver`] moves the head of one queue to its receiver, which then goes on as far as it can. Messages of one
//! queue keep their order, those of different queues have none: what was relayed by a third rank may overtake what was
//! sent directly. Packets that control the protocol, and the data of a rendezvous, have queues of their own.
//!
//! A rank stops before it looks whether something has arrived (a test, a probe, a wait for some of several requests), so that
//! arrivals before and after the look are both explored.
//!
//! Computations and timers end at once, inside the step that starts them; a packet has left when it is posted.
//!
//! *Not modelled*: time, packet sizes, limits of buffers and credits.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::rc::Rc;

use mpi::channel::{Event, Interest, Packet, Settings, Token};
use mpi::{Envelope, Process};
use sim_core::{ActorId, Blocked, Device, DevicePort, End, Kernel, QueueHead};

use crate::flow::{begins, message};
use crate::ranks::{Carrier, Ranks, actor};

/// Which packets a queue holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct QueueKey {
    source: u32,
    destination: u32,
    /// The context of messages; `None` for what is about a message that has been announced.
    context: Option<u32>,
}

/// The numbers of queues, the same in all runs of an exploration.
#[derive(Clone, Debug, Default)]
pub struct QueueNumbers(Rc<RefCell<Vec<QueueKey>>>);

impl QueueNumbers {
    fn number(&self, key: QueueKey) -> usize {
        let mut keys = self.0.borrow_mut();
        if let Some(known) = keys.iter().position(|&other| other == key) {
            return known;
        }
        keys.push(key);
        keys.len() - 1
    }
}

/// The context of messages between single ranks of the world.
const WORLD: u32 = 0;

/// A packet that has not arrived.
#[derive(Debug)]
struct Waiting {
    packet: Packet,
    /// The step in which it was posted.
    cause: u32,
}

/// One queue.
#[derive(Debug, Default)]
struct Queue {
    packets: VecDeque<Waiting>,
    delivered: u32,
}

/// Where a rank is with looking.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Look {
    /// It does not want to.
    No,
    /// It waits for its turn.
    Asked,
    /// It may look once.
    Granted,
}

/// A device that connects all ranks; rank r is the actor with the index r.
pub struct Ideal {
    ranks: Ranks,
    numbers: QueueNumbers,
    queues: RefCell<Vec<Queue>>,
    looks: Vec<Cell<Look>>,
    /// The ranks' processes, for what they leave unfinished.
    processes: RefCell<Vec<std::rc::Weak<Process>>>,
}

impl Ideal {
    /// A device for `ranks` ranks, attached to the kernel behind `port`.
    #[must_use]
    pub fn new(
        port: DevicePort,
        ranks: u32,
        settings: Settings,
        numbers: QueueNumbers,
    ) -> Rc<Self> {
        let ideal = Rc::new(Self {
            ranks: Ranks::new(port.clone(), ranks, settings),
            numbers,
            queues: RefCell::default(),
            looks: vec![Cell::new(Look::No); ranks as usize],
            processes: RefCell::default(),
        });
        port.attach(Rc::clone(&ideal) as Rc<dyn Device>);
        ideal
    }

    /// Remembers the processes whose leftovers are to be told; somebody else keeps them alive.
    pub fn watch(&self, processes: &[Rc<Process>]) {
        *self.processes.borrow_mut() = processes.iter().map(Rc::downgrade).collect();
    }
}

impl Device for Ideal {
    fn on_end(&self, _: &mut Kernel, _: u64, _: End) {}

    fn on_timer(&self, _: &mut Kernel, _: u64) {}

    fn progress(&self) {
        self.ranks.progress();
    }

    fn on_host_off(&self, kernel: &mut Kernel, lost: ActorId) {
        self.ranks.lose(kernel, lost);
    }

    fn describe(&self, blocked: ActorId) -> Option<Blocked> {
        self.ranks.describe(blocked)
    }

    fn queues(&self) -> u32 {
        u32::try_from(self.queues.borrow().len()).expect("queues are counted in 32 bits")
    }

    fn head(&self, queue: u32) -> Option<QueueHead> {
        let queues = self.queues.borrow();
        let record = queues.get(queue as usize)?;
        let first = record.packets.front()?;
        let key = self.numbers.0.borrow()[queue as usize];
        Some(QueueHead {
            to: actor(key.destination),
            place: record.delivered + 1,
            cause: first.cause,
        })
    }

    fn deliver(&self, kernel: &mut Kernel, queue: u32) {
        let key = self.numbers.0.borrow()[queue as usize];
        let mut queues = self.queues.borrow_mut();
        let record = &mut queues[queue as usize];
        let Some(Waiting { packet, .. }) = record.packets.pop_front() else {
            return;
        };
        record.delivered += 1;
        drop(queues);
        self.ranks
            .bring(kernel, key.source, key.destination, packet);
    }

    fn stops(&self, stopped: ActorId) -> bool {
        let look = self.looks.get(stopped.number() as usize - 1);
        look.is_some_and(|look| look.get() == Look::Asked)
    }

    fn goes_on(&self, stopped: ActorId) {
        if let Some(look) = self.looks.get(stopped.number() as usize - 1) {
            look.set(Look::Granted);
        }
    }

    fn queue_name(&self, queue: u32) -> String {
        let key = self.numbers.0.borrow()[queue as usize];
        // Different names for different queues: a queue is found again by its name.
        let what = match key.context {
            Some(WORLD) => String::new(),
            Some(context) => format!(" (context {context})"),
            None => " (protocol)".to_owned(),
        };
        format!("network {} -> {}{what}", key.source, key.destination)
    }

    fn leftovers(&self) -> Vec<String> {
        let mut all = Vec::new();
        for (rank, process) in self.processes.borrow().iter().enumerate() {
            let Some(process) = process.upgrade() else {
                continue;
            };
            let texts = process.leftovers().into_iter();
            all.extend(texts.map(|text| format!("rank {rank}: {text}")));
        }
        all
    }
}

impl fmt::Debug for Ideal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ideal")
            .field("settings", &self.ranks.settings)
            .finish_non_exhaustive()
    }
}

impl Carrier for Ideal {
    fn ranks(&self) -> &Ranks {
        &self.ranks
    }

    fn post(&self, rank: u32, peer: u32, packet: Packet) {
        let context = message(&packet).map(|(envelope, _)| envelope.context);
        let number = self.numbers.number(QueueKey {
            source: rank,
            destination: peer,
            context,
        });
        let mut queues = self.queues.borrow_mut();
        if number >= queues.len() {
            queues.resize_with(number + 1, Queue::default);
        }
        let notify = packet.notify;
        let cause = self.ranks.port.with(|kernel| {
            if let Some(bytes) = begins(&packet) {
                kernel.count_message(bytes);
            }
            kernel.present_step()
        });
        queues[number].packets.push_back(Waiting { packet, cause });
        if let Some(token) = notify {
            self.ranks.note(rank, Event::Sent(token));
        }
    }

    fn timer(&self, rank: u32, _: f64, token: Token) {
        self.ranks.note(rank, Event::Elapsed(token));
    }

    fn compute(&self, rank: u32, _: f64, token: Token) {
        self.ranks.note(rank, Event::Elapsed(token));
    }

    fn may_look(&self, rank: u32) -> bool {
        let look = &self.looks[rank as usize];
        match look.get() {
            Look::No => look.set(Look::Asked),
            Look::Asked => {}
            Look::Granted => {
                look.set(Look::No);
                return true;
            }
        }
        false
    }

    fn parked(&self, rank: u32, _: Interest) {
        // What is there already is not waited for.
        let asked = self.looks[rank as usize].get() == Look::Asked;
        if asked || self.ranks.has_news(rank) {
            self.ranks.wake(rank);
        }
    }

    fn undelivered(&self, rank: u32) -> Vec<(Envelope, u64)> {
        let keys = self.numbers.0.borrow();
        let queues = self.queues.borrow();
        let to_rank = keys
            .iter()
            .zip(queues.iter())
            .filter(|(key, _)| key.destination == rank);
        let packets = to_rank.flat_map(|(_, queue)| &queue.packets);
        packets
            .filter_map(|waiting| message(&waiting.packet))
            .collect()
    }
}
