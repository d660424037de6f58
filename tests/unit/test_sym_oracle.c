/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Large files that may be installed, against what other tools say of them: 10,000 addresses each,
 * names against nm, source against llvm-symbolizer. What is not installed is left out.
 */
#include <fcntl.h>

#include "../../symbolize/object.h"
#include "sym_user.h"

enum { ADDRESSES = 10000 };

static struct sym_object *object;

/* Maps the file at offsets equal to addresses of the process, and opens its headers to look at. */
static bool open_file(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st))
		return false;
	ck_assert_int_eq(sym_object_open(&object, fd), 0);
	map(10, 1, 0, (st.st_size + 4095) & ~4095L, 0, path);
	return true;
}

static void close_file(void)
{
	sym_object_close(object);
	object = NULL;
}

/* A random address of code, in the numbering of the file, and where it is in the process. */
static uint64_t random_address(uint64_t *mapped)
{
	const struct sym_section *code = object->code;
	uint64_t within;

	for (size_t i = 0; i < object->code_count; i++) {
		if (object->code[i].size > code->size)
			code = &object->code[i];
	}
	within = ((uint64_t)rand() << 20 ^ rand()) % code->size;
	*mapped = code->offset + within;
	return code->addr + within;
}

/* The file of debug information that is installed for the one that is open, or "". */
static void find_debug(char *out, size_t size)
{
	snprintf(out, size, "/usr/lib/debug/.build-id/%.2s/%s.debug", object->build_id,
		 object->build_id[0] ? object->build_id + 2 : "");
	if (access(out, R_OK))
		*out = '\0';
}

/* ---- names ---- */

struct nm_symbol {
	uint64_t addr, size; /* size 0: it has none */
	char *name;
};

struct nm {
	struct nm_symbol *symbols;
	size_t count, room;
	uint64_t *reach; /* the furthest end of a sized symbol up to each one */
};

/* Its lines are "name |value| class | type|size| line|section"; what is data in code is left out. */
static void add_nm(struct nm *nm, const char *options, const char *path)
{
	static char line[1 << 16], name[1 << 16];
	char command[700], class, type[32];
	FILE *p;

	snprintf(command, sizeof(command), "nm -f sysv --defined-only %s %s 2>/dev/null", options,
		 path);
	p = popen(command, "r");
	ck_assert_ptr_nonnull(p);
	while (fgets(line, sizeof(line), p)) {
		struct nm_symbol s = { 0 };

		if (sscanf(line, "%65535[^ |] |%" SCNx64 "| %c | %31[^|]|%" SCNx64, name, &s.addr,
			   &class, type, &s.size) < 4 ||
		    !strchr("tTwWi", class) || !strcmp(type, "OBJECT"))
			continue;
		name[1 + strcspn(name + 1, "@")] = '\0';
		s.name = strdup(name);
		if (nm->count == nm->room) {
			nm->room = 2 * nm->room + 1024;
			nm->symbols = realloc(nm->symbols, nm->room * sizeof(s));
			ck_assert_ptr_nonnull(nm->symbols);
		}
		nm->symbols[nm->count++] = s;
	}
	pclose(p);
}

static int by_address(const void *a, const void *b)
{
	const struct nm_symbol *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

static void sort_nm(struct nm *nm)
{
	uint64_t reach = 0;

	qsort(nm->symbols, nm->count, sizeof(*nm->symbols), by_address);
	nm->reach = calloc(nm->count + 1, sizeof(*nm->reach));
	for (size_t i = 0; i < nm->count; i++) {
		if (nm->symbols[i].addr + nm->symbols[i].size > reach)
			reach = nm->symbols[i].addr + nm->symbols[i].size;
		nm->reach[i] = reach;
	}
}

static void free_nm(struct nm *nm)
{
	for (size_t i = 0; i < nm->count; i++)
		free(nm->symbols[i].name);
	free(nm->symbols);
	free(nm->reach);
}

/* How many symbols begin at or below @addr. */
static size_t below(const struct nm *nm, uint64_t addr)
{
	size_t lo = 0, hi = nm->count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (nm->symbols[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool nm_has(const struct nm *nm, uint64_t addr, const char *name)
{
	for (size_t i = below(nm, addr); i-- > 0 && nm->symbols[i].addr == addr;) {
		if (!strcmp(nm->symbols[i].name, name))
			return true;
	}
	return false;
}

/* Where the innermost sized symbol begins that has @addr; 0: none has. */
static uint64_t covering(const struct nm *nm, uint64_t addr)
{
	for (size_t i = below(nm, addr); i-- > 0 && nm->reach[i] > addr;) {
		if (addr - nm->symbols[i].addr < nm->symbols[i].size)
			return nm->symbols[i].addr;
	}
	return 0;
}

static const char *const files[] = {
	"/usr/bin/node",
	"/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1",
	"/usr/bin/python3",
	"/lib/x86_64-linux-gnu/libc.so.6",
	"/lib/aarch64-linux-gnu/libc.so.6",
	"/usr/bin/perl",
};

START_TEST(test_names)
{
	uint64_t named = 0, addr, at;
	struct nm nm = { 0 };
	char debug[200];

	if (!open_file(files[_i]))
		return;
	find_debug(debug, sizeof(debug));
	add_nm(&nm, "", *debug ? debug : files[_i]);
	add_nm(&nm, "-D", files[_i]);
	sort_nm(&nm);
	srand(_i);
	for (int i = 0; i < ADDRESSES; i++) {
		struct sym_frame f;
		uint64_t start;

		addr = random_address(&at);
		start = covering(&nm, addr);
		f = look(1, 10, at);
		ck_assert_uint_eq(f.module_addr, addr);
		if (f.is_place || !f.name) {
			ck_assert_msg(!start, "%" PRIx64 " is in a symbol of nm's", addr);
			continue;
		}
		named++;
		ck_assert_msg(strstr(f.name, "@plt") || nm_has(&nm, addr - f.offset, f.name),
			      "%" PRIx64 ": nm has no %s", addr, f.name);
		ck_assert_msg(addr - f.offset >= start, "%" PRIx64 ": %s is not the innermost",
			      addr, f.name);
	}
	if (nm.count > 1000)
		ck_assert_uint_ge(named, 100);
	free_nm(&nm);
	close_file();
}
END_TEST

/* ---- source ---- */

struct answer {
	char function[256], file[256];
	unsigned long line;
};

/* The next answer: the lines up to an empty one are pairs of function and FILE:LINE:COLUMN. */
static size_t read_answer(FILE *p, struct answer *out, size_t max)
{
	static char function[1 << 16], place[1 << 16];
	size_t n = 0;

	while (fgets(function, sizeof(function), p) && *function != '\n') {
		char *base, *colon;

		ck_assert_ptr_nonnull(fgets(place, sizeof(place), p));
		function[strcspn(function, "\n")] = '\0';
		colon = strrchr(place, ':'); /* the column */
		ck_assert_ptr_nonnull(colon);
		*colon = '\0';
		colon = strrchr(place, ':');
		ck_assert_ptr_nonnull(colon);
		*colon = '\0';
		base = strrchr(place, '/');
		if (n < max) {
			snprintf(out[n].function, sizeof(out[n].function), "%.255s", function);
			snprintf(out[n].file, sizeof(out[n].file), "%.255s",
				 base ? base + 1 : place);
			out[n++].line = strtoul(colon + 1, NULL, 10);
		}
	}
	return n;
}

static void ck_same(uint64_t addr, const struct sym_line *ours, size_t n,
		    const struct answer *theirs)
{
	for (size_t i = 0; i < n; i++) {
		const char *base = ours[i].file ? strrchr(ours[i].file, '/') : NULL;

		base = base ? base + 1 : ours[i].file ? ours[i].file : "??";
		ck_assert_msg(!strcmp(base, theirs[i].file) && ours[i].line == theirs[i].line,
			      "%" PRIx64 ": %s:%u, llvm-symbolizer: %s:%lu", addr, base,
			      ours[i].line, theirs[i].file, theirs[i].line);
		if (i + 1 < n) /* the last one's name is the symbol table's */
			ck_assert(!strncmp(ours[i].function, theirs[i].function,
					   sizeof(theirs[i].function) - 1));
	}
}

/*
 * Where no unit of the debug data has the address, llvm-symbolizer knows the symbol table's name of
 * it and no line, and we know nothing: the one difference there is.
 */
static void compare_source(const char *path, const char *data)
{
	uint64_t *addrs = calloc(ADDRESSES, sizeof(*addrs)), *at = calloc(ADDRESSES, sizeof(*at));
	uint64_t found = 0, deep = 0;
	char command[800];
	FILE *f, *p;

	f = fopen(in_dir("addresses"), "w");
	ck_assert_ptr_nonnull(f);
	srand(1);
	for (int i = 0; i < ADDRESSES; i++) {
		addrs[i] = random_address(&at[i]);
		fprintf(f, "0x%" PRIx64 "\n", addrs[i]);
	}
	fclose(f);
	snprintf(
		command, sizeof(command),
		"llvm-symbolizer --functions=linkage --inlining --no-demangle --obj=%s <%s/addresses",
		*data ? data : path, dir);
	p = popen(command, "r");
	ck_assert_ptr_nonnull(p);
	for (int i = 0; i < ADDRESSES; i++) {
		struct sym_frame frame = look(1, 10, at[i]);
		struct sym_line ours[SYM_INLINE_MAX + 1];
		struct answer theirs[SYM_INLINE_MAX + 1];
		size_t n = sym_user_source(user, &frame, false, true, ours, SYM_INLINE_MAX + 1);
		size_t m = read_answer(p, theirs, SYM_INLINE_MAX + 1);

		ck_assert_uint_ge(m, 1);
		if (!n && m == 1 && !theirs[0].line)
			continue;
		ck_assert_msg(n == m, "%" PRIx64 ": %zu deep, llvm-symbolizer: %zu", addrs[i], n,
			      m);
		ck_same(addrs[i], ours, n, theirs);
		found++;
		deep += n > 1;
	}
	pclose(p);
	ck_assert_uint_ge(found, ADDRESSES / 2);
	ck_assert_uint_ge(deep, ADDRESSES / 1000);
	free(addrs);
	free(at);
}

static bool has_symbolizer(void)
{
	return sym_can_find_source() && !system("command -v llvm-symbolizer >/dev/null");
}

START_TEST(test_source_of_libc)
{
	char debug[200];

	if (!has_symbolizer() || !open_file("/lib/x86_64-linux-gnu/libc.so.6"))
		return;
	find_debug(debug, sizeof(debug));
	if (*debug)
		compare_source("", debug);
	close_file();
}
END_TEST

/* C++ at its most inlined: the standard library's regular expressions, with lambdas in lambdas. */
START_TEST(test_source_of_cxx)
{
	static const char source[] =
		"#include <algorithm>\n#include <map>\n#include <regex>\n#include <string>\n"
		"int main(int argc, char **argv)\n"
		"{\n"
		"	std::map<std::string, int> count;\n"
		"	std::vector<std::string> words(argv, argv + argc);\n"
		"	std::regex r(\"a(b|c)*d\");\n"
		"	std::sort(words.begin(), words.end());\n"
		"	for (auto &w : words)\n"
		"		count[w] += std::regex_match(w, r);\n"
		"	return count.size();\n"
		"}\n";
	static const char *const compilers[] = { "g++", "clang++" };
	char command[100];

	snprintf(command, sizeof(command), "command -v %s >/dev/null", compilers[_i]);
	if (!has_symbolizer() || system(command))
		return;
	write_file(in_dir("a.cc"), source, strlen(source));
	run("cd %s && %s -O2 -g -o a a.cc", dir, compilers[_i]);
	ck_assert(open_file(in_dir("a")));
	compare_source(in_dir("a"), "");
	close_file();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("oracles");
	TCase *t = tcase_create("oracles");

	if (!mkdtemp(dir))
		return EXIT_FAILURE;
	tcase_add_loop_test(t, test_names, 0, sizeof(files) / sizeof(files[0]));
	tcase_add_test(t, test_source_of_libc);
	tcase_add_loop_test(t, test_source_of_cxx, 0, 2);
	return run_all(s, t);
}
