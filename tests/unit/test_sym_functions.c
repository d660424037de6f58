/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions by name: in files made by compilers of the day, in libc beside nm, in what we have
 * mapped.
 */
#include <check.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rawprof/symbolize.h>

#include "base/clock.h"
#include "slower.h"

static char dir[] = "/tmp/test_sym_functions.XXXXXX";

static void shell(const char *format, ...)
{
	char command[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	ck_assert_msg(system(command) == 0, "%s", command);
}

static int open_in_dir(const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	return fd;
}

static struct sym_functions *find(int fd, const char *const *patterns, size_t n)
{
	struct sym_functions *f = NULL;

	ck_assert_int_eq(sym_functions_find(fd, patterns, n, &f), 0);
	return f;
}

static bool has_name(const struct sym_function_found *s, const char *name)
{
	for (size_t k = 0; k < s->name_count; k++) {
		if (!strcmp(s->names[k], name))
			return true;
	}
	return false;
}

static const struct sym_function_found *named(const struct sym_functions *f, const char *name)
{
	for (size_t i = 0; i < f->count; i++) {
		if (has_name(&f->items[i], name))
			return &f->items[i];
	}
	return NULL;
}

static const struct sym_function_found *at_address(const struct sym_functions *f, uint64_t vaddr)
{
	for (size_t i = 0; i < f->count; i++) {
		if (f->items[i].vaddr == vaddr)
			return &f->items[i];
	}
	return NULL;
}

/* ---- a program of every kind */

static const char source[] =
	"#include <stdlib.h>\n"
	"int plain(int n) { return n + 1; }\n"
	"int other(int n) __attribute__((alias(\"plain\")));\n"
	"int __plain(int n) __attribute__((alias(\"plain\")));\n"
	"static __attribute__((noinline, used)) int hidden_away(int n) { return n * 3; }\n"
	"static int one(void) { return 1; }\n"
	"static int (*choose(void))(void) { return one; }\n"
	"int chosen(void) __attribute__((ifunc(\"choose\")));\n"
	"int plain_data[4] = { 1 };\n"
	"__asm__(\".text\\n.globl by_hand\\nby_hand: nop\\nret\\n\");\n"
	"int main(void) { return plain(chosen()) + hidden_away(2) + plain_data[0] + (malloc(1) != "
	"0); }\n";

static const struct {
	const char *name, *flags;
} kinds[] = {
	{ "pie", "-pie -fPIE" },
	{ "exec", "-no-pie -fno-pie" },
	{ "static", "-static -no-pie -fno-pie" },
	{ "static-pie", "-static-pie -fPIE" },
	{ "shared", "-shared -fPIC" },
	{ "packed", "-pie -fPIE -Wl,-z,noseparate-code" },
};

/* The bytes at the offset are those at the address: objcopy says them by address. */
static void check_bytes(int fd, const struct sym_functions *f, const struct sym_function_found *s)
{
	Elf64_Phdr ph;
	Elf64_Ehdr eh;
	bool found = false;

	ck_assert_int_eq(pread(fd, &eh, sizeof(eh), 0), sizeof(eh));
	for (int i = 0; i < eh.e_phnum; i++) {
		ck_assert_int_eq(pread(fd, &ph, sizeof(ph), (off_t)(eh.e_phoff + i * sizeof(ph))),
				 sizeof(ph));
		if (ph.p_type == PT_LOAD && ph.p_flags & PF_X && s->vaddr >= ph.p_vaddr &&
		    s->vaddr < ph.p_vaddr + ph.p_filesz) {
			found = true;
			ck_assert_uint_eq(s->offset, s->vaddr - ph.p_vaddr + ph.p_offset);
			ck_assert_uint_eq(f->text_offset, ph.p_offset);
			ck_assert_uint_eq(f->text_size, ph.p_filesz);
		}
	}
	ck_assert(found);
}

START_TEST(test_kinds)
{
	static const char *const patterns[] = { "other",  "hidden*",	"chosen",
						"malloc", "plain_data", "by_hand" };
	const bool is_static = strstr(kinds[_i].flags, "-static");
	const struct sym_function_found *s;
	struct sym_functions *f;
	int fd;

	shell("cc -O1 %s -o %s/%s %s/source.c", kinds[_i].flags, dir, kinds[_i].name, dir);
	fd = open_in_dir(kinds[_i].name);
	f = find(fd, patterns, 6);
	ck_assert_int_eq(f->machine, f->machine == EM_AARCH64 ? EM_AARCH64 : EM_X86_64);

	s = named(f, "plain");
	ck_assert_ptr_nonnull(s);
	ck_assert_uint_eq(s->pattern, 0);
	ck_assert_uint_eq(s->name_count, 3);
	ck_assert_str_eq(s->names[0], "other"); /* the one that was asked for */
	ck_assert_str_eq(s->names[1], "__plain");
	ck_assert_str_eq(s->names[2], "plain");
	ck_assert_uint_gt(s->size, 0);
	ck_assert_uint_ge(s->alone, s->size);
	ck_assert(!s->is_ifunc);
	check_bytes(fd, f, s);

	s = named(f, "hidden_away");
	ck_assert_ptr_nonnull(s);
	ck_assert_uint_eq(s->pattern, 1);
	s = named(f, "chosen");
	ck_assert_ptr_nonnull(s);
	ck_assert(s->is_ifunc);
	s = named(f, "by_hand"); /* without type or size */
	ck_assert_ptr_nonnull(s);
	ck_assert_uint_eq(s->size, 0);
	ck_assert_uint_gt(s->alone, 0);
	ck_assert_ptr_null(named(f, "plain_data"));
	ck_assert_int_eq(named(f, "malloc") != NULL, is_static); /* elsewhere it is libc's */
	for (size_t i = 1; i < f->count; i++)
		ck_assert_uint_gt(f->items[i].offset, f->items[i - 1].offset);
	sym_functions_free(f);
	close(fd);
}
END_TEST

START_TEST(test_stripped)
{
	static const char *const patterns[] = { "plain", "hidden_away" };
	struct sym_functions *f;
	int fd;

	shell("cc -O1 -shared -fPIC -s -o %s/stripped %s/source.c", dir, dir);
	fd = open_in_dir("stripped");
	f = find(fd, patterns, 2);
	ck_assert_uint_eq(f->count, 1); /* .dynsym has no static functions */
	ck_assert_str_eq(f->items[0].names[0], "plain");
	sym_functions_free(f);
	close(fd);
}
END_TEST

/* ---- libc, beside nm */

static const char *libc_path(void)
{
	static const char *const paths[] = { "/lib/x86_64-linux-gnu/libc.so.6",
					     "/lib/aarch64-linux-gnu/libc.so.6", "/lib64/libc.so.6",
					     "/lib/libc.so.6" };

	for (size_t i = 0; i < 4; i++) {
		if (!access(paths[i], R_OK))
			return paths[i];
	}
	return NULL;
}

/* All functions there are: every name of nm's is found, at its address and with its size. */
START_TEST(test_libc)
{
	static const char *const all[] = { "*" };
	char command[256], line[1024], name[512], type;
	uint64_t addr, size, seen = 0;
	struct sym_functions *f;
	const char *path = libc_path();
	FILE *p;
	int fd;

	if (!path) {
		printf("skip: no libc.so.6\n");
		return;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	f = find(fd, all, 1);
	snprintf(command, sizeof(command), "nm -D -S --defined-only %s", path);
	p = popen(command, "r");
	while (fgets(line, sizeof(line), p)) {
		const struct sym_function_found *s;

		if (sscanf(line, "%" SCNx64 " %" SCNx64 " %c %511[^@\n]", &addr, &size, &type,
			   name) != 4 ||
		    !strchr("tTwWi", type))
			continue;
		/* One name may be two functions, of two versions. */
		s = at_address(f, addr);
		ck_assert_msg(s && has_name(s, name), "%s is not found", name);
		ck_assert_int_eq(s->is_ifunc, type == 'i');
		ck_assert_uint_ge(s->size, size);
		seen++;
	}
	ck_assert_int_eq(pclose(p), 0);
	ck_assert_uint_gt(seen, 1500);
	sym_functions_free(f);
	close(fd);
}
END_TEST

START_TEST(test_aliases)
{
	static const char *const names[] = { "memalign", "aligned_alloc", "malloc", "mallo?",
					     "no_such" };
	const struct sym_function_found *s;
	const char *path = libc_path();
	struct sym_functions *f;
	int fd;

	if (!path) {
		printf("skip: no libc.so.6\n");
		return;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	f = find(fd, names, 5);
	s = named(f, "malloc");
	ck_assert_ptr_nonnull(s);
	ck_assert_uint_eq(s->pattern, 2); /* the first that matches */
	ck_assert_ptr_nonnull(named(f, "memalign"));
	ck_assert_ptr_nonnull(named(f, "aligned_alloc"));
	ck_assert_uint_ge(f->count, 2);
	ck_assert_uint_le(f->count, 3); /* aligned_alloc is memalign until glibc 2.38 */
	sym_functions_free(f);
	f = find(fd, names, 0);
	ck_assert_uint_eq(f->count, 0);
	ck_assert_uint_gt(f->text_size, 0);
	sym_functions_free(f);
	close(fd);
}
END_TEST

START_TEST(test_no_elf)
{
	const char *const name = "x";
	struct sym_functions *f = NULL;
	int fd;

	shell("echo hello > %s/text", dir);
	fd = open_in_dir("text");
	ck_assert_int_eq(sym_functions_find(fd, &name, 1, &f), -ENOEXEC);
	close(fd);
	ck_assert_int_eq(sym_functions_find(-1, &name, 1, &f), -EBADF);
	ck_assert_ptr_null(f);
	sym_functions_free(NULL);
}
END_TEST

/* ---- processes */

struct sights {
	int libc, own, all, stop_at;
	uint64_t address;
};

static int look(void *ctx, const struct sym_mapped_functions *m)
{
	const struct sym_function_found *s = named(m->functions, "malloc");
	struct sights *seen = ctx;

	ck_assert_int_ge(m->fd, 0);
	seen->all++;
	if (s && strstr(m->path, "libc.so")) {
		seen->libc++;
		seen->address = m->start + s->offset - m->offset;
	}
	if (named(m->functions, "main") && strstr(m->path, "test_sym_functions"))
		seen->own++;
	return seen->all == seen->stop_at ? 77 : 0;
}

START_TEST(test_mapped)
{
	static const char *const names[] = { "malloc", "main" };
	struct sights seen = { 0 };
	size_t unread = 99;

	ck_assert_int_eq(sym_functions_mapped(NULL, (uint32_t)getpid(), names, 2, NULL, look, &seen,
					      &unread),
			 0);
	ck_assert_int_eq(seen.own, 1);
	ck_assert_int_eq(seen.libc, 1);
	ck_assert_uint_eq(unread, 0);
	seen = (struct sights){ .stop_at = 1 };
	ck_assert_int_eq(sym_functions_mapped("/proc", (uint32_t)getpid(), names, 2, NULL, look,
					      &seen, NULL),
			 77);
	ck_assert_int_eq(seen.all, 1);
	ck_assert_int_eq(sym_functions_mapped(NULL, 0x7ffffff0, names, 2, NULL, look, &seen, NULL),
			 -ESRCH);
}
END_TEST

/* Files, and which of them are skipped: those whose path has the text in it. */
struct files {
	const char *skip;
	int skipped, read, with;
};

static bool skip_some(void *ctx, const struct sym_mapped_functions *m)
{
	struct files *f = ctx;
	const bool skip = strstr(m->path, f->skip);

	ck_assert_int_eq(m->fd, -1);
	ck_assert_ptr_null(m->functions);
	ck_assert_uint_ne(m->inode, 0);
	f->skipped += skip;
	return skip;
}

static int count_files(void *ctx, const struct sym_mapped_functions *m)
{
	struct files *f = ctx;

	ck_assert_ptr_null(strstr(m->path, f->skip));
	f->read++;
	f->with += m->functions->count > 0;
	return 0;
}

/* Who remembers files need not have them read again: those with functions, and those without. */
START_TEST(test_mapped_skip)
{
	static const char *const names[] = { "malloc" };
	struct files none = { .skip = "no such path" }, libc = { .skip = "libc.so" };

	ck_assert_int_eq(sym_functions_mapped(NULL, (uint32_t)getpid(), names, 1, skip_some,
					      count_files, &none, NULL),
			 0);
	ck_assert_int_eq(none.skipped, 0);
	ck_assert_int_gt(none.read,
			 none.with); /* this program has no malloc, unless a sanitizer brings one */
	ck_assert_int_eq(sym_functions_mapped(NULL, (uint32_t)getpid(), names, 1, skip_some,
					      count_files, &libc, NULL),
			 0);
	ck_assert_int_eq(libc.skipped, 1);
	ck_assert_int_eq(libc.read, none.read - 1);
	ck_assert_int_eq(libc.with, none.with - 1);
}
END_TEST

static bool skip_all(void *ctx, const struct sym_mapped_functions *m)
{
	(void)m;
	++*(int *)ctx;
	return true;
}

/* As many files as a process can map, each of them twice: no file is compared with all others. */
START_TEST(test_many_files)
{
	enum { FILES = 65000 };
	char path[64];
	uint64_t began;
	int skipped = 0;
	FILE *f;

	shell("mkdir -p %s/1", dir);
	snprintf(path, sizeof(path), "%s/1/maps", dir);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	for (int i = 0; i < 2 * FILES; i++)
		fprintf(f, "%x000-%x000 r-xp 00000000 08:01 %d %*s/some/file%d\n", i + 1, i + 2,
			1 + i % FILES, 20, "", i);
	fclose(f);
	began = rp_thread_cpu_ns();
	ck_assert_int_eq(sym_functions_mapped(dir, 1, NULL, 0, skip_all, NULL, &skipped, NULL), 0);
	ck_assert_uint_lt(rp_thread_cpu_ns() - began, 15 * NS_PER_SECOND * slower());
	ck_assert_int_eq(skipped, FILES);
}
END_TEST

/* Where a process ends, at its first file; its zombie stays until it is waited for. */
struct ending {
	pid_t pid;
	bool zombie;
	int files;
};

static int end_it(void *ctx, const struct sym_mapped_functions *m)
{
	struct ending *e = ctx;
	siginfo_t info;

	(void)m;
	if (!e->files++) {
		kill(e->pid, SIGKILL);
		ck_assert_int_eq(
			waitid(P_PID, (id_t)e->pid, &info, WEXITED | (e->zombie ? WNOWAIT : 0)), 0);
	}
	return 0;
}

/* That a process has ended is no reason to say that its files cannot be opened. */
START_TEST(test_mapped_ending)
{
	static const char *const names[] = { "malloc" };
	struct ending e = { .zombie = _i };
	size_t unread = 99;

	e.pid = fork();
	if (!e.pid)
		for (;;)
			pause();
	ck_assert_int_eq(
		sym_functions_mapped(NULL, (uint32_t)e.pid, names, 1, NULL, end_it, &e, &unread),
		0);
	ck_assert_int_eq(e.files, 1); /* the others could not be opened */
	ck_assert_uint_eq(unread, 0);
	if (e.zombie)
		waitpid(e.pid, NULL, 0);
}
END_TEST

static void make_dir(void)
{
	char path[64];
	FILE *f;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/source.c", dir);
	f = fopen(path, "w");
	fputs(source, f);
	fclose(f);
}

static void remove_dir(void)
{
	shell("rm -r %s", dir);
}

int main(void)
{
	Suite *s = suite_create("functions by name");
	TCase *tc = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tc, 60);
	tcase_add_unchecked_fixture(tc, make_dir, remove_dir);
	tcase_add_loop_test(tc, test_kinds, 0, sizeof(kinds) / sizeof(kinds[0]));
	tcase_add_test(tc, test_stripped);
	tcase_add_test(tc, test_libc);
	tcase_add_test(tc, test_aliases);
	tcase_add_test(tc, test_no_elf);
	tcase_add_test(tc, test_mapped);
	tcase_add_test(tc, test_mapped_skip);
	tcase_add_test(tc, test_many_files);
	tcase_add_loop_test(tc, test_mapped_ending, 0, 2);
	suite_add_tcase(s, tc);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
