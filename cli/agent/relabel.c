/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Services: samples of a window that have the same labels, after rules have changed them. What
 * servers count as series is limited: the lightest services beyond the limit are one, "other".
 */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "push.h"

#define MAX_TEXT 512
#define MAX_NAME 64
#define NO_PART UINT32_MAX

/* ---- labels */

static struct report_label *find(const struct push_labels *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->label[i].key, name))
			return (struct report_label *)(uintptr_t)&l->label[i];
	return NULL;
}

const char *push_label(const struct push_labels *l, const char *name)
{
	const struct report_label *label = find(l, name);

	return label ? label->str : NULL;
}

static void remove_label(struct push_labels *l, const char *name)
{
	const struct report_label *label = find(l, name);
	const size_t i = label ? (size_t)(label - l->label) : 0;

	if (!label)
		return;
	free(l->memory[i]);
	l->n--;
	memmove(&l->label[i], &l->label[i + 1], (l->n - i) * sizeof(l->label[0]));
	memmove(&l->memory[i], &l->memory[i + 1], (l->n - i) * sizeof(l->memory[0]));
}

int push_label_set(struct push_labels *l, const char *name, const char *text)
{
	const size_t nname = strlen(name) + 1, ntext = strlen(text) + 1;
	char *memory;
	size_t at;

	if (!*text) {
		remove_label(l, name);
		return 0;
	}
	memory = malloc(nname + ntext);
	if (!memory)
		return -ENOMEM;
	memcpy(memory, name, nname);
	memcpy(memory + nname, text, ntext);
	remove_label(l, name);
	if (l->n == PUSH_MAX_LABELS) {
		free(memory);
		return 0;
	}
	for (at = l->n; at && strcmp(l->label[at - 1].key, name) > 0; at--) {
		l->label[at] = l->label[at - 1];
		l->memory[at] = l->memory[at - 1];
	}
	l->memory[at] = memory;
	l->label[at] = (struct report_label){ .key = memory, .str = memory + nname };
	l->n++;
	return 0;
}

void push_labels_free(struct push_labels *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->memory[i]);
	*l = (struct push_labels){ 0 };
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) all of them are freed: it loses count */
}

/* ---- rules */

static bool fits(const char *globs, const char *text)
{
	char glob[MAX_TEXT];

	while (*globs) {
		const size_t n = strcspn(globs, ",");

		snprintf(glob, sizeof(glob), "%.*s", (int)(n < MAX_TEXT ? n : MAX_TEXT - 1), globs);
		if (!fnmatch(glob, text, 0))
			return true;
		globs += n + (globs[n] == ',');
	}
	return false;
}

/* "${label}" stands for the label's text, and for nothing if there is none. */
static void expand(const char *value, const struct push_labels *l, char out[MAX_TEXT])
{
	size_t have = 0;

	while (*value && have < MAX_TEXT - 1) {
		const size_t n = value[0] == '$' && value[1] == '{' ? strcspn(value, "}") : 0;
		char name[64];
		const char *text;

		if (!n || !value[n] || n - 2 >= sizeof(name)) {
			out[have++] = *value++;
			continue;
		}
		snprintf(name, sizeof(name), "%.*s", (int)(n - 2), value + 2);
		text = push_label(l, name);
		value += n + 1;
		while (text && *text && have < MAX_TEXT - 1)
			out[have++] = *text++;
	}
	out[have] = '\0';
}

bool push_relabel(const struct push_config *c, struct push_labels *l, int *err)
{
	char text[MAX_TEXT];

	*err = 0;
	for (size_t i = 0; i < c->nrules && !*err; i++) {
		const struct push_rule *r = &c->rule[i];
		const char *had = push_label(l, r->label);
		const bool fit = fits(r->globs, had ? had : "");

		if (r->kind == PUSH_REMOVE)
			remove_label(l, r->label);
		else if (r->kind != PUSH_REPLACE && r->kind != PUSH_LABEL &&
			 fit == (r->kind == PUSH_DROP))
			return false;
		else if (r->kind == PUSH_LABEL || (r->kind == PUSH_REPLACE && fit)) {
			expand(r->value, l, text);
			*err = push_label_set(l, r->target, text);
		}
	}
	return true;
}

/* ---- services */

/* By what is known of it: the unit, without its ending, the file, the container. */
static int name_service(struct push_labels *l)
{
	static const char *const names[] = { "unit", "exe", "container" };
	char text[MAX_TEXT] = "unknown";
	const char *known = NULL;
	size_t n;

	if (push_label(l, "service_name"))
		return 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !known; i++)
		known = push_label(l, names[i]);
	if (known)
		snprintf(text, sizeof(text), "%s", known);
	n = strlen(text);
	if (n > 8 && !strcmp(text + n - 8, ".service"))
		text[n - 8] = '\0';
	return push_label_set(l, "service_name", text);
}

/* The next name of a list with commas between them. False: there is none. */
static bool next_name(const char **list, char name[MAX_NAME])
{
	const size_t n = strcspn(*list, ",");

	if (!**list)
		return false;
	snprintf(name, MAX_NAME, "%.*s", (int)(n < MAX_NAME ? n : MAX_NAME - 1), *list);
	*list += n + ((*list)[n] == ',');
	return true;
}

static bool is_in(const char *list, const char *name)
{
	char word[MAX_NAME];

	while (next_name(&list, word))
		if (!strcmp(word, name))
			return true;
	return false;
}

static int set_known(struct push_labels *l, const struct report *r, size_t set, const char *name)
{
	const char *text = push_label(l, name) ? NULL : report_label_text(r, set, name);

	return text ? push_label_set(l, name, text) : 0;
}

/* The next "${label}" of a text. False: there is none. */
static bool next_reference(const char **text, char name[MAX_NAME])
{
	const char *begin = strstr(*text, "${"), *end = begin ? strchr(begin, '}') : NULL;

	if (!end)
		return false;
	snprintf(name, MAX_NAME, "%.*s",
		 (int)(end - begin - 2 < MAX_NAME ? end - begin - 2 : MAX_NAME - 1), begin + 2);
	*text = end + 1;
	return true;
}

/* What rules ask for that tells no services apart by itself, as a label of its own. */
static int set_asked(const struct push_config *c, const struct report *r, size_t set,
		     struct push_labels *l)
{
	char name[MAX_NAME];
	int err = 0;

	for (size_t i = 0; i < c->nrules && !err; i++) {
		const char *value = c->rule[i].value;

		if (c->rule[i].kind != PUSH_LABEL)
			err = set_known(l, r, set, c->rule[i].label);
		while (!err && next_reference(&value, name))
			err = set_known(l, r, set, name);
	}
	return err;
}

/* Rules have had it, and none of them has made it a label. */
static void remove_asked(const struct push_config *c, const char *list, struct push_labels *l)
{
	for (size_t i = l->n; i-- > 0;) {
		bool stays = !strcmp(l->label[i].key, "host") || is_in(list, l->label[i].key);

		for (size_t j = 0; j < c->nrules && !stays; j++)
			stays = !strcmp(c->rule[j].target, l->label[i].key);
		if (!stays)
			remove_label(l, l->label[i].key);
	}
}

/* Of one set of labels in the window. False: a rule drops it. */
static bool labels_of(const struct push_config *c, const struct report *r, size_t set,
		      struct push_labels *l, int *err)
{
	const struct report_info *info = report_get_info(r);
	const char *list = c->series ? c->series : PUSH_SERIES, *rest = list;
	char name[MAX_NAME];
	bool keep;

	*err = info->host ? push_label_set(l, "host", info->host) : 0;
	while (!*err && next_name(&rest, name))
		*err = set_known(l, r, set, name);
	if (!*err)
		*err = set_asked(c, r, set, l);
	if (*err)
		return false;
	keep = push_relabel(c, l, err);
	remove_asked(c, list, l);
	if (keep && !*err)
		*err = name_service(l);
	return keep;
}

static int compare(const struct push_labels *a, const struct push_labels *b)
{
	int order = 0;

	for (size_t i = 0; i < a->n && i < b->n && !order; i++) {
		order = strcmp(a->label[i].key, b->label[i].key);
		if (!order)
			order = strcmp(a->label[i].str, b->label[i].str);
	}
	return order ? order : a->n < b->n ? -1 : a->n > b->n;
}

/* A set of labels of the window, and what became of it. */
struct origin {
	struct push_labels labels;
	size_t set;
};

static int by_labels(const void *a, const void *b)
{
	const struct origin *o = a, *p = b;

	return compare(&o->labels, &p->labels);
}

/* A service, and how much it has of the first value. */
struct weight {
	uint64_t value;
	uint32_t part;
};

struct split {
	struct origin *origin;
	size_t norigins, norigins_cap;
	uint32_t *part_of; /* of each set */
	uint64_t *total;   /* and of each what it has of the first value */
	struct weight *weight;
	struct push_series *series;
	size_t n;
};

static int find_origins(const struct push_config *c, const struct report *r, struct split *s)
{
	const size_t sets = report_label_sets(r);
	int err = 0;

	s->part_of = malloc((sets + 1) * sizeof(*s->part_of));
	s->total = malloc((sets + 1) * sizeof(*s->total));
	if (!s->part_of || !s->total)
		return -ENOMEM;
	report_label_set_totals(r, s->total);
	for (size_t i = 0; i < sets && !err; i++) {
		struct origin o = { .set = i };

		s->part_of[i] = NO_PART;
		if (s->total[i] != UINT64_MAX && labels_of(c, r, i, &o.labels, &err) && !err) {
			err = RP_PUSH(s->origin, s->norigins, s->norigins_cap, o);
			if (!err)
				continue;
		}
		push_labels_free(&o.labels);
	}
	if (s->norigins)
		qsort(s->origin, s->norigins, sizeof(*s->origin), by_labels);
	return err;
}

static int number_parts(struct split *s)
{
	s->series = calloc(s->norigins + 1, sizeof(*s->series));
	s->weight = calloc(s->norigins + 1, sizeof(*s->weight));
	if (!s->series || !s->weight)
		return -ENOMEM;
	for (size_t i = 0; i < s->norigins; i++) {
		struct origin *o = &s->origin[i];

		if (!s->n || compare(&o->labels, &s->series[s->n - 1].labels)) {
			s->weight[s->n].part = (uint32_t)s->n;
			s->series[s->n++].labels = o->labels;
			o->labels = (struct push_labels){ 0 };
		}
		s->weight[s->n - 1].value += s->total[o->set];
		s->part_of[o->set] = (uint32_t)(s->n - 1);
	}
	return 0;
}

/* ---- the limit */

static int by_weight(const void *a, const void *b)
{
	const struct weight *v = a, *w = b;

	if (v->value != w->value)
		return v->value < w->value ? 1 : -1;
	return v->part < w->part ? -1 : 1;
}

/* The one that stands for all beyond the limit. */
static int name_other(const struct report *r, struct push_labels *l)
{
	const struct report_info *info = report_get_info(r);
	const int err = push_label_set(l, "service_name", "other");

	return err || !info->host ? err : push_label_set(l, "host", info->host);
}

/*
 * The lightest services become one, at the end: names that are early in the alphabet cost nothing,
 * but time does.
 */
static int fold_light(const struct push_config *c, const struct report *r, struct split *s)
{
	const uint32_t kept = c->max_series - 1;
	uint32_t *number, n = 0;

	if (s->n <= c->max_series)
		return 0;
	number = malloc(s->n * sizeof(*number));
	if (!number)
		return -ENOMEM;
	qsort(s->weight, s->n, sizeof(*s->weight), by_weight);
	for (size_t i = kept; i < s->n; i++)
		push_labels_free(&s->series[s->weight[i].part].labels);
	for (size_t i = 0; i < s->n; i++) {
		number[i] = s->series[i].labels.n ? n : kept;
		if (s->series[i].labels.n)
			s->series[n++] = s->series[i];
	}
	for (size_t i = 0; i < s->norigins; i++)
		s->part_of[s->origin[i].set] = number[s->part_of[s->origin[i].set]];
	free(number);
	memset(s->series + kept, 0, (s->n - kept) * sizeof(*s->series));
	s->n = c->max_series;
	return name_other(r, &s->series[kept].labels);
}

static int split_report(const struct push_config *c, const struct report *r, struct split *s)
{
	struct report **parts = calloc(s->n + 1, sizeof(struct report *));
	const char *of_series = c->series ? c->series : PUSH_SERIES;
	char except[MAX_TEXT + sizeof(PUSH_OF_PROCESSES)];
	int err = parts ? 0 : -ENOMEM;

	snprintf(except, sizeof(except), "%s,%s", PUSH_OF_PROCESSES, of_series);
	if (!err)
		err = report_split(r, s->part_of, s->n, c->keep, except, parts);

	for (size_t i = 0; i < s->n && !err; i++)
		s->series[i].report = parts[i];
	free(parts);
	return err;
}

int push_series_make(const struct push_config *c, const struct report *r, struct push_series **out,
		     size_t *n)
{
	struct split s = { 0 };
	int err = find_origins(c, r, &s);

	if (!err)
		err = number_parts(&s);
	if (!err)
		err = fold_light(c, r, &s);
	if (!err)
		err = split_report(c, r, &s);
	for (size_t i = 0; i < s.norigins; i++)
		push_labels_free(&s.origin[i].labels);
	free(s.origin);
	free(s.part_of);
	free(s.weight);
	free(s.total);
	if (err) {
		push_series_free(s.series, s.n);
		return err;
	}
	*out = s.series;
	*n = s.n;
	return 0;
}

void push_series_free(struct push_series *s, size_t n)
{
	for (size_t i = 0; s && i < n; i++) {
		push_labels_free(&s[i].labels);
		report_free(s[i].report);
	}
	free(s);
}
