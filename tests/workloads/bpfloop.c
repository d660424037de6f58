/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bpfloop: runs a BPF program whose time goes to one source line, HOT below; prints its id. After
 * SIGUSR1 it runs it no more, and prints the number of its runs and their time, as the kernel has
 * counted them.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct bpf_insn loop[] = {
	{ BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0 },	/* r0 = 0 */
	{ BPF_ALU64 | BPF_ADD | BPF_K, 0, 0, 0, 1 },	/* again: r0 += 1 */
	{ BPF_JMP | BPF_JLT | BPF_K, 0, 0, -2, 20000 }, /* if r0 < 20000 goto again */
	{ BPF_JMP | BPF_EXIT, 0, 0, 0, 0 },
};

/* int f(void *): types 1 and 2 are int and void *, 3 the prototype, 4 the function. */
#define TEXTS "\0int\0f\0bpfloop.src\0cold line\0HOT line\0ctx"
enum { INT = 1, F = 5, FILE_NAME = 7, COLD = 19, HOT = 29, CTX = 38 };
static const struct {
	struct {
		unsigned short magic;
		unsigned char version, flags;
		unsigned int hdr_len, type_off, type_len, str_off, str_len;
	} head;
	unsigned int types[4 + 3 + 5 + 3];
	char texts[sizeof(TEXTS)];
} btf = {
	{ 0xeb9f, 1, 0, 24, 0, 60, 60, sizeof(TEXTS) },
	{ INT, 1u << 24, 4, 1u << 24 | 32, /* int */
	  0, 2u << 24, 0,		   /* void * */
	  0, 13u << 24 | 1, 1, CTX, 2,	   /* int (void *ctx) */
	  F, 12u << 24, 3 },		   /* f */
	TEXTS,
};

static int bpf(int command, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, command, attr, sizeof(*attr));
}

static int load(void)
{
	const struct bpf_func_info func = { 0, 4 };
	const struct bpf_line_info lines[] = { { 0, FILE_NAME, COLD, 10 << 10 },
					       { 1, FILE_NAME, HOT, 20 << 10 },
					       { 3, FILE_NAME, COLD, 30 << 10 } };
	static char log[4096];
	union bpf_attr attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.btf = (unsigned long)&btf;
	attr.btf_size = 24 + 60 + sizeof(TEXTS);
	attr.btf_log_buf = (unsigned long)log;
	attr.btf_log_size = sizeof(log);
	attr.btf_log_level = 1;
	fd = bpf(BPF_BTF_LOAD, &attr);
	if (fd < 0) {
		perror("BPF_BTF_LOAD");
		fputs(log, stderr);
		exit(1);
	}
	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
	attr.insns = (unsigned long)loop;
	attr.insn_cnt = sizeof(loop) / sizeof(loop[0]);
	attr.license = (unsigned long)"GPL";
	attr.log_buf = (unsigned long)log;
	attr.log_size = sizeof(log);
	attr.log_level = 4;
	memcpy(attr.prog_name, "bpfloop", 8);
	attr.prog_btf_fd = (unsigned int)fd;
	attr.func_info = (unsigned long)&func;
	attr.func_info_cnt = 1;
	attr.func_info_rec_size = sizeof(func);
	attr.line_info = (unsigned long)lines;
	attr.line_info_cnt = 3;
	attr.line_info_rec_size = sizeof(lines[0]);
	fd = bpf(BPF_PROG_LOAD, &attr);
	if (fd < 0) {
		perror("BPF_PROG_LOAD");
		fputs(log, stderr);
		exit(1);
	}
	return fd;
}

static struct bpf_prog_info info_of(int fd)
{
	struct bpf_prog_info info = { 0 };
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.info.bpf_fd = (unsigned int)fd;
	attr.info.info_len = sizeof(info);
	attr.info.info = (unsigned long)&info;
	if (bpf(BPF_OBJ_GET_INFO_BY_FD, &attr))
		perror("BPF_OBJ_GET_INFO_BY_FD");
	return info;
}

static volatile sig_atomic_t enough;

static void stop(int signal)
{
	enough = signal;
}

int main(void)
{
	int fd = load();
	struct bpf_prog_info info = info_of(fd);
	static char packet[64];

	signal(SIGUSR1, stop);
	printf("%u\n", info.id);
	fflush(stdout);
	while (!enough) {
		union bpf_attr attr;

		memset(&attr, 0, sizeof(attr));
		attr.test.prog_fd = (unsigned int)fd;
		attr.test.data_in = (unsigned long)packet;
		attr.test.data_size_in = sizeof(packet);
		attr.test.repeat = 1000;
		if (bpf(BPF_PROG_TEST_RUN, &attr) && errno != EINTR) {
			perror("BPF_PROG_TEST_RUN");
			return 1;
		}
	}
	info = info_of(fd);
	printf("%llu %llu\n", (unsigned long long)info.run_cnt,
	       (unsigned long long)info.run_time_ns);
	fflush(stdout);
	for (;;)
		pause();
}
