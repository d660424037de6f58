#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rawprof lock: threads of which it is known who waits for whom, and for how long.
. "$(dirname "$0")/lib.sh"

# ---- without any right

# refused NAME MESSAGE ARGS...
refused() {
	run "$rawprof" lock "${@:3}"
	is "$1: status" "$status" 2
	has "$1: says why" "$err" "$2"
}
refused '--by nothing known' 'lock, caller, thread, type, releaser or outcome' --by colour 1
refused '--hist of nothing known' 'type or lock' --hist colour 1
refused '--hist with --by' 'view of its own' --hist type --by lock 1
refused '--stacks with --by' 'for rows' --stacks --by lock 1
refused '--interval of stacks' 'for rows and histograms' --stacks -i 1 1
refused 'a negative --min-wait' 'milliseconds' --min-wait -1 1
refused 'a --type that there is not' 'condvar.*rwsem' --type umutex,foo 1
refused 'a --type too many' 'condvar.*rwsem' --type umutex, 1
refused 'both sides alone' "only locks of programs, or only the kernel's" -U -K 1
run "$rawprof" help lock
for o in --user --kernel --min-wait --type --by --hist --hold --stacks --interval; do
	has "help lock names $o" "$out" "^ +(-., )?$o\b"
done
need_profile

# Who cannot read tracefs, as is usual, has the kernel's locks all the same: BTF tells of them.
few=(--reuid=65534 --clear-groups '--bounding-set=-all,+bpf,+perfmon' '--inh-caps=-all,+bpf,+perfmon'
	'--ambient-caps=-all,+bpf,+perfmon')
if [ -r /sys/kernel/btf/vmlinux ] && setpriv "${few[@]}" test -x "$rawprof" 2>/dev/null &&
	! setpriv "${few[@]}" test -x /sys/kernel/tracing; then
	run setpriv "${few[@]}" "$rawprof" lock 0.2
	is 'without tracefs: status' "$status" 0
	[ ! -d /sys/kernel/tracing/events/lock/contention_begin ] ||
		lacks 'without tracefs: locks of both sides' "$err" 'only locks of programs'
else
	skip 'without tracefs' 'cannot leave rights away, or tracefs is for all'
fi

# rows ARGS...: as Prometheus text in $out, a figure a line; what the program prints in $said.
rows() {
	run "$rawprof" lock --format prometheus -o "$tmp/rows" "$@"
	mv "$out" "$said"
	mv "$tmp/rows" "$out"
	[ $status -eq 0 ] || fail "rawprof lock $*" "status $status"
}
# cell FIGURE LABELS...: the sum of it in rows whose labels match all of these.
cell() {
	local figure=$1 re
	shift
	grep "^rawprof_lock_$figure{" "$out" >"$tmp/cells"
	for re; do
		grep -E -- "$re" "$tmp/cells" >"$tmp/cells.new"
		mv "$tmp/cells.new" "$tmp/cells"
	done
	awk '{ n += $NF } END { print n + 0 }' "$tmp/cells"
}
# within NAME ACTUAL EXPECTED PERCENT: of the expected.
within() { near "$1" "$2" "$3" "$(awk "BEGIN { print $3 * $4 / 100 }")"; }
# The longest line of what the program says is "MICROSECONDS ROUNDS".
waited() { awk 'NF == 2 { print $1 / 1e6 }' "$said"; }

# ---- a system call of 32-bit programs with the number of futex(2): getegid32

"$work/compat" 202 1 >/dev/null 2>&1
if [ $? -eq 77 ]; then
	skip 'calls of 32-bit programs' 'there are none here'
else
	run "$rawprof" lock --user -- "$work/compat" 202 1000
	is 'calls of 32-bit programs: status' "$status" 0
	has 'calls of 32-bit programs: they were made' "$out" '^1000$'
	is 'calls of 32-bit programs: no waits' "$(ledger KEPT)" 0
	is 'calls of 32-bit programs: nothing is lost' "$(ledger LOST)" 0
fi

# ---- each kind of lock: its type, its name, who waits and where, for how long, who let go and where

leaves_nothing_from_here
# pair WHAT TYPE LOCK: ten waits of 20 ms
pair() {
	rows --user -- "$work/lockpair" "$1" 10 20
	ledger_closes "$1"
	is "$1: nothing is lost" "$(ledger LOST)" 0
	labels=('type="'"$2"'"' 'lock="'"$3"'"' 'comm="asker"' 'caller="lookup"')
	within "$1: waits as long as asker says" "$(cell total_seconds "${labels[@]}")" "$(waited)" 5
	holds "$1: at least as long as it was held" "$(cell total_seconds "${labels[@]}") >= 0.199"
}
# released WHAT: keeper let go, in rebuild, every time.
released() { is "$1: who let go, and where" "$(cell waits "${labels[@]}" 'released_in="rebuild"')" 10; }

for case in 'mutex umutex cache_lock' 'pi pi-mutex pi_lock' 'rwlock urwlock table_lock.0x[0-9a-f]+' \
	'sem usemaphore slots' 'waitv futex:any word_of_two' 'heap umutex 0x[0-9a-f]+'; do
	read -r what type lock <<<"$case"
	pair "$what" "$type" "$lock"
	is "$what: ten waits" "$(cell waits "${labels[@]}")" 10
	released "$what"
done
pair cond condvar 'cache_ready.0x[0-9a-f]+'
released cond
pair join join '0x[0-9a-f]+'
is 'join: ten waits' "$(cell waits "${labels[@]}")" 10

pair timeout condvar 'cache_ready.0x[0-9a-f]+'
is 'timeout: all of them are' "$(cell timed_out "${labels[@]}")" 10
is 'timeout: nobody let go' "$(cell waits "${labels[@]}" 'released_in="-"')" 10

rows --user --by outcome -- "$work/lockpair" again 10 20
is 'EAGAIN: no wait' "$(cell waits 'outcome="no wait"' 'type="futex"')" 10
is 'EAGAIN: a column of its own' "$(cell no_wait 'type="futex"')" 10
rows --user --by outcome -- "$work/lockpair" signal 10 20
is 'EINTR: interrupted' "$(cell waits 'outcome="interrupted"' 'type="futex"')" 10
within 'EINTR: waits as long as asker says' "$(cell total_seconds 'outcome="interrupted"')" "$(waited)" 5
rows --user --by outcome -- "$work/lockpair" forever 1 300
is 'a wait without end is one' "$(cell waits 'lock="word_of_two"')" 1
holds 'and has lasted until the end' "$(cell total_seconds 'lock="word_of_two"') > 0.15"
ledger_closes 'a wait without end'

# ---- how long mutexes are held

rows --hold -- "$work/lockpair" mutex 10 20
if [ $status -ne 0 ] && grep -q 'needs uprobes' "$err"; then
	skip '--hold' 'this kernel has no uprobes'
else
	# held FIGURE LABELS...: as cell, of holds
	held() { sed -i 's/^rawprof_lock_hold_/rawprof_lock_/' "$out" && cell "$@"; }
	# On a busy machine keeper has it for a while before asker comes to wait.
	holds '--hold: keeper has it as long as asker waits' \
		"$(held total_seconds 'lock="cache_lock"') >= 0.199 && $(held total_seconds 'lock="cache_lock"') < $(waited) * 1.5"
	is '--hold: both have taken it ten times' "$(held holds 'lock="cache_lock"')" 20
	ledger_closes '--hold'
	rows --hold --by caller -- "$work/lockpair" twice 10 20
	is '--hold: twice is once' "$(held holds 'caller="rebuild"' 'lock="twice_lock"')" 10
	holds '--hold: until the last unlock' "$(held total_seconds 'caller="rebuild"') >= 0.199"
	rows --hold -- "$work/lockpair" cond 10 20
	holds '--hold: who waits for a condition variable does not have the mutex' "$(held total_seconds 'lock="cache_lock"') < 0.1"
	holds '--hold: it is taken again afterwards' "$(held holds 'lock="cache_lock"') > 20"
	"$work/lockpair" mutex 1000 20 >"$said.pair" &
	pid=$!
	sleep 0.3
	rows --hold -p $pid 1
	kill $pid
	wait $pid 2>/dev/null
	holds '--hold -p: most of the time' "$(held total_seconds 'lock="cache_lock"') > 0.5"
	ledger_closes '--hold -p'
fi
refused '--hold of everybody' 'needs a target' --hold 1
refused '--hold of the kernel' 'mutexes of programs' --hold -K -p 1 1

# ---- views

run "$rawprof" lock -U -- "$work/lockpair" mutex 10 20
has 'the table ends with sentences' "$out" \
	'^  asker waited [0-9.]+ m?s for cache_lock \(umutex, 10 times\) in lookup, released by keeper in rebuild$'
has 'the table has the lock' "$out" '^umutex +cache_lock +10 +[0-9.]+ ms '
ledger_closes 'the table'
for by in lock caller thread type releaser outcome; do
	# A thread's row has its barriers too, which take as long as the machine is busy.
	rows -U -Y umutex --by "$by" -- "$work/lockpair" mutex 10 20
	within "--by $by: the same sum" "$(cell total_seconds 'asker|umutex|lookup|futex' 'umutex|cache_lock|lookup')" \
		"$(waited)" 5
done
rows -U -Y condvar -- "$work/lockpair" mutex 10 20
is '--type of which there is none' "$(cell waits)" 0
ledger_closes '--type'
rows -U -Y umutex,join -- "$work/lockpair" mutex 10 20
# Who waits for both threads may find one of them gone.
holds '--type: these alone' "$(cell waits 'type="umutex"') == 10 && $(cell waits) >= 11 && $(cell waits) <= 12"
rows -U --min-wait 10 -- "$work/lockpair" mutex 10 20
is '--min-wait: nothing that is shorter' "$(awk '/^rawprof_lock_average_seconds/ && $NF < 0.01' "$out" | wc -l)" 0
is '--min-wait: the mutex is not' "$(cell waits 'type="umutex"')" 10
ledger_closes '--min-wait'
rows -U --comm keeper -- "$work/lockpair" mutex 10 20
is '--comm: waits of nobody else' "$(cell waits 'comm="asker"')" 0
ledger_closes '--comm'

run "$rawprof" lock -U --hist type --format prometheus -- "$work/lockpair" mutex 10 20
is '--hist: ten waits are between 16 and 134 ms' "$(awk '
	/^rawprof_lock_wait_seconds_bucket/ && /le="0.01677/ { a = $NF }
	/^rawprof_lock_wait_seconds_bucket/ && /le="0.13421/ { b = $NF } END { print b - a }' "$out")" 10
run "$rawprof" lock -U --hist lock -- "$work/lockpair" mutex 10 20
has '--hist lock: of each lock' "$out" '^type=umutex lock=cache_lock pid=[0-9]+$'
ledger_closes '--hist lock'

run "$rawprof" lock -U -i 0.1 -- "$work/lockpair" mutex 40 10
holds '--interval: several tables' "$(grep -c '^umutex  *cache_lock' "$out") >= 3"
is '--interval: they sum up to the last one' "$(awk '$2 == "cache_lock" { n[++i] = $3 }
	END { for (j = 1; j < i; j++) sum += n[j]; print (sum <= n[i] && n[i] == 40) }' "$out")" 1

run "$rawprof" lock -U --hist lock -i 0.1 -- "$work/lockpair" mutex 40 10
grep -A 1 '^type=umutex lock=cache_lock' "$out" | awk '$2 == "waits" { print $1 }' >"$tmp/parts"
holds '--hist --interval: several' "$(wc -l <"$tmp/parts") >= 3"
is '--hist --interval: what is new, and all of it at the end' \
	"$(awk '{ n[NR] = $1 } END { for (i = 1; i < NR; i++) s += n[i]; print (s <= n[NR] && s > 8), n[NR] }' "$tmp/parts")" '1 40'
ledger_closes '--hist --interval'
run "$rawprof" lock -U --hist lock -i 0.1 --min-wait 5 -- "$work/lockpair" mutex 20 10
ledger_closes '--hist --interval --min-wait'
yes 'what the file held before' | head -n 10000 >"$tmp/series"
run "$rawprof" lock -U --hist type -i 0.1 --format prometheus -o "$tmp/series" -- "$work/lockpair" mutex 20 10
lacks '--hist --interval -o: nothing of what the file held' "$tmp/series" 'held before'
has '--hist --interval -o: is written' "$tmp/series" '^rawprof_lock_wait_seconds_count'

# ---- stacks: who waits below, who let go above it

run "$rawprof" lock -U --format folded -o "$tmp/folded" -- "$work/lockpair" mutex 10 20
cp "$out" "$said"
cp "$tmp/folded" "$out"
us=$(awk '/^asker;.*;lookup;.*;\[released by\];.*;rebuild;keeper;.*;keeper / { n += $NF } END { print n }' "$out")
within 'folded: both stacks, in microseconds' "$us" "$(awk 'NF == 2 { print $1 }' "$said")" 5
run "$rawprof" lock -U --weight contentions -f -- "$work/lockpair" mutex 10 20
is 'folded: contentions' "$(awk '/;lookup;.*released by/ { n += $NF } END { print n }' "$out")" 10
for format in svg html pprof perf speedscope json; do
	run "$rawprof" lock -U --stacks --format $format -o "$tmp/x" -- "$work/lockpair" mutex 5 10
	is "$format: status" "$status" 0
	holds "$format: not empty" "$(wc -c <"$tmp/x") > 100"
done
if have_python; then
	is 'json of rows is JSON' "$("$rawprof" lock -qU --format json -o "$tmp/x" -- "$work/lockpair" mutex 5 10 >"$said" 2>"$err" &&
		python3 -c 'import json, sys; j = json.load(open(sys.argv[1])); print(j["schema"])' "$tmp/x" 2>&1)" rawprof-grid
fi

# ---- of the whole machine: nobody has all the room for pairs

# as USER ARGS...
as() { setpriv "--reuid=$1" "--regid=$1" --clear-groups "${@:2}"; }
if as 65533 test -x "$work/futexes"; then
	# everybody ARGS...: whether another user's waits are seen once that has ended; with the subordinate uids of $ranges.
	ranges=
	another=(as 65533)
	everybody() {
		local rawprof=$rawprof
		[ -z "$ranges" ] || {
			printf '#!/bin/sh\n[ "$1" = -m ] || exec unshare -m "$0" -m "$@"\nshift\n%s\n%s\n' \
				"mount --bind '$ranges' /etc/subuid" "exec '$rawprof' \"\$@\"" >"$tmp/there"
			chmod 755 "$tmp/there"
			rawprof=$tmp/there
		}
		recording lock -U --by thread --format prometheus -o "$tmp/rows" -v 60
		"$@" >/dev/null 2>&1
		sleep 0.5
		cp "$work/futexes" "$tmp/other"
		chmod 755 "$tmp" "$tmp/other"
		"${another[@]}" "$tmp/other" 1000 2
		sleep 0.3
		kill -INT $recorder
		wait $recorder
		mv "$tmp/rows" "$out"
	}
	everybody as 65534 "$work/futexes" 100000 1
	holds 'one user takes all pairs that it can' \
		"$(cell waits 'comm="futexes"') > 50000 && $(cell waits 'comm="futexes"') <= 57400"
	is "one user takes all pairs that it can: another's are seen" "$(cell waits 'comm="other"')" 2000
	# The uids of a range that is its own, subuid(5), are that user's.
	# shellcheck disable=SC2317 # called
	subordinate() {
		# shellcheck disable=SC2016 # the inner shell expands them
		as 65534 unshare --keep-caps -U bash -c 'read -r && for ((i = 1; i < 20; i++)); do
			setpriv --reuid=$i --keep-groups "$0" 8192 1; done' "$work/futexes" < <(
			sleep 0.5
			echo '0 200000 20' >"/proc/$(pgrep -n -u 65534 bash)/uid_map"
			echo
		)
	}
	everybody subordinate
	holds 'one user as many: they are one' \
		"$(cell waits 'comm="futexes"') > 50000 && $(cell waits 'comm="futexes"') <= 57400"
	is "one user as many: another's are seen" "$(cell waits 'comm="other"')" 2000
	# They are one outside of a namespace too, as set-user-ID files make them; the first has the other user's lower bits.
	outside() {
		as 200701 "$work/futexes" 60000 1
		for ((uid = 300001; uid < 300010; uid++)); do
			as $uid "$work/futexes" 8192 1
		done
	}
	ranges=$tmp/subuid
	echo alice:200000:65536 >"$ranges"
	echo root:300000:65536 >>"$ranges"
	if [ -e /etc/subuid ] && unshare -m mount --bind "$ranges" /etc/subuid; then
		everybody outside
		holds 'one user as many outside: they are one' \
			"$(cell waits 'comm="futexes"') > 50000 && $(cell waits 'comm="futexes"') <= 57400"
		is "one user as many outside: another's are seen" "$(cell waits 'comm="other"')" 2000
		# Of containers of root's, whose uids are of such a range, each is a user.
		cat >"$tmp/contained.py" <<'EOF'
import ctypes, os, sys
go, is_made = os.pipe(), os.pipe()
pid = os.fork()
if not pid:
    ctypes.CDLL(None).unshare(0x10000000)  # CLONE_NEWUSER
    os.write(is_made[1], b'1')
    os.read(go[0], 1)
    os.setuid(5)
    os.execv(sys.argv[1], sys.argv[1:])
os.read(is_made[0], 1)
open('/proc/%d/uid_map' % pid, 'w').write('0 300000 65536')
os.write(go[1], b'1')
os.waitpid(pid, 0)
EOF
		# The number of the first one's namespace is free by then, and a third takes it.
		# shellcheck disable=SC2016 # the inner shell expands them
		another=(bash -c 'unshare -U sleep 60 & sleep 0.5; python3 "$0" "$@"; kill $!' "$tmp/contained.py")
		! have_python || {
			everybody python3 "$tmp/contained.py" "$work/futexes" 100000 1
			holds 'a container as one user' \
				"$(cell waits 'comm="futexes"') > 50000 && $(cell waits 'comm="futexes"') <= 57400"
			is "a container as one user: another's are seen" "$(cell waits 'comm="other"')" 2000
		}
	else
		skip 'one user as many outside' 'there is no /etc/subuid, or no mount namespace'
	fi
else
	skip 'one user takes all pairs that it can' 'cannot be another user here'
fi

# ---- the kernel's own

if ! mount_tracefs || [ ! -d /sys/kernel/tracing/events/lock/contention_begin ]; then
	run "$rawprof" lock -K 1
	is 'without contention_begin: status' "$status" 1
	has 'without contention_begin: says what is missing' "$err" 'Linux 5\.19'
	skip "waits for the kernel's locks" 'this kernel does not tell of them'
	leaves_nothing
	finish
fi
rows -K --by caller -- "$work/lockkernel" mmap 1
ledger_closes 'mmap'
holds 'mmap: waits for the mmap_lock to write' \
	"$(cell total_seconds 'type="rwsem:W"' 'caller="[^"]*(mmap|munmap)') > 0.3"
rows -K -- "$work/lockkernel" mmap 1
holds 'mmap: the lock has a name' "$(cell total_seconds 'type="rwsem:W"' 'lock="(mmap_lock|0x)') > 0.3"
rows -K --by releaser -- "$work/lockkernel" mmap 1
holds 'mmap: who let go' "$(cell total_seconds 'releaser="lockkernel"' 'released_in="[^"]+"' 'comm="lockkernel"') > 0.2"
rows -K --by caller -- "$work/lockkernel" rename 1 "$tmp"
ledger_closes 'rename'
holds 'rename: waits for the directory to write' "$(cell total_seconds 'type="rwsem:W"' 'caller="[^"]*rename') > 0.2"
rows -K --by caller -- "$work/lockkernel" epoll 3
ledger_closes 'epoll'
holds 'epoll: a mutex' "$(cell waits 'type="mutex' 'caller="[^"]*(epoll|ep_)') > 0"
rows -K --by caller -- "$work/lockkernel" groups 1
ledger_closes 'groups'
holds 'groups: who writes spins' "$(cell waits 'type="rwlock:W"' 'caller="[^"]*setpgid') > 0"
rows -K -- "$work/lockkernel" signals 1
if [ "$(cell waits 'type="spinlock"')" -gt 0 ]; then
	holds 'signals: a spinlock, by its name' "$(cell waits 'type="spinlock"' 'lock="siglock"') > 0"
else
	skip 'signals' 'this kernel does not tell of spinlocks: there are two CPUs, or a hypervisor below'
fi
run "$rawprof" lock -K -f -- "$work/lockkernel" rename 1 "$tmp"
has 'the stacks have both sides' "$out" '^lockkernel;.*;rename;.*do_renameat'

# ---- beside perf, on the same run

if command -v perf >/dev/null; then
	# Unsorted, perf now and then reads the name that a thread takes before the fork that began it, which lies in another
	# CPU's buffer, and shows it under the name of its parent; or the end of a call before its begin.
	for try in 1 2 3; do
		perf trace --sort-events -s -e futex -o "$tmp/trace" -- "$rawprof" lock -q -U --by thread --format prometheus \
			-o "$tmp/rows" -- "$work/lockpair" mutex 10 20 >"$said" 2>"$err"
		mv "$tmp/rows" "$out"
		perf_ms=$(awk '/ events, / { on = $1 == "asker" } on && $1 == "futex" { print $4; exit }' "$tmp/trace")
		[ -z "$perf_ms" ] || break
	done
	if [ -n "$perf_ms" ]; then
		within 'asker: as perf trace -s' "$(awk "BEGIN { print 1000 * $(cell total_seconds 'comm="asker"') }")" "$perf_ms" 5
	else
		skip 'asker: as perf trace -s' "it has told of no futex of that thread, $try times"
	fi
	perf lock record -a -o "$tmp/perf.data" -- "$rawprof" lock -q -K --by type --format prometheus -o "$tmp/rows" \
		-- "$work/lockkernel" mmap 1 >"$said" 2>"$err"
	mv "$tmp/rows" "$out"
	ours=$(cell total_seconds 'type="rwsem:W"')
	theirs=$(perf lock contention -i "$tmp/perf.data" -E 100 2>&1 | awk '$8 == "rwsem:W" && /mmap|munmap/ {
		print $2 * ($3 == "s" ? 1 : $3 == "ms" ? 1e-3 : $3 == "us" ? 1e-6 : 1e-9) }' | awk '{ n += $1 } END { print n + 0 }')
	if awk "BEGIN { exit !(${theirs:-0} > 0) }"; then
		within 'mmap_lock: as perf lock contention' "$ours" "$theirs" 5
	else
		skip 'mmap_lock: as perf lock contention' 'it has not seen any'
	fi
else
	skip 'beside perf' 'it is not installed'
fi

forgets_execs threads lock --stacks --format folded
ledger_closes 'threads that execute'

leaves_nothing
finish
