/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * --annotate of a BPF program. Its machine code is in no file; while it is loaded the kernel has
 * its instructions, as the verifier rewrote them, and says which source line each address is of.
 * So what was at a line stands at the line, above its instructions. What is found at the address is
 * the program that was recorded if it has the same tag, which is in its name.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rawprof/asm.h>
#include <rawprof/loader.h>

#include "annotate.h"

#define PREFIX "bpf_prog_"

struct program {
	struct rp_prog_code code;
	const struct rp_prog_func *func;
	struct bpf_insn *insns;
	uint32_t ninsns;
};

bool report_is_bpf(const struct report_place *p)
{
	return p->kind == REPORT_KERNEL && p->module && !strcmp(p->module, "bpf") &&
	       !strncmp(p->name, PREFIX, strlen(PREFIX));
}

/* Code may be elsewhere by now, or another program's where it was. */
static bool is_that(const struct rp_prog_func *func, const struct report_place *p)
{
	char tag[2 * sizeof(func->tag) + 1];

	for (size_t i = 0; i < sizeof(func->tag); i++)
		snprintf(tag + 2 * i, 3, "%02x", func->tag[i]);
	return func->start == p->start && !strncmp(p->name + strlen(PREFIX), tag, strlen(tag));
}

static void close_program(struct program *program)
{
	rp_prog_code_free(&program->code);
	free(program->insns);
}

/* -ENOENT: this one is another; or what may not be read. */
static int look_at(uint32_t id, const struct report_place *p, struct program *program)
{
	int fd = rp_prog_by_id(id), err;

	if (fd < 0)
		return fd;
	err = rp_prog_code(fd, &program->code);
	for (uint32_t i = 0; !err && i < program->code.nfuncs; i++)
		if (is_that(&program->code.funcs[i], p))
			program->func = &program->code.funcs[i];
	if (!err)
		err = program->func ? rp_prog_xlated(fd, &program->insns, &program->ninsns)
				    : -ENOENT;
	close(fd);
	if (err)
		close_program(program);
	return err;
}

static int find(const struct report_place *p, struct program *out)
{
	uint32_t id = 0;
	int err;

	while (!(err = rp_prog_next_id(id, &id)) && id) {
		struct program program = { 0 };

		err = look_at(id, p, &program);
		if (!err) {
			*out = program;
			return 0;
		}
		if (err == -EPERM || err == -ENOMEM)
			break;
	}
	if (err == -EPERM)
		return rp_fail(err, "--annotate: the kernel shows the code of BPF programs to root "
				    "alone (CAP_SYS_ADMIN, CAP_SYSLOG)");
	if (err == -ENOMEM)
		return err;
	return rp_fail(-ENOENT,
		       "--annotate: %s is not loaded any more: the code of a BPF program is to be "
		       "had while it is, on the machine that was recorded",
		       p->name);
}

static int put_insns(struct annotation *a, const struct program *program, uint32_t from,
		     uint32_t to)
{
	const struct asm_disasm_options options = { .dialect = ASM_DIALECT_XLATED };
	char text[ASM_DISASM_SIZE], line[ASM_DISASM_SIZE + 16];
	int err = 0;

	for (uint32_t i = from; i < to && i < program->ninsns && !err; i++) {
		asm_disasm(&options, program->insns, program->ninsns, i, text, sizeof(text));
		snprintf(line, sizeof(line), "%6" PRIu32 ": %s", i, text);
		err = report_annotate_line(a, line, 0);
		i += program->insns[i].code == (BPF_LD | BPF_IMM | BPF_DW);
	}
	return err;
}

static bool is_of(const struct rp_prog_func *func, const struct rp_prog_code_line *line)
{
	return line->start >= func->start && line->start - func->start < func->size;
}

/* Where the next line's instructions begin: functions may lie in another order than they have. */
static uint32_t next_insn(const struct program *program, uint32_t insn)
{
	uint32_t next = program->ninsns;

	for (uint32_t i = 0; i < program->code.nlines; i++)
		if (program->code.lines[i].insn > insn && program->code.lines[i].insn < next)
			next = program->code.lines[i].insn;
	return next;
}

static int put_lines(struct annotation *a, const struct program *program)
{
	const struct rp_prog_code *code = &program->code;
	char text[256];
	int err = 0;

	for (uint32_t i = 0; i < code->nlines && !err; i++) {
		const struct rp_prog_code_line *line = &code->lines[i];
		const bool last = i + 1 == code->nlines || !is_of(program->func, line + 1);

		if (!is_of(program->func, line))
			continue;
		snprintf(text, sizeof(text), "; %s @ %s:%" PRIu32,
			 line->text + strspn(line->text, " \t"), line->file, line->line);
		err = report_annotate_line(a, text, last ? UINT64_MAX : line[1].start);
		if (!err)
			err = put_insns(a, program, line->insn, next_insn(program, line->insn));
	}
	return err;
}

int report_annotate_bpf(struct annotation *a)
{
	struct program program = { 0 };
	int err = find(a->places, &program);

	if (err)
		return err;
	if (program.code.nlines) {
		err = put_lines(a, &program);
	} else {
		err = report_annotate_line(a, "(it has no source lines)", UINT64_MAX);
		if (!err)
			err = put_insns(a, &program, 0, program.ninsns);
	}
	close_program(&program);
	return err;
}
