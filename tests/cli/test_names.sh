#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What frames are called: source lines, inlined functions, C++ and Rust, separate debug files.
. "$(dirname "$0")/lib.sh"
need_profile

if [ -x "$work/cxx" ]; then
	folded --no-demangle -F 999 -- "$work/cxx" 1
	has '--no-demangle: as the linker knows it' "$out" ';_ZN5store5ShelfIiE5countEm'
	lacks '--no-demangle: nothing is readable' "$out" 'Shelf<int>'
else
	skip '--no-demangle' 'g++ is not installed'
fi

# A symbol may be as long as the file.
if printf 'void n%s(void) { for (;;) ; }\nint main(void) { n%s(); }\n' "$(printf '%05000d' 0)" "$(printf '%05000d' 0)" |
	gcc -x c -fno-inline -o "$tmp/long" - 2>/dev/null; then
	folded --no-demangle -F 999 -d 1 -- "$tmp/long"
	is '--no-demangle: a symbol of 5,001 bytes is cut' "$(grep -oE ';n0{4092}\.\.\.( |;)' "$out" | tr ';' ' ' | sort -u | wc -l)" 1
else
	skip '--no-demangle: a symbol of 5,001 bytes' 'gcc is not installed'
fi

# A stripped program with its symbols in a file beside it.
cp "$work/split" "$tmp/split.debug"
objcopy --remove-section .note.gnu.build-id --only-keep-debug "$tmp/split.debug"
objcopy --strip-all --remove-section .note.gnu.build-id --add-gnu-debuglink="$tmp/split.debug" \
	"$work/split" "$tmp/apart"
folded -F 999 -- "$tmp/apart" 1
near 'symbols in a separate file' "$(share "$out" ';work_60( |;)')" 60 4

# Where the process goes on after its system call is another function, which has nothing to do with it.
folded -F 999 -- "$work/edge" 1
holds 'a system call at the end of a function' "$(share "$out" ';main;last_is_syscall(;|$| )') > 90"
holds 'is not the next function'"'"'s' "$(share "$out" ';next_one') < 1"

# Two files, one after the other at one address: each name in its time.
if command -v "${CC:-gcc}" >/dev/null; then
	for f in alpha beta; do
		printf 'void %s(volatile long *n) { while (*n > 0) --*n; }\n' $f >"$tmp/$f.c"
		"${CC:-gcc}" -shared -nostdlib -fPIC -O1 -fno-omit-frame-pointer -o "$tmp/$f.so" "$tmp/$f.c"
	done
	offset=0x$(nm "$tmp/alpha.so" | sed -n 's/ T alpha$//p')
	folded -F 999 -- "$work/remap" "$tmp/alpha.so" "$tmp/beta.so" "$offset" 2
	near 'remapped: the first file' "$(share "$out" ';main;in_first;alpha( |;)')" 50 5
	near 'remapped: the second' "$(share "$out" ';main;in_second;beta( |;)')" 50 5
	lacks 'remapped: no name of the wrong time' "$out" 'in_first;beta|in_second;alpha'
else
	skip 'remapped code' 'no compiler is installed'
fi

run "$rawprof" cpu --lines --format folded -- "$work/split" 0.1
if grep -q 'built without libdw' "$err"; then
	is 'without libdw: --lines is bad usage' $status 2
	skip 'lines and inlined functions' 'built without libdw'
	finish
fi

# In work.h lies the loop that all three functions have inlined.
folded --inline -F 999 -- "$work/split" 2
near 'inlined: into work_60' "$(share "$out" ';work_60;burn_until( |;)')" 60 4
near 'inlined: into work_30' "$(share "$out" ';work_30;burn_until( |;)')" 30 4
lacks 'inlined: no lines unless asked' "$out" 'work\.h:'
folded -F 999 -- "$work/split" 1
lacks 'nothing inlined unless asked' "$out" 'burn_until'

line_of() { grep -n "$1" "$2" | head -n 1 | cut -d: -f1; }
loop=$(line_of 'i < 100000' tests/workloads/work.h)
call=$(line_of 'work_60(t + ' tests/workloads/split.c)
folded --lines -F 999 -- "$work/split" 2
holds 'lines: of the loop' "$(share "$out" "; ?work_60 work\\.h:$loop( |;)") > 30"
near 'lines: of the call' "$(share "$out" ";main split\\.c:$call;work_60 work\\.h:[0-9]+( |;)")" 60 4
folded --lines --inline -F 999 -- "$work/split" 2
near 'both' "$(share "$out" ";work_60 split\\.c:[0-9]+;burn_until work\\.h:[0-9]+( |;)")" 60 4

run "$rawprof" cpu --lines --inline --samples -F 999 -- "$work/split" 0.3
has 'samples: an inlined function and its line' "$out" "^ +[0-9a-f]{16}  burn_until \\(inlined\\)  .*/work\\.h:[0-9]+$"
has 'samples: the line of the call' "$out" "  work_60\\+0x[0-9a-f]+  .*  .*/split\\.c:[0-9]+$"
run "$rawprof" cpu --lines --inline --format perf -F 999 -- "$work/split" 0.3
has 'perf: inlined' "$out" '^	 +[0-9a-f]+ burn_until \(inlined\)$'
has 'perf: lines below their frames' "$out" '^  .*/work\.h:[0-9]+$'
run "$rawprof" cpu --lines -n 40 -F 999 -- "$work/split" 0.5
has 'table: a row for a line' "$out" " work_60 work\\.h:$loop "

if have_python; then
	run "$rawprof" cpu --lines --inline --format json -o "$tmp/json" -F 999 -- "$work/split" 1
	python3 - "$tmp/json" >"$out" 2>>"$err" <<'PY'
import json, sys
p = json.load(open(sys.argv[1]))
total = good = 0
for s in p["samples"]:
    total += s["values"][0]
    frames = [p["frames"][f] for f in p["stacks"][s["stack"]]][:2]
    if len(frames) == 2 and frames[0]["kind"] == "inlined" and frames[0].get("name") == "burn_until" \
            and frames[0]["file"].endswith("/work.h") and frames[0]["line"] > 0 \
            and frames[0]["address"] == frames[1]["address"] and frames[1]["name"].startswith("work_") \
            and frames[1]["file"].endswith("/split.c"):
        good += s["values"][0]
print("%.1f" % (100 * good / total))
PY
	holds 'JSON: inlined frames with file and line' "$(cat "$out") > 85"
else
	skip 'JSON: inlined frames' 'python3 is not installed'
fi
if command -v go >/dev/null; then
	run "$rawprof" cpu --lines --inline -o "$tmp/p.pb.gz" -F 999 -- "$work/split" 1
	pprof -lines -top "$tmp/p.pb.gz"
	has 'pprof: lines and inlined functions' "$out" "burn_until .*/work\\.h:$loop \\(inline\\)"
else
	skip 'pprof: lines' 'go is not installed'
fi

finish
