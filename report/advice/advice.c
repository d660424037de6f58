/* SPDX-License-Identifier: BSD-2-Clause */
/* Asks the rules what a result suggests, and makes sentences of it. */
#include <errno.h>
#include <stdlib.h>

#include "advice.h"

static void add_text(struct buf *b, const char *text, const struct buf words[ADVICE_WORDS])
{
	for (; *text; text++) {
		const unsigned int word = *text == '%' ? (unsigned int)text[1] - '1' : ADVICE_WORDS;

		if (word >= ADVICE_WORDS) {
			report_buf_add(b, text, 1);
			continue;
		}
		if (words[word].s)
			report_buf_add(b, words[word].s, words[word].len);
		text++;
	}
}

/* "cpu wall" has "wall". */
static bool is_for(const char *commands, const char *command)
{
	const size_t n = strlen(command);

	for (const char *at = commands; at && *at; at += strspn(at, " ")) {
		if (strcspn(at, " ") == n && !memcmp(at, command, n))
			return true;
		at += strcspn(at, " ");
	}
	return !commands;
}

static int ask(const struct advice_rule *rule, const struct advice_view *v,
	       struct report_advice *advice)
{
	struct buf words[ADVICE_WORDS] = { { 0 } }, b = { 0 };
	bool found = rule->find(v, rule->threshold, words);
	int err = 0;

	for (int i = 0; i < ADVICE_WORDS; i++)
		err = err ? err : words[i].err;
	if (found && !err) {
		add_text(&b, rule->text, words);
		err = b.err;
	}
	if (found && !err) {
		advice->rule[advice->n] = rule->name;
		advice->text[advice->n++] = b.s;
		b.s = NULL;
	}
	for (int i = 0; i < ADVICE_WORDS; i++)
		report_buf_free(&words[i]);
	free(b.s);
	return err;
}

/* Those of profiles look at nothing else, and the other way round. */
static int ask_all(const struct advice_view *v, struct report_advice *advice)
{
	int err = 0;

	for (const struct advice_rule *rule = report_advice_rules; rule->name && !err; rule++) {
		const bool of_figures =
			rule->find == report_advice_tail || rule->find == report_advice_lock;

		if (advice->n < REPORT_ADVICE_MOST && of_figures == !v->r &&
		    (of_figures || is_for(rule->commands, v->command)))
			err = ask(rule, v, advice);
	}
	return err;
}

static void weigh(struct advice_view *v)
{
	const struct report *r = v->r;

	for (uint32_t i = 0; i < r->samples.count; i++) {
		const uint32_t node = sample_of(r, i)->node;
		const uint64_t w = value_of(r, i, v->options->weight);
		uint64_t *self;

		v->nodes[node] = add_saturating(v->nodes[node], w);
		if (!node)
			continue;
		self = &v->self[frame_of(r, r->nodes[node].frame)->function];
		*self = add_saturating(*self, w);
	}
}

int report_advise(const struct report *r, const struct report_options *given,
		  report_package *package, struct report_advice *advice)
{
	struct report_options options;
	struct advice_view v = { .r = r,
				 .options = &options,
				 .package = package,
				 .asked_debuginfod = advice->asked_debuginfod };
	int err = report_options_resolve(r, given, &options);

	if (err)
		return err;
	v.unit = text(r, r->types[options.weight].unit);
	v.type = text(r, r->types[options.weight].type);
	v.command = r->meta.info.command ? r->meta.info.command : "";
	v.whole = report_total(r, options.weight);
	v.self = calloc((size_t)r->functions.count + 1, sizeof(*v.self));
	v.nodes = calloc((size_t)r->nnodes + 1, sizeof(*v.nodes));
	if (v.self && v.nodes) {
		weigh(&v);
		err = ask_all(&v, advice);
	} else {
		err = -ENOMEM;
	}
	free(v.self);
	free(v.nodes);
	return err;
}

int report_advise_hists(const struct report_hists *set, struct report_advice *advice)
{
	const struct advice_view v = { .hists = set };

	return ask_all(&v, advice);
}

int report_advise_grid(const struct report_grid *g, struct report_advice *advice)
{
	const struct advice_view v = { .grid = g };

	return ask_all(&v, advice);
}

void report_advice_free(struct report_advice *advice)
{
	for (size_t i = 0; i < advice->n; i++)
		free(advice->text[i]);
	*advice = (struct report_advice){ .n = 0 };
}
