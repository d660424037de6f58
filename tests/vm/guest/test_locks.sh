#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rawprof lock of the kernel's own locks on another kernel: each by its type, its name, and the function that wants it.
. "$(dirname "$0")/locks_lib.sh"
need_profile

contended mmap rwsem:W '(mmap|munmap)' mmap_lock
contended rename rwsem:W rename '0x[0-9a-f]+'
contended epoll mutex '(epoll|ep_)' '0x[0-9a-f]+'
# Not every kernel has names for its variables.
name=tasklist_lock
grep -qw $name /proc/kallsyms || name='0x[0-9a-f]+'
contended groups 'rwlock:[RW]' '(kill|setpgid)' "$name"
rows --by releaser -- "$work/lockkernel" mmap 2
holds 'mmap: who let go, and where' "$(cell waits 'releaser="lockkernel",released_in="[^"-]') > 0"

finish
