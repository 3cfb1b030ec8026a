//! The messages of Perfetto's trace format that timelines use, with the tags of its schema.
//!
//! Source: `protos/perfetto/trace/perfetto_trace.proto` of Perfetto. A test compares a trace that
//! has all these messages with the schema that Google publishes (`crates/report/tests/schema.py`).
//! Fields that the schema repeats, but that a timeline writes at most once, are optional here: the
//! encoding is the same.
//!
//! *Not declared*: the rest of the schema. A reader shows no data for it.

use prost::Message;

/// A packet. A file has packets, each as the field 1 of a message.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct TracePacket {
    #[prost(message, optional, tag = "6")]
    pub clock_snapshot: Option<ClockSnapshot>,
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    #[prost(uint32, optional, tag = "10")]
    pub trusted_packet_sequence_id: Option<u32>,
    #[prost(message, optional, tag = "11")]
    pub track_event: Option<TrackEvent>,
    #[prost(message, optional, tag = "12")]
    pub interned_data: Option<InternedData>,
    #[prost(uint32, optional, tag = "13")]
    pub sequence_flags: Option<u32>,
    #[prost(uint32, optional, tag = "42")]
    pub previous_packet_dropped: Option<u32>,
    #[prost(uint32, optional, tag = "58")]
    pub timestamp_clock_id: Option<u32>,
    #[prost(message, optional, tag = "59")]
    pub trace_packet_defaults: Option<TracePacketDefaults>,
    #[prost(message, optional, tag = "60")]
    pub track_descriptor: Option<TrackDescriptor>,
    #[prost(bool, optional, tag = "87")]
    pub first_packet_on_sequence: Option<bool>,
}

/// Clocks that show one moment.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ClockSnapshot {
    #[prost(message, repeated, tag = "1")]
    pub clocks: Vec<Clock>,
}

/// A clock at that moment.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(crate) struct Clock {
    #[prost(uint32, optional, tag = "1")]
    pub clock_id: Option<u32>,
    #[prost(uint64, optional, tag = "2")]
    pub timestamp: Option<u64>,
    #[prost(bool, optional, tag = "3")]
    pub is_incremental: Option<bool>,
    #[prost(uint64, optional, tag = "4")]
    pub unit_multiplier_ns: Option<u64>,
}

/// Defaults of the packets of a sequence.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(crate) struct TracePacketDefaults {
    #[prost(uint32, optional, tag = "58")]
    pub timestamp_clock_id: Option<u32>,
}

/// A track.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct TrackDescriptor {
    #[prost(uint64, optional, tag = "1")]
    pub uuid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    #[prost(message, optional, tag = "3")]
    pub process: Option<ProcessDescriptor>,
    #[prost(message, optional, tag = "4")]
    pub thread: Option<ThreadDescriptor>,
    #[prost(uint64, optional, tag = "5")]
    pub parent_uuid: Option<u64>,
    #[prost(message, optional, tag = "8")]
    pub counter: Option<CounterDescriptor>,
    #[prost(int32, optional, tag = "12")]
    pub sibling_order_rank: Option<i32>,
    #[prost(int32, optional, tag = "19")]
    pub process_ordering: Option<i32>,
    #[prost(int32, optional, tag = "20")]
    pub thread_ordering: Option<i32>,
}

/// A process.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct ProcessDescriptor {
    #[prost(int32, optional, tag = "1")]
    pub pid: Option<i32>,
    #[prost(string, optional, tag = "6")]
    pub process_name: Option<String>,
}

/// A thread.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct ThreadDescriptor {
    #[prost(int32, optional, tag = "1")]
    pub pid: Option<i32>,
    #[prost(int64, optional, tag = "2")]
    pub tid: Option<i64>,
    #[prost(string, optional, tag = "5")]
    pub thread_name: Option<String>,
}

/// A counter.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct CounterDescriptor {
    #[prost(int32, optional, tag = "3")]
    pub unit: Option<i32>,
    #[prost(string, optional, tag = "6")]
    pub unit_name: Option<String>,
    #[prost(string, optional, tag = "7")]
    pub y_axis_share_key: Option<String>,
}

/// An event of a track.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct TrackEvent {
    /// Repeated in the schema.
    #[prost(uint64, optional, tag = "3")]
    pub category_iid: Option<u64>,
    #[prost(message, repeated, tag = "4")]
    pub debug_annotations: Vec<DebugAnnotation>,
    #[prost(int32, optional, tag = "9")]
    pub kind: Option<i32>,
    #[prost(uint64, optional, tag = "10")]
    pub name_iid: Option<u64>,
    #[prost(uint64, optional, tag = "11")]
    pub track_uuid: Option<u64>,
    #[prost(string, optional, tag = "23")]
    pub name: Option<String>,
    #[prost(int64, optional, tag = "30")]
    pub counter_value: Option<i64>,
    #[prost(double, optional, tag = "44")]
    pub double_counter_value: Option<f64>,
    /// Repeated in the schema.
    #[prost(fixed64, optional, tag = "47")]
    pub flow_id: Option<u64>,
    /// Repeated in the schema.
    #[prost(fixed64, optional, tag = "48")]
    pub terminating_flow_id: Option<u64>,
}

/// Values of [`TrackEvent::kind`].
pub(crate) mod kind {
    pub(crate) const BEGIN: i32 = 1;
    pub(crate) const END: i32 = 2;
    pub(crate) const INSTANT: i32 = 3;
    pub(crate) const COUNTER: i32 = 4;
}

/// Values of [`CounterDescriptor::unit`].
pub(crate) mod unit {
    pub(crate) const COUNT: i32 = 2;
    pub(crate) const BYTES: i32 = 3;
}

/// An argument of an event.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct DebugAnnotation {
    #[prost(uint64, optional, tag = "1")]
    pub name_iid: Option<u64>,
    #[prost(uint64, optional, tag = "3")]
    pub uint_value: Option<u64>,
    #[prost(double, optional, tag = "5")]
    pub double_value: Option<f64>,
    #[prost(string, optional, tag = "10")]
    pub name: Option<String>,
    #[prost(uint64, optional, tag = "17")]
    pub string_value_iid: Option<u64>,
}

/// Texts that later packets name by their numbers.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct InternedData {
    #[prost(message, repeated, tag = "1")]
    pub event_categories: Vec<InternedString>,
    #[prost(message, repeated, tag = "2")]
    pub event_names: Vec<InternedString>,
    #[prost(message, repeated, tag = "3")]
    pub debug_annotation_names: Vec<InternedString>,
    #[prost(message, repeated, tag = "29")]
    pub debug_annotation_string_values: Vec<InternedString>,
}

/// A text with its number. The schema has a type for each table, all types with these tags.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct InternedString {
    #[prost(uint64, optional, tag = "1")]
    pub iid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    pub text: Option<String>,
}
