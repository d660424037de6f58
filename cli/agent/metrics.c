/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The page of metrics: what the agent says of itself, and histograms. Those come as text, from
 * commands that print one for each interval in Prometheus's form; a counter is the sum of them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent.h"
#include "base/grow.h"

#define MAX_SERIES 4096
#define MAX_FAMILIES 256

/* A line "NAME{LABELS} VALUE" of all intervals. */
struct series {
	char *name;
	double sum;
};

/* Lines that belong together: those behind a TYPE. */
struct family {
	char *name, *help, *type; /* whole lines, but for the name */
	struct series *series;
	size_t n, capacity;
};

struct agent_metrics {
	struct family *family;
	size_t n, capacity, series;
	uint64_t dropped; /* lines without room */
};

struct agent_metrics *agent_metrics_new(void)
{
	return calloc(1, sizeof(struct agent_metrics));
}

void agent_metrics_free(struct agent_metrics *m)
{
	for (size_t i = 0; m && i < m->n; i++) {
		struct family *f = &m->family[i];

		for (size_t j = 0; j < f->n; j++)
			free(f->series[j].name);
		free(f->series);
		free(f->name);
		free(f->help);
		free(f->type);
	}
	if (m)
		free(m->family);
	free(m);
}

/* ---- text of other commands */

/* The family of "# TYPE NAME histogram" or "# HELP NAME ...", which may be new. */
static struct family *family_of(struct agent_metrics *m, const char *line)
{
	const char *name = line + strlen("# TYPE ");
	const size_t n = strcspn(name, " ");

	for (size_t i = 0; i < m->n; i++)
		if (!strncmp(m->family[i].name, name, n) && !m->family[i].name[n])
			return &m->family[i];
	if (m->n == MAX_FAMILIES) {
		m->dropped++;
		return NULL;
	}
	if (RP_PUSH(m->family, m->n, m->capacity, (struct family){ .name = strndup(name, n) }))
		return NULL;
	if (m->family[m->n - 1].name)
		return &m->family[m->n - 1];
	m->n--;
	return NULL;
}

static void take_comment(struct agent_metrics *m, struct agent_text *t, const char *line)
{
	const bool is_type = !strncmp(line, "# TYPE ", 7);
	struct family *f;

	if (!is_type && strncmp(line, "# HELP ", 7))
		return;
	f = family_of(m, line);
	t->family = f ? (size_t)(f - m->family) + 1 : 0;
	if (f && is_type && !f->type)
		f->type = strdup(line);
	if (f && !is_type && !f->help)
		f->help = strdup(line);
}

static void take_value(struct agent_metrics *m, const struct agent_text *t, char *line)
{
	char *space = strrchr(line, ' '), *end;
	struct family *f = t->family ? &m->family[t->family - 1] : NULL;
	double value;

	if (!f || !space)
		return;
	value = strtod(space + 1, &end);
	if (end == space + 1 || *end || !(value >= 0))
		return;
	*space = '\0';
	for (size_t i = 0; i < f->n; i++)
		if (!strcmp(f->series[i].name, line)) {
			f->series[i].sum += value;
			return;
		}
	if (m->series == MAX_SERIES || RP_GROW(f->series, f->n, f->capacity)) {
		m->dropped++;
		return;
	}
	f->series[f->n] = (struct series){ strdup(line), value };
	if (!f->series[f->n].name)
		return;
	f->n++;
	m->series++;
}

static void take_line(struct agent_metrics *m, struct agent_text *t)
{
	t->line[t->have] = '\0';
	t->have = 0;
	if (t->too_long)
		m->dropped++;
	else if (*t->line == '#')
		take_comment(m, t, t->line);
	else if (*t->line)
		take_value(m, t, t->line);
	t->too_long = false;
}

void agent_metrics_take(struct agent_metrics *m, struct agent_text *t, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (text[i] == '\n')
			take_line(m, t);
		else if (t->have < sizeof(t->line) - 1)
			t->line[t->have++] = text[i];
		else
			t->too_long = true;
	}
}

/* ---- the page */

void agent_metrics_head(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP rawprof_agent_%s %s\n# TYPE rawprof_agent_%s %s\n", name, help, name,
		type);
}

void agent_metrics_print(const struct agent_metrics *m, FILE *out)
{
	agent_metrics_head(out, "series", "gauge", "series of histograms on this page");
	fprintf(out, "rawprof_agent_series %zu\n", m->series);
	agent_metrics_head(out, "series_dropped_total", "counter",
			   "values of histograms for which there was no room");
	fprintf(out, "rawprof_agent_series_dropped_total %llu\n", (unsigned long long)m->dropped);
	for (size_t i = 0; i < m->n; i++) {
		const struct family *f = &m->family[i];

		if (!f->n || !f->type)
			continue;
		if (f->help)
			fprintf(out, "%s\n", f->help);
		fprintf(out, "%s\n", f->type);
		for (size_t j = 0; j < f->n; j++)
			fprintf(out, "%s %.17g\n", f->series[j].name, f->series[j].sum);
	}
}
