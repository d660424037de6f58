# SPDX-License-Identifier: BSD-2-Clause
"""check.py CHROMIUM FOLDER: uses the pages in FOLDER (tests/html/pages.c) as a person does, with mouse and keys.
Prints a line "NAME<tab>ACTUAL<tab>EXPECTED" for each thing it looks at, and "note: ..." for what is only told."""
import json
import os
import re
import sys
import time

sys.path.insert(0, os.path.dirname(__file__))
from devtools import Browser

FOLDER = os.path.abspath(sys.argv[2])

# Where a frame of the graph is drawn, in the window; [] if it is not.
PLACE = '''((name) => { const g = main.graph, t = g.tree, at = g.scroll.canvas.getBoundingClientRect();
    for (let i = 0; i < t.n; i++)
        if (g.name(i) === name && t.total[i] && i >= g.zoom && i < t.end[g.zoom])
            return [at.left + (t.begin[i] + t.total[i] / 2 - t.begin[g.zoom]) * g.scale,
                at.top + g.y(g.row(t.depth[i])) + 9, t.total[i] * g.scale];
    return []; })'''
# Where a time is in the heat map.
TIME = '''((us) => { const at = heat.canvas.getBoundingClientRect();
    return [at.left + GUTTER + (us - heat.from) / (heat.to - heat.from) * (at.width - GUTTER), at.top + SUM + 6]; })'''


def see(name, actual, expected):
    print(f'{name}\t{actual}\t{expected}'.replace('\n', ' '))


class Page:
    def __init__(self, browser, kind, fragment='', ending='html'):
        self.b = browser
        self.kind = kind
        browser.open(f'file://{FOLDER}/{kind}.{ending}' + ('#' + fragment if fragment else ''))

    def place(self, name):
        return self.b.run(f'{PLACE}({json.dumps(name)})')

    def click_frame(self, name):
        x, y, _ = self.place(name)
        self.b.click(x, y)

    def drag_time(self, start, end):
        (x, y), (to_x, to_y) = self.b.run(f'{TIME}({start})'), self.b.run(f'{TIME}({end})')
        self.b.drag(x + 1, y, to_x - 1, to_y)

    def text(self, selector):
        return self.b.run(f'document.querySelector({json.dumps(selector)}).textContent')

    def total(self):
        return int(self.b.run("byId('total').dataset.value"))

    def zoomed(self):
        return self.b.run('main.graph.name(main.graph.zoom)')

    def row(self, n):
        cells = f"[...table.elements[{n}].querySelectorAll('b, em, .name, .module')]"
        return self.b.run(cells + ".map(e => e.textContent).join(' ')")


def graph(b):
    p = Page(b, 'burst')
    see('graph: the total is the report\'s', p.total(), 220)
    see('graph: and is told', p.text('#total'), '220 samples')
    see('graph: opens with the root on top', b.run('main.graph.y(main.graph.row(0))'), 0)
    see('graph: width is weight', round(p.place('parse_request')[2] / p.place('all')[2], 3), round(135 / 220, 3))
    x, y, _ = p.place('send_reply')
    b.mouse('Moved', x, y)
    see('graph: what is under the mouse is told', p.text('#tip').split('\n')[1], '45 samples, 20.45%')
    p.click_frame('send_reply')
    see('graph: a click zooms', p.zoomed(), 'send_reply')
    see('graph: to the whole width', round(p.place('send_reply')[2]), b.run('main.graph.width'))
    see('graph: crumbs', p.text('#crumbs').replace(' \u203a ', '/'), 'all/app/main/event_loop/send_reply')
    address = b.run('location.hash')
    b.run('history.back()')
    time.sleep(0.3)
    see('graph: Back goes back', p.zoomed(), 'all')
    p.click_frame('event_loop')
    b.key('Escape')
    see('graph: Escape resets', p.zoomed(), 'all')
    b.run('document.activeElement.blur()')
    for key in ('ArrowDown', 'ArrowUp', 'ArrowRight'):
        b.key(key)
    see('graph: arrows move', p.text('#details').split(' \u00b7 ')[0], 'other_work')
    b.key('Enter')
    see('graph: Enter zooms', p.zoomed(), 'other_work')
    b.key('c', 'c')
    see('graph: c shows callers', p.text('#fn'), 'other_work')
    again = Page(b, 'burst', address[1:])
    see('graph: an address is restored', again.zoomed(), 'send_reply')
    b.key('Escape')
    b.key('i', 'i')
    see('graph: i puts the root at the bottom', b.run('main.graph.y(0) > main.graph.y(1)'), True)
    b.key('l', 'l')
    see('graph: from the leaf', b.run("main.graph.name(2)"), 'hash_all(std::vector<int>&)')
    see('graph: the network is not used', b.run("performance.getEntriesByType('resource').length"), 0)


def colors(b):
    Page(b, 'burst')
    page = dict(b.run('''[...Array(main.graph.tree.n).keys()].slice(1).map(
        i => [main.graph.name(i), main.graph.color(i)])'''))
    with open(f'{FOLDER}/burst.svg', encoding='utf-8') as f:
        svg = dict(re.findall(r'<title>([a-z_]+) \(.*?fill="(#\w+)"', f.read()))
    both = [name for name in svg if name in page]
    far = [name for name in both if max(abs(int(a) - int(svg[name][1 + 2 * i:3 + 2 * i], 16))
           for i, a in enumerate(re.findall(r'\d+', page[name]))) > 1]
    see('colours: as many as there are names', len(both), 7)
    see('colours: those of the SVG', far, [])


def search(b):
    p = Page(b, 'burst')
    b.key('/', '/')
    b.type('send_|tcp')
    see('search: what matches is added up once', p.text('#matched'), 'Matched: 20.45%')
    see('search: is in the address', b.run('location.hash'), '#s=send_%7Ctcp')
    b.type('(')
    see('search: no regular expression', b.run("byId('search').className"), 'bad')
    b.key('Escape')
    see('search: Escape ends it', p.text('#matched') + b.run('location.hash'), '')
    b.key('/', '/')
    b.type('MAIN')
    see('search: case matters', p.text('#matched'), 'Matched: 0.00%')
    b.key('i', modifiers=2)
    see('search: Ctrl-I ignores it', p.text('#matched'), 'Matched: 100.00%')
    again = Page(b, 'burst', 's=hash_all&view=table')
    see('search: is restored, and the table has what matches', b.run('table.rows.length') and again.row(0).split()[4],
        'hash_all(std::vector<int>&)')


def heat_map(b):
    p = Page(b, 'burst')
    see('heat: columns of 20 ms', b.run('[heat.bins.n, heat.bins.step]'), [100, 20000])
    see('heat: rows are CPUs', b.run("heat.bins.names.join()"), 'CPU 0,CPU 1')
    see('heat: the sum is the total', b.run('heat.bins.bins.reduce((a, b) => a + b)'), 220)
    p.drag_time(1200000, 1400000)
    see('heat: dragging selects', b.run('[state.from, state.to]'), [1200000, 1400000])
    see('heat: the graph is the burst', p.total(), 40)
    see('heat: and nothing else', p.place('parse_request'), [])
    address = b.run('location.hash')
    b.click_on('[data-view=table]')
    see('heat: so is the table', p.row(0), '40 100.00% 40 100.00% hash_all(std::vector<int>&) app')
    b.key('[', '[')
    see('heat: [ selects what was before', p.total(), 20)
    b.click_on('#clear')
    see('heat: cleared', p.total(), 220)
    x, y = b.run(f'{TIME}(1210000)')
    b.click(x, y)
    see('heat: a click selects a column', p.total(), 4)
    again = Page(b, 'burst', address[1:])
    see('heat: an address is restored', again.total(), 40)
    b.key('Escape')
    see('heat: Escape clears', again.total(), 220)
    long = Page(b, 'many')
    see('heat: columns are merged', b.run('heat.bins.step > 20000'), True)
    b.run('zoomTime(0.01, 0.5)')
    see('heat: and are 20 ms when zoomed', b.run('heat.bins.step'), 20000)
    long.drag_time(15000000, 15040000)
    see('heat: to the column', b.run('[state.from, state.to]'), [15000000, 15040000])


def functions(b):
    p = Page(b, 'burst', 'view=table')
    see('table: by self', p.row(0), '135 61.36% 135 61.36% parse_request app')
    b.click_on('[data-sort=total]')
    see('table: by total', p.row(0), '0 0.00% 220 100.00% main app')
    b.click_on('[data-sort=name]')
    see('table: by name', p.row(0).split()[4], 'event_loop')
    b.run('document.activeElement.blur()')
    b.key('ArrowDown')
    b.key('Enter')
    see('table: Enter shows callers and callees', p.text('#fn'), 'hash_all(std::vector<int>&)')
    see('callers: of it', b.run("[...Array(upward.tree.n).keys()].map(i => upward.name(i)).join()"),
        'hash_all(std::vector<int>&),other_work,main,app')
    b.run("showCallers(keys.text.indexOf('event_loop'))")
    see('callees: with their weights', b.run(
        "[...Array(downward.tree.n).keys()].map(i => downward.name(i) + ' ' + downward.tree.total[i]).join()"),
        'event_loop 180,parse_request 135,send_reply 45,tcp_sendmsg 45')
    b.run('''(() => { byId('weight').value = 1; byId('weight').dispatchEvent(new Event('change')); })()''')
    see('weights: another value', p.text('#total'), '2.20\u00a0s')
    see('weights: to the unit', p.total(), 2200000000)
    see('weights: as the report has it', b.run('data.types[1].total'), '2200000000')


def thread_rows(b):
    p = Page(b, 'wall', 'view=threads')
    whole = p.total()
    see('threads: all that was', whole, b.run('data.types[1].total'))
    see('heat: rows are states', b.run('heat.bins.names.join()'), 'running,disk,sleeping')
    see('threads: rows', b.run('lanes.list.length'), 6)
    see('threads: colours by state', b.run("byId('states').textContent"), 'runningdisksleeping')
    at = b.run("(() => { const r = lanes.scroll.canvas.getBoundingClientRect(); return [r.left, r.top, r.width]; })()")
    b.mouse('Moved', at[0] + 210 + (at[2] - 210) * 0.505, at[1] + 16 + 11)
    see('threads: the state under the mouse', bool(re.search(r'\[(disk|sleeping)\] for \d', p.text('#tip'))), True)
    b.click(at[0] + 50, at[1] + 16 + 11)
    name = b.run('threadName(state.thread)')
    see('threads: a click on a name is that thread', p.total(), b.run('lanes.sums[state.thread]'))
    see('threads: and says so', p.text('#chips'), name + ' \u00d7')
    b.key('Escape')
    see('threads: a function has the time of its states', b.run(
        "main.tree.functions(keys.text.length).self[keys.text.indexOf('io_schedule')]"),
        b.run("main.tree.functions(keys.text.length).total[keys.text.indexOf('io_schedule')]"))
    halves = 0
    for start, end in ((0, 500000), (500000, 2000000)):
        b.run(f'select({start}, {end})')
        halves += p.total()
    # What runs is a sample at a time, and counts where it is.
    see('threads: intervals are cut at the selection, and nothing is lost', halves, whole)


def lines(b):
    p = Page(b, 'lines', 'view=callers')
    see('lines: of a function', p.text('#sources').replace('\n', '; '),
        'work.c:30  self 30 samples, total 30 samples; work.c:31  self 10 samples, total 10 samples')
    rows = b.run("[...byId('code').children].map(e => e.textContent)")
    see('instructions: around those that were hit', len(rows), 1 + 7 + 1 + 40 + 1 + 40 + 1 + 9)
    see('instructions: what was at each', rows[8].split(), '30 30 7: </script> jne'.split())
    see('instructions: only in what is called there', rows[-10].split(), '10 0 nop'.split())
    see('instructions: the rest is counted', rows[49].strip(), '\u2026 102 lines where nothing was')
    see('instructions: the heavy one is marked', b.run("document.querySelector('#code .heavy').textContent").split(), rows[8].split())
    b.run("showCallers(data.names.indexOf('main'))")
    see('instructions: of another function there are none', b.run("byId('code').hidden"), True)
    see('lines: no times, no heat map', b.run("byId('time').hidden"), True)
    b.key('1', '1')
    b.click_on('#lines')
    see('lines: told apart in the graph', bool(p.place('work work.c:31')), True)


def deep(b):
    p = Page(b, 'deep')
    see('deep: opens below what all have', p.zoomed() != 'all', True)
    see('deep: not scrolled', b.run("byId('graph').scrollTop"), 0)
    see('deep: rows that are seen, wide and named', b.run('''(() => { const g = main.graph, t = g.tree; let n = 0;
        for (let i = g.zoom; i < t.end[g.zoom]; i++) { const y = g.y(g.row(t.depth[i]));
            n += y >= 0 && y + ROW <= g.viewHeight && t.total[i] * g.scale > 600 && /^level_/.test(g.name(i)); }
        return n; })()''') > 20, True)
    see('deep: to the leaf', p.place('level_149')[1] < 770, True)
    b.key('Escape')
    see('deep: Escape shows all', p.zoomed(), 'all')
    again = Page(b, 'deep', 'flame=1')
    see('deep: as a flame graph, too', 0 < again.place('level_149')[1] < 770, True)


def empty(b):
    p = Page(b, 'empty')
    see('empty: says nothing was', p.text('#total'), '0 samples')
    for key in ('2', '3', '4', '5', '1', 'l', 'i'):
        b.key(key, key)
    see('empty: all views', b.run('state.view'), 'graph')


def themes(b):
    back = "getComputedStyle(document.body).backgroundColor"
    Page(b, 'burst')
    light = b.run(back)
    b.dark(True)
    time.sleep(0.2)
    see('theme: dark as the system says', b.run(back) != light, True)
    b.key('d', 'd')
    see('theme: light as the person says', b.run(back), light)
    b.key('d', 'd')
    b.dark(False)
    see('theme: dark as the person says', b.run(back) != light, True)
    b.run("localStorage.removeItem('rawprof-theme')")


SPEED = '''(async () => {
    const frame = () => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
    const out = {}, measure = async (name, f) => { const times = [];
        for (let i = 0; i < 5; i++) { await frame(); const t = performance.now(); f(i); times.push(performance.now() - t); }
        out[name] = times.sort((a, b) => a - b)[2]; };
    const heavy = main.graph.tree.children(main.graph.tree.widest(main.graph.tree.widest(0)))[0];
    await measure('zoom', i => zoomTo(i % 2 ? 0 : heavy));
    await measure('search', i => search(['f', 'fun', 'function_1', '_2.*int', 'module_3'][i]));
    search('');
    await measure('drag', i => select(i * 1e6, 5e6 + 3e6 * i, false));
    setView('table');
    await measure('drag over the table', i => select(i * 1e6, 5e6 + 3e6 * i, false));
    return out; })()'''


def speed(b):
    start = time.time()
    p = Page(b, 'many')
    print(f'note: 50,000 stacks open in {time.time() - start:.1f} s')
    see('many: stacks', b.run('new Set(samples.node).size'), 50000)
    see('many: the total is the report\'s', p.total(), b.run('data.types[0].total'))
    for name, ms in b.run(SPEED).items():
        print(f'note: 50,000 stacks, {name}: {ms:.0f} ms')
        see(f'many: {name} answers', ms < 3000, True)


def svg(b):
    Page(b, 'deep', ending='svg')
    see('svg: opens where the root is', b.run('''(() => { const r = document.querySelector('g.f rect').getBoundingClientRect();
        return r.top >= 0 && r.bottom <= innerHeight; })()'''), True)
    Page(b, 'burst', ending='svg')
    b.click(*b.run('''(() => { const r = [...document.querySelectorAll('g.f')].find(
        g => g.querySelector('title').textContent.startsWith('send_reply')).getBoundingClientRect();
        return [r.left + r.width / 2, r.top + r.height / 2]; })()'''))
    address = b.run('location.hash')
    see('svg: a click zooms', bool(re.fullmatch(r'#x=\d+&y=4', address)), True)
    b.key('F3')
    b.type('tcp')
    see('svg: search', b.run("document.querySelector('#matched').textContent"), 'Matched: 20.5%')
    Page(b, 'burst', address[1:] + '&s=main', ending='svg')
    see('svg: an address is restored', b.run("document.querySelectorAll('g.parent').length"), 4)


def recorded(b):
    """A page of a recording: its total, for the shell to compare."""
    if os.path.exists(f'{FOLDER}/recorded.html'):
        p = Page(b, 'recorded')
        print(f'total: {p.total()}')


def main():
    b = Browser(sys.argv[1])
    try:
        for part in (graph, colors, search, heat_map, functions, thread_rows, lines, deep, empty, themes, speed, svg, recorded):
            b.errors.clear()
            try:
                part(b)
            except Exception as e:  # what follows is looked at all the same
                see(f'{part.__name__}: to the end', f'{type(e).__name__} {e}', 'no error')
            see(f'{part.__name__}: no errors in the console', b.errors, [])
    finally:
        b.close()


main()
