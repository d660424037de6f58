/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines and inlined functions: what a compiler wrote, in all the ways that it may, is found. */
#include "sym_user.h"

#include <fcntl.h>

#include "symbolize/lines_image.h"

enum { BASE = 0x400000 };

static const char source[] = "volatile int sink;\n"
			     "namespace_begin\n"
			     "local inline always_inline void innermost(int x)\n"
			     "{\n"
			     "	sink = x; /* line 5 */\n"
			     "}\n"
			     "local inline always_inline void middle(int x)\n"
			     "{\n"
			     "	innermost(x + 1); /* line 9 */\n"
			     "	if (x) {\n"
			     "		int y = sink;\n"
			     "		innermost(y); /* line 12 */\n"
			     "	}\n"
			     "}\n"
			     "noinline void outer(int x)\n"
			     "{\n"
			     "	middle(x); /* line 17 */\n"
			     "	sink = 18;\n"
			     "}\n"
			     "noinline void dropped(void) { middle(1); }\n"
			     "namespace_end\n"
			     "int main(void) { use(3); return sink == 1; }\n";

struct build {
	const char *compiler, *flags;
	bool cxx, separate;
};

static const struct build builds[] = {
	{ "gcc", "-O2 -g", false, false },
	{ "gcc", "-O2 -g -gdwarf-4", false, false },
	{ "gcc", "-O2 -g -gdwarf-3 -gstrict-dwarf", false, false },
	{ "gcc", "-O2 -g -gz", false, false },
	{ "gcc", "-O2 -g -gsplit-dwarf", false, false },
	{ "gcc", "-O2 -g -gsplit-dwarf -gdwarf-4", false, false },
	{ "gcc", "-O2 -g -ffunction-sections -Wl,--gc-sections", false, false },
	{ "gcc", "-O2 -g -flto", false, false },
	{ "gcc", "-O2 -g", false, true },
	{ "gcc", "-O2 -g -gz", false, true },
	{ "g++", "-O2 -g", true, false },
	{ "clang", "-O2 -g", false, false },
	{ "clang", "-O2 -g -gdwarf-5", false, true },
	{ "clang++", "-O2 -g", true, false },
};

static bool compile(const struct build *b)
{
	const char *ext = b->cxx ? "cc" : "c";
	char path[64];

	snprintf(path, sizeof(path), "command -v %s >/dev/null", b->compiler);
	if (system(path))
		return false;
	run("mkdir -p %s/proc/1 %s/root && ln -sfn %s/root %s/proc/1/root", dir, dir, dir, dir);
	snprintf(path, sizeof(path), "a.%s", ext);
	write_file(in_dir(path), source, strlen(source));
	run("cd %s && %s %s -w -no-pie -Wl,-z,noseparate-code -Wl,--build-id=sha1 "
	    "'-Dalways_inline=__attribute__((always_inline))' "
	    "'-Dnoinline=__attribute__((noinline,noipa))' %s -o whole a.%s",
	    dir, b->compiler, b->flags,
	    b->cxx ? "'-Dnamespace_begin=namespace ns {' '-Dnamespace_end=}' -Duse=ns::outer "
		     "-Dlocal="
		   : "-Dnamespace_begin= -Dnamespace_end= -Duse=outer -Dlocal=static",
	    ext);
	if (!b->separate) {
		run("cd %s && cp whole a", dir);
		return true;
	}
	run("cd %s && strip -s -o a whole && objcopy --only-keep-debug whole whole.debug", dir);
	run("cd %s && id=$(readelf -n whole | sed -n 's/.*Build ID: //p') && install -D "
	    "whole.debug "
	    "root/usr/lib/debug/.build-id/$(echo $id | sed 's/../&\\//').debug",
	    dir);
	return true;
}

static uint64_t outer_start, outer_size;

static void find_outer(bool cxx)
{
	char command[600], line[128] = "";
	FILE *p;

	snprintf(command, sizeof(command), "nm -S %s/whole | grep ' %s$'", dir,
		 cxx ? "_ZN2ns5outerEi" : "outer");
	p = popen(command, "r");
	ck_assert_ptr_nonnull(p);
	ck_assert_ptr_nonnull(fgets(line, sizeof(line), p));
	pclose(p);
	ck_assert_int_eq(sscanf(line, "%" SCNx64 " %" SCNx64, &outer_start, &outer_size), 2);
	ck_assert_uint_gt(outer_size, 4);
}

static bool ends_with(const char *s, const char *end)
{
	return s && strlen(s) >= strlen(end) && !strcmp(s + strlen(s) - strlen(end), end);
}

/* Asks the symbolizer about every byte of outer, and checks what no compiler may do otherwise. */
static void check_outer(const struct build *b)
{
	const char *innermost = b->cxx ? "_ZN2ns9innermostEi" : "innermost";
	const char *middle = b->cxx ? "_ZN2ns6middleEi" : "middle";
	bool seen_5_in_9 = false, seen_5_in_12 = false, seen_18 = false;

	for (uint64_t at = outer_start; at < outer_start + outer_size; at++) {
		struct sym_frame f = look(1, 10, at);
		struct sym_line l[SYM_INLINE_MAX + 1], plain;
		size_t n = sym_user_source(user, &f, false, true, l, SYM_INLINE_MAX + 1);

		ck_assert_uint_ge(n, 1);
		ck_assert_uint_le(n, 3);
		for (size_t i = 0; i < n; i++)
			ck_assert_msg(ends_with(l[i].file, b->cxx ? "a.cc" : "a.c"), "%s",
				      l[i].file);
		ck_assert_ptr_null(l[n - 1].function);
		if (n > 1) {
			ck_assert_str_eq(l[n - 2].function, middle);
			ck_assert_uint_eq(l[n - 1].line, 17);
		} else {
			seen_18 |= l[0].line == 18;
		}
		if (n > 2) {
			ck_assert_str_eq(l[0].function, innermost);
			ck_assert(l[1].line == 9 || l[1].line == 12);
			seen_5_in_9 |= l[0].line == 5 && l[1].line == 9;
			seen_5_in_12 |= l[0].line == 5 && l[1].line == 12;
		}
		/*
		 * Without the inlined ones it is the line of the address, which is the innermost's.
		 */
		ck_assert_uint_eq(sym_user_source(user, &f, false, false, &plain, 1), 1);
		ck_assert_ptr_null(plain.function);
		ck_assert_str_eq(plain.file, l[0].file);
		ck_assert_uint_eq(plain.line, l[0].line);
	}
	ck_assert(seen_5_in_9);
	ck_assert(seen_5_in_12);
	ck_assert(seen_18);
}

START_TEST(test_inlined)
{
	const struct build *b = &builds[_i];

	if (!sym_can_find_source() || !compile(b))
		return;
	find_outer(b->cxx);
	map(10, 1, BASE, BASE + 0x2000, 0, in_dir("a"));
	check_outer(b);
	check_outer(b); /* and again, from what is kept */
}
END_TEST

/* What another user owns is read once, and libelf gets what was read. */
START_TEST(test_of_another_user)
{
	const struct build *b = &builds[_i];

	if (geteuid() || !sym_can_find_source() || strstr(b->flags, "split") || !compile(b))
		return;
	run("chown -R 1234 %s", dir);
	find_outer(b->cxx);
	map(10, 1, BASE, BASE + 0x2000, 0, in_dir("a"));
	check_outer(b);
}
END_TEST

/* Whoever owns the directory of a split unit may put there what he likes. */
START_TEST(test_split_unit_of_another)
{
	const struct build *b = &builds[4 + _i % 2];
	size_t most = 0;

	if (geteuid() || !sym_can_find_source() || !compile(b))
		return;
	ck_assert_ptr_nonnull(strstr(b->flags, "split"));
	if (_i < 2)
		run("cd %s && chown 1234 *.dwo", dir);
	else
		run("cd %s && for f in *.dwo; do rm $f && mkfifo $f; done", dir);
	find_outer(false);
	map(10, 1, BASE, BASE + 0x2000, 0, in_dir("a"));
	for (uint64_t at = outer_start; at < outer_start + outer_size; at++) {
		struct sym_frame f = look(1, 10, at);
		struct sym_line l[4];
		const size_t n = sym_user_source(user, &f, false, true, l, 4);

		most = n > most ? n : most;
	}
	ck_assert_uint_eq(most, 1); /* lines are in the file itself */
}
END_TEST

static int image_of(const char *name, uint64_t most, struct sym_lines_image *image)
{
	struct sym_object *o;
	int err;

	ck_assert_int_eq(sym_object_open(&o, open(in_dir(name), O_RDWR | O_CLOEXEC)), 0);
	err = sym_lines_image_read(o, most, image);
	sym_object_close(o);
	return err;
}

/* Headers of a file that its owner changes from one look to the next. */
START_TEST(test_image)
{
	struct sym_lines_image image;
	Elf64_Shdr first = { .sh_size = 50000000 };
	Elf64_Ehdr *eh, none;
	struct sym_object *o;
	int fd;

	if (!sym_can_find_source() || !compile(&builds[0]))
		return;
	ck_assert_int_eq(image_of("a", UINT64_MAX, &image), 0);
	eh = (Elf64_Ehdr *)image.bytes;
	ck_assert_int_eq(memcmp(eh->e_ident, ELFMAG, SELFMAG), 0);
	ck_assert_uint_le(eh->e_shoff + eh->e_shnum * sizeof(first), image.size);
	sym_lines_image_free(&image);
	ck_assert_int_eq(image_of("a", 10, &image), -ENODATA);
	/* Fifty million sections, in a file of that length. */
	fd = open(in_dir("a"), O_RDWR | O_CLOEXEC);
	ck_assert_int_eq(sym_object_open(&o, dup(fd)), 0);
	ck_assert(o->has_dwarf);
	ck_assert_int_eq(pread(fd, &none, sizeof(none), 0), sizeof(none));
	ck_assert_int_eq(pwrite(fd, &first, sizeof(first), (off_t)none.e_shoff), sizeof(first));
	none.e_shnum = 0;
	ck_assert_int_eq(pwrite(fd, &none, sizeof(none), 0), sizeof(none));
	ck_assert_int_eq(ftruncate(fd, 4ll << 30), 0);
	ck_assert_int_eq(sym_lines_image_read(o, UINT64_MAX, &image), -ENODATA);
	sym_object_close(o);
	close(fd);
}
END_TEST

/* A table of names that says it is packed would be unpacked for each section, to any size. */
START_TEST(test_image_of_packed_names)
{
	struct sym_lines_image image;
	const Elf64_Ehdr *eh;
	const Elf64_Shdr *names;
	Elf64_Ehdr head;
	Elf64_Shdr sh;
	off_t at;
	int fd;

	if (!sym_can_find_source() || !compile(&builds[0]))
		return;
	fd = open(in_dir("a"), O_RDWR | O_CLOEXEC);
	ck_assert_int_eq(pread(fd, &head, sizeof(head), 0), sizeof(head));
	at = (off_t)(head.e_shoff + head.e_shstrndx * sizeof(sh));
	ck_assert_int_eq(pread(fd, &sh, sizeof(sh), at), sizeof(sh));
	sh.sh_flags |= SHF_COMPRESSED;
	ck_assert_int_eq(pwrite(fd, &sh, sizeof(sh), at), sizeof(sh));
	close(fd);
	ck_assert_int_eq(image_of("a", UINT64_MAX, &image), 0);
	eh = (const Elf64_Ehdr *)image.bytes;
	names = (const Elf64_Shdr *)(image.bytes + eh->e_shoff) + eh->e_shstrndx;
	ck_assert_uint_eq(names->sh_flags & SHF_COMPRESSED, 0);
	ck_assert_uint_eq(names->sh_size, sh.sh_size);
	sym_lines_image_free(&image);
}
END_TEST

/* Strings without end: no name and no path is so long. */
START_TEST(test_long_strings)
{
	enum { LONG = 5000 };
	static char text[4 * LONG], name[LONG + 1];
	struct sym_line l[4];
	size_t inlined = 0;

	if (!sym_can_find_source() || !compile(&builds[0]))
		return;
	memset(name, 'n', LONG);
	snprintf(text, sizeof(text),
		 "volatile int sink;\n"
		 "static inline __attribute__((always_inline)) void %s(int x)\n"
		 "{\n"
		 "	sink = x;\n"
		 "}\n"
		 "__attribute__((noinline)) void outer(int x)\n"
		 "{\n"
		 "#line 7 \"/%s\"\n"
		 "	%s(x);\n"
		 "	sink++;\n"
		 "}\n"
		 "int main(void) { outer(3); }\n",
		 name, name, name);
	write_file(in_dir("a.c"), text, strlen(text));
	run("cd %s && gcc -w -O2 -g -no-pie -Wl,-z,noseparate-code -o whole a.c && cp whole a",
	    dir);
	find_outer(false);
	map(10, 1, BASE, BASE + 0x2000, 0, in_dir("a"));
	for (uint64_t at = outer_start; at < outer_start + outer_size; at++) {
		struct sym_frame f = look(1, 10, at);
		size_t n = sym_user_source(user, &f, false, true, l, 4);

		for (size_t i = 0; i < n; i++)
			ck_assert(!l[i].function && (!l[i].file || ends_with(l[i].file, "/a.c")));
		inlined += n == 2;
	}
	ck_assert_uint_gt(inlined, 0);
}
END_TEST

/* Functions that are defined in a block of another: lambdas, and what GNU C allows. */
static const struct {
	const char *compiler, *keyword, *open, *close, *symbol, *inlined;
} nested[] = {
	{ "g++", "", "auto f = [](int x) noinline {", "};", "_ZZ4mainEN", "_Z3seti" },
	{ "clang++", "", "auto f = [](int x) noinline {", "};", "_ZZ4mainEN", "_Z3seti" },
	{ "gcc", "static", "noinline void f(int x) {", "}", " f\\.", "set" },
};

START_TEST(test_nested)
{
	char text[600], command[700], line[128] = "";
	const char *name;
	uint64_t start, size;
	bool seen = false;
	FILE *p;

	snprintf(command, sizeof(command), "command -v %s >/dev/null", nested[_i].compiler);
	if (!sym_can_find_source() || system(command))
		return;
	snprintf(text, sizeof(text),
		 "#define noinline __attribute__((noinline))\n"
		 "volatile int sink;\n"
		 "%s inline __attribute__((always_inline)) void set(int x)\n"
		 "{\n"
		 "	sink = x; /* line 5 */\n"
		 "}\n"
		 "int main(int n, char **v)\n"
		 "{\n"
		 "	if (n) {\n"
		 "		%s\n"
		 "			set(x); /* line 11 */\n"
		 "		%s\n"
		 "		f(n);\n"
		 "	}\n"
		 "}\n",
		 nested[_i].keyword, nested[_i].open, nested[_i].close);
	name = *nested[_i].keyword ? "l.c" : "l.cc";
	write_file(in_dir(name), text, strlen(text));
	run("cd %s && %s -w -O2 -g -no-pie -Wl,-z,noseparate-code -o l %s", dir,
	    nested[_i].compiler, name);
	snprintf(command, sizeof(command), "nm -S %s/l | grep '%s'", dir, nested[_i].symbol);
	p = popen(command, "r");
	ck_assert_ptr_nonnull(p);
	ck_assert_ptr_nonnull(fgets(line, sizeof(line), p));
	pclose(p);
	ck_assert_int_eq(sscanf(line, "%" SCNx64 " %" SCNx64, &start, &size), 2);
	map(10, 1, BASE, BASE + 0x2000, 0, in_dir("l"));
	for (uint64_t at = start; at < start + size; at++) {
		struct sym_line l[4];
		struct sym_frame f = look(1, 10, at);

		seen |= sym_user_source(user, &f, false, true, l, 4) == 2 &&
			!strcmp(l[0].function, nested[_i].inlined) && l[0].line == 5 &&
			l[1].line == 11;
	}
	ck_assert(seen);
}
END_TEST

/* A chain as addr2line prints it: names and lines, innermost first. */
static size_t ask_addr2line(uint64_t at, char names[8][64], unsigned int lines[8])
{
	char command[700], line[600], *colon;
	size_t n = 0;
	FILE *p;

	snprintf(command, sizeof(command), "addr2line -f -i -e %s/whole 0x%" PRIx64, dir, at);
	p = popen(command, "r");
	ck_assert_ptr_nonnull(p);
	while (n < 8 && fgets(line, sizeof(line), p)) {
		line[strcspn(line, "\n")] = '\0';
		snprintf(names[n], sizeof(names[n]), "%.63s", line);
		ck_assert_ptr_nonnull(fgets(line, sizeof(line), p));
		colon = strrchr(line, ':');
		ck_assert_ptr_nonnull(colon);
		lines[n++] = strtoul(colon + 1, NULL, 10);
	}
	pclose(p);
	return n;
}

START_TEST(test_as_addr2line)
{
	const struct build *b = &builds[_i ? 10 : 0];

	if (!sym_can_find_source() || !compile(b))
		return;
	find_outer(b->cxx);
	map(10, 1, BASE, BASE + 0x2000, 0, in_dir("a"));
	for (uint64_t at = outer_start; at < outer_start + outer_size; at++) {
		struct sym_frame f = look(1, 10, at);
		struct sym_line l[8];
		char names[8][64];
		unsigned int lines[8];
		size_t n = ask_addr2line(at, names, lines);

		ck_assert_uint_eq(sym_user_source(user, &f, false, true, l, 8), n);
		for (size_t i = 0; i < n; i++) {
			ck_assert_str_eq(l[i].function ? l[i].function : f.name, names[i]);
			ck_assert_uint_eq(l[i].line, lines[i]);
		}
	}
}
END_TEST

/*
 * A return address is that of the call before it, though it may be another function's first byte.
 */
START_TEST(test_return_address)
{
	struct sym_line l[SYM_INLINE_MAX + 1], before[SYM_INLINE_MAX + 1];

	if (!sym_can_find_source() || !compile(&builds[0]))
		return;
	find_outer(false);
	map(10, 1, BASE, BASE + 0x2000, 0, in_dir("a"));
	for (uint64_t at = outer_start + 1; at <= outer_start + outer_size; at++) {
		struct sym_frame f = look(1, 10, at - 1);
		size_t n = sym_user_source(user, &f, false, true, before, SYM_INLINE_MAX + 1);

		sym_user_lookup(user, 1, 10, at, true, &f);
		ck_assert_str_eq(f.name, "outer");
		ck_assert_uint_eq(sym_user_source(user, &f, true, true, l, SYM_INLINE_MAX + 1), n);
		for (size_t i = 0; i < n; i++) {
			ck_assert_uint_eq(l[i].line, before[i].line);
			ck_assert_pstr_eq(l[i].function, before[i].function);
		}
	}
}
END_TEST

/* No more is written than there is room for, and the innermost are what is left. */
START_TEST(test_little_room)
{
	struct sym_line l[3], first[1];

	if (!sym_can_find_source() || !compile(&builds[0]))
		return;
	find_outer(false);
	map(10, 1, BASE, BASE + 0x2000, 0, in_dir("a"));
	for (uint64_t at = outer_start; at < outer_start + outer_size; at++) {
		struct sym_frame f = look(1, 10, at);

		ck_assert_uint_ge(sym_user_source(user, &f, false, true, l, 3), 1);
		ck_assert_uint_eq(sym_user_source(user, &f, false, true, first, 1), 1);
		ck_assert_uint_eq(first[0].line, l[0].line);
		ck_assert_pstr_eq(first[0].function, l[0].function);
		ck_assert_uint_eq(sym_user_source(user, &f, false, true, NULL, 0), 0);
	}
}
END_TEST

/* No debug data, no file, no mapping. */
START_TEST(test_none)
{
	struct sym_line l;
	struct sym_frame f;

	if (!compile(&builds[0]))
		return;
	run("cd %s && strip -g -o a whole", dir);
	map(10, 1, BASE, BASE + 0x2000, 0, in_dir("a"));
	find_outer(false);
	f = look(1, 10, outer_start);
	ck_assert_str_eq(f.name, "outer");
	ck_assert_uint_eq(sym_user_source(user, &f, false, true, &l, 1), 0);
	map(10, 1, 0x1000, 0x2000, 0, "/nonexistent");
	f = look(1, 10, 0x1000);
	ck_assert_uint_eq(sym_user_source(user, &f, false, true, &l, 1), 0);
	f = look(1, 10, 0x900000);
	ck_assert_uint_eq(sym_user_source(user, &f, false, true, &l, 1), 0);
	sym_user_lookup(user, 1, 10, 0, true, &f);
	ck_assert_uint_eq(sym_user_source(user, &f, true, true, &l, 1), 0);
}
END_TEST

/*
 * Packed by zstd, which libelf may not know: then there is no source, which is told, and all else
 * is as ever.
 */
START_TEST(test_zstd)
{
	struct sym_line l;
	struct sym_frame f;
	char command[300];
	const char *path;

	if (!compile(&builds[0]))
		return;
	snprintf(command, sizeof(command),
		 "cd %s && objcopy --compress-debug-sections=zstd whole a 2>/dev/null", dir);
	if (system(command)) {
		printf("skip: zstd (objcopy does not know it either)\n");
		return;
	}
	find_outer(false);
	map(10, 1, BASE, BASE + 0x2000, 0, in_dir("a"));
	f = look(1, 10, outer_start + 1);
	ck_assert_str_eq(f.name, "outer");
	if (sym_user_source(user, &f, false, false, &l, 1)) {
		ck_assert(ends_with(l.file, "a.c"));
		ck_assert_uint_eq(sym_user_unreadable_source(user, &path), 0);
	} else if (sym_can_find_source()) {
		ck_assert_uint_eq(sym_user_unreadable_source(user, &path), 1);
		ck_assert(ends_with(path, "/a"));
	}
}
END_TEST

/* Debug data of which bytes were changed: whatever is said, nothing falls over. */
START_TEST(test_damaged)
{
	static unsigned char bytes[1 << 20], spoiled[1 << 20];
	struct stat st;
	FILE *f;

	if (!sym_can_find_source() || !compile(&builds[_i]))
		return;
	find_outer(false);
	ck_assert_int_eq(stat(in_dir("whole"), &st), 0);
	ck_assert_int_lt(st.st_size, sizeof(bytes));
	f = fopen(in_dir("whole"), "r");
	ck_assert_uint_eq(fread(bytes, 1, st.st_size, f), st.st_size);
	fclose(f);
	srand(_i);
	for (int round = 0; round < 150; round++) {
		char name[32];

		memcpy(spoiled, bytes, st.st_size);
		for (int k = 0; k < 60; k++) /* behind the code */
			spoiled[0x2000 + rand() % (st.st_size - 0x2000)] = rand();
		snprintf(name, sizeof(name), "s%d", round);
		write_file(in_dir(name), spoiled, st.st_size);
		map(10, 100 + round, BASE, BASE + 0x2000, 0, in_dir(name));
		for (uint64_t at = outer_start; at < outer_start + outer_size; at += 3) {
			struct sym_line l[SYM_INLINE_MAX + 1];
			struct sym_frame frame = look(100 + round, 10, at);

			ck_assert_uint_le(
				sym_user_source(user, &frame, false, true, l, SYM_INLINE_MAX + 1),
				SYM_INLINE_MAX + 1);
		}
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("source");
	TCase *t = tcase_create("source");

	if (!mkdtemp(dir))
		return EXIT_FAILURE;
	tcase_add_loop_test(t, test_inlined, 0, sizeof(builds) / sizeof(builds[0]));
	tcase_add_loop_test(t, test_nested, 0, 3);
	tcase_add_loop_test(t, test_as_addr2line, 0, 2);
	tcase_add_loop_test(t, test_of_another_user, 0, sizeof(builds) / sizeof(builds[0]));
	tcase_add_loop_test(t, test_split_unit_of_another, 0, 4);
	tcase_add_test(t, test_image);
	tcase_add_test(t, test_image_of_packed_names);
	tcase_add_test(t, test_long_strings);
	tcase_add_test(t, test_return_address);
	tcase_add_test(t, test_little_room);
	tcase_add_test(t, test_none);
	tcase_add_test(t, test_zstd);
	tcase_add_loop_test(t, test_damaged, 0, 2);
	return run_all(s, t);
}
