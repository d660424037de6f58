/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions of the kernel that are no helpers: called by name, checked by their types. */
#include <linux/btf.h>

#include "../lesson.h"

static const struct asm_map seen = { "seen", BPF_MAP_TYPE_ARRAY, 4, 32, 1 };

/* The task with that pid: its name, and who its parent is. */
static const struct asm_insn parent_of_lines[] = {
	LD_MAP_VALUE(R9, seen, 0),
	LDX(W, R1, R9, 0),	       /* a pid, from user space */
	CALL_KFUNC(bpf_task_from_pid), /* a task that is ours until we give it back, or 0 */
	MOV_REG(R6, R0),
	JEQ(R6, 0, out),
	LD_FIELD(R1, R6, "task_struct", "real_parent.tgid"),
	STX(DW, R9, 8, R1),
	MOV_REG(R1, R9),
	ADD(R1, 16),
	FIELD_SIZE(R2, "task_struct", "comm"),
	MOV_REG(R3, R6),
	ADD_FIELD_OFFSET(R3, "task_struct", "comm"),
	CALL(probe_read_kernel),
	MOV_REG(R1, R6),
	CALL_KFUNC(bpf_task_release),
	LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program parent_of = {
	.name = "parent_of",
	.type = BPF_PROG_TYPE_SYSCALL,
	.flags = BPF_F_SLEEPABLE,
	.license = "GPL",
	ASM_LINES(parent_of_lines),
};

const struct lesson_program lesson_good[] = {
	{ &parent_of, &seen, 1, "name and parent of a pid" },
	{ 0 },
};

int main(void)
{
	struct {
		uint64_t pid, parent;
		char comm[16];
	} found = { .pid = (uint64_t)getpid() };
	struct rp_test_run run = { 0 };
	const struct rp_btf *btf;
	int map, fd;

	lesson_begin("There are 211 helpers, and none finds a task by its pid. What then?");
	map = must(rp_map_create(&seen), "map");
	if (rp_btf_kernel(&btf) || rp_btf_find(btf, "bpf_task_from_pid", BTF_KIND_FUNC) < 0) {
		printf("skip: bpf_task_from_pid is in Linux 6.2 and later, and "
		       "this kernel has none\n");
		return 77;
	}
	lesson_refused(&map);

	must(rp_map_update(map, &(uint32_t){ 0 }, &found, BPF_ANY), "pid");
	fd = lesson_load(&lesson_good[0], &map);
	must(rp_prog_test_run(fd, &run), "test run");
	must(rp_map_lookup(map, &(uint32_t){ 0 }, &found), "look-up");
	printf("pid %llu is \"%s\", its parent is %llu; ours is %d\n",
	       (unsigned long long)found.pid,
	       found.comm, (unsigned long long)found.parent, getppid());
	printf("bpf_task_from_pid is number %d in this kernel's types\n",
	       rp_btf_find(btf, "bpf_task_from_pid", BTF_KIND_FUNC));
	close(fd);
	close(map);
	return 0;
}
