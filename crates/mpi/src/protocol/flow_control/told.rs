//! Report of flow control about a run: waiting times and counters of each connection.

use super::{FlowControl, Taken};
use crate::channel::CreditReturn;

/// Counters of the connections of a rank; only where [limits](crate::Limits) are set.
#[derive(Clone, PartialEq, Debug)]
pub struct FlowReport {
    /// The connections, by peer.
    pub connections: Vec<ConnectionReport>,
    /// The most memory that unexpected messages have taken at one time, in bytes.
    pub unexpected_peak: u64,
    /// Number of times that each transition of the machines was taken.
    pub taken: Taken,
    /// True if no message is queued or in progress, no unexpected message is in memory, and all
    /// packet buffers are free.
    pub settled: bool,
}

/// Counters of one connection.
#[derive(Clone, PartialEq, Debug)]
pub struct ConnectionReport {
    /// The rank at the other end.
    pub peer: u32,
    /// Time that the connection had no message to send, in seconds.
    pub idle: f64,
    /// Time that the connection waited for packet buffers, in seconds.
    pub awaited_buffers: f64,
    /// Time that the connection waited for credits from the peer, in seconds.
    pub awaited_credits: f64,
    /// Time in which packets to the peer were packed and posted, in seconds.
    pub packed: f64,
    /// Free credits.
    pub credits: Option<u32>,
    /// Packets of eager messages that the peer has not said to have used up.
    pub outstanding: u64,
    /// Credits that have not been returned to the peer.
    pub returned: CreditReturn,
}

impl FlowControl {
    /// Returns the report up to now.
    pub(crate) fn flow_report(&self, now: f64) -> FlowReport {
        let connection = |connection: &super::FlowControlledConnection| {
            // In the order of `send::WAITS`.
            let [
                idle,
                control_buffers,
                control_flow,
                data_buffers,
                data_flow,
                packed,
                packed_data,
            ] = connection.waited(now);
            let (credits, outstanding, returned) = connection.counters();
            ConnectionReport {
                peer: connection.peer,
                idle,
                awaited_buffers: control_buffers + data_buffers,
                awaited_credits: control_flow + data_flow,
                packed: packed + packed_data,
                credits,
                outstanding: outstanding.packets,
                returned,
            }
        };
        FlowReport {
            connections: self.connections().map(connection).collect(),
            unexpected_peak: self.memory_peak(),
            taken: self.taken().clone(),
            settled: self.is_settled(),
        }
    }
}
