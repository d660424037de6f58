/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tables against binutils' reading of the same .eh_frame: at the first and the last byte of each
 * row that `readelf --debug-dump=frames-interp` prints, CFA, frame pointer and return address are
 * the same; between the FDEs there is nothing.
 */
#include <check.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rawprof/unwind.h>

enum { COLUMNS = 24, CELL = 16 };

/* A row as printed: the cells of the columns CFA, rbp (or x29) and ra; "" without that column. */
struct printed {
	uint64_t loc;
	char cfa[CELL], fp[CELL], ra[CELL];
};

struct fde {
	uint64_t start, end;
};

struct golden {
	struct unwind_table *table;
	uint64_t cie_offset, cie_count;
	struct printed cies[256]; /* the last row of each CIE, for FDEs that print none */
	uint64_t cie_offsets[256];
	int cie_ra[256], ra_reg; /* which register has the return address */
	struct fde *fdes;
	size_t nfdes, capacity;
	size_t compared, unsup;
	/* The record being read. */
	bool in_fde, in_cie;
	struct fde fde;
	struct printed row;
	bool has_row;
	int columns[3], ncolumns; /* where CFA, rbp and ra are; -1: nowhere */
};

/* By binutils' names of the registers, whose numbers are DWARF's. */
static const struct machine {
	uint16_t machine;
	int sp, fp;
	bool has_link_register;
	const char *names[33]; /* up to the last that a CFA is told by */
} machines[] = {
	{ EM_X86_64,
	  7,
	  6,
	  false,
	  { "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12",
	    "r13", "r14", "r15" } },
	{ EM_AARCH64, 31, 29, true, { "x0",  "x1",  "x2",  "x3",  "x4",	 "x5",	"x6",  "x7",
				      "x8",  "x9",  "x10", "x11", "x12", "x13", "x14", "x15",
				      "x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23",
				      "x24", "x25", "x26", "x27", "x28", "x29", "x30", "sp" } },
	{ EM_RISCV, 2, 8, true, { "zero", "ra", "sp",  "gp",  "tp", "t0", "t1", "t2",
				  "s0",	  "s1", "a0",  "a1",  "a2", "a3", "a4", "a5",
				  "a6",	  "a7", "s2",  "s3",  "s4", "s5", "s6", "s7",
				  "s8",	  "s9", "s10", "s11", "t3", "t4", "t5", "t6" } },
};

static const struct machine *machine_of(uint16_t machine)
{
	const struct machine *m = machines;

	while (m->machine != machine)
		m++;
	return m;
}

/* -1: none of ours. */
static int register_number(const struct machine *m, const char *name, size_t len)
{
	for (int i = 0; m->names[i]; i++) {
		if (strlen(m->names[i]) == len && !strncmp(m->names[i], name, len))
			return i;
	}
	return -1;
}

static bool is_same_cfa(const struct machine *m, const struct printed *p,
			const struct unwind_rule *r)
{
	size_t len = strcspn(p->cfa, "+-");
	int reg = register_number(m, p->cfa, len);

	if (!strcmp(p->cfa, "exp"))
		return r->kind == UNWIND_PLT || r->kind == UNWIND_DEREF_SP ||
		       r->kind == UNWIND_DEREF_FP || r->kind == UNWIND_UNSUP;
	if (r->cfa_off != strtol(p->cfa + len, NULL, 10))
		return false;
	if (reg == m->sp)
		return r->kind == UNWIND_SP;
	if (reg == m->fp)
		return r->kind == UNWIND_FP;
	return r->kind == UNWIND_REG && r->arg == reg;
}

/* binutils prints "u" both for registers that nothing was said of and for undefined ones. */
static bool is_same_fp(const struct printed *p, const struct unwind_rule *r)
{
	int flags = r->flags & (UNWIND_FP_AT_CFA | UNWIND_FP_AT_FP | UNWIND_FP_LOST);

	if (p->fp[0] == 'c')
		return flags == UNWIND_FP_AT_CFA && r->fp_off == atoi(p->fp + 1);
	if (!strcmp(p->fp, "exp"))
		return flags == UNWIND_FP_AT_FP || flags == UNWIND_FP_LOST;
	if (!p->fp[0] || !strcmp(p->fp, "u") || !strcmp(p->fp, "s"))
		return !flags;
	return flags == UNWIND_FP_LOST;
}

static bool is_same_ra(const struct printed *p, const struct unwind_rule *r)
{
	if (p->ra[0] == 'c')
		return !(r->flags & UNWIND_RA_REG) && r->ra_off == atoi(p->ra + 1);
	return (r->flags & UNWIND_RA_REG) && p->ra[0] == 'r' && r->ra_off == atoi(p->ra + 1);
}

/* Nothing was said of the return address: it is in the link register, or nowhere. */
static bool is_link_register(const struct printed *p)
{
	return !p->ra[0] || !strcmp(p->ra, "u") || !strcmp(p->ra, "s");
}

static bool is_same(const struct machine *m, int ra_reg, const struct printed *p,
		    const struct unwind_rule *r)
{
	if (m->has_link_register && is_link_register(p))
		return r->kind == UNWIND_STOP ||
		       (is_same_cfa(m, p, r) && is_same_fp(p, r) && (r->flags & UNWIND_RA_REG) &&
			r->ra_off == ra_reg);
	if (!strcmp(p->ra, "u"))
		return r->kind == UNWIND_STOP;
	if (!strcmp(p->ra, "exp"))
		return r->kind == UNWIND_SIGNAL || r->kind == UNWIND_UNSUP;
	/*
	 * Calls of x86-64 put it there; elsewhere it is with the frame pointer, 32 KB off at most.
	 */
	if (p->ra[0] == 'c' &&
	    (m->has_link_register ? atoi(p->ra + 1) < INT16_MIN : strcmp(p->ra, "c-8") != 0))
		return r->kind == UNWIND_UNSUP;
	if (!strcmp(p->cfa, "exp") && r->kind == UNWIND_UNSUP)
		return true;
	return is_same_cfa(m, p, r) && is_same_fp(p, r) && is_same_ra(p, r);
}

/* Assertions that hold are not told to the framework: it writes each to a file. */
static void compare(struct golden *g, const struct printed *p, uint64_t addr)
{
	const struct unwind_rule *r = unwind_table_rule(g->table, addr);

	g->compared++;
	g->unsup += r->kind == UNWIND_UNSUP;
	if (!is_same(machine_of(g->table->machine), g->ra_reg, p, r))
		ck_abort_msg("%" PRIx64
			     ": %s %s %s, not kind %d cfa %d fp %d ra %d arg %d flags %x",
			     addr, p->cfa, p->fp, p->ra, r->kind, r->cfa_off, r->fp_off, r->ra_off,
			     r->arg, r->flags);
}

/* The row that was read last ends at @end. */
static void end_row(struct golden *g, uint64_t end)
{
	uint64_t start;

	if (!g->in_fde || end <= g->row.loc || g->row.loc >= g->fde.end)
		return;
	compare(g, &g->row, g->row.loc);
	compare(g, &g->row, end - 1);
	if (unwind_table_fde_start(g->table, g->row.loc, &start) || start != g->fde.start)
		ck_abort_msg("%" PRIx64 ": not of the FDE of %" PRIx64, g->row.loc, g->fde.start);
}

static uint64_t find_cie(const struct golden *g)
{
	uint64_t i = 0;

	while (i < g->cie_count && g->cie_offsets[i] != g->cie_offset)
		i++;
	if (i == g->cie_count)
		ck_abort_msg("no CIE at %" PRIx64, g->cie_offset);
	return i;
}

static void end_record(struct golden *g)
{
	if (g->in_fde) {
		if (!g->has_row) {
			g->row = g->cies[find_cie(g)];
			g->row.loc = g->fde.start;
		}
		end_row(g, g->fde.end);
	} else if (g->in_cie && g->cie_count < 256) {
		g->cie_offsets[g->cie_count] = g->cie_offset;
		g->cie_ra[g->cie_count] = g->ra_reg;
		g->cies[g->cie_count++] = g->row;
	}
	g->row = (struct printed){ 0 };
	g->has_row = g->in_fde = g->in_cie = false;
}

static void begin_fde(struct golden *g, uint64_t cie, uint64_t start, uint64_t end)
{
	if (g->nfdes == g->capacity) {
		g->capacity = 2 * g->capacity + 1024;
		g->fdes = realloc(g->fdes, g->capacity * sizeof(*g->fdes));
	}
	g->fde = (struct fde){ start, end };
	g->fdes[g->nfdes++] = g->fde;
	g->cie_offset = cie;
	g->ra_reg = g->cie_ra[find_cie(g)];
	g->in_fde = true;
}

/* Cells have no blanks but before the name of a register: of "r5 (rdi)", the number stays. */
static int split(char *line, char *words[COLUMNS])
{
	int n = 0;

	for (char *p = line; *p && n < COLUMNS;) {
		while (*p == ' ')
			p++;
		if (!*p || *p == '\n')
			break;
		if (*p != '(')
			words[n++] = p;
		while (*p && *p != ' ' && *p != '\n')
			p++;
		if (*p)
			*p++ = 0;
	}
	return n;
}

static void read_columns(struct golden *g, char **words, int n)
{
	const struct machine *m = machine_of(g->table->machine);

	g->ncolumns = n;
	for (int k = 0; k < 3; k++) {
		g->columns[k] = -1;
		for (int i = 0; i < n; i++) {
			if (!strcmp(words[i], k == 0 ? "CFA" : k == 1 ? m->names[m->fp] : "ra"))
				g->columns[k] = i;
		}
	}
}

static void read_row(struct golden *g, char **words, int n)
{
	struct printed row = { .loc = strtoull(words[0], NULL, 16) };
	char *cells[] = { row.cfa, row.fp, row.ra };

	if (n != g->ncolumns)
		ck_abort_msg("%s: %d cells in %d columns", words[0], n, g->ncolumns);
	for (int k = 0; k < 3; k++) {
		if (g->columns[k] >= 0)
			snprintf(cells[k], CELL, "%s", words[g->columns[k]]);
	}
	if (g->has_row)
		end_row(g, row.loc);
	g->row = row;
	g->has_row = true;
}

static void read_line(struct golden *g, char *line)
{
	uint64_t offset, cie, start, end;
	char *words[COLUMNS];
	int n;

	if (strstr(line, " FDE ") &&
	    sscanf(line, "%" SCNx64 " %*x %*x FDE cie=%" SCNx64 " pc=%" SCNx64 "..%" SCNx64,
		   &offset, &cie, &start, &end) == 4) {
		end_record(g);
		begin_fde(g, cie, start, end);
		return;
	}
	if (strstr(line, " CIE \"")) {
		end_record(g);
		g->cie_offset = strtoull(line, NULL, 16);
		ck_assert_ptr_nonnull(strstr(line, " ra="));
		g->ra_reg = atoi(strstr(line, " ra=") + 4);
		g->in_cie = true;
		return;
	}
	n = split(line, words);
	if (n && !strcmp(words[0], "LOC"))
		read_columns(g, words, n);
	else if (n > 1 && strlen(words[0]) == 16 && strspn(words[0], "0123456789abcdef") == 16)
		read_row(g, words, n);
}

static int by_start(const void *a, const void *b)
{
	const struct fde *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* It has no rule, or one that was computed. */
static bool is_of_no_fde(const struct golden *g, uint64_t addr)
{
	const struct unwind_rule *rule = unwind_table_rule(g->table, addr);

	return rule->kind == UNWIND_NO_ROW || rule->flags & UNWIND_COMPUTED;
}

/* What lies between functions is no function, unless it is as short as padding. */
static void compare_gaps(struct golden *g)
{
	qsort(g->fdes, g->nfdes, sizeof(*g->fdes), by_start);
	for (size_t i = 0; i + 1 < g->nfdes; i++) {
		uint64_t end = g->fdes[i].end, next = g->fdes[i + 1].start;

		if (next < end + 16)
			continue;
		if (!is_of_no_fde(g, end) || !is_of_no_fde(g, next - 1) ||
		    unwind_table_fde_start(g->table, end, &next) != -ENOENT)
			ck_abort_msg("%" PRIx64 " is of no function", end);
	}
	ck_assert(is_of_no_fde(g, g->fdes[0].start - 1));
	ck_assert(is_of_no_fde(g, g->fdes[g->nfdes - 1].end));
}

/* The table of the file at @path, against the frames that are in the one at @frames_path. */
static void compare_files(const char *path, const char *frames_path)
{
	struct golden *g = calloc(1, sizeof(*g));
	char command[PATH_MAX + 64], *line = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t size = 0;
	FILE *p;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(unwind_table_build(&g->table, fd), 0);
	close(fd);
	snprintf(command, sizeof(command), "readelf --debug-dump=frames-interp '%s' 2>/dev/null",
		 frames_path);
	p = popen(command, "r");
	ck_assert_ptr_nonnull(p);
	while (getline(&line, &size, p) > 0)
		read_line(g, line);
	end_record(g);
	pclose(p); /* it warns, and fails, of much that is none of our business */
	ck_assert_uint_gt(g->nfdes, 0);
	ck_assert_uint_eq(g->nfdes, g->table->nfdes);
	ck_assert_uint_ge(g->compared, 2 * g->nfdes);
	ck_assert_uint_eq(g->table->stats.bad_fdes, 0);
	compare_gaps(g);
	/*
	 * In glibc, OpenSSL and large frames of arm64, a few instructions each: what UNWIND_UNSUP
	 * stands for must stay rare.
	 */
	ck_assert_uint_le(g->unsup, 16);
	printf("%s: %zu FDEs, %zu places compared\n", path, g->nfdes, g->compared);
	unwind_table_free(g->table);
	free(g->fdes);
	free(line);
	free(g);
}

static void compare_file(const char *path)
{
	compare_files(path, path);
}

static const char *const patterns[] = {
	"/usr/bin/python3",
	"/usr/lib/x86_64-linux-gnu/libLLVM-1[0-9].so.1",
	"/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
	"/usr/bin/node",
	"/usr/bin/perl",
	"/usr/aarch64-linux-gnu/lib/libc.so.6",
	"/usr/riscv64-linux-gnu/lib/libc.so.6",
};

START_TEST(test_installed)
{
	glob_t found;

	if (glob(patterns[_i], 0, NULL, &found)) {
		printf("skip %s (not installed)\n", patterns[_i]);
		return;
	}
	compare_file(found.gl_pathv[0]);
	globfree(&found);
}
END_TEST

START_TEST(test_libc)
{
	Dl_info info;

	ck_assert(dladdr((void *)(uintptr_t)getpid, &info));
	compare_file(info.dli_fname);
}
END_TEST

/* Code of AArch64 that signs its return addresses. */
START_TEST(test_signed)
{
	char dir[] = "/tmp/rawprof-golden-XXXXXX", path[64], command[512];
	int fd, signs = 0;
	struct unwind_table *t;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/signed.so", dir);
	snprintf(command, sizeof(command),
		 "echo 'int g(int); int f(int n) { char p[n]; return g(p[g(n)]) + n; }' |"
		 "aarch64-linux-gnu-gcc -shared -fPIC -O2 -nostdlib -mbranch-protection=pac-ret"
		 " -o %s -xc - 2>/dev/null",
		 path);
	if (system(command)) {
		printf("skip signed return addresses (no aarch64-linux-gnu-gcc)\n");
		rmdir(dir);
		return;
	}
	compare_file(path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(unwind_table_build(&t, fd), 0);
	close(fd);
	for (uint32_t i = 0; i < t->nrules; i++)
		signs += !!(t->rules[i].flags & UNWIND_RA_SIGNED);
	ck_assert_int_ge(signs, 2);
	unwind_table_free(t);
	unlink(path);
	rmdir(dir);
}
END_TEST

/* ---- .debug_frame, where there is no .eh_frame */

static const struct debug_frame_case {
	const char *what, *options;
	bool is_separate;
	const char *section; /* that it is in */
} debug_frame_cases[] = {
	{ "plain", "-gz=none", false, "\\.debug_frame .*[^C] +0 " },
	{ "compressed", "-gz=zlib", false, "\\.debug_frame .* C +0 " },
	{ "compressed as it was before", "-gz=zlib-gnu", false, "\\.zdebug_frame " },
	{ "in a separate file", "-gz=none", true, "\\.debug_frame " },
	{ "in a separate file, compressed", "-gz=zlib", true, "\\.debug_frame .* C +0 " },
	{ "without frame pointers' help", "-gz=none -O0 -fomit-frame-pointer", false,
	  "\\.debug_frame " },
	{ "of version 4", "-gz=none -gdwarf-5", false, "\\.debug_frame " },
};

static bool runs(const char *dir, const char *format, ...)
{
	char command[2048];
	va_list args;
	int n = snprintf(command, sizeof(command), "cd '%s' && ", dir);

	va_start(args, format);
	vsnprintf(command + n, sizeof(command) - n, format, args);
	va_end(args);
	return !system(command);
}

static const char source[] =
	"__attribute__((visibility(\"hidden\"))) int g(int, char *);\n"
	"int f(int n) { char p[n]; p[0] = n; return g(p[n / 2], p) + n; }\n"
	"int h(int n) { char p[300]; return n ? h(n - 1) + g(n, p) : f(n); }\n"
	"int g(int n, char *p) { return n > 3 ? g(n - 1, p) * g(n - 2, p + 1) : *p; }\n";

START_TEST(test_debug_frame)
{
	const struct debug_frame_case *c = &debug_frame_cases[_i];
	char dir[] = "/tmp/rawprof-golden-XXXXXX", path[64], debug_path[80];
	const char *debug = c->is_separate ? "t.so.debug" : "t.so";
	FILE *f;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/t.c", dir);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fputs(source, f);
	fclose(f);
	if (!runs(dir,
		  "gcc -shared -fPIC -nostdlib -g -O2 -fno-asynchronous-unwind-tables "
		  "-fno-unwind-tables "
		  "-Wl,--no-ld-generated-unwind-info,--build-id=none %s -o t.so t.c 2>err",
		  c->options)) {
		printf("skip .debug_frame, %s (no gcc that makes it)\n", c->what);
		goto out;
	}
	ck_assert(!c->is_separate || runs(dir,
					  "objcopy --only-keep-debug t.so %s && strip t.so && "
					  "objcopy --add-gnu-debuglink=%s t.so",
					  debug, debug));
	ck_assert(runs(dir, "! readelf -SW t.so | grep -q eh_frame"));
	ck_assert_msg(runs(dir, "readelf -SW %s | grep -qE '%s'", debug, c->section), "%s",
		      c->what);
	snprintf(path, sizeof(path), "%s/t.so", dir);
	snprintf(debug_path, sizeof(debug_path), "%s/%s", dir, debug);
	compare_files(path, debug_path);
out:
	ck_assert(runs("/", "rm -r %s", dir));
}
END_TEST

START_TEST(test_self)
{
	char path[PATH_MAX] = "";

	ck_assert_int_gt(readlink("/proc/self/exe", path, sizeof(path) - 1), 0);
	compare_file(path);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("unwind tables and readelf");
	TCase *t = tcase_create("golden");
	SRunner *r = srunner_create(s);
	int failed;

	suite_add_tcase(s, t);
	tcase_set_timeout(t, 120);
	tcase_add_test(t, test_libc);
	tcase_add_test(t, test_self);
	tcase_add_test(t, test_signed);
	tcase_add_loop_test(t, test_debug_frame, 0,
			    sizeof(debug_frame_cases) / sizeof(debug_frame_cases[0]));
	tcase_add_loop_test(t, test_installed, 0, sizeof(patterns) / sizeof(patterns[0]));
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
