/* SPDX-License-Identifier: BSD-2-Clause */
/* 1024 different stacks, kept in four ways. How many are there afterwards? */
#include <unistd.h>

#include "../lesson.h"

enum { FRAMES = 24 };
struct frame {
	uint64_t one;
	uint64_t stack[FRAMES]; /* a whole stack, as a key */
};
enum {
	ONE = FRAME(struct frame, one),
	STACK = FRAME(struct frame, stack),
};
struct stats {
	uint64_t kept, lost;
};

static const struct asm_map maps[] = {
	{ "stacks", BPF_MAP_TYPE_STACK_TRACE, 4, FRAMES * 8, 1024 },
	{ "exact", BPF_MAP_TYPE_HASH, FRAMES * 8, 8, 4096 },
	{ "stats", BPF_MAP_TYPE_ARRAY, 4, sizeof(struct stats), 1 },
};
enum {
	STACKS,
	EXACT,
	STATS,
	MAPS,
};

/* The kernel keeps the stack and returns a number of 10 bits for it, or a negative errno. */
#define STACK_BY_ID(flags)                                                               \
	LD_MAP(R2, stacks), MOV(R3, (flags) | BPF_F_USER_STACK), CALL(get_stackid),      \
		JSLT(R0, 0, lost), COUNT(stats, struct stats, kept), MOV(R0, 0), EXIT(), \
		LABEL(lost), COUNT(stats, struct stats, lost), MOV(R0, 0), EXIT()

static const struct asm_insn by_id_lines[] = {
	STACK_BY_ID(0),
};
static const struct asm_program by_id = {
	.name = "by_id",
	.type = BPF_PROG_TYPE_KPROBE,
	.license = "GPL",
	ASM_LINES(by_id_lines),
};

static const struct asm_insn by_id_reused_lines[] = {
	STACK_BY_ID(BPF_F_REUSE_STACKID),
};
static const struct asm_program by_id_reused = {
	.name = "by_id_reused",
	.type = BPF_PROG_TYPE_KPROBE,
	.license = "GPL",
	ASM_LINES(by_id_reused_lines),
};

/* There is no flag of this value, and the flags are only looked at when the program runs. */
static const struct asm_insn no_such_flag_lines[] = {
	STACK_BY_ID(1 << 12),
};
static const struct asm_program no_such_flag = {
	.name = "no_such_flag",
	.type = BPF_PROG_TYPE_KPROBE,
	.license = "GPL",
	ASM_LINES(no_such_flag_lines),
};

/* get_stack writes the stack where we say; then it is the key, all of it. */
static const struct asm_insn by_contents_lines[] = {
	ZERO_FRAME(struct frame),
	ST(DW, R10, ONE, 1),
	FRAME_PTR(R2, STACK),
	MOV(R3, FRAMES * 8),
	MOV(R4, BPF_F_USER_STACK),
	CALL(get_stack),
	JSLT(R0, 0, lost),
	MAP_ADD(exact, STACK, ONE),
	JNE(R0, 0, lost),
	COUNT(stats, struct stats, kept),
	MOV(R0, 0),
	EXIT(),
	LABEL(lost),
	COUNT(stats, struct stats, lost),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program by_contents = {
	.name = "by_contents",
	.type = BPF_PROG_TYPE_KPROBE,
	.license = "GPL",
	ASM_LINES(by_contents_lines),
};

const struct lesson_program lesson_good[] = {
	{ &by_id, maps, MAPS, "stacks by id: a stack whose place is taken is refused" },
	{ &by_id_reused, maps, MAPS, "stacks by id: it takes the place" },
	{ &no_such_flag, maps, MAPS, "stacks by id, with a flag that does not exist" },
	{ &by_contents, maps, MAPS, "stacks by their contents" },
	{ 0 },
};

/* ---- 1024 ways to go ten steps, left or right, and to arrive at the same place */

/* The comments in assembly keep the compiler from leaving functions out, or making one of two. */

static __attribute__((noinline)) void arrive(void)
{
	__asm__("/* arrive */");
}

/* A probe at the entry of arrive() misses its immediate caller: that is this one. */
static __attribute__((noinline)) void knock(void)
{
	arrive();
	__asm__("/* knock */");
}

static void right(int way, int steps);

static __attribute__((noinline)) void left(int way, int steps)
{
	if (!steps)
		knock();
	else if (way & 1)
		left(way >> 1, steps - 1);
	else
		right(way >> 1, steps - 1);
	__asm__("/* left */");
}

static __attribute__((noinline)) void right(int way, int steps)
{
	if (!steps)
		knock();
	else if (way & 1)
		left(way >> 1, steps - 1);
	else
		right(way >> 1, steps - 1);
	__asm__("/* right */");
}

static uint64_t offset_in_file(const void *function)
{
	const unsigned long addr = (unsigned long)function;
	unsigned long start, end, offset, found = 0;
	char line[512];
	FILE *file = fopen("/proc/self/maps", "re");

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 && start <= addr &&
		    addr < end)
			found = addr - start + offset;
	if (file)
		fclose(file);
	return found;
}

static int count_stack(void *ctx, const void *key, const void *value)
{
	(void)key;
	(void)value;
	++*(int *)ctx;
	return 0;
}

static void walk_all_ways(const struct lesson_program *entry)
{
	const struct rp_uprobe probe = { .path = "/proc/self/exe",
					 .offset = offset_in_file((void *)arrive),
					 .pid = getpid() };
	const int where = entry->program == &by_contents ? EXACT : STACKS;
	int fds[MAPS], fd, there = 0;
	struct rp_link *link;
	struct stats stats;

	must(rp_maps_create(maps, MAPS, fds), "maps");
	fd = lesson_load(entry, fds);
	must(rp_attach_uprobe(fd, &probe, &link), "attach");
	for (int way = 0; way < 1024; way++)
		left(way, 10);
	rp_link_close(link);
	close(fd);
	must(rp_map_lookup(fds[STATS], &(uint32_t){ 0 }, &stats), "look-up");
	must(rp_map_each(fds[where], &maps[where], count_stack, &there), "map");
	printf("%-14s %4llu kept, %4llu lost, %4d in the map\n", entry->program->name,
	       (unsigned long long)stats.kept, (unsigned long long)stats.lost, there);
	rp_fds_close(fds, MAPS);
}

int main(void)
{
	int fds[MAPS];

	lesson_begin("1024 different stacks, a map with room for 1024. How many does it hold then?");
	must(rp_maps_create(maps, MAPS, fds), "maps");
	lesson_refused(fds);
	rp_fds_close(fds, MAPS);
	printf("--- what the verifier does not check: what becomes of the stacks\n");
	for (const struct lesson_program *entry = lesson_good; entry->program; entry++)
		walk_all_ways(entry);
	return 0;
}
