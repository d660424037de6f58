/* SPDX-License-Identifier: BSD-2-Clause */
/* The side-band on the running kernel: 50 children that fork and exec, all seen, in order, with the
 * right file. */
#include "test_loader.h"

#include <limits.h>
#include <poll.h>
#include <sys/stat.h>

enum { CHILDREN = 50, SEEN = 4096 };

/* What was seen of each child; stages must come in this order. */
enum { FORKED = 1, EXECED = 2, MAPPED = 4, EXITED = 8 };

struct watch {
	pid_t pid[CHILDREN];
	int stage[CHILDREN];
	uint64_t last;
	uint32_t self;
	int out_of_order, mmaps, lost;
	struct stat file;
	const char *path;
	char real_path[PATH_MAX]; /* behind symbolic links: all of busybox is one file */
	bool build_id;
};

static int child_of(const struct watch *w, uint32_t pid)
{
	for (int i = 0; i < CHILDREN; i++)
		if ((uint32_t)w->pid[i] == pid)
			return i;
	return -1;
}

static void on_mmap(struct watch *w, int i, const struct rp_side_event *e)
{
	if (strcmp(e->mmap.path, w->real_path))
		return;
	ck_assert_int_eq(w->stage[i], FORKED | EXECED);
	ck_assert_uint_gt(e->mmap.len, 0);
	ck_assert_uint_eq(e->mmap.prot & PROT_EXEC, PROT_EXEC);
	if (e->mmap.build_id_size) {
		w->build_id = true;
	} else {
		ck_assert_uint_eq(e->mmap.ino, w->file.st_ino);
		/* device numbers are left out: on overlay and btrfs stat(2) shows others than the
		 * kernel has */
	}
	w->stage[i] |= MAPPED;
	w->mmaps++;
}

static int watch(void *ctx, const struct rp_side_event *e)
{
	struct watch *w = ctx;
	const int i = child_of(w, e->pid);

	if (e->time < w->last)
		w->out_of_order++;
	w->last = e->time;
	if (e->type == RP_SIDE_LOST)
		w->lost++;
	if (i < 0)
		return 0;
	switch (e->type) {
	case RP_SIDE_FORK:
		ck_assert_uint_eq(e->fork.ppid, w->self);
		ck_assert_int_eq(w->stage[i], 0);
		w->stage[i] |= FORKED;
		break;
	case RP_SIDE_COMM:
		ck_assert_int_eq(w->stage[i], FORKED);
		ck_assert(e->comm.exec);
		ck_assert_str_eq(e->comm.comm, "true");
		w->stage[i] |= EXECED;
		break;
	case RP_SIDE_MMAP:
		on_mmap(w, i, e);
		break;
	case RP_SIDE_EXIT:
		ck_assert_int_eq(w->stage[i], FORKED | EXECED | MAPPED);
		w->stage[i] |= EXITED;
		break;
	default:
		break;
	}
	return 0;
}

static void find_true(struct watch *w)
{
	w->path = access("/usr/bin/true", X_OK) ? "/bin/true" : "/usr/bin/true";
	ck_assert_ptr_nonnull(realpath(w->path, w->real_path));
	ck_assert_int_eq(stat(w->path, &w->file), 0);
}

static void run_children(struct watch *w)
{
	for (int i = 0; i < CHILDREN; i++) {
		w->pid[i] = fork();
		if (w->pid[i] == 0) {
			execl(w->path, "true", (char *)NULL);
			_exit(127);
		}
	}
	for (int i = 0; i < CHILDREN; i++)
		ck_assert_int_eq(waitpid(w->pid[i], NULL, 0), w->pid[i]);
}

static void check_children(const struct rp_side_options *opt, bool build_ids)
{
	struct watch *w = calloc(1, sizeof(*w));
	struct rp_sideband *side;

	w->self = (uint32_t)getpid();
	find_true(w);
	ck_assert_int_eq(rp_sideband_open(opt, &side), 0);
	run_children(w);
	ck_assert_int_gt(rp_sideband_drain(side, true, watch, w), CHILDREN * 4 - 1);
	for (int i = 0; i < CHILDREN; i++)
		ck_assert_msg(w->stage[i] == (FORKED | EXECED | MAPPED | EXITED), "child %d: %d", i,
			      w->stage[i]);
	ck_assert_int_eq(w->mmaps, CHILDREN);
	ck_assert_int_eq(w->out_of_order, 0);
	ck_assert_int_eq(w->lost, 0);
	ck_assert_int_eq(w->build_id, build_ids);
	ck_assert_uint_eq(rp_sideband_lost(side), 0);
	rp_sideband_close(side);
	free(w);
}

START_TEST(test_children)
{
	check_children(&(struct rp_side_options){ 0 }, false);
}
END_TEST

START_TEST(test_children_with_build_ids)
{
	check_children(&(struct rp_side_options){ .build_ids = true },
		       rp_has(RP_HAS_MMAP_BUILD_ID));
}
END_TEST

/* Drained again and again while it goes on: the same events, still in order. */
START_TEST(test_drained_meanwhile)
{
	struct watch *w = calloc(1, sizeof(*w));
	struct rp_sideband *side;
	int status, exited = 0;

	w->self = (uint32_t)getpid();
	find_true(w);
	ck_assert_int_eq(rp_sideband_open(&(struct rp_side_options){ 0 }, &side), 0);
	for (int i = 0; i < CHILDREN; i++) {
		w->pid[i] = fork();
		if (w->pid[i] == 0) {
			execl(w->path, "true", (char *)NULL);
			_exit(127);
		}
		ck_assert_int_ge(rp_sideband_drain(side, false, watch, w), 0);
	}
	while (exited < CHILDREN) {
		if (waitpid(-1, &status, WNOHANG) > 0)
			exited++;
		ck_assert_int_ge(rp_sideband_drain(side, false, watch, w), 0);
	}
	ck_assert_int_ge(rp_sideband_drain(side, true, watch, w), 0);
	for (int i = 0; i < CHILDREN; i++)
		ck_assert_msg(w->stage[i] == (FORKED | EXECED | MAPPED | EXITED), "child %d: %d", i,
			      w->stage[i]);
	/* A record takes less than the millisecond it is waited for, unless the CPU that writes
	 * it is emulated by a program that has to wait for its turn. */
	if (!getenv("VM_EMULATED"))
		ck_assert_int_eq(w->out_of_order, 0);
	rp_sideband_close(side);
	free(w);
}
END_TEST

static int count_all(void *ctx, const struct rp_side_event *e)
{
	uint64_t *n = ctx;

	n[e->type == RP_SIDE_LOST] += e->type == RP_SIDE_LOST ? e->lost.n : 1;
	return 0;
}

static void fork_many(int n)
{
	for (int i = 0; i < n; i++) {
		const pid_t child = fork();

		if (child == 0)
			_exit(0);
		ck_assert_int_eq(waitpid(child, NULL, 0), child);
	}
}

/* One page of ring, hundreds of processes and nobody reading: the descriptor becomes readable, and
 * losses are told. All on one CPU: each tells of its own ring. */
START_TEST(test_overflow)
{
	struct pollfd p = { .events = POLLIN };
	uint64_t seen[2] = { 0 };
	struct rp_sideband *side;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	ck_assert_int_eq(sched_setaffinity(0, sizeof(one), &one), 0);
	ck_assert_int_eq(rp_sideband_open(&(struct rp_side_options){ .pages = 1 }, &side), 0);
	p.fd = rp_sideband_fd(side);
	fork_many(300);
	ck_assert_int_eq(poll(&p, 1, 0), 1);
	rp_sideband_drain(side, true, count_all, seen);
	ck_assert_uint_gt(seen[0], 50);
	/* The loss is told by a record that precedes the next one that fits. */
	fork_many(10);
	rp_sideband_drain(side, true, count_all, seen);
	ck_assert_uint_gt(seen[1], 0);
	ck_assert_uint_eq(rp_sideband_lost(side), seen[1]);
	rp_sideband_close(side);
}
END_TEST

/* Reading keeps pace with thousands of records through a small ring, over whose end they run. */
START_TEST(test_wrap)
{
	uint64_t seen[2] = { 0 };
	struct rp_sideband *side;

	ck_assert_int_eq(rp_sideband_open(&(struct rp_side_options){ .pages = 4 }, &side), 0);
	for (int i = 0; i < 125; i++) {
		fork_many(8);
		ck_assert_int_ge(rp_sideband_drain(side, true, count_all, seen), 0);
	}
	rp_sideband_drain(side, true, count_all, seen);
	ck_assert_uint_ge(seen[0] + seen[1], 2000);
	ck_assert_uint_eq(rp_sideband_lost(side), seen[1]);
	rp_sideband_close(side);
}
END_TEST

START_TEST(test_not_a_power_of_two)
{
	struct rp_sideband *side = NULL;

	ck_assert_int_eq(rp_sideband_open(&(struct rp_side_options){ .pages = 3 }, &side), -EINVAL);
	ck_assert_ptr_null(side);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("loader: side-band");
	TCase *tc = tcase_create("live");

	tcase_add_test(tc, test_children);
	tcase_add_test(tc, test_children_with_build_ids);
	tcase_add_test(tc, test_drained_meanwhile);
	tcase_add_test(tc, test_overflow);
	tcase_add_test(tc, test_wrap);
	tcase_add_test(tc, test_not_a_power_of_two);
	tcase_set_timeout(tc, 60);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
