"""Compares a trace, and the declarations of schema.rs, with Perfetto's own schema.

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


trace = schema.Trace()
trace.ParseFromString(open(sys.argv[2], "rb").read())
for packet in trace.packet:
    visit(packet)
unused = [key for key in declared if key not in used]
print(f"{len(trace.packet)} packets, {unknown} unknown fields, {len(unused)} unused fields")
print(*sorted(set(wrong)), *unused, sep="\n")
sys.exit(1 if unknown or wrong or unused else 0)
