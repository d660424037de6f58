/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bpfcount: prints how many BPF programs, maps, BTF objects and links the kernel holds, one line
 * each, by asking for their ids. Before and after a test it must say the same.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static long count(int command)
{
	union bpf_attr attr;
	__u32 id = 0;
	long n = 0;

	for (;;) {
		memset(&attr, 0, sizeof(attr));
		attr.start_id = id;
		if (syscall(SYS_bpf, command, &attr, sizeof(attr)))
			return errno == ENOENT ? n : -errno;
		id = attr.next_id;
		n++;
	}
}

int main(void)
{
	printf("programs %ld\nmaps %ld\nbtf %ld\nlinks %ld\n", count(BPF_PROG_GET_NEXT_ID),
	       count(BPF_MAP_GET_NEXT_ID), count(BPF_BTF_GET_NEXT_ID), count(BPF_LINK_GET_NEXT_ID));
	return 0;
}
