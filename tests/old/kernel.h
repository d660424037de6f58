/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an older kernel would refuse of bpf(2) and perf_event_open(2). It stands between rawprof and
 * the running kernel (preload.c) or a kernel of the test's own (tests/unit/test_old_kernels.c):
 * what it lets pass goes on to that one. Version numbers are those of
 * include/uapi/linux/{bpf,perf_event}.h and of kernel/bpf/{syscall,verifier}.c when each thing
 * came; distributions carry some of it back.
 */
#ifndef TESTS_OLD_KERNEL_H
#define TESTS_OLD_KERNEL_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <rawprof/uapi.h>

/* Linux 5.15 is 515. */
static int old_version = 9999;

struct old_since {
	uint32_t what;
	int version;
};
#define OLD_COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* Versions of things that are no numbered: unknown ones are as old as BPF. */
static inline bool old_knows(const struct old_since *table, size_t n, uint32_t what)
{
	for (size_t i = 0; i < n; i++)
		if (table[i].what == what)
			return old_version >= table[i].version;
	return true;
}
#define OLD_KNOWS(table, what) old_knows(table, OLD_COUNT(table), what)

static const struct old_since old_commands[] = {
	{ BPF_MAP_LOOKUP_BATCH, 506 }, { BPF_MAP_LOOKUP_AND_DELETE_BATCH, 506 },
	{ BPF_MAP_UPDATE_BATCH, 506 }, { BPF_MAP_DELETE_BATCH, 506 },
	{ BPF_LINK_CREATE, 507 },      { BPF_ENABLE_STATS, 508 },
};
static const struct old_since old_map_types[] = { { BPF_MAP_TYPE_RINGBUF, 508 } };
static const struct old_since old_prog_types[] = { { BPF_PROG_TYPE_TRACING, 505 },
						   { BPF_PROG_TYPE_SYSCALL, 514 } };
static const struct old_since old_link_types[] = { { BPF_PERF_EVENT, 515 },
						   { BPF_TRACE_KPROBE_MULTI, 518 },
						   { BPF_TRACE_UPROBE_MULTI, 606 },
						   { BPF_TRACE_KPROBE_SESSION, 610 },
						   { BPF_TRACE_UPROBE_SESSION, 613 } };

/* The first helper that a version does not have, of those at which one ends. */
static const struct {
	int version;
	int first_unknown;
} old_helpers[] = {
	{ 505, 111 }, /* before 5.5: no probe_read_kernel, probe_read_user */
	{ 508, 125 }, /* before 5.8: no ring buffer */
	{ 511, 156 }, /* before 5.11: no get_current_task_btf */
	{ 513, 164 }, /* before 5.13: no for_each_map_elem, snprintf */
	{ 515, 169 }, /* before 5.15: no get_func_ip, get_attach_cookie */
	{ 517, 178 }, /* before 5.17: no loop */
	{ 518, 186 }, /* before 5.18: no copy_from_user_task */
};

/* sizeof(union bpf_attr): of PROG_LOAD's, which is the longest. */
static inline uint32_t old_attr_size(void)
{
	return old_version < 505   ? 112
	       : old_version < 514 ? 120
	       : old_version < 517 ? 128
				   : sizeof(union rp_attr);
}

static inline bool old_is_zero(const void *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (((const char *)p)[i])
			return false;
	return true;
}

/* The verifier's words, if they are wanted, and its errno. */
static inline int old_refuse(const struct rp_attr_prog *p, uint32_t at, const char *why, int number)
{
	const struct bpf_insn *insns = (const struct bpf_insn *)(uintptr_t)p->insns;
	char *log = (char *)(uintptr_t)p->log_buf;
	int n;

	if (!p->log_level || !p->log_size)
		return -EINVAL;
	n = snprintf(log, p->log_size, "%u: (%02x) ...\n%s#%d\n", at, insns[at].code, why, number);
	return (uint32_t)n < p->log_size ? -EINVAL : -ENOSPC;
}

static inline int old_insn(const struct rp_attr_prog *p, uint32_t at)
{
	const struct bpf_insn *insn = (const struct bpf_insn *)(uintptr_t)p->insns + at;
	const uint8_t class = BPF_CLASS(insn->code), op = BPF_OP(insn->code);
	const bool is_call = insn->code == (BPF_JMP | BPF_CALL);

	if (is_call && insn->src_reg == 0)
		for (size_t i = 0; i < OLD_COUNT(old_helpers); i++)
			if (old_version < old_helpers[i].version &&
			    insn->imm >= old_helpers[i].first_unknown)
				return old_refuse(p, at, "invalid func unknown", insn->imm);
	if (old_version < 512 && class == BPF_STX && BPF_MODE(insn->code) == BPF_ATOMIC &&
	    insn->imm)
		return old_refuse(p, at, "BPF_XADD uses reserved fields", insn->imm);
	if (old_version < 513 && insn->code == (BPF_LD | BPF_IMM | BPF_DW) &&
	    insn->src_reg == BPF_PSEUDO_FUNC)
		return old_refuse(p, at, "unrecognized bpf_ld_imm64 insn", insn->src_reg);
	if (old_version < 606 && ((class == BPF_LDX && BPF_MODE(insn->code) == BPF_MEMSX) ||
				  (class == BPF_JMP32 && op == BPF_JA) ||
				  ((class == BPF_ALU || class == BPF_ALU64) && insn->off)))
		return old_refuse(p, at, "unknown opcode", insn->code);
	if (old_version < 610 && insn->code == (BPF_JMP | BPF_JCOND))
		return old_refuse(p, at, "unknown opcode", insn->code);
	return 0;
}

static inline int old_prog_load(const struct rp_attr_prog *p)
{
	const struct bpf_insn *insns = (const struct bpf_insn *)(uintptr_t)p->insns;
	int err = 0;

	if (!OLD_KNOWS(old_prog_types, p->type) ||
	    (old_version < 510 && p->flags & BPF_F_SLEEPABLE))
		return -EINVAL;
	for (uint32_t i = 0; !err && i < p->insn_cnt; i++) {
		err = old_insn(p, i);
		if (insns[i].code == (BPF_LD | BPF_IMM | BPF_DW))
			i++;
	}
	return err;
}

/* Programs and maps by descriptor, for what depends on their type: how many fit here is enough. */
static uint32_t old_prog_type[1 << 12], old_map_type[1 << 12];

static inline void old_remember(int cmd, const void *attr, int fd)
{
	if (fd < 0 || fd >= 1 << 12)
		return;
	if (cmd == BPF_PROG_LOAD)
		old_prog_type[fd] = ((const struct rp_attr_prog *)attr)->type;
	if (cmd == BPF_MAP_CREATE)
		old_map_type[fd] = ((const struct rp_attr_map *)attr)->type;
}

static inline int old_test_run(uint32_t fd)
{
	const uint32_t type = fd < 1 << 12 ? old_prog_type[fd] : 0;

	if (type == BPF_PROG_TYPE_RAW_TRACEPOINT && old_version < 510)
		return -524; /* ENOTSUPP */
	return 0;
}

/* LOOKUP_AND_DELETE was for queues and stacks alone. */
static inline int old_take(uint32_t fd)
{
	const uint32_t type = fd < 1 << 12 ? old_map_type[fd] : 0;

	return old_version < 514 && type != BPF_MAP_TYPE_QUEUE && type != BPF_MAP_TYPE_STACK ? -524
											     : 0;
}

static inline int old_map_create(const struct rp_attr_map *m)
{
	if (!OLD_KNOWS(old_map_types, m->type) || (old_version < 505 && m->flags & BPF_F_MMAPABLE))
		return -EINVAL;
	return 0;
}

/* Of many uprobes: a pid below 0 was refused when it came to be that of a process. */
static inline int old_link_create(const struct rp_attr_link *link)
{
	const bool uprobes = link->attach_type == BPF_TRACE_UPROBE_MULTI ||
			     link->attach_type == BPF_TRACE_UPROBE_SESSION;

	if (!OLD_KNOWS(old_link_types, link->attach_type))
		return -EINVAL;
	if (uprobes && (int)link->uprobe_multi.pid < 0)
		return old_version < 610 ? -EBADF : -EINVAL;
	return 0;
}

/* 0: such a kernel would not refuse it for its age. */
static inline int old_bpf(int cmd, const void *attr, uint32_t size)
{
	const uint32_t known = old_attr_size();

	if (size > known && !old_is_zero((const char *)attr + known, size - known))
		return -E2BIG;
	if (!OLD_KNOWS(old_commands, (uint32_t)cmd))
		return -EINVAL;
	switch (cmd) {
	case BPF_MAP_CREATE:
		return old_map_create(attr);
	case BPF_PROG_LOAD:
		return old_prog_load(attr);
	case BPF_PROG_TEST_RUN:
		return old_test_run(((const struct rp_attr_test *)attr)->prog_fd);
	case BPF_MAP_LOOKUP_AND_DELETE_ELEM:
		return old_take(((const struct rp_attr_elem *)attr)->map_fd);
	case BPF_LINK_CREATE:
		return old_link_create(attr);
	case BPF_RAW_TRACEPOINT_OPEN:
		return old_version < 610 && size > 16 &&
				       ((const struct rp_attr_raw_tp *)attr)->cookie
			       ? -EINVAL
			       : 0;
	}
	return 0;
}

/* uprobe(2) of x86-64 */
enum { OLD_SYS_UPROBE = 336 };

static inline int old_uprobe(void)
{
	return old_version < 618 ? -ENOSYS : 0;
}

static inline int old_perf_event_open(const struct perf_event_attr *attr)
{
	const uint32_t known = old_version < 505 ? 112 : old_version < 513 ? 120 : 128;
	/*
	 * Of the flags: cgroup 5.7, text_poke 5.9, build_id 5.12, inherit_thread and two more 5.13.
	 */
	const int bits = old_version < 507   ? 32
			 : old_version < 509 ? 33
			 : old_version < 512 ? 34
			 : old_version < 513 ? 35
					     : 38;
	uint64_t flags;

	if (attr->size > known && !old_is_zero((const char *)attr + known, attr->size - known))
		return -E2BIG;
	memcpy(&flags, (const char *)attr + 40, sizeof(flags));
	return flags >> bits ? -EINVAL : 0;
}

#endif
