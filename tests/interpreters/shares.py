# SPDX-License-Identifier: BSD-2-Clause
"""shares.py SECONDS: half of its CPU time in one(), three tenths in two(), two tenths in three()."""
import sys
import time


def burn(share):
    end = time.process_time() + share / 100
    while time.process_time() < end:
        sum(range(200))


def one():
    burn(0.5)


def two():
    burn(0.3)


def three():
    burn(0.2)


stop = time.process_time() + float(sys.argv[1])
while time.process_time() < stop:
    one()
    two()
    three()
