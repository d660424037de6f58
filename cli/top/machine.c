/* SPDX-License-Identifier: BSD-2-Clause */
/* What /proc says of the whole machine: CPU time, memory, switches; and what this process costs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "record/system.h"
#include "sources.h"

/* /proc/stat has a line for each interrupt: only its beginning and its end are of interest. */
#define TEXT_BYTES (1 << 18)

struct top_machine {
	char *text;
	uint64_t before[TOP_FIGURES]; /* sums since the machine or the process began */
	bool known;
};

int top_machine_open(struct top_machine **out)
{
	struct top_machine *m = calloc(1, sizeof(*m));

	if (m)
		m->text = malloc(TEXT_BYTES);
	if (!m || !m->text) {
		free(m);
		return -ENOMEM;
	}
	*out = m;
	return 0;
}

void top_machine_close(struct top_machine *m)
{
	if (m)
		free(m->text);
	free(m);
}

/* ---- one number behind a word at the beginning of a line */

static const char *line_of(const char *text, const char *word)
{
	const size_t length = strlen(word);

	while (text && *text) {
		if (!strncmp(text, word, length) && strchr(" :\t", text[length]))
			return text + length + 1;
		text = strchr(text, '\n');
		text += text != NULL;
	}
	return NULL;
}

static uint64_t number_of(const char *text, const char *word)
{
	const char *at = line_of(text, word);

	return at ? strtoull(at, NULL, 10) : 0;
}

/* All whose names begin so: a kernel has one for each zone. */
static uint64_t sum_of(const char *text, const char *beginning)
{
	const size_t length = strlen(beginning);
	uint64_t sum = 0;

	while (text && *text) {
		const char *space = strpbrk(text, " \n");

		if (!strncmp(text, beginning, length) && space && *space == ' ')
			sum += strtoull(space, NULL, 10);
		text = strchr(text, '\n');
		text += text != NULL;
	}
	return sum;
}

static const char *read_file(struct top_machine *m, const char *path)
{
	if (rp_read_small_file(path, m->text, TEXT_BYTES) < 0)
		*m->text = '\0';
	return m->text;
}

/* ---- the files */

static void read_stat(struct top_machine *m, uint64_t *now)
{
	const char *text = read_file(m, "/proc/stat"), *at = line_of(text, "cpu");
	const uint64_t tick = NS_PER_SECOND / (uint64_t)sysconf(_SC_CLK_TCK);
	/* user nice system idle iowait irq softirq steal */
	static const enum top_figure of[] = { TOP_CPU_USER,   TOP_CPU_USER,   TOP_CPU_SYSTEM,
					      TOP_CPU_IDLE,   TOP_CPU_IOWAIT, TOP_CPU_SYSTEM,
					      TOP_CPU_SYSTEM, TOP_CPU_STOLEN };
	char *end = (char *)(uintptr_t)at;

	for (size_t i = 0; at && i < sizeof(of) / sizeof(of[0]); i++)
		now[of[i]] += strtoull(end, &end, 10) * tick;
	now[TOP_SWITCHES] = number_of(text, "ctxt");
	now[TOP_FORKS] = number_of(text, "processes");
	now[TOP_RUNNING] = number_of(text, "procs_running");
	now[TOP_BLOCKED] = number_of(text, "procs_blocked");
}

static void read_memory(struct top_machine *m, uint64_t *now)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	const char *text = read_file(m, "/proc/meminfo");

	now[TOP_MEM_TOTAL] = number_of(text, "MemTotal") * 1024;
	now[TOP_MEM_AVAILABLE] = number_of(text, "MemAvailable") * 1024;
	text = read_file(m, "/proc/vmstat");
	now[TOP_MEM_ALLOCATED] = sum_of(text, "pgalloc_") * page;
	now[TOP_FAULTS] = number_of(text, "pgfault");
	now[TOP_MAJOR_FAULTS] = number_of(text, "pgmajfault");
	now[TOP_SWAPPED_IN] = number_of(text, "pswpin") * page;
	now[TOP_SWAPPED_OUT] = number_of(text, "pswpout") * page;
}

static void read_own(uint64_t *now)
{
	struct report_cost cost = { 0 };

	record_own_cost(&cost);
	now[TOP_OWN_CPU] = cost.user_cpu_ns + cost.system_cpu_ns;
	now[TOP_OWN_BYTES] = cost.peak_rss_bytes;
}

/* Sums, of which a window shows what is new; the others are as they are now. */
static bool is_sum(enum top_figure f)
{
	switch (f) {
	case TOP_CPU_USER ... TOP_FORKS:
	case TOP_MEM_ALLOCATED ... TOP_SWAPPED_OUT:
	case TOP_OWN_CPU:
		return true;
	default:
		return false;
	}
}

void top_machine_read(struct top_machine *m, struct top_window *w)
{
	uint64_t now[TOP_FIGURES] = { 0 };

	w->cpus = (unsigned int)sysconf(_SC_NPROCESSORS_ONLN);
	read_stat(m, now);
	read_memory(m, now);
	read_own(now);
	now[TOP_LOAD] = (uint64_t)(strtod(read_file(m, "/proc/loadavg"), NULL) * 100);
	for (enum top_figure f = 0; f < TOP_FIGURES; f++) {
		if (!is_sum(f))
			w->figure[f] += now[f];
		else if (m->known && now[f] > m->before[f])
			w->figure[f] = now[f] - m->before[f];
		m->before[f] = now[f];
	}
	m->known = true;
}
