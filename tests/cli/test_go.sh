#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs of Go, stripped: stacks are whole by .gopclntab, which names the functions as symbols do, and tells lines
# and inlined functions as the runtime does.
. "$(dirname "$0")/lib.sh"
need_profile
without() {
	skip 'stacks of Go' "$1"
	finish
	exit
}
command -v go >/dev/null || without 'go is not installed'
[ "$(uname -m)" = x86_64 ] || without 'x86-64 alone'

cat >"$tmp/spin.go" <<'EOF'
package main

import "os"

//go:noinline
func leaf(n int) int {
	for i := 0; i < 1000; i++ {
		n = n*31 + i
	}
	return n
}

//go:noinline
func middle(n int) int { return leaf(n) + 1 }

func main() {
	done := make(chan int)
	go func() {
		n := 0
		for i := 0; i < 600000; i++ {
			n += middle(i)
		}
		done <- n
	}()
	os.Exit(<-done & 1 >> 1)
}
EOF
export GOCACHE=$tmp/cache GOFLAGS=-mod=mod GO111MODULE=off HOME=$tmp
go build -o "$tmp/spin" "$tmp/spin.go" || without 'go does not work here'
strip -o "$tmp/stripped" "$tmp/spin"
for program in spin stripped; do
	folded -F 999 -U -- "$tmp/$program"
	holds "$program: samples" "$(total "$out") > 100"
	holds "$program: by name, from the goroutine's beginning" \
		"$(awk '/;runtime\.goexit(\.abi0)?;main\.main\.func1;main\.middle;main\.leaf /{ n += $NF } /main\.leaf /{ m += $NF } END { print m ? 100 * n / m : 0 }' "$out") > 95"
	has "$program: whole" "$err" 'user stacks: (9[5-9]|100)\.[0-9] % whole'
done
# Functions to be probed, in a program without symbols.
run "$rawprof" func "$tmp/stripped:main.middle" --count --format prometheus -o "$tmp/rows" -- "$tmp/stripped"
is 'stripped: a function by its name: status' "$status" 0
calls() { sed -n "s/^rawprof_func_calls{.*main\\.$1.*} //p" "$tmp/rows"; }
is 'stripped: its calls' "$(calls middle)" 600000

# A function whose stack is too small begins once more when it has a larger one, and one that shall let others run when it
# goes on: that is one call.
cat >"$tmp/grow.go" <<'EOF'
package main

import (
	"runtime"
	"sync"
)

//go:noinline
func deep(n int) int {
	var room [64]byte
	room[n%64] = 1
	if n == 0 {
		return int(room[0])
	}
	return deep(n-1) + int(room[1])
}

//go:noinline
func pausing(n int) int {
	sum := 0
	for i := 0; i < n; i++ {
		sum += i * sum
	}
	return sum
}

func main() {
	var all sync.WaitGroup
	for g := 0; g < 20; g++ {
		all.Add(1)
		go func() {
			defer all.Done()
			deep(1000)
			for i := 0; i < 20000; i++ {
				pausing(100 + i%7)
			}
			runtime.Gosched()
		}()
	}
	all.Wait()
}
EOF
go build -o "$tmp/grow" "$tmp/grow.go"
for how in --count --no-children; do # the second: to their ends
	run "$rawprof" func "$tmp/grow:main.deep" "$tmp/grow:main.pausing" "$how" --format prometheus -o "$tmp/rows" -- "$tmp/grow"
	is "$how: calls whose stack grows" "$(calls deep)" 20020
	is "$how: calls that let others run" "$(calls pausing)" 400000
done

# ---- lines and inlined functions, without debug data: as the program's own runtime tells them

cat >"$tmp/tell.go" <<'EOF'
package main

import (
	"fmt"
	"os"
	"path"
	"runtime"
	"strings"
	"time"
)

type shape interface{ area(n int) int }
type square struct{ side int }

func tell() {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	all := []string{}
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		all = append([]string{fmt.Sprintf("%s %s:%d", f.Function, path.Base(f.File), f.Line)}, all...)
	}
	fmt.Println(strings.Join(all, ";"))
}

//go:noinline
func spin(n int, speaks bool) int {
	if speaks {
		tell()
		return 0
	}
	end := time.Now().Add(time.Duration(n) * time.Millisecond)
	for time.Now().Before(end) {
		for i := 0; i < 100000; i++ {
			n = n*31 + i
		}
	}
	return n
}

func inlined(n int, speaks bool) int { return spin(n, speaks) + 1 }

func twice(n int, speaks bool) int {
	n++
	return inlined(n, speaks)
}

func (s *square) area(n int) int {
	return twice(n, n == 0) + s.side
}

func main() {
	s := shape(&square{len(os.Args)})
	for _, n := range []int{0, 400} {
		func() {
			defer func() { s.area(n) }()
		}()
	}
}
EOF
go build -ldflags='-s -w' -o "$tmp/tell" "$tmp/tell.go" || without 'go does not work here'
pie=$(go build -buildmode=pie -ldflags='-s -w' -o "$tmp/tell_pie" "$tmp/tell.go" && echo tell_pie)
for program in tell $pie; do
	folded -F 999 -U --lines --inline -- "$tmp/$program"
	# As the program tells it, but for the line in spin, where it was sampled elsewhere.
	told=$(sed -n "s/^runtime.goexit.*/$program;&/; s/ [^ ]*$//p" "$said" | head -n 1)
	holds "$program: it tells of what was inlined" "$(grep -c 'main\.twice tell.go:46;main\.inlined tell.go:42;main\.spin$' <<<"$told") == 1"
	holds "$program: inlined functions and lines as it tells" \
		"$(awk -v told="$told " '/;main\.spin tell/ { n += $NF } index($0, told) == 1 { m += $NF } END { print n ? 100 * m / n : 0 }' "$out") > 99"
	folded -F 999 -U --lines -- "$tmp/$program"
	holds "$program: without what was inlined its line stands at its function" \
		"$(awk '/;main\.\(\*square\)\.area tell\.go:42;main\.spin tell/ { m += $NF } /;main\.spin tell/ { n += $NF } END { print n ? 100 * m / n : 0 }' "$out") > 99"
done

# ---- C that Go calls on another stack, and Go that C calls

mkdir "$tmp/mixed"
cat >"$tmp/mixed/main.go" <<'EOF'
package main

/*
extern int inGo(int);
static int turn(int n) { for (volatile int i = 0; i < 200000; i++) n = n * 31 + i; return n; }
static int inC(int n) { int s = 0; for (int i = 0; i < n; i++) s += turn(i); return s; }
static int andBack(int n) { return inGo(n) + 1; }
*/
import "C"

//go:noinline
//export inGo
func inGo(n C.int) C.int {
	s := 0
	for i := 0; i < int(n)*400000; i++ {
		s = s*31 + i
	}
	return C.int(s)
}

//go:noinline
func callsC(n int) int { return int(C.inC(C.int(n)) + C.andBack(C.int(n))) }

func main() { println(callsC(500)) }
EOF
if (cd "$tmp/mixed" && CGO_ENABLED=1 go build -ldflags='-s -w' -o "$tmp/both" main.go) 2>/dev/null; then
	folded -F 999 -U -- "$tmp/both"
	# Go up to 1.19 exports the wrappers of C's functions.
	holds 'cgo: from C to the goroutine'"'"'s beginning' \
		"$(awk '/;runtime\.goexit;runtime\.main;main\.main;main\.callsC;main\._Cfunc_inC;.*runtime\.asmcgocall;(\[both\+|_cgo_)/ { n += $NF } /\[both\+|_cgo_/ && !/;inGo;/ { m += $NF } END { print m ? 100 * n / m : 0 }' "$out") > 95"
	holds 'cgo: from Go that C called' \
		"$(awk '/;main\.callsC;main\._Cfunc_andBack;.*runtime\.asmcgocall;(\[both\+|_cgo_).*;inGo;.*;main\.inGo / { n += $NF } /main\.inGo / { m += $NF } END { print m ? 100 * n / m : 0 }' "$out") > 95"
	has 'cgo: whole' "$err" 'user stacks: (9[5-9]|100)\.[0-9] % whole'
else
	skip 'stacks of Go and C' 'cgo does not work here'
fi

# ---- labels of goroutines: by the program's own account of its CPU time and of its waits

cat >"$tmp/labels.go" <<'EOF'
package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/pprof"
	"sync"
	"syscall"
)

func cpu() int64 {
	var u syscall.Rusage
	syscall.Getrusage(1, &u) // RUSAGE_THREAD
	return u.Utime.Nano() + u.Stime.Nano()
}

//go:noinline
func burn(ns int64) {
	end := cpu() + ns
	for cpu() < end {
		for i := 0; i < 200000; i++ {
		}
	}
}

func rest(n int) {
	for i := 0; i < n; i++ {
		syscall.Nanosleep(&syscall.Timespec{Nsec: 20000000}, nil)
	}
}

func main() {
	var all sync.WaitGroup
	for _, work := range []struct {
		name, long string
		burn       int64
		naps       int
	}{{"red", "short", 300, 5}, {"green", fmt.Sprintf("%0200d", 0), 900, 20}, {"", "", 300, 5}} {
		w := work
		all.Add(1)
		go func() {
			defer all.Done()
			runtime.LockOSThread()
			if w.name != "" {
				pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(),
					pprof.Labels("worker", w.name, "long", w.long, "pid", "none")))
			}
			burn(w.burn * 1000000)
			rest(w.naps)
		}()
	}
	all.Wait()
}
EOF
go build -o "$tmp/labels" "$tmp/labels.go"
strip -o "$tmp/labels-stripped" "$tmp/labels"
# by WORKER: its share of the samples in $out, in percent.
by() { awk -v w="$1" '$1 ~ /%$/ && $NF == w { sub("%", "", $1); print $1 }' "$out"; }
for program in labels labels-stripped; do
	run "$rawprof" cpu --go-labels -F 499 -q -o "$tmp/cpu.rawprof" -- "$tmp/$program"
	run "$rawprof" report --by worker "$tmp/cpu.rawprof"
	near "$program: samples of one" "$(by green)" 60 7
	near "$program: of the other" "$(by red)" 20 5
	near "$program: without labels" "$(by -)" 20 5
done
run "$rawprof" report --by long "$tmp/cpu.rawprof"
has 'a text that is too long is cut' "$out" ' 0{128}$'
run "$rawprof" report --format json "$tmp/cpu.rawprof"
lacks 'no label has the name of what each sample has' "$out" '"pid":"none"'
lacks 'no number of a goroutine unless it is asked for' "$out" '"goroutine":'
run "$rawprof" cpu --goroutines -F 499 --format pprof -o "$tmp/cpu.pb.gz" -- "$tmp/labels"
go tool pprof -tags "$tmp/cpu.pb.gz" >"$out" 2>/dev/null
has 'pprof: its labels' "$out" '%\): green'
holds 'pprof: the numbers of goroutines' "$(awk '/: Total/ { g = /goroutine/ } g && /%\)/ { n++ } END { print n + 0 }' "$out") >= 3"
run "$rawprof" offcpu --go-labels --format json -o "$tmp/offcpu.json" -- "$tmp/labels"
naps() {
	python3 - "$tmp/offcpu.json" "$1" <<'EOF'
import json, sys
d = json.load(open(sys.argv[1]))
print(sum(s['values'][0] for s in d['samples'] if s.get('labels', {}).get('worker') == sys.argv[2]
          and any('nanosleep' in d['frames'][f].get('name', '') for f in d['stacks'][s['stack']])))
EOF
}
have_python || finish
is 'offcpu: waits of one' "$(naps green)" 20
is 'offcpu: of the other' "$(naps red)" 5

# ---- the agent: as labels of windows, of services, and within one

port=$((20000 + RANDOM % 12000))
end_pids_too
python3 tests/cli/push_server.py $port "$tmp" &
pids=$!
echo ok >"$tmp/series.mode"
echo ok >"$tmp/within.mode"
printf 'push = parca+http://127.0.0.1:%s/series\nseries = exe,worker\n' $port >"$tmp/series.conf"
# shellcheck disable=SC2016 # of a rule
printf 'push = pyroscope+http://127.0.0.1:%s/within\nwithin = labels\nreplace = build_id ?* version ${build_id}\n' $port >"$tmp/within.conf"
for name in series within; do
	"$rawprof" agent --dir "$tmp/$name" --window 1 -d 4 --config "$tmp/$name.conf" 2>"$tmp/$name.err" &
	pids="$pids $!"
done
for ((i = 0; i < 100; i++)); do
	[ -n "$(find "$tmp/series" -name 'cpu-*' 2>/dev/null)" ] && [ -n "$(find "$tmp/within" -name 'cpu-*' 2>/dev/null)" ] && break
	sleep 0.1
done
"$tmp/labels"
# shellcheck disable=SC2086 # a list of words
wait ${pids#* }
if grep -q libcurl "$tmp/series.err"; then
	skip 'labels of services' 'built without libcurl, which says so'
	finish
fi
python3 - "$tmp" <<'EOF' >"$out"
import json, sys
for name in 'series', 'within':
    for line in map(json.loads, open('%s/%s.log' % (sys.argv[1], name))):
        for p in line.get('profiles', []):
            l = p['labels']
            if l['service_name'] == 'labels':
                print(name, l.get('worker'), 'version' in l, 'build_id' in l, ','.join(p['sample_labels']))
EOF
for worker in red green; do
	has "agent: a service for $worker" "$out" "^series $worker False False \$"
done
# Go gives its programs a build id of GNU's kind from 1.24 on.
if readelf -nW "$tmp/labels" 2>/dev/null | grep -q 'Build ID'; then version=True; else version=False; fi
has 'agent: labels within one, and a label that a rule makes of another' "$out" "^within None $version False long,worker\$"
finish
