/* SPDX-License-Identifier: BSD-2-Clause */
/* Who started this process? And who started that? Follows the kernel's own pointers. */
#include "../lesson.h"

enum { MOST = 8 };
struct ancestor {
	uint64_t tgid;
	char comm[16];
};
struct found {
	struct ancestor ancestor[MOST];
	uint32_t guessed, unused; /* what lies at an offset that was right elsewhere */
};
static const struct asm_map found_map = {
	"found", BPF_MAP_TYPE_ARRAY, 4, sizeof(struct found), 1
};

static const struct asm_insn ancestors_lines[] = {
	CALL(get_current_task_btf),
	MOV_REG(R6, R0),
	LD_MAP_VALUE(R7, found, 0),
	MOV(R8, 0),

	LABEL(next),
	LD_FIELD(R1, R6, "task_struct", "tgid"),
	STX(DW, R7, offsetof(struct ancestor, tgid), R1),

	/* comm is an array: copied, and not loaded. */
	MOV_REG(R1, R7),
	ADD(R1, offsetof(struct ancestor, comm)),
	FIELD_SIZE(R2, "task_struct", "comm"),
	MOV_REG(R3, R6),
	ADD_FIELD_OFFSET(R3, "task_struct", "comm"),
	CALL(probe_read_kernel),

	LD_FIELD(R6, R6, "task_struct", "real_parent"),
	ADD(R7, sizeof(struct ancestor)),
	ADD(R8, 1),
	JLT(R8, MOST, next),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program ancestors = {
	.name = "ancestors",
	.type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.license = "GPL",
	ASM_LINES(ancestors_lines),
};

/* Where tgid lies in the kernel of some tutorial: a number copied from there. */
static const struct asm_insn guess_lines[] = {
	CALL(get_current_task_btf),
	MOV_REG(R3, R0),
	ADD(R3, 1256),
	LD_MAP_VALUE(R1, found, offsetof(struct found, guessed)),
	MOV(R2, 4),
	CALL(probe_read_kernel),
	EXIT(),
};
static const struct asm_program guess = {
	.name = "guess",
	.type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.license = "GPL",
	ASM_LINES(guess_lines),
};

const struct lesson_program lesson_good[] = {
	{ &ancestors, &found_map, 1, "the process and its ancestors" },
	{ &guess, &found_map, 1, "what lies where another kernel has tgid" },
	{ 0 },
};

static void run(const struct lesson_program *entry, const int *map)
{
	struct rp_test_run run = { 0 };
	int fd = lesson_load(entry, map);

	must(rp_prog_test_run(fd, &run), "test run");
	close(fd);
}

int main(void)
{
	const struct rp_btf *btf;
	struct asm_access tgid;
	struct found found;
	int map;

	lesson_begin("At which offset does this kernel keep a task's process id?");
	map = must(rp_map_create(&found_map), "map");
	lesson_refused(&map);

	must(rp_btf_kernel(&btf), "BTF");
	must(rp_btf_access(btf, "task_struct", "tgid", &tgid, NULL), "task_struct.tgid");
	printf("at %u, %u bytes wide; a task has %d bytes\n", tgid.hop[0].offset, tgid.hop[0].size,
	       rp_btf_size(btf, "task_struct"));

	run(&lesson_good[0], &map);
	run(&lesson_good[1], &map);
	must(rp_map_lookup(map, &(uint32_t){ 0 }, &found), "look-up");
	for (int i = 0; i < MOST; i++) {
		const struct ancestor *a = &found.ancestor[i];

		printf("%*s%s (%llu)\n", 2 * i, "", a->comm, (unsigned long long)a->tgid);
		if (a->tgid <= 1)
			break;
	}
	printf("--- what the verifier does not check: that an address is the one you mean\n");
	printf("the number at 1256 is %u; this process is %d\n", found.guessed, getpid());
	close(map);
	return 0;
}
