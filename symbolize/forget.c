/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs that are built, run and deleted without end are as many files: those that nothing has
 * mapped any more go, with what was read of them and with their strings.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "history.h"

enum {
	GONE = UINT32_MAX,
	/* So many more than were left the last time, and half of those, before it is worth it. */
	MORE_FILES = 512,
	MORE_STRINGS = 8192,
};

/* What will be there instead. */
struct rest {
	uint32_t *number; /* of each file: the one that it will have, or GONE */
	uint32_t count;
	struct sym_strings strings;
	struct hash_index index;
};

static bool is_worth_it(const struct sym_files *fs)
{
	return fs->count > fs->left / 2 * 3 + MORE_FILES ||
	       fs->strings->count > fs->left_strings / 2 * 3 + MORE_STRINGS;
}

static int number_files(const struct sym_files *fs, const struct sym_history *h, struct rest *r)
{
	r->number = malloc((fs->count + 1) * sizeof(*r->number));
	if (!r->number)
		return -ENOMEM;
	memset(r->number, 0xff, (fs->count + 1) * sizeof(*r->number));
	for (size_t i = 0; i < h->mapping_count; i++)
		r->number[h->mappings[i].file] = 0;
	for (size_t i = 0; i < fs->count; i++)
		if (r->number[i] != GONE)
			r->number[i] = r->count++;
	return 0;
}

/* The copy that will be left; NULL: out of memory, or @s is. */
static const char *kept(struct rest *r, const char *s)
{
	return s ? sym_strings_add(&r->strings, s, strlen(s)) : NULL;
}

static int keep_strings(const struct sym_history *h, struct rest *r)
{
	for (size_t i = 0; i < h->event_count; i++)
		if (h->events[i].type == SYM_EVENT_COMM && !kept(r, h->events[i].comm))
			return -ENOMEM;
	for (size_t i = 0; i < h->snapshot_count; i++)
		if (h->snapshots[i].comm && !kept(r, h->snapshots[i].comm))
			return -ENOMEM;
	return 0;
}

static int keep_files(const struct sym_files *fs, struct rest *r)
{
	for (size_t i = 0; i < fs->count; i++) {
		struct sym_file f = fs->items[i];

		if (r->number[i] == GONE)
			continue;
		f.path = kept(r, f.path);
		if (!f.path || rp_index_reserve(&r->index))
			return -ENOMEM;
		rp_index_put(&r->index, sym_file_hash(&f), r->number[i]);
	}
	return 0;
}

/* ---- no step of what follows needs memory */

static void drop_images(struct sym_files *fs)
{
	for (struct sym_image *i = fs->images; i; i = i->next)
		i->goes = true;
	for (size_t i = 0; i < fs->count; i++)
		if (fs->items[i].image)
			fs->items[i].image->goes = false;
	sym_images_drop(fs);
}

static void drop_files(struct sym_files *fs, struct rest *r)
{
	for (size_t i = 0; i < fs->count; i++) {
		struct sym_file *f = &fs->items[i];

		if (r->number[i] == GONE) {
			sym_file_give(fs, f);
			if (f->fd >= 0)
				close(sym_file_release(fs, f));
			continue;
		}
		f->path = kept(r, f->path);
		fs->items[r->number[i]] = *f;
	}
	fs->count = r->count;
	rp_index_free(&fs->index);
	fs->index = r->index;
}

/* Its tasks have strings as well: all events are applied anew. */
static void renew_history(struct sym_history *h, struct rest *r)
{
	for (size_t i = 0; i < h->mapping_count; i++)
		h->mappings[i].file = r->number[h->mappings[i].file];
	for (size_t i = 0; i < h->event_count; i++)
		if (h->events[i].type == SYM_EVENT_COMM)
			h->events[i].comm = kept(r, h->events[i].comm);
	for (size_t i = 0; i < h->snapshot_count; i++)
		h->snapshots[i].comm = kept(r, h->snapshots[i].comm);
	sym_tasks_clear(&h->tasks);
	h->applied = 0;
}

int sym_files_forget(struct sym_files *fs, struct sym_history *h)
{
	struct rest r = { 0 };
	int err;

	if (!is_worth_it(fs))
		return 0;
	err = number_files(fs, h, &r);
	if (!err)
		err = keep_strings(h, &r);
	if (!err)
		err = keep_files(fs, &r);
	if (err) {
		rp_index_free(&r.index);
		sym_strings_free(&r.strings);
	} else {
		drop_files(fs, &r);
		drop_images(fs);
		renew_history(h, &r);
		sym_strings_free(fs->strings);
		*fs->strings = r.strings;
		fs->left = (uint32_t)fs->count;
		fs->left_strings = fs->strings->count;
	}
	free(r.number);
	return err;
}
