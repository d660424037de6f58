/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A probe at the place that was chosen sees the same calls as one at the entry, on every path of
 * libc's allocator and of functions made for it.
 */
#include "test_uprobes.h"

#include <malloc.h>

/* Both at the entry (cookie 1) and at the place (cookie 2) while @work runs. */
static void count_both(const struct target *t, void (*work)(void))
{
	const enum rp_uprobe_way way = rp_uprobe_way(getpid(), false);
	const uint64_t offsets[] = { t->function.offset, t->function.offset + t->place.offset };
	const uint64_t cookies[] = { 1, 2 };
	const int prog = LOAD(count_lines, way, .sp_delta = t->place.sp_delta);
	struct rp_uprobes *probes = attach(t, way, prog, offsets, cookies, 2, false);
	struct seen counted;

	work();
	counted = *seen;
	rp_uprobes_close(probes); /* one by one too, and it frees memory */
	*seen = counted;
	close(prog);
}

static bool no_cookies(void)
{
	if (rp_uprobe_way(getpid(), false) >= RP_UPROBE_PERF_LINK)
		return false;
	printf("skip: cookies need Linux 5.15\n");
	return true;
}

/* ---- the allocator of libc, on all of its paths */

enum { EACH = 100 };

static void *volatile keep;

static void *on_thread(void *arg)
{
	for (int i = 0; i < EACH; i++) {
		keep = malloc(16UL << i % 12);
		free(keep);
	}
	free(arg); /* another thread's */
	return NULL;
}

static void allocate(void)
{
	static volatile size_t huge = SIZE_MAX - 100;
	pthread_t thread;
	void *p;

	for (int i = 0; i < EACH; i++) {
		free(NULL);
		keep = malloc((size_t)i); /* from the thread's cache, bins, top */
		keep = realloc(keep, 100000);
		keep = realloc(keep, 300000); /* mapped, moved by mremap */
		keep = realloc(keep, 600000);
		free(keep);
		keep = malloc(huge); /* fails */
		keep = calloc(huge, 8);
		keep = realloc(NULL, 24);
		keep = realloc(keep, 0);
		keep = calloc(3, 70);
		free(keep);
		keep = calloc(3, 70000);
		free(keep);
		if (!posix_memalign(&p, 64, 100))
			free(p);
		ck_assert_int_eq(posix_memalign(&p, 3, 100), EINVAL);
		keep = aligned_alloc(64, 640);
		free(keep);
		keep = aligned_alloc(8, huge);
		p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		munmap(p, 4096);
		p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, (off_t)1);
		ck_assert_ptr_eq(p, MAP_FAILED);
	}
	malloc_trim(0);
	ck_assert_int_eq(pthread_create(&thread, NULL, on_thread, malloc(10)), 0);
	pthread_join(thread, NULL);
}

static const struct {
	const char *name;
	uint8_t nargs;
	uint64_t least;
} allocators[] = {
	{ "malloc", 1, 3 * EACH + 1 },	   { "calloc", 2, 3 * EACH },
	{ "realloc", 2, 4 * EACH },	   { "free", 1, 6 * EACH + 1 },
	{ "posix_memalign", 3, 2 * EACH }, { "aligned_alloc", 2, 2 * EACH },
	{ "mmap", 6, 2 * EACH },
};

static int open_libc(void)
{
	char line[4200];
	FILE *f = fopen("/proc/self/maps", "r");
	int fd = -1;

	while (fd < 0 && fgets(line, sizeof(line), f)) {
		char *path = strchr(line, '/');

		if (!path || (!strstr(path, "/libc.so.6") && !strstr(path, "/libc-")))
			continue;
		path[strcspn(path, "\n")] = '\0';
		fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	fclose(f);
	return fd;
}

static bool no_libc(const char *test)
{
	const int fd = open_libc();

	if (fd < 0) {
		printf("skip %s (a static test has no libc.so)\n", test);
		return true;
	}
	close(fd);
	return false;
}

START_TEST(test_allocator)
{
	const char *name = allocators[_i].name;
	struct target t;

	if (no_cookies() || no_libc(name))
		return;
	open_target(&t, open_libc(), name, allocators[_i].nargs, true);
	count_both(&t, allocate);
	ck_assert_msg(seen->hits[1] == seen->hits[2], "%s %s: %lu at the entry, %lu at the place",
		      name, t.place.why, (unsigned long)seen->hits[1],
		      (unsigned long)seen->hits[2]);
	ck_assert_uint_ge(seen->hits[1], allocators[_i].least);
	ck_assert_uint_eq(t.place.sp_delta, 0); /* for the return probe */
	close_target(&t);
}
END_TEST

/* Return probes, put where the entry's probe goes, see what those at the entry do. */
START_TEST(test_allocator_returns)
{
	const enum rp_uprobe_way way = rp_uprobe_way(getpid(), false);
	uint64_t count[2], offset;
	struct rp_uprobes *probes;
	struct target t;
	int prog;

	if (no_libc("test_allocator_returns"))
		return;
	open_target(&t, open_libc(), "free", 1, true);
	for (int i = 0; i < 2; i++) {
		offset = t.function.offset + (i ? t.place.offset : 0);
		prog = LOAD(plain_lines, way);
		probes = attach(&t, way, prog, &offset, NULL, 1, true);
		for (int k = 0; k < 1000; k++)
			free(k & 1 ? malloc(1000) : NULL);
		rp_uprobes_close(probes);
		count[i] = seen->hits[0];
		close(prog);
	}
	ck_assert_uint_eq(count[0], 1000);
	ck_assert_uint_eq(count[1], 1000);
	close_target(&t);
}
END_TEST

/* ---- functions of our own */

#ifdef __x86_64__

#define FUNCTION(name, lines)                                                                      \
	__asm__(".text\n.p2align 4\n.globl " #name "\n.type " #name ", @function\n" #name          \
		":\n" lines ".size " #name ", . - " #name "\n");                                   \
	uint64_t name(uint64_t)

/* clang-format off */
FUNCTION(t_endbr, "endbr64\n push %rbp\n mov %rdi, %rax\n pop %rbp\n ret\n");
FUNCTION(t_test, "test %rdi, %rdi\n je 1f\n mov $1, %eax\n ret\n1: xor %eax, %eax\n ret\n");
FUNCTION(t_stack, "endbr64\n xor %eax, %eax\n sub $40, %rsp\n test %rdi, %rdi\n je 1f\n"
	 "lea 1(%rdi), %rax\n1: add $40, %rsp\n ret\n");
/* recursion: n, n - 1, ... 0 */
FUNCTION(t_recursion, "cmp $0, %rdi\n je 1f\n dec %rdi\n call t_recursion\n1: mov %rdi, %rax\n ret\n");
/* a loop back to what follows the first instruction: the probe stays */
FUNCTION(t_loop, "mov %rdi, %rax\n1: test %rdi, %rdi\n je 2f\n dec %rdi\n jmp 1b\n2: ret\n");
/* a tail call of t_test past its first instruction: the probe there stays too, in t_entered */
FUNCTION(t_entered, "xor %eax, %eax\n.Lt_inside: test %rdi, %rdi\n je 1f\n inc %rax\n1: ret\n");
FUNCTION(t_enters, "mov $7, %eax\n jmp .Lt_inside\n");
/* a tail call at the end */
FUNCTION(t_tail, "test %rdi, %rdi\n jne t_test\n xor %eax, %eax\n ret\n");
FUNCTION(t_nop5, ".byte 0x0f, 0x1f, 0x44, 0, 0\n mov %rdi, %rax\n ret\n");
/* three returns, one of two bytes */
FUNCTION(t_returns, "push %rbx\n cmp $1, %rdi\n jb 1f\n je 2f\n mov $3, %eax\n pop %rbx\n rep ret\n"
	 "1: mov $1, %eax\n pop %rbx\n ret\n2: mov $2, %eax\n pop %rbx\n ret\n");
/* clang-format on */

static const struct {
	const char *name;
	uint64_t (*call)(uint64_t);
	uint32_t offset, sp_delta;
	uint64_t calls; /* each is called with 0 to 9 */
	bool complete;	/* its returns */
} functions[] = {
	{ "t_endbr", t_endbr, 4, 0, 10, true },	    { "t_test", t_test, 3, 0, 10, true },
	{ "t_stack", t_stack, 13, 40, 10, true },   { "t_recursion", t_recursion, 4, 0, 55, true },
	{ "t_loop", t_loop, 0, 0, 10, true },	    { "t_entered", t_entered, 0, 0, 10, true },
	{ "t_tail", t_tail, 3, 0, 10, false },	    { "t_nop5", t_nop5, 0, 0, 10, true },
	{ "t_returns", t_returns, 0, 0, 10, true },
};

static uint64_t (*called)(uint64_t);

static void call_ten(void)
{
	for (uint64_t i = 0; i < 10; i++) {
		called(i);
		t_enters(i);
	}
}

START_TEST(test_places)
{
	struct target t;

	if (no_cookies())
		return;
	open_own(&t, functions[_i].name, false);
	ck_assert_msg(t.place.offset == functions[_i].offset, "%s: %s", functions[_i].name,
		      t.place.why);
	ck_assert_uint_eq(t.place.sp_delta, functions[_i].sp_delta);
	called = functions[_i].call;
	count_both(&t, call_ten);
	ck_assert_uint_eq(seen->hits[1], functions[_i].calls);
	ck_assert_uint_eq(seen->hits[2], functions[_i].calls);
	close_target(&t);
}
END_TEST

/* The program's last run was at the place: what it read is an address in its caller. */
START_TEST(test_return_address)
{
	struct target t;

	if (no_cookies())
		return;
	open_own(&t, "t_stack", false);
	called = t_stack;
	count_both(&t, call_ten);
	ck_assert_uint_gt(seen->returned_to, (uintptr_t)call_ten);
	ck_assert_uint_lt(seen->returned_to, (uintptr_t)call_ten + 200);
	close_target(&t);
	open_own(&t, "t_stack", true); /* a return probe wants the stack as it was */
	ck_assert_uint_eq(t.place.offset, 0);
	close_target(&t);
}
END_TEST

/* Probes on the returns, and a uretprobe, see every return. */
START_TEST(test_returns)
{
	const enum rp_uprobe_way way = rp_uprobe_way(getpid(), false);
	uint64_t offsets[8];
	struct target t;

	open_own(&t, functions[_i].name, false);
	called = functions[_i].call;
	ck_assert_int_eq(t.returns.complete, functions[_i].complete);
	for (uint32_t i = 0; i < t.returns.n; i++)
		offsets[i] = t.function.offset + t.returns.offsets[i];
	for (int at_return = 0; at_return < 2; at_return++) {
		const uint32_t n = at_return ? 1 : t.returns.n;
		const int prog = LOAD(plain_lines, way);
		struct rp_uprobes *probes =
			attach(&t, way, prog, at_return ? &t.function.offset : offsets, NULL, n,
			       at_return);

		call_ten();
		rp_uprobes_close(probes);
		/* t_enters leaves by a return of t_entered */
		if (at_return || (t.returns.complete && called != t_entered))
			ck_assert_uint_eq(seen->hits[0], functions[_i].calls);
		close(prog);
	}
	close_target(&t);
}
END_TEST

/* clang-format off */
static const struct asm_insn session_lines[] = {
	MOV_REG(R6, R1),
	CALL(get_func_ip),
	LDX(DW, R1, R6, offsetof(bpf_user_pt_regs_t, rip)),
	MOV(R2, 1),
	LD_MAP_VALUE(R3, seen, offsetof(struct seen, elsewhere)),
	JNE_REG(R0, R1, back),
	LD_MAP_VALUE(R3, seen, offsetof(struct seen, at_entry)),
	ATOMIC_ADD(DW, R3, 0, R2),
	LD_PARAM(R0, struct config, answer),
	EXIT(),
LABEL(back),
	ATOMIC_ADD(DW, R3, 0, R2),
	MOV(R0, 0),
	EXIT(),
};
/* clang-format on */

START_TEST(test_session)
{
	const enum rp_uprobe_way way = rp_uprobe_way(getpid(), true);
	struct rp_uprobes *probes;
	struct target t;
	int prog;

	if (way != RP_UPROBE_SESSION)
		skip_test("sessions need Linux 6.13");
	open_own(&t, "t_test", true);
	called = t_test;
	for (uint32_t answer = 0; answer < 2; answer++) {
		const uint64_t offset = t.function.offset + t.place.offset;

		prog = LOAD(session_lines, way, .answer = answer);
		probes = attach(&t, way, prog, &offset, NULL, 1, false);
		call_ten();
		rp_uprobes_close(probes);
		ck_assert_uint_eq(seen->at_entry, 10);
		ck_assert_uint_eq(seen->elsewhere, answer ? 0 : 10);
		close(prog);
	}
	close_target(&t);
}
END_TEST

#endif

int main(void)
{
	Suite *s = suite_create("probes where they are cheap");
	TCase *tc = tcase_create("live");

	if (rp_uprobe_way(-1, false) == RP_UPROBE_NONE) {
		printf("skip: no uprobes here\n");
		return 0;
	}
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, test_allocator, 0, sizeof(allocators) / sizeof(allocators[0]));
	tcase_add_test(tc, test_allocator_returns);
#ifdef __x86_64__
	tcase_add_loop_test(tc, test_places, 0, sizeof(functions) / sizeof(functions[0]));
	tcase_add_test(tc, test_return_address);
	tcase_add_loop_test(tc, test_returns, 0, sizeof(functions) / sizeof(functions[0]));
	tcase_add_test(tc, test_session);
#endif
	suite_add_tcase(s, tc);
	return run_suite(s);
}
