#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What a recording has left of its rights, run by root and by a user whose file has capabilities; and that nothing of it
# stays behind.
. "$(dirname "$0")/lib.sh"
need_profile
RUN_TIMEOUT=60
user=12345

# of FIELD PID: of its status. wait_for NAME COMMAND...: until it succeeds, for 30 s at most.
of() { sed -n "s/^$1:[[:space:]]*//p" "/proc/$2/status" 2>/dev/null; }
wait_for() {
	local name=$1 i
	shift
	for ((i = 0; i < 300; i++)); do
		"$@" && break
		sleep 0.1
	done
	if [ $i -lt 300 ]; then ok "$name"; else fail "$name" 'not within 30 s'; fi
}
is_confined() { [ "$(of Seccomp "$1")" = 2 ]; }
is_gone() { [ ! -e "/proc/$1" ] || [ "$(of State "$1")" = 'Z (zombie)' ]; }
# mask NUMBER...: a bit for each (linux/capability.h).
mask() {
	local bits=0 n
	for n; do bits=$((bits | 1 << n)); done
	echo "$bits"
}
# BPF, PERFMON, SYS_PTRACE, DAC_READ_SEARCH, SYSLOG, CHECKPOINT_RESTORE. What may be had beside them: SYS_ADMIN where
# the kernel asks for it, KILL for a program of its own.
reads=$(mask 39 38 19 2 34 40)
[ "$(cat /proc/sys/kernel/cap_last_cap)" -ge 40 ] || reads=$((reads | 1 << 21))

# confined NAME UID CAPABILITIES PID: of a recording.
confined() {
	local name=$1 keeper
	wait_for "$name: it is confined" is_confined "$4"
	is "$name: Uid" "$(of Uid "$4" | tr -s '\t' ' ')" "$2 $2 $2 $2"
	is "$name: no capability but those to read" "$((0x$(of CapEff "$4") & ~$3))" 0
	is "$name: none to be had again" "$((0x$(of CapPrm "$4") & ~$3))" 0
	holds "$name: CAP_BPF is there" "$(((0x$(of CapEff "$4") >> 39) & 1)) == 1"
	is "$name: NoNewPrivs" "$(of NoNewPrivs "$4")" 1
	keeper=$(pgrep -P "$4" -x rawprof-keeper)
	holds "$name: one keeper" "$(wc -w <<<"$keeper") == 1"
	echo "$keeper" >"$tmp/keeper"
}
# recording NAME UID CAPABILITIES COMMAND...: looked at in the middle, ended by hand; and again, killed.
recording() {
	local name=$1 pid signal
	for signal in INT KILL; do
		"${@:4}" >"$out" 2>"$err" </dev/null &
		pid=$!
		last_command="${*:4}"
		confined "$name" "$2" "$3" $pid
		kill -$signal $pid
		wait $pid 2>/dev/null
		wait_for "$name: SIG$signal: the keeper ends with it" is_gone "$(cat "$tmp/keeper")"
	done
}
# file NAME PATH UID: a result, complete, of its user alone.
file() {
	is "$1: its mode and owner" "$(stat -c '%a %u' "$2")" "600 $3"
	if command -v python3 >/dev/null; then
		is "$1: it is complete" "$(python3 -c 'import json, sys; json.load(open(sys.argv[1])); print("json")' "$2")" json
	fi
	is "$1: nothing lies beside it" "$(ls -A "$(dirname "$2")")" "$(basename "$2")"
}

"$work/split" 300 >/dev/null & # root's
split=$!
trap 'kill $split; cleanup' EXIT

leaves_nothing_from_here
recording 'root' 65534 "$reads" "$rawprof" cpu -d 60
leaves_nothing
mkdir "$tmp/root"
run "$rawprof" cpu -d 0.5 -o "$tmp/root/out.json"
is 'root: status' "$status" 0
file 'root: -o' "$tmp/root/out.json" "$(id -u)"

# ---- a user who is not root, by the capabilities of the file
caps=cap_bpf,cap_perfmon,cap_syslog,cap_sys_ptrace,cap_dac_read_search,cap_checkpoint_restore
chmod 711 "$tmp"
install -m 755 "$rawprof" "$tmp/rawprof"
install -d -o $user "$tmp/user"
as_user=(setpriv "--reuid=$user" "--regid=$user" --clear-groups)
if ! setcap $caps+ep "$tmp/rawprof" 2>"$err"; then
	skip 'file capabilities' "$(head -n 1 "$err")"
	finish
fi
if ! "${as_user[@]}" "$tmp/rawprof" cpu -d 0.1 >"$out" 2>"$err"; then
	grep -q 'perf_event_paranoid' "$err" && [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -gt 2 ] &&
		skip 'file capabilities' 'kernel.perf_event_paranoid is above 2, and this kernel asks for CAP_SYS_ADMIN then' &&
		finish
fi
recording 'setcap' $user "$reads" "${as_user[@]}" "$tmp/rawprof" cpu -d 60
run "${as_user[@]}" "$tmp/rawprof" cpu -F 499 -p $split -d 0.5 --format folded
is "setcap: of a process of root's: status" "$status" 0
has "setcap: of a process of root's: its names" "$out" '^split;.*main;.* [0-9]+$'
run "${as_user[@]}" "$tmp/rawprof" cpu -d 0.5 -o "$tmp/user/out.json"
is 'setcap: -o: status' "$status" 0
file 'setcap: -o' "$tmp/user/out.json" $user
# The environment is the user's own: it names no directory to write to and no server.
run env XDG_CACHE_HOME="$tmp/user/cache" HOME="$tmp/user" DEBUGINFOD_URLS=http://127.0.0.1:1/ \
	"${as_user[@]}" "$tmp/rawprof" cpu -d 0.2
is 'setcap: XDG_CACHE_HOME: status' "$status" 0
is 'setcap: XDG_CACHE_HOME is not asked' "$(ls -A "$tmp/user")" out.json
run env DEBUGINFOD_URLS=http://127.0.0.1:1/ "${as_user[@]}" "$tmp/rawprof" cpu --debuginfod -d 0.1
is 'setcap: DEBUGINFOD_URLS: status' "$status" 1
has 'setcap: DEBUGINFOD_URLS: says so' "$err" 'with setcap it is not read'
run env RAWPROF_EXPLAIN=1 "${as_user[@]}" "$tmp/rawprof" cpu -d 0.1
lacks 'setcap: RAWPROF_EXPLAIN is not asked' "$err" 'the verifier, of'
# Files that the command line names are those of its user.
printf 'of root alone\n' >"$tmp/secret"
chmod 600 "$tmp/secret"
for args in "agent --dir $tmp/user/windows -d 1 --config $tmp/secret" "explain --kernel-log $tmp/secret" "report $tmp/secret"; do
	IFS=' ' read -r -a words <<<"$args"
	run "${as_user[@]}" "$tmp/rawprof" "${words[@]}"
	holds "setcap: ${words[0]}: a file of root's: refused" "$status > 0"
	has "setcap: ${words[0]}: a file of root's: says so" "$err" 'cannot read .*/secret'
	lacks "setcap: ${words[0]}: nothing of it is shown" "$err" 'of root alone'
done
install -D -m 755 /bin/true "$tmp/closed/true"
chmod 700 "$tmp/closed"
for args in "cpu -- $tmp/closed/true" "explain cpu --across $tmp/closed"; do
	IFS=' ' read -r -a words <<<"$args"
	run "${as_user[@]}" "$tmp/rawprof" "${words[@]}"
	holds "setcap: ${words[0]}: a directory of root's: refused" "$status > 0"
	has "setcap: ${words[0]}: a directory of root's: says so" "$err" '/closed.*Permission denied'
done
# Under sudo HOME may be the user's: root writes nothing there.
run env -u XDG_CACHE_HOME HOME="$tmp/user" SUDO_UID=$user "$rawprof" cpu -d 0.2
is "sudo: HOME is not root's to write to" "$(ls -A "$tmp/user")" out.json
finish
