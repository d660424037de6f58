/* SPDX-License-Identifier: BSD-2-Clause */
/* Names that processes send: memory for them has an end for each user, and goes with processes. */
#include <check.h>
#include <linux/sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "record/names.h"
#include "record/python.h"
#include "record/script.h"

#include "name_users.h"

enum { ASCII = 1 << 2 | 1 << 5 | 1 << 6, GENERATION = 7 };

static struct name_share *share;
static struct python_code code;
static pid_t child;

static void setup(void)
{
	ck_assert_int_eq(record_name_share_open(&share), 0);
	code = (struct python_code){ .generation = GENERATION,
				     .version = 0x030c,
				     .file_state = ASCII,
				     .name_state = ASCII,
				     .file_bytes = 4,
				     .name_bytes = 1,
				     .first_line = 5,
				     .file = "a.py",
				     .name = "f" };
	child = begin_process();
}

static void teardown(void)
{
	end_process(child);
	record_name_share_close(share);
}

static void add(pid_t pid, uint64_t address)
{
	code.pid_tgid = (uint64_t)pid << 32;
	code.code = address;
	ck_assert_int_eq(record_python_names_add(share, &code), 0);
}

static struct report_frame find(pid_t pid, uint64_t address)
{
	const struct name_owner owner = { .pid = (uint32_t)pid, .generation = GENERATION };
	const uint64_t words[2] = { address, PYTHON_POSITION_ENTERED };
	struct report_frame frame;

	record_python_names_find(share, &owner, words, &frame);
	return frame;
}

static bool is_named(pid_t pid, uint64_t address)
{
	const struct report_frame frame = find(pid, address);

	ck_assert_str_eq(frame.name, frame.file ? "f" : "[python]");
	return frame.file && frame.line == 5;
}

/* Of @n functions with a line table of 16 KB each, different ones. */
static uint32_t count_named(pid_t pid, uint32_t n)
{
	uint32_t named = 0;

	code.lines_bytes = PYTHON_LINES_BYTES;
	for (uint32_t i = 1; i <= n; i++) {
		memcpy(code.lines, &i, sizeof(i));
		memcpy(code.lines + sizeof(i), &pid, sizeof(pid));
		add(pid, i);
		named += is_named(pid, i);
	}
	code.lines_bytes = 0;
	return named;
}

/* Whoever is not known to be root has 128 MB, and leaves half of that to the next. */
START_TEST(one_user_does_not_take_all)
{
	const pid_t gone = begin_process();
	uint32_t named;

	end_process(gone);
	named = count_named(gone, 10000);
	ck_assert(named > 7900 && named < 8192);
	ck_assert(is_named(gone, 1) && is_named(gone, 7000) && !is_named(gone, 10000));
	add(child, 1);
	ck_assert(is_named(child, 1));
	named = count_named(child, 20000);
	ck_assert(getuid() ? named > 3900 && named < 4096 : named > 15800 && named < 16384);
}
END_TEST

/* 200 processes of one program with so many functions are no matter. */
START_TEST(equal_tables_are_kept_once)
{
	code.lines_bytes = PYTHON_LINES_BYTES;
	for (uint32_t i = 1; i <= 400000; i++)
		add(child, i);
	ck_assert(is_named(child, 1) && is_named(child, 400000));
}
END_TEST

static uint32_t line_at(pid_t pid, uint64_t position)
{
	const struct name_owner owner = { .pid = (uint32_t)pid, .generation = GENERATION };
	const uint64_t words[2] = { 1, position };
	struct report_frame frame;

	record_python_names_find(share, &owner, words, &frame);
	ck_assert_str_eq(frame.name, "f");
	return frame.line;
}

/* Those of n positions in a table of 16 KB, which are found as long as there is time. */
static uint64_t count_lines(pid_t pid, uint64_t n)
{
	uint64_t found = 0;

	add(pid, 1);
	for (uint64_t i = 0; i < n; i++) {
		const uint32_t line = line_at(pid, i);

		ck_assert(!line || line == 6 + i / 8);
		found += line != 0;
	}
	return found;
}

/* At once 533 ms, and 16 % of the time at first, at 3 ns a byte; each is looked up once. */
START_TEST(a_user_has_a_part_of_the_time_for_lines)
{
	const uint64_t since = rp_monotonic_ns();
	const pid_t gone = begin_process();
	uint64_t found, ms;

	code.lines_bytes = PYTHON_LINES_BYTES;
	for (size_t i = 0; i < PYTHON_LINES_BYTES; i += 2) {
		code.lines[i] = 0x80 | 13 << 3 | 7; /* eight units, */
		code.lines[i + 1] = 2;		    /*   a line further */
	}
	end_process(gone);
	found = count_lines(gone, 40000);
	ms = (rp_monotonic_ns() - since) / 1000000;
	ck_assert_uint_gt(found * PYTHON_LINES_BYTES * 3 / 1000000, 500);
	ck_assert_uint_le(found * PYTHON_LINES_BYTES * 3 / 1000000, 540 + ms * 16 / 100);
	ck_assert_uint_eq(count_lines(child, 1000), 1000);
	for (int i = 0; i < 100; i++)
		ck_assert_uint_eq(count_lines(child, 1000), 1000);
}
END_TEST

START_TEST(names_go_with_their_process)
{
	const pid_t other = begin_process();
	struct report_frame frame;

	code.lines_bytes = 2;
	code.lines[0] = 0xf8 | 0x0b << 3; /* a line further */
	code.lines[1] = 2;
	add(child, 1);
	add(other, 1);
	ck_assert(!record_name_share_settle(share)); /* it is little */
	fill_share(share, RECORD_UID_UNKNOWN, 64 * MB);
	ck_assert(!record_name_share_settle(share));
	end_process(other);
	ck_assert(!record_name_share_settle(share)); /* there may be stacks of it */
	ck_assert(is_named(other, 1));
	ck_assert(record_name_share_settle(share));
	ck_assert(!is_named(other, 1));
	frame = find(child, 1);
	ck_assert_str_eq(frame.name, "f");
	ck_assert_str_eq(frame.file, "a.py");
	ck_assert_uint_eq(frame.line, 5);
	ck_assert(!record_name_share_settle(share)); /* it is little again */
	ck_assert(has_room(share, RECORD_UID_UNKNOWN, 127 * MB));
}
END_TEST

/* What has executed something else has other functions. */
START_TEST(names_go_with_their_program)
{
	const pid_t other = begin_process();

	add(child, 1);
	code.generation++;
	add(child, 2);
	add(other, 2);
	end_process(other);
	fill_share(share, 0, 64 * MB);
	record_name_share_settle(share);
	ck_assert(record_name_share_settle(share));
	ck_assert(!is_named(child, 1));
	code.generation--;
	add(child, 3);
	ck_assert(is_named(child, 3));
}
END_TEST

static const char *name_of_script(pid_t pid, uint64_t function)
{
	const struct name_owner owner = { .pid = (uint32_t)pid, .generation = GENERATION };
	const uint64_t words[2] = { function, 3 };
	struct report_frame frame;

	record_script_names_find(share, &owner, MANAGED_PHP, words, &frame);
	ck_assert_uint_eq(frame.line, frame.file ? 3 : 0);
	return frame.name;
}

static void add_script(pid_t pid, uint64_t address)
{
	struct script_function f = { .pid_tgid = (uint64_t)pid << 32,
				     .generation = GENERATION,
				     .function = address,
				     .language = SCRIPT_PHP,
				     .kind = SCRIPT_NAMED,
				     .bytes = { [SCRIPT_FILE] = 5, [SCRIPT_NAME] = 1 } };

	memcpy(f.text[SCRIPT_FILE], "a.php", 5);
	memcpy(f.text[SCRIPT_NAME], "g", 1);
	ck_assert_int_eq(record_script_names_add(share, &f), 0);
}

START_TEST(those_of_scripts_too)
{
	const pid_t other = begin_process();

	add_script(other, 1);
	add_script(child, 1);
	ck_assert_str_eq(name_of_script(other, 1), "g");
	end_process(other);
	fill_share(share, RECORD_UID_UNKNOWN, 128 * MB);
	ck_assert(!record_name_share_settle(share));
	ck_assert(record_name_share_settle(share));
	ck_assert_str_eq(name_of_script(other, 1), "[php]");
	ck_assert_str_eq(name_of_script(child, 1), "g");
	fill_share(share, getuid(), 256 * MB);
	add_script(child, 2);
	ck_assert_str_eq(name_of_script(child, 1), "g");
	ck_assert_str_eq(name_of_script(child, 2), "[php]");
}
END_TEST

/* The next process with a number that nobody has. 0: the kernel does not let us choose. */
static pid_t begin_as(pid_t pid)
{
	struct clone_args args = { .exit_signal = SIGCHLD,
				   .set_tid = (uintptr_t)&pid,
				   .set_tid_size = 1 };
	const long got = syscall(SYS_clone3, &args, sizeof(args));

	if (!got)
		for (;;)
			pause();
	return got < 0 ? 0 : pid;
}

/* That its number is in use again does not make it live. */
START_TEST(another_process_with_its_number)
{
	pid_t other = begin_process(), next;

	add(other, 1);
	fill_share(share, RECORD_UID_UNKNOWN, 64 * MB);
	end_process(other);
	usleep(30000); /* procfs counts ticks of 10 ms */
	next = begin_as(other);
	if (next) {
		ck_assert(!record_name_share_settle(share));
		ck_assert(is_named(other, 1));
		ck_assert(record_name_share_settle(share));
		ck_assert(!is_named(other, 1));
		end_process(next);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("names of processes");
	TCase *tc = tcase_create("share");
	SRunner *r = srunner_create(s);
	int failed;

	suite_add_tcase(s, tc);
	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, one_user_does_not_take_all);
	tcase_add_test(tc, equal_tables_are_kept_once);
	tcase_add_test(tc, a_user_has_a_part_of_the_time_for_lines);
	tcase_add_test(tc, names_go_with_their_process);
	tcase_add_test(tc, names_go_with_their_program);
	tcase_add_test(tc, those_of_scripts_too);
	tcase_add_test(tc, another_process_with_its_number);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
