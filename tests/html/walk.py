# SPDX-License-Identifier: BSD-2-Clause
"""walk.py CHROMIUM FOLDER: uses the pages of walks in FOLDER (rawprof explain --step --html) with mouse and keys.
Prints what check.py prints. A page that is not in FOLDER is not looked at: the shell knows which can be made."""
import json
import os
import re
import sys
import time

sys.path.insert(0, os.path.dirname(__file__))
from devtools import Browser

FOLDER = os.path.abspath(sys.argv[2])

# The number of the first step that has a property; -1 if none has.
STEP = 'data.steps.findIndex((s, n) => {})'


def see(name, actual, expected):
    print(f'{name}\t{actual}\t{expected}'.replace('\n', ' '))


class Walk:
    def __init__(self, browser, name):
        self.b = browser
        self.name = name
        start = time.time()
        browser.open(f'file://{FOLDER}/{name}.html')
        usable = browser.run("performance.getEntriesByType('navigation')[0].domComplete")
        print(f'note: the walk {name} is usable after {usable:.0f} ms, seen so after {1000 * (time.time() - start):.0f} ms')

    def see(self, what, actual, expected):
        see(f'{self.name}: {what}', actual, expected)

    def now(self):
        return self.b.run('now')

    def key(self, key, start):
        """The step that a key leads to from another."""
        self.b.run(f'go({start})')
        self.b.key(key, key if len(key) == 1 else None)
        return self.now()

    def point(self, selector):
        self.b.run(f'document.querySelector({json.dumps(selector)}).scrollIntoView({{ block: "center" }})')
        x, y = self.b.run(f'''(() => {{ const r = document.querySelector({json.dumps(selector)}).getBoundingClientRect();
            return [r.left + Math.min(r.width, 200) / 2, r.top + r.height / 2]; }})()''')
        self.b.mouse('Moved', x, y)

    def lit(self, where):
        """The instructions that are lit, by what shows them."""
        return self.b.run(f"[...new Set([...document.querySelectorAll('{where}.lit')].map(e => e.dataset.insn))].join()")


def keys(w):
    b, last = w.b, w.b.run('data.steps.length - 1')
    for key in ('ArrowRight', 'l', ' '):
        w.see(f'{key!r}: a step forward', w.key(key, 3), 4)
    for key in ('ArrowLeft', 'h'):
        w.see(f'{key!r}: a step back', w.key(key, 3), 2)
    for key in ('Home', 'g'):
        w.see(f'{key!r}: the first step', w.key(key, 3), 0)
    for key in ('End', 'G'):
        w.see(f'{key!r}: the last', w.key(key, 3), last)
    again = b.run(STEP.format('data.steps.findIndex(o => o.insn === s.insn) < n'))
    before = b.run(f'data.steps.findLastIndex((s, n) => n < {again} && s.insn === data.steps[{again}].insn)')
    for key in ('ArrowUp', 'k'):
        w.see(f'{key!r}: the visit before', w.key(key, again), before)
    for key in ('ArrowDown', 'j'):
        w.see(f'{key!r}: the next visit', w.key(key, before), again)
    pushed = b.run(STEP.format('s.pushed !== undefined'))
    first = b.run(f'data.paths[data.steps[{pushed}].pushed].first')
    w.see('p: the path that was pushed', w.key('p', pushed), first)
    w.see('p: nothing was pushed', w.key('p', 0), 0)
    w.see(']: the next path', w.key(']', 0), b.run(STEP.format('s.path === 1')))
    w.see('[: the path before', w.key('[', b.run(STEP.format('s.path === 1'))), 0)
    safe = b.run(STEP.format('s.safe && data.paths[s.path].covered'))
    w.see('s: what was safe', w.key('s', b.run(STEP.format('s.safe')) - 1), b.run(STEP.format('s.safe')))
    covers = b.run(f'data.paths[data.steps[{safe}].path].covered.by')
    w.see('m: what covers it', w.key('m', safe), covers)
    b.run(f'go({safe})')
    said = b.run("document.querySelector('#state .safe').textContent")
    w.see('safe: names the earlier state', said.split(',')[0], f'safe: covered at step {covers}')
    b.click_on('#state .safe')
    w.see('safe: a click goes there', w.now(), covers)
    for key, kind in (('x', 'xlated'), ('c', 'machine')):
        if b.run(f"data.instructions.some(i => (i['{kind}'] || []).length)"):
            seen = f"document.querySelector('.sub.{kind}').getClientRects().length"
            w.see(f'{key}: hidden', b.run(seen), 0)
            b.key(key, key)
            w.see(f'{key}: shown', b.run(seen), 1)


def help_of(w):
    w.b.key('?', '?')
    w.see('?: opens', w.b.run("document.getElementById('help').open"), True)
    named = w.b.run("[...document.querySelectorAll('#help dt')].map(e => e.textContent).join(' ')").split()
    w.see('?: names the keys, and those of the terminal', ''.join(sorted(named)),
          ''.join(sorted(['\u2192', '\u2190', '\u2193', '\u2191', 'space', 'Home', 'End', *'lhjkgGspmxc?[]'])))
    at = w.now()
    w.b.key('ArrowLeft')
    w.see('?: other keys wait', w.now(), at)
    w.b.key('Escape')
    w.see('?: Escape closes', w.b.run("document.getElementById('help').open"), False)


def hover(w, machine):
    b = w.b
    b.run('go(0)')
    insn = b.run("data.instructions.findLast(i => i.visits && !/exit/.test(i.text)).insn")
    shown = "document.querySelector('#state [data-insn]').dataset.insn"
    w.point(f'#listing .row[data-insn="{insn}"]')
    w.see('hover: the instruction', w.lit('#listing .row'), insn)
    w.see('hover: the graph has it', b.run(f"document.querySelector('#graph g.lit').dataset.has.split(' ').includes('{insn}')"), True)
    w.see('hover: its state', b.run(shown), insn)
    w.see('hover: the step stays', w.now(), 0)
    w.point('#at')
    w.see('hover: ends', w.lit('') + ' ' + b.run(shown), ' 0')
    if machine:
        for kind in ('xlated', 'machine'):
            w.point(f'.sub.{kind}')
            at = b.run(f"document.querySelector('.sub.{kind}').dataset.insn")
            w.see(f'hover: from {kind}', [w.lit('#listing .row'), w.lit('.sub.xlated'), w.lit('.sub.machine')], [at] * 3)
    w.point('#graph g')
    w.see('hover: from the graph', w.lit('#listing .row'), b.run("document.querySelector('#graph g').dataset.insn"))
    w.point('#paths [data-path="1"]')
    w.see('hover: a path, all of it', w.lit('#listing .row'), b.run(
        "[...new Set(data.steps.filter(s => s.path === 1).map(s => s.insn))].sort((a, b) => a - b).join()"))
    w.point('#at')


def states(w):
    b = w.b
    b.run('go(%d)' % b.run(STEP.format("s.after !== undefined && !s.safe && String(data.states[s.before]) !== String(data.states[s.after])")))
    changed = b.run('''(() => { const s = data.steps[now], a = places(s.before), z = places(s.after);
        return [...new Set([...a.keys(), ...z.keys()])].filter(p => a.get(p) !== z.get(p)).join(); })()''')
    w.see('state: what changed is marked', b.run("[...document.querySelectorAll('#state .changed th')].map(e => e.textContent).join()"), changed)
    w.see('state: something did', changed != '', True)
    bits = b.run(STEP.format("!s.safe && s.after !== undefined && [...places(s.after).values()].some(v => data.values[v].bits)"))
    if bits >= 0:
        b.run(f'go({bits})')
        text = b.run("document.querySelector('#state .bits').textContent")
        w.see('state: a number as 64 places', bool(re.fullmatch(r'([x01]{8} ){7}[x01]{8}', text)), True)
        w.see('state: none is cut off', b.run(
            "document.querySelector('#state .bits').lastChild.getBoundingClientRect().right <= document.querySelector('#state').getBoundingClientRect().right"), True)
    return bits >= 0


def precision(w):
    """Lines backwards from the step that asked, and the places at each row."""
    b = w.b
    chain = b.run("data.precise.find(c => new Set(c.marks.map(m => data.steps[m[0]].insn)).size > 2)")
    b.run(f'go({chain["step"]})')
    rows = {}
    for step, *which in chain['marks']:
        at = b.run(f'data.steps[{step}].insn')
        rows[at] = rows.get(at, []) + [p for p in which if p not in rows.get(at, [])]
    w.see('precision: rows', b.run("[...document.querySelectorAll('.precise')].map(e => [Number(e.dataset.insn), e.dataset.exact])"),
          [[at, ' '.join(rows[at])] for at in sorted(rows)])
    w.see('precision: lines', b.run("document.querySelectorAll('svg.exact path').length") >= len(rows) - 1, True)
    b.run('go(0)')
    w.see('precision: gone with the step', b.run("document.querySelectorAll('.precise, svg.exact').length"), 0)


def refused(w):
    b = w.b
    w.see('opens where it was refused', w.now(), b.run('data.steps.length - 1'))
    w.see('which is marked', b.run("document.querySelector('#listing .row.refused').dataset.insn"), b.run('data.steps[now].insn'))
    w.see('and why is told', b.run("document.querySelector('#state .refused').textContent"), b.run('`refused: ${data.refused}\\n${data.why}`').replace('\n', ' '))
    help_of(w)
    b.dark(True)
    time.sleep(0.1)
    w.see('dark as the system says', b.run("getComputedStyle(document.documentElement).colorScheme + matchMedia('(prefers-color-scheme: dark)').matches"),
          'light darktrue')
    b.dark(False)


def accepted(w):
    keys(w)
    help_of(w)
    hover(w, w.b.run("['xlated', 'machine'].every(k => data.instructions.some(i => (i[k] || []).length))"))
    precision(w)


def cpu_sample(w):
    accepted(w)
    w.see('state: has a number of which bits are known', states(w), True)


def by_loop(w):
    accepted(w)
    states(w)
    w.see('hot spots: the loop', w.b.run("[...document.querySelectorAll('#listing .hot')].map(e => e.parentNode.dataset.insn).join()"), '4,5,6,7')


def main():
    b = Browser(sys.argv[1])
    try:
        for name, look in (('refused', refused), ('no_result', refused), ('cpu_sample', cpu_sample), ('by_loop', by_loop)):
            if not os.path.exists(f'{FOLDER}/{name}.html'):
                continue
            b.errors.clear()
            try:
                look(Walk(b, name))
            except Exception as e:  # what follows is looked at all the same
                see(f'{name}: to the end', f'{type(e).__name__} {e}', 'no error')
            see(f'{name}: no errors in the console', b.errors, [])
    finally:
        b.close()


main()
