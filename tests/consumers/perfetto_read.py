# SPDX-License-Identifier: BSD-2-Clause
"""perfetto_read.py FILE: by the published classes of Perfetto; prints the weight of all samples.

A field that the schema does not have, or has with another type, is an error.
"""
import sys

from google.protobuf import unknown_fields
from perfetto.protos.perfetto.trace import perfetto_trace_pb2


def check(message):
    assert not len(unknown_fields.UnknownFieldSet(message)), message
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for part in value if field.is_repeated else [value]:
                check(part)


trace = perfetto_trace_pb2.Trace()
with open(sys.argv[1], 'rb') as f:
    trace.ParseFromString(f.read())
check(trace)
print(sum(p.stack_sample.primary_weight for p in trace.packet))
