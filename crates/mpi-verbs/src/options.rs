//! Options of the packet channel; the default values are safe on any healthy network.
//!
//! All ranks of a run must have the same values of the options on which both sides of a connection
//! have to agree: `eager_threshold`, `credits`, `reserved`.

use rdma::{Access, ConnectionAttributes};

use crate::wire;
use channel::{Limits, Settings, TransportMode};

/// The least room for the payload of a packet, in bytes: the operands of any atomic access fit.
const PAYLOAD_MIN: u64 = 256;

/// Protocol of long messages, from registered memory into registered memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Rendezvous {
    /// The receiver names the place, and the sender writes there: RTS, CTS, data.
    #[default]
    Write,
    /// The sender names the message, and the receiver reads the message: RTS, data, CTS, which
    /// reports the end. The data start one latency earlier, but an adapter can have only a limited
    /// number of reads at a time.
    Read,
}

/// The options.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// The attributes of connections: port, GID index, path MTU, local acknowledgement timeout (18,
    /// 1.07 s: the round trip of an adapter in software may be above shorter ones), retries (7),
    /// retries when no receive is posted (for ever; there always is one) and their timer.
    pub connection: ConnectionAttributes,
    /// Protocol of long messages.
    pub rendezvous: Rendezvous,
    /// Messages shorter than this many bytes are sent eagerly. Also the longest payload of a
    /// packet, and so the payload that fits into a packet buffer.
    pub eager_threshold: u64,
    /// Packets to a peer that the peer has not consumed. For each of them the peer has two posted
    /// receives: one for the packet and one for the report that a packet of the other direction was
    /// consumed.
    pub credits: u32,
    /// Credits that only control traffic may use. Consumed packets are reported when there are this
    /// many.
    pub reserved: u32,
    /// Send buffers per rank (for packets not sent inline).
    pub send_buffers: u32,
    /// Send queue depth (max_send_wr).
    pub send_queue_depth: u32,
    /// Packets up to this many bytes, including their head, are passed to the adapter inline; less
    /// if the adapter supports less.
    pub max_inline: u32,
    /// One of this many requests without a reported end is signalled, to learn that their places in
    /// the queue are free.
    pub signal_every: u32,
    /// Completions that a completion queue can hold. When the queue pairs of a queue could fill it,
    /// another queue is created.
    pub cq_depth: u32,
    /// Registrations of messages that are kept after they have left, because they may leave again;
    /// the most, and the most bytes of them.
    pub reg_cache_entries: usize,
    /// See [`reg_cache_entries`](Self::reg_cache_entries). While a registration is kept, a write to
    /// the buffer first copies the buffer.
    pub reg_cache_size: u64,
    /// Long messages up to this many bytes are received through memory that stays registered, and
    /// sent through it unless their own memory is registered or has been sent before. Without
    /// [`reg_cache_entries`](Self::reg_cache_entries) or [`reg_cache_size`](Self::reg_cache_size)
    /// no message is; at most the latter number of bytes stays registered.
    pub bounce_max: u64,
    /// Packets of the first connection are numbered from here on (24 bits): should be random, so
    /// that late packets of earlier runs are not taken for new ones.
    pub psn: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            connection: ConnectionAttributes {
                access: Access::LOCAL_WRITE | Access::REMOTE_WRITE | Access::REMOTE_READ,
                ..ConnectionAttributes::default()
            },
            rendezvous: Rendezvous::Write,
            eager_threshold: 8192,
            credits: 32,
            reserved: 8,
            send_buffers: 64,
            send_queue_depth: 128,
            max_inline: 220,
            signal_every: 16,
            cq_depth: 4096,
            reg_cache_entries: 64,
            reg_cache_size: 64 << 20,
            bounce_max: 128 << 10,
            psn: 0,
        }
    }
}

/// Receives for frames that take no credit and are no reports: the first and the last frame of a
/// connection.
const SIGNS: u32 = 2;

impl Options {
    /// Returns the parameters of the message layer, adapted to this channel: packets that fit into
    /// its buffers, at most as many packets as posted receives, and long messages in one piece,
    /// which the channel divides as the adapter requires.
    pub fn adapt_settings(&self, settings: Settings) -> Settings {
        Settings {
            eager_threshold: settings.eager_threshold.min(self.eager_threshold),
            variant: TransportMode::Packet,
            registers_windows: true,
            limits: Some(Limits {
                packet: None,
                buffers: Some(self.send_buffers.max(1)),
                credits: Some(self.credits()),
                reserved: self.reserved.max(1),
                direct: true,
                // What is told of these alone would need receives of its own.
                eager_messages: None,
                eager_bytes: None,
                ..settings.limits.unwrap_or(Limits::NONE)
            }),
            ..settings
        }
    }

    fn credits(&self) -> u32 {
        self.credits.max(1)
    }

    /// The receives that are posted for a connection. Each packet but a report takes a credit, and
    /// each report gives one back at least, so there are never more reports on the way than
    /// credits.
    pub fn receives(&self) -> u32 {
        2 * self.credits() + SIGNS
    }

    /// The longest message that travels as a packet.
    pub(crate) const fn capacity(&self) -> u64 {
        self.eager_threshold
    }

    /// Returns the largest payload of a packet, in bytes: also if no message is eager, one-sided
    /// accesses travel as packets.
    pub const fn payload_max(&self) -> u64 {
        if self.eager_threshold < PAYLOAD_MIN {
            PAYLOAD_MIN
        } else {
            self.eager_threshold
        }
    }

    /// The length of a packet buffer.
    pub(crate) const fn buffer(&self) -> u64 {
        (self.payload_max() + wire::HEAD_MAX as u64).next_multiple_of(64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_layer_sends_no_more_than_fits() {
        let options = Options::default();
        let settings = options.adapt_settings(Settings::new(1 << 20));
        assert_eq!(settings.eager_threshold, options.capacity());
        assert_eq!(options.payload_max(), options.capacity());
        let without_eager = Options {
            eager_threshold: 0,
            ..options.clone()
        };
        assert_eq!(without_eager.payload_max(), PAYLOAD_MIN);
        assert!(without_eager.buffer() >= PAYLOAD_MIN + wire::HEAD_MAX as u64);
        let limits = settings.limits.expect("limits are set");
        assert_eq!(limits.credits, Some(options.credits));
        assert!(options.receives() >= 2 * options.credits);
        // A lower threshold stays.
        assert_eq!(
            options.adapt_settings(Settings::new(100)).eager_threshold,
            100
        );
    }
}
