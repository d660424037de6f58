/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lives of processes, told in any order: fork, exec, exit, comm, mmap, a snapshot. The input is a
 * program of such events, a few bytes each, among few pids and times, so that they meet. The oracle
 * is a second history that was told the same in order of time; and what is pruned changes no answer
 * about those that are wanted.
 */
#include <inttypes.h>
#include <rawprof/symbolize.h>

#include "symbolize/history.h"
#include "fuzz.h"

enum { EVENTS = 64, PIDS = 6, TIMES = 24, PLACES = 4 };

struct told {
	uint32_t kind, pid, other, place, n;
	uint64_t time;
	size_t number;
};

/* Of up to three mappings with a hole between them, like @m. */
static void tell_snapshot(struct sym_history *h, const struct told *t, struct sym_mapping m)
{
	struct sym_mapping seen[3];
	char name[16];

	for (uint64_t i = 0; i < 3; i++) {
		seen[i] = m;
		seen[i].start = 0x1000 * (1 + t->place + 2 * i);
		seen[i].end = seen[i].start + 0x1000;
	}
	snprintf(name, sizeof(name), "s%zu", t->number);
	sym_history_snapshot(h, t->time, t->pid, t->other & 1 ? t->time - 20 : 0,
			     t->other & 2 ? name : NULL, seen, t->n - 1);
}

static void tell(struct sym_history *h, const struct told *t)
{
	char name[16];
	struct sym_mapping m = { .time = t->time,
				 .start = 0x1000 * (1 + t->place),
				 .end = 0x1000 * (1 + t->place + t->n),
				 .offset = t->number,
				 .pid = t->pid };

	switch (t->kind) {
	case 0:
		if (t->pid != t->other)
			sym_history_fork(h, t->time, t->pid, t->other);
		break;
	case 1:
		sym_history_exec(h, t->time, t->pid);
		break;
	case 2:
		sym_history_exit(h, t->time, t->pid);
		break;
	case 3:
		snprintf(name, sizeof(name), "n%zu", t->number);
		sym_history_comm(h, t->time, t->pid, t->pid, name);
		break;
	case 4:
		sym_history_mmap(h, &m);
		break;
	default:
		tell_snapshot(h, t, m);
	}
}

/* No two events have one time: the kernel's are in nanoseconds. */
static uint64_t moment(uint64_t time, size_t number)
{
	return (100 + time) * EVENTS + number;
}

static int by_time(const void *a, const void *b)
{
	const struct told *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* Both say the same of one pid at one time; @b knows all that @a does. */
static void compare(struct sym_history *a, struct sym_history *b, uint32_t pid, uint64_t time)
{
	for (uint64_t addr = 0x1800; addr < 0x1000 * (2 * PLACES + 2); addr += 0x1000) {
		struct sym_mapping m = { 0 }, n = { 0 };
		struct sym_life life, other;
		int err = sym_history_find(a, pid, time, addr, &m, &life);

		fuzz_check(err == sym_history_find(b, pid, time, addr, &n, &other));
		fuzz_check(m.start == n.start && m.offset == n.offset);
		fuzz_check(err || (addr >= m.start && addr < m.end));
	}
}

static void compare_lives(struct sym_history *a, struct sym_history *b, uint32_t pid, uint64_t time)
{
	const char *x = sym_history_comm_at(a, pid, time), *y = sym_history_comm_at(b, pid, time);

	struct sym_mapping m;
	struct sym_life life, other;

	fuzz_check(!x == !y && (!x || !strcmp(x, y)));
	sym_history_find(a, pid, time, 0x1800, &m, &life);
	sym_history_find(b, pid, time, 0x1800, &m, &other);
	/*
	 * All 0: the pid is not known, because nothing named it yet when it was asked, where @a
	 * knows a later child.
	 */
	fuzz_check(life.born == other.born &&
		   (!other.exited || life.exited - 1 >= other.exited - 1));
}

static enum sym_wanted wanted(void *ctx, uint32_t pid)
{
	return pid & 1 || pid == *(uint32_t *)ctx ? SYM_WANTED : SYM_NOT_WANTED;
}

/* A question now and then, as it comes: it must not change what is answered later. */
static void tell_in_disorder(struct sym_history *h, const struct told *t, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		tell(h, &t[i]);
		if (t[i].place == 3)
			sym_history_comm_at(h, t[i].pid, t[i].time);
	}
}

/*
 * Whether a pid does something after its exit, as a process whose main thread has ended: what its
 * children have of it may go when it is pruned.
 */
static bool has_ghosts(const struct told *t, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = i + 1; t[i].kind == 2 && k < n; k++)
			if (t[k].pid == t[i].pid || t[k].other == t[i].pid)
				return true;
	return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, data + size };
	struct told told[EVENTS];
	struct sym_strings strings = { 0 };
	struct sym_history h, sorted;
	size_t n = 0;
	uint32_t also;

	also = (uint32_t)fuzz_below(&in, PIDS);
	for (; n < EVENTS && in.at < in.end; n++) {
		uint32_t who = (uint32_t)fuzz_take(&in, 1), what = (uint32_t)fuzz_take(&in, 1);

		told[n] = (struct told){ .kind = what % 6,
					 .pid = 1 + who % PIDS,
					 .other = 1 + who / PIDS % PIDS,
					 .place = what / 6 % PLACES,
					 .n = 1 + who / 64,
					 .time = moment(fuzz_below(&in, TIMES), n),
					 .number = n };
	}
	sym_history_init(&h, &strings);
	sym_history_init(&sorted, &strings);
	tell_in_disorder(&h, told, n);
	qsort(told, n, sizeof(told[0]), by_time);
	for (size_t i = 0; i < n; i++)
		tell(&sorted, &told[i]);
	for (uint32_t pid = 1; pid <= PIDS; pid++)
		for (uint64_t time = moment(0, 0) - 1; time < moment(TIMES, 0); time += EVENTS) {
			compare_lives(&h, &sorted, pid, time);
			compare(&h, &sorted, pid, time);
		}
	/* Of other lives of a wanted pid, and of names that it had in these, some go. */
	if (!has_ghosts(told, n) && !sym_history_prune(&h, moment(TIMES / 2, 0), wanted, &also))
		for (uint32_t pid = 1; pid <= PIDS; pid++)
			for (uint64_t time = moment(0, 0) - 1;
			     wanted(&also, pid) == SYM_WANTED && time < moment(TIMES, 0);
			     time += EVENTS)
				compare(&h, &sorted, pid, time);
	sym_history_free(&h);
	sym_history_free(&sorted);
	sym_strings_free(&strings);
	return 0;
}
