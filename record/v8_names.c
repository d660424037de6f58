/* SPDX-License-Identifier: BSD-2-Clause */
/* Names, files and lines of functions of JavaScript, read when they are new. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"

#include "names.h"
#include "process_names.h"
#include "read_costs.h"
#include "v8.h"

/* A script, by its source too: the collector moves objects. */
struct script {
	uint64_t address, source;
	const char *name;
	struct sym_v8_lines lines; /* n is 0: there are none yet */
	uint32_t tries;		   /* to read them */
};

struct function {
	uint64_t shared, check;
	const char *name;
	uint32_t script; /* number + 1; 0: it has none */
};

/* What two words stand for: frames first to first + count - 1. */
struct place {
	uint64_t words[2];
	uint32_t first, count; /* count 0: nothing is known, and it is looked for again */
	uint16_t skip, tries;  /*   when it has been seen so often, each time twice as often */
};

/* The line is looked up late: of a script whose source could not be read it may be known then. */
struct frame {
	uint32_t function;
	int32_t position; /* -1: not known */
};

enum { MOST_FRAMES = 32, TEXT_BYTES = 1024, MOST_TRIES = 16 };
/* A place that is not known is looked for in each of the first stacks with it. */
#define AT_FIRST 8
/* One place with all its functions and their scripts, without lines, takes less. */
#define PLACE_BYTES (MOST_FRAMES * 3 * TEXT_BYTES)

/* Of one process. */
struct kept {
	struct name_account account;
	struct sym_strings texts;
	struct hash_map scripts, functions, places;
	uint64_t code_map; /* symbolize/v8.h */
	struct frame *frames;
	size_t nframes, capacity;
};

/*
 * What was read of a process for the stack at hand, by pages: most of it is near what was read
 * before. NO_PAGE: nothing.
 */
enum { PAGE = 4096, PAGES = 16, NO_PAGE = 1 };
/* A place costs so much by itself, a read of what was read before, and all of a place at most. */
enum { PLACE_NS = 5000, AGAIN_NS = 16, MOST_NS = 100 * 1000 * 1000 };
struct page {
	uint64_t at;
	bool is_there;
	uint8_t bytes[PAGE];
};

struct v8_names {
	struct process_names all; /* of struct kept */
	struct read_costs costs;
	struct page pages[PAGES];
};

static void empty(void *of_process)
{
	struct kept *k = of_process;
	const struct script *s = k->scripts.items;

	for (uint32_t i = 0; i < k->scripts.count; i++)
		free(s[i].lines.ends);
	rp_hash_free(&k->scripts);
	rp_hash_free(&k->functions);
	rp_hash_free(&k->places);
	sym_strings_free(&k->texts);
	free(k->frames);
}

int record_v8_names_open(struct v8_names **out, struct name_share *share)
{
	struct v8_names *names = calloc(1, sizeof(*names));

	if (!names)
		return -ENOMEM;
	names->all = record_process_names(share, sizeof(struct kept), empty);
	names->costs = record_read_costs("time for names of JavaScript");
	names->costs.owed.is_named = record_name_share_is_named(share);
	*out = names;
	return 0;
}

void record_v8_names_close(struct v8_names *names)
{
	if (!names)
		return;
	record_process_names_free(&names->all);
	record_share_free(&names->costs.late);
	free(names);
}

void record_v8_names_begin(struct v8_names *names)
{
	for (size_t i = 0; i < PAGES; i++)
		names->pages[i].at = NO_PAGE;
}

void record_v8_names_forget(struct v8_names *names)
{
	record_process_names_settle(&names->all);
}

/* Where one more place has room; *out NULL: it has none. 0 or -ENOMEM. */
static int keep_of(struct v8_names *names, const struct name_owner *owner, struct kept **out)
{
	void *kept;
	bool is_new;
	int err = record_process_names_add(&names->all, owner, PLACE_BYTES, &kept, &is_new);

	*out = kept;
	if (*out && is_new) {
		(*out)->scripts = HASH_MAP(struct script, source);
		(*out)->functions = HASH_MAP(struct function, check);
		(*out)->places = HASH_MAP(struct place, words);
	}
	return err;
}

static struct place *find_place(const struct kept *k, const uint64_t words[2])
{
	return k ? rp_hash_find(&k->places, words) : NULL;
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
	struct kept *to;
	const struct sym_v8_layout *l;
	const struct sym_v8_memory *from;
	struct sym_v8_memory m; /* the same, by pages, and paid for */
	uint64_t began;
};

static bool read_it(const struct reader *r, uint64_t address, void *out, size_t n)
{
	record_costs_add(&r->names->costs, n);
	return r->from->read(r->from->ctx, address, out, n);
}

/* What comes in larger pieces: each byte of it is looked at. */
static bool read_text(const struct reader *r, uint64_t address, void *out, size_t n)
{
	r->names->costs.ns += n;
	return read_it(r, address, out, n);
}

static bool read_paid(void *ctx, uint64_t address, void *out, size_t n)
{
	const struct reader *r = ctx;
	struct page *page = &r->names->pages[address / PAGE % PAGES];
	const uint64_t at = address & -(uint64_t)PAGE;

	r->names->costs.ns += AGAIN_NS + n / 8;
	if (r->names->costs.ns > MOST_NS)
		return false;
	if (n > PAGE - (address - at))
		return read_text(r, address, out, n);
	if (page->at != at) {
		page->at = at;
		page->is_there = read_it(r, at, page->bytes, PAGE);
	}
	if (!page->is_there)
		return false;
	memcpy(out, page->bytes + (address - at), n);
	return true;
}

/* to NULL: there is no room for one more place, or no time. 0 or -ENOMEM. */
static int begin(struct reader *r, const struct name_owner *owner)
{
	int err = keep_of(r->names, owner, &r->to);

	if (r->to && !record_costs_begin(&r->names->costs, r->to->account.uid, &r->began))
		r->to = NULL;
	if (r->to)
		r->m.code_map = &r->to->code_map;
	r->names->costs.ns = PLACE_NS;
	return err;
}

static int end(const struct reader *r, int err)
{
	record_costs_end(&r->names->costs, r->to->account.uid, r->began);
	return err;
}

static const char *keep(const struct reader *r, const char *text)
{
	return record_name_keep(&r->to->account, &r->to->texts, text);
}

static void count(const struct reader *r, size_t size)
{
	record_name_add(&r->to->account, size);
}

/* "file:///a/b.mjs" is "/a/b.mjs": as other files are called. */
static const char *plain(const char *name)
{
	return strncmp(name, "file:///", 8) ? name : name + 7;
}

/* The script of a function: its number + 1; 0: it has none. -ENOMEM. */
static int add_script(const struct reader *r, uint64_t shared, uint32_t *number)
{
	struct script *s, key = { 0 };
	char text[TEXT_BYTES];

	*number = 0;
	key.address = sym_v8_script(&r->m, r->l, shared, &key.source);
	if (!key.address)
		return 0;
	s = rp_hash_add(&r->to->scripts, &key);
	if (!s)
		return -ENOMEM;
	*number = 1 + (uint32_t)(s - (struct script *)r->to->scripts.items);
	if (s->name)
		return 0;
	sym_v8_script_name(&r->m, r->l, key.address, text, sizeof(text));
	s->name = keep(r, plain(text));
	count(r, sizeof(*s));
	return s->name ? 0 : -ENOMEM;
}

/* A function's number. -ENOENT: there is none any more. */
static int add_function(const struct reader *r, uint64_t shared, uint32_t *number)
{
	struct function *f, key = { .shared = shared };
	char text[TEXT_BYTES];
	uint32_t check, script;
	int err;

	if (!sym_v8_check(&r->m, shared, &check))
		return -ENOENT;
	key.check = check;
	f = rp_hash_find(&r->to->functions, &key);
	if (!f) {
		if (!sym_v8_name(&r->m, r->l, shared, text, sizeof(text)))
			return -ENOENT;
		err = add_script(r, shared, &script);
		if (err)
			return err;
		f = rp_hash_add(&r->to->functions, &key);
		if (!f)
			return -ENOMEM;
		f->name = keep(r, *text ? text : "<anonymous>");
		count(r, sizeof(*f));
		if (!f->name)
			return -ENOMEM;
		f->script = script;
	}
	*number = (uint32_t)(f - (struct function *)r->to->functions.items);
	return 0;
}

/* While the collector is at work the source may be out of reach: the next sample tries again. */
static void add_lines(const struct reader *r, struct script *s)
{
	uint64_t bytes;

	if (s->lines.n || s->tries == MOST_TRIES)
		return;
	s->tries++;
	if (sym_v8_type(&r->m, s->address) != r->l->type_script ||
	    !sym_v8_lines(&r->m, r->l, s->address, &s->lines))
		return;
	bytes = s->lines.n * sizeof(*s->lines.ends);
	if (record_name_has_room(&r->to->account, bytes)) {
		count(r, bytes);
		return;
	}
	free(s->lines.ends);
	s->lines = (struct sym_v8_lines){ NULL };
	s->tries = MOST_TRIES;
}

static int add_frame(const struct reader *r, const struct sym_v8_place *at)
{
	struct kept *k = r->to;
	const struct function *f;
	struct frame frame = { .position = at->position };
	int err = add_function(r, at->shared, &frame.function);

	if (err)
		return err;
	f = (const struct function *)k->functions.items + frame.function;
	if (f->script)
		add_lines(r, (struct script *)k->scripts.items + f->script - 1);
	return RP_PUSH(k->frames, k->nframes, k->capacity, frame);
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
		at[0] = sym_v8_interpreted(&r->m, r->l, shared, position);
		return 1;
	}
	n = sym_v8_compiled(&r->m, r->l, shared, position, at, MOST_FRAMES - 1);
	if (!n || at[n - 1].shared != shared)
		at[n++] = (struct sym_v8_place){ shared, -1 };
	return n;
}

static int add_regexp(const struct reader *r)
{
	const struct function key = { .shared = 0 };
	struct kept *k = r->to;
	struct function *f = rp_hash_add(&k->functions, &key);

	if (!f)
		return -ENOMEM;
	f->name = "RegExp";
	return RP_PUSH(k->frames, k->nframes, k->capacity,
		       (struct frame){ (uint32_t)(f - (struct function *)k->functions.items), -1 });
}

/* Also that there is nothing at it, or no more. */
static int add_frames(const struct reader *r, const uint64_t words[2],
		      const struct sym_v8_place *at, size_t n, bool is_regexp)
{
	struct kept *k = r->to;
	const size_t first = k->nframes;
	struct place *place = rp_hash_add(&k->places, words);
	int err = !place ? -ENOMEM : is_regexp ? add_regexp(r) : 0;

	for (size_t i = 0; !err && i < n; i++)
		err = add_frame(r, &at[i]);
	if (err)
		k->nframes = first;
	if (err == -ENOMEM)
		return err;
	place->first = (uint32_t)first;
	place->count = (uint32_t)(k->nframes - first);
	place->skip = place->tries / AT_FIRST;
	place->tries = (uint16_t)(2 * place->tries + 1);
	count(r, sizeof(*place) + place->count * sizeof(struct frame));
	return 0;
}

static int add_place(const struct reader *r, const uint64_t words[2])
{
	struct sym_v8_place at[MOST_FRAMES];
	uint32_t check;

	if (!sym_v8_check(&r->m, words[0] & V8_ADDRESS_MASK, &check) || check != check_of(words))
		return 0;
	return add_frames(r, words, at, find_places(r, words, at), false);
}

/* False: it has been read, or the next time may have more luck. */
static bool is_due(struct place *place)
{
	return !place->count && (!place->skip || !place->skip--);
}

int record_v8_names_add(struct v8_names *names, const struct sym_v8_layout *l,
			const struct sym_v8_memory *m, const struct name_owner *owner,
			const uint64_t words[2])
{
	struct place *place = find_place(record_process_names_find(&names->all, owner), words);
	struct reader r = {
		.names = names, .l = l, .from = m, .m = { read_paid, &r, NULL, m->no_code }
	};
	int err = place && !is_due(place) ? 0 : begin(&r, owner);

	return err || !r.to ? err : end(&r, add_place(&r, words));
}

static void fill(const struct kept *k, const struct frame *frame, struct report_frame *out)
{
	const struct function *f = (const struct function *)k->functions.items + frame->function;
	const struct script *s =
		f->script ? (const struct script *)k->scripts.items + f->script - 1 : NULL;

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

/* Also what is other code: once is enough. */
static int add_innermost(const struct reader *r, uint64_t pc, const uint64_t words[2])
{
	struct sym_v8_place at[MOST_FRAMES];
	bool is_regexp;
	const size_t n = sym_v8_innermost(&r->m, r->l, pc, at, MOST_FRAMES, &is_regexp);

	return add_frames(r, words, at, n, is_regexp);
}

int record_v8_names_add_innermost(struct v8_names *names, const struct sym_v8_layout *l,
				  const struct sym_v8_memory *m, const struct name_owner *owner,
				  uint64_t pc)
{
	struct reader r = {
		.names = names, .l = l, .from = m, .m = { read_paid, &r, NULL, m->no_code }
	};
	uint64_t words[2];
	int err = 0;

	words_of_innermost(pc, words);
	if (!find_place(record_process_names_find(&names->all, owner), words))
		err = begin(&r, owner);
	return err || !r.to ? err : end(&r, add_innermost(&r, pc, words));
}

bool record_v8_names_innermost(const struct v8_names *names, const struct name_owner *owner,
			       uint64_t pc, uint64_t words[2])
{
	const struct place *place;

	words_of_innermost(pc, words);
	place = find_place(record_process_names_find(&names->all, owner), words);
	return place && place->count;
}

/* The process was gone, or the object: another place of the function may be known. */
static void fill_function(const struct kept *k, const uint64_t words[2], struct report_frame *out)
{
	const struct function key = { .shared = words[0] & V8_ADDRESS_MASK,
				      .check = check_of(words) };
	const struct function *f = rp_hash_find(&k->functions, &key);
	struct frame frame = { .position = -1 };

	if (!f)
		return;
	frame.function = (uint32_t)(f - (const struct function *)k->functions.items);
	fill(k, &frame, out);
}

size_t record_v8_names_find(const struct v8_names *names, const struct name_owner *owner,
			    const uint64_t words[2], struct report_frame *out, size_t max)
{
	const struct kept *k = record_process_names_find(&names->all, owner);
	const struct place *place = find_place(k, words);
	const bool is_known = place && place->count;
	size_t n = is_known ? place->count : 1;

	n = n < max ? n : max;
	for (size_t i = 0; i < n; i++)
		out[i] = (struct report_frame){ .name = "[js]",
						.kind = REPORT_JS,
						.address = words[1] & V8_POSITION_MASK };
	for (size_t i = 0; is_known && i < n; i++)
		fill(k, &k->frames[place->first + i], &out[i]);
	if (k && !is_known)
		fill_function(k, words, out);
	return n;
}
