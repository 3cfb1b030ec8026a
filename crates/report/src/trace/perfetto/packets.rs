//! Packets of Perfetto's format, one behind the other: clocks, numbers of texts, the limit.
//!
//! Written packets never change later, so a truncated file is valid up to its last whole packet.
//! Times are differences from the packet before, or absolute where time decreases: slices that are
//! drawn depending on their duration, and classes of waits. Readers sort packets by time.

use std::io::{self, Write};

use prost::Message as _;

use super::schema::{
    Clock, ClockSnapshot, DebugAnnotation, InternedData, InternedString, TracePacket,
    TracePacketDefaults, TrackDescriptor, TrackEvent, kind,
};
use crate::trace::options::{TraceOptions, TraceUnit};
use crate::trace::sink::{KNOWN, Label, SliceKind};

/// Packets that are written at once, in bytes.
const BUFFER: usize = 64 * 1024;

/// Added to a time in units before rounding down. So a whole number of units that a double cannot
/// represent exactly is not rounded to the number before. Order is kept. Our choice.
const ROUNDING: f64 = 1e-3;

/// The clock of absolute times: the boot clock.
const WHOLE: u32 = 6;
/// The clock of the sequence.
const SEQUENCE: u32 = 64;

/// Flags of a packet: texts and clocks begin anew; texts of earlier packets are needed.
const CLEARED: u32 = 1;
const NEEDED: u32 = 2;

/// Names of arguments, by [`Argument`].
const ARGUMENTS: [&str; 10] = [
    "peer",
    "bytes",
    "tag",
    "algorithm",
    "communicator",
    "number",
    "value",
    "line",
    "protocol",
    "request",
];

/// An argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Argument {
    Peer,
    Bytes,
    Tag,
    Algorithm,
    Communicator,
    Number,
    Value,
    Line,
    Protocol,
    Request,
}

impl Argument {
    fn annotation(self) -> DebugAnnotation {
        DebugAnnotation {
            name_iid: Some(self as u64 + 1),
            ..DebugAnnotation::default()
        }
    }

    pub(crate) fn number_annotation(self, value: u64) -> DebugAnnotation {
        DebugAnnotation {
            uint_value: Some(value),
            ..self.annotation()
        }
    }

    pub(crate) fn real(self, value: f64) -> DebugAnnotation {
        DebugAnnotation {
            double_value: Some(value),
            ..self.annotation()
        }
    }

    pub(crate) fn text_annotation(self, value: Label) -> DebugAnnotation {
        DebugAnnotation {
            string_value_iid: Some(iid(value)),
            ..self.annotation()
        }
    }
}

/// Returns the number of a text in the tables of texts, where 0 is none.
pub(crate) fn iid(label: Label) -> u64 {
    u64::from(label.0) + 1
}

fn interned(iid: u64, text: &str) -> InternedString {
    InternedString {
        iid: Some(iid),
        text: Some(text.to_owned()),
    }
}

/// A writer of packets.
pub(crate) struct PacketWriter<W> {
    out: W,
    buffer: Vec<u8>,
    /// Number of bytes so far.
    bytes: u64,
    packets: u64,
    limit: u64,
    /// True once the limit is reached.
    is_full: bool,
    per_second: f64,
    is_absolute: bool,
    /// The latest time, in units.
    now: u64,
    /// Texts that the next packet brings.
    texts: InternedData,
    error: Option<io::Error>,
}

impl<W: Write> PacketWriter<W> {
    pub(crate) fn new(out: W, options: &TraceOptions) -> Self {
        let mut writer = Self {
            out,
            buffer: Vec::with_capacity(BUFFER + 4096),
            bytes: 0,
            packets: 0,
            limit: options.limit,
            is_full: false,
            per_second: options.unit.per_second(),
            is_absolute: options.is_absolute,
            now: 0,
            texts: InternedData::default(),
            error: None,
        };
        writer.write_header();
        if options.unit == TraceUnit::Picosecond {
            writer.write_event(
                0.0,
                TrackEvent {
                    name_iid: Some(iid(Label::PICOSECONDS)),
                    kind: Some(kind::INSTANT),
                    track_uuid: Some(0),
                    ..TrackEvent::default()
                },
            );
        }
        writer
    }

    /// Writes the first packet, and the root of all tracks.
    fn write_header(&mut self) {
        let clock = |id, is_incremental: Option<bool>, unit| Clock {
            clock_id: Some(id),
            timestamp: Some(0),
            is_incremental,
            unit_multiplier_ns: unit,
        };
        let is_incremental = (!self.is_absolute).then_some(true);
        let categories = SliceKind::ALL.map(|kind| interned(kind as u64 + 1, kind.name()));
        let known = (0..).zip(KNOWN).map(|(at, text)| interned(at + 1, text));
        let known: Vec<InternedString> = known.collect();
        let arguments = (1..).zip(ARGUMENTS).map(|(at, text)| interned(at, text));
        self.write_packet(&TracePacket {
            trusted_packet_sequence_id: Some(1),
            first_packet_on_sequence: Some(true),
            previous_packet_dropped: Some(1),
            sequence_flags: Some(CLEARED | NEEDED),
            clock_snapshot: Some(ClockSnapshot {
                clocks: vec![
                    clock(WHOLE, None, None),
                    clock(SEQUENCE, is_incremental, Some(1)),
                ],
            }),
            trace_packet_defaults: Some(TracePacketDefaults {
                timestamp_clock_id: Some(SEQUENCE),
            }),
            interned_data: Some(InternedData {
                event_categories: categories.into(),
                event_names: known.clone(),
                debug_annotation_names: arguments.collect(),
                debug_annotation_string_values: known,
            }),
            ..TracePacket::default()
        });
        self.track(TrackDescriptor {
            uuid: Some(0),
            process_ordering: Some(1),
            thread_ordering: Some(1),
            ..TrackDescriptor::default()
        });
    }

    fn write_packet(&mut self, packet: &TracePacket) {
        if self.is_full {
            return;
        }
        let before = self.buffer.len();
        // The field 1 of a trace: bytes.
        self.buffer.push(0x0a);
        packet
            .encode_length_delimited(&mut self.buffer)
            .expect("memory grows");
        self.bytes += (self.buffer.len() - before) as u64;
        self.packets += 1;
        if self.buffer.len() >= BUFFER {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if self.error.is_none() {
            self.error = self.out.write_all(&self.buffer).err();
        }
        self.buffer.clear();
        if self.error.is_some() {
            self.is_full = true;
        }
    }

    /// Names a label in later packets.
    pub(crate) fn define_label(&mut self, label: Label, text: &str) {
        let text = interned(iid(label), text);
        let texts = &mut self.texts;
        texts.event_names.push(text.clone());
        texts.debug_annotation_string_values.push(text);
    }

    /// Writes the description of a track.
    pub(crate) fn track(&mut self, track: TrackDescriptor) {
        self.write_packet(&TracePacket {
            trusted_packet_sequence_id: Some(1),
            track_descriptor: Some(track),
            ..TracePacket::default()
        });
    }

    /// Writes an event at a time in seconds.
    pub(crate) fn write_event(&mut self, time: f64, event: TrackEvent) {
        if self.is_full {
            return;
        }
        let ends = self.bytes >= self.limit;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "times are not negative, and saturate"
        )]
        let at = (time * self.per_second + ROUNDING) as u64;
        let falls = at < self.now;
        let timestamp = if falls || self.is_absolute {
            at
        } else {
            at - self.now
        };
        self.now = self.now.max(at);
        let interned_data = if self.texts.event_names.is_empty() {
            None
        } else {
            Some(std::mem::take(&mut self.texts))
        };
        let event = if ends {
            TrackEvent {
                name_iid: Some(iid(Label::LIMIT)),
                kind: Some(kind::INSTANT),
                track_uuid: Some(0),
                ..TrackEvent::default()
            }
        } else {
            event
        };
        self.write_packet(&TracePacket {
            timestamp: Some(timestamp),
            timestamp_clock_id: (falls && !self.is_absolute).then_some(WHOLE),
            trusted_packet_sequence_id: Some(1),
            sequence_flags: Some(NEEDED),
            track_event: Some(event),
            interned_data,
            ..TracePacket::default()
        });
        self.is_full |= ends;
    }

    /// Returns true if the file takes no further packets.
    pub(crate) const fn is_full(&self) -> bool {
        self.is_full
    }

    /// Returns the latest time in seconds.
    #[expect(clippy::cast_precision_loss, reason = "times are below 2^53 units")]
    pub(crate) fn latest_time(&self) -> f64 {
        self.now as f64 / self.per_second
    }

    /// Ends the file. Returns the numbers of bytes and of packets, and the writer.
    pub(crate) fn finish_file(mut self) -> io::Result<(u64, u64, W)> {
        self.flush();
        match self.error {
            Some(error) => Err(error),
            None => {
                self.out.flush()?;
                Ok((self.bytes, self.packets, self.out))
            }
        }
    }
}
