/* SPDX-License-Identifier: BSD-2-Clause */
/* opensnoop [SECONDS]: who opens which file, and did it work? */
#include <time.h>
#include "../lesson.h"

struct event {
	uint64_t pid_tgid;
	int64_t result; /* descriptor, or negative errno */
	char comm[16];
	char file[256];
};
struct frame {
	uint64_t id;   /* process and thread: one call of openat at a time */
	uint64_t file; /* where the name is, in the process */
};
enum {
	ID = FRAME(struct frame, id),
	FILE_PTR = FRAME(struct frame, file),
};
struct stats {
	uint64_t lost;
};
static const struct asm_map maps[] = {
	{ "started", BPF_MAP_TYPE_LRU_HASH, 8, 8, 4096 },
	{ "events", BPF_MAP_TYPE_RINGBUF, 0, 0, 1 << 18 },
	{ "stats", BPF_MAP_TYPE_ARRAY, 4, sizeof(struct stats), 1 },
};

/* The name is known when the call begins, the result when it ends. */
static const struct asm_insn enter_lines[] = {
	LD_TP(R6, R1, "syscalls", "sys_enter_openat", "filename"),
	STX(DW, R10, FILE_PTR, R6),
	CALL(get_current_pid_tgid),
	STX(DW, R10, ID, R0),
	MAP_UPDATE(started, ID, FILE_PTR, BPF_ANY),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program openat_enter = {
	.name = "openat_enter", .type = BPF_PROG_TYPE_TRACEPOINT, ASM_LINES(enter_lines)
};

/* The name is read here and not above: by now the kernel has read it too, so its page is there. */
static const struct asm_insn exit_lines[] = {
	LD_TP(R7, R1, "syscalls", "sys_exit_openat", "ret"),
	CALL(get_current_pid_tgid),
	STX(DW, R10, ID, R0),
	MAP_LOOKUP(started, ID),
	JEQ(R0, 0, out), /* the call began before us */
	LDX(DW, R8, R0, 0),
	MAP_DELETE(started, ID),
	RING_RESERVE(events, sizeof(struct event)),
	JEQ(R0, 0, full),
	MOV_REG(R9, R0),
	LDX(DW, R1, R10, ID),
	STX(DW, R9, offsetof(struct event, pid_tgid), R1),
	STX(DW, R9, offsetof(struct event, result), R7),
	MOV_REG(R1, R9),
	ADD(R1, offsetof(struct event, comm)),
	MOV(R2, 16),
	CALL(get_current_comm),
	MOV_REG(R1, R9),
	ADD(R1, offsetof(struct event, file)),
	MOV(R2, 256),
	MOV_REG(R3, R8),
	CALL(probe_read_user_str), /* if it cannot be read: an empty one */
	RING_SUBMIT(R9, 0),
	JA(out),
	LABEL(full),
	COUNT(stats, struct stats, lost),
	LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program openat_exit = {
	.name = "openat_exit",
	.type = BPF_PROG_TYPE_TRACEPOINT,
	.license = "GPL",
	ASM_LINES(exit_lines),
};
const struct lesson_program lesson_good[] = {
	{ &openat_enter, maps, 3, "remembers which file is being opened" },
	{ &openat_exit, maps, 3, "reports the file and the result" },
	{ 0 },
};

static int print_event(void *ctx, const void *record, size_t size)
{
	struct event e = *(const struct event *)record;

	for (char *c = e.file; *c; c++)
		*c = (unsigned char)*c < ' ' ? '?' : *c; /* names may hold anything */
	(void)ctx;
	(void)size;
	printf("%-8d %-16s %4d %s\n", (int)(e.pid_tgid >> 32), e.comm, (int)e.result, e.file);
	return 0;
}

int main(int argc, char **argv)
{
	const time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 3);
	struct rp_ring *ring;
	struct stats stats;
	int fds[3];

	lesson_begin("A record is reserved and never submitted. Where is it?");
	must(rp_maps_create(maps, 3, fds), "maps");
	if (argc == 1)
		lesson_refused(fds);
	printf("PID      COMM              RES FILE\n");
	must(rp_ring_open(fds[1], maps[1].max_entries, &ring), "ring buffer");
	lesson_attach(&lesson_good[0], fds, "syscalls", "sys_enter_openat");
	lesson_attach(&lesson_good[1], fds, "syscalls", "sys_exit_openat");
	while (time(NULL) < end) {
		usleep(100000);
		must(rp_ring_drain(ring, print_event, NULL), "drain");
	}
	must(rp_map_lookup(fds[2], &(uint32_t){ 0 }, &stats), "look-up");
	printf("%llu lost\n", (unsigned long long)stats.lost);
	return 0;
}
