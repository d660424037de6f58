/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the tests of processes share: a directory, a symbolizer whose procfs is in it, events,
 * files.
 */
#ifndef TESTS_SYM_USER_H
#define TESTS_SYM_USER_H

#include <check.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include <rawprof/symbolize.h>

#include "sym_elf.h"

static char dir[] = "/tmp/test_sym.XXXXXX";
static struct sym_user *user;

static inline void run(const char *format, ...)
{
	char command[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	ck_assert_msg(system(command) == 0, "%s", command);
}

static inline const char *in_dir(const char *name)
{
	static char paths[4][512];
	static int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
	return path;
}

static inline void write_file(const char *path, const void *data, size_t size)
{
	FILE *f = fopen(path, "w");

	ck_assert_msg(f, "%s", path);
	ck_assert_uint_eq(fwrite(data, 1, size, f), size);
	ck_assert_int_eq(fclose(f), 0);
}

static inline void setup(void)
{
	run("rm -rf %s && mkdir -p %s/proc", dir, dir);
	ck_assert_int_eq(sym_user_open(&user, in_dir("proc")), 0);
}

static inline void teardown(void)
{
	sym_user_close(user);
	user = NULL;
}

static inline void map(uint64_t time, uint32_t pid, uint64_t start, uint64_t end, uint64_t pgoff,
		       const char *path)
{
	struct sym_mmap m = { .time = time,
			      .pid = pid,
			      .prot = PROT_EXEC,
			      .start = start,
			      .len = end - start,
			      .pgoff = pgoff,
			      .filename = path };
	struct stat st;

	if (!stat(path, &st)) {
		m.dev_major = major(st.st_dev);
		m.dev_minor = minor(st.st_dev);
		m.inode = st.st_ino;
	} else {
		m.inode = 12345;
	}
	ck_assert_int_eq(sym_user_mmap(user, &m), 0);
}

static inline struct sym_frame look(uint32_t pid, uint64_t time, uint64_t addr)
{
	struct sym_frame f;

	sym_user_lookup(user, pid, time, addr, false, &f);
	return f;
}

#define ck_module(pid, time, addr, expected)                                                       \
	ck_assert_pstr_eq(look(pid, time, addr).module, expected)
#define ck_comm(tid, time, expected) ck_assert_pstr_eq(sym_user_comm_at(user, tid, time), expected)

static const struct elf_symbol one[] = { { "one", 0x1000, 0x100, STT_FUNC, STB_GLOBAL, 0 } };

static inline void write_elf(const char *path, const struct elf_symbol *syms, const uint8_t *id)
{
	static struct elf_file file;

	elf_build(&file, syms, 1, NULL, 0, id);
	write_file(path, file.bytes, file.size);
}

/* Runs the tests of @t, each in a process of its own. */
static inline int run_all(Suite *s, TCase *t)
{
	SRunner *r = srunner_create(s);
	char command[64];
	int failed;

	suite_add_tcase(s, t);
	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command) || failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
