#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# One user's processes have very many mappings, of very many files: that user pays, and nobody else.
. "$(dirname "$0")/lib.sh"
need_profile

chmod a+x "$tmp"
cp "$work/manymaps" "$work/newfiles" "$work/split" "$tmp"
as() { exec setpriv --reuid=$1 --regid=$1 --clear-groups "${@:2}"; }

# attack MAPPINGS PROCESSES [files]
attack() {
	mkdir -m 777 "$tmp/attack"
	as 65534 "$tmp/manymaps" $1 $2 "$tmp/attack" 300 "${@:3}" >"$tmp/mapped" 2>/dev/null &
	attacker=$!
	while [ ! -s "$tmp/mapped" ] && kill -0 $attacker 2>/dev/null; do
		sleep 0.1
	done
}
end() {
	kill -KILL $attacker
	wait $attacker 2>/dev/null
	rm -rf "$tmp/attack" "$tmp/mapped"
}
# MiB that rawprof had, by its own account of it.
memory() { sed -n 's/^own cost:.* memory \([0-9.]*\) MiB.*/\1/p' "$1"; }

if [ "$(cat /proc/sys/vm/max_map_count)" -lt 65530 ]; then
	skip 'very many mappings' 'vm.max_map_count allows fewer'
	finish
fi
attack 65000 1 files
is 'files: they are mapped' "$(cat "$tmp/mapped")" mapped
# The other begins once the attacker has been looked at. Before that, on a busy machine, whoever runs
# may have stacks that are not whole: no file has a table then, and the ring has room for a hundred copies.
recording cpu -v -a -F 499 -d 6 --format folded
sleep 2
as 65533 "$tmp/split" 60 &
victim=$!
wait $recorder
is 'files: status' "$?" 0
ledger_closes files
holds 'files: memory' "$(memory "$err") < 100"
has 'files: it is said' "$err" 'user 65534 has taken its share of the (time|memory)'
lacks 'files: files of others can be opened' "$err" '/usr/.*Too many open files'
has "files: another user's stacks are whole" "$out" '^split;_start;.*;main;work_60 '
lacks "files: another user's stacks are whole, all of them" "$out" '^split;(main|work_[0-9]+)( |;)'
end

attack 65400 40
is 'mappings: they are there' "$(cat "$tmp/mapped")" mapped
for command in wall offcpu; do
	run "$rawprof" $command -a -d 1 --format folded
	is "mappings: $command: status" "$status" 0
	ledger_closes "mappings: $command"
	holds "mappings: $command: memory" "$(memory "$err") < 100"
	has "mappings: $command: it is said" "$err" 'user 65534 has taken its share of the (time|memory)'
done
end

# Files that are gone at once, but what they were called is to be known at the end.
"$rawprof" cpu -a -F 49 -d 120 --format folded -o "$tmp/folded" 2>"$err" &
recording=$!
(as 65534 "$tmp/newfiles" 300000)
kill -INT $recording
wait $recording
is 'new files: status' $? 0
ledger_closes 'new files'
holds 'new files: memory' "$(memory "$err") < 100"
has 'new files: what others do has names' "$tmp/folded" '^split;_start;.*;main;work_60 '

# Without an attack: one who is named is read, whoever it is.
run "$rawprof" cpu -F 499 -p $victim -d 1 --format folded
has 'a process of another user has names' "$out" '^split;_start;.*;main;work_60 '
kill $victim
finish
