/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is mapped where, by which stack? See ranges.h.
 *
 * The pieces of all address spaces are one tree, ordered by space and address, without overlap: a
 * treap, whose nodes have random priorities, greater above, which keep it balanced. A range is
 * taken out by cutting the pieces at its two ends, and splitting the tree there.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/hash.h"
#include "ranges.h"

/* One call that mapped. A block without a site is of a file, and does not count as memory. */
struct site;
struct block {
	struct site *site;
	uint64_t time;
	uint64_t bytes;		    /* that are still there */
	uint64_t pieces;	    /* that refer to it, in the tree or not */
	struct block *next, **link; /* link: what points here */
};

struct piece {
	uint64_t space, start, end;
	struct block *block;
	struct piece *left, *right;
	uint32_t priority;
};

struct site {
	uint64_t hash;
	uint64_t value[MEM_WEIGHTS];
	/* What it had at a highest moment, which was of so many bytes: see mem_ranges_at_peak(). */
	struct mem_ranges_use kept;
	uint64_t kept_for;
};

/* Sites do not move, for blocks refer to them. */
struct site_slot {
	uint64_t hash;
	struct site *site; /* NULL: memory ran out when it came */
};

/* The latest call of a thread that took something away, which it may yet have failed to do. */
struct call {
	uint32_t thread;
	uint32_t call;
	bool known;	    /* it took something that is memory */
	bool file;	    /* it took something that is a file's */
	bool open;	    /* it may still fail */
	struct piece *gone; /* a tree */
};

struct mem_ranges {
	struct piece *pieces;
	struct block *blocks;
	struct hash_map sites; /* of struct site_slot */
	struct hash_map calls; /* of struct call */
	struct mem_ranges_counts counts;
	uint64_t random;
};

/* ---- the tree */

/* Who is watched must not know it: addresses could be chosen that make the tree a list. */
static uint32_t draw(struct mem_ranges *r)
{
	r->random ^= r->random << 13; /* xorshift: never 0 */
	r->random ^= r->random >> 7;
	r->random ^= r->random << 17;
	return (uint32_t)(r->random >> 32);
}

static bool is_before(const struct piece *p, uint64_t space, uint64_t address)
{
	return p->space != space ? p->space < space : p->start < address;
}

/* Those that begin before the address, and the others. */
static void split(struct piece *tree, uint64_t space, uint64_t address, struct piece **before,
		  struct piece **others)
{
	if (!tree) {
		*before = *others = NULL;
	} else if (is_before(tree, space, address)) {
		split(tree->right, space, address, &tree->right, others);
		*before = tree;
	} else {
		split(tree->left, space, address, before, &tree->left);
		*others = tree;
	}
}

/* All of a lie before all of b. */
static struct piece *join(struct piece *a, struct piece *b)
{
	if (!a || !b)
		return a ? a : b;
	if (a->priority > b->priority) {
		a->right = join(a->right, b);
		return a;
	}
	b->left = join(a, b->left);
	return b;
}

static void insert(struct piece **tree, struct piece *p)
{
	struct piece *before, *others;

	p->left = p->right = NULL;
	split(*tree, p->space, p->start, &before, &others);
	*tree = join(join(before, p), others);
}

static int new_piece(struct mem_ranges *r, struct block *block, uint64_t space, uint64_t start,
		     uint64_t end)
{
	struct piece *p = malloc(sizeof(*p));

	if (!p)
		return -ENOMEM;
	*p = (struct piece){
		.space = space, .start = start, .end = end, .block = block, .priority = draw(r)
	};
	block->pieces++;
	insert(&r->pieces, p);
	return 0;
}

/* No piece lies on both sides of this address any more. */
static int cut(struct mem_ranges *r, uint64_t space, uint64_t address)
{
	struct piece *at = NULL;
	uint64_t end;

	for (struct piece *p = r->pieces; p;) {
		const bool before = is_before(p, space, address);

		at = before ? p : at;
		p = before ? p->right : p->left;
	}
	if (!at || at->space != space || at->end <= address)
		return 0;
	end = at->end;
	at->end = address;
	return new_piece(r, at->block, space, address, end);
}

static int take_out(struct mem_ranges *r, uint64_t space, uint64_t start, uint64_t end,
		    struct piece **out)
{
	struct piece *before, *rest, *after;
	int err = cut(r, space, start);

	if (!err)
		err = cut(r, space, end);
	if (err)
		return err;
	split(r->pieces, space, start, &before, &rest);
	split(rest, space, end, out, &after);
	r->pieces = join(before, after);
	return 0;
}

static void free_block(struct block *b)
{
	*b->link = b->next;
	if (b->next)
		b->next->link = b->link;
	free(b);
}

static void drop(struct piece *tree)
{
	if (!tree)
		return;
	drop(tree->left);
	drop(tree->right);
	if (!--tree->block->pieces)
		free_block(tree->block);
	free(tree);
}

/* ---- sites */

static struct site *find_site(const struct mem_ranges *r, uint64_t hash)
{
	const struct site_slot *slot = rp_hash_find(&r->sites, &hash);

	return slot ? slot->site : NULL;
}

static int get_site(struct mem_ranges *r, uint64_t hash, struct site **out)
{
	struct site_slot *slot = rp_hash_add(&r->sites, &hash);

	if (slot && !slot->site)
		slot->site = calloc(1, sizeof(struct site));
	*out = slot ? slot->site : NULL;
	if (!*out)
		return -ENOMEM;
	(*out)->hash = hash;
	return 0;
}

/* ---- the highest moment: a site keeps what it has before it first changes afterwards */

static struct mem_ranges_use use_now(const struct site *site)
{
	const uint64_t *value = site->value;

	return (struct mem_ranges_use){ value[MEM_ALLOC_OBJECTS] - value[MEM_GONE_OBJECTS],
					value[MEM_ALLOC_SPACE] - value[MEM_GONE_SPACE] };
}

static void keep(const struct mem_ranges *r, struct site *site)
{
	if (site->kept_for == r->counts.peak)
		return;
	site->kept = use_now(site);
	site->kept_for = r->counts.peak;
}

/* ---- what goes, and what comes back */

static void weigh_gone(struct mem_ranges *r, struct call *c, const struct piece *p)
{
	const uint64_t bytes = p->end - p->start;
	struct block *b = p->block;

	c->file |= !b->site;
	c->known |= b->site != NULL;
	b->bytes -= bytes;
	if (!b->site)
		return;
	keep(r, b->site);
	b->site->value[MEM_GONE_SPACE] += bytes;
	b->site->value[MEM_GONE_OBJECTS] += !b->bytes;
	r->counts.in_use -= bytes;
}

static void weigh_back(struct mem_ranges *r, const struct piece *p)
{
	const uint64_t bytes = p->end - p->start;
	struct block *b = p->block;

	if (b->site) {
		keep(r, b->site);
		b->site->value[MEM_GONE_SPACE] -= bytes;
		b->site->value[MEM_GONE_OBJECTS] -= !b->bytes;
		r->counts.in_use += bytes;
	}
	b->bytes += bytes;
}

static void weigh_all_gone(struct mem_ranges *r, struct call *c, const struct piece *tree)
{
	if (!tree)
		return;
	weigh_all_gone(r, c, tree->left);
	weigh_gone(r, c, tree);
	weigh_all_gone(r, c, tree->right);
}

static void put_back(struct mem_ranges *r, struct piece *tree)
{
	if (!tree)
		return;
	put_back(r, tree->left);
	put_back(r, tree->right);
	weigh_back(r, tree);
	insert(&r->pieces, tree);
}

/* ---- calls */

static int get_call(struct mem_ranges *r, uint32_t thread, struct call **out)
{
	*out = rp_hash_add(&r->calls, &thread);
	return *out ? 0 : -ENOMEM;
}

/* It took away what it said, and that is the end of it. */
static void settle(struct call *c)
{
	drop(c->gone);
	c->gone = NULL;
	c->open = false;
}

/* Calls that map are counted when they have mapped. */
static bool only_gives_back(const struct call *c)
{
	return c->call == MEM_MUNMAP || c->call == MEM_BRK;
}

static void count_gone(struct mem_ranges *r, const struct call *c, int64_t by)
{
	if (only_gives_back(c))
		*(c->known ? &r->counts.freed : &r->counts.unknown) += (uint64_t)by;
}

static int goes(struct mem_ranges *r, const struct mem_range_event *e)
{
	struct piece *out = NULL;
	struct call *c;
	int err = get_call(r, e->thread, &c);

	if (err)
		return err;
	if (e->what == MEM_RANGE_GOES) {
		settle(c);
		*c = (struct call){ .thread = e->thread, .call = e->call, .open = true };
	}
	if (e->bytes && e->start + e->bytes > e->start)
		err = take_out(r, e->space, e->start, e->start + e->bytes, &out);
	if (err)
		return err;
	weigh_all_gone(r, c, out);
	if (e->what == MEM_RANGE_GOES)
		count_gone(r, c, 1);
	/* Two ranges of one call do not overlap, but which is the lower one? */
	if (!c->gone || !out || is_before(c->gone, out->space, out->start))
		c->gone = join(c->gone, out);
	else
		c->gone = join(out, c->gone);
	return 0;
}

static void stays(struct mem_ranges *r, uint32_t thread, uint64_t *counter)
{
	struct call *c;

	++*counter;
	c = rp_hash_find(&r->calls, &thread);
	if (!c || !c->open)
		return;
	count_gone(r, c, -1);
	put_back(r, c->gone);
	c->gone = NULL;
	c->open = false;
}

static int new_block(struct mem_ranges *r, const struct mem_range_event *e, struct site *site)
{
	struct block *b = calloc(1, sizeof(*b));
	int err;

	if (!b)
		return -ENOMEM;
	*b = (struct block){ .site = site, .time = e->time, .bytes = e->bytes };
	err = new_piece(r, b, e->space, e->start, e->start + e->bytes);
	if (err) {
		free(b);
		return err;
	}
	b->next = r->blocks;
	b->link = &r->blocks;
	if (b->next)
		b->next->link = &b->next;
	r->blocks = b;
	if (!site)
		return 0;
	keep(r, site);
	site->value[MEM_ALLOC_OBJECTS]++;
	site->value[MEM_ALLOC_SPACE] += e->bytes;
	r->counts.in_use += e->bytes;
	if (r->counts.in_use > r->counts.peak) {
		r->counts.peak = r->counts.in_use;
		r->counts.peak_time = e->time;
	}
	return 0;
}

static int comes(struct mem_ranges *r, const struct mem_range_event *e)
{
	bool file = e->call == MEM_MMAP_FILE;
	struct piece *unseen = NULL;
	struct site *site = NULL;
	struct call *c;
	int err = get_call(r, e->thread, &c);

	if (err)
		return err;
	file |= e->call == MEM_MREMAP && c->open && c->call == MEM_MREMAP && c->file && !c->known;
	settle(c);

	/* The event that took away what lay here was lost. */
	err = take_out(r, e->space, e->start, e->start + e->bytes, &unseen);
	if (err)
		return err;
	weigh_all_gone(r, c, unseen);
	drop(unseen);
	if (!file)
		err = get_site(r, e->hash, &site);
	r->counts.files += file;
	return err ? err : new_block(r, e, site);
}

/* A process has ended or executes another program, and its memory with it. */
static int ends(struct mem_ranges *r, uint64_t space)
{
	struct call unused = { 0 };
	struct piece *out;
	int err = take_out(r, space, 0, UINT64_MAX, &out);

	if (err)
		return err;
	weigh_all_gone(r, &unused, out);
	drop(out);
	return 0;
}

int mem_ranges_event(struct mem_ranges *r, const struct mem_range_event *e)
{
	switch (e->what) {
	case MEM_RANGE_GOES:
	case MEM_RANGE_GOES_TOO:
		return goes(r, e);
	case MEM_RANGE_STAYS:
		stays(r, e->thread, &r->counts.failed);
		return 0;
	case MEM_RANGE_ENDS:
		return ends(r, e->space);
	default:
		return comes(r, e);
	}
}

void mem_ranges_under_way(struct mem_ranges *r, uint32_t thread, bool seen)
{
	if (seen)
		stays(r, thread, &r->counts.under_way);
	else
		r->counts.under_way++;
}

/* ---- all of it */

struct mem_ranges *mem_ranges_new(void)
{
	struct mem_ranges *r = calloc(1, sizeof(*r));
	uint64_t random;

	if (!r)
		return NULL;
	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
		random = rp_monotonic_ns() * GOLDEN_RATIO_64;
	*r = (struct mem_ranges){ .sites = HASH_MAP(struct site_slot, hash),
				  .calls = HASH_MAP(struct call, thread),
				  .random = random | 1 };
	return r;
}

void mem_ranges_free(struct mem_ranges *r)
{
	if (!r)
		return;
	for (uint32_t i = 0; i < r->calls.count; i++)
		drop(((struct call *)r->calls.items)[i].gone);
	drop(r->pieces);
	for (uint32_t i = 0; i < r->sites.count; i++)
		free(((struct site_slot *)r->sites.items)[i].site);
	rp_hash_free(&r->sites);
	rp_hash_free(&r->calls);
	free(r);
}

void mem_ranges_count(const struct mem_ranges *r, struct mem_ranges_counts *out)
{
	*out = r->counts;
}

int mem_ranges_sites(const struct mem_ranges *r, mem_ranges_site_fn fn, void *ctx)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < r->sites.count; i++) {
		const struct site_slot *slot = (const struct site_slot *)r->sites.items + i;

		if (slot->site)
			err = fn(ctx, slot->hash, slot->site->value);
	}
	return err;
}

bool mem_ranges_site(const struct mem_ranges *r, uint64_t hash, uint64_t value[MEM_WEIGHTS])
{
	const struct site *site = find_site(r, hash);

	if (site)
		memcpy(value, site->value, sizeof(site->value));
	return site != NULL;
}

struct mem_ranges_use mem_ranges_at_peak(const struct mem_ranges *r, uint64_t hash)
{
	const struct site *site = find_site(r, hash);

	if (!site)
		return (struct mem_ranges_use){ 0 };
	return site->kept_for == r->counts.peak ? site->kept : use_now(site);
}

int mem_ranges_blocks(const struct mem_ranges *r, mem_ranges_block_fn fn, void *ctx)
{
	int err = 0;

	for (const struct block *b = r->blocks; !err && b; b = b->next)
		if (b->bytes && b->site)
			err = fn(ctx, &(struct mem_block){ .size = b->bytes,
							   .hash = b->site->hash,
							   .time = b->time });
	return err;
}
