/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The walk in the kernel: at a system call of this very process, the stack that the BPF program
 * finds is the one that the walk in C finds, from the registers that the program saw; fed by what
 * feeds it in rawprof.
 */
#include "test_loader.h"

#include <alloca.h>
#include <linux/btf.h>
#include <poll.h>
#include <sys/mman.h>
#include <ucontext.h>
#include "programs/shared/follow.h"
#include "programs/shared/stack.h"
#include "record/table_files.h"
#include "record/tables.h"

#include "../unit/unwind_self.h"

/* Whom to walk: the thread that calls this with these arguments. */
enum { CALL = SYS_getpgid, MAGIC = 0x7efa11 };

struct walk_config {
	struct program_config common;
	uint32_t tgid;
};

enum { SCRATCH, PROCS, RANGE, FOUND, INDEX, RULES, ROWS, FILES, PIDS, EVENTS, MAPS };
static const struct asm_map maps[MAPS] = {
	[SCRATCH] = { "scratch", BPF_MAP_TYPE_PERCPU_ARRAY, 4,
		      STACK_SCRATCH_BYTES(8 * UNWIND_FRAMES), 1 },
	[PROCS] = UNWIND_MAP_PROCS(16),
	[RANGE] = UNWIND_MAP_MAPPINGS,
	[FOUND] = UNWIND_MAP_CACHE,
	[INDEX] = UNWIND_MAP_INDEX,
	[RULES] = UNWIND_MAP_RULES,
	[ROWS] = UNWIND_MAP_ROWS,
	[FILES] = UNWIND_MAP_FILES,
	[PIDS] = { "pids", BPF_MAP_TYPE_HASH, 4, 8, 16 },
	[EVENTS] = { "events", BPF_MAP_TYPE_RINGBUF, 0, 0, 1 << 16 },
};

enum { KEY = -4 };

/* raw_tp sys_enter(struct pt_regs *regs, long id) */
/* clang-format off */
static const struct asm_insn lines[] = {
	LDX(DW, R7, R1, 8),
	MOV_REG(R6, R1),
	CALL(get_current_pid_tgid),
	RSH(R0, 32),
	JNE_PARAM(R0, struct walk_config, tgid, out),
	JNE(R7, CALL, out),
	ST(W, R10, KEY, 0),
	MAP_LOOKUP(scratch, KEY),
	JEQ(R0, 0, out),
	MOV_REG(R1, R0),
	LD_PARAM(R2, struct walk_config, common.user_frames),
	LD_PARAM(R3, struct walk_config, tgid),
	MOV_REG(R4, R6),
	MOV(R5, 0),
	CALL_FUNC(unwind_user),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&rp_unwind_part),
};
/* clang-format on */

static const struct asm_program program = { .name = "walk",
					    .type = BPF_PROG_TYPE_RAW_TRACEPOINT,
					    .license = "Dual BSD/GPL",
					    .config_size = sizeof(struct walk_config),
					    ASM_LINES(lines) };

static int fds[MAPS], prog;
static struct rp_link *link_;
static struct record_tables *feed;
static struct self self;
static struct stack_scratch *scratch; /* of all CPUs */
static unsigned int most;	      /* frames */
static size_t walks, whole, deepest, signals;

static void open_walk_by(bool bounded, bool vma, unsigned int frames)
{
	const struct rp_btf *btf;
	struct walk_config config = { .common = { .user_frames = frames,
						  .both_bytes = 8 * UNWIND_FRAMES,
						  .bounded = bounded,
						  .vma = vma },
				      .tgid = (uint32_t)getpid() };
	const struct asm_bindings bind = { .maps = maps,
					   .map_fds = fds,
					   .nmaps = MAPS,
					   .config = &config,
					   .config_size = sizeof(config) };
	cpu_set_t one;

	capture_log();
	self_open(&self);
	if (vma && !rp_btf_kernel(&btf))
		config.common.inode_changed = record_table_files_changed(btf);
	ck_assert_int_eq(rp_maps_create(maps, MAPS, fds), 0);
	prog = rp_program_load(&program, &bind);
	ck_assert_msg(prog >= 0, "%s", log_text);
	ck_assert_int_eq(
		record_tables_open(&feed, &(struct record_tables_maps){ fds[PROCS], fds[RANGE],
									fds[INDEX], fds[RULES],
									fds[ROWS], fds[FILES] }),
		0);
	scratch = calloc((size_t)rp_cpus_possible(), rp_map_cpu_stride(&maps[SCRATCH]));
	ck_assert_ptr_nonnull(scratch);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	ck_assert_int_eq(sched_setaffinity(0, sizeof(one), &one), 0);
	ck_assert_int_eq(rp_attach_raw_tracepoint(prog, "sys_enter", &link_), 0);
	most = bounded && frames > UNWIND_BOUNDED_FRAMES ? UNWIND_BOUNDED_FRAMES : frames;
	walks = whole = deepest = signals = 0;
}

static void open_walk(bool bounded, unsigned int frames)
{
	open_walk_by(bounded, false, frames);
}

static void close_walk(void)
{
	rp_link_close(link_);
	link_ = NULL;
	close(prog);
	record_tables_close(feed);
	rp_fds_close(fds, MAPS);
	self_close(&self);
	free(scratch);
}

static const struct stack_scratch *read_scratch(void)
{
	ck_assert_int_eq(rp_map_lookup(fds[SCRATCH], &(uint32_t){ 0 }, scratch), 0);
	return (const struct stack_scratch *)((char *)scratch +
					      (size_t)sched_getcpu() *
						      rp_map_cpu_stride(&maps[SCRATCH]));
}

static struct unwind_regs regs_of(const struct unwind_state *s)
{
	const struct asm_arch *arch = asm_arch_host();
	struct unwind_regs regs = { 0 };

	for (int i = 0; i < 32; i++)
		if (arch->dwarf[i] >= 0)
			regs.reg[i] = s->regs[arch->dwarf[i] / 8];
	regs.pc = s->regs[arch->reg[ASM_REG_IP] / 8];
	regs.sp = s->regs[arch->reg[ASM_REG_SP] / 8];
	regs.fp = s->regs[arch->reg[ASM_REG_FP] / 8];
	return regs;
}

/* The stack in the record against the walk in C; the frames it goes through are all alive yet. */
static void compare(void)
{
	static uint64_t pcs[UNWIND_FRAMES];
	const struct stack_scratch *found = read_scratch();
	const struct unwind_state *s = &found->walk;
	const uint64_t *frames = found->record.frames;
	const struct unwind_regs regs = regs_of(s);
	struct unwind_result result;
	unsigned int n = unwind_walk(&self.space, &regs, self_read, NULL, pcs, most, &result);

	ck_assert_msg(s->end == result.end, "%u: %s, in C %u: %s", s->n, unwind_stop_text(s->end),
		      n, unwind_stop_text(result.end));
	ck_assert_uint_eq(s->n, n);
	for (unsigned int i = 0; i < n; i++)
		ck_assert_msg(frames[i] == pcs[i], "frame %u of %u: %lx, in C %lx", i, n,
			      (unsigned long)frames[i], (unsigned long)pcs[i]);
	walks++;
	signals += result.signals;
	whole += s->end == UNWIND_COMPLETE;
	deepest = n > deepest ? n : deepest;
}

/*
 * The call itself, twice: the second finds the rules that the first has left. No function is called
 * for it, whose frame would be gone when the stacks are compared.
 */
static __attribute__((noinline)) void probe(void)
{
	for (int i = 0; i < 2; i++) {
#if defined(__x86_64__)
		long result = CALL;

		__asm__ volatile("syscall"
				 : "+a"(result)
				 : "D"((long)MAGIC)
				 : "rcx", "r11", "memory");
#elif defined(__aarch64__)
		register long number __asm__("x8") = CALL;
		register long arg __asm__("x0") = MAGIC;

		__asm__ volatile("svc 0" : "+r"(arg) : "r"(number) : "memory");
#else
		syscall(CALL, MAGIC);
		return;
#endif
		compare();
		__asm__ volatile("" : : : "memory"); /* or it would be jumped to */
	}
}

#include "unwind_shapes.h"

static bool without(bool bounded)
{
	if (geteuid() || !rp_has(RP_HAS_TASK_REGS) || (!bounded && !rp_has(RP_HAS_BPF_LOOP))) {
		printf("skip: root, and Linux 5.15 (the loop of the kernel: 5.17)\n");
		return true;
	}
	return false;
}

START_TEST(test_as_in_c)
{
	const bool bounded = _i;

	if (without(bounded))
		return;
	open_walk(bounded, 256);
	record_tables_publish(feed, (uint32_t)getpid());
	all_shapes();
	ck_assert_uint_ge(walks, 20);
	ck_assert_uint_eq(whole, walks); /* none is deeper than 64 */
	ck_assert_uint_eq(signals, 4);	 /* two kinds, two walks each */
	ck_assert_uint_ge(deepest, 50);
	close_walk();
}
END_TEST

/* Its files are known, as other processes have mapped them, and nothing else. */
START_TEST(test_process_that_nobody_told_of)
{
	const struct rp_btf *btf;

	if (without(false))
		return;
	if (rp_btf_kernel(&btf) || rp_btf_find(btf, "maple_arange_64", BTF_KIND_STRUCT) < 0) {
		printf("skip: Linux 6.1\n");
		return;
	}
	open_walk_by(false, true, 256);
	record_tables_publish(feed, (uint32_t)getpid());
	record_tables_ended(feed, (uint32_t)getpid());
	nest(50);
	ck_assert_uint_eq(walks, 2);
	ck_assert_uint_eq(whole, walks);
	ck_assert_uint_gt(deepest, 50);
	ck_assert_uint_gt(read_scratch()->walk.vma_calls, 0);
	ck_assert_uint_eq(read_scratch()->walk.generation >> 31, 1);
	close_walk();
}
END_TEST

START_TEST(test_deep)
{
	const bool bounded = _i;

	if (without(bounded))
		return;
	open_walk(bounded, 1000);
	record_tables_publish(feed, (uint32_t)getpid());
	nest(700);
	ck_assert_uint_eq(deepest, bounded ? UNWIND_BOUNDED_FRAMES : deepest);
	ck_assert_uint_gt(deepest, bounded ? 63 : 700);
	ck_assert_uint_eq(whole, bounded ? 0 : walks);
	nest(2000);
	ck_assert_uint_eq(deepest, bounded ? UNWIND_BOUNDED_FRAMES : 1000);
	close_walk();
}
END_TEST

/* ---- rules that are kept */

static struct unwind_cache *read_found(void)
{
	static struct unwind_cache found[UNWIND_CACHED];

	ck_assert_int_eq(rp_map_lookup(fds[FOUND], &(uint32_t){ 0 }, found), 0);
	return found;
}

/* As if another CPU had been at it: a part of each is of another one. None may be believed. */
START_TEST(test_torn)
{
	struct unwind_cache *found;
	size_t kept = 0;

	if (without(false))
		return;
	open_walk(false, 256);
	record_tables_publish(feed, (uint32_t)getpid());
	all_shapes();
	found = read_found();
	for (size_t i = 0; i < UNWIND_CACHED; i++) {
		kept += found[i].generation != 0;
		if (_i) {
			found[i].from = 0;
			found[i].to = UNWIND_BLOCK;
		} else {
			found[i].rule.cfa_off += 8;
			found[i].rule.kind = UNWIND_SP;
		}
	}
	ck_assert_uint_ge(kept, 20);
	ck_assert_int_eq(rp_map_update(fds[FOUND], &(uint32_t){ 0 }, found, BPF_ANY), 0);
	all_shapes();
	ck_assert_uint_eq(whole, walks);
	close_walk();
}
END_TEST

/* Puts the rule that was kept for an address wherever it may be looked for. */
static void spread_rule(uint64_t pc)
{
	const uint64_t block = pc & ~(uint64_t)(UNWIND_BLOCK - 1);
	struct unwind_cache *found = read_found(), kept = { 0 };

	for (size_t i = 0; i < UNWIND_CACHED; i++) {
		const struct unwind_cache *f = &found[i];
		uint64_t word[2];

		memcpy(word, f, sizeof(word));
		if ((f->check ^ (word[0] + word[1]) * GOLDEN_RATIO_64 ^ f->from ^
		     (uint64_t)f->to << 16) == block &&
		    (pc & (UNWIND_BLOCK - 1)) >= f->from && (pc & (UNWIND_BLOCK - 1)) < f->to)
			kept = *f;
	}
	ck_assert_uint_ne(kept.generation, 0);
	for (size_t i = 0; i < UNWIND_CACHED; i++)
		found[i] = kept;
	ck_assert_int_eq(rp_map_update(fds[FOUND], &(uint32_t){ 0 }, found, BPF_ANY), 0);
}

/* What was kept of mappings that are no more is not believed either, whole as it is. */
START_TEST(test_remapped)
{
	const struct unwind_mapping nothing = { .end = UINT64_MAX >> 1,
						.kind = UNWIND_URETPROBE,
						.generation = 77 };
	const struct unwind_proc proc = { .first = 0, .count = 1, .generation = 77 };
	const uint64_t start = 0, given = 500, changes = 1000;
	const uint32_t pid = (uint32_t)getpid();
	uint64_t pc;

	if (without(false))
		return;
	open_walk(false, 256);
	record_tables_publish(feed, pid);
	nest(5);
	ck_assert_uint_eq(whole, walks);
	syscall(CALL, MAGIC);
	pc = read_scratch()->record.frames[0];
	spread_rule(pc);
	ck_assert_int_eq(rp_map_write(fds[RANGE], offsetof(struct unwind_mappings, start), &start,
				      sizeof(start)),
			 0);
	ck_assert_int_eq(rp_map_write(fds[RANGE], offsetof(struct unwind_mappings, range), &nothing,
				      sizeof(nothing)),
			 0);
	/*
	 * A process whose ranges were given to another one is unknown rather than walked by
	 * those. As long as nothing has changed, the one that was found last is what it was.
	 */
	ck_assert_int_eq(rp_map_write(fds[RANGE], offsetof(struct unwind_mappings, changes), &given,
				      sizeof(given)),
			 0);
	syscall(CALL, MAGIC);
	ck_assert_uint_eq(read_scratch()->walk.end, UNWIND_NO_MAPPING);
	/* Where its ranges are is asked again when a process has changed, and not before. */
	ck_assert_int_eq(rp_map_update(fds[PROCS], &pid, &proc, BPF_ANY), 0);
	syscall(CALL, MAGIC);
	ck_assert_uint_eq(read_scratch()->walk.end, UNWIND_NO_MAPPING);
	ck_assert_int_eq(rp_map_write(fds[RANGE], offsetof(struct unwind_mappings, changes),
				      &changes, sizeof(changes)),
			 0);
	syscall(CALL, MAGIC);
	ck_assert_uint_eq(read_scratch()->walk.end, UNWIND_AT_URETPROBE);
	ck_assert_uint_eq(read_scratch()->record.frames[0], pc);
	ck_assert_uint_eq(read_scratch()->walk.n, 1);

	record_tables_ended(feed, pid);
	syscall(CALL, MAGIC);
	ck_assert_uint_eq(read_scratch()->walk.end, UNWIND_NO_MAPPING);
	ck_assert_uint_eq(read_scratch()->walk.n, 0);
	close_walk();
}
END_TEST

/* ---- from birth to end */

static struct rp_link *following[3];

static void open_followers(void)
{
	const struct program_config config = { .by_pid = 1 };

	for (int i = 0; i < 3; i++) {
		const struct asm_program *follower = &rp_unwind_follow_programs[i].code;
		const struct asm_bindings bind = { .maps = maps,
						   .map_fds = fds,
						   .nmaps = MAPS,
						   .config = &config,
						   .config_size = follower->config_size };
		int fd = rp_program_load(follower, &bind);

		ck_assert_msg(fd >= 0, "%s", log_text);
		ck_assert_int_eq(rp_attach_raw_tracepoint(fd, NULL, &following[i]), 0);
		close(fd);
	}
}

static pid_t fork_gated(int *gate)
{
	int ends[2];
	pid_t pid;

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		char byte;

		if (read(ends[0], &byte, 1) == 1)
			execlp("sleep", "sleep", "100", NULL);
		_exit(1);
	}
	close(ends[0]);
	*gate = ends[1];
	return pid;
}

/* What the map says of a process: 0, or -ENOENT. */
static int proc_of(pid_t pid, struct unwind_proc *proc)
{
	return rp_map_lookup(fds[PROCS], &(uint32_t){ (uint32_t)pid }, proc);
}

START_TEST(test_followed)
{
	struct unwind_proc parent, child;
	struct pollfd ring;
	int gate, err = 0;
	pid_t pid;

	if (without(true) || !rp_has(RP_HAS_TP_BTF))
		return;
	open_walk(true, 16);
	open_followers();
	record_tables_publish(feed, (uint32_t)getpid());
	ck_assert_int_eq(proc_of(getpid(), &parent), 0);

	pid = fork_gated(&gate);
	ck_assert_int_eq(proc_of(pid, &child), 0);
	ck_assert_mem_eq(&child, &parent, sizeof(child));

	ck_assert_int_eq(
		rp_map_update(fds[PIDS], &(uint32_t){ (uint32_t)pid }, &(uint64_t){ 0 }, BPF_ANY),
		0);
	ring = (struct pollfd){ .fd = fds[EVENTS], .events = POLLIN };
	ck_assert_int_eq(poll(&ring, 1, 0), 0);
	ck_assert_int_eq(write(gate, "x", 1), 1);
	ck_assert_int_eq(poll(&ring, 1, 10000), 1); /* woken */
	ck_assert_int_eq(proc_of(pid, &child), 0);
	ck_assert_uint_eq(child.count, 0);
	record_tables_executed(feed, (uint32_t)pid);
	ck_assert_uint_lt(record_tables_urgent(feed), UINT64_MAX);
	record_tables_refresh(feed);
	ck_assert_int_eq(proc_of(pid, &child), 0);
	ck_assert_uint_gt(child.count, 0);
	ck_assert_uint_ne(child.generation, parent.generation);

	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	for (int i = 0; i < 1000 && !err; i++) { /* freed after a grace period */
		usleep(10000);
		err = proc_of(pid, &child);
	}
	ck_assert_int_eq(err, -ENOENT);
	close(gate);
	for (int i = 0; i < 3; i++)
		rp_link_close(following[i]);
	close_walk();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("unwind");
	TCase *tc = tcase_create("kernel");

	tcase_add_loop_test(tc, test_as_in_c, 0, 2);
	tcase_add_test(tc, test_process_that_nobody_told_of);
	tcase_add_loop_test(tc, test_deep, 0, 2);
	tcase_add_loop_test(tc, test_torn, 0, 2);
	tcase_add_test(tc, test_remapped);
	tcase_add_test(tc, test_followed);
	tcase_set_timeout(tc, 60);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
