/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A graph of calls as they come, as function_graph of ftrace has it: a call with others inside has
 * a line where it begins and one where it ends, with its time; one without has a single line. So
 * the beginning of a call waits until the thread's next event says which it is.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "func.h"

/* By thread: the last event, if it is a beginning that was not printed yet. */
struct waiting {
	uint64_t ids;
	uint64_t waits; /* or 0 */
	struct func_event event;
};

struct func_graph {
	struct hash_map threads;
};

#define MOST_INDENT 60

/* When and who; the column of the duration follows. */
static int put_head(struct recording *rec, const struct func_event *e)
{
	return rp_text_print(output_of(rec)->stream, "%12.6f %-16.16s %7u ",
			     func_seconds(rec, e->time), e->comm, (uint32_t)e->ids);
}

static int indent(const struct func_event *e)
{
	return 2 * (int)(e->depth < MOST_INDENT ? e->depth : MOST_INDENT);
}

static int put_begin(struct recording *rec, const struct func_event *e)
{
	FILE *out = output_of(rec)->stream;
	int err = put_head(rec, e);

	fprintf(out, "%13s | %*s", "", indent(e), "");
	if (!err)
		err = func_print_call(rec, e);
	fputs(" {\n", out);
	return err;
}

static int put_end(struct recording *rec, const struct func_event *e, bool leaf)
{
	FILE *out = output_of(rec)->stream;
	int err = put_head(rec, e);

	if (e->kind == FUNC_LEFT)
		fprintf(out, "%13s", "left");
	else
		func_print_time(out, e->ns);
	fprintf(out, " | %*s", indent(e), "");
	if (leaf && !err)
		err = func_print_call(rec, e);
	else if (!err)
		err = rp_text_print(out, "} /* %s */", func_name(rec->ctx, e->function));
	if (e->kind == FUNC_RETURNS)
		func_print_value(rec, e);
	fputs(leaf ? ";\n" : "\n", out);
	return err;
}

static int put_waiting(struct recording *rec, struct waiting *w)
{
	if (!w->waits)
		return 0;
	w->waits = 0;
	return put_begin(rec, &w->event);
}

int func_graph_event(struct recording *rec, const struct func_event *e)
{
	struct func *f = rec->ctx;
	struct waiting *w;
	bool leaf;
	int err;

	if (!f->graph) {
		f->graph = calloc(1, sizeof(*f->graph));
		if (!f->graph)
			return -ENOMEM;
		f->graph->threads = HASH_MAP(struct waiting, ids);
	}
	w = rp_hash_add(&f->graph->threads, &e->ids);
	if (!w)
		return -ENOMEM;
	leaf = w->waits && e->kind != FUNC_BEGINS && w->event.function == e->function &&
	       w->event.depth == e->depth;
	if (leaf)
		w->waits = 0;
	err = put_waiting(rec, w);
	if (err || e->kind != FUNC_BEGINS)
		return err ? err : put_end(rec, e, leaf);
	w->event = *e;
	w->waits = 1;
	return 0;
}

/* What had begun and not ended, in no order of time. */
int func_graph_end(struct recording *rec)
{
	struct func *f = rec->ctx;
	struct waiting *w = f->graph ? f->graph->threads.items : NULL;
	int err = 0;

	for (uint32_t i = 0; !err && f->graph && i < f->graph->threads.count; i++)
		err = put_waiting(rec, &w[i]);
	return err;
}

void func_graph_free(struct func_graph *graph)
{
	if (graph)
		rp_hash_free(&graph->threads);
	free(graph);
}
