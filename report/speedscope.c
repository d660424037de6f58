/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * "sampled" profiles of speedscope's file format (src/lib/file-format-spec.ts of
 * github.com/jlfwong/speedscope), one for each value type, so that the viewer can switch between
 * them. Stacks are root first and begin with the process's name.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "write.h"

/* The viewer knows the units of time and bytes; everything else is "none". */
static const char *viewer_unit(const char *unit)
{
	static const char *const known[] = { "nanoseconds", "microseconds", "milliseconds",
					     "seconds", "bytes" };

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(unit, known[i]))
			return unit;
	return "none";
}

/* File and line of a name are those of its first frame in content order that has any. */
static void put_place(struct out *o, const struct report *r, uint32_t frame)
{
	const struct frame *f = frame_of(r, frame);
	const char *file = text(r, f->file), *path = text(r, function_of(r, f->function)->path);

	if (!file && !path)
		return;
	report_out_puts(o, ",\"file\":");
	report_out_json(o, file ? file : path);
	if (file && f->line) {
		report_out_puts(o, ",\"line\":");
		report_out_u64(o, f->line);
	}
}

/* first[name] = the frame to take file and line from, NONE: none (a comm). */
static void find_places(const struct report *r, const struct frame_names *names,
			const struct order *order, uint32_t *first)
{
	memset(first, 0xff, names->pool.count * sizeof(*first));
	for (uint32_t i = 0; i < r->frames.count; i++) {
		uint32_t *at = &first[names->of_frame[i]];
		bool better = *at != NONE && !frame_of(r, *at)->file && frame_of(r, i)->file;

		if (*at != NONE && !frame_of(r, i)->file && frame_of(r, *at)->file)
			continue;
		if (*at == NONE || better || order->frames[i] < order->frames[*at])
			*at = i;
	}
}

/* number[name] = its index in the file: the names that occur in stacks, in their order; others
 * NONE. by_rank is room for as many. */
static uint32_t number_names(const struct report *r, const struct frame_names *names,
			     uint32_t *by_rank, uint32_t *number)
{
	uint32_t n = 0;

	memset(number, 0xff, names->pool.count * sizeof(*number));
	for (uint32_t i = 1; i < r->nnodes; i++)
		number[names->of_frame[r->nodes[i].frame]] = 0;
	for (uint32_t i = 0; i < r->samples.count; i++) {
		number[names->of_comm[sample_of(r, i)->comm]] = 0;
		if (!sample_of(r, i)->node)
			number[names->empty_stack] = 0;
	}
	for (uint32_t i = 0; i < names->pool.count; i++)
		by_rank[names->rank[i]] = i;
	for (uint32_t i = 0; i < names->pool.count; i++) {
		uint32_t name = by_rank[i];

		if (number[name] == NONE)
			continue;
		by_rank[n] = name;
		number[name] = n++;
	}
	return n;
}

static void put_stack(struct out *o, const struct tree *t, const uint32_t *number, uint32_t leaf)
{
	uint32_t path[2 * REPORT_MAX_STACK + 2], depth = 0;

	for (uint32_t at = leaf; at; at = t->nodes[at].parent)
		path[depth++] = t->nodes[at].key;
	report_out_putc(o, '[');
	while (depth--) {
		report_out_u64(o, number[path[depth]]);
		report_out_puts(o, depth ? "," : "]");
	}
}

static void put_profile(struct out *o, const struct report *r, const struct tree *t,
			const uint32_t *number, unsigned int type)
{
	unsigned int depth = 0;
	const char *comma = "";

	report_out_puts(o, "{\"type\":\"sampled\",\"name\":");
	report_out_json(o, text(r, r->types[type].type));
	report_out_printf(o, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":",
			  viewer_unit(text(r, r->types[type].unit)));
	report_out_u64(o, t->links[0].total);
	report_out_puts(o, ",\n\"samples\":[");
	for (uint32_t at = 0; (at = report_tree_next(t, at, &depth));) {
		if (!t->nodes[at].self)
			continue;
		report_out_puts(o, comma);
		put_stack(o, t, number, at);
		comma = ",\n";
	}
	report_out_puts(o, "],\n\"weights\":[");
	comma = "";
	for (uint32_t at = 0; (at = report_tree_next(t, at, &depth));) {
		if (!t->nodes[at].self)
			continue;
		report_out_puts(o, comma);
		report_out_u64(o, t->nodes[at].self);
		comma = ",";
	}
	report_out_puts(o, "]}");
}

static void put_frames(struct out *o, const struct report *r, const struct frame_names *names,
		       const uint32_t *used, uint32_t n, const uint32_t *first)
{
	report_out_puts(o, "\"shared\":{\"frames\":[");
	for (uint32_t i = 0; i < n; i++) {
		report_out_puts(o, i ? ",\n{\"name\":" : "\n{\"name\":");
		report_out_json(o, name_text(names, used[i]));
		if (first[used[i]] != NONE)
			put_place(o, r, first[used[i]]);
		report_out_putc(o, '}');
	}
	report_out_puts(o, "]}");
}

static void put_file_head(struct out *o, const struct report *r, unsigned int active)
{
	struct buf title = { 0 };

	report_add_title(&title, &r->meta.info);
	report_out_puts(o, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
			   "\"exporter\":\"rawprof\",\"name\":");
	report_out_json(o, title.err ? "rawprof" : title.s);
	report_out_printf(o, ",\"activeProfileIndex\":%u,\n", active);
	report_buf_free(&title);
}

int report_write_speedscope(const struct report *r, FILE *file, const struct report_options *given)
{
	struct report_options options;
	struct out o = { .file = file };
	struct frame_names names = { 0 };
	struct order order = { 0 };
	uint32_t *tables = NULL, count;
	int err = report_options_resolve(r, given, &options);

	options.reverse = false;
	if (!err)
		err = report_names_make(r, &options, false, &names);
	if (!err)
		err = report_order_make(r, true, &order);
	if (!err && !(tables = malloc(3 * ((size_t)names.pool.count + 1) * sizeof(*tables))))
		err = -ENOMEM;
	if (!err) {
		uint32_t *first = tables, *used = first + names.pool.count;
		uint32_t *number = used + names.pool.count;

		count = number_names(r, &names, used, number);
		find_places(r, &names, &order, first);
		put_file_head(&o, r, options.weight);
		put_frames(&o, r, &names, used, count, first);
		report_out_puts(&o, ",\n\"profiles\":[");
		for (options.weight = 0; options.weight < r->ntypes && !err; options.weight++) {
			struct tree tree = { 0 };

			err = report_tree_by_name(r, &names, &options, &tree);
			report_out_puts(&o, options.weight ? ",\n" : "\n");
			if (!err)
				put_profile(&o, r, &tree, number, options.weight);
			report_tree_free(&tree);
		}
		report_out_puts(&o, "]}\n");
	}
	free(tables);
	report_order_free(&order);
	report_names_free(&names);
	return err ? err : report_out_end(&o);
}
