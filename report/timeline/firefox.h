/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables that all threads of a Firefox profile share, filled as threads are written. */
#ifndef REPORT_FIREFOX_H
#define REPORT_FIREFOX_H

#include "columns.h"
#include "timeline.h"

/* As meta.categories has them; those of frames in the order of enum report_frame_kind. */
enum firefox_category {
	CATEGORY_USER,
	CATEGORY_KERNEL,
	CATEGORY_JIT,
	CATEGORY_INLINED,
	CATEGORY_OTHER, /* the default, which has to be grey */
	CATEGORY_PYTHON,
	CATEGORY_JS,
	CATEGORY_JVM,
	CATEGORY_PHP,
	CATEGORY_RUBY,
	CATEGORY_PERL,
	CATEGORY_BLOCKED,
	CATEGORY_RUNNABLE,
};

struct firefox {
	struct timeline t;
	struct out out;
	struct strings strings; /* index + 1 */
	struct hash_map libs, resources, sources, funcs, symbols, frames, stacks;
	struct strings reasons; /* of waits: subcategories of CATEGORY_BLOCKED, from 1 */
	struct strings keys;	/* of their labels */
	struct buf scratch;
	int err; /* the first failure that is not the stream's */
};

int report_firefox_tables_init(struct firefox *f);
void report_firefox_tables_free(struct firefox *f);

/* Indices; anything once f->err is set. */
int64_t report_firefox_string(struct firefox *f, const char *s);
/* Of a node of the report. If the thread waited there, in the leaf's place: that category. */
int64_t report_firefox_stack(struct firefox *f, uint32_t node, enum firefox_category category,
			     uint32_t subcategory);

/* A label of a marker, in quotes. */
void report_firefox_put_key(struct firefox *f, const char *key);
/* "threads", with what they have done, and a comma. */
void report_firefox_put_threads(struct firefox *f);
/* The members "libs" and "shared", without a comma behind them. */
void report_firefox_put_tables(struct firefox *f);

#endif
