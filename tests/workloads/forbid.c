/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * forbid EPERM|ENOSYS CALL,... PROGRAM ARGS...: runs it under a filter of system calls that refuses
 * these, as those of containers do. CALL: bpf, perf_event_open, pidfd_open, ptrace.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

static const struct {
	const char *name;
	int number;
} calls[] = {
	{ "bpf", SYS_bpf },
	{ "perf_event_open", SYS_perf_event_open },
	{ "pidfd_open", SYS_pidfd_open },
	{ "ptrace", SYS_ptrace },
};

static int number_of(const char *name)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (!strcmp(calls[i].name, name))
			return calls[i].number;
	return -1;
}

/* The number of the call, a test and an answer for each that is refused, and the answer of all. */
static int install(char *names, int error)
{
	struct sock_filter f[64];
	unsigned short n = 0;
	struct sock_fprog program = { .filter = f };

	f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					      offsetof(struct seccomp_data, nr));
	for (char *name = strtok(names, ","); name && n < 60; name = strtok(NULL, ",")) {
		const int number = number_of(name);

		if (number < 0)
			return -1;
		f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
						      (unsigned int)number, 0, 1);
		f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
						      SECCOMP_RET_ERRNO | (unsigned int)error);
	}
	f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program.len = n;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
	const int error = argc > 3 && !strcmp(argv[1], "EPERM")	   ? EPERM
			  : argc > 3 && !strcmp(argv[1], "ENOSYS") ? ENOSYS
								   : 0;

	if (!error) {
		fprintf(stderr, "usage: forbid EPERM|ENOSYS CALL,... PROGRAM ARGS...\n");
		return 2;
	}
	if (install(argv[2], error)) {
		perror("forbid");
		return 126;
	}
	execvp(argv[3], argv + 3);
	perror(argv[3]);
	return 127;
}
