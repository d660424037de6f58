#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `make bench-unwind`: how whole are user stacks where tables are missing, or processes too short
# for anyone to read what they map? Root; two minutes. A row says why it was left out, if it was.
# ONLY=Go,forks: those rows.
set -u
cd "$(dirname "$0")/../.." || exit 1
rawprof=$(realpath "${RAWPROF:-./rawprof}")
only=${ONLY:+,$ONLY,}
here=$PWD/bench/unwind
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# row NAME NEEDS COMMAND: NEEDS are programs without which it is skipped.
row() {
	local need
	[ -z "$only" ] || [[ $only == *,${1%% *},* ]] || return 0
	echo "  UNWIND  $1" >&2
	for need in $2; do
		command -v "$need" >/dev/null && continue
		echo "| $1 | skipped: no $need | | | | | |"
		return
	done
	rm -f "$tmp/profile.json"
	(cd "$tmp" && timeout 120 "$rawprof" cpu -q -F 499 --user -o profile.json -- sh -c "$3") \
		>/dev/null 2>"$tmp/err"
	if [ ! -s "$tmp/profile.json" ]; then
		echo "| $1 | failed: $(head -n 1 "$tmp/err") | | | | | |"
		return
	fi
	/usr/bin/python3 "$here/judge.py" --whole "$1" "$tmp/profile.json"
}

mkdir "$tmp/c"
for i in $(seq 200); do
	cat >"$tmp/c/f$i.c" <<-EOT
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		int f$i(int n)
		{
			char b[64];

			snprintf(b, sizeof(b), "%d", n);
			return atoi(b) + (int)strlen(b);
		}
	EOT
done
printf '%s\n' 'all: $(patsubst %.c,%.o,$(wildcard *.c))' '%.o: %.c ; gcc -O2 -c $<' >"$tmp/c/Makefile"
gcc -O2 -o "$tmp/forks" "$here/forks.c" || exit 1
command -v mcs >/dev/null && mcs -out:"$tmp/work.exe" "$here/work.cs"
command -v ld.lld >/dev/null && gcc -O2 -D_GNU_SOURCE -fno-builtin -fuse-ld=lld -o "$tmp/plt" tests/workloads/plt.c
command -v musl-gcc >/dev/null && musl-gcc -O2 -static -o "$tmp/musl" "$here/musl.c"
if command -v go >/dev/null; then
	GOCACHE=$tmp/cache GO111MODULE=off HOME=$tmp go build -o "$tmp/go" "$here/work.go" &&
		strip -o "$tmp/go-stripped" "$tmp/go"
fi

echo "By bench/unwind/more.sh, $(date -u +%Y-%m-%d), Linux $(uname -r), $(nproc) CPUs, 499 Hz," \
	"load $(cut -d ' ' -f 1 /proc/loadavg) at the beginning."
echo
echo '| program | user stacks | whole, % | return addresses | no call before | code of no file | not whole |'
echo '|---|---|---|---|---|---|---|'
row "Go" go "./go"
row "Go-stripped" go "./go-stripped"
row "OpenJDK" "java javac" "cp $here/Work.java . && javac Work.java && java Work"
row "guile" guile "guile --no-auto-compile -c \
	'(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (fib 32)'"
row "GHC (shellcheck)" shellcheck "for i in 1 2 3 4 5; do shellcheck $PWD/tests/cli/lib.sh; done"
row "PCRE (grep -P)" grep "yes 'the quick brown fox jumps over the lazy dog 12345' | head -c 400000000 |
	grep -cP '(\\w+)\\s+\\1|z[aeiou]+\\d{6}'"
row "LLVM (numba)" numba "/usr/bin/python3 $here/work_numba.py"
row "Mono" "mono mcs" "mono work.exe"
row "lld" ld.lld "./plt"
# A boot sector that counts in a circle.
{ printf '\100\353\375' && head -c 507 /dev/zero && printf '\125\252'; } >"$tmp/boot"
row "QEMU (TCG)" qemu-system-x86_64 "timeout 6 qemu-system-x86_64 -accel tcg -display none -nodefaults \
	-drive file=boot,format=raw"
video="ffmpeg -loglevel error -f lavfi -i testsrc2=rate=25"
row "ffmpeg (x264)" ffmpeg "$video:size=640x360:duration=6 -c:v libx264 -f null -"
row "ffmpeg-x265" ffmpeg "$video:size=480x270:duration=2 -c:v libx265 -f null -"
command -v dav1d >/dev/null && command -v ffmpeg >/dev/null &&
	sh -c "$video:size=640x360:duration=8 -c:v libsvtav1 $tmp/video.ivf" >/dev/null 2>&1
row "dav1d" "dav1d ffmpeg" "for i in 1 2 3 4 5 6; do dav1d -q -i video.ivf -o /dev/null --muxer null; done"
row "gmp (ecm)" ecm "echo '2^1061-1' | timeout 6 ecm -q 3e6"
row "musl, static" musl-gcc ./musl
row "emacs, deep lisp" emacs "emacs -Q --batch --eval '(progn (setq max-lisp-eval-depth 10000)
	(defun deep (n) (if (= n 0) 0 (+ 1 (deep (- n 1))))) (dotimes (i 3000) (deep 400)))'"
row "rustc" rustc "echo 'fn main() { println!(\"{}\", (0..9).map(|x| x * 2).sum::<i32>()); }' >a.rs
	rustc -O a.rs && rustc -O a.rs"
row "clang" clang "clang -c -O2 c/f1.c && clang -c -O2 c/f2.c"
row "make -j2 (C files)" "make gcc" "make -C c -j2"
row "shell loop" "ls sort sed" 'i=0
	while [ $i -lt 300 ]; do i=$((i + 1)); ls /usr/bin | head -50 | sort | sed s/a/b/; done'
row "forks" gcc "./forks 10000"
row "forks, exec" gcc "./forks 2000 /bin/true"
