/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that nothing maps any more, and what was read of them: gone, and nothing else is. */
#include <fcntl.h>

#include "symbolize/file.h"
#include "symbolize/history.h"
#include "sym_user.h"

enum { PROGRAMS = 3000 };

static enum sym_wanted nothing(void *ctx, uint32_t pid)
{
	(void)ctx;
	(void)pid;
	return SYM_NOT_WANTED;
}

/* ---- the files themselves */

static struct sym_strings strings;
static struct sym_files files;
static struct sym_history history;

static uint32_t add(const char *path)
{
	const struct sym_file key = { .path = path, .dev = 1, .inode = strlen(path) };
	uint32_t number;

	ck_assert_int_eq(sym_files_add(&files, 0, &key, &number), 0);
	return number;
}

/* Every hundredth of the programs is mapped when all is over. */
static void run_programs(void)
{
	char path[64];

	for (uint32_t i = 0; i < PROGRAMS; i++) {
		snprintf(path, sizeof(path), "/build/program%u", i);
		const struct sym_mapping m = {
			.time = i, .start = 0x1000, .end = 0x2000, .file = add(path), .pid = i + 1
		};

		ck_assert_int_eq(sym_history_comm(&history, i, i + 1, i + 1, path + 7), 0);
		ck_assert_int_eq(sym_history_mmap(&history, &m), 0);
		if (i % 100)
			ck_assert_int_eq(sym_history_exit(&history, i, i + 1), 0);
	}
	ck_assert_int_eq(sym_history_prune(&history, PROGRAMS, nothing, NULL), 0);
}

static void ck_left(uint32_t i, bool is_left)
{
	struct sym_mapping m;
	struct sym_life life;
	char path[64];
	int err = sym_history_find(&history, i + 1, PROGRAMS, 0x1000, &m, &life);

	ck_assert_int_eq(err, is_left ? 0 : -ENOENT);
	snprintf(path, sizeof(path), "/build/program%u", i);
	if (err)
		return;
	ck_assert_str_eq(files.items[m.file].path, path);
	ck_assert_uint_eq(add(path), m.file);
	ck_assert_str_eq(sym_history_comm_at(&history, i + 1, PROGRAMS), path + 7);
}

START_TEST(test_files)
{
	sym_files_init(&files, &strings, "/proc");
	sym_history_init(&history, &strings);
	run_programs();
	ck_assert_uint_eq(files.count, PROGRAMS);
	ck_assert_int_eq(sym_files_forget(&files, &history), 0);
	ck_assert_uint_eq(files.count, PROGRAMS / 100);
	ck_assert_uint_eq(strings.count, 2 * PROGRAMS / 100);
	for (uint32_t i = 0; i < PROGRAMS; i++)
		ck_left(i, i % 100 == 0);
	/* One that comes back is another number, and found by it. */
	ck_assert_uint_eq(add("/build/program1"), PROGRAMS / 100);
	ck_assert_uint_eq(add("/build/program1"), PROGRAMS / 100);
	/* Few are not worth it. */
	ck_assert_int_eq(sym_files_forget(&files, &history), 0);
	ck_assert_uint_eq(files.count, PROGRAMS / 100 + 1);
	sym_files_free(&files);
	sym_history_free(&history);
	sym_strings_free(&strings);
}
END_TEST

/* The name of a process may be that of a file, and there may be no file yet. */
START_TEST(test_first_file)
{
	uint32_t number;

	sym_files_init(&files, &strings, "/proc");
	ck_assert_pstr_ne(sym_strings_add(&strings, "[anon]", 6), NULL);
	ck_assert_int_eq(sym_files_add(&files, 1, &(struct sym_file){ .path = "//anon" }, &number),
			 0);
	ck_assert_uint_eq(number, 0);
	sym_files_free(&files);
	sym_strings_free(&strings);
}
END_TEST

/* ---- with what was read of them */

static unsigned int open_files(void)
{
	unsigned int n = 0;

	for (int fd = 0; fd < 4096; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* Programs that are built, run and deleted beside one that stays. */
START_TEST(test_names)
{
	const unsigned int before = open_files();
	const char *stays = in_dir("stays");
	char path[600];

	write_elf(stays, one, NULL);
	map(1, 1, 0x1000, 0x2000, 0x1000, stays);
	ck_assert_pstr_eq(look(1, 1, 0x1004).name, "one");
	for (uint32_t i = 0; i < 700; i++) {
		snprintf(path, sizeof(path), "%s/program%u", dir, i);
		if (i < 50) /* the others were never sampled */
			write_elf(path, one, NULL);
		map(10, 10 + i, 0x1000, 0x2000, 0x1000, path);
		ck_assert_pstr_eq(look(10 + i, 10, 0x1004).name, i < 50 ? "one" : NULL);
		ck_assert_int_eq(sym_user_exit(user, 20, 10 + i), 0);
		ck_assert_int_eq(unlink(path), i < 50 ? 0 : -1);
	}
	ck_assert_uint_eq(open_files() - before, 51);
	ck_assert_int_eq(sym_user_prune(user, 30, nothing, NULL), 0);
	sym_user_unuse(user);
	ck_assert_uint_eq(open_files() - before, 1);
	ck_assert_pstr_eq(look(1, 40, 0x1004).name, "one");
	ck_module(1, 40, 0x1004, stays);
	ck_module(10, 15, 0x1004, NULL);
}
END_TEST

/* A compiler that makes names without end: those of one time are not there the next. */
START_TEST(test_generated)
{
	char path[600];
	FILE *f;

	run("mkdir -p %s/proc/7/root/tmp", dir);
	run("printf 'Name:\\tx\\nUid:\\t%u\\t%u\\t0\\t0\\nNSpid:\\t7\\n' >%s/proc/7/status",
	    getuid(), geteuid(), dir);
	snprintf(path, sizeof(path), "%s/proc/7/stat", dir);
	f = fopen(path, "w");
	fprintf(f, "7 (x) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0\n");
	fclose(f);
	snprintf(path, sizeof(path), "%s/proc/7/root/tmp/perf-7.map", dir);
	f = fopen(path, "w");
	fprintf(f, "1000 1000 generated\n");
	fclose(f);
	map(10, 7, 0x1000, 0x2000, 0, "//anon");
	for (int i = 0; i < 3; i++) {
		ck_assert_pstr_eq(look(7, 5000000000 * (uint64_t)(i + 1), 0x1004).name,
				  "generated");
		sym_user_unuse(user);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("forgotten files");
	TCase *t = tcase_create("forgotten files");

	if (!mkdtemp(dir))
		return EXIT_FAILURE;
	tcase_add_test(t, test_files);
	tcase_add_test(t, test_first_file);
	tcase_add_test(t, test_names);
	tcase_add_test(t, test_generated);
	return run_all(s, t);
}
