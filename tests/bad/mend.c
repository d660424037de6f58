/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Are the refusals' explanations true? The line that is named has to be the one to change, the
 * advice has to say the change, and with it the program has to load. And what `explain --repair`
 * finds may end earlier or hold more than before, but reads and writes nothing elsewhere; where
 * the kernel can run such a program, it does what the mended one does.
 */
#include <ctype.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "bad.h"
#include "cli/explain/repair.h"

static const struct bad_mend *mend_of(const char *id)
{
	for (const struct bad_mend *m = bad_mends; m->id; m++)
		if (!strcmp(m->id, id))
			return m;
	return NULL;
}

/* ---- what is said */

static const char *line_text(void *ctx, uint32_t insn)
{
	static char text[600];
	const struct asm_image *image = ctx;

	snprintf(text, sizeof(text), "%s:%u: %s", image->file_of[insn],
		 image->program->lines[image->line_of[insn]].line, image->text_of[insn]);
	return text;
}

struct refused {
	struct asm_image image;
	struct asm_refusal refusal;
	char *log;
	bool is;
};

static void refused_free(struct refused *r)
{
	if (r->is)
		asm_refusal_free(&r->refusal);
	asm_image_free(&r->image);
	free(r->log);
}

/* False: it cannot be assembled, or is not refused with a word. */
static bool refuse(const struct bad_case *c, const struct asm_bindings *bind, struct refused *r)
{
	struct asm_refused refused;
	struct rp_prog prog;
	int fd;

	*r = (struct refused){ 0 };
	if (asm_assemble(&c->program, bind, &r->image, NULL, NULL))
		return false;
	rp_prog_of_image(&r->image, &prog);
	fd = rp_prog_load_verbose(&prog, 1, &r->log);
	if (fd >= 0)
		close(fd);
	refused = (struct asm_refused){ .log = r->log ? r->log : "",
					.insns = r->image.insns,
					.ninsns = r->image.ninsns,
					.line = line_text,
					.line_ctx = &r->image };
	r->is = fd < 0 && !asm_refusal_explain(&refused, &r->refusal);
	if (!r->is)
		refused_free(r);
	return r->is;
}

/* The element of the program's lines that the edit begins at; -1: the line is not there. */
static int64_t place_of(const struct bad_mend *m, const struct refused *r)
{
	if (!m->line)
		return r->refusal.insn < 0 ? -1 : (int64_t)r->image.line_of[r->refusal.insn];
	for (uint32_t i = 0; i < r->image.ninsns; i++)
		if (r->image.text_of[i] && !strcmp(r->image.text_of[i], m->line))
			return r->image.line_of[i];
	return -1;
}

/* Is the line of that element, "file.c:12: ", in what is said? */
static bool is_named(const struct refused *r, int64_t at)
{
	const struct asm_program *p = r->image.program;
	char place[300];

	if (at < 0)
		return false;
	snprintf(place, sizeof(place), "%s:%u: ", p->file, p->lines[at].line);
	return (r->refusal.at && strstr(r->refusal.at, place)) ||
	       (r->refusal.history && strstr(r->refusal.history, place));
}

/* Does a macro of the lines stand in the advice? "JEQ(R0, 0, out)": "JEQ(". */
static bool is_advised(const struct bad_mend *m, const char *advice)
{
	const struct asm_insn *const lists[] = { m->lines.at, m->also.at };
	const size_t sizes[] = { m->lines.n, m->also.n };

	if (!advice)
		return false;
	if (m->advice)
		return strstr(advice, m->advice) != NULL;
	for (size_t list = 0; list < 2; list++)
		for (size_t i = 0; i < sizes[list]; i++) {
			const char *text = lists[list][i].text;
			char macro[100];

			snprintf(macro, sizeof(macro), "%.*s(", text ? (int)strcspn(text, "(") : 0,
				 text ? text : "");
			if (strlen(macro) > 2 && strstr(advice, macro))
				return true;
		}
	return false;
}

/* ---- the mended program */

/* Its lines; free them. NULL: the edit has no place. */
static struct asm_insn *mended_lines(const struct bad_case *c, const struct bad_mend *m, int64_t at,
				     size_t *n)
{
	const size_t had = c->program.nlines, begin = (size_t)(at + m->skip);
	struct asm_insn *lines;

	*n = 0;
	if ((at < 0 && (m->lines.n || m->removed)) || begin + m->removed > had + 1)
		return NULL;
	lines = calloc(had + m->lines.n + m->also.n + 1, sizeof(*lines));
	for (size_t i = 0; lines && i <= had; i++) {
		for (size_t k = 0; i == m->also_at && k < m->also.n; k++)
			lines[(*n)++] = m->also.at[k];
		for (size_t k = 0; i == begin && k < m->lines.n; k++)
			lines[(*n)++] = m->lines.at[k];
		if (i < had && (at < 0 || i < begin || i >= begin + m->removed))
			lines[(*n)++] = c->program.lines[i];
	}
	return lines;
}

/* A descriptor, or a negative errno with the kernel's words in out->said. */
static int load_mended(const struct bad_case *c, const struct bad_mend *m, int64_t at,
		       const struct asm_bindings *bind, struct bad_outcome *out)
{
	struct asm_program program = c->program;
	struct asm_image image;
	struct rp_prog prog;
	char *log = NULL;
	int fd = -EINVAL;

	program.lines = mended_lines(c, m, at, &program.nlines);
	if (m->license)
		program.license = m->license;
	if (program.lines && !asm_assemble(&program, bind, &image, NULL, NULL)) {
		rp_prog_of_image(&image, &prog);
		fd = rp_prog_load_verbose(&prog, 1, &log);
		asm_image_free(&image);
	}
	if (fd < 0)
		snprintf(out->said, sizeof(out->said), "mended: %s\n%s", strerror(-fd),
			 log ? log : "it cannot be assembled");
	free(log);
	free((void *)program.lines);
	return fd;
}

/* ---- the repaired program */

struct repairing_case {
	const struct asm_image *was;
	struct bad_outcome *out;
	int mended; /* a descriptor, or negative */
};

/* Does the instruction touch memory, or have a helper do so? */
static bool touches(const struct bpf_insn *insn)
{
	switch (BPF_CLASS(insn->code)) {
	case BPF_LDX:
	case BPF_ST:
	case BPF_STX:
		return true;
	case BPF_JMP:
		return insn->code == (BPF_JMP | BPF_CALL);
	}
	return false;
}

/* Clearing a slot of the frame, and giving a record back unseen: what a change may add. */
static bool may_be_added(const struct bpf_insn *insn)
{
	const bool clears = insn->code == (BPF_ST | BPF_MEM | BPF_DW) && insn->dst_reg == 10 &&
			    !insn->imm;
	const bool discards = insn->code == (BPF_JMP | BPF_CALL) && insn->imm == 133;

	return clears || discards;
}

/* The same, or a load of the first of its bytes. */
static bool is_same(const struct bpf_insn *was, const struct bpf_insn *is)
{
	static const int bytes[] = {
		[BPF_W >> 3] = 4,
		[BPF_H >> 3] = 2,
		[BPF_B >> 3] = 1,
		[BPF_DW >> 3] = 8,
	};
	struct bpf_insn as_wide = *is;

	if (BPF_CLASS(is->code) == BPF_LDX && BPF_CLASS(was->code) == BPF_LDX &&
	    bytes[BPF_SIZE(is->code) >> 3] < bytes[BPF_SIZE(was->code) >> 3])
		as_wide.code = was->code;
	return !memcmp(was, &as_wide, sizeof(*was));
}

/* Is each access of the new program one of the old, in its order, or one that may be added? */
static bool is_moved(const struct asm_image *was, const struct asm_image *is)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < is->ninsns; i++) {
		const struct bpf_insn *insn = &is->insns[i];
		uint32_t found = at;

		if (!touches(insn))
			continue;
		while (found < was->ninsns &&
		       (!touches(&was->insns[found]) || !is_same(&was->insns[found], insn)))
			found++;
		if (found < was->ninsns)
			at = found + 1;
		else if (!may_be_added(insn))
			return true;
	}
	return false;
}

static void when_it_loads(void *ctx, const struct asm_image *image, int prog_fd)
{
	struct repairing_case *r = ctx;
	int64_t mended, repaired;

	r->out->repaired = true;
	r->out->moved = is_moved(r->was, image);
	if (r->mended < 0)
		return;
	mended = bad_run(r->mended);
	repaired = bad_run(prog_fd);
	r->out->compared = mended >= 0 && repaired >= 0;
	r->out->differs = r->out->compared && mended != repaired;
}

static void repair(const struct bad_case *c, const struct asm_bindings *bind, char *log,
		   int mended, struct bad_outcome *out)
{
	const struct explain_options opt = { .repair = true };
	const struct rp_program entry = { .code = c->program, .maps = bad_maps, .nmaps = BAD_MAPS };
	struct explained e = { .opt = &opt,
			       .entry = &entry,
			       .bind = *bind,
			       .log_text = log,
			       .loaded = -1,
			       .broken_slot = -1 };
	struct repairing_case r = { .was = &e.image, .out = out, .mended = mended };
	const size_t used = strlen(out->said);
	FILE *to = fmemopen(out->said + used, sizeof(out->said) - used, "w");

	if (!to || asm_assemble(&c->program, bind, &e.image, NULL, NULL))
		return;
	e.has_image = true;
	repair_program(to, &e, when_it_loads, &r);
	fclose(to);
	asm_image_free(&e.image);
}

/* ---- all of it */

static void judge(const struct bad_case *c, const int *map_fds, struct bad_outcome *out)
{
	const struct asm_bindings bind = { .maps = bad_maps,
					   .map_fds = map_fds,
					   .nmaps = BAD_MAPS };
	const struct bad_mend *m = mend_of(c->id);
	struct refused r;
	int mended = -1;

	if (!refuse(c, &bind, &r))
		return;
	out->mends = m != NULL;
	if (m) {
		const int64_t at = place_of(m, &r);

		out->named = m->license || is_named(&r, at);
		out->advised = is_advised(m, r.refusal.advice);
		mended = load_mended(c, m, at, &bind, out);
		out->loads = mended >= 0;
	}
	repair(c, &bind, r.log, mended, out);
	if (mended >= 0)
		close(mended);
	refused_free(&r);
}

/* In a child, which may give up its capabilities. */
void bad_mend(const struct bad_case *c, const int *map_fds, struct bad_outcome *out)
{
	struct bad_outcome *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
					  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child;

	*out = (struct bad_outcome){ 0 };
	if (shared == MAP_FAILED)
		return;
	fflush(stdout);
	child = fork();
	if (child == 0) {
		if (!c->unprivileged || !bad_keep_only_cap_bpf())
			judge(c, map_fds, shared);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	*out = *shared;
	munmap(shared, sizeof(*shared));
}
