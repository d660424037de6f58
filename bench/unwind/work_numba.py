# SPDX-License-Identifier: BSD-2-Clause
"""Functions that LLVM compiles while the program runs, for bench/unwind/more.sh: four seconds."""
import time

import numba


@numba.njit
def leaf(n):
    s = 0
    for i in range(n):
        s = (s * 31 + i) % 1000003
    return s


@numba.njit
def tables(n):
    seen = {}
    total = 0
    for i in range(n):
        total += leaf(1000 + i)
        seen[i % 50] = total
    return total + len(seen)


tables(10)
end = time.monotonic() + 4
while time.monotonic() < end:
    tables(500)
