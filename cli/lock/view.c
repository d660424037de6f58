/* SPDX-License-Identifier: BSD-2-Clause */
/* Waits for locks as rows, and the heaviest as sentences. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rawprof/grid.h>

#include "lock.h"
#include "base/clock.h"
#include "base/text.h"
#include "cli/views.h"

#define ROWS 20
#define SENTENCES 5

static const struct lock_by ways[] = {
	{ "lock",
	  { LOCK_WORD_TYPE, LOCK_WORD_LOCK },
	  2,
	  { LOCK_WORD_COMMAND, LOCK_WORD_CALLER, LOCK_WORD_RELEASED },
	  3,
	  "locks" },
	{ "caller",
	  { LOCK_WORD_TYPE, LOCK_WORD_CALLER },
	  2,
	  { LOCK_WORD_COMMAND, LOCK_WORD_LOCK, LOCK_WORD_RELEASED },
	  3,
	  "callers" },
	{ "thread",
	  { LOCK_WORD_THREAD, LOCK_WORD_COMMAND },
	  2,
	  { LOCK_WORD_TYPE, LOCK_WORD_LOCK, LOCK_WORD_CALLER },
	  3,
	  "threads" },
	{ "type", { LOCK_WORD_TYPE }, 1, { LOCK_WORD_LOCK, LOCK_WORD_CALLER }, 2, "types" },
	{ "releaser",
	  { LOCK_WORD_RELEASER, LOCK_WORD_RELEASED, LOCK_WORD_COMMAND, LOCK_WORD_CALLER },
	  4,
	  { LOCK_WORD_TYPE, LOCK_WORD_LOCK },
	  2,
	  "pairs" },
	{ "outcome",
	  { LOCK_WORD_OUTCOME, LOCK_WORD_TYPE },
	  2,
	  { LOCK_WORD_LOCK, LOCK_WORD_CALLER },
	  2,
	  "outcomes" },
};

const struct lock_by *lock_by_name(const char *name)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!strcmp(ways[i].name, name))
			return &ways[i];
	return NULL;
}

/* ---- rows */

static const struct report_column words[LOCK_WORDS] = {
	[LOCK_WORD_TYPE] = { "TYPE", "type", REPORT_UNIT_TEXT },
	[LOCK_WORD_LOCK] = { "LOCK", "lock", REPORT_UNIT_TEXT },
	[LOCK_WORD_CALLER] = { "CALLER", "caller", REPORT_UNIT_TEXT },
	[LOCK_WORD_COMMAND] = { "COMMAND", "comm", REPORT_UNIT_TEXT },
	[LOCK_WORD_THREAD] = { "THREAD", "tid", REPORT_UNIT_TEXT },
	[LOCK_WORD_RELEASER] = { "RELEASER", "releaser", REPORT_UNIT_TEXT },
	[LOCK_WORD_RELEASED] = { "RELEASED IN", "released_in", REPORT_UNIT_TEXT },
	[LOCK_WORD_OUTCOME] = { "OUTCOME", "outcome", REPORT_UNIT_TEXT },
};
enum { WAITS, TOTAL, AVERAGE, LONGEST, TIMED_OUT, CHANGED, FIGURES };
static const struct report_column figures[FIGURES] = {
	[WAITS] = { "WAITS", "waits", REPORT_UNIT_COUNT, .adds = true },
	[TOTAL] = { "TOTAL", "total", REPORT_UNIT_NS, .adds = true },
	[AVERAGE] = { "AVERAGE", "average", REPORT_UNIT_NS },
	[LONGEST] = { "LONGEST", "longest", REPORT_UNIT_NS },
	[TIMED_OUT] = { "TIMED OUT", "timed_out", REPORT_UNIT_COUNT, .adds = true },
	[CHANGED] = { "NO WAIT", "no_wait", REPORT_UNIT_COUNT, .adds = true },
};

/* Locks of one name in different processes are different locks; the kernel's are of no process. */
static uint64_t place(const struct lock_item *item)
{
	return item->how & LOCK_FUTEX ? item->waiter->record->pid_tgid >> 32 : 0;
}

static int compare_keys(const struct lock_item *x, const struct lock_item *y,
			const struct lock_by *by)
{
	for (size_t i = 0; i < by->nkeys; i++) {
		int order = strcmp(x->word[by->key[i]], y->word[by->key[i]]);

		if (order)
			return order;
		if (by->key[i] == LOCK_WORD_LOCK && place(x) != place(y))
			return place(x) < place(y) ? -1 : 1;
		if (by->key[i] == LOCK_WORD_LOCK && x->how & (LOCK_MMAP | LOCK_SIGHAND) &&
		    x->waiter->record->tag != y->waiter->record->tag)
			return x->waiter->record->tag < y->waiter->record->tag ? -1 : 1;
	}
	return 0;
}

/* In a row the heaviest first. */
static int by_key(const void *a, const void *b, void *ctx)
{
	const struct lock_item *x = a, *y = b;
	int order = compare_keys(x, y, ctx);

	if (order)
		return order;
	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	for (int w = 0; !order && w < LOCK_WORDS; w++)
		order = strcmp(x->word[w], y->word[w]);
	return order;
}

/* What the heaviest waits of a row have for a word, and whether others have something else. */
static char *word_of_row(const struct lock_item *first, size_t n, enum lock_word word)
{
	const char *text = first->word[word];
	bool several = false;
	char *out;

	for (size_t i = 1; i < n; i++)
		several |= strcmp(first[i].word[word], text) != 0;
	if (!*text && !several)
		return strdup("-");
	return asprintf(&out, "%s%s", *text ? text : "-", several ? ", ..." : "") < 0 ? NULL : out;
}

/* What a table has columns for: held mutexes have fewer. */
struct shape {
	struct lock_by by;
	size_t nfigures;
};

static struct shape shape_of(const struct lock *l)
{
	struct shape s = { .by = *lock_by_name(l->options->by ? l->options->by : "lock"),
			   .nfigures = l->options->hold ? TIMED_OUT : FIGURES };

	if (l->options->hold && s.by.also[s.by.nalso - 1] == LOCK_WORD_RELEASED)
		s.by.nalso--;
	return s;
}

static void list_columns(const struct shape *s, struct report_column *out, size_t *n)
{
	*n = 0;
	for (size_t i = 0; i < s->by.nkeys; i++)
		out[(*n)++] = words[s->by.key[i]];
	for (size_t i = 0; i < s->nfigures; i++)
		out[(*n)++] = figures[i];
	for (size_t i = 0; i < s->by.nalso; i++)
		out[(*n)++] = words[s->by.also[i]];
}

static int add_row(struct report_grid *g, const struct shape *s, const struct lock_item *first,
		   size_t n)
{
	const struct lock_by *by = &s->by;
	struct report_cell cells[REPORT_GRID_MAX_COLUMNS] = { 0 };
	char *also[3] = { 0 };
	size_t at = by->nkeys;
	uint64_t count = 0, ns = 0, longest = 0, timed_out = 0, changed = 0;
	int err = 0;

	for (size_t i = 0; i < n; i++) {
		count += first[i].count;
		ns += first[i].ns;
		longest = first[i].max_ns > longest ? first[i].max_ns : longest;
		timed_out += first[i].outcome == LOCK_TIMED_OUT ? first[i].count : 0;
		changed += first[i].outcome == LOCK_CHANGED ? first[i].count : 0;
	}
	for (size_t i = 0; i < by->nkeys; i++)
		cells[i].text = *first->word[by->key[i]] ? first->word[by->key[i]] : "-";
	cells[at + WAITS].number = count;
	cells[at + TOTAL].number = ns;
	cells[at + AVERAGE].number = count ? ns / count : 0;
	cells[at + LONGEST].number = longest;
	if (s->nfigures == FIGURES) {
		cells[at + TIMED_OUT].number = timed_out;
		cells[at + CHANGED].number = changed;
	}
	for (size_t i = 0; i < by->nalso; i++) {
		also[i] = word_of_row(first, n, by->also[i]);
		cells[at + s->nfigures + i].text = also[i];
		err = also[i] ? err : -ENOMEM;
	}
	if (!err)
		err = report_grid_add(g, cells);
	for (size_t i = 0; i < by->nalso; i++)
		free(also[i]);
	return err;
}

static int add_rows(struct report_grid *g, const struct shape *s, struct lock_list *list)
{
	const struct lock_by *by = &s->by;
	int err = 0;

	if (list->n)
		qsort_r(list->item, list->n, sizeof(*list->item), by_key, (void *)by);
	for (size_t i = 0, n; !err && i < list->n; i += n) {
		for (n = 1;
		     i + n < list->n && !compare_keys(&list->item[i], &list->item[i + n], by);)
			n++;
		err = add_row(g, s, &list->item[i], n);
	}
	return err;
}

/* ---- sentences */

/* All waits of a command for a lock in a function, released by one command in one function. */
static const struct lock_by pairs = { .key = { LOCK_WORD_COMMAND, LOCK_WORD_CALLER, LOCK_WORD_LOCK,
					       LOCK_WORD_RELEASED },
				      .nkeys = 4 };

static void print_time(FILE *out, uint64_t ns)
{
	static const struct {
		double ns;
		const char *unit;
	} units[] = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" }, { 1, "ns" } };
	size_t i = 0;

	while (i < 3 && (double)ns < units[i].ns)
		i++;
	fprintf(out, "%.3g %s", (double)ns / units[i].ns, units[i].unit);
}

static void print_sentence(FILE *out, const struct lock_item *i, const struct lock_item *sum)
{
	rp_text_print(out, "  %s waited ", i->word[LOCK_WORD_COMMAND]);
	print_time(out, sum->ns);
	rp_text_print(out, " for %s (%s", i->word[LOCK_WORD_LOCK], i->word[LOCK_WORD_TYPE]);
	if (sum->count > 1)
		fprintf(out, ", %" PRIu64 " times", sum->count);
	rp_text_print(out, ") in %s, %s by %s in %s\n", i->word[LOCK_WORD_CALLER],
		      i->how & LOCK_GIL ? "held" : "released", i->word[LOCK_WORD_RELEASER],
		      i->word[LOCK_WORD_RELEASED]);
}

/* A pair, by where it begins in the list. */
struct heavy {
	struct lock_item sum;
	size_t first;
};

static int by_weight(const void *a, const void *b)
{
	const struct heavy *x = a, *y = b;

	if (x->sum.ns != y->sum.ns)
		return x->sum.ns > y->sum.ns ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static int print_sentences(FILE *out, struct lock_list *list)
{
	struct heavy *heavy = calloc(list->n + 1, sizeof(*heavy));
	size_t n = 0;

	if (!heavy)
		return -ENOMEM;
	if (list->n)
		qsort_r(list->item, list->n, sizeof(*list->item), by_key, (void *)&pairs);
	for (size_t i = 0; i < list->n; i++) {
		const struct lock_item *item = &list->item[i];

		if (!item->releaser)
			continue;
		if (!n || compare_keys(&list->item[heavy[n - 1].first], item, &pairs))
			heavy[n++].first = i;
		heavy[n - 1].sum.ns += item->ns;
		heavy[n - 1].sum.count += item->count;
	}
	if (n)
		qsort(heavy, n, sizeof(*heavy), by_weight);
	if (n)
		fprintf(out, "\nHELD UP, heaviest %zu of %zu\n", n < SENTENCES ? n : SENTENCES, n);
	for (size_t i = 0; i < n && i < SENTENCES; i++)
		print_sentence(out, &list->item[heavy[i].first], &heavy[i].sum);
	free(heavy);
	return 0;
}

/* ---- all together */

int lock_empty_grid(struct recording *rec, struct report_grid **out)
{
	const struct lock *l = rec->ctx;
	const struct shape shape = shape_of(l);
	struct report_column columns[REPORT_GRID_MAX_COLUMNS];
	char title[64];
	struct report_grid_spec spec = { .title = title,
					 .metric = "lock",
					 .events = "waits",
					 .rows = shape.by.rows,
					 .columns = columns };

	snprintf(title, sizeof(title), "waits for locks by %s", shape.by.name);
	list_columns(&shape, columns, &spec.ncolumns);
	if (l->options->hold) {
		snprintf(title, sizeof(title), "time that mutexes are held, by %s", shape.by.name);
		spec.metric = "lock_hold";
		spec.events = "holds";
		columns[shape.by.nkeys + WAITS].title = "HOLDS";
		columns[shape.by.nkeys + WAITS].key = "holds";
	}
	return grid_new(options_of(rec), &spec, "total", ROWS, out);
}

static int fill_grid(struct recording *rec, struct report_grid *g, struct lock_list *list,
		     bool part, struct record_ledger *ledger)
{
	struct lock *l = rec->ctx;
	struct record_info info;
	const struct shape shape = shape_of(l);
	int err = add_rows(g, &shape, list);

	if (!err)
		err = part ? record_info_since(rec, &l->earlier_ns, &info)
			   : record_info(rec, NULL, &info);
	if (err)
		return err;
	err = report_grid_set_info(g, &info.info);
	record_info_free(&info);
	return err ? err : grid_ledger(rec, 0, g, ledger);
}

static int report(struct recording *rec, bool part)
{
	struct lock_list list = { 0 };
	struct report_grid *g = NULL;
	struct record_ledger ledger;
	int err = lock_waits(rec, part, &list);

	if (!err)
		err = lock_empty_grid(rec, &g);
	if (!err)
		err = fill_grid(rec, g, &list, part, &ledger);
	output_of(rec)->show.part = part;
	if (!err)
		err = output_grid(output_of(rec), options_of(rec), g);
	if (!err && options_of(rec)->format->for_people)
		err = print_sentences(output_of(rec)->stream, &list);
	if (!err)
		err = output_flush(output_of(rec));
	if (!err && !part)
		err = output_tell(output_of(rec), options_of(rec), NULL, &ledger.report,
				  &ledger.cost);
	report_grid_free(g);
	lock_list_free(&list);
	return err;
}

int lock_report_grid(struct recording *rec)
{
	return report(rec, false);
}

int lock_report_interval(struct recording *rec)
{
	int err = record_prepare_kernel(rec);

	return err ? err : report(rec, true);
}
