/* SPDX-License-Identifier: BSD-2-Clause */
/* Windows of a model: their texts, tables and samples, and the ring that holds the last sixty. */
#include "model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

/* Texts of a window are freed together. Names are as long and as many as a process likes. */
#define BLOCK_BYTES 16384
#define WINDOW_TEXTS (4u << 20)
struct top_block {
	struct top_block *older;
	size_t used, size;
	char bytes[];
};

/* Rows of one table: the heaviest are added first where the source can tell. */
#define MAX_ROWS 8192

struct top_window *top_window_new(void)
{
	struct top_window *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	for (int i = 0; i < TOP_PANELS; i++)
		w->rows[i] = (struct hash_map){ .key_size = top_tables[i].nkeys *
							    (uint32_t)sizeof(union top_value),
						.size = sizeof(struct top_row) };
	w->frames = HASH_SET(struct top_frame);
	return w;
}

void top_window_free(struct top_window *w)
{
	if (!w)
		return;
	for (int i = 0; i < TOP_PANELS; i++)
		rp_hash_free(&w->rows[i]);
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

/* ---- texts */

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
	w->text_bytes += bytes;
	block->used += bytes;
	return memcpy(block->bytes + block->used - bytes, text, bytes);
}

const char *top_text(struct top_window *w, const char *text)
{
	static const char too_many[] = "[names without room]";
	const size_t length = strnlen(text, TOP_TEXT_MOST);
	const uint32_t hash = rp_hash_bytes(text, length);
	uint32_t at = hash, id;
	char *kept;

	if (rp_index_reserve(&w->index) || RP_GROW(w->texts, w->ntexts, w->texts_capacity))
		return NULL;
	while ((id = rp_index_next(&w->index, hash, &at)) != HASH_NONE)
		if (!strncmp(w->texts[id], text, length) && !w->texts[id][length])
			return w->texts[id];
	if (length + 1 > WINDOW_TEXTS - w->text_bytes)
		return too_many;
	kept = keep(w, text, length + 1);
	if (!kept)
		return NULL;
	kept[length] = '\0';
	rp_index_put(&w->index, hash, (uint32_t)w->ntexts);
	w->texts[w->ntexts++] = kept;
	return kept;
}

/* ---- rows and samples */

struct top_row *top_row(struct top_window *w, enum top_panel panel, const union top_value *keys)
{
	struct hash_map *map = &w->rows[panel];

	if (map->count == MAX_ROWS) {
		struct top_row *row = rp_hash_find(map, keys);

		w->full[panel] += !row;
		return row;
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
