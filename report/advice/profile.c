/* SPDX-License-Identifier: BSD-2-Clause */
/* What a profile gives evidence of. */
#include <inttypes.h>
#include <stdlib.h>

#include "advice.h"
#include "report/table/table.h"

enum { FEWEST = 50 }; /* events: fewer are no evidence */

static void put_percent(struct buf *b, uint64_t part, uint64_t whole)
{
	report_buf_printf(b, "%.0f %%", report_text_percent(part, whole));
}

static bool reaches(uint64_t part, uint64_t whole, double percent)
{
	return whole && report_text_percent(part, whole) >= percent;
}

/* What the weights are, as a plural: "samples", "bytes of alloc_space". */
static void put_weight_name(struct buf *b, const struct advice_view *v)
{
	if (!strcmp(v->unit, "nanoseconds") && !strcmp(v->type, "cpu")) {
		report_buf_puts(b, "CPU time");
		return;
	}
	if (!strcmp(v->unit, "nanoseconds"))
		report_buf_puts(b, "time of ");
	else if (!strcmp(v->unit, "bytes"))
		report_buf_puts(b, "bytes of ");
	report_buf_clean(b, v->type, 0, 0);
}

/* Without a name a frame is called by its place, "[libfoo.so+0x1234]", or not at all. */
static bool is_unnamed(const struct report *r, const struct function *fn)
{
	const char *name = text(r, fn->name);

	return (fn->kind == REPORT_USER || fn->kind == REPORT_KERNEL) &&
	       (!name || !*name ||
		(*name == '[' && (strstr(name, "+0x") || !strcmp(name, "[unknown]"))));
}

/* Who calls a function the most, and for how much of its own weight. NONE: nobody. */
static uint32_t heaviest_caller(const struct advice_view *v, uint32_t function, uint64_t *weight)
{
	const struct report *r = v->r;
	uint64_t *callers = calloc((size_t)r->functions.count + 1, sizeof(*callers));
	uint32_t best = NONE;

	*weight = 0;
	for (uint32_t i = 1; callers && i < r->nnodes; i++) {
		const uint32_t parent = r->nodes[i].parent;
		uint32_t caller;

		if (!v->nodes[i] || !parent || frame_of(r, r->nodes[i].frame)->function != function)
			continue;
		caller = frame_of(r, r->nodes[parent].frame)->function;
		callers[caller] = add_saturating(callers[caller], v->nodes[i]);
		if (caller != function && callers[caller] > *weight) {
			*weight = callers[caller];
			best = caller;
		}
	}
	free(callers);
	return best;
}

/* Samples of a tracepoint, "group:name", are all where it stands; "cycles:u" is none. */
static bool is_tracepoint(const char *event)
{
	const char *colon = event ? strchr(event, ':') : NULL;

	return colon && strlen(colon + 1) > strlen("ukhGH");
}

bool report_advice_hot(const struct advice_view *v, double threshold,
		       struct buf words[ADVICE_WORDS])
{
	const struct report *r = v->r;
	uint32_t hot = NONE, caller;
	uint64_t by_caller;

	for (uint32_t i = 0; i < r->functions.count; i++)
		if (!is_unnamed(r, function_of(r, i)) && function_of(r, i)->kind != REPORT_MARK &&
		    (hot == NONE || v->self[i] > v->self[hot]))
			hot = i;
	if (hot == NONE || report_total(r, 0) < FEWEST ||
	    (!strcmp(v->command, "cpu") && is_tracepoint(r->meta.info.event)) ||
	    !reaches(v->self[hot], v->whole, threshold))
		return false;
	put_percent(&words[0], v->self[hot], v->whole);
	put_weight_name(&words[1], v);
	report_table_add_function(&words[2], r, hot);
	caller = heaviest_caller(v, hot, &by_caller);
	if (caller != NONE && reaches(by_caller, v->self[hot], 50)) {
		report_buf_puts(&words[3], ", called by ");
		report_table_add_function(&words[3], r, caller);
	}
	return true;
}

/* Of `mem --temporary`: one function's blocks that do not last. */
bool report_advice_temporary(const struct advice_view *v, double threshold,
			     struct buf words[ADVICE_WORDS])
{
	const struct report *r = v->r;
	const int made = report_value_by_name(r, "alloc_objects"),
		  freed = report_value_by_name(r, "temporary_objects");
	uint64_t *blocks, most = 0;
	uint32_t best = NONE;
	char number[NUMBER_SIZE];

	if (made < 0 || freed < 0)
		return false;
	blocks = calloc((size_t)r->functions.count + 1, sizeof(*blocks));
	for (uint32_t i = 0; blocks && i < r->samples.count; i++) {
		const uint32_t node = sample_of(r, i)->node;
		uint64_t *of = node ? &blocks[frame_of(r, r->nodes[node].frame)->function] : NULL;

		if (of)
			*of = add_saturating(*of, value_of(r, i, (size_t)freed));
	}
	for (uint32_t i = 0; blocks && i < r->functions.count; i++)
		if (blocks[i] > most) {
			most = blocks[i];
			best = i;
		}
	free(blocks);
	if (best == NONE || most < 1000 ||
	    !reaches(most, report_total(r, (unsigned int)made), threshold))
		return false;
	put_percent(&words[0], most, report_total(r, (unsigned int)made));
	report_buf_puts(&words[1], report_text_number(most, number));
	report_table_add_function(&words[2], r, best);
	return true;
}

/* The weight of samples whose label "state" has this value. */
static uint64_t weight_of_state(const struct advice_view *v, const char *state)
{
	const struct report *r = v->r;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < r->samples.count; i++) {
		const struct label *l = label_by_key(r, sample_of(r, i)->label_set, "state");

		if (l && l->str && !strcmp(text(r, l->str), state))
			sum = add_saturating(sum, value_of(r, i, v->options->weight));
	}
	return sum;
}

bool report_advice_preempted(const struct advice_view *v, double threshold,
			     struct buf words[ADVICE_WORDS])
{
	const uint64_t waited = weight_of_state(v, "runnable");
	const uint64_t wanted = add_saturating(waited, weight_of_state(v, "on CPU"));
	char s[NUMBER_SIZE];

	/* Less than 100 ms is over in any case. */
	if (strcmp(v->unit, "nanoseconds") || waited < 100000000 ||
	    !reaches(waited, wanted, threshold))
		return false;
	put_percent(&words[0], waited, wanted);
	report_buf_puts(&words[1], report_text_duration(waited, s));
	return true;
}

/* ---- names that are missing */

/* A file that may have symbols, and not a mapping without one. */
static bool is_file(const char *path)
{
	return path && *path == '/' && strcmp(path, "//anon") && !strstr(path, " (deleted)");
}

bool report_advice_unnamed(const struct advice_view *v, double threshold,
			   struct buf words[ADVICE_WORDS])
{
	const struct report *r = v->r;
	uint64_t *of_path = calloc(r->strings.count + 1, sizeof(*of_path)), weight;
	char package[REPORT_PACKAGE];
	uint32_t worst = 0;
	const char *path;

	for (uint32_t i = 0; of_path && i < r->functions.count; i++) {
		const struct function *fn = function_of(r, i);

		if (!is_unnamed(r, fn) || !is_file(text(r, fn->path)))
			continue;
		of_path[fn->path] = add_saturating(of_path[fn->path], v->self[i]);
		if (of_path[fn->path] > of_path[worst])
			worst = fn->path;
	}
	weight = of_path ? of_path[worst] : 0;
	free(of_path);
	if (!weight || report_total(r, 0) < FEWEST || !reaches(weight, v->whole, threshold))
		return false;
	path = text(r, worst);
	put_percent(&words[0], weight, v->whole);
	put_weight_name(&words[1], v);
	report_buf_clean(&words[2], path, 0, 0);
	if (v->package && v->package(path, package)) {
		report_buf_puts(&words[3], "the package ");
		report_buf_clean(&words[3], package, 0, 0);
	} else {
		report_buf_puts(&words[3], "a file with its debug symbols");
	}
	if (!v->asked_debuginfod)
		report_buf_puts(&words[3], ", or --debuginfod,");
	return true;
}

/* Code in no file, of processes that are node: it was compiled at run time. */
bool report_advice_node(const struct advice_view *v, double threshold,
			struct buf words[ADVICE_WORDS])
{
	const struct report *r = v->r;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < r->samples.count; i++) {
		const struct sample *s = sample_of(r, i);
		const struct function *fn;

		if (!s->node ||
		    (strcmp(text(r, s->comm), "node") && strcmp(text(r, s->comm), "MainThread")))
			continue;
		fn = function_of(r, frame_of(r, r->nodes[s->node].frame)->function);
		if (fn->kind == REPORT_USER && is_unnamed(r, fn) && !is_file(text(r, fn->path)))
			sum = add_saturating(sum, value_of(r, i, v->options->weight));
	}
	if (report_total(r, 0) < FEWEST || !reaches(sum, v->whole, threshold))
		return false;
	put_percent(&words[0], sum, v->whole);
	put_weight_name(&words[1], v);
	return true;
}

/* ---- how well it went */

/* The note says how walks ended: "user stacks: 98.0 % whole, 12 too deep". */
bool report_advice_cut(const struct advice_view *v, double threshold,
		       struct buf words[ADVICE_WORDS])
{
	const char *note = v->r->meta.info.note, *end = note ? strstr(note, " too deep") : NULL;
	const char *at = end;
	char s[NUMBER_SIZE];
	uint64_t n;

	while (at && at > note && at[-1] >= '0' && at[-1] <= '9')
		at--;
	n = at ? strtoull(at, NULL, 10) : 0;
	if (!n || !reaches(n, report_total(v->r, 0), threshold))
		return false;
	report_buf_puts(&words[0], report_text_number(n, s));
	return true;
}

bool report_advice_throttled(const struct advice_view *v, double threshold,
			     struct buf words[ADVICE_WORDS])
{
	const struct report_info *info = &v->r->meta.info;

	if (!(info->rate_achieved > 0) || 100 * info->rate_achieved >= threshold * info->rate_asked)
		return false;
	report_buf_printf(&words[0], "%.0f", info->rate_achieved);
	report_buf_printf(&words[1], "%.0f", info->rate_asked);
	return true;
}
