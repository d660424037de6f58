/* SPDX-License-Identifier: BSD-2-Clause */
/* What the live tests of probes on functions share: a program that counts, and where it goes. */
#ifndef TEST_UPROBES_H
#define TEST_UPROBES_H

#include "test_loader.h"

#include <linux/bpf_perf_event.h>
#include <rawprof/macros.h>
#include <rawprof/symbolize.h>
#include <rawprof/uprobe.h>

/* ---- a program that counts by cookie, and keeps what it read last */

enum { COOKIES = 16 };

struct seen {
	uint64_t hits[COOKIES];
	uint64_t returned_to; /* what it found where the return address should be */
	uint64_t at_entry;    /* of a session: runs whose ip is the probe's place */
	uint64_t elsewhere;
};

struct config {
	uint32_t sp_delta;
	uint32_t answer; /* of a session's program at the entry */
};

struct frame {
	uint64_t word;
};
enum { WORD = FRAME(struct frame, word) };

static const struct asm_map seen_map = { "seen", BPF_MAP_TYPE_ARRAY, 4, sizeof(struct seen),
					 1,	 BPF_F_MMAPABLE };

/* clang-format off */
#define COUNT_BY_COOKIE()                                                                          \
	MOV_REG(R1, R6),                                                                           \
	CALL(get_attach_cookie),                                                                   \
	AND(R0, COOKIES - 1),                                                                      \
	LSH(R0, 3),                                                                                \
	LD_MAP_VALUE(R1, seen, 0),                                                                 \
	ADD_REG(R1, R0),                                                                           \
	MOV(R2, 1),                                                                                \
	ATOMIC_ADD(DW, R1, 0, R2)

static const struct asm_insn count_lines[] = {
	MOV_REG(R6, R1),
	COUNT_BY_COOKIE(),
	LD_SP(R3, R6),
	LD_PARAM(R1, struct config, sp_delta),
	ADD_REG(R3, R1),
	FRAME_PTR(R1, WORD),
	MOV(R2, 8),
	CALL(probe_read_user),
	LDX(DW, R2, R10, WORD),
	LD_MAP_VALUE(R1, seen, offsetof(struct seen, returned_to)),
	STX(DW, R1, 0, R2),
	MOV(R0, 0),
	EXIT(),
};

/* Without cookies, for kernels that have none. */
static const struct asm_insn plain_lines[] = {
	LD_MAP_VALUE(R1, seen, 0),
	MOV(R2, 1),
	ATOMIC_ADD(DW, R1, 0, R2),
	MOV(R0, 0),
	EXIT(),
};
/* clang-format on */

static struct seen *seen;

static inline int load_lines(const struct asm_insn *lines, size_t n, enum rp_uprobe_way way,
			     struct config config)
{
	static int map = -1;
	const struct asm_program program = { .name = "seen",
					     .license = "Dual BSD/GPL",
					     .type = BPF_PROG_TYPE_KPROBE,
					     .attach_type = rp_uprobe_attach_type(way),
					     .lines = lines,
					     .nlines = n,
					     .config_size = sizeof(config) };
	const struct asm_bindings bind = { .maps = &seen_map,
					   .map_fds = &map,
					   .nmaps = 1,
					   .config = &config,
					   .config_size = sizeof(config) };
	void *at;
	size_t size;
	int prog;

	if (map < 0) {
		map = rp_map_create(&seen_map);
		ck_assert_int_ge(map, 0);
		ck_assert_int_eq(rp_map_mmap(map, &seen_map, &at, &size), 0);
		seen = at;
	}
	memset(seen, 0, sizeof(*seen));
	prog = rp_program_load(&program, &bind);
	ck_assert_int_ge(prog, 0);
	return prog;
}
#define LOAD(lines, way, ...)                                                                      \
	load_lines(lines, sizeof(lines) / sizeof((lines)[0]), way, (struct config){ __VA_ARGS__ })

/* ---- where a function is and where its probe goes */

struct target {
	int fd;
	struct sym_functions *found;
	struct rp_function function;
	struct rp_place place;
	struct rp_returns returns;
};

static inline void open_target(struct target *t, int fd, const char *name, uint8_t nargs,
			       bool with_return)
{
	struct rp_code *code;

	*t = (struct target){ .fd = fd };
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(sym_functions_find(fd, &name, 1, &t->found), 0);
	ck_assert_msg(t->found->count == 1, "%s: %zu", name, t->found->count);
	t->function = (struct rp_function){ .offset = t->found->items[0].offset,
					    .size = t->found->items[0].size,
					    .alone = t->found->items[0].alone,
					    .nargs = nargs,
					    .with_return = with_return };
	ck_assert_int_eq(rp_code_open(fd, t->found->machine, t->found->text_offset,
				      t->found->text_size, &code),
			 0);
	ck_assert_int_eq(rp_code_entry(code, &t->function, &t->place), 0);
	ck_assert_int_eq(rp_code_returns(code, &t->function, &t->returns), 0);
	rp_code_close(code);
}

static inline void open_own(struct target *t, const char *name, bool with_return)
{
	open_target(t, open("/proc/self/exe", O_RDONLY | O_CLOEXEC), name, 0, with_return);
}

static inline void close_target(struct target *t)
{
	rp_returns_free(&t->returns);
	sym_functions_free(t->found);
	close(t->fd);
}

static inline struct rp_uprobes *attach(const struct target *t, enum rp_uprobe_way way, int prog,
					const uint64_t *offsets, const uint64_t *cookies,
					uint32_t n, bool at_return)
{
	const struct rp_uprobe_set set = { .way = way,
					   .fd = t->fd,
					   .offsets = offsets,
					   .cookies = cookies,
					   .n = n,
					   .pid = getpid(),
					   .at_return = at_return,
					   .prog_fds = &prog,
					   .nprogs = 1 };
	struct rp_uprobes *probes;

	ck_assert_int_eq(rp_attach_uprobes(&set, &probes), 0);
	/*
	 * Without uprobe_multi they are attached one by one: the first has seen the loader's own
	 * calls meanwhile.
	 */
	*seen = (struct seen){ 0 };
	return probes;
}

#endif
