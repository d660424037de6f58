/* SPDX-License-Identifier: BSD-2-Clause */
/* Perf maps of all processes. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/lack.h"
#include "jits.h"
#include "proc.h"
#include "tasks.h"

/* What it takes now is its user's, and how long that took. */
static void pay(const struct sym_jits *js, struct sym_known_jit *k)
{
	const uint64_t bytes = k->jit ? sym_jit_bytes(k->jit) : 0;
	const uint64_t ns = k->jit ? sym_jit_ns(k->jit) : k->ns;

	sym_held_has_read(js->files, k->holder, ns - k->ns, (int64_t)(bytes - k->bytes));
	k->bytes = bytes;
	k->ns = ns;
}

static void close_known(const struct sym_jits *js, struct sym_known_jit *k)
{
	if (k->jit)
		sym_held_give(js->files, k->holder);
	sym_jit_close(k->jit);
	k->jit = NULL;
	pay(js, k);
	sym_strings_free(&k->names);
}

void sym_jits_free(struct sym_jits *js)
{
	for (size_t i = 0; i < js->count; i++)
		close_known(js, &js->items[i]);
	free(js->items);
	rp_index_free(&js->by_pid);
}

static struct sym_known_jit *find_known(struct sym_jits *js, uint32_t pid, uint64_t born)
{
	const uint32_t hash = rp_hash_pair(pid, 0);
	uint32_t at = hash, i;

	if (!js->count)
		return NULL;
	while ((i = rp_index_next(&js->by_pid, hash, &at)) != HASH_NONE)
		if (js->items[i].pid == pid && sym_is_same_birth(js->items[i].born, born))
			return &js->items[i];
	return NULL;
}

static struct sym_known_jit *add_known(struct sym_jits *js, uint32_t pid, uint64_t born)
{
	const struct sym_known_jit k = { .pid = pid, .born = born };

	if (rp_index_reserve(&js->by_pid) || RP_PUSH(js->items, js->count, js->capacity, k))
		return NULL;
	rp_index_put(&js->by_pid, rp_hash_pair(pid, 0), (uint32_t)js->count - 1);
	return &js->items[js->count - 1];
}

static bool is_there(const struct sym_jits *js, uint32_t pid)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/%" PRIu32, js->proc, pid) >= (int)sizeof(path) ||
	       !access(path, F_OK);
}

void sym_jits_rest(struct sym_jits *js)
{
	size_t kept = 0;

	rp_index_free(&js->by_pid);
	for (size_t i = 0; i < js->count; i++) {
		struct sym_known_jit *k = &js->items[i];

		if (!is_there(js, k->pid) || rp_index_reserve(&js->by_pid)) {
			close_known(js, k);
			continue;
		}
		sym_strings_free(&k->names);
		if (k->jit)
			sym_jit_forget_names(k->jit);
		pay(js, k);
		rp_index_put(&js->by_pid, rp_hash_pair(k->pid, 0), (uint32_t)kept);
		js->items[kept++] = *k;
	}
	js->count = kept;
}

/* Opens the map of the process that has @k->pid now, if that is the one meant. */
static int open_known(struct sym_jits *js, struct sym_known_jit *k)
{
	uint64_t born;
	int err = sym_proc_start(js->proc, k->pid, &born);

	if (!err && !sym_is_same_birth(born, k->born))
		err = -ESRCH;
	if (!err)
		err = sym_jit_open(&k->jit, js->proc, k->pid);
	if (err)
		return err;
	err = sym_held_take(js->files, k->pid, &k->holder);
	if (err) {
		sym_jit_close(k->jit);
		k->jit = NULL;
		return err;
	}
	k->born = born;
	return 0;
}

static struct sym_known_jit *get_jit(struct sym_jits *js, uint32_t pid, uint64_t born,
				     uint64_t time)
{
	struct sym_known_jit *k = find_known(js, pid, born);

	/*
	 * One that was not there may be written by and by, but is not looked for at every address.
	 */
	if (k && (k->jit || time < k->asked + 1000000000))
		return k;
	if (!k)
		k = add_known(js, pid, born);
	if (k) {
		k->asked = time;
		open_known(js, k);
	}
	return k;
}

static bool look_up(struct sym_jits *js, struct sym_known_jit *k, uint64_t addr, const char **name,
		    uint64_t *start)
{
	const bool may_read = sym_held_may_read(js->files, k->holder);
	const bool found = sym_held_has_memory(js->files, k->holder) &&
			   sym_jit_lookup(k->jit, &k->names, addr, may_read, name, start);

	if (!found && !may_read)
		rp_lack(-EDQUOT, sym_jit_path(k->jit));
	pay(js, k);
	return found;
}

bool sym_jits_name(struct sym_jits *js, uint32_t pid, uint64_t born, uint64_t time, uint64_t addr,
		   struct sym_frame *out)
{
	struct sym_known_jit *k = get_jit(js, pid, born, time);
	uint64_t start;

	if (!k || !k->jit || !look_up(js, k, addr, &out->name, &start))
		return false;
	out->kind = SYM_JIT;
	out->module = sym_jit_path(k->jit);
	out->offset = addr - start;
	return true;
}

int sym_jits_keep(struct sym_jits *js, uint32_t pid)
{
	struct sym_known_jit *k, now = { .pid = pid };
	int err = sym_proc_start(js->proc, pid, &now.born);

	if (err)
		return err;
	k = find_known(js, pid, now.born);
	if ((k && k->jit) || open_known(js, &now))
		return 0;
	if (!k)
		k = add_known(js, pid, now.born);
	if (!k) {
		close_known(js, &now);
		return -ENOMEM;
	}
	*k = now;
	return 0;
}
