/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Atomic operations, in the kernel: memory, registers and neighbours after each, and none lost
 * where several CPUs do them at once; RFC 9669 section 5.3.
 */
#include "isa.h"

#include <pthread.h>

#define CELL 16 /* bytes into mem */

/* Memory and R0 (for CMPXCHG), R2 (src) before; memory, R0 and R2 after. */
struct atomic_case {
	struct asm_insn insn;
	uint64_t mem, r0, r2;
	uint64_t want_mem, want_r0, want_r2;
};

static bool is_wide(const struct asm_insn *insn)
{
	return BPF_SIZE(insn->insn.code) == BPF_DW;
}

/* A W operation sees only its own four bytes. */
static void put(struct isa_cell *cell, const struct asm_insn *insn, uint64_t value)
{
	uint32_t narrow = (uint32_t)value;

	if (is_wide(insn))
		memcpy(cell->mem + CELL, &value, sizeof(value));
	else
		memcpy(cell->mem + CELL, &narrow, sizeof(narrow));
}

static void run_atomic(const struct atomic_case *c)
{
	struct isa_cell cell, want;
	int fd = isa_load(&c->insn, 1, false, NULL, 0);

	isa_fill(&cell);
	put(&cell, &c->insn, c->mem);
	cell.in[0] = c->r0;
	cell.in[2] = c->r2;
	want = cell;
	put(&want, &c->insn, c->want_mem);
	memcpy(want.out, want.in, sizeof(want.out));
	want.out[0] = c->want_r0;
	want.out[2] = c->want_r2;
	isa_run(fd, &cell);
	ck_assert_msg(!memcmp(cell.mem, want.mem, sizeof(cell.mem)), "%s: memory %#llx: wrong",
		      c->insn.text, (unsigned long long)c->mem);
	for (int r = 0; r < ISA_REGS; r++)
		ck_assert_msg(cell.out[r] == want.out[r], "%s: R%d is %#llx, not %#llx",
			      c->insn.text, r, (unsigned long long)cell.out[r],
			      (unsigned long long)want.out[r]);
	coverage_saw(c->insn.text);
	close(fd);
}

static void run_table(const struct atomic_case *cases, size_t n)
{
	isa_setup();
	for (size_t i = 0; i < n; i++)
		if (!isa_skip(&cases[i].insn, 1))
			run_atomic(&cases[i]);
}
#define RUN_TABLE(cases) run_table(cases, sizeof(cases) / sizeof((cases)[0]))

#define ALL 0xffffffffffffffff
#define HIGH 0xabcdef0100000000 /* what a W operation must not look at */

START_TEST(without_fetch)
{
	static const struct atomic_case cases[] = {
		{ ATOMIC_ADD(DW, R9, MEM + CELL, R2), 40, 7, 2, 42, 7, 2 },
		{ ATOMIC_ADD(DW, R9, MEM + CELL, R2), 0xffffffff, 7, 1, 0x100000000, 7, 1 },
		{ ATOMIC_ADD(DW, R9, MEM + CELL, R2), 5, 7, ALL, 4, 7, ALL },
		{ ATOMIC_ADD(W, R9, MEM + CELL, R2), 40, 7, HIGH | 2, 42, 7, HIGH | 2 },
		{ ATOMIC_ADD(W, R9, MEM + CELL, R2), 0xffffffff, 7, 1, 0, 7, 1 },
		{ ATOMIC_AND(DW, R9, MEM + CELL, R2), 0xff00ff00ff00ff00, 7, 0x0ff00ff00ff00ff0,
		  0x0f000f000f000f00, 7, 0x0ff00ff00ff00ff0 },
		{ ATOMIC_AND(W, R9, MEM + CELL, R2), 0xff00ff00, 7, 0x0ff00ff0, 0x0f000f00, 7,
		  0x0ff00ff0 },
		{ ATOMIC_OR(DW, R9, MEM + CELL, R2), 0xff00000000000000, 7, 0xff,
		  0xff000000000000ff, 7, 0xff },
		{ ATOMIC_OR(W, R9, MEM + CELL, R2), 0xf0, 7, HIGH | 0x0f, 0xff, 7, HIGH | 0x0f },
		{ ATOMIC_XOR(DW, R9, MEM + CELL, R2), ALL, 7, 0xff, 0xffffffffffffff00, 7, 0xff },
		{ ATOMIC_XOR(W, R9, MEM + CELL, R2), 0xffffffff, 7, HIGH | 0xff, 0xffffff00, 7,
		  HIGH | 0xff },
	};

	RUN_TABLE(cases);
}
END_TEST

START_TEST(with_fetch)
{
	static const struct atomic_case cases[] = {
		{ ATOMIC_FETCH_ADD(DW, R9, MEM + CELL, R2), 0x100000028, 7, 2, 0x10000002a, 7,
		  0x100000028 },
		{ ATOMIC_FETCH_ADD(W, R9, MEM + CELL, R2), 0x80000000, 7, HIGH | 0x80000000, 0, 7,
		  0x80000000 },
		{ ATOMIC_FETCH_AND(DW, R9, MEM + CELL, R2), 0xff00ff00ff00ff00, 7,
		  0x0ff00ff00ff00ff0, 0x0f000f000f000f00, 7, 0xff00ff00ff00ff00 },
		{ ATOMIC_FETCH_AND(W, R9, MEM + CELL, R2), 0xff00ff00, 7, HIGH | 0x0ff00ff0,
		  0x0f000f00, 7, 0xff00ff00 },
		{ ATOMIC_FETCH_OR(DW, R9, MEM + CELL, R2), 0xff00000000000000, 7, 0xff,
		  0xff000000000000ff, 7, 0xff00000000000000 },
		{ ATOMIC_FETCH_OR(W, R9, MEM + CELL, R2), 0xf0000000, 7, HIGH | 0x0f, 0xf000000f, 7,
		  0xf0000000 },
		{ ATOMIC_FETCH_XOR(DW, R9, MEM + CELL, R2), ALL, 7, 0xff, 0xffffffffffffff00, 7,
		  ALL },
		{ ATOMIC_FETCH_XOR(W, R9, MEM + CELL, R2), 0xffffffff, 7, HIGH | 0xff, 0xffffff00,
		  7, 0xffffffff },
	};

	RUN_TABLE(cases);
}
END_TEST

START_TEST(exchange)
{
	static const struct atomic_case cases[] = {
		{ ATOMIC_XCHG(DW, R9, MEM + CELL, R2), 0x1111111111111111, 7, 0x2222222222222222,
		  0x2222222222222222, 7, 0x1111111111111111 },
		{ ATOMIC_XCHG(W, R9, MEM + CELL, R2), 0x81111111, 7, HIGH | 0x22222222, 0x22222222,
		  7, 0x81111111 },
		/* equal: stored; the old value, which R0 had, in R0 */
		{ ATOMIC_CMPXCHG(DW, R9, MEM + CELL, R2), 0x100000005, 0x100000005, 9, 9,
		  0x100000005, 9 },
		/* not equal, if only in the upper half */
		{ ATOMIC_CMPXCHG(DW, R9, MEM + CELL, R2), 0x100000005, 5, 9, 0x100000005,
		  0x100000005, 9 },
		{ ATOMIC_CMPXCHG(DW, R9, MEM + CELL, R2), 5, ALL, 9, 5, 5, 9 },
		/* 32 bits: the upper half of R0 is not compared, and becomes 0 either way */
		{ ATOMIC_CMPXCHG(W, R9, MEM + CELL, R2), 0x80000005, HIGH | 0x80000005, HIGH | 9, 9,
		  0x80000005, HIGH | 9 },
		{ ATOMIC_CMPXCHG(W, R9, MEM + CELL, R2), 0x80000005, HIGH | 6, 9, 0x80000005,
		  0x80000005, 9 },
	};

	RUN_TABLE(cases);
}
END_TEST

/* ---- load-acquire and store-release, which have all four sizes */

START_TEST(acquire_and_release)
{
	/* clang-format off */
	static const struct {
		struct asm_insn load, store;
		uint64_t mask;
	} cases[] = {
		{ LOAD_ACQ(B, R2, R9, MEM + CELL), STORE_REL(B, R9, MEM + CELL, R2), 0xff },
		{ LOAD_ACQ(H, R2, R9, MEM + CELL), STORE_REL(H, R9, MEM + CELL, R2), 0xffff },
		{ LOAD_ACQ(W, R2, R9, MEM + CELL), STORE_REL(W, R9, MEM + CELL, R2), 0xffffffff },
		{ LOAD_ACQ(DW, R2, R9, MEM + CELL), STORE_REL(DW, R9, MEM + CELL, R2), ALL },
	};
	/* clang-format on */
	const uint64_t old = 0x8796a5b4c3d2e1f0, new = 0xf1e2d3c4b5a69788;

	isa_setup();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned int shift = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
					     ? (unsigned int)__builtin_clzll(cases[i].mask)
					     : 0;
		uint64_t bits = cases[i].mask << shift, at, neighbour = old;
		struct isa_cell cell, before;
		int fd;

		if (isa_skip(&cases[i].load, 1) + isa_skip(&cases[i].store, 1))
			continue; /* both have been asked, and so are in the table */
		isa_fill(&cell);
		memcpy(cell.mem + CELL, &old, sizeof(old));
		fd = isa_load(&cases[i].load, 1, false, NULL, 0);
		isa_run(fd, &cell);
		isa_check_regs(&cell, 2, old >> shift & cases[i].mask, cases[i].load.text);
		close(fd);

		cell.in[2] = new;
		before = cell;
		fd = isa_load(&cases[i].store, 1, false, NULL, 0);
		isa_run(fd, &cell);
		isa_check_regs(&cell, -1, 0, cases[i].store.text);
		memcpy(&at, cell.mem + CELL, sizeof(at));
		ck_assert_msg(at == ((neighbour & ~bits) | (new << shift &bits)), "%s: %#llx",
			      cases[i].store.text, (unsigned long long)at);
		ck_assert_mem_eq(cell.mem, before.mem, CELL);
		ck_assert_mem_eq(cell.mem + CELL + 8, before.mem + CELL + 8,
				 sizeof(cell.mem) - CELL - 8);
		coverage_saw(cases[i].load.text);
		coverage_saw(cases[i].store.text);
		close(fd);
	}
}
END_TEST

/* ---- two threads, one number */

#define ROUNDS 100000U

static void *hammer(void *arg)
{
	unsigned char packet[64] = { 0 };
	struct rp_test_run run = { .data_in = packet,
				   .data_size_in = sizeof(packet),
				   .repeat = ROUNDS };

	return (void *)(intptr_t)rp_prog_test_run(*(int *)arg, &run);
}

START_TEST(no_addition_is_lost_between_cpus)
{
	static const struct asm_insn lines[] = { MOV(R3, 1), ATOMIC_ADD(DW, R9, MEM + CELL, R3),
						 ATOMIC_ADD(W, R9, MEM + CELL + 8, R3) };
	uint32_t key = 0, narrow;
	uint64_t wide;
	struct isa_cell cell = { .mem = { 0 } };
	pthread_t threads[2];
	int fd;

	isa_setup();
	ck_assert_int_eq(rp_map_update(isa_map_fd, &key, &cell, BPF_ANY), 0);
	fd = isa_load(lines, 3, false, NULL, 0);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, hammer, &fd), 0);
	for (int i = 0; i < 2; i++) {
		void *err;

		ck_assert_int_eq(pthread_join(threads[i], &err), 0);
		ck_assert_ptr_null(err);
	}
	ck_assert_int_eq(rp_map_lookup(isa_map_fd, &key, &cell), 0);
	memcpy(&wide, cell.mem + CELL, sizeof(wide));
	memcpy(&narrow, cell.mem + CELL + 8, sizeof(narrow));
	ck_assert_uint_eq(wide, 2 * ROUNDS);
	ck_assert_uint_eq(narrow, 2 * ROUNDS);
	close(fd);
}
END_TEST

START_TEST(nothing_is_left_out)
{
	isa_check_features();
	coverage_check("atomic");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("isa: atomics");
	TCase *tc = tcase_create("atomic");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, without_fetch);
	tcase_add_test(tc, with_fetch);
	tcase_add_test(tc, exchange);
	tcase_add_test(tc, acquire_and_release);
	tcase_add_test(tc, no_addition_is_lost_between_cpus);
	tcase_add_test(tc, nothing_is_left_out);
	suite_add_tcase(suite, tc);
	srunner_set_fork_status(runner,
				CK_NOFORK); /* what was covered is counted in this process */
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
