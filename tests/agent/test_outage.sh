#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rawprof agent and a server that is away for a minute: what the spool holds arrives, what it does not hold is dropped and
# said, number by number. Then kill -KILL fifty times at any moment: at most one window is missing of each.
. "$(dirname "$0")/../cli/lib.sh"
need_profile
have_python || finish
away=${AWAY:-60} kills=${KILLS:-50}
if "$rawprof" agent --dir "$tmp/none" --push otlp+http://127.0.0.1:1 -d 1 2>&1 | grep -q 'libcurl'; then
	skip "$(basename "$0")" 'built without libcurl, which says so'
	finish
fi
end_pids_too
port=$((20000 + RANDOM % 12000))
url=http://127.0.0.1:$port
serve() {
	python3 tests/cli/push_server.py $port "$tmp" &
	server=$!
	pids="$pids $server"
	until_true '(exec 3<>/dev/tcp/127.0.0.1/'$port') 2>/dev/null'
}
until_true() {
	local i
	for ((i = 0; i < 1200; i++)); do
		eval "$1" && return
		sleep 0.1
	done
	fail 'waiting' "not within 120 s: $1"
}
waiting() { find "$tmp/$1.dir/spool" -type f 2>/dev/null | wc -l; }
figures() {
	windows=0 missing=-1 twice=-1 other=-1 strange=-1 bad=-1
	eval "$(python3 tests/cli/push_check.py "$rawprof" "$tmp/$1.dir" "$tmp/$1.log" "$2")"
	last_command="$1: $windows windows, $missing missing, $twice twice, $other other, $strange strange, $bad bad"
}
bash -c 'while :; do :; done' &
burner=$!
pids="$pids $burner"
for name in whole small killed; do echo ok >"$tmp/$name.mode"; done

# ---- a server that is not there

serve
printf 'push = parca+%s/small\nspool = 8K\n' "$url" >"$tmp/small.conf"
"$rawprof" agent --dir "$tmp/whole.dir" --window 1 -p $burner --push "parca+$url/whole" 2>"$tmp/whole.err" &
whole=$!
"$rawprof" agent --dir "$tmp/small.dir" --window 1 -p $burner --config "$tmp/small.conf" 2>"$tmp/small.err" &
small=$!
pids="$pids $whole $small"
until_true '[ -s "$tmp/whole.log" ] && [ -s "$tmp/small.log" ]'
kill -KILL "$server"
wait "$server" 2>/dev/null
sleep "$away"
held=$(waiting whole)
serve
until_true '[ "$(waiting whole)" -le 1 ] && [ "$(waiting small)" -le 1 ]'
kill -TERM $whole $small
wait $whole
is 'a minute away: status' "$?" 0
wait $small
is 'a minute away, a small spool: status' "$?" 0
figures whole writeraw
holds 'a minute away: the spool held windows' "$held > $away / 4"
holds 'a minute away: no window is missing, or there twice' "$windows > $held && $missing + $twice + $strange == 0"
holds 'a minute away: totals, times, forms are right' "$other + $bad == 0"
lacks 'a minute away: nothing was dropped' "$tmp/whole.err" dropped
figures small writeraw
said=$(sed -n "s/.*: \([0-9]*\) windows dropped.*/\1/p" "$tmp/small.err" | awk '{ n += $1 } END { print n + 0 }')
gone=$((missing - $(waiting small)))
# Of a window in which the process had no time nobody can see whether it arrived.
empty=$(($(find "$tmp/small.dir" -maxdepth 1 -name 'cpu-*' | wc -l) - windows))
holds 'a small spool: something was dropped' "$gone > 0"
holds 'a small spool: what is missing is what is said' "$gone <= $said && $said <= $gone + $empty"

# ---- killed at any moment

unreadable=0
for ((i = 1; i <= kills; i++)); do
	"$rawprof" agent --dir "$tmp/killed.dir" --window 1 -p $burner --push "parca+$url/killed" 2>/dev/null &
	agent=$!
	have=$(find "$tmp/killed.dir" -maxdepth 1 -name 'cpu-*' 2>/dev/null | wc -l)
	until_true '[ "$(find "$tmp/killed.dir" -maxdepth 1 -name "cpu-*" 2>/dev/null | wc -l)" -gt '"$have"' ]'
	sleep "0.$(printf %03d $((RANDOM % 1000)))"
	kill -KILL $agent
	wait $agent 2>/dev/null
done
for window in "$tmp"/killed.dir/cpu-*.rawprof "$tmp"/killed.dir/spool/*; do
	[ -e "$window" ] || continue
	"$rawprof" report "$window" >"$out" 2>&1 || unreadable=$((unreadable + 1))
done
is "killed $kills times: every window and the spool is readable" "$unreadable" 0
run "$rawprof" agent --dir "$tmp/killed.dir" --window 1 -p $burner --push "parca+$url/killed" -d 3
is 'killed: the next one ends as it should' "$status" 0
until_true '[ "$(waiting killed)" -eq 0 ]'
figures killed writeraw
holds 'killed: at most one window of each is missing on the server' "$windows > $kills && $missing <= $kills"
holds 'killed: what came is right' "$strange + $other + $bad == 0"
echo "killed $kills times: $windows windows, $missing of them not sent, $twice sent twice"
finish
