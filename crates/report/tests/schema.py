"""Compares a trace, and the declarations of schema.rs, with Perfetto's own schema, and checks the
numbers of its tracks, processes and threads.

Usage: schema.py SCHEMA.rs TRACE. Needs the packages perfetto and protobuf of PyPI.
"""

import re
import sys

from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema

# Types of ours, and those of the schema that they stand for.
NAMES = {"InternedString": ["EventCategory", "EventName", "DebugAnnotationName", "InternedString"]}
# Wire types of prost's types: the schema's types that have them.
KINDS = {
    "uint64": {"uint64"}, "uint32": {"uint32"}, "int64": {"int64"}, "int32": {"int32", "enum"},
    "bool": {"bool"}, "string": {"string", "bytes"}, "double": {"double"}, "fixed64": {"fixed64"},
    "message": {"message"},
}
TYPES = {1: "double", 3: "int64", 4: "uint64", 5: "int32", 6: "fixed64", 8: "bool", 9: "string",
         11: "message", 12: "bytes", 13: "uint32", 14: "enum"}

declared = {}
struct = None
for line in open(sys.argv[1], encoding="utf-8"):
    if found := re.search(r"pub\(crate\) struct (\w+)", line):
        struct = found[1]
    elif found := re.search(r'#\[prost\((\w+), (?:optional|repeated), tag = "(\d+)"\)\]', line):
        for name in NAMES.get(struct, [struct]):
            declared[name, int(found[2])] = found[1]

used, unknown, wrong = set(), 0, []


def visit(message):
    global unknown
    unknown += len(UnknownFieldSet(message))
    for field, value in message.ListFields():
        key = message.DESCRIPTOR.name, field.number
        used.add(key)
        if TYPES[field.type] not in KINDS.get(declared.get(key), ()):
            wrong.append(f"{key}: {TYPES[field.type]}, declared {declared.get(key)}")
        if field.message_type:
            for inner in value if hasattr(value, "__len__") else [value]:
                visit(inner)


class Tracks:
    """The tracks of one trace, as trace_processor takes them."""

    def __init__(self):
        self.kinds, self.pids, self.tids = {}, set(), set()

    def describe(self, track):
        """Small numbers, each once, after their parents; threads of processes that are known."""
        if track.uuid == 0:
            assert (track.process_ordering, track.thread_ordering) == (1, 1), track
            return
        assert track.uuid not in self.kinds and track.uuid < 1 << 28, track
        assert track.parent_uuid == 0 or track.parent_uuid in self.kinds, track
        if track.HasField("process"):
            assert track.process.pid > 0 and track.process.pid not in self.pids, track
            assert track.process.process_name, track
            self.pids.add(track.process.pid)
        if track.HasField("thread"):
            thread = track.thread
            assert self.kinds[track.parent_uuid] == thread.pid, track
            assert thread.tid > 0 and thread.tid not in self.tids, track
            assert thread.thread_name.startswith("rank "), track
            self.tids.add(thread.tid)
        self.kinds[track.uuid] = track.process.pid

    def end(self):
        """A thread with the number of a process would be the main thread of that."""
        assert not self.pids & self.tids, (self.pids, self.tids)
        return len(self.pids), len(self.tids)


trace = schema.Trace()
trace.ParseFromString(open(sys.argv[2], "rb").read())
tracks, numbers = Tracks(), []
for packet in trace.packet:
    visit(packet)
    if packet.first_packet_on_sequence:
        numbers.append(tracks.end())
        tracks = Tracks()
    if packet.HasField("track_descriptor"):
        tracks.describe(packet.track_descriptor)
    if packet.HasField("track_event"):
        assert packet.track_event.track_uuid in {0, *tracks.kinds}, packet
numbers.append(tracks.end())
assert max(numbers) >= (1, 2), numbers
unused = [key for key in declared if key not in used]
print(f"{len(trace.packet)} packets, {unknown} unknown fields, {len(unused)} unused fields")
print(*sorted(set(wrong)), *unused, sep="\n")
sys.exit(1 if unknown or wrong or unused else 0)
