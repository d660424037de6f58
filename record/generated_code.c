/* SPDX-License-Identifier: BSD-2-Clause */
/* From the memory of a process to the table of the functions in it. */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/machine.h"
#include "unwind/rows.h"

#include "looks.h"
#include "generated.h"
#include "generated_code.h"
#include "remote.h"
#include "table_store.h"

enum {
	ROWS = 1024, /* that are looked for in a piece */
	PAGE = 4096,
};

/* Pages that were never written to are left zero. False: none is to be had, or not now. */
static bool read_code(uint32_t pid, uint64_t start, uint8_t *code, size_t n, bool *waits)
{
	struct record_remote memory = { .pid = (pid_t)pid };
	bool any = false, is_late = false;

	for (size_t at = 0; at < n && !is_late; at += PAGE) {
		const bool is_read = record_remote_read(&memory, start + at, code + at, PAGE);

		any |= is_read;
		is_late = !is_read && memory.error == EBUSY;
	}
	record_remote_close(&memory);
	*waits |= is_late;
	return any && !is_late;
}

/* What is known of a piece of code; what was computed, unless that is NULL, comes first. */
struct found {
	const struct generated_row *row;
	size_t n;
	struct unwind_table *computed;
};

/* Of row number @i; of what lies before the first nothing is known, nor is it to be computed. */
static struct unwind_rule rule_of_row(const struct found *f, size_t i)
{
	struct unwind_rule rule = { .kind = UNWIND_NO_ROW };

	if (i < f->n)
		rule = f->row[i].rule;
	if (rule.kind == UNWIND_SP)
		rule.ra_off = -8;
	rule.flags |= UNWIND_COMPUTED; /* the return address is seen to follow a call */
	return rule;
}

/* What ends a walk has to be said by a file: code in memory may be anything. */
static bool is_used(const struct unwind_rule *rule)
{
	return rule->kind != UNWIND_NO_ROW && rule->kind != UNWIND_STOP &&
	       rule->kind != UNWIND_UNSUP;
}

/* The rule from @at on. *next: before which nothing else holds. */
static struct unwind_rule rule_at(const struct found *f, size_t i, size_t at, size_t bytes,
				  size_t *next)
{
	const struct unwind_rule *computed =
		f->computed ? unwind_table_rule(f->computed, at) : NULL;

	*next = f->computed ? at + 1 : i < f->n ? f->row[i].at : bytes;
	return computed && is_used(computed) ? *computed : rule_of_row(f, i - 1);
}

static int add_rows(struct unwind_rows *rows, const struct found *f, size_t bytes)
{
	const struct unwind_rule none = { .kind = UNWIND_NO_ROW };
	struct unwind_rule rule, last = none;
	size_t i = 0;
	int err = 0;

	for (size_t at = 0, next; at < bytes && !err; at = next) {
		i += i < f->n && f->row[i].at == at;
		rule = rule_at(f, i, at, bytes, &next);
		if (memcmp(&rule, &last, sizeof(rule)))
			err = unwind_rows_add(rows, at, &rule);
		last = rule;
	}
	return err ? err : unwind_rows_add(rows, bytes, &none);
}

static struct unwind_table *make_table(const struct found *f, size_t bytes)
{
	struct unwind_table *t = NULL;
	struct unwind_rows rows;

	if (unwind_rows_init(&rows))
		return NULL;
	rows.part_rows = UNWIND_PART_ROWS;
	if (add_rows(&rows, f, bytes) || unwind_rows_finish(&rows, rp_machine_host()->elf, &t))
		t = NULL;
	unwind_rows_free(&rows);
	return t;
}

static bool any_row_has_rule(const struct found *f)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->row[i].rule.kind != UNWIND_NO_ROW)
			return true;
	return false;
}

/*
 * The same code has the same table, in whatever process of a user: as processes of PHP, which have
 * forked, all have. What another user has made to look like it is not found.
 */
static struct stat key_of(uint32_t pid, const void *data, size_t size, size_t bytes)
{
	const size_t half = size / 2;
	struct stat process = { 0 };
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u", pid);
	if (stat(path, &process))
		process.st_uid = (uid_t)-1;
	return (struct stat){ .st_ino = (uint64_t)rp_hash_bytes(data, half) << 32 |
					rp_hash_bytes((const char *)data + half, size - half),
			      .st_size = (off_t)bytes,
			      .st_ctim.tv_sec = process.st_uid,
			      .st_uid = process.st_uid };
}

/* There is one already, or one for as good as none. */
static const struct stored_file *find(struct record_table_store *s, const struct stat *key)
{
	const struct stored_file *known = record_table_store_known(s, key);

	return known && !record_table_store_try_again(known) ? known : NULL;
}

static const struct stored_file *store(struct record_table_store *s, const struct stat *key,
				       const struct found *f, size_t bytes)
{
	struct unwind_table *t = make_table(f, bytes);
	const struct stored_file *file = t ? record_table_store_made(s, key, t) : NULL;

	unwind_table_free(t);
	return file;
}

/* By how functions begin alone, which is quick. */
static const struct stored_file *by_beginnings(struct record_table_store *s, uint32_t pid,
					       const struct found *f, size_t bytes)
{
	const struct stored_file *known;
	struct stat key;

	if (!any_row_has_rule(f))
		return NULL;
	key = key_of(pid, f->row, f->n * sizeof(*f->row), bytes);
	known = find(s, &key);
	return known ? known : store(s, &key, f, bytes);
}

/* What there was of it, or what is computed now; NULL: nothing, or there is no time. */
static const struct stored_file *by_instructions(struct record_table_store *s, uint32_t pid,
						 struct found *f, const uint8_t *code, size_t bytes,
						 struct generated_time *t, bool *waits)
{
	const struct stat key = key_of(pid, code, bytes, bytes);
	const struct stored_file *file = find(s, &key);
	const uint64_t now = rp_monotonic_ns(), began = rp_thread_cpu_ns();
	uint64_t spent;

	if (file)
		return file;
	if (!record_generated_has_time(t, key.st_uid, now)) {
		*waits = true;
		return NULL;
	}
	if (!unwind_table_build_code(&f->computed, rp_machine_host()->elf, code, bytes))
		file = store(s, &key, f, bytes);
	unwind_table_free(f->computed);
	f->computed = NULL;
	spent = rp_thread_cpu_ns() - began;
	record_generated_spent(t, key.st_uid, now, spent);
	record_look_without(spent);
	return file;
}

const struct stored_file *record_generated_code(struct record_table_store *s, uint32_t pid,
						uint64_t start, size_t bytes,
						struct generated_time *computing, bool *waits)
{
	const struct stored_file *file = NULL;
	struct generated_row *row;
	uint8_t *code;

	if (bytes > GENERATED_CODE_MAX || bytes % PAGE)
		return NULL;
	code = calloc(1, bytes);
	row = calloc(ROWS, sizeof(*row));
	if (code && row && read_code(pid, start, code, bytes, waits)) {
		struct found f = { .row = row, .n = record_generated_rows(code, bytes, row, ROWS) };

		if (computing)
			file = by_instructions(s, pid, &f, code, bytes, computing, waits);
		if (!file)
			file = by_beginnings(s, pid, &f, bytes);
	}
	free(code);
	free(row);
	return file;
}
