//! Conformance of reliable connections, packet by packet: *dialogues* between a tester, which sends
//! and receives packets, and one end of a connection on the adapter under test.
//!
//! A [`DialogueCase`] is text: a list of [`DialogueStep`]s, "send this packet, expect that packet,
//! expect silence". One file of `cases/` is a family of cases. [`run_case`] plays a dialogue with a
//! [`DeviceUnderTest`], which is called without threads and sockets: [`SimulatedDevice`] is our own
//! adapter, other devices are where their sockets are. The device's side of the setup (memory,
//! queue pair, receives) is a [`Responder`] over the trait [`Verbs`](crate::Verbs), the same
//! everywhere.
//!
//! The feature `conformance` is another suite, of programs over `Verbs`, which do not see packets.
//!
//! *Not covered*: header fields that a fabric may change (congestion notification); the migration
//! bit, which no case depends on; credits of acknowledgements, where each value is legal. A device
//! that is wrong only there passes.
//!
//! Sources: IBA volume 1, release 1.2.1, chapter 9, and public pages of a test specification for
//! it. The cases carry the numbers of these pages (`C09-027/12` is case #12 of C09-027).

mod cases;
mod control;
mod form;
mod interpreter;
mod memory;
mod responder;
mod script;
mod simulated;
mod step;
mod verdict;

pub use cases::FAMILIES;
pub use form::{FormHeaders, PacketForm, PatternData, SyndromeForm, WordValue};
pub use interpreter::{Arrival, DeviceUnderTest, run_case, run_dialogue};
pub use memory::{ATOMIC, READ, RECEIVE, WRITE, local, pattern_byte};
pub use responder::{DeviceCommand, DeviceCompletion, DeviceReply, OpenedDevice, Responder};
pub use simulated::SimulatedDevice;
pub use step::{Dialogue, DialogueSetup, DialogueStep};
pub use verdict::{CaseVerdict, Mismatch};

use crate::{Mtu, Psn};

/// The tester's end of the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TesterEnd;

impl TesterEnd {
    /// The number of the tester's queue pair.
    pub const QP: u32 = 0x00_51A7;
    /// The address of the tester's memory, which requests of the device name.
    pub const ADDRESS: u64 = 0x7000_0000_0000;
    /// The key of that memory.
    pub const KEY: u32 = 0x0051_A700;
}

/// Values that a case is run with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DialogueParameters {
    /// The path MTU.
    pub mtu: Mtu,
    /// The first packet sequence number, in both directions.
    pub start: Psn,
}

impl DialogueParameters {
    /// A first packet sequence number after which the numbers wrap within each case.
    pub const WRAPPING: Psn = Psn::new(Psn::MODULUS - 3);
    /// A first packet sequence number without a wrap.
    pub const PLAIN: Psn = Psn::new(0x12_3456);

    /// Returns the sequence number of the packet `count` after the first one.
    #[must_use]
    pub const fn psn(&self, count: u32) -> Psn {
        self.start.plus(count)
    }

    /// Returns the bytes of `packets` full packets.
    #[must_use]
    pub const fn packets(&self, packets: u32) -> u32 {
        packets * self.mtu.bytes()
    }
}

/// Origin of a case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CaseOrigin {
    /// A page of the test specification describes the case.
    Published,
    /// The summary of the test specification gives the content of the case, but not its number.
    Summary,
    /// A rule of the standard that no page that could be read tests.
    Rule,
}

/// The role of the device in a case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeviceRole {
    /// The device answers requests of the tester.
    Responder,
    /// The device sends requests, and the tester answers.
    Requester,
}

/// A case: a dialogue for each path MTU and first sequence number.
#[derive(Clone, Copy, Debug)]
pub struct DialogueCase {
    /// Number of the case in its family.
    pub number: &'static str,
    /// Content of the case, in a few words.
    pub title: &'static str,
    /// The rule that is tested.
    pub rule: &'static str,
    /// Origin of the case.
    pub origin: CaseOrigin,
    /// Deviations from the source text of the case, with the reason; empty if there are none.
    pub notes: &'static str,
    /// The steps of the dialogue, one a line.
    pub steps: &'static str,
}

impl DialogueCase {
    /// Returns the role of the device. Only a requester posts requests.
    #[must_use]
    pub fn role(&self) -> DeviceRole {
        if self.steps.lines().any(|line| line.starts_with("post ")) {
            DeviceRole::Requester
        } else {
            DeviceRole::Responder
        }
    }

    /// Returns the dialogue.
    ///
    /// # Errors
    /// The first line that is no step.
    pub fn dialogue(&self, parameters: &DialogueParameters) -> Result<Dialogue, String> {
        Dialogue::from_script(self.steps, parameters)
    }
}

/// Cases about one rule.
#[derive(Clone, Debug)]
pub struct CaseFamily {
    /// Name of the family, such as `C09-027`.
    pub name: &'static str,
    /// Cases of the family.
    pub cases: Vec<DialogueCase>,
}
