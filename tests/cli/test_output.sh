#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Where a result goes: a file is replaced when it is whole or not at all, is its owner's alone, and no link of another
# user decides which file that is; what is no file is written as it is.
. "$(dirname "$0")/lib.sh"

# at_once_refused NAME PATH REGEX: before anything is recorded.
at_once_refused() {
	run "$rawprof" cpu -o "$2" 60
	is "$1: status" "$status" 1
	has "$1: says why" "$err" "^rawprof: cannot write .*$3"
}
mkdir "$tmp/dir" "$tmp/shut"
chmod 777 "$tmp/dir"
chmod 711 "$tmp"
at_once_refused 'a directory' "$tmp/dir" 'Is a directory'
at_once_refused 'a directory that is not there' "$tmp/none/x" 'No such file'
at_once_refused 'a file as a directory' "$0/x" 'Not a directory'
at_once_refused 'no name' '' 'No such file'
at_once_refused 'a name too long' "$tmp/$(printf '%0256d' 0)" 'too long'
ln -s loop "$tmp/loop"
at_once_refused 'a link to itself' "$tmp/loop" 'Too many levels'
if [ "$(id -u)" = 0 ]; then
	ln -s "$tmp/victim" "$tmp/dir/link"
	ln -s "$tmp" "$tmp/dir/way"
	chown -h 65534 "$tmp/dir/link" "$tmp/dir/way"
	at_once_refused 'a link of another user' "$tmp/dir/link" 'symbolic link of another user'
	at_once_refused 'a link of another user in the way' "$tmp/dir/way/victim" 'symbolic link of another user'
	is 'links of another user: nothing was written' "$([ -e "$tmp/victim" ] || echo 'no such file')" 'no such file'
fi
need_profile

if unshare -Ur true 2>/dev/null; then
	run unshare -Ur "$rawprof" cpu 0.2
	is 'in a user namespace: status' "$status" 1
	has 'in a user namespace: says that this is why' "$err" 'capabilities are of a user namespace'
fi

"$work/split" 1000 >/dev/null & # there is something to show
busy=$!
left_over() { find "$tmp" -name '.rawprof*' | wc -l; }
profile() { run "$rawprof" cpu --format folded "$@"; }

umask 022
profile -o "$tmp/new" 0.2
is 'a new file: status' "$status" 0
is 'a new file: its owner may read it, and no other' "$(stat -c %a "$tmp/new")" 600
has 'a new file: holds stacks' "$tmp/new" '^[^;]+;.* [0-9]+$'
has 'a new file: said' "$err" "^wrote $tmp/new \(folded\)"
chmod 644 "$tmp/new"
ln "$tmp/new" "$tmp/hard"
profile -o "$tmp/new" 0.2
is 'a file that was there: mode' "$(stat -c %a "$tmp/new")" 600
is 'a file that was there: another name of it keeps what it had' "$(stat -c %h "$tmp/hard")" 1
(cd "$tmp/dir" && run "$rawprof" cpu --format folded -o ../relative 0.2)
has 'a relative path' "$tmp/relative" ' [0-9]+$'
mkdir "$tmp/other"
ln -s ../other/target "$tmp/dir/mine"
profile -o "$tmp/dir/mine" 0.2
is "one's own link is followed" "$(readlink "$tmp/dir/mine")" ../other/target
has "one's own link: what it leads to is written" "$tmp/other/target" ' [0-9]+$'
if [ "$(id -u)" = 0 ]; then
	SUDO_UID=65534 profile -o "$tmp/dir/link" 0.2
	has 'a link of the user whom sudo is for' "$tmp/victim" ' [0-9]+$'
	rm -f "$tmp/victim"
fi

# What is no plain file.
profile -o /dev/stdout 0.2
has '-o /dev/stdout' "$out" '^[^;]+;.* [0-9]+$'
is '-o /dev/stdout, a file: it is the same file' "$(stat -c %a "$out")" 644
last_command='rawprof cpu -o /dev/stdout | cat'
timeout 60 "$rawprof" cpu --format folded -o /dev/stdout 0.2 2>"$err" | cat >"$out"
has '-o /dev/stdout, a pipe' "$out" '^[^;]+;.* [0-9]+$'
profile -o /dev/null 0.2
is '-o /dev/null: status' "$status" 0
is '-o /dev/null: it is still one' "$(stat -c %F /dev/null)" 'character special file'
profile -o /dev/full 0.2
is '-o /dev/full: status' "$status" 1
has '-o /dev/full: says so' "$err" 'cannot write /dev/full: No space left'
lacks '-o /dev/full: nothing was written' "$err" '^wrote'
mkfifo "$tmp/fifo"
timeout 60 cat "$tmp/fifo" >"$said" &
profile -o "$tmp/fifo" 0.2
wait $!
has '-o FIFO' "$said" '^[^;]+;.* [0-9]+$'
is '-o FIFO: it is still one' "$(stat -c %F "$tmp/fifo")" fifo

# Whatever goes wrong, the file that was there is there.
# kept NAME STATUS REGEX: after a run that was to write $tmp/old.
kept() {
	is "$1: status" "$status" "$2"
	has "$1: says so" "$err" "$3"
	lacks "$1: no word of success" "$err" '^wrote'
	is "$1: the old file is whole" "$(cat "$tmp/old")" 'what was there'
	is "$1: nothing is left over" "$(left_over)" 0
}
echo 'what was there' >"$tmp/old"
last_command='ulimit -f; rawprof cpu -o'
(ulimit -f 1; exec timeout -k 5 60 "$rawprof" cpu --format svg -o "$tmp/old" 0.2 >"$out" 2>"$err")
status=$?
kept 'a file may not grow' 1 'cannot write .*old: File too large'
recording cpu -v -o "$tmp/old" 60
last_command='kill -KILL'
kill -KILL $recorder
wait $recorder 2>/dev/null
is 'killed: the old file is whole' "$(cat "$tmp/old")" 'what was there'
is 'killed: nothing is left over' "$(left_over)" 0
run "$rawprof" cpu -o "$tmp/old" --format folded -- /no/such/program
kept 'a program that there is not' 1 'cannot run /no/such/program'
if [ "$(id -u)" = 0 ] && unshare -m mount -t tmpfs -o size=64k none "$tmp/dir" 2>/dev/null; then
	last_command='rawprof cpu -o on a full file system'
	unshare -m bash -c 'mount -t tmpfs -o size=64k none "$1" && echo "what was there" >"$1/old" &&
		head -c 60000 /dev/zero >"$1/fill"; timeout -k 5 60 "$2" cpu --format svg -o "$1/old" 0.2
		status=$?; cat "$1/old"; ls -A "$1" | grep -c rawprof; exit $status' - "$tmp/shut" "$rawprof" >"$out" 2>"$err"
	status=$?
	cp "$out" "$said"
	is 'no space: status' "$status" 1
	has 'no space: says so' "$err" 'cannot write .*old: No space left'
	is 'no space: the old file is whole, nothing is left over' "$(tr '\n' ' ' <"$said")" 'what was there 0 '
	last_command='rawprof cpu -o to a file that is mounted'
	unshare -m bash -c 'mount --bind "$1/old" "$1/hard" && timeout -k 5 60 "$2" cpu --format folded -o "$1/hard" 0.2' \
		- "$tmp" "$rawprof" >"$out" 2>"$err"
	is 'a file that is mounted: status' $? 0
	has 'a file that is mounted: is written where it lies' "$tmp/old" ' [0-9]+$'
else
	skip 'a full file system' 'cannot mount one'
fi

# A series can be seen as it grows.
"$rawprof" io --format json -i 0.2 -o "$tmp/series" 30 >"$out" 2>"$err" &
pid=$!
for ((i = 0; i < 100; i++)); do
	[ "$(wc -l 2>/dev/null <"$tmp/series")" -ge 2 ] 2>/dev/null && break
	sleep 0.1
done
kill -INT $pid
wait $pid
is 'a series: status' $? 0
holds 'a series is seen as it grows' "$i < 100"
is 'a series: mode' "$(stat -c %a "$tmp/series")" 600
"$rawprof" cpu --samples -o "$tmp/samples" -F 99 30 >"$out" 2>"$err" &
pid=$!
for ((i = 0; i < 100; i++)); do
	[ -s "$tmp/samples" ] && break
	sleep 0.1
done
kill -INT $pid
wait $pid
holds 'samples are seen as they come' "$i < 100"
is 'nothing is left over' "$(left_over)" 0
kill $busy
finish
