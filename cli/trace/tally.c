/* SPDX-License-Identifier: BSD-2-Clause */
/* --count and --hist: events that are counted in the kernel, by what they are and by fields. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/views.h"
#include "trace.h"

/* What is not in the record of an event. */
static const struct {
	const char *name;
	enum trace_key_kind kind;
} tasks[] = { { "event", TRACE_BY_EVENT },
	      { "comm", TRACE_BY_COMM },
	      { "pid", TRACE_BY_PID },
	      { "tid", TRACE_BY_TID },
	      { "cpu", TRACE_BY_CPU } };

/* ---- what is asked */

static int add_key(struct trace_tally_view *view, const char *word, size_t n)
{
	struct trace_key_part *key = &view->keys[view->nkeys];

	if (view->nkeys == TRACE_MOST_KEYS || !n || n >= sizeof(key->name))
		return rp_fail(-EINVAL, "at most %d words to count by, with commas between them",
			       TRACE_MOST_KEYS);
	*key = (struct trace_key_part){ .kind = TRACE_BY_FIELD };
	memcpy(key->name, word, n);
	for (size_t i = 0; i < sizeof(tasks) / sizeof(tasks[0]); i++)
		if (!strcmp(tasks[i].name, key->name))
			key->kind = tasks[i].kind;
	for (size_t i = 0; i < view->nkeys; i++)
		if (!strcmp(view->keys[i].name, key->name))
			return rp_fail(-EINVAL, "'%s' is there twice", key->name);
	view->nkeys++;
	return 0;
}

static int add_keys(struct trace_tally_view *view, const char *list)
{
	int err = 0;

	for (size_t n; !err && list; list += n, list = *list ? list + 1 : NULL) {
		n = strcspn(list, ",");
		err = add_key(view, list, n);
	}
	return err;
}

/* "bytes by dev": the list stands behind the word, or in words of its own on the command line. */
static int parse(struct trace_tally_view *view, const struct trace_options *own)
{
	const char *by = own->hist ? strstr(own->hist, " by ") : NULL;

	if (own->count)
		return add_keys(view, own->count);
	snprintf(view->value, sizeof(view->value), "%.*s",
		 by ? (int)(by - own->hist) : (int)strlen(own->hist), own->hist);
	if (by)
		return add_keys(view, by + 4 + strspn(by + 4, " "));
	return own->by ? add_keys(view, own->by) : 0;
}

/* ---- where it is */

/* A field of one event. */
struct place {
	struct trace_number number; /* size 0: it is a text, at */
	uint32_t at, bytes, word, base;
};

static void place_number(uint32_t size, uint32_t offset, bool is_signed, struct place *out)
{
	out->number = (struct trace_number){ .size = size,
					     .offset = offset,
					     .shift = is_signed && size < 8 ? 64 - 8 * size : 0 };
}

static bool find_field(const struct record_event *event, const char *name, struct place *out)
{
	const struct record_field *f = record_event_field(event, name);

	if (!f)
		return false;
	if (f->kind == RECORD_NUMBER || f->kind == RECORD_POINTER || f->kind == RECORD_DEVICE) {
		place_number(f->size, f->offset, f->is_signed, out);
		return true;
	}
	out->at = f->offset;
	out->bytes =
		f->data_loc || f->rel_loc || f->size > TRACE_KEY_TEXT ? TRACE_KEY_TEXT : f->size;
	out->word = f->data_loc || f->rel_loc;
	out->base = f->rel_loc ? f->offset + 4 : 0;
	return f->kind == RECORD_TEXT;
}

static bool find_arg(const struct trace *trace, const struct trace_event *e, const char *name,
		     struct place *out)
{
	const uint32_t room = trace->config.text_bytes;
	uint32_t texts = 0;

	if (!strcmp(name, "ret") && e->kind != TRACE_ENTER) {
		place_number(8, offsetof(struct trace_call, ret), true, out);
		return true;
	}
	if (!strcmp(name, "duration") && e->kind == TRACE_WHOLE) {
		place_number(8, offsetof(struct trace_call, duration), false, out);
		return true;
	}
	for (uint32_t i = 0; e->kind != TRACE_EXIT && i < e->call->nargs; i++) {
		const struct record_arg *a = &e->call->arg[i];
		const bool text = a->kind == RECORD_ARG_TEXT || a->kind == RECORD_ARG_BYTES;

		if (!strcmp(a->name, name) && a->kind == RECORD_ARG_TEXT && texts < TRACE_TEXTS) {
			out->at = (uint32_t)sizeof(struct trace_call) + texts * room;
			out->bytes = room < TRACE_KEY_TEXT ? room : TRACE_KEY_TEXT;
			return true;
		}
		if (!strcmp(a->name, name) && !text) {
			place_number(a->size, offsetof(struct trace_call, args) + 8 * i,
				     a->is_signed, out);
			return true;
		}
		texts += text;
	}
	return false;
}

static int find(const struct trace *trace, const struct trace_event *e, const char *name,
		struct place *out)
{
	const char *field = !strncmp(name, "field_", 6) ? name + 6 : name;

	*out = (struct place){ .at = 0 };
	if (e->record ? find_field(e->record, field, out)
	    : e->call ? find_arg(trace, e, field, out)
		      : false)
		return 0;
	return rp_fail(-EINVAL, "%s has no number or string '%s': `rawprof trace --list %s`",
		       e->name, field, e->name);
}

static int describe_key(const struct trace *trace, const struct trace_event *e,
			const struct trace_key_part *key, struct trace_tally *t)
{
	struct place place;
	int err = find(trace, e, key->name, &place);

	if (err)
		return err;
	if (place.number.size) {
		if (t->number[TRACE_KEY_NUMBERS - 1].size)
			return rp_fail(-EINVAL, "at most %d fields that are numbers to count by",
				       TRACE_KEY_NUMBERS);
		t->number[t->number[0].size != 0] = place.number;
		return 0;
	}
	if (t->text)
		return rp_fail(-EINVAL, "at most one field that is a string to count by");
	t->text = 1;
	t->text_at = place.at;
	t->text_word = place.word;
	t->text_base = place.base;
	t->text_bytes = place.bytes;
	return 0;
}

/* Places of the map. */
static uint32_t most(const struct trace_tally_view *view)
{
	return *view->value ? 1024 : 16384;
}

int trace_tally_describe(const struct trace *trace, const struct trace_event *e,
			 struct trace_tally *out)
{
	const struct trace_tally_view *view = &trace->tally;
	struct trace_tally t = { .on = 1, .hist = *view->value != '\0', .most = most(view) };
	struct place place;
	int err = 0;

	for (size_t i = 0; !err && i < view->nkeys; i++) {
		const struct trace_key_part *key = &view->keys[i];

		t.event |= key->kind == TRACE_BY_EVENT;
		t.cpu |= key->kind == TRACE_BY_CPU;
		t.pid |= key->kind == TRACE_BY_PID;
		t.tid |= key->kind == TRACE_BY_TID;
		t.comm |= key->kind == TRACE_BY_COMM;
		if (key->kind == TRACE_BY_FIELD)
			err = describe_key(trace, e, key, &t);
	}
	if (!err && t.hist) {
		err = find(trace, e, view->value, &place);
		if (!err && !place.number.size)
			err = rp_fail(-EINVAL, "--hist wants a number: '%s' is a string",
				      view->value);
		t.value = place.number;
	}
	if (!err)
		*out = t;
	return err;
}

/* By what a call returns, or how long it took: both follow its arguments. */
static bool is_of_result(const struct trace_tally *t)
{
	const uint32_t first = offsetof(struct trace_call, ret);

	return t->number[0].offset >= first || t->number[1].offset >= first ||
	       t->value.offset >= first;
}

/* All system calls share a program: a field has to be at one place in all of them. */
int trace_tally_calls(struct trace *trace)
{
	struct trace_tally first;
	bool found = false;
	int err = 0;

	for (size_t i = 0; !err && i < trace->events.n; i++) {
		const struct trace_event *e = &trace->events.event[i];
		struct trace_tally t;

		if (!e->call)
			continue;
		err = trace_tally_describe(trace, e, found ? &t : &first);
		if (!err && found && memcmp(&t, &first, sizeof(t)) != 0)
			err = rp_fail(-EINVAL,
				      "%s has these fields at other places than the calls "
				      "before it: one of them at a time",
				      e->name);
		found = true;
	}
	if (!err && found) {
		trace->config.tally = first;
		trace->config.of_result = is_of_result(&first);
	}
	return err;
}

/* ---- what a key says */

#define KEY_TEXT 512

/* A number as the field of that name reads: the first event that has it knows. */
static void put_number(const struct trace *trace, const char *name, uint64_t v,
		       struct record_out *out)
{
	const char *field_name = !strncmp(name, "field_", 6) ? name + 6 : name;
	const struct trace_event *e = &trace->events.event[0];

	if (e->record) {
		const struct record_field *f = record_event_field(e->record, field_name);
		unsigned char *record = calloc(1, e->record->bytes + 8);

		if (f && record) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
			memcpy(record + f->offset, (char *)&v + 8 - f->size, f->size);
#else
			memcpy(record + f->offset, &v, f->size);
#endif
			record_field_text(e->record, f, record, e->record->bytes, NULL, out);
		}
		free(record);
		return;
	}
	for (uint32_t i = 0; e->call && i < e->call->nargs; i++)
		if (!strcmp(e->call->arg[i].name, field_name)) {
			record_arg_text(&e->call->arg[i], v, NULL, out);
			return;
		}
	if (!strcmp(field_name, "ret") && record_call_error((int64_t)v))
		record_out_str(out, record_call_error((int64_t)v));
	else
		record_out_signed(out, (int64_t)v);
}

/* The text of each part, and of what is a number that too. */
static void read_key(const struct trace *trace, const struct trace_key *key,
		     char text[TRACE_MOST_KEYS][KEY_TEXT], uint64_t number[TRACE_MOST_KEYS])
{
	uint32_t nth = 0;

	for (size_t i = 0; i < trace->tally.nkeys; i++) {
		const struct trace_key_part *part = &trace->tally.keys[i];
		struct record_out out = { 0 };
		struct trace_tally t = { .text = 0 };

		number[i] = 0;
		switch (part->kind) {
		case TRACE_BY_EVENT:
			record_out_str(&out, key->event < trace->events.n
						     ? trace->events.event[key->event].name
						     : "?");
			break;
		case TRACE_BY_COMM:
			record_out_bytes(&out, key->comm, strnlen(key->comm, sizeof(key->comm)));
			break;
		case TRACE_BY_FIELD:
			if (!describe_key(trace, &trace->events.event[0], part, &t) && t.text)
				record_out_bytes(&out, key->text,
						 strnlen(key->text, sizeof(key->text)));
			else
				put_number(trace, part->name, key->number[nth++], &out);
			break;
		default:
			number[i] = part->kind == TRACE_BY_PID	 ? key->pid
				    : part->kind == TRACE_BY_TID ? key->tid
								 : key->cpu;
			record_out_number(&out, number[i]);
		}
		snprintf(text[i], KEY_TEXT, "%.*s", (int)out.n, out.text ? out.text : "");
		record_out_free(&out);
	}
}

/* ---- what was counted */

static const struct asm_map *tallies(const struct recording *rec)
{
	return &record_stacks_maps(rec->stacks)[TRACE_MAP_TALLIES];
}

static uint64_t count_of(const struct recording *rec, const void *value)
{
	const struct trace *trace = rec->ctx;
	uint64_t n = 0;

	if (!*trace->tally.value)
		return rp_map_cpu_sum(tallies(rec), value, 0);
	for (unsigned int i = 0; i < TRACE_HIST_SLOTS; i++)
		n += rp_map_cpu_sum(tallies(rec), value,
				    (unsigned int)(sizeof(struct asm_hist) / 8) + i);
	return n;
}

static int take_count(struct recording *rec, const struct trace_key *key, const void *value)
{
	struct trace *trace = rec->ctx;
	struct trace_tally_view *view = &trace->tally;
	struct report_cell cells[TRACE_MOST_KEYS + 1] = { 0 };
	static char text[TRACE_MOST_KEYS][KEY_TEXT];
	uint64_t number[TRACE_MOST_KEYS];

	read_key(trace, key, text, number);
	for (size_t i = 0; i < view->nkeys; i++)
		cells[i] = (struct report_cell){ .text = text[i], .number = number[i] };
	cells[view->nkeys].number = count_of(rec, value);
	return report_grid_add(view->grid, cells);
}

static int take_hist(struct recording *rec, const struct trace_key *key, const void *value)
{
	struct trace *trace = rec->ctx;
	struct trace_tally_view *view = &trace->tally;
	static char text[TRACE_MOST_KEYS][KEY_TEXT];
	const char *values[TRACE_MOST_KEYS];
	uint64_t number[TRACE_MOST_KEYS];
	struct report_hist *hist;
	int err;

	read_key(trace, key, text, number);
	for (size_t i = 0; i < view->nkeys; i++)
		values[i] = text[i];
	err = report_hists_get(view->set, values, &hist);
	return err ? err : hist_merge(hist, tallies(rec), value, TRACE_HIST_SLOTS);
}

static int take(void *ctx, const void *key, const void *value)
{
	struct recording *rec = ctx;
	struct trace *trace = rec->ctx;
	struct trace_key whole = { .event = 0 };
	char comm[17] = "";

	memcpy(&whole, key, tallies(rec)->key_size);
	memcpy(comm, whole.comm, sizeof(whole.comm));
	if (rec->comm_glob && !record_comm_wanted(rec, comm)) {
		rec->not_wanted += count_of(rec, value);
		return 0;
	}
	trace->tally.kept += count_of(rec, value);
	return *trace->tally.value ? take_hist(rec, &whole, value) : take_count(rec, &whole, value);
}

static int report(struct recording *rec)
{
	struct trace *trace = rec->ctx;
	struct trace_tally_view *view = &trace->tally;
	struct record_info info;
	int err = record_stacks_each(rec->stacks, TRACE_MAP_TALLIES, take, rec);

	if (!err)
		err = record_info(rec, NULL, &info);
	if (err)
		return err;
	err = view->set ? report_hists_set_info(view->set, &info.info)
			: report_grid_set_info(view->grid, &info.info);
	record_info_free(&info);
	if (err)
		return err;
	return view->set ? hists_end(rec, view->kept, view->set)
			 : grid_end(rec, view->kept, view->grid);
}

/* ---- the result */

static int make_grid(struct trace *trace, const struct options *opt)
{
	struct trace_tally_view *view = &trace->tally;
	static char titles[TRACE_MOST_KEYS][TRACE_KEY_NAME];
	struct report_column columns[TRACE_MOST_KEYS + 1];
	const struct report_grid_spec spec = { .title = "events",
					       .metric = "trace",
					       .events = "events",
					       .columns = columns,
					       .ncolumns = view->nkeys + 1 };

	for (size_t i = 0; i < view->nkeys; i++) {
		const enum trace_key_kind kind = view->keys[i].kind;

		for (size_t c = 0; c < sizeof(titles[i]); c++)
			titles[i][c] = (char)toupper((unsigned char)view->keys[i].name[c]);
		columns[i] = (struct report_column){ .title = titles[i],
						     .key = view->keys[i].name,
						     .unit = kind == TRACE_BY_PID ||
									     kind == TRACE_BY_TID ||
									     kind == TRACE_BY_CPU
								     ? REPORT_UNIT_ID
								     : REPORT_UNIT_TEXT };
	}
	columns[view->nkeys] = (struct report_column){
		.title = "COUNT", .key = "count", .unit = REPORT_UNIT_COUNT, .adds = true
	};
	return grid_new(opt, &spec, "count", 0, &view->grid);
}

static enum report_unit unit_of(const char *name)
{
	return !strcmp(name, "duration") ? REPORT_UNIT_NS
	       : strstr(name, "bytes") || !strcmp(name, "len") || !strcmp(name, "size")
		       ? REPORT_UNIT_BYTES
		       : REPORT_UNIT_COUNT;
}

static int make_hists(struct trace *trace)
{
	struct trace_tally_view *view = &trace->tally;
	const char *names[TRACE_MOST_KEYS];
	const struct report_hists_spec spec = { .title = view->value,
						.metric = "trace_value",
						.events = "events",
						.unit = unit_of(view->value),
						.bits = TRACE_HIST_BITS,
						.keys = names,
						.nkeys = view->nkeys };

	for (size_t i = 0; i < view->nkeys; i++)
		names[i] = view->keys[i].name;
	return report_hists_new(&spec, &view->set);
}

/* What an event is counted by ends there; the less there is of it, the sooner it is found. */
static uint32_t key_bytes(const struct trace_tally *t, const struct options *opt)
{
	struct asm_comm_filter filter;
	const char *comm = opt->record.comm;

	if (t->text)
		return sizeof(struct trace_key);
	if (t->comm || (comm && asm_comm_filter(comm, &filter))) /* the names are looked at later */
		return offsetof(struct trace_key, text);
	if (t->event || t->cpu || t->pid || t->tid)
		return offsetof(struct trace_key, comm);
	return sizeof(uint64_t) * (t->number[1].size ? 2 : 1);
}

int trace_tally_setup(struct trace *trace, const struct options *opt)
{
	struct trace_tally_view *view = &trace->tally;
	struct asm_map *map = &trace->maps[TRACE_MAP_TALLIES];
	struct trace_tally t;
	uint32_t bytes = 8;
	int err = parse(view, trace->own);

	for (size_t i = 0; !err && i < trace->events.n; i++) {
		const struct trace_event *e = &trace->events.event[i];

		err = trace_tally_describe(trace, e, &t);
		if (!err && key_bytes(&t, opt) > bytes)
			bytes = key_bytes(&t, opt);
	}
	if (err)
		return err;
	map->key_size = bytes;
	map->value_size = trace->maps[TRACE_MAP_ZERO].value_size =
		*view->value ? TRACE_HIST_BYTES : 8;
	map->max_entries = most(view);
	trace->maps[TRACE_MAP_RING].max_entries = 1 << 16;
	trace->profiler.output = *view->value ? RECORD_HISTS : RECORD_GRID;
	trace->profiler.often = false;
	trace->profiler.drain = NULL;
	trace->profiler.report = report;
	return *view->value ? make_hists(trace) : make_grid(trace, opt);
}

void trace_tally_free(struct trace *trace)
{
	report_grid_free(trace->tally.grid);
	report_hists_free(trace->tally.set);
}
