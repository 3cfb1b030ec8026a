//! Random interactions.
//!
//! An *elemental interaction* is one connection from its beginning to its end. Interactions are
//! random merges of elemental ones, each of which keeps its own order. Commands that wait for each
//! other are one step, so a merge cannot deadlock.

use sim_core::Stream;

use crate::interaction::{Assignment, Attribute, Command, Faults, Interaction, Step};

/// Parameters of the generation.
#[derive(Clone, PartialEq, Debug)]
pub struct GeneratorSettings {
    /// Number of workers, at least 1.
    pub processes: u32,
    /// Messages of each connection.
    pub sends: u32,
    /// The shortest and the longest message, in bytes.
    pub lengths: (u32, u32),
    /// Connections that each worker initiates.
    pub runs_per_process: u32,
    /// Attributes of connections, one drawn for each.
    pub attributes: Vec<Attribute>,
    /// Probability that a request is rejected.
    pub reject: f64,
    /// Faults of the network; the seed is drawn.
    pub faults: Faults,
}

impl Default for GeneratorSettings {
    /// Returns the defaults of the generator of haskell-cci.
    fn default() -> Self {
        Self {
            processes: 2,
            sends: 4,
            lengths: (16, 16),
            runs_per_process: 2,
            attributes: vec![Attribute::Ro],
            reject: 0.0,
            faults: Faults::default(),
        }
    }
}

/// Returns the interaction of a stream; the same stream gives the same one on every machine.
#[must_use]
pub fn generate(settings: &GeneratorSettings, stream: &mut Stream) -> Interaction {
    let mut merged = Vec::new();
    let mut connection = 0;
    for _ in 0..settings.runs_per_process {
        let order = cycle(settings.processes, stream);
        for (from, to) in order {
            connection += 1;
            let steps = elemental(settings, (from, to), connection, stream);
            merged = merge(merged, steps, stream);
        }
    }
    let faults = Faults {
        seed: stream.bits() >> 11,
        ..settings.faults
    };
    Interaction::new(faults, merged)
}

/// Returns the pairs of a random permutation that is one cycle: nobody is paired with itself, if
/// there are several.
fn cycle(processes: u32, stream: &mut Stream) -> Vec<(u32, u32)> {
    let mut order: Vec<u32> = (0..processes).collect();
    stream.shuffle(&mut order);
    let next = order.iter().skip(1).chain(order.first());
    let mut pairs: Vec<(u32, u32)> = order.iter().copied().zip(next.copied()).collect();
    pairs.sort_unstable();
    pairs
}

/// Merges two sequences; each keeps its order.
fn merge(one: Vec<Step>, other: Vec<Step>, stream: &mut Stream) -> Vec<Step> {
    let (mut one, mut other) = (one.into_iter(), other.into_iter());
    let mut merged = Vec::with_capacity(one.len() + other.len());
    while one.len() + other.len() > 0 {
        let all = (one.len() + other.len()) as u64;
        let takes_one = stream.below(all) < one.len() as u64;
        merged.extend(if takes_one { one.next() } else { other.next() });
    }
    merged
}

/// The steps of one connection under construction.
struct Elemental {
    origin: u32,
    steps: Vec<Step>,
}

impl Elemental {
    fn step(&mut self, commands: Vec<(u32, Command)>) {
        let assign = |(worker, command)| Assignment { worker, command };
        self.steps.push(Step {
            origin: self.origin,
            commands: commands.into_iter().map(assign).collect(),
        });
    }

    /// A step in which both workers wait; a worker that is connected to itself waits once.
    fn both(&mut self, (from, to): (u32, u32), command: &Command) {
        let mut commands = vec![(from, command.clone())];
        if to != from {
            commands.push((to, command.clone()));
        }
        self.step(commands);
    }
}

fn elemental(
    settings: &GeneratorSettings,
    (from, to): (u32, u32),
    connection: u32,
    stream: &mut Stream,
) -> Vec<Step> {
    let mut elemental = Elemental {
        origin: connection,
        steps: Vec::new(),
    };
    let at = usize::try_from(stream.below(settings.attributes.len() as u64)).unwrap_or(0);
    let attribute = settings.attributes[at];
    let is_rejected = stream.uniform() < settings.reject;
    let decision = if is_rejected {
        Command::Reject { connection }
    } else {
        Command::Accept { connection }
    };
    elemental.step(vec![(to, decision)]);
    let connect = Command::ConnectTo {
        to,
        connection,
        attribute,
    };
    elemental.step(vec![(from, connect)]);
    let wait = Command::WaitConnection { connection };
    if is_rejected {
        elemental.both((from, to), &wait);
        return elemental.steps;
    }
    let mut first = 1;
    if settings.sends > 0 && stream.below(2) == 0 {
        // The initiator sends before the other side knows that the connection is in use.
        let request = Command::WaitRequest { connection };
        elemental.step(vec![(from, wait.clone()), (to, request)]);
        let send = Command::Send {
            connection,
            message: 1,
            length: length(settings, stream),
        };
        elemental.step(vec![(from, send)]);
        elemental.step(vec![(to, wait)]);
        let sent = Sent {
            sender: from,
            receiver: to,
            message: 1,
        };
        flush(&mut elemental, (connection, attribute), &mut vec![sent]);
        first = 2;
    } else {
        elemental.both((from, to), &wait);
    }
    messages(
        &mut elemental,
        settings,
        (from, to),
        (connection, attribute),
        (first, stream),
    );
    elemental.both((from, to), &Command::Disconnect { connection });
    elemental.steps
}

/// Draws the length of a message.
fn length(settings: &GeneratorSettings, stream: &mut Stream) -> u32 {
    let (least, most) = settings.lengths;
    least + u32::try_from(stream.below(u64::from(most - least) + 1)).unwrap_or(0)
}

/// A message that nobody has waited for.
struct Sent {
    sender: u32,
    receiver: u32,
    message: u32,
}

/// Messages in both directions; waits for each side are kept and flushed at random.
fn messages(
    elemental: &mut Elemental,
    settings: &GeneratorSettings,
    (from, to): (u32, u32),
    (connection, attribute): (u32, Attribute),
    (first, stream): (u32, &mut Stream),
) {
    let mut waits: Vec<Sent> = Vec::new();
    for message in first..=settings.sends {
        let (sender, receiver) = if stream.below(2) == 0 {
            (from, to)
        } else {
            (to, from)
        };
        if stream.below(2) == 0 {
            flush(elemental, (connection, attribute), &mut waits);
        }
        let length = length(settings, stream);
        elemental.step(vec![(
            sender,
            Command::Send {
                connection,
                message,
                length,
            },
        )]);
        waits.push(Sent {
            sender,
            receiver,
            message,
        });
    }
    flush(elemental, (connection, attribute), &mut waits);
}

/// Lets senders and receivers wait for what was sent: one step for each message, in which both
/// poll.
fn flush(
    elemental: &mut Elemental,
    (connection, attribute): (u32, Attribute),
    waits: &mut Vec<Sent>,
) {
    for sent in waits.drain(..) {
        let Sent {
            sender,
            receiver,
            message,
        } = sent;
        let completion = Command::WaitSendCompletion {
            connection,
            message,
        };
        let arrival = Command::WaitReceive {
            connection,
            message,
        };
        // A message of an unreliable connection may never arrive.
        if attribute == Attribute::Uu {
            elemental.step(vec![(sender, completion)]);
        } else if sender == receiver {
            elemental.step(vec![(receiver, arrival)]);
            elemental.step(vec![(sender, completion)]);
        } else {
            elemental.step(vec![(sender, completion), (receiver, arrival)]);
        }
    }
}
