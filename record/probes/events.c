/* SPDX-License-Identifier: BSD-2-Clause */
/* Tracepoints: single ones, and pairs of which one begins what the other ends. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rawprof/loader.h>

#include "list.h"

static int add(struct record_probes *list, const struct record_probe *p)
{
	list->patterns[p->pattern].found++;
	return p->name && p->events.group && p->events.event ? record_probes_add(list, p, NULL)
							     : -ENOMEM;
}

int record_probes_find_pair(struct record_probes *list, size_t at)
{
	const struct pattern *p = &list->patterns[at];
	struct record_probe probe = {
		.kind = RECORD_PROBE_PAIR,
		.pattern = at,
		.module = record_probes_text(list, p->place),
		.name = record_probes_textf(list, "%s:%s..%s%s%s", p->place, p->name,
					    strcmp(p->place, p->end_place) ? p->end_place : "",
					    strcmp(p->place, p->end_place) ? ":" : "", p->end_name),
		.events = { .group = record_probes_text(list, p->place),
			    .event = record_probes_text(list, p->name),
			    .end_group = record_probes_text(list, p->end_place),
			    .end_event = record_probes_text(list, p->end_name) }
	};
	int id = rp_tp_id(p->place, p->name);

	if (id >= 0)
		id = rp_tp_id(p->end_place, p->end_name);
	if (id < 0)
		return id; /* was said, with the nearest name */
	probe.symbol = probe.name;
	return probe.events.end_group && probe.events.end_event ? add(list, &probe) : -ENOMEM;
}

struct globbing {
	struct record_probes *list;
	size_t at;
	int err;
};

static int take(void *ctx, const char *group, const char *event)
{
	struct globbing *g = ctx;
	const struct record_probe p = { .kind = RECORD_PROBE_EVENT,
					.pattern = g->at,
					.module = record_probes_text(g->list, group),
					.name = record_probes_textf(g->list, "%s:%s", group, event),
					.symbol = record_probes_text(g->list, event),
					.events = { .group = record_probes_text(g->list, group),
						    .event = record_probes_text(g->list, event) } };

	return add(g->list, &p);
}

int record_probes_find_events(struct record_probes *list, size_t at)
{
	const struct pattern *p = &list->patterns[at];
	struct globbing g = { .list = list, .at = at };
	const char *glob = p->text + (strncmp(p->text, "tp:", 3) ? 0 : 3);
	int n;

	n = rp_tp_each(glob, take, &g);
	if (n)
		return n < 0 ? n : 0;
	if (record_pattern_is_glob(glob))
		return rp_fail(-ENOENT, "'%s': no tracepoint matches", p->text);
	n = rp_tp_id(p->place, strchr(glob, ':') + 1);
	return n < 0 ? n : -ENOENT;
}
