/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/audit.h>
#include <linux/seccomp.h>

#include "syscall_filter.h"

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#define X32 0x40000000 /* __X32_SYSCALL_BIT: other numbers for the same calls */
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#elif defined(__riscv)
#define ARCH AUDIT_ARCH_RISCV64
#endif

void rp_filter_put(struct syscall_filter *f, uint16_t code, uint32_t k, uint8_t if_true,
		   uint8_t if_false)
{
	if (f->n < SYSCALL_FILTER_MAX)
		f->insn[f->n] = (struct sock_filter){ code, if_true, if_false, k };
	f->n++;
}

static void load(struct syscall_filter *f, uint32_t offset)
{
	rp_filter_put(f, BPF_LD | BPF_W | BPF_ABS, offset, 0, 0);
}

void rp_filter_load(struct syscall_filter *f, unsigned int n)
{
	load(f, (uint32_t)(offsetof(struct seccomp_data, args) + 8 * n));
}

void rp_filter_end(struct syscall_filter *f, uint32_t verdict)
{
	rp_filter_put(f, BPF_RET | BPF_K, verdict, 0, 0);
}

void rp_filter_refuse(struct syscall_filter *f)
{
	rp_filter_end(f, SECCOMP_RET_ERRNO | EPERM);
}

void rp_filter_allow(struct syscall_filter *f, uint32_t k)
{
	rp_filter_put(f, BPF_JMP | BPF_JEQ | BPF_K, k, 0, 1);
	rp_filter_end(f, SECCOMP_RET_ALLOW);
}

unsigned short rp_filter_only_for(struct syscall_filter *f, int call)
{
	rp_filter_put(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 0);
	return f->n;
}

void rp_filter_otherwise(struct syscall_filter *f, unsigned short only)
{
	if (only <= SYSCALL_FILTER_MAX)
		f->insn[only - 1].jf = (uint8_t)(f->n - only);
}

void rp_filter_allow_without(struct syscall_filter *f, int call, unsigned int argument,
			     uint32_t bits)
{
	unsigned short only = rp_filter_only_for(f, call);

	rp_filter_load(f, argument);
	rp_filter_put(f, BPF_JMP | BPF_JSET | BPF_K, bits, 1, 0);
	rp_filter_end(f, SECCOMP_RET_ALLOW);
	rp_filter_refuse(f);
	rp_filter_otherwise(f, only);
}

void rp_filter_allow_each(struct syscall_filter *f, const uint32_t *values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		rp_filter_allow(f, values[i]);
}

void rp_filter_allow_values(struct syscall_filter *f, int call, unsigned int argument,
			    const uint32_t *values, size_t n)
{
	unsigned short only = rp_filter_only_for(f, call);

	rp_filter_load(f, argument);
	rp_filter_allow_each(f, values, n);
	rp_filter_refuse(f);
	rp_filter_otherwise(f, only);
}

void rp_filter_begin(struct syscall_filter *f)
{
	load(f, offsetof(struct seccomp_data, arch));
	rp_filter_put(f, BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
	rp_filter_refuse(f);
	load(f, offsetof(struct seccomp_data, nr));
#ifdef X32
	rp_filter_put(f, BPF_JMP | BPF_JGE | BPF_K, X32, 0, 1);
	rp_filter_refuse(f);
#endif
}

int rp_filter_install(const struct syscall_filter *f)
{
	struct sock_fprog program = { .len = f->n, .filter = (struct sock_filter *)f->insn };

	if (f->n > SYSCALL_FILTER_MAX)
		return -E2BIG;
	if (!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 0;
	return errno == EINVAL ? -ENOSYS : -errno;
}
