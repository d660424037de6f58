#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What rawprof agent sends, in servers of others, built from Go's module proxy: the Collector of OpenTelemetry has the
# totals that the agent's windows have; gRPC's own server, wrapped as Parca wraps it, has the debug data that it asked for.
# Prometheus, of Debian's packages, is in tests/cli/test_agent.sh. No module proxy has the main modules of Grafana Pyroscope
# and Parca: PYROSCOPE=PATH and PARCA=PATH name their programs, built from their sources or installed.
. "$(dirname "$0")/../cli/lib.sh"
collector=v0.165.0
need_profile

# ---- Pyroscope and Parca, if there are

cat >"$tmp/totals.py" <<'END'
# totals.py RAWPROF WINDOWS pyroscope|parca ADDRESS: "TYPE sent N got N" of each type of value
import collections, glob, json, re, subprocess, sys, time, urllib.parse, urllib.request
rawprof, windows, server, address = sys.argv[1:]
names = {'cpu': 'process_cpu', 'offcpu': 'off_cpu'}
sent, times = collections.Counter(), []
for path in glob.glob(windows + '/*.rawprof'):
    command, start = re.match(r'.*/(\w+)-(\d+)\.rawprof', path).groups()
    times.append(int(start) // 1000)
    d = json.loads(subprocess.run([rawprof, 'report', '--format', 'json', path], capture_output=True).stdout)
    period = d['info'].get('period') or d['value_types'][0]
    for i, t in enumerate(d['value_types']):
        name = ':'.join([names[command], t['type'], t['unit'], period['type'], period['unit']])
        sent[name] += sum(s['values'][i] for s in d['samples'])
begin, end = min(times) - 5, max(times) + 15

def ask(path, body=None):
    request = urllib.request.Request('http://' + address + path, body and json.dumps(body).encode(),
                                     {'Content-Type': 'application/json'})
    return json.loads(urllib.request.urlopen(request, timeout=30).read())

def total(name):
    if server == 'pyroscope':
        answer = ask('/querier.v1.QuerierService/SelectMergeStacktraces', {
            'profileTypeID': name, 'labelSelector': '{}', 'start': begin * 1000, 'end': end * 1000, 'maxNodes': 1 << 20})
        return int(answer.get('flamegraph', {}).get('total', 0))
    stamp = lambda t: time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(t))
    return int(ask('/api/profiles/query?' + urllib.parse.urlencode({
        'mode': 'MODE_MERGE', 'reportType': 'REPORT_TYPE_TOP', 'merge.query': name + ':delta{}',
        'merge.start': stamp(begin), 'merge.end': stamp(end)}))['total'])

for name in sorted(sent):
    if server == 'parca' and name.startswith('process_cpu:samples'):
        continue  # it makes nanoseconds of them
    print(name, 'sent', sent[name], 'got', total(name))
if server == 'parca':
    print('types', len(ask('/api/profiles/types')['types']))
END
# totals NAME DESTINATION ADDRESS: an agent sends there, and a query of the server returns as much.
totals() {
	local type sent got
	run "$rawprof" agent --dir "$tmp/$1" --window 1 --profile cpu,offcpu -d 4 --push "$2+http://$3"
	is "$1: status of the agent" "$status" 0
	lacks "$1: nothing was refused" "$err" 'takes nothing|refuses|dropped|wait in'
	sleep 3
	python3 "$tmp/totals.py" "$rawprof" "$tmp/$1" "$2" "$3" >"$tmp/$1.totals"
	while read -r type _ sent _ got; do
		is "$1: $type" "$got" "$sent"
	done < <(grep sent "$tmp/$1.totals")
	holds "$1: so many types" "$(grep -c sent "$tmp/$1.totals") >= 3"
}
# answers URL WHAT: the server does so, within two minutes.
answers() {
	local i
	for ((i = 0; i < 120; i++)); do
		kill -0 $server 2>/dev/null || return
		[[ $(curl -s -m 2 "$1") == *"$2"* ]] && return
		sleep 1
	done
	return 1
}
port=$((20000 + RANDOM % 12000))
if [ -n "${PYROSCOPE:-}" ]; then
	mkdir "$tmp/pyroscope.data"
	(cd "$tmp/pyroscope.data" && exec "$PYROSCOPE" -architecture.storage=v2 -server.http-listen-port=$port \
		-self-profiling.disable-push=true >"$tmp/pyroscope.log" 2>&1) &
	server=$!
	answers "http://127.0.0.1:$port/ready" ready || tail -n 3 "$tmp/pyroscope.log"
	totals Pyroscope pyroscope "127.0.0.1:$port"
	kill $server
	wait $server 2>/dev/null
else
	skip 'Pyroscope' "PYROSCOPE names none: its rules are in tests/cli/push_server.py"
fi
if [ -n "${PARCA:-}" ]; then
	printf 'object_storage: { bucket: { type: FILESYSTEM, config: { directory: "%s" } } }\n' "$tmp/parca.data" >"$tmp/parca.yaml"
	"$PARCA" --config-path="$tmp/parca.yaml" --http-address="127.0.0.1:$port" >"$tmp/parca.log" 2>&1 &
	server=$!
	answers "http://127.0.0.1:$port/api/profiles/types" types
	totals Parca parca "127.0.0.1:$port"
	has 'Parca: it lists their types' "$tmp/Parca.totals" '^types 4$'
	kill $server
	wait $server 2>/dev/null
else
	skip 'Parca' "PARCA names none: its rules are in tests/cli/push_server.py"
fi

# ---- the Collector

built=$PWD/build/servers/otelcol
# build: a module of its own; the Go command fetches what it names.
build() (
	mkdir -p build/servers && cp tests/servers/main.go build/servers/ && cd build/servers || exit
	[ -x otelcol ] && exit
	printf 'module otelcol\n\ngo 1.24\n' >go.mod
	for module in otelcol exporter/debugexporter receiver/otlpreceiver service; do
		go get "go.opentelemetry.io/collector/$module@$collector" || exit
	done
	go mod tidy && go build -o otelcol .
)
if ! command -v go >/dev/null; then
	skip 'the Collector of OpenTelemetry' 'there is no go'
	finish
fi
if ! build >"$tmp/build.log" 2>&1; then
	skip 'the Collector of OpenTelemetry' "it cannot be built: $(tail -n 1 "$tmp/build.log" | cut -c 1-100)"
	finish
fi
port=$((20000 + RANDOM % 12000))
cat >"$tmp/collector.yaml" <<END
receivers: { otlp: { protocols: { http: { endpoint: "127.0.0.1:$port" } } } }
exporters: { debug: { verbosity: detailed } }
service:
  telemetry: { metrics: { level: none } }
  pipelines: { profiles: { receivers: [otlp], exporters: [debug] } }
END
"$built" --config "file:$tmp/collector.yaml" --feature-gates service.profilesSupport >"$tmp/collector.log" 2>&1 &
server=$!
for ((i = 0; i < 100; i++)); do
	(exec 3<>/dev/tcp/127.0.0.1/$port) 2>/dev/null && break
	sleep 0.1
done
run "$rawprof" agent --dir "$tmp/windows" --window 1 --profile cpu,offcpu -d 4 --push "otlp+http://127.0.0.1:$port"
is 'the Collector: status of the agent' "$status" 0
lacks 'the Collector: nothing was refused' "$err" 'takes nothing|refuses|dropped|wait in'
sleep 1
kill $server
wait $server 2>/dev/null
# Its debug exporter prints the values of each sample.
python3 - "$rawprof" "$tmp" >"$out" <<'END'
import glob, json, re, subprocess, sys
sent = got = 0
for path in glob.glob(sys.argv[2] + '/windows/*.rawprof'):
    d = json.loads(subprocess.run([sys.argv[1], 'report', '--format', 'json', path],
                                  capture_output=True).stdout)
    sent += sum(sum(s['values']) for s in d['samples'])
for values in re.findall(r'^ *Values: \[([-\d ]*)\]', open(sys.argv[2] + '/collector.log').read(), re.M):
    got += sum(map(int, values.split()))
print('sent', sent, 'got', got)
END
read -r _ sent _ got <"$out"
is 'the Collector: it has the totals that the windows have' "$got" "$sent"
holds 'the Collector: and there are some' "${sent:-0} > 0"

# ---- debug data: gRPC's server behind the wrapper that Parca has

built=$PWD/build/servers/debuginfo/debuginfo
build_debuginfo() (
	mkdir -p build/servers/debuginfo && cp tests/servers/debuginfo/main.go build/servers/debuginfo/ && cd build/servers/debuginfo || exit
	printf 'module debuginfo\n\ngo 1.24\n' >go.mod
	go get github.com/improbable-eng/grpc-web/go/grpcweb@v0.15.0 google.golang.org/grpc@v1.75.0 && go mod tidy && go build -o debuginfo .
)
if ! build_debuginfo >"$tmp/build.log" 2>&1; then
	skip 'debug data' "gRPC cannot be built: $(tail -n 1 "$tmp/build.log" | cut -c 1-100)"
	finish
fi
port=$((port + 1))
"$built" 127.0.0.1:$port >"$tmp/calls" 2>&1 &
server=$!
cp "$work/split" "$tmp/program"
"$tmp/program" 60 >/dev/null &
program=$!
for ((i = 0; i < 100; i++)); do
	(exec 3<>/dev/tcp/127.0.0.1/$port) 2>/dev/null && break
	sleep 0.1
done
printf 'push = parca+http://127.0.0.1:%s\ndebuginfo = yes\n' $port >"$tmp/debuginfo.conf"
run "$rawprof" agent --dir "$tmp/debuginfo" --window 1 -p $program -d 5 --config "$tmp/debuginfo.conf"
is 'debug data: status of the agent' "$status" 0
kill $server $program
wait $server $program 2>/dev/null
cat "$tmp/calls" >"$out"
sum=$(sha256sum "$tmp/program" | cut -d ' ' -f 1)
has 'debug data: gRPC has the file, byte for byte' "$out" "^Upload [0-9a-f]+ $(stat -c %s "$tmp/program") $sum\$"
id=$(sed -n "s/^Upload \([0-9a-f]*\) .*$sum/\1/p" "$out")
is 'debug data: in this order' "$(awk -v id="$id" '$2 == id { print $1 }' "$out" | xargs)" \
	'ShouldInitiateUpload InitiateUpload Upload MarkUploadFinished'
finish
