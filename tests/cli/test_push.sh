#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rawprof agent --push: windows reach servers of profiles whole, once, and however these behave.
. "$(dirname "$0")/lib.sh"

# ---- without any right

for list in pyroscope http://x pyroscope+ftp://x pyroscope+http:// loki+http://x 'otlp+http://x?y=z' \
	pyroscope+http://x,pyroscope+http://x 'pyroscope+http://user:secret@x' ''; do
	run "$rawprof" agent --dir "$tmp/none" --push "$list" -d 1
	is "--push '$list' is bad usage" "$status" 2
	lacks "--push '$list': no secret is said" "$err" secret
done
printf 'push = otlp+http://127.0.0.1:1\ntoken = a\ntokens = b\n' >"$tmp/wrong.conf"
run "$rawprof" agent --dir "$tmp/none" --config "$tmp/wrong.conf" -d 1
is 'a wrong line: status' "$status" 2
has 'a wrong line: which, and what of it' "$err" "wrong.conf:3: there is no key 'tokens'"
echo '# nothing' >"$tmp/empty.conf"
run "$rawprof" agent --dir "$tmp/none" --config "$tmp/empty.conf" -d 1
is 'no destination: status' "$status" 2
has 'no destination: says what to write' "$err" "empty.conf has no destination: a line 'push ="
run "$rawprof" agent --dir "$tmp/none" --config "$tmp/missing.conf" -d 1
is 'no file: status' "$status" 1
is 'bad usage makes no directory' "$([ -e "$tmp/none" ] && echo there)" ''
if "$rawprof" agent --dir "$tmp/none" --push otlp+http://127.0.0.1:1 -d 1 2>&1 | grep -q 'libcurl'; then
	skip "$(basename "$0")" 'built without libcurl, which says so'
	finish
fi
need_profile
have_python || finish

# ---- servers and agents

port=$((20000 + RANDOM % 12000))
end_pids_too
# serve: all servers of names below $url, from now on.
serve() {
	local i
	port=$((port + 1))
	python3 tests/cli/push_server.py $port "$tmp" &
	pids="$pids $!"
	for ((i = 0; i < 200; i++)); do
		(exec 3<>/dev/tcp/127.0.0.1/$port) 2>/dev/null && return
		sleep 0.1
	done
	fail 'a server for the tests' 'does not start'
	finish
}
mode() { echo "$2" >"$tmp/$1.new" && mv "$tmp/$1.new" "$tmp/$1.mode"; }
# agent NAME OPTIONS...: in the background; $agent is its process, messages are in NAME.err.
agent() {
	"$rawprof" agent --dir "$tmp/$1.dir" --window 1 -v "${@:2}" 2>"$tmp/$1.err" &
	agent=$!
	pids="$pids $agent"
}
# all_there NAME TO [SERVER]: and each once, with what the windows have.
figures() {
	windows=0 missing=-1 twice=-1 other=-1 strange=-1 bad=-1
	eval "$(python3 tests/cli/push_check.py "$rawprof" "$tmp/$1.dir" "$tmp/${3:-$1}.log" "$2")"
	last_command="$1: $windows windows, $missing missing, $twice twice, $other other, $strange strange, $bad bad"
}
all_there() {
	figures "$@"
	holds "${3:-$1} $2: no window is missing, or there twice" "$windows > 1 && $missing + $twice + $strange == 0"
	holds "${3:-$1} $2: totals, times, forms are right" "$other + $bad == 0"
}
waiting() { find "$tmp/$1.dir/spool" -type f 2>/dev/null | wc -l; }
said_dropped() { sed -n "s/.*: \([0-9]*\) windows dropped.*/\1/p" "$tmp/$1.err" | awk '{ n += $1 } END { print n + 0 }'; }
until_true() {
	local i
	for ((i = 0; i < 1200; i++)); do
		eval "$1" && return
		sleep 0.1
	done
	fail 'waiting' "not within 120 s: $1"
}
# requests SERVER [REGEX]: how many lines its log has.
requests() { cat "$tmp/$1.log" 2>/dev/null | grep -c "${2:-.}"; }

serve
url=http://127.0.0.1:$port
bash -c 'while :; do :; done' &
burner=$!
python3 -c 'import time
while True: time.sleep(0.01)' &
both=$burner,$!
pids="$pids $burner $!"

# Each in a directory of its own, all at the same time.
troubles='503 500 429 404 stall close nonsense page'
mode 503 'status 503'
mode 500 'status 500'
mode 429 'status 429 1'
mode 404 'status 404'
for name in stall close nonsense page; do mode $name $name; done
for name in $troubles; do printf 'push = pyroscope+%s/%s\ntimeout = 1\n' "$url" "$name"; done >"$tmp/trouble.conf"
agent trouble --config "$tmp/trouble.conf" -p "$burner"
trouble=$agent
mode four ok
agent four --push "pyroscope+$url/four,pyroscope-ingest+$url/four,parca+$url/four,otlp+$url/four" --profile cpu,offcpu -p "$both" -d 3
four=$agent
mode refuses 'status 422'
agent refuses --push "parca+$url/refuses" -p "$burner" -d 3
refuses=$agent
mode partial 'partial 3'
agent partial --push "otlp+$url/partial" -p "$burner" -d 3
partial=$agent
printf 'push = otlp+http://127.0.0.1:1\nspool = 8K\n' >"$tmp/full.conf"
agent full --config "$tmp/full.conf" -p "$burner"
full=$agent
mode killed ok
printf 'push = parca+%s/killed\n' "$url" >"$tmp/killed.conf"
agent killed --config "$tmp/killed.conf" -p "$burner"
killed=$agent
mode token 'need Bearer second'
echo first >"$tmp/token"
chmod 600 "$tmp/token"
printf 'push = pyroscope+%s/token/\ntoken-file = %s\ntenant = blue\nheader = X-Team: storage\nlabel = cluster west\nkeep = host *\nreplace = exe ?* service_name svc-${exe}\nwithin = comm\n' \
	"$url" "$tmp/token" >"$tmp/token.conf"
agent token --config "$tmp/token.conf" -p "$burner"
token=$agent
mode silent stall
agent silent --push "otlp+$url/silent" -p "$burner"
silent=$agent

# ---- an outage, in every way there is

sender_of() { pgrep -P "$1" -x rawprof-sender; }
until_true '[ -n "$(sender_of '"$trouble"')" ] && [ "$(requests 503)" -gt 0 ]'
sender=$(sender_of "$trouble")
worker=$(pgrep -P "$sender")
for process in "$sender" "$worker"; do
	is 'the sender has no rights' "$(awk '/^Cap(Eff|Prm)/ { print $2 }' "/proc/$process/status" | sort -u)" 0000000000000000
	[ "$(id -u)" != 0 ] || is 'and is not root' "$(awk '/^Uid/ { print $2, $3, $4 }' "/proc/$process/status")" '65534 65534 65534'
	is 'it writes no files' "$(awk '/^Max file size/ { print $4 }' "/proc/$process/limits")" 0
done
is 'the one that parses has the system calls of a sender' "$(awk '/^Seccomp:/ { print $2 }' "/proc/$worker/status")" 2
holds 'libcurl is in no process but the sender' \
	"$(grep -c libcurl "/proc/$trouble/maps") == 0 && $(grep -c libcurl "/proc/$worker/maps") > 0"
until_true '[ "$(waiting trouble)" -ge 24 ]' # three windows each
for name in $troubles; do
	holds "$name: it did not ask all the time" "$(requests $name) < 12"
	mode "$name" ok
done
until_true '[ "$(waiting trouble)" -eq 0 ]'
kill -TERM "$trouble"
wait "$trouble"
is 'after an outage: SIGTERM ends it' "$?" 0
for name in $troubles; do all_there trouble Push "$name"; done
is 'an outage is said once, of each' "$(grep -c 'takes nothing now' "$tmp/trouble.err")" 8

# ---- what a server refuses for good

wait "$refuses"
is 'refused: status' "$?" 0
figures refuses writeraw
is 'refused: what is dropped is what is said' "$(said_dropped refuses)" "$windows"
is 'refused: nothing waits' "$(waiting refuses)" 0
has 'refused: why' "$tmp/refuses.err" 'refuses a window \(status 422, .*as it was told'

# ---- what OTLP takes but for a part: it must not be sent again

wait "$partial"
is 'partial: status' "$?" 0
all_there partial profiles
has 'partial: said, without what would colour a terminal' "$tmp/partial.err" \
	'but for a part: 3 profiles rejected \(some are too old \[31m\)'
is 'partial: how many in all' "$(sed -n 's/.*: \([0-9]*\) profiles rejected, of windows that it took/\1/p' "$tmp/partial.err")" \
	$((3 * $(requests partial \"ok\")))

# ---- more than the spool holds

written() { find "$tmp/$1.dir" -maxdepth 1 -name '*.rawprof' 2>/dev/null | wc -l; }
until_true '[ "$(written full)" -gt $(($(waiting full) + 1)) ]'
kill -TERM "$full"
wait "$full"
is 'full: status' "$?" 0
left=$(waiting full) written=$(written full)
is 'full: what is dropped is what is said' "$(said_dropped full)" "$((written - left))"
holds 'full: something was dropped, and something is left' "$written > $left && $left > 0"
holds 'full: the spool is within its bound' \
	"$(find "$tmp/full.dir/spool" -type f -printf '%s\n' | awk '{ n += $1 } END { print n }') <= 8192"
has 'full: what is left is said' "$tmp/full.err" ": $left windows wait in the spool for the next start"
is 'full: files are for their owner alone' "$(find "$tmp/full.dir" -type f -printf '%m\n' | sort -u)" 600
is 'full: the newest are left' "$(find "$tmp/full.dir/spool" -type f -printf '%f\n' | sed 's/^[0-9a-f]*-\(.*\)-0.rawprof/\1/' | sort)" \
	"$(find "$tmp/full.dir" -maxdepth 1 -name '*.rawprof' -printf '%f\n' | sed 's/.rawprof//' | sort | tail -n "$left")"

# ---- killed, and started again

sender=$(sender_of "$killed")
until_true '[ "$(requests killed ok)" -gt 1 ]'
mode killed stall
sleep "1.$((RANDOM % 10))"
kill -KILL "$killed"
wait "$killed" 2>/dev/null
until_true '[ ! -d "/proc/$sender" ]'
ok 'killed: the sender ends, too'
mode killed ok
run "$rawprof" agent --dir "$tmp/killed.dir" --window 1 -p "$burner" --config "$tmp/killed.conf" -d 2
is 'killed: started again' "$status" 0
figures killed writeraw
holds 'killed: at most one window is missing' "$windows > 2 && $missing <= 1 && $strange + $other + $bad == 0"
is 'killed: nothing waits' "$(waiting killed)" 0

# ---- a token that is put right

until_true '[ "$(requests token Bearer.first)" -gt 0 ]'
lacks 'token: it is in no message' "$tmp/token.err" 'first|second'
echo second >"$tmp/token"
kill -HUP "$token"
until_true '[ "$(requests token \"ok\")" -gt 2 ] && [ "$(waiting token)" -lt 2 ]'
kill -TERM "$token"
wait "$token"
is 'token: SIGTERM ends it' "$?" 0
all_there token Push
# shellcheck disable=SC2016 # of Python
python3 - "$tmp/token.log" >"$out" <<'END'
import json, sys
for line in map(json.loads, open(sys.argv[1])):
    for p in line.get('profiles', []):
        h, l = line['head'], p['labels']
        print(h.get('x-scope-orgid'), h.get('x-team'), l.get('cluster'), p['sample_labels'],
              l['service_name'] == 'svc-' + l.get('exe', '') if 'exe' in l else l['service_name'])
END
is 'heads, labels and rules are those of the file' "$(grep -v unknown "$out" | sort -u)" "blue storage west ['comm'] True"

# ---- SIGTERM, with a server that stalls

begin=$(date +%s%N)
kill -TERM "$silent"
wait "$silent"
is 'stalled: SIGTERM ends it' "$?" 0
holds 'stalled: within a bound' "($(date +%s%N) - $begin) / 1e9 < 20"
left=$(waiting silent)
holds 'stalled: what was not sent waits' "$left > 0"
has 'stalled: and is said' "$tmp/silent.err" ": $left windows wait in the spool"

# ---- all of them

wait "$four"
is 'four destinations: status' "$?" 0
for to in ingest Push writeraw profiles; do
	all_there four $to
done
is 'four destinations: nothing waits' "$(waiting four)" 0

# ---- TLS

if command -v openssl >/dev/null && openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost \
	-addext subjectAltName=IP:127.0.0.1 -keyout "$tmp/key.pem" -out "$tmp/cert.pem" 2>/dev/null; then
	TLS="$tmp/cert.pem:$tmp/key.pem" serve
	mode tls ok
	run "$rawprof" agent --dir "$tmp/tls.dir" --window 1 -p "$burner" --push "otlp+https://127.0.0.1:$port/tls" -d 2
	has 'TLS: a certificate of nobody is not taken' "$err" 'takes nothing now .*certificate'
	printf 'push = otlp+https://127.0.0.1:%s/tls\nca-file = %s\n' $port "$tmp/cert.pem" >"$tmp/known.conf"
	run "$rawprof" agent --dir "$tmp/tls.dir" --window 1 -p "$burner" --config "$tmp/known.conf" -d 2
	all_there tls profiles
else
	skip 'TLS' 'there is no openssl'
fi
finish
