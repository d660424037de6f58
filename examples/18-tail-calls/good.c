/* SPDX-License-Identifier: BSD-2-Clause */
/* A program goes over into another, and does not come back. */
#include "../lesson.h"

static const struct asm_map maps[] = {
	{ "next", BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 4 },
	{ "runs", BPF_MAP_TYPE_ARRAY, 4, 8, 1 },
	{ "events", BPF_MAP_TYPE_RINGBUF, 0, 0, 4096 },
};

/* R1 is the context still; if there is nobody at the index, the next line is run. */
#define GO(index) LD_MAP(R2, next), MOV(R3, index), CALL(tail_call)

/* Hands over to number 1. */
static const struct asm_insn first_lines[] = {
	GO(1),
	MOV(R0, 100), /* there was none */
	EXIT(),
};
static const struct asm_program first = {
	.name = "first",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(first_lines),
};

/* Number 1. */
static const struct asm_insn second_lines[] = {
	MOV(R0, 200),
	EXIT(),
};
static const struct asm_program second = {
	.name = "second",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(second_lines),
};

/* Number 2, and hands over to number 2: itself. */
static const struct asm_insn again_lines[] = {
	LD_MAP_VALUE(R6, runs, 0),
	MOV(R2, 1),
	ATOMIC_ADD(DW, R6, 0, R2),
	GO(2),
	LDX(DW, R0, R6, 0),
	EXIT(),
};
static const struct asm_program again = {
	.name = "again",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(again_lines),
};

const struct lesson_program lesson_good[] = {
	{ &first, maps, 3, "goes over to number 1" },
	{ &second, maps, 3, "is number 1" },
	{ &again, maps, 3, "goes over to itself" },
	{ 0 },
};

static void put(int map, uint32_t index, int fd)
{
	must(rp_map_update(map, &index, &(uint32_t){ (uint32_t)fd }, BPF_ANY),
	     "putting a program in the map");
}

/* All programs of one array are of one kind. */
static void put_other_kind(int map)
{
	static const struct asm_insn lines[] = { MOV(R0, 0), EXIT() };
	static const struct asm_program sampled = {
		.name = "sampled", .type = BPF_PROG_TYPE_PERF_EVENT, ASM_LINES(lines)
	};
	int fd = must(rp_program_load(&sampled, NULL), "sampled");
	int err = rp_map_update(map, &(uint32_t){ 3 }, &(uint32_t){ (uint32_t)fd }, BPF_ANY);

	printf("a perf event program in an array of socket filters: %s\n",
	       err ? strerror(-err) : "taken");
	close(fd);
}

int main(void)
{
	int fds[3], first_fd, second_fd, again_fd;

	lesson_begin("A program hands over to itself. How often?");
	must(rp_maps_create(maps, 3, fds), "maps");
	lesson_refused(fds);

	first_fd = lesson_load(&lesson_good[0], fds);
	second_fd = lesson_load(&lesson_good[1], fds);
	again_fd = lesson_load(&lesson_good[2], fds);
	printf("nobody is number 1 yet:   first returns %u\n", lesson_run(first_fd));
	put(fds[0], 1, second_fd);
	printf("second is number 1:       first returns %u\n", lesson_run(first_fd));
	put(fds[0], 1, again_fd);
	put(fds[0], 2, again_fd);
	printf("again is number 2:        again returns %u\n", lesson_run(again_fd));
	put_other_kind(fds[0]);
	close(first_fd);
	close(second_fd);
	close(again_fd);
	rp_fds_close(fds, 3);
	return 0;
}
