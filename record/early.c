/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A virtual machine is ready some time after its library was mapped: Java in 50 ms. PCRE generates
 * a function when a program has read the first pattern.
 */
#include <string.h>

#include "base/clock.h"
#include "early.h"

#define WINDOW_NS (3 * NS_PER_SECOND)
#define LOOK_NS (NS_PER_SECOND / 200)
#define MAPPED_WINDOW_NS (NS_PER_SECOND / 4)

void record_early_free(struct record_early *e)
{
	rp_id_set_free(&e->waiting);
	rp_id_set_free(&e->ever);
}

void record_early_later(struct record_early *e, uint32_t pid)
{
	rp_id_set_add(&e->waiting, pid);
}

/* One that never begins is looked at often for once only. */
void record_early_add(struct record_early *e, uint32_t pid)
{
	if (!rp_id_set_count(&e->waiting) && !rp_id_set_has(&e->ever, pid))
		rp_id_set_free(&e->ever);
	if (rp_id_set_add(&e->ever, pid))
		e->until = rp_monotonic_ns() + WINDOW_NS;
	record_early_later(e, pid);
}

void record_early_take(struct record_early *e, const struct id_set *current, struct id_set *changed)
{
	struct id_set waiting = e->waiting;

	e->waiting = (struct id_set){ 0 };
	for (uint32_t i = 0; i < rp_id_set_count(&waiting); i++) {
		const uint32_t pid = (uint32_t)rp_id_set_at(&waiting, i);

		rp_id_set_add(rp_id_set_has(current, pid) ? &e->waiting : changed, pid);
	}
	rp_id_set_free(&waiting);
}

void record_early_mapped(struct record_early *e, const char *path)
{
	const char *slash = strrchr(path, '/');

	if (slash && !strncmp(slash + 1, "libpcre", strlen("libpcre")))
		e->mapped_until = rp_monotonic_ns() + MAPPED_WINDOW_NS;
}

uint64_t record_early_urgent(const struct record_early *e)
{
	const uint64_t now = rp_monotonic_ns();

	return now < e->mapped_until || (rp_id_set_count(&e->waiting) && now < e->until)
		       ? LOOK_NS
		       : UINT64_MAX;
}
