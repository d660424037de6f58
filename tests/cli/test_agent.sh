#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rawprof agent: windows in a directory, each as good as a recording of its own.
. "$(dirname "$0")/lib.sh"

# ---- without any right

for words in '--profile moon' '--profile cpu,cpu' '--profile ,' '--window 0.5' '--window 601' '--freq 0' '--metrics localhost:1' '--metrics 9499' '--hist io' '--labels moon' '--metrics 127.0.0.1:1 --hist moon' '-p 1 --cgroup /' 'word'; do
	# shellcheck disable=SC2086 # words
	run "$rawprof" agent --dir "$tmp/none" $words
	is "agent $words: status" "$status" 2
done
is 'bad usage makes no directory' "$([ -e "$tmp/none" ] && echo there)" ''

# ---- the directory

mkdir -m 700 "$tmp/own" "$tmp/open"
chmod 777 "$tmp/open"
ln -s own "$tmp/link"
run "$rawprof" agent --dir "$tmp/link" -d 1
is 'a link is no directory: status' "$status" 1
has 'a link is no directory: says so' "$err" 'symbolic link'
mkdir "$tmp/own/below"
run "$rawprof" agent --dir "$tmp/link/below" -d 1
is 'nor is one on the way followed: status' "$status" 1
run "$rawprof" agent --dir "$tmp/open" -d 1
is 'where others may write: status' "$status" 1
has 'where others may write: what to do' "$err" 'chmod go-w'
if [ "$(id -u)" = 0 ]; then
	mkdir -m 700 "$tmp/theirs"
	chown 65534 "$tmp/theirs"
	run "$rawprof" agent --dir "$tmp/theirs" -d 1
	is "another user's: status" "$status" 1
	has "another user's: says so" "$err" 'belongs to another user'
fi
is 'nothing was written to any of them' "$(find "$tmp" -name '*.rawprof' | wc -l)" 0
need_profile
have_python || finish

# facts DIR: a line for each window: kind, start, duration (ns), fired, kept, closes, sum of the last value.
facts() {
	local f
	for f in "$1"/*.rawprof; do
		"$rawprof" report --format json "$f" 2>/dev/null >"$tmp/window.json" || echo "unreadable $f"
		python3 - "$f" "$tmp/window.json" <<-'EOF'
			import json, os, sys
			kind = os.path.basename(sys.argv[1]).split('-')[0]
			d = json.load(open(sys.argv[2]))
			i, l = d['info'], d['ledger']
			print(kind, i['start_ns'], i['duration_ns'], l['fired'], l['kept'], l['closes'], sum(s['values'][-1] for s in d['samples']))
		EOF
	done
}
# windows_of DIR KIND: how many.
windows_of() { find "$1" -name "$2-*.rawprof" 2>/dev/null | wc -l; }
# at_least DIR KIND N: waits for them.
at_least() {
	local i
	for ((i = 0; i < 600 && $(windows_of "$1" "$2") < $3; i++)); do sleep 0.1; done
	holds "$2: windows come" "$(windows_of "$1" "$2") >= $3"
}

# ---- all kinds at once, until SIGTERM

dir=$tmp/windows
all=cpu,offcpu,lock,mem,io
"$rawprof" agent --dir "$dir" --window 1 --profile $all 2>"$err" &
agent=$!
at_least "$dir" cpu 1
at_least "$dir" offcpu 1
sleep 3.5 &
sleeper=$!
wait $sleeper
at_least "$dir" offcpu 5
is 'while it runs nothing but windows is there' "$(find "$dir" -type f ! -name '*.rawprof' ! -name '.unfinished-*' | wc -l)" 0
is 'the supervisor has no rights' "$(awk '/^Cap(Eff|Prm)/ { print $2 }' /proc/$agent/status | sort -u)" 0000000000000000
is 'and gets no new ones' "$(awk '/^NoNewPrivs/ { print $2 }' /proc/$agent/status)" 1
is 'nor a core dump' "$(awk '/core file/ { print $5 }' /proc/$agent/limits)" 0
before=$(windows_of "$dir" cpu)
kill -TERM $agent
wait $agent
is 'SIGTERM: status' "$?" 0
holds 'SIGTERM: the last window is there' "$(windows_of "$dir" cpu) > $before || $before > 5"
facts "$dir" >"$tmp/facts"
lacks 'every window is read' "$tmp/facts" '^unreadable'
for kind in cpu offcpu lock mem io; do
	holds "$kind: windows" "$(grep -c "^$kind " "$tmp/facts") >= 2"
done
is 'the ledger of every window closes' "$(awk '$6 != "True"' "$tmp/facts")" ''
is 'no window begins before the last one is over' \
	"$(sort -k1,1 -k2,2n "$tmp/facts" | awk '$1 == kind && $2 < end { n++ } { kind = $1; end = $2 + $3 } END { print n + 0 }')" 0
is 'files are for their owner alone' "$(find "$dir" -type f -printf '%m\n' | sort -u)" 600
is 'so is the directory' "$(stat -c %a "$dir")" 700
# What a thread waited, in all windows together: all but what was between them.
slept=0
for f in "$dir"/offcpu-*.rawprof; do
	"$rawprof" report --filter "pid=$sleeper" --format folded --weight delay "$f" >"$tmp/folded" 2>/dev/null
	slept=$((slept + $(total "$tmp/folded")))
done
between=$(awk '$1 == "offcpu" { if (end) gap += $2 - end; end = $2 + $3 } END { printf "%d", gap / 1000 }' < <(sort -k1,1 -k2,2n "$tmp/facts"))
# On a busy machine its first stack may be lost: then it is found at the next window's beginning.
holds 'offcpu: a sleep over several windows is all there' \
	"$slept >= 3500000 - $between - 1000000 && $slept <= 3700000"
first=$(find "$dir" -name 'cpu-*' | sort | head -1) second=$(find "$dir" -name 'cpu-*' | sort | sed -n 2p)
run "$rawprof" diff "$first" "$second"
is 'diff reads two of them' "$status" 0
run "$rawprof" report --format pprof -o "$tmp/a.pb.gz" "$first"
is 'report makes pprof of one' "$status" 0

# ---- rotation; what is not the agent's stays

dir=$tmp/rotated
mkdir -m 700 "$dir"
echo mine >"$dir/notes.txt"
echo mine >"$dir/cpu-12.rawprof" # no name that it would give
touch "$dir/.unfinished-cpu-1764000000123.rawprof"
cp "$first" "$dir/cpu-1000000000000.rawprof"
run "$rawprof" agent --dir "$dir" --window 1 -F 19 -d 3 --keep 1
is 'rotation: status' "$status" 0
is 'rotation: what was not its own is there' "$(cat "$dir/notes.txt" "$dir/cpu-12.rawprof" | uniq)" mine
is 'rotation: what a killed agent left is gone' "$(find "$dir" -name '.unfinished*' | wc -l)" 0
is 'by size: the newest alone is left' "$(find "$dir" -name 'cpu-1[0-9][0-9]*' ! -name 'cpu-12.rawprof' | wc -l)" 1
cp "$first" "$dir/cpu-1000000000000.rawprof"
run "$rawprof" agent --dir "$dir" --window 1 -F 19 -d 2 --keep-time 1h
is 'by age: what is older is gone' "$([ -e "$dir/cpu-1000000000000.rawprof" ] && echo there)" ''

# ---- killed at any moment

dir=$tmp/killed
for _ in 1 2; do
	"$rawprof" agent --dir "$dir" --window 1 --profile cpu,offcpu 2>/dev/null &
	agent=$!
	before=$(windows_of "$dir" cpu)
	at_least "$dir" cpu $((before + 1))
	sleep "0.$((RANDOM % 10))"
	kill -KILL $agent
	wait $agent 2>/dev/null
done
facts "$dir" >"$tmp/facts"
lacks 'kill -KILL: every window is read' "$tmp/facts" '^unreadable'
for ((i = 0; i < 100; i++)); do
	ps -eo ppid,args | awk -v dir="$dir" '$1 == 1 && index($0, dir)' | grep -q . || break
	sleep 0.1
done
is 'kill -KILL: the recorders end by themselves' \
	"$(ps -eo ppid,args | awk -v dir="$dir" 'index($0, "agent --dir " dir) && !/awk/' | wc -l)" 0

# ---- labels

id=$(printf '%064d' 7)
group=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)/docker-$id.scope
if mkdir "$group" 2>/dev/null; then
	# shellcheck disable=SC2016 # in the shell there
	bash -c 'echo $$ >"$1/cgroup.procs" && exec timeout 20 bash -c "while :; do :; done"' - "$group" &
	burner=$!
	dir=$tmp/labels
	run "$rawprof" agent --dir "$dir" --window 1 --profile cpu,lock -d 2
	is 'labels: status' "$status" 0
	run "$rawprof" report --by container,runtime,exe --top 1000 "$(find "$dir" -name 'cpu-*' | sort | head -1)"
	has 'labels: a container, by the path of its group' "$out" "^ *[0-9.]+%.* $id +docker +bash\$"
	has 'labels: none where there is none' "$out" '^ *[0-9.]+%.* - +- +'
	run "$rawprof" agent --dir "$tmp/none" --window 1 --labels none -d 2
	run "$rawprof" report --by exe "$(find "$tmp/none" -name 'cpu-*' | sort | head -1)"
	is 'labels: none if none are wanted' "$status" 2
	cp /bin/bash "$tmp/one" && cp /bin/bash "$tmp/two"
	timeout 20 "$tmp/one" -c 'while :; do :; done' &
	timeout 20 "$tmp/two" -c 'while :; do :; done' &
	run "$rawprof" agent --dir "$tmp/few" --window 1 --max-series 1 --labels exe -d 2
	pkill -f "^$tmp/(one|two) "
	run "$rawprof" report --by exe "$(find "$tmp/few" -name 'cpu-*' | sort | head -1)"
	# One of root's, and one of all others.
	holds 'labels: no more than so many' "$(grep -cE '^ ?[0-9.]+% .* [^ -]+$' "$out") <= 2"
	kill $burner
	wait $burner 2>/dev/null
	rmdir "$group" || { sleep 1; rmdir "$group"; }
else
	skip 'labels' 'no control group of version 2 may be made here'
fi

# ---- metrics

port=$((20000 + RANDOM % 20000))
dir=$tmp/metrics
"$rawprof" agent --dir "$dir" --window 1 --metrics 127.0.0.1:$port --hist io,runq,lock 2>"$err" &
agent=$!
# Clients that say nothing, and one that never ends its head, take all places there are.
python3 - $port >"$tmp/hostile" 2>&1 <<'EOF' &
import socket, sys, time
silent = []
for i in range(60):
    try:
        silent = [socket.create_connection(('127.0.0.1', int(sys.argv[1]))) for _ in range(12)]
        break
    except OSError:
        time.sleep(0.5)
for s in silent[:6]:
    s.sendall(b'GET /metrics HTTP/1.1\r\nX: ')
time.sleep(60)
EOF
hostile=$!
# page PATH OPTIONS: what it answers, in $tmp/page; its status in $code.
page() { code=$(curl -s -m 20 -o "$tmp/page" -w '%{http_code}' "${@:2}" "http://127.0.0.1:$port$1"); }
for ((i = 0; i < 60; i++)); do
	page /metrics
	grep -q '^rawprof_runq_latency_seconds_count' "$tmp/page" 2>/dev/null &&
		grep -q '^rawprof_agent_windows_total{profile="cpu"} [1-9]' "$tmp/page" && break
	sleep 0.5
done
is 'metrics: a client is served whatever others do' "$code" 200
has 'metrics: windows' "$tmp/page" '^rawprof_agent_windows_total\{profile="cpu"\} [1-9]'
has 'metrics: its own cost' "$tmp/page" '^rawprof_agent_recorder_cpu_seconds_total\{profile="cpu"\} 0\.'
has 'metrics: a histogram' "$tmp/page" '^rawprof_runq_latency_seconds_bucket\{le="\+Inf"\} [1-9]'
waits() { sed -n 's/^rawprof_runq_latency_seconds_count[^ ]* //p' "$tmp/page"; }
once=$(waits)
sleep 2.5
page /metrics
holds 'metrics: a counter grows' "$(waits) > $once"
is 'metrics: the last bucket is the count' \
	"$(sed -n 's/^rawprof_runq_latency_seconds_bucket{le="+Inf"} //p' "$tmp/page")" "$(waits)"
cp "$tmp/page" "$tmp/metrics.txt"
if command -v promtool >/dev/null; then
	promtool check metrics <"$tmp/metrics.txt" >"$out" 2>&1
	is 'metrics: promtool finds no fault' "$?" 0
else
	skip 'promtool' 'the package prometheus is not installed'
fi
if command -v prometheus >/dev/null; then
	printf 'scrape_configs:\n- job_name: r\n  scrape_interval: 1s\n  static_configs:\n  - targets: ["127.0.0.1:%s"]\n' $port >"$tmp/prometheus.yml"
	prometheus --config.file="$tmp/prometheus.yml" --storage.tsdb.path="$tmp/tsdb" \
		--web.listen-address=127.0.0.1:$((port + 1)) >"$tmp/prometheus.log" 2>&1 &
	server=$!
	quantile=
	for ((i = 0; i < 40; i++)); do
		quantile=$(curl -s -m 5 --data-urlencode 'query=histogram_quantile(0.5, rawprof_runq_latency_seconds_bucket)' \
			"http://127.0.0.1:$((port + 1))/api/v1/query" | sed -n 's/.*"value":\[[^,]*,"\([0-9.e-]*\)".*/\1/p')
		[ -z "$quantile" ] || break
		sleep 0.5
	done
	holds 'metrics: Prometheus has a quantile of them' "0$quantile > 0 && 0$quantile < 10"
	kill $server
	wait $server 2>/dev/null
else
	skip 'a scrape by Prometheus' 'the package prometheus is not installed'
fi
page /
is 'metrics: no other path' "$code" 404
page /metrics -X DELETE
is 'metrics: nothing but GET' "$code" 405
page /metrics -H "X: $(printf '%05000d' 0)"
is 'metrics: no endless head' "$code" 000
is 'metrics: on this machine alone' "$(ss -ltn 2>/dev/null | awk -v p=":$port" 'index($4, p) { print $4 }')" "127.0.0.1:$port"
kill $hostile
kill -TERM $agent
wait $agent
is 'metrics: SIGTERM ends it' "$?" 0
finish
