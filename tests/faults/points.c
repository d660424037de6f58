/* SPDX-License-Identifier: BSD-2-Clause */
/* points.c: finds the points of all commands, runs each, and says what came of it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "left.h"
#include "main.h"
#include "place.h"

enum { MAX_POINTS = 1 << 18, USUAL = 1 << 16, SAID = 400, TRIES = 3, LACKS_TRIES = 4 };

static const char *const verdict_names[VERDICTS] = { "right",	"tolerated", "silent",
						     "partial", "crashed",   "hung",
						     "left",	"status",    "not reached" };

struct result {
	struct point point;
	struct outcome out;
	bool tried;
	char said[SAID]; /* the last line on standard error */
};

/* What a run without a fault is: shared by all workers. */
struct found {
	char usual[USUAL];
	char broken[400]; /* what is wrong without a fault */
	bool lost;	  /* too much else went on in this machine for a whole result */
	uint32_t nsites[2];
	struct site sites[2][SITE_MAX];
};

struct seen {
	uint32_t row;
	struct site site;
};

struct all {
	struct seen *seen;   /* a hash table */
	struct found *found; /* [nrows] */
	struct result *results;
	unsigned int n, *done;
};

static void last_line(const char *dir, char *out, size_t size)
{
	char *text = read_file(dir, "stderr", NULL), *line, *rest = text;

	*out = 0;
	while (text && (line = strsep(&rest, "\n"))) {
		if (*line && strncmp(line, "own cost", 8) && strncmp(line, "ledger", 6))
			snprintf(out, size, "%s", line);
	}
	free(text);
}

/* ---- finding */

/* Finding takes most of the time of a small sample: it has one row in four, and every command. */
static bool in_sample(unsigned int row)
{
	const size_t length = strcspn(rows[row].args, " ");

	return !options.sample || ((row * 2654435761u ^ options.seed) >> 5 & 3) == 0 || !row ||
	       strncmp(rows[row - 1].args, rows[row].args, length + 1);
}

/*
 * Two runs in which calls are counted, and before them one for what is usually said. On a busy
 * machine one may have no samples.
 */
static void find(struct worker *w, unsigned int row, void *ctx)
{
	static const enum run_mode modes[] = { RUN_PLAIN, RUN_COUNT_CALLS, RUN_COUNT_MEMORY };
	struct found *found = &((struct all *)ctx)->found[row];
	struct run run = { .row = &rows[row] };

	if (!row_chosen(row) || !in_sample(row))
		return;
	for (int i = 0; i < 3; i++) {
		struct outcome out;
		char *usual, line[200];
		size_t n = strlen(found->usual);

		run.mode = modes[i];
		for (int k = 0; k < TRIES; k++) {
			worker_run(w, &run, &out, i ? found->usual : "");
			if (out.verdict == TOLERATED)
				break;
		}
		if (out.verdict != TOLERATED) {
			last_line(w->dir, line, sizeof(line));
			found->lost = out.verdict == SILENT && !WEXITSTATUS(out.status);
			snprintf(found->broken, sizeof(found->broken), "run %d: %s: %s: %s", i,
				 verdict_names[out.verdict], out.why, line);
		}
		usual = judge_usual(run.row, w->dir);
		snprintf(found->usual + n, USUAL - n, "%s", usual);
		free(usual);
		for (uint32_t k = 0; i && k < SITE_MAX; k++) {
			if (w->shared->sites[k].count)
				found->sites[i - 1][found->nsites[i - 1]++] = w->shared->sites[k];
		}
		if (i && w->shared->lost)
			fprintf(stderr, "faults: %s: %u calls too many\n", rows[row].args,
				w->shared->lost);
	}
}

static int by_place(const void *a, const void *b)
{
	const struct site *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return memcmp(x->at, y->at, sizeof(x->at));
}

static void add_point(struct all *all, uint32_t row, const struct site *site, uint32_t nth, int err)
{
	struct point *p = &all->results[all->n].point;

	if (all->n == MAX_POINTS)
		return;
	*p = (struct point){ .row = row, .nth = nth, .err = err, .site = *site };
	all->n++;
}

static void add_site(struct all *all, uint32_t row, const struct site *site)
{
	int errors[3], n = kind_errors(site->kind, errors);

	for (int i = 0; i < n; i++)
		add_point(all, row, site, 1, errors[i]);
	if (site->count > 1)
		add_point(all, row, site, 2, errors[0]);
	if (site->count > 2)
		add_point(all, row, site, site->count, errors[0]);
}

/* Rows of one command have most of their calls in common: such a call is failed in one of them. */
static bool is_new(struct all *all, uint32_t row, const struct site *site)
{
	struct site key = *site;
	uint64_t hash = key.kind * 31 + key.at[0] * 7 + key.at[1];
	size_t length = strcspn(rows[row].args, " ");

	if (options.all)
		return true;
	for (uint32_t i = 0;; i++) {
		struct seen *s = &all->seen[(hash + i) % MAX_POINTS];

		if (!s->site.count) {
			*s = (struct seen){ row, key };
			return true;
		}
		if (s->site.kind == key.kind && s->site.at[0] == key.at[0] &&
		    s->site.at[1] == key.at[1] && s->row != row &&
		    !strncmp(rows[s->row].args, rows[row].args, length))
			return false;
	}
}

static void add_row(struct all *all, uint32_t row)
{
	struct found *found = &all->found[row];

	if (found->broken[0])
		return;
	for (int i = 0; i < 2; i++) {
		qsort(found->sites[i], found->nsites[i], sizeof(struct site), by_place);
		for (uint32_t k = 0; k < found->nsites[i]; k++) {
			if (is_new(all, row, &found->sites[i][k]))
				add_site(all, row, &found->sites[i][k]);
		}
	}
}

/* Those asked for by --at are kept. */
static void find_places(struct all *all)
{
	unsigned int kept = 0;
	char name[1200];

	place_begin();
	for (unsigned int i = 0; i < all->n; i++)
		place_add(&all->results[i].point.site);
	place_end();
	for (unsigned int i = 0; options.at && i < all->n; i++) {
		place_name(&all->results[i].point.site, name, sizeof(name));
		if (strstr(name, options.at))
			all->results[kept++] = all->results[i];
	}
	if (options.at)
		all->n = kept;
}

/* Neither the date nor the order of the table has a part in it. */
static uint64_t lot(const struct point *p)
{
	uint64_t hash = options.seed;
	const uint64_t words[] = { p->row,	  p->site.kind, p->site.at[0],	 p->site.at[1],
				   p->site.at[2], p->nth,	(uint64_t)p->err };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		hash = (hash ^ words[i]) * 0xff51afd7ed558ccdULL;
		hash ^= hash >> 32;
	}
	return hash;
}

static int by_lot(const void *a, const void *b)
{
	uint64_t x = lot(&((const struct result *)a)->point);
	uint64_t y = lot(&((const struct result *)b)->point);

	return x < y ? -1 : x > y;
}

/* In that order, so that a run which is ended early has tried something of all commands. */
static void choose(struct all *all)
{
	qsort(all->results, all->n, sizeof(*all->results), by_lot);
	if (options.sample && options.sample < all->n)
		all->n = options.sample;
}

/* ---- saying */

static bool is_mistake(enum verdict v)
{
	return v != RIGHT && v != TOLERATED && v != NOT_REACHED;
}

static void print_id(FILE *f, const struct point *p)
{
	fprintf(f, "%u:%" PRIx64 ":%x:%x:%x:%u:%d", p->row, p->site.kind, p->site.at[0],
		p->site.at[1], p->site.at[2], p->nth, p->err);
}

static void print_mistake(FILE *f, const struct result *r)
{
	char kind[64], where[1200];

	kind_name(r->point.site.kind, kind, sizeof(kind));
	place_name(&r->point.site, where, sizeof(where));
	fprintf(f, "%s\n    %s: %s\n    %s = %s, call %u of %u; rawprof %s%s\n", where,
		verdict_names[r->out.verdict], r->out.why, kind, strerrorname_np(r->point.err),
		r->point.nth, r->point.site.count, rows[r->point.row].args,
		rows[r->point.row].cold ? " (cold)" : "");
	fprintf(f, "    said: %s\n    faults --point ", r->said);
	print_id(f, &r->point);
	fputc('\n', f);
}

/* ---- trying */

/* As it comes, so that a run which is ended early has told what it saw. */
static void tell(const struct result *result)
{
	FILE *f = options.findings ? fopen(options.findings, "ae") : NULL;

	print_mistake(f ? f : stdout, result);
	if (f)
		fclose(f);
}

/*
 * What was silent once may have been a run without samples on a busy machine, and what hung one
 * that was not given the time: it has to be so twice, and a result without a word often.
 */
static bool once_more(const struct outcome *out, unsigned int tries)
{
	const bool lacks =
		out->verdict == SILENT && WIFEXITED(out->status) && !WEXITSTATUS(out->status);

	return lacks ? tries < LACKS_TRIES
		     : tries < 2 && (out->verdict == SILENT || out->verdict == STATUS ||
				     out->verdict == HUNG || out->verdict == NOT_REACHED);
}

static void try(struct worker *w, unsigned int i, void *ctx)
{
	struct all *all = ctx;
	struct result *result = &all->results[i];
	struct run run = { .row = &rows[result->point.row],
			   .mode = RUN_FAIL,
			   .point = result->point };
	const char *usual = all->found[result->point.row].usual;
	unsigned int done, tries = 0;

	do
		worker_run(w, &run, &result->out, usual);
	while (once_more(&result->out, ++tries));
	result->tried = true;
	last_line(w->dir, result->said, sizeof(result->said));
	if (is_mistake(result->out.verdict))
		tell(result);
	done = __atomic_add_fetch(all->done, 1, __ATOMIC_RELAXED);
	if (done % 1000 == 0)
		printf("%u of %u points\n", done, all->n);
}

/* ---- the table */

static void print_row(const char *name, const unsigned int counts[VERDICTS])
{
	unsigned int n = 0;

	for (int v = 0; v < NOT_REACHED; v++)
		n += counts[v];
	printf("%-52s %6u", name, n);
	for (int v = 0; v < VERDICTS; v++)
		printf(" %*u",
		       (int)strlen(verdict_names[v]) < 6 ? 6 : (int)strlen(verdict_names[v]),
		       counts[v]);
	putchar('\n');
}

/* Returns the number of mistakes. */
static unsigned int print_table(const struct all *all)
{
	unsigned int total[VERDICTS] = { 0 }, mistakes = 0;

	printf("%-52s %6s", "COMMAND", "POINTS");
	for (int v = 0; v < VERDICTS; v++)
		printf(" %6s", verdict_names[v]);
	putchar('\n');
	for (unsigned int row = 0; row < nrows; row++) {
		unsigned int counts[VERDICTS] = { 0 }, n = 0;
		char name[128];

		for (unsigned int i = 0; i < all->n; i++) {
			const struct result *r = &all->results[i];

			if (r->tried && r->point.row == row)
				counts[r->out.verdict]++, n++;
		}
		snprintf(name, sizeof(name), "%2u %s%s", row, rows[row].args,
			 rows[row].cold ? " (cold)" : "");
		if (n)
			print_row(name, counts);
		for (int v = 0; v < VERDICTS; v++) {
			total[v] += counts[v];
			mistakes += is_mistake((enum verdict)v) ? counts[v] : 0;
		}
	}
	print_row("all", total);
	return mistakes;
}

static void list(const struct all *all)
{
	for (unsigned int i = 0; i < all->n; i++) {
		const struct point *p = &all->results[i].point;
		char kind[64];

		kind_name(p->site.kind, kind, sizeof(kind));
		print_id(stdout, p);
		printf("\t%s\t%s\t%u of %u\t%s\n", kind, strerrorname_np(p->err), p->nth,
		       p->site.count, rows[p->row].args);
	}
}

static unsigned int print_broken(const struct all *all)
{
	unsigned int broken = 0;

	for (unsigned int row = 0; row < nrows; row++) {
		if (!all->found[row].broken[0])
			continue;
		broken += !all->found[row].lost;
		printf("%s, without a fault: row %u: rawprof %s: %s\n",
		       all->found[row].lost ? "skip: a busy machine" : "FAIL", row, rows[row].args,
		       all->found[row].broken);
	}
	return broken;
}

int points_main(void)
{
	struct all all = { .found = shared_memory(nrows * sizeof(struct found)),
			   .seen = shared_memory(MAX_POINTS * sizeof(struct seen)),
			   .done = shared_memory(sizeof(unsigned int)),
			   .results = shared_memory(MAX_POINTS * sizeof(struct result)) };
	unsigned int mistakes, broken, tried = 0;
	char left[400];
	time_t began = time(NULL);

	left_begin();
	in_parallel(nrows, find, &all);
	broken = print_broken(&all);
	for (unsigned int row = 0; row < nrows; row++)
		add_row(&all, row);
	printf("%u points, found in %ld s\n", all.n, (long)(time(NULL) - began));
	choose(&all);
	find_places(&all);
	if (options.list) {
		list(&all);
		return 0;
	}
	began = time(NULL);
	in_parallel(all.n, try, &all);
	mistakes = print_table(&all);
	if (left_since(left, sizeof(left))) {
		broken++;
		printf("FAIL left in the kernel: %s\n", left);
	}
	for (unsigned int i = 0; i < all.n; i++)
		tried += all.results[i].tried;
	printf("%u points in %ld s, seed %u\n", tried, (long)(time(NULL) - began), options.seed);
	printf("%u passed, %u failed, 0 skipped\n", tried - mistakes, mistakes + broken);
	return mistakes + broken > 0;
}

/* ---- one again */

static void again(struct worker *w, unsigned int i, void *ctx)
{
	const struct point *p = ctx;
	struct run run = { .row = &rows[p->row], .mode = RUN_PLAIN };
	struct result result = { .point = *p };
	char *usual, *said;

	(void)i;
	worker_run(w, &run, &result.out, "");
	usual = judge_usual(run.row, w->dir);
	run.mode = RUN_FAIL;
	run.point = *p;
	worker_run(w, &run, &result.out, usual);
	said = read_file(w->dir, "stderr", NULL);
	printf("status %x, %s\n%s\n", result.out.status,
	       result.out.fired ? "reached" : "not reached", said ? said : "");
	last_line(w->dir, result.said, sizeof(result.said));
	print_mistake(stdout, &result);
	free(usual);
	free(said);
}

int point_main(void)
{
	struct point p = { 0 };

	if (sscanf(options.point, "%" SCNu32 ":%" SCNx64 ":%x:%x:%x:%" SCNu32 ":%d", &p.row,
		   &p.site.kind, &p.site.at[0], &p.site.at[1], &p.site.at[2], &p.nth,
		   &p.err) != 7 ||
	    p.row >= nrows) {
		fprintf(stderr, "faults: no such point: %s\n", options.point);
		return 2;
	}
	place_begin();
	place_add(&p.site);
	place_end();
	options.jobs = 1;
	in_parallel(1, again, &p);
	return 0;
}
