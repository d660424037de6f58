/* SPDX-License-Identifier: BSD-2-Clause */
/* A program and everything that is known of it: assembled, offered to the kernel, its log read. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "explain.h"
#include "base/clock.h"
#include "base/text.h"
#include "record/confine.h"

static void report(void *ctx, const struct asm_diag *d)
{
	(void)ctx;
	rp_log(d->severity == ASM_ERROR ? RP_ERROR : RP_INFO, "%s:%u: %s\n\t%s", d->file, d->line,
	       d->message, d->text);
}

static int assemble(struct explained *e)
{
	const struct rp_program *entry = e->entry;
	int err;

	e->bind = (struct asm_bindings){ .maps = entry->maps,
					 .nmaps = entry->nmaps,
					 .map_fds = e->fds,
					 .config = entry->config,
					 .config_size = entry->code.config_size,
					 .field = rp_bind_field,
					 .tp_field = rp_bind_tp_field,
					 .kfunc = rp_bind_kfunc };
	err = asm_assemble(&entry->code, &e->bind, &e->image, report, NULL);
	e->has_image = !err;
	return err;
}

static int make_maps(struct explained *e)
{
	const struct rp_program *entry = e->entry;
	int err;

	e->fds = calloc(entry->nmaps + 1, sizeof(*e->fds));
	if (!e->fds)
		return -ENOMEM;
	err = rp_maps_create(entry->maps, entry->nmaps, e->fds);
	if (err < 0) {
		free(e->fds);
		e->fds = NULL;
		return err;
	}
	return entry->prepare ? entry->prepare(e->fds) : 0;
}

/* ---- the log */

static int read_log(struct explained *e)
{
	int err = asm_vlog_parse(e->log_text, &e->log);

	e->has_log = !err;
	return err;
}

/* Any text can be read as a log; a real one has instructions, or counts them. */
static bool is_log(const struct explained *e)
{
	for (uint32_t i = 0; i < e->log.ninsns; i++)
		if (e->log.insns[i].text)
			return true;
	return strstr(e->log_text, "processed ") != NULL;
}

/* A file may hold anything; what the kernel says is of programs that are known. */
static int clean_log(struct explained *e)
{
	char *text = rp_text_lines(e->log_text);

	if (!text)
		return -ENOMEM;
	free(e->log_text);
	e->log_text = text;
	return 0;
}

static int log_of_file(struct explained *e)
{
	size_t capacity = 0;
	ssize_t size;
	int err = 0;
	FILE *in;

	record_read_as_user(true);
	in = !strcmp(e->opt->kernel_log, "-") ? stdin : fopen(e->opt->kernel_log, "r");
	record_read_as_user(false);
	if (!in)
		return rp_fail(-errno, "cannot read %s: %s", e->opt->kernel_log, strerror(errno));
	size = getdelim(&e->log_text, &capacity, '\0', in);
	if (size < 0)
		err = rp_fail(ferror(in) ? -EIO : -ENODATA, "%s is empty, or cannot be read",
			      e->opt->kernel_log);
	if (in != stdin)
		fclose(in);
	if (!err)
		err = clean_log(e);
	err = err ? err : read_log(e);
	if (!err && !is_log(e))
		err = rp_fail(-EINVAL,
			      "%s is no log of the verifier: there is no instruction in it",
			      e->opt->kernel_log);
	return err;
}

/* Is it this program that the log is of? The opcodes say so. */
static bool log_fits(const struct explained *e)
{
	uint32_t met = 0;

	for (uint32_t i = 0; i < e->log.ninsns; i++) {
		const char *text = e->log.insns[i].text;

		if (!text)
			continue;
		met++;
		if (i >= e->image.ninsns || *text != '(' ||
		    strtoul(text + 1, NULL, 16) != e->image.insns[i].code)
			return false;
	}
	return met > 0;
}

static int log_of_kernel(struct explained *e)
{
	struct rp_prog prog;
	uint64_t begin;
	int fd;

	rp_prog_of_image(&e->image, &prog);
	fd = rp_prog_load_verbose(&prog, 2 | 4, &e->log_text);
	e->asked = true;
	e->loaded = fd;
	if (fd < 0 && e->log_text && *e->log_text)
		return read_log(e);
	if (fd < 0)
		return rp_prog_load(&prog); /* which says why */
	close(fd);
	/* Once more without the log, which takes most of the time. */
	begin = rp_monotonic_ns();
	e->loaded = rp_prog_load(&prog);
	e->load_ns = rp_monotonic_ns() - begin;
	if (e->loaded < 0)
		return e->loaded;
	rp_prog_stats(e->loaded, &e->stats);
	return read_log(e);
}

/* ---- making it */

/* With a saved log nothing is asked of the kernel but what every user may read. */
static int make_from_file(struct explained *e)
{
	int err = log_of_file(e);

	if (err || !e->entry)
		return err;
	if (assemble(e))
		rp_log(RP_WARN, "%s cannot be assembled here: only what the log says is shown",
		       e->entry->code.name);
	else if (!log_fits(e)) {
		rp_log(RP_WARN,
		       "%s holds the log of another program than %s, or of another build: "
		       "only what it says is shown",
		       e->opt->kernel_log, e->entry->code.name);
		asm_image_free(&e->image);
		e->has_image = false;
	}
	return 0;
}

int explained_make(struct explained *e, const struct rp_program *entry,
		   const struct explain_options *opt)
{
	int err;

	*e = (struct explained){
		.opt = opt, .entry = entry, .loaded = -ENODATA, .broken_slot = -1
	};
	if (opt->kernel_log)
		return make_from_file(e);
	if (opt->lint)
		return assemble(e);
	if (!rp_cap_has(RP_CAP_BPF)) {
		rp_log(RP_WARN,
		       "what the verifier sees is not shown: %s; or give a saved log with "
		       "--kernel-log",
		       rp_cap_hint(RP_CAP_BPF));
		return assemble(e);
	}
	err = make_maps(e);
	if (!err)
		err = assemble(e);
	if (!err && !opt->broken)
		err = log_of_kernel(e);
	rp_btf_kernel_release();
	return err;
}

void explained_free(struct explained *e)
{
	if (e->loaded >= 0)
		close(e->loaded);
	if (e->fds)
		rp_fds_close(e->fds, e->entry->nmaps);
	free(e->fds);
	if (e->has_image)
		asm_image_free(&e->image);
	if (e->has_log)
		asm_vlog_free(&e->log);
	free(e->log_text);
	free(e->insns);
	free(e->xlated);
	free(e->jited);
}

/* ---- looking at it */

uint32_t explained_count(const struct explained *e)
{
	return e->has_image ? e->image.ninsns : e->log.ninsns;
}

static bool is_double(const struct explained *e, uint32_t slot)
{
	const uint8_t code = BPF_LD | BPF_IMM | BPF_DW;

	if (e->has_image)
		return e->image.insns[slot].code == code;
	return e->log.insns[slot].text && !strncmp(e->log.insns[slot].text, "(18)", 4);
}

uint32_t explained_slots(const struct explained *e, uint32_t slot)
{
	if (e->has_image)
		return is_double(e, slot) ? 2 : e->image.insns[slot].code != 0;
	return !e->log.insns[slot].text ? 0 : is_double(e, slot) ? 2 : 1;
}

void explained_disasm(const struct explained *e, uint32_t slot, char text[ASM_DISASM_SIZE])
{
	const struct asm_disasm_options options = asm_disasm_options(&e->image);

	if (e->has_image)
		asm_disasm(&options, e->image.insns, e->image.ninsns, slot, text, ASM_DISASM_SIZE);
	else
		snprintf(text, ASM_DISASM_SIZE, "%s", e->log.insns[slot].text);
}

/* "MAP_ADD(counts, KEY, ONE): CALL(map_lookup_elem)": where the macro ends. */
static void split_macro(struct explained_line *line)
{
	const char *colon = strstr(line->text, "): ");

	if (!colon)
		return;
	line->macro = line->text;
	line->macro_len = (size_t)(colon + 1 - line->text);
	line->text = colon + 3;
}

bool explained_line(const struct explained *e, uint32_t slot, struct explained_line *out)
{
	*out = (struct explained_line){ 0 };
	if (e->has_image) {
		out->file = e->image.file_of[slot];
		out->line = e->image.program->lines[e->image.line_of[slot]].line;
		out->text = e->image.text_of[slot];
	} else {
		out->file = e->log.insns[slot].file;
		out->line = e->log.insns[slot].line;
		out->text = e->log.insns[slot].source;
	}
	if (!out->text)
		return false;
	split_macro(out);
	return true;
}

void explained_name(const struct explained *e, uint32_t slot, char *text, size_t size)
{
	struct explained_line line;

	if (!explained_line(e, slot, &line))
		snprintf(text, size, "instruction %u", slot);
	else if (line.macro)
		snprintf(text, size, "%s:%u: %.*s: %s", line.file ? line.file : "", line.line,
			 (int)line.macro_len, line.macro, line.text);
	else
		snprintf(text, size, "%s:%u: %s", line.file ? line.file : "", line.line, line.text);
}

static const char *line_of(void *ctx, uint32_t insn)
{
	struct rp_prog prog;

	rp_prog_of_image(&((const struct explained *)ctx)->image, &prog);
	return prog.line(prog.line_ctx, insn);
}

int explained_refusal(const struct explained *e, struct asm_refusal *out)
{
	struct asm_refused refused = { .log = e->log_text };

	if (!e->log_text)
		return -ENOENT;
	if (e->has_image) {
		refused.insns = e->image.insns;
		refused.ninsns = e->image.ninsns;
		refused.line = line_of;
		refused.line_ctx = (void *)e;
	}
	return asm_refusal_explain(&refused, out);
}

const struct asm_vlog_insn *explained_met(const struct explained *e, uint32_t slot)
{
	if (!e->has_log || slot >= e->log.ninsns)
		return NULL;
	return e->log.insns[slot].visits || e->log.insns[slot].pruned ? &e->log.insns[slot] : NULL;
}

const char *explained_value(const struct asm_vlog_value *values, uint32_t n, int where)
{
	for (uint32_t i = 0; i < n; i++)
		if (values[i].where == where)
			return values[i].text;
	return NULL;
}
