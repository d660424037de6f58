/* SPDX-License-Identifier: BSD-2-Clause */
/* Names, files and lines of Python's functions, as the programs sent them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "symbolize/python.h"

#include "names.h"
#include "python.h"

/* Processes that run the same program have the same functions. */
struct function {
	uint64_t hash; /* of all that follows */
	char *name, *file;
	uint8_t *lines;
	uint32_t nlines, first_line, version;
};

/* A code object of a process. */
struct code {
	uint64_t pid, generation, address, check;
	uint32_t function;
};

/* 100 MB: then what is new has no names. */
#define MOST_CODES (1u << 20)

struct python_names {
	struct hash_map functions; /* of struct function */
	struct hash_map codes;	   /* of struct code */
};

int record_python_names_open(struct python_names **out)
{
	struct python_names *names = calloc(1, sizeof(*names));

	if (!names)
		return -ENOMEM;
	names->functions = HASH_MAP(struct function, hash);
	names->codes = HASH_MAP(struct code, check);
	*out = names;
	return 0;
}

void record_python_names_close(struct python_names *names)
{
	struct function *f;

	if (!names)
		return;
	f = names->functions.items;
	for (uint32_t i = 0; i < names->functions.count; i++) {
		free(f[i].name);
		free(f[i].file);
		free(f[i].lines);
	}
	rp_hash_free(&names->functions);
	rp_hash_free(&names->codes);
	free(names);
}

static uint64_t mix(uint64_t hash, const void *bytes, size_t n)
{
	const uint8_t *at = bytes;

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ at[i]) * 0x100000001b3ull; /* FNV-1a */
	return (hash ^ n) * 0x9e3779b97f4a7c15ull;
}

static uint64_t hash_of(const struct python_code *c)
{
	uint64_t hash = mix(0xcbf29ce484222325ull, c->file, c->file_bytes);

	hash = mix(hash, c->name, c->name_bytes);
	hash = mix(hash, c->lines, c->lines_bytes);
	hash = mix(hash, &c->first_line, sizeof(c->first_line));
	return mix(hash, &c->version, sizeof(c->version));
}

static int fill(struct function *f, const struct python_code *c)
{
	f->name = sym_python_text(c->name_state, c->name, c->name_bytes);
	f->file = sym_python_text(c->file_state, c->file, c->file_bytes);
	f->lines = malloc(c->lines_bytes + 1u);
	if (!f->name || !f->file || !f->lines)
		return -ENOMEM;
	memcpy(f->lines, c->lines, c->lines_bytes);
	f->nlines = c->lines_bytes;
	f->first_line = c->first_line;
	f->version = c->version;
	return 0;
}

int record_python_names_add(struct python_names *names, const struct python_code *c)
{
	const struct code key = { c->pid_tgid >> 32, c->generation, c->code, c->check };
	const uint64_t hash = hash_of(c);
	struct function *f;
	struct code *code;

	if (names->codes.count == MOST_CODES)
		return 0;
	f = rp_hash_add(&names->functions, &hash);
	if (!f || (!f->lines && fill(f, c)))
		return -ENOMEM;
	code = rp_hash_add(&names->codes, &key);
	if (!code)
		return -ENOMEM;
	code->function = (uint32_t)(f - (struct function *)names->functions.items);
	return 0;
}

void record_python_names_find(const struct python_names *names, const struct name_owner *owner,
			      const uint64_t words[2], struct report_frame *out)
{
	const bool is_entered = (words[1] & PYTHON_POSITION_MAX) == PYTHON_POSITION_ENTERED;
	const uint32_t position = is_entered ? 0 : words[1] & PYTHON_POSITION_MAX;
	const struct code key = { owner->pid, owner->generation, words[0] & PYTHON_CODE_MASK,
				  (uint32_t)(words[1] >> PYTHON_CHECK_SHIFT) };
	const struct code *code = rp_hash_find(&names->codes, &key);
	const struct function *f;

	*out = (struct report_frame){ .name = "[python]",
				      .kind = REPORT_PYTHON,
				      .address = key.address + 2ull * position };
	if (!code)
		return;
	f = (const struct function *)names->functions.items + code->function;
	out->name = *f->name ? f->name : out->name;
	out->module = out->file = *f->file ? f->file : NULL;
	out->symbol_offset = 2ull * position;
	out->line = is_entered ? f->first_line
			       : sym_python_line(f->version, f->lines, f->nlines, f->first_line,
						 position);
}
