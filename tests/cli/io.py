# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of `rawprof io` ask of its JSON.

hists FILE         a line for each histogram: its labels by "/", count, sum; of several documents their sums
totals FILE        kept, what the histograms hold, what was lost
log FILE WHAT      of the requests of --log: a sum of WHAT, or how many of them are out of order
"""
import json
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


def out_of_order(r):
    """The moments of a request, those that it had."""
    names = ['start_ns', 'insert_ns', 'issue_ns', 'last_issue_ns', 'data_done_ns', 'end_ns']
    times = [r[n] for n in names if r[n]]
    return times != sorted(times)


def main():
    what, path = sys.argv[1:3]
    with open(path) as f:
        documents = [json.loads(line) for line in f]
    if what == 'hists':
        hists(documents)
    elif what == 'totals':
        ledger = documents[-1]['ledger']
        print(ledger['kept'], sum(h['count'] for d in documents for h in d['histograms']),
              sum(line['count'] for line in ledger['lines'] if line['fate'] == 'lost'))
    elif sys.argv[3] == 'disorder':
        print(sum(out_of_order(r) for r in documents))
    elif sys.argv[3] == 'lines':
        print(len(documents))
    else:
        print(sum(r[sys.argv[3]] for r in documents))


main()
