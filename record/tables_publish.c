/* SPDX-License-Identifier: BSD-2-Clause */
/* Publishes a process whose mappings nobody else is reading. */
#include <stdio.h>

#include "base/lack.h"
#include "symbolize/proc.h"

#include "looks.h"
#include "tables.h"

struct publishing {
	struct record_tables *f;
	struct record_looks *looks;
	uint32_t count;
};

/* So many mappings are looked at before it is asked whether that may go on. */
#define MANY 128

static int take_map(void *ctx, const struct sym_proc_map *m)
{
	struct publishing *p = ctx;

	if (p->looks && ++p->count % MANY == 0 && !record_look_goes_on(p->looks, 0))
		return 1;
	return record_tables_map(p->f, m);
}

static void publish(struct record_tables *f, uint32_t pid)
{
	struct publishing p = { f, record_tables_looks(f), 0 };
	char path[32];
	int err;

	record_tables_begin(f, pid);
	err = sym_proc_maps("/proc", pid, take_map, &p);
	if (err >= 0) {
		record_tables_end(f);
		return;
	}
	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	rp_lack(err, path);
}

/* False: its user has no time left for that now. */
static bool look_at(struct record_tables *f, uint32_t pid)
{
	struct record_looks *looks = record_tables_looks(f);

	if (looks && !record_look_begin(looks, pid))
		return false;
	publish(f, pid);
	if (looks)
		record_look_end(looks);
	return true;
}

void record_tables_publish(struct record_tables *f, uint32_t pid)
{
	look_at(f, pid);
}

/* So many are tried again. */
#define MOST_LATER 64

void record_tables_publish_all(struct record_tables *f, struct id_set *pids,
			       const struct id_set *but)
{
	struct id_set later = { 0 };

	for (uint32_t i = 0; i < rp_id_set_count(pids); i++) {
		const uint32_t pid = (uint32_t)rp_id_set_at(pids, i);

		if (!rp_id_set_has(but, pid) && !look_at(f, pid) &&
		    rp_id_set_count(&later) < MOST_LATER)
			rp_id_set_add(&later, pid);
	}
	rp_id_set_free(pids);
	*pids = later;
}
