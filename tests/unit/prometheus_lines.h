/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * prometheus_lines.h: Prometheus' text exposition format 0.0.4, read strictly: every line is HELP,
 * TYPE or a sample of the metric that the last TYPE named, no series occurs twice.
 */
#ifndef PROMETHEUS_LINES_H
#define PROMETHEUS_LINES_H

#include <check.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROM_LABELS = 6, PROM_TEXT = 1200, PROM_MAX = 400 };

struct prom_sample {
	char name[96];
	char key[PROM_LABELS][32], value[PROM_LABELS][PROM_TEXT];
	int nlabels;
	double number;
	char written[64]; /* the number as it stands there */
};

struct prom {
	char metric[96], type[16], help[PROM_TEXT]; /* of the last head */
	struct prom_sample sample[PROM_MAX];
	int n;
};

static inline const char *prom_name(const char *s, char *out, size_t size)
{
	size_t n = 0;

	ck_assert(isalpha((unsigned char)*s) || *s == '_' || *s == ':');
	while (isalnum((unsigned char)s[n]) || s[n] == '_' || s[n] == ':')
		n++;
	ck_assert_uint_lt(n, size);
	memcpy(out, s, n);
	out[n] = 0;
	return s + n;
}

/* The text in quotes at s, unescaped. */
static inline const char *prom_text(const char *s, char *out, size_t size)
{
	size_t n = 0;

	ck_assert_int_eq(*s++, '"');
	for (; *s != '"'; s++) {
		ck_assert(*s && *s != '\n' && n + 1 < size);
		if (*s == '\\') {
			s++;
			ck_assert_msg(*s == '\\' || *s == '"' || *s == 'n', "escape \\%c", *s);
			out[n++] = *s == 'n' ? '\n' : *s;
		} else {
			out[n++] = *s;
		}
	}
	out[n] = 0;
	return s + 1;
}

static inline void prom_sample(struct prom *p, const char *s)
{
	struct prom_sample *x = &p->sample[p->n++];
	char *end;

	ck_assert_int_le(p->n, PROM_MAX);
	*x = (struct prom_sample){ 0 };
	s = prom_name(s, x->name, sizeof(x->name));
	ck_assert_msg(!strncmp(x->name, p->metric, strlen(p->metric)), "%s under %s", x->name,
		      p->metric);
	if (strcmp(p->type, "histogram"))
		ck_assert_str_eq(x->name, p->metric);
	ck_assert_int_eq(*s++, '{');
	while (*s != '}') {
		int i = x->nlabels++;

		ck_assert_int_lt(i, PROM_LABELS);
		s = prom_name(s, x->key[i], sizeof(x->key[i]));
		ck_assert_int_eq(*s++, '=');
		s = prom_text(s, x->value[i], sizeof(x->value[i]));
		for (int k = 0; k < i; k++)
			ck_assert_str_ne(x->key[i], x->key[k]);
		ck_assert(*s == ',' || *s == '}');
		s += *s == ',';
	}
	ck_assert_int_eq(s[1], ' ');
	snprintf(x->written, sizeof(x->written), "%s", s + 2);
	x->number = strtod(s + 2, &end);
	ck_assert(end != s + 2 && !*end);
	for (int i = 0; i < p->n - 1; i++)
		ck_assert_msg(strcmp(x->name, p->sample[i].name) ||
				      memcmp(x->value, p->sample[i].value, sizeof(x->value)),
			      "%s occurs twice", x->name);
}

static inline struct prom *prom_read(const char *document)
{
	struct prom *p = calloc(1, sizeof(*p));
	char *copy = strdup(document), *line, *rest = copy;

	ck_assert(*document && document[strlen(document) - 1] == '\n');
	while ((line = strsep(&rest, "\n")) && rest) {
		if (!strncmp(line, "# HELP ", 7)) {
			const char *s = prom_name(line + 7, p->metric, sizeof(p->metric));

			ck_assert_int_eq(*s, ' ');
			snprintf(p->help, sizeof(p->help), "%s", s + 1);
			*p->type = 0;
		} else if (!strncmp(line, "# TYPE ", 7)) {
			char name[96];
			const char *s = prom_name(line + 7, name, sizeof(name));

			ck_assert_str_eq(name, p->metric);
			snprintf(p->type, sizeof(p->type), "%s", s + 1);
		} else {
			ck_assert_msg(*p->type, "a sample before its type");
			prom_sample(p, line);
		}
	}
	free(copy);
	return p;
}

static inline const char *prom_label(const struct prom_sample *x, const char *key)
{
	for (int i = 0; i < x->nlabels; i++)
		if (!strcmp(x->key[i], key))
			return x->value[i];
	return NULL;
}

#endif
