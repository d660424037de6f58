/* SPDX-License-Identifier: BSD-2-Clause */
/* A table is laid into three maps: its pages into the index, its rules, its rows into a shard. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <rawprof/loader.h>

#include "table_place.h"

int record_table_places_open(struct table_places *p)
{
	int err = record_table_room_open(&p->index_room, UNWIND_PAGES);

	if (!err)
		err = record_table_room_open(&p->rules_room, UNWIND_RULES);
	for (uint32_t i = 0; !err && i < p->nshards; i++)
		err = record_table_room_open(&p->shards[i].room, UNWIND_PART_ROWS);
	return err;
}

void record_table_places_close(struct table_places *p)
{
	for (uint32_t i = 0; i < p->nshards; i++) {
		close(p->shards[i].fd);
		record_table_room_free(&p->shards[i].room);
	}
	record_table_room_free(&p->index_room);
	record_table_room_free(&p->rules_room);
	p->nshards = 0;
}

/* ---- rows */

static int add_shard(struct table_places *p)
{
	struct table_shard s = { .fd = -1 };
	int err;

	if (p->nshards == UNWIND_SHARDS)
		return -ENOSPC;
	s.fd = rp_map_create(&rp_unwind_row_map);
	if (s.fd < 0)
		return s.fd;
	err = rp_map_update(p->rows, &p->nshards, &s.fd, BPF_ANY);
	if (!err)
		err = record_table_room_open(&s.room, UNWIND_PART_ROWS);
	if (err) {
		close(s.fd);
		return err;
	}
	p->shards[p->nshards++] = s;
	return 0;
}

/* In which shard so many rows lie from now on, and where. */
static int take_rows(struct table_places *p, uint32_t nrows, struct stored_part *out)
{
	int err;

	for (uint32_t i = 0; i < p->nshards; i++)
		if (record_table_room_take(&p->shards[i].room, nrows, &out->first_row)) {
			out->shard = i;
			return 0;
		}
	err = add_shard(p);
	if (err)
		return err;
	out->shard = p->nshards - 1;
	return record_table_room_take(&p->shards[out->shard].room, nrows, &out->first_row)
		       ? 0
		       : -ENOSPC;
}

/* ---- parts */

/* The index counts rows within their part, the program within their shard. */
static int write_index(const struct table_places *p, const struct unwind_part *part,
		       const struct stored_part *to)
{
	uint32_t n = part->npages + 1, *index = malloc(n * sizeof(*index));
	int err;

	if (!index)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		index[i] = to->first_row + part->index[i];
	err = rp_map_write(p->index, to->index * sizeof(*index), index, n * sizeof(*index));
	free(index);
	return err;
}

static void unplace_part(struct table_places *p, const struct stored_part *part)
{
	record_table_room_give(&p->index_room, part->index, part->npages + 1);
	record_table_room_give(&p->shards[part->shard].room, part->first_row, part->nrows);
}

static int place_part(struct table_places *p, const struct unwind_part *part, uint32_t rules,
		      struct stored_part *out)
{
	struct stored_part to = {
		.start = part->start, .npages = part->npages, .rules = rules, .nrows = part->nrows
	};
	int err;

	if (!record_table_room_take(&p->index_room, part->npages + 1, &to.index))
		return -ENOSPC;
	err = take_rows(p, part->nrows, &to);
	if (err) {
		record_table_room_give(&p->index_room, to.index, part->npages + 1);
		return err;
	}
	err = rp_map_write(p->shards[to.shard].fd, to.first_row * sizeof(*part->rows), part->rows,
			   part->nrows * sizeof(*part->rows));
	if (!err)
		err = write_index(p, part, &to);
	if (err)
		unplace_part(p, &to);
	else
		*out = to;
	return err;
}

/* ---- rules */

/* From DWARF's number of a register to where the kernel saved it. -1: nowhere. */
static int saved_register(int dwarf)
{
	const struct asm_arch *arch = asm_arch_host();
	const int known = (int)(sizeof(arch->dwarf) / sizeof(arch->dwarf[0]));

	return arch && dwarf >= 0 && dwarf < known ? arch->dwarf[dwarf] : -1;
}

static struct unwind_rule placed_rule(struct unwind_rule rule)
{
	static const struct unwind_rule unsupported = { .kind = UNWIND_UNSUP };
	int reg = 0;

	if (rule.kind == UNWIND_REG)
		rule.arg = (int16_t)(reg = saved_register(rule.arg));
	if (reg >= 0 && rule.flags & UNWIND_RA_REG)
		rule.ra_off = (int16_t)(reg = saved_register(rule.ra_off));
	return reg < 0 ? unsupported : rule;
}

static int write_rules(const struct table_places *p, const struct unwind_table *t, uint32_t first)
{
	struct unwind_rule *rules = malloc(t->nrules * sizeof(*rules));
	int err;

	if (!rules)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->nrules; i++)
		rules[i] = placed_rule(t->rules[i]);
	err = rp_map_write(p->rules, first * sizeof(*rules), rules, t->nrules * sizeof(*rules));
	free(rules);
	return err;
}

/* ---- tables */

int record_table_place(struct table_places *p, const struct unwind_table *t,
		       struct placed_table *out)
{
	struct placed_table to = { .nrules = t->nrules };
	int err;

	to.parts = calloc(t->nparts + 1, sizeof(*to.parts));
	if (!to.parts)
		return -ENOMEM;
	if (!record_table_room_take(&p->rules_room, t->nrules, &to.first_rule)) {
		free(to.parts);
		return -ENOSPC;
	}
	err = write_rules(p, t, to.first_rule);
	while (!err && to.nparts < t->nparts) {
		err = place_part(p, &t->parts[to.nparts], to.first_rule, &to.parts[to.nparts]);
		to.nparts += !err;
	}
	if (err)
		record_table_unplace(p, &to);
	else
		*out = to;
	return err;
}

void record_table_unplace(struct table_places *p, struct placed_table *t)
{
	for (uint32_t i = 0; i < t->nparts; i++)
		unplace_part(p, &t->parts[i]);
	record_table_room_give(&p->rules_room, t->first_rule, t->nrules);
	free(t->parts);
	*t = (struct placed_table){ 0 };
}
