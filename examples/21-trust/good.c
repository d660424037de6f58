/* SPDX-License-Identifier: BSD-2-Clause */
/* How far a pointer of the kernel may be trusted, and for how long. */
#include <linux/btf.h>

#include "../lesson.h"

static const struct asm_map seen = { "seen", BPF_MAP_TYPE_ARRAY, 4, 32, 1 };

/* Three pointers to a task. */
static const struct asm_insn on_switch_lines[] = {
	LDX(DW, R6, R1, 8), /* the argument prev: a task, trusted */
	LD_MAP_VALUE(R9, seen, 0),
	LD_FIELD(R2, R6, "task_struct", "tgid"),
	STX(DW, R9, 0, R2),
	LD_FIELD(R7, R6, "task_struct", "real_parent"), /* RCU keeps it until we return */
	LD_FIELD(R2, R7, "task_struct", "tgid"),
	STX(DW, R9, 8, R2),
	LD_FIELD(R8, R7, "task_struct", "last_wakee"), /* nobody keeps that */
	LD_FIELD(R2, R8, "task_struct", "tgid"),       /* what is there, or 0 */
	STX(DW, R9, 16, R2),
	MOV_REG(R1, R7),
	CALL_KFUNC(bpf_task_acquire), /* as it may just be ending: the task, or 0 */
	JEQ(R0, 0, out),
	MOV_REG(R1, R0),
	CALL_KFUNC(bpf_task_release),
	LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program on_switch = {
	.name = "on_switch",
	.type = BPF_PROG_TYPE_TRACING,
	.attach_type = BPF_TRACE_RAW_TP,
	.target = "sched_switch",
	.license = "GPL",
	ASM_LINES(on_switch_lines),
};

const struct lesson_program lesson_good[] = {
	{ &on_switch, &seen, 1, "a task, its parent, and whom that woke last" },
	{ 0 },
};

int main(void)
{
	const struct rp_btf *btf;
	struct rp_link *link;
	uint64_t found[4];
	int map, fd;

	lesson_begin("A task, its parent, and whom the parent woke last: "
		     "which of them may the program hand to a helper?");
	map = must(rp_map_create(&seen), "map");
	if (!rp_has(RP_HAS_TP_BTF) || rp_btf_kernel(&btf) ||
	    rp_btf_find(btf, "bpf_task_acquire", BTF_KIND_FUNC) < 0) {
		printf("skip: tracepoints with types and bpf_task_acquire are in Linux "
		       "6.2 and later, and this kernel lacks one\n");
		return 77;
	}
	lesson_refused(&map);
	lesson_show(&lesson_good[0], &map);

	fd = lesson_load(&lesson_good[0], &map);
	must(rp_attach_raw_tracepoint(fd, NULL, &link), "attach");
	usleep(10000);
	rp_link_close(link);
	must(rp_map_lookup(map, &(uint32_t){ 0 }, found), "look-up");
	printf("process %llu, child of %llu, which woke %llu last\n", (unsigned long long)found[0],
	       (unsigned long long)found[1], (unsigned long long)found[2]);
	close(fd);
	close(map);
	return 0;
}
