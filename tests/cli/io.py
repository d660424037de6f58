# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of `rawprof io` ask of its JSON.

hists FILE         a line for each histogram: its labels by "/", count, sum; of several documents their sums
totals FILE        kept, what the histograms hold, what was lost
log FILE WHAT      of the requests of --log: a sum of WHAT, or how many of them are out of order
figures FILE NAME  of the histogram with those labels: count, sum, p50, p99; times in microseconds
fio FILE           of fio's own document, its reads: count, bytes, p50, p99 in microseconds
chrome FILE COMM   of a trace of Chrome's: slices of COMM, their bytes, how many of all overlap one of their row, and
                   how many rows have no name
requeued FILE TRACE  requests of --log, how many were issued more than once, and how many not as often as events
                   block_rq_issue of their sector are in a text of the kernel's tracing
"""
import collections
import json
import re
import sys


def hists(documents):
    sums = {}
    for d in documents:
        for h in d['histograms']:
            name = '/'.join(h['labels'][k] for k in d['keys'])
            count, total = sums.get(name, (0, 0))
            sums[name] = count + h['count'], total + h['sum']
    for name, (count, total) in sorted(sums.items()):
        print(name, count, total)


def figures(documents, name):
    for h in documents[-1]['histograms']:
        if '/'.join(h['labels'].values()) == name:
            per_us = 1000 if documents[-1]['unit'] == 'nanoseconds' else 1
            print(h['count'], h['sum'] // per_us, h['p50'] / per_us, h['p99'] / per_us)


def fio(document):
    read = document['jobs'][0]['read']
    latency = read['clat_ns']['percentile']
    print(read['total_ios'], read['io_bytes'], latency['50.000000'] / 1000, latency['99.000000'] / 1000)


def requeued(requests, trace):
    """A sector is read or written once, and others use other sectors."""
    issues = collections.Counter(re.findall(r'block_rq_issue: \d+,\d+ \S+ \d+ \([^)]*\) (\d+) \+', trace))
    requests = [r for r in requests if 'sector' in r]
    wrong = sum(r['issues'] != issues[str(r['sector'])] for r in requests)
    print(len(requests), sum(r['issues'] > 1 for r in requests), wrong)


def chrome(events, comm):
    slices = [e for e in events if e['ph'] == 'X']
    named = {(e['pid'], e['tid']) for e in events if e['name'] == 'thread_name'}
    last = {}
    overlaps = 0
    for s in sorted(slices, key=lambda s: s['ts']):
        row = s['pid'], s['tid']
        overlaps += s['ts'] + 0.0005 < last.get(row, 0)
        last[row] = s['ts'] + s['dur']
    own = [s for s in slices if s['args']['comm'] == comm]
    print(len(own), sum(s['args']['bytes'] for s in own), overlaps, len(set(last) - named))


def out_of_order(r):
    """The moments of a request, those that it had."""
    names = ['start_ns', 'insert_ns', 'issue_ns', 'last_issue_ns', 'data_done_ns', 'end_ns']
    times = [r[n] for n in names if r[n]]
    return times != sorted(times)


def main():
    what, path = sys.argv[1:3]
    if what == 'chrome':
        with open(path) as f:
            chrome(json.load(f), sys.argv[3])
        return
    if what == 'fio':
        with open(path) as f:
            return fio(json.load(f))
    with open(path) as f:
        documents = [json.loads(line) for line in f]
    if what == 'hists':
        hists(documents)
    elif what == 'totals':
        ledger = documents[-1]['ledger']
        print(ledger['kept'], sum(h['count'] for d in documents for h in d['histograms']),
              sum(line['count'] for line in ledger['lines'] if line['fate'] == 'lost'))
    elif what == 'figures':
        figures(documents, sys.argv[3])
    elif what == 'requeued':
        with open(sys.argv[3]) as f:
            requeued(documents, f.read())
    elif sys.argv[3] == 'disorder':
        print(sum(out_of_order(r) for r in documents))
    elif sys.argv[3] == 'lines':
        print(len(documents))
    else:
        print(sum(r[sys.argv[3]] for r in documents))


main()
