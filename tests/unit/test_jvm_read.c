/* SPDX-License-Identifier: BSD-2-Clause */
/* What is read of Java's compiled code, in our own memory here, and how much that is. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "record/jvm.h"
#include "record/names.h"
#include "record/remote.h"
#include "symbolize/jvm.h"

#include "name_users.h"

/* Where there is memory, below all that is mapped already. */
enum { BEGIN = 1 << 20, ALL = 16 << 20 };

/* An nmethod with its table of pcs, its scopes and its metadata. */
enum {
	NMETHOD = 1 << 20,
	ID = 7,
	MOST_ROWS = 1 << 16,
	PCS = 4096,
	CODE = 1 << 21,
	SCOPES = 1 << 22,
	METADATA = 3 << 20,
	METHOD = 0xabc0,
	SCOPE_OF_ROW = 4, /* bytes; the first scope is none */
	STUB = 5 << 20,
	POOL = 6 << 20,
	METHODS = 7 << 20,
};

static struct read_costs costs;
static struct record_remote remote;
static struct jvm_memory memory;
static struct name_share *share;
static struct jvm_names *names;
static struct jvm_layout layout;
static struct sym_jvm_pc rows[MOST_ROWS];

static void put(uint64_t at, const void *bytes, size_t n)
{
	memcpy((void *)(uintptr_t)at, bytes, n);
}

static void put32(uint64_t at, uint32_t value)
{
	put(at, &value, sizeof(value));
}

static void put64(uint64_t at, uint64_t value)
{
	put(at, &value, sizeof(value));
}

static void setup(void)
{
	remote = (struct record_remote){ .pid = getpid() };
	memory = (struct jvm_memory){ .remote = &remote, .costs = &costs };
	costs = record_read_costs("time");
	ck_assert(!record_name_share_open(&share));
	ck_assert(!record_jvm_names_open(&names, share));
	ck_assert(mmap((void *)(uintptr_t)BEGIN, ALL, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_POPULATE, -1,
		       0) == (void *)(uintptr_t)BEGIN);
	layout = (struct jvm_layout){ .version = 17 };
	for (int i = 0; i < JVM_FIELDS; i++)
		layout.at[i] = 200;
	layout.at[JVM_BLOB_CODE] = 16;
	layout.at[JVM_COMPILED_METHOD] = 32;
	layout.at[JVM_COMPILED_SCOPES] = 40;
	layout.at[JVM_COMPILED_METADATA] = 56;
	layout.at[JVM_COMPILED_PCS] = 60;
	layout.at[JVM_COMPILED_PCS_END] = 64;
	layout.at[JVM_COMPILED_ID] = 72;
	put64(NMETHOD + 16, NMETHOD + CODE);
	put64(NMETHOD + 32, METHOD);
	put64(NMETHOD + 40, SCOPES);
	put32(NMETHOD + 56, METADATA - NMETHOD);
	put32(NMETHOD + 60, PCS);
	put32(NMETHOD + 72, ID);
}

static void teardown(void)
{
	record_jvm_names_close(names);
	record_name_share_close(share);
	record_share_free(&costs.late);
	record_remote_close(&remote);
	munmap((void *)(uintptr_t)BEGIN, ALL);
}

static void put_rows(size_t n)
{
	put32(NMETHOD + 64, (uint32_t)(PCS + n * sizeof(rows[0])));
	put(NMETHOD + PCS, rows, n * sizeof(rows[0]));
}

/* A row for every eight bytes of code, each with a scope of its own: its bci is i % 180. */
static void make_rows(size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const uint8_t scope[SCOPE_OF_ROW] = { 0, 1, (uint8_t)(i % 180 + 1) };

		rows[i] = (struct sym_jvm_pc){ .offset = (int32_t)(8 * i),
					       .scope = (int32_t)(SCOPE_OF_ROW * (i + 1)) };
		put(SCOPES + SCOPE_OF_ROW * (i + 1), scope, sizeof(scope));
	}
	rows[0] = (struct sym_jvm_pc){ .offset = -1 };
	rows[n - 1] = (struct sym_jvm_pc){ .offset = (int32_t)(8 * n) };
	put64(METADATA, METHOD + 8);
	put_rows(n);
}

/* The bci at an offset in the code; -1: all that is known is the method. */
static int32_t bci_at(uint32_t offset, bool is_return)
{
	struct jvm_place place[2];
	const size_t n = record_jvm_read_scopes(&memory, &layout, NMETHOD, ID, CODE + offset,
						is_return, place, 2);

	ck_assert_uint_eq(n, 1);
	ck_assert_uint_eq(place[0].method, place[0].bci < 0 ? METHOD : METHOD + 8);
	return place[0].bci;
}

/* What it is to be, by all n rows. */
static int32_t bci_by_rows(size_t n, uint32_t offset, bool is_return)
{
	size_t i = 0;

	while (i < n && rows[i].offset < (int32_t)offset + !is_return)
		i++;
	if ((i == n || !rows[i].scope) && !is_return && i)
		i--; /* none is behind it */
	return i < n && rows[i].scope ? (rows[i].scope / SCOPE_OF_ROW - 1) % 180 : -1;
}

START_TEST(a_pc_is_found_in_tables_of_all_sizes)
{
	static const size_t sizes[] = { 3, 62, 63, 64, 65, 66, 67, 128, 129, 1000, MOST_ROWS };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const size_t n = sizes[i], step = n / 200 + 1;

		make_rows(n);
		for (uint32_t at = 0; at < 8 * n + 8; at += (uint32_t)step)
			for (int is_return = 0; is_return < 2; is_return++)
				ck_assert_int_eq(bci_at(at, is_return),
						 bci_by_rows(n, at, is_return));
	}
}
END_TEST

START_TEST(most_of_a_table_is_not_read)
{
	const uint64_t before = memory.costs->ns;

	make_rows(MOST_ROWS);
	ck_assert_int_eq(bci_at(8 * 12345, true), 12345 % 180);
	/* Some twenty reads of a microsecond, and two kilobytes. */
	ck_assert_uint_lt(memory.costs->ns - before, 25000);
}
END_TEST

/* What is found is a row of the table, or none. */
START_TEST(rows_in_no_order)
{
	make_rows(1000);
	for (size_t i = 0; i < 1000; i++)
		rows[i].offset = (int32_t)(i * 7919 % 1000 * 8);
	put_rows(1000);
	for (uint32_t at = 0; at < 8 * 1000; at += 4) {
		const int32_t bci = bci_at(at, true);

		ck_assert(bci >= -1 && bci < 180);
	}
}
END_TEST

START_TEST(a_table_that_is_not_there)
{
	make_rows(1000);
	put32(NMETHOD + 60, INT32_MAX - (MOST_ROWS - 1) * 16);
	put32(NMETHOD + 64, INT32_MAX);
	ck_assert_int_eq(bci_at(8, true), -1);
}
END_TEST

/* ---- names */

static const char *name_in(pid_t pid, const uint64_t words[2])
{
	const struct name_owner owner = { .pid = (uint32_t)pid };
	struct report_frame frame;

	ck_assert_uint_eq(record_jvm_names_find(names, &owner, words, &frame, 1), 1);
	return frame.name;
}

static void words_of(enum jvm_kind kind, uint64_t address, uint64_t second, uint64_t words[2])
{
	words[0] = address | (uint64_t)kind << JVM_KIND_SHIFT;
	words[1] = second;
}

/* A stack of the process has the frame; what it is called. */
static const char *see_in(pid_t pid, uid_t uid, enum jvm_kind kind, uint64_t address,
			  uint64_t second)
{
	const struct name_owner owner = { .pid = (uint32_t)pid };
	struct jvm_process_memory p = { memory, &layout };
	uint64_t words[2];

	words_of(kind, address, second, words);
	p.memory.uid = uid;
	costs.ns = 0;
	ck_assert(!record_jvm_names_add(names, &p, &owner, words));
	return name_in(pid, words);
}

/* Of one of root, where a user pays for the time. */
static const char *see(uid_t uid, enum jvm_kind kind, uint64_t address, uint64_t second)
{
	return see_in(1, uid, kind, address, second);
}

/* A method that interpreted code is of, without a class: the number of its ConstMethod. */
static uint64_t make_method(uint64_t at)
{
	const uint64_t const_method = at + 256, pool = POOL;
	uint8_t bytes[48] = { 0 };

	put64(at + 8, const_method);
	memcpy(bytes + 8, &pool, 8);
	memset(bytes + 16, 0xff, 4); /* words: lines are as long as they are read */
	bytes[20] = 1;		     /* it has lines */
	bytes[24] = 1;		     /* number of its name in the pool */
	put(const_method, bytes, sizeof(bytes));
	return const_method >> 3 << JVM_CONST_SHIFT;
}

static void make_pool(void)
{
	layout.const_bytes = 48;
	layout.pool_bytes = 64;
	layout.at[JVM_METHOD_CONST] = layout.at[JVM_CONST_POOL] = 8;
	layout.at[JVM_CONST_BYTES] = layout.at[JVM_POOL_LENGTH] = 16;
	layout.at[JVM_CONST_FLAGS] = 20;
	layout.at[JVM_CONST_CODE_BYTES] = 22;
	layout.at[JVM_CONST_NAME] = 24;
	layout.at[JVM_POOL_HOLDER] = layout.at[JVM_KLASS_NAME] = 32;
	layout.at[JVM_SYMBOL_LENGTH] = 0;
	layout.at[JVM_SYMBOL_TEXT] = 2;
	put32(POOL + 16, 2);
	put64(POOL + 32, POOL + 128);
	put64(POOL + 128 + 32, POOL + 512);
	put64(POOL + 64 + 8, POOL + 512);
	put(POOL + 512, "\4\0turn", 6);
}

static void make_stub(void)
{
	layout.at[JVM_BLOB_NAME] = 8;
	put64(STUB + 8, STUB + 64);
	put(STUB + 64, "RuntimeStub", sizeof("RuntimeStub"));
}

/* At once 133 ms by generated_time.h, and 4 % of the time at first: here twice that. */
START_TEST(a_user_has_a_part_of_the_time)
{
	const uint64_t since = rp_monotonic_ns();
	uint64_t one, seen = 0, ms;

	make_stub();
	ck_assert_str_eq(see(1000, JVM_STUB, STUB, 0), "RuntimeStub");
	one = costs.ns;
	ck_assert_uint_ge(one, 4000);
	while (seen < 10000000 && strcmp(see(1000, JVM_STUB, STUB, ++seen), "[java]"))
		;
	ms = (rp_monotonic_ns() - since) / 1000000;
	ck_assert_uint_gt(seen * one, 1000000);
	ck_assert_uint_le(seen * one / 1000000, 2 * (134 + ms / 25));
	ck_assert_uint_eq(costs.late.said, 1);
	ck_assert_str_eq(see(1001, JVM_STUB, STUB, 1 << 23), "RuntimeStub");
	ck_assert_str_eq(see(0, JVM_STUB, STUB, 2 << 22), "RuntimeStub");
}
END_TEST

/* How many of n stacks with it had anything read. */
static unsigned int reads_of(unsigned int n, uint64_t second)
{
	unsigned int reads = 0;

	for (unsigned int i = 0; i < n; i++) {
		ck_assert_str_eq(see(1000, JVM_INTERPRETED, METHODS, second), "[java]");
		reads += costs.ns > 0;
	}
	return reads;
}

/* It is looked for again, but seldom; once it is there it is found. */
START_TEST(what_has_no_name)
{
	const uint64_t second = make_method(METHODS);
	unsigned int i = 0;

	ck_assert_uint_eq(reads_of(1000, second), 13);
	make_pool();
	while (i < 2000 && strcmp(see(1000, JVM_INTERPRETED, METHODS, second), "turn.turn"))
		i++;
	ck_assert_uint_lt(i, 1100);
}
END_TEST

static const char *see_method(pid_t pid, uint64_t at)
{
	costs.owed = (struct generated_time){ 0 };
	return see_in(pid, 0, JVM_INTERPRETED, at, make_method(at));
}

/* Each has 64 KB of lines. Who pays is the process's user, of all that have ended it is one. */
START_TEST(a_user_has_a_share_of_the_memory)
{
	const pid_t child = begin_process(), gone = begin_process();
	uint64_t at = METHODS, seen = 0;

	make_pool();
	end_process(gone);
	while (seen < 5000 && !strcmp(see_method(gone, at), "turn.turn")) {
		seen++;
		at += 512;
	}
	ck_assert_uint_eq(costs.ns, 0);
	ck_assert_uint_gt(seen, (100 << 20) / (66 << 10));
	ck_assert_uint_lt(seen, (128 << 20) / (64 << 10));
	ck_assert_str_eq(see_method(child, at), "turn.turn");
	ck_assert_str_eq(see_method(1, at + 512), "turn.turn");
	ck_assert_str_eq(see_method(gone, METHODS), "turn.turn");
	end_process(child);
}
END_TEST

/* Those of one that lives stay, and are counted. */
START_TEST(names_go_with_their_process)
{
	const pid_t child = begin_process(), other = begin_process();
	const uint64_t empty = room_of(share, getuid());
	uint64_t both, words[2];

	make_pool();
	words_of(JVM_INTERPRETED, METHODS, make_method(METHODS), words);
	ck_assert_str_eq(see_method(child, METHODS), "turn.turn");
	ck_assert_str_eq(see_method(other, METHODS), "turn.turn");
	both = empty - room_of(share, getuid());
	ck_assert_uint_gt(both, 2 * (64 << 10));
	end_and_settle(share, other);
	record_jvm_names_forget(names);
	ck_assert_str_eq(name_in(child, words), "turn.turn");
	ck_assert_str_eq(name_in(other, words), "[java]");
	ck_assert_uint_eq(2 * (empty - room_of(share, getuid())), both);
	end_process(child);
}
END_TEST

/* ---- lines */

enum { LINES = 64 << 10 };

/* One with 64 KB of lines: that of each bytecode is its number. */
static uint64_t make_lines(void)
{
	const uint64_t second = make_method(METHODS), const_method = METHODS + 256;

	put(const_method + 22, "\xff\xff", 2); /* bytes of code */
	memset((void *)(uintptr_t)(const_method + 48 + 0xffff), 1 << 3 | 1, LINES);
	return second;
}

static uint32_t line_in(pid_t pid, uint64_t second, uint32_t bci)
{
	const struct name_owner owner = { .pid = (uint32_t)pid };
	struct jvm_process_memory p = { memory, &layout };
	struct report_frame frame;
	uint64_t words[2];

	words_of(JVM_INTERPRETED, METHODS, second | bci, words);
	costs.owed = (struct generated_time){ 0 };
	ck_assert(!record_jvm_names_add(names, &p, &owner, words));
	ck_assert_uint_eq(record_jvm_names_find(names, &owner, words, &frame, 1), 1);
	ck_assert_str_eq(frame.name, "turn.turn");
	ck_assert_uint_eq(frame.symbol_offset, bci);
	return frame.line;
}

/* How many of n have one. */
static uint64_t count_lines(pid_t pid, uint64_t second, uint32_t n)
{
	uint64_t found = 0;

	for (uint32_t bci = 1; bci <= n; bci++) {
		const uint32_t line = line_in(pid, second, bci);

		ck_assert(!line || line == bci);
		found += line != 0;
	}
	return found;
}

/* At once 533 ms, and 16 % of the time at first, at 3 ns a byte; the rest has names alone. */
START_TEST(a_user_has_a_part_of_the_time_for_lines)
{
	const uint64_t since = rp_monotonic_ns();
	const pid_t child = begin_process(), gone = begin_process();
	uint64_t second, found, ms;

	make_pool();
	second = make_lines();
	end_process(gone);
	found = count_lines(gone, second, 20000);
	ms = (rp_monotonic_ns() - since) / 1000000;
	ck_assert_uint_gt(found * LINES * 3 / 1000000, 500);
	ck_assert_uint_le(found * LINES * 3 / 1000000, 540 + ms * 16 / 100);
	ck_assert_uint_eq(count_lines(child, second, 100), 100);
	ck_assert_uint_eq(count_lines(1, second, 100), 100);
	end_process(child);
}
END_TEST

/* A real table ends long before its method does. */
START_TEST(what_is_behind_lines_costs_nothing)
{
	uint64_t second;

	make_pool();
	second = make_lines();
	((uint8_t *)(uintptr_t)(METHODS + 256 + 48 + 0xffff))[100] = 0;
	for (uint32_t bci = 1; bci <= 20000; bci++)
		ck_assert_uint_eq(line_in(1, second, bci), bci < 100 ? bci : 100);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("jvm read");
	TCase *tests = tcase_create("jvm read");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, a_pc_is_found_in_tables_of_all_sizes);
	tcase_add_test(tests, most_of_a_table_is_not_read);
	tcase_add_test(tests, rows_in_no_order);
	tcase_add_test(tests, a_table_that_is_not_there);
	tcase_add_test(tests, a_user_has_a_part_of_the_time);
	tcase_add_test(tests, what_has_no_name);
	tcase_add_test(tests, a_user_has_a_share_of_the_memory);
	tcase_add_test(tests, names_go_with_their_process);
	tcase_add_test(tests, a_user_has_a_part_of_the_time_for_lines);
	tcase_add_test(tests, what_is_behind_lines_costs_nothing);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
