/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The visits of programs/shared/asleep.c find threads in the middle of everything: while they are
 * born, leave a CPU, sleep, wake, end. Whatever a visit changes, no switch is missing afterwards,
 * and none is counted twice. A recording makes few visits; these do little else.
 */
#include "test_loader.h"

#include "base/clock.h"
#include "programs/threads/offcpu.h"
#include "programs/threads/wall.h"
#include "record/asleep.h"
#include "record/recording.h"
#include "record/stacks.h"

enum { SECONDS = 3, THREADS = 8, LEAVES = 20, FROM_NEW_NS = 50000000 };

/* ---- threads that are born, sleep for a while or a moment, and end */

static void *live_shortly(void *number)
{
	for (int i = 0; i < LEAVES; i++) {
		if (i % 2)
			usleep((uintptr_t)number % 2 ? 20 : 500);
		else
			sched_yield();
		for (volatile int n = 0; n < 2000; n++)
			;
	}
	return NULL;
}

static void *sleep_for_ever(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static void be_born(void)
{
	pthread_t sleeper, thread[THREADS];

	if (pthread_create(&sleeper, NULL, sleep_for_ever, NULL))
		_exit(1);
	for (;;) {
		for (uintptr_t i = 0; i < THREADS; i++)
			if (pthread_create(&thread[i], NULL, live_shortly, (void *)i))
				_exit(1);
		for (int i = 0; i < THREADS; i++)
			pthread_join(thread[i], NULL);
	}
}

/* ---- recordings like those of `wall`, without samples, and of `offcpu` */

static struct {
	struct sched_config config;
	int visitor;
	unsigned int visits;
	uint64_t kept;
} seen;

static int attach(struct recording *rec, const struct rp_program *list, uint32_t roles)
{
	struct sched_config none;
	const struct rp_btf *btf;
	struct asm_access access;
	int err = rp_btf_kernel(&btf);

	if (err)
		return err;
	seen.config.common = rec->config;
	seen.config.state_argument = rp_btf_tracepoint_takes(btf, "sched_switch", 3, "") >= 0;
	seen.config.state_renamed = !rp_btf_access(btf, "task_struct", "__state", &access, NULL);
	none = seen.config;
	none.common.kernel_bytes = none.common.user_bytes = none.common.eh = 0;
	err = record_asleep_load(rec, &seen.config, &seen.visitor);
	if (!err)
		err = record_attach(rec, rp_offcpu_freed_programs, RECORD_ALL_ROLES, &none);
	return err ? err : record_attach(rec, list, roles, &seen.config);
}

static int attach_wall(struct recording *rec)
{
	seen.config = rp_wall_usual_config;
	return attach(rec, rp_wall_programs, WALL_SWITCH | WALL_WAKEUP);
}

static int attach_offcpu(struct recording *rec)
{
	seen.config = rp_offcpu_usual_config;
	return attach(rec, rp_offcpu_programs, RECORD_ALL_ROLES);
}

static int open_gate(struct recording *rec)
{
	return record_stacks_gate(rec->stacks, SCHED_MAP_GATE, rp_monotonic_ns());
}

static int close_gate(struct recording *rec)
{
	return record_stacks_gate(rec->stacks, SCHED_MAP_GATE, 0);
}

/* Who has left and is not back. */
static int add_waiting(void *ctx, const void *key, const void *value)
{
	const struct sched_thread *thread = value;

	(void)ctx;
	(void)key;
	seen.kept += thread->hash != 0;
	return 0;
}

static int take_waiting(struct recording *rec)
{
	return record_stacks_each(rec->stacks, SCHED_MAP_THREADS, add_waiting, NULL);
}

/* Threads are met for the first time again and again. */
static int visit(struct recording *rec)
{
	const uint64_t end = rp_monotonic_ns() + NS_PER_SECOND * 9 / 10;
	int err = 0;

	while (!err && rp_monotonic_ns() < end) {
		uint64_t anew;

		err = close_gate(rec);
		rp_quiesce();
		if (!err)
			err = take_waiting(rec);
		if (!err)
			err = record_stacks_clear(rec->stacks, SCHED_MAP_THREADS);
		if (!err)
			err = open_gate(rec);
		anew = rp_monotonic_ns() + FROM_NEW_NS;
		for (; !err && rp_monotonic_ns() < anew; seen.visits++)
			err = record_asleep_visit(rec, seen.visitor);
	}
	return err;
}

static const struct record_profiler wall = {
	.command = "test",
	.maps = rp_wall_maps,
	.nmaps = SCHED_MAPS,
	.thread_map = SCHED_MAP_THREADS,
	.attach = attach_wall,
	.start = open_gate,
	.stop = close_gate,
	.tick = visit,
	.collect = take_waiting,
};
static const struct record_profiler offcpu = {
	.command = "test",
	.maps = rp_offcpu_maps,
	.nmaps = SCHED_MAPS,
	.thread_map = SCHED_MAP_THREADS,
	.attach = attach_offcpu,
	.start = open_gate,
	.stop = close_gate,
	.tick = visit,
	.collect = take_waiting,
};

/* The second is a weight of wall alone: who had only to wait for a CPU. */
static void add_stacks(const struct recording *rec, size_t second)
{
	const struct stack *stack = NULL;

	while ((stack = record_stacks_next(rec->stacks, stack)))
		if (!second || stack->record->tag != WALL_ENDED)
			seen.kept += stack->value[0] + (second ? stack->value[second] : 0);
}

/* False where no thread can be visited, as inside a pid namespace. */
static bool record_visits(const struct record_profiler *profiler, size_t second)
{
	struct sched_stats stats;
	const struct program_stats *common = &stats.common;
	uint32_t pid = (uint32_t)fork();
	const struct record_options options = { .pids = { &pid, 1 }, .duration = SECONDS };
	struct recording *rec;

	if (!pid)
		be_born();
	capture_log();
	ck_assert_msg(!record_new(profiler, &options, &rec), "%s", log_text);
	ck_assert_msg(!record_run(rec), "%s", log_text);
	kill((pid_t)pid, SIGKILL);
	waitpid((pid_t)pid, NULL, 0);
	ck_assert_int_eq(record_stacks_stats(rec->stacks, &stats), 0);
	add_stacks(rec, second);
	record_free(rec);
	if (seen.visitor < 0)
		return false;
	ck_assert_uint_gt(seen.visits, 1);
	ck_assert_uint_gt(stats.asleep, 0);
	ck_assert_uint_gt(stats.exited, 0);
	ck_assert_uint_eq(common->fired, seen.kept + common->idle + common->filtered +
						 common->ring_full + common->busy + stats.runnable +
						 stats.state + stats.exited + stats.threads_full);
	return true;
}

static bool visits_threads(void)
{
	const struct rp_program *unused;

	return rp_has(RP_HAS_TP_BTF) && !record_choose(rp_asleep_programs, 0, &unused);
}

START_TEST(wall_misses_no_switch)
{
	if (!visits_threads())
		skip_test("this kernel visits no threads");
	if (!record_visits(&wall, WALL_WEIGHT_PREEMPTED))
		skip_test("not here");
}
END_TEST

START_TEST(offcpu_misses_no_switch)
{
	if (!visits_threads())
		skip_test("this kernel visits no threads");
	if (!record_visits(&offcpu, 0))
		skip_test("not here");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("visits");
	TCase *tc = tcase_create("threads");

	tcase_add_test(tc, wall_misses_no_switch);
	tcase_add_test(tc, offcpu_misses_no_switch);
	tcase_set_timeout(tc, 60);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
