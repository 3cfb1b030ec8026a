//! Steps of a dialogue, and the setup of the device before it.

use super::{DialogueParameters, PacketForm, PatternData, WordValue};
use crate::{Access, Operation, WcStatus};

/// Picoseconds in a microsecond.
pub(super) const MICROSECOND: u64 = 1_000_000;

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
    /// device before the device sends a packet.
    Send(PacketForm),
    /// The next packet of the device has this form.
    Expect(PacketForm),
    /// The device neither sends a packet nor completes a request for this time after the last
    /// packet, in picoseconds.
    Silence(u64),
    /// The device posts a request.
    Post {
        /// Number of the request from 0: the identifier, and the place of the request's memory.
        request: u64,
        /// The operation. Addresses are addresses of [`TesterEnd`](super::TesterEnd).
        operation: Operation,
        /// Length of the request's memory in bytes.
        length: u32,
    },
    /// The device posts another receive.
    PostReceive,
    /// The next completion of the device, for a request of the device.
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

/// A dialogue. After its end the device sends no packet, and no request completes.
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
}
