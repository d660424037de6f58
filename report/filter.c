/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Conditions on samples, as they are written:
 *
 *	either   = both { "or" both }
 *	both     = one { "and" one }
 *	one      = "not" one | "(" either ")" | KEY OPERATOR VALUE
 *	OPERATOR = "=" | "!=" | "~" | "!~"
 *
 * KEY is comm, pid, tid, symbol and dso (of any frame of the stack), leaf (the function that ran)
 * or a label. VALUE is a word, or a text in quotes: globs with commas between them, or, behind ~, a
 * regular expression.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "filter.h"

/* Nodes of the expression; a term's children have smaller numbers. */
struct term {
	enum { TERM_OR, TERM_AND, TERM_NOT, TERM_TEST } kind;
	uint32_t a, b;
	bool negated;
	bool *of_node;	 /* a test of stacks: the answer for each node, */
	bool *of_string; /*   of comm: for each string, */
	bool *of_labels; /*   of a label: for each set; all NULL: of numbers, by pattern */
	bool of_tid;
	struct pattern *pattern;
};

struct filter {
	const struct report *r;
	struct term *terms;
	uint32_t n, capacity, root;
	const char *at; /* of the expression, while it is read */
	unsigned int depth;
	char *why;
	int err;
};
enum { MAX_DEPTH = 64 };

static int wrong(struct filter *f, const char *format, const char *what)
{
	if (f->err)
		return f->err;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(f->why, REPORT_WHY, format, what);
#pragma GCC diagnostic pop
	return f->err = -EINVAL;
}

/* ---- words */

static bool is_word(char c)
{
	return c && !strchr(" \t\n()=!~'\"", c);
}

static void skip_blanks(struct filter *f)
{
	f->at += strspn(f->at, " \t\n");
}

/* Takes the word, if that is what comes. */
static bool take(struct filter *f, const char *word)
{
	const size_t n = strlen(word);

	skip_blanks(f);
	if (strncmp(f->at, word, n) || (is_word(*word) && is_word(f->at[n])))
		return false;
	f->at += n;
	return true;
}

/* A word, or, of a value, what is in quotes or up to the next blank or ")"; to be freed. */
static char *take_text(struct filter *f, bool value)
{
	const char *begin, *end;
	char *text;

	skip_blanks(f);
	begin = f->at;
	if (value && (*begin == '\'' || *begin == '"')) {
		end = strchr(begin + 1, *begin);
		begin++;
		if (!end) {
			wrong(f, "the quote of %.60s is not closed", begin - 1);
			return NULL;
		}
		f->at = end + 1;
	} else {
		end = begin;
		while (value ? *end && !strchr(" \t\n)", *end) : is_word(*end))
			end++;
		f->at = end;
		if (end == begin) {
			wrong(f, *begin ? "a name is wanted before '%.60s'" : "it ends too early",
			      begin);
			return NULL;
		}
	}
	text = strndup(begin, (size_t)(end - begin));
	if (!text)
		f->err = -ENOMEM;
	return text;
}

static uint32_t add_term(struct filter *f, const struct term *term)
{
	if (!f->err)
		f->err = RP_PUSH(f->terms, f->n, f->capacity, *term);
	return f->err ? 0 : f->n - 1;
}

/* ---- tests: what can be said beforehand, of all stacks, names or labels, is */

/* A stack has a frame whose function fits: it, or its parent has; of leaf it alone. */
static void test_nodes(struct filter *f, struct term *t, bool dso, bool leaf)
{
	const struct report *r = f->r;
	bool *fits = report_pattern_functions(r, t->pattern, dso);

	t->of_node = calloc(r->nnodes, sizeof(*t->of_node));
	if (!fits || !t->of_node)
		f->err = -ENOMEM;
	for (uint32_t i = 1; i < r->nnodes && !f->err; i++)
		t->of_node[i] = fits[frame_of(r, r->nodes[i].frame)->function] ||
				(!leaf && t->of_node[r->nodes[i].parent]);
	free(fits);
}

static void test_strings(struct filter *f, struct term *t)
{
	t->of_string = calloc(f->r->strings.count, sizeof(*t->of_string));
	if (!t->of_string)
		f->err = -ENOMEM;
	for (uint32_t i = 1; i < f->r->strings.count && !f->err; i++)
		t->of_string[i] = report_pattern_fits(t->pattern, text(f->r, i));
}

static bool number_fits(const struct pattern *p, int64_t number)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%" PRId64, number);
	return report_pattern_fits(p, digits);
}

static void test_labels(struct filter *f, struct term *t, const char *key)
{
	const struct report *r = f->r;
	bool known = false;

	t->of_labels = calloc(r->label_sets.count, sizeof(*t->of_labels));
	if (!t->of_labels)
		f->err = -ENOMEM;
	for (uint32_t i = 0; i < r->label_sets.count && !f->err; i++) {
		const struct label *l = label_by_key(r, i, key);

		known = known || l;
		t->of_labels[i] = l && (l->str ? report_pattern_fits(t->pattern, text(r, l->str))
					       : number_fits(t->pattern, l->num));
	}
	if (!known && !f->err)
		wrong(f,
		      "nothing has a '%.60s': there are comm, pid, tid, symbol, dso, leaf, and "
		      "labels that samples have",
		      key);
}

static void prepare(struct filter *f, struct term *t, const char *key)
{
	const bool symbol = !strcmp(key, "symbol"), leaf = !strcmp(key, "leaf");

	if (symbol || leaf || !strcmp(key, "dso"))
		test_nodes(f, t, !symbol && !leaf, leaf);
	else if (!strcmp(key, "comm"))
		test_strings(f, t);
	else if (!strcmp(key, "tid"))
		t->of_tid = true;
	else if (strcmp(key, "pid"))
		test_labels(f, t, key);
}

static uint32_t read_test(struct filter *f)
{
	struct term t = { .kind = TERM_TEST };
	char *key = take_text(f, false), *value = NULL;
	bool regex = false;

	if (take(f, "!=")) {
		t.negated = true;
	} else if (take(f, "!~")) {
		t.negated = regex = true;
	} else if (take(f, "~")) {
		regex = true;
	} else if (!take(f, "=") && !f->err) {
		wrong(f, "=, !=, ~ or !~ is wanted behind '%.60s'", key);
	}
	if (!f->err)
		value = take_text(f, true);
	if (!f->err)
		f->err = report_pattern_new(value, regex, &t.pattern, f->why);
	if (!f->err)
		prepare(f, &t, key);
	free(key);
	free(value);
	/* What it has is the filter's from here on. */
	if (RP_PUSH(f->terms, f->n, f->capacity, t)) {
		report_pattern_free(t.pattern);
		free(t.of_node);
		free(t.of_string);
		free(t.of_labels);
		f->err = -ENOMEM;
	}
	return f->n - 1;
}

/* ---- the expression */

static uint32_t read_either(struct filter *f);

static uint32_t read_one(struct filter *f)
{
	struct term t = { .kind = TERM_NOT };
	uint32_t one = 0;

	if (++f->depth > MAX_DEPTH)
		wrong(f, "it is nested too deeply%s", "");
	if (f->err)
		return 0;
	if (take(f, "not")) {
		t.a = read_one(f);
		one = add_term(f, &t);
	} else if (take(f, "(")) {
		one = read_either(f);
		if (!f->err && !take(f, ")"))
			wrong(f, *f->at ? "')' is wanted before '%.60s'" : "a ')' is missing",
			      f->at);
	} else {
		one = read_test(f);
	}
	f->depth--;
	return one;
}

static uint32_t read_both(struct filter *f)
{
	uint32_t both = read_one(f);

	while (!f->err && take(f, "and")) {
		struct term t = { .kind = TERM_AND, .a = both };

		t.b = read_one(f);
		both = add_term(f, &t);
	}
	return both;
}

static uint32_t read_either(struct filter *f)
{
	uint32_t either = read_both(f);

	while (!f->err && take(f, "or")) {
		struct term t = { .kind = TERM_OR, .a = either };

		t.b = read_both(f);
		either = add_term(f, &t);
	}
	return either;
}

int report_filter_new(const struct report *r, const char *expression, struct filter **out,
		      char why[REPORT_WHY])
{
	struct filter *f = calloc(1, sizeof(*f));
	int err;

	*why = '\0';
	if (!f)
		return -ENOMEM;
	f->r = r;
	f->at = expression;
	f->why = why;
	f->root = read_either(f);
	skip_blanks(f);
	if (!f->err && *f->at)
		wrong(f, "'and' or 'or' is wanted before '%.60s'", f->at);
	err = f->err;
	if (err)
		report_filter_free(f);
	else
		*out = f;
	return err;
}

void report_filter_free(struct filter *f)
{
	for (uint32_t i = 0; f && i < f->n; i++) {
		report_pattern_free(f->terms[i].pattern);
		free(f->terms[i].of_node);
		free(f->terms[i].of_string);
		free(f->terms[i].of_labels);
	}
	if (f)
		free(f->terms);
	free(f);
}

static bool test(const struct term *t, const struct sample *s)
{
	const bool holds = t->of_node	  ? t->of_node[s->node]
			   : t->of_string ? t->of_string[s->comm]
			   : t->of_labels ? t->of_labels[s->label_set]
					  : number_fits(t->pattern, t->of_tid ? s->tid : s->pid);

	return holds != t->negated;
}

static bool takes(const struct filter *f, uint32_t term, const struct sample *s)
{
	const struct term *t = &f->terms[term];

	switch (t->kind) {
	case TERM_OR:
		return takes(f, t->a, s) || takes(f, t->b, s);
	case TERM_AND:
		return takes(f, t->a, s) && takes(f, t->b, s);
	case TERM_NOT:
		return !takes(f, t->a, s);
	default:
		return test(t, s);
	}
}

bool report_filter_takes(const struct filter *f, uint32_t sample)
{
	return takes(f, f->root, sample_of(f->r, sample));
}
