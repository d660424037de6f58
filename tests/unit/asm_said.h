/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of the assembler share: what it said is kept, and a made-up world to bind to. */
#ifndef TESTS_UNIT_ASM_SAID_H
#define TESTS_UNIT_ASM_SAID_H

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rawprof/asm.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* ---- what was said since the last assemble() */

static struct said {
	enum asm_severity severity;
	char file[128], text[256], message[256];
	uint32_t line;
} said[64];
static size_t nsaid;

static inline void keep(void *ctx, const struct asm_diag *diag)
{
	struct said *s = &said[nsaid++];

	(void)ctx;
	ck_assert_uint_le(nsaid, COUNT_OF(said));
	s->severity = diag->severity;
	s->line = diag->line;
	snprintf(s->file, sizeof(s->file), "%s", diag->file);
	snprintf(s->text, sizeof(s->text), "%s", diag->text);
	snprintf(s->message, sizeof(s->message), "%s", diag->message);
}

/* The i-th thing that was said, all of it. */
#define ck_assert_said(i, severity_, file_, line_, text_, message_)                                \
	do {                                                                                       \
		ck_assert_uint_gt(nsaid, i);                                                       \
		ck_assert_str_eq(said[i].message, message_);                                       \
		ck_assert_str_eq(said[i].text, text_);                                             \
		ck_assert_str_eq(said[i].file, file_);                                             \
		ck_assert_uint_eq(said[i].line, line_);                                            \
		ck_assert_int_eq(said[i].severity, severity_);                                     \
	} while (0)

/* ---- a world */

struct stats {
	uint64_t kept, lost;
};
static const struct asm_map maps[] = {
	{ .name = "counts",
	  .type = BPF_MAP_TYPE_HASH,
	  .key_size = 8,
	  .value_size = 8,
	  .max_entries = 64 },
	{ .name = "stats",
	  .type = BPF_MAP_TYPE_ARRAY,
	  .key_size = 4,
	  .value_size = sizeof(struct stats),
	  .max_entries = 1 },
	{ .name = "table",
	  .type = BPF_MAP_TYPE_ARRAY,
	  .key_size = 4,
	  .value_size = 8,
	  .max_entries = 2 },
};
static const int map_fds[] = { 11, 12, 13 };

static const struct {
	const char *type, *path;
	struct asm_access access;
} members[] = {
	{ "task_struct", "tgid", { 1, { { 1384, 4, 1 } } } },
	{ "task_struct", "flags", { 1, { { 44, 4, 0 } } } },
	{ "task_struct", "start_time", { 1, { { 1672, 8, 0 } } } },
	{ "task_struct", "nice", { 1, { { 7, 1, 1 } } } },
	{ "task_struct", "comm", { 1, { { 1912, 16, 0 } } } },
	{ "task_struct", "real_parent.tgid", { 2, { { 1400, 8, 0 }, { 1384, 4, 1 } } } },
	{ "task_struct",
	  "mm.exe_file.f_inode.i_ino",
	  { 4, { { 1200, 8, 0 }, { 800, 8, 0 }, { 32, 8, 0 }, { 64, 8, 0 } } } },
	{ "huge", "last_near", { 1, { { 32767, 1, 0 } } } },
	{ "huge", "far", { 1, { { 32768, 4, 0 } } } },
	{ "huge", "next.far", { 2, { { 0, 8, 0 }, { 40000, 4, 0 } } } },
};

static inline int find_member(void *ctx, const char *type, const char *path, struct asm_access *out,
			      char *why)
{
	(void)ctx;
	for (size_t i = 0; i < COUNT_OF(members); i++)
		if (!strcmp(members[i].type, type) && !strcmp(members[i].path, path)) {
			*out = members[i].access;
			return 0;
		}
	if (!strcmp(path, "bits")) {
		snprintf(why, ASM_WHY_SIZE, "it is a bit field");
		return -EOPNOTSUPP;
	}
	if (!strcmp(path, "nonsense")) { /* a binding that is broken */
		out->nhops = ASM_MAX_HOPS + 1;
		return 0;
	}
	return -ENOENT;
}

static inline int find_tp_field(void *ctx, const char *group, const char *event, const char *field,
				struct asm_access *out, char *why)
{
	(void)ctx;
	if (strcmp(group, "signal") || strcmp(event, "signal_generate")) {
		snprintf(why, ASM_WHY_SIZE, "this kernel has no such tracepoint");
		return -ENOENT;
	}
	if (strcmp(field, "code"))
		return -ENOENT;
	*out = (struct asm_access){ 1, { { 16, 4, 1 } } };
	return 0;
}

static inline int find_kfunc(void *ctx, const char *name, char *why)
{
	(void)ctx;
	if (!strcmp(name, "bpf_task_release"))
		return 81234;
	snprintf(why, ASM_WHY_SIZE, "this kernel has no such function");
	return -ENOENT;
}

/* ---- assembling */

static inline struct asm_bindings world(const void *config, size_t config_size)
{
	return (struct asm_bindings){ .maps = maps,
				      .map_fds = map_fds,
				      .nmaps = COUNT_OF(maps),
				      .config = config,
				      .config_size = config_size,
				      .arch = &asm_arch_x86_64,
				      .field = find_member,
				      .tp_field = find_tp_field,
				      .kfunc = find_kfunc };
}

static inline int assemble_in(const struct asm_insn *lines, size_t n,
			      const struct asm_bindings *bindings, struct asm_image *image)
{
	static struct asm_program program; /* the image points to it */

	program = (struct asm_program){ .name = "test",
					.type = BPF_PROG_TYPE_RAW_TRACEPOINT,
					.lines = lines,
					.nlines = n,
					.file = __BASE_FILE__, /* the test, not this header */
					.config_size = (uint32_t)bindings->config_size };
	nsaid = 0;
	return asm_assemble(&program, bindings, image, keep, NULL);
}

static inline int assemble(const struct asm_insn *lines, size_t n, const void *config,
			   size_t config_size, struct asm_image *image)
{
	struct asm_bindings bindings = world(config, config_size);

	return assemble_in(lines, n, &bindings, image);
}

/* ---- what is expected */

/* An instruction as the kernel gets it, for comparison with numbers written by hand. */
struct bytes {
	uint8_t code, dst, src;
	int16_t off;
	int32_t imm;
};

static inline void ck_insn(const struct asm_image *image, uint32_t slot, struct bytes want,
			   const char *text)
{
	const struct bpf_insn *insn = &image->insns[slot];

	ck_assert_uint_lt(slot, image->ninsns);
	ck_assert_msg(insn->code == want.code && insn->dst_reg == want.dst &&
			      insn->src_reg == want.src && insn->off == want.off &&
			      insn->imm == want.imm,
		      "%s, slot %u: %02x dst %u src %u off %d imm %d", text, slot, insn->code,
		      insn->dst_reg, insn->src_reg, insn->off, insn->imm);
}

/* Assembles what has to assemble, without a word. */
static inline struct asm_image good(const struct asm_insn *lines, size_t n, const void *config,
				    size_t config_size)
{
	struct asm_image image;

	ck_assert_int_eq(assemble(lines, n, config, config_size, &image), 0);
	ck_assert_msg(nsaid == 0, "%s", said[0].message);
	return image;
}
#define GOOD(lines) good(lines, COUNT_OF(lines), NULL, 0)

/* Lines that must be refused with err, one thing being said: at line `at` of them, with these
 * words. */
static inline void refuse(const struct asm_insn *lines, size_t n, const void *config,
			  size_t config_size, int err, size_t at, const char *text,
			  const char *message)
{
	struct asm_image image, untouched;

	memset(&image, 0x5a, sizeof(image));
	untouched = image;
	ck_assert_int_eq(assemble(lines, n, config, config_size, &image), err);
	ck_assert_mem_eq(&image, &untouched, sizeof(image));
	ck_assert_said(0, ASM_ERROR, __BASE_FILE__, lines[at].line, text, message);
	ck_assert_uint_eq(nsaid, 1);
}
#define REFUSE(lines, at, text, message)                                                           \
	refuse(lines, COUNT_OF(lines), NULL, 0, -EINVAL, at, text, message)

#endif
