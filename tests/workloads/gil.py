# SPDX-License-Identifier: BSD-2-Clause
"""gil.py: the thread of holder() keeps the interpreter lock while it sleeps in hold(), the one of
waiter() wants it back after each short sleep of its own. Prints the line where the lock is held and
for how long it was, in nanoseconds."""
import ctypes
import sys
import threading
import time

keeps = ctypes.PyDLL(None)  # calls keep the lock,
lets_go = ctypes.CDLL(None)  # calls without it
held = 0
done = False


def hold():
    keeps.usleep(50000); line = sys._getframe().f_lineno
    return line


def holder():
    global held, done
    for _ in range(10):
        began = time.monotonic()
        line = hold()
        held += int((time.monotonic() - began) * 1e9)
        lets_go.usleep(5000)
    done = True
    print(line, held)


def waiter():
    while not done:
        lets_go.usleep(1000)


threads = [threading.Thread(target=f) for f in (waiter, holder)]
for t in threads:
    t.start()
for t in threads:
    t.join()
