/* SPDX-License-Identifier: BSD-2-Clause */
/* Says how many stacks may be copied; walks those that were, and counts them. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/budget.h"
#include "base/clock.h"
#include "base/machine.h"
#include "recording.h"
#include "rewalk_kept.h"
#include "rewalk_space.h"
#include "table_maker.h"

/* Kept at a time; of a recording that stays on, the second. */
#define MOST_BYTES (32u << 20)
#define SPARING_BYTES (8u << 20)
/* So many a CPU may copy between two looks of ours; */
#define MOST_LEFT 256
/* and of those that lack a rule while none is computed: by one of them we begin to. */
#define FIRST_LEFT 32
/* Who has walked so many, and an eighth of them to no avail, has seen enough of that. */
#define ENOUGH_TO_TELL 512
/* What one look at all that is kept may take, in frames: seconds, if they lead through files. */
#define MOST_FRAMES (4u << 20)
/* How long tables are waited for after the end: as long as their making goes on then. */
#define AWAIT_NS ((uint64_t)TABLES_LAST_MS * (NS_PER_SECOND / 1000))
#define AWAIT_MS 20

struct record_rewalk {
	struct rewalk_kept kept;
	uint64_t walked, better; /* of those that lacked a table */
	bool computed;		 /* rules were being, at the last look */
	const struct program_config *config;
	unsigned char *elements; /* of the map copies */
	size_t mapped;
	uint32_t nelements;
};

/* ---- what may be copied */

static void let_copy(struct record_rewalk *w, int lack, uint32_t left)
{
	for (uint32_t i = 0; i < w->nelements; i++) {
		struct stack_copy *c = (void *)(w->elements + (size_t)i * STACK_COPY_VALUE_BYTES);

		__atomic_store_n(&c->left[lack], left, __ATOMIC_RELAXED);
	}
}

/* Rules are, for code that has none. */
static bool are_computed(const struct record_tables *tables)
{
	return record_table_store_computes(record_tables_store(tables));
}

static void let_go_on(struct record_rewalk *w, const struct record_tables *tables)
{
	const bool is_useless = w->walked >= ENOUGH_TO_TELL && w->better < w->walked / 8;
	const bool is_full = w->kept.bytes >= w->kept.most;
	const bool computes = are_computed(tables);

	let_copy(w, STACK_COPY_TABLE, is_useless || is_full ? 0 : MOST_LEFT);
	if (is_full || computes)
		let_copy(w, STACK_COPY_RULE, is_full ? 0 : MOST_LEFT);
	else if (w->computed)
		let_copy(w, STACK_COPY_RULE, FIRST_LEFT);
	w->computed = computes;
}

/* There is a table of where its walk ended, but no rule. */
static bool lacks_rule(const struct stack_record *r)
{
	return r->user_end != UNWIND_NO_MAPPING && r->user_end != STACK_NO_TABLE;
}

int record_rewalk_open(struct record_rewalk **out, const struct recording *rec)
{
	const int fd = record_stacks_map(rec->stacks, STACK_MAP_COPIES);
	const struct asm_map *map = &record_stacks_maps(rec->stacks)[STACK_MAP_COPIES];
	struct record_rewalk *w = calloc(1, sizeof(*w));
	void *pages;
	int err;

	if (!w)
		return -ENOMEM;
	err = rp_map_mmap(fd, map, &pages, &w->mapped);
	if (err) {
		free(w);
		return err;
	}
	w->elements = pages;
	w->nelements = map->max_entries;
	w->config = &rec->config;
	w->kept.most = rec->sparing ? SPARING_BYTES : MOST_BYTES;
	let_go_on(w, rec->tables);
	let_copy(w, STACK_COPY_RULE, FIRST_LEFT);
	*out = w;
	return 0;
}

void record_rewalk_close(struct record_rewalk *w)
{
	if (!w)
		return;
	munmap(w->elements, w->mapped);
	record_rewalk_kept_free(&w->kept);
	free(w);
}

/* ---- what comes */

int record_rewalk_copy(struct record_rewalk *w, const void *data, size_t size)
{
	return record_rewalk_kept_copy(&w->kept, data, size);
}

int record_rewalk_keep(struct record_rewalk *w, const struct stack_record *record,
		       const struct stack_record **plain)
{
	return record_rewalk_kept_record(&w->kept, record, plain);
}

int record_rewalk_count(struct recording *rec, const struct stack_record *record)
{
	int err = record_stacks_take(rec->stacks, record);

	return err ? err : record_stream_record(rec, record);
}

/* ---- the walk */

struct reading {
	const struct stack_copy *copy;
	struct rewalk_space *space;
};

static int read_memory(void *ctx, uint64_t addr, void *buf, size_t size)
{
	const struct reading *r = ctx;
	const struct stack_copy *c = r->copy;
	const uint64_t inner = addr - c->sp, outer = addr - (c->base - c->outer);

	if (inner < c->inner && c->inner - inner >= size)
		memcpy(buf, c->bytes + inner, size);
	else if (outer < c->outer && c->outer - outer >= size)
		memcpy(buf, c->bytes + c->inner + outer, size);
	else
		return record_rewalk_space_read(r->space, addr, buf, size);
	return 0;
}

static struct unwind_regs registers(const struct stack_copy *c)
{
	const struct asm_arch *arch = asm_arch_host();
	struct unwind_regs regs = { .pc = c->regs[arch->reg[ASM_REG_IP] / 8],
				    .sp = c->regs[arch->reg[ASM_REG_SP] / 8],
				    .fp = c->regs[arch->reg[ASM_REG_FP] / 8] };

	for (size_t i = 0; i < sizeof(arch->dwarf) / sizeof(arch->dwarf[0]); i++)
		if (arch->dwarf[i] >= 0)
			regs.reg[i] = c->regs[arch->dwarf[i] / 8];
	return regs;
}

/* Whether it got further than the walk when the sample was taken. */
static bool is_better(const struct stack_record *r, const struct stack_record *than)
{
	const uint32_t had = than->user_end == STACK_NO_TABLE ? 8 : than->user_bytes;

	/* By a frame pointer one passes the caller of who has none, and comes to the same end. */
	if (than->user_end == UNWIND_COMPLETE)
		return r->user_end == UNWIND_COMPLETE && r->user_bytes > had;
	return r->user_end == UNWIND_COMPLETE ||
	       (r->user_end != UNWIND_NO_MAPPING && r->user_bytes > had);
}

/* Makes *@made, which has room for that many frames, of the record and its copy. */
static void walk(const struct record_rewalk *w, const struct rewalk_one *one,
		 struct rewalk_space *space, unsigned int most, struct stack_record *made)
{
	const struct stack_record *r = one->record;
	const struct unwind_regs regs = registers(one->copy);
	const struct unwind_space s = {
		.find = record_rewalk_space_find,
		.ctx = space,
#ifdef UNWIND_RA_MASK
		.ra_mask = UNWIND_RA_MASK,
#endif
#ifdef UNWIND_FP_RECORD
		.fp_record = UNWIND_FP_RECORD,
#endif
	};
	struct reading from = { one->copy, space };
	struct unwind_result result;
	uint64_t *frames = made->frames + r->kernel_bytes / 8;

	memcpy(made, r, sizeof(*made) + r->kernel_bytes);
	record_rewalk_space_of(space, (uint32_t)(r->pid_tgid >> 32), r->time);
	made->user_bytes =
		unwind_walk(&s, &regs, read_memory, &from, frames, most, &result) * sizeof(*frames);
	made->managed_bytes = made->fresh = 0;
	made->user_end = result.end;
	made->hash = record_rewalk_hash(made, w->config);
}

static int walk_and_count(struct recording *rec, struct rewalk_space *space,
			  const struct rewalk_one *one, struct rp_work *work, size_t *nbetter)
{
	const unsigned int most = rec->config.user_frames;
	struct record_rewalk *w = rec->rewalk;
	struct stack_record *made =
		malloc(sizeof(*made) + one->record->kernel_bytes + most * sizeof(made->frames[0]));
	bool better;
	int err;

	if (!made)
		return -ENOMEM;
	walk(w, one, space, most, made);
	rp_work_spend(work, 1 + made->user_bytes / sizeof(made->frames[0]));
	better = is_better(made, one->record);
	w->walked += !lacks_rule(one->record);
	w->better += better && !lacks_rule(one->record);
	*nbetter += better;
	err = record_rewalk_count(rec, better ? made : one->record);
	free(made);
	return err;
}

static bool any_lacks_rule(const struct rewalk_kept *k)
{
	for (size_t i = 0; i < k->n; i++)
		if (k->one[i].record && lacks_rule(k->one[i].record))
			return true;
	return false;
}

static int walk_all(struct recording *rec)
{
	struct record_rewalk *w = rec->rewalk;
	struct rewalk_kept *k = &w->kept;
	/* A process may make its stacks as long, and as dear, as it likes. */
	struct rp_work work = rp_work_for(MOST_FRAMES, 1);
	size_t better = 0;
	struct rewalk_space *space;
	int err = record_rewalk_space_open(&space, rec, any_lacks_rule(k));

	if (err)
		return err;
	for (size_t i = 0; !err && i < k->n; i++)
		if (k->one[i].record && work.left)
			err = walk_and_count(rec, space, &k->one[i], &work, &better);
		else if (k->one[i].record)
			err = record_rewalk_count(rec, k->one[i].record);
	rp_log(RP_INFO,
	       "%zu stacks of %zu KB were walked once their tables were there, %zu of them "
	       "further than before; there was no room for %llu",
	       k->n, k->bytes >> 10, better, (unsigned long long)k->refused);
	record_rewalk_space_close(space);
	record_rewalk_kept_forget(k);
	let_go_on(w, rec->tables);
	return err;
}

static void await_tables(struct recording *rec)
{
	const uint64_t until = rp_monotonic_ns() + AWAIT_NS;
	const bool lacks = any_lacks_rule(&rec->rewalk->kept);
	struct pollfd fd = { .fd = record_tables_fd(rec->tables), .events = POLLIN };

	while (fd.fd >= 0 && rp_monotonic_ns() < until &&
	       (record_tables_are_busy(rec->tables) || (lacks && are_computed(rec->tables)))) {
		poll(&fd, 1, AWAIT_MS);
		record_tables_take_made(rec->tables);
	}
}

int record_rewalk(struct recording *rec)
{
	if (!rec->rewalk || !rec->rewalk->kept.n)
		return 0;
	if (rec->end_ns)
		await_tables(rec);
	return walk_all(rec);
}

/* What is being made may serve those that are kept, as long as there is room for more of them. */
static bool is_due(const struct record_rewalk *w, const struct record_tables *tables)
{
	const size_t most = w->kept.most;

	return w->kept.bytes > most / 2 && !record_tables_are_busy(tables) &&
	       (w->kept.bytes > most - most / 8 || !are_computed(tables));
}

int record_rewalk_if_full(struct recording *rec)
{
	struct record_rewalk *w = rec->rewalk;

	if (!w)
		return 0;
	if (is_due(w, rec->tables))
		return walk_all(rec);
	let_go_on(w, rec->tables);
	return 0;
}
