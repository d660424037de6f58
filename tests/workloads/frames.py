# SPDX-License-Identifier: BSD-2-Clause
"""Every way that a function of Python calls another, each ending in rest().

frames.py nap SECONDS	each way in a thread of its own, which sleeps there
frames.py spin SECONDS	one way after the other, which burns CPU time there

Prints of each way the stack that it has there, as the interpreter itself tells it: "name file:line",
root first, with ";" in between.
"""
import functools
import os
import sys
import threading
import time

MODE, SECONDS = sys.argv[1], float(sys.argv[2])
OUT = threading.Lock()
until = {}  # of each thread, when it is to end
said = set()


def name_of(code):
    return getattr(code, 'co_qualname', code.co_name)


def say(frame, line):
    """The stack of a frame that is at that line by now."""
    stack = []
    while frame:
        stack.append('%s %s:%d' % (name_of(frame.f_code), os.path.basename(frame.f_code.co_filename), line))
        frame = frame.f_back
        line = frame.f_lineno if frame else 0
    with OUT:
        print(';'.join(reversed(stack)), flush=True)


def rest():
    me = threading.get_ident()
    if me not in said:
        said.add(me)
        say(sys._getframe(), sys._getframe().f_code.co_firstlineno + (6 if MODE == 'nap' else 9))
    if MODE == 'nap':
        while time.time() < until[me]: time.sleep(0.01)
        return 0
    while time.thread_time() < until[me]:
        for _ in range(20000): pass
    return 0


def recursion(n=6):
    if n:
        return recursion(n - 1)
    return rest()


class Outer:
    class Inner:
        def method(self):
            return rest()

        @staticmethod
        def static():
            return rest()

        @property
        def value(self):
            return rest()

        def __lt__(self, other):
            return bool(rest())


def inner_class():
    return Outer.Inner().method()


def static():
    return Outer.Inner.static()


def prop():
    return Outer.Inner().value


def compare():
    return sorted([Outer.Inner(), Outer.Inner()])


def key():
    return sorted([1], key=lambda x: rest())


def nested():
    return list(map(functools.partial(lambda a, b: list(map(lambda c: rest(), [b])), 1), [2]))


def generator():
    def items():
        yield 1
        yield rest()

    def outer():
        yield from items()

    return [x for x in outer()]


def coroutine():
    async def leaf():
        return rest()

    async def root():
        return await leaf()

    try:
        root().send(None)
    except StopIteration:
        pass


def größe():
    def имя():
        def 名前():
            return rest()
        return 名前()
    return имя()


def generated():
    lines = ['def long(x):'] + ['    x = (x + %d) if x < %d else x - 1' % (i, i) for i in range(300)]
    lines += ['    return rest()', '', 'long(1)']
    exec(compile('\n'.join(lines), 'generated.py', 'exec'), {'rest': rest})


def unwinding():
    try:
        raise ValueError
    except ValueError:
        return rest()


def in_with():
    with OUT_OF_THE_WAY:
        return rest()


def far():






    return (
        1 +
        rest()
        + 2
    )


class Often:
    def __init__(self, last):
        if last:
            rest()


def specialized():
    for i in range(100):
        Often(i == 99)


def traced():
    def trace(frame, event, argument):
        if frame.f_code is entered.__code__:
            sys.settrace(None)
            rest()

    def entered():
        pass

    sys.settrace(trace)
    entered()


class Nothing:
    def __enter__(self):
        return self

    def __exit__(self, *what):
        return False


OUT_OF_THE_WAY = Nothing()
WAYS = [recursion, inner_class, static, prop, compare, key, nested, generator, coroutine, größe, generated,
        unwinding, in_with, far, specialized, traced]


def run(way, seconds):
    until[threading.get_ident()] = (time.time() if MODE == 'nap' else time.thread_time()) + seconds
    said.discard(threading.get_ident())
    way()


if MODE == 'nap':
    threads = [threading.Thread(target=run, args=(way, SECONDS)) for way in WAYS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
else:
    for way in WAYS:
        run(way, SECONDS)
