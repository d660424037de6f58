#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Code that a program generates and jumps into, without frame pointers: its stacks are whole where the size of its frame is
# known, and nothing is made up where it is another one.
. "$(dirname "$0")/lib.sh"

need_profile
if [ "$(uname -m)" != x86_64 ]; then
	skip 'generated code' 'only on x86-64 so far'
	finish
fi

# whole: per cent of the stacks of the last recording that are.
whole() { sed -n 's/^user stacks: \([0-9.]*\) % whole.*/\1/p' "$err"; }

# ---- a program with the name of a library, whose frames are known
lib=$tmp/libpypy3.9-c.so
cp "$work/generated" "$lib"
for words in 23 0; do
	folded -F 999 --user --call-graph eh -- "$lib" $words 0.5
	holds "$words words: who called it" "$(share "$out" ';main;calls_generated;\[anon\] ') > 90"
	holds "$words words: whole" "$(whole) > 95"
done
for words in 22 24 29; do
	folded -F 999 --user --call-graph eh -- "$lib" $words 0.5
	holds "$words words: none is made up" "$(share "$out" ';main') < 10"
done
folded -F 999 --user --call-graph eh -- "$work/generated" 23 0.5
holds 'another name: it is not known' "$(share "$out" ';main') < 10"

# ---- functions in memory: their rules are computed once a walk went astray from them
folded -F 999 --user -- "$work/compiled" 1
holds 'functions in memory: whole' "$(whole) > 95"
holds 'functions in memory: of two kinds, and who called them' "$(share "$out" ';main;calls_compiled;\[anon\];\[anon\] ') > 50"
holds 'functions in memory: none has other callers' \
	"$(share "$out" ';calls_compiled;((\[anon\];){2}.*)?\[anon\] |;main;\[anon\]|;\[anon\];[^[]') < 2"

# ---- code without FDEs that was jumped to, whose frame is told by who jumped (GHC's StgRun())
folded -F 999 --user -- "$work/jumped" 0.5
holds 'jumped to: whole' "$(whole) > 97"
holds 'jumped to: who jumped is not in it, who called that is' "$(share "$out" ';main;calls_jumps;jumped_to ') > 25"
holds 'jumped to: what it calls' "$(share "$out" ';main;calls_jumps;jumped_to;called;spin ') > 25"
folded -F 999 --user -- "$work/jumped" 0.03
holds 'jumped to: from the first sample' "$(whole) > 85"
if command -v shellcheck >/dev/null; then
	folded -F 999 --user -- sh -c 'shellcheck "$1"/test_[l-m]*.sh || :' sh "$(dirname "$0")"
	holds 'shellcheck, compiled by GHC: whole' "$(whole) >= 99"
else
	skip shellcheck 'not installed'
fi

# ---- programs that do so; a few samples are of their first milliseconds

# is_whole NAME PERCENT COMMAND...: at least so many of its stacks
is_whole() {
	local name=$1 percent=$2
	shift 2
	folded -F 999 --user -- "$@"
	holds "$name: whole" "$(whole) >= $percent"
	holds "$name: code that it has generated" "$(share "$out" '\[anon\]|\{main\}|/dev/zero') > 15"
}
if command -v guile >/dev/null; then
	is_whole guile 99 guile --no-auto-compile -c '(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (fib 34)'
else
	skip guile 'not installed'
fi
echo '(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (display (fib 40))' >"$tmp/fib.scm"
for scheme in 'chezscheme --script' 'racket -f'; do
	name=${scheme% *}
	if command -v "$name" >/dev/null; then
		# shellcheck disable=SC2086 # a command and its option
		is_whole "$name" 97 $scheme "$tmp/fib.scm"
	else
		skip "$name" 'not installed'
	fi
done
if command -v qemu-system-x86_64 >/dev/null; then
	# A boot sector that counts in a circle: inc %ax; jmp to it.
	{ printf '\100\353\375' && head -c 507 /dev/zero && printf '\125\252'; } >"$tmp/boot"
	is_whole qemu 97 sh -c 'timeout 4 qemu-system-x86_64 -accel tcg -display none -nodefaults -drive "file=$1,format=raw" || :' sh "$tmp/boot"
else
	skip qemu 'not installed'
fi
if command -v luajit >/dev/null; then
	is_whole luajit 97 luajit -e 'local x = 0 for i = 1, 2e8 do x = x + math.sin(i % 10) end print(x)'
else
	skip luajit 'not installed'
fi
if command -v pypy3 >/dev/null; then
	is_whole pypy3 97 pypy3 -c '
class A:
    def __init__(self, x): self.x = x
print(sum(sum(a.x for a in [A(i) for i in range(100000)]) for j in range(300)))'
else
	skip pypy3 'not installed'
fi
# PCRE makes a function of each pattern, each with a frame of its own size. What is sampled before the first look at them
# has no callers.
yes 'the quick brown fox jumps over the lazy dog 12345 foo_bar' | head -c 2500000 >"$tmp/text"
if echo aab | grep -qP '(a)\1b' 2>/dev/null && ldd "$(command -v grep)" | grep -q pcre2; then
	folded -F 999 --user -- sh -c 'for i in $(seq 100); do cat "$2"; done | grep -cP "$1" || :' \
		sh '(\w+)\s+\1|z[aeiou]+\d{6}' "$tmp/text"
	holds 'grep -P: whole' "$(whole) > 90"
	holds 'grep -P: who called a pattern' "$(share "$out" ';pcre2_jit_match_8;(.*;)?\[anon\]') > 50"
	holds 'grep -P: by whom that was called' "$(share "$out" '(;_start|\+0x[0-9a-f]+\]);__libc_start_main;.*;pcre2_jit_match_8;(.*;)?\[anon\]') > 50"
else
	skip 'grep -P' 'without PCRE'
fi
if command -v php >/dev/null; then
	folded -F 999 --user -- php -r 'function words($s) { for ($n = $i = 0; $i < 4000; $i++)
		$n += preg_match_all("/(\w+)\s+(?:\d+|\w{3}oo)\b/", $s, $m); return $n; }
		echo words(str_repeat("the quick brown fox 123 jumps over lazy dogoo bar ", 800));'
	holds 'php, patterns: whole' "$(whole) > 90"
	holds 'php, patterns: below what has called them' \
		"$(share "$out" ';zend_execute;\{eval\};words;preg_match_all;.*;pcre2_jit_match_8;(.*;)?\[anon\]') > 15"
	holds 'php, patterns: none is in the loop' "$(share "$out" ';\{eval\};words;preg_match_all;\[anon\]') < 3"
else
	skip 'php, patterns' 'no PHP'
fi
php=(php -d opcache.enable_cli=1 -d opcache.jit_buffer_size=16M)
if command -v php >/dev/null && [ "$("${php[@]}" -d opcache.jit=tracing -r 'echo opcache_get_status()["jit"]["on"] ?? 0;' 2>/dev/null)" = 1 ]; then
	cat >"$tmp/work.php" <<-'EOT'
		<?php
		function fib($n) { return $n < 2 ? $n : fib($n - 1) + fib($n - 2); }
		for ($i = 0, $x = 0.0; $i < 200000000; $i++) $x += $i % 7;
		echo fib(35) + $x, "\n";
	EOT
	for jit in function tracing; do
		is_whole "php, $jit" 97 "${php[@]}" -d opcache.jit=$jit "$tmp/work.php"
		# PHP's own start takes a tenth of the time, and more on a busy machine.
		holds "php, $jit: its functions are below what has called them" \
			"$(share "$out" '^php;.*;zend_execute;\{main\}') > 75"
	done
else
	skip 'php with its JIT' 'not installed'
fi
finish
