/* SPDX-License-Identifier: BSD-2-Clause */
/* Names, files and lines of functions of JavaScript, read when they are new. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"

#include "name_share.h"
#include "names.h"
#include "v8.h"

/* A script of a process, by its source too: the collector moves objects. */
struct script {
	uint64_t pid, generation, address, source;
	const char *name;
	struct sym_v8_lines lines; /* n is 0: there are none yet */
	uint32_t tries;		   /* to read them */
};

struct function {
	uint64_t pid, generation, shared, check;
	const char *name;
	uint32_t script; /* number + 1; 0: it has none */
};

/* What two words stand for: frames first to first + count - 1. */
struct place {
	uint64_t pid, generation, words[2];
	uint32_t first, count; /* 0: not known */
};

/* The line is looked up late: of a script whose source could not be read it may be known then. */
struct frame {
	uint32_t function;
	int32_t position; /* -1: not known */
};

enum { MOST_FRAMES = 32, TEXT_BYTES = 1024, MOST_TRIES = 16 };
/* One place with all its functions and their scripts, without lines, takes less. */
#define PLACE_BYTES (MOST_FRAMES * 3 * TEXT_BYTES)

struct v8_names {
	struct name_share *share;
	struct sym_strings texts;
	struct hash_map scripts, functions, places;
	struct frame *frames;
	size_t nframes, capacity;
};

int record_v8_names_open(struct v8_names **out, struct name_share *share)
{
	struct v8_names *names = calloc(1, sizeof(*names));

	if (!names)
		return -ENOMEM;
	names->share = share;
	names->scripts = HASH_MAP(struct script, source);
	names->functions = HASH_MAP(struct function, check);
	names->places = HASH_MAP(struct place, words);
	*out = names;
	return 0;
}

static void empty(struct v8_names *names)
{
	const struct script *s = names->scripts.items;

	for (uint32_t i = 0; i < names->scripts.count; i++)
		free(s[i].lines.ends);
	rp_hash_free(&names->scripts);
	rp_hash_free(&names->functions);
	rp_hash_free(&names->places);
	sym_strings_free(&names->texts);
	free(names->frames);
	names->frames = NULL;
	names->nframes = names->capacity = 0;
}

void record_v8_names_close(struct v8_names *names)
{
	if (!names)
		return;
	empty(names);
	free(names);
}

/* Those of processes that run are read again when they come again. */
void record_v8_names_forget(struct v8_names *names)
{
	empty(names);
}

static uint32_t check_of(const uint64_t words[2])
{
	const uint64_t low = words[0] >> V8_CHECK_LOW_SHIFT & ((1 << V8_CHECK_LOW_BITS) - 1),
		       high = words[1] >> V8_CHECK_HIGH_SHIFT & ((1 << V8_CHECK_HIGH_BITS) - 1);

	return (uint32_t)(high << V8_CHECK_LOW_BITS | low);
}

/* One process's memory, at one moment. */
struct reader {
	struct v8_names *names;
	const struct sym_v8_layout *l;
	const struct sym_v8_memory *m;
	const struct name_owner *owner;
	uid_t uid;
};

static const char *keep(const struct reader *r, const char *text)
{
	return record_name_keep(r->names->share, r->uid, &r->names->texts, text);
}

static void count(const struct reader *r, size_t size)
{
	record_name_add(r->names->share, r->uid, size);
}

/* "file:///a/b.mjs" is "/a/b.mjs": as other files are called. */
static const char *plain(const char *name)
{
	return strncmp(name, "file:///", 8) ? name : name + 7;
}

/* The script of a function: its number + 1; 0: it has none. -ENOMEM. */
static int add_script(const struct reader *r, uint64_t shared, uint32_t *number)
{
	struct script *s, key = { r->owner->pid, r->owner->generation, 0, 0, NULL, { NULL }, 0 };
	char text[TEXT_BYTES];

	*number = 0;
	key.address = sym_v8_script(r->m, r->l, shared, &key.source);
	if (!key.address)
		return 0;
	s = rp_hash_add(&r->names->scripts, &key);
	if (!s)
		return -ENOMEM;
	*number = 1 + (uint32_t)(s - (struct script *)r->names->scripts.items);
	if (s->name)
		return 0;
	sym_v8_script_name(r->m, r->l, key.address, text, sizeof(text));
	s->name = keep(r, plain(text));
	count(r, sizeof(*s));
	return s->name ? 0 : -ENOMEM;
}

/* A function's number. -ENOENT: there is none any more. */
static int add_function(const struct reader *r, uint64_t shared, uint32_t *number)
{
	struct function *f, key = { .pid = r->owner->pid,
				    .generation = r->owner->generation,
				    .shared = shared };
	char text[TEXT_BYTES];
	uint32_t check, script;
	int err;

	if (!sym_v8_check(r->m, shared, &check))
		return -ENOENT;
	key.check = check;
	f = rp_hash_find(&r->names->functions, &key);
	if (!f) {
		if (!sym_v8_name(r->m, r->l, shared, text, sizeof(text)))
			return -ENOENT;
		err = add_script(r, shared, &script);
		if (err)
			return err;
		f = rp_hash_add(&r->names->functions, &key);
		if (!f)
			return -ENOMEM;
		f->name = keep(r, *text ? text : "<anonymous>");
		count(r, sizeof(*f));
		if (!f->name)
			return -ENOMEM;
		f->script = script;
	}
	*number = (uint32_t)(f - (struct function *)r->names->functions.items);
	return 0;
}

/* While the collector is at work the source may be out of reach: the next sample tries again. */
static void add_lines(const struct reader *r, struct script *s)
{
	uint64_t bytes;

	if (s->lines.n || s->tries == MOST_TRIES)
		return;
	s->tries++;
	if (sym_v8_type(r->m, s->address) != r->l->type_script ||
	    !sym_v8_lines(r->m, r->l, s->address, &s->lines))
		return;
	bytes = s->lines.n * sizeof(*s->lines.ends);
	if (record_name_has_room(r->names->share, r->uid, bytes)) {
		count(r, bytes);
		return;
	}
	free(s->lines.ends);
	s->lines = (struct sym_v8_lines){ NULL };
	s->tries = MOST_TRIES;
}

static int add_frame(const struct reader *r, const struct sym_v8_place *at)
{
	struct v8_names *names = r->names;
	const struct function *f;
	struct frame frame = { .position = at->position };
	int err = add_function(r, at->shared, &frame.function);

	if (err)
		return err;
	f = (const struct function *)names->functions.items + frame.function;
	if (f->script)
		add_lines(r, (struct script *)names->scripts.items + f->script - 1);
	return RP_PUSH(names->frames, names->nframes, names->capacity, frame);
}

/*
 * In compiled code of another function than the frame's the CPU was in its first or last
 * instructions: then that one was called from the frame, we do not know where.
 */
static size_t find_places(const struct reader *r, const uint64_t words[2],
			  struct sym_v8_place at[MOST_FRAMES])
{
	const uint64_t shared = words[0] & V8_ADDRESS_MASK, position = words[1] & V8_POSITION_MASK;
	size_t n;

	if (!(words[0] & V8_COMPILED)) {
		at[0] = sym_v8_interpreted(r->m, r->l, shared, position);
		return 1;
	}
	n = sym_v8_compiled(r->m, r->l, shared, position, at, MOST_FRAMES - 1);
	if (!n || at[n - 1].shared != shared)
		at[n++] = (struct sym_v8_place){ shared, -1 };
	return n;
}

static struct reader reader(struct v8_names *names, const struct sym_v8_layout *l,
			    const struct sym_v8_memory *m, const struct name_owner *owner)
{
	return (struct reader){ names, l, m, owner,
				record_name_owner(names->share, owner->pid, owner->generation) };
}

static bool has_room(const struct reader *r)
{
	return record_name_has_room(r->names->share, r->uid, PLACE_BYTES);
}

/* Its frames are those from @first on. */
static void put(const struct reader *r, struct place *place, size_t first)
{
	place->first = (uint32_t)first;
	place->count = (uint32_t)(r->names->nframes - first);
	count(r, sizeof(*place) + place->count * sizeof(struct frame));
}

int record_v8_names_add(struct v8_names *names, const struct sym_v8_layout *l,
			const struct sym_v8_memory *m, const struct name_owner *owner,
			const uint64_t words[2])
{
	const struct reader r = reader(names, l, m, owner);
	const struct place key = { owner->pid, owner->generation, { words[0], words[1] }, 0, 0 };
	const size_t first = names->nframes;
	struct sym_v8_place at[MOST_FRAMES];
	struct place *place;
	uint32_t check;
	int err = 0;

	place = rp_hash_find(&names->places, &key);
	if ((place && place->count) || !has_room(&r) ||
	    !sym_v8_check(m, words[0] & V8_ADDRESS_MASK, &check) || check != check_of(words))
		return 0;
	for (size_t i = 0, n = find_places(&r, words, at); !err && i < n; i++)
		err = add_frame(&r, &at[i]);
	if (err) {
		names->nframes = first;
		return err == -ENOENT ? 0 : err;
	}
	place = rp_hash_add(&names->places, &key);
	if (!place)
		return -ENOMEM;
	put(&r, place, first);
	return 0;
}

static void fill(const struct v8_names *names, const struct frame *frame, struct report_frame *out)
{
	const struct function *f =
		(const struct function *)names->functions.items + frame->function;
	const struct script *s =
		f->script ? (const struct script *)names->scripts.items + f->script - 1 : NULL;

	out->name = f->name;
	out->line = s ? sym_v8_line(&s->lines, frame->position) : 0;
	if (s && *s->name)
		out->module = out->file = s->name;
}

/* No SharedFunctionInfo is at 0. */
static void words_of_innermost(uint64_t pc, uint64_t words[2])
{
	words[0] = MANAGED_WORD | V8_COMPILED;
	words[1] = MANAGED_WORD | (pc & V8_POSITION_MASK);
}

static int add_regexp(const struct reader *r)
{
	const struct function key = { .pid = r->owner->pid, .generation = r->owner->generation };
	struct v8_names *names = r->names;
	struct function *f = rp_hash_add(&names->functions, &key);

	if (!f)
		return -ENOMEM;
	f->name = "RegExp";
	return RP_PUSH(
		names->frames, names->nframes, names->capacity,
		(struct frame){ (uint32_t)(f - (struct function *)names->functions.items), -1 });
}

int record_v8_names_add_innermost(struct v8_names *names, const struct sym_v8_layout *l,
				  const struct sym_v8_memory *m, const struct name_owner *owner,
				  uint64_t pc)
{
	const struct reader r = reader(names, l, m, owner);
	const size_t first = names->nframes;
	struct place *place, key = { .pid = owner->pid, .generation = owner->generation };
	struct sym_v8_place at[MOST_FRAMES];
	bool is_regexp;
	size_t n;
	int err;

	words_of_innermost(pc, key.words);
	if (rp_hash_find(&names->places, &key) || !has_room(&r))
		return 0;
	n = sym_v8_innermost(m, l, pc, at, MOST_FRAMES, &is_regexp);
	err = is_regexp ? add_regexp(&r) : 0;
	for (size_t i = 0; !err && i < n; i++)
		err = add_frame(&r, &at[i]);
	if (err)
		names->nframes = first;
	if (err == -ENOMEM)
		return err;
	place = rp_hash_add(&names->places, &key); /* also what is other code: once is enough */
	if (!place)
		return -ENOMEM;
	put(&r, place, first);
	return 0;
}

bool record_v8_names_innermost(const struct v8_names *names, const struct name_owner *owner,
			       uint64_t pc, uint64_t words[2])
{
	struct place key = { .pid = owner->pid, .generation = owner->generation };
	const struct place *place;

	words_of_innermost(pc, words);
	memcpy(key.words, words, sizeof(key.words));
	place = rp_hash_find(&names->places, &key);
	return place && place->count;
}

size_t record_v8_names_find(const struct v8_names *names, const struct name_owner *owner,
			    const uint64_t words[2], struct report_frame *out, size_t max)
{
	const struct place key = { owner->pid, owner->generation, { words[0], words[1] }, 0, 0 },
			   *place = rp_hash_find(&names->places, &key);
	const struct function of = { .pid = owner->pid,
				     .generation = owner->generation,
				     .shared = words[0] & V8_ADDRESS_MASK,
				     .check = check_of(words) },
			      *f;
	size_t n = place && place->count ? place->count : 1;

	n = n < max ? n : max;
	for (size_t i = 0; i < n; i++)
		out[i] = (struct report_frame){ .name = "[js]",
						.kind = REPORT_JS,
						.address = words[1] & V8_POSITION_MASK };
	if (place && place->count) {
		for (size_t i = 0; i < n; i++)
			fill(names, &names->frames[place->first + i], &out[i]);
		return n;
	}
	/* The process was gone, or the object: another place of the function may be known. */
	f = rp_hash_find(&names->functions, &of);
	if (f)
		fill(names,
		     &(struct frame){
			     (uint32_t)(f - (const struct function *)names->functions.items), -1 },
		     out);
	return n;
}
