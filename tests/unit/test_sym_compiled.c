/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions of files that a real linker made: programs compiled here, and the C library. */
#include "sym_table.h"

static char dir[] = "/tmp/test_sym_compiled.XXXXXX";

static void run(const char *format, ...)
{
	char command[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	ck_assert_msg(system(command) == 0, "%s", command);
}

static void asm_open_path(const char *path)
{
	ck_assert_int_eq(sym_object_open(&object, open(path, O_RDONLY)), 0);
	ck_assert_int_eq(sym_symtab_open(&symtab, object, NULL, &strings), 0);
}

struct nm_symbol {
	uint64_t addr, size; /* size 0: it has none */
	char name[256];
};

/* Functions and labels in code, from nm; returns how many. */
static size_t read_nm(const char *options, const char *path, struct nm_symbol *out, size_t max)
{
	char command[512], line[1024], type;
	size_t n = 0;
	FILE *p;

	snprintf(command, sizeof(command), "nm -S --defined-only %s %s", options, path);
	p = popen(command, "r");
	ck_assert_ptr_nonnull(p);
	while (n < max && fgets(line, sizeof(line), p)) {
		struct nm_symbol *s = &out[n];

		*s = (struct nm_symbol){ 0 };
		if (sscanf(line, "%" SCNx64 " %" SCNx64 " %c %255s", &s->addr, &s->size, &type,
			   s->name) != 4 &&
		    sscanf(line, "%" SCNx64 " %c %255s", &s->addr, &type, s->name) != 3)
			continue;
		s->name[strcspn(s->name, "@")] = '\0';
		n += strchr("tTwWi", type) != NULL;
	}
	pclose(p);
	return n;
}

static const struct nm_symbol *covering(const struct nm_symbol *nm, size_t n, uint64_t addr)
{
	for (size_t i = 0; i < n; i++) {
		if (addr - nm[i].addr < nm[i].size)
			return &nm[i];
	}
	return NULL;
}

static bool has_name(const struct nm_symbol *nm, size_t n, uint64_t addr, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (nm[i].addr == addr && !strcmp(nm[i].name, name))
			return true;
	}
	return false;
}

/*
 * At each address: the name is one that nm has at the place where the function is said to start;
 * what some size covers has a name, and what none covers has at most that of a label or PLT stub.
 */
static void compare_with_nm(const char *options, const char *path, int rounds)
{
	enum { MAX = 20000 };
	struct nm_symbol *nm = calloc(MAX, sizeof(*nm));
	size_t n = read_nm(options, path, nm, MAX);
	int covered = 0, bare = 0;

	ck_assert_uint_ge(n, 5);
	srand(1);
	for (int i = 0; i < rounds; i++) {
		const struct sym_section *code = &object->code[rand() % object->code_count];
		const struct nm_symbol *s = &nm[rand() % n];
		uint64_t addr = i % 2 || !s->size ? code->addr + rand() % code->size
						  : s->addr + rand() % s->size;
		uint64_t offset = 0;
		const char *name = name_at(addr, &offset);

		s = covering(nm, n, addr);
		ck_assert_msg(!s || name, "%s: %" PRIx64 " has no name, nm says %s", path, addr,
			      s ? s->name : "");
		covered += s != NULL;
		bare += !name;
		if (name && !strstr(name, "@plt"))
			ck_assert_msg(has_name(nm, n, addr - offset, name),
				      "%s: %" PRIx64 " is %s+%" PRIx64 ", nm says %s", path, addr,
				      name, offset, s ? s->name : "nothing");
		else if (name)
			ck_assert_ptr_null(s);
	}
	ck_assert_int_ge(covered, rounds / 4);
	ck_assert_int_ge(bare, 1); /* there are gaps, and they stay gaps */
	free(nm);
}

static const char source[] =
	"#include <stdio.h>\n"
	"#include <stdlib.h>\n"
	"static int __attribute__((noinline)) first(int x) { return x * 3 + rand(); }\n"
	"int __attribute__((noinline)) second(int x) { return first(x) + 1; }\n"
	"int third(int) __attribute__((alias(\"second\")));\n"
	"void fourth(void) { puts(\"x\"); }\n"
	"int main(void) { fourth(); return second(1) == 7; }\n";

static const char *const builds[] = {
	"-O0",	       "-O2 -fcf-protection=full -Wl,-z,ibtplt,-z,lazy",
	"-O2 -no-pie", "-O2 -Wl,-z,now -fno-plt",
	"-O2 -static", "-O2 -static-pie",
};

START_TEST(test_compiled)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/a.c", dir);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fputs(source, f);
	fclose(f);
	run("gcc -w %s -Wl,--build-id=sha1 -o %s/a %s", builds[_i], dir, path);
	snprintf(path, sizeof(path), "%s/a", dir);
	asm_open_path(path);
	ck_assert_uint_eq(strlen(object->build_id), 40);
	compare_with_nm("", path, 200);
}
END_TEST

/* Of 32-bit files: the same tables, laid out otherwise. */
START_TEST(test_32_bit)
{
	static const char text[] = ".globl one, two\n.type one,@function\n.type two,@function\n"
				   "one: .skip 16\n.size one,16\ntwo: .skip 32\n.size two,32\n";
	char command[300], path[64];
	uint64_t at;
	FILE *f;

	snprintf(path, sizeof(path), "%s/short.s", dir);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
	snprintf(command, sizeof(command),
		 "gcc -m32 -shared -nostdlib -Wl,--build-id=sha1 -o %s/short %s 2>/dev/null", dir,
		 path);
	if (system(command)) {
		printf("skip: 32-bit files (gcc -m32 makes none here)\n");
		return;
	}
	snprintf(path, sizeof(path), "%s/short", dir);
	asm_open_path(path);
	ck_assert(!object->is64);
	ck_assert_uint_eq(strlen(object->build_id), 40);
	ck_assert_uint_gt(object->symbols[SYM_SYMTAB].count, 2);
	ck_assert_uint_gt(object->symbols[SYM_DYNSYM].count, 2);
	at = object->code[0].addr;
	ck_assert_int_eq(sym_object_vaddr(object, object->code[0].offset + 5, &at), 0);
	ck_assert_uint_eq(at, object->code[0].addr + 5);
	ck_name(at, "one", 5);
	ck_name(at + 16, "two", 5);
	ck_name(at + 43, NULL, 0);
}
END_TEST

/*
 * So many that all strings are read at once: the last names are what they would have been if read
 * alone, without their version, and a long one is cut.
 */
START_TEST(test_many_names)
{
	enum { FUNCTIONS = 4000, LONG = 100000, LONGEST = 65536 };
	static char name[LONG + 1];
	const char *long_name;
	uint64_t text, offset;
	char path[64];
	FILE *f;

	memset(name, 'x', LONG);
	snprintf(path, sizeof(path), "%s/many.s", dir);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	for (int i = 0; i < FUNCTIONS + 2; i++) {
		if (i < FUNCTIONS)
			snprintf(name, sizeof(name), "f%d", i);
		else if (i == FUNCTIONS)
			snprintf(name, sizeof(name), "versioned");
		else
			memset(name, 'x', LONG);
		fprintf(f, ".globl %s\n.type %s,@function\n%s: .skip 16\n.size %s,16\n", name, name,
			name, name);
	}
	fclose(f);
	run("gcc -shared -nostdlib -o %s/many %s", dir, path);
	run("objcopy --redefine-sym versioned=versioned@@V_1 %s/many", dir);
	run("nm %s/many | grep -q versioned@@V_1", dir);
	snprintf(path, sizeof(path), "%s/many", dir);
	asm_open_path(path);
	text = object->code[0].addr;
	for (int i = 0; i < FUNCTIONS; i++) {
		ck_assert_int_eq(!!symtab->text[SYM_SYMTAB], i > 1000);
		snprintf(name, sizeof(name), "f%d", i);
		ck_name(text + 16 * i + 5, name, 5);
	}
	ck_name(text + 16 * FUNCTIONS, "versioned", 0);
	ck_name(text, "f0", 0);
	memset(name, 'x', LONG);
	long_name = name_at(text + 16 * (FUNCTIONS + 1), &offset);
	ck_assert_ptr_nonnull(long_name);
	ck_assert_uint_ge(strlen(long_name), 1000);
	ck_assert_uint_le(strlen(long_name), LONGEST);
	ck_assert(!strncmp(long_name, name, strlen(long_name)));
}
END_TEST

/* Every PLT stub of a program is named as objdump names it. */
START_TEST(test_compiled_plt)
{
	static const char *const flags[] = { "-O2", "-O2 -no-pie -Wl,-z,lazy",
					     "-O2 -fcf-protection=full -Wl,-z,ibtplt,-z,lazy" };
	char path[64], command[256], line[512], name[256];
	uint64_t addr, offset;
	int stubs = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/p.c", dir);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fputs(source, f);
	fclose(f);
	run("gcc -w %s -o %s/p %s", flags[_i], dir, path);
	snprintf(path, sizeof(path), "%s/p", dir);
	asm_open_path(path);
	snprintf(command, sizeof(command), "objdump -d %s", path);
	f = popen(command, "r");
	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%" SCNx64 " <%255[^>]>:", &addr, name) != 2 || strlen(name) < 4 ||
		    strcmp(name + strlen(name) - 4, "@plt"))
			continue;
		ck_name(addr, name, 0);
		ck_assert_pstr_eq(name_at(addr + 5, &offset), name);
		stubs++;
	}
	pclose(f);
	ck_assert_int_ge(stubs, 2);
}
END_TEST

static int find_libc(void *ctx, size_t size)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[1024], *path;
	int found = 0;

	while (f && !found && fgets(line, sizeof(line), f)) {
		path = strchr(line, '/');
		if (!path || !strstr(path, "/libc.so.6"))
			continue;
		path[strcspn(path, "\n")] = '\0';
		snprintf(ctx, size, "%s", path);
		found = 1;
	}
	if (f)
		fclose(f);
	return found;
}

START_TEST(test_libc)
{
	char path[512];

	if (!find_libc(path, sizeof(path)))
		return; /* another C library */
	asm_open_path(path);
	compare_with_nm("-D", path, 2000);
	ck_assert_uint_eq(strlen(object->build_id), 40);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("compiled");
	TCase *t = tcase_create("compiled");
	SRunner *r = srunner_create(s);
	char command[64];
	int failed;

	if (!mkdtemp(dir))
		return EXIT_FAILURE;
	suite_add_tcase(s, t);
	tcase_set_timeout(t, 120);
	tcase_add_checked_fixture(t, NULL, teardown);
	tcase_add_loop_test(t, test_compiled, 0, sizeof(builds) / sizeof(builds[0]));
	tcase_add_test(t, test_32_bit);
	tcase_add_test(t, test_many_names);
	tcase_add_loop_test(t, test_compiled_plt, 0, 3);
	tcase_add_test(t, test_libc);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command) || failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
