#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Frames of PHP, Ruby and Perl between native ones: what an interpreter says of itself is shown, name by name and line by
# line.
. "$(dirname "$0")/lib.sh"

need_profile
if [ "$(uname -m)" != x86_64 ]; then
	skip 'frames of PHP, Ruby and Perl' 'only on x86-64 so far'
	finish
fi
run "$rawprof" cpu --python-only -- true
if grep -q 'no frames of Python here' "$err"; then
	skip 'frames of PHP, Ruby and Perl' 'not on this kernel'
	finish
fi
export LC_ALL=C.UTF-8

# stacks MARK FILE: those of a language alone, as far as to rest(), which has more than one line.
stacks() {
	MARK=$1 awk '{ sub(/ [0-9]+$/, ""); n = split($0, f, ";"); s = ""
		for (i = 1; i <= n && f[i] !~ /^(main::)?rest /; i++) {
			at = index(f[i], ENVIRON["MARK"])
			if (at) s = s (s == "" ? "" : ";") substr(f[i], 1, at - 1) substr(f[i], at + 4)
		}
		if (i <= n) print s }' "$2" | sort -u
}

how=(--user --lines --annotations --format folded -o "$tmp/folded")
# as_it_says "NAME MARK COUNT COMMAND...": all stacks that the program tells are there, and no others.
as_it_says() {
	local name mark count mode
	# shellcheck disable=SC2086 # a list
	set -- $1
	name=$1 mark=$2 count=$3
	shift 3
	for mode in spin nap; do
		if [ $mode = spin ]; then
			run "$rawprof" cpu -F 999 "${how[@]}" -- "$@" spin 0.06
		else
			run "$rawprof" offcpu "${how[@]}" -- "$@" nap 0.02
		fi
		[ $status -eq 0 ] || fail "$name $mode" "status $status"
		sort -u "$out" >"$tmp/want"
		stacks "$mark" "$tmp/folded" >"$tmp/got"
		is "$name $mode: it says $count stacks" "$(wc -l <"$tmp/want")" "$count"
		is "$name $mode: they are there" "$(comm -13 "$tmp/got" "$tmp/want")" ''
		is "$name $mode: no others" "$(comm -23 "$tmp/got" "$tmp/want")" ''
		is "$name $mode: no function without a name" "$(grep -cE '\[(php|ruby|perl)\]' "$tmp/folded")" 0
	done
}

if php --version >/dev/null 2>&1; then
	as_it_says "PHP _[h] 15 php $PWD/tests/workloads/frames.php"
	folded -F 999 --user --lines -- php tests/workloads/frames.php spin 0.06
	has 'PHP: a callback between native frames' "$out" \
		'php_execute_script;.*;{main} frames.php:90;usort;[^;]+;.*zend_call_function;compare frames.php:74;rest '
	holds 'PHP: the loop is shown by what it runs' "$(share "$out" ';execute_ex;') < 5"
	folded -F 999 --native -- php tests/workloads/frames.php spin 0.01
	has '--native: the loop' "$out" ';execute_ex'
	lacks '--native: no frame of PHP' "$out" ';({main}|recursion);'
	run "$rawprof" cpu -F 999 --format json -- php tests/workloads/frames.php spin 0.01
	has 'json: its kind' "$out" '"kind":"php"'
	has 'json: its file' "$out" '"file":"[^"]*tests/workloads/frames.php"'
	cat >"$tmp/short.sh" <<-'END'
		for i in 1 2 3 4 5 6; do
			php -n -r 'function soon() { do $u = getrusage(); while ($u["ru_utime.tv_usec"] + $u["ru_stime.tv_usec"] < 80000); } soon();'
		done
	END
	folded -F 999 --user -- sh "$tmp/short.sh"
	holds 'PHP: processes of 50 ms' "$(share "$out" ';{eval};soon') > 20"
	holds 'PHP: processes of 50 ms: names' "$(share "$out" '\[php\]') < 1" # of a process's first moment
	# On a busy machine it sleeps before anybody has seen that it is PHP: not every time.
	run "$rawprof" wall --lines --user --format folded -o "$tmp/folded" -- php -r 'function nap() { usleep(300000); } for ($i = 0; $i < 3; $i++) nap();'
	has 'PHP: wall' "$tmp/folded" ";{eval} Command line code:1;nap Command line code:1;usleep;"
else
	skip 'frames of PHP' 'no php'
fi

if ruby --version >/dev/null 2>&1; then
	as_it_says "Ruby _[r] 27 ruby $PWD/tests/workloads/frames.rb"
	folded -F 999 --user --lines -- ruby tests/workloads/frames.rb spin 0.06
	has 'Ruby: a block between native frames' "$out" \
		';rb_vm_exec;<main> frames.rb:83;each;[^;]+;.*;rb_ary_each;.*;rb_vm_exec;block in <main> frames.rb:83;rest '
	folded -F 999 --native -- ruby tests/workloads/frames.rb spin 0.01
	has '--native: the loop' "$out" ';rb_vm_exec;\[libruby[^;]*\]'
	lacks '--native: no frame of Ruby' "$out" ';(<main>|recursion);'
	run "$rawprof" cpu -F 999 --format json -- ruby tests/workloads/frames.rb spin 0.01
	has 'json: its kind' "$out" '"kind":"ruby"'
	has 'json: its file' "$out" '"file":"[^"]*tests/workloads/frames.rb"'
	cat >"$tmp/short.sh" <<-'END'
		for i in 1 2 3 4 5 6; do
			ruby --disable-gems -e 'def soon; while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) < 0.1; end; end; soon'
		done
	END
	folded -F 999 --user -- sh "$tmp/short.sh"
	holds 'Ruby: processes of 50 ms' "$(share "$out" ';<main>;soon') > 20"
	holds 'Ruby: processes of 50 ms: names' "$(share "$out" '\[ruby\]') < 1" # of a process's first moment
	run "$rawprof" wall --lines --user --format folded -o "$tmp/folded" -- \
		ruby -e 'q = Queue.new; Thread.new { sleep 0.3; q << 1 }; def waits(q) = q.pop; waits(q)'
	has 'Ruby: wall, who waits for a queue' "$tmp/folded" ';<main> -e:1;waits -e:1;pop;'
	has 'Ruby: wall, who sleeps' "$tmp/folded" ';block in <main> -e:1;sleep;'
else
	skip 'frames of Ruby' 'no ruby'
fi

if perl -MConfig -e 'exit !($Config{version} =~ /^5\.36\./ && $Config{usethreads})' 2>/dev/null; then
	as_it_says "Perl _[l] 30 perl $PWD/tests/workloads/frames.pl"
	folded -F 999 --user --lines -- perl tests/workloads/frames.pl spin 0.06
	has 'Perl: what sorts calls' "$out" ';\(main\) frames.pl:125;Perl_pp_sort;[^(]*;main::once frames.pl:89;main::rest '
	has 'Perl: an eval in what C has called goes on in its place' "$out" \
		';Perl_pp_entersub;[^(;]*;[^(;]*;main::__ANON__ frames.pl:121;\(eval\) frames.pl:121;main::rest '
	has 'Perl: the program is compiled' "$out" ';main;\(main\) frames.pl:47;Perl_yyparse;.*;main::BEGIN frames.pl:46;main::rest '
	has 'Perl: the program is over' "$out" ';perl_destruct;[^(]*;main::END frames.pl:167;main::rest '
	holds 'Perl: the loop is shown by what it runs' "$(share "$out" ';Perl_runops_standard;') < 5"
	folded -F 999 --native -- perl tests/workloads/frames.pl spin 0.01
	has 'Perl: --native: the loop' "$out" ';Perl_runops_standard'
	lacks 'Perl: --native: no frame of Perl' "$out" ';(\(main\)|main::recursion);'
	run "$rawprof" cpu -F 999 --format json -- perl tests/workloads/frames.pl spin 0.01
	has 'Perl: json: its kind' "$out" '"kind":"perl"'
	has 'Perl: json: its file' "$out" '"file":"[^"]*tests/workloads/frames.pl"'
	cat >"$tmp/short.sh" <<-'END'
		for i in 1 2 3 4 5 6; do
			perl -e 'sub soon { my $end = (times)[0] + 0.05; 1 while (times)[0] < $end } soon()'
		done
	END
	folded -F 999 --user -- sh "$tmp/short.sh"
	holds 'Perl: processes of 50 ms' "$(share "$out" ';.main.;main::soon') > 20"
	holds 'Perl: processes of 50 ms: names' "$(share "$out" '\[perl\]') < 1" # of a process's first moment
	run "$rawprof" wall --lines --user --format folded -o "$tmp/folded" -- \
		perl -e 'sub nap { select undef, undef, undef, 0.1 } nap() for 1 .. 6'
	has 'Perl: wall' "$tmp/folded" ';\(main\) -e:1;main::nap -e:1;Perl_pp_sselect;'
	run "$rawprof" mem --user --format folded -o "$tmp/folded" -- perl -e 'sub grow { push @b, [(1) x 100000] } grow() for 1 .. 9'
	has 'Perl: mem' "$tmp/folded" ';\(main\);main::grow;'
	cat >"$tmp/threads.pl" <<-'END'
		use threads;
		sub spin { my $end = time + 2; 1 while time < $end }
		sub other { my $end = time + 2; 1 while time < $end }
		$_->join for threads->create(\&spin), threads->create(\&other);
	END
	folded -F 499 --user -- perl "$tmp/threads.pl"
	holds 'Perl: two threads' "$(share "$out" ';main::spin') > 20 && $(share "$out" ';main::other') > 20"
	lacks 'Perl: a thread has not the program' "$out" '\(main\);.*main::spin'
else
	skip 'frames of Perl' 'no perl 5.36 for several threads'
fi

# ---- a program that lies

for fake in fakephp fakeperl; do
	for how in circle nowhere huge; do
		folded -F 999 --user -- "$work/$fake" $how 0.2
		holds "$fake $how: native frames" "$(share "$out" ';main;.*;burn') > 80"
		is "$fake $how: nothing is lost" "$(ledger LOST)" 0
		ledger_closes "$fake $how"
	done
done
for how in many nowhere huge random; do
	folded -F 999 --user -- env LD_PRELOAD="$work/fakeruby" FAKERUBY="$how 0.2" true
	holds "Ruby, $how: native frames" "$(share "$out" ';begin;.*;burn') > 80"
	is "Ruby, $how: nothing is lost" "$(ledger LOST)" 0
	ledger_closes "Ruby, $how"
done
cp "$work/fakephp" "$tmp/php9"
sed -i 's/PHP.8\.2\.0/PHP\/9.8.0/' "$tmp/php9"
folded -F 999 --user -- "$tmp/php9" circle 0.1
has 'a version that is not known: says so' "$err" 'php9: PHP 9\.8 is not known \(8\.2 is\): its stacks are native'
holds 'a version that is not known: native frames' "$(share "$out" ';main;.*;burn') > 80"
# From 3.3 on Ruby's library has few symbols.
burns='i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done'
if echo 'const char ruby_version[] = "3.9.1"; int at_least(void) { return 1; }' |
	gcc -shared -fPIC -o "$tmp/libruby9.so" -x c - 2>/dev/null; then
	folded -F 999 --user -- env LD_PRELOAD="$tmp/libruby9.so" sh -c "$burns"
	has 'a Ruby that is not known: says so' "$err" 'libruby9.so: Ruby 3\.9 is not known .3\.1 is.: its stacks are native'
else
	skip 'a Ruby that is not known' 'no compiler'
fi
printf '\077' >"$tmp/version"
objcopy --update-section perl_version="$tmp/version" "$work/fakeperl" "$tmp/perl9"
folded -F 999 --user -- "$tmp/perl9" circle 0.1
has 'a Perl that is not known: says so' "$err" \
	'perl9: Perl 5\.63 is not known .5\.36 for several threads is.: its stacks are native'
holds 'a Perl that is not known: native frames' "$(share "$out" ';main;.*;burn') > 80"
finish
