/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One program, and the answers of several kernels: this one's, and those that were recorded as
 * DIRECTORY/KERNEL/PROGRAM.log, compressed or not (`make across`). Of each the totals; between one
 * kernel and the next what is other: the code, which is made for what a kernel can do; what the
 * verifier knows at an instruction; how often it went there.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <zlib.h>

#include "base/text.h"
#include "explain.h"
#include "record/confine.h"

enum { MAX_KERNELS = 16, MAX_SHOWN = 6 };

struct answer {
	char kernel[80];
	char *text;
	struct asm_vlog log;
};

struct answers {
	FILE *out;
	const struct explain_colors *c;
	struct answer all[MAX_KERNELS];
	uint32_t n;
};

/* ---- reading them */

/* The largest log of the kernel's is 16 MB; what is packed may be of any size. */
#define MOST_TEXT (64u << 20)

/* All of a file, "" of none; NULL without memory. */
static char *read_all(const char *path)
{
	size_t used = 0, capacity = 1 << 16;
	char *text = malloc(capacity), *bigger;
	gzFile in;
	int n = 0;

	record_read_as_user(true);
	in = gzopen(path, "rb");
	record_read_as_user(false);
	while (in && text && (n = gzread(in, text + used, (unsigned)(capacity - used - 1))) > 0) {
		used += (size_t)n;
		if (used > MOST_TEXT)
			break;
		if (capacity - used > 1)
			continue;
		bigger = realloc(text, capacity *= 2);
		if (!bigger) {
			free(text);
			text = NULL;
		} else {
			text = bigger;
		}
	}
	if (in)
		gzclose(in);
	if (text)
		text[used] = '\0';
	return text;
}

/* Takes the text. */
static int add_answer(struct answers *a, const char *kernel, char *text)
{
	struct answer *answer = &a->all[a->n];
	char *clean = text ? rp_text_lines(text) : NULL;
	int err;

	free(text);
	if (!clean)
		return -ENOMEM;
	*answer = (struct answer){ .text = clean };
	snprintf(answer->kernel, sizeof(answer->kernel), "%s", kernel);
	err = asm_vlog_parse(clean, &answer->log);
	if (err) {
		free(clean);
		return err;
	}
	a->n++;
	return 0;
}

static int add_recorded(struct answers *a, const char *directory, const char *kernel,
			const char *program)
{
	char path[1000];
	char *text;
	size_t i;

	snprintf(path, sizeof(path), "%s/%s/", directory, kernel);
	i = strlen(path);
	snprintf(path + i, sizeof(path) - i, "%s.log.gz", program);
	for (; path[i]; i++)
		path[i] = (char)(path[i] == '/' ? '_' : path[i]);
	text = read_all(path);
	if (text && !*text) {
		free(text);
		path[strlen(path) - 3] = '\0';
		text = read_all(path);
	}
	if (text && !*text) {
		free(text);
		return 0;
	}
	return add_answer(a, kernel, text);
}

static int is_name(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int read_answers(struct answers *a, const struct explained *e)
{
	const char *directory = e->opt->across;
	struct dirent **entries;
	struct utsname uts;
	int n, err = 0;

	record_read_as_user(true);
	n = scandir(directory, &entries, is_name, versionsort);
	record_read_as_user(false);
	if (n < 0)
		return rp_fail(-errno, "cannot read %s: %s", directory, strerror(errno));
	for (int i = 0; i < n; i++) {
		if (!err && a->n < MAX_KERNELS - 1)
			err = add_recorded(a, directory, entries[i]->d_name, e->entry->code.name);
		free(entries[i]);
	}
	free(entries);
	if (!err && !a->n)
		return rp_fail(-ENOENT, "%s has no KERNEL/%s.log: `make across` records them",
			       directory, e->entry->code.name);
	if (!err && e->log_text && !uname(&uts))
		err = add_answer(a, uts.release, strdup(e->log_text));
	return err;
}

/* ---- what is said of each */

static void put_totals(struct answers *a)
{
	fprintf(a->out, "\n  %-26s %-9s %9s %9s %9s\n", "kernel", "answer", "steps", "states",
		"in a seen");
	for (uint32_t i = 0; i < a->n; i++) {
		const struct asm_vlog *log = &a->all[i].log;
		uint64_t pruned = 0;

		for (uint32_t k = 0; k < log->ninsns; k++)
			pruned += log->insns[k].pruned;
		fprintf(a->out, "  %-26s %s%-9s%s %9" PRIu64 " %9" PRIu64 " %9" PRIu64 "\n",
			a->all[i].kernel, log->message ? a->c->warn : "",
			log->message ? "refused" : "accepted", a->c->off, log->processed,
			log->total_states, pruned);
		if (log->message)
			fprintf(a->out, "    says %.*s\n", (int)strcspn(log->message, "\n"),
				log->message);
	}
}

/* ---- what is other */

static void put_line(struct answers *a, const struct asm_vlog *log, uint32_t insn)
{
	const struct asm_vlog_insn *i = &log->insns[insn];

	fprintf(a->out, "  %5" PRIu32 "  %s%s%s\n", insn, a->c->source,
		i->source ? i->source : i->text, a->c->off);
}

static bool same_op(const struct asm_vlog_insn *x, const struct asm_vlog_insn *y)
{
	return !x->text || !y->text || !strncmp(x->text, y->text, 4);
}

/* False: it is not the same program, as it is built for each of the two. */
static bool compare_code(struct answers *a, const struct asm_vlog *x, const struct asm_vlog *y)
{
	for (uint32_t i = 0; i < x->ninsns && i < y->ninsns; i++) {
		if (same_op(&x->insns[i], &y->insns[i]))
			continue;
		fprintf(a->out, "  the code is other from here on: it is built for what the kernel "
				"can do and where its fields lie\n");
		put_line(a, x, i);
		put_line(a, y, i);
		return false;
	}
	return true;
}

/* Older kernels print a map's sizes, "map_value(ks=4,vs=8+16)", newer ones its name as well. */
static bool same_value(const char *a, const char *b)
{
	const char *p = strchr(a, '('), *q = strchr(b, '(');

	if (!strcmp(a, b))
		return true;
	if (!p || !q || p - a != q - b || memcmp(a, b, (size_t)(p - a)) != 0 ||
	    (strncmp(p, "(ks=", 4) && strncmp(q, "(ks=", 4)))
		return false;
	return !strcmp(p + strcspn(p, "+-)"), q + strcspn(q, "+-)"));
}

/* Both sides of a value that is known otherwise; "-": nothing was said of it. */
static uint32_t compare_values(struct answers *a, const struct asm_vlog *x,
			       const struct asm_vlog *y, uint32_t insn, bool show)
{
	const struct asm_vlog_insn *p = &x->insns[insn], *q = &y->insns[insn];
	uint32_t differ = 0;

	for (uint32_t i = 0; i < p->nafter; i++) {
		const char *is = p->after[i].text;
		const char *other = explained_value(q->after, q->nafter, p->after[i].where);

		if (!other || same_value(is, other))
			continue;
		if (show && !differ)
			put_line(a, x, insn);
		if (show)
			fprintf(a->out, "         %s%d is %s%s%s, then %s%s%s\n",
				p->after[i].where < 0 ? "fp" : "R", p->after[i].where, a->c->state,
				is, a->c->off, a->c->state, other, a->c->off);
		differ++;
	}
	return differ;
}

static uint32_t put_known(struct answers *a, const struct asm_vlog *x, const struct asm_vlog *y)
{
	uint32_t shown = 0, all = 0;

	for (uint32_t i = 0; i < x->ninsns && i < y->ninsns; i++) {
		if (!compare_values(a, x, y, i, false))
			continue;
		if (!all++)
			fprintf(a->out, "  other is known behind these instructions:\n");
		if (shown++ < MAX_SHOWN)
			compare_values(a, x, y, i, true);
	}
	if (all > MAX_SHOWN)
		fprintf(a->out, "         and behind %" PRIu32 " more\n", all - MAX_SHOWN);
	return all;
}

static uint32_t distance(const struct asm_vlog *x, const struct asm_vlog *y, uint32_t i)
{
	const uint32_t was = x->insns[i].visits, is = y->insns[i].visits;

	return was > is ? was - is : is - was;
}

/* Where it went more or less often, the most first. */
static uint32_t put_visits(struct answers *a, const struct asm_vlog *x, const struct asm_vlog *y)
{
	const uint32_t n = x->ninsns < y->ninsns ? x->ninsns : y->ninsns;
	uint32_t limit = UINT32_MAX, shown = 0;

	while (shown < MAX_SHOWN) {
		uint32_t most = 0;

		for (uint32_t i = 0; i < n; i++)
			if (distance(x, y, i) < limit && distance(x, y, i) > most)
				most = distance(x, y, i);
		if (!most)
			break;
		for (uint32_t i = 0; i < n && shown < MAX_SHOWN; i++) {
			if (distance(x, y, i) != most)
				continue;
			if (!shown++)
				fprintf(a->out, "  it went there more often, or less:\n");
			fprintf(a->out, "         x%" PRIu32 ", then x%" PRIu32, x->insns[i].visits,
				y->insns[i].visits);
			put_line(a, x->insns[i].text ? x : y, i);
		}
		limit = most;
	}
	return shown;
}

static void compare(struct answers *a, const struct answer *was, const struct answer *is)
{
	uint32_t known, visits;

	fprintf(a->out, "\n%s%s, then %s%s\n", a->c->label, was->kernel, is->kernel, a->c->off);
	if (!compare_code(a, &was->log, &is->log))
		return;
	known = put_known(a, &was->log, &is->log);
	visits = put_visits(a, &was->log, &is->log);
	if (visits && known)
		fprintf(a->out, "  why: more or less is known, and conditions are decided by it\n");
	else if (visits)
		fprintf(a->out, "  why: the same is known; what has to be exact, or is read later, "
				"is decided otherwise when states are compared\n");
	else if (!known)
		fprintf(a->out, "  the same, step for step\n");
}

int explain_across(FILE *out, const struct explained *e)
{
	struct answers a = { .out = out, .c = explain_colors(e) };
	int err = read_answers(&a, e);

	if (!err) {
		fprintf(out, "%s%s%s, and what %" PRIu32 " kernels say of it\n", a.c->label,
			e->entry->code.name, a.c->off, a.n);
		put_totals(&a);
		for (uint32_t i = 0; i + 1 < a.n; i++)
			compare(&a, &a.all[i], &a.all[i + 1]);
	}
	for (uint32_t i = 0; i < a.n; i++) {
		asm_vlog_free(&a.all[i].log);
		free(a.all[i].text);
	}
	return err;
}
