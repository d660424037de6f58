#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A virtual machine always comes to an end, and its status comes back: that of KERNEL (tests/vm/kernels).
. "$(dirname "$0")/../cli/lib.sh"

kernel=${KERNEL:-x86-6.1}
case $kernel in
arm64-*) static=${VM_STATIC_aarch64:-build/aarch64-linux-gnu/static} ;;
*) static=${VM_STATIC_x86_64:-build/static} ;;
esac
if [ ! -e "$static/vmexit" ]; then
	skip "$kernel" "$static/vmexit is not built"
	finish
fi
mkdir "$tmp/tree"
cp "$static/vmexit" "$tmp/tree/"

run tests/vm/boot "$kernel" "$tmp/tree" 'echo here is $(uname -m); exit 7'
is 'the status of the command' $status 7
has 'what it says' "$out" '^here is (x86_64|aarch64)$'
lacks 'without carriage returns' "$out" $'\r'

VM_APPEND='rdinit=/none root=/dev/none' run tests/vm/boot "$kernel" "$tmp/tree" true
is 'a kernel that panics: status' $status 124
has 'a kernel that panics: it is said' "$out" "^the VM of $kernel hung or died"

# Long enough for it to come up, whatever else this machine does.
for seconds in 6 20 60; do
	VM_TIMEOUT=$seconds run tests/vm/boot "$kernel" "$tmp/tree" 'sleep 1000'
	! grep -q '^VM_UP=' "$out" || break
done
is 'a command that hangs: status' $status 124
has 'a command that hangs: what there was is shown' "$out" '^VM_UP='

VM_UP_TIMEOUT=0 run tests/vm/boot "$kernel" "$tmp/tree" true
is 'a boot that takes too long: status' $status 124
finish
