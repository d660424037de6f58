/* SPDX-License-Identifier: BSD-2-Clause */
/* Three kinds of context: a tracepoint's record, the machine's registers, a perf event's sample. */
#include <linux/bpf_perf_event.h>
#include <signal.h>

#include "../lesson.h"

/* What the programs have seen. */
struct seen {
	uint64_t pid, sig;	  /* tracepoint */
	uint64_t first, second;	  /* registers */
	uint64_t period, samples; /* perf event */
	uint64_t too_wide;
};
static const struct asm_map seen = { "seen", BPF_MAP_TYPE_ARRAY, 4, sizeof(struct seen), 1 };

#define NOTE(member, src) STX(DW, R9, offsetof(struct seen, member), src)

/* A record: LD_TP asks tracefs where the field is, and how wide. */
static const struct asm_insn on_kill_lines[] = {
	LD_MAP_VALUE(R9, seen, 0),
	LD_TP(R2, R1, "syscalls", "sys_enter_kill", "pid"),
	NOTE(pid, R2),
	LD_TP(R2, R1, "syscalls", "sys_enter_kill", "sig"),
	NOTE(sig, R2),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program on_kill = {
	.name = "on_kill",
	.type = BPF_PROG_TYPE_TRACEPOINT,
	ASM_LINES(on_kill_lines),
};

/* Registers: LD_ARG knows in which one this machine passes the n-th argument. */
static const struct asm_insn on_call_lines[] = {
	LD_MAP_VALUE(R9, seen, 0),
	LD_ARG(R2, R1, 1),
	NOTE(first, R2),
	LD_ARG(R2, R1, 2),
	NOTE(second, R2),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program on_call = {
	.name = "on_call",
	.type = BPF_PROG_TYPE_KPROBE, /* uprobes too */
	ASM_LINES(on_call_lines),
};

/* A sample: the registers, then how much of the event it stands for. */
static const struct asm_insn on_sample_lines[] = {
	LD_MAP_VALUE(R9, seen, 0),
	LDX(DW, R2, R1, offsetof(struct bpf_perf_event_data, sample_period)),
	NOTE(period, R2),
	MOV(R2, 1),
	ATOMIC_ADD(DW, R9, offsetof(struct seen, samples), R2),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program on_sample = {
	.name = "on_sample",
	.type = BPF_PROG_TYPE_PERF_EVENT,
	ASM_LINES(on_sample_lines),
};

/* prev_pid of sched_switch lies at offset 24 and is 4 bytes wide; this reads 8. */
static const struct asm_insn too_wide_lines[] = {
	LD_MAP_VALUE(R9, seen, 0),
	LDX(DW, R2, R1, 24),
	NOTE(too_wide, R2),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program too_wide = {
	.name = "too_wide",
	.type = BPF_PROG_TYPE_TRACEPOINT,
	ASM_LINES(too_wide_lines),
};

/* Accepted, for a record may have up to 8 KiB; that of sys_enter_kill has 32 bytes. */
static const struct asm_insn far_field_lines[] = {
	LDX(DW, R2, R1, 2048),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program far_field = {
	.name = "far_field",
	.type = BPF_PROG_TYPE_TRACEPOINT,
	ASM_LINES(far_field_lines),
};

enum {
	ON_KILL,
	ON_CALL,
	ON_SAMPLE,
	TOO_WIDE,
	FAR_FIELD,
};
const struct lesson_program lesson_good[] = {
	[ON_KILL] = { &on_kill, &seen, 1, "fields of a tracepoint's record" },
	[ON_CALL] = { &on_call, &seen, 1, "arguments of a function, from the registers" },
	[ON_SAMPLE] = { &on_sample, &seen, 1, "the period of a perf event's sample" },
	[TOO_WIDE] = { &too_wide, &seen, 1, "8 bytes of a field of 4" },
	[FAR_FIELD] = { &far_field, &seen, 1, "a field where some other record may have one" },
	{ 0 },
};

static __attribute__((noinline)) long probed(long first, long second)
{
	__asm__("/* probed */");
	return first + second;
}

/* A uprobe wants the offset in the file, of which this process has mapped a part here. */
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

static void watch_kill(const int *map)
{
	struct rp_link *link =
		lesson_attach(&lesson_good[ON_KILL], map, "syscalls", "sys_enter_kill");

	kill(getpid(), 0);
	rp_link_close(link);
}

static void watch_call(const int *map)
{
	const struct rp_uprobe probe = { .path = "/proc/self/exe",
					 .offset = offset_in_file((void *)probed),
					 .pid = getpid() };
	struct rp_link *link;
	int fd = lesson_load(&lesson_good[ON_CALL], map);

	must(rp_attach_uprobe(fd, &probe, &link), "attach");
	probed(17, 4);
	rp_link_close(link);
	close(fd);
}

static void watch_samples(const int *map)
{
	const pid_t self = getpid();
	struct rp_perf_options options = { .freq = 1000, .tasks = &self, .ntasks = 1 };
	struct rp_perf *perf;
	int fd = lesson_load(&lesson_good[ON_SAMPLE], map);

	must(rp_event_parse("cpu-clock", &options.event), "event");
	must(rp_perf_open(&options, &perf), "perf event");
	must(rp_perf_attach(perf, fd), "attach");
	for (volatile long i = 0; i < 200000000; i++)
		;
	rp_perf_close(perf);
	close(fd);
}

static void watch_too_wide(const int *map)
{
	struct rp_link *link =
		lesson_attach(&lesson_good[TOO_WIDE], map, "sched", "sched_switch");

	usleep(10000);
	rp_link_close(link);
}

/* The verifier knows the type of a program; only attaching it says to what event. */
static void attach_wrongly(const struct lesson_program *entry, const int *map)
{
	struct rp_link *link;
	int fd = lesson_load(entry, map), err;

	printf("--- %s: accepted, and now attached to syscalls:sys_enter_kill\n",
	       entry->program->name);
	err = rp_attach_tracepoint(fd, "syscalls", "sys_enter_kill", 0, &link);
	printf("==> %s\n", err ? strerror(-err) : "ATTACHED");
	close(fd);
}

int main(void)
{
	struct seen found;
	int map;

	lesson_begin("At the start R1 is the context. What lies at R1+16?");
	map = must(rp_map_create(&seen), "map");
	lesson_refused(&map);

	watch_kill(&map);
	watch_call(&map);
	watch_samples(&map);
	watch_too_wide(&map);
	must(rp_map_lookup(map, &(uint32_t){ 0 }, &found), "look-up");
	printf("tracepoint: kill(%llu, %llu); this is process %d\n", (unsigned long long)found.pid,
	       (unsigned long long)found.sig, getpid());
	printf("registers:  probed(%llu, %llu)\n", (unsigned long long)found.first,
	       (unsigned long long)found.second);
	printf("perf event: %llu samples, the last of %llu ns\n", (unsigned long long)found.samples,
	       (unsigned long long)found.period);

	printf("--- what the verifier does not check: how wide a field is\n");
	printf("8 bytes at prev_pid: %llu, which is pid %u, and %u from the field behind it\n",
	       (unsigned long long)found.too_wide, (uint32_t)found.too_wide,
	       (uint32_t)(found.too_wide >> 32));
	printf("--- what the verifier cannot check, and attaching does\n");
	attach_wrongly(&lesson_good[FAR_FIELD], &map);
	attach_wrongly(&lesson_good[ON_CALL], &map);
	close(map);
	return 0;
}
