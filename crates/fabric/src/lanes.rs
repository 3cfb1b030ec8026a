//! Order of packets between two ranks on the ideal device.
//!
//! Messages of one context keep their order. Packets about announced messages (answers, data) keep
//! their order only among packets about the same context and tag, where the matching rules decide
//! the order. Between messages of different tags the order would depend on when each was matched,
//! and so on the order of arrivals, on which no program can rely.

use channel::{Envelope, Packet, PacketHeader, RmaCall, Token};

use crate::flow::message;

/// The context of messages between single ranks of the world.
pub(crate) const WORLD: u32 = 0;

/// Context and tag of an announced message. Packets about messages of one topic keep their order,
/// which the matching rules decide. In one queue for all topics the order would depend on when each
/// message was matched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct MatchTopic {
    pub(crate) context: u32,
    pub(crate) tag: u32,
}

/// The kind of the packets between two ranks that keep their order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OrderClass {
    /// The messages of a context, or their announcements.
    Messages(u32),
    /// Messages of a context that probes have seen, which are delivered a second time.
    Redeliveries(u32),
    /// Questions about announced messages, from their sender.
    Questions(MatchTopic),
    /// Answers to announcements and to questions, from the receiver.
    Answers(MatchTopic),
    /// The data of announced messages.
    Data(MatchTopic),
    /// Requests of one-sided communication to a window, by the context of the window.
    Accesses(u32),
}

impl OrderClass {
    /// As numbers.
    pub(crate) const fn to_words(self) -> [u32; 3] {
        match self {
            Self::Messages(context) => [0, context, 0],
            Self::Questions(MatchTopic { context, tag }) => [1, context, tag],
            Self::Answers(MatchTopic { context, tag }) => [2, context, tag],
            Self::Data(MatchTopic { context, tag }) => [3, context, tag],
            Self::Accesses(window) => [4, window, 0],
            Self::Redeliveries(context) => [5, context, 0],
        }
    }

    pub(crate) const fn from_words([kind, context, tag]: [u32; 3]) -> Self {
        let topic = MatchTopic { context, tag };
        match kind {
            0 => Self::Messages(context),
            1 => Self::Questions(topic),
            2 => Self::Answers(topic),
            3 => Self::Data(topic),
            4 => Self::Accesses(context),
            _ => Self::Redeliveries(context),
        }
    }
}

/// Returns the name of the queue between two ranks for the packets of a lane. Different queues have
/// different names, because a queue is found by its name.
pub(crate) fn queue_name(source: u32, destination: u32, lane: OrderClass) -> String {
    let about = |topic: MatchTopic| match (topic.context, topic.tag) {
        (WORLD, tag) => format!("tag {tag}"),
        (context, tag) => format!("context {context}, tag {tag}"),
    };
    let what = match lane {
        OrderClass::Messages(WORLD) => String::new(),
        OrderClass::Messages(context) => format!(" (context {context})"),
        OrderClass::Redeliveries(WORLD) => " (seen by a probe)".to_owned(),
        OrderClass::Redeliveries(context) => format!(" (seen by a probe, context {context})"),
        OrderClass::Questions(topic) => format!(" (withdrawals, {})", about(topic)),
        OrderClass::Answers(topic) => format!(" (answers, {})", about(topic)),
        OrderClass::Data(topic) => format!(" (data, {})", about(topic)),
        OrderClass::Accesses(window) => format!(" (accesses, window of context {window})"),
    };
    format!("network {source} -> {destination}{what}")
}

/// Topics of a rank's operations, which packets name by their tokens.
#[derive(Debug, Default)]
struct TokenTopics {
    sends: Vec<MatchTopic>,
    receives: Vec<MatchTopic>,
}

/// Of all ranks.
#[derive(Debug)]
pub(crate) struct TopicTable(Vec<TokenTopics>);

impl TopicTable {
    pub(crate) fn new(ranks: u32) -> Self {
        let mut all = Vec::new();
        all.resize_with(ranks as usize, TokenTopics::default);
        Self(all)
    }
}

/// Records the topic of an operation.
fn note_topic(topics: &mut Vec<MatchTopic>, token: Token, topic: MatchTopic) {
    let index = token as usize;
    if index >= topics.len() {
        topics.resize(index + 1, topic);
    }
    topics[index] = topic;
}

impl TopicTable {
    /// Forgets everything and keeps the memory.
    pub(crate) fn clear(&mut self) {
        for topics in &mut self.0 {
            topics.sends.clear();
            topics.receives.clear();
        }
    }

    /// In which lane a packet from one rank to another travels.
    pub(crate) fn lane(&mut self, source: u32, destination: u32, packet: &Packet) -> OrderClass {
        let topic = |envelope: &Envelope| MatchTopic {
            context: envelope.context,
            tag: envelope.tag,
        };
        let (source, destination) = (source as usize, destination as usize);
        match &packet.header {
            PacketHeader::Rts { envelope, send, .. }
            | PacketHeader::Synchronous { envelope, send } => {
                note_topic(&mut self.0[source].sends, *send, topic(envelope));
                OrderClass::Messages(envelope.context)
            }
            // The order of partitions and messages is free.
            PacketHeader::Eager { envelope } if envelope.is_partition() => {
                OrderClass::Data(topic(envelope))
            }
            PacketHeader::Redelivery { envelope } => OrderClass::Redeliveries(envelope.context),
            PacketHeader::CancelRequest { envelope, .. } => OrderClass::Questions(topic(envelope)),
            &PacketHeader::Cts { send, receive } => {
                let topic = self.0[destination].sends[send as usize];
                note_topic(&mut self.0[source].receives, receive, topic);
                OrderClass::Answers(topic)
            }
            &(PacketHeader::Ack { send } | PacketHeader::CancelResponse { send }) => {
                OrderClass::Answers(self.0[destination].sends[send as usize])
            }
            &PacketHeader::Data { receive } => {
                OrderClass::Data(self.0[destination].receives[receive as usize])
            }
            &PacketHeader::Rma { window, call, .. } if call.is_answer() => {
                OrderClass::Answers(MatchTopic {
                    context: window,
                    tag: 0,
                })
            }
            // A post is an answer, too: to accesses that wait for it. Nothing else orders it.
            &PacketHeader::Rma {
                window,
                call: RmaCall::Post,
                ..
            } => OrderClass::Answers(MatchTopic {
                context: window,
                tag: 1,
            }),
            &PacketHeader::Rma { window, .. } => OrderClass::Accesses(window),
            _ => OrderClass::Messages(
                message(packet).map_or(WORLD, |(envelope, _)| envelope.context),
            ),
        }
    }
}
