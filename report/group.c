/* SPDX-License-Identifier: BSD-2-Clause */
/* A profile summed up by what its samples have: processes, CPUs, labels, the function that ran. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rawprof/grid.h>

#include "filter.h"
#include "text.h"

enum { MAX_KEYS = 8 };

enum key_kind { KEY_COMM, KEY_PID, KEY_TID, KEY_SYMBOL, KEY_DSO, KEY_CPU, KEY_LABEL };

struct key {
	enum key_kind kind;
	char *name;
};

/* What a row is: numbers of texts, 0 where there is none, or ids. */
struct group {
	uint64_t key[MAX_KEYS];
	uint64_t values[REPORT_MAX_VALUES];
};

struct grouping {
	const struct report *r;
	struct key keys[MAX_KEYS];
	size_t nkeys;
	bool by_cpu; /* from the stream, which has two of the values at most */
	unsigned int weight;
	struct strings strings;
	struct hash_map groups;
	char *why;
};

/* ---- the keys */

static bool has_label(const struct report *r, const char *key)
{
	for (uint32_t i = 0; i < r->label_sets.count; i++)
		if (label_by_key(r, i, key))
			return true;
	return false;
}

static int find_key(struct grouping *g, struct key *key)
{
	static const char *const names[] = { "comm", "pid", "tid", "symbol", "dso" };
	const struct report *r = g->r;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(key->name, names[i])) {
			key->kind = (enum key_kind)i;
			return 0;
		}
	key->kind = KEY_LABEL;
	if (has_label(r, key->name))
		return 0;
	if (!strcmp(key->name, "cpu") && r->stream->n) {
		key->kind = KEY_CPU;
		g->by_cpu = true;
		return 0;
	}
	snprintf(
		g->why, REPORT_WHY,
		"nothing has a '%.60s': there are comm, pid, tid, symbol, dso, labels that samples "
		"have, and cpu if they have times",
		key->name);
	return -EINVAL;
}

static int read_keys(struct grouping *g, const char *list)
{
	int err = 0;

	while (!err) {
		const size_t n = strcspn(list, ",");
		struct key *key;

		if (g->nkeys == MAX_KEYS) {
			snprintf(g->why, REPORT_WHY, "more than %d keys", MAX_KEYS);
			return -EINVAL;
		}
		key = &g->keys[g->nkeys];
		key->name = strndup(list, n);
		if (!key->name)
			return -ENOMEM;
		g->nkeys++; /* NOLINT(clang-analyzer-unix.Malloc) report_group() frees them */
		err = find_key(g, key);
		if (!list[n])
			break;
		list += n + 1;
	}
	return err;
}

/* ---- the groups */

static int text_of(struct grouping *g, const char *s, uint64_t *out)
{
	uint32_t id = 0;
	int err = report_strings_add(&g->strings, s, &id);

	*out = id;
	return err;
}

static int number_text(struct grouping *g, int64_t number, uint64_t *out)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%" PRId64, number);
	return text_of(g, digits, out);
}

static int key_of(struct grouping *g, const struct key *key, const struct sample *s, uint32_t cpu,
		  uint64_t *out)
{
	const struct report *r = g->r;
	const uint32_t function = s->node ? frame_of(r, r->nodes[s->node].frame)->function : NONE;
	const struct label *label;

	switch (key->kind) {
	case KEY_COMM:
		return text_of(g, text(r, s->comm), out);
	case KEY_PID:
		*out = (uint32_t)s->pid;
		return 0;
	case KEY_TID:
		*out = (uint32_t)s->tid;
		return 0;
	case KEY_SYMBOL:
		return text_of(g, s->node ? report_function_name(r, function) : NULL, out);
	case KEY_DSO:
		return text_of(g, s->node ? report_text_base(report_dso_name(r, function)) : NULL,
			       out);
	case KEY_CPU:
		if (cpu != REPORT_NO_CPU)
			return number_text(g, cpu, out);
		*out = 0;
		return 0;
	default:
		label = label_by_key(r, s->label_set, key->name);
		if (label && !label->str)
			return number_text(g, label->num, out);
		return text_of(g, label ? text(r, label->str) : NULL, out);
	}
}

static int add(struct grouping *g, uint32_t sample, uint32_t cpu, const uint64_t *values, size_t n)
{
	struct group group = { 0 }, *found;
	int err = 0;

	for (size_t i = 0; i < g->nkeys && !err; i++)
		err = key_of(g, &g->keys[i], sample_of(g->r, sample), cpu, &group.key[i]);
	if (err)
		return err;
	found = rp_hash_add(&g->groups, &group);
	if (!found)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		found->values[i] = add_saturating(found->values[i], values[i]);
	return 0;
}

static int add_all(struct grouping *g)
{
	const struct report *r = g->r;
	const struct report_moment *moments;
	int err = 0;
	size_t n;

	for (uint32_t i = 0; i < r->samples.count && !err && !g->by_cpu; i++)
		err = add(g, i, 0, &r->values[(size_t)i * r->ntypes], r->ntypes);
	if (!g->by_cpu)
		return err;
	moments = report_moments(r, &n);
	for (size_t i = 0; i < n && !err; i++) {
		const uint64_t values[] = { moments[i].count, moments[i].weight };

		if (moments[i].kind != REPORT_WOKEN)
			err = add(g, moments[i].sample, moments[i].cpu, values,
				  r->stream->value ? 2 : 1);
	}
	return err;
}

/* ---- the grid */

/* Which value types the groups have, in their order. */
static size_t types_of(const struct grouping *g, size_t type[REPORT_MAX_VALUES])
{
	const struct report *r = g->r;

	for (size_t i = 0; i < REPORT_MAX_VALUES; i++)
		type[i] = i;
	if (!g->by_cpu)
		return r->ntypes;
	type[1] = r->stream->value;
	return r->stream->value ? 2 : 1;
}

static enum report_unit unit_of(const char *unit)
{
	return !strcmp(unit, "nanoseconds") ? REPORT_UNIT_NS
	       : !strcmp(unit, "bytes")	    ? REPORT_UNIT_BYTES
					    : REPORT_UNIT_COUNT;
}

static struct report_column key_column(const struct key *key)
{
	return (struct report_column){ .title = key->name,
				       .key = key->name,
				       .unit = key->kind == KEY_PID || key->kind == KEY_TID
						       ? REPORT_UNIT_ID
						       : REPORT_UNIT_TEXT };
}

static struct report_column value_column(const struct grouping *g, const char *type,
					 const char *unit)
{
	struct report_column c = {
		.title = type, .key = type, .unit = unit_of(unit), .adds = true
	};

	/* "cpu" is a value of rawprof cpu, and may be a key. */
	for (size_t i = 0; i < g->nkeys; i++)
		if (!strcmp(g->keys[i].name, type))
			c.key = c.title = "value";
	return c;
}

static int fill(const struct grouping *g, size_t shown, uint64_t whole, size_t nvalues,
		struct report_grid *grid)
{
	int err = 0;

	for (uint32_t i = 0; i < g->groups.count && !err; i++) {
		const struct group *group = (const struct group *)g->groups.items + i;
		struct report_cell cells[MAX_KEYS + 1 + REPORT_MAX_VALUES] = { 0 }, *cell = cells;

		cell++->real = report_text_percent(group->values[shown], whole);
		for (size_t v = 0; v < nvalues; v++)
			cell++->number = group->values[v];
		for (size_t k = 0; k < g->nkeys; k++, cell++) {
			cell->number = group->key[k];
			if (g->keys[k].kind != KEY_PID && g->keys[k].kind != KEY_TID)
				cell->text = strings_get(&g->strings, (uint32_t)group->key[k]);
		}
		err = report_grid_add(grid, cells);
	}
	return err;
}

/* As the key of a column has to be: of letters, digits and '_' ("sched:sched_switch" is not). */
static char *word_of(const char *name)
{
	char *word;

	if (asprintf(&word, "%s%s", *name >= '0' && *name <= '9' ? "_" : "", name) < 0)
		return NULL;
	for (char *c = word; *c; c++)
		if (!(*c >= '0' && *c <= '9') && !(*c >= 'a' && *c <= 'z') &&
		    !(*c >= 'A' && *c <= 'Z'))
			*c = '_';
	return word;
}

/* The columns' keys become words. */
static int new_grid(struct report_grid_spec *spec, struct report_column *columns,
		    struct report_grid **out)
{
	char *words[MAX_KEYS + 1 + REPORT_MAX_VALUES] = { NULL };
	int err = 0;

	for (size_t i = 0; i < spec->ncolumns && !err; i++) {
		columns[i].key = words[i] = word_of(columns[i].key);
		if (!words[i])
			err = -ENOMEM;
	}
	if (!err)
		err = report_grid_new(spec, out);
	for (size_t i = 0; i < spec->ncolumns; i++)
		free(words[i]);
	return err;
}

static int make_grid(const struct grouping *g, const char *list, unsigned int top,
		     struct report_grid **out)
{
	struct report_column columns[MAX_KEYS + 1 + REPORT_MAX_VALUES] = {
		{ .title = "SHARE", .key = "share", .unit = REPORT_UNIT_PERCENT, .adds = true }
	};
	struct report_grid_spec spec = {
		.metric = "report", .rows = "groups", .columns = columns, .ncolumns = 1
	};
	size_t type[REPORT_MAX_VALUES], n = types_of(g, type), shown = 0;
	const struct report *r = g->r;
	struct report_info info = r->meta.info;
	struct buf title = { 0 };
	uint64_t whole = 0;
	int err;

	for (size_t i = 0; i < n; i++) {
		const struct report_value_type t = report_value_type(r, type[i]);

		if (type[i] == g->weight)
			shown = i;
		columns[spec.ncolumns++] = value_column(g, t.type, t.unit);
	}
	for (size_t i = 0; i < g->nkeys; i++)
		columns[spec.ncolumns++] = key_column(&g->keys[i]);
	for (uint32_t i = 0; i < g->groups.count; i++)
		whole = add_saturating(whole,
				       ((const struct group *)g->groups.items)[i].values[shown]);
	spec.events = report_value_type(r, 0).type;
	report_buf_printf(&title, "%s by %s", report_value_type(r, g->weight).type, list);
	spec.title = title.s;
	err = title.err ? title.err : new_grid(&spec, columns, out);
	report_buf_free(&title);
	if (err)
		return err;
	info.counted = NULL;
	info.has_events = false; /* the head says how many groups there are */
	err = report_grid_sort(*out, 0, false, top);
	if (!err)
		err = fill(g, shown, whole, n, *out);
	if (!err)
		err = report_grid_set_info(*out, &info);
	if (!err && r->meta.has_ledger)
		err = report_grid_set_ledger(*out, &r->meta.ledger);
	if (!err && r->meta.has_cost)
		report_grid_set_cost(*out, &r->meta.cost);
	if (err)
		report_grid_free(*out);
	return err;
}

int report_group(const struct report *r, const char *keys, unsigned int weight, unsigned int top,
		 struct report_grid **out, char why[REPORT_WHY])
{
	struct grouping g = {
		.r = r, .weight = weight, .groups = HASH_MAP(struct group, key), .why = why
	};
	struct report_grid *grid = NULL;
	int err = report_strings_init(&g.strings);

	*why = '\0';
	if (!err)
		err = read_keys(&g, keys);
	if (!err && g.by_cpu && weight && weight != r->stream->value) {
		snprintf(why, REPORT_WHY, "there are no times of %.60s",
			 report_value_type(r, weight).type);
		err = -EINVAL;
	}
	if (!err)
		err = add_all(&g);
	if (!err)
		err = make_grid(&g, keys, top, &grid);
	if (err == -EINVAL && !*why)
		snprintf(why, REPORT_WHY, "a key twice, or one that is called as a value is");
	for (size_t i = 0; i < g.nkeys; i++)
		free(g.keys[i].name);
	report_strings_free(&g.strings);
	rp_hash_free(&g.groups);
	if (!err)
		*out = grid;
	return err;
}
