/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which files get a table in the maps: those that samples hit, where the whole machine is recorded;
 * no more of one user than leaves room for others; when all is full, those that are mapped, or come
 * again; and how they are made while the ring is read.
 */
#include "test_loader.h"

#include <poll.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "base/clock.h"
#include "programs/shared/unwind.h"
#include "record/generated_code.h"
#include "record/table_maker.h"
#include "record/tables.h"
#include "table_code.h"

enum { PROCS, RANGE, INDEX, RULES, ROWS, MAPS };
static const struct asm_map maps[MAPS] = {
	[PROCS] = UNWIND_MAP_PROCS(16), [RANGE] = UNWIND_MAP_MAPPINGS, [INDEX] = UNWIND_MAP_INDEX,
	[RULES] = UNWIND_MAP_RULES,	[ROWS] = UNWIND_MAP_ROWS,
};
static int fds[MAPS];

static void open_maps(void)
{
	capture_log();
	setenv("XDG_CACHE_HOME", "/dev/null", 1); /* tables are made, not found */
	ck_assert_int_eq(rp_maps_create(maps, MAPS, fds), 0);
}

/* ---- samples */

static uint32_t by_table(void)
{
	struct unwind_mappings *m = mmap(NULL, sizeof(*m), PROT_READ, MAP_SHARED, fds[RANGE], 0);
	struct unwind_proc proc = { 0 };
	uint32_t n = 0;

	ck_assert_ptr_ne(m, MAP_FAILED);
	rp_map_lookup(fds[PROCS], &(uint32_t){ (uint32_t)getpid() }, &proc);
	for (uint32_t i = 0; i < proc.count; i++)
		n += m->range[proc.first + i].kind == UNWIND_BY_TABLE;
	munmap(m, sizeof(*m));
	return n;
}

START_TEST(test_only_files_that_are_hit)
{
	struct record_tables_maps to;
	const uint64_t ours = (uintptr_t)by_table, libc = (uintptr_t)getppid;
	const uint32_t pid = (uint32_t)getpid();
	struct record_tables *feed;
	uint32_t none, some, more;

	open_maps();
	to = (struct record_tables_maps){ fds[PROCS], fds[RANGE],  fds[INDEX],	    fds[RULES],
					  fds[ROWS],  .files = -1, .only_hit = true };
	ck_assert_int_eq(record_tables_open(&feed, &to), 0);
	record_tables_publish(feed, pid);
	none = by_table(); /* the vdso */
	record_tables_lost(feed, pid, &ours, 1);
	record_tables_refresh(feed);
	some = by_table();
	ck_assert_uint_gt(some, none);
	record_tables_lost(feed, pid, &ours, 1); /* nothing new */
	record_tables_lost(feed, pid + 1, &libc, 1);
	record_tables_refresh(feed);
	ck_assert_uint_eq(by_table(), some);
	record_tables_lost(feed, pid, &libc, 1);
	record_tables_refresh(feed);
	more = by_table();
	if (getauxval(AT_BASE)) /* a static program is its own libc */
		ck_assert_uint_gt(more, some);
	record_tables_publish(feed, pid); /* those that are known stay */
	ck_assert_uint_eq(by_table(), more);
	/* An exec is of no interest before there is a sample. */
	record_tables_executed(feed, pid);
	ck_assert_uint_eq(record_tables_urgent(feed), UINT64_MAX);
	record_tables_close(feed);

	to.only_hit = false;
	ck_assert_int_eq(record_tables_open(&feed, &to), 0);
	record_tables_publish(feed, pid);
	if (getauxval(AT_BASE))
		ck_assert_uint_gt(by_table(), more);
	else
		ck_assert_uint_ge(by_table(), more);
	record_tables_close(feed);
	rp_fds_close(fds, MAPS);
}
END_TEST

/* ---- room */

/* A file of @uid's with so much code in one function: an index of so many pages, two rows. */
static int code_of_bytes(uid_t uid, uint64_t bytes)
{
	return code_of_functions(uid, 1, bytes, 0);
}

static int code_file(uid_t uid, uint64_t mb)
{
	return code_of_bytes(uid, mb << 20);
}

static bool has_table(struct record_table_store *s, uid_t uid, uint64_t mb)
{
	int fd = code_file(uid, mb);
	const struct stored_file *file = record_table_store_file(s, fd, false);
	struct stat st;
	bool has;

	ck_assert_ptr_nonnull(file);
	has = file->table.nparts > 0;
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_ptr_nonnull(record_table_store_known(s, &st));
	st.st_ctim.tv_nsec ^= 1; /* another's that has its number by now */
	ck_assert_ptr_null(record_table_store_known(s, &st));
	close(fd);
	return has;
}

static struct record_table_store *open_store(void)
{
	struct record_table_store *s;

	open_maps();
	ck_assert_int_eq(record_table_store_open(
				 &s, &(struct record_table_store_maps){ fds[INDEX], fds[RULES],
									fds[ROWS], -1 }),
			 0);
	return s;
}

START_TEST(test_owners)
{
	struct record_table_store *s = open_store();

	if (geteuid())
		return;
	ck_assert(has_table(s, 1000, 100));
	ck_assert(!has_table(s, 1000, 100)); /* 200 of 256 MB are too many */
	ck_assert_ptr_nonnull(strstr(log_text, "user 1000"));
	ck_assert(has_table(s, 1000, 60));
	ck_assert(!has_table(s, 1000, 60));
	ck_assert(!record_table_store_is_full(s));
	ck_assert(has_table(s, 0, 60)); /* there is room for others yet */
	ck_assert(has_table(s, 1001, 10));
	ck_assert(!record_table_store_is_full(s));
	record_table_store_close(s);
	rp_fds_close(fds, MAPS);
}
END_TEST

/* Reading is bounded too, of files that give no table above all. */
START_TEST(test_owners_time)
{
	struct record_table_store *s = open_store();
	int n = 0;

	if (geteuid())
		return;
	while (n < 100 && !strstr(log_text, "time for unwind tables"))
		has_table(s, 1000, n++ < 1 ? 180 : 100);
	ck_assert_int_gt(n, 10);
	ck_assert_int_lt(n, 20);
	ck_assert(has_table(s, 1001, 10));
	record_table_store_close(s);
	rp_fds_close(fds, MAPS);
}
END_TEST

/* What is no file: its user pays for it, it is found by its key, and those that nobody uses go. */
START_TEST(test_made)
{
	struct record_table_store *s = open_store();
	struct stat key = { .st_ino = 1, .st_size = 4096, .st_uid = 1000 };
	const struct stored_file *file;
	struct unwind_table *t;
	int fd = code_file(0, 88); /* two are too many for one user, and none for two */

	ck_assert_int_eq(unwind_table_build(&t, fd), 0);
	close(fd);
	ck_assert_ptr_null(record_table_store_known(s, &key));
	file = record_table_store_made(s, &key, t);
	ck_assert_ptr_nonnull(file);
	ck_assert_int_gt(file->table.nparts, 0);
	ck_assert(!record_table_store_waits(file));
	ck_assert_ptr_eq(record_table_store_known(s, &key), file);
	key.st_size++;
	ck_assert_ptr_null(record_table_store_known(s, &key));
	file = record_table_store_made(s, &key, t);
	ck_assert_int_eq(file->table.nparts, 0);
	ck_assert_ptr_nonnull(strstr(log_text, "user 1000"));
	key.st_ino++;
	key.st_uid = 1001;
	ck_assert_int_gt(record_table_store_made(s, &key, t)->table.nparts, 0);
	unwind_table_free(t);
	record_table_store_close(s);
	rp_fds_close(fds, MAPS);
}
END_TEST

START_TEST(test_forgotten)
{
	struct record_table_store *s = open_store();

	ck_assert(has_table(s, geteuid(), 100));
	ck_assert(!geteuid() || !has_table(s, geteuid(), 100));
	if (geteuid())
		return;
	ck_assert(has_table(s, 0, 100));
	ck_assert(!has_table(s, 0, 100));
	ck_assert(record_table_store_is_full(s));
	ck_assert_ptr_nonnull(strstr(log_text, "no room for more unwind tables"));
	record_table_store_forget(s);
	ck_assert(!record_table_store_is_full(s));
	ck_assert(has_table(s, 0, 100));
	ck_assert(has_table(s, 0, 100));
	record_table_store_close(s);
	rp_fds_close(fds, MAPS);
}
END_TEST

/* A child that the kernel alone knows has the ranges of its parent: they hold no longer. */
START_TEST(test_children_are_forgotten)
{
	const uint32_t pid = (uint32_t)getpid(), child = pid + 1;
	struct record_tables *feed;
	struct unwind_mappings *m;
	struct unwind_proc proc;

	if (geteuid())
		return;
	open_maps();
	ck_assert_int_eq(
		record_tables_open(&feed,
				   &(struct record_tables_maps){ fds[PROCS], fds[RANGE], fds[INDEX],
								 fds[RULES], fds[ROWS], -1, true }),
		0);
	m = mmap(NULL, sizeof(*m), PROT_READ, MAP_SHARED, fds[RANGE], 0);
	ck_assert_ptr_ne(m, MAP_FAILED);
	for (int i = 0; i < 3; i++) { /* the third finds no room */
		int fd = code_file(0, 100);
		char *code = mmap(NULL, 100 << 20, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		const uint64_t addr = (uintptr_t)code + (1 << 20);

		ck_assert_ptr_ne(code, MAP_FAILED);
		record_tables_lost(feed, pid, &addr, 1);
		record_tables_refresh(feed);
		close(fd);
	}
	ck_assert_ptr_nonnull(strstr(log_text, "no room for more unwind tables"));
	ck_assert_int_eq(rp_map_lookup(fds[PROCS], &pid, &proc), 0);
	ck_assert_uint_eq(m->range[proc.first].generation, proc.generation);
	ck_assert_int_eq(rp_map_update(fds[PROCS], &child, &proc, BPF_ANY), 0);
	record_tables_refresh(feed);
	ck_assert_int_lt(rp_map_lookup(fds[PROCS], &pid, &proc), 0);
	ck_assert_int_eq(rp_map_lookup(fds[PROCS], &child, &proc), 0);
	ck_assert_uint_gt(proc.count, 0);
	for (uint32_t i = 0; i < proc.count; i++)
		ck_assert_uint_ne(m->range[proc.first + i].generation, proc.generation);
	munmap(m, sizeof(*m));
	record_tables_close(feed);
	rp_fds_close(fds, MAPS);
}
END_TEST

/* ---- files that nobody maps any more */

/* Maps code of a new file of @uid's, and says that a sample was in it. */
static char *map_code(struct record_tables *feed, uid_t uid, size_t bytes)
{
	int fd = code_of_bytes(uid, bytes);
	char *code = mmap(NULL, bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0x1000);
	const uint64_t addr = (uintptr_t)code;

	ck_assert_ptr_ne(code, MAP_FAILED);
	close(fd);
	record_tables_lost(feed, (uint32_t)getpid(), &addr, 1);
	record_tables_refresh(feed);
	return code;
}

/* How the process is walked at @code. */
static uint32_t kind_at(const struct unwind_mappings *m, const char *code)
{
	struct unwind_proc proc;

	ck_assert_int_eq(rp_map_lookup(fds[PROCS], &(uint32_t){ (uint32_t)getpid() }, &proc), 0);
	for (uint32_t i = proc.first; i < proc.first + proc.count; i++) {
		ck_assert_uint_eq(m->range[i].generation, proc.generation);
		if (m->start[i] <= (uintptr_t)code && (uintptr_t)code < m->range[i].end)
			return m->range[i].kind;
	}
	return UINT32_MAX;
}

enum { SHORT_LIVED = 40, SHORT = 20 << 20 };

/* Files of one user come and go: each has a table, and those of the ones that stay hold. */
static void ck_assert_make_room(uid_t uid, bool only_hit)
{
	const struct record_tables_maps to = { fds[PROCS], fds[RANGE], fds[INDEX], fds[RULES],
					       fds[ROWS],  -1,	       only_hit };
	struct record_tables *feed;
	const struct unwind_mappings *m;
	bool waited = false;
	char *stays;

	ck_assert_int_eq(record_tables_open(&feed, &to), 0);
	m = mmap(NULL, sizeof(*m), PROT_READ, MAP_SHARED, fds[RANGE], 0);
	ck_assert_ptr_ne(m, MAP_FAILED);
	stays = map_code(feed, uid, SHORT);
	for (int i = 0; i < SHORT_LIVED && !waited; i++) {
		char *goes = map_code(feed, uid, SHORT);
		const uint64_t addr = (uintptr_t)goes;

		/* Room is paid for: on a busy machine the user has to wait for it, once here. */
		for (int n = 0; n < 60 && kind_at(m, goes) != UNWIND_BY_TABLE; n++) {
			sleep(1);
			waited = true;
			record_tables_lost(feed, (uint32_t)getpid(), &addr, 1);
			record_tables_refresh(feed);
		}
		ck_assert_uint_eq(kind_at(m, goes), UNWIND_BY_TABLE);
		ck_assert_uint_eq(kind_at(m, stays), UNWIND_BY_TABLE);
		munmap(goes, SHORT);
	}
	ck_assert(waited || !strstr(log_text, "room"));
	munmap(stays, SHORT);
	munmap((void *)(uintptr_t)m, sizeof(*m));
	record_tables_close(feed);
}

START_TEST(test_short_lived_files)
{
	if (geteuid())
		return;
	open_maps();
	ck_assert_make_room(0, true);
	ck_assert_make_room(0, false);
	ck_assert_make_room(1000, false); /* of its share */
	rp_fds_close(fds, MAPS);
}
END_TEST

/* ---- beside */

enum { MANY = TABLES_WAITING + 40, SMALL = 64 << 10 };

static void wait_made(struct record_tables *feed)
{
	struct pollfd made = { .fd = record_tables_fd(feed), .events = POLLIN };

	ck_assert_int_eq(poll(&made, 1, 30000), 1);
	record_tables_refresh(feed);
}

/* What is asked for is not there at once, but it comes, and the process is read again then. */
START_TEST(test_made_beside)
{
	struct record_tables_maps to;
	struct record_tables *feed;
	const struct unwind_mappings *m;
	char *code[MANY];

	open_maps();
	to = (struct record_tables_maps){ fds[PROCS], fds[RANGE],  fds[INDEX],	    fds[RULES],
					  fds[ROWS],  .files = -1, .only_hit = true };
	ck_assert_int_eq(record_tables_open(&feed, &to), 0);
	ck_assert_int_eq(record_tables_fd(feed), -1);
	m = mmap(NULL, sizeof(*m), PROT_READ, MAP_SHARED, fds[RANGE], 0);
	ck_assert_ptr_ne(m, MAP_FAILED);
	record_tables_make_beside(feed);
	ck_assert(!record_tables_are_busy(feed));
	code[0] = map_code(feed, geteuid(), SMALL);
	ck_assert_uint_eq(kind_at(m, code[0]), UINT32_MAX);
	ck_assert(record_tables_are_busy(feed));
	wait_made(feed);
	ck_assert_uint_eq(kind_at(m, code[0]), UNWIND_BY_TABLE);
	ck_assert(!record_tables_are_busy(feed));

	/* More than may wait: those that were turned away are asked for again. */
	for (int i = 1; i < MANY; i++)
		code[i] = map_code(feed, geteuid(), SMALL);
	while (record_tables_are_busy(feed))
		wait_made(feed);
	for (int i = 0; i < MANY; i++) {
		ck_assert_uint_eq(kind_at(m, code[i]), UNWIND_BY_TABLE);
		munmap(code[i], SMALL);
	}

	/* What is being made when all of it ends is nobody's. */
	code[0] = map_code(feed, geteuid(), SMALL);
	munmap(code[0], SMALL);
	munmap((void *)(uintptr_t)m, sizeof(*m));
	record_tables_close(feed);
	rp_fds_close(fds, MAPS);
}
END_TEST

/* ---- code in memory */

#ifdef __x86_64__
/* One without a frame: by how it begins it is none; by its instructions it is. */
static const uint8_t compiled[] = { 0x53, 0x31, 0xc0, 0x5b, 0xc3 }; /* push, xor, pop %rbx, ret */

static char *code_in_memory(size_t size)
{
	char *code = mmap(NULL, size, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(code, MAP_FAILED);
	memcpy(code + size - GENERATED_CODE_MAX, compiled, sizeof(compiled));
	return code;
}

/* Calls that lead to calls, each time others: as slow as it gets. */
static void put_slow(char *code, uint32_t number)
{
	for (size_t i = 0; i + 5 <= GENERATED_CODE_MAX; i += 5)
		memcpy(code + i, "\xe8\0\x10\0\0", 5);
	memcpy(code + GENERATED_CODE_MAX - sizeof(number), &number, sizeof(number));
}

/* Who makes code that takes long has a part of the time, and others have theirs. */
START_TEST(test_code_has_a_part_of_the_time)
{
	struct record_table_store *s = open_store();
	struct generated_time time = { 0 }, of_another = { 0 };
	char *code = code_in_memory(GENERATED_CODE_MAX), *slow = code_in_memory(GENERATED_CODE_MAX);
	const uint64_t start = (uintptr_t)code;
	const uint32_t pid = (uint32_t)getpid();
	bool waits = false;
	uint32_t n = 0;

	ck_assert_ptr_null(record_generated_code(s, pid, start, 4096, NULL, &waits));
	ck_assert_ptr_nonnull(record_generated_code(s, pid, start, 4096, &time, &waits));
	while (n < 10000 && !waits) {
		put_slow(slow, n++);
		record_generated_code(s, pid, (uintptr_t)slow, GENERATED_CODE_MAX, &time, &waits);
	}
	ck_assert_uint_gt(n, 1);
	ck_assert(waits);
	/* What is known takes none; another user has some. */
	ck_assert_ptr_nonnull(record_generated_code(s, pid, start, 4096, &time, &waits));
	waits = false;
	code[8] = 1;
	ck_assert_ptr_null(record_generated_code(s, pid, start, 4096, &time, &waits));
	ck_assert(waits);
	record_generated_spent(&of_another, geteuid() + 1, rp_monotonic_ns(), NS_PER_SECOND / 4);
	waits = false;
	ck_assert_ptr_nonnull(record_generated_code(s, pid, start, 4096, &of_another, &waits));
	ck_assert(!waits);
	munmap(code, GENERATED_CODE_MAX);
	munmap(slow, GENERATED_CODE_MAX);
	record_table_store_close(s);
	rp_fds_close(fds, MAPS);
}
END_TEST

/* Of a large mapping those parts are looked at that walks went astray from. */
START_TEST(test_parts_of_code)
{
	const size_t size = 10 * GENERATED_CODE_MAX;
	char *code = code_in_memory(size);
	const uint64_t part = (uintptr_t)code + size - GENERATED_CODE_MAX, astray[] = { part + 1 },
		       elsewhere[] = { (uintptr_t)code + 1 };
	const uint32_t pid = (uint32_t)getpid();
	struct record_tables_maps to;
	struct record_tables *feed;
	struct unwind_mappings *m;

	open_maps();
	to = (struct record_tables_maps){ fds[PROCS], fds[RANGE],  fds[INDEX],	    fds[RULES],
					  fds[ROWS],  .files = -1, .only_hit = true };
	ck_assert_int_eq(record_tables_open(&feed, &to), 0);
	m = mmap(NULL, sizeof(*m), PROT_READ, MAP_SHARED, fds[RANGE], 0);
	ck_assert_ptr_ne(m, MAP_FAILED);
	ck_assert(record_tables_astray(feed, pid, elsewhere, 1));
	ck_assert(!record_tables_astray(feed, pid, elsewhere, 1));
	record_tables_refresh(feed);
	ck_assert_uint_eq(kind_at(m, code), UNWIND_BY_FP);
	ck_assert_uint_eq(kind_at(m, (char *)(uintptr_t)part), UNWIND_BY_FP);
	ck_assert(record_tables_astray(feed, pid, astray, 1));
	record_tables_refresh(feed);
	ck_assert_uint_eq(kind_at(m, code), UNWIND_BY_FP);
	ck_assert_uint_eq(kind_at(m, (char *)(uintptr_t)(part - 4096)), UNWIND_BY_FP);
	ck_assert_uint_eq(kind_at(m, (char *)(uintptr_t)part), UNWIND_BY_TABLE);
	munmap((void *)(uintptr_t)m, sizeof(*m));
	munmap(code, size);
	record_tables_close(feed);
	rp_fds_close(fds, MAPS);
}
END_TEST
#endif

int main(void)
{
	Suite *suite = suite_create("tables");
	TCase *tc = tcase_create("kernel");

	tcase_add_test(tc, test_only_files_that_are_hit);
	tcase_add_test(tc, test_owners);
	tcase_add_test(tc, test_owners_time);
	tcase_add_test(tc, test_made);
	tcase_add_test(tc, test_forgotten);
	tcase_add_test(tc, test_children_are_forgotten);
	tcase_add_test(tc, test_short_lived_files);
	tcase_add_test(tc, test_made_beside);
#ifdef __x86_64__
	tcase_add_test(tc, test_code_has_a_part_of_the_time);
	tcase_add_test(tc, test_parts_of_code);
#endif
	tcase_set_timeout(tc, 600);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
