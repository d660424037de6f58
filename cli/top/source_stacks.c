/* SPDX-License-Identifier: BSD-2-Clause */
/* Waits for locks, and who makes memory resident: as `rawprof lock` and `rawprof mem --faults`. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/lock/lock.h"
#include "cli/mem/mem.h"
#include "programs/mem/faults.h"
#include "sources.h"

/* ---- locks */

struct lock_state {
	struct lock lock;
	struct asm_map maps[LOCK_MAPS];
};

static int open_locks(struct top_source *s)
{
	static const struct lock_options no_options;
	struct lock_state *l = s->state_of_kind;

	l->lock = (struct lock){ .options = &no_options,
				 .of_users = true,
				 .of_kernel = true,
				 .earlier = HASH_MAP(struct lock_earlier, pair),
				 .hists_seen = HASH_MAP(struct lock_hist_seen, key) };
	lock_maps(l->maps);
	/* What is under way when the stacks are fetched is of the next interval. */
	s->options.interval = 1;
	s->profiler = lock_profiler;
	s->profiler.maps = l->maps;
	s->profiler.interval = NULL;
	s->ctx = &l->lock;
	return 0;
}

static int add_lock(struct top_window *w, const struct lock_item *item)
{
	const struct stack_record *r = item->waiter->record;
	const uint32_t pid = (uint32_t)(r->pid_tgid >> 32);
	const union top_value keys[5] = {
		{ .number = pid },
		{ .number = (uint32_t)r->pid_tgid },
		{ .text = top_text(w, item->word[LOCK_WORD_TYPE]) },
		{ .text = top_name(w, pid, item->word[LOCK_WORD_LOCK]) },
		{ .text = top_name(w, pid, item->word[LOCK_WORD_CALLER]) },
	};
	struct top_row *row;

	if (!keys[2].text || !keys[3].text || !keys[4].text)
		return -ENOMEM;
	row = top_row(w, TOP_LOCKS, keys);
	if (row) {
		row->cell[5].number += item->count;
		row->cell[6].number += item->ns;
	}
	return 0;
}

static int read_locks(struct top_source *s, struct top_window *w)
{
	struct lock_list list;
	int err = lock_waits(&s->rec, true, &list);

	if (err)
		return err;
	for (size_t i = 0; !err && i < list.n; i++)
		err = add_lock(w, &list.item[i]);
	lock_list_free(&list);
	s->nknown = 0; /* no stack is named beforehand */
	return err;
}

static int forget_locks(struct top_source *s)
{
	int err = record_stacks_clear(s->rec.stacks, LOCK_MAP_THREADS);

	if (!err)
		err = record_stacks_clear(s->rec.stacks, LOCK_MAP_SPINNERS);
	return err ? err : record_stacks_clear(s->rec.stacks, LOCK_MAP_CALLS);
}

static void close_locks(struct top_source *s)
{
	struct lock_state *l = s->state_of_kind;

	rp_hash_free(&l->lock.earlier);
	rp_hash_free(&l->lock.hists_seen);
}

const struct top_source_kind top_source_locks = {
	.name = "locks",
	.panel = TOP_LOCKS,
	.at_once = true,
	.size = sizeof(struct lock_state),
	.open = open_locks,
	.read = read_locks,
	.forget = forget_locks,
	.close = close_locks,
};

/* ---- memory */

static int open_memory(struct top_source *s)
{
	s->profiler = mem_faults_profiler;
	return 0;
}

/* The innermost function of the program itself, behind those of the allocator and the library. */
static const struct report_frame *site(const struct name_frames *frames)
{
	for (size_t i = 0; i < frames->n; i++) {
		const char *module = frames->frame[i].module;

		if (frames->frame[i].name && module && !strstr(module, "/libc.so") &&
		    !strstr(module, "/libc-") && !strstr(module, "/ld-linux"))
			return &frames->frame[i];
	}
	return frames->n ? &frames->frame[0] : NULL;
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static char *cut(const char *text)
{
	char *copy;

	return asprintf(&copy, "%.*s", TOP_TEXT_MOST, text) < 0 ? NULL : copy;
}

static int name_fault(struct top_source *s, const struct stack *stack, struct top_known_stack *out)
{
	struct name_frames frames = { 0 };
	const struct report_frame *f;
	int err = record_names_stack_user(&s->rec, stack->record, NAMES_AT, &frames);

	f = err ? NULL : site(&frames);
	if (!err) {
		out->name = cut(f && f->name ? f->name : "[unknown]");
		out->module = cut(f && f->module ? file_name(f->module) : "");
		err = out->name && out->module ? 0 : -ENOMEM;
	}
	free(frames.frame);
	return err;
}

static int add_fault(struct top_source *s, struct top_window *w, const struct stack *stack,
		     const struct top_known_stack *known, const uint64_t *value)
{
	const struct stack_record *r = stack->record;
	const uint32_t pid = (uint32_t)(r->pid_tgid >> 32);
	const union top_value keys[4] = { { .number = pid },
					  { .text = top_comm(w, r->comm) },
					  { .text = top_name(w, pid, known->name) },
					  { .text = top_name(w, pid, known->module) } };
	struct top_row *row;

	if (!keys[1].text || !keys[2].text || !keys[3].text)
		return -ENOMEM;
	if (!record_comm_wanted(&s->rec, r->comm))
		return 0;
	row = top_row(w, TOP_MEMORY, keys);
	if (row) {
		row->cell[4].number += value[MEM_FAULTS];
		row->cell[5].number += value[MEM_FAULTS_BYTES];
		row->cell[6].number += value[MEM_FAULTS_MAJOR];
	}
	return 0;
}

static int read_memory(struct top_source *s, struct top_window *w)
{
	static const struct top_stacks how = { name_fault, NULL, add_fault };

	return top_stacks_read(s, w, &how);
}

/* A fault is over when it is seen. */
static int forget_memory(struct top_source *s)
{
	(void)s;
	return 0;
}

const struct top_source_kind top_source_memory = {
	.name = "memory",
	.panel = TOP_MEMORY,
	.open = open_memory,
	.read = read_memory,
	.forget = forget_memory,
};
