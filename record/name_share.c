/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory for names of functions: whose it is, and what is left when processes have ended. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/proc.h"

#include "name_share.h"

/* 128 MB for one user, who has a million functions then; those of one program are 20,000. */
#define MOST_BYTES (256ull << 20)
#define MUCH (MOST_BYTES / 4)
#define MOST_PROCESSES (1u << 16)

/* Of one that has ended there may still be stacks in the window at hand. */
enum { LIVES, ENDED, GONE, DROPPED };

struct named_process {
	uint32_t pid;
	uid_t uid;
	uint64_t generation;
	int state;
};

struct name_share {
	struct record_share share;
	struct hash_map processes; /* of struct named_process */
	uint64_t bytes;		   /* of all, root too */
};

int record_name_share_open(struct name_share **out)
{
	struct name_share *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->share = RECORD_SHARE(MOST_BYTES, "memory for names of functions of Python, JavaScript, "
					    "PHP, Ruby and Perl: new ones have none");
	s->processes = HASH_MAP(struct named_process, pid);
	*out = s;
	return 0;
}

void record_name_share_close(struct name_share *s)
{
	if (!s)
		return;
	record_share_free(&s->share);
	rp_hash_free(&s->processes);
	free(s);
}

/* ---- processes */

/* Which other users see of it: /proc/PID itself is root's where a process wants it so. */
static bool look(struct named_process *p)
{
	struct sym_proc_ids ids;

	if (sym_proc_ids("/proc", p->pid, &ids))
		return false;
	p->uid = ids.uid;
	return true;
}

/* Its last program; NULL: no memory. */
static struct named_process *process_of(struct name_share *s, uint32_t pid, uint64_t generation,
					bool *is_new)
{
	struct named_process *p = rp_hash_add_within(&s->processes, &pid, MOST_PROCESSES, is_new);

	if (!p || !*is_new)
		return p;
	p->uid = RECORD_UID_UNKNOWN;
	p->generation = generation;
	p->state = look(p) ? LIVES : ENDED;
	return p;
}

uid_t record_name_owner(struct name_share *s, uint32_t pid, uint64_t generation)
{
	bool is_new;
	struct named_process *p = process_of(s, pid, generation, &is_new);

	if (!p)
		return RECORD_UID_UNKNOWN;
	if (p->generation != generation) {
		p->generation = generation;
		p->state = look(p) ? LIVES : ENDED;
	}
	return p->uid;
}

bool record_name_is_gone(struct name_share *s, uint32_t pid, uint64_t generation)
{
	bool is_new;
	const struct named_process *p = process_of(s, pid, generation, &is_new);

	return p && (p->generation != generation || p->state >= GONE);
}

/* ---- memory */

bool record_name_has_room(struct name_share *s, uid_t uid, uint64_t size)
{
	return record_share_has_room(&s->share, uid, size);
}

void record_name_add(struct name_share *s, uid_t uid, uint64_t size)
{
	record_share_add(&s->share, uid, size);
	s->bytes += size;
}

const char *record_name_keep(struct name_share *s, uid_t uid, struct sym_strings *texts,
			     const char *text)
{
	const size_t n = strlen(text);
	const uint32_t before = texts->count;
	const char *kept = sym_strings_add(texts, text, n);

	if (texts->count != before)
		record_name_add(s, uid, n + 1 + sizeof(kept) + RECORD_NAME_INDEX);
	return kept;
}

/* Another window is over; true: this one has gone with it. */
static bool age(struct named_process *p)
{
	if (p->state == LIVES && !look(p))
		p->state = ENDED;
	else if (p->state == ENDED || p->state == GONE)
		p->state++;
	return p->state == GONE;
}

bool record_name_share_settle(struct name_share *s)
{
	struct named_process *p = s->processes.items;
	bool any = false;

	if (s->bytes < MUCH)
		return false;
	for (uint32_t i = 0; i < s->processes.count; i++)
		any |= age(&p[i]);
	if (any) {
		record_share_empty(&s->share);
		s->bytes = 0;
	}
	return any;
}
