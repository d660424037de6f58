#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Servers of Python, JavaScript and Java under load: at least 99 % of the stacks are whole, and all but 1 % have a name for
# each function. NODES, JAVAS: more versions; the options are what chooses compilers, collectors and how pointers are kept.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"

need_profile
here=$PWD/tests/interpreters
port=18080

# whole: per cent of the stacks of the last recording that are.
whole() { sed -n 's/^user stacks: \([0-9.]*\) % whole.*/\1/p' "$err"; }

# served "NAME FUNCTION COMMAND...": a server, its port behind the command, in its first seconds and when it is warm.
served() {
	local name=$1 function=$2 pid load i
	shift 2
	port=$((port + 1))
	"$@" $port >/dev/null 2>&1 &
	pid=$!
	for ((i = 0; i < 100; i++)); do
		(: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
		sleep 0.1
	done
	python3 "$here/load.py" $port 8 /items /match /page /digest >"$tmp/answers" &
	load=$!
	sleep 2
	run "$rawprof" cpu -F 499 -p $pid --user --format folded -o "$tmp/folded" 5
	wait $load
	kill $pid
	wait $pid 2>/dev/null
	holds "$name: it has served" "$(cat "$tmp/answers") > 20"
	holds "$name: whole" "$(whole) >= 99"
	holds "$name: without a name" "$(share "$tmp/folded" ';\[(anon|js|java|python)\]') <= 1"
	holds "$name: its functions" "$(share "$tmp/folded" "$function") > 5"
}

for python in $(command -v python3) "${PYENV_ROOT:-/root/.pyenv}"/versions/3.{8,9,10,11,12,13,14}.*/bin/python3; do
	[ -x "$python" ] && served "$("$python" --version)" ';[^;]*do_GET' "$python" "$here/server.py"
done
for node in $(command -v node) ${NODES:-}; do
	for option in '' --no-opt --always-sparkplug --maglev; do
		"$node" $option -e 0 2>/dev/null || continue
		served "Node $("$node" --version) $option" ';(items|match|page)[; ]' "$node" $option "$here/server.js"
	done
done
command -v javac >/dev/null && javac --release 17 -d "$tmp" "$here/Server.java"
for java in $(command -v java) ${JAVAS:-}; do
	[ -f "$tmp/Server.class" ] || break
	version=$("$java" --version | head -n 1 | cut -d ' ' -f 1,2)
	virtual=
	[[ $version =~ \ ([0-9]+) && ${BASH_REMATCH[1]} -ge 21 ]] && virtual=-Dvirtual=yes
	for option in -Xint -XX:TieredStopAtLevel={1,2,3,4} -XX:+Use{Serial,Parallel,G1,Z}GC -XX:-UseCompressedOops \
		-XX:-UseCompressedClassPointers -Xmx8g $virtual; do
		served "$version $option" 'Server.handle;' "$java" $option -cp "$tmp" Server
	done
done
finish
