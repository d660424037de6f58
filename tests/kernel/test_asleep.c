/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The visits of programs/shared/asleep.c find threads in the middle of everything: while they are
 * born, leave a CPU, come back, end. Whatever a visit changes, no switch is missing afterwards, and
 * none is counted twice. A recording of `wall` makes few visits; this one does nothing else.
 */
#include "test_loader.h"

#include "base/clock.h"
#include "programs/threads/offcpu.h"
#include "programs/threads/wall.h"
#include "record/asleep.h"
#include "record/recording.h"
#include "record/stacks.h"

enum { SECONDS = 3, THREADS = 8, LEAVES = 20 };

/* ---- threads that are born and end all the time */

static void *live_shortly(void *unused)
{
	for (int i = 0; i < LEAVES; i++) {
		if (i % 2)
			usleep(20);
		else
			sched_yield();
		for (volatile int n = 0; n < 2000; n++)
			;
	}
	return unused;
}

static void be_born(void)
{
	pthread_t thread[THREADS];

	for (;;) {
		for (int i = 0; i < THREADS; i++)
			if (pthread_create(&thread[i], NULL, live_shortly, NULL))
				_exit(1);
		for (int i = 0; i < THREADS; i++)
			pthread_join(thread[i], NULL);
	}
}

/* ---- a recording like that of `wall`, without samples */

static struct {
	struct sched_config config;
	struct sched_stats stats;
	int visitor;
	unsigned int visits;
	uint64_t kept;
} seen;

static int attach(struct recording *rec)
{
	struct sched_config none;
	const struct rp_btf *btf;
	struct asm_access access;
	int err = rp_btf_kernel(&btf);

	if (err)
		return err;
	seen.config = rp_wall_usual_config;
	seen.config.common = rec->config;
	seen.config.state_argument = rp_btf_tracepoint_takes(btf, "sched_switch", 3, "") >= 0;
	seen.config.state_renamed = !rp_btf_access(btf, "task_struct", "__state", &access, NULL);
	none = seen.config;
	none.common.kernel_bytes = none.common.user_bytes = none.common.eh = 0;
	err = record_asleep_load(rec, &seen.config, &seen.visitor);
	if (!err)
		err = record_attach(rec, rp_offcpu_freed_programs, RECORD_ALL_ROLES, &none);
	return err ? err
		   : record_attach(rec, rp_wall_programs, WALL_SWITCH | WALL_WAKEUP, &seen.config);
}

static int start(struct recording *rec)
{
	return record_stacks_gate(rec->stacks, SCHED_MAP_GATE, rp_monotonic_ns());
}

static int stop(struct recording *rec)
{
	return record_stacks_gate(rec->stacks, SCHED_MAP_GATE, 0);
}

/* Once a second, for most of it. */
static int visit(struct recording *rec)
{
	const uint64_t end = rp_monotonic_ns() + NS_PER_SECOND * 9 / 10;
	int err = 0;

	for (; !err && rp_monotonic_ns() < end; seen.visits++)
		err = record_asleep_visit(rec, seen.visitor);
	return err;
}

static int add_waiting(void *ctx, const void *key, const void *value)
{
	const struct sched_thread *thread = value;

	(void)ctx;
	(void)key;
	seen.kept += thread->phase != PHASE_ON_CPU && thread->hash;
	return 0;
}

static int collect(struct recording *rec)
{
	const struct stack *stack = NULL;
	int err = record_stacks_stats(rec->stacks, &seen.stats);

	while ((stack = record_stacks_next(rec->stacks, stack)))
		if (stack->record->tag != WALL_ENDED)
			seen.kept += stack->value[WALL_WEIGHT_COUNT] +
				     stack->value[WALL_WEIGHT_PREEMPTED];
	return err ? err : record_stacks_each(rec->stacks, SCHED_MAP_THREADS, add_waiting, NULL);
}

static const struct record_profiler profiler = {
	.command = "test",
	.maps = rp_wall_maps,
	.nmaps = SCHED_MAPS,
	.thread_map = SCHED_MAP_THREADS,
	.attach = attach,
	.start = start,
	.stop = stop,
	.tick = visit,
	.collect = collect,
};

START_TEST(no_switch_is_missing)
{
	const struct program_stats *common = &seen.stats.common;
	const struct rp_program *unused;
	uint32_t pid;
	struct record_options options = { .pids = { &pid, 1 }, .duration = SECONDS };
	struct recording *rec;

	if (!rp_has(RP_HAS_TP_BTF) || record_choose(rp_asleep_programs, 0, &unused))
		skip_test("this kernel visits no threads");
	pid = (uint32_t)fork();
	if (!pid)
		be_born();
	capture_log();
	ck_assert_msg(!record_new(&profiler, &options, &rec), "%s", log_text);
	ck_assert_msg(!record_run(rec), "%s", log_text);
	record_free(rec);
	kill((pid_t)pid, SIGKILL);
	waitpid((pid_t)pid, NULL, 0);
	ck_assert_uint_gt(seen.visits, 10);
	ck_assert_uint_gt(seen.kept, 0);
	ck_assert_uint_gt(seen.stats.exited, 0);
	ck_assert_uint_eq(common->fired, seen.kept + common->idle + common->filtered +
						 common->ring_full + common->busy +
						 seen.stats.exited + seen.stats.threads_full);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("visits");
	TCase *tc = tcase_create("threads");

	tcase_add_test(tc, no_switch_is_missing);
	tcase_set_timeout(tc, 60);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
