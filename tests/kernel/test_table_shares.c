/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Nobody has all of the unwinder's maps: of the ranges of processes, and of the room for tables,
 * those of root's files too that only a user's processes map.
 */
#include "test_loader.h"

#include <sys/prctl.h>
#include <sys/stat.h>

#include "base/id_set.h"
#include "programs/shared/unwind.h"
#include "record/tables.h"
#include "record/whose.h"
#include "table_code.h"

enum { PROCS, RANGE, INDEX, RULES, ROWS, BY_FILE, MAPS };
static const struct asm_map maps[MAPS] = {
	[PROCS] = UNWIND_MAP_PROCS(512), [RANGE] = UNWIND_MAP_MAPPINGS,
	[INDEX] = UNWIND_MAP_INDEX,	 [RULES] = UNWIND_MAP_RULES,
	[ROWS] = UNWIND_MAP_ROWS,	 [BY_FILE] = UNWIND_MAP_FILES,
};
static int fds[MAPS];
static struct record_whose whose;
static struct record_tables *feed;

static void open_feed(void)
{
	struct record_tables_maps to;

	capture_log();
	setenv("XDG_CACHE_HOME", "/dev/null", 1); /* tables are made, not found */
	ck_assert_int_eq(rp_maps_create(maps, MAPS, fds), 0);
	to =
		(struct record_tables_maps){ fds[PROCS],       fds[RANGE],     fds[INDEX],
					     fds[RULES],       fds[ROWS],      .files = -1,
					     .only_hit = true, .whose = &whose };
	ck_assert_int_eq(record_tables_open(&feed, &to), 0);
}

static void close_feed(void)
{
	record_tables_close(feed);
	rp_fds_close(fds, MAPS);
}

/*
 * Whose a process is: not asked, as a user who serves a FUSE file system now would keep us from
 * what processes of other users than root have mapped.
 */
static struct {
	uint32_t pid;
	uid_t uid;
} users[512];
static uint32_t nusers;

static void know_users(void)
{
	for (uint32_t i = 0; i < nusers; i++)
		record_whose_know(&whose, users[i].pid, users[i].uid);
}

/* A child with what is mapped here now. */
static uint32_t process_of(uid_t uid)
{
	const int pid = fork();

	ck_assert_int_ge(pid, 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	ck_assert_uint_lt(nusers, 512);
	users[nusers].pid = (uint32_t)pid;
	users[nusers++].uid = uid;
	return (uint32_t)pid;
}

static void end(uint32_t pid)
{
	kill((pid_t)pid, SIGKILL);
	waitpid((pid_t)pid, NULL, 0);
	record_tables_ended(feed, pid);
}

static uint32_t ranges_of(uint32_t pid)
{
	struct unwind_proc proc = { 0 };

	rp_map_lookup(fds[PROCS], &pid, &proc);
	return proc.count;
}

static void hit(uint32_t pid, const char *code)
{
	const uint64_t addr = (uintptr_t)code;

	know_users();
	record_tables_lost(feed, pid, &addr, 1);
	record_tables_refresh(feed);
}

static char *map_file(int fd)
{
	struct stat st;
	char *code;

	ck_assert_int_eq(fstat(fd, &st), 0);
	code = mmap(NULL, (size_t)(st.st_size - TABLE_CODE_AT), PROT_READ | PROT_EXEC, MAP_PRIVATE,
		    fd, TABLE_CODE_AT);
	ck_assert_ptr_ne(code, MAP_FAILED);
	return code;
}

/* ---- ranges */

enum {
	PARTS = TABLE_CODE_MOST - 1,
	TIMES = 16,	/* that a process maps them: 2,000 ranges */
	PROCESSES = 64, /* whose ranges were all that there are */
	FREE = 10,	/* for the first eighth nobody is asked to pay */
};

static uint32_t publish(uid_t uid)
{
	const uint32_t pid = process_of(uid);

	know_users();
	record_tables_publish(feed, pid);
	return pid;
}

/* A feed, and processes that are begun from now on have 2,000 ranges; the code that was hit. */
static char *open_with_ranges(void)
{
	char *first;
	int fd;

	open_feed();
	fd = code_of_functions(0, PARTS, 4096, 65ULL << 20);
	first = map_file(fd);
	hit((uint32_t)getpid(), first);
	for (int i = 1; i < TIMES; i++)
		map_file(fd);
	return first;
}

START_TEST(test_ranges)
{
	uint32_t pid[PROCESSES], has = 0, root, other;
	char *first;

	if (geteuid())
		return;
	first = open_with_ranges();
	record_tables_publish(feed, (uint32_t)getpid());
	ck_assert_uint_gt(ranges_of((uint32_t)getpid()), PARTS * 2);
	for (int i = 0; i < PROCESSES; i++) {
		pid[i] = publish(1000);
		has += ranges_of(pid[i]) > PARTS * TIMES;
	}
	ck_assert_uint_gt(has,
			  PROCESSES / 2); /* where nobody else is they are one user's, mostly */
	ck_assert_uint_lt(has, PROCESSES);
	ck_assert_logged("user 1000 has taken its share of the room for mappings of processes");
	ck_assert_not_logged("no room for the mappings");
	root = publish(0);
	other = publish(1001);
	ck_assert_uint_gt(ranges_of(root), PARTS * TIMES);
	ck_assert_uint_gt(ranges_of(other), PARTS * TIMES);

	/* So that those of its processes have some that are busy now: the others' stay. */
	hit(pid[PROCESSES - 1], first);
	for (int i = FREE; i < PROCESSES - 1; i++)
		ck_assert_uint_eq(ranges_of(pid[i]), 0);
	ck_assert_uint_gt(ranges_of(pid[PROCESSES - 1]), PARTS * TIMES);
	ck_assert_uint_gt(ranges_of(root), PARTS * TIMES);
	ck_assert_uint_gt(ranges_of(other), PARTS * TIMES);
	for (int i = 0; i < PROCESSES; i++)
		end(pid[i]);
	end(root);
	end(other);
	close_feed();
}
END_TEST

/* Of one that has most of its share: each gives up its ranges for those that it has then. */
START_TEST(test_ranges_are_published_again)
{
	enum { SOME = PROCESSES * 5 / 8 };
	uint32_t pid[SOME];

	if (geteuid())
		return;
	open_with_ranges();
	for (int i = 0; i < SOME; i++)
		pid[i] = publish(1000);
	for (int i = 0; i < SOME; i++) {
		know_users();
		record_tables_publish(feed, pid[i]);
	}
	ck_assert_not_logged("has taken its share");
	ck_assert_not_logged("no room for the mappings");
	for (int i = 0; i < SOME; i++) {
		ck_assert_uint_gt(ranges_of(pid[i]), PARTS * TIMES);
		end(pid[i]);
	}
	close_feed();
}
END_TEST

/* What large processes leave small ones can have, and the other way round. */
START_TEST(test_ranges_are_given_back)
{
	char *code[TIMES];
	uint64_t bytes;
	int fd;

	if (geteuid())
		return;
	open_feed();
	fd = code_of_functions(0, PARTS, 4096, 65ULL << 20);
	bytes = (PARTS - 1) * (65ULL << 20) + 4096;
	for (int i = 0; i < TIMES; i++)
		code[i] = map_file(fd);
	hit((uint32_t)getpid(), code[0]);
	for (int n = TIMES; n > 1; n = n * 2 / 5) {
		uint32_t pid[6 * PROCESSES], all = 0, i;

		for (i = 0; i < 6 * PROCESSES && all < UNWIND_MAPPINGS / 2; i++) {
			pid[i] = publish(1000);
			ck_assert_uint_gt(ranges_of(pid[i]), PARTS * (uint32_t)n);
			all += ranges_of(pid[i]);
		}
		while (i--)
			end(pid[i]);
		usleep(150 * 1000);
		for (int last = n * 2 / 5; n > 1 && last < n; last++)
			munmap(code[last], bytes);
	}
	ck_assert_not_logged("share of the room");
	close_feed();
}
END_TEST

/* ---- tables */

enum { MB = 1 << 20 };

static uint32_t by_table(uint32_t pid, const char *code)
{
	struct unwind_mappings *m = mmap(NULL, sizeof(*m), PROT_READ, MAP_SHARED, fds[RANGE], 0);
	struct unwind_proc proc = { 0 };
	uint32_t kind = UNWIND_BY_FP;

	ck_assert_ptr_ne(m, MAP_FAILED);
	rp_map_lookup(fds[PROCS], &pid, &proc);
	for (uint32_t i = proc.first; i < proc.first + proc.count; i++)
		if (m->start[i] <= (uintptr_t)code && (uintptr_t)code < m->range[i].end)
			kind = m->range[i].kind;
	munmap(m, sizeof(*m));
	return kind == UNWIND_BY_TABLE;
}

/* Large programs of root's, that a user runs: there is room for those of others. */
START_TEST(test_files_of_root)
{
	char *code[4], *small, *of_root;
	uint32_t pid, other, self = (uint32_t)getpid();

	if (geteuid())
		return;
	open_feed();
	small = map_file(code_of_functions(0, 1, 20 * MB, 0));
	of_root = map_file(code_of_functions(0, 1, 30 * MB, 0));
	other = process_of(1001);
	for (int i = 0; i < 4; i++)
		code[i] = map_file(code_of_functions(0, 1, 60 * MB, 0));
	pid = process_of(1000);
	for (int i = 0; i < 4; i++)
		munmap(code[i], 60 * MB);
	for (int i = 0; i < 4; i++) {
		hit(pid, code[i]);
		ck_assert_uint_eq(by_table(pid, code[i]), i < 3);
	}
	ck_assert_logged("user 1000 has taken its share of the room for unwind tables");
	/* Those that are not hit any more make room; and those of its share, no others. */
	hit(other, small);
	ck_assert(by_table(other, small));
	ck_assert_uint_eq(ranges_of(pid), 0);
	hit(pid, code[3]);
	ck_assert(by_table(pid, code[3]));
	hit(self, of_root);
	ck_assert(by_table(self, of_root));
	ck_assert(by_table(other, small));
	ck_assert_not_logged("no room for");
	ck_assert_not_logged("user 1001");
	end(pid);
	end(other);
	close_feed();
}
END_TEST

static struct record_table_store *s;
static uint32_t used[2 * UNWIND_FILES], nused, asked;

/* Whether @uid gets a table of a file of @owner's. */
static bool has_table(uid_t uid, uid_t owner, int fd)
{
	const struct stored_file *file;
	struct stat st;

	ck_assert_int_eq(fstat(fd, &st), 0);
	if (st.st_uid != owner) /* else it would change */
		ck_assert_int_eq(fchown(fd, owner, (gid_t)-1), 0);
	record_table_store_asked_by(s, uid);
	file = record_table_store_file(s, fd, false);
	ck_assert_ptr_nonnull(file);
	return file->table.nparts;
}

/* Two are too many for one user, but not one of each of two. */
static int large(void)
{
	return code_of_functions(0, 1, 88 * MB, 0);
}

static void open_store(record_table_users *fn, struct id_set *over)
{
	struct record_table_store_maps to;

	open_feed();
	to = (struct record_table_store_maps){ fds[INDEX], fds[RULES], fds[ROWS], fds[BY_FILE] };
	ck_assert_int_eq(record_table_store_open(&s, &to), 0);
	record_table_store_used_by(s, fn, NULL, over);
	nused = 0;
}

static void close_store(void)
{
	record_table_store_close(s);
	close_feed();
}

START_TEST(test_who_pays)
{
	struct id_set over = { 0 };
	int fd[3];

	if (geteuid())
		return;
	open_store(NULL, &over);
	for (int i = 0; i < 3; i++)
		fd[i] = large();
	ck_assert(has_table(1000, 0, fd[0]));
	ck_assert(!has_table(1000, 0, fd[1]));
	ck_assert(rp_id_set_has(&over, 1000));
	/* Where one has no room another one may. */
	ck_assert(has_table(1001, 0, fd[1]));
	ck_assert(!has_table(1001, 0, fd[2]));
	ck_assert(rp_id_set_has(&over, 1001));
	record_table_store_forget(s);
	rp_id_set_free(&over);

	/* What root asks for too nobody pays for. */
	ck_assert(has_table(1000, 0, fd[0]));
	ck_assert(has_table(0, 0, fd[0]));
	ck_assert(has_table(1000, 0, fd[1]));
	ck_assert(has_table(1000, 0, fd[0]));
	record_table_store_forget(s);

	/* Of a user's own files it is the user. */
	ck_assert(has_table(0, 1000, fd[0]));
	ck_assert(!has_table(1001, 1000, fd[1]));
	ck_assert(rp_id_set_has(&over, 1000));
	close_store();
	rp_id_set_free(&over);
}
END_TEST

/* ---- room is made at a price: everybody waits for walks to end */

static int mark_used(void *ctx, struct record_table_store *store)
{
	(void)ctx;
	asked++;
	for (uint32_t i = 0; i < nused; i++)
		record_table_store_mark(store, used[i]);
	return 0;
}

static const struct stored_file *uses_file(uid_t uid, int fd)
{
	const struct stored_file *file;

	record_table_store_asked_by(s, uid);
	file = record_table_store_file(s, fd, false);
	close(fd);
	ck_assert_ptr_nonnull(file);
	for (uint32_t i = 0; i < file->table.nparts; i++) {
		ck_assert_uint_lt(nused, sizeof(used) / sizeof(used[0]));
		used[nused++] = file->table.parts[i].index;
	}
	return file;
}

/* Whether @uid gets a table of a file of its own, of so much code; that is in use then. */
static bool uses(uid_t uid, uint64_t bytes)
{
	return uses_file(uid, code_of_functions(uid, 1, bytes, 0))->table.nparts;
}

START_TEST(test_no_room_in_vain)
{
	enum { FILES = 200, MOST_ASKED = 60, OF_ROOT = 20 };
	struct id_set over = { 0 };
	uint32_t small = 0;

	if (geteuid())
		return;
	open_store(mark_used, &over);
	ck_assert(uses(1000, 160 * MB));
	while (uses(1000, MB))
		ck_assert_uint_lt(++small, 16);
	asked = 0;
	for (int i = 0; i < FILES; i++)
		ck_assert(!uses(1000, MB));
	ck_assert_uint_gt(asked, 0);
	ck_assert_uint_lt(asked, MOST_ASKED);
	ck_assert_logged("user 1000 has taken its share of the room for unwind tables");
	/* Others have theirs, root as much as there is. */
	ck_assert(uses(1001, 10 * MB));
	ck_assert(uses(0, 40 * MB));
	asked = 0;
	for (int i = 0; i < OF_ROOT; i++)
		ck_assert(!uses(0, 100 * MB));
	ck_assert_uint_ge(asked, OF_ROOT);
	ck_assert(record_table_store_is_full(s));
	close_store();
	rp_id_set_free(&over);
}
END_TEST

/* Also those without a table, which a user may make as many of as it likes. */
START_TEST(test_files_have_an_end)
{
	enum { MANY = 5 * UNWIND_FILES };
	struct stat key = { .st_size = 4096, .st_uid = 1000 };
	struct id_set over = { 0 };
	uint32_t known = 0;

	if (geteuid())
		return;
	open_store(mark_used, &over);
	for (key.st_ino = 1; key.st_ino <= MANY; key.st_ino++)
		ck_assert_ptr_nonnull(record_table_store_made(s, &key, NULL));
	for (key.st_ino = 1; key.st_ino <= MANY; key.st_ino++)
		known += record_table_store_known(s, &key) != NULL;
	ck_assert_uint_le(known, 4 * UNWIND_FILES);
	ck_assert_uint_gt(known, UNWIND_FILES);
	key.st_ino = MANY;
	ck_assert_ptr_nonnull(record_table_store_known(s, &key));
	close_store();
	rp_id_set_free(&over);
}
END_TEST

/* ---- keys in the map of files */

enum { MANY_LOADS = 65536 / sizeof(Elf64_Phdr) }; /* as many as the kernel takes */

/* Of one function, loaded as that many pieces of code. */
static int with_loads(uid_t uid)
{
	enum { HEADERS = 2 * MB };
	const int fd = code_of_functions(uid, 1, 4096, 0);
	Elf64_Phdr ph[MANY_LOADS];
	Elf64_Ehdr eh;

	ck_assert_int_eq(pread(fd, &eh, sizeof(eh), 0), sizeof(eh));
	eh.e_phoff = HEADERS;
	eh.e_phnum = MANY_LOADS;
	for (uint32_t i = 0; i < MANY_LOADS; i++)
		ph[i] = (Elf64_Phdr){ .p_type = PT_LOAD,
				      .p_flags = PF_R | PF_X,
				      .p_offset = TABLE_CODE_AT + i * 4096,
				      .p_vaddr = TABLE_CODE_AT + i * 4096,
				      .p_filesz = 4096 };
	ck_assert_int_eq(pwrite(fd, &eh, sizeof(eh), 0), sizeof(eh));
	ck_assert_int_eq(pwrite(fd, ph, sizeof(ph), HEADERS), sizeof(ph));
	return fd;
}

/* Whether new processes are walked by a new file of @uid's, which is in use then if it says so. */
static bool is_led_to(uid_t uid, bool is_in_use, struct stat *key)
{
	const int fd = code_of_functions(uid, 1, 4096, 0);
	const uint32_t had = nused;
	const struct stored_file *file;

	ck_assert_int_eq(fstat(fd, key), 0);
	file = uses_file(uid, fd);
	ck_assert_uint_eq(file->table.nparts, 1);
	if (!is_in_use)
		nused = had;
	return file->nkeys;
}

/* Files of others keep their tables, and get keys, whatever one user does. */
START_TEST(test_keys)
{
	enum { HOSTILE = 8, MOST_ASKED = 60, FEW = 20 };
	struct stat before[2], lacks, key;
	struct id_set over = { 0 };
	uint32_t n = 0;

	if (geteuid())
		return;
	open_store(mark_used, &over);
	ck_assert(is_led_to(0, false, &before[0]));
	ck_assert(is_led_to(1001, false, &before[1]));
	for (int i = 0; i < HOSTILE; i++)
		uses_file(1000, with_loads(1000));
	asked = 0;
	while (n < UNWIND_FILES && is_led_to(1000, true, &lacks))
		n++;
	ck_assert_uint_gt(n, UNWIND_FILES / 2); /* where others want few, they are one user's */
	for (int i = 0; i < 4 * FEW; i++)
		ck_assert(!is_led_to(1000, true, &key));
	ck_assert_uint_lt(asked, MOST_ASKED);
	ck_assert_logged("user 1000 has taken its share of the files that new processes");
	for (int i = 0; i < FEW; i++) {
		ck_assert(is_led_to(1001, true, &key));
		ck_assert(is_led_to(0, true, &key));
	}
	for (int i = 0; i < 2; i++)
		ck_assert_uint_eq(record_table_store_known(s, &before[i])->table.nparts, 1);
	ck_assert_not_logged("user 1001");
	ck_assert_uint_eq(rp_id_set_count(&over), 0); /* as nobody else lacks any */

	/* Once some that it uses no more have gone, it is led to those that had no room. */
	ck_assert_uint_eq(record_table_store_known(s, &lacks)->nkeys, 0);
	used[0] = record_table_store_known(s, &lacks)->table.parts[0].index;
	nused = 1;
	for (n = 0; n < 100 && !is_led_to(1000, false, &key); n++)
		usleep(100 * 1000); /* until it has paid for having asked in vain */
	ck_assert_uint_eq(record_table_store_known(s, &lacks)->nkeys, 1);
	close_store();
	rp_id_set_free(&over);
}
END_TEST

/* Nobody pays for root's: room is looked for once a second. */
START_TEST(test_keys_of_root)
{
	enum { MORE = 50 };
	struct id_set over = { 0 };
	struct stat key;

	if (geteuid())
		return;
	open_store(mark_used, &over);
	for (int i = 0; i < UNWIND_FILES; i++)
		ck_assert(is_led_to(0, true, &key));
	asked = 0;
	for (int i = 0; i < MORE; i++)
		ck_assert(!is_led_to(0, true, &key));
	ck_assert_uint_ge(asked, 1);
	ck_assert_uint_lt(asked, MORE / 2);
	nused = 0;
	sleep(1);
	ck_assert(is_led_to(0, true, &key));
	close_store();
	rp_id_set_free(&over);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shares of tables");
	TCase *tc = tcase_create("kernel");

	tcase_add_test(tc, test_ranges);
	tcase_add_test(tc, test_ranges_are_published_again);
	tcase_add_test(tc, test_ranges_are_given_back);
	tcase_add_test(tc, test_files_of_root);
	tcase_add_test(tc, test_who_pays);
	tcase_add_test(tc, test_no_room_in_vain);
	tcase_add_test(tc, test_files_have_an_end);
	tcase_add_test(tc, test_keys);
	tcase_add_test(tc, test_keys_of_root);
	tcase_set_timeout(tc, 60);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
