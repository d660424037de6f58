/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stacks whose weights are in the table of programs/shared/stack.c: each must weigh what it was
 * given, whether it has come once, has a place, or has found its bucket full. And maps that are
 * full: what they cannot hold is lost nowhere, or is counted as lost.
 */
#include "test_loader.h"

#include <sched.h>

#include "base/clock.h"
#include "base/hash.h"
#include "record/rewalk_kept.h"
#include "record/stacks.h"
#include "record/whose.h"

enum { TIMES, SUM };

static const struct asm_map maps[STACK_MAPS] = { STACK_MAP_LIST(
	STACK_COUNTS_TABLE, struct program_stats, rp_program_stats_layout) };

/* Run by hand with two arguments: a tag, that tells one stack from another, and what it weighs. */
/* clang-format off */
static const struct asm_insn lines[] = {
	MOV_REG(R6, R1),
	MOV(R2, 1), /* the same for all threads */
	LDX(DW, R3, R6, 0),
	CALL_FUNC(stack_take),
	JEQ(R0, 0, out),
	MOV_REG(R7, R0),
	LDX(DW, R8, R6, 8),
	CALL(ktime_get_ns),
	STX(DW, R7, offsetof(struct stack_record, time), R0),
	ST(DW, R7, offsetof(struct stack_record, value[TIMES]), 1),
	STX(DW, R7, offsetof(struct stack_record, value[SUM]), R8),
	MOV_REG(R1, R7),
	CALL_FUNC(stack_value),
	JEQ(R0, 0, done),
	MOV(R1, 1),
	ATOMIC_ADD(DW, R0, 8 * TIMES, R1),
	ATOMIC_ADD(DW, R0, 8 * SUM, R8),
LABEL(done),
	STACK_DONE(R7),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&rp_stack_part),
};
/* clang-format on */

static const struct asm_program program = { .name = "weigh",
					    .type = BPF_PROG_TYPE_RAW_TRACEPOINT,
					    .license = "Dual BSD/GPL",
					    .config_size = sizeof(struct program_config),
					    ASM_LINES(lines) };

static struct stacks *stacks;
static int prog;
static size_t records, frames;
static uint64_t secret; /* 0: none */

/* This side can tell what the hash of a record is. */
static int count_record(void *config, const struct stack_record *record)
{
	const struct program_config *c = config;

	ck_assert_uint_eq(record_rewalk_hash(record, c), record->hash);
	records++;
	frames += record->kernel_bytes / 8;
	return 0;
}

/* The moments that came: of which CPU, the time of the last one, the sum of their weights. */
static struct {
	size_t n;
	unsigned int cpu;
	uint64_t last, sum;
} seen;

static int see_moment(void *ctx, const struct stack_moment *m)
{
	(void)ctx;
	ck_assert_uint_eq(m->count, 1);
	ck_assert_uint_eq(m->kind, STACK_MOMENT_AT);
	ck_assert_uint_gt(m->time, seen.last);
	seen.last = m->time;
	seen.sum += m->weight;
	seen.cpu = m->cpu;
	seen.n++;
	return 0;
}

static void open_with(struct program_config *config, const struct asm_map *of, uint32_t ring_bytes)
{
	const struct stacks_options options = { .maps = of,
						.nmaps = STACK_MAPS,
						.config = config,
						.ring_bytes = ring_bytes,
						.on_moment = config->stream ? see_moment : NULL };

	config->identity = rp_has(RP_HAS_KERNEL_BTF) && rp_has(RP_HAS_TASK_BTF);
	config->hash_secret = secret;
	capture_log();
	ck_assert_int_eq(record_stacks_open(&options, count_record, config, &stacks), 0);
	prog = record_stacks_load(stacks, &program, config);
	ck_assert_msg(prog >= 0, "%s", log_text);
	records = frames = 0;
	memset(&seen, 0, sizeof(seen));
}

/* With places: times too, so many for each CPU. */
static void open_timed(const struct asm_map *of, uint32_t ring_bytes, uint32_t places)
{
	static struct program_config config;

	config = (struct program_config){ .stream = places != 0,
					  .times_mask = places ? places - 1 : 0 };
	open_with(&config, of, ring_bytes);
}

static void open_maps(const struct asm_map *of, uint32_t ring_bytes)
{
	open_timed(of, ring_bytes, 0);
}

static void open_table(void)
{
	open_maps(maps, 1 << 24);
}

static void close_table(void)
{
	close(prog);
	record_stacks_close(stacks);
}

static int weigh(uint64_t tag, uint64_t weight)
{
	uint64_t args[2] = { tag, weight };
	struct rp_test_run run = { .ctx_in = args, .ctx_size_in = sizeof(args) };

	return rp_prog_test_run(prog, &run);
}

/* Each of n stacks once; a stack weighs its tag. */
static void weigh_all(uint64_t n)
{
	for (uint64_t tag = 1; tag <= n; tag++)
		ck_assert_int_eq(weigh(tag, tag), 0);
	ck_assert_int_eq(record_stacks_drain(stacks), 0);
}

static struct program_stats finish(uint64_t n, uint64_t times)
{
	struct program_stats stats;

	ck_assert_int_eq(record_stacks_finish(stacks), 0);
	ck_assert_int_eq(record_stacks_stats(stacks, &stats), 0);
	ck_assert_uint_eq(stats.ring_full, 0);
	ck_assert_uint_eq(stats.busy, 0);
	ck_assert_uint_eq(record_stacks_count(stacks), n);
	for (const struct stack *s = NULL; (s = record_stacks_next(stacks, s));) {
		ck_assert_uint_eq(s->value[TIMES], times);
		ck_assert_uint_eq(s->value[SUM], times * s->record->tag);
	}
	return stats;
}

/*
 * The first time and the second it travels, unless another one has had the same bit; then no more.
 */
START_TEST(test_places)
{
	enum { N = 1000, TIMES_EACH = 7 };

	open_table();
	for (int i = 0; i < TIMES_EACH; i++)
		weigh_all(N);
	ck_assert_uint_eq(finish(N, TIMES_EACH).uncounted, 0);
	ck_assert_uint_le(records, 2 * N);
	ck_assert_uint_ge(records, 2 * N - N / 10);
	close_table();
}
END_TEST

/* By either loop over its words, with a secret or without; count_record() tells what it is. */
START_TEST(test_hash)
{
	enum { N = 100 };
	struct program_config config = { .kernel_bytes = 8 * 127,
					 .both_bytes = 8 * 127,
					 .all_bytes = 8 * 127,
					 .may_goto = _i & 1 };

	if (config.may_goto && !rp_has(RP_HAS_MAY_GOTO)) {
		printf("skip: no MAY_GOTO before Linux 6.10\n");
		return;
	}
	secret = _i & 2 ? rp_hash_secret() : 0;
	open_with(&config, maps, 1 << 20);
	weigh_all(N);
	ck_assert_uint_eq(records, N);
	ck_assert_uint_gt(frames, N);
	ck_assert_uint_eq(record_stacks_count(stacks), N);
	close_table();
}
END_TEST

/* More than there are places. */
START_TEST(test_full)
{
	enum { N = STACK_PLACES + STACK_PLACES / 2, TIMES_EACH = 3 };

	open_table();
	for (int i = 0; i < TIMES_EACH; i++)
		weigh_all(N);
	ck_assert_uint_ge(finish(N, TIMES_EACH).uncounted, N - STACK_PLACES);
	close_table();
}
END_TEST

/* The other kind of counts, a hash map: what finds no room in it travels every time. */
START_TEST(test_hash_full)
{
	enum { N = 1000, ROOM = 100, TIMES_EACH = 3 };
	struct asm_map hashed[STACK_MAPS];

	memcpy(hashed, maps, sizeof(maps));
	hashed[STACK_MAP_COUNTS] = (struct asm_map)STACK_COUNTS_MAP(2);
	hashed[STACK_MAP_COUNTS].max_entries = ROOM;
	open_maps(hashed, 1 << 24);
	for (int i = 0; i < TIMES_EACH; i++)
		weigh_all(N);
	ck_assert_uint_eq(finish(N, TIMES_EACH).uncounted, TIMES_EACH * (N - ROOM));
	ck_assert_uint_eq(records, N + (TIMES_EACH - 1) * (N - ROOM));
	close_table();
}
END_TEST

/* A ring that is not read in time loses what finds no room, and says how much that was. */
START_TEST(test_ring_full)
{
	enum { N = 1000 };
	struct program_stats stats;
	uint64_t kept = 0;

	open_maps(maps, 4096);
	for (uint64_t tag = 1; tag <= N; tag++)
		ck_assert_int_eq(weigh(tag, tag), 0);
	ck_assert_int_eq(record_stacks_finish(stacks), 0);
	ck_assert_int_eq(record_stacks_stats(stacks, &stats), 0);
	for (const struct stack *s = NULL; (s = record_stacks_next(stacks, s));) {
		ck_assert_uint_eq(s->value[SUM], s->record->tag * s->value[TIMES]);
		kept += s->value[TIMES];
	}
	ck_assert_uint_gt(kept, 0);
	ck_assert_uint_gt(stats.ring_full, 0);
	ck_assert_uint_eq(kept + stats.ring_full, N);
	ck_assert_uint_eq(record_stacks_count(stacks), kept);
	close_table();
}
END_TEST

enum { THREADS = 4, SHARED = 5000, ROUNDS = 5 };

static void *weigh_along(void *failed)
{
	for (int i = 0; i < ROUNDS; i++)
		for (uint64_t tag = 1; tag <= SHARED; tag++)
			*(int *)failed |= weigh(tag, tag);
	return NULL;
}

/* Several at once, on the same stacks and places. */
START_TEST(test_together)
{
	pthread_t thread[THREADS];
	int failed[THREADS] = { 0 };

	open_table();
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, weigh_along, &failed[i]), 0);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(thread[i], NULL);
		ck_assert_int_eq(failed[i], 0);
	}
	finish(SHARED, THREADS * ROUNDS);
	ck_assert_uint_lt(records, THREADS * 3 * SHARED);
	close_table();
}
END_TEST

/* On the CPU that it is on. */
static unsigned int stay_here(void)
{
	const int cpu = sched_getcpu();
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((size_t)cpu, &one);
	ck_assert_int_eq(sched_setaffinity(0, sizeof(one), &one), 0);
	return (unsigned int)cpu;
}

/* What is known by now comes with its time in its CPU's row; it is read one call later. */
START_TEST(test_times)
{
	enum { PLACES = 256, N = 100 };
	const uint64_t begin = rp_monotonic_ns();
	const unsigned int cpu = stay_here();

	open_timed(maps, 1 << 20, PLACES);
	for (int i = 0; i < 2 + N; i++) /* twice it travels itself */
		ck_assert_int_eq(weigh(1, 1000 + (uint64_t)i), 0);
	ck_assert_int_eq(record_stacks_read_times(stacks), 0);
	ck_assert_uint_eq(seen.n, 0);
	ck_assert_int_eq(record_stacks_read_times(stacks), 0);
	ck_assert_uint_eq(seen.n, N);
	ck_assert_uint_eq(seen.sum, N * 1002 + N * (N - 1) / 2);
	ck_assert_uint_eq(seen.cpu, cpu);
	ck_assert(seen.last > begin && seen.last < rp_monotonic_ns());

	/* Of what comes in between only the end is left; in the end nobody writes any more. */
	for (int i = 0; i < 10 * PLACES; i++)
		ck_assert_int_eq(weigh(1, 1), 0);
	ck_assert_int_eq(record_stacks_finish(stacks), 0);
	ck_assert_uint_eq(seen.n, N + PLACES);
	ck_assert_uint_eq(seen.sum, N * 1002 + N * (N - 1) / 2 + PLACES);
	ck_assert_uint_eq(record_stacks_lost_times(stacks), 9 * PLACES);
	close_table();
}
END_TEST

/* While the writer may be at work, what it may be about to write over is not read. */
START_TEST(test_times_late)
{
	enum { PLACES = 256, N = 1000 };

	stay_here();
	open_timed(maps, 1 << 20, PLACES);
	for (int i = 0; i < 2 + N; i++)
		ck_assert_int_eq(weigh(1, 1), 0);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(record_stacks_read_times(stacks), 0);
	ck_assert_uint_ge(seen.n, PLACES - 32);
	ck_assert_uint_lt(seen.n, PLACES);
	ck_assert_uint_eq(seen.n + record_stacks_lost_times(stacks), N);
	close_table();
}
END_TEST

/*
 * A process that is gone, so of no user that is known, has stacks that are all different, each of
 * the deepest. They are counted all the same; and what is counted by their hash finds its place.
 */
START_TEST(test_room)
{
	enum { N = 20000, FRAMES = 4096, GONE = UINT32_MAX - 5 };
	const uint64_t all = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE),
		       most = all / 4 < 512 << 20 ? all / 4 : 512 << 20,
		       room = most / 8 + most / 2; /* free, and one user's half */
	static struct record_whose whose;
	static struct program_config config;
	const struct stacks_options options = { .maps = maps,
						.nmaps = STACK_MAPS,
						.config = &config,
						.ring_bytes = 1 << 20,
						.whose = &whose };
	const size_t bytes = sizeof(struct stack_record) + 8 * FRAMES, slot = 64;
	struct stack_record *r = calloc(1, bytes);
	const struct stack *last = NULL;
	size_t kept, sum = 0;

	ck_assert_ptr_nonnull(r);
	ck_assert_int_eq(record_stacks_open(&options, count_record, NULL, &stacks), 0);
	r->pid_tgid = (uint64_t)GONE << 32 | 1;
	r->user_bytes = 8 * FRAMES;
	strcpy(r->comm, "deep");
	r->value[TIMES] = 1;
	for (uint64_t i = 1; i <= N; i++) {
		r->hash = 1000 + i;
		ck_assert_int_eq(record_stacks_take(stacks, r), 0);
	}
	kept = record_stacks_count(stacks) - 2; /* and the two that stand for the others */
	ck_assert_uint_le(kept, room / (bytes + slot) + 1);
	ck_assert_uint_ge(kept, room / (bytes + slot) - 1);
	ck_assert_uint_eq(record_stacks_find(stacks, 1001)->record->user_bytes, 8 * FRAMES);
	last = record_stacks_find(stacks, 1000 + N);
	ck_assert_str_eq(last->record->comm, "deep");
	ck_assert_uint_eq(last->record->user_bytes, 0);
	ck_assert_uint_eq(last->value[TIMES], N - kept);
	ck_assert_ptr_eq(record_stacks_at(stacks, record_stacks_number(stacks, 1000 + N)), last);
	ck_assert_int_eq(record_stacks_add(stacks, 1000 + N, r->value), 0);
	ck_assert_uint_eq(last->value[TIMES], N - kept + 1);
	/* What nobody has heard of may have been one of them. */
	ck_assert_str_eq(record_stacks_find(stacks, 17)->record->comm, "[others]");
	for (last = NULL; (last = record_stacks_next(stacks, last));)
		sum += last->value[TIMES];
	ck_assert_uint_eq(sum, N + 1);
	/* All have room again. */
	record_stacks_forget(stacks);
	ck_assert_uint_eq(record_stacks_count(stacks), 1); /* for what the kernel may still count */
	ck_assert_int_eq(record_stacks_add(stacks, 1000 + N, r->value), 0);
	ck_assert_int_eq(record_stacks_take(stacks, r), 0);
	ck_assert_uint_eq(record_stacks_find(stacks, 1000 + N)->record->user_bytes, 8 * FRAMES);
	record_stacks_close(stacks);
	free(r);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stack_table");
	TCase *tc = tcase_create("kernel");

	tcase_add_test(tc, test_places);
	tcase_add_loop_test(tc, test_hash, 0, 4);
	tcase_add_test(tc, test_full);
	tcase_add_test(tc, test_hash_full);
	tcase_add_test(tc, test_ring_full);
	tcase_add_test(tc, test_together);
	tcase_add_test(tc, test_times);
	tcase_add_test(tc, test_times_late);
	tcase_add_test(tc, test_room);
	tcase_set_timeout(tc, 120);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
