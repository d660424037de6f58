#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What each language's own profiler says of a process, while rawprof looks at the same one: the same shares of functions.
# PYSPY, ASYNC_PROFILER: where they are.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"

need_profile
here=$PWD/tests/interpreters

# shares FILE: per cent of the stacks with one, two and three, of those with any of them, which have to be told.
shares() {
	awk '{ n = $NF; f = /[;.]one[ ;_(]/ ? 1 : /[;.]two[ ;_(]/ ? 2 : /[;.]three[ ;_(]/ ? 3 : 0
		if (f) { count[f] += n; all += n } }
		END { printf "%d %.1f %.1f %.1f\n", all, 100 * count[1] / all, 100 * count[2] / all, 100 * count[3] / all }' "$1"
}

# agrees NAME OURS THEIRS: both within five times the deviation that chance gives their numbers of samples, about 5 points.
agrees() {
	local n a b c m x y z
	read -r n a b c < <(shares "$2")
	read -r m x y z < <(shares "$3")
	holds "$1: samples of both" "$n > 300 && $m > 300"
	near "$1: one" "$a" "$x" 7
	near "$1: two" "$b" "$y" 7
	near "$1: three" "$c" "$z" 7
	near "$1: one, as it is" "$a" 50 7
}

if [ -n "${PYSPY:-}" ]; then
	python3 "$here/shares.py" 12 &
	pid=$!
	sleep 1
	"$PYSPY" record -r 199 -d 6 -f raw -o "$tmp/theirs" -p $pid >/dev/null 2>&1 &
	spy=$!
	run "$rawprof" cpu -F 499 --python-only --user --format folded -o "$tmp/ours" -p $pid 6
	wait $spy
	kill $pid
	wait $pid 2>/dev/null
	agrees 'beside py-spy' "$tmp/ours" "$tmp/theirs"
else
	skip 'beside py-spy' 'PyPI does not have it here'
fi

node=$(command -v node)
if [ -n "$node" ]; then
	run "$rawprof" cpu -F 499 --python-only --user --format folded -o "$tmp/ours" -- \
		"$node" --cpu-prof --cpu-prof-dir="$tmp" --cpu-prof-interval 2000 "$here/shares.js" 6
	# Its file has a tree, with how often each place was the innermost.
	python3 - "$tmp"/*.cpuprofile >"$tmp/theirs" <<-'END'
		import json, sys
		nodes = {n['id']: n for n in json.load(open(sys.argv[1]))['nodes']}
		def put(n, path):
		    path += ';' + n['callFrame']['functionName']
		    if n.get('hitCount'):
		        print(path, n['hitCount'])
		    for child in n.get('children', []):
		        put(nodes[child], path)
		put(nodes[1], '')
	END
	agrees 'beside node --cpu-prof' "$tmp/ours" "$tmp/theirs"
else
	skip 'beside node --cpu-prof' 'no node'
fi

if [ -n "${ASYNC_PROFILER:-}" ] && command -v javac >/dev/null; then
	javac --release 17 -d "$tmp" "$here/Shares.java"
	run "$rawprof" cpu -F 499 --python-only --user --format folded -o "$tmp/ours" -- \
		java "-agentpath:$ASYNC_PROFILER=start,event=itimer,interval=2ms,file=$tmp/theirs,collapsed" -cp "$tmp" Shares 6
	agrees 'beside async-profiler' "$tmp/ours" "$tmp/theirs"
else
	skip 'beside async-profiler' 'Maven does not have it here, or no javac'
fi
finish
