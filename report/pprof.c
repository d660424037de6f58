/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The profile as gzipped protobuf, proto/profile.proto of github.com/google/pprof.
 *
 * Stricter readers than `go tool pprof` are served too: ids of mappings, functions and locations
 * are 1, 2, 3… in the order of the file, and every label has a key. Samples are sorted by content;
 * locations and functions are numbered as they are first needed, mappings as well, but those of the
 * main binary come first.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "gzip.h"
#include "pprof_fields.h"
#include "proto.h"
#include "write.h"

/*
 * A location is one frame with what was inlined into it: a chain from the outermost to the
 * innermost frame. Chains share their inner ends; the id of the location is that of its outermost
 * link.
 */
struct link {
	uint32_t frame, inner; /* inner: another link, or NONE */
};
SET_ELEMENT(struct link, 2 * 4);

struct pprof_function {
	uint32_t name, file; /* in pprof.strings */
};
SET_ELEMENT(struct pprof_function, 2 * 4);

enum { KERNEL_MAPPING = -2u }; /* beside the profile's own mappings and NONE */

struct pprof {
	const struct report *r;
	struct report_options options;
	struct order order;
	struct out out;
	struct gzip gzip;
	struct strings strings; /* 0 is "", as the format wants it */
	struct hash_map links, functions;
	uint32_t *id_of_link, nlocations; /* location id from 1, 0: none yet */
	uint32_t *locations;		  /* link of location id - 1 */
	uint32_t locations_cap, ids_cap;
	uint32_t *mappings, nmappings, mappings_cap; /* the profile's, in the order of their ids */
	struct buf message, part, scratch;
	int err; /* the first failure that is not the stream's */
};

static void fail(struct pprof *p, int err)
{
	if (!p->err)
		p->err = err;
}

/* The index of a text in the string table, which holds nothing but UTF-8. */
static uint64_t string_id(struct pprof *p, const char *s)
{
	uint32_t id = 0;

	if (!s || !*s)
		return 0;
	report_buf_reset(&p->scratch);
	report_buf_clean(&p->scratch, s, 0, 0);
	fail(p, p->scratch.err);
	if (!p->err)
		fail(p, report_strings_add(&p->strings, p->scratch.s, &id));
	return id;
}

/* Sends a part of the top-level message. */
static void send(struct pprof *p, unsigned int field, const struct buf *message)
{
	report_buf_reset(&p->scratch);
	report_proto_add_message(&p->scratch, field, message);
	fail(p, p->scratch.err);
	if (!p->err)
		report_gzip_write(&p->gzip, p->scratch.s, p->scratch.len);
}

static void send_value_type(struct pprof *p, unsigned int field, const char *type, const char *unit)
{
	report_buf_reset(&p->message);
	report_proto_add_uint(&p->message, VALUE_TYPE_TYPE, string_id(p, type));
	report_proto_add_uint(&p->message, VALUE_TYPE_UNIT, string_id(p, unit));
	send(p, field, &p->message);
}

static uint64_t location_id(struct pprof *p, uint32_t link)
{
	if (link >= p->ids_cap) {
		uint32_t had = p->ids_cap;

		fail(p, RP_GROW(p->id_of_link, link, p->ids_cap));
		if (p->err)
			return 0;
		memset(p->id_of_link + had, 0, (p->ids_cap - had) * sizeof(*p->id_of_link));
	}
	if (!p->id_of_link[link]) {
		fail(p, RP_GROW(p->locations, p->nlocations, p->locations_cap));
		if (p->err)
			return 0;
		p->locations[p->nlocations] = link;
		p->id_of_link[link] = ++p->nlocations;
	}
	return p->id_of_link[link];
}

static bool inlined_into(const struct report *r, const struct frame *inner,
			 const struct frame *outer)
{
	return function_of(r, inner->function)->kind == REPORT_INLINED &&
	       inner->address == outer->address;
}

/* Appends the location ids of a stack, leaf first. */
static void add_locations(struct pprof *p, struct buf *b, uint32_t node)
{
	const struct report *r = p->r;
	struct link link = { .inner = NONE };

	for (; node && !p->err; node = r->nodes[node].parent) {
		uint32_t caller = r->nodes[node].parent, id;

		link.frame = r->nodes[node].frame;
		fail(p, rp_hash_number(&p->links, &link, &id));
		if (p->err)
			return;
		if (caller &&
		    inlined_into(r, frame_of(r, link.frame), frame_of(r, r->nodes[caller].frame))) {
			link.inner = id;
			continue;
		}
		report_proto_add_varint(b, location_id(p, id));
		link.inner = NONE;
	}
}

static void asm_add_label(struct pprof *p, const char *key, const char *str, int64_t num,
			  const char *unit)
{
	report_buf_reset(&p->part);
	report_proto_add_uint(&p->part, LABEL_KEY, string_id(p, key));
	if (str)
		report_proto_add_uint(&p->part, LABEL_STR, string_id(p, str));
	else
		report_proto_add_uint(&p->part, LABEL_NUM, (uint64_t)num);
	if (!str && unit)
		report_proto_add_uint(&p->part, LABEL_NUM_UNIT, string_id(p, unit));
	report_proto_add_message(&p->message, SAMPLE_LABEL, &p->part);
}

static void send_sample(struct pprof *p, uint32_t sample)
{
	const struct report *r = p->r;
	const struct sample *s = sample_of(r, sample);
	const struct label_set *set = labels_of(r, s->label_set);

	report_buf_reset(&p->message);
	report_buf_reset(&p->part);
	add_locations(p, &p->part, s->node);
	report_proto_add_message(&p->message, SAMPLE_LOCATION_ID, &p->part);
	report_buf_reset(&p->part);
	for (size_t i = 0; i < r->ntypes; i++) {
		uint64_t v = value_of(r, sample, i);

		report_proto_add_varint(&p->part,
					v > INT64_MAX ? INT64_MAX : v); /* the field is signed */
	}
	report_proto_add_message(&p->message, SAMPLE_VALUE, &p->part);
	if (s->comm)
		asm_add_label(p, "comm", text(r, s->comm), 0, NULL);
	if (!r->without_pids)
		asm_add_label(p, "pid", NULL, s->pid, NULL);
	if (s->tid)
		asm_add_label(p, "tid", NULL, s->tid, NULL);
	for (uint64_t i = 0; i < set->count; i++)
		asm_add_label(p, text(r, set->labels[i].key), text(r, set->labels[i].str),
			      set->labels[i].num, text(r, set->labels[i].unit));
	send(p, PROFILE_SAMPLE, &p->message);
}

/* The mapping that a frame's location is in; the kernel is one, whatever its modules are called. */
static uint32_t frame_mapping(const struct report *r, const struct frame *f)
{
	const struct mapping *m = mapping_of(r, f->mapping);

	if (function_of(r, f->function)->kind == REPORT_KERNEL)
		return KERNEL_MAPPING;
	return m->path || m->start || m->end ? f->mapping : NONE;
}

/* What is known of a mapping besides its file: gathered from the locations in it. */
struct mapping_facts {
	uint32_t id; /* 0: no location is in it */
	bool functions, files, lines, inlined;
};

static void gather_facts(const struct report *r, const struct pprof *p, uint32_t link,
			 struct mapping_facts *facts)
{
	for (; link != NONE; link = ((const struct link *)p->links.items)[link].inner) {
		const struct frame *f =
			frame_of(r, ((const struct link *)p->links.items)[link].frame);
		const struct function *fn = function_of(r, f->function);

		facts->functions |= fn->name != 0;
		facts->files |= f->file != 0;
		facts->lines |= f->line != 0;
		facts->inlined |= fn->kind == REPORT_INLINED;
	}
}

static const struct frame *location_frame(const struct pprof *p, uint32_t location)
{
	const struct link *link = (const struct link *)p->links.items + p->locations[location];

	return frame_of(p->r, link->frame);
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The main program may have been given as a shell takes it: "./prog", or found in PATH. */
static bool is_main(const struct report *r, const char *path)
{
	const char *name = r->meta.info.main_module;

	return path && name && *path != '[' && !strcmp(file_name(path), file_name(name));
}

enum { ROUNDS = 4 };

/* The round of number_mappings() that gives an id: main program, files, "[vdso]", kernel. */
static int mapping_round(const struct report *r, uint32_t mapping)
{
	const char *path;

	if (mapping == KERNEL_MAPPING)
		return 3;
	path = text(r, mapping_of(r, mapping)->path);
	return is_main(r, path) ? 0 : path && *path == '[' ? 2 : 1;
}

/* facts has one element for each mapping of the profile, and a last one for the kernel's. */
static struct mapping_facts *facts_of(const struct report *r, struct mapping_facts *facts,
				      uint32_t mapping)
{
	return &facts[mapping == KERNEL_MAPPING ? r->mappings.count : mapping];
}

static void number_mappings(struct pprof *p, struct mapping_facts *facts)
{
	for (int round = 0; round < ROUNDS; round++) {
		for (uint32_t i = 0; i < p->nlocations && !p->err; i++) {
			uint32_t mapping = frame_mapping(p->r, location_frame(p, i));
			struct mapping_facts *f;

			if (mapping == NONE || mapping_round(p->r, mapping) != round)
				continue;
			f = facts_of(p->r, facts, mapping);
			gather_facts(p->r, p, p->locations[i], f);
			if (f->id)
				continue;
			fail(p, RP_GROW(p->mappings, p->nmappings, p->mappings_cap));
			if (p->err)
				return;
			p->mappings[p->nmappings] = mapping;
			f->id = ++p->nmappings;
		}
	}
}

/* From the first to the last kernel address of the profile, in pages. */
static struct mapping kernel_mapping(const struct pprof *p)
{
	struct mapping m = { .start = UINT64_MAX };

	for (uint32_t i = 0; i < p->nlocations; i++) {
		const struct frame *f = location_frame(p, i);

		if (frame_mapping(p->r, f) != KERNEL_MAPPING)
			continue;
		if (f->address < m.start)
			m.start = f->address;
		if (f->address > m.end)
			m.end = f->address;
	}
	m.start &= ~4095ull;
	m.end |= 4095; /* the last byte: one more may not fit into 64 bits */
	return m;
}

static void send_mapping(struct pprof *p, uint32_t mapping, const struct mapping_facts *facts)
{
	bool kernel = mapping == KERNEL_MAPPING;
	struct mapping m = kernel ? kernel_mapping(p) : *mapping_of(p->r, mapping);
	const char *path = kernel ? "[kernel.kallsyms]" : text(p->r, m.path);
	const char *build_id = kernel ? p->r->meta.info.kernel_build_id : text(p->r, m.build_id);
	struct buf *b = &p->message;

	report_buf_reset(b);
	report_proto_add_uint(b, MAPPING_ID, facts->id);
	report_proto_add_uint(b, MAPPING_MEMORY_START, m.start);
	report_proto_add_uint(b, MAPPING_MEMORY_LIMIT, m.end);
	report_proto_add_uint(b, MAPPING_FILE_OFFSET, m.offset);
	report_proto_add_uint(b, MAPPING_FILENAME, string_id(p, path));
	report_proto_add_uint(b, MAPPING_BUILD_ID, string_id(p, build_id));
	report_proto_add_uint(b, MAPPING_HAS_FUNCTIONS, facts->functions);
	report_proto_add_uint(b, MAPPING_HAS_FILENAMES, facts->files);
	report_proto_add_uint(b, MAPPING_HAS_LINE_NUMBERS, facts->lines);
	report_proto_add_uint(b, MAPPING_HAS_INLINE_FRAMES, facts->inlined);
	send(p, PROFILE_MAPPING, b);
}

/*
 * NULL: none, for a reader who may have the symbols of its file. Where there is no file nobody has
 * any, and servers leave out frames without a function, and samples that have no others.
 */
static const char *name_of(const struct report *r, const struct frame *f, uint32_t mapping)
{
	const char *name = text(r, function_of(r, f->function)->name), *path;

	if (name && *name)
		return name;
	if (mapping == NONE)
		return "[unknown]";
	path = mapping == KERNEL_MAPPING ? NULL : text(r, mapping_of(r, mapping)->path);
	return path && *path == '[' ? path : NULL;
}

static void add_line(struct pprof *p, const struct frame *f, uint32_t mapping)
{
	const char *name = name_of(p->r, f, mapping);
	struct pprof_function fn;
	uint32_t id;

	if (!name)
		return;
	fn.name = (uint32_t)string_id(p, name);
	fn.file = (uint32_t)string_id(p, text(p->r, f->file));
	fail(p, p->err ? 0 : rp_hash_number(&p->functions, &fn, &id));
	if (p->err)
		return;
	report_buf_reset(&p->part);
	report_proto_add_uint(&p->part, LINE_FUNCTION_ID, (uint64_t)id + 1);
	report_proto_add_uint(&p->part, LINE_LINE, f->line);
	report_proto_add_message(&p->message, LOCATION_LINE, &p->part);
}

static void send_location(struct pprof *p, uint32_t location, struct mapping_facts *facts)
{
	uint32_t link = p->locations[location], chain[REPORT_MAX_STACK], n = 0;
	const struct frame *outer = location_frame(p, location);
	uint32_t mapping = frame_mapping(p->r, outer);
	uint64_t address = outer->address;

	report_buf_reset(&p->message);
	report_proto_add_uint(&p->message, LOCATION_ID, (uint64_t)location + 1);
	if (mapping != NONE)
		report_proto_add_uint(&p->message, LOCATION_MAPPING_ID,
				      facts_of(p->r, facts, mapping)->id);
	report_proto_add_uint(&p->message, LOCATION_ADDRESS,
			      address - (outer->is_return && address));
	for (; link != NONE; link = ((const struct link *)p->links.items)[link].inner)
		chain[n++] = ((const struct link *)p->links.items)[link].frame;
	while (n--)
		add_line(p, frame_of(p->r, chain[n]), mapping);
	send(p, PROFILE_LOCATION, &p->message);
}

static void send_tables(struct pprof *p)
{
	struct mapping_facts *facts = calloc((size_t)p->r->mappings.count + 1, sizeof(*facts));

	if (!facts) {
		fail(p, -ENOMEM);
		return;
	}
	number_mappings(p, facts);
	for (uint32_t i = 0; i < p->nmappings && !p->err; i++)
		send_mapping(p, p->mappings[i], facts_of(p->r, facts, p->mappings[i]));
	for (uint32_t i = 0; i < p->nlocations && !p->err; i++)
		send_location(p, i, facts);
	for (uint32_t i = 0; i < p->functions.count && !p->err; i++) {
		const struct pprof_function *fn =
			(const struct pprof_function *)p->functions.items + i;

		report_buf_reset(&p->message);
		report_proto_add_uint(&p->message, FUNCTION_ID, (uint64_t)i + 1);
		report_proto_add_uint(&p->message, FUNCTION_NAME, fn->name);
		report_proto_add_uint(&p->message, FUNCTION_SYSTEM_NAME, fn->name);
		report_proto_add_uint(&p->message, FUNCTION_FILENAME, fn->file);
		send(p, PROFILE_FUNCTION, &p->message);
	}
	free(facts);
}

/* What was profiled and the ledger, for `pprof -comments`: a line is a comment. */
static void add_comments(struct pprof *p)
{
	const struct report *r = p->r;
	struct buf lines = { 0 };
	char *rest, *line;

	report_add_title(&lines, &r->meta.info);
	report_buf_puts(&lines, "\n");
	report_add_profile_circumstances(&lines, r);
	report_buf_puts(&lines, "\n");
	if (r->meta.info.host || r->meta.info.kernel) {
		report_buf_clean(&lines, r->meta.info.host ? r->meta.info.host : "", 0, 0);
		report_buf_puts(&lines, r->meta.info.kernel ? " Linux " : "");
		report_buf_clean(&lines, r->meta.info.kernel ? r->meta.info.kernel : "", 0, 0);
		report_buf_puts(&lines, "\n");
	}
	if (r->meta.has_ledger)
		report_add_ledger(&lines, &r->meta.ledger, text(r, r->types[0].type));
	fail(p, lines.err);
	for (rest = lines.s; !p->err && (line = strsep(&rest, "\n")) && *line;)
		report_proto_add_uint(&p->message, PROFILE_COMMENT, string_id(p, line));
	report_buf_free(&lines);
}

/* What is not sampled stands for itself, as in Go's own profiles: without it Parca fails. */
static void send_period(struct pprof *p)
{
	const struct report *r = p->r;
	const struct report_info *info = &r->meta.info;
	const bool is_sampled = info->period_type.type && info->period_type.unit;

	if (is_sampled)
		send_value_type(p, PROFILE_PERIOD_TYPE, info->period_type.type,
				info->period_type.unit);
	else if (r->ntypes)
		send_value_type(p, PROFILE_PERIOD_TYPE, text(r, r->types[0].type),
				text(r, r->types[0].unit));
	report_buf_reset(&p->message);
	report_proto_add_uint(&p->message, PROFILE_PERIOD, is_sampled ? info->period : 1);
}

static void send_head(struct pprof *p)
{
	const struct report *r = p->r;
	const struct report_info *info = &r->meta.info;

	for (size_t i = 0; i < r->ntypes; i++)
		send_value_type(p, PROFILE_SAMPLE_TYPE, text(r, r->types[i].type),
				text(r, r->types[i].unit));
	send_period(p);
	report_proto_add_uint(&p->message, PROFILE_TIME_NANOS, info->start_ns);
	report_proto_add_uint(&p->message, PROFILE_DURATION_NANOS, info->duration_ns);
	report_proto_add_uint(&p->message, PROFILE_DEFAULT_SAMPLE_TYPE,
			      string_id(p, text(r, r->types[p->options.weight].type)));
	add_comments(p);
	fail(p, p->message.err);
	if (!p->err)
		report_gzip_write(&p->gzip, p->message.s, p->message.len);
}

static void send_strings(struct pprof *p)
{
	for (uint32_t i = 0; i < p->strings.count && !p->err; i++) {
		const char *s = i ? strings_get(&p->strings, i) : "";

		report_buf_reset(&p->message);
		report_buf_puts(&p->message, s);
		send(p, PROFILE_STRING_TABLE, &p->message);
	}
}

static void pprof_free(struct pprof *p)
{
	report_order_free(&p->order);
	report_strings_free(&p->strings);
	rp_hash_free(&p->links);
	rp_hash_free(&p->functions);
	free(p->id_of_link);
	free(p->locations);
	free(p->mappings);
	report_buf_free(&p->message);
	report_buf_free(&p->part);
	report_buf_free(&p->scratch);
	free(p);
}

int report_write_pprof(const struct report *r, FILE *file, const struct report_options *options)
{
	struct pprof *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return -ENOMEM;
	p->r = r;
	p->links = HASH_SET(struct link);
	p->functions = HASH_SET(struct pprof_function);
	p->out.file = file;
	err = report_options_resolve(r, options, &p->options);
	if (!err)
		err = report_strings_init(&p->strings);
	if (!err)
		err = report_order_make(r, true, &p->order);
	if (!err)
		err = report_gzip_begin(&p->gzip, &p->out);
	if (!err) {
		send_head(p);
		for (uint32_t i = 0; i < r->samples.count && !p->err; i++)
			send_sample(p, p->order.samples[i]);
		send_tables(p);
		send_strings(p);
		report_gzip_end(&p->gzip);
		err = p->err ? p->err : report_out_end(&p->out);
	}
	pprof_free(p);
	return err;
}
