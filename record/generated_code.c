/* SPDX-License-Identifier: BSD-2-Clause */
/* From the memory of a process to the table of the functions in it. */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "symbolize/proc.h"
#include "unwind/rows.h"

#include "generated.h"
#include "generated_code.h"
#include "remote.h"
#include "table_store.h"

enum {
	ROWS = 1024, /* that are looked for in a mapping */
	PAGE = 4096,
};

/* Pages that were never written to are left zero. False: none is to be had. */
static bool read_code(uint32_t pid, uint64_t start, uint8_t *code, size_t n)
{
	struct record_remote memory = { .pid = (pid_t)pid };
	bool any = false;

	for (size_t at = 0; at < n; at += PAGE)
		any |= record_remote_read(&memory, start + at, code + at, PAGE);
	record_remote_close(&memory);
	return any;
}

/* Nothing is known of what lies before the first, nor is anything to be computed of it. */
static int add_rows(struct unwind_rows *rows, const struct generated_row *f, size_t n, size_t bytes)
{
	const struct unwind_rule none = { .kind = UNWIND_NO_ROW },
				 bare = { .kind = UNWIND_NO_ROW, .flags = UNWIND_COMPUTED };
	int err = f[0].at ? unwind_rows_add(rows, 0, &bare) : 0;

	for (size_t i = 0; i < n && !err; i++) {
		struct unwind_rule rule = f[i].rule;

		if (rule.kind == UNWIND_SP)
			rule.ra_off = -8;
		rule.flags |= UNWIND_COMPUTED; /* the return address is seen to follow a call */
		err = unwind_rows_add(rows, f[i].at, &rule);
	}
	return err ? err : unwind_rows_add(rows, bytes, &none);
}

static struct unwind_table *make_table(const struct generated_row *f, size_t n, size_t bytes)
{
	struct unwind_table *t = NULL;
	struct unwind_rows rows;

	if (unwind_rows_init(&rows))
		return NULL;
	rows.part_rows = UNWIND_PART_ROWS;
	if (add_rows(&rows, f, n, bytes) || unwind_rows_finish(&rows, EM_X86_64, &t))
		t = NULL;
	unwind_rows_free(&rows);
	return t;
}

static bool any_has_rule(const struct generated_row *f, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (f[i].rule.kind != UNWIND_NO_ROW)
			return true;
	return false;
}

/* What there is of it, in whatever process: as processes of PHP, which have forked, all have. */
static const struct stored_file *stored(struct record_table_store *s, uint32_t pid,
					const struct generated_row *f, size_t n, size_t bytes)
{
	const size_t half = n / 2 * sizeof(*f);
	struct stat key = { .st_ino = (uint64_t)rp_hash_bytes(f, half) << 32 |
				      rp_hash_bytes((const char *)f + half, n * sizeof(*f) - half),
			    .st_size = (off_t)bytes },
		    process;
	const struct stored_file *known = record_table_store_known(s, &key);
	struct unwind_table *t;
	char path[32];

	if (known && !record_table_store_try_again(known))
		return known;
	snprintf(path, sizeof(path), "/proc/%u", pid);
	t = stat(path, &process) ? NULL : make_table(f, n, bytes);
	if (!t)
		return NULL;
	key.st_uid = process.st_uid;
	known = record_table_store_made(s, &key, t);
	unwind_table_free(t);
	return known;
}

const struct stored_file *record_generated_code(struct record_table_store *s, uint32_t pid,
						const struct sym_proc_map *m)
{
	const size_t bytes = m->end - m->start;
	const struct stored_file *file = NULL;
	struct generated_row *f;
	uint8_t *code;
	size_t n;

	if (bytes > GENERATED_CODE_MAX || bytes % PAGE || !record_generated_is_known())
		return NULL;
	code = calloc(1, bytes);
	f = calloc(ROWS, sizeof(*f));
	if (code && f && read_code(pid, m->start, code, bytes)) {
		n = record_generated_rows(code, bytes, f, ROWS);
		if (any_has_rule(f, n))
			file = stored(s, pid, f, n, bytes);
	}
	free(code);
	free(f);
	return file;
}
