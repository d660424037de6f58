#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What `rawprof mem` adds to a pair of malloc and free, beside the same three probes as bcc's memleak sets them (entry
# and return of malloc, entry of free, a map entry for each block), here by bpftrace. Root; about a minute a round.
# ROUNDS=5: in turn, and of each the best, for what else the machine does only adds. PAIRS=200000 a run.
set -u
cd "$(dirname "$0")/.." || exit 1
rounds=${ROUNDS:-5} pairs=${PAIRS:-200000} depth=${DEPTH:-10}
rawprof=${RAWPROF:-./rawprof}
work=${WORK:-build/workloads/mem_pairs}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
libc=$(ldd "$work" | awk '/libc\.so/ { print $3 }')

memleak() {
	# bpftrace ends with the process of -p
	exec bpftrace -p "$1" -e "uprobe:$libc:malloc { @size[tid] = arg0; }
		uretprobe:$libc:malloc /@size[tid]/ { @block[retval] = @size[tid]; delete(@size[tid]); }
		uprobe:$libc:free { delete(@block[arg0]); }"
}
with() { exec "$rawprof" mem -q "${@:2}" -p "$1"; }

names=() commands=()
add() { names+=("$1") && commands+=("$2"); }
add 'nothing' ''
! command -v bpftrace >/dev/null || add 'the probes of memleak, by bpftrace' memleak
add 'mem --processes: without stacks' 'with --processes'
add 'mem --call-graph fp' 'with --call-graph fp'
add 'mem: whole stacks' 'with'
add 'mem --peak' 'with --peak'
add 'mem --lifetimes' 'with --lifetimes'
add 'mem --sample-bytes 512K' 'with --sample-bytes 512K'
add 'mem --sizes' 'with --sizes'
add 'mem --faults' 'with --faults'
add 'mem --growth' 'with --growth'

# measure COMMAND: nanoseconds of a pair
measure() {
	local pid watcher=
	"$work" "$pairs" "$depth" 3 >"$tmp/ns" &
	pid=$!
	if [ -n "$1" ]; then
		read -ra words <<<"$1"
		("${words[0]}" "$pid" "${words[@]:1}" >"$tmp/out" 2>"$tmp/err") &
		watcher=$!
	fi
	wait "$pid"
	[ -z "$watcher" ] || wait "$watcher" || return
	cat "$tmp/ns"
}

for ((round = 0; round < rounds; round++)); do
	for i in "${!names[@]}"; do
		ns=$(measure "${commands[i]}")
		[ -z "$ns" ] || echo "$i $ns" >>"$tmp/all"
	done
done

exec >"${OUTPUT:-/dev/stdout}"
printf '# What following allocations costs\n\nCPU time of a malloc and a free of 64 bytes, 15 functions deep, the best of %s runs: bench/mem.sh.\n\n' "$rounds"
echo "| | ns a pair | added | of memleak's |"
echo "|---|---|---|---|"
for i in "${!names[@]}"; do
	awk -v i="$i" -v name="${names[i]}" -v memleak="${names[1]}" '
		!($1 in best) || $2 < best[$1] { best[$1] = $2 }
		END {
			if (!(i in best)) { printf "| %s | could not be measured | | |\n", name; exit }
			added = best[i] - best[0]
			base = memleak ~ /bpftrace/ ? best[1] - best[0] : 0
			printf "| %s | %.0f | %.0f | %s |\n", name, best[i], added,
				(base > 0 ? sprintf("%.2f", added / base) : "-")
		}' "$tmp/all"
done
