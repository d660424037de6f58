/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Labels of goroutines, of a thread that looks like one of Go: no process can make some that are
 * taken for those of another one, as two words whose changes cancel each other did.
 */
#include "test_loader.h"

#include "base/hash.h"
#include "base/machine.h"
#include "record/stacks.h"

static const struct asm_map maps[STACK_MAPS] = { STACK_MAP_LIST(
	STACK_COUNTS_TABLE, struct program_stats, rp_program_stats_layout) };

enum { KEY = -4 };
/* clang-format off */
static const struct asm_insn lines[] = {
	ST(W, R10, KEY, 0),
	MAP_LOOKUP(scratch, KEY),
	JEQ(R0, 0, out),
	MOV_REG(R1, R0),
	CALL_FUNC(published),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&rp_published_part),
};
/* clang-format on */
static const struct asm_program program = { .name = "publish",
					    .type = BPF_PROG_TYPE_RAW_TRACEPOINT,
					    .license = "Dual BSD/GPL",
					    .config_size = sizeof(struct program_config),
					    ASM_LINES(lines) };

/* ---- what Go has in memory, as far as it is looked at */

struct go_string {
	const char *text;
	uint64_t bytes;
};
struct go_labels {
	const struct go_string *pairs;
	uint64_t n;
};
struct go_g {
	const struct go_labels *labels;
	uint64_t goid;
	uint64_t unused[4];
	struct go_g **m; /* whose first member is the goroutine that it runs */
};

static char text[64]; /* of the only label */
static const struct go_string pair[2] = { { "key", 3 }, { text, sizeof(text) } };
static const struct go_labels labels = { pair, 1 };
static struct go_g *running, g = { .labels = &labels, .goid = 1, .m = &running };
static __thread struct go_g *g_of_thread;

/* ---- */

static struct stacks *stacks;
static int prog;
static struct published_labels seen[8];
static size_t nseen;

static int see_labels(void *ctx, const void *published)
{
	(void)ctx;
	ck_assert_uint_lt(nseen, 8);
	memcpy(&seen[nseen++], published, sizeof(seen[0]));
	return 0;
}

static int see_record(void *ctx, const struct stack_record *record)
{
	(void)ctx;
	(void)record;
	return 0;
}

/* False: not on this machine or kernel. */
static bool open_all(void)
{
	static struct program_config config = { .published = 1, .identity = 1 };
	const struct stacks_options options = { .maps = maps,
						.nmaps = STACK_MAPS,
						.config = &config,
						.ring_bytes = 1 << 16,
						.on_published = see_labels };

#ifndef MACHINE_LANGUAGES
	return false;
#endif
	if (!rp_has(RP_HAS_KERNEL_BTF) || !rp_has(RP_HAS_TASK_BTF) || !rp_has(RP_HAS_BPF_LOOP))
		return false;
	capture_log();
	config.hash_secret = rp_hash_secret();
	ck_assert_int_eq(record_stacks_open(&options, see_record, NULL, &stacks), 0);
	prog = record_stacks_load(stacks, &program, &config);
	ck_assert_msg(prog >= 0, "%s", log_text);
	running = g_of_thread = &g;
	return true;
}

static void close_all(void)
{
	close(prog);
	record_stacks_close(stacks);
}

/* As a process that began then: what is seen of the labels that it has now. */
static void publish_as(uint64_t start_time)
{
	const size_t size = record_stacks_maps(stacks)[STACK_MAP_SCRATCH].value_size,
		     room = (size + 7) / 8 * 8;
	const uint32_t ncpus = (uint32_t)rp_cpus_possible(), slot = 0;
	uint8_t *values = calloc(ncpus, room);
	uint64_t args[2] = { 0 };
	struct rp_test_run run = { .ctx_in = args, .ctx_size_in = sizeof(args) };

	ck_assert_ptr_nonnull(values);
	for (uint32_t i = 0; i < ncpus; i++) {
		struct stack_scratch *of = (void *)(values + i * room);

		of->walk.pid = (uint32_t)getpid();
		of->walk.published = (struct published_process){
			.kind = PUBLISHED_GO,
			.labels = offsetof(struct go_g, labels),
			.goid = offsetof(struct go_g, goid),
			.tls = (intptr_t)&g_of_thread - (intptr_t)__builtin_thread_pointer(),
		};
		of->record.pid_tgid = (uint64_t)getpid() << 32 | (uint32_t)getpid();
		of->record.start_time = start_time;
	}
	ck_assert_int_eq(
		rp_map_update(record_stacks_map(stacks, STACK_MAP_SCRATCH), &slot, values, BPF_ANY),
		0);
	free(values);
	ck_assert_int_eq(rp_prog_test_run(prog, &run), 0);
	ck_assert_int_eq(record_stacks_drain(stacks), 0);
}

/* Whatever the hash was before them, of both it is the same behind them. */
static void change_both_words(void)
{
	uint64_t word[2];

	memcpy(word, text + 16, sizeof(word));
	word[0] ^= 1ull << 63;
	word[1] ^= 1ull << 63 | 1ull << 31;
	memcpy(text + 16, word, sizeof(word));
}

START_TEST(labels_of_another_process)
{
	enum { ONE = 1000000007, OTHER = 1000000011, THIRD = 2000000000 };

	if (!open_all()) {
		printf("skip: no labels of goroutines here\n");
		return;
	}
	memset(text, 'a', sizeof(text));
	publish_as(ONE);
	ck_assert_uint_eq(nseen, 1);
	ck_assert_uint_eq(seen[0].goid, 1);
	ck_assert_uint_eq(seen[0].n, 1);
	ck_assert_uint_eq(seen[0].label[0].key_bytes, 3);
	ck_assert_int_eq(memcmp(seen[0].label[0].text, text, sizeof(text)), 0);
	publish_as(ONE); /* it is known */
	ck_assert_uint_eq(nseen, 1);

	change_both_words();
	publish_as(OTHER);
	ck_assert_uint_eq(nseen, 2);
	ck_assert_uint_ne(seen[1].hash, seen[0].hash);
	ck_assert_int_eq(memcmp(seen[1].label[0].text, text, sizeof(text)), 0);
	publish_as(THIRD); /* the same texts are its own, too */
	ck_assert_uint_eq(nseen, 3);
	ck_assert_uint_ne(seen[2].hash, seen[1].hash);
	close_all();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("published");
	TCase *tc = tcase_create("kernel");

	tcase_add_test(tc, labels_of_another_process);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
