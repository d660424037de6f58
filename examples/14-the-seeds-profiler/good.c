/* SPDX-License-Identifier: BSD-2-Clause */
/* The tutorial's profiler, repaired: samples this machine for two seconds, and shows our part. */
#include <fcntl.h>
#include <time.h>

#include <rawprof/symbolize.h>

#include "seed.h"

enum { FRAMES = 20 };
/* Everything that says who and where is the key, and so nothing can be mixed up. */
struct key {
	uint64_t start; /* when the thread began: pids are used again (C15) */
	uint32_t pid;
	uint32_t pad;
	uint64_t user[FRAMES], kernel[FRAMES]; /* whole stacks, not ids (C6, C7) */
};
struct frame {
	uint64_t one;
	struct key key;
};
enum {
	ONE = FRAME(struct frame, one),
	KEY = FRAME(struct frame, key),
	START = FRAME(struct frame, key.start),
	PID = FRAME(struct frame, key.pid),
	USER = FRAME(struct frame, key.user),
	KERNEL = FRAME(struct frame, key.kernel),
};
struct stats {
	uint64_t lost;
};
static const struct asm_map maps[] = {
	{ "counts", BPF_MAP_TYPE_HASH, sizeof(struct key), 8, 4096 },
	{ "stats", BPF_MAP_TYPE_ARRAY, 4, sizeof(struct stats), 1 },
};

static const struct asm_insn profile_lines[] = {
	MOV_REG(R6, R1),	  /* the context survives the calls (C4) */
	ZERO_FRAME(struct frame), /* padding and frames that are not there are 0 (C11) */
	ST(DW, R10, ONE, 1),

	CALL(get_current_pid_tgid),
	RSH(R0, 32),
	JEQ(R0, 0, out), /* the idle task */
	STX(W, R10, PID, R0),
	CALL(get_current_task_btf),
	LD_FIELD(R1, R0, "task_struct", "start_boottime"),
	STX(DW, R10, START, R1),

	/* (context, where to, bytes, flags), in this order (C3). If there is no such stack the
	   bytes stay 0: an errno is nobody's stack (C8). */
	MOV_REG(R1, R6),
	FRAME_PTR(R2, USER),
	MOV(R3, 8 * FRAMES),
	MOV(R4, BPF_F_USER_STACK),
	CALL(get_stack),
	MOV_REG(R1, R6),
	FRAME_PTR(R2, KERNEL),
	MOV(R3, 8 * FRAMES),
	MOV(R4, 0),
	CALL(get_stack),

	MAP_ADD(counts, KEY, ONE), /* inserts only what is not there, adds atomically (C9, C10) */
	JEQ(R0, 0, out),
	COUNT(stats, struct stats, lost), /* and counts what it cannot keep */
	LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program profile = {
	.name = "profile",
	.type = BPF_PROG_TYPE_PERF_EVENT,
	.license = "GPL", /* get_stackid did not need it (C12), get_current_task_btf does */
	ASM_LINES(profile_lines),
};

const struct lesson_program lesson_good[] = {
	{ &profile, maps, 2, "counts stacks by their contents" },
	{ &seed_accepted, seed_maps, SEED_MAPS, "the tutorial's program, where the kernel takes it" },
	{ &seed_without_licence, seed_maps, SEED_MAPS, "the same without a licence" },
	{ &count_alone, seed_maps, SEED_MAPS, "its way to count" },
	{ &both_miss, seed_maps, SEED_MAPS, "its way to begin a count, on two CPUs at a time" },
	{ 0 },
};

/* ---- the work: two thirds computing, one third asking the kernel for random numbers */

static double seconds(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static volatile unsigned long result;

static __attribute__((noinline)) void compute(double end)
{
	while (seconds(CLOCK_PROCESS_CPUTIME_ID) < end)
		for (int i = 0; i < 100000; i++)
			result += (unsigned long)i * i;
}

static __attribute__((noinline)) void ask_kernel(double end)
{
	static char bytes[65536];
	int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);

	while (seconds(CLOCK_PROCESS_CPUTIME_ID) < end)
		result += (unsigned long)read(fd, bytes, sizeof(bytes));
	close(fd);
}

static __attribute__((noinline)) void work(void)
{
	const double start = seconds(CLOCK_PROCESS_CPUTIME_ID);

	compute(start + 1.0);
	ask_kernel(start + 1.5);
}

/* ---- the report: folded stacks, the user's part first, for it is the root (C14) */

struct report {
	struct sym_kernel *kernel;
	struct sym_user *user;
	uint64_t ours, all, kernel_samples;
	struct line {
		uint64_t count;
		char text[1000];
	} line[512];
	int nlines;
};

static void append(char *text, size_t size, const struct sym_frame *frame)
{
	const size_t used = strlen(text);

	snprintf(text + used, size - used, ";%s", frame->name ? frame->name : "[unknown]");
}

static void fold(struct report *r, const struct key *key, char *text, size_t size)
{
	struct sym_frame frame;

	snprintf(text, size, "profile");
	for (int i = FRAMES - 1; i >= 0; i--)
		if (key->user[i]) {
			sym_user_lookup(r->user, key->pid, 0, key->user[i], i > 0, &frame);
			append(text, size, &frame);
		}
	for (int i = FRAMES - 1; i >= 0; i--)
		if (key->kernel[i]) {
			sym_kernel_lookup(r->kernel, key->kernel[i], i > 0, &frame);
			append(text, size, &frame);
		}
}

static int add_stack(void *ctx, const void *k, const void *value)
{
	const struct key *key = k;
	const uint64_t count = *(const uint64_t *)value;
	struct report *r = ctx;
	char text[1000];
	int i = 0;

	r->all += count;
	if (key->pid != (uint32_t)getpid())
		return 0;
	r->ours += count;
	r->kernel_samples += key->kernel[0] ? count : 0;
	fold(r, key, text, sizeof(text));
	while (i < r->nlines && strcmp(r->line[i].text, text))
		i++;
	if (i == r->nlines) {
		if (r->nlines == 512)
			return 0;
		strcpy(r->line[r->nlines++].text, text);
	}
	r->line[i].count += count;
	return 0;
}

static int by_count(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return (x->count < y->count) - (x->count > y->count);
}

static void report(const int *fds, double elapsed, int ncpus)
{
	static struct report r;
	struct stats stats;

	must(sym_kernel_open(&r.kernel, NULL), "kernel symbols");
	must(sym_user_open(&r.user, NULL), "symbols");
	must(sym_user_snapshot(r.user, (uint32_t)getpid(), 0), "our mappings");
	must(rp_map_each(fds[0], &maps[0], add_stack, &r), "map");
	must(rp_map_lookup(fds[1], &(uint32_t){ 0 }, &stats), "look-up");
	qsort(r.line, (size_t)r.nlines, sizeof(r.line[0]), by_count);
	printf("%llu samples of %.1f s on %d CPUs, %llu lost; ours are %llu, %.0f %% in the kernel\n",
	       (unsigned long long)r.all, elapsed, ncpus, (unsigned long long)stats.lost,
	       (unsigned long long)r.ours, 100.0 * r.kernel_samples / (r.ours ? r.ours : 1));
	for (int i = 0; i < r.nlines && i < 4; i++)
		printf("%s %llu\n", r.line[i].text, (unsigned long long)r.line[i].count);
	sym_user_close(r.user);
	sym_kernel_close(r.kernel);
}

int main(void)
{
	struct rp_perf_options options = { .freq = 199 }; /* on every CPU (C13) */
	int seed_fds[SEED_MAPS], fds[2], fd, ncpus;
	struct rp_perf *perf;
	double start;

	lesson_begin("A profiler from a tutorial. How many of its fifteen faults does the verifier find?");
	must(rp_maps_create(seed_maps, SEED_MAPS, seed_fds), "maps");
	lesson_refused(seed_fds);
	rp_fds_close(seed_fds, SEED_MAPS);
	show_silent_faults();

	printf("--- repaired\n");
	must(rp_maps_create(maps, 2, fds), "maps");
	fd = lesson_load(&lesson_good[0], fds);
	must(rp_event_parse("cpu-clock", &options.event), "event");
	must(rp_perf_open(&options, &perf), "perf events");
	ncpus = rp_perf_count(perf);
	must(rp_perf_attach(perf, fd), "attach");
	start = seconds(CLOCK_MONOTONIC);
	work();
	rp_perf_close(perf); /* whatever ends us, the kernel closes them (C13) */
	close(fd);
	report(fds, seconds(CLOCK_MONOTONIC) - start, ncpus);
	rp_fds_close(fds, 2);
	return 0;
}
