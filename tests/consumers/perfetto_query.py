# SPDX-License-Identifier: BSD-2-Clause
"""perfetto_query.py FILE: what Perfetto's trace processor makes of it; "unavailable" if that cannot be had."""
import sys

from perfetto.trace_processor import TraceProcessor

try:
    tp = TraceProcessor(trace=sys.argv[1])
except Exception as e:  # curl has failed, or there is none
    print('unavailable', type(e).__name__)
    sys.exit()


def number(query):
    return int(next(iter(tp.query(query + ' as n'))).n or 0)


print('weight', number('select (select sum(c.value) from counter c join counter_track t on c.track_id = t.id '
                       'where extract_arg(t.source_arg_set_id, "is_timebase"))'))
print('errors', number("select (select sum(value) from stats where severity = 'error')"))
