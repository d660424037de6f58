/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Profiles of OpenTelemetry, as opentelemetry-proto 1.9 and 1.10 have them in the package
 * profiles.v1development: the same bytes are ProfilesData, for files, and an
 * ExportProfilesServiceRequest. The format is not final; what changes in it changes here.
 *
 * All profiles share one dictionary of tables. An entry is kept as it is written, so equal ones are
 * one; entry 0 of each table is the empty one. A profile has one type of values, so a report is as
 * many profiles as it has types.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "otlp_fields.h"
#include "proto.h"
#include "write.h"

/* Messages, or texts, by number. */
struct table {
	char *bytes;
	uint32_t *end; /* of entry number i */
	uint32_t n, ends_cap;
	size_t have, capacity;
	struct hash_index index;
};

struct otlp {
	struct out out;
	struct table tables[DICTIONARY_TABLES];
	struct buf resource, scope, profile, sample, entry, part, scratch;
	/* of the report that is written: its frames' locations, 0 where there is none yet */
	const struct report *r;
	uint32_t *location_of;
	int err; /* the first failure that is not the stream's */
};

static void fail(struct otlp *o, int err)
{
	if (!o->err)
		o->err = err;
}

/* ---- the dictionary */

static const char *entry_at(const struct table *t, uint32_t i, size_t *n)
{
	const uint32_t begin = i ? t->end[i - 1] : 0;

	*n = t->end[i] - begin;
	return t->bytes + begin;
}

static int table_put(struct table *t, const char *bytes, size_t n)
{
	int err = t->have + n > UINT32_MAX ? -EOVERFLOW : 0;

	if (!err)
		err = RP_GROW_TO(t->bytes, t->have + n + 1, t->capacity);
	if (!err)
		err = RP_GROW(t->end, t->n, t->ends_cap);
	if (err)
		return err;
	if (n)
		memcpy(t->bytes + t->have, bytes, n);
	t->have += n;
	t->end[t->n++] = (uint32_t)t->have;
	return 0;
}

static uint32_t number_of(struct otlp *o, enum otlp_table table, const char *bytes, size_t n)
{
	struct table *t = &o->tables[table];
	const uint32_t hash = rp_hash_bytes(bytes, n);
	uint32_t at = hash, found;
	size_t size;

	fail(o, rp_index_reserve(&t->index));
	if (o->err)
		return 0;
	while ((found = rp_index_next(&t->index, hash, &at)) != HASH_NONE) {
		const char *had = entry_at(t, found, &size);

		if (size == n && !memcmp(had, bytes, n))
			return found;
	}
	fail(o, table_put(t, bytes, n));
	if (o->err)
		return 0;
	rp_index_put(&t->index, hash, t->n - 1);
	return t->n - 1;
}

static uint32_t entry(struct otlp *o, enum otlp_table table, const struct buf *message)
{
	fail(o, message->err);
	return o->err || !message->len ? 0 : number_of(o, table, message->s, message->len);
}

static uint32_t string(struct otlp *o, const char *s)
{
	if (!s || !*s)
		return 0;
	report_buf_reset(&o->scratch);
	report_buf_clean(&o->scratch, s, 0, 0);
	return entry(o, DICTIONARY_STRINGS, &o->scratch);
}

static uint32_t attribute(struct otlp *o, const char *key, const char *str, int64_t num,
			  const char *unit)
{
	struct buf value = { 0 };
	uint32_t id;

	if (str) {
		report_buf_reset(&o->scratch);
		report_buf_clean(&o->scratch, str, 0, 0);
		report_proto_add_message(&value, ANY_STRING, &o->scratch);
	} else {
		report_proto_add_value(&value, ANY_INT, (uint64_t)num);
	}
	report_buf_reset(&o->entry);
	report_proto_add_uint(&o->entry, ATTRIBUTE_KEY, string(o, key));
	report_proto_add_message(&o->entry, ATTRIBUTE_VALUE, &value);
	report_proto_add_uint(&o->entry, ATTRIBUTE_UNIT, string(o, unit));
	id = entry(o, DICTIONARY_ATTRIBUTES, &o->entry);
	report_buf_free(&value);
	return id;
}

/* A field of one number that stands for a list of them. */
static void add_one(struct buf *b, unsigned int field, uint64_t number)
{
	unsigned char bytes[VARINT_MAX];

	report_proto_add_bytes(b, field, bytes, report_proto_varint(bytes, number));
}

/* ---- stacks */

static const char *frame_type(enum report_frame_kind kind)
{
	switch (kind) {
	case REPORT_KERNEL:
		return "kernel";
	case REPORT_PYTHON:
		return "cpython";
	case REPORT_JS:
		return "v8js";
	case REPORT_JVM:
		return "jvm";
	case REPORT_USER:
	case REPORT_INLINED:
		return "native";
	default:
		return NULL;
	}
}

static uint32_t mapping(struct otlp *o, const struct frame *f)
{
	const struct report *r = o->r;
	const bool kernel = function_of(r, f->function)->kind == REPORT_KERNEL;
	const struct mapping m = kernel ? (struct mapping){ 0 } : *mapping_of(r, f->mapping);
	const char *path = kernel ? "[kernel.kallsyms]" : text(r, m.path);
	const char *id = kernel ? r->meta.info.kernel_build_id : text(r, m.build_id);
	uint32_t build_id;

	if (!path && !m.start && !m.end)
		return 0;
	build_id = id ? attribute(o, "process.executable.build_id.gnu", id, 0, NULL) : 0;
	report_buf_reset(&o->entry);
	report_proto_add_uint(&o->entry, MAPPING_START, m.start);
	report_proto_add_uint(&o->entry, MAPPING_LIMIT, m.end);
	report_proto_add_uint(&o->entry, MAPPING_OFFSET, m.offset);
	report_proto_add_uint(&o->entry, MAPPING_FILENAME, string(o, path));
	if (build_id)
		add_one(&o->entry, MAPPING_ATTRIBUTES, build_id);
	return entry(o, DICTIONARY_MAPPINGS, &o->entry);
}

static void add_line(struct otlp *o, struct buf *location, const struct frame *f)
{
	const char *name = text(o->r, function_of(o->r, f->function)->name);
	uint32_t function;

	if (!name || !*name)
		return;
	report_buf_reset(&o->entry);
	report_proto_add_uint(&o->entry, FUNCTION_NAME, string(o, name));
	report_proto_add_uint(&o->entry, FUNCTION_SYSTEM_NAME, string(o, name));
	report_proto_add_uint(&o->entry, FUNCTION_FILENAME, string(o, text(o->r, f->file)));
	function = entry(o, DICTIONARY_FUNCTIONS, &o->entry);
	report_buf_reset(&o->entry);
	report_proto_add_uint(&o->entry, LINE_FUNCTION, function);
	report_proto_add_uint(&o->entry, LINE_LINE, f->line);
	report_proto_add_message(location, LOCATION_LINES, &o->entry);
}

static bool inlined_into(const struct report *r, const struct frame *inner,
			 const struct frame *outer)
{
	return function_of(r, inner->function)->kind == REPORT_INLINED &&
	       inner->address == outer->address;
}

/* Of the frame at *node with what it was inlined into, which are passed over. */
static uint32_t location(struct otlp *o, uint32_t *node)
{
	const struct report *r = o->r;
	const uint32_t first = r->nodes[*node].frame;
	const struct frame *f = frame_of(r, first);
	const char *type = frame_type((enum report_frame_kind)function_of(r, f->function)->kind);
	struct buf message = { 0 };
	bool alone = true;
	uint32_t id, attr;

	if (o->location_of[first]) {
		*node = r->nodes[*node].parent;
		return o->location_of[first];
	}
	for (;;) {
		const uint32_t caller = r->nodes[*node].parent;

		add_line(o, &message, f);
		*node = caller;
		if (!caller || !inlined_into(r, f, frame_of(r, r->nodes[caller].frame)))
			break;
		f = frame_of(r, r->nodes[caller].frame);
		alone = false;
	}
	report_proto_add_uint(&message, LOCATION_MAPPING, mapping(o, f));
	report_proto_add_uint(&message, LOCATION_ADDRESS,
			      f->address - (f->is_return && f->address));
	attr = type ? attribute(o, "profile.frame.type", type, 0, NULL) : 0;
	if (attr)
		add_one(&message, LOCATION_ATTRIBUTES, attr);
	id = entry(o, DICTIONARY_LOCATIONS, &message);
	report_buf_free(&message);
	if (alone)
		o->location_of[first] = id;
	return id;
}

static uint32_t stack(struct otlp *o, uint32_t node)
{
	struct buf locations = { 0 };
	uint32_t id;

	while (node && !o->err)
		report_proto_add_varint(&locations, location(o, &node));
	report_buf_reset(&o->entry);
	if (locations.len)
		report_proto_add_message(&o->entry, STACK_LOCATIONS, &locations);
	id = entry(o, DICTIONARY_STACKS, &o->entry);
	report_buf_free(&locations);
	return id;
}

/* ---- a profile */

/* Bytes from 2 n hexadecimal digits; false: they are none. */
static bool from_hex(const char *text, unsigned char *out, size_t n)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < 2 * n; i++) {
		const char *digit = text[i] ? strchr(digits, text[i]) : NULL;

		if (!digit)
			return false;
		out[i / 2] = (unsigned char)(out[i / 2] << 4 | (digit - digits));
	}
	return !text[2 * n];
}

static const char *text_of(const struct report *r, const struct label_set *set, const char *key)
{
	for (uint64_t i = 0; i < set->count; i++)
		if (set->labels[i].str && !strcmp(text(r, set->labels[i].key), key))
			return text(r, set->labels[i].str);
	return NULL;
}

static bool is_link(const char *key)
{
	return !strcmp(key, "trace_id") || !strcmp(key, "span_id");
}

/* To the span that it was a part of; 0: that is not known. */
static uint32_t span_link(struct otlp *o, const struct label_set *set)
{
	const char *trace = text_of(o->r, set, "trace_id"), *span = text_of(o->r, set, "span_id");
	unsigned char of_trace[16], of_span[8];

	if (!trace || !span || !from_hex(trace, of_trace, sizeof(of_trace)) ||
	    !from_hex(span, of_span, sizeof(of_span)))
		return 0;
	report_buf_reset(&o->entry);
	report_proto_add_bytes(&o->entry, LINK_TRACE, of_trace, sizeof(of_trace));
	report_proto_add_bytes(&o->entry, LINK_SPAN, of_span, sizeof(of_span));
	return entry(o, DICTIONARY_LINKS, &o->entry);
}

static void add_sample(struct otlp *o, uint32_t sample, unsigned int type)
{
	const struct report *r = o->r;
	const struct sample *s = sample_of(r, sample);
	const struct label_set *set = labels_of(r, s->label_set);
	const uint64_t v = value_of(r, sample, type);
	uint32_t link;

	if (!v)
		return;
	link = span_link(o, set);
	report_buf_reset(&o->part);
	if (s->comm)
		report_proto_add_varint(&o->part,
					attribute(o, "thread.name", text(r, s->comm), 0, NULL));
	if (s->pid)
		report_proto_add_varint(&o->part, attribute(o, "process.pid", NULL, s->pid, NULL));
	if (s->tid)
		report_proto_add_varint(&o->part, attribute(o, "thread.id", NULL, s->tid, NULL));
	for (uint64_t i = 0; i < set->count; i++) {
		const struct label *l = &set->labels[i];

		if (!link || !is_link(text(r, l->key)))
			report_proto_add_varint(&o->part,
						attribute(o, text(r, l->key), text(r, l->str),
							  l->num, text(r, l->unit)));
	}
	report_buf_reset(&o->sample);
	report_proto_add_uint(&o->sample, SAMPLE_STACK, stack(o, s->node));
	if (o->part.len)
		report_proto_add_message(&o->sample, SAMPLE_ATTRIBUTES, &o->part);
	report_proto_add_uint(&o->sample, SAMPLE_LINK, link);
	/* the field is signed */
	add_one(&o->sample, SAMPLE_VALUES, v > INT64_MAX ? INT64_MAX : v);
	report_proto_add_message(&o->profile, PROFILE_SAMPLES, &o->sample);
}

static void add_value_type(struct otlp *o, unsigned int field, const char *type, const char *unit)
{
	report_buf_reset(&o->sample);
	report_proto_add_uint(&o->sample, VALUE_TYPE_TYPE, string(o, type));
	report_proto_add_uint(&o->sample, VALUE_TYPE_UNIT, string(o, unit));
	report_proto_add_message(&o->profile, field, &o->sample);
}

static void add_profile(struct otlp *o, const struct order *order, unsigned int type)
{
	const struct report *r = o->r;
	const struct report_info *info = &r->meta.info;

	report_buf_reset(&o->profile);
	add_value_type(o, PROFILE_SAMPLE_TYPE, text(r, r->types[type].type),
		       text(r, r->types[type].unit));
	for (uint32_t i = 0; i < r->samples.count && !o->err; i++)
		add_sample(o, order->samples[i], type);
	report_proto_add_fixed64(&o->profile, PROFILE_TIME, info->start_ns);
	report_proto_add_uint(&o->profile, PROFILE_DURATION, info->duration_ns);
	if (info->period_type.type && info->period_type.unit)
		add_value_type(o, PROFILE_PERIOD_TYPE, info->period_type.type,
			       info->period_type.unit);
	report_proto_add_uint(&o->profile, PROFILE_PERIOD, info->period);
	report_proto_add_message(&o->scope, SCOPE_PROFILES, &o->profile);
}

static void add_resource_attribute(struct otlp *o, const char *key, const char *value)
{
	if (!value || !*value)
		return;
	report_buf_reset(&o->scratch);
	report_buf_clean(&o->scratch, value, 0, 0);
	report_buf_reset(&o->sample);
	report_proto_add_message(&o->sample, ANY_STRING, &o->scratch);
	report_buf_reset(&o->part);
	report_proto_add_bytes(&o->part, KEY_VALUE_KEY, key, strlen(key));
	report_proto_add_message(&o->part, KEY_VALUE_VALUE, &o->sample);
	report_proto_add_message(&o->profile, RESOURCE_ATTRIBUTES, &o->part);
}

static void write_part(struct otlp *o, const struct report_part *p)
{
	static const char name[] = "rawprof";
	struct order order = { 0 };

	o->r = p->report;
	free(o->location_of);
	o->location_of = calloc((size_t)o->r->frames.count + 1, sizeof(*o->location_of));
	fail(o, o->location_of ? report_order_make(o->r, true, &order) : -ENOMEM);
	report_buf_reset(&o->profile);
	for (size_t i = 0; i < p->nlabels; i++)
		add_resource_attribute(o, p->labels[i].key, p->labels[i].str);
	report_buf_reset(&o->resource);
	report_proto_add_message(&o->resource, RESOURCE_PROFILES_RESOURCE, &o->profile);
	report_buf_reset(&o->scope);
	report_buf_reset(&o->part);
	report_proto_add_bytes(&o->part, SCOPE_NAME, name, strlen(name));
	report_proto_add_message(&o->scope, SCOPE_SCOPE, &o->part);
	for (unsigned int i = 0; i < o->r->ntypes && !o->err; i++)
		add_profile(o, &order, i);
	report_proto_add_message(&o->resource, RESOURCE_PROFILES_SCOPES, &o->scope);
	report_buf_reset(&o->scratch);
	report_proto_add_message(&o->scratch, REQUEST_RESOURCE_PROFILES, &o->resource);
	report_out_buf(&o->out, &o->scratch);
	report_order_free(&order);
}

static void write_dictionary(struct otlp *o)
{
	struct buf *b = &o->resource;

	report_buf_reset(b);
	for (unsigned int t = 0; t < DICTIONARY_TABLES; t++)
		for (uint32_t i = 0; i < o->tables[t].n; i++) {
			size_t n;
			const char *bytes = entry_at(&o->tables[t], i, &n);

			report_proto_add_bytes(b, DICTIONARY_FIRST + t, bytes, n);
		}
	report_buf_reset(&o->scratch);
	report_proto_add_message(&o->scratch, REQUEST_DICTIONARY, b);
	report_out_buf(&o->out, &o->scratch);
}

static void otlp_free(struct otlp *o)
{
	struct buf *const bufs[] = { &o->resource, &o->scope, &o->profile, &o->sample,
				     &o->entry,	   &o->part,  &o->scratch };

	for (size_t i = 0; i < sizeof(bufs) / sizeof(*bufs); i++)
		report_buf_free(bufs[i]);
	for (unsigned int t = 0; t < DICTIONARY_TABLES; t++) {
		free(o->tables[t].bytes);
		free(o->tables[t].end);
		rp_index_free(&o->tables[t].index);
	}
	free(o->location_of);
}

int report_parts_write_otlp(const struct report_part *parts, size_t n, FILE *file)
{
	struct otlp o = { .out.file = file };
	int err;

	for (unsigned int t = 0; t < DICTIONARY_TABLES; t++)
		number_of(&o, (enum otlp_table)t, "", 0);
	for (size_t i = 0; i < n && !o.err; i++)
		write_part(&o, &parts[i]);
	if (!o.err)
		write_dictionary(&o);
	err = o.err ? o.err : report_out_end(&o.out);
	otlp_free(&o);
	return err;
}

/* What it is of: the program, or what was recorded. */
static const char *service_of(const struct report_info *info)
{
	const char *slash = info->main_module ? strrchr(info->main_module, '/') : NULL;

	if (info->main_module)
		return slash ? slash + 1 : info->main_module;
	return info->target ? info->target : "unknown_service";
}

int report_write_otlp(const struct report *r, FILE *file, const struct report_options *options)
{
	const struct report_info *info = &r->meta.info;
	const struct report_label labels[] = {
		{ .key = "service.name", .str = service_of(info) },
		{ .key = "host.name", .str = info->host },
		{ .key = "process.executable.path", .str = info->main_module },
	};
	const struct report_part part = { r, labels, sizeof(labels) / sizeof(*labels) };
	struct report_options resolved;
	int err = report_options_resolve(r, options, &resolved);

	return err ? err : report_parts_write_otlp(&part, 1, file);
}
