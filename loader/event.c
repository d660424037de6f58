/* SPDX-License-Identifier: BSD-2-Clause */
/* event.c: perf events by name, as perf-list(1) spells them. */
#include "internal.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#define PERF_COUNT_SW_CGROUP_SWITCHES 11 /* 5.13 */

static const struct named_event {
	const char *name;
	uint32_t type;
	uint64_t config;
} events[] = {
	{ "cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK },
	{ "task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK },
	{ "page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
	{ "faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
	{ "minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN },
	{ "major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ },
	{ "context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS },
	{ "migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS },
	{ "alignment-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS },
	{ "emulation-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS },
	{ "cgroup-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CGROUP_SWITCHES },
	{ "dummy", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY },
	{ "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ "cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ "ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES },
	{ "bus-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES },
	{ "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
	{ "cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES },
	{ "cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES },
	{ "branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ "branch-instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ "branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES },
	{ "stalled-cycles-frontend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND },
	{ "idle-cycles-frontend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND },
	{ "stalled-cycles-backend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND },
	{ "idle-cycles-backend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND },
};

/* Cache events are the product of these: a cache, and what is done to it (operation << 8 | result
 * << 16). */
static const char *const caches[] = { "L1-dcache", "L1-icache", "LLC", "dTLB",
				      "iTLB",	   "branch",	"node" };
static const struct {
	const char *name;
	uint64_t config;
} accesses[] = {
	{ "loads", PERF_COUNT_HW_CACHE_OP_READ << 8 | PERF_COUNT_HW_CACHE_RESULT_ACCESS << 16 },
	{ "load-misses", PERF_COUNT_HW_CACHE_OP_READ << 8 | PERF_COUNT_HW_CACHE_RESULT_MISS << 16 },
	{ "stores", PERF_COUNT_HW_CACHE_OP_WRITE << 8 | PERF_COUNT_HW_CACHE_RESULT_ACCESS << 16 },
	{ "store-misses",
	  PERF_COUNT_HW_CACHE_OP_WRITE << 8 | PERF_COUNT_HW_CACHE_RESULT_MISS << 16 },
	{ "prefetches",
	  PERF_COUNT_HW_CACHE_OP_PREFETCH << 8 | PERF_COUNT_HW_CACHE_RESULT_ACCESS << 16 },
	{ "prefetch-misses",
	  PERF_COUNT_HW_CACHE_OP_PREFETCH << 8 | PERF_COUNT_HW_CACHE_RESULT_MISS << 16 },
};

enum {
	N_EVENTS = ARRAY_SIZE(events),
	N_ACCESSES = ARRAY_SIZE(accesses),
	N_CACHE_EVENTS = ARRAY_SIZE(caches) * N_ACCESSES
};

static struct rp_event cache_event(size_t i)
{
	struct rp_event e = { .type = PERF_TYPE_HW_CACHE, .hardware = true };

	e.config = i / N_ACCESSES | accesses[i % N_ACCESSES].config;
	snprintf(e.name, sizeof(e.name), "%s-%s", caches[i / N_ACCESSES],
		 accesses[i % N_ACCESSES].name);
	return e;
}

const char *rp_event_names(size_t i)
{
	static struct rp_event cache[N_CACHE_EVENTS];

	if (i < N_EVENTS)
		return events[i].name;
	i -= N_EVENTS;
	if (i >= N_CACHE_EVENTS)
		return NULL;
	cache[i] = cache_event(i);
	return cache[i].name;
}

static bool parse_named(const char *name, struct rp_event *e)
{
	for (size_t i = 0; i < N_EVENTS; i++) {
		if (strcmp(events[i].name, name))
			continue;
		e->type = events[i].type;
		e->config = events[i].config;
		e->hardware = e->type == PERF_TYPE_HARDWARE;
		return true;
	}
	for (size_t i = 0; i < N_CACHE_EVENTS; i++) {
		const struct rp_event c = cache_event(i);

		if (!strcasecmp(c.name, name)) {
			*e = c;
			return true;
		}
	}
	return false;
}

/* "r1a2": the processor's own number, in hexadecimal. */
static bool parse_raw(const char *name, struct rp_event *e)
{
	const size_t digits = strlen(name) - (*name == 'r');

	if (*name != 'r' || digits < 1 || digits > 16 ||
	    strspn(name + 1, "0123456789abcdefABCDEF") != digits)
		return false;
	e->type = PERF_TYPE_RAW;
	e->config = strtoull(name + 1, NULL, 16);
	e->hardware = true;
	return true;
}

/* A name without a colon, of so many bytes. */
static bool parse_word(const char *name, size_t length, struct rp_event *e)
{
	char word[sizeof(e->name)];

	if (length >= sizeof(word))
		return false;
	memcpy(word, name, length);
	word[length] = '\0';
	return parse_named(word, e) || parse_raw(word, e) || !rp_event_find_alias(word, e);
}

/* ---- what stands behind a colon */

static bool is_modifiers(const char *text)
{
	return *text && strspn(text, "ukhIGHpDW") == strlen(text);
}

/* "u": as perf(1) has it, what is not named is excluded. W, a group that may be split, is what all
 * groups are here. */
static int apply_modifiers(const char *name, const char *text, struct rp_event *e)
{
	if (!is_modifiers(text))
		return rp_fail(-EINVAL,
			       "`%s': `%s' are no modifiers; there are u, k, h (user, kernel, "
			       "hypervisor), I (not the idle task), G, H (guest, host), p "
			       "(precise), D (pinned)",
			       name, text);
	if (strpbrk(text, "ukh")) {
		e->exclude_user = !strchr(text, 'u');
		e->exclude_kernel = !strchr(text, 'k');
		e->exclude_hv = !strchr(text, 'h');
	}
	e->exclude_host = e->exclude_host || (strchr(text, 'G') && !strchr(text, 'H'));
	e->exclude_guest = e->exclude_guest || (strchr(text, 'H') && !strchr(text, 'G'));
	e->exclude_idle = e->exclude_idle || strchr(text, 'I');
	e->pinned = e->pinned || strchr(text, 'D');
	for (; *text; text++)
		e->precise = (uint8_t)(e->precise + (*text == 'p' && e->precise < 3));
	return 0;
}

/* "group:event", and modifiers behind a second colon. */
static int parse_tracepoint(const char *name, struct rp_event *e)
{
	const char *group = strncmp(name, "tp:", 3) ? name : name + 3;
	const char *colon = strchr(group, ':'), *modifiers;
	char *copy, *event;
	int id;

	if (!colon)
		return rp_fail(-ENOENT, "`%s' is no event: a tracepoint is written tp:group:event",
			       name);
	modifiers = strchr(colon + 1, ':');
	copy = strndup(group, (size_t)(colon - group));
	event = modifiers ? strndup(colon + 1, (size_t)(modifiers - colon - 1)) : strdup(colon + 1);
	id = copy && event ? rp_tp_id(copy, event)
			   : rp_fail(-ENOMEM, "out of memory for the event `%s'", name);
	free(copy);
	free(event);
	if (id < 0)
		return id;
	e->type = PERF_TYPE_TRACEPOINT;
	e->config = (uint64_t)id;
	return modifiers ? apply_modifiers(name, modifiers + 1, e) : 0;
}

/* "cpu/event=0x3c/u" */
static int parse_in_pmu(const char *name, struct rp_event *e)
{
	const char *slash = strchr(name, '/'), *end = strrchr(name, '/');
	char pmu[sizeof(e->pmu)];
	int err;

	if (end == slash)
		return rp_fail(-EINVAL, "`%s': a second `/' is missing, as in cpu/event=0x3c/",
			       name);
	if ((size_t)(slash - name) >= sizeof(pmu))
		return rp_fail(-ENOENT, "`%s': there is no PMU of such a name", name);
	snprintf(pmu, sizeof(pmu), "%.*s", (int)(slash - name), name);
	err = rp_event_parse_pmu(pmu, slash + 1, (size_t)(end - slash - 1), e);
	end += end[1] == ':' ? 2 : 1;
	return err || !*end ? err : apply_modifiers(name, end, e);
}

static int unknown_event(const char *name)
{
	const char *near = NULL;
	unsigned best = (unsigned)strlen(name) / 2 + 1; /* a short name is near to all others */
	char alias[64] = "";

	best = best < 5 ? best : 5;
	for (size_t i = 0; rp_event_names(i); i++) {
		const unsigned far = rp_name_distance(name, rp_event_names(i));

		if (far < best) {
			best = far;
			near = rp_event_names(i);
		}
	}
	rp_event_nearest_alias(name, &best, alias);
	near = *alias ? alias : near;
	return rp_fail(
		-ENOENT,
		"no event is called `%s'%s%s%s; there are cycles, instructions, cache-misses, "
		"branch-misses, cpu-clock, page-faults, context-switches and others of "
		"perf-list(1), group:event for a tracepoint, and rNNN for the processor's own",
		name, near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
}

static int parse(const char *name, struct rp_event *e)
{
	const char *colon = strchr(name, ':');

	if (!strncmp(name, "tp:", 3))
		return parse_tracepoint(name, e);
	if (strchr(name, '/'))
		return parse_in_pmu(name, e);
	if (parse_word(name, colon ? (size_t)(colon - name) : strlen(name), e))
		return colon ? apply_modifiers(name, colon + 1, e) : 0;
	if (colon && !is_modifiers(colon + 1))
		return parse_tracepoint(name, e);
	return unknown_event(name);
}

int rp_event_parse(const char *name, struct rp_event *out)
{
	struct rp_event e = { 0 };
	int err = parse(name, &e);

	if (err)
		return err;
	if (!*e.name || !strchr(name, '/')) /* a PMU's event may have been given a name */
		snprintf(e.name, sizeof(e.name), "%s", name);
	if (strlen(name) >= sizeof(e.name))
		rp_log(RP_DEBUG, "the name of event %s was cut", name);
	*out = e;
	return 0;
}

bool rp_event_is_kernels(const struct rp_event *e)
{
	return e->type == PERF_TYPE_TRACEPOINT ||
	       (e->type == PERF_TYPE_SOFTWARE && (e->config == PERF_COUNT_SW_CONTEXT_SWITCHES ||
						  e->config == PERF_COUNT_SW_CPU_MIGRATIONS ||
						  e->config == PERF_COUNT_SW_CGROUP_SWITCHES));
}
