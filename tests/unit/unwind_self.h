/* SPDX-License-Identifier: BSD-2-Clause */
/* This process as something to walk: its segments and tables, its memory, its registers. */
#ifndef TESTS_UNWIND_SELF_H
#define TESTS_UNWIND_SELF_H

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>
#include <rawprof/unwind.h>

enum { SELF_MAX = 64 };

struct self {
	struct unwind_space_mapping segments[SELF_MAX];
	struct unwind_table *tables[SELF_MAX];
	size_t nsegments, ntables;
	struct unwind_space space;
};

static int self_by_start(const void *a, const void *b)
{
	const struct unwind_space_mapping *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* The vdso is in no file: its image is as large as its one mapping. NULL: arm64's has no tables. */
static inline struct unwind_table *self_vdso_table(void)
{
	uint64_t start = getauxval(AT_SYSINFO_EHDR), from = 0, to = 0;
	struct unwind_table *t = NULL;
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512];
	int err;

	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof(line), f) && from != start)
		sscanf(line, "%lx-%lx", &from, &to);
	fclose(f);
	ck_assert_uint_eq(from, start);
	err = unwind_table_build_image(&t, (void *)start, to - from);
	ck_assert_msg(!err || err == -ENODATA, "the vdso: %s", strerror(-err));
	return t;
}

static inline struct unwind_table *self_file_table(const char *path)
{
	int fd = open(*path ? path : "/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct unwind_table *t = NULL;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(unwind_table_build(&t, fd), 0);
	close(fd);
	return t;
}

static inline int self_add(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct self *s = ctx;
	bool is_vdso =
		info->dlpi_addr == getauxval(AT_SYSINFO_EHDR) || strstr(info->dlpi_name, "vdso");
	struct unwind_table *t = is_vdso ? self_vdso_table() : self_file_table(info->dlpi_name);

	(void)size;
	s->tables[s->ntables++] = t;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type == PT_LOAD && (ph->p_flags & PF_X) && s->nsegments < SELF_MAX)
			s->segments[s->nsegments++] = (struct unwind_space_mapping){
				.start = info->dlpi_addr + ph->p_vaddr,
				.end = info->dlpi_addr + ph->p_vaddr + ph->p_memsz,
				.bias = info->dlpi_addr,
				.table = t,
				.kind = t ? UNWIND_BY_TABLE : UNWIND_BY_FP,
			};
	}
	return 0;
}

static inline void self_open(struct self *s)
{
	memset(s, 0, sizeof(*s));
	dl_iterate_phdr(self_add, s);
	qsort(s->segments, s->nsegments, sizeof(s->segments[0]), self_by_start);
	s->space = (struct unwind_space){ .segments = s->segments, .count = s->nsegments };
#if defined(__aarch64__)
	s->space.ra_mask = 0xffffffffffff;
#elif defined(__riscv)
	s->space.fp_record = -16;
#endif
}

static inline void self_close(struct self *s)
{
	for (size_t i = 0; i < s->ntables; i++)
		unwind_table_free(s->tables[i]);
}

/* Reads as the kernel would: what is not mapped is an error and no fault. Safe in a handler. */
static inline int self_read(void *ctx, uint64_t addr, void *buf, size_t size)
{
	struct iovec to = { buf, size }, from = { (void *)addr, size };

	(void)ctx;
	return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)size ? 0 : -EFAULT;
}

#ifdef __x86_64__
static inline void self_regs(const ucontext_t *uc, struct unwind_regs *r)
{
	static const int by_dwarf[] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
					REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
					REG_R12, REG_R13, REG_R14, REG_R15 };

	memset(r, 0, sizeof(*r));
	for (int i = 0; i < 16; i++)
		r->reg[i] = uc->uc_mcontext.gregs[by_dwarf[i]];
	r->pc = uc->uc_mcontext.gregs[REG_RIP];
	r->sp = uc->uc_mcontext.gregs[REG_RSP];
	r->fp = uc->uc_mcontext.gregs[REG_RBP];
}
#endif

#endif
