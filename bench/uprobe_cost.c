/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * uprobe_cost: what a probe costs, by the instruction under it and by the way it is attached, as a
 * table. Root. Each row is the median of several rounds, the unprobed calls taken off; the program
 * adds one to a counter. x86-64 has a function for each kind of instruction; the rows of libc are
 * there on every machine.
 */
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <linux/bpf_perf_event.h>
#include <rawprof/loader.h>
#include <rawprof/macros.h>
#include <rawprof/symbolize.h>
#include <rawprof/uprobe.h>

enum { CALLS = 50000, ROUNDS = 5 };

static const struct asm_map maps[] = { { "hits", BPF_MAP_TYPE_ARRAY, 4, 8, 1 } };

static const struct asm_insn count_lines[] = {
	LD_MAP_VALUE(R1, hits, 0), MOV(R2, 1), ATOMIC_ADD(DW, R1, 0, R2), MOV(R0, 0), EXIT(),
};
/* A session's program whose answer says that the return is of no interest. */
static const struct asm_insn skip_lines[] = {
	LD_MAP_VALUE(R1, hits, 0), MOV(R2, 1), ATOMIC_ADD(DW, R1, 0, R2), MOV(R0, 1), EXIT(),
};

static int load(enum rp_uprobe_way way, bool skip, int map)
{
	const struct asm_program count = { .name = "count",
					   .license = "Dual BSD/GPL",
					   .type = BPF_PROG_TYPE_KPROBE,
					   .attach_type = rp_uprobe_attach_type(way),
					   ASM_LINES(count_lines) };
	const struct asm_program pass = { .name = "pass",
					  .license = "Dual BSD/GPL",
					  .type = BPF_PROG_TYPE_KPROBE,
					  .attach_type = rp_uprobe_attach_type(way),
					  ASM_LINES(skip_lines) };
	const struct asm_bindings bind = { .maps = maps, .nmaps = 1, .map_fds = &map };

	return rp_program_load(skip ? &pass : &count, &bind);
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Nanoseconds of one call. */
static double measure(void (*call)(void))
{
	double round[ROUNDS];

	for (int r = 0; r < ROUNDS; r++) {
		const uint64_t start = now();

		for (int i = 0; i < CALLS; i++)
			call();
		round[r] = (double)(now() - start) / CALLS;
	}
	qsort(round, ROUNDS, sizeof(round[0]), compare);
	return round[ROUNDS / 2];
}

struct row {
	const char *text;
	const char *file, *function;
	uint32_t offset; /* from the entry */
	enum rp_uprobe_way way;
	bool at_return, skip;
	void (*call)(void);
};

static int find(const struct row *r, int fd, struct sym_functions **out)
{
	int err = fd < 0 ? -ENOENT : sym_functions_find(fd, &r->function, 1, out);

	if (!err && !(*out)->count) {
		sym_functions_free(*out);
		err = -ENOENT;
	}
	return err;
}

static void print_row(const struct row *r)
{
	const int fd = open(r->file, O_RDONLY | O_CLOEXEC), map = rp_map_create(maps);
	const int prog = load(r->way, r->skip, map);
	struct sym_functions *found;
	struct rp_uprobes *probes;
	uint64_t offset, hits = 0;
	uint32_t zero = 0;
	double bare, probed;

	if (find(r, fd, &found)) {
		printf("| %s | no %s in %s | |\n", r->text, r->function, r->file);
		return;
	}
	offset = found->items[0].offset + r->offset;
	const struct rp_uprobe_set set = { .way = r->way,
					   .fd = fd,
					   .offsets = &offset,
					   .n = 1,
					   .pid = getpid(),
					   .at_return = r->at_return,
					   .prog_fds = &prog,
					   .nprogs = 1 };

	bare = measure(r->call);
	if (rp_attach_uprobes(&set, &probes)) {
		printf("| %s | cannot be attached | |\n", r->text);
	} else {
		r->call();
		probed = measure(r->call);
		rp_uprobes_close(probes);
		rp_map_lookup(map, &zero, &hits);
		printf("| %s | %.0f | %.2f |\n", r->text, probed - bare,
		       (double)hits / (CALLS * ROUNDS + 1));
	}
	fflush(stdout);
	sym_functions_free(found);
	close(prog);
	close(map);
	close(fd);
}

/* ---- one function for each instruction */

#ifdef __x86_64__

/* FUNCTION(name, its first instruction, what undoes it) */
#define FUNCTION(name, first, rest)                                                                \
	__asm__(".text\n.p2align 5\n.globl uc_" #name "\n.type uc_" #name ", @function\nuc_" #name \
		":\n" first "\n" rest "\nret\n.size uc_" #name ", . - uc_" #name "\n");            \
	void uc_##name(void);

#define FUNCTIONS(X)                                                                               \
	X(nop, "nop", "", "nop")                                                                   \
	X(nop2, ".byte 0x66, 0x90", "", "nop, 2 bytes")                                            \
	X(nop4, ".byte 0x0f, 0x1f, 0x40, 0", "", "nop, 4 bytes")                                   \
	X(nop5, ".byte 0x0f, 0x1f, 0x44, 0, 0", "", "nop, 5 bytes")                                \
	X(nop9, ".byte 0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0", "", "nop, 9 bytes")                 \
	X(endbr, "endbr64", "", "endbr64")                                                         \
	X(push, "push %rbp", "pop %rbp", "push %rbp")                                              \
	X(push12, "push %r12", "pop %r12", "push %r12")                                            \
	X(call, "call 1f\n1:", "add $8, %rsp", "call, 32 bits")                                    \
	X(jmp8, "jmp 1f\n1:", "", "jmp, 8 bits")                                                   \
	X(jmp32, ".byte 0xe9, 0, 0, 0, 0", "", "jmp, 32 bits")                                     \
	X(jcc8, "je 1f\n1:", "", "je, 8 bits")                                                     \
	X(jcc32, ".byte 0x0f, 0x84, 0, 0, 0, 0", "", "je, 32 bits")                                \
	X(test, "test %rdi, %rdi", "", "test %rdi, %rdi")                                          \
	X(mov, "mov %rdi, %rax", "", "mov %rdi, %rax")                                             \
	X(xor, "xor %eax, %eax", "", "xor %eax, %eax")                                             \
	X(lea, "lea 8(%rdi), %rax", "", "lea 8(%rdi), %rax")                                       \
	X(sub, "sub $24, %rsp", "add $24, %rsp", "sub $24, %rsp")                                  \
	X(ret, "ret", "", "ret")                                                                   \
	X(load, "mov uc_load(%rip), %rax", "", "mov, of a global")

#define DEFINE(name, first, rest, text) FUNCTION(name, first, rest)
FUNCTIONS(DEFINE)

static void print_instructions(enum rp_uprobe_way way)
{
#define ROW(name, first, rest, text_)                                                              \
	{ .text = text_,                                                                           \
	  .file = "/proc/self/exe",                                                                \
	  .function = "uc_" #name,                                                                 \
	  .way = way,                                                                              \
	  .call = uc_##name },
	/* clang-format off */
	const struct row rows[] = { FUNCTIONS(ROW) };
	/* clang-format on */

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		print_row(&rows[i]);
}

/* A push first and a ret at +2, so that entry and return can be told apart. */
static void print_returns(enum rp_uprobe_way way)
{
	struct row row = { .text = "entry on push",
			   .file = "/proc/self/exe",
			   .function = "uc_push",
			   .way = way,
			   .call = uc_push };

	print_row(&row);
	row.text = "uretprobe";
	row.at_return = true;
	print_row(&row);
	row.text = "a probe on the ret instead";
	row.at_return = false;
	row.offset = 2;
	print_row(&row);
	row.text = "uretprobe, function begins with test";
	row.at_return = true;
	row.offset = 0;
	row.function = "uc_test";
	row.call = uc_test;
	print_row(&row);
	row = (struct row){ .text = "session, entry and return",
			    .file = "/proc/self/exe",
			    .function = "uc_push",
			    .way = RP_UPROBE_SESSION,
			    .call = uc_push };
	if (rp_uprobe_way(getpid(), true) != RP_UPROBE_SESSION)
		return;
	print_row(&row);
	row.text = "session, the entry declines the return";
	row.skip = true;
	print_row(&row);
}

#else
static void print_instructions(enum rp_uprobe_way way)
{
	(void)way;
}
static void print_returns(enum rp_uprobe_way way)
{
	(void)way;
}
#endif

/* ---- libc's allocator */

static void pair(void)
{
	void *volatile p = malloc(100);

	free(p);
}

static const char *libc_path(void)
{
	static char path[4096];
	char line[4096 + 128];
	FILE *f = fopen("/proc/self/maps", "r");

	while (f && fgets(line, sizeof(line), f)) {
		const char *at = strchr(line, '/');

		if (at && strstr(at, "/libc.so.6"))
			snprintf(path, sizeof(path), "%.*s", (int)strcspn(at, "\n"), at);
	}
	if (f)
		fclose(f);
	return path;
}

static void print_libc(enum rp_uprobe_way way, const char *function)
{
	struct row row = { .file = libc_path(), .function = function, .way = way, .call = pair };
	const int fd = open(row.file, O_RDONLY | O_CLOEXEC);
	struct sym_functions *found;
	struct rp_place place;
	struct rp_code *code;
	char text[256];

	if (find(&row, fd, &found))
		return;
	const struct rp_function f = { .offset = found->items[0].offset,
				       .size = found->items[0].size,
				       .alone = found->items[0].alone,
				       .nargs = 1,
				       .with_return = true };
	if (!rp_code_open(fd, found->machine, found->text_offset, found->text_size, &code)) {
		const uint64_t start = now();
		const int err = rp_code_entry(code, &f, &place);
		const double us = (double)(now() - start) / 1000;

		rp_code_close(code);
		if (!err) {
			row.text = text;
			snprintf(text, sizeof(text), "%s+0", function);
			print_row(&row);
			row.offset = place.offset;
			snprintf(text, sizeof(text), "%s, chosen in %.0f us: %s", function, us,
				 place.why);
			print_row(&row);
			row.at_return = true;
			snprintf(text, sizeof(text), "%s, uretprobe there", function);
			print_row(&row);
			row.offset = 0;
			snprintf(text, sizeof(text), "%s, uretprobe at +0", function);
			print_row(&row);
		}
	}
	sym_functions_free(found);
	close(fd);
}

int main(void)
{
	const enum rp_uprobe_way way = rp_uprobe_way(getpid(), false);

	if (way == RP_UPROBE_NONE) {
		printf("no uprobes here\n");
		return 0;
	}
	printf("A probe by %s, %d calls, median of %d.\n\n", rp_uprobe_way_name(way), CALLS,
	       ROUNDS);
	printf("| instruction under the probe | ns added | hits a call |\n|---|---|---|\n");
	print_instructions(way);
	printf("\n| entry and return | ns added | hits a call |\n|---|---|---|\n");
	print_returns(way);
	printf("\n| malloc and free, ns added a pair | ns added | hits a pair |\n|---|---|---|\n");
	print_libc(way, "malloc");
	print_libc(way, "free");
	if (way != RP_UPROBE_PERF_LINK) {
		printf("\n| the same by %s | | |\n|---|---|---|\n",
		       rp_uprobe_way_name(RP_UPROBE_PERF_LINK));
		print_libc(RP_UPROBE_PERF_LINK, "free");
	}
	return 0;
}
