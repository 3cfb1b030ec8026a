//! Steps of a dialogue, and the setup of the device before it.

use super::{DialogueParameters, PacketForm, PatternData, WordValue};
use crate::{Access, Operation, WcStatus};

/// Picoseconds in a microsecond.
const MICROSECOND: u64 = 1_000_000;

/// The setup of the connection's end at the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DialogueSetup {
    /// Path MTU and first sequence numbers.
    pub parameters: DialogueParameters,
    /// Number of receives that are posted.
    pub receives: u32,
    /// The length of their memory in bytes.
    pub receive_length: u32,
    /// Rights of requests of the tester.
    pub access: Access,
    /// Acknowledgement timeout: 4.096 µs × 2^n, 0 for never.
    pub timeout: u8,
    /// Retries after a timeout or a sequence error.
    pub retry_cnt: u8,
    /// Retries after RNR NAK; 7 is for ever.
    pub rnr_retry: u8,
    /// The timer code of the device's RNR NAK.
    pub min_rnr_timer: u8,
}

/// A step of a dialogue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DialogueStep {
    /// The tester sends a packet. Packets sent without another step between them arrive at the
    /// device before it sends any.
    Send(PacketForm),
    /// The next packet of the device has this form.
    Expect(PacketForm),
    /// The device neither sends a packet nor completes a request for this time after the last
    /// packet, in picoseconds.
    Silence(u64),
    /// The device posts a request.
    Post {
        /// Its number from 0: identifier, and place of its memory.
        request: u64,
        /// The operation; addresses are those of [`TesterEnd`](super::TesterEnd).
        operation: Operation,
        /// Length of its memory in bytes.
        length: u32,
    },
    /// The device posts another receive.
    PostReceive,
    /// The next completion of the device, of one of its requests.
    ExpectCompletion {
        /// The number of the request.
        request: u64,
        /// Status.
        status: WcStatus,
    },
    /// The next completion of the device, of a receive.
    ExpectReceived {
        /// The number of the receive, from 0.
        receive: u32,
        /// Length of the message in bytes, or the error.
        result: Result<u32, WcStatus>,
    },
    /// The memory of the device at this offset has these bytes.
    ExpectMemory(u64, PatternData),
    /// The eight bytes at this offset have this value, in the byte order of the device.
    ExpectWord(u64, WordValue),
}

/// A dialogue. At its end the device sends nothing more, and nothing more completes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dialogue {
    /// The setup of the device.
    pub setup: DialogueSetup,
    /// The steps, in order.
    pub steps: Vec<DialogueStep>,
}

impl Dialogue {
    /// Returns a dialogue without steps, with a setup in which the device never sends again by
    /// itself.
    #[must_use]
    pub const fn new(parameters: &DialogueParameters) -> Self {
        Self {
            setup: DialogueSetup {
                parameters: *parameters,
                receives: 0,
                receive_length: parameters.packets(4),
                access: Access::ALL,
                timeout: 0,
                retry_cnt: 7,
                rnr_retry: 7,
                min_rnr_timer: 12,
            },
            steps: Vec::new(),
        }
    }

    /// Posts receives before the connection is made.
    #[must_use]
    pub const fn with_receives(mut self, receives: u32) -> Self {
        self.setup.receives = receives;
        self
    }

    /// Adds a step.
    #[must_use]
    pub fn then(mut self, step: DialogueStep) -> Self {
        self.steps.push(step);
        self
    }

    /// Adds a packet of the tester.
    #[must_use]
    pub fn send(self, packet: PacketForm) -> Self {
        self.then(DialogueStep::Send(packet))
    }

    /// Adds an expected packet.
    #[must_use]
    pub fn expect(self, packet: PacketForm) -> Self {
        self.then(DialogueStep::Expect(packet))
    }

    /// Adds packets of the tester.
    #[must_use]
    pub fn send_all(self, packets: impl IntoIterator<Item = PacketForm>) -> Self {
        packets.into_iter().fold(self, Self::send)
    }

    /// Adds expected packets.
    #[must_use]
    pub fn expect_all(self, packets: impl IntoIterator<Item = PacketForm>) -> Self {
        packets.into_iter().fold(self, Self::expect)
    }

    /// Adds silence of at least this time, in microseconds.
    #[must_use]
    pub fn silence(self, microseconds: u64) -> Self {
        self.then(DialogueStep::Silence(microseconds * MICROSECOND))
    }

    /// Adds a request of the device.
    #[must_use]
    pub fn post(self, request: u64, operation: Operation, length: u32) -> Self {
        self.then(DialogueStep::Post {
            request,
            operation,
            length,
        })
    }

    /// Adds an expected completion of a request.
    #[must_use]
    pub fn completes(self, request: u64, status: WcStatus) -> Self {
        self.then(DialogueStep::ExpectCompletion { request, status })
    }

    /// Adds an expected completion of a receive, with the length of the message in bytes.
    #[must_use]
    pub fn receives(self, receive: u32, bytes: u32) -> Self {
        let result = Ok(bytes);
        self.then(DialogueStep::ExpectReceived { receive, result })
    }

    /// Adds an expected completion of a receive with an error.
    #[must_use]
    pub fn receive_fails(self, receive: u32, status: WcStatus) -> Self {
        let result = Err(status);
        self.then(DialogueStep::ExpectReceived { receive, result })
    }

    /// Adds expected content of the device's memory.
    #[must_use]
    pub fn memory(self, offset: u64, data: PatternData) -> Self {
        self.then(DialogueStep::ExpectMemory(offset, data))
    }

    /// Adds an expected word of the device's memory.
    #[must_use]
    pub fn word(self, offset: u64, value: WordValue) -> Self {
        self.then(DialogueStep::ExpectWord(offset, value))
    }
}
