/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Large files that may be installed, against what other tools say of them: 10,000 addresses each,
 * names against nm, source against llvm-symbolizer. What is not installed is left out.
 */
#include <fcntl.h>

#include "symbolize/object.h"
#include "symbolize/symtab.h"
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

/* ---- names */

struct nm_symbol {
	uint64_t addr, size; /* size 0: it has none */
	char *name;
};

struct nm {
	struct nm_symbol *symbols;
	size_t count, capacity;
	uint64_t *reach; /* the furthest end of a sized symbol up to each one */
};

/*
 * Its lines are "name |value| class | type|size| line|section"; what is data in code is left out.
 */
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
		if (nm->count == nm->capacity) {
			nm->capacity = 2 * nm->capacity + 1024;
			nm->symbols = realloc(nm->symbols, nm->capacity * sizeof(s));
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

/* The symbol that starts last among the sized ones that have @addr, or NULL. */
static const struct nm_symbol *covering(const struct nm *nm, uint64_t addr)
{
	for (size_t i = below(nm, addr); i-- > 0 && nm->reach[i] > addr;) {
		if (addr - nm->symbols[i].addr < nm->symbols[i].size)
			return &nm->symbols[i];
	}
	return NULL;
}

/*
 * How an answer relates to what one would read off a sorted list of nm's: the last symbol at or
 * below the address, as addr2line does. All but the last are as they should be.
 */
enum relation { SAME, ALIAS, NESTED, ENDED, PLT, UNSIZED, UNEXPLAINED, RELATIONS };
static const char *const relations[RELATIONS] = {
	[SAME] = "the same",
	[ALIAS] = "another name of the same address",
	[NESTED] = "nm's neighbour has ended, or is a label: the function around it",
	[ENDED] = "nm's neighbour has ended: the place of the FDE, or nothing",
	[PLT] = "a stub of the PLT, for which nm has no symbol",
	[UNSIZED] = "a symbol without a size, which reaches up to the next one",
	[UNEXPLAINED] = "unexplained",
};

static enum relation relation(const struct nm *nm, uint64_t addr, const struct sym_frame *f)
{
	const struct nm_symbol *cover = covering(nm, addr), *last;
	size_t n = below(nm, addr);
	bool is_name = f->name && !f->is_place;
	uint64_t start = addr - f->offset;

	last = n ? &nm->symbols[n - 1] : NULL;
	if (is_name && f->offset < 16 && strstr(f->name, "@plt"))
		return cover ? UNEXPLAINED : PLT;
	if (!is_name) { /* whatever covers it must be named */
		bool goes_on = last && !last->size && addr - last->addr < SYM_UNSIZED_MOST;

		return cover || (goes_on && !f->is_place) ? UNEXPLAINED : ENDED;
	}
	if (!nm_has(nm, start, f->name))
		return UNEXPLAINED;
	if (cover && cover->addr != start) /* neither one around it nor a label within it */
		return UNEXPLAINED;
	if (last && last->addr == start)
		return strcmp(last->name, f->name) ? ALIAS : SAME;
	return cover ? NESTED : UNSIZED;
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
	uint64_t count[RELATIONS] = { 0 };
	struct nm nm = { 0 };
	char debug[200];

	if (!open_file(files[_i])) {
		printf("skip: names of %s (not installed)\n", files[_i]);
		return;
	}
	find_debug(debug, sizeof(debug));
	add_nm(&nm, "", *debug ? debug : files[_i]);
	add_nm(&nm, "-D", files[_i]);
	sort_nm(&nm);
	srand(_i);
	for (int i = 0; i < ADDRESSES; i++) {
		uint64_t at, addr = random_address(&at);
		struct sym_frame f = look(1, 10, at);
		enum relation r = relation(&nm, addr, &f);

		ck_assert_uint_eq(f.module_addr, addr);
		if (r == UNEXPLAINED && count[r] < 10)
			printf("%" PRIx64 ": %s+%" PRIx64 "\n", addr, f.name, f.offset);
		count[r]++;
	}
	printf("%s: %zu symbols\n", *debug ? debug : files[_i], nm.count);
	for (int r = 0; r < RELATIONS; r++)
		printf("%7" PRIu64 " %s\n", count[r], relations[r]);
	fflush(stdout);
	ck_assert_uint_eq(count[UNEXPLAINED], 0);
	if (nm.count > 1000)
		ck_assert_uint_ge(count[SAME] + count[ALIAS], 100);
	free_nm(&nm);
	close_file();
}
END_TEST

/* ---- source */

struct answer {
	char function[256], file[256];
	unsigned long line;
};

/*
 * The tools that may be there, and how each is asked; they print alike but for how an answer ends.
 */
static const struct tool {
	const char *name, *options;
	bool has_columns;
} tools[] = {
	{ "llvm-symbolizer", "--functions=linkage --inlining --no-demangle --obj=", true },
	/* -a prints each address too, which tells where an answer ends. */
	{ "addr2line", "-a -f -i -e ", false },
};

/* "dir/file.c:12", behind it a column (llvm-symbolizer) or a remark (addr2line). */
static void read_place(char *place, bool has_column, struct answer *out)
{
	char *colon = strrchr(place, ':'), *base;

	ck_assert_ptr_nonnull(colon);
	if (has_column) {
		*colon = '\0';
		colon = strrchr(place, ':');
		ck_assert_ptr_nonnull(colon);
	}
	*colon = '\0';
	base = strrchr(place, '/');
	snprintf(out->file, sizeof(out->file), "%.255s", base ? base + 1 : place);
	out->line = strtoul(colon + 1, NULL, 10);
}

/* Whether @line is one more function of an answer: not empty, and not the next address. */
static bool is_function_line(const struct tool *tool, const char *line)
{
	return tool->has_columns ? *line != '\n' : strncmp(line, "0x0", 3) != 0;
}

/* The next answer: pairs of lines, function and place. *@line is the one that was read last. */
static size_t read_answer(FILE *p, const struct tool *tool, char *line, size_t size,
			  struct answer *out, size_t max)
{
	static char place[1 << 16];
	size_t n = 0;

	if (!tool->has_columns && !*line)
		ck_assert_ptr_nonnull(fgets(line, size, p)); /* the first address */
	while (fgets(line, size, p) && is_function_line(tool, line)) {
		struct answer *to = &out[n < max ? n : max - 1];

		line[strcspn(line, "\n")] = '\0';
		snprintf(to->function, sizeof(to->function), "%.255s", line);
		ck_assert_ptr_nonnull(fgets(place, sizeof(place), p));
		read_place(place, tool->has_columns, to);
		n++;
	}
	return n;
}

static const char *base_of(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "??";
}

static bool is_same_source(const struct sym_line *ours, size_t n, const struct answer *theirs,
			   size_t m, bool with_files)
{
	if (n != m)
		return false;
	for (size_t i = 0; i < n; i++) {
		if ((with_files && strcmp(base_of(ours[i].file), theirs[i].file)) ||
		    ours[i].line != theirs[i].line)
			return false;
		if (i + 1 < n && /* the last one's name is the symbol table's */
		    strncmp(ours[i].function, theirs[i].function, sizeof(theirs[i].function) - 1))
			return false;
	}
	return true;
}

static void print_source(const char *who, const struct sym_line *ours, const struct answer *theirs,
			 size_t n)
{
	printf("   %s:", who);
	for (size_t i = 0; i < n; i++)
		if (ours)
			printf(" %s %s:%u", ours[i].function, base_of(ours[i].file), ours[i].line);
		else
			printf(" %s %s:%lu", theirs[i].function, theirs[i].file, theirs[i].line);
	printf("\n");
}

/* Writes random addresses to a file, for the tool to read. */
static void choose_addresses(uint64_t *addrs, uint64_t *at)
{
	FILE *f = fopen(in_dir("addresses"), "w");

	ck_assert_ptr_nonnull(f);
	srand(1);
	for (int i = 0; i < ADDRESSES; i++) {
		addrs[i] = random_address(&at[i]);
		fprintf(f, "0x%" PRIx64 "\n", addrs[i]);
	}
	ck_assert_int_eq(fclose(f), 0);
}

/*
 * Two differences are as they should be. Where no unit of the debug data has the address, the tool
 * knows the symbol table's name of it and no line, and we know nothing. And where a unit is little
 * but the inclusion of another file, as many of the C library are, addr2line gives the unit's name
 * to lines of that file.
 */
static void compare_source(const struct tool *tool, const char *path)
{
	static char line[1 << 16];
	static uint64_t addrs[ADDRESSES], at[ADDRESSES];
	uint64_t same = 0, deep = 0, no_unit = 0, other_file = 0, unexplained = 0;
	char command[800];
	FILE *p;

	choose_addresses(addrs, at);
	snprintf(command, sizeof(command), "%s %s%s <%s/addresses", tool->name, tool->options, path,
		 dir);
	p = popen(command, "r");
	ck_assert_ptr_nonnull(p);
	*line = '\0';
	for (int i = 0; i < ADDRESSES; i++) {
		struct sym_frame frame = look(1, 10, at[i]);
		struct sym_line ours[SYM_INLINE_MAX + 1];
		struct answer theirs[SYM_INLINE_MAX + 1];
		size_t n = sym_user_source(user, &frame, false, true, ours, SYM_INLINE_MAX + 1);
		size_t m = read_answer(p, tool, line, sizeof(line), theirs, SYM_INLINE_MAX + 1);

		ck_assert_uint_ge(m, 1);
		if (is_same_source(ours, n, theirs, m, true)) {
			same++;
			deep += n > 1;
		} else if (!tool->has_columns && is_same_source(ours, n, theirs, m, false)) {
			other_file++;
		} else if (!n && m == 1 && !theirs[0].line) {
			no_unit++;
		} else if (unexplained++ < 5) {
			printf("%" PRIx64 ":\n", addrs[i]);
			print_source("ours", ours, NULL, n);
			print_source(tool->name, NULL, theirs, m);
		}
	}
	pclose(p);
	printf("%s, by %s: %" PRIu64 " the same, %" PRIu64 " of them inlined\n", path, tool->name,
	       same, deep);
	printf("%7" PRIu64 " in no unit\n%7" PRIu64 " of an included file\n%7" PRIu64
	       " unexplained\n",
	       no_unit, other_file, unexplained);
	fflush(stdout);
	ck_assert_uint_eq(unexplained, 0);
	ck_assert_uint_ge(same, ADDRESSES / 2);
	ck_assert_uint_ge(deep, ADDRESSES / 1000);
}

/* NULL if there is none, which is told. */
static const struct tool *find_tool(void)
{
	char command[100];

	for (size_t i = 0; sym_can_find_source() && i < sizeof(tools) / sizeof(tools[0]); i++) {
		snprintf(command, sizeof(command), "command -v %s >/dev/null", tools[i].name);
		if (!system(command))
			return &tools[i];
	}
	printf("skip: source (%s)\n", sym_can_find_source()
					      ? "neither llvm-symbolizer nor addr2line"
					      : "built without libdw");
	return NULL;
}

START_TEST(test_source_of_libc)
{
	const struct tool *tool = find_tool();
	char debug[200];

	if (!tool || !open_file("/lib/x86_64-linux-gnu/libc.so.6"))
		return;
	find_debug(debug, sizeof(debug));
	if (*debug)
		compare_source(tool, debug);
	else
		printf("skip: source of libc.so.6 (libc6-dbg is not installed)\n");
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
	const struct tool *tool = find_tool();
	char command[100];

	snprintf(command, sizeof(command), "command -v %s >/dev/null", compilers[_i]);
	if (!tool || system(command))
		return;
	if (_i && !tool->has_columns) {
		printf("skip: source by clang (addr2line misses inlined functions of it)\n");
		return;
	}
	write_file(in_dir("a.cc"), source, strlen(source));
	run("cd %s && %s -O2 -g -o a a.cc", dir, compilers[_i]);
	ck_assert(open_file(in_dir("a")));
	compare_source(tool, in_dir("a"));
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
