/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proto/profile.proto of github.com/google/pprof, unpacked, of any writer. Its parts may come in
 * any order and refer to each other by ids: first all but the samples are found and numbered, then
 * samples are added. What refers to something that is not there is an error, never a guess.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "read.h"
#include "report/pprof_fields.h"
#include "report/report.h"
#include "wire.h"

struct pprof_mapping {
	uint64_t id;
	uint64_t start, limit, offset;
	uint64_t filename, build_id; /* texts */
};

struct pprof_function {
	uint64_t id;
	uint64_t name, filename; /* texts */
};

/* Its frames are made when it is first met in a sample: leaf first, in pprof.frames. */
struct pprof_location {
	uint64_t id;
	struct wire message;
	uint32_t first, count; /* 0: not made yet */
};

struct type {
	uint64_t type, unit; /* texts */
};

#define MOST_NODES (16u << 20) /* and half as many as the file has bytes */

struct pprof {
	struct wire all;
	struct report_file *out;
	struct report *report;
	char *texts; /* each with a NUL behind it, begin at: */
	uint32_t *text_at, ntexts, texts_cap;
	size_t texts_used, texts_room;
	struct hash_map mappings, functions, locations;
	struct type types[REPORT_MAX_VALUES];
	size_t ntypes, nvalues; /* nvalues: that a sample has, of which the first ntypes count */
	uint32_t *frames, nframes, frames_cap;
	uint64_t most_nodes; /* of the report's trie */
	uint64_t work;	     /* frames that may still be added: a few bytes can name thousands */
	bool lacks_text;     /* one that was referred to */
	uint64_t comment, default_type;
	struct type period_type;
	struct report_info info;
};

static int damaged(struct pprof *p, const char *what)
{
	return report_why(p->out, -EINVAL, "it is no profile, or a damaged one (pprof: %s)", what);
}

/* A text by its index; NULL for the empty one, and for one that is missing. */
static const char *text_at(struct pprof *p, uint64_t i)
{
	const char *text = i < p->ntexts ? p->texts + p->text_at[i] : "";

	p->lacks_text |= i >= p->ntexts;
	return *text ? text : NULL;
}

/* ---- tables */

static int take_text(struct pprof *p, struct wire text)
{
	const size_t n = (size_t)(text.end - text.at);
	int err = RP_GROW_TO(p->texts, p->texts_used + n + 1, p->texts_room);

	if (!err)
		err = RP_PUSH(p->text_at, p->ntexts, p->texts_cap, (uint32_t)p->texts_used);
	if (err)
		return err;
	memcpy(p->texts + p->texts_used, text.at, n);
	p->texts_used += n;
	p->texts[p->texts_used++] = '\0';
	return 0;
}

static int take_type(struct pprof *p, struct wire message, struct type *type)
{
	struct wire_field f;

	*type = (struct type){ 0 };
	while (report_wire_next(&message, &f)) {
		if (f.number == VALUE_TYPE_TYPE)
			type->type = f.value;
		else if (f.number == VALUE_TYPE_UNIT)
			type->unit = f.value;
	}
	return message.bad ? damaged(p, "a value type") : 0;
}

/* Adds an entry that begins with its id; 0, -EINVAL if the id is taken or none. */
static int add_entry(struct pprof *p, struct hash_map *map, const void *entry, const char *what)
{
	uint64_t id;
	const uint32_t before = map->count;
	void *added;

	memcpy(&id, entry, sizeof(id));
	if (!id)
		return damaged(p, what);
	added = rp_hash_add(map, &id);
	if (!added)
		return -ENOMEM;
	if (map->count == before)
		return damaged(p, "an id is there twice");
	memcpy(added, entry, map->size);
	return 0;
}

static int take_mapping(struct pprof *p, struct wire message)
{
	struct pprof_mapping m = { .id = 0 };
	struct wire_field f;

	while (report_wire_next(&message, &f)) {
		switch (f.number) {
		case MAPPING_ID:
			m.id = f.value;
			break;
		case MAPPING_MEMORY_START:
			m.start = f.value;
			break;
		case MAPPING_MEMORY_LIMIT:
			m.limit = f.value;
			break;
		case MAPPING_FILE_OFFSET:
			m.offset = f.value;
			break;
		case MAPPING_FILENAME:
			m.filename = f.value;
			break;
		case MAPPING_BUILD_ID:
			m.build_id = f.value;
			break;
		}
	}
	return message.bad ? damaged(p, "a mapping") : add_entry(p, &p->mappings, &m, "a mapping");
}

static int take_function(struct pprof *p, struct wire message)
{
	struct pprof_function fn = { .id = 0 };
	struct wire_field f;

	while (report_wire_next(&message, &f)) {
		if (f.number == FUNCTION_ID)
			fn.id = f.value;
		else if (f.number == FUNCTION_NAME)
			fn.name = f.value;
		else if (f.number == FUNCTION_FILENAME)
			fn.filename = f.value;
	}
	return message.bad ? damaged(p, "a function")
			   : add_entry(p, &p->functions, &fn, "a function");
}

static int take_location(struct pprof *p, struct wire message)
{
	struct pprof_location l = { .message = message };
	struct wire_field f;

	while (report_wire_next(&message, &f))
		if (f.number == LOCATION_ID)
			l.id = f.value;
	return message.bad ? damaged(p, "a location")
			   : add_entry(p, &p->locations, &l, "a location");
}

static int take_sample_type(struct pprof *p, struct wire message)
{
	struct type type;
	int err = take_type(p, message, &type);

	if (!err && p->nvalues < REPORT_MAX_VALUES)
		p->types[p->ntypes++] = type;
	p->nvalues++;
	return err;
}

static int take_field(struct pprof *p, const struct wire_field *f)
{
	switch (f->number) {
	case PROFILE_STRING_TABLE:
		return take_text(p, f->bytes);
	case PROFILE_SAMPLE_TYPE:
		return take_sample_type(p, f->bytes);
	case PROFILE_MAPPING:
		return take_mapping(p, f->bytes);
	case PROFILE_FUNCTION:
		return take_function(p, f->bytes);
	case PROFILE_LOCATION:
		return take_location(p, f->bytes);
	case PROFILE_PERIOD_TYPE:
		return take_type(p, f->bytes, &p->period_type);
	case PROFILE_PERIOD:
		p->info.period = f->value;
		break;
	case PROFILE_TIME_NANOS:
		p->info.start_ns = f->value;
		break;
	case PROFILE_DURATION_NANOS:
		p->info.duration_ns = f->value <= INT64_MAX ? f->value : 0;
		break;
	case PROFILE_DEFAULT_SAMPLE_TYPE:
		p->default_type = f->value;
		break;
	case PROFILE_COMMENT:
		if (!p->comment)
			p->comment = f->value;
		break;
	}
	return 0;
}

static int take_tables(struct pprof *p)
{
	struct wire w = p->all;
	struct wire_field f;
	int err = 0;

	while (!err && report_wire_next(&w, &f))
		err = take_field(p, &f);
	if (err)
		return err;
	if (w.bad)
		return damaged(p, "its fields");
	if (!p->ntypes || !p->ntexts || text_at(p, 0))
		return damaged(p, "no sample types, or no texts");
	return 0;
}

/* ---- frames */

static bool is_kernel(const char *file, uint64_t address)
{
	return address >> 63 || (file && !strncmp(file, "[kernel", 7));
}

/* One frame of a location; an inlined one is followed by what it was inlined into. */
static int add_frame(struct pprof *p, const struct report_frame *place, struct wire *line)
{
	struct report_frame frame = *place;
	uint64_t id = 0, number = 0;
	const struct pprof_function *fn = NULL;
	struct wire_field f;
	uint32_t frame_id;
	int err;

	while (line && report_wire_next(line, &f)) {
		if (f.number == LINE_FUNCTION_ID)
			id = f.value;
		else if (f.number == LINE_LINE)
			number = f.value;
	}
	if (line && line->bad)
		return damaged(p, "a line");
	if (id && !(fn = rp_hash_find(&p->functions, &id)))
		return damaged(p, "a function is missing");
	if (fn) {
		frame.name = text_at(p, fn->name);
		frame.file = text_at(p, fn->filename);
		frame.line = number <= INT32_MAX ? (uint32_t)number : 0;
	}
	if (frame.name && !strcmp(frame.name, "[unknown]"))
		frame.name = NULL;
	err = report_frame_add(p->report, &frame, &frame_id);
	return err ? err : RP_PUSH(p->frames, p->nframes, p->frames_cap, frame_id);
}

/* What all frames of a location have in common. */
static int place_of(struct pprof *p, struct wire message, struct report_frame *place)
{
	const struct pprof_mapping *m = NULL;
	uint64_t mapping = 0;
	struct wire_field f;

	*place = (struct report_frame){ .kind = REPORT_USER };
	while (report_wire_next(&message, &f)) {
		if (f.number == LOCATION_MAPPING_ID)
			mapping = f.value;
		else if (f.number == LOCATION_ADDRESS)
			place->address = f.value;
	}
	if (mapping && !(m = rp_hash_find(&p->mappings, &mapping)))
		return damaged(p, "a mapping is missing");
	if (m)
		place->module = text_at(p, m->filename);
	if (is_kernel(place->module, place->address)) {
		place->kind = REPORT_KERNEL;
		place->module = NULL;
	} else if (m) {
		place->build_id = text_at(p, m->build_id);
		place->map_start = m->start;
		place->map_end = m->limit;
		place->map_offset = m->offset;
		place->module_addr = place->address - m->start + m->offset;
	}
	return 0;
}

static int make_frames(struct pprof *p, struct pprof_location *l)
{
	struct report_frame place;
	struct wire w = l->message, line = { 0 };
	struct wire_field f;
	const uint32_t first = p->nframes;
	bool has_line = false;
	int err = place_of(p, l->message, &place);
	const enum report_frame_kind kind = place.kind;

	/* Each line but the last, the outermost, is of a function that was inlined. */
	while (!err && report_wire_next(&w, &f)) {
		if (f.number != LOCATION_LINE)
			continue;
		place.kind = kind == REPORT_USER ? REPORT_INLINED : kind;
		if (has_line)
			err = add_frame(p, &place, &line);
		line = f.bytes;
		has_line = true;
	}
	place.kind = kind;
	if (!err)
		err = add_frame(p, &place, has_line ? &line : NULL);
	l->first = first;
	l->count = p->nframes - first;
	return err;
}

/* ---- samples */

struct taking {
	uint32_t frames[REPORT_MAX_STACK];
	size_t nframes;
	uint64_t values[REPORT_MAX_VALUES];
	size_t nvalues;
	struct report_label labels[REPORT_MAX_LABELS];
	size_t nlabels;
	struct report_sample sample;
};

static int take_location_of(struct pprof *p, struct taking *t, uint64_t id)
{
	struct pprof_location *l = rp_hash_find(&p->locations, &id);
	int err = 0;

	if (!l)
		return damaged(p, "a location is missing");
	if (!l->count)
		err = make_frames(p, l);
	if (err)
		return err;
	if (l->count > p->work)
		return damaged(p, "its stacks are too long for its size");
	p->work -= l->count;
	if (l->count > REPORT_MAX_STACK - t->nframes)
		return report_why(p->out, -EINVAL, "a stack has more than %d frames",
				  REPORT_MAX_STACK);
	memcpy(t->frames + t->nframes, p->frames + l->first, l->count * sizeof(*t->frames));
	t->nframes += l->count;
	return 0;
}

static int take_value(struct pprof *p, struct taking *t, uint64_t value)
{
	if (value > INT64_MAX)
		return report_why(p->out, -EINVAL,
				  "it has negative values: it is a difference of two");
	if (t->nvalues < p->ntypes)
		t->values[t->nvalues] = value;
	t->nvalues++;
	return 0;
}

/* A field that may be one number, or many that are packed. */
static int take_numbers(struct pprof *p, struct taking *t, const struct wire_field *f,
			int (*take)(struct pprof *, struct taking *, uint64_t))
{
	struct wire packed = f->bytes;
	uint64_t v;
	int err = 0;

	if (!f->is_bytes)
		return take(p, t, f->value);
	while (!err && report_wire_varint(&packed, &v))
		err = take(p, t, v);
	return err ? err : packed.bad ? damaged(p, "a sample") : 0;
}

/* comm, pid and tid are a sample's own; of a key that is there twice, the first counts. */
static int take_label(struct pprof *p, struct taking *t, struct wire message)
{
	struct report_label label = { .key = NULL };
	struct wire_field f;

	while (report_wire_next(&message, &f)) {
		if (f.number == LABEL_KEY)
			label.key = text_at(p, f.value);
		else if (f.number == LABEL_STR)
			label.str = text_at(p, f.value);
		else if (f.number == LABEL_NUM)
			label.num = (int64_t)f.value;
		else if (f.number == LABEL_NUM_UNIT)
			label.unit = text_at(p, f.value);
	}
	if (message.bad)
		return damaged(p, "a label");
	if (!label.key)
		return 0;
	if (!strcmp(label.key, "comm"))
		t->sample.comm = label.str;
	else if (!strcmp(label.key, "pid"))
		t->sample.pid = (int32_t)label.num;
	else if (!strcmp(label.key, "tid"))
		t->sample.tid = (int32_t)label.num;
	else if (t->nlabels < REPORT_MAX_LABELS) {
		for (size_t i = 0; i < t->nlabels; i++)
			if (!strcmp(t->labels[i].key, label.key))
				return 0;
		t->labels[t->nlabels++] = label;
	}
	return 0;
}

static int take_sample(struct pprof *p, struct wire message, struct taking *t)
{
	struct wire_field f;
	int err = 0;

	t->nframes = t->nvalues = t->nlabels = 0;
	t->sample = (struct report_sample){ .frames = t->frames,
					    .values = t->values,
					    .labels = t->labels };
	while (!err && report_wire_next(&message, &f)) {
		if (f.number == SAMPLE_LOCATION_ID)
			err = take_numbers(p, t, &f, take_location_of);
		else if (f.number == SAMPLE_VALUE)
			err = take_numbers(p, t, &f, take_value);
		else if (f.number == SAMPLE_LABEL)
			err = take_label(p, t, f.bytes);
	}
	if (err)
		return err;
	if (message.bad || t->nvalues != p->nvalues)
		return damaged(p, "a sample");
	t->sample.nframes = t->nframes;
	t->sample.nlabels = t->nlabels;
	err = report_add(p->report, &t->sample);
	/* A location may stand for many frames, and be named in a byte. */
	if (!err && p->report->nnodes > p->most_nodes)
		return damaged(p, "its stacks are too long for its size");
	return err;
}

static int take_samples(struct pprof *p)
{
	struct taking *t = malloc(sizeof(*t));
	struct wire w = p->all;
	struct wire_field f;
	int err = t ? 0 : -ENOMEM;

	while (!err && report_wire_next(&w, &f))
		if (f.number == PROFILE_SAMPLE)
			err = take_sample(p, f.bytes, t);
	free(t);
	return err;
}

/* ---- all together */

static int open_report(struct pprof *p)
{
	struct report_value_type types[REPORT_MAX_VALUES];

	p->out->show.weight = (unsigned int)p->ntypes - 1; /* unless it says otherwise */
	for (size_t i = p->ntypes; i--;) {
		const char *type = text_at(p, p->types[i].type),
			   *unit = text_at(p, p->types[i].unit);

		types[i] = (struct report_value_type){ type ? type : "samples",
						       unit ? unit : "count" };
		if (p->types[i].type == p->default_type && p->default_type)
			p->out->show.weight = (unsigned int)i;
	}
	return report_new(types, p->ntypes, &p->report);
}

/* Ours say "rawprof cpu: process 12" in their first comment. */
static int set_info(struct pprof *p)
{
	const char *comment = text_at(p, p->comment), *colon;
	char *command = NULL;
	int err;

	if (comment && !strncmp(comment, "rawprof ", 8) && (colon = strstr(comment, ": "))) {
		command = strndup(comment + 8, (size_t)(colon - comment) - 8);
		if (!command)
			return -ENOMEM;
		p->info.command = command;
		p->info.target = colon + 2;
	}
	p->info.period_type.type = text_at(p, p->period_type.type);
	p->info.period_type.unit = text_at(p, p->period_type.unit);
	if (p->nvalues > p->ntypes)
		p->info.note = "it has more values than can be held: the first four are";
	err = report_set_info(p->report, &p->info);
	free(command);
	return !err && p->lacks_text ? damaged(p, "a text is missing") : err;
}

static void pprof_free(struct pprof *p)
{
	free(p->texts);
	free(p->text_at);
	free(p->frames);
	rp_hash_free(&p->mappings);
	rp_hash_free(&p->functions);
	rp_hash_free(&p->locations);
	report_free(p->report);
}

int report_read_pprof(const void *bytes, size_t n, struct report_file *out)
{
	struct pprof p = { .all = wire_of(bytes, n),
			   .out = out,
			   .work = 64 * (uint64_t)n + 65536,
			   .most_nodes = n / 2 + MOST_NODES,
			   .mappings = HASH_MAP(struct pprof_mapping, id),
			   .functions = HASH_MAP(struct pprof_function, id),
			   .locations = HASH_MAP(struct pprof_location, id) };
	int err = take_tables(&p);

	if (!err)
		err = open_report(&p);
	if (!err)
		err = take_samples(&p);
	if (!err)
		err = set_info(&p);
	if (!err) {
		out->report = p.report;
		p.report = NULL;
	}
	pprof_free(&p);
	return err;
}
