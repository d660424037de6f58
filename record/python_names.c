/* SPDX-License-Identifier: BSD-2-Clause */
/* Names, files and lines of Python's functions, as the programs sent them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "symbolize/python.h"

#include "name_share.h"
#include "names.h"
#include "python.h"

/* A code object of a process. Processes that run the same program have the same texts and lines. */
struct code {
	uint32_t pid, check;
	uint64_t generation, address;
	const char *name, *file;
	const uint8_t *lines;
	uint32_t nlines, first_line, version;
};

struct lines {
	uint8_t *bytes;
	uint32_t n;
};

struct python_names {
	struct name_share *share;
	struct hash_map codes; /* of struct code */
	struct sym_strings texts;
	struct lines *lines; /* each once */
	uint32_t nlines, capacity;
	struct hash_index lines_index;
};

int record_python_names_open(struct python_names **out, struct name_share *share)
{
	struct python_names *names = calloc(1, sizeof(*names));

	if (!names)
		return -ENOMEM;
	names->share = share;
	names->codes = HASH_MAP(struct code, address);
	*out = names;
	return 0;
}

void record_python_names_close(struct python_names *names)
{
	if (!names)
		return;
	for (uint32_t i = 0; i < names->nlines; i++)
		free(names->lines[i].bytes);
	free(names->lines);
	rp_index_free(&names->lines_index);
	sym_strings_free(&names->texts);
	rp_hash_free(&names->codes);
	free(names);
}

/* The kept copy; NULL: no memory. */
static const uint8_t *keep_lines(struct python_names *names, uid_t uid, const uint8_t *bytes,
				 uint32_t n)
{
	const uint32_t hash = rp_hash_bytes(bytes, n);
	struct lines copy = { NULL, n };
	uint32_t at = hash, i;

	while (names->nlines && (i = rp_index_next(&names->lines_index, hash, &at)) != HASH_NONE)
		if (names->lines[i].n == n && !memcmp(names->lines[i].bytes, bytes, n))
			return names->lines[i].bytes;
	if (rp_index_reserve(&names->lines_index))
		return NULL;
	copy.bytes = malloc(n + 1u);
	if (!copy.bytes || RP_PUSH(names->lines, names->nlines, names->capacity, copy)) {
		free(copy.bytes);
		return NULL;
	}
	memcpy(copy.bytes, bytes, n);
	rp_index_put(&names->lines_index, hash, names->nlines - 1);
	record_name_add(names->share, uid, n + sizeof(copy) + 2 * RECORD_NAME_INDEX);
	return copy.bytes;
}

/* What it points to is copied. */
static int keep(struct python_names *names, uid_t uid, struct code c)
{
	struct code *kept;

	c.name = record_name_keep(names->share, uid, &names->texts, c.name);
	c.file = record_name_keep(names->share, uid, &names->texts, c.file);
	c.lines = keep_lines(names, uid, c.lines, c.nlines);
	kept = c.name && c.file && c.lines ? rp_hash_add(&names->codes, &c) : NULL;
	if (!kept)
		return -ENOMEM;
	if (!kept->name)
		record_name_add(names->share, uid, sizeof(c) + RECORD_NAME_INDEX);
	*kept = c;
	return 0;
}

int record_python_names_add(struct python_names *names, const struct python_code *c)
{
	const uint32_t pid = (uint32_t)(c->pid_tgid >> 32);
	const uid_t uid = record_name_owner(names->share, pid, c->generation);
	char *name, *file;
	int err = -ENOMEM;

	if (!record_name_has_room(names->share, uid, sizeof(*c)))
		return 0;
	name = sym_python_text(c->name_state, c->name, c->name_bytes);
	file = sym_python_text(c->file_state, c->file, c->file_bytes);
	if (name && file)
		err = keep(names, uid,
			   (struct code){ pid, c->check, c->generation, c->code, name, file,
					  c->lines, c->lines_bytes, c->first_line, c->version });
	free(name);
	free(file);
	return err;
}

void record_python_names_forget(struct python_names *names)
{
	struct python_names *left, all = *names;
	const struct code *c = names->codes.items;

	if (record_python_names_open(&left, names->share))
		return;
	for (uint32_t i = 0; i < names->codes.count; i++)
		if (!record_name_is_gone(names->share, c[i].pid, c[i].generation))
			keep(left, record_name_owner(names->share, c[i].pid, c[i].generation),
			     c[i]);
	*names = *left;
	*left = all;
	record_python_names_close(left);
}

void record_python_names_find(const struct python_names *names, const struct name_owner *owner,
			      const uint64_t words[2], struct report_frame *out)
{
	const bool is_entered = (words[1] & PYTHON_POSITION_MAX) == PYTHON_POSITION_ENTERED;
	const uint32_t position = is_entered ? 0 : words[1] & PYTHON_POSITION_MAX;
	const struct code key = { .pid = owner->pid,
				  .check = (uint32_t)(words[1] >> PYTHON_CHECK_SHIFT),
				  .generation = owner->generation,
				  .address = words[0] & PYTHON_CODE_MASK };
	const struct code *f = rp_hash_find(&names->codes, &key);

	*out = (struct report_frame){ .name = "[python]",
				      .kind = REPORT_PYTHON,
				      .address = key.address + 2ull * position };
	if (!f)
		return;
	out->name = *f->name ? f->name : out->name;
	out->module = out->file = *f->file ? f->file : NULL;
	out->symbol_offset = 2ull * position;
	out->line = is_entered ? f->first_line
			       : sym_python_line(f->version, f->lines, f->nlines, f->first_line,
						 position);
}
