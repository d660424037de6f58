#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# docs/scale.md against the kernel's own account of the maps of a recording.
. "$(dirname "$0")/lib.sh"
need_profile
export JAVA_HOME=/ # as on a machine where Java may run
doc=docs/scale.md
cpus=$(sed 's/.*[-,]//' /sys/devices/system/cpu/possible)
cpus=$((cpus + 1))
most=$(</proc/sys/kernel/threads-max)

# rows COMMENT: the cells of the table behind that comment, separated by |.
rows() {
	sed -n "/^<!-- $1/,/^\$/p" "$doc" | sed '1,3d; /^$/d' | sed 's/^| *//; s/ *|$//; s/ *| */|/g'
}
# bytes EXPRESSION KEY VALUE ENTRIES: what the document says. cpus, threads and most are the machine's.
bytes() {
	awk -v C="$cpus" -v T="$threads" -v M="$most" -v key="$2" -v value="$3" -v entries="$4" '
	function up(n, to) { return int((n + to - 1) / to) * to }
	function power(n, p) { for (p = 1; p < n; p *= 2); return p }
	function pages(n) { return up(n, 4096) }
	function max(a, b) { return a > b ? a : b }
	function min(a, b) { return a < b ? a : b }
	function R(f, b, c) { b = f * 524288; for (c = 2; c < C; c *= 2) b *= 2; return min(b, 67108864) }
	function ring_of_threads(f, b) { b = R(f); while (b / 1024 < T && b < 67108864) b *= 2; return b }
	BEGIN { key = up(key, 8); value = up(value, 8); print '"${1//RT(/ring_of_threads(}"' }' </dev/null # RT is a variable of gawk
}
entries() { bytes "$1" 0 0 0; }

kernel=$(uname -r)
case $kernel in
[1-5].* | 6.[0-5].*)
	skip 'the sizes of maps' "Linux $kernel has other maps, or does not count them, as from 6.6 on"
	finish
	;;
esac

rows kinds >"$tmp/kinds"
rows maps >"$tmp/rows"
holds 'the document has both tables' "$(wc -l <"$tmp/kinds") > 8 && $(wc -l <"$tmp/rows") > 30"

# check_map COMMAND NAME TYPE KEY VALUE ENTRIES FLAGS BYTES
check_map() {
	local c=$1 name=$2 type=$3 key=$4 value=$5 n=$6 flags=$7 size=$8 row wanted said
	row=$(awk -F '|' -v c="$c" -v m="$name" '$2 == m && (" " $1 " ") ~ " " c " "' "$tmp/rows")
	if [ -z "$row" ]; then
		holds "$c: $name, not in the document, is small" "$size <= 8192"
		return
	fi
	IFS='|' read -r _ _ said_type said_flags said_key said_value said <<<"$row"
	is "$c: $name: type, flags, key, value" "$said_type $said_flags $said_key $said_value" "$type $flags $key $value"
	if [ "$said" != any ]; then # threads have come and gone since they were counted
		near "$c: $name: entries" "$n" "$(entries "$said")" "$(case $said in *T*) echo 64 ;; *) echo 0 ;; esac)"
	fi
	wanted=$(bytes "$(formula "$type" "$flags")" "$key" "$value" "$n")
	if [ "$flags" = 1 ]; then # with what is in it
		holds "$c: $name: bytes at least" "$size >= $wanted && $wanted > 0"
	else
		near "$c: $name: bytes" "$size" "$wanted" $((1024 + 128 * cpus))
	fi
}

# formula TYPE FLAGS: of the bytes of such a map.
formula() { awk -F '|' -v t="$1" -v f="$2" '$2 == t && $3 == f { sub(/,.*/, "", $4); print $4 }' "$tmp/kinds"; }

# Once a recording has given up its rights all its maps are there.
is_confined() { [ "$(sed -n 's/^Seccomp:\t//p' "/proc/$1/status" 2>/dev/null)" = 2 ]; }
for command in cpu wall offcpu lock io 'mem -p' 'trace sched:sched_process_exec' 'trace --syscalls' 'func libc:getpid'; do
	set --
	[ "$command" != 'mem -p' ] || set -- $$
	threads=$(sed 's/.*\/\([0-9]*\) .*/\1/' /proc/loadavg)
	# shellcheck disable=SC2086
	"$rawprof" $command "$@" -d 60 >"$out" 2>"$err" </dev/null &
	pid=$!
	for ((i = 0; i < 300; i++)); do
		is_confined $pid && break
		sleep 0.1
	done
	"$work/maps" $pid >"$tmp/maps"
	kill -INT $pid
	wait $pid
	holds "$command: it has maps" "$(wc -l <"$tmp/maps") >= 10"
	c=${command%% *}
	[ "$command" != "trace --syscalls" ] || c=syscalls
	while read -r name type key value n flags size; do
		check_map "$c" "$name" "$type" "$key" "$value" "$n" "$flags" "$size"
	done <"$tmp/maps"
	for name in $(awk -F '|' -v c="$c" '(" " $1 " ") ~ " " c " " && $2 != "unwind_shard" { print $2 }' "$tmp/rows"); do
		has "$c: the map $name is there" "$tmp/maps" "^$name "
	done
done

# ---- the times of samples: P places of 24 bytes for each CPU, four seconds of them
check_times() { # FREQUENCY PLACES
	"$rawprof" cpu -F "$1" -o "$tmp/a.rawprof" -d 60 >"$out" 2>"$err" </dev/null &
	pid=$!
	for ((i = 0; i < 300; i++)); do
		is_confined $pid && break
		sleep 0.1
	done
	"$work/maps" $pid >"$tmp/maps"
	kill -INT $pid
	wait $pid
	has "times at $1 Hz: an element for each CPU" "$tmp/maps" "^times 2 4 $((64 + 24 * $2)) $cpus 1024 "
}
check_times 99 512
check_times 999 4096

# ---- larger machines: the sums are those of the tables
# sum COMMAND: MiB, by the document.
sum() {
	local kind flags key value said n total=0
	while IFS='|' read -r _ _ kind flags key value said; do
		[ "$said" != any ] || continue
		n=$(entries "$said")
		total=$((total + $(bytes "$(formula "$kind" "$flags")" "$key" "$value" "$n")))
	done < <(awk -F '|' -v c="$1" '(" " $1 " ") ~ " " c " "' "$tmp/rows")
	echo $(((total + (1 << 19)) >> 20))
}
machines=('2 200 32768' '16 2000 524288' '64 10000 2097152' '256 50000 8388608')
rows sums >"$tmp/sums"
holds 'the document has sums' "$(wc -l <"$tmp/sums") == 6"
while IFS='|' read -r c said; do
	computed=
	for machine in "${machines[@]}"; do
		read -r cpus threads most <<<"$machine"
		computed="$computed|$(sum "$c")"
	done
	is "$c: the sums" "$said" "${computed#|}"
done <"$tmp/sums"
finish
