/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scripts of V8 whose source is read while its collector moves it, and what reading may cost
 * where a process says that there is very much.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "record/names.h"
#include "record/v8.h"
#include "symbolize/v8.h"

#include "name_users.h"

enum {
	BASE = 0x100000,
	OBJECT = 1,
	TYPE_STRING = 8, /* a sequence, a byte a character */
	TYPE_CONS = 9,
	TYPE_EXTERNAL = 10,
	TYPE_SHARED = 200,
	TYPE_SCRIPT = 201,
	TYPE_BYTECODE = 202,
	TYPE_BYTES = 203,
	/* where they lie */
	STRING_MAP = 0,
	SHARED_MAP = 64,
	SCRIPT_MAP = 128,
	SHARED = 192,
	SCRIPT = 256,
	NAME = 320,
	MOVED = 448,
	BYTECODE_MAP = 512,
	BYTES_MAP = 576,
	BYTECODE = 640,
	POSITIONS = 704,
	CONS_MAP = 768,
	EXTERNAL_MAP = 832,
	SOURCE = 4096, /* its page can be out of reach */
	SOURCE_BYTES = 64,
	TREE = 65536, /* pieces of a source, so far from each other */
	LEVELS = 17,
	MEMORY_END = (LEVELS + 1) * TREE,
	ENDLESS = 1 << 28, /* lines */
	FIRST = 63	   /* bytecode, as a frame counts */
};
static uint8_t memory[MEMORY_END];
static bool is_source_hidden;
static size_t reads_made;

static const struct sym_v8_layout layout = { .type_shared = TYPE_SHARED,
					     .type_script = TYPE_SCRIPT,
					     .type_bytecode = TYPE_BYTECODE,
					     .type_bytes = TYPE_BYTES,
					     .shared_data = 8,
					     .shared_name = 16,
					     .shared_script = 32,
					     .script_source = 8,
					     .script_name = 16,
					     .script_line_offset = 24,
					     .bytecode_positions = 24,
					     .bytecode_data = 64 };

static bool read_it(void *ctx, uint64_t address, void *out, size_t n)
{
	const uint64_t at = address - BASE;

	(void)ctx;
	reads_made++;
	if (at >= ENDLESS) {
		memset(out, '\n', n);
		return true;
	}
	if (at > MEMORY_END || n > MEMORY_END - at ||
	    (is_source_hidden && at >= SOURCE && at < SOURCE + SOURCE_BYTES))
		return false;
	memcpy(out, memory + at, n);
	return true;
}

static const struct sym_v8_memory reads = { .read = read_it };

static void put(size_t at, uint64_t word)
{
	memcpy(memory + at, &word, sizeof(word));
}

static uint64_t pointer(size_t at)
{
	return BASE + at + OBJECT;
}

static void put_map(size_t at, uint16_t type)
{
	put(at, pointer(at));
	memcpy(memory + at + 12, &type, sizeof(type));
}

static void put_text(size_t at, const char *text)
{
	put(at, pointer(STRING_MAP));
	put(at + 8, (uint64_t)strlen(text) << 32);
	memcpy(memory + at + 16, text, strlen(text));
}

static void setup(void)
{
	memset(memory, 0, sizeof(memory));
	is_source_hidden = false;
	reads_made = 0;
	put_map(STRING_MAP, TYPE_STRING);
	put_map(CONS_MAP, TYPE_CONS);
	put_map(EXTERNAL_MAP, TYPE_EXTERNAL);
	put_map(SHARED_MAP, TYPE_SHARED);
	put_map(SCRIPT_MAP, TYPE_SCRIPT);
	put_map(BYTECODE_MAP, TYPE_BYTECODE);
	put_map(BYTES_MAP, TYPE_BYTES);
	put(BYTECODE, pointer(BYTECODE_MAP));
	put(BYTECODE + layout.bytecode_positions, pointer(POSITIONS));
	put(POSITIONS, pointer(BYTES_MAP));
	put(POSITIONS + 8, 2ull << 32);
	put(POSITIONS + 16, 2 | 24 << 8); /* the first bytecode: character 5 */
	put(SHARED, pointer(SHARED_MAP));
	put(SHARED + layout.shared_data, pointer(BYTECODE));
	put(SHARED + layout.shared_name, pointer(NAME));
	put(SHARED + layout.shared_script, pointer(SCRIPT));
	put(SCRIPT, pointer(SCRIPT_MAP));
	put(SCRIPT + layout.script_source, pointer(SOURCE));
	put(SCRIPT + layout.script_name, pointer(NAME));
	put_text(NAME, "a.js");
	put_text(SOURCE, "one\ntwo\nthree\n");
}

/* The old place has a note where the new one is. */
static void move_source(void)
{
	memcpy(memory + MOVED, memory + SOURCE, SOURCE_BYTES);
	put(SOURCE, BASE + MOVED);
}

START_TEST(lines_of_a_source_that_was_moved)
{
	struct sym_v8_lines lines;

	move_source();
	ck_assert_int_eq(sym_v8_type(&reads, pointer(SOURCE)), TYPE_STRING);
	ck_assert(sym_v8_lines(&reads, &layout, pointer(SCRIPT), &lines));
	ck_assert_uint_eq(lines.n, 4);
	ck_assert_uint_eq(sym_v8_line(&lines, 5), 2);
	free(lines.ends);

	put(SOURCE, BASE + SOURCE); /* to itself */
	ck_assert_int_eq(sym_v8_type(&reads, pointer(SOURCE)), -1);
	put(SOURCE, 0);
	ck_assert_int_eq(sym_v8_type(&reads, pointer(SOURCE)), -1);
	put(SOURCE, BASE + MEMORY_END);
	ck_assert_int_eq(sym_v8_type(&reads, pointer(SOURCE)), -1);
}
END_TEST

static void words_of(size_t offset, uint64_t words[2])
{
	uint32_t check;

	ck_assert(sym_v8_check(&reads, pointer(SHARED), &check));
	words[0] = MANAGED_WORD | pointer(SHARED) |
		   (uint64_t)(check & ((1 << V8_CHECK_LOW_BITS) - 1)) << V8_CHECK_LOW_SHIFT;
	words[1] = MANAGED_WORD | (uint64_t)(check >> V8_CHECK_LOW_BITS) << V8_CHECK_HIGH_SHIFT |
		   offset;
}

/* What could not be read when the function was seen first is read when it is seen elsewhere. */
START_TEST(a_source_out_of_reach_is_tried_again)
{
	const struct name_owner owner = { .pid = 1 };
	struct report_frame frame;
	struct name_share *share;
	struct v8_names *names;
	uint64_t words[2], elsewhere[2];

	words_of(FIRST, words);
	words_of(FIRST + 1, elsewhere);
	ck_assert_int_eq(record_name_share_open(&share), 0);
	ck_assert_int_eq(record_v8_names_open(&names, share), 0);
	is_source_hidden = true;
	ck_assert_int_eq(record_v8_names_add(names, &layout, &reads, &owner, words), 0);
	ck_assert_uint_eq(record_v8_names_find(names, &owner, words, &frame, 1), 1);
	ck_assert_str_eq(frame.name, "a.js");
	ck_assert_uint_eq(frame.line, 0);
	is_source_hidden = false;
	record_v8_names_begin(names); /* of the next stack */
	ck_assert_int_eq(record_v8_names_add(names, &layout, &reads, &owner, elsewhere), 0);
	for (int i = 0; i < 2; i++) {
		ck_assert_uint_eq(
			record_v8_names_find(names, &owner, i ? elsewhere : words, &frame, 1), 1);
		ck_assert_str_eq(frame.file, "a.js");
		ck_assert_uint_eq(frame.line, 2);
	}
	record_v8_names_close(names);
	record_name_share_close(share);
}
END_TEST

START_TEST(names_of_a_user_have_an_end)
{
	const struct name_owner owner = { .pid = 1 };
	struct report_frame frame;
	struct name_share *share;
	struct v8_names *names;
	uint64_t words[2], more[2];

	words_of(FIRST, words);
	words_of(FIRST + 1, more);
	ck_assert_int_eq(record_name_share_open(&share), 0);
	ck_assert_int_eq(record_v8_names_open(&names, share), 0);
	ck_assert_int_eq(record_v8_names_add(names, &layout, &reads, &owner, words), 0);
	fill_share(share, 0, 256 * MB);
	ck_assert_int_eq(record_v8_names_add(names, &layout, &reads, &owner, more), 0);
	record_v8_names_find(names, &owner, words, &frame, 1);
	ck_assert_uint_eq(frame.line, 2);
	record_v8_names_find(names, &owner, more, &frame, 1);
	ck_assert_str_eq(frame.name, "a.js"); /* the function is known from before, */
	ck_assert_uint_eq(frame.line, 0);     /*   but not that place of it */
	record_v8_names_close(names);
	record_name_share_close(share);
}
END_TEST

static const char *name_in(const struct v8_names *names, pid_t pid, const uint64_t words[2])
{
	const struct name_owner owner = { .pid = (uint32_t)pid };
	struct report_frame frame;

	ck_assert_uint_eq(record_v8_names_find(names, &owner, words, &frame, 1), 1);
	return frame.name;
}

static void see(struct v8_names *names, pid_t pid, const uint64_t words[2])
{
	const struct name_owner owner = { .pid = (uint32_t)pid };

	ck_assert_int_eq(record_v8_names_add(names, &layout, &reads, &owner, words), 0);
	ck_assert_str_eq(name_in(names, pid, words), "a.js");
}

/* Those of one that lives stay, and are counted. */
START_TEST(names_go_with_their_process)
{
	const pid_t child = begin_process(), other = begin_process();
	struct name_share *share;
	struct v8_names *names;
	uint64_t words[2], empty, both;

	words_of(FIRST, words);
	ck_assert_int_eq(record_name_share_open(&share), 0);
	ck_assert_int_eq(record_v8_names_open(&names, share), 0);
	empty = room_of(share, getuid());
	see(names, child, words);
	see(names, other, words);
	both = empty - room_of(share, getuid());
	ck_assert_uint_gt(both, 0);
	end_and_settle(share, other);
	record_v8_names_forget(names);
	ck_assert_str_eq(name_in(names, child, words), "a.js");
	ck_assert_str_eq(name_in(names, other, words), "[js]");
	ck_assert_uint_eq(2 * (empty - room_of(share, getuid())), both);
	end_process(child);
	record_v8_names_close(names);
	record_name_share_close(share);
}
END_TEST

/* ---- what reading costs */

/* So many lines that the table of them would be larger than the source. */
START_TEST(lines_have_an_end)
{
	struct sym_v8_lines lines;

	put(SOURCE, pointer(EXTERNAL_MAP));
	put(SOURCE + 24, BASE + ENDLESS);
	put(SOURCE + 8, 3ull << 20 << 32);
	ck_assert(sym_v8_lines(&reads, &layout, pointer(SCRIPT), &lines));
	ck_assert_uint_eq(lines.n, (3 << 20) + 1);
	free(lines.ends);
	put(SOURCE + 8, 5ull << 20 << 32);
	ck_assert(!sym_v8_lines(&reads, &layout, pointer(SCRIPT), &lines));
}
END_TEST

/* A source of very many pieces, all of which are two times the same. */
static void make_tree(void)
{
	put_text(TREE, "x");
	for (int i = 2; i <= LEVELS; i++) {
		put((size_t)i * TREE, pointer(CONS_MAP));
		put((size_t)i * TREE + 8, 1ull << (i - 1) << 32);
		put((size_t)i * TREE + 16, pointer((size_t)(i - 1) * TREE));
		put((size_t)i * TREE + 24, pointer((size_t)(i - 1) * TREE));
	}
	put(SCRIPT + layout.script_source, pointer(LEVELS * TREE));
}

/* How many of n stacks, each with another place or not, had anything read. */
static unsigned int reads_of(struct v8_names *names, uint32_t pid, unsigned int n, bool elsewhere)
{
	const struct name_owner owner = { .pid = pid };
	uint64_t words[2];
	unsigned int read = 0;

	for (unsigned int i = 0; i < n; i++) {
		size_t before;

		words_of(FIRST + (elsewhere ? i : 0), words);
		before = reads_made;
		record_v8_names_begin(names);
		ck_assert_int_eq(record_v8_names_add(names, &layout, &reads, &owner, words), 0);
		read += reads_made > before;
	}
	return read;
}

/* How often memory is read for a place. */
static size_t reads_for(struct v8_names *names, size_t offset)
{
	const struct name_owner owner = { .pid = 1 };
	uint64_t words[2];
	size_t before;

	words_of(offset, words);
	before = reads_made;
	ck_assert_int_eq(record_v8_names_add(names, &layout, &reads, &owner, words), 0);
	return reads_made - before;
}

/* Most of a stack's places lie near each other. */
START_TEST(a_stack_reads_a_page_once)
{
	struct name_share *share;
	struct v8_names *names;

	ck_assert_int_eq(record_name_share_open(&share), 0);
	ck_assert_int_eq(record_v8_names_open(&names, share), 0);
	record_v8_names_begin(names);
	ck_assert_uint_gt(reads_for(names, FIRST), 0);
	ck_assert_uint_eq(reads_for(names, FIRST + 1), 0);
	record_v8_names_begin(names);
	ck_assert_uint_eq(reads_for(names, FIRST + 2), 1);
	record_v8_names_close(names);
	record_name_share_close(share);
}
END_TEST

START_TEST(a_user_has_a_part_of_the_time)
{
	struct name_share *share;
	struct v8_names *names;

	make_tree();
	ck_assert_int_eq(record_name_share_open(&share), 0);
	ck_assert_int_eq(record_v8_names_open(&names, share), 0);
	ck_assert_uint_eq(reads_of(names, 1, 1, true), 1);
	ck_assert_uint_gt(reads_made, 10000);
	ck_assert_uint_lt(reads_made, 100000); /* one place has an end */
	ck_assert_uint_lt(reads_of(names, 1, 12, true), 9);
	ck_assert_uint_gt(reads_of(names, UINT32_MAX - 5, 1, true), 0); /* another user's */
	record_v8_names_close(names);
	record_name_share_close(share);
}
END_TEST

/* It is looked for again, but seldom; once it is there it is found. */
START_TEST(what_has_no_name)
{
	const struct name_owner owner = { .pid = 1 };
	struct report_frame frame = { .name = "" };
	struct name_share *share;
	struct v8_names *names;
	uint64_t words[2];

	words_of(FIRST, words);
	put(SHARED, pointer(SCRIPT_MAP));
	ck_assert_int_eq(record_name_share_open(&share), 0);
	ck_assert_int_eq(record_v8_names_open(&names, share), 0);
	ck_assert_uint_eq(reads_of(names, 1, 1000, false), 13);
	put(SHARED, pointer(SHARED_MAP));
	reads_of(names, 1, 1100, false);
	record_v8_names_find(names, &owner, words, &frame, 1);
	ck_assert_str_eq(frame.name, "a.js");
	ck_assert_uint_eq(frame.line, 2);
	record_v8_names_close(names);
	record_name_share_close(share);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sym v8");
	TCase *tests = tcase_create("v8");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tests, setup, NULL);
	tcase_add_test(tests, lines_of_a_source_that_was_moved);
	tcase_add_test(tests, a_source_out_of_reach_is_tried_again);
	tcase_add_test(tests, names_of_a_user_have_an_end);
	tcase_add_test(tests, names_go_with_their_process);
	tcase_add_test(tests, lines_have_an_end);
	tcase_add_test(tests, a_stack_reads_a_page_once);
	tcase_add_test(tests, a_user_has_a_part_of_the_time);
	tcase_add_test(tests, what_has_no_name);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
