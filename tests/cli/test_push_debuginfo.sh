#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rawprof agent, debuginfo = yes: Parca is asked once for each build id, and gets the files that it wants, which have symbols
# which the agent may read, and which are no other user's, byte for byte; no others.
. "$(dirname "$0")/lib.sh"

printf 'push = otlp+http://127.0.0.1:1\ndebuginfo = yes\n' >"$tmp/wrong.conf"
run "$rawprof" agent --dir "$tmp/none" --config "$tmp/wrong.conf" -d 1
is 'not of Parca: status' "$status" 2
has 'not of Parca: says so' "$err" 'wrong.conf:2: debuginfo is for parca alone'
if "$rawprof" agent --dir "$tmp/none" --push otlp+http://127.0.0.1:1 -d 1 2>&1 | grep -q 'libcurl'; then
	skip "$(basename "$0")" 'built without libcurl, which says so'
	finish
fi
need_profile
have_python || finish
command -v strip >/dev/null || finish

port=$((20000 + RANDOM % 12000))
end_pids_too
python3 tests/cli/push_server.py $port "$tmp" &
pids=$!
for ((i = 0; i < 200; i++)); do
	(exec 3<>/dev/tcp/127.0.0.1/$port) 2>/dev/null && break
	sleep 0.1
done

# Programs with build ids of their own: the text of one is in the file of build/workloads/split.
build_id() { python3 - "$1" <<'END'
import struct, sys
data = open(sys.argv[1], 'rb').read()
at = data.index(b'\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0') + 16
print(data[at:at + 20].hex())
END
}
# program NAME: with another build id.
program() {
	python3 - "$work/split" "$tmp/$1" "$(build_id "$work/split")" "$(printf '%s' "$1$$" | sha1sum | cut -c 1-40)" <<'END'
import sys
data = open(sys.argv[1], 'rb').read()
open(sys.argv[2], 'wb').write(data.replace(bytes.fromhex(sys.argv[3]), bytes.fromhex(sys.argv[4])))
END
	chmod 755 "$tmp/$1"
}
[ -n "$(build_id "$work/split" 2>/dev/null)" ] || { skip "$(basename "$0")" 'the linker gives programs no build id'; finish; }
chmod 755 "$tmp"
for name in whole stripped replaced secret theirs; do program $name; done
strip "$tmp/stripped"
ids=()
whole=$(build_id "$tmp/whole") stripped=$(build_id "$tmp/stripped") replaced=$(build_id "$tmp/replaced") secret=$(build_id "$tmp/secret") theirs=$(build_id "$tmp/theirs")
for name in whole stripped replaced secret theirs; do
	"$tmp/$name" 60 >/dev/null &
	ids+=($!)
	pids="$pids $!"
done
until_true() {
	local i
	for ((i = 0; i < 600; i++)); do
		eval "$1" && return
		sleep 0.1
	done
	fail 'waiting' "not within 60 s: $1"
}
for pid in "${ids[@]}"; do until_true "[ \"\$(readlink /proc/$pid/exe)\" != /usr/bin/bash ]"; done
# Another file by the name of one that runs, and one that nobody may read but with rights of root's, or its owner's.
cp "$tmp/whole" "$tmp/other" && mv "$tmp/other" "$tmp/replaced"
chmod 0 "$tmp/secret"
[ "$(id -u)" != 0 ] || chown 65534 "$tmp/secret" "$tmp/theirs"

declare -A agents
for mode in takes refuse elsewhere fails off; do
	echo "debug $mode" >"$tmp/$mode.mode"
	printf 'push = parca+http://127.0.0.1:%s/%s\ndebuginfo = %s\n' $port $mode "$([ $mode = off ] && echo no || echo yes)" >"$tmp/$mode.conf"
	"$rawprof" agent --dir "$tmp/$mode.dir" --window 1 -p "$(IFS=,; echo "${ids[*]}")" -v --config "$tmp/$mode.conf" 2>"$tmp/$mode.err" &
	agents[$mode]=$!
	pids="$pids $!"
done
# calls SERVER METHOD BUILD_ID: how often.
calls() { cat "$tmp/$1.log" 2>/dev/null | grep -c "\"to\": \"$2\", \"ok\": true, \"build_id\": \"$3\""; }
windows() { cat "$tmp/$1.log" 2>/dev/null | grep -c '"to": "writeraw"'; }
until_true '[ "$(calls takes MarkUploadFinished '"$whole"')" -gt 0 ]'
for mode in takes refuse elsewhere fails off; do until_true "[ \"\$(windows $mode)\" -ge 4 ]"; done
for id in "$stripped" "$replaced" "$secret" "$theirs"; do until_true "[ \"\$(calls takes ShouldInitiateUpload $id)\" -gt 0 ]"; done
for mode in takes refuse elsewhere fails off; do
	kill -TERM "${agents[$mode]}"
	wait "${agents[$mode]}"
	is "$mode: the agent: status" "$?" 0
done

for id in "$whole" "$stripped" "$replaced" "$secret" "$theirs"; do
	is 'each is asked for once' "$(calls takes ShouldInitiateUpload "$id")" 1
done
is 'what it wants comes, byte for byte' \
	"$(sed -n "s/.*\"to\": \"Upload\".*\"$whole\", \"sha256\": \"\([0-9a-f]*\)\".*/\1/p" "$tmp/takes.log")" \
	"$(sha256sum "$tmp/whole" | cut -d ' ' -f 1)"
is 'and is finished' "$(calls takes MarkUploadFinished "$whole")" 1
is 'not what has no symbols' "$(calls takes Upload "$stripped")" 0
is 'nor another file of that name' "$(calls takes Upload "$replaced")" 0
[ "$(id -u)" != 0 ] || is 'nor what the agent may not read' "$(calls takes Upload "$secret")" 0
[ "$(id -u)" != 0 ] || is 'nor what another user owns, who may have written any build id into it' "$(calls takes Upload "$theirs")" 0
is 'refused: nothing comes' "$(calls refuse InitiateUpload "$whole")" 0
is 'elsewhere: nothing is sent to other addresses' "$(calls elsewhere InitiateUpload "$whole"), $(calls elsewhere Upload "$whole")" '1, 0'
is 'fails: it is not finished, nor tried again' "$(calls fails Upload "$whole"), $(calls fails MarkUploadFinished "$whole")" '1, 0'
is 'off: nothing is asked' "$(grep -c Initiate "$tmp/off.log")" 0
for mode in takes refuse elsewhere fails off; do
	lacks "$mode: nothing against the rules" "$tmp/$mode.log" '"bad"'
	windows=0 missing=-1 twice=-1 other=-1 strange=-1 bad=-1
	eval "$(python3 tests/cli/push_check.py "$rawprof" "$tmp/$mode.dir" "$tmp/$mode.log" writeraw)"
	holds "$mode: windows are whole" "$windows > 2 && $missing + $twice + $other + $strange + $bad == 0"
done
finish
