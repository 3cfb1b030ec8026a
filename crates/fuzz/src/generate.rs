//! Random interactions.
//!
//! An *elemental interaction* is one connection from beginning to end. Interactions are random
//! merges of elemental interactions, each of which keeps its own order. Commands that wait for each
//! other are one step, so a merge cannot deadlock.

mod endings;
mod messages;
mod transfers;

use sim_core::Stream;

use crate::choices::{Choices, OpenElement};
use crate::command::{Attribute, Command};
use crate::interaction::{Assignment, Faults, Interaction, InteractionStep};
use crate::swarm::{Feature, Swarm};

/// Parameters of the generation.
#[derive(Clone, PartialEq, Debug)]
pub struct GeneratorSettings {
    /// Number of workers, at least 2.
    pub processes: u32,
    /// Messages of each connection, and as many transfers.
    pub sends: u32,
    /// The shortest and the longest message, in bytes.
    pub lengths: (u32, u32),
    /// The longest message that endpoints take, in bytes.
    pub longest: u32,
    /// Messages of a connection that can be on their way.
    pub outstanding: u32,
    /// Connections that each worker initiates.
    pub runs_per_process: u32,
    /// Attributes of connections, one drawn for each.
    pub attributes: Vec<Attribute>,
    /// Probability that a request is rejected; `None` to let the weights decide.
    pub reject: Option<f64>,
    /// Time after which a request that is ignored is given up, in microseconds.
    pub connect_timeout: u64,
    /// Time after which a silent peer is reported, in microseconds: longer than an outage.
    pub keepalive: u64,
    /// Reliable connections have transfers of remote memory.
    pub rma: bool,
    /// Endpoints make progress only when the program polls.
    pub polling: bool,
    /// Faults of the network; the seed is drawn.
    pub faults: Faults,
}

impl Default for GeneratorSettings {
    /// Returns the defaults of the generator of haskell-cci, and for the rest the defaults of
    /// [`EndpointSettings`](endpoint::EndpointSettings).
    fn default() -> Self {
        Self {
            processes: 2,
            sends: 4,
            lengths: (16, 16),
            longest: 4096,
            outstanding: 12,
            runs_per_process: 2,
            attributes: vec![Attribute::Ro],
            reject: None,
            connect_timeout: 5000,
            keepalive: 20_000,
            rma: false,
            polling: false,
            faults: Faults::default(),
        }
    }
}

impl GeneratorSettings {
    /// Returns larger sizes: at each level another worker, up to 6, and twice as many messages, up
    /// to 64; from the third level on messages of all lengths and four connections of each worker.
    pub fn grown(&self, level: u64) -> Self {
        let level = u32::try_from(level).unwrap_or(u32::MAX).min(16);
        let mut grown = self.clone();
        grown.processes = (self.processes + level).min(self.processes.max(6));
        grown.sends = (self.sends << level.min(6)).min(self.sends.max(64));
        if level > 2 {
            grown.lengths.1 = self.longest;
            grown.runs_per_process = self.runs_per_process.max(4);
        }
        grown
    }
}

/// Returns the interaction of a stream and weights; the same ones give the same interaction on
/// every machine.
pub fn generate_interaction(
    settings: &GeneratorSettings,
    swarm: &Swarm,
    stream: &mut Stream,
) -> Interaction {
    generate_from(settings, swarm, &mut Choices::from_stream(stream))
}

/// Returns the interaction of choices and weights.
pub(crate) fn generate_from(
    settings: &GeneratorSettings,
    swarm: &Swarm,
    choices: &mut Choices<'_>,
) -> Interaction {
    let mut faults = faults(settings.faults, choices);
    let mut sequences = Vec::new();
    let mut connection = 0;
    for _ in 0..settings.runs_per_process {
        for ends in cycle(settings.processes, choices) {
            connection += 1;
            let mut steps = Vec::new();
            if let Some(element) = choices.enter() {
                let mut elemental = Elemental::new(settings, swarm, (connection, ends), choices);
                elemental.generate_connection();
                steps = elemental.steps;
                choices.leave_element(element);
            }
            sequences.push(steps);
        }
    }
    faults.seed = choices.fault_seed(faults.is_faulty());
    let mut steps = merge_sequences(sequences, choices);
    let length = steps.len() as u64;
    steps.truncate(choices.fixed(length, length + 1) as usize);
    Interaction::new(faults, steps)
}

/// Returns the faults without the kinds that were removed. A duplicate or a delay of each packet is
/// simpler than of some.
fn faults(all: Faults, choices: &mut Choices<'_>) -> Faults {
    let mut faults = all;
    for (name, rate) in all.rates().into_iter().filter(|(_, rate)| *rate > 0.0) {
        let mut left = 0.0;
        if let Some(element) = choices.enter() {
            // With each packet lost everything fails.
            let may_be_certain = name != "loss" && name != "flap";
            let is_certain = may_be_certain && choices.fixed(1, 2) == 0;
            left = if is_certain { 1.0 } else { rate };
            choices.leave_element(element);
        }
        if let Some(rate) = faults.rate_mut(name) {
            *rate = left;
        }
    }
    faults
}

/// Returns the pairs of a random permutation that is one cycle: no worker is paired with itself, if
/// there are several.
fn cycle(processes: u32, choices: &mut Choices<'_>) -> Vec<(u32, u32)> {
    let mut order: Vec<u32> = (0..processes).collect();
    choices.shuffle(&mut order);
    let next = order.iter().skip(1).chain(order.first());
    let mut pairs: Vec<(u32, u32)> = order.iter().copied().zip(next.copied()).collect();
    pairs.sort_unstable();
    pairs
}

/// Merges sequences; each sequence keeps its order.
fn merge_sequences(
    sequences: Vec<Vec<InteractionStep>>,
    choices: &mut Choices<'_>,
) -> Vec<InteractionStep> {
    let order = choices.draw_merge_order(sequences.iter().map(Vec::len).collect());
    let mut sequences: Vec<_> = sequences.into_iter().map(Vec::into_iter).collect();
    let next = |number: u64| sequences[number as usize].next();
    order.into_iter().filter_map(next).collect()
}

/// The steps of one connection under construction.
struct Elemental<'a, 's> {
    settings: &'a GeneratorSettings,
    swarm: &'a Swarm,
    choices: &'a mut Choices<'s>,
    connection: u32,
    attribute: Attribute,
    /// Number of messages.
    sends: u32,
    /// The worker that connects.
    from: u32,
    /// The worker that accepts.
    to: u32,
    steps: Vec<InteractionStep>,
}

impl<'a, 's> Elemental<'a, 's> {
    fn new(
        settings: &'a GeneratorSettings,
        swarm: &'a Swarm,
        (connection, (from, to)): (u32, (u32, u32)),
        choices: &'a mut Choices<'s>,
    ) -> Self {
        let attribute = choices.pick(&settings.attributes);
        let is_many = choices.draw_condition(|stream| swarm.happens(Feature::Many, stream))
            && choices.once_in(8);
        Self {
            settings,
            swarm,
            choices,
            sends: settings.sends * if is_many { 10 } else { 1 },
            connection,
            attribute,
            from,
            to,
            steps: Vec::with_capacity(16),
        }
    }

    fn generate_connection(&mut self) {
        let connection = self.connection;
        let is_rejected = match self.settings.reject {
            Some(rate) => self
                .choices
                .draw_condition(|stream| stream.uniform() < rate),
            None => self.happens(Feature::Reject),
        };
        let is_ignored = !is_rejected && self.happens(Feature::Ignore);
        let decision = if is_rejected {
            Command::Reject { connection }
        } else if is_ignored {
            Command::Ignore { connection }
        } else {
            Command::Accept { connection }
        };
        self.step(vec![(self.to, decision)]);
        let connect = Command::ConnectTo {
            to: self.to,
            connection,
            attribute: self.attribute,
            timeout: is_ignored.then_some(self.settings.connect_timeout),
        };
        self.step(vec![(self.from, connect)]);
        if is_ignored {
            self.wait_for_the_timeout();
        } else if is_rejected {
            self.both(&Command::WaitConnection { connection });
        } else {
            self.accepted();
        }
    }

    /// Waits for the end of a request that is ignored.
    fn wait_for_the_timeout(&mut self) {
        let connection = self.connection;
        let mut commands = vec![(self.from, Command::WaitConnection { connection })];
        // With faults it may never arrive.
        if !self.settings.faults.is_faulty() {
            commands.push((self.to, Command::WaitRequest { connection }));
        }
        self.step(commands);
    }

    /// The body and the end of a connection that is accepted.
    fn accepted(&mut self) {
        let (mut sent, next) = self.establish();
        let before = std::mem::take(&mut self.steps);
        let has_rma = self.settings.rma && self.attribute != Attribute::Uu;
        let transfers = if has_rma {
            self.enter_if(Feature::Transfers)
        } else {
            None
        };
        if let Some(element) = transfers {
            self.transfers();
            self.choices.leave_element(element);
        }
        let transferred = std::mem::take(&mut self.steps);
        self.messages(&mut sent, next);
        let messages = std::mem::take(&mut self.steps);
        self.steps = before;
        self.steps
            .extend(merge_sequences(vec![messages, transferred], self.choices));
        self.end_connection(transfers.is_some(), sent);
    }

    fn happens(&mut self, kind: Feature) -> bool {
        self.happens_if(true, kind)
    }

    fn happens_if(&mut self, possible: bool, kind: Feature) -> bool {
        (self.choices).is_if(possible, |stream| self.swarm.happens(kind, stream))
    }

    /// Begins an element, if the next of a kind happens.
    fn enter_if(&mut self, kind: Feature) -> Option<OpenElement> {
        self.choices
            .enter_if(|stream| self.swarm.happens(kind, stream))
    }

    fn flip(&mut self) -> bool {
        self.choices.once_in(2)
    }

    /// Appends steps that a shrunk interaction may lack.
    fn append_element(&mut self, steps: impl FnOnce(&mut Self)) {
        if let Some(element) = self.choices.enter() {
            steps(self);
            self.choices.leave_element(element);
        }
    }

    /// Returns a number from `least` to `most`.
    fn between(&mut self, least: u32, most: u32) -> u32 {
        let drawn = self.choices.draw_below(u64::from(most - least) + 1);
        least + u32::try_from(drawn).unwrap_or(0)
    }

    /// Returns the two workers in a random order.
    fn direction(&mut self) -> (u32, u32) {
        if self.flip() {
            (self.from, self.to)
        } else {
            (self.to, self.from)
        }
    }

    fn step(&mut self, commands: Vec<(u32, Command)>) {
        let assign = |(worker, command)| Assignment { worker, command };
        if !commands.is_empty() {
            self.steps.push(InteractionStep {
                origin: self.connection,
                commands: commands.into_iter().map(assign).collect(),
            });
        }
    }

    fn both(&mut self, command: &Command) {
        self.step(vec![
            (self.from, command.clone()),
            (self.to, command.clone()),
        ]);
    }
}
