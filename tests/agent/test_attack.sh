#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What a user with an account and no rights tries against root's agent: to read what it holds, to make it write elsewhere, to
# stop it, to say what is not so in what it shows.
. "$(dirname "$0")/../cli/lib.sh"
need_profile
have_python || finish
[ "$(id -u)" = 0 ] || { skip "$(basename "$0")" 'needs root, to become another user'; finish; }
other=(setpriv --reuid 1234 --regid 1234 --clear-groups --inh-caps=-all)
as_user() { "${other[@]}" "$@"; }
as_user /usr/bin/python3 -c '' || { skip "$(basename "$0")" 'another user has no /usr/bin/python3'; finish; }
end_pids_too
port=$((20000 + RANDOM % 12000))
# The way to the directory belongs to the attacker.
mkdir -m 755 "$tmp/theirs"
chown 1234 "$tmp/theirs"
chmod 755 "$tmp"
secret=token-$RANDOM$RANDOM
printf 'push = otlp+http://127.0.0.1:1\ntoken = %s\n' "$secret" >"$tmp/agent.conf"
chmod 600 "$tmp/agent.conf"
"$rawprof" agent --dir "$tmp/theirs/windows" --window 1 --metrics 127.0.0.1:$port --config "$tmp/agent.conf" 2>"$err" &
agent=$!
pids="$pids $agent"
windows() { find "$1" -maxdepth 1 -name 'cpu-*' 2>/dev/null | wc -l; }
# at_least DIR N: waits for so many windows.
at_least() {
	local i
	for ((i = 0; i < 600 && $(windows "$1") < $2; i++)); do sleep 0.1; done
	holds 'windows come' "$(windows "$1") >= $2"
}
at_least "$tmp/theirs/windows" 2
# All of its processes: the supervisor, recorders and their keepers, the sender and what it starts.
family=$(ps -eo pid,ppid | awk -v top=$agent '{ parent[$1] = $2 } END { for (p in parent) { for (q = p; q && q != top;) q = parent[q]; if (q == top) print p } }')
holds 'its processes are found' "$(wc -w <<<"$family") >= 6"

# ---- what it holds

is 'the windows cannot be listed' "$(as_user ls "$tmp/theirs/windows" 2>&1 | grep -c 'Permission denied')" 1
file=$(find "$tmp/theirs/windows" -name 'cpu-*' | head -1)
is 'nor read' "$(as_user cat "$file" 2>&1 | grep -c 'Permission denied')" 1
is 'nor linked to' "$(as_user ln "$file" "$tmp/theirs/link" 2>&1 | grep -cE 'Permission denied|not permitted')" 1
read_any=0
for pid in $family; do
	for name in mem maps environ auxv stack fd/0 fd/3 fd/5 root cwd map_files; do
		as_user cat "/proc/$pid/$name" >"$tmp/got" 2>/dev/null
		[ -s "$tmp/got" ] && read_any=$((read_any + 1)) && echo "    read: /proc/$pid/$name"
	done
done
is 'nothing of /proc/PID of any of its processes can be read' "$read_any" 0
is 'no token is in their arguments' "$(for pid in $family; do tr '\0' ' ' <"/proc/$pid/cmdline"; done | grep -c "$secret")" 0
as_user /usr/bin/python3 - $family >"$out" <<'EOF'
import ctypes, os, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
for pid in map(int, sys.argv[1:]):
    if libc.ptrace(16, pid, 0, 0) == 0: # PTRACE_ATTACH
        print('traced', pid)
    try:
        os.kill(pid, 0)
        print('signalled', pid)
    except PermissionError:
        pass
    fd = libc.syscall(434, pid, 0) # pidfd_open
    if fd >= 0 and libc.syscall(438, fd, 3, 0) >= 0: # pidfd_getfd
        print('took a descriptor of', pid)
print('tried', len(sys.argv) - 1)
EOF
is 'none can be traced, signalled, or robbed of a descriptor' "$(cat "$out")" "tried $(wc -w <<<"$family")"
is 'none leaves a core dump, or can be looked into after a crash' \
	"$(for pid in $family; do awk '/core file/ { print $5 }' "/proc/$pid/limits"; done | sort -u)" 0

# ---- to write elsewhere

mkdir "$tmp/target"
echo precious >"$tmp/target/file"
as_user mv "$tmp/theirs/windows" "$tmp/theirs/moved" 2>"$tmp/moved.err"
as_user ln -s "$tmp/target" "$tmp/theirs/windows"
have=$(windows "$tmp/theirs/moved")
at_least "$tmp/theirs/moved" $((have + 2))
is 'whoever moves the directory and puts a link there gets nothing' "$(find "$tmp/target" -type f | wc -l)" 1
is 'what is there is as it was' "$(cat "$tmp/target/file")" precious
is 'and cannot be read where it was moved to' "$(as_user ls "$tmp/theirs/moved" 2>&1 | grep -c 'Permission denied')" 1
run "$rawprof" agent --dir "$tmp/theirs/windows" -d 1
is 'the next start follows no link' "$status" 1
as_user rm "$tmp/theirs/windows"
as_user mkfifo "$tmp/theirs/windows"
run timeout 20 "$rawprof" agent --dir "$tmp/theirs/windows" -d 1
is 'nor waits at a pipe' "$status" 1

# ---- to say what is not so

name='x"} 1
rawprof_fake{a="'
# By itself, not by as_user: else $! is a shell's, and the liar would outlive the test.
"${other[@]}" /usr/bin/python3 - "$name" <<'EOF' &
import ctypes, os, sys
libc = ctypes.CDLL(None)
with open('/tmp/perf-%d.map' % os.getpid(), 'w') as f:
    f.write('0 ffffffffffffffff evil\n\x1b[31m"},{"a\n' * 1000)
libc.prctl(15, sys.argv[1].encode(), 0, 0, 0) # PR_SET_NAME
while True:
    pass
EOF
liar=$!
pids="$pids $liar"
have=$(windows "$tmp/theirs/moved")
at_least "$tmp/theirs/moved" $((have + 3))
curl -s -m 20 "http://127.0.0.1:$port/metrics" >"$tmp/page"
has 'the page of metrics is there' "$tmp/page" '^rawprof_agent_windows_total'
lacks 'no name of a process is on it' "$tmp/page" 'rawprof_f|evil'
lacks 'nor a token' "$tmp/page" "$secret"
wrong=0 seen=0
for window in $(find "$tmp/theirs/moved" -maxdepth 1 -name 'cpu-*' | sort | tail -2); do
	"$rawprof" report --format json "$window" >"$tmp/window.json" 2>/dev/null
	python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$tmp/window.json" || wrong=$((wrong + 1))
	"$rawprof" report --by comm --top 1000 "$window" >"$tmp/window.txt" 2>&1
	grep -q 'rawprof_f' "$tmp/window.txt" && seen=1
	grep -q $'\x1b' "$tmp/window.txt" && wrong=$((wrong + 1))
	grep -q '^rawprof_f' "$tmp/window.txt" && wrong=$((wrong + 1))
done
is 'its name is in the windows' "$seen" 1
is 'and breaks neither JSON nor lines nor a terminal' "$wrong" 0
rm -f "/tmp/perf-$liar.map"
kill -TERM $agent
wait $agent
is 'the agent goes on through all of it, and ends as it should' "$?" 0
lacks 'no token is in what it said' "$err" "$secret"
finish
