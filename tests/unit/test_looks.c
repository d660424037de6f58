/* SPDX-License-Identifier: BSD-2-Clause */
/* What looking at processes may cost, and how many files are held open for it. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "record/context_wait.h"
#include "record/looks.h"
#include "symbolize/file.h"
#include "symbolize/jits.h"

enum { GONE = UINT32_MAX - 5, MB = 1 << 20 }; /* of no user that is known, so not of root's */

static struct record_looks l;

static void setup(void)
{
	record_looks_init(&l);
}

static void teardown(void)
{
	record_looks_free(&l);
}

static void burn(uint64_t ns)
{
	const uint64_t end = rp_thread_cpu_ns() + ns;

	while (rp_thread_cpu_ns() < end)
		;
}

START_TEST(what_is_cheap_is_free)
{
	for (int i = 0; i < 3000; i++) {
		ck_assert(record_look_begin(&l, GONE));
		burn(100000);
		record_look_end(&l);
	}
}
END_TEST

/* One that was paid for makes no other one dear. */
START_TEST(what_is_cheap_stays_free)
{
	ck_assert(record_look_begin(&l, GONE));
	burn(20000000);
	record_look_end(&l);
	for (int i = 0; i < 2000; i++) {
		ck_assert(record_look_begin(&l, GONE));
		burn(100000);
		record_look_end(&l);
	}
}
END_TEST

START_TEST(another_budget)
{
	ck_assert(record_look_begin(&l, GONE));
	burn(200000000);
	record_look_without(200000000);
	record_look_end(&l);
	ck_assert(record_look_begin(&l, GONE));
}
END_TEST

START_TEST(who_names_it_answers_for_it)
{
	l.is_free = true;
	ck_assert(record_look_begin(&l, GONE));
	burn(200000000);
	ck_assert(record_look_goes_on(&l, 100 * MB));
	record_look_end(&l);
	ck_assert(record_look_begin(&l, GONE));
}
END_TEST

START_TEST(who_takes_long_waits)
{
	ck_assert(record_look_begin(&l, GONE));
	burn(20000000);
	ck_assert(record_look_goes_on(&l, 0));
	burn(150000000);
	ck_assert(!record_look_goes_on(&l, 0));
	record_look_end(&l);
	ck_assert(!record_look_begin(&l, GONE - 1)); /* the same user */
	if (getuid())
		return;
	ck_assert(record_look_begin(&l, (uint32_t)getpid()));
	burn(150000000);
	ck_assert(record_look_goes_on(&l, 100 * MB));
	record_look_end(&l);
}
END_TEST

START_TEST(a_look_is_paid_at_its_end)
{
	ck_assert(record_look_begin(&l, GONE));
	burn(200000000);
	record_look_end(&l);
	ck_assert(!record_look_begin(&l, GONE));
}
END_TEST

START_TEST(mappings_are_memory)
{
	ck_assert(record_look_begin(&l, GONE));
	ck_assert(record_look_goes_on(&l, 20 * MB));
	ck_assert(!record_look_goes_on(&l, 20 * MB));
	ck_assert(record_look_goes_on(&l, 4 * MB));
	record_looks_settle(&l);
	ck_assert(record_look_goes_on(&l, 20 * MB));
	record_look_end(&l);
}
END_TEST

/* ---- files */

static struct sym_strings strings;
static struct sym_files fs;

/* A process of that user, which ends with this one's descriptor of its pipe. */
static uint32_t process_of(uid_t uid, uint32_t mappings)
{
	int ends[2], ready[2];
	char byte;
	pid_t pid;

	ck_assert(!pipe(ends) && !pipe(ready));
	pid = fork();
	if (!pid) {
		close(ends[1]);
		for (uint32_t i = 0; i < mappings; i++) /* neighbours that are alike would be one */
			mmap(NULL, 4096, i % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			     -1, 0);
		if (setuid(uid) || write(ready[1], "", 1) != 1)
			_exit(1);
		_exit(read(ends[0], &byte, 1) != 0);
	}
	close(ends[0]);
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return (uint32_t)pid;
}

/* How many of so many are held. */
static uint32_t hold(uint32_t pid, uint32_t n, uint64_t inode)
{
	uint32_t held = 0, number;

	for (uint32_t i = 0; i < n; i++) {
		const struct sym_file key = { .path = "/a/file", .inode = inode + i };

		ck_assert_int_eq(sym_files_add(&fs, 0, &key, &number), 0);
		sym_file_hold(&fs, &fs.items[number], pid, open("/dev/null", O_RDONLY));
		held += fs.items[number].fd >= 0;
	}
	return held;
}

START_TEST(files_that_are_held)
{
	struct rlimit limit;
	uint32_t one, other;

	if (getuid()) {
		printf("skip: processes of other users need root\n");
		return;
	}
	one = process_of(1000, 0);
	other = process_of(1001, 0);
	ck_assert(!getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = 128;
	ck_assert(!setrlimit(RLIMIT_NOFILE, &limit));
	sym_files_init(&fs, &strings, "/proc");
	ck_assert_uint_eq(hold(one, 60, 1000), 32); /* of 64 */
	ck_assert_uint_eq(hold(other, 60, 2000), 16);
	ck_assert_uint_eq(hold((uint32_t)getpid(), 10, 3000), 10);
	for (int i = 0; i < 20; i++)
		ck_assert_int_eq(close(sym_file_release(&fs, &fs.items[i])), 0);
	ck_assert_int_eq(fs.items[0].fd, -1);
	ck_assert_int_eq(sym_file_release(&fs, &fs.items[0]), -1);
	ck_assert_uint_eq(hold(one, 60, 4000), 12); /* 24 of the 48 that the other has left */
	sym_files_free(&fs);
	sym_strings_free(&strings);
}
END_TEST

/* A process of that user with a perf map. */
static const char *map_of(uint32_t pid)
{
	static char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%u.map", pid);
	return path;
}

static uint32_t generator_of(uid_t uid)
{
	const uint32_t pid = process_of(uid, 0);
	int fd;

	unlink(map_of(pid)); /* of one that had that number before */
	fd = open(map_of(pid), O_CREAT | O_WRONLY | O_EXCL, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert(!fchown(fd, uid, uid));
	dprintf(fd, "1000 100 first\n");
	close(fd);
	return pid;
}

static const char *name_at(struct sym_jits *js, uint32_t pid, uint64_t addr)
{
	struct sym_frame frame = { 0 };

	return sym_jits_name(js, pid, 0, 0, addr, &frame) ? frame.name : NULL;
}

START_TEST(perf_maps_that_are_held)
{
	enum { MAPS = 40 };
	struct sym_jits js = { .proc = "/proc", .files = &fs };
	uint32_t held = 0, pid[MAPS];
	struct rlimit limit;

	if (getuid()) {
		printf("skip: processes of other users need root\n");
		return;
	}
	ck_assert(!getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = 128;
	ck_assert(!setrlimit(RLIMIT_NOFILE, &limit));
	sym_files_init(&fs, &strings, "/proc");
	for (int i = 0; i < MAPS; i++) {
		pid[i] = generator_of(1000);
		ck_assert_int_eq(sym_jits_keep(&js, pid[i]), 0);
	}
	for (size_t i = 0; i < js.count; i++)
		held += js.items[i].jit != NULL;
	for (int i = 0; i < MAPS; i++)
		unlink(map_of(pid[i]));
	ck_assert_uint_eq(held, 32); /* half of the 64 that are for users */
	ck_assert_uint_eq(fs.held, 32);
	sym_jits_free(&js);
	ck_assert_uint_eq(fs.held, 0);
	sym_files_free(&fs);
	sym_strings_free(&strings);
}
END_TEST

/* As if what else it has had taken so long, and as if that were so large. */
START_TEST(perf_maps_are_paid_for)
{
	struct sym_jits js = { .proc = "/proc", .files = &fs };
	uint32_t one, other;
	FILE *f;

	if (getuid()) {
		printf("skip: processes of other users need root\n");
		return;
	}
	sym_files_init(&fs, &strings, "/proc");
	one = generator_of(1000);
	other = generator_of(1001);
	ck_assert_pstr_eq(name_at(&js, one, 0x1010), "first");
	ck_assert_uint_gt(fs.held_bytes, 0);
	sym_held_has_read(&fs, 1000, 5 * NS_PER_SECOND, 0);
	f = fopen(map_of(one), "a");
	ck_assert_ptr_nonnull(f);
	fprintf(f, "2000 100 second\n");
	fclose(f);
	ck_assert_pstr_eq(name_at(&js, one, 0x2010), NULL);
	ck_assert_pstr_eq(name_at(&js, one, 0x1010), "first");
	ck_assert_pstr_eq(name_at(&js, other, 0x1010), "first");
	sym_held_rest(&fs);
	ck_assert_pstr_eq(name_at(&js, one, 0x2010), "second");
	sym_held_has_read(&fs, 1000, 0, (int64_t)(rp_memory_most() / 2));
	ck_assert_pstr_eq(name_at(&js, one, 0x1010), NULL);
	ck_assert_pstr_eq(name_at(&js, other, 0x1010), "first");
	sym_held_has_read(&fs, 1000, 0, -(int64_t)(rp_memory_most() / 2));
	ck_assert_pstr_eq(name_at(&js, one, 0x1010), "first");
	unlink(map_of(one));
	unlink(map_of(other));
	sym_jits_free(&js);
	ck_assert_uint_eq(fs.held_bytes, 0);
	sym_files_free(&fs);
	sym_strings_free(&strings);
}
END_TEST

START_TEST(looks_for_contexts)
{
	struct context_wait w = { 0 };
	struct id_set changed = { 0 };

	if (getuid()) {
		printf("skip: processes of other users need root\n");
		return;
	}
	record_context_wait_begin(&w, process_of(1000, 60000));
	usleep(110000);
	record_context_wait_due(&w, &l, &changed);
	ck_assert_uint_gt(l.owed.all_paid_ns, 0);
	rp_id_set_free(&changed);
	record_context_wait_free(&w);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("looks");
	TCase *tc = tcase_create("looks");
	SRunner *r = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, tc);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, what_is_cheap_is_free);
	tcase_add_test(tc, what_is_cheap_stays_free);
	tcase_add_test(tc, another_budget);
	tcase_add_test(tc, who_names_it_answers_for_it);
	tcase_add_test(tc, who_takes_long_waits);
	tcase_add_test(tc, a_look_is_paid_at_its_end);
	tcase_add_test(tc, mappings_are_memory);
	tcase_add_test(tc, files_that_are_held);
	tcase_add_test(tc, perf_maps_that_are_held);
	tcase_add_test(tc, perf_maps_are_paid_for);
	tcase_add_test(tc, looks_for_contexts);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
