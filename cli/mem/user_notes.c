/* SPDX-License-Identifier: BSD-2-Clause */
/* What stands beside the stacks of rawprof mem: the most that was in use, what was freed. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "ranges.h"
#include "user.h"

/* Bytes, for a person. */
struct bytes_text {
	char text[32];
};

static struct bytes_text bytes_text(uint64_t bytes)
{
	struct bytes_text t;

	if (bytes >= 10 << 20)
		snprintf(t.text, sizeof(t.text), "%.1f MiB", (double)bytes / (1 << 20));
	else if (bytes >= 10 << 10)
		snprintf(t.text, sizeof(t.text), "%.1f KiB", (double)bytes / (1 << 10));
	else
		snprintf(t.text, sizeof(t.text), "%" PRIu64 " bytes", bytes);
	return t;
}

static double seconds(const struct recording *rec, uint64_t ns)
{
	return ns < rec->begin_ns ? 0 : (double)(ns - rec->begin_ns) / NS_PER_SECOND;
}

/* Adds to the note. */
__attribute__((format(printf, 2, 3))) static void add(struct mem_user *m, const char *format, ...)
{
	const size_t n = strlen(m->note);
	va_list args;

	va_start(args, format);
	vsnprintf(m->note + n, sizeof(m->note) - n, format, args);
	va_end(args);
}

static void add_mapped(struct mem_user *m)
{
	struct mem_ranges_counts mapped = { 0 };

	if (m->mmap)
		mem_ranges_count(mem_mmap_ranges(m->mmap), &mapped);
	if (mapped.peak)
		add(m, ", and mapped %s", bytes_text(mapped.peak).text);
}

/* ---- in use */

static void note_most(struct recording *rec, struct mem_user *m)
{
	struct mem_user_stats stats;

	if (record_stacks_stats(rec->stacks, &stats))
		return;
	add(m, "in use: at most %s at a time", bytes_text(stats.peak).text);
	add_mapped(m);
}

static void note_peak(struct recording *rec, struct mem_user *m)
{
	struct mem_peak_sum sum;

	mem_peak_sum(m->peak, &sum);
	snprintf(m->counted, sizeof(m->counted), "%s in %" PRIu64 " blocks in use at most,",
		 bytes_text(sum.bytes).text, sum.objects);
	add(m, "in use: at most %s at a time", bytes_text(sum.bytes).text);
	if (sum.time)
		add(m, ", after %.3f s", seconds(rec, sum.time));
	if (sum.processes > 1)
		add(m, ", %s of it in process %u", bytes_text(sum.of_pid).text, sum.pid);
	add_mapped(m);
	if (sum.of_stacks != sum.bytes)
		add(m, "; stacks differ from that by %s, as threads allocated at the same moment",
		    bytes_text(sum.of_stacks > sum.bytes ? sum.of_stacks - sum.bytes
							 : sum.bytes - sum.of_stacks)
			    .text);
}

/* ---- freed */

/* Of all stacks, also of those that are not shown. */
static void sum_all(struct recording *rec, uint64_t sum[MEM_WEIGHTS])
{
	const struct mem_user *m = rec->ctx;
	const struct stack *stack = NULL;

	while ((stack = record_stacks_next(rec->stacks, stack))) {
		uint64_t value[MEM_WEIGHTS];

		memcpy(value, stack->value, sizeof(value));
		if (m->config.sample)
			mem_sample_weigh(stack->record, m->mean, value);
		for (int i = 0; i < MEM_WEIGHTS; i++)
			sum[i] += value[i];
	}
}

/* What was freed, and is not shown, beside what is left. */
static void count_freed(struct recording *rec, struct mem_user *m)
{
	uint64_t sum[MEM_WEIGHTS] = { 0 };
	struct mem_user_stats stats;

	if (record_stacks_stats(rec->stacks, &stats))
		return;
	sum_all(rec, sum);
	/* What found no room counts as gone, and is not known to be freed. */
	sum[MEM_GONE_OBJECTS] -= stats.untracked;
	sum[MEM_GONE_SPACE] -= stats.untracked_bytes;
	snprintf(m->counted, sizeof(m->counted),
		 "%" PRIu64 " of %" PRIu64 " allocations were freed, %s of %s,",
		 sum[MEM_GONE_OBJECTS], sum[MEM_ALLOC_OBJECTS],
		 bytes_text(sum[MEM_GONE_SPACE]).text, bytes_text(sum[MEM_ALLOC_SPACE]).text);
}

/* ---- temporary */

/* Also of stacks without temporary blocks, which are not shown. */
static void count_temporary(struct recording *rec, struct mem_user *m)
{
	uint64_t sum[MEM_WEIGHTS] = { 0 };

	sum_all(rec, sum);
	snprintf(m->counted, sizeof(m->counted),
		 "%" PRIu64 " of %" PRIu64 " allocations were temporary, %s of %s,",
		 sum[MEM_INUSE_OBJECTS], sum[MEM_ALLOC_OBJECTS],
		 bytes_text(sum[MEM_INUSE_SPACE]).text, bytes_text(sum[MEM_ALLOC_SPACE]).text);
}

/* ---- pinned */

static void note_pinned(struct recording *rec, struct mem_user *m)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct mem_pinned_sum sum;

	mem_pinned_sum(m->pinned, &sum);
	if (m->note[0])
		add(m, "; ");
	if (!sum.time) {
		add(m, "the program ended before its pages could be looked at");
		return;
	}
	add(m, "pinned: %" PRIu64 " of %" PRIu64 " resident pages with live blocks (%s", sum.pinned,
	    sum.resident, bytes_text(sum.pinned * page).text);
	add(m, " of %s), %.3f s before the end", bytes_text(sum.resident * page).text,
	    seconds(rec, rec->end_ns) - seconds(rec, sum.time));
}

void mem_user_describe(struct recording *rec, struct report_info *info)
{
	struct mem_user *m = rec->ctx;

	m->note[0] = m->counted[0] = '\0';
	if (m->mem->leaks)
		count_freed(rec, m);
	if (m->mem->temporary)
		count_temporary(rec, m);
	if (m->peak)
		note_peak(rec, m);
	else if (m->config.peak)
		note_most(rec, m);
	if (m->pinned)
		note_pinned(rec, m);
	info->counted = m->counted[0] ? m->counted : NULL;
	if (!m->note[0])
		return;
	if (info->note)
		add(m, "; %s", info->note);
	info->note = m->note;
}
