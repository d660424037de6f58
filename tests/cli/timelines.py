# SPDX-License-Identifier: BSD-2-Clause
"""timelines.py firefox|perfetto|chrome FILE: is it what its readers want?

Prints "COUNT WEIGHT", the sums of all samples in it (WEIGHT 0 where there is one value), then one line for
each kind of thing that the tests look for. Written from the formats' descriptions, not from the writers.
"""
import collections
import json
import sys

# ---- Firefox Profiler, processed profile 66: docs-developer/CHANGELOG-formats.md, src/types/profile.ts

COLORS = ('transparent purple green orange yellow lightblue blue brown magenta red lightred darkgrey '
          'grey').split()
SHARED = {
    'stackTable': 'frame prefixOffset',
    'frameTable': 'address inlineDepth category subcategory func nativeSymbol innerWindowID line column '
                  'originalLocation',
    'funcTable': 'name isJS relevantForJS resource source lineNumber columnNumber originalLocation',
    'resourceTable': 'lib name host type',
    'nativeSymbols': 'libIndex address name functionSize',
    'sources': 'id filename startLine startColumn sourceMapURL content',
    'sourceLocationTable': 'source line column',
}


def table(t, columns):
    """All columns, no others, of one length."""
    assert set(t) - {'length', 'weightType', 'data'} == set(columns.split()), sorted(t)
    for c in columns.split():
        assert len(t[c]) == t['length'], c
    return t


def indices(column, n, least=0, null=False):
    assert all((null and i is None) or least <= i < n for i in column)


def firefox_shared(p):
    s = p['shared']
    for name, columns in SHARED.items():
        table(s[name], columns)
    strings, cats = len(s['stringArray']), p['meta']['categories']
    assert len(set(s['stringArray'])) == strings
    assert all(isinstance(x, str) for x in s['stringArray'])
    stack, frame, func = s['stackTable'], s['frameTable'], s['funcTable']
    indices(stack['frame'], frame['length'])
    assert all(0 <= o <= i for i, o in enumerate(stack['prefixOffset']))
    indices(frame['func'], func['length'])
    indices(frame['category'], len(cats))
    for c, sub in zip(frame['category'], frame['subcategory']):
        assert 0 <= sub < len(cats[c]['subcategories'])
    indices(frame['nativeSymbol'], s['nativeSymbols']['length'], null=True)
    assert all(-1 <= a < 2**53 for a in frame['address'])
    indices(func['name'], strings)
    indices(func['resource'], s['resourceTable']['length'], least=-1)
    indices(func['source'], s['sources']['length'], null=True)
    indices(s['resourceTable']['lib'], len(p['libs']))
    indices(s['resourceTable']['name'], strings)
    indices(s['nativeSymbols']['libIndex'], len(p['libs']))
    indices(s['nativeSymbols']['name'], strings)
    indices(s['sources']['filename'], strings)
    # What is inlined lies in its caller's place, one deeper.
    for i, f in enumerate(stack['frame']):
        depth = frame['inlineDepth'][f]
        if depth:
            outer = stack['frame'][i - stack['prefixOffset'][i]]
            assert frame['inlineDepth'][outer] == depth - 1
            assert frame['address'][outer] == frame['address'][f]
            assert frame['nativeSymbol'][outer] == frame['nativeSymbol'][f]


def firefox_markers(p, t, strings):
    m, schemas = t['markers'], {s['name']: s for s in p['meta']['markerSchema']}
    table(m, 'name startTime endTime phase category')
    assert len(m['data']) == m['length']
    indices(m['name'], strings)
    for phase, start, end, data in zip(m['phase'], m['startTime'], m['endTime'], m['data']):
        assert phase in (0, 1) and (end is None if phase == 0 else start <= end)
        fields = {f['key'] for f in schemas[data['type']]['fields']}
        assert set(data) - {'type', 'cause'} <= fields, data
        if 'cause' in data:
            assert 0 <= data['cause']['stack'] < p['shared']['stackTable']['length']
    return collections.Counter(d['type'] for d in m['data'])


def firefox(path):
    p = json.load(open(path, encoding='utf-8'))
    meta, strings = p['meta'], len(p['shared']['stringArray'])
    assert meta['preprocessedProfileVersion'] == 66 and meta['interval'] > 0
    assert all(c['color'] in COLORS and c['subcategories'][0] == 'Other' for c in meta['categories'])
    assert any(c['color'] == 'grey' for c in meta['categories'])
    firefox_shared(p)
    markers, total, cpu, ids = collections.Counter(), 0, 0, set()
    for t in p['threads']:
        s = t['samples']
        table(s, 'stack time weight' + (' threadCPUDelta' if 'threadCPUDelta' in s else ''))
        indices(s['stack'], p['shared']['stackTable']['length'], null=True)
        assert s['time'] == sorted(s['time']) and (not s['time'] or s['time'][0] >= 0)
        assert all(t < meta['profilingEndTime'] or not w for t, w in zip(s['time'], s['weight']))
        unit = 1e6 if s['weightType'] == 'tracing-ms' else 1
        total += sum(round(w * unit) for w in s['weight'])
        cpu += sum(s.get('threadCPUDelta', []))
        assert isinstance(t['pid'], str) and (t['pid'], t['tid']) not in ids
        ids.add((t['pid'], t['tid']))
        markers += firefox_markers(p, t, strings)
    blocked = [c['name'] for c in meta['categories']].index('Blocked')
    print(total, 0)
    print('threads', len(p['threads']))
    print('cpu', cpu)
    print('reasons', *meta['categories'][blocked]['subcategories'][1:])
    print('inlined', sum(d > 0 for d in p['shared']['frameTable']['inlineDepth']))
    for kind in sorted(markers):
        print(kind, markers[kind])


# ---- Chrome's trace events


def chrome(path):
    p = json.load(open(path, encoding='utf-8'))
    open_slices, last, sums = collections.defaultdict(list), {}, collections.Counter()
    kinds, seen = collections.Counter(), set()
    for e in p['traceEvents']:
        thread = e['pid'], e['tid']
        kinds[e['ph']] += 1
        assert e['ph'] in 'MBEi' and e['ts'] >= 0
        if e['ph'] == 'M':
            seen.add(thread)
            continue
        assert thread in seen and e['ts'] >= last.get(thread, 0)
        last[thread] = e['ts']
        if e['ph'] == 'B':
            open_slices[thread].append(e['name'])
        elif e['ph'] == 'E':
            assert open_slices[thread].pop() == e['name']
        if e['ph'] != 'B' and e.get('cat') != 'woken':
            sums.update({k: v for k, v in e.get('args', {}).items() if k != 'on_cpu'})
        kinds[e.get('cat', '')] += e['ph'] == 'B'
    assert not any(open_slices.values())
    # The count is of the type that is no time: samples, contentions, requests.
    print(*[n for k, n in sorted(sums.items(), key=lambda i: i[0] in ('cpu', 'wall', 'delay'))])
    print('waits', kinds['wait'])


# ---- Perfetto: protos/perfetto/trace, read by field numbers


def fields(data):
    """{number: [int or bytes, ...]}"""
    at, out = 0, collections.defaultdict(list)

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(data):
        tag = varint()
        value = varint()
        assert tag & 7 in (0, 2), tag
        if tag & 7 == 2:
            at += value
            assert at <= len(data)
            value = data[at - value:at]
        out[tag >> 3].append(value)
    return out


def one(f, number, default=None):
    assert len(f[number]) <= 1 or default == 'any'
    return f[number][0] if f[number] else default


TEXTS = 2, 5, 17, 18  # names of events, functions, files, sources
SLEEPS = {4, 5}


def perfetto(path):
    ids = collections.defaultdict(dict)  # kind -> iid -> fields
    tracks, names, depth = {}, {}, collections.Counter()
    weight = count = slices = wakes = arrows = 0
    states, last = {}, 0
    data = open(path, 'rb').read()
    for packet in fields(data)[1]:
        f = fields(packet)
        time = one(f, 8)
        assert one(f, 10) == 1 and time >= last, 'out of order'
        last = time
        new = [(kind, fields(entry)) for kind, entries in fields(one(f, 12, b'')).items()
               for entry in entries]
        for kind, e in new:
            assert one(e, 1) not in ids[kind], 'defined twice'
            ids[kind][one(e, 1)] = e
            if kind in TEXTS:
                one(e, 2, b'').decode('utf-8')
        for kind, e in new:
            if kind == 19:
                assert all(i in ids[17] for i in e[7]) and (not e[2] or e[2][0] in ids[16])
            if kind == 6:
                assert one(e, 2) in ids[5] and (not e[3] or e[3][0] in ids[19])
            if kind == 7:
                assert e[2] and all(i in ids[6] for i in e[2])
        for thread in fields(one(f, 2, b''))[2]:
            t = fields(thread)
            names[one(t, 1)] = one(t, 2, b'').decode()
        if f[60]:
            track = fields(one(f, 60))
            tracks[one(track, 1)] = track
            assert track[4] or one(track, 5) in tracks
        if f[11]:
            e = fields(one(f, 11))
            assert one(e, 11) in tracks and one(f, 13) == 2
            assert one(e, 9) == 2 or (one(e, 10) in ids[2] and one(e, 56) in ids[7])
            depth[one(e, 11)] += {1: 1, 2: -1, 3: 0}[one(e, 9)]
            assert depth[one(e, 11)] in (0, 1), 'slices of a lane overlap'
            slices += one(e, 9) != 2
        if f[135]:
            s = fields(one(f, 135))
            assert one(s, 2) in ids[48] and one(s, 6) in ids[7] and one(f, 13) == 2
            assert not s[4] or s[4][0] in ids[49]
            weight += one(s, 11)
            count += fields(b'\x08' + one(s, 14, b'\0'))[1][0]
        if f[117]:
            e = fields(one(f, 117))
            tid, state = one(e, 3), one(e, 4)
            assert not (state == 3 and states.get(tid) == 3), 'running twice'
            assert state != 3 or e[1]
            states[tid] = state
        if f[1]:
            bundle = fields(one(f, 1))
            waking = fields(one(fields(bundle[2][0]), 20))
            wakes += 1
            if states.get(one(waking, 2)) in SLEEPS:
                states[one(waking, 2)] = 2
                arrows += 1
    assert not any(depth.values())
    print(count, weight)
    print('slices', slices)
    print('wakes', wakes)
    print('arrows', arrows)
    print('states', len(states))
    print('names', *sorted(set(names.values())))


{'firefox': firefox, 'chrome': chrome, 'perfetto': perfetto}[sys.argv[1]](sys.argv[2])
