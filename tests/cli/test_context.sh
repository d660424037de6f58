#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What programs publish of their threads and of themselves, by OpenTelemetry's proposals: shares of CPU time by route, trace
# and span to the byte, wherever the variable lies; and programs that lie.
. "$(dirname "$0")/lib.sh"

need_profile
run "$rawprof" cpu --thread-context -- true
if grep -q 'no labels of goroutines and threads here' "$err"; then
	skip 'contexts of threads' 'not on this kernel'
	finish
fi

# by VALUE: its share of the samples in $out, in percent.
by() { awk -v w="$1" '$1 ~ /%$/ && $NF == w { sub("%", "", $1); print $1 }' "$out"; }

# ---- wherever the variable lies. The first tenth of a second passes until it is looked for.

while read -r name program where; do
	run "$rawprof" cpu --thread-context -F 499 -q -o "$tmp/cpu.rawprof" -- "$work/$program" "$where" right 3
	is "$name: status" "$status" 0
	run "$rawprof" report --by http.route "$tmp/cpu.rawprof"
	near "$name: samples of one route" "$(by /b)" 60 8
	near "$name: of the other" "$(by /a)" 20 6
	near "$name: of none" "$(by -)" 20 8
done <<EOF
program context program
linked context-linked -
dlopen context $work/libcontext.so
dlopen-old context $work/libcontext-old.so
EOF
run "$rawprof" report --by service "$tmp/cpu.rawprof"
is 'the service of all samples' "$(by shop)" 100.0
have_python || finish

# labels FILE: each set of labels, as key=text, of its samples.
labels() {
	python3 - "$1" <<'EOF'
import json, sys
d = json.load(open(sys.argv[1]))
for s in sorted({' '.join('%s=%s' % i for i in sorted(s.get('labels', {}).items())) for s in d['samples']}):
    print(s)
EOF
}
run "$rawprof" cpu --thread-context --trace-ids -F 499 --format json -o "$tmp/ids.json" -- "$work/context" program right 1
labels "$tmp/ids.json" >"$out"
has 'a trace and its span, to the byte' "$out" \
	'http.route=/a .*span_id=9091929394959697 trace_id=101112131415161718191a1b1c1d1e1f user=ann$'
has 'another one' "$out" \
	'http.route=/b .*span_id=a0a1a2a3a4a5a6a7 trace_id=202122232425262728292a2b2c2d2e2f user=bob$'
has 'identifiers that are attributes' "$out" 'datadog.local_root_span_id=0123456789abcdef'
has 'of the process' "$out" 'environment=test .*service=shop'
lacks 'of several with one key the last one counts' "$out" '/before'
lacks 'a number that has no name' "$out" 'of no name'
run "$rawprof" cpu --thread-context -F 499 --format json -o "$tmp/no.json" -- "$work/context" program right 1
labels "$tmp/no.json" >"$out"
has 'not asked for: attributes alone' "$out" '^environment=test http.route=/a service=shop user=ann$'
lacks 'no identifier that nobody has asked for' "$out" '_id='

# ---- in other forms, of waits, of a process that was there before

run "$rawprof" cpu --trace-ids -F 499 --format otlp -o "$tmp/cpu.otlp" -- "$work/context" program right 1
python3 - "$tmp/cpu.otlp" <<'EOF' >"$out"
import sys
def varint(b, i):
    v = s = 0
    while True:
        v |= (b[i] & 127) << s
        i, s = i + 1, s + 7
        if b[i - 1] < 128:
            return v, i
def fields(b):
    i = 0
    while i < len(b):
        tag, i = varint(b, i)
        n, i = (8, i) if tag & 7 == 1 else varint(b, i)
        if tag & 7:
            yield tag >> 3, b[i:i + n]
            i += n
        else:
            yield tag >> 3, n
for number, dictionary in fields(open(sys.argv[1], 'rb').read()):
    for table, link in fields(dictionary) if number == 2 else ():
        if table == 4:
            print('link', *(v.hex() for _, v in fields(link)))
EOF
is 'OTLP: links, the first of which is none' "$(sort "$out" | tr '\n' '|')" \
	'link|link 101112131415161718191a1b1c1d1e1f 9091929394959697|link 202122232425262728292a2b2c2d2e2f a0a1a2a3a4a5a6a7|'
for command in offcpu wall; do
	run "$rawprof" $command --thread-context --format json -o "$tmp/waits.json" -- "$work/context" program right 1
	python3 - "$tmp/waits.json" <<'EOF' >"$out"
import json, sys
d = json.load(open(sys.argv[1]))
for s in d['samples']:
    names = [d['frames'][f].get('name', '') for f in d['stacks'][s['stack']]]
    if any('nanosleep' in n for n in names) and 'run' in names:
        print(s.get('labels', {}).get('http.route', '-'))
EOF
	is "$command: naps of each" "$(sort -u "$out" | tr '\n' ' ')" '- /a /b '
done
"$work/context" program right 4 &
run "$rawprof" cpu --thread-context -F 499 -q -d 1 -p $! -o "$tmp/cpu.rawprof"
wait
run "$rawprof" report --by http.route "$tmp/cpu.rawprof"
holds 'a process that was there: its routes' "0$(by /a) + 0$(by /b) > 40"

# Names of attributes and of the process that come later.
run "$rawprof" cpu --thread-context -F 499 --format json -o "$tmp/late.json" -- "$work/context" program late 8
labels "$tmp/late.json" >"$out"
has 'late: what comes later is found' "$out" '^environment=test http.route=/b service=shop user=bob$'

# ---- lies: native stacks as without, and no labels of threads

while read -r how routes; do
	run "$rawprof" cpu -v --thread-context -F 499 --format json -o "$tmp/lie.json" -- "$work/context" program "$how" 0.5
	is "$how: status" "$status" 0
	is "$how: routes" "$(labels "$tmp/lie.json" | grep -o 'http.route=[^ ]*' | sort -u | tr '\n' ' ')" "${routes:+$routes }"
	has "$how: native stacks" "$tmp/lie.json" '"name":"burn"'
	case $how in
	schema) has "$how: is said" "$err" "contexts of threads of the kind 'no_such_v9' are not read" ;;
	payload) has "$how: is said" "$err" 'its process context .* cannot be read' ;;
	esac
done <<'EOF'
invalid
huge
nowhere
circle
schema
payload
cut http.route=/a http.route=/b
EOF

# ---- the agent: a window has them, and a rule makes a service of what the process says

"$rawprof" agent --dir "$tmp/windows" --window 1 -d 4 2>/dev/null &
for ((i = 0; i < 100; i++)); do
	[ -n "$(find "$tmp/windows" -name 'cpu-*' 2>/dev/null)" ] && break
	sleep 0.1
done
"$work/context" program right 2
wait
for window in "$tmp"/windows/cpu-*; do
	"$rawprof" report --by service,http.route "$window" 2>/dev/null
done >"$out"
has 'agent: the service and the route' "$out" 'shop.*/b|/b.*shop'
finish
