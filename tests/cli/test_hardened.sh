#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What the ELF headers of the product say of a fault in a parser: no address is known beforehand, no stack is executed,
# nothing that is called through can be overwritten, and overrun buffers are noticed.
. "$(dirname "$0")/lib.sh"
if ! command -v readelf >/dev/null; then
	skip 'ELF headers' 'no readelf'
	finish
fi
readelf -hlWd "$rawprof" >"$out" 2>"$err"
if ! grep -q 'Requesting program interpreter' "$out"; then
	has 'stack: not executable' "$out" 'GNU_STACK .* RW '
	has 'relocated data: read-only' "$out" 'GNU_RELRO'
	finish
fi
has 'position independent' "$out" 'Type: +DYN'
has 'stack: not executable' "$out" 'GNU_STACK .* RW '
has 'relocated data: read-only' "$out" 'GNU_RELRO'
has 'bound before it starts' "$out" 'BIND_NOW|Flags:.* NOW'
# Of the library's own files: others that are linked may have been built so in any case.
if [ -r build/librawprof.a ]; then
	nm build/librawprof.a >"$out" 2>"$err"
	has 'stack: guarded' "$out" 'U __stack_chk_(fail|guard)'
	has 'calls are checked' "$out" 'U __[a-z]+_chk$'
else
	skip 'stack: guarded; calls are checked' 'no build/librawprof.a'
fi
finish
