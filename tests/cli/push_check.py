#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What a server of push_server.py got, beside the windows of a directory.

push_check.py RAWPROF DIR LOG TO: prints numbers by name: windows; missing, twice, other (totals)
of them; strange (no window of the directory); bad (against the rules).
"""
import glob
import json
import subprocess
import sys

rawprof, directory, log, to = sys.argv[1:]
windows, got, seen = {}, {}, set()
count = dict.fromkeys(('windows', 'missing', 'twice', 'other', 'strange', 'bad'), 0)
for path in glob.glob(directory + '/*.rawprof'):
    d = json.loads(subprocess.run([rawprof, 'report', '--format', 'json', path], check=True,
                                  capture_output=True).stdout)
    if not d['samples']:
        continue
    columns = zip(*(s['values'] for s in d['samples']))
    windows[d['info']['start_ns']] = (d['info']['duration_ns'], [sum(c) for c in columns])
try:
    lines = [json.loads(line) for line in open(log)]
except FileNotFoundError:
    lines = []
for line in lines:
    if line['to'] != to:
        continue
    count['bad'] += 'bad' in line
    for p in line.get('profiles', []):
        key = (p['start'], json.dumps(p['labels'], sort_keys=True))
        count['twice'] += key in seen
        if key in seen:
            continue
        seen.add(key)
        duration, totals = got.get(p['start'], (p['duration'], [0] * len(p['totals'])))
        got[p['start']] = (duration, [a + b for a, b in zip(totals, p['totals'])])
for start, window in windows.items():
    count['windows'] += 1
    count['missing'] += start not in got
    count['other'] += start in got and got[start] != window
count['strange'] = len(set(got) - set(windows))
print(' '.join('%s=%d' % pair for pair in count.items()))
