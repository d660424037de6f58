/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unwind tables in files. The input is a file as it is, and then the arrays of a table, which is
 * asked and written only if it says that it is sound; then it is the same when it is read back.
 */
#include <errno.h>

#include "unwind/file.h"
#include "unwind/table.h"
#include "fuzz.h"

enum { HEAD = 8 };

static void ask(const struct unwind_table *t)
{
	const struct unwind_part *last = &t->parts[t->nparts - 1];
	uint64_t end = last->start + (uint64_t)last->npages * UNWIND_PAGE, start;

	for (uint64_t at = t->parts->start; at < end && at < t->parts->start + 16384; at += 61) {
		fuzz_check(unwind_table_rule(t, at)->kind < UNWIND_KINDS);
		if (!unwind_table_fde_start(t, at, &start))
			fuzz_check(start <= at);
	}
}

static void read_back(const struct unwind_table *t)
{
	const struct unwind_key key = { { 1, 2 } };
	struct unwind_key code = { { 3, 4 } };
	struct unwind_table *again;
	void *bytes;
	size_t size;
	int fd;

	fuzz_check(!unwind_file_make(&key, &code, t, &bytes, &size));
	fd = fuzz_file(bytes, size);
	free(bytes);
	fuzz_check(!unwind_file_read(fd, &key, &code, &again));
	fuzz_check(again->nparts == t->nparts && again->nrules == t->nrules);
	fuzz_check(unwind_table_size(again) == unwind_table_size(t));
	fuzz_check(!memcmp(again->rules, t->rules, unwind_table_size(t)));
	unwind_table_free(again);
	close(fd);
}

/* Eight bytes say how much there is of what, the rest is that. */
static void make(const uint8_t *data, size_t size)
{
	struct unwind_counts c = { .machine = 62,
				   .nparts = 1 + data[0] % 3,
				   .nrules = 1 + data[1] % 16,
				   .nindex = 2 + data[2] % 32,
				   .nrows = 1 + data[3],
				   .nfdes = data[4] % 16 };
	const uint32_t pages = c.nindex / c.nparts, rows = c.nrows / c.nparts;
	const size_t bytes = unwind_counts_size(&c);
	struct unwind_arrays a;
	struct unwind_table *t;

	if (!pages || !rows)
		return;
	t = unwind_table_new(&c, &a);
	memset(a.rules, 0, bytes);
	memcpy(a.rules, data + HEAD, size - HEAD < bytes ? size - HEAD : bytes);
	/* What each of them begins with is no news; the rest is the input's. */
	memset(a.rules, 0, sizeof(*a.rules));
	for (uint32_t i = 0; i < c.nparts; i++) {
		uint32_t *index = a.index + i * pages;

		a.parts[i] = (struct unwind_part){ .start = data[5 + i] * (uint64_t)UNWIND_PAGE,
						   .npages = pages - 1,
						   .nrows = rows,
						   .index = index,
						   .rows = a.rows + i * rows };
		index[0] = 1;
		index[pages - 1] = rows;
		a.rows[i * rows].rule = 0;
	}
	if (unwind_table_is_sound(t)) {
		ask(t);
		if (pages * c.nparts == c.nindex && rows * c.nparts == c.nrows)
			read_back(t);
	}
	unwind_table_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct unwind_key key = { { 0 } }, code;
	struct unwind_table *t;
	int fd;

	if (size < HEAD + 1)
		return 0;
	make(data, size);
	/* The key stands behind the magic, the version and the size of the header. */
	if (size >= 16 + sizeof(key))
		memcpy(&key, data + 16, sizeof(key));
	fd = fuzz_file(data, size);
	if (!unwind_file_read(fd, &key, &code, &t)) {
		fuzz_check(unwind_table_is_sound(t));
		ask(t);
		unwind_table_free(t);
	}
	close(fd);
	return 0;
}
