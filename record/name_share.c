/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of functions: whose they are, and what is left when processes have ended. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/budget.h"
#include "base/clock.h"
#include "base/grow.h"
#include "symbolize/proc.h"
#include "symbolize/python.h"

#include "generated_time.h"
#include "name_share.h"

/* 128 MB for one user, who has a million functions then; those of one program are 20,000. */
#define MOST_BYTES (256ull << 20)
#define MOST_PROCESSES (1u << 16)
#define INDEX_BYTES 32 /* of what is found by a hash */

/* Of one that has ended there may still be stacks in the window at hand. */
enum { LIVES, ENDED, GONE };

struct named_process {
	uint32_t pid;
	uid_t uid;
	uint64_t generation;
	uint64_t born; /* 0: not known */
	int state;
};

struct lines {
	uint8_t *bytes;
	uint32_t n;
};

/* All that goes when it is forgotten. */
struct codes {
	struct hash_map map; /* of struct named_code */
	struct sym_strings texts;
	struct lines *lines; /* each table once */
	uint32_t nlines, capacity;
	struct hash_index lines_index;
};
#define CODES ((struct codes){ .map = HASH_MAP(struct named_code, address) })

/* Of one program's processes: each line is looked up once, in all windows. */
struct known_line {
	const uint8_t *table;
	uint32_t first_line, version, position, line;
};
#define MOST_LINES (1u << 16)

struct name_share {
	struct record_share share;
	struct hash_map processes; /* of struct named_process */
	uint64_t bytes;		   /* of all, root too */
	struct codes codes;
	struct hash_map known; /* of struct known_line, whose tables are those of codes */
	struct generated_time scanned;
	struct record_share late; /* to whom that was said */
};

void record_name_share_named(struct name_share *s)
{
	s->scanned.is_named = true;
}

bool record_name_share_is_named(const struct name_share *s)
{
	return s->scanned.is_named;
}

int record_name_share_open(struct name_share **out)
{
	struct name_share *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->share = RECORD_SHARE(rp_memory_part(8, MOST_BYTES), "memory for names of functions");
	s->late = RECORD_SHARE(0, "time for lines of functions");
	s->processes = HASH_MAP(struct named_process, pid);
	s->codes = CODES;
	s->known = HASH_MAP(struct known_line, position);
	*out = s;
	return 0;
}

static void free_codes(struct codes *c)
{
	for (uint32_t i = 0; i < c->nlines; i++)
		free(c->lines[i].bytes);
	free(c->lines);
	rp_index_free(&c->lines_index);
	sym_strings_free(&c->texts);
	rp_hash_free(&c->map);
}

void record_name_share_close(struct name_share *s)
{
	if (!s)
		return;
	free_codes(&s->codes);
	record_share_free(&s->share);
	record_share_free(&s->late);
	rp_hash_free(&s->known);
	rp_hash_free(&s->processes);
	free(s);
}

/* ---- processes */

/* Who it is. False: it has ended, be its number in use again or not. */
static bool look(struct named_process *p)
{
	const uid_t uid = record_share_user(p->pid);
	uint64_t born;

	if (uid == RECORD_UID_UNKNOWN || sym_proc_born("/proc", p->pid, &born) ||
	    (p->born && p->born != born))
		return false;
	p->uid = uid;
	p->born = born;
	return true;
}

/* The user of a process, which is looked at the first time. */
static uid_t owner_of(struct name_share *s, uint32_t pid, uint64_t generation)
{
	bool is_new;
	struct named_process *p = rp_hash_add_within(&s->processes, &pid, MOST_PROCESSES, &is_new);

	if (!p)
		return RECORD_UID_UNKNOWN;
	if (is_new || p->generation != generation) {
		p->uid = RECORD_UID_UNKNOWN;
		p->generation = generation;
		p->born = 0;
		p->state = look(p) ? LIVES : ENDED;
	}
	return p->uid;
}

/* It had ended a window ago, or has executed something else. */
static bool is_gone(const struct name_share *s, uint32_t pid, uint64_t generation)
{
	const struct named_process *p = rp_hash_find(&s->processes, &pid);

	return p && (p->generation != generation || p->state == GONE);
}

/* Another window is over; true: there is a process that has gone with it. */
static bool age(struct name_share *s)
{
	struct named_process *p = s->processes.items;
	bool any = false;

	for (uint32_t i = 0; i < s->processes.count; i++) {
		any |= p[i].state == ENDED;
		if (p[i].state == ENDED || (p[i].state == LIVES && !look(&p[i])))
			p[i].state++;
	}
	return any;
}

/* ---- memory */

static void charge(struct name_share *s, uid_t uid, uint64_t size)
{
	record_share_add(&s->share, uid, size);
	s->bytes += size;
}

struct name_account record_name_account(struct name_share *s, uint32_t pid, uint64_t generation)
{
	return (struct name_account){ .share = s,
				      .pid = pid,
				      .uid = owner_of(s, pid, generation),
				      .generation = generation };
}

bool record_name_has_room(const struct name_account *a, uint64_t size)
{
	return record_share_has_room(&a->share->share, a->uid, size);
}

void record_name_add(struct name_account *a, uint64_t size)
{
	size += INDEX_BYTES;
	charge(a->share, a->uid, size);
	a->bytes += size;
}

const char *record_name_keep(struct name_account *a, struct sym_strings *texts, const char *text)
{
	const size_t n = strlen(text);
	const uint32_t before = texts->count;
	const char *kept = sym_strings_add(texts, text, n);

	if (texts->count != before)
		record_name_add(a, n + 1);
	return kept;
}

/* It may be another user's by now. */
bool record_name_settle(struct name_account *a)
{
	if (is_gone(a->share, a->pid, a->generation))
		return false;
	a->uid = owner_of(a->share, a->pid, a->generation);
	charge(a->share, a->uid, a->bytes);
	return true;
}

/* The kept copy; NULL: no memory. */
static const uint8_t *keep_lines(struct name_account *a, const uint8_t *bytes, uint32_t n)
{
	const uint32_t hash = rp_hash_bytes(bytes, n);
	struct lines copy = { NULL, n };
	struct codes *c = &a->share->codes;
	uint32_t at = hash, i;

	if (rp_index_reserve(&c->lines_index))
		return NULL;
	while ((i = rp_index_next(&c->lines_index, hash, &at)) != HASH_NONE)
		if (c->lines[i].n == n && !memcmp(c->lines[i].bytes, bytes, n))
			return c->lines[i].bytes;
	copy.bytes = malloc(n + 1u);
	if (!copy.bytes || RP_PUSH(c->lines, c->nlines, c->capacity, copy)) {
		free(copy.bytes);
		return NULL;
	}
	memcpy(copy.bytes, bytes, n);
	rp_index_put(&c->lines_index, hash, c->nlines - 1);
	record_name_add(a, n + sizeof(copy));
	return copy.bytes;
}

static int keep(struct name_account *a, const struct named_code *from)
{
	struct named_code c = *from, *kept;
	struct codes *codes = &a->share->codes;

	c.name = record_name_keep(a, &codes->texts, c.name);
	c.file = record_name_keep(a, &codes->texts, c.file);
	if (c.lines)
		c.lines = keep_lines(a, c.lines, c.nlines);
	kept = c.name && c.file && (c.lines || !from->lines) ? rp_hash_add(&codes->map, &c) : NULL;
	if (!kept)
		return -ENOMEM;
	if (!kept->name)
		record_name_add(a, sizeof(c));
	c.uid = a->uid;
	*kept = c;
	return 0;
}

int record_name_code(struct name_share *s, const struct named_code *code)
{
	struct name_account a = record_name_account(s, code->pid, code->generation);
	const uint64_t most = strlen(code->name) + strlen(code->file) + code->nlines;

	if (!record_name_has_room(&a, most + sizeof(*code) + 4 * INDEX_BYTES))
		return 0;
	return keep(&a, code);
}

const struct named_code *record_name_find(const struct name_share *s, const struct named_code *key)
{
	return rp_hash_find(&s->codes.map, key);
}

/* ---- lines */

enum {
	CHEAP_BYTES = 128, /* no more than the rest of naming; most tables are smaller */
	BYTE_NS = 3,
	PART = 4, /* of what generated_time.h lets users owe: they have 8 % of the time */
};

bool record_name_may_scan(struct name_share *s, uid_t uid, uint32_t bytes)
{
	uint64_t now;

	if (bytes <= CHEAP_BYTES)
		return true;
	now = rp_monotonic_ns();
	if (!record_generated_has_time(&s->scanned, uid, now)) {
		record_share_say(&s->late, uid);
		return false;
	}
	record_generated_spent(&s->scanned, uid, now, (uint64_t)bytes * BYTE_NS / PART);
	return true;
}

static uint32_t look_up(const struct named_code *c, uint32_t position)
{
	return sym_python_line(c->version, c->lines, c->nlines, c->first_line, position);
}

uint32_t record_name_line(struct name_share *s, const struct named_code *c, uint32_t position)
{
	struct known_line key = { c->lines, c->first_line, c->version, position, 0 }, *known;
	bool is_new;

	if (c->nlines <= CHEAP_BYTES)
		return look_up(c, position);
	known = rp_hash_find(&s->known, &key);
	if (known)
		return known->line;
	if (!record_name_may_scan(s, c->uid, c->nlines))
		return 0;
	key.line = look_up(c, position);
	known = rp_hash_add_within(&s->known, &key, MOST_LINES, &is_new);
	if (known)
		known->line = key.line;
	return key.line;
}

bool record_name_share_settle(struct name_share *s)
{
	struct codes all = s->codes;
	const struct named_code *c = all.map.items;
	struct name_account a;

	if (s->bytes < s->share.most / 4 || !age(s))
		return false;
	record_share_empty(&s->share);
	s->bytes = 0;
	s->codes = CODES;
	for (uint32_t i = 0; i < all.map.count; i++) {
		if (is_gone(s, c[i].pid, c[i].generation))
			continue;
		a = record_name_account(s, c[i].pid, c[i].generation);
		keep(&a, &c[i]);
	}
	free_codes(&all);
	rp_hash_free(&s->known);
	return true;
}
