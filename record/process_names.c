/* SPDX-License-Identifier: BSD-2-Clause */
/* What languages keep of their own, a process at a time. */
#include <errno.h>
#include <stdlib.h>

#include "names.h"
#include "process_names.h"

/* What maps and arrays with little in them take. */
#define EMPTY_BYTES 4096

struct process {
	uint64_t pid, generation;
	struct name_account *kept;
};

struct process_names record_process_names(struct name_share *share, size_t size,
					  void (*empty)(void *kept))
{
	return (struct process_names){ share, size, empty, HASH_MAP(struct process, generation) };
}

static struct process key_of(const struct name_owner *owner)
{
	return (struct process){ owner->pid, owner->generation, NULL };
}

void *record_process_names_find(const struct process_names *p, const struct name_owner *owner)
{
	const struct process key = key_of(owner), *process = rp_hash_find(&p->processes, &key);

	return process ? process->kept : NULL;
}

static void *make(struct process_names *p, const struct name_owner *owner,
		  const struct name_account *account)
{
	const struct process key = key_of(owner);
	struct name_account *kept = calloc(1, p->size);
	struct process *process;

	process = kept ? rp_hash_add(&p->processes, &key) : NULL;
	if (!process) {
		free(kept);
		return NULL;
	}
	*kept = *account;
	record_name_add(kept, p->size + EMPTY_BYTES);
	process->kept = kept;
	return kept;
}

int record_process_names_add(struct process_names *p, const struct name_owner *owner, uint64_t more,
			     void **out, bool *is_new)
{
	const struct name_account account =
		record_name_account(p->share, owner->pid, owner->generation);
	struct name_account *kept = record_process_names_find(p, owner);

	*out = NULL;
	*is_new = !kept;
	if (!record_name_has_room(&account, more + p->size + EMPTY_BYTES))
		return 0;
	if (kept)
		kept->uid = account.uid; /* it may be another user's by now */
	*out = kept ? kept : make(p, owner, &account);
	return *out ? 0 : -ENOMEM;
}

static void drop(struct process_names *p, struct process *process)
{
	p->empty(process->kept);
	free(process->kept);
}

static bool settle(void *ctx, void *entry)
{
	struct process *process = entry;

	if (record_name_settle(process->kept))
		return true;
	drop(ctx, process);
	return false;
}

void record_process_names_settle(struct process_names *p)
{
	rp_hash_keep(&p->processes, settle, p);
}

void record_process_names_free(struct process_names *p)
{
	struct process *all = p->processes.items;

	for (uint32_t i = 0; i < p->processes.count; i++)
		drop(p, &all[i]);
	rp_hash_free(&p->processes);
}
