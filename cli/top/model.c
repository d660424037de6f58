/* SPDX-License-Identifier: BSD-2-Clause */
/* Windows of a model: their texts, tables and samples, and the ring that holds the last sixty. */
#include "model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

/* Texts of a window are freed together. Names are as long and as many as a process likes. */
#define BLOCK_BYTES 16384
static const size_t most_texts[] = {
	[TOP_TEXT] = 128u << 10, [TOP_COMM] = 896u << 10, [TOP_NAME] = 3u << 20
};
/* Of names: whoever comes first, and all users but root; what is left is root's. */
#define FREE_NAMES (384u << 10)
#define USERS_NAMES (2u << 20)
struct top_block {
	struct top_block *older;
	size_t used, size;
	char bytes[];
};

/* Rows of one table: the heaviest are added first where the source can tell. */
#define MAX_ROWS 8192
/* The same of them, and those that have what else there is. */
#define FREE_ROWS 1024
#define USERS_ROWS 5120
#define REST_ROWS 128

struct top_window *top_window_new(void)
{
	struct top_window *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	for (int i = 0; i < TOP_PANELS; i++)
		w->rows[i] = (struct hash_map){ .key_size = top_tables[i].nkeys *
							    (uint32_t)sizeof(union top_value),
						.size = sizeof(struct top_row) };
	for (int i = 0; i < TOP_PANELS; i++)
		w->room[i] =
			(struct record_room){ .share = RECORD_SHARE(USERS_ROWS, "rows of a table"),
					      .free = FREE_ROWS };
	w->names = (struct record_room){ .share = RECORD_SHARE(USERS_NAMES, "names of an interval"),
					 .free = FREE_NAMES };
	w->frames = HASH_SET(struct top_frame);
	return w;
}

void top_window_free(struct top_window *w)
{
	if (!w)
		return;
	for (int i = 0; i < TOP_PANELS; i++)
		rp_hash_free(&w->rows[i]);
	for (int i = 0; i < TOP_PANELS; i++)
		record_share_free(&w->room[i].share);
	record_share_free(&w->names.share);
	rp_hash_free(&w->frames);
	free(w->stacks);
	free(w->samples);
	free(w->texts);
	rp_index_free(&w->index);
	while (w->blocks) {
		struct top_block *older = w->blocks->older;

		free(w->blocks);
		w->blocks = older;
	}
	free(w);
}

static bool has_room(struct top_window *w, struct record_room *room, uint32_t pid, uint64_t size)
{
	uid_t payer;

	room->whose = w->whose;
	return !pid || !w->whose || record_room_take(room, pid, size, &payer);
}

/* ---- texts */

/* In all windows. */
static const char too_many[] = "[names without room]", no_room[] = TOP_NO_ROOM;

static char *keep(struct top_window *w, const char *text, size_t bytes)
{
	struct top_block *block = w->blocks;

	if (!block || block->size - block->used < bytes) {
		size_t size = bytes < BLOCK_BYTES ? BLOCK_BYTES : bytes;

		block = malloc(sizeof(*block) + size);
		if (!block)
			return NULL;
		*block = (struct top_block){ .older = w->blocks, .size = size };
		w->blocks = block;
	}
	block->used += bytes;
	return memcpy(block->bytes + block->used - bytes, text, bytes);
}

const char *top_text_of(struct top_window *w, enum top_unit whose, uint32_t pid, const char *text)
{
	const size_t length = strnlen(text, TOP_TEXT_MOST);
	const uint32_t hash = rp_hash_bytes(text, length);
	uint32_t at = hash, id;
	char *kept;

	if (text == too_many || text == no_room)
		return text;
	if (rp_index_reserve(&w->index) || RP_GROW(w->texts, w->ntexts, w->texts_capacity))
		return NULL;
	while ((id = rp_index_next(&w->index, hash, &at)) != HASH_NONE)
		if (!strncmp(w->texts[id], text, length) && !w->texts[id][length])
			return w->texts[id];
	if (length + 1 > most_texts[whose] - w->text_bytes[whose] ||
	    !has_room(w, &w->names, pid, length + 1))
		return too_many;
	kept = keep(w, text, length + 1);
	if (!kept)
		return NULL;
	kept[length] = '\0';
	w->text_bytes[whose] += length + 1;
	rp_index_put(&w->index, hash, (uint32_t)w->ntexts);
	w->texts[w->ntexts++] = kept;
	return kept;
}

/* ---- rows and samples */

/* All rows of a process, or of all, but for what we say of them: reasons, languages. */
static struct top_row *rest(struct top_window *w, enum top_panel panel, const union top_value *keys)
{
	const struct top_table_spec *spec = &top_tables[panel];
	struct hash_map *map = &w->rows[panel];
	union top_value key[TOP_COLUMNS] = { { 0 } };
	struct top_row *row;

	for (unsigned int i = 0; i < spec->nkeys; i++)
		if (spec->column[i].unit == TOP_TEXT)
			key[i] = keys[i];
		else if (top_is_text(spec->column[i].unit))
			key[i].text = no_room;
		else if ((int)i == spec->pid)
			key[i] = keys[i];
	row = rp_hash_find(map, key);
	if (row)
		return row;
	if (w->rests[panel]++ >= REST_ROWS / 2)
		key[spec->pid].number = 0;
	row = map->count < MAX_ROWS ? rp_hash_add(map, key) : rp_hash_find(map, key);
	w->full[panel] += !row;
	return row;
}

/* Its keys are names and threads of a process, as many as that has. */
static bool is_of_processes(const struct top_table_spec *spec)
{
	return spec->pid >= 0 && spec->nkeys > 2;
}

struct top_row *top_row(struct top_window *w, enum top_panel panel, const union top_value *keys)
{
	const struct top_table_spec *spec = &top_tables[panel];
	struct hash_map *map = &w->rows[panel];
	struct top_row *row = rp_hash_find(map, keys);

	if (row)
		return row;
	if (is_of_processes(spec)) {
		if (map->count >= MAX_ROWS - REST_ROWS ||
		    !has_room(w, &w->room[panel], (uint32_t)keys[spec->pid].number, 1))
			return rest(w, panel, keys);
	} else if (map->count == MAX_ROWS) {
		w->full[panel]++;
		return NULL;
	}
	return rp_hash_add(map, keys);
}

int top_window_sample(struct top_window *w, const struct top_sample *sample,
		      const struct top_frame *frames)
{
	struct top_sample s = *sample;

	if (RP_GROW_TO(w->stacks, w->nstacks + s.n, w->stacks_capacity))
		return -ENOMEM;
	s.first = (uint32_t)w->nstacks;
	for (uint32_t i = 0; i < s.n; i++) {
		int err = rp_hash_number(&w->frames, &frames[i], &w->stacks[s.first + i]);

		if (err)
			return err;
	}
	w->nstacks += s.n;
	return RP_PUSH(w->samples, w->nsamples, w->samples_capacity, s);
}

/* ---- the ring */

void top_model_push(struct top_model *m, struct top_window *w)
{
	m->last = (m->last + 1) % TOP_WINDOWS;
	top_window_free(m->ring[m->last]);
	m->ring[m->last] = w;
	m->n += m->n < TOP_WINDOWS;
	m->seen++;
}

const struct top_window *top_model_at(const struct top_model *m, size_t back)
{
	return back < m->n ? m->ring[(m->last + TOP_WINDOWS - back) % TOP_WINDOWS] : NULL;
}

void top_model_free(struct top_model *m)
{
	for (size_t i = 0; i < TOP_WINDOWS; i++)
		top_window_free(m->ring[i]);
	*m = (struct top_model){ 0 };
}
