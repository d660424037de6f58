#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# For `make check`: every fuzz target, 10 s each (CHECK_FUZZ_SECONDS), with the driver that makes the same inputs
# everywhere. First come the corpora, so that what once broke a target is tried each time.
set -eu
for t in tests/fuzz/*.c; do
	name=$(basename "$t" .c)
	[ "$name" = driver ] || set -- "$@" "${BUILD:-build}/fuzz/$name"
done
exec scripts/run-fuzz "${CHECK_FUZZ_SECONDS:-10}" "$@"
