/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A seccomp filter is a program of the classic BPF that packet filters had, one instruction after
 * the other, jumps only forward: the older form of what the rest of rawprof is written in.
 *
 *	rp_filter_begin()	architecture, then the number of the system call
 *	those that depend on an argument: a block each, which ends in a verdict
 *	those that are always right: a comparison each
 *	rp_filter_refuse()	-EPERM
 *	rp_filter_install()
 *
 * Nothing fails before the last: a program that became too long is not installed.
 */
#ifndef BASE_SYSCALL_FILTER_H
#define BASE_SYSCALL_FILTER_H

#include <stddef.h>
#include <stdint.h>

#include <linux/filter.h>

#define SYSCALL_FILTER_MAX 320

struct syscall_filter {
	struct sock_filter insn[SYSCALL_FILTER_MAX];
	unsigned short n;
};

/* Refuses other architectures. The number of the call is loaded when this ends. */
void rp_filter_begin(struct syscall_filter *f);
void rp_filter_put(struct syscall_filter *f, uint16_t code, uint32_t k, uint8_t if_true,
		   uint8_t if_false);
/* Loads the lower half of an argument: flags fit, on machines that are little-endian. */
void rp_filter_load(struct syscall_filter *f, unsigned int argument);
/* A verdict, SECCOMP_RET_*. */
void rp_filter_end(struct syscall_filter *f, uint32_t verdict);
void rp_filter_refuse(struct syscall_filter *f);
/* If what is loaded is k, or one of them: allowed. */
void rp_filter_allow(struct syscall_filter *f, uint32_t k);
void rp_filter_allow_each(struct syscall_filter *f, const uint32_t *values, size_t n);
/* The instructions up to rp_filter_otherwise(), which gets what this returns, are for one call. */
unsigned short rp_filter_only_for(struct syscall_filter *f, int call);
void rp_filter_otherwise(struct syscall_filter *f, unsigned short only);
/* Allows a call if none of these bits of its argument is set, or if that is one of the values. */
void rp_filter_allow_without(struct syscall_filter *f, int call, unsigned int argument,
			     uint32_t bits);
void rp_filter_allow_values(struct syscall_filter *f, int call, unsigned int argument,
			    const uint32_t *values, size_t n);
/*
 * For good. 0; -ENOSYS: the kernel has no filters; -E2BIG; else a negative errno. The process must
 * have given up to gain privileges, or have CAP_SYS_ADMIN.
 */
int rp_filter_install(const struct syscall_filter *f);

#endif
