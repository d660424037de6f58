# SPDX-License-Identifier: BSD-2-Clause
"""subinterpreter.py SECONDS: burns so much CPU time in inner() of another interpreter, and as much
again in a second thread's; then in after() of its own."""
import sys
import threading

try:
    import _xxsubinterpreters as interpreters
except ImportError:
    import _interpreters as interpreters

seconds = float(sys.argv[1])
CODE = """import time
def inner():
    end = time.thread_time() + %f
    while time.thread_time() < end: pass
def outer():
    inner()
outer()
""" % seconds


def enter():
    (getattr(interpreters, "run_string", None) or interpreters.exec)(interpreters.create(), CODE)


def after():
    import time
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


enter()
thread = threading.Thread(target=enter)
thread.start()
thread.join()
after()
