/* SPDX-License-Identifier: BSD-2-Clause */
/* What frames and processes are called in the formats that merge them by name. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"

/* "[libfoo.so]"; "[vdso]" has its brackets already. */
static void name_by_module(struct buf *b, const struct report_frame *frame, bool address, char from)
{
	const char *base = "unknown";
	bool bracketed;

	if (frame->module && *frame->module)
		base = report_text_base(frame->module);
	else if (frame->kind == REPORT_KERNEL)
		base = "kernel";
	bracketed = *base == '[' && base[strlen(base) - 1] == ']';

	if (!bracketed)
		report_buf_puts(b, "[");
	report_buf_clean(b, base, from, ':');
	if (address && bracketed)
		report_buf_printf(b, "+0x%" PRIx64,
				  frame->module_addr ? frame->module_addr : frame->address);
	else if (address)
		report_buf_printf(b, "+0x%" PRIx64 "]",
				  frame->module_addr ? frame->module_addr : frame->address);
	else if (!bracketed)
		report_buf_puts(b, "]");
}

void report_name_frame(struct buf *b, const struct report_frame *frame,
		       const struct report_options *options, bool folded)
{
	static const char *const suffix[] = {
		[REPORT_USER] = "",	   [REPORT_KERNEL] = "_[k]", [REPORT_JIT] = "_[j]",
		[REPORT_INLINED] = "_[i]", [REPORT_MARK] = "",	     [REPORT_PYTHON] = "_[p]",
		[REPORT_JS] = "_[s]",	   [REPORT_JVM] = "_[J]",    [REPORT_PHP] = "_[h]",
		[REPORT_RUBY] = "_[r]",	   [REPORT_PERL] = "_[l]",
	};
	char from = folded ? ';' : 0;

	if (frame->name && *frame->name)
		report_buf_clean(b, frame->name, from, ':');
	else
		name_by_module(b, frame, options->addresses, from);
	if (options->annotate)
		report_buf_puts(b, suffix[frame->kind]);
}

void report_name_comm(struct buf *b, const char *comm, bool folded)
{
	size_t at = b->len;

	if (!comm || !*comm)
		comm = "[unknown]";
	report_buf_clean(b, comm, folded ? ';' : 0, ':');
	for (; folded && !b->err && at < b->len; at++)
		if (b->s[at] == ' ')
			b->s[at] = '_';
}

void report_add_label_value(struct buf *b, const struct report *r, const struct label *label,
			    char from)
{
	if (label->str)
		report_buf_clean(b, text(r, label->str), from, ':');
	else
		report_buf_printf(b, "%" PRId64, label->num);
}

struct report_frame report_frame_public(const struct report *r, uint32_t frame)
{
	const struct frame *f = frame_of(r, frame);
	const struct function *fn = function_of(r, f->function);
	const struct mapping *m = mapping_of(r, f->mapping);

	return (struct report_frame){
		.name = text(r, fn->name),
		.module = text(r, fn->path),
		.build_id = text(r, m->build_id),
		.address = f->address,
		.symbol_offset = f->symbol_offset,
		.map_start = m->start,
		.map_end = m->end,
		.map_offset = m->offset,
		.module_addr = f->module_addr,
		.file = text(r, f->file),
		.line = f->line,
		.kind = (enum report_frame_kind)fn->kind,
		.is_return = f->is_return,
	};
}

static int add_name(struct frame_names *n, const struct buf *b, uint32_t kind, uint32_t *id)
{
	struct name name = { .kind = kind };
	int err = b->err;

	if (!err)
		err = report_strings_add(&n->strings, b->s, &name.text);
	return err ? err : rp_hash_number(&n->pool, &name, id);
}

static int add_fixed(struct frame_names *n, struct buf *b, const char *s, uint32_t *id)
{
	report_buf_reset(b);
	report_buf_puts(b, s);
	return add_name(n, b, REPORT_MARK, id);
}

struct ranking {
	const struct frame_names *names;
	const uint32_t *text_rank;
};

static int by_text_and_kind(const void *a, const void *b, void *arg)
{
	const struct ranking *by = arg;
	const struct name *x = name_get(by->names, *(const uint32_t *)a);
	const struct name *y = name_get(by->names, *(const uint32_t *)b);

	if (x->text != y->text)
		return by->text_rank[x->text] < by->text_rank[y->text] ? -1 : 1;
	return x->kind < y->kind ? -1 : x->kind > y->kind;
}

static int rank_names(struct frame_names *n)
{
	struct ranking by = { .names = n, .text_rank = report_strings_rank(&n->strings) };
	uint32_t *sorted = malloc((n->pool.count + 1) * sizeof(*sorted));
	int err = -ENOMEM;

	n->rank = malloc((n->pool.count + 1) * sizeof(*n->rank));
	if (by.text_rank && sorted && n->rank) {
		for (uint32_t i = 0; i < n->pool.count; i++)
			sorted[i] = i;
		qsort_r(sorted, n->pool.count, sizeof(*sorted), by_text_and_kind, &by);
		for (uint32_t i = 0; i < n->pool.count; i++)
			n->rank[sorted[i]] = i;
		err = 0;
	}
	free((void *)by.text_rank);
	free(sorted);
	return err;
}

static int name_frames(const struct report *r, const struct report_options *options, bool folded,
		       struct frame_names *n, struct buf *b)
{
	int err = 0;

	for (uint32_t i = 0; i < r->frames.count && !err; i++) {
		struct report_frame frame = report_frame_public(r, i);

		report_buf_reset(b);
		report_name_frame(b, &frame, options, folded);
		err = add_name(n, b, frame.kind, &n->of_frame[i]);
	}
	return err;
}

static int name_comms(const struct report *r, bool folded, struct frame_names *n, struct buf *b)
{
	int err = 0;

	memset(n->of_comm, 0xff, r->strings.count * sizeof(*n->of_comm));
	for (uint32_t i = 0; i < r->samples.count && !err; i++) {
		uint32_t comm = sample_of(r, i)->comm;

		if (n->of_comm[comm] != NONE)
			continue;
		report_buf_reset(b);
		report_name_comm(b, text(r, comm), folded);
		err = add_name(n, b, KIND_COMM, &n->of_comm[comm]);
	}
	return err;
}

/* "[blocked]", "[4]" */
static int name_labels(const struct report *r, const char *key, bool folded, struct frame_names *n,
		       struct buf *b)
{
	int err = 0;

	n->of_labels = malloc(((size_t)r->label_sets.count + 1) * sizeof(*n->of_labels));
	if (!n->of_labels)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->label_sets.count && !err; i++) {
		const struct label *label = label_by_key(r, i, key);

		n->of_labels[i] = NONE;
		if (!label)
			continue;
		report_buf_reset(b);
		report_buf_puts(b, "[");
		report_add_label_value(b, r, label, folded ? ';' : 0);
		report_buf_puts(b, "]");
		err = add_name(n, b, KIND_LABEL, &n->of_labels[i]);
	}
	return err;
}

int report_names_make(const struct report *r, const struct report_options *options, bool folded,
		      struct frame_names *names)
{
	struct frame_names n = { .pool = HASH_SET(struct name), .delimiter = NONE };
	struct buf b = { 0 };
	int err = report_strings_init(&n.strings);

	n.of_frame = malloc((r->frames.count + 1) * sizeof(*n.of_frame));
	n.of_comm = malloc(r->strings.count * sizeof(*n.of_comm));
	if (!n.of_frame || !n.of_comm)
		err = -ENOMEM;
	if (!err)
		err = add_fixed(&n, &b, "[unknown]", &n.empty_stack);
	if (!err && options->delimiter)
		err = add_fixed(&n, &b, "-", &n.delimiter);
	if (!err)
		err = name_frames(r, options, folded, &n, &b);
	if (!err)
		err = name_comms(r, folded, &n, &b);
	if (!err && options->color_by_label)
		err = name_labels(r, options->color_by_label, folded, &n, &b);
	if (!err)
		err = rank_names(&n);
	report_buf_free(&b);
	if (err)
		report_names_free(&n);
	else
		*names = n;
	return err;
}

void report_names_free(struct frame_names *names)
{
	report_strings_free(&names->strings);
	rp_hash_free(&names->pool);
	free(names->of_frame);
	free(names->of_comm);
	free(names->of_labels);
	free(names->rank);
	*names = (struct frame_names){ 0 };
}
