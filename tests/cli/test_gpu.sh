#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rawprof gpu: a library with CUDA's names, whose calls are known; OpenCL by PoCL, if that is there.
. "$(dirname "$0")/lib.sh"
need_profile
if ! have_python; then
	skip 'gpu' 'no python3 with json'
	finish
fi
library=$work/cuda/libcudart.so.12

# gpu ARGS... -- PROGRAM: the rows of its JSON in $tmp/rows, as Python prints them sorted: "key=value ...".
gpu() {
	run "$rawprof" gpu --format json -o "$tmp/json" "$@"
	python3 - "$tmp/json" >"$tmp/rows" <<-'EOF'
		import json, sys
		for row in json.load(open(sys.argv[1]))['rows']:
		    print(' '.join('%s=%s' % (k, row[k]) for k in sorted(row)))
	EOF
}
# cell KEY WORD...: of the row that has all of these words.
cell() {
	local key=$1 rows
	shift
	rows=$(cat "$tmp/rows")
	for word; do rows=$(grep -E "(^| )$word( |$)" <<<"$rows"); done
	sed -nE "s/.*(^| )${key}[a-z_]*=([^ ]*).*/\2/p" <<<"$rows"
}

export LD_PRELOAD=$library # mapped when the program begins
gpu -- "$work/gpucalls" "$library"
unset LD_PRELOAD
waited=$(cat "$out")
is 'launches' "$(cell calls function=cudaLaunchKernel)" 100
is 'launches: class' "$(cell class function=cudaLaunchKernel)" launch
is 'copies: bytes' "$(cell calls function=cudaMemcpy) $(cell bytes function=cudaMemcpy)" "10 $((10 << 20))"
is 'copies that go on: bytes' "$(cell calls function=cudaMemcpyAsync) $(cell bytes function=cudaMemcpyAsync)" '20 81920'
is 'two dimensions' "$(cell bytes function=cudaMemset2D)" 60000
is 'allocated' "$(cell calls function=cudaMalloc) $(cell bytes function=cudaMalloc) $(cell calls function=cudaFree)" "5 $((10 << 20)) 5"
near 'waits: time' "$(cell waiting function=cudaStreamSynchronize)" "$waited" $((waited / 50))
is 'a copy that goes on does not wait' "$(cell waiting function=cudaMemcpyAsync)" 0
is 'a copy that returns has waited' "$(cell waiting function=cudaMemcpy)" "$(cell time function=cudaMemcpy)"
is 'the outer calls alone' "$(grep -c 'function=cu[A-Z]' "$tmp/rows")" 0
is 'the ledger: all calls' "$(python3 -c 'import json, sys
l = json.load(open(sys.argv[1]))["ledger"]
print(l["fired"], l["kept"], l["closes"], [x["count"] for x in l["lines"] if x["name"] == "inside another call"][0])' "$tmp/json")" \
	'291 147 True 144'

export LD_PRELOAD=$library
gpu --levels -- "$work/gpucalls" "$library"
unset LD_PRELOAD
is '--levels: the driver below the runtime' "$(cell calls function=cuLaunchKernel level=1) $(cell calls function=cudaLaunchKernel level=0)" '100 100'
is '--levels: bytes' "$(cell bytes function=cuMemcpyHtoD_v2)" $((10 << 20))

export LD_PRELOAD=$library
gpu --by kernel -- "$work/gpucalls" "$library"
unset LD_PRELOAD
is '--by kernel: by the name of the function' "$(cell calls kernel=saxpy) $(cell calls kernel=reduce)" '70 30'

# As many kernels as a program likes: 65,536 rows, and the ledger closes.
cat >"$tmp/many.py" <<'EOF'
import ctypes, sys, time
launch = ctypes.CDLL(sys.argv[1]).cudaLaunchKernel
for i in range(1, 66001):
    launch(ctypes.c_void_p(i << 12), 1, 1, 1, 1, 1)
    if i % 1000 == 0:
        time.sleep(0.01) # no faster than they are read
EOF
if [ -x /usr/bin/python3 ]; then
	export LD_PRELOAD=$library
	run "$rawprof" gpu --by kernel --format json -o "$tmp/json" -- /usr/bin/python3 "$tmp/many.py" "$library"
	unset LD_PRELOAD
	is 'many kernels: so many rows, and what is left out is lost' "$(python3 -c 'import json, sys
d = json.load(open(sys.argv[1])); l = d["ledger"]
print(len(d["rows"]), l["kept"], l["closes"], [x["count"] for x in l["lines"] if x["name"] == "no room for more rows"][0])' "$tmp/json")" \
		'65536 65536 True 464'
fi

# Of two users each has some of them, and of the time for their names. The first launches new ones
# until that is said, and no faster than they are read; then the other launches its own.
cat >"$tmp/user.py" <<'EOF'
import ctypes, os, sys, time
library, begin, end, most, names = ctypes.CDLL(sys.argv[1]), *sys.argv[2:4], *map(int, sys.argv[4:])
while not os.path.exists(begin):
    time.sleep(0.05)
for i in range(names):
    library.clCreateKernel(None, b'named_%d' % i, None)
    if i % 1000 == 999:
        time.sleep(0.01)
for i in range(most):
    library.cudaLaunchKernel(ctypes.c_void_p(0x7000000 + (i << 12)), 1, 1, 1, 1, 1)
    if i % 1000 == 999:
        time.sleep(0.01)
        if os.path.exists(end):
            break
EOF
chmod 755 "$tmp"
as() { exec setpriv "--reuid=$1" "--regid=$1" --clear-groups "${@:2}"; }
if [ -x /usr/bin/python3 ] && (as 65533 test -r "$library"); then
	as 65534 /usr/bin/python3 "$tmp/user.py" "$library" "$tmp/begin" "$tmp/then" 10000000 80000 &
	first=$!
	as 65533 /usr/bin/python3 "$tmp/user.py" "$library" "$tmp/then" "$tmp/never" 100 0 &
	second=$!
	sleep 0.5 # so that both have mapped the library
	recording gpu -v --by kernel --format json -o "$tmp/json" -p $first,$second -d 100
	touch "$tmp/begin"
	while kill -0 $recorder && kill -0 $first && ! grep -q 'taken its share of the rows' "$err"; do
		sleep 0.1
	done 2>/dev/null
	touch "$tmp/then"
	wait $first
	wait $second $recorder
	is 'one user has half of the rows, another has some' "$(python3 -c 'import json, sys
rows = json.load(open(sys.argv[1]))["rows"]
print(*(sum(r["pid"] == int(pid) for r in rows) for pid in sys.argv[2:]))' "$tmp/json" $first $second)" '32768 100'
	has 'one user has half of the rows: it is said' "$err" 'user 65534 has taken its share of the rows'
	has "names of one user's kernels take so much time" "$err" 'user 65534 has taken its share of the time for names of kernels'
else
	skip 'rows of two users' 'cannot be another user here'
fi

export LD_PRELOAD=$library
run "$rawprof" gpu --stacks --weight calls --format folded -o "$tmp/folded" -- "$work/gpucalls" "$library"
unset LD_PRELOAD
is '--stacks: who launches' "$(sed -n 's/^gpucalls;.*;main;launch;cudaLaunchKernel;\[launch\] //p' "$tmp/folded")" 100
is '--stacks: who waits' "$(sed -n 's/^gpucalls;.*;main;cudaStreamSynchronize;\[wait\] //p' "$tmp/folded")" 4
is '--stacks: the outer calls alone' "$(awk '{ n += $NF } END { print n }' "$tmp/folded")" 147
export LD_PRELOAD=$library
run "$rawprof" gpu --stacks -o "$tmp/saved.rawprof" -- "$work/gpucalls" "$library"
unset LD_PRELOAD
waited=$(cat "$out")
run "$rawprof" report --format folded "$tmp/saved.rawprof"
near '--stacks: saved; the time of waits' "$(awk '/cudaStreamSynchronize/ { print $NF * 1000 }' "$out")" "$waited" $((waited / 50))
run "$rawprof" gpu --stacks --by process -- true
is '--stacks: no tables' "$status" 2
run "$rawprof" gpu --format svg -- true
has 'a format of stacks' "$err" 'with --stacks'

gpu --by process -- "$work/gpucalls" "$library" 0.7
is 'loaded later' "$(cell calls comm=gpucalls) $(cell launches comm=gpucalls)" '147 100'
is 'loaded later: bytes' "$(cell bytes comm=gpucalls)" $((20971520 + 81920 + 60000))

"$work/gpucalls" "$library" 1.5 >"$said" &
pid=$!
sleep 0.2
gpu -p $pid
wait $pid
is 'a process that runs' "$(cell calls function=cudaLaunchKernel)" 100

run "$rawprof" gpu -- true
is 'a program without a GPU: status' "$status" 0
has 'a program without a GPU: says so' "$out" 'Nothing was recorded: no calls'

"$work/opencl" >"$said" 2>/dev/null
if [ "$(cat "$said")" = 'sum 12288' ]; then
	gpu -- "$work/opencl" 20
	is 'OpenCL: launches' "$(cell calls function=clEnqueueNDRangeKernel)" 20
	is 'OpenCL: bytes written' "$(cell calls function=clEnqueueWriteBuffer) $(cell bytes function=clEnqueueWriteBuffer)" '2 32768'
	is 'OpenCL: bytes read' "$(cell bytes function=clEnqueueReadBuffer)" 16384
	is 'OpenCL: allocated' "$(cell calls function=clCreateBuffer) $(cell bytes function=clCreateBuffer)" '3 49152'
	is 'OpenCL: given back' "$(cell calls function=clReleaseMemObject)" 3
	is 'OpenCL: a write that waits' "$(cell waiting function=clEnqueueWriteBuffer)" "$(cell time function=clEnqueueWriteBuffer)"
	is 'OpenCL: clFinish is a wait' "$(cell calls function=clFinish) $(cell class function=clFinish)" '1 wait'
	holds 'OpenCL: building takes time' "$(cell time function=clBuildProgram) > 100000"
	gpu --by kernel -- "$work/opencl" 20 1.2 # long enough to be asked what it called it
	is 'OpenCL: a kernel by its name' "$(cell calls kernel=vadd)" 20
else
	skip 'OpenCL' 'no device: apt-get install pocl-opencl-icd ocl-icd-libopencl1'
fi
finish
