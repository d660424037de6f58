#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs of Go, stripped: stacks are whole by .gopclntab, which names the functions as symbols do.
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
is 'stripped: its calls' "$(sed -n 's/^rawprof_func_calls{.*main.middle.*} //p' "$tmp/rows")" 600000
finish
