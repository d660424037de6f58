/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that look like interpreters, with very many symbols: who maps them pays for the look. */
#include "test_loader.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "programs/shared/unwind.h"
#include "record/looks.h"
#include "record/name_share.h"
#include "record/python.h"
#include "record/tables.h"
#include "../unit/sym_elf.h"

enum { PROCS, RANGE, INDEX, RULES, ROWS, MAPS };
static const struct asm_map maps[MAPS] = {
	[PROCS] = UNWIND_MAP_PROCS(16), [RANGE] = UNWIND_MAP_MAPPINGS, [INDEX] = UNWIND_MAP_INDEX,
	[RULES] = UNWIND_MAP_RULES,	[ROWS] = UNWIND_MAP_ROWS,
};
static int fds[MAPS];

enum { MANY_FILES = 4, MANY_SYMBOLS = 450000 };
static struct elf_file many;

/* A process of a user with such files: what it has mapped is in order of the addresses. */
static pid_t map_many(const char *dir)
{
	const Elf64_Sym function = { .st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC),
				     .st_shndx = S_TEXT,
				     .st_size = 64 };
	static const struct elf_symbol last = { "f", 0x1000, 8, STT_FUNC, STB_LOCAL, 0 };
	char path[128];
	pid_t child;

	for (int i = 0; i < MANY_FILES; i++) {
		int fd;

		snprintf(path, sizeof(path), "%s/python%d", dir, i);
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
		elf_build(&many, &last, 1, NULL, 0, NULL);
		ck_assert_int_ge(elf_with_many(&many, fd, MANY_SYMBOLS, &function), 0);
		ck_assert_ptr_ne(mmap((char *)(uintptr_t)0x10000000 + 0x10000 * i, 4096,
				      PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd,
				      0x1000),
				 MAP_FAILED);
		close(fd);
	}
	child = fork();
	if (!child) {
		if (setgid(4242) || setuid(4242))
			_exit(1);
		for (;;)
			pause();
	}
	while (record_share_user((uint32_t)child) != 4242)
		usleep(1000);
	return child;
}

/* How many mappings of the process are known then. */
static uint32_t read_many(pid_t child, struct record_looks *looks)
{
	const int layouts = memfd_create("layouts", MFD_CLOEXEC);
	struct record_tables_maps to;
	struct record_tables *feed;
	struct unwind_proc proc = { 0 };
	struct name_share *share;

	ck_assert_int_eq(rp_maps_create(maps, MAPS, fds), 0);
	to = (struct record_tables_maps){ fds[PROCS], fds[RANGE],  fds[INDEX],	  fds[RULES],
					  fds[ROWS],  .files = -1, .looks = looks };
	ck_assert_int_eq(ftruncate(layouts, PYTHON_LAYOUTS * sizeof(struct python_layout)), 0);
	ck_assert_int_eq(record_name_share_open(&share), 0);
	ck_assert_int_eq(record_python_open(&to.python, layouts, share), 0);
	ck_assert_int_eq(record_tables_open(&feed, &to), 0);
	record_tables_publish(feed, (uint32_t)child);
	rp_map_lookup(fds[PROCS], &(uint32_t){ (uint32_t)child }, &proc);
	record_tables_close(feed);
	record_python_close(to.python);
	record_name_share_close(share);
	rp_fds_close(fds, MAPS);
	close(layouts);
	return proc.count;
}

/* Their user pays for each: the look ends in the midst of them. */
START_TEST(test_symbols_are_paid_for)
{
	char dir[] = "/tmp/rawprof-many-XXXXXX", path[128];
	struct record_looks looks;
	pid_t child;

	if (geteuid())
		return;
	capture_log();
	setenv("XDG_CACHE_HOME", "/dev/null", 1); /* tables are made, not found */
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(chmod(dir, 0755), 0);
	child = map_many(dir);
	record_looks_init(&looks);
	ck_assert_uint_lt(read_many(child, &looks) + 1, read_many(child, NULL));
	record_looks_free(&looks);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	for (int i = 0; i < MANY_FILES; i++) {
		snprintf(path, sizeof(path), "%s/python%d", dir, i);
		unlink(path);
	}
	rmdir(dir);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("interpreter files");
	TCase *tc = tcase_create("kernel");

	tcase_add_test(tc, test_symbols_are_paid_for);
	tcase_set_timeout(tc, 60);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
