/* SPDX-License-Identifier: BSD-2-Clause */
/* Which system calls does this machine make? Counts them all for one second. */
#include "../lesson.h"

enum { NUMBERS = 512 };
static const struct asm_map maps[] = {
	{ "calls", BPF_MAP_TYPE_ARRAY, 4, 8, NUMBERS },
	{ "small", BPF_MAP_TYPE_HASH, 4, 8, 8 },
};

struct frame {
	uint32_t pad;
	uint32_t number; /* the key */
};
enum { NUMBER = FRAME(struct frame, number) };

static const struct asm_insn count_calls_lines[] = {
	LD_TP(R6, R1, "raw_syscalls", "sys_enter", "id"),
	STX(W, R10, NUMBER, R6),
	LD_MAP(R1, calls),
	FRAME_PTR(R2, NUMBER), /* the address of the key */
	CALL(map_lookup_elem),
	JEQ(R0, 0, out), /* no such element: the number is 512 or more */
	MOV(R1, 1),
	ATOMIC_ADD(DW, R0, 0, R1),
	LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program count_calls = {
	.name = "count_calls",
	.type = BPF_PROG_TYPE_TRACEPOINT,
	ASM_LINES(count_calls_lines),
};

/* Stores under 100 keys in a map that has room for 8, and looks at no result. */
static const struct asm_insn overfill_lines[] = {
	MOV(R6, 0),
	LABEL(next),
	STX(W, R10, -4, R6),
	STX(DW, R10, -16, R6),
	MAP_UPDATE(small, -4, -16, BPF_ANY),
	ADD(R6, 1),
	JLT(R6, 100, next),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program overfill = {
	.name = "overfill",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(overfill_lines),
};

const struct lesson_program lesson_good[] = {
	{ &count_calls, maps, 2, "counts system calls by number" },
	{ &overfill, maps, 2, "overfills a map, and does not notice" },
	{ 0 },
};

static void print_most(int map)
{
	uint64_t count[NUMBERS];

	for (uint32_t i = 0; i < NUMBERS; i++)
		must(rp_map_lookup(map, &i, &count[i]), "look-up");
	printf("system calls of one second, most first:\n");
	for (int n = 0; n < 5; n++) {
		uint32_t most = 0;

		for (uint32_t i = 1; i < NUMBERS; i++)
			if (count[i] > count[most])
				most = i;
		if (!count[most])
			break;
		printf("    number %3u: %llu times\n", most, (unsigned long long)count[most]);
		count[most] = 0;
	}
}

static int count_entry(void *ctx, const void *key, const void *value)
{
	(void)key;
	(void)value;
	++*(int *)ctx;
	return 0;
}

int main(void)
{
	unsigned char packet[64] = { 0 };
	struct rp_test_run run = { .data_in = packet, .data_size_in = sizeof(packet) };
	struct rp_link *link;
	int fds[2], fd, entries = 0;

	lesson_begin("What does a look-up return for a key that is not there?");
	must(rp_maps_create(maps, 2, fds), "maps");
	lesson_refused(fds);

	link = lesson_attach(&lesson_good[0], fds, "raw_syscalls", "sys_enter");
	sleep(1);
	rp_link_close(link);
	print_most(fds[0]);

	printf("--- what the verifier does not check: that you look at the result of an update\n");
	fd = lesson_load(&lesson_good[1], fds);
	must(rp_prog_test_run(fd, &run), "test run");
	must(rp_map_each(fds[1], &maps[1], count_entry, &entries), "map");
	printf("stored under 100 keys; the map holds %d; the program returned %u\n", entries,
	       run.retval);
	rp_fds_close(fds, 2);
	return 0;
}
