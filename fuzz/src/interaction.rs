//! Interactions: the commands of workers, in steps, and their text.
//!
//! A step gives commands to one or several workers; the next step begins when all of them have
//! ended. The text is TOML with a version; reading what was printed gives the same interaction.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// Delivery of the messages of a connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Attribute {
    /// Reliable, ordered.
    Ro,
    /// Reliable, unordered.
    Ru,
    /// Unreliable, unordered.
    Uu,
}

/// A command of a worker. Connections and messages have numbers of the interaction.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "command")]
pub enum Command {
    /// Starts to connect to a worker.
    ConnectTo {
        /// The worker.
        to: u32,
        /// The connection.
        connection: u32,
        /// Attribute of the connection.
        attribute: Attribute,
    },
    /// Accepts the request of this connection when it arrives.
    Accept {
        /// The connection.
        connection: u32,
    },
    /// Rejects the request of this connection when it arrives.
    Reject {
        /// The connection.
        connection: u32,
    },
    /// Polls until the connection is in use, or was rejected.
    WaitConnection {
        /// The connection.
        connection: u32,
    },
    /// Polls until the request of the connection has arrived and was accepted.
    WaitRequest {
        /// The connection.
        connection: u32,
    },
    /// Ends the connection at this worker.
    Disconnect {
        /// The connection.
        connection: u32,
    },
    /// Sends an active message.
    Send {
        /// The connection.
        connection: u32,
        /// The message.
        message: u32,
        /// Its length in bytes.
        length: u32,
    },
    /// Polls until the send of the message has ended.
    WaitSendCompletion {
        /// The connection.
        connection: u32,
        /// The message.
        message: u32,
    },
    /// Polls until the message has arrived.
    WaitReceive {
        /// The connection.
        connection: u32,
        /// The message.
        message: u32,
    },
}

/// A command of one worker in a step.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Assignment {
    /// The worker, from 0.
    pub worker: u32,
    /// Its command.
    #[serde(flatten)]
    pub command: Command,
}

/// Commands that workers get together.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Step {
    /// The elemental interaction that it comes from.
    pub origin: u32,
    /// The commands, each of another worker.
    pub commands: Vec<Assignment>,
}

/// Faults of the network between workers: probabilities of each packet and datagram.
#[derive(Clone, Copy, PartialEq, Default, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Faults {
    /// It is lost.
    #[serde(default)]
    pub loss: f64,
    /// It arrives twice.
    #[serde(default)]
    pub duplicate: f64,
    /// It is delayed, so that later ones overtake it.
    #[serde(default)]
    pub reorder: f64,
    /// Seed of the draws, below 2^53.
    #[serde(default)]
    pub seed: u64,
}

impl Faults {
    /// Returns true if a fault is possible.
    #[must_use]
    pub const fn is_faulty(&self) -> bool {
        self.loss > 0.0 || self.duplicate > 0.0 || self.reorder > 0.0
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
    pub steps: Vec<Step>,
}

/// The version of the format that is written.
pub const VERSION: u32 = 1;

impl Interaction {
    /// Returns an interaction with these steps, over a network with these faults.
    #[must_use]
    pub const fn new(faults: Faults, steps: Vec<Step>) -> Self {
        Self {
            version: VERSION,
            faults,
            steps,
        }
    }

    /// Returns the number of workers: one more than the highest one with a command.
    #[must_use]
    pub fn workers(&self) -> u32 {
        let steps = self.steps.iter().flat_map(|step| &step.commands);
        steps.map(|one| one.worker + 1).max().unwrap_or(0)
    }

    /// Returns the elemental interactions that it consists of.
    #[must_use]
    pub fn origins(&self) -> BTreeSet<u32> {
        self.steps.iter().map(|step| step.origin).collect()
    }

    /// Returns the text.
    ///
    /// # Panics
    /// Never: an interaction has only numbers and names.
    #[must_use]
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("numbers and names can be written")
    }

    /// Reads a text.
    ///
    /// # Errors
    /// A description of the mistake, with its place.
    pub fn from_toml(text: &str) -> Result<Self, String> {
        let interaction: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        if interaction.version != VERSION {
            return Err(format!(
                "version = {}: expected {VERSION}",
                interaction.version
            ));
        }
        let Faults {
            loss,
            duplicate,
            reorder,
            ..
        } = interaction.faults;
        for (name, value) in [
            ("loss", loss),
            ("duplicate", duplicate),
            ("reorder", reorder),
        ] {
            if !(0.0..=1.0).contains(&value) {
                return Err(format!("{name} = {value}: expected a probability, 0 to 1"));
            }
        }
        for (number, step) in interaction.steps.iter().enumerate() {
            let workers: BTreeSet<u32> = step.commands.iter().map(|one| one.worker).collect();
            if workers.len() < step.commands.len() {
                return Err(format!(
                    "step {number}: expected one command for each worker"
                ));
            }
        }
        Ok(interaction)
    }
}
