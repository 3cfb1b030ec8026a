//! Interactions: the commands of workers, in steps, and their text.
//!
//! A step gives commands to one or several workers; the next step begins when all commands have
//! ended. The text is TOML with a version; a printed interaction reads back as the same
//! interaction. Version 1 also has steps with one command for several workers: `workers = [0, 1]`
//! and the fields of the command. Both forms are read.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::command::BUFFER;
pub use crate::command::{Attribute, Command, SendFlags, Span};
pub use endpoint::simulated::Faults;

/// A command of one worker in a step.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Assignment {
    /// The worker, from 0.
    pub worker: u32,
    /// The command.
    #[serde(flatten)]
    pub command: Command,
}

/// Commands that workers get together.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(try_from = "StepForm")]
pub struct InteractionStep {
    /// The elemental interaction to which the step belongs.
    pub origin: u32,
    /// The commands, each of another worker.
    pub commands: Vec<Assignment>,
}

/// A step in its text form: a list of commands, or one command of several workers.
#[derive(Deserialize)]
struct StepForm {
    origin: u32,
    #[serde(default)]
    commands: Vec<Assignment>,
    #[serde(default)]
    workers: Vec<u32>,
    #[serde(flatten)]
    command: toml::Table,
}

impl TryFrom<StepForm> for InteractionStep {
    type Error = String;

    fn try_from(form: StepForm) -> Result<Self, String> {
        let mut commands = form.commands;
        if form.workers.is_empty() {
            if let Some(field) = form.command.keys().next() {
                return Err(format!("{field}: expected only beside `workers`"));
            }
        } else if !commands.is_empty() {
            return Err("expected `commands`, or `workers` and one command".to_owned());
        } else {
            let command = Command::deserialize(toml::Value::Table(form.command));
            let command = command.map_err(|error| error.message().to_owned())?;
            commands.extend(form.workers.iter().map(|worker| Assignment {
                worker: *worker,
                command: command.clone(),
            }));
        }
        let workers: BTreeSet<u32> = commands.iter().map(|one| one.worker).collect();
        if workers.len() < commands.len() {
            return Err("expected one command for each worker".to_owned());
        }
        Ok(Self {
            origin: form.origin,
            commands,
        })
    }
}

/// An interaction of workers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interaction {
    /// Version of the format.
    pub version: u32,
    /// Faults of the network.
    #[serde(default)]
    pub faults: Faults,
    /// The steps, in their order.
    pub steps: Vec<InteractionStep>,
}

/// The version of the format that is written.
pub const VERSION: u32 = 2;

impl Interaction {
    /// Returns an interaction with these steps, over a network with these faults.
    pub const fn new(faults: Faults, steps: Vec<InteractionStep>) -> Self {
        Self {
            version: VERSION,
            faults,
            steps,
        }
    }

    /// Returns the number of workers: one more than the highest one that has a command, or to which
    /// one connects.
    pub fn workers(&self) -> u32 {
        let workers = self.commands().map(|one| match one.command {
            Command::ConnectTo { to, .. } => one.worker.max(to) + 1,
            _ => one.worker + 1,
        });
        workers.max().unwrap_or(0)
    }

    /// Returns all commands, in the order of the steps.
    pub fn commands(&self) -> impl Iterator<Item = &Assignment> {
        self.steps.iter().flat_map(|step| &step.commands)
    }
    /// Returns the interaction with only such steps as the form with one command for several
    /// workers can express: steps with different commands become several. An acceptor waits for the
    /// request before the initiator waits for the connection.
    pub fn with_single_commands(&self) -> Self {
        let mut steps: Vec<InteractionStep> = Vec::new();
        for step in &self.steps {
            let mut rest = step.commands.clone();
            rest.sort_by_key(|one| !matches!(one.command, Command::WaitRequest { .. }));
            while let Some(first) = rest.first().map(|one| one.command.clone()) {
                let (same, others) = rest.into_iter().partition(|one| one.command == first);
                steps.push(InteractionStep {
                    origin: step.origin,
                    commands: same,
                });
                rest = others;
            }
        }
        Self::new(self.faults, steps)
    }

    /// Returns the text.
    ///
    /// # Panics
    /// Never: an interaction has only numbers and names.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("numbers and names can be written")
    }

    /// Reads a text.
    pub fn from_toml(text: &str) -> Result<Self, String> {
        let mut interaction: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        if !(1..=VERSION).contains(&interaction.version) {
            return Err(format!(
                "version = {}: expected 1 to {VERSION}",
                interaction.version
            ));
        }
        for (name, rate) in interaction.faults.rates() {
            if !(0.0..=1.0).contains(&rate) {
                return Err(format!("{name} = {rate}: expected a probability, 0 to 1"));
            }
        }
        interaction.validate()?;
        interaction.version = VERSION;
        Ok(interaction)
    }

    /// Returns the first command that no worker can perform: the step, the value and the expected
    /// value.
    fn validate(&self) -> Result<(), String> {
        let mut unreliable = BTreeSet::new();
        for (number, step) in self.steps.iter().enumerate() {
            for one in &step.commands {
                let checked = one.validate(&mut unreliable);
                checked.map_err(|error| format!("step {number}: {error}"))?;
            }
        }
        Ok(())
    }
}

/// The most workers of an interaction.
const WORKERS: u32 = 64;

/// The longest time of a command, in microseconds: 1000 s.
const LONGEST: u64 = 1_000_000_000;

impl Assignment {
    /// Checks a command; `unreliable` has the connections of earlier commands that have no access
    /// to memory.
    fn validate(&self, unreliable: &mut BTreeSet<u32>) -> Result<(), String> {
        let connection = self.command.connection();
        check_range("worker", self.worker.into(), (0, u64::from(WORKERS) - 1))?;
        check_range("connection", connection.into(), (1, u32::MAX.into()))?;
        match &self.command {
            Command::ConnectTo {
                to,
                attribute,
                timeout,
                ..
            } => {
                check_range("to", (*to).into(), (0, u64::from(WORKERS) - 1))?;
                check_range("timeout", timeout.unwrap_or(1), (1, LONGEST))?;
                if *attribute == Attribute::Uu {
                    unreliable.insert(connection);
                }
            }
            Command::SetKeepalive { timeout, .. } => {
                check_range("timeout", *timeout, (1, LONGEST))?;
            }
            Command::Pause { time, .. } => check_range("time", *time, (0, LONGEST))?,
            Command::Send { length, .. } => {
                let most = endpoint::EndpointSettings::default().max_send_size;
                check_range("length", (*length).into(), (0, most.into()))?;
            }
            Command::RmaWrite { span, .. } | Command::RmaRead { span, .. } => {
                let places = [("local", span.local), ("remote", span.remote)];
                for (name, place) in places {
                    check_range(name, place.into(), (0, u64::from(BUFFER) - 1))?;
                    let left = BUFFER - place;
                    check_range("length", span.length.into(), (1, left.into()))?;
                }
            }
            _ => {}
        }
        if self.command.is_rma() && unreliable.contains(&connection) {
            return Err(format!(
                "connection = {connection}: expected a reliable one: remote memory is accessed"
            ));
        }
        Ok(())
    }
}

fn check_range(name: &str, value: u64, (least, most): (u64, u64)) -> Result<(), String> {
    if !(least..=most).contains(&value) {
        return Err(format!("{name} = {value}: expected {least} to {most}"));
    }
    Ok(())
}
